//! Facts about the memory of a run, over a simulated journal and a paused clock.

use super::{Overflow, OverflowPorts};
use crate::gateways::{SystemWallClock, ToolVerdict};
use crate::journal::tests::disk::SimulatedDisk;
use crate::journal::tests::samples::{accepted, rows, run, runtime};
use crate::journal::{Journal, JournalAccess, Store};
use crate::messages::run::{ReadOverflow, ReviewToolResult};
use crate::supervision::{Child, Port, Root, RootSettings, SupervisorSettings, supervisor};
use futures_util::future::join_all;
use impresario_policies::domain::{AttemptNumber, OverflowSettings};
use impresario_policies::overflow_preview::TOO_LARGE;
use impresario_policies::overflow_review::ResultLimits;
use serde_json::json;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const CEILING: u64 = 1_000;

struct Ports {
    review: Port<ReviewToolResult>,
    read: Port<ReadOverflow>,
}

/// The memory of a run, at work over a journal that takes its time.
fn with_memory<S: Future<Output = ()>>(story: impl FnOnce(Ports) -> S) {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&tokio, async {
        let mut store = SimulatedDisk::new().open(&runtime(1));
        store
            .commit(&rows(&run(1), [accepted()]))
            .expect("a run to keep for");
        let access = JournalAccess::inline(store, 7, Duration::from_millis(40));
        let journal = Child::new("journal", move |_| Journal::new(access.clone()));
        let ports = OverflowPorts {
            keep: journal.port(),
            fetch: journal.port(),
            list: journal.port(),
        };
        let overflow = Child::new("overflow", move |_| {
            Overflow::new(run(1), Rc::new(SystemWallClock), ports.clone())
        });
        let (review, read) = (overflow.port(), overflow.port());
        let top = supervisor(
            "root",
            SupervisorSettings::default(),
            vec![journal.spec(), overflow.spec()],
        );
        let root = Root::start_local(top, RootSettings::default()).await;
        story(Ports { review, read }).await;
        root.shutdown(SOON).await;
    });
}

fn result_of(call: &str, entries_max: usize) -> ReviewToolResult {
    let memory = OverflowSettings {
        entries_max,
        ..OverflowSettings::default()
    };
    ReviewToolResult {
        attempt: AttemptNumber(1),
        call: call.to_string(),
        tool: "codebase-retrieval".to_string(),
        result: format!("{call} ").repeat(1_000),
        limits: Arc::new(ResultLimits::of(&BTreeMap::new(), CEILING, memory)),
    }
}

async fn review_all(ports: &Ports, calls: &[&str], entries_max: usize) -> Vec<(Option<String>, String)> {
    let asked = calls
        .iter()
        .map(|call| ports.review.ask_again(result_of(call, entries_max), SOON));
    let verdicts = join_all(asked).await.into_iter();
    verdicts
        .map(|verdict| match verdict {
            Ok(ToolVerdict::Replace { text, overflow }) => (overflow, text),
            other => panic!("not replaced: {other:?}"),
        })
        .collect()
}

#[test]
fn results_that_come_at_once_are_kept_under_handles_of_their_own() {
    with_memory(async |ports| {
        let kept = review_all(&ports, &["one", "two", "three"], 64).await;
        let handles: Vec<&str> = kept.iter().filter_map(|(handle, _)| handle.as_deref()).collect();
        assert_eq!(handles, ["overflow_1", "overflow_2", "overflow_3"]);
        for (id, begins) in [
            ("overflow_1", "one"),
            ("overflow_2", "two"),
            ("overflow_3", "three"),
        ] {
            let read = ReadOverflow {
                tool: "read".to_string(),
                arguments: json!({ "id": id, "limit": begins.len() }),
            };
            let page = ports.read.ask_again(read, SOON).await.expect("an answer");
            assert!(page.as_ref().is_ok_and(|page| page.contains(begins)), "{page:?}");
        }
    });
}

#[test]
fn no_more_is_kept_than_is_set_however_many_come_at_once() {
    with_memory(async |ports| {
        let kept = review_all(&ports, &["one", "two", "three"], 2).await;
        assert_eq!(kept[2], (None, TOO_LARGE.to_string()));
        assert!(kept[..2].iter().all(|(handle, _)| handle.is_some()));
    });
}

#[test]
fn a_call_that_is_reviewed_again_has_the_same_handle() {
    with_memory(async |ports| {
        let first = review_all(&ports, &["one"], 64).await;
        assert_eq!(review_all(&ports, &["one"], 64).await, first);
    });
}
