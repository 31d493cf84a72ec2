//! What does a person want to read about a step while a run works?

use crate::domain::Step;
use crate::judge_models::describe_fault;

/// One short line in the present tense; none for steps a person need not see.
pub fn describe_step(step: &Step) -> Option<String> {
    match step {
        Step::Accepted { .. } => Some("accepted".into()),
        Step::Judged { pass, verdict, .. } if verdict.passed() => Some(format!("brief passed (pass {pass})")),
        Step::Judged { pass, .. } => Some(format!("brief not passed yet (pass {pass})")),
        Step::PassFailed {
            model, fault, detail, ..
        } => Some(format!(
            "no answer from {model}: {}",
            describe_fault(*fault, detail)
        )),
        Step::QuestionAsked { question } => Some(format!("asking: {question}")),
        Step::Briefed { .. } => Some("briefed".into()),
        Step::Admitted => Some("admitted".into()),
        Step::WorktreePrepared { .. } => Some("has a worktree of its own".into()),
        Step::PatchTaken { patch, .. } => Some(format!("patch taken ({} files)", patch.files_in_all)),
        Step::PatchNotTaken { .. } => Some("patch not taken; the worktree stays".into()),
        Step::AttemptStarted {
            attempt,
            model,
            resumes_session: false,
            ..
        } => Some(format!("attempt {attempt} on {model}")),
        Step::AttemptStarted {
            attempt,
            model,
            resumes_session: true,
            ..
        } => Some(format!("attempt {attempt} on {model}, going on where it stopped")),
        Step::ToolStarted { tool, summary, .. } if summary.is_empty() => Some(tool.clone()),
        Step::ToolStarted { tool, summary, .. } => Some(format!("{tool} {summary}")),
        Step::ToolIndeterminate { tool, .. } => Some(format!("nobody knows whether {tool} ran")),
        Step::MessageAccepted { message } => Some(format!("message {} waits for it", message.id)),
        Step::MessageDelivered { message, .. } => Some(format!("was told message {message}")),
        Step::Answered { .. } => Some("answered".into()),
        Step::GateStarted { command, .. } => Some(format!("gate {command}")),
        Step::GateEnded { ending, .. } if ending.is_open() => Some("the gate is open".into()),
        Step::GateEnded { .. } => Some("the gate stays closed".into()),
        Step::GateIndeterminate { .. } => Some("nobody knows what the gate did".into()),
        Step::ParkRequested { .. } => Some("parking".into()),
        Step::CancelRequested { .. } => Some("cancelling".into()),
        Step::Ended { state, .. } => Some(state.word().into()),
        Step::QuestionAnswered { .. }
        | Step::Routed { .. }
        | Step::WorktreeCleared
        | Step::WorktreeStays { .. }
        | Step::ModelsConsidered { .. }
        | Step::AttemptActive { .. }
        | Step::ModelCalled { .. }
        | Step::ToolEnded { .. }
        | Step::MessageAnswered { .. }
        | Step::AttemptEnded { .. }
        | Step::Delivered
        | Step::Observed { .. }
        | Step::DeliveryAcknowledged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Replay};

    #[test]
    fn a_tool_is_shown_with_what_it_is_called_with() {
        let step = Step::ToolStarted {
            attempt: AttemptNumber(1),
            call: "c".into(),
            tool: "read".into(),
            summary: "src/main.rs".into(),
            arguments: None,
            replay: Replay::Safe,
            target: None,
        };
        assert_eq!(describe_step(&step).as_deref(), Some("read src/main.rs"));
    }

    #[test]
    fn the_end_of_an_attempt_is_not_shown() {
        assert_eq!(describe_step(&Step::Delivered), None);
    }
}
