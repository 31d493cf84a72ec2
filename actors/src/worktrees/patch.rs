//! From a worktree to a patch, and away with the worktree: never before patch and ref are there and hold everything.

use super::capture::{add_everything, copy_index, ignored, remove_tree};
use super::git::{Git, broken, text_of, words};
use super::listing::{patched_files, read_counts, read_raw};
use super::registry::{Place, Registry, remove};
use super::wire::{WorktreeEntry, WorktreeStage};
use crate::gateways::WorktreeError;
use impresario_policies::domain::{Patch, RunId, Worktree};
use impresario_policies::worktree::{SUBMODULE, note, readable_path};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// A larger patch is not made: the worktree stays.
const PATCH_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// So many files are named one by one.
const FILES_NAMED_MAX: usize = 500;

/// Makes the patch of a run, or finds the one that was made.
pub(super) fn take(registry: &Registry, run: &RunId, worktree: &Worktree) -> Result<Patch, WorktreeError> {
    let place = registry.hold(run)?;
    let Some(mut entry) = place.read()? else {
        return Err(WorktreeError("its entry in the registry is gone".to_string()));
    };
    if let Some(patch) = &entry.patch {
        verify(&place, run, worktree, patch)?;
        return Ok(patch.clone());
    }
    let taken = take_in(&place, run, worktree);
    place.clean();
    let patch = taken?;
    entry.stage = WorktreeStage::Taken;
    entry.patch = Some(patch.clone());
    place.write(&entry)?;
    Ok(patch)
}

/// Git on the files of the worktree, by way of the person's repository: whatever became of `.git` there.
fn git_of(run: &RunId, worktree: &Worktree) -> Result<Git, WorktreeError> {
    if !worktree.git_directory.is_dir() {
        return Err(WorktreeError(format!(
            "the repository {} is gone",
            worktree.git_directory.display()
        )));
    }
    Git::at(run, &worktree.git_directory).without_filters()
}

fn take_in(place: &Place, run: &RunId, worktree: &Worktree) -> Result<Patch, WorktreeError> {
    if !worktree.directory.is_dir() {
        return Err(WorktreeError("it is gone".to_string()));
    }
    let repository = git_of(run, worktree)?;
    let index = place.scratch()?.join("index");
    let git = repository
        .on(&worktree.git_directory, &worktree.directory)
        .with_index(&index);
    copy_index(&place.index(), &index)?;
    if !index.exists() {
        git.call(&words!["read-tree", &worktree.snapshot])?;
    }
    let left_out = add_everything(&git, &worktree.directory)?;
    let tree = text_of(&git.call(&words!["write-tree"])?.value());
    let message = format!("What run {run} left");
    let mut commit = words![
        "commit-tree",
        "--no-gpg-sign",
        "-m",
        &message,
        &tree,
        "-p",
        &worktree.snapshot
    ]
    .to_vec();
    // What it committed stays within reach.
    let head = Git::at(run, &worktree.directory)
        .try_call(&words!["rev-parse", "--verify", "-q", "HEAD^{commit}"], None);
    let head = head
        .ok()
        .filter(|head| head.is_good())
        .map(|head| text_of(&head.value()));
    let own = head.filter(|head| Some(head) != worktree.base.as_ref() && *head != worktree.snapshot);
    if let Some(own) = &own {
        commit.extend(words!["-p", own]);
    }
    let result = text_of(&git.call(&commit)?.value());
    let file = place.patch();
    write_patch(&repository, worktree, &result, &file)?;
    let raw = repository.call(&words![
        "diff-tree",
        "-r",
        "-z",
        "-M",
        "--raw",
        "--no-abbrev",
        &worktree.snapshot,
        &result
    ])?;
    let counts = repository.call(&words![
        "diff-tree",
        "-r",
        "-z",
        "-M",
        "--numstat",
        "--no-ext-diff",
        "--no-textconv",
        &worktree.snapshot,
        &result
    ])?;
    let differences = read_raw(&raw.out)?;
    let mut notes = left_out;
    notes.extend(busy_submodules(&git, worktree)?);
    let complete = notes.is_empty();
    notes.extend(ignored(&git, "ignored by git", "not in the patch")?);
    let patch = Patch {
        sha256: digest(&file)?,
        bytes: fs::metadata(&file).map_err(broken)?.len(),
        file,
        result: result.clone(),
        files_in_all: u32::try_from(differences.len()).unwrap_or(u32::MAX),
        files: patched_files(&differences, &read_counts(&counts.out)?, FILES_NAMED_MAX),
        notes,
        complete,
    };
    // Nobody else writes this ref, so a lock that lies there was left by a git that was killed.
    remove(
        &worktree
            .git_directory
            .join(format!("{}.lock", worktree.reference)),
    )?;
    repository.call(&words!["update-ref", &worktree.reference, &result])?;
    verify(place, run, worktree, &patch)?;
    Ok(patch)
}

