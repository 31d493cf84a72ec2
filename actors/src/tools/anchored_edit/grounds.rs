//! Where a call may edit: inside the workspace, links followed, or wherever the person's own tools reach.

use super::fault::EditFault;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// A directory that relative paths are relative to, and whether that is as far as they reach.
#[derive(Debug, Clone)]
pub struct Grounds {
    /// As it was given.
    given: PathBuf,
    /// With every link resolved.
    root: PathBuf,
    is_bounded: bool,
}

impl Grounds {
    /// Only what lies below this directory is edited.
    pub fn within(directory: &Path) -> Result<Self, EditFault> {
        Self::open(directory, true)
    }

    /// Whatever the process may write is edited.
    pub fn anywhere(directory: &Path) -> Result<Self, EditFault> {
        Self::open(directory, false)
    }

    fn open(directory: &Path, is_bounded: bool) -> Result<Self, EditFault> {
        let root = directory.canonicalize();
        let root = root.map_err(|error| EditFault::of(error, &directory.to_string_lossy(), "worked in"))?;
        Ok(Self {
            given: directory.to_path_buf(),
            root,
            is_bounded,
        })
    }

    /// The real place of what is there.
    pub(super) fn existing(&self, path: &str) -> Result<PathBuf, EditFault> {
        let wanted = self.wanted(path)?;
        self.real(&wanted, path)
    }

    /// The real directory of a path, and the name in it, whatever is there: a link is not followed.
    pub(super) fn entry(&self, path: &str) -> Result<(PathBuf, OsString), EditFault> {
        let wanted = self.wanted(path)?;
        let is_directory = || EditFault::NoFile {
            path: path.to_string(),
            what: "a directory",
        };
        let name = wanted.file_name().ok_or_else(is_directory)?.to_owned();
        let directory = wanted.parent().ok_or_else(is_directory)?;
        Ok((self.real(directory, path)?, name))
    }

    /// A place as it is shown: relative to the workspace where it lies in it.
    pub(super) fn show(&self, real: &Path) -> String {
        real.strip_prefix(&self.root)
            .unwrap_or(real)
            .to_string_lossy()
            .into_owned()
    }

    fn wanted(&self, path: &str) -> Result<PathBuf, EditFault> {
        // As the host takes a path: `@` before it says nothing.
        let plain = path.strip_prefix('@').unwrap_or(path);
        if plain.is_empty() || plain.contains('\0') {
            return Err(EditFault::NotFound {
                path: format!("{path:?}"),
            });
        }
        Ok(self.root.join(plain))
    }

    fn real(&self, wanted: &Path, path: &str) -> Result<PathBuf, EditFault> {
        let outside = || EditFault::Outside {
            path: path.to_string(),
        };
        match wanted.canonicalize() {
            Ok(real) if self.is_bounded && !real.starts_with(&self.root) => Err(outside()),
            Ok(real) => Ok(real),
            // What is there and what is not is said of the workspace only.
            Err(_) if self.is_bounded && !self.names_inside(wanted) => Err(outside()),
            Err(error) => Err(EditFault::of(error, path, "read")),
        }
    }

    /// Whether the names alone lead nowhere else.
    fn names_inside(&self, wanted: &Path) -> bool {
        let mut plain = PathBuf::new();
        for part in wanted.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
            }
        }
        plain.starts_with(&self.root) || plain.starts_with(&self.given)
    }
}
