// `/skill <name> <task>`, `/skill:<name> <task>`, and what can be said about skills: `/skill:cancel`,
// `/skill:trace-report <skill>`, `/skill:trace-view <file>`. Each works as a command of Pi's and as typed text.

import { completeArgument } from "./completion.ts";
import { NO_SKILLS } from "./generated/protocol.ts";
import type { SkillSummary } from "./generated/protocol.ts";
import { guarded } from "./host.ts";
import type { Context, HostSession, Pi } from "./host.ts";
import { NOT_READY } from "./impresario.ts";
import type { Impresario, SkillOutcome } from "./impresario.ts";
import { oneLine } from "./progress.ts";

const COLON_FORM = /^\/skill:(\S+)(?:\s+([\s\S]*))?$/;
const DESCRIPTION_CHARS_MAX = 80;

/** Names that cannot be skills. */
type Reserved = "cancel" | "trace-report" | "trace-view";

interface Command {
  description: string;
  run(impresario: Impresario, session: HostSession, argument: string): Promise<void>;
  complete?(impresario: Impresario, typed: string): Promise<{ value: string; label: string; description: string }[] | null>;
}

const COMMANDS: Record<Reserved, Command> = {
  cancel: {
    description: "Cancel the sub-agents of this session",
    run: (impresario, session) => impresario.cancel(session, "/skill:cancel"),
  },
  "trace-report": {
    description: "What the traces of a skill say: /skill:trace-report <skill>",
    run: async (impresario, session, argument) => {
      const [, skill] = /^([A-Za-z0-9_-]+)/.exec(argument) ?? [];
      if (!skill) return session.complain("Usage: /skill:trace-report <skill>");
      await impresario.tellTrace(session, "trace.report", { session: session.id, skill });
    },
    complete: (impresario, typed) => completeArgument(typed, () => impresario.skills()),
  },
  "trace-view": {
    description: "What happened in one run: /skill:trace-view <file>.json",
    run: async (impresario, session, argument) => {
      if (!/^[A-Za-z0-9_.-]+\.json$/.test(argument)) return session.complain("Usage: /skill:trace-view <file>.json");
      await impresario.tellTrace(session, "trace.view", { session: session.id, file: argument });
    },
    complete: async (impresario, typed) => await impresario.completeTraces(typed),
  },
};

export function registerCommands(pi: Pi, impresario: Impresario, session: HostSession): void {
  pi.registerCommand("skill", {
    description: "Run a skill as a sub-agent: /skill <name> <task>",
    getArgumentCompletions: (prefix) => completeArgument(prefix, () => impresario.skills()),
    handler: (typed, ctx) => handled(session, ctx, () => runTyped(impresario, session, ctx, typed)),
  });
  for (const [name, command] of Object.entries(COMMANDS)) {
    pi.registerCommand(`skill:${name}`, {
      description: command.description,
      getArgumentCompletions: (prefix) => command.complete?.(impresario, prefix) ?? null,
      handler: (typed, ctx) => handled(session, ctx, () => command.run(impresario, session, typed.trim())),
    });
  }
}

/** The colon form arrives as input. True when it was dealt with; a name only Pi knows is left to Pi, which has skills too. */
export async function runColonForm(impresario: Impresario, session: HostSession, text: string): Promise<boolean> {
  const [, name, task = ""] = COLON_FORM.exec(text.trim()) ?? [];
  if (name === undefined) return false;
  if (await runReserved(impresario, session, name, task)) return true;
  const outcome = await impresario.runSkill(session, name, task);
  if (outcome.is === "no runtime" || outcome.is === "unknown skill") {
    if (piKnows(session, name)) return false;
    explain(impresario, session, outcome);
  }
  return true;
}

async function handled(session: HostSession, ctx: Context, run: () => Promise<void>): Promise<void> {
  session.enter(ctx);
  await run().catch((error: unknown) => session.notice("error", String(error)));
}

async function runReserved(impresario: Impresario, session: HostSession, name: string, argument: string): Promise<boolean> {
  if (!Object.hasOwn(COMMANDS, name)) return false;
  await COMMANDS[name as Reserved].run(impresario, session, argument.trim());
  return true;
}

function piKnows(session: HostSession, name: string): boolean {
  return guarded(() => session.pi.getCommands().some((command) => command.name === `skill:${name}`), true);
}

async function runTyped(impresario: Impresario, session: HostSession, ctx: Context, typed: string): Promise<void> {
  const [, word = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(typed.trim()) ?? [];
  const given = word.replace(/^skill:/, "");
  if (await runReserved(impresario, session, given, rest)) return;
  if (!given) return await pickSkill(impresario, session, ctx);
  const task = rest || (await askTask(session, ctx, given));
  if (task === undefined) return;
  explain(impresario, session, await impresario.runSkill(session, given, task));
}

function explain(impresario: Impresario, session: HostSession, outcome: SkillOutcome): void {
  if (outcome.is === "accepted" || outcome.is === "failed") return;
  const notReady = impresario.runtime.offBecause ?? NOT_READY;
  session.complain(outcome.is === "unknown skill" ? unknownSkill(session, outcome.words) : notReady);
}

function unknownSkill(session: HostSession, words: string): string {
  const trusted = session.read((ctx) => typeof ctx.isProjectTrusted !== "function" || ctx.isProjectTrusted(), true);
  return trusted ? words : `${words} Skills of this workspace are not loaded because Pi does not trust it (pi --approve).`;
}

/** On a terminal the choice goes into the editor, where a task is written best; elsewhere the task is asked for. */
async function pickSkill(impresario: Impresario, session: HostSession, ctx: Context): Promise<void> {
  if (!(await impresario.reach())) return session.complain(impresario.runtime.offBecause ?? NOT_READY);
  const skills = await impresario.skills({ holds: true });
  if (skills.length === 0) return session.complain(NO_SKILLS);
  if (!session.hasUI) return session.complain(`Say which: /skill <name> <task>. There are: ${skills.map(({ name }) => name).join(", ")}.`);
  const choices = new Map(skills.map((skill) => [inOneLine(skill), skill.name]));
  const name = choices.get((await ctx.ui.select("Which skill?", [...choices.keys()])) ?? "");
  if (!name) return;
  if (session.mode === "tui") {
    ctx.ui.setEditorText(`/skill ${name} `);
    // Pi shows what it was put into the editor only when something is drawn.
    return impresario.progress.redraw();
  }
  const task = await askTask(session, ctx, name);
  if (task !== undefined) explain(impresario, session, await impresario.runSkill(session, name, task));
}

function inOneLine({ name, description }: SkillSummary): string {
  return description ? `${name} – ${oneLine(description, DESCRIPTION_CHARS_MAX)}` : name;
}

/** A skill without a task is asked for one where somebody can answer; elsewhere the runtime says what is missing. */
async function askTask(session: HostSession, ctx: Context, name: string): Promise<string | undefined> {
  return session.hasUI ? await ctx.ui.input(`What shall ${name} do?`) : "";
}
