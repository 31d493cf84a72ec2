//! The tools that Impresario adds, for any host.

use impresario_actors::gateways::{Reach, ToolAnswer, ToolPlace, Tools};
use impresario_policies::added_tools::AddedTool;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Answers calls of some of the tools, in one directory and nowhere else.
#[derive(Clone)]
pub struct ToolsServer {
    tools: Arc<dyn Tools>,
    offered: Vec<AddedTool>,
    workspace: PathBuf,
}

impl ToolsServer {
    /// A server of these tools; an error names one that is not there.
    pub fn new(tools: Arc<dyn Tools>, offered: Vec<AddedTool>, workspace: PathBuf) -> Result<Self, String> {
        if let Some(lacking) = offered.iter().find(|tool| tools.definition(**tool).is_none()) {
            return Err(format!("this program was built without {}", lacking.name()));
        }
        Ok(Self {
            tools,
            offered,
            workspace,
        })
    }

    fn described(&self, tool: AddedTool) -> Option<Tool> {
        let definition = self.tools.definition(tool)?;
        let schema = definition.parameters.as_object().cloned().unwrap_or_default();
        Some(Tool::new(
            definition.name,
            definition.description,
            Arc::new(schema),
        ))
    }

    fn named(&self, name: &str) -> Option<AddedTool> {
        AddedTool::named(name).filter(|tool| self.offered.contains(tool))
    }
}

impl ServerHandler for ToolsServer {
    fn get_info(&self) -> ServerConfig {
        let us = Implementation::new("impresario-tools", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(us)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.described(self.named(name)?)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offered.iter().filter_map(|tool| self.described(*tool));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    /// What goes wrong is a result: hosts show errors of the protocol to nobody.
    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let place = ToolPlace {
            workspace: self.workspace.clone(),
            reach: Reach::Workspace,
            readable: Vec::new(),
            cancelled: context.ct,
        };
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let answer = match self.named(&call.name) {
            Some(tool) => self.tools.call(tool, &arguments, &place).await,
            None => Err(format!("There is no tool {:?}.", call.name)),
        };
        Ok(result(answer).into())
    }
}

fn result(answer: Result<ToolAnswer, String>) -> CallToolResult {
    match answer {
        Ok(answer) => {
            let pictures = answer.pictures.into_iter();
            let pictures =
                pictures.map(|picture| ContentBlock::image(picture.base64.to_string(), picture.media_type));
            CallToolResult::success(
                std::iter::once(ContentBlock::text(answer.text))
                    .chain(pictures)
                    .collect(),
            )
        }
        Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
    }
}
