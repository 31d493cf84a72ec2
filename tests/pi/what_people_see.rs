//! What a person sees of agents on the screen of real Pi of both versions: in the call that began them, folded and opened,
//! several at once, and in the background.

use crate::agents::{FOUND, delegating};
use crate::host::{PATIENCE, Stage, submit_and_see};
use impresario_model_server::Turn;
use impresario_test_support::pi::{Version, submit};
use impresario_test_support::terminal::{Key, Terminal};
use serde_json::json;

/// What Pi opens and folds results of tools with.
fn press_expand(terminal: &mut Terminal) {
    terminal.press(Key::Control('o'));
}

/// The last line that has this in it.
fn line_with<'a>(screen: &'a str, text: &str) -> &'a str {
    let line = screen.lines().rev().find(|line| line.contains(text));
    line.unwrap_or_else(|| panic!("no {text:?} in\n{screen}"))
}

#[test]
fn a_delegated_run_is_seen_as_it_works_and_afterwards_folded_and_opened() {
    for version in Version::ALL {
        let delegated = Turn::tool("delegate_general", json!({"task": "look where it is decided"}));
        let works = Turn::text("First I look around.")
            .and_tool("read", json!({"path": "present.md"}))
            .and_tool("read", json!({"path": "missing.md"}));
        let waits = Turn::text("Now the long one.").and_tool(
            "bash",
            json!({"command": "until [ -e go-on ]; do sleep 0.1; done"}),
        );
        let turns = [works, waits, Turn::text(FOUND)];
        let Some(stage) = Stage::set_with(version, "a run on the screen", delegating(delegated, turns))
        else {
            return;
        };
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut terminal = stage.ready_terminal();
        submit(&mut terminal, "Now, please.", PATIENCE);

        // Folded: how it stands, and what it does now.
        let folded = terminal.wait_for_text(PATIENCE, "▸ bash  until");
        assert!(folded.contains("delegate general"), "{folded}");
        let head = line_with(&folded, "● ");
        assert!(head.contains("· mock/mock-1 · 3 calls"), "{head}");
        assert!(!folded.contains("missing.md"), "{folded}");

        // Opened: what happened, and what was said last.
        press_expand(&mut terminal);
        let opened = terminal.wait_for_text(PATIENCE, "✗ read  missing.md");
        assert!(opened.contains("✓ read  present.md"), "{opened}");
        assert!(opened.contains("Now the long one."), "{opened}");
        press_expand(&mut terminal);
        terminal.wait_for(PATIENCE, |screen| !screen.contains("missing.md"));

        stage.sandbox.write_work_file("go-on", "");
        let over = terminal.wait_for(PATIENCE, |screen| screen.contains(crate::host::MAIN_ANSWER));
        let head = line_with(&over, "· mock/mock-1 · 3 calls");
        assert!(head.trim_start().starts_with('✓'), "{head}");
        assert!(head.contains(" in, ") && head.contains(" out · "), "{head}");
        assert!(over.contains(FOUND), "{over}");
        press_expand(&mut terminal);
        let opened = terminal.wait_for_text(PATIENCE, "✓ bash  until");
        assert!(opened.contains("✗ read  missing.md"), "{opened}");

        stage.wait_for_states(&["succeeded"]);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn a_folded_run_shows_as_much_as_settings_wish_for() {
    for (version, display) in Version::ALL.into_iter().zip(["full", "minimal"]) {
        let delegated = Turn::tool("delegate_general", json!({"task": "look where it is decided"}));
        let looks = Turn::text("First I look around.").and_tool("read", json!({"path": "present.md"}));
        let waits = Turn::text("Now the long one.").and_tool(
            "bash",
            json!({"command": "until [ -e go-on ]; do sleep 0.1; done"}),
        );
        let turns = [looks, waits, Turn::text(FOUND)];
        let Some(stage) = Stage::set_with(version, "as much as wished for", delegating(delegated, turns))
        else {
            return;
        };
        stage.sandbox.write_work_file("present.md", "here\n");
        stage.configure(json!({"drawing": {"agents": display}}));
        let mut terminal = stage.ready_terminal();
        submit(&mut terminal, "Now, please.", PATIENCE);
        let folded = terminal.wait_for_text(PATIENCE, "2 calls");
        let is_full = display == "full";
        assert_eq!(folded.contains("▸ bash  until"), is_full, "{folded}");
        assert_eq!(folded.contains("✓ read  present.md"), is_full, "{folded}");
        press_expand(&mut terminal);
        terminal.wait_for_text(PATIENCE, "✓ read  present.md");
        press_expand(&mut terminal);
        stage.sandbox.write_work_file("go-on", "");
        let over = terminal.wait_for(PATIENCE, |screen| screen.contains(crate::host::MAIN_ANSWER));
        assert_eq!(over.contains(FOUND), is_full, "{over}");
        stage.wait_for_states(&["succeeded"]);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn several_at_once_have_a_head_each_and_who_waits_for_room_knows_its_place() {
    for version in Version::ALL {
        let ask = |number: usize| json!({"question": format!("question {number}")});
        let all = (2..=6).fold(Turn::tool("delegate_explore", ask(1)), |turn, number| {
            turn.and_tool("delegate_explore", ask(number))
        });
        // Four work at a time; none ends before all were seen.
        let turns = (0..6).map(|_| Turn::text(FOUND).behind_gate("seen"));
        let Some(stage) = Stage::set_with(version, "several on the screen", delegating(all, turns)) else {
            return;
        };
        let mut terminal = stage.ready_terminal();
        submit(&mut terminal, "Now, please.", PATIENCE);
        stage.wait_for_calls_of("agent", 4);
        let seen = terminal.wait_for(PATIENCE, |screen| {
            // The first ones are above the screen.
            let heads = screen
                .lines()
                .filter(|line| line.contains("· mock/mock-1 · 0 calls"));
            heads.count() >= 2
                && screen.contains("waits for room, first in line")
                && screen.contains("waits for room, 2nd in line")
        });
        assert!(!seen.contains("esc cancels"), "drawn twice: {seen}");
        stage.server.open_gate("seen");
        terminal.wait_for_text(PATIENCE, crate::host::MAIN_ANSWER);
        stage.wait_for_states(&["succeeded"; 6]);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn a_run_in_the_background_has_a_place_above_the_prompt_until_it_is_over() {
    for version in Version::ALL {
        let background = json!({"question": "where is it", "background": true});
        let turns = [
            Turn::text("I look.").and_tool("read", json!({"path": "present.md"})),
            Turn::text(FOUND).behind_gate("later"),
        ];
        let turn = Turn::tool("delegate_explore", background);
        let Some(stage) = Stage::set_with(version, "background on the screen", delegating(turn, turns))
        else {
            return;
        };
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut terminal = stage.ready_terminal();
        submit_and_see(&mut terminal, "Now, please.", crate::host::MAIN_ANSWER);
        stage.wait_for_calls_of("agent", 2);
        let seen = terminal.wait_for(PATIENCE, |screen| {
            screen.contains("● explore") && screen.contains("1 tool call")
        });
        assert!(seen.contains("esc cancels"), "{seen}");
        stage.server.open_gate("later");
        terminal.wait_for_text(PATIENCE, FOUND);
        terminal.wait_for(PATIENCE, |screen| {
            !screen.contains("● explore") && !screen.contains("esc cancels")
        });
        stage.wait_for_states(&["succeeded"]);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn the_conversation_of_a_run_is_followed_while_it_works_and_read_when_it_is_over() {
    for version in Version::ALL {
        let background = json!({"task": "look around", "background": true});
        let turns = [
            Turn::text("First I look.").and_tool("read", json!({"path": "present.md"})),
            Turn::text("That was it.")
                .behind_gate("looked")
                .and_tool("bash", json!({"command": "echo done-it"})),
            Turn::text(FOUND).behind_gate("closed"),
        ];
        let turn = Turn::tool("delegate_general", background);
        let Some(stage) = Stage::set_with(version, "a transcript", delegating(turn, turns)) else {
            return;
        };
        stage
            .sandbox
            .write_work_file("present.md", "what the file says\n");
        let mut terminal = stage.ready_terminal();
        submit_and_see(&mut terminal, "Now, please.", crate::host::MAIN_ANSWER);
        stage.wait_for_calls_of("agent", 2);

        // It follows: what is said after it was opened comes by itself.
        submit(&mut terminal, "/impresario transcript", PATIENCE);
        let opened = terminal.wait_for_text(PATIENCE, "what the file says");
        for said in [
            "general · run ",
            "task:",
            "look around",
            "First I look.",
            "▸ read",
            "follows",
        ] {
            assert!(opened.contains(said), "no {said:?} in\n{opened}");
        }
        stage.server.open_gate("looked");
        terminal.wait_for(PATIENCE, |screen| {
            screen.contains("That was it.") && screen.contains("done-it")
        });

        // Esc closes it and cancels nothing.
        terminal.press(Key::Escape);
        terminal.wait_for(PATIENCE, |screen| !screen.contains("general · run "));
        stage.server.open_gate("closed");
        terminal.wait_for_text(PATIENCE, FOUND);
        stage.wait_for_states(&["succeeded"]);

        // Over, it is read from its beginning; the terminal has the same.
        submit(&mut terminal, "/impresario transcript", PATIENCE);
        let read = terminal.wait_for_text(PATIENCE, "general · run ");
        assert!(
            read.contains("succeeded") && read.contains("look around"),
            "{read}"
        );
        assert!(!read.contains("follows"), "{read}");
        terminal.type_text("q");
        terminal.wait_for(PATIENCE, |screen| !screen.contains("general · run "));
        let runs = stage.runs();
        let run = runs[0]["run"].as_str().expect("an id");
        let printed = stage.impresario(&["runs", "transcript", run]).stdout;
        for said in [
            "First I look.",
            "what the file says",
            "That was it.",
            "done-it",
            FOUND,
        ] {
            assert!(printed.contains(said), "no {said:?} in {printed}");
        }
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn how_things_stand_is_said_and_statistics_outlive_pi() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it"}));
        let script = delegating(turn, [Turn::text(FOUND)]);
        let Some(stage) = Stage::set_with(version, "status", script) else {
            return;
        };
        let mut terminal = stage.ready_terminal();
        submit_and_see(&mut terminal, "Now, please.", FOUND);
        stage.wait_for_states(&["succeeded"]);
        drop(terminal);
        stage.nothing_is_left();

        let mut terminal = stage.ready_terminal();
        submit_and_see(
            &mut terminal,
            "/impresario statistics",
            "explore: 1x (1/1 ok, avg ",
        );
        let screen = submitted(&mut terminal, "/impresario agents", "oracle (built in)");
        assert!(
            screen.contains("Agents: 5 enabled | Runs under way: 0"),
            "{screen}"
        );
        submitted(&mut terminal, "/impresario routing", "Use when:");
        submitted(
            &mut terminal,
            "/impresario runtime",
            "journal ~/.local/state/impresario/",
        );
        submitted(
            &mut terminal,
            "/impresario nonsense",
            "There are: agents, routing, runs",
        );
        drop(terminal);
        stage.nothing_is_left();
        let stats = stage.impresario(&["stats", "--json"]).records();
        assert_eq!(stats.len(), 1, "{stats:?}");
        assert_eq!(
            (&stats[0]["agent"], &stats[0]["succeeded"]),
            (&json!("explore"), &json!(1))
        );
        assert!(
            stats[0]["tokens"].as_u64().is_some_and(|tokens| tokens > 0),
            "{stats:?}"
        );
    }
}

fn submitted(terminal: &mut Terminal, text: &str, wanted: &str) -> String {
    submit_and_see(terminal, text, wanted);
    terminal.screen()
}

#[test]
fn everything_that_runs_is_seen_from_another_terminal_and_can_be_cancelled_there() {
    for version in Version::ALL {
        let background = json!({"task": "look around", "background": true});
        let turns = [
            Turn::text("First I look.").and_tool("read", json!({"path": "present.md"})),
            Turn::tool("read", json!({"path": "present.md"})).behind_gate("told"),
            Turn::tool("read", json!({"path": "present.md"})).behind_gate("asked"),
            Turn::text("Half way.").and_tool("read", json!({"path": "present.md"})),
            Turn::text(FOUND).behind_gate("never"),
        ];
        let turn = Turn::tool("delegate_general", background);
        let Some(stage) = Stage::set_with(version, "top", delegating(turn, turns)) else {
            return;
        };
        // Its sub-agent is silent for as long as this takes.
        stage.configure(json!({"inactivityTimeoutMs": 600_000}));
        stage.sandbox.write_work_file("present.md", "here\n");
        let mut pi = stage.ready_terminal();
        submit_and_see(&mut pi, "Now, please.", crate::host::MAIN_ANSWER);
        stage.wait_for_calls_of("agent", 2);

        let printed = stage.impresario(&["top"]);
        assert!(
            printed.stderr.contains("this is no terminal"),
            "{}",
            printed.stderr
        );
        let runs = stage.impresario(&["top", "--json"]).records();
        let [run] = runs.as_slice() else {
            panic!("{runs:?}")
        };
        assert_eq!((&run["name"], &run["host"]), (&json!("general"), &json!("pi")));
        assert_eq!(run["calls"][0]["fate"], "ok", "{run}");
        let id = run["run"].as_str().expect("an id");
        for wanted in ["pi session ", "general  ", id, "works, 1 call", "mock/mock-1"] {
            assert!(
                printed.stdout.contains(wanted),
                "no {wanted:?} in {}",
                printed.stdout
            );
        }

        let mut command = stage.sandbox.command(&stage.binary);
        command.arg("top");
        let mut top = Terminal::start(command);
        top.wait_for(PATIENCE, |screen| {
            screen.contains("1 under way") && screen.contains(id)
        });
        top.type_text("t");
        top.wait_for(PATIENCE, |screen| {
            screen.contains("First I look.") && screen.contains("follows")
        });
        top.type_text("q");
        top.wait_for_text(PATIENCE, "c cancel");

        // Told and asked, and what becomes of it.
        top.type_text("s");
        top.wait_for_text(PATIENCE, &format!("Tell {id}"));
        top.type_text("use qoutes");
        (0..5).for_each(|_| top.press(Key::Backspace));
        top.type_text("uotes");
        top.wait_for_text(PATIENCE, "use quotes");
        top.press(Key::Enter);
        top.wait_for_text(PATIENCE, "use quotes → queued (m");
        stage.server.open_gate("told");
        top.wait_for_text(PATIENCE, "use quotes → delivered (m");
        top.type_text("a");
        top.wait_for_text(PATIENCE, &format!("Ask {id}"));
        top.type_text("漢字?");
        top.press(Key::Enter);
        top.wait_for_text(PATIENCE, "漢字? → queued (m");
        stage.server.open_gate("asked");
        top.wait_for_text(PATIENCE, "漢字? → Half way.");

        // Another size is drawn anew.
        top.resize(8, 50);
        top.wait_for(PATIENCE, |screen| {
            screen.lines().count() <= 8 && screen.contains("1 under way")
        });
        top.resize(
            impresario_test_support::terminal::ROWS,
            impresario_test_support::terminal::COLUMNS,
        );
        top.wait_for_text(
            PATIENCE,
            "select · t transcript · s steer · a ask · c cancel · q quit",
        );
        top.type_text("c");
        top.wait_for_text(PATIENCE, &format!("Cancel run {id}?"));
        top.type_text("y");
        let screen = top.wait_for_text(PATIENCE, "Nothing runs.");
        // The marks of a spinner: progress is for who waits for a run, and nothing but `top` draws on its screen.
        assert!(
            !screen
                .chars()
                .any(|drawn| ('\u{2800}'..='\u{28ff}').contains(&drawn)),
            "{screen}"
        );
        top.type_text("q");
        assert_eq!(
            top.wait_for_end(PATIENCE),
            impresario_test_support::limited::End::Exited(0)
        );
        stage.wait_for_states(&["cancelled"]);
        drop(pi);
        stage.nothing_is_left();
    }
}
