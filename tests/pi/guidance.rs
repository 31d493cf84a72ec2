//! Rules of directories behind results of tools, as real Pi sends them to its model.

use crate::host::{PATIENCE, Stage, is_notice, prompt, session_file, submit_and_see, talk};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::Version;
use impresario_test_support::waiting::until;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

const OUTER: &str = "Use tabs here.";
const INNER: &str = "No colours here.";

fn read(path: &str) -> Turn {
    Turn::tool("read", json!({ "path": path }))
}

/// What the main agent does, turn by turn.
fn main_agent(turns: impl IntoIterator<Item = Turn>) -> Script {
    let rule = turns.into_iter().fold(Rule::new("main agent"), Rule::turn);
    Script::new().rule(rule)
}

fn write_rules(stage: &Stage) {
    for (path, text) in [
        ("AGENTS.md", "Of the root."),
        ("src/AGENTS.md", OUTER),
        ("src/a.ts", "a"),
        ("src/b.ts", "b"),
        ("src/ui/CLAUDE.md", INNER),
        ("src/ui/c.ts", "c"),
        ("top.ts", "t"),
    ] {
        stage.sandbox.write_work_file(path, text);
    }
}

/// A stage with rules in its directories.
fn stages(name: &str, script: impl Fn() -> Script) -> impl Iterator<Item = Stage> {
    Stage::both_with(name, script).inspect(write_rules)
}

/// How often each of these stands in the last request to the model.
#[track_caller]
fn assert_seen(stage: &Stage, expected: &[(&str, usize)]) {
    let calls = stage.server.ledger().calls_of("main agent");
    let body = calls.last().expect("the model was called").body.to_string();
    for (text, times) in expected {
        assert_eq!(body.matches(text).count(), *times, "{text} in {body}");
    }
}

fn statuses(pi: &JsonLines) -> Vec<Value> {
    let records = pi.said().records.clone();
    let ours = |record: &&Value| record["statusKey"] == "ext:nested-agents:status";
    let ours = records.iter().filter(ours);
    ours.map(|record| record["statusText"].clone()).collect()
}

impl Stage {
    fn has_another_runtime(&self, than: Pid) -> bool {
        let than = than.as_raw_nonzero().get();
        let processes = self.processes();
        let runtimes = processes
            .iter()
            .filter(|(_, command)| command.contains("impresario bridge"));
        runtimes.map(|(pid, _)| *pid).any(|pid| pid != than)
    }
}

#[test]
fn reads_of_one_turn_bring_each_rule_once() {
    let script = || {
        let together = read("src/a.ts")
            .and_tool("read", json!({"path": "@src/b.ts"}))
            .and_tool("read", json!({"path": "src/ui/c.ts"}))
            .and_tool("read", json!({"path": "top.ts"}));
        main_agent([together, read("src/ui/c.ts"), Turn::text("done")])
    };
    for stage in stages("rules once", script) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read.");
        let outer = format!("{}/src/AGENTS.md]", stage.sandbox.work().display());
        assert_seen(
            &stage,
            &[(OUTER, 1), (INNER, 1), (&outer, 1), ("[Directory Context: ", 2)],
        );
        let shown = statuses(&pi);
        assert!(
            shown.last().is_some_and(|text| text.to_string().contains("🤖 2")),
            "{shown:?}"
        );
        stage.end(pi);
    }
}

#[test]
fn whoever_edits_searches_or_looks_in_a_directory_has_its_rules() {
    let calls = [
        (
            "edit",
            json!({"path": "src/a.ts", "edits": [{"oldText": "a", "newText": "z"}]}),
        ),
        ("write", json!({"path": "src/new.ts", "content": "n"})),
        ("bash", json!({"command": "cat src/a.ts"})),
        ("bash", json!({"command": "cd src && ls"})),
    ];
    for (tool, arguments) in calls {
        let script = || main_agent([Turn::tool(tool, arguments.clone()), Turn::text("done")]);
        for stage in stages("rules of what is touched", script) {
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "Go on.");
            assert_seen(&stage, &[(OUTER, 1), (INNER, 0)]);
            stage.end(pi);
        }
    }
}

