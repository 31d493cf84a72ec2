// The conversation of a run over the whole screen: it scrolls, and follows while the run works. The runtime writes the
// lines; here they are wrapped, and a part of them is drawn.

import { wrapped } from "./drawing.ts";
import { isEscape } from "./escape.ts";
import type { TranscriptPage } from "./generated/protocol.ts";

const ASKED_EVERY_MS = 1000;
/** A line of text takes at most so many on the screen. */
const ROWS_OF_A_LINE_MAX = 200;
/** Title and footer, and a little of Pi below. */
const ROWS_AROUND = 3;

/** What Pi gives whoever draws over its screen. */
export interface Screen {
  rows: number;
  redraw(): void;
  paint: { fg(color: "accent" | "dim", text: string): string };
  close(): void;
}

/** Asks for the page anew; nothing when there is no runtime that says it. */
export type AskPage = (seen: string) => Promise<TranscriptPage | undefined>;

export class TranscriptView {
  readonly #screen: Screen;
  readonly #ask: AskPage;
  #page: TranscriptPage;
  #lines: string[];
  #wrapped: { width: number; rows: Map<string, string[]>; all: string[] | undefined } = { width: 0, rows: new Map(), all: undefined };
  #top = 0;
  /** The end stays in sight. */
  #follows: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(page: TranscriptPage, screen: Screen, ask: AskPage) {
    this.#page = page;
    this.#lines = page.lines ?? [];
    this.#screen = screen;
    this.#ask = ask;
    this.#follows = !page.is_over;
    if (!page.is_over) this.#timer = setInterval(() => void this.refresh(), ASKED_EVERY_MS);
    this.#timer?.unref();
  }

  /** Looks whether there is more. */
  async refresh(): Promise<void> {
    const page = await this.#ask(this.#page.mark);
    if (!page || page.run !== this.#page.run) return;
    if (page.lines) {
      this.#lines = page.lines;
      this.#wrapped.all = undefined;
    }
    this.#page = page;
    if (page.is_over) this.dispose();
    this.#screen.redraw();
  }

  render(width: number): string[] {
    const all = this.#rows(width);
    const height = this.#height();
    const last = Math.max(0, all.length - height);
    this.#top = this.#follows ? last : Math.min(this.#top, last);
    const shown = all.slice(this.#top, this.#top + height);
    while (shown.length < height) shown.push("");
    const [title = ""] = wrapped(this.#page.title, width, 1);
    const seen = Math.min(all.length, this.#top + height);
    const state = this.#page.is_over ? "" : this.#follows ? " · follows" : " · G follows";
    const [footer = ""] = wrapped(`${seen}/${all.length}${state} · ↑↓ PgUp PgDn Home End scroll · q closes`, width, 1);
    const { paint } = this.#screen;
    return [paint.fg("accent", title), ...shown, paint.fg("dim", footer)];
  }

  handleInput(data: string): void {
    const page = Math.max(1, this.#height() - 1);
    if (isEscape(data) || data === "q") return this.#screen.close();
    if (isKey(data, "A") || data === "k") this.#scroll(-1);
    else if (isKey(data, "B") || data === "j") this.#scroll(1);
    else if (isKey(data, "5~") || data === "b") this.#scroll(-page);
    else if (isKey(data, "6~") || data === " ") this.#scroll(page);
    else if (isKey(data, "H") || isKey(data, "1~") || data === "g") this.#scroll(-Infinity);
    else if (isKey(data, "F") || isKey(data, "4~") || data === "G") this.#scroll(Infinity);
    else return;
    this.#screen.redraw();
  }

  invalidate(): void {
    this.#wrapped.all = undefined;
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #scroll(rows: number): void {
    const last = Math.max(0, (this.#wrapped.all?.length ?? 0) - this.#height());
    this.#top = Math.max(0, Math.min(last, this.#top + rows));
    this.#follows = this.#top === last;
  }

  #height(): number {
    return Math.max(3, this.#screen.rows - ROWS_AROUND);
  }

  /** Lines that were there before are not wrapped again. */
  #rows(width: number): string[] {
    if (this.#wrapped.width === width && this.#wrapped.all) return this.#wrapped.all;
    const known = this.#wrapped.width === width ? this.#wrapped.rows : new Map<string, string[]>();
    const rows = new Map<string, string[]>();
    const all = this.#lines.flatMap((line) => {
      const wrappedLine = rows.get(line) ?? known.get(line) ?? rowsOf(line, width);
      rows.set(line, wrappedLine);
      return wrappedLine;
    });
    this.#wrapped = { width, rows, all };
    return all;
  }
}

/** A line keeps its place below what it belongs to. */
function rowsOf(line: string, width: number): string[] {
  const indent = (/^ */.exec(line)?.[0] ?? "").slice(0, Math.max(0, width - 10));
  const rows = wrapped(line, Math.max(1, width - indent.length), ROWS_OF_A_LINE_MAX);
  return rows.length > 0 ? rows.map((row) => indent + row) : [""];
}

/** A key as terminals send it: plain, of an application, and in the Kitty protocol (press and repeat). */
function isKey(data: string, end: string): boolean {
  if (!data.startsWith("\u001b")) return false;
  const [, sent = "", tail = ""] = /^\u001b(?:\[|O)(\d*)(?:;1(?::[12])?)?([A-Z~])$/.exec(data) ?? [];
  return end.endsWith("~") ? `${sent}${tail}` === end : tail === end && (sent === "" || sent === "1");
}
