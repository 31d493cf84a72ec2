//! Calling git: by arguments, never through a shell, within a time, with an environment of our own.
//!
//! Nothing that lies in a repository is run by these calls: hooks, filters, file system monitors and diff programs are
//! off, and nothing is fetched. Each call carries the mark of its run, so that a runtime that died in the middle of one
//! finds it.

use crate::gateways::WorktreeError;
use crate::processes::RUN_MARKER;
use impresario_policies::domain::RunId;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// One call takes at most so long.
const CALL_WITHIN: Duration = Duration::from_secs(120);
/// What a call lists is not read beyond this.
const LISTED_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So much of what git says is shown.
const SAID_CHARS_MAX: usize = 400;

/// What holds for every call. A repository cannot change it: this comes last.
const SETTINGS: [(&str, &str); 16] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.logAllRefUpdates", "false"),
    ("core.sparseCheckout", "false"),
    ("core.splitIndex", "false"),
    ("core.quotePath", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("commit.gpgSign", "false"),
    ("protocol.allow", "never"),
    ("apply.whitespace", "nowarn"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("worktree.guessRemote", "false"),
    ("advice.addEmbeddedRepo", "false"),
];

/// What of our environment git gets.
const PASSED: [&str; 8] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "USER",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// Git in one place, for one run.
#[derive(Debug, Clone)]
pub(super) struct Git {
    run: RunId,
    directory: PathBuf,
    /// Instead of what git finds from the directory: repository, files, index.
    repository: Option<PathBuf>,
    files: Option<PathBuf>,
    index: Option<PathBuf>,
    /// The names of the filters that are set somewhere; none of them is run.
    filters: Vec<String>,
}

/// How a call ended.
pub(super) struct Called {
    status: ExitStatus,
    pub(super) out: Vec<u8>,
    said: String,
}

impl Called {
    pub(super) fn is_good(&self) -> bool {
        self.status.success()
    }

    /// The one value that was printed.
    pub(super) fn value(mut self) -> Vec<u8> {
        if self.out.last() == Some(&b'\n') {
            self.out.pop();
        }
        self.out
    }
}

/// Words for a call.
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$(::std::ffi::OsStr::new($word)),*] };
}
pub(super) use words;

impl Git {
    pub(super) fn at(run: &RunId, directory: impl Into<PathBuf>) -> Self {
        Self {
            run: run.clone(),
            directory: directory.into(),
            repository: None,
            files: None,
            index: None,
            filters: Vec::new(),
        }
    }

    /// The same, which leaves out the filters that are set for the repository.
    pub(super) fn without_filters(mut self) -> Result<Self, WorktreeError> {
        let listed = self.try_call(
            &words!["config", "-z", "--name-only", "--get-regexp", r"^filter\."],
            None,
        )?;
        let names = listed.out.split(|byte| *byte == 0);
        for name in names.filter_map(|name| std::str::from_utf8(name).ok()) {
            let name = name
                .strip_prefix("filter.")
                .and_then(|name| name.rsplit_once('.'));
            if let Some((name, _)) = name
                && !self.filters.iter().any(|known| known == name)
            {
                self.filters.push(name.to_string());
            }
        }
        Ok(self)
    }

    pub(super) fn filters(&self) -> &[String] {
        &self.filters
    }

