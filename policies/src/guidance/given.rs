//! Which files are given now: what stands in the conversation already is not, and the innermost come first when there
//! is no room for all.

use super::text::{cut_rules, rules_block};
use crate::domain::GuidanceTerms;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file that holds for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Which file, as it is now.
    pub mark: RuleMark,
    /// What it says.
    pub text: String,
}

/// A file in the state in which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMark {
    /// Where it lies.
    pub path: PathBuf,
    /// Of all that it said.
    pub hash: String,
}

/// What stands in the conversation, by file: its newest state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<PathBuf, String>);

impl Given {
    /// This was given, later than what was added before.
    pub fn add(&mut self, mark: RuleMark) {
        self.0.insert(mark.path, mark.hash);
    }

    /// Whether the model has read this. A file that was changed since is news; a copy of another one is not.
    pub fn has(&self, mark: &RuleMark) -> bool {
        match self.0.get(&mark.path) {
            Some(newest) => *newest == mark.hash,
            None => self.0.values().any(|given| *given == mark.hash),
        }
    }
}

/// A file that is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenRules {
    /// Which file, as it is now.
    pub mark: RuleMark,
    /// Not all of it is shown.
    pub is_cut: bool,
    /// All that it says, in bytes.
    pub bytes: usize,
    /// What is shown of it, in bytes.
    pub shown_bytes: usize,
    /// As it stands behind the result.
    pub block: String,
}

/// Chooses among the files that hold for a place, the outermost first. The innermost says most about it, so it takes its
/// room first; what finds none is not marked, and comes with a later result.
pub fn rules_to_give(files: &[RuleFile], given: &Given, terms: &GuidanceTerms) -> Vec<GivenRules> {
    let mut left = terms.read_bytes_max;
    let mut chosen = Vec::new();
    for file in files.iter().rev() {
        if left == 0 {
            break;
        }
        if given.has(&file.mark) {
            continue;
        }
        let (shown, is_cut) = cut_rules(&file.text, terms.file_bytes_max.min(left));
        left -= shown.len();
        chosen.push(GivenRules {
            mark: file.mark.clone(),
            is_cut,
            bytes: file.text.len(),
            shown_bytes: shown.len(),
            block: rules_block(&file.mark.path, shown, is_cut),
        });
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RuleFile {
        RuleFile {
            mark: mark(path, text),
            text: text.into(),
        }
    }

    fn mark(path: &str, text: &str) -> RuleMark {
        RuleMark {
            path: path.into(),
            hash: format!("hash of {text}"),
        }
    }

    fn given(marks: &[(&str, &str)]) -> Given {
        let mut given = Given::default();
        for (path, text) in marks {
            given.add(mark(path, text));
        }
        given
    }

    fn terms(file_bytes_max: usize, read_bytes_max: usize) -> GuidanceTerms {
        GuidanceTerms {
            file_names: vec!["AGENTS.md".into()],
            file_bytes_max,
            read_bytes_max,
        }
    }

    #[track_caller]
    fn check(given: &Given, terms: &GuidanceTerms, expected: &[(&str, usize, bool)]) {
        let files = [
            file("/a", "aaaaaaaaaa"),
            file("/a/b", "bbbbbbbbbb"),
            file("/a/b/c", "cccccccccc"),
        ];
        let chosen = rules_to_give(&files, given, terms);
        let chosen = chosen
            .iter()
            .map(|rules| (rules.mark.path.to_str().unwrap(), rules.shown_bytes, rules.is_cut));
        assert_eq!(chosen.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_outermost_stand_first() {
        let all = [("/a", 10, false), ("/a/b", 10, false), ("/a/b/c", 10, false)];
        check(&Given::default(), &terms(10, 30), &all);
    }

    #[test]
    fn the_innermost_take_their_room_first() {
        let given = Given::default();
        check(
            &given,
            &terms(10, 20),
            &[("/a/b", 10, false), ("/a/b/c", 10, false)],
        );
        check(
            &given,
            &terms(10, 13),
            &[("/a/b", 3, true), ("/a/b/c", 10, false)],
        );
        check(&given, &terms(4, 6), &[("/a/b", 2, true), ("/a/b/c", 4, true)]);
        check(&given, &terms(10, 0), &[]);
    }

    #[test]
    fn what_was_given_is_not_given_again_until_it_changes() {
        let given = given(&[("/a/b", "bbbbbbbbbb"), ("/a/b/c", "what it was")]);
        check(
            &given,
            &terms(10, 30),
            &[("/a", 10, false), ("/a/b/c", 10, false)],
        );
    }

    #[test]
    fn a_copy_of_what_was_given_is_no_news_but_a_file_that_became_what_it_was_is() {
        let given = given(&[
            ("/elsewhere", "aaaaaaaaaa"),
            ("/a/b", "bbbbbbbbbb"),
            ("/a/b", "something else"),
            ("/a/b/c", "cccccccccc"),
        ]);
        check(&given, &terms(10, 30), &[("/a/b", 10, false)]);
    }
}
