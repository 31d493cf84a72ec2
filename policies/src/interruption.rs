//! What is a sub-agent told when its nested session goes on after an interruption?

use crate::projection::{RunProjection, ToolFate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// We lost it and go on by ourselves.
    Lost,
    /// The run was parked, and a person wants it to go on.
    Parked,
}

/// Tells it to go on, and which tool calls nobody knows the fate of.
pub fn describe_interruption(run: &RunProjection, interruption: Interruption) -> String {
    let who = match interruption {
        Interruption::Lost => "You were interrupted.",
        Interruption::Parked => "You were stopped, and a person wants you to go on.",
    };
    let cut = calls_of_unknown_fate(run);
    if cut.is_empty() {
        return format!("{who} Go on where you stopped; do not repeat finished tool calls.");
    }
    format!(
        "{who} Nobody knows whether these tool calls happened: {}. Look before you repeat them, then go on where you \
         stopped; do not repeat finished tool calls.",
        cut.join(", ")
    )
}

/// Whether they are called cut off already or only never came back makes no difference to whoever has to look.
fn calls_of_unknown_fate(run: &RunProjection) -> Vec<String> {
    let calls = run.attempts.iter().flat_map(|attempt| attempt.tools.iter());
    let unknown = calls.filter(|call| !matches!(call.fate, ToolFate::Finished { .. }));
    unknown
        .map(|call| format!("`{}` ({})", call.tool, call.summary))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Replay, Step};
    use crate::projection::RecordedStep;

    fn run_of(steps: Vec<Step>) -> RunProjection {
        let recorded = steps.into_iter().zip(1..);
        let recorded = recorded.map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        });
        RunProjection::of(&recorded.collect::<Vec<_>>())
    }

    fn started() -> Vec<Step> {
        let attempt = AttemptNumber(1);
        vec![
            Step::AttemptStarted {
                attempt,
                model: "a/one".into(),
                runner: "pi".into(),
                session_file: None,
                resumes_session: false,
            },
            Step::ToolStarted {
                attempt,
                call: "c1".into(),
                tool: "edit".into(),
                summary: "src/lock.rs".into(),
                arguments: None,
                replay: Replay::Unsafe,
                target: None,
            },
        ]
    }

    fn names_the_edit(steps: Vec<Step>) -> bool {
        describe_interruption(&run_of(steps), Interruption::Lost).contains("`edit` (src/lock.rs)")
    }

    #[test]
    fn a_call_that_was_cut_off_is_named_before_and_after_the_journal_says_so() {
        let indeterminate = Step::ToolIndeterminate {
            attempt: AttemptNumber(1),
            call: "c1".into(),
            tool: "edit".into(),
            after: None,
        };
        assert!(names_the_edit(started()));
        assert!(names_the_edit([started(), vec![indeterminate]].concat()));
    }

    #[test]
    fn a_finished_call_is_not_named() {
        let ended = Step::ToolEnded {
            attempt: AttemptNumber(1),
            call: "c1".into(),
            is_error: false,
            bytes: 0,
            preview: String::new(),
            overflow: None,
            evidence: None,
        };
        assert!(!names_the_edit([started(), vec![ended]].concat()));
    }

    #[test]
    fn a_person_who_wants_it_to_go_on_is_mentioned() {
        assert!(describe_interruption(&run_of(started()), Interruption::Parked).contains("a person"));
    }
}
