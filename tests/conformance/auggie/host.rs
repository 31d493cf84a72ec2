//! Is the retrieval engine there?

use crate::vectors::{Answer, Case};
use impresario_policies::preflight::{PreflightEnd, review_preflight};
use impresario_test_support::programs::write_program;
use serde_json::json;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub fn preflight(case: &Case) -> Answer {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("auggie-check");
    if let Some(script) = case.get("script").as_str() {
        let mode = case.get("mode").as_number().map_or(0o755, |mode| mode as u32);
        write_program(&program, script, mode);
    }
    let mut command = Command::new(&program);
    command
        .args(["account", "status"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => "spawn-enoent",
                std::io::ErrorKind::PermissionDenied => "spawn-eacces",
                _ => "spawn-error",
            };
            let refused = review_preflight(&PreflightEnd::NotStarted(error.to_string()), "");
            return Answer::value(json!({"ok": refused.is_ok(), "detail_kind": kind}));
        }
    };
    let end = wait(
        &mut child,
        // What ends by itself has more time, for a machine that is busy; what does not is given up all the same.
        10 * Duration::from_millis(case.number("timeout_ms") as u64),
    );
    let mut stderr = Vec::new();
    if let (PreflightEnd::Exited(_), Some(mut pipe)) = (&end, child.stderr.take()) {
        pipe.read_to_end(&mut stderr).expect("what it wrote");
    }
    let verdict = review_preflight(&end, &String::from_utf8_lossy(&stderr));
    Answer::value(json!({"ok": verdict.is_ok(), "detail": verdict.err().unwrap_or_default()}))
}

fn wait(child: &mut Child, within: Duration) -> PreflightEnd {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait().expect("its status") {
            return PreflightEnd::Exited(status.code());
        }
        if Instant::now() >= deadline {
            child.kill().expect("stopped");
            child.wait().expect("gone");
            return PreflightEnd::TimedOut;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
