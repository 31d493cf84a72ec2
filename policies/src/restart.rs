//! Should a child that ended run again, and when?

use std::time::Duration;

/// What was seen when a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartFacts {
    pub exit: ExitKind,
    /// What its place in the tree asks for.
    pub kind: RestartKind,
    /// Restarts under the same supervisor that count at this moment, this one not included.
    pub restarts_in_period: u32,
    /// Restarts of this child since it last committed a step, this one not included.
    pub restarts_without_progress: u32,
    /// How often it broke in a row without settling in between, this time not included.
    pub failures_in_a_row: u32,
    /// Any number, drawn by the caller; it spreads the restarts of many children.
    pub chance: u32,
}

/// How a child ended, as far as a restart is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitKind {
    /// It said that it was done.
    Finished,
    /// It was told to go.
    Ordered,
    /// It failed, panicked, was killed, or gave up on its own children.
    Broken,
}

/// Which exits of a child are followed by a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestartKind {
    Permanent,
    /// Every exit but a normal one.
    Transient,
    /// None.
    Temporary,
}

/// How often and how soon children run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartSettings {
    /// More restarts than this within the period are too many.
    pub intensity: u32,
    /// Restarts of one child in a row without a committed step that are allowed; none sets no such limit.
    pub without_progress_max: Option<u32>,
    /// How the pauses before restarts grow.
    pub backoff: BackoffSettings,
}

/// How the pauses before restarts grow: they double from `first` up to `delay_max`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackoffSettings {
    /// The pause before the first restart; zero turns all pauses off.
    pub first: Duration,
    pub delay_max: Duration,
    /// Shortens each pause by up to a half, by chance.
    pub jitter: bool,
    /// A child that was up this long has settled: the pauses begin anew.
    pub settled_after: Duration,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(50),
            delay_max: Duration::from_secs(30),
            jitter: true,
            settled_after: Duration::from_secs(60),
        }
    }
}

/// What to do about a child that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartDecision {
    /// It runs again after the pause.
    Restart {
        /// How long to wait first.
        delay: Duration,
    },
    /// It stays down, and that is fine.
    Rest(RestReason),
    /// It stays down, and somebody above must know.
    GiveUp(GiveUpReason),
}

/// Why a child stays down in peace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestReason {
    /// It had nothing more to do.
    Finished,
    /// It was told to go.
    Ordered,
    /// Nobody wants it again, however it ended.
    Temporary,
}

/// Why a child is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// More restarts within the period than the intensity allows.
    TooOften,
    /// Too many restarts in a row, and no step was committed between them.
    NoProgress,
}

impl GiveUpReason {
    /// One clause for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooOften => "it was restarted too often",
            Self::NoProgress => "it was restarted again and again without progress",
        }
    }
}

/// Decides whether a child that ended should run again, and after which pause.
pub fn decide_restart(facts: &RestartFacts, settings: &RestartSettings) -> RestartDecision {
    match (facts.exit, facts.kind) {
        (ExitKind::Ordered, _) => RestartDecision::Rest(RestReason::Ordered),
        (_, RestartKind::Temporary) => RestartDecision::Rest(RestReason::Temporary),
        (ExitKind::Finished, RestartKind::Transient) => RestartDecision::Rest(RestReason::Finished),
        (ExitKind::Finished, RestartKind::Permanent) => restart_or_give_up(facts, settings),
        (ExitKind::Broken, RestartKind::Permanent | RestartKind::Transient) => {
            restart_or_give_up(facts, settings)
        }
    }
}

fn restart_or_give_up(facts: &RestartFacts, settings: &RestartSettings) -> RestartDecision {
    if facts.restarts_in_period >= settings.intensity {
        return RestartDecision::GiveUp(GiveUpReason::TooOften);
    }
    if settings
        .without_progress_max
        .is_some_and(|most| facts.restarts_without_progress >= most)
    {
        return RestartDecision::GiveUp(GiveUpReason::NoProgress);
    }
    RestartDecision::Restart {
        delay: choose_delay(facts, &settings.backoff),
    }
}

