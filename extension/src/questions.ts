// One question to the person at a time for each run; asked again, it is shown again.

import type { QuestionAnswer } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";

export class Questions {
  readonly #open = new Map<string, AbortController>();
  readonly #answer: (answer: QuestionAnswer) => void;

  constructor(answer: (answer: QuestionAnswer) => void) {
    this.#answer = answer;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Shows the question and returns; false when nobody is there. */
  ask(session: HostSession, run: string, question: string): boolean {
    if (!session.hasUI) return false;
    this.close(run);
    const open = new AbortController();
    this.#open.set(run, open);
    const answered = session.read((ctx) => ctx.ui.input(question, "your answer", { signal: open.signal }), undefined);
    if (!answered) return false;
    answered.then(
      (text) => this.#answered(session, run, question, open, text),
      () => this.#answered(session, run, question, open, undefined),
    );
    return true;
  }

  /** The run is over, or the question is shown anew. */
  close(run: string): void {
    const open = this.#open.get(run);
    this.#open.delete(run);
    open?.abort();
  }

  closeAll(): void {
    for (const run of [...this.#open.keys()]) this.close(run);
  }

  #answered(session: HostSession, run: string, question: string, open: AbortController, text: string | undefined): void {
    // Closed by us: whoever closed it needs no answer.
    if (this.#open.get(run) !== open) return;
    // Nothing was typed: that is neither an answer nor the wish to stop.
    if (text !== undefined && !text.trim() && this.ask(session, run, question)) return;
    this.#open.delete(run);
    this.#answer({ run, answer: text?.trim() || null });
  }
}
