//! The server itself, over whatever it is reached by.

use super::{Memory, wire};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use std::sync::Arc;

/// A message is at most this long.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

const OF_ONE_RUN: &str =
    "Tool results of one run that were too large to show. They are gone when the run ends.";
const OF_A_HOST: &str = "Results that are too large to show. keep stores one while this server runs; list also names the \
runs of impresario that keep some, and list, read and search with a run look into its memory until it ends.";

/// Answers the tools of the overflow memory.
#[derive(Debug, Clone)]
pub struct MemoryServer(Arc<Memory>);

impl MemoryServer {
    /// A server on a memory; several may serve one.
    pub fn new(memory: Arc<Memory>) -> Self {
        Self(memory)
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

/// Serves over our own standard streams until the input ends.
pub async fn serve_stdio(memory: Memory) -> Result<(), String> {
    let (input, output) = rmcp::transport::stdio();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX);
    let server = MemoryServer::new(Arc::new(memory));
    match server.serve(transport).await {
        Ok(running) => running
            .waiting()
            .await
            .map(|_| ())
            .map_err(|error| error.to_string()),
        // A host that looked and went away.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
