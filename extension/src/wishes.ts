// What the settings wish of a session. Asked once, as soon as there is a runtime; without an answer nothing is wished.

import { drawBuiltIns, piParts } from "./builtin-tools.ts";
import type { AgentDisplay, Wishes as Wished } from "./generated/protocol.ts";
import type { HostSession } from "./host.ts";
import type { Impresario } from "./impresario.ts";

export class Wishes {
  readonly #impresario: Impresario;
  readonly #known = new WeakMap<HostSession, Wished>();
  readonly #asked = new WeakMap<HostSession, Promise<void>>();

  constructor(impresario: Impresario) {
    this.#impresario = impresario;
  }

  /** Asks unless it is known. Two who ask at the same time wait for one answer. */
  async prepare(session: HostSession): Promise<void> {
    const connection = this.#impresario.runtime.connection;
    if (this.#known.has(session) || !connection) return;
    const asking = this.#asked.get(session) ?? this.#ask(session, connection.ask("session.wishes", { session: session.id }));
    this.#asked.set(session, asking);
    await asking;
  }

  /** What is wished, as far as it is known. */
  of(session: HostSession): Wished | undefined {
    return this.#known.get(session);
  }

  /** How a sub-agent's run is drawn, folded. */
  agentDisplay(session: HostSession): AgentDisplay {
    return this.of(session)?.agents ?? "compact";
  }

  async #ask(session: HostSession, answer: Promise<{ ok: true; result: Wished } | { ok: false }>): Promise<void> {
    const outcome = await answer;
    this.#asked.delete(session);
    if (!outcome.ok || this.#known.has(session)) return;
    this.#known.set(session, outcome.result);
    await drawBuiltIns(session, outcome.result, piParts);
  }
}
