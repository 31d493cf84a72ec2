//! What a runtime costs when many runs are under way: CPU, memory, how long acceptance takes, how long recovery takes.
//!
//! `cargo bench --bench load` prints all; words after `--` choose rows (`steps`, `streams`, `burst`, `queue`, `recovery`), numbers
//! among them how many runs. Everything goes over the public API, as a program that embeds the runtime would write it:
//! a model and a tool that answer at once, runs of 100 durable steps. Each row is a process of its own, so that one row's
//! memory and threads are not another's. CPU is that of the whole process, the listeners' own part included, as
//! `/proc` counts it.

use impresario::runtime::{
    EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ModelUsage, Replay,
    RunFilter, RunProgress, RunState, TerminalState, TextDeltas, ToolCall, ToolContext, ToolDefinition,
    async_trait,
};
use impresario::{Run, Runtime, RuntimeBuilder, SubAgent};
use impresario_policies::domain::SessionId;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A run that calls the tool so often has about 100 steps: these.
const CALLS: usize = 45;
const STEPS: usize = 101;
/// So many parts has a streamed answer.
const DELTAS: usize = 100;
/// Runs that work at a time, where throughput is measured.
const WIDTH: usize = 200;
/// Fewer steps are repeated until there are so many: `/proc` counts in hundredths of a second.
const STEPS_MIN: usize = 20_000;
const SPAWNS_TIMED: usize = 200;
/// A run of a session is gone on with after a kill; one without is parked.
const SESSION: &str = "load";

const CPU_MS_MAX: f64 = 60.0;
const CPU_GROWTH_MAX: f64 = 1.5;
const RUNS_PER_SECOND_MIN: f64 = 400.0;
const ACCEPT_P50_MAX: Duration = Duration::from_millis(5);
const ACCEPT_P99_MAX: Duration = Duration::from_millis(50);
const WAITING_RUN_KB_MAX: f64 = 30.0;
const RECOVERED_WITHIN: Duration = Duration::from_secs(5);
/// Nothing is measured by this; it only keeps a broken promise from lasting for ever.
const PATIENCE: Duration = Duration::from_secs(900);

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["be", row, runs, directory] => {
            let runs = runs.parse().expect("a number of runs");
            let threads = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build();
            threads
                .expect("a tokio runtime")
                .block_on(be(row, runs, Path::new(directory)));
            ExitCode::SUCCESS
        }
        chosen => compare(chosen),
    }
}

/// Whether a row, or a number of runs, was asked for; everything is when nothing was.
struct Chosen {
    rows: Vec<String>,
    counts: Vec<usize>,
}

impl Chosen {
    fn of(words: &[&str]) -> Self {
        let words = words.iter().filter(|word| !word.starts_with('-'));
        let (counts, rows): (Vec<&str>, Vec<&str>) = words.partition(|word| word.parse::<usize>().is_ok());
        Self {
            rows: rows.into_iter().map(str::to_string).collect(),
            counts: counts.into_iter().filter_map(|word| word.parse().ok()).collect(),
        }
    }

    fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }

    fn counts<const N: usize>(&self, usual: [usize; N]) -> Vec<usize> {
        match self.counts.is_empty() {
            true => usual.to_vec(),
            false => self.counts.clone(),
        }
    }
}

