//! Real Pi, both versions, below the command line: what the journal says of tool calls, and whose loss it is when a
//! process of ours dies.

use crate::below::{Stage, with_both};
use crate::host::PATIENCE;
use impresario_model_server::{Fault, Place, Rule, Script, ToolCall, Turn, Usage};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::{MOCK_MODEL, MOCKA_MODEL};
use impresario_test_support::processes::{has_environment, parent_of, send, with_environment};
use impresario_test_support::waiting::until_some;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Command;

const ANSWER: &str = "It is done.";
const TASK: &str = "Note in effects.txt that it is done.";
const OTHER_MODEL: &str = "mock/mock-other";
const EFFECT: &str = "echo done >> effects.txt";

impl Stage {
    fn skill_on(&self, models: &[&str]) -> Command {
        let mut command = self.command(&["skill", "--trust", "--runner", "pi", "--json", "--unjudged"]);
        for model in models {
            command.args(["--model", model]);
        }
        command.args(["demo", TASK]);
        command
    }

    fn run_on(&self, models: &[&str]) -> Finished {
        run(&mut self.skill_on(models), "", PATIENCE)
    }

    fn start_on(&self, models: &[&str]) -> JsonLines {
        JsonLines::start(&mut self.skill_on(models))
    }

    fn effects(&self) -> String {
        self.written("effects.txt")
    }

    fn body_of_last_call(&self) -> String {
        let calls = self.server.ledger().calls();
        calls.last().expect("a call of the model").body.to_string()
    }
}

/// A call with an id of the provider's choice.
fn bash(id: &str, command: &str) -> Turn {
    Turn {
        tools: vec![ToolCall {
            name: "bash".to_string(),
            arguments: json!({ "command": command }),
            id: Some(id.to_string()),
        }],
        ..Turn::default()
    }
}

fn model(turns: impl IntoIterator<Item = Turn>) -> Script {
    let rule = Rule::new("model");
    Script::new().rule(turns.into_iter().fold(rule, Rule::turn))
}

fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

/// Every call that the journal knows: it begins once, with its arguments, and ends once.
#[track_caller]
fn check_calls(records: &[Value], calls: &[&str], cut_off: &[&str]) {
    let names = |kind: &str| {
        of_type(records, kind)
            .iter()
            .map(|record| {
                format!(
                    "{}/{}",
                    record["attempt"],
                    record["call"].as_str().unwrap_or_default()
                )
            })
            .collect::<Vec<_>>()
    };
    let started = names("tool_started");
    assert_eq!(started, calls, "{records:?}");
    assert_eq!(names("tool_indeterminate"), cut_off, "{records:?}");
    let ended = calls
        .iter()
        .filter(|call| !cut_off.contains(call))
        .collect::<Vec<_>>();
    assert_eq!(
        names("tool_ended").iter().collect::<Vec<_>>(),
        ended,
        "{records:?}"
    );
    for start in of_type(records, "tool_started") {
        assert!(
            start["arguments"]
                .as_str()
                .is_some_and(|given| given.contains("effects.txt") || given.contains("command")),
            "{start}"
        );
    }
}

#[track_caller]
fn check_end(records: &[Value], end: End, state: &str) {
    let ended = records.last().expect("events");
    assert_eq!(ended["type"], "run_ended", "{ended}");
    assert_eq!(ended["state"], state, "{ended}");
    assert_eq!(ended["proof"]["processes_left"], 0, "{ended}");
    assert_eq!(end == End::Exited(0), state == "succeeded", "{end:?}");
}

fn endings(records: &[Value]) -> Vec<String> {
    let ended = of_type(records, "attempt_ended");
    let ending = |record: &&Value| record["ending"].as_str().unwrap_or_default().to_string();
    ended.iter().map(ending).collect()
}

/// The first process that carries this mark: its parent does not. Pi gives itself another name, so its command line
/// says nothing.
fn first_with(variable: &str, run: &str) -> u32 {
    let mark = format!("{variable}={run}");
    let is_first = |pid: &i32| parent_of(*pid).is_some_and(|parent| !has_environment(parent, &mark));
    let first = until_some(
        || with_environment(&mark).into_iter().find(is_first),
        || format!("no process with {mark}"),
    );
    first.unsigned_abs()
}

#[derive(Clone, Copy)]
enum Victim {
    Pi,
    Keeper,
}

impl Victim {
    fn kill(self, run: &str) {
        let pid = match self {
            Self::Pi => first_with("IMPRESARIO_RUN", run),
            Self::Keeper => first_with("IMPRESARIO_KEEPER", run),
        };
        send(pid, Signal::KILL);
    }
}

