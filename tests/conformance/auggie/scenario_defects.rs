//! What we do instead of the peer's faults, where they show in whole skills.

use crate::compare::{same, same_without_halves};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::units;
use regex::Regex;

/// Whether our answer to a whole scenario is the one we want where the peer shows this fault.
///
/// Where a record shows several faults at once, every part that differs has to be right by one of them, the
/// other parts taken for granted.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    let (Answer::Value(expected), Answer::Value(ours)) = (&case.expected, ours) else {
        return false;
    };
    if case.defects.len() == 1 {
        return judge(defect, case, expected, ours);
    }
    let differs = |part: &&&str| !same(member(expected, part), member(ours, part));
    PARTS.iter().filter(differs).all(|part| {
        let mut faults = case.defects.iter().filter(|fault| touches(fault).contains(part));
        faults.any(|fault| judge(fault, case, expected, &with_parts(expected, ours, touches(fault))))
    })
}

fn judge(defect: &str, case: &Case, expected: &Json, ours: &Json) -> bool {
    match defect {
        "D08" | "D52" => no_unlock_without_lock(expected, ours),
        "D11" => same_without_halves(expected, ours),
        "D12" | "D13" | "D15" | "D16" | "D17" => answers_are_cleaned_better(case, expected, ours),
        "D18" | "D45" => counted_once(case, expected, ours),
        "D19" | "D20" => unjudged_is_no_failure(expected, ours),
        "D21" => blocked_is_recorded(expected, ours),
        "D22" => no_foreign_traces(case, expected, ours),
        "D23" => a_broken_trace_stops_nothing(expected, ours),
        "D24" => nothing_is_overwritten(expected, ours),
        "D25" => failed_runs_leave_a_trace(expected, ours),
        "D26" => no_sixty_seconds(expected, ours),
        "D29" => foreign_files_stay(expected, ours),
        "D33" => more_is_redacted(expected, ours),
        "D38" => nothing_is_said_after_the_end(expected, ours),
        _ => false,
    }
}

/// The parts of an answer in which a fault shows.
fn touches(defect: &str) -> &'static [&'static str] {
    match defect {
        "D52" => &["locks"],
        "D18" | "D22" | "D33" | "D45" => &["messages", "logs"],
        "D12" | "D13" | "D15" | "D16" | "D17" => &["messages", "logs", "traces"],
        "D19" | "D20" => &["messages", "logs"],
        "D23" => &["steps", "messages", "logs", "remaining_seed_traces"],
        "D21" | "D24" => &["traces"],
        "D25" => &["logs", "traces"],
        "D26" => &["messages"],
        "D29" => &["remaining_seed_traces", "logs"],
        _ => &PARTS,
    }
}

fn member<'a>(value: &'a Json, key: &str) -> &'a Json {
    value.get(key).unwrap_or(&Json::Null)
}

/// Ours in these parts, as recorded in all others.
fn with_parts(expected: &Json, ours: &Json, parts: &[&str]) -> Json {
    let chosen = |part: &str| if parts.contains(&part) { ours } else { expected };
    Json::Object(
        PARTS
            .iter()
            .map(|part| (part.to_string(), member(chosen(part), part).clone()))
            .collect(),
    )
}

const PARTS: [&str; 7] = [
    "steps",
    "messages",
    "logs",
    "llm_calls",
    "sub_agent_calls",
    "traces",
    "remaining_seed_traces",
];

pub fn part<'a>(value: &'a Json, key: &str) -> &'a [Json] {
    value.get(key).and_then(Json::as_array).unwrap_or_default()
}

pub fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or("")
}

