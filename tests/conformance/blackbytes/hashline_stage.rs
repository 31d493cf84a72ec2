//! Whole edits on real files, as the product makes them.

use super::hashline::{given_edit, peer_letters, peers_block, peers_diff};
use super::optional;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use impresario_actors::tools::anchored_edit::{
    EditCall, EditFault, Edited, FromDisk, Grounds, ReadBack, SETTINGS, edit_file,
};
use impresario_policies::anchored_edit::{EditError, EditSettings, Outcome, Snapshot};
use impresario_policies::compat::cut_units;
use serde_json::{Map, Value, json};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// What a verification reads instead of the file.
struct Reads(Vec<u8>);

impl ReadBack for Reads {
    fn read_back(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }
}

fn bytes_of(file: &Json) -> Vec<u8> {
    match file.get("$b64").and_then(Json::as_str) {
        Some(coded) => STANDARD.decode(coded).expect("base64"),
        None => file.as_str().unwrap_or_default().as_bytes().to_vec(),
    }
}

fn entries<'a>(case: &'a Case, key: &str) -> &'a [(String, Json)] {
    case.get(key).as_object().unwrap_or_default()
}

fn build(case: &Case, root: &Path) {
    let parents = |path: &Path| fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    for directory in case.texts("dirs") {
        fs::create_dir_all(root.join(directory)).expect("a directory");
    }
    for (name, file) in entries(case, "files") {
        let path = root.join(name);
        parents(&path);
        fs::write(&path, bytes_of(file)).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
    }
    for (name, target) in entries(case, "links") {
        parents(&root.join(name));
        symlink(target.as_str().unwrap_or_default(), root.join(name)).expect("a link");
    }
    for (name, existing) in entries(case, "hard") {
        fs::hard_link(root.join(existing.as_str().unwrap_or_default()), root.join(name))
            .expect("a hard link");
    }
    for (name, mode) in entries(case, "modes") {
        let mode = mode.as_number().unwrap_or_default() as u32;
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).expect("a mode");
    }
}

pub fn target_of(case: &Case) -> String {
    optional(&case.input, "target").unwrap_or_else(|| "f.txt".to_string())
}

/// What the file that is edited holds before.
pub fn file_before(case: &Case) -> Vec<u8> {
    let target = target_of(case);
    let file = entries(case, "files").iter().find(|(name, _)| *name == target);
    file.map(|(_, file)| bytes_of(file)).unwrap_or_default()
}

pub fn apply(case: &Case) -> Answer {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().canonicalize().expect("a directory");
    build(case, &root);
    let grounds = Grounds::within(&root).expect("grounds");
    let rename_raw = optional(&case.input, "rename_raw").map(|raw| format!("{}{raw}", root.display()));
    let call = EditCall {
        path: target_of(case),
        edits: case.list("edits").iter().map(given_edit).collect(),
        delete: case.flag("delete"),
        rename: optional(&case.input, "rename").or(rename_raw),
    };
    let settings = EditSettings {
        strict_patch: case.get("strict") != &Json::Bool(false),
        ..SETTINGS
    };
    let reads = optional(&case.input, "verify_reads").map(|text| Reads(text.into_bytes()));
    let read_back: &dyn ReadBack = match &reads {
        Some(reads) => reads,
        None => &FromDisk,
    };
    let edited = edit_file(&call, &grounds, &settings, read_back, &CancellationToken::new());
    let misnumbered = matches!(&case.expected, Answer::Value(recorded) if is_misnumbered(recorded));
    let mut answer = match &edited {
        Ok(edited) => success(edited),
        Err(fault) => failure(fault, &file_before(case)),
    };
    if misnumbered && let Some(lines) = answer.remove("context_lines") {
        answer.insert(
            "context_misnumbered".into(),
            json!(lines_are_real(&file_before(case), &lines)),
        );
    }
    answer.insert("files_after".into(), files_below(&root, &root));
    Answer::value(Value::Object(answer))
}

fn success(edited: &Edited) -> Map<String, Value> {
    let mut answer = Map::new();
    let kind = match &edited.outcome {
        Outcome::Updated { .. } | Outcome::Unchanged { .. } => "updated",
        Outcome::Renamed { .. } => "renamed",
        Outcome::Deleted { .. } => "deleted",
    };
    answer.insert("ok".into(), json!(true));
    answer.insert("kind".into(), json!(kind));
    if let Outcome::Updated { line_count } | Outcome::Unchanged { line_count } = edited.outcome {
        answer.insert("line_count".into(), json!(line_count));
    }
    answer.insert("preview".into(), json!(edited.preview.is_some()));
    if let Some(preview) = &edited.preview {
        let block = |block: String| {
            if block.is_empty() {
                Value::Null
            } else {
                json!(block)
            }
        };
        let ranges = preview.ranges.iter();
        let ranges: Vec<Value> = ranges
            .map(|range| {
                json!([
                    range.old.start + 1,
                    range.old.end,
                    range.new.start + 1,
                    range.new.end
                ])
            })
            .collect();
        answer.insert("anchors_block".into(), block(peers_block(&preview.anchors)));
        answer.insert("diff_block".into(), block(peers_diff(&preview.diff)));
        answer.insert("ranges".into(), json!(ranges));
    }
    answer
}

