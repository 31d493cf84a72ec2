//! A program that embeds the runtime and comes to a halt at a known point, so that it can be killed there; and the
//! same program without the halt, which goes on with what the killed one left.

use crate::place::until;
use impresario::chaos::{DeliverySeen, EffectSeen, Evidence, evidence_of};
use impresario::runtime::{
    EmbeddedTool, Host, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ModelUsage,
    OFFLINE_MODEL, Replay, RunFilter, RunId, ToolCall, ToolContext, ToolDefinition, async_trait,
};
use impresario::skills::SpawnSettings;
use impresario::{Group, Run, Runtime, SubAgent, SubAgentGroup, Subtask};
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, HostError, Progress};
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::models::OfflineModel;
use impresario_policies::domain::{CutTool, SessionId};
use serde_json::{Value, json};
use std::fs;
use std::future::pending;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Where the program halts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The first routing call was made, nothing of it is paid for.
    Accepted,
    /// The brief is written, and another run has the room.
    Waiting,
    /// The sub-agent asks its model for the first time.
    Active,
    /// The same, and the run was told something that its sub-agent has not heard.
    Told,
    /// The sub-agent has heard what the run was told, and asks its model what follows.
    Heard,
    /// The sub-agent of a skill asks the model that was chosen for the work.
    Chosen,
    /// A tool has run, and the model is asked what follows.
    ToolFinished,
    /// A tool that may run again did its work and does not return.
    SafeTool,
    /// A tool that must not run again did its work and does not return.
    UnsafeTool,
    /// The same, in a run whose sub-agent shall be told.
    UnsafeToolTold,
    /// The run has ended, and the host takes the result without a word.
    Undelivered,
    /// The host showed the result and did not say that it kept it.
    Unacknowledged,
    /// Of three sub-tasks side by side, one at a time, the first has answered and the second stands still.
    SideBySide,
    /// It does not halt: it takes on one run after another.
    Nowhere,
}

const HALTS: [Halt; 14] = [
    Halt::Accepted,
    Halt::Waiting,
    Halt::Active,
    Halt::Told,
    Halt::Heard,
    Halt::Chosen,
    Halt::ToolFinished,
    Halt::SafeTool,
    Halt::UnsafeTool,
    Halt::UnsafeToolTold,
    Halt::Undelivered,
    Halt::Unacknowledged,
    Halt::SideBySide,
    Halt::Nowhere,
];

impl Halt {
    /// The last step in the journal when the program halts there.
    fn last_step(self) -> &'static str {
        match self {
            Self::Accepted | Self::Nowhere => "accepted",
            Self::Waiting => "routed",
            Self::Active | Self::SideBySide | Self::Chosen => "attempt_active",
            Self::Told => "message_accepted",
            Self::Heard => "message_delivered",
            Self::ToolFinished => "tool_ended",
            Self::SafeTool | Self::UnsafeTool | Self::UnsafeToolTold => "tool_started",
            Self::Undelivered => "ended",
            Self::Unacknowledged => "delivered",
        }
    }

    /// Something of the program's own stands still there.
    fn stands_still(self) -> bool {
        !matches!(self, Self::Waiting | Self::Unacknowledged | Self::Nowhere)
    }
}

const SESSION: &str = "the session";
const HALT: &str = "RECOVERY_HALT";
const SCENE: &str = "RECOVERY_SCENE";
/// The test that plays the program when it is started as one.
const PROGRAM: &str = "recovery::killed_at_any_time_no_promise_is_broken";
/// A run with this task uses a tool that must not run twice.
pub const WRITES: &str = "Write the word down.";
/// What a run is told while it works.
pub const TOLD: &str = "Use capitals.";
/// The sub-task at which the program halts.
const SECOND: &str = "two";
/// A run with this task uses a tool that may run again.
pub const LOOKS: &str = "Look the word up.";

/// The files that the killed program, its successor and the test share.
#[derive(Debug, Clone)]
pub struct Scene(PathBuf);

