use super::*;
use crate::domain::*;
use crate::domain::{DegradationSettings, ObservationSettings, RouteDecision, RouteSource};

use crate::chain::{EarlierEnd, EarlierMember};
use crate::judge_loop::unjudged_verdict;
use crate::parallel::WorkerResult;
use crate::projection::RecordedStep;

fn request() -> RunRequest {
    RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "where is the lock taken".into(),
        origin: Origin {
            host: "cli".into(),
            session: None,
            resumes: None,
        },
        instructions: String::new(),
        tools: vec!["read".into()],
        chain: vec!["a/one".into(), "a/two".into()],
        runner: "embedded".into(),
        workspace: "w".into(),
        briefing: Briefing::Judged {
            passes_max: 2,
            questions_max: 1,
            model: "offline".into(),
        },
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 25_000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        terms: RunTerms::default(),
        retrieval: Default::default(),
    }
}

fn accepted() -> Step {
    Step::Accepted {
        request: Box::new(request()),
    }
}

fn verdict(passed: bool) -> Verdict {
    Verdict {
        has_user_goal: passed,
        has_required_inputs: passed,
        has_scope_boundary: passed,
        is_unambiguous: passed,
        missing_requirement_question: (!passed).then(|| "Which lock?".to_string()),
        execution_route: Route::default(),
    }
}

fn judged(pass: u32, passed: bool) -> Step {
    Step::Judged {
        pass,
        brief: goal(),
        verdict: verdict(passed),
    }
}

fn judge(pass: u32) -> Action {
    Action::Judge {
        pass,
        model: "offline".into(),
        wait: Duration::ZERO,
        written: None,
    }
}

fn failed(pass: u32, model: &str, fault: ModelFault, brief: Option<Brief>) -> Step {
    Step::PassFailed {
        pass,
        model: model.into(),
        fault,
        detail: "as it said".into(),
        brief,
    }
}

fn goal() -> Brief {
    Brief {
        user_goal: "find the lock".into(),
        ..Brief::default()
    }
}

fn briefed() -> Step {
    Step::Briefed {
        brief: goal(),
        verdict: None,
    }
}

fn started(attempt: u32) -> Step {
    Step::AttemptStarted {
        attempt: AttemptNumber(attempt),
        model: "a/one".into(),
        runner: "embedded".into(),
        session_file: None,
        resumes_session: false,
    }
}

fn tool_started(attempt: u32, replay: Replay) -> Step {
    Step::ToolStarted {
        attempt: AttemptNumber(attempt),
        call: "c1".into(),
        tool: "edit".into(),
        summary: String::new(),
        arguments: None,
        replay,
        target: None,
    }
}

fn tool_ended(attempt: u32) -> Step {
    Step::ToolEnded {
        attempt: AttemptNumber(attempt),
        call: "c1".into(),
        is_error: false,
        bytes: 1,
        preview: String::new(),
        overflow: None,
        evidence: None,
    }
}

fn ended(attempt: u32, ending: AttemptEnding) -> Step {
    Step::AttemptEnded {
        attempt: AttemptNumber(attempt),
        ending,
        detail: String::new(),
        partial: None,
        whole: None,
        used: None,
        proof: nothing_left(),
    }
}

fn nothing_left() -> Proof {
    Proof {
        method: Containment::InProcess,
        no_children: true,
        processes_left: 0,
    }
}

fn run_of(steps: Vec<Step>) -> RunProjection {
    let recorded = steps.into_iter().zip(1..);
    let recorded: Vec<_> = recorded
        .map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        })
        .collect();
    RunProjection::of(&recorded)
}

fn with_room() -> ActionFacts {
    ActionFacts {
        has_room: true,
        can_resume: true,
        ..ActionFacts::default()
    }
}

fn check(steps: Vec<Step>, facts: ActionFacts, expected: Action) {
    assert_eq!(decide_next_action(&run_of(steps), &facts), expected);
}

fn code_of(steps: Vec<Step>, facts: ActionFacts) -> (TerminalState, Option<ReasonCode>) {
    match decide_next_action(&run_of(steps), &facts) {
        Action::End { state, reason } => (state, reason.map(|reason| reason.code)),
        other => panic!("the run goes on: {other:?}"),
    }
}

fn start(number: u32, model: &str, from: StartFrom) -> Action {
    Action::StartAttempt {
        number: AttemptNumber(number),
        model: model.into(),
        wait: Duration::ZERO,
        from,
    }
}

