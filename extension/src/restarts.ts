// How often a runtime that stops by itself is started again: a few times, each after a longer wait.

export interface RestartSettings {
  /** At most so many restarts within `periodMs`. */
  restartsMax: number;
  periodMs: number;
  waitMsFirst: number;
  waitMsMax: number;
}

export const RESTART_SETTINGS: RestartSettings = { restartsMax: 5, periodMs: 120_000, waitMsFirst: 100, waitMsMax: 10_000 };

export class RestartLimiter {
  readonly #settings: RestartSettings;
  #restarts: number[] = [];

  constructor(settings: RestartSettings = RESTART_SETTINGS) {
    this.#settings = settings;
  }

  /** How long to wait before the next start; undefined when there have been too many. */
  waitBeforeRestart(nowMs: number): number | undefined {
    const { restartsMax, periodMs, waitMsFirst, waitMsMax } = this.#settings;
    this.#restarts = this.#restarts.filter((at) => nowMs - at < periodMs);
    if (this.#restarts.length >= restartsMax) return undefined;
    this.#restarts.push(nowMs);
    return Math.min(waitMsMax, waitMsFirst * 2 ** (this.#restarts.length - 1));
  }
}
