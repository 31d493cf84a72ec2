//! `glob`: files by their paths, the newest first.

use super::place::Workspace;
use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolPlace};
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::glob::{GlobAsked, GlobFound, NEVER_ENTERED, describe_found, read_glob};
use serde::Deserialize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// More entries of directories are not looked at: a second or two, and no workspace that people work in.
const ENTRIES_MAX: usize = 1_000_000;
/// More files are not kept to find the newest among them.
const FOUND_MAX: usize = 200_000;

#[derive(Debug, Deserialize)]
pub(super) struct GlobArguments {
    pattern: String,
    path: Option<String>,
}

pub(super) async fn run(
    arguments: GlobArguments,
    place: &ToolPlace,
    heavy_work: HeavyWork,
) -> Result<ToolAnswer, String> {
    let (workspace, cancelled) = (Workspace::of(place)?, place.cancelled.clone());
    heavy_work
        .run(move || look(&workspace, &arguments, &cancelled))
        .await
        .unwrap_or_else(|why| Err(format!("The tool failed: {why}")))
}

fn look(
    workspace: &Workspace,
    arguments: &GlobArguments,
    cancelled: &CancellationToken,
) -> Result<ToolAnswer, String> {
    let asked = read_glob(&arguments.pattern)?;
    let base = workspace.resolve(arguments.path.as_deref().unwrap_or("."))?;
    if !base.is_dir() {
        return Err(format!("{:?} is no directory.", workspace.show(&base)));
    }
    let from = match asked.up {
        0 => base.clone(),
        up => {
            let above = base.ancestors().nth(up).unwrap_or(Path::new("/"));
            workspace.resolve(&above.to_string_lossy())?
        }
    };
    let found = walk(&from, &asked, cancelled)?;
    let (text, read) = describe_found(&arguments.pattern, &base.to_string_lossy(), found);
    Ok(ToolAnswer {
        text,
        receipt: ToolReceipt {
            read,
            ..ToolReceipt::default()
        },
        ..ToolAnswer::default()
    })
}

fn matcher(glob: &str) -> Result<GlobMatcher, String> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    Ok(built
        .map_err(|error| format!("The pattern cannot be used: {error}."))?
        .compile_matcher())
}

fn walk(from: &Path, asked: &GlobAsked, cancelled: &CancellationToken) -> Result<GlobFound, String> {
    let wanted = matcher(&asked.pattern)?;
    let dotted: Vec<GlobMatcher> = asked
        .dotted
        .iter()
        .map(|part| matcher(part))
        .collect::<Result<_, _>>()?;
    let not_entered = Arc::new(AtomicUsize::new(0));
    let counted = not_entered.clone();
    let mut walker = WalkBuilder::new(from);
    walker
        .hidden(asked.dotted.is_empty())
        .follow_links(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(move |entry| {
            let enters = may_enter(entry);
            if !enters {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            enters
        });
    let mut found = GlobFound::default();
    for (seen, entry) in walker.build().enumerate() {
        if cancelled.is_cancelled() {
            return Err("glob was cancelled.".to_string());
        }
        if seen >= ENTRIES_MAX || found.files.len() >= FOUND_MAX {
            found.cut_short = Some(format!("{seen} entries were looked at"));
            break;
        }
        let Ok(entry) = entry else {
            found.cut_short = Some("a directory cannot be read".to_string());
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(path) = entry.path().strip_prefix(from) else {
            continue;
        };
        if !wanted.is_match(path) || !names_what_is_hidden(path, &dotted) {
            continue;
        }
        let changed = entry.metadata().map_or(0, |metadata| {
            metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec())
        });
        found
            .files
            .push((changed, entry.path().to_string_lossy().into_owned()));
    }
    found.not_entered = not_entered.load(Ordering::Relaxed);
    Ok(found)
}

fn may_enter(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0 || !is_directory || !NEVER_ENTERED.contains(&&*name)
}

/// `*` and `**` mean nothing that begins with a dot: each such part of a path is named by one of the glob.
fn names_what_is_hidden(path: &Path, dotted: &[GlobMatcher]) -> bool {
    path.components().all(|part| {
        let part = part.as_os_str();
        !part.to_string_lossy().starts_with('.') || dotted.iter().any(|named| named.is_match(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::{Reach, Tools};
    use crate::tools::LocalTools;
    use impresario_policies::added_tools::AddedTool;
    use serde_json::{Value, json};
    use std::fs;
    use tempfile::TempDir;

    fn workspace(files: &[&str]) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("its directory");
            fs::write(path, "x").expect("a file");
        }
        directory
    }

    fn place(directory: &TempDir, reach: Reach) -> ToolPlace {
        ToolPlace {
            workspace: directory.path().to_path_buf(),
            reach,
            readable: Vec::new(),
            cancelled: CancellationToken::new(),
        }
    }

    async fn ask(arguments: Value, place: &ToolPlace) -> Result<ToolAnswer, String> {
        LocalTools::default()
            .call(AddedTool::Glob, &arguments, place)
            .await
    }

    #[tokio::test]
    async fn what_ignore_files_name_is_left_out_and_the_receipt_says_what_was_shown() {
        let directory = workspace(&["src/a.rs", "out/b.rs", "c.log"]);
        fs::write(directory.path().join(".gitignore"), "out/\n*.log\n").expect("rules");
        let found = ask(json!({"pattern": "**/*"}), &place(&directory, Reach::Workspace))
            .await
            .expect("found");
        assert!(found.text.starts_with("Found 1 file.\n"), "{}", found.text);
        assert_eq!(found.receipt.read.len(), 1);
        assert!(found.receipt.read[0].ends_with("/src/a.rs"));
    }

    #[tokio::test]
    async fn nothing_outside_is_listed_but_where_the_person_works() {
        let directory = workspace(&["inner/a.rs", "beside.rs"]);
        let inner = ToolPlace {
            workspace: directory.path().join("inner"),
            ..place(&directory, Reach::Workspace)
        };
        for arguments in [
            json!({"pattern": "../*.rs"}),
            json!({"pattern": "*.rs", "path": ".."}),
            json!({"pattern": "*.rs", "path": directory.path()}),
        ] {
            let why = ask(arguments, &inner).await.expect_err("outside");
            assert!(why.contains("outside the workspace"), "{why}");
        }
        let anywhere = ToolPlace {
            reach: Reach::Anywhere,
            ..inner
        };
        let found = ask(json!({"pattern": "../*.rs"}), &anywhere)
            .await
            .expect("found");
        assert!(found.text.contains("beside.rs"), "{}", found.text);
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_ends() {
        let directory = workspace(&["a.rs"]);
        let place = place(&directory, Reach::Workspace);
        place.cancelled.cancel();
        let why = ask(json!({"pattern": "*"}), &place).await.expect_err("cancelled");
        assert!(why.contains("cancelled"), "{why}");
        let why = look(
            &Workspace::of(&place).expect("a workspace"),
            &GlobArguments {
                pattern: "*".to_string(),
                path: None,
            },
            &place.cancelled,
        );
        assert_eq!(why.expect_err("cancelled"), "glob was cancelled.");
    }
}
