//! Nothing outlives its run (P4), with real processes: every way to leave one behind, every way to be killed.
//!
//! A test gives all its processes an argument that no other process has, and asks the operating system for them.
#![cfg(target_os = "linux")]

#[path = "../audit/mod.rs"]
mod audit;
mod context_mcp;
mod full_disk;

use futures_util::FutureExt;
use impresario_actors::processes::{
    ContainedProcess, ContainmentSetting, ExitFacts, Part, ProcessSpec, StartError, Streams, Sweep,
    SweepReport, contain, marked_processes, sweep, sweep_stale,
};
use impresario_policies::domain::{Containment, Proof, RunId};
use impresario_test_support::waiting::until;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};

const KEEPER: &str = env!("CARGO_BIN_EXE_impresario-keeper");
/// Nothing here is measured; this only keeps a broken promise from lasting for ever.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(100);

/// Ends when it is given a line, and not when nobody is there to give one. Leaves behind what it started: one of every
/// kind that outlives a careless parent: plain, its own session, daemon, chain, deaf, frozen, and two
/// without environment, one of them in a session of its own.
const ORPHANS: &str = r#"
    sleep "$NAP" &
    setsid sleep "$NAP" &
    (setsid sh -c 'sleep "$0" & true' "$NAP" &)
    sh -c 'sh -c "sleep $0; true" "$0"; true' "$NAP" &
    sh -c 'trap "" TERM INT HUP; sleep "$0"; true' "$NAP" &
    env -i setsid sleep "$NAP" &
    env -i nohup sleep "$NAP" &
    sh -c 'kill -STOP $$; sleep "$0"' "$NAP" &
    echo ready
    until read -r _; do sleep 0.1; done
"#;
/// The shell itself carries the argument too, and so do the two shells of the chain, the deaf and the frozen one.
const ORPHANS_SHELLS: usize = 5;
/// All but the frozen one sleep.
const ORPHANS_SLEEPERS: usize = 7;
const ORPHANS_COUNT: usize = ORPHANS_SHELLS + ORPHANS_SLEEPERS;

/// A run with the argument that marks its processes for the eyes of a test.
struct Scene {
    run: RunId,
    nap: String,
}

impl Scene {
    fn new() -> Self {
        let chance = fastrand::u64(..);
        Self {
            run: RunId::new(1, chance),
            nap: format!("300.{:012}", chance % 1_000_000_000_000),
        }
    }

    fn spec(&self, containment: ContainmentSetting, script: &str) -> ProcessSpec {
        let path = "/usr/local/bin:/usr/bin:/bin".to_string();
        ProcessSpec {
            program: PathBuf::from("sh"),
            arguments: ["-c", script, "sh", &self.nap].map(str::to_string).to_vec(),
            environment: BTreeMap::from([("PATH".to_string(), path), ("NAP".to_string(), self.nap.clone())]),
            working_directory: PathBuf::from("/"),
            run: self.run.clone(),
            part: Part::SubAgent,
            containment,
            keeper: PathBuf::from(KEEPER),
        }
    }

    /// Processes that are alive and have the argument, as the operating system lists them.
    fn living(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("a process table").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            if command.contains(&self.nap) && !is_ended(pid) {
                found.push((pid, command));
            }
        }
        found
    }

    fn wait_for(&self, shells: usize, sleepers: usize) {
        let is_so = || {
            let living = self.living();
            let sleeping = living
                .iter()
                .filter(|(_, command)| command.starts_with("sleep "))
                .count();
            (living.len() - sleeping, sleeping) == (shells, sleepers)
        };
        until(is_so, || {
            format!("{shells} shells and {sleepers} sleepers: {:#?}", self.living())
        });
    }

    /// Until each of them has become what it is going to be.
    fn wait_for_orphans(&self) {
        self.wait_for(ORPHANS_SHELLS, ORPHANS_SLEEPERS);
    }

    fn keepers(&self) -> Vec<i32> {
        let marked = marked_processes().into_iter();
        marked
            .filter(|marked| marked.run == self.run && marked.is_keeper)
            .map(|marked| marked.pid)
            .collect()
    }

    fn assert_nothing_left(&self) {
        assert_eq!(self.living(), vec![]);
        assert_eq!(self.keepers(), Vec::<i32>::new());
        assert!(marked_processes().iter().all(|marked| marked.run != self.run));
    }
}

