//! How it is kept: a list, so that a person can read and mend it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What was said of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustEntry {
    /// With no link in its name.
    pub(crate) directory: PathBuf,
    pub(crate) trusted: bool,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

impl TrustEntry {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub(super) fn read(text: &str) -> Result<Vec<TrustEntry>, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

pub(super) fn to_text(entries: &[TrustEntry]) -> String {
    let mut text = serde_json::to_string_pretty(entries).unwrap_or_default();
    text.push('\n');
    text
}
