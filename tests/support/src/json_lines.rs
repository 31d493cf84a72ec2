//! Programs that speak JSON, a value a line, both ways: Pi in rpc mode, the bridge, a command line with `--json`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::limited::{End, kill_group, wait};

/// A running program that speaks JSON lines; dropping it kills its process group.
#[derive(Debug)]
pub struct JsonLines {
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Arc<Heard>,
    ended: Option<End>,
}

#[derive(Debug, Default)]
struct Heard {
    said: Mutex<Said>,
    changed: Condvar,
}

/// What a program said so far.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The values of its standard output, in order.
    pub records: Vec<Value>,
    /// Lines of its standard output that were no JSON.
    pub garbage: Vec<String>,
    /// Its standard error.
    pub stderr: String,
    /// Whether its standard output is closed.
    pub closed: bool,
}

impl JsonLines {
    /// Starts a program.
    ///
    /// # Panics
    /// The program cannot be started.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{error}: {command:?}"));
        let heard = Arc::new(Heard::default());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let listener = Arc::clone(&heard);
        let stdout = stdout.expect("its output is a pipe");
        std::thread::spawn(move || listener.listen(stdout));
        let listener = Arc::clone(&heard);
        let stderr = stderr.expect("its output is a pipe");
        std::thread::spawn(move || listener.listen_to_errors(stderr));
        Self {
            child,
            stdin,
            heard,
            ended: None,
        }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says a value.
    ///
    /// # Errors
    /// The program no longer listens.
    pub fn say(&mut self, value: &Value) -> io::Result<()> {
        self.say_raw(format!("{value}\n").as_bytes())
    }

    /// Says bytes as they are, for what is no JSON or no line.
    ///
    /// # Errors
    /// The program no longer listens.
    pub fn say_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Closes its standard input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// What it said so far.
    #[must_use]
    pub fn said(&self) -> Said {
        self.heard.lock().clone()
    }

    /// Waits for the first record that is wanted, among those that came already too.
    ///
    /// # Panics
    /// There was none in time, or the program ended before; what it said is in the message.
    pub fn wait_for(&self, within: Duration, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_behind(0, within, wanted).1
    }

    /// The same, among the records behind the first `behind`; gives how many there are up to and with it.
    ///
    /// # Panics
    /// There was none in time, or the program ended before; what it said is in the message.
    pub fn wait_for_behind(
        &self,
        behind: usize,
        within: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> (usize, Value) {
        let deadline = Instant::now() + within;
        let mut said = self.heard.lock();
        let mut seen = behind;
        loop {
            while let Some(record) = said.records.get(seen) {
                seen += 1;
                if wanted(record) {
                    return (seen, record.clone());
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !said.closed,
                "the program ended before it said what was waited for: {}",
                said.sketch()
            );
            assert!(
                !left.is_zero(),
                "what was waited for did not come: {}",
                said.sketch()
            );
            let waited = self.heard.changed.wait_timeout(said, left);
            said = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for its end, and kills it with its process group when it takes too long.
    pub fn wait_for_end(&mut self, within: Duration) -> End {
        let end = self.ended.unwrap_or_else(|| wait(&mut self.child, within));
        self.ended = Some(end);
        end
    }
}

impl Drop for JsonLines {
    fn drop(&mut self) {
        if self.ended.is_none() {
            kill_group(self.child.id());
            // Reaped, so that nothing is left for an auditor to find.
            let _ = self.child.wait();
        }
    }
}

impl Said {
    fn sketch(&self) -> String {
        let kinds: Vec<String> = self
            .records
            .iter()
            .map(|record| record["type"].to_string())
            .collect();
        let last = self.records.last().map(Value::to_string).unwrap_or_default();
        let last: String = last.chars().take(2_000).collect();
        format!(
            "{} records {kinds:?}\nlast: {last}\ngarbage: {:?}\nstderr: {}",
            kinds.len(),
            self.garbage,
            self.stderr
        )
    }
}

impl Heard {
    fn listen(&self, stdout: impl Read) {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while let Ok(1..) = reader.read_until(b'\n', &mut line) {
            self.hear(&line);
            line.clear();
        }
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn hear(&self, line: &[u8]) {
        let mut said = self.lock();
        match serde_json::from_slice(line) {
            Ok(record) => said.records.push(record),
            Err(_) => said.garbage.push(String::from_utf8_lossy(line).into_owned()),
        }
        self.changed.notify_all();
    }

    fn listen_to_errors(&self, mut stderr: impl Read) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            self.lock()
                .stderr
                .push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_answers_line_by_line_until_it_is_hung_up_on() {
        let mut program = JsonLines::start(&mut Command::new("cat"));
        program.say(&json!({"type": "a", "text": "\u{2028}"})).unwrap();
        program.say_raw(b"garbage\n").unwrap();
        program.say(&json!({"type": "b"})).unwrap();
        let (behind, record) = program.wait_for_behind(0, PATIENCE, |record| record["type"] == "a");
        assert_eq!((behind, record["text"].as_str()), (1, Some("\u{2028}")));
        program.wait_for(PATIENCE, |record| record["type"] == "b");
        program.hang_up();
        assert_eq!(program.wait_for_end(PATIENCE), End::Exited(0));
        assert_eq!(program.said().garbage, ["garbage\n"]);
    }

    #[test]
    #[should_panic(expected = "the program ended before it said what was waited for")]
    fn waiting_for_a_program_that_ended_ends() {
        let program = JsonLines::start(Command::new("sh").args(["-c", "exit 0"]));
        program.wait_for(PATIENCE, |_| true);
    }
}
