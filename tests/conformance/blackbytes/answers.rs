//! Answers that are kept whole.

use super::only;
use crate::compare::sha256;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_actors::answer_files::AnswerFiles;
use impresario_actors::context::local::HeavyWork;
use impresario_actors::gateways::AnswerShelf;
use impresario_policies::domain::{AttemptNumber, RunId, WholeAnswer};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Keeps the text as often as it is captured, each time for another attempt.
pub fn artifact_capture(case: &Case) -> Answer {
    let times = case.get("times").as_number().unwrap_or(1.0) as u32;
    let state = tempfile::tempdir().expect("a directory");
    let shelf = AnswerFiles::new(state.path().join("answers"), HeavyWork::Inline);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let run = RunId::new(1, 1);
    let kept = (1..=times).map(|attempt| {
        let text = case.text("content").to_string();
        described(&runtime.block_on(shelf.keep(&run, AttemptNumber(attempt), text)))
    });
    Answer::value(Value::Array(kept.collect()))
}

fn described(kept: &WholeAnswer) -> Value {
    let Some(file) = kept.file() else {
        return Value::Null;
    };
    let body = std::fs::read_to_string(file).expect("it is there");
    let mode = |path: &Path| {
        let mode = std::fs::metadata(path).expect("it is there").permissions().mode();
        format!("{:o}", mode & 0o777)
    };
    json!({
        "mode": mode(file),
        "dir_mode": mode(file.parent().expect("a directory")),
        "body_sha256": sha256(&body),
        "body_utf8_len": body.len(),
        "has_marker": false,
    })
}

/// There is no head before the text: what it says is in the journal.
pub fn capture_covered(recorded: &Json) -> Json {
    let keys = ["mode", "dir_mode", "body_sha256", "body_utf8_len", "has_marker"];
    let items = recorded.as_array().unwrap_or_default().iter();
    let items = items.map(|item| match item {
        Json::Null => Json::Null,
        item => only(item, &keys),
    });
    Json::Array(items.collect())
}

/// The text is there to its last byte.
pub fn is_all_there(case: &Case, ours: &Answer) -> bool {
    let Answer::Value(Json::Array(kept)) = ours else {
        return false;
    };
    let text = Json::String(sha256(case.text("content")));
    !kept.is_empty() && kept.iter().all(|kept| kept.get("body_sha256") == Some(&text))
}
