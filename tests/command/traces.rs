//! What a person can rely on about traces: files, warnings, reports, views and pages, with the real program.

use crate::place::{Place, QUESTION, Said};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A task that the judge finds too little in, so that the run fails.
const TOO_LITTLE: &str = "fix it";
/// A moment in the past, in ms since 1970.
const LONG_AGO: u64 = 1_746_960_622_000;

fn place() -> Place {
    let place = Place::new();
    place.workspace_skill("demo", "---\ndescription: Looks.\n---\nLook at the files.\n");
    place
}

fn directory(place: &Place) -> PathBuf {
    place.workspace().join(".pi/traces")
}

fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(directory(place)).expect("traces");
    let mut names = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        // Keeps the traces out of the repository, where the directory was made for them.
        .filter(|name| name != ".gitignore")
        .collect::<Vec<_>>();
    names.sort();
    names
}

fn put(place: &Place, name: &str, text: &str) {
    fs::create_dir_all(directory(place)).expect("a directory");
    fs::write(directory(place).join(name), text).expect("a file");
}

/// A trace as pi-auggie-router 1.4.1 writes it.
fn of_peer(skill: &str, at: u64, stopped: &str, answer: &str) -> String {
    let call = json!({"index": 0, "serverName": "auggie", "toolName": "codebase-retrieval", "args": {"query": "lock"},
        "resultPreview": "fn lock()", "blocked": false, "timestamp": at.saturating_sub(500)});
    json!({"skillName": skill, "timestamp": at, "model": "openrouter/anthropic/c",
        "brief": {"userGoal": "g", "constraints": [], "knownContext": "", "userClarifications": []},
        "route": {"tier": "balanced", "complexity": "medium", "risk": "small_edit", "confidence": 0.82, "reason": "r"},
        "toolCalls": [call], "finalText": answer, "stoppedReason": stopped})
    .to_string()
}

/// Worked once, then failed `failures` times.
fn put_history(place: &Place, failures: u64) {
    put(
        place,
        &format!("demo_{LONG_AGO}.json"),
        &of_peer("demo", LONG_AGO, "completed", "All done."),
    );
    for at in (1..=failures).map(|later| LONG_AGO + later * 1_000) {
        put(
            place,
            &format!("demo_{at}.json"),
            &of_peer("demo", at, "timeout", ""),
        );
    }
}

fn fail_once(place: &Place) -> Said {
    let said = place.run(&["skill", "demo", TOO_LITTLE]);
    said.check(1);
    said
}

fn newest_trace(place: &Place) -> Value {
    let newest = names(place).pop().expect("a trace");
    serde_json::from_str(&fs::read_to_string(directory(place).join(newest)).expect("a file")).expect("JSON")
}

/// The steps of a kind in the newest run.
fn steps_of(place: &Place, kind: &str) -> Vec<Value> {
    let run = place.runs()[0]["run"].as_str().expect("an id").to_string();
    let said = place.run(&["trace", "--json", &run]);
    said.check(0);
    said.json_lines()
        .into_iter()
        .filter(|step| step["type"] == kind)
        .collect()
}

#[test]
fn a_run_is_classified_once_and_its_story_says_so() {
    let place = place();
    place.run(&["skill", "demo", QUESTION]).check(0);
    let observed = steps_of(&place, "run_observed");
    assert_eq!(observed.len(), 1);
    assert_eq!(observed[0]["verdict"]["outcome"], "success");
    let run = place.runs()[0]["run"].as_str().expect("an id").to_string();
    let told = place.run(&["trace", &run]);
    assert!(told.stdout.contains("looks like success"), "{}", told.stdout);
}

#[test]
fn a_failed_run_leaves_its_trace_too() {
    let place = place();
    fail_once(&place);
    let trace = newest_trace(&place);
    assert_eq!(
        (&trace["skillName"], &trace["stoppedReason"]),
        (&json!("demo"), &json!("error"))
    );
    assert_eq!(trace["impresario"]["state"], "failed");
    assert_eq!(
        steps_of(&place, "run_observed")[0]["verdict"]["outcome"],
        "likely-failure"
    );
}

