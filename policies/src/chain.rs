//! May a step of a chain begin, what is it told of the step before, and how much time does it have?
//!
//! A chain is a group whose members wait for each other: each decides for itself, from what the journal says of those
//! before it, so nobody has to live for the chain to go on.

#![warn(missing_docs)]

use crate::compat::trim;
use crate::domain::{
    ChainPlace, GroupMember, OnFailure, Reason, ReasonCode, RunRequest, RunState, Subtask, TerminalState,
};
use crate::group::MemberProjection;
use crate::parallel::WorkerResult;
use crate::projection::RunProjection;
use std::time::Duration;

/// A chain has at most so many steps.
pub const STEPS_MAX: usize = 64;
/// A step that would have less than this does not begin.
pub const STEP_TIME_MIN: Duration = Duration::from_secs(1);
/// What the step before said is put here; where it stands nowhere, below the task.
pub const PREVIOUS: &str = "{previous}";
/// What the whole chain is asked for.
pub const TASK: &str = "{task}";
const NAMED: &str = "{steps.";

/// What a step hands on and a chain shows is cut to so many units where nobody says (pi-blackbytes 2.20.1).
pub const OUTPUT_UNITS_MAX: i64 = 24_576;

/// Why a chain is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainRefusal {
    /// There is nothing to do.
    #[error("a chain needs at least one step")]
    NoSteps,
    /// There are more than so many.
    #[error("expected at most {STEPS_MAX} steps, got {0}")]
    TooManySteps(usize),
    /// A step without anybody in it.
    #[error("step {0} has nobody in it")]
    EmptyStep(usize),
    /// A task that wants what nobody said yet.
    #[error("step {id:?} is the first one: there is nothing to put in the place of {PREVIOUS}")]
    NothingBefore {
        /// Whose task it is.
        id: String,
    },
    /// A task that names a step that does not come before it.
    #[error("step {id:?} names {named:?}, which is no step before it")]
    NotBefore {
        /// Whose task it is.
        id: String,
        /// What it names.
        named: String,
    },
}

/// Looks at the tasks of a chain, step by step, before anything is run.
pub fn refuse_chain(steps: &[Vec<Subtask>]) -> Option<ChainRefusal> {
    if steps.is_empty() {
        return Some(ChainRefusal::NoSteps);
    }
    if steps.len() > STEPS_MAX {
        return Some(ChainRefusal::TooManySteps(steps.len()));
    }
    for (number, step) in (1..).zip(steps) {
        if step.is_empty() {
            return Some(ChainRefusal::EmptyStep(number));
        }
        let before = steps.iter().take(number - 1).flatten();
        let before = before.map(|subtask| subtask.id.as_str()).collect::<Vec<_>>();
        for subtask in step {
            let id = subtask.id.clone();
            if before.is_empty() && subtask.goal.contains(PREVIOUS) {
                return Some(ChainRefusal::NothingBefore { id });
            }
            if let Some(named) = steps_named(&subtask.goal).find(|named| !before.contains(named)) {
                let named = named.to_string();
                return Some(ChainRefusal::NotBefore { id, named });
            }
        }
    }
    None
}

/// What a chain says: what its last step said, or how far it came and what there is.
pub fn chain_text(members: &[MemberProjection]) -> String {
    let results = members
        .iter()
        .filter_map(|member| Some((member, member.result.as_ref()?)));
    let all_well = members.iter().all(|member| {
        member
            .result
            .as_ref()
            .is_some_and(|result| result.state == TerminalState::Succeeded)
    });
    let last = members.iter().filter_map(step_number).max();
    let shown = results.filter(|(member, _)| !all_well || step_number(member) == last);
    let shown = shown.collect::<Vec<_>>();
    if let (true, [(_, only)]) = (all_well, shown.as_slice()) {
        return only.worker.text.clone();
    }
    let sections = shown.into_iter().map(|(member, result)| {
        let id = &member.member.subtask.id;
        let worker = &result.worker;
        match &result.reason {
            Some(reason) if reason.code == ReasonCode::StepNotBegun => {
                format!("### {id}\n_{}_", reason.message)
            }
            Some(reason) => {
                let ended = format!("### {id}\n_{}: {}_", result.state.word(), reason.message);
                match trim(&worker.text) {
                    "" => ended,
                    text => format!("{ended}\n\n{text}"),
                }
            }
            None => format!("### {id}\n{}", trim(&worker.text)),
        }
    });
    sections.collect::<Vec<_>>().join("\n\n")
}

