//! From a person's files to a worktree: what is committed, what is staged, what is neither.
//!
//! Their index and their files are only read. What they hold is written into git's store of objects through an index of
//! our own, and a ref keeps it there.

use super::git::{Git, broken, path_of, text_of, words};
use super::registry::{Place, Registry, remove};
use super::wire::{VERSION, WorktreeEntry, WorktreeStage};
use crate::gateways::{WorktreeAsk, WorktreeError};
use impresario_policies::domain::{RunId, Worktree};
use impresario_policies::worktree::{FileKind, choose_untracked, note, readable_path};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What keeps the objects of a run.
pub(super) fn reference_of(run: &RunId) -> String {
    format!("refs/impresario/{run}")
}

/// Makes the worktree of a run, or finds the one that was made.
pub(super) fn prepare(registry: &Registry, ask: &WorktreeAsk) -> Result<Worktree, WorktreeError> {
    let place = registry.hold(&ask.run)?;
    if let Some(entry) = place.read()?
        && entry.stage != WorktreeStage::Preparing
        && let Some(worktree) = entry.worktree
        && worktree.directory.is_dir()
    {
        return Ok(worktree);
    }
    let _earlier = match &ask.goes_on_in {
        None => None,
        Some(earlier) => Some(hand_over(registry, earlier, &ask.run)?),
    };
    let made = make(&place, ask);
    place.clean();
    if made.is_err() {
        undo(&place);
    }
    made
}

/// The run that worked there has ended; from now on its worktree is the new one's.
fn hand_over(registry: &Registry, earlier: &Worktree, to: &RunId) -> Result<Place, WorktreeError> {
    let run = earlier.reference.rsplit('/').next().unwrap_or_default();
    let run = RunId::try_from(run.to_string()).map_err(|error| WorktreeError(error.to_string()))?;
    let place = registry.hold(&run)?;
    if let Some(mut entry) = place.read()? {
        entry.went_on_in = Some(to.clone());
        place.write(&entry)?;
    }
    Ok(place)
}

fn make(place: &Place, ask: &WorktreeAsk) -> Result<Worktree, WorktreeError> {
    let source = Source::find(&ask.run, &ask.workspace)?;
    let directory = match &ask.goes_on_in {
        Some(earlier) => earlier.directory.clone(),
        None => place.tree(),
    };
    let was_half_made = place.read()?.is_some_and(|entry| entry.half_made);
    if was_half_made || !directory.is_dir() || ask.goes_on_in.is_none() {
        remove_tree(&source.git, &source.common, &directory, None)?;
    }
    let mut entry = WorktreeEntry {
        version: VERSION,
        run: ask.run.clone(),
        workspace: ask.workspace.clone(),
        stage: WorktreeStage::Preparing,
        half_made: !directory.is_dir(),
        directory: directory.clone(),
        worktree: None,
        own_directory: None,
        patch: None,
        went_on_in: None,
    };
    place.write(&entry)?;
    let scratch = place.scratch()?;
    let reference = reference_of(&ask.run);
    // Nobody else writes this ref, so a lock that lies there was left by a git that was killed.
    remove(&source.common.join(format!("{reference}.lock")))?;
    let captured = match &ask.goes_on_in {
        None => source.capture(&ask.run, &scratch)?,
        Some(earlier) => source.capture_earlier(earlier)?,
    };
    source
        .git
        .call(&words!["update-ref", &reference, &captured.snapshot])?;
    if entry.half_made {
        source.check_out(&directory, &captured, &place.index())?;
    }
    let own = Git::at(&ask.run, &directory).call(&words!["rev-parse", "--absolute-git-dir"])?;
    let workspace = directory.join(&source.below);
    fs::create_dir_all(&workspace).map_err(broken)?;
    let worktree = Worktree {
        repository: source.top.clone(),
        git_directory: source.common.clone(),
        directory,
        workspace,
        base: captured.base,
        snapshot: captured.snapshot,
        reference,
        notes: captured.notes,
    };
    entry.stage = WorktreeStage::Ready;
    entry.half_made = false;
    entry.own_directory = Some(path_of(&own.value()));
    entry.worktree = Some(worktree.clone());
    place.write(&entry)?;
    Ok(worktree)
}

/// Nobody has worked there: what was half made goes.
fn undo(place: &Place) {
    let Ok(Some(entry)) = place.read() else { return };
    if entry.stage != WorktreeStage::Preparing {
        return;
    }
    if let Ok(source) = Source::find(&place.run, &entry.workspace) {
        if entry.half_made {
            let _ = remove_tree(&source.git, &source.common, &entry.directory, None);
        }
        let _ = source
            .git
            .call(&words!["update-ref", "-d", &reference_of(&place.run)]);
    }
    let _ = place.forget();
}

