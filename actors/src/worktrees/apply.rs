//! From a patch to the person's files: all of it or nothing, and nothing that they changed meanwhile.
//!
//! Every file is looked at before any is touched. What is new is laid ready beside the repository, what is old is kept
//! there, and each file changes in one step; when one cannot, those before it go back. After a kill in the middle each
//! file is as it was or as it shall be, so that applying again finishes it.

use super::capture::Source;
use super::git::{Git, broken, path_of, words};
use super::listing::{Difference, read_raw};
use super::patch::verify;
use super::registry::{Place, Registry, remove};
use super::wire::{WorktreeEntry, WorktreeStage};
use crate::gateways::WorktreeError;
use impresario_policies::domain::{RunId, Worktree};
use impresario_policies::worktree::{ApplyDecision, FileToApply, Now, decide_apply, readable_path};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What became of an order to apply a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// So many files changed, or would.
    Files(usize),
    /// Everything is as the patch wants it.
    Already,
    /// Nothing was touched: these stand in the way.
    Conflicts(Vec<String>),
}

/// Applies the patch of a run, or only says what would happen.
pub(super) fn apply(registry: &Registry, run: &RunId, only_look: bool) -> Result<Applied, WorktreeError> {
    let place = registry.hold(run)?;
    let Some(entry) = place.read()? else {
        return Err(WorktreeError(format!("Run {run} has no worktree.")));
    };
    let (Some(worktree), Some(patch)) = (&entry.worktree, &entry.patch) else {
        return Err(WorktreeError(format!("Run {run} has no patch yet.")));
    };
    verify(&place, run, worktree, patch)?;
    let target = Target::find(run, worktree)?;
    let listed = target.git.call(&words![
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        &worktree.snapshot,
        &patch.result
    ])?;
    let differences = read_raw(&listed.out)?;
    let scratch = place.scratch()?;
    let looked = target.look(&differences, worktree, &scratch.join("index"))?;
    let done = match decide_apply(&looked.files) {
        ApplyDecision::Refuse(conflicts) => Ok(Applied::Conflicts(conflicts)),
        ApplyDecision::AppliedAlready if only_look => Ok(Applied::Already),
        ApplyDecision::AppliedAlready => {
            remember(&place, &entry, WorktreeStage::Applied)?;
            Ok(Applied::Already)
        }
        ApplyDecision::Apply(wanted) if only_look => Ok(Applied::Files(wanted.len())),
        ApplyDecision::Apply(wanted) => {
            let wanted: Vec<Wanted> = wanted
                .into_iter()
                .map(|at| Wanted {
                    path: path_of(&differences[at].path),
                    is_there: differences[at].before.is_some(),
                    shall_be: differences[at].after.is_some(),
                    same_mode: mode_of(&differences[at].before) == mode_of(&differences[at].after),
                    seen: looked.seen[at].clone(),
                })
                .collect();
            target.stage(&wanted, &patch.result, &scratch.join("result"))?;
            remember(&place, &entry, WorktreeStage::Applying)?;
            match target.replace(&wanted) {
                Ok(()) => {
                    remember(&place, &entry, WorktreeStage::Applied)?;
                    Ok(Applied::Files(wanted.len()))
                }
                Err(stopped) => {
                    // Everything went back, so it is as if nobody had tried; else it stays said that it was cut off.
                    if stopped.all_back {
                        remember(&place, &entry, entry.stage)?;
                    }
                    match stopped.is_conflict && stopped.all_back {
                        true => Ok(Applied::Conflicts(vec![stopped.why])),
                        false => Err(WorktreeError(stopped.why)),
                    }
                }
            }
        }
    };
    place.clean();
    if !matches!(done, Err(_) | Ok(Applied::Conflicts(_))) || only_look {
        remove(&target.beside)?;
    }
    done
}

fn mode_of(entry: &Option<impresario_policies::worktree::GitEntry>) -> Option<&str> {
    entry.as_ref().map(|entry| entry.mode.as_str())
}

fn remember(place: &Place, entry: &WorktreeEntry, stage: WorktreeStage) -> Result<(), WorktreeError> {
    place.write(&WorktreeEntry {
        stage,
        ..entry.clone()
    })
}

/// The person's files.
struct Target {
    git: Git,
    top: PathBuf,
    /// A directory of ours, where a file can be moved from in one step.
    beside: PathBuf,
}

