//! A world for the tree to live in: a host with a person, a judge, runners with processes, a disk. Everything on one thread
//! under a paused clock; the seed is the whole run.

use crate::disk::SimulatedDisk;
use async_trait::async_trait;
use futures_util::FutureExt;
use impresario::chaos::{
    Chaos, DeliverySeen, EffectSeen, Evidence, Expected, JournalRow, Plan, ProcessSeen, Record, WorktreeSeen,
};
use impresario::wiring::{Outside, Ports, TreeSettings, grow};
use impresario_actors::capability_index::CapabilityStore;
use impresario_actors::context::local::{HeavyWork, LocalContextEngine, SearchLimits};
use impresario_actors::file_looks::DiskLooks;
use impresario_actors::gateways::*;
use impresario_actors::journal::{JournalAccess, Row, RunFilter, RuntimeId, RuntimeIdentity, Store};
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::prompt_log::PromptFile;
use impresario_actors::session_index::SessionStore;
use impresario_actors::supervision::{Event, Root, RootSettings, SupervisorSettings};
use impresario_actors::tools::LocalTools;
use impresario_policies::admission::AdmissionSettings;
use impresario_policies::cache_markers::{Block, BlockKind, Lifetime};
use impresario_policies::domain::*;
use impresario_policies::domain::{
    Budget, Cap, DegradationSettings, ModelNaming, ModelPool, ObservationSettings, RoutePreference,
    RouteSettings, SkillModelPolicy,
};

