// Lends what the extension does to a session before a request to a test. A step of a case is a line; each question of the
// extension to the runtime is a line back, whose answer is the next line; the last line back is the request.
import { createInterface } from "node:readline";
import { contextLine } from "../../../extension/src/context-status.ts";
import { Truncation } from "../../../extension/src/truncation.ts";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const next = async () => JSON.parse((await lines.next()).value);

const connection = {
  ask: async (method, params) => {
    say({ ask: method, params });
    return { ok: true, result: await next() };
  },
};
const impresario = { runtime: { connection } };
let told = [];

function sessionOf({ messages, model, usage_percent, branch }) {
  const [provider, id] = model?.split("/") ?? [];
  const entries = messages.map((message, at) => ({ type: "message", id: `entry-${at}`, message }));
  const seen = [...entries.map((sourceEntry) => ({ sourceEntry, messages: [sourceEntry.message] })), ...told.map((sourceEntry) => ({ sourceEntry, messages: [sourceEntry] }))];
  const ctx = {
    model: model ? { provider, id } : undefined,
    getContextUsage: () => ({ percent: usage_percent ?? null }),
    sessionManager: { getBranch: () => (branch ? [...branch, ...told] : entries), buildSessionProjection: () => ({ entries: seen }) },
  };
  return { id: "S", pi: { getActiveTools: () => ["context"], appendEntry: () => {} }, read: (look) => look(ctx) };
}

async function request(step) {
  const edits = await new Truncation(impresario).turnEnded(sessionOf(step), step.messages, true);
  const contents = new Map(edits.map(({ targetId, replacement }) => [targetId, replacement.content]));
  const messages = step.messages.map((message, at) => {
    const content = contents.get(`entry-${at}`);
    return content ? { ...message, content } : message;
  });
  const line = step.model ? await contextLine(impresario, sessionOf({ ...step, messages })) : undefined;
  if (line) told.push({ type: "custom_message", ...line });
  return { messages, line: line?.content ?? null };
}

for (;;) {
  const { value, done } = await lines.next();
  if (done) break;
  const { first, step } = JSON.parse(value);
  if (first) told = [];
  say({ done: await request(step) });
}
