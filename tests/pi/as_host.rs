//! Real Pi as the host: the extension, the bridge and the runtime between a person and a nested Pi.
//!
//! What the person sees is asserted twice: as records in rpc mode, and on the screen of a terminal.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, brief_rule, count, is_notice, is_result, prompt,
    submit_and_see, verdict, wait_for_file,
};
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, run};
use impresario_test_support::pi::Version;
use impresario_test_support::processes::send;
use impresario_test_support::terminal::Key;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

const NOISE: &str = "NOISE-OF-THE-RUNTIME";

#[test]
fn a_skill_in_print_mode_prints_the_answer_of_its_sub_agent() {
    for version in Version::ALL {
        for prompt in ["/skill demo look around", "/skill:demo look around"] {
            let Some(stage) = Stage::set(version, "skill in print mode", [Turn::text(ANSWER)]) else {
                return;
            };
            let finished = stage.print(prompt);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), ANSWER),
                "{}",
                finished.stderr
            );
            assert_eq!(stage.callers(), ["brief", "judge", "sub-agent"]);
            stage.nothing_is_left();
        }
    }
}

#[test]
fn a_skill_in_json_mode_leaves_its_result_among_the_records() {
    for stage in Stage::both("skill in json mode", || [Turn::text(ANSWER)]) {
        let finished = run(
            &mut stage.pi(&["--mode", "json", "/skill demo look around"]),
            "",
            PATIENCE,
        );
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let results: Vec<Value> = finished.records().into_iter().filter(is_result).collect();
        assert_eq!(results.len(), 1);
        assert!(results[0]["message"]["content"].to_string().contains(ANSWER));
        stage.nothing_is_left();
    }
}

#[test]
fn results_stand_in_the_conversation_and_nothing_else_does() {
    for stage in Stage::both("skills in rpc mode", || {
        [Turn::text(ANSWER), Turn::text("Again.")]
    }) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for(PATIENCE, |record| {
            record["method"] == "setStatus"
                && record["statusText"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("demo"))
        });
        let (seen, first) = pi.wait_for_behind(0, PATIENCE, is_result);
        assert!(first["message"]["content"].to_string().contains(ANSWER));
        prompt(&mut pi, "/skill:demo look again");
        let (seen, _) = pi.wait_for_behind(seen, PATIENCE, is_result);
        prompt(&mut pi, "What was found?");
        pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
        let calls = stage.server.ledger().calls();
        let main = calls
            .iter()
            .find(|call| call.rule.as_deref() == Some("main agent"))
            .expect("the main agent was asked");
        let said: Vec<String> = user_messages(main);
        assert_eq!(said.len(), 3, "{said:#?}");
        assert!(
            said[0].contains(ANSWER) && said[1].contains("Again.") && said[2].contains("What was found?"),
            "{said:#?}"
        );
        stage.end(pi);
    }
}

#[test]
fn the_judges_tier_chooses_the_model_of_the_nested_pi_and_the_person_is_told() {
    for stage in Stage::both("a chosen model", || [Turn::text(ANSWER)]) {
        let settings = json!({"impresario": {"executionRouting": {
            "enabled": true, "surfaceDecision": true, "models": {"balanced": "mock/mock-other"},
        }}});
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for(PATIENCE, is_result);
        let told = "[System]: ⚙️ Executing /skill:demo using balanced model mock/mock-other. Reason: route balanced \
                    (complexity=low, risk=read_only, confidence=0.90)";
        assert_eq!(count(&pi, |record| is_notice(record, told)), 1);
        let calls = stage.server.ledger().calls();
        let asked = calls
            .iter()
            .map(|call| (call.rule.as_deref().unwrap_or_default(), call.model.as_str()));
        assert_eq!(
            asked.collect::<Vec<_>>(),
            [
                ("brief", "mock-1"),
                ("judge", "mock-1"),
                ("sub-agent", "mock-other")
            ]
        );
        stage.end(pi);
    }
}

fn user_messages(call: &Call) -> Vec<String> {
    let messages = call.body["messages"].as_array().expect("messages");
    messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].to_string())
        .collect()
}

#[test]
fn a_skill_whose_retrieval_is_not_ready_is_refused_before_any_model_is_called() {
    for stage in Stage::both("a retrieval engine without a login", || [Turn::text(ANSWER)]) {
        let auggie = directories::project().join("tests/retrieval_server/server.mjs");
        let settings =
            json!({ "retrieval": { "engine": "auggie" }, "auggieBinPath": auggie.display().to_string() });
        let file = json!({ "impresario": settings }).to_string();
        stage.sandbox.write_work_file(".pi/settings.json", &file);
        let mut command = stage.pi(&["--mode", "rpc"]);
        command.env("AUGMENT_TEST_BEHAVIOUR", "not-logged-in");
        let mut pi = JsonLines::start(&mut command);
        prompt(&mut pi, "/skill demo look around");
        let line = "[System Error]: Cannot execute skill. Augment daemon is offline or unauthenticated. \
            (You are not currently logged in to Augment.";
        let notice = pi.wait_for(PATIENCE, |record| is_notice(record, "Cannot execute skill"));
        let shown = notice["message"].as_str().expect("a text");
        assert!(
            shown.starts_with(line) && !shown.contains("verysecretvalue"),
            "{shown}"
        );
        assert_eq!(stage.callers(), Vec::<String>::new());
        stage.end(pi);
    }
}

