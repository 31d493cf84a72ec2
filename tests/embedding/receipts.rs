//! What a result proves: files, commands and tools as the runtime saw them, with the embedded runner, and what an answer
//! says that they do not bear out.

use crate::audit::Audit;
use crate::playing::{calls, run, says};
use impresario::runtime::{
    EmbeddedTool, FileState, Flag, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, OfflineOr,
    Receipt, TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::{Runtime, SubAgent};
use serde_json::{Value, json};
use tempfile::TempDir;

/// SHA-256 of `abc` and of nothing.
const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Makes these turns, one after the other, whoever asks.
#[derive(Clone)]
struct Scripted(Vec<ModelReply>);

#[async_trait(?Send)]
impl ModelClient for Scripted {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let spoken = request
            .messages
            .iter()
            .filter(|message| message.role == ModelRole::Assistant);
        let turn = self.0.get(spoken.count()).cloned();
        turn.ok_or_else(|| ModelError::Unavailable("the script is over".to_string()))
    }
}

/// Writes a file of the workspace, as a tool of a program would.
struct Write;

#[async_trait]
impl EmbeddedTool for Write {
    fn definition(&self) -> ToolDefinition {
        definition("write")
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<String, String> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_string();
        let file = context.workspace.join(text("path"));
        std::fs::write(file, text("content")).map_err(|error| error.to_string())?;
        Ok("written".to_string())
    }
}

/// A shell that fails as its command says.
struct Shell;

#[async_trait]
impl EmbeddedTool for Shell {
    fn definition(&self) -> ToolDefinition {
        definition("bash")
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<String, String> {
        match arguments["command"].as_str() {
            Some("cargo test") => Err("1 failed\n\nCommand exited with code 101".to_string()),
            _ => Ok("fine".to_string()),
        }
    }
}

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_string(),
        description: "Does it.".to_string(),
        parameters: json!({ "type": "object" }),
    }
}

struct Place {
    _audit: Audit,
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(directory.path().join("workspace/src")).expect("a workspace");
        std::fs::write(directory.path().join("workspace/src/a.rs"), "abc").expect("a file");
        std::fs::write(directory.path().join("workspace/src/other.rs"), "fn other() {}\n").expect("a file");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
        }
    }

    async fn receipt(&self, turns: Vec<ModelReply>, agent: &str) -> Receipt {
        let builder = Runtime::builder()
            .state_directory(self.directory.path().join("state"))
            .workspace(self.directory.path().join("workspace"))
            .tool(Write)
            .tool(Shell)
            .model(OfflineOr::new(Scripted(turns)));
        let runtime = builder.start().await.expect("started");
        let sub_agent = SubAgent::new(agent, "Mend it.").unjudged().chain(["house/a"]);
        let outcome = run(&runtime, sub_agent.tools(["read", "grep", "write", "bash"])).await;
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        runtime.shutdown().await.expect("stopped");
        outcome.receipt()
    }
}

fn sha256(state: &FileState) -> &str {
    match state {
        FileState::Hashed { sha256, .. } => sha256,
        other => panic!("it is hashed: {other:?}"),
    }
}

#[tokio::test]
async fn a_receipt_proves_files_and_commands() {
    let turns = vec![
        calls("1", "read", json!({"path": "src/a.rs"})),
        calls("2", "write", json!({"path": "./src/a.rs", "content": ""})),
        calls("3", "write", json!({"path": "src/new.rs", "content": "abc"})),
        calls("4", "bash", json!({"command": "cargo   test"})),
        calls("5", "bash", json!({"command": "cargo test"})),
        says("I mended `src/a.rs:1`. `src/other.rs:7` does the same. All tests pass."),
    ];
    let receipt = Place::new().receipt(turns, "general").await;
    let work = &receipt.work;
    let read: Vec<_> = work
        .read
        .iter()
        .map(|file| (file.path.as_str(), sha256(&file.state)))
        .collect();
    assert_eq!(read, [("src/a.rs", OF_ABC)]);
    let [mended, new] = work.changed.as_slice() else {
        panic!("two files are changed: {:?}", work.changed);
    };
    assert_eq!(
        (mended.path.as_str(), sha256(&mended.before)),
        ("src/a.rs", OF_ABC)
    );
    assert_eq!(mended.after.as_ref().map(sha256), Some(OF_NOTHING));
    assert_eq!(
        (new.path.as_str(), &new.before),
        ("src/new.rs", &FileState::Absent)
    );
    assert_eq!(new.after.as_ref().map(sha256), Some(OF_ABC));
    let commands: Vec<_> = work
        .commands
        .iter()
        .map(|run| (run.command.as_str(), run.exit_code))
        .collect();
    assert_eq!(commands, [("cargo test", Some(0)), ("cargo test", Some(101))]);
    assert!(work.may_have_changed_more, "nobody knows what a command changes");
    assert_eq!(receipt.models, ["house/a"]);
    assert_eq!(receipt.model_calls, 6);
    let [
        Flag::CitedUnread { path, line, missing },
        Flag::TestsFailed { exit_code, .. },
    ] = receipt.flags.as_slice()
    else {
        panic!("two flags: {:?}", receipt.flags);
    };
    assert_eq!((path.as_str(), *line, *missing), ("src/other.rs", Some(7), false));
    assert_eq!(*exit_code, 101);
}

#[tokio::test]
async fn an_answer_without_a_look_is_flagged_and_one_with_a_look_is_not() {
    let claims = || says("It is decided in `src/a.rs:1`, see src/nothing.rs:4.");
    let place = Place::new();
    let flags = place.receipt(vec![claims()], "explore").await.flags;
    let cited = |path: &str, line, missing| Flag::CitedUnread {
        path: path.into(),
        line: Some(line),
        missing,
    };
    let unread = [cited("src/a.rs", 1, false), cited("src/nothing.rs", 4, true)];
    assert_eq!(flags[0], Flag::NothingLookedAt);
    assert_eq!(flags[1..], unread);
    // Whoever advises need not look; what it cites, it has to have read.
    assert_eq!(Place::new().receipt(vec![claims()], "oracle").await.flags, unread);
    let looks = vec![
        calls("1", "grep", json!({"pattern": "abc"})),
        says("It is decided in `src/a.rs:1`."),
    ];
    assert_eq!(Place::new().receipt(looks, "explore").await.flags, []);
}
