//! What is logged of a skill: structured events, with no prompt, chat or secret in them.

use crate::compat::Json;
use crate::context_budget::ContextBudget;
use crate::domain::{Route, RouteDecision, RouteSource, TraceVerdict};
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::output_sanitizer::Sanitized;
use crate::sub_agent_prompt::PromptFingerprint;
use crate::trace_file::Trace;

/// Stands before the name of every event.
pub const EVENT_PREFIX: &str = "impresario";

/// How loud an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For us.
    Debug,
    /// For those who look.
    Info,
    /// For those who should look.
    Warn,
    /// Something went wrong.
    Error,
}

impl LogLevel {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// How loud.
    pub level: LogLevel,
    /// An object with `event` and its fields.
    pub fields: Json,
}

/// Which model was chosen; `judged` is the judge's own route.
pub fn route_chosen(skill: &str, decision: &RouteDecision, judged: &Route) -> LogEvent {
    let source = match decision.source {
        RouteSource::SkillModel => "skill-model",
        RouteSource::ExecutionRouting => "execution-routing",
        RouteSource::Fallback => "fallback",
    };
    let fields = vec![
        ("skill", text(skill)),
        ("tier", text(tier_word(decision.tier))),
        ("model", text(&decision.model)),
        ("source", text(source)),
        ("complexity", text(complexity_word(judged.complexity))),
        ("risk", text(risk_word(judged.risk))),
        ("confidence", Json::Number(judged.confidence)),
        ("routeTier", text(tier_word(judged.tier))),
        ("effectiveTier", text(tier_word(decision.effective_tier))),
    ];
    event(LogLevel::Info, "execution-route", fields)
}

/// Which ceiling holds; only where budgets by tier are on.
pub fn budget_chosen(skill: &str, budget: &ContextBudget) -> Option<LogEvent> {
    let fields = vec![
        ("skill", text(skill)),
        ("tier", text(tier_word(budget.tier))),
        ("overflowCeilingBytes", Json::Number(budget.ceiling_bytes)),
        ("source", text(budget.source.word())),
    ];
    budget
        .active
        .then(|| event(LogLevel::Info, "context-budget", fields))
}

/// What the system prompt hashes to.
pub fn prompt_prefix(skill: &str, print: &PromptFingerprint) -> LogEvent {
    let fields = vec![
        ("skill", text(skill)),
        ("sha256", text(&print.sha256)),
        ("bytes", count(print.bytes)),
    ];
    event(LogLevel::Debug, "prompt-prefix", fields)
}

/// What was taken from an answer; only where something was.
pub fn output_sanitized(skill: &str, sanitized: &Sanitized<'_>) -> Option<LogEvent> {
    let fields = vec![
        ("skill", text(skill)),
        ("removedSections", count(sanitized.removed_sections)),
        ("truncated", Json::Bool(sanitized.truncated)),
        ("originalChars", count(sanitized.original_units)),
        ("finalChars", count(sanitized.final_units)),
    ];
    sanitized
        .changed()
        .then(|| event(LogLevel::Info, "output-sanitized", fields))
}

/// How a run seems to have ended.
pub fn trace_classified(trace: &Trace, verdict: &TraceVerdict) -> LogEvent {
    let fields = vec![
        ("skill", text(&trace.skill_name)),
        ("outcome", text(verdict.outcome.word())),
        ("confidence", Json::Number(verdict.confidence)),
        (
            "signals",
            Json::Array(verdict.signals.iter().map(|signal| text(signal)).collect()),
        ),
        ("toolCalls", count(trace.tool_calls.len())),
        ("stoppedReason", text(&trace.stopped_reason)),
        ("model", text(&trace.model)),
        ("tier", text(tier_word(trace.route.tier))),
    ];
    event(LogLevel::Info, "trace-classified", fields)
}

/// The user was told that a skill stopped working.
pub fn degradation_alert(skill: &str, failures: usize) -> LogEvent {
    let fields = vec![("skill", text(skill)), ("consecutiveFailures", count(failures))];
    event(LogLevel::Info, "degradation-alert", fields)
}

/// A trace was written.
pub fn trace_written(trace: &Trace, path: &str) -> LogEvent {
    let fields = vec![
        ("skill", text(&trace.skill_name)),
        ("toolCalls", count(trace.tool_calls.len())),
        ("stoppedReason", text(&trace.stopped_reason)),
        ("filepath", text(path)),
    ];
    event(LogLevel::Info, "execution-trace", fields)
}

/// A report was shown.
pub fn trace_report(skill: &str, traces: usize) -> LogEvent {
    event(
        LogLevel::Info,
        "trace-report",
        vec![("skill", text(skill)), ("traceCount", count(traces))],
    )
}

/// A trace was shown.
pub fn trace_view(file: &str, trace: &Trace, verdict: &TraceVerdict) -> LogEvent {
    let fields = vec![
        ("filename", text(file)),
        ("skill", text(&trace.skill_name)),
        ("outcome", text(verdict.outcome.word())),
        ("toolCalls", count(trace.tool_calls.len())),
    ];
    event(LogLevel::Info, "trace-view", fields)
}

fn event(level: LogLevel, name: &str, fields: Vec<(&str, Json)>) -> LogEvent {
    let mut entries = vec![("event".to_string(), text(&format!("{EVENT_PREFIX}.{name}")))];
    entries.extend(fields.into_iter().map(|(key, value)| (key.to_string(), value)));
    LogEvent {
        level,
        fields: Json::Object(entries),
    }
}

fn text(value: &str) -> Json {
    Json::String(value.to_string())
}

fn count(value: usize) -> Json {
    Json::Number(value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_carry_our_prefix() {
        let event = trace_report("demo", 3);
        assert_eq!(
            event.fields.to_text(),
            r#"{"event":"impresario.trace-report","skill":"demo","traceCount":3}"#
        );
    }
}
