//! A day's sessions in real Pi of both versions: a refactor with a question, a tool result that is too large, a provider
//! without capacity, a runtime that is killed in each phase of a run, sessions that change under a run, and a skill
//! that stopped working.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, brief_rule, count, is_notice, is_result, prompt,
    session_file, submit_and_see, switch, talk, verdict, wait_for_file,
};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::pi::Version;
use impresario_test_support::programs::write_script;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

/// What the sub-agent of a later run says.
const LATER: &str = "It looked again and found nothing new.";

/// The judge's replies; the last one is repeated.
fn judge(verdicts: impl IntoIterator<Item = Turn>) -> Rule {
    let rule = Rule::new("judge").system_contains("# Impresario: judge");
    verdicts.into_iter().fold(rule, Rule::turn).repeat()
}

fn passes() -> Turn {
    Turn::text(&verdict(None).to_string())
}

fn asks(question: &str) -> Turn {
    Turn::text(&verdict(Some(question)).to_string())
}

fn sub_agent(turns: impl IntoIterator<Item = Turn>) -> Rule {
    let rule = Rule::new("sub-agent").user_contains("User Goal: ");
    turns.into_iter().fold(rule, Rule::turn)
}

fn main_agent() -> Rule {
    Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat()
}

/// Answers the next question with this text.
fn answer_question(pi: &mut JsonLines, seen: usize, question: &str, reply: &str) -> usize {
    let (seen, asked) = pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "input");
    assert!(asked.to_string().contains(question), "{asked}");
    answer(pi, &asked, reply);
    seen
}

fn text_of(result: &Value) -> String {
    result["message"]["content"].to_string()
}

/// Pi goes and nothing is left; the journal holds these runs, all of them kept by the host. Pi writes the session's file
/// with the first answer of its own model, so there is one.
fn end(stage: &Stage, mut pi: JsonLines, states: &[&str]) {
    talk(&mut pi, "Thank you.");
    stage.wait_for_states(states);
    stage.end(pi);
}

/// Runs a skill to its result, which must be its own. Results are posted in the order in which they came: what should not
/// be posted, and waits until the main agent is idle, would come before it.
fn run_later(pi: &mut JsonLines) {
    let seen = pi.said().records.len();
    prompt(pi, "/skill demo look again");
    let (_, result) = pi.wait_for_behind(seen, PATIENCE, is_result);
    assert!(text_of(&result).contains(LATER), "{result}");
}

pub fn kill_runtime(stage: &Stage) {
    kill_process(stage.runtime_pid(), Signal::KILL).expect("the runtime runs");
}

#[test]
fn a_refactor_asks_once_is_judged_again_and_changes_the_files() {
    let script = || {
        Script::new()
            .rule(brief_rule())
            .rule(judge([asks("Which of the two?"), asks("Which of the two?"), passes()]))
            .rule(sub_agent([
                Turn::tool("read", json!({"path": "src/shape.rs"})),
                Turn::tool(
                    "edit",
                    json!({"path": "src/shape.rs", "edits": [{"oldText": "fn area_of_square", "newText": "fn area"}]}),
                ),
                Turn::tool("write", json!({"path": "src/lib.rs", "content": "mod shape;\n"})),
                Turn::text(ANSWER),
            ])).rule(main_agent())
    };
    for stage in Stage::both_with("day: refactor", script) {
        stage.sandbox.write_work_file(
            "src/shape.rs",
            "fn area_of_square(side: u32) -> u32 { side * side }\n",
        );
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo rename the function");
        answer_question(&mut pi, 0, "Which of the two?", "the square");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        let written = |path: &str| fs::read_to_string(stage.sandbox.work().join(path)).unwrap_or_default();
        assert_eq!(
            written("src/shape.rs"),
            "fn area(side: u32) -> u32 { side * side }\n"
        );
        assert_eq!(written("src/lib.rs"), "mod shape;\n");
        let judged = ["brief", "judge", "brief", "judge", "brief", "judge"];
        let worked = ["sub-agent"; 4];
        assert_eq!(stage.callers(), [&judged[..], &worked[..]].concat());
        let briefed = &stage.server.ledger().calls()[4].body;
        assert!(briefed.to_string().contains("the square"), "{briefed}");
        assert_eq!(count(&pi, |record| record["method"] == "input"), 1);
        end(&stage, pi, &["succeeded"]);
    }
}

