// Delegation by the main agent itself: the section of its system prompt, and the tool that goes with it. Whether it is
// taught is decided once for a session, so that tools and prompt are the same in every turn and the provider's cache holds.

import { textForCaller } from "./delivery.ts";
import type { DelegateTool, Delegation as Lesson, DeliveryOffer, MessageKind, RunSight } from "./generated/protocol.ts";
import { titledText } from "./drawing.ts";
import { guarded } from "./host.ts";
import type { HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import type { ShownRun } from "./progress.ts";
import { runDrawing } from "./sight.ts";

/** How long the first turn of a session waits for a runtime that is only starting. */
const FIRST_TURN_MS = 2_000;

/** So much of a task is drawn above its result, folded and opened. */
const TASK_LINES = { folded: 2, opened: 12 };

/** What became of a delegated run, as the tool tells it. */
export interface DelegatedDetails {
  run: string;
  /** Of a chain all its runs; `run` is the one that is shown. */
  runs?: string[];
  /** Missing while it works. */
  state?: DeliveryOffer["state"];
  /** What there is to see of it; missing where nothing was heard yet. */
  sight?: RunSight;
}

/** What a session without a runtime is taught. */
const NOTHING: Lesson = { section: "", block: "", per_model: false, tools: [] };

interface PromptEvent {
  systemPrompt?: unknown;
  systemPromptOptions?: { sections?: unknown; forceSystemPrompt?: unknown };
}

export class Delegation {
  readonly #impresario: Impresario;
  readonly #decided = new WeakMap<HostSession, Lesson>();
  /** For which model the text is, where it is another one for each. */
  readonly #models = new WeakMap<HostSession, string | null>();

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  isDecided(session: HostSession): boolean {
    return this.#decided.has(session);
  }

  /** Asks the runtime as soon as there is one, so that the first turn need not wait. */
  async prepare(session: HostSession): Promise<void> {
    if (this.#decided.has(session)) return;
    const model = modelOf(session);
    const outcome = await this.#impresario.runtime.connection?.ask("delegation", { session: session.id, model });
    if (!outcome?.ok) return;
    this.#decide(session, outcome.result);
    if (!this.#models.has(session)) this.#models.set(session, model);
  }

  /** The turn's system prompt. What was decided before the first one holds for the whole session. */
  async teach(session: HostSession, event: PromptEvent): Promise<{ systemPrompt: string } | undefined> {
    if (!this.#decided.has(session)) {
      await this.#impresario.runtime.ready(FIRST_TURN_MS);
      await this.prepare(session);
      this.#decide(session, NOTHING);
    }
    const lesson = await this.#forModel(session, this.#decided.get(session));
    if (!lesson?.block) return undefined;
    // A person may have left the tools out; then there is nothing to teach.
    const active = session.pi.getActiveTools();
    if (lesson.tools.length > 0 && !lesson.tools.some(({ tool }) => active.includes(tool.name))) return undefined;
    return withSection(event, lesson);
  }

  /** The tools stay, and the text is that for the model that is called now. Without an answer it is the one before. */
  async #forModel(session: HostSession, lesson: Lesson | undefined): Promise<Lesson | undefined> {
    const model = modelOf(session);
    if (!lesson?.per_model || this.#models.get(session) === model) return lesson;
    const outcome = await this.#impresario.runtime.connection?.ask("delegation", { session: session.id, model });
    if (!outcome?.ok || !outcome.result.block) return lesson;
    const changed = { ...lesson, block: outcome.result.block };
    this.#decided.set(session, changed);
    this.#models.set(session, model);
    return changed;
  }

  #decide(session: HostSession, lesson: Lesson): void {
    if (this.#decided.has(session)) return;
    this.#decided.set(session, lesson);
    // Pi may have replaced the session while the runtime was asked, and throws then; the next one asks for itself.
    guarded(() => this.#offer(session, lesson), undefined);
  }

  #offer(session: HostSession, lesson: Lesson): void {
    for (const tool of lesson.tools) {
      if (tool.chain) this.#offerChain(session, tool);
      else if (tool.message) this.#offerMessage(session, tool);
      else this.#offerTool(session, tool);
    }
    if (lesson.tools.length > 0) markFailures(session, new Set(lesson.tools.map(({ tool }) => tool.name)));
  }

  #offerChain(session: HostSession, { tool }: DelegateTool): void {
    session.pi.registerTool<never, DelegatedDetails>({
      name: tool.name,
      label: "Delegate to a chain",
      description: tool.description,
      parameters: tool.parameters as never,
      executionMode: "parallel",
      renderCall: (parameters, theme, context) => {
        const given = parameters as Record<string, unknown>;
        const title = `delegate to a chain ${typeof given["chain"] === "string" ? given["chain"] : ""}`.trimEnd();
        const paint = (text: string) => theme.fg("toolTitle", theme.bold(text));
        return titledText(title, typeof given["task"] === "string" ? given["task"] : "", paint, context?.expanded ? TASK_LINES.opened : TASK_LINES.folded);
      },
      renderResult: ({ content, details }, { expanded }, theme) => {
        const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
        return runDrawing(details?.sight, text, expanded, this.#impresario.wishes.agentDisplay(session), theme);
      },
      execute: async (_call, parameters, signal, update, ctx) => {
        session.enter(ctx);
        const given = parameters as Record<string, unknown>;
        const steps = Array.isArray(given["steps"]) && given["steps"].length > 0 ? given["steps"] : undefined;
        const wanted = {
          name: typeof given["chain"] === "string" && given["chain"] !== "" ? given["chain"] : null,
          steps: steps ? JSON.stringify({ on_failure: given["on_failure"] ?? "stop", steps }) : null,
          task: typeof given["task"] === "string" ? given["task"] : "",
        };
        if (given["background"] === true && session.hasUI) {
          const { group, runs } = await this.#impresario.chainInBackground(session, wanted);
          return { content: [{ type: "text", text: chainInBackground(group) }], details: { run: runs[runs.length - 1] ?? "", runs } };
        }
        const { state, text, runs, sight } = await this.#impresario.chain(session, wanted, {
          signal,
          show: ({ run, doing, sight }, { number, of, id }) =>
            update?.({ content: [{ type: "text", text: `${number} of ${of}, ${id}: ${doing}` }], details: detailsOf(run, sight) }),
        });
        const details = { ...detailsOf(runs[runs.length - 1] ?? "", sight), runs, state };
        return { content: [{ type: "text", text }], details };
      },
    });
  }

  #offerMessage(session: HostSession, { tool }: DelegateTool): void {
    session.pi.registerTool<never, { run: string; message: string; fate: string }>({
      name: tool.name,
      label: "Tell a sub-agent",
      description: tool.description,
      parameters: tool.parameters as never,
      executionMode: "parallel",
      renderCall: (parameters, theme, context) => {
        const given = parameters as Record<string, unknown>;
        const title = `${given["kind"] === "ask" ? "ask" : "steer"} ${typeof given["run"] === "string" ? given["run"] : "the sub-agent"}`;
        const paint = (text: string) => theme.fg("toolTitle", theme.bold(text));
        return titledText(title, typeof given["message"] === "string" ? given["message"] : "", paint, context?.expanded ? TASK_LINES.opened : TASK_LINES.folded);
      },
      execute: async (_call, parameters, signal, _update, ctx) => {
        session.enter(ctx);
        const given = parameters as Record<string, unknown>;
        const kind = given["kind"] === "ask" ? "ask" : "steer";
        const run = typeof given["run"] === "string" && given["run"] !== "" ? given["run"] : null;
        const told = await this.#impresario.messageRun(session, { run, kind, message: String(given["message"]) }, signal);
        const { name: _name, answer: _answer, ...details } = told;
        return { content: [{ type: "text", text: fateInWords(kind, told) }], details };
      },
    });
  }

  #offerTool(session: HostSession, { agent, task, sequential, tool }: DelegateTool): void {
    session.pi.registerTool<never, DelegatedDetails>({
      name: tool.name,
      label: agent ? `Delegate to ${agent}` : "Delegate",
      description: tool.description,
      parameters: tool.parameters as never,
      // Several calls of a turn run side by side, as far as the runtime has room for them, unless the agent is set otherwise.
      executionMode: sequential ? "sequential" : "parallel",
      renderCall: (parameters, theme, context) => {
        // It is drawn while its arguments still come in.
        const given = parameters as Record<string, unknown>;
        const name = agent ?? given["skill"];
        const wanted = given[task];
        const title = `${agent ? "delegate" : tool.name} ${typeof name === "string" ? name : "…"}`;
        const paint = (text: string) => theme.fg("toolTitle", theme.bold(text));
        const linesMax = context?.expanded ? TASK_LINES.opened : TASK_LINES.folded;
        return titledText(title, typeof wanted === "string" ? wanted : "", paint, linesMax);
      },
      renderResult: ({ content, details }, { expanded }, theme) => {
        const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
        return runDrawing(details?.sight, text, expanded, this.#impresario.wishes.agentDisplay(session), theme);
      },
      execute: async (_call, parameters, signal, update, ctx) => {
        session.enter(ctx);
        const given = parameters as Record<string, unknown>;
        const wanted = {
          name: agent ?? String(given["skill"]),
          agent: agent !== null,
          task: String(given[task]),
          context: typeof given["context"] === "string" ? given["context"] : null,
          isolated: given["isolation"] === "worktree",
        };
        // Without a screen Pi would exit before the answer comes.
        if (given["background"] === true && session.hasUI) {
          const run = await this.#impresario.delegateInBackground(session, wanted);
          return { content: [{ type: "text", text: inBackground(wanted.name, run) }], details: { run } };
        }
        const { offer, shown } = await this.#impresario.delegate(session, wanted, {
          signal,
          show: ({ run, doing, sight }) => update?.({ content: [{ type: "text", text: doing }], details: detailsOf(run, sight) }),
        });
        const details = { ...detailsOf(offer.run, offer.sight), state: offer.state };
        return { content: [{ type: "text", text: textForCaller(offer, shown) }], details };
      },
    });
  }
}

