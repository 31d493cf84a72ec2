//! Shows a host each run as it works: a picture from the run's steps and from what is live, made anew when something
//! changed and at most so often. The host draws it; nothing here waits for the host, and no run waits for this.

use crate::bridge::{LiveRun, LiveRuns, PiHost};
use crate::runtime::Runtime;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use impresario_policies::projection::RunProjection;
use impresario_policies::sight::{LiveFacts, see_run};
use std::time::Duration;

/// Two pictures of a run are at least so far apart.
const SHOWN_EVERY: Duration = Duration::from_millis(150);
/// So often it is looked how many are before a run that waits for room: nobody tells.
const LINE_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// Shows every run that is heard of, until nobody can be heard any more.
pub async fn show_sights(runtime: Runtime, host: PiHost, mut live_runs: LiveRuns) {
    while let Some(live_run) = live_runs.recv().await {
        tokio::spawn(show_run(runtime.clone(), host.clone(), live_run));
    }
}

async fn show_run(runtime: Runtime, host: PiHost, live_run: LiveRun) {
    let LiveRun { run, live } = live_run;
    let events = runtime.run(run.clone()).events();
    // A stream keeps what it has begun to read when it is not waited for any more.
    let steps = stream::unfold(events, |mut events| async {
        let step = events.next().await?;
        Some((step, events))
    });
    let mut steps = std::pin::pin!(steps);
    let mut projection = RunProjection::default();
    let mut shown = None;
    while projection.ended.is_none() {
        tokio::select! {
            biased;
            step = steps.next() => match step {
                Some(step) => projection.add(&step),
                None => return,
            },
            () = live.changed() => {}
            () = tokio::time::sleep(LINE_LOOKED_AT_EVERY), if projection.brief.is_some() && projection.attempts.is_empty() => {}
        }
        while let Some(Some(step)) = steps.next().now_or_never() {
            projection.add(&step);
        }
        let facts = LiveFacts {
            before_it: runtime.before_in_line(&run),
            ..live.now()
        };
        let sight = see_run(&projection, &facts);
        if shown.as_ref() != Some(&sight) {
            host.show_sight(run.clone(), sight.clone());
            shown = Some(sight);
        }
        tokio::time::sleep(SHOWN_EVERY).await;
    }
}