impl Scene {
    pub fn at(directory: &Path) -> Self {
        let scene = Self(directory.to_path_buf());
        fs::create_dir_all(scene.0.join("workspace")).expect("a workspace");
        scene
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn note(&self, name: &str, line: &str) {
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).append(true).open(self.file(name));
        // In one write: several threads note at a time.
        let line = format!("{line}\n");
        file.expect("a file").write_all(line.as_bytes()).expect("a line");
    }

    /// What was noted.
    pub fn noted(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    async fn stand_still<T>(&self) -> T {
        self.note("still", "here");
        pending().await
    }

    /// Starts the runtime of the program.
    pub async fn start(&self, halt: Option<Halt>) -> Runtime {
        let session = Arc::new(Mutex::new(Some(SessionId(SESSION.to_string()))));
        let part = Part {
            scene: self.clone(),
            halt,
        };
        let (model, host) = (part.clone(), part.clone());
        let tool = |name, replay| Tool {
            part: part.clone(),
            name,
            replay,
        };
        Runtime::builder()
            .state_directory(self.state())
            .workspace(self.0.join("workspace"))
            .session(session)
            .skills(skills())
            .host("embedder", host)
            .model(model)
            .tool(tool("look", Replay::Safe))
            .tool(tool("write", Replay::Unsafe))
            .width(if halt == Some(Halt::Waiting) { 1 } else { 4 })
            .start()
            .await
            .expect("the runtime starts")
    }

    /// What an auditor finds, with what the program's own tools and host noted.
    pub fn evidence(&self) -> Evidence {
        let mut evidence = evidence_of(self.state()).expect("a journal that can be read");
        let parsed = |line: &String| serde_json::from_str::<Value>(line).expect("a noted line");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        for noted in self.noted("deliveries").iter().map(parsed) {
            evidence.deliveries.push(DeliverySeen {
                run: text(&noted["run"]),
                state: text(&noted["state"]),
                answer: noted["answer"].as_str().map(str::to_string),
            });
        }
        for noted in self.noted("effects").iter().map(parsed) {
            evidence.effects.push(EffectSeen {
                run: text(&noted["run"]),
                call: text(&noted["call"]),
                replay_safe: noted["replay_safe"] == true,
                announced: noted["announced"] == true,
            });
        }
        evidence.accepted = self.noted("accepted");
        evidence
    }
}

/// A program at its halt.
pub struct Victim(Child);

impl Victim {
    pub fn start(scene: &Scene, halt: Halt) -> Self {
        let ourselves = std::env::current_exe().expect("our own program");
        let child = Command::new(ourselves)
            .args(["--exact", PROGRAM, "--nocapture"])
            .env(HALT, format!("{halt:?}"))
            .env(SCENE, &scene.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("the program starts"))
    }

    /// Kills it when it stands where it should, and gives the run it stood in.
    pub fn kill_at_its_halt(mut self, scene: &Scene, halt: Halt) -> String {
        until("the program stands at its halt", || {
            scene.file("reached").exists()
        });
        let run = scene.noted("reached").remove(0);
        let last_step = || {
            let rows = scene.evidence().rows;
            let mut of_run = rows.into_iter().filter(|row| row.run == run);
            let last = of_run.rfind(|row| counts(&row.step["step"], halt.last_step()))?;
            Some(last.step["step"].as_str()?.to_string())
        };
        // A tool that may run again does not wait for the journal, so it may stand there before its step is on disk.
        until("the journal has the step it stands in", || {
            last_step().as_deref() == Some(halt.last_step())
        });
        self.kill();
        assert_eq!(
            last_step().as_deref(),
            Some(halt.last_step()),
            "it was killed somewhere else"
        );
        run
    }

