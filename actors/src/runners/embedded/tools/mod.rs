//! The tools of an embedded sub-agent: the ones its agent allows, built in or registered by the embedder.

#![warn(missing_docs)]

mod find;
mod grep;
mod read;

#[cfg(test)]
mod tests;

use super::EmbeddedParts;
use crate::context::local::HeavyWork;
use crate::gateways::{AttemptRequest, ToolCall, ToolDefinition, ToolGate};
use crate::program::{CallLost, ProgramThreads};
use crate::runners::overflow_tools::OverflowTool;
use crate::runners::retrieval_tool;
use crate::tools::place::Workspace;
use async_trait::async_trait;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::domain::{AttemptNumber, Picture, Replay, RunId};
use impresario_policies::overflow_memory::MEMORY_TOOLS;
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use read::Shown;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A tool an embedder adds. It may be called from several sub-agents at a time, each call on a thread of its own.
#[async_trait]
pub trait EmbeddedTool: Send + Sync {
    /// What the model is told of it. A name of a built-in tool is not taken.
    fn definition(&self) -> ToolDefinition;
    /// Whether it may run again after it was cut off.
    fn replay(&self) -> Replay {
        Replay::Unsafe
    }
    /// How long a call may take. One that takes longer is told to stop, and the model that it did.
    fn within(&self) -> Duration {
        CALL_WITHIN
    }
    /// Does it, on a thread of its own; both sides of the result are shown to the model.
    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<String, String>;
}

/// As long as a run may take that says nothing of it.
const CALL_WITHIN: Duration = Duration::from_secs(300);

/// What a tool knows of the call it answers.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// For whom.
    pub run: RunId,
    /// Which try of that run.
    pub attempt: AttemptNumber,
    /// The id that the model gave the call. Providers use one again: it names the call only within its turn.
    pub call: String,
    /// The directory the sub-agent works in.
    pub workspace: PathBuf,
    /// Cancelled when nobody waits for the result any more: a tool that blocks looks here from time to time.
    pub cancelled: CancellationToken,
}

/// A tool of the program as it was when it was added: what the model is told of it does not change from turn to turn.
#[derive(Clone)]
pub struct RegisteredTool {
    definition: ToolDefinition,
    replay: Replay,
    within: Duration,
    tool: Arc<dyn EmbeddedTool>,
}

impl RegisteredTool {
    /// Asks the tool what it is, once.
    pub fn new(tool: Arc<dyn EmbeddedTool>) -> Self {
        Self {
            definition: tool.definition(),
            replay: tool.replay(),
            within: tool.within(),
            tool,
        }
    }

    /// What the model calls it.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

/// What a tool said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolOutcome {
    pub(super) text: String,
    pub(super) pictures: Vec<Picture>,
    pub(super) is_error: bool,
}

/// No result is longer; what the runtime keeps aside is decided by its own ceiling.
const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Clone)]
enum Tool {
    Read,
    Grep,
    Find,
    Retrieve,
    Overflow(OverflowTool),
    Added(AddedTool),
    Registered(RegisteredTool),
}

/// The tools one sub-agent may use, and nothing else.
pub(super) struct Toolbox {
    tools: Vec<(ToolDefinition, Tool)>,
    workspace: Workspace,
    gate: Rc<dyn ToolGate>,
    heavy_work: HeavyWork,
    program: ProgramThreads,
    context: ToolContext,
}

