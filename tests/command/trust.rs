//! What a workspace brings along is taken when a person says so, and what anybody wrote reaches a terminal as text.

use crate::place::{Place, QUESTION, Said, until};
use impresario_test_support::programs::write_script;
use impresario_test_support::terminal::{Key, Terminal};
use impresario_test_support::waiting::PATIENCE;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const SKILL: &str = "---\nname: look\ndescription: looks\n---\nLook, and say what you found.\n";
const RUN: [&str; 3] = ["skill", "look", QUESTION];

/// A cloned repository whose settings name a program of its own; the skill is the person's.
struct Cloned {
    place: Place,
}

impl Cloned {
    fn new() -> Self {
        let place = Place::new();
        place.home_skill("look", SKILL);
        let cloned = Self { place };
        let program = cloned.place.workspace().join("tool.sh");
        write_script(&program, &format!("echo ran >> '{}'", cloned.proof().display()));
        cloned.place.configure(json!({
            "retrieval": { "engine": "auggie" }, "auggieBinPath": program,
        }));
        cloned
    }

    fn proof(&self) -> PathBuf {
        self.place.path().join("ran")
    }

    fn program_ran(&self) -> bool {
        self.proof().exists()
    }

    fn wary(&self, arguments: &[&str]) -> Said {
        Said::of(self.place.wary(arguments))
    }

    fn terminal(&self) -> Terminal {
        Terminal::start(self.place.wary(&RUN))
    }
}

#[test]
fn without_a_terminal_nothing_of_a_workspace_is_executed_and_that_is_said_once() {
    let cloned = Cloned::new();
    let said = cloned.wary(&RUN);
    said.check(0);
    assert!(!cloned.program_ran(), "{}", said.stderr);
    let told = said
        .stderr
        .lines()
        .filter(|line| line.contains("is not trusted"))
        .count();
    assert_eq!(told, 1, "{}", said.stderr);
    assert!(said.stderr.contains("impresario trust add"), "{}", said.stderr);
    cloned.wary(&["run", "explore", QUESTION]).check(0);
    assert!(!cloned.program_ran());
}

#[test]
fn a_script_says_it_for_once_and_a_person_for_good_until_it_is_taken_back() {
    let cloned = Cloned::new();
    cloned.wary(&[&RUN[..], &["--trust"]].concat());
    assert!(cloned.program_ran());
    fs::remove_file(cloned.proof()).expect("the proof");
    cloned.wary(&RUN).check(0);
    assert!(!cloned.program_ran(), "once is once");

    cloned.wary(&["trust", "add"]).check(0);
    let listed = cloned.wary(&["trust", "list", "--json"]);
    let workspace = cloned.place.workspace().canonicalize().expect("a place");
    assert_eq!(listed.json_lines()[0]["directory"], json!(workspace));
    let file = cloned.place.state().join("trust.json");
    assert_eq!(
        fs::metadata(file).expect("a file").permissions().mode() & 0o777,
        0o600
    );
    cloned.wary(&[&RUN[..], &["--no-trust"]].concat()).check(0);
    assert!(!cloned.program_ran());
    cloned.wary(&RUN);
    assert!(cloned.program_ran());

    fs::remove_file(cloned.proof()).expect("the proof");
    cloned.wary(&["trust", "revoke"]).check(0);
    cloned.wary(&["trust", "revoke"]).check(2);
    cloned.wary(&RUN).check(0);
    assert!(!cloned.program_ran());
}

#[test]
fn on_a_terminal_it_is_asked_once_for_each_directory() {
    let cloned = Cloned::new();
    let mut asked = cloned.terminal();
    asked.wait_for_text(PATIENCE, "Do you trust");
    assert!(!cloned.program_ran(), "nobody said yes");
    asked.type_text("n");
    asked.press(Key::Enter);
    asked.wait_for_end(PATIENCE);
    assert!(!cloned.program_ran());
    let mut again = cloned.terminal();
    again.wait_for_end(PATIENCE);
    assert!(!again.screen().contains("Do you trust"), "{}", again.screen());

    cloned.wary(&["trust", "revoke"]).check(0);
    let mut asked = cloned.terminal();
    asked.wait_for_text(PATIENCE, "Do you trust");
    asked.type_text("y");
    asked.press(Key::Enter);
    until("the program of the workspace runs", || cloned.program_ran());
    asked.wait_for_end(PATIENCE);
}

