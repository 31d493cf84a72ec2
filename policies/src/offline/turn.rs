//! The next turn of the offline model as a sub-agent: look further, or answer.

use crate::retrieval::citation::{Citation, read_citations};
use crate::retrieval::description::{Description, describe_passage};
use crate::retrieval::question::{Question, read_question};
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFacts<'a> {
    /// The first message of the user: the brief as rendered, or a bare task.
    pub prompt: &'a str,
    pub tools: Vec<&'a str>,
    /// Results so far: the tool and what it said.
    pub results: Vec<(&'a str, &'a str)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    Call {
        tool: String,
        arguments: Value,
    },
    /// Says its last word.
    Answer(String),
}

/// How many passages are asked for.
const PASSAGES_MAX: usize = 10;
/// How many places an answer names.
const PLACES_MAX: usize = 6;
/// Fewer places than this are worth another look.
const PLACES_MIN: usize = 3;
/// How many lines are quoted of the best place.
const QUOTED_LINES: usize = 4;

/// Decides the next turn. Looks at most twice.
pub fn take_turn(facts: &TurnFacts<'_>) -> Turn {
    let goal = goal_of(facts.prompt);
    let question = read_question(&goal);
    let citations = places(&facts.results);
    let used = |tool: &str| facts.results.iter().any(|(used, _)| *used == tool);
    let may_use = |tool: &str| facts.tools.contains(&tool) && !used(tool);
    if may_use(RETRIEVAL_TOOL) {
        let arguments = json!({ "query": goal, "passages_max": PASSAGES_MAX });
        return Turn::Call {
            tool: RETRIEVAL_TOOL.to_string(),
            arguments,
        };
    }
    let pattern = grep_pattern(&question);
    if citations.len() < PLACES_MIN && may_use("grep") && !pattern.is_empty() {
        return Turn::Call {
            tool: "grep".to_string(),
            arguments: json!({ "pattern": pattern, "ignore_case": true }),
        };
    }
    Turn::Answer(write_answer(&question, &citations, facts.results.is_empty()))
}

/// The goal and the clarifications of a rendered brief, the goal and the hints of a sub-task; a prompt that is neither is
/// the goal itself.
fn goal_of(prompt: &str) -> String {
    if prompt.starts_with("Subtask ID: ") {
        return goal_of_subtask(prompt);
    }
    let Some(rest) = prompt.trim_start().strip_prefix("User Goal: ") else {
        return prompt.trim().to_string();
    };
    let mut goal = rest.split("\n\n").next().unwrap_or(rest).trim().to_string();
    if let Some((_, clarifications)) = rest.split_once("User Clarifications:\n") {
        for line in clarifications.split("\n\n").next().unwrap_or("").lines() {
            let answer = line.trim_start_matches("- ").trim();
            goal.push(' ');
            goal.push_str(answer);
        }
    }
    goal
}

fn goal_of_subtask(prompt: &str) -> String {
    let part = |name: &str| prompt.split("\n\n").find_map(|part| part.strip_prefix(name));
    let goal = part("Goal: ").unwrap_or_default().trim();
    let hints = part("Retrieval hints:\n").unwrap_or_default().lines();
    let hints = hints.map(|hint| hint.trim_start_matches("- ").trim());
    std::iter::once(goal).chain(hints).collect::<Vec<_>>().join(" ")
}

/// One place of each file, in the order found.
fn places(results: &[(&str, &str)]) -> Vec<Citation> {
    let mut places: Vec<Citation> = Vec::new();
    for (_, text) in results {
        for citation in read_citations(text) {
            if !places.iter().any(|known| known.path == citation.path) {
                places.push(citation);
            }
        }
    }
    places
}

/// The telling words of a question as alternatives.
fn grep_pattern(question: &Question) -> String {
    let stems: Vec<&str> = question
        .terms
        .iter()
        .map(|term| term.stem.as_str())
        .take(8)
        .collect();
    stems.join("|")
}

const HONESTY: &str =
    "Found by the offline model: a word search with fixed rules, no language model read the code.";

