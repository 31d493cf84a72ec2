use super::*;
use crate::domain::{
    Briefing, Clocks, Containment, Origin, Persistence, ReasonCode, RouteDecision, RouteSource, RunId,
    RunTerms, SessionId, Tier, WhatToRun, Worktree,
};

use proptest::prelude::*;

fn record(steps: Vec<Step>) -> Vec<RecordedStep> {
    let numbered = steps.into_iter().zip(1_u64..);
    numbered
        .map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 1000 * sequence,
            step,
        })
        .collect()
}

fn project(steps: Vec<Step>) -> RunProjection {
    RunProjection::of(&record(steps))
}

fn check_state(steps: Vec<Step>, expected: RunState) {
    let projection = project(steps);
    assert_eq!(projection.contradictions, []);
    assert_eq!(projection.state(), expected);
}

fn check_impossible(steps: Vec<Step>, expected: Impossible) {
    let found: Vec<Impossible> = project(steps)
        .contradictions
        .into_iter()
        .map(|found| found.why)
        .collect();
    assert_eq!(found, [expected]);
}

const FIRST: AttemptNumber = AttemptNumber(1);

fn proof() -> Proof {
    Proof {
        method: Containment::InProcess,
        no_children: true,
        processes_left: 0,
    }
}

fn accepted() -> Step {
    accepted_as(None)
}

