use super::*;

const SETTINGS: CoolDownSettings = CoolDownSettings {
    after_failures: 3,
    first: Duration::from_secs(10),
    max: Duration::from_secs(35),
};
const PATIENCE: Duration = Duration::from_secs(60);

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failed(retry_after: Option<u64>) -> Heard {
    Heard::Failed {
        retry_after: retry_after.map(s),
        why: "529 Overloaded".into(),
    }
}

fn refused() -> Heard {
    Heard::LoginRefused { why: "401 no".into() }
}

/// How it stands after it was heard at these seconds.
fn after(heard: &[(Heard, u64)]) -> Standing {
    heard.iter().fold(Standing::default(), |standing, (heard, at)| {
        standing.after(heard, s(*at), &SETTINGS)
    })
}

fn cooling(left: u64) -> Access {
    Access::Cooling { left: Some(s(left)) }
}

#[track_caller]
fn check(standing: &Standing, at: u64, expected: Access) {
    assert_eq!(standing.access(s(at)), expected, "at {at} s: {standing:?}");
}

#[test]
fn failures_in_a_row_let_it_cool_and_an_answer_between_them_does_not() {
    let three = after(&[(failed(None), 0), (failed(None), 2), (failed(None), 6)]);
    check(&three, 6, cooling(10));
    check(&three, 15, cooling(1));
    check(&three, 16, Access::Probe);
    let answered = [
        (failed(None), 0),
        (failed(None), 2),
        (Heard::Answered, 4),
        (failed(None), 6),
    ];
    check(&after(&answered), 6, Access::Free);
}

#[test]
fn one_probe_at_a_time_decides_and_a_failed_one_doubles_the_pause_up_to_the_ceiling() {
    let mut standing = after(&[(failed(None), 0), (failed(None), 0), (failed(None), 0)]);
    let mut now = 0;
    for pause in [10, 20, 35, 35] {
        check(&standing, now, cooling(pause));
        now += pause;
        check(&standing, now, Access::Probe);
        standing.begin_probe(now);
        check(&standing, now, Access::Cooling { left: None });
        standing = standing.after(&failed(None), s(now), &SETTINGS);
    }
    standing.begin_probe(1);
    let answered = standing.clone().after(&Heard::Answered, s(now), &SETTINGS);
    check(&answered, now, Access::Free);
}

#[test]
fn a_probe_that_is_never_heard_of_again_leaves_its_place_to_the_next() {
    let mut standing = after(&[(failed(None), 0), (failed(None), 0), (failed(None), 0)]);
    standing.begin_probe(1);
    standing.give_up_probe(2);
    check(&standing, 10, Access::Cooling { left: None });
    standing.give_up_probe(1);
    check(&standing, 10, Access::Probe);
}

#[test]
fn late_failures_of_those_who_asked_before_do_not_add_up() {
    let mut heard = vec![(failed(None), 0); 3];
    heard.extend(vec![(failed(None), 5); 20]);
    check(&after(&heard), 5, cooling(5));
}

#[test]
fn what_a_provider_says_is_respected_by_everybody_and_bounded() {
    let once = after(&[(failed(Some(12)), 0)]);
    check(&once, 0, cooling(12));
    check(&once, 12, Access::Free);
    let long = after(&[
        (failed(Some(20)), 0),
        (failed(Some(20)), 20),
        (failed(Some(20)), 40),
    ]);
    check(&long, 40, cooling(20));
    check(&long, 60, Access::Probe);
    check(&after(&[(failed(Some(1_000_000)), 0)]), 0, cooling(3_600));
}

#[test]
fn one_refused_login_is_enough() {
    check(&after(&[(refused(), 0)]), 1, cooling(9));
}

#[test]
fn nothing_cools_where_that_is_off() {
    let off = CoolDownSettings {
        after_failures: 0,
        ..SETTINGS
    };
    let standing = Standing::default().after(&failed(Some(9)), s(0), &off);
    check(&standing, 0, Access::Free);
}

#[test]
fn only_what_the_model_did_counts() {
    assert_eq!(hear_ending(AttemptEnding::Unavailable, "404 no such model"), None);
    for ours in [
        AttemptEnding::Lost,
        AttemptEnding::Cancelled,
        AttemptEnding::Crashed,
        AttemptEnding::Deadline,
        AttemptEnding::OverBudget,
        AttemptEnding::SpawnFailed,
    ] {
        assert_eq!(hear_ending(ours, ""), None, "{ours:?}");
    }
    for answered in [
        AttemptEnding::Answered,
        AttemptEnding::Refused,
        AttemptEnding::ContextOverflow,
    ] {
        assert_eq!(hear_ending(answered, "x"), Some(Heard::Answered), "{answered:?}");
    }
    let limited = hear_ending(AttemptEnding::RateLimited, "429 (retry after 12 s)");
    assert!(matches!(limited, Some(Heard::Failed { retry_after: Some(after), .. }) if after == s(12)));
    assert!(matches!(
        hear_ending(AttemptEnding::Authentication, ""),
        Some(Heard::LoginRefused { .. })
    ));
}