use impresario_policies::guidance::{RuleFile, RuleMark, directories_with_rules};
use impresario_policies::model_choice::{ChoiceDecision, choose_models};
use impresario_policies::trace_file::Trace;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What one attempt of a nested sub-agent does, step by step. Finished tools stay finished in the nested session.
#[derive(Debug, Clone)]
pub enum Act {
    Say(&'static str),
    Tool {
        call: &'static str,
        tool: &'static str,
        replay: Replay,
        result_bytes: usize,
    },
    ReadOverflow,
    Think(Duration),
    /// Fails with these facts the first `times` times it comes here.
    Fail {
        times: u32,
        facts: EndFacts,
    },
    /// Is gone without a word the first time it comes here.
    Vanish,
    Answer(&'static str),
    Hang,
}

/// Everything outside of the tree, and what it remembers.
#[derive(Default)]
pub struct World {
    pub script: RefCell<Vec<Act>>,
    pub processes: RefCell<BTreeSet<(RunId, u32)>>,
    pids: Cell<u32>,
    pub effects: RefCell<Vec<EffectSeen>>,
    finished_calls: RefCell<BTreeMap<RunId, BTreeSet<String>>>,
    failures: RefCell<BTreeMap<(RunId, usize), u32>>,
    pub deliveries: RefCell<Vec<DeliverySeen>>,
    kept: RefCell<BTreeSet<RunId>>,
    pub answers: RefCell<VecDeque<&'static str>>,
    pub verdicts: RefCell<VecDeque<bool>>,
    pub model_calls: RefCell<Vec<(String, bool)>>,
    pub notices: RefCell<Vec<String>>,
    pub dead_letters: RefCell<Vec<String>>,
    pub overflow_read: RefCell<Vec<String>>,
    /// Before an answer begins, beside what every one takes.
    pub begins_after: Cell<Duration>,
    worktrees: SimulatedTrees,
    pub whole_answers: RefCell<BTreeMap<PathBuf, u64>>,
}

/// Keeps whole answers, as slowly as a disk does: a file is there from one moment to the next.
struct Answers(Rc<World>);

#[async_trait(?Send)]
impl AnswerShelf for Answers {
    async fn keep(&self, run: &RunId, attempt: AttemptNumber, text: String) -> WholeAnswer {
        sleep(Duration::from_millis(2)).await;
        let file = PathBuf::from(format!("/nowhere/answers/{run}.{attempt}.md"));
        let bytes = text.len() as u64;
        self.0.whole_answers.borrow_mut().insert(file.clone(), bytes);
        sleep(Duration::from_millis(2)).await;
        WholeAnswer::Kept { file, bytes }
    }
}

/// Every directory has rules, and a disk takes its time to show them.
struct Rules;

#[async_trait(?Send)]
impl RuleFiles for Rules {
    async fn terms(&self, _: &Path, is_trusted: bool) -> GuidanceTerms {
        sleep(Duration::from_millis(1)).await;
        GuidanceTerms {
            file_names: is_trusted.then(|| "AGENTS.md".into()).into_iter().collect(),
            file_bytes_max: 100,
            read_bytes_max: 1_000,
        }
    }

    async fn find(&self, ask: RulesAsk) -> RulesFound {
        let file = ask.workspace.join(ask.touched[0].path());
        // What lies deeper is found sooner, so answers overtake each other.
        sleep(Duration::from_millis(30 - file.components().count() as u64)).await;
        let directories = directories_with_rules(file.parent().unwrap(), &ask.workspace, &ask.workspace);
        let rules = directories.into_iter().map(|directory| RuleFile {
            text: format!("rules of {}", directory.display()),
            mark: RuleMark {
                hash: directory.display().to_string(),
                path: directory.join("AGENTS.md"),
            },
        });
        RulesFound {
            files: rules.collect(),
            ..RulesFound::default()
        }
    }

    async fn conversation(&self, _: &Path) -> String {
        String::new()
    }
}

/// The worktrees of this world: what git and its registry would hold.
#[derive(Default)]
struct SimulatedTrees(RefCell<BTreeMap<RunId, SimulatedTree>>);

#[derive(Default)]
struct SimulatedTree {
    stands: bool,
    patch: Option<Patch>,
}

impl SimulatedTrees {
    fn seen(&self) -> Vec<WorktreeSeen> {
        let trees = self.0.borrow();
        let seen = trees.iter().map(|(run, tree)| WorktreeSeen {
            run: run.to_string(),
            stands: tree.stands,
            has_entry: true,
            is_taken: tree.patch.is_some(),
            has_patch: tree.patch.is_some(),
        });
        seen.collect()
    }
}

/// Makes worktrees of nothing, as slowly as git does, and finds those that an earlier life made.
struct Trees(Rc<World>);

/// Commands that take a while and open their gates.
struct GateKeeper(Rc<World>, SimulatedDisk);

#[async_trait(?Send)]
impl Gates for GateKeeper {
    async fn run(&self, ask: GateAsk) -> GateReport {
        sleep(Duration::from_millis(40)).await;
        let number = self.1.look(|store| store.steps(&ask.run, 0));
        let number = number
            .iter()
            .filter(|row| matches!(row.step, Step::GateStarted { .. }))
            .count();
        self.0.effects.borrow_mut().push(EffectSeen {
            run: ask.run.to_string(),
            call: "gate".into(),
            replay_safe: ask.gate.repeatable,
            announced: number > 0,
        });
        sleep(Duration::from_millis(40)).await;
        GateReport {
            ending: Some(GateEnding::Exited { code: 0 }),
            output: "well".into(),
            proof: Proof::NOTHING_STARTED,
        }
    }
}

#[async_trait(?Send)]
impl Worktrees for Trees {
    async fn prepare(&self, ask: WorktreeAsk) -> Result<Worktree, WorktreeError> {
        sleep(Duration::from_millis(20)).await;
        self.0
            .worktrees
            .0
            .borrow_mut()
            .entry(ask.run.clone())
            .or_default()
            .stands = true;
        sleep(Duration::from_millis(5)).await;
        let directory = PathBuf::from("/nowhere/worktrees").join(ask.run.as_str());
        Ok(Worktree {
            repository: ask.workspace,
            git_directory: "/nowhere/.git".into(),
            workspace: directory.clone(),
            directory,
            base: None,
            snapshot: "1".into(),
            reference: format!("refs/impresario/{}", ask.run),
            notes: Vec::new(),
        })
    }

    async fn take_patch(&self, run: &RunId, _: &Worktree) -> Result<Patch, WorktreeError> {
        sleep(Duration::from_millis(20)).await;
        let mut trees = self.0.worktrees.0.borrow_mut();
        let tree = trees
            .get_mut(run)
            .ok_or_else(|| WorktreeError("it is gone".into()))?;
        let patch = tree.patch.get_or_insert_with(|| Patch {
            file: "/nowhere/x.patch".into(),
            sha256: String::new(),
            bytes: 1,
            result: "2".into(),
            files_in_all: 1,
            files: Vec::new(),
            notes: Vec::new(),
            complete: true,
        });
        Ok(patch.clone())
    }

    async fn clear(&self, run: &RunId) -> Result<(), WorktreeError> {
        sleep(Duration::from_millis(10)).await;
        let mut trees = self.0.worktrees.0.borrow_mut();
        let tree = trees.get_mut(run).filter(|tree| tree.patch.is_some());
        tree.ok_or_else(|| WorktreeError("its patch was not taken".into()))?
            .stands = false;
        Ok(())
    }
}

struct SimulatedClock(Instant);

impl WallClock for SimulatedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(1_795_251_600_000 + self.0.elapsed().as_millis() as u64)
    }
}

