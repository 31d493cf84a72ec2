//! What does a call of a tool touch, as its arguments say?

use crate::receipt::{CHANGING, Named, READING};
use std::path::PathBuf;

/// A place that a call touches, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// A file: the rules of its directory hold.
    File(String),
    /// A file, or a directory whose own rules hold.
    Place(String),
}

impl Touched {
    /// As it is written.
    pub fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Place(path) => path,
        }
    }
}

/// Tools that look through a directory.
const LOOKING: [&str; 3] = ["grep", "find", "ls"];
/// Commands that are given a directory by its name alone.
const TAKES_DIRECTORY: [&str; 2] = ["cd", "ls"];
/// A longer command is not looked through.
const COMMAND_BYTES_MAX: usize = 4_096;
/// So many places of one command.
const PLACES_MAX: usize = 16;

/// What a call touches; nothing where its arguments do not say.
pub fn touched_by(tool: &str, named: &Named) -> Vec<Touched> {
    let path = || named.path.clone().filter(|path| !path.is_empty());
    if READING.contains(&tool) || CHANGING.contains(&tool) {
        return path().map(Touched::File).into_iter().collect();
    }
    if LOOKING.contains(&tool) {
        return path().map(Touched::Place).into_iter().collect();
    }
    match (tool, &named.command) {
        ("bash", Some(command)) if command.len() <= COMMAND_BYTES_MAX => places_in(command),
        _ => Vec::new(),
    }
}

/// The words of a command that are plainly paths. A word that a shell would read differently is none.
fn places_in(command: &str) -> Vec<Touched> {
    let mut base = PathBuf::new();
    let mut before = "";
    let mut places = Vec::new();
    for word in command.split(|c: char| c.is_whitespace() || "&|;<>()".contains(c)) {
        if word.is_empty() {
            continue;
        }
        let is_meant = word.contains('/') || TAKES_DIRECTORY.contains(&before);
        if is_meant && is_plain(word) {
            let place = base.join(word);
            places.push(Touched::Place(place.to_string_lossy().into_owned()));
            if before == "cd" {
                base = place;
            }
        }
        before = word;
    }
    places.dedup();
    places.truncate(PLACES_MAX);
    places
}

fn is_plain(word: &str) -> bool {
    let of_a_path = |c: char| c.is_alphanumeric() || "/._-+@,~".contains(c);
    !word.starts_with('-') && word.chars().all(of_a_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: Option<&str>, command: Option<&str>) -> Named {
        Named {
            path: path.map(str::to_string),
            command: command.map(str::to_string),
        }
    }

    #[track_caller]
    fn check(tool: &str, path: &str, expected: &[Touched]) {
        assert_eq!(touched_by(tool, &named(Some(path), None)), expected);
    }

    #[test]
    fn tools_touch_what_they_name() {
        check("read", "src/a.ts", &[Touched::File("src/a.ts".into())]);
        check("edit", "src/a.ts", &[Touched::File("src/a.ts".into())]);
        check("write", "src/a.ts", &[Touched::File("src/a.ts".into())]);
        check("grep", "src", &[Touched::Place("src".into())]);
        check("ls", "src", &[Touched::Place("src".into())]);
        check("read", "", &[]);
        check("bash", "src/a.ts", &[]);
        check("of_somebody_else", "src/a.ts", &[]);
        assert_eq!(touched_by("find", &named(None, None)), []);
    }

    #[track_caller]
    fn runs(command: &str, expected: &[&str]) {
        let touched = touched_by("bash", &named(None, Some(command)));
        let touched: Vec<_> = touched.iter().map(Touched::path).collect();
        assert_eq!(touched, expected);
    }

    #[test]
    fn a_command_touches_what_it_plainly_names() {
        runs("cat src/a.ts", &["src/a.ts"]);
        runs("sed -n 1,9p src/a.ts | head", &["src/a.ts"]);
        runs("cd src && cat ui/b.ts", &["src", "src/ui/b.ts"]);
        runs("ls src", &["src"]);
        runs("npm test; cargo build", &[]);
        runs("cat \"src/a b.ts\" src/*.ts $HOME/x https://example.org/x", &[]);
        runs("wc -l src/a.ts>out/n", &["src/a.ts", "out/n"]);
        runs(&"cat a/b ".repeat(1_000), &[]);
    }
}
