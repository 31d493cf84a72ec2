//! Where a host behind the bridge meets the runtime: its sessions, its skills, its own model credentials.

use crate::agents::AgentFiles;
use crate::bridge::wire::{
    CapabilitiesOffer, CapabilitiesTaken, CapabilityCall, CapabilityDone, ChainMember, ChainRun,
    ChainRunAccepted, ChainText, ChainTextAsk, ContextAsk, ContextCuts, ContextDone, ContextOffer,
    ContextSaid, ContextStanding, ContextTaken, CutsAsk, Delegation, DelegationAsk, GuidanceAsk,
    GuidanceGiven, InputReading, MarkerPlan, MarkerSkeleton, ModelStanding, ObservedEvent, PromptAsk,
    PromptPlan, ReadingAnchored, ReadingShown, ResumableRun, RunMessageAsk, RunMessageTold, RunResume,
    RunResumed, RunTell, RunTold, SessionEnd, SessionStart, SetupAsk, SetupNext, SkillCancel, SkillRun,
    SkillSummary, SystemPromptSeen, ToldByAgent, ToolAsk, ToolDone, ToolUsed, ToolsOffer, ToolsTaken,
    TraceName, TranscriptAsk, TranscriptPage, TypedInput, Wishes, WishesAsk,
};
use crate::bridge::{Bridge, BridgeError, BridgeSettings, HostEvents, PiHost, Refused, log_to_file};
use crate::capabilities::servers::ServerLists;
use crate::chain_files::{ChainAsked, ordered_chain};
use crate::models::OfflineOr;
use crate::pi_capabilities::PiCapabilities;
use crate::pi_context::{call_context, offer_context};
use crate::pi_prompts::PiPrompts;
use crate::pi_results::LeftResults;
use crate::pi_setup::next_of_setup;
use crate::pi_sights::show_sights;
use crate::pi_tools::PiTools;
use crate::runtime::{
    PI_RUNNER, Resumable, Run, Runtime, RuntimeError, SentMessage, StartError, lock, state_directory,
};
use crate::runtime::{SERVER_LISTS, ToolSettings, cache_directory, local_tools};
use crate::settings::{Settings, SettingsPlaces};
use crate::skills::{SpawnSettings, list_skills};
use crate::status::{StatusFacts, status_text};
use crate::traces::{Traces, viewed};
use async_trait::async_trait;
use impresario_actors::gateways::Host;
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_actors::messages::session::{GuideResult, ListedSkill, SkillOrder};
use impresario_policies::added_tools::AddedTool;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::anchored_edit::anchored_reading;
use impresario_policies::context_status::status_line;
use impresario_policies::domain::{
    CacheTerms, GroupId, Isolation, MessageKind, ModelFamily, Reason, ReasonCode, RunId, RunState, SessionId,
};
use impresario_policies::guidance::{RuleMark, touched_by};
use impresario_policies::overlay::{OverlayFacts, overlay_family};
use impresario_policies::receipt::Named;
use impresario_policies::run_messages::{Addressed, address, named};
use impresario_policies::run_request::RunMeans;
use impresario_policies::settings::Configured;
use impresario_policies::skill_command::{TypedInput as ReadInput, read_typed_input};
use impresario_policies::transcript::Transcript;
use impresario_policies::truncation::TruncationTerms;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often an acknowledged delivery is tried to be settled, and the pause between two tries.
const ACKNOWLEDGE_TRIES: u32 = 40;
const ACKNOWLEDGE_PAUSE: Duration = Duration::from_millis(250);
/// Who asks what became of a message is answered within its deadline, and asks again.
const MESSAGE_LOOKED_AT: Duration = Duration::from_secs(15);

/// Skills of the host that are looked at; more would not fit into a list.
const LISTED_MAX: usize = 500;
/// So many runs are offered to be gone on with.
const RESUMABLE_MAX: usize = 50;

/// What a bridge is started with.
#[derive(Debug, Clone, Default)]
pub struct BridgeOptions {
    /// Who runs sub-agents, whatever the settings say: `pi` or `embedded`.
    pub runner: Option<String>,
    /// The `pi` to run, when it is not the one on PATH.
    pub pi: Option<PathBuf>,
    /// Where the journal is kept; the user's by default.
    pub state_directory: Option<PathBuf>,
}

