// Lends the outline and the edits of the product to a test: a request a line, an answer a line.
import { createInterface } from "node:readline";
import { Outliner, edited } from "../../../actors/src/runners/pi/outline.ts";

for await (const line of createInterface({ input: process.stdin })) {
  const { payload, edits } = JSON.parse(line);
  const answer = edits ? edited(payload, edits) : (new Outliner().outline(payload) ?? null);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
