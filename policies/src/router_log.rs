//! What is logged of a skill: structured events, with no prompt, chat or secret in them.

use crate::context_budget::ContextBudget;
use crate::domain::{Route, RouteDecision, TraceVerdict};
use crate::output_sanitizer::Sanitized;
use crate::sub_agent_prompt::PromptFingerprint;
use crate::trace_file::Trace;
use serde_json::{Value, json};

/// Stands before the name of every event.
pub const EVENT_PREFIX: &str = "impresario";

/// How loud an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For us.
    Debug,
    /// For those who look.
    Info,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// How loud.
    pub level: LogLevel,
    /// An object with `event` and its fields.
    pub fields: Value,
}

/// Which model was chosen; `judged` is the judge's own route.
pub fn route_chosen(skill: &str, decision: &RouteDecision, judged: &Route) -> LogEvent {
    info(json!({
        "event": name("execution-route"), "skill": skill, "tier": decision.tier, "model": decision.model,
        "source": decision.source, "complexity": judged.complexity, "risk": judged.risk,
        "confidence": judged.confidence, "routeTier": judged.tier, "effectiveTier": decision.effective_tier,
    }))
}

/// Which ceiling holds; only where budgets by tier are on.
pub fn budget_chosen(skill: &str, budget: &ContextBudget) -> Option<LogEvent> {
    let fields = json!({
        "event": name("context-budget"), "skill": skill, "tier": budget.tier,
        "overflowCeilingBytes": as_written(budget.ceiling_bytes), "source": budget.source.word(),
    });
    budget.active.then(|| info(fields))
}

/// What the system prompt hashes to.
pub fn prompt_prefix(skill: &str, print: &PromptFingerprint) -> LogEvent {
    let fields = json!({
        "event": name("prompt-prefix"), "skill": skill, "sha256": print.sha256, "bytes": print.bytes,
    });
    LogEvent {
        level: LogLevel::Debug,
        fields,
    }
}

/// What was taken from an answer; only where something was.
pub fn output_sanitized(skill: &str, sanitized: &Sanitized<'_>) -> Option<LogEvent> {
    let fields = json!({
        "event": name("output-sanitized"), "skill": skill, "removedSections": sanitized.removed_sections,
        "truncated": sanitized.truncated, "originalChars": sanitized.original_units,
        "finalChars": sanitized.final_units,
    });
    sanitized.changed().then(|| info(fields))
}

/// How a run seems to have ended.
pub fn trace_classified(trace: &Trace, verdict: &TraceVerdict) -> LogEvent {
    info(json!({
        "event": name("trace-classified"), "skill": trace.skill_name, "outcome": verdict.outcome.word(),
        "confidence": verdict.confidence, "signals": verdict.signals, "toolCalls": trace.tool_calls.len(),
        "stoppedReason": trace.stopped_reason, "model": trace.model, "tier": trace.route.tier,
    }))
}

/// The user was told that a skill stopped working.
pub fn degradation_alert(skill: &str, failures: usize) -> LogEvent {
    info(json!({"event": name("degradation-alert"), "skill": skill, "consecutiveFailures": failures}))
}

/// A trace was written.
pub fn trace_written(trace: &Trace, path: &str) -> LogEvent {
    info(json!({
        "event": name("execution-trace"), "skill": trace.skill_name, "toolCalls": trace.tool_calls.len(),
        "stoppedReason": trace.stopped_reason, "filepath": path,
    }))
}

/// A report was shown.
pub fn trace_report(skill: &str, traces: usize) -> LogEvent {
    info(json!({"event": name("trace-report"), "skill": skill, "traceCount": traces}))
}

/// A trace was shown.
pub fn trace_view(file: &str, trace: &Trace, verdict: &TraceVerdict) -> LogEvent {
    info(json!({
        "event": name("trace-view"), "filename": file, "skill": trace.skill_name,
        "outcome": verdict.outcome.word(), "toolCalls": trace.tool_calls.len(),
    }))
}

fn name(event: &str) -> String {
    format!("{EVENT_PREFIX}.{event}")
}

fn info(fields: Value) -> LogEvent {
    LogEvent {
        level: LogLevel::Info,
        fields,
    }
}

/// A whole number has no point.
fn as_written(number: f64) -> Value {
    match number.fract() == 0.0 {
        true => json!(number as u64),
        false => json!(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_carry_our_prefix() {
        let event = trace_report("demo", 3);
        assert_eq!(
            event.fields.to_string(),
            r#"{"event":"impresario.trace-report","skill":"demo","traceCount":3}"#
        );
    }
}
