// Results in the conversation: visible to the person, known to the model, each once. A result counts as kept when its
// run id stands in the session for good.

import { existsSync } from "node:fs";
import type { DeliveryOffer, OfferReceipt } from "./generated/protocol.ts";
import { guarded, writeAll } from "./host.ts";
import type { HostSession } from "./host.ts";
import type { ShownRun } from "./progress.ts";
import { toCheck } from "./sight.ts";

export const RESULT_TYPE = "impresario-result";
const LOOK_AGAIN_MS = 250;
const OF_EARLIER_SESSION = "It was asked for in an earlier session here, which Pi did not keep.";

export interface Result {
  offer: DeliveryOffer;
  shown: ShownRun | undefined;
  /** The run is a step of this chain, which is over: what it says is posted, once for all of its runs. */
  chain?: SaidByChain;
}

/** What a chain says when all of it is over. */
export interface SaidByChain {
  group: string;
  state: DeliveryOffer["state"];
  text: string;
  runs: string[];
}

export class Deliveries {
  readonly #session: () => HostSession | undefined;
  readonly #acknowledge: (run: string) => void;
  #queued: Result[] = [];
  #unkept = new Set<string>();
  /** Results of earlier sessions; shown a second time, they count as read when the person goes on. */
  #earlier = new Set<string>();
  #read = new Set<string>();
  /** The main agent goes on when these have ended: it asked for them and has ended its turn. */
  #awaited = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(session: () => HostSession | undefined, acknowledge: (run: string) => void) {
    this.#session = session;
    this.#acknowledge = acknowledge;
  }

  /** Takes a result; it is posted as soon as the main agent is idle, so that it never cuts into a turn. */
  take(result: Result): OfferReceipt {
    const { run } = result.offer;
    if (result.offer.earlier_session) this.#earlier.add(run);
    const queued = this.#queued.some((other) => runsIn(other).includes(run));
    if (!queued) this.#queued.push(result);
    const session = this.#session();
    if (session) this.#postQueued(session);
    this.#lookAgain(this.#queued.length > 0);
    const kept = session !== undefined && branchHas(session, run) && this.#isKept(session, run);
    if (kept) this.#unkept.delete(run);
    // What a chain says brings the results of its other steps, too.
    if (result.chain) this.look();
    return { receipt: kept ? "kept" : "shown" };
  }

  /** The main agent asked for this run in the background and goes on with its result. */
  wakeFor(run: string): void {
    this.#awaited.add(run);
  }

  /** A tool call of the main agent brings this result into the session. */
  expect(run: string): OfferReceipt {
    const session = this.#session();
    if (session && isRead(session)) return { receipt: "kept" };
    this.#unkept.add(run);
    return { receipt: "shown" };
  }

  /** Whether the result of this run stands in the session for good, or was read. */
  has(run: string): boolean {
    const session = this.#session();
    return session !== undefined && branchHas(session, run) && (this.#read.has(run) || this.#isKept(session, run));
  }

  /** The person typed something, so what an earlier session left was seen. */
  personGoesOn(): void {
    const session = this.#session();
    if (!session) return;
    for (const run of this.#earlier) {
      if (!branchHas(session, run)) continue;
      this.#earlier.delete(run);
      this.#unkept.delete(run);
      this.#read.add(run);
      this.#acknowledge(run);
    }
  }

  /** Something may have changed. Pi may write its session's file only after it told of it, so there is a second look. */
  look(): void {
    this.#look();
    if (this.#unkept.size > 0) setTimeout(() => this.#look(), LOOK_AGAIN_MS).unref();
  }

  /** Posts what waits, acknowledges what is kept. */
  #look(): void {
    const session = this.#session();
    if (!session?.isOpen) return;
    this.#postQueued(session);
    for (const run of this.#unkept) {
      if (!this.#isKept(session, run)) continue;
      this.#unkept.delete(run);
      this.#acknowledge(run);
    }
    this.#lookAgain(this.#queued.length > 0);
  }

  /** Another session is open: what was not posted waits in the journal. */
  clear(): void {
    this.#queued = [];
    this.#awaited.clear();
    this.#unkept.clear();
    this.#earlier.clear();
    this.#lookAgain(false);
  }

  #postQueued(session: HostSession): void {
    if (!session.isIdle) return;
    // One turn for all of them: the last one begins it.
    const last = this.#queued.findLast((result) => runsIn(result).some((run) => this.#awaited.has(run)) && stateOf(result) !== "cancelled");
    const others = this.#queued.filter((result) => result !== last);
    this.#queued = [...others, ...(last ? [last] : [])].filter((result) => !this.#post(session, result, result === last));
  }

  #post(session: HostSession, result: Result, triggerTurn: boolean): boolean {
    const runs = runsIn(result);
    for (const run of runs) this.#unkept.add(run);
    if (runs.every((run) => branchHas(session, run))) return true;
    const { offer, shown, chain } = result;
    const details = chain ? { group: chain.group, runs, state: chain.state } : { run: offer.run, state: offer.state, reason: offer.reason };
    const posted = guarded(() => {
      if (details.state === "cancelled") {
        session.pi.appendEntry(RESULT_TYPE, details);
        session.notice("info", chain ? textOfChain(chain, offer) : [titleLine(offer, shown), offer.stopped_early, offer.changes?.text].filter(Boolean).join("\n"));
      } else {
        session.pi.sendMessage({ customType: RESULT_TYPE, content: chain ? textOfChain(chain, offer) : textFor(offer, shown), display: true, details }, { triggerTurn });
      }
      return true;
    }, false);
    if (!posted) return false;
    for (const run of runs) this.#awaited.delete(run);
    if (session.mode === "print") print(offer, shown);
    return true;
  }

  #isKept(session: HostSession, run: string): boolean {
    if (isRead(session)) return true;
    const file = session.read((ctx) => ctx.sessionManager.getSessionFile(), undefined);
    // Pi writes a session's file with the first answer of its model; until then everything is in memory only.
    return (file === undefined || existsSync(file)) && branchHas(session, run);
  }

  #lookAgain(wanted: boolean): void {
    if (wanted && !this.#timer) {
      this.#timer = setInterval(() => this.#look(), LOOK_AGAIN_MS);
      this.#timer.unref();
    }
    if (!wanted && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

function runsIn({ offer, chain }: Result): string[] {
  return chain?.runs ?? [offer.run];
}

function stateOf({ offer, chain }: Result): DeliveryOffer["state"] {
  return chain?.state ?? offer.state;
}

/** Without a person nobody comes back to this session: what Pi printed is the delivery. */
export function isRead(session: HostSession): boolean {
  return session.mode === "print" || session.mode === "json";
}

function branchHas(session: HostSession, run: string): boolean {
  return session.read((ctx) => ctx.sessionManager.getBranch().some((entry) => runsOf(entry).includes(run)), false);
}

interface RunsNamed {
  run?: string;
  runs?: string[];
}

interface StoredEntry {
  type: string;
  customType?: string;
  details?: RunsNamed;
  data?: RunsNamed;
  message?: { role: string; details?: RunsNamed & { state?: string } };
}

function runsOf(entry: unknown): string[] {
  const { type, customType, details, data, message } = entry as StoredEntry;
  // A call that only began its run brings no result: it says no state.
  if (message?.role === "toolResult") return message.details?.state ? named(message.details) : [];
  if (customType !== RESULT_TYPE) return [];
  return named(type === "custom_message" ? details : data);
}

function named(runs: RunsNamed | undefined): string[] {
  return [...(runs?.runs ?? []), runs?.run ?? ""];
}

/** What the model reads, and the person where nothing draws it more nicely. */
export function textFor(offer: DeliveryOffer, shown: ShownRun | undefined): string {
  const parts = [titleLine(offer, shown), ...flagged(offer), ...asked(offer), ...left(offer)];
  if (offer.earlier_session) parts.splice(1, 0, OF_EARLIER_SESSION);
  if (offer.reason) parts.push(offer.reason.message);
  parts.push(...answered(offer));
  if (offer.receipt?.seen) parts.push(offer.receipt.seen);
  return parts.join("\n\n");
}

/** What a chain says, as one result. */
function textOfChain({ group, state, text }: SaidByChain, { earlier_session }: DeliveryOffer): string {
  const parts = [`The chain ${endedAs(state)} (chain ${group})`, ...(earlier_session ? [OF_EARLIER_SESSION] : []), text];
  return parts.filter((part) => part.trim()).join("\n\n");
}

function endedAs(state: SaidByChain["state"]): string {
  return { succeeded: "succeeded", failed: "failed", cancelled: "was cancelled", parked: "is parked" }[state];
}

/** The same for whoever called with the task and reads it in the call. */
export function textForCaller(offer: DeliveryOffer, shown: ShownRun | undefined): string {
  return textFor(offer.about ? { ...offer, about: { ...offer.about, task: "" } } : offer, shown);
}

function asked({ about }: DeliveryOffer): string[] {
  if (!about) return [];
  const task = about.task.trim() ? [`Task: ${about.task.trim()}`] : [];
  return [...task, ...about.answers.map(({ question, answer }) => `Asked: ${question}\nAnswered: ${answer}`)];
}

/** What the answer says and the runtime did not see comes before the answer, for whoever relies on it. */
function flagged({ receipt }: DeliveryOffer): string[] {
  if (!receipt || receipt.flags.length === 0) return [];
  return [toCheck(receipt.flags)];
}

/** Models that were left on the way to the result; a reason names the last one itself. */
function left({ about }: DeliveryOffer): string[] {
  return about && about.left.length > 0 ? [about.left.join("\n")] : [];
}

function answered(offer: DeliveryOffer): string[] {
  const early = offer.stopped_early ? [offer.stopped_early] : [];
  const changes = offer.changes ? [offer.changes.text] : [];
  if (!offer.answer) return [...early, ...changes];
  const answer = offer.state === "succeeded" ? offer.answer : `What there was of an answer:\n\n${offer.answer}`;
  return [answer, ...(offer.whole ? [offer.whole] : []), ...early, ...changes];
}

export function titleLine(offer: DeliveryOffer, shown: ShownRun | undefined): string {
  const agent = offer.about?.agent;
  const skill = offer.about?.skill ?? shown?.name;
  const what = agent ? `Agent ${agent}` : skill ? `Skill ${skill}` : "A sub-agent";
  const model = offer.about?.model ? `, on ${offer.about.model}` : "";
  const used = offer.about?.used ? `; ${offer.about.used}` : "";
  return `${what} ${offer.state} (run ${offer.run}${model}${used})`;
}

/** Pi prints answers of its own model only, and keeps its stdout to itself; ours go to the same place. */
function print(offer: DeliveryOffer, shown: ShownRun | undefined): void {
  const succeeded = offer.state === "succeeded";
  if (!succeeded) {
    process.stderr.write(`impresario: ${titleLine(offer, shown)}${offer.reason ? `: ${offer.reason.message}` : ""}\n`);
    if (offer.stopped_early) process.stderr.write(`impresario: ${offer.stopped_early}\n`);
    process.exitCode = 1;
  }
  for (const flag of offer.receipt?.flags ?? []) process.stderr.write(`impresario: check: ${flag}\n`);
  if (offer.changes) process.stderr.write(`impresario: ${offer.changes.text}\n`);
  if (offer.whole) process.stderr.write(`impresario: ${offer.whole}\n`);
  if (offer.answer) writeAll(1, `${offer.answer}\n`);
}
