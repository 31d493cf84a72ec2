import assert from "node:assert/strict";
import test from "node:test";
import type { QuestionAnswer } from "../src/generated/protocol.ts";
import type { HostSession } from "../src/host.ts";
import { Questions } from "../src/questions.ts";

/** A screen as Pi's is: what is asked last is what a person sees, so there must never be two. */
class Screen {
  readonly dialogs: { question: string; settle: (text: string | undefined) => void }[] = [];
  readonly session: HostSession;

  constructor() {
    const input = (question: string, _hint: string, { signal }: { signal: AbortSignal }) =>
      new Promise<string | undefined>((resolve) => {
        const dialog = { question, settle: (text: string | undefined) => resolve(this.#gone(dialog, text)) };
        this.dialogs.push(dialog);
        signal.addEventListener("abort", () => dialog.settle(undefined));
      });
    const ctx = { ui: { input } };
    const session = { hasUI: true, isOpen: true, read: (look: (seen: typeof ctx) => unknown) => look(ctx) };
    this.session = session as unknown as HostSession;
  }

  get questions(): string[] {
    return this.dialogs.map(({ question }) => question);
  }

  async says(text: string | undefined): Promise<void> {
    this.dialogs[0]?.settle(text);
    await new Promise((resolve) => setImmediate(resolve));
  }

  #gone(dialog: Screen["dialogs"][number], text: string | undefined): string | undefined {
    this.dialogs.splice(this.dialogs.indexOf(dialog), 1);
    return text;
  }
}

function asking(): { screen: Screen; questions: Questions; answers: QuestionAnswer[] } {
  const answers: QuestionAnswer[] = [];
  return { screen: new Screen(), questions: new Questions((answer) => answers.push(answer)), answers };
}

test("several questions are shown one after another, in the order in which they came", async () => {
  const { screen, questions, answers } = asking();
  for (const run of ["a", "b", "c"]) assert.equal(questions.ask(screen.session, run, `${run}?`), true);
  assert.deepEqual(screen.questions, ["a?"]);
  await screen.says("one");
  assert.deepEqual(screen.questions, ["b?"]);
  await screen.says(undefined);
  await screen.says("three");
  assert.deepEqual(answers, [
    { run: "a", answer: "one" },
    { run: "b", answer: null },
    { run: "c", answer: "three" },
  ]);
  assert.equal(questions.isOpen, false);
});

test("a question of a run that is over gives way to the next, shown or not", async () => {
  const { screen, questions, answers } = asking();
  for (const run of ["a", "b", "c"]) questions.ask(screen.session, run, `${run}?`);
  questions.close("b");
  questions.close("a");
  await screen.says("three");
  assert.deepEqual(answers, [{ run: "c", answer: "three" }]);
  assert.deepEqual(screen.questions, []);
});

test("a question that is asked again keeps its place and is shown again; nothing typed is no answer", async () => {
  const { screen, questions, answers } = asking();
  questions.ask(screen.session, "a", "a?");
  questions.ask(screen.session, "b", "b?");
  questions.ask(screen.session, "a", "a once more?");
  assert.deepEqual(screen.questions, ["a once more?"]);
  await screen.says(" ");
  assert.deepEqual(screen.questions, ["a once more?"]);
  await screen.says("one");
  assert.deepEqual(screen.questions, ["b?"]);
  questions.closeAll();
  assert.deepEqual([screen.questions, answers], [[], [{ run: "a", answer: "one" }]]);
});

test("where nobody is there nothing is asked", () => {
  const { screen, questions } = asking();
  const nobody = { ...screen.session, hasUI: false } as HostSession;
  assert.equal(questions.ask(nobody, "a", "a?"), false);
  assert.equal(questions.isOpen, false);
});