/// The worktree of a run that ended before it was ready goes.
pub(super) fn forget_half_made(place: &Place) {
    undo(place);
}

/// Removes a worktree, with what git keeps of it, however far it came. Git's own prune would look at everybody's.
pub(super) fn remove_tree(
    git: &Git,
    common: &Path,
    directory: &Path,
    own: Option<&Path>,
) -> Result<(), WorktreeError> {
    let tried = git.try_call(
        &words!["worktree", "remove", "--force", "--force", directory],
        None,
    )?;
    if tried.is_good() && !directory.exists() {
        return Ok(());
    }
    remove(directory)?;
    // What git keeps has the name of the directory, unless that was taken.
    let name = directory.file_name().unwrap_or_default();
    let own = own.map_or_else(|| common.join("worktrees").join(name), Path::to_path_buf);
    let points_here =
        fs::read(own.join("gitdir")).is_ok_and(|text| path_of(text.trim_ascii()).parent() == Some(directory));
    match own.parent() == Some(&common.join("worktrees")) && points_here {
        true => remove(&own),
        false => Ok(()),
    }
}

/// The person's repository, as the run finds it.
pub(super) struct Source {
    pub(super) git: Git,
    /// Where their files begin.
    pub(super) top: PathBuf,
    /// What all worktrees share.
    pub(super) common: PathBuf,
    /// The workspace, below the top.
    below: PathBuf,
}

struct Captured {
    base: Option<String>,
    snapshot: String,
    /// What the worktree holds at first.
    begins_with: String,
    /// What was staged; none where that cannot be said.
    staged: Option<String>,
    notes: Vec<String>,
}

impl Source {
    pub(super) fn find(run: &RunId, workspace: &Path) -> Result<Self, WorktreeError> {
        let git = Git::at(run, workspace);
        let shown = workspace.display();
        let inside = git.try_call(&words!["rev-parse", "--is-inside-work-tree"], None)?;
        if !inside.is_good() {
            let why = git.call(&words!["rev-parse", "--is-inside-work-tree"]);
            let said = why.err().map_or_else(String::new, |error| error.0);
            let why = match said.contains("not a git repository") {
                true => "it is not in a git repository. Make one (`git init`), or run without isolation"
                    .to_string(),
                false => said,
            };
            return Err(WorktreeError(format!("There is no worktree for {shown}: {why}")));
        }
        if inside.value() != b"true" {
            return Err(WorktreeError(format!(
                "There is no worktree for {shown}: it is in a bare repository, which has no files of a person"
            )));
        }
        let git = git.without_filters()?;
        let place = |what: &str| -> Result<PathBuf, WorktreeError> {
            let called = git.call(&words!["rev-parse", "--path-format=absolute", what])?;
            let path = path_of(&called.value());
            match path.to_str() {
                Some(_) => Ok(path),
                None => Err(WorktreeError(format!(
                    "There is no worktree for {shown}: the name of {} is no UTF-8",
                    path.display()
                ))),
            }
        };
        let top = place("--show-toplevel")?;
        let common = place("--git-common-dir")?;
        let below = git.call(&words!["rev-parse", "--show-prefix"])?.value();
        Ok(Self {
            git: git.on_directory(&top),
            top,
            common,
            below: path_of(&below),
        })
    }

    /// Writes what the person's files hold into git's store.
    fn capture(&self, run: &RunId, scratch: &Path) -> Result<Captured, WorktreeError> {
        let head = self
            .git
            .try_call(&words!["rev-parse", "--verify", "-q", "HEAD^{commit}"], None)?;
        let base = head.is_good().then(|| text_of(&head.value()));
        let index = scratch.join("index");
        let theirs = self.git.call(&words![
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "index"
        ])?;
        copy_index(&path_of(&theirs.value()), &index)?;
        let git = self.git.with_index(&index);
        let mut notes = Vec::new();
        let staged = git.try_call(&words!["write-tree"], None)?;
        let staged = match staged.is_good() {
            true => Some(text_of(&staged.value())),
            false => {
                notes.push("a merge was under way: what was staged is not told apart".to_string());
                None
            }
        };
        notes.extend(add_everything(&git, &self.top)?);
        let tree = text_of(&git.call(&words!["write-tree"])?.value());
        notes.extend(submodules(&git)?);
        notes.extend(ignored(&git, "ignored by git", "not there")?);
        if !git.filters().is_empty() {
            let names = git.filters().join(", ");
            notes.push(format!(
                "filters are not run ({names}): such files are as git stores them"
            ));
        }
        let message = format!("What the files held when run {run} began");
        let mut commit = words!["commit-tree", "--no-gpg-sign", "-m", &message, &tree].to_vec();
        if let Some(base) = &base {
            commit.extend(words!["-p", base]);
        }
        let snapshot = text_of(&git.call(&commit)?.value());
        Ok(Captured {
            base,
            begins_with: snapshot.clone(),
            snapshot,
            staged,
            notes,
        })
    }