#[test]
fn a_run_is_judged_briefed_admitted_tried_ended_delivered() {
    check(vec![accepted()], ActionFacts::default(), judge(1));
    let keep = Action::KeepBrief {
        brief: goal(),
        verdict: Some(verdict(true)),
        choice: None,
    };
    check(vec![accepted(), judged(1, true)], ActionFacts::default(), keep);
    check(
        vec![accepted(), briefed()],
        ActionFacts::default(),
        Action::AwaitRoom,
    );
    check(
        vec![accepted(), briefed(), Step::Admitted],
        with_room(),
        start(1, "a/one", StartFrom::Scratch),
    );
    let answered = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        ended(1, AttemptEnding::Answered),
        Step::Answered {
            answer: "there".into(),
            flags: Vec::new(),
        },
    ];
    check(
        answered.clone(),
        with_room(),
        Action::End {
            state: TerminalState::Succeeded,
            reason: None,
        },
    );
    let end = Step::Ended {
        state: TerminalState::Succeeded,
        reason: None,
        proof: nothing_left(),
    };
    let over = [answered, vec![end]].concat();
    check(over.clone(), with_room(), Action::Deliver);
    let acknowledged = [over, vec![Step::Delivered, Step::DeliveryAcknowledged]].concat();
    check(acknowledged, with_room(), Action::Rest);
}

#[test]
fn a_trace_is_looked_at_when_the_person_has_the_result_and_before_that_is_written_down() {
    let mut watched = request();
    watched.trace_directory = Some("traces".into());
    watched.terms.trace.observation = Some(ObservationSettings {
        enabled: true,
        report_after_run: false,
        degradation: DegradationSettings {
            enabled: true,
            consecutive_failures: 3,
            cooldown_hours: 24.0,
        },
        regression_window: 10,
        traces_max: 20,
    });
    let accepted = Step::Accepted {
        request: Box::new(watched),
    };
    let end = Step::Ended {
        state: TerminalState::Succeeded,
        reason: None,
        proof: nothing_left(),
    };
    let ended = |then: &[Step]| [&[accepted.clone(), end.clone()], then].concat();
    let facts = |delivery| ActionFacts {
        delivery,
        ..with_room()
    };
    let seen = Step::Observed {
        verdict: None,
        alerted: false,
    };
    check(ended(&[]), facts(None), Action::Deliver);
    for fate in [DeliveryState::Kept, DeliveryState::Shown, DeliveryState::NotTaken] {
        check(ended(&[Step::Delivered]), facts(Some(fate)), Action::Observe);
    }
    check(
        ended(std::slice::from_ref(&seen)),
        facts(Some(DeliveryState::Kept)),
        Action::Acknowledge,
    );
    check(ended(&[seen]), facts(Some(DeliveryState::NotTaken)), Action::Rest);
    let failed = ActionFacts {
        observation_failed: true,
        ..facts(Some(DeliveryState::Kept))
    };
    check(ended(&[Step::Delivered]), failed, Action::Acknowledge);
}

#[test]
fn a_paid_pass_is_not_paid_again() {
    check(
        vec![accepted(), judged(1, false)],
        ActionFacts::default(),
        judge(2),
    );
}

#[test]
fn an_answer_of_the_user_is_judged_again_and_that_loop_is_bounded() {
    let asked = vec![
        accepted(),
        judged(1, false),
        judged(2, false),
        Step::QuestionAsked {
            question: "Which lock?".into(),
        },
    ];
    let ask_again = Action::Ask {
        question: "Which lock?".into(),
        asked_before: true,
    };
    check(asked.clone(), ActionFacts::default(), ask_again);
    let answered = [
        asked,
        vec![Step::QuestionAnswered {
            answer: "the file lock".into(),
        }],
    ]
    .concat();
    check(answered.clone(), ActionFacts::default(), judge(3));
    let still_unclear = [answered, vec![judged(3, false), judged(4, false)]].concat();
    let outcome = code_of(still_unclear, ActionFacts::default());
    assert_eq!(
        outcome,
        (TerminalState::Failed, Some(ReasonCode::NeedsClarification))
    );
}

