//! May one more result be kept aside in a run, and under which handle?

use crate::domain::OverflowSettings;

/// The tools with which a sub-agent lists, reads and searches what was kept aside.
pub const MEMORY_TOOLS: [&str; 3] = ["overflow_list", "overflow_read", "overflow_search"];

/// The tools that make sense with this memory: without one there is nothing to read from.
pub fn offered_tools(tools: Vec<String>, memory: &OverflowSettings) -> Vec<String> {
    let makes_sense = |tool: &String| memory.enabled || !MEMORY_TOOLS.contains(&tool.as_str());
    tools.into_iter().filter(makes_sense).collect()
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverflowFacts {
    /// The run is over and its memory gone.
    pub disposed: bool,
    pub entries: usize,
    /// How many bytes.
    pub bytes: usize,
}

/// Whether a result is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepDecision {
    /// Yes, under this handle.
    Keep {
        /// `overflow_<n>`, counting from 1 those that were kept.
        id: String,
    },
    Refuse(KeepRefusal),
}

/// Why a result is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRefusal {
    Disabled,
    /// The run is over.
    Disposed,
    /// As many entries as allowed.
    TooMany,
    /// As many bytes as allowed.
    TooMuch,
}

/// Decides whether a result of so many bytes is kept.
pub fn decide_keep(bytes: usize, facts: &OverflowFacts, settings: &OverflowSettings) -> KeepDecision {
    let refusal = if !settings.enabled {
        KeepRefusal::Disabled
    } else if facts.disposed {
        KeepRefusal::Disposed
    } else if facts.entries >= settings.entries_max {
        KeepRefusal::TooMany
    } else if facts.bytes.saturating_add(bytes) > settings.bytes_max {
        KeepRefusal::TooMuch
    } else {
        return KeepDecision::Keep {
            id: format!("overflow_{}", facts.entries + 1),
        };
    };
    KeepDecision::Refuse(refusal)
}

/// Whether a text has the form of a handle.
pub fn is_overflow_handle(text: &str) -> bool {
    text.strip_prefix("overflow_")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: OverflowSettings = OverflowSettings {
        enabled: true,
        entries_max: 2,
        bytes_max: 100,
        preview_head_units: 4,
        preview_tail_units: 4,
    };

    fn check(bytes: usize, facts: OverflowFacts, settings: OverflowSettings, expected: KeepDecision) {
        assert_eq!(decide_keep(bytes, &facts, &settings), expected);
    }

    #[test]
    fn handles_count_from_one() {
        let kept = OverflowFacts {
            entries: 1,
            bytes: 99,
            disposed: false,
        };
        check(
            100,
            OverflowFacts::default(),
            SETTINGS,
            KeepDecision::Keep {
                id: "overflow_1".into(),
            },
        );
        check(
            1,
            kept,
            SETTINGS,
            KeepDecision::Keep {
                id: "overflow_2".into(),
            },
        );
    }

    #[test]
    fn every_limit_refuses() {
        let full = OverflowFacts {
            entries: 2,
            ..OverflowFacts::default()
        };
        let heavy = OverflowFacts {
            bytes: 99,
            ..OverflowFacts::default()
        };
        let over = OverflowFacts {
            disposed: true,
            ..OverflowFacts::default()
        };
        let off = OverflowSettings {
            enabled: false,
            ..SETTINGS
        };
        check(1, full, SETTINGS, KeepDecision::Refuse(KeepRefusal::TooMany));
        check(2, heavy, SETTINGS, KeepDecision::Refuse(KeepRefusal::TooMuch));
        check(1, over, SETTINGS, KeepDecision::Refuse(KeepRefusal::Disposed));
        check(
            1,
            OverflowFacts::default(),
            off,
            KeepDecision::Refuse(KeepRefusal::Disabled),
        );
    }
}