fn candidate(model: &str, of_model: &Standing, of_login: &Standing) -> Candidate {
    Candidate {
        model: model.into(),
        of_model: of_model.clone(),
        of_login: of_login.clone(),
    }
}

fn hot(retry_after: u64) -> Standing {
    after(&[(failed(Some(retry_after)), 0)])
}

fn asks(decision: Option<CandidateDecision>) -> (usize, bool, Vec<String>) {
    match decision {
        Some(CandidateDecision::Ask {
            place,
            is_probe,
            passed_over,
        }) => (
            place,
            is_probe,
            passed_over.iter().map(describe_passed_over).collect(),
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_model_that_cools_is_passed_over_and_that_is_said() {
    let fresh = Standing::default();
    let models = [
        candidate("a/one", &hot(12), &fresh),
        candidate("a/two", &fresh, &fresh),
    ];
    let (place, is_probe, passed) = asks(choose_candidate(&models, s(0), PATIENCE));
    assert_eq!((place, is_probe), (1, false));
    assert_eq!(passed.len(), 1);
    assert!(
        passed[0].starts_with("a/one was passed over") && passed[0].contains("12.0s: 529 Overloaded."),
        "{passed:?}"
    );
}

#[test]
fn a_refused_login_takes_all_its_models_with_it() {
    let (fresh, refused) = (Standing::default(), after(&[(refused(), 0)]));
    let models = [
        candidate("a/one", &fresh, &refused),
        candidate("a/two", &fresh, &refused),
        candidate("b/three", &fresh, &fresh),
    ];
    assert_eq!(asks(choose_candidate(&models, s(0), PATIENCE)).0, 2);
    let alone = &models[..2];
    assert_eq!(
        asks(choose_candidate(alone, s(0), PATIENCE)).0,
        0,
        "waiting helps nobody"
    );
}

#[test]
fn when_all_cool_the_first_to_be_back_is_waited_for_and_never_refused() {
    let fresh = Standing::default();
    let models = [
        candidate("a/one", &hot(40), &fresh),
        candidate("a/two", &hot(12), &fresh),
    ];
    assert!(matches!(
        choose_candidate(&models, s(0), PATIENCE),
        Some(CandidateDecision::Wait { place: 1, left: Some(left), .. }) if left == s(12)
    ));
    assert_eq!(asks(choose_candidate(&models, s(0), Duration::ZERO)).0, 1);
    assert_eq!(
        asks(choose_candidate(&models, s(0), s(5))).0,
        1,
        "that is too long to wait"
    );
    assert_eq!(choose_candidate(&[], s(0), PATIENCE), None);
}

#[test]
fn a_tool_that_hangs_is_not_its_models_fault() {
    use crate::domain::{AttemptNumber, ModelUsage, Proof, Replay, Step};
    use crate::projection::{RecordedStep, RunProjection};
    let attempt = AttemptNumber(1);
    let silent_after = |tool: bool| {
        let started = Step::AttemptStarted {
            attempt,
            model: "a/one".into(),
            runner: "pi".into(),
            session_file: None,
            resumes_session: false,
        };
        let begun = tool.then(|| Step::ToolStarted {
            attempt,
            call: "1.1:a".into(),
            tool: "bash".into(),
            summary: "sleep".into(),
            arguments: None,
            replay: Replay::Unsafe,
            target: None,
        });
        let ended = Step::AttemptEnded {
            attempt,
            ending: AttemptEnding::Inactivity,
            detail: String::new(),
            partial: None,
            whole: None,
            used: Some(ModelUsage::default()),
            proof: Proof::NOTHING_STARTED,
        };
        let steps = [Some(started), begun, Some(ended)].into_iter().flatten();
        let recorded = steps.zip(1..).map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        });
        let run = RunProjection::of(&recorded.collect::<Vec<_>>());
        hear(run.latest_attempt().expect("an attempt"))
    };
    assert_eq!(silent_after(true), None);
    assert!(matches!(silent_after(false), Some(Heard::Failed { .. })));
}
