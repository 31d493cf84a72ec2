//! P3, call by call: the journal against itself, and against what the models' server ordered and was told.

use super::auditor::{OfRun, kind, number, of_kind, text};
use super::evidence::{Evidence, JournalRow, ModelCallSeen, OrderedCall};
use super::worktrees::is_refused;
use impresario_policies::tool_call::id_of;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What stands in place of a secret.
const REDACTED: &str = "[REDACTED]";

/// A tool call as the journal tells it.
#[derive(Default)]
struct Call<'a> {
    started: Vec<&'a JournalRow>,
    ended: Vec<&'a JournalRow>,
    indeterminate: Vec<&'a JournalRow>,
}

/// The calls of a run, by attempt and id.
type Calls<'a> = BTreeMap<(u64, &'a str), Call<'a>>;

fn calls_of<'a>(rows: &[&'a JournalRow]) -> Calls<'a> {
    let mut calls = Calls::new();
    for row in rows {
        let key = (number(&row.step, "attempt"), text(&row.step, "call"));
        match kind(row) {
            "tool_started" => calls.entry(key).or_default().started.push(row),
            "tool_ended" => calls.entry(key).or_default().ended.push(row),
            "tool_indeterminate" => calls.entry(key).or_default().indeterminate.push(row),
            _ => {}
        }
    }
    calls
}

/// A call starts once in its attempt and ends at most once, in that order, while the attempt is under way.
pub(super) fn check_calls(run: &mut OfRun<'_>, rows: &[&JournalRow]) {
    for ((attempt, id), call) in calls_of(rows) {
        let named = format!("tool call {id} of attempt {attempt}");
        let (started, ended, cut) = (call.started.len(), call.ended.len(), call.indeterminate.len());
        if started > 1 {
            run.breach("P3", &format!("{named} started {started} times"));
        }
        if ended > 1 {
            run.breach("P3", &format!("{named} ended {ended} times"));
        }
        if ended > 0 && cut > 0 {
            run.breach(
                "P3",
                &format!("{named} ended, and the journal says that nobody knows"),
            );
        }
        let ends = call.ended.iter().chain(&call.indeterminate);
        let first_end = ends.map(|row| row.sequence).min();
        let first_start = call.started.iter().map(|row| row.sequence).min();
        if first_end.is_some_and(|end| first_start.is_none_or(|start| start > end)) {
            run.breach("P3", &format!("{named} ended and had not started"));
        }
        let steps = call.started.iter().chain(&call.ended).chain(&call.indeterminate);
        if steps.into_iter().any(|row| !is_under_way(rows, attempt, row)) {
            run.breach("P3", &format!("{named} has a step outside of its attempt"));
        }
    }
}

fn is_under_way(rows: &[&JournalRow], attempt: u64, row: &JournalRow) -> bool {
    let of_attempt = |wanted| {
        of_kind(rows, wanted)
            .find(|row| number(&row.step, "attempt") == attempt)
            .map(|row| row.sequence)
    };
    of_attempt("attempt_started").is_some_and(|start| start < row.sequence)
        && of_attempt("attempt_ended").is_none_or(|end| row.sequence < end)
}

/// Whatever a tool did has its start in the journal.
pub(super) fn check_effects_are_journaled(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    // Who runs a tool knows the id that the model gave.
    let gates = of_kind(rows, "gate_started").map(|_| GATE);
    let started = of_kind(rows, "tool_started")
        .map(|row| id_of(text(&row.step, "call")))
        .chain(gates)
        .collect::<BTreeSet<_>>();
    let name = run.name().to_string();
    let of_run = evidence.effects.iter().filter(|effect| effect.run == name);
    for effect in of_run.filter(|effect| !started.contains(id_of(&effect.call))) {
        run.breach(
            "P3",
            &format!(
                "tool call {} happened and the journal does not have it",
                effect.call
            ),
        );
    }
}

/// How an effect of a gate's command is called.
const GATE: &str = "gate";

/// What the journal has of a call is what a model ordered, and what a model was told of ended.
pub(super) fn check_against_models(run: &mut OfRun<'_>, rows: &[&JournalRow], models: &[ModelCallSeen]) {
    let ordered = ordered_by_id(models);
    let on_server = |row: &&JournalRow| !is_offline(rows, number(&row.step, "attempt"));
    for started in of_kind(rows, "tool_started").filter(on_server) {
        let call = text(&started.step, "call");
        let orders = ordered.get(id_of(call)).map(Vec::as_slice).unwrap_or_default();
        if orders.is_empty() {
            run.breach("P3", &format!("tool call {call} started and no model ordered it"));
        } else if !orders.iter().any(|order| is_as_ordered(&started.step, order)) {
            run.breach(
                "P3",
                &format!(
                    "tool call {call} is not as it was ordered: {}, ordered {orders:?}",
                    started.step
                ),
            );
        }
    }
    for ((attempt, name), call) in calls_of(rows) {
        let id = id_of(name);
        // An id that was given twice may be told of under the other one's name.
        let is_unique = ordered.get(id).is_some_and(|orders| orders.len() == 1);
        if is_unique && !call.indeterminate.is_empty() && was_told_of(rows, attempt, id, &call, models) {
            run.breach(
                "P3",
                &format!(
                    "tool call {id} ended, its model was told so, and the journal says that nobody knows"
                ),
            );
        }
    }
}

