//! `bridge`: serves a host over stdin and stdout.

use super::arguments::BridgeArguments;
use super::exit::Failure;
use crate::pi_sessions::{BridgeOptions, serve_stdio};
use std::process::ExitCode;

pub(super) async fn serve(arguments: BridgeArguments) -> Result<ExitCode, Failure> {
    let options = BridgeOptions {
        runner: arguments.runner,
        pi: arguments.pi,
        state_directory: arguments.state.state_directory,
    };
    serve_stdio(options)
        .await
        .map_err(|error| Failure::failed(format!("failed to {error}")))?;
    Ok(ExitCode::SUCCESS)
}
