//! Where recorded skills are played: the product's own tree under a paused clock, with a host, a routing model and a
//! sub-agent that do what a record says. Files are real, in a directory of their own.

use crate::disk::SimulatedDisk;
use crate::json::Json;
use async_trait::async_trait;
use futures_util::FutureExt;
use impresario::rule_files::DiskRules;
use impresario::settings::{Settings, SettingsPlaces};
use impresario::skills::{SpawnSettings, resolve};
use impresario::wiring::{Outside, Ports, TreeSettings, grow};
use impresario_actors::answer_files::AnswerFiles;
use impresario_actors::capability_index::CapabilityStore;
use impresario_actors::context::local::{HeavyWork, LocalContextEngine, SearchLimits};
use impresario_actors::file_looks::DiskLooks;
use impresario_actors::gateways::*;
use impresario_actors::journal::{JournalAccess, RuntimeId, RuntimeIdentity, Store};
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::supervision::{Root, RootSettings, SupervisorSettings};
use impresario_actors::tools::LocalTools;
use impresario_actors::trace_files::FileShelf;
use impresario_actors::worktrees::GitWorktrees;
use impresario_policies::admission::AdmissionSettings;
use impresario_policies::domain::*;
use impresario_policies::preflight::preflight_failed_line;
use impresario_policies::projection::RecordedStep;
use impresario_policies::prompts::{JUDGE_MARK, read_section};
use impresario_policies::sub_agent_prompt::retrieves;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot};

/// Longer than any clock of a run.
pub const LONG: Duration = Duration::from_secs(48 * 3600);
/// The runner of the stage.
const RUNNER: &str = "recorded";

/// Where the peer's defaults are not ours (docs/adr/0012, 0014), as if the user had set them.
const PEERS_DEFAULTS: &str = r#"{"impresario": {
    "contextMemory": {"enabled": false, "maxEntries": 8, "maxBytesPerRun": 1000000},
    "defaultProvider": "openrouter", "routingModel": "anthropic/claude-3-5-haiku", "subAgentTemperature": 0,
    "retrieval": {"engine": "auggie"}
}}"#;

/// What a record gives.
#[derive(Default)]
pub struct Script {
    /// The section of the settings file; none without a file.
    pub settings: Option<Json>,
    /// Names and files.
    pub skills: Vec<(String, String)>,
    /// What the routing model answers, call by call.
    pub replies: Vec<Json>,
    /// Behind the last reply the first one follows; else empty ones.
    pub replies_wrap: bool,
    /// What sub-agents do, run by run; the last one repeats.
    pub sub_agents: Vec<Json>,
    /// What sub-agents of a group do, by the id of their sub-task.
    pub by_subtask: Vec<(String, Json)>,
    /// Why the retrieval engine is not ready.
    pub not_ready: Option<String>,
    /// Files in the trace directory.
    pub traces: Vec<(String, String)>,
}

/// What was seen of a call of the routing model.
pub struct RoutingCall {
    pub judge: bool,
    pub revises: bool,
    pub request: ModelRequest,
}

/// What was seen of a sub-agent.
pub struct SubAgentCall {
    pub request: AttemptRequest,
    /// What the runtime said to each result.
    pub verdicts: Vec<ToolVerdict>,
}

/// What the host was told, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    System(String),
    Answer(String),
}

/// Everything outside of the tree, and what it saw.
pub struct World {
    script: Script,
    directory: TempDir,
    pub now_ms: Cell<u64>,
    pub said: RefCell<Vec<Said>>,
    pub routing_calls: RefCell<Vec<RoutingCall>>,
    pub sub_agent_calls: RefCell<Vec<SubAgentCall>>,
    /// The requests that orders became.
    pub requests: RefCell<Vec<RunRequest>>,
    /// Who works now, and who began in which order.
    pub at_work: RefCell<Vec<String>>,
    pub begun: RefCell<Vec<String>>,
    pub most_at_work: Cell<usize>,
    /// Where the answer to the open question goes.
    question: RefCell<Option<oneshot::Sender<String>>>,
    asked: Notify,
    answered: Cell<bool>,
    has_ended: Cell<bool>,
    cancel: RefCell<Option<RunId>>,
    to_be_cancelled: Notify,
}

