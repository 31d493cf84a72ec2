//! Who is who: builds the tree and gives everyone the ports they need. The one file that knows all actors.
//!
//! ```text
//! impresario (one_for_one)
//! ├── journal
//! ├── ledger
//! ├── cool downs
//! ├── capability index
//! ├── session index
//! ├── prompt log
//! ├── session (one_for_one)
//! │   ├── conversation (rest_for_one): host, judge, router
//! │   ├── cache markers
//! │   ├── guidance
//! │   └── truncation
//! └── sub-agents (one_for_all): run trees (nursery), runs
//!     └── run R (one_for_one)
//!         ├── overflow R
//!         ├── trace R
//!         └── work R (one_for_all): attempts R (nursery), run R
//! ```

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use impresario_actors::attempt::{AnswerReview, Attempt, AttemptPorts, AttemptTools};
use impresario_actors::cache_markers::CacheMarkers;
use impresario_actors::capability_index::{CapabilityIndex, CapabilityStore};
use impresario_actors::context::local::HeavyWork;
use impresario_actors::cool_downs::CoolDowns;
use impresario_actors::event_feed::EventFeed;
use impresario_actors::gateways::{
    AnswerShelf, AttemptRequest, ContextEngine, FileLooks, Gates, Host, LoginId, ModelClient, RuleFiles,
    SubAgentRunner, Tools, TraceShelf, WallClock, Worktrees, session_file,
};
use impresario_actors::guidance::Guidance;
use impresario_actors::host_port::HostPort;
use impresario_actors::journal::{Journal, JournalAccess, RuntimeId};
use impresario_actors::judge::{Judge, JudgePorts};
use impresario_actors::ledger::{Ledger, LedgerPorts};
use impresario_actors::messages::anchors::RecallAnchors;
use impresario_actors::messages::capabilities::{
    CapabilityUsed, FindCapability, IndexCapabilities, ReadUses, SearchCapabilities,
};
use impresario_actors::messages::cool_downs::{AskForModel, ModelHeard};
use impresario_actors::messages::journal::{
    ClaimRun, Commit, FetchOverflow, KeepOverflow, ListOverflow, Prune, RaiseAlert, ReadAlert, ReadClaimable,
    ReadRun, ReadRuns,
};
use impresario_actors::messages::ledger::ReserveCall;
use impresario_actors::messages::prompts::LogPrompt;
use impresario_actors::messages::run::{
    AdoptDue, AskForRoom, AwaitRun, CancelRun, ParkRuns, RunClosed, StartGroup, StartRun, TellRun,
};
use impresario_actors::messages::session::{
    AskForTurn, AskUser, CountCuts, CountPlans, DeliverResult, GuideResult, JudgeTask, PlanCuts, PlanMarkers,
    PlanNotApplied, ShowGlimpse, ShowNotice, ShowProgress, StartSkill,
};
use impresario_actors::overflow::{Overflow, OverflowPorts};
use impresario_actors::prompt_log::{PromptFile, PromptLog};
use impresario_actors::purse::Purse;
use impresario_actors::router::{Resolve, Router, RouterPorts};
use impresario_actors::run::{
    AttemptSeed, Contain, GrownAttempt, KeepSession, Run, RunPorts, RunTools, attempt_name,
};
use impresario_actors::runs::{Check, GrownRun, Runs, RunsPorts, RunsTools, Told, TreeSeed, WaitingLine};
use impresario_actors::session_index::{SessionIndex, SessionStore};
use impresario_actors::supervision::{
    Child, ChildSpec, Port, Registration, Restart, Strategy, Supervisor, SupervisorSettings,
    dynamic_supervisor, supervisor,
};
use impresario_actors::trace_recorder::{TracePorts, TraceRecorder, TraceTools};
use impresario_actors::truncation::Truncation;
use impresario_policies::admission::AdmissionSettings;
use impresario_policies::domain::{
    Containment, Isolation, Proof, Reason, ReasonCode, RunId, RunRequest, SessionId,
};
use impresario_policies::output_sanitizer::SanitizerSettings;
use impresario_policies::overflow_review::ResultLimits;
use impresario_policies::parallel::worker_prompt;
use impresario_policies::prompt_log::PromptSource;
use impresario_policies::prompts::refuse_task;
use impresario_policies::render_brief::render_brief;
use impresario_policies::sub_agent_prompt::system_prompt_of;
use impresario_policies::tool_policy::PI_TOOLS;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Everything outside that the actors reach.
#[derive(Clone)]
pub struct Outside {
    /// Shows the conversation, owns the person.
    pub host: Rc<dyn Host>,
    /// Calls models for actor and judge.
    pub model: Rc<dyn ModelClient>,
    /// Run sub-agents, by name.
    pub runners: Runners,
    /// Whether what answers a run's questions about its workspace is there, before any money is spent.
    pub retrieval_is_ready: Check,
    /// Gives an attempt the context engine that its run chose. Nothing starts before something is asked.
    pub open_context: OpenContext,
    /// Makes sure that nothing carries the mark of a run any more, and says what was seen.
    pub contain: Contain,
    /// Says what time it is for people.
    pub clock: Rc<dyn WallClock>,
    /// Where traces are kept.
    pub traces: Rc<dyn TraceShelf>,
    /// Looks at the files that sub-agents read and change.
    pub files: Rc<dyn FileLooks>,
    /// Looks for the rules of directories.
    pub rules: Rc<dyn RuleFiles>,
    /// The tools that Impresario adds.
    pub tools: Arc<dyn Tools>,
    /// Keeps answers whole that are cut for whoever asked.
    pub answers: Rc<dyn AnswerShelf>,
    /// Makes git worktrees for runs that work in one of their own.
    pub worktrees: Rc<dyn Worktrees>,
    /// Runs the commands that say whether an answer counts.
    pub gates: Rc<dyn Gates>,
    /// Makes requests of orders: files and settings.
    pub resolve: Resolve,
    /// The kind of host, and the session it has open now.
    pub our_host: Rc<dyn Fn() -> (String, Option<SessionId>)>,
    /// Whether the open session takes the result of this run of another session.
    pub takes_result: Rc<dyn Fn(&RunId) -> bool>,
    /// Whether a person wants to go on here with a run of another session.
    pub wanted_here: Rc<dyn Fn(&RunId) -> bool>,
    /// The run whose sub-agent started this process, where one did.
    pub within: Option<RunId>,
    /// The indexes of what can be used.
    pub capabilities: CapabilityStore,
    /// The indexes of the anchors of sessions.
    pub sessions: SessionStore,
    /// Where system prompts are logged.
    pub prompts: PromptFile,
    /// Where long looks at files are made.
    pub heavy_work: HeavyWork,
    /// How many bytes of memory may still be taken; none where nobody can tell.
    pub free_memory: Rc<dyn Fn() -> Option<u64>>,
}

