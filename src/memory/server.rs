//! The server itself, over whatever it is reached by.

use super::{Memory, wire};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;

const OF_ONE_RUN: &str =
    "Tool results of one run that were too large to show. They are gone when the run ends.";
const OF_A_HOST: &str = "Results that are too large to show. keep stores one while this server runs; list also names the \
runs of impresario that keep some, and list, read and search with a run look into its memory until it ends.";

/// Answers the tools of the overflow memory.
#[derive(Debug, Clone)]
pub struct MemoryServer(Arc<Memory>);

impl MemoryServer {
    /// A server on a memory; its clones serve the same one.
    pub fn new(memory: Memory) -> Self {
        Self(Arc::new(memory))
    }
}

impl ServerHandler for MemoryServer {
    fn get_info(&self) -> ServerConfig {
        let us = Implementation::new("context-memory", env!("CARGO_PKG_VERSION"));
        let instructions = match self.0.is_of_one_run() {
            true => OF_ONE_RUN,
            false => OF_A_HOST,
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(us)
            .with_instructions(instructions)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = wire::tools(self.0.is_of_one_run());
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(wire::tools(
            self.0.is_of_one_run(),
        )))
    }

    /// What goes wrong is a result: hosts show errors of the protocol to nobody.
    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let memory = self.0.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let arguments = Value::Object(call.arguments.unwrap_or_default());
            memory.ask(&call.name, &arguments)
        });
        let answer = asked
            .await
            .unwrap_or_else(|error| Err(format!("The memory broke: {error}")));
        let result = match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        };
        Ok(result.into())
    }
}
