// Questions to the person: one on the screen at a time, in the order in which they came. Pi would put a second dialog in
// the place of the first, and nobody could answer that any more.

import type { QuestionAnswer } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";

interface Asked {
  session: HostSession;
  run: string;
  question: string;
}

export class Questions {
  /** The first is on the screen. */
  readonly #line: Asked[] = [];
  #shown: { run: string; dialog: AbortController } | undefined;
  readonly #answer: (answer: QuestionAnswer) => void;

  constructor(answer: (answer: QuestionAnswer) => void) {
    this.#answer = answer;
  }

  get isOpen(): boolean {
    return this.#shown !== undefined;
  }

  /** Puts the question in line; false when nobody is there. Asked again, it keeps its place and is shown again. */
  ask(session: HostSession, run: string, question: string): boolean {
    if (!session.hasUI || !session.isOpen) return false;
    const asked = { session, run, question };
    const place = this.#line.findIndex((other) => other.run === run);
    if (place < 0) this.#line.push(asked);
    else this.#line[place] = asked;
    if (this.#shown?.run === run) this.#takeDown();
    this.#showFirst();
    return this.#line.includes(asked);
  }

  /** The run is over: it waits for nothing any more. */
  close(run: string): void {
    const place = this.#line.findIndex((asked) => asked.run === run);
    if (place >= 0) this.#line.splice(place, 1);
    if (this.#shown?.run === run) this.#takeDown();
    this.#showFirst();
  }

  closeAll(): void {
    this.#line.length = 0;
    this.#takeDown();
  }

  #takeDown(): void {
    const shown = this.#shown;
    this.#shown = undefined;
    shown?.dialog.abort();
  }

  #showFirst(): void {
    const first = this.#line[0];
    if (!first || this.#shown) return;
    const dialog = new AbortController();
    this.#shown = { run: first.run, dialog };
    const answered = first.session.read((ctx) => ctx.ui.input(first.question, "your answer", { signal: dialog.signal }), undefined);
    if (!answered) return this.close(first.run);
    answered.then(
      (text) => this.#answered(first, dialog, text),
      () => this.#answered(first, dialog, undefined),
    );
  }

  #answered(asked: Asked, dialog: AbortController, text: string | undefined): void {
    // Closed by us: whoever closed it needs no answer.
    if (this.#shown?.dialog !== dialog) return;
    this.#shown = undefined;
    // Nothing was typed: that is neither an answer nor the wish to stop.
    if (text !== undefined && !text.trim()) return this.#showFirst();
    this.#line.shift();
    this.#answer({ run: asked.run, answer: text?.trim() || null });
    this.#showFirst();
  }
}
