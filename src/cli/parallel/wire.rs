//! The file of sub-tasks that a person or a program writes, and what `--json` prints of a group.

use super::super::wire::{EventLine, json_line};
use crate::runtime::{Group, GroupOutcome, MemberProjection, RunEvent, RunId};
use impresario_policies::domain::Subtask;
use impresario_policies::parallel::SUBTASKS_MAX;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// An id has at most so many characters: it stands in headings and on every line of progress.
const ID_CHARACTERS_MAX: usize = 100;

/// One sub-task as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    id: String,
    goal: String,
    scope: Option<String>,
    #[serde(default)]
    retrieval_hints: Vec<String>,
    #[serde(alias = "outputSchema")]
    output_format: Option<String>,
    max_output_chars: Option<u32>,
}

/// What in the file cannot be meant, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubtasksError {
    line: usize,
    /// From 1.
    subtask: Option<usize>,
    field: Option<String>,
    why: String,
}

impl fmt::Display for SubtasksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(subtask) = self.subtask {
            write!(f, ", sub-task {subtask}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// Reads a list of sub-tasks.
pub(super) fn read_subtasks(text: &str) -> Result<Vec<Subtask>, SubtasksError> {
    let text = text.trim_start_matches('\u{feff}');
    let listed = serde_json::from_str::<Vec<&RawValue>>(text).map_err(|error| SubtasksError {
        line: error.line().max(1),
        subtask: None,
        field: None,
        why: format!(
            "expected a list of sub-tasks, as [{{\"id\": \"…\", \"goal\": \"…\"}}] ({})",
            without_place(&error)
        ),
    })?;
    if listed.len() > SUBTASKS_MAX {
        return Err(SubtasksError {
            line: 1,
            subtask: None,
            field: None,
            why: format!("expected at most {SUBTASKS_MAX} sub-tasks, got {}", listed.len()),
        });
    }
    let mut places = BTreeMap::new();
    let mut subtasks = Vec::new();
    for (number, raw) in (1..).zip(listed) {
        let begins = line_of(text, raw.get());
        let subtask = read_subtask(raw.get(), begins, number)?;
        let of_id = |why| SubtasksError {
            line: begins,
            subtask: Some(number),
            field: Some("id".to_string()),
            why,
        };
        if let Some(why) = why_no_id(&subtask.id) {
            return Err(of_id(why.to_string()));
        }
        if let Some(first) = places.insert(subtask.id.clone(), number) {
            return Err(of_id(format!(
                "{:?} is the id of sub-task {first} already",
                subtask.id
            )));
        }
        subtasks.push(subtask);
    }
    Ok(subtasks)
}

fn read_subtask(text: &str, begins: usize, number: usize) -> Result<Subtask, SubtasksError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let written: Written = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        SubtasksError {
            line: begins + error.inner().line().saturating_sub(1),
            subtask: Some(number),
            field: (path != ".").then_some(path),
            why: without_place(error.inner()),
        }
    })?;
    if written.goal.trim().is_empty() {
        return Err(SubtasksError {
            line: begins,
            subtask: Some(number),
            field: Some("goal".to_string()),
            why: "expected what is to be reached, got a blank text".to_string(),
        });
    }
    Ok(Subtask {
        id: written.id,
        goal: written.goal,
        scope: written.scope,
        retrieval_hints: written.retrieval_hints,
        output_schema: written.output_format,
        output_units_max: written.max_output_chars.map(i64::from),
    })
}

fn why_no_id(id: &str) -> Option<&'static str> {
    if id.trim().is_empty() {
        Some("expected a name for the sub-task, got a blank text")
    } else if id.chars().count() > ID_CHARACTERS_MAX {
        Some("expected at most 100 characters")
    } else if id.chars().any(char::is_control) {
        Some("expected one line without control characters")
    } else {
        None
    }
}

/// The line on which `part`, a slice of `whole`, begins; from 1.
fn line_of(whole: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    let before = whole.as_bytes().get(..offset).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The reason; the line is told by us, counted from the beginning of the file.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((why, _)) => why.to_string(),
        None => text,
    }
}