impl Scene {
    /// The written limit of a keeper without a namespace: when it is killed itself, what has neither the mark nor its
    /// session is out of sight; and for a later runtime, that does not know the session, what has not the mark.
    fn assert_only_the_traceless_are_left(&self, count: usize) {
        let left: Vec<String> = self.living().into_iter().map(|(_, command)| command).collect();
        assert_eq!(left, vec![format!("sleep {} ", self.nap); count]);
        assert_eq!(self.keepers(), Vec::<i32>::new());
        assert!(marked_processes().iter().all(|marked| marked.run != self.run));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What a failing test leaves is nobody's but its own.
        for (pid, _) in self.living() {
            signal(pid, Signal::KILL);
        }
        sweep(
            &Sweep {
                run: self.run.clone(),
                part: None,
                session: None,
            },
            Duration::from_secs(1),
        );
    }
}

fn stat_field(pid: i32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(field)
        .map(str::to_string)
}

fn is_ended(pid: i32) -> bool {
    matches!(stat_field(pid, 0).as_deref(), None | Some("Z" | "X"))
}

fn signal(pid: i32, signal: Signal) {
    let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
}

/// Both ways to hold, where the system gives namespaces; a system that does not is told of.
async fn holds() -> Vec<(ContainmentSetting, Containment)> {
    let mut holds = vec![(ContainmentSetting::Keeper, Containment::Keeper)];
    if gives_namespaces().await {
        holds.push((ContainmentSetting::Namespace, Containment::PidNamespace));
    }
    holds
}

