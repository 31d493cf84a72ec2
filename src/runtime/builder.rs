//! How a runtime begins.

use super::Runtime;
use super::hosts::Program;
use super::inside::{COMMANDS_AHEAD_MAX, Inside, Seen, Thread, lock, serve};
use super::local_tools::{ToolSettings, local_tools};
use super::program::{ProgramHost, ProgramModel, SharedHost, SharedModel};
use super::retention::{
    forget_answers, forget_old_files, forget_old_runs, forget_sessions, settle_worktrees,
};
use super::state_directory::{
    CAPABILITIES, SESSIONS, StateDirectoryError, answers, cache_directory, logs, make_private,
    state_directory, worktrees,
};
use super::sub_agent::{Defaults, EMBEDDED_RUNNER, PI_RUNNER};
use super::unread::Acknowledgement;
use super::wish::{self, wishes};
use crate::agents::AgentFiles;
use crate::chaos::{Chaos, Plan, Record};
use crate::models::OfflineOr;
use crate::own_keeper;
use crate::rule_files::DiskRules;
use crate::skills::SpawnSettings;
use crate::wiring::{OpenContext, Outside, TreeSettings, grow};
use futures_util::FutureExt;
use impresario_actors::answer_files::AnswerFiles;
use impresario_actors::capability_index::CapabilityStore;
use impresario_actors::context::local::HeavyWork;
use impresario_actors::context::local::LocalContextEngine;
use impresario_actors::context::mcp::{EngineSettings, McpContextEngine};
use impresario_actors::file_looks::DiskLooks;
use impresario_actors::gates::{CommandGates, GateSettings};
use impresario_actors::gateways::Tools;
use impresario_actors::gateways::{
    Entropy, Host, ModelClient, SubAgentRunner, SystemEntropy, SystemWallClock, WallClock, free_memory_now,
};
use impresario_actors::journal::{JournalAccess, OpenError, RuntimeId, RuntimeIdentity, SqliteStore, Writer};
use impresario_actors::models::ProviderModels;
use impresario_actors::processes::{ContainmentSetting, RUN_MARKER, contain, find_keeper};
use impresario_actors::program::ProgramThreads;
use impresario_actors::prompt_log::PromptFile;
use impresario_actors::runners::embedded::{EmbeddedParts, EmbeddedRunner, EmbeddedTool, RegisteredTool};
use impresario_actors::runners::pi::{PROMPTS_DIRECTORY, PiRunner, PiSettings};
use impresario_actors::session_index::SessionStore;
use impresario_actors::supervision::{
    Root, RootSettings, Stall, SupervisorSettings, Watchdog, WatchdogSettings, install_panic_hook,
};
use impresario_actors::trace_files::FileShelf;
use impresario_actors::worktrees::GitWorktrees;
use impresario_policies::added_tools::{AddedTool, Reaches};
use impresario_policies::admission::AdmissionSettings;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::domain::{RunId, SessionId};
use impresario_policies::network::services::NetworkSettings;
use impresario_policies::prompt_log::PromptLogSettings;
use impresario_policies::providers::has_any_key;
use impresario_policies::settings::Configured;
use impresario_policies::worker_pool::PoolSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A context engine that takes longer makes a person wait too long for the first sign of life.
const ENGINE_READY_WITHIN: Duration = Duration::from_secs(15);

/// Restarts of one actor in a row without a newly committed step; then its supervisor gives up (promise P8).
const RESTARTS_WITHOUT_PROGRESS_MAX: u32 = 5;

