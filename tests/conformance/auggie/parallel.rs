//! Sub-tasks side by side.

use crate::vectors::{Answer, Case};
use impresario_policies::compat::Json;
use impresario_policies::parallel::{
    ParallelRefusal, ParallelSettings, Subtask, WorkerResult, clip_output, plan_parallel, synthesize,
    worker_task_text,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
            // The peer has the cut in the reason.
            truncated: optional(worker, "stopped_reason").as_deref() == Some("cap"),
            stopped_reason: optional(worker, "stopped_reason").unwrap_or_default(),
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

pub fn parallel_run(case: &Case) -> Answer {
    let tasks: Vec<Subtask> = case.list("subtasks").iter().map(subtask).collect();
    let settings = ParallelSettings {
        enabled: case.flag("enabled"),
        workers_max: case.count("max_subagents"),
        concurrency_wanted: case.count("max_concurrency"),
        output_units_max: case.number("char_cap") as i64,
        call_output_units_max: case.get("call_char_cap").as_number().map(|cap| cap as i64),
    };
    let plan = match plan_parallel(&tasks, &settings) {
        Ok(plan) => plan,
        Err(why) => return refusal(&why),
    };
    let result_of = |task: &Subtask| case.get("results").get(&task.id).cloned().unwrap_or(Json::Null);
    let workers: Vec<WorkerResult> = tasks
        .iter()
        .zip(&plan.output_units_max)
        .map(|(task, limit)| finished(task, &result_of(task), *limit))
        .collect();
    let delays: Vec<f64> = tasks
        .iter()
        .map(|task| {
            result_of(task)
                .get("delay_ms")
                .and_then(Json::as_number)
                .unwrap_or(5.0)
        })
        .collect();
    let order = start_order(&delays, plan.concurrency);
    let memory = case.get("context_memory").get("enabled") == Some(&Json::Bool(true))
        || case.get("context_memory") == &Json::Bool(true);
    let servers = if memory { "auggie,context-memory" } else { "auggie" };
    let sets: BTreeSet<&str> = tasks.iter().map(|_| servers).collect();
    let ids: Vec<&str> = order.iter().map(|at| tasks[*at].id.as_str()).collect();
    Answer::value(json!({
        "workers": workers.iter().map(worker_value).collect::<Vec<_>>(),
        "synthesized_text": synthesize(&workers), "max_concurrent": plan.concurrency,
        "start_order": ids, "mcp_sets": sets,
    }))
}

fn finished(task: &Subtask, result: &Json, limit: Option<usize>) -> WorkerResult {
    let error = optional(result, "error");
    let default = if error.is_some() {
        String::new()
    } else {
        format!("done {}", task.id)
    };
    let (text, truncated) = clip_output(&optional(result, "text").unwrap_or(default), limit);
    let reason = if error.is_some() { "error" } else { "completed" };
    WorkerResult {
        id: task.id.clone(),
        goal: task.goal.clone(),
        text,
        truncated,
        stopped_reason: optional(result, "stopped_reason").unwrap_or_else(|| reason.into()),
        error,
    }
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

/// Lanes take the tasks in order, each as soon as it is free.
fn start_order(delays: &[f64], lanes: usize) -> Vec<usize> {
    let mut free_at = vec![0.0_f64; lanes];
    let mut order = Vec::new();
    for (task, delay) in delays.iter().enumerate() {
        if let Some(lane) = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *lane += delay;
            order.push(task);
        }
    }
    order
}