/** What became of a message of the main agent. */
export interface MessageResult {
  run: string;
  name: string;
  message: string;
  fate: string;
  answer: string | undefined;
}

function fateInWords(kind: MessageKind, { run, name, message, fate, answer }: MessageResult): string {
  const which = `${name} (run ${run}, message ${message})`;
  if (fate === "expired") return `${which} ended before it had this. Its result comes as a message.`;
  if (answer !== undefined) return `${which} says: ${answer}`;
  if (kind === "ask" && fate === "delivered") return `${which} has the question and has not answered yet. Go on without it: do not ask again.`;
  if (fate === "delivered") return `${which} has this now and goes on with its task.`;
  return `${which} has it in line: it has it before its next step. Go on with your own work: do not send it again.`;
}

/** A tool that throws loses its details, and with them the run they name; so failure is marked here. */
function markFailures(session: HostSession, ours: Set<string>): void {
  session.pi.on("tool_result", (event) => {
    if (!ours.has(event.toolName) || event.isError) return undefined;
    const details = event.details as Partial<DelegatedDetails> | undefined;
    return details?.state && details.state !== "succeeded" ? { isError: true } : undefined;
  });
}

function inBackground(name: string, run: string): string {
  return `${name} works in the background as run ${run}. Its answer comes as a message when it is there; do not wait for it and do not do its work meanwhile.`;
}

