//! A Pi with the extension, the bridge and the runtime, between a person and a nested Pi.

#![allow(dead_code, reason = "each test program uses its own part")]

use crate::audit::Audit;
use impresario_model_server::{Call, ModelServer, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::{Sandbox, Scenario, Version, submit};
use impresario_test_support::processes::{command_line, with_environment};
use impresario_test_support::programs::write_script;
use impresario_test_support::terminal::{Key, Terminal};
pub use impresario_test_support::waiting::PATIENCE;
use impresario_test_support::waiting::until;
use rustix::process::Pid;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a sub-agent says.
pub const ANSWER: &str = "The sub-agent looked and found it.";
/// What the main agent says.
pub const MAIN_ANSWER: &str = "Hello from the main agent.";

/// A command that the runtime answers at no cost, and its answer.
const ASKS_THE_RUNTIME: (&str, &str) = ("/skill:trace-view nothing.json", "\"nothing.json\" not found");

/// A Pi with the extension, a workspace with a skill, and a model that answers every part of a run.
pub struct Stage {
    pub audit: Audit,
    pub scenario: Scenario,
    pub server: ModelServer,
    pub sandbox: Sandbox,
    pub binary: String,
}

impl Stage {
    /// The sub-agents of this stage answer in turn; none where the suite runs without Pi.
    pub fn set(version: Version, name: &str, sub_agents: impl IntoIterator<Item = Turn>) -> Option<Self> {
        Self::set_with(version, name, script(sub_agents))
    }

    /// A stage for each version, one after the other.
    pub fn both<Turns: IntoIterator<Item = Turn>>(
        name: &str,
        sub_agents: impl Fn() -> Turns,
    ) -> impl Iterator<Item = Self> {
        Self::both_with(name, move || script(sub_agents()))
    }

    /// A stage for each version, where the model answers by this script.
    pub fn both_with(name: &str, script: impl Fn() -> Script) -> impl Iterator<Item = Self> {
        let versions = Version::ALL.into_iter();
        versions.filter_map(move |version| Self::set_with(version, name, script()))
    }

    /// The model answers by this script.
    pub fn set_with(version: Version, name: &str, script: Script) -> Option<Self> {
        let scenario = Scenario::begin(version, name)?;
        let server = ModelServer::start_blocking(script).expect("a port on 127.0.0.1");
        let sandbox = Sandbox::new(scenario.install(), &server);
        let skill = "---\nname: demo\ndescription: looks at something\n---\nLook, and say what you found.\n";
        sandbox.write_work_file(".pi/skills/demo/SKILL.md", skill);
        let binary = env!("CARGO_BIN_EXE_impresario").to_owned();
        let state = sandbox.home().join(".local/state/impresario");
        let audit = Audit::of(state)
            .with_ledger(server.ledger())
            .with_sessions(sandbox.agent_directory().join("sessions"));
        Some(Self {
            audit,
            scenario,
            server,
            sandbox,
            binary,
        })
    }

    /// The runtime is this program instead.
    pub fn with_runtime(mut self, program: impl AsRef<Path>) -> Self {
        self.binary = program.as_ref().display().to_string();
        self
    }

    /// The runtime is a shell script.
    pub fn with_scripted_runtime(self, script: &str) -> Self {
        let program = self.sandbox.bin().join("scripted-runtime");
        write_script(&program, script);
        self.with_runtime(program)
    }

    pub fn pi(&self, arguments: &[&str]) -> Command {
        // Before there was trust, Pi loaded what lay in the workspace.
        match self.scenario.version() == Version::ALL[0] {
            true => self.pi_untrusted(&[&["--approve"], arguments].concat()),
            false => self.pi_untrusted(arguments),
        }
    }

    /// Nobody said that this Pi may trust the workspace.
    pub fn pi_untrusted(&self, arguments: &[&str]) -> Command {
        let extension = directories::project().join("extension/src/index.ts");
        let extension = extension.display().to_string();
        let mut all = vec!["-e", &extension];
        all.extend(arguments);
        let mut command = self.sandbox.pi_command(&all);
        command.env("IMPRESARIO_BINARY", &self.binary);
        command
    }

    pub fn print(&self, prompt: &str) -> Finished {
        run(&mut self.pi(&["-p", prompt]), "", PATIENCE)
    }

    pub fn rpc(&self) -> JsonLines {
        JsonLines::start(&mut self.pi(&["--mode", "rpc"]))
    }

    pub fn terminal(&self) -> Terminal {
        Terminal::start(self.pi(&[]))
    }

    /// In rpc mode with a runtime that has answered: what the main agent is taught was decided before.
    pub fn ready_rpc(&self) -> JsonLines {
        let mut pi = self.rpc();
        wait_for_runtime(&mut pi);
        pi
    }

    /// On a terminal with a runtime that has answered.
    pub fn ready_terminal(&self) -> Terminal {
        let mut terminal = self.terminal();
        submit_and_see(&mut terminal, ASKS_THE_RUNTIME.0, ASKS_THE_RUNTIME.1);
        terminal
    }

    /// Who called the model, in order.
    pub fn callers(&self) -> Vec<String> {
        let calls = self.server.ledger().calls();
        calls
            .into_iter()
            .map(|call| call.rule.unwrap_or_else(|| "nobody".into()))
            .collect()
    }

    pub fn wait_for_sub_agents(&self, count: usize) {
        self.wait_for_calls_of("sub-agent", count);
    }

    /// Waits until this rule answered so many calls, or holds the last of them.
    pub fn wait_for_calls_of(&self, rule: &str, count: usize) {
        let reached = |calls: &[Call]| {
            calls
                .iter()
                .filter(|call| call.rule.as_deref() == Some(rule))
                .count()
        };
        let came = self
            .server
            .ledger()
            .wait_until(PATIENCE, |calls| reached(calls) >= count);
        assert!(
            came,
            "{rule} never called its model {count} times; calls: {:?}",
            self.callers()
        );
    }

    /// Waits until so many runs have ended, delivered or not.
    pub fn wait_for_ended(&self, count: usize) {
        let ended = || {
            let runs = self.runs();
            runs.iter().filter(|run| !run["ended_at_ms"].is_null()).count()
        };
        until(|| ended() >= count, || format!("not {count}: {:#?}", self.runs()));
    }

    /// The runs in the journal, as the command line lists them, the newest first.
    pub fn runs(&self) -> Vec<Value> {
        self.impresario(&["runs", "--json"]).records()
    }

    /// The program on the command line of this sandbox.
    pub fn impresario(&self, arguments: &[&str]) -> Finished {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_impresario"));
        run(command.args(arguments), "", PATIENCE)
    }

    /// Waits until the journal holds these states, the oldest first, and that the host keeps the result of each.
    pub fn wait_for_states(&self, states: &[&str]) {
        let holds = || {
            let runs = self.runs();
            let there = runs.iter().rev().filter_map(|run| run["state"].as_str());
            there.eq(states.iter().copied()) && runs.iter().all(|run| run["delivered"] == true)
        };
        until(holds, || format!("not {states:?}: {:#?}", self.runs()));
    }

    /// Every process that carries the name of this sandbox in its environment, with its command line.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let mark = self.sandbox.home().display().to_string();
        let marked = with_environment(&mark).into_iter();
        marked.map(|pid| (pid, command_line(pid))).collect()
    }

    pub fn runtime_pid(&self) -> Pid {
        let found = self
            .processes()
            .into_iter()
            .find(|(_, command)| command.contains("impresario bridge"));
        let (pid, _) = found.unwrap_or_else(|| panic!("no runtime among {:?}", self.processes()));
        Pid::from_raw(pid).expect("a process id")
    }

    /// Nothing that belongs to this sandbox runs any more.
    pub fn nothing_is_left(&self) {
        until(
            || self.processes().is_empty(),
            || format!("still there: {:?}", self.processes()),
        );
    }

    /// Pi is left, and nothing of it stays.
    pub fn end(&self, pi: JsonLines) {
        quit(pi);
        self.nothing_is_left();
    }

    /// The settings of the workspace.
    pub fn configure(&self, settings: Value) {
        let file = json!({ "impresario": settings });
        self.sandbox
            .write_work_file(".pi/settings.json", &file.to_string());
    }
}