#[test]
fn arguments_and_results_stand_in_the_trace_as_much_as_is_wanted_and_without_secrets() {
    let place = place();
    place.configure(json!({"executionTrace": {"maxResultPreviewChars": 100}}));
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    place
        .run(&["skill", "demo", &format!("{QUESTION} key {secret}")])
        .check(0);
    let text = fs::read_to_string(directory(&place).join(&names(&place)[0])).expect("a file");
    assert!(!text.contains(secret), "{text}");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let call = &trace["toolCalls"][0];
    assert!(
        call["args"].is_object() && call["args"].get("summary").is_none(),
        "{call}"
    );
    let preview = call["resultPreview"].as_str().expect("text");
    let (kept, mark) = preview.split_once("\n[...truncated, ").expect("a mark");
    assert!(
        kept.encode_utf16().count() <= 100 && mark.ends_with(" total chars]"),
        "{preview}"
    );
    let detail = &trace["impresario"]["calls"][0];
    assert!(
        detail["startedAt"].as_f64() <= call["timestamp"].as_f64(),
        "{trace}"
    );
}

#[test]
fn a_skill_that_stopped_working_is_said_once_in_a_day_whatever_is_restarted() {
    let place = place();
    put_history(&place, 1);
    let second = fail_once(&place);
    assert!(
        !second.stderr.contains("Degradation"),
        "the current run counts once: {}",
        second.stderr
    );
    let third = fail_once(&place);
    let expected = "⚠️ Degradation detected: skill \"demo\" has failed 3 consecutive times.";
    assert!(third.stderr.contains(expected), "{}", third.stderr);
    assert!(
        third.stderr.contains("Signals: ") && third.stderr.contains("(3x)"),
        "{}",
        third.stderr
    );
    assert!(
        third
            .stderr
            .contains("Last successful run: 2025-05-11 10:50 UTC."),
        "{}",
        third.stderr
    );
    assert_eq!(steps_of(&place, "run_observed")[0]["alerted"], true);
    // Another process, the same day.
    let fourth = fail_once(&place);
    assert!(!fourth.stderr.contains("Degradation"), "{}", fourth.stderr);
    assert_eq!(steps_of(&place, "run_observed")[0]["alerted"], false);
}

#[test]
fn a_warning_is_remembered_though_the_process_was_killed() {
    let place = place();
    put_history(&place, 2);
    let mut command = place.impresario(&["skill", "demo", TOO_LITTLE]);
    command
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut stderr = std::io::BufReader::new(child.stderr.take().expect("its stderr"));
    let mut heard = String::new();
    while !heard.contains("Degradation") {
        let read = std::io::BufRead::read_line(&mut stderr, &mut heard).expect("text");
        assert!(read > 0, "it ended without a warning: {heard}");
    }
    let _ = child.kill();
    let _ = child.wait();
    let next = fail_once(&place);
    assert!(!next.stderr.contains("Degradation"), "{}", next.stderr);
}

#[test]
fn warnings_can_be_switched_off() {
    let place = place();
    put_history(&place, 5);
    place.configure(json!({"traceObservability": {"degradationAlertEnabled": false}}));
    assert!(!fail_once(&place).stderr.contains("Degradation"));
}

#[test]
fn a_trace_that_cannot_be_kept_costs_no_result() {
    let place = place();
    fs::write(directory(&place), "no directory").expect("a file");
    let said = place.run(&["skill", "demo", QUESTION]);
    said.check(0);
    assert!(said.stdout.contains(crate::place::ANSWERED_BY), "{}", said.stdout);
    assert_eq!(place.runs()[0]["delivered"], true);
    assert_eq!(steps_of(&place, "run_observed").len(), 0);
}

