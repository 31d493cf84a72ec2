//! Containment of the processes of a run: nothing outlives its run (P4).
//!
//! A program runs below a **keeper**, a tiny process of ours that is the reaper of everything under it and watches
//! this process through a pidfd. Stopping is asked of the keeper, and what is believed afterwards is what the keeper
//! saw: no child left, no marked process left. Should the keeper itself be killed, the marker (`IMPRESARIO_RUN` in
//! the environment of every process below it) lets [`sweep`] find what it held.
//!
//! The keeper is started without `pre_exec` and without unsafe code: its standard input is one end of a socket pair
//! whose other end is ours, and the program's own three streams travel through that socket. So it does not matter
//! which of our threads starts it, and when we die in whatever way, the kernel closes our end.
//!
//! On Linux the containment is complete. Other Unix systems get a process group, which is weaker: a process that
//! starts a session of its own escapes it.

mod contained;
mod find;
mod mark;
mod spec;
mod stderr_tail;

#[cfg(target_os = "linux")]
mod attendant;
#[cfg(target_os = "linux")]
pub mod descriptors;
#[cfg(target_os = "linux")]
mod looks;
#[cfg(target_os = "linux")]
mod marks;
#[cfg(any(not(target_os = "linux"), test))]
mod process_group;
#[cfg(target_os = "linux")]
pub mod wire;

pub use contained::{ContainedProcess, Ending, ExitFacts, Streams};
pub use find::find_keeper;
pub use mark::{Mark, Part};
pub use spec::{ContainmentSetting, ProcessSpec, StartError};
pub(crate) use stderr_tail::StderrTail;

#[cfg(target_os = "linux")]
pub use marks::{
    KEEPER_MARKER, Marked, RUN_MARKER, Sweep, SweepReport, contain, contain_part, marked_processes, sweep,
    sweep_stale,
};
#[cfg(not(target_os = "linux"))]
pub use process_group::{RUN_MARKER, SweepReport, contain, contain_part, sweep_stale};

#[cfg(not(unix))]
compile_error!(
    "impresario contains processes with Unix means: build it for Linux, or for macOS with a weaker promise"
);
