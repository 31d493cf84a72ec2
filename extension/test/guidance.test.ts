import assert from "node:assert/strict";
import { test } from "node:test";
import { Guidance } from "../src/guidance.ts";
import type { ToolResult } from "../src/guidance.ts";
import type { GuidanceAsk, GuidanceGiven } from "../src/generated/protocol.ts";
import type { HostSession } from "../src/host.ts";
import type { Impresario } from "../src/impresario.ts";

type Answer = { ok: true; result: GuidanceGiven } | { ok: false; why: "timeout" | "gone" };

const RULES: GuidanceGiven = {
  text: "\n\n[Directory Context: /w/src/AGENTS.md]\nUse tabs.",
  rules: [{ path: "/w/src/AGENTS.md", hash: "1", truncated: false }],
  not_read: [],
};
const NOTHING: GuidanceGiven = { text: "", rules: [], not_read: [] };

/** A session, and a runtime that answers as it is told. */
function stage(...answers: Answer[]) {
  const asked: GuidanceAsk[] = [];
  const branch: object[] = [];
  const ask = async (_method: string, params: GuidanceAsk) => {
    asked.push(params);
    return answers.shift() ?? { ok: true, result: NOTHING };
  };
  const impresario = { isCurrent: () => true, runtime: { connection: { ask } } } as unknown as Impresario;
  const ctx = { cwd: "/w", sessionManager: { getBranch: () => branch, getSessionFile: () => undefined } };
  const session = { id: "s1", hasUI: false, pi: { getFlag: () => false }, read: (look: (ctx: unknown) => unknown) => look(ctx) } as unknown as HostSession;
  return { guidance: new Guidance(impresario), session, asked, branch };
}

function result(over: Partial<ToolResult> = {}): ToolResult {
  return { toolName: "read", input: { path: "src/a.ts" }, content: [{ type: "text", text: "a" }], details: undefined, isError: false, ...over };
}

/** What is put in place of a result stands in the session from then on. */
function arrives(branch: object[], patch: { content: unknown; details: unknown } | undefined): void {
  branch.push({ type: "message", id: `${branch.length}`, message: { role: "toolResult", ...patch } });
}

test("what belongs behind a result stands behind it, with a note", async () => {
  const { guidance, session } = stage({ ok: true, result: RULES });
  const patch = await guidance.behind(session, result({ details: { truncation: null } }));
  assert.deepEqual(patch?.content, [{ type: "text", text: "a" }, { type: "text", text: RULES.text }]);
  assert.deepEqual(Object.keys(patch?.details ?? {}), ["truncation", "impresarioGuidance"]);
});

test("the runtime is told what stands in the session, and what is on its way there", async () => {
  const { guidance, session, asked, branch } = stage({ ok: true, result: RULES });
  const patch = await guidance.behind(session, result());
  await guidance.behind(session, result());
  arrives(branch, patch);
  await guidance.behind(session, result());
  const told = asked.map(({ number, open, given }) => [number, open, given]);
  assert.deepEqual(told, [
    [1, [], []],
    [2, [1], []],
    [3, [], [{ path: "/w/src/AGENTS.md", hash: "1" }]],
  ]);
});

test("what was compacted, or taken out of a result, does not stand there", async () => {
  const { guidance, session, asked, branch } = stage({ ok: true, result: RULES }, { ok: true, result: RULES });
  arrives(branch, await guidance.behind(session, result()));
  branch.push({ type: "compaction", id: "c", firstKeptEntryId: "none" });
  const patch = await guidance.behind(session, result());
  arrives(branch, patch && { ...patch, content: [{ type: "text", text: "cut" }] });
  await guidance.behind(session, result());
  assert.deepEqual(asked.map(({ given }) => given), [[], [], []]);
});

test("a note that never arrived is not waited for when the run is over", async () => {
  const { guidance, session, asked } = stage({ ok: true, result: RULES });
  await guidance.behind(session, result());
  guidance.settled();
  await guidance.behind(session, result());
  assert.deepEqual(asked.map(({ open, given }) => [open, given]), [[[], []], [[], []]]);
});

test("a runtime that does not answer is left alone, and the result stays as it is", async () => {
  const { guidance, session, asked } = stage({ ok: false, why: "timeout" }, { ok: true, result: RULES });
  assert.equal(await guidance.behind(session, result()), undefined);
  assert.equal(await guidance.behind(session, result()), undefined);
  assert.equal(asked.length, 1);
});

test("a request that came to nothing is not on its way", async () => {
  const { guidance, session, asked } = stage({ ok: false, why: "gone" }, { ok: true, result: NOTHING });
  await guidance.behind(session, result());
  await guidance.behind(session, result());
  await guidance.behind(session, result());
  assert.deepEqual(asked.map(({ open }) => open), [[], [], []]);
});

test("nothing is asked of results that name no place, failed, or have no text", async () => {
  const { guidance, session, asked } = stage();
  const others: Partial<ToolResult>[] = [
    { isError: true },
    { toolName: "of_somebody_else" },
    { input: {} },
    { input: { path: 5 } },
    { input: { path: "" } },
    { content: [{ type: "image" }] },
    { details: "text" },
  ];
  for (const over of others) assert.equal(await guidance.behind(session, result(over)), undefined);
  assert.deepEqual(asked, []);
});
