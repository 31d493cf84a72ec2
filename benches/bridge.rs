//! What the bridge costs: a round trip through it against a bare echo of the same bytes over the same kind of pipes.
//!
//! A last line says what a message costs that is read into its type, 100 KB of typed text, with a short answer.
//!
//! Both ends of both pairs are programs of their own: this one, started again with a word that says what to be. The
//! echo reads a line and writes it back. The bridge reads a `ping`, parses it, finds the method, and writes the payload
//! back as JSON. Both outputs are checked to carry the same payload. Rounds alternate, so that the machine's mood
//! meets both.

use impresario::bridge::wire::{
    self, ChainRun, ChainRunAccepted, ChainText, ChainTextAsk, Delegation, GuidanceAsk, GuidanceGiven,
    InputReading, MarkerPlan, MarkerSkeleton, ObservedEvent, ResumableRun, RunMessageAsk, RunMessageTold,
    RunResume, RunResumed, RunTell, RunTold, SessionEnd, SessionStart, SetupAsk, SetupNext, SkillCancel,
    SkillRun, SkillSummary, TraceName, TranscriptAsk, TranscriptPage, TypedInput,
};
use impresario::bridge::{Bridge, BridgeSettings, HostEvents, Refused};
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::{Reason, ReasonCode, RunId, SessionId};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZES: [(&str, usize, usize); 2] = [("1 KB", 1024, 4000), ("100 KB", 100 * 1024, 1000)];
const ADDED_MAX_1_KB: Duration = Duration::from_micros(100);
const RATIO_MAX_100_KB: f64 = 1.5;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("be-echo") => be_echo(),
        Some("be-bridge") => be_bridge(),
        _ => return compare(),
    }
    ExitCode::SUCCESS
}

fn compare() -> ExitCode {
    let mut echo = Other::start("be-echo");
    let mut bridge = Other::start("be-bridge");
    let mut kept = true;
    for (name, bytes, rounds) in SIZES {
        let payload = "abcdefgh ".repeat(bytes / 9);
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"payload":"{payload}"}}}}"#);
        let (bare, bridged) = measure(&mut echo, &mut bridge, &line, &payload, rounds);
        let ratio = bridged.as_secs_f64() / bare.as_secs_f64();
        let added = bridged.saturating_sub(bare);
        println!(
            "{name:>7}: bare echo {bare:>9.1?}  bridge {bridged:>9.1?}  +{added:.1?}  {ratio:.2}x  (p50 of {rounds})"
        );
        kept &= if bytes == 1024 {
            added <= ADDED_MAX_1_KB
        } else {
            ratio <= RATIO_MAX_100_KB
        };
    }
    print_typed(&mut bridge);
    println!(
        "target: +{ADDED_MAX_1_KB:?} at 1 KB, {RATIO_MAX_100_KB}x at 100 KB: {}",
        if kept { "kept" } else { "MISSED" }
    );
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn measure(
    echo: &mut Other,
    bridge: &mut Other,
    line: &str,
    payload: &str,
    rounds: usize,
) -> (Duration, Duration) {
    let mut bare = Vec::with_capacity(rounds);
    let mut bridged = Vec::with_capacity(rounds);
    for round in 0..rounds + 100 {
        let (echo_took, echoed) = echo.round_trip(line);
        assert_eq!(
            payload_of(&echoed, "params"),
            payload,
            "the echo changed something"
        );
        let (bridge_took, answered) = bridge.round_trip(line);
        assert_eq!(
            payload_of(&answered, "result"),
            payload,
            "the bridge changed something"
        );
        if round >= 100 {
            bare.push(echo_took);
            bridged.push(bridge_took);
        }
    }
    (median(bare), median(bridged))
}

/// Not compared: an echo has nothing to read into.
fn print_typed(bridge: &mut Other) {
    let hello = r#"{"protocol_oldest":1,"protocol_newest":1,"host":"bench","extension_version":"0"}"#;
    bridge.round_trip(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"hello","params":{hello}}}"#
    ));
    let text = "abcdefgh ".repeat(100 * 1024 / 9);
    let params = format!(r#"{{"session":"s","text":"{text}"}}"#);
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"input","params":{params}}}"#);
    let rounds = (0..1000).map(|_| {
        let (took, answered) = bridge.round_trip(&line);
        assert!(answered.contains("continue"), "{answered}");
        took
    });
    let took = median(rounds.collect());
    println!("100 KB of typed input, read into its type and answered: {took:.1?} (p50 of 1000)");
}

fn payload_of(line: &str, member: &str) -> String {
    let message: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
    message[member]["payload"].as_str().expect("a payload").to_owned()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// The program at the other end of two pipes.
struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(role: &str) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(program)
            .arg(role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let input = child.stdin.take().expect("it has an input");
        let output = BufReader::with_capacity(256 * 1024, child.stdout.take().expect("it has an output"));
        Self { child, input, output }
    }

    fn round_trip(&mut self, line: &str) -> (Duration, String) {
        let mut message = String::with_capacity(line.len() + 1);
        message.push_str(line);
        message.push('\n');
        let mut answer = String::with_capacity(line.len() + 64);
        let started = Instant::now();
        self.input.write_all(message.as_bytes()).expect("it reads");
        self.output.read_line(&mut answer).expect("it writes");
        (started.elapsed(), answer)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child
            .kill()
            .and_then(|()| self.child.wait())
            .map(drop)
            .unwrap_or_default();
    }
}

