//! The bridge, spoken to over real pipes by a host that is a script.

use async_trait::async_trait;
use impresario::bridge::wire::{
    self, ChainRun, ChainRunAccepted, ChainText, ChainTextAsk, Delegation, ErrorCode, InputReading,
    LINE_BYTES_MAX, MarkerEdit, MarkerPlan, MarkerSkeleton, MarkerTtl, ObservedEvent, SessionEnd,
    SessionStart, SkillCancel, SkillRun, SkillSummary, TraceName, TypedInput,
};
use impresario::bridge::{Bridge, BridgeSettings, HostEvents, Refused};
use impresario_actors::gateways::{
    DeliveredReceipt, DeliveredRun, Delivery, DeliveryReceipt, Host, HostError, ModelClient, ModelError,
    ModelMessage, ModelRequest, ModelRole, Progress, UnixMillis,
};
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::{GroupId, Reason, ReasonCode, RunId, SessionId, TerminalState, WhatToRun};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// A runtime that writes down what it is told and answers by rule.
#[derive(Debug, Default)]
struct RecordingEvents {
    told: Mutex<Vec<String>>,
    release: Notify,
}

impl RecordingEvents {
    fn note(&self, what: impl Into<String>) {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.into());
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl HostEvents for RecordingEvents {
    async fn session_started(&self, session: SessionStart) {
        self.note(format!("session {} started: {}", session.session, session.reason));
    }

    async fn session_ended(&self, end: SessionEnd) {
        self.note(format!("session {} ended: {}", end.session, end.reason));
    }

    async fn host_gone(&self) {
        self.note("host gone");
    }

    async fn input(&self, input: TypedInput) -> InputReading {
        self.note(format!("input {}", input.text));
        match input.text.as_str() {
            "panic" => panic!("told to"),
            "wait" => {
                self.release.notified().await;
                InputReading::PickSkill
            }
            "mine" => InputReading::PickSkill,
            _ => InputReading::Pass,
        }
    }

    async fn run_chain(&self, request: ChainRun) -> Result<ChainRunAccepted, Refused> {
        self.note(format!("chain {:?}: {}", request.name, request.task));
        Ok(ChainRunAccepted {
            group: run_id().to_string(),
            members: Vec::new(),
        })
    }

    async fn chain_text(&self, asked: ChainTextAsk) -> Result<ChainText, Refused> {
        Ok(ChainText {
            state: Some(TerminalState::Succeeded),
            text: asked.group,
            runs: Vec::new(),
        })
    }

    async fn run_skill(&self, request: SkillRun) -> Result<RunId, Refused> {
        self.note(format!("skill {}: {}", request.name, request.task));
        if request.name == "demo" {
            return Ok(run_id());
        }
        let message = format!("no skill is called {}", request.name);
        let reason = Reason {
            code: ReasonCode::UnknownSkill,
            message,
        };
        Err(Refused {
            reason,
            hint: Some("try demo".into()),
        })
    }

    async fn resumable(&self, _: &SessionId) -> Vec<wire::ResumableRun> {
        Vec::new()
    }

    async fn resume(&self, request: wire::RunResume) -> Result<wire::RunResumed, Refused> {
        let run = RunId::new(1, 1);
        Ok(wire::RunResumed {
            run: run.clone(),
            resumes: run,
            name: "review".into(),
            task: request.run,
        })
    }

    async fn tell(&self, request: wire::RunTell) -> Result<wire::RunTold, Refused> {
        Ok(wire::RunTold {
            run: RunId::new(1, 1),
            name: request.what,
            message: impresario_policies::domain::MessageId::new(1),
        })
    }

    async fn message(&self, _: wire::RunMessageAsk) -> Result<wire::RunMessageTold, Refused> {
        unreachable!("nothing is asked after here")
    }

    async fn cancel(&self, request: SkillCancel) -> Vec<RunId> {
        self.note(format!("cancel by {}", request.by));
        vec![run_id()]
    }

    async fn observe(&self, session: &SessionId, event: ObservedEvent) {
        self.note(format!("{session} saw {}", event.name));
    }

    async fn plan_markers(&self, skeleton: MarkerSkeleton) -> MarkerPlan {
        let last = skeleton.blocks.len() as u32 - 1;
        MarkerPlan {
            edits: vec![MarkerEdit(last, Some(MarkerTtl::OneHour))],
        }
    }

    async fn guide(&self, asked: wire::GuidanceAsk) -> wire::GuidanceGiven {
        wire::GuidanceGiven {
            text: format!("rules for {:?}", asked.path),
            ..wire::GuidanceGiven::default()
        }
    }

    async fn cut(&self, asked: wire::CutsAsk) -> wire::ContextCuts {
        let cut = |entry: wire::ContextEntry| wire::ContextCut {
            entry: entry.id,
            stub: "left out".into(),
        };
        wire::ContextCuts {
            cuts: asked.entries.into_iter().map(cut).collect(),
        }
    }

    async fn context_status(&self, _: wire::ContextStanding) -> wire::ContextSaid {
        wire::ContextSaid::default()
    }

    async fn capabilities(&self, _: wire::CapabilitiesOffer) -> wire::CapabilitiesTaken {
        wire::CapabilitiesTaken::default()
    }

    async fn offer_tools(&self, _: wire::ToolsOffer) -> wire::ToolsTaken {
        wire::ToolsTaken::default()
    }

    async fn call_tool(&self, _: wire::ToolAsk) -> wire::ToolDone {
        unreachable!("nothing is called here")
    }

    async fn anchor_reading(&self, _: wire::ReadingShown) -> wire::ReadingAnchored {
        wire::ReadingAnchored { text: None }
    }

    async fn offer_context(&self, _: wire::ContextOffer) -> wire::ContextTaken {
        wire::ContextTaken::default()
    }

    async fn wishes(&self, _: wire::WishesAsk) -> wire::Wishes {
        wire::Wishes::default()
    }

    async fn prompt_seen(&self, _: wire::SystemPromptSeen) {}

    async fn call_context(&self, _: wire::ContextAsk) -> wire::ContextDone {
        unreachable!("nothing is called here")
    }

    async fn call_capability(&self, _: wire::CapabilityCall) -> wire::CapabilityDone {
        unreachable!("nothing is called here")
    }

    async fn shape_prompt(&self, _: wire::PromptAsk) -> wire::PromptPlan {
        wire::PromptPlan::default()
    }

    async fn tool_used(&self, used: wire::ToolUsed) {
        self.note(format!("used {}", used.tool));
    }

    async fn delivery_acknowledged(&self, run: RunId) {
        self.note(format!("acknowledged {run}"));
    }

    async fn delegation(&self, asked: wire::DelegationAsk) -> Delegation {
        Delegation::of(asked.session.0 == "taught", &[])
    }

    async fn skills(&self, _session: &SessionId, _listed: Vec<ListedSkill>) -> Vec<SkillSummary> {
        vec![SkillSummary {
            name: "demo".into(),
            description: "shows".into(),
            problem: None,
            of_host: false,
        }]
    }

    async fn trace_report(&self, session: &SessionId, skill: String) -> String {
        format!("{session} reports {skill}")
    }

    async fn trace_view(&self, session: &SessionId, file: String) -> String {
        format!("{session} views {file}")
    }

    async fn recent(&self, _: &SessionId) -> Vec<wire::ResumableRun> {
        Vec::new()
    }

    async fn transcript(&self, asked: wire::TranscriptAsk) -> Result<wire::TranscriptPage, Refused> {
        Ok(wire::TranscriptPage {
            run: run_id(),
            title: format!("{} reads {:?}", asked.session, asked.run),
            lines: asked.seen.is_none().then(|| vec!["told:".into()]),
            is_over: true,
            mark: "m".into(),
        })
    }

    async fn status(&self, session: &SessionId, section: String) -> String {
        format!("{session} looks at {section:?}")
    }

    async fn setup_models(&self, _: wire::SetupAsk) -> Result<wire::SetupNext, Refused> {
        Ok(wire::SetupNext {
            question: None,
            warnings: Vec::new(),
            told: Some("Nothing was changed.".into()),
        })
    }

    async fn traces(&self, _session: &SessionId) -> Vec<TraceName> {
        vec![TraceName {
            file: "demo_1.json".into(),
            skill: "demo".into(),
            at_ms: 1,
        }]
    }
}

fn run_id() -> RunId {
    RunId::new(1_795_251_600_000, 7)
}

/// The other end of the pipes.
struct Script {
    input: Option<PipeWriter>,
    output: Option<BufReader<PipeReader>>,
}

impl Script {
    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input
            .write_all(line.as_bytes())
            .and_then(|()| input.write_all(b"\n"))
            .expect("the bridge reads");
    }

