//! Where a tool may look: inside the workspace, whatever the path says, and where the skill lies.

use crate::gateways::{Reach, ToolPlace};
use std::path::{Component, Path, PathBuf};

/// The workspace of a sub-agent, with every link in its own path resolved.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
    readable: Vec<PathBuf>,
    reach: Reach,
}

impl Workspace {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let root = path.canonicalize().map_err(|error| error.to_string())?;
        if !root.is_dir() {
            return Err("it is not a directory".to_string());
        }
        Ok(Self {
            root,
            readable: Vec::new(),
            reach: Reach::Workspace,
        })
    }

    /// Where a call works.
    pub(crate) fn of(place: &ToolPlace) -> Result<Self, String> {
        let workspace = Self::open(&place.workspace)
            .map_err(|why| format!("{} cannot be worked in: {why}.", place.workspace.display()))?;
        Ok(Self {
            reach: place.reach,
            ..workspace.reading(&place.readable)
        })
    }

    /// These directories may be read in too, by absolute paths.
    pub(crate) fn reading(mut self, directories: &[PathBuf]) -> Self {
        let real = directories
            .iter()
            .filter_map(|directory| directory.canonicalize().ok());
        self.readable = real.collect();
        self
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The real place of `path`; an error when it is outside, also by way of a link, or does not exist.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let outside = || format!("{path:?} is outside the workspace.");
        if self.reach == Reach::Anywhere {
            let real = self.root.join(path).canonicalize();
            return real.map_err(|error| format!("{path:?} cannot be read: {}.", plain(&error)));
        }
        if let Some(real) = self.beside(path) {
            return Ok(real);
        }
        let wanted = self.root.join(path.trim_start_matches("./"));
        let climbs = Path::new(path)
            .components()
            .any(|part| part == Component::ParentDir);
        if !wanted.starts_with(&self.root) || (climbs && Path::new(path).is_absolute()) {
            return Err(outside());
        }
        let real = wanted
            .canonicalize()
            .map_err(|error| format!("{path:?} cannot be read: {}.", plain(&error)))?;
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(outside())
        }
    }

    /// The real place of an absolute path, if it is where the skill lies.
    fn beside(&self, path: &str) -> Option<PathBuf> {
        if !Path::new(path).is_absolute() {
            return None;
        }
        let real = Path::new(path).canonicalize().ok()?;
        let readable = self.readable.iter().any(|directory| real.starts_with(directory));
        readable.then_some(real)
    }

    /// A place as it is shown: relative, with `/` between the parts.
    pub(crate) fn show(&self, real: &Path) -> String {
        let relative = real.strip_prefix(&self.root).unwrap_or(real);
        relative.to_string_lossy().replace('\\', "/")
    }
}

/// The kind of an error, without a path in it.
pub(crate) fn plain(error: &std::io::Error) -> String {
    error.kind().to_string()
}