fn write_answer(question: &Question, citations: &[Citation], had_no_tools: bool) -> String {
    if citations.is_empty() {
        let why = if had_no_tools {
            "This sub-agent has no tool to search with."
        } else {
            "Nothing in the workspace shares a telling word with the task. Name a file, a function or another word for it."
        };
        return format!("{why}\n\n{HONESTY}");
    }
    let mut answer = String::from("These places answer it best, the likeliest first:\n\n");
    for (rank, citation) in citations.iter().take(PLACES_MAX).enumerate() {
        let description = describe_passage(&citation.path, &citation.text, question, QUOTED_LINES);
        let _ = writeln!(
            answer,
            "{}. {}{}",
            rank + 1,
            citation.place(),
            one_line(&description)
        );
    }
    let best = describe_passage(&citations[0].path, &citations[0].text, question, QUOTED_LINES);
    if !best.quote.is_empty() {
        let _ = writeln!(answer, "\nFrom {}:\n", citations[0].path);
        for line in &best.quote {
            let _ = writeln!(answer, "    {line}");
        }
    }
    let _ = write!(answer, "\n{HONESTY}");
    answer
}

fn one_line(description: &Description) -> String {
    let defines = if description.defines.is_empty() {
        String::new()
    } else {
        format!("`{}`", description.defines.replace('`', ""))
    };
    match (defines.is_empty(), description.says.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!(" — {defines}"),
        (true, false) => format!(" — {}", description.says),
        (false, false) => format!(" — {defines}: {}", description.says),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "User Goal: How does a crashed actor come back?\n\nConstraints:\n- be brief";
    const FOUND: &str = "src/supervisor.rs#L10-L12\n   10| /// Starts an actor again after a panic.\n   11| fn restart() {\n   12| }\n\nsrc/supervisor.rs#L20-L21\n   20| x\n\ndocs/a.md#L1-L2\n    1| # Actors\n\nsrc/c.rs#L1-L1\n    1| fn c() {}\n";

    fn turn(results: &[(&str, &str)], tools: &[&str]) -> Turn {
        take_turn(&TurnFacts {
            prompt: PROMPT,
            tools: tools.to_vec(),
            results: results.to_vec(),
        })
    }

    fn answer(turn: Turn) -> String {
        match turn {
            Turn::Answer(text) => text,
            Turn::Call { tool, .. } => format!("calls {tool}"),
        }
    }

    #[test]
    fn it_searches_for_the_goal_first() {
        let expected =
            json!({ "query": "How does a crashed actor come back?", "passages_max": PASSAGES_MAX });
        assert_eq!(
            turn(&[], &["read", RETRIEVAL_TOOL]),
            Turn::Call {
                tool: RETRIEVAL_TOOL.to_string(),
                arguments: expected
            }
        );
    }

    #[test]
    fn the_answer_names_each_file_once_the_likeliest_first() {
        let text = answer(turn(&[(RETRIEVAL_TOOL, FOUND)], &[RETRIEVAL_TOOL, "grep"]));
        let places: Vec<&str> = text
            .split_whitespace()
            .filter(|word| word.contains("#L"))
            .collect();
        assert_eq!(
            places,
            ["src/supervisor.rs#L10-L12", "docs/a.md#L1-L2", "src/c.rs#L1-L1"]
        );
        assert!(text.contains("Starts an actor again after a panic."));
        assert!(text.contains("offline model"));
    }

    #[test]
    fn too_little_is_worth_a_second_look_and_no_third() {
        let tools = [RETRIEVAL_TOOL, "grep"];
        assert!(
            matches!(turn(&[(RETRIEVAL_TOOL, "nothing")], &tools), Turn::Call { tool, .. } if tool == "grep")
        );
        assert!(
            answer(turn(&[(RETRIEVAL_TOOL, "nothing"), ("grep", "nothing")], &tools)).contains("Nothing")
        );
    }

    #[test]
    fn without_tools_it_says_so() {
        assert!(answer(turn(&[], &[])).contains("no tool"));
    }

    #[test]
    fn clarifications_are_searched_for_too() {
        assert_eq!(
            goal_of("User Goal: fix it\n\nUser Clarifications:\n- the parser"),
            "fix it the parser"
        );
        assert_eq!(goal_of("plain words"), "plain words");
    }

    #[test]
    fn a_sub_task_is_searched_for_with_its_hints() {
        let subtask = crate::domain::Subtask {
            retrieval_hints: vec!["backoff".into(), "restart".into()],
            scope: Some("policies".into()),
            ..crate::domain::Subtask::new("a", "Where are pauses decided?")
        };
        assert_eq!(
            goal_of(&crate::parallel::worker_prompt(&subtask)),
            "Where are pauses decided? backoff restart"
        );
    }
}
