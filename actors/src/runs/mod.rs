//! The sub-agent supervisor: takes on runs, gives them room, adopts what an earlier life left behind.
//!
//! Receives [`StartRun`], [`StartGroup`], [`AskForRoom`](crate::messages::run::AskForRoom), [`CancelRun`],
//! [`AwaitRun`], [`RunClosed`], and exits of run trees. Asks the journal. A run tree that gives up is started once more
//! with the order to park.

mod admission;
mod adoption;
mod rooms;
mod taken;
mod told;
mod tree;
mod waiting_line;

pub use self::told::Told;
pub use self::waiting_line::WaitingLine;

use self::adoption::Adopted;
use self::rooms::Rooms;
use self::taken::Standing;
use self::tree::Tree;
use crate::gateways::WallClock;
use crate::journal::{Row, RunFilter, RuntimeId};
use crate::messages::journal::{ClaimRun, Commit, ReadClaimable, ReadRun, ReadRuns};
use crate::messages::run::{
    AdoptDue, AwaitRun, Awaited, CancelReply, CancelRun, ParkRun, ParkRuns, Refusal, RunClosed, StartGroup,
    StartRun, TellReply, TellRun,
};
use crate::supervision::{
    Actor, Answer, ChildExited, ChildSpec, Context, DynamicSupervisor, Exit, Handles, Port,
};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, StreamExt};
use impresario_policies::admission::AdmissionSettings;
use impresario_policies::domain::{GroupId, Proof, Reason, ReasonCode, RunId, RunRequest, SessionId, Step};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot};

const ASK: Duration = Duration::from_secs(30);
/// A run tree that gives up is started so often with the order to park; then it waits for the next start.
const PARKING_TRIES_MAX: u32 = 3;
/// So many runs are told to park at a time: their orders are written together.
const PARKED_AT_ONCE: usize = 256;
/// How long a wish waits before it looks again for a run that is about to come back.
const COMING_BACK: Duration = Duration::from_millis(100);
/// What has ended has so long to put its things away before everything stops.
const PUTTING_AWAY: Duration = Duration::from_secs(2);

/// Whom the sub-agent supervisor reaches.
#[derive(Clone)]
pub struct RunsPorts {
    pub commit: Port<Commit>,
    /// Finds runs that are ours and not over.
    pub read: Port<ReadRuns>,
    /// Reads what was accepted under an id.
    pub steps: Port<ReadRun>,
    /// Finds runs whose runtime is dead.
    pub claimable: Port<ReadClaimable>,
    /// Makes such a run ours.
    pub claim: Port<ClaimRun>,
    pub trees: DynamicSupervisor,
    /// The sub-agent supervisor itself, for run trees that exit.
    pub tree_exited: Port<ChildExited>,
}

/// A run's tree, ready to be started.
pub struct GrownRun {
    pub spec: ChildSpec,
    pub cancel: Port<CancelRun>,
    pub tell: Port<TellRun>,
    pub park: Port<ParkRun>,
}

/// Says whether a request can be run, or why not.
pub type Check = Rc<dyn Fn(RunRequest) -> LocalBoxFuture<'static, Result<(), Reason>>>;

/// Makes the tree of a run.
pub type GrowRun = Rc<dyn Fn(TreeSeed) -> GrownRun>;

/// What a run's tree needs to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSeed {
    /// How the tree is called among the others; never the same twice.
    pub name: String,
    pub run: RunId,
    /// The generation that drives it.
    pub generation: u64,
    /// It has to be parked, whatever else holds.
    pub must_park: Option<Reason>,
}

/// What the sub-agent supervisor uses that is no actor.
#[derive(Clone)]
pub struct RunsTools {
    /// This runtime, as the owner of runs.
    pub runtime: RuntimeId,
    /// Makes the tree of a run; the wiring knows how.
    pub grow_run: GrowRun,
    /// For the `at` of the first step.
    pub clock: Rc<dyn WallClock>,
    /// Looks at a request before it is accepted: could it run here as things are now?
    pub check: Check,
    /// Observes that nothing is left of a run whose runtime died.
    pub contain: Rc<dyn Fn(RunId) -> LocalBoxFuture<'static, Proof>>,
    /// Observes that nothing is left of what the runs of a dead runtime shared.
    pub contain_shared: Rc<dyn Fn(RuntimeId) -> LocalBoxFuture<'static, Proof>>,
    /// The kind of host we have, and the session it has open now.
    pub our_host: Rc<dyn Fn() -> (String, Option<SessionId>)>,
    /// Whether the open session takes the result of this run of another session.
    pub takes_result: Rc<dyn Fn(&RunId) -> bool>,
    /// Whether a person wants to go on here with a run of another session.
    pub wanted_here: Rc<dyn Fn(&RunId) -> bool>,
    /// Endings that were told; they outlive this actor.
    pub told: Told,
    /// The run whose sub-agent started this process, where one did.
    pub within: Option<RunId>,
    /// How many bytes of memory may still be taken; none where nobody can tell.
    pub free_memory: Rc<dyn Fn() -> Option<u64>>,
    /// Who waits for room, for whoever looks.
    pub line: WaitingLine,
}

