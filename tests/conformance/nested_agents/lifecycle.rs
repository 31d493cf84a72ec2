//! The extension under a host that is no Pi, with the real runtime behind it.

use super::tree::Tree;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_test_support::pi::{Version, is_switched_off, provision};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A node that reads TypeScript comes with the newest Pi; none where the switch says to go without.
pub fn can_be_played() -> bool {
    !is_switched_off()
}

pub fn lifecycle(case: &Case) -> Answer {
    let tree = Tree::of(&case.input);
    let input = Json::parse(&tree.placed(&case.input.to_text())).expect("it was read before");
    let output = played(&tree, &input.to_text());
    let recorded = match &case.expected {
        Answer::Value(recorded) => recorded.clone(),
        Answer::Error { .. } => Json::Null,
    };
    Answer::Value(tree.as_recorded(&output, &recorded))
}

fn played(tree: &Tree, input: &str) -> Json {
    let install = provision(Version::V0_87_1).unwrap_or_else(|error| panic!("{error}"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().expect("a directory");
    // The peer knows one name.
    let settings = json!({"impresario": {"guidance": {"fileNames": ["AGENTS.md"]}}});
    std::fs::write(home.path().join("settings.json"), settings.to_string()).expect("written");
    let mut node = Command::new(&install.node)
        .arg(root.join("tests/conformance/nested_agents/stage.mjs"))
        .arg(root.join("extension/src/index.ts"))
        .arg(tree.path().canonicalize().expect("it is there"))
        .env_clear()
        .env("HOME", home.path())
        .env("PI_CODING_AGENT_DIR", home.path())
        .env("IMPRESARIO_BINARY", env!("CARGO_BIN_EXE_impresario"))
        .current_dir(tree.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut stdin = node.stdin.take().expect("a pipe");
    writeln!(stdin, "{}", input.replace('\n', " ")).expect("written");
    drop(stdin);
    let output = node.wait_with_output().expect("node ends");
    let text = String::from_utf8(output.stdout).expect("text");
    Json::parse(text.trim_end()).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}
