//! Actor and judge, and what they read and write.

use super::stage::{LONG, Script, Stage, play};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_actors::gateways::{ModelMessage, ModelRole};
use impresario_actors::messages::run::AwaitRun;
use impresario_actors::messages::session::StartSkill;
use impresario_policies::compat::units;
use impresario_policies::domain::{
    Brief, HistorySettings, HistoryStrategy, MiddleMode, Route, ShortNewest, Verdict,
};
use impresario_policies::history::{ChatMessage, assemble_history};
use impresario_policies::judge_reply::coerce_route;
use impresario_policies::projection::RunProjection;
use impresario_policies::render_brief::{cut_with_mark, render_brief as render};
use impresario_policies::sub_agent_prompt::{fingerprint, system_prompt};
use serde_json::{Value, json};

/// The peer cuts every message of the chat to this inside the prompts of actor and judge.
const ROUTING_MESSAGE_UNITS_MAX: usize = 10_000;

pub fn coerce_route_of(case: &Case) -> Answer {
    Answer::value(route_value(&coerce_route(&Value::from(case.get("raw")))))
}

pub fn route_value(route: &Route) -> Value {
    serde_json::to_value(route).expect("a route is JSON")
}

/// A skill is run until its brief is settled; the sub-agent that follows does not matter. Whether a call can be
/// aborted is not to be seen from here.
pub fn actor_judge(case: &Case) -> Answer {
    let mut settings = vec![(
        "maxJudgeIterations".to_string(),
        case.get("max_judge_iterations").clone(),
    )];
    // The peer's 0 is no limit; ours always has one.
    if let Some(limit) = case
        .get("routing_timeout_ms")
        .as_number()
        .filter(|limit| *limit > 0.0)
    {
        settings.push(("routingTimeoutMs".to_string(), Json::Number(limit)));
    }
    let script = Script {
        settings: Some(Json::Object(settings)),
        skills: vec![("demo".to_string(), "Do it.".to_string())],
        replies: case.list("responses").to_vec(),
        ..Script::default()
    };
    play(script, async |stage| {
        let run = stage.new_run();
        let start = StartSkill {
            run: run.clone(),
            order: stage.order("demo", "The task."),
            beside: false,
        };
        let accepted = stage.ports.start_skill.ask_again(start, LONG).await;
        accepted.expect("an answer").expect("accepted");
        let await_run = AwaitRun { run: run.clone() };
        tokio::select! {
            biased;
            over = stage.ports.await_run.ask_again(await_run, LONG) => drop(over.expect("its end")),
            () = stage.asked() => {}
        }
        settled(case, &RunProjection::of(&stage.steps(&run)), &calls_of(stage))
    })
}

fn calls_of(stage: &Stage) -> Vec<Value> {
    let role = |message: &ModelMessage| match message.role {
        ModelRole::User => "user",
        ModelRole::Assistant => "assistant",
        ModelRole::Tool => "tool",
    };
    let calls = stage.world.routing_calls.borrow();
    let calls = calls.iter().map(|call| {
        let request = &call.request;
        let mut roles = vec!["system"];
        roles.extend(request.messages.iter().map(role));
        json!({
            "who": if call.judge { "judge" } else { "actor" }, "has_revision": call.revises,
            "model": request.model, "temperature": request.temperature,
            "response_format": if request.json { "json" } else { "text" }, "message_roles": roles,
        })
    });
    calls.collect()
}

fn settled(case: &Case, run: &RunProjection, calls: &[Value]) -> Answer {
    let failure = run.ended.as_ref().and_then(|end| end.reason.as_ref());
    if let (Answer::Error { name, message }, Some(reason)) = (&case.expected, failure) {
        // Ours names the model too.
        let says_it = reason.message.contains(message.as_str());
        return Answer::Error {
            name: name.clone(),
            message: if says_it {
                message.clone()
            } else {
                reason.message.clone()
            },
        };
    }
    let Some(last) = run.passes.last() else {
        return Answer::error(failure.map_or("nothing was judged", |reason| reason.message.as_str()));
    };
    let judged = case.count("max_judge_iterations") > 0;
    Answer::value(json!({
        "brief": last.brief, "rubric": rubric_value(&last.verdict), "passed": last.verdict.passed(),
        "iterations": if judged { run.passes.len() } else { 0 },
        "route": route_value(&last.verdict.execution_route), "calls": calls,
    }))
}

