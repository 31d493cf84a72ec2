// Generated from the Rust types of the bridge. Do not edit: change src/bridge/wire and run
// UPDATE=1 cargo test --test bridge artefacts

/** How a run of a sub-agent is drawn in the call that began it, folded. */
export type AgentDisplay = "compact" | "full" | "minimal";

/** How a call of `bash` is drawn. */
export type BashDrawing = {
  /** So many lines of what it said, folded. */
  preview_lines: number,
  /** So many, opened. */
  expanded_lines: number,
  /** In a fainter colour. */
  dim: boolean,
};

/** What became of a tool call. */
export type CallFate = "running" | "ok" | "failed" | "unknown";

/** What a person sees of a tool call. */
export type CallSight = {
  /** The tool. */
  tool: string,
  /** What it is called with, in one short line. */
  with: string,
  /** What became of it. */
  fate: CallFate,
  /** When it began, in milliseconds since 1970. */
  begun_ms: number,
  /** How long it took; none while it runs. */
  took: string | null,
  /** Why it failed, in a few words; none where it did not, or said nothing. */
  why: string | null,
};

/** What the host has of what can be used. */
export type CapabilitiesOffer = {
  /** In which session. */
  session: SessionId,
  /** Its tools, active or not. */
  tools: Array<HostTool>,
  /** The skills that it lists itself. */
  listed: Array<ListedSkill>,
};

/** The answer to [`CapabilitiesOffer`]. */
export type CapabilitiesTaken = {
  /** The tools with which the rest is found; none where that is switched off. */
  tools: Array<ToolDefinition>,
  /** The name of the section of the system prompt, where it has sections. */
  section: string,
  /** The text of the section; empty when nothing is said. */
  block: string,
  /** The tools that shall be active of those that are; none leaves them. */
  active: Array<string> | null,
};

/** One of those tools is called, or a person typed the command of its name. */
export type CapabilityCall = {
  /** In which session. */
  session: SessionId,
  /** Which. */
  tool: string,
  /** With what. What a person typed stands in `typed`. */
  arguments: unknown,
  /** The tools that are active now. */
  active: Array<string>,
  /** The last prompt; none before the first one, and where nobody asks for it. */
  seen: SeenPrompt | null,
};

/** What came of it. */
export type CapabilityDone = {
  /** For the model or the person. */
  text: string,
  /** It could not be done; the text says why. */
  failed: boolean,
  /** A tool that shall be active from now on. */
  activate: string | null,
};

/** One run of a chain. */
export type ChainMember = {
  /** Its name in the chain. */
  id: string,
  /** What it is asked for, as it is written. */
  task: string,
  /** The run. */
  run: RunId,
};

/** Run a chain: one that a file describes, or the steps that are given. */
export type ChainRun = {
  /** From which session. */
  session: SessionId,
  /** Unique; the same request sent twice means one chain. */
  request: string,
  /** The chain that a file describes. */
  name: string | null,
  /** Else its steps: the text of a chain without gates. */
  steps: string | null,
  /** What it is asked for; empty where its steps say everything. */
  task: string,
};

/** The chain is accepted: all its runs are in the journal. */
export type ChainRunAccepted = {
  /** Its id. */
  group: string,
  /** Its runs, in the order of the steps. */
  members: Array<ChainMember>,
};

/** The answer to [`ChainTextAsk`]. */
export type ChainText = {
  /** How it ended: as its worst step; none while it works. */
  state: TerminalState | null,
  /** What its last step said, or what each step did. */
  text: string,
  /** Its runs, in the order of the steps; of one that was resumed, the last. */
  runs: Array<RunId>,
};

/** What does a chain say? */
export type ChainTextAsk = {
  /** From which session. */
  session: SessionId,
  /** The chain's id. */
  group: string,
};

/** A line of the host's conversation. */
export type ChatMessage = {
  /** Who. */
  role: ChatRole,
  /** What, text only. */
  content: string,
};

/** Who said a line of the host's conversation. */
export type ChatRole = "user" | "assistant" | "system";

/** Which skills are there? */
export type Completions = {
  /** For which session. */
  session: SessionId,
  /** The skills that the host lists itself. */
  listed: Array<ListedSkill>,
};

/** The tool is called. */
export type ContextAsk = {
  /** In which session. */
  session: SessionId,
  /** With what. */
  arguments: unknown,
  /** The session's anchors, the oldest first. */
  anchors: Array<SessionAnchor>,
  /** Its labels, in the order of their entries. */
  labels: Array<SessionLabel>,
  /** The newest entry of the branch. */
  leaf: string | null,
  /** The target that the arguments name is the id of an entry. */
  target_is_entry: boolean,
  /** A pivot waits for the end of the turn. */
  pivot_waits: boolean,
  /** Where the host keeps the session's file. */
  sessions: string | null,
};

/** A result to leave out. */
export type ContextCut = {
  /** Which entry. */
  entry: string,
  /** What stands in place of its texts. */
  stub: string,
};

/** The answer to [`CutsAsk`]. */
export type ContextCuts = {
  /** None leave everything as it is. */
  cuts: Array<ContextCut>,
};

/** What the tool's result is. */
export type ContextDone = {
  /** For the model. */
  text: string,
  /** What the host stores with it. With `anchor`, the result is an anchor. */
  details: Record<string, unknown>,
  /** Where the session goes when the turn is over. */
  pivot: ContextPivot | null,
};

/** Something that the model sees of the session. */
export type ContextEntry = {
  /** The host's. */
  id: string,
  /** What it is. */
  kind: EntryKind,
  /** Of its texts. */
  characters: number,
  /** What the call of a result was given: paths. */
  names: Array<string>,
  /** What an anchor is called. */
  anchor: string | null,
};

/** A line for the model, which stays where it is put. */
export type ContextLine = {
  /** As it stands in the conversation. */
  text: string,
  /** What it tells. */
  told: ContextTold,
  /** It hints at anchors. */
  hints: boolean,
};

/** A session is about to be used: is there a tool for its context? */
export type ContextOffer = {
  /** Which session. */
  session: SessionId,
  /** Where the host keeps the session's file. */
  sessions: string | null,
};