#[test]
fn without_a_person_the_run_says_what_is_missing() {
    let steps = vec![
        accepted(),
        judged(1, false),
        judged(2, false),
        Step::QuestionAsked {
            question: "Which lock?".into(),
        },
    ];
    let facts = ActionFacts {
        question_failed: Some(QuestionFailure::NobodyThere),
        ..ActionFacts::default()
    };
    match decide_next_action(&run_of(steps), &facts) {
        Action::End {
            state: TerminalState::Failed,
            reason: Some(reason),
        } => {
            assert_eq!(reason.code, ReasonCode::NeedsClarification);
            assert!(reason.message.contains("Which lock?"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_nobody_answered_in_time_says_how_long_was_waited() {
    let Step::Accepted { mut request } = accepted() else {
        panic!("not accepted")
    };
    request.what = WhatToRun::Skill("look".into());
    let steps = vec![
        Step::Accepted { request },
        judged(1, false),
        judged(2, false),
        Step::QuestionAsked {
            question: "Which lock?".into(),
        },
    ];
    let facts = ActionFacts {
        question_failed: Some(QuestionFailure::TimedOut),
        ..ActionFacts::default()
    };
    let Action::End {
        reason: Some(reason), ..
    } = decide_next_action(&run_of(steps), &facts)
    else {
        panic!("the run goes on")
    };
    assert_eq!(
        reason.message,
        "Q&A timed out after 300s waiting for user input. Skill /skill:look cancelled. It was asked: Which lock? \
         Say it in the task and start again."
    );
}

#[test]
fn an_attempt_nobody_drives_is_settled_before_anything_else() {
    let steps = vec![accepted(), briefed(), Step::Admitted, started(1)];
    check(
        steps.clone(),
        with_room(),
        Action::SettleLostAttempt {
            number: AttemptNumber(1),
        },
    );
    let live = ActionFacts {
        live_attempt: Some(AttemptNumber(1)),
        ..with_room()
    };
    check(steps, live, Action::LetAttemptRun { stop_as: None });
}

#[test]
fn cancelling_stops_the_attempt_then_ends_the_run() {
    let cancel = Step::CancelRequested {
        by: "the user".into(),
    };
    let steps = vec![accepted(), briefed(), Step::Admitted, started(1), cancel];
    let live = ActionFacts {
        live_attempt: Some(AttemptNumber(1)),
        ..with_room()
    };
    check(
        steps.clone(),
        live,
        Action::LetAttemptRun {
            stop_as: Some(AttemptEnding::Cancelled),
        },
    );
    let stopped = [steps, vec![ended(1, AttemptEnding::Cancelled)]].concat();
    assert_eq!(
        code_of(stopped, with_room()),
        (TerminalState::Cancelled, Some(ReasonCode::Cancelled))
    );
}

#[test]
fn an_attempt_that_got_on_with_the_work_begins_a_new_row_of_tries() {
    let busy = |attempt| vec![started(attempt), ended(attempt, AttemptEnding::Unavailable)];
    let got_on = |attempt| {
        let worked = [tool_started(attempt, Replay::Safe), tool_ended(attempt)];
        [
            vec![started(attempt)],
            worked.to_vec(),
            vec![ended(attempt, AttemptEnding::Unavailable)],
        ]
        .concat()
    };
    let tries = |steps: Vec<Step>| {
        let run = run_of([vec![accepted(), briefed()], steps].concat());
        let last = run.latest_attempt().expect("an attempt");
        fallback_facts(&run, last, AttemptEnding::Unavailable, "529").tries_on_model
    };
    assert_eq!(tries([busy(1), busy(2), busy(3)].concat()), 3);
    assert_eq!(tries([busy(1), busy(2), got_on(3)].concat()), 1);
    assert_eq!(tries([busy(1), got_on(2), busy(3)].concat()), 2);
}

#[test]
fn a_lost_attempt_goes_on_where_it_was() {
    let nothing_done = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        ended(1, AttemptEnding::Lost),
    ];
    check(nothing_done, with_room(), start(2, "a/one", StartFrom::Scratch));
    let tool_done = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        tool_started(1, Replay::Unsafe),
        tool_ended(1),
        ended(1, AttemptEnding::Lost),
    ];
    check(tool_done, with_room(), start(2, "a/one", StartFrom::Session));
    let safe_tool_cut = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        tool_started(1, Replay::Safe),
        ended(1, AttemptEnding::Lost),
    ];
    check(safe_tool_cut, with_room(), start(2, "a/one", StartFrom::Scratch));
}

#[test]
fn a_cut_off_tool_that_must_not_run_twice_parks_the_run() {
    let steps = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        tool_started(1, Replay::Unsafe),
        Step::ToolIndeterminate {
            attempt: AttemptNumber(1),
            call: "c1".into(),
            tool: "edit".into(),
            after: None,
        },
        ended(1, AttemptEnding::Lost),
    ];
    assert_eq!(
        code_of(steps, with_room()),
        (TerminalState::Parked, Some(ReasonCode::ToolIndeterminate))
    );
}

#[test]
fn the_total_clock_ends_whatever_is_under_way() {
    let over = ActionFacts {
        total_over: true,
        ..ActionFacts::default()
    };
    let outcome = code_of(vec![accepted(), briefed()], over.clone());
    assert_eq!(outcome, (TerminalState::Failed, Some(ReasonCode::TotalTimeout)));
    let live = ActionFacts {
        live_attempt: Some(AttemptNumber(1)),
        ..over
    };
    let steps = vec![accepted(), briefed(), Step::Admitted, started(1)];
    check(
        steps,
        live,
        Action::LetAttemptRun {
            stop_as: Some(AttemptEnding::Deadline),
        },
    );
}

#[test]
fn the_clock_of_the_group_ends_a_member_that_waits_and_one_that_works() {
    let over = ActionFacts {
        group_over: true,
        ..ActionFacts::default()
    };
    let outcome = code_of(vec![accepted(), briefed()], over.clone());
    assert_eq!(outcome, (TerminalState::Failed, Some(ReasonCode::TotalTimeout)));
    let live = ActionFacts {
        live_attempt: Some(AttemptNumber(1)),
        ..over
    };
    let steps = vec![accepted(), briefed(), Step::Admitted, started(1)];
    let stop_as = Some(AttemptEnding::Deadline);
    check(steps, live, Action::LetAttemptRun { stop_as });
}

#[test]
fn an_answer_on_disk_wins_over_a_late_cancel() {
    let steps = vec![
        accepted(),
        briefed(),
        Step::Admitted,
        started(1),
        ended(1, AttemptEnding::Answered),
        Step::Answered {
            answer: "there".into(),
            flags: Vec::new(),
        },
        Step::CancelRequested {
            by: "the user".into(),
        },
    ];
    check(
        steps,
        with_room(),
        Action::End {
            state: TerminalState::Succeeded,
            reason: None,
        },
    );
}

#[test]
fn a_brief_that_passed_without_a_goal_has_the_task_for_one() {
    let judged = Step::Judged {
        pass: 1,
        brief: Brief::default(),
        verdict: verdict(true),
    };
    let run = run_of(vec![accepted(), judged]);
    let Action::KeepBrief { brief, .. } = decide_next_action(&run, &ActionFacts::default()) else {
        panic!("keeps no brief")
    };
    assert_eq!(brief.user_goal, request().task);
}

fn unjudged(task: &str) -> Step {
    let mut request = request();
    request.task = task.into();
    request.briefing = Briefing::Judged {
        passes_max: 0,
        questions_max: 1,
        model: "offline".into(),
    };
    Step::Accepted {
        request: Box::new(request),
    }
}

/// One pass of the actor alone: what it wrote, if that could be used.
fn written(brief: Option<Brief>) -> Step {
    Step::Judged {
        pass: 1,
        verdict: unjudged_verdict(brief.is_some()),
        brief: brief.unwrap_or_default(),
    }
}

fn kept_goal(steps: Vec<Step>) -> (String, Option<Verdict>) {
    match decide_next_action(&run_of(steps), &ActionFacts::default()) {
        Action::KeepBrief { brief, verdict, .. } => (brief.user_goal, verdict),
        other => panic!("keeps no brief: {other:?}"),
    }
}

#[test]
fn without_a_judge_the_actor_writes_once_and_the_run_goes_on() {
    check(vec![unjudged("look")], ActionFacts::default(), judge(1));
    let kept = kept_goal(vec![unjudged("look"), written(Some(goal()))]);
    assert_eq!(kept, ("find the lock".to_string(), None));
}

#[test]
fn without_a_judge_an_unusable_brief_leaves_the_task_as_the_goal() {
    let kept = kept_goal(vec![unjudged("look"), written(None)]);
    assert_eq!(kept, ("look".to_string(), None));
}

#[test]
fn nothing_starts_without_a_goal() {
    let default_question = |question: &str| Action::Ask {
        question: question.into(),
        asked_before: false,
    };
    for brief in [None, Some(Brief::default())] {
        let steps = vec![unjudged(" "), written(brief.clone())];
        let question = match brief {
            None => crate::judge_loop::UNUSABLE_QUESTION,
            Some(_) => crate::judge_loop::DEFAULT_QUESTION,
        };
        check(steps.clone(), ActionFacts::default(), default_question(question));
        let asked = Step::QuestionAsked {
            question: question.into(),
        };
        let answered = Step::QuestionAnswered {
            answer: "the lock".into(),
        };
        let after_answer = [steps, vec![asked, answered]].concat();
        check(after_answer, ActionFacts::default(), judge(2));
    }
}

/// Nothing was typed, and the actor wrote nothing either: a judge that is pleased with that changes nothing.
#[test]
fn a_judge_that_passes_a_brief_without_a_goal_starts_nothing() {
    let mut request = request();
    request.task = " ".into();
    let accepted = Step::Accepted {
        request: Box::new(request),
    };
    let passed = Step::Judged {
        pass: 1,
        brief: Brief::default(),
        verdict: verdict(true),
    };
    check(vec![accepted, passed], ActionFacts::default(), judge(2));
}

fn routed() -> Step {
    let decision = RouteDecision {
        model: "b/chosen".into(),
        tier: Tier::Frontier,
        reason: String::new(),
        source: RouteSource::ExecutionRouting,
        effective_tier: Tier::Frontier,
    };
    let choice = ModelChoice {
        chain: vec!["b/chosen".into(), "c/next".into()],
        decision,
        overflow_ceiling_bytes: 50_000,
    };
    Step::Routed {
        choice: Box::new(choice),
    }
}

#[test]
fn the_chain_that_was_chosen_holds_for_every_attempt() {
    let begun = vec![accepted(), briefed(), routed(), Step::Admitted];
    check(
        begun.clone(),
        with_room(),
        start(1, "b/chosen", StartFrom::Scratch),
    );
    let first = Step::AttemptStarted {
        attempt: AttemptNumber(1),
        model: "b/chosen".into(),
        runner: "embedded".into(),
        session_file: None,
        resumes_session: false,
    };
    let lost = [begun.clone(), vec![first.clone(), ended(1, AttemptEnding::Lost)]].concat();
    check(lost, with_room(), start(2, "b/chosen", StartFrom::Scratch));
    let silent = [begun, vec![first, ended(1, AttemptEnding::Inactivity)]].concat();
    check(silent, with_room(), start(2, "c/next", StartFrom::Scratch));
}

/// A run that goes on with another one, which got as far as this.
fn going_on_with(inherited: Inherited, briefing: Briefing) -> RunProjection {
    let mut request = request();
    request.briefing = briefing;
    request.terms.inherited = Some(Box::new(inherited));
    let accepted = RecordedStep {
        sequence: 1,
        generation: 1,
        at_ms: 0,
        step: Step::Accepted {
            request: Box::new(request),
        },
    };
    RunProjection::of(&[accepted])
}

fn refused_pass() -> JudgedPass {
    JudgedPass {
        pass: 1,
        brief: goal(),
        verdict: verdict(false),
    }
}

fn open_question() -> Question {
    Question {
        question: "Which lock?".into(),
        after_pass: 1,
        answer: None,
    }
}

#[test]
fn a_brief_that_was_paid_for_is_not_paid_for_again() {
    let inherited = Inherited {
        passes: vec![refused_pass()],
        brief: Some(goal()),
        verdict: Some(verdict(true)),
        ..Inherited::default()
    };
    let run = going_on_with(inherited, request().briefing);
    let Action::KeepBrief { brief, verdict, .. } = decide_next_action(&run, &ActionFacts::default()) else {
        panic!("the brief is not kept")
    };
    assert_eq!(
        (brief, verdict.map(|verdict| verdict.passed())),
        (goal(), Some(true))
    );
}

#[test]
fn an_open_question_is_asked_again_before_anybody_judges() {
    let inherited = || Inherited {
        passes: vec![refused_pass()],
        questions: vec![open_question()],
        ..Inherited::default()
    };
    for briefing in [request().briefing, Briefing::Direct] {
        let run = going_on_with(inherited(), briefing);
        let next = decide_next_action(&run, &ActionFacts::default());
        assert!(
            matches!(
                next,
                Action::Ask {
                    asked_before: true,
                    ..
                }
            ),
            "{next:?}"
        );
    }
}

#[test]
fn where_nobody_judges_what_was_found_out_is_the_brief() {
    let answered = Question {
        answer: Some("the one in src/lock.rs".into()),
        ..open_question()
    };
    let inherited = Inherited {
        passes: vec![refused_pass()],
        questions: vec![answered],
        ..Inherited::default()
    };
    let run = going_on_with(inherited, Briefing::Direct);
    let Action::KeepBrief { brief, verdict, .. } = decide_next_action(&run, &ActionFacts::default()) else {
        panic!("no brief")
    };
    assert_eq!(brief.user_clarifications, ["the one in src/lock.rs"]);
    assert_eq!((brief.user_goal, verdict), (goal().user_goal, None));
}

#[test]
fn a_lost_attempt_of_a_run_that_goes_on_with_another_begins_in_its_session_again() {
    let run = RunRequest {
        continues: Some("go on".into()),
        ..request()
    };
    for from in [StartFrom::Scratch, StartFrom::EarlierRun] {
        assert_eq!(or_from_earlier_run(from, &run), StartFrom::EarlierRun);
    }
    assert_eq!(or_from_earlier_run(StartFrom::Session, &run), StartFrom::Session);
    assert_eq!(
        or_from_earlier_run(StartFrom::Scratch, &request()),
        StartFrom::Scratch
    );
}

#[test]
fn a_judge_that_failed_is_asked_again_without_paying_the_actor_twice() {
    check(
        vec![
            accepted(),
            failed(1, "offline", ModelFault::RateLimited, None),
            failed(1, "offline", ModelFault::RateLimited, Some(goal())),
        ],
        ActionFacts::default(),
        Action::Judge {
            pass: 1,
            model: "offline".into(),
            wait: Duration::from_secs(4),
            written: Some(goal()),
        },
    );
}

#[test]
fn a_model_without_an_answer_asks_the_user_nothing() {
    let refused = |model| failed(1, model, ModelFault::UnknownModel, None);
    let steps = vec![accepted(), refused("offline"), refused("a/one"), refused("a/two")];
    let Action::End { state, reason } = decide_next_action(&run_of(steps), &ActionFacts::default()) else {
        panic!("goes on")
    };
    let reason = reason.expect("a failure says why");
    assert_eq!(
        (state, reason.code),
        (TerminalState::Failed, ReasonCode::UnknownModel)
    );
    assert!(
        reason
            .message
            .contains("On a/two, there is no such model: as it said."),
        "{}",
        reason.message
    );
}

#[test]
fn a_question_that_the_person_closed_cancels_the_run() {
    let asked = vec![
        accepted(),
        judged(1, false),
        judged(2, false),
        Step::QuestionAsked {
            question: "Which lock?".into(),
        },
    ];
    let closed = ActionFacts {
        question_failed: Some(QuestionFailure::Dismissed),
        ..ActionFacts::default()
    };
    let Action::End { state, .. } = decide_next_action(&run_of(asked), &closed) else {
        panic!("goes on")
    };
    assert_eq!(state, TerminalState::Cancelled);
}

#[test]
fn without_a_judge_the_task_is_the_goal_where_no_model_writes_a_brief() {
    let request = RunRequest {
        briefing: Briefing::Judged {
            passes_max: 0,
            questions_max: 0,
            model: "m/actor".into(),
        },
        chain: vec!["m/actor".into()],
        ..request()
    };
    let accepted = Step::Accepted {
        request: Box::new(request),
    };
    let steps = vec![accepted, failed(1, "m/actor", ModelFault::Authentication, None)];
    let brief = Brief {
        user_goal: "where is the lock taken".into(),
        ..Brief::default()
    };
    let kept = Action::KeepBrief {
        brief,
        verdict: None,
        choice: None,
    };
    check(steps, ActionFacts::default(), kept);
}

fn worktree() -> Worktree {
    Worktree {
        repository: "/r".into(),
        git_directory: "/r/.git".into(),
        directory: "/s/x".into(),
        workspace: "/s/x".into(),
        base: None,
        snapshot: "1".into(),
        reference: "refs/impresario/x".into(),
        notes: Vec::new(),
    }
}

fn patch(complete: bool) -> Patch {
    Patch {
        file: "/s/x.patch".into(),
        sha256: String::new(),
        bytes: 1,
        result: "2".into(),
        files_in_all: 1,
        files: Vec::new(),
        notes: Vec::new(),
        complete,
    }
}

fn isolated(steps: Vec<Step>) -> Vec<Step> {
    let mut request = request();
    request.terms.isolation = Isolation::Worktree;
    request.briefing = Briefing::Direct;
    let accepted = Step::Accepted {
        request: Box::new(request),
    };
    [accepted, briefed(), Step::Admitted]
        .into_iter()
        .chain(steps)
        .collect()
}

fn prepared() -> Step {
    Step::WorktreePrepared {
        worktree: Box::new(worktree()),
    }
}

fn taken(complete: bool, state: TerminalState) -> Step {
    Step::PatchTaken {
        patch: Box::new(patch(complete)),
        state,
        reason: None,
    }
}

fn decide_isolated(steps: Vec<Step>, facts: &ActionFacts) -> Action {
    let steps = isolated(steps)
        .into_iter()
        .zip(1..)
        .map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        });
    let run = RunProjection::of(&steps.collect::<Vec<_>>());
    assert_eq!(run.contradictions, []);
    decide_next_action(&run, facts)
}

