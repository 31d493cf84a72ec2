//! Storms in real Pi of both versions: a seed chooses what the sub-agent does, what its provider does to it, who is
//! killed, and at which moment; afterwards the promises are audited.
//!
//! `IMPRESARIO_STORM_SEEDS=400` plays more seeds, `IMPRESARIO_STORM_SEED=17` and `IMPRESARIO_STORM_PI=0.87.1` play one
//! again, `IMPRESARIO_STORM_WIDTH=8` plays more side by side.

#![cfg(target_os = "linux")]

mod audit;
#[path = "pi/host.rs"]
mod host;

use host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, brief_rule, count, is_result, prompt, talk, verdict, wait_for_file,
};
use impresario::chaos::JournalRow;
use impresario_model_server::{Call, Fault, Outcome, Place, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::Version;
use impresario_test_support::processes::{command_line, has_environment};
use impresario_test_support::waiting::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

const SEEDS: u64 = 40;
/// So many storms side by side: each waits most of its time.
const WIDTH: usize = 4;
const HOLD: &str = "until somebody is killed";

#[test]
fn storms_break_no_promise() {
    let versions = Version::ALL
        .into_iter()
        .filter(|version| chosen("IMPRESARIO_STORM_PI").is_none_or(|only| only == version.as_str()));
    let seeds = match number("IMPRESARIO_STORM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("IMPRESARIO_STORM_SEEDS").unwrap_or(SEEDS),
    };
    let storms = versions.flat_map(|version| seeds.clone().map(move |seed| Storm::of(seed, version)));
    let waiting = Mutex::new(storms.collect::<Vec<_>>());
    let failed = Mutex::new(Vec::new());
    let width = number("IMPRESARIO_STORM_WIDTH").map_or(WIDTH, |width| width as usize);
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                loop {
                    let Some(storm) = waiting.lock().expect("the queue").pop() else {
                        return;
                    };
                    let began = Instant::now();
                    let ended = catch_unwind(AssertUnwindSafe(|| storm.play()));
                    eprintln!(
                        "{} {:?} {storm:?}",
                        if ended.is_ok() { "held" } else { "BROKE" },
                        began.elapsed()
                    );
                    if ended.is_err() {
                        failed.lock().expect("the list").push(storm.replay());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    assert!(
        failed.is_empty(),
        "a promise was broken; again with\n{}",
        failed.join("\n")
    );
}

fn chosen(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

fn number(variable: &str) -> Option<u64> {
    chosen(variable).map(|text| text.parse().unwrap_or_else(|error| panic!("{variable}: {error}")))
}

/// What a tool of the sub-agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// It reads, which may happen twice.
    Safe,
    /// It writes a line, which must not happen twice.
    Unsafe,
    /// The same, and takes a while.
    Slow,
    /// It gives more than the model should see.
    Large,
    /// Two at once.
    Pair,
}

/// What the provider does to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ill {
    Overloaded,
    Unauthorized,
    Cut,
    Hang,
    Garbage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Runtime,
    Keeper,
    NestedPi,
    Host,
}

/// When somebody is killed. Whoever could move on is held there, and nobody lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The judge's call has arrived.
    Judged,
    /// This call of the sub-agent has arrived.
    Asked(usize),
    /// The answer to this call of the sub-agent has begun.
    Answering(usize),
    /// A tool ordered by this call has written its line and is not done.
    InTool(usize),
    /// The end of the run is on disk.
    Ended,
}

#[derive(Debug, Clone)]
struct Storm {
    seed: u64,
    version: Version,
    works: Vec<Work>,
    ill: Option<(usize, Ill)>,
    kill: Option<(Victim, Moment)>,
}

// ---- what a seed means

impl Storm {
    /// Faults and victims take turns, so that thirty seeds in a row have every pair of them; the rest is chance.
    fn of(seed: u64, version: Version) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let ills = [
            None,
            Some(Ill::Overloaded),
            Some(Ill::Unauthorized),
            Some(Ill::Cut),
            Some(Ill::Hang),
            Some(Ill::Garbage),
        ];
        let victims = [
            Some(Victim::Runtime),
            Some(Victim::Keeper),
            Some(Victim::NestedPi),
            Some(Victim::Host),
            None,
        ];
        let ill = ills[(seed % 6) as usize];
        let victim = victims[(seed / 6 % 5) as usize];
        let works = (0..dice.usize(1..=3)).map(|_| {
            let all = [Work::Safe, Work::Unsafe, Work::Slow, Work::Large, Work::Pair];
            all[dice.usize(0..all.len())]
        });
        let mut works = works.collect::<Vec<_>>();
        let kill = victim.map(|victim| (victim, Moment::of(victim, works.len(), &mut dice)));
        if let Some((_, Moment::InTool(place))) = kill {
            works[place] = Work::Unsafe;
        }
        // What happens to the provider comes first: whoever is killed may be the last to speak with it.
        let last = match kill {
            Some((_, Moment::Judged)) => 0,
            Some((_, Moment::Asked(call) | Moment::Answering(call) | Moment::InTool(call))) => call,
            Some((_, Moment::Ended)) | None => works.len(),
        };
        let ill = ill.map(|ill| (dice.usize(0..=last), ill));
        Self {
            seed,
            version,
            works,
            ill,
            kill,
        }
    }

    fn replay(&self) -> String {
        let (seed, version) = (self.seed, self.version);
        format!("IMPRESARIO_STORM_SEED={seed} IMPRESARIO_STORM_PI={version} cargo test --test pi_storm")
    }

    fn victim(&self) -> Option<Victim> {
        self.kill.map(|(victim, _)| victim)
    }

    /// How the run has to end.
    fn expected(&self) -> &'static str {
        match self.kill {
            Some((_, Moment::InTool(_))) => "parked",
            Some((Victim::Host, moment)) if moment != Moment::Ended => "parked",
            _ => "succeeded",
        }
    }

    /// A run that ends in the judge's place never comes to its provider.
    fn reaches_its_provider(&self) -> bool {
        self.kill != Some((Victim::Host, Moment::Judged))
    }
}

