//! What a program says to spawn a sub-agent.

use crate::skills::SkillSettings;
use impresario_actors::journal::RuntimeId;
use impresario_policies::agents::{built_in_agents, find_built_in_agent, nearest_agent_name};
use impresario_policies::domain::{
    Briefing, Clocks, Origin, Persistence, Reason, ReasonCode, Retrieval, RunId, RunRequest, RunTerms,
    SessionId, WhatToRun,
};
use impresario_policies::fallback::CutTool;
use impresario_policies::judge_models::who_judges;
pub use impresario_policies::offline::OFFLINE_MODEL;
use impresario_policies::overflow_memory::OverflowSettings;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The ceiling of a tool result (the peer's `overflowCeilingBytes`).
const OVERFLOW_CEILING_BYTES: u64 = 25_000;
/// The cap of an answer (the peer's `finalOutputMaxChars`).
const ANSWER_CHARS_MAX: usize = 120_000;
/// The runner that needs nothing installed.
pub const EMBEDDED_RUNNER: &str = "embedded";

/// The runner that nests a real Pi.
pub const PI_RUNNER: &str = "pi";

/// What a runtime fills in where a sub-agent does not say.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The kind of host.
    pub host: String,
    /// Where sub-agents work.
    pub workspace: PathBuf,
    /// Where nested sessions are kept.
    pub sessions: PathBuf,
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
}

/// A sub-agent to spawn. Everything has a default but the agent and the task.
#[derive(Debug, Clone)]
pub struct SubAgent {
    agent: String,
    task: String,
    workspace: Option<PathBuf>,
    chain: Vec<String>,
    runner: String,
    tools: Option<Vec<String>>,
    more_tools: Vec<String>,
    briefing: Briefing,
    routing_model: Option<String>,
    clocks: Clocks,
    persistence: Persistence,
    temperature: Option<f64>,
    session: Option<SessionId>,
    resumes: Option<RunId>,
    trace_directory: Option<String>,
    overflow_ceiling_bytes: u64,
    answer_chars_max: usize,
    terms: RunTerms,
    retrieval: Retrieval,
}

impl SubAgent {
    /// A sub-agent of the kind `agent`.
    pub fn new(agent: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            task: task.into(),
            workspace: None,
            chain: vec![OFFLINE_MODEL.to_string()],
            runner: EMBEDDED_RUNNER.to_string(),
            tools: None,
            more_tools: Vec::new(),
            briefing: Briefing::Judged {
                passes_max: 2,
                questions_max: 2,
                model: OFFLINE_MODEL.to_string(),
            },
            routing_model: None,
            clocks: Clocks::default(),
            persistence: Persistence::default(),
            temperature: None,
            session: None,
            resumes: None,
            trace_directory: None,
            terms: RunTerms::default(),
            overflow_ceiling_bytes: OVERFLOW_CEILING_BYTES,
            answer_chars_max: ANSWER_CHARS_MAX,
            retrieval: Retrieval::default(),
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
        self.chain = models.into_iter().map(Into::into).collect();
        self
    }

    /// The runner: `embedded` or `pi`.
    pub fn runner(mut self, runner: impl Into<String>) -> Self {
        self.runner = runner.into();
        self
    }

    /// Instead of the agent's tools, these.
    pub fn tools<Name: Into<String>>(mut self, tools: impl IntoIterator<Item = Name>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Besides the agent's tools, this one.
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.more_tools.push(tool.into());
        self
    }

    /// The task is the goal as it stands; no actor, no judge.
    pub fn unjudged(mut self) -> Self {
        self.briefing = Briefing::Direct;
        self
    }

    /// The model that writes the brief and judges it. Where none is named, the offline model does so for itself, and
    /// the task of any other model is its goal as it stands.
    pub fn routing_model(mut self, routing_model: impl Into<String>) -> Self {
        self.routing_model = Some(routing_model.into());
        self
    }

    /// From admission to the end.
    pub fn timeout(mut self, total: Duration) -> Self {
        self.clocks.total = total;
        self
    }

    /// Until the first event of an attempt.
    pub fn startup_timeout(mut self, start_up: Duration) -> Self {
        self.clocks.start_up = start_up;
        self
    }

    /// Between two events; paused while a tool or an announced retry runs.
    pub fn inactivity_timeout(mut self, inactivity: Duration) -> Self {
        self.clocks.inactivity = inactivity;
        self
    }

