// The session this extension serves, seen through what Pi offers in whichever version. Every look is guarded: after a
// session was replaced, the old objects throw.

import { existsSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { ListedSkill, NoticeLevel, SessionMode, SessionStart } from "./generated/protocol.ts";
import type { Screen } from "./transcript.ts";

const SAME_NOTICE_MS = 2000;

/** What Pi draws over its screen, and gives its keys. */
export interface Overlay {
  render(width: number): string[];
  handleInput(data: string): void;
  invalidate(): void;
  dispose(): void;
}

export type Pi = ExtensionAPI;
export type Context = ExtensionContext;

export class HostSession {
  readonly pi: Pi;
  #ctx: Context | undefined;
  #id = "";
  #lastNotice = { text: "", at: 0 };

  constructor(pi: Pi) {
    this.pi = pi;
  }

  /** The newest context: each event brings one. */
  enter(ctx: Context): void {
    this.#ctx = ctx;
    this.#id = guarded(() => ctx.sessionManager.getSessionId(), this.#id);
  }

  leave(): void {
    this.#ctx = undefined;
  }

  /** The session's id; empty before the first event. */
  get id(): string {
    return this.#id;
  }

  get isOpen(): boolean {
    return this.#ctx !== undefined;
  }

  get mode(): SessionMode {
    return this.read((ctx) => ctx.mode ?? modeFromArguments(ctx.hasUI), modeFromArguments(false));
  }

  /** Whether a person can be asked. */
  get hasUI(): boolean {
    return this.read((ctx) => ctx.hasUI === true, false);
  }

  get isIdle(): boolean {
    return this.read((ctx) => ctx.isIdle(), false);
  }

  /** Looks at the context, or gives `otherwise` where that is not possible. */
  read<T>(look: (ctx: Context) => T, otherwise: T): T {
    const ctx = this.#ctx;
    return ctx ? guarded(() => look(ctx), otherwise) : otherwise;
  }

  /** The skills that Pi itself lists under `/skill:`. */
  get piSkills(): ListedSkill[] {
    const commands = guarded(() => this.pi.getCommands().filter(({ source }) => source === "skill"), []);
    return commands.map(({ name, description, sourceInfo }) => ({
      name: name.replace(/^skill:/, ""),
      description: description ?? "",
      file: sourceInfo.path,
      scope: sourceInfo.origin === "package" ? "package" : sourceInfo.scope === "temporary" ? "session" : sourceInfo.scope,
      base: sourceInfo.baseDir ?? null,
    }));
  }

  /** Whether Pi would run this line as a skill of its own. */
  piRuns(line: string): boolean {
    return this.piSkills.some(({ name }) => line === `/skill:${name}` || line.startsWith(`/skill:${name} `));
  }

  describe(reason: string): SessionStart {
    return {
      session: this.#id,
      file: this.read((ctx) => ctx.sessionManager.getSessionFile() ?? null, null),
      cwd: this.read((ctx) => ctx.cwd, process.cwd()),
      mode: this.mode,
      has_ui: this.hasUI,
      trusted: this.read((ctx) => (typeof ctx.isProjectTrusted === "function" ? ctx.isProjectTrusted() : null), null),
      model: this.read((ctx) => (ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : null), null),
      host_version: hostVersion(),
      reason,
    };
  }

  /** Shows the person what was asked for; in print mode it is what Pi prints. */
  tell(text: string): void {
    if (this.mode === "print") writeAll(1, `${text}\n`);
    else this.#show("info", text);
  }

  /** What was asked for cannot be done; without a screen Pi's exit code says so too. */
  complain(words: string): void {
    this.#show("error", words);
    if (!this.hasUI) process.exitCode = 1;
  }

  /** Draws over the whole screen until it is closed; false where there is no screen to draw on. */
  async overlay(open: (screen: Screen) => Overlay): Promise<boolean> {
    if (this.mode !== "tui") return false;
    const options = { overlay: true, overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left" } } as const;
    const shown = this.read<Promise<boolean> | undefined>((ctx) => {
      if (typeof ctx.ui.custom !== "function") return undefined;
      return ctx.ui.custom<boolean>((tui, theme, _keys, done) => {
        return open({
          get rows() {
            return tui.terminal.rows;
          },
          redraw: () => tui.requestRender(),
          paint: theme,
          close: () => done(true),
        });
      }, options);
    }, undefined);
    return (await shown) ?? false;
  }

  /** Lets the person choose; undefined when nothing was chosen. */
  async select(title: string, choices: string[]): Promise<string | undefined> {
    return await this.read<Promise<string | undefined>>((ctx) => ctx.ui.select(title, choices), Promise.resolve(undefined));
  }

  /** Closing it is a no. */
  async confirm(title: string, text: string): Promise<boolean> {
    return await this.read<Promise<boolean>>((ctx) => ctx.ui.confirm(title, text), Promise.resolve(false));
  }

  /** Shows a notice nobody asked for. The same one is not shown twice in a row. */
  notice(level: NoticeLevel, text: string): void {
    const now = Date.now();
    if (text === this.#lastNotice.text && now - this.#lastNotice.at < SAME_NOTICE_MS) return;
    this.#lastNotice = { text, at: now };
    this.#show(level, text);
  }

  /** Without a screen it goes to stderr, which Pi leaves alone. */
  #show(level: NoticeLevel, text: string): void {
    const shown = this.hasUI && this.read((ctx) => {
      ctx.ui.notify(text, level);
      return true;
    }, false);
    if (!shown) process.stderr.write(`impresario: ${text}\n`);
  }
}

/** A pipe that is full for the moment says so; a reader that is gone has what it wanted. */
export function writeAll(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Runs `look`; what it throws becomes `otherwise`. */
export function guarded<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** Pi 0.74 does not say its mode. */
function modeFromArguments(hasUI: boolean): SessionMode {
  const given = process.argv;
  const at = given.indexOf("--mode");
  const mode = at >= 0 ? given[at + 1] : given.find((argument) => argument.startsWith("--mode="))?.slice("--mode=".length);
  if (mode === "rpc" || mode === "json") return mode;
  return hasUI ? "tui" : "print";
}

export interface HostProgram {
  /** Pi's own script, as it runs now. */
  script: string;
  version: string | null;
}

let programFound: HostProgram | null | undefined;

/** The Pi that runs us, from the package its script lies in. */
function hostProgram(): HostProgram | null {
  programFound ??= guarded(() => {
    const script = realpathSync(process.argv[1] ?? "");
    let directory = dirname(script);
    for (let up = 0; up < 5; up += 1, directory = dirname(directory)) {
      const manifest = join(directory, "package.json");
      if (!existsSync(manifest)) continue;
      const { name, version } = JSON.parse(readFileSync(manifest, "utf8")) as { name?: string; version?: string };
      if (name?.endsWith("/pi-coding-agent")) return { script, version: version ?? null };
    }
    return null;
  }, null);
  return programFound;
}

export function hostVersion(): string | null {
  return hostProgram()?.version ?? null;
}

/** Whether this Pi says when a turn is over for good; before 0.80.4 there was only the end of each run of the model. */
export function settlesLast(): boolean {
  const [major = 0, minor = 0, patch = 0] = (hostVersion() ?? "0.80.4").split(".").map((part) => Number.parseInt(part, 10));
  return major > 0 || minor > 80 || (minor === 80 && patch >= 4);
}

/** The runtime's environment: sub-agents run in the same Pi, on the same Node, unless the person says otherwise. */
export function runtimeEnvironment(): NodeJS.ProcessEnv {
  const program = hostProgram();
  if (!program || process.env["IMPRESARIO_PI"]) return process.env;
  return { ...process.env, IMPRESARIO_PI: program.script, IMPRESARIO_NODE: process.execPath };
}
