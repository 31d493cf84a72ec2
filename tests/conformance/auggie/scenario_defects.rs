//! What we do instead of the peer's faults, where they show in whole skills.

use crate::compare::{same, same_without_halves};
use crate::vectors::{Answer, Case};
use impresario_policies::compat::Json;

/// Whether our answer to a whole scenario is the one we want where the peer shows this fault.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    let (Answer::Value(expected), Answer::Value(ours)) = (&case.expected, ours) else {
        return false;
    };
    match defect {
        "D08" | "D52" => no_unlock_without_lock(expected, ours),
        "D11" => same_without_halves(expected, ours),
        "D18" | "D45" => counted_once(case, expected, ours),
        "D19" | "D20" => unjudged_is_no_failure(expected, ours),
        "D21" => blocked_is_recorded(expected, ours),
        "D22" => no_foreign_traces(case, expected, ours),
        "D24" => nothing_is_overwritten(expected, ours),
        "D25" => failed_runs_leave_a_trace(expected, ours),
        "D33" => more_is_redacted(expected, ours),
        "D38" => nothing_is_said_after_the_end(expected, ours),
        _ => false,
    }
}

const PARTS: [&str; 8] = [
    "steps",
    "messages",
    "locks",
    "logs",
    "llm_calls",
    "sub_agent_calls",
    "traces",
    "remaining_seed_traces",
];

fn part<'a>(value: &'a Json, key: &str) -> &'a [Json] {
    value.get(key).and_then(Json::as_array).unwrap_or_default()
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or("")
}

/// Every part but these is as recorded.
fn same_but(expected: &Json, ours: &Json, but: &[&str]) -> bool {
    let parts = PARTS.iter().filter(|key| !but.contains(key));
    let empty = Json::Array(Vec::new());
    parts.into_iter().all(|key| {
        same(
            expected.get(key).unwrap_or(&empty),
            ours.get(key).unwrap_or(&empty),
        )
    })
}

fn event_name(log: &Json) -> &str {
    log.get("event").map_or("", |event| text(event, "event"))
}

fn is_classified(log: &Json) -> bool {
    event_name(log) == "auggie-router.trace-classified"
}

fn signals(log: &Json) -> Vec<&str> {
    let signals = log
        .get("event")
        .and_then(|event| event.get("signals"))
        .and_then(Json::as_array);
    signals
        .unwrap_or_default()
        .iter()
        .filter_map(Json::as_str)
        .collect()
}

/// A classification without what it concluded.
fn unconcluded(log: &Json) -> Json {
    let Some(Json::Object(fields)) = log.get("event").filter(|_| is_classified(log)) else {
        return log.clone();
    };
    let concluded = |key: &str| matches!(key, "outcome" | "confidence" | "signals");
    Json::Object(
        fields
            .iter()
            .filter(|(key, _)| !concluded(key))
            .cloned()
            .collect(),
    )
}

fn same_lists(expected: &[Json], ours: &[Json]) -> bool {
    same(&Json::Array(expected.to_vec()), &Json::Array(ours.to_vec()))
}

/// Nobody unlocks what was not locked, and a file that cannot be read is refused every time. How the parser words
/// its complaint is free.
fn no_unlock_without_lock(expected: &Json, ours: &Json) -> bool {
    let locked = |value: &Json| value.get("locked") == Some(&Json::Bool(true));
    let count = |value: &Json| part(value, "locks").iter().filter(|lock| locked(lock)).count();
    let alternate = part(ours, "locks")
        .iter()
        .enumerate()
        .all(|(at, lock)| locked(lock) == (at % 2 == 0));
    let worded =
        |value: &Json, key: &str| -> Vec<Json> { part(value, key).iter().map(without_wording).collect() };
    let same_words = |key: &str| same_lists(&worded(expected, key), &worded(ours, key));
    let refused = part(ours, "messages")
        .iter()
        .any(|message| text(message, "text").contains(UNREADABLE));
    let parts = ["locks", "messages", "logs"];
    let more = [
        "locks",
        "messages",
        "logs",
        "llm_calls",
        "sub_agent_calls",
        "traces",
    ];
    let rest = if refused {
        same_but(expected, ours, &more)
    } else {
        same_but(expected, ours, &parts)
    };
    let words = refused || (same_words("messages") && same_words("logs") && count(expected) == count(ours));
    alternate && words && rest
}

