//! `impresario chain` as a person and a script meet it.

use crate::place::{ANSWERED_BY, Place, QUESTION, Said, processes_of, until};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

#[test]
fn a_step_is_told_what_the_one_before_it_said_and_its_gate_runs_where_it_worked() {
    let place = Place::new();
    let said = place.chain(
        &["--json", "--task", "a crashed actor"],
        "agent: explore\n\
         steps:\n\
         - {id: find, task: 'How does {task} come back?', gate: [test, -f, src/revival.rs]}\n\
         - {id: judge, task: 'Is that so? {previous}', context: Be short.}\n",
    );
    said.check(0);
    let lines = said.json_lines();
    let goal_of = |id: &str| {
        let line = lines
            .iter()
            .find(|line| line["type"] == "run_briefed" && line["subtask"] == id);
        line.expect("a brief")["brief"]["userGoal"]
            .as_str()
            .expect("a goal")
            .to_string()
    };
    assert_eq!(goal_of("find"), "How does a crashed actor come back?");
    let second = goal_of("judge");
    assert!(
        second.starts_with("Is that so? ")
            && second.contains(ANSWERED_BY)
            && second.ends_with("## Context\nBe short."),
        "{second}"
    );
    let gate = lines
        .iter()
        .find(|line| line["type"] == "gate_ended")
        .expect("a gate");
    assert_eq!(gate["ending"], json!({"how": "exited", "code": 0}));
    assert_eq!(gate["proof"]["processes_left"], 0);
    let at = |kind: &str, id: &str| {
        let here = |line: &&Value| line["type"] == kind && line["subtask"] == id;
        lines.iter().find(here).expect("a step")["at_ms"]
            .as_u64()
            .expect("a time")
    };
    assert!(at("run_ended", "find") <= at("run_briefed", "judge"));
    let last = lines.last().expect("a line");
    assert_eq!(
        (&last["type"], &last["state"]),
        (&json!("group_ended"), &json!("succeeded"))
    );
    assert_eq!(
        last["text"], last["members"][1]["text"],
        "what its last step said"
    );
}

#[test]
fn a_closed_gate_ends_the_chain_or_is_told_to_the_next_step() {
    let place = Place::new();
    let chain = format!(
        "agent: explore\n\
         steps:\n\
         - {{id: find, task: '{QUESTION}', gate: [sh, -c, 'echo checked; echo not so >&2; exit 3']}}\n\
         - {{id: judge, task: Is that so?}}\n\
         - {{id: write, task: Write it down.}}\n"
    );
    let said = place.chain(&[], &chain);
    said.check(1);
    let not_begun = "Not begun, because the step \"find\" before it failed.";
    assert_eq!(said.stdout.matches(not_begun).count(), 2, "{}", said.stdout);
    assert!(said.stdout.contains("exit code 3: "), "{}", said.stdout);
    let runs = place.runs();
    assert!(runs.iter().all(|run| run["state"] == "failed"), "{runs:?}");
    assert_eq!(place.traces(), 1, "what was not begun says nothing of its agent");

    let collected = place.chain(&["--json"], &format!("on_failure: collect\n{chain}"));
    collected.check(1);
    let last = collected.json_lines().pop().expect("a line");
    let states = last["members"].as_array().expect("members").iter();
    let states = states.map(|member| member["state"].as_str().expect("a state"));
    assert_eq!(states.collect::<Vec<_>>(), ["failed", "succeeded", "succeeded"]);
    assert!(
        collected.stdout.contains("(from find, FAILED: error)"),
        "{}",
        collected.stdout
    );
}

