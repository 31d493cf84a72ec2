//! The role that keeps: hears the runtime, watches it and the program, and leaves nothing behind.
//!
//! The ladder is the same whoever begins it (an order, the runtime's death, the program's own end): the program is
//! asked, then what it left behind, then everything is killed; then the mark is looked for. A runtime that is frozen
//! is not a dead one: what it ordered is done, and it hears of it when it thaws.

use super::channel::{Channel, is_readable};
use super::hold::{Hold, Unheld};
use super::tree::{self, Reaped};
use impresario_actors::processes::wire::{Failure, Order, Report};
use impresario_actors::processes::{Mark, Sweep, SweepReport, sweep};
use impresario_policies::domain::Containment;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, chdir, getpid, getppid, pidfd_open, set_child_subreaper, setsid};
use rustix::time::Timespec;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long what the program left behind has between being asked and being killed.
const REST_GRACE: Duration = Duration::from_millis(200);
/// How long killing is tried. What survives this hangs in the kernel or belongs to another user.
const KILLING_WITHIN: Duration = Duration::from_secs(5);
/// How long a program may take to stand still while it is looked at.
const LOOKING_WITHIN: Duration = Duration::from_secs(1);
const SWEEPING_WITHIN: Duration = Duration::from_secs(1);
/// Nobody waits longer than this for a program to end.
const GRACE_MAX: Duration = Duration::from_secs(3_600);
/// Between two looks at how many processes there are, and for ended children when nothing else wakes the keeper.
const COUNT_EVERY: Duration = Duration::from_millis(250);
/// The same while there are some.
const LOOK_EVERY_BUSY: Duration = Duration::from_millis(50);
/// The same while waiting for the last ones.
const LOOK_EVERY_ENDING: Duration = Duration::from_millis(1);

/// Keeps one program; the exit code says whether everything went as it should.
pub fn run() -> i32 {
    let Ok((mut channel, runtime)) = prepare() else {
        return 125;
    };
    let Ok(Some(Order::Start {
        mark,
        runtime: expected,
        program,
        containment,
        orphan_grace_ms,
        processes_max,
    })) = channel.receive()
    else {
        return 125;
    };
    if Pid::as_raw(getppid()) != expected {
        return 125;
    }
    let Some(streams) = channel.take_files() else {
        return 125;
    };
    let hold = match Hold::start(containment, &mark, program, streams) {
        Ok(hold) => hold,
        Err(unheld) => return refuse(&channel, unheld),
    };
    let keep = Keep {
        channel,
        runtime,
        hold,
        mark,
        orphan_grace: Duration::from_millis(orphan_grace_ms),
        processes_max,
        count_at: Instant::now(),
        kill_at: None,
        is_orphan: false,
        was_exit_told: false,
    };
    keep.keep()
}

/// A session of its own, so that nothing meant for the terminal reaches it; reaper of everything below.
fn prepare() -> io::Result<(Channel, OwnedFd)> {
    let parent = getppid().ok_or(io::ErrorKind::NotFound)?;
    let runtime = pidfd_open(parent, PidfdFlags::empty())?;
    let channel = Channel::from_stdin()?;
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    chdir("/")?;
    Ok((channel, runtime))
}

fn refuse(channel: &Channel, unheld: Unheld) -> i32 {
    let Unheld { unlaunched, note } = unheld;
    let _ = channel.send(
        &Report::Failed {
            what: unlaunched.what,
            errno: unlaunched.errno,
            note,
        },
        &[],
    );
    let (left, killed) = tree::kill_all(KILLING_WITHIN, |_, _| {});
    let no_children = left == Reaped::NoneLeft;
    let empty = Report::Empty {
        method: Containment::Keeper,
        no_children,
        killed,
        processes_left: 0,
    };
    let _ = channel.send(&empty, &[]);
    i32::from(unlaunched.what == Failure::Keeper || !no_children)
}

struct Keep {
    channel: Channel,
    runtime: OwnedFd,
    hold: Hold,
    mark: String,
    orphan_grace: Duration,
    processes_max: u32,
    /// When the processes are counted next.
    count_at: Instant,
    kill_at: Option<Instant>,
    is_orphan: bool,
    was_exit_told: bool,
}

impl Keep {
    fn keep(mut self) -> i32 {
        let started = Report::Started {
            pid: self.hold.pid(),
            containment: self.hold.method(),
            note: self.hold.note.clone(),
        };
        self.tell(&started);
        // What came together with the start makes nothing readable any more.
        self.hear_runtime();
        let mut look_every = COUNT_EVERY;
        while !self.hold.is_empty() && !self.is_time_to_kill() {
            self.wait(look_every);
            self.hear_runtime();
            let reaped = self.hold.look();
            self.follow_exit();
            self.count_processes();
            look_every = match (self.was_exit_told, reaped) {
                (true, _) => LOOK_EVERY_ENDING,
                (false, 0) => COUNT_EVERY,
                (false, _) => LOOK_EVERY_BUSY,
            };
        }
        self.finish()
    }

