//! Is auggie logged in? A handshake does not say: it succeeds without.

use super::EngineSettings;
use super::launch::spec;
use crate::processes::{ContainedProcess, Streams};
use impresario_policies::domain::{RetrievalEngine, RunId};
use impresario_policies::preflight::{PreflightEnd, STDERR_UNITS_MAX, review_preflight};
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// Then it is killed (pi-auggie-router 1.4.1).
const LIMIT: Duration = Duration::from_secs(5);
/// How long the last words are waited for once it has ended.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(500);

/// Asks `<program> account status`; an error says why not, in the program's words. `mark` is nobody's run: it only
/// lets the process be found should everything else die.
pub async fn check_account(
    settings: &EngineSettings,
    program: &str,
    mark: &RunId,
    workspace: PathBuf,
) -> Result<(), String> {
    let engine = RetrievalEngine::Auggie {
        program: program.to_string(),
    };
    let arguments = ["account", "status"].map(str::to_string).to_vec();
    let spec = spec(settings, &engine, mark, workspace, program.to_string(), arguments);
    let (process, streams) = match ContainedProcess::start(spec).await {
        Ok(started) => started,
        Err(error) => return review_preflight(&PreflightEnd::NotStarted(error.to_string()), ""),
    };
    let Streams {
        stdin,
        stdout,
        stderr,
    } = streams;
    drop(stdin);
    let ignored = tokio::task::spawn_local(tail_of(stdout));
    let said = tokio::task::spawn_local(tail_of(stderr));
    let end = match timeout(LIMIT, process.exited()).await {
        Ok(exit) => PreflightEnd::Exited(exit.code),
        Err(_) => PreflightEnd::TimedOut,
    };
    process.stop(Duration::ZERO).await;
    ignored.abort();
    let abort = said.abort_handle();
    let said = match timeout(LAST_WORDS_WITHIN, said).await {
        Ok(said) => said.unwrap_or_default(),
        Err(_) => {
            abort.abort();
            Vec::new()
        }
    };
    review_preflight(&end, &String::from_utf8_lossy(&said))
}

/// The end of a stream, at least as much of it as is looked at.
async fn tail_of(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let kept = STDERR_UNITS_MAX * 3;
    let mut tail = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        tail.extend_from_slice(&buffer[..count]);
        if tail.len() > kept * 2 {
            tail.drain(..tail.len() - kept);
        }
    }
    tail
}