/// One file that is to change.
struct Wanted {
    path: PathBuf,
    is_there: bool,
    shall_be: bool,
    same_mode: bool,
    seen: Option<Seen>,
}

/// By what it is told that nobody touched a file since it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

struct Looked {
    files: Vec<FileToApply>,
    seen: Vec<Option<Seen>>,
}

/// Why it was not done to the end.
#[derive(Debug)]
struct Stopped {
    why: String,
    is_conflict: bool,
    all_back: bool,
}

fn seen_at(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Target {
    fn find(run: &RunId, worktree: &Worktree) -> Result<Self, WorktreeError> {
        let top = &worktree.repository;
        if !top.is_dir() {
            return Err(WorktreeError(format!("{} is not there any more.", top.display())));
        }
        let source = Source::find(run, top)?;
        if source.common != worktree.git_directory || source.top != *top {
            return Err(WorktreeError(format!(
                "{} is another repository than the one that the run began with.",
                top.display()
            )));
        }
        let own = source.git.call(&words!["rev-parse", "--absolute-git-dir"])?;
        let own = path_of(&own.value());
        Ok(Self {
            git: source.git.on(&own, top),
            top: top.clone(),
            beside: own.join("impresario").join(run.as_str()),
        })
    }

    /// What lies where the patch wants to change something.
    fn look(
        &self,
        differences: &[Difference],
        worktree: &Worktree,
        index: &Path,
    ) -> Result<Looked, WorktreeError> {
        let going: BTreeSet<&[u8]> = differences
            .iter()
            .filter(|difference| difference.after.is_none())
            .map(|difference| difference.path.as_slice())
            .collect();
        let mut obstacles = BTreeMap::new();
        let mut seen = Vec::new();
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for (at, difference) in differences.iter().enumerate() {
            let obstacle = self.obstacle(&difference.path, difference.after.is_none(), &going);
            match obstacle.map_err(broken)? {
                Ok(metadata) => {
                    let list = if metadata.is_some() { &mut there } else { &mut gone };
                    list.extend_from_slice(&difference.path);
                    list.push(0);
                    seen.push(metadata.as_ref().map(Seen::of));
                }
                Err(why) => {
                    seen.push(None);
                    obstacles.insert(at, why);
                }
            }
        }
        let git = self.git.with_index(index);
        git.call(&words!["read-tree", &worktree.snapshot])?;
        // A file can have taken the place of a directory, or the other way round: what is gone goes first.
        git.call_with(
            &words!["update-index", "--force-remove", "-z", "--stdin"],
            Some(&gone),
        )?;
        git.call_with(&words!["update-index", "--add", "-z", "--stdin"], Some(&there))?;
        let changed = git.call(&words![
            "diff-index",
            "--cached",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            &worktree.snapshot
        ])?;
        let changed: BTreeMap<Vec<u8>, _> = read_raw(&changed.out)?
            .into_iter()
            .map(|difference| (difference.path, difference.after))
            .collect();
        let files = differences.iter().enumerate().map(|(at, difference)| {
            let now = match (obstacles.remove(&at), changed.get(&difference.path)) {
                (Some(why), _) => Now::Obstructed(why),
                (None, Some(now)) => now.clone().map_or(Now::Absent, Now::There),
                (None, None) => difference.before.clone().map_or(Now::Absent, Now::There),
            };
            FileToApply {
                path: readable_path(&difference.path),
                before: difference.before.clone(),
                after: difference.after.clone(),
                now,
            }
        });
        Ok(Looked {
            files: files.collect(),
            seen,
        })
    }

    /// What git cannot read as a file: it stands in the way unless the patch takes it away itself.
    fn obstacle(
        &self,
        path: &[u8],
        goes: bool,
        going: &BTreeSet<&[u8]>,
    ) -> io::Result<Result<Option<Metadata>, String>> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (end, _) in ends {
            let above = &path[..end];
            match seen_at(&self.top.join(path_of(above)))? {
                None => return Ok(Ok(None)),
                Some(metadata) if metadata.is_dir() => {}
                Some(_) if goes || going.contains(above) => return Ok(Ok(None)),
                Some(_) => return Ok(Err(format!("{} is no directory", readable_path(above)))),
            }
        }
        let metadata = seen_at(&self.top.join(path_of(path)))?;
        Ok(match metadata {
            // What is to go has gone.
            Some(metadata) if metadata.is_dir() && goes => Ok(None),
            Some(metadata) if metadata.is_dir() => {
                let below = [path, b"/"].concat();
                match going.iter().any(|gone| gone.starts_with(&below)) {
                    true => Ok(None),
                    false => Err("a directory is there".to_string()),
                }
            }
            Some(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
                Err("neither file nor link is there".to_string())
            }
            metadata => Ok(metadata),
        })
    }

    fn new_of(&self, path: &Path) -> PathBuf {
        self.beside.join("new").join(path)
    }

    fn old_of(&self, at: usize) -> PathBuf {
        self.beside.join("old").join(at.to_string())
    }

    /// Lays the new files ready, and keeps the old ones.
    fn stage(&self, wanted: &[Wanted], result: &str, index: &Path) -> Result<(), WorktreeError> {
        remove(&self.beside)?;
        fs::create_dir_all(self.beside.join("old")).map_err(broken)?;
        fs::create_dir_all(self.beside.join("new")).map_err(broken)?;
        let git = self.git.with_index(index);
        git.call(&words!["read-tree", result])?;
        let mut new = Vec::new();
        for wanted in wanted.iter().filter(|wanted| wanted.shall_be) {
            new.extend_from_slice(wanted.path.as_os_str().as_encoded_bytes());
            new.push(0);
        }
        let mut prefix = self.beside.join("new").into_os_string();
        prefix.push("/");
        let mut option = std::ffi::OsString::from("--prefix=");
        option.push(prefix);
        git.call_with(
            &words!["checkout-index", "-f", "-z", "--stdin", &option],
            Some(&new),
        )?;
        for (at, wanted) in wanted.iter().enumerate().filter(|(_, wanted)| wanted.is_there) {
            let theirs = self.top.join(&wanted.path);
            link_or_copy(&theirs, &self.old_of(at)).map_err(broken)?;
            if wanted.shall_be && wanted.same_mode {
                keep_permissions(&theirs, &self.new_of(&wanted.path)).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// What goes, goes first: a file may take the place of a directory.
    fn replace(&self, wanted: &[Wanted]) -> Result<(), Stopped> {
        let order = (0..wanted.len())
            .filter(|at| !wanted[*at].shall_be)
            .chain((0..wanted.len()).filter(|at| wanted[*at].shall_be));
        let mut done = Vec::new();
        for at in order {
            let outcome = self.replace_one(&wanted[at]);
            match outcome {
                Ok(true) => done.push(at),
                Ok(false) => {
                    let why = format!("{}: was changed meanwhile", wanted[at].path.display());
                    return Err(self.go_back(wanted, &done, why, true));
                }
                Err(error) => {
                    let why = format!("{} cannot be changed: {error}", wanted[at].path.display());
                    return Err(self.go_back(wanted, &done, why, false));
                }
            }
        }
        Ok(())
    }

    /// False where somebody else was quicker.
    fn replace_one(&self, wanted: &Wanted) -> io::Result<bool> {
        let path = self.top.join(&wanted.path);
        let now = seen_at(&path)?.filter(|metadata| !metadata.is_dir());
        let now = now.as_ref().map(Seen::of);
        if now != wanted.seen {
            return Ok(false);
        }
        if !wanted.shall_be {
            fs::remove_file(&path)?;
            self.drop_empty(&path);
            return Ok(true);
        }
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir(&path)?;
        }
        put(&self.new_of(&wanted.path), &path)?;
        Ok(true)
    }

    /// As git does: a directory without files is none.
    fn drop_empty(&self, path: &Path) {
        let mut above = path.parent();
        while let Some(directory) = above.filter(|directory| *directory != self.top) {
            if fs::remove_dir(directory).is_err() {
                return;
            }
            above = directory.parent();
        }
    }

    fn go_back(&self, wanted: &[Wanted], done: &[usize], why: String, is_conflict: bool) -> Stopped {
        let mut stuck = Vec::new();
        for at in done.iter().rev() {
            let file = &wanted[*at];
            let path = self.top.join(&file.path);
            let back = match file.is_there {
                true => path
                    .parent()
                    .map_or(Ok(()), fs::create_dir_all)
                    .and_then(|()| put(&self.old_of(*at), &path)),
                false => fs::remove_file(&path).inspect(|()| self.drop_empty(&path)),
            };
            if let Err(error) = back {
                stuck.push(format!("{} ({error})", file.path.display()));
            }
        }
        match stuck.is_empty() {
            true => Stopped {
                why: format!("{why}. Everything is as it was before."),
                is_conflict,
                all_back: true,
            },
            false => Stopped {
                why: format!(
                    "{why}. These could not be put back: {}. What was there is in {}.",
                    stuck.join(", "),
                    self.beside.display()
                ),
                is_conflict,
                all_back: false,
            },
        }
    }
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_) => copy(from, to),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match from.is_symlink() {
        true => std::os::unix::fs::symlink(fs::read_link(from)?, to),
        false => fs::copy(from, to).map(drop),
    }
}

/// In one step, from another file system too.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut name = std::ffi::OsString::from(".impresario-");
            name.push(to.file_name().unwrap_or_default());
            let near = to.with_file_name(name);
            copy(from, &near)?;
            fs::rename(&near, to)
        }
        renamed => renamed,
    }
}

