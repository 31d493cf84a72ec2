// Cases that were recorded from peers, and the text that stands for long texts in them (see the conformance tests of the
// runtime, which replay the rest).

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Case {
  case: string;
  input: Record<string, unknown>;
  output: unknown;
  peer_defect?: string;
}

const OWN = fileURLToPath(new URL("../../tests/vectors", import.meta.url));

/** Every case of a function of pi-blackbytes, from `tests/vectors` or where `IMPRESARIO_VECTORS` says. */
export function cases(name: string): Case[] {
  const root = process.env["IMPRESARIO_VECTORS"] || OWN;
  const files = filesBelow(root).filter((file) => file.endsWith(`/${name}.jsonl`) && file.includes("blackbytes"));
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean));
  return lines.map((line) => {
    const { input, output, ...rest } = JSON.parse(line) as Case;
    return { ...rest, input: meant(input) as Case["input"], output: meant(output) };
  });
}

function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** What a short form stands for. */
function meant(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meant);
  if (typeof value !== "object" || value === null) return value;
  const { $rep, $cat, $lines, $utf16 } = value as { $rep?: [string, number]; $cat?: unknown[]; $lines?: [string, number]; $utf16?: string };
  if ($rep) return $rep[0].repeat($rep[1]);
  if ($cat) return $cat.map(meant).join("");
  if ($lines) return Array.from({ length: $lines[1] }, (_, index) => $lines[0].replaceAll("{i}", String(index + 1))).join("\n");
  if ($utf16 !== undefined) return String.fromCharCode(...($utf16.match(/.{4}/g) ?? []).map((unit) => Number.parseInt(unit, 16)));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, meant(inner)]));
}