/// A tree at work.
pub struct Stage {
    pub world: Rc<World>,
    pub ports: Ports,
    disk: SimulatedDisk,
    runs: Cell<u64>,
}

/// Plays on a new stage.
pub fn play<T>(script: Script, story: impl AsyncFnOnce(&Stage) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let world = Rc::new(World::new(script));
        let disk = SimulatedDisk::new();
        let identity = identity(1);
        let journal = JournalAccess::inline(disk.open(&identity), 1, Duration::ZERO);
        let settings = TreeSettings {
            runtime: identity.id.clone(),
            admission: AdmissionSettings { width: Some(64) },
            scratch: world.directory.path().join("scratch"),
            sessions: world.directory.path().join("sessions"),
            restarts: SupervisorSettings::default(),
        };
        let tree = grow(journal, outside(&world), settings);
        let root_settings = RootSettings {
            ..RootSettings::default()
        };
        let root = Root::start_local(tree.top, root_settings).await;
        let stage = Stage {
            world,
            ports: tree.ports,
            disk,
            runs: Cell::new(0),
        };
        let told = story(&stage).await;
        root.shutdown(Duration::from_secs(60)).await;
        told
    })
}

fn identity(number: u64) -> RuntimeIdentity {
    RuntimeIdentity {
        id: RuntimeId::new(UnixMillis(1), number),
        host: "pi".into(),
        session: Some(session()),
        started_at: UnixMillis(1),
        process: 1,
    }
}

fn session() -> SessionId {
    SessionId("recorded".into())
}

fn outside(world: &Rc<World>) -> Outside {
    let runner: Rc<dyn SubAgentRunner> = Rc::new(Recorded(world.clone()));
    let (asked_by, of, checked_by) = (world.clone(), world.clone(), world.clone());
    Outside {
        host: Rc::new(Person(world.clone())),
        model: Rc::new(Routing(world.clone())),
        runners: BTreeMap::from([(RUNNER.to_string(), runner)]),
        clock: Rc::new(Clock(world.clone())),
        traces: Rc::new(FileShelf),
        worktrees: Rc::new(GitWorktrees::new(world.directory.path().join("worktrees"))),
        files: Rc::new(DiskLooks::new(HeavyWork::Inline)),
        rules: Rc::new(DiskRules::new(HeavyWork::Inline)),
        tools: Arc::new(LocalTools::new(HeavyWork::Inline)),
        answers: Rc::new(AnswerFiles::new(
            world.directory.path().join("answers"),
            HeavyWork::Inline,
        )),
        gates: Rc::new(NoGates),
        open_context: Rc::new(|_| {
            Rc::new(LocalContextEngine::new(
                SearchLimits::default(),
                HeavyWork::Inline,
                None,
            ))
        }),
        contain: Rc::new(|_, _| std::future::ready(Proof::NOTHING_STARTED).boxed_local()),
        retrieval_is_ready: Rc::new(move |request| {
            let ready = checked_by.retrieval_is_ready(&request);
            std::future::ready(ready).boxed_local()
        }),
        resolve: Rc::new(move |order| {
            let resolved = asked_by.resolve(order);
            std::future::ready(resolved).boxed_local()
        }),
        our_host: Rc::new(move || ("pi".to_string(), (!of.has_ended.get()).then(session))),
        takes_result: Rc::new(|_| false),
        wanted_here: Rc::new(|_| false),
        within: None,
        capabilities: CapabilityStore::new(None),
        sessions: impresario_actors::session_index::SessionStore::new(None),
        prompts: impresario_actors::prompt_log::PromptFile::default(),
        heavy_work: HeavyWork::Inline,
        free_memory: Rc::new(|| None),
    }
}

