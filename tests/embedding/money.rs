//! What may be spent: caps of a run, of a group, of a session and of a day, on the real tree with the embedded runner.

use crate::audit::Audit;
use crate::playing::{calls, run, says};
use impresario::runtime::{
    Budget, Cap, EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest, ModelUsage, OfflineOr,
    ReasonCode, Replay, TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::{Outcome, Runtime, SubAgent};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Every call costs this, whatever it is.
const PRICE: f64 = 0.25;

/// Calls a tool for ever, or so often; says how it was told to come to an end.
#[derive(Clone, Default)]
struct Spender {
    calls: Arc<AtomicU32>,
    told: Arc<Mutex<Vec<u32>>>,
    served: Option<&'static str>,
    answers_at: u32,
    /// A call takes so long.
    takes: Duration,
    under_way: Arc<AtomicU32>,
    under_way_max: Arc<AtomicU32>,
}

#[async_trait(?Send)]
impl ModelClient for Spender {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.under_way_max.fetch_max(under_way, Ordering::SeqCst);
        tokio::time::sleep(self.takes).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let last = request.messages.last().map(|message| message.text.as_str());
        if last.is_some_and(|text| text.contains("Conclude now")) {
            self.told.lock().expect("told").push(call);
        }
        let reply = match call == self.answers_at {
            true => says("the answer"),
            false => calls(&format!("call-{call}"), "look", json!({})),
        };
        Ok(ModelReply {
            usage: ModelUsage {
                input: request.bytes() / 4,
                output: 10,
                cost_usd: Some(PRICE),
                ..ModelUsage::default()
            },
            served: self.served.map(str::to_string),
            ..reply
        })
    }
}

struct Look;

#[async_trait]
impl EmbeddedTool for Look {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "look".to_string(),
            description: "Looks.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<String, String> {
        Ok("seen".to_string())
    }
}

struct Place {
    _audit: Audit,
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("workspace")).expect("a workspace");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
        }
    }
}

async fn runtime(place: &Place, model: &Spender) -> Runtime {
    let model = model.clone();
    let builder = Runtime::builder()
        .state_directory(place.directory.path().join("state"))
        .workspace(place.directory.path().join("workspace"))
        .tool(Look)
        .model(OfflineOr::new(model));
    builder.start().await.expect("started")
}

fn spending(task: &str) -> SubAgent {
    SubAgent::explore(task)
        .unjudged()
        .chain(["house/dear"])
        .with_tool("look")
}