pub struct Runs {
    ports: RunsPorts,
    tools: RunsTools,
    settings: AdmissionSettings,
    live: BTreeMap<RunId, Live>,
    doors: AllDoors,
    grown: u64,
    /// Which run a tree belongs to.
    trees: BTreeMap<String, RunId>,
    rooms: Rooms,
    /// It will be looked again whether memory is free.
    looks_again: bool,
    /// One look for runs to adopt after the other.
    adopting: Arc<Mutex<()>>,
    adoption: Adoption,
}

/// A run that is under way here.
struct Live {
    generation: u64,
    /// How its tree is called. What is heard of another tree is old news.
    tree: String,
    group: Option<GroupId>,
    closed: bool,
    parking_tries: u32,
    awaited_by: Vec<oneshot::Sender<()>>,
}

/// The ways to a run that is under way here; shared with wishes that wait for a run to come back.
#[derive(Clone)]
struct Doors {
    cancel: Port<CancelRun>,
    tell: Port<TellRun>,
    park: Port<ParkRun>,
}

type AllDoors = Rc<RefCell<BTreeMap<RunId, Doors>>>;

/// Before it is done nobody can say that a run is not under way here.
enum Adoption {
    UnderWay { awaited_by: Vec<oneshot::Sender<()>> },
    Done,
}

impl Actor for Runs {
    const KIND: &'static str = "runs";
    const HANDLES: &'static [&'static str] = &[
        "AdoptDue",
        "StartRun",
        "StartGroup",
        "AskForRoom",
        "CancelRun",
        "TellRun",
        "ParkRuns",
        "AwaitRun",
        "RunClosed",
        "ChildExited",
        "SettleDue",
    ];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.notify(AdoptDue);
        self.settle_again(ctx);
    }
}

impl Runs {
    /// A sub-agent supervisor without runs; it adopts what the journal says is ours.
    pub fn new(settings: AdmissionSettings, ports: RunsPorts, tools: RunsTools) -> Self {
        let rooms = Rooms::seen_in(tools.line.clone());
        Self {
            ports,
            tools,
            settings,
            live: BTreeMap::new(),
            doors: AllDoors::default(),
            grown: 0,
            trees: BTreeMap::new(),
            rooms,
            looks_again: false,
            adopting: Arc::default(),
            adoption: Adoption::UnderWay {
                awaited_by: Vec::new(),
            },
        }
    }
}

impl Runs {
    /// Gives the run a tree, which has to ask for room by itself.
    fn grow(
        &mut self,
        run: RunId,
        live: Live,
        had_room: bool,
        must_park: Option<Reason>,
        ctx: &mut Context<Self>,
    ) {
        self.grown += 1;
        let tree = format!("tree {run}~{}.{}", ctx.incarnation(), self.grown);
        let seed = TreeSeed {
            name: tree.clone(),
            run: run.clone(),
            generation: live.generation,
            must_park,
        };
        let GrownRun {
            spec,
            cancel,
            tell,
            park,
        } = (self.tools.grow_run)(seed);
        self.doors
            .borrow_mut()
            .insert(run.clone(), Doors { cancel, tell, park });
        self.rooms.enter(&run, live.group.as_ref(), had_room);
        self.trees.insert(tree.clone(), run.clone());
        self.live.insert(run.clone(), Live { tree, ..live });
        let (trees, on_exit) = (self.ports.trees.clone(), self.ports.tree_exited.clone());
        ctx.spawn_then(
            async move { trees.start(spec, Some(on_exit)).await },
            move |_, started, ctx| {
                if let Err(error) = started {
                    ctx.fail(format!("start the tree of run {run}: {error:?}"));
                }
            },
        );
    }
}

