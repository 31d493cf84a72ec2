//! May a model be asked now, after what became of those who asked it before?
//!
//! A model that failed several times in a row is passed over for a while; then one attempt tries it, and what becomes of
//! that one decides for all. Nobody is refused: a run without another model waits a little, and then asks all the same.

use crate::attempt_ending::{retry_after, says_no_such_model};
use crate::domain::{AttemptEnding, CoolDownSettings, PassedOver};
use crate::figures::duration_words;
use crate::projection::AttemptProjection;
use std::time::Duration;

/// Whatever a provider says, it is asked again after so long.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// What an attempt says of the model it ran on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It can be had, whatever it answered.
    Answered,
    Failed {
        /// When its provider says that it may be asked again.
        retry_after: Option<Duration>,
        /// In words.
        why: String,
    },
    /// The provider does not know who asks: that holds for all its models.
    LoginRefused { why: String },
}

/// Reads it from an attempt that is over; none where that was nobody's fault but ours, the task's, a tool's or the
/// person's.
pub fn hear(attempt: &AttemptProjection) -> Option<Heard> {
    let end = attempt.ended.as_ref()?;
    let finished = attempt.tools_finished().count();
    let tool_was_silent = end.ending == AttemptEnding::Inactivity && finished < attempt.tools.len();
    match tool_was_silent {
        true => None,
        false => hear_ending(end.ending, &end.detail),
    }
}

fn hear_ending(ending: AttemptEnding, detail: &str) -> Option<Heard> {
    let why = match detail.trim() {
        "" => ending.words().to_string(),
        said => said.to_string(),
    };
    match ending {
        AttemptEnding::Answered
        | AttemptEnding::EmptyAnswer
        | AttemptEnding::MalformedAnswer
        | AttemptEnding::Refused
        | AttemptEnding::ContextOverflow
        | AttemptEnding::TooManyCalls => Some(Heard::Answered),
        // That it is not there does not pass by waiting.
        AttemptEnding::Unavailable if says_no_such_model(detail) => None,
        AttemptEnding::Unavailable | AttemptEnding::RateLimited | AttemptEnding::Inactivity => {
            let retry_after = retry_after(detail);
            Some(Heard::Failed { retry_after, why })
        }
        AttemptEnding::Authentication => Some(Heard::LoginRefused { why }),
        AttemptEnding::StartUpSilence
        | AttemptEnding::Deadline
        | AttemptEnding::SpawnFailed
        | AttemptEnding::ProtocolError
        | AttemptEnding::Crashed
        | AttemptEnding::Lost
        | AttemptEnding::TooManyProcesses
        | AttemptEnding::OverBudget
        | AttemptEnding::Cancelled => None,
    }
}

/// How a model, or a login, stands with those who asked before. Moments are counted from any fixed one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    failures_in_a_row: u32,
    /// How often in a row it was left to cool; none where only its provider asked for a pause.
    cooled_in_a_row: u32,
    until: Option<Duration>,
    /// Who tries it now.
    probe: Option<u64>,
    why: String,
}

/// Whether it may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Free,
    /// By one attempt, which decides for the others.
    Probe,
    Cooling {
        /// None while somebody tries it.
        left: Option<Duration>,
    },
}

impl Standing {
    /// Whether it may be asked now.
    pub fn access(&self, now: Duration) -> Access {
        let Some(until) = self.until else {
            return Access::Free;
        };
        match (now < until, self.probe, self.cooled_in_a_row) {
            (true, _, _) => Access::Cooling {
                left: Some(until - now),
            },
            (false, _, 0) => Access::Free,
            (false, Some(_), _) => Access::Cooling { left: None },
            (false, None, _) => Access::Probe,
        }
    }

    /// How it stands after this.
    pub fn after(self, heard: &Heard, now: Duration, settings: &CoolDownSettings) -> Self {
        match heard {
            Heard::Answered => Self::default(),
            Heard::Failed { .. } if settings.after_failures == 0 => Self::default(),
            Heard::Failed { retry_after, why } => {
                self.failed(settings.after_failures, *retry_after, why, now, settings)
            }
            // One refusal is certain.
            Heard::LoginRefused { why } => self.failed(1, None, why, now, settings),
        }
    }

    fn failed(
        mut self,
        after_failures: u32,
        retry_after: Option<Duration>,
        why: &str,
        now: Duration,
        settings: &CoolDownSettings,
    ) -> Self {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.why = why.to_string();
        let was_tried = self.probe.take().is_some();
        // Who asked before it began to cool says nothing new.
        let cools_already = self.cooled_in_a_row > 0 && self.until.is_some_and(|until| now < until);
        let mut pause = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        if was_tried || (self.failures_in_a_row >= after_failures && !cools_already) {
            let doublings = self.cooled_in_a_row.min(16);
            let own = settings.first.saturating_mul(1 << doublings).min(settings.max);
            self.cooled_in_a_row = self.cooled_in_a_row.saturating_add(1);
            pause = pause.max(own);
        }
        if !pause.is_zero() {
            self.until = self.until.max(Some(now + pause));
        }
        self
    }