impl Toolbox {
    pub(super) fn new(
        request: &AttemptRequest,
        parts: &EmbeddedParts,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Self, String> {
        let mut tools: Vec<(ToolDefinition, Tool)> = Vec::new();
        for name in &request.tools {
            let known = tools.iter().any(|(definition, _)| definition.name == *name);
            if let Some(tool) = find_tool(name, parts)
                && !known
            {
                tools.push(tool);
            }
        }
        if edits_by_anchors(&tools) {
            let reads = tools.iter_mut().filter(|(_, tool)| matches!(tool, Tool::Read));
            reads.for_each(|(definition, _)| definition.description.push_str(read::ANCHORED));
        }
        Ok(Self {
            tools,
            workspace: Workspace::open(&request.workspace)?.reading(&request.readable),
            gate,
            heavy_work: parts.heavy_work,
            program: parts.program.clone(),
            context: ToolContext {
                run: request.run.clone(),
                attempt: request.attempt,
                call: String::new(),
                workspace: request.workspace.clone(),
                cancelled: CancellationToken::new(),
            },
        })
    }

    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools
            .iter()
            .map(|(definition, _)| definition.clone())
            .collect()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools
            .iter()
            .map(|(definition, _)| definition.name.as_str())
            .collect()
    }

    pub(super) fn offers(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    pub(super) fn replay(&self, name: &str) -> Replay {
        match self.tool(name) {
            Some(Tool::Registered(tool)) => tool.replay,
            Some(Tool::Added(tool)) => tool.replay(),
            Some(_) | None => Replay::Safe,
        }
    }

    /// Whether a tool reads what was kept aside, so that its own result is not kept aside again.
    pub(super) fn reads_overflow(&self, name: &str) -> bool {
        matches!(self.tool(name), Some(Tool::Overflow(_)))
    }

    /// Runs a call; whatever goes wrong in it is a result the model can read.
    pub(super) async fn run(&self, name: &str, call: &ToolCall) -> ToolOutcome {
        let mut pictures = Vec::new();
        let (text, is_error) = match self.run_tool(name, call, &mut pictures).await {
            Ok(text) => (text, false),
            Err(why) => (why, true),
        };
        // What an engine found is bounded by the engine, and is to be kept aside whole.
        let text = match self.tool(&call.tool) {
            Some(Tool::Retrieve) => text,
            Some(_) | None => bounded(text),
        };
        ToolOutcome {
            text,
            pictures,
            is_error,
        }
    }

    async fn run_tool(
        &self,
        name: &str,
        call: &ToolCall,
        pictures: &mut Vec<Picture>,
    ) -> Result<String, String> {
        let Some(tool) = self.tool(&call.tool) else {
            return Err(format!("There is no tool {:?}.", call.tool));
        };
        let workspace = self.workspace.clone();
        match tool {
            Tool::Read => {
                let shown = match edits_by_anchors(&self.tools) {
                    true => Shown::Anchored,
                    false => Shown::Numbered,
                };
                self.aside(&call.arguments, move |arguments| {
                    read::run(&workspace, &arguments, shown)
                })
                .await
            }
            Tool::Grep => {
                self.aside(&call.arguments, move |arguments| {
                    grep::run(&workspace, &arguments)
                })
                .await
            }
            Tool::Find => {
                self.aside(&call.arguments, move |arguments| {
                    find::run(&workspace, &arguments)
                })
                .await
            }
            Tool::Retrieve => retrieval_tool::retrieve(self.gate.as_ref(), &call.arguments).await,
            Tool::Overflow(tool) => self.gate.overflow(tool.asked_as(), &call.arguments).await,
            Tool::Added(tool) => {
                let answer = self.gate.use_tool(Some(name), *tool, &call.arguments).await?;
                *pictures = answer.pictures;
                Ok(answer.text)
            }
            Tool::Registered(registered) => self.ask_program(registered, call).await,
        }
    }

    async fn ask_program(&self, registered: &RegisteredTool, call: &ToolCall) -> Result<String, String> {
        let tool = Arc::clone(&registered.tool);
        let (cancelled, arguments) = (CancellationToken::new(), call.arguments.clone());
        // A tool that blocks is not dropped with us; it is told.
        let _waiting = cancelled.clone().drop_guard();
        let context = ToolContext {
            call: call.id.clone(),
            cancelled,
            ..self.context.clone()
        };
        let said = self
            .program
            .call(move || async move { tool.call(arguments, &context).await.map(bounded).map_err(bounded) });
        match timeout(registered.within, said).await {
            Ok(Ok(said)) => said,
            Ok(Err(CallLost::Panicked(_))) => Err(format!("The tool {} panicked.", call.tool)),
            Ok(Err(CallLost::Stopped)) => Err(format!("The tool {} was stopped.", call.tool)),
            Err(_) => Err(format!(
                "The tool {} did not answer within {} s and was told to stop.",
                call.tool,
                registered.within.as_secs_f64()
            )),
        }
    }

    async fn aside<A: DeserializeOwned + Send + 'static>(
        &self,
        given: &Value,
        work: impl FnOnce(A) -> Result<String, String> + Send + 'static,
    ) -> Result<String, String> {
        let arguments = arguments(given)?;
        self.heavy_work
            .run(move || work(arguments))
            .await
            .unwrap_or_else(|why| Err(format!("The tool failed: {why}")))
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools
            .iter()
            .find(|(definition, _)| definition.name == name)
            .map(|(_, tool)| tool)
    }
}

