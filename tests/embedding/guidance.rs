//! Rules of directories for a sub-agent in this process.

use crate::audit::Audit;
use impresario::Runtime;
use impresario::runtime::{OfflineOr, ProviderModels, SkillOrder};
use impresario::skills::SpawnSettings;
use impresario_model_server::{ModelServer, Script, Turn};
use serde_json::json;
use std::fs;
use tempfile::TempDir;

fn write(place: &TempDir, path: &str, text: &str) {
    let file = place.path().join(path);
    fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    fs::write(file, text).expect("written");
}

/// What the model was sent last, after a sub-agent read the same file twice and one beside it.
async fn last_request(is_trusted: bool) -> String {
    let place = tempfile::tempdir().expect("a directory");
    write(
        &place,
        "home/.pi/agent/skills/demo/SKILL.md",
        "---\nname: demo\ndescription: d\n---\nLook.\n",
    );
    write(&place, "workspace/src/AGENTS.md", "Use tabs here.");
    write(&place, "workspace/src/a.ts", "a");
    write(&place, "workspace/src/b.ts", "b");
    let read = |path: &str| Turn::tool("read", json!({ "path": path }));
    let together = read("src/a.ts").and_tool("read", json!({"path": "src/b.ts"}));
    let script = Script::turns([together, read("src/a.ts"), Turn::text("It looked.")]);
    let server = ModelServer::start_blocking(script).expect("a port");
    let models = ProviderModels::new()
        .with_variable("OPENAI_API_KEY", "key-of-the-test-0123456789")
        .with_variable(
            "OPENAI_BASE_URL",
            format!("http://127.0.0.1:{}/v1", server.port()),
        );
    let audit = Audit::of(place.path().join("state"));
    let mut skills = SpawnSettings {
        home: Some(place.path().join("home")),
        agent_directory: None,
        ..SpawnSettings::default()
    };
    skills.means.judged = false;
    skills.means.chain = vec!["openai/mock-1".into()];
    let builder = Runtime::builder()
        .state_directory(place.path().join("state"))
        .workspace(place.path().join("workspace"))
        .skills(skills)
        .model(OfflineOr::new(models));
    let runtime = builder.start().await.expect("started");
    let order = SkillOrder {
        name: "demo".into(),
        task: "look around".into(),
        workspace: place.path().join("workspace"),
        workspace_trusted: is_trusted,
        ..SkillOrder::default()
    };
    let run = runtime.spawn_skill(order).await.expect("accepted");
    let outcome = run.outcome().await.expect("an outcome");
    assert_eq!(outcome.answer.as_deref(), Some("It looked."), "{outcome:?}");
    runtime.shutdown().await.expect("stopped");
    drop(audit);
    let calls = server.ledger().calls();
    calls.last().expect("a call").body.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_sub_agent_has_the_rules_of_where_it_reads_once() {
    let request = last_request(true).await;
    assert_eq!(request.matches("Use tabs here.").count(), 1, "{request}");
    assert_eq!(request.matches("[Directory Context: ").count(), 1, "{request}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_is_not_trusted_gives_it_none() {
    let request = last_request(false).await;
    assert_eq!(request.matches("Use tabs here.").count(), 0, "{request}");
}
