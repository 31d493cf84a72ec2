import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostSession } from "../src/host.ts";
import type { Impresario } from "../src/impresario.ts";
import { PromptLog, systemFields } from "../src/prompt-log.ts";

function stage(wished: object | undefined, prompt = "be brief") {
  const told: { method: string; params: Record<string, unknown> }[] = [];
  const connection = { notify: (method: string, params: Record<string, unknown>) => told.push({ method, params }) };
  const impresario = { runtime: { connection }, wishes: { of: () => wished } } as unknown as Impresario;
  const ctx = { getSystemPrompt: () => prompt, model: { provider: "house", id: "small" } };
  const session = { id: "s1", read: (look: (ctx: unknown) => unknown) => look(ctx) } as unknown as HostSession;
  return { told, session, log: new PromptLog(impresario) };
}

test("what nobody wished for is not told", () => {
  for (const wished of [undefined, { turn_prompts: false, request_prompts: false }]) {
    const { told, session, log } = stage(wished);
    log.turnBegins(session);
    log.requestGoes(session, { system: "be brief" });
    assert.deepEqual(told, []);
  }
});

test("a turn's prompt and a request's fields are told with the model", () => {
  const { told, session, log } = stage({ turn_prompts: true, request_prompts: true });
  log.turnBegins(session);
  log.requestGoes(session, { system: "be brief", messages: [{ role: "user", content: "hello" }] });
  log.requestGoes(session, { messages: [{ role: "user", content: "hello" }] });
  const common = { session: "s1", model: "house/small", left_out: 0 };
  assert.deepEqual(told, [
    { method: "prompt.seen", params: { ...common, prompt: "be brief", payload: null } },
    { method: "prompt.seen", params: { ...common, prompt: null, payload: { system: "be brief" } } },
  ]);
});

test("what is too long is left out and counted", () => {
  const { told, session, log } = stage({ turn_prompts: true, request_prompts: true }, "x".repeat(3 * 1024 * 1024));
  log.turnBegins(session);
  log.requestGoes(session, { system: "short" });
  assert.deepEqual(told.map(({ params }) => params["left_out"]), [1]);
});

test("only what is a system prompt is taken from a request, wherever its provider has it", () => {
  const said = { role: "user", content: "a secret of the conversation" };
  const request = {
    messages: [{ role: "system", content: "s" }, said],
    input: [said, { role: "developer", content: [{ type: "input_text", text: "d" }] }],
    config: { systemInstruction: { parts: [{ text: "i" }] }, tools: ["t"] },
    systemInstruction: "j",
    tools: [{ name: "read" }],
  };
  assert.deepEqual(systemFields(request), {
    messages: [{ role: "system", content: "s" }],
    input: [{ role: "developer", content: [{ type: "input_text", text: "d" }] }],
    config: { systemInstruction: { parts: [{ text: "i" }] } },
    systemInstruction: "j",
  });
  for (const nothing of [null, "x", [], { messages: [said], config: {} }]) assert.equal(systemFields(nothing), undefined);
});
