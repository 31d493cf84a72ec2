//! Times, money, and what delegations come to.

use super::{only, text};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::domain::ModelUsage;
use impresario_policies::figures::{cost_words, duration_words};
use impresario_policies::statistics::{RunOver, add_up, statistics_words};
use serde_json::json;

/// A number, also one that JSON cannot write.
fn number(case: &Case, key: &str) -> f64 {
    case.get(key).as_number().unwrap_or(f64::NAN)
}

pub fn format_duration(case: &Case) -> Answer {
    Answer::value(json!(duration_words(number(case, "ms"))))
}

pub fn format_cost(case: &Case) -> Answer {
    Answer::value(json!(cost_words(number(case, "usd"))))
}

pub fn roi_summary(case: &Case) -> Answer {
    let entries = case.get("entries");
    let runs: Vec<RunOver> = match entries.get("$fill").and_then(Json::as_array) {
        Some([entry, Json::Number(times)]) => (0..*times as u64)
            .map(|took| RunOver {
                took_ms: took as f64,
                ..run_over(entry)
            })
            .collect(),
        _ => case.list("entries").iter().map(run_over).collect(),
    };
    let summary = statistics_words(&add_up(&runs), "this session");
    Answer::value(json!({ "summary": summary }))
}

fn run_over(entry: &Json) -> RunOver {
    let number = |key: &str| entry.get(key).and_then(Json::as_number);
    let failed = entry.get("success") == Some(&Json::Bool(false));
    RunOver {
        name: text(entry, "agent"),
        took_ms: number("durationMs").unwrap_or_default(),
        failure: failed.then(|| (text(entry, "failureKind"), text(entry, "errorHint"))),
        calls: number("toolCallCount").unwrap_or_default() as u64,
        used: ModelUsage {
            cost_usd: number("cost"),
            ..ModelUsage::default()
        },
        is_uncounted: false,
    }
}

pub fn summary_covered(recorded: &Json) -> Json {
    only(recorded, &["summary"])
}

pub fn diagnostics_summary(case: &Case) -> Answer {
    let runs: Vec<RunOver> = case.list("entries").iter().map(run_over).collect();
    let statistics = add_up(&runs);
    let failures = statistics
        .failures
        .iter()
        .map(|failure| json!({"kind": failure.kind, "count": failure.count, "recentHints": failure.hints}));
    Answer::value(json!({
        "failures": failures.collect::<Vec<_>>(),
        "total": statistics.total,
        "success_rate": statistics.success_rate,
    }))
}

/// Who there is, and how they are set, is told by the list of agents.
pub fn diagnostics_covered(recorded: &Json) -> Json {
    only(recorded, &["failures", "total", "success_rate"])
}
