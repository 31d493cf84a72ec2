//! What is configured, where does each value come from, and what in the files cannot be meant?
//!
//! Settings stand in `.pi/settings.json` of the home directory and of the workspace, under `impresario`; the
//! peer's `auggieRouter` is understood as is. Later layers win, key by key: defaults, home, workspace, and in
//! each file the peer's section before ours. A list replaces a list. `executionRouting.models` is merged tier by
//! tier, and `null` takes a tier out; `contextBudgets.overflowCeilingBytes` replaces the whole pool.
//!
//! In a workspace the host does not trust, keys that name a program, a path, a provider or a model, and values
//! that raise a limit, are left out with a warning.

mod check;
mod keys;
mod locate;
mod nearest;
mod resolve;
mod schema;
mod typed;

pub use keys::{KEYS, Key, Kind, SECTIONS, Trust};
pub use locate::line_of_key;
pub use nearest::nearest_key;
pub use resolve::{
    FILE_BYTES_MAX, Notice, NoticeKind, Origin, Place, Resolved, ResolvedValue, SettingsFile,
    resolve_settings,
};
pub use schema::{settings_schema, settings_schema_text};
pub use typed::{Configured, RunSettings};

pub const OUR_SECTION: &str = "impresario";
pub const PEER_SECTION: &str = "auggieRouter";

#[cfg(test)]
mod tests;
