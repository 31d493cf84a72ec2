//! Actors act: on one thread, in one order, through gateways.

use crate::sources::{files, is_below, mentioned, rust};
use crate::{except, hold};

#[test]
fn time_comes_through_the_runtime_or_a_gateway() {
    let clocks = [
        "std::time::SystemTime",
        "std::time::Instant",
        "SystemTime",
        "UNIX_EPOCH",
    ];
    let violations = mentioned(&rust(&["actors/src/"]), |_, mention| is_below(mention, &clocks));
    let exceptions = [
        (
            "actors/src/supervision/watchdog.rs",
            "watches the thread of the actors from outside of it",
        ),
        ("actors/src/gateways/clock.rs", "is the gateway"),
        (
            "actors/src/context/local/walk.rs",
            "limits a blocking walk over real files; simulations bring their own engine",
        ),
        (
            "actors/src/tools/structural/files.rs",
            "limits a blocking walk over real files",
        ),
        (
            "actors/src/processes/marks.rs",
            "limits a look at real processes; simulations bring their own table",
        ),
    ];
    hold(
        "no actor reads a clock that a simulation does not own",
        &except(violations, &exceptions),
    );
}

#[test]
fn threads_are_few_and_known() {
    let spawns = [
        "std::thread::spawn",
        "std::thread::Builder",
        "std::thread::scope",
        "thread::spawn",
        "thread::Builder",
    ];
    let violations = mentioned(&rust(&["actors/src/"]), |_, mention| is_below(mention, &spawns));
    let exceptions = [
        (
            "actors/src/context/local/mod.rs",
            "goes on with an index that nobody waits for; the end of the process does not wait for it either",
        ),
        ("actors/src/journal/writer.rs", "the one writer of the journal"),
        (
            "actors/src/supervision/watchdog.rs",
            "watches the thread of the actors from outside of it",
        ),
    ];
    hold("actors live on one thread", &except(violations, &exceptions));
}

#[test]
fn every_choice_between_futures_is_biased() {
    let mut violations = Vec::new();
    for source in files(&["actors/src/", "src/"])
        .iter()
        .filter(|source| source.path.ends_with(".rs"))
    {
        for (index, found) in source.text.match_indices("select! {") {
            let inside = source.text[index + found.len()..].trim_start();
            if !inside.starts_with("biased;") {
                let line = source.text[..index].lines().count();
                violations.push(format!("{}:{line}", source.path));
            }
        }
    }
    hold(
        "a choice between futures is made in the order in which they stand",
        &violations,
    );
}

#[test]
fn json_is_read_and_written_in_wire_files() {
    let codec = |mention: &str| {
        let words: Vec<&str> = mention.split("::").collect();
        let begins = |word: &&str| {
            word.starts_with("from_") || word.starts_with("to_") || word.ends_with("serializer")
        };
        let function = words.first() == Some(&"serde_json")
            && !words.contains(&"Number")
            && words.last().is_some_and(begins);
        function || ["serde_json::json", "serde_json::json!", "json!"].contains(&mention)
    };
    let wire = |path: &str| path.ends_with("/wire.rs") || path.contains("/wire/");
    let violations = mentioned(
        &rust(&["policies/src/", "actors/src/", "src/"]),
        |source, mention| !wire(&source.path) && codec(mention),
    );
    let exceptions = [
        (
            "policies/src/offline/",
            "the offline model speaks as a model does, in JSON",
        ),
        (
            "policies/src/settings/",
            "settings files are JSON, and so is their schema",
        ),
        (
            "policies/src/skill_file.rs",
            "the head of a skill file may be JSON",
        ),
        ("policies/src/trace_file.rs", "the codec of trace files"),
        ("policies/src/json_reply.rs", "models answer in JSON"),
        (
            "policies/src/router_log.rs",
            "a logged event is an object of JSON",
        ),
        (
            "actors/src/models/offline.rs",
            "the offline model speaks as a model does, in JSON",
        ),
        (
            "actors/src/runners/embedded/session_file.rs",
            "the codec of the session's lines",
        ),
        (
            "actors/src/runners/overflow_tools.rs",
            "a tool describes its arguments to the model as a schema",
        ),
        (
            "actors/src/runners/retrieval_tool.rs",
            "a tool describes its arguments to the model as a schema",
        ),
        (
            "actors/src/runners/embedded/tools/",
            "a tool describes its arguments to the model as a schema",
        ),
        (
            "policies/src/attempt_ending/wordings.rs",
            "providers put JSON into the text of their errors",
        ),
        ("policies/src/prompts.rs", "a prompt shows a brief as JSON"),
        ("actors/src/journal/sqlite/", "the codec of the rows"),
        (
            "actors/src/runners/pi/",
            "Pi's lines are read part by part, borrowed; the shapes are in wire.rs",
        ),
        ("src/bridge/", "is the protocol; its shapes are in wire/"),
    ];
    hold(
        "JSON is read and written in files called wire.rs",
        &except(violations, &exceptions),
    );
}

#[test]
fn stdout_belongs_to_the_bridge() {
    let printing = [
        "println!",
        "print!",
        "std::println!",
        "std::print!",
        "std::io::stdout",
        "io::stdout",
        "dbg!",
        "tokio::io::stdout",
    ];
    let sources = rust(&["policies/src/", "actors/src/", "src/"]);
    let violations = mentioned(&sources, |source, mention| {
        let speaks = ["src/bridge/", "src/cli/", "src/main.rs"]
            .iter()
            .any(|place| source.path.starts_with(place));
        !speaks && printing.contains(&mention)
    });
    hold(
        "only the bridge and the command line write to stdout",
        &except(violations, &[]),
    );
}

#[test]
fn the_command_line_prints_in_one_place() {
    let printing = [
        "std::io::stdout",
        "std::io::stderr",
        "io::stdout",
        "io::stderr",
        "stdout",
        "stderr",
    ];
    let macros = ["println!", "print!", "eprintln!", "eprint!"];
    let sources = rust(&["src/cli/", "src/main.rs"]);
    let violations = mentioned(&sources, |source, mention| {
        source.path != "src/cli/output.rs" && (printing.contains(&mention) || macros.contains(&mention))
    });
    hold(
        "what is printed on a terminal is made harmless in src/cli/output.rs",
        // Our own log, which is written when a variable asks for it, escapes for itself.
        &except(
            violations,
            &[
                ("src/cli/mod.rs", "the log goes to stderr"),
                (
                    "src/cli/detach.rs",
                    "names the streams of the process that it starts, and prints on none",
                ),
            ],
        ),
    );
}

#[test]
fn nothing_is_unsafe() {
    let everywhere = rust(&["policies/", "actors/", "src/", "tests/", "examples/", "benches/"]);
    hold(
        "there is no unsafe code, in tests neither",
        &mentioned(&everywhere, |_, mention| mention == "unsafe"),
    );
    let manifests = files(&["Cargo.toml", "policies/Cargo.toml", "actors/Cargo.toml", "tests/"]);
    for manifest in manifests.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        assert!(
            manifest.text.contains("[lints]\nworkspace = true"),
            "{} takes the common lints",
            manifest.path
        );
    }
    let common = files(&["Cargo.toml"]);
    assert!(common[0].text.contains("unsafe_code = \"forbid\""));
}
