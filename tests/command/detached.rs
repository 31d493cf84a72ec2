//! A run that is left to a process of its own, and followed from elsewhere.

use crate::place::{Place, QUESTION, Said, processes_of, until};
use impresario_model_server::{Fault, ModelServer, Script, Turn};
use impresario_test_support::limited::End;
use impresario_test_support::processes::{command_line, with_environment};
use impresario_test_support::terminal::{Key, Terminal};
use impresario_test_support::waiting::PATIENCE;
use rustix::process::{Pid, Signal, getsid, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const ANSWER: &str = "its supervisor starts it again";

/// A model at a provider, and runs that are left to themselves.
struct Stage {
    place: Place,
    server: ModelServer,
}

impl Stage {
    fn set(turn: Turn) -> Self {
        Self {
            place: Place::new(),
            server: ModelServer::start_blocking(Script::turns([turn])).expect("a server"),
        }
    }

    fn detach(&self, options: &[&str]) -> Said {
        let fixed = ["run", "--detach", "--model", "anthropic/mock-1"];
        let mut command = self
            .place
            .impresario(&[&fixed, options, &["explore", QUESTION]].concat());
        let url = format!("http://127.0.0.1:{}/v1", self.server.port());
        command
            .env("ANTHROPIC_API_KEY", "key-of-the-test-0123456789")
            .env("ANTHROPIC_BASE_URL", url);
        Said::of(command)
    }

    fn attach(&self, run: &str) -> Said {
        self.place.run(&["runs", "attach", run])
    }
}

impl Place {
    /// The processes that runs were left to.
    fn detached(&self) -> Vec<i32> {
        let ours = with_environment(&format!("HOME={}", self.home().display())).into_iter();
        ours.filter(|pid| command_line(*pid).contains("--detached-as"))
            .collect()
    }

    fn only_detached(&self) -> Pid {
        let detached = self.detached();
        let [pid] = detached.as_slice() else {
            panic!("{detached:?}")
        };
        Pid::from_raw(*pid).expect("a process id")
    }

    fn until_nothing_is_detached(&self) {
        until("a process of its own is still there", || {
            self.detached().is_empty()
        });
    }

    fn log(&self, run: &str) -> PathBuf {
        self.state().join(format!("logs/{run}.log"))
    }

    fn state_of(&self, run: &str) -> String {
        let shown = self.run(&["runs", "show", run, "--json"]).json_lines();
        shown[0]["state"].as_str().expect("a state").to_string()
    }
}

/// It printed an id and nothing else.
fn id_of(said: &Said) -> String {
    said.check(0);
    let id = said.stdout.trim_end();
    assert!(!id.is_empty() && !id.contains(char::is_whitespace), "{id:?}");
    id.to_string()
}

/// The command is under way, and said this.
fn until_said(child: &mut Child, words: &str) {
    let stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    let mut lines = stderr.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(words)), "{words} was never said");
    // It goes on to speak; somebody has to hear it.
    std::thread::spawn(move || lines.for_each(drop));
}

#[test]
fn a_detached_run_goes_on_without_its_command_and_is_followed_to_its_end() {
    let stage = Stage::set(Turn::text(ANSWER).behind_gate("attached"));
    let run = id_of(&stage.detach(&[]));
    let pid = stage.place.only_detached();
    assert_eq!(getsid(Some(pid)), Ok(pid), "no terminal ends it");
    let runs = stage.place.runs();
    assert_eq!((runs.len(), &runs[0]["run"]), (1, &Value::from(run.as_str())));

    let mut attach = stage.place.impresario(&["runs", "attach", &run]);
    let mut attached = attach
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    until_said(&mut attached, "attempt 1 on anthropic/mock-1");
    stage.server.open_gate("attached");
    let output = attached.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), ANSWER);

    stage.place.until_nothing_is_detached();
    let log = fs::read_to_string(stage.place.log(&run)).expect("a log");
    assert!(log.contains(ANSWER) && log.contains("answered"), "{log}");
    // Over, it is told at once, and as events too.
    let again = stage.attach(&run);
    again.check(0);
    assert_eq!(again.stdout.trim_end(), ANSWER);
    assert!(!again.stderr.contains("attempt 1"), "{}", again.stderr);
    let events = stage.place.run(&["runs", "--json", "attach", &run]).json_lines();
    let last = events.last().expect("events");
    assert!(last.to_string().contains("run_ended"), "{last}");
}

