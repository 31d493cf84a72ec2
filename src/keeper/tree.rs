//! Everything below a process: seeing it, signalling it, reaping it.

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
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

/// Waits until every thread of a process stands still; false when the time is over or it is gone.
pub fn is_frozen(pid: i32, within: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() <= within {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return false;
        };
        let mut states = threads
            .flatten()
            .map(|thread| Stat::read(&thread.path().join("stat")).map(|stat| stat.is_frozen));
        // A thread that ended between the two reads did not stand still: it is looked at again.
        if states.all(|is_frozen| is_frozen == Some(true)) {
            return true;
        }
        sleep(BETWEEN_LOOKS);
    }
    false
}

/// Whether nothing runs below this process but that one, and its parent where that is another: the init of a namespace.
pub fn is_alone(pid: i32) -> bool {
    let seen = descendants();
    let Some(parent) = seen.get(&pid) else {
        return false;
    };
    let others = seen.keys().filter(|other| **other != pid && *other != parent);
    others
        .into_iter()
        .all(|other| Stat::of(*other).is_none_or(|stat| !stat.is_running))
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
    is_frozen: bool,
    parent: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::read(Path::new(&format!("/proc/{pid}/stat")))
    }

    fn read(file: &Path) -> Option<Self> {
        let stat = fs::read(file).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name before it may hold anything.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_whitespace();
        let state = fields.next()?;
        Some(Self {
            is_running: !matches!(state, "Z" | "X"),
            is_frozen: state == "T",
            parent: fields.next()?.parse().ok()?,
        })
    }
}
