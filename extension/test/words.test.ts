import assert from "node:assert/strict";
import { test } from "node:test";
import { textFor, textForCaller } from "../src/delivery.ts";
import { elapsed, wrapped } from "../src/drawing.ts";
import { isEscape } from "../src/escape.ts";
import { classify } from "../src/models.ts";
import { goesOn, isParked } from "../src/left-behind.ts";
import { oneLine, sentence, statusLine, widgetLines } from "../src/progress.ts";

test("a provider's words become a kind of failure", () => {
  const check = (words: string, failure: string) => assert.equal(classify(words).failure, failure, words);
  check("401 Unauthorized", "authentication");
  check("No API key found for anthropic", "authentication");
  check("429 rate_limit_error: slow down", "rate_limited");
  check("You exceeded your current quota", "rate_limited");
  check("prompt is too long: 300000 tokens > 200000 maximum", "context_overflow");
  check("404 The model `x` does not exist", "unknown_model");
  check("The response was blocked by the content filter", "refused");
  check("529 Overloaded", "unavailable");
  check("connect ECONNREFUSED 127.0.0.1:1 (connection refused)", "unavailable");
});

test("Esc is recognised as terminals send it, and nothing else is", () => {
  for (const data of ["\u001b", "\u001b[27u", "\u001b[27;1u", "\u001b[27;1:1u", "\u001b[27;1;27~"]) assert.ok(isEscape(data), JSON.stringify(data));
  for (const data of ["\u001b[27;1:3u", "\u001b[A", "\u001b\u001b", "x", "", "\u001b[27;5u", "\u001bb"]) assert.ok(!isEscape(data), JSON.stringify(data));
});

const run = { run: "r1", name: "demo", task: "x", startedMs: 0, doing: "reading\u001b[2J a\nfile", toolCalls: 1, inCall: false, sight: undefined };

test("progress is short and harmless to a terminal", () => {
  assert.equal(statusLine([run], 61_000), "demo: 1 min 1 s, 1 tool call");
  assert.equal(statusLine([run, run], 3_700_000), "demo +1: 1 h 1 min, 1 tool call");
  assert.equal(statusLine([], 0), undefined);
  assert.deepEqual(widgetLines([run], 1000, true), ["● demo  1 s  1 tool call", "  reading [2J a file", "  esc cancels"]);
  assert.equal(oneLine("x".repeat(300), 10), `${"x".repeat(9)}…`);
  assert.equal(elapsed(-5), "0 s");
});

test("a result says what, how, why and the answer", () => {
  const offer = { run: "r1", session: null, earlier_session: false, state: "failed", answer: "half", reason: { code: "total_timeout", message: "Too slow." }, stopped_early: null, about: null, changes: null, receipt: null, sight: null, whole: null, chain: null } as const;
  assert.equal(textFor(offer, run), "Skill demo failed (run r1)\n\nToo slow.\n\nWhat there was of an answer:\n\nhalf");
  assert.equal(textFor({ ...offer, state: "succeeded", answer: "42", reason: null }, undefined), "A sub-agent succeeded (run r1)\n\n42");
});

test("a result says what was asked, which model answered, and why others did not", () => {
  const about = { skill: "demo", agent: null, task: " look ", answers: [{ question: "Which?", answer: "both" }], model: "b/two", left: ["On a/one, it was busy."], used: "7 tokens in, 1 out" };
  const offer = { run: "r1", session: null, earlier_session: false, state: "succeeded", answer: "42", reason: null, stopped_early: null, about, changes: null, receipt: null, sight: null, whole: null, chain: null } as const;
  const text = "Skill demo succeeded (run r1, on b/two; 7 tokens in, 1 out)\n\nTask: look\n\nAsked: Which?\nAnswered: both\n\nOn a/one, it was busy.\n\n42";
  assert.equal(textFor({ ...offer, about: { ...about } }, undefined), text);
  assert.equal(textForCaller({ ...offer, about: { ...about } }, undefined), text.replace("Task: look\n\n", ""));
});

test("a sentence ends once", () => {
  assert.equal(sentence("Busy."), "Busy.");
  assert.equal(sentence("busy"), "busy.");
});

test("text fits the width it is given, and says when there is more", () => {
  assert.deepEqual(wrapped("look at the last commit", 12, 3), ["look at the", "last commit"]);
  assert.deepEqual(wrapped("one\ntwo\u001b[2J\nthree", 12, 2), ["one", "two [2J…"]);
  assert.deepEqual(wrapped("abcdefghij", 4, 2), ["abcd", "ef…"]);
  assert.deepEqual(wrapped("日本語", 4, 4), ["日本", "語"]);
  assert.deepEqual(wrapped("", 4, 4), []);
  assert.equal(wrapped("日本語", 1, 9).length, 3);
});

test("whoever leaves a session is told what becomes of its runs", () => {
  assert.equal(goesOn([run]), "Skill demo goes on; its result waits in the session that was left (/resume).");
  assert.equal(isParked([run]), "demo parked, because Pi was left while it worked; `impresario runs resume r1` goes on.");
});
