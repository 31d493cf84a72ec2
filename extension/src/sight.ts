// A run as a person sees it: one line and what it does now while it is folded, what happened in it when it is opened.
// Only elapsed time is known here; everything else was said by the runtime.

import { elapsed, wrapped } from "./drawing.ts";
import type { Drawing } from "./drawing.ts";
import type { AgentDisplay, CallSight, RunSight, Standing, Waits } from "./generated/protocol.ts";

/** So much of an answer is drawn while it is folded, and when it is opened. */
const FOLDED_LINES_MAX = 6;
const OPENED_LINES_MAX = 400;
/** So many of its last calls are drawn beside what it does now, where that is wished for. */
const LAST_CALLS_MAX = 3;
/** So much of something to check is drawn. */
const FLAG_LINES_MAX = 3;
/** So much of what the sub-agent said last is drawn. */
const WORDS_LINES_MAX = 8;

type Color = "success" | "error" | "warning" | "accent" | "muted" | "dim" | "toolOutput";

/** What colours; Pi's theme. */
export interface Paint {
  fg(color: Color, text: string): string;
}

const STANDINGS: Record<Standing, [mark: string, color: Color]> = {
  waiting: ["○", "warning"],
  working: ["●", "accent"],
  succeeded: ["✓", "success"],
  failed: ["✗", "error"],
  cancelled: ["✗", "warning"],
  parked: ["‖", "warning"],
};

const FATES: Record<CallSight["fate"], [mark: string, color: Color]> = {
  running: ["▸", "accent"],
  ok: ["✓", "success"],
  failed: ["✗", "error"],
  unknown: ["?", "warning"],
};

/** Draws a run in the call of the tool that began it; `text` is what the caller is told. Opened, all displays are one. */
export function runDrawing(sight: RunSight | undefined, text: string, isOpen: boolean, display: AgentDisplay, paint: Paint): Drawing {
  return {
    render: (width) => {
      if (!sight) return lines(text, width, isOpen ? OPENED_LINES_MAX : FOLDED_LINES_MAX, paint);
      const head = headLine(sight, width, Date.now(), isOpen ? [] : ["ctrl+o to expand"], paint);
      const isOver = sight.took !== null;
      // A session may hold what an earlier version left.
      const flags = (sight.flags ?? []).flatMap((flag) => paragraph(`! ${flag}`, width, "warning", paint));
      if (!isOpen && display === "minimal") return [head, ...flags];
      const answer = isOver ? lines(withoutHead(text, sight), width, isOpen ? OPENED_LINES_MAX : FOLDED_LINES_MAX, paint) : [];
      const now = isOver ? [] : nowLines(sight, width, Date.now(), paint);
      const last = !isOver && display === "full" ? lastCalls(sight, width, Date.now(), paint) : [];
      if (!isOpen) return [head, ...now, ...last, ...flags, ...answer];
      const receipt = (sight.receipt ?? []).map((line) => paint.fg("dim", below(line, width)));
      return [head, ...now, ...timeline(sight, width, Date.now(), paint), ...receipt, ...flags, ...answer];
    },
    invalidate: () => {},
  };
}

/** How it stands, how long it took so far, on which model, how much it did and used. */
function headLine(sight: RunSight, width: number, nowMs: number, hints: string[], paint: Paint): string {
  const [mark, color] = STANDINGS[sight.standing];
  return paint.fg(color, cut(`${mark} ${[...figures(sight, nowMs), ...hints].join(" · ")}`, width));
}

function figures(sight: RunSight, nowMs: number): string[] {
  const count = sight.calls.length + sight.calls_before;
  return [
    sight.took ?? elapsed(nowMs - sight.begun_ms),
    ...(sight.model === null ? [] : [sight.model]),
    ...(sight.attempt > 1 ? [`attempt ${sight.attempt}`] : []),
    count === 1 ? "1 call" : `${count} calls`,
    ...(sight.used === null ? [] : [sight.used]),
  ];
}

