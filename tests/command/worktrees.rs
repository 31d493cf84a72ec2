//! A run in a git worktree of its own, from its beginning to an applied patch, through the real runtime; and the
//! same with SIGKILL in the middle of git's work.

use crate::audit::Audit;
use crate::place::{PROGRAM, Said, processes_of, until};
use impresario::chaos::{audit, evidence_of};
use impresario::runtime::{
    EmbeddedTool, FileChange, Isolation, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole,
    ModelUsage, Outcome, Replay, RunId, TerminalState, ToolCall, ToolContext, ToolDefinition, async_trait,
};
use impresario::{Runtime, SessionId, SubAgent};
use impresario_test_support::programs::write_script;
use impresario_test_support::waiting::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const SESSION: &str = "the session";
/// Where the program that is killed finds its place.
const SCENE: &str = "WORKTREES_SCENE";
/// The test that is the program.
const LIFE: &str = "worktrees::killed_in_the_middle_of_git_nothing_is_lost_and_nothing_done_twice";
const CHANGES: &str = "Change a file.";
const STASHES: &str = "Stash everything.";
const DIES: &str = "Change a file and die.";

/// A person's repository and a state directory.
struct Scene {
    _audit: Audit,
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let scene = Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
        };
        fs::create_dir(scene.top()).expect("a workspace");
        scene.git(&["init", "-q", "-b", "main"]);
        fs::write(scene.top().join("committed"), "1\n").expect("a file");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        fs::write(scene.top().join("committed"), "1\nnot committed\n").expect("a file");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn top(&self) -> PathBuf {
        self.path("workspace")
    }

    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        let said = Said::of({
            command.current_dir(self.top());
            command
        });
        said.check(0);
        said.stdout
    }

    fn worktrees(&self, words: &[&str]) -> Said {
        self.impresario(&[&["worktrees"], words].concat())
    }

    fn impresario(&self, words: &[&str]) -> Said {
        let mut command = Command::new(PROGRAM);
        command
            .args(words)
            .env("IMPRESARIO_STATE_DIRECTORY", self.path("state"));
        Said::of(command)
    }

    fn steps(&self, run: &RunId) -> Vec<String> {
        let evidence = evidence_of(self.path("state")).expect("a journal");
        assert_eq!(audit(&evidence), []);
        let of_run = evidence.rows.iter().filter(|row| row.run == run.as_str());
        let words = of_run.map(|row| row.step["step"].as_str().unwrap_or_default().to_string());
        words.collect()
    }

    fn took(&self, run: &RunId, step: &str) -> usize {
        self.steps(run).iter().filter(|taken| *taken == step).count()
    }
}

async fn start(directory: &Path) -> Runtime {
    let session = Arc::new(Mutex::new(Some(SessionId(SESSION.to_string()))));
    let place = directory.to_path_buf();
    Runtime::builder()
        .state_directory(directory.join("state"))
        .workspace(directory.join("workspace"))
        .session(session)
        .model(Script)
        .tool(Tool {
            name: "change",
            place: place.clone(),
        })
        .tool(Tool { name: "bash", place })
        .start()
        .await
        .expect("the runtime starts")
}

fn sub_agent(task: &str) -> SubAgent {
    SubAgent::explore(task)
        .unjudged()
        .chain(["house/one"])
        .session(SESSION)
        .with_tool("change")
        .with_tool("bash")
        .isolation(Isolation::Worktree)
}

/// Calls a tool once, and says what came of it.
struct Script;