/** A place of the session that the host goes to when the turn is over. */
export type ContextPivot = {
  /** The entry. */
  target: string,
  /** As the agent named it. */
  named: string,
  /** What stands there of what was left. */
  carryover: string,
  /** What is said there first. */
  message: string | null,
};

/** The answer to [`ContextStanding`]. */
export type ContextSaid = {
  /** None while nothing has changed that matters. */
  line: ContextLine | null,
};

/** How the context stands before a request. */
export type ContextStanding = {
  /** Whose. */
  session: SessionId,
  /** The model as `provider/id`; none where there is none. */
  model: string | null,
  /** The model that gave the last answer. */
  model_before: string | null,
  /** How much of the context is used, in percent; none where it is not known. */
  percent: number | null,
  /** Characters of results of tools in what the model sees. */
  of_results: number,
  /** Characters of all that it sees. */
  of_all: number,
  /** The newest anchor. */
  anchor: string | null,
  /** How many entries came after it. */
  since_anchor: number,
  /** Entries on this branch. */
  entries: number,
  /** The model can set an anchor. */
  can_anchor: boolean,
  /** What the newest line that it sees told. */
  told: ContextTold | null,
  /** A line on this branch has hinted at anchors. */
  hinted: boolean,
};

/** The answer to [`ContextOffer`]. */
export type ContextTaken = {
  /** The tool; none where it is switched off. */
  tool: ToolDefinition | null,
};

/** What a line of ours told the model. */
export type ContextTold = {
  /** The share of the context that was reached, in percent. */
  step: number,
  /** The model. */
  model: string | null,
};

/** An anchor was set. */
export type CutsAsk = {
  /** Where. */
  session: SessionId,
  /** The model as `provider/id`. */
  model: string | null,
  /** What the model sees, in its order. */
  entries: Array<ContextEntry>,
  /** The anchor's summary, and all that was said since. */
  since: string,
};

/** A tool with which the main agent delegates. */
export type DelegateTool = {
  /** The agent that it asks; none for the tool that names a skill, in its argument `skill`. */
  agent: string | null,
  /** The argument that says what is wanted. */
  task: string,
  /** It runs a chain: a call of it is a `chain.run`. */
  chain: boolean,
  /** It tells or asks a run something: a call of it is a `run.tell`, and `run.message` until it is known what became of it. */
  message: boolean,
  /** Calls of it in one turn run one after the other. */
  sequential: boolean,
  /** The tool. */
  tool: ToolDefinition,
};

/** The answer to [`DelegationAsk`]: the same in every turn, so that the provider's cache holds. */
export type Delegation = {
  /** The name of the section of the system prompt, where it has sections. */
  section: string,
  /** The text of the section; empty when nothing is taught. */
  block: string,
  /** The text is another one for other models. */
  per_model: boolean,
  /** The tools that go with it. */
  tools: Array<DelegateTool>,
};

/** Is the main agent of this session taught to delegate? */
export type DelegationAsk = {
  /** Which session. */
  session: SessionId,
  /** The model that is called, as `provider/id`. */
  model: string | null,
};

/** What the runtime saw of a run's work, in words. */
export type DeliveredReceipt = {
  /** What the answer says and what was seen does not bear out. */
  flags: Array<string>,
  /** What was seen, in one line; none while there is nothing to say. */
  seen: string | null,
};

/** A result that was only shown stands in the session now. */
export type DeliveryAcknowledged = {
  /** Which run. */
  run: RunId,
};

/** Here is the result of a run. The same run may be offered again; the host drops what it already has. */
export type DeliveryOffer = {
  /** Which run. */
  run: RunId,
  /** For which session; none means whichever is open. */
  session: SessionId | null,
  /** It was asked for in an earlier session, which the host did not keep. */
  earlier_session: boolean,
  /** How it ended. */
  state: TerminalState,
  /** The answer, or what there was of one. */
  answer: string | null,
  /** Why it did not succeed. */
  reason: Reason | null,
  /** A line for the person: the sub-agent was stopped before it was done. */
  stopped_early: string | null,
  /** What it is a result of. */
  about: OfferedRun | null,
  /** What a person sees of the run, now that it is over. */
  sight: RunSight | null,
  /** What it changed in a git worktree of its own. */
  changes: OfferedChanges | null,
  /** What the runtime saw of the work. */
  receipt: DeliveredReceipt | null,
  /** A line for whoever reads the answer: it is cut, and all of it is there. */
  whole: string | null,
  /** The chain that it is a step of: what the chain says is one result, the steps' are part of it. */
  chain: string | null,
};

/** What the host says to a delivery. */
export type DeliveryReceipt = "kept" | "shown";

/** What an entry is. */
export type EntryKind = "said" | "result" | "kept" | "anchor" | "other";

/** What was done to a file. */
export type FileChange = "added" | "modified" | "deleted" | "renamed" | "retyped";

/** A tool gave a result. */
export type GuidanceAsk = {
  /** Whose. */
  session: SessionId,
  /** Later ones have higher numbers. */
  number: number,
  /** The earlier ones whose results are not in the session yet. */
  open: Array<number>,
  /** Which tool. */
  tool: string,
  /** The path that it was given. */
  path: string | null,
  /** The command that it was given. */
  command: string | null,
  /** What stands in what the model sees of the session, in its order. */
  given: Array<GuidanceMark>,
};

/** The answer to [`GuidanceAsk`]. Without rules the result stays as it is, byte for byte. */
export type GuidanceGiven = {
  /** One text for all of them; empty for none. */
  text: string,
  /** What stands in it. */
  rules: Array<GuidanceRules>,
  /** What does not. */
  not_read: Array<GuidanceNotRead>,
};

/** A file of rules in the state in which it was given. */
export type GuidanceMark = {
  /** Where it lies. */
  path: string,
  /** Of all that it said. */
  hash: string,
};

/** A file that is there and cannot be read. */
export type GuidanceNotRead = {
  /** Where it lies. */
  path: string,
  /** The name of the error, or `outside` for a link that leads out of the repository. */
  why: string,
};

/** One file as it belongs behind the result. */
export type GuidanceRules = {
  /** Where it lies. */
  path: string,
  /** Of all that it says. */
  hash: string,
  /** Not all of it is shown. */
  truncated: boolean,
};

