//! Rules of directories behind results of tools: which place a call touched goes out, what belongs behind it comes back.
//! Bodies of results stay in the host.

use impresario_actors::messages::session::GuidedResult;
use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A file of rules in the state in which it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct GuidanceMark {
    /// Where it lies.
    pub path: String,
    /// Of all that it said.
    pub hash: String,
}

/// A tool gave a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct GuidanceAsk {
    /// Whose.
    pub session: SessionId,
    /// Later ones have higher numbers.
    pub number: u64,
    /// The earlier ones whose results are not in the session yet.
    #[serde(default)]
    pub open: Vec<u64>,
    /// Which tool.
    pub tool: String,
    /// The path that it was given.
    #[serde(default)]
    pub path: Option<String>,
    /// The command that it was given.
    #[serde(default)]
    pub command: Option<String>,
    /// What stands in what the model sees of the session, in its order.
    #[serde(default)]
    pub given: Vec<GuidanceMark>,
}

/// One file as it belongs behind the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct GuidanceRules {
    /// Where it lies.
    pub path: String,
    /// Of all that it says.
    pub hash: String,
    /// Not all of it is shown.
    pub truncated: bool,
}

/// A file that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct GuidanceNotRead {
    /// Where it lies.
    pub path: String,
    /// The name of the error, or `outside` for a link that leads out of the repository.
    pub why: String,
}

/// The answer to [`GuidanceAsk`]. Without rules the result stays as it is, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct GuidanceGiven {
    /// One text for all of them; empty for none.
    pub text: String,
    /// What stands in it.
    pub rules: Vec<GuidanceRules>,
    /// What does not.
    pub not_read: Vec<GuidanceNotRead>,
}

impl GuidanceGiven {
    /// As it goes to the host.
    pub fn of(guided: GuidedResult) -> Self {
        let text = guided.rules.iter().map(|rules| rules.block.as_str()).collect();
        let rules = guided.rules.iter().map(|rules| GuidanceRules {
            path: rules.mark.path.to_string_lossy().into_owned(),
            hash: rules.mark.hash.clone(),
            truncated: rules.is_cut,
        });
        let not_read = guided.not_read.iter().map(|file| GuidanceNotRead {
            path: file.path.to_string_lossy().into_owned(),
            why: file.why.clone(),
        });
        Self {
            text,
            rules: rules.collect(),
            not_read: not_read.collect(),
        }
    }
}