/// Why a bridge could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Stdin or stdout.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// The runtime.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Serves the host on stdin and stdout until it goes.
pub async fn serve_stdio(options: BridgeOptions) -> Result<(), ServeError> {
    let directory = match &options.state_directory {
        Some(directory) => directory.clone(),
        None => state_directory().map_err(StartError::from)?,
    };
    let mut bridge = Bridge::open_stdio(BridgeSettings::default())?;
    let session = Arc::<Mutex<Option<SessionId>>>::default();
    let taken = Arc::<Mutex<BTreeSet<RunId>>>::default();
    let (host, model) = (bridge.host(), bridge.model());
    let runner = options.runner.as_deref().unwrap_or(PI_RUNNER);
    let skills = SpawnSettings {
        means: RunMeans {
            runner: runner.to_string(),
            models_chosen: true,
            ..RunMeans::default()
        },
        runner_fixed: options.runner.is_some(),
        read_files: true,
        embedded_has_providers: true,
        ..SpawnSettings::default()
    };
    // Read once: workers outlive the session that starts them. A workspace may take away from what the user says.
    let here = std::env::current_dir().unwrap_or_default();
    let configured = Configured::from(&Settings::read(&SettingsPlaces::of(&here, false)).resolved);
    let tool_settings = ToolSettings::of(&configured);
    let prompts = PiPrompts::new(configured.prompt_log.clone());
    let mut builder = Runtime::builder()
        .own_process()
        .pool(configured.pool)
        .prompt_log(configured.prompt_log);
    if let Some(pi) = options.pi {
        builder = builder.pi(pi);
    }
    let servers = ServerLists {
        engines: builder.engine_settings(),
        directory: cache_directory(Some(&directory)).map(|cache| cache.join(SERVER_LISTS)),
    };
    let tools = local_tools(&directory, tool_settings);
    let runtime = builder
        .added_tools(tools.clone())
        .state_directory(&directory)
        .own_host("pi", {
            let host = host.clone();
            move || Rc::new(host)
        })
        .model(OfflineOr::new(model))
        .session(session.clone())
        .taken_results(taken.clone())
        .skills(skills.clone())
        .start()
        .await?;
    if let Err(error) = log_to_file(&directory) {
        host.notice(format!("Impresario cannot write its log: {error}"));
    }
    if let Some(live_runs) = bridge.live_runs() {
        tokio::spawn(show_sights(runtime.clone(), host.clone(), live_runs));
    }
    let left_results = LeftResults {
        runtime: runtime.clone(),
        host: host.clone(),
        open: session.clone(),
        taken,
    };
    let sessions = PiSessions {
        capabilities: Arc::new(PiCapabilities::new(runtime.clone(), skills.clone(), servers)),
        tools: PiTools::new(tools),
        prompts: Arc::new(prompts),
        runtime,
        host,
        session,
        left_results,
        skills,
        known: Mutex::default(),
        terms: Arc::default(),
        requested: Mutex::default(),
    };
    bridge.serve(Arc::new(sessions)).await;
    Ok(())
}

/// See the module.
struct PiSessions {
    runtime: Runtime,
    host: PiHost,
    /// The session that is open now; the runtime looks here too.
    session: Arc<Mutex<Option<SessionId>>>,
    left_results: LeftResults,
    capabilities: Arc<PiCapabilities>,
    tools: PiTools,
    prompts: Arc<PiPrompts>,
    skills: SpawnSettings,
    known: Mutex<BTreeMap<SessionId, SessionStart>>,
    /// What is configured for each session.
    terms: Arc<Mutex<BTreeMap<SessionId, SessionTerms>>>,
    requested: Mutex<BTreeMap<String, RunId>>,
}

/// What the main agent has besides agents and skills, where it is told of all of it.
struct Told {
    tools: Vec<AddedTool>,
    context: bool,
    capabilities: bool,
}

impl Told {
    fn of(configured: &Configured) -> Option<Self> {
        configured.overlay.then(|| Self {
            tools: configured.session_tools.clone(),
            context: configured.context_enabled,
            capabilities: configured.capabilities.enabled,
        })
    }

    fn facts<'a>(
        &'a self,
        family: ModelFamily,
        skills: bool,
        agents: &'a [AgentDefinition],
    ) -> OverlayFacts<'a> {
        OverlayFacts {
            family,
            skills,
            agents,
            tools: &self.tools,
            context: self.context,
            capabilities: self.capabilities,
        }
    }
}

/// What is configured for a session: no request waits for a file.
#[derive(Debug, Clone, Copy)]
struct SessionTerms {
    cache: CacheTerms,
    truncation: TruncationTerms,
    context_status: bool,
}

