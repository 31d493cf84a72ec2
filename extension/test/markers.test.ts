import assert from "node:assert/strict";
import { test } from "node:test";
import { edited, outline } from "../src/markers.ts";

const payload = {
  model: "claude",
  max_tokens: 100,
  system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
  tools: [{ name: "read", input_schema: {} }],
  messages: [
    { role: "user", content: "plain" },
    { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral", ttl: "1h" } }, { type: "tool_result", tool_use_id: "1" }] },
  ],
};

test("the outline has every block in the order of hashing, and no bodies", () => {
  const found = outline(payload);
  assert.deepEqual(found?.blocks.map(({ path, kind, marker }) => [path, kind, marker]), [
    ["tools/0", "tool", null],
    ["system/0", "system", "5m"],
    ["messages/1/content/0", "text", "1h"],
    ["messages/1/content/1", "tool_result", null],
  ]);
  assert.ok(!JSON.stringify(found).includes("brief"));
});

test("other providers' requests have no outline", () => {
  assert.equal(outline({ model: "gpt", messages: [{ role: "system", content: "x" }] }), undefined);
  assert.equal(outline({ contents: [] }), undefined);
  assert.equal(outline(null), undefined);
});

test("edits change a copy at their places only", () => {
  const before = structuredClone(payload);
  const after = edited(payload, [
    { path: "tools/0", marker: "5m" },
    { path: "messages/1/content/0", marker: null },
    { path: "system/0", marker: "1h" },
  ]) as typeof payload;
  assert.deepEqual(payload, before);
  assert.deepEqual(after.tools[0], { name: "read", input_schema: {}, cache_control: { type: "ephemeral" } });
  assert.deepEqual(after.messages[1]?.content[0], { type: "text", text: "hi" });
  assert.deepEqual(after.system[0]?.cache_control, { type: "ephemeral", ttl: "1h" });
  assert.equal(after.messages[0], payload.messages[0]);
});

test("no edits, or one that does not fit, leave the request alone", () => {
  assert.equal(edited(payload, []), undefined);
  assert.equal(edited(payload, [{ path: "messages/9/content/0", marker: "5m" }]), undefined);
  assert.equal(edited(payload, [{ path: "messages/0/content/0", marker: "5m" }]), undefined);
});
