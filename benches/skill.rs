//! What the runtime adds to a skill's run, and how soon a cancelled run is silent.
//!
//! A skill is ordered as a host does it, with the embedded runner and no pre-flight; the models are the scripted
//! server's, whose ledger says when a call arrived and when its last byte was sent. Overhead before: from the order to
//! the arrival of the sub-agent's first request, without the time in which the server had the calls of actor and judge.
//! That includes reading the skill's file and accepting the run. Overhead after: from the last byte of the answer to
//! the host having the result. Every step on the way is on disk; so that its price can be told apart, the bare
//! `fdatasync` is measured in the same rounds.
//!
//! A cancelled run calls a model and a tool in turns without end. Silence is the time from the cancel to the last call of
//! a model or start of a tool.

#[path = "provider/mod.rs"]
mod provider;

use impresario::runtime::{
    EmbeddedTool, Host, Replay, RunId, TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::skills::SpawnSettings;
use impresario::{Runtime, RuntimeBuilder};
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, HostError, Progress};
use impresario_actors::messages::session::SkillOrder;
use impresario_model_server::{ModelServer, Rule, Script, Turn};
use provider::Provider;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const ROUNDS: usize = 60;
const CANCELS: usize = 40;
/// How long a look takes, so that a run does not come to its last turn before it is cancelled.
const LOOK: Duration = Duration::from_millis(5);
const OVERHEAD_MS_MAX: f64 = 5.0;
const SILENCE_MS_MAX: f64 = 50.0;

const BRIEF: &str = r#"{"userGoal":"Say what src/lib.rs does","constraints":[],"knownContext":""}"#;
const VERDICT: &str = r#"{"hasUserGoal":true,"hasRequiredInputs":true,"hasScopeBoundary":true,"isUnambiguous":true,"missingRequirementQuestion":null,"executionRoute":{"tier":"cheap","complexity":"low","risk":"read_only","confidence":0.9,"reason":"A look at one file."}}"#;
const SKILL: &str =
    "---\ndescription: Explains a file\n---\nExplain the file that is named, in one paragraph.\n";

fn main() -> ExitCode {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.expect("a tokio runtime").block_on(measure())
}