async fn gives_namespaces() -> bool {
    let scene = Scene::new();
    match ContainedProcess::start(scene.spec(ContainmentSetting::Namespace, "true")).await {
        Ok((process, _)) => ended(&process).await.no_children,
        Err(StartError::NoNamespace { why }) => {
            eprintln!("not tested here: this system gives no PID namespace ({why})");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Starts a script and waits for its first line, `ready`.
async fn start_ready(spec: ProcessSpec) -> (ContainedProcess, Streams) {
    let (process, mut streams) = ContainedProcess::start(spec).await.expect("it starts");
    let mut line = [0; 6];
    streams.stdout.read_exact(&mut line).await.expect("a line");
    assert_eq!(&line, b"ready\n");
    (process, streams)
}

async fn ended(process: &ContainedProcess) -> Proof {
    tokio::time::timeout(LONG, process.ended())
        .await
        .expect("it never ended")
}

async fn exited(process: &ContainedProcess) -> ExitFacts {
    tokio::time::timeout(LONG, process.exited())
        .await
        .expect("the program never ended")
}

fn empty(method: Containment) -> Proof {
    Proof {
        method,
        no_children: true,
        processes_left: 0,
    }
}

#[tokio::test]
async fn a_stop_ends_every_kind_of_orphan_and_proves_it() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let (process, _streams) = start_ready(scene.spec(setting, ORPHANS)).await;
        scene.wait_for_orphans();
        assert_eq!(process.containment(), method);

        let proof = process.stop(SHORT).await;

        assert_eq!(proof, empty(method));
        scene.assert_nothing_left();
        assert_eq!(
            exited(&process).await,
            ExitFacts {
                code: None,
                signal: Some(15),
                ..ExitFacts::default()
            }
        );
        assert_eq!(process.stop(LONG).await, proof, "a second stop says the same");
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let (process, mut streams) = start_ready(scene.spec(setting, ORPHANS)).await;
        scene.wait_for_orphans();

        streams.stdin.write_all(b"go\n").await.expect("it reads");

        assert_eq!(
            exited(&process).await,
            ExitFacts {
                code: Some(0),
                signal: None,
                ..ExitFacts::default()
            }
        );
        assert_eq!(ended(&process).await, empty(method));
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_program_that_ignores_the_question_is_killed_after_the_grace() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let script = "trap '' TERM; echo ready; while :; do sleep \"$NAP\"; done";
        let (process, _streams) = start_ready(scene.spec(setting, script)).await;
        scene.wait_for(1, 1);

        assert_eq!(process.stop(SHORT).await, empty(method));

        assert_eq!(
            exited(&process).await,
            ExitFacts {
                code: None,
                signal: Some(9),
                ..ExitFacts::default()
            }
        );
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_program_that_obeys_is_not_killed() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let (process, _streams) = start_ready(scene.spec(setting, script)).await;

        assert_eq!(process.stop(LONG).await, empty(method));

        assert_eq!(
            exited(&process).await,
            ExitFacts {
                code: Some(7),
                signal: None,
                ..ExitFacts::default()
            }
        );
    }
}

#[tokio::test]
async fn the_shortest_grace_counts() {
    let scene = Scene::new();
    let script = "trap '' TERM; echo ready; while :; do sleep \"$NAP\"; done";
    let (process, _streams) = start_ready(scene.spec(ContainmentSetting::Keeper, script)).await;

    let (patient, impatient) = tokio::join!(process.stop(Duration::from_secs(3_000)), process.stop(SHORT));

    assert_eq!(
        (patient, impatient),
        (empty(Containment::Keeper), empty(Containment::Keeper))
    );
    scene.assert_nothing_left();
}

#[tokio::test]
async fn a_storm_of_daemons_does_not_outrun_the_keeper() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        // Each generation tells of itself, starts the next one and ends, and none of them waits for anything: whoever
        // lists processes may never meet one.
        let script =
            "trap '' TERM; echo ready; storm() { echo; storm & }; storm; storm; storm; storm; read -r _";
        let (process, mut streams) = start_ready(scene.spec(setting, script)).await;
        let mut generations = [0; 400];
        let many = tokio::time::timeout(LONG, streams.stdout.read_exact(&mut generations)).await;
        many.expect("they go on").expect("their lines");

        assert_eq!(process.stop(SHORT).await, empty(method));

        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn dropping_stops_everything_without_waiting() {
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let (process, streams) = start_ready(scene.spec(setting, ORPHANS)).await;
        scene.wait_for_orphans();

        drop((process, streams));

        until_empty(&scene).await;
        scene.assert_nothing_left();
    }
}