fn compare(words: &[&str]) -> ExitCode {
    let chosen = Chosen::of(words);
    let mut is_kept = true;
    if chosen.wants("steps") {
        let counts = chosen.counts([10, 100, 1_000, 10_000]);
        for row in ["steps", "steps-heard"] {
            is_kept &= compare_steps(row, &counts);
        }
    }
    if chosen.wants("streams") {
        println!("\neach streams {DELTAS} events, spawned at once, {WIDTH} work at a time");
        println!("    runs  CPU ms per 1000 events   runs/s  without outcome  resident at most MB");
        for count in chosen.counts([200, 2_000]) {
            let said = ask("streams", count);
            let [cpu, rate, lost, megabytes] = numbers(&said);
            println!("{count:>8} {cpu:>23.1} {rate:>8.0} {lost:>16} {megabytes:>20.1}");
            is_kept &= verdict("CPU per 1000 events", cpu, " ms", CPU_MS_MAX);
            is_kept &= verdict("no outcome lost", lost, "", 0.0);
        }
    }
    if chosen.wants("burst") {
        println!("\nspawned at once, width {WIDTH}");
        println!("    runs  accepted  refused  without outcome   all accepted in   all over in");
        for count in chosen.counts([2_000, 10_000]) {
            let said = ask("burst", count);
            let [accepted, refused, lost, accept_ms, over_ms] = numbers(&said);
            println!(
                "{count:>8} {accepted:>9} {refused:>8} {lost:>16} {accept_ms:>14.0} ms {over_ms:>10.0} ms"
            );
            is_kept &= verdict("nobody refused, no outcome lost", refused + lost, "", 0.0);
        }
    }
    if chosen.wants("queue") {
        println!("\naccepting one more while others wait, width 4");
        println!("  waiting    p50 ms    p99 ms   a waiting run kB");
        for count in chosen.counts([100, 2_000, 10_000]) {
            let said = ask("queue", count);
            let [p50, p99, kilobytes] = numbers(&said);
            println!("{count:>9} {p50:>9.2} {p99:>9.2} {kilobytes:>18.2}");
            is_kept &= verdict("p50", p50, " ms", ACCEPT_P50_MAX.as_secs_f64() * 1e3);
            is_kept &= verdict("p99", p99, " ms", ACCEPT_P99_MAX.as_secs_f64() * 1e3);
            is_kept &= verdict("a waiting run", kilobytes, " kB", WAITING_RUN_KB_MAX);
        }
    }
    if chosen.wants("recovery") {
        println!("\nunfinished runs after a kill, until all are under way again");
        println!("    runs  recovered in");
        for count in chosen.counts([1_000, 10_000]) {
            let took = recovery(count);
            println!("{count:>8} {:>10.0} ms", took * 1e3);
            is_kept &= verdict("recovered", took, " s", RECOVERED_WITHIN.as_secs_f64());
        }
    }
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn compare_steps(row: &str, counts: &[usize]) -> bool {
    let whom = if row == "steps" {
        "nobody listens"
    } else {
        "a listener for each run"
    };
    println!("\nruns of {STEPS} steps, spawned at once, width {WIDTH}, {whom}");
    println!("    runs   CPU ms/1000 steps   runs/s   accept p50 ms   accept p99 ms   first step p50 ms");
    let (mut cpu_all, mut is_kept) = (Vec::new(), true);
    for &count in counts {
        let said = ask(row, count);
        let [cpu, rate, p50, p99, first] = numbers(&said);
        println!("{count:>8} {cpu:>19.1} {rate:>8.0} {p50:>15.2} {p99:>15.2} {first:>19.2}");
        is_kept &= verdict("CPU per 1000 steps", cpu, " ms", CPU_MS_MAX);
        if count >= 1_000 {
            is_kept &= verdict("runs a second, at least", -rate, "", -RUNS_PER_SECOND_MIN);
        }
        cpu_all.push(cpu);
    }
    let most = cpu_all.iter().copied().fold(f64::MIN, f64::max);
    let first = cpu_all.first().copied().unwrap_or(f64::NAN);
    is_kept & verdict("most against the first row", most / first, "", CPU_GROWTH_MAX)
}

fn verdict(name: &str, measured: f64, unit: &str, most: f64) -> bool {
    let is_kept = measured <= most;
    if !is_kept {
        let (measured, most) = (measured.abs(), most.abs());
        println!("      MISSED: {name}: {measured:.2}{unit}, target {most}{unit}");
    }
    is_kept
}

fn numbers<const N: usize>(said: &str) -> [f64; N] {
    let numbers = said
        .split_whitespace()
        .map(|word| word.parse().expect("a number"));
    let numbers = numbers.collect::<Vec<f64>>();
    numbers
        .try_into()
        .unwrap_or_else(|_| panic!("{N} numbers: {said:?}"))
}

// ---- a process for each row

fn start(row: &str, runs: usize, directory: &Path) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["be", row, &runs.to_string()])
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("it has an output"));
    output.read_line(&mut said).expect("it says something");
    (child, said)
}

