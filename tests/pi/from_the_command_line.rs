//! Real Pi, both versions, below the command line: what a person or a script sees of a run, and what is left of it.

use crate::below::{Stage, marked, nothing_is_left_of, with_both};
use crate::host::PATIENCE;
use impresario_model_server::{Fault, Place, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished};
use impresario_test_support::pi::MOCK_MODEL;
use impresario_test_support::processes::send;
use impresario_test_support::programs::write_script;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const ANSWER: &str = "It is decided in notes.txt.";
const TASK: &str = "Where in notes.txt is it decided who restarts?";
const OTHER_MODEL: &str = "mock/mock-other";

/// Holds a Pi that is a sub-agent at its beginning, and lets one pass that only tells its version.
const HOLD: &str =
    "if (process.argv.includes('rpc')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n";

impl Stage {
    /// `run explore` with nested Pi, its events on stdout, no judge.
    fn explore(&self, how: &[&str]) -> Finished {
        let always = ["run", "--runner", "pi", "--json", "--unjudged"];
        self.run(&[&always, how, &["explore", TASK]].concat())
    }

    /// `skill demo` with nested Pi, left to itself.
    fn start_skill(&self) -> JsonLines {
        let arguments = [
            "skill",
            "--trust",
            "--runner",
            "pi",
            "--model",
            MOCK_MODEL,
            "--json",
            "--unjudged",
            "demo",
            TASK,
        ];
        self.start(&arguments)
    }

    /// A `pi` that is the real one and never says a word as a sub-agent.
    fn held_pi(&self) -> String {
        self.sandbox.write_work_file("hold.cjs", HOLD);
        let install = self.scenario.install();
        let hold = self.sandbox.work().join("hold.cjs");
        let script = format!(
            "exec '{}' --require '{}' '{}' \"$@\"",
            install.node.display(),
            hold.display(),
            install.cli.display()
        );
        let program = self.sandbox.bin().join("held-pi");
        write_script(&program, &script);
        program.display().to_string()
    }

    /// The nested sessions that are on disk, with their sizes.
    fn sessions(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        collect_files(&self.state().join("sessions"), &mut found);
        found.sort();
        found
    }
}

fn collect_files(directory: &Path, found: &mut Vec<(PathBuf, u64)>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let metadata = entry.metadata().expect("a file that is there");
        if metadata.is_dir() {
            collect_files(&entry.path(), found);
        } else {
            found.push((entry.path(), metadata.len()));
        }
    }
}

/// The last line, which says how the run ended, after the proof in it was looked at.
fn run_ended(finished: &Finished) -> Value {
    let records = finished.records();
    let last = records
        .last()
        .unwrap_or_else(|| panic!("no events: {}", finished.stderr));
    check_ended(last);
    last.clone()
}

/// Whoever reads the last line learns that nothing is left; `/proc` agrees.
fn check_ended(ended: &Value) {
    assert_eq!(ended["type"], "run_ended", "{ended}");
    let proof = &ended["proof"];
    assert_eq!(
        (&proof["processes_left"], &proof["no_children"]),
        (&json!(0), &json!(true)),
        "{ended}"
    );
    let held = proof["method"] == "keeper" || proof["method"] == "pid_namespace";
    assert!(held, "{ended}");
    let run = ended["run"].as_str().expect("the run has an id");
    assert_eq!(marked(run), []);
}

/// Looks at how a run failed: its exit code, the reason's code, and words that must stand in its sentence.
fn check_failed(finished: &Finished, code: &str, words: &[&str]) {
    assert_eq!(
        finished.end,
        End::Exited(1),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );
    let ended = run_ended(finished);
    assert_eq!(
        (&ended["state"], &ended["reason"]["code"]),
        (&json!("failed"), &json!(code)),
        "{ended}"
    );
    let sentence = ended["reason"]["message"].as_str().expect("a sentence");
    for word in words {
        assert!(sentence.contains(word), "{word:?} is not in {sentence:?}");
    }
}

