// The runtime as a child process: started when a session starts, started again when it stops by itself, a limited
// number of times. Neither it nor its pipes keep Pi from exiting, and what it writes on stderr reaches no screen.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { findBinary } from "./binary.ts";
import type { FoundBinary } from "./binary.ts";
import { Connection, textOf } from "./connection.ts";
import type { NotificationHandlers, RequestHandlers } from "./connection.ts";
import { PROTOCOL_VERSION, PROTOCOL_VERSION_OLDEST } from "./generated/protocol.ts";
import { RestartLimiter } from "./restarts.ts";

/** A runtime that stops several times in a row is one piece of news. */
const NOTICE_EVERY_MS = 60_000;
const HOW_TO_GET_IT =
  "Build it in a checkout of impresario (cargo build --release) or install it (cargo install --path .), or set IMPRESARIO_BINARY to its path; then /reload.";

export interface RuntimeSettings {
  extensionVersion: string;
  hostVersion: string | null;
  find(): FoundBinary;
  environment(): NodeJS.ProcessEnv;
  limiter: RestartLimiter;
}

export interface RuntimeListener {
  requests: RequestHandlers;
  notifications: NotificationHandlers;
  /** The handshake is done; called again after each restart. */
  connected(connection: Connection, again: boolean): void;
  /** It stopped by itself, or could not be started. One sentence for the person. */
  lost(sentence: string): void;
}

type State =
  | { is: "idle" }
  | { is: "starting"; child: ChildProcess; connection: Connection }
  | { is: "ready"; child: ChildProcess; connection: Connection }
  | { is: "waiting"; timer: NodeJS.Timeout }
  | { is: "off"; why: string };

export class RuntimeProcess {
  readonly #settings: RuntimeSettings;
  readonly #listener: RuntimeListener;
  #state: State = { is: "idle" };
  #starts = 0;
  #waiters = new Set<() => void>();
  #holds = 0;
  #toldMs = 0;

  constructor(listener: RuntimeListener, settings: Partial<RuntimeSettings> = {}) {
    this.#listener = listener;
    this.#settings = { extensionVersion: "0.0.0", hostVersion: null, find: findBinary, environment: () => process.env, limiter: new RestartLimiter(), ...settings };
  }

  /** The connection, once the handshake is done. */
  get connection(): Connection | undefined {
    return this.#state.is === "ready" && !this.#state.connection.isClosed ? this.#state.connection : undefined;
  }

  /** Why it is off for good. */
  get offBecause(): string | undefined {
    return this.#state.is === "off" ? this.#state.why : undefined;
  }

