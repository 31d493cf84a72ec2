// The tools that Impresario adds to Pi's own, where settings wish for them. What a call comes to is decided by the runtime.

import { titledText } from "./drawing.ts";
import type { ToolDone, ToolsTaken } from "./generated/protocol.ts";
import { guarded } from "./host.ts";
import type { HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { NOT_READY, wordsFor } from "./impresario.ts";
import type { ToolResult } from "./guidance.ts";
import { oneLine } from "./progress.ts";
import type { Block } from "./seen.ts";

/** What a call is about, by the names that tools give it. */
const TELLING = ["filePath", "pattern", "path", "query", "url", "libraryName", "id"];
const TOLD_CHARS_MAX = 120;
/** The tool whose users name lines by anchors. */
const ANCHORED_EDIT = "hashline_edit";
/** A runtime that did not answer once is left alone so long. */
const LEFT_ALONE_MS = 30_000;

export class AddedTools {
  readonly #impresario: Impresario;
  readonly #decided = new WeakSet<HostSession>();
  /** Those with our tool that edits by anchors. */
  readonly #anchored = new WeakSet<HostSession>();
  #leftAloneUntil = 0;

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** Asks for the tools once a session; what holds at its first turn holds for all of it. */
  async prepare(session: HostSession, options: { last?: boolean } = {}): Promise<void> {
    if (this.#decided.has(session)) return;
    const outcome = await this.#impresario.runtime.connection?.ask("tools.offer", { session: session.id });
    if (this.#decided.has(session) || (!outcome?.ok && !options.last)) return;
    this.#decided.add(session);
    // Pi may have replaced the session while the runtime was asked, and throws then.
    if (outcome?.ok) guarded(() => this.#offer(session, outcome.result), undefined);
  }

  isDecided(session: HostSession): boolean {
    return this.#decided.has(session);
  }

  /** What Pi's own `read` gave, with an anchor before each line, where the main agent edits by them; undefined leaves it as it is. */
  async anchored(session: HostSession, result: ToolResult): Promise<Block[] | undefined> {
    if (result.toolName !== "read" || result.isError || !this.#editsByAnchors(session) || Date.now() < this.#leftAloneUntil) return undefined;
    const place = result.content.findIndex(({ type }) => type === "text");
    const text = result.content[place]?.text;
    const connection = this.#impresario.runtime.connection;
    if (!text || !connection) return undefined;
    const { offset } = result.input;
    const shown = { session: session.id, tool: result.toolName, offset: typeof offset === "number" ? offset : null, text };
    const outcome = await connection.ask("tool.anchors", shown);
    if (!outcome.ok && outcome.why === "timeout") this.#leftAloneUntil = Date.now() + LEFT_ALONE_MS;
    if (!outcome.ok || outcome.result.text === null) return undefined;
    return result.content.with(place, { type: "text", text: outcome.result.text });
  }

  /** Where somebody else's `read` stands in the place of Pi's, nobody knows what its lines are. */
  #editsByAnchors(session: HostSession): boolean {
    if (!this.#anchored.has(session) || !session.pi.getActiveTools().includes(ANCHORED_EDIT)) return false;
    const read = session.pi.getAllTools().find(({ name }) => name === "read");
    return read?.sourceInfo.source === "builtin";
  }

  #offer(session: HostSession, { tools }: ToolsTaken): void {
    const there = new Set(session.pi.getAllTools().map(({ name }) => name));
    if (tools.some(({ name }) => name === ANCHORED_EDIT && !there.has(name))) this.#anchored.add(session);
    // Somebody else's tool of that name stays theirs.
    for (const tool of tools.filter(({ name }) => !there.has(name))) {
      session.pi.registerTool<never, ReturnType<typeof detailsOf>>({
        name: tool.name,
        label: tool.name,
        description: tool.description,
        parameters: tool.parameters as never,
        renderCall: (parameters, theme) => {
          const paint = (words: string) => theme.fg("toolTitle", theme.bold(words));
          return titledText([tool.name, told(parameters)].filter(Boolean).join(" "), "", paint, 0);
        },
        execute: async (_call, parameters, signal, _update, ctx) => {
          session.enter(ctx);
          const done = await this.#call(session, tool.name, parameters, signal);
          // Pi calls a result an error only where it is thrown.
          if (done.failed) throw new Error(done.text);
          const pictures = done.pictures.map(({ media_type, base64 }) => ({ type: "image" as const, data: base64, mimeType: media_type }));
          return { content: [{ type: "text", text: done.text }, ...pictures], details: detailsOf(done) };
        },
      });
    }
  }

  async #call(session: HostSession, tool: string, parameters: unknown, signal: AbortSignal | undefined): Promise<ToolDone> {
    const connection = await this.#impresario.reach();
    if (!connection) throw new Error(this.#impresario.runtime.offBecause ?? NOT_READY);
    const outcome = await connection.ask("tool.call", { session: session.id, tool, arguments: parameters }, { holds: true, signal });
    if (!outcome.ok) throw new Error(`${tool} has no result: ${wordsFor(outcome)}. Where it changes files, look at them before you call it again.`);
    return outcome.result;
  }
}

/** What a call read, changed and called: stored with its result. */
function detailsOf({ read, changed, called }: ToolDone) {
  return { read, changed, called };
}

/** It is drawn while its arguments still come in. */
function told(parameters: unknown): string {
  const given = typeof parameters === "object" && parameters !== null ? (parameters as Record<string, unknown>) : {};
  const telling = TELLING.map((name) => given[name]).find((value) => typeof value === "string");
  return oneLine(typeof telling === "string" ? telling : "", TOLD_CHARS_MAX);
}
