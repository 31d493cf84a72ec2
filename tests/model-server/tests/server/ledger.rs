//! What the ledger says about calls, and the gates.

use std::time::Duration;

use crate::client::{anthropic, ask, openai, send};
use impresario_model_server::{
    Fault, Ledger, ModelServer, Outcome, Place, Rule, Script, ServerSettings, Turn, Wire,
};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);

fn outcome_of(server: &ModelServer) -> Outcome {
    assert!(
        server
            .ledger()
            .wait_until(PATIENCE, |calls| calls.iter().all(|call| call.end.is_some()))
    );
    server.ledger().calls()[0].end.unwrap().outcome
}

#[test]
fn a_call_is_written_down_without_its_secrets() {
    let server = ModelServer::start_blocking(Script::turns([Turn::text("so")])).unwrap();
    let answer = ask(server.port(), openai("hi", true), PATIENCE);
    assert_eq!(outcome_of(&server), Outcome::Completed);
    let calls = server.ledger().calls();
    let call = &calls[0];
    assert_eq!(
        (calls.len(), call.number, call.wire, call.model.as_str()),
        (1, 1, Wire::OpenAi, "mock-1")
    );
    assert_eq!(
        (call.path.as_str(), call.message_count),
        ("POST /v1/chat/completions", 1)
    );
    assert_eq!((call.rule.as_deref(), call.turn), (Some("any"), Some(0)));
    assert_eq!(call.headers["authorization"], "[removed]");
    assert_eq!(call.headers["x-note"], "kept");
    assert_eq!(call.body["messages"][0]["content"], "hi");
    assert_eq!(call.end.unwrap().bytes_sent, answer.body.len() as u64);
    assert!(!serde_json::to_string(call).unwrap().contains("hush"));
}

#[test]
fn equal_requests_have_equal_hashes() {
    let server = ModelServer::start_blocking(Script::always(Turn::text("so"))).unwrap();
    for user in ["hi", "hi", "ho"] {
        ask(server.port(), openai(user, true), PATIENCE);
    }
    let hashes: Vec<String> = server
        .ledger()
        .calls()
        .into_iter()
        .map(|call| call.request_hash)
        .collect();
    assert_eq!(
        (hashes[0] == hashes[1], hashes[1] == hashes[2], hashes[0].len()),
        (true, false, 64)
    );
}

#[test]
fn judge_and_sub_agent_are_scripted_apart() {
    let script = Script::new()
        .rule(
            Rule::new("judge")
                .user_contains("judge")
                .turn(Turn::text("fair"))
                .repeat(),
        )
        .rule(Rule::new("sub-agent").model("mocka-1").turn(Turn::text("done")));
    let server = ModelServer::start_blocking(script).unwrap();
    ask(server.port(), anthropic("judge this", true), PATIENCE);
    ask(server.port(), anthropic("do this", true), PATIENCE);
    assert_eq!(server.ledger().calls_of("judge").len(), 1);
    assert_eq!(server.ledger().calls_of("sub-agent").len(), 1);
    assert!(server.ledger().unscripted().is_empty());
}

#[test]
fn a_request_the_script_does_not_foresee_is_refused_and_remembered() {
    let server = ModelServer::start_blocking(Script::turns([])).unwrap();
    let answer = ask(server.port(), anthropic("hi", true), PATIENCE);
    assert_eq!(answer.status, 400);
    assert_eq!(server.ledger().unscripted(), ["rule \"any\" has no turn 1"]);
    let answer = ask(server.port(), ("/v1/embeddings", json!({})), PATIENCE);
    assert_eq!(answer.status, 404);
    assert_eq!(
        server.ledger().unscripted()[1],
        "nothing is served at POST /v1/embeddings"
    );
}