/// The run's id, once an event of this kind came for this call.
fn wait_for_call(skill: &mut JsonLines, kind: &str, call: &str) -> String {
    let event = skill.wait_for(PATIENCE, |event| event["type"] == kind && event["call"] == call);
    event["run"].as_str().expect("the run has an id").to_string()
}

fn end_of(skill: &mut JsonLines) -> (End, Vec<Value>) {
    let end = skill.wait_for_end(PATIENCE);
    (end, skill.said().records)
}

/// What changes something, and does it once.
fn changing_tools() -> [(&'static str, Turn); 2] {
    let write = Turn {
        tools: vec![ToolCall {
            name: "write".to_string(),
            arguments: json!({"path": "effects.txt", "content": "done\n"}),
            id: Some("call_0".to_string()),
        }],
        ..Turn::default()
    };
    [("bash", bash("call_0", EFFECT)), ("write", write)]
}

/// A tool changes something, then the first model fails like this for good: `other` goes on and nothing is done twice.
fn goes_on_after(fault: &Turn, other: &str, name: &str) {
    for (tool, turn) in changing_tools() {
        let script = || {
            let first = Rule::new("first").model("mock-1").turn(turn.clone());
            let second = Rule::new("second").turn(Turn::text(ANSWER));
            Script::new()
                .rule(first.turn(fault.clone()).repeat())
                .rule(second.repeat())
        };
        with_both(&format!("tool calls: {name} after {tool}"), script, |stage| {
            // A silent provider is left after five seconds, the least that can be set.
            stage.configure(json!({"inactivityTimeoutMs": 5_000}));
            let finished = stage.run_on(&[MOCK_MODEL, other]);
            let records = finished.records();
            check_end(&records, finished.end, "succeeded");
            check_calls(&records, &["1/1.1:call_0"], &[]);
            assert_eq!(stage.effects(), "done\n");
            assert_eq!(endings(&records).last().map(String::as_str), Some("answered"));
            let started = of_type(&records, "attempt_started");
            let last = started.last().expect("an attempt");
            assert_eq!(last["model"], other, "{last}");
            assert_eq!(last["resumes_session"], true, "{last}");
            let told = stage.body_of_last_call();
            assert!(
                told.contains("effects.txt") && !told.contains("Nobody knows"),
                "{told}"
            );
            let run = last["run"].as_str().expect("the run has an id");
            let shown = stage.run(&["runs", "show", run]).stdout;
            assert!(shown.contains("On mock/mock-1, "), "why it was left: {shown}");
        });
    }
}

#[test]
fn a_provider_without_capacity_after_a_finished_tool_falls_back_and_nothing_is_doubted() {
    goes_on_after(&Turn::overloaded(), OTHER_MODEL, "529");
}

#[test]
fn refused_credentials_after_a_finished_tool_are_left_for_another_provider_which_goes_on() {
    goes_on_after(&Turn::fault(Fault::Unauthorized), MOCKA_MODEL, "401");
}

#[test]
fn a_provider_that_hangs_after_a_finished_tool_is_left_and_the_next_one_goes_on() {
    goes_on_after(&Turn::fault(Fault::HangBeforeHeaders), OTHER_MODEL, "hang");
}

#[test]
fn a_stream_that_is_cut_in_the_middle_of_a_tool_call_begins_no_tool_and_is_repeated() {
    let script = || {
        let cut = bash("call_1", "echo twice >> effects.txt");
        model([
            bash("call_0", EFFECT),
            cut.and_fault(Fault::Cut {
                at: Place::MidToolCall,
            }),
            Turn::text(ANSWER),
        ])
    };
    with_both("tool calls: cut in a tool call", script, |stage| {
        let finished = stage.run_on(&[MOCK_MODEL]);
        let records = finished.records();
        check_end(&records, finished.end, "succeeded");
        check_calls(&records, &["1/1.1:call_0"], &[]);
        assert_eq!(endings(&records), ["unavailable", "answered"]);
        assert_eq!(stage.effects(), "done\n");
        let told = stage.body_of_last_call();
        assert!(told.contains(EFFECT) && !told.contains("Nobody knows"), "{told}");
    });
}

#[test]
fn a_command_that_hangs_is_stopped_by_its_clock_said_to_be_unknown_and_a_person_is_asked() {
    let script = || model([bash("call_0", "echo done >> effects.txt; sleep 301")]);
    with_both("tool calls: a command that hangs", script, |stage| {
        stage.configure(json!({"inactivityTimeoutMs": 5_000, "toolTimeoutMs": 5_000}));
        let finished = stage.run_on(&[MOCK_MODEL, OTHER_MODEL]);
        let records = finished.records();
        check_end(&records, finished.end, "parked");
        check_calls(&records, &["1/1.1:call_0"], &["1/1.1:call_0"]);
        assert_eq!(endings(&records), ["inactivity"]);
        assert_eq!(stage.effects(), "done\n");
        let ended = records.last().expect("its end");
        let why = ended["reason"]["message"].as_str().expect("a reason");
        assert!(
            why.contains("`bash` (echo done") && why.contains("was cut off"),
            "{why}"
        );
        let run = ended["run"].as_str().expect("the run has an id");
        let shown = stage.run(&["runs", "show", run]).stdout;
        assert!(shown.contains("impresario runs resume"), "it asks: {shown}");
    });
}

#[test]
fn an_id_that_the_provider_gives_again_names_another_call_and_a_cut_one_is_told() {
    let script = || {
        model([
            bash("call_0", EFFECT),
            bash("call_0", EFFECT),
            bash("call_0", "sleep 301"),
        ])
    };
    with_both("tool calls: an id again", script, |stage| {
        let mut skill = stage.start_on(&[MOCK_MODEL]);
        let run = wait_for_call(&mut skill, "tool_started", "3.1:call_0");
        Victim::Pi.kill(&run);
        let (end, records) = end_of(&mut skill);
        check_end(&records, end, "parked");
        check_calls(
            &records,
            &["1/1.1:call_0", "1/2.1:call_0", "1/3.1:call_0"],
            &["1/3.1:call_0"],
        );
        assert_eq!(stage.effects(), "done\ndone\n");
    });
}

/// A finished tool, then this process is killed while the model thinks: the same model goes on.
fn killed_after_a_tool(victim: Victim, name: &str) {
    let script = || {
        model([
            bash("call_0", EFFECT),
            Turn::text("never").behind_gate("never"),
            Turn::text(ANSWER),
        ])
    };
    with_both(name, script, |stage| {
        let mut skill = stage.start_on(&[MOCK_MODEL]);
        let run = wait_for_call(&mut skill, "tool_ended", "1.1:call_0");
        stage.wait_for_calls(2);
        victim.kill(&run);
        let (end, records) = end_of(&mut skill);
        check_end(&records, end, "succeeded");
        assert_eq!(endings(&records), ["lost", "answered"]);
        assert_eq!(
            tokens_used(&records),
            [(100, 10), (100, 10)],
            "it was heard before"
        );
        check_calls(&records, &["1/1.1:call_0"], &[]);
        assert_eq!(stage.effects(), "done\n");
        let told = stage.body_of_last_call();
        assert!(told.contains(EFFECT) && !told.contains("Nobody knows"), "{told}");
    });
}

/// Rules stand in the nested session: who goes on with it has them.
#[test]
fn a_killed_sub_agent_that_goes_on_is_not_given_the_same_rules_again() {
    let script = || {
        model([
            bash("call_0", "cat src/a.ts"),
            Turn::text("never").behind_gate("never"),
            bash("call_1", "cat src/ui/b.ts"),
            Turn::text(ANSWER),
        ])
    };
    with_both("tool calls: rules after a kill", script, |stage| {
        for (path, text) in [
            ("src/AGENTS.md", "Use \"tabs\" here – 日本."),
            ("src/ui/AGENTS.md", "No colours."),
            ("src/a.ts", "a"),
            ("src/ui/b.ts", "b"),
        ] {
            stage.sandbox.write_work_file(path, text);
        }
        let mut skill = stage.start_on(&[MOCK_MODEL]);
        let run = wait_for_call(&mut skill, "tool_ended", "1.1:call_0");
        stage.wait_for_calls(2);
        Victim::Pi.kill(&run);
        let (end, records) = end_of(&mut skill);
        check_end(&records, end, "succeeded");
        assert_eq!(endings(&records), ["lost", "answered"]);
        let told = stage.body_of_last_call();
        assert_eq!(told.matches("tabs").count(), 1, "{told}");
        assert_eq!(told.matches("No colours.").count(), 1, "{told}");
    });
}

/// No tool yet: the attempt is repeated, and the second model of the chain is not asked.
fn killed_before_a_tool(victim: Victim, name: &str) {
    let script = || {
        let first = Rule::new("first")
            .model("mock-1")
            .turn(Turn::text("never").behind_gate("never"))
            .turn(Turn::text(ANSWER));
        let second = Rule::new("second").model("mock-other").turn(Turn::text("wrong"));
        Script::new().rule(first).rule(second.repeat())
    };
    with_both(name, script, |stage| {
        let mut skill = stage.start_on(&[MOCK_MODEL, OTHER_MODEL]);
        let begun = skill.wait_for(PATIENCE, |event| event["type"] == "attempt_active");
        stage.wait_for_calls(1);
        victim.kill(begun["run"].as_str().expect("the run has an id"));
        let (end, records) = end_of(&mut skill);
        check_end(&records, end, "succeeded");
        assert_eq!(endings(&records), ["lost", "answered"]);
        assert!(stage.server.ledger().calls_of("second").is_empty());
    });
}

fn tokens_used(records: &[Value]) -> Vec<(u64, u64)> {
    let of_attempt = |ended: &&Value| {
        let tokens = |kind: &str| ended["used"][kind].as_u64().expect("it is known");
        (tokens("input"), tokens("output"))
    };
    of_type(records, "attempt_ended").iter().map(of_attempt).collect()
}

#[test]
fn what_an_attempt_used_is_as_its_provider_counted_and_is_shown() {
    let used = |input, output, cache_read, cache_write| Usage {
        input,
        output,
        cache_read,
        cache_write,
    };
    let script = || {
        let cut = Turn::text("It is almost done.").and_fault(Fault::Cut { at: Place::MidText });
        model([
            bash("call_0", EFFECT).and_usage(used(120, 30, 1_000, 40)),
            cut.and_usage(used(50, 5, 0, 0)),
            Turn::text(ANSWER).and_usage(used(200, 50, 1_040, 0)),
        ])
    };
    with_both("tool calls: tokens", script, |stage| {
        let finished = stage.run_on(&[MOCKA_MODEL]);
        let records = finished.records();
        check_end(&records, finished.end, "succeeded");
        let ended = of_type(&records, "attempt_ended");
        let counted = ended.iter().map(|ended| &ended["used"]);
        let counted = counted.map(|used| (&used["cache_read"], &used["cache_write"]));
        assert_eq!(
            counted.collect::<Vec<_>>(),
            [(&json!(1_000), &json!(40)), (&json!(1_040), &json!(0))]
        );
        // Of the answer that was cut off, its input and the first token.
        assert_eq!(tokens_used(&records), [(170, 31), (200, 50)]);
        let run_id = ended[0]["run"].as_str().expect("the run has an id");
        let shown = stage.run(&["runs", "show", run_id]);
        let said = "used: 370 tokens in, 2040 read from a cache, 40 written to a cache, 81 out, $";
        assert!(shown.stdout.contains(said), "{}", shown.stdout);
    });
}

#[test]
fn a_cancelled_attempt_says_what_it_had_used() {
    let script = || {
        let cut = Turn::text("It is almost done.").and_fault(Fault::Hang { at: Place::MidText });
        model([bash("call_0", EFFECT), cut])
    };
    with_both("tool calls: tokens of the cancelled", script, |stage| {
        let mut skill = stage.start_on(&[MOCKA_MODEL]);
        let id = wait_for_call(&mut skill, "tool_ended", "1.1:call_0");
        stage.wait_for_calls(2);
        let cancelled = stage.run(&["runs", "cancel", &id]);
        assert_eq!(cancelled.end, End::Exited(0), "{}", cancelled.stdout);
        let (_, records) = end_of(&mut skill);
        assert_eq!(endings(&records), ["cancelled"]);
        // What Pi still says of the answer that was cut off, it says between being told to abort and being stopped.
        let used = tokens_used(&records);
        assert!(
            [[(100, 10)], [(200, 11)]].iter().any(|right| used == right),
            "{used:?}"
        );
    });
}

#[test]
fn a_killed_nested_pi_costs_no_step_and_goes_on_with_its_session() {
    killed_after_a_tool(Victim::Pi, "tool calls: pi killed after bash");
    killed_before_a_tool(Victim::Pi, "tool calls: pi killed before a tool");
}

#[test]
fn a_killed_keeper_costs_no_step_and_its_sub_agent_goes_on_with_its_session() {
    killed_after_a_tool(Victim::Keeper, "tool calls: keeper killed after bash");
    killed_before_a_tool(Victim::Keeper, "tool calls: keeper killed before a tool");
}

#[test]
fn what_never_began_has_neither_start_nor_end() {
    let script = || {
        let unknown = Turn::tool("no_such_tool", json!({}));
        model([unknown, bash("call_0", EFFECT), Turn::text(ANSWER)])
    };
    with_both("tool calls: never began", script, |stage| {
        let finished = stage.run_on(&[MOCK_MODEL]);
        let records = finished.records();
        check_end(&records, finished.end, "succeeded");
        check_calls(&records, &["1/2.1:call_0"], &[]);
    });
}