/// Why a runtime did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state directory.
    #[error(transparent)]
    StateDirectory(#[from] StateDirectoryError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// A thread.
    #[error("start a thread of the runtime: {0}")]
    Thread(#[from] std::io::Error),
    /// It ended before it was ready.
    #[error("start the runtime: its thread ended before it was ready")]
    Ended,
}

/// Where the host lives.
enum HostKind {
    /// On the thread of the actors.
    Ours(HostFactory),
    /// On threads of the program.
    Programs(SharedHost),
}

/// Makes a host on the thread of the actors.
type HostFactory = Box<dyn FnOnce() -> Rc<dyn Host> + Send>;

/// Says how a runtime shall be.
pub struct RuntimeBuilder {
    state_directory: Option<PathBuf>,
    workspace: PathBuf,
    host_kind: String,
    host: HostKind,
    acknowledgement: Acknowledgement,
    model: SharedModel,
    has_providers: bool,
    tools: Vec<RegisteredTool>,
    added_tools: Option<Arc<dyn Tools>>,
    tool_settings: ToolSettings,
    pi: Option<PathBuf>,
    keeper: Option<PathBuf>,
    containment: ContainmentSetting,
    pool: PoolSettings,
    prompt_log: PromptLogSettings,
    admission: AdmissionSettings,
    restarts: SupervisorSettings,
    session: Arc<Mutex<Option<SessionId>>>,
    taken_results: Arc<Mutex<BTreeSet<RunId>>>,
    wanted: Arc<Mutex<BTreeSet<RunId>>>,
    spawn: SpawnSettings,
    agents: Vec<AgentDefinition>,
    agent_files: AgentFiles,
    chaos: Option<Plan>,
    chaos_ended: Option<Box<dyn FnOnce(Record) + Send>>,
    own_process: bool,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self {
            state_directory: None,
            workspace: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            host_kind: "embedder".to_string(),
            host: HostKind::Ours(Box::new(|| Rc::new(Program))),
            acknowledgement: Acknowledgement::WhenRead,
            model: Arc::new(OfflineOr::new(ProviderModels::new())),
            has_providers: has_any_key(|name| std::env::var(name).ok()),
            tools: Vec::new(),
            added_tools: None,
            tool_settings: ToolSettings::default(),
            pi: None,
            keeper: None,
            containment: ContainmentSetting::default(),
            pool: Configured::default().pool,
            prompt_log: PromptLogSettings::default(),
            admission: AdmissionSettings::default(),
            restarts: SupervisorSettings {
                without_progress_max: Some(RESTARTS_WITHOUT_PROGRESS_MAX),
                ..SupervisorSettings::default()
            },
            session: Arc::default(),
            taken_results: Arc::default(),
            wanted: Arc::default(),
            spawn: SpawnSettings::default(),
            agents: Vec::new(),
            agent_files: AgentFiles::None,
            chaos: None,
            chaos_ended: None,
            own_process: false,
        }
    }
}

