//! A real model without Pi: the program calls a provider with the key of its environment.

use crate::place::{ANSWERED_BY, Place, QUESTION, Said};
use impresario_model_server::{Fault, ModelServer, Place as ModelPlace, Script, Turn, Wire};
use serde_json::json;
use std::process::Command;

const KEY: &str = "key-of-the-test-0123456789";
const ANTHROPIC: &str = "anthropic/mock-1";
const OPENAI: &str = "openai/mock-2";

struct Provided {
    place: Place,
    server: ModelServer,
}

impl Provided {
    fn with(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            place: Place::new(),
            server: ModelServer::start_blocking(Script::turns(turns)).expect("a server"),
        }
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self
            .place
            .impresario(&[&["run"], arguments, &["explore", QUESTION]].concat());
        let url = format!("http://127.0.0.1:{}/v1", self.server.port());
        for provider in ["ANTHROPIC", "OPENAI"] {
            command
                .env(format!("{provider}_API_KEY"), KEY)
                .env(format!("{provider}_BASE_URL"), &url);
        }
        command
    }

    fn models_called(&self) -> Vec<String> {
        let calls = self.server.ledger().calls().into_iter();
        calls.map(|call| call.model).collect()
    }
}

fn reads_then_answers() -> [Turn; 2] {
    [
        Turn::text("I look.").and_tool("read", json!({ "path": ANSWERED_BY })),
        Turn::deltas(["its supervisor ", "starts it again"]),
    ]
}

#[test]
fn a_sub_agent_works_on_a_model_of_a_provider() {
    for (model, wire) in [(ANTHROPIC, Wire::Anthropic), (OPENAI, Wire::OpenAi)] {
        let provided = Provided::with(reads_then_answers());
        let said = provided.run(&["--model", model]);
        said.check(0);
        assert!(
            said.stdout.contains("its supervisor starts it again"),
            "{}",
            said.stdout
        );
        let calls = provided.server.ledger().calls();
        assert_eq!(calls.len(), 2);
        for call in &calls {
            assert_eq!((call.wire, call.streaming), (wire, true));
            assert!(call.tools.contains(&"read".to_string()), "{:?}", call.tools);
        }
        let result = calls[1].body["messages"].to_string();
        assert!(result.contains("comes back"), "the file it read: {result}");
        assert!(!said.stderr.contains(KEY) && !said.stdout.contains(KEY));
    }
}

/// A model on the machine itself speaks plain HTTP.
#[test]
fn no_certificates_are_needed_for_what_is_not_encrypted() {
    let provided = Provided::with([Turn::text("from next door")]);
    let mut command = provided.command(&["--model", OPENAI]);
    command
        .env("SSL_CERT_FILE", "/nonexistent")
        .env("SSL_CERT_DIR", "/nonexistent");
    let said = Said::of(command);
    said.check(0);
    assert!(said.stdout.contains("from next door"), "{}", said.stdout);
}

#[test]
fn instructions_and_the_talk_so_far_are_marked_for_the_cache() {
    let provided = Provided::with(reads_then_answers());
    provided.run(&["--model", ANTHROPIC]).check(0);
    let body = &provided.server.ledger().calls()[1].body;
    let ephemeral = json!({ "type": "ephemeral" });
    assert_eq!(
        body["system"][0]["cache_control"], ephemeral,
        "{}",
        body["system"]
    );
    let messages = body["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message")["content"].to_string();
    assert!(last.contains("ephemeral"), "{last}");
    let marks = body.to_string().matches("cache_control").count();
    assert_eq!(marks, 2, "a provider takes four at most");
}

