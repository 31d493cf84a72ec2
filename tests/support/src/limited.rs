//! Programs run to their end, within limits of time and output.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// The most that is kept of each stream of a program.
const OUTPUT_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How long the streams may stay open behind the program, held by something it left running.
const STREAMS_OPEN_MAX: Duration = Duration::from_secs(10);

/// A program that came to its end.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It took too long and was killed, with its process group.
    TimedOut,
}

impl Finished {
    /// The standard output as JSON, a value a line.
    ///
    /// # Panics
    /// A line is no JSON.
    #[must_use]
    pub fn records(&self) -> Vec<Value> {
        let read = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in the line {line:?}"))
        };
        // Only LF ends a line: `lines` would also take a carriage return away.
        self.stdout
            .split('\n')
            .filter(|line| !line.is_empty())
            .map(read)
            .collect()
    }

    /// The records of this type.
    #[must_use]
    pub fn records_of(&self, kind: &str) -> Vec<Value> {
        self.records()
            .into_iter()
            .filter(|record| record["type"] == kind)
            .collect()
    }
}

/// Runs a program with this standard input, for so long at most.
///
/// # Panics
/// The program cannot be started.
#[must_use]
pub fn run(command: &mut Command, stdin: &str, within: Duration) -> Finished {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{error}: {command:?}"));
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    feed(&mut child, stdin);
    let end = wait(&mut child, within);
    Finished {
        end,
        stdout: collect(&stdout),
        stderr: collect(&stderr),
    }
}

/// Waits for a program that leads its own process group, and kills the group when it takes too long.
pub(crate) fn wait(child: &mut Child, within: Duration) -> End {
    let deadline = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return end_of(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                kill_group(child.id());
                // The kill is seen through: a program that is not reaped is still there for an auditor.
                let _ = child.wait();
                return End::TimedOut;
            }
        }
    }
}

/// Kills a process group; it may be gone already.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or_default()),
    }
}

fn feed(child: &mut Child, text: &str) {
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let text = text.to_owned();
    // A program that does not read its input must not stop the test; it says so by its end.
    std::thread::spawn(move || stdin.write_all(text.as_bytes()));
}

fn drain(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let mut stream = stream.expect("its output is a pipe");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn collect(pieces: &Receiver<Vec<u8>>) -> String {
    let deadline = Instant::now() + STREAMS_OPEN_MAX;
    let mut bytes = Vec::new();
    while let Ok(piece) = pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if bytes.len() < OUTPUT_BYTES_MAX {
            bytes.extend_from_slice(&piece);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, stdin: &str, within: Duration) -> Finished {
        run(Command::new("sh").args(["-c", script]), stdin, within)
    }

    #[test]
    fn a_program_is_heard_and_its_end_is_told() {
        let finished = shell(
            "cat; echo hush >&2; exit 3",
            "{\"type\":\"a\"}\n",
            Duration::from_secs(60),
        );
        assert_eq!(
            (finished.end, finished.stderr.as_str()),
            (End::Exited(3), "hush\n")
        );
        assert_eq!(finished.records_of("a").len(), 1);
        assert_eq!(
            shell("kill -TERM $$", "", Duration::from_secs(60)).end,
            End::Signalled(15)
        );
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_group() {
        let finished = shell("sleep 600 & echo $!; wait", "", Duration::from_secs(3));
        assert_eq!(finished.end, End::TimedOut);
        let sleeper: i32 = finished.stdout.trim().parse().unwrap();
        let gone = || match std::fs::read_to_string(format!("/proc/{sleeper}/stat")) {
            Ok(stat) => stat.contains(") Z"),
            Err(_) => true,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !gone() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(gone());
    }
}
