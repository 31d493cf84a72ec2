import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentDisplay, CallSight, RunSight } from "../src/generated/protocol.ts";
import { statusLine, widgetLines } from "../src/progress.ts";
import { doingNow, runDrawing, toCheck } from "../src/sight.ts";

/** Colours as tags, but for those that are everywhere. */
const paint = { fg: (color: string, text: string) => (color === "toolOutput" || color === "dim" ? text : `<${color}>${text}`) };
const BEGUN = 1_000;

function call(tool: string, fate: CallSight["fate"], took: string | null): CallSight {
  return { tool, with: `${tool}.rs`, fate, begun_ms: BEGUN, took, why: fate === "failed" ? "no such file" : null };
}

const sight: RunSight = {
  name: "explore",
  task: "where is it",
  standing: "succeeded",
  begun_ms: BEGUN,
  took: "12.5s",
  model: "b/two",
  attempt: 2,
  waits: null,
  calls: [call("read", "ok", "20ms"), call("bash", "failed", "1.0s"), call("grep", "unknown", null)],
  calls_before: 7,
  left: ["On a/one, it was busy."],
  words: null,
  used: "12.3k in, 450 out · $0.012",
  flags: [],
  receipt: [],
};

function drawn(seen: RunSight | undefined, text: string, isOpen: boolean, width = 60, display: AgentDisplay = "compact"): string[] {
  return runDrawing(seen, text, isOpen, display, paint).render(width);
}

const ANSWER = "Agent explore succeeded (run r1)\n\none\ntwo\nthree\nfour\nfive\nsix\nseven";

test("a run that is over is a line and the beginning of its answer, and opened all that happened", () => {
  const head = "<success>✓ 12.5s · b/two · attempt 2 · 10 calls · 12.3k in, 450 out · $0.012";
  assert.deepEqual(drawn(sight, ANSWER, false, 110), [`${head} · ctrl+o to expand`, "one", "two", "three", "four", "five", "six…"]);
  assert.deepEqual(drawn(sight, "Agent explore succeeded (run r1)\n\none", true, 80), [
    head,
    "  [+7 earlier calls]",
    "<success>  ✓ read  read.rs  20ms",
    "<error>  ✗ bash  bash.rs  1.0s  no such file",
    "<warning>  ? grep  grep.rs",
    "<warning>  ↻ On a/one, it was busy.",
    "one",
  ]);
});

test("folded, a run has more lines or fewer where that is wished for, and what must be checked in any case", () => {
  const calls = [call("a", "ok", "1ms"), call("b", "failed", "2ms"), call("c", "ok", "3ms"), call("d", "ok", "4ms"), call("e", "running", null)];
  const working: RunSight = { ...sight, standing: "working", took: null, calls, flags: ["It may have changed a.rs."] };
  const flag = "<warning>  ! It may have changed a.rs.";
  assert.deepEqual(drawn(working, "", false, 60, "minimal").slice(1), [flag]);
  const full = drawn(working, "", false, 60, "full");
  assert.match(full[1] ?? "", /▸ e  e\.rs/);
  assert.deepEqual(full.slice(2), [
    "  [+8 earlier calls]",
    "<error>  ✗ b  b.rs  2ms  no such file",
    "<success>  ✓ c  c.rs  3ms",
    "<success>  ✓ d  d.rs  4ms",
    flag,
  ]);
  const over = (display: AgentDisplay) => drawn(sight, ANSWER, false, 110, display);
  assert.deepEqual(over("full"), over("compact"));
  assert.equal(over("minimal").length, 1);
  assert.deepEqual(drawn(sight, ANSWER, true, 110, "minimal"), drawn(sight, ANSWER, true, 110));
});

test("a run that works shows what it does now, or waits for", () => {
  const running: RunSight = { ...sight, standing: "working", took: null, calls: [call("a", "running", null), call("b", "running", null)], words: "I look.\nNow there." };
  assert.equal(doingNow(running, BEGUN + 4_200), "▸ b  b.rs  4 s +1");
  assert.equal(doingNow({ ...running, calls: [] }, BEGUN), "Now there.");
  assert.equal(doingNow({ ...running, calls: [], words: null }, BEGUN), undefined);
  const waiting = { ...running, waits: { words: "waits for its provider", until_ms: BEGUN + 3_500 } };
  assert.equal(doingNow(waiting, BEGUN), "4 s left · waits for its provider");
  assert.equal(doingNow(waiting, BEGUN + 9_000), "waits for its provider");
});

test("before anything was heard the text is drawn as it is", () => {
  assert.deepEqual(drawn(undefined, "works in the background", false), ["works in the background"]);
});

test("no line is wider than the screen and none moves the cursor", () => {
  const hostile: RunSight = { ...sight, standing: "working", took: null, model: "m".repeat(300), words: `${"日本".repeat(99)}\u001b[2J`, left: ["l".repeat(300)] };
  for (const width of [1, 4, 10, 40]) {
    for (const line of drawn(hostile, ANSWER, true, width)) {
      const bare = line.replace(/^<\w+>/, "");
      assert.ok([...bare].length <= Math.max(width, 4), `${width}: ${bare}`);
      assert.doesNotMatch(bare, /\u001b/);
    }
  }
});

test("a background run says what it used; one that a call draws counts in the status line", () => {
  const run = { run: "r1", name: "explore", task: "x", startedMs: BEGUN, doing: "briefed", toolCalls: 2, inCall: false, sight: { ...sight, took: null } };
  assert.deepEqual(widgetLines([run], BEGUN + 2_000, false), [
    "● explore  2 s  2 tool calls  12.3k in, 450 out · $0.012",
    "  briefed",
    "  /skill:cancel cancels",
  ]);
  assert.equal(statusLine([run, { ...run, inCall: true }], BEGUN), "explore +1: 0 s, 2 tool calls");
});

test("what to check is drawn folded and opened, what was seen opened only", () => {
  const flagged: RunSight = { ...sight, calls: [], calls_before: 0, left: [], flags: ["It cites a.rs:3, which it did not look at."], receipt: ["read     b.rs  sha256 ba78…"] };
  const text = `Agent explore succeeded (run r1)\n\n${toCheck(["It cites a.rs:3, which it did not look at."])}\n\none`;
  const flag = "<warning>  ! It cites a.rs:3, which it did not look at.";
  assert.deepEqual(drawn(flagged, text, false, 80).slice(1), [flag, "one"]);
  assert.deepEqual(drawn(flagged, text, true, 80).slice(1), ["  read     b.rs  sha256 ba78…", flag, "one"]);
});

test("what an earlier version left in a session says nothing to check", () => {
  const { flags, receipt, ...earlier } = sight;
  assert.deepEqual([flags, receipt], [[], []]);
  assert.deepEqual(drawn(earlier as RunSight, ANSWER, true, 80), drawn(sight, ANSWER, true, 80));
});
