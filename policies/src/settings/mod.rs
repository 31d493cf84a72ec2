//! What is configured, where does each value come from, and what in the files cannot be meant?
//!
//! Settings stand in `.pi/settings.json` of the home directory and of the workspace, under `impresario`; the
//! peers' `auggieRouter` and `blackbytes` are understood as they are. Later layers win, key by key: defaults, home,
//! workspace, and in each file the peers' sections before ours. What is bad is named and left out alone. A list replaces a list. `executionRouting.models` is merged tier by
//! tier, and `null` takes a tier out; `contextBudgets.overflowCeilingBytes` replaces the whole pool.
//!
//! In a workspace the host does not trust, keys that name a program, a path, a provider or a model, and values
//! that raise a limit, are left out with a warning.

mod agents;
mod check;
mod keys;
mod locate;
mod nearest;
mod resolve;
mod schema;
mod typed;

pub use agents::AgentSettings;
pub use keys::{AGENT_KEYS, KEYS, Key, Kind, SECTIONS, Trust};
pub use locate::place_of_key;
pub use nearest::nearest_key;
pub use resolve::{
    FILE_BYTES_MAX, IN_ANY_CASE, Notice, NoticeKind, Origin, Place, Resolved, ResolvedValue, SettingsFile,
    resolve_settings,
};
pub use schema::{settings_schema, settings_schema_text};
pub use typed::{CapabilitySettings, Configured, RunSettings, TotalChosen};

pub const OUR_SECTION: &str = "impresario";
pub const PEER_SECTION: &str = "auggieRouter";
pub const BLACKBYTES_SECTION: &str = "blackbytes";

#[cfg(test)]
mod tests;
