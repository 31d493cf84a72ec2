//! A skill, a host and models that play what a test wrote down.

use crate::audit::Audit;
use crate::playing::{calls, says, within};
use impresario::chaos::{Plan, When};
use impresario::runtime::EMBEDDED_RUNNER;
use impresario::runtime::{
    EmbeddedTool, Host, ModelClient, ModelError, ModelReply, ModelRequest, Reason, Replay, RunId,
    TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::settings::{Settings, SettingsPlaces};
use impresario::skills::SpawnSettings;
use impresario::{Outcome, Runtime, RuntimeError};
use impresario_actors::gateways::{ChatMessage, ChatRole, Delivery, DeliveryReceipt, HostError, Progress};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::domain::SessionId;
use impresario_policies::projection::RecordedStep;
use impresario_policies::prompts::{BRIEF_MARK, JUDGE_MARK, read_section};
use impresario_policies::run_request::runner_tools;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

pub const BRIEF: &str = r#"{"userGoal": "Find the lock.", "constraints": [], "knownContext": ""}"#;

/// What the sub-agent's model does in one turn.
#[derive(Clone)]
pub enum Reply {
    Says(&'static str),
    CallsTool,
    Refused,
    Silence,
}

/// A story that has not begun.
pub struct Stage {
    _audit: Audit,
    directory: TempDir,
    settings: SpawnSettings,
    pub name: &'static str,
    pub skill_model: &'static str,
    pub brief: String,
    pub judge: String,
    pub turns: Vec<Reply>,
    pub said: Vec<String>,
    pub answers: Vec<&'static str>,
    pub total_ms: u64,
    pub kill_first_attempt: bool,
}

/// A story that is over.
pub struct Story {
    pub outcome: Outcome,
    pub steps: Vec<RecordedStep>,
    seen: Arc<Mutex<Seen>>,
}

/// What host and models saw.
#[derive(Default)]
struct Seen {
    requests: Vec<ModelRequest>,
    notices: Vec<String>,
    questions: Vec<String>,
    deliveries: Vec<Delivery>,
}

impl Stage {
    /// Where these settings stand in the workspace.
    pub fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let pi = directory.path().join("workspace/.pi");
        fs::create_dir_all(&pi).expect("a workspace");
        let text = format!("{{\"impresario\": {settings}}}");
        fs::write(pi.join("settings.json"), text).expect("settings");
        let places = SettingsPlaces {
            home_file: None,
            home_file_shown: String::new(),
            workspace: directory.path().join("workspace"),
            workspace_trusted: true,
        };
        let read = Settings::read(&places);
        assert_eq!(read.problems, []);
        let mut skills = SpawnSettings {
            home: None,
            embedded_has_providers: true,
            ..SpawnSettings::default()
        };
        skills.set(read.configured());
        skills.run.trace_directory = None;
        let tools = runner_tools(EMBEDDED_RUNNER);
        skills.means.tools = Some([tools, vec!["big".to_string()]].concat());
        skills.run.persistence.tries_per_model_max = 1;
        skills.run.persistence.unreached_tries_max = 1;
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            settings: skills,
            name: "look",
            skill_model: "",
            brief: BRIEF.to_string(),
            judge: super::verdict("balanced", "read_only"),
            turns: vec![Reply::Says("So it is.")],
            said: Vec::new(),
            answers: Vec::new(),
            total_ms: 60_000,
            kill_first_attempt: false,
        }
    }

    /// Runs the skill to its end.
    pub async fn run(&self, task: &str) -> Story {
        let (runtime, seen) = self.start().await;
        let run = runtime.spawn_skill(self.order(task)).await.expect("accepted");
        let outcome = within(run.outcome()).await.expect("an outcome");
        self.end(runtime, outcome, seen).await
    }

    /// The run is not accepted: why, and which models were called all the same.
    pub async fn refused(&self, task: &str) -> (Reason, Vec<String>) {
        let (runtime, seen) = self.start().await;
        let refused = runtime.spawn_skill(self.order(task)).await;
        runtime.shutdown().await.expect("stopped");
        let requests = lock(&seen).requests.clone();
        let asked = requests.into_iter().map(|request| request.model).collect();
        match refused {
            Err(RuntimeError::Refused(reason)) => (reason, asked),
            other => panic!("{other:?}"),
        }
    }

    /// A second skill is ordered when the first one has called a model.
    pub async fn refused_beside_another(&self) -> Reason {
        let (runtime, seen) = self.start().await;
        runtime.spawn_skill(self.order("Look.")).await.expect("accepted");
        let asks = async {
            while lock(&seen).requests.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        within(asks).await;
        let second = runtime.spawn_skill(self.order("Look.")).await;
        runtime.shutdown().await.expect("stopped");
        match second {
            Err(RuntimeError::Refused(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The program stops while the sub-agent works.
    pub async fn park(&self, task: &str) -> Outcome {
        let (runtime, seen) = self.start().await;
        let run = runtime.spawn_skill(self.order(task)).await.expect("accepted");
        let works = async {
            while !lock(&seen).requests.iter().any(is_of_sub_agent) {
                tokio::task::yield_now().await;
            }
        };
        within(works).await;
        runtime.shutdown().await.expect("stopped");
        let (runtime, _) = self.start().await;
        let outcome = within(runtime.run(run.id().clone()).outcome())
            .await
            .expect("an outcome");
        runtime.shutdown().await.expect("stopped");
        assert_eq!(outcome.state, TerminalState::Parked);
        outcome
    }

    /// Goes on with a parked run.
    pub async fn resume(&self, parked: &RunId) -> Story {
        let (runtime, seen) = self.start().await;
        let run = runtime.resume(parked).await.expect("accepted");
        let outcome = within(run.outcome()).await.expect("an outcome");
        self.end(runtime, outcome, seen).await
    }

    async fn start(&self) -> (Runtime, Arc<Mutex<Seen>>) {
        let skill = self.workspace().join(".pi/skills").join(self.name);
        fs::create_dir_all(&skill).expect("a skill");
        let model = self.skill_model;
        let text = format!(
            "---\nname: {0}\ndescription: Looks.\nmodel: {model}\n---\nLook.\n",
            self.name
        );
        fs::write(skill.join("SKILL.md"), text).expect("a skill");
        let seen = Arc::<Mutex<Seen>>::default();
        let part = Part {
            seen: seen.clone(),
            brief: self.brief.clone(),
            judge: self.judge.clone(),
            said: self.said.clone(),
            turns: Arc::new(Mutex::new(self.turns.clone())),
            answers: Arc::new(Mutex::new(self.answers.clone())),
        };
        let (host, model) = (part.clone(), part);
        let mut settings = self.settings.clone();
        settings.run.clocks.total = Duration::from_millis(self.total_ms);
        let mut builder = Runtime::builder()
            .state_directory(self.directory.path().join("state"))
            .workspace(self.workspace())
            .skills(settings)
            .host("test", host)
            .model(model)
            .tool(Big);
        if self.kill_first_attempt {
            builder = builder.chaos(Plan::AtBoundary {
                kind: "attempt".to_string(),
                message: "RunnerSaid".to_string(),
                when: When::Before,
                nth: 1,
            });
        }
        (builder.start().await.expect("started"), seen)
    }

    async fn end(&self, runtime: Runtime, outcome: Outcome, seen: Arc<Mutex<Seen>>) -> Story {
        let steps = runtime.steps(&outcome.run, 0).await.expect("steps");
        runtime.shutdown().await.expect("stopped");
        Story { outcome, steps, seen }
    }

    fn workspace(&self) -> std::path::PathBuf {
        self.directory.path().join("workspace")
    }

    fn order(&self, task: &str) -> SkillOrder {
        SkillOrder {
            name: self.name.to_string(),
            task: task.to_string(),
            session: None::<SessionId>,
            workspace: self.workspace(),
            workspace_trusted: true,
            model: Some("s/own".to_string()),
            ..SkillOrder::default()
        }
    }
}

impl Story {
    fn requests(&self, wanted: fn(&ModelRequest) -> bool) -> Vec<ModelRequest> {
        let requests = lock(&self.seen).requests.clone();
        requests.into_iter().filter(wanted).collect()
    }

    pub fn routing_requests(&self) -> Vec<ModelRequest> {
        self.requests(|request| !is_of_sub_agent(request))
    }

    /// What actor and judge saw of the conversation.
    pub fn chats(&self) -> Vec<String> {
        let requests = self.routing_requests().into_iter();
        let chats = requests.map(|request| read_section(&request.messages[0].text, "chat"));
        chats.map(|chat| chat.expect("a chat")).collect()
    }

    pub fn requests_of_the_sub_agent(&self) -> Vec<ModelRequest> {
        self.requests(is_of_sub_agent)
    }

    /// The models that the sub-agent was asked on.
    pub fn asked_models(&self) -> Vec<String> {
        let requests = self.requests_of_the_sub_agent().into_iter();
        requests.map(|request| request.model).collect()
    }

    pub fn notices(&self) -> Vec<String> {
        lock(&self.seen).notices.clone()
    }

    pub fn questions(&self) -> Vec<String> {
        lock(&self.seen).questions.clone()
    }

    pub fn stopped_early(&self) -> Vec<Option<String>> {
        let deliveries = lock(&self.seen).deliveries.clone();
        deliveries
            .into_iter()
            .map(|delivery| delivery.stopped_early)
            .collect()
    }
}

fn is_of_sub_agent(request: &ModelRequest) -> bool {
    !request.system.starts_with(BRIEF_MARK) && !request.system.starts_with(JUDGE_MARK)
}

#[derive(Clone)]
struct Part {
    seen: Arc<Mutex<Seen>>,
    brief: String,
    judge: String,
    said: Vec<String>,
    turns: Arc<Mutex<Vec<Reply>>>,
    answers: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait(?Send)]
impl ModelClient for Part {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        lock(&self.seen).requests.push(request.clone());
        if request.system.starts_with(BRIEF_MARK) && self.brief.is_empty() {
            return std::future::pending().await;
        }
        if request.system.starts_with(BRIEF_MARK) {
            return Ok(says(&self.brief));
        }
        if request.system.starts_with(JUDGE_MARK) {
            return Ok(says(&self.judge));
        }
        let next = {
            let mut turns = lock(&self.turns);
            match turns.len() {
                0 | 1 => turns.first().cloned(),
                _ => Some(turns.remove(0)),
            }
        };
        match next.expect("a turn") {
            Reply::Says(text) => Ok(says(text)),
            Reply::CallsTool => Ok(calls("call-1", "big", json!({}))),
            Reply::Refused => Err(ModelError::Unavailable("full".to_string())),
            Reply::Silence => std::future::pending().await,
        }
    }
}

#[async_trait(?Send)]
impl Host for Part {
    fn show(&self, _: Progress) {}

    fn notice(&self, text: String) {
        lock(&self.seen).notices.push(text);
    }

    async fn ask(&self, _: &RunId, question: String) -> Result<String, HostError> {
        lock(&self.seen).questions.push(question);
        let answer = lock(&self.answers).pop();
        answer.map(str::to_string).ok_or(HostError::NobodyThere)
    }

    async fn history(&self, messages_max: usize) -> Result<Vec<ChatMessage>, HostError> {
        let left_out = self.said.len().saturating_sub(messages_max);
        let said = self.said[left_out..].iter().map(|content| ChatMessage {
            role: ChatRole::User,
            content: content.clone(),
        });
        Ok(said.collect())
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        lock(&self.seen).deliveries.push(delivery);
        Ok(DeliveryReceipt::Kept)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}

/// A tool that says much.
struct Big;

#[async_trait]
impl EmbeddedTool for Big {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "big".to_string(),
            description: "Says much.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<String, String> {
        Ok("x".repeat(3_000))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The log of this process, from the first time that somebody wants it.
static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();

struct Pen(Arc<Mutex<Vec<u8>>>);

impl io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn keep_the_log() {
    LOG.get_or_init(|| {
        let log = Arc::<Mutex<Vec<u8>>>::default();
        let kept = log.clone();
        tracing_subscriber::fmt()
            .json()
            .with_env_filter("info,impresario::events=debug")
            .with_writer(move || Pen(kept.clone()))
            .init();
        log
    });
}

pub fn whole_log() -> String {
    let log = LOG.get().expect("a log");
    String::from_utf8(lock(log).clone()).expect("text")
}

/// The structured events about a skill.
pub fn logged(skill: &str) -> Vec<Value> {
    let log = whole_log();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    let events = lines.filter(|line| line["target"] == "impresario::events");
    let events = events.map(|line| {
        let message = line["fields"]["message"].as_str().expect("a message");
        serde_json::from_str::<Value>(message).expect("an event")
    });
    events.filter(|event| event["skill"] == skill).collect()
}
