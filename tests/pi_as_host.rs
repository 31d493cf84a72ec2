//! Real Pi as the host: the extension, the bridge and the runtime between a person and a nested Pi.
//!
//! What the person sees is asserted twice: as records in rpc mode, and on the screen of a terminal.

use impresario_model_server::{Call, ModelServer, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::{Sandbox, Scenario, Version, submit};
use impresario_test_support::terminal::{Key, Terminal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);
const ANSWER: &str = "The sub-agent looked and found it.";
const MAIN_ANSWER: &str = "Hello from the main agent.";
const NOISE: &str = "NOISE-OF-THE-RUNTIME";

/// A Pi with the extension, a workspace with a skill, and a model that answers every part of a run.
struct Stage {
    scenario: Scenario,
    server: ModelServer,
    sandbox: Sandbox,
    binary: String,
}

impl Stage {
    /// The sub-agents of this stage answer in turn; none where the suite runs without Pi.
    fn set(version: Version, name: &str, sub_agents: impl IntoIterator<Item = Turn>) -> Option<Self> {
        Self::set_with(version, name, script(sub_agents))
    }

    /// The model answers by this script.
    fn set_with(version: Version, name: &str, script: Script) -> Option<Self> {
        let scenario = Scenario::begin(version, name)?;
        let server = ModelServer::start_blocking(script).expect("a port on 127.0.0.1");
        let sandbox = Sandbox::new(scenario.install(), &server);
        let skill = "---\nname: demo\ndescription: looks at something\n---\nLook, and say what you found.\n";
        sandbox.write_work_file(".pi/skills/demo/SKILL.md", skill);
        let binary = env!("CARGO_BIN_EXE_impresario").to_owned();
        Some(Self {
            scenario,
            server,
            sandbox,
            binary,
        })
    }

    /// The runtime is this program instead.
    fn with_runtime(mut self, program: impl AsRef<Path>) -> Self {
        self.binary = program.as_ref().display().to_string();
        self
    }

    /// The runtime is a shell script.
    fn with_scripted_runtime(self, script: &str) -> Self {
        let program = self.sandbox.bin().join("scripted-runtime");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script in the sandbox");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .expect("a script can be made executable");
        self.with_runtime(program)
    }

    fn pi(&self, arguments: &[&str]) -> Command {
        let extension = directories::project().join("extension/src/index.ts");
        let extension = extension.display().to_string();
        let mut all = vec!["-e", &extension];
        // Before there was trust, Pi loaded what lay in the workspace.
        if self.scenario.version() == Version::ALL[0] {
            all.push("--approve");
        }
        all.extend(arguments);
        let mut command = self.sandbox.pi_command(&all);
        command.env("IMPRESARIO_BINARY", &self.binary);
        command
    }

    fn print(&self, prompt: &str) -> Finished {
        run(&mut self.pi(&["-p", prompt]), "", PATIENCE)
    }

    fn rpc(&self) -> JsonLines {
        JsonLines::start(&mut self.pi(&["--mode", "rpc"]))
    }

    fn terminal(&self) -> Terminal {
        Terminal::start(self.pi(&[]))
    }

    /// Who called the model, in order.
    fn callers(&self) -> Vec<String> {
        let calls = self.server.ledger().calls();
        calls
            .into_iter()
            .map(|call| call.rule.unwrap_or_else(|| "nobody".into()))
            .collect()
    }

    fn wait_for_sub_agents(&self, count: usize) {
        let reached = |calls: &[Call]| {
            calls
                .iter()
                .filter(|call| call.rule.as_deref() == Some("sub-agent"))
                .count()
        };
        let came = self
            .server
            .ledger()
            .wait_until(PATIENCE, |calls| reached(calls) >= count);
        assert!(
            came,
            "the sub-agent never called its model; calls: {:?}",
            self.callers()
        );
    }

    /// Every process that carries the name of this sandbox in its environment, with its command line.
    fn processes(&self) -> Vec<(i32, String)> {
        let mark = self.sandbox.home().display().to_string();
        let entries = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked = pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&mark)
        });
        marked.map(|pid| (pid, command_line(pid))).collect()
    }

    fn runtime_pid(&self) -> Pid {
        let found = self
            .processes()
            .into_iter()
            .find(|(_, command)| command.contains("impresario bridge"));
        let (pid, _) = found.unwrap_or_else(|| panic!("no runtime among {:?}", self.processes()));
        Pid::from_raw(pid).expect("a process id")
    }

    /// Nothing that belongs to this sandbox runs any more.
    fn nothing_is_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "still there: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

