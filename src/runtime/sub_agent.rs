//! What a program says to spawn a sub-agent.

use crate::agents::{AgentFiles, AgentPlaces};
use crate::skills::{SpawnSettings, today};
use impresario_actors::journal::RuntimeId;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::answer_schema::AnswerSchema;
use impresario_policies::domain::{
    AdmissionTerms, Budget, CacheTerms, CoolDownSettings, CutTool, EarlierMessage, Given, GuidanceTerms,
    Isolation, Origin, OverflowSettings, Reason, ReasonCode, Retrieval, RunId, RunRequest, SessionId,
    TraceTerms,
};
use impresario_policies::given::{read_picture, refuse_given};
pub use impresario_policies::offline::OFFLINE_MODEL;
pub use impresario_policies::run_request::{EMBEDDED_RUNNER, PI_RUNNER};
use impresario_policies::run_request::{RunAsk, refuse_isolation, run_request, runner_tools};
use impresario_policies::settings::RunSettings;
use impresario_policies::tool_policy::Mutability;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a runtime fills in where a sub-agent does not say.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The kind of host.
    pub host: String,
    /// Where sub-agents work.
    pub workspace: PathBuf,
    /// Where nested sessions are kept.
    pub sessions: PathBuf,
    /// Where answers are kept whole that are cut for whoever asked.
    pub answers: PathBuf,
    /// Where other processes leave wishes.
    pub wishes: PathBuf,
    /// The session the host has open.
    pub session: Arc<Mutex<Option<SessionId>>>,
    /// The runs of other sessions that a person wants to go on with here.
    pub wanted: Arc<Mutex<BTreeSet<RunId>>>,
    /// Actor and judge reach models of providers.
    pub has_providers: bool,
    /// This runtime, as the owner of runs.
    pub runtime: RuntimeId,
    /// A result counts as taken when the program has read it.
    pub taken_when_read: bool,
    /// Who can be asked for by name; the workspace is the sub-agent's.
    pub agents: AgentPlaces,
}

/// A sub-agent to spawn. Everything has a default but the agent and the task.
#[derive(Debug, Clone)]
pub struct SubAgent {
    agent: Agent,
    /// Where its agent is looked for; none for where the runtime looks.
    agents: Option<AgentPlaces>,
    task: String,
    workspace: Option<PathBuf>,
    session: Option<SessionId>,
    resumes: Option<RunId>,
    more_tools: Vec<String>,
    project_instructions: String,
    guidance: GuidanceTerms,
    chain: Option<Vec<String>>,
    timeout: Option<Duration>,
    isolation: Option<Isolation>,
    trusted: bool,
    given: Given,
    /// What was said of it cannot be used.
    refused: Option<Reason>,
    spawn: SpawnSettings,
}

#[derive(Debug, Clone)]
enum Agent {
    Named(String),
    Defined(Box<AgentDefinition>),
}

impl SubAgent {
    /// A sub-agent of the kind `agent`: one that the runtime was given, built in, or of a file
    /// ([`RuntimeBuilder::agent_files`](super::RuntimeBuilder::agent_files)).
    pub fn new(agent: impl Into<String>, task: impl Into<String>) -> Self {
        Self::of(Agent::Named(agent.into()), task)
    }

    /// One of the program's own kind.
    pub fn defined(agent: AgentDefinition, task: impl Into<String>) -> Self {
        Self::of(Agent::Defined(Box::new(agent)), task)
    }

    fn of(agent: Agent, task: impl Into<String>) -> Self {
        // A program that does not say where traces go wants none.
        let mut run = RunSettings {
            trace_directory: None,
            ..RunSettings::default()
        };
        run.terms.trace = TraceTerms::default();
        Self {
            agent,
            agents: None,
            task: task.into(),
            workspace: None,
            session: None,
            resumes: None,
            more_tools: Vec::new(),
            project_instructions: String::new(),
            guidance: GuidanceTerms::default(),
            chain: None,
            timeout: None,
            isolation: None,
            trusted: true,
            given: Given::default(),
            refused: None,
            spawn: SpawnSettings {
                run,
                ..SpawnSettings::default()
            },
        }
    }

    /// One that looks for answers in a workspace and changes nothing.
    pub fn explore(task: impl Into<String>) -> Self {
        Self::new("explore", task)
    }

    /// Works in this directory.
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// The models, in order of preference: `provider/id`, or `offline`.
    pub fn chain<Name: Into<String>>(mut self, models: impl IntoIterator<Item = Name>) -> Self {
        self.chain = Some(models.into_iter().map(Into::into).collect());
        self
    }

    /// The runner: `embedded` or `pi`.
    pub fn runner(mut self, runner: impl Into<String>) -> Self {
        self.spawn.means.runner = runner.into();
        self
    }

    /// Instead of the agent's tools, these.
    pub fn tools<Name: Into<String>>(mut self, tools: impl IntoIterator<Item = Name>) -> Self {
        self.spawn.means.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Besides the agent's tools, this one.
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.more_tools.push(tool.into());
        self
    }

