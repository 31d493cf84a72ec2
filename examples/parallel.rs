//! Three sub-agents side by side, two at a time: what they say together, and what became of each.
//!
//! ```sh
//! cargo run --example parallel
//! ```

use impresario::runtime::Step;
use impresario::{Runtime, SubAgentGroup, Subtask};
use std::error::Error;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let state = tempfile::tempdir()?;
    let runtime = Runtime::builder().state_directory(state.path()).start().await?;

    let restarts = Subtask {
        scope: Some("policies/".to_string()),
        retrieval_hints: vec!["backoff".to_string()],
        ..Subtask::new(
            "restarts",
            "How long does a crashed actor wait before it comes back?",
        )
    };
    let group = SubAgentGroup::explore()
        .subtask(restarts)
        .subtask(Subtask::new("journal", "Where are the steps of a run written?"))
        .subtask(Subtask::new("keeper", "Who stops what a run left behind?"))
        .concurrency(2)
        .output_chars_max(800)
        .timeout(Duration::from_secs(60));
    let group = runtime.parallel(group).await?;

    let mut events = group.events();
    while let Some((run, event)) = events.next().await {
        if let Step::Ended { state, .. } = event.step {
            println!("{run} {state:?}");
        }
    }
    let outcome = group.outcome().await?;
    for member in &outcome.members {
        let kept = runtime.run(member.run.clone()).outcome().await?.answer;
        let kept = kept.map_or(0, |answer| answer.chars().count());
        println!("{}: {kept} characters are kept of it", member.member.subtask.id);
    }
    println!("\n{}", outcome.text);
    runtime.shutdown().await?;
    Ok(())
}
