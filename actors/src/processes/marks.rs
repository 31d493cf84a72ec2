//! Finding and ending processes by the mark of their run, where no keeper does it any more.
//!
//! A mark is an environment variable, seen in `/proc/<pid>/environ`. Every signal goes through a pidfd that was opened
//! before the mark was read a second time, so that a number used again by the system never hits a stranger.

use super::looks::LOOKS;
use super::{Mark, Part};
use impresario_policies::domain::{Containment, Proof, RunId};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// In the environment of every process of a run.
pub const RUN_MARKER: &str = "IMPRESARIO_RUN";
/// In the environment of a run's keepers.
pub const KEEPER_MARKER: &str = "IMPRESARIO_KEEPER";

/// An environment is at most this long; the kernel's own limit for arguments and environment is 2 MB by default.
const ENVIRON_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most environments are shorter.
const READ_BYTES: usize = 64 * 1024;
const BETWEEN_SCANS: Duration = Duration::from_millis(2);
/// So long a process is looked at that is in the middle of `exec`. It takes microseconds on an idle machine, but the
/// process may lose its processor there, and wait until it is its turn again.
const EXEC_WITHIN: Duration = Duration::from_secs(2);
/// Fields of `/proc/<pid>/stat`, counted after the name (proc_pid_stat(5) counts the pid as the first).
const STAT_STATE: usize = 0;
const STAT_SESSION: usize = 6 - 3;
const STAT_START_CODE: usize = 26 - 3;
const STAT_ENV_START: usize = 50 - 3;
const STAT_ENV_END: usize = 51 - 3;
const BETWEEN_EXEC_LOOKS: Duration = Duration::from_micros(250);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const CONTAINING_WITHIN: Duration = Duration::from_secs(5);

/// A living process that carries the mark of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    pub pid: i32,
    pub run: RunId,
    /// Which of the run's programs it belongs to.
    pub part: Part,
    /// It is the run's keeper and not something below it.
    pub is_keeper: bool,
}

impl Marked {
    pub(super) fn is_of(&self, run: &RunId, part: Option<Part>) -> bool {
        self.run == *run && part.is_none_or(|part| part == self.part)
    }
}

#[derive(Debug, Clone)]
pub struct Sweep {
    /// Processes with the mark of this run.
    pub run: RunId,
    /// Of this part of it only; none for all of the run.
    pub part: Option<Part>,
    /// And those of this session. Only for a session whose leader is our own dead, unreaped child: the number of any
    /// other may have been given to a stranger.
    pub session: Option<i32>,
}

/// What a sweep did and saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// How many processes were killed.
    pub killed: u32,
    /// How many were still there when the time was over.
    pub processes_left: u32,
}

/// All living processes with a mark that this user may look at, in the order of their ids.
pub fn marked_processes() -> Vec<Marked> {
    let mut found: Vec<Marked> = Vec::new();
    for_each_process(|candidate| found.extend(candidate.mark()));
    found.sort_by_key(|marked| marked.pid);
    found
}

/// Kills what carries the mark until two looks in a row find nothing, or until the time is over. Blocks.
///
/// This process is never killed, even when it carries the mark itself.
pub fn sweep(sweep: &Sweep, within: Duration) -> SweepReport {
    let until = Instant::now() + within;
    let mut killed = BTreeSet::new();
    let mut empty_looks = 0;
    loop {
        let mut found = 0;
        for_each_process(|candidate| {
            if candidate.belongs_to(sweep) {
                found += 1;
                if candidate.kill(sweep) {
                    killed.insert(candidate.pid);
                }
            }
        });
        empty_looks = if found == 0 { empty_looks + 1 } else { 0 };
        if empty_looks == 2 || Instant::now() > until {
            return SweepReport {
                killed: killed.len() as u32,
                processes_left: found,
            };
        }
        std::thread::sleep(BETWEEN_SCANS);
    }
}

/// At start-up: ends what is left of runs whose runtime is gone. Blocks; takes a few milliseconds when there is
/// nothing to do.
///
/// `is_run_alive` must be true also for a run that the caller does not know: it belongs to somebody else.
pub fn sweep_stale(is_run_alive: &dyn Fn(&RunId) -> bool, within: Duration) -> BTreeMap<RunId, SweepReport> {
    let mut reports = BTreeMap::new();
    for marked in marked_processes() {
        if reports.contains_key(&marked.run) || is_run_alive(&marked.run) {
            continue;
        }
        let target = Sweep {
            run: marked.run.clone(),
            part: None,
            session: None,
        };
        let report = sweep(&target, within);
        reports.insert(marked.run, report);
    }
    reports
}

