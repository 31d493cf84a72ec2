// Pi's own `bash` and `read`, drawn otherwise where settings wish for it. Pi draws a tool as whoever registered it says, so
// they are registered anew with Pi's own makers and Pi's own settings: what the model is told, and what a call does, is
// Pi's. A tool of that name that is somebody else's stays theirs.

import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Wishes } from "./generated/protocol.ts";
import { guarded } from "./host.ts";
import type { Context, HostSession } from "./host.ts";
import { bashCall, bashResult, readCall, readResult } from "./tool-drawing.ts";
import type { Paint, Seen, ToolResult } from "./tool-drawing.ts";

/** What of Pi is needed. A version that has it otherwise draws as it does. */
export interface PiParts {
  SettingsManager: {
    create(cwd: string, agentDir: string, options: { projectTrusted?: boolean }): {
      getShellCommandPrefix(): string | undefined;
      getShellPath(): string | undefined;
      getImageAutoResize(): boolean;
    };
  };
  getAgentDir(): string;
  createBashToolDefinition(cwd: string, options: { commandPrefix?: string; shellPath?: string }): ToolDefinition;
  createReadToolDefinition(cwd: string, options: { autoResizeImages?: boolean }): ToolDefinition;
}

type Renderers = Pick<ToolDefinition, "renderCall" | "renderResult">;

interface Drawn {
  args?: unknown;
  cwd?: string;
  isError?: boolean;
}

/** Draws what is wished for on a terminal; says which tools. */
export async function drawBuiltIns(session: HostSession, wished: Wishes, load: () => Promise<PiParts>): Promise<string[]> {
  if (session.mode !== "tui" || (!wished.bash && !wished.read)) return [];
  try {
    const pi = await load();
    return session.read((ctx) => register(session, ctx, wished, pi), []);
  } catch {
    return [];
  }
}

export function piParts(): Promise<PiParts> {
  return import("@earendil-works/pi-coding-agent") as unknown as Promise<PiParts>;
}

function register(session: HostSession, ctx: Context, wished: Wishes, pi: PiParts): string[] {
  const cwd = ctx.cwd;
  const projectTrusted = guarded(() => (typeof ctx.isProjectTrusted === "function" ? ctx.isProjectTrusted() : undefined), false);
  const settings = pi.SettingsManager.create(cwd, pi.getAgentDir(), projectTrusted === undefined ? {} : { projectTrusted });
  const { bash, read } = wished;
  const drawn: string[] = [];
  if (bash && isPis(session, "bash")) {
    const [commandPrefix, shellPath] = [settings.getShellCommandPrefix(), settings.getShellPath()];
    const own = pi.createBashToolDefinition(cwd, { ...(commandPrefix !== undefined && { commandPrefix }), ...(shellPath !== undefined && { shellPath }) });
    session.pi.registerTool({ ...own, ...bashRenderers(bash) });
    drawn.push("bash");
  }
  if (read && isPis(session, "read")) {
    const own = pi.createReadToolDefinition(cwd, { autoResizeImages: settings.getImageAutoResize() });
    session.pi.registerTool({ ...own, ...readRenderers(read) });
    drawn.push("read");
  }
  return drawn;
}

/** Whether the tool of this name is the one that Pi comes with. */
function isPis(session: HostSession, name: string): boolean {
  const there = session.pi.getAllTools().filter((tool) => tool.name === name);
  return there.length === 1 && (there[0]?.sourceInfo as { source?: string } | undefined)?.source === "builtin";
}

function bashRenderers(wished: NonNullable<Wishes["bash"]>): Renderers {
  return {
    renderCall: (args, theme) => bashCall(args, theme as Paint),
    renderResult: (result, options, theme, context) => bashResult((context as Drawn).args, result as ToolResult, seen(options, context), wished, theme as Paint),
  };
}

function readRenderers(wished: NonNullable<Wishes["read"]>): Renderers {
  return {
    renderCall: (args, theme, context) => readCall(args, (context as Drawn | undefined)?.cwd ?? "", theme as Paint),
    renderResult: (result, options, theme, context) => readResult(result as ToolResult, seen(options, context), wished, theme as Paint),
  };
}

function seen({ expanded, isPartial }: { expanded: boolean; isPartial: boolean }, context: Drawn): Seen {
  return { expanded, isPartial, isError: context.isError === true, cwd: context.cwd ?? "" };
}
