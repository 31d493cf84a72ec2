//! Anchors and what is shown with them. An id of ours is written as the peer's of the same line before both are
//! compared: what it is an id of is the same, only its letters are others.

use super::hashline_stage::facts_of;
use super::{object, only, optional, text, texts};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::anchored_edit::{
    Anchor, Edit, EditLines, EditOp, GivenEdit, Snapshot, Window, anchored_reading, anchored_text,
    bounded_error, change_preview, find_text, first_difference, line_id, lines_around, named_lines,
    peer_line_id, replace_overlap, text_overlap,
};
use impresario_policies::compat::units;
use serde_json::{Value, json};

/// The peer's letters of a line.
pub fn peer_letters(number: u64, line: &str) -> String {
    peer_line_id(number, line).map(char::from).iter().collect()
}

/// A line with an anchor of ours as it is with the peer's: `12#KXVTB|text`, behind `before` and with `gap` after the bar.
fn with_peers_anchor(line: &str, before: &str, gap: &str) -> String {
    let parts = || -> Option<String> {
        let (anchor, text) = line.strip_prefix(before)?.split_once('|')?;
        let text = text.strip_prefix(gap)?;
        let anchor = Anchor::read(anchor)?;
        (anchor.to_string() == format!("{}#{}", anchor.line, line_id(anchor.line, text))).then(|| {
            format!(
                "{before}{}#{}|{gap}{text}",
                anchor.line,
                peer_letters(anchor.line, text)
            )
        })
    };
    parts().unwrap_or_else(|| line.to_string())
}