#[test]
fn what_is_seen_of_traces_is_logged_without_what_they_say() {
    let place = place();
    put_history(&place, 2);
    let logged = |arguments: &[&str]| {
        let mut command = place.impresario(arguments);
        command.env("IMPRESARIO_LOG", "impresario::events=info");
        let said = Said::of(command);
        let events = said.stderr.lines().filter_map(|line| {
            let event: Value = serde_json::from_str(&line[line.find('{')?..]).ok()?;
            let name = event["event"].as_str()?.strip_prefix("impresario.")?.to_string();
            Some((name, event))
        });
        events.collect::<std::collections::BTreeMap<_, _>>()
    };
    let of_run = logged(&["skill", "demo", TOO_LITTLE]);
    assert_eq!(of_run["degradation-alert"]["consecutiveFailures"], 3);
    let classified = &of_run["trace-classified"];
    assert_eq!(
        (
            &classified["outcome"],
            &classified["toolCalls"],
            &classified["stoppedReason"]
        ),
        (&json!("likely-regression"), &json!(0), &json!("error"))
    );
    let path = of_run["execution-trace"]["filepath"].as_str().expect("a path");
    assert!(path.starts_with(".pi/traces/demo_"), "{path}");
    let text = of_run.values().map(Value::to_string).collect::<String>();
    assert!(!text.contains(TOO_LITTLE), "{text}");
    assert_eq!(
        logged(&["trace", "report", "demo"])["trace-report"]["traceCount"],
        4
    );
    let file = format!("demo_{LONG_AGO}.json");
    let viewed = &logged(&["trace", "view", &file])["trace-view"];
    assert_eq!(
        (&viewed["filename"], &viewed["outcome"]),
        (&json!(file), &json!("success"))
    );
}

#[test]
fn a_short_report_follows_a_run_where_it_is_wanted() {
    let place = place();
    place.configure(json!({"traceObservability": {"showReportAfterExecution": true}}));
    let first = place.run(&["skill", "demo", QUESTION]);
    assert!(
        first
            .stderr
            .contains("📊 Mini report: skill \"demo\" (last 1 run)"),
        "{}",
        first.stderr
    );
    let second = fail_once(&place);
    assert!(second.stderr.contains("(last 2 runs)"), "{}", second.stderr);
    assert!(
        second.stderr.contains("⚠️ 0 calls  error  likely-failure"),
        "{}",
        second.stderr
    );
}

