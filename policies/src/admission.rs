//! Is there room for one more run?

use serde::{Deserialize, Serialize};

/// What is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionFacts {
    /// Runs that have room now.
    pub running: usize,
    /// The run in question is one of them.
    pub has_room_already: bool,
}

/// What is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionSettings {
    /// At most so many runs work at a time; at least one always may.
    pub width: usize,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        Self { width: 4 }
    }
}

/// Whether there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// Go on.
    Admit,
    /// Not before another run is over.
    Wait,
}

/// Decides whether one more run may work.
pub fn decide_admission(facts: AdmissionFacts, settings: AdmissionSettings) -> AdmissionDecision {
    if facts.has_room_already || facts.running < settings.width.max(1) {
        AdmissionDecision::Admit
    } else {
        AdmissionDecision::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(running: usize, has_room_already: bool, width: usize, expected: AdmissionDecision) {
        let facts = AdmissionFacts {
            running,
            has_room_already,
        };
        assert_eq!(decide_admission(facts, AdmissionSettings { width }), expected);
    }

    #[test]
    fn the_width_is_not_exceeded() {
        check(3, false, 4, AdmissionDecision::Admit);
        check(4, false, 4, AdmissionDecision::Wait);
    }

    #[test]
    fn a_run_that_asks_again_keeps_its_room() {
        check(4, true, 4, AdmissionDecision::Admit);
    }

    #[test]
    fn a_width_of_nothing_still_lets_one_work() {
        check(0, false, 0, AdmissionDecision::Admit);
    }
}
