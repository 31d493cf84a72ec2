//! How long it takes from a stop until nothing is left, with the proof in hand, and what a hold costs at the start.
//!
//! The tree is a shell with three sleepers, one of them in a session of its own. Once it obeys, once it and all below
//! it ignore SIGTERM. The baseline is the same shell without a keeper, started, killed and reaped in the same round;
//! it leaves its three sleepers behind, which is why there is a keeper. After every stop the process table is looked
//! at, and every proof must say that nothing is left.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    on_linux::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("containment is measured on Linux only");
}

#[cfg(target_os = "linux")]
mod on_linux {
    use impresario_actors::processes::{
        ContainedProcess, ContainmentSetting, Part, ProcessSpec, Sweep, marked_processes, sweep,
    };
    use impresario_policies::domain::RunId;
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;
    use std::process::{Command, ExitCode, Stdio};
    use std::time::{Duration, Instant};
    use tokio::io::AsyncReadExt;

    const KEEPER: &str = env!("CARGO_BIN_EXE_impresario-keeper");
    const OBEYING: &str = "sleep 60 & sleep 60 & setsid sleep 60 & echo ready; wait";
    const IGNORING: &str = "trap '' TERM; sleep 60 & sleep 60 & setsid sleep 60 & echo ready; wait";
    const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
    const ROUNDS: usize = 40;
    const GRACE: Duration = Duration::from_millis(200);
    const AFTER_GRACE_MAX: Duration = Duration::from_millis(100);

    pub fn run() -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a tokio runtime").block_on(compare())
    }

    async fn compare() -> ExitCode {
        let mut bare = Samples::default();
        let mut rows = Vec::new();
        for setting in [ContainmentSetting::Keeper, ContainmentSetting::Namespace] {
            for (name, script, allowed) in [("obeys", OBEYING, Duration::ZERO), ("ignores", IGNORING, GRACE)]
            {
                let mut held = Samples::default();
                for _ in 0..ROUNDS {
                    bare.push(bare_round(script));
                    match held_round(setting, script).await {
                        Some(round) => held.push(round),
                        None => println!("{setting:?}: not given by this system"),
                    }
                    if held.stops.is_empty() {
                        break;
                    }
                }
                rows.push((format!("{setting:?}, {name}"), held, allowed));
            }
        }
        report(bare, rows)
    }

    fn report(mut bare: Samples, rows: Vec<(String, Samples, Duration)>) -> ExitCode {
        let (bare_start, bare_stop, _) = bare.medians();
        println!(
            "bare shell, killed   : start {bare_start:>8.1?}  stop {bare_stop:>8.1?}  (leaves 3 behind)"
        );
        let mut is_kept = true;
        for (name, mut held, allowed) in rows.into_iter().filter(|(_, held, _)| !held.stops.is_empty()) {
            let (start, stop, worst) = held.medians();
            let ratio = start.as_secs_f64() / bare_start.as_secs_f64();
            let after = stop.saturating_sub(allowed);
            is_kept &= after <= AFTER_GRACE_MAX;
            println!(
                "{name:<21}: start {start:>8.1?} ({ratio:.1}x)  stop {stop:>8.1?}, worst {worst:>8.1?}: \
                 {after:.1?} after a grace of {allowed:?}"
            );
        }
        println!(
            "target: everything dead, and seen to be, within the grace and {AFTER_GRACE_MAX:?}: {} (p50 of {ROUNDS})",
            if is_kept { "kept" } else { "MISSED" }
        );
        if is_kept {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    /// What a round took until the program spoke, and from the stop until it was seen to be over.
    type Round = (Duration, Duration);

    #[derive(Default)]
    struct Samples {
        starts: Vec<Duration>,
        stops: Vec<Duration>,
    }

    impl Samples {
        fn push(&mut self, (start, stop): Round) {
            self.starts.push(start);
            self.stops.push(stop);
        }

        /// The medians of both, and the longest stop.
        fn medians(&mut self) -> (Duration, Duration, Duration) {
            self.starts.sort();
            self.stops.sort();
            let middle = self.stops.len() / 2;
            (
                self.starts[middle],
                self.stops[middle],
                self.stops[self.stops.len() - 1],
            )
        }
    }

    async fn held_round(setting: ContainmentSetting, script: &str) -> Option<Round> {
        let run = RunId::new(3, fastrand::u64(..));
        let spec = ProcessSpec {
            program: PathBuf::from("sh"),
            arguments: vec!["-c".to_string(), script.to_string()],
            environment: BTreeMap::from([("PATH".to_string(), PATH.to_string())]),
            working_directory: PathBuf::from("/"),
            run: run.clone(),
            part: Part::SubAgent,
            containment: setting,
            keeper: PathBuf::from(KEEPER),
        };
        let began = Instant::now();
        let (process, mut streams) = ContainedProcess::start(spec).await.ok()?;
        let mut line = [0; 6];
        streams
            .stdout
            .read_exact(&mut line)
            .await
            .expect("the program speaks");
        let started = began.elapsed();
        assert!(
            marked_processes()
                .iter()
                .filter(|marked| marked.run == run)
                .count()
                >= 4
        );

        let asked = Instant::now();
        let proof = process.stop(GRACE).await;
        let stopped = asked.elapsed();
        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
        assert!(
            marked_processes().iter().all(|marked| marked.run != run),
            "somebody is left"
        );
        Some((started, stopped))
    }

    fn bare_round(script: &str) -> Round {
        let run = RunId::new(3, fastrand::u64(..));
        let began = Instant::now();
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env_clear()
            .env("PATH", PATH)
            .env("IMPRESARIO_RUN", run.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the program speaks");
        let started = began.elapsed();
        let asked = Instant::now();
        child.kill().expect("kill");
        child.wait().expect("reap");
        let stopped = asked.elapsed();
        let left = sweep(
            &Sweep {
                run,
                part: None,
                session: None,
            },
            Duration::from_secs(5),
        );
        assert_eq!(
            (left.killed, left.processes_left),
            (3, 0),
            "the baseline leaves its sleepers behind"
        );
        (started, stopped)
    }
}