struct Person(Rc<World>);

#[async_trait(?Send)]
impl Host for Person {
    fn show(&self, _: Progress) {}

    fn notice(&self, text: String) {
        self.0.notices.borrow_mut().push(text);
    }

    async fn ask(&self, _: &RunId, _: String) -> Result<String, HostError> {
        sleep(Duration::from_secs(3)).await;
        let answer = self.0.answers.borrow().front().copied();
        answer.map(str::to_string).ok_or(HostError::NobodyThere)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        sleep(Duration::from_millis(2)).await;
        Ok(vec![ChatMessage {
            role: ChatRole::User,
            content: "hello".into(),
        }])
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        sleep(Duration::from_millis(4)).await;
        self.0.deliveries.borrow_mut().push(DeliverySeen {
            run: delivery.run.to_string(),
            state: serde_json::to_value(delivery.state)
                .unwrap()
                .as_str()
                .unwrap()
                .to_string(),
            answer: delivery.answer,
        });
        self.0.kept.borrow_mut().insert(delivery.run);
        sleep(Duration::from_millis(4)).await;
        Ok(DeliveryReceipt::Kept)
    }

    async fn has(&self, run: &RunId) -> Result<bool, HostError> {
        Ok(self.0.kept.borrow().contains(run))
    }
}

/// Writes a brief, and passes it as the scenario says; the last verdict repeats.
struct Routing(Rc<World>);

#[async_trait(?Send)]
impl ModelClient for Routing {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        sleep(Duration::from_millis(30)).await;
        let is_judge = request.system.starts_with("# Impresario: judge");
        self.0
            .model_calls
            .borrow_mut()
            .push((request.model.clone(), is_judge));
        let text = if is_judge {
            let answered = request.messages[0].text.contains("the file lock");
            let mut verdicts = self.0.verdicts.borrow_mut();
            let passed = answered || verdicts.front().copied().unwrap_or(true);
            if verdicts.len() > 1 {
                verdicts.pop_front();
            }
            let question = if passed {
                serde_json::Value::Null
            } else {
                "Which lock?".into()
            };
            serde_json::json!({
                "hasUserGoal": passed, "hasRequiredInputs": passed, "hasScopeBoundary": passed, "isUnambiguous": passed,
                "missingRequirementQuestion": question,
                "executionRoute": {"tier": "cheap", "complexity": "low", "risk": "read_only", "confidence": 0.9, "reason": "r"},
            })
        } else {
            serde_json::json!({"userGoal": "find the lock", "constraints": [], "knownContext": ""})
        };
        Ok(ModelReply {
            text: text.to_string(),
            tool_calls: Vec::new(),
            usage: ModelUsage::default(),
            served: None,
        })
    }
}

/// Runs the scenario's script as a process of its own that is slow to go.
struct Nested {
    world: Rc<World>,
    disk: SimulatedDisk,
}

