//! Real Pi, both versions, as a sub-agent: what it may do, how each way to end is read, and that nothing is left.

use crate::runner::{
    Attempt, Outcome, RecordingGate, is_text, is_tool_start, on_one_thread, request, runner,
};
use impresario_actors::gateways::{AttemptRequest, RunnerEvent};
use impresario_actors::runners::pi::PiRunner;
use impresario_model_server::{Fault, ModelServer, Place, Rule, Script, Stop, Turn};
use impresario_policies::domain::{AttemptEnding, AttemptNumber, Replay};
use impresario_test_support::pi::{MOCK_MODEL, MOCKA_MODEL, Sandbox, Scenario, Version};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::time::Duration;
use tempfile::TempDir;

/// One Pi, one model server, one place to work.
struct Stage {
    server: ModelServer,
    sandbox: Sandbox,
    state: TempDir,
    _scenario: Scenario,
}

/// Plays a scenario with both versions.
fn with_both<F: Future<Output = ()>>(
    name: &str,
    script: impl Fn() -> Script,
    play: impl Fn(std::rc::Rc<Stage>) -> F,
) {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, name) else {
            continue;
        };
        let server = ModelServer::start_blocking(script()).expect("a model server");
        let sandbox = Sandbox::new(scenario.install(), &server);
        // Retries by the user's wish: they must not happen in a sub-agent.
        sandbox.write_settings(json!({"retry": {"enabled": true, "maxRetries": 3, "baseDelayMs": 50, "provider": {"maxRetries": 2}}}));
        let state = tempfile::tempdir().expect("a state directory");
        let stage = std::rc::Rc::new(Stage {
            server,
            sandbox,
            state,
            _scenario: scenario,
        });
        on_one_thread(play(stage));
    }
}

impl Stage {
    fn environment(&self) -> BTreeMap<String, String> {
        let own = self.sandbox.environment();
        own.into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }

    fn runner(&self) -> PiRunner {
        runner(&self.sandbox.pi(), self.environment(), self.state.path())
    }

    fn request(&self, model: &str) -> AttemptRequest {
        request(model, &self.sandbox.work(), self.state.path())
    }

    async fn start(&self, model: &str) -> Attempt {
        Attempt::start(&self.runner(), self.request(model))
            .await
            .expect("Pi starts")
    }

    async fn play(&self, model: &str) -> Outcome {
        self.start(model).await.outcome().await
    }

    fn calls(&self) -> usize {
        self.server.ledger().calls().len()
    }
}

fn always(turn: Turn) -> Script {
    Script::new().rule(Rule::new("model").turn(turn).repeat())
}

#[test]
fn a_task_is_done_with_the_tools_of_the_agent_and_nothing_else() {
    let script = || {
        let reads = Turn::tool("read", json!({"path": "notes.txt"}));
        let runs = Turn::tool(
            "bash",
            json!({"command": "echo $SECRET_OF_ANOTHER; echo ran > made.txt"}),
        );
        Script::new().rule(
            Rule::new("model")
                .turn(reads)
                .turn(runs)
                .turn(Turn::text("It says hello.")),
        )
    };
    with_both("sub-agent: tools, then an answer", script, async |stage| {
        stage
            .sandbox
            .write_work_file("notes.txt", "hello from the file\n");
        let mut environment = stage.environment();
        environment.insert("SECRET_OF_ANOTHER".to_string(), "must-not-be-seen".to_string());
        let runner = runner(&stage.sandbox.pi(), environment, stage.state.path());
        let attempt = Attempt::start(&runner, stage.request(MOCK_MODEL))
            .await
            .expect("Pi starts");
        let gate = attempt.gate.clone();
        let outcome = attempt.outcome().await;

        outcome.check(AttemptEnding::Answered);
        assert_eq!(outcome.facts.answer, "It says hello.");
        assert!(outcome.text().ends_with("It says hello."));
        assert_eq!(outcome.unread(), []);
        assert_eq!(outcome.seen[0], RunnerEvent::Active);
        let started = gate.started.borrow();
        assert_eq!(
            started[0],
            ("read".to_string(), "notes.txt".to_string(), Replay::Safe)
        );
        assert_eq!((started[1].0.as_str(), started[1].2), ("bash", Replay::Unsafe));
        assert!(stage.sandbox.work().join("made.txt").exists());
        let reviewed = gate.reviewed.borrow();
        assert_eq!(
            reviewed[0],
            ("read".to_string(), "hello from the file\n".to_string())
        );
        assert!(!reviewed[1].1.contains("must-not-be-seen"), "{reviewed:?}");

        let calls = stage.server.ledger().calls();
        assert_eq!(calls.len(), 3);
        let mut tools = calls[0].tools.clone();
        tools.sort();
        assert_eq!(tools, ["bash", "read"]);
        let used: Vec<_> = outcome
            .seen
            .iter()
            .filter(|event| matches!(event, RunnerEvent::Called { used: Some(_), .. }))
            .collect();
        assert_eq!(used.len(), 3, "each call is counted: {used:?}");
        let settings =
            fs::read_to_string(stage.sandbox.agent_directory().join("settings.json")).expect("settings");
        assert!(
            settings.contains("\"maxRetries\":3"),
            "the user's settings are as they were: {settings}"
        );
    });
}

