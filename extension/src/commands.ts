// `/skill <name> <task>`, `/skill:<name> <task>`, and what can be said about skills: `/skill:cancel`,
// `/skill:resume <run>`, `/skill:trace-report <skill>`, `/skill:trace-view <file>`. Each works as a command of Pi's and as typed text. The runtime
// reads the line; what it reads is carried out here, and a line that is nobody's of ours is Pi's, as without us.

import { completeArgument } from "./completion.ts";
import { NO_SKILLS } from "./generated/protocol.ts";
import type { InputReading, ResumableRun, SkillSummary } from "./generated/protocol.ts";
import type { Context, HostSession, Pi } from "./host.ts";
import { NOT_READY } from "./impresario.ts";
import { setUpModels } from "./setup-models.ts";
import type { Impresario, SkillOutcome } from "./impresario.ts";
import { oneLine } from "./progress.ts";

/** Whether the runtime has to be asked at all; everything else that is typed never leaves Pi. */
const MAY_BE_OURS = /^\s*\/(skill(?![^\s:])|impresario(?!\S))/;

/** What `/impresario` shows, beside everything. */
const SECTIONS = ["agents", "routing", "runs", "statistics", "settings", "runtime", "transcript", "steer", "ask"];
const DESCRIPTION_CHARS_MAX = 80;

interface Command {
  description: string;
  complete?(impresario: Impresario, typed: string): Promise<{ value: string; label: string; description: string }[] | null>;
}

/** What Pi lists beside the skills. */
const COMMANDS: Record<string, Command> = {
  cancel: { description: "Cancel the sub-agents of this session" },
  resume: {
    description: "Go on with a sub-agent that is parked or was cut off: /skill:resume <run>",
    complete: (impresario, typed) => impresario.completeRuns(typed),
  },
  "trace-report": {
    description: "What the traces of a skill say: /skill:trace-report <skill>",
    complete: (impresario, typed) => completeArgument(typed, () => impresario.skills()),
  },
  "trace-view": {
    description: "What happened in one run: /skill:trace-view <file>.json",
    complete: async (impresario, typed) => await impresario.completeTraces(typed),
  },
};

export function registerCommands(pi: Pi, impresario: Impresario, session: HostSession): void {
  const carryOut = (typed: string, ctx: Context) => handled(session, ctx, () => runLine(impresario, session, ctx, typed));
  pi.registerCommand("skill", {
    description: "Run a skill as a sub-agent: /skill <name> <task>",
    getArgumentCompletions: (prefix) => completeArgument(prefix, () => impresario.skills()),
    handler: (typed, ctx) => carryOut(`/skill ${typed}`, ctx),
  });
  pi.registerCommand("impresario", {
    description: "How things stand; /impresario transcript [run], steer [run] <text>, ask [run] <question>",
    getArgumentCompletions: (prefix) => completeLook(impresario, prefix),
    handler: (typed, ctx) => carryOut(`/impresario ${typed}`, ctx),
  });
  pi.registerCommand("setup-models", {
    description: "Choose models for the agents: /setup-models",
    handler: (_typed, ctx) => handled(session, ctx, () => setUpModels(impresario, session)),
  });
  pi.registerCommand("uncut", {
    description: "Bring back the results of tools that were left out since an anchor",
    handler: async (_typed, ctx) => {
      session.enter(ctx);
      const count = impresario.truncation.restore(session);
      session.tell(count > 0 ? `${count} ${count === 1 ? "result is" : "results are"} there again for the model.` : "Nothing is left out of what the model sees.");
    },
  });
  for (const [name, command] of Object.entries(COMMANDS)) {
    pi.registerCommand(`skill:${name}`, {
      description: command.description,
      getArgumentCompletions: (prefix) => command.complete?.(impresario, prefix) ?? null,
      handler: (typed, ctx) => carryOut(`/skill:${name} ${typed}`, ctx),
    });
  }
}

/** Something was typed that is no command of Pi's. True when it was dealt with; everything else is Pi's. */
export async function runTyped(impresario: Impresario, session: HostSession, ctx: Context, text: string): Promise<boolean> {
  return MAY_BE_OURS.test(text) && (await carryOut(impresario, session, ctx, text));
}

/** `/impresario <section>`, and the run behind `transcript`, `steer` and `ask`, while they are typed. */
async function completeLook(impresario: Impresario, typed: string): Promise<{ value: string; label: string; description: string }[] | null> {
  const [, word, of] = /^\s*(transcript|steer|ask)\s+(\S*)$/.exec(typed) ?? [];
  if (word !== undefined && of !== undefined) return await impresario.completeRecent(word, of);
  const fitting = SECTIONS.filter((section) => section.startsWith(typed.trimStart()));
  return fitting.length > 0 ? fitting.map((section) => ({ value: section, label: section, description: "" })) : null;
}

async function handled(session: HostSession, ctx: Context, run: () => Promise<void>): Promise<void> {
  session.enter(ctx);
  await run().catch((error: unknown) => session.notice("error", String(error)));
}