struct NestedAttempt {
    world: Rc<World>,
    run: RunId,
    pid: u32,
    /// Its script alone holds the events open: when it is gone, that is seen.
    events: tokio::sync::mpsc::WeakSender<RunnerEvent>,
    task: tokio::task::JoinHandle<()>,
}

impl World {
    fn spawn_process(&self, run: &RunId) -> u32 {
        self.pids.set(self.pids.get() + 1);
        self.processes.borrow_mut().insert((run.clone(), self.pids.get()));
        self.pids.get()
    }

    fn processes_of(&self, run: &RunId) -> u32 {
        self.processes.borrow().iter().filter(|(of, _)| of == run).count() as u32
    }

    fn proof(&self, run: &RunId) -> Proof {
        let processes_left = self.processes_of(run);
        Proof {
            method: Containment::Keeper,
            no_children: processes_left == 0,
            processes_left,
        }
    }
}

#[async_trait(?Send)]
impl AttemptHandle for NestedAttempt {
    fn cancel(&self) {
        self.task.abort();
    }

    fn tell(&self, message: RunMessage) {
        let events = self.events.clone();
        tokio::task::spawn_local(async move {
            sleep(Duration::from_millis(3)).await;
            if let Some(events) = events.upgrade() {
                let told = RunnerEvent::Told { message: message.id };
                let _ = events.send(told).await;
            }
        });
    }

    async fn stop(&mut self, _: Duration) -> Proof {
        self.task.abort();
        sleep(Duration::from_millis(20)).await;
        self.world
            .processes
            .borrow_mut()
            .remove(&(self.run.clone(), self.pid));
        self.world.proof(&self.run)
    }
}

impl Drop for NestedAttempt {
    /// Nobody waits, and the process is slow: whoever goes on must contain the run first.
    fn drop(&mut self) {
        self.task.abort();
        let (world, key) = (self.world.clone(), (self.run.clone(), self.pid));
        tokio::task::spawn_local(async move {
            sleep(Duration::from_secs(30)).await;
            world.processes.borrow_mut().remove(&key);
        });
    }
}

#[async_trait(?Send)]
impl SubAgentRunner for Nested {
    fn name(&self) -> &str {
        "nested"
    }

    fn can_resume(&self) -> bool {
        true
    }