impl From<&Configured> for SessionTerms {
    fn from(configured: &Configured) -> Self {
        Self {
            cache: configured.run.terms.cache,
            truncation: configured.truncation,
            context_status: configured.context_status,
        }
    }
}

impl PiSessions {
    fn order(&self, session: &SessionId, name: String, task: String) -> SkillOrder {
        let known = lock(&self.known);
        let start = known.get(session);
        SkillOrder {
            name,
            task,
            session: Some(session.clone()),
            session_file: start.and_then(|start| start.file.clone()).map(PathBuf::from),
            workspace: start.map_or_else(|| PathBuf::from("."), |start| PathBuf::from(&start.cwd)),
            // Nobody said anything of a session that is not known.
            workspace_trusted: start.is_some_and(is_trusted),
            model: start.and_then(|start| start.model.clone()),
            ..SkillOrder::default()
        }
    }

    /// The workspace of a session, and whether it is trusted.
    fn places(&self, session: &SessionId) -> SettingsPlaces {
        let order = self.order(session, String::new(), String::new());
        SettingsPlaces::of(&order.workspace, order.workspace_trusted)
    }

    fn run_id_of(&self, request: &str) -> RunId {
        let mut requested = lock(&self.requested);
        requested
            .entry(request.to_string())
            .or_insert_with(|| self.runtime.new_run_id())
            .clone()
    }

    fn group_of(&self, text: &str) -> Result<GroupId, Refused> {
        GroupId::try_from(text.to_string()).map_err(|error| broken(&error.to_string()))
    }

    async fn runs_of(&self, session: &SessionId) -> Vec<Run> {
        let filter = impresario_actors::journal::RunFilter {
            session: Some(session.clone()),
            ..impresario_actors::journal::RunFilter::unfinished()
        };
        let runs = self.runtime.runs(filter).await.unwrap_or_default();
        runs.into_iter().map(|run| self.runtime.run(run.run)).collect()
    }
}

impl PiSessions {
    /// Read when the session starts. Until then the defaults hold.
    fn read_terms(&self, session: &SessionId, places: SettingsPlaces) {
        let (session, terms) = (session.clone(), self.terms.clone());
        tokio::task::spawn_blocking(move || {
            let read = SessionTerms::from(&Settings::read(&places).configured());
            lock(&terms).insert(session, read);
        });
    }

    fn terms_of(&self, session: &SessionId) -> SessionTerms {
        let read = lock(&self.terms).get(session).copied();
        read.unwrap_or_else(|| SessionTerms::from(&Configured::default()))
    }

    /// The runs of a session, those that work before those that are over, the newest first.
    async fn newest_of(&self, session: &SessionId) -> Vec<RunSummary> {
        let filter = RunFilter {
            session: Some(session.clone()),
            ..RunFilter::default()
        };
        let mut runs = self.runtime.runs(filter).await.unwrap_or_default();
        // Stable, so the newest stay first.
        runs.sort_by_key(|run| run.ended_at.is_some());
        runs
    }

    async fn name_of(&self, run: &Run) -> Result<String, RuntimeError> {
        let found = self.runtime.find_run(run.id().as_str()).await?;
        Ok(found.what.name().to_string())
    }

    async fn resume_found(&self, request: &RunResume) -> Result<RunResumed, RuntimeError> {
        let found = self.runtime.find_run(&request.run).await?;
        let as_run = self.run_id_of(&request.request);
        self.runtime.resume_as(as_run.clone(), &found.run).await?;
        Ok(RunResumed {
            run: as_run,
            name: found.what.name().to_string(),
            resumes: found.run,
            task: found.task,
        })
    }
}

/// What the sub-agent says to a question, for the person who asked it.
async fn tell_the_answer(host: PiHost, name: String, message: SentMessage) {
    host.notice(match message.answer().await {
        Ok(Some(answer)) => format!("{name} ({}): {answer}", message.id()),
        Ok(None) => format!("{name} ended without a word to your question ({}).", message.id()),
        Err(error) => {
            tracing::warn!(%error, "answer of a sub-agent not heard");
            return;
        }
    });
}

fn internal(error: &RuntimeError) -> Reason {
    Reason {
        code: ReasonCode::Internal,
        message: in_words(error),
    }
}

fn nobody_is_told(why: String) -> Refused {
    let code = ReasonCode::MessageRefused;
    let reason = Reason { code, message: why };
    Refused { reason, hint: None }
}

fn no_run() -> Refused {
    Refused {
        reason: Reason {
            code: ReasonCode::NotResumable,
            message: "There is no run in this session yet.".to_string(),
        },
        hint: None,
    }
}

