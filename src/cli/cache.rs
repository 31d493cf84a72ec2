//! `cache explain`: what the provider's prompt cache made of the requests of a run.

use super::arguments::{CacheAction, CacheArguments, CacheExplainArguments};
use super::exit::Failure;
use super::output::{print, print_json};
use super::runs::{find, open};
use super::wire::{CachedCallLine, json_line};
use impresario_policies::cache_explain::{ExplainedCall, Explanation, explain};
use impresario_policies::cache_markers::Charge;
use impresario_policies::domain::Step;
use std::process::ExitCode;

pub(super) async fn execute(arguments: CacheArguments) -> Result<ExitCode, Failure> {
    let CacheAction::Explain(arguments) = arguments.action;
    let runtime = open(&arguments.state, arguments.json).await?;
    let told = async {
        let run = find(&runtime, &arguments.run).await?;
        let steps = runtime.steps(&run.run, 0).await?;
        let calls = steps.iter().filter_map(|recorded| match &recorded.step {
            Step::ModelCalled { call } => Some(&**call),
            _ => None,
        });
        // A reader that went away is no failure.
        let _ = tell(&explain(calls), &arguments);
        Ok(ExitCode::SUCCESS)
    };
    let told = told.await;
    runtime.shutdown().await?;
    told
}

fn tell(explanation: &Explanation, arguments: &CacheExplainArguments) -> std::io::Result<()> {
    if arguments.json {
        return explanation
            .calls
            .iter()
            .try_for_each(|call| print_json(&json_line(&CachedCallLine::of(call))));
    }
    if explanation.calls.is_empty() {
        return print("no model was called in this run");
    }
    print(&format!(
        "{:>3}  {:<9}  {:>9}  {:>9}  {:>9}  {:>9}",
        "", "", "read", "written", "plain", "paid as"
    ))?;
    for (number, call) in (1..).zip(&explanation.calls) {
        print(&line(number, call))?;
    }
    print(&summary(explanation))
}

fn line(number: usize, call: &ExplainedCall) -> String {
    let Charge {
        read, written, plain, ..
    } = call.charge.unwrap_or_default();
    let figures = format!("{read:>9}  {written:>9}  {plain:>9}  {:>9.0}", call.cost);
    format!("{number:>3}  {:<9}  {figures}  {}", call.by, call.why)
        .trim_end()
        .to_string()
}

fn summary(explanation: &Explanation) -> String {
    let Charge {
        read, written, plain, ..
    } = explanation.charge;
    let (tokens, saved) = (explanation.charge.tokens(), explanation.saved_percent());
    let than = match saved {
        saved if saved >= 0.5 => format!("{saved:.0} % less than without a cache"),
        saved if saved <= -0.5 => format!("{:.0} % more than without a cache", -saved),
        _ => "as much as without a cache".to_string(),
    };
    format!(
        "in all {tokens} tokens of prompts: {read} read, {written} written, {plain} plain; paid as {:.0} plain ones, {than}",
        explanation.cost
    )
}
