//! What stories of this program have in common: how long they wait, and what a model of theirs says.

use impresario::runtime::{ModelReply, ModelUsage, Step, ToolCall};
use impresario::{Outcome, Run, Runtime, SubAgent};
use impresario_test_support::waiting::PATIENCE;
use serde_json::Value;

pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("it comes to an end")
}

/// Spawns and hears how it ended.
pub async fn run(runtime: &Runtime, sub_agent: SubAgent) -> Outcome {
    let run = runtime.spawn(sub_agent).await.expect("accepted");
    within(run.outcome()).await.expect("an outcome")
}

/// Waits until a run has taken such a step.
pub async fn until(run: &Run, wanted: fn(&Step) -> bool) {
    let mut events = run.events();
    while let Some(event) = within(events.next()).await {
        if wanted(&event.step) {
            return;
        }
    }
    panic!("the run ended before: {:?}", run.outcome().await);
}

pub fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_string(),
        tool_calls: Vec::new(),
        usage: ModelUsage::default(),
        served: None,
    }
}

pub fn calls(id: &str, tool: &str, arguments: Value) -> ModelReply {
    ModelReply {
        tool_calls: vec![ToolCall {
            id: id.to_string(),
            tool: tool.to_string(),
            arguments,
        }],
        ..says("")
    }
}