fn refused_by(error: RuntimeError) -> Refused {
    match error {
        RuntimeError::Refused(reason) | RuntimeError::MessageRefused(reason) => {
            Refused { reason, hint: None }
        }
        error => Refused {
            reason: internal(&error),
            hint: None,
        },
    }
}

fn mark_of(transcript: &Transcript) -> String {
    let mut hasher = DefaultHasher::new();
    transcript.title.hash(&mut hasher);
    transcript.lines.hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

fn resumable_run(found: Resumable, here: &Path) -> ResumableRun {
    let Resumable { run, cut_off } = found;
    let elsewhere = run.workspace.filter(|workspace| workspace != here);
    ResumableRun {
        name: run.what.name().to_string(),
        run: run.run,
        task: run.task,
        elsewhere: elsewhere.map(|workspace| workspace.display().to_string()),
        state: match cut_off {
            true => "cut off".to_string(),
            false => run.state.word().to_string(),
        },
        at_ms: run.accepted_at.0,
    }
}

#[async_trait]
impl HostEvents for PiSessions {
    async fn session_started(&self, start: SessionStart) {
        *lock(&self.session) = Some(start.session.clone());
        let places = SettingsPlaces::of(Path::new(&start.cwd), is_trusted(&start));
        self.read_terms(&start.session, places.clone());
        let were_open = lock(&self.known).keys().cloned().collect();
        let is_new = lock(&self.known)
            .insert(start.session.clone(), start.clone())
            .is_none();
        if is_new {
            // It asks the host, which may be busy; a skill that is ordered meanwhile does not wait for it.
            tokio::spawn(say_what_is_wrong(self.host.clone(), places));
        }
        if let Err(error) = self.runtime.adopt().await {
            tracing::warn!(%error, "runs of the session not adopted");
        }
        if is_new && start.has_ui {
            tokio::spawn(self.left_results.clone().take_over(start, were_open));
        }
    }

    async fn session_ended(&self, end: SessionEnd) {
        let mut open = lock(&self.session);
        if open.as_ref() == Some(&end.session) {
            *open = None;
        }
    }

    async fn host_gone(&self) {
        let reason = Reason {
            code: ReasonCode::HostGone,
            message: "The host went away while this run worked in the foreground.".to_string(),
        };
        if let Err(error) = self.runtime.shutdown_because(reason).await {
            tracing::warn!(%error, "runtime not stopped in order");
        }
    }

    async fn input(&self, input: TypedInput) -> InputReading {
        reading_of(&input.text)
    }

    async fn run_skill(&self, request: SkillRun) -> Result<RunId, Refused> {
        let run = self.run_id_of(&request.request);
        let order = SkillOrder {
            agent: request.agent,
            context: request.context,
            isolation: request.isolated.then_some(Isolation::Worktree),
            hosts_form: request.hosts_form,
            listed: request.listed.into_iter().take(LISTED_MAX).collect(),
            ..self.order(&request.session, request.name, request.task)
        };
        let spawned = match request.delegated {
            true => self.runtime.spawn_delegated_skill_as(run.clone(), order).await,
            false => self.runtime.spawn_skill_as(run.clone(), order).await,
        };
        match spawned {
            Ok(_) => Ok(run),
            Err(RuntimeError::Refused(reason)) => Err(Refused { reason, hint: None }),
            Err(error) => Err(Refused {
                reason: internal(&error),
                hint: Some("Try again; the runtime's log says more.".to_string()),
            }),
        }
    }

    async fn run_chain(&self, request: ChainRun) -> Result<ChainRunAccepted, Refused> {
        let id = self.group_of(self.run_id_of(&request.request).as_str())?;
        let order = self.order(&request.session, String::new(), String::new());
        let skills = self.skills.clone();
        let made = tokio::task::spawn_blocking(move || {
            let asked = ChainAsked {
                name: request.name.as_deref(),
                steps: request.steps.as_deref(),
                task: &request.task,
            };
            ordered_chain(&skills, &order, &asked)
        });
        let made = made.await.map_err(|error| broken(&error.to_string()))?;
        let chain = made.map_err(|reason| Refused { reason, hint: None })?;
        let group = self.runtime.chain_as(id, chain).await.map_err(not_chained)?;
        let members = group.subtasks().iter().zip(group.runs());
        let members = members.map(|(subtask, run)| ChainMember {
            id: subtask.id.clone(),
            task: subtask.goal.clone(),
            run: run.id().clone(),
        });
        Ok(ChainRunAccepted {
            group: group.id().to_string(),
            members: members.collect(),
        })
    }

    async fn chain_text(&self, asked: ChainTextAsk) -> Result<ChainText, Refused> {
        let id = self.group_of(&asked.group)?;
        let group = self.runtime.members_of(&id).await.map_err(not_chained)?;
        Ok(ChainText {
            state: group.state(),
            text: group.synthesis(),
            runs: group.members.into_iter().map(|member| member.run).collect(),
        })
    }

    async fn resumable(&self, session: &SessionId) -> Vec<ResumableRun> {
        let here = self.order(session, String::new(), String::new()).workspace;
        let mut runs = self
            .runtime
            .resumable(Some(session))
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "runs to go on with not listed");
                Vec::new()
            });
        // Stable, so the newest stay first.
        runs.sort_by_key(|found| found.run.workspace.as_ref() != Some(&here));
        let shown = runs.into_iter().take(RESUMABLE_MAX);
        shown.map(|found| resumable_run(found, &here)).collect()
    }

    async fn resume(&self, request: RunResume) -> Result<RunResumed, Refused> {
        let resumed = self.resume_found(&request).await;
        resumed.map_err(|error| match error {
            RuntimeError::Refused(reason) => Refused { reason, hint: None },
            error => Refused {
                reason: internal(&error),
                hint: Some("Try again; the runtime's log says more.".to_string()),
            },
        })
    }

    async fn tell(&self, request: RunTell) -> Result<RunTold, Refused> {
        let under_way = self.runs_of(&request.session).await;
        let ids = under_way.iter().map(|run| run.id().clone()).collect::<Vec<_>>();
        let addressed = match &request.by_agent {
            Some(ToldByAgent { run }) => named(run.as_deref(), &ids).map(|run| (run, request.what.as_str())),
            None => match address(&request.what, &ids) {
                Addressed::Run { run, text } => Ok((run, text)),
                Addressed::Nobody { why } => Err(why),
            },
        };
        let (run, text) = addressed.map_err(nobody_is_told)?;
        let (run, text) = (self.runtime.run(run.clone()), text.to_string());
        let by = match &request.by_agent {
            Some(_) => "the main agent".to_string(),
            None => format!("/impresario {}", request.kind.word()),
        };
        let message = run.tell(request.kind, text, by).await.map_err(refused_by)?;
        let name = self.name_of(&run).await.map_err(refused_by)?;
        let told = RunTold {
            run: run.id().clone(),
            name: name.clone(),
            message: message.id().clone(),
        };
        if request.kind == MessageKind::Ask && request.by_agent.is_none() {
            tokio::spawn(tell_the_answer(self.host.clone(), name, message));
        }
        Ok(told)
    }

    async fn message(&self, request: RunMessageAsk) -> Result<RunMessageTold, Refused> {
        let message = self.runtime.run(request.run).message(request.message);
        let settled = tokio::time::timeout(MESSAGE_LOOKED_AT, message.settled()).await;
        let settled = match settled {
            Ok(settled) => Some(settled.map_err(refused_by)?),
            // Whoever waits for it asks again.
            Err(_) => None,
        };
        Ok(RunMessageTold {
            fate: message.fate().await.map_err(refused_by)?.word().to_string(),
            is_final: settled.is_some(),
            answer: settled.flatten(),
        })
    }

    async fn cancel(&self, request: SkillCancel) -> Vec<RunId> {
        let runs = match request.run {
            Some(run) => vec![self.runtime.run(run)],
            None => self.runs_of(&request.session).await,
        };
        let mut cancelled = Vec::new();
        for run in runs {
            if matches!(run.cancel(&request.by).await, Ok(true)) {
                cancelled.push(run.id().clone());
            }
        }
        cancelled
    }

    async fn observe(&self, session: &SessionId, event: ObservedEvent) {
        if event.name != "model_select" {
            return;
        }
        let model = event
            .data
            .get("model")
            .and_then(|model| model.as_str())
            .map(str::to_string);
        if let (Some(model), Some(start)) = (model, lock(&self.known).get_mut(session)) {
            start.model = Some(model);
        }
    }

    async fn plan_markers(&self, skeleton: MarkerSkeleton) -> MarkerPlan {
        if let Some(why) = skeleton.not_applied.clone()
            && let Err(error) = self.runtime.plan_not_applied(why).await
        {
            tracing::warn!(%error, "plan of markers that was not applied not counted");
        }
        let terms = self.terms_of(&skeleton.session).cache;
        let planned = self.runtime.plan_markers(skeleton.request(), terms).await;
        planned.map_or_else(|_| MarkerPlan::default(), |planned| skeleton.answer(&planned))
    }

    async fn guide(&self, asked: GuidanceAsk) -> GuidanceGiven {
        let order = self.order(&asked.session, String::new(), String::new());
        let guided = self.runtime.guide(guide_result(asked, order)).await;
        GuidanceGiven::of(guided.unwrap_or_default())
    }

    async fn cut(&self, asked: CutsAsk) -> ContextCuts {
        let terms = self.terms_of(&asked.session).truncation;
        let cuts = self.runtime.plan_cuts(asked.plan(terms)).await;
        ContextCuts::of(cuts.unwrap_or_default())
    }

    async fn context_status(&self, asked: ContextStanding) -> ContextSaid {
        match self.terms_of(&asked.session).context_status {
            true => ContextSaid::of(status_line(&asked.facts())),
            false => ContextSaid::default(),
        }
    }

    async fn capabilities(&self, offer: CapabilitiesOffer) -> CapabilitiesTaken {
        let order = SkillOrder {
            listed: offer.listed.iter().take(LISTED_MAX).cloned().collect(),
            ..self.order(&offer.session, String::new(), String::new())
        };
        self.capabilities.take(order, offer).await
    }

    async fn call_capability(&self, call: CapabilityCall) -> CapabilityDone {
        self.capabilities.call(call).await
    }

    async fn shape_prompt(&self, asked: PromptAsk) -> PromptPlan {
        self.capabilities.prompt(asked).await
    }

    async fn offer_context(&self, offer: ContextOffer) -> ContextTaken {
        let order = self.order(&offer.session, String::new(), String::new());
        offer_context(&self.runtime, self.skills.pis_directory(), order, offer).await
    }

    async fn offer_tools(&self, offer: ToolsOffer) -> ToolsTaken {
        let order = self.order(&offer.session, String::new(), String::new());
        self.tools.offer(order).await
    }

    async fn call_tool(&self, ask: ToolAsk) -> ToolDone {
        let order = self.order(&ask.session, String::new(), String::new());
        self.tools.call(order, ask).await
    }

    async fn anchor_reading(&self, shown: ReadingShown) -> ReadingAnchored {
        let ReadingShown {
            tool, offset, text, ..
        } = shown;
        ReadingAnchored {
            text: anchored_reading(&tool, false, offset, &text),
        }
    }

    async fn call_context(&self, ask: ContextAsk) -> ContextDone {
        let here = self.order(&ask.session, String::new(), String::new()).workspace;
        call_context(&self.runtime, self.skills.pis_directory(), &here, ask).await
    }

    async fn wishes(&self, asked: WishesAsk) -> Wishes {
        self.prompts.wishes(self.places(&asked.session)).await
    }

    /// Logging it waits for a disk, and the next line does not.
    async fn prompt_seen(&self, seen: SystemPromptSeen) {
        let order = self.order(&seen.session, String::new(), String::new());
        let (prompts, runtime, host) = (self.prompts.clone(), self.runtime.clone(), self.host.clone());
        tokio::spawn(async move { prompts.log(&runtime, &host, order, seen).await });
    }

    /// Counting it waits for a disk, and the next line does not.
    async fn tool_used(&self, used: ToolUsed) {
        let capabilities = self.capabilities.clone();
        tokio::spawn(async move { capabilities.tool_used(used).await });
    }

    /// What was only shown stands in the session now: delivering it once more finds it there.
    async fn delivery_acknowledged(&self, run: RunId) {
        tokio::spawn(acknowledge(self.runtime.clone(), run));
    }

    async fn delegation(&self, asked: DelegationAsk) -> Delegation {
        let order = self.order(&asked.session, String::new(), String::new());
        let family = overlay_family(asked.model.as_deref(), order.model.as_deref());
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        let mut spawn = self.skills.clone();
        let read = tokio::task::spawn_blocking(move || {
            let configured = Settings::read(&places).configured();
            let (offered, teaches) = (configured.agents_offered, configured.teach_delegation);
            let told = Told::of(&configured);
            spawn.set(configured);
            let files = AgentFiles::where_trusted(order.workspace_trusted);
            let places = spawn.agent_places(&order.workspace, files);
            let agents = if offered { places.definitions() } else { Vec::new() };
            let delegation = Delegation::of(teaches, &agents);
            match told {
                None => delegation,
                Some(told) => delegation.with_overlay(&told.facts(family, teaches, &agents)),
            }
        });
        read.await.unwrap_or_default()
    }

    async fn skills(&self, session: &SessionId, listed: Vec<ListedSkill>) -> Vec<SkillSummary> {
        let order = SkillOrder {
            listed: listed.into_iter().take(LISTED_MAX).collect(),
            ..self.order(session, String::new(), String::new())
        };
        let settings = self.skills.clone();
        let listed = tokio::task::spawn_blocking(move || list_skills(&settings, &order)).await;
        listed
            .unwrap_or_default()
            .into_iter()
            .map(|skill| SkillSummary {
                name: skill.name,
                description: skill.description,
                problem: skill.problem,
                of_host: skill.of_host,
            })
            .collect()
    }

    async fn trace_report(&self, session: &SessionId, skill: String) -> String {
        report_text(self.places(session), skill).await
    }

    async fn trace_view(&self, session: &SessionId, file: String) -> String {
        view_text(self.places(session), file).await
    }

    async fn recent(&self, session: &SessionId) -> Vec<ResumableRun> {
        let here = self.order(session, String::new(), String::new()).workspace;
        let runs = self.newest_of(session).await.into_iter().take(RESUMABLE_MAX);
        let shown = runs.map(|run| Resumable { run, cut_off: false });
        shown.map(|found| resumable_run(found, &here)).collect()
    }

    async fn transcript(&self, asked: TranscriptAsk) -> Result<TranscriptPage, Refused> {
        let found = match asked.run.is_empty() {
            true => self
                .newest_of(&asked.session)
                .await
                .into_iter()
                .next()
                .ok_or_else(no_run),
            false => self.runtime.find_run(&asked.run).await.map_err(refused_by),
        };
        let run = found?.run;
        let words = self.host.words_of(&run);
        let transcript = self.runtime.transcript(&run, words).await.map_err(refused_by)?;
        let mark = mark_of(&transcript);
        let is_seen = asked.seen.as_ref() == Some(&mark);
        Ok(TranscriptPage {
            run,
            title: transcript.title,
            lines: (!is_seen).then_some(transcript.lines),
            is_over: transcript.is_over,
            mark,
        })
    }

    async fn setup_models(&self, asked: SetupAsk) -> Result<SetupNext, Refused> {
        let order = self.order(&asked.session, String::new(), String::new());
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        let mut spawn = self.skills.clone();
        let next = tokio::task::spawn_blocking(move || {
            let trusted = order.workspace_trusted;
            spawn.set(Settings::read(&places).configured());
            let agents = spawn.agent_places(&order.workspace, AgentFiles::where_trusted(trusted));
            let agents = agents
                .definitions()
                .into_iter()
                .map(|agent| agent.name().to_string());
            Ok(next_of_setup(&places, agents.collect(), asked))
        });
        next.await.unwrap_or_else(|error| {
            Err(refused_by(RuntimeError::Refused(Reason {
                code: ReasonCode::Internal,
                message: format!("The settings could not be looked at: {error}"),
            })))
        })
    }

    async fn status(&self, session: &SessionId, section: String) -> String {
        let places = self.places(session);
        let host_version = lock(&self.known)
            .get(session)
            .and_then(|start| start.host_version.clone());
        let facts = StatusFacts {
            runtime: self.runtime.clone(),
            skills: self.skills.clone(),
            places,
            host_version,
        };
        status_text(facts, &section).await
    }

    async fn traces(&self, session: &SessionId) -> Vec<TraceName> {
        let places = self.places(session);
        let listed = tokio::task::spawn_blocking(move || Traces::of(&places).list()).await;
        let listed = listed.ok().and_then(Result::ok).unwrap_or_default().into_iter();
        listed
            .map(|(file, skill, at_ms)| TraceName { file, skill, at_ms })
            .collect()
    }
}

