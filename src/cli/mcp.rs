//! `mcp`: the overflow memory for other hosts.

use super::arguments::McpArguments;
use super::exit::Failure;
use super::output::print;
use crate::memory::{HttpError, Memory, MemoryError, serve_http, serve_stdio};
use std::io::Read;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Shorter ones can be guessed.
const TOKEN_CHARACTERS_MIN: usize = 16;
const TOKEN_BYTES: usize = 24;

pub(super) async fn serve(arguments: McpArguments) -> Result<ExitCode, Failure> {
    let memory = Memory::open(arguments.state.state_directory.clone(), arguments.run.as_deref());
    let memory = memory.map_err(|error| match error {
        MemoryError::Run(why) => Failure::usage(format!("{why} `impresario runs` lists the runs.")),
        other => Failure::failed(other.to_string()),
    })?;
    match arguments.http {
        None => over_stdio(memory).await?,
        Some(address) => over_http(memory, address, arguments.token).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends with the input, or with Ctrl-C.
async fn over_stdio(memory: Memory) -> Result<(), Failure> {
    tokio::select! { biased;
        _ = tokio::signal::ctrl_c() => Ok(()),
        served = serve_stdio(memory) => served.map_err(Failure::failed),
    }
}

async fn over_http(memory: Memory, address: SocketAddr, token: Option<String>) -> Result<(), Failure> {
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
        served = serve_http(memory, address, token, listening, ended) => served.map_err(|error| match error {
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
