//! `--detach`: the run goes on in a process of its own, which ends with it.
//!
//! That process is this program with the same arguments and the run's id. It has a session of its own, so no terminal ends
//! it, and writes into a log below the state directory. It says over its stdout that the run is accepted, before which the
//! id is told to nobody.

use super::arguments::HowArguments;
use super::exit::Failure;
use super::output::{print, print_json, say, say_plainly, speak_into_the_log};
use super::run::Workspace;
use super::wire::{DetachedLine, json_line};
use crate::runtime::{
    RunId, Runtime, StateDirectoryError, log_of, logs, make_private, state_directory, wishes,
};
use impresario_actors::gateways::{Entropy, SystemEntropy, SystemWallClock, WallClock};
use rustix::process::setsid;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// What the other process says when the run is accepted.
const ACCEPTED: &str = "accepted";
/// So much of what it said instead is told.
const TOLD_BYTES_MAX: usize = 16_000;

/// Starts the process and returns when it has the run.
pub(super) fn start(how: &HowArguments, workspace: &Workspace) -> Result<ExitCode, Failure> {
    if let Some(within) = Runtime::within() {
        return Err(Failure::usage(format!(
            "a sub-agent (of run {within}) detaches nothing: nothing outlives its run. Leave out --detach"
        )));
    }
    let run = RunId::new(SystemWallClock.now().0, SystemEntropy.next());
    let log = prepare_log(how, &run)?;
    let mut child = spawn(&run, &log, how, workspace).map_err(|error| {
        Failure::failed(format!(
            "failed to start a process for the run (its log is {}): {error}",
            log.display()
        ))
    })?;
    let mut said = String::new();
    let heard = child
        .stdout
        .take()
        .map(|mut stdout| stdout.read_to_string(&mut said));
    match (heard, said.trim_end() == ACCEPTED) {
        (Some(Ok(_)), true) => {
            tell(how.json, &run, &log);
            Ok(ExitCode::SUCCESS)
        }
        _ => Ok(say_why_not(&mut child, &log)),
    }
}

fn tell(json: bool, run: &RunId, log: &Path) {
    // A reader that went away does not end the run.
    let _ = match json {
        true => print_json(&json_line(&DetachedLine::of(run, log))),
        false => print(run.as_str()),
    };
    say(&format!(
        "run {run} works in the background; `impresario runs attach {run}` follows it, its log is {}",
        log.display()
    ));
}

/// It ended before the run was accepted, and said why into its log.
fn say_why_not(child: &mut Child, log: &Path) -> ExitCode {
    let code = child.wait().ok().and_then(|status| status.code());
    let mut why = Vec::new();
    let read = File::open(log).map(|log| log.take(TOLD_BYTES_MAX as u64).read_to_end(&mut why));
    match (read, why.is_empty()) {
        (Ok(Ok(_)), false) => say_plainly(String::from_utf8_lossy(&why).trim_end()),
        _ => say("the process for the run ended before the run was accepted"),
    }
    // What it said is told; nothing of a run is there.
    let _ = std::fs::remove_file(log);
    let code = code
        .and_then(|code| u8::try_from(code).ok())
        .filter(|code| *code != 0);
    ExitCode::from(code.unwrap_or(1))
}

fn prepare_log(how: &HowArguments, run: &RunId) -> Result<PathBuf, Failure> {
    let state = state_of(how)?;
    for directory in [&state, &logs(&state)] {
        make_private(directory).map_err(unusable)?;
    }
    Ok(log_of(&state, run))
}

fn state_of(how: &HowArguments) -> Result<PathBuf, Failure> {
    match &how.place.state.state_directory {
        Some(directory) => Ok(directory.clone()),
        None => state_directory().map_err(unusable),
    }
}

fn unusable(error: StateDirectoryError) -> Failure {
    Failure::failed(format!("failed to {error}"))
}

/// Where answers to its questions are left, where the run is one of ours here.
pub(super) fn answers_of(how: &HowArguments) -> Result<Option<PathBuf>, Failure> {
    match how.detached_as {
        Some(_) => Ok(Some(wishes(&state_of(how)?))),
        None => Ok(None),
    }
}

fn spawn(run: &RunId, log: &Path, how: &HowArguments, workspace: &Workspace) -> std::io::Result<Child> {
    let log = OpenOptions::new()
        .create_new(true)
        .append(true)
        .mode(0o600)
        .open(log)?;
    let asked = workspace.trusted && how.place.trust.typed().is_none();
    let trust = asked.then(|| OsString::from("--trust"));
    let mut typed = std::env::args_os().skip(1).collect::<Vec<_>>();
    // Behind the name of the command; only options without a value stand before it.
    let behind = typed
        .iter()
        .position(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let at = behind.map_or(typed.len(), |place| place + 1);
    let id = ["--detached-as".into(), OsString::from(run.as_str())];
    typed.splice(at..at, id.into_iter().chain(trust));
    Command::new(std::env::current_exe()?)
        .args(typed)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

/// In that process: no terminal is ours any more, and nobody's Ctrl-C.
pub(super) fn leave_terminal() -> Result<(), Failure> {
    match setsid() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::failed(format!(
            "failed to begin a session of its own: {error}"
        ))),
    }
}

/// Whoever started us is told that the run is accepted, and has gone then.
pub(super) fn tell_starter() {
    let _ = print(ACCEPTED);
    if let Err(error) = speak_into_the_log() {
        say(&format!("the answer is not written here: {error}"));
    }
}