#[test]
fn cancelling_ends_the_run_and_everything_below_it() {
    let script = || {
        let never = Turn::text(ANSWER).behind_gate("never");
        [never]
    };
    for stage in Stage::both("cancel in rpc mode", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        prompt(&mut pi, "/skill:cancel");
        let (_, told) = pi.wait_for_behind(0, PATIENCE, |record| is_notice(record, "Skill demo cancelled"));
        let line = "[System]: Sub-agent stopped early (aborted).";
        assert!(is_notice(&told, line), "{told}");
        assert_eq!(count(&pi, is_result), 0);
        assert!(
            !stage
                .processes()
                .iter()
                .any(|(_, command)| command.contains("impresario-keeper"))
        );
        stage.end(pi);
    }
}

#[test]
fn a_killed_runtime_costs_one_notice_and_no_result() {
    let script = || [Turn::text(ANSWER).behind_gate("go"), Turn::text(ANSWER)];
    for stage in Stage::both("runtime killed under a run", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        let killed = stage.runtime_pid();
        kill_process(killed, Signal::KILL).expect("the runtime runs");
        pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
        prompt(&mut pi, "Are you still there?");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.server.open_gate("go");
        let result = pi.wait_for(PATIENCE, is_result);
        assert!(
            result["message"]["content"].to_string().contains(ANSWER),
            "{result}"
        );
        assert_ne!(stage.runtime_pid(), killed);
        assert_eq!(count(&pi, |record| is_notice(record, "being started again")), 1);
        assert_eq!(count(&pi, is_result), 1);
        stage.end(pi);
    }
}

#[test]
fn a_question_of_the_judge_is_asked_and_its_answer_used() {
    let script = || {
        let unclear = Turn::text(&verdict(Some("Which of the two?")).to_string());
        let clear = Turn::text(&verdict(None).to_string());
        Script::new()
            .rule(brief_rule())
            .rule(
                Rule::new("judge")
                    .system_contains("# Impresario: judge")
                    .turn(unclear.clone())
                    .turn(unclear)
                    .turn(clear)
                    .repeat(),
            )
            .rule(
                Rule::new("sub-agent")
                    .user_contains("User Goal: ")
                    .turn(Turn::text(ANSWER)),
            )
    };
    for stage in Stage::both_with("question in rpc mode", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        let question = pi.wait_for(PATIENCE, |record| record["method"] == "input");
        assert!(question.to_string().contains("Which of the two?"), "{question}");
        answer(&mut pi, &question, "the second one");
        pi.wait_for(PATIENCE, is_result);
        let calls = stage.server.ledger().calls();
        let told = |call: &&Call| {
            call.rule.as_deref() == Some("brief") && call.body.to_string().contains("the second one")
        };
        assert!(calls.iter().any(|call| told(&call)), "{:?}", stage.callers());
        stage.end(pi);
    }
}

#[test]
fn a_killed_pi_leaves_nothing_running_and_its_run_parked() {
    let script = || {
        let never = Turn::text(ANSWER).behind_gate("never");
        [never]
    };
    for stage in Stage::both("host killed under a run", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        send(pi.pid(), Signal::KILL);
        stage.nothing_is_left();
        let states: Vec<Value> = stage.runs().iter().map(|run| run["state"].clone()).collect();
        assert_eq!(states, [json!("parked")]);
    }
}

