//! What is the user told along the way of a skill? One place for every line.

use crate::compat::round_half_up;
use crate::router_phase::RouterPhase;

/// Why typing is locked while a skill runs.
pub const INPUT_LOCK_REASON: &str = "impresario: skill execution in progress";
/// Typing is locked.
pub const INPUT_LOCKED: &str = "🔒 Input locked";
/// Typing is open again.
pub const INPUT_UNLOCKED: &str = "🔓 Input unlocked";
/// A trace command while observability is off.
pub const OBSERVABILITY_OFF: &str = "[System]: Trace observability is disabled.";
/// Nothing to pick from.
pub const NO_SKILLS: &str = "No skills available. Add skills to ~/.pi/agent/skills/ or .pi/skills/";

/// A second skill while one is in flight.
pub fn busy(phase: RouterPhase) -> String {
    format!(
        "[System]: Router busy ({}). Wait for the current skill to finish.",
        phase.word()
    )
}

/// Something has to be known first.
pub fn missing_context(question: &str) -> String {
    format!("[System]: Missing context for skill. {question}")
}

/// Nobody answered.
pub fn question_timed_out(skill: &str, after_ms: u64) -> String {
    let seconds = round_half_up(after_ms as f64 / 1_000.0);
    format!(
        "[System]: Q&A timed out after {seconds}s waiting for user input. Skill /skill:{skill} cancelled."
    )
}

/// The session ended while a question was open.
pub fn question_reset(skill: &str) -> String {
    format!("[System]: Router reset before user reply. Skill /skill:{skill} cancelled.")
}

/// A skill could not be found, named or read; the text names no directory.
pub fn skill_refused(why: &str) -> String {
    format!("[System]: {why}")
}

/// A skill's file could not be read.
pub fn skill_unreadable(skill: &str, why: &str) -> String {
    format!("[System]: Failed to load skill \"{skill}\": {why}")
}

/// The first word after `/skill` is no name.
pub fn invalid_skill_name(typed: &str) -> String {
    format!("Invalid skill name \"{typed}\". Use only letters, digits, hyphens, underscores.")
}

/// A skill begins; what answers its questions is not said.
pub fn executing(skill: &str) -> String {
    format!("[System]: ⚙️ Executing /skill:{skill}")
}

/// The sub-agent ended before it was done.
pub fn stopped_early(reason: &str) -> String {
    format!("[System]: Sub-agent stopped early ({reason}).")
}

/// The sub-agent could not be run.
pub fn sub_agent_failed(why: &str) -> String {
    format!("[System]: Sub-agent failed: {why}")
}

/// No trace of that name.
pub fn trace_not_found(file: &str) -> String {
    format!("[System]: Trace file \"{file}\" not found.")
}

/// One of our commands was not understood.
pub fn usage(usage: &str) -> String {
    format!("[System]: Usage: {usage}")
}
