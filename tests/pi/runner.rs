//! One attempt with a nested Pi, from its start to its last event, for tests that look at what was said and done.

use async_trait::async_trait;
use impresario_actors::gateways::{
    AttemptHandle, AttemptRequest, CallAsked, EndFacts, RunnerEvent, SpawnError, SubAgentRunner, ToolAnswer,
    ToolGate, ToolVerdict,
};
use impresario_actors::processes::ContainmentSetting;
use impresario_actors::runners::pi::{PiRunner, PiSettings};
use impresario_actors::tools::LocalTools;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::attempt_ending::{describe_ending, read_ending};
use impresario_policies::cache_markers::MarkerEdit;
use impresario_policies::domain::{AttemptEnding, AttemptNumber, Proof, Replay, RunId};
use impresario_policies::worker_pool::PoolSettings;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

const KEEPER: &str = env!("CARGO_BIN_EXE_impresario-keeper");
/// Nothing here takes long; a machine that is busy may.
pub const LONG: Duration = Duration::from_secs(60);
pub const GRACE: Duration = Duration::from_secs(2);

/// Runs a test on the kind of thread the actors have.
pub fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// A runner for this Pi, which sees this environment.
pub fn runner(pi: &Path, environment: BTreeMap<String, String>, state: &Path) -> PiRunner {
    with_tools(PiSettings {
        environment,
        ..settings(pi, Path::new(KEEPER), state)
    })
}

/// The same, which keeps its Pis warm and marks them with this id.
pub fn warm_runner(
    pi: &Path,
    environment: BTreeMap<String, String>,
    state: &Path,
    pool: PoolSettings,
    runtime: &RunId,
) -> PiRunner {
    with_tools(PiSettings {
        environment,
        pool,
        runtime: runtime.clone(),
        ..settings(pi, Path::new(KEEPER), state)
    })
}

/// A runner whose processes are held by this program, with an environment in which nothing is found.
pub fn runner_below(pi: &Path, keeper: &Path, state: &Path) -> PiRunner {
    with_tools(settings(pi, keeper, state))
}

fn with_tools(settings: PiSettings) -> PiRunner {
    PiRunner::new(settings, Arc::new(LocalTools::default()))
}

fn settings(pi: &Path, keeper: &Path, state: &Path) -> PiSettings {
    PiSettings {
        pi: Some(pi.to_path_buf()),
        keeper: keeper.to_path_buf(),
        containment: ContainmentSetting::Auto,
        support_directory: state.join("support"),
        environment: BTreeMap::new(),
        pass_environment: Vec::new(),
        pool: PoolSettings::NONE,
        runtime: RunId::new(1, fastrand::u64(..)),
    }
}

/// A request in this workspace; what a test does not care about is chosen.
pub fn request(model: &str, workspace: &Path, state: &Path) -> AttemptRequest {
    AttemptRequest {
        run: RunId::new(1, fastrand::u64(..)),
        attempt: AttemptNumber(1),
        model: model.to_string(),
        system_prompt: "You look things up.".to_string(),
        user_prompt: "Task: look it up.".to_string(),
        tools: ["read", "bash"].map(str::to_string).to_vec(),
        workspace: workspace.to_path_buf(),
        readable: Vec::new(),
        scratch: state.join("scratch"),
        session_file: state.join("sessions/run.jsonl"),
        resume: None,
        temperature: None,
        reasoning_effort: None,
        answer_schema: None,
        given: None,
        prompt_mode: Default::default(),
        messages: Vec::new(),
        environment: BTreeMap::new(),
        grace: GRACE,
        fresh: false,
    }
}

/// A gate that writes down what it was asked and answers as it was told.
#[derive(Default)]
pub struct RecordingGate {
    pub refuses: Cell<bool>,
    pub replaces: RefCell<Option<String>>,
    pub started: RefCell<Vec<(String, String, Replay)>>,
    pub reviewed: RefCell<Vec<(String, String)>>,
    pub read: RefCell<Vec<(String, serde_json::Value)>>,
    pub asked: RefCell<Vec<String>>,
    pub never_retrieves: Cell<bool>,
}

#[async_trait(?Send)]
impl ToolGate for RecordingGate {
    async fn calling(&self, _: CallAsked) -> Result<Vec<MarkerEdit>, String> {
        Ok(Vec::new())
    }

    async fn starting(
        &self,
        _: &str,
        tool: &str,
        summary: &str,
        _: &str,
        replay: Replay,
    ) -> Result<(), String> {
        self.started
            .borrow_mut()
            .push((tool.to_string(), summary.to_string(), replay));
        match self.refuses.get() {
            true => Err("refused by the test".to_string()),
            false => Ok(()),
        }
    }

