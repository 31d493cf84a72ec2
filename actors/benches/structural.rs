//! Structural search over 5 000 files, beside the program `ast-grep` on the same files in the same rounds.
//!
//! The program is looked for at `AST_GREP`, else where
//! `npm install --prefix target/tools/ast-grep --ignore-scripts @ast-grep/cli@0.51.1` puts it; without it only ours is
//! measured, and that is said. Both look at every file, count the same places, and have the files in the page cache. Its
//! row has the start of a process in it, ours has not: that is what a call costs in either case.

use impresario_actors::gateways::{Reach, ToolPlace, Tools};
use impresario_actors::tools::LocalTools;
use impresario_policies::added_tools::AddedTool;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const FILES: usize = 5_000;
const ROUNDS: usize = 9;
const RATIO_MAX: f64 = 1.2;
/// What people write on average, in lines.
const FUNCTIONS: usize = 20;
const CANCELLED_WITHIN: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let place = tempfile::tempdir().expect("a directory");
    write_files(place.path());
    // With one thread for blocking work, whoever wants it next waits until it is free.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let program = program();
    if program.is_none() {
        println!(
            "no ast-grep to compare with: npm install --prefix target/tools/ast-grep --ignore-scripts @ast-grep/cli@0.51.1"
        );
    }
    println!(
        "{:<34} {:>10} {:>10} {:>7}",
        "row, p50 of 5 000 files", "program ms", "ours ms", "ratio"
    );
    let mut is_kept = true;
    for (name, pattern, expected) in [
        ("in one file of a hundred", "rare($A)", FILES / 100),
        ("in every file", "$A.unwrap()", FILES * FUNCTIONS),
    ] {
        is_kept &= compare(
            &runtime,
            place.path(),
            name,
            pattern,
            expected,
            program.as_deref(),
        );
    }
    is_kept &= cancel(&runtime);
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn write_files(root: &Path) {
    for number in 0..FILES {
        let directory = root.join(format!("module{:02}/part{}", number % 50, number % 7));
        std::fs::create_dir_all(&directory).expect("directories");
        let mut text = format!("//! Module {number}.\n\nuse std::collections::BTreeMap;\n\n");
        for function in 0..FUNCTIONS {
            let _ = write!(
                text,
                "/// Looks up entry {function}, or makes it.\npub fn find_{function}(map: &mut BTreeMap<u64, String>, key: u64) -> usize {{\n    \
                 let found = map.get(&key).cloned();\n    match found {{\n        Some(text) if text.len() > {number} => text.len(),\n        \
                 Some(_) | None => map.insert(key + {function}, format!(\"{{key}}\")).unwrap().len(),\n    }}\n}}\n\n"
            );
        }
        if number % 100 == 0 {
            text.push_str("fn one() { rare(1); }\n");
        }
        std::fs::write(directory.join(format!("file{number}.rs")), text).expect("a file");
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("AST_GREP").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let installed = root.join("target/tools/ast-grep/node_modules/@ast-grep");
    let installed = [
        "cli-linux-x64-gnu",
        "cli-linux-arm64-gnu",
        "cli-darwin-arm64",
        "cli-darwin-x64",
    ]
    .map(|package| installed.join(package).join("ast-grep"));
    named.into_iter().chain(installed).find(|file| file.is_file())
}

fn compare(
    runtime: &Runtime,
    root: &Path,
    name: &str,
    pattern: &str,
    expected: usize,
    program: Option<&Path>,
) -> bool {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if let Some(program) = program {
            let began = Instant::now();
            let arguments = [
                "run",
                "--pattern",
                pattern,
                "--lang",
                "rust",
                "--json=stream",
                ".",
            ];
            let output = Command::new(program).args(arguments).current_dir(root).output();
            let output = output.expect("it runs");
            theirs.push(began.elapsed().as_secs_f64() * 1e3);
            assert_eq!(
                output.stdout.iter().filter(|byte| **byte == b'\n').count(),
                expected
            );
        }
        let began = Instant::now();
        let text = search(runtime, root, pattern);
        ours.push(began.elapsed().as_secs_f64() * 1e3);
        assert!(
            text.starts_with(&format!("Found {expected} match(es):")),
            "{}",
            text.lines().next().unwrap_or_default()
        );
    }
    let ours = median(ours);
    if theirs.is_empty() {
        println!("{name:<34} {:>10} {ours:>10.1} {:>7}", "-", "-");
        return true;
    }
    let theirs = median(theirs);
    let ratio = ours / theirs;
    let word = if ratio <= RATIO_MAX { "kept" } else { "MISSED" };
    println!("{name:<34} {theirs:>10.1} {ours:>10.1} {ratio:>6.2}x  {word}");
    ratio <= RATIO_MAX
}

fn place_of(root: &Path, cancelled: &CancellationToken) -> ToolPlace {
    ToolPlace {
        workspace: root.to_path_buf(),
        reach: Reach::Workspace,
        readable: Vec::new(),
        cancelled: cancelled.clone(),
    }
}

fn search(runtime: &Runtime, root: &Path, pattern: &str) -> String {
    let arguments = json!({ "pattern": pattern, "lang": "rust" });
    let place = place_of(root, &CancellationToken::new());
    let answer = runtime.block_on(LocalTools::default().call(AddedTool::AstSearch, &arguments, &place));
    answer.expect("an answer").text
}

/// One file of 1.9 MB is being parsed or matched when nobody waits any more.
fn cancel(runtime: &Runtime) -> bool {
    let place = tempfile::tempdir().expect("a directory");
    let text = format!("fn f() {{ {} }}", "g(h(1), 2);\n".repeat(150_000));
    std::fs::write(place.path().join("large.rs"), text).expect("a file");
    let arguments = json!({ "pattern": "g($A, $B)", "lang": "rust" });
    let mut took = Vec::new();
    for round in 0..40 {
        let cancelled = CancellationToken::new();
        let there = place_of(place.path(), &cancelled);
        let waited = runtime.block_on(async {
            let tools = LocalTools::default();
            let call = tools.call(AddedTool::AstSearch, &arguments, &there);
            let end = async {
                tokio::time::sleep(Duration::from_millis(5 * round)).await;
                let began = Instant::now();
                cancelled.cancel();
                began
            };
            let (_, began) = tokio::join!(call, end);
            // The thread is free again as well, not only the caller.
            tokio::task::spawn_blocking(|| {}).await.expect("a thread");
            began.elapsed()
        });
        took.push(waited.as_secs_f64() * 1e3);
    }
    let worst = took.into_iter().fold(0.0, f64::max);
    let is_kept = worst <= CANCELLED_WITHIN.as_secs_f64() * 1e3;
    let word = if is_kept { "kept" } else { "MISSED" };
    println!(
        "{:<34} {:>10} {worst:>10.1} {:>7}  {word}",
        "cancelled in a large file, worst", "-", "-"
    );
    is_kept
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