/// What asks a person for leave in Pi is not loaded where nobody could give it: tools are chosen by the agent there.
#[test]
fn extensions_of_the_user_and_the_workspace_ask_nothing_in_a_sub_agent() {
    let asks = |file: &Path| {
        format!(
            "require('fs').writeFileSync({:?}, 'loaded');\n\
             export default (pi) => pi.on('tool_call', async (_, ctx) => \
             (await ctx.ui.confirm('May I?', 'really')) ? undefined : {{ block: true, reason: 'nobody said yes' }});\n",
            file.display()
        )
    };
    let turns = || {
        let reads = Turn::tool("read", json!({"path": "notes.txt"}));
        Script::turns([reads, Turn::text(ANSWER)])
    };
    with_both("extensions that ask", turns, |stage| {
        let loaded = stage.sandbox.home().join("loaded");
        stage
            .sandbox
            .write_work_file(".pi/extensions/asks.ts", &asks(&loaded));
        let of_user = stage.sandbox.agent_directory().join("extensions");
        fs::create_dir_all(&of_user).expect("a directory");
        fs::write(of_user.join("asks.ts"), asks(&loaded)).expect("an extension");
        let finished = stage.explore(&["--trust", "--model", MOCK_MODEL]);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        assert_eq!(run_ended(&finished)["state"], "succeeded");
        let calls = stage.server.ledger().calls();
        let heard = calls[1].body["messages"].to_string();
        assert!(heard.contains("The supervisor decides who restarts."), "{heard}");
        assert!(!loaded.exists(), "an extension was loaded");
    });
}

fn model(turn: Turn) -> Rule {
    Rule::new("model").turn(turn)
}

fn always(turn: Turn) -> Script {
    Script::new().rule(model(turn).repeat())
}

fn looks_and_answers() -> Script {
    let reads = Turn::tool("read", json!({"path": "notes.txt"}));
    Script::new().rule(model(reads).turn(Turn::text(ANSWER)))
}

#[test]
fn no_word_rules_stand_before_a_real_model() {
    with_both(
        "nobody judges for a real model",
        || Script::always(Turn::text(ANSWER)),
        |stage| {
            for what in [["run", "explore"], ["skill", "demo"]] {
                let [command, name] = what;
                // Rules of words would ask what "it" is.
                let how = [
                    command, "--trust", "--runner", "pi", "--model", MOCK_MODEL, "--json", name, "fix it",
                ];
                let said = stage.run(&how);
                assert_eq!(said.end, End::Exited(0), "{}", said.stdout);
                let judged = said.records().iter().any(|event| event["type"] == "brief_judged");
                assert!(!judged, "{}", said.stdout);
            }
            assert_eq!(stage.calls(), 2, "the sub-agents alone called a model");
        },
    );
}

#[test]
fn a_question_is_answered_with_the_tools_of_the_agent_and_nothing_is_left() {
    with_both("command line: answered", looks_and_answers, |stage| {
        let finished = stage.run(&["run", "--runner", "pi", "--model", MOCK_MODEL, "explore", TASK]);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        assert_eq!(finished.stdout.trim_end(), ANSWER);

        let calls = stage.server.ledger().calls();
        let mut offered = calls[0].tools.clone();
        offered.sort();
        let expected = [
            "ast_search",
            "codebase-retrieval",
            "find",
            "glob",
            "grep",
            "overflow_list",
            "overflow_read",
            "overflow_search",
            "read",
        ];
        assert_eq!(offered, expected);
        assert!(
            calls[1]
                .body
                .to_string()
                .contains("The supervisor decides who restarts.")
        );
        let of_pi = stage.sandbox.agent_directory().join("sessions");
        assert!(!of_pi.exists(), "no session of ours among the user's own");

        stage.server.set_script(looks_and_answers()).expect("a script");
        let finished = stage.explore(&["--model", MOCK_MODEL]);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        assert_eq!(run_ended(&finished)["state"], "succeeded");
        assert_eq!(finished.records_of("run_answered").len(), 1);
        let started = &finished.records_of("attempt_started")[0];
        let session = Path::new(started["session_file"].as_str().expect("a nested session"));
        assert!(session.starts_with(stage.state().join("sessions")), "{started}");
        assert!(session.exists(), "it can be read when the run is over");
        let run = run_ended(&finished)["run"].as_str().expect("an id").to_string();
        let transcript = stage.run(&["runs", "transcript", &run]);
        for said in [
            "told:",
            "▸ read",
            "read:",
            "The supervisor decides who restarts.",
            "answer:",
            ANSWER,
        ] {
            assert!(
                transcript.stdout.contains(said),
                "no {said:?} in {}",
                transcript.stdout
            );
        }
        let stats = stage.run(&["stats"]);
        assert!(stats.stdout.contains("explore: "), "{}", stats.stdout);
    });
}

