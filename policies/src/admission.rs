//! Is there room for one more run?

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionFacts {
    /// Runs that have room now.
    pub running: usize,
    /// The run in question is one of them.
    pub has_room_already: bool,
    /// The group the run belongs to.
    pub group: Option<GroupRoom>,
}

/// What is seen of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRoom {
    /// Runs of it that have room now.
    pub running: usize,
    /// At most so many of it work at a time; at least one always may.
    pub width: usize,
    /// One that comes before this run has not begun.
    pub earlier_waits: bool,
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    Admit,
    /// Not before another run is over.
    Wait,
}

/// Decides whether one more run may work.
pub fn decide_admission(facts: AdmissionFacts, settings: AdmissionSettings) -> AdmissionDecision {
    let group_has_room = facts
        .group
        .is_none_or(|group| group.running < group.width.max(1) && !group.earlier_waits);
    let there_is_room = facts.running < settings.width.max(1) && group_has_room;
    match facts.has_room_already || there_is_room {
        true => AdmissionDecision::Admit,
        false => AdmissionDecision::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(running: usize, has_room_already: bool, width: usize, expected: AdmissionDecision) {
        let facts = AdmissionFacts {
            running,
            has_room_already,
            group: None,
        };
        assert_eq!(decide_admission(facts, AdmissionSettings { width }), expected);
    }

    fn check_in_group(group_running: usize, group_width: usize, expected: AdmissionDecision) {
        let group = GroupRoom {
            running: group_running,
            width: group_width,
            earlier_waits: false,
        };
        let facts = AdmissionFacts {
            running: group_running,
            has_room_already: false,
            group: Some(group),
        };
        assert_eq!(decide_admission(facts, AdmissionSettings { width: 4 }), expected);
    }

    #[test]
    fn a_group_has_a_width_of_its_own_within_that_of_all() {
        check_in_group(1, 2, AdmissionDecision::Admit);
        check_in_group(2, 2, AdmissionDecision::Wait);
        check_in_group(4, 16, AdmissionDecision::Wait);
        check_in_group(0, 0, AdmissionDecision::Admit);
    }

    #[test]
    fn the_width_is_not_exceeded() {
        check(3, false, 4, AdmissionDecision::Admit);
        check(4, false, 4, AdmissionDecision::Wait);
    }

    #[test]
    fn members_of_a_group_begin_in_their_order() {
        let group = GroupRoom {
            running: 0,
            width: 2,
            earlier_waits: true,
        };
        let facts = AdmissionFacts {
            running: 0,
            has_room_already: false,
            group: Some(group),
        };
        assert_eq!(
            decide_admission(facts, AdmissionSettings::default()),
            AdmissionDecision::Wait
        );
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