fn guide_result(asked: GuidanceAsk, order: SkillOrder) -> GuideResult {
    let named = Named {
        path: asked.path,
        command: asked.command,
    };
    let given = asked.given.into_iter().map(|mark| RuleMark {
        path: mark.path.into(),
        hash: mark.hash,
    });
    GuideResult {
        session: asked.session,
        number: asked.number,
        open: asked.open,
        touched: touched_by(&asked.tool, &named),
        workspace: order.workspace,
        is_trusted: order.workspace_trusted,
        terms: None,
        given: given.collect(),
    }
}

fn broken(why: &str) -> Refused {
    Refused {
        reason: Reason {
            code: ReasonCode::Internal,
            message: format!("The chain could not be made: {why}"),
        },
        hint: None,
    }
}

fn not_chained(error: RuntimeError) -> Refused {
    let reason = match error {
        RuntimeError::Refused(reason) => reason,
        error => internal(&error),
    };
    Refused { reason, hint: None }
}

/// What a line asks for, as the host is told.
fn reading_of(text: &str) -> InputReading {
    match read_typed_input(text) {
        ReadInput::Pass => InputReading::Pass,
        ReadInput::Skill(command) if command.is_well_formed() => InputReading::Skill {
            name: command.name,
            task: command.task,
            hosts_form: text.trim_start().starts_with("/skill:"),
        },
        ReadInput::Skill(command) => InputReading::NoName { typed: command.typed },
        ReadInput::PickSkill => InputReading::PickSkill,
        ReadInput::Cancel => InputReading::Cancel,
        ReadInput::Resume { run } => InputReading::Resume { run },
        ReadInput::TraceReport { skill } => InputReading::TraceReport { skill },
        ReadInput::TraceView { file } => InputReading::TraceView { file },
        ReadInput::Tell { kind, what } => InputReading::Tell { kind, what },
        ReadInput::Transcript { run } => InputReading::Transcript { run },
        ReadInput::Status { section } => InputReading::Status { section },
        // As the host completes it.
        ReadInput::Usage { usage } => InputReading::Usage {
            usage: usage.replacen("/skill ", "/skill:", 1),
        },
    }
}

