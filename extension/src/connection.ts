// JSON-RPC 2.0 over two byte streams, one object a line. Nothing here throws or rejects: a rejected promise that
// nobody awaits would end Pi.

import type { Readable, Writable } from "node:stream";
import { ERROR_CODES, LINE_BYTES_MAX, METHODS } from "./generated/protocol.ts";
import type { HostNotifications, HostRequests, RuntimeNotifications, RuntimeRequests } from "./generated/protocol.ts";
import { LineSplitter } from "./lines.ts";

/** What the runtime is behind with may grow to this; then notifications are dropped and requests fail. */
const UNWRITTEN_BYTES_MAX = 2 * LINE_BYTES_MAX;

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** Why a request has no result. */
export type Failure =
  | { why: "gone" }
  | { why: "timeout" }
  /** Whoever asked waits no more. */
  | { why: "cancelled" }
  | { why: "behind" }
  | { why: "error"; error: RpcError };

export type Outcome<Result> = { ok: true; result: Result } | ({ ok: false } & Failure);

/** Thrown by a handler to answer with a code of its own. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export type RequestHandlers = {
  [Method in keyof RuntimeRequests]: (
    params: RuntimeRequests[Method]["params"],
    signal: AbortSignal,
  ) => RuntimeRequests[Method]["result"] | Promise<RuntimeRequests[Method]["result"]>;
};

export type NotificationHandlers = {
  [Method in Exclude<keyof RuntimeNotifications, "request.cancel">]: (params: RuntimeNotifications[Method]) => void;
};

export interface ConnectionHandlers {
  requests: RequestHandlers;
  notifications: NotificationHandlers;
  /** Called once. */
  closed(): void;
}

interface Pending {
  settle(outcome: Outcome<unknown>): void;
}

export class Connection {
  readonly #output: Writable;
  readonly #handlers: ConnectionHandlers;
  readonly #pending = new Map<number, Pending>();
  readonly #serving = new Map<unknown, AbortController>();
  #nextId = 1;
  #closed = false;
  #dropped = 0;
  #unread = 0;

  constructor(input: Readable, output: Writable, handlers: ConnectionHandlers) {
    this.#output = output;
    this.#handlers = handlers;
    const lines = new LineSplitter({ line: (text) => this.#read(text), tooLong: (bytes) => this.#tooLong(bytes) }, LINE_BYTES_MAX);
    input.on("data", (chunk: Buffer) => lines.push(chunk));
    input.on("error", () => this.close());
    input.on("close", () => this.close());
    input.on("end", () => this.close());
    output.on("error", () => this.close());
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Messages dropped since the last look, because the runtime was behind. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** Lines of the runtime that could not be read so far. */
  get unread(): number {
    return this.#unread;
  }

  /** Asks and waits, at most for the method's own deadline. Keeps Pi alive so long only where `holds` says so. */
  ask<Method extends keyof HostRequests>(
    method: Method,
    params: HostRequests[Method]["params"],
    options: { holds?: boolean; deadlineMs?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<Outcome<HostRequests[Method]["result"]>> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const deadlineMs = options.deadlineMs ?? METHODS[method].deadlineMs;
      const settle = (outcome: Outcome<unknown>) => {
        clearTimeout(timer);
        options.signal?.removeEventListener("abort", cancel);
        this.#pending.delete(id);
        resolve(outcome as Outcome<HostRequests[Method]["result"]>);
      };
      const leave = (why: "timeout" | "cancelled") => {
        settle({ ok: false, why });
        this.notify("request.cancel", { id });
      };
      const cancel = () => leave("cancelled");
      const timer = setTimeout(() => leave("timeout"), deadlineMs);
      if (!options.holds) timer.unref();
      this.#pending.set(id, { settle });
      if (this.#closed) return settle({ ok: false, why: "gone" });
      if (options.signal?.aborted) return settle({ ok: false, why: "cancelled" });
      options.signal?.addEventListener("abort", cancel, { once: true });
      if (!this.#write({ jsonrpc: "2.0", id, method, params })) settle({ ok: false, why: "behind" });
    });
  }

  /** Says something and waits for nothing. */
  notify<Method extends keyof HostNotifications>(method: Method, params: HostNotifications[Method]): void {
    if (!this.#write({ jsonrpc: "2.0", method, params })) this.#dropped += 1;
  }

  /** Forgets everything that waits. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const pending of [...this.#pending.values()]) pending.settle({ ok: false, why: "gone" });
    for (const serving of this.#serving.values()) serving.abort();
    this.#serving.clear();
    this.#handlers.closed();
  }

  #write(message: object): boolean {
    if (this.#closed || this.#output.writableLength > UNWRITTEN_BYTES_MAX) return false;
    const line = JSON.stringify(message);
    if (Buffer.byteLength(line) > LINE_BYTES_MAX) return false;
    this.#output.write(`${line}\n`);
    return true;
  }

  #read(text: string): void {
    let message: Record<string, unknown>;
    try {
      message = JSON.parse(text) as Record<string, unknown>;
    } catch {
      return this.#complain(ERROR_CODES.Parse, "read the line as JSON");
    }
    if (typeof message !== "object" || message === null || message["jsonrpc"] !== "2.0") {
      return this.#complain(ERROR_CODES.InvalidRequest, "read the line as a JSON-RPC message");
    }
    const { id, method } = message;
    if (typeof method !== "string") return this.#settle(message);
    if (id === undefined || id === null) return this.#noted(method, message["params"]);
    void this.#serve(id, method, message["params"]);
  }

  #settle(message: Record<string, unknown>): void {
    const pending = this.#pending.get(message["id"] as number);
    if (!pending) return;
    const error = message["error"] as RpcError | undefined;
    pending.settle(error ? { ok: false, why: "error", error } : { ok: true, result: message["result"] });
  }

  #noted(method: string, params: unknown): void {
    try {
      if (method === "request.cancel") return this.#serving.get((params as { id: unknown }).id)?.abort();
      const handlers = this.#handlers.notifications;
      if (Object.hasOwn(handlers, method)) handlers[method as keyof NotificationHandlers](params as never);
    } catch {
      this.#unread += 1;
    }
  }

  async #serve(id: unknown, method: string, params: unknown): Promise<void> {
    const serving = new AbortController();
    this.#serving.set(id, serving);
    try {
      const handlers = this.#handlers.requests;
      if (!Object.hasOwn(handlers, method)) throw new Refusal(ERROR_CODES.UnknownMethod, `find a method named ${method.slice(0, 80)}`);
      const result = await handlers[method as keyof RequestHandlers](params as never, serving.signal);
      if (!this.#write({ jsonrpc: "2.0", id, result })) throw new Refusal(ERROR_CODES.Internal, "the answer is longer than a line may be");
    } catch (error) {
      const { code, data } = error instanceof Refusal ? error : { code: ERROR_CODES.Internal, data: undefined };
      this.#write({ jsonrpc: "2.0", id, error: { code, message: textOf(error), data } });
    } finally {
      this.#serving.delete(id);
    }
  }

  #tooLong(bytes: number): void {
    this.#complain(ERROR_CODES.LineTooLong, `read a line of ${bytes} bytes: that is above the limit, so it was thrown away`);
  }

  #complain(code: number, message: string): void {
    this.#unread += 1;
    this.#write({ jsonrpc: "2.0", id: null, error: { code, message } });
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
