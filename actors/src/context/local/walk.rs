//! Which files of a workspace are searched: what git would show, text only, nothing secret, within limits.

use crate::gateways::RetrievalError;
use ignore::{DirEntry, WalkBuilder, WalkState};
use impresario_policies::retrieval::file_kind::{FileKind, classify_path, is_lock_file};
use impresario_policies::retrieval::left_out::{
    Beside, LeftOut, MANIFESTS, SOURCES, begins_like_a_key, is_build_output, is_made_by_tools,
    may_be_build_output, reason_in_name,
};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of a workspace is looked at, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchLimits {
    /// Larger files are left out.
    pub file_bytes_max: u64,
    /// Files of an index, the most promising kinds first.
    pub files_max: usize,
    /// Bytes of text in an index on disk.
    pub bytes_max: u64,
    /// Bytes of text that are searched without one.
    pub bytes_in_memory_max: u64,
    /// Entries of directories seen.
    pub entries_max: usize,
    /// Reading ends after this long with what there is.
    pub within: Duration,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            file_bytes_max: 4_000_000,
            files_max: 100_000,
            bytes_max: 1_000_000_000,
            bytes_in_memory_max: 48_000_000,
            entries_max: 500_000,
            within: Duration::from_secs(20),
        }
    }
}

pub(super) struct Pace<'a> {
    begun: Instant,
    pub(super) limits: &'a SearchLimits,
    wanted: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Pace<'a> {
    pub(super) fn begin(limits: &'a SearchLimits, wanted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            begun: Instant::now(),
            limits,
            wanted,
        }
    }

    pub(super) fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn is_over(&self) -> bool {
        self.passed() >= self.limits.within || !(self.wanted)()
    }
}

/// What there is in a workspace.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files that may be searched, in the order of their paths.
    pub files: Vec<Found>,
    /// What is not, and why.
    pub left_out: Vec<(LeftOut, String)>,
    pub is_complete: bool,
}

/// A file that may be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Relative to the workspace, `/` between the parts.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub changed: i64,
}

/// Lists the files of a workspace.
pub fn walk_workspace(workspace: &Path, limits: &SearchLimits) -> Result<Walk, RetrievalError> {
    walk(workspace, &Pace::begin(limits, &|| true))
}

/// Calls `read` with the path and the text of every file that may be searched, the most promising kinds first, until it
/// has had enough. Returns what was not read, and why.
pub fn read_workspace(
    workspace: &Path,
    limits: &SearchLimits,
    mut read: impl FnMut(&str, &str) -> bool,
) -> Result<Vec<(LeftOut, String)>, RetrievalError> {
    let pace = Pace::begin(limits, &|| true);
    let mut walk = walk(workspace, &pace)?;
    walk.files
        .sort_by_cached_key(|found| (reading_rank(&found.path), found.path.clone()));
    let mut left_out = walk.left_out;
    for found in walk.files {
        if pace.is_over() {
            left_out.push((LeftOut::NoTime, found.path));
            continue;
        }
        match read_text(&workspace.join(&found.path), limits) {
            Ok(text) if !read(&found.path, &text) => break,
            Ok(_) => {}
            Err(why) => left_out.push((why, found.path)),
        }
    }
    Ok(left_out)
}

pub(super) fn walk(workspace: &Path, pace: &Pace<'_>) -> Result<Walk, RetrievalError> {
    let unreadable = |why: std::io::Error| RetrievalError::Workspace {
        path: workspace.display().to_string(),
        why: why.to_string(),
    };
    let root = workspace.canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&root).map_err(unreadable)?;
    let found = list_files(&root, true, pace);
    if !found.files.is_empty() {
        return Ok(found);
    }
    // The ignore rules of a directory above (a home kept in git, say) may hide everything here.
    Ok(list_files(&root, false, pace))
}

/// Threads that list directories: more of them only wait for each other.
const WALKERS_MAX: usize = 4;

fn list_files(root: &Path, parents: bool, pace: &Pace<'_>) -> Walk {
    let gathered = Mutex::new(Walk {
        is_complete: true,
        ..Walk::default()
    });
    let built: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let seen_built = built.clone();
    let entries = AtomicUsize::new(0);
    let walkers = std::thread::available_parallelism().map_or(1, |all| all.get().min(WALKERS_MAX));
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(true)
        .follow_links(false)
        .parents(parents)
        .git_ignore(true)
        .git_exclude(true)
        .git_global(false)
        .ignore(true)
        .require_git(false)
        .threads(walkers)
        .filter_entry(move |entry| is_worth_entering(entry, &seen_built));
    builder.build_parallel().run(|| {
        let mut walker = Walker {
            seen: Walk {
                is_complete: true,
                ..Walk::default()
            },
            directory: None,
            gathered: &gathered,
        };
        let (entries, root) = (&entries, root);
        Box::new(move |entry| {
            let number = entries.fetch_add(1, Ordering::Relaxed);
            if number >= pace.limits.entries_max || (number % 64 == 0 && pace.is_over()) {
                walker.seen.is_complete = false;
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => walker.add(root, &entry, pace.limits),
                // What cannot be seen now may still be there.
                Err(_) => walker.seen.is_complete = false,
            }
            WalkState::Continue
        })
    });
    let mut walk = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    let built = std::mem::take(&mut *built.lock().unwrap_or_else(PoisonError::into_inner));
    let built = built
        .iter()
        .filter_map(|path| Some((LeftOut::BuildOutput, relative(root, path)?)));
    walk.left_out.extend(built);
    walk.left_out.sort();
    walk.files.sort_by(|one, other| one.path.cmp(&other.path));
    walk
}

