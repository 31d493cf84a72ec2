//! Where a panic happened. The default hook prints, and with a backtrace makes a restart thirty times slower.

use super::Exit;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static IN_ACTOR: Cell<bool> = const { Cell::new(false) };
    static LAST_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs, once for the process, a panic hook that remembers the place of each panic in an actor instead of
/// printing it; panics elsewhere go to the hook that was there before.
pub fn install_panic_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IN_ACTOR.try_with(Cell::get).unwrap_or(false) {
                return previous(panic);
            }
            let place = panic
                .location()
                .map(|place| format!("{}:{}", place.file(), place.line()));
            let _ = LAST_PLACE.try_with(|last| last.replace(place));
        }));
    });
}

/// Runs a piece of an actor; a panic in it becomes an exit.
pub(super) fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Exit> {
    let outside = IN_ACTOR.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IN_ACTOR.set(outside);
    outcome.map_err(read_panic)
}

fn read_panic(payload: Box<dyn Any + Send>) -> Exit {
    let place = LAST_PLACE.take();
    let payload = match payload.downcast::<Exit>() {
        Ok(exit) => return *exit,
        Err(payload) => payload,
    };
    let message = if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).into()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.as_str().into()
    } else {
        "a panic without a text".into()
    };
    let at = place.as_deref().unwrap_or("an unknown place").into();
    Exit::Panicked { message, at }
}