fn verdict(question: Option<&str>) -> Value {
    let passed = question.is_none();
    json!({
        "hasUserGoal": true, "hasRequiredInputs": passed, "hasScopeBoundary": true, "isUnambiguous": passed,
        "missingRequirementQuestion": question,
        "executionRoute": {
            "tier": "balanced", "complexity": "low", "risk": "read_only", "confidence": 0.9, "reason": "small",
        },
    })
}

fn brief_rule() -> Rule {
    let brief =
        json!({"userGoal": "Find it", "constraints": [], "knownContext": "", "userClarifications": []});
    Rule::new("brief")
        .system_contains("# Impresario: brief")
        .turn(Turn::text(&brief.to_string()))
        .repeat()
}

fn script(sub_agents: impl IntoIterator<Item = Turn>) -> Script {
    let judge = Rule::new("judge").system_contains("# Impresario: judge");
    let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
    Script::new()
        .rule(brief_rule())
        .rule(judge.turn(Turn::text(&verdict(None).to_string())).repeat())
        .rule(sub_agents.into_iter().fold(sub_agent, Rule::turn))
        .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
}

/// Waits until this stands in a file that another program writes.
fn wait_for_file(path: &Path, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = fs::read_to_string(path).unwrap_or_default();
        if found.contains(text) {
            return;
        }
        assert!(Instant::now() < deadline, "{text} never came: {found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Submits a text and waits for what it brings. Pi that is still starting may take the key and not the text.
fn submit_and_see(terminal: &mut Terminal, text: &str, wanted: &str) {
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

fn prompt(pi: &mut JsonLines, text: &str) {
    pi.say(&json!({"id": text, "type": "prompt", "message": text}))
        .expect("Pi listens");
}

fn is_result(record: &Value) -> bool {
    record["type"] == "message_end" && record["message"]["customType"] == "impresario-result"
}

fn is_notice(record: &Value, text: &str) -> bool {
    let message = record["message"].as_str().unwrap_or_default();
    record["method"] == "notify" && message.contains(text)
}

fn count(pi: &JsonLines, wanted: impl Fn(&Value) -> bool) -> usize {
    pi.said().records.iter().filter(|record| wanted(record)).count()
}

#[test]
fn a_skill_in_print_mode_prints_the_answer_of_its_sub_agent() {
    for version in Version::ALL {
        for prompt in ["/skill demo look around", "/skill:demo look around"] {
            let Some(stage) = Stage::set(version, "skill in print mode", [Turn::text(ANSWER)]) else {
                return;
            };
            let finished = stage.print(prompt);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), ANSWER),
                "{}",
                finished.stderr
            );
            assert_eq!(stage.callers(), ["brief", "judge", "sub-agent"]);
            stage.nothing_is_left();
        }
    }
}

#[test]
fn a_skill_in_json_mode_leaves_its_result_among_the_records() {
    for version in Version::ALL {
        let Some(stage) = Stage::set(version, "skill in json mode", [Turn::text(ANSWER)]) else {
            return;
        };
        let finished = run(
            &mut stage.pi(&["--mode", "json", "/skill demo look around"]),
            "",
            PATIENCE,
        );
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let results: Vec<Value> = finished.records().into_iter().filter(is_result).collect();
        assert_eq!(results.len(), 1);
        assert!(results[0]["message"]["content"].to_string().contains(ANSWER));
        stage.nothing_is_left();
    }
}

#[test]
fn results_stand_in_the_conversation_and_nothing_else_does() {
    for version in Version::ALL {
        let name = "skills in rpc mode";
        let Some(stage) = Stage::set(version, name, [Turn::text(ANSWER), Turn::text("Again.")]) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for(PATIENCE, |record| {
            record["method"] == "setStatus"
                && record["statusText"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("demo"))
        });
        let (seen, first) = pi.wait_for_behind(0, PATIENCE, is_result);
        assert!(first["message"]["content"].to_string().contains(ANSWER));
        prompt(&mut pi, "/skill:demo look again");
        let (seen, _) = pi.wait_for_behind(seen, PATIENCE, is_result);
        prompt(&mut pi, "What was found?");
        pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
        let calls = stage.server.ledger().calls();
        let main = calls
            .iter()
            .find(|call| call.rule.as_deref() == Some("main agent"))
            .expect("the main agent was asked");
        let said: Vec<String> = user_messages(main);
        assert_eq!(said.len(), 3, "{said:#?}");
        assert!(
            said[0].contains(ANSWER) && said[1].contains("Again.") && said[2].contains("What was found?"),
            "{said:#?}"
        );
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

fn user_messages(call: &Call) -> Vec<String> {
    let messages = call.body["messages"].as_array().expect("messages");
    messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].to_string())
        .collect()
}

