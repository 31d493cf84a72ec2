//! Going on with a run of real Pi, both versions: in Pi, on the command line, and where host and runtime are both dead.
//! What was paid for is not paid for again, and what was done is not done again.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, brief_rule, count, is_notice, is_result, prompt, verdict,
    wait_for_file,
};
use impresario_model_server::{Fault, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::processes::send;
use impresario_test_support::waiting::until;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

/// Does something that must not happen twice, then waits for a model that never answers; the next one does.
fn worked_then_waits() -> Script {
    worked_and_then(Turn::text("never").behind_gate("never"))
}

/// Does something that must not happen twice, meets this, and answers when it is asked again.
fn worked_and_then(met: Turn) -> Script {
    let once = Turn::tool("bash", json!({ "command": "echo once >> ran.txt" }));
    let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
    Script::new()
        .rule(brief_rule())
        .rule(judge([verdict(None)]))
        .rule(sub_agent.turn(once).turn(met).turn(Turn::text(ANSWER)))
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
    // Pi asks its model as soon as the tool is done; that it is done is on its way to us at that moment.
    let is_told = || {
        let steps = stage.impresario(&["trace", "--json", &run]).records();
        steps.iter().any(|step| step["type"] == "tool_ended")
    };
    until(is_told, || "the end of the tool in the journal".to_string());
    pi
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
    for stage in Stage::both_with("resume: in pi", worked_then_waits) {
        let pi = at_work(&stage);
        send(pi.pid(), Signal::KILL);
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
        answer(&mut pi, &asked, options[0].clone());
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
        stage.end(pi);
    }
}

/// Where nobody judges and no model writes the brief, the task is the brief: it stays that of the run that goes on.
#[test]
fn a_brief_that_no_model_wrote_is_not_asked_for_again() {
    let script = || {
        let refused = Turn::fault(Fault::Unauthorized);
        let brief = Rule::new("brief").system_contains("# Impresario: brief");
        let mut script = worked_then_waits();
        script.rules[0] = brief.turn(refused).turn(Turn::text("{}")).repeat();
        script
    };
    for stage in Stage::both_with("resume: unwritten brief", script) {
        let settings = json!({ "impresario": { "maxJudgeIterations": 0 } });
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let pi = at_work(&stage);
        send(pi.pid(), Signal::KILL);
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
    for stage in Stage::both_with("resume: command line", worked_then_waits) {
        let pi = at_work(&stage);
        send(pi.pid(), Signal::KILL);
        stage.wait_for_ended(1);
        let parked = id_of(&stage.runs()[0]);
        let shown = stage.impresario(&["runs", "show", &parked]);
        assert!(
            shown.stdout.contains(&format!("impresario runs resume {parked}")),
            "{}",
            shown.stdout
        );

        let resumed = stage.impresario(&["runs", "resume", &parked]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        assert_eq!(resumed.stdout.trim_end(), ANSWER);
        nothing_was_paid_or_done_twice(&stage);
        let again = stage.impresario(&["runs", "resume", &parked]);
        assert_eq!(again.end, End::Exited(2), "{}", again.stderr);
        drop(pi);
        stage.nothing_is_left();
    }
}

#[test]
fn a_run_whose_host_and_runtime_are_dead_says_so_and_is_taken_over() {
    for stage in Stage::both_with("resume: both dead", worked_then_waits) {
        let pi = at_work(&stage);
        // Stopped first, so that it cannot park the run when it sees its host go.
        let runtime = stage.runtime_pid();
        kill_process(runtime, Signal::STOP).expect("it runs");
        send(pi.pid(), Signal::KILL);
        kill_process(runtime, Signal::KILL).expect("it is stopped");
        drop(pi);

        let listed = stage.runs();
        assert_eq!(
            (&listed[0]["state"], &listed[0]["cut_off"]),
            (&json!("running"), &json!(true))
        );
        let cut_off = id_of(&listed[0]);
        let told = stage.impresario(&["runs"]);
        let advice = format!("impresario runs resume {cut_off}");
        assert!(
            told.stdout.contains("cut off") && told.stdout.contains(&advice),
            "{}",
            told.stdout
        );

        let resumed = stage.impresario(&["runs", "resume", &cut_off]);
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
    let script = || {
        Script::new()
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
            .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
    };
    for stage in Stage::both_with("resume: open question", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for_behind(0, PATIENCE, |record| record["method"] == "input");
        let paid = stage.callers().len();
        send(pi.pid(), Signal::KILL);
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
        answer(&mut pi, &asked, "the second");
        pi.wait_for(PATIENCE, |record| {
            is_result(record) && record.to_string().contains(ANSWER)
        });
        assert_eq!(count(&pi, |record| record["method"] == "input"), 1);
        stage.end(pi);
    }
}

#[test]
fn without_a_screen_the_runs_are_listed_and_one_goes_on_to_its_end() {
    for stage in Stage::both_with("resume: print mode", worked_then_waits) {
        let pi = at_work(&stage);
        wait_for_file(&stage.sandbox.work().join("ran.txt"), "once");
        send(pi.pid(), Signal::KILL);
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

#[test]
fn a_run_that_failed_is_gone_on_with_where_it_was_when_what_stopped_it_is_over() {
    let refused_once = || worked_and_then(Turn::fault(Fault::Unauthorized));
    for stage in Stage::both_with("resume: failed", refused_once) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo work");
        let failed = pi.wait_for(PATIENCE, is_result);
        let run = id_of(&stage.runs()[0]);
        assert_eq!(failed["message"]["details"]["state"], "failed", "{failed}");
        let advice = format!("/skill:resume {run} goes on with it.");
        assert!(failed.to_string().contains(&advice), "{failed}");

        // It stands among those to choose from as well.
        let seen = pi.said().records.len();
        prompt(&mut pi, "/skill:resume");
        let (_, asked) = pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "select");
        let line = asked["options"][0].as_str().expect("a line").to_string();
        assert!(line.starts_with(&format!("{run} failed: demo")), "{asked}");
        answer(&mut pi, &asked, json!(line));
        pi.wait_for_behind(seen, PATIENCE, |record| {
            is_result(record) && record.to_string().contains(ANSWER)
        });
        nothing_was_paid_or_done_twice(&stage);
        stage.end(pi);
    }
}