#[test]
fn text_that_looks_like_an_option_a_file_or_a_command_reaches_the_model() {
    for prompt in [
        "--help",
        "-p x",
        "@notes.txt",
        "/llama",
        "/skill:x y",
        "!ls",
        "line 1\nline 2 \u{2028} \"quoted\" \\ end",
    ] {
        with_both(
            &format!("sub-agent: the prompt {prompt:?}"),
            || always(Turn::text("ok")),
            async |stage| {
                let request = AttemptRequest {
                    user_prompt: prompt.to_string(),
                    ..stage.request(MOCK_MODEL)
                };
                let outcome = Attempt::start(&stage.runner(), request)
                    .await
                    .expect("Pi starts")
                    .outcome()
                    .await;
                outcome.check(AttemptEnding::Answered);
                let call = &stage.server.ledger().calls()[0];
                let sent = serde_json::to_string(prompt).expect("a text has a JSON form");
                assert!(
                    call.body.to_string().contains(sent.trim_matches('"')),
                    "{}",
                    call.body
                );
            },
        );
    }
}

#[test]
fn a_failing_provider_ends_the_attempt_after_one_call_with_the_right_reason() {
    let status = |status, message: &str| {
        Turn::fault(Fault::Status {
            status,
            message: message.to_string(),
            error_type: None,
            retry_after: None,
        })
    };
    let cases = [
        (
            "429 for ever",
            Turn::rate_limited(Some(1)),
            AttemptEnding::RateLimited,
        ),
        (
            "quota",
            Turn::fault(Fault::QuotaExhausted),
            AttemptEnding::RateLimited,
        ),
        ("overloaded", Turn::overloaded(), AttemptEnding::Unavailable),
        ("500", Turn::fault(Fault::ServerError), AttemptEnding::Unavailable),
        (
            "503",
            status(503, "Service Unavailable"),
            AttemptEnding::Unavailable,
        ),
        (
            "cut before headers",
            Turn::fault(Fault::CutBeforeHeaders),
            AttemptEnding::Unavailable,
        ),
        (
            "cut in the text",
            Turn::text("a long enough text")
                .in_deltas_of(4)
                .and_fault(Fault::Cut { at: Place::MidText }),
            AttemptEnding::Unavailable,
        ),
        (
            "unknown model",
            Turn::fault(Fault::ModelNotFound),
            AttemptEnding::Unavailable,
        ),
        (
            "401",
            Turn::fault(Fault::Unauthorized),
            AttemptEnding::Authentication,
        ),
        (
            "403",
            Turn::fault(Fault::Forbidden),
            AttemptEnding::Authentication,
        ),
        (
            "context overflow",
            Turn::fault(Fault::ContextOverflow),
            AttemptEnding::ContextOverflow,
        ),
        (
            "content filter",
            Turn::text("I").and_stop(Stop::ContentFilter),
            AttemptEnding::Refused,
        ),
    ];
    for (name, turn, ending) in cases {
        for model in [MOCK_MODEL, MOCKA_MODEL] {
            with_both(
                &format!("sub-agent: {name} of {model}"),
                || always(turn.clone()),
                async |stage| {
                    let outcome = stage.play(model).await;
                    assert_eq!(outcome.ending, ending, "{name} of {model}: {outcome:?}");
                    outcome.check(ending);
                    assert!(!outcome.detail.is_empty());
                    // Pi summarises an overflowing conversation and tries once more; that is no retry of a failed call.
                    if ending != AttemptEnding::ContextOverflow {
                        assert_eq!(stage.calls(), 1, "{name} of {model}: no retries of Pi's own");
                    }
                },
            );
        }
    }
}

