//! Which file or command is a call about, as its arguments say?

use crate::compat::cut_units;
use crate::redact::redact;
use std::path::{Component, Path, PathBuf};

/// So much of a command is kept.
const COMMAND_UNITS_MAX: usize = 300;
/// A longer path is no path.
const PATH_BYTES_MAX: usize = 1_024;

/// What a tool's arguments name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// A file.
    pub path: Option<String>,
    /// A text for a shell.
    pub command: Option<String>,
}

/// What a call is about, before anybody looked at the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetNamed {
    /// It reads this file.
    Reads(Place),
    /// It changes this file.
    Changes(Place),
    /// It runs this, in one redacted line.
    Runs(String),
}

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As it is shown: below the workspace where it lies there, `/` between the parts.
    pub shown: String,
    /// Where it is looked for; none where only the tool knows.
    pub at: Option<PathBuf>,
}

/// Tools that read the one file that they name.
pub(crate) const READING: [&str; 2] = ["read", "look_at"];
/// Tools that change the one file that they name.
pub(crate) const CHANGING: [&str; 3] = ["edit", "write", "hashline_edit"];

/// Says what a call of `tool` is about; none where its name and its arguments do not say.
pub fn target_named(tool: &str, named: Named, workspace: &Path) -> Option<TargetNamed> {
    if let (true, Some(path)) = (READING.contains(&tool), &named.path) {
        return place_of(path, workspace).map(TargetNamed::Reads);
    }
    if let (true, Some(path)) = (CHANGING.contains(&tool), &named.path) {
        return place_of(path, workspace).map(TargetNamed::Changes);
    }
    let command = named.command?;
    let line = redact(&command).split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = cut_units(&line, COMMAND_UNITS_MAX);
    let ellipsis = if kept.len() < line.len() { "…" } else { "" };
    Some(TargetNamed::Runs(format!("{kept}{ellipsis}")))
}

/// A path as Pi takes it: `@` before it says nothing, and `~` is a home that only the tool knows.
fn place_of(path: &str, workspace: &Path) -> Option<Place> {
    let path = path.strip_prefix('@').unwrap_or(path);
    if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
        return None;
    }
    if path.starts_with('~') {
        return Some(Place {
            shown: path.to_string(),
            at: None,
        });
    }
    let at = without_detours(&workspace.join(path));
    let below = at.strip_prefix(without_detours(workspace)).unwrap_or(&at);
    Some(Place {
        shown: below.to_string_lossy().replace('\\', "/"),
        at: Some(at),
    })
}

/// `a/./b/../c` is `a/c`, as far as the names alone say.
pub(crate) fn without_detours(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// What stands at the end of a result of a shell that did not end well, as Pi writes it.
const EXITED: &str = "Command exited with code ";

/// The code that a result says its command exited with: in its last line, and nowhere else.
pub fn exit_code_said(result: &str) -> Option<i32> {
    let last = result.trim_end().rsplit('\n').next()?;
    last.strip_prefix(EXITED)?.parse().ok()
}

/// With what a command exited, so far as its tool says: Pi's shell names every code but 0.
pub fn exit_code(tool: &str, is_error: bool, said: Option<i32>) -> Option<i32> {
    match is_error {
        true => said,
        false => (tool == "bash").then_some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, path: &str, expected: Option<(&str, Option<&str>)>) {
        let named = Named {
            path: Some(path.into()),
            command: None,
        };
        let place = match target_named(tool, named, Path::new("/w")) {
            Some(TargetNamed::Reads(place) | TargetNamed::Changes(place)) => Some(place),
            Some(TargetNamed::Runs(_)) | None => None,
        };
        let expected = expected.map(|(shown, at)| Place {
            shown: shown.into(),
            at: at.map(PathBuf::from),
        });
        assert_eq!(place, expected);
    }

    #[test]
    fn a_file_is_named_below_its_workspace() {
        check("read", "src/a.rs", Some(("src/a.rs", Some("/w/src/a.rs"))));
        check("edit", "./src/../b.rs", Some(("b.rs", Some("/w/b.rs"))));
        check("write", "/w/c.rs", Some(("c.rs", Some("/w/c.rs"))));
        check("read", "@/etc/hosts", Some(("/etc/hosts", Some("/etc/hosts"))));
        check("read", "../x", Some(("/x", Some("/x"))));
        check("read", "~/x", Some(("~/x", None)));
        check("read", "", None);
        check("grep", "src", None);
    }

    #[test]
    fn a_tool_that_takes_a_command_runs_it() {
        let runs = |command: &str| {
            let named = Named {
                path: None,
                command: Some(command.into()),
            };
            target_named("bash", named, Path::new("/w"))
        };
        assert_eq!(
            runs("cargo test\n  --all"),
            Some(TargetNamed::Runs("cargo test --all".into()))
        );
        let Some(TargetNamed::Runs(long)) = runs(&"x".repeat(5_000)) else {
            panic!("it runs");
        };
        assert_eq!(long.chars().count(), 301);
        assert_eq!(target_named("bash", Named::default(), Path::new("/w")), None);
    }

    #[test]
    fn an_exit_code_is_read_where_the_shell_writes_it() {
        assert_eq!(
            exit_code_said("boom\n\nCommand exited with code 101\n"),
            Some(101)
        );
        assert_eq!(exit_code_said("Command exited with code 3\nand more"), None);
        assert_eq!(exit_code_said("Command timed out after 5 seconds"), None);
        assert_eq!(exit_code("bash", true, Some(101)), Some(101));
        assert_eq!(exit_code("bash", true, None), None);
        // What a command printed is not what it exited with.
        assert_eq!(exit_code("bash", false, Some(3)), Some(0));
        assert_eq!(exit_code("shell", false, None), None);
    }
}
