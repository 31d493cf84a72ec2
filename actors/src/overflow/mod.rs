//! The overflow memory of one run: results of tools that are too large for the sub-agent's context.
//!
//! Receives [`ReviewToolResult`] and [`ReadOverflow`]; asks the journal, which keeps the entries until the run ends, so
//! nothing is lost with this actor.

use crate::gateways::{ToolVerdict, UnixMillis, WallClock};
use crate::journal::{OverflowContent, OverflowEntry, OverflowListing};
use crate::messages::journal::{FetchOverflow, KeepOverflow, ListOverflow};
use crate::messages::run::{ReadOverflow, ReviewToolResult};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::RunId;
use impresario_policies::overflow_memory::{KeepDecision, OverflowFacts, OverflowSettings, decide_keep};
use impresario_policies::overflow_preview::{TOO_LARGE, preview_within, replacement_text};
use impresario_policies::overflow_read::{PLACES_MAX, read_page, search_text};
use impresario_policies::overflow_review::{
    OverflowReview, ToolCeiling, ToolResultFacts, review_tool_result,
};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wire::Wish;

mod wire;

const ASK: Duration = Duration::from_secs(30);
/// What a sub-agent calls to read on.
const READ_TOOL: &str = "overflow_read";
/// What it calls to find a place.
const SEARCH_TOOL: &str = "overflow_search";
/// What the replacement says besides the preview has at most so many bytes.
const WORDS_AROUND_BYTES: usize = 512;
/// As the peer has them (pi-auggie-router 1.4.1, `contextMemory`), but on: its own default loses the result.
const SETTINGS: OverflowSettings = OverflowSettings {
    enabled: true,
    entries_max: 64,
    bytes_max: 64_000_000,
    preview_head_units: 4_000,
    preview_tail_units: 4_000,
};

/// Whom the overflow memory reaches.
#[derive(Clone)]
pub struct OverflowPorts {
    /// Keeps a result.
    pub keep: Port<KeepOverflow>,
    /// Reads one.
    pub fetch: Port<FetchOverflow>,
    /// Lists them.
    pub list: Port<ListOverflow>,
}

/// See the module.
pub struct Overflow {
    run: RunId,
    clock: Rc<dyn WallClock>,
    ports: OverflowPorts,
    /// Handles given in this life, by call: a review that is asked for again gives the same verdict.
    kept: BTreeMap<String, u32>,
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
        }
    }
}

impl Handles<ReviewToolResult> for Overflow {
    fn handle(&mut self, review: ReviewToolResult, _: &mut Context<Self>) -> Answer<Self, ToolVerdict> {
        let ceiling = [ToolCeiling {
            server: None,
            tool: None,
            bytes_max: Some(review.ceiling_bytes as usize),
        }];
        let facts = ToolResultFacts {
            server: "",
            tool: &review.tool,
            bytes: review.result.len(),
        };
        let OverflowReview::KeepAside { ceiling } = review_tool_result(&facts, &ceiling) else {
            return Answer::now(ToolVerdict::Pass);
        };
        let call = review.call.clone();
        let known = self.kept.get(&call).copied();
        let keeping = keep(
            self.ports.clone(),
            self.run.clone(),
            self.clock.now(),
            known,
            ceiling,
            review,
        );
        Answer::then(keeping, move |overflow: &mut Self, kept, _| match kept {
            Ok(Kept { handle, text }) => {
                overflow.kept.insert(call, handle);
                ToolVerdict::Replace {
                    text,
                    overflow: format!("overflow_{handle}"),
                }
            }
            Err(why) => {
                tracing::warn!(run.id = %overflow.run, why, "tool result not kept");
                ToolVerdict::Replace {
                    text: TOO_LARGE.to_string(),
                    overflow: String::new(),
                }
            }
        })
    }
}

/// A result that is in the journal now.
struct Kept {
    handle: u32,
    /// What stands in its place.
    text: String,
}

async fn keep(
    ports: OverflowPorts,
    run: RunId,
    at: UnixMillis,
    known: Option<u32>,
    ceiling: usize,
    review: ReviewToolResult,
) -> Result<Kept, String> {
    let bytes = review.result.len();
    let handle = match known {
        Some(handle) => handle,
        None => free_handle(&ports, &run, bytes).await?,
    };
    let preview_max = ceiling.saturating_sub(WORDS_AROUND_BYTES);
    let preview = preview_within(
        &review.result,
        SETTINGS.preview_head_units,
        SETTINGS.preview_tail_units,
        preview_max,
    );
    let text = replacement_text(
        &format!("overflow_{handle}"),
        bytes,
        &preview,
        READ_TOOL,
        SEARCH_TOOL,
    );
    let entry = OverflowEntry {
        handle,
        server: String::new(),
        tool: review.tool,
        at,
        bytes: bytes as u64,
    };
    let message = KeepOverflow {
        run,
        entry,
        content: Arc::from(review.result),
    };
    let kept = ports
        .keep
        .ask_again(message, ASK)
        .await
        .map_err(|error| error.to_string())?;
    kept.map_err(|error| error.to_string())?;
    Ok(Kept { handle, text })
}

/// The next handle, if the run may keep so much more.
async fn free_handle(ports: &OverflowPorts, run: &RunId, bytes: usize) -> Result<u32, String> {
    let listing = list(ports, run).await?;
    let held = listing.entries.iter().map(|entry| entry.bytes as usize).sum();
    let facts = OverflowFacts {
        disposed: false,
        entries: listing.entries.len(),
        bytes: held,
    };
    match decide_keep(bytes, &facts, &SETTINGS) {
        KeepDecision::Keep { .. } => Ok(listing.next_handle),
        KeepDecision::Refuse(refusal) => Err(format!("{refusal:?}")),
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
        Wish::List => Ok(wire::entries(&list(&ports, &run).await?.entries)),
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
    found.ok_or_else(|| format!("Unknown overflow handle: overflow_{handle}"))
}