#[test]
fn a_resumed_session_has_them_and_a_changed_file_is_news() {
    let script = || {
        main_agent([
            read("src/a.ts"),
            Turn::text("once"),
            read("src/b.ts"),
            Turn::text("still"),
            read("src/b.ts"),
            Turn::text("again"),
        ])
    };
    for stage in stages("rules after a resume", script) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read a.");
        let file = session_file(&mut pi);
        stage.end(pi);
        let mut pi = JsonLines::start(&mut stage.pi(&["--mode", "rpc", "--session", &file]));
        talk(&mut pi, "Read b.");
        assert_seen(&stage, &[(OUTER, 1)]);
        stage.sandbox.write_work_file("src/AGENTS.md", "Use spaces now.");
        talk(&mut pi, "Read b again.");
        assert_seen(&stage, &[(OUTER, 1), ("Use spaces now.", 1)]);
        stage.end(pi);
    }
}

fn ask(pi: &mut JsonLines, command: &Value) -> Value {
    let seen = pi.said().records.len();
    pi.say(command).expect("Pi listens");
    let (_, done) = pi.wait_for_behind(seen, PATIENCE, |record| record["command"] == command["type"]);
    assert_eq!(done["success"], true, "{done}");
    done["data"].clone()
}

#[test]
fn what_a_fork_leaves_behind_is_given_again() {
    let script = || {
        main_agent([
            Turn::text("hello"),
            read("src/a.ts"),
            Turn::text("read"),
            read("src/b.ts"),
            Turn::text("read"),
        ])
    };
    for stage in stages("rules after a fork", script) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Hello.");
        talk(&mut pi, "Read a.");
        assert_seen(&stage, &[(OUTER, 1)]);
        let messages = ask(&mut pi, &json!({"type": "get_fork_messages"}));
        let entry = messages["messages"][1]["entryId"].clone();
        ask(&mut pi, &json!({"type": "fork", "entryId": entry}));
        talk(&mut pi, "Read b.");
        assert_seen(&stage, &[(OUTER, 1), ("Read a.", 0)]);
        stage.end(pi);
    }
}

#[test]
fn what_was_compacted_is_given_again_and_what_was_kept_is_not() {
    let script = || {
        let summary = Rule::new("summary")
            .system_contains("context summarization assistant")
            .turn(Turn::text("They read a file."))
            .repeat();
        let mut script = main_agent([
            read("src/a.ts"),
            Turn::text(&"A long story. ".repeat(400)),
            read("src/b.ts"),
            Turn::text("read"),
        ]);
        script.rules.insert(0, summary);
        script
    };
    for stage in stages("rules after a compaction", script) {
        stage.sandbox.write_settings(
            json!({"compaction": {"enabled": true, "reserveTokens": 1000, "keepRecentTokens": 50}}),
        );
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read a.");
        ask(&mut pi, &json!({"type": "compact"}));
        talk(&mut pi, "Read b.");
        assert_seen(&stage, &[(OUTER, 1), ("They read a file.", 1)]);
        stage.end(pi);
    }
}

#[test]
fn the_screen_says_how_many_stand_there_and_lists_them_when_asked() {
    let script = || main_agent([read("src/ui/c.ts"), Turn::text("Read it.")]);
    for stage in stages("rules on the screen", script) {
        let mut terminal = stage.ready_terminal();
        submit_and_see(&mut terminal, "Read, please.", "Read it.");
        terminal.wait_for_text(PATIENCE, "🤖 2");
        submit_and_see(&mut terminal, "/nested-agents", "Nested Context:");
        terminal.wait_for_text(PATIENCE, "src/ui/CLAUDE.md");
        drop(terminal);
        stage.nothing_is_left();
    }
}

