//! Everything below a process: seeing it, signalling it, reaping it.

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// If new processes appear for this long while everything seen is frozen, killing begins nevertheless.
const FREEZING_WITHIN: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// What is below a process: each with its parent.
type Descendants = BTreeMap<i32, i32>;

/// What a look for ended children found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// There are children, none of them ended.
    SomeLeft,
    /// The kernel says that there is no child.
    NoneLeft,
}

/// Reaps every child that ended, and hands over how.
pub fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return Reaped::SomeLeft,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Reaped::NoneLeft,
        }
    }
}

/// Everything below this process, ended and unreaped ones included.
pub fn descendants() -> Descendants {
    let mut found = BTreeMap::new();
    let mut parents = vec![getpid().as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            if found.insert(child, parent).is_none() {
                parents.push(child);
            }
        }
    }
    found
}

/// Signals everything below this process once; returns how many took it.
pub fn signal_all(signal: Signal) -> u32 {
    signal_these(&descendants(), signal, &mut BTreeSet::new())
}

/// Freezes and kills everything below this process until none is left or the time is over, and hands over how each
/// child ended. Freezing first keeps a process that forks on and on from always being one step ahead.
pub fn kill_all(within: Duration, mut ended: impl FnMut(Pid, WaitStatus)) -> (Reaped, u32) {
    let began = Instant::now();
    let mut killed = BTreeSet::new();
    loop {
        let seen = descendants();
        signal_these(&seen, Signal::STOP, &mut BTreeSet::new());
        let still = descendants();
        let nothing_new = still.keys().all(|pid| seen.contains_key(pid));
        if nothing_new || began.elapsed() > FREEZING_WITHIN {
            signal_these(&still, Signal::KILL, &mut killed);
        }
        if reap(&mut ended) == Reaped::NoneLeft {
            return (Reaped::NoneLeft, killed.len() as u32);
        }
        if began.elapsed() > within {
            return (Reaped::SomeLeft, killed.len() as u32);
        }
        sleep(BETWEEN_LOOKS);
    }
}

fn signal_these(processes: &Descendants, signal: Signal, hit: &mut BTreeSet<i32>) -> u32 {
    let own = getpid().as_raw_nonzero().get();
    let mut count = 0;
    for (&number, parent) in processes {
        let Some(pid) = Pid::from_raw(number) else {
            continue;
        };
        // The pidfd first, then the question whose child it is: a number used again is never hit.
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        let Some(stat) = Stat::of(number) else { continue };
        let is_ours = stat.parent == *parent || stat.parent == own || processes.contains_key(&stat.parent);
        if is_ours && stat.is_running && pidfd_send_signal(&pidfd, signal).is_ok() {
            count += 1;
            hit.insert(number);
        }
    }
    count
}

fn children(parent: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread ended just now, or this kernel has no such file.
            Err(_) => return children_by_parent(parent),
        }
    }
    found
}

/// The slow way, for kernels built without lists of children.
fn children_by_parent(parent: i32) -> Vec<i32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|number| Stat::of(*number).is_some_and(|stat| stat.parent == parent))
        .collect()
}

/// What `/proc/<pid>/stat` says that matters here.
struct Stat {
    is_running: bool,
    parent: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name before it may hold anything.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_whitespace();
        let is_running = !matches!(fields.next()?, "Z" | "X");
        Some(Self {
            is_running,
            parent: fields.next()?.parse().ok()?,
        })
    }
}
