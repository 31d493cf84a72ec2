// A line for the model that says how full its context is. It is told when something has changed that matters, which the
// runtime decides, and then stays where it is: nothing before it changes, so the provider's cache holds.

import type { ContextStanding, ContextLine, ContextTold } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";
import { guarded } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { anchorOf, branchOf, seenEntries } from "./seen.ts";
import type { Entry, Seen } from "./seen.ts";
import { charactersOf } from "./truncation.ts";

/** Under this name lines stand in the session. */
const LINE = "impresario-context";

/** What stands beside a line. */
interface Note {
  told: ContextTold;
  hints: boolean;
}

/** A line as Pi takes it. */
export interface LineMessage {
  customType: string;
  content: string;
  display: false;
  details: Note;
}

/** The line that is due before the next request; undefined for none. */
export async function contextLine(impresario: Impresario, session: HostSession): Promise<LineMessage | undefined> {
  const outcome = await impresario.runtime.connection?.ask("context.status", facts(session));
  const line: ContextLine | null | undefined = outcome?.ok ? outcome.result.line : undefined;
  if (!line) return undefined;
  return { customType: LINE, content: line.text, display: false, details: { told: line.told, hints: line.hints } };
}

function facts(session: HostSession): ContextStanding {
  const branch = branchOf(session);
  const seen = seenEntries(session);
  const anchor = branch.findLastIndex(({ message }) => anchorOf(message));
  return {
    session: session.id,
    model: session.read((ctx) => (ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : null), null),
    model_before: lastModel(branch),
    percent: session.read((ctx) => ctx.getContextUsage()?.percent ?? null, null),
    ...sums(seen),
    anchor: anchorOf(branch[anchor]?.message)?.name ?? null,
    since_anchor: anchor < 0 ? 0 : branch.length - anchor - 1,
    entries: branch.length,
    can_anchor: guarded(() => session.pi.getActiveTools().includes("context"), false),
    told: seen.flatMap(({ entry }) => noteOf(entry) ?? []).at(-1)?.told ?? null,
    hinted: branch.some((entry) => noteOf(entry)?.hints === true),
  };
}

function lastModel(branch: readonly Entry[]): string | null {
  const answer = branch.findLast(({ message }) => message?.role === "assistant" && message.provider && message.model)?.message;
  return answer ? `${answer.provider}/${answer.model}` : null;
}

function sums(seen: readonly Seen[]): { of_results: number; of_all: number } {
  const total = { of_results: 0, of_all: 0 };
  for (const message of seen.flatMap(({ messages }) => messages)) {
    const characters = charactersOf(message);
    total.of_all += characters;
    if (message.role === "toolResult") total.of_results += characters;
  }
  return total;
}

function noteOf(entry: Entry): Note | undefined {
  if (entry.type !== "custom_message" || entry.customType !== LINE) return undefined;
  const note = entry.details as Partial<Note> | null | undefined;
  return typeof note?.told === "object" && note.told !== null ? (note as Note) : undefined;
}
