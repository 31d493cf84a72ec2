//! Impresario inside a program that already runs tokio on several threads.
//!
//! Three sub-agents work at the same time: one answers a question about this repository with the offline model, one
//! finds its first model unavailable and goes on with the next, one never comes to an end and is cancelled. The program
//! brings a model and a tool of its own.
//!
//! ```sh
//! cargo run --example embed
//! ```

use impresario::runtime::{
    EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ModelUsage, OfflineOr,
    Replay, Step, ToolCall, ToolContext, ToolDefinition, async_trait,
};
use impresario::{Run, Runtime, SubAgent};
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let state = tempfile::tempdir()?;
    let runtime = Runtime::builder()
        .state_directory(state.path().join("one"))
        .model(OfflineOr::new(HouseModel))
        .tool(ReleaseName)
        .start()
        .await?;

    let question = SubAgent::explore("How does a crashed actor come back?").timeout(Duration::from_secs(60));
    let release = SubAgent::explore("What is the next release called?")
        .chain(["house/busy", "house/scout"])
        .tries_per_model(1, Duration::from_millis(10))
        .with_tool("release_name")
        .timeout(Duration::from_secs(60));
    let endless = SubAgent::explore("What is the last digit of pi?").chain(["house/silent"]);

    let question = runtime.spawn(question).await?;
    let release = runtime.spawn(release).await?;
    let endless = runtime.spawn(endless).await?;
    let watched = [
        ("question", &question),
        ("release", &release),
        ("endless", &endless),
    ];
    let watchers = watched.map(|(name, run)| tokio::spawn(watch(name, run.clone())));

    until_its_attempt_begins(&endless).await;
    endless.cancel("the program").await?;
    for run in [&question, &release, &endless] {
        let outcome = run.outcome().await?;
        let text = outcome
            .answer
            .or(outcome.reason.map(|reason| reason.message))
            .unwrap_or_default();
        println!("\n{:?}: {}", outcome.state, text.trim_end());
    }
    for watcher in watchers {
        watcher.await?;
    }

    // A second runtime in the same process has its own journal and its own thread.
    let second = Runtime::builder()
        .state_directory(state.path().join("two"))
        .start()
        .await?;
    let run = second
        .spawn(SubAgent::explore("Where are restarts limited?"))
        .await?;
    println!("\nThe second runtime: {:?}", run.outcome().await?.state);
    // Dropping the last handle is an end, too. Nobody waits for it; a run under way would be parked by the next start.
    drop((run, second));

    // This one is waited for: when it returns, nothing of this runtime is left.
    runtime.shutdown().await?;
    Ok(())
}

/// Prints the durable steps of a run, in order, from the first one on.
async fn watch(name: &str, run: Run) {
    let mut events = run.events();
    while let Some(event) = events.next().await {
        let what = match event.step {
            Step::AttemptStarted { model, .. } => format!("begins with {model}"),
            Step::ToolStarted { tool, replay, .. } => format!("calls {tool} (replay: {replay:?})"),
            Step::AttemptEnded { ending, .. } => format!("attempt over: {ending:?}"),
            Step::Ended { state, proof, .. } => format!("{state:?}, {} processes left", proof.processes_left),
            _ => continue,
        };
        println!("{name:>8}  {what}");
    }
}

async fn until_its_attempt_begins(run: &Run) {
    let mut events = run.events();
    while let Some(event) = events.next().await {
        if matches!(event.step, Step::AttemptActive { .. }) {
            return;
        }
    }
}

/// A tool of this program. It reads, so a call that was cut off may be made again; without that word it would not be.
struct ReleaseName;

#[async_trait]
impl EmbeddedTool for ReleaseName {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "release_name".to_string(),
            description: "Says what the next release is called.".to_string(),
            parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, _arguments: Value, _: &ToolContext) -> Result<String, String> {
        Ok("Overture".to_string())
    }
}

/// A model of this program; a real one would call a provider here, with the program's own credentials.
struct HouseModel;

#[async_trait(?Send)]
impl ModelClient for HouseModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        match request.model.as_str() {
            "house/scout" => Ok(scout(&request)),
            "house/silent" => std::future::pending().await,
            _ => Err(ModelError::Unavailable("the house is full".to_string())),
        }
    }
}

/// Calls the tool, then says what it said.
fn scout(request: &ModelRequest) -> ModelReply {
    let last = request
        .messages
        .last()
        .filter(|message| message.role == ModelRole::Tool);
    let call = ToolCall {
        id: "call-1".to_string(),
        tool: "release_name".to_string(),
        arguments: json!({}),
    };
    ModelReply {
        text: last.map_or(String::new(), |said| {
            format!("The next release is called {}.", said.text)
        }),
        tool_calls: if last.is_none() { vec![call] } else { Vec::new() },
        usage: ModelUsage::default(),
        served: None,
    }
}
