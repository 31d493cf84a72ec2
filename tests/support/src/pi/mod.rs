//! Real Pi, both versions, with no network: pinned by lock file, run in a sandbox, counted.

mod prompt;
mod provision;
mod sandbox;
mod scenario;

pub use prompt::{prompt_of, submit};
pub use provision::{PiInstall, ProvisionError, SWITCH_WITHOUT_PI, Version, is_switched_off, provision};
pub use sandbox::{MOCK_MODEL, MOCKA_MODEL, Sandbox};
pub use scenario::{Scenario, Tally, closing_line, record_scenario, take_tally};