/// Whoever may not read a file now may not read it then.
fn keep_permissions(theirs: &Path, new: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(theirs)?;
    if !metadata.is_file() || fs::symlink_metadata(new)?.is_symlink() {
        return Ok(());
    }
    fs::set_permissions(
        new,
        fs::Permissions::from_mode(metadata.permissions().mode() & 0o777),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(path: &str, top: &Path, shall_be: bool) -> Wanted {
        let seen = seen_at(&top.join(path)).unwrap();
        Wanted {
            path: path.into(),
            is_there: seen.is_some(),
            shall_be,
            same_mode: true,
            seen: seen.as_ref().map(Seen::of),
        }
    }

    /// Three files of the person, of which one is to go and one to change, and two new ones.
    fn staged() -> (tempfile::TempDir, Target, Vec<Wanted>) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("person");
        let target = Target {
            git: Git::at(&RunId::new(1, 1), &top),
            top: top.clone(),
            beside: directory.path().join("beside"),
        };
        fs::create_dir_all(top.join("d")).unwrap();
        for file in ["a", "d/b", "c"] {
            fs::write(top.join(file), format!("{file} of the person")).unwrap();
        }
        let wanted = vec![
            wanted("a", &top, true),
            wanted("d/b", &top, false),
            wanted("e/new", &top, true),
            wanted("c", &top, true),
        ];
        fs::create_dir_all(target.beside.join("old")).unwrap();
        fs::create_dir_all(target.beside.join("new/e")).unwrap();
        for (at, file) in wanted.iter().enumerate() {
            if file.is_there {
                link_or_copy(&top.join(&file.path), &target.old_of(at)).unwrap();
            }
            if file.shall_be {
                fs::write(target.new_of(&file.path), "new").unwrap();
            }
        }
        (directory, target, wanted)
    }

    fn files(top: &Path) -> Vec<String> {
        let read = |file: &str| fs::read_to_string(top.join(file)).unwrap_or_else(|_| "-".to_string());
        ["a", "d/b", "c", "e/new"].map(read).to_vec()
    }

    const AS_BEFORE: [&str; 4] = ["a of the person", "d/b of the person", "c of the person", "-"];

    #[test]
    fn everything_changes() {
        let (_directory, target, wanted) = staged();
        assert!(target.replace(&wanted).is_ok());
        assert_eq!(files(&target.top), ["new", "-", "new", "new"]);
        assert!(
            !target.top.join("d").exists(),
            "a directory without files is none"
        );
    }

    #[test]
    fn one_that_cannot_change_sends_all_others_back() {
        let (_directory, target, wanted) = staged();
        fs::remove_file(target.new_of(Path::new("c"))).unwrap();
        let stopped = target.replace(&wanted).unwrap_err();
        assert!(stopped.all_back && !stopped.is_conflict, "{}", stopped.why);
        assert_eq!(files(&target.top), AS_BEFORE);
        assert!(!target.top.join("e").exists());
    }

    #[test]
    fn one_that_was_changed_since_it_was_looked_at_sends_all_others_back() {
        let (_directory, target, wanted) = staged();
        fs::write(target.top.join("c.new"), "c of the person").unwrap();
        fs::rename(target.top.join("c.new"), target.top.join("c")).unwrap();
        let stopped = target.replace(&wanted).unwrap_err();
        assert!(stopped.all_back && stopped.is_conflict, "{}", stopped.why);
        assert_eq!(files(&target.top), AS_BEFORE);
    }
}