    fn say(&mut self, message: Value) {
        self.write(&message.to_string());
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        let output = self.output.as_mut().expect("the output is open");
        output.read_line(&mut line).expect("the bridge writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    fn call(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.read()
    }

    fn note(&mut self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn hello(&mut self) -> Value {
        self.call(1, "hello", hello(1, 1))
    }

    fn close(&mut self) {
        self.input = None;
    }

    /// Reads no more and goes on writing.
    fn stop_reading(&mut self) {
        self.output = None;
    }
}

fn hello(oldest: u32, newest: u32) -> Value {
    json!({"protocol_oldest": oldest, "protocol_newest": newest, "host": "pi", "extension_version": "0.1.0"})
}

/// Runs a bridge with a recording runtime, a script as its host, and gives what the runtime was told.
fn converse(script: impl FnOnce(&mut Script)) -> Vec<String> {
    converse_while(script, |_bridge| async {}).0
}

/// The same, with the runtime doing something of its own meanwhile.
fn converse_while<T, F: Future<Output = T>>(
    script: impl FnOnce(&mut Script),
    meanwhile: impl FnOnce(&Bridge) -> F + Send,
) -> (Vec<String>, T)
where
    T: Send,
{
    let (bridge_input, script_input) = std::io::pipe().expect("a pipe");
    let (script_output, bridge_output) = std::io::pipe().expect("a pipe");
    let host = Script {
        input: Some(script_input),
        output: Some(BufReader::new(script_output)),
    };
    let events = Arc::new(RecordingEvents::default());
    let served = events.clone();
    let outcome = std::thread::scope(|scope| {
        // Goes with a script that panics, so that the bridge ends and the test fails.
        let mut host = host;
        let runtime = scope.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let settings = BridgeSettings {
                    last_words: Duration::from_secs(60),
                    ..BridgeSettings::default()
                };
                let bridge = Bridge::open(bridge_input, bridge_output, settings).expect("threads");
                let doing = meanwhile(&bridge);
                tokio::join!(bridge.serve(served), doing).1
            })
        });
        script(&mut host);
        host.close();
        runtime.join().expect("the bridge does not panic")
    });
    (events.told(), outcome)
}

