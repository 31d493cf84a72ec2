// The conversation as text.

import type { ChatMessage } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";

const CHARACTERS_MAX = 16_000;

interface Entry {
  type: string;
  message?: { role: string; content: unknown };
  content?: unknown;
}

/** The newest messages of the session's own branch, oldest first. */
export function history(session: HostSession, messagesMax: number): ChatMessage[] {
  const branch = session.read((ctx) => ctx.sessionManager.getBranch() as unknown as Entry[], []);
  const messages: ChatMessage[] = [];
  for (let at = branch.length - 1; at >= 0 && messages.length < messagesMax; at -= 1) {
    const message = toMessage(branch[at]!);
    if (message) messages.push(message);
  }
  return messages.reverse();
}

function toMessage(entry: Entry): ChatMessage | undefined {
  const role = entry.message?.role;
  if (entry.type === "message" && (role === "user" || role === "assistant")) return withText(role, entry.message?.content);
  if (entry.type === "custom_message") return withText("system", entry.content);
  return undefined;
}

function withText(role: ChatMessage["role"], content: unknown): ChatMessage | undefined {
  const text = textOfContent(content);
  return text ? { role, content: text.slice(0, CHARACTERS_MAX) } : undefined;
}

function textOfContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.filter((part: { type: string }) => part.type === "text").map((part: { text: string }) => part.text).join("\n");
}
