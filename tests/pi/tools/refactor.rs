//! A refactor over forty files by a session in real Pi: searched and replaced by structure, then edited by anchors, while
//! the runtime is killed twice. What stands in the tree is what the results in Pi's session say.

use super::{calls, main_agent};
use crate::host::{PATIENCE, Stage, prompt, session_file};
use impresario_model_server::{Rule, Script, Turn};
use impresario_policies::anchored_edit::Anchor;
use impresario_policies::domain::FileState;
use impresario_test_support::limited::End;
use impresario_test_support::waiting::until;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};

const FILES: usize = 40;
/// So many of them are edited as well, all in one turn of the model.
const EDITED: usize = 12;
const FIRST_LINE: &str = "//! Says how old it is.";

fn path(file: usize) -> String {
    format!("src/part_{file:02}.rs")
}

fn text(file: usize, first: &str, name: &str) -> String {
    let bodies = (0..60).map(|at| format!("pub fn of_{file}_{at}() -> u32 {{\n    {name}({at})\n}}\n"));
    format!("{first}\n{}", bodies.collect::<String>())
}

fn old(file: usize) -> String {
    text(file, FIRST_LINE, "old_name")
}

fn first_line(file: usize) -> String {
    match file < EDITED {
        true => format!("//! Says how new {file} is."),
        false => FIRST_LINE.to_string(),
    }
}

fn replaced() -> Turn {
    let all = json!({"pattern": "old_name($A)", "rewrite": "new_name($A)", "lang": "rust", "dryRun": false});
    Turn::tool("ast_replace", all)
}

fn edited() -> Turn {
    let call = |file: usize| {
        let edit =
            json!({"op": "replace", "pos": Anchor::of(1, FIRST_LINE).to_string(), "lines": first_line(file)});
        json!({"filePath": path(file), "edits": [edit]})
    };
    (1..EDITED).fold(Turn::tool("hashline_edit", call(0)), |turn, file| {
        turn.and_tool("hashline_edit", call(file))
    })
}

fn turns() -> [Turn; 6] {
    [
        Turn::tool("ast_search", json!({"pattern": "old_name($A)", "lang": "rust"})),
        replaced(),
        replaced(),
        edited(),
        edited(),
        Turn::text("All of it is new."),
    ]
}

impl Stage {
    fn kill_the_runtime_when(&self, holds: impl Fn(&Self) -> bool) {
        until(|| holds(self), || "it did not begin".to_string());
        kill_process(self.runtime_pid(), Signal::KILL).expect("it was there");
    }

    fn tree(&self) -> BTreeMap<String, String> {
        let read = |file| fs::read_to_string(self.sandbox.work().join(path(file))).expect("a file");
        (0..FILES).map(|file| (path(file), read(file))).collect()
    }
}

/// Goes through the results in Pi's session: from what the files were to what they are. Files of calls that nobody heard
/// the end of may be either; what the next result says of them holds.
fn assert_tree_is_what_results_say(session: &str, tree: &BTreeMap<String, String>) {
    let hash = |text: &str| FileState::of(text.as_bytes()).sha256().map(str::to_string);
    let mut said: BTreeMap<String, Option<String>> =
        (0..FILES).map(|file| (path(file), hash(&old(file)))).collect();
    let mut unheard = Vec::new();
    let mut asked = BTreeMap::new();
    let records = session
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for message in records
        .map(|record| record["message"].clone())
        .filter(|message| !message.is_null())
    {
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "toolCall" {
                let file = block["arguments"]["filePath"].as_str().map(str::to_string);
                asked.insert(block["id"].to_string(), file);
            }
        }
        if message["role"] != "toolResult" {
            continue;
        }
        let text = message["content"][0]["text"].as_str().unwrap_or_default();
        if message["isError"] == true && text.contains("the runtime stopped") {
            match asked.get(&message["toolCallId"].to_string()).cloned().flatten() {
                Some(file) => unheard.push(file),
                None => unheard.extend((0..FILES).map(path)),
            }
        }
        for change in message["details"]["changed"].as_array().into_iter().flatten() {
            let file = change["path"].as_str().expect("a path").to_string();
            let before = change["before"].as_str().map(str::to_string);
            match unheard.iter().position(|other| *other == file) {
                Some(at) => drop(unheard.swap_remove(at)),
                None => assert_eq!(said.get(&file), Some(&before), "{file} before {text}"),
            }
            said.insert(file, change["after"].as_str().map(str::to_string));
        }
    }
    for (file, text) in tree {
        assert!(
            said.get(file) == Some(&hash(text)) || unheard.contains(file),
            "{file} is not what the results say"
        );
    }
}

