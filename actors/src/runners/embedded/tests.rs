mod answers;
mod calls;
mod pictures;

use super::{EmbeddedParts, EmbeddedRunner, EmbeddedTool, RegisteredTool, ToolContext, session_file};
use crate::context::local::{HeavyWork, LocalContextEngine, SearchLimits};
use crate::gateways::{
    AttemptHandle, AttemptRequest, CallAsked, ContextEngine, EndFacts, ModelClient, ModelError, ModelReply,
    ModelRequest, ModelRole, ModelUsage, RetrievalRequest, Retrieved, RunnerEvent, SubAgentRunner, ToolCall,
    ToolDefinition, ToolGate, ToolVerdict,
};
use crate::gateways::{Reach, ToolAnswer, ToolPlace, Tools};
use crate::models::OfflineModel;
use crate::program::ProgramThreads;
use crate::tools::LocalTools;
use async_trait::async_trait;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::attempt_ending::read_ending;
use impresario_policies::cache_markers::MarkerEdit;
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Containment, EarlierMessage, Given, PromptMode, Replay, RunId,
};
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio_util::sync::CancellationToken;

/// Says what it was told to say, and keeps what it was asked.
#[derive(Default)]
struct ScriptedModel {
    replies: RefCell<VecDeque<Result<ModelReply, ModelError>>>,
    requests: RefCell<Vec<ModelRequest>>,
}

#[async_trait(?Send)]
impl ModelClient for ScriptedModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        self.requests.borrow_mut().push(request);
        let reply = self.replies.borrow_mut().pop_front();
        match reply {
            Some(reply) => reply,
            None => std::future::pending().await,
        }
    }
}

fn says(text: &str) -> Result<ModelReply, ModelError> {
    Ok(ModelReply {
        text: text.to_string(),
        tool_calls: Vec::new(),
        usage: ModelUsage::default(),
        served: None,
    })
}

fn calls(id: &str, tool: &str, arguments: Value) -> Result<ModelReply, ModelError> {
    let call = ToolCall {
        id: id.to_string(),
        tool: tool.to_string(),
        arguments,
    };
    Ok(ModelReply {
        text: String::new(),
        tool_calls: vec![call],
        usage: ModelUsage::default(),
        served: None,
    })
}

/// Lets everything pass and keeps what it saw.
#[derive(Default)]
struct RecordingGate {
    seen: RefCell<Vec<String>>,
    refuses: bool,
    keeps_aside: bool,
    workspace: PathBuf,
}

#[async_trait(?Send)]
impl ToolGate for RecordingGate {
    async fn calling(&self, _: CallAsked) -> Result<Vec<MarkerEdit>, String> {
        Ok(Vec::new())
    }

    async fn starting(&self, call: &str, tool: &str, _: &str, _: &str, replay: Replay) -> Result<(), String> {
        self.seen
            .borrow_mut()
            .push(format!("start {call} {tool} {replay:?}"));
        if self.refuses {
            Err("the journal cannot be written".to_string())
        } else {
            Ok(())
        }
    }

    async fn review(&self, call: &str, _: &str, _: &str) -> ToolVerdict {
        self.seen.borrow_mut().push(format!("review {call}"));
        if !self.keeps_aside {
            return ToolVerdict::Pass;
        }
        ToolVerdict::Replace {
            text: "too large".to_string(),
            overflow: Some("overflow_1".to_string()),
        }
    }

    async fn overflow(&self, tool: &str, _: &Value) -> Result<String, String> {
        Ok(format!("overflow {tool}"))
    }

    async fn retrieve(&self, query: &str, passages_max: Option<usize>) -> Result<String, String> {
        let engine = LocalContextEngine::new(SearchLimits::default(), HeavyWork::Inline, None);
        let request = RetrievalRequest {
            query: query.to_string(),
            workspace: self.workspace.clone(),
            passages_max: passages_max.unwrap_or(8),
        };
        let retrieved = engine.retrieve(request).await;
        retrieved
            .map(Retrieved::into_text)
            .map_err(|error| error.to_string())
    }