#[async_trait(?Send)]
impl ModelClient for Script {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let said = request
            .messages
            .iter()
            .rfind(|message| message.role == ModelRole::Tool);
        let asks = |task: &str| request.messages.iter().any(|message| message.text.contains(task));
        let (text, tool_calls) = match said {
            Some(said) => (format!("The tool said: {}", said.text), Vec::new()),
            None => {
                let (tool, arguments) = match asks(STASHES) {
                    true => ("bash", json!({ "command": "git add -A && git stash" })),
                    false => ("change", json!({ "dies": asks(DIES) })),
                };
                let call = ToolCall {
                    id: "call-1".to_string(),
                    tool: tool.to_string(),
                    arguments,
                };
                (String::new(), vec![call])
            }
        };
        Ok(ModelReply {
            text,
            tool_calls,
            usage: ModelUsage::default(),
            served: None,
        })
    }
}

struct Tool {
    name: &'static str,
    place: PathBuf,
}

#[async_trait]
impl EmbeddedTool for Tool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.to_string(),
            description: "Changes files.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Unsafe
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<String, String> {
        let seen = fs::read_to_string(context.workspace.join("committed")).unwrap_or_default();
        fs::write(self.place.join("ran"), self.name).expect("a file");
        fs::write(context.workspace.join("committed"), format!("{seen}of the run\n")).expect("a file");
        fs::write(context.workspace.join("new"), "of the run\n").expect("a file");
        if arguments["dies"] == true {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .expect("it is there");
        }
        Ok(format!("saw {:?}", seen))
    }
}

fn on_tokio<T>(work: impl Future<Output = T>) -> T {
    let tokio = tokio::runtime::Runtime::new().expect("tokio");
    let within = async { tokio::time::timeout(PATIENCE, work).await };
    tokio.block_on(within).expect("it comes to an end")
}

fn play(scene: &Scene, sub_agent: SubAgent) -> Outcome {
    on_tokio(async {
        let runtime = start(scene.directory.path()).await;
        let outcome = runtime.spawn(sub_agent).await.expect("accepted").outcome().await;
        runtime.shutdown().await.expect("stopped");
        outcome.expect("an outcome")
    })
}

#[test]
fn what_a_run_changes_is_a_patch_until_somebody_applies_it() {
    let scene = Scene::new();
    let before = scene.git(&["status", "--porcelain"]);
    let outcome = play(&scene, sub_agent(CHANGES));
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    assert_eq!(
        outcome.answer.as_deref(),
        Some("The tool said: saw \"1\\nnot committed\\n\""),
        "it saw what was not committed"
    );
    assert_eq!(scene.git(&["status", "--porcelain"]), before);
    let own = outcome.projection.worktree.as_ref().expect("a worktree");
    let patch = own.kept.as_ref().expect("kept").patch.as_ref().expect("a patch");
    let files: Vec<_> = patch
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.change))
        .collect();
    assert_eq!(
        files,
        [("committed", FileChange::Modified), ("new", FileChange::Added)]
    );
    assert!(own.cleared && !own.worktree.directory.exists());

    let run = outcome.run.to_string();
    let listed = scene.worktrees(&["--json"]);
    listed.check(0);
    assert_eq!(listed.json_lines()[0]["stage"], "taken");
    let shown = scene.worktrees(&["show", &run]);
    shown.check(0);
    assert!(
        shown.stdout.contains("M committed +1 -0") && shown.stdout.contains(&own.worktree.reference),
        "{}",
        shown.stdout
    );
    let printed = scene.worktrees(&["show", "--patch", &run]);
    printed.check(0);
    assert!(printed.stdout.contains("+of the run"), "{}", printed.stdout);
    let looked = scene.worktrees(&["apply", "--check", &run]);
    looked.check(0);
    assert_eq!(scene.git(&["status", "--porcelain"]), before);

    fs::write(scene.top().join("new"), "of the person\n").expect("a file");
    let refused = scene.worktrees(&["apply", &run]);
    refused.check(1);
    assert!(
        refused.stderr.contains("new: is there meanwhile"),
        "{}",
        refused.stderr
    );
    let text = |file: &str| fs::read_to_string(scene.top().join(file)).expect("a file");
    assert_eq!(
        text("committed"),
        "1\nnot committed\n",
        "nothing is changed where something stands in the way"
    );
    fs::remove_file(scene.top().join("new")).expect("a file");
    let applied = scene.worktrees(&["apply", "--json", &run]);
    applied.check(0);
    assert_eq!(applied.json_lines()[0]["outcome"], "applied");
    assert_eq!(
        (text("committed"), text("new")),
        ("1\nnot committed\nof the run\n".into(), "of the run\n".into())
    );
    scene.worktrees(&["discard", &run]).check(0);
    scene.worktrees(&["apply", &run]).check(2);
    assert_eq!(scene.git(&["for-each-ref", "refs/impresario"]), "");
}