/// Who runs sub-agents, by name.
pub type Runners = BTreeMap<String, Rc<dyn SubAgentRunner>>;

/// Gives an attempt its context engine.
pub type OpenContext = Rc<dyn Fn(&AttemptSeed) -> Rc<dyn ContextEngine>>;

/// What the tree is told when it grows.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    /// This runtime, as the owner of runs.
    pub runtime: RuntimeId,
    /// How many runs work at a time.
    pub admission: AdmissionSettings,
    /// Below this every run has a directory of its own.
    pub scratch: PathBuf,
    /// Where nested sessions are kept.
    pub sessions: PathBuf,
    /// How restarts are paced.
    pub restarts: SupervisorSettings,
}

/// What whoever holds the tree can reach in it.
#[derive(Clone)]
pub struct Ports {
    /// Takes on a run.
    pub start: Port<StartRun>,
    /// Takes on several runs at once.
    pub start_group: Port<StartGroup>,
    /// Takes on a skill, one in flight per session.
    pub start_skill: Port<StartSkill>,
    /// Cancels a run.
    pub cancel: Port<CancelRun>,
    /// Tells a run something.
    pub tell: Port<TellRun>,
    /// Parks all runs.
    pub park: Port<ParkRuns>,
    /// Waits until a run is over.
    pub await_run: Port<AwaitRun>,
    /// Looks again for runs to adopt: a session came.
    pub adopt: Port<AdoptDue>,
    /// Steps of a run.
    pub read_run: Port<ReadRun>,
    /// Lists of runs.
    pub read_runs: Port<ReadRuns>,
    /// The runs whose runtime is dead.
    pub read_claimable: Port<ReadClaimable>,
    /// Makes such a run ours.
    pub claim: Port<ClaimRun>,
    /// Writes steps.
    pub commit: Port<Commit>,
    /// Retention.
    pub prune: Port<Prune>,
    /// Cache markers of a request.
    pub plan_markers: Port<PlanMarkers>,
    /// What an anchor has made stale.
    pub plan_cuts: Port<PlanCuts>,
    /// What was left out so far.
    pub count_cuts: Port<CountCuts>,
    /// Makes an index of what can be used.
    pub index_capabilities: Port<IndexCapabilities>,
    /// Looks for what can be used.
    pub search_capabilities: Port<SearchCapabilities>,
    /// Something that can be used, by its id.
    pub find_capability: Port<FindCapability>,
    /// Something was used.
    pub capability_used: Port<CapabilityUsed>,
    /// What was used.
    pub read_uses: Port<ReadUses>,
    /// Looks for anchors of sessions.
    pub recall_anchors: Port<RecallAnchors>,
    /// Logs a system prompt.
    pub log_prompt: Port<LogPrompt>,
    /// Rules of directories behind a result.
    pub guide: Port<GuideResult>,
    /// A plan of them that a host could not apply.
    pub plan_not_applied: Port<PlanNotApplied>,
    /// What became of plans so far.
    pub count_plans: Port<CountPlans>,
    /// A word to the person.
    pub notice: Port<ShowNotice>,
}