#[test]
fn a_client_that_goes_away_is_seen_wherever_the_answer_stands() {
    let places = [
        Fault::HangBeforeHeaders,
        Fault::Hang { at: Place::Start },
        Fault::Hang { at: Place::MidText },
        Fault::Hang { at: Place::BeforeEnd },
    ];
    for fault in places {
        let server =
            ModelServer::start_blocking(Script::turns([Turn::text("abcd").and_fault(fault)])).unwrap();
        let client = send(server.port(), openai("hi", true));
        assert!(server.ledger().wait_until(PATIENCE, |calls| calls.len() == 1));
        drop(client);
        assert_eq!(outcome_of(&server), Outcome::CutByClient);
    }
}

#[test]
fn a_cut_of_the_script_is_told_from_one_of_the_client() {
    for fault in [Fault::CutBeforeHeaders, Fault::Cut { at: Place::MidText }] {
        let server =
            ModelServer::start_blocking(Script::turns([Turn::text("abcd").and_fault(fault)])).unwrap();
        ask(server.port(), openai("hi", true), PATIENCE);
        assert_eq!(outcome_of(&server), Outcome::CutByScript);
    }
}

#[test]
fn a_stopped_server_closes_what_hangs_and_says_so() {
    let server = ModelServer::start_blocking(Script::turns([Turn::fault(Fault::HangBeforeHeaders)])).unwrap();
    let ledger = server.ledger().clone();
    let client = send(server.port(), openai("hi", true));
    assert!(ledger.wait_until(PATIENCE, |calls| calls.len() == 1));
    drop(server);
    assert_eq!(ledger.calls()[0].end.unwrap().outcome, Outcome::ServerStopped);
    drop(client);
}

#[test]
fn the_ledger_on_disk_says_what_the_one_in_memory_says() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("calls.jsonl");
    let script = Script::turns([
        Turn::text("so"),
        Turn::overloaded(),
        Turn::fault(Fault::HangBeforeHeaders),
    ]);
    let settings = ServerSettings {
        port: 0,
        log: Some(log.clone()),
    };
    let server = ModelServer::start_with(script, &settings).unwrap();
    ask(server.port(), openai("hi", true), PATIENCE);
    ask(server.port(), openai("hi", true), PATIENCE);
    let hanging = send(server.port(), openai("hi", true));
    assert!(server.ledger().wait_until(PATIENCE, |calls| calls.len() == 3));
    let in_flight = Ledger::read(&log).unwrap();
    assert_eq!(in_flight, server.ledger().calls());
    assert_eq!(in_flight.iter().filter(|call| call.end.is_none()).count(), 1);
    drop(hanging);
}

#[test]
fn a_gate_holds_the_answer_until_the_test_opens_it() {
    let script = Script::turns([
        Turn::text("one").behind_gate("headers"),
        Turn::text("two").and_fault(Fault::Gate {
            at: Place::MidText,
            name: "text".into(),
        }),
    ]);
    let server = ModelServer::start_blocking(script).unwrap();
    for (number, gate) in [(1, "headers"), (2, "text")] {
        let port = server.port();
        let client = std::thread::spawn(move || ask(port, openai("hi", true), PATIENCE));
        assert!(
            server
                .ledger()
                .wait_until(PATIENCE, |calls| calls.len() == number)
        );
        assert_eq!(server.ledger().calls()[number - 1].end, None);
        server.open_gate(gate);
        assert!(client.join().unwrap().complete);
    }
}

#[test]
fn a_new_script_answers_from_its_beginning() {
    let server = ModelServer::start_blocking(Script::turns([])).unwrap();
    server.set_script(Script::turns([Turn::text("so")])).unwrap();
    assert_eq!(ask(server.port(), openai("hi", true), PATIENCE).status, 200);
    let unplayable = Script::turns([Turn::text("so").and_fault(Fault::Cut {
        at: Place::MidToolCall,
    })]);
    assert!(server.set_script(unplayable).is_err());
}

#[tokio::test]
async fn an_asynchronous_test_starts_it_the_same_way() {
    let server = ModelServer::start(Script::always(Turn::text("so")))
        .await
        .unwrap();
    let port = server.port();
    let answer = tokio::task::spawn_blocking(move || ask(port, openai("hi", true), PATIENCE))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(server.base_url(), format!("http://127.0.0.1:{port}"));
}