#[test]
fn a_chain_that_cannot_be_meant_is_told_with_its_place_and_nothing_runs() {
    let place = Place::new();
    let refused = |options: &[&str], text: &str, words: &str| {
        let said = place.chain(options, text);
        said.check(2);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    };
    refused(&[], "steps:\n- {agent: explore, taks: x}", "chain.yaml:2:");
    refused(
        &[],
        "steps:\n- {agent: explore, task: '{previous}'}",
        "chain.yaml:2:26: ",
    );
    refused(
        &[],
        "steps:\n- {agent: explore, task: '{task}'}",
        "say what it is asked for",
    );
    refused(
        &["--task", "x"],
        "steps:\n- {agent: explore, task: y}",
        "nobody would read",
    );
    refused(&[], "steps:\n- {agent: nobody, task: y}", "nobody");
    let unknown = place.run(&["chain", "release"]);
    unknown.check(2);
    assert!(unknown.stderr.contains(".pi/chains"), "{}", unknown.stderr);
    assert_eq!(place.runs(), Vec::<Value>::new());
}

#[test]
fn a_chain_of_the_workspace_is_found_by_its_name_where_the_workspace_is_trusted() {
    let place = Place::new();
    let file = place.workspace().join(".pi/chains/look.yaml");
    fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    fs::write(
        file,
        format!("steps:\n- {{agent: explore, task: '{QUESTION}'}}\n"),
    )
    .expect("a file");
    let said = place.run(&["chain", "look"]);
    said.check(0);
    assert!(said.stdout.contains(ANSWERED_BY), "{}", said.stdout);
    let wary = Said::of(place.wary(&["chain", "look", "--no-trust"]));
    wary.check(2);
    assert!(wary.stderr.contains("not trusted"), "{}", wary.stderr);
}

#[test]
fn the_chain_in_the_documentation_runs() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/chains.md")).expect("a page");
    let after = page.split("```yaml\n").nth(1).expect("an example");
    let example = after.split("```").next().expect("its end");
    let place = Place::new();
    let said = place.chain(&["--json", "--task", "a crashed actor"], example);
    said.check(0);
    let last = said.json_lines().pop().expect("a line");
    assert_eq!(last["members"].as_array().expect("members").len(), 4);
}

#[test]
fn killed_in_a_gate_nothing_is_left_and_no_finished_step_runs_again() {
    let place = Place::new();
    let waiting = Waiting::start(&place);
    let (group, at_gate) = (waiting.group.clone(), waiting.at_gate.clone());
    waiting.kill();
    until("the gate's command is gone", || processes_of(&at_gate) == 0);
    // The next command finds what is left of it; nobody knows what the gate did.
    fs::write(place.workspace().join("open"), "").expect("a file");
    let resumed = place.run(&["chain", "--resume", &group]);
    resumed.check(0);
    assert!(resumed.stdout.contains(ANSWERED_BY), "{}", resumed.stdout);
    let states = place.states_by_task();
    let expected = [
        ("find", vec!["succeeded"]),
        ("judge", vec!["parked", "succeeded"]),
        ("write", vec!["parked", "succeeded"]),
    ];
    assert_eq!(
        states,
        expected.map(|(id, states)| (id.to_string(), states.into_iter().map(str::to_string).collect()))
    );
    let tries = fs::read_to_string(place.workspace().join("gate.log")).expect("a log");
    assert_eq!(
        tries.lines().count(),
        2,
        "once for the killed command, once for who resumed it"
    );
    let of_resumed = place.steps_of("judge", "succeeded");
    assert!(
        !of_resumed.contains(&"attempt_started".to_string()),
        "the work is not done again: {of_resumed:?}"
    );
    let of_parked = place.steps_of("judge", "parked");
    assert!(
        of_parked.contains(&"gate_indeterminate".to_string()),
        "{of_parked:?}"
    );
}

#[test]
fn one_interrupt_ends_a_gate_and_the_chain() {
    let place = Place::new();
    let waiting = Waiting::start(&place);
    let at_gate = waiting.at_gate.clone();
    waiting.interrupt();
    let said = waiting.said();
    said.check(3);
    assert_eq!(processes_of(&at_gate), 0);
    assert!(place.runs().iter().take(2).all(|run| run["state"] == "cancelled"));
}