    /// The task is the goal as it stands; no actor, no judge.
    pub fn unjudged(mut self) -> Self {
        self.spawn.means.judged = false;
        self
    }

    /// The model that writes the brief and judges it. Where none is named, the offline model does so for itself, and
    /// the task of any other model is its goal as it stands.
    pub fn routing_model(mut self, routing_model: impl Into<String>) -> Self {
        self.spawn.run.routing_model = Some(routing_model.into());
        self
    }

    /// From admission to the end.
    pub fn timeout(mut self, total: Duration) -> Self {
        self.timeout = Some(total);
        self
    }

    /// Where it works, whatever its agent says. With [`Isolation::Worktree`] what it changes becomes a patch
    /// ([`Outcome::projection`](super::Outcome), `impresario worktrees apply`).
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Until the first event of an attempt.
    pub fn startup_timeout(mut self, start_up: Duration) -> Self {
        self.spawn.run.clocks.start_up = start_up;
        self
    }

    /// Between two events; paused while a tool or an announced retry runs.
    pub fn inactivity_timeout(mut self, inactivity: Duration) -> Self {
        self.spawn.run.clocks.inactivity = inactivity;
        self
    }

    /// Between being asked to stop and being killed.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.spawn.run.clocks.grace = grace;
        self
    }

    /// What was said before the task. The conversation goes on with it; the embedded runner only.
    pub fn history(mut self, messages: impl IntoIterator<Item = EarlierMessage>) -> Self {
        self.given.history.extend(messages);
        self
    }

    /// A picture that belongs to the task, from its bytes: PNG, JPEG, GIF or WebP. The embedded runner only, with a model
    /// that sees. What is none of these is refused when the run is spawned.
    pub fn picture(mut self, bytes: impl AsRef<[u8]>) -> Self {
        match read_picture(bytes.as_ref()) {
            Ok(picture) => self.given.pictures.push(picture),
            Err(reason) => self.refused = self.refused.or(Some(reason)),
        }
        self
    }

    /// How often one model is tried while its provider is unavailable or out of reach, and the first wait.
    pub fn tries_per_model(mut self, tries: u32, wait_first: Duration) -> Self {
        self.spawn.run.persistence.tries_per_model_max = tries;
        self.spawn.run.persistence.unreached_tries_max = tries;
        self.spawn.run.persistence.wait_first = wait_first;
        self
    }

    /// How many work beside it, whatever is set; a width of the program holds over it.
    pub fn admission(mut self, terms: AdmissionTerms) -> Self {
        self.spawn.run.terms.admission = terms;
        self
    }

    /// When a model that failed it, or others of this runtime, is passed over.
    pub fn cool_down(mut self, settings: CoolDownSettings) -> Self {
        self.spawn.run.persistence.cool_down = settings;
        self
    }

    /// How its requests use the provider's prompt cache.
    pub fn cache(mut self, terms: CacheTerms) -> Self {
        self.spawn.run.terms.cache = terms;
        self
    }

    /// What happens when a tool that must not run twice was cut off.
    pub fn when_a_tool_is_cut(mut self, cut_tool: CutTool) -> Self {
        self.spawn.run.persistence.cut_tool = cut_tool;
        self
    }

    /// What it may spend, alone and together with others of its group, its session and the day, whatever is set.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.spawn.run.terms.budget = budget;
        self
    }

    /// It may cost at most so many US dollars, whatever is set. A call that does not fit any more is not made: the run
    /// is parked with what there is.
    pub fn max_usd(mut self, dollars: f64) -> Self {
        let budget = &mut self.spawn.run.terms.budget;
        (budget.run.usd, budget.tree.usd) = (Some(dollars), Some(dollars));
        self
    }

    /// It may take at most so many tokens of every kind.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        let budget = &mut self.spawn.run.terms.budget;
        (budget.run.tokens, budget.tree.tokens) = (Some(tokens), Some(tokens));
        self
    }

    /// Sampling temperature, where the runner supports it.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.spawn.run.temperature = Some(temperature);
        self
    }

    /// The answer is one JSON value that conforms to this JSON Schema, for
    /// [`Outcome::answer_as`](super::Outcome::answer_as). A sub-agent whose answer does not is told what is wrong, twice at
    /// most; then it is the next model's turn. Needs the embedded runner.
    pub fn answer_schema(mut self, schema: &serde_json::Value) -> Self {
        self.spawn.run.terms.answer_schema = Some(schema.to_string());
        self
    }

    /// The session of the program that waits for the result; a runtime with that session goes on with the run.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(SessionId(session.into()));
        self
    }

    /// The parked run this one continues.
    pub fn resuming(mut self, run: RunId) -> Self {
        self.resumes = Some(run);
        self
    }

    /// Writes a trace file into this directory of the workspace.
    pub fn trace_directory(mut self, directory: impl Into<String>) -> Self {
        self.spawn.run.trace_directory = Some(directory.into());
        self
    }

    /// What answers its questions about the workspace; the search in this process by default.
    pub fn retrieval(mut self, retrieval: Retrieval) -> Self {
        self.spawn.run.retrieval = retrieval;
        self
    }

    /// A result of a tool above so many bytes is kept aside, and a preview stands in its place.
    pub fn result_ceiling(mut self, bytes: u64) -> Self {
        self.spawn.run.overflow_ceiling_bytes = bytes;
        self
    }

    /// The same for one tool.
    pub fn tool_ceiling(mut self, tool: impl Into<String>, bytes: u64) -> Self {
        self.spawn.run.terms.results.ceilings.insert(tool.into(), bytes);
        self
    }

    /// What is kept aside, and how much of it is shown.
    pub fn context_memory(mut self, memory: OverflowSettings) -> Self {
        self.spawn.run.terms.results.memory = memory;
        self
    }

    /// As `spawn` says, in this workspace. Waits for files.
    pub(crate) fn spawned_with(mut self, spawn: &SpawnSettings, workspace: &Path, trusted: bool) -> Self {
        self.project_instructions = spawn.project_instructions(workspace, trusted);
        self.guidance = spawn.guidance(trusted);
        self.workspace = Some(workspace.to_path_buf());
        self.agents = Some(spawn.agent_places(workspace, AgentFiles::where_trusted(trusted)));
        self.chain = Some(spawn.means.chain.clone());
        self.spawn = spawn.clone();
        self.trusted = trusted;
        self
    }

    /// Somebody said how long it may take.
    pub(super) fn has_own_time(&self) -> bool {
        self.timeout.is_some()
    }

    /// Files may have to be read for it.
    pub(super) fn reads_files(&self, defaults: &Defaults) -> bool {
        let places = self.agents.as_ref().unwrap_or(&defaults.agents);
        matches!(self.agent, Agent::Named(_)) && places.files != AgentFiles::None
    }

    /// Waits for files where it [reads](Self::reads_files) some.
    pub(super) fn into_request(self, defaults: &Defaults) -> Result<RunRequest, Reason> {
        if let Some(reason) = self.refused {
            return Err(reason);
        }
        let workspace = self.workspace.unwrap_or_else(|| defaults.workspace.clone());
        let places = self.agents.unwrap_or_else(|| AgentPlaces {
            workspace: workspace.clone(),
            ..defaults.agents.clone()
        });
        let mut definition = match self.agent {
            Agent::Defined(definition) => *definition,
            Agent::Named(name) => places.find_one(&name)?,
        };
        let mut means = self.spawn.means;
        // What the agent asks for holds where nobody named a model by hand.
        means.models_chosen |= self.chain.is_none() && !definition.models.is_empty();
        match self.chain {
            Some(chain) => means.chain = chain,
            None if means.models_chosen => means.chain.clear(),
            None => {}
        }
        if means.tools.is_some() || !self.more_tools.is_empty() {
            // A program that names tools itself knows what they do.
            definition.mutability = Mutability::FullAccess;
        }
        let tools = means.tools.take().or(definition.tools);
        let tools = tools.unwrap_or_else(|| runner_tools(&means.runner));
        definition.tools = Some([tools, self.more_tools].concat());
        definition.isolation = self.isolation.unwrap_or(definition.isolation);
        if let Some(reason) = refuse_isolation(definition.isolation, self.trusted) {
            return Err(reason);
        }
        definition.total_timeout = self.timeout.or(definition.total_timeout);
        let ask = RunAsk {
            task: self.task,
            origin: Origin {
                host: defaults.host.clone(),
                session: self.session,
                resumes: self.resumes,
            },
            workspace,
            session_model: None,
            session_file: None,
            project_instructions: self.project_instructions,
            guidance: self.guidance,
            today: today(),
        };
        let mut run = self.spawn.run;
        if let Some(schema) = &run.terms.answer_schema {
            check_form(schema, &means.runner)?;
            // A program reads it: nothing is cut out of it, and its length has a limit of its own.
            run.terms.answer.sanitize = false;
        }
        if self.given != Given::default() {
            if let Some(reason) = refuse_given(&self.given, &means.runner) {
                return Err(reason);
            }
            run.terms.given = Some(Box::new(self.given));
        }
        run_request(definition, ask, means, run)
    }
}

/// Whether an answer can be had in this form.
fn check_form(schema: &str, runner: &str) -> Result<(), Reason> {
    let refused = |message| Reason {
        code: ReasonCode::MalformedAnswer,
        message,
    };
    if runner != EMBEDDED_RUNNER {
        return Err(refused(format!(
            "An answer in a form that was asked for needs the runner `{EMBEDDED_RUNNER}`, and this is `{runner}`."
        )));
    }
    match AnswerSchema::read(schema) {
        Ok(_) => Ok(()),
        Err(why) => Err(refused(format!(
            "The schema of the answer cannot be used: {why}."
        ))),
    }
}
