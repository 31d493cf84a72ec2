// Cache markers of the requests of a session: their outline goes to the runtime, its edits are applied. What cannot be
// applied exactly leaves the request as it was, and the runtime hears of it.

import type { MarkerPlan, MarkerSkeleton } from "./generated/protocol.ts";
import { Outliner, edited } from "./generated/outline.ts";
import type { Outline } from "./generated/outline.ts";
import { anchorOf } from "./seen.ts";
import type { Message } from "./seen.ts";

interface Entry {
  type: string;
  message?: Message;
}

export class Markers {
  #outliner = new Outliner();
  #session = "";
  #notApplied: string | null = null;

  /** The request with the markers it should have; undefined leaves it as it is. */
  async place(session: string, branch: () => readonly Entry[], payload: unknown, plan: (skeleton: MarkerSkeleton) => Promise<MarkerPlan>): Promise<unknown> {
    if (session !== this.#session) this.#outliner = new Outliner();
    this.#session = session;
    const found = this.#outliner.outline(payload);
    if (!found) return undefined;
    const not_applied = this.#notApplied;
    this.#notApplied = null;
    const set = anchors(branch());
    const { edits } = await plan({ session, ...skeletonOf(found, set.length > 0), anchors: set, not_applied });
    const { payload: changed, why } = applied(payload, found, edits);
    this.#notApplied = why ?? null;
    return changed;
  }
}

/** The outline as it is sent: the runtime names a block by its place, and knows calls only as those that set an anchor. */
export function skeletonOf({ model, blocks }: Outline, withCalls = true): Pick<MarkerSkeleton, "model" | "blocks"> {
  return { model, blocks: blocks.map(({ kind, size, content, marker, call }) => [kind, size, content, marker, withCalls ? call : null]) };
}

/** The request as its edits want it; one that names no block of the outline leaves it alone. */
export function applied(payload: unknown, { blocks }: Outline, edits: MarkerPlan["edits"]): ReturnType<typeof edited> {
  return edited(payload, edits.map(([place, marker]) => ({ path: blocks[place]?.path ?? `number ${place}`, marker })));
}

/** The calls that set an anchor on this branch, the oldest first. */
export function anchors(branch: readonly Entry[]): string[] {
  return branch.flatMap(({ type, message }) => (type === "message" && anchorOf(message) && message?.toolCallId ? [message.toolCallId] : []));
}