// ---- what others want

impl Handles<StartRun> for Runs {
    fn handle(&mut self, start: StartRun, ctx: &mut Context<Self>) -> Answer<Self, Result<(), Refusal>> {
        self.accept(vec![start], ctx)
    }
}

impl Handles<StartGroup> for Runs {
    fn handle(&mut self, start: StartGroup, ctx: &mut Context<Self>) -> Answer<Self, Result<(), Refusal>> {
        self.accept(start.runs, ctx)
    }
}

impl Runs {
    /// One write for all of them: after it each is a run of its own, before it there is none.
    fn accept(
        &mut self,
        starts: Vec<StartRun>,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<(), Refusal>> {
        if ctx.shutting_down() {
            return Answer::now(Err(refusal(
                ReasonCode::Internal,
                "The runtime is shutting down.",
            )));
        }
        let checks = starts
            .iter()
            .map(|start| (self.tools.check)((*start.request).clone()));
        let checks = checks.collect::<Vec<_>>();
        let tree = self.tools.within.clone().map(|within| Tree {
            within,
            steps: self.ports.steps.clone(),
            read: self.ports.read.clone(),
        });
        let at = self.tools.clock.now();
        let taken_on = starts.iter().map(|start| Adopted {
            run: start.run.clone(),
            group: group_of(&start.request),
            generation: 1,
            must_park: None,
        });
        let taken_on = taken_on.collect::<Vec<_>>();
        let (port, steps) = (self.ports.commit.clone(), self.ports.steps.clone());
        let committed = async move {
            let mut starts = starts;
            let too_many = match tree {
                Some(tree) => tree.place(&mut starts).await,
                None => None,
            };
            let rows = starts.into_iter().map(|start| Row {
                run: start.run,
                sequence: 1,
                generation: 1,
                at,
                step: Step::Accepted {
                    request: start.request,
                },
            });
            let commit = Commit { rows: rows.collect() };
            let checked = match too_many {
                Some(reason) => Err(reason),
                None => futures_util::future::try_join_all(checks).await,
            };
            // What was accepted before stays so, whatever is amiss now.
            let refused = match checked {
                Ok(_) => match port.ask_again(commit.clone(), ASK).await {
                    Ok(Ok(_)) => return Ok::<_, Refusal>(Standing::New),
                    Ok(Err(error)) if !taken::may_stand(&error) => return Err(told::not_accepted(&error)),
                    Ok(Err(error)) => told::not_accepted(&error),
                    Err(error) => return Err(told::not_reached(&error.to_string())),
                },
                Err(reason) => Refusal(reason),
            };
            match taken::find(&steps, &commit.rows).await {
                Standing::Other => Err(taken::refusal()),
                Standing::Same => Ok(Standing::Same),
                Standing::New | Standing::Unknown => Err(refused),
            }
        };
        Answer::then(committed, move |supervisor: &mut Self, accepted, ctx| {
            // Whoever drives what stands already goes on with it, or it has ended.
            if accepted? == Standing::New {
                for accepted in taken_on {
                    supervisor.take_on(accepted, ctx);
                }
            }
            Ok(())
        })
    }
}

fn group_of(request: &RunRequest) -> Option<GroupId> {
    request.group.as_ref().map(|member| member.group.clone())
}

fn refusal(code: ReasonCode, message: &str) -> Refusal {
    Refusal(Reason {
        code,
        message: message.to_string(),
    })
}

impl Handles<CancelRun> for Runs {
    fn handle(&mut self, cancel: CancelRun, _: &mut Context<Self>) -> Answer<Self, CancelReply> {
        let (ports, doors, runtime) = (self.ports.clone(), self.doors.clone(), self.tools.runtime.clone());
        let told = self.tools.told.clone();
        Answer::later(async move {
            loop {
                if told.ending_of(&cancel.run).is_some() {
                    return CancelReply::NotUnderWay;
                }
                let door = doors.borrow().get(&cancel.run).map(|doors| doors.cancel.clone());
                if let Some(door) = door
                    && let Ok(said) = door.ask_again(cancel.clone(), ASK).await
                {
                    return said;
                }
                if !is_unfinished(&ports.read, &runtime, &cancel.run).await {
                    return CancelReply::NotUnderWay;
                }
                tokio::time::sleep(COMING_BACK).await;
            }
        })
    }
}

impl Handles<TellRun> for Runs {
    fn handle(&mut self, tell: TellRun, _: &mut Context<Self>) -> Answer<Self, TellReply> {
        let (ports, doors, runtime) = (self.ports.clone(), self.doors.clone(), self.tools.runtime.clone());
        let told = self.tools.told.clone();
        Answer::later(async move {
            loop {
                if told.ending_of(&tell.run).is_some() {
                    return TellReply::NotUnderWay;
                }
                let door = doors.borrow().get(&tell.run).map(|doors| doors.tell.clone());
                if let Some(door) = door
                    && let Ok(said) = door.ask_again(tell.clone(), ASK).await
                    && said != TellReply::NotYet
                {
                    return said;
                }
                if !is_unfinished(&ports.read, &runtime, &tell.run).await {
                    return TellReply::NotUnderWay;
                }
                tokio::time::sleep(COMING_BACK).await;
            }
        })
    }
}

impl Handles<ParkRuns> for Runs {
    fn handle(&mut self, message: ParkRuns, _: &mut Context<Self>) -> Answer<Self, u32> {
        let parking = Parking {
            read: self.ports.read.clone(),
            doors: self.doors.clone(),
            runtime: self.tools.runtime.clone(),
            told: self.tools.told.clone(),
            reason: message.reason,
        };
        Answer::later(async move {
            let runs = parking.runs().await;
            // The newest first: room that becomes free must not go to one that is about to be parked.
            stream::iter(runs.iter().rev())
                .for_each_concurrent(PARKED_AT_ONCE, |run| parking.park(run))
                .await;
            // One look for all of them: a look for each would read the list as often as it is long.
            while parking.any_left(&runs).await {
                tokio::time::sleep(COMING_BACK).await;
            }
            parking.until_put_away().await;
            u32::try_from(runs.len()).unwrap_or(u32::MAX)
        })
    }
}

/// The runs of ours that have not ended; none when the journal cannot say.
async fn unfinished_of(read: &Port<ReadRuns>, runtime: &RuntimeId) -> Option<BTreeSet<RunId>> {
    let filter = RunFilter {
        owner: Some(runtime.clone()),
        ..RunFilter::unfinished()
    };
    let found = read.ask_again(ReadRuns { filter }, ASK).await.ok()?.ok()?;
    Some(found.into_iter().map(|run| run.run).collect())
}

/// What it takes to park runs, however long that lasts.
struct Parking {
    read: Port<ReadRuns>,
    doors: AllDoors,
    runtime: RuntimeId,
    told: Told,
    reason: Reason,
}

impl Parking {
    /// A run that has ended still looks at its trace and writes that its host has the result. Who stops it before that is
    /// offered the same result again at the next start.
    async fn until_put_away(&self) {
        let put_away = async {
            while !self.doors.borrow().is_empty() {
                tokio::time::sleep(COMING_BACK).await;
            }
        };
        let _ = tokio::time::timeout(PUTTING_AWAY, put_away).await;
    }

