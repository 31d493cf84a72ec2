// Rules of directories (`AGENTS.md` and the like) behind results of tools. Which belong there the runtime says; here they
// are put there, with a note of them, and what the model sees of the session is looked through for such notes.

import { dirname, isAbsolute, relative } from "node:path";
import type { Connection } from "./connection.ts";
import type { GuidanceAsk, GuidanceMark, GuidanceRules } from "./generated/protocol.ts";
import { guarded } from "./host.ts";
import type { HostSession, Pi } from "./host.ts";
import type { Impresario } from "./impresario.ts";
import { branchOf, seenMessages, textOf } from "./seen.ts";
import type { Block, Message } from "./seen.ts";

const FLAG = "no-nested-agents";
const STATUS = "ext:nested-agents:status";
const WIDGET = "ext:nested-agents:widget";
const DEBUG_ENTRY = "nested-agents-md:debug";
/** Under this name a note stands in the details of a result. */
const NOTE = "impresarioGuidance";
/** The tools that Pi comes with; what those of others touch is theirs to say. */
const TOOLS = new Set(["read", "edit", "write", "grep", "find", "ls", "bash"]);
const READY_MS = 2_000;
/** A runtime that did not answer once is left alone so long. */
const LEFT_ALONE_MS = 30_000;

/** What stands in the details of a result, beside what its tool says. */
interface Note {
  ask: string;
  rules: GuidanceRules[];
}

export interface ToolResult {
  toolName: string;
  input: Record<string, unknown>;
  content: Block[];
  details: unknown;
  isError: boolean;
}

