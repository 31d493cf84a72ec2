//! Sub-tasks side by side.

use super::stage::{LONG, Script, Stage, play};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::runtime::member_requests;
use impresario_actors::messages::run::{AwaitRun, CancelRun, StartGroup, StartRun};
use impresario_policies::domain::{GroupId, RunId, RunRequest, Subtask};
use impresario_policies::group::GroupProjection;
use impresario_policies::parallel::{
    ParallelRefusal, ParallelSettings, WorkerResult, clip_output, synthesize, worker_task_text,
};
use impresario_policies::projection::RunProjection;
use serde_json::{Value, json};

fn limit_of(cap: f64) -> Option<usize> {
    (cap > 0.0).then_some(cap as usize)
}

pub fn parallel_clip(case: &Case) -> Answer {
    let (text, truncated) = clip_output(case.text("text"), limit_of(case.number("cap")));
    Answer::value(json!({"text": text, "truncated": truncated}))
}

fn optional(value: &Json, key: &str) -> Option<String> {
    value.get(key).and_then(Json::as_str).map(str::to_string)
}

fn subtask(value: &Json) -> Subtask {
    let hints = value
        .get("retrieval_hints")
        .and_then(Json::as_array)
        .unwrap_or_default();
    Subtask {
        id: optional(value, "id").unwrap_or_default(),
        goal: optional(value, "goal").unwrap_or_default(),
        scope: optional(value, "scope"),
        retrieval_hints: hints
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect(),
        output_schema: optional(value, "output_schema"),
        output_units_max: value
            .get("max_output_chars")
            .and_then(Json::as_number)
            .map(|cap| cap as i64),
    }
}

pub fn parallel_prompt(case: &Case) -> Answer {
    Answer::value(json!({"prompt_without_last_paragraph": worker_task_text(&subtask(&case.input))}))
}

pub fn parallel_synthesis(case: &Case) -> Answer {
    let workers: Vec<WorkerResult> = case
        .list("workers")
        .iter()
        .map(|worker| WorkerResult {
            id: optional(worker, "id").unwrap_or_default(),
            goal: optional(worker, "goal").unwrap_or_default(),
            text: optional(worker, "text").unwrap_or_default(),
            // The peer has the cut in the reason, in place of how the run ended.
            truncated: optional(worker, "stopped_reason").as_deref() == Some("cap"),
            stopped_reason: match optional(worker, "stopped_reason").as_deref() {
                Some("cap") => "completed".to_string(),
                reason => reason.unwrap_or_default().to_string(),
            },
            error: optional(worker, "error")
                .filter(|_| optional(worker, "stopped_reason").as_deref() == Some("error")),
        })
        .collect();
    Answer::value(json!({"text": synthesize(&workers)}))
}

/// The peer's words for a refusal.
fn refusal(refusal: &ParallelRefusal) -> Answer {
    Answer::error(format!("pi-auggie-router: {refusal}"))
}

/// The group is run by the tree; who works when is what was seen. A sub-agent has tools here, and not servers.
pub fn parallel_run(case: &Case) -> Answer {
    let tasks: Vec<Subtask> = case.list("subtasks").iter().map(subtask).collect();
    let settings = ParallelSettings {
        enabled: case.flag("enabled"),
        workers_max: case.count("max_subagents"),
        concurrency_wanted: case.count("max_concurrency"),
        output_units_max: case.number("char_cap") as i64,
        call_output_units_max: case.get("call_char_cap").as_number().map(|cap| cap as i64),
    };
    let script = Script {
        skills: vec![("demo".to_string(), "Do it.".to_string())],
        by_subtask: results_of(case, &tasks),
        ..Script::default()
    };
    play(script, async |stage| {
        let like = stage.world.resolve(stage.order("demo", "")).expect("a request");
        let group = GroupId::new(1, 1);
        match member_requests(&like, tasks, &settings, LONG, &group) {
            Ok(requests) => Answer::value(side_by_side(case, stage, requests).await),
            Err(why) => refusal(&why),
        }
    })
}

