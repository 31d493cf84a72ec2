import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findBinary } from "../src/binary.ts";
import type { Connection } from "../src/connection.ts";
import { RestartLimiter } from "../src/restarts.ts";
import { RuntimeProcess } from "../src/runtime-process.ts";
import type { RuntimeListener } from "../src/runtime-process.ts";

const FAKE = fileURLToPath(new URL("fake-runtime.mjs", import.meta.url));
const limits = { restartsMax: 2, periodMs: 60_000, waitMsFirst: 1, waitMsMax: 1 };
const directory = mkdtempSync(join(tmpdir(), "impresario-extension-"));
after(() => rmSync(directory, { recursive: true, force: true }));

interface Watched {
  runtime: RuntimeProcess;
  connected: boolean[];
  lost: string[];
}

function start(environment: Record<string, string>, path: string | null = FAKE): Watched {
  Object.assign(process.env, { FAKE_MODE: "", FAKE_LOG: "", FAKE_STATE: "", ...environment });
  const connected: boolean[] = [];
  const lost: string[] = [];
  const listener = {
    requests: { "delivery.offer": () => ({ receipt: "kept" }) },
    notifications: {},
    connected: (_connection: Connection, again: boolean) => connected.push(again),
    lost: (sentence: string) => lost.push(sentence),
  } as unknown as RuntimeListener;
  const runtime = new RuntimeProcess(listener, { find: () => ({ path: path ?? undefined, looked: ["here", "there"] }), limiter: new RestartLimiter(limits) });
  runtime.start();
  return { runtime, connected, lost };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never: ${what}`);
}

test("a runtime is started, greeted, and ends when its input does", async () => {
  const log = join(directory, "ends.log");
  const { runtime, connected, lost } = start({ FAKE_LOG: log });
  const connection = await runtime.ready(5000);
  const outcome = await connection?.ask("completions", { session: "s", listed: [] }, { holds: true });
  assert.ok(outcome?.ok && outcome.result.skills[0]?.name === "demo");
  runtime.stop();
  await until("the runtime ended by itself", () => existsSync(log) && readFileSync(log, "utf8").includes('"ended":true'));
  assert.deepEqual([connected, lost, runtime.connection], [[false], [], undefined]);
});

test("a runtime that is killed is started again, and one notice says so", async () => {
  const { runtime, connected, lost } = start({ FAKE_STATE: join(directory, "killed.json") });
  const connection = await runtime.ready(5000);
  const accepted = await connection?.ask("skill.run", { session: "s", request: "r", name: "crash", agent: false, context: null, task: "", hosts_form: false, listed: [], delegated: false, isolated: false }, { holds: true });
  assert.ok(accepted?.ok);
  await until("the runtime is back", () => connected.length === 2);
  assert.deepEqual(connected, [false, true]);
  assert.equal(lost.length, 1);
  assert.match(lost[0] ?? "", /ended by SIGKILL.*started again/);
  runtime.stop();
});

test("a runtime that dies again and again is given up, and starts when it is asked for anew", async () => {
  const { runtime, lost } = start({ FAKE_MODE: "dies-at-once" });
  await until("it is off", () => runtime.offBecause !== undefined);
  assert.equal(await runtime.ready(50), undefined);
  assert.equal(lost.length, 2);
  assert.match(lost[1] ?? "", /again and again \(it exited with code 3\)/);
  runtime.startIfIdle();
  assert.notEqual(runtime.offBecause, undefined);
  process.env["FAKE_MODE"] = "";
  runtime.start();
  assert.ok(await runtime.ready(5000));
  runtime.stop();
});

test("a program that is not there is said once, with the places that were looked at", async () => {
  const { runtime, lost } = start({}, null);
  assert.equal(await runtime.ready(50), undefined);
  assert.deepEqual(lost, ["Impresario is off: its program was not found (looked at: here, there). Build it in a checkout of impresario (cargo build --release) or install it (cargo install --path .), or set IMPRESARIO_BINARY to its path; then /reload."]);
});

test("a file that cannot be executed is no program", () => {
  const found = findBinary({ IMPRESARIO_BINARY: fileURLToPath(import.meta.url) });
  assert.equal(found.path, undefined);
  assert.equal(found.looked.length, 1);
});

test("the setting comes first, the PATH last", () => {
  assert.equal(findBinary({ IMPRESARIO_BINARY: FAKE, PATH: "" }).path, FAKE);
  assert.equal(findBinary({ PATH: "" }, "file:///nowhere/extension/src/binary.ts").path, undefined);
});
