//! `impresario parallel` as a person and a script meet it.

use crate::place::{ANSWERED_BY, Hanging, Place, QUESTION, Said, processes_of};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

#[test]
fn sub_tasks_are_answered_in_the_order_of_the_file() {
    let place = Place::new();
    let said = place.parallel(&[], &two());
    said.check(0);
    let (first, second) = said.stdout.split_once("### colours — ").expect("both");
    let heading = format!("## Parallel sub-agent synthesis\n\n### actors — {QUESTION}\n");
    assert!(first.starts_with(&heading), "{first}");
    assert!(
        first.contains(ANSWERED_BY) && second.contains("src/colours.rs"),
        "{}",
        said.stdout
    );
    for progress in ["actors: admitted", "colours: answered", "impresario: group "] {
        assert!(said.stderr.contains(progress), "{}", said.stderr);
    }
    assert_eq!(place.traces(), 2, "a trace each");
    assert!(place.runs().iter().all(|run| run["state"] == "succeeded"));
}

#[test]
fn sub_tasks_come_from_stdin_too_and_have_the_instructions_of_a_skill() {
    let place = Place::new();
    place.workspace_skill("look", "---\ndescription: looks\n---\nLook around.\n");
    let file = place.path().join("subtasks.json");
    fs::write(&file, two().to_string()).expect("a file");
    let mut command = place.impresario(&["parallel", "--skill", "look", "-"]);
    command.stdin(Stdio::from(fs::File::open(&file).expect("a file")));
    let said = Said::of(command);
    said.check(0);
    assert!(said.stdout.contains(ANSWERED_BY), "{}", said.stdout);
    assert_eq!(place.runs()[0]["what"], json!({"kind": "skill", "name": "look"}));
}

#[test]
fn sub_tasks_can_have_an_agent_of_a_file() {
    let place = Place::new();
    let file = place.workspace().join(".pi/sub-agents/scout.yaml");
    fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    fs::write(file, "name: scout\ndescription: d\nsystem_prompt: Look.\n").expect("a file");
    let said = place.parallel(&["--agent", "scout"], &two());
    said.check(0);
    assert_eq!(place.runs()[0]["what"], json!({"kind": "agent", "name": "scout"}));
}

#[test]
fn a_file_that_cannot_be_meant_is_told_with_its_place_and_nothing_runs() {
    let place = Place::new();
    let refused = |text: &str, words: &str| {
        let said = place.parallel_text(&[], text);
        said.check(2);
        assert!(
            said.stderr.contains("subtasks.json: line ") && said.stderr.contains(words),
            "{}",
            said.stderr
        );
    };
    refused("[{\"id\": \"a\"}]", "line 1, sub-task 1: missing field `goal`");
    refused(
        "[{\"id\": \"a\", \"goal\": \"g\"},\n {\"id\": \"b\", \"goal\": 1}]",
        "line 2, sub-task 2, goal: ",
    );
    refused(
        "[{\"id\": \"a\", \"goal\": \"g\"},\n{\"id\": \"a\", \"goal\": \"g\"}]",
        "\"a\" is the id of sub-task 1 already",
    );
    refused("[\n{", "line 2: expected a list of sub-tasks");
    let missing = place.run(&["parallel", "nowhere.json"]);
    missing.check(2);
    assert!(missing.stderr.contains("nowhere.json"), "{}", missing.stderr);
    assert_eq!(place.runs(), Vec::<Value>::new());
    let nothing = place.parallel_text(&[], "[]");
    nothing.check(0);
    assert_eq!(nothing.stdout, "");
}

#[test]
fn a_settings_file_can_forbid_it_and_sets_its_limits() {
    let place = Place::new();
    place.set_for_groups(json!({ "enabled": false }));
    let refused = place.parallel(&[], &two());
    refused.check(1);
    let words = "parallelSubagents.enabled=false — refusing to run";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);

    place
        .set_for_groups(json!({ "maxSubagents": 1, "perWorkerOutputCharCap": 60, "totalTimeoutMs": 50_000 }));
    let capped = place.parallel(&[], &two());
    capped.check(0);
    assert_eq!(
        capped.stdout.matches("[…worker output truncated]").count(),
        2,
        "{}",
        capped.stdout
    );
    let place_of = |words: &str| capped.stderr.find(words).expect("a line");
    assert!(
        place_of("actors: succeeded") < place_of("colours: admitted"),
        "{}",
        capped.stderr
    );
    let whole = place.parallel(&["--max-output-chars", "0"], &two());
    assert!(!whole.stdout.contains("truncated"), "{}", whole.stdout);
}

