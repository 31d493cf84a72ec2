// How long a request is held up for its cache markers: 1 MB in 300 messages, outlined, planned over the bridge, edited.
// node benches/markers.mjs PROGRAM [ROUNDS]; `cargo bench --bench cache` does it. It fails where the target is missed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection } from "../extension/src/connection.ts";
import { PROTOCOL_VERSION } from "../extension/src/generated/protocol.ts";
import { Markers, skeletonOf } from "../extension/src/markers.ts";
import { Outliner } from "../extension/src/generated/outline.ts";

const TARGET_MS = 1;

const [program, rounds = "200"] = process.argv.slice(2);
const marker = { type: "ephemeral" };
const text = (number, size) => `${number} `.repeat(size / 4).slice(0, size);
const messages = Array.from({ length: 300 }, (_, at) =>
  at % 2 === 0
    ? { role: "user", content: [at === 0 ? { type: "text", text: "do it" } : { type: "tool_result", tool_use_id: `call_${at - 1}`, content: [{ type: "text", text: text(at, 6_600) }] }] }
    : { role: "assistant", content: [{ type: "tool_use", id: `call_${at}`, name: "read", input: { path: text(at, 120) } }] },
);
const tools = Array.from({ length: 12 }, (_, at) => ({ name: `tool_${at}`, description: text(at, 600), input_schema: { type: "object", properties: {} } }));
const payload = (length) => {
  const upTo = messages.slice(0, length).map((message, at) => (at < length - 1 ? message : { ...message, content: message.content.map((block) => ({ ...block, cache_control: marker })) }));
  return { model: "claude", system: [{ type: "text", text: text(0, 6_000), cache_control: marker }], tools, messages: upTo };
};

const times = async (count, act) => {
  const took = [];
  for (let round = 0; round < count; round++) {
    const before = performance.now();
    await act(round);
    took.push(performance.now() - before);
  }
  took.sort((one, other) => one - other);
  return { p50: took[count >> 1], p95: took[Math.floor(count * 0.95)], best: took[0] };
};
const shown = ({ p50, p95, best }) => `p50 ${p50.toFixed(3)} ms, p95 ${p95.toFixed(3)} ms, best ${best.toFixed(3)} ms`;

const state = mkdtempSync(join(tmpdir(), "impresario-bench-"));
const runtime = spawn(program, ["bridge", "--state-directory", state], { stdio: ["pipe", "pipe", "inherit"] });
const connection = new Connection(runtime.stdout, runtime.stdin, { requests: {}, notifications: {}, closed() {} });
const welcome = await connection.ask("hello", { protocol_oldest: PROTOCOL_VERSION, protocol_newest: PROTOCOL_VERSION, host: "pi", host_version: "0", extension_version: "0", capabilities: [] }, { deadlineMs: 10_000 });
if (!welcome.ok) throw new Error(`no hello: ${JSON.stringify(welcome)}`);
const plan = async (skeleton) => {
  const outcome = await connection.ask("markers.plan", skeleton, { holds: true });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.result;
};

const count = Number(rounds);
console.log(`request: ${JSON.stringify(payload(299)).length} bytes, ${payload(299).messages.length} messages`);
console.log(`outlined for the first time: ${shown(await times(count, () => new Outliner().outline(payload(299))))}`);
const outliner = new Outliner();
console.log(`outlined again: ${shown(await times(count, () => outliner.outline(payload(299))))}`);
const markers = new Markers();
const all = await times(count, () => markers.place("S", () => [], payload(299), plan));
console.log(`outlined again, planned over the bridge, edited: ${shown(all)}`);
const skeleton = { session: "P", ...skeletonOf(outliner.outline(payload(299)), false), anchors: [], not_applied: null };
console.log(`a bare ping over the bridge: ${shown(await times(count, async () => await connection.ask("ping", {}, { holds: true })))}`);
console.log(`planned over the bridge alone: ${shown(await times(count, () => plan(skeleton)))}`);
const isKept = all.p50 < TARGET_MS;
console.log(`target: all of it in less than ${TARGET_MS} ms, p50: ${isKept ? "kept" : "MISSED"}`);
runtime.kill();
rmSync(state, { recursive: true, force: true });
process.exit(isKept ? 0 : 1);
