//! A context engine that is an MCP server: what it is asked, how long it is waited for, and that nothing of it stays.

use impresario_actors::context::mcp::{EngineSettings, McpContextEngine, check_account};
use impresario_actors::gateways::{ContextEngine, RetrievalError, RetrievalRequest, Retrieved};
use impresario_actors::processes::{
    ContainedProcess, ContainmentSetting, Part, ProcessSpec, marked_processes,
};
use impresario_policies::domain::{Proof, Retrieval, RetrievalEngine, RunId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::LocalSet;

const KEEPER: &str = env!("CARGO_BIN_EXE_impresario-keeper");
/// Long enough for a program that answers, on a machine that is busy.
const PATIENT: Duration = Duration::from_secs(60);
/// For a program that does not.
const IMPATIENT: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_millis(500);

struct Scene {
    place: TempDir,
    run: RunId,
}

impl Scene {
    fn new() -> Self {
        Self {
            place: tempfile::tempdir().expect("a directory"),
            run: RunId::new(5, fastrand::u64(..)),
        }
    }

    fn server() -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/retrieval_server/server.mjs");
        path.display().to_string()
    }

    fn log(&self) -> String {
        self.place.path().join("log.jsonl").display().to_string()
    }

    /// What the server wrote down.
    fn noted(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    fn lives(&self) -> usize {
        self.noted()
            .iter()
            .filter(|note| note.get("started").is_some())
            .count()
    }

    fn settings(&self, behaviour: &str) -> EngineSettings {
        let path = std::env::var("PATH").expect("a PATH");
        let ours = [
            ("PATH", path.as_str()),
            ("HOME", "/nowhere"),
            ("AUGMENT_TEST_BEHAVIOUR", behaviour),
            ("AUGMENT_TEST_LOG", &self.log()),
            ("ANTHROPIC_API_KEY", "not for servers"),
            ("INDEX_KEY", "for this one"),
        ];
        EngineSettings {
            keeper: PathBuf::from(KEEPER),
            containment: ContainmentSetting::Keeper,
            environment: ours
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into(),
            ready_within: PATIENT,
        }
    }

    fn auggie(&self, behaviour: &str, timeout: Duration) -> McpContextEngine {
        let engine = RetrievalEngine::Auggie {
            program: Self::server(),
        };
        self.engine(behaviour, Retrieval { engine, timeout })
    }

    fn other(&self, behaviour: &str) -> McpContextEngine {
        let engine = RetrievalEngine::Mcp {
            command: vec![Self::server(), behaviour.to_string(), self.log()],
            environment: vec!["INDEX_KEY".to_string()],
        };
        let timeout = PATIENT;
        self.engine(behaviour, Retrieval { engine, timeout })
    }

    fn engine(&self, behaviour: &str, retrieval: Retrieval) -> McpContextEngine {
        let workspace = self.place.path().to_path_buf();
        McpContextEngine::new(&self.settings(behaviour), &retrieval, &self.run, workspace)
    }

    async fn ask(&self, engine: &McpContextEngine, query: &str) -> Result<String, String> {
        let request = RetrievalRequest {
            query: query.to_string(),
            workspace: self.place.path().to_path_buf(),
            passages_max: 8,
        };
        match engine.retrieve(request).await {
            Ok(Retrieved::Words(words)) => Ok(words),
            Ok(passages) => panic!("{passages:?}"),
            Err(RetrievalError::Unavailable { why, .. }) => Err(why),
            Err(other) => panic!("{other}"),
        }
    }

    /// Closes the engine; then nothing of it is left.
    async fn close(&self, engine: &McpContextEngine) {
        let proof = engine.close(GRACE).await.expect("something was started");
        self.is_over(&proof);
    }

    fn is_over(&self, proof: &Proof) {
        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
        assert_eq!(self.processes(), 0);
    }

    fn processes(&self) -> usize {
        let marked = marked_processes().into_iter();
        marked.filter(|marked| marked.run == self.run).count()
    }
}

fn says(answer: Result<String, String>, word: &str) {
    let why = answer.expect_err("a failure");
    assert!(why.contains(word), "{why}");
    assert!(!why.contains("verysecretvalue"), "{why}");
}

#[tokio::test]
async fn auggie_is_asked_by_its_tool_and_sees_its_own_login_only() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("answers", PATIENT);
            let answer = scene
                .ask(&engine, "where is the restart?")
                .await
                .expect("an answer");
            assert!(answer.ends_with("about where is the restart?"), "{answer}");
            scene.ask(&engine, "and the stop?").await.expect("an answer");
            scene.close(&engine).await;
        })
        .await;
    let noted = scene.noted();
    let workspace = scene.place.path().display().to_string();
    let expected = ["--mcp", "--workspace-root", &workspace, "--wait-for-indexing"];
    assert_eq!(noted[0]["started"], Value::from(expected.as_slice()));
    let environment = noted[0]["environment"].to_string();
    assert!(
        environment.contains("AUGMENT_TEST_LOG") && environment.contains("HOME"),
        "{environment}"
    );
    assert!(
        !environment.contains("ANTHROPIC") && !environment.contains("INDEX_KEY"),
        "{environment}"
    );
    assert_eq!(noted[1]["method"], "initialize");
    let last = noted
        .iter()
        .rfind(|note| note["method"] == "tools/call")
        .expect("a call");
    assert_eq!(last["params"]["name"], "codebase-retrieval");
    assert_eq!(
        last["params"]["arguments"]["information_request"],
        "and the stop?"
    );
    assert_eq!(scene.lives(), 1);
}

