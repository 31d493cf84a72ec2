//! Actor and judge, and what they read and write.

use crate::vectors::{Answer, Case};
use impresario_policies::compat::{Json, units};
use impresario_policies::domain::{Brief, Route, Verdict};
use impresario_policies::history::{
    ChatMessage, HistorySettings, HistoryStrategy, MiddleMode, ShortNewest, assemble_history,
};
use impresario_policies::judge_loop::{JudgeMove, PassSoFar, Settled, decide_judge_move, missing_verdict};
use impresario_policies::judge_reply::{coerce_route, read_brief, read_verdict};
use impresario_policies::render_brief::{cut_with_mark, render_brief as render};
use impresario_policies::sub_agent_prompt::{fingerprint, system_prompt};
use serde_json::{Value, json};

/// The peer cuts every message of the chat to this inside the prompts of actor and judge.
const ROUTING_MESSAGE_UNITS_MAX: usize = 10_000;

pub fn coerce_route_of(case: &Case) -> Answer {
    Answer::value(route_value(&coerce_route(case.get("raw"))))
}

pub fn route_value(route: &Route) -> Value {
    serde_json::to_value(route).expect("a route is JSON")
}

/// What the routing model does when it is called.
enum Reply {
    Text(String),
    TimedOut,
    Rejected(String),
}

fn reply_at(case: &Case, call: usize) -> Reply {
    match case.list("responses").get(call) {
        None => Reply::Text(String::new()),
        Some(Json::String(text)) => Reply::Text(text.clone()),
        Some(other) => match other.get("error").and_then(Json::as_str) {
            Some(message) => Reply::Rejected(message.to_string()),
            None => Reply::TimedOut,
        },
    }
}

pub fn actor_judge(case: &Case) -> Answer {
    let passes_max = case.count("max_judge_iterations") as u32;
    let mut passes: Vec<PassSoFar> = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    let has_signal = case.get("routing_timeout_ms") != &Json::Number(0.0);
    loop {
        let (who, revises) = match decide_judge_move(&passes, passes_max) {
            JudgeMove::Settle(settled) => return Answer::value(settled_value(&settled, calls)),
            JudgeMove::WriteBrief { revise, .. } => ("actor", revise.is_some()),
            JudgeMove::Judge { .. } => ("judge", false),
        };
        let reply = reply_at(case, calls.len());
        calls.push(json!({
            "who": who, "has_revision": revises, "model": "anthropic/claude-3-5-haiku", "temperature": 0,
            "response_format": "json", "message_roles": ["system", "user"], "has_signal": has_signal,
        }));
        let (text, timed_out) = match reply {
            Reply::Text(text) => (text, false),
            Reply::TimedOut => (String::new(), true),
            Reply::Rejected(message) => return Answer::error(message),
        };
        match (who, passes.last_mut()) {
            ("judge", Some(pass)) => {
                pass.verdict = Some(read_verdict(&text).unwrap_or_else(|| missing_verdict(timed_out)));
            }
            _ => passes.push(PassSoFar {
                brief: read_brief(&text),
                verdict: None,
            }),
        }
    }
}

fn settled_value(settled: &Settled, calls: Vec<Value>) -> Value {
    json!({
        "brief": settled.brief, "rubric": rubric_value(&settled.verdict), "passed": settled.passed(),
        "iterations": settled.iterations, "route": route_value(&settled.verdict.execution_route), "calls": calls,
    })
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
