//! Is there room for one more run?

use crate::domain::AdmissionTerms;

/// What the program says, whatever runs were accepted with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdmissionSettings {
    /// At most so many runs work at a time.
    pub width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionFacts {
    /// Runs that have room now.
    pub running: usize,
    /// The run in question is one of them: it changes to another provider.
    pub has_room_already: bool,
    /// Runs with room that call the same provider with the same login.
    pub running_at_provider: usize,
    /// The group the run belongs to.
    pub group: Option<GroupRoom>,
    pub memory: Memory,
}

/// Free memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// What may still be taken; none where nobody can tell.
    pub free: Option<u64>,
    /// What those will take who were let in a moment ago.
    pub promised: u64,
    /// What the run in question takes.
    pub needed: u64,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    Admit,
    /// Not before another run is over.
    Wait(WaitsFor),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// As many work as may.
    Room,
    /// As many of its group do.
    Group,
    /// As many call its provider.
    Provider,
    Memory,
}

/// Decides whether one more run may work. Where none works, one always may.
pub fn decide_admission(
    facts: AdmissionFacts,
    terms: AdmissionTerms,
    settings: AdmissionSettings,
) -> AdmissionDecision {
    let provider_is_full =
        terms.provider_width > 0 && facts.running_at_provider >= terms.provider_width as usize;
    if provider_is_full {
        return AdmissionDecision::Wait(WaitsFor::Provider);
    }
    if facts.has_room_already {
        return AdmissionDecision::Admit;
    }
    let group_is_full = facts
        .group
        .is_some_and(|group| group.running >= group.width.max(1) || group.earlier_waits);
    if facts.running >= width(terms, settings) {
        AdmissionDecision::Wait(WaitsFor::Room)
    } else if group_is_full {
        AdmissionDecision::Wait(WaitsFor::Group)
    } else if facts.running > 0 && is_short(facts.memory, terms.memory_kept_free) {
        AdmissionDecision::Wait(WaitsFor::Memory)
    } else {
        AdmissionDecision::Admit
    }
}

/// How many work at a time; at least one always may.
pub fn width(terms: AdmissionTerms, settings: AdmissionSettings) -> usize {
    settings.width.unwrap_or(terms.width as usize).max(1)
}

fn is_short(memory: Memory, kept_free: u64) -> bool {
    let taken = memory.promised.saturating_add(memory.needed);
    let wanted = taken.saturating_add(kept_free);
    kept_free > 0 && memory.free.is_some_and(|free| free < wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const ALONE: AdmissionFacts = AdmissionFacts {
        running: 0,
        has_room_already: false,
        running_at_provider: 0,
        group: None,
        memory: Memory {
            free: None,
            promised: 0,
            needed: 0,
        },
    };

    fn terms(width: u32) -> AdmissionTerms {
        AdmissionTerms {
            width,
            provider_width: 2,
            memory_kept_free: 128 * MIB,
            ..AdmissionTerms::default()
        }
    }

    fn check(facts: AdmissionFacts, width: u32, expected: AdmissionDecision) {
        let decided = decide_admission(facts, terms(width), AdmissionSettings::default());
        assert_eq!(decided, expected, "{facts:?}");
    }

    fn check_in_group(group_running: usize, group_width: usize, expected: AdmissionDecision) {
        let group = GroupRoom {
            running: group_running,
            width: group_width,
            earlier_waits: false,
        };
        let facts = AdmissionFacts {
            running: group_running,
            group: Some(group),
            ..ALONE
        };
        check(facts, 4, expected);
    }

    #[test]
    fn a_group_has_a_width_of_its_own_within_that_of_all() {
        check_in_group(1, 2, AdmissionDecision::Admit);
        check_in_group(2, 2, AdmissionDecision::Wait(WaitsFor::Group));
        check_in_group(4, 16, AdmissionDecision::Wait(WaitsFor::Room));
        check_in_group(0, 0, AdmissionDecision::Admit);
    }

    #[test]
    fn the_width_is_not_exceeded() {
        let running = |running| AdmissionFacts { running, ..ALONE };
        check(running(3), 4, AdmissionDecision::Admit);
        check(running(4), 4, AdmissionDecision::Wait(WaitsFor::Room));
        check(running(0), 0, AdmissionDecision::Admit);
        check(running(1), 0, AdmissionDecision::Wait(WaitsFor::Room));
    }

    #[test]
    fn what_the_program_says_holds_over_what_is_set() {
        let facts = AdmissionFacts { running: 4, ..ALONE };
        let program = AdmissionSettings { width: Some(5) };
        assert_eq!(
            decide_admission(facts, terms(4), program),
            AdmissionDecision::Admit
        );
    }

    #[test]
    fn members_of_a_group_begin_in_their_order() {
        let group = GroupRoom {
            running: 0,
            width: 2,
            earlier_waits: true,
        };
        let facts = AdmissionFacts {
            group: Some(group),
            ..ALONE
        };
        check(facts, 4, AdmissionDecision::Wait(WaitsFor::Group));
    }

    #[test]
    fn a_provider_has_a_width_of_its_own_which_holds_for_those_who_come_from_another() {
        let at = |running_at_provider, has_room_already| AdmissionFacts {
            running: 4,
            has_room_already,
            running_at_provider,
            ..ALONE
        };
        check(at(1, true), 4, AdmissionDecision::Admit);
        check(at(2, true), 4, AdmissionDecision::Wait(WaitsFor::Provider));
        check(at(2, false), 8, AdmissionDecision::Wait(WaitsFor::Provider));
        check(at(1, false), 8, AdmissionDecision::Admit);
        let unlimited = AdmissionTerms {
            provider_width: 0,
            ..terms(8)
        };
        let decided = decide_admission(at(7, false), unlimited, AdmissionSettings::default());
        assert_eq!(decided, AdmissionDecision::Admit);
    }

    #[test]
    fn free_memory_bounds_all_but_the_first() {
        let with = |running, free: u64, promised: u64| AdmissionFacts {
            running,
            memory: Memory {
                free: Some(free * MIB),
                promised: promised * MIB,
                needed: 200 * MIB,
            },
            ..ALONE
        };
        check(with(0, 10, 0), 4, AdmissionDecision::Admit);
        check(with(1, 328, 0), 4, AdmissionDecision::Admit);
        check(with(1, 327, 0), 4, AdmissionDecision::Wait(WaitsFor::Memory));
        check(with(1, 500, 200), 4, AdmissionDecision::Wait(WaitsFor::Memory));
        check(with(1, 528, 200), 4, AdmissionDecision::Admit);
        let not_looked_at = AdmissionTerms {
            memory_kept_free: 0,
            ..terms(4)
        };
        let decided = decide_admission(with(1, 0, 0), not_looked_at, AdmissionSettings::default());
        assert_eq!(decided, AdmissionDecision::Admit);
    }
}
