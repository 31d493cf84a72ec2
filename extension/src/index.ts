// Impresario in Pi. This file only registers: it forwards what happens, and applies what comes back. Hooks that Pi waits
// for answer with nothing when the runtime does not answer in time: Pi then goes on as if we were not there.

import { readFileSync } from "node:fs";
import type { ToolResultEvent, TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { registerCommands, runTyped } from "./commands.ts";
import { completeColonForm } from "./completion.ts";
import { contextLine } from "./context-status.ts";
import { registerGuidance } from "./guidance.ts";
import type { ToolResult } from "./guidance.ts";
import { HostSession, guarded } from "./host.ts";
import type { Context, Pi } from "./host.ts";
import { Impresario } from "./impresario.ts";
import type { Message } from "./seen.ts";

/** What Pi puts in place of a result. */
type ToolResultPatch = { content: ToolResultEvent["content"]; details?: object };

const SHARED = Symbol.for("impresario");

/** One for the process: Pi runs this factory again for each session. */
function shared(): Impresario {
  const holder = globalThis as { [SHARED]?: Impresario };
  holder[SHARED] ??= new Impresario({ extensionVersion: ownVersion() });
  return holder[SHARED];
}

function ownVersion(): string {
  return guarded(() => (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version, "0.0.0");
}

export default function impresario(pi: Pi): void {
  // A sub-agent of ours is driven by the runtime already.
  if (process.env["IMPRESARIO_RUN"]) return;
  const runtime = shared();
  const session = new HostSession(pi);
  registerCommands(pi, runtime, session);
  registerGuidance(pi, runtime, session);
  registerSession(pi, runtime, session);
  registerHooks(pi, runtime, session);
  runtime.observer.register(pi, (name, ctx) => {
    if (!runtime.isCurrent(session)) return false;
    session.enter(ctx as Context);
    if (name === "agent_start") runtime.promptLog.turnBegins(session);
    if (name === "agent_end") runtime.guidance.settled();
    if (name === "agent_end" || name === "agent_settled") runtime.anchors.settled(session, name);
    if (name === "session_compact") runtime.guidance.moved(session, "compacted");
    if (name === "session_tree") runtime.guidance.moved(session, "elsewhere");
    if (name === "agent_end" || name === "agent_settled" || name === "message_end") runtime.deliveries.look();
    return true;
  });
}

function registerSession(pi: Pi, runtime: Impresario, session: HostSession): void {
  // Pi may start a session twice.
  let completed = false;
  pi.on("session_start", (event, ctx) => {
    guarded(() => {
      session.enter(ctx);
      if (!completed) completeColonForm(session, () => runtime.skills());
      completed = true;
      runtime.begin(session, event.reason);
      runtime.guidance.moved(session, "begins");
    }, undefined);
  });
  pi.on("session_shutdown", (event) => {
    guarded(() => runtime.isCurrent(session) && runtime.guidance.moved(session, "ends"), undefined);
    guarded(() => runtime.anchors.ended(session), undefined);
    guarded(() => runtime.end(session, event.reason ?? "quit"), undefined);
  });
}

function registerHooks(pi: Pi, runtime: Impresario, session: HostSession): void {
  const awaited = <Event, Answer>(serve: (event: Event, ctx: Context) => Promise<Answer | undefined>) => waitedFor(runtime, session, serve);
  pi.on("input", awaited(async (event, ctx) => {
    if (event.source === "extension") return runtime.anchors.comesBack(session, event.text) ? { action: "handled" } : undefined;
    runtime.deliveries.personGoesOn();
    return (await runTyped(runtime, session, ctx, event.text)) ? { action: "handled" } : undefined;
  }));
  pi.on("before_agent_start", awaited(async (event) => {
    const taught = await runtime.delegation.teach(session, event);
    await runtime.wishes.prepare(session);
    await runtime.anchors.prepare(session, { last: true });
    await runtime.addedTools.prepare(session, { last: true });
    return taught;
  }));
  pi.on("session_before_tree", (event) => guarded(() => runtime.anchors.beforeTree(session, event.preparation), undefined));
  // Behind the one above, whose tools are Pi's by then.
  pi.on("before_agent_start", awaited((event) => runtime.capabilities.shape(session, event)));
  pi.on("turn_start", (_event, ctx) => {
    guarded(() => {
      if (!runtime.isCurrent(session)) return;
      session.enter(ctx);
      runtime.capabilities.saw(session);
    }, undefined);
  });
  pi.on("tool_result", awaited(async (event) => {
    runtime.capabilities.used(session, event.toolName, event.input);
    const result = event as unknown as ToolResult;
    const content = await runtime.addedTools.anchored(session, result);
    const behind = await runtime.guidance.behind(session, content ? { ...result, content } : result);
    return (behind ?? (content && { content })) as ToolResultPatch | undefined;
  }));
  pi.on("before_agent_start", awaited(async () => {
    const message = await contextLine(runtime, session);
    return message && { message };
  }));
  // Newer versions take entries of the session here, which the next request is made of.
  pi.on("turn_end", awaited(async (event) => (event.toolResults.length === 0 ? undefined : await turnEnded(runtime, session, event as TurnEnd))));
  pi.on("context", (event, ctx) => {
    try {
      if (!runtime.isCurrent(session)) return undefined;
      session.enter(ctx);
      const messages = runtime.truncation.applied(session, event.messages as unknown as Message[]);
      return messages && { messages: messages as unknown as typeof event.messages };
    } catch {
      return undefined;
    }
  });
  pi.on("before_provider_request", awaited(async (event) => {
    if (!runtime.runtime.connection) return undefined;
    guarded(() => runtime.promptLog.requestGoes(session, event.payload), undefined);
    return await runtime.placeMarkers(session, event.payload);
  }));
}

/**
 * What Pi waits for. Only the session that is open is served, no failure of ours reaches Pi, and Pi stays alive until there
 * is an answer: without a screen it would end with nothing said once nothing else is left to wait for.
 */
function waitedFor<Event, Answer>(runtime: Impresario, session: HostSession, serve: (event: Event, ctx: Context) => Promise<Answer | undefined>) {
  return async (event: Event, ctx: Context): Promise<Answer | undefined> => {
    if (!runtime.isCurrent(session)) return undefined;
    const release = runtime.runtime.hold();
    try {
      session.enter(ctx);
      return await serve(event, ctx);
    } catch {
      return undefined;
    } finally {
      release();
    }
  };
}

interface TurnEnd {
  message: { stopReason?: string };
  toolResults: Message[];
  /** What other extensions add; older versions take nothing here. */
  entries?: TurnEndEventResult["entries"];
}

/** Results that are stale now are left out; where none are, the model may be told how full its context is. */
async function turnEnded(runtime: Impresario, session: HostSession, event: TurnEnd): Promise<TurnEndEventResult | undefined> {
  const edits = await runtime.truncation.turnEnded(session, event.toolResults, event.entries !== undefined);
  if (edits.length > 0) return { entries: [...(event.entries ?? []), ...(edits as TurnEndEventResult["entries"] & object)] };
  // Older versions do not wait here: a message that comes too late would make them ask the model once more.
  if (event.message.stopReason !== "toolUse" || !event.entries) return undefined;
  const line = await contextLine(runtime, session);
  return line && { entries: [...event.entries, { type: "custom_message", ...line }] };
}