#[test]
fn a_worktree_is_there_before_anything_is_tried_and_its_changes_are_kept_before_the_end() {
    assert_eq!(decide_isolated(vec![], &with_room()), Action::PrepareWorktree);
    let first = decide_isolated(vec![prepared()], &with_room());
    assert!(matches!(first, Action::StartAttempt { .. }), "{first:?}");
    let cancelled = Step::CancelRequested { by: "me".into() };
    let ends = decide_isolated(vec![prepared(), cancelled.clone()], &with_room());
    assert!(
        matches!(
            ends,
            Action::TakePatch {
                state: TerminalState::Cancelled,
                ..
            }
        ),
        "{ends:?}"
    );
    let kept = vec![prepared(), taken(true, TerminalState::Succeeded)];
    assert_eq!(decide_isolated(kept.clone(), &with_room()), Action::ClearWorktree);
    let cleared = [kept, vec![Step::WorktreeCleared]].concat();
    let ended = Action::End {
        state: TerminalState::Succeeded,
        reason: None,
    };
    assert_eq!(decide_isolated(cleared, &with_room()), ended);
    let unprepared = decide_isolated(vec![cancelled], &with_room());
    assert!(
        matches!(
            unprepared,
            Action::End {
                state: TerminalState::Cancelled,
                ..
            }
        ),
        "{unprepared:?}"
    );
}