impl World {
    fn new(script: Script) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let world = Self {
            directory,
            now_ms: Cell::new(0),
            said: RefCell::default(),
            routing_calls: RefCell::default(),
            sub_agent_calls: RefCell::default(),
            requests: RefCell::default(),
            at_work: RefCell::default(),
            begun: RefCell::default(),
            most_at_work: Cell::new(0),
            question: RefCell::default(),
            asked: Notify::new(),
            answered: Cell::new(false),
            has_ended: Cell::new(false),
            cancel: RefCell::default(),
            to_be_cancelled: Notify::new(),
            script,
        };
        world.write_files();
        world
    }

    fn write_files(&self) {
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        write(self.home_file(), PEERS_DEFAULTS);
        if let Some(settings) = &self.script.settings {
            let root = Json::Object(vec![("auggieRouter".into(), settings.clone())]);
            write(self.workspace().join(".pi/settings.json"), &root.to_text());
        }
        for (name, text) in &self.script.skills {
            write(
                self.workspace().join(".pi/skills").join(name).join("SKILL.md"),
                text,
            );
        }
        for (name, text) in &self.script.traces {
            write(self.workspace().join(".pi/traces").join(name), text);
        }
    }

    fn home_file(&self) -> PathBuf {
        self.directory.path().join("home.json")
    }

    pub fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    pub fn places(&self) -> SettingsPlaces {
        SettingsPlaces {
            home_file: Some(self.home_file()),
            home_file_shown: "~/.pi/agent/settings.json".to_string(),
            workspace: self.workspace(),
            workspace_trusted: true,
        }
    }

    /// The product's own reading of files and settings; of the retrieval engine the record says whether it is ready.
    pub fn resolve(&self, order: SkillOrder) -> Result<RunRequest, Reason> {
        let mut settings = SpawnSettings {
            home: None,
            runner_fixed: true,
            embedded_has_providers: true,
            ..SpawnSettings::default()
        };
        settings.means.runner = RUNNER.to_string();
        settings.means.chain = Vec::new();
        settings.set(Settings::read(&self.places()).configured());
        settings.run.persistence.tries_per_model_max = 1;
        settings.run.persistence.unreached_tries_max = 1;
        let request = resolve(&settings, "pi", order)?;
        self.requests.borrow_mut().push(request.clone());
        Ok(request)
    }

    fn retrieval_is_ready(&self, request: &RunRequest) -> Result<(), Reason> {
        match &self.script.not_ready {
            Some(detail) if retrieves(request) => Err(Reason {
                code: ReasonCode::RetrievalUnavailable,
                message: preflight_failed_line(&request.what, detail),
            }),
            Some(_) | None => Ok(()),
        }
    }

    pub fn say(&self, text: impl Into<String>) {
        self.said.borrow_mut().push(Said::System(text.into()));
    }
}

impl Stage {
    pub fn new_run(&self) -> RunId {
        self.runs.set(self.runs.get() + 1);
        RunId::new(1, self.runs.get())
    }

    pub fn order(&self, name: &str, task: &str) -> SkillOrder {
        SkillOrder {
            name: name.to_string(),
            task: task.to_string(),
            session: Some(session()),
            workspace: self.world.workspace(),
            workspace_trusted: true,
            ..SkillOrder::default()
        }
    }

    /// Returns when somebody was asked something.
    pub async fn asked(&self) {
        self.world.asked.notified().await;
    }

    /// Gives the open question its answer; false without one.
    pub fn answer(&self, text: &str) -> bool {
        let open = self.world.question.borrow_mut().take();
        self.world.answered.set(true);
        open.is_some_and(|open| open.send(text.to_string()).is_ok())
    }

    /// Returns when a sub-agent works that has to be cancelled.
    pub async fn to_be_cancelled(&self) -> Option<RunId> {
        self.world.to_be_cancelled.notified().await;
        self.world.cancel.borrow_mut().take()
    }

    /// The session is over.
    pub fn end_session(&self) {
        self.world.has_ended.set(true);
    }

    pub fn steps(&self, run: &RunId) -> Vec<RecordedStep> {
        self.disk.look(|store| store.steps(run, 0))
    }
}

/// Nothing on record has a gate.
struct NoGates;

#[async_trait(?Send)]
impl Gates for NoGates {
    async fn run(&self, ask: GateAsk) -> GateReport {
        panic!("{} has a gate", ask.run)
    }
}

struct Clock(Rc<World>);

impl WallClock for Clock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.now_ms.get())
    }
}

struct Person(Rc<World>);

#[async_trait(?Send)]
impl Host for Person {
    fn show(&self, _: Progress) {}

    fn notice(&self, text: String) {
        self.0.say(text);
    }