#[test]
fn a_result_that_is_too_large_is_read_page_by_page() {
    let script = || {
        let page = |offset: u32| {
            Turn::tool(
                "overflow_read",
                json!({"id": "overflow_1", "offset": offset, "limit": 4000}),
            )
        };
        let seeks = Turn::tool("overflow_search", json!({"id": "overflow_1", "query": "001199"}));
        [
            Turn::tool(
                "bash",
                json!({"command": "seq -f 'line %06g of a long result' 1 1200"}),
            ),
            page(0),
            page(4000),
            seeks,
            Turn::text(ANSWER),
        ]
    };
    for stage in Stage::both("day: overflow", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo count");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        let calls = stage.server.ledger().calls();
        let seen: Vec<String> = calls[3..].iter().map(last_tool_result).collect();
        assert!(
            seen[0].contains("overflow_1") && seen[0].len() < 25_000,
            "{}",
            seen[0]
        );
        assert!(
            seen[1].contains("000100") && !seen[1].contains("000200"),
            "{}",
            seen[1]
        );
        assert!(
            seen[2].contains("000200") && !seen[2].contains("000400"),
            "{}",
            seen[2]
        );
        assert!(seen[3].contains("001199"), "{}", seen[3]);
        end(&stage, pi, &["succeeded"]);
    }
}

fn last_tool_result(call: &impresario_model_server::Call) -> String {
    let messages = call.body["messages"].as_array().expect("messages");
    let mut results = messages.iter().filter(|message| message["role"] == "tool");
    results
        .next_back()
        .map(|message| message["content"].to_string())
        .unwrap_or_default()
}

#[test]
fn a_provider_without_capacity_costs_a_few_calls_and_the_next_model_answers_or_the_run_fails_in_words() {
    for version in Version::ALL {
        for fallback in [true, false] {
            let storm = Rule::new("storm")
                .model("mock-1")
                .user_contains("User Goal: ")
                .turn(Turn::overloaded())
                .repeat();
            let script = Script::new()
                .rule(brief_rule())
                .rule(judge([passes()]))
                .rule(storm)
                .rule(sub_agent([Turn::text(ANSWER)]))
                .rule(main_agent());
            let Some(stage) = Stage::set_with(version, "day: storm", script) else {
                return;
            };
            if fallback {
                let settings = r#"{"impresario": {"fallbackModels": ["mock/mock-other"]}}"#;
                stage.sandbox.write_work_file(".pi/settings.json", settings);
            }
            let mut pi = stage.rpc();
            prompt(&mut pi, "/skill demo look around");
            let result = pi.wait_for(PATIENCE, is_result);
            let storms = stage.callers().iter().filter(|caller| *caller == "storm").count();
            assert_eq!(storms, 3, "{:?}", stage.callers());
            if fallback {
                assert!(text_of(&result).contains(ANSWER), "{result}");
                end(&stage, pi, &["succeeded"]);
            } else {
                let words = text_of(&result);
                assert!(
                    words.contains("mock/mock-1") && words.contains("verloaded"),
                    "{words}"
                );
                end(&stage, pi, &["failed"]);
            }
        }
    }
}

// --- the runtime is killed -------------------------------------------------------------------------------------

#[test]
fn killed_while_judging_it_judges_again() {
    let script = || {
        Script::new()
            .rule(brief_rule())
            .rule(judge([passes().behind_gate("go"), passes()]))
            .rule(sub_agent([Turn::text(ANSWER)]))
            .rule(main_agent())
    };
    for stage in Stage::both_with("day: killed while judging", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_calls_of("judge", 1);
        kill_runtime(&stage);
        stage.server.open_gate("go");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        assert_eq!(count(&pi, is_result), 1);
        end(&stage, pi, &["succeeded"]);
    }
}

