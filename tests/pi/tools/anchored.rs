//! What Pi's `read` shows has an anchor before each line, where the model edits by anchors.

use super::{calls, main_agent, told};
use crate::agents::delegating;
use crate::host::{Stage, session_file, talk};
use impresario_model_server::Turn;
use impresario_policies::anchored_edit::Anchor;
use impresario_policies::domain::FileState;
use serde_json::{Value, json};
use std::fs;

const NOTES: &str = "one\ntwo\nthree\n";

fn anchored(line: u64, text: &str) -> String {
    format!("{}|{text}", Anchor::of(line, text))
}

fn reading(offset: Option<u64>) -> Turn {
    Turn::tool("read", json!({ "path": "notes.txt", "offset": offset }))
}

/// Reads the end of a file, and changes its second line by what it was shown.
fn turns() -> [Turn; 3] {
    let edits = json!([{"op": "replace", "pos": Anchor::of(2, "two").to_string(), "lines": ["zwei"]}]);
    [
        Turn::tool("read", json!({ "path": "notes.txt", "offset": 2 })),
        Turn::tool(
            "hashline_edit",
            json!({ "filePath": "notes.txt", "edits": edits }),
        ),
        Turn::text("Done."),
    ]
}

fn assert_edited(stage: &Stage, rule: &str) {
    let asked = calls(stage, rule);
    let shown = told(&asked[1]);
    assert!(
        shown.starts_with(&format!("{}\n{}", anchored(2, "two"), anchored(3, "three"))),
        "{shown}"
    );
    assert!(!shown.contains("|one"), "{shown}");
    assert!(
        told(&asked[2]).contains(&anchored(2, "zwei")),
        "{}",
        told(&asked[2])
    );
    let notes = fs::read_to_string(stage.sandbox.work().join("notes.txt")).expect("the notes");
    assert_eq!(notes, "one\nzwei\nthree\n");
}

#[test]
fn a_session_in_pi_reads_anchors_and_edits_by_them() {
    for stage in Stage::both_with("anchored reading", || main_agent(turns())) {
        stage.sandbox.write_work_file("notes.txt", NOTES);
        stage.configure(json!({"tools": {"session": ["hashline_edit"]}}));
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Change the second line.");
        assert_edited(&stage, "main agent");
        // What the call changed stands beside its result in Pi's own session.
        let session = fs::read_to_string(session_file(&mut pi)).expect("the session");
        let edit = session
            .lines()
            .find(|line| line.contains("\"toolName\":\"hashline_edit\""));
        let edit: Value = serde_json::from_str(edit.expect("the result of the edit")).expect("JSON");
        let changed = &edit["message"]["details"]["changed"];
        assert_eq!(changed[0]["path"], "notes.txt", "{edit}");
        assert_ne!(changed[0]["before"], changed[0]["after"], "{edit}");
        stage.end(pi);
    }
}

/// Several files that one call changed are all in the receipt, and nothing else may have changed.
#[test]
fn a_nested_pi_reads_anchors_and_its_receipt_names_all_that_it_changed() {
    let script = || {
        let [read, edit, done] = turns();
        let replace =
            json!({"pattern": "old_name()", "rewrite": "new_name()", "lang": "rust", "dryRun": false});
        let turns = [read, edit, Turn::tool("ast_replace", replace), done];
        delegating(Turn::tool("delegate_general", json!({"task": "zwei"})), turns)
    };
    for stage in Stage::both_with("anchored reading below", script) {
        stage.sandbox.write_work_file("notes.txt", NOTES);
        for file in ["src/a.rs", "src/b.rs"] {
            stage
                .sandbox
                .write_work_file(file, "fn main() {\n    old_name();\n}\n");
        }
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Now, please.");
        assert_edited(&stage, "agent");
        let run = stage.runs()[0]["run"].as_str().expect("a run").to_string();
        let shown = stage.impresario(&["runs", "show", &run, "--json"]).records();
        let work = &shown[0]["receipt"]["work"];
        let changed = work["changed"].as_array().unwrap_or_else(|| panic!("{shown:#?}"));
        let paths: Vec<_> = changed
            .iter()
            .map(|file| file["path"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(paths, ["notes.txt", "src/a.rs", "src/b.rs"], "{work:#}");
        for file in changed {
            let path = stage.sandbox.work().join(file["path"].as_str().expect("a path"));
            let FileState::Hashed { sha256, bytes } = FileState::of(&fs::read(path).expect("the file"))
            else {
                unreachable!("it was read");
            };
            assert_eq!(
                file["after"],
                json!({"is": "hashed", "sha256": sha256, "bytes": bytes}),
                "{work:#}"
            );
            assert_ne!(file["before"], file["after"]);
        }
        assert_eq!(work["may_have_changed_more"], false, "{work:#}");
        stage.end(pi);
    }
}

/// Nobody who cannot edit by anchors is shown any.
#[test]
fn lines_have_no_anchors_where_nobody_edits_by_them() {
    let script = || main_agent([reading(None), Turn::text("Read.")]);
    for (settings, what) in [
        (json!({}), "nobody wished"),
        (
            json!({"tools": {"session": ["hashline_edit"]}, "agents": {"disabledTools": ["hashline_edit"]}}),
            "taken away",
        ),
    ] {
        for stage in Stage::both_with(what, script) {
            stage.sandbox.write_work_file("notes.txt", NOTES);
            stage.configure(settings.clone());
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "Read it.");
            assert_eq!(told(&calls(&stage, "main agent")[1]).trim_end(), NOTES.trim_end());
            stage.end(pi);
        }
    }
}
