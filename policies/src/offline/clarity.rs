//! Does a task say enough to begin with?

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

/// Words that say nothing about the code.
const GLUE: &str = "a about above actually after again against all also always am an and another any anybody anyone \
anything anywhere are as at be became because become becomes been before being below between both but by called can \
cannot come comes coming could did do does doing done during each either else ensure especially etc even ever every \
everybody everyone everything exactly explain few find for from further gets getting give given gives go goes going \
got had has have having he help her here him his how however i if in instead into is isn it itself just know let like \
look looks lot made make makes making many may me might mine more most much must my need needs never no nor not now of \
off often on once one only onto or other others otherwise our out over own per perhaps place please possible really \
responsible s same say says see seem seems shall she should show so some somebody somehow someone something somewhere \
still such sure take taken takes tell than that the their them then there these they thing things this those though \
through to together too under until up upon us use used uses using usually very via want wants was way ways we well \
were what whatever when whenever where whether which while who whole whom whose why will with within without would \
yes yet you your yourself describe detail details happen happens happening happened implement implemented \
implementation implements work works working handle handled handles handling live lives located defined definition \
define actual behave mean means meant put puts several whichever ready both proper properly";

/// Words that every program has.
const FAINT: &str = "code codebase file files function functions method methods module modules class classes library \
crate package project program programs repo repository source system software application app value values data \
object objects part parts piece new set sets two three several different certain given first last user people person \
part name named start end run runs running rust python javascript typescript java golang go back down long big small \
inside outside side kind kinds sort type types time times line lines part able allow allows allowed support supported \
supports provide provides provided result results text input output thing number good bad right wrong decide decides \
decided change changes changed turn turned turns read reads write writes written writing call calls calling get keep keeps kept";

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