#[tokio::test(flavor = "multi_thread")]
async fn at_four_fifths_it_is_told_to_conclude_and_at_the_cap_it_stops() {
    let (place, model) = (Place::new(), Spender::default());
    let runtime = runtime(&place, &model).await;
    let outcome = run(&runtime, spending("Look.").max_usd(3.0)).await;
    assert_eq!(outcome.state, TerminalState::Parked, "{:?}", outcome.reason);
    let reason = outcome.reason.as_ref().expect("a reason");
    assert_eq!(reason.code, ReasonCode::OverBudget);
    assert!(reason.message.contains("budget.runUsd"), "{}", reason.message);
    assert!(outcome.projection.used().counted.cost_usd.expect("a cost") <= 3.0);
    let made = model.calls.load(Ordering::SeqCst);
    assert_eq!(made as usize, outcome.projection.calls.len());
    let told = model.told.lock().expect("told").clone();
    assert_eq!(told.len(), 1, "once: {told:?} of {made}");
    assert!(
        told[0] > 9,
        "nine calls are less than four fifths of the cap: {told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_left_over_is_all_that_it_can_spend_after_a_restart() {
    let (place, model) = (Place::new(), Spender::default());
    let first = runtime(&place, &model).await;
    let parked = run(&first, spending("Look.").max_usd(1.0)).await;
    assert_eq!(parked.state, TerminalState::Parked);
    let spent = model.calls.load(Ordering::SeqCst);
    first.shutdown().await.expect("stopped");
    let second = runtime(&place, &model).await;
    let resumed = second.resume(&parked.run).await.expect("resumed");
    let resumed = resumed.outcome().await.expect("an outcome");
    assert_eq!(
        resumed.reason.as_ref().expect("a reason").code,
        ReasonCode::OverBudget
    );
    let more = model.calls.load(Ordering::SeqCst) - spent;
    assert!(
        (1..=4).contains(&more),
        "a person let it go on with the same cap: {more}"
    );

    let cap = Cap {
        usd: Some(2.0),
        tokens: None,
    };
    let last = second.resume_under(&resumed.run, cap).await.expect("resumed");
    let last = last.outcome().await.expect("an outcome");
    let spent = last.projection.used().counted.cost_usd.expect("a cost");
    assert!(
        spent > 1.0 && spent <= 2.0,
        "under the cap that the person gave: {spent}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn several_at_once_do_not_spend_more_than_their_session_may() {
    let (place, model) = (Place::new(), Spender::default());
    let runtime = runtime(&place, &model).await;
    let five = (0..5).map(|at| {
        let budget = Budget {
            session: Cap {
                usd: Some(2.0),
                tokens: None,
            },
            ..Budget::default()
        };
        let sub_agent = spending(&format!("Look {at}."))
            .session("together")
            .budget(budget);
        run(&runtime, sub_agent)
    });
    let outcomes = futures_util::future::join_all(five).await;
    let over = |outcome: &Outcome| {
        outcome
            .reason
            .as_ref()
            .is_some_and(|reason| reason.code == ReasonCode::OverBudget)
    };
    assert!(outcomes.iter().all(over), "{outcomes:?}");
    let spent = outcomes
        .iter()
        .filter_map(|outcome| outcome.projection.used().counted.cost_usd);
    let spent = spent.sum::<f64>();
    assert!(
        spent <= 2.0 + PRICE * 5.0,
        "at most one call each above it: {spent}"
    );
    assert!(spent > 1.0, "and not much less than it may be: {spent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_stands_in_the_journal_with_the_model_that_answered() {
    let place = Place::new();
    let model = Spender {
        served: Some("dear-mini"),
        answers_at: 3,
        ..Spender::default()
    };
    let runtime = runtime(&place, &model).await;
    let outcome = run(&runtime, spending("Look.")).await;
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    let calls = &outcome.projection.calls;
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call.requested == "house/dear"));
    assert!(calls.iter().all(|call| call.reserved.output > 0));
    assert_eq!(
        outcome.projection.other_models_served(),
        [("house/dear", "dear-mini")]
    );
    assert_eq!(outcome.projection.used().counted.cost_usd, Some(3.0 * PRICE));
}

/// What a first call of such a sub-agent is reckoned with, and what it takes, in tokens.
async fn first_call(runtime: &Runtime) -> (u64, u64) {
    let outcome = run(runtime, spending("Look 0.").max_usd(0.5)).await;
    let call = outcome.projection.calls.first().expect("a call").clone();
    (call.reserved.tokens(), call.counted().tokens())
}

fn in_a_session(tokens: u64, sub_agent: SubAgent) -> SubAgent {
    let session = Cap {
        usd: None,
        tokens: Some(tokens),
    };
    let budget = Budget {
        session,
        ..Budget::default()
    };
    sub_agent.session("together").budget(budget)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_calls_are_under_way_than_fit_together() {
    let place = Place::new();
    let model = Spender {
        takes: Duration::from_millis(100),
        ..Spender::default()
    };
    let runtime = runtime(&place, &model).await;
    let (reckoned, _) = first_call(&runtime).await;
    model.under_way_max.store(0, Ordering::SeqCst);
    let five = (1..=5).map(|at| {
        let sub_agent = in_a_session(reckoned * 5 / 2, spending(&format!("Look {at}.")));
        run(&runtime, sub_agent)
    });
    futures_util::future::join_all(five).await;
    let most = model.under_way_max.load(Ordering::SeqCst);
    assert!(most <= 2, "{most} at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_set_aside_and_not_needed_can_be_spent_by_the_next_call() {
    let place = Place::new();
    let mut model = Spender::default();
    let (reckoned, took) = first_call(&runtime(&place, &model).await).await;
    model.calls = Arc::default();
    model.answers_at = 6;
    let place = Place::new();
    let runtime = runtime(&place, &model).await;
    let cap = 6 * took + 2_200;
    assert!(cap < 6 * reckoned, "{reckoned} {took}");
    let outcome = run(&runtime, in_a_session(cap, spending("Look."))).await;
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
}
