//! The keeper: a tiny process that holds one program of a run and everything the program starts.
//!
//! It is the reaper of all of them, watches the runtime, and ends when nothing is left. One executable plays four
//! roles, each a process that does one thing, so that no role needs `fork` or `pre_exec`:
//!
//! - **keep** ([`keep`]): subreaper; hears the runtime over its standard input; asks, waits, kills, reaps, reports.
//! - **namespace** ([`namespace`]): enters a new PID namespace, starts its init, and goes away.
//! - **init** ([`namespace`]): the first process of the namespace; the kernel kills the rest when it goes.
//! - **launch** ([`launch`]): asks for a signal at its parent's death, puts the streams in place, becomes the program.
//!
//! Each hears its parent over a socket pair that is its standard input ([`channel`]). `docs/adr/0004-keeper.md` says
//! why it is built like this.

mod channel;
mod hold;
mod keep;
mod launch;
mod namespace;
mod tree;
mod wire;

use impresario_actors::processes::wire::ROLE_KEEP;
use std::env;
use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

const ROLE_NAMESPACE: &str = "impresario-keeper:namespace";
const ROLE_INIT: &str = "impresario-keeper:init";
const ROLE_LAUNCH: &str = "impresario-keeper:launch";

/// Whether this program said that it plays the keeper when it is started as one.
static PLAYS_KEEPER: AtomicBool = AtomicBool::new(false);

/// Plays the keeper if this process was started as one, and then never returns; returns at once otherwise.
///
/// A program that wants to be its own keeper calls this first thing in `main`, before any thread is started. From then
/// on runtimes in it need no other keeper: they start this program's own executable as one.
pub fn keeper_main() {
    PLAYS_KEEPER.store(true, Ordering::Relaxed);
    let Some(role) = env::args_os().nth(1) else { return };
    match role.to_str() {
        Some(ROLE_KEEP) => exit(keep::run()),
        Some(ROLE_NAMESPACE) => exit(namespace::run_opener()),
        Some(ROLE_INIT) => exit(namespace::run_init()),
        Some(ROLE_LAUNCH) => exit(launch::run()),
        _ => {}
    }
}

/// This program's own executable, if it plays the keeper. No program is ever started again that did not say so.
pub(crate) fn own_keeper() -> Option<PathBuf> {
    if !PLAYS_KEEPER.load(Ordering::Relaxed) {
        return None;
    }
    // An executable that was replaced while it runs has no path any more, but the kernel still has it.
    let ours = env::current_exe().ok().filter(|path| path.is_file());
    Some(ours.unwrap_or_else(|| PathBuf::from("/proc/self/exe")))
}