impl Moment {
    fn of(victim: Victim, works: usize, dice: &mut fastrand::Rng) -> Self {
        let of_run = matches!(victim, Victim::Runtime | Victim::Host);
        match dice.usize(0..if of_run { 5 } else { 3 }) {
            0 => Self::Asked(dice.usize(0..=works)),
            1 => Self::Answering(dice.usize(0..=works)),
            2 => Self::InTool(dice.usize(0..works)),
            3 => Self::Judged,
            _ => Self::Ended,
        }
    }
}

// ---- the script

impl Storm {
    /// The turns of the sub-agent's model, and which of them is the fault and which is held.
    fn turns(&self) -> Turns {
        let mut turns = Turns::default();
        for place in 0..=self.works.len() {
            if let Some((at, ill)) = self.ill
                && at == place
            {
                turns.fault = Some(turns.all.len());
                turns.all.push(self.turn(place).made_ill(ill));
            }
            match self.kill.map(|(_, moment)| moment) {
                Some(Moment::Asked(at)) if at == place => turns.hold(self.turn(place).behind_gate(HOLD)),
                Some(Moment::Answering(at)) if at == place => {
                    let name = HOLD.to_string();
                    let at = self.turn(place).middle();
                    turns.hold(self.turn(place).and_fault(Fault::Gate { at, name }));
                }
                _ => {}
            }
            turns.all.push(self.turn(place));
        }
        turns
    }

    fn turn(&self, place: usize) -> Turn {
        let Some(work) = self.works.get(place) else {
            return Turn::text(ANSWER);
        };
        let reads = || json!({"path": "notes.txt"});
        let writes = |then: &str| json!({"command": format!("echo ran >> ran-{place}.txt{then}")});
        match work {
            Work::Safe => Turn::tool("read", reads()),
            Work::Unsafe
                if self
                    .kill
                    .is_some_and(|(_, moment)| moment == Moment::InTool(place)) =>
            {
                Turn::tool("bash", writes("; sleep 600"))
            }
            Work::Unsafe => Turn::tool("bash", writes("")),
            Work::Slow => Turn::tool("bash", writes("; sleep 0.4")),
            Work::Large => Turn::tool("bash", writes("; seq 1 6000")),
            Work::Pair => Turn::tool("read", reads()).and_tool("bash", writes("")),
        }
    }