pub fn verdict(question: Option<&str>) -> Value {
    let passed = question.is_none();
    json!({
        "hasUserGoal": true, "hasRequiredInputs": passed, "hasScopeBoundary": true, "isUnambiguous": passed,
        "missingRequirementQuestion": question,
        "executionRoute": {
            "tier": "balanced", "complexity": "low", "risk": "read_only", "confidence": 0.9, "reason": "small",
        },
    })
}

pub fn brief_rule() -> Rule {
    let brief =
        json!({"userGoal": "Find it", "constraints": [], "knownContext": "", "userClarifications": []});
    Rule::new("brief")
        .system_contains("# Impresario: brief")
        .turn(Turn::text(&brief.to_string()))
        .repeat()
}

pub fn script(sub_agents: impl IntoIterator<Item = Turn>) -> Script {
    let judge = Rule::new("judge").system_contains("# Impresario: judge");
    let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
    Script::new()
        .rule(brief_rule())
        .rule(judge.turn(Turn::text(&verdict(None).to_string())).repeat())
        .rule(sub_agents.into_iter().fold(sub_agent, Rule::turn))
        .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
}

/// Waits until the runtime of this Pi has answered something.
pub fn wait_for_runtime(pi: &mut JsonLines) {
    prompt(pi, ASKS_THE_RUNTIME.0);
    pi.wait_for(PATIENCE, |record| is_notice(record, ASKS_THE_RUNTIME.1));
}

