// Plain JavaScript implementations of the rules the router's policies follow, for comparison only.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

// ---- the answer

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
  const truncated = cap > 0 && out.length > cap;
  if (truncated) {
    const mark = `\n\n[…final output truncated by output sanitizer at ${cap} chars]`;
    out = out.slice(0, Math.max(0, cap - mark.length)) + mark;
  }
  return { text: out, removed, truncated, originalChars: text.length, finalChars: out.length };
}

const sanitizedInWords = (s) => `${s.removed} ${s.truncated} ${s.originalChars} ${s.finalChars} ${s.text}`;

// ---- the chat

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
  return chosen;
}

const asChat = (messages) => messages.map((m) => `[${m.role}] ${m.content}\n`).join("");

// ---- large results

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

function keep(store, result, settings) {
  const bytes = Buffer.byteLength(result, "utf8");
  if (!settings.enabled || store.size >= settings.maxEntries || bytes > settings.maxBytes) return null;
  const id = `overflow_${store.size + 1}`;
  const mark = "\n... <middle omitted> ...\n";
  const { head, tail } = settings;
  const cut = result.length > head + tail + mark.length;
  const preview = cut ? result.slice(0, head) + mark + result.slice(result.length - tail) : result;
  let text = `This result is ${grouped(bytes)} bytes, too large to show whole. It is kept as ${id}.\n\n${preview}`;
  if (!text.endsWith("\n")) text += "\n";
  text += cut ? `\n${grouped(result.length - head - tail)} characters are not shown. ` : "\n";
  text += `Read on with overflow_read {"id": "${id}", "offset": 0}, find a place with overflow_search {"id": "${id}", ` +
    `"query": "…"}, or ask again more narrowly.`;
  return text;
}

function review(server, tool, result, ceilings) {
  const ceiling = ceilings.find((c) => (!c.server || c.server === server) && (!c.tool || c.tool === tool));
  return !ceiling || Buffer.byteLength(result, "utf8") <= ceiling.bytes;
}

// ---- secrets

const S = "\\s*";
const ASSIGNED = `${S}[:=]${S}\\S+`;
const isToken = (t) => t.length >= 20 || (t.length >= 6 && /[0-9]/.test(t));
const isCredentials = (t) => /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(t, "base64").toString("latin1"));
const all = () => "[REDACTED]";
const value = (whole, secret) => whole.replace(secret, () => "[REDACTED]");
const REDACTIONS = [
  [/Bearer\s+[A-Za-z0-9._~+/-]+=*/g, all],
  [new RegExp(`api[-_]?key${ASSIGNED}`, "gi"), all],
  [new RegExp(`secret${ASSIGNED}`, "gi"), all],
  [new RegExp(`token${ASSIGNED}`, "gi"), all],
  [/sk-[A-Za-z0-9._-]{20,}/g, all],
  [/[0-9a-f]{40,}/gi, all],
  [/"[\w.-]*(?:api[-_ ]?key|secret|token|passw(?:or)?d|authorization|credentials?|private[-_]?key|access[-_]?key)[\w.-]*"\s*:\s*"((?:[^"\\]|\\.)+)"/gi, value],
  [new RegExp(`api key${ASSIGNED}`, "gi"), all],
  [new RegExp(`(?:passw(?:or)?d|passphrase|pwd)${ASSIGNED}`, "gi"), all],
  [new RegExp(`(?:secret|private|access)[-_](?:access[-_])?key${ASSIGNED}`, "gi"), all],
  [/bearer\s+([A-Za-z0-9._~+/-]+=*)/gi, (whole, secret) => isToken(secret) ? "[REDACTED]" : whole],
  [/basic\s+([A-Za-z0-9+/]{6,}={0,2})/gi, (whole, secret) => isCredentials(secret) ? "[REDACTED]" : whole],
  [/eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, all],
  [/\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g, all],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{20,}/g, all],
  [/\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{35}|\bnpm_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30,}/g, all],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g, all],
  [/[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/g, value],
];