    fn script(&self) -> Script {
        let passes = || Turn::text(&verdict(None).to_string());
        let mut judge = Rule::new("judge").system_contains("# Impresario: judge");
        if self.kill.is_some_and(|(_, moment)| moment == Moment::Judged) {
            judge = judge.turn(passes().behind_gate(HOLD));
        }
        let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
        Script::new()
            .rule(brief_rule())
            .rule(judge.turn(passes()).repeat())
            .rule(self.turns().all.into_iter().fold(sub_agent, Rule::turn).repeat())
            .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
    }
}

#[derive(Default)]
struct Turns {
    all: Vec<Turn>,
    fault: Option<usize>,
    held: Option<usize>,
}

impl Turns {
    /// Whoever waits for this turn is killed; what it says is said again to who comes after.
    fn hold(&mut self, turn: Turn) {
        self.held = Some(self.all.len());
        self.all.push(turn);
    }
}

/// What can be done to a turn.
trait Ailing {
    fn made_ill(self, ill: Ill) -> Turn;
    fn middle(&self) -> Place;
}

impl Ailing for Turn {
    fn made_ill(self, ill: Ill) -> Turn {
        let at = self.middle();
        match ill {
            Ill::Overloaded => Turn::overloaded(),
            Ill::Unauthorized => Turn::fault(Fault::Unauthorized),
            Ill::Cut => self.and_fault(Fault::Cut { at }),
            Ill::Hang => self.and_fault(Fault::Hang { at }),
            Ill::Garbage => self.and_fault(Fault::Malformed { at }),
        }
    }

    fn middle(&self) -> Place {
        match self.tools.is_empty() {
            true => Place::MidText,
            false => Place::MidToolCall,
        }
    }
}

// ---- the play

impl Storm {
    fn play(&self) {
        let name = format!("storm {}", self.seed);
        let Some(stage) = Stage::set_with(self.version, &name, self.script()) else {
            return;
        };
        stage
            .sandbox
            .write_work_file("notes.txt", "The supervisor decides who restarts.\n");
        stage.configure(json!({
            "fallbackModels": ["mocka/mocka-1", "mock/mock-other"], "inactivityTimeoutMs": 10000, "graceMs": 500,
        }));
        let mut pi = stage.rpc();
        prompt(&mut pi, "/skill demo look around");
        if let Some((victim, moment)) = self.kill {
            self.wait_for(moment, &stage);
            kill_process(victim.find(&stage, &pi), Signal::KILL).expect("the victim runs");
        }
        let state = match self.victim() {
            Some(Victim::Host) => outlived_by_nothing(&stage),
            _ => told(&stage, pi),
        };
        assert_eq!(state, self.expected(), "{:#?}", steps(&stage));
        self.check_fault_happened(&stage);
        self.check_effects(&stage);
    }

    fn wait_for(&self, moment: Moment, stage: &Stage) {
        match moment {
            Moment::Judged => stage.wait_for_calls_of("judge", 1),
            Moment::Asked(_) | Moment::Answering(_) => {
                let held = self.turns().held;
                let ledger = stage.server.ledger();
                let came = ledger.wait_until(PATIENCE, |calls| calls.iter().any(|call| is_turn(call, held)));
                assert!(
                    came,
                    "it never came to its moment: {:?} {:#?}",
                    stage.callers(),
                    steps(stage)
                );
            }
            Moment::InTool(place) => {
                wait_for_file(&stage.sandbox.work().join(format!("ran-{place}.txt")), "ran");
            }
            Moment::Ended => {
                until_step(stage, "ended");
            }
        }
    }

    /// A storm without its fault proves nothing.
    fn check_fault_happened(&self, stage: &Stage) {
        let (Some((_, ill)), true) = (self.ill, self.reaches_its_provider()) else {
            return;
        };
        let fault = self.turns().fault;
        let calls = stage.server.ledger().calls();
        let call = calls.iter().find(|call| is_turn(call, fault));
        let end = call.and_then(|call| call.end);
        let happened = end.is_some_and(|end| match ill {
            Ill::Overloaded => end.status == Some(529),
            Ill::Unauthorized => end.status == Some(401),
            Ill::Cut => end.outcome == Outcome::CutByScript,
            Ill::Hang => end.outcome == Outcome::CutByClient,
            Ill::Garbage => end.status == Some(200) && end.bytes_sent > 0,
        });
        assert!(happened, "{ill:?} did not happen: {end:?}");
    }

