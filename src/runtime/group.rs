//! Several sub-agents side by side: independent sub-tasks, each a run of its own, and one text at the end.
//!
//! The members are accepted in one write and carry what the whole group needs, so a group survives whatever its members
//! survive: whoever goes on with them finishes it, and what it says is read from their steps alone.

use super::sub_agent::SubAgent;
use super::{ASK, Run, RunEvent, Runtime, RuntimeError};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::{self, BoxStream, SelectAll};
use impresario_actors::gateways::{Entropy, SystemEntropy, SystemWallClock, WallClock};
use impresario_actors::journal::RunFilter;
use impresario_actors::messages::run::{StartGroup, StartRun};
use impresario_policies::domain::{
    Briefing, GroupId, GroupMember, RunId, RunRequest, RunState, Subtask, TerminalState,
};
use impresario_policies::group::{GroupProjection, MemberProjection};
use impresario_policies::parallel::{ParallelRefusal, ParallelSettings, SUBTASKS_MAX, plan_parallel};
use impresario_policies::projection::RunProjection;
use impresario_policies::settings::Configured;
use std::time::Duration;

/// Several sub-agents to spawn side by side, alike but for their sub-tasks.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use impresario::{Runtime, SubAgentGroup, Subtask};
///
/// let runtime = Runtime::builder().start().await?;
/// let group = SubAgentGroup::explore()
///     .subtask(Subtask::new("restarts", "How does a crashed actor come back?"))
///     .subtask(Subtask::new("journal", "Where are steps written?"))
///     .concurrency(2);
/// let group = runtime.parallel(group).await?;
/// println!("{}", group.outcome().await?.text);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SubAgentGroup {
    like: Like,
    subtasks: Vec<Subtask>,
    settings: ParallelSettings,
    total: Duration,
}

/// What a member is, its sub-task aside.
#[derive(Debug, Clone)]
pub(super) enum Like {
    SubAgent(Box<SubAgent>),
    Request(Box<RunRequest>),
}

impl Like {
    pub(super) async fn into_request(self, runtime: &Runtime) -> Result<RunRequest, RuntimeError> {
        match self {
            Self::Request(request) => Ok(*request),
            Self::SubAgent(sub_agent) => runtime.request_of(*sub_agent).await,
        }
    }
}

impl SubAgentGroup {
    /// All like `sub_agent`, whose own task does not matter.
    pub fn like(sub_agent: SubAgent) -> Self {
        Self::of(Like::SubAgent(Box::new(sub_agent)))
    }

    /// The same for a request that is complete.
    pub fn like_request(request: RunRequest) -> Self {
        Self::of(Like::Request(Box::new(request)))
    }

    /// All look for answers in the workspace and change nothing.
    pub fn explore() -> Self {
        Self::like(SubAgent::explore(""))
    }

    fn of(like: Like) -> Self {
        let values = Configured::default();
        Self {
            like,
            subtasks: Vec::new(),
            settings: ParallelSettings {
                enabled: true,
                ..values.parallel
            },
            total: values.parallel_total_timeout,
        }
    }

    /// One more sub-task. Results come in the order in which sub-tasks were added.
    pub fn subtask(mut self, subtask: Subtask) -> Self {
        self.subtasks.push(subtask);
        self
    }

    /// More of them.
    pub fn subtasks(mut self, subtasks: impl IntoIterator<Item = Subtask>) -> Self {
        self.subtasks.extend(subtasks);
        self
    }

    /// At most so many work at a time (3 unless said); the runtime's own width holds too.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.settings.workers_max = concurrency.max(1);
        self
    }

    /// The text of a sub-task without a limit of its own is cut to so many characters (8 000 unless said); 0 for no limit.
    pub fn output_chars_max(mut self, characters: usize) -> Self {
        self.settings.call_output_units_max = Some(i64::try_from(characters).unwrap_or(i64::MAX));
        self
    }

    /// From acceptance to the end of the last one, 600 s unless said. Each has the clocks of its own besides.
    pub fn timeout(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// What settings files say of groups.
    pub(crate) fn settings(mut self, settings: ParallelSettings) -> Self {
        self.settings = settings;
        self
    }

    pub(super) fn new_id() -> GroupId {
        GroupId::new(SystemWallClock.now().0, SystemEntropy.next())
    }

    async fn into_requests(
        self,
        group: &GroupId,
        runtime: &Runtime,
    ) -> Result<Vec<RunRequest>, RuntimeError> {
        let like = self.like.into_request(runtime).await?;
        Ok(member_requests(
            &like,
            self.subtasks,
            &self.settings,
            self.total,
            group,
        )?)
    }
}

/// The requests of a group's members, in the order of their sub-tasks; alike but for these.
pub fn member_requests(
    like: &RunRequest,
    subtasks: Vec<Subtask>,
    settings: &ParallelSettings,
    total: Duration,
    group: &GroupId,
) -> Result<Vec<RunRequest>, ParallelRefusal> {
    let plan = plan_parallel(&subtasks, settings)?;
    let members = count(subtasks.len());
    let with_limits = subtasks.into_iter().zip(plan.output_units_max);
    let requests = (0..)
        .zip(with_limits)
        .map(|(place, (subtask, units_max))| RunRequest {
            task: format!("{} — {}", subtask.id, subtask.goal),
            briefing: Briefing::Direct,
            group: Some(GroupMember {
                group: group.clone(),
                place,
                members,
                concurrency: count(plan.concurrency),
                total,
                subtask,
                answer_units_max: units_max,
                chain: None,
            }),
            ..like.clone()
        });
    Ok(requests.collect())
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A group under way or over. Dropping this changes nothing: its runs go on.
#[derive(Debug, Clone)]
pub struct Group {
    id: GroupId,
    runs: Vec<Run>,
    subtasks: Vec<Subtask>,
}

/// How a group ended.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupOutcome {
    /// Which group.
    pub group: GroupId,
    /// How: succeeded when all did, else as its worst member (cancelled, parked, failed).
    pub state: TerminalState,
    /// The sub-tasks in the order of the caller, with their runs and results.
    pub members: Vec<MemberProjection>,
    /// All results in one text, in that order.
    pub text: String,
}

