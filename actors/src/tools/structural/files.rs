//! The files that are looked through: those that git would show, of one language, bounded in everything.

use crate::tools::place::{Workspace, plain};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use impresario_policies::structural::matches::{LeftOut, Seen};
use impresario_structural::{Ended, Language, Query, Watch};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A larger file is not parsed: it would take seconds, and what people write is smaller.
const FILE_BYTES_MAX: u64 = 2_000_000;
/// More entries of directories are not looked at.
const ENTRIES_MAX: usize = 1_000_000;
/// More threads only wait for each other's directories.
const WALKERS_MAX: usize = 8;
/// What is found until then is told; a little before the tool itself would be told to stop.
const WITHIN: Duration = Duration::from_secs(50);
const PATHS_MAX: usize = 100;
const GLOBS_MAX: usize = 100;

/// Whether looking is to go on.
#[derive(Clone)]
pub(super) struct Pace {
    begun: Instant,
    cancelled: CancellationToken,
}

impl Pace {
    pub(super) fn begin(cancelled: &CancellationToken) -> Self {
        Self {
            begun: Instant::now(),
            cancelled: cancelled.clone(),
        }
    }

    fn is_over(&self) -> bool {
        self.cancelled.is_cancelled() || self.begun.elapsed() >= WITHIN
    }

    /// For the work on one file, on the thread that does it.
    fn watch(&self) -> Rc<Watch> {
        let pace = self.clone();
        Watch::new(move || pace.is_over())
    }

    pub(super) fn hold(&self) -> Result<(), String> {
        match self.cancelled.is_cancelled() {
            true => Err("It was cancelled.".to_string()),
            false => Ok(()),
        }
    }
}

/// A file whose text may match.
pub(super) struct Candidate<'a> {
    pub(super) path: &'a Path,
    pub(super) shown: String,
    pub(super) text: String,
    pub(super) watch: Rc<Watch>,
}

/// Where to look.
pub(super) struct Files<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) query: &'a Query,
    pub(super) paths: &'a [String],
    pub(super) globs: &'a [String],
    pub(super) pace: &'a Pace,
}

impl Files<'_> {
    /// Calls `look` with each file that may match, from several threads and in no order. It says how far it got.
    pub(super) fn each(
        &self,
        look: &(dyn Fn(Candidate<'_>) -> Result<(), Ended> + Sync),
    ) -> Result<Seen, String> {
        let roots = self.roots()?;
        let globs = Arc::new(self.globs()?);
        let mut walk = WalkBuilder::new(roots.first().map_or(self.workspace.root(), PathBuf::as_path));
        for root in roots.iter().skip(1) {
            walk.add(root);
        }
        let walkers = std::thread::available_parallelism().map_or(1, |all| all.get().min(WALKERS_MAX));
        let entered = Arc::clone(&globs);
        walk.follow_links(false)
            .git_global(false)
            .require_git(false)
            .threads(walkers)
            .filter_entry(move |entry| may_enter(entry, &entered));
        let seen = Mutex::new(Seen {
            is_doubtful: self.query.is_doubtful(),
            ..Seen::default()
        });
        let entries = AtomicUsize::new(0);
        // A file below one path may be named by another one, too.
        let visited = (roots.len() > 1).then(Mutex::<BTreeSet<PathBuf>>::default);
        walk.build_parallel().run(|| {
            let (seen, entries, globs, visited) = (&seen, &entries, &globs, visited.as_ref());
            Box::new(move |entry| {
                if self.pace.is_over() || entries.fetch_add(1, Ordering::Relaxed) >= ENTRIES_MAX {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else {
                    note(seen, LeftOut::Unreadable);
                    return WalkState::Continue;
                };
                if self.is_wanted(&entry, globs) && is_new(entry.path(), visited) {
                    match self.look_at(&entry, look) {
                        Ok(()) => seen.lock().unwrap_or_else(PoisonError::into_inner).files += 1,
                        Err(Some(why)) => note(seen, why),
                        Err(None) => return WalkState::Quit,
                    }
                }
                WalkState::Continue
            })
        });
        self.pace.hold()?;
        let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.pace.is_over() {
            seen.cut_short = Some(format!("{} s were over", WITHIN.as_secs()));
        } else if entries.into_inner() > ENTRIES_MAX {
            seen.cut_short = Some(format!("{ENTRIES_MAX} entries were seen"));
        }
        Ok(seen)
    }

    fn roots(&self) -> Result<Vec<PathBuf>, String> {
        if self.paths.len() > PATHS_MAX {
            return Err(format!("There are more than {PATHS_MAX} paths."));
        }
        self.paths
            .iter()
            .map(|path| self.workspace.resolve(path))
            .collect()
    }

    fn globs(&self) -> Result<Override, String> {
        if self.globs.len() > GLOBS_MAX {
            return Err(format!("There are more than {GLOBS_MAX} globs."));
        }
        let unusable = |error: ignore::Error| format!("A glob cannot be used: {error}.");
        let mut globs = OverrideBuilder::new(self.workspace.root());
        for glob in self.globs {
            globs.add(glob.trim_start_matches("./")).map_err(unusable)?;
        }
        globs.build().map_err(unusable)
    }

    /// A file that was named is looked through whatever it is called.
    fn is_wanted(&self, entry: &DirEntry, globs: &Override) -> bool {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let is_named = entry.depth() == 0;
        let speaks = || Language::of_file(entry.path()) == Some(self.query.language());
        is_file && (is_named || speaks()) && !globs.matched(entry.path(), false).is_ignore()
    }

    /// An error without a reason ends the walk.
    fn look_at(
        &self,
        entry: &DirEntry,
        look: &(dyn Fn(Candidate<'_>) -> Result<(), Ended> + Sync),
    ) -> Result<(), Option<LeftOut>> {
        let bytes = read(entry.path()).map_err(Some)?;
        if !self.query.may_match(&bytes) {
            return Ok(());
        }
        if bytes.iter().take(8_000).any(|byte| *byte == 0) {
            return Err(Some(LeftOut::NotText));
        }
        let text = String::from_utf8(bytes).map_err(|_| Some(LeftOut::NotText))?;
        let looked = look(Candidate {
            path: entry.path(),
            shown: self.workspace.show(entry.path()),
            text,
            watch: self.pace.watch(),
        });
        looked.map_err(|ended| match ended {
            Ended::Unwanted => None,
            Ended::TooDeep => Some(LeftOut::TooDeep),
            Ended::Unparsed => Some(LeftOut::Unreadable),
        })
    }
}

fn is_new(path: &Path, visited: Option<&Mutex<BTreeSet<PathBuf>>>) -> bool {
    visited.is_none_or(|visited| {
        let mut visited = visited.lock().unwrap_or_else(PoisonError::into_inner);
        visited.insert(path.to_path_buf())
    })
}

fn note(seen: &Mutex<Seen>, why: LeftOut) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    *seen.left_out.entry(why).or_default() += 1;
}

/// What a glob leaves out is not entered.
fn may_enter(entry: &DirEntry, globs: &Override) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    entry.depth() == 0 || !is_directory || !globs.matched(entry.path(), true).is_ignore()
}

fn read(path: &Path) -> Result<Vec<u8>, LeftOut> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| LeftOut::Unreadable)?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|_| LeftOut::Unreadable)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(LeftOut::TooLarge),
        false => Ok(bytes),
    }
}

/// For an error: which file, and what is with it.
pub(super) fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {}", path.display(), plain(error))
}