#[test]
fn skills_of_a_workspace_are_instructions_of_somebody_else() {
    let place = Place::new();
    place.workspace_skill("look", SKILL);
    let wary = Said::of(place.wary(&RUN));
    wary.check(2);
    assert!(wary.stderr.contains(".pi/skills"), "{}", wary.stderr);
    place.run(&RUN).check(0);
}

/// What a terminal obeys: a title, a colour by one byte, a line that reads from right to left.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";

#[test]
fn what_others_wrote_is_shown_and_not_obeyed() {
    let place = Place::new();
    let task = format!("{QUESTION} {HOSTILE}");
    let answered = place.run(&["run", "explore", &task]);
    let run = place.runs()[0]["run"].as_str().expect("an id").to_string();
    let printed = [
        answered,
        place.run(&["run", "explore", &task, "--json"]),
        place.run(&["runs"]),
        place.run(&["runs", "--json"]),
        place.run(&["runs", "show", &run]),
        place.run(&["runs", "show", HOSTILE]),
        place.run(&["trace", &run]),
        place.run(&["trace", "--json", &run]),
        place.run(&["skill", HOSTILE, QUESTION]),
    ];
    for said in printed {
        let obeyed =
            |letter: char| (letter.is_control() && letter != '\n' && letter != '\t') || letter == '\u{202e}';
        assert!(!said.stdout.contains(obeyed), "{:?}", said.stdout);
        assert!(!said.stderr.contains(obeyed), "{:?}", said.stderr);
    }
    let shown = place.run(&["runs"]);
    assert!(
        shown.stdout.contains("␛]0;owned␇<U+009B>31m<U+202E>"),
        "{}",
        shown.stdout
    );
    let told = place.run(&["runs", "--json"]);
    assert_eq!(told.json_lines()[0]["task"], json!(task), "JSON means the same");
    let raw = place.run(&["runs", "--raw"]);
    assert!(
        raw.stdout.contains(HOSTILE),
        "a pipe gets it where it is asked for"
    );
}

#[test]
fn runs_say_where_they_work_and_are_listed_for_one_place() {
    let place = Place::new();
    place.run(&["run", "explore", QUESTION]).check(0);
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let named = elsewhere.display().to_string();
    place.run(&["run", "explore", QUESTION, "--workspace", &named]);
    let all = place.run(&["runs"]);
    assert!(
        all.stdout.contains("workspace  explore") && all.stdout.contains("elsewhere  explore"),
        "{}",
        all.stdout
    );
    let here = place.run(&["runs", "--here", "--json"]).json_lines();
    let workspace = place.workspace().canonicalize().expect("a place");
    assert_eq!((here.len(), &here[0]["workspace"]), (1, &json!(workspace)));
    assert_eq!(
        place
            .run(&["runs", "--workspace", &named, "--json"])
            .json_lines()
            .len(),
        1
    );
}

#[test]
fn a_bridge_that_nobody_reads_ends_while_its_input_is_open() {
    let place = Place::new();
    let mut command = place.impresario(&["bridge"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"payload":1}}}}"#
    )
    .expect("it listens");
    let mut answer = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut output, &mut answer).expect("an answer");
    drop(output);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    drop(input);
}

#[test]
fn traces_stay_out_of_the_repository_around_them() {
    let place = Place::new();
    place.home_skill("look", SKILL);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(place.workspace())
            .env("HOME", place.home());
        Said::of(command)
    };
    git(&["init", "-q"]).check(0);
    place.run(&RUN).check(0);
    let traces = place.workspace().join(".pi/traces");
    assert!(
        fs::read_dir(traces)
            .expect("traces")
            .flatten()
            .any(|entry| entry.path().extension().is_some())
    );
    let status = git(&["status", "--porcelain", "-uall"]);
    assert!(!status.stdout.contains(".pi/traces"), "{}", status.stdout);
}
