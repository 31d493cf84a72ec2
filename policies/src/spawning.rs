//! May a sub-agent start others?

use crate::domain::{AdmissionTerms, Reason, ReasonCode};

/// What is seen of runs that are asked for from within another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpawnFacts {
    /// How deep they would stand: 1 for what the sub-agent of a person's run asks for.
    pub depth: u32,
    /// How many sub-agents have started below the same root.
    pub started: usize,
    /// How many are asked for now.
    pub asked: usize,
}

/// What holds for a run and what held for the one that it is asked for from: the narrower of both, so that nobody gives
/// itself more.
pub fn narrower(own: AdmissionTerms, of_parent: AdmissionTerms) -> AdmissionTerms {
    AdmissionTerms {
        tree_depth: own.tree_depth.min(of_parent.tree_depth),
        tree_runs: own.tree_runs.min(of_parent.tree_runs),
        ..own
    }
}

/// Says why they may not begin.
pub fn refuse_spawn(facts: SpawnFacts, terms: AdmissionTerms) -> Option<Reason> {
    let refused = |message: String| {
        Some(Reason {
            code: ReasonCode::SpawnFailed,
            message,
        })
    };
    if facts.depth > terms.tree_depth {
        let may = match terms.tree_depth {
            0 => "a sub-agent may start no others".to_string(),
            depth => format!("they may be started {depth} deep"),
        };
        return refused(format!(
            "A sub-agent asks for another one, {} deep, and {may}. Do the work yourself, or set `admission.maxDepth` in \
             your own settings.",
            facts.depth
        ));
    }
    if facts.started + facts.asked > terms.tree_runs as usize {
        return refused(format!(
            "Sub-agents have started {} others below one run, and {} may be. Do the work yourself, or set \
             `admission.maxTreeRuns` in your own settings.",
            facts.started, terms.tree_runs
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(tree_depth: u32, tree_runs: u32) -> AdmissionTerms {
        AdmissionTerms {
            tree_depth,
            tree_runs,
            ..AdmissionTerms::default()
        }
    }

    #[track_caller]
    fn check(depth: u32, started: usize, asked: usize, terms: AdmissionTerms, refused: Option<&str>) {
        let facts = SpawnFacts {
            depth,
            started,
            asked,
        };
        match (refuse_spawn(facts, terms), refused) {
            (None, None) => {}
            (Some(reason), Some(words)) => assert!(reason.message.contains(words), "{}", reason.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        check(1, 0, 1, AdmissionTerms::default(), Some("may start no others"));
        check(1, 0, 1, terms(1, 3), None);
        check(2, 0, 1, terms(1, 3), Some("1 deep"));
        check(1, 2, 1, terms(1, 3), None);
        check(1, 2, 2, terms(1, 3), Some("have started 2 others"));
    }

    #[test]
    fn nobody_gives_itself_more_than_its_parent_had() {
        assert_eq!(narrower(terms(5, 2), terms(1, 9)), terms(1, 2));
    }
}
