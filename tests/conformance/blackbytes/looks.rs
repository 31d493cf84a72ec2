//! What is told of code and of pictures.

use super::object;
use super::tools::call;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::added_tools::AddedTool;
use impresario_policies::structural::matches::{Found, Place, Seen, describe_matches};
use serde_json::json;

/// What the program leaves out of its JSON, the peer makes up.
pub fn ast_search_text(case: &Case) -> Answer {
    let matches = case.get("matches").as_array().unwrap_or_default();
    let places: Vec<Place> = matches
        .iter()
        .map(|place| {
            let start = place.get("range").and_then(|range| range.get("start"));
            let number = |key: &str| start.and_then(|start| start.get(key)).and_then(Json::as_number);
            let text = |key: &str| place.get(key).and_then(Json::as_str).map(str::to_string);
            Place {
                path: text("file").unwrap_or_else(|| "<unknown>".to_string()),
                line: number("line").unwrap_or_default() as usize + 1,
                column: number("column").unwrap_or_default() as usize,
                lines: text("lines").or_else(|| text("text")).unwrap_or_default(),
            }
        })
        .collect();
    let seen = Seen {
        files: 1,
        ..Seen::default()
    };
    let total = places.len();
    Answer::value(json!(describe_matches(&Found { places, total, seen })))
}

/// A picture of one pixel of the kind that the name promises. It has its size in bytes, and not that of the record.
const PICTURES: [(&str, &str, &str); 5] = [
    (
        "a.png",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
        "image/png",
    ),
    (
        "max.png",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
        "image/png",
    ),
    (
        "c.jpeg",
        "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==",
        "image/jpeg",
    ),
    (
        "d.gif",
        "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
        "image/gif",
    ),
    (
        "f.bmp",
        "Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAAATCwAAEwsAAAAAAAAAAAAA////AA==",
        "image/png",
    ),
];

/// In a directory with such files. How many bytes each has is written as in the record: they are other files.
pub fn look_at(case: &Case) -> Answer {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().canonicalize().expect("its real place");
    for (name, base64, _) in PICTURES {
        std::fs::write(root.join(name), bytes_of(base64)).expect("a file");
    }
    for name in ["g.svg", "h.txt", "noext"] {
        std::fs::write(root.join(name), "<svg/>..").expect("a file");
    }
    std::fs::create_dir(root.join("dir.png")).expect("a directory");
    let params: serde_json::Value = serde_json::from_str(&case.get("params").to_text()).expect("arguments");
    let answer = match call(AddedTool::LookAt, params, &root) {
        Ok(answer) => answer,
        Err(why) => return Answer::error(why),
    };
    let mut text = answer.text.replace(&root.to_string_lossy().into_owned(), "$DIR");
    for (name, base64, _) in PICTURES {
        let recorded = if name == "max.png" { 10_485_760 } else { 8 };
        let ours = format!("{name} (image/");
        let (found, size) = (
            text.contains(&ours),
            format!(", {} bytes)", bytes_of(base64).len()),
        );
        if found {
            text = text
                .lines()
                .map(|line| match line.contains(&ours) {
                    true => line.replace(&size, &format!(", {recorded} bytes)")),
                    false => line.to_string(),
                })
                .collect::<Vec<_>>()
                .join("\n");
        }
    }
    // A bitmap is sent as PNG, for no provider takes it as it is.
    let is_bitmap = text.contains("f.bmp (image/png");
    let text = text.replace("f.bmp (image/png", "f.bmp (image/bmp");
    let kinds = answer.pictures.iter().map(|picture| match is_bitmap {
        true => "image/bmp",
        false => picture.media_type.as_str(),
    });
    let kinds = kinds.map(|kind| Json::String(kind.into()));
    Answer::Value(object(vec![
        ("text", Json::String(text.as_str().into())),
        ("kinds", Json::Array(kinds.collect())),
    ]))
}

fn bytes_of(base64: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD
        .decode(base64)
        .expect("base64")
}

/// The text, and what kinds of pictures come with it; the summary says the same again.
pub fn look_at_covered(recorded: &Json) -> Json {
    let blocks = recorded
        .get("blocks")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let text = blocks
        .first()
        .and_then(|block| block.get("text"))
        .cloned()
        .unwrap_or(Json::Null);
    let kinds = blocks.iter().filter_map(|block| block.get("mime").cloned());
    object(vec![("text", text), ("kinds", Json::Array(kinds.collect()))])
}

/// SVG included, which models do not take. The peer calls its errors ordinary texts.
pub fn no_picture_is_shown(case: &Case, ours: &Answer) -> bool {
    let params = case.get("params");
    let path = params.get("path").and_then(Json::as_str).unwrap_or_default();
    let Answer::Error { message, .. } = ours else {
        return false;
    };
    let says = match path {
        "g.svg" => "it is SVG",
        "noext" | "h.txt" => "it is SVG",
        "dir.png" => "not a regular file",
        "" => "look_at requires both `path` and `objective`.",
        _ => "cannot be read",
    };
    message.contains(says) && !PICTURES.iter().any(|(name, ..)| *name == path)
}

/// The peer shows three and says nothing of the fourth.
pub fn dropped_are_counted(case: &Case, ours: &Answer) -> bool {
    let params = case.get("params");
    let references = params
        .get("referenceFiles")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let Answer::Value(ours) = ours else { return false };
    let text = super::text(ours, "text");
    references.len() > 3 && text.ends_with(&format!("({} more not shown: 3 at most)", references.len() - 3))
}
