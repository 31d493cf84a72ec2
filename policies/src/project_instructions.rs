//! What does a project say of itself to everybody who works in it?
//!
//! The files and their order are those of Pi (0.87), so that a sub-agent reads what the main agent reads.

use crate::redact::redact;
use std::path::{Path, PathBuf};

/// The first of these that is there is a directory's.
pub const PROJECT_FILE_NAMES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];
/// Of one file so much is shown; what is cut is said.
pub const PROJECT_FILE_BYTES_MAX: usize = 128 * 1024;
/// So much is read: a secret is known for one only where all of it is seen, and the cut may go through one.
pub const PROJECT_FILE_BYTES_READ: usize = PROJECT_FILE_BYTES_MAX + 16 * 1024;

/// The directories whose files hold for a workspace, the outermost first.
pub fn project_directories(workspace: &Path) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = workspace.ancestors().map(Path::to_path_buf).collect();
    directories.reverse();
    directories
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub text: String,
}

/// Writes the files for a system prompt, as Pi does; nothing when there are none.
pub fn render_project_instructions(files: &[ProjectFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut text = "<project_context>\nProject-specific instructions and guidelines:\n".to_string();
    for file in files {
        let (path, shown) = (file.path.display(), shown_of(&file.text));
        text.push_str(&format!(
            "\n<project_instructions path=\"{path}\">\n{shown}\n</project_instructions>\n"
        ));
    }
    text.push_str("</project_context>");
    text
}

/// Without its secrets: a sub-agent may run on a model of another provider than the one that the person talks to.
fn shown_of(text: &str) -> String {
    let text = redact(text.strip_prefix('\u{FEFF}').unwrap_or(text));
    if text.len() <= PROJECT_FILE_BYTES_MAX {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(PROJECT_FILE_BYTES_MAX);
    format!("{}\n[cut here: the file is longer]", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> ProjectFile {
        ProjectFile {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn the_outermost_directory_comes_first() {
        let expected: [PathBuf; 3] = ["/".into(), "/a".into(), "/a/b".into()];
        assert_eq!(project_directories(Path::new("/a/b")), expected);
    }

    #[test]
    fn files_stand_in_order_with_their_paths() {
        let text = render_project_instructions(&[file("/a/AGENTS.md", "one"), file("/a/b/CLAUDE.md", "two")]);
        let one = text
            .find("<project_instructions path=\"/a/AGENTS.md\">\none\n")
            .unwrap();
        let two = text
            .find("<project_instructions path=\"/a/b/CLAUDE.md\">\ntwo\n")
            .unwrap();
        assert!(one < two && text.ends_with("</project_context>"), "{text}");
        assert_eq!(render_project_instructions(&[]), "");
    }

    #[test]
    fn no_secret_of_a_project_is_handed_on_whole_or_halved() {
        let secret = "hunter2hunter2hunter2";
        let text = render_project_instructions(&[file("/a", &format!("TOKEN={secret} is for the tests"))]);
        assert!(
            !text.contains(secret) && text.contains("is for the tests"),
            "{text}"
        );
        let before = "x".repeat(PROJECT_FILE_BYTES_MAX - 16);
        let text = render_project_instructions(&[file("/a", &format!("{before}\nAPI_KEY={secret}\n"))]);
        assert!(!text.contains("hunter"), "half of it is left");
    }

    #[test]
    fn what_is_cut_is_said() {
        let text = render_project_instructions(&[file("/a", &"é".repeat(PROJECT_FILE_BYTES_MAX))]);
        assert!(text.contains("[cut here: the file is longer]"));
        assert!(text.len() < PROJECT_FILE_BYTES_MAX + 300);
    }
}