/// Whether what `read` shows is to be edited by its anchors.
fn edits_by_anchors(tools: &[(ToolDefinition, Tool)]) -> bool {
    tools
        .iter()
        .any(|(_, tool)| matches!(tool, Tool::Added(AddedTool::HashlineEdit)))
}

/// Reads arguments as a tool wants them; the model is told what is wrong with them.
fn arguments<A: DeserializeOwned>(given: &Value) -> Result<A, String> {
    let given = if given.is_null() { json!({}) } else { given.clone() };
    serde_json::from_value(given).map_err(|error| format!("The arguments cannot be used: {error}."))
}

fn bounded(mut text: String) -> String {
    if text.len() > RESULT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        text.push_str("\n… (cut)\n");
    }
    text
}

/// Built-in names come first, so that no registered tool can pose as one.
fn find_tool(name: &str, parts: &EmbeddedParts) -> Option<(ToolDefinition, Tool)> {
    if let Some(built_in) = built_in(name) {
        return Some(built_in);
    }
    if let Some(tool) = AddedTool::named(name)
        && let Some(definition) = parts.added.definition(tool)
    {
        return Some((definition, Tool::Added(tool)));
    }
    let tool = parts.tools.iter().find(|tool| tool.name() == name)?;
    Some((tool.definition.clone(), Tool::Registered(tool.clone())))
}

const BUILT_IN: [&str; 4] = ["read", "grep", "find", RETRIEVAL_TOOL];

/// The names of all tools there are here.
pub(super) fn offered(parts: &EmbeddedParts) -> Vec<String> {
    let added = AddedTool::ALL.into_iter();
    let added = added.filter(|tool| parts.added.definition(*tool).is_some());
    let built_in = BUILT_IN.iter().chain(&MEMORY_TOOLS).copied();
    let built_in = built_in.chain(added.map(AddedTool::name)).map(str::to_string);
    let registered = parts.tools.iter().map(|tool| tool.name().to_string());
    built_in.chain(registered).collect()
}

fn built_in(name: &str) -> Option<(ToolDefinition, Tool)> {
    if let Some(tool) = OverflowTool::named(name) {
        return Some((tool.definition(), Tool::Overflow(tool)));
    }
    if name == RETRIEVAL_TOOL {
        return Some((retrieval_tool::definition(), Tool::Retrieve));
    }
    let (tool, description, parameters) = match name {
        "read" => (Tool::Read, read::DESCRIPTION, read::parameters()),
        "grep" => (Tool::Grep, grep::DESCRIPTION, grep::parameters()),
        "find" => (Tool::Find, find::DESCRIPTION, find::parameters()),
        _ => return None,
    };
    let definition = ToolDefinition {
        name: name.to_string(),
        description: description.to_string(),
        parameters,
    };
    Some((definition, tool))
}