async fn report_text(places: SettingsPlaces, skill: String) -> String {
    aside(move || match Traces::of(&places).report(&skill) {
        Ok(reported) => reported.text(),
        Err(why) => why.to_string(),
    })
    .await
}

async fn view_text(places: SettingsPlaces, file: String) -> String {
    aside(move || match Traces::of(&places).view(&file) {
        Ok((trace, verdict)) => viewed(&file, &trace, &verdict),
        Err(why) => why.to_string(),
    })
    .await
}

/// Reads files beside the bridge, which goes on meanwhile.
async fn aside(read: impl FnOnce() -> String + Send + 'static) -> String {
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| format!("[System]: Reading traces failed: {error}"))
}

/// Has a run that ended delivered once more, which finds the result where it stands. A run that is still putting its
/// things away cannot be adopted yet, so this is repeated for a while.
async fn acknowledge(runtime: Runtime, run: RunId) {
    for _ in 0..ACKNOWLEDGE_TRIES {
        let filter = RunFilter::id_prefix(run.as_str());
        let runs = runtime.runs(filter).await.unwrap_or_default();
        let open = |run: &RunSummary| run.state >= RunState::Succeeded && !run.acknowledged;
        if !runs.iter().any(open) {
            return;
        }
        if let Err(error) = runtime.adopt().await {
            tracing::warn!(%error, "delivery not acknowledged yet");
        }
        tokio::time::sleep(ACKNOWLEDGE_PAUSE).await;
    }
}

