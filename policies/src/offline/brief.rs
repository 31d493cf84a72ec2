//! The brief the offline model writes: the user's own words, sorted.

use crate::domain::Brief;
use crate::prompts::read_section;

const GOAL_CHARACTERS_MAX: usize = 2_000;
const CONSTRAINTS_MAX: usize = 12;

/// Writes the brief for the user part of the actor pass.
pub fn write_brief(user: &str) -> Brief {
    let task = read_section(user, "task").unwrap_or_default();
    let clarifications = read_section(user, "clarifications").unwrap_or_default();
    Brief {
        user_goal: goal(&task, &answers(&clarifications)),
        constraints: constraints(&task),
        known_context: String::new(),
        user_clarifications: Vec::new(),
    }
}

/// What the user answered, in order.
fn answers(clarifications: &str) -> Vec<&str> {
    clarifications
        .lines()
        .filter_map(|line| line.strip_prefix("Answered: "))
        .map(str::trim)
        .collect()
}

/// The task, and behind it what the user added when asked.
fn goal(task: &str, answers: &[&str]) -> String {
    let mut goal = task.split_whitespace().collect::<Vec<_>>().join(" ");
    for answer in answers.iter().filter(|answer| !answer.is_empty()) {
        if !goal.is_empty() {
            goal.push_str(" — ");
        }
        goal.push_str(answer);
    }
    goal.chars().take(GOAL_CHARACTERS_MAX).collect()
}

/// The sentences of a task that set limits.
fn constraints(task: &str) -> Vec<String> {
    let sentences = task.split_inclusive(['.', '!', ';', '\n']);
    let limits = sentences.map(str::trim).filter(|sentence| sets_a_limit(sentence));
    limits
        .take(CONSTRAINTS_MAX)
        .map(|sentence| sentence.trim_end_matches(['.', ';', '!']).to_string())
        .collect()
}

fn sets_a_limit(sentence: &str) -> bool {
    if sentence.contains('?') {
        return false;
    }
    let lower = format!(" {} ", sentence.to_lowercase().replace('’', "'"));
    let marks = [
        " only ",
        " don't ",
        " do not ",
        " must ",
        " without ",
        " at most ",
        " at least ",
        " never ",
        " no more than ",
        " keep ",
    ];
    marks.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::{BriefFacts, brief_prompt};

    fn brief(task: &str, clarifications: &[(String, String)]) -> Brief {
        write_brief(
            &brief_prompt(&BriefFacts {
                name: "explore",
                task,
                clarifications,
                ..BriefFacts::default()
            })
            .user,
        )
    }

    #[test]
    fn the_goal_is_the_task() {
        assert_eq!(
            brief("How does  a crashed\nactor come back?", &[]).user_goal,
            "How does a crashed actor come back?"
        );
    }

    #[test]
    fn answers_become_part_of_the_goal() {
        let answered = [("Fix what?".to_string(), "the duration parser".to_string())];
        assert_eq!(
            brief("fix it", &answered).user_goal,
            "fix it — the duration parser"
        );
    }

    #[test]
    fn limits_are_constraints() {
        let brief = brief(
            "Rename the parser. Do not touch the tests. Where is it only used once?",
            &[],
        );
        assert_eq!(brief.constraints, ["Do not touch the tests"]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(brief("", &[]), Brief::default());
        assert_eq!(write_brief("no sections"), Brief::default());
    }
}