fn ask(row: &str, runs: usize) -> String {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let (mut child, said) = start(row, runs, place.path());
    assert!(
        child.wait().expect("it ends").success(),
        "row {row} of {runs} broke"
    );
    said
}

fn recovery(runs: usize) -> f64 {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let (mut child, _) = start("leave", runs, place.path());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let (mut child, said) = start("recover", runs, place.path());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let [seconds] = numbers(&said);
    seconds
}

async fn be(row: &str, runs: usize, directory: &Path) {
    match row {
        "steps" => steps(runs, directory, false).await,
        "steps-heard" => steps(runs, directory, true).await,
        "streams" => streams(runs, directory).await,
        "burst" => burst(runs, directory).await,
        "queue" => queue(runs, directory).await,
        "leave" => leave(runs, directory).await,
        "recover" => recover(runs, directory).await,
        other => panic!("there is no row {other:?}"),
    }
}

fn builder(directory: &Path, width: usize) -> RuntimeBuilder {
    Runtime::builder()
        .state_directory(directory)
        .workspace("/")
        .width(width)
        .session(Arc::new(Mutex::new(Some(SessionId(SESSION.to_string())))))
        .tool(Note)
        .model(Busy)
}

fn busy() -> SubAgent {
    sub_agent("busy")
}

fn silent() -> SubAgent {
    sub_agent("silent")
}

fn sub_agent(model: &str) -> SubAgent {
    SubAgent::explore("Note what there is.")
        .session(SESSION)
        .unjudged()
        .with_tool("note")
        .timeout(Duration::from_secs(24 * 3600))
        .inactivity_timeout(Duration::from_secs(24 * 3600))
        .startup_timeout(Duration::from_secs(24 * 3600))
        .chain([model])
}

/// Spawns all at once, each from a task of its own, and waits for every outcome.
async fn steps(runs: usize, directory: &Path, listens: bool) {
    let runtime = builder(directory, WIDTH).start().await.expect("started");
    finish(&runtime, listens).await; // the first one pays for what is made once
    let rounds = STEPS_MIN.div_ceil(runs * STEPS).max(1);
    let (mut accepts, mut firsts) = (Vec::new(), Vec::new());
    let heard = Arc::new(AtomicU64::new(0));
    let (cpu_before, began) = (cpu_seconds(), Instant::now());
    for _ in 0..rounds {
        let tasks = (0..runs).map(|_| {
            let (runtime, heard) = (runtime.clone(), heard.clone());
            tokio::spawn(async move {
                let asked = Instant::now();
                let run = runtime.spawn(busy()).await.expect("accepted");
                let accepted = asked.elapsed();
                let mut first = accepted;
                if listens {
                    let mut events = run.events();
                    let mut count = 0;
                    while events.next().await.is_some() {
                        if count == 0 {
                            first = asked.elapsed();
                        }
                        count += 1;
                    }
                    heard.fetch_add(count, Ordering::Relaxed);
                }
                let outcome = run.outcome().await.expect("an outcome");
                assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
                (accepted, first, outcome.projection.next_sequence() - 1)
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            let (accepted, first, steps) = task.await.expect("no panic");
            assert!(
                steps.abs_diff(STEPS as u64) <= 2,
                "a run has {steps} steps, not about {STEPS}: set CALLS right"
            );
            accepts.push(accepted);
            firsts.push(first);
        }
    }
    let (cpu, took) = (cpu_seconds() - cpu_before, began.elapsed().as_secs_f64());
    let total = (runs * rounds) as f64;
    if listens {
        let heard = heard.load(Ordering::Relaxed) as f64;
        assert!(
            heard > total * (STEPS as f64 - 5.0),
            "only {heard} steps were heard"
        );
    }
    let thousands = total * STEPS as f64 / 1_000.0;
    println!(
        "{} {} {} {} {}",
        cpu * 1e3 / thousands,
        total / took,
        share(&mut accepts, 0.5),
        share(&mut accepts, 0.99),
        share(&mut firsts, 0.5)
    );
    runtime.shutdown().await.expect("stopped");
}

async fn finish(runtime: &Runtime, listens: bool) {
    let run = runtime.spawn(busy()).await.expect("accepted");
    if listens {
        let mut events = run.events();
        while events.next().await.is_some() {}
    }
    run.outcome().await.expect("an outcome");
}

/// Spawns all at once; each streams its answer in many parts.
async fn streams(runs: usize, directory: &Path) {
    let runtime = builder(directory, WIDTH).start().await.expect("started");
    let (cpu_before, began) = (cpu_seconds(), Instant::now());
    let tasks = (0..runs).map(|_| {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.spawn(sub_agent("talk")).await?.outcome().await })
    });
    let mut lost = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.expect("no panic") {
            Ok(outcome) if outcome.answer.as_deref() == Some(&said_in_parts()) => {}
            other => {
                eprintln!("no outcome: {:?}", other.map(|outcome| outcome.reason));
                lost += 1;
            }
        }
    }
    let (cpu, took) = (cpu_seconds() - cpu_before, began.elapsed().as_secs_f64());
    let thousands = (runs * DELTAS) as f64 / 1_000.0;
    let megabytes = kilobytes_of("VmHWM:") / 1e3;
    println!(
        "{} {} {lost} {megabytes}",
        cpu * 1e3 / thousands,
        runs as f64 / took
    );
    runtime.shutdown().await.expect("stopped");
}