function nowLines(sight: RunSight, width: number, nowMs: number, paint: Paint): string[] {
  const doing = doingNow(sight, nowMs);
  return doing ? [paint.fg("toolOutput", below(doing, width))] : [];
}

/** What it does now, or waits for, in one line. */
export function doingNow(sight: RunSight, nowMs: number): string | undefined {
  if (sight.waits) return waiting(sight.waits, nowMs);
  const running = sight.calls.filter(({ fate }) => fate === "running");
  const last = running.at(-1);
  if (last) return `${FATES.running[0]} ${callText(last, nowMs)}${running.length > 1 ? ` +${running.length - 1}` : ""}`;
  return sight.words?.split("\n").at(-1) || undefined;
}

function waiting({ words, until_ms }: Waits, nowMs: number): string {
  const leftMs = (until_ms ?? nowMs) - nowMs;
  return leftMs > 0 ? `${elapsed(leftMs + 999)} left · ${words}` : words;
}

function timeline(sight: RunSight, width: number, nowMs: number, paint: Paint): string[] {
  const before = earlierCalls(sight.calls_before, width, paint);
  const calls = sight.calls.map((call) => callLine(call, width, nowMs, paint));
  const left = sight.left.map((why) => paint.fg("warning", below(`↻ ${why}`, width)));
  const words = wrapped(sight.words ?? "", Math.max(1, width - 2), WORDS_LINES_MAX).map((line) => paint.fg("muted", below(line, width)));
  return [...before, ...calls, ...left, ...words];
}

/** The last of those that are over, and how many were before them. */
function lastCalls(sight: RunSight, width: number, nowMs: number, paint: Paint): string[] {
  const over = sight.calls.filter(({ fate }) => fate !== "running");
  const last = over.slice(-LAST_CALLS_MAX);
  return [...earlierCalls(sight.calls_before + over.length - last.length, width, paint), ...last.map((call) => callLine(call, width, nowMs, paint))];
}

function earlierCalls(count: number, width: number, paint: Paint): string[] {
  if (count === 0) return [];
  return [paint.fg("dim", below(`[+${count} earlier ${count === 1 ? "call" : "calls"}]`, width))];
}

function callLine(call: CallSight, width: number, nowMs: number, paint: Paint): string {
  const [mark, color] = FATES[call.fate];
  return paint.fg(color, below(`${mark} ${callText(call, nowMs)}`, width));
}

function callText(call: CallSight, nowMs: number): string {
  const took = call.took ?? (call.fate === "running" ? elapsed(nowMs - call.begun_ms) : "");
  return [call.tool, call.with, took, call.why ?? ""].filter(Boolean).join("  ");
}

/** What to check, for whoever reads text only. */
export function toCheck(flags: string[]): string {
  return ["Check this before you rely on it:", ...flags.map((flag) => `- ${flag}`)].join("\n");
}

/** The title of a result says what the head of the drawing says, and what is to be checked is drawn too. */
function withoutHead(text: string, { flags }: RunSight): string {
  const end = text.indexOf("\n\n");
  const rest = end < 0 ? text : text.slice(end + 2);
  const drawn = `${toCheck(flags ?? [])}\n\n`;
  return rest.startsWith(drawn) ? rest.slice(drawn.length) : rest;
}

function lines(text: string, width: number, linesMax: number, paint: Paint): string[] {
  return wrapped(text, width, linesMax).map((line) => paint.fg("toolOutput", line));
}

function paragraph(text: string, width: number, color: Color, paint: Paint): string[] {
  return wrapped(text, Math.max(1, width - 2), FLAG_LINES_MAX).map((line) => paint.fg(color, below(line, width)));
}

function cut(text: string, width: number): string {
  return wrapped(text, width, 1)[0] ?? "";
}

/** Below what it belongs to, where the width allows it. */
function below(text: string, width: number): string {
  return width < 12 ? cut(text, width) : `  ${cut(text, width - 2)}`;
}
