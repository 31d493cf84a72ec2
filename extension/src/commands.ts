// `/skill <name> <task>`, `/skill:<name> <task>`, and `/skill:cancel`.

import type { Impresario, SkillOutcome } from "./impresario.ts";
import { guarded } from "./host.ts";
import type { Context, HostSession, Pi } from "./host.ts";

const COLON_FORM = /^\/skill:(\S+)(?:\s+([\s\S]*))?$/;
const RESERVED = "cancel";

export function registerCommands(pi: Pi, impresario: Impresario, session: HostSession): void {
  pi.registerCommand("skill", {
    description: "Run a skill as a sub-agent: /skill <name> <task>",
    getArgumentCompletions: (prefix) => completions(impresario, prefix),
    handler: async (typed, ctx) => {
      session.enter(ctx);
      await runTyped(impresario, session, ctx, typed).catch((error: unknown) => session.notice("error", String(error)));
    },
  });
  pi.registerCommand("skill:cancel", {
    description: "Cancel the sub-agents of this session",
    handler: async (_typed, ctx) => {
      session.enter(ctx);
      await impresario.cancel(session, "/skill:cancel").catch((error: unknown) => session.notice("error", String(error)));
    },
  });
}

/** The colon form arrives as input. True when it was dealt with; a name only Pi knows is left to Pi, which has skills too. */
export async function runColonForm(impresario: Impresario, session: HostSession, text: string): Promise<boolean> {
  const [, name, task] = COLON_FORM.exec(text.trim()) ?? [];
  if (name === undefined) return false;
  if (name === RESERVED) {
    await impresario.cancel(session, "/skill:cancel");
    return true;
  }
  const outcome = await impresario.runSkill(session, name, task ?? "");
  if (outcome.is === "no runtime" || outcome.is === "unknown skill") {
    if (piKnows(session, name)) return false;
    explain(impresario, session, outcome);
  }
  return true;
}

function piKnows(session: HostSession, name: string): boolean {
  return guarded(() => session.pi.getCommands().some((command) => command.name === `skill:${name}`), true);
}

async function runTyped(impresario: Impresario, session: HostSession, ctx: Context, typed: string): Promise<void> {
  const [, given = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(typed.trim()) ?? [];
  if (given === RESERVED && rest === "") return await impresario.cancel(session, "/skill:cancel");
  const name = given || (await pickSkill(impresario, session, ctx));
  if (!name) return;
  const task = rest || (await askTask(session, ctx, name));
  if (task === undefined) return;
  explain(impresario, session, await impresario.runSkill(session, name, task));
}

function explain(impresario: Impresario, session: HostSession, outcome: SkillOutcome): void {
  if (outcome.is === "accepted" || outcome.is === "failed") return;
  const notReady = impresario.runtime.offBecause ?? "Impresario's runtime is not ready yet; try again in a moment.";
  session.notice("error", outcome.is === "unknown skill" ? unknownSkill(session, outcome.words) : notReady);
  if (!session.hasUI) process.exitCode = 1;
}

function unknownSkill(session: HostSession, words: string): string {
  const trusted = session.read((ctx) => typeof ctx.isProjectTrusted !== "function" || ctx.isProjectTrusted(), true);
  return trusted ? words : `${words} Skills of this workspace are not loaded because Pi does not trust it (pi --approve).`;
}

async function pickSkill(impresario: Impresario, session: HostSession, ctx: Context): Promise<string | undefined> {
  await impresario.runtime.ready(5_000);
  const names = impresario.skills.map((skill) => skill.name);
  if (session.hasUI && names.length > 0) return await ctx.ui.select("Which skill?", names);
  session.notice("info", names.length > 0 ? `Say which: /skill <name> <task>. There are: ${names.join(", ")}.` : "Say which: /skill <name> <task>. A skill is a directory with a SKILL.md in .pi/skills.");
  return undefined;
}

/** A skill without a task is asked for one where somebody can answer; elsewhere the runtime says what is missing. */
async function askTask(session: HostSession, ctx: Context, name: string): Promise<string | undefined> {
  return session.hasUI ? await ctx.ui.input(`What shall ${name} do?`) : "";
}

function completions(impresario: Impresario, prefix: string): { value: string; label: string; description: string }[] | null {
  if (prefix.includes(" ")) return null;
  const matching = impresario.skills.filter((skill) => skill.name.startsWith(prefix));
  if (matching.length === 0) return null;
  return matching.map(({ name, description }) => ({ value: `${name} `, label: name, description }));
}
