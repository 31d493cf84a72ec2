//! What a person at the command line can rely on: the real program, an empty home, a workspace of its own.

use crate::place::{ANSWERED_BY, Place, QUESTION, Said, processes_of, says_and_ends, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn a_question_is_answered_with_places_that_exist() {
    let place = Place::new();
    let said = place.run(&["run", "explore", QUESTION]);
    said.check(0);
    let cited = cited_places(&said.stdout);
    assert!(
        cited.iter().any(|(path, _, _)| path == ANSWERED_BY),
        "{}",
        said.stdout
    );
    for (path, first, last) in cited {
        let text = fs::read_to_string(place.workspace().join(&path)).expect("a cited file exists");
        assert!(
            1 <= first && first <= last && last <= text.lines().count(),
            "{path}#L{first}-L{last}"
        );
    }
    assert!(
        said.stderr.contains("tool call") && said.stderr.contains("s] "),
        "{}",
        said.stderr
    );
    assert!(!said.stdout.contains("tool call"), "{}", said.stdout);
}

#[test]
fn with_json_every_line_is_an_event_and_the_last_one_ends_the_run() {
    let place = Place::new();
    let said = place.run(&["run", "--json", "explore", QUESTION]);
    said.check(0);
    let events = said.json_lines();
    let last = events.last().expect("an event");
    assert_eq!(last["type"], "run_ended");
    assert_eq!(last["state"], "succeeded");
    assert_eq!(last["reason"], Value::Null);
    assert_eq!(last["proof"]["processes_left"], 0);
    let run = last["run"].as_str().expect("an id");
    assert!(events.iter().all(|event| event["run"] == run));
    let sequences = events.iter().map(|event| event["sequence"].as_u64());
    assert!(sequences.eq((1..=events.len() as u64).map(Some)));
    let ends = events.iter().filter(|event| event["type"] == "run_ended");
    assert_eq!(ends.count(), 1);
    assert_eq!(events[0]["type"], "run_accepted");
}

#[test]
fn with_json_a_failed_run_says_why_in_its_last_line() {
    let place = Place::new();
    let said = place.run(&["run", "--json", "explore", "fix it"]);
    said.check(1);
    let last = said.json_lines().pop().expect("an event");
    assert_eq!(last["type"], "run_ended");
    assert_eq!(last["state"], "failed");
    assert_eq!(last["reason"]["code"], "needs_clarification");
}

#[test]
fn a_task_that_says_too_little_is_not_guessed_at() {
    let place = Place::new();
    let said = place.run(&["run", "explore", "fix it"]);
    said.check(1);
    assert!(said.stderr.contains("does not say enough"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn it_works_without_any_network() {
    let place = Place::new();
    let inside = ["unshare", "-rn", "true"];
    let available = place
        .program(inside[0], &inside[1..])
        .status()
        .is_ok_and(|status| status.success());
    if !available {
        eprintln!("no network namespaces here");
        return;
    }
    let arguments = ["-rn", crate::place::PROGRAM, "run", "explore", QUESTION];
    let said = Said::of(place.program("unshare", &arguments));
    said.check(0);
    assert!(said.stdout.contains(ANSWERED_BY), "{}", said.stdout);
}

#[test]
fn what_cannot_be_understood_is_said_before_anything_is_done() {
    let place = Place::new();
    let long_name = "x".repeat(10_000);
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "explorer", QUESTION], &["explorer", "explore"]),
        (&["run", &long_name, QUESTION], &["explore"]),
        (
            &["run", "--timeout", "90", "explore", QUESTION],
            &["--timeout", "90s"],
        ),
        (
            &["run", "--startup-timeout", "soon", "explore", QUESTION],
            &["--startup-timeout", "soon"],
        ),
        (
            &["run", "--inactivity-timeout", "0s", "explore", QUESTION],
            &["--inactivity-timeout"],
        ),
        (
            &["run", "--timeout", "99999999999999999999d", "explore", QUESTION],
            &["--timeout"],
        ),
        (
            &["run", "--model", "gpt", "explore", QUESTION],
            &["provider/id", "gpt"],
        ),
        (
            &["run", "--model", "nobody/none", "explore", QUESTION],
            &["nobody/none"],
        ),
        (&["run", "--runner", "pi", "explore", QUESTION], &["--model"]),
        (
            &["run", "--runner", "nonsense", "explore", QUESTION],
            &["nonsense", "embedded", "pi"],
        ),
        (
            &["run", "--workspace", "/nowhere/at/all", "explore", QUESTION],
            &["/nowhere/at/all"],
        ),
        (&["skill", "nosuchskill", QUESTION], &["nosuchskill", "not found"]),
        (&["skill", "../../etc", QUESTION], &["../../etc"]),
        (&["skill", "", QUESTION], &["skill name"]),
        (&["runs", "show", "zzzz"], &["zzzz"]),
        (&["runs", "show", ""], &["run"]),
        (&["trace", "zzzz"], &["zzzz"]),
        (&["dance"], &["dance"]),
        (&["run", "explore"], &["TASK"]),
    ];
    for (arguments, told) in cases {
        let said = place.run(arguments);
        said.check(2);
        for word in *told {
            assert!(said.stderr.contains(word), "{arguments:?}: {}", said.stderr);
        }
        assert_eq!(said.stdout, "", "{arguments:?}");
        assert!(said.stderr.len() < 4_000, "{arguments:?}: {}", said.stderr.len());
    }
    assert_eq!(
        place.runs(),
        Vec::<Value>::new(),
        "nothing of it is in the journal"
    );
}

#[test]
fn the_task_of_a_skill_reaches_the_model() {
    let place = Place::new();
    place.workspace_skill("look", "---\ndescription: Looks.\n---\nLook at the files.\n");
    let said = place.run(&["skill", "look", QUESTION]);
    said.check(0);
    assert!(said.stdout.contains(ANSWERED_BY), "{}", said.stdout);
    let run = &place.runs()[0];
    assert_eq!(run["what"], json!({ "kind": "skill", "name": "look" }));
    assert_eq!(run["task"], QUESTION);
}

#[test]
fn a_skill_of_the_workspace_shadows_the_one_at_home() {
    let place = Place::new();
    place.home_skill("look", "Answer from HOME.\n");
    let instructions_of = |said: &Said| {
        said.check(0);
        said.json_lines()[0]["request"]["instructions"]
            .as_str()
            .expect("instructions")
            .to_string()
    };
    let said = place.run(&["skill", "--json", "look", QUESTION]);
    assert!(instructions_of(&said).contains("HOME"));
    place.workspace_skill("look", "Answer from WORKSPACE.\n");
    let said = place.run(&["skill", "--json", "look", QUESTION]);
    assert!(instructions_of(&said).contains("WORKSPACE"));
}

#[test]
fn a_skill_file_that_cannot_be_used_is_named_without_the_way_to_it() {
    let place = Place::new();
    place.workspace_skill("broken", "---\ndescription: fine\nmodel: [unclosed\n---\nDo.\n");
    place.home_skill(
        "brokenhome",
        "---\ndescription: fine\nmodel: [unclosed\n---\nDo.\n",
    );
    place.workspace_skill("large", &"x".repeat(300 * 1024));
    fs::create_dir_all(place.workspace().join(".pi/skills/directory/SKILL.md")).expect("a directory");
    let cases: &[(&str, &[&str])] = &[
        ("broken", &["SKILL.md", "line "]),
        ("brokenhome", &["SKILL.md", "line "]),
        ("large", &["SKILL.md", "bytes"]),
        ("directory", &["SKILL.md", "directory"]),
    ];
    for (name, told) in cases {
        let said = place.run(&["skill", name, QUESTION]);
        said.check(1);
        for word in *told {
            assert!(said.stderr.contains(word), "{name}: {}", said.stderr);
        }
        let above = place.path().to_string_lossy().into_owned();
        assert!(!said.stderr.contains(&above), "{name}: {}", said.stderr);
    }
    assert_eq!(place.runs(), Vec::<Value>::new());
}

#[test]
fn no_link_leads_out_of_the_workspace_into_the_instructions_and_a_pipe_holds_nothing_up() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    fs::write(place.path().join("secret"), "SECRET-OF-SOMEBODY").expect("a file outside");
    let skills = place.workspace().join(".pi/skills");
    place.workspace_skill("real", "---\ndescription: fine\n---\nSay what you find.\n");
    for name in ["linked", "inside", "pipe"] {
        fs::create_dir_all(skills.join(name)).expect("a directory");
    }
    symlink(place.path().join("secret"), skills.join("linked/SKILL.md")).expect("a link");
    symlink("../real/SKILL.md", skills.join("inside/SKILL.md")).expect("a link");
    symlink(place.path(), skills.join("away")).expect("a link");
    fs::write(place.path().join("SKILL.md"), "SECRET-OF-SOMEBODY").expect("a file outside");
    let made = std::process::Command::new("mkfifo")
        .arg(skills.join("pipe/SKILL.md"))
        .status();
    assert!(made.is_ok_and(|made| made.success()));
    for (name, told) in [
        ("linked", "a link that leads out of the workspace"),
        ("away", "a link that leads out of the workspace"),
        ("pipe", "a pipe, a socket or a device"),
    ] {
        let said = place.run(&["skill", name, QUESTION]);
        said.check(1);
        assert!(said.stderr.contains(told), "{name}: {}", said.stderr);
        assert!(!said.stderr.contains("SECRET"), "{name}: {}", said.stderr);
    }
    assert_eq!(place.runs(), Vec::<Value>::new());
    place.run(&["skill", "inside", QUESTION]).check(0);
}