  /** Starts it unless it runs, starts, or is about to. What went wrong before is forgotten. */
  start(): void {
    if (this.#state.is === "idle" || this.#state.is === "off") this.#spawn();
  }

  /** The same, but what is off stays off. */
  startIfIdle(): void {
    if (this.#state.is === "idle") this.#spawn();
  }

  /** Waits for the connection, through restarts; undefined when there is none within `withinMs`. */
  async ready(withinMs: number): Promise<Connection | undefined> {
    const until = Date.now() + withinMs;
    while (!this.connection && this.#state.is !== "off" && this.#state.is !== "idle" && Date.now() < until) {
      await this.#nextChange(until - Date.now());
    }
    return this.connection;
  }

  /** Pi does not exit by itself until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    const timer = setInterval(() => {}, 60_000);
    return () => {
      clearInterval(timer);
      this.#holds -= 1;
    };
  }

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Closes its input: it parks what is in the foreground and ends by itself. */
  stop(): void {
    const state = this.#state;
    this.#enter({ is: "idle" });
    if (state.is === "waiting") clearTimeout(state.timer);
    if (state.is !== "starting" && state.is !== "ready") return;
    state.child.stdin?.end();
    // One that has not said hello yet holds nothing that would have to be parked, and may not be listening.
    if (state.is === "starting") state.child.kill("SIGTERM");
    state.connection.close();
  }

  #spawn(): void {
    const { path, looked } = this.#settings.find();
    if (!path) return this.#giveUp(`Impresario is off: its program was not found (looked at: ${looked.join(", ")}). ${HOW_TO_GET_IT}`);
    let child: ChildProcess;
    try {
      child = spawn(path, ["bridge"], { stdio: ["pipe", "pipe", "ignore"], detached: true, env: this.#settings.environment() });
    } catch (error) {
      return this.#giveUp(`Impresario is off: ${path} could not be started (${textOf(error)}).`);
    }
    const { stdin, stdout } = child;
    if (!stdin || !stdout) return this.#giveUp(`Impresario is off: ${path} has no pipes.`);
    child.unref();
    (stdin as Socket).unref?.();
    (stdout as Socket).unref?.();
    const connection = new Connection(stdout, stdin, {
      requests: this.#listener.requests,
      notifications: this.#listener.notifications,
      closed: () => onceExited(child, (why) => this.#lost(connection, why)),
    });
    child.on("error", () => connection.close());
    child.on("exit", () => connection.close());
    this.#enter({ is: "starting", child, connection });
    void this.#greet(child, connection);
  }

  async #greet(child: ChildProcess, connection: Connection): Promise<void> {
    const { extensionVersion, hostVersion } = this.#settings;
    const welcome = await connection.ask("hello", {
      protocol_oldest: PROTOCOL_VERSION_OLDEST,
      protocol_newest: PROTOCOL_VERSION,
      host: "pi",
      host_version: hostVersion,
      extension_version: extensionVersion,
      capabilities: [],
    });
    if (connection.isClosed) return;
    if (!welcome.ok) {
      const why = welcome.why === "error" ? welcome.error.message : "it did not answer";
      this.stop();
      return this.#giveUp(`Impresario is off: its runtime and this extension do not understand each other (${why}).`);
    }
    const again = this.#starts > 0;
    this.#starts += 1;
    this.#enter({ is: "ready", child, connection });
    try {
      this.#listener.connected(connection, again);
    } catch {
      // A session that is being replaced cannot be described; its successor will be.
    }
  }

  #lost(connection: Connection, why: string): void {
    const state = this.#state;
    if ((state.is !== "starting" && state.is !== "ready") || state.connection !== connection) return;
    // The pipe may break before the exit is known: whatever still runs there must not run beside its successor.
    state.child.kill("SIGTERM");
    const waitMs = this.#settings.limiter.waitBeforeRestart(Date.now());
    if (waitMs === undefined) {
      return this.#giveUp(`Impresario is off: its runtime stopped again and again (${why}). /reload starts it again.`);
    }
    const timer = setTimeout(() => {
      this.#state = { is: "idle" };
      this.#spawn();
    }, waitMs);
    if (!this.isHeld) timer.unref();
    this.#enter({ is: "waiting", timer });
    if (Date.now() - this.#toldMs < NOTICE_EVERY_MS) return;
    this.#toldMs = Date.now();
    this.#tell(`Impresario's runtime stopped (${why}); it is being started again, and runs go on from where they were.`);
  }

  #giveUp(sentence: string): void {
    this.#enter({ is: "off", why: sentence });
    this.#tell(sentence);
  }

  #tell(sentence: string): void {
    try {
      this.#listener.lost(sentence);
    } catch {
      // Nobody is there to read it.
    }
  }

  #enter(state: State): void {
    this.#state = state;
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const waiter of waiters) waiter();
  }

  #nextChange(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, Math.max(1, withinMs));
      const waiters = this.#waiters;
      function done(): void {
        clearTimeout(timer);
        waiters.delete(done);
        resolve();
      }
      waiters.add(done);
    });
  }
}

/** The pipes may close before the exit is known; waits a moment for it, to be able to say how it ended. */
function onceExited(child: ChildProcess, then: (why: string) => void): void {
  const tell = () => {
    clearTimeout(timer);
    child.off("exit", tell);
    const { exitCode, signalCode } = child;
    if (signalCode) then(`it was ended by ${signalCode}`);
    else then(exitCode === null ? "it closed the connection" : `it exited with code ${exitCode}`);
  };
  const timer = setTimeout(tell, 200);
  timer.unref();
  if (child.exitCode !== null || child.signalCode !== null) tell();
  else child.once("exit", tell);
}
