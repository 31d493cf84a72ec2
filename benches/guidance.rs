//! What it costs to give an agent the rules of a place: eight directories deep, 2.1 KB each, through the whole tree.
//!
//! The first row is a read that brings all eight, the second one that brings none since they stand in the session. What
//! the bridge adds is in `benches/bridge.rs`. The peer's figures are from the same machine, in its own process.

use impresario::Runtime;
use impresario_actors::messages::session::GuideResult;
use impresario_policies::domain::{GuidanceTerms, SessionId};
use impresario_policies::guidance::{RuleMark, Touched, cut_rules};
use std::path::Path;
use std::time::{Duration, Instant};

const DEEP: usize = 8;
const ROUNDS: usize = 400;
const RULES_BYTES: usize = 2_100;
const LONG_BYTES: usize = 195 * 1024;
const CUT_BYTES: usize = 32 * 1024;

fn main() {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.expect("a tokio runtime").block_on(measure());
}

async fn measure() {
    let place = tempfile::tempdir().expect("a directory");
    let workspace = place.path().join("workspace");
    let mut directory = workspace.clone();
    for depth in 0..DEEP {
        directory = directory.join(format!("d{depth}"));
        std::fs::create_dir_all(&directory).expect("made");
        let rules = format!("{depth}{}", "r".repeat(RULES_BYTES - 1));
        std::fs::write(directory.join("AGENTS.md"), rules).expect("written");
    }
    let file = directory.join("a.ts");
    std::fs::write(&file, "a").expect("written");
    let builder = Runtime::builder()
        .state_directory(place.path().join("state"))
        .workspace(&workspace);
    let runtime = builder.start().await.expect("started");

    // The files of a repository are older than a moment.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let mut number = 0;
    let mut ask = |given: Vec<RuleMark>| {
        number += 1;
        read(number, &workspace, &file, given)
    };
    let all = runtime.guide(ask(Vec::new())).await.expect("answered").rules;
    assert_eq!(all.len(), DEEP);
    let marks: Vec<RuleMark> = all.into_iter().map(|rules| rules.mark).collect();
    let (mut given, mut known) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        given.push(timed(runtime.guide(ask(Vec::new()))).await);
        known.push(timed(runtime.guide(ask(marks.clone()))).await);
    }
    let long = "é".repeat(LONG_BYTES / 2);
    let cut = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        let (shown, _) = std::hint::black_box(cut_rules(std::hint::black_box(&long), CUT_BYTES));
        let shown = shown.to_string();
        std::hint::black_box(shown);
        began.elapsed()
    });
    let cut = cut.collect();
    println!(
        "{:<44} {:>10} {:>10} {:>10}   peer p50, p95, best",
        "", "p50", "p95", "best"
    );
    row("read, 8 files of 2.1 KB given", given, "1.9 ms, 11.4 ms, 0.41 ms");
    row(
        "the same read, all given before",
        known,
        "0.12 ms, 1.7 ms, 0.10 ms",
    );
    row("cut 195 KB to 32 KiB", cut, "1.05 ms, 7.1 ms, 0.42 ms");
    runtime.shutdown().await.expect("ended");
}

fn read(number: u64, workspace: &Path, file: &Path, given: Vec<RuleMark>) -> GuideResult {
    GuideResult {
        session: SessionId("s".into()),
        number,
        open: Vec::new(),
        touched: vec![Touched::File(file.display().to_string())],
        workspace: workspace.to_path_buf(),
        is_trusted: true,
        terms: Some(GuidanceTerms {
            file_names: vec!["AGENTS.md".into()],
            file_bytes_max: CUT_BYTES,
            read_bytes_max: 4 * CUT_BYTES,
        }),
        given,
    }
}

async fn timed(work: impl Future) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

fn row(what: &str, mut times: Vec<Duration>, peer: &str) {
    times.sort();
    let at = |share: f64| {
        format!(
            "{:.3} ms",
            times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
        )
    };
    println!(
        "{what:<44} {:>10} {:>10} {:>10}   {peer}",
        at(0.5),
        at(0.95),
        at(0.0)
    );
}
