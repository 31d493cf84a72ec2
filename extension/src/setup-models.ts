// `/setup-models`: a person chooses models for the agents. The runtime says what is asked; the answers so far are all that is kept here.

import type { ListedModel, SetupAnswer, SetupQuestion } from "./generated/protocol.ts";
import type { Context, HostSession } from "./host.ts";
import { NOT_READY, wordsFor } from "./impresario.ts";
import type { Impresario } from "./impresario.ts";

export async function setUpModels(impresario: Impresario, session: HostSession): Promise<void> {
  if (!session.hasUI) return session.complain("/setup-models asks questions, and nobody is there to answer.");
  const connection = await impresario.reach();
  if (!connection) return session.complain(impresario.runtime.offBecause ?? NOT_READY);
  const { models, current } = session.read(callable, { models: [], current: null });
  const answers: SetupAnswer[] = [];
  let warned = 0;
  for (;;) {
    const outcome = await connection.ask("setup.models", { session: session.id, models, current, answers }, { holds: true });
    if (!outcome.ok) return session.complain(`The models could not be set up: ${wordsFor(outcome)}`);
    const { question, warnings, told } = outcome.result;
    for (const warning of warnings.slice(warned)) session.notice("warning", warning);
    warned = warnings.length;
    if (!question) return session.tell(told ?? "");
    answers.push(await answerTo(session, question));
  }
}

/** The models somebody is logged in for, and the session's own. */
function callable(ctx: Context): { models: ListedModel[]; current: ListedModel | null } {
  return { models: ctx.modelRegistry.getAvailable().map(listed), current: ctx.model ? listed(ctx.model) : null };
}

function listed({ provider, id, name, reasoning, input }: NonNullable<Context["model"]>): ListedModel {
  return { provider, id, name: name ?? id, reasons: reasoning ?? null, sees: (input ?? []).includes("image") };
}

async function answerTo(session: HostSession, question: SetupQuestion): Promise<SetupAnswer> {
  if (question.ask === "confirm") {
    return { did: "said", yes: await session.confirm(question.title, question.lines.join("\n")) };
  }
  const chosen = await session.select(question.title, question.options);
  return chosen === undefined ? { did: "closed" } : { did: "chose", place: question.options.indexOf(chosen) };
}
