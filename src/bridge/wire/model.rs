//! A model call that the host makes for us with the user's own credentials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The name that means the session's own model.
pub const HOST_MODEL: &str = "session";

/// Which of these models can the host call? Nothing is called, so it costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelsCheck {
    /// As `provider/id`.
    pub models: Vec<String>,
}

/// Whether the host can call a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ModelStanding {
    /// It is known, and there are credentials for it.
    Ready,
    /// The host has no model of that name.
    Unknown,
    /// It is known, and nobody is logged in for its provider.
    NotLoggedIn,
}

/// The answer to [`ModelsCheck`], in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelsChecked {
    /// One for each model.
    pub standings: Vec<ModelStanding>,
}
