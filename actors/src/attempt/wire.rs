//! What is read of a tool's arguments.

use serde::Deserialize;

#[derive(Deserialize)]
struct Commanding {
    command: String,
}

/// The text for a shell among the arguments, by the name that all shell tools use.
pub(super) fn command_in(arguments: &str) -> Option<String> {
    let commanding: Commanding = serde_json::from_str(arguments).ok()?;
    Some(commanding.command)
}