impl RuntimeBuilder {
    /// Where the journal and everything else is kept; the user's state directory by default.
    pub fn state_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state_directory = Some(directory.into());
        self
    }

    /// Where sub-agents work when they do not say; the current directory by default.
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = workspace.into();
        self
    }

    /// A host of another kind: `kind` goes into the journal. What it is told comes in its order, over a thread of its
    /// own; whatever it is asked has a thread for as long as the answer takes.
    pub fn host(mut self, kind: &str, host: impl Host + Send + Sync + 'static) -> Self {
        self.host_kind = kind.to_string();
        self.host = HostKind::Programs(Arc::new(host));
        self.acknowledgement = Acknowledgement::ByProgram;
        self
    }

    /// The tools that we add, where somebody else calls them too.
    pub(crate) fn added_tools(mut self, tools: Arc<dyn Tools>) -> Self {
        self.added_tools = Some(tools);
        self
    }

    /// A host of ours, which never blocks: it lives on the thread of the actors.
    pub(crate) fn own_host(
        mut self,
        kind: &str,
        host: impl FnOnce() -> Rc<dyn Host> + Send + 'static,
    ) -> Self {
        self.host_kind = kind.to_string();
        self.host = HostKind::Ours(Box::new(host));
        self.acknowledgement = Acknowledgement::ByProgram;
        self
    }

    /// The session the host has open. Change it and call [`Runtime::adopt`] when the host opens another.
    pub fn session(mut self, session: Arc<Mutex<Option<SessionId>>>) -> Self {
        self.session = session;
        self
    }

    /// The runs of sessions that cannot come back whose results the open session takes.
    pub(crate) fn taken_results(mut self, taken: Arc<Mutex<BTreeSet<RunId>>>) -> Self {
        self.taken_results = taken;
        self
    }

    /// Another model for actor, judge and the embedded runner, instead of those of the providers that the environment
    /// has keys for ([`ProviderModels`]). Each call has a thread for as long as it takes, so it
    /// may block.
    pub fn model(mut self, model: impl ModelClient + Send + Sync + 'static) -> Self {
        self.model = Arc::new(model);
        self.has_providers = true;
        self
    }

    /// A tool of the program's own for the embedded runner. Each call has a thread for as long as it takes, so it may
    /// block.
    pub fn tool(mut self, tool: impl EmbeddedTool + 'static) -> Self {
        self.tools.push(RegisteredTool::new(Arc::new(tool)));
        self
    }

    /// The `pi` to run, when it is not the one that `IMPRESARIO_PI` names or `PATH` finds.
    pub fn pi(mut self, program: impl Into<PathBuf>) -> Self {
        self.pi = Some(program.into());
        self
    }

    /// The keeper's executable, when this program is not its own ([`crate::keeper_main`]) and it does not lie beside ours
    /// or on `PATH`.
    pub fn keeper(mut self, program: impl Into<PathBuf>) -> Self {
        self.keeper = Some(program.into());
        self
    }

    /// How strongly processes are held.
    pub fn containment(mut self, containment: ContainmentSetting) -> Self {
        self.containment = containment;
        self
    }

    /// How many nested Pis are kept warm for later runs, and for how long; [`PoolSettings::NONE`] keeps none.
    pub fn pool(mut self, pool: PoolSettings) -> Self {
        self.pool = pool;
        self
    }

    /// Which system prompts are logged, and where; by default none.
    pub(crate) fn prompt_log(mut self, prompt_log: PromptLogSettings) -> Self {
        self.prompt_log = prompt_log;
        self
    }

    /// The services that tools for the web ask, and the keys for them; without this there are no such tools.
    pub fn network(mut self, network: NetworkSettings) -> Self {
        self.tool_settings.network = Some(network);
        self
    }

    /// Whether `hashline_edit` refuses a new line that has an anchor before it, as it does unless this says `false`:
    /// then the anchor is taken away.
    pub fn strict_patch(mut self, strict: bool) -> Self {
        self.tool_settings.strict_patch = strict;
        self
    }

    /// How added tools work.
    pub(crate) fn tool_settings(mut self, settings: ToolSettings) -> Self {
        self.tool_settings = settings;
        self
    }

    /// How many runs work at a time, whatever is set; the others wait.
    pub fn width(mut self, width: usize) -> Self {
        self.admission.width = Some(width);
        self
    }

    /// How restarts are paced and when a supervisor gives up.
    pub fn restarts(mut self, restarts: SupervisorSettings) -> Self {
        self.restarts = restarts;
        self
    }

    /// When a result counts as taken by a program without a host of its own; when it is read, unless said.
    pub fn acknowledgement(mut self, acknowledgement: Acknowledgement) -> Self {
        self.acknowledgement = acknowledgement;
        self
    }

    /// An agent of the program's own, which [`SubAgent::new`](super::SubAgent::new) names.
    pub fn agent(mut self, agent: AgentDefinition) -> Self {
        self.agents.push(agent);
        self
    }

    /// Whose files describe further agents that [`SubAgent::new`](super::SubAgent::new) can name: nobody's, unless said.
    pub fn agent_files(mut self, files: AgentFiles) -> Self {
        self.agent_files = files;
        self
    }

    /// What skills run with.
    pub fn skills(mut self, skills: SpawnSettings) -> Self {
        self.spawn = skills;
        self
    }

    /// The process is ours: panics of actors are told by the trace instead of stderr, and a thread of actors that stalls
    /// ends the process, so that recovery begins. A library never asks for this.
    pub(crate) fn own_process(mut self) -> Self {
        self.own_process = true;
        self
    }

    /// Kills actors as the plan says, for tests of one's own set-up.
    pub fn chaos(mut self, plan: Plan) -> Self {
        self.chaos = Some(plan);
        self
    }

    /// Told at the end whom [`Self::chaos`] killed: a test in which nobody was killed proves nothing.
    pub fn when_chaos_ended(mut self, tell: impl FnOnce(Record) + Send + 'static) -> Self {
        self.chaos_ended = Some(Box::new(tell));
        self
    }

    /// Starts the runtime. When this returns it has adopted what an earlier one left behind, or is about to.
    pub async fn start(mut self) -> Result<Runtime, StartError> {
        self.spawn.own_agents.clone_from(&self.agents);
        let directory = match &self.state_directory {
            Some(directory) => directory.clone(),
            None => state_directory()?,
        };
        for private in [
            directory.clone(),
            directory.join("scratch"),
            directory.join("sessions"),
            answers(&directory),
            worktrees(&directory),
            wishes(&directory),
        ] {
            make_private(&private)?;
        }
        let identity = self.identity();
        let mut agents = self.spawn.agent_places(&self.workspace, self.agent_files);
        if self.added_tools.is_none() && self.tool_settings.network.is_none() {
            let asks_servers = |tool: &AddedTool| tool.reaches() == Reaches::Network;
            agents
                .tools_lacking
                .extend(AddedTool::ALL.into_iter().filter(asks_servers));
        }
        let defaults = Defaults {
            host: self.host_kind.clone(),
            workspace: self.workspace.clone(),
            sessions: directory.join("sessions"),
            answers: answers(&directory),
            wishes: wishes(&directory),
            session: self.session.clone(),
            wanted: self.wanted.clone(),
            has_providers: self.has_providers,
            runtime: identity.id.clone(),
            taken_when_read: self.acknowledgement == Acknowledgement::WhenRead,
            agents,
        };
        let (commands, receiver) = mpsc::channel(COMMANDS_AHEAD_MAX);
        let (ready, is_ready) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("impresario-actors".to_string())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => {
                        let local = tokio::task::LocalSet::new();
                        local.block_on(&runtime, self.live(directory, identity, receiver, ready));
                    }
                    Err(error) => drop(ready.send(Err(StartError::Thread(error)))),
                }
            })?;
        let seen = is_ready.await.map_err(|_| StartError::Ended)??;
        Ok(Runtime(Arc::new(Thread::new(commands, thread, seen, defaults))))
    }

    /// The life of the thread.
    async fn live(
        mut self,
        directory: PathBuf,
        identity: RuntimeIdentity,
        commands: mpsc::Receiver<super::inside::Command>,
        ready: oneshot::Sender<Result<Seen, StartError>>,
    ) {
        let chaos = self.chaos.clone().map(Chaos::begin);
        let self_owned = self.own_process;
        if self_owned {
            install_panic_hook();
        }
        let (writer, notices) = match open_journal(&directory, &identity) {
            Ok(opened) => opened,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let journal = JournalAccess::thread(writer.handle());
        let tree_settings = TreeSettings {
            runtime: identity.id,
            admission: self.admission,
            scratch: directory.join("scratch"),
            sessions: directory.join("sessions"),
            restarts: self.restarts.clone(),
        };
        let chaos_ended = self.chaos_ended.take();
        let program = match ProgramThreads::start() {
            Ok(program) => program,
            Err(error) => return drop(ready.send(Err(StartError::Thread(error)))),
        };
        let outside = self.outside(&directory, &tree_settings.runtime, &program);
        let runners = outside.runners.clone();
        let tree = grow(journal, outside, tree_settings);
        let inside = Inside { ports: tree.ports };
        for text in notices {
            let _ = inside
                .ports
                .notice
                .tell(impresario_actors::messages::session::ShowNotice { text });
        }
        let settings = RootSettings {
            seed: SystemEntropy.next(),
            ..RootSettings::default()
        };
        let _watchdog = watch(self_owned);
        // Before anybody lives, so that no run that is adopted is missed.
        let steps = tree.feed.listen_to_lives();
        tokio::task::spawn_local(wish::heed(inside.clone(), wishes(&directory), steps));
        let root = Root::start_local(tree.top, settings).await;
        let _ = ready.send(Ok(Seen {
            feed: tree.feed,
            line: tree.line,
        }));
        let left_behind = GitWorktrees::new(worktrees(&directory));
        tokio::task::spawn_local(settle_worktrees(inside.ports.clone(), left_behind));
        let (ports, sessions) = (inside.ports.clone(), directory.join("sessions"));
        let whole_answers = answers(&directory);
        tokio::task::spawn_local(async move {
            forget_old_runs(ports.clone()).await;
            forget_answers(&ports, whole_answers).await;
            forget_sessions(ports, sessions).await;
        });
        let old = [
            directory.join("sessions"),
            directory.join("scratch"),
            directory.join(PROMPTS_DIRECTORY),
            wishes(&directory),
            logs(&directory),
        ];
        tokio::task::spawn_blocking(move || old.iter().for_each(|directory| forget_old_files(directory)));
        serve(root, inside, commands).await;
        for runner in runners.values() {
            runner.close().await;
        }
        if let Some(chaos) = chaos {
            let record = chaos.end();
            tracing::info!(
                kills = record.kills.len(),
                boundaries = record.boundaries,
                "chaos ended"
            );
            if let Some(tell) = chaos_ended {
                tell(record);
            }
        }
        if let Err(error) = writer.close().await {
            tracing::warn!(%error, "journal not closed in order");
        }
    }

    fn pi_settings(&self, directory: &Path, runtime: &RuntimeId) -> PiSettings {
        PiSettings {
            pi: self.pi.clone(),
            keeper: self.keeper_found(),
            containment: self.containment,
            support_directory: directory.to_path_buf(),
            environment: std::env::vars().collect(),
            pass_environment: Vec::new(),
            pool: self.pool,
            runtime: runtime.mark().clone(),
        }
    }

    /// What servers are started with.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            keeper: self.keeper_found(),
            containment: self.containment,
            environment: std::env::vars().collect(),
            ready_within: ENGINE_READY_WITHIN,
        }
    }

    fn keeper_found(&self) -> PathBuf {
        let us = std::env::current_exe().ok();
        let ours = self.keeper.clone().or_else(own_keeper);
        find_keeper(ours.as_deref(), us.as_deref()).unwrap_or_default()
    }

    fn identity(&self) -> RuntimeIdentity {
        let now = SystemWallClock.now();
        RuntimeIdentity {
            id: RuntimeId::new(now, SystemEntropy.next()),
            host: self.host_kind.clone(),
            session: lock(&self.session).clone(),
            started_at: now,
            process: std::process::id(),
        }
    }

    fn outside(self, directory: &Path, runtime: &RuntimeId, program: &ProgramThreads) -> Outside {
        let engines = self.engine_settings();
        let gates = GateSettings {
            keeper: engines.keeper.clone(),
            containment: engines.containment,
            environment: engines.environment.clone(),
        };
        let cache = cache_directory(self.state_directory.as_deref());
        let indexes = cache.as_ref().map(|cache| cache.join("search"));
        let sessions = cache.as_ref().map(|cache| cache.join(SESSIONS));
        let capabilities = cache.map(|cache| cache.join(CAPABILITIES));
        let pi = self.pi_settings(directory, runtime);
        let added = self
            .added_tools
            .unwrap_or_else(|| local_tools(directory, self.tool_settings));
        let model = Rc::new(ProgramModel::new(self.model, program.clone()));
        let mut parts = EmbeddedParts::new(model.clone(), program.clone(), added.clone());
        parts.tools = self.tools;
        let mut runners = BTreeMap::<String, Rc<dyn SubAgentRunner>>::new();
        runners.insert(EMBEDDED_RUNNER.to_string(), Rc::new(EmbeddedRunner::new(parts)));
        runners.insert(PI_RUNNER.to_string(), Rc::new(PiRunner::new(pi, added.clone())));
        let (host_kind, session, taken) = (self.host_kind, self.session, self.taken_results);
        let wanted = self.wanted;
        let host: Rc<dyn Host> = match self.host {
            HostKind::Ours(make) => make(),
            HostKind::Programs(host) => Rc::new(ProgramHost::new(host, program.clone())),
        };
        Outside {
            host,
            model,
            runners,
            clock: Rc::new(SystemWallClock),
            traces: Rc::new(FileShelf),
            worktrees: Rc::new(GitWorktrees::new(worktrees(directory))),
            files: Rc::new(DiskLooks::default()),
            rules: Rc::new(DiskRules::new(HeavyWork::default())),
            tools: added,
            answers: Rc::new(AnswerFiles::new(answers(directory), HeavyWork::default())),
            gates: Rc::new(CommandGates::new(gates)),
            open_context: open_context(engines.clone(), indexes),
            contain: Rc::new(|run, grace| contain(run, grace, None).boxed_local()),
            retrieval_is_ready: crate::preflight::checker(engines),
            resolve: crate::skills::resolver(self.spawn, host_kind.clone()),
            our_host: Rc::new(move || (host_kind.clone(), lock(&session).clone())),
            takes_result: Rc::new(move |run| lock(&taken).contains(run)),
            wanted_here: Rc::new(move |run| lock(&wanted).contains(run)),
            within: enclosing_run(),
            capabilities: CapabilityStore::new(capabilities),
            sessions: SessionStore::new(sessions),
            prompts: PromptFile::new(self.prompt_log),
            heavy_work: HeavyWork::default(),
            free_memory: Rc::new(free_memory_now),
        }
    }
}

