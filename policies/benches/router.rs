//! How fast the router's policies are, beside plain JavaScript implementations of the same rules.
//!
//! `cargo bench -p impresario-policies` prints, for every row, our median, Node's median and the ratio; where Node
//! is missing, ours alone. Both compute on the same inputs in the same run, and their results must be equal.

use impresario_policies::domain::Route;
use impresario_policies::execution_route::{
    ModelPool, RouteFacts, RoutePreference, RouteSettings, SkillModelPolicy, choose_route,
};
use impresario_policies::history::{
    ChatMessage, HistorySettings, HistoryStrategy, MiddleMode, ShortNewest, assemble_history,
};
use impresario_policies::model_mapping::map_model;
use impresario_policies::output_sanitizer::{SanitizerSettings, sanitize_output};
use impresario_policies::overflow_preview::preview_of;
use impresario_policies::redact::redact;
use impresario_policies::settings::{Place, SettingsFile, resolve_settings};
use impresario_policies::skill_file::read_skill_file;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// A row: what Node calls it, and what we do.
type Row<'a> = (&'static str, Box<dyn Fn() -> String + 'a>);

fn main() {
    let clean = clean_markdown(120_000);
    let traced = traced_markdown(120_000, 150);
    let long = clean_markdown(130_000);
    let secrets = secret_text(64 * 1024);
    let chat = chat_of(200, 600);
    let blank_lines = format!("{}x", "\n".repeat(20_000));
    let fences = "```ts\nx\n".repeat(8_000);
    let settings_text = full_settings();
    let skill_text = format!("---\nmodel: a/b\n---\n{}", "line of text\n".repeat(1_540));
    let megabyte = "retrieved line of code\n".repeat(43_478);

    let rows: Vec<Row<'_>> = vec![
        ("sanitize 120k clean", Box::new(|| sanitized(&clean, 0))),
        ("sanitize 120k 150 traces", Box::new(|| sanitized(&traced, 0))),
        (
            "sanitize 130k cut at 120k",
            Box::new(|| sanitized(&long, 120_000)),
        ),
        (
            "sanitize 20000 blank lines",
            Box::new(|| sanitized(&blank_lines, 0)),
        ),
        ("sanitize 8000 fences", Box::new(|| sanitized(&fences, 0))),
        (
            "history 200 recent 60k",
            Box::new(|| history(&chat, HistoryStrategy::Recent, 2, 12)),
        ),
        (
            "history 200 headTail 2/12",
            Box::new(|| history(&chat, HistoryStrategy::HeadTail, 2, 12)),
        ),
        (
            "history 200 headTail 2/180",
            Box::new(|| history(&chat, HistoryStrategy::HeadTail, 2, 180)),
        ),
        ("redact 64k", Box::new(|| redact(&secrets).into_owned())),
        (
            "map model",
            Box::new(|| map_model(Some("claude"), "openrouter/", &[]).unwrap_or_default()),
        ),
        (
            "preview 1 MB",
            Box::new(|| preview_of(&megabyte, 4_000, 4_000).text),
        ),
        ("choose route", Box::new(route)),
        ("settings", Box::new(|| settings(&settings_text))),
        (
            "skill file 20k",
            Box::new(|| {
                read_skill_file(&skill_text)
                    .map(|skill| skill.instructions)
                    .unwrap_or_default()
            }),
        ),
    ];
    let inputs = serde_json::json!({
        "clean": clean, "traced": traced, "long": long, "secrets": secrets, "blankLines": blank_lines, "fences": fences,
        "chat": chat.iter().map(|message| serde_json::json!({"role": message.role, "content": message.content})).collect::<Vec<_>>(),
        "megabyte": megabyte,
    });
    let theirs = node_medians(&inputs);
    println!("{:<28} {:>12} {:>12} {:>8}", "row", "ours µs", "node µs", "ratio");
    for (name, run) in &rows {
        let ours = median_micros(run);
        match theirs.get(*name) {
            Some((micros, digest)) => {
                assert_eq!(*digest, digest_of(&run()), "{name}: the results differ");
                println!("{name:<28} {ours:>12.2} {micros:>12.2} {:>7.1}x", micros / ours);
            }
            None => println!("{name:<28} {ours:>12.2} {:>12} {:>8}", "-", "-"),
        }
    }
}

fn median_micros(run: &dyn Fn() -> String) -> f64 {
    let samples = 101;
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[samples / 2]
}

