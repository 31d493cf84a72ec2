// What lives as long as the Pi process: the runtime, and what is known of its runs. Sessions come and go around it.

import { Anchors } from "./anchors.ts";
import { Capabilities } from "./capabilities.ts";
import { Deliveries, isRead } from "./delivery.ts";
import type { SaidByChain } from "./delivery.ts";
import { Delegation } from "./delegation.ts";
import type { MessageResult, WaitingCall } from "./delegation.ts";
import { EscapeKey } from "./escape.ts";
import { ERROR_CODES } from "./generated/protocol.ts";
import type { DeliveryOffer, HostRequests, InputReading, MessageKind, OfferReceipt, ResumableRun, SkillSummary } from "./generated/protocol.ts";
import { Guidance } from "./guidance.ts";
import { history } from "./history.ts";
import { hostVersion, runtimeEnvironment } from "./host.ts";
import type { HostSession } from "./host.ts";
import { Refusal } from "./connection.ts";
import type { Connection, Failure, NotificationHandlers, RequestHandlers } from "./connection.ts";
import { LeftBehind } from "./left-behind.ts";
import { Markers } from "./markers.ts";
import { checkModels, completeModel } from "./models.ts";
import { Observer } from "./observe.ts";
import { PromptLog } from "./prompt-log.ts";
import { ProgressView, sentence } from "./progress.ts";
import type { ShownRun } from "./progress.ts";
import { Questions } from "./questions.ts";
import { RuntimeProcess } from "./runtime-process.ts";
import type { RuntimeSettings } from "./runtime-process.ts";
import { AddedTools } from "./tools.ts";
import { TranscriptView } from "./transcript.ts";
import { Truncation } from "./truncation.ts";
import { Wishes } from "./wishes.ts";

const READY_MS = 10_000;
/** So long a tool call of the main agent waits for what becomes of its message; a sub-agent may be in a long tool. */
const DELIVERED_WITHIN_MS = 10_000;
const ANSWERED_WITHIN_MS = 240_000;
const SCREEN_CLEARED_MS = 300;
export const NOT_READY = "Impresario's runtime is not ready yet; try again in a moment.";

/** What became of a request to run a skill. */
export type SkillOutcome = { is: "accepted" } | { is: "failed" } | { is: "no runtime" } | { is: "unknown skill"; words: string };

/** What the main agent delegates. */
interface Wanted {
  /** The skill or the agent. */
  name: string;
  agent: boolean;
  task: string;
  context: string | null;
  isolated: boolean;
}

/** The chain that the main agent asks for. */
interface WantedChain {
  name: string | null;
  steps: string | null;
  task: string;
}

interface ChainResult extends SaidByChain {
  sight: DeliveryOffer["sight"] | undefined;
}

