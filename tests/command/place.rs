//! The program in a place of its own: an empty home, a small workspace, nothing of the environment.

use crate::audit::Audit;
use impresario_actors::processes::marked_processes;
use impresario_test_support::programs::write_script;
use impresario_test_support::waiting;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_impresario");
pub const QUESTION: &str = "How does a crashed actor come back?";
/// Where the program keeps its state when only `HOME` is known.
const STATE_BELOW_HOME: &str = ".local/state/impresario";
/// The file of the workspace that answers it.
pub const ANSWERED_BY: &str = "src/revival.rs";

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    waiting::until(holds, || what.to_string());
}

/// How many processes carry the mark of a run.
pub fn processes_of(run: &str) -> usize {
    let marked = marked_processes().into_iter();
    marked.filter(|marked| marked.run.as_str() == run).count()
}

/// What a command said, and how it ended.
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    pub fn of(mut command: Command) -> Self {
        let output = command.output().expect("it runs");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    pub fn check(&self, code: i32) {
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        assert_eq!(self.code, Some(code), "stdout: {stdout}\nstderr: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }

    pub fn json_lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .collect()
    }
}

/// Where a test happens.
pub struct Place {
    _audit: Audit,
    directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("home").join(STATE_BELOW_HOME);
        let place = Self {
            _audit: Audit::of(state),
            directory,
        };
        fs::create_dir(place.home()).expect("a home");
        let files = [
            (
                ANSWERED_BY,
                "//! Revival.\n\n/// Brings a crashed actor back: its supervisor starts it again.\n\
                 pub fn restart_crashed_actor(actor: &str) -> String {\n    format!(\"{actor} comes back\")\n}\n",
            ),
            (
                "src/colours.rs",
                "/// Mixes two colours.\npub fn mix(red: u8, blue: u8) -> u8 {\n    red / 2 + blue / 2\n}\n",
            ),
            (
                "README.md",
                "# A small workspace\n\nIt has colours and other things.\n",
            ),
        ];
        for (path, text) in files {
            write(&place.workspace().join(path), text);
        }
        place
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.path().join("workspace")
    }

    /// Where the program keeps its state when only `HOME` is known.
    pub fn state(&self) -> PathBuf {
        self.home().join(STATE_BELOW_HOME)
    }

    /// The settings of the workspace.
    pub fn configure(&self, settings: Value) {
        let text = json!({ "impresario": settings }).to_string();
        write(&self.workspace().join(".pi/settings.json"), &text);
    }

    pub fn workspace_skill(&self, name: &str, text: &str) {
        let file = format!(".pi/skills/{name}/SKILL.md");
        write(&self.workspace().join(file), text);
    }

    pub fn home_skill(&self, name: &str, text: &str) {
        let file = format!(".pi/agent/skills/{name}/SKILL.md");
        write(&self.home().join(file), text);
    }

    /// Any program, as it would be started here.
    pub fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.workspace())
            .stdin(Stdio::null());
        command
    }

    /// As a script does it that trusts the workspace: nobody can be asked here.
    pub fn impresario(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(PROGRAM, arguments);
        let takes_what_is_there = matches!(
            arguments,
            ["run" | "skill" | "parallel" | "chain", ..] | ["trace", "report" | "view", ..]
        );
        if takes_what_is_there {
            command.arg("--trust");
        }
        command
    }

    /// As a script does it that says nothing of trust.
    pub fn wary(&self, arguments: &[&str]) -> Command {
        self.program(PROGRAM, arguments)
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.impresario(arguments))
    }

    /// What `runs --json` lists, the newest first.
    pub fn runs(&self) -> Vec<Value> {
        let said = self.run(&["runs", "--json"]);
        said.check(0);
        said.json_lines()
    }

    /// Puts a program in Pi's place.
    pub fn pi(&self, script: &str) {
        self.pi_that_says_its_version("echo 0.87.1", script);
    }

    /// The same, with its own way to say its version.
    pub fn pi_that_says_its_version(&self, version: &str, script: &str) {
        let script = format!("[ \"$1\" = --version ] && {version} && exit 0\n{script}");
        write_script(&self.path().join("pi"), &script);
    }

    /// A Pi that says one thing and ends well.
    pub fn pi_that_answers(&self, answer: &str) {
        self.pi(&says_and_ends(answer));
    }

    /// A Pi that says that it began, and hangs; where it lies.
    pub fn pi_that_hangs(&self) -> String {
        // It does not go when it is asked to.
        self.pi("trap '' TERM\necho '{\"type\":\"agent_start\"}'\nwhile :; do sleep 600; done");
        self.path().join("pi").to_string_lossy().into_owned()
    }

    /// A run whose sub-agent said that it began, and hangs.
    pub fn start_hanging(&self, options: &[&str]) -> Hanging {
        let pi = self.pi_that_hangs();
        let fixed = [
            "run",
            "--runner",
            "pi",
            "--pi",
            &pi,
            "--model",
            "mock/mock-1",
            "--unjudged",
        ];
        self.hang(&[&fixed[..], options, &["explore", QUESTION]].concat())
    }

    /// A command whose sub-agent hangs; it prints events.
    pub fn hang(&self, arguments: &[&str]) -> Hanging {
        let mut command = self.impresario(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut hanging = Hanging {
            stdout: BufReader::new(child.stdout.take().expect("its stdout")),
            stderr: BufReader::new(child.stderr.take().expect("its stderr")),
            child,
            heard: String::new(),
            complained: String::new(),
        };
        hanging.until_active();
        hanging
    }
}

/// A command whose sub-agent hangs.
pub struct Hanging {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    heard: String,
    complained: String,
}

impl Hanging {
    fn until_active(&mut self) {
        while !self.heard.contains("\"attempt_active\"") {
            let read = self.stdout.read_line(&mut self.heard).expect("text");
            if read == 0 {
                let complaint = self.rest_of_stderr();
                panic!("it ended: {}\n{complaint}", self.heard);
            }
        }
    }

    pub fn until_stderr_says(&mut self, word: &str) {
        while !self.complained.contains(word) {
            let read = self.stderr.read_line(&mut self.complained).expect("text");
            assert!(read > 0, "it ended: {}", self.complained);
        }
    }

    /// What it has printed so far.
    pub fn heard(&self) -> &str {
        &self.heard
    }

    pub fn run_id(&self) -> String {
        let first = self.heard.lines().next().expect("a line");
        let event: Value = serde_json::from_str(first).expect("JSON");
        event["run"].as_str().expect("an id").to_string()
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    fn rest_of_stderr(&mut self) -> String {
        let mut rest = String::new();
        let _ = self.stderr.read_to_string(&mut rest);
        rest
    }

    /// Everything it said, when it has ended.
    pub fn said(mut self) -> Said {
        self.stdout.read_to_string(&mut self.heard).expect("text");
        let rest = self.rest_of_stderr();
        self.complained.push_str(&rest);
        Said {
            code: self.child.wait().expect("it ends").code(),
            stdout: self.heard,
            stderr: self.complained,
        }
    }
}

/// The script of a Pi that says one thing and ends well.
pub fn says_and_ends(answer: &str) -> String {
    let message = json!({
        "type": "message_end",
        "message": {
            "role": "assistant",
            "content": [{ "type": "text", "text": answer }],
            "stopReason": "stop",
        },
    });
    let lines = [
        json!({ "type": "agent_start" }),
        message,
        json!({ "type": "agent_end", "messages": [] }),
        json!({ "type": "agent_settled" }),
    ];
    lines.map(|line| format!("echo '{line}'")).join("\n")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("a file");
}
