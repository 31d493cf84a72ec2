//! The functions of pi-auto-context 0.2.7, played through what runs in Pi and what is behind it.

mod anchors;
mod differences;
mod host;
mod request;

use crate::Function;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::domain::CacheTerms;

/// Runs our counterpart.
type Replay = fn(&Case) -> Answer;
/// The part of a recorded answer that ours has, too.
type Covered = fn(&Json) -> Json;

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: [(&'static str, Replay, Covered); 4] = [
        ("enforce", enforce, enforced),
        ("find_block", find_block, Json::clone),
        ("is_anthropic", is_anthropic, Json::clone),
        ("plan", plan, planned),
    ];
    let table = table.into_iter();
    let markers = table.map(|(name, replay, covered)| Function {
        name,
        replay,
        accepts: differences::accepts,
        differs: differences::ours,
        covered,
    });
    let tools: [(&'static str, Replay); 3] = [
        ("tool", anchors::tool),
        ("pivot_run", anchors::pivot_run),
        ("recall", anchors::recall),
    ];
    let tools = tools.into_iter().map(|(name, replay)| Function {
        name,
        replay,
        accepts: |_, _, _| false,
        differs: anchors::differs,
        covered: Json::clone,
    });
    let requests = Function {
        name: "context_hook",
        replay: request::context_hook,
        accepts: request::accepts,
        differs: request::differs,
        covered: request::covered,
    };
    markers.chain(tools).chain([requests]).collect()
}

fn is_anthropic(case: &Case) -> Answer {
    let has_outline = host::outline(&case.input, Vec::new()).is_some();
    Answer::Value(Json::Bool(has_outline))
}

fn find_block(case: &Case) -> Answer {
    let outlined = host::outlined(case.get("payload"), Vec::new());
    let found = outlined.and_then(|(skeleton, paths)| {
        let place = skeleton.result_of(case.text("tool_use_id"))?;
        let numbers = paths[place]
            .split('/')
            .filter_map(|part| part.parse::<f64>().ok());
        match numbers.collect::<Vec<_>>()[..] {
            [message, block] => Some((message, block)),
            _ => None,
        }
    });
    Answer::Value(found.map_or(Json::Null, |(message, block)| {
        Json::Object(vec![
            ("msg".to_string(), Json::Number(message)),
            ("block".to_string(), Json::Number(block)),
        ])
    }))
}

fn plan(case: &Case) -> Answer {
    Answer::Value(host::planned(
        case.get("payload"),
        case.texts("anchor_call_ids"),
        CacheTerms::default(),
    ))
}

fn enforce(case: &Case) -> Answer {
    let terms = CacheTerms {
        markers_max: case.count("max"),
        ..CacheTerms::default()
    };
    Answer::Value(host::planned(
        case.get("payload"),
        differences::own_anchor(case),
        terms,
    ))
}

/// The layout before the peer gave up the marker on the tail (0.2.5), which the last version has only changed for that.
fn planned(recorded: &Json) -> Json {
    let mut markers = Json::Null;
    for version in ["0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.2.5"] {
        match recorded.get(version) {
            Some(Json::String(_)) | None => {}
            Some(answer) => markers = answer.get("markers").cloned().unwrap_or(Json::Null),
        }
    }
    markers
}

fn enforced(recorded: &Json) -> Json {
    recorded.get("markers").cloned().unwrap_or(Json::Null)
}