    async fn start(
        &self,
        request: AttemptRequest,
        events: RunnerEvents,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Box<dyn AttemptHandle>, SpawnError> {
        sleep(Duration::from_millis(10)).await;
        let pid = self.world.spawn_process(&request.run);
        let (world, disk, run) = (self.world.clone(), self.disk.clone(), request.run.clone());
        let open = events.downgrade();
        let task = tokio::task::spawn_local(perform(world, disk, request, events, gate));
        Ok(Box::new(NestedAttempt {
            world: self.world.clone(),
            run,
            pid,
            events: open,
            task,
        }))
    }

    async fn contain(&self, run: &RunId, _: Duration) -> Proof {
        sleep(Duration::from_millis(15)).await;
        self.world.processes.borrow_mut().retain(|(of, _)| of != run);
        self.world.proof(run)
    }
}

/// Long enough to be cached, so that whoever is second waits for the first.
fn outline() -> Outline {
    let block = |kind, content| Block {
        kind,
        tokens: 5_000,
        content,
        marker: Some(Lifetime::FiveMinutes),
        anchor: false,
    };
    Outline {
        blocks: vec![block(BlockKind::System, 1), block(BlockKind::Text, 2)],
        is_open: true,
    }
}

async fn perform(
    world: Rc<World>,
    disk: SimulatedDisk,
    request: AttemptRequest,
    events: RunnerEvents,
    gate: Rc<dyn ToolGate>,
) {
    let say = |event| {
        let events = events.clone();
        async move { events.send(event).await.is_ok() }
    };
    sleep(Duration::from_millis(5)).await;
    say(RunnerEvent::Active).await;
    for message in &request.messages {
        let message = message.id.clone();
        say(RunnerEvent::Told { message }).await;
    }
    let asked = CallAsked {
        model: request.model.clone(),
        bytes: 4_000,
        tokens_max: 1_000,
        outline: Some(outline()),
    };
    if let Err(why) = gate.calling(asked).await {
        let facts = EndFacts {
            terminal_event: true,
            over_budget: Some(why),
            ..EndFacts::default()
        };
        say(RunnerEvent::Ended(facts)).await;
        return;
    }
    sleep(Duration::from_millis(5) + world.begins_after.get()).await;
    let used = ModelUsage {
        input: 1_000,
        output: 100,
        cost_usd: Some(0.01),
        ..ModelUsage::default()
    };
    say(RunnerEvent::Called {
        served: None,
        used: Some(used),
    })
    .await;
    let script = world.script.borrow().clone();
    for (place, act) in script.into_iter().enumerate() {
        match act {
            Act::Say(delta) => {
                say(RunnerEvent::Text { delta: delta.into() }).await;
            }
            Act::Think(time) => sleep(time).await,
            Act::Tool {
                call,
                tool,
                replay,
                result_bytes,
            } => {
                let finished = world
                    .finished_calls
                    .borrow()
                    .get(&request.run)
                    .is_some_and(|done| done.contains(call));
                if finished {
                    continue;
                }
                if gate
                    .starting(call, tool, "with care", "{}", replay)
                    .await
                    .is_err()
                {
                    return;
                }
                let started = RunnerEvent::ToolStarted {
                    call: call.into(),
                    tool: tool.into(),
                };
                say(started).await;
                sleep(Duration::from_millis(40)).await;
                world.effects.borrow_mut().push(EffectSeen {
                    run: request.run.to_string(),
                    call: call.into(),
                    replay_safe: replay == Replay::Safe,
                    announced: is_announced(&disk, &request.run, call),
                });
                let result = "x".repeat(result_bytes);
                let verdict = gate.review(call, tool, &result).await;
                let overflow = match verdict {
                    ToolVerdict::Pass => None,
                    ToolVerdict::Replace { overflow, .. } => overflow,
                };
                world
                    .finished_calls
                    .borrow_mut()
                    .entry(request.run.clone())
                    .or_default()
                    .insert(call.into());
                let ended = RunnerEvent::ToolEnded {
                    call: call.into(),
                    is_error: false,
                    bytes: result_bytes as u64,
                    preview: "x".into(),
                    overflow,
                };
                say(ended).await;
            }
            Act::ReadOverflow => {
                let arguments = serde_json::json!({"id": "overflow_1", "limit": 10});
                let read = gate.overflow("read", &arguments).await;
                world.overflow_read.borrow_mut().push(format!("{read:?}"));
            }
            Act::Fail { times, facts } => {
                let failed = *world
                    .failures
                    .borrow_mut()
                    .entry((request.run.clone(), place))
                    .or_default();
                if failed < times {
                    world
                        .failures
                        .borrow_mut()
                        .insert((request.run.clone(), place), failed + 1);
                    say(RunnerEvent::Ended(facts)).await;
                    return;
                }
            }
            Act::Vanish => {
                let key = (request.run.clone(), place);
                if world.failures.borrow_mut().insert(key, 1).is_none() {
                    return;
                }
            }
            Act::Answer(text) => {
                let facts = EndFacts {
                    terminal_event: true,
                    stop_reason: Some("stop".into()),
                    answer: text.into(),
                    read_lines: 1,
                    ..EndFacts::default()
                };
                say(RunnerEvent::Ended(facts)).await;
                return;
            }
            Act::Hang => std::future::pending().await,
        }
    }
}

fn is_announced(disk: &SimulatedDisk, run: &RunId, call: &str) -> bool {
    let steps = disk.look(|store| store.steps(run, 0));
    steps
        .iter()
        .any(|step| matches!(&step.step, Step::ToolStarted { call: started, .. } if started == call))
}

fn identity(number: u64) -> RuntimeIdentity {
    RuntimeIdentity {
        id: RuntimeId::new(UnixMillis(1), number),
        host: "pi".into(),
        session: Some(session()),
        started_at: UnixMillis(1),
        process: 1,
    }
}

pub fn session() -> SessionId {
    SessionId("s1".into())
}

fn dollars(usd: f64) -> Cap {
    Cap {
        usd: Some(usd),
        tokens: None,
    }
}

pub fn request() -> RunRequest {
    RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "where is the lock taken".into(),
        origin: Origin {
            host: "pi".into(),
            session: Some(session()),
            resumes: None,
        },
        continues: None,
        instructions: "look".into(),
        tools: vec!["read".into(), "edit".into(), "overflow_read".into()],
        chain: vec!["never/asked".into()],
        runner: "nested".into(),
        workspace: PathBuf::from("/nowhere"),
        briefing: Briefing::Judged {
            passes_max: 2,
            questions_max: 2,
            model: "a/judge".into(),
        },
        clocks: Clocks::default(),
        persistence: Persistence {
            lost_in_a_row_max: 1_000,
            ..Persistence::default()
        },
        temperature: None,
        overflow_ceiling_bytes: 1_000,
        answer_chars_max: 0,
        trace_directory: Some("traces".into()),
        group: None,
        terms: RunTerms {
            budget: Budget {
                run: dollars(5.0),
                day: dollars(1_000.0),
                ..Budget::default()
            },
            admission: AdmissionTerms {
                width: 1,
                ..AdmissionTerms::default()
            },
            routing: Some(routing()),
            trace: watched(),
            ..RunTerms::default()
        },
        retrieval: Default::default(),
    }
}