    async fn ask(&self, _: &RunId, question: String) -> Result<String, HostError> {
        let (answer, answered) = oneshot::channel();
        *self.0.question.borrow_mut() = Some(answer);
        self.0.say(question);
        self.0.asked.notify_one();
        answered.await.map_err(|_| HostError::Gone)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        let mut said = self.0.said.borrow_mut();
        said.extend(delivery.answer.map(Said::Answer));
        match (delivery.stopped_early, delivery.reason) {
            (Some(line), _) => said.push(Said::System(line)),
            (None, Some(reason)) => said.push(Said::System(format!("[System]: {}", reason.message))),
            (None, None) => {}
        }
        Ok(DeliveryReceipt::Kept)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}

struct Routing(Rc<World>);

#[async_trait(?Send)]
impl ModelClient for Routing {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let world = &self.0;
        let judge = request.system.starts_with(JUDGE_MARK);
        let at = world.routing_calls.borrow().len();
        world.routing_calls.borrow_mut().push(RoutingCall {
            judge,
            revises: read_section(&request.messages[0].text, "rejected-brief").is_some(),
            request,
        });
        if world.answered.get() {
            return Ok(says(match judge {
                true => SATISFIED,
                false => r#"{"userGoal": "g", "constraints": [], "knownContext": ""}"#,
            }));
        }
        let replies = &world.script.replies;
        let reply = match replies.len() {
            0 => None,
            count if world.script.replies_wrap => replies.get(at % count),
            _ => replies.get(at),
        };
        match reply {
            None => Ok(says("")),
            Some(Json::String(text)) => Ok(says(text)),
            Some(other) => match other.get("error").and_then(Json::as_str) {
                Some(why) => Err(ModelError::Unavailable(why.to_string())),
                None => std::future::pending().await,
            },
        }
    }
}

/// The peer asks nobody after an answer, so no record has a reply for the passes that we make then.
const SATISFIED: &str = r#"{"hasUserGoal": true, "hasRequiredInputs": true, "hasScopeBoundary": true,
    "isUnambiguous": true, "missingRequirementQuestion": null, "executionRoute": {"tier": "balanced",
    "complexity": "low", "risk": "read_only", "confidence": 0.9, "reason": "answered"}}"#;

fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_string(),
        tool_calls: Vec::new(),
        usage: ModelUsage::default(),
        served: None,
    }
}

struct Recorded(Rc<World>);

struct RecordedAttempt(tokio::task::JoinHandle<()>);

#[async_trait(?Send)]
impl AttemptHandle for RecordedAttempt {
    fn cancel(&self) {
        self.0.abort();
    }

    /// Its script hears nothing.
    fn tell(&self, _: RunMessage) {}

    async fn stop(&mut self, _: Duration) -> Proof {
        self.0.abort();
        Proof::NOTHING_STARTED
    }
}

impl Drop for RecordedAttempt {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[async_trait(?Send)]
impl SubAgentRunner for Recorded {
    fn name(&self) -> &str {
        RUNNER
    }

    fn can_resume(&self) -> bool {
        false
    }

    async fn start(
        &self,
        request: AttemptRequest,
        events: RunnerEvents,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Box<dyn AttemptHandle>, SpawnError> {
        let world = self.0.clone();
        let (script, name) = world.script_for(&request);
        let at = world.sub_agent_calls.borrow().len();
        let run = request.run.clone();
        world.sub_agent_calls.borrow_mut().push(SubAgentCall {
            request,
            verdicts: Vec::new(),
        });
        world.at_work.borrow_mut().push(name.clone());
        world.begun.borrow_mut().push(name.clone());
        let at_work = world.at_work.borrow().len();
        world.most_at_work.set(world.most_at_work.get().max(at_work));
        let attempt = async move {
            let _works = Works { world: &world, name };
            perform(&world, at, run, &script, &events, &*gate).await;
        };
        Ok(Box::new(RecordedAttempt(tokio::task::spawn_local(attempt))))
    }

    async fn contain(&self, _: &RunId, _: Duration) -> Proof {
        Proof::NOTHING_STARTED
    }
}

/// A sub-agent at work, until it is dropped.
struct Works<'a> {
    world: &'a World,
    name: String,
}

impl Drop for Works<'_> {
    fn drop(&mut self) {
        self.world.at_work.borrow_mut().retain(|name| *name != self.name);
    }
}

