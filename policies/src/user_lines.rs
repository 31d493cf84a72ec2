//! What is the user told along the way of a skill? One place for every line.

use crate::domain::RunState;

/// A trace command while observability is off.
pub const OBSERVABILITY_OFF: &str = "[System]: Trace observability is disabled.";
/// Nothing to pick from.
pub const NO_SKILLS: &str = "No skills available. Add skills to ~/.pi/agent/skills/ or .pi/skills/";

/// A second skill while one is in flight; in the peer's words (pi-auggie-router 1.4.1), with what to do.
pub fn busy(first: RunState) -> String {
    let phase = match first {
        RunState::Accepted => "evaluating",
        _ => "executing",
    };
    format!("Router busy ({phase}). Wait for the current skill to finish, or cancel it with /skill:cancel.")
}

/// Something has to be known first.
pub fn missing_context(question: &str) -> String {
    format!("[System]: Missing context for skill. {question}")
}

/// The first word after `/skill` is no name.
pub fn invalid_skill_name(typed: &str) -> String {
    format!("Invalid skill name \"{typed}\". Use only letters, digits, hyphens, underscores.")
}

/// A skill or an agent begins; what answers its questions is not said.
pub fn executing(what: &str) -> String {
    format!("[System]: ⚙️ Executing {what}")
}

/// The sub-agent ended before it was done.
pub fn stopped_early(reason: &str) -> String {
    format!("[System]: Sub-agent stopped early ({reason}).")
}

/// No trace of that name.
pub fn trace_not_found(file: &str) -> String {
    format!("[System]: Trace file \"{file}\" not found.")
}

/// A provider let another model answer than the one that was asked for.
pub fn other_model_served(requested: &str, served: &str) -> String {
    format!("{requested} was asked for, and {served} answered.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_skill_is_told_what_the_first_one_is_at() {
        assert!(busy(RunState::Accepted).starts_with("Router busy (evaluating). Wait for"));
        assert!(busy(RunState::Running).starts_with("Router busy (executing). Wait for"));
    }
}