/// Waits until this stands in a file that another program writes.
pub fn wait_for_file(path: &Path, text: &str) {
    let found = || fs::read_to_string(path).unwrap_or_default();
    until(|| found().contains(text), || format!("{text} in {}", found()));
}

/// Submits a text and waits for what it brings. Pi that is still starting may take the key and not the text.
pub fn submit_and_see(terminal: &mut Terminal, text: &str, wanted: &str) {
    submit(terminal, text, PATIENCE);
    let deadline = Instant::now() + PATIENCE;
    while !terminal.shows(Duration::from_secs(2), |screen| screen.contains(wanted)) {
        assert!(
            Instant::now() < deadline,
            "{wanted} never came:\n{}",
            terminal.screen()
        );
        terminal.press(Key::Enter);
    }
}

pub fn prompt(pi: &mut JsonLines, text: &str) {
    pi.say(&json!({"id": text, "type": "prompt", "message": text}))
        .expect("Pi listens");
}

/// Answers a dialog.
pub fn answer(pi: &mut JsonLines, dialog: &Value, value: impl Into<Value>) {
    let value: Value = value.into();
    pi.say(&json!({"type": "extension_ui_response", "id": dialog["id"], "value": value}))
        .expect("Pi listens");
}

/// Says something to the main agent and waits for its answer: Pi writes the session's file then.
pub fn talk(pi: &mut JsonLines, text: &str) {
    let seen = pi.said().records.len();
    prompt(pi, text);
    pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
}

/// Where Pi keeps the session that is open.
pub fn session_file(pi: &mut JsonLines) -> String {
    let seen = pi.said().records.len();
    pi.say(&json!({"id": "state", "type": "get_state"}))
        .expect("Pi listens");
    let (_, state) = pi.wait_for_behind(seen, PATIENCE, |record| record["command"] == "get_state");
    state["data"]["sessionFile"]
        .as_str()
        .unwrap_or_else(|| panic!("{state}"))
        .to_owned()
}

/// Has Pi open another session.
pub fn switch(pi: &mut JsonLines, command: &Value) {
    let seen = pi.said().records.len();
    pi.say(command).expect("Pi listens");
    let (_, done) = pi.wait_for_behind(seen, PATIENCE, |record| record["command"] == command["type"]);
    assert_eq!(done["success"], json!(true), "{done}");
}

/// Pi ends well when nobody is there any more.
pub fn quit(mut pi: JsonLines) {
    pi.hang_up();
    assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
}

pub fn is_result(record: &Value) -> bool {
    record["type"] == "message_end" && record["message"]["customType"] == "impresario-result"
}

pub fn is_notice(record: &Value, text: &str) -> bool {
    let message = record["message"].as_str().unwrap_or_default();
    record["method"] == "notify" && message.contains(text)
}

pub fn count(pi: &JsonLines, wanted: impl Fn(&Value) -> bool) -> usize {
    pi.said().records.iter().filter(|record| wanted(record)).count()
}
