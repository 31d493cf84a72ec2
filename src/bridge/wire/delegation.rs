//! Delegation by the main agent itself: what it is taught, and the tool it does it with.

use impresario_actors::gateways::ToolDefinition;
use impresario_policies::delegation_block::{
    DELEGATE_DESCRIPTION, DELEGATE_SKILL, DELEGATE_TASK, DELEGATE_TOOL, DELEGATION_BLOCK, DELEGATION_SECTION,
};
use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

/// Is the main agent of this session taught to delegate?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DelegationAsk {
    /// Which session.
    pub session: SessionId,
}

/// The answer to [`DelegationAsk`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Delegation {
    /// None when the settings say no.
    pub taught: Option<DelegationLesson>,
}

/// The same in every turn and every session, so that the provider's cache holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DelegationLesson {
    /// The name of the section of the system prompt, where it has sections.
    pub section: String,
    /// The text of the section.
    pub block: String,
    /// The tool; its arguments are `skill` and `task`.
    pub tool: ToolDefinition,
}

impl Default for DelegationLesson {
    fn default() -> Self {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let parameters = json!({
            "type": "object",
            "properties": { "skill": text(DELEGATE_SKILL), "task": text(DELEGATE_TASK) },
            "required": ["skill", "task"],
            "additionalProperties": false,
        });
        Self {
            section: DELEGATION_SECTION.into(),
            block: DELEGATION_BLOCK.into(),
            tool: ToolDefinition {
                name: DELEGATE_TOOL.into(),
                description: DELEGATE_DESCRIPTION.into(),
                parameters,
            },
        }
    }
}
