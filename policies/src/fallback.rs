//! What follows an attempt that did not answer?

use crate::attempt_ending::{retry_after, says_no_such_model, says_nobody_was_reached};
use crate::cool_down::describe_passed_over;
use crate::domain::{AttemptEnding, CutTool, Reason, ReasonCode};
use crate::projection::{AttemptProjection, RunProjection};
use std::time::Duration;

/// What was seen of the attempts so far.
#[derive(Debug, Clone, PartialEq)]
pub struct FallbackFacts {
    /// How the last attempt ended.
    pub ending: AttemptEnding,
    /// What the provider or the process said.
    pub detail: String,
    /// The model it ran on.
    pub model: String,
    /// How many attempts in a row ended on this model, this one included; our own losses do not count, and a row begins
    /// with an attempt in which some tool finished.
    pub tries_on_model: u32,
    /// How many attempts in a row were lost by us.
    pub lost_in_a_row: u32,
    /// Where the model stands in the chain.
    pub place_in_chain: usize,
    /// The models that were asked in this run. One before `place_in_chain` that is not among them was passed over.
    pub asked: Vec<String>,
    /// The attempt tried for others whether its model is back: once is enough.
    pub was_probe: bool,
    /// Some tool that must not run twice has finished in this run.
    pub unsafe_tool_finished: bool,
    /// The calls that must not run twice and were cut off, each in a few words.
    pub unsafe_calls_cut: Vec<String>,
    /// Some tool has finished in the nested session, so the session is worth going on with.
    pub any_tool_finished: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FallbackSettings {
    /// The models, in order of preference.
    pub chain: Vec<String>,
    /// How often one model is tried when its provider is unavailable or asks to slow down.
    pub tries_per_model_max: u32,
    /// The same while nobody is reached and no other model is left to ask.
    pub unreached_tries_max: u32,
    /// The first wait before the same model is tried again; doubled each time.
    pub wait_first: Duration,
    pub wait_max: Duration,
    /// How many attempts in a row we may lose before a person must look.
    pub lost_in_a_row_max: u32,
    /// The runner can go on with a nested session.
    pub can_resume: bool,
    /// What happens when a tool that must not run twice was cut off.
    pub cut_tool: CutTool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FallbackDecision {
    Try {
        model: String,
        wait: Duration,
        from: StartFrom,
    },
    /// The run ends without an answer.
    Fail(Reason),
    /// The run stops for a person to decide.
    Park(Reason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFrom {
    Scratch,
    /// With the nested session: no finished tool runs again.
    Session,
    /// With the nested session, which is told of a tool that was cut off.
    SessionToldOfCutTool,
    /// With the nested session of the parked run that this one continues.
    EarlierRun,
}

/// Decides what follows an attempt that ended without an answer.
pub fn decide_fallback(facts: &FallbackFacts, settings: &FallbackSettings) -> FallbackDecision {
    if facts.ending == AttemptEnding::TooManyProcesses {
        return FallbackDecision::Fail(reason_of(facts));
    }
    if facts.ending == AttemptEnding::OverBudget {
        return FallbackDecision::Park(over_budget(facts));
    }
    let is_told = settings.can_resume && settings.cut_tool == CutTool::TellSubAgent;
    if !facts.unsafe_calls_cut.is_empty() && !is_told {
        return FallbackDecision::Park(tool_indeterminate(&facts.unsafe_calls_cut));
    }
    match facts.ending {
        AttemptEnding::Lost => try_again_after_loss(facts, settings),
        AttemptEnding::Unavailable if says_no_such_model(&facts.detail) => try_next(facts, settings),
        AttemptEnding::Unavailable | AttemptEnding::RateLimited => try_same_then_next(facts, settings),
        AttemptEnding::StartUpSilence
        | AttemptEnding::Inactivity
        | AttemptEnding::ContextOverflow
        | AttemptEnding::ProtocolError
        | AttemptEnding::Crashed
        | AttemptEnding::EmptyAnswer
        | AttemptEnding::MalformedAnswer
        | AttemptEnding::TooManyCalls
        | AttemptEnding::SpawnFailed => try_next(facts, settings),
        AttemptEnding::Authentication => try_other_provider(facts, settings),
        AttemptEnding::Deadline
        | AttemptEnding::TooManyProcesses
        | AttemptEnding::OverBudget
        | AttemptEnding::Refused
        | AttemptEnding::Cancelled
        | AttemptEnding::Answered => FallbackDecision::Fail(reason_of(facts)),
    }
}

fn try_again_after_loss(facts: &FallbackFacts, settings: &FallbackSettings) -> FallbackDecision {
    if facts.lost_in_a_row >= settings.lost_in_a_row_max {
        return FallbackDecision::Park(Reason {
            code: ReasonCode::NoProgress,
            message: format!(
                "The runtime lost this run's sub-agent {} times in a row without progress{}.",
                facts.lost_in_a_row,
                last_loss(&facts.detail)
            ),
        });
    }
    start(facts, settings, facts.model.clone(), Duration::ZERO)
}

fn last_loss(detail: &str) -> String {
    match detail.trim() {
        "" => String::new(),
        why => format!(", the last time because {}", why.trim_end_matches('.')),
    }
}

/// A provider that says when it may be asked again is waited for, unless the wait is long and another model is there.
fn try_same_then_next(facts: &FallbackFacts, settings: &FallbackSettings) -> FallbackDecision {
    let doublings = facts.tries_on_model.saturating_sub(1).min(16);
    let own = settings
        .wait_first
        .saturating_mul(1 << doublings)
        .min(settings.wait_max);
    let wait = retry_after(&facts.detail).map_or(own, |said| said.max(own));
    let has_next = models_left_to_ask(facts, settings).next().is_some();
    let is_long = has_next && wait > settings.wait_max;
    let is_unreached = !has_next && says_nobody_was_reached(&facts.detail);
    let again = match is_unreached {
        true => facts.tries_on_model < settings.unreached_tries_max,
        false => facts.tries_on_model < settings.tries_per_model_max && !is_long && !facts.was_probe,
    };
    match again {
        true => start(facts, settings, facts.model.clone(), wait),
        false => try_next(facts, settings),
    }
}

fn try_next(facts: &FallbackFacts, settings: &FallbackSettings) -> FallbackDecision {
    match models_left_to_ask(facts, settings).next() {
        Some(next) => start(facts, settings, next.clone(), Duration::ZERO),
        None => FallbackDecision::Fail(reason_of(facts)),
    }
}

/// Those that come after the model in the chain, then those before it that were passed over.
fn models_left_to_ask<'a>(
    facts: &'a FallbackFacts,
    settings: &'a FallbackSettings,
) -> impl Iterator<Item = &'a String> {
    not_asked(&settings.chain, facts.place_in_chain, &facts.asked)
}

fn not_asked<'a>(chain: &'a [String], place: usize, asked: &'a [String]) -> impl Iterator<Item = &'a String> {
    let (before, rest) = chain.split_at(place.min(chain.len()));
    let in_order = rest.iter().skip(1).chain(before);
    in_order.filter(|model| !asked.contains(model))
}

/// The models that an attempt may run on which is meant for `model`: that one, else those that would follow it.
pub fn models_to_ask(run: &RunProjection, model: &str) -> Vec<String> {
    let chain = run.chain();
    let place = chain.iter().position(|known| known == model);
    let asked = run.models_asked();
    let others = not_asked(chain, place.unwrap_or(chain.len()), &asked);
    let others = others.filter(|other| *other != model).cloned();
    std::iter::once(model.to_string()).chain(others).collect()
}

fn try_other_provider(facts: &FallbackFacts, settings: &FallbackSettings) -> FallbackDecision {
    let refused = provider(&facts.model);
    let mut others = models_left_to_ask(facts, settings).filter(|model| provider(model) != refused);
    match others.next() {
        Some(next) => start(facts, settings, next.clone(), Duration::ZERO),
        None => FallbackDecision::Fail(reason_of(facts)),
    }
}

/// The part of a model's name before the first slash.
pub fn provider(model: &str) -> &str {
    model.split('/').next().unwrap_or(model)
}

/// Another attempt may begin from scratch only if nothing that must not run twice has run.
fn start(
    facts: &FallbackFacts,
    settings: &FallbackSettings,
    model: String,
    wait: Duration,
) -> FallbackDecision {
    let from = if !facts.unsafe_calls_cut.is_empty() {
        StartFrom::SessionToldOfCutTool
    } else if facts.any_tool_finished && settings.can_resume {
        StartFrom::Session
    } else if facts.unsafe_tool_finished {
        return FallbackDecision::Park(work_done_already(facts));
    } else {
        StartFrom::Scratch
    };
    FallbackDecision::Try { model, wait, from }
}

fn tool_indeterminate(calls: &[String]) -> Reason {
    let (were, they) = match calls.len() {
        1 => ("was", "it"),
        _ => ("were", "they"),
    };
    Reason {
        code: ReasonCode::ToolIndeterminate,
        message: format!(
            "{} {were} cut off, and nobody knows whether {they} ran. Look at the workspace before you go on.",
            calls.join(", ")
        ),
    }
}

/// The nested session is kept: a person decides whether it is worth more.
fn over_budget(facts: &FallbackFacts) -> Reason {
    let Reason { code, message } = reason_of(facts);
    Reason {
        code,
        message: format!(
            "{message} Resumed, it has its own cap anew, or another one with --max-usd and --max-tokens."
        ),
    }
}

fn work_done_already(facts: &FallbackFacts) -> Reason {
    Reason {
        code: ReasonCode::ToolIndeterminate,
        message: format!(
            "The sub-agent had already changed something when it stopped ({}), \
             so it is not started again by itself. Look at the workspace before you go on.",
            reason_of(facts).message.trim_end_matches('.')
        ),
    }
}

/// Says why an attempt that ended like this gave no answer.
pub fn reason_of(facts: &FallbackFacts) -> Reason {
    why_no_answer(&facts.model, facts.ending, &facts.detail)
}

/// The models that a run has left for another one, and those that it did not ask, each with why; in their order.
pub fn models_left(run: &RunProjection) -> Vec<String> {
    let mut left = Vec::new();
    let mut before: Option<&AttemptProjection> = None;
    for attempt in &run.attempts {
        left.extend(before.and_then(|before| why_it_was_left(before, &attempt.model)));
        let considered = run.considered_before(attempt.number);
        left.extend(
            considered
                .flat_map(|one| &one.passed_over)
                .map(describe_passed_over),
        );
        before = Some(attempt);
    }
    left
}

/// Why a run goes on with another model after this attempt; none where it stays with the same.
pub fn why_it_was_left(attempt: &AttemptProjection, next: &str) -> Option<String> {
    let end = attempt.ended.as_ref().filter(|_| attempt.model != next)?;
    Some(why_no_answer(&attempt.model, end.ending, &end.detail).message)
}

/// Why an attempt that is over gave no answer.
pub fn reason_of_attempt(attempt: &AttemptProjection) -> Option<Reason> {
    let end = attempt.ended.as_ref()?;
    Some(why_no_answer(&attempt.model, end.ending, &end.detail))
}

/// What the person reads while the next attempt is waited for, beside how long that lasts.
pub fn describe_next_attempt(attempt: &AttemptProjection, next: &str) -> Option<String> {
    let end = attempt.ended.as_ref()?;
    let why = why_no_answer(&attempt.model, end.ending, &end.detail).message;
    Some(match attempt.model == next {
        true => format!("starting again. {why}"),
        false => format!("going on with {next}. {why}"),
    })
}

fn why_no_answer(model: &str, ending: AttemptEnding, detail: &str) -> Reason {
    let (code, sentence) = match ending {
        AttemptEnding::StartUpSilence => (
            ReasonCode::StartUpTimeout,
            "the sub-agent said nothing after it was started",
        ),
        AttemptEnding::Inactivity => (ReasonCode::InactivityTimeout, "the sub-agent went silent"),
        AttemptEnding::Deadline => (ReasonCode::TotalTimeout, "the run's total time is over"),
        AttemptEnding::Unavailable if says_no_such_model(detail) => {
            (ReasonCode::UnknownModel, "the provider has no such model")
        }
        AttemptEnding::Unavailable => (ReasonCode::Unavailable, "the model could not be reached"),
        AttemptEnding::RateLimited => (ReasonCode::RateLimited, "the provider asks to slow down"),
        AttemptEnding::Authentication => (
            ReasonCode::Authentication,
            "the provider refused the credentials; log in again or check the key",
        ),
        AttemptEnding::ContextOverflow => (
            ReasonCode::ContextOverflow,
            "the conversation no longer fits the model; give a smaller task or a model with more context",
        ),
        AttemptEnding::Refused => (ReasonCode::Refused, "the model declined to answer"),
        AttemptEnding::SpawnFailed => (ReasonCode::SpawnFailed, "the sub-agent could not be started"),
        AttemptEnding::ProtocolError => (
            ReasonCode::ProtocolError,
            "what the sub-agent printed is not the protocol",
        ),
        AttemptEnding::Crashed => (
            ReasonCode::Crashed,
            "the sub-agent's process ended without an answer",
        ),
        AttemptEnding::Lost => (ReasonCode::NoProgress, "the runtime lost the sub-agent"),
        AttemptEnding::TooManyCalls => (
            ReasonCode::TooManyCalls,
            "the model called more tools in one reply than it may",
        ),
        AttemptEnding::TooManyProcesses => (
            ReasonCode::TooManyProcesses,
            "the sub-agent was stopped because it had too many processes",
        ),
        AttemptEnding::OverBudget => (ReasonCode::OverBudget, "what may be spent is spent"),
        AttemptEnding::Cancelled => (ReasonCode::Cancelled, "the run was cancelled"),
        AttemptEnding::EmptyAnswer => (
            ReasonCode::EmptyAnswer,
            "the sub-agent ended without saying anything",
        ),
        AttemptEnding::MalformedAnswer => (
            ReasonCode::MalformedAnswer,
            "the answer does not have the form that was asked for",
        ),
        AttemptEnding::Answered => (ReasonCode::Internal, "the answer was not kept"),
    };
    let detail = detail.trim();
    let message = match detail.is_empty() {
        true => format!("On {model}, {sentence}."),
        false => format!("On {model}, {sentence}: {detail}{}", full_stop_after(detail)),
    };
    Reason { code, message }
}

/// A full stop where a text has no end of its own.
pub(crate) fn full_stop_after(text: &str) -> &'static str {
    match text.ends_with(['.', '!', '?', '…']) {
        true => "",
        false => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ModelChoice, RouteDecision, RouteSource, Tier};

    fn facts(ending: AttemptEnding) -> FallbackFacts {
        FallbackFacts {
            ending,
            detail: String::new(),
            model: "a/one".into(),
            tries_on_model: 1,
            lost_in_a_row: 0,
            place_in_chain: 0,
            asked: vec!["a/one".into()],
            was_probe: false,
            unsafe_tool_finished: false,
            unsafe_calls_cut: Vec::new(),
            any_tool_finished: false,
        }
    }

    fn settings() -> FallbackSettings {
        FallbackSettings {
            chain: vec!["a/one".into(), "a/two".into(), "b/three".into()],
            tries_per_model_max: 2,
            unreached_tries_max: 4,
            wait_first: Duration::from_secs(2),
            wait_max: Duration::from_secs(60),
            lost_in_a_row_max: 3,
            can_resume: true,
            cut_tool: CutTool::Park,
        }
    }

    fn try_on(model: &str, wait_s: u64, from: StartFrom) -> FallbackDecision {
        FallbackDecision::Try {
            model: model.into(),
            wait: Duration::from_secs(wait_s),
            from,
        }
    }

    #[test]
    fn a_provider_is_waited_for_as_long_as_it_says_unless_another_model_is_there() {
        let said = |words: &str, place_in_chain| FallbackFacts {
            detail: words.into(),
            place_in_chain,
            asked: settings().chain[..=place_in_chain].to_vec(),
            ..facts(AttemptEnding::RateLimited)
        };
        check(
            said("429 (retry after 12 s)", 0),
            try_on("a/one", 12, StartFrom::Scratch),
        );
        check(
            said("429 (retry after 1 s)", 0),
            try_on("a/one", 2, StartFrom::Scratch),
        );
        check(
            said("429 (retry after 300 s)", 0),
            try_on("a/two", 0, StartFrom::Scratch),
        );
        check(
            said("429 (retry after 300 s)", 2),
            try_on("a/one", 300, StartFrom::Scratch),
        );
    }

    fn check(facts: FallbackFacts, expected: FallbackDecision) {
        assert_eq!(decide_fallback(&facts, &settings()), expected);
    }

    #[test]
    fn an_unavailable_model_is_tried_again_after_a_wait_then_the_next() {
        check(
            facts(AttemptEnding::Unavailable),
            try_on("a/one", 2, StartFrom::Scratch),
        );
        let twice = FallbackFacts {
            tries_on_model: 2,
            ..facts(AttemptEnding::Unavailable)
        };
        check(twice, try_on("a/two", 0, StartFrom::Scratch));
    }

    #[test]
    fn a_network_that_is_gone_is_waited_for_where_no_other_model_is_left() {
        let unreached = |tries_on_model, was_probe| FallbackFacts {
            detail: "Connection error.".into(),
            model: "b/three".into(),
            place_in_chain: 2,
            asked: settings().chain,
            tries_on_model,
            was_probe,
            ..facts(AttemptEnding::Unavailable)
        };
        check(unreached(2, true), try_on("b/three", 4, StartFrom::Scratch));
        check(unreached(3, false), try_on("b/three", 8, StartFrom::Scratch));
        assert!(matches!(
            decide_fallback(&unreached(4, false), &settings()),
            FallbackDecision::Fail(_)
        ));
        let another = FallbackFacts {
            detail: "Connection error.".into(),
            tries_on_model: 2,
            ..facts(AttemptEnding::Unavailable)
        };
        check(another, try_on("a/two", 0, StartFrom::Scratch));
    }

    #[test]
    fn a_model_that_the_provider_does_not_have_is_not_asked_for_again() {
        let unknown = FallbackFacts {
            detail: "404 no such model".into(),
            ..facts(AttemptEnding::Unavailable)
        };
        assert_eq!(reason_of(&unknown).code, ReasonCode::UnknownModel);
        check(unknown, try_on("a/two", 0, StartFrom::Scratch));
    }

    #[test]
    fn an_attempt_may_run_on_what_would_follow_its_model() {
        let run = RunProjection {
            choice: Some(ModelChoice {
                chain: settings().chain,
                decision: RouteDecision {
                    model: "a/one".into(),
                    tier: Tier::Balanced,
                    reason: String::new(),
                    source: RouteSource::Fallback,
                    effective_tier: Tier::Balanced,
                },
                overflow_ceiling_bytes: 0,
            }),
            ..RunProjection::default()
        };
        assert_eq!(models_to_ask(&run, "a/two"), ["a/two", "b/three", "a/one"]);
        assert_eq!(
            models_to_ask(&run, "c/other"),
            ["c/other", "a/one", "a/two", "b/three"]
        );
        assert_eq!((provider("a/one"), provider("offline")), ("a", "offline"));
    }

    #[test]
    fn a_probe_that_fails_is_not_repeated() {
        let probe = FallbackFacts {
            was_probe: true,
            ..facts(AttemptEnding::Unavailable)
        };
        check(probe, try_on("a/two", 0, StartFrom::Scratch));
    }

    #[test]
    fn a_model_that_was_passed_over_is_asked_when_no_other_is_left() {
        let last = FallbackFacts {
            model: "b/three".into(),
            place_in_chain: 2,
            tries_on_model: 2,
            asked: vec!["a/two".into(), "b/three".into()],
            ..facts(AttemptEnding::Unavailable)
        };
        check(last.clone(), try_on("a/one", 0, StartFrom::Scratch));
        let refused = FallbackFacts {
            ending: AttemptEnding::Authentication,
            model: "a/two".into(),
            place_in_chain: 1,
            ..last
        };
        assert!(matches!(
            decide_fallback(&refused, &settings()),
            FallbackDecision::Fail(_)
        ));
    }

    #[test]
    fn refused_credentials_skip_to_another_provider() {
        check(
            facts(AttemptEnding::Authentication),
            try_on("b/three", 0, StartFrom::Scratch),
        );
    }

    #[test]
    fn our_own_loss_uses_no_step_of_the_chain() {
        let lost = FallbackFacts {
            lost_in_a_row: 1,
            ..facts(AttemptEnding::Lost)
        };
        check(lost, try_on("a/one", 0, StartFrom::Scratch));
    }

    #[test]
    fn too_many_processes_end_the_run_as_what_they_are() {
        let storm = FallbackFacts {
            unsafe_calls_cut: vec!["`bash` (make)".into()],
            ..facts(AttemptEnding::TooManyProcesses)
        };
        match decide_fallback(&storm, &settings()) {
            FallbackDecision::Fail(reason) => assert_eq!(reason.code, ReasonCode::TooManyProcesses),
            other => panic!("{other:?}"),
        }
        check(
            facts(AttemptEnding::TooManyCalls),
            try_on("a/two", 0, StartFrom::Scratch),
        );
    }

    #[test]
    fn finished_tools_are_not_run_again() {
        let lost = FallbackFacts {
            any_tool_finished: true,
            unsafe_tool_finished: true,
            ..facts(AttemptEnding::Lost)
        };
        check(lost, try_on("a/one", 0, StartFrom::Session));
    }

    #[test]
    fn a_cut_tool_parks_by_default_and_is_told_by_setting() {
        let cut = FallbackFacts {
            unsafe_calls_cut: vec!["`bash` (make)".into()],
            ..facts(AttemptEnding::Lost)
        };
        match decide_fallback(&cut, &settings()) {
            FallbackDecision::Park(reason) => {
                assert!(reason.message.starts_with("`bash` (make) was cut off"))
            }
            other => panic!("{other:?}"),
        }
        let told = FallbackSettings {
            cut_tool: CutTool::TellSubAgent,
            ..settings()
        };
        assert_eq!(
            decide_fallback(&cut, &told),
            try_on("a/one", 0, StartFrom::SessionToldOfCutTool)
        );
    }

    #[test]
    fn work_done_without_a_session_is_not_done_twice() {
        let crashed = FallbackFacts {
            unsafe_tool_finished: true,
            any_tool_finished: true,
            ..facts(AttemptEnding::Crashed)
        };
        let no_session = FallbackSettings {
            can_resume: false,
            ..settings()
        };
        assert!(matches!(
            decide_fallback(&crashed, &no_session),
            FallbackDecision::Park(_)
        ));
    }

    #[test]
    fn losses_in_a_row_park_at_the_limit() {
        let lost = FallbackFacts {
            lost_in_a_row: 3,
            ..facts(AttemptEnding::Lost)
        };
        match decide_fallback(&lost, &settings()) {
            FallbackDecision::Park(reason) => assert_eq!(reason.code, ReasonCode::NoProgress),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_end_of_the_chain_names_what_happened() {
        let last = FallbackFacts {
            place_in_chain: 2,
            asked: settings().chain,
            model: "b/three".into(),
            detail: "503 upstream".into(),
            tries_on_model: 2,
            ..facts(AttemptEnding::Unavailable)
        };
        match decide_fallback(&last, &settings()) {
            FallbackDecision::Fail(reason) => {
                assert_eq!(reason.code, ReasonCode::Unavailable);
                assert!(reason.message.contains("503 upstream"), "{}", reason.message);
            }
            other => panic!("{other:?}"),
        }
    }
}