#[test]
fn a_refactor_over_forty_files_survives_two_deaths_of_the_runtime() {
    for stage in Stage::both_with("a refactor over forty files", || main_agent(turns())) {
        for file in 0..FILES {
            stage.sandbox.write_work_file(&path(file), &old(file));
        }
        stage.configure(json!({"tools": {"session": ["hashline_edit", "ast_search", "ast_replace"]}}));
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Make all of it new.");
        let has = |stage: &Stage, what: &str| stage.tree().values().any(|text| text.contains(what));
        stage.kill_the_runtime_when(|stage| has(stage, "new_name"));
        stage.kill_the_runtime_when(|stage| has(stage, "how new"));
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");

        let tree = stage.tree();
        for file in 0..FILES {
            let new = text(file, &first_line(file), "new_name");
            assert!(
                tree[&path(file)] == new,
                "{}: {}",
                path(file),
                &tree[&path(file)][..80]
            );
        }
        let session = fs::read_to_string(session_file(&mut pi)).expect("the session");
        assert_tree_is_what_results_say(&session, &tree);
        let told = calls(&stage, "main agent")
            .last()
            .expect("a call")
            .body
            .to_string();
        assert!(
            told.contains("the runtime stopped"),
            "it was killed before it began"
        );
        let src = fs::read_dir(stage.sandbox.work().join("src")).expect("the directory");
        assert_eq!(src.count(), FILES, "nothing is left beside the files");
        stage.end(pi);
    }
}

impl Stage {
    /// The program on the command line, with a nested Pi.
    fn begin(&self, arguments: &[&str]) -> Child {
        let mut command = self.sandbox.command(&self.binary);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().expect("it starts")
    }

    fn newest(&self) -> String {
        self.runs()[0]["run"].as_str().expect("a run").to_string()
    }

    /// What a run changed, as its receipt says: the hash of each file.
    fn receipt(&self, run: &str) -> BTreeMap<String, Option<String>> {
        let shown = self.impresario(&["runs", "show", run, "--json"]).records();
        let changed = shown[0]["receipt"]["work"]["changed"].as_array().cloned();
        let changed = changed.unwrap_or_else(|| panic!("{shown:#?}"));
        let after = |file: &Value| file["after"]["sha256"].as_str().map(str::to_string);
        let path = |file: &Value| file["path"].as_str().expect("a path").to_string();
        changed.iter().map(|file| (path(file), after(file))).collect()
    }
}

fn hashes(tree: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let hash = |text: &String| FileState::of(text.as_bytes()).sha256().map(str::to_string);
    tree.iter()
        .map(|(path, text)| (path.clone(), hash(text)))
        .collect()
}

/// The program is killed with all that it does, and a person goes on with the run. Of an edit that nobody heard the end
/// of the receipt says what it left, too.
#[test]
fn a_sub_agents_refactor_is_killed_twice_and_its_receipts_are_the_tree() {
    let script = || {
        let agent = Rule::new("agent").user_contains("User Goal: ");
        let turns = turns().into_iter().skip(1);
        Script::new().rule(turns.fold(agent, Rule::turn))
    };
    for stage in Stage::both_with("a sub-agent's refactor", script) {
        for file in 0..FILES {
            stage.sandbox.write_work_file(&path(file), &old(file));
        }
        let scribe =
            "---\nname: scribe\ndescription: Writes.\ntools: read, ast_replace, hashline_edit\n---\nWrite.\n";
        stage.sandbox.write_work_file(".pi/agents/scribe.md", scribe);
        let has = |what: &str| stage.tree().values().any(|text| text.contains(what));

        let first = [
            "run",
            "--trust",
            "--runner",
            "pi",
            "--model",
            "mock/mock-1",
            "scribe",
            "make it new",
        ];
        let mut program = stage.begin(&first);
        until(|| has("new_name"), || "nothing is replaced".to_string());
        program.kill().expect("it was there");
        program.wait().expect("it ended");
        let killed = stage.newest();

        let mut program = stage.begin(&["runs", "resume", &killed]);
        until(|| has("how new"), || "nothing is edited".to_string());
        program.kill().expect("it was there");
        program.wait().expect("it ended");
        let (killed, left) = (stage.newest(), stage.tree());

        let ended = stage.impresario(&["runs", "resume", &killed]);
        assert_eq!(ended.end, End::Exited(0), "{}", ended.stderr);
        assert_eq!(stage.receipt(&killed), hashes(&left), "what the killed run left");
        let tree = stage.tree();
        for file in 0..FILES {
            let new = text(file, &first_line(file), "new_name");
            assert!(
                tree[&path(file)] == new,
                "{}: {}",
                path(file),
                &tree[&path(file)][..80]
            );
        }
        assert_eq!(stage.receipt(&stage.newest()), hashes(&tree), "what is there now");
        stage.nothing_is_left();
    }
}
