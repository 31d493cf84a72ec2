//! The process table, read without any code of the product.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Every process in whose environment this stands (`IMPRESARIO_RUN=1`).
#[must_use]
pub fn with_environment(text: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has_environment(*pid, text)).collect()
}

/// Whether this stands in the environment of a process.
#[must_use]
pub fn has_environment(pid: i32, text: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    String::from_utf8_lossy(&environment).contains(text)
}

/// The words with which a process was started.
#[must_use]
pub fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// The process that started this one; none when it is gone.
#[must_use]
pub fn parent_of(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Sends a signal to a process that runs.
///
/// # Panics
/// It does not run.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process id"), signal).expect("it runs");
}