/** The answer to [`SessionHasRun`]. */
export type HasRun = {
  /** It does. */
  has: boolean,
};

/** The first message of a connection. */
export type Hello = {
  /** The oldest protocol version the host speaks. */
  protocol_oldest: number,
  /** The newest protocol version the host speaks. */
  protocol_newest: number,
  /** `pi`. */
  host: string,
  /** Its version, where it says. */
  host_version: string | null,
  /** The version of the extension. */
  extension_version: string,
  /** What this host can do beyond the protocol version, by name. */
  capabilities: Array<string>,
};

/** A tool that the host has. */
export type HostTool = {
  /** Its name. */
  name: string,
  /** What it is for. */
  description: string,
  /** What it takes, as a JSON Schema. */
  parameters: unknown,
  /** Models are offered it. */
  active: boolean,
};

/** What a typed line asks for. Nothing has happened yet: the host's side carries it out. */
export type InputReading = { "is": "pass" } | { "is": "skill",
  /** Its name. */
  name: string,
  /** What is wanted; may be empty. */
  task: string,
  /** It was written in the host's own form, `/skill:<name>`. */
  hosts_form: boolean, } | { "is": "no_name",
  /** The word. */
  typed: string, } | { "is": "pick_skill" } | { "is": "cancel" } | { "is": "resume",
  /** How its id begins; empty to let the person pick one. */
  run: string, } | { "is": "trace_report",
  /** The skill. */
  skill: string, } | { "is": "trace_view",
  /** The file. */
  file: string, } | { "is": "transcript",
  /** How its id begins; empty for the newest of the session. */
  run: string, } | { "is": "tell",
  /** What is wanted with it. */
  kind: MessageKind,
  /** Which run, and what: both as typed. */
  what: string, } | { "is": "status",
  /** One section by its name; empty for all. */
  section: string, } | { "is": "usage",
  /** How it is written. */
  usage: string,
};

/** A model that the host can call. */
export type ListedModel = {
  /** Whose it is. */
  provider: string,
  /** Its id with that provider. */
  id: string,
  /** What the host calls it. */
  name: string,
  /** Whether it thinks; none where the host does not know. */
  reasons: boolean | null,
  /** Whether it sees pictures. */
  sees: boolean,
};

/** Who put a skill where the host found it. */
export type ListedScope = "user" | "project" | "package" | "session";

/** A skill that the host lists. */
export type ListedSkill = {
  /** Its name. */
  name: string,
  /** What it is for. */
  description: string,
  /** Its file. */
  file: string,
  /** Who put it there. */
  scope: ListedScope,
  /** The directory it was found through, where the host says. */
  base: string | null,
};

/** One block of a provider request, without its body. A list rather than an object: there are hundreds of them in a request, the model waits for each byte, and names would be more than half of it. */
export type MarkerBlock = [MarkerBlockKind, number, string, MarkerTtl | null, string | null];

/** What a block is. */
export type MarkerBlockKind = "system" | "tool" | "text" | "said" | "plain" | "empty" | "image" | "document" | "thinking" | "tool_use" | "tool_result" | "nested" | "request" | "other";

/** One change to one block. */
export type MarkerEdit = [number, MarkerTtl | null];

/** The answer to [`MarkerSkeleton`]. No edits leave the request as it is, byte for byte. */
export type MarkerPlan = {
  /** The changes. */
  edits: Array<MarkerEdit>,
};

/** The outline of a request to a provider that takes markers, in the order in which the provider hashes it. */
export type MarkerSkeleton = {
  /** Whose request. */
  session: SessionId,
  /** The model as the provider is called with it. */
  model: string | null,
  /** Tools, then system, then messages. */
  blocks: Array<MarkerBlock>,
  /** The calls that set an anchor, the oldest first. */
  anchors: Array<string>,
  /** Why the plan before could not be applied. */
  not_applied: string | null,
};

/** How long a marked prefix is kept. */
export type MarkerTtl = "5m" | "1h";

/** A message to a run, for ever: `m` and eight characters of chance. */
export type MessageId = string;

/** What is wanted with a message. */
export type MessageKind = "steer" | "ask";

/** Why there was no reply. */
export type ModelError = { "failure": "unavailable", "why": string } | { "failure": "rate_limited", "why": string } | { "failure": "authentication", "why": string } | { "failure": "context_overflow", "why": string } | { "failure": "unknown_model", "why": string } | { "failure": "refused", "why": string };

/** One message of a conversation with a model. */
export type ModelMessage = {
  /** Who speaks. */
  role: ModelRole,
  /** What is said; for a tool, its result. */
  text: string,
  /** The calls an assistant message makes. */
  tool_calls: Array<ToolCall>,
  /** For a tool message: the call it answers. */
  answers_call: string | null,
};

/** One reply. */
export type ModelReply = {
  /** The text. */
  text: string,
  /** The calls it makes. */
  tool_calls: Array<ToolCall>,
  /** What it used. */
  usage: ModelUsage,
  /** The model that answered, where the provider says it. */
  served?: string,
};

/** One request. Content, order and sampling are the caller's; credentials are the client's. */
export type ModelRequest = {
  /** `provider/id`, `offline`, or `session` for the model of the host's session. */
  model: string,
  /** What stands before the conversation. */
  system: string,
  /** The conversation. */
  messages: Array<ModelMessage>,
  /** The tools offered. */
  tools: Array<ToolDefinition>,
  /** Sampling temperature, where the provider takes one. */
  temperature: number | null,
  /** The reply must be one JSON object. */
  json: boolean,
  /** At most so many tokens in the reply. */
  tokens_max: number,
};

/** Who speaks. */
export type ModelRole = "user" | "assistant" | "tool";

/** Whether the host can call a model. */
export type ModelStanding = "ready" | "unknown" | "not_logged_in";

/** What a call used, or several of them, as the provider counted. */
export type ModelUsage = {
  /** Fresh input tokens. */
  input: number,
  /** Output tokens. */
  output: number,
  /** Input tokens read from a prompt cache. */
  cache_read: number,
  /** Input tokens written to a prompt cache. */
  cache_write: number,
  /** In US dollars, where the price of all of it is known. */
  cost_usd: number | null,
};

