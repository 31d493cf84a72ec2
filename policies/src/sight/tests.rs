use super::*;
use crate::domain::{
    AttemptEnding, AttemptNumber, Brief, Clocks, Origin, Persistence, Proof, Replay, RunRequest, RunTerms,
    Step, TerminalState, WhatToRun,
};
use crate::projection::RecordedStep;

const FIRST: AttemptNumber = AttemptNumber(1);
const SECOND: AttemptNumber = AttemptNumber(2);

fn accepted(briefing: Briefing) -> Step {
    let request = RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "Where is it\ndecided?".into(),
        origin: Origin {
            host: "pi".into(),
            session: None,
            resumes: None,
        },
        instructions: String::new(),
        tools: Vec::new(),
        chain: vec!["a/one".into(), "b/two".into()],
        runner: "pi".into(),
        workspace: "/w".into(),
        briefing,
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 1000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        terms: RunTerms::default(),
        retrieval: Default::default(),
    };
    Step::Accepted {
        request: Box::new(request),
    }
}

fn briefed() -> Step {
    Step::Briefed {
        brief: Brief::default(),
        verdict: None,
    }
}

fn attempt(attempt: AttemptNumber, model: &str) -> Step {
    Step::AttemptStarted {
        attempt,
        model: model.into(),
        runner: "pi".into(),
        session_file: None,
        resumes_session: false,
    }
}

fn tool(call: &str, summary: &str) -> Step {
    Step::ToolStarted {
        attempt: FIRST,
        call: call.into(),
        tool: "bash".into(),
        summary: summary.into(),
        arguments: None,
        replay: Replay::Unsafe,
        target: None,
    }
}

fn tool_ended(call: &str, is_error: bool) -> Step {
    Step::ToolEnded {
        attempt: FIRST,
        call: call.into(),
        is_error,
        bytes: 1,
        preview: if is_error {
            "Error: no such file\nls".into()
        } else {
            String::new()
        },
        overflow: None,
        evidence: None,
    }
}

fn attempt_ended(ending: AttemptEnding, used: Option<ModelUsage>) -> Step {
    Step::AttemptEnded {
        attempt: FIRST,
        ending,
        detail: String::new(),
        partial: None,
        whole: None,
        used,
        proof: Proof::NOTHING_STARTED,
    }
}

/// A step each 100 ms.
fn project(steps: impl IntoIterator<Item = Step>) -> RunProjection {
    let recorded = steps
        .into_iter()
        .zip(1_u64..)
        .map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 1_000 + 100 * sequence,
            step,
        });
    RunProjection::of(&recorded.collect::<Vec<_>>())
}

fn seen(steps: impl IntoIterator<Item = Step>) -> RunSight {
    see_run(&project(steps), &LiveFacts::default())
}

fn begun() -> Vec<Step> {
    vec![
        accepted(Briefing::Direct),
        briefed(),
        Step::Admitted,
        attempt(FIRST, "a/one"),
    ]
}

fn active() -> Vec<Step> {
    let mut steps = begun();
    steps.push(Step::AttemptActive { attempt: FIRST });
    steps
}

fn waits_for(steps: Vec<Step>, live: &LiveFacts) -> Option<String> {
    let sight = see_run(&project(steps), live);
    assert_eq!(sight.standing == Standing::Waiting, sight.waits.is_some());
    sight.waits.map(|waits| waits.words)
}

#[test]
fn a_run_that_works_shows_its_calls_its_words_and_nothing_it_waits_for() {
    let steps = active().into_iter().chain([
        tool("1", "ls"),
        tool_ended("1", false),
        tool("2", "cargo   test\n--all"),
        tool_ended("2", true),
        tool("3", "sleep 9"),
    ]);
    let live = LiveFacts {
        words: "  Now I look.\n".into(),
        ..LiveFacts::default()
    };
    let sight = see_run(&project(steps), &live);
    let call = |with: &str, fate, begun_ms, took: Option<&str>| CallSight {
        tool: "bash".into(),
        with: with.into(),
        fate,
        begun_ms,
        took: took.map(String::from),
        why: (fate == CallFate::Failed).then(|| "no such file".into()),
    };
    let wanted = RunSight {
        name: "explore".into(),
        task: "Where is it decided?".into(),
        standing: Standing::Working,
        begun_ms: 1_100,
        took: None,
        model: Some("a/one".into()),
        attempt: 1,
        waits: None,
        calls: vec![
            call("ls", CallFate::Ok, 1_600, Some("100ms")),
            call("cargo test --all", CallFate::Failed, 1_800, Some("100ms")),
            call("sleep 9", CallFate::Running, 2_000, None),
        ],
        calls_before: 0,
        left: Vec::new(),
        words: Some("Now I look.".into()),
        used: None,
        flags: Vec::new(),
        receipt: Vec::new(),
    };
    assert_eq!(sight, wanted);
}