#[test]
fn killed_while_it_waits_for_the_person_it_asks_again() {
    let script = || {
        Script::new()
            .rule(brief_rule())
            .rule(judge([asks("Which one?"), asks("Which one?"), passes()]))
            .rule(sub_agent([Turn::text(ANSWER)]))
            .rule(main_agent())
    };
    for stage in Stage::both_with("day: killed while asking", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        let (seen, _) = pi.wait_for_behind(0, PATIENCE, |record| record["method"] == "input");
        kill_runtime(&stage);
        answer_question(&mut pi, seen, "Which one?", "the second");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        assert_eq!(count(&pi, is_result), 1);
        end(&stage, pi, &["succeeded"]);
    }
}

#[test]
fn killed_while_the_nested_pi_starts_it_starts_one_again() {
    for stage in Stage::both("day: killed at the start", || [Turn::text(ANSWER)]) {
        let (program, held) = (
            stage.sandbox.bin().join("held-pi"),
            stage.sandbox.bin().join("held"),
        );
        let install = stage.scenario.install();
        // Only what is to be a sub-agent is held; its stage.scenario.version() is told at once.
        let script = format!(
            "case \" $* \" in *' rpc '*) echo $$ >> '{0}'; while [ ! -e '{0}.go' ]; do sleep 0.05; done;; esac\nexec '{1}' '{2}' \"$@\"",
            held.display(),
            install.node.display(),
            install.cli.display()
        );
        write_script(&program, &script);
        let mut pi = JsonLines::start(stage.pi(&["--mode", "rpc"]).env("IMPRESARIO_PI", &program));
        prompt(&mut pi, "/skill demo look around");
        wait_for_file(&held, "\n");
        kill_runtime(&stage);
        fs::write(held.with_extension("go"), "").expect("the way is open");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        assert_eq!((count(&pi, is_result), stage.callers().len()), (1, 3));
        end(&stage, pi, &["succeeded"]);
    }
}

#[test]
fn killed_while_a_tool_runs_that_must_not_run_twice_the_run_is_parked_and_says_so() {
    let script = || {
        let command = "echo once >> ran.txt; sleep 300";
        let works = Turn::tool("bash", json!({ "command": command }));
        [works]
    };
    for stage in Stage::both("day: killed in a tool", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo work");
        let ran = stage.sandbox.work().join("ran.txt");
        wait_for_file(&ran, "once");
        kill_runtime(&stage);
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains("cut off"), "{result}");
        assert_eq!(result["message"]["details"]["state"], "parked", "{result}");
        let run = result["message"]["details"]["run"].as_str().expect("an id");
        assert!(
            text_of(&result).contains(&format!("/skill:resume {run} goes on")),
            "{result}"
        );
        assert_eq!(fs::read_to_string(&ran).expect("it ran"), "once\n");
        assert_eq!(count(&pi, is_result), 1);
        end(&stage, pi, &["parked"]);
    }
}

#[test]
fn killed_with_an_answer_that_its_session_does_not_have_yet_it_is_delivered_there_once() {
    let script = || {
        let held = Turn::text(ANSWER).behind_gate("go");
        [held]
    };
    for stage in Stage::both("day: killed before delivery", script) {
        let mut pi = stage.rpc();
        talk(&mut pi, "Hello.");
        let first = session_file(&mut pi);
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        switch(&mut pi, &json!({"type": "new_session"}));
        stage.server.open_gate("go");
        stage.wait_for_ended(1);
        kill_runtime(&stage);
        pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
        talk(&mut pi, "Hello again.");
        assert_eq!(count(&pi, is_result), 0, "another session is open");
        switch(&mut pi, &json!({"type": "switch_session", "sessionPath": first}));
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        stage.wait_for_states(&["succeeded"]);
        assert_eq!(count(&pi, is_result), 1);
        assert_eq!(
            fs::read_to_string(&first)
                .expect("the session")
                .matches(ANSWER)
                .count(),
            1
        );
        end(&stage, pi, &["succeeded"]);
    }
}

