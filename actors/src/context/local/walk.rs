//! Which files of a workspace are searched: what git would show, text only, within limits.

use crate::gateways::RetrievalError;
use ignore::{DirEntry, WalkBuilder};
use impresario_policies::retrieval::file_kind::{FileKind, classify_path};
use impresario_policies::retrieval::ranking::SourceFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How much of a workspace is read at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchLimits {
    /// Larger files are left out.
    pub file_bytes_max: u64,
    /// Files looked at, the most promising kinds first.
    pub files_max: usize,
    /// Bytes read over all files.
    pub bytes_max: u64,
    /// Entries of directories seen.
    pub entries_max: usize,
    /// Reading ends after this long with what there is.
    pub within: Duration,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            file_bytes_max: 1_500_000,
            files_max: 20_000,
            bytes_max: 96_000_000,
            entries_max: 200_000,
            within: Duration::from_secs(20),
        }
    }
}

/// Reads the text files of a workspace, in the order of their paths.
pub fn read_workspace(workspace: &Path, limits: &SearchLimits) -> Result<Vec<SourceFile>, RetrievalError> {
    read_while(workspace, limits, &|| true)
}

/// The same, as long as somebody wants it.
pub(super) fn read_while(
    workspace: &Path,
    limits: &SearchLimits,
    wanted: &dyn Fn() -> bool,
) -> Result<Vec<SourceFile>, RetrievalError> {
    let pace = Pace::begin(limits, wanted);
    Ok(read_files(candidates(workspace, &pace)?, &pace))
}

/// When to stop looking.
struct Pace<'a> {
    begun: Instant,
    limits: &'a SearchLimits,
    wanted: &'a dyn Fn() -> bool,
}

impl<'a> Pace<'a> {
    fn begin(limits: &'a SearchLimits, wanted: &'a dyn Fn() -> bool) -> Self {
        Self {
            begun: Instant::now(),
            limits,
            wanted,
        }
    }

    fn is_over(&self) -> bool {
        let late = self.begun.elapsed() >= self.limits.within;
        if late {
            tracing::warn!("stopped looking through the workspace at the time limit");
        }
        late || !(self.wanted)()
    }
}

/// The paths of the files that would be read, in order.
pub fn list_workspace(workspace: &Path, limits: &SearchLimits) -> Result<Vec<String>, RetrievalError> {
    let found = candidates(workspace, &Pace::begin(limits, &|| true))?;
    let mut paths: Vec<String> = found.into_iter().map(|candidate| candidate.path).collect();
    paths.sort();
    Ok(paths)
}

fn candidates(workspace: &Path, pace: &Pace<'_>) -> Result<Vec<Candidate>, RetrievalError> {
    let unreadable = |why: std::io::Error| RetrievalError::Workspace {
        path: workspace.display().to_string(),
        why: why.to_string(),
    };
    let root = workspace.canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&root).map_err(unreadable)?;
    let found = list_files(&root, true, pace);
    if !found.is_empty() {
        return Ok(found);
    }
    // The ignore rules of a directory above (a home kept in git, say) may hide everything here.
    Ok(list_files(&root, false, pace))
}

/// A file that may be searched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u8,
    path: String,
    full: PathBuf,
}

fn list_files(root: &Path, parents: bool, pace: &Pace<'_>) -> Vec<Candidate> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(true)
        .follow_links(false)
        .parents(parents)
        .git_ignore(true)
        .git_exclude(true)
        .git_global(false)
        .ignore(true)
        .require_git(false)
        .sort_by_file_name(|one, other| one.cmp(other))
        .filter_entry(is_worth_entering);
    let mut found = Vec::new();
    for entry in walk.build().take(pace.limits.entries_max) {
        if pace.is_over() {
            break;
        }
        let Ok(entry) = entry else { continue };
        if let Some(candidate) = candidate(root, &entry, pace.limits) {
            found.push(candidate);
        }
    }
    found
}

/// What tools put into a workspace and nobody wrote, even where no ignore rule says so.
fn is_worth_entering(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    if !is_directory || entry.depth() == 0 {
        return true;
    }
    let name = entry.file_name().to_string_lossy();
    let made_by_tools =
        ["node_modules", "bower_components", "__pycache__", "site-packages"].contains(&name.as_ref());
    let tagged = || entry.path().join("CACHEDIR.TAG").exists() || entry.path().join("pyvenv.cfg").exists();
    !made_by_tools && !tagged()
}

fn candidate(root: &Path, entry: &DirEntry, limits: &SearchLimits) -> Option<Candidate> {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return None;
    }
    let relative = entry.path().strip_prefix(root).ok()?;
    let path = relative.to_str()?.replace('\\', "/");
    let size = entry.metadata().ok()?.len();
    let kind = classify_path(&path);
    let wanted =
        size > 0 && size <= limits.file_bytes_max && kind != FileKind::Lock && !is_binary_name(&path);
    wanted.then(|| Candidate {
        rank: reading_rank(kind),
        path,
        full: entry.path().to_path_buf(),
    })
}

/// What is read first when not everything can be read.
fn reading_rank(kind: FileKind) -> u8 {
    match kind {
        FileKind::Code | FileKind::Documentation => 0,
        FileKind::Configuration | FileKind::Example | FileKind::Test | FileKind::Benchmark => 1,
        FileKind::Data | FileKind::Vendored | FileKind::Changelog | FileKind::Legal => 2,
        FileKind::Generated | FileKind::Lock => 3,
    }
}

/// Names that never hold text; a content check would only cost a read.
fn is_binary_name(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let binary = [
        "png", "jpg", "jpeg", "gif", "webp", "ico", "pdf", "zip", "gz", "xz", "zst", "bz2", "7z", "tar",
        "jar", "class", "o", "a", "so", "dylib", "dll", "exe", "wasm", "rlib", "rmeta", "pyc", "woff",
        "woff2", "ttf", "otf", "mp3", "mp4", "ogg", "wav", "sqlite", "db", "bin",
    ];
    binary.contains(&extension.to_ascii_lowercase().as_str())
}

fn read_files(mut candidates: Vec<Candidate>, pace: &Pace<'_>) -> Vec<SourceFile> {
    let limits = pace.limits;
    candidates.sort();
    candidates.truncate(limits.files_max);
    let mut files = Vec::with_capacity(candidates.len());
    let mut bytes_left = limits.bytes_max;
    let mut seen = BTreeSet::new();
    for candidate in candidates {
        if pace.is_over() {
            break;
        }
        if !seen.insert(candidate.path.clone()) {
            continue;
        }
        let Some(text) = read_text(&candidate.full, limits.file_bytes_max.min(bytes_left)) else {
            continue;
        };
        bytes_left -= text.len() as u64;
        files.push(SourceFile {
            path: candidate.path,
            text,
        });
        if bytes_left == 0 {
            break;
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// The text of a file, or nothing when it is binary, unreadable or longer than allowed.
fn read_text(path: &Path, bytes_max: u64) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    let is_binary = bytes.iter().take(8_000).any(|byte| *byte == 0);
    if is_binary || bytes.len() as u64 > bytes_max {
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => Some(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}