const UNREADABLE: &str = "Failed to load skill \"";

/// A message or log without what the parser said.
fn without_wording(said: &Json) -> Json {
    match text(said, "text").split_once("\": ") {
        Some((start, _)) if start.contains(UNREADABLE) => Json::String(start.to_string()),
        _ => said.clone(),
    }
}

/// The messages are the recorded ones with more of them replaced.
fn more_is_redacted(expected: &Json, ours: &Json) -> bool {
    const REDACTED: &str = "[REDACTED]";
    let (wanted, found) = (part(expected, "messages"), part(ours, "messages"));
    let covers = |wanted: &str, found: &str| {
        let mut rest = wanted;
        found.split(REDACTED).all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    };
    let pairs = wanted.iter().zip(found);
    same_but(expected, ours, &["messages", "logs"])
        && wanted.len() == found.len()
        && pairs
            .into_iter()
            .all(|(wanted, found)| covers(text(wanted, "text"), text(found, "text")))
}

/// What we say is what the peer says, but we stop when the session is over.
fn nothing_is_said_after_the_end(expected: &Json, ours: &Json) -> bool {
    let (wanted, found) = (part(expected, "messages"), part(ours, "messages"));
    let mut rest = wanted.iter();
    same(
        expected.get("steps").unwrap_or(&Json::Null),
        ours.get("steps").unwrap_or(&Json::Null),
    ) && found.len() <= wanted.len()
        && found
            .iter()
            .all(|message| rest.any(|wanted| same(wanted, message)))
}

/// A route nobody gave is no sign of failure; every other sign is as recorded.
fn unjudged_is_no_failure(expected: &Json, ours: &Json) -> bool {
    let without_confidence = |log: &Json| -> Vec<String> {
        let signals = signals(log)
            .into_iter()
            .filter(|signal| !signal.starts_with("low route confidence"));
        signals.map(str::to_string).collect()
    };
    let (wanted, found) = (part(expected, "logs"), part(ours, "logs"));
    let pairs = || wanted.iter().zip(found);
    same_but(expected, ours, &["logs"])
        && wanted.len() == found.len()
        && pairs().all(|(wanted, found)| same(&unconcluded(wanted), &unconcluded(found)))
        && pairs().all(|(wanted, found)| signals(found) == without_confidence(wanted))
}

/// What was replaced is marked in the trace, and nothing else changed.
fn blocked_is_recorded(expected: &Json, ours: &Json) -> bool {
    let calls = |value: &Json| -> Vec<Json> {
        part(value, "traces")
            .iter()
            .flat_map(|trace| part(trace, "tool_calls").to_vec())
            .collect()
    };
    let without_mark = |call: &Json| -> Json {
        let fields = call
            .as_object()
            .unwrap_or_default()
            .iter()
            .filter(|(key, _)| key != "blocked");
        Json::Object(fields.cloned().collect())
    };
    let blocked: Vec<Option<Json>> = calls(ours)
        .iter()
        .map(|call| call.get("blocked").cloned())
        .collect();
    let results = part(ours, "sub_agent_calls")
        .iter()
        .flat_map(|call| part(call, "tool_results"));
    let replaced: Vec<Option<Json>> = results.map(|result| result.get("block").cloned()).collect();
    let same_calls = calls(expected).len() == calls(ours).len()
        && calls(expected)
            .iter()
            .zip(&calls(ours))
            .all(|(wanted, found)| same(&without_mark(wanted), &without_mark(found)));
    same_but(expected, ours, &["traces"]) && same_calls && blocked == replaced
}

