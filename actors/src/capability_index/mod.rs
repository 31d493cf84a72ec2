//! The index of what can be used: skills, tools, tools of MCP servers, agents.
//!
//! Receives [`IndexCapabilities`] when a session begins or something changed, [`SearchCapabilities`] and [`FindCapability`] from
//! whoever looks for something, [`CapabilityUsed`] and [`ReadUses`]; asks nobody. It keeps nothing of its own: the index is a
//! file, and what stands in for one that cannot be written outlives the actor. Every look at it is linked work on a thread of
//! its own, because a large index takes longer than a handler may.

mod store;
#[cfg(test)]
mod tests;

pub use store::{CapabilitiesFound, CapabilityHit, CapabilityStore, Indexed};

use crate::context::local::HeavyWork;
use crate::messages::capabilities::{
    CapabilityUsed, FindCapability, IndexCapabilities, ReadUses, SearchCapabilities,
};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::capability::promotion::Use;
use impresario_policies::capability::{Capability, CapabilityKind};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityRequest {
    /// In words.
    pub query: String,
    /// Only this kind.
    pub kind: Option<CapabilityKind>,
    pub hits_max: usize,
}

pub struct CapabilityIndex {
    store: CapabilityStore,
    heavy_work: HeavyWork,
}

impl Actor for CapabilityIndex {
    const KIND: &'static str = "capability index";
    const HANDLES: &'static [&'static str] = &[
        "IndexCapabilities",
        "SearchCapabilities",
        "FindCapability",
        "CapabilityUsed",
        "ReadUses",
    ];
}

impl CapabilityIndex {
    pub fn new(store: CapabilityStore, heavy_work: HeavyWork) -> Self {
        Self { store, heavy_work }
    }

    /// Work that panics is an answer too: the index is as it was.
    fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CapabilityStore) -> Result<T, String> + Send + 'static,
    ) -> Answer<Self, Result<T, String>> {
        let (store, heavy_work) = (self.store.clone(), self.heavy_work);
        Answer::later(async move { heavy_work.run(move || work(&store)).await.unwrap_or_else(Err) })
    }
}

impl Handles<IndexCapabilities> for CapabilityIndex {
    fn handle(
        &mut self,
        index: IndexCapabilities,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Indexed, String>> {
        self.look(move |store| store.index(&index.scope, &index.all))
    }
}

impl Handles<SearchCapabilities> for CapabilityIndex {
    fn handle(
        &mut self,
        search: SearchCapabilities,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<CapabilitiesFound, String>> {
        self.look(move |store| store.search(&search.scope, &search.request))
    }
}

impl Handles<FindCapability> for CapabilityIndex {
    fn handle(
        &mut self,
        find: FindCapability,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Option<Capability>, String>> {
        self.look(move |store| store.find(&find.scope, &find.id))
    }
}

impl Handles<CapabilityUsed> for CapabilityIndex {
    fn handle(&mut self, used: CapabilityUsed, _: &mut Context<Self>) -> Answer<Self, ()> {
        let (store, heavy_work) = (self.store.clone(), self.heavy_work);
        Answer::later(async move {
            let noted = heavy_work
                .run(move || store.note_use(&used.scope, &used.id, used.at))
                .await;
            if let Err(why) = noted.unwrap_or_else(Err) {
                tracing::warn!(why, "what was used is not counted");
            }
        })
    }
}

impl Handles<ReadUses> for CapabilityIndex {
    fn handle(&mut self, read: ReadUses, _: &mut Context<Self>) -> Answer<Self, Result<Vec<Use>, String>> {
        self.look(move |store| store.uses(&read.scope))
    }
}
