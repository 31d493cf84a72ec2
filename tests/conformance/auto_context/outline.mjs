// Lends the outline and the edits of the product to a test: a request a line, an answer a line.
import { createInterface } from "node:readline";
import { Outliner } from "../../../extension/src/generated/outline.ts";
import { applied, skeletonOf } from "../../../extension/src/markers.ts";

for await (const line of createInterface({ input: process.stdin })) {
  const { payload, edits } = JSON.parse(line);
  const found = new Outliner().outline(payload);
  const answer = edits ? applied(payload, found, edits) : found ? { ...skeletonOf(found), paths: found.blocks.map(({ path }) => path) } : null;
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