    /// Whether any of them has not ended; an ending that was only told is one.
    async fn any_left(&self, runs: &BTreeSet<RunId>) -> bool {
        let unfinished = unfinished_of(&self.read, &self.runtime).await;
        let is_left = |run: &&RunId| unfinished.as_ref().is_none_or(|left| left.contains(*run));
        runs.iter()
            .filter(is_left)
            .any(|run| self.told.ending_of(run).is_none())
    }

    /// The runs to park: those the journal knows as ours and unfinished, and those under way where it cannot say.
    async fn runs(&self) -> BTreeSet<RunId> {
        let unfinished = RunFilter {
            owner: Some(self.runtime.clone()),
            ..RunFilter::unfinished()
        };
        let asked = self.read.ask_again(ReadRuns { filter: unfinished }, ASK).await;
        let mut runs: BTreeSet<RunId> = match asked {
            Ok(Ok(found)) => found.into_iter().map(|run| run.run).collect(),
            Ok(Err(_)) | Err(_) => self.doors.borrow().keys().cloned().collect(),
        };
        runs.retain(|run| self.told.ending_of(run).is_none());
        runs
    }

    /// Returns when the order is on disk, or when there is nothing left to park.
    async fn park(&self, run: &RunId) {
        loop {
            let door = self.doors.borrow().get(run).map(|doors| doors.park.clone());
            let order = ParkRun {
                reason: self.reason.clone(),
            };
            if let Some(door) = door
                && door.ask_again(order, ASK).await.is_ok()
            {
                return;
            }
            if !self.is_unfinished(run).await {
                return;
            }
            tokio::time::sleep(COMING_BACK).await;
        }
    }