/// A tree that has not begun to live.
pub struct Tree {
    /// What to start.
    pub top: Child<Supervisor>,
    /// What to talk to.
    pub ports: Ports,
    /// Announces durable steps.
    pub feed: EventFeed,
    /// Who waits for room.
    pub line: WaitingLine,
}

/// Builds the tree.
pub fn grow(journal: JournalAccess, outside: Outside, settings: TreeSettings) -> Tree {
    let (feed, line) = (EventFeed::default(), WaitingLine::default());
    let places = Places::new();
    let ports = places.ports();
    let with = |strategy| SupervisorSettings {
        strategy,
        ..settings.restarts.clone()
    };

    let (run_trees, trees) = dynamic_supervisor("run trees", settings.restarts.clone());
    let runs_ports = RunsPorts {
        commit: places.journal.port(),
        read: places.journal.port(),
        steps: places.journal.port(),
        claimable: places.journal.port(),
        claim: places.journal.port(),
        trees,
        tree_exited: places.runs.port(),
    };
    let runs_tools = RunsTools {
        runtime: settings.runtime.clone(),
        grow_run: Rc::new(RunGrower::new(&places, &outside, &settings, &feed).into_function()),
        clock: outside.clock.clone(),
        check: check(&outside),
        contain: contain(&outside),
        contain_shared: contain_shared(&outside),
        our_host: outside.our_host.clone(),
        takes_result: outside.takes_result.clone(),
        wanted_here: outside.wanted_here.clone(),
        told: Told::default(),
        within: outside.within.clone(),
        free_memory: outside.free_memory.clone(),
        line: line.clone(),
    };
    let router_ports = RouterPorts {
        start: places.runs.port(),
        await_run: places.runs.port(),
        read: places.journal.port(),
    };
    let judge_ports = JudgePorts {
        history: places.host.port(),
        show: places.host.port(),
        ledger: places.ledger.port(),
    };
    let ledger_ports = LedgerPorts {
        spent: places.journal.port(),
    };
    let ledger_clock = outside.clock.clone();

    let (host, model, resolve) = (
        outside.host.clone(),
        outside.model.clone(),
        outside.resolve.clone(),
    );
    let rules = outside.rules.clone();
    let (runtime, admission) = (settings.runtime.clone(), settings.admission);
    let (capabilities, heavy_work) = (outside.capabilities.clone(), outside.heavy_work);
    let sessions = outside.sessions.clone();
    let (prompts, prompts_clock) = (outside.prompts.clone(), outside.clock.clone());
    let conversation = vec![
        places.host.child(move |_| HostPort::new(host.clone())).spec(),
        places
            .judge
            .child(move |_| Judge::new(model.clone(), judge_ports.clone()))
            .spec(),
        places
            .router
            .child(move |_| Router::new(runtime.clone(), router_ports.clone(), resolve.clone()))
            .spec(),
    ];
    let session = vec![
        supervisor("conversation", with(Strategy::RestForOne), conversation).spec(),
        places.markers.child(|_| CacheMarkers::default()).spec(),
        places
            .guidance
            .child(move |_| Guidance::new(rules.clone()))
            .spec(),
        places.truncation.child(|_| Truncation::default()).spec(),
    ];
    let sub_agents = vec![
        run_trees.spec(),
        places
            .runs
            .child(move |_| Runs::new(admission, runs_ports.clone(), runs_tools.clone()))
            .spec(),
    ];
    let top = vec![
        places
            .journal
            .child(move |_| Journal::new(journal.clone()))
            .mailbox(256)
            .spec(),
        places
            .ledger
            .child(move |_| Ledger::new(ledger_ports.clone(), ledger_clock.clone()))
            .mailbox(256)
            .spec(),
        places
            .cool_downs
            .child(|_| CoolDowns::default())
            .mailbox(256)
            .spec(),
        places
            .capabilities
            .child(move |_| CapabilityIndex::new(capabilities.clone(), heavy_work))
            .spec(),
        places
            .sessions
            .child(move |_| SessionIndex::new(sessions.clone(), heavy_work))
            .spec(),
        places
            .prompt_log
            .child(move |_| PromptLog::new(prompts.clone(), heavy_work, prompts_clock.clone()))
            .spec(),
        supervisor("session", with(Strategy::OneForOne), session).spec(),
        supervisor("sub-agents", with(Strategy::OneForAll), sub_agents).spec(),
    ];
    Tree {
        top: supervisor("impresario", with(Strategy::OneForOne), top),
        ports,
        feed,
        line,
    }
}

