// Names of skills while they are typed: `/skill <prefix>` as the command's argument, `/skill:<prefix>` as a command.

import type { SkillSummary } from "./generated/protocol.ts";
import type { Context, HostSession } from "./host.ts";

type ProviderFactory = Parameters<Context["ui"]["addAutocompleteProvider"]>[0];
type Provider = ReturnType<ProviderFactory>;
type Skills = () => Promise<SkillSummary[]>;

interface Item {
  value: string;
  label: string;
  description: string;
}

const COLON_FORM = /^\s*(\/skill:(\S*))$/;

/** What fits behind `/skill `; null when nothing does. */
export async function completeArgument(typed: string, skills: Skills): Promise<Item[] | null> {
  const prefix = typed.trimStart();
  if (/\s/.test(prefix)) return null;
  const items = (await skills()).filter(({ name }) => fits(name, prefix)).map((skill) => ({ value: `${skill.name} `, label: skill.name, description: toldOf(skill) }));
  return items.length > 0 ? items : null;
}

/** Completes the colon form too, where the session has a terminal and Pi lets extensions complete. */
export function completeColonForm(session: HostSession, skills: Skills): void {
  session.read((ctx) => {
    if (session.mode !== "tui" || typeof ctx.ui.addAutocompleteProvider !== "function") return;
    ctx.ui.addAutocompleteProvider((current) => withColonForm(current, skills));
  }, undefined);
}

/** Has Pi look at its commands again: those that are registered after a session began are not completed else. */
export function completeNewCommands(session: HostSession): void {
  session.read((ctx) => {
    if (session.mode !== "tui" || typeof ctx.ui.addAutocompleteProvider !== "function") return;
    ctx.ui.addAutocompleteProvider((current) => current);
  }, undefined);
}

/** Pi's own completion, with our skills before its commands. */
export function withColonForm(current: Provider, skills: Skills): Provider {
  const provider: Provider = {
    async getSuggestions(lines, cursorLine, cursorCol, options) {
      const [, prefix, name = ""] = COLON_FORM.exec(before(lines, cursorLine, cursorCol)) ?? [];
      const theirs = await current.getSuggestions(lines, cursorLine, cursorCol, options);
      if (prefix === undefined || options.force) return theirs;
      const ours = (await skills()).filter((skill) => fits(skill.name, name) && !skill.of_host).map(toCommand);
      if (ours.length === 0) return theirs;
      const values = new Set(ours.map(({ value }) => value));
      const others = theirs?.items.filter((item) => !values.has(item.value)) ?? [];
      return { items: [...ours, ...others], prefix };
    },
    applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
      if (!COLON_FORM.test(before(lines, cursorLine, cursorCol))) return current.applyCompletion(lines, cursorLine, cursorCol, item, prefix);
      const line = lines[cursorLine] ?? "";
      const completed = `${line.slice(0, cursorCol - prefix.length)}/${item.value} `;
      const changed = lines.map((other, at) => (at === cursorLine ? completed + line.slice(cursorCol) : other));
      return { lines: changed, cursorLine, cursorCol: completed.length };
    },
  };
  if (current.triggerCharacters) provider.triggerCharacters = current.triggerCharacters;
  const triggers = current.shouldTriggerFileCompletion?.bind(current);
  if (triggers) provider.shouldTriggerFileCompletion = triggers;
  return provider;
}

function toCommand(skill: SkillSummary): Item {
  return { value: `skill:${skill.name}`, label: `skill:${skill.name}`, description: toldOf(skill) };
}

/** A skill that cannot be run says so where the others say what they are for. */
function toldOf({ description, problem }: SkillSummary): string {
  return problem ? `cannot be used: ${problem}` : description;
}

function fits(name: string, prefix: string): boolean {
  return name.toLowerCase().startsWith(prefix.toLowerCase());
}

function before(lines: string[], cursorLine: number, cursorCol: number): string {
  return (lines[cursorLine] ?? "").slice(0, cursorCol);
}