    /// What an earlier run began with, and what it left.
    fn capture_earlier(&self, earlier: &Worktree) -> Result<Captured, WorktreeError> {
        let left = self.git.call(&words![
            "rev-parse",
            "--verify",
            &format!("{}^{{commit}}", earlier.reference)
        ]);
        let left = left.map_err(|error| {
            WorktreeError(format!(
                "What the run before changed cannot be found any more: {error}"
            ))
        })?;
        Ok(Captured {
            base: earlier.base.clone(),
            snapshot: earlier.snapshot.clone(),
            begins_with: text_of(&left.value()),
            staged: None,
            notes: earlier.notes.clone(),
        })
    }

    /// The files as they are, on the commit they were changed from, staged where they were staged: what git says there
    /// is what it says to the person.
    fn check_out(&self, directory: &Path, captured: &Captured, known: &Path) -> Result<(), WorktreeError> {
        let commit = captured.base.as_ref().unwrap_or(&captured.snapshot);
        self.git.call(&words![
            "worktree",
            "add",
            "--detach",
            "--no-checkout",
            "--lock",
            directory,
            commit
        ])?;
        let git = self.git.on_directory(directory);
        git.call(&words!["read-tree", "--reset", "-u", &captured.begins_with])?;
        let index = git.call(&words![
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "index"
        ])?;
        copy_index(&path_of(&index.value()), known)?;
        let staged = captured.staged.as_ref().filter(|_| captured.base.is_some());
        if let Some(staged) = staged {
            git.call(&words!["read-tree", "-i", "-m", &captured.snapshot, staged])?;
        }
        Ok(())
    }
}

/// With its time: git takes a file for unchanged only if it is older than the index.
pub(super) fn copy_index(from: &Path, to: &Path) -> Result<(), WorktreeError> {
    let modified = match fs::metadata(from) {
        Ok(metadata) => metadata.modified().map_err(broken)?,
        // A repository where nothing was ever added.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(broken(error)),
    };
    fs::copy(from, to).map_err(broken)?;
    let copy = File::options().write(true).open(to).map_err(broken)?;
    copy.set_modified(modified).map_err(broken)
}

/// Puts what the files hold into the index of `git`, and says what is left out.
pub(super) fn add_everything(git: &Git, top: &Path) -> Result<Vec<String>, WorktreeError> {
    git.call(&words!["add", "-u"])?;
    let listed = git.call(&words!["ls-files", "--others", "--exclude-standard", "-z"])?;
    let paths: Vec<&[u8]> = listed
        .out
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .collect();
    let files: Vec<(String, FileKind)> = paths
        .iter()
        .map(|path| (readable_path(path), kind_of(top, path)))
        .collect();
    let selection = choose_untracked(&files);
    let mut chosen = Vec::new();
    for place in selection.taken {
        chosen.extend_from_slice(paths[place]);
        chosen.push(0);
    }
    git.call_with(
        &words!["update-index", "--add", "--remove", "-z", "--stdin"],
        Some(&chosen),
    )?;
    Ok(selection.notes)
}

fn kind_of(top: &Path, path: &[u8]) -> FileKind {
    if path.ends_with(b"/") {
        return FileKind::Directory;
    }
    match fs::symlink_metadata(top.join(OsStr::from_bytes(path))) {
        Ok(metadata) if metadata.is_file() => FileKind::File {
            bytes: metadata.len(),
        },
        Ok(metadata) if metadata.is_symlink() => FileKind::Link,
        Ok(metadata) if metadata.is_dir() => FileKind::Directory,
        Ok(_) => FileKind::Special,
        Err(_) => FileKind::Gone,
    }
}

/// What git leaves out by the person's own word, and what that means here.
pub(super) fn ignored(git: &Git, why: &str, fate: &str) -> Result<Option<String>, WorktreeError> {
    let listed = git.call(&words![
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--directory",
        "-z"
    ])?;
    let names = listed
        .out
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(readable_path).collect();
    Ok(note(&names, &format!("{why}, so {fate}")))
}

fn submodules(git: &Git) -> Result<Option<String>, WorktreeError> {
    let listed = git.call(&words!["ls-files", "--stage", "-z"])?;
    let links = listed
        .out
        .split(|byte| *byte == 0)
        .filter(|line| line.starts_with(b"160000 "));
    let names: Vec<String> = links
        .filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1))
        .map(readable_path)
        .collect();
    Ok(note(&names, "submodules, whose directories are empty"))
}
