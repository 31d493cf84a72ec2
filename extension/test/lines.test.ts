import assert from "node:assert/strict";
import { test } from "node:test";
import { LineSplitter } from "../src/lines.ts";

function split(input: Buffer, bite: number, bytesMax: number): string[] {
  const seen: string[] = [];
  const splitter = new LineSplitter({ line: (text) => seen.push(text), tooLong: (bytes) => seen.push(`<${bytes}>`) }, bytesMax);
  for (let at = 0; at < input.length; at += bite) splitter.push(input.subarray(at, at + bite));
  return seen;
}

test("only LF ends a line, however the bytes arrive", () => {
  const input = Buffer.from("one\r\ntwo\u2028still two\u0085 é\n\nthree\nhalf");
  for (let bite = 1; bite <= input.length; bite += 1) {
    assert.deepEqual(split(input, bite, 100), ["one\r", "two\u2028still two\u0085 é", "", "three"]);
  }
});

test("a line above the limit is thrown away alone", () => {
  const input = Buffer.from("12345\n123456\nok\n12345678901234567890\nfine\n");
  for (let bite = 1; bite <= input.length; bite += 1) {
    assert.deepEqual(split(input, bite, 5), ["12345", "<6>", "ok", "<20>", "fine"]);
  }
});