#[test]
fn a_result_that_is_offered_twice_stands_in_the_session_once() {
    for stage in Stage::both("result offered twice", || []) {
        let stage = stage.with_runtime(directories::project().join("extension/test/fake-runtime.mjs"));
        let log = stage.sandbox.home().join("heard.jsonl");
        let mut command = stage.pi(&["--mode", "rpc"]);
        let mut pi = JsonLines::start(command.env("FAKE_MODE", "offers-twice").env("FAKE_LOG", &log));
        prompt(&mut pi, "/skill demo look");
        let (seen, _) = pi.wait_for_behind(0, PATIENCE, is_result);
        // A result waits while the main agent works: the second offer is answered while nothing keeps it from the session.
        wait_for_file(&log, r#""again":{"receipt":"#);
        prompt(&mut pi, "Say hello.");
        pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
        assert_eq!(count(&pi, is_result), 1);
    }
}

#[test]
fn the_screen_shows_progress_and_the_answer_and_escape_cancels() {
    let script = || {
        [
            Turn::text(ANSWER).behind_gate("go"),
            Turn::text("never").behind_gate("never"),
        ]
    };
    for stage in Stage::both("skill on a terminal", script) {
        let noisy = format!("echo {NOISE} >&2; exec {} \"$@\"", stage.binary);
        let stage = stage.with_scripted_runtime(&noisy);
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, "/skill demo look around", "esc cancels");
        stage.wait_for_sub_agents(1);
        stage.server.open_gate("go");
        // What it says is on the screen while it says it; the result comes after.
        terminal.wait_for(PATIENCE, |screen| {
            screen.contains("Skill demo succeeded") && screen.contains(ANSWER)
        });
        submit_and_see(&mut terminal, "/skill demo look again", "esc cancels");
        stage.wait_for_sub_agents(2);
        terminal.press(Key::Escape);
        // The notice and the progress widget are drawn one after the other.
        let screen = terminal.wait_for(PATIENCE, |screen| {
            screen.contains("Skill demo cancelled") && !screen.contains("esc cancels")
        });
        assert!(!screen.contains(NOISE), "{screen}");
        terminal.press(Key::Control('d'));
        assert_eq!(terminal.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn an_unknown_skill_is_named_and_starts_nothing() {
    for version in Version::ALL {
        for prompt in ["/skill dmeo look", "/skill:dmeo look"] {
            let Some(stage) = Stage::set(version, "unknown skill", []) else {
                return;
            };
            let finished = stage.print(prompt);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(1), ""),
                "{}",
                finished.stderr
            );
            assert!(finished.stderr.contains("dmeo"), "{}", finished.stderr);
            assert_eq!(stage.callers(), Vec::<String>::new());
        }
    }
}

#[test]
fn pi_goes_on_without_a_runtime() {
    for version in Version::ALL {
        for runtime in [
            "exit 3",
            "exec sleep 600",
            "while :; do echo this is no protocol; sleep 0.01; done",
        ] {
            let Some(stage) = Stage::set(version, "broken runtime", []) else {
                return;
            };
            let stage = stage.with_scripted_runtime(runtime);
            let finished = stage.print("Say hello.");
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), MAIN_ANSWER),
                "{runtime}: {}",
                finished.stderr
            );
            stage.nothing_is_left();
        }
    }
}

#[test]
fn pi_does_not_end_while_it_waits_for_a_slow_answer() {
    // What keeps Pi alive is a timer of whoever waits. Each is asked for alone, so that no other one hides that it is missing.
    for question in [
        "session.wishes",
        "delegation",
        "context.offer",
        "tools.offer",
        "capabilities.offer",
    ] {
        for stage in Stage::both("slow answer", || []) {
            let slow = format!(
                r#"while IFS= read -r line; do
                     case $line in
                       *'"method":"{question}"'*) {{ sleep 0.4; printf '%s\n' "$line"; }} & ;;
                       *) printf '%s\n' "$line" ;;
                     esac
                   done | {} "$@""#,
                stage.binary
            );
            let stage = stage.with_scripted_runtime(&slow);
            let finished = stage.print("Say hello.");
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), MAIN_ANSWER),
                "{question}: {}",
                finished.stderr
            );
            stage.nothing_is_left();
        }
    }
}

#[test]
fn a_runtime_that_cannot_stay_up_is_given_up_and_says_so() {
    for stage in Stage::both("runtime that cannot stay up", || []) {
        let stage = stage.with_scripted_runtime(&format!("echo {NOISE} >&2; exit 3"));
        let finished = stage.print("/skill demo look");
        assert_eq!((finished.end, finished.stdout.trim()), (End::Exited(1), ""));
        assert!(
            finished.stderr.contains("its runtime stopped again and again"),
            "{}",
            finished.stderr
        );
        assert!(!finished.stderr.contains(NOISE), "{}", finished.stderr);
    }
}

#[test]
fn a_hook_that_is_not_answered_holds_pi_up_until_its_deadline_only() {
    for stage in Stage::both("silent hook", || []) {
        let stage = stage.with_runtime(directories::project().join("extension/test/fake-runtime.mjs"));
        let log = stage.sandbox.home().join("heard.jsonl");
        let mut command = stage.pi(&["--mode", "rpc"]);
        let mut pi = JsonLines::start(command.env("FAKE_MODE", "silent-hook").env("FAKE_LOG", &log));
        prompt(&mut pi, "/skill demo look");
        pi.wait_for(PATIENCE, is_result);
        prompt(&mut pi, "Say hello.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        wait_for_file(&log, r#""method":"delegation""#);
        wait_for_file(&log, r#""method":"request.cancel""#);
    }
}
