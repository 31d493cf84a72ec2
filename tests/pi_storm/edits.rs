//! What sub-agents edit while a storm goes on: each file is old or new at its end, and what the journal says of it holds.

use crate::host::Stage;
use crate::storm::{Kind, Storm, Work};
use impresario::chaos::JournalRow;
use impresario_model_server::Turn;
use impresario_policies::domain::FileState;
use serde_json::{Value, json};
use std::fs;

const BEFORE: &str = "how it was";
const AFTER: &str = "how it is";
/// So many lines on each side of the one that changes: writing them takes long enough to be killed at.
const LINES: usize = 20_000;

/// What the agent that is asked has, so that it can edit.
pub const TOOLS: [&str; 3] = ["read", "bash", "hashline_edit"];

/// What this call of the sub-agent edits.
fn file(child: usize, place: usize) -> String {
    format!("edited-{child}-{place}.txt")
}

fn text(middle: &str) -> String {
    let side = "a line that stays as it is\n".repeat(LINES);
    format!("{side}{middle}\n{side}")
}

pub fn edit(child: usize, place: usize) -> Turn {
    let edit = json!({"op": "replace_text", "oldText": BEFORE, "newText": AFTER});
    Turn::tool(
        "hashline_edit",
        json!({"filePath": file(child, place), "edits": [edit]}),
    )
}

impl Storm {
    fn edited(&self) -> impl Iterator<Item = String> {
        let works = self.children.iter().enumerate();
        works.flat_map(|(child, works)| {
            let edits = works.iter().enumerate().filter(|(_, work)| **work == Work::Edit);
            edits.map(move |(place, _)| file(child, place))
        })
    }
}

impl Kind {
    /// A skill has the tools of its own agent.
    pub fn may_edit(self) -> bool {
        !self.is_of_a_person()
    }
}

pub fn write_what_is_edited(storm: &Storm, stage: &Stage) {
    for file in storm.edited() {
        stage.sandbox.write_work_file(&file, &text(BEFORE));
    }
}

pub fn check_edits(storm: &Storm, stage: &Stage, rows: &[JournalRow]) {
    for file in storm.edited() {
        let found = fs::read_to_string(stage.sandbox.work().join(&file)).expect("nobody took it away");
        let is_new = found == text(AFTER);
        assert!(is_new || found == text(BEFORE), "{file} is half of something");
        let is_certain = storm.kill.is_none() && !storm.is_capped();
        assert!(
            is_new || !is_certain,
            "{file} was never edited: {:#?}",
            results_of(stage, &file)
        );
        let is_about = |row: &&JournalRow| {
            let said = row.step["summary"].as_str();
            row.step["step"] == "tool_started" && said.is_some_and(|said| said.contains(&file))
        };
        let started = rows.iter().filter(is_about).collect::<Vec<_>>();
        assert!(!is_new || !started.is_empty(), "{file} is new, and nobody began");
        for end in started.iter().filter_map(|start| end_of(start, rows)) {
            if end["is_error"] == false {
                assert!(is_new, "{file} is old, and was edited: {end}");
                assert_eq!(left_by(end, &file), hash(&found), "{end}");
            }
        }
    }
}

/// What the model was told last where it ordered the edit.
fn results_of(stage: &Stage, file: &str) -> Vec<String> {
    let calls = stage.server.ledger().calls().into_iter();
    let said = calls.filter_map(|call| Some(call.body["messages"].as_array()?.last()?.to_string()));
    said.filter(|said| said.contains(file) || said.contains("hashline"))
        .collect()
}

fn end_of<'a>(start: &JournalRow, rows: &'a [JournalRow]) -> Option<&'a Value> {
    let is_its = |row: &&JournalRow| {
        let same = |field: &str| row.step[field] == start.step[field];
        row.run == start.run && row.step["step"] == "tool_ended" && same("attempt") && same("call")
    };
    rows.iter().find(is_its).map(|row| &row.step)
}

/// What the receipt says that the call left of the file.
fn left_by(end: &Value, file: &str) -> Option<String> {
    let changed = end["evidence"]["changed"].as_array()?;
    let change = changed.iter().find(|change| change["path"] == file)?;
    change["after"]["sha256"].as_str().map(str::to_string)
}

fn hash(text: &str) -> Option<String> {
    FileState::of(text.as_bytes()).sha256().map(str::to_string)
}
