//! The journal's steps as the auditor reads them: JSON, without our types.

use serde_json::Value;

/// A step; the error is the parser's words.
pub(super) fn read_step(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Arguments of a tool call; text that is no JSON stays text.
pub(super) fn read_arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))
}