    /// An ending that was only told is an end too.
    async fn is_unfinished(&self, run: &RunId) -> bool {
        self.told.ending_of(run).is_none() && is_unfinished(&self.read, &self.runtime, run).await
    }
}

/// A run of ours that has not ended is under way, or will be in a moment. When the journal cannot say, it is taken to be.
async fn is_unfinished(read: &Port<ReadRuns>, runtime: &RuntimeId, run: &RunId) -> bool {
    let filter = RunFilter {
        owner: Some(runtime.clone()),
        id_prefix: run.to_string(),
        ..RunFilter::unfinished()
    };
    match read.ask_again(ReadRuns { filter }, ASK).await {
        Ok(Ok(found)) => !found.is_empty(),
        Ok(Err(_)) | Err(_) => true,
    }
}

impl Handles<AwaitRun> for Runs {
    fn handle(&mut self, message: AwaitRun, ctx: &mut Context<Self>) -> Answer<Self, Awaited> {
        let (done, over) = oneshot::channel();
        let (adopted, told, run) = (self.adoption_done(), self.tools.told.clone(), message.run);
        let awaited = run.clone();
        // Not under way: the sender is dropped, and whoever waits goes on at once.
        ctx.spawn_then(adopted, move |runs, (), _| {
            if runs.tools.told.ending_of(&awaited).is_some() {
                return;
            }
            if let Some(live) = runs.live.get_mut(&awaited) {
                live.awaited_by.push(done);
            }
        });
        Answer::later(async move {
            let _ = over.await;
            told.ending_of(&run).map_or(Awaited::Rests, Awaited::Told)
        })
    }
}

// ---- what runs and their trees say

impl Handles<RunClosed> for Runs {
    fn handle(&mut self, closed: RunClosed, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.note_told(&closed, ctx);
        let Some(live) = self.live.get_mut(&closed.run) else {
            return Answer::now(());
        };
        live.closed = true;
        self.rooms.close(&closed.run);
        let (trees, tree) = (self.ports.trees.clone(), live.tree.clone());
        self.give_room(ctx);
        ctx.spawn(async move {
            let _ = trees.stop(&tree).await;
        });
        Answer::now(())
    }
}

impl Handles<ChildExited> for Runs {
    fn handle(&mut self, exited: ChildExited, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let Some(run) = self.trees.remove(&*exited.name) else {
            return Answer::now(());
        };
        if self.live.get(&run).is_none_or(|live| *live.tree != *exited.name) {
            return Answer::now(());
        }
        let Some(live) = self.live.remove(&run) else {
            return Answer::now(());
        };
        self.doors.borrow_mut().remove(&run);
        let had_room = self.rooms.leave(&run);
        if !live.closed {
            self.bring_back(run, live, had_room, &exited.exit, ctx);
        }
        self.give_room(ctx);
        Answer::now(())
    }
}

impl Runs {
    /// A tree that gave up has to park its run; one that was cut off goes on where it was.
    fn bring_back(&mut self, run: RunId, live: Live, had_room: bool, exit: &Exit, ctx: &mut Context<Self>) {
        match exit {
            Exit::Normal | Exit::Shutdown => {}
            Exit::Killed | Exit::Panicked { .. } | Exit::Failed(_) | Exit::Lost => {
                self.grow(run, live, had_room, None, ctx);
            }
            Exit::Escalated { .. } if live.parking_tries < PARKING_TRIES_MAX => {
                tracing::error!(run.id = %run, %exit, "tree of a run gave up");
                let live = Live {
                    parking_tries: live.parking_tries + 1,
                    ..live
                };
                self.grow(run, live, had_room, Some(gave_up(exit)), ctx);
            }
            Exit::Escalated { .. } => {
                tracing::error!(run.id = %run, %exit, "run cannot even be parked; it is tried again later");
                self.tools
                    .told
                    .add(run, told::parked(gave_up(exit)), live.generation, live.group);
                self.settle_later(ctx);
            }
        }
    }
}

fn gave_up(exit: &Exit) -> Reason {
    Reason {
        code: ReasonCode::NoProgress,
        message: format!(
            "Something of ours broke again and again while this run worked, without progress ({exit})."
        ),
    }
}
