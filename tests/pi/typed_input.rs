//! What is typed in real Pi of both versions: names that complete themselves, a picker, commands about traces, and the
//! tool with which the main agent does the same.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, count, is_notice, is_result, prompt, script,
};
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_test_support::limited::{End, run};
use impresario_test_support::pi::{Version, prompt_of};
use impresario_test_support::terminal::{Key, Terminal};
use serde_json::{Value, json};
use std::fs;

/// Adds a second skill to the workspace, and two to the home: one of them under the name of the workspace's.
fn with_more_skills(stage: &Stage) {
    let skill = |description: &str| format!("---\ndescription: {description}\n---\nDo it.\n");
    stage
        .sandbox
        .write_work_file(".pi/skills/describe/SKILL.md", &skill("describes a thing"));
    for (name, description) in [("demo", "the home's own demo"), ("polish", "polishes a text")] {
        let directory = stage.sandbox.home().join(".pi/agent/skills").join(name);
        fs::create_dir_all(&directory).expect("a directory in the home");
        fs::write(directory.join("SKILL.md"), skill(description)).expect("a skill in the home");
    }
}

fn leave(terminal: &mut Terminal) {
    // Twice Control and C in a row leaves Pi.
    terminal.press(Key::Control('u'));
    terminal.wait_for(PATIENCE, |screen| {
        prompt_of(screen).is_some_and(|prompt| prompt.is_empty())
    });
    terminal.press(Key::Control('d'));
    assert_eq!(
        terminal.wait_for_end(PATIENCE),
        End::Exited(0),
        "{}",
        terminal.screen()
    );
}

/// Replaces what stands in the prompt.
fn retype(terminal: &mut Terminal, text: &str) {
    // Twice Control and C in a row leaves Pi.
    terminal.press(Key::Control('u'));
    terminal.wait_for(PATIENCE, |screen| {
        prompt_of(screen).is_some_and(|prompt| prompt.is_empty())
    });
    terminal.type_text(text);
}

