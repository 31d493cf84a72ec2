#!/usr/bin/env node
// A runtime for tests of the extension: speaks the protocol and does by rule what the skill's name says. What it hears
// goes to FAKE_LOG; runs it accepted live in FAKE_STATE, so that the next incarnation goes on with them.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

const { FAKE_LOG: log, FAKE_STATE: statePath, FAKE_MODE: mode = "" } = process.env;
const waiting = new Map();
let nextId = 1;
let session = null;
let buffered = "";
const state = statePath && existsSync(statePath) ? JSON.parse(readFileSync(statePath, "utf8")) : { starts: 0, runs: {} };
state.starts += 1;
save();

process.stderr.write("STDERR-NOISE this must reach no screen\n");
if (mode === "dies-at-once") process.exit(3);
if (mode === "silent") setInterval(() => {}, 1000);

function save() {
  if (statePath) writeFileSync(statePath, JSON.stringify(state));
}
function note(what) {
  if (log) appendFileSync(log, `${JSON.stringify({ pid: process.pid, ...what })}\n`);
}
function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
function tell(method, params) {
  write({ method, params });
}
function ask(method, params) {
  const id = nextId++;
  write({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function work(run) {
  const { name, task } = state.runs[run];
  const doing = (text, tool_calls) => tell("ui.progress", { run, session, doing: text, tool_calls, at_ms: Date.now() });
  doing("reading src/lib.rs", 1);
  let answer = `answer of ${name} to: ${task}`;
  if (name === "crash" && state.starts === 1) {
    await sleep(50);
    process.kill(process.pid, "SIGKILL");
  }
  if (name === "judge" || name === "judge-strange") {
    const model = name === "judge" ? "session" : "nobody/nothing";
    const request = { model, system: "judge", messages: [{ role: "user", text: `JUDGE ${task}`, tool_calls: [], answers_call: null }], tools: [], temperature: 0, tokens_max: 64 };
    const reply = await ask("model.complete", request);
    answer = `model said: ${reply.result?.text ?? JSON.stringify(reply.error.data)}`;
  }
  if (name === "ask") {
    const shown = await ask("question.ask", { run, session, question: "Which one do you mean?" });
    if (!shown.result?.shown) return end(run, "parked", null, { code: "needs_clarification", message: "nobody was there to answer" });
    const given = await new Promise((resolve) => (state.runs[run].answered = resolve));
    answer = `you said: ${given}`;
  }
  if (name === "garbage") {
    process.stdout.write("this is not JSON\n");
    process.stdout.write(`${"x".repeat(5 * 1024 * 1024)}\n`);
    tell("ui.from_the_future", { a: 1 });
  }
  if (name === "slow") {
    for (let step = 1; step < 600 && state.runs[run] && !state.runs[run].cancelled; step += 1) {
      await sleep(100);
      doing(`step ${step}`, step);
    }
    if (state.runs[run].cancelled) return end(run, "cancelled", null, { code: "cancelled", message: "you cancelled" });
  }
  if (name === "fail") return end(run, "failed", "half an answer", { code: "total_timeout", message: "It took too long." });
  await sleep(20);
  return end(run, "succeeded", answer, null);
}

async function end(run, stateName, answer, reason) {
  const receipt = await ask("delivery.offer", { run, session, state: stateName, answer, reason });
  note({ receipt: receipt.result?.receipt, error: receipt.error, run });
  if (mode === "offers-twice") note({ again: (await ask("delivery.offer", { run, session, state: stateName, answer, reason })).result });
  delete state.runs[run];
  save();
}

const methods = {
  hello: () => ({ protocol: 1, runtime_version: "fake", capabilities: [], line_bytes_max: 4194304 }),
  completions: () => ({ skills: [{ name: "demo", description: "shows something" }, { name: "judge", description: "asks a model" }] }),
  input: ({ text }) => {
    const [, colon, name, task = ""] = /^\s*\/skill(:| )(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
    return name ? { is: "skill", name, task, hosts_form: colon === ":" } : { is: "pass" };
  },
  "skill.run": ({ name, task }) => {
    if (name === "nope" || name === "pi-skill") throw { code: -32001, message: `no skill is called ${name}`, data: { code: "unknown_skill", hint: null } };
    if (name === "broken") throw { code: -32001, message: "its SKILL.md has no description", data: { code: "broken_skill", hint: "Add one." } };
    const run = `0${Date.now().toString(32)}0000000000000000`.replace(/[ilou]/g, "z").slice(0, 16);
    state.runs[run] = { name, task };
    save();
    setTimeout(() => void work(run), 1);
    return { run };
  },
  "skill.cancel": () => {
    const runs = Object.keys(state.runs);
    for (const run of runs) state.runs[run].cancelled = true;
    return { runs };
  },
  "question.answer": ({ run, answer }) => {
    state.runs[run]?.answered?.(answer);
    return { taken: true };
  },
  "markers.plan": ({ blocks }) => ({ edits: mode === "marks" ? blocks.flatMap(([, , , marker], place) => (marker ? [[place, "1h"]] : [])) : [] }),
};
const notes = {
  "session.start": (params) => {
    session = params.session;
    if (state.starts > 1) for (const run of Object.keys(state.runs)) void work(run);
  },
};

function read(line) {
  const message = JSON.parse(line);
  note({ heard: message });
  if (mode === "silent") return;
  if (message.method === undefined) return waiting.get(message.id)?.(message);
  if (message.id === undefined) return notes[message.method]?.(message.params);
  if (mode === "silent-hook" && message.method === "delegation") return;
  try {
    write({ id: message.id, result: methods[message.method](message.params) });
  } catch (error) {
    write({ id: message.id, error });
  }
}

process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  buffered += chunk;
  const lines = buffered.split("\n");
  buffered = lines.pop();
  for (const line of lines) read(line);
});
process.stdin.on("end", () => {
  note({ ended: true });
  process.exit(0);
});