fn code_of(answer: &Value) -> i64 {
    answer["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("an error was expected: {answer}"))
}

// --- artefacts -------------------------------------------------------------------------------------------------

fn check_artefact(path: &str, expected: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, expected).expect("the artefact can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{} has drifted from src/bridge/wire; run: UPDATE=1 cargo test --test bridge artefacts",
        path.display()
    );
}

#[test]
fn artefacts_the_typescript_types_are_those_of_the_wire() {
    check_artefact("extension/src/generated/protocol.ts", &wire::typescript());
}

/// What is loaded into a nested Pi and the extension outline requests alike.
#[test]
fn artefacts_the_outline_of_requests_is_that_of_nested_pi() {
    let outline = include_str!("../actors/src/runners/pi/outline.ts");
    check_artefact("extension/src/generated/outline.ts", outline);
}

#[test]
fn artefacts_the_json_schema_is_that_of_the_wire() {
    let schema = serde_json::to_string_pretty(&wire::json_schema()).expect("a schema has a JSON form");
    check_artefact("docs/protocol.schema.json", &(schema + "\n"));
}

const PROTOCOL: &str = include_str!("../docs/protocol.md");

/// Checks one example against the types of its method; what does not survive the way through them is no message.
fn check_example(example: &Value, asked: &mut String) {
    fn same<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) {
        let read: T =
            serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error} in {value}"));
        let written = serde_json::to_value(read).expect("a JSON form");
        assert_eq!(&written, value, "a field is missing or unknown");
    }
    if let Some(method) = example["method"].as_str() {
        *asked = method.to_owned();
    }
    macro_rules! check_each {
        (requests: $($request:ident),*; notifications: $($note:ident),*) => {
            match asked.as_str() {
                $(name if name == <wire::$request as wire::Request>::METHOD.name => {
                    if example.get("params").is_some() { same::<wire::$request>(&example["params"]); }
                    if example.get("result").is_some() { same::<<wire::$request as wire::Request>::Reply>(&example["result"]); }
                })*
                $(name if name == <wire::$note as wire::Notification>::METHOD.name => same::<wire::$note>(&example["params"]),)*
                unknown => panic!("{unknown} is documented and is no method"),
            }
        };
    }
    check_each!(
        requests: Hello, Ping, TypedInput, SkillRun, ChainRun, ChainTextAsk, RunsResumable, RunResume, RunTell, RunMessageAsk, SkillCancel, QuestionAnswer, MarkerSkeleton, GuidanceAsk, CutsAsk, ContextStanding, Completions, DelegationAsk, RunsRecent, TranscriptAsk, StatusAsk, SetupAsk, CapabilitiesOffer, CapabilityCall, PromptAsk, ContextOffer, ContextAsk, ToolsOffer, ReadingShown, ToolAsk, WishesAsk,
            TraceReport, TraceView, TraceList, QuestionAsk, ModelRequest, ModelsCheck, DeliveryOffer, SessionHistory, SessionHasRun;
        notifications: RequestCancel, SessionStart, SessionEnd, ObservedEvents, DeliveryAcknowledged, ToolUsed, SystemPromptSeen,
            UiProgress, UiSight, UiNotice
    );
}

