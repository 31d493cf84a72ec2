// System prompts for the log: told to the runtime where its settings wish for it, and never waited for.

import { guarded } from "./host.ts";
import type { HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";

/** A longer one is not told. Nothing is cut here: the runtime redacts, and half a secret is none that it would know. */
const TOLD_BYTES_MAX = 2 * 1024 * 1024;

export class PromptLog {
  readonly #impresario: Impresario;
  #leftOut = 0;

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** A turn begins with the prompt that Pi has now. */
  turnBegins(session: HostSession): void {
    if (!this.#impresario.wishes.of(session)?.turn_prompts) return;
    const prompt = session.read((ctx) => ctx.getSystemPrompt(), "");
    if (prompt) this.#tell(session, { prompt, payload: null });
  }

  /** A request is about to go out. */
  requestGoes(session: HostSession, request: unknown): void {
    if (!this.#impresario.wishes.of(session)?.request_prompts) return;
    const payload = systemFields(request);
    if (payload) this.#tell(session, { prompt: null, payload });
  }

  #tell(session: HostSession, seen: { prompt: string | null; payload: Record<string, unknown> | null }): void {
    const size = guarded(() => Buffer.byteLength(JSON.stringify(seen)), Infinity);
    if (size > TOLD_BYTES_MAX) {
      this.#leftOut += 1;
      return;
    }
    const model = session.read((ctx) => (ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : null), null);
    this.#impresario.runtime.connection?.notify("prompt.seen", { session: session.id, model, ...seen, left_out: this.#leftOut });
    this.#leftOut = 0;
  }
}

/** The fields of a request in which providers have a system prompt, and nothing of the conversation. */
export function systemFields(request: unknown): Record<string, unknown> | undefined {
  if (!isObject(request)) return undefined;
  const { system, messages, input, config, systemInstruction } = request;
  const fields = {
    system,
    messages: spokenBySystem(messages),
    input: spokenBySystem(input),
    config: isObject(config) && config["systemInstruction"] !== undefined ? { systemInstruction: config["systemInstruction"] } : undefined,
    systemInstruction,
  };
  const there = Object.entries(fields).filter(([, value]) => value !== undefined);
  return there.length > 0 ? Object.fromEntries(there) : undefined;
}

function spokenBySystem(messages: unknown): unknown[] | undefined {
  if (!Array.isArray(messages)) return undefined;
  const spoken = messages.filter((message) => isObject(message) && (message["role"] === "system" || message["role"] === "developer"));
  return spoken.length > 0 ? spoken : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
