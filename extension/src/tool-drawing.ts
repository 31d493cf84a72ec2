// How calls of `bash` and `read` are drawn, where settings wish for it. Text of tools may be anybody's: it is drawn, and
// nothing in it is obeyed.

import { isAbsolute, relative, sep } from "node:path";
import { fitting } from "./drawing.ts";
import type { Drawing } from "./drawing.ts";
import type { BashDrawing, ReadDrawing } from "./generated/protocol.ts";
import { countLines, countWords, headOf, plainText, shellTokens, tailOf, withoutAnchors, withoutNotices, wordsLabel } from "./tool-text.ts";
import type { Preview } from "./tool-text.ts";

const CALL = "⏺ ";
const RESULT = "  ⎿  ";
const BELOW = "     ";
/** So much of a file is drawn in a preview. */
const READ_PREVIEW_LINES = 10;
const READ_OPENED_LINES = 200;
const FAILURE_LINES = 6;

type Color = "success" | "error" | "warning" | "accent" | "muted" | "dim" | "toolOutput" | "toolTitle" | "syntaxString" | "syntaxOperator" | "syntaxComment";

/** What colours: Pi's theme, or nothing. */
export interface Paint {
  fg(color: Color, text: string): string;
  bold(text: string): string;
}

/** A result as Pi has it. */
export interface ToolResult {
  content: readonly { type: string; text?: string }[];
  details?: unknown;
}

/** How it stands, and how it is looked at. */
export interface Seen {
  isError: boolean;
  isPartial: boolean;
  expanded: boolean;
  cwd: string;
}

type Line = readonly [Color, string];

export function bashCall(args: unknown, paint: Paint): Drawing {
  const { command } = fields(args);
  const [first = "", ...more] = typeof command === "string" ? plainText(command).split("\n") : [];
  const rest = more.length > 0 ? ` … ${more.length} more ${more.length === 1 ? "line" : "lines"}` : "";
  const draw = (width: number) => {
    const title = `${CALL}Bash`;
    if (first === "") return [paint.fg("toolTitle", paint.bold(fitted(title, width)))];
    const room = width - title.length - rest.length - 2;
    const shown = fitted(first, room);
    const command = shown === first ? painted(shown, paint) : paint.fg("accent", shown);
    return [room < 1 ? fitted(`${title}(${first})`, width) : `${paint.fg("toolTitle", paint.bold(title))}(${command}${paint.fg("muted", rest)})`];
  };
  return once(draw);
}

export function bashResult(args: unknown, result: ToolResult, seen: Seen, wished: BashDrawing, paint: Paint): Drawing {
  return once((width) => framed(bashLines(args, textOf(result), seen, wished), width, paint));
}

function bashLines(args: unknown, text: string, seen: Seen, wished: BashDrawing): Line[] {
  const color = wished.dim ? "dim" : "toolOutput";
  const output = (shown: Preview, more: string): Line[] => [
    ...shown.lines.map((line): Line => [color, line]),
    ...(shown.omittedLines > 0 ? [omitted(shown.omittedLines, more)] : []),
  ];
  if (seen.isPartial) {
    const tail = tailOf(text, wished.preview_lines);
    return tail.lines.length > 0 ? output({ ...tail, omittedLines: 0 }, "") : [["muted", "Running…"]];
  }
  const body = seen.expanded
    ? output(headOf(text, wished.expanded_lines), "more")
    : seen.isError
      ? bothEnds(text, wished.preview_lines, color)
      : tailFirst(tailOf(text, wished.preview_lines), color);
  const { timeout } = fields(args);
  const footer = [typeof timeout === "number" && timeout > 0 ? `⏹ ${timeout}s` : "", wordsLabel(countWords(text))].filter(Boolean);
  const nothing: Line[] = withoutNotices(text) === "" && body.length === 0 ? [["muted", "(no output)"]] : [];
  return [...(seen.isError ? [["error", "✗ Error"] as const] : []), ...nothing, ...body, ["muted", footer.join(" · ")]];
}

function tailFirst({ lines, omittedLines }: Preview, color: Color): Line[] {
  const before = omittedLines > 0 ? [omitted(omittedLines, "earlier")] : [];
  return [...before, ...lines.map((line): Line => [color, line])];
}

/** What failed says at its beginning what it was about to do, and at its end what became of it. */
function bothEnds(text: string, linesMax: number, color: Color): Line[] {
  const count = countLines(withoutNotices(text));
  if (count <= linesMax * 2) return headOf(text, linesMax * 2).lines.map((line) => [color, line]);
  const between: Line = omitted(count - linesMax * 2, "more");
  return [...headOf(text, linesMax).lines.map((line): Line => [color, line]), between, ...tailOf(text, linesMax).lines.map((line): Line => [color, line])];
}

