//! Real Pi below the command line: a workspace with a file and a skill, a home of its own, and a scripted model.

use crate::audit::Audit;
use crate::host::PATIENCE;
use impresario_model_server::{ModelServer, Script};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{Finished, run};
use impresario_test_support::pi::{Sandbox, Scenario, Version};
use impresario_test_support::processes::{command_line, with_environment};
use impresario_test_support::waiting::until;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_impresario");

pub struct Stage {
    _audit: Audit,
    pub server: ModelServer,
    pub sandbox: Sandbox,
    pub scenario: Scenario,
}

/// Plays a scenario with both versions.
pub fn with_both(name: &str, script: impl Fn() -> Script, play: impl Fn(&Stage)) {
    for version in Version::ALL {
        if let Some(stage) = Stage::set(version, name, script()) {
            play(&stage);
        }
    }
}

impl Stage {
    /// None where the suite runs without Pi.
    pub fn set(version: Version, name: &str, script: Script) -> Option<Self> {
        let scenario = Scenario::begin(version, name)?;
        let server = ModelServer::start_blocking(script).expect("a port on 127.0.0.1");
        let sandbox = Sandbox::new(scenario.install(), &server);
        sandbox.write_work_file("notes.txt", "The supervisor decides who restarts.\n");
        let skill = "---\nname: demo\ndescription: does something\n---\nDo it, and say what you did.\n";
        sandbox.write_work_file(".pi/skills/demo/SKILL.md", skill);
        let state = sandbox.home().join(".local/state/impresario");
        Some(Self {
            _audit: Audit::of(state).with_ledger(server.ledger()),
            server,
            sandbox,
            scenario,
        })
    }

    /// The settings of the workspace.
    pub fn configure(&self, settings: Value) {
        let file = json!({ "impresario": settings });
        self.sandbox
            .write_work_file(".pi/settings.json", &file.to_string());
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(PROGRAM);
        command.args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        run(&mut self.command(arguments), "", PATIENCE)
    }

    pub fn start(&self, arguments: &[&str]) -> JsonLines {
        JsonLines::start(&mut self.command(arguments))
    }

    pub fn calls(&self) -> usize {
        self.server.ledger().calls().len()
    }

    pub fn wait_for_calls(&self, count: usize) {
        let ledger = self.server.ledger();
        let came = ledger.wait_until(PATIENCE, |calls| calls.len() >= count);
        assert!(came, "only {} calls", self.calls());
    }

    pub fn state(&self) -> PathBuf {
        self.sandbox.home().join(".local/state/impresario")
    }

    /// What stands in a file of the workspace.
    pub fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.sandbox.work().join(name)).unwrap_or_default()
    }
}

/// Every living process of a run, with its command line: the sub-agent, and what answers it.
pub fn marked(run: &str) -> Vec<(i32, String)> {
    let pids = with_environment(&format!("IMPRESARIO_RUN={run}")).into_iter();
    pids.map(|pid| (pid, command_line(pid))).collect()
}

pub fn nothing_is_left_of(run: &str) {
    until(
        || marked(run).is_empty(),
        || format!("still there of {run}: {:?}", marked(run)),
    );
}