/** Which of these models can the host call? Nothing is called, so it costs nothing. */
export type ModelsCheck = {
  /** As `provider/id`. */
  models: Array<string>,
};

/** The answer to [`ModelsCheck`], in its order. */
export type ModelsChecked = {
  /** One for each model. */
  standings: Array<ModelStanding>,
};

/** How much a notice matters. */
export type NoticeLevel = "info" | "warning" | "error";

/** Something happened in the session. */
export type ObservedEvent = {
  /** The host's name for it. */
  name: string,
  /** When, in milliseconds since 1970. */
  at_ms: number,
  /** Roles, names, sizes and ids; no bodies. */
  data: unknown,
};

/** Events since the last batch, oldest first. */
export type ObservedEvents = {
  /** Where. */
  session: SessionId,
  /** What happened. */
  events: Array<ObservedEvent>,
  /** How many the extension dropped because the runtime was behind. */
  dropped: number,
};

/** The answer to [`DeliveryOffer`]. */
export type OfferReceipt = {
  /** What became of it; after `shown`, [`DeliveryAcknowledged`] follows when it is kept. */
  receipt: DeliveryReceipt,
};

/** A question of a run, and what the person answered. */
export type OfferedAnswer = {
  /** The question. */
  question: string,
  /** The answer. */
  answer: string,
};

/** What a run changed in a git worktree of its own; the person's files are as they were. */
export type OfferedChanges = {
  /** In words, with how to apply it. */
  text: string,
  /** The worktree, while it is there. */
  worktree: string | null,
  /** The commit it was made of; none before the first one. */
  base: string | null,
  /** What keeps the commits of what it began with and of what it left. */
  reference: string,
  /** The patch; none where it could not be made, and the worktree stays. */
  patch: OfferedPatch | null,
};

/** What became of one file. */
export type OfferedFile = {
  /** Below the top of the repository. */
  path: string,
  /** What it was called before. */
  from: string | null,
  /** What was done to it. */
  change: FileChange,
  /** Lines; none where it is no text. */
  added: number | null,
  /** Lines; none where it is no text. */
  removed: number | null,
  /** Git's hash of it before. */
  before: string | null,
  /** Git's hash of it now. */
  after: string | null,
};

/** A patch that can be applied. */
export type OfferedPatch = {
  /** Where it lies. */
  file: string,
  /** Of the file. */
  sha256: string,
  /** How many files it changes. */
  files_in_all: number,
  /** The first of them. */
  files: Array<OfferedFile>,
};

/** What a result is a result of: the session may know nothing of the run. */
export type OfferedRun = {
  /** The skill; none for an agent. */
  skill: string | null,
  /** The agent; none for a skill. */
  agent: string | null,
  /** The task, cut where it is long. */
  task: string,
  /** What the person was asked. */
  answers: Array<OfferedAnswer>,
  /** The model of the last attempt; none before the first. */
  model: string | null,
  /** The models that were left before it, each with why. */
  left: Array<string>,
  /** What it used, in words; none while there is nothing to say. */
  used: string | null,
};

/** Asks for the same thing back. Both sides answer it; the doctor and the benches use it. */
export type Ping = {
  /** Anything. */
  payload: unknown,
};

/** The answer to [`Ping`]. */
export type Pong = {
  /** What was sent. */
  payload: unknown,
};

/** A system prompt is about to be used: which skills shall it show? */
export type PromptAsk = {
  /** In which session. */
  session: SessionId,
  /** The skills that the host would show. */
  skills: Array<PromptSkill>,
  /** The prompt, where it is a text; none where it is made of sections. */
  prompt: string | null,
};

/** The answer to [`PromptAsk`]. Nothing leaves the prompt as it is, byte for byte. */
export type PromptPlan = {
  /** The names of the skills that are shown; none shows all. */
  shown: Array<string> | null,
  /** The prompt with them, where it is a text. */
  prompt: string | null,
  /** Why nobody knows what shall be shown, for a person. */
  problem: string | null,
};

/** A skill in the host's prompt. */
export type PromptSkill = {
  /** Its name. */
  name: string,
  /** What it is for. */
  description: string,
  /** Its file. */
  file: string | null,
};

/** What the person said to a question. */
export type QuestionAnswer = {
  /** About which run. */
  run: RunId,
  /** None when the question was dismissed. */
  answer: string | null,
};

/** The runtime has the answer. */
export type QuestionAnswered = {
  /** Somebody was waiting for it. */
  taken: boolean,
};

/** Show this question to the person. Asked again while it is open, it is shown again. */
export type QuestionAsk = {
  /** About which run. */
  run: RunId,
  /** In which session; none means whichever is open. */
  session: SessionId | null,
  /** The question. */
  question: string,
};

/** The answer to [`QuestionAsk`]; what the person says comes as [`QuestionAnswer`]. */
export type QuestionShown = {
  /** False when nobody is there to answer. */
  shown: boolean,
};

/** How a call of `read` is drawn. */
export type ReadDrawing = {
  /** With the first lines of the file, folded too. */
  preview: boolean,
};

/** The answer to [`ReadingShown`]. */
export type ReadingAnchored = {
  /** The text with an anchor before each line; none where it is to stay as it is. */
  text: string | null,
};

/** A tool of the host's read something, and the main agent edits by anchors. */
export type ReadingShown = {
  /** In which session. */
  session: SessionId,
  /** The tool. */
  tool: string,
  /** From which line on, from 1, where it was told. */
  offset: number | null,
  /** What it gave. */
  text: string,
};

/** Why a run did not succeed: a code for programs, a sentence for a tired person. */
export type Reason = {
  /** Stable across versions. */
  code: ReasonCode,
  /** What happened and what to do, in one or two sentences, no secrets, no home paths. */
  message: string,
};