/// Where the lasting actors stand, before they do.
struct Places {
    journal: Registration<Journal>,
    ledger: Registration<Ledger>,
    cool_downs: Registration<CoolDowns>,
    capabilities: Registration<CapabilityIndex>,
    sessions: Registration<SessionIndex>,
    prompt_log: Registration<PromptLog>,
    host: Registration<HostPort>,
    judge: Registration<Judge>,
    router: Registration<Router>,
    markers: Registration<CacheMarkers>,
    guidance: Registration<Guidance>,
    truncation: Registration<Truncation>,
    runs: Registration<Runs>,
}

impl Places {
    fn new() -> Self {
        Self {
            journal: Registration::new("journal"),
            ledger: Registration::new("ledger"),
            cool_downs: Registration::new("cool downs"),
            capabilities: Registration::new("capability index"),
            sessions: Registration::new("session index"),
            prompt_log: Registration::new("prompt log"),
            host: Registration::new("host"),
            judge: Registration::new("judge"),
            router: Registration::new("router"),
            markers: Registration::new("cache markers"),
            guidance: Registration::new("guidance"),
            truncation: Registration::new("truncation"),
            runs: Registration::new("runs"),
        }
    }

    fn ports(&self) -> Ports {
        Ports {
            start: self.runs.port(),
            start_group: self.runs.port(),
            start_skill: self.router.port(),
            cancel: self.runs.port(),
            tell: self.runs.port(),
            park: self.runs.port(),
            await_run: self.runs.port(),
            adopt: self.runs.port(),
            read_run: self.journal.port(),
            read_runs: self.journal.port(),
            read_claimable: self.journal.port(),
            claim: self.journal.port(),
            commit: self.journal.port(),
            prune: self.journal.port(),
            plan_markers: self.markers.port(),
            index_capabilities: self.capabilities.port(),
            search_capabilities: self.capabilities.port(),
            find_capability: self.capabilities.port(),
            capability_used: self.capabilities.port(),
            read_uses: self.capabilities.port(),
            recall_anchors: self.sessions.port(),
            log_prompt: self.prompt_log.port(),
            guide: self.guidance.port(),
            plan_cuts: self.truncation.port(),
            count_cuts: self.truncation.port(),
            plan_not_applied: self.markers.port(),
            count_plans: self.markers.port(),
            notice: self.host.port(),
        }
    }
}

