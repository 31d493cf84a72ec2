//! The index of the anchors in the files of sessions.
//!
//! Receives [`RecallAnchors`] from whoever looks for one; asks nobody. It keeps nothing of its own: the index is a file that is
//! made from the sessions' own, and what stands in for one that cannot be written outlives the actor. Reading sessions is
//! linked work on a thread of its own, and each look reads so much at most; the next one goes on.

mod read;
mod store;
#[cfg(test)]
mod tests;
mod wire;

pub use store::{Recalled, SessionFiles, SessionStore};

use crate::context::local::HeavyWork;
use crate::messages::anchors::RecallAnchors;
use crate::supervision::{Actor, Answer, Context, Handles};

pub struct SessionIndex {
    store: SessionStore,
    heavy_work: HeavyWork,
}

impl Actor for SessionIndex {
    const KIND: &'static str = "session index";
    const HANDLES: &'static [&'static str] = &["RecallAnchors"];
}

impl SessionIndex {
    pub fn new(store: SessionStore, heavy_work: HeavyWork) -> Self {
        Self { store, heavy_work }
    }
}

impl Handles<RecallAnchors> for SessionIndex {
    /// Work that panics is an answer too: the index is as it was.
    fn handle(
        &mut self,
        recall: RecallAnchors,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Recalled, String>> {
        let (store, heavy_work) = (self.store.clone(), self.heavy_work);
        Answer::later(async move {
            let look = move || store.recall(&recall.sessions, &recall.directory, &recall.request);
            heavy_work.run(look).await.unwrap_or_else(Err)
        })
    }
}