/// Makes sure that nothing is left of a run, and says what was seen.
///
/// A keeper that outlived its runtime, or whose owner was dropped, is already at work; it has `grace` to finish
/// before everything with the mark is killed. `last` is what the keeper of the run's last process reported, if that
/// is known: nobody else can see ECHILD, and the proof claims only what somebody saw.
pub async fn contain(run: RunId, grace: Duration, last: Option<Proof>) -> Proof {
    let processes_left = contain_marked(run, None, grace).await;
    let (method, no_children) = last.map_or((Containment::Keeper, false), |proof| {
        (proof.method, proof.no_children)
    });
    Proof {
        method,
        no_children,
        processes_left,
    }
}

/// The same for one part alone, whose keeper is known to nobody.
pub async fn contain_part(run: RunId, part: Part, grace: Duration) -> Proof {
    Proof {
        method: Containment::Keeper,
        no_children: false,
        processes_left: contain_marked(run, Some(part), grace).await,
    }
}

/// How many were left.
async fn contain_marked(run: RunId, part: Option<Part>, grace: Duration) -> u32 {
    if LOOKS.find_nothing_of(&run, part).await {
        return 0;
    }
    let contained = tokio::task::spawn_blocking(move || wait_and_sweep(run, part, grace)).await;
    // A sweep that broke has seen nothing, and least of all an empty system.
    contained.map_or(1, |report| report.processes_left)
}

fn wait_and_sweep(run: RunId, part: Option<Part>, grace: Duration) -> SweepReport {
    let until = Instant::now() + grace;
    while Instant::now() < until && marked_processes().iter().any(|marked| marked.is_of(&run, part)) {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let whole = Sweep {
        run,
        part,
        session: None,
    };
    sweep(&whole, CONTAINING_WITHIN)
}

/// A process that may be one of those looked for.
#[derive(Clone, Copy)]
struct Candidate {
    pid: i32,
}

fn for_each_process(mut look: impl FnMut(Candidate)) {
    let Ok(entries) = fs::read_dir("/proc") else {
        return;
    };
    let own = getpid().as_raw_nonzero().get();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if pid != own {
            look(Candidate { pid });
        }
    }
}

impl Candidate {
    fn mark(self) -> Option<Marked> {
        let environ = self.environment()?;
        let value = |name: &str| {
            let mut variables = environ.split(|byte| *byte == 0);
            variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        };
        let (value, is_keeper) = match value(RUN_MARKER) {
            Some(run) => (run, false),
            None => (value(KEEPER_MARKER)?, true),
        };
        let Mark { run, part } = std::str::from_utf8(value).ok()?.parse().ok()?;
        let marked = Marked {
            pid: self.pid,
            run,
            part,
            is_keeper,
        };
        self.is_running().then_some(marked)
    }

    fn belongs_to(self, sweep: &Sweep) -> bool {
        let in_session = sweep.session.is_some() && self.session() == sweep.session;
        let is_meant = |marked: Marked| marked.is_of(&sweep.run, sweep.part);
        (in_session && self.is_running()) || self.mark().is_some_and(is_meant)
    }

    /// In the middle of `exec` a process has lost one environment and has not got the next: reading it gives nothing or
    /// fails, and whoever stops there takes a process of the run for a stranger. So it is looked at again until the
    /// program is there.
    fn environment(self) -> Option<Vec<u8>> {
        let until = Instant::now() + EXEC_WITHIN;
        loop {
            match self.read("environ") {
                Ok(environ) if !environ.is_empty() || self.has_no_environment() => return Some(environ),
                Err(error) if Errno::from_io_error(&error) != Some(Errno::IO) => return None,
                Ok(_) | Err(_) if Instant::now() > until => return None,
                Ok(_) | Err(_) => std::thread::sleep(BETWEEN_EXEC_LOOKS),
            }
        }
    }

    /// A thread of the kernel has no program; a program without an environment has an empty place for it. While the
    /// kernel lays the place out it looks empty too, and where the code lies is told only after that: all three come
    /// from one look, since the next may see another program.
    fn has_no_environment(self) -> bool {
        let stat = self.stat().unwrap_or_default();
        let address = |field: usize| stat.get(field)?.parse::<u64>().ok();
        match [STAT_START_CODE, STAT_ENV_START, STAT_ENV_END].map(address) {
            [Some(code), Some(start), Some(end)] if end > 0 => code > 0 && start == end,
            _ => fs::read_link(format!("/proc/{}/exe", self.pid)).is_err(),
        }
    }

    /// The fields after the name, which may hold anything.
    fn stat(self) -> Option<Vec<String>> {
        let stat = String::from_utf8_lossy(&self.read("stat").ok()?).into_owned();
        let (_, after_name) = stat.rsplit_once(')')?;
        Some(after_name.split_whitespace().map(str::to_string).collect())
    }

    fn session(self) -> Option<i32> {
        self.stat()?.get(STAT_SESSION)?.parse().ok()
    }

    fn is_running(self) -> bool {
        let stat = self.stat().unwrap_or_default();
        stat.get(STAT_STATE)
            .is_some_and(|state| state != "Z" && state != "X")
    }

