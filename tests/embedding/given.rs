//! What a program gives a sub-agent before its task: an earlier conversation, pictures.

use crate::audit::Audit;
use crate::playing::run;
use impresario::runtime::{OfflineOr, ProviderModels, ReasonCode, RuntimeError, TerminalState};
use impresario::{EarlierMessage, Runtime, SubAgent};
use impresario_model_server::{ModelServer, Script, Turn};
use serde_json::{Value, json};
use tempfile::TempDir;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest of it";
const PNG_BASE64: &str = "iVBORw0KGgp0aGUgcmVzdCBvZiBpdA==";

async fn start(directory: &TempDir, server: &ModelServer) -> Runtime {
    let url = format!("http://127.0.0.1:{}/v1", server.port());
    let models = ["ANTHROPIC", "OPENAI"]
        .into_iter()
        .fold(ProviderModels::new(), |models, provider| {
            models
                .with_variable(format!("{provider}_API_KEY"), "key-of-the-test-0123456789")
                .with_variable(format!("{provider}_BASE_URL"), &url)
        });
    let builder = Runtime::builder()
        .state_directory(directory.path().join("state"))
        .workspace(directory.path())
        .model(OfflineOr::new(models));
    builder.start().await.expect("started")
}

fn question(model: &str) -> SubAgent {
    SubAgent::explore("What is on it?")
        .unjudged()
        .chain([model])
        .history([
            EarlierMessage::user("I send you a picture."),
            EarlierMessage::assistant("I wait for it."),
        ])
        .picture(PNG)
}

/// The conversation that a provider was sent, without its own instructions.
fn conversation(server: &ModelServer) -> Vec<Value> {
    let calls = server.ledger().calls();
    let body = serde_json::to_value(&calls.last().expect("a call").body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages").iter();
    messages
        .filter(|message| message["role"] != "system")
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_conversation_goes_on_and_its_pictures_are_shown() {
    let shown = [
        (
            "anthropic/mock-1",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}}),
        ),
        (
            "openai/mock-1",
            json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG_BASE64}")}}),
        ),
    ];
    for (model, picture) in shown {
        let directory = tempfile::tempdir().expect("a directory");
        let _audit = Audit::of(directory.path().join("state"));
        let turns = [
            Turn::text("I look.").and_tool("ls", json!({"path": "."})),
            Turn::text("A supervisor."),
        ];
        let server = ModelServer::start_blocking(Script::turns(turns)).expect("a server");
        let runtime = start(&directory, &server).await;
        let outcome = run(&runtime, question(model)).await;
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        assert_eq!(outcome.answer.as_deref(), Some("A supervisor."));
        let said = conversation(&server);
        let roles = said
            .iter()
            .map(|message| message["role"].as_str().expect("a role"));
        assert_eq!(
            roles.take(3).collect::<Vec<_>>(),
            ["user", "assistant", "user"],
            "{said:?}"
        );
        assert!(
            said[0].to_string().contains("I send you a picture."),
            "{}",
            said[0]
        );
        assert!(said[1].to_string().contains("I wait for it."), "{}", said[1]);
        let task = said[2]["content"].as_array().expect("parts").clone();
        assert!(task.contains(&picture), "{task:?}");
        assert!(said[2].to_string().contains("What is on it?"), "{}", said[2]);
        runtime.shutdown().await.expect("stopped");
    }
}

#[tokio::test]
async fn what_cannot_be_given_is_refused_before_anything_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = ModelServer::start_blocking(Script::turns([Turn::text("never")])).expect("a server");
    let runtime = start(&directory, &server).await;
    let asked = || {
        SubAgent::explore("What is on it?")
            .unjudged()
            .chain(["openai/mock-1"])
    };
    let refused = [
        (asked().picture("<svg></svg>"), "neither PNG"),
        (asked().history([EarlierMessage::user(" ")]), "empty"),
        (asked().runner("pi").picture(PNG), "runner"),
    ];
    for (question, wanted) in refused {
        let Err(RuntimeError::Refused(reason)) = runtime.spawn(question).await else {
            panic!("not refused: {wanted}")
        };
        assert_eq!(reason.code, ReasonCode::BadInput);
        assert!(reason.message.contains(wanted), "{}", reason.message);
    }
    assert!(server.ledger().calls().is_empty());
    runtime.shutdown().await.expect("stopped");
}