/// A digest both languages can compute: FNV-1a over UTF-16 units.
fn digest_of(text: &str) -> u32 {
    text.encode_utf16().fold(0x811C_9DC5, |hash, unit| {
        (hash ^ u32::from(unit)).wrapping_mul(0x0100_0193)
    })
}

fn node_medians(inputs: &serde_json::Value) -> BTreeMap<String, (f64, u32)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/baseline.mjs");
    let Ok(directory) = tempfile::tempdir() else {
        return BTreeMap::new();
    };
    let file = directory.path().join("inputs.json");
    if std::fs::write(&file, inputs.to_string()).is_err() {
        return BTreeMap::new();
    }
    let Ok(output) = std::process::Command::new("node").arg(script).arg(&file).output() else {
        return BTreeMap::new();
    };
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn sanitized(text: &str, units_max: usize) -> String {
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: true,
        units_max,
    };
    sanitize_output(text, &settings).text.into_owned()
}

fn history(chat: &[ChatMessage<'_>], strategy: HistoryStrategy, head: usize, tail: usize) -> String {
    let settings = HistorySettings {
        strategy,
        head_messages: head,
        tail_messages: tail,
        middle_mode: MiddleMode::Marker,
        message_units_max: 10_000,
        total_units_max: 60_000,
        short_newest: ShortNewest::Kept,
    };
    let chosen = assemble_history(chat, &settings);
    chosen
        .last()
        .map(|message| format!("{} {}", chosen.len(), message.content))
        .unwrap_or_default()
}

fn route() -> String {
    let settings = RouteSettings {
        enabled: true,
        preference: RoutePreference::Balanced,
        skill_model_policy: SkillModelPolicy::Ignore,
        models: ModelPool {
            cheap: Some("a/c".into()),
            balanced: Some("a/b".into()),
            frontier: Some("a/f".into()),
        },
        naming: Default::default(),
        default_provider: "openrouter".into(),
        allowed_providers: vec![],
    };
    let facts = RouteFacts {
        skill_model: None,
        route: Route::default(),
        passed: true,
    };
    choose_route(&facts, &settings)
        .map(|decision| decision.reason)
        .unwrap_or_default()
}

fn settings(text: &str) -> String {
    let file = SettingsFile {
        place: Place::Home,
        trusted: true,
        text: Some(text),
    };
    resolve_settings(&[file]).notices.len().to_string()
}

fn full_settings() -> String {
    let mut root = serde_json::Map::new();
    for key in &impresario_policies::settings::KEYS {
        let value: serde_json::Value = serde_json::from_str(key.default).unwrap_or_default();
        match key.path.split_once('.') {
            None => {
                root.insert(key.path.into(), value);
            }
            Some((section, name)) => {
                root.entry(section.to_string()).or_insert(serde_json::json!({}))[name] = value;
            }
        }
    }
    serde_json::json!({ "impresario": root }).to_string()
}

fn clean_markdown(length: usize) -> String {
    let part = "## Heading\n\nSome text of an answer, with `code` in it.\n\n- item one\n- item two\n\n```rust\nfn main() {}\n```\n\n";
    part.repeat(length / part.len() + 1)
        .chars()
        .take(length)
        .collect()
}

fn traced_markdown(length: usize, traces: usize) -> String {
    let trace = "```tool_result\n{\"k\": 1}\n```\n{\"jsonrpc\":\"2.0\",\"id\":1}\n";
    let prose = clean_markdown(length / traces - trace.len());
    let prose = prose.replace("```rust\nfn main() {}\n```\n", "");
    format!("{prose}\n{trace}").repeat(traces)
}

fn secret_text(length: usize) -> String {
    let part =
        "INFO request 17 took 12 ms and read 4096 bytes from src/lib.rs\nAuthorization: Bearer abc.def-123\n";
    let plain = "DEBUG nothing of interest happened while the file was parsed again\n".repeat(20);
    let part = format!("{part}{plain}");
    part.repeat(length / part.len() + 1)
        .chars()
        .take(length)
        .collect()
}

fn chat_of(count: usize, length: usize) -> Vec<ChatMessage<'static>> {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    (0..count)
        .map(|at| ChatMessage {
            role: Cow::Borrowed(role(at)),
            content: Cow::Owned(format!("{at} {}", "word ".repeat(length / 5))),
        })
        .collect()
}