#[test]
fn how_a_run_ends_is_settled_with_its_patch_whatever_is_found_out_later() {
    let steps = vec![
        prepared(),
        taken(true, TerminalState::Cancelled),
        Step::WorktreeCleared,
    ];
    let facts = ActionFacts {
        total_over: true,
        must_park: Some(Reason {
            code: ReasonCode::NoProgress,
            message: "again and again".into(),
        }),
        ..with_room()
    };
    let ends = decide_isolated(steps, &facts);
    assert!(
        matches!(
            ends,
            Action::End {
                state: TerminalState::Cancelled,
                ..
            }
        ),
        "{ends:?}"
    );
}

#[test]
fn a_worktree_stays_where_somebody_goes_on_or_something_would_be_lost() {
    let ends_at_once = |steps: Vec<Step>, facts: &ActionFacts| {
        let action = decide_isolated(steps, facts);
        assert!(matches!(action, Action::End { .. }), "{action:?}");
    };
    ends_at_once(vec![prepared(), taken(true, TerminalState::Parked)], &with_room());
    ends_at_once(
        vec![prepared(), taken(false, TerminalState::Succeeded)],
        &with_room(),
    );
    let not_taken = Step::PatchNotTaken {
        why: "no room".into(),
        state: TerminalState::Succeeded,
        reason: None,
    };
    ends_at_once(vec![prepared(), not_taken], &with_room());
    let stays = Step::WorktreeStays {
        why: "git is busy".into(),
    };
    let kept = vec![prepared(), taken(true, TerminalState::Succeeded), stays];
    ends_at_once(kept, &with_room());
}

