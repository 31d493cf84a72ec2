//! Where code of the program that embeds us runs: its tools, its models, its host.
//!
//! Never on the thread of the actors: one call that blocks there would hold up every run, every cancellation and every
//! clock. Each call has a thread to itself for as long as it takes, so that a call that blocks holds up nobody but
//! itself; what it spawns runs on a worker beside it. A call nobody waits for any more is dropped at its next `await`;
//! one that blocks cannot be ended by anybody, and keeps its thread until it returns.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// So many calls of the program are under way at a time; further ones wait for a thread.
pub const PROGRAM_CALLS_MAX: usize = 512;

/// Threads for code of the program. Clones share them; the last one lets go of them without waiting.
#[derive(Clone)]
pub struct ProgramThreads(Place);

#[derive(Clone)]
enum Place {
    Aside(Arc<Threads>),
    Inline,
}

struct Threads {
    /// Taken at the end only: it is let go of in the background, because a call may never return.
    runtime: Option<Runtime>,
    calls: Arc<Calls>,
}

/// The calls that wait for a thread. Under load a thread that is done with one takes the next, and nobody is woken for
/// each; but whoever takes one and leaves others behind has a thread woken for them first, for it may never return.
#[derive(Default)]
struct Calls(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    calls: VecDeque<Call>,
    /// A thread is on its way to take the first of them.
    is_one_coming: bool,
}

type Call = Box<dyn FnOnce() + Send>;

impl Calls {
    fn add(self: &Arc<Self>, call: Call, on: &Handle) {
        let mut waiting = self.lock();
        waiting.calls.push_back(call);
        self.send_one_for(waiting, on);
    }

    fn send_one_for(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>, on: &Handle) {
        let is_needed = !waiting.calls.is_empty() && !waiting.is_one_coming;
        waiting.is_one_coming |= is_needed;
        // A runtime that is being stopped drops what is spawned at once.
        drop(waiting);
        if is_needed {
            let (calls, own) = (self.clone(), on.clone());
            drop(on.spawn_blocking(move || calls.work(&own)));
        }
    }

