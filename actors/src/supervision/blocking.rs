//! Work that computes for longer than a handler may, linked to its actor.

use super::panic_hook;

/// Where such work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocking {
    /// On tokio's threads for blocking work.
    #[default]
    Threads,
    /// On the thread of the actors, so that a paused clock stays true.
    Inline,
}

impl Blocking {
    /// Runs `work`; a panic in it unwinds here, with its own place.
    pub(super) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match self {
            Self::Inline => {
                tokio::task::yield_now().await;
                work()
            }
            Self::Threads => match tokio::task::spawn_blocking(|| panic_hook::guard(work)).await {
                Ok(Ok(output)) => output,
                Ok(Err(exit)) => panic_hook::raise(exit),
                Err(_) => std::future::pending().await, // the scheduler is going away, and we with it
            },
        }
    }
}