/// Makes the tree of a run.
struct RunGrower {
    journal: JournalPorts,
    ledger: Port<ReserveCall>,
    models: Port<AskForModel>,
    heard: Port<ModelHeard>,
    turn: Port<AskForTurn>,
    plan_markers: Port<PlanMarkers>,
    log_prompt: Port<LogPrompt>,
    login_key: RandomState,
    judge: Port<JudgeTask>,
    ask_user: Port<AskUser>,
    deliver: Port<DeliverResult>,
    show: Port<ShowProgress>,
    glimpse: Port<ShowGlimpse>,
    notice: Port<ShowNotice>,
    room: Port<AskForRoom>,
    closed: Port<RunClosed>,
    outside: Outside,
    settings: TreeSettings,
    feed: EventFeed,
}

/// What a run needs of the journal.
#[derive(Clone)]
struct JournalPorts {
    commit: Port<Commit>,
    read: Port<ReadRun>,
    list: Port<ReadRuns>,
    keep_overflow: Port<KeepOverflow>,
    fetch_overflow: Port<FetchOverflow>,
    list_overflow: Port<ListOverflow>,
    last_alert: Port<ReadAlert>,
    raise_alert: Port<RaiseAlert>,
}

impl RunGrower {
    fn new(places: &Places, outside: &Outside, settings: &TreeSettings, feed: &EventFeed) -> Self {
        let journal = JournalPorts {
            commit: places.journal.port(),
            read: places.journal.port(),
            list: places.journal.port(),
            keep_overflow: places.journal.port(),
            fetch_overflow: places.journal.port(),
            list_overflow: places.journal.port(),
            last_alert: places.journal.port(),
            raise_alert: places.journal.port(),
        };
        Self {
            journal,
            ledger: places.ledger.port(),
            models: places.cool_downs.port(),
            heard: places.cool_downs.port(),
            turn: places.markers.port(),
            plan_markers: places.markers.port(),
            log_prompt: places.prompt_log.port(),
            login_key: RandomState::new(),
            judge: places.judge.port(),
            ask_user: places.host.port(),
            deliver: places.host.port(),
            show: places.host.port(),
            glimpse: places.host.port(),
            notice: places.host.port(),
            room: places.runs.port(),
            closed: places.runs.port(),
            outside: outside.clone(),
            settings: settings.clone(),
            feed: feed.clone(),
        }
    }

    fn into_function(self) -> impl Fn(TreeSeed) -> GrownRun {
        move |seed| self.grow(seed)
    }