#[test]
fn what_it_waits_for_is_said() {
    let judged = Briefing::Judged {
        passes_max: 2,
        questions_max: 3,
        model: "a/one".into(),
    };
    let nothing = LiveFacts::default();
    assert_eq!(
        waits_for(vec![accepted(judged.clone())], &nothing).as_deref(),
        Some("waits for the judge")
    );
    let judging = LiveFacts {
        doing: Some("judging the brief on a/one".into()),
        ..LiveFacts::default()
    };
    assert_eq!(
        waits_for(vec![accepted(judged.clone())], &judging).as_deref(),
        Some("judging the brief on a/one")
    );
    let asks = Step::QuestionAsked {
        question: "Which one?".into(),
    };
    assert_eq!(
        waits_for(vec![accepted(judged), asks], &judging).as_deref(),
        Some("waits for your answer: Which one?")
    );
    assert_eq!(
        waits_for(vec![accepted(Briefing::Direct)], &nothing).as_deref(),
        Some("waits for its brief")
    );
    let second = LiveFacts {
        before_it: Some(1),
        ..LiveFacts::default()
    };
    let in_line = vec![accepted(Briefing::Direct), briefed()];
    assert_eq!(
        waits_for(in_line.clone(), &second).as_deref(),
        Some("waits for room, 2nd in line")
    );
    assert_eq!(waits_for(in_line, &nothing).as_deref(), Some("waits for room"));
    assert_eq!(
        waits_for(begun(), &nothing).as_deref(),
        Some("waits for the first word of a/one")
    );
    let asked_to_wait = LiveFacts {
        sub_agent_waits: Some(Waits {
            words: "waits for a/one, try 2: 529".into(),
            until_ms: Some(9),
        }),
        ..LiveFacts::default()
    };
    assert_eq!(
        waits_for(active(), &asked_to_wait).as_deref(),
        Some("waits for a/one, try 2: 529")
    );
    let mut stopped = active();
    stopped.push(Step::CancelRequested { by: "escape".into() });
    assert_eq!(
        waits_for(stopped, &nothing).as_deref(),
        Some("waits for its end: it is being cancelled")
    );
}

#[test]
fn between_two_attempts_the_rest_of_the_pause_is_known_and_a_model_that_was_left_is_named() {
    let mut steps = active();
    steps.push(attempt_ended(
        AttemptEnding::RateLimited,
        Some(ModelUsage::default()),
    ));
    assert!(
        waits_for(steps.clone(), &LiveFacts::default()).is_some_and(|what| what.contains("a/one")),
        "the journal alone says what happened"
    );
    let live = LiveFacts {
        doing: Some("starting again".into()),
        until_ms: Some(5_000),
        ..LiveFacts::default()
    };
    let sight = see_run(&project(steps.clone()), &live);
    assert_eq!(
        sight.waits,
        Some(Waits {
            words: "starting again".into(),
            until_ms: Some(5_000)
        })
    );
    steps.push(attempt(SECOND, "b/two"));
    let sight = seen(steps);
    assert_eq!((sight.attempt, sight.model.as_deref()), (2, Some("b/two")));
    assert_eq!(sight.left.len(), 1);
    assert!(sight.left[0].contains("a/one"), "{:?}", sight.left);
}

#[test]
fn of_a_run_that_is_over_it_is_said_how_long_it_took_and_what_it_used() {
    let used = ModelUsage {
        input: 12_000,
        output: 450,
        cache_read: 345,
        cache_write: 0,
        cost_usd: Some(0.012),
    };
    let mut steps = active();
    steps.push(attempt_ended(AttemptEnding::Answered, Some(used)));
    steps.push(Step::Answered {
        answer: "There.".into(),
        flags: Vec::new(),
    });
    steps.push(Step::Ended {
        state: TerminalState::Succeeded,
        reason: None,
        proof: Proof::NOTHING_STARTED,
    });
    let live = LiveFacts {
        words: "There.".into(),
        ..LiveFacts::default()
    };
    let sight = see_run(&project(steps), &live);
    assert_eq!((sight.standing, sight.words), (Standing::Succeeded, None));
    assert_eq!(sight.took.as_deref(), Some("700ms"));
    assert_eq!(sight.used.as_deref(), Some("12.3k in, 450 out · $0.012"));
}

#[test]
fn what_nobody_knows_is_said_so() {
    let mut steps = active();
    steps.push(tool("1", "rm"));
    steps.push(attempt_ended(AttemptEnding::Lost, None));
    let sight = seen(steps);
    assert_eq!(sight.calls[0].fate, CallFate::Unknown);
    assert_eq!(sight.used.as_deref(), Some("tokens unknown"));
    let unpriced = ModelUsage {
        input: 10,
        output: 1,
        ..ModelUsage::default()
    };
    assert_eq!(usage_words(unpriced), "10 in, 1 out · cost unknown");
}

#[test]
fn its_size_has_a_limit_and_no_terminal_obeys_it() {
    let calls = (0..100).map(|number| tool(&number.to_string(), &format!("\u{1b}[2J{}", "é".repeat(999))));
    let live = LiveFacts {
        words: format!("first {}last\u{1b}]0;title\u{7}", "x".repeat(9_000)),
        ..LiveFacts::default()
    };
    let sight = see_run(&project(active().into_iter().chain(calls)), &live);
    assert_eq!((sight.calls.len(), sight.calls_before), (CALLS_MAX, 70));
    assert!(
        sight
            .calls
            .iter()
            .all(|call| call.with.chars().count() == WITH_UNITS_MAX)
    );
    let words = sight.words.clone().unwrap_or_default();
    assert!(!words.contains("first") && words.contains("last"), "{words}");
    let everything = format!("{sight:?}");
    assert!(!everything.contains("\\u{1b}"), "{everything}");
}

#[test]
fn a_line_is_one_line_and_says_when_it_is_cut() {
    assert_eq!(line("a\n\tb", 10), "a b");
    assert_eq!(line("abcdef", 3), "ab…");
    assert_eq!(line(&format!("a{}b", " ".repeat(99)), 3), "a…");
}