#[test]
fn without_a_worktree_nothing_is_tried_and_the_reason_is_told() {
    let reason = Reason {
        code: ReasonCode::WorktreeUnavailable,
        message: "it is not in a git repository".into(),
    };
    let facts = ActionFacts {
        worktree_refused: Some(reason.clone()),
        ..with_room()
    };
    let ended = Action::End {
        state: TerminalState::Failed,
        reason: Some(reason),
    };
    assert_eq!(decide_isolated(vec![], &facts), ended);
}

fn gated(gate: Gate) -> Step {
    let Step::Accepted { mut request } = accepted() else {
        unreachable!("it is an acceptance");
    };
    request.briefing = Briefing::Direct;
    request.terms.gate = Some(gate);
    Step::Accepted { request }
}

/// A run with this gate that has answered, and what was heard of the gate.
fn answered_at(gate: Gate, heard: Vec<Step>) -> Vec<Step> {
    let answered = vec![
        gated(gate),
        briefed(),
        Step::Admitted,
        started(1),
        ended(1, AttemptEnding::Answered),
        Step::Answered {
            answer: "done".into(),
            flags: Vec::new(),
        },
    ];
    [answered, heard].concat()
}

fn gate_started(gate: u32) -> Step {
    Step::GateStarted {
        gate,
        command: "check".into(),
    }
}

