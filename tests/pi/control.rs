//! A sub-agent in real Pi of both versions that is told and asked something while it works.

use crate::agents::delegating;
use crate::below::PROGRAM;
use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, brief_rule, count, is_notice, is_result, prompt, talk,
    verdict,
};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited;
use impresario_test_support::waiting::until;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::thread;

const TOLD: &str = "leave src/generated alone";
const ASKED: &str = "how far are you?";

impl Stage {
    fn only_run(&self) -> String {
        let runs = self.runs();
        let [run] = runs.as_slice() else {
            panic!("{runs:?}")
        };
        run["run"].as_str().expect("an id").to_string()
    }

    /// What the run was told, and what became of it.
    fn messages(&self, run: &str) -> Vec<Value> {
        let shown = self.impresario(&["runs", "show", run, "--json"]).records();
        shown[0]["messages"].as_array().expect("a list").clone()
    }

    /// How many runs have a question in the journal.
    fn asked(&self) -> usize {
        let runs = self.runs().into_iter();
        let asked = runs.filter(|run| {
            let run = run["run"].as_str().expect("an id");
            let trace = self.impresario(&["trace", run, "--json"]);
            trace.stdout.contains("question_asked")
        });
        asked.count()
    }

    fn fates(&self, run: &str) -> Vec<String> {
        let messages = self.messages(run).into_iter();
        messages
            .map(|message| message["fate"].as_str().expect("a fate").to_string())
            .collect()
    }

    fn wait_for_fates(&self, run: &str, fates: &[&str]) {
        until(
            || self.fates(run) == fates,
            || format!("not {fates:?}: {:#?}", self.messages(run)),
        );
    }

    /// How often the sub-agent's call of the model has this text, from 1.
    fn told_in_call(&self, number: usize, text: &str) -> usize {
        let calls = self.server.ledger().calls_of("sub-agent");
        calls[number - 1].body.to_string().matches(text).count()
    }

    fn ends_with_answer(&self, mut pi: JsonLines) {
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(result.to_string().contains(ANSWER), "{result}");
        // With the first word of the main agent Pi writes its session, and keeps the result.
        talk(&mut pi, "Thank you.");
        self.wait_for_states(&["succeeded"]);
        self.end(pi);
    }
}

fn reads() -> Turn {
    Turn::tool("read", json!({"path": "present.md"}))
}

#[test]
fn another_process_steers_and_asks_a_sub_agent_at_work() {
    let turns = || {
        [
            reads().behind_gate("steered"),
            reads().behind_gate("asked"),
            Turn::text("Half way.").and_tool("read", json!({"path": "present.md"})),
            Turn::text(ANSWER),
        ]
    };
    for stage in Stage::both("control: another process", turns) {
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        let run = stage.only_run();
        let steered = stage.impresario(&["steer", &run, TOLD]);
        assert!(steered.stdout.starts_with("queued m"), "{steered:?}");
        assert_eq!(stage.fates(&run), ["queued"]);
        stage.server.open_gate("steered");
        stage.wait_for_sub_agents(2);
        assert_eq!(stage.told_in_call(2, TOLD), 1);
        stage.wait_for_fates(&run, &["delivered"]);

        let mut ask = stage.sandbox.command(&stage.binary);
        ask.args(["ask", &run, ASKED]);
        let asking = thread::spawn(move || limited::run(&mut ask, "", PATIENCE));
        stage.wait_for_fates(&run, &["delivered", "queued"]);
        stage.server.open_gate("asked");
        let answer = asking.join().expect("no panic");
        assert_eq!(answer.stdout, "Half way.\n", "{answer:?}");
        assert_eq!(stage.told_in_call(3, ASKED), 1);
        stage.ends_with_answer(pi);
        assert_eq!(stage.fates(&run), ["delivered", "answered"]);
        let late = stage.impresario(&["steer", &run, TOLD]);
        assert!(late.stderr.contains("ended already: succeeded"), "{late:?}");
        let shown = stage.impresario(&["runs", "show", &run]).stdout;
        assert!(shown.contains("it said: Half way."), "{shown}");
    }
}

/// Each command would wait for the tool that it is called in.
#[test]
fn a_sub_agent_that_would_wait_for_itself_is_told_so_at_once() {
    let asks = || {
        let of_itself = [
            "ask $IMPRESARIO_RUN 'how far?'",
            "steer --wait $IMPRESARIO_RUN 'go on'",
            "runs transcript --follow $IMPRESARIO_RUN",
            "runs attach $IMPRESARIO_RUN",
            "runs resume $IMPRESARIO_RUN",
        ];
        let commands = of_itself.map(|command| format!("{} {command}", PROGRAM));
        [
            Turn::tool("bash", json!({ "command": commands.join("; ") })),
            Turn::text(ANSWER),
        ]
    };
    for stage in Stage::both("control: it waits for itself", asks) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(result.to_string().contains(ANSWER), "{result}");
        let run = stage.only_run();
        assert_eq!(stage.told_in_call(2, "Wait cycle (wait_cycle)"), 4);
        assert_eq!(stage.told_in_call(2, "the process that drives it lives"), 1);
        assert_eq!(stage.messages(&run), Vec::<Value>::new());
        talk(&mut pi, "Thank you.");
        stage.wait_for_states(&["succeeded"]);
        stage.end(pi);
    }
}