/// A second failure in a row is worth a warning.
fn watched() -> TraceTerms {
    TraceTerms {
        observation: Some(ObservationSettings {
            enabled: true,
            report_after_run: true,
            degradation: DegradationSettings {
                enabled: true,
                consecutive_failures: 2,
                cooldown_hours: 1.0,
            },
            regression_window: 10,
            traces_max: 20,
        }),
        ..TraceTerms::default()
    }
}

/// Traces of a skill that worked once and failed since.
struct Shelf;

impl Shelf {
    fn trace(skill: &str, at: f64, answer: &str) -> Trace {
        Trace {
            skill_name: skill.into(),
            timestamp: at,
            model: "a/one".into(),
            brief: Brief::default(),
            route: Route::default(),
            tool_calls: Vec::new(),
            final_text: answer.into(),
            stopped_reason: "completed".into(),
            ours: None,
        }
    }
}

#[async_trait(?Send)]
impl TraceShelf for Shelf {
    async fn keep(&self, _: &TracePlace, trace: Trace) -> Result<String, String> {
        sleep(Duration::from_millis(1)).await;
        Ok(format!("{}_{}.json", trace.skill_name, trace.timestamp))
    }

    async fn newest(&self, _: &TracePlace, skill: &str, _: usize) -> Result<Vec<Trace>, String> {
        sleep(Duration::from_millis(1)).await;
        Ok(vec![Self::trace(skill, 2.0, ""), Self::trace(skill, 1.0, "done")])
    }

    async fn forget(&self, _: &TracePlace, _: &str, _: usize) -> Result<usize, String> {
        Ok(0)
    }
}

/// Whatever the judge says, the first model is a/one and the next b/two.
fn routing() -> RoutingTerms {
    let one = Some("a/one".to_string());
    let settings = RouteSettings {
        enabled: true,
        preference: RoutePreference::Balanced,
        skill_model_policy: SkillModelPolicy::Pin,
        models: ModelPool {
            cheap: one.clone(),
            balanced: one.clone(),
            frontier: one,
        },
        default_provider: String::new(),
        naming: ModelNaming::OfHost,
        allowed_providers: Vec::new(),
    };
    RoutingTerms {
        settings,
        skill_model: None,
        default_model: None,
        fallback: vec!["b/two".into()],
        surface_decision: true,
        kept: None,
    }
}

pub fn order(name: &str) -> SkillOrder {
    SkillOrder {
        name: name.into(),
        task: "look".into(),
        session: Some(session()),
        workspace: PathBuf::from("/nowhere"),
        workspace_trusted: true,
        model: None,
        ..SkillOrder::default()
    }
}

