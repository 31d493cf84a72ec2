//! The trace recorder's work: a run leaves one whole file that the peer can read, and nothing where nothing was wanted.

use crate::audit::Audit;
use impresario::{Runtime, SubAgent};
use impresario_actors::trace_files::TraceFiles;
use impresario_policies::trace_file::Trace;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

async fn run_in(workspace: &Path, sub_agent: SubAgent) -> String {
    let state = TempDir::new().unwrap();
    let _audit = Audit::of(state.path());
    let runtime = Runtime::builder()
        .state_directory(state.path())
        .workspace(workspace)
        .start()
        .await
        .unwrap();
    let run = runtime.spawn(sub_agent).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    runtime.shutdown().await.unwrap();
    outcome.run.to_string()
}

fn workspace() -> TempDir {
    let workspace = TempDir::new().unwrap();
    std::fs::write(
        workspace.path().join("lock.rs"),
        "/// Takes the lock.\npub fn take_lock() {}\n",
    )
    .unwrap();
    workspace
}

#[tokio::test]
async fn a_run_leaves_one_trace_that_says_what_it_did() {
    let workspace = workspace();
    let sub_agent = SubAgent::explore("Where is the lock taken?").trace_directory(".pi/traces");
    let run = run_in(workspace.path(), sub_agent).await;
    let files = std::fs::read_dir(workspace.path().join(".pi/traces"))
        .unwrap()
        .flatten()
        .filter(|file| file.file_name() != ".gitignore")
        .collect::<Vec<_>>();
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().to_string_lossy().into_owned();
    assert!(name.starts_with("explore_") && name.ends_with(".json"), "{name}");
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(files[0].path()).unwrap()).unwrap();
    assert_eq!(trace["skillName"], "explore");
    assert_eq!(trace["stoppedReason"], "completed");
    assert_eq!(trace["toolCalls"][0]["toolName"], "codebase-retrieval");
    assert!(
        trace["finalText"].as_str().unwrap().contains("lock.rs"),
        "{trace}"
    );
    assert_eq!(trace["impresario"]["runId"], run.as_str());
}

#[tokio::test]
async fn a_run_that_failed_leaves_its_trace_too() {
    let workspace = workspace();
    run_in(
        workspace.path(),
        SubAgent::explore("fix it").trace_directory(".pi/traces"),
    )
    .await;
    let mut files = std::fs::read_dir(workspace.path().join(".pi/traces"))
        .unwrap()
        .flatten()
        .filter(|file| file.file_name() != ".gitignore");
    let trace: Value =
        serde_json::from_str(&std::fs::read_to_string(files.next().unwrap().path()).unwrap()).unwrap();
    assert_eq!(trace["stoppedReason"], "error");
    assert_eq!(trace["impresario"]["state"], "failed");
}

#[tokio::test]
async fn a_run_without_a_trace_directory_leaves_nothing_in_the_workspace() {
    let workspace = workspace();
    run_in(workspace.path(), SubAgent::explore("Where is the lock taken?")).await;
    assert_eq!(std::fs::read_dir(workspace.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_trace_directory_that_leads_out_of_the_workspace_is_not_followed() {
    let outside = TempDir::new().unwrap();
    let workspace = workspace();
    std::os::unix::fs::symlink(outside.path(), workspace.path().join("traces")).unwrap();
    run_in(
        workspace.path(),
        SubAgent::explore("Where is the lock taken?").trace_directory("traces"),
    )
    .await;
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// As fast as they may come: traces that carry the same moment are never written over each other.
#[test]
fn traces_of_one_moment_have_a_file_each() {
    let workspace = workspace();
    let files = TraceFiles::create(workspace.path(), "traces").unwrap();
    let trace = |answer: &str| {
        let trace = json!({"skillName": "demo", "timestamp": 1_746_960_622_000_u64, "toolCalls": [], "finalText": answer});
        Trace::read(&trace.to_string()).unwrap()
    };
    let names = ["one", "two", "three"].map(|answer| files.keep(&trace(answer)).unwrap());
    let expected = [
        "demo_1746960622000.json",
        "demo_1746960622000-2.json",
        "demo_1746960622000-3.json",
    ];
    assert_eq!(names, expected);
    let said = names.map(|name| files.one(&name).unwrap().final_text);
    assert_eq!(said, ["one", "two", "three"]);
}