    /// Pins the process first and looks again: a number that the system used again in between is never hit.
    fn kill(self, sweep: &Sweep) -> bool {
        let pinned = Pid::from_raw(self.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let Some(Ok(pidfd)) = pinned else {
            return false;
        };
        if !self.belongs_to(sweep) {
            return false;
        }
        match pidfd_send_signal(&pidfd, Signal::KILL) {
            Ok(()) => true,
            Err(Errno::SRCH) => false,
            Err(error) => {
                tracing::warn!(pid = self.pid, %error, "a marked process cannot be killed");
                false
            }
        }
    }

    /// In as few reads as can be: an `exec` between two of them ends the file early.
    fn read(self, file: &str) -> io::Result<Vec<u8>> {
        let mut file = File::open(format!("/proc/{}/{file}", self.pid))?;
        let mut content = vec![0; READ_BYTES];
        let mut length = 0;
        loop {
            match file.read(&mut content[length..])? {
                0 => break,
                read => length += read,
            }
            if length == content.len() {
                content.resize((2 * length).min(ENVIRON_BYTES_MAX), 0);
            }
        }
        content.truncate(length);
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeper(run: &RunId) -> Child {
        let mut command = Command::new("sleep");
        command
            .arg("60")
            .env(RUN_MARKER, run.as_str())
            .stdin(Stdio::null());
        command.spawn().expect("sleep is everywhere")
    }

    /// Long enough on any machine.
    const LONG: Duration = Duration::from_secs(60);

    /// The mark is there once `exec` has happened, which `spawn` waits for.
    fn pids_of(run: &RunId) -> BTreeSet<i32> {
        marked_processes()
            .into_iter()
            .filter(|marked| marked.run == *run)
            .map(|marked| marked.pid)
            .collect()
    }

    fn pids(children: &[&Child]) -> BTreeSet<i32> {
        children.iter().map(|child| child.id() as i32).collect()
    }

    #[test]
    fn a_process_is_seen_in_the_middle_of_exec_too() {
        // With a thousand variables the kernel takes its time to lay them out.
        let run = RunId::new(1, fastrand::u64(..));
        let directory = tempfile::tempdir().expect("a directory");
        let script = directory.path().join("again");
        fs::write(&script, "#!/bin/sh\nexec /bin/sh \"$0\"\n").expect("write it");
        let mut command = Command::new("/bin/sh");
        command
            .arg(&script)
            .env(RUN_MARKER, run.as_str())
            .envs((0..1_000).map(|number| (format!("VARIABLE_{number}"), "value")))
            .stdin(Stdio::null());
        let mut restless = command.spawn().expect("sh is everywhere");

        let candidate = Candidate {
            pid: restless.id() as i32,
        };
        let seen = (0..20_000).filter(|_| candidate.mark().is_some_and(|marked| marked.run == run));
        let seen = seen.count();

        restless.kill().expect("kill it");
        restless.wait().expect("reap");
        assert_eq!(seen, 20_000);
    }

    #[test]
    fn a_sweep_ends_the_marked_and_nobody_else() {
        let (swept, spared) = (RunId::new(1, fastrand::u64(..)), RunId::new(1, fastrand::u64(..)));
        let (mut one, mut other, mut stranger) = (sleeper(&swept), sleeper(&swept), sleeper(&spared));
        assert_eq!(pids_of(&swept), pids(&[&one, &other]));

        let report = sweep(
            &Sweep {
                run: swept.clone(),
                part: None,
                session: None,
            },
            LONG,
        );

        assert_eq!(
            report,
            SweepReport {
                killed: 2,
                processes_left: 0
            }
        );
        assert_eq!(pids_of(&swept), pids(&[]));
        assert_eq!(pids_of(&spared), pids(&[&stranger]));
        stranger.kill().expect("kill the stranger");
        for child in [&mut one, &mut other, &mut stranger] {
            child.wait().expect("reap");
        }
    }

    #[test]
    fn only_runs_that_are_not_alive_are_stale() {
        let (dead, alive) = (RunId::new(1, fastrand::u64(..)), RunId::new(1, fastrand::u64(..)));
        let (mut left_over, mut working) = (sleeper(&dead), sleeper(&alive));

        let reports = sweep_stale(&|run| *run != dead, LONG);

        assert_eq!(
            reports,
            BTreeMap::from([(
                dead.clone(),
                SweepReport {
                    killed: 1,
                    processes_left: 0
                }
            )])
        );
        assert_eq!(pids_of(&alive), pids(&[&working]));
        working.kill().expect("kill");
        for child in [&mut left_over, &mut working] {
            child.wait().expect("reap");
        }
    }

    #[test]
    fn a_mark_that_is_no_run_id_is_nobodys() {
        let mut child = Command::new("sleep")
            .arg("60")
            .env(RUN_MARKER, "../../etc")
            .spawn()
            .expect("sleep is everywhere");
        assert!(
            marked_processes()
                .iter()
                .all(|marked| marked.pid != child.id() as i32)
        );
        child.kill().expect("kill");
        child.wait().expect("reap");
    }
}