    async fn use_tool(
        &self,
        _: Option<&str>,
        tool: AddedTool,
        arguments: &Value,
    ) -> Result<ToolAnswer, String> {
        let place = ToolPlace {
            workspace: self.workspace.clone(),
            reach: Reach::Workspace,
            readable: Vec::new(),
            cancelled: CancellationToken::new(),
        };
        LocalTools::new(HeavyWork::Inline)
            .call(tool, arguments, &place)
            .await
    }
}

/// Counts its calls; changes something, or so it says.
struct Counting {
    calls: AtomicU32,
    replay: Replay,
    hangs: bool,
}

#[async_trait]
impl EmbeddedTool for Counting {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({ "type": "object", "properties": {} });
        ToolDefinition {
            name: "count".to_string(),
            description: "Counts.".to_string(),
            parameters,
        }
    }

    fn replay(&self) -> Replay {
        self.replay
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<String, String> {
        let count = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(arguments.get("panic").is_none(), "asked to");
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Ok(format!("counted {count}"))
    }
}

struct Stage {
    place: TempDir,
    model: Rc<ScriptedModel>,
    gate: Rc<RecordingGate>,
    counting: Arc<Counting>,
    tools: Vec<&'static str>,
    turns_max: u32,
    resume: Option<String>,
    answer_schema: Option<String>,
    given: Option<Box<Given>>,
}

fn stage(replies: Vec<Result<ModelReply, ModelError>>) -> Stage {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(place.path().join("workspace/src")).expect("a directory");
    let text =
        "/// Starts an actor again after a panic.\npub fn restart(actor: &Actor) {\n    actor.start();\n}\n";
    std::fs::write(place.path().join("workspace/src/supervisor.rs"), text).expect("a file");
    let workspace = place.path().join("workspace");
    Stage {
        place,
        model: Rc::new(ScriptedModel {
            replies: RefCell::new(replies.into()),
            ..ScriptedModel::default()
        }),
        gate: Rc::new(RecordingGate {
            workspace,
            ..RecordingGate::default()
        }),
        counting: Arc::new(Counting {
            calls: AtomicU32::new(0),
            replay: Replay::Unsafe,
            hangs: false,
        }),
        tools: vec!["read", RETRIEVAL_TOOL, "count"],
        turns_max: 10,
        resume: None,
        answer_schema: None,
        given: None,
    }
}

impl Stage {
    fn request(&self) -> AttemptRequest {
        let place = self.place.path();
        AttemptRequest {
            run: RunId::new(1, 1),
            attempt: AttemptNumber(1),
            model: "offline".to_string(),
            system_prompt: "Explore.".to_string(),
            user_prompt: "User Goal: How does a crashed actor come back?".to_string(),
            tools: self.tools.iter().map(ToString::to_string).collect(),
            workspace: place.join("workspace"),
            readable: Vec::new(),
            scratch: place.join("scratch"),
            session_file: place.join("session.jsonl"),
            resume: self.resume.clone(),
            temperature: None,
            reasoning_effort: None,
            answer_schema: self.answer_schema.clone(),
            given: self.given.clone(),
            prompt_mode: PromptMode::default(),
            messages: Vec::new(),
            environment: BTreeMap::new(),
            grace: Duration::from_millis(50),
            fresh: false,
        }
    }

    fn parts(&self) -> EmbeddedParts {
        let model: Rc<dyn ModelClient> = self.model.clone();
        let mut parts = EmbeddedParts::new(
            model,
            ProgramThreads::inline(),
            Arc::new(LocalTools::new(HeavyWork::Inline)),
        );
        parts.tools = vec![RegisteredTool::new(self.counting.clone())];
        parts.heavy_work = HeavyWork::Inline;
        parts.turns_max = self.turns_max;
        parts
    }