#[test]
fn a_refusal_is_a_refusal() {
    with_both(
        "sub-agent: refusal",
        || always(Turn::refusal("I cannot help with that.")),
        async |stage| {
            let outcome = stage.play(MOCKA_MODEL).await;
            outcome.check(AttemptEnding::Refused);
            assert_eq!(stage.calls(), 1);
        },
    );
}

#[test]
fn a_model_that_says_nothing_gave_no_answer() {
    with_both(
        "sub-agent: empty answer",
        || always(Turn::text("")),
        async |stage| {
            stage.play(MOCK_MODEL).await.check(AttemptEnding::EmptyAnswer);
        },
    );
}

#[test]
fn no_login_and_no_such_provider_are_told_apart_and_told() {
    with_both(
        "sub-agent: no login",
        || always(Turn::text("never")),
        async |stage| {
            let outcome = stage.play("anthropic/claude-sonnet-4-5").await;
            assert_eq!(outcome.ending, AttemptEnding::Authentication, "{outcome:?}");
            assert!(!outcome.detail.is_empty());
            let outcome = stage.play("nobody/nothing").await;
            assert_eq!(outcome.ending, AttemptEnding::SpawnFailed, "{outcome:?}");
            assert!(outcome.detail.contains("nobody"), "{}", outcome.detail);
            assert_eq!(stage.calls(), 0);
        },
    );
}

#[test]
fn a_tool_does_not_begin_before_the_runtime_allows_it() {
    let script = || {
        let runs = Turn::tool("bash", json!({"command": "touch began.txt"}));
        Script::new().rule(
            Rule::new("model")
                .turn(runs)
                .turn(Turn::text("It was not allowed.")),
        )
    };
    with_both("sub-agent: refused tool", script, async |stage| {
        let gate = RecordingGate::default();
        gate.refuses.set(true);
        let attempt = Attempt::start_at(&stage.runner(), stage.request(MOCK_MODEL), gate)
            .await
            .expect("Pi starts");
        let outcome = attempt.outcome().await;
        outcome.check(AttemptEnding::Answered);
        assert!(!stage.sandbox.work().join("began.txt").exists());
        assert!(
            outcome
                .seen
                .iter()
                .any(|event| matches!(event, RunnerEvent::ToolEnded { is_error: true, .. }))
        );
    });
}