fn parts() -> impl Iterator<Item = String> {
    (0..DELTAS).map(|number| format!("part {number} "))
}

fn said_in_parts() -> String {
    parts().collect()
}

async fn burst(runs: usize, directory: &Path) {
    let runtime = builder(directory, WIDTH).start().await.expect("started");
    let began = Instant::now();
    let tasks = (0..runs).map(|_| {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.spawn(sub_agent("brief")).await })
    });
    let (mut accepted, mut refused) = (Vec::new(), 0);
    for task in tasks.collect::<Vec<_>>() {
        match task.await.expect("no panic") {
            Ok(run) => accepted.push(run),
            Err(error) => {
                eprintln!("refused: {error}");
                refused += 1;
            }
        }
    }
    let all_accepted = began.elapsed();
    let outcomes = accepted.iter().map(|run| {
        let run = run.clone();
        tokio::spawn(async move { run.outcome().await })
    });
    let mut lost = 0;
    for task in outcomes.collect::<Vec<_>>() {
        match task.await.expect("no panic") {
            Ok(outcome) if outcome.state == TerminalState::Succeeded => {}
            other => {
                eprintln!("no outcome: {:?}", other.map(|outcome| outcome.reason));
                lost += 1;
            }
        }
    }
    println!(
        "{} {refused} {lost} {} {}",
        accepted.len(),
        all_accepted.as_millis(),
        began.elapsed().as_millis()
    );
    runtime.shutdown().await.expect("stopped");
}

/// Accepts one run after the other while many wait behind four that never end.
async fn queue(waiting: usize, directory: &Path) {
    let runtime = builder(directory, 4).start().await.expect("started");
    let mut runs = spawn_all(&runtime, 20).await;
    wait_for(&runtime, 20).await;
    let before = resident_kilobytes();
    runs.extend(spawn_all(&runtime, waiting).await);
    wait_for(&runtime, runs.len()).await;
    let kilobytes = (resident_kilobytes() - before) / waiting as f64;
    let mut accepts = Vec::new();
    for _ in 0..SPAWNS_TIMED {
        let asked = Instant::now();
        runs.push(runtime.spawn(silent()).await.expect("accepted"));
        accepts.push(asked.elapsed());
    }
    println!(
        "{} {} {kilobytes}",
        share(&mut accepts, 0.5),
        share(&mut accepts, 0.99)
    );
    // Parking them is no part of this row.
    std::process::exit(0);
}

async fn spawn_all(runtime: &Runtime, count: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    while runs.len() < count {
        let some = (runs.len()..count.min(runs.len() + 100)).map(|_| {
            let runtime = runtime.clone();
            tokio::spawn(async move { runtime.spawn(silent()).await.expect("accepted") })
        });
        for task in some.collect::<Vec<_>>() {
            runs.push(task.await.expect("no panic"));
        }
    }
    runs
}