    async fn start(&self, parts: EmbeddedParts) -> (Box<dyn AttemptHandle>, mpsc::Receiver<RunnerEvent>) {
        let (sender, receiver) = mpsc::channel(64);
        let gate: Rc<dyn ToolGate> = self.gate.clone();
        let handle = EmbeddedRunner::new(parts)
            .start(self.request(), sender, gate)
            .await;
        (handle.expect("a sub-agent"), receiver)
    }

    async fn play(&self) -> (Vec<RunnerEvent>, EndFacts) {
        LocalSet::new()
            .run_until(async {
                let (_handle, receiver) = self.start(self.parts()).await;
                all_of(receiver).await
            })
            .await
    }
}

async fn all_of(mut receiver: mpsc::Receiver<RunnerEvent>) -> (Vec<RunnerEvent>, EndFacts) {
    let mut events = Vec::new();
    while let Some(event) = receiver.recv().await {
        if let RunnerEvent::Ended(facts) = event {
            return (events, facts);
        }
        events.push(event);
    }
    panic!("no end among {events:?}");
}

fn session(place: &Path) -> String {
    std::fs::read_to_string(place.join("session.jsonl")).unwrap_or_default()
}

#[tokio::test]
async fn a_conversation_that_was_given_is_no_sign_that_the_session_went_on() {
    let mut stage = stage(vec![says("Yes.")]);
    stage.given = Some(Box::new(Given {
        history: vec![
            EarlierMessage::user("Hello?"),
            EarlierMessage::assistant("Hello."),
        ],
        ..Given::default()
    }));
    stage.resume = Some("You were interrupted.".to_string());
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "Yes.");
    let requests = stage.model.requests.borrow();
    let said = requests[0].messages.iter().map(|message| message.text.as_str());
    let said = said.collect::<Vec<_>>();
    assert_eq!(said, ["Hello?", "Hello.", stage.request().user_prompt.as_str()]);
}

#[tokio::test]
async fn the_offline_model_answers_with_places() {
    let stage = stage(Vec::new());
    let (events, facts) = LocalSet::new()
        .run_until(async {
            let parts = EmbeddedParts {
                model: Rc::new(OfflineModel),
                ..stage.parts()
            };
            let (_handle, receiver) = stage.start(parts).await;
            all_of(receiver).await
        })
        .await;
    assert!(
        facts.answer.contains("src/supervisor.rs#L1-L4"),
        "{}",
        facts.answer
    );
    assert_eq!(read_ending(&facts), AttemptEnding::Answered);
    assert_eq!(events.first(), Some(&RunnerEvent::Active));
}

#[tokio::test]
async fn a_call_passes_the_gate_before_it_runs_and_its_result_before_the_model_sees_it() {
    let stage = stage(vec![calls("a", "count", json!({})), says("done")]);
    let (events, facts) = stage.play().await;
    assert_eq!(
        *stage.gate.seen.borrow(),
        ["start 1.1:a count Unsafe", "review 1.1:a"]
    );
    assert_eq!(facts.answer, "done");
    let tool_events = events.iter().filter(|event| {
        matches!(
            event,
            RunnerEvent::ToolStarted { .. }
                | RunnerEvent::ToolEnded {
                    is_error: false,
                    bytes: 9,
                    ..
                }
        )
    });
    assert_eq!(tool_events.count(), 2);
    assert_eq!(stage.model.requests.borrow()[1].messages[2].text, "counted 1");
}

#[tokio::test]
async fn a_result_kept_aside_is_replaced_for_the_model() {
    let mut stage = stage(vec![calls("a", "count", json!({})), says("done")]);
    stage.gate = Rc::new(RecordingGate {
        keeps_aside: true,
        ..RecordingGate::default()
    });
    let (events, _) = stage.play().await;
    assert_eq!(stage.model.requests.borrow()[1].messages[2].text, "too large");
    assert!(events.iter().any(|event| matches!(
        event,
        RunnerEvent::ToolEnded {
            overflow: Some(_),
            ..
        }
    )));
}

