//! Serving other hosts over the Model Context Protocol, whatever is served.

mod connections;
mod http;
mod tools;

pub use http::{HttpError, serve_http};
pub use tools::ToolsServer;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ServerHandler, ServiceExt};

/// A message is at most this long.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Serves over our own standard streams until the input ends.
pub async fn serve_stdio(server: impl ServerHandler) -> Result<(), String> {
    let (input, output) = rmcp::transport::stdio();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX);
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