#[test]
fn of_two_sub_agents_that_ask_each_other_one_is_told_and_the_other_has_its_answer() {
    let asks = |own: &str, other: &str| {
        let command = format!(
            "echo $IMPRESARIO_RUN > {own}.new; mv {own}.new {own}; until [ -e {other} ]; do sleep 0.05; done; {} ask $(cat {other}) '{ASKED}' 2>&1",
            PROGRAM
        );
        Turn::tool("bash", json!({ "command": command }))
    };
    let script = || {
        let both = Turn::tool("delegate_general", json!({"task": "the first"}))
            .and_tool("delegate_general", json!({"task": "the second"}));
        let sub_agent = |name: &str, other: &str| {
            let rule = Rule::new(name).user_contains(&format!("User Goal: the {name}"));
            let says = Turn::text(&format!("Half way, says {name}."));
            rule.turn(asks(name, other)).turn(says).turn(Turn::text(ANSWER))
        };
        let mut script = delegating(both, []);
        script.rules.insert(0, sub_agent("first", "second"));
        script.rules.insert(0, sub_agent("second", "first"));
        script
    };
    for stage in Stage::both_with("control: they ask each other", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.wait_for_states(&["succeeded"; 2]);
        let heard = |name: &str| {
            let calls = stage.server.ledger().calls_of(name);
            calls.last().expect("calls").body.to_string()
        };
        let (first, second) = (heard("first"), heard("second"));
        let told = [&first, &second].map(|heard| heard.contains("would wait for run"));
        let answered = [
            first.contains("Half way, says second."),
            second.contains("Half way, says first."),
        ];
        assert!(told.contains(&true), "{first}\n{second}");
        assert_eq!(told, answered.map(|answered| !answered), "{first}\n{second}");
        stage.end(pi);
    }
}

/// The last result of a tool that the main agent's call of its model has, of so many.
fn heard_by_main_agent(stage: &Stage, call: usize) -> String {
    let calls = stage.server.ledger().calls_of("main agent");
    let messages = calls[call - 1].body["messages"].as_array().expect("messages");
    // A line about its context may stand behind it.
    let heard = messages.iter().map(Value::to_string);
    let mut heard = heard.filter(|message| !message.contains("[context] model="));
    heard.next_back().expect("a message")
}

#[test]
fn the_main_agent_steers_and_asks_a_sub_agent_in_the_background() {
    let tells =
        |message: &str, kind: &str| Turn::tool("delegate_message", json!({"message": message, "kind": kind}));
    let script = || {
        let background = json!({"task": "look around", "background": true});
        let nobody = json!({"run": "zzzz", "message": TOLD, "kind": "steer"});
        let main = [
            tells(TOLD, "steer"),
            Turn::tool("delegate_general", background),
            Turn::tool("delegate_message", nobody),
            tells(TOLD, "steer"),
            tells(ASKED, "ask"),
            Turn::text("I know enough."),
        ];
        let agent = [
            reads().behind_gate("steered"),
            reads().behind_gate("asked"),
            Turn::text("Half way.").and_tool("read", json!({"path": "present.md"})),
            Turn::text(ANSWER).behind_gate("over"),
        ];
        let mut script = delegating(Turn::text("unused"), agent);
        let rule = Rule::new("main agent").last_user_contains("please");
        script.rules.insert(1, main.into_iter().fold(rule, Rule::turn));
        script
    };
    for stage in Stage::both_with("control: the main agent", script) {
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        stage.wait_for_calls_of("main agent", 4);
        let run = stage.only_run();
        stage.wait_for_fates(&run, &["queued"]);
        stage.server.open_gate("steered");
        stage.wait_for_calls_of("agent", 2);
        stage.wait_for_fates(&run, &["delivered", "queued"]);
        stage.server.open_gate("asked");
        pi.wait_for(PATIENCE, |record| record.to_string().contains("I know enough."));
        let refused = [2, 4].map(|call| heard_by_main_agent(&stage, call));
        assert!(
            refused[0].contains("No sub-agent of this session works now."),
            "{}",
            refused[0]
        );
        let who = format!("called so. There are: {run}.");
        assert!(refused[1].contains(&who), "{}", refused[1]);
        let steered = heard_by_main_agent(&stage, 5);
        assert!(
            steered.contains(&format!("general (run {run}, message m")),
            "{steered}"
        );
        let answered = heard_by_main_agent(&stage, 6);
        assert!(answered.contains("says: Half way."), "{answered}");
        let messages = stage.messages(&run);
        assert!(
            messages.iter().all(|message| message["by"] == "the main agent"),
            "{messages:?}"
        );
        stage.server.open_gate("over");
        stage.ends_with_answer(pi);
        assert_eq!(stage.fates(&run), ["delivered", "answered"]);
    }
}