fn step_number(member: &MemberProjection) -> Option<u32> {
    Some(member.member.chain.as_ref()?.step)
}

/// A member of an earlier step, as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierMember {
    /// Its step, from 0.
    pub step: u32,
    /// Its name in the chain.
    pub id: String,
    /// Where its run stands.
    pub state: RunState,
    /// What came of it; none before its end.
    pub ended: Option<EarlierEnd>,
}

/// What came of an earlier member.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierEnd {
    /// How its run ended.
    pub state: TerminalState,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// What the group shows of it.
    pub worker: WorkerResult,
}

impl EarlierMember {
    /// A member of the group, if it comes before step `step`.
    pub fn of(member: &MemberProjection, step: u32) -> Option<Self> {
        let place = member.member.chain.as_ref().filter(|place| place.step < step)?;
        Some(Self {
            step: place.step,
            id: member.member.subtask.id.clone(),
            state: member.state,
            ended: member.result.as_ref().map(|result| EarlierEnd {
                state: result.state,
                reason: result.reason.clone(),
                worker: result.worker.clone(),
            }),
        })
    }
}

/// What is seen of a chain by one of its members.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFacts {
    /// Everything before its own step, in the order of the chain.
    pub earlier: Vec<EarlierMember>,
    /// So much is left for the whole chain.
    pub left: Duration,
}

/// Whether a member may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepDecision {
    /// Not before the members of the step before are over.
    Wait,
    /// It may, and this is its task.
    Begin {
        /// With what the steps before said.
        prompt: String,
    },
    /// It never will.
    End {
        /// As what its run ends.
        state: TerminalState,
        /// Why.
        reason: Reason,
    },
}

/// Decides whether a member of a chain may begin.
pub fn decide_step(member: &GroupMember, place: &ChainPlace, facts: &StepFacts) -> StepDecision {
    let before = place.step.checked_sub(1);
    let before = facts.earlier.iter().filter(|member| Some(member.step) == before);
    for earlier in before {
        let Some(end) = &earlier.ended else {
            return StepDecision::Wait;
        };
        if let Some((state, reason)) = refuse_after(earlier, end, place.on_failure) {
            return StepDecision::End { state, reason };
        }
    }
    if facts.left < STEP_TIME_MIN {
        return StepDecision::End {
            state: TerminalState::Failed,
            reason: Reason {
                code: ReasonCode::TotalTimeout,
                message: format!(
                    "Of the {} s for the whole chain too little was left to begin. Give it more with a longer timeout.",
                    member.total.as_secs_f64()
                ),
            },
        };
    }
    StepDecision::Begin {
        prompt: step_prompt(member, place, &facts.earlier),
    }
}

/// A step that was not begun hands on why, so that the last one names the one that is to blame.
fn refuse_after(
    earlier: &EarlierMember,
    end: &EarlierEnd,
    on_failure: OnFailure,
) -> Option<(TerminalState, Reason)> {
    let goes_on = match end.state {
        TerminalState::Succeeded => true,
        TerminalState::Failed => on_failure == OnFailure::Collect,
        TerminalState::Cancelled | TerminalState::Parked => false,
    };
    if goes_on {
        return None;
    }
    let inherited = end
        .reason
        .clone()
        .filter(|reason| reason.code == ReasonCode::StepNotBegun);
    let named = || Reason {
        code: ReasonCode::StepNotBegun,
        message: format!(
            "Not begun, because the step {:?} before it {}.",
            earlier.id,
            how_it_ended(end.state)
        ),
    };
    Some((end.state, inherited.unwrap_or_else(named)))
}

fn how_it_ended(state: TerminalState) -> &'static str {
    match state {
        TerminalState::Succeeded => "succeeded",
        TerminalState::Failed => "failed",
        TerminalState::Cancelled => "was cancelled",
        TerminalState::Parked => "is parked",
    }
}

