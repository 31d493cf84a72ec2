//! The overflow memory of one run: results of tools that are too large for the sub-agent's context.
//!
//! Receives [`ReviewToolResult`] and [`ReadOverflow`]; asks the journal, which keeps the entries until the run ends, so
//! nothing is lost with this actor.

use crate::gateways::{ToolVerdict, UnixMillis, WallClock};
use crate::journal::OverflowEntry;
use crate::messages::journal::{FetchOverflow, KeepOverflow, ListOverflow};
use crate::messages::run::{ReadOverflow, ReviewToolResult};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::RunId;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const ASK: Duration = Duration::from_secs(30);

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
        if review.result.len() as u64 <= review.ceiling_bytes {
            return Answer::now(ToolVerdict::Pass);
        }
        let known = self.kept.get(&review.call).copied();
        let (call, tool) = (review.call.clone(), review.tool.clone());
        let keeping = keep(
            self.ports.clone(),
            self.run.clone(),
            self.clock.now(),
            known,
            review,
        );
        Answer::then(keeping, move |overflow: &mut Self, kept, _| {
            let _ = tool;
            match kept {
                Ok((handle, text)) => {
                    overflow.kept.insert(call, handle);
                    ToolVerdict::Replace {
                        text,
                        overflow: format!("overflow_{handle}"),
                    }
                }
                Err(why) => {
                    tracing::warn!(run.id = %overflow.run, why, "tool result not kept");
                    ToolVerdict::Replace {
                        text: REFUSED.to_string(),
                        overflow: String::new(),
                    }
                }
            }
        })
    }
}

/// In the peer's words (pi-auggie-router 1.4.1), for a result that could not be kept.
const REFUSED: &str = "Result too large. Please refine your query to be more specific.";

/// Puts a result into the journal and says what stands in its place.
async fn keep(
    ports: OverflowPorts,
    run: RunId,
    at: UnixMillis,
    known: Option<u32>,
    review: ReviewToolResult,
) -> Result<(u32, String), String> {
    let handle = match known {
        Some(handle) => handle,
        None => next_handle(&ports, &run).await?,
    };
    let text = review.result.clone();
    let entry = OverflowEntry {
        handle,
        server: String::new(),
        tool: review.tool,
        at,
        bytes: review.result.len() as u64,
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
    Ok((handle, text))
}

async fn next_handle(ports: &OverflowPorts, run: &RunId) -> Result<u32, String> {
    let listing = ports.list.ask_again(ListOverflow { run: run.clone() }, ASK).await;
    let listing = listing
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    Ok(listing.next_handle)
}

impl Handles<ReadOverflow> for Overflow {
    fn handle(&mut self, read: ReadOverflow, _: &mut Context<Self>) -> Answer<Self, Result<String, String>> {
        let _ = (
            read,
            FetchOverflow {
                run: self.run.clone(),
                handle: 0,
            },
        );
        Answer::now(Err("no such tool".to_string()))
    }
}
