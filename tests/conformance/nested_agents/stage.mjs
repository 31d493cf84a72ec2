// A host that is no Pi: it loads the extension, plays the steps of recorded cases, and says what the extension did.
// A case is a line of stdin, an answer a line of stdout.

import { createInterface } from "node:readline";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [extension, tree] = process.argv.slice(2);
const { default: load } = await import(pathToFileURL(extension).href);
const shared = () => globalThis[Symbol.for("impresario")];
const say = process.stdout.write.bind(process.stdout);
let sessions = 0;

/** A session of which everything that went to the model is kept, as Pi keeps it. */
class Session {
  constructor(file) {
    this.file = file;
    this.id = `session-${(sessions += 1)}`;
    this.branch = [];
  }

  append(entry) {
    this.branch.push({ id: `entry-${this.branch.length}`, ...entry });
  }
}

class Host {
  handlers = new Map();
  commands = new Map();
  files = new Map();

  constructor(input) {
    this.input = input;
    this.hasUI = input.has_ui ?? true;
    this.open(input.session_file ?? null);
    this.seen = { statuses: [], widgets: [], notifications: [], entries: [] };
  }

  open(file) {
    const known = this.files.get(file) ?? new Session(file);
    this.files.set(file, known);
    this.session = known;
  }

  get pi() {
    return {
      on: (name, handler) => this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]),
      registerCommand: (name, command) => this.commands.set(name, command),
      registerFlag: () => {},
      registerTool: () => {},
      registerShortcut: () => {},
      getFlag: () => this.input.no_nested_agents === true,
      getCommands: () => [],
      appendEntry: (customType, data) => this.seen.entries.push({ customType, data }),
      sendMessage: () => {},
    };
  }

  get ctx() {
    const { session } = this;
    return {
      cwd: this.input.cwd,
      hasUI: this.hasUI,
      mode: "rpc",
      model: undefined,
      isIdle: () => true,
      sessionManager: {
        getSessionId: () => session.id,
        getSessionFile: () => session.file ?? undefined,
        getBranch: () => session.branch,
      },
      ui: {
        theme: { fg: (colour, text) => `[${colour}]${text}[/${colour}]` },
        notify: (_text, level) => this.seen.notifications.push(level),
        setStatus: (key, text) => this.seen.statuses.push({ key, text: text ?? null }),
        setWidget: (key, lines, options) => this.seen.widgets.push({ key, lines: lines ?? null, placement: options?.placement ?? null }),
        onTerminalInput: () => () => {},
        addAutocompleteProvider: () => {},
      },
    };
  }

  async play(step) {
    this.seen = { statuses: [], widgets: [], notifications: [], entries: [] };
    const returned = await this.#do(step);
    const ours = ({ key }) => key.startsWith("ext:nested-agents:");
    const { statuses, widgets, notifications, entries } = this.seen;
    return { returned, statuses: statuses.filter(ours), widgets: widgets.filter(ours), notifications: step.op === "command" ? notifications : [], entries };
  }

  async #do(step) {
    if (step.op === "emit") return await this.#emit(step.name, { type: step.name, ...step.event });
    if (step.op === "command") await this.commands.get("nested-agents").handler("", this.ctx);
    if (step.op === "session_file" && step.value !== this.session.file) await this.#switch(() => this.open(step.value));
    if (step.op === "has_ui") this.hasUI = step.value;
    if (step.op === "write") {
      const file = join(tree, step.path);
      mkdirSync(dirname(file), { recursive: true });
      const { prefix = "", repeat, times, suffix = "" } = typeof step.content === "string" ? { repeat: step.content, times: 1 } : step.content;
      writeFileSync(file, `${prefix}${repeat.repeat(times)}${suffix}`);
    }
    return null;
  }

  async #emit(name, event) {
    // A host begins a session before anything happens in it; a session that was left is begun again.
    if (name === "session_compact") this.session.append({ type: "compaction", firstKeptEntryId: "none" });
    if (name === "session_tree") this.session.branch = [];
    let returned = null;
    for (const handler of this.handlers.get(name) ?? []) returned = (await handler(event, this.ctx)) ?? returned;
    if (name === "session_start") await shared().runtime.ready(60_000);
    if (name === "session_shutdown") await this.#switch(() => this.#forget());
    if (name !== "tool_result") return null;
    const { content, details } = { ...event, ...returned };
    this.session.append({ type: "message", message: { role: "toolResult", toolCallId: event.toolCallId, content, details } });
    return returned && { content: returned.content };
  }

  /** What was shut down is opened anew, as the recorded cases go on after it. */
  #forget() {
    const { file } = this.session;
    this.files.delete(file);
    this.open(file);
  }

  /** Another session begins, as a host begins it: the recorded steps leave that out. */
  async #switch(open) {
    open();
    const { seen } = this;
    this.seen = { statuses: [], widgets: [], notifications: [], entries: [] };
    for (const handler of this.handlers.get("session_start") ?? []) await handler({ type: "session_start", reason: "resume" }, this.ctx);
    await shared().runtime.ready(60_000);
    this.seen = seen;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const input = JSON.parse(line);
  const host = new Host(input);
  load(host.pi);
  const output = [];
  for (const step of input.steps) output.push(await host.play(step));
  for (const handler of host.handlers.get("session_shutdown") ?? []) await handler({ type: "session_shutdown", reason: "new" }, host.ctx);
  say(`${JSON.stringify(output)}\n`);
}
shared()?.runtime.stop();