#[tokio::test]
async fn another_server_is_discovered_or_else_initialized_and_gets_the_variables_that_are_set() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.other("answers");
            scene.ask(&engine, "x").await.expect("an answer");
            scene.close(&engine).await;
        })
        .await;
    let noted = scene.noted();
    assert!(noted[0]["environment"].to_string().contains("INDEX_KEY"));
    let methods: Vec<_> = noted.iter().filter_map(|note| note["method"].as_str()).collect();
    assert_eq!(methods[..2], ["server/discover", "initialize"]);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_at_the_limit_and_ended() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let settings = EngineSettings {
                ready_within: IMPATIENT,
                ..scene.settings("silent-handshake")
            };
            let retrieval = Retrieval {
                engine: RetrievalEngine::Auggie {
                    program: Scene::server(),
                },
                timeout: PATIENT,
            };
            let workspace = scene.place.path().to_path_buf();
            let engine = McpContextEngine::new(&settings, &retrieval, &scene.run, workspace);
            says(scene.ask(&engine, "x").await, "not ready within 0.3 s");
            assert_eq!(scene.processes(), 0);
            scene.close(&engine).await;
        })
        .await;
}

#[tokio::test]
async fn a_call_without_an_answer_is_given_up_at_the_limit_and_the_next_one_is_answered() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("silent-first-call", Duration::from_secs(5));
            says(scene.ask(&engine, "x").await, "did not answer within 5 s");
            assert_eq!(scene.ask(&engine, "y").await, Ok("about y".to_string()));
            scene.close(&engine).await;
        })
        .await;
    assert_eq!(scene.lives(), 1);
    let cancelled = scene
        .noted()
        .iter()
        .any(|note| note["method"] == "notifications/cancelled");
    assert!(cancelled, "the server is told");
}

#[tokio::test]
async fn an_answer_of_twenty_megabytes_is_refused_and_the_server_started_again() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("large,answers", PATIENT);
            says(scene.ask(&engine, "x").await, "larger than 16 MiB");
            assert!(
                scene
                    .ask(&engine, "y")
                    .await
                    .expect("an answer")
                    .contains("about y")
            );
            scene.close(&engine).await;
        })
        .await;
    assert_eq!(scene.lives(), 2);
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_but_not_for_ever() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("dies,dies,answers,dies,dies,dies", PATIENT);
            says(
                scene.ask(&engine, "1").await,
                "its last words: 🔧 Starting… fatal: index corrupt",
            );
            says(scene.ask(&engine, "2").await, "ended without an answer");
            assert!(scene.ask(&engine, "3").await.is_ok());
            // An answer takes back what was counted; this life goes on.
            assert!(scene.ask(&engine, "4").await.is_ok());
            scene.close(&engine).await;

            let worse = scene.auggie("dies", PATIENT);
            for _ in 0..3 {
                says(scene.ask(&worse, "x").await, "ended without an answer");
            }
            let lives = scene.lives();
            says(scene.ask(&worse, "x").await, "given up after 3 failures in a row");
            assert_eq!(scene.lives(), lives);
            scene.close(&worse).await;
        })
        .await;
}

#[tokio::test]
async fn what_a_server_says_before_it_ends_at_once_is_told_without_its_secrets() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("ends-at-once", PATIENT);
            says(scene.ask(&engine, "x").await, "❌ No auth provided.");
            scene.close(&engine).await;
        })
        .await;
}

