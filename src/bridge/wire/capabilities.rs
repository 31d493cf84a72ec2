//! What can be used in a session: the host says which tools it has, and is told with which of ours the rest is found.

use impresario_actors::gateways::ToolDefinition;
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ts_rs::TS;

/// A tool that the host has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HostTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// What it takes, as a JSON Schema.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub parameters: Value,
    /// Models are offered it.
    pub active: bool,
}

/// What the host has of what can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CapabilitiesOffer {
    /// In which session.
    pub session: SessionId,
    /// Its tools, active or not.
    pub tools: Vec<HostTool>,
    /// The skills that it lists itself.
    #[serde(default)]
    pub listed: Vec<ListedSkill>,
}

/// The answer to [`CapabilitiesOffer`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CapabilitiesTaken {
    /// The tools with which the rest is found; none where that is switched off.
    pub tools: Vec<ToolDefinition>,
    /// The name of the section of the system prompt, where it has sections.
    pub section: String,
    /// The text of the section; empty when nothing is said.
    pub block: String,
    /// The tools that shall be active of those that are; none leaves them.
    pub active: Option<Vec<String>>,
}

/// One of those tools is called, or a person typed the command of its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CapabilityCall {
    /// In which session.
    pub session: SessionId,
    /// Which.
    pub tool: String,
    /// With what. What a person typed stands in `typed`.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub arguments: Value,
    /// The tools that are active now.
    #[serde(default)]
    pub active: Vec<String>,
    /// The last prompt; none before the first one, and where nobody asks for it.
    #[serde(default)]
    pub seen: Option<SeenPrompt>,
}

/// A system prompt as models were sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SeenPrompt {
    /// Its text.
    pub text: String,
    /// The names of the skills that the host has for it.
    pub skills: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CapabilityDone {
    /// For the model or the person.
    pub text: String,
    /// It could not be done; the text says why.
    pub failed: bool,
    /// A tool that shall be active from now on.
    pub activate: Option<String>,
}

/// A skill in the host's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PromptSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its file.
    #[serde(default)]
    pub file: Option<String>,
}

/// A system prompt is about to be used: which skills shall it show?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PromptAsk {
    /// In which session.
    pub session: SessionId,
    /// The skills that the host would show.
    pub skills: Vec<PromptSkill>,
    /// The prompt, where it is a text; none where it is made of sections.
    #[serde(default)]
    pub prompt: Option<String>,
}

/// The answer to [`PromptAsk`]. Nothing leaves the prompt as it is, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PromptPlan {
    /// The names of the skills that are shown; none shows all.
    pub shown: Option<Vec<String>>,
    /// The prompt with them, where it is a text.
    pub prompt: Option<String>,
    /// Why nobody knows what shall be shown, for a person.
    pub problem: Option<String>,
}

/// A tool of the host was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolUsed {
    /// In which session.
    pub session: SessionId,
    /// Which.
    pub tool: String,
    /// The path it was given.
    #[serde(default)]
    pub path: Option<String>,
}

/// The tools with which a model finds and uses the rest.
pub(crate) fn capability_tools() -> Vec<ToolDefinition> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    vec![
        tool(
            "capability_search",
            "Find skills, agents and tools that are not listed, by what you want to do. Says how sure it is.",
            json!({
                "query": text("What you want to do, in a few words."),
                "kind": { "type": "string", "enum": ["skill", "agent", "tool", "mcp"], "description": "Only this kind." },
                "k": { "type": "integer", "minimum": 1, "maximum": 50, "description": "At most so many; 8 unless said." },
            }),
            &["query"],
        ),
        tool(
            "capability_activate",
            "Use what was found: gives you a skill's instructions at once, makes a tool active.",
            json!({ "id": text("Its id, as the search names it.") }),
            &["id"],
        ),
        tool(
            "capability_add",
            "Write down a way of doing something as a skill, for later. Never anything secret.",
            json!({
                "name": text("Lower-case letters, digits and hyphens."),
                "description": text("When to use it, in a sentence or two."),
                "body": text("The instructions, in Markdown."),
            }),
            &["name", "description", "body"],
        ),
        tool(
            "loadout",
            "Choose which skills and tools are shown: named sets of them, of which one is active.",
            json!({
                "action": { "type": "string", "enum": ["list", "create", "update", "delete", "activate", "deactivate", "add", "remove", "promote"], "description": "deactivate shows everything again." },
                "name": text("Which loadout; promote adds to the active one."),
                "new_name": text("With update, its new name."),
                "description": text("With create and update, what it is for."),
                "capability": text("With add, remove and promote, the id."),
            }),
            &["action"],
        ),
        tool(
            "capability_status",
            "Say what is in the index, which loadout is active, and what the prompt shows.",
            json!({}),
            &[],
        ),
    ]
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolDefinition {
    ToolDefinition {
        name: name.to_string(),
        description: description.to_string(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}