    /// Of every line that a tool wrote the journal has a start, and of every end there is a line.
    fn check_effects(&self, stage: &Stage) {
        let rows = steps(stage);
        for place in 0..self.works.len() {
            let file = format!("ran-{place}.txt");
            let lines = fs::read_to_string(stage.sandbox.work().join(&file))
                .unwrap_or_default()
                .lines()
                .count();
            let started = rows.iter().filter(|row| {
                row.step["step"] == "tool_started"
                    && row.step["summary"]
                        .as_str()
                        .is_some_and(|said| said.contains(&file))
            });
            let started = started.collect::<Vec<_>>();
            let ended = started.iter().filter(|start| {
                rows.iter().any(|row| {
                    row.step["step"] == "tool_ended"
                        && row.step["attempt"] == start.step["attempt"]
                        && row.step["call"] == start.step["call"]
                        && row.step["is_error"] == false
                })
            });
            let ended = ended.count();
            assert!(
                (ended..=started.len()).contains(&lines),
                "{file}: {} starts, {lines} effects, {ended} ends",
                started.len()
            );
        }
    }
}

/// The person is told once, the result is kept, Pi goes, and nothing is left.
fn told(stage: &Stage, mut pi: JsonLines) -> String {
    let result = pi.wait_for(PATIENCE, is_result);
    let state = result["message"]["details"]["state"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    if state == "succeeded" {
        assert!(
            result["message"]["content"].to_string().contains(ANSWER),
            "{result}"
        );
    }
    talk(&mut pi, "Thank you.");
    until_step(stage, "delivery_acknowledged");
    assert_eq!(count(&pi, is_result), 1);
    stage.end(pi);
    state
}

/// The host is gone: so is everything, and the next command says what became of the run.
fn outlived_by_nothing(stage: &Stage) -> String {
    stage.nothing_is_left();
    let runs = stage.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0]["state"].as_str().unwrap_or_default().to_string()
}

impl Victim {
    fn find(self, stage: &Stage, pi: &JsonLines) -> Pid {
        let host = i32::try_from(pi.pid()).expect("a process id");
        let mut all = stage.processes();
        all.sort_by_key(|(pid, _)| *pid);
        let found = all.iter().find(|(pid, command)| match self {
            Self::Host => *pid == host,
            Self::Runtime | Self::Keeper => command.contains("impresario bridge"),
            Self::NestedPi => {
                *pid != host && command.starts_with("pi") && has_environment(*pid, "IMPRESARIO_RUN=")
            }
        });
        let (pid, _) = found.unwrap_or_else(|| panic!("no {self:?} among {all:#?}"));
        let keeper = || {
            let keepers = children_of(*pid)
                .into_iter()
                .find(|child| command_line(*child).contains("keeper"));
            keepers.unwrap_or_else(|| panic!("no keeper below {pid} among {all:#?}"))
        };
        let pid = if self == Self::Keeper { keeper() } else { *pid };
        Pid::from_raw(pid).expect("a process id")
    }
}

fn children_of(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    children
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn is_turn(call: &Call, turn: Option<usize>) -> bool {
    call.rule.as_deref() == Some("sub-agent") && turn.is_some() && call.turn == turn
}

fn until_step(stage: &Stage, step: &str) {
    until(
        || steps(stage).iter().any(|row| row.step["step"] == step),
        || format!("never {step}: {:#?}", steps(stage)),
    );
}

fn steps(stage: &Stage) -> Vec<JournalRow> {
    stage.audit.rows_so_far()
}

#[test]
fn a_seed_is_a_storm_and_thirty_have_every_pair_of_fault_and_victim() {
    let mut pairs = std::collections::BTreeSet::new();
    for seed in 0..30 {
        let storm = Storm::of(seed, Version::ALL[0]);
        let again = Storm::of(seed, Version::ALL[0]);
        assert_eq!(format!("{storm:?}"), format!("{again:?}"));
        let ill: Value = json!(format!("{:?}", storm.ill.map(|(_, ill)| ill)));
        pairs.insert(format!("{ill} {:?}", storm.victim()));
    }
    assert_eq!(pairs.len(), 30);
}
