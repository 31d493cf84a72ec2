// Loaded by Impresario into every Pi it runs as a sub-agent. It decides nothing: it asks over the dialogs of RPC mode.
import { createHash } from "node:crypto";
import * as pi from "@earendil-works/pi-coding-agent";
import { Outliner, edited } from "./pi-outline.ts";

/** The user's login stays, the user's retries do not: retries are a decision of the runtime's. */
const WITHOUT_RETRIES = Symbol.for("impresario.withoutRetries");
function withoutRetries(settings) {
  // A process that serves several runs loads this once for each.
  if (!settings || settings[WITHOUT_RETRIES]) return;
  settings[WITHOUT_RETRIES] = true;
  const own = settings.getRetrySettings;
  const providers = settings.getProviderRetrySettings;
  settings.getRetryEnabled = () => false;
  if (own) settings.getRetrySettings = function () { return { ...own.call(this), enabled: false, maxRetries: 0 }; };
  if (providers) settings.getProviderRetrySettings = function () { return { ...providers.call(this), maxRetries: 0 }; };
}

const textOf = (content) =>
  (Array.isArray(content) ? content : []).filter((part) => part?.type === "text").map((part) => part.text).join("\n");

/** Pi 0.74 writes today's date behind the system prompt, where it makes a provider's cache miss after midnight. */
const DATE_OF_TODAY = /\nCurrent date: \d{4}-\d{2}-\d{2}(?=\nCurrent working directory: [^\n]*$)/;

/** APIs that take a temperature at the top of a request, and models that take none while they think. */
const TAKES_TEMPERATURE = new Set(["openai-completions", "anthropic-messages"]);
const thinks = (payload) =>
  Boolean(payload.reasoning_effort ?? payload.reasoning) || (payload.thinking?.type ?? "disabled") !== "disabled";

/** Providers of OpenAI's kind look for a cached prompt where others with this key were served: requests of one agent, not of one session. */
const withSharedCacheKey = (payload) => {
  if (typeof payload?.prompt_cache_key !== "string") return payload;
  const beginning = [payload.model, payload.instructions, (payload.messages ?? payload.input)?.[0], payload.tools];
  const key = createHash("sha1").update(JSON.stringify(beginning)).digest("hex");
  return { ...payload, prompt_cache_key: `impresario-${key}` };
};

export default function impresarioChild(api) {
  withoutRetries(pi.SettingsManager?.prototype);
  const outliner = new Outliner();

  api.on("before_agent_start", (event) => {
    const systemPrompt = event.systemPrompt?.replace(DATE_OF_TODAY, "");
    return systemPrompt === event.systemPrompt ? undefined : { systemPrompt };
  });

  // A call of the model is made when it may be paid for. No answer means no.
  api.on("before_provider_request", async (event, ctx) => {
    const model = ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : "";
    const bytes = Buffer.byteLength(JSON.stringify(event.payload) ?? "");
    const outlined = outliner.outline(event.payload)?.blocks ?? [];
    const blocks = outlined.map(({ kind, size, content, marker }) => [kind, size, content, marker]);
    const allowed = await ctx.ui.input("impresario:model_call", JSON.stringify({ model, bytes, blocks }));
    if (!allowed?.startsWith("go ")) {
      ctx.abort();
      return undefined;
    }
    const { environment, markers } = JSON.parse(allowed.slice(3));
    // Where the process serves several runs: the mark of this one, for everything that is started from here on.
    Object.assign(process.env, environment);
    const edits = markers.map(([place, marker]) => ({ path: outlined[place].path, marker }));
    const payload = withSharedCacheKey(edited(event.payload, edits).payload ?? event.payload);
    return payload === event.payload ? undefined : payload;
  });

  const temperature = Number.parseFloat(process.env.IMPRESARIO_TEMPERATURE ?? "");
  if (!Number.isNaN(temperature)) {
    api.on("before_provider_request", (event, ctx) => {
      const takesOne = TAKES_TEMPERATURE.has(ctx.model?.api) && ctx.model?.compat?.supportsTemperature !== false;
      if (!takesOne || thinks(event.payload)) return undefined;
      return { ...event.payload, temperature };
    });
  }

  // A tool begins when its start is on disk. No answer means no.
  api.on("tool_call", async (event, ctx) => {
    const asked = JSON.stringify({ call: event.toolCallId, tool: event.toolName, input: event.input });
    const allowed = await ctx.ui.confirm("impresario:tool_start", asked);
    if (allowed) return undefined;
    const why = await ctx.ui.input("impresario:why_not", asked);
    return { block: true, reason: why || "the run is being stopped" };
  });

  let compacted = false;
  api.on("session_compact", () => {
    compacted = true;
  });

  // What the model sees of a result is reviewed. No answer means: as it is.
  api.on("tool_result", async (event, ctx) => {
    const text = textOf(event.content);
    if (text === "") return undefined;
    const offset = event.toolName === "read" && Number.isFinite(event.input?.offset) ? event.input.offset : undefined;
    const asked = JSON.stringify({ call: event.toolCallId, tool: event.toolName, failed: event.isError === true, compacted, offset });
    compacted = false;
    const instead = await ctx.ui.editor(`impresario:tool_result ${asked}`, text);
    if (typeof instead !== "string") return undefined;
    const others = event.content.filter((part) => part?.type !== "text");
    return { content: [{ type: "text", text: instead }, ...others] };
  });

  for (const tool of JSON.parse(process.env.IMPRESARIO_TOOLS ?? "[]")) {
    api.registerTool({
      name: tool.name,
      label: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      async execute(call, parameters, signal, _onUpdate, ctx) {
        const asked = JSON.stringify({ call, tool: tool.name, arguments: parameters });
        const answered = await ctx.ui.input("impresario:tool", asked, { signal });
        const answer = JSON.parse(answered ?? '{"error":"the runtime did not answer"}');
        if (typeof answer.error === "string") throw new Error(answer.error);
        const pictures = (answer.pictures ?? []).map((picture) => ({ type: "image", data: picture.base64, mimeType: picture.media_type }));
        return { content: [{ type: "text", text: String(answer.text ?? "") }, ...pictures], details: {} };
      },
    });
  }
}