async fn measure() -> ExitCode {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let skill = place.path().join(".pi/skills/explain");
    std::fs::create_dir_all(&skill).expect("a directory");
    std::fs::write(skill.join("SKILL.md"), SKILL).expect("a skill");
    let mut is_kept = true;
    for (name, routing_model) in [("no judge", None), ("actor and judge", Some("house/judge"))] {
        is_kept &= overhead(name, routing_model, place.path()).await;
    }
    is_kept &= silence(place.path()).await;
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn overhead(name: &str, routing_model: Option<&str>, place: &Path) -> bool {
    let script = Script::new()
        .rule(
            Rule::new("actor")
                .system_contains("# Impresario: brief")
                .turn(Turn::text(BRIEF))
                .repeat(),
        )
        .rule(
            Rule::new("judge")
                .system_contains("# Impresario: judge")
                .turn(Turn::text(VERDICT))
                .repeat(),
        )
        .rule(
            Rule::new("sub-agent")
                .turn(Turn::text("It adds numbers."))
                .repeat(),
        );
    let server = ModelServer::start_blocking(script).expect("a model server");
    let delivered = Arc::new(Mutex::new(None));
    let runtime = start(place, name, server.port(), routing_model, delivered.clone(), None).await;
    let (mut before, mut after, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS + 3 {
        let calls_before = server.ledger().calls().len();
        let ordered = now_us();
        let run = runtime.spawn_skill(order(place)).await.expect("accepted");
        let outcome = run.outcome().await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        assert_eq!(outcome.answer.as_deref(), Some("It adds numbers."));
        let had_it = delivered
            .lock()
            .expect("no panic")
            .take()
            .expect("it was delivered");
        let calls = server.ledger().calls().split_off(calls_before);
        let (last, routing) = calls.split_last().expect("a call");
        let ended = |call: &impresario_model_server::Call| call.end.expect("it ended").ended_unix_us;
        let waited: u64 = routing
            .iter()
            .map(|call| ended(call) - call.received_unix_us)
            .sum();
        // The first rounds warm up.
        if round >= 3 {
            before.push(milliseconds(last.received_unix_us - ordered - waited));
            after.push(milliseconds(had_it.saturating_sub(ended(last))));
            syncs.push(bare_sync(place));
        }
    }
    runtime.shutdown().await.expect("stopped");
    let sync = median(syncs);
    println!("a skill's run, {name}, p50 of {ROUNDS} (a bare append and fdatasync: {sync:.2} ms)");
    verdict("order to first request", median(before), OVERHEAD_MS_MAX)
        & verdict("last byte to delivered", median(after), OVERHEAD_MS_MAX)
}

/// How soon nothing begins any more.
async fn silence(place: &Path) -> bool {
    let script = Script::new().rule(Rule::new("busy").turn(Turn::tool("look", json!({}))).repeat());
    let server = ModelServer::start_blocking(script).expect("a model server");
    let looks = Arc::new(Mutex::new(Vec::new()));
    let look = Look(looks.clone());
    let delivered = Arc::default();
    let runtime = start(place, "silence", server.port(), None, delivered, Some(look)).await;
    let mut silent_after = Vec::new();
    for _ in 0..CANCELS {
        let run = runtime.spawn_skill(order(place)).await.expect("accepted");
        tokio::time::sleep(Duration::from_millis(50 + fastrand::u64(..50))).await;
        let cancelled = now_us();
        run.cancel("bench").await.expect("cancelled");
        let outcome = run.outcome().await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Cancelled, "{:?}", outcome.reason);
        tokio::time::sleep(Duration::from_millis(60)).await;
        let calls = server
            .ledger()
            .calls()
            .into_iter()
            .map(|call| call.received_unix_us);
        let starts = std::mem::take(&mut *looks.lock().expect("no panic"));
        let last = calls.chain(starts).max().expect("it was busy");
        silent_after.push(milliseconds(last.saturating_sub(cancelled)));
    }
    runtime.shutdown().await.expect("stopped");
    silent_after.sort_by(f64::total_cmp);
    println!(
        "a cancelled run, {CANCELS} times (p50 {:.2} ms)",
        silent_after[CANCELS / 2]
    );
    verdict("silent after, worst", silent_after[CANCELS - 1], SILENCE_MS_MAX)
}

fn verdict(name: &str, measured: f64, most: f64) -> bool {
    let is_kept = measured <= most;
    let word = if is_kept { "kept" } else { "MISSED" };
    println!("  {name:<24} {measured:>8.2} ms  target: at most {most} ms: {word}");
    is_kept
}

async fn start(
    place: &Path,
    name: &str,
    port: u16,
    routing_model: Option<&str>,
    delivered: Arc<Mutex<Option<u64>>>,
    look: Option<Look>,
) -> Runtime {
    let tools = look.iter().map(|_| "look".to_string()).collect();
    let mut skills = SpawnSettings {
        home: None,
        read_files: false,
        ..SpawnSettings::default()
    };
    skills.means.chain = vec!["house/model".to_string()];
    skills.means.tools = Some(tools);
    skills.means.judged = routing_model.is_some();
    skills.run.routing_model = routing_model.map(str::to_string);
    let mut builder: RuntimeBuilder = Runtime::builder()
        .state_directory(place.join(name))
        .workspace(place)
        .skills(skills)
        .host("bench", Receiver(delivered))
        .model(Provider { port });
    if let Some(look) = look {
        builder = builder.tool(look);
    }
    builder.start().await.expect("started")
}

fn order(workspace: &Path) -> SkillOrder {
    SkillOrder {
        name: "explain".to_string(),
        task: "Explain src/lib.rs".to_string(),
        session: None,
        workspace: workspace.to_path_buf(),
        workspace_trusted: true,
        model: None,
        ..SkillOrder::default()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the times in the model server's ledger"
)]
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("a clock after 1970").as_micros() as u64
}

fn milliseconds(us: u64) -> f64 {
    us as f64 / 1_000.0
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// A page appended to a file and made durable.
fn bare_sync(place: &Path) -> f64 {
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(place.join("bare"))
        .expect("a file");
    let began = now_us();
    file.write_all(&[7; 4096]).expect("written");
    file.sync_data().expect("synced");
    milliseconds(now_us() - began)
}

/// A host that notes when it gets a result.
struct Receiver(Arc<Mutex<Option<u64>>>);

#[async_trait(?Send)]
impl Host for Receiver {
    fn show(&self, _: Progress) {}

    fn notice(&self, _: String) {}

    async fn ask(&self, _: &RunId, _: String) -> Result<String, HostError> {
        Err(HostError::NobodyThere)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    async fn deliver(&self, _: Delivery) -> Result<DeliveryReceipt, HostError> {
        *self.0.lock().expect("no panic") = Some(now_us());
        Ok(DeliveryReceipt::Kept)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}

/// A tool that notes when it starts.
struct Look(Arc<Mutex<Vec<u64>>>);

#[async_trait]
impl EmbeddedTool for Look {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "look".to_string(),
            description: "Looks.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<String, String> {
        self.0.lock().expect("no panic").push(now_us());
        tokio::time::sleep(LOOK).await;
        Ok("nothing new".to_string())
    }
}
