//! The tools that Impresario adds, for other hosts (`impresario mcp --tools`) and for embedded sub-agents: one answer.

use crate::place::{PROGRAM, Place, Said};
use impresario_model_server::{ModelServer, Script, Turn};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

type Client = RunningService<RoleClient, ()>;

async fn client(arguments: &[&str], directory: &Path) -> Client {
    let mut command = Command::new(PROGRAM);
    command
        .arg("mcp")
        .args(arguments)
        .env_clear()
        .env("HOME", directory)
        .current_dir(directory);
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).expect("it starts");
    ().serve(transport).await.expect("a handshake")
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> Result<String, String> {
    let arguments = arguments.as_object().cloned().expect("an object");
    let call = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(call).await.expect("a result, whatever it says");
    let text = result.content[0].as_text().expect("a text").text.clone();
    match result.is_error {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

#[tokio::test]
async fn other_hosts_get_the_tools_that_were_named_in_one_directory_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let work = directory
        .path()
        .canonicalize()
        .expect("its real place")
        .join("work");
    fs::create_dir_all(work.join("src")).expect("directories");
    fs::write(work.join("src/one.otter"), "x").expect("a file");
    fs::write(directory.path().join("beside.otter"), "x").expect("a file");
    let shown = work.display().to_string();
    let client = client(&["--tools", "glob", "--workspace", &shown], directory.path()).await;
    let tools = client.list_all_tools().await.expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["glob"]);
    let found = call(&client, "glob", json!({"pattern": "**/*.otter"})).await;
    let expected = format!(
        "Found 1 file.\nPattern: **/*.otter\nBase path: {shown}\nShowing newest 1 of 1.\n\n{shown}/src/one.otter"
    );
    assert_eq!(found, Ok(expected));
    let outside = call(&client, "glob", json!({"pattern": "../*.otter"})).await;
    assert!(outside.expect_err("refused").contains("outside the workspace"));
    let other = call(&client, "hashline_edit", json!({})).await;
    assert_eq!(other, Err("There is no tool \"hashline_edit\".".to_string()));
    client.cancel().await.expect("it ends");
}

#[test]
fn what_is_no_tool_and_what_is_no_directory_is_refused() {
    for (arguments, why) in [
        (["--tools", "glob,bash", "--workspace", "."], "bash"),
        (
            ["--tools", "glob", "--workspace", "no/such/place"],
            "no/such/place is no directory",
        ),
    ] {
        let output = Command::new(PROGRAM)
            .arg("mcp")
            .args(arguments)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why), "{said}");
    }
}

/// As a nested Pi and a session in Pi get it: tests/pi/tools.rs.
#[test]
fn an_embedded_sub_agent_gets_the_same_answer_and_nothing_from_outside() {
    let place = Place::new();
    let agent = place.workspace().join(".pi/sub-agents/scout.yaml");
    fs::create_dir_all(agent.parent().expect("a directory")).expect("a directory");
    let text = "name: scout\ndescription: Looks.\nsystem_prompt: Look.\nallowed_tools: [read, glob]\n";
    fs::write(agent, text).expect("an agent");
    let turns = [
        Turn::tool("glob", json!({"pattern": "src/rev*.rs"})),
        Turn::tool("glob", json!({"pattern": "*", "path": ".."})),
        Turn::text("There it is."),
    ];
    let server = ModelServer::start_blocking(Script::turns(turns)).expect("a server");
    let mut command = place.impresario(&["run", "--model", "openai/mock-2", "scout", "where is it"]);
    command.env("OPENAI_API_KEY", "key-of-the-test-0123456789").env(
        "OPENAI_BASE_URL",
        format!("http://127.0.0.1:{}/v1", server.port()),
    );
    let said = Said::of(command);
    said.check(0);
    let calls = server.ledger().calls();
    let told = |at: usize| calls[at].body["messages"].to_string();
    let work = place.workspace().canonicalize().expect("its real place");
    let expected = format!("Showing newest 1 of 1.\\n\\n{}/src/revival.rs", work.display());
    assert!(told(1).contains(&expected), "{}", told(1));
    assert!(told(2).contains("is outside the workspace"), "{}", told(2));
}