/// Every process of a run carries its mark.
pub(super) fn enclosing_run() -> Option<RunId> {
    RunId::try_from(std::env::var(RUN_MARKER).ok()?).ok()
}

/// The search in this process, or a program, as the run's request says.
fn open_context(engines: EngineSettings, indexes: Option<PathBuf>) -> OpenContext {
    Rc::new(move |seed| {
        let retrieval = &seed.request.retrieval;
        match retrieval.is_a_program() {
            false => Rc::new(LocalContextEngine::within(retrieval.timeout, indexes.clone())),
            true => {
                let workspace = seed.request.workspace.clone();
                Rc::new(McpContextEngine::new(&engines, retrieval, &seed.run, workspace))
            }
        }
    })
}

/// A handler that computes for this long is stuck for good: nothing else can end it but the process.
const STALLED_AFTER: Duration = Duration::from_secs(60);
/// So that whoever started the process knows it did not end by itself.
const STALLED_EXIT_CODE: i32 = 70;

/// A process that was stopped for a while and goes on has this long to show that it lives.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// Reports a thread of actors that stands still; a process of ours is ended then, so that recovery begins. A process
/// that embeds us is not ours to end.
fn watch(own_process: bool) -> std::io::Result<Watchdog> {
    let settings = WatchdogSettings {
        stalled_after: STALLED_AFTER,
    };
    let beating = Arc::new(AtomicBool::new(true));
    if own_process {
        let heart = beating.clone();
        tokio::task::spawn_local(async move {
            loop {
                heart.store(true, Ordering::Relaxed);
                tokio::time::sleep(LAST_CHANCE / 5).await;
            }
        });
    }
    Watchdog::start(settings, move |stall| {
        tracing::error!(?stall, "the thread of the actors is stalled");
        if own_process && matches!(stall, Stall::Stalled { .. }) {
            beating.store(false, Ordering::Relaxed);
            std::thread::sleep(LAST_CHANCE);
            if !beating.load(Ordering::Relaxed) {
                std::process::exit(STALLED_EXIT_CODE);
            }
        }
    })
}

fn open_journal(directory: &Path, identity: &RuntimeIdentity) -> Result<(Writer, Vec<String>), StartError> {
    let opened = SqliteStore::open(directory, identity)?;
    let notices = opened.notices();
    Ok((Writer::start(opened.store)?, notices))
}