#[test]
fn every_example_of_the_documentation_is_a_message_and_every_method_has_one() {
    let mut asked = String::new();
    let mut shown = std::collections::BTreeSet::new();
    for line in PROTOCOL.lines().filter(|line| line.starts_with("{\"jsonrpc\"")) {
        let example: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        check_example(&example, &mut asked);
        shown.insert(asked.clone());
    }
    let methods: std::collections::BTreeSet<String> =
        wire::METHODS.iter().map(|method| method.name.into()).collect();
    assert_eq!(shown, methods);
}

#[test]
fn the_documentation_names_every_error_and_deadline() {
    for code in ErrorCode::ALL {
        let row = format!("| `{code:?}` | {} |", code.number());
        assert!(PROTOCOL.contains(&row), "missing: {row}");
    }
    for method in wire::METHODS {
        let Some(deadline_ms) = method.deadline_ms else {
            continue;
        };
        let deadline = if deadline_ms % 1000 == 0 {
            format!("{} s", deadline_ms / 1000)
        } else {
            format!("{deadline_ms} ms")
        };
        let heading = PROTOCOL
            .lines()
            .find(|line| line.starts_with("###") && line.contains(&format!("`{}`", method.name)));
        let heading = heading.unwrap_or_else(|| panic!("{} has no heading", method.name));
        assert!(heading.contains(&deadline), "{heading} does not say {deadline}");
    }
}

#[test]
fn the_lock_file_of_the_extension_carries_no_download_addresses() {
    let lock_file = include_str!("../extension/package-lock.json");
    assert!(!lock_file.contains("\"resolved\""));
}

// --- the handshake ---------------------------------------------------------------------------------------------

#[test]
fn hello_agrees_on_a_version_and_everything_else_waits_for_it() {
    let told = converse(|host| {
        let early = host.call(1, "completions", json!({"session": "s"}));
        assert_eq!(code_of(&early), i64::from(ErrorCode::NotReady.number()));
        let welcome = host.call(2, "hello", hello(1, 9));
        assert_eq!(welcome["result"]["protocol"], json!(1));
        let skills = host.call(3, "completions", json!({"session": "s"}));
        assert_eq!(skills["result"]["skills"][0]["name"], json!("demo"));
        let taught = host.call(4, "delegation", json!({"session": "taught"}));
        assert_eq!(taught["result"]["tools"][0]["tool"]["name"], json!("delegate"));
        let not_taught = host.call(5, "delegation", json!({"session": "s"}));
        assert_eq!(
            not_taught["result"],
            json!({"section": "delegation", "block": "", "per_model": false, "tools": []})
        );
    });
    assert_eq!(told, ["host gone"]);
}

#[test]
fn an_extension_that_is_too_new_is_told_which_versions_are_spoken() {
    converse(|host| {
        let answer = host.call(1, "hello", hello(7, 9));
        assert_eq!(code_of(&answer), i64::from(ErrorCode::NoCommonVersion.number()));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("the runtime speaks 1 to 1, the extension 7 to 9"),
            "{message}"
        );
    });
}

#[test]
fn fields_and_methods_of_the_future_cost_nothing() {
    let told = converse(|host| {
        host.hello();
        host.note("session.start", start("S1"));
        host.note("something.new", json!({"x": 1}));
        let answer = host.call(2, "also.new", json!({}));
        assert_eq!(code_of(&answer), i64::from(ErrorCode::UnknownMethod.number()));
        host.note("event", json!({"session": "S1", "events": [
            {"name": "turn_end", "at_ms": 1}, {"name": "from_the_future", "at_ms": 2, "data": {"deep": [1]}, "more": 1},
        ]}));
        host.hello();
    });
    assert_eq!(
        told,
        [
            "session S1 started: startup",
            "S1 saw turn_end",
            "S1 saw from_the_future",
            "host gone"
        ]
    );
}

