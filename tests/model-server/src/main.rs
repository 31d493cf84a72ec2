//! The scripted model server as a program, for trying things by hand.

use std::io::Write;
use std::path::PathBuf;

use clap::Parser;
use impresario_model_server::{ModelServer, Script, ServerSettings, Turn};

/// Answers what a script says, in the protocols of OpenAI and Anthropic, on 127.0.0.1.
///
/// Example: impresario-model-server --script script.json --log calls.jsonl
#[derive(Debug, Parser)]
struct Arguments {
    /// The script, as JSON; without one, every request gets a greeting.
    #[arg(long)]
    script: Option<PathBuf>,
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the ledger is written, a JSON object a line.
    #[arg(long)]
    log: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let script = match &arguments.script {
        Some(path) => serde_json::from_slice(&std::fs::read(path)?)?,
        None => Script::always(Turn::text("Hello from the scripted model server.")),
    };
    let settings = ServerSettings {
        port: arguments.port,
        log: arguments.log,
    };
    let server = ModelServer::start_with(script, &settings)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}",
        serde_json::json!({"port": server.port(), "pid": std::process::id()})
    )?;
    stdout.flush()?;
    drop(stdout);
    loop {
        std::thread::park();
    }
}