fn accepted_as(resumes: Option<RunId>) -> Step {
    let request = RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "how".into(),
        origin: Origin {
            host: "cli".into(),
            session: Some(SessionId("s".into())),
            resumes,
        },
        instructions: String::new(),
        tools: vec!["read".into()],
        chain: vec!["offline".into()],
        runner: "embedded".into(),
        workspace: "/w".into(),
        briefing: Briefing::Direct,
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

fn judged(pass: u32) -> Step {
    Step::Judged {
        pass,
        brief: Brief::default(),
        verdict: Verdict::default(),
    }
}

fn asked() -> Step {
    Step::QuestionAsked {
        question: "which?".into(),
    }
}

fn question_answered() -> Step {
    Step::QuestionAnswered {
        answer: "both".into(),
    }
}

fn briefed() -> Step {
    Step::Briefed {
        brief: Brief::default(),
        verdict: None,
    }
}

fn routed() -> Step {
    let decision = RouteDecision {
        model: "a/one".into(),
        tier: Tier::Cheap,
        reason: "route cheap".into(),
        source: RouteSource::ExecutionRouting,
        effective_tier: Tier::Cheap,
    };
    let choice = ModelChoice {
        chain: vec!["a/one".into(), "b/two".into()],
        decision,
        overflow_ceiling_bytes: 15_000,
    };
    Step::Routed {
        choice: Box::new(choice),
    }
}

fn started(attempt: u32) -> Step {
    Step::AttemptStarted {
        attempt: AttemptNumber(attempt),
        model: "offline".into(),
        runner: "embedded".into(),
        session_file: None,
        resumes_session: false,
    }
}

fn active(attempt: u32) -> Step {
    Step::AttemptActive {
        attempt: AttemptNumber(attempt),
    }
}

fn tool_started(call: &str) -> Step {
    Step::ToolStarted {
        attempt: FIRST,
        call: call.into(),
        tool: "read".into(),
        summary: "a.rs".into(),
        arguments: None,
        replay: Replay::Safe,
        target: None,
    }
}

fn tool_ended(call: &str) -> Step {
    Step::ToolEnded {
        attempt: FIRST,
        call: call.into(),
        is_error: false,
        bytes: 3,
        preview: "abc".into(),
        overflow: None,
        evidence: None,
    }
}

fn tool_indeterminate(call: &str) -> Step {
    Step::ToolIndeterminate {
        attempt: FIRST,
        call: call.into(),
        tool: "read".into(),
        after: None,
    }
}

fn attempt_ended(attempt: u32, ending: AttemptEnding) -> Step {
    Step::AttemptEnded {
        attempt: AttemptNumber(attempt),
        ending,
        detail: String::new(),
        partial: None,
        whole: None,
        used: None,
        proof: proof(),
    }
}

fn answered() -> Step {
    Step::Answered {
        answer: "so".into(),
        flags: Vec::new(),
    }
}

fn cancel_requested(by: &str) -> Step {
    Step::CancelRequested { by: by.into() }
}

fn succeeded() -> Step {
    Step::Ended {
        state: TerminalState::Succeeded,
        reason: None,
        proof: proof(),
    }
}

fn parked() -> Step {
    let reason = Reason {
        code: ReasonCode::NeedsClarification,
        message: "say which".into(),
    };
    Step::Ended {
        state: TerminalState::Parked,
        reason: Some(reason),
        proof: proof(),
    }
}

fn up_to_admission() -> Vec<Step> {
    vec![accepted(), briefed(), Step::Admitted]
}

fn with(mut steps: Vec<Step>, more: Vec<Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

fn whole_run() -> Vec<Step> {
    vec![
        accepted(),
        judged(1),
        asked(),
        question_answered(),
        judged(2),
        briefed(),
        Step::Admitted,
        started(1),
        active(1),
        tool_started("a"),
        tool_ended("a"),
        attempt_ended(1, AttemptEnding::Unavailable),
        started(2),
        active(2),
        attempt_ended(2, AttemptEnding::Answered),
        answered(),
        succeeded(),
        Step::Delivered,
        Step::DeliveryAcknowledged,
    ]
}

#[test]
fn every_beginning_of_a_whole_run_stands_where_it_should() {
    use RunState::{Accepted, Admitted, Answered, Briefed, Running, Succeeded};
    let expected = [
        Accepted, Accepted, Accepted, Accepted, Accepted, Accepted, Briefed, Admitted, Running, Running,
        Running, Running, Admitted, Running, Running, Admitted, Answered, Succeeded, Succeeded, Succeeded,
    ];
    assert_eq!(expected.len(), whole_run().len() + 1);
    for (length, state) in expected.into_iter().enumerate() {
        check_state(whole_run()[..length].to_vec(), state);
    }
}

#[test]
fn each_of_the_four_ends_is_its_state() {
    let reason = Some(Reason {
        code: ReasonCode::Internal,
        message: "it broke".into(),
    });
    let ends = [
        TerminalState::Failed,
        TerminalState::Cancelled,
        TerminalState::Parked,
    ];
    for state in ends {
        let end = Step::Ended {
            state,
            reason: reason.clone(),
            proof: proof(),
        };
        check_state(vec![accepted(), end], state.into());
    }
    check_state(whole_run(), RunState::Succeeded);
}

#[test]
fn times_and_numbers_come_from_the_rows() {
    let projection = project(whole_run());
    assert_eq!(
        projection.accepted.as_ref().map(|accepted| accepted.at_ms),
        Some(1000)
    );
    assert_eq!(projection.ended.as_ref().map(|end| end.at_ms), Some(17_000));
    assert_eq!(projection.last_step_at_ms, 19_000);
    assert_eq!(
        (
            projection.steps,
            projection.next_sequence(),
            projection.next_attempt()
        ),
        (19, 20, AttemptNumber(3))
    );
}

#[test]
fn a_question_is_open_until_it_is_answered() {
    let asked_after_pass = vec![accepted(), judged(1), asked()];
    assert_eq!(project(asked_after_pass.clone()).open_question(), Some("which?"));
    let answered = project(with(asked_after_pass, vec![question_answered()]));
    assert_eq!(answered.open_question(), None);
    let question = Question {
        question: "which?".into(),
        after_pass: 1,
        answer: Some("both".into()),
    };
    assert_eq!(answered.questions, [question]);
}

#[test]
fn a_tool_in_flight_at_the_end_of_its_attempt_stays_so_until_it_is_called_indeterminate() {
    let mut steps = with(
        up_to_admission(),
        vec![started(1), tool_started("a"), tool_started("b"), tool_ended("a")],
    );
    steps.push(attempt_ended(1, AttemptEnding::Lost));
    let projection = project(steps.clone());
    let in_flight = |projection: &RunProjection| {
        let calls = projection.attempts[0].tools_in_flight();
        calls.map(|tool| tool.call.clone()).collect::<Vec<_>>()
    };
    assert_eq!(in_flight(&projection), ["b"]);
    assert_eq!(projection.attempts[0].tools_finished().count(), 1);
    steps.push(tool_indeterminate("b"));
    let projection = project(steps);
    assert_eq!(projection.contradictions, []);
    assert!(in_flight(&projection).is_empty());
}

#[test]
fn an_earlier_version_told_a_start_twice_and_one_end_settles_it() {
    let calls = vec![tool_started("a"), tool_started("a"), tool_ended("a")];
    let projection = project(with(with(up_to_admission(), vec![started(1)]), calls));
    assert_eq!(projection.attempts[0].tools.len(), 1);
    assert_eq!(projection.attempts[0].tools_in_flight().count(), 0);
}

#[test]
fn an_earlier_version_used_an_id_again_after_its_tool_ended() {
    let calls = vec![tool_started("a"), tool_ended("a"), tool_started("a")];
    let projection = project(with(with(up_to_admission(), vec![started(1)]), calls));
    assert_eq!(projection.contradictions, []);
    assert_eq!(projection.attempts[0].tools.len(), 2);
    assert_eq!(projection.attempts[0].tools_in_flight().count(), 1);
}

#[test]
fn the_answer_may_be_on_disk_before_the_attempt_has_ended() {
    let early = vec![started(1), answered(), attempt_ended(1, AttemptEnding::Answered)];
    check_state(with(up_to_admission(), early), RunState::Answered);
}

#[test]
fn cancellation_remembers_who_asked_first() {
    let projection = project(vec![
        accepted(),
        cancel_requested("esc"),
        cancel_requested("end of input"),
    ]);
    assert_eq!(projection.cancel_requested.as_deref(), Some("esc"));
    assert_eq!(projection.contradictions, []);
}

#[test]
fn a_result_may_be_delivered_often() {
    check_state(
        with(whole_run()[..17].to_vec(), vec![Step::Delivered, Step::Delivered]),
        RunState::Succeeded,
    );
}

#[test]
fn a_host_that_has_the_result_already_may_acknowledge_without_a_delivery() {
    check_state(
        with(whole_run()[..17].to_vec(), vec![Step::DeliveryAcknowledged]),
        RunState::Succeeded,
    );
}

#[test]
fn a_new_generation_may_admit_again() {
    let mut steps = record(with(up_to_admission(), vec![Step::Admitted]));
    steps[3].generation = 2;
    let projection = RunProjection::of(&steps);
    assert_eq!(projection.contradictions, []);
    assert_eq!((projection.generation, projection.admitted_in), (2, Some(2)));
    assert_eq!(projection.admitted_at_ms, Some(3000));
}

#[test]
fn impossible_sequences_are_named() {
    let running = || with(up_to_admission(), vec![started(1)]);
    let ended = || whole_run()[..17].to_vec();
    check_impossible(vec![briefed()], Impossible::NotAccepted);
    check_impossible(vec![accepted(), accepted()], Impossible::AcceptedTwice);
    check_impossible(vec![accepted(), judged(2)], Impossible::PassOutOfOrder);
    check_impossible(vec![accepted(), briefed(), judged(1)], Impossible::PassOutOfOrder);
    check_impossible(vec![accepted(), asked(), asked()], Impossible::QuestionStillOpen);
    check_impossible(vec![accepted(), question_answered()], Impossible::NothingAsked);
    check_impossible(vec![accepted(), briefed(), briefed()], Impossible::BriefedTwice);
    check_impossible(vec![accepted(), routed()], Impossible::RoutedWithoutBrief);
    check_impossible(
        vec![accepted(), briefed(), routed(), routed()],
        Impossible::RoutedTwice,
    );
    check_impossible(with(running(), vec![routed()]), Impossible::RoutedAfterAttempt);
    check_impossible(vec![accepted(), Step::Admitted], Impossible::AdmittedWithoutBrief);
    check_impossible(
        with(up_to_admission(), vec![Step::Admitted]),
        Impossible::AdmittedTwice,
    );
    check_impossible(
        vec![accepted(), briefed(), started(1)],
        Impossible::AttemptNotAdmitted,
    );
    check_impossible(with(running(), vec![started(2)]), Impossible::AttemptsOverlap);
    check_impossible(
        with(up_to_admission(), vec![started(2)]),
        Impossible::AttemptOutOfOrder { expected: FIRST },
    );
    let not_under_way = |attempt| Impossible::AttemptNotUnderWay {
        attempt: AttemptNumber(attempt),
    };
    check_impossible(with(running(), vec![active(2)]), not_under_way(2));
    check_impossible(
        with(running(), vec![active(1), active(1)]),
        Impossible::ActiveTwice { attempt: FIRST },
    );
    check_impossible(
        with(running(), vec![tool_started("a"), tool_started("a")]),
        Impossible::ToolStartedTwice { call: "a".into() },
    );
    check_impossible(
        with(running(), vec![tool_ended("a")]),
        Impossible::ToolNotInFlight { call: "a".into() },
    );
    let over = || {
        with(
            running(),
            vec![tool_started("a"), attempt_ended(1, AttemptEnding::Crashed)],
        )
    };
    check_impossible(with(over(), vec![tool_started("b")]), not_under_way(1));
    check_impossible(with(over(), vec![tool_ended("a")]), not_under_way(1));
    check_impossible(
        with(over(), vec![attempt_ended(1, AttemptEnding::Crashed)]),
        not_under_way(1),
    );
    check_impossible(
        with(up_to_admission(), vec![answered()]),
        Impossible::AnsweredWithoutAttempt,
    );
    check_impossible(
        with(running(), vec![answered(), answered()]),
        Impossible::AnsweredTwice,
    );
    check_impossible(
        with(whole_run()[..16].to_vec(), vec![started(3)]),
        Impossible::AttemptAfterAnswer,
    );
    check_impossible(with(running(), vec![parked()]), Impossible::EndedDuringAttempt);
    check_impossible(vec![accepted(), succeeded()], Impossible::SucceededWithoutAnswer);
    let silent = Step::Ended {
        state: TerminalState::Failed,
        reason: None,
        proof: proof(),
    };
    check_impossible(vec![accepted(), silent], Impossible::EndedWithoutReason);
    check_impossible(with(ended(), vec![parked()]), Impossible::EndedTwice);
    check_impossible(
        with(ended(), vec![cancel_requested("esc")]),
        Impossible::WorkAfterEnd,
    );
    check_impossible(vec![accepted(), Step::Delivered], Impossible::DeliveredBeforeEnd);
    check_impossible(
        vec![accepted(), Step::DeliveryAcknowledged],
        Impossible::DeliveredBeforeEnd,
    );
    let twice = vec![Step::DeliveryAcknowledged, Step::DeliveryAcknowledged];
    check_impossible(with(ended(), twice), Impossible::AcknowledgedTwice);
}

#[test]
fn the_first_of_two_ends_stands() {
    let projection = project(with(whole_run()[..17].to_vec(), vec![parked()]));
    assert_eq!(projection.state(), RunState::Succeeded);
    let told = projection.contradictions[0].to_string();
    assert_eq!(told, "step 18: the run ended a second time");
}

#[test]
fn an_attempt_that_should_not_have_begun_is_still_under_way() {
    let projection = project(vec![accepted(), started(7)]);
    assert_eq!(
        projection.attempt_under_way().map(|attempt| attempt.number),
        Some(AttemptNumber(7))
    );
    assert_eq!(projection.next_attempt(), AttemptNumber(8));
}

#[test]
fn a_gap_and_a_falling_generation_are_noticed() {
    let mut steps = record(up_to_admission());
    steps[1].generation = 3;
    steps[2].sequence = 5;
    let found = RunProjection::of(&steps).contradictions;
    let expected = [
        Contradiction {
            sequence: 5,
            why: Impossible::SequenceGap { expected: 3 },
        },
        Contradiction {
            sequence: 5,
            why: Impossible::GenerationFell { from: 3 },
        },
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_models_are_chosen_once_with_the_brief() {
    let projection = project(vec![accepted(), briefed(), routed()]);
    assert_eq!(projection.contradictions, []);
    let chain = projection.choice.map(|choice| choice.chain);
    assert_eq!(
        chain.as_deref(),
        Some(&["a/one".to_string(), "b/two".to_string()][..])
    );
}

#[test]
fn a_resumed_run_names_the_parked_one() {
    let parked_run = RunId::new(1, 2);
    let projection = project(vec![accepted_as(Some(parked_run.clone()))]);
    let resumes = projection
        .accepted
        .and_then(|accepted| accepted.request.origin.resumes);
    assert_eq!(resumes, Some(parked_run));
}

fn any_step() -> impl Strategy<Value = Step> {
    let all = with(
        whole_run(),
        vec![
            routed(),
            tool_started("b"),
            tool_indeterminate("a"),
            cancel_requested("esc"),
            parked(),
        ],
    );
    proptest::sample::select(all)
}

proptest! {
    /// Any heap of rows gives a projection; a terminal state, once reached, stays.
    #[test]
    fn the_fold_is_total_and_the_first_end_stands(
        rows in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any_step()), 0..40)
    ) {
        let mut projection = RunProjection::default();
        let mut end = None;
        for (sequence, generation, at_ms, step) in rows {
            projection.add(&RecordedStep { sequence, generation, at_ms, step });
            end = end.or_else(|| projection.ended.clone());
            prop_assert_eq!(&projection.ended, &end);
        }
    }

    /// Adding up at once and step by step is the same.
    #[test]
    fn steps_without_contradiction_keep_none_when_one_more_is_read(length in 0_usize..=19) {
        let mut projection = project(whole_run()[..length].to_vec());
        for recorded in &record(whole_run())[length..] {
            projection.add(recorded);
        }
        prop_assert_eq!(projection, project(whole_run()));
    }
}

/// Looked for one by one, they would take minutes.
#[test]
fn a_hundred_thousand_calls_at_once_are_found_again() {
    let names = || (0..100_000).map(|place| format!("1.{place}:call_0"));
    let calls = names()
        .map(|name| tool_started(&name))
        .chain(names().map(|name| tool_ended(&name)));
    let projection = project(with(with(up_to_admission(), vec![started(1)]), calls.collect()));
    assert_eq!(projection.contradictions, []);
    assert_eq!(projection.attempts[0].tools_finished().count(), 100_000);
}

#[test]
fn what_cannot_have_happened_with_a_worktree_is_named() {
    let worktree = Worktree {
        repository: "/r".into(),
        git_directory: "/r/.git".into(),
        directory: "/s/x".into(),
        workspace: "/s/x".into(),
        base: None,
        snapshot: "1".into(),
        reference: "refs/impresario/x".into(),
        notes: Vec::new(),
    };
    let prepared = || Step::WorktreePrepared {
        worktree: Box::new(worktree.clone()),
    };
    let not_taken = || Step::PatchNotTaken {
        why: "no room".into(),
        state: TerminalState::Cancelled,
        reason: None,
    };
    let isolated = |steps: Vec<Step>| {
        let Step::Accepted { mut request } = accepted() else {
            panic!("not accepted")
        };
        request.terms.isolation = crate::domain::Isolation::Worktree;
        let begins = [Step::Accepted { request }, briefed(), Step::Admitted];
        begins.into_iter().chain(steps).collect::<Vec<_>>()
    };
    check_impossible(isolated(vec![started(1)]), Impossible::AttemptWithoutWorktree);
    check_impossible(
        isolated(vec![prepared(), not_taken(), started(1)]),
        Impossible::AttemptWithoutWorktree,
    );
    check_impossible(isolated(vec![prepared(), prepared()]), Impossible::WorktreeTwice);
    check_impossible(
        isolated(vec![prepared(), not_taken(), not_taken()]),
        Impossible::PatchTwice,
    );
    check_impossible(isolated(vec![not_taken()]), Impossible::PatchWithoutWorktree);
    check_impossible(
        isolated(vec![prepared(), Step::WorktreeCleared]),
        Impossible::ClearedWithoutPatch,
    );
    check_impossible(
        isolated(vec![prepared(), not_taken(), Step::WorktreeCleared]),
        Impossible::ClearedWithoutPatch,
    );
    check_impossible(
        isolated(vec![prepared(), started(1), not_taken()]),
        Impossible::PatchDuringAttempt,
    );
}