fn start(session: &str) -> Value {
    json!({"session": session, "cwd": "/w", "mode": "tui", "has_ui": true, "reason": "startup", "new_field": [1]})
}

#[test]
fn traces_are_reported_viewed_and_listed() {
    converse(|host| {
        host.hello();
        let report = host.call(2, "trace.report", json!({"session": "S1", "skill": "demo"}));
        assert_eq!(report["result"]["text"], json!("S1 reports demo"));
        let view = host.call(3, "trace.view", json!({"session": "S1", "file": "demo_1.json"}));
        assert_eq!(view["result"]["text"], json!("S1 views demo_1.json"));
        let list = host.call(4, "trace.list", json!({"session": "S1"}));
        assert_eq!(list["result"]["traces"][0]["file"], json!("demo_1.json"));
    });
}

// --- bad lines -------------------------------------------------------------------------------------------------

#[test]
fn a_line_that_is_not_json_is_answered_and_the_next_one_works() {
    let (told, traffic) = converse_while(
        |host| {
            host.hello();
            host.write("what is this?");
            let answer = host.read();
            assert_eq!(
                (code_of(&answer), &answer["id"]),
                (i64::from(ErrorCode::Parse.number()), &Value::Null)
            );
            host.write("[{\"jsonrpc\":\"2.0\"}]");
            assert_eq!(
                code_of(&host.read()),
                i64::from(ErrorCode::InvalidRequest.number())
            );
            assert_eq!(host.call(2, "input", typed("hi"))["result"]["is"], json!("pass"));
        },
        |bridge| {
            let peer = bridge.peer();
            async move {
                peer.gone().await;
                peer.traffic().lines_unread
            }
        },
    );
    assert_eq!(
        (told, traffic),
        (vec!["input hi".to_owned(), "host gone".to_owned()], 2)
    );
}

#[test]
fn a_line_above_the_limit_is_answered_and_the_next_one_works() {
    converse(|host| {
        host.hello();
        host.call_too_long();
        assert_eq!(host.call(2, "input", typed("hi"))["result"]["is"], json!("pass"));
    });
}

impl Script {
    fn call_too_long(&mut self) {
        self.write(&"x".repeat(LINE_BYTES_MAX + 1));
        assert_eq!(code_of(&self.read()), i64::from(ErrorCode::LineTooLong.number()));
    }
}

#[test]
fn deep_nesting_is_answered_and_the_next_line_works() {
    converse(|host| {
        host.hello();
        host.write(&format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{}"#,
            "[".repeat(100_000)
        ));
        assert_eq!(code_of(&host.read()), i64::from(ErrorCode::TooDeep.number()));
        assert_eq!(
            host.call(6, "ping", json!({"payload": [1, "two"]}))["result"]["payload"],
            json!([1, "two"])
        );
    });
}

#[test]
fn parameters_that_do_not_fit_name_the_place() {
    converse(|host| {
        host.hello();
        let answer = host.call(
            2,
            "markers.plan",
            json!({"session": "s", "blocks": [["text", "7"]]}),
        );
        assert_eq!(code_of(&answer), i64::from(ErrorCode::InvalidParams.number()));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("blocks[0][1]"), "{message}");
    });
}

#[test]
fn half_a_line_at_the_end_is_not_obeyed() {
    let told = converse(|host| {
        host.hello();
        let input = host.input.as_mut().expect("the input is open");
        let half = json!({"jsonrpc": "2.0", "method": "session.start", "params": start("S1")}).to_string();
        input.write_all(half.as_bytes()).expect("the bridge reads");
    });
    assert_eq!(told, ["host gone"]);
}

// --- what the host says ----------------------------------------------------------------------------------------

fn typed(text: &str) -> Value {
    json!({"session": "S1", "text": text})
}