/// Writes the task of a step, with what is wanted of the steps before.
fn step_prompt(member: &GroupMember, place: &ChainPlace, earlier: &[EarlierMember]) -> String {
    let before = earlier.iter().filter(|earlier| earlier.step + 1 == place.step);
    let before = before.collect::<Vec<_>>();
    let task = &member.subtask.goal;
    let mut parts = vec![fill_in(task, &before, earlier)];
    let context = place.context.as_deref().filter(|context| !context.is_empty());
    parts.extend(context.map(|context| format!("## Context\n{context}")));
    if !placeholders(task).any(|(_, name)| is_of_earlier(name)) {
        parts.extend(before.iter().map(|earlier| as_section(earlier)));
    }
    parts.join("\n\n")
}

fn as_section(earlier: &EarlierMember) -> String {
    let (from, body) = (&earlier.id, body_of(earlier));
    match failure_of(earlier) {
        None => format!("## Previous step output (from {from})\n{body}"),
        Some(kind) => format!("## Previous step output (from {from}, FAILED: {kind})\n{body}"),
    }
}

fn failure_of(earlier: &EarlierMember) -> Option<&str> {
    let end = earlier.ended.as_ref()?;
    (end.state != TerminalState::Succeeded).then_some(end.worker.stopped_reason.as_str())
}

/// What it said; of a failure also why, where that is not all there is.
fn body_of(earlier: &EarlierMember) -> String {
    let Some(end) = &earlier.ended else {
        return String::new();
    };
    let details = end.worker.error.as_deref().filter(|error| !error.is_empty());
    let said = Some(end.worker.text.as_str()).filter(|text| !trim(text).is_empty() || details.is_none());
    let details = details.map(|details| format!("Details:\n{details}"));
    let parts = said.map(str::to_string).into_iter().chain(details);
    parts.collect::<Vec<_>>().join("\n")
}

fn fill_in(task: &str, before: &[&EarlierMember], earlier: &[EarlierMember]) -> String {
    replace_names(task, |name| match named_step(name) {
        _ if name == PREVIOUS && before.len() == 1 => before.first().map(|only| with_failure(only)),
        _ if name == PREVIOUS => {
            let sections = before
                .iter()
                .map(|member| format!("### {}\n{}", member.id, with_failure(member)));
            Some(sections.collect::<Vec<_>>().join("\n\n"))
        }
        Some(id) => earlier.iter().find(|member| member.id == id).map(with_failure),
        None => None,
    })
}

/// The task of a step for who reads it before anybody said anything: it names whose words will stand there. `before` are
/// the steps that `{previous}` stands for.
pub fn task_in_words(task: &str, before: &[&str]) -> String {
    let of = |who: &str| format!("[what {who} says]");
    replace_names(task, |name| match named_step(name) {
        _ if name == PREVIOUS => Some(match before {
            [only] => of(only),
            several => format!("[what {} say]", several.join(" and ")),
        }),
        named => named.map(of),
    })
}

/// Puts something in the place of names in braces, once: what is put in is not looked through again.
fn replace_names(task: &str, stands_for: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut copied = 0;
    for (at, name) in placeholders(task) {
        let Some(said) = stands_for(name) else { continue };
        text.push_str(&task[copied..at]);
        text.push_str(&said);
        copied = at + name.len();
    }
    text.push_str(&task[copied..]);
    text
}

fn with_failure(earlier: &EarlierMember) -> String {
    match failure_of(earlier) {
        None => body_of(earlier),
        Some(kind) => format!("(FAILED: {kind})\n{}", body_of(earlier)),
    }
}

/// The names in braces, and where they stand.
fn placeholders(task: &str) -> impl Iterator<Item = (usize, &str)> {
    task.match_indices('{').filter_map(|(at, _)| {
        let rest = &task[at..];
        let end = rest.find('}')? + 1;
        Some((at, &rest[..end]))
    })
}

fn is_of_earlier(name: &str) -> bool {
    name == PREVIOUS || named_step(name).is_some()
}

fn named_step(name: &str) -> Option<&str> {
    name.strip_prefix(NAMED)?.strip_suffix('}')
}

/// The steps that a task names.
pub fn steps_named(task: &str) -> impl Iterator<Item = &str> {
    placeholders(task).filter_map(|(_, name)| named_step(name))
}

/// Puts what the whole chain is asked for into a task.
pub fn with_chain_task(task: &str, of_chain: &str) -> String {
    task.replace(TASK, of_chain)
}