#[test]
fn what_cannot_work_is_refused_before_it_costs_anything_and_says_what_to_do() {
    let place = Place::new();
    place.workspace_skill("review", "---\ndescription: reviews\n---\nReview.\n");
    place.workspace_skill("empty", "---\ndescription: says nothing\n---\n\n");
    let said = place.run(&["skill", "revew", QUESTION]);
    said.check(2);
    assert!(
        said.stderr
            .contains("Did you mean \"review\"? There are: review."),
        "{}",
        said.stderr
    );
    let said = place.run(&["skill", "empty", QUESTION]);
    said.check(1);
    assert!(
        said.stderr.contains("says nothing that a sub-agent could do"),
        "{}",
        said.stderr
    );
    let long = "where? ".repeat(10_000);
    let said = place.run(&["skill", "review", &long]);
    said.check(1);
    assert!(
        said.stderr.contains("70000 characters") && said.stderr.contains("60000"),
        "{}",
        said.stderr
    );
    assert_eq!(place.runs(), Vec::<Value>::new());
}

#[test]
fn runs_are_listed_shown_told_and_forgotten() {
    let place = Place::new();
    let said = place.run(&["runs"]);
    said.check(0);
    place.run(&["run", "explore", QUESTION]).check(0);
    place.run(&["run", "explore", "fix it"]).check(1);

    let runs = place.runs();
    let states = runs.iter().map(|run| run["state"].as_str().expect("a state"));
    assert_eq!(states.collect::<Vec<_>>(), ["failed", "succeeded"]);
    let id = runs[1]["run"].as_str().expect("an id");
    let listed = place.run(&["runs"]);
    assert!(listed.stdout.contains(id) && listed.stdout.contains("succeeded"));
    assert_eq!(
        place.run(&["runs", "--newest", "1", "--json"]).json_lines().len(),
        1
    );

    let shown = place.run(&["runs", "show", id]);
    shown.check(0);
    assert!(shown.stdout.contains(ANSWERED_BY), "{}", shown.stdout);
    let shown = place.run(&["runs", "show", id, "--json"]).json_lines();
    assert!(
        shown[0]["answer"]
            .as_str()
            .is_some_and(|answer| answer.contains(ANSWERED_BY))
    );

    let told = place.run(&["trace", id]);
    told.check(0);
    assert!(
        told.stdout.contains("accepted") && told.stdout.contains("0 processes left"),
        "{}",
        told.stdout
    );
    let steps = place.run(&["trace", "--json", id]).json_lines();
    assert!(steps.iter().any(|step| step["type"] == "run_ended"));

    let first_letters = &id[..4];
    let ambiguous = place.run(&["runs", "show", first_letters]);
    ambiguous.check(2);
    assert!(ambiguous.stderr.contains("More than one"), "{}", ambiguous.stderr);
    for (action, why) in [("cancel", "ended already"), ("resume", "nothing to go on with")] {
        let refused = place.run(&["runs", action, id]);
        refused.check(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }

    place
        .run(&["runs", "prune", "--older-than", "1ms", "--keep", "1"])
        .check(0);
    assert_eq!(place.runs().len(), 1);
    let kept = place.run(&["runs", "prune", "--older-than", "30d", "--keep", "0"]);
    kept.check(0);
    assert_eq!(place.runs().len(), 1, "{}", kept.stdout);
}

#[test]
fn one_interrupt_cancels_and_nothing_is_left() {
    let place = Place::new();
    let hanging = place.start_hanging(&["--json"]);
    hanging.interrupt();
    let said = hanging.said();
    said.check(3);
    let last = said.json_lines().pop().expect("an event");
    assert_eq!(last["state"], "cancelled");
    assert_eq!(last["proof"]["processes_left"], 0);
    let run = last["run"].as_str().expect("an id");
    assert_eq!(processes_of(run), 0);
    assert_eq!(place.runs()[0]["state"], "cancelled");
}

#[test]
fn what_a_sub_agent_says_of_its_cost_while_it_is_stopped_counts() {
    let place = Place::new();
    let charged = |stop_reason: &str, input: u32, output: u32| {
        json!({
            "type": "message_end",
            "message": {
                "role": "assistant",
                "content": [{ "type": "text", "text": "so far" }],
                "stopReason": stop_reason,
                "usage": { "input": input, "output": output, "cacheRead": 7, "cacheWrite": 0 },
            },
        })
    };
    place.pi(&format!(
        // Both lines in one go: whoever hears the first one may stop it before the second.
        "trap \"echo '{}'; exit 0\" TERM\nprintf '%s\\n%s\\n' '{}' '{}'\nwhile :; do sleep 0.01; done",
        charged("aborted", 50, 1).to_string().replace('"', "\\\""),
        json!({ "type": "agent_start" }),
        charged("toolUse", 100, 10)
    ));
    let pi = place.path().join("pi");
    let pi = pi.to_str().expect("text");
    let command = [
        "run",
        "--json",
        "--runner",
        "pi",
        "--pi",
        pi,
        "--model",
        "a/b",
        "--unjudged",
    ];
    let running = place.hang(&[&command[..], &["explore", QUESTION]].concat());
    running.interrupt();
    let said = running.said();
    let events = said.json_lines();
    let ended = events.iter().find(|event| event["type"] == "attempt_ended");
    let ended = ended.unwrap_or_else(|| panic!("no attempt ended: {}", said.stdout));
    assert_eq!(ended["ending"], "cancelled");
    let used = json!({ "input": 150, "output": 11, "cache_read": 14, "cache_write": 0, "cost_usd": null });
    assert_eq!(ended["used"], used);
}

#[test]
fn a_keeper_that_dies_while_pi_is_asked_for_its_version_costs_no_step() {
    let place = Place::new();
    // The second one asked lives.
    let first_dies = "{ mkdir \"$0.asked\" && kill -9 $PPID; echo 0.87.1; }";
    place.pi_that_says_its_version(first_dies, &says_and_ends("42"));
    let pi = place.path().join("pi");
    let pi = pi.to_str().expect("text");
    let command = [
        "run",
        "--json",
        "--runner",
        "pi",
        "--pi",
        pi,
        "--model",
        "a/b",
        "--unjudged",
    ];
    let said = place.run(&[&command[..], &["explore", QUESTION]].concat());
    said.check(0);
    let events = said.json_lines();
    let ended = events.iter().filter(|event| event["type"] == "attempt_ended");
    let endings = ended.map(|event| &event["ending"]);
    assert_eq!(
        endings.collect::<Vec<_>>(),
        ["lost", "answered"],
        "{}",
        said.stdout
    );
}

#[test]
fn another_command_can_cancel_a_run() {
    let place = Place::new();
    let hanging = place.start_hanging(&["--json"]);
    let run = hanging.run_id();
    let cancelled = place.run(&["runs", "cancel", &run]);
    cancelled.check(0);
    assert_eq!(cancelled.stdout, format!("cancelled {run}\n"));
    assert_eq!(processes_of(&run), 0);
    let said = hanging.said();
    said.check(3);
    let last = said.json_lines().pop().expect("an event");
    assert_eq!(last["state"], "cancelled");
    let reason = last["reason"]["message"].as_str().expect("a sentence");
    assert!(reason.contains("impresario runs cancel"), "{reason}");
}

#[test]
fn it_works_with_every_stream_but_the_answer_closed() {
    let place = Place::new();
    let line = format!("{} run explore \"$0\" <&- 2>&-", crate::place::PROGRAM);
    let said = Said::of(place.program("sh", &["-c", &line, QUESTION]));
    said.check(0);
    assert!(said.stdout.contains(ANSWERED_BY), "{}", said.stdout);
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_next_command_parks_the_run() {
    let place = Place::new();
    let mut hanging = place.start_hanging(&["--json"]);
    let run = hanging.run_id();
    hanging.interrupt();
    hanging.until_stderr_says("once more");
    hanging.interrupt();
    let said = hanging.said();
    said.check(130);
    until("everything of the run is gone", || processes_of(&run) == 0);
    let runs = place.runs();
    assert!(
        ["parked", "cancelled"].contains(&runs[0]["state"].as_str().expect("a state")),
        "{runs:?}"
    );
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let place = Place::new();
    place.run(&["run", "explore", QUESTION]).check(0);
    let id = place.runs()[0]["run"].as_str().expect("an id").to_string();
    let cases: &[&[&str]] = &[
        &["run", "explore", QUESTION],
        &["run", "--json", "explore", QUESTION],
        &["runs"],
        &["runs", "--json"],
        &["runs", "show", &id],
        &["trace", &id],
        &["trace", "--json", &id],
        &["--help"],
    ];
    for arguments in cases {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.impresario(arguments);
        command.stdout(writer).stderr(Stdio::piped());
        let output = command.output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("Broken pipe"), "{arguments:?}: {stderr}");
        assert!(output.status.code().is_some(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_state_directory_is_for_its_owner_only() {
    let place = Place::new();
    place.run(&["run", "explore", QUESTION]).check(0);
    let state = place.state();
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for entry in fs::read_dir(&state).expect("a directory") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn an_unusable_state_directory_is_a_sentence() {
    let place = Place::new();
    let state = place.state();
    fs::create_dir_all(state.parent().expect("a parent")).expect("a directory");
    fs::write(&state, "not a directory").expect("a file");
    for arguments in [&["run", "explore", QUESTION][..], &["runs"]] {
        let said = place.run(arguments);
        said.check(1);
        assert!(said.stderr.contains("state directory"), "{}", said.stderr);
        assert!(said.stderr.lines().count() <= 3, "{}", said.stderr);
    }
    assert_eq!(
        fs::read_to_string(&state).expect("the file"),
        "not a directory",
        "it is left alone"
    );
}

#[test]
fn a_state_directory_that_cannot_be_written_is_a_sentence() {
    let place = Place::new();
    // Nobody can make anything there, not even root.
    let directory = "/proc/impresario";
    let said = place.run(&["run", "--state-directory", directory, "explore", QUESTION]);
    said.check(1);
    assert!(said.stderr.contains(directory), "{}", said.stderr);
    assert!(said.stderr.lines().count() <= 3, "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn a_full_disk_is_a_sentence_and_does_no_harm() {
    let place = Place::new();
    let state = place.path().join("state");
    fs::create_dir(&state).expect("a directory");
    // A small disk of its own, filled to the last page, then freed.
    let script = format!(
        "mount -t tmpfs -o size=400k tmpfs {state} || exit 77
        {program} runs --state-directory {state} >&2
        dd if=/dev/zero of={state}/filler bs=4k count=1000 2>/dev/null
        {program} run --state-directory {state} explore \"$0\"; code=$?
        rm {state}/filler
        {program} run --state-directory {state} explore \"$0\" >/dev/null 2>&1
        echo afterwards: $? >&2
        exit $code",
        state = state.display(),
        program = crate::place::PROGRAM,
    );
    let said = Said::of(place.program("unshare", &["-rm", "sh", "-c", &script, QUESTION]));
    if said.code == Some(77) || said.stderr.contains("unshare:") {
        eprintln!("no disk of its own here: {}", said.stderr);
        return;
    }
    said.check(1);
    let complaint = said
        .stderr
        .lines()
        .find(|line| line.contains("is full, failing or read-only"));
    assert!(
        complaint.is_some_and(|line| line.starts_with("impresario: the journal ")),
        "{}",
        said.stderr
    );
    assert!(said.stderr.ends_with("afterwards: 0\n"), "{}", said.stderr);
}

#[test]
fn nobody_says_where_the_state_is() {
    let place = Place::new();
    let mut command = place.impresario(&["runs"]);
    command.env_remove("HOME");
    let said = Said::of(command);
    said.check(1);
    assert!(said.stderr.contains("--state-directory"), "{}", said.stderr);
}

#[test]
fn a_damaged_journal_is_set_aside_and_said() {
    let place = Place::new();
    place.run(&["run", "explore", QUESTION]).check(0);
    let journal = place.state().join("journal.sqlite");
    for companion in ["journal.sqlite-wal", "journal.sqlite-shm"] {
        let _ = fs::remove_file(place.state().join(companion));
    }
    let damage = "this is no journal, and somebody may want it back\n".repeat(200);
    fs::write(&journal, &damage).expect("damage");
    let said = place.run(&["run", "explore", QUESTION]);
    said.check(0);
    assert!(said.stderr.contains("it is kept as"), "{}", said.stderr);
    let kept = fs::read_dir(place.state())
        .expect("a directory")
        .filter_map(|entry| fs::read(entry.ok()?.path()).ok())
        .any(|bytes| bytes == damage.as_bytes());
    assert!(kept, "the file is still there, unchanged");
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn commands_share_a_state_directory() {
    let place = Place::new();
    let both = [0, 1].map(|_| {
        let mut command = place.impresario(&["run", "explore", QUESTION]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    });
    for child in both {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(ANSWERED_BY));
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["state"] == "succeeded"), "{runs:?}");
}

#[test]
fn the_help_teaches() {
    let place = Place::new();
    let commands: &[&[&str]] = &[
        &["--help"],
        &["run", "--help"],
        &["skill", "--help"],
        &["runs", "--help"],
        &["runs", "show", "--help"],
        &["runs", "cancel", "--help"],
        &["runs", "resume", "--help"],
        &["runs", "prune", "--help"],
        &["runs", "transcript", "--help"],
        &["stats", "--help"],
        &["top", "--help"],
        &["trace", "--help"],
        &["bridge", "--help"],
    ];
    for arguments in commands {
        let said = place.run(arguments);
        said.check(0);
        for taught in ["Example", "\n  impresario ", "Exit codes", "4  parked"] {
            assert!(said.stdout.contains(taught), "{arguments:?}: {}", said.stdout);
        }
    }
    let said = place.run(&["--help"]).stdout;
    assert!(
        said.contains("~/.cache/impresario/search") && said.contains("up to 4 GB"),
        "{said}"
    );
}

/// `path#L10-L42` in a text.
fn cited_places(text: &str) -> Vec<(String, usize, usize)> {
    let pattern = regex::Regex::new(r"([\w./-]+)#L(\d+)-L(\d+)").expect("a pattern");
    let cited = pattern.captures_iter(text).map(|found| {
        let line = |group: usize| found[group].parse().expect("a number");
        (found[1].to_string(), line(2), line(3))
    });
    cited.collect()
}