#[test]
fn a_skill_is_told_its_task() {
    let script = || always(Turn::text(ANSWER));
    with_both("command line: skill", script, |stage| {
        let finished = stage.run(&[
            "skill",
            "--trust",
            "--runner",
            "pi",
            "--model",
            MOCK_MODEL,
            "demo",
            "tidy the attic",
        ]);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        assert_eq!(finished.stdout.trim_end(), ANSWER);
        let call = &stage.server.ledger().calls()[0];
        let body = call.body.to_string();
        assert!(body.contains("tidy the attic") && body.contains("Do it, and say what you did."));
        let mut offered = call.tools.clone();
        offered.sort();
        let expected = [
            "bash",
            "codebase-retrieval",
            "edit",
            "overflow_list",
            "overflow_read",
            "overflow_search",
            "read",
            "write",
        ];
        assert_eq!(offered, expected);
    });
}

#[test]
fn control_c_in_a_tool_cancels_and_leaves_nothing() {
    let script = || always(Turn::tool("bash", json!({"command": "sleep 301 & sleep 301"})));
    with_both("command line: Ctrl-C", script, |stage| {
        let mut skill = stage.start_skill();
        let started = skill.wait_for(PATIENCE, |event| event["type"] == "tool_started");
        let run = started["run"].as_str().expect("the run has an id").to_string();
        assert!(!marked(&run).is_empty(), "the tool runs");
        send(skill.pid(), Signal::INT);
        assert_eq!(skill.wait_for_end(PATIENCE), End::Exited(3));
        let said = skill.said().records;
        let ended = said.last().expect("events");
        check_ended(ended);
        assert_eq!(
            (&ended["run"], &ended["state"]),
            (&json!(run), &json!("cancelled")),
            "{ended}"
        );
        assert_eq!(stage.calls(), 1);
    });
}