impl World {
    /// What the record has for this sub-agent, and the id of its sub-task.
    fn script_for(&self, request: &AttemptRequest) -> (Json, String) {
        let subtask = request.user_prompt.strip_prefix("Subtask ID: ");
        if let Some(id) = subtask.and_then(|rest| rest.split("\n\nGoal: ").next()) {
            let of_subtask = self.script.by_subtask.iter().find(|(of, _)| of == id);
            let script = of_subtask.map_or(Json::Null, |(_, script)| script.clone());
            return (script, id.to_string());
        }
        let at = self.sub_agent_calls.borrow().len();
        let scripts = &self.script.sub_agents;
        let script = scripts.get(at.min(scripts.len().saturating_sub(1)));
        (script.cloned().unwrap_or(Json::Null), String::new())
    }
}

async fn perform(
    world: &World,
    at: usize,
    run: RunId,
    script: &Json,
    events: &RunnerEvents,
    gate: &dyn ToolGate,
) {
    let word = |key: &str| script.get(key).and_then(Json::as_str).map(str::to_string);
    let say = async |event| drop(events.send(event).await);
    say(RunnerEvent::Active).await;
    let calls = script.get("tool_calls").and_then(Json::as_array);
    for (number, call) in calls.unwrap_or_default().iter().enumerate() {
        use_tool(world, at, number, call, events, gate).await;
    }
    if let Some(delay) = script.get("delay_ms").and_then(Json::as_number) {
        tokio::time::sleep(Duration::from_millis(delay as u64)).await;
    }
    let answer = word("final_text").or(word("text")).unwrap_or_default();
    if let Some(why) = word("error") {
        let facts = EndFacts {
            terminal_event: true,
            stop_reason: Some("error".into()),
            error_message: Some(why),
            read_lines: 1,
            ..EndFacts::default()
        };
        return say(RunnerEvent::Ended(facts)).await;
    }
    let code = |key: &str| script.get(key).and_then(Json::as_number).map(|code| code as i32);
    if code("exit_code").or(code("exit_signal")).is_some() {
        let facts = EndFacts {
            exit_code: code("exit_code"),
            exit_signal: code("exit_signal"),
            stderr_tail: word("stderr").unwrap_or_default(),
            ..EndFacts::default()
        };
        return say(RunnerEvent::Ended(facts)).await;
    }
    let reason = word("stopped_reason").unwrap_or_else(|| "completed".into());
    if reason == "completed" {
        let facts = EndFacts {
            terminal_event: true,
            stop_reason: Some("stop".into()),
            answer,
            read_lines: 1,
            ..EndFacts::default()
        };
        return say(RunnerEvent::Ended(facts)).await;
    }
    say(RunnerEvent::Text { delta: answer }).await;
    match reason.as_str() {
        "aborted" => {
            *world.cancel.borrow_mut() = Some(run);
            world.to_be_cancelled.notify_one();
        }
        // Never done, and never silent.
        "timeout" => loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            say(RunnerEvent::Alive).await;
        },
        _ => {}
    }
    std::future::pending().await
}

async fn use_tool(
    world: &World,
    at: usize,
    number: usize,
    call: &Json,
    events: &RunnerEvents,
    gate: &dyn ToolGate,
) {
    let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or_default();
    let (id, tool, payload) = (format!("call-{number}"), text("tool"), text("payload"));
    let arguments = call.get("args").map(Json::to_text).unwrap_or_default();
    let replay = Replay::Safe;
    gate.starting(&id, tool, tool, &arguments, replay)
        .await
        .expect("it may begin");
    let verdict = gate.review(&id, tool, payload).await;
    let overflow = match &verdict {
        ToolVerdict::Replace { overflow, .. } => overflow.clone(),
        ToolVerdict::Pass => None,
    };
    world.sub_agent_calls.borrow_mut()[at].verdicts.push(verdict);
    let ended = RunnerEvent::ToolEnded {
        call: id,
        is_error: false,
        bytes: payload.len() as u64,
        preview: payload.chars().take(500).collect(),
        overflow,
    };
    let _ = events.send(ended).await;
}
