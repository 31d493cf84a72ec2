//! `impresario mcp --tools`: what changes files, for other hosts.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The program at work, spoken to in lines.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    asked: u64,
}

impl Server {
    fn start(workspace: &Path, state: &Path) -> Self {
        Self::with("ast_search,ast_replace,look_at", workspace, state, state)
    }

    /// With these tools, and the settings in this home.
    fn with(tools: &str, workspace: &Path, state: &Path, home: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_impresario"))
            .args(["mcp", "--tools", tools, "--workspace"])
            .arg(workspace)
            .current_dir(workspace)
            .env("HOME", home)
            .env_remove("PI_CODING_AGENT_DIR")
            .arg("--state-directory")
            .arg(state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("its output"));
        let mut server = Self {
            child,
            lines,
            asked: 0,
        };
        let us = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        server.ask("initialize", &us);
        server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn write(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{message}").expect("it listens");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("an answer");
        let mut answer: Value = serde_json::from_str(&line).expect("an answer");
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer["result"].take()
    }

    /// The text of an answer, or of an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_string();
        match result["isError"] == true {
            true => Err(text),
            false => Ok(text),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_program_that_tests_start_has_every_tool() {
    let place = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(place.path(), &place.path().join("state"));
    let listed = server.ask("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("a list").iter();
    let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["ast_search", "ast_replace", "look_at"]);
}

#[test]
fn a_replacement_is_made_and_a_later_process_takes_it_back() {
    let place = tempfile::tempdir().expect("a directory");
    let (workspace, state) = (place.path().join("in"), place.path().join("state"));
    std::fs::create_dir(&workspace).expect("a directory");
    let file = workspace.join("a.rs");
    std::fs::write(&file, "fn a() { x.unwrap(); }\n").expect("a file");
    let given = json!({ "pattern": "$A.unwrap()", "rewrite": "$A?", "lang": "rust", "dryRun": false });
    let text = || std::fs::read_to_string(&file).expect("it is there");
    {
        let mut server = Server::start(&workspace, &state);
        let found = server.call("ast_search", &json!({ "pattern": "$A.unwrap()", "lang": "rust" }));
        assert_eq!(
            found.as_deref(),
            Ok("Found 1 match(es):\n\na.rs:1:9\nfn a() { x.unwrap(); }\n")
        );
        let applied = server.call("ast_replace", &given).expect("applied");
        assert!(
            applied.contains("Take it back with ast_replace {\"undo\": \"1\"}"),
            "{applied}"
        );
        assert_eq!(text(), "fn a() { x?; }\n");
    }
    let mut server = Server::start(&workspace, &state);
    server
        .call("ast_replace", &json!({ "undo": "1" }))
        .expect("taken back");
    assert_eq!(text(), "fn a() { x.unwrap(); }\n");
    let refused = server.call("ast_replace", &json!({ "undo": "1" }));
    assert!(refused.is_err_and(|why| why.contains("taken back already")));
}

#[test]
fn what_a_killed_process_left_half_done_is_taken_back_at_the_next_start() {
    let place = tempfile::tempdir().expect("a directory");
    let (workspace, state) = (place.path().join("in"), place.path().join("state"));
    std::fs::create_dir(&workspace).expect("a directory");
    for name in ["a.rs", "b.rs"] {
        std::fs::write(workspace.join(name), "fn a() { old(); }\n").expect("a file");
    }
    let given = json!({ "pattern": "old()", "rewrite": "fresh()", "lang": "rust", "dryRun": false });
    Server::start(&workspace, &state)
        .call("ast_replace", &given)
        .expect("applied");
    // As if it had been killed after the first file.
    std::fs::remove_file(state.join("replacements/1/applied")).expect("its mark");
    std::fs::write(workspace.join("b.rs"), "fn a() { old(); }\n").expect("a file");
    drop(Server::start(&workspace, &state));
    for name in ["a.rs", "b.rs"] {
        let text = std::fs::read_to_string(workspace.join(name)).expect("it is there");
        assert_eq!(text, "fn a() { old(); }\n", "{name}");
    }
}

/// Whoever copies a line with its anchor is told, or is understood where the user's own settings say so.
#[test]
fn an_anchor_in_a_new_line_is_refused_or_taken_away() {
    let place = tempfile::tempdir().expect("a directory");
    let (workspace, home) = (place.path().join("in"), place.path().join("home"));
    let settings = |of: &Path| {
        std::fs::create_dir_all(of).expect("a directory");
        let lenient = json!({ "impresario": { "tools": { "strictPatch": false } } });
        std::fs::write(of.join("settings.json"), lenient.to_string()).expect("settings");
    };
    std::fs::create_dir_all(&home).expect("a directory");
    settings(&workspace.join(".pi"));
    let file = workspace.join("a.txt");
    std::fs::write(&file, "one\n").expect("a file");
    let edits = json!([{ "op": "append", "lines": ["2#ZZ|two"] }]);
    let edit = json!({ "filePath": "a.txt", "edits": edits });
    let made = || {
        Server::with("hashline_edit", &workspace, &place.path().join("state"), &home)
            .call("hashline_edit", &edit)
    };
    let refused = made().expect_err("no workspace says how edits are read");
    assert!(refused.contains("E_INVALID_PATCH"), "{refused}");
    settings(&home.join(".pi/agent"));
    made().expect("it is understood");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "one\ntwo\n");
}