pub fn peers_block(block: &str) -> String {
    block
        .split('\n')
        .map(|line| with_peers_anchor(line, "", ""))
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn peers_diff(block: &str) -> String {
    block
        .split('\n')
        .map(|line| with_peers_anchor(line, "+ ", " "))
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn cid(case: &Case) -> Answer {
    Answer::value(json!({ "cid": peer_letters(case.count("line") as u64, case.text("content")) }))
}

pub fn annotate(case: &Case) -> Answer {
    Answer::value(json!(peers_block(&anchored_text(case.text("text"), 1))))
}

/// What reaches a session: only what `read` read and no error.
pub fn read_event(case: &Case) -> Answer {
    let event = case.get("event");
    let (tool, failed) = (
        text(event, "toolName"),
        event.get("isError") == Some(&Json::Bool(true)),
    );
    let blocks = event.get("content").and_then(Json::as_array).unwrap_or_default();
    let offset = event
        .get("input")
        .and_then(|input| input.get("offset"))
        .and_then(Json::as_number);
    let mut rewritten = false;
    let mut shown = |block: &Json| {
        let text = block.get("text").and_then(Json::as_str)?;
        let anchored = anchored_reading(&tool, failed, offset, text).filter(|_| case.flag("enabled"))?;
        rewritten = true;
        Some(json!({ "type": "text", "text": peers_block(&anchored) }))
    };
    let as_it_is = |block: &Json| serde_json::from_str(&block.to_text()).expect("JSON");
    let content: Vec<Value> = blocks
        .iter()
        .map(|block| shown(block).unwrap_or_else(|| as_it_is(block)))
        .collect();
    match rewritten {
        true => Answer::value(json!({ "rewritten": true, "content": content })),
        false => Answer::value(json!({ "rewritten": false })),
    }
}

pub fn parse_anchor(case: &Case) -> Answer {
    match Anchor::read(case.text("anchor")) {
        None => Answer::Value(Json::Null),
        Some(anchor) => Answer::value(json!({ "line": anchor.line, "cid": anchor.id.to_string() })),
    }
}

pub fn text_match(case: &Case) -> Answer {
    let haystack = case.text("haystack");
    let found = find_text(
        haystack.as_bytes(),
        case.text("needle").as_bytes(),
        case.count("limit"),
    );
    let line = |at: &usize| {
        haystack.as_bytes()[..*at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    };
    let lines: Vec<usize> = found.first.iter().map(line).collect();
    Answer::value(json!({ "count": found.count, "lines": lines }))
}

/// An edit as it stands in a record.
pub fn given_edit(edit: &Json) -> GivenEdit {
    let lines = match edit.get("lines") {
        Some(Json::String(line)) => Some(vec![line.clone()]),
        Some(Json::Array(_)) => Some(texts(edit, "lines")),
        _ => None,
    };
    GivenEdit {
        op: text(edit, "op"),
        pos: optional(edit, "pos"),
        end: optional(edit, "end"),
        lines,
        old_text: optional(edit, "oldText"),
        new_text: optional(edit, "newText"),
    }
}

pub fn overlap(case: &Case) -> Answer {
    let given: Vec<GivenEdit> = case.list("edits").iter().map(given_edit).collect();
    let edits: Vec<Edit<'_>> = given
        .iter()
        .enumerate()
        .filter_map(|(at, given)| Edit::read(given, at).ok())
        .collect();
    let file = case.texts("lines").join("\n");
    let (texts, others): (Vec<&Edit<'_>>, Vec<&Edit<'_>>) =
        edits.iter().partition(|edit| edit.op == EditOp::ReplaceText);
    let line = |at: usize| file[..at].matches('\n').count() as u64 + 1;
    let texts = texts.iter().filter_map(|edit| {
        let old = given[edit.index].old_text.as_deref()?;
        let at = *find_text(file.as_bytes(), old.as_bytes(), 1).first.first()?;
        Some(EditLines {
            edit: edit.index,
            op: edit.op,
            first: line(at),
            last: line(at + old.len() - 1),
        })
    });
    let (texts, others): (Vec<EditLines>, Vec<EditLines>) = (
        texts.collect(),
        others.iter().filter_map(|edit| named_lines(edit)).collect(),
    );
    let of_text = text_overlap(&texts, &others).map(|found| {
        json!({
            "text": { "index": found.one.edit, "start": found.one.first, "end": found.one.last },
            "other": {
                "index": found.other.edit, "op": found.other.op.name(),
                "start": found.other.first, "end": found.other.last,
            },
        })
    });
    let side = |lines: &EditLines| json!({ "edit": lines.edit + 1, "start": lines.first, "end": lines.last });
    let of_replaces = replace_overlap(&others)
        .map(|found| json!({ "first": side(&found.one), "second": side(&found.other) }));
    Answer::value(json!({ "replace_overlap": of_replaces, "text_overlap": of_text }))
}

pub fn normalize_op(case: &Case) -> Answer {
    let edit = case.get("edit");
    let given = given_edit(edit);
    match Edit::read(&given, case.count("index")) {
        Err(error) => Answer::value(json!({ "error_code": error.code() })),
        Ok(read) => {
            let mut entries = vec![("op", Json::String(read.op.name().to_string()))];
            let kept = ["pos", "end"]
                .into_iter()
                .filter_map(|key| Some((key, edit.get(key)?.clone())));
            entries.extend(kept);
            Answer::Value(object(entries))
        }
    }
}

pub fn strict_lines(case: &Case) -> Answer {
    let given = GivenEdit {
        op: "append".into(),
        ..given_edit(&case.input)
    };
    let edit = Edit::read(&given, 0).expect("an edit");
    match edit.new_lines(case.flag("strict")) {
        Ok(_) if given.lines.is_none() => Answer::value(json!({ "lines": null })),
        Ok(lines) => Answer::value(json!({ "lines": lines })),
        Err(error) => {
            let index = facts_of(&error, &Snapshot::of(b"")).get("lines_index").cloned();
            Answer::Value(object(vec![
                ("error_code", Json::String(error.code().to_string())),
                ("index", index.unwrap_or(Json::Null)),
            ]))
        }
    }
}

pub fn diff_preview(case: &Case) -> Answer {
    let (old, new) = (case.texts("old_lines"), case.texts("new_lines"));
    let file = |lines: &[String]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    let (before, after) = (file(&old), file(&new));
    let (before, after) = (Snapshot::of(before.as_bytes()), Snapshot::of(after.as_bytes()));
    let all = Window {
        old: 0..old.len(),
        new: 0..new.len(),
    };
    let preview = change_preview(&before, &after, &[all]);
    let counted = |lines: &[String]| match lines.len() {
        ..=60 => json!(lines),
        count => json!({ "$count": count }),
    };
    let ranges = preview.ranges.iter().map(|range| {
        json!({
            "old_start": range.old.start + 1, "old_end": range.old.end,
            "new_start": range.new.start + 1, "new_end": range.new.end,
            "old_lines": counted(&old[range.old.clone()]), "new_lines": counted(&new[range.new.clone()]),
        })
    });
    let ranges: Vec<Value> = ranges.collect();
    Answer::value(json!({
        "ranges": ranges,
        "anchors_block": peers_block(&preview.anchors),
        "diff_block": peers_diff(&preview.diff),
    }))
}

pub fn context_window(case: &Case) -> Answer {
    let file = case.texts("lines").join("\n");
    let lines = lines_around(
        &Snapshot::of(file.as_bytes()),
        case.count("center"),
        case.count("radius"),
    );
    Answer::value(json!(peers_block(&lines.join("\n"))))
}

pub fn verify(case: &Case) -> Answer {
    let (intended, actual) = (case.text("intended"), case.text("actual"));
    match first_difference(intended.as_bytes(), actual.as_bytes()) {
        None => Answer::value(json!({ "ok": true })),
        Some(difference) => Answer::value(json!({
            "ok": false,
            "line": difference.line,
            "column": difference.column,
            "utf16_offset": difference.offset,
            "intended_window_json": json!(difference.intended).to_string(),
            "actual_window_json": json!(difference.actual).to_string(),
            "intended_len": units(intended),
            "actual_len": units(actual),
        })),
    }
}

pub fn error_result(case: &Case) -> Answer {
    let error = case.text("error");
    let bounded = bounded_error(error);
    let kept = error
        .chars()
        .zip(bounded.chars())
        .take_while(|(one, other)| one == other);
    let kept: usize = kept.map(|(letter, _)| letter.len_utf16()).sum();
    Answer::value(json!({
        "compacted": bounded != error,
        "compact_utf16_len": units(&bounded),
        "kept_prefix_utf16_len": kept,
        "full_len": units(error),
    }))
}

/// The line that stands for an error on the screen is drawn by the host from the error itself.
pub fn error_covered(recorded: &Json) -> Json {
    only(
        recorded,
        &[
            "compacted",
            "compact_utf16_len",
            "kept_prefix_utf16_len",
            "full_len",
        ],
    )
}

/// Lines that were copied with their anchors, where that is not refused.
pub fn strip_anchors(case: &Case) -> Answer {
    let given = GivenEdit {
        op: "append".into(),
        lines: Some(case.text("text").split('\n').map(str::to_string).collect()),
        ..GivenEdit::default()
    };
    let lines = Edit::read(&given, 0)
        .and_then(|edit| edit.new_lines(false))
        .expect("lines");
    Answer::value(json!(lines.join("\n")))
}