/** The codes a [`Reason`] can carry. */
export type ReasonCode = "busy" | "needs_clarification" | "unknown_agent" | "unknown_skill" | "broken_skill" | "disallowed_provider" | "unknown_model" | "start_up_timeout" | "inactivity_timeout" | "total_timeout" | "unavailable" | "rate_limited" | "authentication" | "context_overflow" | "refused" | "retrieval_unavailable" | "spawn_failed" | "protocol_error" | "crashed" | "empty_answer" | "malformed_answer" | "bad_input" | "too_many_calls" | "too_many_processes" | "over_budget" | "cancelled" | "tool_indeterminate" | "no_progress" | "host_gone" | "runtime_gone" | "not_resumable" | "journal_unwritable" | "journal_damaged" | "worktree_unavailable" | "message_refused" | "wait_cycle" | "gate_closed" | "gate_indeterminate" | "step_not_begun" | "id_taken" | "internal";

/** Nobody waits for this request any more; no answer is needed. */
export type RequestCancel = {
  /** The id of the request, as its sender chose it. */
  id: number,
};

/** A run that a person can go on with. */
export type ResumableRun = {
  /** Its id. */
  run: RunId,
  /** The skill or agent. */
  name: string,
  /** How the task begins. */
  task: string,
  /** The directory it works in, where it is not the session's own. */
  elsewhere: string | null,
  /** `parked`, `failed`, …; `cut off` where its runtime is dead and its session is closed. */
  state: string,
  /** When it was accepted, in milliseconds since 1970. */
  at_ms: number,
};

/** The answer to [`RunsResumable`]. */
export type ResumableRuns = {
  /** Those of the session's own workspace first, the newest first. */
  runs: Array<ResumableRun>,
};

/** A run, for ever. Sixteen characters that sort by time of acceptance: nine of milliseconds, seven of chance. */
export type RunId = string;

/** What became of a message? Answered when that is final, or as it is after a while. */
export type RunMessageAsk = {
  /** From which session. */
  session: SessionId,
  /** Which run has it. */
  run: RunId,
  /** Which message. */
  message: MessageId,
};

/** The answer to [`RunMessageAsk`]. */
export type RunMessageTold = {
  /** `queued`, `delivered`, `answered` or `expired`. */
  fate: string,
  /** Nothing more becomes of it. */
  is_final: boolean,
  /** What the sub-agent said next, where it was asked something. */
  answer: string | null,
};

/** Go on with a run that is parked or was cut off, in a new run that names it. */
export type RunResume = {
  /** In which session; the result belongs there. */
  session: SessionId,
  /** Unique; the same request sent twice means one run. */
  request: string,
  /** The run's id, or as much of the beginning as makes it the only one. */
  run: string,
};

/** The new run is accepted: it is in the journal. */
export type RunResumed = {
  /** The new run. */
  run: RunId,
  /** The run that it goes on with. */
  resumes: RunId,
  /** The skill or agent. */
  name: string,
  /** What is wanted. */
  task: string,
};

/** What a person sees of a run. */
export type RunSight = {
  /** The skill or the agent. */
  name: string,
  /** How the task begins, in one line. */
  task: string,
  /** Where it stands. */
  standing: Standing,
  /** When it was accepted, in milliseconds since 1970. */
  begun_ms: number,
  /** How long it took; none while it is not over. */
  took: string | null,
  /** The model of the last attempt; none before the first. */
  model: string | null,
  /** The number of the last attempt; 0 before the first. */
  attempt: number,
  /** What keeps it from working now. */
  waits: Waits | null,
  /** Its last tool calls, in order of their beginning. */
  calls: Array<CallSight>,
  /** Tool calls before those. */
  calls_before: number,
  /** The models that were left, each with why. */
  left: Array<string>,
  /** What the sub-agent said last. */
  words: string | null,
  /** Tokens and money so far, as far as that is known; none while nothing was used. */
  used: string | null,
  /** What the answer says and what was seen does not bear out. */
  flags: Array<string>,
  /** What was seen of files and commands, a line each, once it is over. */
  receipt: Array<string>,
};

/** Tell a sub-agent that works something: it has it before its next call of the model. */
export type RunTell = {
  /** From which session. */
  session: SessionId,
  /** What is wanted with it. */
  kind: MessageKind,
  /** How the run's id begins, then the text. The text alone means the only run of the session that is under way. */
  what: string,
  /** The main agent says it: then `what` is the text alone, and what the sub-agent says to it is asked for with `run.message`. */
  by_agent: ToldByAgent | null,
};

/** The message is in the journal. What the sub-agent says to a question comes as a notice. */
export type RunTold = {
  /** Which run. */
  run: RunId,
  /** The skill or agent. */
  name: string,
  /** The message, whose fate `impresario runs show` tells. */
  message: MessageId,
};

/** The newest runs of a session, please. */
export type RunsRecent = {
  /** Which session. */
  session: SessionId,
};

/** Which runs can a person go on with? */
export type RunsResumable = {
  /** From which session. */
  session: SessionId,
};

/** A system prompt as models were sent it. */
export type SeenPrompt = {
  /** Its text. */
  text: string,
  /** The names of the skills that the host has for it. */
  skills: Array<string>,
};

/** A tool result of the session that is an anchor. */
export type SessionAnchor = {
  /** The entry of the result; none while the host has not stored it. */
  entry: string | null,
  /** The entry before it. */
  parent: string | null,
  /** Its name. */
  name: string,
  /** The entry where the session was. */
  target: string,
  /** What was known there. */
  summary: string,
  /** The target is on the branch that the session is on. */
  on_branch: boolean,
};

/** A session ended. */
export type SessionEnd = {
  /** Which. */
  session: SessionId,
  /** `quit`, `reload`, `new`, `resume`, `fork`. */
  reason: string,
};

/** Does the result of this run stand in the session branch for good, or was it read there? */
export type SessionHasRun = {
  /** Which run. */
  run: RunId,
  /** The session meant; none means whichever is open. */
  session: SessionId | null,
};

/** The newest messages of the session's own branch, please. */
export type SessionHistory = {
  /** At most so many. */
  messages_max: number,
};

/** The answer to [`SessionHistory`], oldest first. */
export type SessionHistoryMessages = {
  /** The messages. */
  messages: Array<ChatMessage>,
};

/** One session of a host, as the host names it (in Pi: its session id). */
export type SessionId = string;