#[test]
fn what_the_cache_made_of_each_request_is_explained() {
    let provided = Provided {
        place: Place::new(),
        server: ModelServer::start_blocking(Script::turns(reads_then_answers()).caching()).expect("a server"),
    };
    provided.run(&["--model", ANTHROPIC]).check(0);
    let run = provided.place.runs()[0]["run"]
        .as_str()
        .expect("an id")
        .to_string();
    let explained = provided.place.run(&["cache", "explain", &run]);
    explained.check(0);
    let lines = explained.stdout.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 4, "{}", explained.stdout);
    assert!(
        lines[1].ends_with("nothing of it was in the cache"),
        "{}",
        lines[1]
    );
    let [first, second] = [0, 1].map(|call| {
        let ledger = provided.server.ledger().calls();
        ledger[call].said.as_ref().expect("an answer").usage
    });
    assert!(
        first.cache_write > 0 && second.cache_read == first.cache_write,
        "{first:?} {second:?}"
    );
    for counted in [first.cache_write, second.cache_read, second.cache_write] {
        assert!(
            explained.stdout.contains(&counted.to_string()),
            "{counted}: {}",
            explained.stdout
        );
    }
    assert!(lines[3].ends_with("% less than without a cache"), "{}", lines[3]);
    let json = provided.place.run(&["cache", "explain", &run, "--json"]);
    let calls = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let read = calls.map(|call| call["read"].as_u64()).collect::<Vec<_>>();
    assert_eq!(read, [Some(0), Some(second.cache_read)]);
}

#[test]
fn what_the_provider_counted_stands_in_the_journal() {
    let provided = Provided::with([Turn::text("done").and_usage(impresario_model_server::Usage {
        input: 900,
        output: 40,
        cache_read: 300,
        cache_write: 200,
    })]);
    provided.run(&["--model", ANTHROPIC]).check(0);
    let run = provided.place.runs()[0]["run"]
        .as_str()
        .expect("an id")
        .to_string();
    let shown = provided.place.run(&["runs", "show", &run]);
    shown.check(0);
    for counted in ["900 tokens in", "40 out", "300", "200"] {
        assert!(shown.stdout.contains(counted), "{counted}: {}", shown.stdout);
    }
}

#[test]
fn a_long_answer_is_printed_whole_by_whoever_wants_it() {
    let lines = (1..=20_000).map(|number| format!("Line {number} of it.\n"));
    let report = format!("It begins.\n{}It ends.", lines.collect::<String>());
    let provided = Provided::with([Turn::text(&report)]);
    let said = provided.run(&["--model", ANTHROPIC]);
    said.check(0);
    assert!(said.stdout.len() < 130_000 && said.stdout.contains("[... truncated ...]"));
    let run = provided.place.runs()[0]["run"]
        .as_str()
        .expect("an id")
        .to_string();
    let hint = format!("`impresario runs show {run} --answer`");
    assert!(said.stderr.contains(&hint), "{}", said.stderr);
    let shown = provided.place.run(&["runs", "show", &run]);
    assert!(shown.stdout.contains(&hint), "{}", shown.stdout);
    let whole = provided.place.run(&["runs", "show", &run, "--answer"]);
    whole.check(0);
    assert_eq!(whole.stdout, format!("{report}\n"));
    let file = provided.place.state().join(format!("answers/{run}.1.md"));
    let elsewhere = file.with_extension("elsewhere");
    std::fs::rename(&file, &elsewhere).expect("it is there");
    let gone = provided.place.run(&["runs", "show", &run, "--answer"]);
    gone.check(1);
    assert_eq!(gone.stdout, "");
    let says = format!("{}: No such file", file.display());
    assert!(
        gone.stderr.contains(&says) && gone.stderr.contains("runs transcript"),
        "{}",
        gone.stderr
    );
    std::fs::rename(&elsewhere, &file).expect("it comes back");
}

