#!/usr/bin/env node
// Stands in for a retrieval server in the tests: auggie's tool, its schema and its commands, and its bad days.
//
//   server.mjs account status                    as auggie's
//   server.mjs --mcp --workspace-root DIR …      as auggie's
//   server.mjs BEHAVIOUR [LOG]                   any other server
//
// How it behaves stands in AUGMENT_TEST_BEHAVIOUR, or is the first argument; several are separated by commas and
// one is used up by each life of the server. What it is asked is written down, a line of JSON each, in
// AUGMENT_TEST_LOG or LOG.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const words = process.argv.slice(2);
const asAuggie = ["account", "--mcp"].includes(words[0]);
const behaviours = ((asAuggie ? process.env.AUGMENT_TEST_BEHAVIOUR : words[0]) ?? "answers").split(",");
const log = asAuggie ? process.env.AUGMENT_TEST_LOG : words[1];

function note(what) {
  if (log) appendFileSync(log, JSON.stringify(what) + "\n");
}

if (words[0] === "account") {
  note({ account: words, environment: Object.keys(process.env).sort() });
  if (behaviours.includes("hangs-at-account")) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
  } else if (behaviours.includes("not-logged-in")) {
    process.stderr.write("You are not currently logged in to Augment.\n   Run 'auggie login' to authenticate first. token=verysecretvalue\n");
    process.exit(1);
  } else {
    process.stdout.write("logged in\n");
    process.exit(0);
  }
} else {
  serve();
}

function behaviourOfThisLife() {
  if (!log || behaviours.length === 1) return behaviours[0];
  const counter = log + ".lives";
  const lives = existsSync(counter) ? Number(readFileSync(counter, "utf8")) : 0;
  writeFileSync(counter, String(lives + 1));
  return behaviours[Math.min(lives, behaviours.length - 1)];
}

function serve() {
  const behaviour = behaviourOfThisLife();
  note({ started: words, environment: Object.keys(process.env).sort(), pid: process.pid, behaviour });
  process.stderr.write("🔧 Starting…\n");
  if (behaviour === "ends-at-once") {
    process.stderr.write("❌ No auth provided. token=verysecretvalue\n");
    process.exit(1);
  }
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => receive(JSON.parse(line), behaviour));
  lines.on("close", () => {
    note({ closed: true });
    if (!behaviour.startsWith("silent")) process.exit(0);
    setInterval(() => {}, 1000);
  });
}

function receive(message, behaviour) {
  note(message);
  const answer = (result) => send({ jsonrpc: "2.0", id: message.id, result });
  const refuse = (code, text) => send({ jsonrpc: "2.0", id: message.id, error: { code, message: text } });
  if (behaviour === "silent-handshake") return;
  if (message.method === "initialize") {
    return answer({
      protocolVersion: message.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "auggie-mcp-tool-server", version: "1.0.0" },
    });
  }
  if (message.method === "tools/list") {
    if (behaviour === "pages-without-end") return answer({ tools: [], nextCursor: "on" });
    return answer({ tools: behaviour === "several-tools" ? severalTools : [retrieval] });
  }
  if (message.method === "tools/call") return call(message, behaviour, answer);
  if (message.id !== undefined) refuse(-32601, "Method not found");
}

function call(message, behaviour, answer) {
  const question = message.params.arguments.information_request;
  const text = (said) => ({ content: [{ type: "text", text: said }] });
  switch (behaviour) {
    case "silent-call":
      return;
    case "silent-first-call":
      if (!receive.asked) receive.asked = true;
      else answer(text(`about ${question}`));
      return;
    case "large":
      return answer(text("x".repeat(20 * 1024 * 1024)));
    case "roomy":
      return answer(text("src/supervisor.rs: " + "restart ".repeat(60_000)));
    case "dies":
      process.stderr.write("fatal: index corrupt, token=verysecretvalue\n");
      process.exit(3);
      return;
    case "fails":
      return answer({ ...text("no index yet"), isError: true });
    default:
      return answer(text(`The following code sections were retrieved:\nPath: src/supervisor.rs\nabout ${question}`));
  }
}

const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");

const asking = (name, ...required) => ({
  name,
  description: name,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(required.map((one) => [one, { type: "string" }])),
    required,
  },
});

const retrieval = asking("codebase-retrieval", "information_request");
const severalTools = [asking("open", "path"), asking("close", "path")];