export class Guidance {
  readonly #impresario: Impresario;
  readonly #process = crypto.randomUUID();
  #number = 0;
  /** What was given with results that are not in the session yet. */
  readonly #open = new Map<number, GuidanceRules[]>();
  #session = "";
  #notRead = new Map<string, string>();
  #isListed = false;
  /** The list is above the editor. */
  #hasList = false;
  #isShown = false;
  #leftAloneUntil = 0;
  #hasWaited = false;

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** What belongs behind a result, with the result before it; undefined leaves it as it is. */
  async behind(session: HostSession, result: ToolResult): Promise<{ content: Block[]; details: object } | undefined> {
    const touched = touchedBy(result);
    const details = withNotes(result.details);
    if (!touched || !details || isSwitchedOff(session.pi) || Date.now() < this.#leftAloneUntil) return undefined;
    const connection = this.#impresario.runtime.connection ?? (await this.#begun());
    if (!connection || !this.#impresario.isCurrent(session)) return undefined;
    this.#enter(session);
    const number = ++this.#number;
    const open = [...this.#open.keys()];
    this.#open.set(number, []);
    const outcome = await connection.ask("guidance", { session: session.id, number, open, given: standing(session), ...touched });
    if (!outcome.ok || outcome.result.rules.length === 0) this.#open.delete(number);
    if (!outcome.ok) {
      if (outcome.why === "timeout") this.#leftAloneUntil = Date.now() + LEFT_ALONE_MS;
      this.#notRead.set("the runtime", "it did not answer");
      this.show(session);
      return undefined;
    }
    const { text, rules, not_read } = outcome.result;
    for (const { path, why } of not_read) this.#notRead.set(path, why);
    if (rules.length > 0) this.#open.set(number, rules);
    this.show(session);
    if (rules.length === 0) return undefined;
    const note: Note = { ask: this.#named(number), rules };
    return { content: [...result.content, { type: "text", text }], details: { ...details, [NOTE]: note } };
  }

  /** A session may be faster than the runtime that begins with it. That is waited for once. */
  async #begun(): Promise<Connection | undefined> {
    if (this.#hasWaited) return undefined;
    try {
      return await this.#impresario.runtime.ready(READY_MS);
    } finally {
      this.#hasWaited = true;
    }
  }

  /** The session moved: what is shown is what stands in it now. */
  moved(session: HostSession, how: "begins" | "compacted" | "ends" | "elsewhere"): void {
    this.#enter(session);
    if (how !== "elsewhere") this.#notRead.clear();
    this.#open.clear();
    if (how === "ends") this.#clear(session);
    else if (how === "compacted" || this.#isShown || this.#standing(session).length > 0) this.show(session, how === "compacted" && this.#isListed);
  }

  /** All results of a run are in the session; one that came there without its note was changed by somebody else. */
  settled(): void {
    this.#open.clear();
  }

  /** `/nested-agents`: the list above the editor comes or goes, and what is known is written down. */
  toggle(session: HostSession): void {
    if (isSwitchedOff(session.pi)) return session.tell("Rules of directories are switched off for this session.");
    this.#enter(session);
    this.#isListed = !this.#isListed;
    const rules = this.#standing(session);
    const injectedFiles = rules.map(({ path, truncated }) => ({ path, truncated }));
    const injectedDirectories = directoriesOf(rules);
    const sessionKey = session.read((ctx) => ctx.sessionManager.getSessionFile(), undefined) ?? session.id;
    session.pi.appendEntry(DEBUG_ENTRY, { sessionKey, cacheSize: injectedDirectories.length, injectedDirectories, injectedFiles });
    this.#list(session, rules, true);
    const notRead = [...this.#notRead].map(([path, why]) => ` Not read: ${path} (${why}).`);
    session.tell(`Rules of ${injectedDirectories.length} directories stand in this session; their list is ${this.#isListed ? "shown" : "hidden"}.${notRead.join("")}`);
  }

  /** Status line and list, where there is a screen. */
  show(session: HostSession, isAsked = false): void {
    if (!session.hasUI) return;
    const rules = this.#standing(session);
    session.read((ctx) => {
      const { theme } = ctx.ui;
      const sign = this.#notRead.size > 0 ? theme.fg("warning", " ⚠️") : "";
      const count = directoriesOf(rules).length;
      this.#isShown = count > 0;
      ctx.ui.setStatus(STATUS, count > 0 ? `${theme.fg("dim", `🤖 ${count}`)}${sign}` : undefined);
    }, undefined);
    this.#list(session, rules, isAsked);
  }

  #list(session: HostSession, rules: GuidanceRules[], isAsked = false): void {
    if (!session.hasUI) return;
    session.read((ctx) => {
      const { theme } = ctx.ui;
      const lines = rules.map(({ path, truncated }) => theme.fg(truncated ? "warning" : "dim", `  ${shown(path, ctx.cwd)}${truncated ? " (truncated)" : ""}`));
      const list = this.#isListed && lines.length > 0 ? [theme.fg("accent", "Nested Context:"), ...lines] : undefined;
      if (list) ctx.ui.setWidget(WIDGET, list, { placement: "aboveEditor" });
      else if (this.#hasList || isAsked) ctx.ui.setWidget(WIDGET, undefined);
      this.#hasList = list !== undefined;
    }, undefined);
  }

  #clear(session: HostSession): void {
    if (!session.hasUI || !this.#isShown) return;
    this.#isShown = false;
    session.read((ctx) => {
      ctx.ui.setStatus(STATUS, undefined);
      if (this.#hasList) ctx.ui.setWidget(WIDGET, undefined);
      this.#hasList = false;
    }, undefined);
  }

  #named(number: number): string {
    return `${this.#process}:${number}`;
  }

  /** Forgets what has arrived in the session, and everything of another one. */
  #enter(session: HostSession): void {
    if (this.#session !== session.id) {
      this.#session = session.id;
      this.#open.clear();
      this.#notRead.clear();
      this.#isListed = false;
    }
    if (this.#open.size === 0) return;
    const arrived = new Set(branchOf(session).map(({ message }) => noteOf(message)?.ask));
    for (const number of this.#open.keys()) if (arrived.has(this.#named(number))) this.#open.delete(number);
  }

  /** What the model sees, or is about to; the newest state of each file. */
  #standing(session: HostSession): GuidanceRules[] {
    const byPath = new Map<string, GuidanceRules>();
    for (const rules of [...notesIn(session), ...[...this.#open.values()].flat()]) byPath.set(rules.path, rules);
    return [...byPath.values()];
  }
}

/** The flag and the command. */
export function registerGuidance(pi: Pi, impresario: Impresario, session: HostSession): void {
  pi.registerFlag(FLAG, { description: "Do not add the rules of nested directories (AGENTS.md) to results of tools", type: "boolean", default: false });
  pi.registerCommand("nested-agents", {
    description: "List the rules of directories that stand in this session, above the editor",
    handler: async (_typed, ctx) => {
      session.enter(ctx);
      impresario.guidance.toggle(session);
    },
  });
}

/** Whoever wants no files of context from Pi wants none from here. */
function isSwitchedOff(pi: Pi): boolean {
  return guarded(() => pi.getFlag(FLAG) === true, false) || process.argv.some((word) => word === "--no-context-files" || word === "-nc");
}

/** What a call names; undefined where nothing of it is looked for. */
function touchedBy({ toolName, input, content, isError }: ToolResult): Pick<GuidanceAsk, "tool" | "path" | "command"> | undefined {
  if (isError || !TOOLS.has(toolName) || !content.some(({ type }) => type === "text")) return undefined;
  const path = textOr(input?.["path"]);
  const command = textOr(input?.["command"]);
  return path === null && command === null ? undefined : { tool: toolName, path, command };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Details that a note can stand in; undefined where they are of another kind. */
function withNotes(details: unknown): object | undefined {
  if (details === undefined || details === null) return {};
  return typeof details === "object" && !Array.isArray(details) ? details : undefined;
}

/** What stands in what the model sees, in its order. */
function standing(session: HostSession): GuidanceMark[] {
  return notesIn(session).map(({ path, hash }) => ({ path, hash }));
}

/** Rules that were put behind a result, in a block of their own. */
export function isRules({ text }: Block): boolean {
  return text?.startsWith("\n\n[Directory Context: ") === true;
}

/** A note counts while what it says stands beside it. */
function notesIn(session: HostSession): GuidanceRules[] {
  return seenMessages(session).flatMap((message) => {
    const rules = noteOf(message)?.rules ?? [];
    const text = rules.length > 0 ? textOf(message.content) : "";
    return rules.filter(({ path }) => text.includes(`[Directory Context: ${path}]\n`));
  });
}

function noteOf(message: Message | undefined): Note | undefined {
  if (message?.role !== "toolResult") return undefined;
  const note = (message.details as Record<string, unknown> | null | undefined)?.[NOTE] as Partial<Note> | undefined;
  return typeof note?.ask === "string" && Array.isArray(note.rules) ? (note as Note) : undefined;
}

function directoriesOf(rules: GuidanceRules[]): string[] {
  return [...new Set(rules.map(({ path }) => dirname(path)))];
}

function shown(path: string, cwd: string): string {
  const below = relative(cwd, path);
  return below.startsWith("..") || isAbsolute(below) ? path : below;
}