/// Whether a call can be aborted is not covered.
pub fn covered(recorded: &Json) -> Json {
    let entries = recorded.as_object().unwrap_or_default().iter();
    let entries = entries.map(|(key, item)| match (key.as_str(), item) {
        ("calls", Json::Array(calls)) => (
            key.clone(),
            Json::Array(calls.iter().map(without_signal).collect()),
        ),
        _ => (key.clone(), item.clone()),
    });
    Json::Object(entries.collect())
}

fn without_signal(call: &Json) -> Json {
    let entries = call.as_object().unwrap_or_default().iter();
    Json::Object(entries.filter(|(key, _)| key != "has_signal").cloned().collect())
}

fn rubric_value(verdict: &Verdict) -> Value {
    let mut value = json!({
        "hasUserGoal": verdict.has_user_goal, "hasRequiredInputs": verdict.has_required_inputs,
        "hasScopeBoundary": verdict.has_scope_boundary, "isUnambiguous": verdict.is_unambiguous,
    });
    if let Some(question) = &verdict.missing_requirement_question {
        value["missingRequirementQuestion"] = json!(question);
    }
    value
}

pub fn render_brief(case: &Case) -> Answer {
    let brief = Brief {
        user_goal: case.text("user_goal").into(),
        constraints: case.texts("constraints"),
        known_context: case.text("known_context").into(),
        user_clarifications: case.texts("user_clarifications"),
    };
    Answer::value(json!({"user_prompt": render(&brief)}))
}

pub fn prompt_prefix(case: &Case) -> Answer {
    let prompt = system_prompt(case.text("skill_instructions"), case.get("appendix").as_str());
    let print = fingerprint(&prompt);
    Answer::value(json!({"sha256": print.sha256, "bytes": print.bytes, "utf16_len": units(&prompt)}))
}

pub fn routing_message_truncate(case: &Case) -> Answer {
    let text = cut_with_mark(case.text("content"), ROUTING_MESSAGE_UNITS_MAX);
    let truncated = text != case.text("content");
    Answer::value(json!({"text": text, "utf16_len": units(&text), "truncated": truncated}))
}

pub fn history_assembler(case: &Case) -> Answer {
    let ours = assembled(case, None);
    let total: usize = ours.iter().map(|(_, content)| units(content)).sum();
    let ours: Vec<Value> = ours
        .iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    Answer::value(json!({"messages": ours, "total_utf16": total}))
}

/// Role and text of what would be taken if all messages together had no limit.
pub fn chosen_messages(case: &Case) -> Vec<(String, String)> {
    let mut chosen = assembled(case, Some(0));
    // The line that stands for the middle is the first to go.
    let is_marker = |(role, content): &(String, String)| {
        role == "system" && content.starts_with("[history-omitted-middle:")
    };
    if let Some(at) = chosen.iter().position(is_marker) {
        chosen.remove(at);
    }
    chosen
}

fn assembled(case: &Case, total_units_max: Option<usize>) -> Vec<(String, String)> {
    let settings = case.get("settings");
    let number = |key: &str| settings.get(key).and_then(Json::as_number).unwrap_or(0.0) as usize;
    let is = |key: &str, word: &str| settings.get(key).and_then(Json::as_str) == Some(word);
    let strategy = if is("strategy", "headTail") {
        HistoryStrategy::HeadTail
    } else {
        HistoryStrategy::Recent
    };
    let settings = HistorySettings {
        strategy,
        head_messages: number("head_messages"),
        tail_messages: number("tail_messages"),
        middle_mode: if is("middle_mode", "omit") {
            MiddleMode::Omit
        } else {
            MiddleMode::Marker
        },
        message_units_max: number("max_chars_per_message"),
        total_units_max: total_units_max.unwrap_or_else(|| number("max_total_chars")),
        short_newest: ShortNewest::Marked,
    };
    let text = |message: &Json, key: &str| message.get(key).and_then(Json::as_str).unwrap_or("").to_string();
    let messages: Vec<ChatMessage<'_>> = case
        .list("messages")
        .iter()
        .map(|message| ChatMessage::new(text(message, "role"), text(message, "content")))
        .collect();
    let ours = assemble_history(&messages, &settings);
    ours.iter()
        .map(|message| (message.role().to_string(), message.content().to_string()))
        .collect()
}
