//! Was more spent than may be, and does what calls of models took add up? (P6)

use super::evidence::JournalRow;
use serde_json::Value;
use std::collections::BTreeMap;

/// Dollars are added up in another order than the runtime's, which moves the last digits.
const ROUNDING: f64 = 1e-9;

/// What is wrong with the money of all runs, each with a run that it is about.
pub(super) fn overspent(runs: &BTreeMap<&str, Vec<&JournalRow>>) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let mut scopes = BTreeMap::<String, Scope>::new();
    for (run, rows) in runs {
        wrong.extend(uncounted(rows).map(|what| (run.to_string(), what)));
        let Some(request) = rows.iter().find_map(|row| row.step.get("request")) else {
            continue;
        };
        for (name, cap) in scopes_of(run, request) {
            let scope = scopes.entry(name).or_insert_with(|| Scope::under(cap, run));
            scope.cap = scope.cap.min(cap);
            scope.add(rows, assumed_of(request));
        }
    }
    wrong.extend(scopes.iter().filter_map(|(name, scope)| {
        // One call of each run may have been under way when the cap was reached.
        let most = scope.cap + scope.dearest.values().sum::<f64>() + ROUNDING;
        let what = format!(
            "{name} may cost ${} and cost ${:.6}, which is more than one call of each run above it",
            scope.cap, scope.spent
        );
        (scope.spent > most).then(|| (scope.run.clone(), what))
    }));
    wrong
}

struct Scope {
    run: String,
    cap: f64,
    spent: f64,
    /// The dearest call of each run.
    dearest: BTreeMap<String, f64>,
}

impl Scope {
    fn under(cap: f64, run: &str) -> Self {
        Self {
            run: run.to_string(),
            cap,
            spent: 0.0,
            dearest: BTreeMap::new(),
        }
    }

    fn add(&mut self, rows: &[&JournalRow], assumed: f64) {
        for row in rows.iter().filter(|row| is_call(row)) {
            let cost = cost_of(&row.step["call"], assumed);
            self.spent += cost;
            let dearest = self.dearest.entry(row.run.clone()).or_default();
            *dearest = dearest.max(cost);
        }
    }
}

fn scopes_of(run: &str, request: &Value) -> Vec<(String, f64)> {
    let budget = &request["terms"]["budget"];
    let cap = |whose: &str| budget[whose]["usd"].as_f64();
    let session = request["origin"]["session"].as_str();
    let group = request["group"]["group"].as_str();
    let tree = match group {
        Some(group) => format!("group {group}"),
        None => format!("run {run}"),
    };
    let scopes = [
        cap("run").map(|cap| (format!("run {run}"), cap)),
        cap("tree").map(|cap| (tree, cap)),
        session
            .zip(cap("session"))
            .map(|(session, cap)| (format!("session {session}"), cap)),
    ];
    let mut least = BTreeMap::<String, f64>::new();
    for (name, cap) in scopes.into_iter().flatten() {
        let known = least.entry(name).or_insert(cap);
        *known = known.min(cap);
    }
    least.into_iter().collect()
}

fn assumed_of(request: &Value) -> f64 {
    request["terms"]["budget"]["assumed_usd_per_million"]
        .as_f64()
        .unwrap_or(0.0)
}

fn is_call(row: &JournalRow) -> bool {
    row.step["step"] == "model_called"
}

fn cost_of(call: &Value, assumed: f64) -> f64 {
    let took = match &call["used"] {
        Value::Null => &call["reserved"],
        used => used,
    };
    let by_tokens = || tokens_of(took) as f64 * assumed / 1_000_000.0;
    took["cost_usd"].as_f64().unwrap_or_else(by_tokens)
}

fn tokens_of(took: &Value) -> u64 {
    ["input", "output", "cache_read", "cache_write"]
        .iter()
        .filter_map(|kind| took[kind].as_u64())
        .sum()
}

/// An attempt used what its calls used.
fn uncounted(rows: &[&JournalRow]) -> impl Iterator<Item = String> {
    let ended = rows.iter().filter(|row| row.step["step"] == "attempt_ended");
    let wrong = ended.filter_map(|row| {
        let attempt = &row.step["attempt"];
        let said = tokens_of(row.step.get("used")?);
        let calls = rows.iter().filter(|row| is_call(row));
        let of_attempt = calls.filter(|row| row.step["call"]["by"]["attempt"] == *attempt);
        let counted: u64 = of_attempt.map(|row| tokens_of(&row.step["call"]["used"])).sum();
        (said != counted).then(|| format!("attempt {attempt} used {said} tokens, and its calls {counted}"))
    });
    wrong.collect::<Vec<_>>().into_iter()
}
