import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { drawBuiltIns } from "../src/builtin-tools.ts";
import type { PiParts } from "../src/builtin-tools.ts";
import type { Wishes } from "../src/generated/protocol.ts";
import type { HostSession } from "../src/host.ts";

const wished: Wishes = { turn_prompts: false, request_prompts: false, bash: { preview_lines: 5, expanded_lines: 200, dim: false }, read: { preview: false }, agents: "compact" };
const pis = (name: string) => ({ name, sourceInfo: { source: "builtin" } });

function stage({ mode = "tui", tools = [pis("bash"), pis("read")] as object[] } = {}) {
  const registered: ToolDefinition[] = [];
  const made: unknown[] = [];
  const definition = (name: string, cwd: string, options: object) => {
    made.push([name, cwd, options]);
    return { name, label: name, description: `Pi's ${name}`, promptSnippet: "Pi's", parameters: { type: "object" }, execute: `Pi's ${name}` } as unknown as ToolDefinition;
  };
  const parts: PiParts = {
    SettingsManager: {
      create: (...given) => {
        made.push(["settings", ...given]);
        return { getShellCommandPrefix: () => "set -e", getShellPath: () => undefined, getImageAutoResize: () => false };
      },
    },
    getAgentDir: () => "/agent",
    createBashToolDefinition: (cwd, options) => definition("bash", cwd, options),
    createReadToolDefinition: (cwd, options) => definition("read", cwd, options),
  };
  const pi = { getAllTools: () => tools, registerTool: (tool: ToolDefinition) => registered.push(tool) };
  const ctx = { cwd: "/w", isProjectTrusted: () => false };
  const session = { mode, pi, read: (look: (ctx: unknown) => unknown) => look(ctx) } as unknown as HostSession;
  return { session, registered, made, load: async () => parts };
}

test("what a call does and what the model is told stays Pi's, with Pi's settings", async () => {
  const { session, registered, made, load } = stage();
  assert.deepEqual(await drawBuiltIns(session, wished, load), ["bash", "read"]);
  assert.deepEqual(made, [
    ["settings", "/w", "/agent", { projectTrusted: false }],
    ["bash", "/w", { commandPrefix: "set -e" }],
    ["read", "/w", { autoResizeImages: false }],
  ]);
  for (const tool of registered) {
    const { renderCall, renderResult, ...rest } = tool;
    assert.ok(renderCall && renderResult);
    assert.deepEqual(rest, { name: tool.name, label: tool.name, description: `Pi's ${tool.name}`, promptSnippet: "Pi's", parameters: { type: "object" }, execute: `Pi's ${tool.name}` });
  }
});

test("nothing is registered where nobody wished for it, and where nobody sees it", async () => {
  const off = stage();
  assert.deepEqual(await drawBuiltIns(off.session, { ...wished, bash: null, read: null }, off.load), []);
  const one = stage();
  assert.deepEqual(await drawBuiltIns(one.session, { ...wished, bash: null }, one.load), ["read"]);
  for (const mode of ["print", "json", "rpc"]) {
    const { session, registered, made, load } = stage({ mode });
    await drawBuiltIns(session, wished, load);
    assert.deepEqual([registered, made], [[], []], mode);
  }
});

test("a tool of somebody else stays theirs, and one that was taken away stays away", async () => {
  const theirs = { name: "bash", sourceInfo: { source: "local", path: "/sandbox.ts" } };
  for (const tools of [[theirs, pis("read")], [pis("read")], [{ name: "bash" }, pis("read")]]) {
    const { session, load } = stage({ tools });
    assert.deepEqual(await drawBuiltIns(session, wished, load), ["read"]);
  }
});

test("a Pi that is made otherwise draws as it does", async () => {
  const { session, registered } = stage();
  assert.deepEqual(await drawBuiltIns(session, wished, async () => ({}) as PiParts), []);
  assert.deepEqual(await drawBuiltIns(session, wished, () => Promise.reject(new Error("no such module"))), []);
  assert.deepEqual(registered, []);
});

test("what is registered draws with what Pi knows of a call", async () => {
  const { session, registered, load } = stage();
  await drawBuiltIns(session, wished, load);
  const theme = { fg: (_color: string, text: string) => text, bold: (text: string) => text } as never;
  const [bash, read] = registered;
  const context = { args: { command: "ls", path: "/w/a.ts" }, cwd: "/w", isError: true } as never;
  const result = { content: [{ type: "text" as const, text: "gone" }], details: undefined };
  assert.deepEqual(bash?.renderCall?.({ command: "ls" } as never, theme, context).render(80), ["⏺ Bash(ls)"]);
  assert.deepEqual(bash?.renderResult?.(result, { expanded: false, isPartial: false }, theme, context).render(80), ["  ⎿  ✗ Error", "     gone", "     ✎ ~1 words"]);
  assert.deepEqual(read?.renderCall?.({ path: "/w/a.ts" } as never, theme, context).render(80), ["⏺ read(a.ts)"]);
});