/** A command is ours whatever it says. */
async function runLine(impresario: Impresario, session: HostSession, ctx: Context, line: string): Promise<void> {
  impresario.deliveries.personGoesOn();
  if (!(await carryOut(impresario, session, ctx, line))) session.complain(`Nobody knows what ${oneLine(line, DESCRIPTION_CHARS_MAX)} means.`);
}

/** True when it was dealt with. */
async function carryOut(impresario: Impresario, session: HostSession, ctx: Context, line: string): Promise<boolean> {
  const reading = await impresario.read(session, line);
  if (reading === undefined) {
    const why = impresario.runtime.offBecause ?? NOT_READY;
    if (!session.piRuns(line)) session.complain(why);
    else session.notice("warning", `${why} Pi runs this skill itself.`);
    return !session.piRuns(line);
  }
  switch (reading.is) {
    case "pass":
      return false;
    case "skill":
      return await runSkill(impresario, session, ctx, reading, line);
    case "no_name":
      if (session.piRuns(line)) return false;
      session.complain(`Invalid skill name "${reading.typed}". A name has letters, digits, hyphens and underscores.`);
      return true;
    case "pick_skill":
      await pickSkill(impresario, session, ctx);
      return true;
    case "cancel":
      await impresario.cancel(session, "/skill:cancel");
      return true;
    case "resume": {
      const run = reading.run || (await pickRun(impresario, session));
      if (run) await impresario.resumeRun(session, run);
      return true;
    }
    case "trace_report":
      await impresario.tellTrace(session, "trace.report", { session: session.id, skill: reading.skill });
      return true;
    case "trace_view":
      await impresario.tellTrace(session, "trace.view", { session: session.id, file: reading.file });
      return true;
    case "tell":
      await impresario.tellRun(session, reading.kind, reading.what);
      return true;
    case "transcript":
      await impresario.showTranscript(session, reading.run);
      return true;
    case "status":
      await impresario.tellStatus(session, reading.section);
      return true;
    case "usage":
      session.complain(`Usage: ${reading.usage}`);
      return true;
  }
}

/** What is not ours to run is Pi's where Pi has it, before anybody is asked for a task. */
async function runSkill(
  impresario: Impresario,
  session: HostSession,
  ctx: Context,
  wanted: InputReading & { is: "skill" },
  line: string,
): Promise<boolean> {
  const { name, hosts_form } = wanted;
  const piHasIt = hosts_form && session.piRuns(line);
  let task: string | undefined = wanted.task;
  if (!task) {
    const known = (await impresario.skills({ holds: true })).find((skill) => skill.name === name);
    if (piHasIt && (!known || known.of_host)) return false;
    // A name that nobody knows, or a broken file, is refused below; there is nothing to ask.
    if (known && !known.problem) task = await askTask(session, ctx, name);
    if (task === undefined) return true;
  }
  const outcome = await impresario.runSkill(session, { name, task, hosts_form });
  if (outcome.is === "unknown skill" && piHasIt) return false;
  explain(impresario, session, outcome);
  return true;
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
  const skills = (await impresario.skills({ holds: true })).filter(({ problem }) => !problem);
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
  if (task) explain(impresario, session, await impresario.runSkill(session, { name, task, hosts_form: false }));
}

/** One is chosen on a screen; elsewhere the person reads which there are, and says it. */
async function pickRun(impresario: Impresario, session: HostSession): Promise<string | undefined> {
  if (!(await impresario.reach())) {
    session.complain(impresario.runtime.offBecause ?? NOT_READY);
    return undefined;
  }
  const runs = await impresario.resumable({ holds: true });
  if (runs.length === 0) {
    session.tell("There is no run to go on with.");
    return undefined;
  }
  const choices = new Map(runs.map((run) => [runInOneLine(run), run.run]));
  if (session.hasUI) return choices.get((await session.select("Go on with which run?", [...choices.keys()])) ?? "");
  session.complain(["Say which: /skill:resume <run>. There are:", ...choices.keys()].join("\n"));
  return undefined;
}

export function runInOneLine({ run, name, task, elsewhere, state }: ResumableRun): string {
  const place = elsewhere === null ? "" : ` (in ${elsewhere})`;
  return `${run} ${state}: ${name}${place} – ${oneLine(task, DESCRIPTION_CHARS_MAX)}`;
}

function inOneLine({ name, description }: SkillSummary): string {
  return description ? `${name} – ${oneLine(description, DESCRIPTION_CHARS_MAX)}` : name;
}

/** Nothing is paid for a skill that nobody gave a task: a person is asked, and elsewhere it is said what is missing. */
async function askTask(session: HostSession, ctx: Context, name: string): Promise<string | undefined> {
  if (!session.hasUI) {
    session.complain(`Skill ${name} was not started: say what it shall do, /skill:${name} <task>.`);
    return undefined;
  }
  const task = (await ctx.ui.input(`What shall ${name} do?`))?.trim();
  if (task) return task;
  session.notice("info", `Skill ${name} was not started: it has no task.`);
  return undefined;
}