    fn work(self: &Arc<Self>, on: &Handle) {
        let mut has_come = true;
        loop {
            let mut waiting = self.lock();
            waiting.is_one_coming &= !std::mem::take(&mut has_come);
            let Some(call) = waiting.calls.pop_front() else {
                return;
            };
            self.send_one_for(waiting, on);
            call();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Whoever waits for one of them is told that it was stopped.
        let never_begun = std::mem::take(&mut self.calls.lock().calls);
        drop(never_begun);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why a call of the program's code brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallLost {
    #[error("it panicked: {0}")]
    Panicked(String),
    #[error("the runtime is being stopped")]
    Stopped,
}

impl ProgramThreads {
    /// Threads beside the actors' one; they come and go with the calls.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .thread_name("impresario-program")
            .worker_threads(1)
            .max_blocking_threads(PROGRAM_CALLS_MAX)
            .enable_all()
            .build()?;
        let runtime = Some(runtime);
        let calls = Arc::default();
        Ok(Self(Place::Aside(Arc::new(Threads { runtime, calls }))))
    }

    /// Where it is asked for: a simulation has one thread.
    pub fn inline() -> Self {
        Self(Place::Inline)
    }

    /// Makes a call. The future is made and polled on the thread of the call; it ends when nobody waits for it.
    pub async fn call<T, F>(&self, begin: impl FnOnce() -> F + Send + 'static) -> Result<T, CallLost>
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        let Place::Aside(threads) = &self.0 else {
            let work = AssertUnwindSafe(async { begin().await });
            return work.catch_unwind().await.map_err(|panic| panicked(&*panic));
        };
        let Some(runtime) = &threads.runtime else {
            return Err(CallLost::Stopped);
        };
        let nobody_waits = CancellationToken::new();
        let _waiting = nobody_waits.clone().drop_guard();
        let on = runtime.handle().clone();
        let (tell, told) = oneshot::channel();
        let work = move || {
            let call = || {
                on.block_on(async {
                    tokio::select! {
                        biased;
                        () = nobody_waits.cancelled() => None,
                        done = begin() => Some(done),
                    }
                })
            };
            // Nobody waits any more when the asker went.
            let _ = tell.send(std::panic::catch_unwind(AssertUnwindSafe(call)));
        };
        threads.calls.add(Box::new(work), runtime.handle());
        match told.await {
            Ok(Ok(Some(done))) => Ok(done),
            Ok(Err(panic)) => Err(panicked(&*panic)),
            Ok(Ok(None)) | Err(_) => Err(CallLost::Stopped),
        }
    }

    /// Lets a thread work through what it is sent, in order, until `work` returns.
    pub fn keep_busy(&self, work: impl FnOnce() + Send + 'static) {
        match &self.0 {
            Place::Aside(threads) => {
                if let Some(runtime) = &threads.runtime {
                    drop(runtime.spawn_blocking(work));
                }
            }
            Place::Inline => drop(tokio::task::spawn_blocking(work)),
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> CallLost {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
    CallLost::Panicked(said.unwrap_or("without a word").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::oneshot;

    fn threads() -> ProgramThreads {
        ProgramThreads::start().expect("threads")
    }

    #[tokio::test]
    async fn calls_that_block_hold_up_nobody() {
        let threads = threads();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let blocked = threads.call(move || async move { held.recv().is_ok() });
        let mut blocked = Box::pin(blocked);
        assert!(blocked.as_mut().now_or_never().is_none());
        assert_eq!(threads.call(|| async { 7 }).await, Ok(7));
        release.send(()).expect("it waits");
        assert_eq!(blocked.await, Ok(true));
    }

    /// All of them wait before a thread has come for the first one.
    #[tokio::test]
    async fn calls_that_came_together_have_a_thread_each_when_each_needs_one() {
        const CALLS: usize = 16;
        let threads = threads();
        let all_are_there = Arc::new(std::sync::Barrier::new(CALLS));
        let calls = (0..CALLS).map(|_| {
            let all_are_there = all_are_there.clone();
            threads.call(move || async move { all_are_there.wait().is_leader() })
        });
        let all = futures_util::future::join_all(calls).await;
        assert_eq!(all.iter().filter(|is_last| **is_last == Ok(true)).count(), 1);
        assert!(all.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn a_panic_is_told_and_costs_that_call_only() {
        let threads = threads();
        let lost = threads.call(|| async { panic!("no {}", "luck") }).await;
        assert_eq!(lost, Err::<(), _>(CallLost::Panicked("no luck".to_string())));
        assert_eq!(threads.call(|| async { 7 }).await, Ok(7));
        let inline = ProgramThreads::inline();
        let lost = inline.call(|| async { panic!("no luck") }).await;
        assert_eq!(lost, Err::<(), _>(CallLost::Panicked("no luck".to_string())));
    }

    #[tokio::test]
    async fn a_call_nobody_waits_for_is_dropped() {
        struct Tells(Option<oneshot::Sender<()>>);
        impl Drop for Tells {
            fn drop(&mut self) {
                let _ = self.0.take().map(|gone| gone.send(()));
            }
        }
        let threads = threads();
        let (gone, is_gone) = oneshot::channel();
        let tells = Tells(Some(gone));
        let call = threads.call(move || async move {
            let _tells = tells;
            std::future::pending::<()>().await
        });
        assert!(
            tokio::time::timeout(Duration::from_millis(20), call)
                .await
                .is_err()
        );
        is_gone.await.expect("it was dropped");
    }

    #[tokio::test]
    async fn time_and_tasks_work_in_a_call() {
        let threads = threads();
        let slept = threads.call(|| async {
            let task = tokio::spawn(async { tokio::time::sleep(Duration::from_millis(1)).await });
            task.await.is_ok()
        });
        assert_eq!(slept.await, Ok(true));
    }
}
