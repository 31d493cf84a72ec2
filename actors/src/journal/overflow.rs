//! Results of tools above the ceiling, kept aside until the run ends.

use crate::gateways::UnixMillis;

/// What is known of a result without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowEntry {
    /// The number in the handle: 3 for `overflow_3`.
    pub handle: u32,
    /// The server the tool belongs to; empty for our own tools.
    pub server: String,
    pub tool: String,
    pub at: UnixMillis,
    pub bytes: u64,
}

impl OverflowEntry {
    /// The handle as the sub-agent knows it.
    pub fn name(&self) -> String {
        Self::name_of(self.handle)
    }

    /// The same for a number.
    pub fn name_of(handle: u32) -> String {
        format!("overflow_{handle}")
    }
}

/// The result itself, shared so that a retry does not copy it.
pub type OverflowContent = std::sync::Arc<str>;

/// What is kept for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowListing {
    /// The entries by handle.
    pub entries: Vec<OverflowEntry>,
    /// The number for the next handle; higher than every one ever used in the run.
    pub next_handle: u32,
}
