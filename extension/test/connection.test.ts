import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Connection, Refusal } from "../src/connection.ts";
import type { ConnectionHandlers, RequestHandlers } from "../src/connection.ts";
import { ERROR_CODES, LINE_BYTES_MAX } from "../src/generated/protocol.ts";

interface Peer {
  connection: Connection;
  /** What the extension wrote, as messages. */
  heard: Record<string, any>[];
  say(message: object | string): Promise<void>;
  events: string[];
}

function connect(requests: Partial<RequestHandlers> = {}): Peer {
  const input = new PassThrough();
  const output = new PassThrough();
  const heard: Record<string, any>[] = [];
  const events: string[] = [];
  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    heard.push(...lines.map((line) => JSON.parse(line) as Record<string, any>));
  });
  const handlers = {
    requests: { ping: ({ payload }: { payload: unknown }) => ({ payload }), ...requests },
    notifications: { "ui.notice": ({ text }: { text: string }) => events.push(text) },
    closed: () => events.push("closed"),
  } as unknown as ConnectionHandlers;
  const say = async (message: object | string) => {
    input.write(typeof message === "string" ? `${message}\n` : `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await settle();
  };
  return { connection: new Connection(input, output, handlers), heard, say, events };
}

const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test("answers find their requests in any order", async () => {
  const { connection, say } = connect();
  const first = connection.ask("completions", { session: "1", listed: [] });
  const second = connection.ask("completions", { session: "2", listed: [] });
  await say({ id: 2, result: { skills: ["two"] } });
  await say({ id: 1, result: { skills: ["one"] } });
  assert.deepEqual([await first, await second], [
    { ok: true, result: { skills: ["one"] } },
    { ok: true, result: { skills: ["two"] } },
  ]);
});

test("silence ends at the deadline, and the runtime is told", async () => {
  const { connection, heard, say } = connect();
  const outcome = await connection.ask("completions", { session: "s", listed: [] }, { deadlineMs: 5, holds: true });
  assert.deepEqual(outcome, { ok: false, why: "timeout" });
  await say({ id: 1, result: {} });
  assert.deepEqual(heard[1], { jsonrpc: "2.0", method: "request.cancel", params: { id: 1 } });
});

test("an error is an outcome, not a rejection", async () => {
  const { connection, say } = connect();
  const asked = connection.ask("completions", { session: "s", listed: [] });
  await say({ id: 1, error: { code: -32001, message: "no", data: { code: "x" } } });
  assert.deepEqual(await asked, { ok: false, why: "error", error: { code: -32001, message: "no", data: { code: "x" } } });
});

test("whoever waits is told when the runtime is gone, and so is whoever comes later", async () => {
  const { connection, events } = connect();
  const asked = connection.ask("completions", { session: "s", listed: [] });
  connection.close();
  connection.close();
  assert.deepEqual(await asked, { ok: false, why: "gone" });
  assert.deepEqual(await connection.ask("completions", { session: "s", listed: [] }), { ok: false, why: "gone" });
  assert.deepEqual(events, ["closed"]);
});

test("a line that is not JSON is answered, and the next one works", async () => {
  const { heard, say } = connect();
  await say("what is this?");
  await say("[1,2]");
  await say({ id: 7, method: "ping", params: { payload: "x" } });
  assert.deepEqual(heard.map((message) => message["error"]?.code ?? message["result"]), [ERROR_CODES.Parse, ERROR_CODES.InvalidRequest, { payload: "x" }]);
});

test("a line above the limit is answered, and the next one works", async () => {
  const { connection, heard, say } = connect();
  await say("x".repeat(LINE_BYTES_MAX + 1));
  await say({ id: 7, method: "ping", params: { payload: "x" } });
  assert.deepEqual(heard.map((message) => message["error"]?.code ?? message["result"]), [ERROR_CODES.LineTooLong, { payload: "x" }]);
  assert.equal(connection.unread, 1);
});

test("methods of the future are answered or ignored", async () => {
  const { heard, say, events } = connect();
  await say({ method: "from.the.future", params: {} });
  await say({ method: "__proto__", params: {} });
  await say({ id: 1, method: "constructor", params: {} });
  await say({ method: "ui.notice", params: { level: "info", text: "still here", more: 1 } });
  assert.deepEqual(heard.map((message) => message["error"].code), [ERROR_CODES.UnknownMethod]);
  assert.deepEqual(events, ["still here"]);
});

test("a handler that throws answers with what it threw", async () => {
  const { heard, say } = connect({
    "session.history": () => {
      throw new Refusal(ERROR_CODES.NobodyThere, "nobody");
    },
    "session.has_run": () => Promise.reject(new Error("broke")),
  });
  await say({ id: 1, method: "session.history", params: {} });
  await say({ id: 2, method: "session.has_run", params: {} });
  assert.deepEqual(heard.map(({ id, error }) => [id, error.code, error.message]), [
    [1, ERROR_CODES.NobodyThere, "nobody"],
    [2, ERROR_CODES.Internal, "broke"],
  ]);
});

test("a request the runtime cancels is aborted", async () => {
  let seen: AbortSignal | undefined;
  const { say } = connect({
    "model.complete": (_params, signal) => {
      seen = signal;
      return new Promise(() => {});
    },
  });
  await say({ id: 3, method: "model.complete", params: {} });
  await say({ method: "request.cancel", params: { id: 3 } });
  assert.equal(seen?.aborted, true);
});

test("what the runtime does not read is dropped at a limit, not hoarded", async () => {
  const stuck = new PassThrough({ highWaterMark: 1 });
  const connection = new Connection(new PassThrough(), stuck, { requests: {}, notifications: {}, closed: () => {} } as unknown as ConnectionHandlers);
  const reason = "x".repeat(1024 * 1024);
  for (let count = 0; count < 20; count += 1) connection.notify("session.end", { session: "s", reason });
  assert.ok(connection.takeDropped() > 5);
  assert.deepEqual(await connection.ask("completions", { session: "s", listed: [] }), { ok: false, why: "behind" });
});
