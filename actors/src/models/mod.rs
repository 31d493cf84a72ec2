//! Models that are called without a host: by rules, and at their providers.

mod offline;
mod providers;

pub use offline::OfflineModel;
pub use providers::ProviderModels;
