// Esc on the terminal cancels what runs. `ctx.signal` does not help: it is undefined while the main agent is idle.

import type { HostSession } from "./host.ts";

/** Esc as terminals send it: plain, in the Kitty protocol (press, not release), and as xterm's modifyOtherKeys. */
const ESCAPE = /^\u001b(\[27(;1(:[12])?)?u|\[27;1;27~)?$/;

export function isEscape(data: string): boolean {
  return ESCAPE.test(data);
}

export class EscapeKey {
  #stop: (() => void) | undefined;

  /** Listens on this session's terminal instead of the last one. `cancel` says whether there was something to cancel. */
  listen(session: HostSession, cancel: () => boolean): void {
    this.leave();
    this.#stop = session.read((ctx) => {
      if (typeof ctx.ui.onTerminalInput !== "function" || session.mode !== "tui") return undefined;
      return ctx.ui.onTerminalInput((data) => {
        if (!isEscape(data) || !isOurs(session)) return undefined;
        return cancel() ? { consume: true } : undefined;
      });
    }, undefined);
  }

  leave(): void {
    try {
      this.#stop?.();
    } catch {
      // The terminal it listened on is gone.
    }
    this.#stop = undefined;
  }
}

/** While the main agent works, Esc is Pi's; while a name is being completed, it closes the list. */
function isOurs(session: HostSession): boolean {
  if (!session.isIdle) return false;
  const typed = session.read((ctx) => (typeof ctx.ui.getEditorText === "function" ? ctx.ui.getEditorText() : ""), "");
  return !/(^\/\S*$)|(^|\s)@\S*$/.test(typed);
}