fn be_echo() {
    let mut input = BufReader::with_capacity(256 * 1024, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
        line.clear();
    }
}

fn be_bridge() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let bridge = Bridge::open_stdio(BridgeSettings::default()).expect("threads");
        bridge.serve(Arc::new(Nobody)).await;
    });
}

/// A runtime that does nothing: the bench measures the bridge.
struct Nobody;

fn nobody_is_here() -> Refused {
    let reason = Reason {
        code: ReasonCode::UnknownSkill,
        message: "nobody is here".into(),
    };
    Refused { reason, hint: None }
}

#[async_trait::async_trait]
impl HostEvents for Nobody {
    async fn session_started(&self, _: SessionStart) {}
    async fn session_ended(&self, _: SessionEnd) {}
    async fn host_gone(&self) {}
    async fn input(&self, _: TypedInput) -> InputReading {
        InputReading::Pass
    }
    async fn run_skill(&self, _: SkillRun) -> Result<RunId, Refused> {
        Err(nobody_is_here())
    }
    async fn run_chain(&self, _: ChainRun) -> Result<ChainRunAccepted, Refused> {
        Err(nobody_is_here())
    }
    async fn chain_text(&self, _: ChainTextAsk) -> Result<ChainText, Refused> {
        Err(nobody_is_here())
    }
    async fn resumable(&self, _: &SessionId) -> Vec<ResumableRun> {
        Vec::new()
    }

    async fn resume(&self, request: RunResume) -> Result<RunResumed, Refused> {
        let run = RunId::new(1, 1);
        Ok(RunResumed {
            run: run.clone(),
            resumes: run,
            name: "review".into(),
            task: request.run,
        })
    }

    async fn tell(&self, _: RunTell) -> Result<RunTold, Refused> {
        unreachable!("nothing is told here")
    }
    async fn message(&self, _: RunMessageAsk) -> Result<RunMessageTold, Refused> {
        unreachable!("nothing is asked after here")
    }

    async fn cancel(&self, _: SkillCancel) -> Vec<RunId> {
        Vec::new()
    }
    async fn observe(&self, _: &SessionId, _: ObservedEvent) {}
    async fn cut(&self, _: wire::CutsAsk) -> wire::ContextCuts {
        wire::ContextCuts::default()
    }

    async fn context_status(&self, _: wire::ContextStanding) -> wire::ContextSaid {
        wire::ContextSaid::default()
    }

    async fn guide(&self, _: GuidanceAsk) -> GuidanceGiven {
        GuidanceGiven::default()
    }
    async fn plan_markers(&self, _: MarkerSkeleton) -> MarkerPlan {
        MarkerPlan::default()
    }
    async fn delivery_acknowledged(&self, _: RunId) {}
    async fn capabilities(&self, _: wire::CapabilitiesOffer) -> wire::CapabilitiesTaken {
        wire::CapabilitiesTaken::default()
    }
    async fn offer_tools(&self, _: wire::ToolsOffer) -> wire::ToolsTaken {
        wire::ToolsTaken::default()
    }

    async fn call_tool(&self, _: wire::ToolAsk) -> wire::ToolDone {
        unreachable!("nothing is called here")
    }

    async fn anchor_reading(&self, _: wire::ReadingShown) -> wire::ReadingAnchored {
        wire::ReadingAnchored { text: None }
    }

    async fn offer_context(&self, _: wire::ContextOffer) -> wire::ContextTaken {
        wire::ContextTaken::default()
    }

    async fn wishes(&self, _: wire::WishesAsk) -> wire::Wishes {
        wire::Wishes::default()
    }

    async fn prompt_seen(&self, _: wire::SystemPromptSeen) {}

    async fn call_context(&self, _: wire::ContextAsk) -> wire::ContextDone {
        unreachable!("nothing is called here")
    }

    async fn call_capability(&self, _: wire::CapabilityCall) -> wire::CapabilityDone {
        unreachable!("nothing is called here")
    }
    async fn shape_prompt(&self, _: wire::PromptAsk) -> wire::PromptPlan {
        wire::PromptPlan::default()
    }
    async fn tool_used(&self, _: wire::ToolUsed) {}
    async fn delegation(&self, _: wire::DelegationAsk) -> Delegation {
        Delegation::default()
    }

    async fn skills(&self, _: &SessionId, _: Vec<ListedSkill>) -> Vec<SkillSummary> {
        Vec::new()
    }

    async fn trace_report(&self, _: &SessionId, _: String) -> String {
        String::new()
    }

    async fn trace_view(&self, _: &SessionId, _: String) -> String {
        String::new()
    }

    async fn recent(&self, _: &SessionId) -> Vec<ResumableRun> {
        Vec::new()
    }

    async fn transcript(&self, _: TranscriptAsk) -> Result<TranscriptPage, Refused> {
        Err(Refused {
            reason: Reason {
                code: ReasonCode::NotResumable,
                message: "there is nobody".into(),
            },
            hint: None,
        })
    }

    async fn status(&self, _: &SessionId, _: String) -> String {
        String::new()
    }

    async fn setup_models(&self, _: SetupAsk) -> Result<SetupNext, Refused> {
        Ok(SetupNext {
            question: None,
            warnings: Vec::new(),
            told: Some("Nothing was changed.".into()),
        })
    }

    async fn traces(&self, _: &SessionId) -> Vec<TraceName> {
        Vec::new()
    }
}