#[test]
fn cancelling_ends_the_run_and_everything_below_it() {
    for version in Version::ALL {
        let never = Turn::text(ANSWER).behind_gate("never");
        let Some(stage) = Stage::set(version, "cancel in rpc mode", [never]) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        prompt(&mut pi, "/skill:cancel");
        pi.wait_for(PATIENCE, |record| is_notice(record, "Skill demo cancelled"));
        assert_eq!(count(&pi, is_result), 0);
        assert!(
            !stage
                .processes()
                .iter()
                .any(|(_, command)| command.contains("impresario-keeper"))
        );
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn a_killed_runtime_costs_one_notice_and_no_result() {
    for version in Version::ALL {
        let turns = [Turn::text(ANSWER).behind_gate("go"), Turn::text(ANSWER)];
        let Some(stage) = Stage::set(version, "runtime killed under a run", turns) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        let killed = stage.runtime_pid();
        kill_process(killed, Signal::KILL).expect("the runtime runs");
        pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
        prompt(&mut pi, "Are you still there?");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.server.open_gate("go");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(
            result["message"]["content"].to_string().contains(ANSWER),
            "{result}"
        );
        assert_ne!(stage.runtime_pid(), killed);
        assert_eq!(count(&pi, |record| is_notice(record, "being started again")), 1);
        assert_eq!(count(&pi, is_result), 1);
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn a_question_of_the_judge_is_asked_and_its_answer_used() {
    for version in Version::ALL {
        let unclear = Turn::text(&verdict(Some("Which of the two?")).to_string());
        let clear = Turn::text(&verdict(None).to_string());
        let script = Script::new()
            .rule(brief_rule())
            .rule(
                Rule::new("judge")
                    .system_contains("# Impresario: judge")
                    .turn(unclear.clone())
                    .turn(unclear)
                    .turn(clear)
                    .repeat(),
            )
            .rule(
                Rule::new("sub-agent")
                    .user_contains("User Goal: ")
                    .turn(Turn::text(ANSWER)),
            );
        let Some(stage) = Stage::set_with(version, "question in rpc mode", script) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        let question = pi.wait_for(PATIENCE, |record| record["method"] == "input");
        assert!(question.to_string().contains("Which of the two?"), "{question}");
        pi.say(&json!({"type": "extension_ui_response", "id": question["id"], "value": "the second one"}))
            .expect("Pi listens");
        pi.wait_for(PATIENCE, is_result);
        let calls = stage.server.ledger().calls();
        let told = |call: &&Call| {
            call.rule.as_deref() == Some("brief") && call.body.to_string().contains("the second one")
        };
        assert!(calls.iter().any(|call| told(&call)), "{:?}", stage.callers());
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn a_killed_pi_leaves_nothing_running_and_its_run_parked() {
    for version in Version::ALL {
        let never = Turn::text(ANSWER).behind_gate("never");
        let Some(stage) = Stage::set(version, "host killed under a run", [never]) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        let host = i32::try_from(pi.pid()).ok().and_then(Pid::from_raw);
        kill_process(host.expect("a process id"), Signal::KILL).expect("Pi runs");
        stage.nothing_is_left();
        let mut runs = stage.sandbox.command(env!("CARGO_BIN_EXE_impresario"));
        let listed = run(runs.args(["runs", "--json"]), "", PATIENCE);
        let states: Vec<Value> = listed.records().iter().map(|run| run["state"].clone()).collect();
        assert_eq!(states, [json!("parked")], "{}", listed.stdout);
    }
}

#[test]
fn a_result_that_is_offered_twice_stands_in_the_session_once() {
    for version in Version::ALL {
        let Some(stage) = Stage::set(version, "result offered twice", []) else {
            return;
        };
        let stage = stage.with_runtime(directories::project().join("extension/test/fake-runtime.mjs"));
        let log = stage.sandbox.home().join("heard.jsonl");
        let mut command = stage.pi(&["--mode", "rpc"]);
        let mut pi = JsonLines::start(command.env("FAKE_MODE", "offers-twice").env("FAKE_LOG", &log));
        prompt(&mut pi, "/skill demo look");
        let (seen, _) = pi.wait_for_behind(0, PATIENCE, is_result);
        prompt(&mut pi, "Say hello.");
        pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
        wait_for_file(&log, r#""again":{"receipt":"#);
        assert_eq!(count(&pi, is_result), 1);
    }
}

#[test]
fn the_screen_shows_progress_and_the_answer_and_escape_cancels() {
    for version in Version::ALL {
        let turns = [
            Turn::text(ANSWER).behind_gate("go"),
            Turn::text("never").behind_gate("never"),
        ];
        let Some(stage) = Stage::set(version, "skill on a terminal", turns) else {
            return;
        };
        let noisy = format!(
            "echo {NOISE} >&2; exec {} \"$@\"",
            env!("CARGO_BIN_EXE_impresario")
        );
        let stage = stage.with_scripted_runtime(&noisy);
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, "/skill demo look around", "esc cancels");
        stage.wait_for_sub_agents(1);
        stage.server.open_gate("go");
        let screen = terminal.wait_for_text(PATIENCE, ANSWER);
        assert!(screen.contains("Skill demo succeeded"), "{screen}");
        submit_and_see(&mut terminal, "/skill demo look again", "esc cancels");
        stage.wait_for_sub_agents(2);
        terminal.press(Key::Escape);
        // The notice and the progress widget are drawn one after the other.
        let screen = terminal.wait_for(PATIENCE, |screen| {
            screen.contains("Skill demo cancelled") && !screen.contains("esc cancels")
        });
        assert!(!screen.contains(NOISE), "{screen}");
        terminal.press(Key::Control('d'));
        assert_eq!(terminal.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn an_unknown_skill_is_named_and_starts_nothing() {
    for version in Version::ALL {
        for prompt in ["/skill dmeo look", "/skill:dmeo look"] {
            let Some(stage) = Stage::set(version, "unknown skill", []) else {
                return;
            };
            let finished = stage.print(prompt);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(1), ""),
                "{}",
                finished.stderr
            );
            assert!(finished.stderr.contains("dmeo"), "{}", finished.stderr);
            assert_eq!(stage.callers(), Vec::<String>::new());
        }
    }
}

#[test]
fn pi_goes_on_without_a_runtime() {
    for version in Version::ALL {
        for runtime in [
            "exit 3",
            "exec sleep 600",
            "while :; do echo this is no protocol; sleep 0.01; done",
        ] {
            let Some(stage) = Stage::set(version, "broken runtime", []) else {
                return;
            };
            let stage = stage.with_scripted_runtime(runtime);
            let finished = stage.print("Say hello.");
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), MAIN_ANSWER),
                "{runtime}: {}",
                finished.stderr
            );
            stage.nothing_is_left();
        }
    }
}

#[test]
fn a_runtime_that_cannot_stay_up_is_given_up_and_says_so() {
    for version in Version::ALL {
        let Some(stage) = Stage::set(version, "runtime that cannot stay up", []) else {
            return;
        };
        let stage = stage.with_scripted_runtime(&format!("echo {NOISE} >&2; exit 3"));
        let finished = stage.print("/skill demo look");
        assert_eq!((finished.end, finished.stdout.trim()), (End::Exited(1), ""));
        assert!(
            finished.stderr.contains("its runtime stopped again and again"),
            "{}",
            finished.stderr
        );
        assert!(!finished.stderr.contains(NOISE), "{}", finished.stderr);
    }
}

#[test]
fn a_hook_that_is_not_answered_holds_pi_up_until_its_deadline_only() {
    for version in Version::ALL {
        let Some(stage) = Stage::set(version, "silent hook", []) else {
            return;
        };
        let stage = stage.with_runtime(directories::project().join("extension/test/fake-runtime.mjs"));
        let log = stage.sandbox.home().join("heard.jsonl");
        let mut command = stage.pi(&["--mode", "rpc"]);
        let mut pi = JsonLines::start(command.env("FAKE_MODE", "silent-input").env("FAKE_LOG", &log));
        prompt(&mut pi, "/skill demo look");
        pi.wait_for(PATIENCE, is_result);
        prompt(&mut pi, "Say hello.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        wait_for_file(&log, r#""method":"input""#);
        wait_for_file(&log, r#""method":"request.cancel""#);
    }
}
