//! The overflow memory of one run: results of tools that are too large for the sub-agent's context.
//!
//! Receives [`ReviewToolResult`] and [`ReadOverflow`]; asks the journal, which keeps the entries until the run ends, so
//! nothing is lost with this actor.

use crate::gateways::{ToolVerdict, UnixMillis, WallClock};
use crate::journal::{OverflowContent, OverflowEntry, OverflowListing};
use crate::messages::journal::{FetchOverflow, KeepOverflow, ListOverflow};
use crate::messages::run::{ReadOverflow, ReviewToolResult};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::{AttemptNumber, OverflowSettings, RunId};
use impresario_policies::overflow_memory::{KeepDecision, OverflowFacts, decide_keep};
use impresario_policies::overflow_preview::{replacement_within, too_large_text};
use impresario_policies::overflow_read::{PLACES_MAX, read_page, search_text};
use impresario_policies::overflow_review::{OverflowReview, ToolResultFacts, review_tool_result};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use wire::Wish;

#[cfg(test)]
mod tests;
pub mod wire;

const ASK: Duration = Duration::from_secs(30);

/// Whom the overflow memory reaches.
#[derive(Clone)]
pub struct OverflowPorts {
    pub keep: Port<KeepOverflow>,
    pub fetch: Port<FetchOverflow>,
    pub list: Port<ListOverflow>,
}

pub struct Overflow {
    run: RunId,
    clock: Rc<dyn WallClock>,
    ports: OverflowPorts,
    /// Handles given in this life, by call: a review that is asked for again gives the same verdict.
    kept: BTreeMap<(AttemptNumber, String), u32>,
    /// Results are kept one after the other: what is free is known only when the last one is in the journal.
    turn: Rc<Mutex<()>>,
}

impl Actor for Overflow {
    const KIND: &'static str = "overflow";
    const HANDLES: &'static [&'static str] = &["ReviewToolResult", "ReadOverflow"];
}

impl Overflow {
    /// The memory of `run`.
    pub fn new(run: RunId, clock: Rc<dyn WallClock>, ports: OverflowPorts) -> Self {
        Self {
            run,
            clock,
            ports,
            kept: BTreeMap::new(),
            turn: Rc::default(),
        }
    }
}

impl Handles<ReviewToolResult> for Overflow {
    fn handle(&mut self, review: ReviewToolResult, _: &mut Context<Self>) -> Answer<Self, ToolVerdict> {
        let facts = ToolResultFacts {
            server: "",
            tool: &review.tool,
            bytes: review.result.len(),
        };
        let OverflowReview::KeepAside { ceiling } = review_tool_result(&facts, &review.limits.ceilings)
        else {
            return Answer::now(ToolVerdict::Pass);
        };
        let call = (review.attempt, review.call.clone());
        let keeping = Keeping {
            ports: self.ports.clone(),
            run: self.run.clone(),
            at: self.clock.now(),
            known: self.kept.get(&call).copied(),
            ceiling,
        };
        let turn = self.turn.clone();
        let work = async move {
            let _turn = turn.lock().await;
            keeping.keep(review).await
        };
        Answer::then(work, move |overflow: &mut Self, kept, _| match kept {
            Ok((handle, verdict)) => {
                overflow.kept.insert(call, handle);
                verdict
            }
            Err((why, verdict)) => {
                tracing::warn!(run.id = %overflow.run, why, "tool result not kept");
                verdict
            }
        })
    }
}

/// One result on its way into the journal.
struct Keeping {
    ports: OverflowPorts,
    run: RunId,
    at: UnixMillis,
    /// The handle it was given before, in this life of the actor.
    known: Option<u32>,
    ceiling: usize,
}

impl Keeping {
    /// Keeps it under its handle; else says why not, and the verdict refuses it.
    async fn keep(self, review: ReviewToolResult) -> Result<(u32, ToolVerdict), (String, ToolVerdict)> {
        let refused = ToolVerdict::Replace {
            text: too_large_text(&review.tool, review.result.len(), self.ceiling),
            overflow: None,
        };
        let handle = match self.known {
            Some(handle) => Ok(handle),
            None => self.free_handle(review.result.len(), &review.limits.memory).await,
        };
        let handle = match handle {
            Ok(handle) => handle,
            Err(why) => return Err((why, refused)),
        };
        let id = format!("overflow_{handle}");
        let text = replacement_within(&id, &review.result, &review.limits.memory, self.ceiling);
        match self.put(handle, review).await {
            Ok(()) => Ok((
                handle,
                ToolVerdict::Replace {
                    text,
                    overflow: Some(id),
                },
            )),
            Err(why) => Err((why, refused)),
        }
    }

    /// The next handle, if the run may keep so much more.
    async fn free_handle(&self, bytes: usize, memory: &OverflowSettings) -> Result<u32, String> {
        let listing = list(&self.ports, &self.run).await?;
        let held = listing.entries.iter().map(|entry| entry.bytes as usize).sum();
        let facts = OverflowFacts {
            disposed: false,
            entries: listing.entries.len(),
            bytes: held,
        };
        match decide_keep(bytes, &facts, memory) {
            KeepDecision::Keep { .. } => Ok(listing.next_handle),
            KeepDecision::Refuse(refusal) => Err(format!("{refusal:?}")),
        }
    }

    async fn put(self, handle: u32, review: ReviewToolResult) -> Result<(), String> {
        let entry = OverflowEntry {
            handle,
            server: String::new(),
            tool: review.tool,
            at: self.at,
            bytes: review.result.len() as u64,
        };
        let message = KeepOverflow {
            run: self.run,
            entry,
            content: Arc::from(review.result),
        };
        let kept = self.ports.keep.ask_again(message, ASK).await;
        kept.map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())
    }
}

async fn list(ports: &OverflowPorts, run: &RunId) -> Result<OverflowListing, String> {
    let listing = ports.list.ask_again(ListOverflow { run: run.clone() }, ASK).await;
    listing
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

impl Handles<ReadOverflow> for Overflow {
    fn handle(&mut self, read: ReadOverflow, _: &mut Context<Self>) -> Answer<Self, Result<String, String>> {
        match wire::read_wish(&read.tool, &read.arguments) {
            Ok(wish) => Answer::later(fulfil(self.ports.clone(), self.run.clone(), wish)),
            Err(why) => Answer::now(Err(why)),
        }
    }
}

async fn fulfil(ports: OverflowPorts, run: RunId, wish: Wish) -> Result<String, String> {
    match wish {
        Wish::List => Ok(wire::entries(&list(&ports, &run).await?.entries).to_string()),
        Wish::Read {
            handle,
            offset,
            limit,
        } => {
            let text = fetch(&ports, run, handle).await?;
            Ok(wire::page(&read_page(&text, offset, limit)))
        }
        Wish::Search { handle, query } => {
            let text = fetch(&ports, run, handle).await?;
            let (places, count) = search_text(&text, &query, PLACES_MAX);
            Ok(wire::places(&places, count))
        }
    }
}

async fn fetch(ports: &OverflowPorts, run: RunId, handle: u32) -> Result<OverflowContent, String> {
    let found = ports.fetch.ask_again(FetchOverflow { run, handle }, ASK).await;
    let found = found
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    found.ok_or_else(|| {
        format!(
            "Unknown overflow handle: overflow_{handle}. What was kept goes with the run that kept it; call the tool again."
        )
    })
}