/// The result as Pi alone gives it.
#[track_caller]
fn assert_untouched(stage: Stage, mut pi: JsonLines) {
    talk(&mut pi, "Read.");
    assert_seen(&stage, &[(OUTER, 0), ("[Directory Context: ", 0)]);
    stage.end(pi);
}

fn one_read() -> Script {
    main_agent([read("src/a.ts"), Turn::text("done")])
}

#[test]
fn who_switches_it_off_gets_results_as_they_are() {
    for stage in stages("rules switched off by a flag", one_read) {
        let pi = JsonLines::start(&mut stage.pi(&["--no-nested-agents", "--mode", "rpc"]));
        assert_untouched(stage, pi);
    }
    for stage in stages("rules switched off by a setting", one_read) {
        stage.configure(json!({"guidance": {"enabled": false}}));
        let pi = stage.ready_rpc();
        assert_untouched(stage, pi);
    }
}

#[test]
fn a_workspace_that_is_not_trusted_gives_no_rules() {
    // Before there was trust, Pi trusted what lay in the workspace.
    let version = Version::ALL[0];
    let Some(stage) = Stage::set_with(version, "rules of nobody's trust", one_read()) else {
        return;
    };
    write_rules(&stage);
    let pi = JsonLines::start(&mut stage.pi_untrusted(&["--mode", "rpc"]));
    assert_untouched(stage, pi);
}

#[test]
fn without_a_runtime_results_are_as_they_are() {
    for stage in stages("rules without a runtime", one_read) {
        let stage = stage.with_scripted_runtime("exit 1");
        let pi = stage.rpc();
        assert_untouched(stage, pi);
    }
}

#[test]
fn a_link_that_leads_out_of_the_repository_is_not_followed() {
    for stage in stages("rules behind a link", one_read) {
        let outside = stage.sandbox.home().join("secret.md");
        std::fs::write(&outside, OUTER).expect("written");
        let rules = stage.sandbox.work().join("src/AGENTS.md");
        std::fs::remove_file(&rules).expect("it was there");
        std::os::unix::fs::symlink(&outside, &rules).expect("linked");
        let pi = stage.ready_rpc();
        assert_untouched(stage, pi);
    }
}

#[test]
fn a_sub_agent_in_a_nested_pi_has_the_rules_of_where_it_reads() {
    let sub_agent = || {
        let together = read("src/a.ts").and_tool("read", json!({"path": "src/ui/c.ts"}));
        [together, read("src/b.ts"), Turn::text("It looked.")]
    };
    for stage in Stage::both("rules of a sub-agent", sub_agent).inspect(write_rules) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "/skill demo look around");
        stage.wait_for_ended(1);
        assert_eq!(stage.runs()[0]["state"], "succeeded");
        let calls = stage.server.ledger().calls_of("sub-agent");
        let body = calls.last().expect("it was called").body.to_string();
        assert_eq!(body.matches(OUTER).count(), 1, "{body}");
        assert_eq!(body.matches(INNER).count(), 1, "{body}");
        assert_eq!(body.matches("Of the root.").count(), 1, "{body}");
        stage.end(pi);
    }
}

#[test]
fn a_runtime_that_was_killed_gives_no_rule_twice() {
    let script = || {
        main_agent([
            read("src/a.ts"),
            Turn::text("read"),
            read("src/ui/c.ts"),
            Turn::text("read"),
        ])
    };
    for stage in stages("rules after a kill", script) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read a.");
        let killed = stage.runtime_pid();
        rustix::process::kill_process(killed, Signal::KILL).expect("it ran");
        until(
            || stage.has_another_runtime(killed),
            || "it was not started again".into(),
        );
        // Whoever is answered is connected.
        let seen = pi.said().records.len();
        prompt(&mut pi, "/skill:trace-view nothing.json");
        pi.wait_for_behind(seen, PATIENCE, |record| is_notice(record, "not found"));
        talk(&mut pi, "Read c.");
        assert_seen(&stage, &[(OUTER, 1), (INNER, 1)]);
        stage.end(pi);
    }
}