/** A name that a person gave an entry. */
export type SessionLabel = {
  /** The name. */
  name: string,
  /** The entry. */
  entry: string,
};

/** How the host is used. */
export type SessionMode = "tui" | "rpc" | "print" | "json";

/** A session began, or the extension reconnected to a new runtime. Sent again with the same id it changes nothing. */
export type SessionStart = {
  /** The session, as the host names it. */
  session: SessionId,
  /** Its file; none when the host keeps it in memory only. */
  file: string | null,
  /** The directory it works in. */
  cwd: string,
  /** How the host is used. */
  mode: SessionMode,
  /** Whether a person can be asked. */
  has_ui: boolean,
  /** Whether the person trusts the workspace; none where the host has no such notion. */
  trusted: boolean | null,
  /** The session's own model, as `provider/id`. */
  model: string | null,
  /** The host's version, where it says. */
  host_version: string | null,
  /** Why the session starts: `startup`, `reload`, `new`, `resume`, `fork`, `reconnect`. */
  reason: string,
};

/** What the person did with a question. */
export type SetupAnswer = { "did": "chose",
  /** The place. */
  place: number, } | { "did": "said",
  /** Yes. */
  yes: boolean, } | { "did": "closed" };

/** What is asked next, after these answers? The host keeps nothing but them. */
export type SetupAsk = {
  /** From which session. */
  session: SessionId,
  /** The models that the host can call. */
  models: Array<ListedModel>,
  /** The one of the session. */
  current: ListedModel | null,
  /** What the person did so far. */
  answers: Array<SetupAnswer>,
};

/** The answer to [`SetupAsk`]. */
export type SetupNext = {
  /** What is asked; none at the end. */
  question: SetupQuestion | null,
  /** What the person should know, each a sentence. */
  warnings: Array<string>,
  /** At the end: what became of it. */
  told: string | null,
};

/** What the person is asked. */
export type SetupQuestion = { "ask": "select",
  /** What is chosen. */
  title: string,
  /** What there is to choose from. */
  options: Array<string>, } | { "ask": "confirm",
  /** What is confirmed. */
  title: string,
  /** What it is about, a line each. */
  lines: Array<string>,
};

/** Cancel a run, or all runs of the session. */
export type SkillCancel = {
  /** Of which session. */
  session: SessionId,
  /** Which run; none means every run of the session. */
  run: RunId | null,
  /** Who asked, for the run's reason: `escape`, `/skill:cancel`. */
  by: string,
};

/** Cancellation is on its way; each run still ends with a delivery. */
export type SkillCancelled = {
  /** The runs that are being cancelled. */
  runs: Array<RunId>,
};

/** The answer to [`Completions`]. */
export type SkillNames = {
  /** By name. */
  skills: Array<SkillSummary>,
};

/** Run a skill or an agent. */
export type SkillRun = {
  /** From which session. */
  session: SessionId,
  /** Unique; the same request sent twice means one run. */
  request: string,
  /** The skill or the agent. */
  name: string,
  /** It is an agent. */
  agent: boolean,
  /** What is wanted. */
  task: string,
  /** What an agent is told besides. */
  context: string | null,
  /** It was typed in the host's own form: a skill of the host's is not run but refused as unknown. */
  hosts_form: boolean,
  /** The skills that the host lists itself. */
  listed: Array<ListedSkill>,
  /** It works in a git worktree of its own, whatever its definition says. */
  isolated: boolean,
  /** The main agent delegated it and waits: it runs beside what else the session has in flight. */
  delegated: boolean,
};

/** The run is accepted: it is in the journal. */
export type SkillRunAccepted = {
  /** Its id. */
  run: RunId,
};

/** One skill a person can choose. */
export type SkillSummary = {
  /** Its name. */
  name: string,
  /** What it is for, in one line. */
  description: string,
  /** Why it cannot be run. */
  problem: string | null,
  /** In the host's own form the host runs it. */
  of_host: boolean,
};

/** Where a run stands, for a person. */
export type Standing = "waiting" | "working" | "succeeded" | "failed" | "cancelled" | "parked";

/** How do things stand? */
export type StatusAsk = {
  /** From which session. */
  session: SessionId,
  /** One section by its name; empty for all. */
  section: string,
};

/** The answer to [`StatusAsk`]. What there is to complain about stands in the text too. */
export type StatusText = {
  /** For the person, several lines. */
  text: string,
};

/** A system prompt of the main agent, where it was wished for. */
export type SystemPromptSeen = {
  /** In which session. */
  session: SessionId,
  /** The model that is called, as `provider/id`. */
  model: string | null,
  /** What the host made for a turn; null where this is about a request. */
  prompt: string | null,
  /** The fields of a request that may hold a system prompt, as the provider has them. */
  payload: unknown,
  /** So many that were too long to be told were left out before. */
  left_out: number,
};

/** The four ways a run can end. */
export type TerminalState = "succeeded" | "failed" | "cancelled" | "parked";

/** Whom the main agent tells something. */
export type ToldByAgent = {
  /** The run, or how its id begins; none means the only one of the session that is under way. */
  run: string | null,
};

/** One of them is called. The host says with `request.cancel` that nobody waits for it any more. */
export type ToolAsk = {
  /** In which session. */
  session: SessionId,
  /** Its name. */
  tool: string,
  /** With what. */
  arguments: unknown,
};

/** A call of a tool by a model. */
export type ToolCall = {
  /** The id the model gave it. */
  id: string,
  /** The tool. */
  tool: string,
  /** Its arguments. */
  arguments: Record<string, unknown>,
};

/** A file that a call changed. */
export type ToolChange = {
  /** Which. */
  path: string,
  /** SHA-256 of what was there; none where there was nothing. */
  before: string | null,
  /** SHA-256 of what is there; none where nothing is. */
  after: string | null,
};

/** What a model is told of a tool. */
export type ToolDefinition = {
  /** `[A-Za-z0-9_-]+`: providers refuse anything else. */
  name: string,
  /** What it does. */
  description: string,
  /** JSON Schema of its arguments: an object. */
  parameters: Record<string, unknown>,
};

