// One model call for the runtime, with the user's own credentials. Keys never leave Pi.

import { Refusal, textOf } from "./connection.ts";
import { ERROR_CODES, HOST_MODEL } from "./generated/protocol.ts";
import type { ModelRequest, ModelReply, ModelError, ModelsCheck, ModelsChecked, ModelStanding, ModelMessage } from "./generated/protocol.ts";
import type { Context, HostSession } from "./host.ts";

type PiModel = NonNullable<Context["model"]>;

/** What both versions of Pi's model library share. */
interface Reply {
  content: { type: string; text?: string; id?: string; name?: string; arguments?: Record<string, unknown> }[];
  usage: { input: number; output: number; cacheRead: number; cacheWrite: number; cost?: { total?: number } };
  stopReason: string;
  errorMessage?: string;
}

export async function completeModel(session: HostSession, request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
  const ctx = session.read((found) => found, undefined);
  if (!ctx) throw failed({ failure: "unavailable", why: "no session is open" });
  const model = findModel(ctx, request.model);
  let reply: Reply;
  try {
    reply = await call(ctx, model, request, signal);
  } catch (error) {
    throw error instanceof Refusal ? error : failed(classify(textOf(error)));
  }
  if (reply.stopReason === "error" || reply.stopReason === "aborted") {
    throw failed(classify(reply.errorMessage ?? reply.stopReason));
  }
  return toWire(reply);
}

function findModel(ctx: Context, name: string): PiModel {
  const model = lookUp(ctx, name);
  if (model) return model;
  const why = name === HOST_MODEL ? "the session has no model; choose one with /model" : `Pi has no model ${name}`;
  throw failed({ failure: "unknown_model", why });
}

function lookUp(ctx: Context, name: string): PiModel | undefined {
  if (name === HOST_MODEL) return ctx.model;
  const slash = name.indexOf("/");
  return slash > 0 ? ctx.modelRegistry.find(name.slice(0, slash), name.slice(slash + 1)) : undefined;
}

/** Whether each model could be called, without calling it. */
export function checkModels(session: HostSession, { models }: ModelsCheck): ModelsChecked {
  const ctx = session.read((found) => found, undefined);
  if (!ctx) throw failed({ failure: "unavailable", why: "no session is open" });
  const standings = models.map((name): ModelStanding => {
    const model = lookUp(ctx, name);
    if (!model) return "unknown";
    return ctx.modelRegistry.hasConfiguredAuth(model) ? "ready" : "not_logged_in";
  });
  return { standings };
}

async function call(ctx: Context, model: PiModel, request: ModelRequest, signal: AbortSignal): Promise<Reply> {
  const context = { systemPrompt: request.system, messages: toMessages(request.messages, model), tools: request.tools };
  const options = {
    maxTokens: request.tokens_max,
    cacheRetention: "none",
    // The runtime tries again, after pauses that a person sees; an interrupted call must not begin anew either.
    maxRetries: 0,
    signal,
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
  };
  const registry = ctx.modelRegistry as unknown as {
    streamSimple?(model: PiModel, context: unknown, options: unknown): { result(): Promise<Reply> };
    getApiKeyAndHeaders?(model: PiModel): Promise<{ ok?: boolean; error?: string; apiKey?: string; headers?: Record<string, string> }>;
  };
  if (typeof registry.streamSimple === "function") return await registry.streamSimple(model, context, options).result();
  // Before Pi 0.86: the credentials are asked for, and its model library is called with them.
  const credentials = await registry.getApiKeyAndHeaders?.(model);
  if (!credentials || credentials.ok === false) {
    throw failed({ failure: "authentication", why: credentials?.error ?? `nobody is logged in for ${model.provider}` });
  }
  const library = "@earendil-works/pi-ai";
  const { completeSimple } = (await import(library)) as { completeSimple(model: PiModel, context: unknown, options: unknown): Promise<Reply> };
  return await completeSimple(model, context, { ...options, apiKey: credentials.apiKey, headers: credentials.headers });
}

function toMessages(messages: ModelMessage[], model: PiModel): unknown[] {
  const toolOf = new Map(messages.flatMap((message) => message.tool_calls).map((made) => [made.id, made.tool]));
  return messages.map((message) => {
    const timestamp = Date.now();
    const text = [{ type: "text", text: message.text }];
    if (message.role === "user") return { role: "user", content: text, timestamp };
    if (message.role === "tool") {
      const toolCallId = message.answers_call ?? "";
      return { role: "toolResult", toolCallId, toolName: toolOf.get(toolCallId) ?? "", content: text, isError: false, timestamp };
    }
    const calls = message.tool_calls.map((made) => ({ type: "toolCall", id: made.id, name: made.tool, arguments: made.arguments }));
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
    const content = [...(message.text ? text : []), ...calls];
    const stopReason = calls.length > 0 ? "toolUse" : "stop";
    return { role: "assistant", content, api: model.api, provider: model.provider, model: model.id, usage, stopReason, timestamp };
  });
}

function toWire(reply: Reply): ModelReply {
  const { input, output, cacheRead, cacheWrite, cost } = reply.usage;
  const calls = reply.content.filter((part) => part.type === "toolCall");
  return {
    text: reply.content.filter((part) => part.type === "text").map((part) => part.text ?? "").join(""),
    tool_calls: calls.map((part) => ({ id: part.id ?? "", tool: part.name ?? "", arguments: part.arguments ?? {} })),
    usage: { input, output, cache_read: cacheRead, cache_write: cacheWrite, cost_usd: cost?.total || null },
  };
}

function failed(failure: ModelError): Refusal {
  return new Refusal(ERROR_CODES.Model, `call the model: ${failure.why}`, failure);
}

/** Pi hands on the provider's words only. */
export function classify(words: string): ModelError {
  const why = words.slice(0, 500);
  const says = (pattern: RegExp) => pattern.test(words);
  if (says(/\b40[13]\b|unauthori[sz]ed|forbidden|authentication|api[ _-]?key|not logged in|no credentials/i)) return { failure: "authentication", why };
  if (says(/context[ _-]?(length|window)|too many tokens|prompt is too long|maximum context/i)) return { failure: "context_overflow", why };
  if (says(/\b429\b|rate[ _-]?limit|quota|too many requests/i)) return { failure: "rate_limited", why };
  if (says(/\b404\b|model.{0,40}not (found|exist)|unknown model|no such model/i)) return { failure: "unknown_model", why };
  if (says(/content[ _-]?filter|refus(al|ed)|safety/i) && !says(/ECONNREFUSED|connection refused/i)) return { failure: "refused", why };
  return { failure: "unavailable", why };
}
