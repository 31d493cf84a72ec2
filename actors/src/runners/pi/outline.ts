// The outline of a request to a provider that takes cache markers, and the edits that come back. Texts never leave the
// process: what stands for them is a length and a hash. The extension and what is loaded into a nested Pi share this file.

import { createHash } from "node:crypto";

export type MarkerTtl = "5m" | "1h";
export type BlockKind = "system" | "tool" | "text" | "said" | "plain" | "empty" | "image" | "document" | "thinking" | "tool_use" | "tool_result" | "nested" | "request" | "other";
export interface OutlinedBlock { path: string; kind: BlockKind; size: number; content: string; call: string | null; marker: MarkerTtl | null }
export interface Outline { model: string | null; blocks: OutlinedBlock[] }
export interface Edit { path: string; marker: MarkerTtl | null }
/** What a request becomes: a changed copy, or nothing and why. */
export interface Edited { payload?: unknown; why?: string }

interface Marker { type: string; ttl?: string }
interface Block { type?: string; text?: string; id?: string; tool_use_id?: string; content?: unknown; input_schema?: unknown; cache_control?: Marker }
interface Payload { model?: string; system?: Block[] | string; tools?: Block[]; messages: { role: string; content: Block[] | string }[]; cache_control?: Marker }
interface Known { bare: unknown; size: number; content: string }

const KINDS: Record<string, BlockKind> = {
  image: "image",
  document: "document",
  thinking: "thinking",
  redacted_thinking: "thinking",
  tool_use: "tool_use",
  tool_result: "tool_result",
};

/** Outlines the requests of one conversation: what did not change since the last one is not hashed again. */
export class Outliner {
  #known: Known[] = [];

  /** The outline of a request that takes markers; undefined for any other. */
  outline(payload: unknown): Outline | undefined {
    if (!takesMarkers(payload)) return undefined;
    const before = this.#known;
    const known: Known[] = [];
    const blocks: OutlinedBlock[] = [];
    const add = (path: string, kind: BlockKind, block: unknown, call: string | null = null) => {
      const bare = withoutMarkers(block);
      const last = before[known.length];
      const now = last && same(last.bare, bare) ? last : hashed(bare);
      known.push(now);
      blocks.push({ path, kind, size: now.size, content: now.content, call, marker: markerOf(block) });
    };
    const mark = (path: string, kind: BlockKind, block: unknown) => {
      if (markerOf(block)) blocks.push({ path, kind, size: 0, content: NOTHING, call: null, marker: markerOf(block) });
    };
    if (Array.isArray(payload.tools)) payload.tools.forEach((tool, at) => add(`tools/${at}`, "tool", tool));
    if (typeof payload.system === "string") add("system", "plain", payload.system);
    else if (Array.isArray(payload.system)) payload.system.forEach((block, at) => add(`system/${at}`, isEmpty(block) ? "empty" : "system", block));
    payload.messages.forEach(({ role, content }, at) => {
      if (!Array.isArray(content)) return add(`messages/${at}/content`, "plain", content);
      content.forEach((block, index) => {
        const path = `messages/${at}/content/${index}`;
        add(path, kindOf(block, role), block, block.tool_use_id ?? (block.type === "tool_use" ? block.id : null) ?? null);
        if (block.type === "tool_result" && Array.isArray(block.content)) {
          block.content.forEach((inner: unknown, within: number) => mark(`${path}/content/${within}`, "nested", inner));
        }
      });
    });
    mark("", "request", payload);
    this.#known = known;
    return { model: payload.model ?? null, blocks };
  }
}

/** A copy with the edits; only what is edited is copied. One that does not fit leaves the request alone. */
export function edited(payload: unknown, edits: Edit[]): Edited {
  let copy: unknown = payload;
  for (const edit of edits) {
    copy = editAt(copy, edit.path === "" ? [] : edit.path.split("/"), edit.marker);
    if (copy === undefined) return { why: `there is no block ${edit.path} in the request` };
  }
  return edits.length === 0 ? {} : { payload: copy };
}

function editAt(value: unknown, path: string[], marker: MarkerTtl | null): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const [key, ...rest] = path;
  if (key === undefined) return Array.isArray(value) ? undefined : withMarker(value as Block, marker);
  const changed = editAt((value as Record<string, unknown>)[key], rest, marker);
  if (changed === undefined) return undefined;
  if (!Array.isArray(value)) return { ...value, [key]: changed };
  return value.map((element: unknown, index) => (String(index) === key ? changed : element));
}

function withMarker(block: Block, marker: MarkerTtl | null): Block {
  const { cache_control: before, ...bare } = block;
  if (marker === null) return bare;
  const { ttl: _ttl, ...kept } = before ?? { type: "ephemeral" };
  return { ...bare, cache_control: marker === "5m" ? kept : { ...kept, ttl: marker } };
}

function markerOf(block: unknown): MarkerTtl | null {
  const marker = (block as Block | null)?.cache_control;
  if (typeof marker !== "object" || marker === null) return null;
  return marker.ttl === "1h" ? "1h" : "5m";
}

/** Without its own marker and those of the blocks within a result. A property of that name in a schema or in the arguments of a call is none. */
function withoutMarkers(block: unknown): unknown {
  if (typeof block !== "object" || block === null) return block;
  const within = (block as Block).type === "tool_result" ? (block as Block).content : undefined;
  const own = "cache_control" in block;
  const inner = Array.isArray(within) && within.some((part) => markerOf(part));
  if (!own && !inner) return block;
  const { cache_control: _marker, ...bare } = block as Block;
  return inner ? { ...bare, content: within.map(withoutMarkers) } : bare;
}

function kindOf(block: Block, role: string): BlockKind {
  if (block.type === "text") return isEmpty(block) ? "empty" : role === "assistant" ? "said" : "text";
  return KINDS[block.type ?? ""] ?? "other";
}

function isEmpty(block: Block): boolean {
  return block.type === "text" && (block.text ?? "").trim() === "";
}

const NOTHING = "0".repeat(16);

function hashed(bare: unknown): Known {
  const text = JSON.stringify(bare) ?? "";
  return { bare, size: text.length, content: createHash("sha1").update(text).digest("hex").slice(0, 16) };
}

/** Deep equality. Texts that are the same string in memory cost nothing, and most are. */
function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((part, at) => same(part, other[at]));
  }
  const keys = Object.keys(one);
  const others = Object.keys(other);
  return keys.length === others.length && keys.every((key, at) => key === others[at] && same((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]));
}

/** Anthropic's messages: the system prompt and the tools stand beside the messages, and content is made of blocks. */
function takesMarkers(payload: unknown): payload is Payload {
  if (typeof payload !== "object" || payload === null) return false;
  const { system, tools, messages } = payload as Partial<Payload>;
  if (!Array.isArray(messages)) return false;
  const first = Array.isArray(tools) ? tools[0] : undefined;
  if (Array.isArray(system) && system[0]?.type === "text") return true;
  if (typeof first === "object" && first !== null && "input_schema" in first) return true;
  const marked = (block: unknown) => typeof block === "object" && markerOf(block) !== null;
  return markerOf(payload) !== null || [tools, ...messages.map((message) => message?.content)].some((blocks) => Array.isArray(blocks) && blocks.some(marked));
}