/// With what the peer takes where a record is silent.
fn results_of(case: &Case, tasks: &[Subtask]) -> Vec<(String, Json)> {
    let result = |task: &Subtask| {
        let given = case.get("results").get(&task.id).cloned();
        let mut entries = given
            .as_ref()
            .and_then(Json::as_object)
            .unwrap_or_default()
            .to_vec();
        let given = |key: &str| entries.iter().any(|(name, _)| name == key);
        let (no_text, no_delay) = (!given("text") && !given("error"), !given("delay_ms"));
        if no_text {
            entries.push(("text".into(), Json::String(format!("done {}", task.id))));
        }
        if no_delay {
            entries.push(("delay_ms".into(), Json::Number(5.0)));
        }
        (task.id.clone(), Json::Object(entries))
    };
    tasks.iter().map(result).collect()
}

async fn side_by_side(case: &Case, stage: &Stage, requests: Vec<RunRequest>) -> Value {
    let starts = requests.into_iter().map(|request| StartRun {
        run: stage.new_run(),
        request: Box::new(request),
    });
    let runs: Vec<StartRun> = starts.collect();
    let ids: Vec<RunId> = runs.iter().map(|start| start.run.clone()).collect();
    if !runs.is_empty() {
        let accepted = stage.ports.start_group.ask_again(StartGroup { runs }, LONG).await;
        accepted.expect("an answer").expect("accepted");
    }
    for run in &ids {
        let over = AwaitRun { run: run.clone() };
        tokio::select! {
            biased;
            over = stage.ports.await_run.ask_again(over, LONG) => drop(over.expect("its end")),
            () = cancel_who_asks(stage) => {}
        }
    }
    let members = ids
        .iter()
        .map(|run| (run.clone(), RunProjection::of(&stage.steps(run))));
    let group = GroupProjection::of(members);
    let results = group.members.iter().filter_map(|member| member.result.as_ref());
    let workers: Vec<Value> = results.map(|result| worker_value(&result.worker)).collect();
    let (most, begun) = (stage.world.most_at_work.get(), stage.world.begun.borrow().clone());
    let played = json!({
        "workers": workers, "synthesized_text": group.synthesis(), "max_concurrent": most, "start_order": begun,
    });
    aligned(case, played)
}

async fn cancel_who_asks(stage: &Stage) {
    while let Some(run) = stage.to_be_cancelled().await {
        let by = "the caller".to_string();
        let _ = stage.ports.cancel.ask_again(CancelRun { run, by }, LONG).await;
    }
}

/// Where the error of ours names the cause with the model, the cause alone counts.
fn aligned(case: &Case, mut played: Value) -> Value {
    let errors: Vec<(String, String)> = match played["workers"].as_array_mut() {
        Some(workers) => workers
            .iter_mut()
            .filter_map(|worker| named_cause(case, worker))
            .collect(),
        None => Vec::new(),
    };
    if let Some(text) = played["synthesized_text"].as_str() {
        let text = errors.iter().fold(text.to_string(), |text, (ours, cause)| {
            text.replace(ours.as_str(), cause)
        });
        played["synthesized_text"] = json!(text);
    }
    played
}

fn named_cause(case: &Case, worker: &mut Value) -> Option<(String, String)> {
    let ours = worker["error"].as_str()?.to_string();
    let recorded = case.get("results").get(worker["id"].as_str()?)?;
    let cause = recorded.get("error")?.as_str()?.to_string();
    if !ours.contains(&cause) {
        return None;
    }
    worker["error"] = json!(cause);
    Some((ours, cause))
}

/// Servers are not covered.
pub fn covered(recorded: &Json) -> Json {
    let entries = recorded.as_object().unwrap_or_default().iter();
    Json::Object(entries.filter(|(key, _)| key != "mcp_sets").cloned().collect())
}

fn worker_value(worker: &WorkerResult) -> Value {
    let mut value = json!({
        "id": worker.id, "goal": worker.goal, "text": worker.text, "truncated": worker.truncated,
        "stopped_reason": worker.shown_reason(),
    });
    if let Some(error) = &worker.error {
        value["error"] = json!(error);
    }
    value
}
