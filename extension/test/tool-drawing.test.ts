import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { bashCall, bashResult, readCall, readResult } from "../src/tool-drawing.ts";
import type { Paint, ToolResult } from "../src/tool-drawing.ts";
import { clampLine, countLines, countWords, headOf, plainText, shellTokens, tailOf, withoutAnchors, withoutNotices, wordsLabel } from "../src/tool-text.ts";
import { cases } from "./vectors.ts";

const plain: Paint = { fg: (_color, text) => text, bold: (text) => text };
const wished = { preview_lines: 5, expanded_lines: 200, dim: false };

/** Each recorded case, with what differs on purpose. */
function replay(name: string, ours: (input: Record<string, unknown>) => unknown, differs: (output: unknown) => unknown = (output) => output): void {
  test(`what was recorded of ${name} holds`, () => {
    const all = cases(name);
    assert.ok(all.length > 0, "no cases");
    for (const { case: id, input, output } of all) assert.ok(same(differs(output), ours(input)), `${id}: ${JSON.stringify(input).slice(0, 300)}\n${JSON.stringify(output).slice(0, 600)}\n${JSON.stringify(ours(input)).slice(0, 600)}`);
  });
}

function same(recorded: unknown, ours: unknown): boolean {
  const digest = (recorded as { $digest?: { utf16_len: number; sha256: string } } | null)?.$digest;
  if (digest && typeof ours === "string") return ours.length === digest.utf16_len && createHash("sha256").update(ours).digest("hex") === digest.sha256;
  if (Array.isArray(recorded)) return Array.isArray(ours) && recorded.length === ours.length && recorded.every((item, index) => same(item, ours[index]));
  if (typeof recorded === "object" && recorded !== null) return Object.entries(recorded).every(([key, value]) => same(value, (ours as Record<string, unknown> | undefined)?.[key]));
  return recorded === ours;
}

replay("clamp_line", ({ line, max }) => clampLine(line as string, max as number));
replay("shell_tokens", ({ line }) => shellTokens(line as string) ?? null);
replay("read_strip_anchors", ({ text }) => withoutAnchors(text as string));
replay("tool_output_text", ({ text }) => {
  const output = text as string;
  const words = countWords(output);
  const shown = { tail5: tailOf(output, 5), tail1: tailOf(output, 1), tail0: tailOf(output, 0), expanded3: headOf(output, 3) };
  return { lines: countLines(output), words, words_label: wordsLabel(words), stripped: withoutNotices(output), ...shown };
});

function seenOf(input: Record<string, unknown>) {
  return { isError: input["error"] === true, isPartial: input["partial"] === true, expanded: input["expanded"] === true, cwd: (input["cwd"] as string | undefined) ?? "" };
}

function resultOf(input: Record<string, unknown>): ToolResult {
  return { content: (input["content"] as ToolResult["content"] | undefined) ?? [], details: input["details"] };
}

const trimmed = (lines: string[]) => lines.map((line) => line.trimEnd());

replay(
  "bash_render",
  (input) => {
    const ui = (input["ui"] as Record<string, unknown> | undefined) ?? {};
    // What is not drawn is not registered: test/builtin-tools.test.ts.
    if (ui["bash_wrapper_enabled"] === false) return { registered: false };
    const limits = { ...wished, preview_lines: (ui["bash_max_preview_lines"] as number | undefined) ?? 5, expanded_lines: (ui["bash_max_expanded_lines"] as number | undefined) ?? 200 };
    const lines = bashResult(input["args"], resultOf(input), seenOf(input), limits, plain).render(300);
    return { call: trimmed(bashCall(input["args"], plain).render(300)), lines: trimmed(lines) };
  },
  // The peer names its setting in what it leaves out; we say how many.
  (output) => JSON.parse(JSON.stringify(output).replace(/(more lines) omitted by \w+/g, "$1")),
);
replay("read_render", (input) => [...readCall(input["args"], seenOf(input).cwd, plain).render(200), ...readResult(resultOf(input), seenOf(input), { preview: false }, plain).render(200)].map((line) => line.trimEnd()));

const bash = (text: string, how: { isError?: boolean; expanded?: boolean; isPartial?: boolean } = {}, width = 80) =>
  bashResult({ command: "x" }, { content: [{ type: "text", text }] }, { isError: false, isPartial: false, expanded: false, cwd: "/w", ...how }, wished, plain).render(width);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `l${index + 1}`).join("\n");