/// Every part but these is as recorded.
pub fn same_but(expected: &Json, ours: &Json, but: &[&str]) -> bool {
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

/// A route nobody gave is no sign of failure; every other sign is as recorded. What reports and warnings say
/// follows from it.
fn unjudged_is_no_failure(expected: &Json, ours: &Json) -> bool {
    const UNJUDGED: &str = "low route confidence";
    let without_confidence = |log: &Json| -> Vec<String> {
        let signals = signals(log)
            .into_iter()
            .filter(|signal| !signal.starts_with(UNJUDGED));
        signals.map(str::to_string).collect()
    };
    let others = |value: &Json| -> Vec<Json> {
        let is_verdict = |message: &&Json| {
            let text = text(message, "text");
            text.starts_with("📊 ") || text.starts_with("🔍 ") || text.starts_with("⚠️ Degradation")
        };
        let messages = part(value, "messages").iter();
        messages.filter(|message| !is_verdict(message)).cloned().collect()
    };
    let logs = |value: &Json| -> Vec<Json> {
        let is_alert = |log: &&Json| event_name(log) == "auggie-router.degradation-alert";
        let logs = part(value, "logs").iter();
        logs.filter(|log| !is_alert(log)).cloned().collect()
    };
    let (wanted, found) = (logs(expected), logs(ours));
    let pairs = || wanted.iter().zip(&found);
    let mut said = part(ours, "messages").iter().map(|message| text(message, "text"));
    same_but(expected, ours, &["messages", "logs"])
        && same_lists(&others(expected), &others(ours))
        && wanted.len() == found.len()
        && pairs().all(|(wanted, found)| same(&unconcluded(wanted), &unconcluded(found)))
        && pairs().all(|(wanted, found)| {
            let others: Vec<&str> = signals(found);
            !is_classified(found) || others == without_confidence(wanted)
        })
        && !said.any(|text| text.contains(UNJUDGED))
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
    // The view of a trace shows it too.
    let shown = part(expected, "messages").iter().zip(part(ours, "messages"));
    let mut others = shown.filter(|(wanted, _)| !text(wanted, "text").starts_with("🔍 "));
    same_but(expected, ours, &["messages", "traces"])
        && part(expected, "messages").len() == part(ours, "messages").len()
        && others.all(|(wanted, found)| same(wanted, found))
        && same_calls
        && blocked == replaced
}

/// Of every skill only its own traces are reported, the newest first, or that there are none.
fn no_foreign_traces(case: &Case, expected: &Json, ours: &Json) -> bool {
    let seeds = case.get("trace_files").as_object().unwrap_or_default();
    let reports: Vec<&str> = part(ours, "messages")
        .iter()
        .map(|message| text(message, "text"))
        .filter(|text| text.starts_with("📊 "))
        .collect();
    let only_own = |report: &str| {
        let skill = report.split('"').nth(1).unwrap_or("");
        let own = |name: &str| -> Option<u64> {
            let digits = name.strip_prefix(skill)?.strip_prefix('_')?;
            digits.strip_suffix(".json")?.parse().ok()
        };
        let shown = report.lines().filter_map(|line| line.trim().split("  ").next());
        let times: Vec<Option<u64>> = shown.filter(|name| name.ends_with(".json")).map(own).collect();
        let any_own = seeds.iter().any(|(name, _)| own(name).is_some());
        times.iter().all(Option::is_some)
            && times.is_sorted_by(|newer, older| newer >= older)
            && (any_own || report.contains("No traces found"))
    };
    same_but(expected, ours, &["messages", "logs"])
        && part(expected, "messages").len() == part(ours, "messages").len()
        && !reports.is_empty()
        && reports.into_iter().all(only_own)
}

/// No step throws, and every run is classified, whatever else lies in the directory.
fn a_broken_trace_stops_nothing(expected: &Json, ours: &Json) -> bool {
    let throws = |step: &Json| step.get("throws").is_some();
    let classified = part(ours, "logs").iter().filter(|log| is_classified(log)).count();
    let failed = |log: &Json| text(log, "text").contains("trace persist failed");
    same_but(
        expected,
        ours,
        &["steps", "messages", "logs", "remaining_seed_traces"],
    ) && !part(ours, "steps").iter().any(throws)
        && classified == part(ours, "sub_agent_calls").len()
        && !part(ours, "logs").iter().any(failed)
}

/// Answers differ, and none is longer than it may be; the rest is as recorded.
fn answers_are_cleaned_better(case: &Case, expected: &Json, ours: &Json) -> bool {
    let is_answer = |message: &&Json| text(message, "kind") == "assistant";
    let others = |value: &Json| -> Vec<Json> {
        let messages = part(value, "messages").iter();
        messages.filter(|message| !is_answer(message)).cloned().collect()
    };
    let settings = case.get("settings").get("outputSanitizer").cloned();
    let limit = settings.and_then(|settings| settings.get("finalOutputMaxChars")?.as_number());
    let fits = |message: &Json| {
        limit.is_none_or(|limit| limit == 0.0 || units(text(message, "text")) as f64 <= limit)
    };
    same_but(expected, ours, &["messages", "logs", "traces"])
        && same_lists(&others(expected), &others(ours))
        && part(ours, "messages").iter().filter(is_answer).all(fits)
}

/// Messages differ only in how a full minute is written.
fn no_sixty_seconds(expected: &Json, ours: &Json) -> bool {
    let sixty = Regex::new(r"\b(?:(\d+)m)?60s").expect("a pattern");
    let carried = |text: &str| {
        let text = sixty.replace_all(text, |found: &regex::Captures<'_>| {
            let minutes = found
                .get(1)
                .and_then(|minutes| minutes.as_str().parse::<u64>().ok());
            format!("{}m0s", minutes.unwrap_or(0) + 1)
        });
        text.replace("m00s", "m0s")
    };
    let texts = |value: &Json| -> Vec<String> {
        let messages = part(value, "messages").iter();
        messages.map(|message| carried(text(message, "text"))).collect()
    };
    let said = part(ours, "messages").iter().map(|message| text(message, "text"));
    same_but(expected, ours, &["messages"])
        && texts(expected) == texts(ours)
        && !said.into_iter().any(|text| sixty.is_match(text))
}

/// What is deleted is surely a trace; everything else is still there.
fn foreign_files_stay(expected: &Json, ours: &Json) -> bool {
    let trace = Regex::new(r"^[A-Za-z0-9_-]+_\d+\.json$").expect("a pattern");
    let names = |value: &Json| -> Vec<String> {
        let names = part(value, "remaining_seed_traces")
            .iter()
            .filter_map(Json::as_str);
        names.map(str::to_string).collect()
    };
    let (wanted, found) = (names(expected), names(ours));
    let mut kept_too = found.iter().filter(|name| !wanted.contains(name));
    same_but(expected, ours, &["remaining_seed_traces", "logs"])
        && wanted.iter().all(|name| found.contains(name))
        && kept_too.all(|name| !trace.is_match(name))
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
    // Traces that were there before are runs too.
    let seeds = case.get("trace_files").as_object().unwrap_or_default().len();
    let (mut runs, mut failures, mut counts_hold) = (seeds, seeds, true);
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
