//! Results of sessions that Pi did not keep, in real Pi of both versions: Pi writes a session only after its own model
//! answered, so one with nothing but skills is gone when it is left. Its results are shown once more where it worked.

use crate::host::{PATIENCE, Stage, count, is_result, prompt, quit, talk};
use impresario_model_server::Turn;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::Version;
use impresario_test_support::processes::send;
use impresario_test_support::waiting::until;
use rustix::process::Signal;
use serde_json::{Value, json};

const FIRST: &str = "The first sub-agent found it.";
const SECOND: &str = "The second sub-agent found more.";

fn says(text: &'static str) -> impl Fn(&Value) -> bool {
    move |record| is_result(record) && record["message"]["content"].to_string().contains(text)
}

fn of_earlier(text: &'static str) -> impl Fn(&Value) -> bool {
    move |record| {
        says(text)(record)
            && record["message"]["content"]
                .to_string()
                .contains("in an earlier session here")
    }
}

fn new_session(pi: &mut JsonLines) {
    pi.say(&json!({"id": "new", "type": "new_session"}))
        .expect("Pi listens");
    pi.wait_for(PATIENCE, |record| {
        record["type"] == "response" && record["id"] == "new"
    });
}

/// Which results were delivered for good, the oldest first.
fn delivered(stage: &Stage) -> Vec<bool> {
    let mut runs = stage.runs();
    runs.reverse();
    runs.iter().map(|run| run["delivered"] == true).collect()
}

fn wait_for_delivered(stage: &Stage, wanted: &[bool]) {
    until(|| delivered(stage) == wanted, || format!("{:?}", stage.runs()));
}

#[test]
fn a_result_of_a_session_that_pi_did_not_keep_is_shown_on_the_next_start_until_it_is_kept() {
    for version in Version::ALL {
        for killed in [false, true] {
            let Some(stage) = Stage::set(version, "left results", [Turn::text(FIRST)]) else {
                return;
            };
            let mut pi = stage.rpc();
            prompt(&mut pi, "/skill:demo look around");
            pi.wait_for(PATIENCE, says(FIRST));
            match killed {
                true => {
                    send(pi.pid(), Signal::KILL);
                    drop(pi);
                }
                false => quit(pi),
            }
            assert_eq!(delivered(&stage), [false]);

            let mut pi = stage.rpc();
            pi.wait_for(PATIENCE, of_earlier(FIRST));
            talk(&mut pi, "What was found?");
            stage.wait_for_states(&["succeeded"]);
            assert_eq!(count(&pi, is_result), 1);
            quit(pi);

            let mut pi = stage.rpc();
            talk(&mut pi, "What was found?");
            assert_eq!(count(&pi, is_result), 0);
            quit(pi);
            stage.nothing_is_left();
        }
    }
}

#[test]
fn a_result_that_was_shown_again_is_read_when_the_person_goes_on_with_skills_only() {
    let script = || [Turn::text(FIRST), Turn::text(SECOND)];
    for stage in Stage::both("left results, skills only", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill:demo look around");
        pi.wait_for(PATIENCE, says(FIRST));
        quit(pi);

        let mut pi = stage.rpc();
        pi.wait_for(PATIENCE, of_earlier(FIRST));
        prompt(&mut pi, "/skill:demo look again");
        pi.wait_for(PATIENCE, says(SECOND));
        wait_for_delivered(&stage, &[true, false]);
        quit(pi);

        let pi = stage.rpc();
        pi.wait_for(PATIENCE, of_earlier(SECOND));
        assert_eq!(count(&pi, is_result), 1);
        quit(pi);
        stage.nothing_is_left();
    }
}

#[test]
fn a_session_beside_or_after_in_the_same_pi_is_not_shown_what_was_seen() {
    let script = || [Turn::text(FIRST), Turn::text(SECOND).behind_gate("go")];
    for stage in Stage::both("left results, side by side", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill:demo look around");
        pi.wait_for(PATIENCE, says(FIRST));

        let mut beside = stage.rpc();
        talk(&mut beside, "What was found?");
        assert_eq!(count(&beside, is_result), 0);
        quit(beside);

        // What is left while it works is shown where the person went.
        new_session(&mut pi);
        prompt(&mut pi, "/skill:demo look again");
        stage.wait_for_sub_agents(2);
        pi.say(&json!({"id": "newer", "type": "new_session"}))
            .expect("Pi listens");
        pi.wait_for(PATIENCE, |record| {
            record["type"] == "response" && record["id"] == "newer"
        });
        stage.server.open_gate("go");
        pi.wait_for(PATIENCE, of_earlier(SECOND));
        talk(&mut pi, "What was found?");
        assert_eq!((count(&pi, says(FIRST)), count(&pi, says(SECOND))), (1, 1));
        // Who leaves before the runtime knows that it was read is shown it once more.
        wait_for_delivered(&stage, &[false, true]);
        quit(pi);

        let mut pi = stage.rpc();
        pi.wait_for(PATIENCE, of_earlier(FIRST));
        talk(&mut pi, "What was found?");
        stage.wait_for_states(&["succeeded", "succeeded"]);
        assert_eq!(count(&pi, is_result), 1);
        quit(pi);
        stage.nothing_is_left();
    }
}