test("a command that failed shows its beginning and its end", () => {
  const lines = bash(numbered(30), { isError: true });
  assert.deepEqual(lines, ["  ⎿  ✗ Error", ...[1, 2, 3, 4, 5].map((n) => `     l${n}`), "     … 20 more lines", ...[26, 27, 28, 29, 30].map((n) => `     l${n}`), "     ✎ ~30 words"]);
  assert.equal(bash(numbered(10), { isError: true }).length, 12, "nothing is left out where all of it fits");
});

test("one that went well shows its end", () => {
  assert.deepEqual(bash(numbered(7)).slice(0, 3), ["  ⎿  … 2 earlier lines", "     l3", "     l4"]);
  assert.deepEqual(bash(numbered(7), { isPartial: true }), ["  ⎿  l3", "     l4", "     l5", "     l6", "     l7"]);
  assert.deepEqual(bash("", { isPartial: true }), ["  ⎿  Running…"]);
});

test("nothing that a tool says is obeyed by the terminal", () => {
  const hostile = "\u001b]0;title\u0007\u001b[2J\u001b[31mred\u001b[0m\u009b5A \u001bPq#0\u001b\\\u001b(B\u202eright to left\u0007\u0000";
  const [line = ""] = bash(hostile);
  assert.equal(line, "  ⎿  red right to left");
  const drawn = [...bashCall({ command: hostile }, plain).render(80), ...readCall({ path: hostile }, "/w", plain).render(80)].join("");
  assert.doesNotMatch(drawn, /[\u0000-\u001f\u007f-\u009f\u202e]/);
  assert.equal(plainText("10%\r50%\r100%\r\ndone\r\n"), "100%\ndone\n");
});

test("no line is wider than the screen, whatever is in it", () => {
  const text = `${"日本語".repeat(100)}\n${"\t".repeat(50)}\n${"x".repeat(5_000)}`;
  const cells = (line: string) => [...line].reduce((sum, character) => sum + ((character.codePointAt(0) ?? 0) < 0x300 || "⎿⏺✎✓✗…⏹".includes(character) ? 1 : 2), 0);
  for (const width of [1, 4, 5, 6, 10, 40, 200]) {
    const args = { command: `echo "${"日本".repeat(90)}"\nmore`, path: "/w/".repeat(200) };
    const drawn = [...bashCall(args, plain).render(width), ...bash(text, {}, width), ...bash(text, { isError: true, expanded: true }, width), ...readCall(args, "/w", plain).render(width)];
    for (const line of drawn) assert.ok(cells(line) <= width, `${width}: ${cells(line)} ${line.slice(0, 60)}`);
  }
});

test("a read shows how much, and as much of it as is wished", () => {
  const file = { content: [{ type: "text", text: Array.from({ length: 30 }, (_, index) => `${index + 1}#KXVTB|line ${index + 1}`).join("\n") }] };
  const seen = { isError: false, isPartial: false, expanded: false, cwd: "/w" };
  const read = (preview: boolean, how: object = {}) => readResult(file, { ...seen, ...how }, { preview }, plain).render(80);
  assert.deepEqual(read(false), ["  ⎿  ✓ 30 lines read"]);
  assert.deepEqual(read(true).slice(0, 2), ["  ⎿  ✓ 30 lines read", "     line 1"]);
  assert.equal(read(true).at(-1), "     … 20 more lines");
  assert.equal(read(false, { expanded: true }).length, 31);
  const failed = readResult({ content: [{ type: "text", text: "ENOENT: no such file" }] }, { ...seen, isError: true }, { preview: false }, plain).render(80);
  assert.deepEqual(failed, ["  ⎿  ✗ Error", "     ENOENT: no such file"]);
});

test("a text of any length is looked through in a moment", () => {
  const begun = performance.now();
  for (const text of ["\u001b[".repeat(200_000), "\u001b]".repeat(200_000), "[Showing ".repeat(50_000), "a-".repeat(200_000), "\n".repeat(400_000), "\r".repeat(400_000)]) bash(text);
  assert.ok(shellTokens("a ".repeat(50_000))!.length === 100_000);
  assert.ok(performance.now() - begun < 5_000, `${performance.now() - begun} ms`);
});
