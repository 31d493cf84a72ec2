//! Model clients that need nobody else.

mod offline;

pub use offline::OfflineModel;
