// What a person sees while runs work: one line in the status bar and a widget above the editor.

import { elapsed } from "./drawing.ts";
import type { RunSight, UiProgress } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";
import { doingNow } from "./sight.ts";

const KEY = "impresario";
const REDRAW_MS = 1000;

export interface ShownRun {
  run: string;
  /** The skill and the task, where this extension knows them: a recovered run may have neither. */
  name: string | undefined;
  task: string | undefined;
  startedMs: number;
  doing: string;
  toolCalls: number;
  /** A tool call waits for it and draws it. */
  inCall: boolean;
  /** All there is to see of it; missing until the runtime said it. */
  sight: RunSight | undefined;
}

export class ProgressView {
  readonly #runs = new Map<string, ShownRun>();
  readonly #session: () => HostSession | undefined;
  #ended: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(session: () => HostSession | undefined) {
    this.#session = session;
  }

  get runs(): ShownRun[] {
    return [...this.#runs.values()];
  }

  /** A question of a run as the person reads it: with a name where several might ask. */
  asks(run: string, question: string): string {
    const name = this.#runs.size > 1 ? this.#runs.get(run)?.name : undefined;
    return name ? `${name}: ${question}` : question;
  }

  begin(run: string, name: string | undefined, task: string | undefined, options: { inCall?: boolean } = {}): void {
    const known = this.#runs.get(run);
    this.#runs.set(run, {
      run,
      name: name ?? known?.name,
      task: task ?? known?.task,
      startedMs: known?.startedMs ?? Date.now(),
      doing: known?.doing ?? "starting",
      toolCalls: known?.toolCalls ?? 0,
      inCall: options.inCall ?? known?.inCall ?? false,
      sight: known?.sight,
    });
    this.#draw();
  }

  show({ run, doing, tool_calls }: UiProgress): ShownRun | undefined {
    return this.#change(run, { doing, toolCalls: tool_calls });
  }

  /** The runtime made a picture of the run. */
  see(run: string, sight: RunSight): ShownRun | undefined {
    return this.#change(run, { sight, startedMs: sight.begun_ms });
  }

  /** What is known of the run now; nothing when it is over. */
  #change(run: string, change: Partial<ShownRun>): ShownRun | undefined {
    if (this.#ended.includes(run)) return undefined;
    if (!this.#runs.has(run)) this.begin(run, undefined, undefined);
    const shown = this.#runs.get(run);
    if (!shown) return undefined;
    Object.assign(shown, change);
    this.#draw();
    return shown;
  }

  /** The run is over: what was known of it. Progress that comes too late is not shown. */
  end(run: string): ShownRun | undefined {
    const shown = this.#runs.get(run);
    this.#runs.delete(run);
    this.#ended = [...this.#ended.slice(-99), run];
    this.#draw();
    return shown;
  }

  /** Another session is on the screen, or none. */
  clear(): void {
    this.#runs.clear();
    this.#draw();
  }

  /** Draws what is known, and has Pi draw what else has changed. */
  redraw(): void {
    this.#draw();
  }

  #draw(): void {
    const session = this.#session();
    const runs = this.runs;
    this.#tick(runs.length > 0 && session?.mode === "tui");
    if (!session?.hasUI) return;
    const now = Date.now();
    session.read((ctx) => {
      ctx.ui.setStatus(KEY, statusLine(runs, now));
      // What a tool call draws is not drawn twice.
      const inBackground = runs.filter(({ inCall }) => !inCall);
      ctx.ui.setWidget(KEY, inBackground.length > 0 ? widgetLines(inBackground, now, session.mode === "tui") : undefined);
    }, undefined);
  }

  /** Elapsed time moves by itself on a terminal; elsewhere each redraw would be one more record. */
  #tick(wanted: boolean): void {
    if (wanted && !this.#timer) {
      this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
      this.#timer.unref();
    }
    if (!wanted && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

export function statusLine(runs: ShownRun[], nowMs: number): string | undefined {
  const [first] = runs;
  if (!first) return undefined;
  const others = runs.length > 1 ? ` +${runs.length - 1}` : "";
  return `${titleOf(first)}${others}: ${elapsed(nowMs - first.startedMs)}, ${toolCalls(first.toolCalls)}`;
}

export function widgetLines(runs: ShownRun[], nowMs: number, escapeWorks: boolean): string[] {
  const lines = runs.slice(0, 4).flatMap((run) => [
    `● ${titleOf(run)}  ${elapsed(nowMs - run.startedMs)}  ${toolCalls(run.toolCalls)}${run.sight?.used ? `  ${run.sight.used}` : ""}`,
    `  ${oneLine((run.sight && doingNow(run.sight, nowMs)) ?? run.doing, 100)}`,
  ]);
  if (runs.length > 4) lines.push(`  and ${runs.length - 4} more`);
  lines.push(escapeWorks ? "  esc cancels" : "  /skill:cancel cancels");
  return lines;
}

export function titleOf(run: ShownRun): string {
  return run.name ?? `run ${run.run}`;
}

function toolCalls(count: number): string {
  return count === 1 ? "1 tool call" : `${count} tool calls`;
}

/** Control characters would move the cursor of a terminal. */
export function oneLine(text: string, lengthMax: number): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return line.length <= lengthMax ? line : `${line.slice(0, lengthMax - 1)}…`;
}

/** Words of somebody else's, which may end in a full stop or not. */
export function sentence(words: string): string {
  return /[.!?…]$/.test(words) ? words : `${words}.`;
}
