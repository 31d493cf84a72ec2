//! The program prints where it listens, answers, and keeps its ledger.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::client::{ask, openai};
use impresario_model_server::Ledger;
use serde_json::Value;

#[test]
fn the_program_says_its_port_and_plays_its_script() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script.json");
    let log = directory.path().join("calls.jsonl");
    std::fs::write(&script, r#"{"rules":[{"turns":[{"text":"from a file"}]}]}"#).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_impresario-model-server"))
        .args(["--port", "0", "--script"])
        .arg(&script)
        .arg("--log")
        .arg(&log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
    let answer = ask(port, openai("hi", false), Duration::from_secs(60));
    let calls = Ledger::read(&log).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(said["pid"], u64::from(program.id()));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "from a file");
    assert_eq!(calls.len(), 1);
}
