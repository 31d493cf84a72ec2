// Cache markers of the requests of a session: their outline goes to the runtime, its edits are applied. What cannot be
// applied exactly leaves the request as it was, and the runtime hears of it.

import type { MarkerPlan, MarkerSkeleton } from "./generated/protocol.ts";
import { Outliner, edited } from "./generated/outline.ts";
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
    const { edits } = await plan({ session, ...found, anchors: anchors(branch()), not_applied });
    const { payload: changed, why } = edited(payload, edits);
    this.#notApplied = why ?? null;
    return changed;
  }
}

/** The calls that set an anchor on this branch, the oldest first. */
export function anchors(branch: readonly Entry[]): string[] {
  return branch.flatMap(({ type, message }) => (type === "message" && anchorOf(message) && message?.toolCallId ? [message.toolCallId] : []));
}