impl Group {
    /// Its name, for ever.
    pub fn id(&self) -> &GroupId {
        &self.id
    }

    /// Its runs, in the order of the sub-tasks; of one that was resumed, the last.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Its sub-tasks, in the same order.
    pub fn subtasks(&self) -> &[Subtask] {
        &self.subtasks
    }

    /// The durable steps of all its runs as they are written, each run's in order.
    pub fn events(&self) -> GroupEvents {
        let streams = self.runs.iter().map(|run| {
            let id = run.id().clone();
            let steps = stream::unfold((id, run.events()), |(id, mut events)| async move {
                let step = events.next().await?;
                Some(((id.clone(), step), (id, events)))
            });
            steps.boxed()
        });
        GroupEvents(stream::select_all(streams))
    }

    /// Cancels what is under way of it. Returns when the wishes are on disk, and says how many there were.
    pub async fn cancel(&self, by: &str) -> Result<usize, RuntimeError> {
        // The last first: room that becomes free must not go to one that is about to be cancelled.
        let wishes = self.runs.iter().rev().map(|run| run.cancel(by));
        let mut cancelled = 0;
        for wish in join_all(wishes).await {
            cancelled += usize::from(wish?);
        }
        Ok(cancelled)
    }

    /// Waits until nothing more will happen, and reads what it says.
    pub async fn outcome(&self) -> Result<GroupOutcome, RuntimeError> {
        let mut runs = Vec::new();
        for run in &self.runs {
            let outcome = run.outcome().await?;
            runs.push((outcome.run, outcome.projection));
        }
        let group = GroupProjection::of(runs);
        Ok(GroupOutcome {
            group: self.id.clone(),
            // A run without an end in a living runtime could not be written, and the next start parks it.
            state: group.state().unwrap_or(TerminalState::Parked),
            text: group.synthesis(),
            members: group.members,
        })
    }
}

/// The steps of a group's runs; see [`Group::events`].
pub struct GroupEvents(SelectAll<BoxStream<'static, (RunId, RunEvent)>>);

impl GroupEvents {
    /// The next step of any of them; none when all are over.
    pub async fn next(&mut self) -> Option<(RunId, RunEvent)> {
        self.0.next().await
    }
}

/// Names that sort in the order of the sub-tasks, so that lists show them so.
fn member_id(unix_ms: u64, chance: u64, place: u64) -> RunId {
    const PLACES: u64 = SUBTASKS_MAX as u64;
    RunId::new(unix_ms, chance / PLACES * PLACES + place)
}

impl Runtime {
    /// Spawns sub-agents side by side. When this returns all of them are on disk, or none is.
    pub async fn parallel(&self, group: SubAgentGroup) -> Result<Group, RuntimeError> {
        let id = SubAgentGroup::new_id();
        let subtasks = group.subtasks.clone();
        let requests = group.into_requests(&id, self).await?;
        self.start_group(id, subtasks, requests).await
    }

    pub(super) async fn start_group(
        &self,
        id: GroupId,
        subtasks: Vec<Subtask>,
        requests: Vec<RunRequest>,
    ) -> Result<Group, RuntimeError> {
        let (begun, chance) = (SystemWallClock.now().0, SystemEntropy.next());
        let starts = (0..).zip(requests).map(|(place, request)| StartRun {
            run: member_id(begun, chance, place),
            request: Box::new(request),
        });
        let runs = starts.collect::<Vec<_>>();
        let group = Group {
            runs: runs.iter().map(|start| self.run(start.run.clone())).collect(),
            subtasks,
            id,
        };
        let start = StartGroup { runs };
        let accepted = self
            .ask(move |inside| inside.ports.start_group.ask_again(start, ASK))
            .await?;
        accepted.map_err(|refusal| RuntimeError::Refused(refusal.0))?;
        Ok(group)
    }

    /// The group of this name, as the journal has it; without any runs when it does not.
    pub async fn group(&self, id: GroupId) -> Result<Group, RuntimeError> {
        let members = self.members_of(&id).await?.members.into_iter();
        let (runs, subtasks) = members
            .map(|member| (self.run(member.run), member.member.subtask))
            .unzip();
        Ok(Group { id, runs, subtasks })
    }

    /// Goes on with the parked members of a group, each as a new run that names the old one. Nothing that ended otherwise
    /// runs again.
    pub async fn resume_group(&self, id: GroupId) -> Result<Group, RuntimeError> {
        for member in self.members_of(&id).await?.members {
            if member.state == RunState::Parked {
                self.resume(&member.run).await?;
            }
        }
        self.group(id).await
    }

    /// What the journal has of a group by now.
    pub(crate) async fn members_of(&self, id: &GroupId) -> Result<GroupProjection, RuntimeError> {
        let mut runs = Vec::new();
        for summary in self.runs(RunFilter::of_group(id.clone())).await? {
            let steps = self.steps(&summary.run, 0).await?;
            runs.push((summary.run, RunProjection::of(&steps)));
        }
        Ok(GroupProjection::of(runs))
    }
}
