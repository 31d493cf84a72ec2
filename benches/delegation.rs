//! What a delegation to real Pi costs, beside starting a bare Pi for the same task.
//!
//! Each version of Pi has a process of its own, in a sandbox with no network but the scripted model server, which answers
//! at once; so what is measured is everything that is not the model. The baseline is a bare `pi --mode json` without
//! anything of the user's to load, from its start to its end. Ours is from the order to the outcome: journal, keeper and
//! proof included. The three take turns: bare, ours with no worker kept warm, ours with one.
//!
//! Memory is what all processes below this one had together at most (`Pss`), for ours with this one's own beside it; it
//! is looked at in rounds of their own, for looking takes time.

use impresario::{
    Runtime, RuntimeBuilder, SubAgent,
    runtime::{PoolSettings, TerminalState},
};
use impresario_model_server::{ModelServer, Rule, Script, Turn};
use impresario_test_support::pi::{MOCK_MODEL, Sandbox, Version, provision};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;
const ROUNDS_OF_MANY: usize = 5;
const MANY: usize = 8;
const FASTER_MIN: f64 = 5.0;
const MANY_FASTER_MIN: f64 = 3.0;
const TASK: &str = "Say that it works.";
const ANSWER: &str = "It works.";
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if let [be, node, cli] = &words[..]
        && be == "be"
    {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let bench = Bench {
            node: node.into(),
            cli: cli.into(),
            place: std::env::current_dir().expect("a working directory"),
        };
        return threads.expect("a tokio runtime").block_on(bench.measure());
    }
    let rule = Rule::new("sub-agent").turn(Turn::text(ANSWER)).repeat();
    let server = ModelServer::start_blocking(Script::new().rule(rule)).expect("a model server");
    let mut is_kept = true;
    for version in Version::ALL {
        let install = provision(version).unwrap_or_else(|error| panic!("{error}"));
        let sandbox = Sandbox::new(&install, &server);
        println!("Pi {version}");
        let mut row = sandbox.command(std::env::current_exe().expect("this program has a path"));
        row.arg("be").arg(&install.node).arg(sandbox.pi());
        is_kept &= row.status().expect("it starts").success();
    }
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

struct Bench {
    node: PathBuf,
    cli: PathBuf,
    place: PathBuf,
}

impl Bench {
    async fn measure(&self) -> ExitCode {
        let cold = self
            .runtime("cold")
            .pool(PoolSettings::NONE)
            .start()
            .await
            .expect("started");
        let warm = self.runtime("warm").start().await.expect("started");
        let (mut bare_all, mut cold_all, mut warm_all) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let bare = timed(self.bare(1)).await;
            let of_cold = timed(self.ours(&cold, 1)).await;
            let of_warm = timed(self.ours(&warm, 1)).await;
            // The first round warms up.
            if round > 0 {
                bare_all.push(bare);
                cold_all.push(of_cold);
                warm_all.push(of_warm);
            }
        }
        println!("  one task, p50 of {ROUNDS}");
        let [bare, of_cold, of_warm] = [bare_all, cold_all, warm_all].map(median);
        row("bare pi", bare, None);
        row("ours, cold", of_cold, None);
        row("ours, warm", of_warm, None);
        let mut is_kept = verdict("warm, faster than bare", bare / of_warm, FASTER_MIN);