/// Results that a model was told, of calls that no run of the journal has.
pub(super) fn told_and_not_journaled(evidence: &Evidence, models: &[ModelCallSeen]) -> Vec<String> {
    let journaled = evidence
        .rows
        .iter()
        .filter(|row| kind(row) == "tool_started")
        .map(|row| id_of(text(&row.step, "call")))
        .collect::<BTreeSet<_>>();
    let offered = models
        .iter()
        .flat_map(|model| &model.offered)
        .collect::<BTreeSet<_>>();
    let told = models
        .iter()
        .flat_map(|model| &model.results)
        .collect::<BTreeSet<_>>();
    // A tool that does not exist does not begin, and what a worktree forbids neither.
    let could_begin = |orders: &Vec<&OrderedCall>| {
        orders
            .iter()
            .all(|order| offered.contains(&order.tool) && !is_refused(evidence, order))
    };
    let ordered = ordered_by_id(models);
    let missing = ordered.into_iter().filter(|(id, orders)| {
        could_begin(orders) && told.iter().any(|told| *told == id) && !journaled.contains(id)
    });
    missing.map(|(id, _)| id.to_string()).collect()
}

fn ordered_by_id(models: &[ModelCallSeen]) -> BTreeMap<&str, Vec<&OrderedCall>> {
    let mut ordered = BTreeMap::<&str, Vec<&OrderedCall>>::new();
    for order in models.iter().flat_map(|model| &model.ordered) {
        ordered.entry(&order.call).or_default().push(order);
    }
    ordered
}

/// The model of this attempt is within the runtime; no server knows of what it orders.
fn is_offline(rows: &[&JournalRow], attempt: u64) -> bool {
    of_kind(rows, "attempt_started")
        .any(|row| number(&row.step, "attempt") == attempt && text(&row.step, "model") == "offline")
}

/// While the attempt was under way its model was asked again, with the result of this call.
fn was_told_of(
    rows: &[&JournalRow],
    attempt: u64,
    id: &str,
    call: &Call<'_>,
    models: &[ModelCallSeen],
) -> bool {
    let Some(begin) = call.started.first().map(|row| row.at_ms) else {
        return false;
    };
    let ended = of_kind(rows, "attempt_ended").find(|row| number(&row.step, "attempt") == attempt);
    // A runtime that was killed may have been told of the end and not have written it: Pi asks its model at once.
    if ended.is_some_and(|row| died_with_its_runtime(&row.step)) {
        return false;
    }
    let end = ended.map_or(u64::MAX, |row| row.at_ms);
    let mut in_time = models.iter().filter(|model| (begin..end).contains(&model.at_ms));
    in_time.any(|model| model.results.iter().any(|told| told == id))
}

/// Nobody was left to see its processes go.
fn died_with_its_runtime(ended: &Value) -> bool {
    text(ended, "ending") == "lost" && ended["proof"]["no_children"] == false
}

fn is_as_ordered(started: &Value, order: &OrderedCall) -> bool {
    let arguments = started.get("arguments").and_then(Value::as_str);
    text(started, "tool") == order.tool
        && arguments.is_none_or(|kept| {
            let kept = super::wire::read_arguments(kept);
            is_kept_of(&kept, &order.arguments)
        })
}

/// What is kept of arguments: the same, but for secrets that were taken out and for what was too long.
fn is_kept_of(kept: &Value, whole: &Value) -> bool {
    match (kept, whole) {
        (Value::String(kept), Value::String(whole)) => is_redacted_of(kept, whole),
        (Value::Number(kept), Value::Number(whole)) => kept.as_f64() == whole.as_f64(),
        (Value::Array(kept), Value::Array(whole)) => {
            kept.len() == whole.len()
                && kept
                    .iter()
                    .zip(whole)
                    .all(|(kept, whole)| is_kept_of(kept, whole))
        }
        (Value::Object(kept), _) if kept.len() == 2 && kept.contains_key("truncated") => {
            kept.contains_key("bytes")
        }
        (Value::Object(kept), Value::Object(whole)) => {
            kept.len() == whole.len()
                && kept
                    .iter()
                    .all(|(key, kept)| whole.get(key).is_some_and(|whole| is_kept_of(kept, whole)))
        }
        (kept, whole) => kept == whole,
    }
}

fn is_redacted_of(kept: &str, whole: &str) -> bool {
    let Some((first, behind)) = kept.split_once(REDACTED) else {
        return kept == whole;
    };
    let Some(mut rest) = whole.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = behind.rsplit_once(REDACTED).unwrap_or(("", behind));
    for piece in middle.split(REDACTED) {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}