#[test]
fn a_person_in_pi_steers_and_asks_without_naming_the_only_run() {
    let turns = || {
        [
            reads().behind_gate("told"),
            reads(),
            Turn::text("Half way.").and_tool("read", json!({"path": "present.md"})),
            Turn::text(ANSWER),
        ]
    };
    for stage in Stage::both("control: a person", turns) {
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut pi = stage.rpc();
        prompt(&mut pi, "/impresario steer too early");
        pi.wait_for(PATIENCE, |record| {
            is_notice(record, "No sub-agent of this session works now.")
        });
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        prompt(&mut pi, &format!("/impresario steer {TOLD}"));
        pi.wait_for(PATIENCE, |record| is_notice(record, "Told demo (run "));
        prompt(&mut pi, &format!("/impresario ask {ASKED}"));
        pi.wait_for(PATIENCE, |record| is_notice(record, "Asked demo (run "));
        stage.server.open_gate("told");
        pi.wait_for(PATIENCE, |record| is_notice(record, "): Half way."));
        assert_eq!(
            (stage.told_in_call(2, TOLD), stage.told_in_call(3, ASKED)),
            (1, 1)
        );
        let run = stage.only_run();
        stage.ends_with_answer(pi);
        assert_eq!(stage.fates(&run), ["delivered", "answered"]);
    }
}

#[test]
fn a_message_that_was_taken_survives_the_runtime_and_is_delivered_once() {
    let turns = || {
        [
            reads(),
            Turn::text("nobody hears this").behind_gate("never"),
            Turn::text(ANSWER),
        ]
    };
    for stage in Stage::both("control: killed before delivery", turns) {
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(2);
        let run = stage.only_run();
        let steered = stage.impresario(&["steer", &run, TOLD]);
        assert!(steered.stdout.starts_with("queued m"), "{steered:?}");
        kill_process(stage.runtime_pid(), Signal::KILL).expect("the runtime runs");
        stage.wait_for_sub_agents(3);
        assert_eq!(stage.told_in_call(3, TOLD), 1);
        stage.ends_with_answer(pi);
        let [message] = stage.messages(&run).try_into().expect("one message");
        assert_eq!(
            (&message["fate"], &message["attempt"]),
            (&json!("delivered"), &json!(2))
        );
    }
}

#[test]
fn two_sub_agents_that_ask_at_the_same_time_are_answered_one_after_the_other() {
    let script = || {
        let both = Turn::tool("delegate", json!({"skill": "demo", "task": "the first"}))
            .and_tool("delegate", json!({"skill": "demo", "task": "the second"}));
        let main = Rule::new("main agent").last_user_contains("please").turn(both);
        let answered = Rule::new("judge who knows")
            .system_contains("# Impresario: judge")
            .user_contains("because of");
        let judge = Rule::new("judge").system_contains("# Impresario: judge");
        let asks = Turn::text(&verdict(Some("Why?")).to_string());
        let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
        Script::new()
            .rule(brief_rule())
            .rule(answered.turn(Turn::text(&verdict(None).to_string())).repeat())
            .rule(judge.turn(asks).repeat())
            .rule(sub_agent.turn(Turn::text(ANSWER)).repeat())
            .rule(main.turn(Turn::text(MAIN_ANSWER)))
    };
    for stage in Stage::both_with("control: two questions", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        let is_question = |record: &Value| record["method"] == "input";
        let (first_at, first) = pi.wait_for_behind(0, PATIENCE, is_question);
        until(|| stage.asked() == 2, || "they do not both ask".to_string());
        // What the runtime says now stands behind both questions.
        prompt(&mut pi, "/skill:trace-view nothing.json");
        pi.wait_for_behind(first_at, PATIENCE, |record| {
            is_notice(record, "\"nothing.json\" not found")
        });
        assert_eq!(count(&pi, is_question), 1, "one at a time");
        answer(&mut pi, &first, "because of one");
        let (_, second) = pi.wait_for_behind(first_at, PATIENCE, is_question);
        answer(&mut pi, &second, "because of two");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.wait_for_states(&["succeeded"; 2]);
        assert_eq!(count(&pi, is_question), 2);
        stage.end(pi);
    }
}
