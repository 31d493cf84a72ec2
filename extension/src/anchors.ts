// The tool for a session's context, and going back in it. What a call comes to is decided by the runtime; its result, stored
// by Pi, is all there is of an anchor. A pivot waits here, beside the session it belongs to, and is gone with it.

import { completeNewCommands } from "./completion.ts";
import { titledText } from "./drawing.ts";
import type { ContextAsk, ContextDone, ContextPivot, ContextTaken, SessionAnchor, SessionLabel } from "./generated/protocol.ts";
import { guarded, settlesLast } from "./host.ts";
import type { Context, HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { NOT_READY, wordsFor } from "./impresario.ts";
import { oneLine, sentence } from "./progress.ts";
import { anchorOf } from "./seen.ts";
import type { Message } from "./seen.ts";
import { originalOf } from "./truncation.ts";

const COMMAND = "pivot";
const LINE = `/${COMMAND}`;
/** So long a call waits for a runtime that is only starting. */
const READY_MS = 1_000;
/** So many are told of, the newest, and so much of what they say; of the rest the beginning. */
const ANCHORS_MAX = 2_000;
const LABELS_MAX = 2_000;
const SUMMARIES_CHARS_MAX = 600_000;
const SUMMARY_BEGINNING = 160;
const NAMED_CHARS_MAX = 80;
/** So much of what is carried over is drawn, folded and opened. */
const CARRIED_LINES = { folded: 2, opened: 12 };

interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  message?: Message & { stopReason?: string };
}

/** What is read of Pi's session. */
interface Tree {
  getEntries(): readonly Entry[];
  getBranch(): readonly Entry[];
  getLeafId(): string | null;
  getEntry(id: string): Entry | undefined;
  getLabel(id: string): string | undefined;
}

interface CommandContext extends Context {
  waitForIdle(): Promise<void>;
  navigateTree(target: string, options: { summarize: boolean }): Promise<{ cancelled: boolean }>;
}

type Seen = Pick<ContextAsk, "anchors" | "labels" | "leaf" | "target_is_entry">;

