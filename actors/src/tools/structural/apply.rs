//! Several files become others, all of them or none.

use super::files::{Pace, at};
use super::records::{RecordDirectory, Records};
use super::replace::Change;
use crate::tools::place::Workspace;
use crate::whole_file::{Unfinished, open_itself};
use impresario_policies::domain::{FileChanged, FileState};
use impresario_policies::structural::records::{Restoring, decide_restoring};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A replacement that is made, or taken back.
pub(super) struct Applied {
    pub(super) number: u64,
    pub(super) patch: PathBuf,
    pub(super) files: Vec<FileChanged>,
}

/// One file that becomes another one.
pub(super) struct Step {
    pub(super) path: PathBuf,
    /// SHA-256 of what is there now.
    pub(super) from: String,
    pub(super) to: Vec<u8>,
}

/// Makes a replacement. The way back is on disk before the first file changes.
pub(super) fn apply(records: &Records, changes: &[Change], pace: &Pace) -> Result<Applied, String> {
    pace.hold()?;
    let record = records.begin(changes)?;
    let steps: Vec<Step> = changes
        .iter()
        .map(|change| Step {
            path: change.path.clone(),
            from: sha256(change.old.as_bytes()),
            to: change.new.clone().into_bytes(),
        })
        .collect();
    let back = |place: usize| {
        changes
            .get(place)
            .map(|change| change.old.clone().into_bytes())
            .unwrap_or_default()
    };
    if let Err(why) = step_by_step(&steps, pace).and_then(|()| record.mark_applied()) {
        return Err(given_up(&why, &steps, &back, &record));
    }
    let files = changes.iter().zip(&steps).map(|(change, step)| FileChanged {
        path: change.shown.clone(),
        before: FileState::of(change.old.as_bytes()),
        after: Some(FileState::of(&step.to)),
    });
    Ok(Applied {
        number: record.number,
        patch: record.patch(),
        files: files.collect(),
    })
}

/// After a failure every file is what it was; the record says so, if the disk still takes a word.
fn given_up(why: &str, steps: &[Step], back: &dyn Fn(usize) -> Vec<u8>, record: &RecordDirectory) -> String {
    let left = go_back(steps, back);
    if left.is_empty() {
        // Without the mark, the next call looks once more and finds nothing to do.
        let _ = record.mark_undone();
        return format!("Nothing is changed: {why}.");
    }
    format!(
        "{why}. These files could not be made what they were, and are looked at again at the next call:\n{}",
        left.join("\n")
    )
}

/// Takes a replacement back: all of its files, or none where one is another by now.
pub(super) fn undo(
    records: &Records,
    number: &str,
    workspace: &Workspace,
    pace: &Pace,
) -> Result<Applied, String> {
    let record = records.applied(number)?;
    let manifest = record.manifest()?;
    let (mut steps, mut made, mut files, mut theirs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, file) in manifest.files.iter().enumerate() {
        let shown = workspace.show(&file.path);
        let now = fs::read(&file.path).ok();
        if now.is_some() {
            workspace
                .resolve(&file.path.to_string_lossy())
                .map_err(|why| format!("Replacement {} is not of this workspace: {why}", record.number))?;
        }
        let hash = now.as_deref().map(sha256);
        match decide_restoring(hash.as_deref(), &file.old, &file.new) {
            Restoring::Leave => {}
            Restoring::Tell => theirs.push(shown),
            Restoring::Write => {
                steps.push(Step {
                    path: file.path.clone(),
                    from: file.new.clone(),
                    to: record.old(place, file)?,
                });
                let now = now.unwrap_or_default();
                files.push(FileChanged {
                    path: shown,
                    before: FileState::of(&now),
                    after: steps.last().map(|step| FileState::of(&step.to)),
                });
                made.push(now);
            }
        }
    }
    if !theirs.is_empty() {
        return Err(format!(
            "Nothing is taken back, for these files were changed since; the patch is {}:\n{}",
            record.patch().display(),
            theirs.join("\n")
        ));
    }
    pace.hold()?;
    record.unmark_applied()?;
    let back = |place: usize| made.get(place).cloned().unwrap_or_default();
    if let Err(why) = step_by_step(&steps, pace).and_then(|()| record.mark_undone()) {
        let left = go_back(&steps, &back);
        if left.is_empty() {
            record.mark_applied()?;
            return Err(format!("Nothing is taken back: {why}."));
        }
        return Err(format!("{why}. The rest is taken back at the next call."));
    }
    Ok(Applied {
        number: record.number,
        patch: record.patch(),
        files,
    })
}

/// Does them in order; when one fails, or nobody wants it any more, those before it are for the caller to take back.
fn step_by_step(steps: &[Step], pace: &Pace) -> Result<(), String> {
    for step in steps {
        pace.hold()
            .map_err(|why| why.trim_end_matches('.').to_lowercase())?;
        replace_file(step)?;
    }
    Ok(())
}

/// Those that were done become what they were. Says which could not.
fn go_back(steps: &[Step], back: &dyn Fn(usize) -> Vec<u8>) -> Vec<String> {
    let mut left = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let done = sha256(&step.to);
        let Ok(now) = fs::read(&step.path) else {
            continue;
        };
        if sha256(&now) != done || done == step.from {
            continue;
        }
        let again = Step {
            path: step.path.clone(),
            from: done,
            to: back(place),
        };
        if let Err(why) = replace_file(&again) {
            left.push(why);
        }
    }
    left
}

/// A file becomes another one at once, with its mode, owner and attributes, if it is what it is taken for.
pub(super) fn replace_file(step: &Step) -> Result<(), String> {
    let said = |error: std::io::Error| at(&step.path, &error);
    let (old, metadata, now) = read_plain(&step.path)?;
    if sha256(&now) != step.from {
        return Err(format!("{} was changed meanwhile", step.path.display()));
    }
    if metadata.nlink() > 1 {
        return Err(format!(
            "{} has other names (hard links), which would stay what they are",
            step.path.display()
        ));
    }
    let directory = step.path.parent().unwrap_or(Path::new("/"));
    let mut new = Unfinished::within(directory).map_err(said)?;
    new.make_like(&old, &metadata).map_err(said)?;
    new.write(&step.to).map_err(said)?;
    let (_, again, _) = read_plain(&step.path)?;
    let same = |of: &Metadata| {
        (
            of.dev(),
            of.ino(),
            of.len(),
            of.mtime(),
            of.mtime_nsec(),
            of.ctime_nsec(),
        )
    };
    match same(&again) == same(&metadata) {
        true => new.put(&step.path).map_err(said),
        false => Err(format!("{} was changed meanwhile", step.path.display())),
    }
}

/// What lies there, if it is a file and no link to one.
fn read_plain(path: &Path) -> Result<(File, Metadata, Vec<u8>), String> {
    let said = |error: std::io::Error| at(path, &error);
    let seen = fs::symlink_metadata(path).map_err(said)?;
    if !seen.is_file() {
        return Err(format!("{} is no file any more", path.display()));
    }
    let mut file = open_itself(path).map_err(said)?;
    let metadata = file.metadata().map_err(said)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(said)?;
    Ok((file, metadata, bytes))
}

/// In hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