    /// Somebody tries it, under a number of the caller's.
    pub fn begin_probe(&mut self, number: u64) {
        self.probe = Some(number);
    }

    /// Whoever tried it is gone without a word, so the next one may.
    pub fn give_up_probe(&mut self, number: u64) {
        self.probe = self.probe.take_if(|mine| *mine != number);
    }

    /// It cools, or somebody tries it.
    pub fn is_worth_keeping(&self, now: Duration) -> bool {
        self.probe.is_some() || self.until.is_some_and(|until| now < until)
    }
}

/// A model of a run's chain, and how things stand with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub model: String,
    pub of_model: Standing,
    /// Of the login that it is called with.
    pub of_login: Standing,
}

/// Which model an attempt runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateDecision {
    Ask {
        /// Among the candidates.
        place: usize,
        is_probe: bool,
        /// Those before it, with why.
        passed_over: Vec<PassedOver>,
    },
    /// All of them cool. This one is the first that may be asked.
    Wait {
        place: usize,
        /// None while somebody tries it.
        left: Option<Duration>,
        why: String,
    },
}

/// Chooses the first model that may be asked. Where none may, the one that may soon is waited for, as long as that lasts
/// no longer than `patience`; else it is asked all the same. None where there are no candidates.
pub fn choose_candidate(
    candidates: &[Candidate],
    now: Duration,
    patience: Duration,
) -> Option<CandidateDecision> {
    let places = candidates.iter().enumerate();
    let open = places
        .clone()
        .find_map(|(place, candidate)| match candidate.access(now) {
            Access::Free => Some((place, false)),
            Access::Probe => Some((place, true)),
            Access::Cooling { .. } => None,
        });
    if let Some((place, is_probe)) = open {
        return Some(ask(candidates, place, is_probe, now));
    }
    // A login that was refused does not become better by waiting.
    let waits = places.filter_map(|(place, candidate)| match candidate.of_login.access(now) {
        Access::Cooling { .. } => None,
        Access::Free | Access::Probe => match candidate.of_model.access(now) {
            Access::Cooling { left } => Some((left, place)),
            Access::Free | Access::Probe => None,
        },
    });
    let Some((left, place)) = waits.min_by_key(|(left, place)| (left.unwrap_or_default(), *place)) else {
        return candidates.first().map(|_| ask(candidates, 0, false, now));
    };
    if patience.is_zero() || left.is_some_and(|left| left > patience) {
        return Some(ask(candidates, place, false, now));
    }
    let why = candidates[place].of_model.why.clone();
    Some(CandidateDecision::Wait { place, left, why })
}

fn ask(candidates: &[Candidate], place: usize, is_probe: bool, now: Duration) -> CandidateDecision {
    CandidateDecision::Ask {
        place,
        is_probe,
        passed_over: candidates[..place]
            .iter()
            .map(|candidate| candidate.passed_over(now))
            .collect(),
    }
}

impl Candidate {
    fn access(&self, now: Duration) -> Access {
        match (self.of_login.access(now), self.of_model.access(now)) {
            (cooling @ Access::Cooling { .. }, _) | (_, cooling @ Access::Cooling { .. }) => cooling,
            (Access::Probe, _) | (_, Access::Probe) => Access::Probe,
            (Access::Free, Access::Free) => Access::Free,
        }
    }

    fn passed_over(&self, now: Duration) -> PassedOver {
        let (standing, left) = match self.of_login.access(now) {
            Access::Cooling { left } => (&self.of_login, left),
            Access::Free | Access::Probe => match self.of_model.access(now) {
                Access::Cooling { left } => (&self.of_model, left),
                Access::Free | Access::Probe => (&self.of_model, None),
            },
        };
        PassedOver {
            model: self.model.clone(),
            why: standing.why.clone(),
            left,
        }
    }
}

/// Why a model was not asked, for the person who has the answer of another one.
pub fn describe_passed_over(passed: &PassedOver) -> String {
    let PassedOver { model, why, left } = passed;
    let why = why.trim().trim_end_matches('.');
    match left {
        Some(left) => format!(
            "{model} was passed over, because it failed a moment ago and cools down for another {}: {why}.",
            duration_words(left.as_millis() as f64)
        ),
        None => format!("{model} was passed over, because another run tries whether it is back: {why}."),
    }
}

/// What the person reads while all models of a run cool down, beside how long that lasts.
pub fn describe_wait(model: &str, left: Option<Duration>, why: &str) -> String {
    let why = why.trim().trim_end_matches('.');
    match left {
        Some(_) => format!("waiting for {model}, which cools down: {why}"),
        None => format!("waiting for {model}, which another run tries: {why}"),
    }
}

#[cfg(test)]
mod tests;
