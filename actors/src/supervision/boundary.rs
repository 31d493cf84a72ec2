//! The places where chaos may strike: before and after every message of every actor.

use super::{Exit, Name};
use std::cell::{Cell, RefCell};

/// One side of the handling of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    pub kind: &'static str,
    pub name: Name,
    pub incarnation: u64,
    pub message: &'static str,
    pub when: When,
}

/// Which side of a handler. After means: its work is done, that of its linked answer too, and no reply is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum When {
    /// The message was not in_flight; killed here, it goes to the next incarnation.
    Before,
    /// The effect is done, the reply is not out; killed here, the asker learns `Died`.
    After,
}

/// What a hook wants to happen at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Panic,
    /// The actor is killed without a panic; no hook of it runs.
    Stop,
}

/// Decides at every boundary on its thread.
pub type BoundaryHook = Box<dyn FnMut(&Boundary) -> Verdict>;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static HOOK: RefCell<Option<BoundaryHook>> = const { RefCell::new(None) };
}

/// Installs a hook for all actors on this thread, or removes it.
pub fn set_boundary_hook(hook: Option<BoundaryHook>) {
    WATCHED.set(hook.is_some());
    HOOK.set(hook);
}

pub(super) fn is_watched() -> bool {
    WATCHED.get()
}

/// The hook is out of its place while it runs, so that it may replace itself.
pub(super) fn judge(
    kind: &'static str,
    name: &Name,
    incarnation: u64,
    message: &'static str,
    when: When,
) -> Verdict {
    let Some(mut hook) = HOOK.take() else {
        return Verdict::Pass;
    };
    let verdict = hook(&Boundary {
        kind,
        name: name.clone(),
        incarnation,
        message,
        when,
    });
    if WATCHED.get() {
        HOOK.with_borrow_mut(|place| {
            place.get_or_insert(hook);
        });
    }
    verdict
}

/// Unwinds as a panic would, without the noise of the panic hook.
pub(super) fn panic_there(message: &'static str, when: When) -> ! {
    let exit = Exit::Panicked {
        message: format!("killed at a boundary: {when:?} {message}").into(),
        at: "boundary".into(),
    };
    std::panic::resume_unwind(Box::new(exit))
}
