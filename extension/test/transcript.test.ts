import assert from "node:assert/strict";
import { test } from "node:test";
import type { TranscriptPage } from "../src/generated/protocol.ts";
import { TranscriptView } from "../src/transcript.ts";

const UP = "\u001b[A";

function page(count: number, is_over: boolean): TranscriptPage {
  return { run: "r1", title: "explore · run r1", lines: Array.from({ length: count }, (_, at) => `  line ${at}`), is_over, mark: `m${count}${is_over}` };
}

function stage(first: TranscriptPage, next: TranscriptPage[] = []) {
  const seen = { redrawn: 0, closed: 0, marks: [] as string[] };
  const screen = { rows: 8, redraw: () => (seen.redrawn += 1), paint: { fg: (_: string, text: string) => text }, close: () => (seen.closed += 1) };
  const view = new TranscriptView(first, screen, async (mark) => {
    seen.marks.push(mark);
    return next.shift();
  });
  return { view, seen };
}

test("a run that is over is read from its beginning and scrolled", () => {
  const { view, seen } = stage(page(20, true));
  const top = () => view.render(60)[1];
  assert.equal(top(), "  line 0");
  assert.equal(view.render(60).length, 7);
  for (const key of ["\u001b[B", "j", "\u001b[1;1:1B"]) view.handleInput(key);
  assert.equal(top(), "  line 3");
  view.handleInput(UP);
  assert.equal(top(), "  line 2");
  view.handleInput("\u001b[6~");
  assert.equal(top(), "  line 6");
  view.handleInput("\u001b[F");
  assert.equal(top(), "  line 15");
  assert.match(view.render(60).at(-1) ?? "", /^20\/20 · /);
  view.handleInput("\u001b[1~");
  assert.equal(top(), "  line 0");
  view.handleInput("\u001b[1;1:3B");
  assert.equal(top(), "  line 0", "a release is no press");
  view.handleInput("q");
  view.handleInput("\u001b");
  assert.equal(seen.closed, 2);
  view.dispose();
});

test("a run that works is followed until somebody scrolls up, and again from the end on", async () => {
  const { view, seen } = stage(page(10, false), [page(12, false), { ...page(12, false), lines: null }, page(13, false), page(14, true)]);
  const top = () => view.render(60)[1];
  assert.equal(top(), "  line 5");
  await view.refresh();
  assert.equal(top(), "  line 7");
  view.handleInput(UP);
  assert.equal(top(), "  line 6");
  await view.refresh();
  await view.refresh();
  assert.equal(top(), "  line 6");
  assert.match(view.render(60).at(-1) ?? "", /G follows/);
  view.handleInput("G");
  await view.refresh();
  assert.equal(top(), "  line 9");
  assert.doesNotMatch(view.render(60).at(-1) ?? "", /follows/);
  assert.deepEqual(seen.marks, ["m10false", "m12false", "m12false", "m13false"]);
  view.dispose();
});

test("a long line keeps its place and nothing is wider than the screen", () => {
  const long: TranscriptPage = { ...page(0, true), lines: [`    ${"word ".repeat(40)}`, "", "\u001b[2Jx"] };
  const { view } = stage(long);
  const rows = view.render(20);
  assert.ok(rows.slice(1, -1).every((row) => row.length <= 20), rows.join("\n"));
  assert.match(rows[1] ?? "", /^ {4}word/);
  assert.match(rows[2] ?? "", /^ {4}word/);
  assert.doesNotMatch(rows.join(""), /\u001b/);
  view.dispose();
});