fn gate_ended(code: i32) -> Step {
    Step::GateEnded {
        gate: 1,
        ending: GateEnding::Exited { code },
        output: String::new(),
        proof: nothing_left(),
    }
}

fn gate_lost(gate: u32) -> Step {
    Step::GateIndeterminate {
        gate,
        proof: nothing_left(),
    }
}

#[test]
fn an_answer_counts_when_its_gate_is_open() {
    let at = |heard| answered_at(Gate::command(["check"]), heard);
    check(at(vec![]), with_room(), Action::TryGate { number: 1 });
    check(at(vec![]), ActionFacts::default(), Action::AwaitRoom);
    let ends = |heard| code_of(at(heard), with_room());
    assert_eq!(
        ends(vec![gate_started(1), gate_ended(0)]),
        (TerminalState::Succeeded, None)
    );
    assert_eq!(
        ends(vec![gate_started(1), gate_ended(1)]),
        (TerminalState::Failed, Some(ReasonCode::GateClosed))
    );
    let late = ActionFacts {
        total_over: true,
        ..with_room()
    };
    check(at(vec![]), late, Action::TryGate { number: 1 });
}

#[test]
fn a_gate_that_began_in_an_earlier_life_is_settled_and_begins_again_only_where_it_may() {
    let open = answered_at(Gate::command(["check"]), vec![gate_started(1)]);
    check(open.clone(), with_room(), Action::SettleLostGate { number: 1 });
    let lost = vec![gate_started(1), gate_lost(1)];
    assert_eq!(
        code_of(answered_at(Gate::command(["check"]), lost.clone()), with_room()),
        (TerminalState::Parked, Some(ReasonCode::GateIndeterminate))
    );
    let again = answered_at(Gate::command(["check"]).repeatable(), lost);
    check(again, with_room(), Action::TryGate { number: 2 });
    let live = ActionFacts {
        live_gate: Some(1),
        ..with_room()
    };
    check(open.clone(), live.clone(), Action::LetGateRun { stop: false });
    let cancel = Step::CancelRequested {
        by: "somebody".into(),
    };
    let cancelled = [open.clone(), vec![cancel.clone()]].concat();
    check(cancelled.clone(), live.clone(), Action::LetGateRun { stop: true });
    let stopped = [cancelled, vec![gate_lost(1)]].concat();
    assert_eq!(code_of(stopped, with_room()).0, TerminalState::Cancelled);
    let over = ActionFacts {
        group_over: true,
        ..live
    };
    check(open, over, Action::LetGateRun { stop: true });
}