pub fn run_id(number: u64) -> RunId {
    RunId::new(1_795_251_600_000, number)
}

/// What a scenario does with a living tree.
pub type Play = for<'a> fn(&'a Stage) -> futures_util::future::LocalBoxFuture<'a, ()>;

/// What a scenario can reach.
pub struct Stage {
    pub ports: Ports,
    pub disk: SimulatedDisk,
    pub world: Rc<World>,
    pub expected: RefCell<BTreeMap<String, Expected>>,
    pub accepted: RefCell<Vec<String>>,
    pub unanswered: RefCell<Vec<String>>,
}

/// What came of a scenario.
pub struct Outcome {
    pub record: Record,
    pub evidence: Evidence,
    pub known: Vec<(&'static str, &'static str, impresario_actors::supervision::When)>,
    pub digest: String,
    pub dead_letters: Vec<String>,
}

/// What is on the disk before the tree comes.
pub type Prepare = fn(&SimulatedDisk, &World);

/// A story with a known end.
pub struct Scenario {
    pub name: &'static str,
    pub prepare: Prepare,
    pub play: Play,
}

/// Leaves an unfinished run of a runtime that is dead on the disk.
pub fn leave_orphan(disk: &SimulatedDisk, run: RunId, world: &World) {
    let mut store = disk.open(&identity(77));
    let started = Step::AttemptStarted {
        attempt: AttemptNumber(1),
        model: "a/one".into(),
        runner: "nested".into(),
        session_file: None,
        resumes_session: false,
    };
    let brief = Brief {
        user_goal: "find the lock".into(),
        ..Brief::default()
    };
    let ChoiceDecision::Choose(choice) = choose_models(&request(), None) else {
        panic!("no models are chosen");
    };
    let steps = [
        Step::Accepted {
            request: Box::new(request()),
        },
        Step::Briefed { brief, verdict: None },
        Step::Routed { choice },
        Step::Admitted,
        started,
    ];
    let rows = (1..).zip(steps).map(|(sequence, step)| Row {
        run: run.clone(),
        sequence,
        generation: 1,
        at: UnixMillis(1_795_251_600_000),
        step,
    });
    store.commit(&rows.collect::<Vec<_>>()).unwrap();
    world.spawn_process(&run);
}

/// Plays a scenario from beginning to end under a plan.
pub fn play(scenario: &Scenario, plan: Plan, seed: u64) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, perform_play(scenario, plan, seed))
}

