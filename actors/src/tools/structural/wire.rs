//! The manifest of a replacement, as it lies on disk.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which files a replacement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) files: Vec<ManifestFile>,
}

/// One of them. What it was lies beside the manifest, under its place in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestFile {
    pub(super) path: PathBuf,
    /// SHA-256 of what it was, in hexadecimal.
    pub(super) old: String,
    /// SHA-256 of what it becomes.
    pub(super) new: String,
}

pub(super) fn write_manifest(manifest: &Manifest) -> Result<Vec<u8>, String> {
    serde_json::to_vec(manifest).map_err(|error| error.to_string())
}

pub(super) fn read_manifest(bytes: &[u8]) -> Result<Manifest, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}
