//! Did the promises hold? Reads evidence only, and knows the journal's steps by their JSON, not by our types.

use super::evidence::{Evidence, JournalRow};
use super::{money, tokens, tool_calls, worktrees};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A promise that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// Its id in `docs/ARCHITECTURE.md`: `P1` … `P10`.
    pub promise: &'static str,
    /// Of which run; empty where it is not about one.
    pub run: String,
    /// What was found.
    pub what: String,
}

/// Checks every promise that can be checked from outside. None found means an empty list.
pub fn audit(evidence: &Evidence) -> Vec<Breach> {
    let mut runs = BTreeMap::<&str, Vec<&JournalRow>>::new();
    for row in &evidence.rows {
        runs.entry(&row.run).or_default().push(row);
    }
    let mut found = Findings::default();
    for (run, rows) in &runs {
        let mut of_run = found.of(run);
        check_terminal_state(&mut of_run, rows, evidence);
        check_result_is_kept(&mut of_run, rows, evidence);
        check_effects(&mut of_run, rows, evidence);
        tool_calls::check_calls(&mut of_run, rows);
        tool_calls::check_effects_are_journaled(&mut of_run, rows, evidence);
        if let Some(models) = &evidence.model_calls {
            tool_calls::check_against_models(&mut of_run, rows, models);
        }
        worktrees::check_worktree(&mut of_run, rows);
        check_nothing_is_left(&mut of_run, rows, evidence);
        check_time(&mut of_run, rows, evidence);
        check_models(&mut of_run, rows);
        check_one_driver(&mut of_run, rows);
        check_restarts(&mut of_run, rows, evidence);
    }
    for (run, what) in evidence
        .model_calls
        .iter()
        .flat_map(|models| tokens::miscounted(&runs, models))
    {
        found.of(&run).breach("P6", &what);
    }
    for (run, what) in worktrees::left_wrong(evidence) {
        found.of(&run).breach("P2", what);
    }
    for (run, what) in money::overspent(&runs) {
        found.of(&run).breach("P6", &what);
    }
    for accepted in evidence
        .accepted
        .iter()
        .filter(|run| !runs.contains_key(run.as_str()))
    {
        found
            .of(accepted)
            .breach("P2", "it was accepted and is not in the journal");
    }
    for asked in &evidence.unanswered {
        found
            .of("")
            .breach("P9", &format!("nobody ever said what became of {asked}"));
    }
    for call in evidence
        .model_calls
        .iter()
        .flat_map(|models| tool_calls::told_and_not_journaled(evidence, models))
    {
        found.of("").breach(
            "P3",
            &format!("a model was told the result of tool call {call}, which the journal does not have"),
        );
    }
    found.breaches.sort();
    found.breaches.dedup();
    found.breaches
}

#[derive(Default)]
struct Findings {
    breaches: Vec<Breach>,
}

pub(super) struct OfRun<'a> {
    findings: &'a mut Findings,
    run: String,
}

impl Findings {
    fn of(&mut self, run: &str) -> OfRun<'_> {
        OfRun {
            findings: self,
            run: run.to_string(),
        }
    }
}

impl OfRun<'_> {
    pub(super) fn name(&self) -> &str {
        &self.run
    }

    pub(super) fn breach(&mut self, promise: &'static str, what: &str) {
        self.findings.breaches.push(Breach {
            promise,
            run: self.run.clone(),
            what: what.to_string(),
        });
    }
}

pub(super) fn kind(row: &JournalRow) -> &str {
    text(&row.step, "step")
}

pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or_default()
}

pub(super) fn of_kind<'a>(
    rows: &'a [&'a JournalRow],
    wanted: &'static str,
) -> impl Iterator<Item = &'a JournalRow> {
    rows.iter().copied().filter(move |row| kind(row) == wanted)
}

/// P1: exactly one terminal state, the right one.
fn check_terminal_state(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    if rows.first().is_none_or(|first| kind(first) != "accepted") {
        run.breach("P1", "its first step is not its acceptance");
    }
    if of_kind(rows, "accepted").count() > 1 {
        run.breach("P1", "it was accepted more than once");
    }
    for (expected, row) in (1..).zip(rows) {
        if row.sequence != expected {
            run.breach("P1", &format!("step {expected} is missing"));
            break;
        }
    }
    let ends = of_kind(rows, "ended").collect::<Vec<_>>();
    if ends.len() > 1 {
        run.breach("P1", &format!("it has {} terminal states", ends.len()));
    }
    let Some(end) = ends.first() else {
        if evidence.all_ended {
            run.breach("P1", "it has no terminal state");
        }
        return;
    };
    let late = rows.iter().filter(|row| row.sequence > end.sequence);
    let may_follow = ["delivered", "observed", "delivery_acknowledged", "ended"];
    for row in late.filter(|row| !may_follow.contains(&kind(row))) {
        run.breach("P1", &format!("it went on after its end: {}", kind(row)));
    }
    let state = text(&end.step, "state");
    if let Some(expected) = evidence.expected.get(&run.run)
        && !expected.states.is_empty()
        && !expected.states.iter().any(|right| right == state)
    {
        let reason = end.step.get("reason").map(Value::to_string).unwrap_or_default();
        run.breach(
            "P1",
            &format!(
                "it ended {state}, expected {}: {reason}",
                expected.states.join(" or ")
            ),
        );
    }
    let has_reason = end.step.get("reason").is_some_and(Value::is_object);
    if (state == "succeeded") == has_reason {
        run.breach(
            "P1",
            &format!(
                "it ended {state} {} a reason",
                if has_reason { "with" } else { "without" }
            ),
        );
    }
}