#[test]
fn what_would_reach_the_work_of_the_person_is_refused_and_the_model_is_told() {
    let scene = Scene::new();
    let outcome = play(&scene, sub_agent(STASHES));
    let answer = outcome.answer.as_deref().unwrap_or_default();
    assert!(
        answer.starts_with("The tool said: `git stash` is not run here"),
        "{answer}"
    );
    assert!(!scene.path("ran").exists(), "the tool did not run");
    assert_eq!(scene.took(&outcome.run, "tool_started"), 0);
    let free = play(&scene, sub_agent(STASHES).isolation(Isolation::None));
    assert!(
        free.answer.as_deref().unwrap_or_default().contains("saw"),
        "{free:?}"
    );
}

#[test]
fn outside_of_a_repository_a_run_ends_before_anything_is_paid() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.top().join(".git")).expect("a repository");
    let outcome = play(&scene, sub_agent(CHANGES));
    assert_eq!(outcome.state, TerminalState::Failed);
    let reason = outcome.reason.expect("a reason");
    assert!(
        reason.message.contains("not in a git repository"),
        "{}",
        reason.message
    );
    assert_eq!(scene.took(&outcome.run, "attempt_started"), 0);
}

/// The life of the program, in a process of its own; returns at once in any other.
fn live() {
    let Ok(directory) = std::env::var(SCENE) else {
        return;
    };
    on_tokio(async {
        let runtime = start(Path::new(&directory)).await;
        let task = fs::read_to_string(Path::new(&directory).join("task")).expect("a task");
        let run = runtime.spawn(sub_agent(&task)).await.expect("accepted");
        run.outcome().await.expect("an outcome");
        runtime.shutdown().await.expect("stopped");
    });
    // What stands behind it is for those who began it.
    std::process::exit(0);
}

impl Scene {
    /// A git that kills whoever calls it at the `nth` call with these words, and does its work all the same.
    fn git_that_kills(&self, words: &str, nth: usize) -> PathBuf {
        let killed = self.path("killed");
        self.git_that(
            words,
            nth,
            &format!("echo killed > '{}'; kill -9 $PPID", killed.display()),
        )
    }

    /// A git that does something else first at the `nth` call with these words.
    fn git_that(&self, words: &str, nth: usize, does: &str) -> PathBuf {
        let found = std::env::split_paths(&std::env::var_os("PATH").expect("a path"))
            .map(|directory| directory.join("git"))
            .find(|git| git.is_file())
            .expect("git");
        let programs = self.path("programs");
        fs::create_dir(&programs).expect("a directory");
        let seen = self.path("seen");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in\n*'{words}'*)\n  echo x >> '{seen}'\n  if [ \"$(wc -l < '{seen}')\" -eq {nth} ]; \
             then {does}; fi;;\nesac\nexec '{git}' \"$@\"\n",
            seen = seen.display(),
            git = found.display(),
        );
        write_script(&programs.join("git"), &text);
        programs
    }

    /// Plays the program until it is killed, and gives the run it was killed in.
    fn killed(&self, task: &str, programs: Option<&Path>) -> RunId {
        let (run, status) = self.lived(task, programs);
        assert_eq!(status.signal(), Some(9), "it was killed: {status}");
        run
    }

    /// Plays the program, and gives its run and how it ended.
    fn lived(&self, task: &str, programs: Option<&Path>) -> (RunId, ExitStatus) {
        fs::write(self.path("task"), task).expect("a file");
        let mut command = Command::new(std::env::current_exe().expect("our own program"));
        command
            .args(["--exact", LIFE, "--nocapture"])
            .env(SCENE, self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some(programs) = programs {
            let path = std::env::var_os("PATH").expect("a path");
            let paths = [programs.to_path_buf()]
                .into_iter()
                .chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(paths).expect("a path"));
        }
        let status = command.status().expect("it runs");
        let evidence = evidence_of(self.path("state")).expect("a journal");
        let run = RunId::try_from(evidence.rows[0].run.clone()).expect("a run");
        (run, status)
    }
}