async fn perform_play(scenario: &Scenario, plan: Plan, seed: u64) -> Outcome {
    let disk = SimulatedDisk::new();
    let world = Rc::new(World::default());
    (scenario.prepare)(&disk, &world);
    let identity = identity(seed);
    let journal = JournalAccess::inline(disk.open(&identity), seed, Duration::from_millis(3));
    let nested: Rc<dyn SubAgentRunner> = Rc::new(Nested {
        world: world.clone(),
        disk: disk.clone(),
    });
    let outside = Outside {
        host: Rc::new(Person(world.clone())),
        model: Rc::new(Routing(world.clone())),
        runners: BTreeMap::from([("nested".to_string(), nested)]),
        clock: Rc::new(SimulatedClock(Instant::now())),
        traces: Rc::new(Shelf),
        worktrees: Rc::new(Trees(world.clone())),
        files: Rc::new(DiskLooks::new(HeavyWork::Inline)),
        rules: Rc::new(Rules),
        tools: Arc::new(LocalTools::new(HeavyWork::Inline)),
        answers: Rc::new(Answers(world.clone())),
        gates: Rc::new(GateKeeper(world.clone(), disk.clone())),
        open_context: Rc::new(|_| {
            Rc::new(LocalContextEngine::new(
                SearchLimits::default(),
                HeavyWork::Inline,
                None,
            ))
        }),
        contain: Rc::new(|_, _| std::future::ready(Proof::NOTHING_STARTED).boxed_local()),
        retrieval_is_ready: Rc::new(|_| std::future::ready(Ok(())).boxed_local()),
        resolve: Rc::new(|order| {
            async move {
                sleep(Duration::from_millis(1)).await;
                Ok(RunRequest {
                    what: WhatToRun::Skill(order.name),
                    task: order.task,
                    ..request()
                })
            }
            .boxed_local()
        }),
        our_host: Rc::new(|| ("pi".to_string(), Some(session()))),
        takes_result: Rc::new(|_| false),
        wanted_here: Rc::new(|_| false),
        within: None,
        capabilities: CapabilityStore::new(None),
        sessions: SessionStore::new(None),
        prompts: PromptFile::default(),
        heavy_work: HeavyWork::Inline,
        free_memory: Rc::new(|| None),
    };
    let settings = TreeSettings {
        runtime: identity.id.clone(),
        admission: AdmissionSettings::default(),
        scratch: PathBuf::from("/nowhere/scratch"),
        sessions: PathBuf::from("/nowhere/sessions"),
        restarts: SupervisorSettings {
            intensity: 10_000,
            ..SupervisorSettings::default()
        },
    };
    let story = Rc::new(RefCell::new(Vec::<String>::new()));
    let chaos = Chaos::begin(plan);
    let tree = grow(journal, outside, settings);
    let (told, letters) = (story.clone(), world.clone());
    let observer = Rc::new(move |event: &Event| {
        told.borrow_mut().push(format!("{event:?}"));
        if let Event::DeadLetters {
            child,
            message,
            count,
            ..
        } = event
        {
            letters
                .dead_letters
                .borrow_mut()
                .push(format!("{child} {message} {count}"));
        }
    });
    let root_settings = RootSettings {
        seed,
        observer: Some(observer),
        top: SupervisorSettings {
            intensity: 10_000,
            ..SupervisorSettings::default()
        },
    };
    let root = Root::start_local(tree.top, root_settings).await;
    let stage = Stage {
        ports: tree.ports,
        disk: disk.clone(),
        world: world.clone(),
        expected: RefCell::default(),
        accepted: RefCell::default(),
        unanswered: RefCell::default(),
    };
    (scenario.play)(&stage).await;
    let known = root
        .registry()
        .boundaries()
        .into_iter()
        .map(|known| (known.kind, known.message, known.when));
    let known = known.collect();
    let record = chaos.end();
    root.shutdown(Duration::from_secs(60)).await;
    let evidence = evidence(&disk, &stage);
    let digest = digest(&record, &story.borrow(), &evidence);
    let dead_letters = world.dead_letters.borrow().clone();
    Outcome {
        record,
        evidence,
        known,
        digest,
        dead_letters,
    }
}

fn evidence(disk: &SimulatedDisk, stage: &Stage) -> Evidence {
    let mut rows = Vec::new();
    for summary in disk.look(|store| store.runs(&RunFilter::default())) {
        for step in disk.look(|store| store.steps(&summary.run, 0)) {
            rows.push(JournalRow {
                run: summary.run.to_string(),
                sequence: step.sequence,
                generation: step.generation,
                at_ms: step.at_ms,
                step: serde_json::to_value(&step.step).unwrap(),
            });
        }
    }
    let world = &stage.world;
    let processes = world.processes.borrow();
    Evidence {
        rows,
        processes: processes
            .iter()
            .map(|(run, pid)| ProcessSeen {
                run: run.to_string(),
                pid: *pid,
            })
            .collect(),
        deliveries: world.deliveries.borrow().clone(),
        effects: world.effects.borrow().clone(),
        worktrees: world.worktrees.seen(),
        answers: world.whole_answers.borrow().clone(),
        model_calls: None,
        expected: stage.expected.borrow().clone(),
        accepted: stage.accepted.borrow().clone(),
        unanswered: stage.unanswered.borrow().clone(),
        lost_in_a_row_max: Some(1_000),
        all_ended: true,
    }
}

fn digest(record: &Record, story: &[String], evidence: &Evidence) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for line in record.story.iter().chain(story) {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    for row in &evidence.rows {
        hash.update(format!("{} {} {} {}\n", row.run, row.sequence, row.at_ms, row.step).as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