#[test]
fn the_model_sees_a_reviewed_result_and_can_read_what_was_kept() {
    let script = || {
        let runs = Turn::tool("bash", json!({"command": "seq 1 500"}));
        let reads = Turn::tool("overflow_read", json!({"id": "overflow_1", "offset": 1}));
        let seeks = Turn::tool("overflow_search", json!({"id": "overflow_1", "query": "499"}));
        Script::new().rule(
            Rule::new("model")
                .turn(runs)
                .turn(reads)
                .turn(seeks)
                .turn(Turn::text("done")),
        )
    };
    with_both("sub-agent: reviewed result", script, async |stage| {
        let gate = RecordingGate::default();
        *gate.replaces.borrow_mut() = Some("kept aside as overflow_1".to_string());
        let tools = ["bash", "overflow_read", "overflow_search"]
            .map(str::to_string)
            .to_vec();
        let request = AttemptRequest {
            tools,
            ..stage.request(MOCK_MODEL)
        };
        let attempt = Attempt::start_at(&stage.runner(), request, gate)
            .await
            .expect("Pi starts");
        let gate = attempt.gate.clone();
        let outcome = attempt.outcome().await;
        outcome.check(AttemptEnding::Answered);
        let calls = stage.server.ledger().calls();
        assert!(calls[1].body.to_string().contains("kept aside as overflow_1"));
        assert!(!calls[1].body.to_string().contains("499"));
        let ended: Vec<_> = outcome
            .seen
            .iter()
            .filter_map(|event| match event {
                RunnerEvent::ToolEnded { overflow, .. } => Some(overflow.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(ended[0].as_deref(), Some("overflow_1"));
        let read = gate.read.borrow();
        let asked = [
            ("read".to_string(), json!({"id": "overflow_1", "offset": 1})),
            ("search".to_string(), json!({"id": "overflow_1", "query": "499"})),
        ];
        assert_eq!(*read, asked);
        assert_eq!(
            gate.reviewed.borrow().len(),
            1,
            "what is read from aside is not kept aside again"
        );
    });
}

fn retrieves() -> Script {
    let asks = Turn::tool("codebase-retrieval", json!({"query": "who restarts?"}));
    Script::new().rule(Rule::new("model").turn(asks).turn(Turn::text("The supervisor.")))
}

#[test]
fn what_it_retrieves_is_answered_by_the_runtime_and_reviewed() {
    with_both("sub-agent: retrieval", retrieves, async |stage| {
        let request = AttemptRequest {
            tools: vec!["read".to_string(), "codebase-retrieval".to_string()],
            ..stage.request(MOCK_MODEL)
        };
        let attempt = Attempt::start(&stage.runner(), request).await.expect("Pi starts");
        let gate = attempt.gate.clone();
        attempt.outcome().await.check(AttemptEnding::Answered);
        assert_eq!(*gate.asked.borrow(), ["who restarts?"]);
        let started = (
            "codebase-retrieval".to_string(),
            "who restarts?".to_string(),
            Replay::Safe,
        );
        assert_eq!(*gate.started.borrow(), [started]);
        let answer = "what answers \"who restarts?\"".to_string();
        assert_eq!(
            *gate.reviewed.borrow(),
            [("codebase-retrieval".to_string(), answer.clone())]
        );
        let calls = stage.server.ledger().calls();
        let mut offered = calls[0].tools.clone();
        offered.sort();
        assert_eq!(offered, ["codebase-retrieval", "read"]);
        let sent = serde_json::to_string(&answer).expect("a text has a JSON form");
        assert!(
            calls[1].body.to_string().contains(sent.trim_matches('"')),
            "{}",
            calls[1].body
        );
    });
}

#[test]
fn cancelled_while_it_retrieves_it_is_soon_gone() {
    with_both("sub-agent: cancelled in a retrieval", retrieves, async |stage| {
        let gate = RecordingGate::default();
        gate.never_retrieves.set(true);
        let request = AttemptRequest {
            tools: vec!["codebase-retrieval".to_string()],
            ..stage.request(MOCK_MODEL)
        };
        let mut attempt = Attempt::start_at(&stage.runner(), request, gate)
            .await
            .expect("Pi starts");
        attempt.until(is_tool_start).await;
        let gate = attempt.gate.clone();
        while gate.asked.borrow().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        attempt.handle.cancel();
        attempt.outcome().await.check(AttemptEnding::Cancelled);
        assert_eq!(stage.calls(), 1);
        // Whoever asked is gone with the attempt, and with it the retrieval.
        while std::rc::Rc::strong_count(&gate) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn a_temperature_is_sent_where_one_is_set_and_only_there() {
    for model in [MOCK_MODEL, MOCKA_MODEL] {
        for temperature in [None, Some(0.0), Some(0.3)] {
            with_both(
                &format!("sub-agent: temperature {temperature:?} of {model}"),
                || always(Turn::text("ok")),
                async |stage| {
                    let request = AttemptRequest {
                        temperature,
                        ..stage.request(model)
                    };
                    let attempt = Attempt::start(&stage.runner(), request).await.expect("Pi starts");
                    attempt.outcome().await.check(AttemptEnding::Answered);
                    let sent = stage.server.ledger().calls()[0].body.get("temperature").cloned();
                    assert_eq!(sent.and_then(|sent| sent.as_f64()), temperature);
                },
            );
        }
    }
}

#[test]
fn whatever_it_is_doing_a_cancelled_sub_agent_calls_no_model_and_is_soon_gone() {
    let hangs = || {
        Turn::text("a few words and then nothing")
            .in_deltas_of(4)
            .and_fault(Fault::Hang { at: Place::MidText })
    };
    let sleeps = || Turn::tool("bash", json!({"command": "sleep 300 & sleep 300"}));
    let silent = || Turn::fault(Fault::HangBeforeHeaders);
    type Moment = (&'static str, fn() -> Turn, fn(&RunnerEvent) -> bool);
    let moments: [Moment; 3] = [
        ("in its answer", hangs, is_text),
        ("in a tool", sleeps, is_tool_start),
        ("before the provider answers", silent, |event| {
            *event == RunnerEvent::Active
        }),
    ];
    for (name, turn, moment) in moments {
        with_both(
            &format!("sub-agent: cancelled {name}"),
            || always(turn()),
            async |stage| {
                let mut attempt = stage.start(MOCK_MODEL).await;
                attempt.until(moment).await;
                while stage.calls() == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let calls = stage.calls();
                attempt.handle.cancel();
                let outcome = attempt.outcome().await;
                outcome.check(AttemptEnding::Cancelled);
                assert_eq!(stage.calls(), calls, "{name}");
            },
        );
    }
}

#[test]
fn cancelled_before_pi_listens_it_never_calls_a_model() {
    with_both(
        "sub-agent: cancelled at once",
        || always(Turn::text("never")),
        async |stage| {
            let attempt = stage.start(MOCK_MODEL).await;
            attempt.handle.cancel();
            attempt.outcome().await.check(AttemptEnding::Cancelled);
            assert_eq!(stage.calls(), 0);
        },
    );
}

#[test]
fn a_stop_needs_nobody_to_listen_and_leaves_nothing() {
    let sleeps = || {
        always(Turn::tool(
            "bash",
            json!({"command": "setsid sleep 300 & sleep 300"}),
        ))
    };
    with_both("sub-agent: stopped in a tool", sleeps, async |stage| {
        let mut attempt = stage.start(MOCK_MODEL).await;
        attempt.until(is_tool_start).await;
        let proof = attempt.handle.stop(Duration::from_millis(500)).await;
        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
        let again = attempt.handle.stop(Duration::from_millis(500)).await;
        assert_eq!(proof, again);
        attempt.outcome().await.check(AttemptEnding::Cancelled);
    });
}

#[test]
fn an_interrupted_session_goes_on_without_doing_anything_twice() {
    let script = || {
        let first = Turn::tool("bash", json!({"command": "echo once >> done.txt"}));
        let second = Turn::tool("bash", json!({"command": "sleep 300"}));
        Script::new()
            .rule(
                Rule::new("resumed")
                    .last_user_contains("was cut off")
                    .turn(Turn::text("Went on."))
                    .repeat(),
            )
            .rule(Rule::new("model").turn(first).turn(second))
    };
    with_both("sub-agent: resumed", script, async |stage| {
        let mut attempt = stage.start(MOCK_MODEL).await;
        attempt.until(is_tool_start).await;
        attempt.until(is_tool_start).await;
        attempt.handle.stop(Duration::from_millis(500)).await;
        drop(attempt);
        let resumed = AttemptRequest {
            attempt: AttemptNumber(2),
            resume: Some(
                "The command `sleep 300` was cut off; nobody knows whether it ran. Go on.".to_string(),
            ),
            ..stage.request(MOCK_MODEL)
        };
        let outcome = Attempt::start(&stage.runner(), resumed)
            .await
            .expect("Pi starts")
            .outcome()
            .await;
        outcome.check(AttemptEnding::Answered);
        assert_eq!(outcome.facts.answer, "Went on.");
        let done =
            fs::read_to_string(stage.sandbox.work().join("done.txt")).expect("what the first tool did");
        assert_eq!(done, "once\n");
        let last = stage
            .server
            .ledger()
            .calls_of("resumed")
            .pop()
            .expect("a call after the resumption");
        assert!(
            last.body.to_string().contains("echo once"),
            "the conversation so far is there"
        );

        let afresh = AttemptRequest {
            attempt: AttemptNumber(3),
            ..stage.request(MOCK_MODEL)
        };
        let mut attempt = Attempt::start(&stage.runner(), afresh).await.expect("Pi starts");
        attempt.until(|event| *event == RunnerEvent::Active).await;
        attempt.outcome().await;
        let last = stage.server.ledger().calls().pop().expect("a call");
        assert!(
            !last.body.to_string().contains("was cut off"),
            "a fresh attempt knows nothing of the session before"
        );
    });
}

#[test]
fn a_long_answer_is_whole_and_streamed() {
    let words: String = (0..4_000)
        .map(|number| format!("word {number} \u{e9}\u{2028}\n"))
        .collect();
    let long = words.clone();
    let script = move || always(Turn::text(&long).in_deltas_of(400));
    with_both("sub-agent: long answer", script, async |stage| {
        let outcome = stage.play(MOCK_MODEL).await;
        outcome.check(AttemptEnding::Answered);
        assert_eq!(outcome.facts.answer.trim(), words.trim());
        assert_eq!(outcome.text().trim(), words.trim());
    });
}

#[test]
fn two_sub_agents_at_once_do_not_meet() {
    let script = || always(Turn::text("done").after_ms(50));
    with_both("sub-agent: two at once", script, async |stage| {
        let runner = stage.runner();
        let other = AttemptRequest {
            scratch: stage.state.path().join("other"),
            session_file: stage.state.path().join("other/session.jsonl"),
            ..stage.request(MOCK_MODEL)
        };
        let (first, second) = tokio::join!(
            Attempt::start(&runner, stage.request(MOCK_MODEL)),
            Attempt::start(&runner, other)
        );
        let (first, second) = tokio::join!(
            first.expect("starts").outcome(),
            second.expect("starts").outcome()
        );
        first.check(AttemptEnding::Answered);
        second.check(AttemptEnding::Answered);
    });
}

#[test]
fn half_a_line_in_the_session_does_not_make_the_model_forget() {
    let script = || {
        let first = Turn::tool("bash", json!({"command": "echo once >> done.txt"}));
        Script::new()
            .rule(
                Rule::new("resumed")
                    .last_user_contains("go on")
                    .turn(Turn::text("Went on."))
                    .repeat(),
            )
            .rule(Rule::new("model").turn(first).turn(Turn::text("A first answer.")))
    };
    with_both("sub-agent: torn session", script, async |stage| {
        stage.play(MOCK_MODEL).await.check(AttemptEnding::Answered);
        let request = stage.request(MOCK_MODEL);
        let session = fs::OpenOptions::new()
            .write(true)
            .open(&request.session_file)
            .expect("a session");
        let whole = session.metadata().expect("its size").len();
        session.set_len(whole - 40).expect("half a line at its end");
        for attempt in [2, 3] {
            let resumed = AttemptRequest {
                attempt: AttemptNumber(attempt),
                resume: Some("Please go on.".to_string()),
                ..request.clone()
            };
            let attempt = Attempt::start(&stage.runner(), resumed).await.expect("Pi starts");
            attempt.outcome().await.check(AttemptEnding::Answered);
            let call = stage.server.ledger().calls().pop().expect("a call");
            assert!(call.body.to_string().contains("echo once"), "{}", call.body);
        }
    });
}