#[test]
fn killed_in_the_middle_of_git_nothing_is_lost_and_nothing_done_twice() {
    // Started by these tests as another process, this one is the program that they kill.
    live();
    let moments = [
        // Before, while and after it is made.
        ("rev-parse --is-inside-work-tree", 1),
        ("commit-tree", 1),
        ("update-ref refs", 1),
        ("worktree add", 1),
        ("read-tree --reset", 1),
        ("rev-parse --absolute-git-dir", 1),
        // Before, while and after its patch is taken.
        ("ls-files --others --exclude-standard", 2),
        ("commit-tree", 2),
        ("diff-tree -p", 1),
        ("diff-tree -r -z -M --raw", 1),
        ("update-ref refs", 2),
        ("apply --cached", 1),
        // Before it goes.
        ("apply --cached", 2),
        ("worktree remove", 2),
    ];
    for (words, nth) in moments {
        let scene = Scene::new();
        let programs = scene.git_that_kills(words, nth);
        let run = scene.killed(CHANGES, Some(&programs));
        assert!(scene.path("killed").exists(), "{words}");
        let outcome = on_tokio(async {
            let runtime = start(scene.directory.path()).await;
            runtime.adopt().await.expect("adopted");
            let outcome = runtime.run(run.clone()).outcome().await.expect("an outcome");
            runtime.shutdown().await.expect("stopped");
            outcome
        });
        let at = format!("killed at {words:?}, {nth}");
        assert_eq!(
            outcome.state,
            TerminalState::Succeeded,
            "{at}: {:?}",
            outcome.reason
        );
        for step in [
            "worktree_prepared",
            "attempt_started",
            "tool_started",
            "patch_taken",
            "worktree_cleared",
        ] {
            let shown = || scene.impresario(&["runs", "show", run.as_str()]).stdout;
            assert_eq!(scene.took(&run, step), 1, "{at}: {step}\n{}", shown());
        }
        assert_eq!(processes_of(run.as_str()), 0, "{at}");
        assert_eq!(scene.git(&["status", "--porcelain"]), " M committed\n", "{at}");
        assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1, "{at}");
        let applied = scene.worktrees(&["apply", run.as_str()]);
        applied.check(0);
        let text = fs::read_to_string(scene.top().join("committed")).expect("a file");
        assert_eq!(text, "1\nnot committed\nof the run\n", "{at}");
    }
}

#[test]
fn a_parked_run_keeps_its_worktree_and_whoever_goes_on_works_there() {
    let scene = Scene::new();
    let run = scene.killed(DIES, None);
    let (parked, directory, resumed) = on_tokio(async {
        let runtime = start(scene.directory.path()).await;
        runtime.adopt().await.expect("adopted");
        let parked = runtime.run(run.clone()).outcome().await.expect("an outcome");
        let own = parked.projection.worktree.clone().expect("a worktree");
        let directory = own.worktree.directory.clone();
        assert!(directory.join("new").exists(), "it stays");
        let resumed = runtime.resume(&run).await.expect("accepted").outcome().await;
        runtime.shutdown().await.expect("stopped");
        (parked, directory, resumed.expect("an outcome"))
    });
    assert_eq!(parked.state, TerminalState::Parked, "{:?}", parked.reason);
    let kept = parked
        .projection
        .worktree
        .expect("a worktree")
        .kept
        .expect("kept");
    assert_eq!(
        kept.patch.expect("a patch").files_in_all,
        2,
        "what it did is a patch already"
    );
    let own = resumed.projection.worktree.expect("a worktree");
    assert_eq!(own.worktree.directory, directory);
    assert_eq!(resumed.state, TerminalState::Succeeded, "{:?}", resumed.reason);
    assert!(own.cleared && !directory.exists());
    scene.worktrees(&["apply", resumed.run.as_str()]).check(0);
    assert!(scene.top().join("new").exists());
}

