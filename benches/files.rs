//! What is made of system calls: settings, skills, traces and large results on disk.
//!
//! The baseline of a row makes the bare system calls of the same input and output, on files of the same size in the
//! same directory, and takes turns with ours. Whether ours did its work is looked at before it is measured.

use impresario::settings::{Settings, SettingsPlaces};
use impresario::skills::{SpawnSettings, resolve};
use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::{
    OverflowContent, OverflowEntry, Row, RuntimeId, RuntimeIdentity, SqliteStore, Store,
};
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::trace_files::TraceFiles;
use impresario_policies::domain::{Brief, Route, RunId, Step};
use impresario_policies::settings::KEYS;
use impresario_policies::trace_file::{Trace, TraceCall, result_preview};
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const ROUNDS: usize = 201;
const LARGE_ROUNDS: usize = 41;
const RATIO_MAX: f64 = 2.0;
const SKILL: &str = "split-module";
const TRACES: usize = 20;

fn main() -> ExitCode {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let workspace = place.path();
    println!(
        "{:<34} {:>10} {:>10} {:>7}",
        "row, p50", "bare µs", "ours µs", "ratio"
    );
    let mut is_kept = load_settings(workspace);
    is_kept &= parse_skill(workspace);
    is_kept &= keep_trace(&workspace.join("kept"));
    is_kept &= read_traces(&workspace.join("read"));
    let lines = "retrieved line of code\n".repeat(43_478);
    is_kept &= keep_result("keep 1 MB ASCII", &workspace.join("ascii"), &lines);
    let lines = "取得したコードの行です。\n".repeat(27_027);
    is_kept &= keep_result("keep 1 MB CJK", &workspace.join("cjk"), &lines);
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Both take turns; the medians are compared.
fn compare(name: &str, rounds: usize, mut bare: impl FnMut(), mut ours: impl FnMut()) -> bool {
    let (mut of_bare, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        of_bare.push(micros(&mut bare));
        of_ours.push(micros(&mut ours));
    }
    let (bare, ours) = (median(of_bare), median(of_ours));
    let ratio = ours / bare;
    let word = if ratio <= RATIO_MAX { "kept" } else { "MISSED" };
    println!("{name:<34} {bare:>10.1} {ours:>10.1} {ratio:>6.2}x  {word}");
    ratio <= RATIO_MAX
}

fn micros(work: &mut impl FnMut()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e6
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Asks what it is, opens it, reads it to its end, closes it.
fn read_bare(path: &Path) -> Vec<u8> {
    let mut file = File::open(path).expect("it opens");
    let length = file.metadata().expect("it is there").len();
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.read_to_end(&mut bytes).expect("it is read");
    bytes
}

fn load_settings(workspace: &Path) -> bool {
    let file = workspace.join(".pi/settings.json");
    let missing = workspace.join("home/settings.json");
    std::fs::create_dir_all(workspace.join(".pi")).expect("a directory");
    std::fs::write(&file, full_settings()).expect("settings");
    let places = SettingsPlaces {
        home_file: Some(missing.clone()),
        home_file_shown: "home".to_string(),
        workspace: workspace.to_path_buf(),
        workspace_trusted: true,
    };
    assert_eq!(Settings::read(&places).problems, []);
    let bare = || {
        let _ = std::fs::metadata(&missing);
        std::hint::black_box(read_bare(&file));
    };
    compare("load settings, every key", ROUNDS, bare, || {
        std::hint::black_box(Settings::read(&places));
    })
}

/// Every key with its default.
fn full_settings() -> String {
    let mut root = Map::new();
    for key in &KEYS {
        let value: Value = serde_json::from_str(key.default).expect("JSON");
        match key.path.split_once('.') {
            None => drop(root.insert(key.path.into(), value)),
            Some((section, name)) => root.entry(section.to_string()).or_insert(json!({}))[name] = value,
        }
    }
    json!({ "impresario": root }).to_string()
}

fn parse_skill(workspace: &Path) -> bool {
    let file = workspace.join(format!(".pi/skills/{SKILL}/SKILL.md"));
    let text = format!("---\nmodel: a/b\n---\n{}", "line of text\n".repeat(1_540));
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(&file, &text).expect("a skill");
    let settings = skill_settings();
    let request = resolve(&settings, "bench", order(workspace)).expect("a request");
    assert_eq!(request.instructions.len(), 1_540 * 13 - 1);
    let bare = || drop(std::hint::black_box(read_bare(&file)));
    compare("skill of 20 kB to a request", ROUNDS, bare, || {
        std::hint::black_box(resolve(&settings, "bench", order(workspace)).expect("a request"));
    })
}

fn skill_settings() -> SpawnSettings {
    SpawnSettings {
        home: None,
        read_files: false,
        ..SpawnSettings::default()
    }
}

fn order(workspace: &Path) -> SkillOrder {
    SkillOrder {
        name: SKILL.to_string(),
        task: "split src/lib.rs".to_string(),
        session: None,
        workspace: workspace.to_path_buf(),
        workspace_trusted: true,
        model: None,
        ..SkillOrder::default()
    }
}

fn keep_trace(workspace: &Path) -> bool {
    let files = TraceFiles::create(workspace, "traces").expect("a directory");
    let directory = workspace.join("traces");
    let text = trace(0).to_file_text();
    assert!((45_000..55_000).contains(&text.len()), "{}", text.len());
    let mut number = 0;
    let bare = || {
        let made = directory.join(".made");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&made)
            .expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        drop(file);
        std::fs::rename(&made, directory.join("bare.json")).expect("renamed");
    };
    compare("trace with 20 calls is kept", ROUNDS, bare, || {
        number += 1;
        files.keep(&trace(number)).expect("kept");
    })
}

fn read_traces(workspace: &Path) -> bool {
    let files = TraceFiles::create(workspace, "traces").expect("a directory");
    for number in 0..TRACES {
        files.keep(&trace(number)).expect("kept");
    }
    let directory = workspace.join("traces");
    let names = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&directory).expect("the directory");
        entries.flatten().map(|entry| entry.path()).collect()
    };
    assert_eq!(names().len(), TRACES);
    let found = files.of_skill(SKILL, TRACES).expect("found");
    assert_eq!(found.traces.len(), TRACES);
    let bare = || drop(std::hint::black_box(names()));
    let is_kept = compare("old traces of 20: none goes", ROUNDS, bare, || {
        assert_eq!(files.forget(SKILL, TRACES).expect("looked"), 0);
    });
    let bare = || {
        for name in names() {
            std::hint::black_box(read_bare(&name));
        }
    };
    compare("20 traces are read", ROUNDS, bare, || {
        std::hint::black_box(files.of_skill(SKILL, TRACES).expect("found"));
    }) && is_kept
}

