//! Node, started once, which is asked for a sample of a row or for what the row gives.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The program and the files it read its inputs from.
pub struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _directory: tempfile::TempDir,
}

impl Node {
    /// None where there is no Node.
    pub fn start(inputs: &Value) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/router/baseline.mjs");
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("inputs.json");
        std::fs::write(&file, inputs.to_string()).expect("the inputs are written");
        let mut child = Command::new("node")
            .arg(script)
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let input = child.stdin.take().expect("it has an input");
        let output = BufReader::new(child.stdout.take().expect("it has an output"));
        Some(Self {
            child,
            input,
            output,
            _directory: directory,
        })
    }

    /// What a row gives.
    pub fn show(&mut self, row: &str) -> String {
        let answer = self.ask(&json!({ "show": row }));
        answer.as_str().expect("a text").to_string()
    }

    /// The microseconds that one call of a row takes; the first time, the row is warmed up before.
    pub fn sample(&mut self, row: &str) -> f64 {
        let answer = self.ask(&json!({ "sample": row }));
        answer.as_f64().expect("a number")
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.input, "{question}").expect("Node reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("Node writes");
        serde_json::from_str(&line).expect("an answer")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