#[test]
fn what_could_not_be_kept_stays_and_is_kept_at_the_next_start() {
    let scene = Scene::new();
    let programs = scene.git_that("diff-tree -p", 1, "echo no room >&2; exit 1");
    let (run, status) = scene.lived(CHANGES, Some(&programs));
    assert!(status.success(), "{status}");
    let outcome = |runtime: Runtime| {
        let run = run.clone();
        async move {
            let outcome = runtime.run(run).outcome().await.expect("an outcome");
            runtime.shutdown().await.expect("stopped");
            outcome
        }
    };
    assert_eq!(scene.took(&run, "patch_not_taken"), 1);
    let directory = scene.path("state/worktrees").join(run.as_str());
    assert!(directory.join("new").exists(), "it stays");
    let outcome = on_tokio(async {
        let runtime = start(scene.directory.path()).await;
        until("the worktree is gone", || !directory.exists());
        outcome(runtime).await
    });
    assert_eq!(outcome.state, TerminalState::Succeeded);
    scene.worktrees(&["apply", run.as_str()]).check(0);
    assert!(scene.top().join("new").exists());
}

#[test]
fn a_worktree_that_cannot_be_removed_stays_and_the_answer_says_why() {
    let scene = Scene::new();
    let programs = scene.git_that("apply --cached", 2, "echo no room >&2; exit 1");
    let (run, status) = scene.lived(CHANGES, Some(&programs));
    assert!(status.success(), "{status}");
    let took = |step: &str| scene.took(&run, step);
    assert_eq!(
        ["patch_taken", "worktree_stays", "worktree_cleared", "ended"].map(took),
        [1, 1, 0, 1]
    );
    let said = scene.impresario(&["runs", "show", run.as_str()]);
    said.check(0);
    assert!(said.stdout.contains("is still there: "), "{}", said.stdout);
    assert!(said.stdout.contains("no room"), "{}", said.stdout);
    scene.worktrees(&["apply", run.as_str()]).check(0);
}

#[test]
fn the_command_asks_for_trust_and_says_what_was_changed() {
    let scene = Scene::new();
    let command = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--isolation", "worktree", "--unjudged"])
            .args(words)
            .args(["explore", "What is committed?"])
            .current_dir(scene.top())
            .env("IMPRESARIO_STATE_DIRECTORY", scene.path("state"));
        Said::of(command)
    };
    let untrusted = command(&[]);
    untrusted.check(1);
    assert!(
        untrusted.stderr.contains("impresario trust add"),
        "{}",
        untrusted.stderr
    );
    let trusted = command(&["--trust"]);
    trusted.check(0);
    assert!(
        trusted
            .stderr
            .contains("Nothing was changed in its git worktree."),
        "{}",
        trusted.stderr
    );
    let json = command(&["--trust", "--json"]);
    json.check(0);
    let types: Vec<Value> = json
        .json_lines()
        .iter()
        .map(|line| line["type"].clone())
        .collect();
    for step in ["worktree_prepared", "patch_taken", "worktree_cleared"] {
        assert!(types.contains(&json!(step)), "{types:?}");
    }
    scene.worktrees(&["list"]).check(0);
    scene.worktrees(&["show", "01zzz"]).check(2);
}
