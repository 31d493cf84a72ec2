//! `mcp`: the overflow memory, or the tools that Impresario adds, for other hosts.

use super::arguments::McpArguments;
use super::exit::Failure;
use super::output::print;
use crate::mcp::{HttpError, ToolsServer, serve_http, serve_stdio};
use crate::memory::{Memory, MemoryError, MemoryServer};
use crate::runtime::{ToolSettings, local_tools, state_directory};
use impresario_policies::added_tools::SessionTools;
use rmcp::ServerHandler;
use std::io::Read;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Shorter ones can be guessed.
const TOKEN_CHARACTERS_MIN: usize = 16;
const TOKEN_BYTES: usize = 24;

pub(super) async fn serve(arguments: McpArguments) -> Result<ExitCode, Failure> {
    if arguments.tools.is_empty() {
        let memory = Memory::open(arguments.state.state_directory.clone(), arguments.run.as_deref());
        let memory = memory.map_err(|error| match error {
            MemoryError::Run(why) => Failure::usage(format!("{why} `impresario runs` lists the runs.")),
            other => Failure::failed(other.to_string()),
        })?;
        return over(MemoryServer::new(memory), arguments).await;
    }
    let workspace = match &arguments.workspace {
        Some(workspace) => workspace.clone(),
        None => std::env::current_dir()
            .map_err(|error| Failure::failed(format!("failed to find the current directory: {error}")))?,
    };
    if !workspace.is_dir() {
        return Err(Failure::usage(format!("{} is no directory", workspace.display())));
    }
    let offered = SessionTools::of(&arguments.tools, &[]);
    let state = arguments.state.state_directory.clone();
    let state = state
        .map_or_else(state_directory, Ok)
        .map_err(|error| Failure::failed(format!("failed to {error}")))?;
    let tools = local_tools(&state, ToolSettings::of_user());
    let server = ToolsServer::new(tools, offered, workspace);
    over(server.map_err(Failure::usage)?, arguments).await
}

async fn over(server: impl ServerHandler + Clone, arguments: McpArguments) -> Result<ExitCode, Failure> {
    match arguments.http {
        None => over_stdio(server).await?,
        Some(address) => over_http(server, address, arguments.token).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends with the input, or with Ctrl-C.
async fn over_stdio(server: impl ServerHandler) -> Result<(), Failure> {
    tokio::select! { biased;
        _ = tokio::signal::ctrl_c() => Ok(()),
        served = serve_stdio(server) => served.map_err(Failure::failed),
    }
}

async fn over_http(
    server: impl ServerHandler + Clone,
    address: SocketAddr,
    token: Option<String>,
) -> Result<(), Failure> {
    let (token, is_given) = match token {
        Some(token) if token.len() < TOKEN_CHARACTERS_MIN => {
            return Err(Failure::usage(format!(
                "IMPRESARIO_MCP_TOKEN has fewer than {TOKEN_CHARACTERS_MIN} characters"
            )));
        }
        Some(token) => (token, true),
        None => (new_token()?, false),
    };
    let header = format!("Authorization: Bearer {token}");
    let listening = move |address: SocketAddr| {
        let _ = print(&format!("http://{address}/mcp"));
        if !is_given {
            let _ = print(&header);
        }
    };
    let ended = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    tokio::select! { biased;
        // A client that holds its connection open must not hold up the end.
        _ = tokio::signal::ctrl_c() => Ok(()),
        served = serve_http(server, address, token, listening, ended) => served.map_err(|error| match error {
            HttpError::NotLoopback(_) => Failure::usage(error.to_string()),
            other => Failure::failed(format!("failed to {other}")),
        }),
    }
}

/// From the system's own source of chance.
fn new_token() -> Result<String, Failure> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| {
        Failure::failed(format!(
            "failed to make a token: {error}; set IMPRESARIO_MCP_TOKEN"
        ))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
