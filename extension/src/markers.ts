// The outline of a provider request, and the edits that come back. Bodies never leave Pi.

import type { MarkerBlock, MarkerBlockKind, MarkerEdit, MarkerTtl } from "./generated/protocol.ts";

interface Block {
  type?: string;
  text?: string;
  cache_control?: { type: string; ttl?: string };
}

interface Payload {
  model?: string;
  system?: Block[] | string;
  tools?: Block[];
  messages?: { role: string; content: Block[] | string }[];
}

const KINDS: Record<string, MarkerBlockKind> = {
  text: "text",
  image: "image",
  thinking: "thinking",
  redacted_thinking: "thinking",
  tool_use: "tool_use",
  tool_result: "tool_result",
};

/** The outline of a request that takes markers; undefined for any other. */
export function outline(payload: unknown): { model: string | null; blocks: MarkerBlock[] } | undefined {
  if (!takesMarkers(payload)) return undefined;
  const blocks: MarkerBlock[] = [];
  const add = (path: string, block: Block, kind: MarkerBlockKind) => {
    blocks.push({ path, kind, size: JSON.stringify(block).length, marker: markerOf(block) });
  };
  payload.tools?.forEach((tool, index) => add(`tools/${index}`, tool, "tool"));
  if (Array.isArray(payload.system)) payload.system.forEach((block, index) => add(`system/${index}`, block, "system"));
  payload.messages?.forEach((message, at) => {
    if (!Array.isArray(message.content)) return;
    message.content.forEach((block, index) => add(`messages/${at}/content/${index}`, block, KINDS[block.type ?? ""] ?? "other"));
  });
  return { model: payload.model ?? null, blocks };
}

/** A copy with the edits; only what is edited is copied. Undefined when nothing changes. */
export function edited(payload: unknown, edits: MarkerEdit[]): unknown {
  if (edits.length === 0) return undefined;
  let copy: unknown = payload;
  for (const edit of edits) {
    const changed = editAt(copy, edit.path.split("/"), edit.marker);
    if (changed === undefined) return undefined;
    copy = changed;
  }
  return copy;
}

function editAt(value: unknown, path: string[], marker: MarkerTtl | null): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const [key, ...rest] = path;
  if (key === undefined) return withMarker(value as Block, marker);
  const inner = (value as Record<string, unknown>)[key];
  const changed = editAt(inner, rest, marker);
  if (changed === undefined) return undefined;
  if (!Array.isArray(value)) return { ...value, [key]: changed };
  return value.map((element: unknown, index) => (String(index) === key ? changed : element));
}

function withMarker(block: Block, marker: MarkerTtl | null): Block {
  const { cache_control: _removed, ...bare } = block;
  if (marker === null) return bare;
  return { ...bare, cache_control: marker === "5m" ? { type: "ephemeral" } : { type: "ephemeral", ttl: marker } };
}

function markerOf(block: Block): MarkerTtl | null {
  if (!block.cache_control) return null;
  return block.cache_control.ttl === "1h" ? "1h" : "5m";
}

/** Anthropic's messages: the system prompt stands beside the messages, and content is made of blocks. */
function takesMarkers(payload: unknown): payload is Payload {
  if (typeof payload !== "object" || payload === null) return false;
  const { system, messages } = payload as Payload;
  return Array.isArray(messages) && (Array.isArray(system) || messages.some((message) => Array.isArray(message.content) && message.content.some((block) => block.cache_control)));
}