#[tokio::test]
async fn a_refused_start_runs_nothing() {
    let mut stage = stage(vec![calls("a", "count", json!({}))]);
    stage.gate = Rc::new(RecordingGate {
        refuses: true,
        ..RecordingGate::default()
    });
    let (_, facts) = stage.play().await;
    assert_eq!(stage.counting.calls.load(Ordering::SeqCst), 0);
    assert_eq!(read_ending(&facts), AttemptEnding::Crashed);
}

#[tokio::test]
async fn only_allowed_tools_are_offered_and_run() {
    let mut stage = stage(vec![calls("a", "grep", json!({ "pattern": "x" })), says("done")]);
    stage.tools = vec!["read", "count", "count", "unheard-of"];
    stage.play().await;
    let requests = stage.model.requests.borrow();
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "count"]);
    assert!(requests[1].messages[2].text.contains("There is no tool"));
    assert!(stage.gate.seen.borrow().is_empty());
}

#[tokio::test]
async fn a_panic_in_a_tool_is_a_result() {
    let stage = stage(vec![calls("a", "count", json!({ "panic": true })), says("done")]);
    let (events, facts) = stage.play().await;
    assert_eq!(facts.answer, "done");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, RunnerEvent::ToolEnded { is_error: true, .. }))
    );
}

#[tokio::test]
async fn the_last_turn_begins_as_those_before_it_and_ends_the_talk() {
    let mut stage = stage(vec![calls("a", "count", json!({})), says("one")]);
    stage.turns_max = 2;
    let (_, facts) = stage.play().await;
    assert_eq!(read_ending(&facts), AttemptEnding::Answered);
    let requests = stage.model.requests.borrow();
    let [first, last] = &requests[..] else {
        panic!("two requests: {}", requests.len());
    };
    assert_eq!((&last.tools, &last.system), (&first.tools, &first.system));
    assert_eq!(last.messages[..first.messages.len()], first.messages);
    assert!(
        last.messages
            .last()
            .is_some_and(|told| told.text.starts_with("This is the last turn"))
    );
}

#[tokio::test]
async fn a_model_that_calls_a_tool_in_the_last_turn_is_asked_once_more_without_any() {
    let mut stage = stage(vec![
        calls("a", "count", json!({})),
        calls("b", "count", json!({})),
        calls("c", "count", json!({})),
    ]);
    stage.turns_max = 2;
    let (_, facts) = stage.play().await;
    assert_eq!(stage.counting.calls.load(Ordering::SeqCst), 1);
    let offered = stage
        .model
        .requests
        .borrow()
        .iter()
        .map(|request| request.tools.is_empty())
        .collect::<Vec<_>>();
    assert_eq!(offered, [false, false, true]);
    assert_eq!(read_ending(&facts), AttemptEnding::EmptyAnswer);
}

#[tokio::test]
async fn what_a_provider_refuses_is_read_as_what_it_is() {
    let why = || "no".to_string();
    let expected = [
        (ModelError::Unavailable(why()), AttemptEnding::Unavailable),
        (ModelError::RateLimited(why()), AttemptEnding::RateLimited),
        (ModelError::Authentication(why()), AttemptEnding::Authentication),
        (ModelError::ContextOverflow(why()), AttemptEnding::ContextOverflow),
        (ModelError::UnknownModel(why()), AttemptEnding::Unavailable),
        (ModelError::Refused(why()), AttemptEnding::Refused),
    ];
    for (error, ending) in expected {
        let (_, facts) = stage(vec![Err(error.clone())]).play().await;
        assert_eq!(read_ending(&facts), ending, "{error:?}");
    }
}

