//! Retrieval by a program: chosen in the settings, checked before anything is paid for, gone with its run.

use crate::place::{Place, QUESTION, Said, processes_of, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

const SKILL: &str = "---\nname: look\ndescription: looks\n---\nLook, and say what you found.\n";

/// A place whose settings name the server of the tests.
struct Scene {
    place: Place,
}

impl Scene {
    fn auggie(behaviour: &str) -> (Self, String) {
        let scene = Self { place: Place::new() };
        scene.settings(&json!({ "retrieval": { "engine": "auggie" }, "auggieBinPath": Self::server() }));
        (scene, behaviour.to_string())
    }

    fn other(behaviour: &str) -> Self {
        let scene = Self { place: Place::new() };
        let command = [Self::server(), behaviour.to_string(), scene.log()];
        scene.settings(&json!({
            "retrieval": { "engine": "mcp", "command": command, "timeoutMs": 120_000 },
            "totalTimeoutMs": 600_000, "toolTimeoutMs": 600_000,
        }));
        scene
    }

    fn server() -> String {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/retrieval_server/server.mjs").to_string()
    }

    fn settings(&self, ours: &Value) {
        let directory = self.place.home().join(".pi/agent");
        fs::create_dir_all(&directory).expect("a directory");
        let text = json!({ "impresario": ours }).to_string();
        fs::write(directory.join("settings.json"), text).expect("settings");
        self.place.workspace_skill("look", SKILL);
    }

    fn log(&self) -> String {
        self.place.path().join("log.jsonl").display().to_string()
    }

    fn noted(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    fn was_asked(&self) -> bool {
        self.noted().iter().any(|note| note["method"] == "tools/call")
    }

    fn impresario(&self, behaviour: &str, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = self.place.impresario(arguments);
        command
            .env("PATH", path)
            .env("AUGMENT_TEST_BEHAVIOUR", behaviour)
            .env("AUGMENT_TEST_LOG", self.log());
        command
    }
}

#[test]
fn a_skill_is_answered_by_auggie_once_its_account_is_in_order() {
    let (scene, behaviour) = Scene::auggie("answers");
    let said = Said::of(scene.impresario(&behaviour, &["skill", "--json", "look", QUESTION]));
    said.check(0);
    let noted = scene.noted();
    assert_eq!(noted[0]["account"], json!(["account", "status"]));
    assert_eq!(noted[1]["started"][0], "--mcp");
    assert!(scene.was_asked());
    let lines = said.json_lines();
    let end = lines.last().expect("a last line");
    assert_eq!(end["proof"]["processes_left"], 0, "{end}");
    assert_ne!(end["proof"]["method"], "in_process", "{end}");
    assert_eq!(processes_of(lines[0]["run"].as_str().expect("an id")), 0);
}

#[test]
fn an_auggie_without_a_login_is_refused_before_anything_is_paid_for_whatever_its_handshake_says() {
    let (scene, behaviour) = Scene::auggie("not-logged-in");
    let said = Said::of(scene.impresario(&behaviour, &["skill", "look", QUESTION]));
    said.check(1);
    let line = "[System Error]: Cannot execute skill. Augment daemon is offline or unauthenticated. \
        (You are not currently logged in to Augment. Run 'auggie login' to authenticate first. [REDACTED])";
    assert!(said.stderr.contains(line), "{}", said.stderr);
    assert_eq!(scene.noted().len(), 1, "it was asked for its account only");
    assert_eq!(scene.place.runs(), Vec::<Value>::new());
}

#[test]
fn another_server_that_does_not_get_ready_is_refused_too_whoever_would_ask_it() {
    let scene = Scene::other("ends-at-once");
    let sub_tasks = scene.place.path().join("sub-tasks.json");
    fs::write(
        &sub_tasks,
        r#"[{"id": "a", "goal": "look"}, {"id": "b", "goal": "look"}]"#,
    )
    .expect("a file");
    let sub_tasks = sub_tasks.display().to_string();
    for (what, arguments) in [
        ("skill", ["skill", "look", QUESTION].as_slice()),
        ("agent", &["run", "explore", QUESTION]),
        ("agent", &["parallel", &sub_tasks]),
    ] {
        let said = Said::of(scene.impresario("", arguments));
        said.check(1);
        let line = format!("[System Error]: Cannot execute {what}. The retrieval server cannot be used. (");
        assert!(said.stderr.contains(&line), "{}", said.stderr);
        assert!(said.stderr.contains("No auth provided"), "{}", said.stderr);
        assert!(!said.stderr.contains("verysecretvalue"), "{}", said.stderr);
        assert_eq!(scene.place.runs(), Vec::<Value>::new());
    }
}

#[test]
fn an_answer_above_the_ceiling_is_kept_aside_whole() {
    let scene = Scene::other("roomy");
    let said = Said::of(scene.impresario("", &["skill", "--json", "look", QUESTION]));
    said.check(0);
    let lines = said.json_lines();
    let ended = lines
        .iter()
        .find(|line| line["type"] == "tool_ended" && line["overflow"].is_string());
    let ended = ended.unwrap_or_else(|| panic!("{}", said.stdout));
    assert!(ended["bytes"].as_u64() > Some(480_000), "{ended}");
}

/// A run that waits for its server.
fn start_waiting(scene: &Scene) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut command = scene.impresario("", &["run", "--json", "explore", QUESTION]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a line");
    let first: Value = serde_json::from_str(&first).expect("JSON");
    let run = first["run"].as_str().expect("an id").to_string();
    until("the server is asked", || scene.was_asked());
    assert!(processes_of(&run) > 0);
    (child, stdout, run)
}

#[test]
fn cancelling_ends_a_question_that_nobody_answers_and_its_server() {
    let scene = Scene::other("silent-call");
    let (mut child, mut stdout, run) = start_waiting(&scene);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let end: Value = serde_json::from_str(rest.lines().last().expect("a line")).expect("JSON");
    assert_eq!(end["proof"]["processes_left"], 0, "{end}");
    assert_eq!(end["proof"]["no_children"], true, "{end}");
    assert_eq!(processes_of(&run), 0);
}

#[test]
fn a_killed_runtime_leaves_no_server_behind_and_its_run_parked() {
    let scene = Scene::other("silent-call");
    let (mut child, _stdout, run) = start_waiting(&scene);
    child.kill().expect("it is there");
    child.wait().expect("it is dead");
    until("its server is gone", || processes_of(&run) == 0);
    let runs = scene.place.runs();
    assert_eq!(runs[0]["state"], "parked", "{runs:?}");
}