    /// In another directory.
    pub(super) fn on_directory(&self, directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            ..self.clone()
        }
    }

    /// Works on these files, whatever lies around them.
    pub(super) fn on(&self, repository: &Path, files: &Path) -> Self {
        Self {
            directory: files.to_path_buf(),
            repository: Some(repository.to_path_buf()),
            files: Some(files.to_path_buf()),
            ..self.clone()
        }
    }

    /// With an index of our own.
    pub(super) fn with_index(&self, index: &Path) -> Self {
        Self {
            index: Some(index.to_path_buf()),
            ..self.clone()
        }
    }

    /// Calls it, and takes what it prints; a bad end is an error.
    pub(super) fn call(&self, words: &[&OsStr]) -> Result<Called, WorktreeError> {
        self.call_with(words, None)
    }

    /// The same with something to read.
    pub(super) fn call_with(&self, words: &[&OsStr], input: Option<&[u8]>) -> Result<Called, WorktreeError> {
        let called = self.try_call(words, input)?;
        match called.is_good() {
            true => Ok(called),
            false => Err(failed(words, &called)),
        }
    }

    /// The same, whatever the end.
    pub(super) fn try_call(&self, words: &[&OsStr], input: Option<&[u8]>) -> Result<Called, WorktreeError> {
        let mut out = temporary()?;
        let (status, said) = self.run_into(words, input, &out)?;
        if out.metadata().map_err(broken)?.len() > LISTED_BYTES_MAX {
            return Err(WorktreeError(format!(
                "`git {}` lists more than {} MB",
                shown(words),
                LISTED_BYTES_MAX / 1_000_000
            )));
        }
        let mut bytes = Vec::new();
        out.rewind()
            .and_then(|()| out.read_to_end(&mut bytes))
            .map_err(broken)?;
        Ok(Called {
            status,
            out: bytes,
            said,
        })
    }

    /// Calls it and has it print into a file.
    pub(super) fn call_into(&self, words: &[&OsStr], out: &File) -> Result<(), WorktreeError> {
        let (status, said) = self.run_into(words, None, out)?;
        let called = Called {
            status,
            out: Vec::new(),
            said,
        };
        match called.is_good() {
            true => Ok(()),
            false => Err(failed(words, &called)),
        }
    }

    fn run_into(
        &self,
        words: &[&OsStr],
        input: Option<&[u8]>,
        out: &File,
    ) -> Result<(ExitStatus, String), WorktreeError> {
        let mut said = temporary()?;
        let stdin = match input {
            None => Stdio::null(),
            Some(input) => {
                let mut file = temporary()?;
                file.write_all(input)
                    .and_then(|()| file.rewind())
                    .map_err(broken)?;
                Stdio::from(file)
            }
        };
        let child = self
            .command()
            .args(words)
            .stdin(stdin)
            .stdout(out.try_clone().map_err(broken)?)
            .stderr(said.try_clone().map_err(broken)?)
            .spawn();
        let mut child = child.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                WorktreeError("A worktree needs the program git, which is not on PATH.".to_string())
            }
            _ => WorktreeError(format!("git could not be started: {error}")),
        })?;
        let Some(status) = wait(&mut child, CALL_WITHIN).map_err(broken)? else {
            kill(&mut child);
            return Err(WorktreeError(format!(
                "`git {}` did not end within {} s",
                shown(words),
                CALL_WITHIN.as_secs()
            )));
        };
        let mut text = Vec::new();
        said.rewind().map_err(broken)?;
        said.take(LISTED_BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(broken)?;
        Ok((status, String::from_utf8_lossy(&text).into_owned()))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir(&self.directory).process_group(0);
        for name in PASSED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, value) in [
            (RUN_MARKER, self.run.as_str()),
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_AUTHOR_NAME", "Impresario"),
            ("GIT_AUTHOR_EMAIL", "impresario@localhost"),
            ("GIT_COMMITTER_NAME", "Impresario"),
            ("GIT_COMMITTER_EMAIL", "impresario@localhost"),
        ] {
            command.env(name, value);
        }
        let places = [
            ("GIT_DIR", &self.repository),
            ("GIT_WORK_TREE", &self.files),
            ("GIT_INDEX_FILE", &self.index),
        ];
        for (name, value) in places {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        let settings = SETTINGS.map(|(key, value)| (key.to_string(), value));
        let filters = self.filters.iter().flat_map(|name| {
            [
                ("clean", ""),
                ("smudge", ""),
                ("process", ""),
                ("required", "false"),
            ]
            .map(|(key, value)| (format!("filter.{name}.{key}"), value))
        });
        let mut count = 0;
        for (key, value) in settings.into_iter().chain(filters) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command
    }
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from(OsStr::from_bytes(bytes)))
}

pub(super) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn broken(error: std::io::Error) -> WorktreeError {
    WorktreeError(error.to_string())
}

fn temporary() -> Result<File, WorktreeError> {
    tempfile::tempfile().map_err(broken)
}

/// The command and its first options, for a sentence.
fn shown(words: &[&OsStr]) -> String {
    let words = words.iter().take(3).map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

fn failed(words: &[&OsStr], called: &Called) -> WorktreeError {
    let said: String = called.said.trim().chars().take(SAID_CHARS_MAX).collect();
    let end = called.status;
    WorktreeError(format!("`git {}` failed ({end}): {said}", shown(words)))
}

/// It and what it started.
fn kill(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    // Whoever ended meanwhile is not there to be killed.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(target_os = "linux")]
fn wait(child: &mut Child, within: Duration) -> std::io::Result<Option<ExitStatus>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let exits = rustix::process::pidfd_open(
        rustix::process::Pid::from_child(child),
        rustix::process::PidfdFlags::empty(),
    )?;
    let limit = Timespec {
        tv_sec: within.as_secs() as _,
        tv_nsec: 0,
    };
    loop {
        match poll(&mut [PollFd::new(&exits, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Ok(None),
            Ok(_) => return child.wait().map(Some),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn wait(child: &mut Child, within: Duration) -> std::io::Result<Option<ExitStatus>> {
    const LOOKED_EVERY: Duration = Duration::from_millis(10);
    for _ in 0..within.as_millis() / LOOKED_EVERY.as_millis() {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOKED_EVERY);
    }
    Ok(None)
}