/** What a call came to. */
export type ToolDone = {
  /** For the model. */
  text: string,
  /** It failed, and the text says why. */
  failed: boolean,
  /** Beside the text. */
  pictures: Array<ToolPicture>,
  /** Files that it read and showed. */
  read: Array<string>,
  /** Files that it changed. */
  changed: Array<ToolChange>,
  /** Servers that it asked. */
  called: Array<string>,
};

/** A picture beside a result. */
export type ToolPicture = {
  /** `image/png` and the like. */
  media_type: string,
  /** Its bytes, in base64. */
  base64: string,
};

/** A tool of the host was used. */
export type ToolUsed = {
  /** In which session. */
  session: SessionId,
  /** Which. */
  tool: string,
  /** The path it was given. */
  path: string | null,
};

/** A session is about to be used: which tools are added to those of the host? */
export type ToolsOffer = {
  /** Which session. */
  session: SessionId,
};

/** The answer to [`ToolsOffer`]. */
export type ToolsTaken = {
  /** The tools; none unless somebody wished for them. */
  tools: Array<ToolDefinition>,
};

/** Which traces are there? */
export type TraceList = {
  /** From which session; its workspace holds the traces. */
  session: SessionId,
};

/** One trace a person can choose. */
export type TraceName = {
  /** Its file. */
  file: string,
  /** The skill. */
  skill: string,
  /** When the run ended, in milliseconds since 1970. */
  at_ms: number,
};

/** The answer to [`TraceList`]. */
export type TraceNames = {
  /** The newest first, at most 100. */
  traces: Array<TraceName>,
};

/** What do the traces of a skill say together? */
export type TraceReport = {
  /** From which session; its workspace holds the traces. */
  session: SessionId,
  /** The skill. */
  skill: string,
};

/** The answer to [`TraceReport`] and [`TraceView`]. What there is to complain about stands in the text too. */
export type TraceText = {
  /** For the person, several lines. */
  text: string,
};

/** What happened in one run? */
export type TraceView = {
  /** From which session; its workspace holds the traces. */
  session: SessionId,
  /** The trace's file, as the report lists it. */
  file: string,
};

/** What did the sub-agent of a run and its model say to each other? */
export type TranscriptAsk = {
  /** From which session. */
  session: SessionId,
  /** The run's id, or as much of the beginning as makes it the only one; empty for the session's newest, one that works before one that is over. */
  run: string,
  /** The mark of the page that is there already. */
  seen: string | null,
};

/** The answer to [`TranscriptAsk`]. */
export type TranscriptPage = {
  /** Which run. */
  run: RunId,
  /** What it is about, in one line. */
  title: string,
  /** All of it; none where it is as it was seen. */
  lines: Array<string> | null,
  /** Nothing more comes. */
  is_over: boolean,
  /** Changes with the lines. */
  mark: string,
};

/** A line was typed that may be ours: it begins with `/skill`. Read once, here; nobody reads it again. */
export type TypedInput = {
  /** Where. */
  session: SessionId,
  /** What, before the host expands anything. */
  text: string,
};

/** Something a person should read that is no result of a run. */
export type UiNotice = {
  /** How much it matters. */
  level: NoticeLevel,
  /** What to read. */
  text: string,
};

/** What a run is doing now. Lossy: the next one replaces it. */
export type UiProgress = {
  /** Which run. */
  run: RunId,
  /** Of which session; none means whichever is open. */
  session: SessionId | null,
  /** One short line. */
  doing: string,
  /** Tool calls begun so far. */
  tool_calls: number,
  /** When this was true, in milliseconds since 1970. */
  at_ms: number,
};

/** What a person sees of a run. Lossy: the next one replaces it. */
export type UiSight = {
  /** Which run. */
  run: RunId,
  /** Of which session; none means whichever is open. */
  session: SessionId | null,
  /** All of it. */
  sight: RunSight,
};

/** What a run waits for. */
export type Waits = {
  /** In a few words: `waits for room, 2nd in line`, `starting again. …`. */
  words: string,
  /** Until when, where that is known, in milliseconds since 1970. */
  until_ms: number | null,
};

/** The answer to [`Hello`]. */
export type Welcome = {
  /** The version spoken from now on. */
  protocol: number,
  /** The version of the runtime. */
  runtime_version: string,
  /** What this runtime can do beyond the protocol version, by name. */
  capabilities: Array<string>,
  /** The longest line it reads, in bytes. */
  line_bytes_max: number,
};

/** The answer to [`WishesAsk`]. Silence is no wish. */
export type Wishes = {
  /** The system prompt of each turn is told. */
  turn_prompts: boolean,
  /** What stands in requests to the provider as a system prompt is told. */
  request_prompts: boolean,
  /** How the host's `bash` is drawn; null: as the host does. */
  bash: BashDrawing | null,
  /** How its `read` is drawn; null: as the host does. */
  read: ReadDrawing | null,
  /** How a sub-agent's run is drawn, folded. */
  agents: AgentDisplay,
};

/** A session is about to be used: what is wished of it? */
export type WishesAsk = {
  /** Which session. */
  session: SessionId,
};

export const PROTOCOL_VERSION = 1;
export const PROTOCOL_VERSION_OLDEST = 1;
export const LINE_BYTES_MAX = 4194304;
export const DEPTH_MAX = 64;
export const HOST_MODEL = "session";

/** What a person reads who has no skill to pick from. */
export const NO_SKILLS = "No skills available. Add skills to ~/.pi/agent/skills/ or .pi/skills/";

/** The codes an error can carry. */
export const ERROR_CODES = {
  Parse: -32700,
  InvalidRequest: -32600,
  UnknownMethod: -32601,
  InvalidParams: -32602,
  Internal: -32603,
  Refused: -32001,
  NotReady: -32002,
  LineTooLong: -32003,
  TooDeep: -32004,
  Busy: -32005,
  NoCommonVersion: -32006,
  NobodyThere: -32007,
  Model: -32008,
  Cancelled: -32800,
} as const;