fn choose_delay(facts: &RestartFacts, backoff: &BackoffSettings) -> Duration {
    let doublings = facts.failures_in_a_row.min(31);
    let delay = backoff
        .first
        .saturating_mul(1 << doublings)
        .min(backoff.delay_max);
    if !backoff.jitter {
        return delay;
    }
    let share = f64::from(facts.chance) / f64::from(u32::MAX);
    delay.mul_f64(1.0 - share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: BackoffSettings = BackoffSettings {
        first: Duration::from_millis(100),
        delay_max: Duration::from_secs(2),
        jitter: false,
        settled_after: Duration::from_secs(60),
    };

    const BROKEN: RestartFacts = RestartFacts {
        exit: ExitKind::Broken,
        kind: RestartKind::Permanent,
        restarts_in_period: 0,
        restarts_without_progress: 0,
        failures_in_a_row: 0,
        chance: 0,
    };

    fn settings() -> RestartSettings {
        RestartSettings {
            intensity: 3,
            without_progress_max: Some(2),
            backoff: PLAIN,
        }
    }

    #[track_caller]
    fn check(facts: RestartFacts, expected: RestartDecision) {
        assert_eq!(decide_restart(&facts, &settings()), expected);
    }

    fn restart_after(ms: u64) -> RestartDecision {
        RestartDecision::Restart {
            delay: Duration::from_millis(ms),
        }
    }

    #[test]
    fn every_exit_of_every_kind_has_its_answer() {
        use {ExitKind::*, RestReason as Why, RestartDecision::Rest, RestartKind::*};
        let table = [
            (Finished, Permanent, restart_after(100)),
            (Finished, Transient, Rest(Why::Finished)),
            (Finished, Temporary, Rest(Why::Temporary)),
            (Ordered, Permanent, Rest(Why::Ordered)),
            (Ordered, Transient, Rest(Why::Ordered)),
            (Ordered, Temporary, Rest(Why::Ordered)),
            (Broken, Permanent, restart_after(100)),
            (Broken, Transient, restart_after(100)),
            (Broken, Temporary, Rest(Why::Temporary)),
        ];
        for (exit, kind, expected) in table {
            check(RestartFacts { exit, kind, ..BROKEN }, expected);
        }
    }

    #[test]
    fn crash_at_the_intensity_gives_up() {
        check(
            RestartFacts {
                restarts_in_period: 2,
                ..BROKEN
            },
            restart_after(100),
        );
        let too_often = RestartDecision::GiveUp(GiveUpReason::TooOften);
        check(
            RestartFacts {
                restarts_in_period: 3,
                ..BROKEN
            },
            too_often,
        );
    }

    #[test]
    fn crashes_in_a_row_without_progress_give_up_however_slow_they_are() {
        check(
            RestartFacts {
                restarts_without_progress: 1,
                ..BROKEN
            },
            restart_after(100),
        );
        let no_progress = RestartDecision::GiveUp(GiveUpReason::NoProgress);
        check(
            RestartFacts {
                restarts_without_progress: 2,
                ..BROKEN
            },
            no_progress,
        );
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        for (failures, ms) in [
            (0, 100),
            (1, 200),
            (2, 400),
            (4, 1600),
            (5, 2000),
            (u32::MAX, 2000),
        ] {
            check(
                RestartFacts {
                    failures_in_a_row: failures,
                    ..BROKEN
                },
                restart_after(ms),
            );
        }
    }

    #[test]
    fn jitter_takes_at_most_half_of_the_pause() {
        let mut settings = settings();
        settings.backoff.jitter = true;
        for (chance, ms) in [(0, 100), (u32::MAX, 50)] {
            let facts = RestartFacts { chance, ..BROKEN };
            assert_eq!(decide_restart(&facts, &settings), restart_after(ms));
        }
    }

    #[test]
    fn no_first_pause_means_no_pauses() {
        let mut settings = settings();
        settings.backoff.first = Duration::ZERO;
        let facts = RestartFacts {
            failures_in_a_row: 9,
            ..BROKEN
        };
        assert_eq!(decide_restart(&facts, &settings), restart_after(0));
    }
}