/// Only the skill's own traces are reported.
fn no_foreign_traces(case: &Case, expected: &Json, ours: &Json) -> bool {
    let seeds = case.get("trace_files").as_object().unwrap_or_default();
    let shown: String = part(ours, "messages")
        .iter()
        .map(|message| text(message, "text"))
        .collect();
    let none_shown = seeds.iter().all(|(name, _)| !shown.contains(name.as_str()));
    same_but(expected, ours, &["messages", "logs"]) && none_shown && shown.contains("No traces found")
}

/// Two runs in the same millisecond leave two traces.
fn nothing_is_overwritten(expected: &Json, ours: &Json) -> bool {
    let mut names: Vec<&str> = part(ours, "traces")
        .iter()
        .map(|trace| text(trace, "file"))
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    same_but(expected, ours, &["traces"])
        && names.len() == count
        && count == part(ours, "sub_agent_calls").len()
        && part(expected, "traces")
            .iter()
            .all(|trace| names.contains(&text(trace, "file")))
}

/// A run that failed has a trace too, and it is classified.
fn failed_runs_leave_a_trace(expected: &Json, ours: &Json) -> bool {
    let failed = |trace: &&Json| text(trace, "stopped_reason") == "error";
    let others: Vec<Json> = part(ours, "traces")
        .iter()
        .filter(|trace| !failed(trace))
        .cloned()
        .collect();
    let kept = |value: &Json| -> Vec<Json> {
        part(value, "logs")
            .iter()
            .filter(|log| !is_classified(log))
            .cloned()
            .collect()
    };
    same_but(expected, ours, &["traces", "logs"])
        && same_lists(part(expected, "traces"), &others)
        && part(ours, "traces").iter().any(|trace| failed(&trace))
        && same_lists(&kept(expected), &kept(ours))
}

/// The run that just ended counts once: an alert comes when as many runs failed as it says, and no earlier than
/// configured; a report lists no more runs than there were.
fn counted_once(case: &Case, expected: &Json, ours: &Json) -> bool {
    let said = |message: &Json| -> bool {
        let text = text(message, "text");
        text.starts_with("⚠️ Degradation") || text.starts_with("📊 Mini report")
    };
    let messages = |value: &Json| -> Vec<Json> {
        part(value, "messages")
            .iter()
            .filter(|message| !said(message))
            .cloned()
            .collect()
    };
    let logs = |value: &Json| -> Vec<Json> {
        let logs = part(value, "logs")
            .iter()
            .filter(|log| event_name(log) != "auggie-router.degradation-alert");
        logs.map(unconcluded).collect()
    };
    let observability = case
        .get("settings")
        .get("traceObservability")
        .cloned()
        .unwrap_or(Json::Null);
    let setting = observability
        .get("degradationConsecutiveFailures")
        .and_then(Json::as_number);
    let threshold = setting.map_or(3, |setting| setting as usize);
    let (mut runs, mut failures, mut counts_hold) = (0, 0, true);
    for message in part(ours, "messages") {
        let text = text(message, "text");
        if text.contains("Executing /skill:") {
            runs += 1;
        } else if text.contains("stopped early") {
            failures += 1;
        } else if text.starts_with("⚠️ Degradation") {
            let count = number_after(text, "has failed ");
            counts_hold &= count >= threshold && count <= failures;
        } else if text.starts_with("📊 Mini report") {
            counts_hold &= number_after(text, "(last ") <= runs;
        }
    }
    same_but(expected, ours, &["messages", "logs"])
        && same_lists(&messages(expected), &messages(ours))
        && same_lists(&logs(expected), &logs(ours))
        && counts_hold
}

fn number_after(text: &str, mark: &str) -> usize {
    let rest = text.split_once(mark).map_or("", |(_, rest)| rest);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}
