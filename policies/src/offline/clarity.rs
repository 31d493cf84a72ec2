//! Does a task say enough to begin with?

use crate::retrieval::question::{FAINT, GLUE};
use crate::retrieval::words::for_each_word;

/// What a task says, and what it leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clarity {
    /// There is something to look for.
    Clear,
    /// No words at all.
    Empty,
    /// Something is to be done, but not to what: `fix it`.
    NoObject,
    /// Not even what is to be done: `help`.
    NoGoal,
}

/// Reads whether a task names what it is about.
pub fn read_clarity(task: &str) -> Clarity {
    let mut words: Vec<String> = Vec::new();
    for_each_word(task, |word| words.push(word.to_lowercase()));
    if words.is_empty() {
        return Clarity::Empty;
    }
    let asks = task.contains('?')
        || words
            .first()
            .is_some_and(|word| QUESTION_WORDS.contains(&word.as_str()));
    let about_everything = words.iter().any(|word| WHOLES.contains(&word.as_str()));
    let named = words.iter().any(|word| names_something(word));
    if named || (asks && about_everything) || (about_everything && words.iter().any(|word| surveys(word))) {
        return Clarity::Clear;
    }
    if words.iter().any(|word| is_deed(word)) {
        Clarity::NoObject
    } else {
        Clarity::NoGoal
    }
}

/// Whether a word says what a task is about: neither glue, nor a deed, nor a name for anything whatever.
fn names_something(word: &str) -> bool {
    let says_nothing = |list: &str| list.split_whitespace().any(|each| each == word);
    !says_nothing(GLUE) && !says_nothing(PLACEHOLDERS) && !is_deed(word) && !is_faint_alone(word)
}

fn is_faint_alone(word: &str) -> bool {
    FAINT.split_whitespace().any(|each| each == word) && WHOLES.contains(&word)
}

fn is_deed(word: &str) -> bool {
    DEEDS.split_whitespace().any(|each| each == word)
}

fn surveys(word: &str) -> bool {
    [
        "explain",
        "describe",
        "summarize",
        "summarise",
        "overview",
        "summary",
        "tour",
        "document",
    ]
    .contains(&word)
}

const QUESTION_WORDS: [&str; 14] = [
    "how", "what", "where", "which", "why", "when", "who", "is", "are", "does", "do", "can", "explain",
    "describe",
];

/// A name for everything there is in a workspace.
const WHOLES: [&str; 14] = [
    "project",
    "repo",
    "repository",
    "codebase",
    "library",
    "crate",
    "package",
    "program",
    "app",
    "application",
    "code",
    "system",
    "workspace",
    "architecture",
];

/// Words that stand for a thing without naming it.
const PLACEHOLDERS: &str = "bug bugs error errors issue issues problem problems stuff thing things mess job task tasks \
feature features mistake mistakes rest same better best faster nicer cleaner properly correctly asap quickly soon today \
everything something anything nothing thanks thank hello hi hey ok okay yes no yep sure again next previous first last \
one ones ticket item items idea ideas request question answer it that this them todo help";

/// What may be done to something.
const DEEDS: &str = "fix repair do make improve change update check look explain continue proceed go run start stop try \
retry finish complete solve resolve handle implement add remove delete refactor rewrite clean cleanup optimize optimise \
test review work write build create help show tell find search investigate debug analyze analyse document undo redo \
rename move apply use install deploy upgrade describe summarize summarise";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(task: &str, expected: Clarity) {
        assert_eq!(read_clarity(task), expected, "{task:?}");
    }

    #[test]
    fn a_question_about_something_is_clear() {
        for task in [
            "How does a crashed actor come back?",
            "where are retries limited",
            "fix the parser of durations",
            "rename Foo to Bar in src/a.rs",
            "explain the architecture",
            "What does this project do?",
            "Wie startet ein abgestürzter Aktor neu?",
            "崩溃后如何重启",
            "src/main.rs",
            "Where do errors from the database end up?",
        ] {
            check(task, Clarity::Clear);
        }
    }

    #[test]
    fn a_deed_without_an_object_is_not() {
        for task in [
            "fix it",
            "Fix it!",
            "do it",
            "please make it better",
            "fix the bug",
            "improve this",
            "continue",
            "clean up",
            "run the thing again",
        ] {
            check(task, Clarity::NoObject);
        }
    }

    #[test]
    fn a_sound_is_no_goal() {
        for task in ["hello", "it", "???a", "what is it?", "this one"] {
            check(task, Clarity::NoGoal);
        }
    }

    #[test]
    fn nothing_is_nothing() {
        for task in ["", "   ", "?!", "\n"] {
            check(task, Clarity::Empty);
        }
    }
}