async fn until_empty(scene: &Scene) {
    let until = Instant::now() + LONG;
    while !(scene.living().is_empty() && scene.keepers().is_empty()) {
        assert!(
            Instant::now() < until,
            "still there: {:?} {:?}",
            scene.living(),
            scene.keepers()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_nothing() {
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let start = ContainedProcess::start(scene.spec(setting, ORPHANS));
        // Looked at once and dropped: the keeper is started and nothing is heard of it yet.
        assert!(start.now_or_never().is_none());

        until_empty(&scene).await;
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_killed_keeper_is_stood_in_for() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let (process, _streams) = start_ready(scene.spec(setting, ORPHANS)).await;
        scene.wait_for_orphans();
        let keeper = scene.keepers()[0];

        signal(keeper, Signal::KILL);

        let seen_empty = Proof {
            method,
            no_children: false,
            processes_left: 0,
        };
        assert_eq!(
            ended(&process).await,
            seen_empty,
            "nobody saw ECHILD, and the sweep found nothing more"
        );
        let died = ExitFacts {
            keeper_died: true,
            ..ExitFacts::default()
        };
        assert_eq!(exited(&process).await, died);
        if setting == ContainmentSetting::Namespace {
            scene.assert_nothing_left();
        } else {
            scene.assert_only_the_traceless_are_left(1);
        }
    }
}

#[tokio::test]
async fn the_kernel_asks_the_program_of_a_killed_keeper_to_end() {
    let scene = Scene::new();
    let script = "trap '' HUP; trap 'exit' TERM; echo ready; while :; do sleep 0.01; done";
    let (process, _streams) = start_ready(scene.spec(ContainmentSetting::Keeper, script)).await;

    signal(scene.keepers()[0], Signal::KILL);

    // Nothing of ours can run while this one thread waits.
    until(
        || scene.living().is_empty(),
        || format!("it ends: {:?}", scene.living()),
    );
    assert_eq!(ended(&process).await.processes_left, 0);
}

#[tokio::test]
async fn a_frozen_keeper_is_given_up_and_stood_in_for() {
    let scene = Scene::new();
    let (process, _streams) = start_ready(scene.spec(ContainmentSetting::Keeper, ORPHANS)).await;
    scene.wait_for_orphans();
    signal(scene.keepers()[0], Signal::STOP);

    let proof = process.stop(SHORT).await;

    assert_eq!(
        proof,
        Proof {
            method: Containment::Keeper,
            no_children: false,
            processes_left: 0
        }
    );
    scene.assert_only_the_traceless_are_left(1);
}

/// Another process of ours: starts the orphans and waits to be killed. In any other it returns at once.
async fn live_to_be_killed() {
    let Ok(run) = env::var("TEST_RUN") else { return };
    let scene = Scene {
        run: RunId::try_from(run).expect("a run id"),
        nap: env::var("TEST_NAP").expect("a nap"),
    };
    let setting = match env::var("TEST_HOLD").as_deref() {
        Ok("namespace") => ContainmentSetting::Namespace,
        _ => ContainmentSetting::Keeper,
    };
    let (process, _streams) = start_ready(scene.spec(setting, ORPHANS)).await;
    ended(&process).await;
    std::process::exit(0);
}

fn start_runtime(scene: &Scene, setting: ContainmentSetting) -> Child {
    let hold = if setting == ContainmentSetting::Namespace {
        "namespace"
    } else {
        "keeper"
    };
    let runtime = Command::new(env::current_exe().expect("this test"))
        .args(["--exact", "a_killed_runtime_takes_everything_with_it"])
        .env("TEST_RUN", scene.run.as_str())
        .env("TEST_NAP", &scene.nap)
        .env("TEST_HOLD", hold)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("this test again");
    scene.wait_for_orphans();
    runtime
}

#[tokio::test]
async fn a_killed_runtime_takes_everything_with_it() {
    // Started by these tests as another process, this one is the runtime that they kill.
    live_to_be_killed().await;
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let mut runtime = start_runtime(&scene, setting);

        runtime.kill().expect("kill the runtime");
        runtime.wait().expect("reap the runtime");

        until_empty(&scene).await;
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_frozen_runtime_is_not_a_dead_one() {
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let mut runtime = start_runtime(&scene, setting);
        let id = runtime.id() as i32;

        signal(id, Signal::STOP);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(scene.living().len(), ORPHANS_COUNT, "it may thaw");

        runtime.kill().expect("kill the runtime");
        runtime.wait().expect("reap the runtime");
        until_empty(&scene).await;
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn killed_with_its_keeper_a_namespace_is_empty_at_once_and_a_keeper_leaves_strays_to_the_next_start() {
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let mut runtime = start_runtime(&scene, setting);

        let keepers = scene.keepers();
        signal(keepers[0], Signal::STOP);
        runtime.kill().expect("kill the runtime");
        signal(keepers[0], Signal::KILL);
        runtime.wait().expect("reap the runtime");

        if setting == ContainmentSetting::Keeper {
            until(
                || scene.keepers().is_empty(),
                || format!("it dies: {:?}", scene.keepers()),
            );
            let strays = marked_processes()
                .iter()
                .filter(|marked| marked.run == scene.run)
                .count();
            assert!(strays > 0, "nobody is there to stop them");
            let reports = sweep_stale(&|run| *run != scene.run, LONG);
            let report = reports.get(&scene.run).copied().expect("a report on the run");
            assert_eq!(report.processes_left, 0);
            assert!(report.killed > 0);
            scene.assert_only_the_traceless_are_left(2);
        } else {
            until_empty(&scene).await;
            scene.assert_nothing_left();
        }
    }
}

#[tokio::test]
async fn a_look_tells_a_program_that_is_alone_from_one_that_left_something_and_stops_neither() {
    for (setting, method) in holds().await {
        let scene = Scene::new();
        let script = format!(
            "echo ready; read -r _; setsid sleep {0} >/dev/null 2>&1 & echo left; read -r _; kill $!; wait; echo cleared; read -r _",
            scene.nap
        );
        let (process, mut streams) = start_ready(scene.spec(setting, &script)).await;
        let mut said = [0; 5];
        assert!(process.is_alone().await, "there is the shell and nothing else");
        streams
            .stdin
            .write_all(b"\n")
            .await
            .expect("it reads, so it runs on");
        streams.stdout.read_exact(&mut said).await.expect("a line");
        assert_eq!(&said, b"left\n");
        assert!(
            !process.is_alone().await,
            "what left its session is below it all the same"
        );
        streams
            .stdin
            .write_all(b"\n")
            .await
            .expect("it reads, so it runs on");
        let mut cleared = [0; 8];
        streams.stdout.read_exact(&mut cleared).await.expect("a line");
        assert!(process.is_alone().await, "what ended is not there any more");
        assert_eq!(process.stop(SHORT).await, empty(method));
        assert!(!process.is_alone().await, "nobody is left to look");
        scene.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_worker_ends_by_its_own_mark_and_no_other_of_its_runtime_with_it() {
    let scene = Scene::new();
    let worker = |number| ProcessSpec {
        part: Part::Worker(number),
        ..scene.spec(ContainmentSetting::Keeper, "echo ready; read -r _")
    };
    let (one, _one_streams) = start_ready(worker(1)).await;
    let (two, _two_streams) = start_ready(worker(12)).await;
    one.stop(SHORT).await;
    let left: Vec<_> = marked_processes()
        .into_iter()
        .filter(|marked| marked.run == scene.run)
        .map(|marked| marked.part)
        .collect();
    assert_eq!(left, [Part::Worker(12); 2], "the other and its keeper");
    // Whoever contains their runtime ends all of them.
    drop(two);
    let proof = contain(scene.run.clone(), LONG, None).await;
    assert_eq!(proof.processes_left, 0);
    scene.assert_nothing_left();
}

#[tokio::test]
async fn a_sweep_of_a_living_run_of_somebody_else_touches_nothing() {
    let scene = Scene::new();
    let (process, _streams) = start_ready(scene.spec(ContainmentSetting::Keeper, ORPHANS)).await;
    scene.wait_for_orphans();

    assert_eq!(sweep_stale(&|_| true, Duration::from_secs(1)), BTreeMap::new());
    let other = Sweep {
        run: RunId::new(2, fastrand::u64(..)),
        part: None,
        session: None,
    };
    assert_eq!(sweep(&other, Duration::from_secs(1)), SweepReport::default());

    assert_eq!(scene.living().len(), ORPHANS_COUNT);
    process.stop(SHORT).await;
}

#[tokio::test]
async fn the_program_gets_its_streams_its_place_and_its_environment_and_nothing_else() {
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let place = tempfile::tempdir().expect("a directory").keep();
        let mut spec = scene.spec(
            setting,
            "read -r line; echo \"$line\"; echo complaint >&2; pwd; env; ls /proc/self/fd; true",
        );
        spec.working_directory = place.clone();
        let (process, mut streams) = ContainedProcess::start(spec).await.expect("it starts");
        streams.stdin.write_all(b"hello\n").await.expect("it reads");
        drop(streams.stdin);
        let (mut said, mut complained) = (String::new(), String::new());
        streams.stdout.read_to_string(&mut said).await.expect("text");
        streams
            .stderr
            .read_to_string(&mut complained)
            .await
            .expect("text");
        ended(&process).await;
        fs::remove_dir(&place).expect("nothing in it");

        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("hello"));
        assert_eq!(lines.next(), place.to_str());
        let rest: Vec<&str> = lines.collect();
        let (environment, descriptors): (Vec<&str>, Vec<&str>) =
            rest.into_iter().partition(|line| line.contains('='));
        assert!(
            environment.contains(&format!("IMPRESARIO_RUN={}", scene.run).as_str()),
            "{environment:?}"
        );
        let known = [
            "IMPRESARIO_RUN=",
            "PATH=",
            "NAP=",
            "PWD=",
            "OLDPWD=",
            "SHLVL=",
            "_=",
        ];
        let is_known = |line: &&str| known.iter().any(|name| line.starts_with(name));
        assert!(environment.iter().all(is_known), "{environment:?}");
        assert_eq!(
            descriptors,
            descriptors_of_any_child(),
            "what somebody leaked into us, and no more"
        );
        assert_eq!(complained, "complaint\n");
    }
}

#[tokio::test]
async fn a_program_sees_its_own_numbers_and_has_the_rights_of_its_user_and_no_more() {
    let rights = |status: &str| {
        let lines = status
            .lines()
            .filter(|line| line.starts_with("Cap") && !line.starts_with("CapBnd"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let own = rights(&fs::read_to_string("/proc/self/status").expect("my status"));
    let ourselves = env::current_exe().expect("this test");
    for (setting, _) in holds().await {
        let scene = Scene::new();
        let script = "read -r pid _ < /proc/self/stat; echo $$ $pid; id -u; cat /proc/self/status /proc/[0-9]*/cmdline; true";
        let (_process, mut streams) = ContainedProcess::start(scene.spec(setting, script))
            .await
            .expect("it starts");
        let mut said = Vec::new();
        streams.stdout.read_to_end(&mut said).await.expect("its output");
        let said = String::from_utf8_lossy(&said);
        let mut lines = said.lines();
        let (own_number, seen_number) = lines
            .next()
            .and_then(|line| line.split_once(' '))
            .expect("two numbers");
        assert_eq!(own_number, seen_number);
        let user = rustix::process::getuid().as_raw().to_string();
        assert_eq!(lines.next(), Some(user.as_str()));
        assert_eq!(
            said.contains(ourselves.to_str().expect("text")),
            setting == ContainmentSetting::Keeper,
            "whether this test is in its sight"
        );
        assert_eq!(rights(&said), own);
    }
}

#[tokio::test]
async fn what_a_dead_runtime_left_is_contained_by_the_next_one() {
    let scene = Scene::new();
    let mut runtime = start_runtime(&scene, ContainmentSetting::Keeper);
    let keeper = scene.keepers()[0];
    signal(keeper, Signal::STOP);
    runtime.kill().expect("kill the runtime");
    runtime.wait().expect("reap the runtime");

    let proof = contain(scene.run.clone(), SHORT, None).await;

    assert_eq!(
        proof,
        Proof {
            method: Containment::Keeper,
            no_children: false,
            processes_left: 0
        }
    );
    scene.assert_only_the_traceless_are_left(2);
}

#[tokio::test]
async fn containing_what_was_dropped_waits_for_its_keeper_and_keeps_what_it_saw() {
    let scene = Scene::new();
    let (process, streams) = start_ready(scene.spec(ContainmentSetting::Keeper, ORPHANS)).await;
    scene.wait_for_orphans();
    drop((process, streams));

    let last = empty(Containment::Keeper);
    let proof = contain(scene.run.clone(), LONG, Some(last.clone())).await;

    assert_eq!(proof, last);
    scene.assert_nothing_left();
}

fn descriptors_of_any_child() -> Vec<String> {
    let listed = Command::new("sh")
        .args(["-c", "ls /proc/self/fd; true"])
        .stdin(Stdio::null())
        .output();
    let listed = String::from_utf8(listed.expect("a shell").stdout).expect("numbers");
    listed.lines().map(str::to_string).collect()
}

#[tokio::test]
async fn the_end_of_its_output_is_seen_although_the_keeper_lives() {
    let scene = Scene::new();
    let script = "trap '' HUP; echo bye; exec >&- 2>&-; read -r _";
    let (process, mut streams) = ContainedProcess::start(scene.spec(ContainmentSetting::Keeper, script))
        .await
        .expect("it starts");
    let mut said = String::new();
    streams
        .stdout
        .read_to_string(&mut said)
        .await
        .expect("text, and its end");
    assert_eq!(said, "bye\n");
    assert_eq!(scene.keepers().len(), 1, "the keeper is still there");
    drop(streams.stdin);
    assert_eq!(ended(&process).await, empty(Containment::Keeper));
}

#[tokio::test]
async fn a_large_environment_and_many_arguments_arrive() {
    let scene = Scene::new();
    let mut spec = scene.spec(ContainmentSetting::Auto, "echo ${#BIG} $#");
    for number in 0..40 {
        spec.environment
            .insert(format!("BIG{number}"), "x".repeat(10_000));
    }
    spec.environment.insert("BIG".to_string(), "ü".repeat(30_000));
    spec.arguments.extend((0..5_000).map(|number| number.to_string()));
    let (process, streams) = ContainedProcess::start(spec).await.expect("it starts");
    let mut line = String::new();
    tokio::io::BufReader::new(streams.stdout)
        .read_line(&mut line)
        .await
        .expect("a line");
    assert!(line == "60000 5001\n" || line == "30000 5001\n", "{line}");
    assert_eq!(ended(&process).await.processes_left, 0);
}

async fn refusal(change: impl Fn(&mut ProcessSpec)) -> String {
    let scene = Scene::new();
    let mut sentences = Vec::new();
    for (setting, _) in holds().await {
        let mut spec = scene.spec(setting, "echo ready");
        change(&mut spec);
        let error = ContainedProcess::start(spec)
            .await
            .expect_err("it must not start");
        sentences.push(error.to_string());
        scene.assert_nothing_left();
    }
    sentences.dedup();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    sentences.remove(0)
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let sentence = refusal(|spec| spec.program = PathBuf::from("no-such-program")).await;
    assert!(
        sentence.starts_with("program no-such-program not found"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_named() {
    let sentence = refusal(|spec| spec.program = PathBuf::from("/etc/passwd")).await;
    assert!(
        sentence.starts_with("program /etc/passwd cannot be executed (Permission denied"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_working_directory_that_is_not_there_is_named() {
    let sentence = refusal(|spec| spec.working_directory = PathBuf::from("/no/such/place")).await;
    assert!(
        sentence.starts_with("working directory /no/such/place cannot be entered (No such"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_keeper_that_is_not_there_is_named() {
    let sentence = refusal(|spec| spec.keeper = PathBuf::from("/no/such/keeper")).await;
    assert!(
        sentence.starts_with("no `impresario-keeper` found at /no/such/keeper"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_keeper_that_was_not_found_is_said_to_be_missing() {
    let sentence = refusal(|spec| spec.keeper = PathBuf::new()).await;
    assert!(
        sentence.starts_with("no `impresario-keeper` found beside the program or in PATH"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_keeper_that_may_not_be_executed_is_named() {
    let sentence = refusal(|spec| spec.keeper = PathBuf::from("/etc/passwd")).await;
    assert!(
        sentence.starts_with("the keeper /etc/passwd cannot be run (Permission denied"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_keeper_that_is_none_is_named() {
    let sentence = refusal(|spec| spec.keeper = PathBuf::from("/bin/true")).await;
    assert!(sentence.starts_with("the keeper /bin/true ended"), "{sentence}");
}

#[test]
fn the_keeper_says_what_it_is_to_somebody_who_starts_it_by_hand() {
    let said = Command::new(KEEPER).output().expect("it starts");
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("`impresario` starts it by itself"));
}

#[tokio::test]
async fn a_keeper_is_small() {
    let scene = Scene::new();
    let (process, _streams) =
        start_ready(scene.spec(ContainmentSetting::Keeper, "echo ready; read -r _")).await;
    let status = fs::read_to_string(format!("/proc/{}/status", scene.keepers()[0])).expect("its status");
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("a size");
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    process.stop(SHORT).await;
    eprintln!("a keeper has {kilobytes} kB resident");
    assert!(kilobytes < 8_000, "{kilobytes} kB");
}
