//! The functions of pi-capability-index 0.1.0.

mod loadouts;
pub mod not_covered;
mod search;
mod shown;

use crate::Function;
use crate::compare::sha256;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::capability::flatten::flatten_parameters;
use impresario_policies::compat::units;
use impresario_policies::redact::holds_key;
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
        ("loadouts", loadouts::loadouts, loadouts::covered),
        ("promotion", shown::promotion, Json::clone),
        ("skill_read", shown::skill_read, Json::clone),
        ("deferral", shown::deferral, Json::clone),
        ("slim_block", shown::slim_block, Json::clone),
        ("secrets", secrets, Json::clone),
    ];
    table
        .into_iter()
        .map(|(name, replay, covered)| Function {
            name,
            replay,
            accepts,
            differs: |function, case, ours| match function {
                "search" => search::differs(case, ours),
                "loadouts" => loadouts::differs(case),
                "deferral" => shown::deferral_differs(case, ours),
                "slim_block" => shown::slim_differs(case, ours),
                "secrets" => {
                    (ours == &Answer::Value(Json::Bool(true))).then_some("more shapes of keys are known")
                }
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

/// Whether ours is the answer we want where the record says that the peer's is a fault.
fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    match defect {
        "a common key format is not recognised" => ours == &Answer::Value(Json::Bool(true)),
        "ordinary hyphenated word taken for a key" => ours == &Answer::Value(Json::Bool(false)),
        "no limit but the 200-row read" => shown::is_without_promotion(ours),
        "descriptions are written unescaped: the block can be closed early" => shown::is_one_block(ours),
        "the real block is then never slimmed" => shown::is_one_block(ours),
        _ if case.input.get("ops").is_some() => loadouts::is_safe(case),
        _ => shown::is_one_block(ours),
    }
}

fn secrets(case: &Case) -> Answer {
    Answer::value(json!(holds_key(&case.texts("parts").concat())))
}
