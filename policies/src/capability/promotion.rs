//! What is within reach because it was used.

/// So many uses are looked at.
pub const USES_READ_MAX: usize = 200;

/// How often something was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub id: String,
    pub count: u64,
    /// In milliseconds since 1970.
    pub last_ms: u64,
}