    /// Whoever forks on and on would otherwise stretch every clock, for all runs. Nothing is asked first: asking takes as
    /// long as there are processes.
    fn count_processes(&mut self) {
        if Instant::now() < self.count_at || self.was_exit_told {
            return;
        }
        let processes = u32::try_from(tree::descendants().len()).unwrap_or(u32::MAX);
        self.count_at = Instant::now() + COUNT_EVERY;
        if processes > self.processes_max {
            self.tell(&Report::Overrun { processes });
            self.kill_within(Duration::ZERO);
        }
    }

    fn is_time_to_kill(&self) -> bool {
        self.kill_at.is_some_and(|at| Instant::now() >= at)
    }

    /// Until something happens, or it is time to look or to kill.
    fn wait(&self, look_every: Duration) {
        let until_kill = self
            .kill_at
            .map(|at| at.saturating_duration_since(Instant::now()));
        let longest = until_kill.map_or(look_every, |left| left.min(look_every));
        let mut signs: Vec<_> = self
            .hold
            .signs()
            .into_iter()
            .map(|sign| PollFd::from_borrowed_fd(sign, PollFlags::IN))
            .collect();
        if !self.is_orphan {
            signs.push(PollFd::new(&self.runtime, PollFlags::IN));
            signs.push(PollFd::new(&self.channel, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: longest.as_secs() as i64,
            tv_nsec: i64::from(longest.subsec_nanos()),
        };
        // An interruption is as good as a sign: everything is looked at anyway.
        let _ = poll(&mut signs, Some(&timeout));
    }

    fn hear_runtime(&mut self) {
        if self.is_orphan {
            return;
        }
        let mut is_gone = is_readable(&self.runtime);
        if is_readable(&self.channel) {
            is_gone |= self.channel.fill().is_err() || self.channel.is_closed();
        }
        loop {
            match self.channel.next::<Order>() {
                Ok(Some(Order::Stop { grace_ms })) => self.stop(Duration::from_millis(grace_ms)),
                Ok(Some(Order::Look)) => self.tell(&Report::Looked {
                    alone: self.hold.is_program_alone(LOOKING_WITHIN),
                }),
                Ok(None) => break,
                // There is no order but these now. A runtime that cannot be understood is as good as gone.
                Ok(Some(Order::Start { .. })) | Err(_) => is_gone = true,
            }
        }
        if is_gone {
            self.is_orphan = true;
            self.stop(self.orphan_grace);
        }
    }

    fn stop(&mut self, grace: Duration) {
        self.hold.ask();
        self.kill_within(grace);
    }

    fn kill_within(&mut self, grace: Duration) {
        let at = Instant::now() + grace.min(GRACE_MAX);
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Once the program ended, what it left behind is asked to end too.
    fn follow_exit(&mut self) {
        if self.was_exit_told || self.hold.exit().is_none() {
            return;
        }
        self.tell_exit();
        if !self.hold.is_empty() {
            self.hold.ask_the_rest();
            self.kill_within(REST_GRACE);
        }
    }

    fn tell_exit(&mut self) {
        let Some((code, signal)) = self.hold.exit() else {
            return;
        };
        self.was_exit_told = true;
        self.tell(&Report::Exited { code, signal });
    }

    fn tell(&self, report: &Report) {
        if !self.is_orphan {
            // A runtime that does not hear is seen by its pidfd.
            let _ = self.channel.send(report, &[]);
        }
    }

    fn finish(mut self) -> i32 {
        let killed = if self.hold.is_empty() {
            0
        } else {
            self.hold.kill(KILLING_WITHIN)
        };
        if !self.was_exit_told {
            self.tell_exit();
        }
        let swept = self.sweep();
        self.tell(&Report::Empty {
            method: self.hold.method(),
            no_children: self.hold.is_empty(),
            killed: killed + swept.killed,
            processes_left: swept.processes_left,
        });
        i32::from(!self.hold.is_empty() || swept.processes_left > 0)
    }

    /// What carries the mark and is not below us: nothing, unless it was handed to a process outside.
    fn sweep(&self) -> SweepReport {
        let Ok(Mark { run, part }) = self.mark.parse() else {
            return SweepReport::default();
        };
        let ours = Sweep {
            run,
            part: Some(part),
            session: None,
        };
        sweep(&ours, SWEEPING_WITHIN)
    }
}
