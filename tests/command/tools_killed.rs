//! The program is killed again and again while a sub-agent replaces and edits: no file is half, and what is there is what
//! the receipts say.

use crate::place::{PROGRAM, Place, Said, until};
use impresario_model_server::{ModelServer, Rule, Script, Turn};
use impresario_policies::anchored_edit::Anchor;
use impresario_policies::domain::FileState;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const ROUNDS: u64 = 24;
const FILES: usize = 12;
const FIRST_LINE: &str = "//! Old.";

fn text(first: &str, name: &str) -> String {
    let body = |at| format!("pub fn f_{at}() {{\n    {name}({at});\n}}\n");
    format!("{first}\n{}", (0..40).map(body).collect::<String>())
}

fn path(file: usize) -> String {
    format!("src/part_{file:02}.rs")
}

/// What any file may be at any moment.
fn whole() -> [String; 4] {
    [
        text(FIRST_LINE, "old_name"),
        text(FIRST_LINE, "new_name"),
        text("//! New.", "old_name"),
        text("//! New.", "new_name"),
    ]
}

/// Replaces in all files, then edits all of them at once, and does both again in case that it was cut off.
fn script() -> Script {
    let replace = Turn::tool(
        "ast_replace",
        json!({"pattern": "old_name($A)", "rewrite": "new_name($A)", "lang": "rust", "dryRun": false}),
    );
    let edit = |file| {
        let edit =
            json!({"op": "replace", "pos": Anchor::of(1, FIRST_LINE).to_string(), "lines": "//! New."});
        json!({"filePath": path(file), "edits": [edit]})
    };
    let edits = (1..FILES).fold(Turn::tool("hashline_edit", edit(0)), |turn, file| {
        turn.and_tool("hashline_edit", edit(file))
    });
    let turns = [
        replace.clone(),
        edits.clone(),
        replace,
        edits,
        Turn::text("All is new."),
    ];
    let rule = turns.into_iter().fold(Rule::new("scribe"), Rule::turn);
    Script::new().rule(rule.by_conversation().repeat())
}

fn tree(workspace: &Path) -> BTreeMap<String, String> {
    let read = |file| fs::read_to_string(workspace.join(path(file))).expect("a file is there at any moment");
    (0..FILES).map(|file| (path(file), read(file))).collect()
}

fn hash(text: &str) -> Option<String> {
    FileState::of(text.as_bytes()).sha256().map(str::to_string)
}

/// What a run changed, as its receipt says; the hash is none where it says that nobody knows.
fn receipt(place: &Place, run: &str) -> Vec<(String, Option<String>)> {
    let shown = Said::of(place.impresario(&["runs", "show", run, "--json"])).json_lines();
    let changed = shown[0]["receipt"]["work"]["changed"].as_array().cloned();
    let text = |value: &Value| value.as_str().map(str::to_string);
    changed
        .unwrap_or_default()
        .iter()
        .map(|file| {
            (
                text(&file["path"]).expect("a path"),
                text(&file["after"]["sha256"]),
            )
        })
        .collect()
}

fn newest(place: &Place) -> Option<String> {
    let runs = Said::of(place.impresario(&["runs", "--json"])).json_lines();
    runs.first()
        .map(|run| run["run"].as_str().expect("a run").to_string())
}

#[test]
fn a_program_that_is_killed_while_it_edits_leaves_files_old_or_new_and_receipts_that_are_true() {
    let mut cut_off = 0;
    for round in 0..ROUNDS {
        let place = Place::new();
        let workspace = place.workspace().canonicalize().expect("its real place");
        for file in 0..FILES {
            fs::write(workspace.join(path(file)), text(FIRST_LINE, "old_name")).expect("a file");
        }
        let agent = workspace.join(".pi/agents/scribe.md");
        fs::create_dir_all(agent.parent().expect("a directory")).expect("a directory");
        let tools =
            "---\nname: scribe\ndescription: Writes.\ntools: read, ast_replace, hashline_edit\n---\nWrite.\n";
        fs::write(agent, tools).expect("an agent");
        let server = ModelServer::start_blocking(script()).expect("a server");
        let command = |arguments: &[&str]| -> Command {
            let mut command = place.impresario(arguments);
            let url = format!("http://127.0.0.1:{}/v1", server.port());
            command.env("OPENAI_API_KEY", "key-of-the-test-0123456789");
            command.env("OPENAI_BASE_URL", url);
            command
        };
        let run = ["run", "--model", "openai/mock-2", "scribe", "make it new"];
        let mut program = command(&run)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // In turns, from when the model says what to replace and from when it says what to edit.
        let calls = 1 + round as usize % 2;
        until("nobody asked the model", || {
            server.ledger().calls().len() >= calls
        });
        sleep(Duration::from_millis(round * 6));
        program.kill().expect("it was there, or has ended");
        program.wait().expect("it ended");

        let left = tree(&workspace);
        for (file, text) in &left {
            assert!(whole().contains(text), "round {round}: {file} is half: {text}");
        }
        let killed = newest(&place).expect("a run");
        let resumed = Said::of(command(&["runs", "resume", &killed]));
        let was_over = resumed.code != Some(0);
        for (file, after) in receipt(&place, &killed) {
            assert_eq!(
                after,
                hash(&left[&file]),
                "round {round}: {file} in the receipt of {killed}"
            );
            cut_off += usize::from(!was_over);
        }
        let now = tree(&workspace);
        for (file, text) in &now {
            assert_eq!(text, &whole()[3], "round {round}: {file}; {}", resumed.stderr);
        }
        let last = receipt(&place, &newest(&place).expect("a run"));
        let said: Vec<_> = now
            .iter()
            .map(|(file, text)| (file.clone(), hash(text)))
            .collect();
        assert_eq!(last, said, "round {round}");
        let there = fs::read_dir(workspace.join("src")).expect("a directory").count();
        assert_eq!(
            there,
            FILES + 2,
            "round {round}: something is left beside the files"
        );
    }
    assert!(cut_off > 0, "{PROGRAM} was never killed between two edits");
}