/// What one thread has seen, which joins the rest when the thread is done.
struct Walker<'a> {
    seen: Walk,
    /// The directory of the file that was seen last: from there the next one is found without looking up its whole path.
    directory: Option<(PathBuf, OwnedFd)>,
    gathered: &'a Mutex<Walk>,
}

impl Drop for Walker<'_> {
    fn drop(&mut self) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.files.append(&mut self.seen.files);
        gathered.left_out.append(&mut self.seen.left_out);
        gathered.is_complete &= self.seen.is_complete;
    }
}

impl Walker<'_> {
    fn add(&mut self, root: &Path, entry: &DirEntry, limits: &SearchLimits) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let Some(path) = relative(root, entry.path()) else {
            return;
        };
        if let Some(why) = reason_in_name(&path) {
            self.seen.left_out.push((why, path));
            return;
        }
        let Some(stat) = self.stat(entry) else {
            self.seen.left_out.push((LeftOut::Unreadable, path));
            return;
        };
        let size = stat.st_size as u64;
        if size > limits.file_bytes_max {
            self.seen.left_out.push((LeftOut::TooLarge, path));
        } else if size > 0 && !is_lock_file(&path) {
            self.seen.files.push(Found {
                path,
                size,
                changed: changed(&stat),
            });
        }
    }

    fn stat(&mut self, entry: &DirEntry) -> Option<Stat> {
        let parent = entry.path().parent()?;
        if self.directory.as_ref().is_none_or(|(path, _)| path != parent) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(parent, flags, Mode::empty()).ok()?;
            self.directory = Some((parent.to_path_buf(), opened));
        }
        let (_, directory) = self.directory.as_ref()?;
        rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

fn changed(stat: &Stat) -> i64 {
    stat.st_mtime
        .saturating_mul(1_000_000_000)
        .saturating_add(stat.st_mtime_nsec as i64)
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/"))
}

/// What tools put into a workspace and nobody wrote, even where no ignore rule says so.
fn is_worth_entering(entry: &DirEntry, built: &Mutex<Vec<PathBuf>>) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    if !is_directory || entry.depth() == 0 {
        return true;
    }
    let name = entry.file_name().to_string_lossy();
    let tagged = || entry.path().join("CACHEDIR.TAG").exists() || entry.path().join("pyvenv.cfg").exists();
    if is_made_by_tools(&name) || tagged() {
        return false;
    }
    if may_be_build_output(&name) && is_build_output(&name, beside(entry.path())) {
        built
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry.path().to_path_buf());
        return false;
    }
    true
}

fn beside(directory: &Path) -> Beside {
    let has = |names: &[&str]| names.iter().any(|name| directory.with_file_name(name).exists());
    Beside {
        manifest: has(&MANIFESTS),
        sources: has(&SOURCES),
    }
}

/// What is read first when not everything can be read.
pub(super) fn reading_rank(path: &str) -> u8 {
    match classify_path(path) {
        FileKind::Code | FileKind::Documentation => 0,
        FileKind::Configuration | FileKind::Example | FileKind::Test | FileKind::Benchmark => 1,
        FileKind::Data | FileKind::Vendored | FileKind::Changelog | FileKind::Legal => 2,
        FileKind::Generated | FileKind::Lock => 3,
    }
}

/// The text of a file, or why it is not searched.
pub(super) fn read_text(path: &Path, limits: &SearchLimits) -> Result<String, LeftOut> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| LeftOut::Unreadable)?;
    let read = file.take(limits.file_bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|_| LeftOut::Unreadable)?;
    if bytes.len() as u64 > limits.file_bytes_max {
        return Err(LeftOut::TooLarge);
    }
    if bytes.iter().take(8_000).any(|byte| *byte == 0) {
        return Err(LeftOut::Binary);
    }
    let text = as_text(bytes);
    if begins_like_a_key(&text) {
        return Err(LeftOut::Secret);
    }
    Ok(text)
}

/// What is no UTF-8 becomes `?`, byte for byte, so that places in the text are places in the file.
pub(super) fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let chunks = error.as_bytes().utf8_chunks();
        chunks
            .map(|chunk| format!("{}{}", chunk.valid(), "?".repeat(chunk.invalid().len())))
            .collect()
    })
}
