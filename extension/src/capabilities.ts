// What can be used in a session, found by what is wanted. Pi says what it has and applies what comes back; what fits, what
// is shown and what is written is decided by the runtime. Where it does not answer, Pi keeps what it had.

import { completeNewCommands } from "./completion.ts";
import { withSection } from "./delegation.ts";
import type { CapabilitiesTaken, CapabilityDone, PromptAsk, SeenPrompt } from "./generated/protocol.ts";
import { guarded } from "./host.ts";
import type { Context, HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { NOT_READY, wordsFor } from "./impresario.ts";

/** What a person types, with what it does. */
const COMMANDS: Record<string, string> = {
  loadout: "Show, choose and change which skills and tools are shown: /loadout [name], off, create, add, promote …",
  "cap-search": "Find what fits what you want to do: /cap-search <words>",
  "cap-reindex": "Make the index of what can be used anew",
  "cap-status": "What is in the index, and what the prompt shows",
};
/** The commands that are tools too, by another name. */
const TOOL_OF: Record<string, string> = { "cap-search": "capability_search", "cap-status": "capability_status" };

/** What may stand first behind `/loadout`. */
const ACTIONS: Record<string, string> = {
  list: "Show all of them",
  off: "Show everything again",
  create: "<name> [what it is for]",
  activate: "<name>",
  promote: "<id> into the active one",
  add: "<name> <id>",
  remove: "<name> <id>",
  rename: "<name> <new name>",
  describe: "<name> <words>",
  delete: "<name>",
};

/** A skill as Pi's prompt is made of it. */
interface PiSkill {
  name: string;
  description?: string;
  filePath?: string;
  /** A person's: Pi does not show it. */
  disableModelInvocation?: boolean;
}

interface PromptEvent {
  systemPrompt?: unknown;
  systemPromptOptions?: { skills?: unknown; sections?: unknown; forceSystemPrompt?: unknown };
}

export class Capabilities {
  readonly #impresario: Impresario;
  readonly #taken = new WeakMap<HostSession, CapabilitiesTaken>();
  /** The prompt that was sent last, and the skills that Pi had for it. */
  readonly #seen = new WeakMap<HostSession, SeenPrompt>();
  #complained = "";

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** Offers what Pi has, once a session, and again to a runtime that was started again. */
  async prepare(session: HostSession, options: { again?: boolean } = {}): Promise<void> {
    if (this.#taken.has(session) && !options.again) return;
    const { connection } = this.#impresario.runtime;
    if (!connection) return;
    const active = guarded(() => session.pi.getActiveTools(), []);
    const tools = guarded(() => session.pi.getAllTools(), []).map(({ name, description, parameters }) => ({ name, description, parameters, active: active.includes(name) }));
    const outcome = await connection.ask("capabilities.offer", { session: session.id, tools, listed: session.piSkills });
    if (outcome.ok) this.#take(session, outcome.result);
  }

  /** Before a turn: what the prompt shows of skills, and how the rest is found. */
  async shape(session: HostSession, event: PromptEvent): Promise<{ systemPrompt: string } | undefined> {
    await this.prepare(session);
    const taken = this.#taken.get(session);
    if (!taken || taken.tools.length === 0 || !guarded(() => session.pi.getActiveTools(), []).includes("capability_search")) return undefined;
    const changed = await this.#slim(session, event);
    const prompt = changed === undefined ? event : { ...event, systemPrompt: changed };
    const section = taken.block === "" ? undefined : withSection(prompt, taken);
    return section ?? (changed === undefined ? undefined : { systemPrompt: changed });
  }

  /** A model is about to be called: other extensions have had their say, so this is its prompt. */
  saw(session: HostSession): void {
    const seen = this.#seen.get(session);
    const text = session.read((ctx) => ctx.getSystemPrompt(), "");
    if (seen && text !== "") seen.text = text;
  }

  /** A tool of Pi was used; nobody waits. */
  used(session: HostSession, tool: string, input: unknown): void {
    if (!this.#taken.get(session)?.tools.length) return;
    const given = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
    const path = given["file_path"] ?? given["path"];
    this.#impresario.runtime.connection?.notify("capability.used", { session: session.id, tool, path: typeof path === "string" ? path : null });
  }

  #take(session: HostSession, taken: CapabilitiesTaken): void {
    if (this.#taken.has(session)) return;
    this.#taken.set(session, taken);
    if (taken.tools.length === 0) return;
    guarded(() => {
      for (const tool of taken.tools) this.#offer(session, tool);
      for (const [name, description] of Object.entries(COMMANDS)) this.#command(session, name, description);
      completeNewCommands(session);
      if (taken.active) {
        const ours = taken.tools.map(({ name }) => name);
        // What became active since it was asked stays.
        const stays = session.pi.getActiveTools().filter((name) => ours.includes(name) || taken.active?.includes(name));
        session.pi.setActiveTools([...new Set([...stays, ...ours])]);
      }
    }, undefined);
  }

  #offer(session: HostSession, tool: CapabilitiesTaken["tools"][number]): void {
    session.pi.registerTool<never, Record<string, never>>({
      name: tool.name,
      label: tool.name.replaceAll("_", " "),
      description: tool.description,
      parameters: tool.parameters as never,
      execute: async (_call, parameters, _signal, _update, ctx) => {
        session.enter(ctx);
        const done = await this.#call(session, tool.name, parameters);
        if (done.failed) throw new Error(done.text);
        return { content: [{ type: "text", text: done.text }], details: {} };
      },
    });
  }

  #command(session: HostSession, name: string, description: string): void {
    session.pi.registerCommand(name, {
      description,
      getArgumentCompletions: (prefix) => (name === "loadout" ? completeAction(prefix) : null),
      handler: async (typed: string, ctx: Context) => {
        session.enter(ctx);
        try {
          const done = await this.#call(session, TOOL_OF[name] ?? name, { typed });
          if (done.failed) session.complain(done.text);
          else session.tell(done.text);
        } catch (error) {
          session.complain(error instanceof Error ? error.message : String(error));
        }
      },
    });
  }

  async #call(session: HostSession, tool: string, parameters: unknown): Promise<CapabilityDone> {
    const connection = await this.#impresario.reach();
    if (!connection) throw new Error(this.#impresario.runtime.offBecause ?? NOT_READY);
    const active = guarded(() => session.pi.getActiveTools(), []);
    const last = tool === "capability_status" ? this.#seen.get(session) : undefined;
    const seen = last && last.text !== "" ? last : null;
    const outcome = await connection.ask("capability.call", { session: session.id, tool, arguments: parameters, active, seen }, { holds: true });
    if (!outcome.ok) throw new Error(wordsFor(outcome));
    const { activate } = outcome.result;
    if (activate && !active.includes(activate)) guarded(() => session.pi.setActiveTools([...session.pi.getActiveTools(), activate]), undefined);
    return outcome.result;
  }

  /** Fewer skills in the prompt's own list where it has one; else the text with them. Nothing leaves both as they are. */
  async #slim(session: HostSession, event: PromptEvent): Promise<string | undefined> {
    const options = event.systemPromptOptions;
    const all = Array.isArray(options?.skills) ? (options.skills as PiSkill[]) : [];
    const skills = all.filter(({ disableModelInvocation }) => disableModelInvocation !== true);
    this.#seen.set(session, { text: this.#seen.get(session)?.text ?? "", skills: skills.map(({ name }) => name) });
    if (skills.length === 0) return undefined;
    const hasSections = typeof options?.sections === "object" && options.sections !== null && options.forceSystemPrompt === undefined;
    const asked: PromptAsk = {
      session: session.id,
      skills: skills.map(({ name, description, filePath }) => ({ name, description: description ?? "", file: filePath ?? null })),
      prompt: hasSections || typeof event.systemPrompt !== "string" ? null : event.systemPrompt,
    };
    const outcome = await this.#impresario.runtime.connection?.ask("capability.prompt", asked);
    if (!outcome?.ok) return undefined;
    const { shown, prompt, problem } = outcome.result;
    if (problem && problem !== this.#complained) session.complain(problem);
    this.#complained = problem ?? "";
    if (!shown) return undefined;
    if (!hasSections) return prompt ?? undefined;
    (options as { skills: PiSkill[] }).skills = all.filter(({ name, disableModelInvocation }) => disableModelInvocation === true || shown.includes(name));
    return undefined;
  }
}

function completeAction(prefix: string): { value: string; label: string; description: string }[] | null {
  const fitting = Object.entries(ACTIONS).filter(([action]) => action.startsWith(prefix) && action !== prefix);
  return fitting.length > 0 ? fitting.map(([value, description]) => ({ value, label: value, description })) : null;
}