export class Impresario {
  readonly runtime: RuntimeProcess;
  readonly progress = new ProgressView(() => this.#session);
  readonly deliveries = new Deliveries(() => this.#session, (run) => this.runtime.connection?.notify("delivery.acknowledged", { run }));
  readonly questions = new Questions((answer) => void this.#answer(answer));
  readonly observer = new Observer((events, dropped) => this.#observe(events, dropped));
  readonly escape = new EscapeKey();
  readonly delegation = new Delegation(this);
  readonly guidance = new Guidance(this);
  readonly truncation = new Truncation(this);
  readonly #markers = new Markers();
  readonly capabilities = new Capabilities(this);
  readonly anchors = new Anchors(this);
  readonly addedTools = new AddedTools(this);
  readonly wishes = new Wishes(this);
  readonly promptLog = new PromptLog(this);
  readonly #leftBehind = new LeftBehind(() => this.progress.runs);
  #session: HostSession | undefined;
  /** Something of ours is over the screen, and the keys are its. */
  #looksAway = false;
  #skills: SkillSummary[] = [];
  #ends = new Map<string, () => void>();
  #calls = new Map<string, WaitingCall>();
  readonly #accepting = new Set<Promise<void>>();

  constructor(settings: Partial<RuntimeSettings> = {}) {
    this.runtime = new RuntimeProcess(
      {
        requests: this.#requests(),
        notifications: this.#notifications(),
        connected: (connection, again) => this.#connected(connection, again),
        lost: (sentence) => this.#lost(sentence),
      },
      { hostVersion: hostVersion(), environment: runtimeEnvironment, ...settings },
    );
  }

  /** A session began. Told twice, it changes nothing. */
  begin(session: HostSession, reason: string): void {
    const another = this.#session?.id !== session.id;
    this.#session = session;
    if (another) this.#forgetSession();
    if (another) this.#tellWhatWasLeft(session);
    this.escape.listen(session, () => this.#escape());
    this.runtime.start();
    const connection = this.runtime.connection;
    if (connection) this.#introduce(connection, session, reason);
  }

  /** A session ended; with `quit` so does the runtime. */
  end(session: HostSession, reason: string): void {
    if (!this.isCurrent(session)) return;
    this.observer.flush();
    if (reason === "quit") this.#leftBehind.tellAtExit();
    else this.#leftBehind.keep();
    this.runtime.connection?.notify("session.end", { session: session.id, reason });
    this.escape.leave();
    session.leave();
    if (reason === "quit") this.runtime.stop();
  }

  /** Whether this session is the one that is open; an extension that is loaded twice serves it once. */
  isCurrent(session: HostSession): boolean {
    return this.#session === session;
  }

  /** The connection, for something a person waits for. Pi does not exit meanwhile. */
  async reach(): Promise<Connection | undefined> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      return await this.runtime.ready(READY_MS);
    } finally {
      release();
    }
  }

  /** The skills there are now; those known before when the runtime does not say. */
  async skills(options: { holds?: boolean } = {}): Promise<SkillSummary[]> {
    const session = this.#session;
    const outcome = await (session && this.runtime.connection?.ask("completions", { session: session.id, listed: session.piSkills }, options));
    if (outcome?.ok) this.#skills = outcome.result.skills;
    return this.#skills;
  }

  /** Runs a skill. Without a screen it returns when the run is over, for Pi would exit before. */
  async runSkill(session: HostSession, wanted: { name: string; task: string; hosts_form: boolean }): Promise<SkillOutcome> {
    const { name, task } = wanted;
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) return { is: "no runtime" };
      const request = { ...wanted, agent: false, context: null, isolated: false, session: session.id, request: crypto.randomUUID(), listed: session.piSkills, delegated: false };
      const accepted = await connection.ask("skill.run", request, { holds: true });
      if (!accepted.ok) return this.#refused(session, name, accepted);
      const { run } = accepted.result;
      this.progress.begin(run, name, task);
      if (!session.hasUI) await this.#leftBehind.tellInterrupted(session, this.#ended(run));
      return { is: "accepted" };
    } finally {
      release();
    }
  }

  /** Runs a skill or an agent for a tool call of the main agent, and gives its result as soon as there is one. */
  async delegate(
    session: HostSession,
    wanted: Wanted,
    call: { signal: AbortSignal | undefined; show(run: ShownRun): void },
  ): Promise<{ offer: DeliveryOffer; shown: ShownRun | undefined }> {
    const { name, task } = wanted;
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) throw new Error(this.runtime.offBecause ?? NOT_READY);
      const asked = connection.ask("skill.run", this.#delegated(session, wanted), { holds: true });
      // An offer that stands in the same chunk as the acceptance waits until the run is known here.
      let known = () => {};
      const accepting = new Promise<void>((resolve) => (known = resolve));
      this.#accepting.add(accepting);
      void accepting.then(() => this.#accepting.delete(accepting));
      const accepted = await asked;
      if (!accepted.ok) known();
      if (!accepted.ok) throw new Error(refusal(`Skill ${name}`, accepted));
      const { run } = accepted.result;
      this.progress.begin(run, name, task, { inCall: true });
      const result = new Promise<{ offer: DeliveryOffer; shown: ShownRun | undefined }>((settle, fail) => {
        this.#calls.set(run, { settle, fail, show: call.show });
      });
      known();
      const cancel = () => void this.runtime.connection?.ask("skill.cancel", { session: session.id, run, by: "escape" });
      if (call.signal?.aborted) cancel();
      call.signal?.addEventListener("abort", cancel, { once: true });
      return await this.#leftBehind.tellInterrupted(session, result);
    } finally {
      release();
    }
  }

  /** Runs a chain for a tool call of the main agent, and gives what it says when all of it is over. */
  async chain(
    session: HostSession,
    wanted: WantedChain,
    call: { signal: AbortSignal | undefined; show(run: ShownRun, step: { number: number; of: number; id: string }): void },
  ): Promise<ChainResult> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) throw new Error(this.runtime.offBecause ?? NOT_READY);
      const asked = connection.ask("chain.run", { ...wanted, session: session.id, request: crypto.randomUUID() }, { holds: true });
      let known = () => {};
      const accepting = new Promise<void>((resolve) => (known = resolve));
      this.#accepting.add(accepting);
      void accepting.then(() => this.#accepting.delete(accepting));
      const accepted = await asked;
      if (!accepted.ok) known();
      if (!accepted.ok) throw new Error(refusal("The chain", accepted));
      const { group, members } = accepted.result;
      const ends = members.map(({ run, id, task }, index) => {
        this.progress.begin(run, id, task, { inCall: true });
        const step = { number: index + 1, of: members.length, id };
        return new Promise<{ offer: DeliveryOffer; shown: ShownRun | undefined }>((settle, fail) => {
          this.#calls.set(run, { settle, fail, show: (shown) => call.show(shown, step) });
        });
      });
      known();
      // The last first: a step must not begin because the one before it was cancelled a moment ago.
      const cancel = () => {
        for (const { run } of [...members].reverse()) void this.runtime.connection?.ask("skill.cancel", { session: session.id, run, by: "escape" });
      };
      if (call.signal?.aborted) cancel();
      call.signal?.addEventListener("abort", cancel, { once: true });
      const results = await this.#leftBehind.tellInterrupted(session, Promise.all(ends));
      const runs = members.map(({ run }) => run);
      const sight = results[results.length - 1]?.offer.sight;
      const standing = await this.#standingOf(session, group);
      const unread = `The chain is over; what it says could not be read. \`impresario chain --resume ${group}\` prints it.`;
      const said: SaidByChain = typeof standing === "object" ? standing : { group, state: "failed", text: unread, runs };
      return { ...said, runs, sight };
    } finally {
      release();
    }
  }

  /** Begins a chain whose result comes as one message when all of it is over. */
  async chainInBackground(session: HostSession, wanted: WantedChain): Promise<{ group: string; runs: string[] }> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) throw new Error(this.runtime.offBecause ?? NOT_READY);
      const accepted = await connection.ask("chain.run", { ...wanted, session: session.id, request: crypto.randomUUID() }, { holds: true });
      if (!accepted.ok) throw new Error(refusal("The chain", accepted));
      const { group, members } = accepted.result;
      for (const { run, id, task } of members) {
        this.progress.begin(run, id, task);
        this.deliveries.wakeFor(run);
      }
      return { group, runs: members.map(({ run }) => run) };
    } finally {
      release();
    }
  }

  /** What a chain says when it is over; nothing where it cannot be read. */
  async #standingOf(session: HostSession, group: string): Promise<SaidByChain | "works" | undefined> {
    const told = await this.runtime.connection?.ask("chain.text", { session: session.id, group }, { holds: true });
    if (!told?.ok) return undefined;
    const { state, text, runs } = told.result;
    return state === null ? "works" : { group, state, text, runs };
  }

  /** Begins a run whose result comes as a message, like that of one that a person asked for; the run's id. */
  async delegateInBackground(session: HostSession, wanted: Wanted): Promise<string> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) throw new Error(this.runtime.offBecause ?? NOT_READY);
      const accepted = await connection.ask("skill.run", this.#delegated(session, wanted), { holds: true });
      if (!accepted.ok) throw new Error(refusal(`Skill ${wanted.name}`, accepted));
      this.progress.begin(accepted.result.run, wanted.name, wanted.task);
      this.deliveries.wakeFor(accepted.result.run);
      return accepted.result.run;
    } finally {
      release();
    }
  }

  #delegated(session: HostSession, wanted: Wanted) {
    return { ...wanted, session: session.id, request: crypto.randomUUID(), hosts_form: false, listed: session.piSkills, delegated: true };
  }

  /** The runs a person can go on with, those of this workspace first. */
  async resumable(options: { holds?: boolean } = {}): Promise<ResumableRun[]> {
    const session = this.#session;
    const outcome = await (session && this.runtime.connection?.ask("runs.resumable", { session: session.id }, options));
    return outcome?.ok ? outcome.result.runs : [];
  }

  /** Those whose id begins so. */
  async completeRuns(typed: string): Promise<{ value: string; label: string; description: string }[] | null> {
    const fitting = (await this.resumable()).filter(({ run }) => run.startsWith(typed.trimStart()));
    return fitting.length > 0 ? fitting.map(({ run, name, task }) => ({ value: run, label: run, description: `${name}: ${task}` })) : null;
  }

  /** Goes on with a run. Without a screen it returns when the new one is over, for Pi would exit before. */
  async resumeRun(session: HostSession, run: string): Promise<void> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      if (!connection) return session.complain(this.runtime.offBecause ?? NOT_READY);
      const request = { session: session.id, request: crypto.randomUUID(), run };
      const resumed = await connection.ask("run.resume", request, { holds: true });
      if (!resumed.ok) {
        const { hint } = dataOf(resumed);
        return session.complain(`Run ${run} is not gone on with: ${wordsFor(resumed)}${hint ? ` ${hint}` : ""}`);
      }
      const { run: next, resumes, name, task } = resumed.result;
      this.progress.begin(next, name, task);
      session.notice("info", `Going on with run ${resumes} as run ${next}.`);
      if (!session.hasUI) await this.#ended(next);
    } finally {
      release();
    }
  }

  /** Cancels every run of the session and says so. */
  async cancel(session: HostSession, by: string): Promise<void> {
    const outcome = await this.runtime.connection?.ask("skill.cancel", { session: session.id, run: null, by }, { holds: !session.hasUI });
    if (!outcome?.ok) return session.complain(`The cancellation did not reach Impresario's runtime (${outcome ? wordsFor(outcome) : "it is not running"}).`);
    const count = outcome.result.runs.length;
    session.tell(count === 0 ? "Nothing is running." : `Cancelling ${count === 1 ? "the run" : `${count} runs`}.`);
  }

  /** Shows the person what the runtime says about traces. */
  async tellTrace<Method extends "trace.report" | "trace.view">(session: HostSession, method: Method, params: HostRequests[Method]["params"]): Promise<void> {
    const connection = await this.reach();
    if (!connection) return session.complain(this.runtime.offBecause ?? NOT_READY);
    const outcome = await connection.ask(method, params, { holds: true });
    if (outcome.ok) session.tell(outcome.result.text);
    else session.complain(`The traces could not be read: ${sentence(wordsFor(outcome))}`);
  }

  /** Shows the person how things stand: one section, or all. */
  async tellStatus(session: HostSession, section: string): Promise<void> {
    const connection = await this.reach();
    if (!connection) return session.complain(this.runtime.offBecause ?? NOT_READY);
    const outcome = await connection.ask("status", { session: session.id, section }, { holds: true });
    if (outcome.ok) session.tell(outcome.result.text);
    else session.complain(`How things stand could not be read: ${sentence(wordsFor(outcome))}`);
  }

  /** Shows the conversation of a run: on a terminal over its screen, elsewhere as text. */
  async showTranscript(session: HostSession, run: string): Promise<void> {
    const connection = await this.reach();
    if (!connection) return session.complain(this.runtime.offBecause ?? NOT_READY);
    const first = await connection.ask("run.transcript", { session: session.id, run, seen: null }, { holds: true });
    if (!first.ok) return session.complain(wordsFor(first));
    const page = first.result;
    const more = async (seen: string) => {
      const outcome = await this.runtime.connection?.ask("run.transcript", { session: session.id, run: page.run, seen });
      return outcome?.ok ? outcome.result : undefined;
    };
    this.#looksAway = true;
    const shown = await session.overlay((screen) => new TranscriptView(page, screen, more)).finally(() => (this.#looksAway = false));
    if (!shown) session.tell([page.title, "", ...(page.lines ?? [])].join("\n"));
  }

  /** Tells a sub-agent that works something. What it says to a question comes as a notice. */
  async tellRun(session: HostSession, kind: MessageKind, what: string): Promise<void> {
    const connection = await this.reach();
    if (!connection) return session.complain(this.runtime.offBecause ?? NOT_READY);
    const told = await connection.ask("run.tell", { session: session.id, kind, what, by_agent: null }, { holds: true });
    if (!told.ok) return session.complain(wordsFor(told));
    const { name, run, message } = told.result;
    session.tell(`${kind === "ask" ? "Asked" : "Told"} ${name} (run ${run}, message ${message}): it has this before its next call of the model.`);
  }

  /** Tells a sub-agent something for a tool call of the main agent, and gives what became of it. */
  async messageRun(
    session: HostSession,
    wanted: { run: string | null; kind: MessageKind; message: string },
    signal: AbortSignal | undefined,
  ): Promise<MessageResult> {
    const connection = await this.reach();
    if (!connection) throw new Error(this.runtime.offBecause ?? NOT_READY);
    const { run: named, kind, message: what } = wanted;
    const told = await connection.ask("run.tell", { session: session.id, kind, what, by_agent: { run: named } }, { holds: true });
    if (!told.ok) throw new Error(wordsFor(told));
    const { run, name, message } = told.result;
    const asksUntil = Date.now() + (kind === "ask" ? ANSWERED_WITHIN_MS : DELIVERED_WITHIN_MS);
    for (;;) {
      const now = await this.runtime.connection?.ask("run.message", { session: session.id, run, message }, { holds: true });
      if (!now?.ok) throw new Error(`The message (${message}) is with run ${run}; what became of it could not be read: ${now ? wordsFor(now) : "the runtime stopped"}`);
      const { fate, answer, is_final } = now.result;
      if (is_final || signal?.aborted || Date.now() >= asksUntil) return { run, name, message, fate, answer: answer ?? undefined };
    }
  }

  /** The runs of this session whose id begins so, behind a word. */
  async completeRecent(word: string, typed: string): Promise<{ value: string; label: string; description: string }[] | null> {
    const session = this.#session;
    const outcome = await (session && this.runtime.connection?.ask("runs.recent", { session: session.id }));
    const runs = outcome?.ok ? outcome.result.runs : [];
    const fitting = runs.filter(({ run }) => run.startsWith(typed));
    return fitting.length > 0 ? fitting.map(({ run, name, task }) => ({ value: `${word} ${run}`, label: run, description: `${name}: ${task}` })) : null;
  }

  /** The traces whose file begins so, the newest first. */
  async completeTraces(typed: string): Promise<{ value: string; label: string; description: string }[] | null> {
    const session = this.#session;
    const outcome = await (session && this.runtime.connection?.ask("trace.list", { session: session.id }));
    const traces = outcome?.ok ? outcome.result.traces : [];
    const fitting = traces.filter(({ file }) => file.startsWith(typed.trimStart()));
    return fitting.length > 0 ? fitting.map(({ file, skill }) => ({ value: file, label: file, description: skill })) : null;
  }

  /** What a typed line asks for; nothing when no runtime can say. */
  async read(session: HostSession, text: string): Promise<InputReading | undefined> {
    this.runtime.startIfIdle();
    const release = this.runtime.hold();
    try {
      const connection = await this.runtime.ready(READY_MS);
      const outcome = await connection?.ask("input", { session: session.id, text }, { holds: true });
      return outcome?.ok ? outcome.result : undefined;
    } finally {
      release();
    }
  }

  /** A provider request with the markers it should carry. Silence means those it has. */
  placeMarkers(session: HostSession, payload: unknown): Promise<unknown> {
    const branch = () => session.read((ctx) => ctx.sessionManager.getBranch(), []) as never[];
    return this.#markers.place(session.id, branch, payload, async (skeleton) => {
      const outcome = await this.runtime.connection?.ask("markers.plan", skeleton);
      return outcome?.ok ? outcome.result : { edits: [] };
    });
  }

  #requests(): RequestHandlers {
    return {
      ping: ({ payload }) => ({ payload }),
      "model.complete": (request, signal) => completeModel(this.#here(null), request, signal),
      "models.check": (asked) => checkModels(this.#here(null), asked),
      "question.ask": ({ run, session, question }) => ({ shown: this.questions.ask(this.#here(session), run, this.progress.asks(run, question)) }),
      "delivery.offer": async (offer) => {
        await Promise.all(this.#accepting);
        return this.#take(offer);
      },
      "session.history": ({ messages_max }) => ({ messages: history(this.#here(null), messages_max) }),
      "session.has_run": ({ run, session }) => {
        this.#here(session);
        return { has: this.deliveries.has(run) };
      },
    };
  }

  #notifications(): NotificationHandlers {
    return {
      "ui.progress": (progress) => {
        if (progress.session !== null && progress.session !== this.#session?.id) return;
        this.#showInCall(this.progress.show(progress));
      },
      "ui.sight": ({ run, session, sight }) => {
        if (session !== null && session !== this.#session?.id) return;
        this.#showInCall(this.progress.see(run, sight));
      },
      "ui.notice": ({ level, text }) => this.#session?.notice(level, text),
    };
  }

  #showInCall(shown: ShownRun | undefined): void {
    if (shown) this.#calls.get(shown.run)?.show(shown);
  }

  /** The open session, if it is the one that is meant. */
  #here(session: string | null): HostSession {
    const open = this.#session;
    if (!open?.isOpen) throw new Refusal(ERROR_CODES.NobodyThere, "no session is open");
    if (session && session !== open.id) throw new Refusal(ERROR_CODES.NobodyThere, "another session is open");
    return open;
  }

  async #take(offer: DeliveryOffer): Promise<OfferReceipt> {
    const session = this.#here(offer.session);
    const { run } = offer;
    const shown = this.progress.end(run);
    this.questions.close(run);
    const call = this.#calls.get(run);
    this.#calls.delete(run);
    const receipt = call ? this.deliveries.expect(run) : await this.#takeAsMessage(session, offer, shown);
    call?.settle({ offer, shown });
    this.#ends.get(run)?.();
    this.#ends.delete(run);
    return receipt;
  }

  /** A step's result is part of what its chain says, which is posted when the last of its runs is offered. */
  async #takeAsMessage(session: HostSession, offer: DeliveryOffer, shown: ShownRun | undefined): Promise<OfferReceipt> {
    if (!offer.chain || isRead(session)) return this.deliveries.take({ offer, shown });
    const standing = await this.#standingOf(session, offer.chain);
    this.#here(offer.session);
    if (standing === "works") return this.deliveries.expect(offer.run);
    return this.deliveries.take({ offer, shown, ...(standing && { chain: standing }) });
  }

  #connected(connection: Connection, again: boolean): void {
    const session = this.#session;
    if (session?.isOpen) this.#introduce(connection, session, again ? "reconnect" : "startup");
  }

  #introduce(connection: Connection, session: HostSession, reason: string): void {
    connection.notify("session.start", session.describe(reason));
    void this.skills();
    void this.wishes.prepare(session);
    void this.#offerTools(session, reason === "reconnect");
  }

  /** One after the other: tools in another order are another prompt to the provider's cache. What is not decided now is before the next turn. */
  async #offerTools(session: HostSession, again: boolean): Promise<void> {
    await this.delegation.prepare(session);
    if (!this.delegation.isDecided(session)) return;
    await this.anchors.prepare(session);
    if (!this.anchors.isDecided(session)) return;
    await this.addedTools.prepare(session);
    if (!this.addedTools.isDecided(session)) return;
    await this.capabilities.prepare(session, { again });
  }

  #lost(sentence: string): void {
    const session = this.#session;
    if (session?.hasUI || this.runtime.isHeld) session?.notice("warning", sentence);
    if (this.runtime.offBecause === undefined) return;
    this.progress.clear();
    for (const ended of this.#ends.values()) ended();
    this.#ends.clear();
    this.#failCalls(sentence);
  }

  #ended(run: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.runtime.offBecause !== undefined || this.deliveries.has(run)) resolve();
      else this.#ends.set(run, resolve);
    });
  }

  #refused(session: HostSession, name: string, failure: Failure): SkillOutcome {
    const data = dataOf(failure);
    if (data.code === "unknown_skill") return { is: "unknown skill", words: wordsFor(failure) };
    if (data.code === "retrieval_unavailable") {
      // The words are the runtime's whole line.
      session.complain(wordsFor(failure));
      return { is: "failed" };
    }
    const uncertain = failure.why === "error" ? "" : " If it was accepted nevertheless, its result will appear here.";
    const hint = data.hint ? ` ${data.hint}` : "";
    session.complain(`Skill ${name} was not started: ${sentence(wordsFor(failure))}${hint}${uncertain}`);
    return { is: "failed" };
  }

  #escape(): boolean {
    const session = this.#session;
    if (!session || this.#looksAway || this.questions.isOpen || this.progress.runs.length === 0) return false;
    void this.cancel(session, "escape");
    return true;
  }

  async #answer(answer: { run: string; answer: string | null }): Promise<void> {
    const connection = await this.runtime.ready(READY_MS);
    const outcome = await connection?.ask("question.answer", answer);
    if (!outcome?.ok) this.#session?.notice("error", "The answer did not reach Impresario's runtime; it will ask again.");
  }

  #observe(events: Parameters<ConstructorParameters<typeof Observer>[0]>[0], dropped: number): boolean {
    const connection = this.runtime.connection;
    if (!connection || !this.#session) return false;
    connection.notify("event", { session: this.#session.id, events, dropped: dropped + connection.takeDropped() });
    return true;
  }

  /** Pi clears its screen after it told of a new session, so this waits until that is done. */
  #tellWhatWasLeft(session: HostSession): void {
    const words = this.#leftBehind.take();
    if (!words) return;
    setTimeout(() => {
      if (this.isCurrent(session)) session.notice("info", words);
    }, SCREEN_CLEARED_MS).unref();
  }

  #failCalls(why: string): void {
    for (const call of this.#calls.values()) call.fail(new Error(why));
    this.#calls.clear();
  }

  #forgetSession(): void {
    this.progress.clear();
    this.deliveries.clear();
    this.questions.closeAll();
    this.#failCalls("another session was opened; the result waits in its own");
  }
}

/** What the main agent is told of a refusal: it can choose another name. */
function refusal(what: string, failure: Failure): string {
  const { hint } = dataOf(failure);
  return `${what} was not started: ${sentence(wordsFor(failure))}${hint ? ` ${hint}` : ""}`;
}

function dataOf(failure: Failure): { code?: string; hint?: string | null } {
  return failure.why === "error" ? ((failure.error.data ?? {}) as { code?: string; hint?: string | null }) : {};
}

export function wordsFor(failure: Failure): string {
  if (failure.why === "error") return failure.error.message;
  if (failure.why === "timeout") return "the runtime did not answer in time";
  if (failure.why === "cancelled") return "it was cancelled";
  return failure.why === "gone" ? "the runtime stopped" : "the runtime is behind";
}
