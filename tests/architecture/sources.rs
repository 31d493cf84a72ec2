//! The files of the project: what git tracks, or everything but build output where there is no git.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::mentions::{Mention, mentions};

/// A file of the project.
#[derive(Debug)]
pub struct Source {
    /// Its path from the root.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A Rust file, read as tokens, without its tests.
#[derive(Debug)]
pub struct RustSource {
    /// Its path from the root.
    pub path: String,
    /// Every path and macro it mentions.
    pub mentions: Vec<Mention>,
}

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// Every text file whose path begins with one of these.
pub fn files(beginnings: &[&str]) -> Vec<&'static Source> {
    static FILES: OnceLock<Vec<Source>> = OnceLock::new();
    let read = |path: String| {
        let text = std::fs::read_to_string(root().join(&path)).ok()?;
        Some(Source { path, text })
    };
    let all = FILES.get_or_init(|| paths().into_iter().filter_map(read).collect());
    let wanted = |path: &str| beginnings.iter().any(|beginning| path.starts_with(beginning));
    let files: Vec<&Source> = all.iter().filter(|file| wanted(&file.path)).collect();
    assert!(
        !files.is_empty(),
        "nothing lies below {beginnings:?}: the test would prove nothing"
    );
    files
}

/// The Rust files whose path begins with one of these, without those that are tests only.
pub fn rust(beginnings: &[&str]) -> Vec<&'static RustSource> {
    static SOURCES: OnceLock<Vec<RustSource>> = OnceLock::new();
    let product = |source: &&Source| {
        let path = &source.path;
        path.ends_with(".rs") && !path.ends_with("/tests.rs") && !path.contains("/tests/")
    };
    let read = |source: &Source| RustSource {
        path: source.path.clone(),
        mentions: mentions(&source.path, &source.text),
    };
    let all = SOURCES.get_or_init(|| files(&[""]).into_iter().filter(product).map(read).collect());
    let wanted = |path: &str| beginnings.iter().any(|beginning| path.starts_with(beginning));
    all.iter().filter(|source| wanted(&source.path)).collect()
}

/// Violations of a rule about mentions, as `path:line: mention`.
pub fn mentioned(sources: &[&RustSource], banned: impl Fn(&RustSource, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for mention in source
            .mentions
            .iter()
            .filter(|mention| banned(source, &mention.path))
        {
            found.push(format!("{}:{}: {}", source.path, mention.line, mention.path));
        }
    }
    found
}

/// Whether a mention lies below one of these paths: `std::fs` holds for `std::fs::File` and for itself.
pub fn is_below(mention: &str, paths: &[&str]) -> bool {
    paths.iter().any(|path| {
        mention
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || path.ends_with('!'))
    })
}

fn paths() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split('\0')
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect()
        }
        Ok(_) | Err(_) => {
            let mut found = Vec::new();
            walk(&root(), "", &mut found);
            found.sort();
            found
        }
    }
}

fn walk(directory: &Path, beginning: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory)
        .expect("a directory of the project")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{beginning}{name}");
        let built = ["target", "node_modules", ".git"].contains(&name.as_str());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !built => walk(&entry.path(), &format!("{path}/"), found),
            Ok(kind) if kind.is_file() => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}