    pub fn kill(&mut self) {
        self.0.kill().expect("it is there");
        let status = self.0.wait().expect("it is gone");
        assert_eq!(
            status.signal(),
            Some(9),
            "it ended before it was killed: {status}"
        );
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The life of the program, in a process of its own; returns at once in any other.
pub fn live() {
    let (Ok(halt), Ok(scene)) = (std::env::var(HALT), std::env::var(SCENE)) else {
        return;
    };
    let halt = HALTS.into_iter().find(|known| format!("{known:?}") == halt);
    let halt = halt.expect("a halt");
    let scene = Scene(PathBuf::from(scene));
    let tokio = tokio::runtime::Runtime::new().expect("tokio");
    tokio.block_on(async move {
        let runtime = scene.start(Some(halt)).await;
        match halt {
            Halt::Nowhere => work_for_ever(&runtime, &scene).await,
            Halt::SideBySide => work_side_by_side(&runtime, &scene).await,
            _ => work_until_the_halt(&runtime, &scene, halt).await,
        }
    });
}

async fn work_until_the_halt(runtime: &Runtime, scene: &Scene, halt: Halt) {
    if halt == Halt::Waiting {
        let silent = SubAgent::explore(LOOKS).unjudged().chain(["house/silent"]);
        let silent = accepted(runtime, scene, silent.session(SESSION)).await;
        until_its_last_step_is("attempt_active", runtime, silent.id()).await;
    }
    let task = match halt {
        Halt::SafeTool => LOOKS,
        _ => WRITES,
    };
    let cut_tool = match halt {
        Halt::UnsafeToolTold => CutTool::TellSubAgent,
        _ => CutTool::Park,
    };
    let run = match halt {
        Halt::Chosen => accepted_skill(runtime, scene).await,
        _ => accepted(runtime, scene, sub_agent(task).when_a_tool_is_cut(cut_tool)).await,
    };
    if matches!(halt, Halt::Told | Halt::Heard) {
        until_its_last_step_is("attempt_active", runtime, run.id()).await;
        run.steer(TOLD).await.expect("taken");
        scene.note("told", TOLD);
    }
    until_its_last_step_is(halt.last_step(), runtime, run.id()).await;
    stand_still_at(scene, halt, run.id()).await;
}

async fn stand_still_at(scene: &Scene, halt: Halt, run: &RunId) {
    while halt.stands_still() && !scene.file("still").exists() {
        tokio::task::yield_now().await;
    }
    fs::write(scene.file("reaching"), run.to_string()).expect("a file");
    fs::rename(scene.file("reaching"), scene.file("reached")).expect("a file");
    pending().await
}

/// Three sub-tasks, one at a time.
pub async fn three_side_by_side(runtime: &Runtime, scene: &Scene) -> Group {
    let subtasks = ["one", SECOND, "three"].map(|id| Subtask::new(id, LOOKS));
    let group = SubAgentGroup::like(sub_agent(""))
        .subtasks(subtasks)
        .concurrency(1);
    let group = runtime.parallel(group).await.expect("accepted");
    scene.note("group", group.id().as_str());
    for run in group.runs() {
        scene.note("accepted", run.id().as_str());
    }
    group
}

async fn work_side_by_side(runtime: &Runtime, scene: &Scene) {
    let group = three_side_by_side(runtime, scene).await;
    let second = group.runs()[1].id();
    until_its_last_step_is(Halt::SideBySide.last_step(), runtime, second).await;
    stand_still_at(scene, Halt::SideBySide, second).await;
}

async fn work_for_ever(runtime: &Runtime, scene: &Scene) {
    loop {
        let looks = accepted(runtime, scene, sub_agent(LOOKS)).await;
        let writes = accepted(runtime, scene, sub_agent(WRITES)).await;
        scene.note("reached", "begun");
        for run in [looks, writes] {
            run.outcome().await.expect("an outcome");
        }
    }
}

fn sub_agent(task: &str) -> SubAgent {
    SubAgent::explore(task)
        .chain(["house/one"])
        .routing_model(OFFLINE_MODEL)
        .session(SESSION)
        .with_tool("look")
        .with_tool("write")
}

async fn accepted(runtime: &Runtime, scene: &Scene, sub_agent: SubAgent) -> Run {
    let run = runtime.spawn(sub_agent).await.expect("accepted");
    scene.note("accepted", run.id().as_str());
    run
}

/// A skill whose model is chosen by the work: to write something is for the balanced tier.
async fn accepted_skill(runtime: &Runtime, scene: &Scene) -> Run {
    let workspace = scene.0.join("workspace");
    let directory = workspace.join(".pi/skills/write");
    fs::create_dir_all(&directory).expect("a directory");
    let text = "---\nname: write\ndescription: Writes.\n---\nWrite what is asked for.\n";
    fs::write(directory.join("SKILL.md"), text).expect("a skill");
    let order = SkillOrder {
        name: "write".to_string(),
        task: WRITES.to_string(),
        session: Some(SessionId(SESSION.to_string())),
        workspace,
        workspace_trusted: true,
        model: Some("house/own".to_string()),
        ..SkillOrder::default()
    };
    let run = runtime.spawn_skill(order).await.expect("accepted");
    scene.note("accepted", run.id().as_str());
    run
}

fn skills() -> SpawnSettings {
    let mut skills = SpawnSettings::default();
    skills.means.models_chosen = true;
    skills.means.tools = Some(vec!["look".to_string(), "write".to_string()]);
    skills.run.routing_model = Some(OFFLINE_MODEL.to_string());
    skills.run.trace_directory = None;
    skills.run.route.enabled = true;
    skills.run.route.models.cheap = Some("house/cheap".to_string());
    skills.run.route.models.balanced = Some("house/balanced".to_string());
    skills.run.route.models.frontier = Some("house/frontier".to_string());
    skills
}

/// A tool that may run again does not wait for the journal, so the attempt's first sign of life may stand behind its start.
fn counts(step: &Value, wanted: &str) -> bool {
    wanted != "tool_started" || step != "attempt_active"
}

async fn until_its_last_step_is(step: &str, runtime: &Runtime, run: &RunId) {
    loop {
        let steps = runtime.steps(run, 0).await.expect("steps");
        let mut told = steps
            .iter()
            .filter_map(|one| serde_json::to_value(&one.step).ok());
        let last = told.rfind(|one| counts(&one["step"], step));
        if last.is_some_and(|last| last["step"] == step) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// Waits until nothing is under way any more.
pub async fn until_all_is_over(runtime: &Runtime) {
    for run in runtime.runs(RunFilter::default()).await.expect("a list") {
        runtime.run(run.run).outcome().await.expect("an outcome");
    }
}

/// What model, host and tools of the program have in common.
#[derive(Debug, Clone)]
struct Part {
    scene: Scene,
    halt: Option<Halt>,
}

impl Part {
    /// The host is told on another thread: whoever is killed on the chosen model has told of it.
    async fn until_the_choice_was_told(&self) {
        let is_told = || {
            let told = self.scene.noted("notices");
            told.iter().any(|line| line.contains("Executing"))
        };
        while self.halt == Some(Halt::Chosen) && !is_told() {
            tokio::task::yield_now().await;
        }
    }

    /// A run that is to hear something does not go on before it was told.
    async fn until_it_was_told(&self) {
        while self.halt == Some(Halt::Heard) && self.scene.noted("told").is_empty() {
            tokio::task::yield_now().await;
        }
    }

    async fn halt_at(&self, halts: &[Halt]) {
        if self.halt.is_some_and(|halt| halts.contains(&halt)) {
            self.scene.stand_still().await
        }
    }
}

#[async_trait(?Send)]
impl ModelClient for Part {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        if request.model == OFFLINE_MODEL {
            self.halt_at(&[Halt::Accepted]).await;
            self.scene.note("paid", "routing");
            return OfflineModel.complete(request).await;
        }
        if request.model == "house/silent" {
            return match self.halt {
                Some(_) => pending().await,
                None => Ok(says("silence")),
            };
        }
        self.until_the_choice_was_told().await;
        self.until_it_was_told().await;
        let told = request.messages.iter();
        let told = told.filter(|message| message.text.contains(TOLD)).count();
        self.scene.note("heard", &told.to_string());
        if told > 0 {
            self.halt_at(&[Halt::Heard]).await;
        }
        self.halt_at(&[Halt::Active, Halt::Told, Halt::Chosen]).await;
        if is_of_subtask(&request, SECOND) {
            self.halt_at(&[Halt::SideBySide]).await;
        }
        self.scene.note("paid", "turn");
        let mut messages = request.messages.iter();
        let Some(said) = messages.rfind(|message| message.role == ModelRole::Tool) else {
            return Ok(calls_a_tool(&request));
        };
        self.halt_at(&[Halt::ToolFinished]).await;
        Ok(says(&format!("The tool said: {}", said.text)))
    }
}

fn is_of_subtask(request: &ModelRequest, id: &str) -> bool {
    let told = format!("Subtask ID: {id}\n");
    request
        .messages
        .iter()
        .any(|message| message.text.starts_with(&told))
}

fn calls_a_tool(request: &ModelRequest) -> ModelReply {
    let writes = request
        .messages
        .iter()
        .any(|message| message.text.contains(WRITES));
    ModelReply {
        tool_calls: vec![ToolCall {
            id: "call-1".to_string(),
            tool: if writes { "write" } else { "look" }.to_string(),
            arguments: json!({}),
        }],
        ..says("")
    }
}

fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_string(),
        tool_calls: Vec::new(),
        usage: ModelUsage::default(),
        served: None,
    }
}

#[async_trait(?Send)]
impl Host for Part {
    fn show(&self, _: Progress) {}

