//! What is made of a brief or a verdict that is not there, or not whole?

use crate::compat::trim;
use crate::domain::{Brief, Route, Verdict};

/// What the user is asked when the judge's reply could not be used.
pub const UNUSABLE_QUESTION: &str = "Could you restate what you want this skill to do, and on which files?";
/// What the user is asked when the judge found something missing but did not say what.
pub const DEFAULT_QUESTION: &str = "Could you clarify what this skill should do?";

/// The brief as a sub-agent may get it: without a goal of its own it has the task for one.
pub fn brief_with_goal(brief: Brief, task: &str) -> Brief {
    if trim(&brief.user_goal).is_empty() {
        return Brief {
            user_goal: trim(task).to_string(),
            ..brief
        };
    }
    brief
}

/// The verdict in place of a judge whose reply could not be used.
pub fn missing_verdict() -> Verdict {
    Verdict {
        missing_requirement_question: Some(UNUSABLE_QUESTION.to_string()),
        ..Verdict::default()
    }
}

/// Where no judge is asked, a usable brief passes; without one nothing starts.
pub fn unjudged_verdict(brief_usable: bool) -> Verdict {
    if !brief_usable {
        return missing_verdict();
    }
    Verdict {
        has_user_goal: true,
        has_required_inputs: true,
        has_scope_boundary: true,
        is_unambiguous: true,
        missing_requirement_question: None,
        execution_route: Route::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_without_a_goal_takes_the_task() {
        assert_eq!(brief_with_goal(Brief::default(), " do it ").user_goal, "do it");
    }

    #[test]
    fn without_a_judge_only_a_usable_brief_passes() {
        assert!(unjudged_verdict(true).passed());
        assert_eq!(unjudged_verdict(false), missing_verdict());
    }
}
