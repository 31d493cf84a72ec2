//! Fallback: a run of the product's own tree, with sub-agents that end as a record says.

use super::{object, text, texts};
use crate::auggie::stage::{LONG, Script, Stage, play};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_actors::messages::run::{AwaitRun, CancelRun, StartRun};
use impresario_policies::domain::{Briefing, TerminalState};
use impresario_policies::projection::RunProjection;
use serde_json::json;
use std::time::Duration;

/// The model of a snapshot that names none.
const HOSTS_OWN: &str = "host/own";
/// The peer's time where a record gives none.
pub const TIMEOUT_MS: f64 = 300_000.0;

/// What a sub-agent does that ends as this attempt did.
fn script_of(attempt: &Json) -> Json {
    let result = attempt.get("result").unwrap_or(&Json::Null);
    let word = |text: &str| Json::String(text.to_string());
    let mut script = vec![("delay_ms", attempt.get("ms").cloned().unwrap_or(Json::Null))];
    let details = text(result, "details");
    match text(result, "failureKind").as_str() {
        "" if result != &Json::Null => script.push(("final_text", word(&text(result, "content")))),
        "provider_or_model_unavailable" => script.push(("error", word(&details))),
        "timed_out" => script = vec![("stopped_reason", word("timeout"))],
        "cancelled" => script.push(("stopped_reason", word("aborted"))),
        "killed" => script.push(("exit_signal", Json::Number(9.0))),
        // A process that gave up, with a word or two.
        _ => {
            script.push(("exit_code", Json::Number(1.0)));
            script.push(("stderr", word(&details)));
        }
    }
    object(script)
}

pub fn fallback_plan(case: &Case) -> Answer {
    let snapshot = case.get("snapshot");
    let script = Script {
        skills: vec![("demo".to_string(), "Do it.".to_string())],
        sub_agents: case.list("attempts").iter().map(script_of).collect(),
        ..Script::default()
    };
    let first = snapshot.get("model").and_then(Json::as_str).unwrap_or(HOSTS_OWN);
    let mut chain = vec![first.to_string()];
    for model in texts(snapshot, "fallbackModels") {
        if !chain.contains(&model) {
            chain.push(model);
        }
    }
    let timeout = case.get("timeout_ms").as_number().unwrap_or(TIMEOUT_MS);
    play(script, async |stage| {
        let mut request = stage
            .world
            .resolve(stage.order("demo", "look"))
            .expect("a request");
        request.briefing = Briefing::Direct;
        request.terms.routing = None;
        request.chain = chain;
        request.clocks.total = Duration::from_millis(timeout as u64);
        let run = stage.new_run();
        let start = StartRun {
            run: run.clone(),
            request: Box::new(request),
        };
        let accepted = stage.ports.start.ask_again(start, LONG).await;
        accepted.expect("an answer").expect("accepted");
        let over = AwaitRun { run: run.clone() };
        tokio::select! {
            biased;
            over = stage.ports.await_run.ask_again(over, LONG) => drop(over.expect("its end")),
            () = cancel_who_asks(stage) => {}
        }
        let ended = RunProjection::of(&stage.steps(&run));
        let calls = stage.world.sub_agent_calls.borrow();
        let models = calls.iter().map(|call| call.request.model.clone());
        Answer::value(json!({
            "models": models.collect::<Vec<_>>(),
            "success": ended.ended.is_some_and(|end| end.state == TerminalState::Succeeded),
            "content": ended.answer,
        }))
    })
}

async fn cancel_who_asks(stage: &Stage) {
    while let Some(run) = stage.to_be_cancelled().await {
        let by = "the caller".to_string();
        let _ = stage.ports.cancel.ask_again(CancelRun { run, by }, LONG).await;
    }
}

/// Which models were called in which order, and what came of it.
pub fn plan_covered(recorded: &Json) -> Json {
    let calls = recorded.get("calls").and_then(Json::as_array).unwrap_or_default();
    let models = calls.iter().map(|call| match call.get("model") {
        Some(Json::String(model)) => Json::String(model.clone()),
        _ => Json::String(HOSTS_OWN.to_string()),
    });
    let result = recorded.get("result").unwrap_or(&Json::Null);
    let success = result.get("success") == Some(&Json::Bool(true));
    let content = result.get("content").filter(|_| success).cloned();
    object(vec![
        ("models", Json::Array(models.collect())),
        ("success", Json::Bool(success)),
        ("content", content.unwrap_or(Json::Null)),
    ])
}