function omitted(lines: number, which: string): Line {
  return ["muted", `… ${lines} ${which} ${lines === 1 ? "line" : "lines"}`];
}

export function readCall(args: unknown, cwd: string, paint: Paint): Drawing {
  const { path, file_path, offset, limit } = fields(args);
  const named = [path, file_path].find((value) => typeof value === "string");
  const place = typeof named === "string" ? `(${shortened(plainText(named).replaceAll("\n", " "), cwd)}${range(offset, limit)})` : "";
  return once((width) => {
    const title = `${CALL}read`;
    return [`${paint.fg("toolTitle", paint.bold(fitted(title, width)))}${paint.fg("accent", fitted(place, width - title.length))}`];
  });
}

export function readResult(result: ToolResult, seen: Seen, wished: ReadDrawing, paint: Paint): Drawing {
  return once((width) => framed(readLines(result, seen, wished), width, paint));
}

function readLines(result: ToolResult, seen: Seen, wished: ReadDrawing): Line[] {
  if (seen.isPartial) return [["muted", "Reading…"]];
  const text = textOf(result);
  if (seen.isError) return [["error", "✗ Error"], ...headOf(text, FAILURE_LINES).lines.map((line): Line => ["toolOutput", line])];
  if (result.content.some(({ type }) => type === "image")) return [["success", "✓ Image loaded"]];
  const whole = withoutNotices(withoutAnchors(text));
  const count = countLines(whole);
  const of = truncatedFrom(result.details);
  const head: Line = ["success", `✓ ${count} ${count === 1 ? "line" : "lines"} read${of === undefined ? "" : ` (truncated from ${of} lines)`}`];
  const linesMax = seen.expanded ? READ_OPENED_LINES : wished.preview ? READ_PREVIEW_LINES : 0;
  if (linesMax === 0) return [head];
  const { lines, omittedLines } = headOf(whole, linesMax);
  return [head, ...lines.map((line): Line => ["toolOutput", line]), ...(omittedLines > 0 ? [omitted(omittedLines, "more")] : [])];
}

function truncatedFrom(details: unknown): number | undefined {
  const { truncated, totalLines } = fields(fields(details)["truncation"]);
  return truncated === true && typeof totalLines === "number" ? totalLines : undefined;
}

/** `:10-14` of what was asked for; nothing of what cannot be meant. */
function range(offset: unknown, limit: unknown): string {
  const from = isPlace(offset) ? offset : undefined;
  const count = isPlace(limit) ? limit : undefined;
  if (count !== undefined) return `:${from ?? 1}-${(from ?? 1) + count - 1}`;
  return from === undefined ? "" : `:${from}`;
}

function isPlace(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1;
}

function shortened(path: string, cwd: string): string {
  if (!isAbsolute(path) || !cwd) return path;
  const below = relative(cwd, path);
  return below === "" || below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below) ? path : below;
}

/** The words of a command by what they are. */
function painted(command: string, paint: Paint): string {
  const tokens = shellTokens(command);
  if (!tokens) return paint.fg("accent", command);
  return tokens.map((token) => (/^\s$/.test(token) ? token : paint.fg(colorOf(token), token))).join("");
}

function colorOf(token: string): Color {
  if (/^["']/.test(token)) return "syntaxString";
  if (token.startsWith("#")) return "syntaxComment";
  return /^[&|;()<>]+$/.test(token) ? "syntaxOperator" : "accent";
}

function framed(lines: Line[], width: number, paint: Paint): string[] {
  return lines.map(([color, text], index) => {
    const before = index === 0 ? RESULT : BELOW;
    const shown = fitted(text, width - before.length);
    return width <= before.length ? paint.fg(color, fitted(text, width)) : `${paint.fg("muted", before)}${shown && paint.fg(color, shown)}`;
  });
}

/** A line that is no wider; what was left out is an ellipsis. */
function fitted(text: string, width: number): string {
  const line = text.replaceAll("\t", "    ");
  const fits = fitting(line, Math.max(0, width));
  return fits === line ? line : `${fitting(line, Math.max(0, width - 2))}…`.slice(0, Math.max(0, width));
}

function textOf({ content }: ToolResult): string {
  return plainText(content.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : "")).filter(Boolean).join("\n"));
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A screen is drawn again and again, at the same width. */
function once(draw: (width: number) => string[]): Drawing {
  let drawn: { width: number; lines: string[] } | undefined;
  return {
    render: (width) => {
      if (drawn?.width !== width) drawn = { width, lines: draw(width) };
      return drawn.lines;
    },
    invalidate: () => (drawn = undefined),
  };
}
