// Results of tools that an anchor has made stale leave the model's sight; their texts stay in the session. Which, the
// runtime says. Where Pi can edit what the model sees, that is an entry of the session; where it cannot, it is a note there
// that is applied to each request. Both go where the branch goes: before the anchor everything stands as it was.

import type { ContextEntry, EntryKind } from "./generated/protocol.ts";
import { isRules } from "./guidance.ts";
import type { HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { anchorOf, blocksOf, branchOf, seenEntries, textOf } from "./seen.ts";
import type { Block, Entry, Message, Seen } from "./seen.ts";

/** Under this name notes stand in the session. */
const NOTE = "impresario-cuts";
const ENTRIES_MAX = 5_000;
const SINCE_CHARACTERS_MAX = 64_000;
const NAMES_MAX = 4;
const NAME_CHARACTERS_MAX = 1_000;
/** The arguments of calls that are paths. */
const PATH_ARGUMENTS = ["path", "file_path"];

/** An edit as the newer Pi takes it when a turn ends. */
export interface Edit {
  type: "context_edit";
  targetId: string;
  replacement: { content: Block[] };
}

/** What stands in a note. */
interface Note {
  /** Left out from here on. */
  cuts?: { entry: string; stub: string }[];
  /** There again from here on. */
  restored?: string[];
}

export class Truncation {
  readonly #impresario: Impresario;
  /** The session where an anchor was set of which the runtime could not be asked. */
  #due = "";

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** A turn is over. Where an anchor was set in it, what is stale now is left out: by the edits that come back, or by a note. */
  async turnEnded(session: HostSession, results: readonly Message[], canEdit: boolean): Promise<Edit[]> {
    const isDue = results.some(anchorOf) || this.#due === session.id;
    if (!isDue) return [];
    this.#due = session.id;
    const { connection } = this.#impresario.runtime;
    const seen = seenEntries(session).slice(-ENTRIES_MAX);
    const notes = notesOn(branchOf(session));
    const model = session.read((ctx) => (ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : null), null);
    const outcome = await connection?.ask("context.cuts", { session: session.id, model, entries: outlined(seen, notes), since: saidSince(seen) });
    if (!outcome?.ok) return [];
    this.#due = "";
    const { cuts } = outcome.result;
    if (cuts.length === 0) return [];
    if (!canEdit) {
      session.pi.appendEntry(NOTE, { cuts } satisfies Note);
      return [];
    }
    const sources = new Map(seen.map(({ entry }) => [entry.id, entry]));
    return cuts.flatMap(({ entry, stub }) => {
      const content = sources.get(entry)?.message?.content;
      return content === undefined ? [] : [{ type: "context_edit" as const, targetId: entry, replacement: { content: withStub(content, stub) } }];
    });
  }

  /** The messages of a request with what the notes of its branch say; undefined where they say nothing. */
  applied(session: HostSession, messages: readonly Message[]): Message[] | undefined {
    const branch = branchOf(session);
    const notes = notesOn(branch);
    if (notes.stubs.size === 0 && notes.restored.size === 0) return undefined;
    const contents = new Map<string, Block[]>();
    for (const { id, message } of branch) {
      if (message?.role !== "toolResult" || !message.toolCallId) continue;
      const stub = notes.stubs.get(id);
      if (stub !== undefined) contents.set(message.toolCallId, withStub(message.content, stub));
      else if (notes.restored.has(id)) contents.set(message.toolCallId, blocksOf(message.content));
    }
    return messages.map((message) => {
      const content = message.role === "toolResult" && message.toolCallId ? contents.get(message.toolCallId) : undefined;
      return content ? { ...message, content } : message;
    });
  }

  /** Everything that is left out is there again. How many results that are. */
  restore(session: HostSession): number {
    const notes = notesOn(branchOf(session));
    // What somebody else has edited is theirs: our line names the result in whose place it stands.
    const isOurs = ({ entry, messages }: Seen) => notes.stubs.has(entry.id) || textOf(messages[0]?.content).includes(`"${entry.id}"`);
    const cut = seenEntries(session).filter((seen) => !notes.restored.has(seen.entry.id) && isLeftOut(seen, notes) && isOurs(seen));
    const restored = cut.map(({ entry }) => entry.id);
    if (restored.length > 0) session.pi.appendEntry(NOTE, { restored } satisfies Note);
    return restored.length;
  }
}

/** The whole text of a result, by the id of its entry; undefined where there is none on this branch. */
export function originalOf(session: HostSession, target: string): string | undefined {
  const found = branchOf(session).find(({ id, message }) => id === target && message?.role === "toolResult");
  return found && textOf(blocksOf(found.message?.content).filter((block) => !isRules(block)));
}

/** What a message is to the model, in characters. */
export function charactersOf({ content }: Message): number {
  return blocksOf(content).reduce((sum, { text, thinking, arguments: given }) => sum + (text ?? thinking ?? "").length + (given === undefined ? 0 : JSON.stringify(given).length), 0);
}

interface Notes {
  stubs: Map<string, string>;
  restored: Set<string>;
}

function notesOn(branch: readonly Entry[]): Notes {
  const notes: Notes = { stubs: new Map(), restored: new Set() };
  for (const { type, customType, data } of branch) {
    if (type !== "custom" || customType !== NOTE) continue;
    const { cuts, restored } = (data ?? {}) as Note;
    for (const { entry, stub } of Array.isArray(cuts) ? cuts : []) {
      if (typeof stub !== "string") continue;
      notes.stubs.set(entry, stub);
      notes.restored.delete(entry);
    }
    for (const entry of Array.isArray(restored) ? restored : []) {
      notes.stubs.delete(entry);
      notes.restored.add(entry);
    }
  }
  return notes;
}

/** It stands there otherwise than its tool gave it. */
function isLeftOut({ entry, messages }: Seen, notes: Notes): boolean {
  if (entry.message?.role !== "toolResult") return false;
  return notes.stubs.has(entry.id) || messages[0]?.content !== entry.message.content;
}

function outlined(seen: readonly Seen[], notes: Notes): ContextEntry[] {
  const paths = new Map<string, string[]>();
  return seen.map((one) => {
    const { entry, messages } = one;
    for (const message of messages) for (const block of blocksOf(message.content)) if (block.type === "toolCall" && block.id) paths.set(block.id, pathsIn(block.arguments));
    const [message] = messages;
    const kind = kindOf(one, notes);
    return {
      id: entry.id,
      kind,
      characters: kind === "result" ? textsOf(message?.content).reduce((sum, { text }) => sum + (text ?? "").length, 0) : messages.reduce((sum, each) => sum + charactersOf(each), 0),
      names: kind === "result" ? (paths.get(message?.toolCallId ?? "") ?? []) : [],
      anchor: anchorOf(message)?.name ?? null,
    };
  });
}

function kindOf(seen: Seen, notes: Notes): EntryKind {
  const [message] = seen.messages;
  if (message?.role === "assistant") return "said";
  if (message?.role !== "toolResult" || !seen.entry.message) return "other";
  if (anchorOf(message)) return "anchor";
  return isLeftOut(seen, notes) || notes.restored.has(seen.entry.id) ? "kept" : "result";
}

/** The newest anchor's summary, and the words and calls behind it. */
function saidSince(seen: readonly Seen[]): string {
  const at = seen.findLastIndex(({ messages }) => anchorOf(messages[0]));
  const behind = seen.slice(at + 1).flatMap(({ messages }) => messages.filter(({ role }) => role !== "toolResult"));
  const called = seen.slice(0, at).findLast(({ messages }) => messages[0]?.role === "assistant")?.messages ?? [];
  const words = [...called, ...behind].flatMap(({ content }) => blocksOf(content).map(({ text, arguments: given }) => text ?? (given === undefined ? "" : JSON.stringify(given))));
  return [anchorOf(seen[at]?.messages[0])?.summary ?? "", ...words].join("\n").slice(0, SINCE_CHARACTERS_MAX);
}

function pathsIn(given: unknown): string[] {
  const values = typeof given === "object" && given !== null ? PATH_ARGUMENTS.map((name) => (given as Record<string, unknown>)[name]) : [];
  return values.filter((value): value is string => typeof value === "string" && value !== "" && value.length <= NAME_CHARACTERS_MAX).slice(0, NAMES_MAX);
}

/** The texts of a result that can be left out: rules that were given with it stay. */
function textsOf(content: unknown): Block[] {
  return blocksOf(content).filter((block) => block.type === "text" && !isRules(block));
}

function withStub(content: unknown, stub: string): Block[] {
  const texts = new Set(textsOf(content));
  return [{ type: "text", text: stub }, ...blocksOf(content).filter((block) => !texts.has(block))];
}
