// What the model sees of a session: the entries of its branch without what was compacted, and as they were edited since.

import type { HostSession } from "./host.ts";

export interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
}

export interface Message {
  role: string;
  content?: unknown;
  details?: unknown;
  toolName?: string;
  toolCallId?: string;
  provider?: string;
  model?: string;
}

export interface Entry {
  type: string;
  id: string;
  message?: Message;
  firstKeptEntryId?: string;
  customType?: string;
  content?: unknown;
  details?: unknown;
  data?: unknown;
}

/** An entry, and the messages that it is to the model. */
export interface Seen {
  entry: Entry;
  messages: Message[];
}

export function branchOf(session: HostSession): Entry[] {
  return session.read((ctx) => ctx.sessionManager.getBranch() as unknown as Entry[], []);
}

/** The entries of which the model sees something, in its order. */
export function seenEntries(session: HostSession): Seen[] {
  const projected = session.read((ctx) => {
    const manager = ctx.sessionManager as unknown as { buildSessionProjection?(): { entries: { sourceEntry: Entry; messages: Message[] }[] } };
    return manager.buildSessionProjection?.().entries;
  }, undefined);
  const seen = projected?.map(({ sourceEntry, messages }) => ({ entry: sourceEntry, messages })) ?? uncompacted(branchOf(session)).map(unedited);
  return seen.filter(({ messages }) => messages.length > 0);
}

/** The messages as they go to the model. */
export function seenMessages(session: HostSession): Message[] {
  return seenEntries(session).flatMap(({ messages }) => messages);
}

/** The anchor that a result sets; undefined for every other message. */
export function anchorOf(message: Message | undefined): { name: string; target: string; summary: string } | undefined {
  if (message?.role !== "toolResult" || message.toolName !== "context") return undefined;
  const anchor = (message.details as { anchor?: unknown } | null | undefined)?.anchor;
  if (typeof anchor !== "object" || anchor === null) return undefined;
  const text = (name: string) => {
    const value = (anchor as Record<string, unknown>)[name];
    return typeof value === "string" ? value : "";
  };
  return { name: text("name"), target: text("targetId"), summary: text("summary") };
}

/** Its texts in one. */
export function textOf(content: unknown): string {
  return blocksOf(content).map(({ text }) => text ?? "").join("\n");
}

/** Content in blocks, of whichever form. */
export function blocksOf(content: unknown): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as Block[]).filter((block) => typeof block === "object" && block !== null) : [];
}

function unedited(entry: Entry): Seen {
  if (entry.message) return { entry, messages: [entry.message] };
  const isShown = entry.type === "custom_message";
  return { entry, messages: isShown ? [{ role: "custom", content: entry.content, details: entry.details }] : [] };
}

/** Versions of Pi that do not say what the model sees keep it so. */
function uncompacted(entries: Entry[]): Entry[] {
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const compaction = entries[at];
  if (!compaction) return entries;
  const kept = entries.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  return entries.slice(kept >= 0 ? kept : at);
}
