//! Going on with a run of real Pi, both versions: in Pi, on the command line, and where host and runtime are both dead.
//! What was paid for is not paid for again, and what was done is not done again.


use impresario_model_server::{Fault, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::Version;
use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, brief_rule, count, is_notice, is_result, prompt, verdict,
    wait_for_file,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// Does something that must not happen twice, then waits for a model that never answers; the next one does.
fn worked_then_waits() -> Script {
    let once = Turn::tool("bash", json!({ "command": "echo once >> ran.txt" }));
    let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
    Script::new()
        .rule(brief_rule())
        .rule(judge([verdict(None)]))
        .rule(
            sub_agent
                .turn(once)
                .turn(Turn::text("never").behind_gate("never"))
                .turn(Turn::text(ANSWER)),
        )
        .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
}

fn judge(verdicts: impl IntoIterator<Item = Value>) -> Rule {
    let rule = Rule::new("judge").system_contains("# Impresario: judge");
    let turns = verdicts
        .into_iter()
        .map(|verdict| Turn::text(&verdict.to_string()));
    turns.fold(rule, Rule::turn).repeat()
}

/// Lets a skill work in Pi until it waits for its model, and the journal has what it did before.
fn at_work(stage: &Stage) -> JsonLines {
    let mut pi = stage.rpc();
    prompt(&mut pi, "/skill demo work");
    stage.wait_for_sub_agents(2);
    let run = id_of(&stage.runs()[0]);
    let began = Instant::now();
    // Pi asks its model as soon as the tool is done; that it is done is on its way to us at that moment.
    while !impresario(stage, &["trace", "--json", &run])
        .records()
        .iter()
        .any(|step| step["type"] == "tool_ended")
    {
        assert!(
            began.elapsed() < PATIENCE,
            "the end of the tool never reached the journal"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    pi
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process id"), Signal::KILL).expect("it runs");
}

fn impresario(stage: &Stage, arguments: &[&str]) -> Finished {
    let mut command = stage.sandbox.command(env!("CARGO_BIN_EXE_impresario"));
    run(command.args(arguments), "", PATIENCE)
}

fn id_of(run: &Value) -> String {
    run["run"].as_str().expect("an id").to_string()
}

/// Actor and judge were asked once, the nested session went on, and what it did was done once.
fn nothing_was_paid_or_done_twice(stage: &Stage) {
    went_on_after(stage, (1, 1));
}

/// Actor and judge were asked so often, the nested session went on, and what it did was done once.
fn went_on_after(stage: &Stage, (briefs, judged): (usize, usize)) {
    let callers = stage.callers();
    let of = |rule: &str| callers.iter().filter(|caller| *caller == rule).count();
    assert_eq!(
        (of("brief"), of("judge"), of("sub-agent")),
        (briefs, judged, 3),
        "{callers:?}"
    );
    let ran = fs::read_to_string(stage.sandbox.work().join("ran.txt")).expect("it ran");
    assert_eq!(ran, "once\n");
    let calls = stage.server.ledger().calls();
    let last = calls
        .iter()
        .rev()
        .find(|call| call.rule.as_deref() == Some("sub-agent"));
    let last = last.expect("a call").body.to_string();
    assert!(last.contains("echo once"), "the session went on: {last}");
    assert!(last.contains("a person wants you to go on"), "{last}");
}

#[test]
fn a_parked_run_goes_on_in_pi_and_its_notice_says_how() {
    for version in Version::ALL {
        let Some(stage) = Stage::set_with(version, "resume: in pi", worked_then_waits()) else {
            return;
        };
        let pi = at_work(&stage);
        kill(pi.pid());
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        drop(pi);

        // The same session again: what was parked is told there, and how to go on.
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill:resume");
        let (_, asked) = pi.wait_for_behind(0, PATIENCE, |record| record["method"] == "select");
        let options = asked["options"].as_array().expect("options").clone();
        assert!(
            options[0].as_str().expect("a line").starts_with(&parked),
            "{asked}"
        );
        pi.say(&json!({"type": "extension_ui_response", "id": asked["id"], "value": options[0]}))
            .expect("Pi listens");
        let result = pi.wait_for(PATIENCE, |record| {
            is_result(record) && record.to_string().contains(ANSWER)
        });
        assert_eq!(result["message"]["details"]["state"], "succeeded", "{result}");
        nothing_was_paid_or_done_twice(&stage);
        let newest = &stage.runs()[0];
        assert_eq!(newest["resumes"], json!(parked), "{newest}");

        // Once is enough, and there is nothing left to choose from.
        let seen = pi.said().records.len();
        prompt(&mut pi, &format!("/skill:resume {parked}"));
        pi.wait_for_behind(seen, PATIENCE, |record| {
            is_notice(record, "already and has succeeded")
        });
        let seen = pi.said().records.len();
        prompt(&mut pi, "/skill:resume");
        pi.wait_for_behind(seen, PATIENCE, |record| {
            is_notice(record, "There is no run to go on with")
        });
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

/// Where nobody judges and no model writes the brief, the task is the brief: it stays that of the run that goes on.
#[test]
fn a_brief_that_no_model_wrote_is_not_asked_for_again() {
    for version in Version::ALL {
        let refused = Turn::fault(Fault::Unauthorized);
        let brief = Rule::new("brief").system_contains("# Impresario: brief");
        let mut script = worked_then_waits();
        script.rules[0] = brief.turn(refused).turn(Turn::text("{}")).repeat();
        let Some(stage) = Stage::set_with(version, "resume: unwritten brief", script) else {
            return;
        };
        let settings = json!({ "impresario": { "maxJudgeIterations": 0 } });
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let pi = at_work(&stage);
        kill(pi.pid());
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        drop(pi);

        let resumed = stage.print(&format!("/skill:resume {parked}"));
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        went_on_after(&stage, (1, 0));
        stage.nothing_is_left();
    }
}

#[test]
fn a_run_of_pi_goes_on_on_the_command_line() {
    for version in Version::ALL {
        let Some(stage) = Stage::set_with(version, "resume: command line", worked_then_waits()) else {
            return;
        };
        let pi = at_work(&stage);
        kill(pi.pid());
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        let shown = impresario(&stage, &["runs", "show", &parked]);
        assert!(
            shown.stdout.contains(&format!("impresario runs resume {parked}")),
            "{}",
            shown.stdout
        );

        let resumed = impresario(&stage, &["runs", "resume", &parked]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        assert_eq!(resumed.stdout.trim_end(), ANSWER);
        nothing_was_paid_or_done_twice(&stage);
        let again = impresario(&stage, &["runs", "resume", &parked]);
        assert_eq!(again.end, End::Exited(2), "{}", again.stderr);
        drop(pi);
        stage.nothing_is_left();
    }
}

#[test]
fn a_run_whose_host_and_runtime_are_dead_says_so_and_is_taken_over() {
    for version in Version::ALL {
        let Some(stage) = Stage::set_with(version, "resume: both dead", worked_then_waits()) else {
            return;
        };
        let pi = at_work(&stage);
        // Stopped first, so that it cannot park the run when it sees its host go.
        let runtime = stage.runtime_pid();
        kill_process(runtime, Signal::STOP).expect("it runs");
        kill(pi.pid());
        kill_process(runtime, Signal::KILL).expect("it is stopped");
        drop(pi);

        let listed = stage.runs();
        assert_eq!(
            (&listed[0]["state"], &listed[0]["cut_off"]),
            (&json!("running"), &json!(true))
        );
        let cut_off = id_of(&listed[0]);
        let told = impresario(&stage, &["runs"]);
        let advice = format!("impresario runs resume {cut_off}");
        assert!(
            told.stdout.contains("cut off") && told.stdout.contains(&advice),
            "{}",
            told.stdout
        );

        let resumed = impresario(&stage, &["runs", "resume", &cut_off]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        assert_eq!(resumed.stdout.trim_end(), ANSWER);
        nothing_was_paid_or_done_twice(&stage);
        let states: Vec<Value> = stage.runs().iter().map(|run| run["state"].clone()).collect();
        assert_eq!(states, [json!("succeeded"), json!("parked")]);
        stage.nothing_is_left();
    }
}

#[test]
fn a_question_that_was_open_is_asked_again_without_another_pass() {
    for version in Version::ALL {
        let script = Script::new()
            .rule(brief_rule())
            .rule(judge([
                verdict(Some("Which one?")),
                verdict(Some("Which one?")),
                verdict(None),
            ]))
            .rule(
                Rule::new("sub-agent")
                    .user_contains("User Goal: ")
                    .turn(Turn::text(ANSWER)),
            )
            .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat());
        let Some(stage) = Stage::set_with(version, "resume: open question", script) else {
            return;
        };
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for_behind(0, PATIENCE, |record| record["method"] == "input");
        let paid = stage.callers().len();
        kill(pi.pid());
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        drop(pi);

        let mut pi = stage.rpc();
        prompt(&mut pi, &format!("/skill:resume {}", &parked[..parked.len() - 2]));
        let (_, asked) = pi.wait_for_behind(0, PATIENCE, |record| record["method"] == "input");
        assert!(asked.to_string().contains("Which one?"), "{asked}");
        assert_eq!(
            stage.callers().len(),
            paid,
            "nobody was asked again before the person"
        );
        pi.say(&json!({"type": "extension_ui_response", "id": asked["id"], "value": "the second"}))
            .expect("Pi listens");
        pi.wait_for(PATIENCE, |record| {
            is_result(record) && record.to_string().contains(ANSWER)
        });
        assert_eq!(count(&pi, |record| record["method"] == "input"), 1);
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn without_a_screen_the_runs_are_listed_and_one_goes_on_to_its_end() {
    for version in Version::ALL {
        let Some(stage) = Stage::set_with(version, "resume: print mode", worked_then_waits()) else {
            return;
        };
        let pi = at_work(&stage);
        wait_for_file(&stage.sandbox.work().join("ran.txt"), "once");
        kill(pi.pid());
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        drop(pi);
        let which = stage.print("/skill:resume");
        assert_eq!(which.end, End::Exited(1), "{}", which.stderr);
        assert!(which.stderr.contains(&parked), "{}", which.stderr);
        let resumed = stage.print(&format!("/skill:resume {parked}"));
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        assert!(resumed.stdout.contains(ANSWER), "{}", resumed.stdout);
        nothing_was_paid_or_done_twice(&stage);
    }
}