#[tokio::test]
async fn cancel_ends_a_model_call_and_a_tool_at_once() {
    for replies in [vec![], vec![calls("a", "count", json!({}))]] {
        let mut stage = stage(replies);
        stage.counting = Arc::new(Counting {
            calls: AtomicU32::new(0),
            replay: Replay::Unsafe,
            hangs: true,
        });
        let (facts, proof) = LocalSet::new()
            .run_until(async {
                let (mut handle, mut receiver) = stage.start(stage.parts()).await;
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                handle.cancel();
                let proof = handle.stop(Duration::from_secs(5)).await;
                let mut last = None;
                while let Some(event) = receiver.recv().await {
                    last = Some(event);
                }
                (last, proof)
            })
            .await;
        let Some(RunnerEvent::Ended(facts)) = facts else {
            panic!("the last event is {facts:?}")
        };
        assert_eq!(read_ending(&facts), AttemptEnding::Cancelled);
        assert_eq!((proof.method, proof.processes_left), (Containment::InProcess, 0));
    }
}

#[tokio::test]
async fn a_dropped_attempt_does_nothing_more() {
    let stage = stage(vec![calls("a", "count", json!({}))]);
    LocalSet::new()
        .run_until(async {
            let (handle, receiver) = stage.start(stage.parts()).await;
            drop(handle);
            drop(receiver);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    assert_eq!(stage.counting.calls.load(Ordering::SeqCst), 0);
}

/// Plays the first half, then a second life of the runtime with these replies.
async fn interrupted(replay: Replay, resumed: Vec<Result<ModelReply, ModelError>>) -> (Stage, EndFacts) {
    let mut stage = stage(vec![
        calls("a", "count", json!({})),
        calls("b", "count", json!({})),
    ]);
    let finished = Arc::new(Counting {
        calls: AtomicU32::new(0),
        replay,
        hangs: false,
    });
    stage.counting = Arc::clone(&finished);
    LocalSet::new()
        .run_until(async {
            let (handle, mut receiver) = stage.start(stage.parts()).await;
            let mut started = 0;
            while started < 2 {
                let event = receiver.recv().await.expect("an event");
                started += u32::from(matches!(event, RunnerEvent::ToolStarted { .. }));
            }
            drop(handle);
        })
        .await;
    cut_last_result(stage.place.path());
    stage.model.replies.borrow_mut().extend(resumed);
    stage.model.requests.borrow_mut().clear();
    stage.gate.seen.borrow_mut().clear();
    stage.resume = Some("Go on where you were.".to_string());
    let (_, facts) = stage.play().await;
    (stage, facts)
}

/// Leaves the session as a crash between the start and the result of the second call would.
fn cut_last_result(place: &Path) {
    let kept: Vec<String> = session(place)
        .lines()
        .filter(|line| !line.contains("counted 2"))
        .map(str::to_string)
        .collect();
    std::fs::write(
        place.join("session.jsonl"),
        format!("{}\n{{\"line\":\"mess", kept.join("\n")),
    )
    .expect("a session");
}

#[tokio::test]
async fn finished_tools_are_not_run_again_and_a_safe_one_in_flight_is() {
    let (stage, facts) = interrupted(Replay::Safe, vec![says("done")]).await;
    assert_eq!(facts.answer, "done");
    assert_eq!(
        *stage.gate.seen.borrow(),
        ["start 0.1:b count Safe", "review 0.1:b"]
    );
    let requests = stage.model.requests.borrow();
    let roles: Vec<ModelRole> = requests[0].messages.iter().map(|message| message.role).collect();
    use ModelRole::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Assistant, Tool, User]);
    assert_eq!(requests[0].messages[5].text, "Go on where you were.");
}

#[tokio::test]
async fn an_unsafe_tool_in_flight_is_reported_as_indeterminate() {
    let (stage, _) = interrupted(Replay::Unsafe, vec![says("done")]).await;
    assert!(stage.gate.seen.borrow().is_empty());
    assert!(
        stage.model.requests.borrow()[0].messages[4]
            .text
            .starts_with("Indeterminate")
    );
}

#[tokio::test]
async fn an_answer_on_disk_needs_no_further_call_of_the_model() {
    let mut stage = stage(vec![says("done")]);
    stage.play().await;
    stage.resume = Some(String::new());
    let (_, facts) = stage.play().await;
    assert_eq!(
        (facts.answer.as_str(), stage.model.requests.borrow().len()),
        ("done", 1)
    );
}