#[tokio::test]
async fn an_error_of_the_tool_is_told_as_it_is_and_counts_as_an_answer() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("fails", PATIENT);
            for _ in 0..5 {
                assert_eq!(scene.ask(&engine, "x").await, Err("no index yet".to_string()));
            }
            scene.close(&engine).await;
        })
        .await;
    assert_eq!(scene.lives(), 1);
}

#[tokio::test]
async fn a_server_whose_tool_cannot_be_told_is_refused_with_the_names_of_its_tools() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.other("several-tools");
            says(scene.ask(&engine, "x").await, "it offers open, close");
            let endless = scene.other("pages-without-end");
            says(scene.ask(&endless, "x").await, "it offers no tool");
            scene.close(&engine).await;
            scene.close(&endless).await;
        })
        .await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let scene = Scene::new();
    let engine = |command: &[&str]| {
        let engine = RetrievalEngine::Mcp {
            command: command.iter().map(|word| word.to_string()).collect(),
            environment: Vec::new(),
        };
        let timeout = PATIENT;
        scene.engine("", Retrieval { engine, timeout })
    };
    LocalSet::new()
        .run_until(async {
            says(
                scene.ask(&engine(&["no-such-server"]), "x").await,
                "no-such-server",
            );
            says(
                scene.ask(&engine(&[]), "x").await,
                "retrieval.command names no program",
            );
        })
        .await;
}

#[tokio::test]
async fn closing_ends_a_question_under_way_and_a_server_that_is_getting_ready() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            for behaviour in ["silent-call", "silent-handshake"] {
                let engine = scene.auggie(behaviour, PATIENT);
                let lives = scene.lives();
                let asked = scene.ask(&engine, "x");
                let closed = async {
                    while scene.lives() == lives {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    scene.close(&engine).await;
                };
                let (answer, ()) = tokio::join!(asked, closed);
                says(answer, "the attempt is over");
                says(scene.ask(&engine, "y").await, "the attempt is over");
            }
        })
        .await;
}

#[tokio::test]
async fn a_question_nobody_waits_for_any_more_leaves_nothing_that_closing_does_not_find() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let engine = scene.auggie("silent-handshake", PATIENT);
            // Dropped while the program is being started.
            let _ = tokio::time::timeout(Duration::from_millis(1), scene.ask(&engine, "x")).await;
            scene.close(&engine).await;
        })
        .await;
}

#[tokio::test]
async fn the_end_of_the_server_is_not_the_end_of_the_sub_agent() {
    let scene = Scene::new();
    LocalSet::new()
        .run_until(async {
            let sub_agent = ProcessSpec {
                program: PathBuf::from("sleep"),
                arguments: vec!["60".to_string()],
                environment: BTreeMap::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]),
                working_directory: PathBuf::from("/"),
                run: scene.run.clone(),
                part: Part::SubAgent,
                containment: ContainmentSetting::Keeper,
                keeper: PathBuf::from(KEEPER),
            };
            let (sub_agent, _streams) = ContainedProcess::start(sub_agent).await.expect("it starts");
            let engine = scene.auggie("dies", PATIENT);
            says(scene.ask(&engine, "x").await, "ended without an answer");
            let proof = engine.close(GRACE).await.expect("a proof");
            assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
            assert_eq!(scene.processes(), 2, "the sub-agent and its keeper");

            let engine = scene.auggie("answers", PATIENT);
            scene.ask(&engine, "x").await.expect("an answer");
            sub_agent.stop(GRACE).await;
            assert!(scene.ask(&engine, "y").await.is_ok(), "nor the other way round");
            scene.close(&engine).await;
        })
        .await;
}

#[tokio::test]
async fn an_account_is_checked_by_the_programs_own_word() {
    let scene = Scene::new();
    let check = async |behaviour: &str| {
        let settings = scene.settings(behaviour);
        let workspace = scene.place.path().to_path_buf();
        check_account(&settings, &Scene::server(), &scene.run, workspace).await
    };
    LocalSet::new()
        .run_until(async {
            assert_eq!(check("answers").await, Ok(()));
            let refused = check("not-logged-in").await.expect_err("not logged in");
            assert!(
                refused.starts_with("You are not currently logged in to Augment."),
                "{refused}"
            );
            let silent = check("hangs-at-account").await;
            assert_eq!(silent, Err("auggie account status timed out".to_string()));
            let (settings, workspace) = (scene.settings(""), scene.place.path().to_path_buf());
            let missing = check_account(&settings, "no-such-auggie", &scene.run, workspace).await;
            let missing = missing.expect_err("not there");
            assert!(missing.contains("no-such-auggie"), "{missing}");
        })
        .await;
    assert_eq!(scene.processes(), 0);
}