#[test]
fn killed_between_delivery_and_acknowledgement_the_result_stands_there_once() {
    let script = || [Turn::text(ANSWER), Turn::text(LATER)];
    for stage in Stage::both("day: killed after delivery", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for(PATIENCE, is_result);
        stage.wait_for_ended(1);
        // Pi writes the session's file with the first answer of its model: so far the result is only shown.
        assert_eq!(stage.runs()[0]["delivered"], json!(false));
        kill_runtime(&stage);
        pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
        talk(&mut pi, "What was found?");
        stage.wait_for_states(&["succeeded"]);
        run_later(&mut pi);
        let file = session_file(&mut pi);
        assert_eq!(
            fs::read_to_string(&file)
                .expect("the session")
                .matches(ANSWER)
                .count(),
            1
        );
        assert_eq!((count(&pi, is_result), stage.callers().len()), (2, 7));
        end(&stage, pi, &["succeeded"; 2]);
    }
}

// --- sessions change under a run -------------------------------------------------------------------------------

#[test]
fn a_result_waits_for_its_own_session_through_a_fork() {
    let script = || [Turn::text(ANSWER).behind_gate("go"), Turn::text(LATER)];
    for stage in Stage::both("day: fork under a run", script) {
        let mut pi = stage.rpc();
        talk(&mut pi, "Hello.");
        let first = session_file(&mut pi);
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        switch(&mut pi, &json!({"type": "clone"}));
        assert_ne!(session_file(&mut pi), first);
        stage.server.open_gate("go");
        stage.wait_for_ended(1);
        talk(&mut pi, "Hello again.");
        run_later(&mut pi);
        assert_eq!(
            count(&pi, is_result),
            1,
            "the run belongs to the session it was asked for in"
        );
        let seen = pi.said().records.len();
        switch(&mut pi, &json!({"type": "switch_session", "sessionPath": first}));
        let (_, result) = pi.wait_for_behind(seen, PATIENCE, is_result);
        assert!(text_of(&result).contains(ANSWER), "{result}");
        assert_eq!(count(&pi, is_result), 2);
        end(&stage, pi, &["succeeded"; 2]);
    }
}

#[test]
fn a_reload_changes_nothing_for_a_run() {
    let script = || {
        let held = Turn::text(ANSWER).behind_gate("go");
        [held]
    };
    for stage in Stage::both("day: reload under a run", script) {
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, "/skill demo look around", "esc cancels");
        stage.wait_for_sub_agents(1);
        submit_and_see(&mut terminal, "/reload", "Reloaded");
        stage.server.open_gate("go");
        let screen = terminal.wait_for_text(PATIENCE, ANSWER);
        assert_eq!(screen.matches(ANSWER).count(), 1, "{screen}");
        assert_eq!(stage.callers(), ["brief", "judge", "sub-agent"]);
        terminal.press(impresario_test_support::terminal::Key::Control('d'));
        assert_eq!(terminal.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

// --- a skill that stopped working ------------------------------------------------------------------------------

#[test]
fn a_skill_that_stopped_working_is_warned_of_once_even_through_a_restart() {
    let script = || {
        let refuses = sub_agent([Turn::text(ANSWER), Turn::refusal("I will not.")]).repeat();
        Script::new()
            .rule(brief_rule())
            .rule(judge([passes()]))
            .rule(refuses)
            .rule(main_agent())
    };
    for stage in Stage::both_with("day: degraded skill", script) {
        let settings = r#"{"impresario": {"traceObservability": {"degradationConsecutiveFailures": 2}, "maxJudgeIterations": 0}}"#;
        stage.sandbox.write_work_file(".pi/settings.json", settings);
        let mut pi = stage.rpc();
        // Pi writes the session's file with the first answer of its own model; from then on a result is kept at once.
        talk(&mut pi, "Hello.");
        let mut seen = 0;
        for run in 1..=5 {
            if run == 5 {
                kill_runtime(&stage);
                pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
            }
            prompt(&mut pi, "/skill demo look around");
            (seen, _) = pi.wait_for_behind(seen, PATIENCE, is_result);
            stage.wait_for_ended(run);
        }
        pi.wait_for(PATIENCE, is_alert);
        let states = ["succeeded", "failed", "failed", "failed", "failed"];
        stage.wait_for_states(&states);
        assert_eq!(count(&pi, is_alert), 1);
        end(&stage, pi, &states);
    }
}

fn is_alert(record: &Value) -> bool {
    is_notice(record, "Degradation detected")
}
