// What becomes of runs whose session is left while they work: whoever leaves is told.

import { writeAll } from "./host.ts";
import type { HostSession } from "./host.ts";
import { titleOf } from "./progress.ts";
import type { ShownRun } from "./progress.ts";

export class LeftBehind {
  readonly #runs: () => ShownRun[];
  #words: string | undefined;
  #waits = 0;

  constructor(runs: () => ShownRun[]) {
    this.#runs = runs;
  }

  /** Pi opens another session in this process: the runs go on. */
  keep(): void {
    const runs = this.#runs();
    this.#words = runs.length > 0 ? goesOn(runs) : undefined;
  }

  /** What there is to say, once. */
  take(): string | undefined {
    const words = this.#words;
    this.#words = undefined;
    return words;
  }

  /** Pi goes: said below its screen, which by then it has left. */
  tellAtExit(): void {
    const runs = this.#runs();
    if (runs.length > 0) process.once("exit", () => writeAll(2, `impresario: ${isParked(runs)}\n`));
  }

  /** Waits for a run. Pi without a screen has no handler for an interrupt and dies of it: whoever interrupts it is told. */
  async tellInterrupted<Result>(session: HostSession, waiting: Promise<Result>): Promise<Result> {
    if (session.hasUI) return await waiting;
    this.#waits += 1;
    if (this.#waits === 1) process.on("SIGINT", this.#interrupted);
    try {
      return await waiting;
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) process.off("SIGINT", this.#interrupted);
    }
  }

  readonly #interrupted = () => {
    process.off("SIGINT", this.#interrupted);
    const runs = this.#runs();
    if (runs.length > 0) writeAll(2, `impresario: ${isParked(runs)}\n`);
    process.kill(process.pid, "SIGINT");
  };
}

export function goesOn(runs: ShownRun[]): string {
  const [what, goes, result] = runs.length === 1 ? ["Skill", "goes", "its result waits"] : ["Skills", "go", "their results wait"];
  return `${what} ${names(runs)} ${goes} on; ${result} in the session that was left (/resume).`;
}

export function isParked(runs: ShownRun[]): string {
  const each = runs.map(({ run }) => `\`impresario runs resume ${run}\``).join(", ");
  return `${names(runs)} parked, because Pi was left while ${runs.length === 1 ? "it" : "they"} worked; ${each} goes on.`;
}

function names(runs: ShownRun[]): string {
  return runs.map(titleOf).join(", ");
}