/// P2: what is acknowledged was on disk before, was delivered, and is the same.
fn check_result_is_kept(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let answer = of_kind(rows, "answered").next();
    let end = of_kind(rows, "ended").next();
    if let Some(end) = end
        && text(&end.step, "state") == "succeeded"
        && answer.is_none_or(|answer| answer.sequence > end.sequence)
    {
        run.breach("P2", "it succeeded without its answer on disk before");
    }
    if of_kind(rows, "answered").count() > 1 {
        run.breach("P2", "it has more than one answer");
    }
    let expected = evidence
        .expected
        .get(&run.run)
        .and_then(|expected| expected.answer.as_deref());
    let kept = answer.map(|answer| text(&answer.step, "answer"));
    if let (Some(expected), Some(kept)) = (expected, kept)
        && expected != kept
    {
        run.breach("P2", &format!("its answer is {kept:?}, expected {expected:?}"));
    }
    check_whole_answers(run, rows, evidence);
    let acknowledged = of_kind(rows, "delivery_acknowledged").next().is_some();
    let seen = evidence
        .deliveries
        .iter()
        .filter(|delivery| delivery.run == run.run)
        .collect::<Vec<_>>();
    if acknowledged && seen.is_empty() && !evidence.deliveries.is_empty() {
        run.breach("P2", "its delivery is acknowledged and the host never had it");
    }
    if evidence.all_ended
        && end.is_some()
        && !acknowledged
        && !evidence.deliveries.is_empty()
        && seen.is_empty()
    {
        run.breach("P2", "its result was never delivered");
    }
    for delivery in seen {
        if end.is_none_or(|end| text(&end.step, "state") != delivery.state) {
            run.breach(
                "P2",
                &format!("the host was told {}, which is not on disk", delivery.state),
            );
        }
        if delivery.state == "succeeded" && delivery.answer.as_deref() != kept {
            run.breach("P2", "the host was given another answer than the one on disk");
        }
    }
}

/// An answer that is said to be whole somewhere is: it was there before the step that says so.
fn check_whole_answers(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let said = of_kind(rows, "attempt_ended").map(|row| &row.step["whole"]);
    for whole in said.filter(|whole| whole["whole"] == "kept") {
        let file = text(whole, "file");
        let bytes = evidence.answers.get(Path::new(file)).copied();
        if bytes.is_none() || bytes != whole["bytes"].as_u64() {
            run.breach("P2", &format!("its whole answer is not in {file}"));
        }
    }
}

/// P3: what must not happen twice happened at most once, and was on disk before.
fn check_effects(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let mut happened = BTreeMap::<&str, u32>::new();
    let name = run.run.clone();
    for effect in evidence.effects.iter().filter(|effect| effect.run == name) {
        if !effect.announced {
            run.breach(
                "P3",
                &format!("tool call {} ran before its start was on disk", effect.call),
            );
        }
        if !effect.replay_safe {
            *happened.entry(&effect.call).or_default() += 1;
        }
    }
    for (call, times) in happened.into_iter().filter(|(_, times)| *times > 1) {
        run.breach(
            "P3",
            &format!("tool call {call} must not happen twice and happened {times} times"),
        );
    }
    check_gates(run, rows);
    for cut in calls_cut_off(rows) {
        run.breach("P3", &format!("tool call {cut} was cut off and nobody says so"));
    }
}

/// The command of a gate begins a second time only where it may, and whoever says how it went says it once. Success means
/// that it opened.
fn check_gates(run: &mut OfRun<'_>, rows: &[&JournalRow]) {
    let accepted = of_kind(rows, "accepted").next();
    let gate = accepted.map(|row| &row.step["request"]["terms"]["gate"]);
    let Some(gate) = gate.filter(|gate| !gate.is_null()) else {
        return;
    };
    let started = of_kind(rows, "gate_started").count();
    let over = ["gate_ended", "gate_indeterminate"].map(|kind| of_kind(rows, kind).count());
    let has_ended = of_kind(rows, "ended").next();
    if gate["repeatable"] != true && started > 1 {
        run.breach(
            "P3",
            &format!("a gate that may not run twice began {started} times"),
        );
    }
    if has_ended.is_some() && started != over.iter().sum::<usize>() {
        run.breach("P3", "a gate began, and nobody says what became of it");
    }
    let opened = of_kind(rows, "gate_ended").any(|row| row.step["ending"]["code"] == 0);
    if has_ended.is_some_and(|end| text(&end.step, "state") == "succeeded") && !opened {
        run.breach("P1", "it succeeded though its gate did not open");
    }
}