fn failure(fault: &EditFault, before: &[u8]) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("ok".into(), json!(false));
    answer.insert("code".into(), json!(fault.code()));
    match fault {
        EditFault::Refused(error) => {
            let facts = facts_of(error, &Snapshot::of(before));
            answer.insert(
                "facts".into(),
                serde_json::from_str(&facts.to_text()).expect("JSON"),
            );
            if let EditError::Stale { context, .. } = error {
                let lines: Vec<String> = context.iter().map(|line| peers_block(line)).collect();
                answer.insert("context_lines".into(), json!(lines));
            }
        }
        EditFault::Unverified {
            difference,
            is_rolled_back,
            ..
        } => {
            let rollback = if *is_rolled_back { "restored" } else { "failed" };
            let facts = json!({
                "line": difference.line, "column": difference.column, "offset": difference.offset, "rollback": rollback,
            });
            answer.insert("facts".into(), facts);
        }
        _ => {}
    }
    answer
}

/// What the record says of an error, from ours.
pub fn facts_of(error: &EditError, file: &Snapshot<'_>) -> Json {
    let letters = |line: u64| peer_letters(line, &file.text(line as usize - 1));
    let facts = match error {
        EditError::NoAnchor { edit, op, .. } | EditError::UnknownOp { edit, op } => {
            json!({ "edit": edit, "op": op })
        }
        EditError::NoSuchAnchor { anchor, .. } => json!({ "anchor": anchor }),
        EditError::Backwards { start, end, .. } => json!({ "start": start, "end": end }),
        EditError::OutOfRange {
            anchor, file_lines, ..
        } => {
            json!({ "anchor": anchor.to_string(), "line": anchor.line, "file_lines": file_lines })
        }
        EditError::Stale { anchor, .. } => json!({
            "anchor": anchor.to_string(), "expected_cid": letters(anchor.line), "line": anchor.line,
            "got_cid": anchor.id.to_string(),
        }),
        EditError::Overlaps { overlap } if overlap.one.op.name() == "replace_text" => json!({
            "text_edit": overlap.one.edit, "text_lines": [overlap.one.first, overlap.one.last],
            "other_edit": overlap.other.edit, "other_op": overlap.other.op.name(),
            "other_lines": [overlap.other.first, overlap.other.last],
        }),
        EditError::Overlaps { overlap } => json!({
            "first_edit_1based": overlap.one.edit + 1, "first": [overlap.one.first, overlap.one.last],
            "second_edit_1based": overlap.other.edit + 1, "second": [overlap.other.first, overlap.other.last],
        }),
        EditError::NoText { edit } => json!({ "edit": edit, "reason": "empty" }),
        EditError::NoMatch { edit, .. } => json!({ "edit": edit, "reason": "absent" }),
        EditError::ManyMatches {
            edit,
            count,
            first_lines,
        } => json!({ "edit": edit, "count": count, "first_lines": first_lines }),
        EditError::AnchorInLines { line, text, .. } => {
            let kept = cut_units(text, 117);
            let rest = if kept.len() < text.len() { "…" } else { "" };
            json!({ "lines_index": line, "preview": format!("{kept}{rest}") })
        }
        EditError::TooLarge { bytes, .. } => json!({ "bytes": bytes }),
    };
    Json::from(&facts)
}

fn files_below(directory: &Path, root: &Path) -> Value {
    let mut files = Map::new();
    collect(directory, root, &mut files);
    Value::Object(files)
}

fn collect(directory: &Path, root: &Path, files: &mut Map<String, Value>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let metadata = path.symlink_metadata().expect("it is there");
        let name = path
            .strip_prefix(root)
            .expect("below")
            .to_string_lossy()
            .into_owned();
        if metadata.is_dir() {
            collect(&path, root, files);
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            files.insert(name, json!({ "link": target.to_string_lossy() }));
        } else {
            let (mode, nlink) = (format!("{:o}", metadata.mode() & 0o7777), metadata.nlink());
            let file = match String::from_utf8(fs::read(&path).expect("a file")) {
                Ok(text) => json!({ "text": text, "mode": mode, "nlink": nlink }),
                Err(error) => {
                    json!({ "b64": STANDARD.encode(error.into_bytes()), "mode": mode, "nlink": nlink })
                }
            };
            files.insert(name, file);
        }
    }
}

/// The whole file is shown by nobody: its last lines are. Errors of the system are said in words. What is numbered from 1
/// is not what stands there.
pub fn covered(recorded: &Json) -> Json {
    let Some(entries) = recorded.as_object() else {
        return recorded.clone();
    };
    let misnumbered = is_misnumbered(recorded);
    let facts = |facts: &Json| {
        let entries = facts.as_object().unwrap_or_default().iter();
        let entries = entries.filter(|(key, _)| !["shows_full_file", "os_code"].contains(&key.as_str()));
        Json::Object(entries.cloned().collect())
    };
    let kept = entries
        .iter()
        .filter(|(key, _)| !(misnumbered && key == "context_lines"));
    Json::Object(
        kept.map(|(key, value)| {
            (
                key.clone(),
                if key == "facts" {
                    facts(value)
                } else {
                    value.clone()
                },
            )
        })
        .collect(),
    )
}

fn is_misnumbered(recorded: &Json) -> bool {
    recorded.get("context_misnumbered") == Some(&Json::Bool(true))
}

/// Where the peer's lines are misnumbered, ours are those that stand in the file.
fn lines_are_real(before: &[u8], lines: &Value) -> bool {
    let file = Snapshot::of(before);
    let lines = lines.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_real = |line: &Value| {
        let (number, shown) = line.as_str()?.split_once('#')?;
        let number: u64 = number.parse().ok()?;
        let stands_there = file.text(number as usize - 1);
        Some(shown == format!("{}|{stands_there}", peer_letters(number, &stands_there)))
    };
    !lines.is_empty() && lines.iter().all(|line| is_real(line) == Some(true))
}
