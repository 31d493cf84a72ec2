//! Sub-agents of one agent begin alike, in real Pi of both versions: the first fills the provider's cache, the others wait
//! for it and read it.

use crate::agents::{FOUND, delegating};
use crate::host::{PATIENCE, Stage, is_notice, prompt};
use impresario_model_server::{Call, Script, Turn, Usage};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::pi::{MOCK_MODEL, MOCKA_MODEL};
use impresario_test_support::waiting::until;
use serde_json::{Value, json};

const SIBLINGS: usize = 3;

/// The main agent asks three explorers and one adviser; none is answered before the gate is open.
fn script() -> Script {
    let explore = |place: &str| json!({"question": format!("what is in {place}")});
    let turn = Turn::tool("delegate_explore", explore("the attic"))
        .and_tool("delegate_explore", explore("the cellar"))
        .and_tool("delegate_explore", explore("the shed"));
    let turn = turn.and_tool("delegate_oracle", json!({"question": "is it right"}));
    let answers = [0, 1, 2, 3].map(|_| Turn::text(FOUND).behind_gate("answers"));
    delegating(turn, answers).caching()
}

impl Stage {
    fn wait_for_siblings(&self, ms: u64) {
        let ours = json!({"promptCache": {"siblingWaitMs": ms}});
        self.sandbox.write_settings(json!({ "impresario": ours }));
    }

    fn rpc_on(&self, model: &str) -> JsonLines {
        let mut command = self.pi(&["--model", model, "--mode", "rpc"]);
        JsonLines::start(command.env("PI_CACHE_RETENTION", "long"))
    }

    /// So many have asked their model, and so many wait for one that has: nobody is on the way any more.
    fn see(&self, pi: &mut JsonLines, asked: usize, waiting: usize) {
        let of_agents = || self.server.ledger().calls_of("agent").len();
        let waits = format!(", {waiting} sub-agents wait for another to begin");
        let seen = |pi: &mut JsonLines| {
            let told = planner_says(pi);
            of_agents() == asked && (waiting == 0 || told.contains(&waits))
        };
        until(|| seen(pi), || format!("{} have asked", of_agents()));
    }
}

/// What becomes of cache markers, as the runtime says at this moment.
fn planner_says(pi: &mut JsonLines) -> String {
    let behind = pi.said().records.len();
    prompt(pi, "/impresario runtime");
    let (_, told) = pi.wait_for_behind(behind, PATIENCE, |record| is_notice(record, "cache markers:"));
    told["message"].to_string()
}

fn usage(call: &Call) -> Usage {
    call.said.as_ref().expect("an answer").usage
}

/// The requests of the explorers and that of the adviser.
fn asked(stage: &Stage) -> (Vec<Call>, Call) {
    let calls = stage.server.ledger().calls_of("agent");
    let (mut adviser, explorers): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|call| call.body.to_string().contains("is it right"));
    assert_eq!((explorers.len(), adviser.len()), (SIBLINGS, 1));
    (explorers, adviser.remove(0))
}

/// What is said of the prompts of each run.
fn explained(stage: &Stage) -> Vec<String> {
    let runs = stage.runs().into_iter();
    runs.map(|run| {
        let run = run["run"].as_str().expect("an id");
        let explained = stage.impresario(&["cache", "explain", run]);
        assert_eq!(explained.end, End::Exited(0), "{}", explained.stderr);
        explained.stdout
    })
    .collect()
}

#[test]
fn nested_pis_of_one_agent_wait_for_the_first_and_read_what_it_wrote() {
    for stage in Stage::both_with("nested siblings", script) {
        stage.wait_for_siblings(60_000);
        let mut pi = stage.rpc_on(MOCKA_MODEL);
        prompt(&mut pi, "Now, please.");
        // One explorer and the adviser have asked; whatever the others need has begun to be written.
        stage.see(&mut pi, 2, SIBLINGS - 1);
        stage.server.open_gate("answers");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let (explorers, _) = asked(&stage);
        let first = usage(&explorers[0]);
        assert!(first.cache_write >= 1_024 && first.cache_read == 0, "{first:?}");
        for other in &explorers[1..] {
            let (used, shared) = (usage(other), first.cache_write - 100);
            assert!(used.cache_read * 10 >= shared * 9, "{used:?} of {shared} shared");
        }
        stage.wait_for_ended(SIBLINGS + 1);
        let told = explained(&stage);
        let how_often = |words: &str| told.iter().filter(|told| told.contains(words)).count();
        assert_eq!(how_often("nothing of it was in the cache"), 2, "{told:?}");
        assert_eq!(
            how_often("begins as another request did; waited "),
            SIBLINGS - 1,
            "{told:?}"
        );
        stage.end(pi);
    }
}

#[test]
fn nested_pis_wait_for_nobody_where_that_is_switched_off() {
    for stage in Stage::both_with("nested siblings that do not wait", script) {
        stage.wait_for_siblings(0);
        let mut pi = stage.rpc_on(MOCKA_MODEL);
        prompt(&mut pi, "Now, please.");
        stage.see(&mut pi, SIBLINGS + 1, 0);
        stage.server.open_gate("answers");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let (explorers, _) = asked(&stage);
        let read = explorers.iter().map(|call| usage(call).cache_read);
        assert_eq!(read.collect::<Vec<_>>(), [0; SIBLINGS]);
        stage.end(pi);
    }
}

#[test]
fn one_key_stands_for_what_sub_agents_of_one_agent_share() {
    for stage in Stage::both_with("cache keys of siblings", script) {
        let mut pi = stage.rpc_on(MOCK_MODEL);
        prompt(&mut pi, "Now, please.");
        stage.wait_for_calls_of("agent", SIBLINGS + 1);
        stage.server.open_gate("answers");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let (explorers, adviser) = asked(&stage);
        let key = |call: &Call| call.body["prompt_cache_key"].clone();
        let shared = key(&explorers[0]);
        assert!(shared.is_string(), "{shared}");
        assert!(explorers.iter().all(|call| key(call) == shared));
        assert_ne!(key(&adviser), shared);
        let mains = stage.server.ledger().calls_of("main agent");
        assert!(
            mains
                .iter()
                .all(|call| key(call) != Value::Null && key(call) != shared)
        );
        stage.end(pi);
    }
}