#[test]
fn a_killed_runtime_leaves_nothing_and_its_run_goes_on_without_repeating_a_tool() {
    let effect = "echo done >> effects.txt";
    let script = || {
        let works = Turn::tool("bash", json!({"command": effect}));
        Script::new().rule(model(works).turn(Turn::text("never").behind_gate("never")))
    };
    with_both("command line: killed, then resumed", script, |stage| {
        let mut skill = stage.start_skill();
        let started = skill.wait_for(PATIENCE, |event| event["type"] == "tool_ended");
        let run = started["run"].as_str().expect("the run has an id").to_string();
        stage.wait_for_calls(2);
        assert_eq!(stage.written("effects.txt"), "done\n");
        send(skill.pid(), Signal::KILL);
        assert_eq!(skill.wait_for_end(PATIENCE), End::Signalled(9));
        nothing_is_left_of(&run);

        let listed = stage.run(&["runs", "--json"]).records();
        let [parked] = listed.as_slice() else {
            panic!("one run: {listed:?}");
        };
        assert_eq!(
            (&parked["run"], &parked["state"]),
            (&json!(run), &json!("parked"))
        );
        let shown = stage.run(&["runs", "show", &run]);
        let advice = format!("impresario runs resume {run}");
        assert!(
            shown.stdout.contains(&advice),
            "it says what can be done: {}",
            shown.stdout
        );
        let before = stage.sessions();

        stage
            .server
            .set_script(always(Turn::text(ANSWER)))
            .expect("a script");
        let resumed = stage.run(&["runs", "resume", &run]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        assert_eq!(resumed.stdout.trim_end(), ANSWER);
        assert_eq!(
            stage.written("effects.txt"),
            "done\n",
            "the finished tool ran once"
        );
        assert_eq!(stage.calls(), 3);
        let went_on = stage.server.ledger().calls()[2].body.to_string();
        assert!(
            went_on.contains(effect),
            "the conversation goes on where it was: {went_on}"
        );
        // It went on in a copy; what the parked run left stays as it is.
        assert_eq!(before.len(), 1, "{before:?}");
        let after = stage.sessions();
        assert_eq!((after.len(), after.contains(&before[0])), (2, true), "{after:?}");
    });
}

#[test]
fn the_second_model_of_a_chain_answers_when_the_first_has_no_capacity() {
    let script = || {
        let full = Rule::new("first")
            .model("mock-1")
            .turn(Turn::overloaded())
            .repeat();
        let well = Rule::new("second")
            .model("mock-other")
            .turn(Turn::text(ANSWER))
            .repeat();
        Script::new().rule(full).rule(well)
    };
    with_both("command line: fallback chain", script, |stage| {
        let finished = stage.explore(&["--model", MOCK_MODEL, "--model", OTHER_MODEL]);
        assert_eq!(
            finished.end,
            End::Exited(0),
            "{}\n{}",
            finished.stdout,
            finished.stderr
        );
        assert_eq!(run_ended(&finished)["state"], "succeeded");
        let answered = finished.records_of("run_answered");
        assert!(answered[0].to_string().contains(ANSWER));
        let ledger = stage.server.ledger();
        assert!(!ledger.calls_of("first").is_empty());
        assert_eq!(ledger.calls_of("second").len(), 1);
    });
}

#[test]
fn a_key_that_is_not_valid_and_a_model_that_does_not_exist_are_told() {
    let script = || always(Turn::fault(Fault::Unauthorized));
    with_both("command line: 401, unknown model", script, |stage| {
        let finished = stage.explore(&["--model", MOCK_MODEL]);
        check_failed(&finished, "authentication", &[]);
        assert_eq!(stage.calls(), 1, "a key does not become valid by trying again");

        let missing = always(Turn::fault(Fault::ModelNotFound));
        stage.server.set_script(missing).expect("a script");
        let finished = stage.explore(&["--model", "mock/no-such-model"]);
        assert_eq!(finished.end, End::Exited(1), "{}", finished.stdout);
        let ended = run_ended(&finished);
        assert_eq!(ended["state"], "failed", "{ended}");
        let sentence = ended["reason"]["message"].as_str().expect("a sentence");
        assert!(sentence.contains("no-such-model"), "{sentence}");
    });
}

#[test]
fn silence_at_the_start_ends_at_the_start_up_clock() {
    let script = || always(Turn::text(ANSWER));
    with_both("command line: start-up clock", script, |stage| {
        let finished = stage.explore(&[
            "--model",
            MOCK_MODEL,
            "--startup-timeout",
            "3s",
            "--pi",
            &stage.held_pi(),
        ]);
        check_failed(&finished, "start_up_timeout", &["start", "3"]);
        assert_eq!(stage.calls(), 0);
    });
}

#[test]
fn silence_in_an_answer_ends_at_the_inactivity_clock() {
    let script = || {
        always(
            Turn::text("a few words and then nothing")
                .in_deltas_of(4)
                .and_fault(Fault::Hang { at: Place::MidText }),
        )
    };
    with_both("command line: inactivity clock", script, |stage| {
        let finished = stage.explore(&["--model", MOCK_MODEL, "--inactivity-timeout", "3s"]);
        check_failed(&finished, "inactivity_timeout", &["3"]);
    });
}

#[test]
fn a_run_ends_at_its_total_clock_whatever_it_is_doing() {
    let script = || always(Turn::fault(Fault::HangBeforeHeaders));
    with_both("command line: total clock", script, |stage| {
        let finished = stage.explore(&["--model", MOCK_MODEL, "--timeout", "8s"]);
        check_failed(&finished, "total_timeout", &["8"]);
    });
}
