//! Delegation by the main agent itself: what it is taught, and the tool it does it with.

use impresario_actors::gateways::ToolDefinition;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::delegation_block::{
    CHAIN_DESCRIPTION, CHAIN_NAME, CHAIN_ON_FAILURE, CHAIN_STEP_TASK, CHAIN_STEPS, CHAIN_TASK, CHAIN_TOOL,
    DELEGATE_BACKGROUND, DELEGATE_CONTEXT, DELEGATE_DESCRIPTION, DELEGATE_ISOLATION, DELEGATE_SKILL,
    DELEGATE_TASK, DELEGATE_TOOL, DELEGATION_SECTION, MESSAGE_DESCRIPTION, MESSAGE_KIND, MESSAGE_RUN,
    MESSAGE_TEXT, MESSAGE_TOOL, context_label, delegate_argument, delegate_tool_description,
    delegate_tool_name, delegation_block,
};
use impresario_policies::domain::{ExecutionMode, SessionId};
use impresario_policies::overlay::{OverlayFacts, overlay};
use impresario_policies::run_messages::MESSAGE_CHARACTERS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ts_rs::TS;

/// Is the main agent of this session taught to delegate?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DelegationAsk {
    /// Which session.
    pub session: SessionId,
    /// The model that is called, as `provider/id`.
    #[serde(default)]
    pub model: Option<String>,
}

/// The answer to [`DelegationAsk`]: the same in every turn, so that the provider's cache holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Delegation {
    /// The name of the section of the system prompt, where it has sections.
    pub section: String,
    /// The text of the section; empty when nothing is taught.
    pub block: String,
    /// The text is another one for other models.
    #[serde(default)]
    pub per_model: bool,
    /// The tools that go with it.
    pub tools: Vec<DelegateTool>,
}

/// A tool with which the main agent delegates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DelegateTool {
    /// The agent that it asks; none for the tool that names a skill, in its argument `skill`.
    pub agent: Option<String>,
    /// The argument that says what is wanted.
    pub task: String,
    /// It runs a chain: a call of it is a `chain.run`.
    pub chain: bool,
    /// It tells or asks a run something: a call of it is a `run.tell`, and `run.message` until it is known what became of it.
    pub message: bool,
    /// Calls of it in one turn run one after the other.
    pub sequential: bool,
    /// The tool.
    pub tool: ToolDefinition,
}

impl Delegation {
    /// The same tools with all of this told.
    pub fn with_overlay(self, facts: &OverlayFacts<'_>) -> Self {
        Self {
            block: overlay(facts),
            per_model: true,
            ..self
        }
    }

    /// What is taught of skills and of these agents.
    pub fn of(teaches_skills: bool, agents: &[AgentDefinition]) -> Self {
        let skills = teaches_skills.then(skill_tool);
        Self {
            section: DELEGATION_SECTION.into(),
            block: delegation_block(teaches_skills, agents),
            per_model: false,
            tools: skills
                .into_iter()
                .chain(agents.iter().map(agent_tool))
                .chain(chain_tool(agents))
                .chain(message_tool(agents))
                .collect(),
        }
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn tool(name: String, description: String, properties: Value, required: &[&str]) -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolDefinition {
        name,
        description,
        parameters,
    }
}

fn skill_tool() -> DelegateTool {
    let properties = json!({ "skill": text(DELEGATE_SKILL), "task": text(DELEGATE_TASK) });
    let (name, about) = (DELEGATE_TOOL.into(), DELEGATE_DESCRIPTION.into());
    DelegateTool {
        agent: None,
        chain: false,
        message: false,
        task: "task".into(),
        sequential: false,
        tool: tool(name, about, properties, &["skill", "task"]),
    }
}

/// An agent has the name of this tool.
fn is_taken(name: &str, agents: &[AgentDefinition]) -> bool {
    agents
        .iter()
        .any(|agent| delegate_tool_name(agent.name()) == name)
}

/// None where nobody works in the background, or where an agent has its name.
fn message_tool(agents: &[AgentDefinition]) -> Option<DelegateTool> {
    if agents.is_empty() || is_taken(MESSAGE_TOOL, agents) {
        return None;
    }
    let properties = json!({
        "run": { "type": "string", "maxLength": 64, "description": MESSAGE_RUN },
        "message": { "type": "string", "minLength": 1, "maxLength": MESSAGE_CHARACTERS_MAX, "description": MESSAGE_TEXT },
        "kind": { "type": "string", "enum": ["steer", "ask"], "description": MESSAGE_KIND },
    });
    let (name, about) = (MESSAGE_TOOL.into(), MESSAGE_DESCRIPTION.into());
    Some(DelegateTool {
        agent: None,
        chain: false,
        message: true,
        task: "message".into(),
        sequential: false,
        tool: tool(name, about, properties, &["message", "kind"]),
    })
}

/// None where there is nobody to ask, or where an agent has its name.
fn chain_tool(agents: &[AgentDefinition]) -> Option<DelegateTool> {
    if agents.is_empty() || is_taken(CHAIN_TOOL, agents) {
        return None;
    }
    let names = agents.iter().map(AgentDefinition::name).collect::<Vec<_>>();
    let one = json!({
        "id": text("Its name in the chain, where a later step names it."),
        "agent": { "type": "string", "enum": names },
        "task": text(CHAIN_STEP_TASK),
        "context": text(DELEGATE_CONTEXT),
    });
    let branch = json!({ "type": "object", "properties": one.clone(), "required": ["agent", "task"] });
    let mut step = one;
    step["parallel"] = json!({ "type": "array", "items": branch });
    let properties = json!({
        "chain": text(CHAIN_NAME),
        "steps": { "type": "array", "items": { "type": "object", "properties": step }, "description": CHAIN_STEPS },
        "task": text(CHAIN_TASK),
        "on_failure": { "type": "string", "enum": ["stop", "collect"], "description": CHAIN_ON_FAILURE },
        "background": { "type": "boolean", "description": DELEGATE_BACKGROUND },
    });
    Some(DelegateTool {
        agent: None,
        chain: true,
        message: false,
        task: "task".into(),
        sequential: false,
        tool: tool(CHAIN_TOOL.into(), CHAIN_DESCRIPTION.into(), properties, &[]),
    })
}

fn agent_tool(agent: &AgentDefinition) -> DelegateTool {
    let wanted = delegate_argument(agent.routing.as_ref());
    let mut properties = json!({ wanted.name: text(wanted.about) });
    if context_label(agent.routing.as_ref()).is_some() {
        properties["context"] = text(DELEGATE_CONTEXT);
    }
    if agent.changes_files() {
        properties["isolation"] =
            json!({ "type": "string", "enum": ["worktree"], "description": DELEGATE_ISOLATION });
    }
    properties["background"] = json!({ "type": "boolean", "description": DELEGATE_BACKGROUND });
    DelegateTool {
        agent: Some(agent.name().into()),
        chain: false,
        message: false,
        task: wanted.name.into(),
        sequential: agent.execution_mode == ExecutionMode::Sequential,
        tool: tool(
            delegate_tool_name(agent.name()),
            delegate_tool_description(agent),
            properties,
            &[wanted.name],
        ),
    }
}
