//! Sub-agents one after the other: each step is told what the one before it said, and a gate may stand between them.
//!
//! A chain is a group whose members wait for each other. All of them are accepted in one write, and each decides for
//! itself from the journal whether it may begin: whoever goes on with them goes on with the chain.

use super::group::{Group, Like, SubAgentGroup, count};
use super::sub_agent::SubAgent;
use super::{Runtime, RuntimeError};
use impresario_policies::chain::{OUTPUT_UNITS_MAX, refuse_chain, task_in_words};
use impresario_policies::domain::{
    Briefing, ChainPlace, Gate, GroupId, GroupMember, OnFailure, RunRequest, Subtask,
};
use impresario_policies::parallel::{ParallelPlan, ParallelSettings, plan_parallel};
use impresario_policies::settings::Configured;
use std::time::Duration;

/// For all of a chain, where nobody says.
const TOTAL: Duration = Duration::from_secs(3_600);

/// Steps to run one after the other.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use impresario::{Chain, ChainStep, Gate, Runtime, SubAgent};
///
/// let runtime = Runtime::builder().start().await?;
/// let chain = Chain::new()
///     .step(ChainStep::new("find", "explore", "Where is the retry policy decided?"))
///     .step(
///         ChainStep::new("fix", "general", "Make the first wait shorter. {previous}")
///             .gate(Gate::command(["cargo", "test", "--quiet"])),
///     );
/// let chain = runtime.chain(chain).await?;
/// println!("{}", chain.outcome().await?.text);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Chain {
    steps: Vec<Vec<ChainStep>>,
    on_failure: OnFailure,
    settings: ParallelSettings,
    total: Duration,
}

/// One sub-agent of a chain.
#[derive(Debug, Clone)]
pub struct ChainStep {
    like: Like,
    /// It has a total time of its own.
    own_time: bool,
    subtask: Subtask,
    context: Option<String>,
    gate: Option<Gate>,
}

impl ChainStep {
    /// Has an agent of this name work on a task. In the task, `{previous}` stands for what the step before said and
    /// `{steps.ID}` for what an earlier one said; where neither is there, what the step before said is put below it.
    pub fn new(id: impl Into<String>, agent: impl Into<String>, task: impl Into<String>) -> Self {
        Self::of(id, SubAgent::new(agent, ""), task)
    }

    /// The same of a sub-agent, whose own task does not matter.
    pub fn of(id: impl Into<String>, sub_agent: SubAgent, task: impl Into<String>) -> Self {
        let own_time = sub_agent.has_own_time();
        Self::like(Like::SubAgent(Box::new(sub_agent)), own_time, id, task)
    }

    /// The same of a request that is complete. Its clock holds for this step where it has `own_time`, else it only
    /// bounds the share of the chain's.
    pub fn of_request(
        id: impl Into<String>,
        request: RunRequest,
        own_time: bool,
        task: impl Into<String>,
    ) -> Self {
        Self::like(Like::Request(Box::new(request)), own_time, id, task)
    }

    fn like(like: Like, own_time: bool, id: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            like,
            own_time,
            subtask: Subtask::new(id, task),
            context: None,
            gate: None,
        }
    }

    /// Stands below the task, whatever the step before said.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// The command that says, when the sub-agent has answered, whether its answer counts: with an exit code other than 0
    /// the step has failed.
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// What it hands on is cut to so many characters (24 576 unless said); 0 for no limit.
    pub fn output_chars_max(mut self, characters: u32) -> Self {
        self.subtask.output_units_max = Some(i64::from(characters));
        self
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            on_failure: OnFailure::Stop,
            settings: ParallelSettings {
                enabled: true,
                call_output_units_max: Some(OUTPUT_UNITS_MAX),
                ..Configured::default().parallel
            },
            total: TOTAL,
        }
    }
}

impl Chain {
    /// A chain without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Then this one.
    pub fn step(self, step: ChainStep) -> Self {
        self.parallel([step])
    }

    /// Then these, side by side. The next step is told what all of them said.
    pub fn parallel(mut self, branches: impl IntoIterator<Item = ChainStep>) -> Self {
        self.steps.push(branches.into_iter().collect());
        self
    }

    /// What a failed step means: no further one begins (unless said otherwise), or the next one is told of it.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// At most so many of one step work at a time (3 unless said); the runtime's own width holds too.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.settings.workers_max = concurrency.max(1);
        self
    }

    /// From acceptance to the end of the last step, an hour unless said. Steps without a timeout of their own share what
    /// is left.
    pub fn timeout(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    fn subtasks(&self) -> Vec<Vec<Subtask>> {
        let of_step = |step: &Vec<ChainStep>| step.iter().map(|one| one.subtask.clone()).collect();
        self.steps.iter().map(of_step).collect()
    }
}

impl Runtime {
    /// Spawns a chain. When this returns all of its runs are on disk, or none is.
    pub async fn chain(&self, chain: Chain) -> Result<Group, RuntimeError> {
        self.chain_as(SubAgentGroup::new_id(), chain).await
    }

    /// The same with an id chosen by the caller, so that asking twice starts one chain.
    pub async fn chain_as(&self, id: GroupId, chain: Chain) -> Result<Group, RuntimeError> {
        let known = self.group(id.clone()).await?;
        if !known.runs().is_empty() {
            return Ok(known);
        }
        let steps = chain.subtasks();
        if let Some(refusal) = refuse_chain(&steps) {
            return Err(refusal.into());
        }
        let subtasks = steps.concat();
        let plan = plan_parallel(&subtasks, &chain.settings)?;
        let requests = self.chain_requests(chain, &plan, &id).await?;
        self.start_group(id, subtasks, requests).await
    }

    async fn chain_requests(
        &self,
        chain: Chain,
        plan: &ParallelPlan,
        group: &GroupId,
    ) -> Result<Vec<RunRequest>, RuntimeError> {
        let steps_in_all = count(chain.steps.len());
        let members = count(plan.output_units_max.len());
        let subtasks = chain.subtasks();
        let mut requests = Vec::new();
        for (step, branches) in (0..).zip(chain.steps) {
            let before = (step as usize)
                .checked_sub(1)
                .and_then(|before| subtasks.get(before));
            let before = before.into_iter().flatten().map(|subtask| subtask.id.as_str());
            let before = before.collect::<Vec<_>>();
            for branch in branches {
                let ChainStep {
                    like,
                    own_time,
                    subtask,
                    context,
                    gate,
                } = branch;
                let like = like.into_request(self).await?;
                let member = GroupMember {
                    group: group.clone(),
                    place: count(requests.len()),
                    members,
                    concurrency: count(plan.concurrency),
                    total: chain.total,
                    answer_units_max: plan.output_units_max.get(requests.len()).copied().flatten(),
                    chain: Some(ChainPlace {
                        step,
                        steps: steps_in_all,
                        on_failure: chain.on_failure,
                        own_time,
                        context,
                    }),
                    subtask,
                };
                requests.push(in_chain(like, member, &before, gate));
            }
        }
        Ok(requests)
    }
}

/// What it is told is written when it begins; until then, and in lists, its task is said in words.
fn in_chain(like: RunRequest, member: GroupMember, before: &[&str], gate: Option<Gate>) -> RunRequest {
    let goal = task_in_words(&member.subtask.goal, before);
    let mut request = RunRequest {
        task: format!("{} — {goal}", member.subtask.id),
        briefing: Briefing::Direct,
        group: Some(member),
        ..like
    };
    request.terms.gate = gate;
    request
}
