// Lends what the extension sees of a session, and its way back, to a test: a request a line, an answer a line.
import { createInterface } from "node:readline";
import { Anchors, lookAt } from "../../../extension/src/anchors.ts";
import { settlesLast } from "../../../extension/src/host.ts";

function seen({ entries, leaf, labels = {} }, target) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const branch = [];
  for (let at = byId.get(leaf); at; at = byId.get(at.parentId)) branch.unshift(at);
  const tree = { getEntries: () => entries, getBranch: () => branch, getLeafId: () => leaf, getEntry: (id) => byId.get(id), getLabel: (id) => labels[id] };
  return lookAt(tree, target, "no call");
}

async function pivoted({ action, navigate, tree_events }) {
  const [log, levels] = [[], []];
  const anchors = new Anchors({ progress: { redraw: () => {} } });
  const offered = () => tree_events.map((event) => anchors.beforeTree(session, event) ?? null);
  const ctx = {
    isIdle: () => true,
    waitForIdle: async () => {},
    navigateTree: async (...asked) => {
      log.push({ navigate: asked, before_tree: offered() });
      if (navigate === "throw") throw new Error("no way");
      return { cancelled: navigate === "cancel" };
    },
  };
  let going = Promise.resolve();
  const sendUserMessage = (text) => {
    if (text === "/pivot") going = anchors.go(session, ctx);
    else log.push({ follow_up: text });
  };
  const session = { id: "S", hasUI: true, pi: { sendUserMessage }, read: (_look, otherwise) => otherwise, notice: (level) => levels.push(level), tell: () => {} };
  anchors.schedule(session, { target: action.targetId, named: action.targetId, carryover: action.carryover, message: action.message ?? null });
  const scheduled = anchors.waits(session);
  anchors.settled(session, settlesLast() ? "agent_settled" : "agent_end");
  await going;
  return { scheduled, log, notification_levels: levels, before_tree_after_run: offered(), pending_after: anchors.waits(session) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { session, target, run } = JSON.parse(line);
  const answer = run ? await pivoted(run) : seen(session, target);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
