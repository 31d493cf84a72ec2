use super::*;
use crate::domain::*;

fn request() -> RunRequest {
    RunRequest {
        what: WhatToRun::Skill("look".into()),
        task: "look".into(),
        origin: Origin {
            host: "pi".into(),
            session: None,
            resumes: None,
        },
        instructions: String::new(),
        tools: Vec::new(),
        chain: vec!["a/own".into(), "offline".into(), "b/next".into()],
        runner: "pi".into(),
        workspace: "w".into(),
        briefing: Briefing::Judged {
            passes_max: 1,
            questions_max: 0,
            model: "a/judge".into(),
        },
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 25_000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        retrieval: Retrieval::default(),
        terms: RunTerms::default(),
    }
}

fn failed(pass: u32, model: &str, fault: ModelFault) -> FailedPass {
    FailedPass {
        pass,
        model: model.into(),
        fault,
        detail: "529 busy.".into(),
        brief: None,
    }
}

fn check(pass: u32, failed: &[FailedPass], model: &str, wait_s: u64) {
    let expected = call(model, Duration::from_secs(wait_s));
    assert_eq!(choose_judge_model(pass, failed, &request()), expected);
}

fn given_up(failed: &[FailedPass]) -> Reason {
    match choose_judge_model(1, failed, &request()) {
        JudgeModelDecision::GiveUp(reason) => reason,
        goes_on => panic!("{goes_on:?}"),
    }
}

#[test]
fn the_offline_model_never_stands_in_for_a_real_one() {
    assert_eq!(judge_models(&request()), ["a/judge", "a/own", "b/next"]);
}

#[test]
fn a_provider_that_is_busy_is_asked_again_after_longer_and_longer_pauses() {
    let busy = || failed(1, "a/judge", ModelFault::Unavailable);
    check(1, &[], "a/judge", 0);
    check(1, &[busy()], "a/judge", 2);
    check(1, &[busy(), busy()], "a/judge", 4);
    check(1, &[busy(), busy(), busy()], "a/own", 0);
}

#[test]
fn what_will_not_change_is_not_asked_for_again() {
    check(1, &[failed(1, "a/judge", ModelFault::UnknownModel)], "a/own", 0);
    check(1, &[failed(1, "a/judge", ModelFault::TimedOut)], "a/own", 0);
    check(
        1,
        &[failed(1, "a/judge", ModelFault::Authentication)],
        "b/next",
        0,
    );
}

#[test]
fn the_next_pass_begins_with_the_model_that_answered() {
    check(2, &[failed(1, "a/judge", ModelFault::RateLimited)], "a/judge", 0);
    check(2, &[failed(1, "a/judge", ModelFault::UnknownModel)], "a/own", 0);
    let busy = || failed(1, "a/judge", ModelFault::RateLimited);
    check(2, &[busy(), busy(), busy()], "a/own", 0);
}

#[test]
fn the_end_names_every_model_and_what_kept_it() {
    let reason = given_up(&[
        failed(1, "a/judge", ModelFault::Authentication),
        failed(1, "b/next", ModelFault::Authentication),
    ]);
    assert_eq!(reason.code, ReasonCode::Authentication);
    let refused = "the provider refused the credentials, or nobody is logged in: 529 busy.";
    assert_eq!(
        reason.message,
        format!(
            "No sub-agent was started, because no model wrote and judged its brief. On a/judge, {refused} On b/next, \
             {refused} Which model writes briefs is the setting `routingModel`; without it, the session's own."
        )
    );
}

#[test]
fn a_model_that_hangs_is_named_with_the_time_it_had() {
    let hung = ["a/judge", "a/own", "b/next"].map(|model| failed(1, model, ModelFault::TimedOut));
    let reason = given_up(&hung);
    assert_eq!(reason.code, ReasonCode::Unavailable);
    assert!(
        reason
            .message
            .ends_with("On b/next, there was no answer within 60 s."),
        "{}",
        reason.message
    );
}

#[test]
fn a_model_that_declined_ends_it() {
    let reason = given_up(&[failed(1, "a/judge", ModelFault::Refused)]);
    assert_eq!(reason.code, ReasonCode::Refused);
}

#[test]
fn rules_judge_what_rules_run_and_nothing_else() {
    let judged = |model: &str| Briefing::Judged {
        passes_max: 2,
        questions_max: 1,
        model: model.into(),
    };
    let named = || Some("a/judge".to_string());
    assert_eq!(who_judges(judged(""), None, true), judged("offline"));
    assert_eq!(who_judges(judged("offline"), None, false), Briefing::Direct);
    assert_eq!(who_judges(judged("offline"), named(), false), judged("a/judge"));
    assert_eq!(who_judges(Briefing::Direct, named(), true), Briefing::Direct);
}
