//! An agent that changes files in a git worktree of its own, in real Pi of both versions: asked by the main agent,
//! refused what would reach the person's work, killed in the middle, and its patch applied.

use crate::agents::{FOUND, delegating};
use crate::host::{PATIENCE, Stage, prompt};
use impresario_model_server::{Script, Turn};
use impresario_test_support::pi::Version;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// The person's repository, with a file that is not committed.
fn stage(version: Version, name: &str, script: Script) -> Option<Stage> {
    let stage = Stage::set_with(version, name, script)?;
    stage.sandbox.write_work_file("committed.txt", "1\n");
    git(&stage, &["init", "-q", "-b", "main"]);
    git(&stage, &["add", "-A"]);
    git(&stage, &["commit", "-qm", "first"]);
    stage
        .sandbox
        .write_work_file("committed.txt", "1\nnot committed\n");
    Some(stage)
}

fn git(stage: &Stage, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(words);
    let output = command
        .current_dir(stage.sandbox.work())
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn asks_general() -> Turn {
    Turn::tool(
        "delegate_general",
        json!({ "task": "add a file", "isolation": "worktree" }),
    )
}

fn bash(command: &str) -> Turn {
    Turn::tool("bash", json!({ "command": command }))
}

fn body_of(stage: &Stage, rule: &str, call: usize) -> String {
    stage.server.ledger().calls_of(rule)[call].body.to_string()
}

fn steps(stage: &Stage, run: &str, step: &str) -> usize {
    let told = stage.impresario(&["trace", "--json", run]).records();
    told.iter().filter(|line| line["type"] == step).count()
}

/// Applies the patch of the one run.
fn apply(stage: &Stage, run: &str) {
    let applied = stage.impresario(&["worktrees", "apply", "--json", run]).records();
    assert_eq!(applied[0]["outcome"], "applied", "{applied:?}");
    let made = fs::read_to_string(stage.sandbox.work().join("new.txt")).expect("a file");
    assert_eq!(made, "of the run\n");
}

fn run_of(stage: &Stage) -> String {
    let runs: Vec<Value> = stage.runs();
    runs[0]["run"].as_str().expect("a run").to_string()
}

const WRITES: &str = "cat committed.txt; printf 'of the run\\n' > new.txt; git status --porcelain";

#[test]
fn what_a_delegated_agent_changes_comes_back_as_a_patch() {
    for version in Version::ALL {
        let agent = [bash("git stash -u"), bash(WRITES), Turn::text(FOUND)];
        let Some(stage) = stage(
            version,
            "an agent in a worktree",
            delegating(asks_general(), agent),
        ) else {
            return;
        };
        let before = git(&stage, &["status", "--porcelain"]);
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");

        let refused = body_of(&stage, "agent", 1);
        assert!(refused.contains("`git stash` is not run here"), "{refused}");
        let saw = body_of(&stage, "agent", 2);
        assert!(saw.contains("not committed"), "{saw}");
        assert!(
            saw.contains("?? new.txt") && saw.contains(" M committed.txt"),
            "{saw}"
        );
        let told = body_of(&stage, "main agent", 1);
        assert!(
            told.contains("1 file, +1 -0") && told.contains("impresario worktrees apply"),
            "{told}"
        );

        stage.wait_for_states(&["succeeded"]);
        assert_eq!(git(&stage, &["status", "--porcelain"]), before);
        assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 1);
        let run = run_of(&stage);
        assert_eq!(
            steps(&stage, &run, "tool_started"),
            1,
            "what is refused never began"
        );
        apply(&stage, &run);
        stage.end(pi);
    }
}

/// Tools of ours work where the agent works: what they change is in its patch, and the person's files are as they were.
#[test]
fn added_tools_edit_in_the_worktree_and_not_beside_it() {
    for version in Version::ALL {
        let appends = json!([{ "op": "append", "lines": ["by anchors"] }]);
        let edit = |path: &str| Turn::tool("hashline_edit", json!({"filePath": path, "edits": appends}));
        let Some(stage) = stage(
            version,
            "added tools in a worktree",
            delegating(asks_general(), []),
        ) else {
            return;
        };
        let persons = stage.sandbox.work().join("committed.txt");
        let beside = edit(&persons.display().to_string());
        let agent = [edit("committed.txt"), beside, Turn::text(FOUND)];
        let script = delegating(asks_general(), agent);
        stage.server.set_script(script).expect("a script");
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");

        let made = body_of(&stage, "agent", 1);
        assert!(made.contains("|by anchors"), "{made}");
        let refused = body_of(&stage, "agent", 2);
        assert_eq!(refused.matches("|by anchors").count(), 1, "{refused}");
        stage.wait_for_states(&["succeeded"]);
        let text = || fs::read_to_string(&persons).expect("the person's file");
        assert_eq!(text(), "1\nnot committed\n");
        let run = run_of(&stage);
        let applied = stage
            .impresario(&["worktrees", "apply", "--json", &run])
            .records();
        assert_eq!(applied[0]["outcome"], "applied", "{applied:?}");
        assert_eq!(text(), "1\nnot committed\nby anchors\n");
        stage.end(pi);
    }
}

#[test]
fn a_runtime_that_is_killed_goes_on_in_the_same_worktree() {
    for version in Version::ALL {
        let agent = [
            bash(WRITES),
            Turn::text("never").behind_gate("never"),
            Turn::text(FOUND),
        ];
        let Some(stage) = stage(version, "killed in a worktree", delegating(asks_general(), agent)) else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        stage.wait_for_calls_of("agent", 2);
        let run = run_of(&stage);
        kill_process(stage.runtime_pid(), Signal::KILL).expect("the runtime runs");
        stage.wait_for_calls_of("agent", 3);
        stage.wait_for_states(&["succeeded"]);
        for (step, times) in [
            ("worktree_prepared", 1),
            ("patch_taken", 1),
            ("tool_started", 1),
            ("worktree_cleared", 1),
        ] {
            assert_eq!(steps(&stage, &run, step), times, "{step}");
        }
        assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 1);
        apply(&stage, &run);
        stage.end(pi);
    }
}

#[test]
fn in_a_workspace_that_is_not_trusted_there_is_no_worktree() {
    let version = Version::ALL[0];
    let Some(stage) = stage(
        version,
        "no worktree without trust",
        delegating(asks_general(), []),
    ) else {
        return;
    };
    let mut pi =
        impresario_test_support::json_lines::JsonLines::start(&mut stage.pi_untrusted(&["--mode", "rpc"]));
    prompt(&mut pi, "/skill:trace-view nothing.json");
    pi.wait_for(PATIENCE, |record| {
        crate::host::is_notice(record, "\"nothing.json\" not found")
    });
    prompt(&mut pi, "Now, please.");
    pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
    let told = body_of(&stage, "main agent", 1);
    assert!(told.contains("trusted workspaces only"), "{told}");
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 1);
    stage.end(pi);
}