    fn notice(&self, text: String) {
        self.scene.note("notices", &text);
    }

    async fn ask(&self, _: &RunId, _: String) -> Result<String, HostError> {
        Err(HostError::NobodyThere)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        self.halt_at(&[Halt::Undelivered]).await;
        let Delivery {
            run, state, answer, ..
        } = delivery;
        let line = json!({ "run": run, "state": state, "answer": answer });
        self.scene.note("deliveries", &line.to_string());
        Ok(match self.halt {
            Some(Halt::Unacknowledged) => DeliveryReceipt::Shown,
            _ => DeliveryReceipt::Kept,
        })
    }

    async fn has(&self, run: &RunId) -> Result<bool, HostError> {
        self.scene.note("asked", run.as_str());
        Ok(self.scene.file("branch").exists())
    }
}

struct Tool {
    part: Part,
    name: &'static str,
    replay: Replay,
}

impl Tool {
    /// The run that is in this tool, as the journal has it: the newest one whose open call is of this tool.
    fn announced_by(&self) -> Option<String> {
        let rows = self.part.scene.evidence().rows;
        let of_tool = |row: &&impresario::chaos::JournalRow| {
            row.step["step"] == "tool_started" && row.step["tool"] == self.name
        };
        let open = rows.iter().filter(of_tool).filter(|started| {
            let later = rows
                .iter()
                .filter(|row| row.run == started.run && row.sequence > started.sequence);
            !later
                .into_iter()
                .any(|row| row.step["step"] == "tool_ended" || row.step["step"] == "tool_started")
        });
        open.map(|row| row.run.clone()).next_back()
    }
}

#[async_trait]
impl EmbeddedTool for Tool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.to_string(),
            description: "Does one thing.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        self.replay
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<String, String> {
        let run = self.announced_by();
        let line = json!({
            "run": run,
            "call": "call-1",
            "replay_safe": self.replay == Replay::Safe,
            "announced": run.is_some(),
        });
        self.part.scene.note("effects", &line.to_string());
        let halts = [Halt::SafeTool, Halt::UnsafeTool, Halt::UnsafeToolTold];
        self.part.halt_at(&halts).await;
        Ok("done".to_string())
    }
}
