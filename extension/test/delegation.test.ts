import assert from "node:assert/strict";
import { test } from "node:test";
import { Delegation, placed } from "../src/delegation.ts";
import { cases } from "./vectors.ts";
import type { HostSession } from "../src/host.ts";
import type { Impresario } from "../src/impresario.ts";

test("a session that Pi replaced while the runtime was asked gets no tools, and Pi goes on", async () => {
  const tool = { name: "delegate_explore", description: "", parameters: {} };
  const lesson = { section: "s", block: "", per_model: false, tools: [{ tool, agent: "explore", task: "question", sequential: false, chain: false, message: false }] };
  let offered = 0;
  const stale = () => {
    offered += 1;
    throw new Error("This extension ctx is stale after session replacement or reload.");
  };
  const impresario = { runtime: { connection: { ask: async () => ({ ok: true, result: lesson }) } } } as unknown as Impresario;
  const session = { id: "s1", read: (_look: unknown, otherwise: unknown) => otherwise, pi: { registerTool: stale, on: stale } } as unknown as HostSession;
  await new Delegation(impresario).prepare(session);
  assert.equal(offered, 1);
});

const marked = (text: string) => `<!-- impresario: how to work here -->\n${text}\n<!-- impresario: end of how to work here -->`;

test("a text with marks stands in a prompt once, in the place that it had, however often it is put there", () => {
  const recorded = cases("prompt_injection_props");
  assert.ok(recorded.length > 0, "no cases");
  for (const { input, output } of recorded) {
    const prompt = input["system_prompt"] as string;
    const one = placed(prompt, marked("one"));
    const other = placed(one, marked("of another family"));
    const ours = {
      keeps_prefix: one.startsWith(prompt),
      ends_with_end_marker: one.endsWith("-->"),
      idempotent: placed(one, marked("one")) === one,
      one_block_after_family_change: other.split("<!-- impresario: how").length === 2 && !other.includes("one"),
    };
    const { keeps_prefix, ends_with_end_marker, idempotent, one_block_after_family_change } = output as typeof ours;
    assert.deepEqual(ours, { keeps_prefix, ends_with_end_marker, idempotent, one_block_after_family_change });
  }
});

test("what stands behind it stays, and half of the marks are none", () => {
  const prompt = `before\n${marked("old")}\nbehind`;
  assert.equal(placed(prompt, marked("new")), `before\n${marked("new")}\nbehind`);
  const [begin = ""] = marked("").split("\n");
  assert.equal(placed(`${begin} cut`, marked("new")), `${begin} cut\n\n${marked("new")}`);
  assert.equal(placed("a", "## plain\ntext"), "a\n\n## plain\ntext");
});

test("another model is taught in its own form, and the tools stay", async () => {
  let model = { provider: "a", id: "claude" };
  const asked: unknown[] = [];
  const ask = async (_method: string, params: { model: string }) => {
    asked.push(params.model);
    return { ok: true, result: { section: "s", block: marked(params.model), per_model: true, tools: [] } };
  };
  const runtime = { connection: { ask }, ready: async () => undefined };
  const session = { id: "s1", pi: { getActiveTools: () => [] }, read: (look: (ctx: unknown) => unknown) => look({ model }) } as unknown as HostSession;
  const delegation = new Delegation({ runtime } as unknown as Impresario);
  const teach = () => delegation.teach(session, { systemPrompt: "base" });
  assert.deepEqual(await teach(), { systemPrompt: `base\n\n${marked("a/claude")}` });
  await teach();
  model = { provider: "b", id: "gpt" };
  assert.deepEqual(await teach(), { systemPrompt: `base\n\n${marked("b/gpt")}` });
  assert.deepEqual(asked, ["a/claude", "b/gpt"]);
});