    fn grow(&self, seed: TreeSeed) -> GrownRun {
        let TreeSeed {
            name,
            run: id,
            generation,
            must_park,
        } = seed;
        let with = |strategy| SupervisorSettings {
            strategy,
            ..self.settings.restarts.clone()
        };
        let run = Registration::<Run>::new(&format!("run {id}"));
        let overflow = Registration::<Overflow>::new(&format!("overflow {id}"));
        let trace = Registration::<TraceRecorder>::new(&format!("trace {id}"));
        let (attempts_spec, attempts) =
            dynamic_supervisor(&format!("attempts {id}"), with(Strategy::OneForOne));
        let grow_attempt = self.attempt_grower(&run, &overflow);
        let ports = RunPorts {
            commit: self.journal.commit.clone(),
            read: self.journal.read.clone(),
            list: self.journal.list.clone(),
            judge: self.judge.clone(),
            ask_user: self.ask_user.clone(),
            deliver: self.deliver.clone(),
            models: self.models.clone(),
            heard: self.heard.clone(),
            show: self.show.clone(),
            notice: self.notice.clone(),
            room: self.room.clone(),
            closed: self.closed.clone(),
            trace: trace.port(),
            observe: trace.port(),
            attempts,
            attempt_exited: run.port(),
        };
        let tools = self.run_tools(grow_attempt);
        let (cancel, tell, park) = (run.port(), run.port(), run.port());
        let run_id = id.clone();
        let run = run
            .child(move |_| {
                Run::new(
                    run_id.clone(),
                    generation,
                    must_park.clone(),
                    ports.clone(),
                    tools.clone(),
                )
            })
            .restart(Restart::Transient);
        let work = supervisor(
            &format!("work {id}"),
            with(Strategy::OneForAll),
            vec![attempts_spec.spec(), run.spec()],
        )
        .restart(Restart::Transient);
        let children = vec![self.overflow(&id, overflow), self.trace(&id, trace), work.spec()];
        let tree = supervisor(&name, with(Strategy::OneForOne), children).restart(Restart::Transient);
        GrownRun {
            spec: tree.spec(),
            cancel,
            tell,
            park,
        }
    }

    fn run_tools(&self, grow_attempt: Rc<dyn Fn(AttemptSeed) -> GrownAttempt>) -> RunTools {
        let runners = self.outside.runners.clone();
        let (our_host, takes) = (self.outside.our_host.clone(), self.outside.takes_result.clone());
        let login_key = self.login_key.clone();
        RunTools {
            grow_attempt,
            login_id: Rc::new(move |provider, login| LoginId(login_key.hash_one((provider, login.bytes())))),
            runner: Rc::new(move |name| runners.get(name).cloned()),
            contain: self.outside.contain.clone(),
            worktrees: self.outside.worktrees.clone(),
            gates: self.outside.gates.clone(),
            files: self.outside.files.clone(),
            feed: self.feed.clone(),
            clock: self.outside.clock.clone(),
            host_is_here: Rc::new(move |run, request| {
                let (host, session) = our_host();
                request.origin.host == host && (request.origin.session == session || takes(run))
            }),
            clear_away: clear_away(&self.settings),
            sessions: self.settings.sessions.clone(),
        }
    }

    fn overflow(&self, id: &RunId, place: Registration<Overflow>) -> ChildSpec {
        let ports = OverflowPorts {
            keep: self.journal.keep_overflow.clone(),
            fetch: self.journal.fetch_overflow.clone(),
            list: self.journal.list_overflow.clone(),
        };
        let (id, clock) = (id.clone(), self.outside.clock.clone());
        place
            .child(move |_| Overflow::new(id.clone(), clock.clone(), ports.clone()))
            .spec()
    }

    fn trace(&self, id: &RunId, place: Registration<TraceRecorder>) -> ChildSpec {
        let ports = TracePorts {
            read: self.journal.read.clone(),
            last_alert: self.journal.last_alert.clone(),
            raise_alert: self.journal.raise_alert.clone(),
            notice: self.notice.clone(),
        };
        let tools = TraceTools {
            shelf: self.outside.traces.clone(),
            clock: self.outside.clock.clone(),
        };
        let id = id.clone();
        place
            .child(move |_| TraceRecorder::new(id.clone(), ports.clone(), tools.clone()))
            .spec()
    }

