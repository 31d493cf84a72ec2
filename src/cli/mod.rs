//! The command line: what a person types, and what the exit code says.

mod agents;
mod arguments;
mod attach;
mod bridge;
mod cache;
mod capabilities;
mod chain;
mod config;
mod costs;
mod detach;
mod exit;
mod mcp;
mod messages;
mod output;
mod parallel;
mod run;
mod runs;
mod stats;
mod terminal;
mod top;
mod trace;
mod traces;
mod trust;
mod wire;
mod worktrees;

pub use arguments::Cli;

use crate::runtime::ToolSettings;
use arguments::{Command, StateArguments};
use exit::Failure;
use impresario_policies::worker_pool::PoolSettings;
use std::process::ExitCode;

impl Cli {
    /// Does what was typed, and says how it ended.
    pub fn execute(self) -> ExitCode {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Failure::failed(format!("start: {error}")).report(),
        };
        start_logging();
        if self.raw {
            output::leave_raw();
        }
        let ended = runtime.block_on(async {
            match self.command {
                Command::Run(arguments) => run::run_agent(arguments).await,
                Command::Skill(arguments) => run::run_skill(arguments).await,
                Command::Parallel(arguments) => parallel::execute(arguments).await,
                Command::Chain(arguments) => chain::execute(arguments).await,
                Command::Agents(arguments) => agents::list(&arguments),
                Command::Capabilities(arguments) => capabilities::execute(arguments),
                Command::Runs(arguments) => runs::execute(arguments).await,
                Command::Steer(arguments) => messages::steer(arguments).await,
                Command::Ask(arguments) => messages::ask(arguments).await,
                Command::Worktrees(arguments) => worktrees::execute(&arguments),
                Command::Top(arguments) => top::execute(arguments).await,
                Command::Stats(arguments) => stats::execute(arguments).await,
                Command::Costs(arguments) => costs::show(&arguments),
                Command::Cache(arguments) => cache::execute(arguments).await,
                Command::Trace(arguments) => trace::execute(arguments).await,
                Command::Trust(arguments) => trust::execute(&arguments),
                Command::Config(arguments) => config::execute(arguments).await,
                Command::Mcp(arguments) => mcp::serve(arguments).await,
                Command::Bridge(arguments) => bridge::serve(arguments).await,
            }
        });
        // A thread may still wait for a line that nobody types; it must not hold up the end.
        runtime.shutdown_background();
        match ended {
            Ok(code) => code,
            Err(failure) => failure.report(),
        }
    }
}

/// Logs are for us: they are written to stderr, and only when `IMPRESARIO_LOG` asks for them.
fn start_logging() {
    let Ok(filter) = std::env::var("IMPRESARIO_LOG") else {
        return;
    };
    let filter = tracing_subscriber::EnvFilter::new(filter);
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}

impl StateArguments {
    fn builder(&self) -> crate::RuntimeBuilder {
        // A command ends with what it runs: nothing would come of waiting.
        let builder = crate::Runtime::builder()
            .own_process()
            .pool(PoolSettings::NONE)
            .tool_settings(ToolSettings::of_user());
        match &self.state_directory {
            Some(directory) => builder.state_directory(directory),
            None => builder,
        }
    }
}
