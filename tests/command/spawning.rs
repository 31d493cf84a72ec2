//! What a sub-agent can start by calling the program itself: nothing, unless that is set, and then not without end.

use crate::place::{Place, QUESTION, Said};
use serde_json::{Value, json};
use std::fs;

impl Place {
    /// As a command of the sub-agent of this run would start it; by a person where there is none.
    fn explore_within(&self, run: Option<&str>) -> Said {
        let mut command = self.impresario(&["run", "--json", "explore", QUESTION]);
        if let Some(run) = run {
            command.env("IMPRESARIO_RUN", run);
        }
        Said::of(command)
    }

    fn sub_agents_may_start_others(&self, deep: u32, together: u32) {
        let settings = json!({"impresario": {"admission": {"maxDepth": deep, "maxTreeRuns": together}}});
        let directory = self.home().join(".pi/agent");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("settings.json"), settings.to_string()).expect("settings");
    }
}

fn accepted(said: &Said) -> Value {
    said.check(0);
    said.json_lines().remove(0)
}

fn run_of(event: &Value) -> String {
    event["run"].as_str().expect("an id").to_string()
}

#[track_caller]
fn refused(said: &Said, why: &str) {
    assert_ne!(said.code, Some(0), "{}", said.stdout);
    assert!(said.stderr.contains(why), "{}", said.stderr);
}

#[test]
fn a_sub_agent_starts_no_others_and_gives_itself_no_leave() {
    let place = Place::new();
    let run = run_of(&accepted(&place.explore_within(None)));
    refused(
        &place.explore_within(Some(&run)),
        "a sub-agent may start no others",
    );
    // What holds for the run around it holds for it, whatever is set meanwhile.
    place.sub_agents_may_start_others(3, 9);
    refused(
        &place.explore_within(Some(&run)),
        "a sub-agent may start no others",
    );
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn where_they_may_they_start_neither_too_many_nor_too_deep() {
    let place = Place::new();
    place.sub_agents_may_start_others(1, 2);
    let root = run_of(&accepted(&place.explore_within(None)));
    let first = accepted(&place.explore_within(Some(&root)));
    let tree = &first["request"]["terms"]["tree"];
    assert_eq!(
        *tree,
        json!({"root": root, "depth": 1, "parent": root}),
        "{first}"
    );
    refused(&place.explore_within(Some(&run_of(&first))), "2 deep");
    accepted(&place.explore_within(Some(&root)));
    refused(
        &place.explore_within(Some(&root)),
        "started 2 others below one run",
    );
    let other = run_of(&accepted(&place.explore_within(None)));
    accepted(&place.explore_within(Some(&other)));
    assert_eq!(place.runs().len(), 5);
}
