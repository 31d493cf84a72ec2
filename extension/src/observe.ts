// What happens in the session, told to the runtime in small batches. Nobody ever waits here: a slow handler would stall
// Pi, or make older ones lose their own output.

import type { ObservedEvent } from "./generated/protocol.ts";
import type { Pi } from "./host.ts";

const FLUSH_MS = 50;
const QUEUED_MAX = 1000;

type Summary = (event: never) => Record<string, unknown>;

interface MessageEnd {
  message: { role: string; stopReason?: string; usage?: { input: number; output: number }; model?: string };
}

interface ToolExecution {
  toolName: string;
  toolCallId: string;
  isError?: boolean;
}

/** Roles, names, sizes and ids; no bodies. */
const SUMMARIES: Record<string, Summary> = {
  agent_start: () => ({}),
  agent_end: () => ({}),
  agent_settled: () => ({}),
  turn_start: ({ turnIndex }: { turnIndex: number }) => ({ turn: turnIndex }),
  turn_end: ({ turnIndex }: { turnIndex: number }) => ({ turn: turnIndex }),
  message_end: ({ message }: MessageEnd) => ({ role: message.role, stop_reason: message.stopReason, model: message.model, input: message.usage?.input, output: message.usage?.output }),
  tool_execution_start: ({ toolName, toolCallId }: ToolExecution) => ({ tool: toolName, call: toolCallId }),
  tool_execution_end: ({ toolName, toolCallId, isError }: ToolExecution) => ({ tool: toolName, call: toolCallId, is_error: isError === true }),
  model_select: ({ model }: { model?: { provider: string; id: string } }) => ({ model: model ? `${model.provider}/${model.id}` : null }),
  thinking_level_select: ({ level }: { level: string }) => ({ level }),
  session_compact: ({ reason }: { reason?: string }) => ({ reason }),
  session_compact_failed: ({ reason }: { reason?: string }) => ({ reason }),
  session_tree: () => ({}),
};

export class Observer {
  readonly #send: (events: ObservedEvent[], dropped: number) => boolean;
  #queued: ObservedEvent[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `send` says whether the batch is on its way; what is not is kept, up to a limit. */
  constructor(send: (events: ObservedEvent[], dropped: number) => boolean) {
    this.#send = send;
  }

  /** Registers a handler for each event; `seen` runs after each. */
  register(pi: Pi, seen: (name: string, ctx: unknown) => boolean): void {
    const on = pi.on.bind(pi) as unknown as (name: string, handler: (event: never, ctx: unknown) => void) => void;
    for (const [name, summary] of Object.entries(SUMMARIES)) {
      on(name, (event, ctx) => {
        try {
          if (seen(name, ctx)) this.#queue(name, summary(event));
        } catch {
          this.#dropped += 1;
        }
      });
    }
  }

  /** Sends what waits now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#queued.length === 0 || !this.#send(this.#queued, this.#dropped)) return;
    this.#queued = [];
    this.#dropped = 0;
  }

  #queue(name: string, data: Record<string, unknown>): void {
    if (this.#queued.length >= QUEUED_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#queued.push({ name, at_ms: Date.now(), data });
    if (this.#timer) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_MS);
    this.#timer.unref();
  }
}