fn second_in_chain() -> Step {
    let Step::Accepted { mut request } = accepted() else {
        unreachable!("it is an acceptance");
    };
    request.briefing = Briefing::Direct;
    request.group = Some(GroupMember {
        group: GroupId::new(1, 1),
        place: 1,
        members: 2,
        concurrency: 1,
        total: Duration::from_secs(60),
        subtask: Subtask::new("second", "go on"),
        answer_units_max: None,
        chain: Some(ChainPlace {
            step: 1,
            steps: 2,
            on_failure: OnFailure::Stop,
            own_time: false,
            context: None,
        }),
    });
    Step::Accepted { request }
}

#[test]
fn a_step_of_a_chain_waits_and_its_brief_says_what_the_step_before_said() {
    check(
        vec![second_in_chain()],
        ActionFacts::default(),
        Action::AwaitEarlierSteps,
    );
    let seen = |state| ActionFacts {
        chain: Some(StepFacts {
            earlier: vec![EarlierMember {
                step: 0,
                id: "first".into(),
                state: RunState::from(state),
                ended: Some(EarlierEnd {
                    state,
                    reason: None,
                    worker: WorkerResult {
                        id: "first".into(),
                        goal: String::new(),
                        text: "found".into(),
                        truncated: false,
                        stopped_reason: "completed".into(),
                        error: None,
                    },
                }),
            }],
            left: Duration::from_secs(30),
        }),
        ..ActionFacts::default()
    };
    let Action::KeepBrief { brief, .. } =
        decide_next_action(&run_of(vec![second_in_chain()]), &seen(TerminalState::Succeeded))
    else {
        panic!("it begins");
    };
    assert_eq!(
        brief.user_goal,
        "go on\n\n## Previous step output (from first)\nfound"
    );
    for state in [
        TerminalState::Failed,
        TerminalState::Cancelled,
        TerminalState::Parked,
    ] {
        assert_eq!(
            code_of(vec![second_in_chain()], seen(state)),
            (state, Some(ReasonCode::StepNotBegun))
        );
    }
}

#[test]
fn a_step_that_was_not_begun_leaves_no_trace() {
    let ended = |code| {
        vec![
            second_in_chain(),
            Step::Ended {
                state: TerminalState::Failed,
                reason: Some(Reason {
                    code,
                    message: String::new(),
                }),
                proof: nothing_left(),
            },
        ]
    };
    let traced = |code| {
        let mut run = run_of(ended(code));
        if let Some(accepted) = &mut run.accepted {
            accepted.request.trace_directory = Some("traces".into());
        }
        leaves_trace(&run, run.ended.as_ref().and_then(|end| end.reason.as_ref()))
    };
    assert!(traced(ReasonCode::Crashed) && !traced(ReasonCode::StepNotBegun));
}

#[test]
fn who_goes_on_with_a_run_that_stood_at_its_gate_keeps_its_answer() {
    let Step::Accepted { mut request } = gated(Gate::command(["check"])) else {
        unreachable!("it is an acceptance");
    };
    request.terms.inherited = Some(Box::new(Inherited {
        brief: Some(goal()),
        answer: Some("done".into()),
        ..Inherited::default()
    }));
    let mut steps = vec![Step::Accepted { request }, briefed(), Step::Admitted];
    let answer = || "done".to_string();
    check(
        steps.clone(),
        with_room(),
        Action::KeepAnswer { answer: answer() },
    );
    steps.push(Step::Answered {
        answer: answer(),
        flags: Vec::new(),
    });
    let run = run_of(steps);
    assert_eq!(run.contradictions, []);
    assert_eq!(
        decide_next_action(&run, &with_room()),
        Action::TryGate { number: 1 }
    );
}