export class Anchors {
  readonly #impresario: Impresario;
  readonly #decided = new WeakSet<HostSession>();
  readonly #waiting = new WeakMap<HostSession, ContextPivot>();
  /** Anchors of this turn, which Pi may not have stored yet. */
  #unstored: SessionAnchor[] = [];
  #going: { session: HostSession; pivot: ContextPivot } | undefined;
  /** Where the command was sent for a pivot that is due. */
  #sent: HostSession | undefined;

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** Asks for the tool once a session; what holds at its first turn holds for all of it. */
  async prepare(session: HostSession, options: { last?: boolean } = {}): Promise<void> {
    if (this.#decided.has(session)) return;
    const outcome = await this.#impresario.runtime.connection?.ask("context.offer", { session: session.id, sessions: placeOf(session) });
    if (this.#decided.has(session) || (!outcome?.ok && !options.last)) return;
    this.#decided.add(session);
    // Pi may have replaced the session while the runtime was asked, and throws then.
    if (outcome?.ok) guarded(() => this.#offer(session, outcome.result), undefined);
  }

  isDecided(session: HostSession): boolean {
    return this.#decided.has(session);
  }

  /** A turn is over, for good where Pi says so: who waited for that goes. */
  settled(session: HostSession, event: "agent_end" | "agent_settled"): void {
    this.#unstored = [];
    if ((event === "agent_settled") !== settlesLast()) return;
    const pivot = this.#waiting.get(session);
    if (!pivot) return;
    if (wasCutOff(session)) {
      this.#waiting.delete(session);
      return session.notice("info", `The turn was cut off, so the session stays where it is; it was to go back to ${oneLine(pivot.named, NAMED_CHARS_MAX)}.`);
    }
    // Only a command may go elsewhere in the tree. A Pi that does not run it gives the line back as something typed.
    this.#sent = session;
    guarded(() => session.pi.sendUserMessage(LINE, { expandPromptTemplates: true } as object), undefined);
  }

  /** Whether this is our line, which Pi did not run: then a person has to. */
  comesBack(session: HostSession, text: string): boolean {
    if (text !== LINE || this.#sent !== session) return false;
    this.#sent = undefined;
    this.#askPerson(session);
    return true;
  }

  /** The session is closed; what waited is dropped. */
  ended(session: HostSession): void {
    this.#waiting.delete(session);
    this.#unstored = [];
  }

  /** What stands where the session goes: known already, so no model is asked. Only for the way that we go. */
  beforeTree(session: HostSession, way: { targetId: string; oldLeafId: string | null }): { summary: { summary: string } } | undefined {
    const going = this.#going;
    if (going?.session !== session || way.targetId !== going.pivot.target) return undefined;
    return { summary: { summary: `Pivoted from: ${way.oldLeafId?.slice(0, 8) ?? "unknown"}\n\n${going.pivot.carryover}` } };
  }

  /** Goes where the agent wanted to. */
  async go(session: HostSession, ctx: CommandContext): Promise<void> {
    this.#sent = undefined;
    const pivot = this.#waiting.get(session);
    if (!pivot) return session.tell("There is nothing to go back to: the agent has not asked for it.");
    this.#waiting.delete(session);
    if (!ctx.isIdle()) await ctx.waitForIdle();
    const named = oneLine(pivot.named, NAMED_CHARS_MAX);
    this.#going = { session, pivot };
    try {
      const { cancelled } = await ctx.navigateTree(pivot.target, { summarize: true });
      if (cancelled) return session.notice("warning", `The session stays where it is: going back to ${named} was cancelled.`);
    } catch (error) {
      const why = sentence(error instanceof Error ? error.message : String(error));
      return session.notice("error", `The session stays where it is: going back to ${named} failed. ${why}`);
    } finally {
      this.#going = undefined;
    }
    if (pivot.message === null) return;
    session.pi.sendUserMessage(pivot.message, { deliverAs: "followUp" });
    if (session.hasUI) return;
    // Without a screen Pi exits when its command is over, whatever that began.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await ctx.waitForIdle();
  }

  /** Schedules what the runtime decided. */
  schedule(session: HostSession, pivot: ContextPivot): void {
    this.#waiting.set(session, pivot);
  }

  waits(session: HostSession): boolean {
    return this.#waiting.has(session);
  }

  #offer(session: HostSession, { tool }: ContextTaken): void {
    // Somebody else's tool of that name stays theirs.
    if (!tool || session.pi.getAllTools().some(({ name }) => name === tool.name)) return;
    session.pi.registerTool<never, Record<string, unknown>>({
      name: tool.name,
      label: tool.name,
      description: tool.description,
      parameters: tool.parameters as never,
      // Two of a batch do not take the same name.
      executionMode: "sequential",
      renderCall: (parameters, theme, context) => {
        // It is drawn while its arguments still come in.
        const given = parameters as Record<string, unknown>;
        const text = (name: string) => (typeof given[name] === "string" ? given[name] : "");
        const title = [tool.name, text("action"), text("name") || text("target") || text("keyword")].filter(Boolean).join(" ");
        const paint = (words: string) => theme.fg("toolTitle", theme.bold(words));
        return titledText(title, text("carryover"), paint, context?.expanded ? CARRIED_LINES.opened : CARRIED_LINES.folded);
      },
      execute: async (call, parameters, _signal, _update, ctx) => {
        session.enter(ctx);
        const done = await this.#call(session, call, parameters as Record<string, unknown>);
        return { content: [{ type: "text", text: done.text }], details: done.details };
      },
    });
    session.pi.registerCommand(COMMAND, {
      description: "Go back to where the agent wanted to, with what it carries over",
      handler: async (_typed: string, ctx: Context) => {
        session.enter(ctx);
        await this.go(session, ctx as CommandContext).catch((error: unknown) => session.notice("error", String(error)));
      },
    });
    completeNewCommands(session);
  }

  /** Never fails: a runtime that is gone or slow is an answer too. */
  async #call(session: HostSession, call: string, parameters: Record<string, unknown>): Promise<ContextDone> {
    if (parameters["action"] === "original") return original(session, parameters["target"]);
    const { runtime } = this.#impresario;
    runtime.startIfIdle();
    const connection = await runtime.ready(READY_MS);
    if (!connection) return unavailable(runtime.offBecause ?? NOT_READY);
    const seen = session.read((ctx) => lookAt(ctx.sessionManager as unknown as Tree, parameters["target"], call), undefined);
    if (!seen) return unavailable("the session cannot be read");
    const stored = new Set(seen.anchors.map(({ name }) => name));
    const anchors = [...seen.anchors, ...this.#unstored.filter(({ name }) => !stored.has(name))];
    const asked: ContextAsk = { ...seen, anchors, session: session.id, arguments: parameters, pivot_waits: this.waits(session), sessions: placeOf(session) };
    const outcome = await connection.ask("context.call", asked, { holds: true });
    if (!outcome.ok) return unavailable(wordsFor(outcome));
    const done = outcome.result;
    if (done.pivot) this.schedule(session, done.pivot);
    const anchor = anchorOf({ role: "toolResult", toolName: "context", details: done.details });
    if (anchor) this.#unstored.push({ ...anchor, entry: null, parent: null, on_branch: true });
    return done;
  }

  #askPerson(session: HostSession): void {
    const pivot = this.#waiting.get(session);
    if (!pivot) return;
    const named = oneLine(pivot.named, NAMED_CHARS_MAX);
    if (!session.hasUI) {
      this.#waiting.delete(session);
      return session.notice("warning", `The session stays where it is: this Pi goes back to ${named} only when a person asks for it.`);
    }
    const isPrefilled = session.read((ctx) => {
      if (ctx.ui.getEditorText() !== "") return false;
      ctx.ui.setEditorText(LINE);
      return true;
    }, false);
    session.notice("info", `The agent wants to go back to ${named}: ${isPrefilled ? "press Enter" : `enter ${LINE}`} to let it.`);
    this.#impresario.progress.redraw();
  }
}

/** What the runtime has to know of a session when the tool is called. */
export function lookAt(tree: Tree, target: unknown, call: string): Seen {
  const branch = tree.getBranch();
  const ids = new Set(branch.map(({ id }) => id));
  const entries = tree.getEntries();
  let chars = 0;
  const anchors: SessionAnchor[] = [];
  const stored = entries.flatMap((entry) => {
    const anchor = entry.type === "message" ? anchorOf(entry.message) : undefined;
    return anchor ? [{ entry, ...anchor }] : [];
  });
  for (const { entry, name, target, summary } of stored.slice(-ANCHORS_MAX).reverse()) {
    chars += summary.length;
    const told = chars > SUMMARIES_CHARS_MAX ? summary.slice(0, SUMMARY_BEGINNING) : summary;
    anchors.push({ entry: entry.id, parent: before(tree, entry), name, target, summary: told, on_branch: ids.has(target) });
  }
  const labels: SessionLabel[] = [];
  for (const { id } of entries) {
    const name = tree.getLabel(id);
    if (name && labels.length < LABELS_MAX) labels.push({ name, entry: id });
  }
  return { anchors: anchors.reverse(), labels, leaf: callerOf(branch, call) ?? tree.getLeafId(), target_is_entry: typeof target === "string" && tree.getEntry(target) !== undefined };
}

/** What was said before the results of its calls. */
function before(tree: Tree, entry: Entry): string | null {
  let at = entry.parentId === null ? undefined : tree.getEntry(entry.parentId);
  while (at?.message?.role === "toolResult" && at.parentId !== null) at = tree.getEntry(at.parentId);
  return at?.id ?? entry.parentId;
}

/** The message that holds the call; results of others of its batch may stand behind it already. */
function callerOf(branch: readonly Entry[], call: string): string | undefined {
  for (let at = branch.length - 1; at >= 0; at -= 1) {
    const { id, message } = branch[at] as Entry;
    const content: unknown[] = Array.isArray(message?.content) ? message.content : [];
    if (content.some((block) => (block as { type?: string; id?: string }).type === "toolCall" && (block as { id?: string }).id === call)) return id;
    if (message?.role !== "toolResult") return undefined;
  }
  return undefined;
}

function placeOf(session: HostSession): string | null {
  return session.read((ctx) => ctx.sessionManager.getSessionDir() || null, null);
}

/** The person stopped it, or it failed; Pi calls either an error when no model was asked in between. */
function wasCutOff(session: HostSession): boolean {
  const branch = session.read((ctx) => ctx.sessionManager.getBranch() as unknown as Entry[], []);
  const last = branch.filter(({ message }) => message?.role === "assistant").at(-1);
  return last?.message?.stopReason === "aborted" || last?.message?.stopReason === "error";
}

/** A result of a tool as it was given, whatever stands in its place now. It needs no runtime. */
function original(session: HostSession, target: unknown): ContextDone {
  const text = typeof target === "string" ? originalOf(session, target) : undefined;
  const why = `There is no result ${JSON.stringify(target ?? null).slice(0, NAMED_CHARS_MAX)} on this branch. "target" is the id that stands where a result was left out.`;
  return { text: text ?? why, details: {}, pivot: null };
}

function unavailable(why: string): ContextDone {
  return { text: `Not available now: ${sentence(why)} Go on without it.`, details: {}, pivot: null };
}
