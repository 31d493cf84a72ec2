//! Which languages there are, by name and by file.

use ast_grep_language::{Language as _, SupportLang};
use std::fmt;
use std::path::Path;

/// A language that can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language(pub(crate) SupportLang);

impl Language {
    /// By one of its names, in any case: `rust`, `rs`, `TypeScript`, `c++`.
    pub fn named(name: &str) -> Option<Self> {
        name.trim().parse().ok().map(Self)
    }

    /// The one files of this name are written in.
    pub fn of_file(path: &Path) -> Option<Self> {
        SupportLang::from_path(path).map(Self)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        SupportLang::all_langs().iter().copied().map(Self)
    }
}

/// As it is asked for: `rust`.
impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().to_lowercase())
    }
}