#[test]
fn the_answer_alone_is_printed_and_without_one_it_is_said_why() {
    let provided = Provided::with([Turn::text("It is there."), Turn::fault(Fault::Unauthorized)]);
    provided.run(&["--model", ANTHROPIC]).check(0);
    provided.run(&["--model", ANTHROPIC]).check(1);
    let runs = provided.place.runs();
    let run = |at: usize| runs[at]["run"].as_str().expect("an id").to_string();
    let answer = provided.place.run(&["runs", "show", &run(1), "--answer"]);
    answer.check(0);
    assert_eq!(answer.stdout, "It is there.\n");
    let none = provided.place.run(&["runs", "show", &run(0), "--answer"]);
    none.check(1);
    assert!(
        none.stderr.contains("has no answer: it is failed"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_provider_that_fails_is_asked_again_and_then_the_next_one() {
    let provided = Provided::with([
        Turn::overloaded(),
        Turn::fault(Fault::Unauthorized),
        Turn::text("from the other"),
    ]);
    let said = provided.run(&["--model", ANTHROPIC, "--model", OPENAI]);
    said.check(0);
    assert_eq!(provided.models_called(), ["mock-1", "mock-1", "mock-2"]);
    assert!(said.stdout.contains("from the other"), "{}", said.stdout);
    assert!(said.stderr.contains("529"), "{}", said.stderr);
}

#[test]
fn a_provider_that_names_a_wait_is_waited_for() {
    let provided = Provided::with([Turn::rate_limited(Some(3)), Turn::text("after the wait")]);
    let said = provided.run(&["--model", ANTHROPIC]);
    said.check(0);
    let calls = provided.server.ledger().calls();
    let waited = calls[1].received_unix_us - calls[0].received_unix_us;
    assert!(waited >= 3_000_000, "{waited} µs: {}", said.stderr);
    assert!(
        said.stderr.contains("3 s left · starting again. "),
        "{}",
        said.stderr
    );
}

#[test]
fn a_network_that_is_gone_for_a_while_is_waited_for() {
    let gone = || Turn::fault(Fault::CutBeforeHeaders);
    let provided = Provided::with([gone(), gone(), gone(), Turn::text("back again")]);
    let said = provided.run(&["--model", ANTHROPIC]);
    said.check(0);
    assert!(said.stdout.contains("back again"), "{}", said.stdout);
    assert_eq!(provided.models_called().len(), 4, "{}", said.stderr);
}

#[test]
fn a_reply_that_is_cut_off_is_no_answer() {
    let provided = Provided::with([
        Turn::text("half of an").and_fault(Fault::Cut {
            at: ModelPlace::MidText,
        }),
        Turn::text("a whole answer"),
    ]);
    let said = provided.run(&["--model", OPENAI]);
    said.check(0);
    assert!(said.stdout.contains("a whole answer"), "{}", said.stdout);
    assert!(!said.stdout.contains("half of an"), "{}", said.stdout);
}

#[test]
fn a_refused_key_is_told_and_no_key_is_told_before_anything_begins() {
    let provided = Provided::with([Turn::fault(Fault::Unauthorized)]);
    let said = provided.run(&["--model", ANTHROPIC]);
    said.check(1);
    assert!(said.stderr.contains("401"), "{}", said.stderr);
    assert_eq!(provided.models_called().len(), 1);

    let place = Place::new();
    let keyless = [
        ("anthropic/claude", "ANTHROPIC_API_KEY"),
        ("google/gemini", "GEMINI_API_KEY, GOOGLE_API_KEY"),
        ("nobody/model", "there is no provider called \"nobody\" here"),
    ];
    for (model, expected) in keyless {
        let said = place.run(&["run", "--model", model, "explore", QUESTION]);
        said.check(2);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert!(said.stderr.contains("--runner pi"), "{}", said.stderr);
    }
    assert!(place.runs().is_empty());
}

/// Whether a model takes pictures, nobody says before: one that refuses them goes on without.
#[test]
fn a_picture_that_a_tool_shows_reaches_the_model_and_one_that_takes_none_goes_on() {
    const DOT: &[u8] =
        b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    for model in [ANTHROPIC, OPENAI] {
        let look = Turn::tool("look_at", json!({"path": "dot.gif", "objective": "what is it"}));
        let refused = Turn::fault(Fault::Status {
            status: 400,
            message: "image input is not supported by this model".into(),
            error_type: None,
            retry_after: None,
        });
        let provided = Provided::with([look, refused, Turn::text("I cannot see it.")]);
        std::fs::write(provided.place.workspace().join("dot.gif"), DOT).expect("a picture");
        provided
            .place
            .configure(json!({"agents": {"explore": {"allowedTools": ["look_at"]}}}));
        let said = provided.run(&["--model", model]);
        said.check(0);
        assert!(said.stdout.contains("I cannot see it."), "{}", said.stdout);
        let calls = provided.server.ledger().calls();
        let has_picture = |call: &impresario_model_server::Call| call.body.to_string().contains("R0lGODlh");
        let seen: Vec<bool> = calls.iter().map(has_picture).collect();
        assert_eq!(seen, [false, true, false], "{model}");
        let last = calls[2].body["messages"].to_string();
        assert!(last.contains("this model takes none"), "{last}");
        assert_eq!(provided.place.runs()[0]["state"], "succeeded");
    }
}