    async fn review(&self, _: &str, tool: &str, result: &str) -> ToolVerdict {
        self.reviewed
            .borrow_mut()
            .push((tool.to_string(), result.to_string()));
        match &*self.replaces.borrow() {
            Some(text) => ToolVerdict::Replace {
                text: text.clone(),
                overflow: Some("overflow_1".to_string()),
            },
            None => ToolVerdict::Pass,
        }
    }

    async fn overflow(&self, tool: &str, arguments: &serde_json::Value) -> Result<String, String> {
        self.read.borrow_mut().push((tool.to_string(), arguments.clone()));
        Ok("line 1 of what was kept".to_string())
    }

    async fn retrieve(&self, query: &str, _: Option<usize>) -> Result<String, String> {
        self.asked.borrow_mut().push(query.to_string());
        if self.never_retrieves.get() {
            std::future::pending::<()>().await;
        }
        Ok(format!("what answers {query:?}"))
    }

    async fn use_tool(
        &self,
        _: Option<&str>,
        tool: AddedTool,
        _: &serde_json::Value,
    ) -> Result<ToolAnswer, String> {
        self.asked.borrow_mut().push(tool.name().to_string());
        Ok(ToolAnswer::text("what the tool found"))
    }
}

/// An attempt under way.
pub struct Attempt {
    pub handle: Box<dyn AttemptHandle>,
    pub events: mpsc::Receiver<RunnerEvent>,
    pub gate: Rc<RecordingGate>,
    pub seen: Vec<RunnerEvent>,
}

/// An attempt that is over.
#[derive(Debug)]
pub struct Outcome {
    pub seen: Vec<RunnerEvent>,
    pub facts: EndFacts,
    pub ending: AttemptEnding,
    pub detail: String,
    pub proof: Proof,
}

impl Attempt {
    pub async fn start(runner: &PiRunner, request: AttemptRequest) -> Result<Self, SpawnError> {
        Self::start_at(runner, request, RecordingGate::default()).await
    }

    pub async fn start_at(
        runner: &PiRunner,
        request: AttemptRequest,
        gate: RecordingGate,
    ) -> Result<Self, SpawnError> {
        std::fs::create_dir_all(&request.scratch).expect("a scratch directory");
        let gate = Rc::new(gate);
        let (sender, events) = mpsc::channel(16);
        let handle = runner.start(request, sender, gate.clone()).await?;
        Ok(Self {
            handle,
            events,
            gate,
            seen: Vec::new(),
        })
    }

    /// Listens until something was said; whatever is said before is kept.
    pub async fn until(&mut self, wanted: impl Fn(&RunnerEvent) -> bool) {
        loop {
            let event = timeout(LONG, self.events.recv())
                .await
                .expect("an event in time")
                .expect("an event");
            let found = wanted(&event);
            self.seen.push(event);
            if found {
                return;
            }
        }
    }

    /// Listens to the end.
    pub async fn outcome(mut self) -> Outcome {
        self.until(|event| matches!(event, RunnerEvent::Ended(_))).await;
        let proof = self.handle.stop(GRACE).await;
        let Some(RunnerEvent::Ended(facts)) = self.seen.last().cloned() else {
            panic!("the last event is the end");
        };
        let ending = read_ending(&facts);
        Outcome {
            detail: describe_ending(&facts, ending),
            ending,
            facts,
            proof,
            seen: self.seen,
        }
    }
}

impl Outcome {
    /// It ended this way, and nothing of it is left.
    #[track_caller]
    pub fn check(&self, ending: AttemptEnding) {
        assert_eq!(self.ending, ending, "{self:?}");
        assert!(
            self.proof.no_children && self.proof.processes_left == 0,
            "{:?}",
            self.proof
        );
        let active = self
            .seen
            .iter()
            .filter(|event| **event == RunnerEvent::Active)
            .count();
        assert!(active <= 1, "active is said once: {:?}", self.seen);
    }

    pub fn text(&self) -> String {
        let text = self.seen.iter().filter_map(|event| match event {
            RunnerEvent::Text { delta } => Some(delta.as_str()),
            _ => None,
        });
        text.collect()
    }

    pub fn unread(&self) -> Vec<(&str, &str)> {
        let unread = self.seen.iter().filter_map(|event| match event {
            RunnerEvent::Unread { line, why } => Some((line.as_str(), why.as_str())),
            _ => None,
        });
        unread.collect()
    }
}

pub fn is_tool_start(event: &RunnerEvent) -> bool {
    matches!(event, RunnerEvent::ToolStarted { .. })
}

pub fn is_text(event: &RunnerEvent) -> bool {
    matches!(event, RunnerEvent::Text { .. })
}
