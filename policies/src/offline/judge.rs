//! The verdict of the offline model on a brief.

use super::clarity::{Clarity, read_clarity};
use crate::domain::{Brief, Complexity, Risk, Route, Tier, Verdict};
use crate::prompts::read_section;
use crate::retrieval::words::for_each_word;

/// Judges the brief in the user part of the judge's prompt.
pub fn judge_brief(user: &str) -> Verdict {
    let brief = read_section(user, "brief").unwrap_or_default();
    let brief: Brief = serde_json::from_str(&brief).unwrap_or_default();
    let goal = brief.user_goal.trim();
    let clarity = read_clarity(goal);
    Verdict {
        has_user_goal: matches!(clarity, Clarity::Clear | Clarity::NoObject),
        has_required_inputs: clarity == Clarity::Clear,
        has_scope_boundary: clarity == Clarity::Clear,
        is_unambiguous: clarity == Clarity::Clear,
        missing_requirement_question: question(clarity, goal),
        execution_route: route(goal),
    }
}

/// One question, about the one thing that is missing.
fn question(clarity: Clarity, goal: &str) -> Option<String> {
    match clarity {
        Clarity::Clear => None,
        Clarity::Empty => Some("What would you like to know or have done?".to_string()),
        Clarity::NoGoal => Some(format!(
            "What would you like to know or have done? “{}” does not say.",
            shorten(goal)
        )),
        Clarity::NoObject => Some(format!(
            "“{}” does not say what is meant. Which file, function or behaviour, and what should it do?",
            shorten(goal)
        )),
    }
}

fn shorten(goal: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match goal.char_indices().nth(CHARACTERS_MAX) {
        None => goal.to_string(),
        Some((end, _)) => format!("{}…", goal[..end].trim_end()),
    }
}

/// A route from the first deed the goal names.
fn route(goal: &str) -> Route {
    let mut words: Vec<String> = Vec::new();
    for_each_word(goal, |word| words.push(word.to_lowercase()));
    let names_one_of = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let asks = goal.contains('?')
        || words
            .first()
            .is_some_and(|first| ASKING.contains(&first.as_str()));
    let (tier, complexity, risk, reason) = if asks || !names_one_of(&CHANGING) {
        (
            Tier::Cheap,
            Complexity::Low,
            Risk::ReadOnly,
            "It asks for something to be found; nothing is changed.",
        )
    } else if names_one_of(&RESHAPING) {
        (
            Tier::Balanced,
            Complexity::High,
            Risk::MultiFileEdit,
            "It asks for changes in several places.",
        )
    } else {
        (
            Tier::Balanced,
            Complexity::Medium,
            Risk::SmallEdit,
            "It asks for a change in one place.",
        )
    };
    Route {
        tier,
        complexity,
        risk,
        confidence: 0.6,
        reason: reason.to_string(),
    }
}

const ASKING: [&str; 12] = [
    "how", "what", "where", "which", "why", "when", "who", "is", "are", "does", "explain", "find",
];
const CHANGING: [&str; 22] = [
    "fix",
    "add",
    "implement",
    "change",
    "rename",
    "remove",
    "delete",
    "write",
    "rewrite",
    "refactor",
    "migrate",
    "upgrade",
    "update",
    "replace",
    "move",
    "split",
    "extract",
    "port",
    "create",
    "build",
    "make",
    "improve",
];
const RESHAPING: [&str; 8] = [
    "refactor",
    "migrate",
    "rewrite",
    "port",
    "everywhere",
    "across",
    "restructure",
    "upgrade",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::{JudgeFacts, judge_prompt};

    fn verdict(goal: &str) -> Verdict {
        let brief = Brief {
            user_goal: goal.to_string(),
            ..Brief::default()
        };
        let facts = JudgeFacts {
            name: "explore",
            instructions: "",
            task: goal,
            chat: Vec::new(),
            clarifications: &[],
            brief: &brief,
        };
        judge_brief(&judge_prompt(&facts).user)
    }

    #[test]
    fn a_good_question_passes_without_one_back() {
        let verdict = verdict("How does a crashed actor come back?");
        assert!(verdict.passed());
        assert_eq!(verdict.missing_requirement_question, None);
        assert_eq!(verdict.execution_route.risk, Risk::ReadOnly);
    }

    #[test]
    fn what_says_nothing_is_asked_about() {
        for goal in ["fix it", "do it", "", "help", "improve this"] {
            let verdict = verdict(goal);
            assert!(!verdict.passed(), "{goal:?}");
            assert!(
                verdict
                    .missing_requirement_question
                    .is_some_and(|question| question.contains('?'))
            );
        }
    }

    #[test]
    fn an_answer_makes_a_goal_complete() {
        assert!(verdict("fix it — the duration parser drops seconds").passed());
    }

    #[test]
    fn a_change_is_riskier_than_a_question() {
        assert_eq!(verdict("rename Foo to Bar").execution_route.risk, Risk::SmallEdit);
        assert_eq!(
            verdict("refactor the session layer").execution_route.risk,
            Risk::MultiFileEdit
        );
    }

    #[test]
    fn a_prompt_without_a_brief_has_no_goal() {
        assert!(!judge_brief("nonsense").passed());
    }
}