#[test]
fn names_complete_themselves_in_both_forms_with_what_they_are_for() {
    for stage in Stage::both("completion on a terminal", || []) {
        with_more_skills(&stage);
        let mut terminal = stage.ready_terminal();
        terminal.type_text("/skill d");
        let screen = terminal.wait_for(PATIENCE, |screen| {
            screen.contains("describes a thing") && screen.contains("looks at something")
        });
        assert!(!screen.contains("the home's own demo"), "{screen}");
        assert!(!screen.contains("polishes a text"), "{screen}");
        terminal.type_text("em");
        terminal.wait_for(PATIENCE, |screen| {
            screen.contains("looks at something") && !screen.contains("describes a thing")
        });
        terminal.press(Key::Tab);
        terminal.wait_for(PATIENCE, |screen| {
            prompt_of(screen).as_deref() == Some("/skill demo")
        });

        retype(&mut terminal, "/skill:pol");
        terminal.wait_for_text(PATIENCE, "polishes a text");
        terminal.press(Key::Tab);
        terminal.wait_for(PATIENCE, |screen| {
            prompt_of(screen).as_deref() == Some("/skill:polish")
        });
        assert_eq!(stage.callers(), Vec::<String>::new());
        leave(&mut terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn without_a_name_a_person_picks_one_and_goes_on_writing() {
    for stage in Stage::both("picker on a terminal", || [Turn::text(ANSWER)]) {
        with_more_skills(&stage);
        let mut terminal = stage.ready_terminal();
        terminal.type_text("/skill");
        terminal.wait_for_text(PATIENCE, "Run a skill as a sub-agent");
        terminal.press(Key::Enter);
        let screen = terminal.wait_for_text(PATIENCE, "Which skill?");
        assert!(screen.contains("demo – looks at something"), "{screen}");
        terminal.press(Key::Enter);
        terminal.wait_for(PATIENCE, |screen| {
            prompt_of(screen).as_deref() == Some("/skill demo")
        });
        terminal.type_text("look around");
        terminal.press(Key::Enter);
        terminal.wait_for_text(PATIENCE, ANSWER);
        leave(&mut terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn a_picker_needs_a_person_and_skills() {
    for stage in Stage::both("picker elsewhere", || [Turn::text(ANSWER)]) {
        with_more_skills(&stage);
        let finished = stage.print("/skill");
        assert_eq!((finished.end, finished.stdout.trim()), (End::Exited(1), ""));
        assert!(
            finished.stderr.contains("There are: demo, describe, polish."),
            "{}",
            finished.stderr
        );

        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill");
        let choice = pi.wait_for(PATIENCE, |record| record["method"] == "select");
        let options = choice["options"].as_array().expect("options");
        assert_eq!(options[0], "demo – looks at something");
        answer(&mut pi, &choice, options[0].clone());
        let task = pi.wait_for(PATIENCE, |record| record["method"] == "input");
        answer(&mut pi, &task, "look around");
        pi.wait_for(PATIENCE, is_result);

        prompt(&mut pi, "/skill:foo.bar x");
        pi.wait_for(PATIENCE, |record| {
            is_notice(record, "Invalid skill name \"foo.bar\"")
        });
        for directory in [stage.sandbox.work().join(".pi"), stage.sandbox.home().join(".pi")] {
            fs::remove_dir_all(directory).expect("the skills go");
        }
        prompt(&mut pi, "/skill");
        pi.wait_for(PATIENCE, |record| is_notice(record, "No skills available."));
        stage.end(pi);
    }
}

#[test]
fn a_second_skill_is_told_that_one_is_in_flight() {
    let script = || {
        let held = Turn::text(ANSWER).behind_gate("go");
        [held]
    };
    for stage in Stage::both("second skill", script) {
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_sub_agents(1);
        for again in ["/skill demo look again", "/skill:demo look again"] {
            let seen = pi.said().records.len();
            prompt(&mut pi, again);
            pi.wait_for_behind(seen, PATIENCE, |record| {
                is_notice(record, "Router busy (executing)")
            });
        }
        stage.server.open_gate("go");
        pi.wait_for(PATIENCE, is_result);
        assert_eq!((count(&pi, is_result), stage.callers().len()), (1, 3));
        stage.end(pi);
    }
}

#[test]
fn traces_are_reported_and_viewed_in_both_forms_and_reach_no_model() {
    let script = || [Turn::text(ANSWER)];
    for stage in Stage::both("trace commands", script) {
        let finished = stage.print("/skill demo look around");
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let traces = fs::read_dir(stage.sandbox.work().join(".pi/traces")).expect("the traces");
        let files: Vec<String> = traces
            .map(|file| file.expect("a trace").file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".gitignore")
            .collect();
        let [file] = files.as_slice() else {
            panic!("{files:?}")
        };

        for (typed, wanted) in [
            ("/skill:trace-report demo", "demo"),
            ("/skill trace-report demo", "demo"),
            (format!("/skill:trace-view {file}").as_str(), ANSWER),
            (format!("/skill trace-view {file}").as_str(), ANSWER),
        ] {
            let finished = stage.print(typed);
            assert_eq!(finished.end, End::Exited(0), "{typed}: {}", finished.stderr);
            let lines = finished.stdout.lines().count();
            assert!(
                finished.stdout.contains(wanted) && lines > 3,
                "{typed}: {}",
                finished.stdout
            );
        }
        let called = stage.callers().len();

        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill:trace-report demo");
        pi.wait_for(PATIENCE, |record| is_notice(record, "demo"));
        for (typed, usage) in [
            ("/skill:trace-report", "Usage: /skill:trace-report <skill>"),
            ("/skill trace-view", "Usage: /skill:trace-view <file>.json"),
            (
                "/skill:trace-view ../secret.json",
                "Usage: /skill:trace-view <file>.json",
            ),
        ] {
            let seen = pi.said().records.len();
            prompt(&mut pi, typed);
            pi.wait_for_behind(seen, PATIENCE, |record| is_notice(record, usage));
        }
        assert_eq!((count(&pi, is_result), stage.callers().len()), (0, called));
        stage.end(pi);
    }
}

/// The main agent delegates once, then says something; what it is told is on record.
fn delegating_script(sub_agent: Turn) -> Script {
    let arguments = json!({"skill": "demo", "task": "look around the workspace"});
    let main = Rule::new("main agent")
        .last_user_contains("please")
        .turn(Turn::tool("delegate", arguments))
        .turn(Turn::text(MAIN_ANSWER));
    let mut script = script([sub_agent]);
    let at = script.rules.len() - 1;
    script.rules.insert(at, main);
    script
}

fn system_of(call: &Call) -> String {
    let messages = call.body["messages"].as_array().expect("messages");
    let system = messages
        .iter()
        .filter(|message| message["role"] == "system" || message["role"] == "developer");
    system.map(|message| message["content"].to_string()).collect()
}

fn tool_result_in(call: &Call) -> String {
    let messages = call.body["messages"].as_array().expect("messages");
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].to_string()).collect()
}

#[test]
fn the_main_agent_delegates_with_a_tool_and_the_prompt_that_teaches_it_never_changes() {
    let script = || delegating_script(Turn::text(ANSWER));
    for stage in Stage::both_with("delegation", script) {
        let mut pi = stage.ready_rpc();
        let mut seen = 0;
        for said in ["Hello.", "Now, please, look around.", "Thanks."] {
            prompt(&mut pi, said);
            (seen, _) = pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
        }
        let calls = stage.server.ledger().calls_of("main agent");
        let systems: Vec<String> = calls.iter().map(system_of).collect();
        assert_eq!(calls.len(), 4, "{:?}", stage.callers());
        assert!(systems[0].contains("## Delegating to skills"), "{}", systems[0]);
        assert!(systems.iter().all(|system| *system == systems[0]), "{systems:#?}");
        let tools: Vec<&Value> = calls.iter().map(|call| &call.body["tools"]).collect();
        assert!(
            tools[0].to_string().contains(r#""name":"delegate""#),
            "{}",
            tools[0]
        );
        assert!(tools.iter().all(|offered| *offered == tools[0]));
        assert!(tool_result_in(&calls[2]).contains(ANSWER), "{}", calls[2].body);
        // The result is in the conversation as the tool's, and only there.
        assert_eq!(count(&pi, is_result), 0);
        stage.wait_for_states(&["succeeded"]);
        stage.end(pi);
    }
}

#[test]
fn what_a_tool_call_brought_is_acknowledged_and_a_failure_is_marked_as_one() {
    let script = || {
        let refused = Turn::refusal("I will not look around.");
        delegating_script(refused)
    };
    for stage in Stage::both_with("delegation that fails", script) {
        let finished = run(&mut stage.pi(&["--mode", "json", "please"]), "", PATIENCE);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let records = finished.records();
        let ended = records
            .iter()
            .find(|record| record["type"] == "tool_execution_end");
        let ended = ended.expect("the tool ended");
        assert_eq!(ended["isError"], json!(true), "{ended}");
        assert!(ended.to_string().contains("Skill demo failed"), "{ended}");
        stage.nothing_is_left();
        stage.wait_for_states(&["failed"]);
    }
}

#[test]
fn escape_in_the_main_agent_cancels_what_it_delegated() {
    let script = || {
        let never = Turn::text(ANSWER).behind_gate("never");
        delegating_script(never)
    };
    for stage in Stage::both_with("delegation cancelled", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "please");
        stage.wait_for_sub_agents(1);
        pi.say(&json!({"id": "abort", "type": "abort"}))
            .expect("Pi listens");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.wait_for_states(&["cancelled"]);
        stage.end(pi);
    }
}

#[test]
fn the_main_agent_is_not_taught_where_the_settings_say_so_or_the_tool_is_left_out_or_nobody_runs_skills() {
    for version in Version::ALL {
        let off = r#"{"impresario": {"promptInjection": {"enabled": false}, "agents": {"enabled": false}}}"#;
        for (settings, arguments, runtime) in [
            (off, vec![], None),
            ("{}", vec!["--tools", "read"], None),
            ("{}", vec![], Some("exit 3")),
            ("{}", vec![], Some("exec sleep 600")),
        ] {
            let Some(mut stage) = Stage::set(version, "not taught", []) else {
                return;
            };
            stage.sandbox.write_work_file(".pi/settings.json", settings);
            if let Some(runtime) = runtime {
                stage = stage.with_scripted_runtime(runtime);
            }
            let finished = run(
                &mut stage.pi(&[&arguments[..], &["-p", "Say hello."]].concat()),
                "",
                PATIENCE,
            );
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
            let calls = stage.server.ledger().calls_of("main agent");
            let sent = calls[0].body.to_string();
            assert!(
                !sent.contains("Delegating to skills") && !sent.contains("delegate"),
                "{settings}: {sent}"
            );
            stage.nothing_is_left();
        }
    }
}