#[test]
fn only_old_traces_of_the_skill_that_ran_go() {
    let place = place();
    place.configure(json!({"traceObservability": {"maxTracesPerSkill": 5}}));
    put_history(&place, 7);
    let others = [
        "package_lock.json",
        "demo_7.json",
        "demo_extra_1746960622000.json",
        "demo_notes.json",
    ];
    put(&place, "package_lock.json", "{}");
    put(&place, "demo_7.json", r#"{"name": "not a trace"}"#);
    put(
        &place,
        "demo_extra_1746960622000.json",
        &of_peer("demo_extra", LONG_AGO, "completed", "x"),
    );
    put(&place, "demo_notes.json", "[]");
    let outside = place.path().join("precious.json");
    fs::write(&outside, of_peer("demo", 1, "completed", "x")).expect("a file");
    std::os::unix::fs::symlink(&outside, directory(&place).join("demo_1.json")).expect("a link");
    place.run(&["skill", "demo", QUESTION]).check(0);
    let names = names(&place);
    for kept in others.iter().chain(&["demo_1.json"]) {
        assert!(names.iter().any(|name| name == kept), "{kept} is gone: {names:?}");
    }
    assert!(outside.exists());
    let report = place.run(&["trace", "report", "demo", "--json"]);
    report.check(0);
    let report = &report.json_lines()[0];
    assert_eq!(report["traces"].as_array().map(Vec::len), Some(5), "{report}");
    assert_eq!(report["left_out"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn a_report_counts_outcomes_signals_and_the_trend_and_damaged_files_cost_nothing() {
    let place = place();
    put_history(&place, 5);
    put(&place, "demo_1746960629999.json", "{}");
    put(
        &place,
        "demo_1746960629998.json",
        "{\"skillName\": \"demo\", \"toolCalls\": [",
    );
    put(
        &place,
        "demo_extra_1746960622001.json",
        &of_peer("demo_extra", LONG_AGO, "completed", "x"),
    );
    let said = place.run(&["trace", "report", "demo"]);
    said.check(0);
    let text = &said.stdout;
    for line in [
        "📊 Trace Report: skill \"demo\" (last 6 runs)",
        "✅ Success      ██░░░░░░░░  1/6  (17%)",
        "    • timeout (5x)",
        "  Trend: success rate 100% → 0% ↓ over last 5 runs.",
        "  Recent traces (showing 5 of 6):",
        "    demo_1746960627000.json  ",
        "    demo_1746960629999.json: damaged, or no trace",
    ] {
        assert!(text.contains(line), "{line:?} is missing:\n{text}");
    }
    assert!(!text.contains("demo_extra"), "{text}");
}

#[test]
fn how_much_a_report_shows_is_set() {
    let place = place();
    put_history(&place, 5);
    place.configure(
        json!({"traceObservability": {"reportMaxTraces": 4, "reportMaxInlineTraces": 2, "trendWindow": 2}}),
    );
    let said = place.run(&["trace", "report", "demo"]);
    for line in ["(last 4 runs)", "over last 2 runs.", "(showing 2 of 4)"] {
        assert!(
            said.stdout.contains(line),
            "{line:?} is missing:\n{}",
            said.stdout
        );
    }
}

#[test]
fn traces_that_are_not_there_and_names_that_are_none_are_sentences() {
    let place = place();
    let check = |arguments: &[&str], code: i32, sentence: &str| {
        let said = place.run(arguments);
        said.check(code);
        assert!(
            said.stdout.contains(sentence) || said.stderr.contains(sentence),
            "{}{}",
            said.stdout,
            said.stderr
        );
    };
    check(
        &["trace", "report", "demo"],
        0,
        "📊 No traces found for skill \"demo\".",
    );
    check(&["trace", "report", "../demo"], 2, "Invalid skill name");
    check(
        &["trace", "view", "demo_1.json"],
        1,
        "Trace file \"demo_1.json\" not found.",
    );
    check(&["trace", "view", "../../secret.json"], 1, "not found");
    put(&place, "demo_1.json", "{}");
    check(&["trace", "view", "demo_1.json"], 1, "damaged, or no trace");
    place.configure(json!({"traceObservability": {"enabled": false}}));
    check(
        &["trace", "report", "demo"],
        1,
        "Trace observability is disabled.",
    );
    check(
        &["trace", "view", "demo_1.json"],
        1,
        "Trace observability is disabled.",
    );
}

#[test]
fn without_observability_a_trace_is_written_and_nothing_is_said_of_it() {
    let place = place();
    place.configure(json!({"traceObservability": {"enabled": false, "showReportAfterExecution": true}}));
    put_history(&place, 5);
    let said = fail_once(&place);
    assert!(
        !said.stderr.contains("📊") && !said.stderr.contains("Degradation"),
        "{}",
        said.stderr
    );
    assert_eq!(newest_trace(&place)["impresario"]["state"], "failed");
    assert_eq!(steps_of(&place, "run_observed")[0]["verdict"], Value::Null);
}

#[test]
fn a_view_shows_a_run_of_ours_and_one_of_the_peers() {
    let place = place();
    put_history(&place, 0);
    let peers = place.run(&["trace", "view", &format!("demo_{LONG_AGO}.json")]);
    peers.check(0);
    assert!(
        peers
            .stdout
            .contains("auggie / codebase-retrieval  query=\"lock\""),
        "{}",
        peers.stdout
    );
    place.run(&["skill", "demo", QUESTION]).check(0);
    let ours = names(&place).pop().expect("a trace");
    let said = place.run(&["trace", "view", &ours]);
    said.check(0);
    for line in [
        &format!("🔍 Trace: {ours}"),
        "Outcome: ✅ success",
        "impresario / codebase-retrieval",
    ] {
        assert!(
            said.stdout.contains(line),
            "{line:?} is missing:\n{}",
            said.stdout
        );
    }
}

#[test]
fn pages_are_complete_and_harmless() {
    let place = place();
    put_history(&place, 3);
    let hostile = "</pre><script>alert(1)</script>";
    put(
        &place,
        "demo_1746960699000.json",
        &of_peer("demo", LONG_AGO + 77_000, "completed", hostile),
    );
    let check = |arguments: &[&str], word: &str| {
        let file = place.path().join("page.html");
        let file = file.to_string_lossy();
        let said = place.run(&[arguments, &["--html", &file]].concat());
        said.check(0);
        assert!(
            said.stderr.contains("wrote ") && said.stdout.is_empty(),
            "{}",
            said.stderr
        );
        let page = fs::read_to_string(&*file).expect("a page");
        assert!(
            page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"),
            "{page}"
        );
        assert!(
            page.contains("<svg role=\"img\"") && page.contains(word),
            "{word} is missing"
        );
        assert!(!page.contains("<script"), "{page}");
    };
    check(
        &["trace", "report", "demo"],
        "Oldest to newest: Success, Likely failure",
    );
    check(
        &["trace", "view", "demo_1746960699000.json"],
        "&lt;script&gt;alert(1)",
    );
}

#[test]
fn a_run_whose_process_was_killed_is_classified_once_by_the_next_one() {
    let place = place();
    let pi = place.pi_that_hangs();
    let arguments = [
        "skill",
        "demo",
        "--runner",
        "pi",
        "--pi",
        &pi,
        "--model",
        "mock/mock-1",
        "--unjudged",
        QUESTION,
    ];
    let hanging = place.hang(&[&arguments[..1], &["--json"], &arguments[1..]].concat());
    let run = hanging.run_id();
    hanging.kill();
    crate::place::until("everything of the run is gone", || {
        crate::place::processes_of(&run) == 0
    });
    place.run(&["runs"]).check(0);
    let of_run = |kind: &str| {
        let said = place.run(&["trace", "--json", &run]);
        said.check(0);
        let steps = said.json_lines();
        steps.into_iter().filter(|step| step["type"] == kind).count()
    };
    crate::place::until("the run has ended", || of_run("run_ended") == 1);
    place.run(&["skill", "demo", QUESTION]).check(0);
    assert_eq!(of_run("run_observed"), 1);
    let traces = names(&place);
    assert_eq!(traces.len(), 2, "{traces:?}");
}

#[test]
fn runs_of_one_moment_leave_a_trace_each() {
    let place = place();
    let runs = (0..4).map(|_| place.impresario(&["skill", "demo", QUESTION]));
    let children = runs
        .map(|mut command| {
            command
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            command.spawn().expect("it starts")
        })
        .collect::<Vec<_>>();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(names(&place).len(), 4);
}

/// What the documentation shows; made anew by `UPDATE=1 cargo test --test command example`.
#[test]
fn the_example_of_the_documentation_is_what_the_program_writes() {
    let place = Place::new();
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/traces");
    for entry in fs::read_dir(traces).expect("examples").flatten() {
        let name = entry.file_name().into_string().expect("text");
        if name.ends_with(".json") {
            put(&place, &name, &fs::read_to_string(entry.path()).expect("a file"));
        }
    }
    let report = place.run(&["trace", "report", "review", "--html", "-"]);
    let run = place.run(&["trace", "view", "review_1795254361090.json", "--html", "-"]);
    let pictures = [(picture_of(&report), "report.svg"), (picture_of(&run), "run.svg")];
    let pages = [(report.stdout, "report.html"), (run.stdout, "run.html")];
    for (written, name) in pages.into_iter().chain(pictures) {
        let file = format!("{traces}/{name}");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, &written).expect("it can be written");
        }
        let shown = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            shown == written,
            "{name} has drifted; run: UPDATE=1 cargo test --test command example"
        );
    }
}

/// The first drawing of a page, to stand alone.
fn picture_of(page: &Said) -> String {
    page.check(0);
    let between = |from: &str, to: &str| {
        let (_, rest) = page.stdout.split_once(from).expect("a beginning");
        rest.split_once(to).expect("an end").0.to_string()
    };
    let style = between("<style>\n", "</style>");
    let drawing = between("<svg role=\"img\"", "</svg>");
    let (attributes, inside) = drawing.split_once('>').expect("a tag");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"{attributes}>\n<style>{style}:root{{background:var(--card)}}</style>{inside}</svg>\n"
    )
}