function chainInBackground(group: string): string {
  return `The chain works in the background as chain ${group}. What it says comes as one message when all of it is over; do not wait for it and do not do its work meanwhile.`;
}

function detailsOf(run: string, sight: RunSight | null | undefined): DelegatedDetails {
  return sight ? { run, sight } : { run };
}

/** A run that a tool call waits for. */
export interface WaitingCall {
  show(run: ShownRun): void;
  settle(result: { offer: DeliveryOffer; shown: ShownRun | undefined }): void;
  fail(why: Error): void;
}

/** Structured sections where Pi has them: only what changed is sent anew. Else the text is put behind the prompt. */
export function withSection(event: PromptEvent, lesson: Pick<Lesson, "section" | "block">): { systemPrompt: string } | undefined {
  const options = event.systemPromptOptions;
  if (typeof options?.sections === "object" && options.sections !== null && options.forceSystemPrompt === undefined) {
    (options.sections as Record<string, string>)[lesson.section] = lesson.block;
    return undefined;
  }
  return typeof event.systemPrompt === "string" ? { systemPrompt: placed(event.systemPrompt, lesson.block) } : undefined;
}

/** A prompt with the text in it: in place of what stands there between its first line and its last, where those are marks. */
export function placed(prompt: string, block: string): string {
  const lines = block.split("\n");
  const [begin = "", end = ""] = [lines[0], lines.at(-1)];
  const areMarks = lines.length > 1 && [begin, end].every((line) => line.startsWith("<!-- ") && line.endsWith(" -->"));
  const from = areMarks ? prompt.indexOf(begin) : -1;
  const to = from < 0 ? -1 : prompt.indexOf(end, from + begin.length);
  if (to < 0) return prompt === "" ? block : `${prompt}\n\n${block}`;
  return prompt.slice(0, from) + block + prompt.slice(to + end.length);
}

function modelOf(session: HostSession): string | null {
  return session.read((ctx) => (ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : null), null);
}