/// Until so many runs have come as far as they can: four work, the others have their brief and wait for room.
async fn wait_for(runtime: &Runtime, count: usize) {
    let patience = Instant::now() + PATIENCE;
    loop {
        let filter = RunFilter {
            progress: RunProgress::Unfinished,
            ..RunFilter::default()
        };
        let all = runtime.runs(filter).await.expect("a list");
        let settled = all
            .iter()
            .filter(|run| matches!(run.state, RunState::Briefed | RunState::Running));
        if settled.count() >= count {
            return;
        }
        assert!(Instant::now() < patience, "the runs never came to wait");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn leave(runs: usize, directory: &Path) {
    let runtime = builder(directory, 4).start().await.expect("started");
    let all = spawn_all(&runtime, runs).await;
    wait_for(&runtime, all.len()).await;
    println!("ready");
    std::future::pending().await
}

async fn recover(runs: usize, directory: &Path) {
    let began = Instant::now();
    let runtime = builder(directory, 4).start().await.expect("started");
    runtime.adopt().await.expect("adopted");
    // The newest was taken on last, and answers when it knows its steps.
    let newest = RunFilter {
        newest: 1,
        ..RunFilter::unfinished()
    };
    let newest = runtime.runs(newest).await.expect("a list").remove(0).run;
    let cancelled = runtime.run(newest).cancel("the bench").await;
    assert_eq!(cancelled, Ok(true));
    let took = began.elapsed();
    let filter = RunFilter {
        progress: RunProgress::Unfinished,
        ..RunFilter::default()
    };
    let unfinished = runtime.runs(filter).await.expect("a list");
    assert!(
        unfinished.len() + 1 >= runs,
        "all but one are still to be finished"
    );
    println!("{}", took.as_secs_f64());
    std::future::pending().await
}

// ---- what a program brings

/// Calls the tool many times in its first reply and answers in its second.
struct Busy;

#[async_trait(?Send)]
impl ModelClient for Busy {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        if request.model == "silent" {
            return std::future::pending().await;
        }
        let has_results = request
            .messages
            .iter()
            .any(|message| message.role == ModelRole::Tool);
        let calls = if has_results || request.model == "brief" {
            0
        } else {
            CALLS
        };
        let text = if calls == 0 { "It is all noted." } else { "" };
        Ok(ModelReply {
            text: text.to_string(),
            tool_calls: (0..calls)
                .map(|number| ToolCall {
                    id: format!("call_{number}"),
                    tool: "note".to_string(),
                    arguments: json!({ "number": number }),
                })
                .collect(),
            usage: ModelUsage::default(),
            served: None,
        })
    }

    async fn stream(&self, request: ModelRequest, text: TextDeltas) -> Result<ModelReply, ModelError> {
        let talks = request.model == "talk";
        let mut reply = self.complete(request).await?;
        if talks {
            (reply.text, reply.tool_calls) = (said_in_parts(), Vec::new());
        }
        let told = match talks {
            true => parts().collect(),
            false => vec![reply.text.clone()],
        };
        for part in told.into_iter().filter(|part| !part.is_empty()) {
            // Whoever listens no more wants no more.
            let _ = text.send(part).await;
        }
        Ok(reply)
    }
}

/// A tool that is done at once and may run twice.
struct Note;

#[async_trait]
impl EmbeddedTool for Note {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "note".to_string(),
            description: "Notes a number.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<String, String> {
        Ok(format!("noted {arguments}"))
    }
}

// ---- measuring

/// In milliseconds.
fn share(all: &mut [Duration], share: f64) -> f64 {
    all.sort_unstable();
    let place = (all.len() as f64 * share) as usize;
    all[place.min(all.len() - 1)].as_secs_f64() * 1e3
}

/// What this process has computed so far, all its threads together.
fn cpu_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a stat");
    let after_name = stat.rsplit(')').next().expect("a name in brackets");
    let fields = after_name.split_whitespace().collect::<Vec<_>>();
    let ticks = |place: usize| fields[place].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / TICKS_A_SECOND
}

fn resident_kilobytes() -> f64 {
    kilobytes_of("VmRSS:")
}

fn kilobytes_of(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let resident = status.lines().find_map(|line| line.strip_prefix(what));
    let number = resident.and_then(|text| text.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}