fn write_patch(git: &Git, worktree: &Worktree, result: &str, file: &Path) -> Result<(), WorktreeError> {
    let new = file.with_extension("patch.new");
    let out = File::create(&new).map_err(broken)?;
    git.call_into(
        &words![
            "diff-tree",
            "-p",
            "-r",
            "--binary",
            "--full-index",
            "-M",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            &worktree.snapshot,
            result
        ],
        &out,
    )?;
    if out.metadata().map_err(broken)?.len() > PATCH_BYTES_MAX {
        remove(&new)?;
        return Err(WorktreeError(format!(
            "the patch is larger than {} MB",
            PATCH_BYTES_MAX / 1_000_000
        )));
    }
    out.sync_all().map_err(broken)?;
    fs::rename(&new, file).map_err(broken)
}

fn digest(file: &Path) -> Result<String, WorktreeError> {
    let mut file = File::open(file).map_err(broken)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk).map_err(broken)? {
            0 => break,
            read => digest.update(&chunk[..read]),
        }
    }
    Ok(digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// A submodule in which somebody worked: its files are not in the patch.
fn busy_submodules(git: &Git, worktree: &Worktree) -> Result<Option<String>, WorktreeError> {
    let listed = git.call(&words!["ls-files", "--stage", "-z"])?;
    let links = listed.out.split(|byte| *byte == 0).filter_map(|line| {
        let mut parts = line.splitn(2, |byte| *byte == b'\t');
        let is_link = parts.next()?.starts_with(SUBMODULE.as_bytes());
        parts.next().filter(|_| is_link)
    });
    let is_busy = |path: &&[u8]| {
        let directory = worktree.directory.join(super::git::path_of(path));
        fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
    };
    let names: Vec<String> = links.filter(is_busy).map(readable_path).collect();
    Ok(note(&names, "submodules with files in them"))
}

/// The patch is the file that was written, applying it to what the run began with gives what it left, and the ref
/// keeps both.
pub(super) fn verify(
    place: &Place,
    run: &RunId,
    worktree: &Worktree,
    patch: &Patch,
) -> Result<(), WorktreeError> {
    let wrong = |what: &str| {
        Err(WorktreeError(format!(
            "the patch {} {what}",
            patch.file.display()
        )))
    };
    if !patch.file.is_file() {
        return wrong("is gone");
    }
    if digest(&patch.file)? != patch.sha256 {
        return wrong("is not as it was written");
    }
    let git = git_of(run, worktree)?;
    let of = |what: &str| -> Result<Vec<u8>, WorktreeError> {
        Ok(git.call(&words!["rev-parse", "--verify", what])?.value())
    };
    if of(&worktree.reference)? != patch.result.as_bytes() {
        return Err(WorktreeError(format!(
            "{} does not name the commit {} any more",
            worktree.reference, patch.result
        )));
    }
    let index = place.scratch()?.join("verified");
    let applied = git.with_index(&index);
    applied.call(&words!["read-tree", &worktree.snapshot])?;
    if patch.bytes > 0 {
        applied.call(&words!["apply", "--cached", "--binary", &patch.file])?;
    }
    let tree = applied.call(&words!["write-tree"])?.value();
    place.clean();
    match tree == of(&format!("{}^{{tree}}", patch.result))? {
        true => Ok(()),
        false => wrong("does not give what the run left"),
    }
}

/// Removes the worktree; with nothing changed there, everything else too.
pub(super) fn clear(registry: &Registry, run: &RunId) -> Result<(), WorktreeError> {
    let place = registry.hold(run)?;
    let Some(entry) = place.read()? else {
        return Ok(());
    };
    clear_in(&place, &entry)
}

pub(super) fn clear_in(place: &Place, entry: &WorktreeEntry) -> Result<(), WorktreeError> {
    let (Some(worktree), Some(patch)) = (&entry.worktree, &entry.patch) else {
        return Err(WorktreeError("its patch was not taken".to_string()));
    };
    verify(place, &entry.run, worktree, patch)?;
    if !patch.complete {
        return Err(WorktreeError("not everything in it is in the patch".to_string()));
    }
    remove_worktree(entry, worktree)?;
    if patch.files_in_all == 0 {
        forget(place, worktree)?;
    }
    Ok(())
}

/// The files go, whatever was kept of them.
pub(super) fn remove_worktree(entry: &WorktreeEntry, worktree: &Worktree) -> Result<(), WorktreeError> {
    if !worktree.git_directory.is_dir() {
        return remove(&worktree.directory);
    }
    let git = Git::at(&entry.run, &worktree.git_directory);
    let own = entry.own_directory.as_deref();
    remove_tree(&git, &worktree.git_directory, &worktree.directory, own)
}

/// The ref, the patch and the entry go.
pub(super) fn forget(place: &Place, worktree: &Worktree) -> Result<(), WorktreeError> {
    if worktree.git_directory.is_dir() {
        let git = Git::at(&place.run, &worktree.git_directory);
        git.call(&words!["update-ref", "-d", &worktree.reference])?;
    }
    place.forget()
}
