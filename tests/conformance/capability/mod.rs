//! The functions of pi-capability-index 0.1.0.

pub mod not_covered;
mod search;

use crate::Function;
use crate::compare::sha256;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::capability::flatten::flatten_parameters;
use impresario_policies::compat::units;
use serde_json::{Value, json};

/// Runs our counterpart.
type Replay = fn(&Case) -> Answer;
/// The part of a recorded answer that ours has, too.
type Covered = fn(&Json) -> Json;

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: Vec<(&'static str, Replay, Covered)> = vec![
        ("flatten", flatten, Json::clone),
        ("search", search::search, search::covered),
    ];
    table
        .into_iter()
        .map(|(name, replay, covered)| Function {
            name,
            replay,
            accepts: |_, _, _| false,
            differs: |function, case, ours| match function {
                "search" => search::differs(case, ours),
                _ => None,
            },
            covered,
        })
        .collect()
}

/// A long text is recorded as its digest.
fn flatten(case: &Case) -> Answer {
    let text = flatten_parameters(&Value::from(&case.input));
    let is_long = matches!(&case.expected, Answer::Value(value) if value.get("utf16_length").is_some());
    Answer::value(match is_long {
        true => json!({"utf16_length": units(&text), "sha256": sha256(&text)}),
        false => json!(text),
    })
}
