// Measures the rules of rules.mjs, one request a line: {"show": row} or {"sample": row}.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { rowsOf } from "./rules.mjs";

const SAMPLE_MS = 2;
const WARM_UP_MS = 150;

const rows = rowsOf(JSON.parse(readFileSync(process.argv[2], "utf8")));
const callsOf = new Map();
let sink;

function time(run, calls) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < calls; i++) sink = run();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

// Long enough for the optimiser, then the calls that make a sample.
function warmUp(run) {
  const until = performance.now() + WARM_UP_MS;
  let calls = 1;
  while (performance.now() < until) time(run, 1);
  while (time(run, calls) < SAMPLE_MS) calls *= 2;
  return calls;
}

function sample(name) {
  const { run } = rows[name];
  if (!callsOf.has(name)) callsOf.set(name, warmUp(run));
  const calls = callsOf.get(name);
  return (time(run, calls) * 1000) / calls;
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = request.show ? rows[request.show].show(rows[request.show].run()) : sample(request.sample);
  process.stdout.write(JSON.stringify(answer) + "\n");
}