    fn attempt_grower(
        &self,
        run: &Registration<Run>,
        overflow: &Registration<Overflow>,
    ) -> Rc<dyn Fn(AttemptSeed) -> GrownAttempt> {
        let ports = AttemptPorts {
            record: run.port(),
            over: run.port(),
            review: overflow.port(),
            overflow: overflow.port(),
            glimpse: self.glimpse.clone(),
            turn: self.turn.clone(),
            plan_markers: self.plan_markers.clone(),
        };
        let (prompts, log_prompt) = (self.outside.prompts.clone(), self.log_prompt.clone());
        let (runners, settings) = (self.outside.runners.clone(), self.settings.clone());
        let open_context = self.outside.open_context.clone();
        let (ledger, files) = (self.ledger.clone(), self.outside.files.clone());
        let (answers, rules) = (self.outside.answers.clone(), self.outside.rules.clone());
        let tools = self.outside.tools.clone();
        Rc::new(move |seed| {
            let name = attempt_name(&seed.run, seed.number);
            let (clocks, limits) = (seed.request.clocks, Arc::new(ResultLimits::from(&seed.request)));
            let runner = runners.get(&seed.request.runner).cloned();
            let context = open_context(&seed);
            let isolation = seed.request.terms.isolation;
            let guidance = seed.request.terms.surroundings.guidance.clone();
            let cache = seed.request.terms.cache;
            let leaves_trace = seed.request.trace_directory.is_some();
            let preview = leaves_trace.then_some(seed.request.terms.trace.preview_units_max);
            let review = AnswerReview {
                name: seed.request.what.name().to_string(),
                settings: SanitizerSettings::from(&seed.request),
                shelf: answers.clone(),
            };
            let allowance = seed.allowance.clone();
            let logged = prompts
                .wants(PromptSource::SubAgent)
                .then(|| logged_prompt(&seed));
            let logged = logged.map(|prompt| (log_prompt.clone(), Box::new(prompt)));
            let request = attempt_request(seed, &settings);
            let (ports, ledger, files) = (ports.clone(), ledger.clone(), files.clone());
            let (rules, tools) = (rules.clone(), tools.clone());
            let attempt = Registration::<Attempt>::new(&name);
            let (stop, tell) = (attempt.port(), attempt.port());
            let child = attempt
                .child(move |_| {
                    Attempt::new(
                        request.clone(),
                        limits.clone(),
                        clocks,
                        ports.clone(),
                        AttemptTools {
                            runner: runner.clone(),
                            context: context.clone(),
                            tools: tools.clone(),
                            files: files.clone(),
                            purse: Purse::new(allowance.clone(), ledger.clone()),
                            review: review.clone(),
                        },
                    )
                    .traced(preview)
                    .isolated(isolation)
                    .guided(guidance.clone(), rules.clone())
                    .cached(cache)
                    .logged(logged.clone())
                })
                .restart(Restart::Temporary);
            GrownAttempt {
                spec: child.spec(),
                stop,
                tell,
            }
        })
    }
}

/// The system prompt of an attempt, for the log.
fn logged_prompt(seed: &AttemptSeed) -> LogPrompt {
    let request = &seed.request;
    LogPrompt {
        source: PromptSource::SubAgent,
        session: request.origin.session.clone(),
        session_file: request.terms.session_file.clone(),
        workspace: request.workspace.clone(),
        model: Some(seed.model.clone()),
        nested_depth: request.terms.tree.as_ref().map_or(0, |tree| tree.depth) + 1,
        shape: None,
        prompt: system_prompt_of(request, &seed.model),
    }
}

fn attempt_request(seed: AttemptSeed, settings: &TreeSettings) -> AttemptRequest {
    AttemptRequest {
        user_prompt: user_prompt_of(&seed),
        scratch: settings.scratch.join(seed.run.as_str()),
        session_file: session_file(&settings.sessions, &seed.run),
        run: seed.run,
        attempt: seed.number,
        system_prompt: system_prompt_of(&seed.request, &seed.model),
        model: seed.model,
        readable: seed
            .request
            .terms
            .surroundings
            .skill_directory
            .into_iter()
            .collect(),
        tools: seed.request.tools,
        workspace: seed.request.workspace,
        resume: seed.resume,
        temperature: seed.request.temperature,
        reasoning_effort: seed.request.terms.reasoning_effort,
        answer_schema: seed.request.terms.answer_schema,
        given: seed.request.terms.given,
        prompt_mode: seed.request.terms.prompt_mode,
        messages: seed.messages,
        environment: environment_of(seed.request.terms.isolation),
        grace: seed.request.clocks.grace,
        fresh: seed.request.terms.isolation != Isolation::None,
    }
}

