//! Does a command take what a workspace brings along: programs, models and instructions that somebody else wrote there?

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustFacts {
    /// What was typed: `--trust`, `--no-trust`.
    pub typed: Option<bool>,
    /// What the person said of this directory before.
    pub remembered: Option<bool>,
    /// The workspace has something that trust is about.
    pub brings_something: bool,
    /// Somebody can be asked.
    pub person_is_there: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustDecision {
    /// Everything of it is taken.
    Trust,
    /// Nothing of it is taken, and the person is told so.
    LeaveOut,
    /// There is nothing to take.
    NothingThere,
    /// The person decides, and it is remembered.
    Ask,
}

/// Decides whether a workspace is trusted. What is typed holds once and wins over what is remembered; where nobody can
/// be asked, nothing is taken.
pub fn decide_trust(facts: &TrustFacts) -> TrustDecision {
    match facts.typed.or(facts.remembered) {
        Some(true) => TrustDecision::Trust,
        _ if !facts.brings_something => TrustDecision::NothingThere,
        Some(false) => TrustDecision::LeaveOut,
        None if facts.person_is_there => TrustDecision::Ask,
        None => TrustDecision::LeaveOut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(
        typed: Option<bool>,
        remembered: Option<bool>,
        brings_something: bool,
        person_is_there: bool,
    ) -> TrustDecision {
        decide_trust(&TrustFacts {
            typed,
            remembered,
            brings_something,
            person_is_there,
        })
    }

    #[test]
    fn what_is_typed_wins_over_what_is_remembered() {
        for person in [true, false] {
            assert_eq!(
                decide(Some(true), Some(false), true, person),
                TrustDecision::Trust
            );
            assert_eq!(
                decide(Some(false), Some(true), true, person),
                TrustDecision::LeaveOut
            );
            assert_eq!(decide(None, Some(true), true, person), TrustDecision::Trust);
            assert_eq!(decide(None, Some(false), true, person), TrustDecision::LeaveOut);
        }
    }

    #[test]
    fn a_person_is_asked_once_there_is_something_to_ask_about() {
        assert_eq!(decide(None, None, true, true), TrustDecision::Ask);
        assert_eq!(decide(None, None, true, false), TrustDecision::LeaveOut);
        assert_eq!(decide(None, None, false, true), TrustDecision::NothingThere);
        assert_eq!(
            decide(Some(false), None, false, true),
            TrustDecision::NothingThere
        );
    }
}