const redact = (text) => REDACTIONS.reduce((out, [pattern, replace]) => out.replace(pattern, replace), text);
const redactAsThePeer = (text) => REDACTIONS.slice(0, 6).reduce((out, [pattern]) => out.replace(pattern, "[REDACTED]"), text);

// ---- models

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

const TIERS = ["cheap", "balanced", "frontier"];
const atLeast = (tier, least) => TIERS.indexOf(tier) < TIERS.indexOf(least) ? least : tier;
const ORDER = { cheap: TIERS, balanced: ["balanced", "frontier", "cheap"], frontier: ["frontier", "balanced", "cheap"] };

function chooseModel(skillModel, given, passed, settings) {
  const minimum = passed ? null : "balanced";
  const route = minimum ? { ...given, tier: atLeast(given.tier, minimum) } : given;
  const map = (name) => mapModel(name, settings.defaultProvider, settings.allowed);
  if (!settings.enabled) {
    return { model: map(skillModel), tier: "balanced", reason: `Adaptive routing disabled; using ${skillModel ? "SKILL.md" : "default"} model.` };
  }
  if (settings.policy === "pin" && skillModel?.trim()) {
    return { model: map(skillModel), tier: "balanced", reason: "skillModelPolicy=pin; SKILL.md model honoured." };
  }
  let wanted = route.tier;
  if (settings.preference === "preferCheap" && wanted === "balanced" && route.complexity === "medium" &&
    ["read_only", "small_edit"].includes(route.risk) && route.confidence >= 0.7) wanted = "cheap";
  if (settings.preference === "preferBest") {
    if (route.risk === "unknown") wanted = "frontier";
    else if (route.risk !== "read_only") wanted = atLeast(wanted, "balanced");
  }
  if (route.risk === "architecture_change") wanted = "frontier";
  else if (route.risk === "multi_file_edit") wanted = atLeast(wanted, "balanced");
  else if (route.risk === "unknown" && route.confidence < 0.5) wanted = atLeast(wanted, "balanced");
  if (minimum) wanted = atLeast(wanted, minimum);
  for (const tier of ORDER[wanted]) {
    const name = settings.models[tier];
    if (!name?.trim() || (minimum && TIERS.indexOf(tier) < TIERS.indexOf(minimum))) continue;
    let model;
    try { model = map(name); } catch { continue; }
    let reason = `route ${route.tier} (complexity=${route.complexity}, risk=${route.risk}, confidence=${route.confidence.toFixed(2)})`;
    if (wanted !== route.tier) reason += `; adjusted to ${wanted} via preference/safety floors`;
    if (tier !== wanted) reason += `; pool fallback resolved ${tier}`;
    return { model, tier, reason };
  }
  return { model: map(minimum ? undefined : skillModel), tier: minimum ?? "balanced", reason: "" };
}

// ---- traces

function preview(result, max) {
  return result.length > max ? `${result.slice(0, max)}\n[...truncated, ${result.length} total chars]` : result;
}

function redactedArgs(value) {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map(redactedArgs);
  if (value === null || typeof value !== "object") return value;
  const out = {};
  for (const [key, item] of Object.entries(value)) {
    const line = `"${key}":"x"`;
    out[key] = typeof item === "string" && redact(line) !== line ? "[REDACTED]" : redactedArgs(item);
  }
  return out;
}

function record(args, result) {
  const kept = redactedArgs(args);
  if (Buffer.byteLength(JSON.stringify(kept)) > 16384) throw new Error("too large for this comparison");
  return { index: 0, serverName: "auggie", toolName: "codebase-retrieval", args: kept,
    resultPreview: redact(preview(result, 2000)), blocked: false, timestamp: 1746960622000 };
}

const DENIALS = new Set(["no", "0", "zero", "without", "any", "not", "never", "nothing", "none"]);