    /// Between being asked to stop and being killed.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.clocks.grace = grace;
        self
    }

    /// How often one model is tried while its provider is unavailable, and the first wait.
    pub fn tries_per_model(mut self, tries: u32, wait_first: Duration) -> Self {
        self.persistence.tries_per_model_max = tries;
        self.persistence.wait_first = wait_first;
        self
    }

    /// What happens when a tool that must not run twice was cut off.
    pub fn when_a_tool_is_cut(mut self, cut_tool: CutTool) -> Self {
        self.persistence.cut_tool = cut_tool;
        self
    }

    /// Sampling temperature, where the runner supports it.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
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
        self.trace_directory = Some(directory.into());
        self
    }

    /// What answers its questions about the workspace; the search in this process by default.
    pub fn retrieval(mut self, retrieval: Retrieval) -> Self {
        self.retrieval = retrieval;
        self
    }

    /// A result of a tool above so many bytes is kept aside, and a preview stands in its place.
    pub fn result_ceiling(mut self, bytes: u64) -> Self {
        self.overflow_ceiling_bytes = bytes;
        self
    }

    /// The same for one tool.
    pub fn tool_ceiling(mut self, tool: impl Into<String>, bytes: u64) -> Self {
        self.terms.results.ceilings.insert(tool.into(), bytes);
        self
    }

    /// What is kept aside, and how much of it is shown.
    pub fn context_memory(mut self, memory: OverflowSettings) -> Self {
        self.terms.results.memory = memory;
        self
    }

    /// The limits that settings files give skills hold for this one too.
    pub(crate) fn limits_of(mut self, settings: &SkillSettings) -> Self {
        self.briefing = settings.briefing.clone();
        self.clocks = settings.clocks;
        self.temperature = settings.temperature;
        self.overflow_ceiling_bytes = settings.overflow_ceiling_bytes;
        self.terms.results = settings.results.clone();
        self.answer_chars_max = settings.answer_chars_max;
        self.retrieval = settings.retrieval.clone();
        self.terms = RunTerms {
            history: settings.history,
            answer: settings.answer,
            trace: settings.trace,
            log_prompt_prefix: settings.log_prompt_prefix,
            ..self.terms
        };
        self
    }

    /// Where traces go is said by them too.
    pub(crate) fn traces_of(mut self, settings: &SkillSettings) -> Self {
        self.trace_directory.clone_from(&settings.trace_directory);
        self
    }

    pub(super) fn into_request(self, defaults: &Defaults) -> Result<RunRequest, Reason> {
        let Some(agent) = find_built_in_agent(&self.agent) else {
            return Err(unknown_agent(&self.agent));
        };
        let rules_run = rules_run(&self.runner, &self.chain);
        let tools = self.tools.unwrap_or_else(|| agent.tools.clone());
        Ok(RunRequest {
            what: WhatToRun::Agent(self.agent),
            task: self.task,
            origin: Origin {
                host: defaults.host.clone(),
                session: self.session,
                resumes: self.resumes,
            },
            instructions: agent.instructions,
            tools: self
                .terms
                .results
                .memory
                .offered([tools, self.more_tools].concat()),
            chain: self.chain,
            runner: self.runner,
            workspace: self.workspace.unwrap_or_else(|| defaults.workspace.clone()),
            briefing: who_judges(self.briefing, self.routing_model, rules_run),
            clocks: self.clocks,
            persistence: self.persistence,
            continues: None,
            temperature: self.temperature,
            overflow_ceiling_bytes: self.overflow_ceiling_bytes,
            answer_chars_max: self.answer_chars_max,
            trace_directory: self.trace_directory,
            group: None,
            terms: self.terms,
            retrieval: self.retrieval,
        })
    }
}

/// Nobody but the offline model runs.
pub(crate) fn rules_run(runner: &str, chain: &[String]) -> bool {
    runner == EMBEDDED_RUNNER && chain.iter().all(|model| model == OFFLINE_MODEL)
}

fn unknown_agent(name: &str) -> Reason {
    let known = built_in_agents()
        .into_iter()
        .map(|agent| agent.name)
        .collect::<Vec<_>>()
        .join(", ");
    let nearest = nearest_agent_name(name)
        .map(|nearest| format!(" Did you mean {nearest:?}?"))
        .unwrap_or_default();
    let name = name.chars().take(60).collect::<String>();
    Reason {
        code: ReasonCode::UnknownAgent,
        message: format!("There is no agent called {name:?}.{nearest} There are: {known}."),
    }
}
