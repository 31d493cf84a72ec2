//! May a sub-agent's process serve another run when its run is over, and how long does it wait for one?

use std::time::Duration;

/// No worker is older than this, whatever it did: what a long-lived process gathers that nobody thought of goes with it.
pub const AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// How many workers are kept warm, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSettings {
    /// So many wait for a run at a time; none are kept when it is 0.
    pub idle_max: usize,
    /// So long each waits.
    pub idle: Duration,
    /// So many runs each serves.
    pub runs_max: u32,
    /// A larger one goes.
    pub resident_bytes_max: u64,
}

impl PoolSettings {
    /// Every run has a process of its own.
    pub const NONE: Self = Self {
        idle_max: 0,
        idle: Duration::ZERO,
        runs_max: 1,
        resident_bytes_max: 0,
    };
}

/// A worker whose run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerFacts {
    /// The run got its answer, and nobody had to stop anything.
    pub ended_cleanly: bool,
    /// The keeper saw that nothing but the worker itself is left.
    pub is_alone: bool,
    /// So many runs it has served.
    pub runs: u32,
    /// Its memory; none where nobody could look.
    pub resident_bytes: Option<u64>,
    /// Since it was started.
    pub age: Duration,
    /// What it was started with is as it was: its program, the user's settings, login and models.
    pub is_current: bool,
}

/// Whether a worker is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolDecision {
    Keep,
    LetGo(LetGoReason),
}

/// Why a worker is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetGoReason {
    /// None are.
    Off,
    /// Its run did not end cleanly: who knows what it is doing.
    NotClean,
    /// It left something running.
    NotAlone,
    /// It served as many runs as it may.
    Served,
    /// It has grown, or nobody knows.
    Large,
    Old,
    /// Something it was started with has changed.
    Outdated,
}

/// Decides when a run is over whether its worker waits for another.
pub fn decide_keeping(facts: &WorkerFacts, settings: &PoolSettings) -> PoolDecision {
    let is_small = |bytes| bytes <= settings.resident_bytes_max;
    let reasons = [
        (settings.idle_max == 0, LetGoReason::Off),
        (!facts.ended_cleanly, LetGoReason::NotClean),
        (!facts.is_alone, LetGoReason::NotAlone),
        (facts.runs >= settings.runs_max, LetGoReason::Served),
        (!facts.resident_bytes.is_some_and(is_small), LetGoReason::Large),
        (facts.age >= AGE_MAX, LetGoReason::Old),
        (!facts.is_current, LetGoReason::Outdated),
    ];
    let against = reasons.into_iter().find(|(holds, _)| *holds);
    against.map_or(PoolDecision::Keep, |(_, reason)| PoolDecision::LetGo(reason))
}

/// So many of those that wait have to go, the longest-waiting first, before one more waits.
pub fn count_to_let_go(idle: usize, settings: &PoolSettings) -> usize {
    (idle + 1).saturating_sub(settings.idle_max)
}

/// How long a worker of this age waits for a run.
pub fn waits_for(age: Duration, settings: &PoolSettings) -> Duration {
    settings.idle.min(AGE_MAX.saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: PoolSettings = PoolSettings {
        idle_max: 2,
        idle: Duration::from_secs(120),
        runs_max: 50,
        resident_bytes_max: 300,
    };

    const FINE: WorkerFacts = WorkerFacts {
        ended_cleanly: true,
        is_alone: true,
        runs: 49,
        resident_bytes: Some(300),
        age: Duration::from_secs(60),
        is_current: true,
    };

    #[track_caller]
    fn check(facts: WorkerFacts, settings: PoolSettings, decision: PoolDecision) {
        assert_eq!(decide_keeping(&facts, &settings), decision, "{facts:?}");
    }

    #[test]
    fn one_that_is_fine_is_kept() {
        check(FINE, SETTINGS, PoolDecision::Keep);
    }

    #[test]
    fn each_fact_alone_lets_it_go() {
        use LetGoReason::{Large, NotAlone, NotClean, Off, Old, Outdated, Served};
        let cases = [
            (
                WorkerFacts {
                    ended_cleanly: false,
                    ..FINE
                },
                NotClean,
            ),
            (
                WorkerFacts {
                    is_alone: false,
                    ..FINE
                },
                NotAlone,
            ),
            (WorkerFacts { runs: 50, ..FINE }, Served),
            (
                WorkerFacts {
                    resident_bytes: Some(301),
                    ..FINE
                },
                Large,
            ),
            (
                WorkerFacts {
                    resident_bytes: None,
                    ..FINE
                },
                Large,
            ),
            (WorkerFacts { age: AGE_MAX, ..FINE }, Old),
            (
                WorkerFacts {
                    is_current: false,
                    ..FINE
                },
                Outdated,
            ),
        ];
        for (facts, reason) in cases {
            check(facts, SETTINGS, PoolDecision::LetGo(reason));
        }
        check(FINE, PoolSettings::NONE, PoolDecision::LetGo(Off));
    }

    #[test]
    fn the_longest_waiting_make_room() {
        for (idle, gone) in [(0, 0), (1, 0), (2, 1), (5, 4)] {
            assert_eq!(count_to_let_go(idle, &SETTINGS), gone, "{idle}");
        }
    }

    #[test]
    fn nobody_waits_beyond_its_age() {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        assert_eq!(waits_for(minutes(1), &SETTINGS), minutes(2));
        assert_eq!(waits_for(minutes(29), &SETTINGS), minutes(1));
        assert_eq!(waits_for(minutes(31), &SETTINGS), Duration::ZERO);
    }
}