#[test]
fn events_are_json_lines_from_the_first_to_the_last() {
    let place = Place::new();
    let said = place.parallel(&["--json", "--max-output-chars", "60"], &two());
    said.check(0);
    let lines = said.json_lines();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(first["type"], "group_started");
    assert_eq!(first["members"][1]["id"], "colours");
    assert_eq!(last["type"], "group_ended");
    assert_eq!(last["group"], first["group"]);
    assert_eq!(last["state"], "succeeded");
    assert_eq!(last["members"][0]["run"], first["members"][0]["run"]);
    assert_eq!(last["members"][0]["truncated"], true);
    assert_eq!(last["members"][0]["stopped_reason"], "completed");
    let ended = lines.iter().filter(|line| line["type"] == "run_ended");
    let mut ended = ended.map(|line| line["subtask"].as_str()).collect::<Vec<_>>();
    ended.sort_unstable();
    assert_eq!(ended, [Some("actors"), Some("colours")]);
}

#[test]
fn one_interrupt_cancels_all_and_nothing_is_left() {
    let place = Place::new();
    let hanging = place.start_hanging_group(&["--json", "--concurrency", "1"], &two());
    let runs = hanging.members();
    hanging.interrupt();
    let said = hanging.said();
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let last = said.json_lines().pop().expect("a line");
    assert_eq!(last["state"], "cancelled");
    assert_eq!(last["members"][1]["state"], "cancelled", "one that waited");
    assert!(runs.iter().all(|run| processes_of(run) == 0));
    assert!(place.runs().iter().all(|run| run["state"] == "cancelled"));
}

#[test]
fn a_killed_group_is_parked_by_the_next_command_and_resumed_as_a_whole() {
    let place = Place::new();
    let hanging = place.start_hanging_group(&["--json"], &two());
    let group = hanging.first_line()["group"]
        .as_str()
        .expect("a group")
        .to_string();
    hanging.kill();
    assert_eq!(hanging.said().code, None, "it was killed");

    place.pi_that_answers("It is in the lock.");
    let pi = place.path().join("pi").to_string_lossy().into_owned();
    let resumed = place.run(&[
        "parallel",
        "--runner",
        "pi",
        "--pi",
        &pi,
        "--model",
        "mock/mock-1",
        "--resume",
        &group,
    ]);
    resumed.check(0);
    assert_eq!(
        resumed.stdout,
        format!(
            "## Parallel sub-agent synthesis\n\n### actors — {QUESTION}\nIt is in the lock.\n\n\
             ### colours — Where are two colours mixed?\nIt is in the lock.\n"
        )
    );
    let runs = place.runs();
    let states = runs.iter().map(|run| run["state"].as_str().expect("a state"));
    assert_eq!(
        states.collect::<Vec<_>>(),
        ["succeeded", "succeeded", "parked", "parked"]
    );
    let unknown = place.run(&["parallel", "--resume", "0000000000000000"]);
    unknown.check(2);
}

fn two() -> Value {
    json!([
        { "id": "actors", "goal": QUESTION },
        { "id": "colours", "goal": "Where are two colours mixed?" },
    ])
}

impl Place {
    fn parallel(&self, options: &[&str], subtasks: &Value) -> Said {
        self.parallel_text(options, &subtasks.to_string())
    }

    fn parallel_text(&self, options: &[&str], text: &str) -> Said {
        fs::write(self.workspace().join("subtasks.json"), text).expect("a file");
        self.run(&[&["parallel"], options, &["subtasks.json"]].concat())
    }

    fn start_hanging_group(&self, options: &[&str], subtasks: &Value) -> Hanging {
        fs::write(self.workspace().join("subtasks.json"), subtasks.to_string()).expect("a file");
        let pi = self.pi_that_hangs();
        let fixed = [
            "parallel",
            "--runner",
            "pi",
            "--pi",
            &pi,
            "--model",
            "mock/mock-1",
        ];
        self.hang(&[&fixed[..], options, &["subtasks.json"]].concat())
    }

    fn set_for_groups(&self, parallel: Value) {
        self.configure(json!({ "parallelSubagents": parallel }));
    }

    pub fn traces(&self) -> usize {
        let entries = fs::read_dir(self.workspace().join(".pi/traces"));
        let is_trace = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == "json");
        entries.map_or(0, |entries| entries.flatten().filter(is_trace).count())
    }
}

impl Hanging {
    fn first_line(&self) -> Value {
        let first = self.heard().lines().next().expect("a line");
        serde_json::from_str(first).expect("JSON")
    }

    fn members(&self) -> Vec<String> {
        let first = self.first_line();
        let members = first["members"].as_array().expect("members").iter();
        members
            .map(|member| member["run"].as_str().expect("an id").to_string())
            .collect()
    }
}
