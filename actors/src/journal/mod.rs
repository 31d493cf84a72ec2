//! The journal: what happened to every run, on disk before anybody sees it.
//!
//! [`SqliteStore`] keeps the steps in a file that the runtimes of one user share. The [`Journal`] actor is asked by others
//! through ports. A [`Writer`] owns the store on a plain thread and writes what waits in one transaction.

mod access;
mod actor;
mod alert;
mod calls;
mod error;
mod overflow;
mod ownership;
mod place;
mod sqlite;
mod store;
mod summary;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use access::JournalAccess;
pub use actor::Journal;
pub use alert::{Alert, SkillOf};
pub use calls::CallRefusal;
pub use error::{JournalError, OpenError};
pub use overflow::{OverflowContent, OverflowEntry, OverflowListing};
pub use ownership::{ClaimableRun, RuntimeId, RuntimeIdentity};
pub use sqlite::{
    DamagedRun, JOURNAL_FILE, JournalReader, KeptAside, LostCommits, Opened, SetAside, SqliteStore,
};
pub use store::{Committed, OVERFLOW_BYTES_MAX, Row, STEP_BYTES_MAX, Store};
pub use summary::{Pruned, Retention, RunFilter, RunProgress, RunSummary, TASK_CHARACTERS_MAX};
pub use writer::{Writer, WriterHandle};
