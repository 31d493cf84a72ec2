// What tools said, as it may stand on a screen: counted, shortened, and with nothing in it that a terminal would obey.

/** So much of one line is looked at; the rest is not drawn anyway. */
const LINE_CHARS_MAX = 2_000;
const CUT = "… (truncated)";

/** What Pi puts below a result that it cut: where all of it is. */
const NOTICE = /^[ \t]*\[Showing [^\n]*Full output: [^\n]*\][ \t]*$/;
/** What stands before a line that an edit can name. */
const ANCHOR = /^\d+#(?:[BCDFGHJKLMNPQRSTVWXYZ]{5}|[A-Z]{2})\|/;
const WORD = /[\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*/gu;
/** Commands to a terminal (of one to many characters, some with a text in them), and characters that turn text around. */
const COMMANDS = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[PX^_][^\u001b]*(?:\u001b\\)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Lines of a text, and how many are not among them. */
export interface Preview {
  lines: string[];
  omittedLines: number;
}

/** A text without what a terminal obeys. Of a line that was written over again and again the last is left. */
export function plainText(text: string): string {
  const lines = text.replace(COMMANDS, "").split("\n").map((line) => {
    const whole = line.replace(/\r+$/, "");
    return whole.slice(whole.lastIndexOf("\r") + 1);
  });
  return lines.join("\n").replace(UNSEEN, "");
}

/** So many lines, without empty ones at the end. */
export function countLines(text: string): number {
  const whole = withPlainEnds(text).replace(/\n+$/, "");
  return whole === "" ? 0 : whole.split("\n").length;
}

export function countWords(text: string): number {
  let count = 0;
  for (const _word of text.matchAll(WORD)) count += 1;
  return count;
}

/** `✎ ~12 words`, `✎ ~1.5k words`. */
export function wordsLabel(words: number): string {
  const shown = words < 1_000 ? String(words) : words < 10_000 ? `${(words / 1_000).toFixed(1)}k` : `${Math.round(words / 1_000)}k`;
  return `✎ ~${shown} words`;
}

/** A result without what Pi says of having cut it, and without gaps. */
export function withoutNotices(text: string): string {
  const lines = withPlainEnds(text).split("\n").filter((line) => !NOTICE.test(line));
  return lines.join("\n").replace(/\n{3,}/g, "\n\n").trimEnd();
}

/** Its last lines. */
export function tailOf(text: string, linesMax: number): Preview {
  if (linesMax <= 0) return { lines: [], omittedLines: countLines(text) };
  const lines = linesOf(text);
  return { lines: lines.slice(-linesMax).map(clamped), omittedLines: countLines(lines.slice(0, -linesMax).join("\n")) };
}

/** Its first lines. */
export function headOf(text: string, linesMax: number): Preview {
  const lines = linesOf(text);
  return { lines: lines.slice(0, linesMax).map(clamped), omittedLines: countLines(lines.slice(linesMax).join("\n")) };
}

/** A line of at most so many characters. A cut splits no pair. */
export function clampLine(line: string, charsMax: number): string {
  if (charsMax <= 0) return "";
  if (line.length <= charsMax) return line;
  const kept = Math.max(0, charsMax - CUT.length - 1);
  const pair = kept > 0 && isHigh(line.charCodeAt(kept - 1)) ? 1 : 0;
  return line.slice(0, kept - pair) + CUT;
}

/** Lines as they are in the file, where they came with anchors. */
export function withoutAnchors(text: string): string {
  return text.split("\n").map((line) => line.replace(ANCHOR, "")).join("\n");
}

/** The words of a line of shell, its operators and what is between; undefined where a quotation does not end. */
export function shellTokens(line: string): string[] | undefined {
  const tokens: string[] = [];
  let at = 0;
  while (at < line.length) {
    const before = tokens.at(-1);
    const token = tokenAt(line, at, before === undefined || /^\s$/.test(before) || OPERATORS.includes(before));
    if (token === undefined) return undefined;
    tokens.push(token);
    at += token.length;
  }
  return tokens;
}

const OPERATORS = ["&&", "||", ">>", ">&", "|", ";", "&", "(", ")", "<", ">"];
const SHELL_WORD = /(?:\\[^]|[^\s"'\\&|;()<>])+|\\$/y;

function tokenAt(line: string, at: number, beginsWord: boolean): string | undefined {
  const first = line[at] ?? "";
  if (/\s/.test(first)) return first;
  if (first === "#" && beginsWord) return line.slice(at);
  if (first === '"' || first === "'") return quotation(line, at, first);
  const operator = OPERATORS.find((operator) => line.startsWith(operator, at));
  if (operator) return operator;
  SHELL_WORD.lastIndex = at;
  return SHELL_WORD.exec(line)?.[0] ?? first;
}

function quotation(line: string, at: number, quote: string): string | undefined {
  for (let end = at + 1; end < line.length; end += 1) {
    if (line[end] === quote) return line.slice(at, end + 1);
    if (line[end] === "\\" && quote === '"') end += 1;
  }
  return undefined;
}

function linesOf(text: string): string[] {
  const whole = withoutNotices(text);
  return whole === "" ? [] : whole.split("\n");
}

function clamped(line: string): string {
  return clampLine(line, LINE_CHARS_MAX);
}

function withPlainEnds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
