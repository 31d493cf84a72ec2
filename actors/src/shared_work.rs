//! Work that many ask for and that one thread can do for all of them: whoever asks while it is being done is served in
//! the next round, together with everybody else who came meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. `Asked` is what one of them brings; it holds what they wait on.
pub(crate) struct SharedWork<Asked> {
    waiting: Mutex<Waiting<Asked>>,
    work: fn(Vec<Asked>),
}

struct Waiting<Asked> {
    asked: Vec<Asked>,
    is_at_work: bool,
    #[cfg(test)]
    rounds: u32,
}

impl<Asked: Send + 'static> SharedWork<Asked> {
    /// Each round is one call of `work`, on a thread that may block.
    pub(crate) fn new(work: fn(Vec<Asked>)) -> Arc<Self> {
        let waiting = Waiting {
            asked: Vec::new(),
            is_at_work: false,
            #[cfg(test)]
            rounds: 0,
        };
        Arc::new(Self {
            waiting: Mutex::new(waiting),
            work,
        })
    }

    /// Is part of the next round. When that breaks, `asked` is dropped.
    pub(crate) fn ask(self: &Arc<Self>, asked: Asked) {
        let mut waiting = self.lock();
        waiting.asked.push(asked);
        let somebody_is_at_work = std::mem::replace(&mut waiting.is_at_work, true);
        // A runtime that is being stopped drops what is spawned at once, and that takes the lock too.
        drop(waiting);
        if !somebody_is_at_work {
            let round = AtWork {
                shared: self.clone(),
                is_done: false,
            };
            tokio::task::spawn_blocking(move || round.work_until_nobody_waits());
        }
    }

    fn next_round(&self) -> Option<Vec<Asked>> {
        let mut waiting = self.lock();
        waiting.is_at_work = !waiting.asked.is_empty();
        #[cfg(test)]
        {
            waiting.rounds += u32::from(waiting.is_at_work);
        }
        waiting.is_at_work.then(|| std::mem::take(&mut waiting.asked))
    }

    #[cfg(test)]
    pub(crate) fn rounds(&self) -> u32 {
        self.lock().rounds
    }
}

impl<Asked> SharedWork<Asked> {
    fn lock(&self) -> MutexGuard<'_, Waiting<Asked>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever does the work. One that breaks, or never begins because its runtime is gone, must not leave those who wait
/// without anybody who comes.
struct AtWork<Asked: Send + 'static> {
    shared: Arc<SharedWork<Asked>>,
    is_done: bool,
}

impl<Asked: Send + 'static> AtWork<Asked> {
    fn work_until_nobody_waits(mut self) {
        while let Some(round) = self.shared.next_round() {
            (self.shared.work)(round);
        }
        self.is_done = true;
    }
}

impl<Asked: Send + 'static> Drop for AtWork<Asked> {
    fn drop(&mut self) {
        if !self.is_done {
            let mut waiting = self.shared.lock();
            waiting.is_at_work = false;
            waiting.asked.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_thousand_who_ask_while_a_round_is_at_work_share_the_next_one() {
        // A round says how many it served; the first one says so only when it is let go.
        type Served = oneshot::Sender<usize>;
        type Hold = Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>;
        let shared = SharedWork::new(|round: Vec<(Served, Hold)>| {
            let size = round.len();
            for (served, hold) in round {
                if let Some((is_at_work, let_go)) = hold {
                    is_at_work.send(()).unwrap();
                    let_go.blocking_recv().unwrap();
                }
                served.send(size).unwrap();
            }
        });
        let ask = |hold: Hold| {
            let (served, size) = oneshot::channel();
            shared.ask((served, hold));
            size
        };
        let (at_work, is_at_work) = oneshot::channel();
        let (let_go, is_let_go) = oneshot::channel();
        let first = ask(Some((at_work, is_let_go)));
        is_at_work.await.unwrap();
        let others = (0..1_000).map(|_| ask(None)).collect::<Vec<_>>();
        let_go.send(()).unwrap();
        assert_eq!(first.await, Ok(1));
        for size in others {
            assert_eq!(size.await, Ok(1_000));
        }
        assert_eq!(shared.rounds(), 2);
    }

    #[tokio::test]
    async fn a_round_that_breaks_is_told_and_the_next_one_is_served() {
        let shared = SharedWork::new(|round: Vec<(bool, oneshot::Sender<()>)>| {
            for (breaks, done) in round {
                assert!(!breaks, "a round that breaks");
                let _ = done.send(());
            }
        });
        for breaks in [true, false, true, false] {
            let (done, is_done) = oneshot::channel();
            shared.ask((breaks, done));
            assert_eq!(is_done.await.is_err(), breaks);
            while shared.lock().is_at_work {
                tokio::task::yield_now().await;
            }
        }
    }
}
