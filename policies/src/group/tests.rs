use super::*;
use crate::domain::Subtask;
use crate::domain::*;
use crate::projection::RunEnd;
use crate::projection::{Acceptance, AttemptEnd, AttemptProjection, ToolCalls};
use std::time::Duration;

fn nothing_left() -> Proof {
    Proof {
        method: Containment::InProcess,
        no_children: true,
        processes_left: 0,
    }
}

fn member(place: u32, answer_units_max: Option<usize>) -> GroupMember {
    GroupMember {
        group: GroupId::new(1, 1),
        place,
        members: 3,
        concurrency: 2,
        total: Duration::from_secs(600),
        subtask: Subtask::new(format!("t{place}"), format!("goal {place}")),
        answer_units_max,
        chain: None,
    }
}

fn request(group: Option<GroupMember>) -> RunRequest {
    RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "t".into(),
        origin: Origin {
            host: "cli".into(),
            session: None,
            resumes: None,
        },
        instructions: String::new(),
        tools: Vec::new(),
        chain: vec!["offline".into()],
        runner: "embedded".into(),
        workspace: "w".into(),
        briefing: Briefing::Direct,
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 1_000,
        answer_chars_max: 0,
        trace_directory: None,
        group,
        terms: RunTerms::default(),
        retrieval: Default::default(),
    }
}

fn run(number: u64) -> RunId {
    RunId::new(number, 0)
}

fn accepted(group: Option<GroupMember>) -> RunProjection {
    let request = Box::new(request(group));
    RunProjection {
        accepted: Some(Acceptance { at_ms: 0, request }),
        ..RunProjection::default()
    }
}

fn ended(group: GroupMember, state: TerminalState, code: Option<ReasonCode>) -> RunProjection {
    RunProjection {
        ended: Some(RunEnd {
            at_ms: 0,
            state,
            reason: code.map(|code| Reason {
                code,
                message: "it was so".into(),
            }),
            proof: nothing_left(),
        }),
        ..accepted(Some(group))
    }
}

fn answered(place: u32, answer: &str) -> RunProjection {
    RunProjection {
        answer: Some(answer.into()),
        ..ended(member(place, None), TerminalState::Succeeded, None)
    }
}

/// One that ended for this reason with these words.
fn stopped(cap: Option<usize>, state: TerminalState, code: ReasonCode, partial: &str) -> RunProjection {
    let attempt = AttemptProjection {
        number: AttemptNumber(1),
        generation: 1,
        started_at_ms: 0,
        model: "m".into(),
        runner: "embedded".into(),
        session_file: None,
        resumes_session: false,
        active: true,
        tools: ToolCalls::default(),
        ended: Some(AttemptEnd {
            at_ms: 0,
            ending: AttemptEnding::Deadline,
            detail: String::new(),
            partial: Some(partial.into()),
            whole: None,
            used: None,
            proof: nothing_left(),
        }),
    };
    RunProjection {
        attempts: vec![attempt],
        ..ended(member(0, cap), state, Some(code))
    }
}

fn says(run_projection: RunProjection) -> String {
    let text = GroupProjection::of([(run(1), run_projection)]).synthesis();
    text.split_once("goal 0\n").expect("a heading").1.to_string()
}

#[test]
fn results_stand_in_the_order_of_the_tasks_whoever_comes_first() {
    let (first, second) = (answered(0, "one"), answered(1, "two"));
    let group = GroupProjection::of([(run(9), second.clone()), (run(3), first.clone())]);
    assert_eq!(group, GroupProjection::of([(run(3), first), (run(9), second)]));
    assert_eq!(
        group.synthesis(),
        "## Parallel sub-agent synthesis\n\n### t0 — goal 0\none\n\n### t1 — goal 1\ntwo\n"
    );
}

#[test]
fn a_run_that_resumes_another_stands_in_its_place() {
    let parked = ended(
        member(0, None),
        TerminalState::Parked,
        Some(ReasonCode::RuntimeGone),
    );
    let group = GroupProjection::of([(run(2), answered(0, "at last")), (run(1), parked)]);
    assert_eq!(group.members.len(), 1);
    assert_eq!(group.state(), Some(TerminalState::Succeeded));
}

#[test]
fn a_group_is_over_when_all_are_and_ended_as_its_worst() {
    let waiting = accepted(Some(member(1, None)));
    let half = GroupProjection::of([(run(1), answered(0, "one")), (run(2), waiting)]);
    assert_eq!((half.is_over(), half.state()), (false, None));
    let parked = ended(
        member(1, None),
        TerminalState::Parked,
        Some(ReasonCode::RuntimeGone),
    );
    let failed = ended(
        member(2, None),
        TerminalState::Failed,
        Some(ReasonCode::Unavailable),
    );
    let whole = GroupProjection::of([(run(1), answered(0, "one")), (run(2), parked), (run(3), failed)]);
    assert_eq!(
        (whole.is_over(), whole.state()),
        (true, Some(TerminalState::Parked))
    );
    assert_eq!(GroupProjection::default().state(), Some(TerminalState::Succeeded));
}

#[test]
fn runs_of_no_group_are_passed_over() {
    assert_eq!(
        GroupProjection::of([(run(1), accepted(None))]),
        GroupProjection::default()
    );
}

#[test]
fn a_clock_keeps_the_words_there_were_and_a_failure_says_why() {
    use TerminalState::{Cancelled, Failed, Parked};
    let check = |state, code, partial, expected: &str| {
        assert_eq!(says(stopped(None, state, code, partial)), expected);
    };
    check(
        Failed,
        ReasonCode::TotalTimeout,
        "half",
        "half\n\n_Stopped reason: timeout._\n",
    );
    check(
        Failed,
        ReasonCode::InactivityTimeout,
        "half",
        "half\n\n_Stopped reason: inactivity._\n",
    );
    check(
        Cancelled,
        ReasonCode::Cancelled,
        "half",
        "half\n\n_Stopped reason: aborted._\n",
    );
    check(
        Failed,
        ReasonCode::TotalTimeout,
        " ",
        "_Worker failed: it was so._\n",
    );
    check(
        Failed,
        ReasonCode::Unavailable,
        "half",
        "_Worker failed: it was so._\n",
    );
    check(
        Parked,
        ReasonCode::RuntimeGone,
        "half",
        "_Worker failed: it was so._\n",
    );
}

#[test]
fn a_cut_shows_beside_the_reason() {
    let cut = stopped(
        Some(30),
        TerminalState::Failed,
        ReasonCode::TotalTimeout,
        &"x".repeat(99),
    );
    assert_eq!(
        says(cut),
        "xx\n\n[…worker output truncated]\n\n_Stopped reason: timeout, cap._\n"
    );
}

#[test]
fn words_of_an_attempt_that_was_stopped_are_reviewed_too() {
    let partial = "before\n```tool_result\nsecret\n```\nafter";
    let stopped = stopped(None, TerminalState::Failed, ReasonCode::TotalTimeout, partial);
    assert!(!says(stopped).contains("secret"));
}
