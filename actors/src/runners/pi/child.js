// Loaded by Impresario into every Pi it runs as a sub-agent. It decides nothing: it asks over the dialogs of RPC mode.
import * as pi from "@earendil-works/pi-coding-agent";

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

export default function impresarioChild(api) {
  withoutRetries(pi.SettingsManager?.prototype);

  api.on("before_agent_start", (event) => {
    const systemPrompt = event.systemPrompt?.replace(DATE_OF_TODAY, "");
    return systemPrompt === event.systemPrompt ? undefined : { systemPrompt };
  });

  // A call of the model is made when it may be paid for. No answer means no.
  api.on("before_provider_request", async (event, ctx) => {
    const model = ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : "";
    const bytes = Buffer.byteLength(JSON.stringify(event.payload) ?? "");
    const allowed = await ctx.ui.input("impresario:model_call", JSON.stringify({ model, bytes }));
    if (allowed !== "go" && !allowed?.startsWith("go ")) ctx.abort();
    // Where the process serves several runs: the mark of this one, for everything that is started from here on.
    else if (allowed !== "go") Object.assign(process.env, JSON.parse(allowed.slice(3)));
    return undefined;
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
    const asked = JSON.stringify({ call: event.toolCallId, tool: event.toolName, failed: event.isError === true, compacted });
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
      async execute(_id, parameters, signal, _onUpdate, ctx) {
        const asked = JSON.stringify({ tool: tool.name, arguments: parameters });
        const answered = await ctx.ui.input("impresario:tool", asked, { signal });
        const answer = JSON.parse(answered ?? '{"error":"the runtime did not answer"}');
        if (typeof answer.error === "string") throw new Error(answer.error);
        return { content: [{ type: "text", text: String(answer.text ?? "") }], details: {} };
      },
    });
  }
}
