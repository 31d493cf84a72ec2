import assert from "node:assert/strict";
import { test } from "node:test";
import { Delegation } from "../src/delegation.ts";
import type { HostSession } from "../src/host.ts";
import type { Impresario } from "../src/impresario.ts";

test("a session that Pi replaced while the runtime was asked gets no tools, and Pi goes on", async () => {
  const tool = { name: "delegate_explore", description: "", parameters: {} };
  const lesson = { section: "s", block: "", tools: [{ tool, agent: "explore", task: "question", sequential: false, chain: false, message: false }] };
  let offered = 0;
  const stale = () => {
    offered += 1;
    throw new Error("This extension ctx is stale after session replacement or reload.");
  };
  const impresario = { runtime: { connection: { ask: async () => ({ ok: true, result: lesson }) } } } as unknown as Impresario;
  const session = { id: "s1", pi: { registerTool: stale, on: stale } } as unknown as HostSession;
  await new Delegation(impresario).prepare(session);
  assert.equal(offered, 1);
});