/// The time of a step that says none: an equal share for each step that is left.
pub fn share_of_time(left: Duration, steps_left: u32) -> Duration {
    let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    let (false, Some(share)) = (left.is_zero(), milliseconds.checked_div(u64::from(steps_left))) else {
        return Duration::ZERO;
    };
    Duration::from_millis(share.max(1))
}

/// From its admission to its end: a run by itself as it was asked for, a step of a chain out of what is left of the
/// chain's. `now_ms` is when it was admitted, where the journal does not know yet.
pub fn total_time(run: &RunProjection, request: &RunRequest, now_ms: u64) -> Duration {
    let (Some(member), Some(accepted)) = (&request.group, &run.accepted) else {
        return request.clocks.total;
    };
    let Some(place) = &member.chain else {
        return request.clocks.total;
    };
    let waited = run
        .admitted_at_ms
        .unwrap_or(now_ms)
        .saturating_sub(accepted.at_ms);
    let left = member.total.saturating_sub(Duration::from_millis(waited));
    let own = match place.own_time {
        true => left,
        false => share_of_time(left, place.steps.saturating_sub(place.step)),
    };
    request.clocks.total.min(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GroupId, Subtask};

    fn place(step: u32, steps: u32) -> ChainPlace {
        ChainPlace {
            step,
            steps,
            on_failure: OnFailure::Stop,
            own_time: false,
            context: None,
        }
    }

    fn member(task: &str, place: &ChainPlace) -> GroupMember {
        GroupMember {
            group: GroupId::new(1, 1),
            place: place.step,
            members: place.steps,
            concurrency: 1,
            total: Duration::from_secs(60),
            subtask: Subtask::new("this", task),
            answer_units_max: None,
            chain: Some(place.clone()),
        }
    }

    fn earlier(step: u32, id: &str, ended: Option<(TerminalState, &str)>) -> EarlierMember {
        let reason = |state| Reason {
            code: ReasonCode::Crashed,
            message: format!("{state:?}"),
        };
        EarlierMember {
            step,
            id: id.into(),
            state: ended.map_or(RunState::Running, |(state, _)| state.into()),
            ended: ended.map(|(state, text)| EarlierEnd {
                state,
                reason: (state != TerminalState::Succeeded).then(|| reason(state)),
                worker: WorkerResult {
                    id: id.into(),
                    goal: String::new(),
                    text: text.into(),
                    truncated: false,
                    stopped_reason: "error".into(),
                    error: (state == TerminalState::Failed).then(|| "it broke".into()),
                },
            }),
        }
    }

    fn decide(task: &str, place: &ChainPlace, earlier: Vec<EarlierMember>) -> StepDecision {
        let left = Duration::from_secs(30);
        decide_step(&member(task, place), place, &StepFacts { earlier, left })
    }

    fn check_prompt(task: &str, place: &ChainPlace, earlier: Vec<EarlierMember>, expected: &str) {
        let prompt = expected.to_string();
        assert_eq!(decide(task, place, earlier), StepDecision::Begin { prompt });
    }

    const DONE: TerminalState = TerminalState::Succeeded;

    #[test]
    fn a_step_begins_when_all_of_the_step_before_are_over() {
        let second = place(1, 3);
        let both = |second| vec![earlier(0, "a", Some((DONE, "A"))), earlier(0, "b", second)];
        assert_eq!(decide("Q", &second, both(None)), StepDecision::Wait);
        check_prompt(
            "Q",
            &second,
            both(Some((DONE, "B"))),
            "Q\n\n## Previous step output (from a)\nA\n\n## Previous step output (from b)\nB",
        );
        check_prompt("Q", &place(0, 3), vec![], "Q");
    }

    #[test]
    fn what_was_said_stands_where_the_task_wants_it_and_is_not_looked_through() {
        let third = ChainPlace {
            context: Some("C".into()),
            ..place(2, 3)
        };
        let said = || {
            vec![
                earlier(0, "a", Some((DONE, "A {previous}"))),
                earlier(1, "b", Some((DONE, "B {steps.a}"))),
            ]
        };
        check_prompt(
            "{ {previous}, then {steps.a} {other}",
            &third,
            said(),
            "{ B {steps.a}, then A {previous} {other}\n\n## Context\nC",
        );
        let both = vec![
            earlier(1, "a", Some((DONE, "A"))),
            earlier(1, "b", Some((DONE, "B"))),
        ];
        check_prompt("{previous}", &place(2, 3), both, "### a\nA\n\n### b\nB");
    }

    #[test]
    fn a_failure_ends_the_chain_or_is_told() {
        let failed = || vec![earlier(0, "a", Some((TerminalState::Failed, "half")))];
        let code = |decision| match decision {
            StepDecision::End { state, reason } => (state, reason.code, reason.message),
            other => panic!("it begins: {other:?}"),
        };
        let message = "Not begun, because the step \"a\" before it failed.".to_string();
        let stopped = code(decide("Q", &place(1, 3), failed()));
        let expected = (TerminalState::Failed, ReasonCode::StepNotBegun, message.clone());
        assert_eq!(stopped, expected);
        let mut not_begun = earlier(1, "b", Some((TerminalState::Failed, "")));
        if let Some(end) = &mut not_begun.ended {
            end.reason = Some(Reason {
                code: stopped.1,
                message,
            });
        }
        assert_eq!(code(decide("Q", &place(2, 3), vec![not_begun])), expected);
        let collecting = ChainPlace {
            on_failure: OnFailure::Collect,
            ..place(1, 3)
        };
        let told = "Q\n\n## Previous step output (from a, FAILED: error)\nhalf\nDetails:\nit broke";
        check_prompt("Q", &collecting, failed(), told);
        check_prompt(
            "{previous}!",
            &collecting,
            failed(),
            "(FAILED: error)\nhalf\nDetails:\nit broke!",
        );
        for state in [TerminalState::Cancelled, TerminalState::Parked] {
            let ended = decide("Q", &collecting, vec![earlier(0, "a", Some((state, "")))]);
            assert_eq!(code(ended).0, state);
        }
    }

    #[test]
    fn a_step_without_time_does_not_begin() {
        let first = place(0, 1);
        let left = Duration::from_millis(999);
        let decision = decide_step(
            &member("Q", &first),
            &first,
            &StepFacts {
                earlier: vec![],
                left,
            },
        );
        assert!(
            matches!(decision, StepDecision::End { reason, .. } if reason.code == ReasonCode::TotalTimeout)
        );
    }

    #[test]
    fn steps_without_a_time_of_their_own_share_what_is_left() {
        let share = |left, steps| share_of_time(Duration::from_millis(left), steps).as_millis();
        assert_eq!(
            (share(10, 3), share(2, 3), share(0, 3), share(10, 0)),
            (3, 1, 0, 0)
        );
    }

    #[test]
    fn a_task_names_steps_before_it_only() {
        let chain = |first: &str, second: &str| {
            refuse_chain(&[vec![Subtask::new("a", first)], vec![Subtask::new("b", second)]])
        };
        assert_eq!(chain("look at {task}", "{previous} {steps.a}"), None);
        assert!(matches!(chain("{previous}", "x"), Some(ChainRefusal::NothingBefore { id }) if id == "a"));
        for (first, second) in [("x", "{steps.b}"), ("{steps.b}", "x"), ("x", "{steps.nobody}")] {
            assert!(matches!(
                chain(first, second),
                Some(ChainRefusal::NotBefore { .. })
            ));
        }
        assert_eq!(refuse_chain(&[]), Some(ChainRefusal::NoSteps));
        assert_eq!(refuse_chain(&[vec![]]), Some(ChainRefusal::EmptyStep(1)));
        let many = vec![vec![Subtask::new("a", "x")]; STEPS_MAX + 1];
        assert_eq!(
            refuse_chain(&many),
            Some(ChainRefusal::TooManySteps(STEPS_MAX + 1))
        );
    }

    #[test]
    fn names_of_steps_are_found_in_a_task() {
        let named = steps_named("{steps.a} {steps.b-c} {previous} {steps.").collect::<Vec<_>>();
        assert_eq!(named, ["a", "b-c"]);
        assert_eq!(with_chain_task("about {task}", "x"), "about x");
    }

    #[test]
    fn a_task_in_words_says_whose_words_will_stand_there() {
        let check = |task, before: &[&str], expected: &str| assert_eq!(task_in_words(task, before), expected);
        check("Judge: {previous}", &["find"], "Judge: [what find says]");
        check("{previous}", &["a", "b"], "[what a and b say]");
        check("{steps.a} {other} {", &["b"], "[what a says] {other} {");
    }
}