#[test]
fn a_session_from_start_to_end_arrives_in_order() {
    let told = converse(|host| {
        host.hello();
        host.note("session.start", start("S1"));
        let accepted = host.call(
            2,
            "skill.run",
            json!({"session": "S1", "request": "r1", "name": "demo", "task": "do it"}),
        );
        assert_eq!(accepted["result"]["run"], json!(run_id().to_string()));
        let cancelled = host.call(
            3,
            "skill.cancel",
            json!({"session": "S1", "run": null, "by": "escape"}),
        );
        assert_eq!(cancelled["result"]["runs"], json!([run_id().to_string()]));
        host.note("delivery.acknowledged", json!({"run": run_id().to_string()}));
        host.note("session.end", json!({"session": "S1", "reason": "quit"}));
    });
    let expected = [
        "session S1 started: startup",
        "skill demo: do it",
        "cancel by escape",
        &format!("acknowledged {}", run_id()),
        "session S1 ended: quit",
        "host gone",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_refusal_carries_its_code_and_a_hint() {
    converse(|host| {
        host.hello();
        let request = json!({"session": "S1", "request": "r1", "name": "nope", "task": ""});
        let answer = host.call(2, "skill.run", request);
        let expected = json!({
            "code": ErrorCode::Refused.number(),
            "message": "no skill is called nope",
            "data": {"code": "unknown_skill", "hint": "try demo"},
        });
        assert_eq!(answer["error"], expected);
    });
}

#[test]
fn a_path_is_no_run_id() {
    converse(|host| {
        host.hello();
        let answer = host.call(2, "question.answer", json!({"run": "../../etc", "answer": "x"}));
        assert_eq!(code_of(&answer), i64::from(ErrorCode::InvalidParams.number()));
    });
}

#[test]
fn a_panic_in_the_runtime_answers_that_request_only() {
    converse(|host| {
        host.hello();
        assert_eq!(
            code_of(&host.call(2, "input", typed("panic"))),
            i64::from(ErrorCode::Internal.number())
        );
        assert_eq!(
            host.call(3, "input", typed("mine"))["result"]["is"],
            json!("pick_skill")
        );
    });
}

#[test]
fn a_slow_request_holds_up_nobody_and_can_be_cancelled() {
    let told = converse(|host| {
        host.hello();
        host.say(json!({"jsonrpc": "2.0", "id": 2, "method": "input", "params": typed("wait")}));
        assert_eq!(host.call(3, "input", typed("mine"))["id"], json!(3));
        host.note("request.cancel", json!({"id": 2}));
        assert_eq!(host.call(4, "input", typed("mine"))["id"], json!(4));
        // The id is free again, so the first request is over.
        assert_eq!(host.call(2, "input", typed("mine"))["id"], json!(2));
    });
    assert_eq!(told.len(), 5, "{told:?}");
}

#[test]
fn more_requests_than_the_limit_are_answered_busy() {
    converse(|host| {
        host.hello();
        let requests_max = u64::try_from(BridgeSettings::default().requests_max).expect("fits");
        for id in 0..requests_max {
            host.say(json!({"jsonrpc": "2.0", "id": 100 + id, "method": "input", "params": typed("wait")}));
        }
        let answer = host.call(1, "input", typed("hi"));
        assert_eq!(
            (code_of(&answer), &answer["id"]),
            (i64::from(ErrorCode::Busy.number()), &json!(1))
        );
    });
}

#[test]
fn markers_come_back_as_edits() {
    converse(|host| {
        host.hello();
        let block = json!(["text", 9000, "00ff", "5m", null]);
        let answer = host.call(2, "markers.plan", json!({"session": "S1", "blocks": [block]}));
        let expected = json!([[0, "1h"]]);
        assert_eq!(answer["result"]["edits"], expected);
    });
}

#[test]
fn what_concerns_a_run_goes_to_the_session_that_asked_for_it() {
    let (accepted, wait_for_acceptance) = tokio::sync::oneshot::channel();
    converse_while(
        |host| {
            host.hello();
            host.call(
                2,
                "skill.run",
                json!({"session": "S1", "request": "r1", "name": "demo", "task": "do it"}),
            );
            accepted.send(()).expect("the runtime waits");
            let progress = host.read();
            assert_eq!(
                (&progress["method"], &progress["params"]["session"]),
                (&json!("ui.progress"), &json!("S1"))
            );
        },
        |bridge| {
            let host = bridge.host();
            async move {
                wait_for_acceptance.await.expect("the script goes on");
                host.show(Progress {
                    run: run_id(),
                    subtask: None,
                    at: UnixMillis(0),
                    doing: "x".into(),
                    tool_calls: 0,
                    between_steps: false,
                    until: None,
                });
            }
        },
    );
}

// --- what the runtime asks -------------------------------------------------------------------------------------

fn judge_request() -> ModelRequest {
    ModelRequest {
        model: wire::HOST_MODEL.into(),
        system: "be brief".into(),
        messages: vec![ModelMessage {
            role: ModelRole::User,
            text: "hi".into(),
            tool_calls: Vec::new(),
            answers_call: None,
            pictures: Vec::new(),
        }],
        tools: Vec::new(),
        temperature: Some(0.0),
        reasoning_effort: None,
        json: true,
        tokens_max: 64,
    }
}

#[test]
fn a_model_call_is_made_by_the_host() {
    let (_, reply) = converse_while(
        |host| {
            let call = host.read();
            assert_eq!(call["method"], json!("model.complete"));
            assert_eq!(call["params"]["model"], json!("session"));
            let usage = json!({"input": 5, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": 0.01});
            host.say(
                json!({"jsonrpc": "2.0", "id": call["id"], "result": {"text": "hello", "usage": usage}}),
            );
        },
        |bridge| {
            let model = bridge.model();
            async move { model.complete(judge_request()).await }
        },
    );
    let reply = reply.expect("an answer");
    assert_eq!(
        (reply.text.as_str(), reply.usage.input, reply.usage.cost_usd),
        ("hello", 5, Some(0.01))
    );
}

#[test]
fn a_failed_model_call_keeps_its_kind() {
    let (_, reply) = converse_while(
        |host| {
            let call = host.read();
            let data = json!({"failure": "rate_limited", "why": "slow down"});
            let error = json!({"code": ErrorCode::Model.number(), "message": "429", "data": data});
            host.say(json!({"jsonrpc": "2.0", "id": call["id"], "error": error}));
        },
        |bridge| {
            let model = bridge.model();
            async move { model.complete(judge_request()).await }
        },
    );
    assert_eq!(reply, Err(ModelError::RateLimited("slow down".into())));
}

#[test]
fn a_model_call_nobody_waits_for_is_cancelled_at_the_host() {
    let (_, ()) = converse_while(
        |host| {
            let call = host.read();
            let cancel = host.read();
            assert_eq!(cancel["method"], json!("request.cancel"));
            assert_eq!(cancel["params"]["id"], call["id"]);
            // Too late, and no harm done.
            host.say(json!({"jsonrpc": "2.0", "id": call["id"], "result": {}}));
        },
        |bridge| {
            let model = bridge.model();
            async move {
                tokio::select! {
                    biased;
                    _ = model.complete(judge_request()) => panic!("nobody answered"),
                    () = tokio::time::sleep(Duration::from_millis(20)) => {}
                }
            }
        },
    );
}

#[test]
fn a_host_that_closes_ends_every_wait() {
    let (told, reply) = converse_while(
        |host| {
            host.read();
            host.close();
        },
        |bridge| {
            let host = bridge.host();
            async move { host.has(&run_id()).await }
        },
    );
    assert_eq!(
        (told, reply),
        (vec!["host gone".to_owned()], Err(HostError::Gone))
    );
}

/// A host that exits closes both ends at once, with an acknowledgement on its way.
#[test]
fn what_a_host_wrote_after_it_stopped_reading_is_heard() {
    let (gone, stopped) = std::sync::mpsc::channel();
    let (told, ()) = converse_while(
        |host| {
            host.hello();
            host.stop_reading();
            host.say(json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {}}));
            stopped.recv().expect("the bridge notices");
            host.note("delivery.acknowledged", json!({"run": run_id()}));
        },
        |bridge| {
            let peer = bridge.peer();
            async move {
                peer.gone().await;
                gone.send(()).expect("the host waits");
            }
        },
    );
    assert_eq!(told, [format!("acknowledged {}", run_id()), "host gone".into()]);
}

#[test]
fn an_answer_to_a_question_reaches_who_asked() {
    let (told, answer) = converse_while(
        |host| {
            let ask = host.read();
            assert_eq!(ask["params"]["question"], json!("which one?"));
            host.say(json!({"jsonrpc": "2.0", "id": ask["id"], "result": {"shown": true}}));
            host.hello();
            let taken = host.call(
                2,
                "question.answer",
                json!({"run": run_id().to_string(), "answer": "both"}),
            );
            assert_eq!(taken["result"]["taken"], json!(true));
            let late = host.call(
                3,
                "question.answer",
                json!({"run": run_id().to_string(), "answer": "no"}),
            );
            assert_eq!(late["result"]["taken"], json!(false));
        },
        |bridge| {
            let host = bridge.host();
            async move { host.ask(&run_id(), "which one?".into()).await }
        },
    );
    assert_eq!(answer, Ok("both".into()));
    assert_eq!(told, ["host gone"]);
}

#[test]
fn a_question_without_anybody_there_is_an_error() {
    let (_, answer) = converse_while(
        |host| {
            let ask = host.read();
            host.say(json!({"jsonrpc": "2.0", "id": ask["id"], "result": {"shown": false}}));
        },
        |bridge| {
            let host = bridge.host();
            async move { host.ask(&run_id(), "which one?".into()).await }
        },
    );
    assert_eq!(answer, Err(HostError::NobodyThere));
}

#[test]
fn a_delivery_is_offered_for_its_session_and_answered_with_a_receipt() {
    let (_, receipt) = converse_while(
        |host| {
            let offer = host.read();
            let expected = json!({
                "run": run_id().to_string(), "session": "S1", "state": "failed", "answer": "half",
                "reason": {
                    "code": "total_timeout",
                    "message": format!("too slow /skill:resume {} goes on with it.", run_id()),
                },
                "stopped_early": "[System]: Sub-agent stopped early (timeout).",
                "earlier_session": false,
                "changes": null,
                "about": {
                    "skill": "look", "agent": null, "task": "Look.", "answers": [{"question": "Where?", "answer": "Here."}],
                    "model": "b/two", "left": ["On a/one, nobody answered."], "used": "100 tokens in, 10 out, $0.2500",
                },
                "sight": null,
                "receipt": {
                    "flags": ["It cites a.rs:3, which it did not look at."], "seen": "Seen by the runtime: no tool calls.",
                },
                "whole": "This answer is cut.",
                "chain": GroupId::new(1, 1).as_str(),
            });
            assert_eq!(offer["params"], expected);
            host.say(json!({"jsonrpc": "2.0", "id": offer["id"], "result": {"receipt": "shown"}}));
        },
        |bridge| {
            let host = bridge.host();
            async move {
                host.belongs(&run_id(), &SessionId("S1".into()));
                let reason = Reason {
                    code: ReasonCode::TotalTimeout,
                    message: "too slow".into(),
                };
                let state = TerminalState::Failed;
                let delivery = Delivery {
                    run: run_id(),
                    state,
                    answer: Some("half".into()),
                    reason: Some(reason),
                    stopped_early: Some("[System]: Sub-agent stopped early (timeout).".into()),
                    about: Some(DeliveredRun {
                        what: WhatToRun::Skill("look".into()),
                        task: "Look.".into(),
                        answers: vec![("Where?".into(), "Here.".into())],
                        model: Some("b/two".into()),
                        left: vec!["On a/one, nobody answered.".into()],
                        used: Some("100 tokens in, 10 out, $0.2500".into()),
                    }),
                    sight: None,
                    changes: None,
                    receipt: Some(DeliveredReceipt {
                        flags: vec!["It cites a.rs:3, which it did not look at.".into()],
                        seen: Some("Seen by the runtime: no tool calls.".into()),
                    }),
                    whole: Some("This answer is cut.".into()),
                    chain: Some(GroupId::new(1, 1)),
                };
                host.deliver(delivery).await
            }
        },
    );
    assert_eq!(receipt, Ok(DeliveryReceipt::Shown));
}

#[test]
fn an_answer_that_does_not_fit_is_a_typed_error() {
    let (_, has) = converse_while(
        |host| {
            let ask = host.read();
            host.say(json!({"jsonrpc": "2.0", "id": ask["id"], "result": {"has": "perhaps"}}));
        },
        |bridge| {
            let host = bridge.host();
            async move { host.has(&run_id()).await }
        },
    );
    let Err(HostError::Refused(why)) = has else {
        panic!("{has:?}")
    };
    assert!(why.contains("session.has_run"), "{why}");
}

#[test]
fn progress_for_a_host_that_does_not_read_is_dropped_and_never_waits() {
    let (flood_over, wait_for_the_flood) = std::sync::mpsc::channel();
    let (_, dropped) = converse_while(
        move |host| {
            // Reads nothing until the flood is over; then everything that was kept is still a whole line.
            wait_for_the_flood.recv().expect("the flood ends");
            while host.read()["method"] != json!("ui.notice") {}
        },
        |bridge| {
            let (host, peer) = (bridge.host(), bridge.peer());
            async move {
                for tool_calls in 0..100_000 {
                    let doing = "x".repeat(400);
                    host.show(Progress {
                        run: run_id(),
                        subtask: None,
                        at: UnixMillis(0),
                        doing,
                        tool_calls,
                        between_steps: false,
                        until: None,
                    });
                }
                let dropped = peer.traffic().dropped;
                flood_over.send(()).expect("the script waits");
                while !peer.is_gone() {
                    host.notice("the end".into());
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                dropped
            }
        },
    );
    assert!(dropped > 0, "40 MB fitted into 16");
}