#[test]
fn who_leaves_an_attached_run_leaves_it_alone_and_who_cancels_it_ends_its_process() {
    let stage = Stage::set(Turn::text(ANSWER).behind_gate("never"));
    let said = stage.detach(&["--json"]);
    said.check(0);
    let line = said.json_lines().remove(0);
    let run = line["run"].as_str().expect("an id").to_string();
    assert_eq!(line["log"], stage.place.log(&run).display().to_string());

    let mut attach: Command = stage.place.impresario(&["runs", "attach", &run]);
    let mut attached = attach
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    until_said(&mut attached, "attempt 1 on");
    kill_process(Pid::from_child(&attached), Signal::INT).expect("it is there");
    assert_eq!(attached.wait().expect("it ends").code(), Some(130));
    assert_eq!(stage.place.state_of(&run), "running");

    stage.place.run(&["runs", "cancel", &run]).check(0);
    stage.place.until_nothing_is_detached();
    stage.attach(&run).check(3);
}

#[test]
fn a_detached_run_that_fails_ends_who_follows_it_as_it_would_have_ended_its_command() {
    let stage = Stage::set(Turn::fault(Fault::Unauthorized).behind_gate("attached"));
    let run = id_of(&stage.detach(&[]));
    stage.server.open_gate("attached");
    let followed = stage.attach(&run);
    followed.check(1);
    assert!(
        followed.stderr.contains("see `impresario trace"),
        "{}",
        followed.stderr
    );
    stage.place.until_nothing_is_detached();
}

#[test]
fn who_follows_a_detached_run_answers_its_questions() {
    let place = Place::new();
    let run = id_of(&place.run(&["run", "--detach", "explore", "fix it"]));
    let mut terminal = Terminal::start(place.impresario(&["runs", "attach", &run]));
    terminal.wait_for_text(PATIENCE, "> ");
    terminal.type_text(QUESTION);
    terminal.press(Key::Enter);
    assert_eq!(
        terminal.wait_for_end(PATIENCE),
        End::Exited(0),
        "{}",
        terminal.screen()
    );
    place.until_nothing_is_detached();
    let told = place.run(&["trace", &run, "--json"]).json_lines();
    let answered = told.iter().find(|step| step["type"] == "question_answered");
    assert!(answered.expect("an answer").to_string().contains(QUESTION));
    let log = fs::read_to_string(place.log(&run)).expect("a log");
    assert!(log.contains("asks: "), "{log}");
    let left = fs::read_dir(place.state().join("wishes")).expect("a directory");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_detached_process_that_is_killed_leaves_nothing_and_its_run_parked() {
    let place = Place::new();
    let pi = place.pi_that_hangs();
    let fixed = [
        "run",
        "--detach",
        "--runner",
        "pi",
        "--pi",
        &pi,
        "--model",
        "mock/mock-1",
    ];
    let said = place.run(&[&fixed[..], &["--unjudged", "explore", QUESTION]].concat());
    let run = id_of(&said);
    until("its sub-agent never began", || processes_of(&run) > 0);
    kill_process(place.only_detached(), Signal::KILL).expect("it is there");
    until("something outlived its run", || processes_of(&run) == 0);
    let followed = place.run(&["runs", "attach", &run]);
    followed.check(4);
    assert_eq!(place.state_of(&run), "parked");
    place.until_nothing_is_detached();
}

#[test]
fn what_is_not_accepted_is_said_by_the_command_and_leaves_no_log() {
    let place = Place::new();
    let said = place.run(&["run", "--detach", "explroe", QUESTION]);
    said.check(2);
    assert!(
        said.stderr.contains("explore") && said.stdout.is_empty(),
        "{}",
        said.stderr
    );
    assert_eq!(place.runs(), Vec::<Value>::new());
    let logs = fs::read_dir(place.state().join("logs")).expect("a directory");
    assert_eq!(logs.count(), 0);
    place.until_nothing_is_detached();
    let mut within = place.impresario(&["run", "--detach", "explore", QUESTION]);
    within.env("IMPRESARIO_RUN", "01kah3q000000000");
    let said = Said::of(within);
    said.check(2);
    assert!(
        said.stderr.contains("nothing outlives its run"),
        "{}",
        said.stderr
    );
}