/// The later one begins when this one is over, so it would hear the question too late.
#[test]
fn a_step_that_asks_a_later_one_is_told_that_it_would_wait_for_itself() {
    let place = Place::new();
    let waiting = Waiting::start(&place);
    let later = place.runs_oldest_first()[2].1["run"].clone();
    let later = later.as_str().expect("an id");
    let mut ask = place.impresario(&["ask", later, "how far are you?"]);
    ask.env("IMPRESARIO_RUN", &waiting.at_gate);
    let said = Said::of(ask);
    said.check(1);
    let why = format!(
        "run {later} is a later step of the chain of run {}",
        waiting.at_gate
    );
    assert!(
        said.stderr.contains("(wait_cycle)") && said.stderr.contains(&why),
        "{}",
        said.stderr
    );
    // From outside there is nobody who would wait for it.
    place.run(&["steer", later, "be short"]).check(0);
    waiting.interrupt();
    waiting.said().check(3);
}

/// A chain whose second step stands at its gate.
struct Waiting {
    child: Child,
    out: PathBuf,
    group: String,
    /// The run that stands there.
    at_gate: String,
}

impl Waiting {
    fn start(place: &Place) -> Self {
        let gate = "echo tried >> gate.log; while [ ! -f open ]; do sleep 0.02; done";
        let chain = format!(
            "agent: explore\n\
             steps:\n\
             - {{id: find, task: '{QUESTION}'}}\n\
             - {{id: judge, task: Is that so?, gate: [sh, -c, '{gate}']}}\n\
             - {{id: write, task: '{{steps.find}}'}}\n"
        );
        let file = place.workspace().join("chain.yaml");
        fs::write(&file, chain).expect("a file");
        let out = place.path().join("out");
        let mut command = place.impresario(&["chain", "--json", "chain.yaml"]);
        command
            .stdout(fs::File::create(&out).expect("a file"))
            .stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        let log = place.workspace().join("gate.log");
        until("the gate is tried", || {
            fs::read_to_string(&log).is_ok_and(|log| log.ends_with('\n'))
        });
        let text = fs::read_to_string(&out).expect("text");
        let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        Self {
            child,
            out,
            group: first["group"].as_str().expect("a group").to_string(),
            at_gate: first["members"][1]["run"].as_str().expect("a run").to_string(),
        }
    }

    fn kill(mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    fn interrupt(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it is there");
    }

    fn said(mut self) -> Said {
        let status = self.child.wait().expect("it ends");
        Said {
            code: status.code(),
            stdout: fs::read_to_string(&self.out).expect("text"),
            stderr: String::new(),
        }
    }
}

impl Place {
    fn chain(&self, options: &[&str], text: &str) -> Said {
        fs::write(self.workspace().join("chain.yaml"), text).expect("a file");
        self.run(&[&["chain"], options, &["chain.yaml"]].concat())
    }

    fn runs_oldest_first(&self) -> Vec<(String, Value)> {
        let mut runs = self.runs();
        runs.reverse();
        let named = runs.into_iter().map(|run| {
            let task = run["task"].as_str().expect("a task").to_string();
            (task.split(" — ").next().expect("an id").to_string(), run)
        });
        named.collect()
    }

    /// The states of the runs of each step, the oldest first.
    fn states_by_task(&self) -> [(String, Vec<String>); 3] {
        let runs = self.runs_oldest_first();
        ["find", "judge", "write"].map(|id| {
            let of_id = runs.iter().filter(|(task, _)| task == id);
            let states = of_id.map(|(_, run)| run["state"].as_str().expect("a state").to_string());
            (id.to_string(), states.collect())
        })
    }

    /// The kinds of steps of the run of this step that ended so.
    fn steps_of(&self, id: &str, state: &str) -> Vec<String> {
        let runs = self.runs_oldest_first();
        let found = runs
            .iter()
            .find(|(task, run)| task == id && run["state"] == state);
        let run = found.expect("a run").1["run"]
            .as_str()
            .expect("an id")
            .to_string();
        let said = self.run(&["trace", "--json", &run]);
        said.check(0);
        let lines = said.json_lines().into_iter();
        lines
            .map(|line| line["type"].as_str().unwrap_or_default().to_string())
            .collect()
    }
}