/// The first line: which run has which sub-task.
pub(super) fn started_line(group: &Group, ids: &[String]) -> String {
    let members = ids.iter().zip(group.runs());
    let members = members.map(|(id, run)| json!({ "id": id, "run": run.id() }));
    json!({ "type": "group_started", "group": group.id(), "members": members.collect::<Vec<_>>() })
        .to_string()
}

/// A step of one of the runs.
pub(super) fn event_line(run: &RunId, event: &RunEvent, subtask: &str) -> String {
    json_line(&EventLine::of(run, event).with("subtask", json!(subtask)))
}

/// The last line: what came of it.
pub(super) fn ended_line(outcome: &GroupOutcome) -> String {
    json!({
        "type": "group_ended",
        "group": outcome.group,
        "state": outcome.state,
        "members": outcome.members.iter().map(member).collect::<Vec<_>>(),
        "text": outcome.text,
    })
    .to_string()
}

fn member(member: &MemberProjection) -> Value {
    let result = member.result.as_ref();
    let worker = result.map(|result| &result.worker);
    json!({
        "id": member.member.subtask.id,
        "goal": member.member.subtask.goal,
        "run": member.run,
        "state": member.state,
        "stopped_reason": worker.map(|worker| &worker.stopped_reason),
        "truncated": worker.map(|worker| worker.truncated),
        "text": worker.map(|worker| &worker.text),
        "error": worker.and_then(|worker| worker.error.as_ref()),
        "reason": result.and_then(|result| result.reason.as_ref()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said = read_subtasks(text).map_err(|error| error.to_string());
        assert_eq!(said, Err(expected.to_string()));
    }

    #[test]
    fn every_field_is_read() {
        let text = r#"[{"id": "a", "goal": "g", "scope": "src", "retrievalHints": ["h"], "outputFormat": "list",
            "maxOutputChars": 0}, {"id": "b", "goal": "g"}]"#;
        let first = Subtask {
            scope: Some("src".into()),
            retrieval_hints: vec!["h".into()],
            output_schema: Some("list".into()),
            output_units_max: Some(0),
            ..Subtask::new("a", "g")
        };
        assert_eq!(read_subtasks(text), Ok(vec![first, Subtask::new("b", "g")]));
        assert_eq!(read_subtasks("\u{feff} []"), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_meant_is_told_with_its_line_and_field() {
        check(
            "[\n  {\"id\": \"a\", \"goal\": \"g\"},\n  {\"id\": \"b\",\n   \"goal\": 7}\n]",
            "line 4, sub-task 2, goal: invalid type: integer `7`, expected a string",
        );
        check(
            "[{\"id\": \"a\", \"goal\": \"g\",\n\"retrievalHints\": [\"h\", null]}]",
            "line 2, sub-task 1, retrievalHints[1]: invalid type: null, expected a string",
        );
        check(
            "[{\"id\": \"a\", \"goal\": \"g\", \"aim\": \"x\"}]",
            "line 1, sub-task 1, aim: unknown field `aim`, expected one of `id`, `goal`, `scope`, `retrievalHints`, \
             `outputFormat`, `outputSchema`, `maxOutputChars`",
        );
        check(
            "[\n{\"id\": \"a\", \"goal\": \"g\"},\n{\"id\": \"a\", \"goal\": \"g\"}]",
            "line 3, sub-task 2, id: \"a\" is the id of sub-task 1 already",
        );
        check(
            "[{\"id\": \" \", \"goal\": \"g\"}]",
            "line 1, sub-task 1, id: expected a name for the sub-task, got a blank text",
        );
        check(
            "[{\"id\": \"a\", \"goal\": \"\"}]",
            "line 1, sub-task 1, goal: expected what is to be reached, got a blank text",
        );
        check(
            "{\"id\": \"a\"}",
            "line 1: expected a list of sub-tasks, as [{\"id\": \"…\", \"goal\": \"…\"}] (invalid type: map, expected a \
             sequence)",
        );
    }
}
