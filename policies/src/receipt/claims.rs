//! Does an answer say that tests pass, and is a command one that runs tests?
//!
//! A claim is a plain statement of its own: wishes, conditions, advice, reports of what others said and tests that
//! fail are none. In doubt nothing was claimed, and in doubt a command did run tests: a false alarm costs trust.

use super::names::without_code_blocks;
use crate::compat::cut_units;
use regex::Regex;
use std::sync::LazyLock;

/// So much of a claim is shown.
const CLAIM_UNITS_MAX: usize = 160;
/// A longer line is no statement.
const STATEMENT_BYTES_MAX: usize = 600;

struct Patterns {
    claim: Regex,
    nothing_failed: Regex,
    no_claim: Regex,
    /// Somebody else's words.
    quoted: Regex,
    of_others: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        claim: Regex::new(
            r"(?x)
            \b tests? (?:\ suites?)? \b [^.;]{0,30}? (?:
                \b (?: pass | passes | passed | succeed | succeeds | succeeded ) \s*
                (?: $ | [.,:;!)\]✅✓*_`—–-] | \( | \b(?: now | again | locally | successfully | cleanly | and | without | too | with\ (?:no|0|zero) )\b )
              | \b (?: is | are | stay | stays | remain | remains ) \s (?: all\ | now\ | still\ )? (?: passing | green ) \b
            )
          | \b \d+ \s (?: (?:unit\ |integration\ )? tests? \s )? (?: passed | passing | pass ) \b
          | \b (?: cargo\ test | cargo\ nextest\ run | npm\ test | npm\ run\ test | yarn\ test | pnpm\ test | pytest | go\ test | vitest | jest | rspec | ctest | mvn\ test )
            \b [^.;]{0,40}? \b (?: passes | passed | succeeds | succeeded | is\ green | exits?\ (?:with\ )?0 ) \b
            ",
        )
        .ok()?,
        nothing_failed: Regex::new(r"\b(?:0|no|zero|none|without(?: any)?)\s+(?:tests?\s+)?(?:failed|fail|failing|failures?|errors?|regressions?|ignored|skipped)\b").ok()?,
        no_claim: Regex::new(
            r"(?x)
            \b (?: not | never | cannot | should | would | will | could | can | may | might | must | shall | if | once | when
                 | whenever | until | till | unless | so\ that | to\ make | make\ sure | ensure | ensures | ensuring | verify
                 | check | confirm | expect | expects | expected | need | needs | needed | want | wants | fail | fails | failed
                 | failing | failure | before | after\ you | please | whether | let | assume | assuming | suppose | hope
                 | only | even\ though | although | unable | no\ tests? | you | your | they | previously | earlier | untested
                 | guarantee | guarantees | requires? | would've | run | rerun | re-run | running ) \b
          | n['’]t \b
          | \?
            ",
        )
        .ok()?,
        quoted: Regex::new(r#""[^"]*"|“[^”]*”"#).ok()?,
        of_others: Regex::new(r"(?i)\b(?:ci|logs?|pipeline|workflow|readme|changelog|according|says|said|claims|reports?|reported|commit message)\b").ok()?,
    })
});

/// The words with which an answer says that tests pass; none where it does not.
pub fn tests_claimed_to_pass(answer: &str) -> Option<String> {
    let patterns = PATTERNS.as_ref()?;
    let lines = without_code_blocks(answer).into_iter();
    let own = lines.filter(|line| !patterns.of_others.is_match(line));
    let statements = own.flat_map(statements_of);
    let mut claims = statements.filter(|statement| is_claim(statement, patterns));
    let claim = claims.next()?;
    let claim = claim.trim_matches(|mark: char| mark.is_whitespace() || "-*#>|_".contains(mark));
    let kept = cut_units(claim, CLAIM_UNITS_MAX);
    let ellipsis = if kept.len() < claim.len() { "…" } else { "" };
    Some(format!("{kept}{ellipsis}"))
}

/// The parts of a line that state something each.
fn statements_of(line: &str) -> impl Iterator<Item = &str> {
    let is_quoted = line.trim_start().starts_with('>');
    let line = if is_quoted { "" } else { line };
    line.split_inclusive(". ")
        .flat_map(|part| part.split_inclusive(['!', '?']))
        .map(str::trim)
        .filter(|part| part.len() <= STATEMENT_BYTES_MAX)
}

fn is_claim(statement: &str, patterns: &Patterns) -> bool {
    let statement = statement.to_lowercase();
    let own = patterns.quoted.replace_all(&statement, "");
    let plain = patterns.nothing_failed.replace_all(&own, "");
    patterns.claim.is_match(&plain) && !patterns.no_claim.is_match(&plain)
}

/// What the exit code of a command says of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsTests {
    /// It runs none.
    No,
    /// Its exit code is theirs.
    Yes,
    /// It runs some, and its exit code may be that of something else.
    ExitOfOthers,
}

/// Programs that look, speak or change, whatever words follow.
const NO_RUNNERS: [&str; 33] = [
    "cat", "ls", "grep", "egrep", "rg", "find", "fd", "head", "tail", "sed", "awk", "wc", "echo", "printf",
    "git", "cd", "mkdir", "rm", "cp", "mv", "touch", "less", "more", "tree", "stat", "diff", "chmod",
    "export", "which", "test", "[", "pwd", "sort",
];
/// Programs that run tests and do not say so.
const RUNNERS: [&str; 8] = [
    "jest",
    "tox",
    "nox",
    "mocha",
    "ava",
    "karma",
    "cypress",
    "playwright",
];
/// In front of a program.
const WRAPPERS: [&str; 9] = [
    "sudo", "time", "env", "nice", "timeout", "npx", "bunx", "command", "exec",
];

/// Says whether a command runs tests.
pub fn runs_tests(command: &str) -> RunsTests {
    let parts = parts_of(command);
    let Some(at) = parts.iter().rposition(|part| is_test(part)) else {
        return RunsTests::No;
    };
    match parts[at + 1..].iter().all(|part| part.trim().is_empty()) {
        true => RunsTests::Yes,
        false => RunsTests::ExitOfOthers,
    }
}

/// The commands that a line joins. `2>&1` and `&>` join streams.
fn parts_of(command: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut last) = (0, ' ');
    for (at, letter) in command.char_indices() {
        let is_joint =
            "|;\n".contains(letter) || (letter == '&' && last != '>' && !command[at + 1..].starts_with('>'));
        if is_joint {
            parts.push(&command[begin..at]);
            begin = at + 1;
        }
        last = letter;
    }
    parts.push(&command[begin..]);
    parts
}

fn is_test(part: &str) -> bool {
    let mut words = part.split_whitespace().skip_while(|word| {
        let is_assignment = word.contains('=') && !word.starts_with('-');
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        is_assignment || is_number || word.starts_with('-') || WRAPPERS.contains(word)
    });
    let Some(program) = words.next() else { return false };
    let name = program
        .trim_matches(['"', '\'', '(', '{'])
        .rsplit('/')
        .next()
        .unwrap_or(program);
    if NO_RUNNERS.contains(&name) {
        return false;
    }
    let speaks_of_tests = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["test", "spec", "check", "verify"]
            .iter()
            .any(|sign| word.contains(sign))
    };
    RUNNERS.contains(&name) || speaks_of_tests(name) || words.any(speaks_of_tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_statement_is_a_claim() {
        for claim in [
            "All tests pass.",
            "- All 42 tests passed ✅",
            "The full test suite passes now.",
            "Tests are green.",
            "I fixed the parser. The unit tests pass and clippy is clean.",
            "**Verification**: `cargo test` passed (12 tests).",
            "test result: ok. 42 passed; 0 failed; 0 ignored",
            "All tests are passing with no failures.",
            "✅ 17 tests passed",
            "Existing tests still pass.",
        ] {
            assert!(tests_claimed_to_pass(claim).is_some(), "{claim}");
        }
        assert_eq!(
            tests_claimed_to_pass("Done. - **All tests pass** and so on.").as_deref(),
            Some("All tests pass** and so on.")
        );
    }

    #[test]
    fn wishes_conditions_and_reports_are_none() {
        for text in [
            "The tests should pass now.",
            "Once the tests pass, merge it.",
            "Make sure all tests pass.",
            "I did not run the tests.",
            "2 tests failed, 40 passed.",
            "I couldn't verify that tests pass.",
            "The test passes a mock to the handler.",
            "The CI log says that all 42 tests passed.",
            "Do all tests pass?",
            "```\ntest result: ok. 42 passed; 0 failed\n```",
            "> All tests pass.",
            "Run `cargo test`; it is expected that tests pass.",
            "Tests pass in a config object to the constructor.",
            "No tests pass through here.",
            "The tests pass only because the clock is mocked.",
            "",
        ] {
            assert_eq!(tests_claimed_to_pass(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_claim_is_cut() {
        let long = format!("All tests pass, {}", "and so on ".repeat(40));
        let claim = tests_claimed_to_pass(&long).expect("a claim");
        assert_eq!(claim.chars().count(), 161);
    }

    #[track_caller]
    fn check(command: &str, expected: RunsTests) {
        assert_eq!(runs_tests(command), expected, "{command}");
    }

    #[test]
    fn commands_that_run_tests() {
        for command in [
            "cargo test",
            "RUST_BACKTRACE=1 cargo nextest run",
            "cd /w && npm test",
            "npm run test:unit",
            "python -m pytest -q",
            "./scripts/run-tests.sh",
            "timeout 60 go test ./...",
            "npx jest",
            "make check",
            "cargo build && cargo test 2>&1",
            "./gradlew test;",
        ] {
            check(command, RunsTests::Yes);
        }
    }

    #[test]
    fn commands_whose_exit_code_is_that_of_something_else() {
        check("cargo test 2>&1 | tail -20", RunsTests::ExitOfOthers);
        check("cargo test || true", RunsTests::ExitOfOthers);
        check("cargo test && cargo clippy", RunsTests::ExitOfOthers);
        check("pytest -q; echo done", RunsTests::ExitOfOthers);
    }

    #[test]
    fn commands_that_run_none() {
        for command in [
            "cat tests/a.rs",
            "ls test",
            "git log --grep=test",
            "cargo build",
            "grep -rn test src | head",
            "",
            "&&",
        ] {
            check(command, RunsTests::No);
        }
    }
}