function speaksOf(text, marker) {
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
    const before = /([\p{L}\p{N}']*) $/u.exec(text.slice(0, at));
    if (!before || !DENIALS.has(before[1])) return true;
  }
  return false;
}

const isComplete = (trace) => trace.stoppedReason === "completed" && trace.finalText.trim() !== "";
const STOPS = { timeout: "timeout — sub-agent hit wall clock limit", inactivity: "inactivity — model stopped making tool calls",
  aborted: "aborted — execution was cancelled externally" };

function classify(trace) {
  const signals = [];
  if (STOPS[trace.stoppedReason]) signals.push(STOPS[trace.stoppedReason]);
  if (trace.finalText.trim() === "") signals.push("empty output — no text produced");
  const start = trace.finalText.slice(0, 200).toLowerCase();
  const found = ["error", "failed", "exception"].filter((marker) => speaksOf(start, marker));
  if (found.length > 0) signals.push(`error markers in output (${found.join(", ")})`);
  if (trace.toolCalls.length > 20) signals.push(`high tool-call count (${trace.toolCalls.length} calls, threshold 20)`);
  const { confidence, reason } = trace.route;
  if (confidence < 0.5 && !(confidence === 0 && reason === "Routing metadata unavailable; using balanced default.")) {
    signals.push(`low route confidence (${confidence.toFixed(2)}, threshold 0.5)`);
  }
  if (signals.length > 0) return { outcome: "likely-failure", signals, confidence: [0.6, 0.75, 0.9][Math.min(signals.length, 3) - 1] };
  return isComplete(trace) ? { outcome: "success", signals, confidence: 0.9 } : { outcome: "unknown", signals, confidence: 0.3 };
}

function regression(verdict, current, older, window) {
  if (verdict.outcome !== "likely-failure") return verdict;
  const seen = older.slice(0, window);
  if (!seen.some(isComplete)) return verdict;
  const inARow = [current, ...seen].findIndex(isComplete);
  const failures = inARow < 0 ? seen.length + 1 : inARow;
  if (failures < 3) return verdict;
  return { outcome: "likely-regression", confidence: Math.min(1, verdict.confidence + 0.1),
    signals: [...verdict.signals, `regression — ${failures} consecutive failures after previous success`] };
}

const EMOJI = { success: "✅", "likely-failure": "⚠️", "likely-regression": "📉", unknown: "❓" };
const LABEL = { success: "Success", "likely-failure": "Likely fail", "likely-regression": "Regression", unknown: "Unknown" };
const prefixOf = (signal) => /^(.+?)(?: —|\s\(|$)/s.exec(signal)[1];
const percent = (part, total) => Math.round((part / total) * 100);

function duration(trace) {
  const calls = trace.toolCalls;
  const ms = trace.impresario ? trace.timestamp - trace.impresario.startedAt
    : calls.length === 0 ? 0 : calls[calls.length - 1].timestamp - calls[0].timestamp;
  if (ms < 1000) return "<1s";
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function report(skill, traces, max, inline, trend, window) {
  const shownTraces = traces.slice(0, max);
  const verdicts = shownTraces.map((trace, at) => regression(classify(trace), trace, traces.slice(at + 1), window));
  const total = verdicts.length;
  const lines = [`📊 Trace Report: skill "${skill}" (last ${grouped(total)} run${total === 1 ? "" : "s"})`, ""];
  for (const outcome of Object.keys(EMOJI)) {
    const count = verdicts.filter((v) => v.outcome === outcome).length;
    if (count === 0) continue;
    const filled = Math.min(10, Math.round((count / total) * 10));
    lines.push(`  ${EMOJI[outcome]} ${LABEL[outcome].padEnd(12)} ${"█".repeat(filled)}${"░".repeat(10 - filled)}  ${count}/${total}  (${percent(count, total)}%)`);
  }
  lines.push("");
  const counts = new Map();
  for (const { outcome, signals } of verdicts) {
    if (outcome !== "success") for (const signal of signals) counts.set(prefixOf(signal), (counts.get(prefixOf(signal)) ?? 0) + 1);
  }
  if (counts.size > 0) {
    lines.push("  Common failure signals:");
    for (const [signal, count] of [...counts].sort((a, b) => b[1] - a[1])) lines.push(`    • ${signal} (${count}x)`);
    lines.push("");
  }
  const w = Math.min(trend, total);
  if (w >= 2 && total > w) {
    const rate = (part) => percent(part.filter((v) => v.outcome === "success").length, part.length);
    const [recent, older] = [rate(verdicts.slice(0, w)), rate(verdicts.slice(w, 2 * w))];
    lines.push(`  Trend: success rate ${older}% → ${recent}% ${recent < older ? "↓" : recent > older ? "↑" : "→"} over last ${w} runs.`, "");
  }
  const shown = Math.min(inline, total);
  lines.push(shown < total ? `  Recent traces (showing ${shown} of ${total}):` : "  Recent traces:");
  for (let at = 0; at < shown; at++) {
    const trace = shownTraces[at];
    const end = trace.stoppedReason === "completed" ? duration(trace) : trace.stoppedReason;
    lines.push(`    ${trace.skillName}_${trace.timestamp}.json  ${EMOJI[verdicts[at].outcome]}  ${trace.toolCalls.length} calls  ${end}`);
  }
  return lines.join("\n");
}

function load(directory, skill) {
  const names = readdirSync(directory).filter((name) => name.startsWith(`${skill}_`) && name.endsWith(".json"));
  const timed = names.map((name) => [Number(name.slice(skill.length + 1, -5)), name]).sort((a, b) => b[0] - a[0]);
  const traces = [];
  for (const [, name] of timed) {
    try {
      const trace = JSON.parse(readFileSync(join(directory, name), "utf8"));
      if (typeof trace.skillName === "string" && Array.isArray(trace.toolCalls)) traces.push(trace);
    } catch { /* no trace */ }
  }
  return traces;
}

function offset(ms) {
  if (ms < 1000) return "0s";
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, "0")}s`;
}

const TELLING = [["query", "query"], ["q", "query"], ["path", "path"], ["command", "command"], ["message", "message"],
  ["prompt", "prompt"], ["instruction", "instruction"]];
const dots = (text, limit, kept) => text.length > limit ? `${text.slice(0, kept)}...` : text;

function argsText(args, limit) {
  for (const [key, shown] of TELLING) {
    if (typeof args[key] === "string") return `${shown}="${dots(args[key], limit, limit - 3)}"`;
  }
  const [first] = Object.entries(args);
  if (!first) return "";
  const room = limit - first[0].length;
  return `${first[0]}="${dots(String(first[1]), room - 4, Math.max(10, room - 7))}"`;
}

function sizeOf(call) {
  if (call.blocked) return "⛔ blocked";
  const cut = /\[\.\.\.truncated,\s*(\d+)\s+total chars\]/.exec(call.resultPreview);
  return cut ? `${grouped(Number(cut[1]))} chars  (preview)` : `${grouped(call.resultPreview.length)} chars`;
}

function view(file, trace, verdict) {
  const { tier, complexity, risk, confidence } = trace.route;
  const prefixes = verdict.signals.length > 0 ? ` (${verdict.signals.map(prefixOf).join(", ")})` : "";
  const lines = [
    `🔍 Trace: ${file}`,
    `   Model: ${trace.model}  |  Route: ${tier}, ${complexity} complexity`,
    `   Outcome: ${EMOJI[verdict.outcome]} ${verdict.outcome}${prefixes}`,
    `   Duration: ${duration(trace)}  |  Tool calls: ${trace.toolCalls.length}`,
    `   Confidence: ${(confidence * 100).toFixed(0)}%  |  Risk: ${risk}`,
  ];
  if (verdict.signals.length > 0) lines.push("   Signals:", ...verdict.signals.map((signal) => `     • ${signal}`));
  lines.push("");
  const calls = trace.toolCalls;
  if (calls.length === 0) lines.push("   Timeline: (no tool calls)");
  else {
    lines.push("   Timeline:");
    const shown = calls.length > 30 ? [...calls.slice(0, 15), ...calls.slice(-15)] : calls;
    let previous = null;
    for (const call of shown) {
      const omitted = previous === null ? 0 : call.index - previous - 1;
      if (omitted > 0) lines.push(`   ... (${omitted} calls omitted) ...`);
      previous = call.index;
      lines.push(`   [${offset(call.timestamp - calls[0].timestamp)}]  ${call.serverName} / ${call.toolName}  ${argsText(call.args, 80)}  → ${sizeOf(call)}`);
    }
    const stop = { timeout: "⏰ timeout", inactivity: "💤 inactivity", aborted: "🛑 aborted" }[trace.stoppedReason];
    if (stop) lines.push(`   ${stop}`);
  }
  lines.push("");
  const text = trace.finalText;
  if (text.trim() === "") lines.push("   Final text: (empty)");
  else if (text.length > 200) lines.push(`   Final text: ${text.slice(0, 200)}... (${grouped(text.length)} chars total)`);
  else lines.push("   Final text:", ...text.split("\n").map((line) => `     ${line}`));
  return lines.join("\n");
}

// ---- actor and judge

const TAGS = ["name", "instructions", "task", "chat", "clarifications", "rejected-brief", "verdict", "brief"];
const TAG = new RegExp(`<(/?(?:${TAGS.join("|")}))>`, "g");
const section = (tag, content) => `<${tag}>\n${content.trim().replace(TAG, "< $1>")}\n</${tag}>\n\n`;
const chatText = (chat) => chat.map((m) =>
  `[${m.role}] ${m.content.length > 10000 ? m.content.slice(0, 10000) + "\n[...truncated]" : m.content}\n`).join("");

function material(facts) {
  return section("name", facts.name) + section("instructions", facts.instructions.slice(0, 60000)) +
    section("task", facts.task.slice(0, 60000)) + section("chat", chatText(facts.chat));
}

function parseReply(reply) {
  if (Buffer.byteLength(reply) > 262144) return undefined;
  let text = reply.trim();
  if (text.startsWith("```")) text = text.replace(/^```(?:json)?\s*/i, "").replace(/```$/, "").trim();
  try { return JSON.parse(text); } catch { return undefined; }
}

const textOf = (value) => typeof value === "string" ? value : "";
const oneOf = (words, value, otherwise) => words.includes(value) ? value : otherwise;

function readBrief(reply) {
  const value = parseReply(reply) ?? {};
  return { userGoal: textOf(value.userGoal), constraints: (Array.isArray(value.constraints) ? value.constraints : [])
    .filter((c) => typeof c === "string"), knownContext: textOf(value.knownContext), userClarifications: [] };
}

function readVerdict(reply) {
  const value = parseReply(reply) ?? {};
  const route = value.executionRoute ?? {};
  const question = textOf(value.missingRequirementQuestion).trim();
  return {
    hasUserGoal: value.hasUserGoal === true, hasRequiredInputs: value.hasRequiredInputs === true,
    hasScopeBoundary: value.hasScopeBoundary === true, isUnambiguous: value.isUnambiguous === true,
    missingRequirementQuestion: question === "" ? null : question,
    executionRoute: {
      tier: oneOf(TIERS, route.tier, "balanced"), complexity: oneOf(["low", "medium", "high"], route.complexity, "medium"),
      risk: oneOf(["read_only", "small_edit", "multi_file_edit", "architecture_change"], route.risk, "unknown"),
      confidence: Number.isFinite(route.confidence) ? Math.min(1, Math.max(0, route.confidence)) : 0,
      reason: textOf(route.reason).trim().slice(0, 500),
    },
  };
}

function judgeLoop(inputs, chat) {
  const facts = { name: inputs.skill, instructions: inputs.instructions, task: inputs.task, chat };
  const first = { system: inputs.briefSystem, user: material(facts) + "Write the brief as one JSON object." };
  const brief = readBrief(inputs.briefReply);
  const second = { system: inputs.judgeSystem, user: material(facts) + section("brief", JSON.stringify(brief, null, 2)) +
    "Judge the brief. Reply with one JSON object." };
  const v = readVerdict(inputs.verdictReply);
  return { first, second, settled: v.hasUserGoal && v.hasRequiredInputs && v.hasScopeBoundary && v.isUnambiguous };
}

// ---- the rows

const same = (text) => text;
const row = (run, show = same) => ({ run, show });

export function rowsOf(inputs) {
  const { chat } = inputs;
  const newest = chat.slice(-20);
  const args = JSON.parse(inputs.args);
  const traces = inputs.traces.map((text) => JSON.parse(text));
  const verdict = classify(traces[1]);
  const ceilings = [{ server: "auggie", tool: "codebase-retrieval", bytes: 25000 }];
  const store = { enabled: true, maxEntries: 8, maxBytes: 2000000, head: 4000, tail: 4000 };
  const route = { tier: "cheap", complexity: "medium", risk: "multi_file_edit", confidence: 0.85, reason: "Several files change together." };
  const routing = { enabled: true, preference: "balanced", policy: "ignore", defaultProvider: "openrouter", allowed: [],
    models: { cheap: "anthropic/claude-3-5-haiku", balanced: "anthropic/claude-3-5-sonnet", frontier: "anthropic/claude-3-7-sonnet" } };
  const sanitizing = (text, cap) => row(() => sanitize(text, cap), sanitizedInWords);
  return {
    "sanitize 120k clean": sanitizing(inputs.clean, 0),
    "sanitize 120k, 150 traces": sanitizing(inputs.traced, 0),
    "sanitize 130k cut at 120k": sanitizing(inputs.long, 120000),
    "sanitize 20000 blank lines": sanitizing(inputs.blankLines, 0),
    "sanitize 8000 unclosed fences": sanitizing(inputs.fences, 0),
    "history 200 recent, cap 60k": row(() => history(chat, "recent", 2, 12, 10000, 60000), asChat),
    "history 200 headTail 2/12": row(() => history(chat, "headTail", 2, 12, 10000, 60000), asChat),
    "history 200 headTail 2/180, cap 60k": row(() => history(chat, "headTail", 2, 180, 10000, 60000), asChat),
    "overflow keep 1 MB ASCII": row(() => keep(new Map(), inputs.ascii, store)),
    "overflow keep 1 MB CJK": row(() => keep(new Map(), inputs.cjk, store)),
    "overflow review, 18 kB passes": row(() => review("auggie", "codebase-retrieval", inputs.underCeiling, ceilings), String),
    "trace record, 25 kB result": row(() => record(args, inputs.result), (call) => `${JSON.stringify(call.args)} ${call.resultPreview}`),
    "reports 20 traces": row(() => report(inputs.skill, traces, 20, 5, 10, 10)),
    "report 20 traces with loading": row(() => report(inputs.skill, load(inputs.traceDirectory, inputs.skill), 20, 5, 10, 10)),
    "trace view, 20 calls": row(() => view("trace.json", traces[1], verdict)),
    "classify trace": row(() => classify(traces[1]), (v) => `${v.outcome} ${v.confidence} ${v.signals.join("; ")}`),
    "choose execution model": row(() => chooseModel(undefined, route, true, routing), (d) => `${d.model} ${d.reason}`),
    "map model": row(() => mapModel("claude", "openrouter/", [])),
    "redact 64 kB": row(() => redact(inputs.secrets)),
    "redact 64 kB, six patterns": row(() => redactAsThePeer(inputs.secrets)),
    "judge loop, 1 pass": row(() => judgeLoop(inputs, newest),
      (j) => `${j.first.system}${j.first.user}${j.second.system}${j.second.user}${j.settled}`),
  };
}
