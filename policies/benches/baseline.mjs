// Plain JavaScript implementations of the rules the router's policies follow, for comparison only.
import { readFileSync } from "node:fs";

const inputs = JSON.parse(readFileSync(process.argv[2], "utf8"));

const TRACES = new Set(["tool_use", "tool_result", "tool-use", "tool-result", "mcp", "mcp_envelope", "codebase-retrieval",
  "auggie", "scratchpad", "internal"]);

function sanitize(text, cap) {
  let removed = 0;
  let out = text.replace(/```([A-Za-z0-9_-]+)\r?\n([\s\S]*?)\r?\n```/g, (whole, label) => {
    if (!TRACES.has(label.toLowerCase())) return whole;
    removed++;
    return "";
  });
  out = out.replace(/^\s*\{"(?:jsonrpc|tool_use_id|tool_call_id)"[^\n]{0,4000}\}\s*$/gm, () => {
    removed++;
    return "";
  });
  if (removed > 0) out = out.replace(/\n{3,}/g, "\n\n").trim();
  if (cap > 0 && out.length > cap) {
    const mark = `\n\n[…final output truncated by output sanitizer at ${cap} chars]`;
    out = out.slice(0, Math.max(0, cap - mark.length)) + mark;
  }
  return out;
}

function history(messages, strategy, head, tail, each, total) {
  let chosen = messages;
  if (strategy === "headTail" && messages.length > head + tail) {
    const middle = messages.slice(head, messages.length - tail);
    const chars = middle.reduce((sum, m) => sum + m.content.length, 0);
    const marker = { role: "system", content: `[history-omitted-middle: ${middle.length} message(s), ~${chars} chars]` };
    chosen = [...messages.slice(0, head), marker, ...messages.slice(messages.length - tail)];
  }
  chosen = chosen.map((m) => m.content.length > each ? { ...m, content: m.content.slice(0, each) + "\n[...truncated]" } : m);
  const sum = (list) => list.reduce((n, m) => n + m.content.length, 0);
  if (sum(chosen) > total) {
    const marker = chosen.findIndex((m) => m.role === "system" && m.content.startsWith("[history-omitted-middle:"));
    if (marker >= 0) chosen.splice(marker, 1);
    while (sum(chosen) > total && chosen.length > 2) chosen.splice(Math.floor(chosen.length / 2), 1);
  }
  return `${chosen.length} ${chosen[chosen.length - 1].content}`;
}

const REDACTIONS = [/Bearer\s+[A-Za-z0-9\-._~+/]+=*/g, /api[-_]?key\s*[:=]\s*\S+/gi, /secret\s*[:=]\s*\S+/gi,
  /token\s*[:=]\s*\S+/gi, /sk-[A-Za-z0-9\-._]{20,}/g, /[0-9a-f]{40,}/gi];

function redact(text) {
  return REDACTIONS.reduce((out, pattern) => out.replace(pattern, "[REDACTED]"), text);
}

function mapModel(raw, provider, allowed) {
  const base = provider.trim().replace(/\/+$/, "");
  if (base === "") throw new Error("empty");
  const name = (raw ?? "").trim();
  const parts = name.split("/");
  const model = name === "" ? `${base}/anthropic/claude-3-5-sonnet` : parts.length >= 3 ? name
    : parts.length === 2 ? `${base}/${name}` : `${base}/anthropic/${name}`;
  if (allowed.length > 0 && !allowed.includes(model.split("/")[0])) throw new Error("disallowed");
  return model;
}

function preview(text, head, tail) {
  // Keeping a result also needs its size.
  if (Buffer.byteLength(text, "utf8") > 100_000_000) return "";
  const mark = "\n... <middle omitted> ...\n";
  return text.length <= head + tail + mark.length ? text : text.slice(0, head) + mark + text.slice(text.length - tail);
}

function median(run, samples) {
  const times = [];
  for (let i = 0; i < samples; i++) {
    const start = process.hrtime.bigint();
    run();
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  times.sort((a, b) => a - b);
  return times[samples >> 1];
}

function digest(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const rows = {
  "sanitize 120k clean": [() => sanitize(inputs.clean, 0), 101],
  "sanitize 120k 150 traces": [() => sanitize(inputs.traced, 0), 101],
  "sanitize 130k cut at 120k": [() => sanitize(inputs.long, 120000), 101],
  "sanitize 20000 blank lines": [() => sanitize(inputs.blankLines, 0), 3],
  "sanitize 8000 fences": [() => sanitize(inputs.fences, 0), 3],
  "history 200 recent 60k": [() => history(inputs.chat, "recent", 2, 12, 10000, 60000), 101],
  "history 200 headTail 2/12": [() => history(inputs.chat, "headTail", 2, 12, 10000, 60000), 101],
  "history 200 headTail 2/180": [() => history(inputs.chat, "headTail", 2, 180, 10000, 60000), 101],
  "redact 64k": [() => redact(inputs.secrets), 101],
  "map model": [() => mapModel("claude", "openrouter/", []), 1001],
  "preview 1 MB": [() => preview(inputs.megabyte, 4000, 4000), 101],
};

const out = {};
for (const [name, [run, samples]] of Object.entries(rows)) out[name] = [median(run, samples), digest(run())];
process.stdout.write(JSON.stringify(out));