/// The trace of a run with twenty calls, about 47 kB.
fn trace(number: usize) -> Trace {
    let line = "pub fn drain(&mut self) -> Option<\"Entry\"> { self.queue.pop_front() }\n";
    let result = line.repeat(25_000 / line.len());
    let ended = 1_746_960_622_000.0 + number as f64;
    let call = |index: usize| TraceCall {
        index: index as f64,
        server_name: "auggie".into(),
        tool_name: "codebase-retrieval".into(),
        args: json!({"query": "where is the queue drained"}),
        result_preview: result_preview(&result, 2_000),
        blocked: false,
        timestamp: ended,
    };
    Trace {
        skill_name: SKILL.into(),
        timestamp: ended,
        model: "openrouter/anthropic/claude-3-5-sonnet".into(),
        brief: Brief::default(),
        route: Route::default(),
        tool_calls: (0..20).map(call).collect(),
        final_text: "Done. ".repeat(200),
        stopped_reason: "completed".into(),
        ours: None,
    }
}

/// A result above the ceiling, durable before the sub-agent sees its preview.
fn keep_result(name: &str, directory: &Path, text: &str) -> bool {
    std::fs::create_dir_all(directory).expect("a directory");
    let identity = RuntimeIdentity {
        id: RuntimeId::new(UnixMillis(1), 1),
        host: "bench".to_string(),
        session: None,
        started_at: UnixMillis(1),
        process: std::process::id(),
    };
    let mut store = SqliteStore::open(directory, &identity).expect("a journal").store;
    let run = RunId::new(1, 1);
    store.commit(&[accepted(&run, directory)]).expect("accepted");
    let content = OverflowContent::from(text);
    let mut handle = 0;
    let mut file = File::create(directory.join("bare")).expect("a file");
    let bare = || {
        file.write_all(text.as_bytes()).expect("written");
        file.sync_data().expect("synced");
    };
    let is_kept = compare(name, LARGE_ROUNDS, bare, || {
        handle += 1;
        let entry = OverflowEntry {
            handle,
            server: "auggie".to_string(),
            tool: "codebase-retrieval".to_string(),
            at: UnixMillis(1),
            bytes: text.len() as u64,
        };
        store.put_overflow(&run, &entry, &content).expect("kept");
    });
    assert_eq!(store.overflow(&run, 1).expect("read").as_deref(), Some(text));
    is_kept
}

fn accepted(run: &RunId, workspace: &Path) -> Row {
    let skill = workspace.join(format!(".pi/skills/{SKILL}"));
    std::fs::create_dir_all(&skill).expect("a directory");
    std::fs::write(skill.join("SKILL.md"), "Split it.").expect("a skill");
    let request = resolve(&skill_settings(), "bench", order(workspace)).expect("a request");
    Row {
        run: run.clone(),
        sequence: 1,
        generation: 1,
        at: UnixMillis(1),
        step: Step::Accepted {
            request: Box::new(request),
        },
    }
}