/// Every skill reads the settings anew; what is wrong with them is said once a session.
async fn say_what_is_wrong(host: PiHost, places: SettingsPlaces) {
    let read_at = places.clone();
    let Ok(mut settings) = tokio::task::spawn_blocking(move || Settings::read(&read_at)).await else {
        return;
    };
    let named = settings.models_named();
    let models = named.iter().map(|(_, model)| model.clone()).collect::<Vec<_>>();
    let standings = match models.is_empty() {
        true => None,
        false => host.check_models(&models).await,
    };
    for ((path, model), standing) in named.iter().zip(standings.into_iter().flatten()) {
        if let Some(why) = what_is_wrong_with(model, standing) {
            settings.object_to_model(&places, path, why);
        }
    }
    if let Some(notice) = settings.notice() {
        host.warn(notice);
    }
}

fn what_is_wrong_with(model: &str, standing: ModelStanding) -> Option<String> {
    match standing {
        ModelStanding::Ready => None,
        ModelStanding::Unknown => Some(format!("Pi has no model {model:?}")),
        ModelStanding::NotLoggedIn => Some(format!("nobody is logged in for {model:?} (/login, or its key)")),
    }
}

/// Before hosts had a notion of trust, they loaded what lay in the workspace.
fn is_trusted(start: &SessionStart) -> bool {
    start.trusted.unwrap_or(true)
}

fn in_words(error: &RuntimeError) -> String {
    match error {
        RuntimeError::Refused(reason) => reason.message.clone(),
        other => format!("Impresario failed to {other}."),
    }
}
