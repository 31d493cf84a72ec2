//! Holding a program by its process group, for Unix systems that are not Linux. Weaker, and it says so.
//!
//! There is no reaper and no way to see the environment of others: what starts a session of its own escapes, and
//! when this process is killed nobody stops the group. The proof never claims that there is no child left.
//! Compiled and tested on Linux; not proven on any other system.

use super::contained::{Asked, ExitFacts, GRACE_UNSAID, ORDERS_MAX, Running, Streams};
use super::spec::{ContainmentSetting, ProcessSpec, StartError};
#[cfg(not(target_os = "linux"))]
use impresario_policies::domain::RunId;
use impresario_policies::domain::{Containment, Proof};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
#[cfg(not(target_os = "linux"))]
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// The variable that marks the processes of a run.
pub const RUN_MARKER: &str = "IMPRESARIO_RUN";
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
const DYING_WITHIN: Duration = Duration::from_secs(2);

/// What a sweep did and saw: nothing, on a system that shows no environment of others.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// How many processes were killed.
    pub killed: u32,
    /// How many were still there when the time was over.
    pub processes_left: u32,
}

/// Nothing can be found by its mark here, so nothing is swept.
#[cfg(not(target_os = "linux"))]
pub fn sweep_stale(
    _is_run_alive: &dyn Fn(&RunId) -> bool,
    _within: Duration,
) -> BTreeMap<RunId, SweepReport> {
    BTreeMap::new()
}

/// Nothing can be found by its mark here, and the proof says that nobody looked.
#[cfg(not(target_os = "linux"))]
pub async fn contain(_run: RunId, _grace: Duration, _last: Option<Proof>) -> Proof {
    Proof {
        method: Containment::ProcessGroup,
        no_children: false,
        processes_left: 0,
    }
}

/// The same for one part.
#[cfg(not(target_os = "linux"))]
pub async fn contain_part(run: RunId, _part: super::Part, grace: Duration) -> Proof {
    contain(run, grace, None).await
}

/// Starts a program as the leader of a process group of its own.
pub(super) async fn start(spec: ProcessSpec) -> Result<(Running, Streams), StartError> {
    if spec.containment == ContainmentSetting::Namespace {
        return Err(StartError::NoNamespace {
            why: "PID namespaces exist on Linux only".to_string(),
        });
    }
    if let Err(source) = std::fs::read_dir(&spec.working_directory) {
        return Err(StartError::WorkingDirectory {
            path: spec.working_directory,
            source,
        });
    }
    let spawned = Command::new(&spec.program)
        .args(&spec.arguments)
        .env_clear()
        .envs(&spec.environment)
        .env(RUN_MARKER, spec.mark().to_string())
        .current_dir(&spec.working_directory)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|source| refused(&spec, source))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ((Some(stdin), Some(stdout), Some(stderr)), Some(id)) = (streams, child.id()) else {
        return Err(StartError::System {
            what: "pipes",
            source: io::ErrorKind::BrokenPipe.into(),
        });
    };
    let (orders, orders_received) = mpsc::channel(ORDERS_MAX);
    let (exited, exit) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    tokio::spawn(async move {
        let proof = Group {
            child,
            leader: Pid::from_raw(id as i32),
        }
        .attend(orders_received, exited)
        .await;
        let _ = ended.send(proof);
    });
    let running = Running {
        pid: Some(id as i32),
        containment: Containment::ProcessGroup,
        orders,
        exited: exit,
        ended: end,
    };
    Ok((
        running,
        Streams {
            stdin,
            stdout,
            stderr,
        },
    ))
}

fn refused(spec: &ProcessSpec, source: io::Error) -> StartError {
    let program = spec.program.clone();
    match source.kind() {
        io::ErrorKind::NotFound => StartError::ProgramNotFound { program },
        _ => StartError::ProgramNotExecutable { program, source },
    }
}

struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    async fn attend(
        mut self,
        mut orders: mpsc::Receiver<Asked>,
        exited: oneshot::Sender<ExitFacts>,
    ) -> Proof {
        let mut exited = Some(exited);
        let mut kill_at: Option<Instant> = None;
        let mut owned = true;
        while exited.is_some() {
            tokio::select! { biased;
                status = self.child.wait() => {
                    let status = status.ok();
                    let code = status.and_then(|status| status.code());
                    let signal = status.and_then(|status| status.signal());
                    let _ = exited.take().map(|exited| exited.send(ExitFacts { code, signal, ..ExitFacts::default() }));
                }
                order = orders.recv(), if owned => {
                    owned = order.is_some();
                    let grace = match order {
                        // Dropping the question says that nobody can look here.
                        Some(Asked::Look(_)) => continue,
                        Some(Asked::Stop(grace)) => grace,
                        None => GRACE_UNSAID,
                    };
                    self.signal(Signal::TERM);
                    let asked = Instant::now() + grace;
                    kill_at = Some(kill_at.map_or(asked, |earlier| earlier.min(asked)));
                }
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    self.signal(Signal::KILL);
                    kill_at = Some(Instant::now() + BETWEEN_LOOKS);
                }
            }
        }
        self.empty().await
    }

    /// The leader is gone; the rest of the group goes with it.
    async fn empty(&self) -> Proof {
        let until = Instant::now() + DYING_WITHIN;
        while self.is_populated() && Instant::now() < until {
            self.signal(Signal::KILL);
            sleep(BETWEEN_LOOKS).await;
        }
        let processes_left = u32::from(self.is_populated());
        Proof {
            method: Containment::ProcessGroup,
            no_children: false,
            processes_left,
        }
    }

    fn is_populated(&self) -> bool {
        self.leader
            .is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    fn signal(&self, signal: Signal) {
        // A group that is gone already is what was wanted.
        let _ = self.leader.map(|leader| kill_process_group(leader, signal));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;
    use impresario_policies::domain::RunId;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use tokio::io::{AsyncBufReadExt, BufReader};

    #[tokio::test]
    async fn a_stubborn_group_is_killed_after_the_grace() {
        let script = "trap '' TERM; sleep 60 & echo ready; wait; wait";
        let spec = ProcessSpec {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".to_string(), script.to_string()],
            environment: BTreeMap::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]),
            working_directory: PathBuf::from("/"),
            run: RunId::new(1, fastrand::u64(..)),
            part: Part::SubAgent,
            containment: ContainmentSetting::Auto,
            keeper: PathBuf::new(),
        };
        let (running, streams) = start(spec).await.expect("a shell");
        let mut line = String::new();
        BufReader::new(streams.stdout)
            .read_line(&mut line)
            .await
            .expect("a line");
        assert_eq!(line, "ready\n");

        running
            .orders
            .try_send(Asked::Stop(Duration::from_millis(30)))
            .expect("an order");

        let proof = running.ended.await.expect("a proof");
        let expected = Proof {
            method: Containment::ProcessGroup,
            no_children: false,
            processes_left: 0,
        };
        assert_eq!(proof, expected);
        let exit = running.exited.await.expect("an exit");
        assert_eq!(
            exit,
            ExitFacts {
                code: None,
                signal: Some(9),
                ..ExitFacts::default()
            }
        );
    }
}