/** How long the sender of a request waits, and what silence means. */
export const METHODS = {
  "hello": { deadlineMs: 10000, unanswered: "told" },
  "ping": { deadlineMs: 5000, unanswered: "fails" },
  "input": { deadlineMs: 5000, unanswered: "told" },
  "skill.run": { deadlineMs: 30000, unanswered: "told" },
  "chain.run": { deadlineMs: 30000, unanswered: "told" },
  "chain.text": { deadlineMs: 10000, unanswered: "told" },
  "runs.resumable": { deadlineMs: 5000, unanswered: "open" },
  "run.resume": { deadlineMs: 60000, unanswered: "told" },
  "run.tell": { deadlineMs: 20000, unanswered: "told" },
  "run.message": { deadlineMs: 20000, unanswered: "told" },
  "skill.cancel": { deadlineMs: 5000, unanswered: "told" },
  "question.answer": { deadlineMs: 5000, unanswered: "told" },
  "markers.plan": { deadlineMs: 50, unanswered: "open" },
  "guidance": { deadlineMs: 2000, unanswered: "open" },
  "context.cuts": { deadlineMs: 1000, unanswered: "open" },
  "context.status": { deadlineMs: 100, unanswered: "open" },
  "completions": { deadlineMs: 2000, unanswered: "open" },
  "trace.report": { deadlineMs: 5000, unanswered: "told" },
  "trace.view": { deadlineMs: 5000, unanswered: "told" },
  "trace.list": { deadlineMs: 2000, unanswered: "open" },
  "delegation": { deadlineMs: 1000, unanswered: "open" },
  "runs.recent": { deadlineMs: 2000, unanswered: "open" },
  "run.transcript": { deadlineMs: 5000, unanswered: "told" },
  "status": { deadlineMs: 10000, unanswered: "told" },
  "setup.models": { deadlineMs: 10000, unanswered: "told" },
  "capabilities.offer": { deadlineMs: 3000, unanswered: "open" },
  "capability.call": { deadlineMs: 20000, unanswered: "told" },
  "capability.prompt": { deadlineMs: 250, unanswered: "open" },
  "context.offer": { deadlineMs: 1000, unanswered: "open" },
  "context.call": { deadlineMs: 3000, unanswered: "told" },
  "tools.offer": { deadlineMs: 1000, unanswered: "open" },
  "tool.anchors": { deadlineMs: 1000, unanswered: "open" },
  "tool.call": { deadlineMs: 140000, unanswered: "told" },
  "session.wishes": { deadlineMs: 1000, unanswered: "open" },
  "question.ask": { deadlineMs: 5000, unanswered: "fails" },
  "model.complete": { deadlineMs: 180000, unanswered: "fails" },
  "models.check": { deadlineMs: 5000, unanswered: "fails" },
  "delivery.offer": { deadlineMs: 10000, unanswered: "fails" },
  "session.history": { deadlineMs: 2000, unanswered: "fails" },
  "session.has_run": { deadlineMs: 2000, unanswered: "fails" },
} as const;

/** What the extension may ask. */
export interface HostRequests {
  "hello": { params: Hello; result: Welcome };
  "ping": { params: Ping; result: Pong };
  "input": { params: TypedInput; result: InputReading };
  "skill.run": { params: SkillRun; result: SkillRunAccepted };
  "chain.run": { params: ChainRun; result: ChainRunAccepted };
  "chain.text": { params: ChainTextAsk; result: ChainText };
  "runs.resumable": { params: RunsResumable; result: ResumableRuns };
  "run.resume": { params: RunResume; result: RunResumed };
  "run.tell": { params: RunTell; result: RunTold };
  "run.message": { params: RunMessageAsk; result: RunMessageTold };
  "skill.cancel": { params: SkillCancel; result: SkillCancelled };
  "question.answer": { params: QuestionAnswer; result: QuestionAnswered };
  "markers.plan": { params: MarkerSkeleton; result: MarkerPlan };
  "guidance": { params: GuidanceAsk; result: GuidanceGiven };
  "context.cuts": { params: CutsAsk; result: ContextCuts };
  "context.status": { params: ContextStanding; result: ContextSaid };
  "completions": { params: Completions; result: SkillNames };
  "trace.report": { params: TraceReport; result: TraceText };
  "trace.view": { params: TraceView; result: TraceText };
  "trace.list": { params: TraceList; result: TraceNames };
  "delegation": { params: DelegationAsk; result: Delegation };
  "runs.recent": { params: RunsRecent; result: ResumableRuns };
  "run.transcript": { params: TranscriptAsk; result: TranscriptPage };
  "status": { params: StatusAsk; result: StatusText };
  "setup.models": { params: SetupAsk; result: SetupNext };
  "capabilities.offer": { params: CapabilitiesOffer; result: CapabilitiesTaken };
  "capability.call": { params: CapabilityCall; result: CapabilityDone };
  "capability.prompt": { params: PromptAsk; result: PromptPlan };
  "context.offer": { params: ContextOffer; result: ContextTaken };
  "context.call": { params: ContextAsk; result: ContextDone };
  "tools.offer": { params: ToolsOffer; result: ToolsTaken };
  "tool.anchors": { params: ReadingShown; result: ReadingAnchored };
  "tool.call": { params: ToolAsk; result: ToolDone };
  "session.wishes": { params: WishesAsk; result: Wishes };
}

/** What the runtime may ask. */
export interface RuntimeRequests {
  "ping": { params: Ping; result: Pong };
  "question.ask": { params: QuestionAsk; result: QuestionShown };
  "model.complete": { params: ModelRequest; result: ModelReply };
  "models.check": { params: ModelsCheck; result: ModelsChecked };
  "delivery.offer": { params: DeliveryOffer; result: OfferReceipt };
  "session.history": { params: SessionHistory; result: SessionHistoryMessages };
  "session.has_run": { params: SessionHasRun; result: HasRun };
}

/** What the extension may say. */
export interface HostNotifications {
  "request.cancel": RequestCancel;
  "session.start": SessionStart;
  "session.end": SessionEnd;
  "event": ObservedEvents;
  "delivery.acknowledged": DeliveryAcknowledged;
  "capability.used": ToolUsed;
  "prompt.seen": SystemPromptSeen;
}

/** What the runtime may say. */
export interface RuntimeNotifications {
  "request.cancel": RequestCancel;
  "ui.progress": UiProgress;
  "ui.sight": UiSight;
  "ui.notice": UiNotice;
}
