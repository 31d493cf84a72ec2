//! What becomes of a run whose runtime died?

use crate::domain::{Origin, Reason, ReasonCode, SessionId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptionFacts {
    /// Who asked for the run.
    pub origin: Origin,
    /// It has ended, and only its result waits for somebody.
    pub ended: bool,
    /// Why it may have done more than its steps say.
    pub suspect: Option<String>,
    /// The kind of host this runtime has.
    pub our_host: String,
    /// The session this runtime's host has open.
    pub our_session: Option<SessionId>,
    /// A person wants to go on with it here, in a run that names it.
    pub wanted_here: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptionDecision {
    /// It goes on here.
    GoOn,
    /// It is parked here, for its host went with its runtime.
    Park(Reason),
    /// It waits for a runtime that has its session.
    Leave,
}

/// Decides what becomes of a run whose runtime died.
///
/// A run that was asked for in a session goes on only with that session (promise P7). One that was asked for outside of
/// any session lost its host together with its runtime: nobody waits for it, so it is not paid for any further.
pub fn decide_adoption(facts: &AdoptionFacts) -> AdoptionDecision {
    match &facts.origin.session {
        Some(session)
            if facts.origin.host == facts.our_host && facts.our_session.as_ref() == Some(session) =>
        {
            go_on(facts)
        }
        Some(_) if facts.wanted_here && !facts.ended => park(
            "The program that asked for this run and its runtime were gone, and a person goes on with it elsewhere.",
        ),
        Some(_) => AdoptionDecision::Leave,
        None if facts.ended => AdoptionDecision::Leave,
        None => park("The program that asked for this run was killed, and the runtime with it."),
    }
}

fn park(message: &str) -> AdoptionDecision {
    AdoptionDecision::Park(Reason {
        code: ReasonCode::RuntimeGone,
        message: message.to_string(),
    })
}

/// What is seen of a result that its session does not have for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftResultFacts {
    /// It was asked for where the open session works.
    pub same_workspace: bool,
    /// The file of its session is there; none when it is not known which file that is.
    pub session_kept: Option<bool>,
    /// It was shown in this process, in a session that was left since.
    pub shown_here: bool,
    /// Nobody wanted it any more.
    pub cancelled: bool,
}

/// Decides whether a session that begins takes the result of one that cannot come back.
///
/// A host may write a session only after its own model answered. A session with nothing but skills is then gone when it is
/// left, and its results belong to whoever works there next.
pub fn takes_left_result(facts: LeftResultFacts) -> bool {
    facts.same_workspace && facts.session_kept == Some(false) && !facts.shown_here && !facts.cancelled
}

/// What a run did and lost from its journal must not be done a second time (promise P3).
fn go_on(facts: &AdoptionFacts) -> AdoptionDecision {
    match &facts.suspect {
        Some(why) if !facts.ended => AdoptionDecision::Park(Reason {
            code: ReasonCode::JournalDamaged,
            message: format!(
                "The journal was damaged while this run was under way: {why}. Nobody knows whether it did more than its \
                 steps say. Look at the workspace before you resume it."
            ),
        }),
        Some(_) | None => AdoptionDecision::GoOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(host: &str, session: Option<&str>, ended: bool) -> AdoptionFacts {
        let session = session.map(|name| SessionId(name.to_string()));
        AdoptionFacts {
            origin: Origin {
                host: host.into(),
                session,
                resumes: None,
            },
            ended,
            suspect: None,
            our_host: "pi".into(),
            our_session: Some(SessionId("s1".into())),
            wanted_here: false,
        }
    }

    #[test]
    fn a_run_goes_on_with_its_session_only() {
        assert_eq!(
            decide_adoption(&facts("pi", Some("s1"), false)),
            AdoptionDecision::GoOn
        );
        assert_eq!(
            decide_adoption(&facts("pi", Some("s2"), false)),
            AdoptionDecision::Leave
        );
        assert_eq!(
            decide_adoption(&facts("embedder", Some("s1"), false)),
            AdoptionDecision::Leave
        );
    }

    #[test]
    fn a_run_that_may_have_lost_steps_waits_for_a_person() {
        let suspected = |ended| AdoptionFacts {
            suspect: Some("the last 3 writes are lost".to_string()),
            ..facts("pi", Some("s1"), ended)
        };
        let AdoptionDecision::Park(reason) = decide_adoption(&suspected(false)) else {
            panic!("it is not parked");
        };
        assert_eq!(reason.code, ReasonCode::JournalDamaged);
        assert!(reason.message.contains("the last 3 writes are lost"));
        assert_eq!(decide_adoption(&suspected(true)), AdoptionDecision::GoOn);
    }

    #[test]
    fn a_command_that_was_killed_took_its_host_along() {
        assert!(matches!(
            decide_adoption(&facts("cli", None, false)),
            AdoptionDecision::Park(_)
        ));
    }

    #[test]
    fn a_result_goes_to_the_next_session_only_when_its_own_cannot_come_back() {
        let lost = LeftResultFacts {
            same_workspace: true,
            session_kept: Some(false),
            shown_here: false,
            cancelled: false,
        };
        assert!(takes_left_result(lost));
        for facts in [
            LeftResultFacts {
                same_workspace: false,
                ..lost
            },
            LeftResultFacts {
                session_kept: Some(true),
                ..lost
            },
            LeftResultFacts {
                session_kept: None,
                ..lost
            },
            LeftResultFacts {
                shown_here: true,
                ..lost
            },
            LeftResultFacts {
                cancelled: true,
                ..lost
            },
        ] {
            assert!(!takes_left_result(facts), "{facts:?}");
        }
    }

    #[test]
    fn a_run_of_another_session_is_parked_here_for_a_person_who_wants_it() {
        let wanted = |session, ended| AdoptionFacts {
            wanted_here: true,
            ..facts("pi", Some(session), ended)
        };
        assert!(matches!(
            decide_adoption(&wanted("s2", false)),
            AdoptionDecision::Park(_)
        ));
        assert_eq!(decide_adoption(&wanted("s2", true)), AdoptionDecision::Leave);
        assert_eq!(decide_adoption(&wanted("s1", false)), AdoptionDecision::GoOn);
    }

    #[test]
    fn a_result_nobody_waits_for_stays_readable() {
        assert_eq!(
            decide_adoption(&facts("cli", None, true)),
            AdoptionDecision::Leave
        );
    }
}