        let (mut bare_all, mut cold_all, mut warm_all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS_OF_MANY {
            bare_all.push(timed(self.bare(MANY)).await);
            cold_all.push(timed(self.ours(&cold, MANY)).await);
            warm_all.push(timed(self.ours(&warm, MANY)).await);
        }
        // No worker waits in memory while others are looked at.
        warm.shutdown().await.expect("stopped");
        let bare_memory = peak(false, self.bare(MANY)).await;
        let cold_memory = peak(true, self.ours(&cold, MANY)).await;
        cold.shutdown().await.expect("stopped");
        let warm = self.runtime("warm").start().await.expect("started");
        self.ours(&warm, MANY).await;
        let warm_memory = peak(true, self.ours(&warm, MANY)).await;
        warm.shutdown().await.expect("stopped");
        println!("  {MANY} tasks at once, p50 of {ROUNDS_OF_MANY}");
        let [bare, of_cold, of_warm] = [bare_all, cold_all, warm_all].map(median);
        row("bare pi", bare, Some(bare_memory));
        row("ours, cold", of_cold, Some(cold_memory));
        row("ours, warm", of_warm, Some(warm_memory));
        is_kept &= verdict("warm, faster than bare", bare / of_warm, MANY_FASTER_MIN);
        is_kept &= verdict("bare, more memory than warm", bare_memory / warm_memory, 1.0);
        match is_kept {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }

    fn runtime(&self, name: &str) -> RuntimeBuilder {
        Runtime::builder()
            .state_directory(self.place.join(name))
            .workspace(&self.place)
            .pi(&self.cli)
            .keeper(env!("CARGO_BIN_EXE_impresario-keeper"))
    }

    /// So many delegations at once, from the order to the last outcome.
    async fn ours(&self, runtime: &Runtime, count: usize) {
        let runs = (0..count).map(|_| async {
            let task = SubAgent::explore(TASK)
                .runner("pi")
                .unjudged()
                .chain([MOCK_MODEL]);
            let run = runtime.spawn(task).await.expect("accepted");
            let outcome = run.outcome().await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
            assert_eq!(outcome.answer.as_deref(), Some(ANSWER));
        });
        futures_util::future::join_all(runs).await;
    }

    /// So many bare Pis at once, from the start to the last end.
    async fn bare(&self, count: usize) {
        let lean = [
            "--no-extensions",
            "--no-skills",
            "--no-prompt-templates",
            "--no-themes",
            "--no-context-files",
        ];
        let all = (0..count).map(|_| {
            let mut command = Command::new(&self.node);
            command
                .arg(fs::canonicalize(&self.cli).expect("Pi"))
                .args(["--mode", "json", "--no-session", "--model", MOCK_MODEL])
                .args(lean)
                .arg(TASK)
                .stdin(Stdio::null())
                .stdout(Stdio::piped());
            let child = tokio::process::Command::from(command).spawn().expect("it starts");
            child.wait_with_output()
        });
        for ended in futures_util::future::join_all(all.collect::<Vec<_>>()).await {
            let said = ended.expect("its output").stdout;
            assert!(String::from_utf8_lossy(&said).contains(ANSWER), "it answered");
        }
    }
}

fn verdict(name: &str, ratio: f64, least: f64) -> bool {
    let is_kept = ratio >= least;
    let word = if is_kept { "kept" } else { "MISSED" };
    println!("      {name}: {ratio:.2} times, target {least}: {word}");
    is_kept
}

fn row(name: &str, milliseconds: f64, memory: Option<f64>) {
    let memory = memory.map_or(String::new(), |memory| format!("{memory:>10.0} MB"));
    println!("    {name:<24} {milliseconds:>10.1} ms{memory}");
}

async fn timed(work: impl Future<Output = ()>) -> f64 {
    let began = Instant::now();
    work.await;
    began.elapsed().as_secs_f64() * 1e3
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The most memory, in megabytes, that everything below this process had at a time while this went on.
async fn peak(with_own: bool, work: impl Future<Output = ()>) -> f64 {
    let (most, goes_on) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
    let (seen, looks) = (most.clone(), goes_on.clone());
    let looker = std::thread::spawn(move || {
        while looks.load(Ordering::Relaxed) {
            seen.fetch_max(kilobytes_below(std::process::id(), with_own), Ordering::Relaxed);
            std::thread::sleep(BETWEEN_LOOKS);
        }
    });
    work.await;
    goes_on.store(false, Ordering::Relaxed);
    looker.join().expect("it looked");
    most.load(Ordering::Relaxed) as f64 / 1e3
}

fn kilobytes_below(top: u32, with_own: bool) -> u64 {
    let mut children = BTreeMap::<u32, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((pid, parent)) = pid.and_then(|pid: u32| Some((pid, parent_of(pid)?))) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut all = vec![top];
    let mut next = 0;
    while let Some(one) = all.get(next) {
        next += 1;
        all.extend(children.remove(one).unwrap_or_default());
    }
    let counted = all.into_iter().skip(usize::from(!with_own));
    counted
        .filter_map(|pid| proportional_kilobytes(Path::new(&format!("/proc/{pid}/smaps_rollup"))))
        .sum()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn proportional_kilobytes(file: &Path) -> Option<u64> {
    let rollup = fs::read_to_string(file).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}
