import assert from "node:assert/strict";
import { test } from "node:test";
import type { MarkerSkeleton } from "../src/generated/protocol.ts";
import { Outliner, edited } from "../src/generated/outline.ts";
import { Markers, anchors } from "../src/markers.ts";

const payload = {
  model: "claude",
  max_tokens: 100,
  system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
  tools: [{ name: "read", input_schema: { properties: { cache_control: { type: "object" } } } }],
  messages: [
    { role: "user", content: "plain" },
    { role: "assistant", content: [{ type: "text", text: "hm" }, { type: "tool_use", id: "1", name: "read", input: { cache_control: { type: "ephemeral" } } }] },
    { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral", ttl: "1h" } }, { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] }] },
  ],
};

const outline = (request: unknown) => new Outliner().outline(request);

test("the outline has every block in the order of hashing, and no texts", () => {
  const found = outline(payload);
  assert.deepEqual(found?.blocks.map(({ path, kind, marker, call }) => [path, kind, marker, call]), [
    ["tools/0", "tool", null, null],
    ["system/0", "system", "5m", null],
    ["messages/0/content", "plain", null, null],
    ["messages/1/content/0", "said", null, null],
    ["messages/1/content/1", "tool_use", null, "1"],
    ["messages/2/content/0", "text", "1h", null],
    ["messages/2/content/1", "tool_result", null, "1"],
    ["messages/2/content/1/content/0", "nested", "5m", null],
  ]);
  assert.ok(!JSON.stringify(found).includes("brief"));
});

test("a marker is no part of what a block is; a property called like one is", () => {
  const unmarked = structuredClone(payload) as { system: object[]; messages: { content: unknown }[] };
  unmarked.system = [{ type: "text", text: "be brief" }];
  const contents = (request: unknown) => outline(request)?.blocks.filter(({ kind }) => kind !== "nested").map(({ content }) => content);
  const [result] = (unmarked.messages[2]?.content as { content?: object[] }[]).slice(-1);
  result!.content = [{ type: "text", text: "x" }];
  assert.deepEqual(contents(unmarked), contents(payload));
  const other = structuredClone(payload);
  other.messages[1] = { role: "assistant", content: [{ type: "text", text: "hm" }, { type: "tool_use", id: "1", name: "read", input: {} }] } as never;
  assert.notDeepEqual(contents(other), contents(payload));
});

test("what was outlined before is known again, and what changed is seen", () => {
  const outliner = new Outliner();
  const first = outliner.outline(payload);
  assert.deepEqual(outliner.outline(structuredClone(payload)), first);
  const changed = structuredClone(payload);
  changed.tools[0]!.name = "write";
  assert.notEqual(outliner.outline(changed)?.blocks[0]?.content, first?.blocks[0]?.content);
  assert.deepEqual(outliner.outline(changed)?.blocks.slice(1), first?.blocks.slice(1));
});

test("other providers' requests have no outline", () => {
  assert.equal(outline({ model: "gpt", messages: [{ role: "system", content: "x" }] }), undefined);
  assert.equal(outline({ contents: [] }), undefined);
  assert.equal(outline(null), undefined);
});

test("edits change a copy at their places only", () => {
  const before = structuredClone(payload);
  const { payload: after } = edited(payload, [
    { path: "tools/0", marker: "5m" },
    { path: "messages/2/content/0", marker: null },
    { path: "messages/2/content/1/content/0", marker: null },
    { path: "system/0", marker: "1h" },
  ]) as { payload: typeof payload };
  assert.deepEqual(payload, before);
  assert.deepEqual(after.tools[0], { ...payload.tools[0], cache_control: { type: "ephemeral" } });
  assert.deepEqual(after.messages[2]?.content, [{ type: "text", text: "hi" }, { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "x" }] }]);
  assert.deepEqual(after.system[0]?.cache_control, { type: "ephemeral", ttl: "1h" });
  assert.equal(after.messages[0], payload.messages[0]);
});

test("no edits, or one that does not fit, leave the request alone and say why", () => {
  assert.deepEqual(edited(payload, []), {});
  for (const path of ["messages/9/content/0", "messages/0/content/0", "system/0/text", "messages"]) {
    assert.deepEqual(edited(payload, [{ path: "tools/0", marker: "5m" }, { path, marker: "5m" }]), { why: `there is no block ${path} in the request` });
  }
});

test("what could not be applied is told with the next request, once", async () => {
  const markers = new Markers();
  const told: MarkerSkeleton[] = [];
  const place = (block: number) =>
    markers.place("S", () => [], payload, async (skeleton) => {
      told.push(skeleton);
      return { edits: [[block, "5m"]] };
    });
  assert.equal(await place(99), undefined);
  assert.notEqual(await place(0), undefined);
  await place(0);
  assert.deepEqual(told.map(({ not_applied }) => not_applied), [null, "there is no block number 99 in the request", null]);
});

test("anchors are the results of the tool that says so", () => {
  const result = (toolName: string, toolCallId: string, details: object) => ({ type: "message", message: { role: "toolResult", toolName, toolCallId, details } });
  assert.deepEqual(anchors([result("context", "a", { anchor: { name: "x" } }), result("context", "b", {}), result("read", "c", { anchor: {} }), { type: "label" }]), ["a"]);
});