#[tokio::test]
async fn a_session_that_is_gone_begins_anew() {
    let mut stage = stage(vec![says("done")]);
    stage.resume = Some("Go on.".to_string());
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "done");
    assert_eq!(stage.model.requests.borrow()[0].messages.len(), 1);
}

#[tokio::test]
async fn a_workspace_that_is_gone_starts_nothing() {
    let stage = stage(Vec::new());
    let mut request = stage.request();
    request.workspace = stage.place.path().join("none");
    let (sender, _receiver) = mpsc::channel(1);
    let gate: Rc<dyn ToolGate> = stage.gate.clone();
    let started = EmbeddedRunner::new(stage.parts())
        .start(request, sender, gate)
        .await;
    assert!(started.is_err_and(|error| error.why.contains("workspace")));
}

#[tokio::test]
async fn the_overflow_memory_is_read_through_the_gate() {
    let mut stage = stage(vec![
        calls("a", "overflow_read", json!({ "id": "overflow_1" })),
        says("done"),
    ]);
    stage.tools = vec!["overflow_read"];
    stage.play().await;
    assert_eq!(stage.model.requests.borrow()[1].messages[2].text, "overflow read");
    assert_eq!(*stage.gate.seen.borrow(), ["start 1.1:a overflow_read Safe"]);
}

/// How often the disk was waited for while a sub-agent called this tool three times in one reply, and then once more.
async fn syncs_with(replay: Replay) -> u32 {
    let three = ["a", "b", "c"].map(|id| calls(id, "count", json!({})));
    let mut first = calls("a", "count", json!({})).expect("a reply");
    first.tool_calls = three
        .into_iter()
        .flat_map(|reply| reply.expect("a reply").tool_calls)
        .collect();
    let mut stage = stage(vec![Ok(first), calls("d", "count", json!({})), says("done")]);
    stage.counting = Arc::new(Counting {
        calls: AtomicU32::new(0),
        replay,
        hangs: false,
    });
    let before = session_file::SYNCS.get();
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "done");
    assert_eq!(session(stage.place.path()).lines().count(), 1 + 1 + 4 + 2 + 1);
    session_file::SYNCS.get() - before
}

#[tokio::test]
async fn a_session_waits_for_the_disk_where_a_call_must_not_run_twice_and_nowhere_else() {
    assert_eq!(syncs_with(Replay::Safe).await, 0);
    assert_eq!(
        syncs_with(Replay::Unsafe).await,
        2 + 4,
        "each reply with calls, and each result"
    );
}

fn reply_of(calls: Vec<ToolCall>) -> Result<ModelReply, ModelError> {
    Ok(ModelReply {
        text: String::new(),
        tool_calls: calls,
        usage: ModelUsage::default(),
        served: None,
    })
}

fn count_as(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_string(),
        tool: "count".to_string(),
        arguments: json!({}),
    }
}

#[tokio::test]
async fn an_id_that_is_given_again_is_another_call() {
    let twice = || reply_of(vec![count_as("call_0"), count_as("call_0")]);
    let stage = stage(vec![twice(), twice(), says("done")]);
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "done");
    assert_eq!(stage.counting.calls.load(Ordering::SeqCst), 4);
    let seen = stage.gate.seen.borrow();
    let starts = seen.iter().filter_map(|seen| seen.strip_prefix("start "));
    let names = starts
        .filter_map(|start| start.split(' ').next())
        .collect::<Vec<_>>();
    assert_eq!(names, ["1.1:call_0", "1.2:call_0", "2.1:call_0", "2.2:call_0"]);
}

#[tokio::test]
async fn a_reply_with_too_many_calls_runs_none_of_them() {
    let many = (0..100_000).map(|_| count_as("call_0")).collect();
    let stage = stage(vec![reply_of(many)]);
    let (_, facts) = stage.play().await;
    assert_eq!(read_ending(&facts), AttemptEnding::TooManyCalls);
    assert_eq!(stage.counting.calls.load(Ordering::SeqCst), 0);
}