/// Calls that must not run twice, of attempts that are over, without an end and without a word about it.
fn calls_cut_off(rows: &[&JournalRow]) -> Vec<String> {
    let call_of = |row: &JournalRow| (number(&row.step, "attempt"), text(&row.step, "call").to_string());
    let mut open = BTreeSet::new();
    let mut cut = Vec::new();
    for row in rows {
        match kind(row) {
            "tool_started" if text(&row.step, "replay") == "unsafe" => {
                open.insert(call_of(row));
            }
            "tool_ended" | "tool_indeterminate" => {
                open.remove(&call_of(row));
            }
            "attempt_ended" => {
                let over = number(&row.step, "attempt");
                cut.extend(
                    open.iter()
                        .filter(|(attempt, _)| *attempt == over)
                        .map(|(_, call)| call.clone()),
                );
            }
            _ => {}
        }
    }
    cut
}

/// P4: nothing is left when it ended, and nothing is found afterwards.
fn check_nothing_is_left(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let Some(end) = of_kind(rows, "ended").next() else {
        return;
    };
    let proof = end.step.get("proof").cloned().unwrap_or_default();
    let left = proof.get("processes_left").and_then(Value::as_u64);
    let last = of_kind(rows, "attempt_ended").last();
    // The keeper of a lost attempt is gone with what it saw; a sweep has to do.
    let was_lost = last.is_some_and(|last| text(&last.step, "ending") == "lost");
    // So is that of a gate that nobody saw end.
    let gate = rows.iter().rev().find(|row| kind(row).starts_with("gate_"));
    let was_lost = was_lost || gate.is_some_and(|gate| kind(gate) == "gate_indeterminate");
    let seen_empty = was_lost || proof.get("no_children").and_then(Value::as_bool) == Some(true);
    if left != Some(0) || !seen_empty {
        run.breach("P4", &format!("its end proves no emptiness: {proof}"));
    }
    let name = run.run.clone();
    for process in evidence.processes.iter().filter(|process| process.run == name) {
        run.breach("P4", &format!("process {} outlived it", process.pid));
    }
}

/// P5: it took no longer than it may, and the clock that fired is named.
fn check_time(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let limit = evidence
        .expected
        .get(&run.run)
        .and_then(|expected| expected.within_ms);
    let (Some(limit), Some(first), Some(end)) = (limit, rows.first(), of_kind(rows, "ended").next()) else {
        return;
    };
    let took = end.at_ms.saturating_sub(first.at_ms);
    if took > limit {
        run.breach("P5", &format!("it took {took} ms, {limit} ms are allowed"));
    }
}

/// P6: the models of a run are chosen once, and no attempt runs on another one.
fn check_models(run: &mut OfRun<'_>, rows: &[&JournalRow]) {
    let routed = of_kind(rows, "routed").collect::<Vec<_>>();
    if routed.len() > 1 {
        run.breach("P6", &format!("its models were chosen {} times", routed.len()));
    }
    let Some(routed) = routed.first() else { return };
    let chain = routed.step.pointer("/choice/chain").and_then(Value::as_array);
    let chain = chain.into_iter().flatten().filter_map(Value::as_str);
    let chain = chain.collect::<BTreeSet<_>>();
    for attempt in of_kind(rows, "attempt_started") {
        let model = text(&attempt.step, "model");
        if attempt.sequence < routed.sequence || !chain.contains(model) {
            run.breach(
                "P6",
                &format!("an attempt ran on {model}, which was not chosen for it"),
            );
        }
    }
}

/// P7: generations never fall, and no two of them write at once.
fn check_one_driver(run: &mut OfRun<'_>, rows: &[&JournalRow]) {
    let falls = rows
        .windows(2)
        .any(|pair| pair[1].generation < pair[0].generation);
    if falls {
        run.breach("P7", "an older generation wrote after a newer one");
    }
}

/// P8: restarts without progress are bounded.
fn check_restarts(run: &mut OfRun<'_>, rows: &[&JournalRow], evidence: &Evidence) {
    let Some(allowed) = evidence.lost_in_a_row_max else {
        return;
    };
    let (mut in_a_row, mut worst) = (0, 0);
    for row in rows {
        match kind(row) {
            "attempt_ended" if text(&row.step, "ending") == "lost" => in_a_row += 1,
            "tool_ended" | "answered" => in_a_row = 0,
            "attempt_ended" => in_a_row = 0,
            _ => {}
        }
        worst = worst.max(in_a_row);
    }
    if worst > allowed {
        run.breach(
            "P8",
            &format!("{worst} attempts in a row were lost without progress, {allowed} are allowed"),
        );
    }
}