/// What git tidies up by itself, it tidies up in the repository that a worktree shares.
fn environment_of(isolation: Isolation) -> BTreeMap<String, String> {
    let settings = match isolation {
        Isolation::None => return BTreeMap::new(),
        Isolation::Worktree => [("gc.auto", "0"), ("maintenance.auto", "false")],
    };
    let count = ("GIT_CONFIG_COUNT".to_string(), settings.len().to_string());
    let numbered = settings
        .into_iter()
        .enumerate()
        .flat_map(|(number, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{number}"), key.to_string()),
                (format!("GIT_CONFIG_VALUE_{number}"), value.to_string()),
            ]
        });
    numbered.chain([count]).collect()
}

/// The brief; for a member of a group its sub-task, which needs none, or what the steps before made of it.
fn user_prompt_of(seed: &AttemptSeed) -> String {
    match &seed.request.group {
        Some(member) if member.chain.is_some() => seed.brief.user_goal.clone(),
        Some(member) => worker_prompt(&member.subtask),
        None => render_brief(&seed.brief),
    }
}

/// The files of a run are few and small: removing them takes no time worth a thread.
fn clear_away(settings: &TreeSettings) -> Rc<dyn Fn(&RunId, KeepSession)> {
    let (scratch, sessions) = (settings.scratch.clone(), settings.sessions.clone());
    Rc::new(move |run, keep_session| {
        let _ = std::fs::remove_dir_all(scratch.join(run.as_str()));
        if keep_session == KeepSession::No {
            let _ = std::fs::remove_file(session_file(&sessions, run));
        }
    })
}

/// A request is accepted only if there is a runner for it, and if its task is seen whole.
fn check(outside: &Outside) -> Check {
    let (runners, retrieval_is_ready) = (outside.runners.clone(), outside.retrieval_is_ready.clone());
    Rc::new(move |request| match can_run(&runners, &request) {
        Ok(()) => retrieval_is_ready(request),
        Err(reason) => async move { Err(reason) }.boxed_local(),
    })
}

fn can_run(runners: &Runners, request: &RunRequest) -> Result<(), Reason> {
    let Some(runner) = runners.get(&request.runner) else {
        return Err(Reason {
            code: ReasonCode::SpawnFailed,
            message: format!(
                "There is no runner called {:?}. There are: {}.",
                request.runner,
                runners.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
            ),
        });
    };
    has_tools(&**runner, request)?;
    runner.ready()?;
    refuse_task(request).map_or(Ok(()), Err)
}

fn has_tools(runner: &dyn SubAgentRunner, request: &RunRequest) -> Result<(), Reason> {
    let Some(tools) = runner.lacks(&request.tools) else {
        return Ok(());
    };
    let pi_has_them = tools.lacking.iter().all(|tool| PI_TOOLS.contains(&tool.as_str()));
    let hint = match pi_has_them {
        true => " The runner pi has what is missing.",
        false => "",
    };
    Err(Reason {
        code: ReasonCode::SpawnFailed,
        message: format!(
            "The {} runner has no tool called {}. It has: {}.{hint}",
            runner.name(),
            tools.lacking.join(", "),
            tools.offered.join(", ")
        ),
    })
}

/// Every runner looks: the run's own may have been configured by another runtime.
fn contain(outside: &Outside) -> Rc<dyn Fn(RunId) -> LocalBoxFuture<'static, Proof>> {
    let runners = outside.runners.clone();
    Rc::new(move |run| {
        let runners = runners.clone();
        async move {
            let mut proof = Proof {
                method: Containment::InProcess,
                no_children: true,
                processes_left: 0,
            };
            for runner in runners.values() {
                let seen = runner.contain(&run, CONTAIN_GRACE).await;
                if seen.method != Containment::InProcess {
                    proof = seen;
                }
            }
            proof
        }
        .boxed_local()
    })
}

/// What runs of a runtime share carries its mark, and no run's.
fn contain_shared(outside: &Outside) -> Rc<dyn Fn(RuntimeId) -> LocalBoxFuture<'static, Proof>> {
    let contain = outside.contain.clone();
    Rc::new(move |runtime| contain(runtime.mark().clone(), CONTAIN_GRACE))
}

const CONTAIN_GRACE: Duration = Duration::from_secs(2);
