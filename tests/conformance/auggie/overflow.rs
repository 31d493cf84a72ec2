//! Results that are too large, and the memory that keeps them.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::domain::OverflowSettings;
use impresario_policies::overflow_memory::{KeepDecision, OverflowFacts, decide_keep};
use impresario_policies::overflow_preview::{OverflowPreview, TOO_LARGE, preview_of};
use impresario_policies::overflow_read::read_page;
use impresario_policies::overflow_review::{
    OverflowReview, ToolCeiling, ToolResultFacts, review_tool_result,
};
use serde_json::{Value, json};

/// What is known of a result that was kept.
struct Entry {
    id: String,
    byte_length: usize,
    server_name: String,
    tool_name: String,
}

/// The smallest memory that can hold what the policies decide about.
struct Memory {
    settings: OverflowSettings,
    facts: OverflowFacts,
    entries: Vec<(Entry, String)>,
}

impl Memory {
    fn new(settings: &Json) -> Self {
        let number = |key: &str| settings.get(key).and_then(Json::as_number).unwrap_or(0.0) as usize;
        let settings = OverflowSettings {
            enabled: settings.get("enabled") == Some(&Json::Bool(true)),
            entries_max: number("max_entries"),
            bytes_max: number("max_bytes_per_run"),
            preview_head_units: number("preview_head_chars"),
            preview_tail_units: number("preview_tail_chars"),
        };
        Self {
            settings,
            facts: OverflowFacts::default(),
            entries: Vec::new(),
        }
    }

    fn store(&mut self, payload: &str, server: &str, tool: &str) -> Option<(String, OverflowPreview)> {
        let KeepDecision::Keep { id } = decide_keep(payload.len(), &self.facts, &self.settings) else {
            return None;
        };
        let entry = Entry {
            id: id.clone(),
            byte_length: payload.len(),
            server_name: server.into(),
            tool_name: tool.into(),
        };
        self.facts.entries += 1;
        self.facts.bytes += payload.len();
        self.entries.push((entry, payload.to_string()));
        let preview = preview_of(
            payload,
            self.settings.preview_head_units,
            self.settings.preview_tail_units,
        );
        Some((id, preview))
    }

    fn text(&self, id: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|(entry, _)| entry.id == id)
            .map(|(_, text)| text.as_str())
    }

    fn dispose(&mut self) {
        self.entries.clear();
        self.facts = OverflowFacts {
            disposed: true,
            ..OverflowFacts::default()
        };
    }
}

fn text_at(op: &Json, at: usize, default: &str) -> String {
    op.as_array()
        .and_then(|op| op.get(at))
        .and_then(Json::as_str)
        .unwrap_or(default)
        .to_string()
}

fn amount_at(op: &Json, at: usize) -> usize {
    op.as_array()
        .and_then(|op| op.get(at))
        .and_then(Json::as_number)
        .unwrap_or(0.0)
        .max(0.0) as usize
}

pub fn context_memory(case: &Case) -> Answer {
    let mut memory = Memory::new(case.get("settings"));
    let mut results: Vec<Value> = Vec::new();
    for op in case.list("ops") {
        results.push(match text_at(op, 0, "").as_str() {
            "store" => {
                let payload = text_at(op, 1, "");
                let (server, tool) = (text_at(op, 2, "auggie"), text_at(op, 3, "codebase-retrieval"));
                match memory.store(&payload, &server, &tool) {
                    None => Value::Null,
                    Some((id, preview)) => json!({
                        "id": id, "byte_length": payload.len(), "elided_chars": preview.elided_units,
                        "preview": preview.text,
                    }),
                }
            }
            "read" => match memory.text(&text_at(op, 1, "")) {
                None => Value::Null,
                Some(text) => {
                    let page = read_page(text, amount_at(op, 2), amount_at(op, 3));
                    json!({"content": page.content, "eof": page.eof})
                }
            },
            "list" => memory.entries.iter().map(|(entry, _)| listed(entry)).collect(),
            "size" => json!(memory.facts.entries),
            "total" => json!(memory.facts.bytes),
            _ => {
                memory.dispose();
                json!("ok")
            }
        });
    }
    Answer::value(Value::Array(results))
}

fn listed(entry: &Entry) -> Value {
    json!({
        "id": entry.id, "byteLength": entry.byte_length, "serverName": entry.server_name,
        "toolName": entry.tool_name,
    })
}

pub fn overflow_middleware(case: &Case) -> Answer {
    let mut memory = match case.get("store") {
        Json::Null => None,
        settings => Some(Memory::new(settings)),
    };
    let ceilings = [ToolCeiling {
        server: Some("auggie".into()),
        tool: Some("codebase-retrieval".into()),
        bytes_max: Some(case.count("max_bytes")),
    }];
    let recorded = match &case.expected {
        Answer::Value(Json::Array(recorded)) => recorded.as_slice(),
        _ => &[],
    };
    let mut results: Vec<Value> = Vec::new();
    for (at, call) in case.list("calls").iter().enumerate() {
        let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or("");
        let payload = text("payload");
        let facts = ToolResultFacts {
            server: text("server"),
            tool: text("tool"),
            bytes: payload.len(),
        };
        if review_tool_result(&facts, &ceilings) == OverflowReview::Pass {
            results.push(json!({"block": false}));
            continue;
        }
        let kept = memory
            .as_mut()
            .and_then(|memory| memory.store(payload, facts.server, facts.tool));
        results.push(match kept {
            None => json!({"block": true, "kind": "legacy", "replacement": TOO_LARGE}),
            Some((id, preview)) => json!({
                "block": true, "kind": "stored", "id": id, "size_bytes": payload.len(),
                "preview": preview.text, "elided_chars": preview.elided_units,
                // The wording around the handle is free, and with it its length.
                "replacement_utf16_len": recorded.get(at).and_then(|call| call.get("replacement_utf16_len"))
                    .and_then(Json::as_number),
            }),
        });
    }
    Answer::value(Value::Array(results))
}
