//! Sub-agents side by side: what a program that hands the runtime several sub-tasks at once can rely on.

use crate::audit::Audit;
use crate::playing::{says, within};
use impresario::chaos::{self, Plan, audit, evidence_of};
use impresario::runtime::{
    GroupId, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ParallelRefusal, ReasonCode,
    RunFilter, RunState, Step, TerminalState, async_trait,
};
use impresario::{
    Group, GroupOutcome, Runtime, RuntimeBuilder, RuntimeError, SubAgent, SubAgentGroup, Subtask,
};
use impresario_test_support::waiting::{PATIENCE, until};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;

/// A silence that is none of a machine that is busy.
const LONG_SILENCE: Duration = Duration::from_secs(5);

#[test]
fn groups_go_wherever_the_program_wants_them() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<SubAgentGroup>();
    shared::<Group>();
    shared::<GroupOutcome>();
}

#[tokio::test(flavor = "multi_thread")]
async fn results_stand_in_the_order_of_the_tasks_whatever_ends_first() {
    let place = Place::new();
    let runtime = place.start().await;
    let group = group([
        Subtask::new("slow", "after quick"),
        Subtask::new("slower", "after slow"),
        Subtask::new("quick", "say"),
    ]);
    let outcome = run(&runtime, group.concurrency(3)).await;
    assert_eq!(place.desk.answered(), ["quick", "slow", "slower"]);
    assert_eq!(outcome.state, TerminalState::Succeeded);
    assert_eq!(
        outcome.text,
        "## Parallel sub-agent synthesis\n\n### slow — after quick\nslow is done\n\n\
         ### slower — after slow\nslower is done\n\n### quick — say\nquick is done\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_worker_is_told_its_sub_task_and_nothing_of_the_others() {
    let place = Place::new();
    let runtime = place.start().await;
    let first = Subtask {
        scope: Some("src".into()),
        retrieval_hints: vec!["lock".into()],
        output_schema: Some("a list".into()),
        ..Subtask::new("one", "say")
    };
    run(&runtime, group([first, Subtask::new("two", "say")])).await;
    let asked = place.desk.asked();
    let prompt = asked
        .iter()
        .find(|prompt| prompt.contains("ID: one"))
        .expect("a prompt");
    let told =
        "Subtask ID: one\n\nGoal: say\n\nScope: src\n\nRetrieval hints:\n- lock\n\nOutput format: a list\n\n";
    assert!(prompt.starts_with(told), "{prompt}");
    assert!(!prompt.contains("two"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_work_at_a_time_than_was_asked_for_and_they_begin_in_order() {
    let place = Place::new();
    let runtime = place.start().await;
    let ids = ["a", "b", "c", "d", "e"];
    let group = group(ids.map(|id| Subtask::new(id, "say"))).concurrency(1);
    let outcome = run(&runtime, group).await;
    assert_eq!(outcome.state, TerminalState::Succeeded);
    assert_eq!(place.desk.answered(), ids);
    assert_eq!(place.desk.most_at_a_time(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_leaves_room_for_others() {
    let place = Place::new();
    let runtime = place.start().await;
    let silent = group(["a", "b", "c"].map(|id| Subtask::new(id, "silence"))).concurrency(2);
    let silent = runtime.parallel(silent).await.expect("accepted");
    until(
        || place.desk.asked().len() == 2,
        || format!("{:?}", place.desk.asked()),
    );
    let other = run(&runtime, group([Subtask::new("other", "say")])).await;
    assert_eq!(other.state, TerminalState::Succeeded);
    assert_eq!(place.desk.most_at_a_time(), 3);
    silent.cancel("the test").await.expect("cancelled");
    within(silent.outcome()).await.expect("an outcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failure_of_one_harms_no_sibling() {
    let place = Place::new();
    let runtime = place.start().await;
    let subtasks = [
        Subtask::new("fails", "fail"),
        Subtask::new("silent", "silence"),
        Subtask::new("well", "say"),
    ];
    let group = group_with(LONG_SILENCE, subtasks);
    let outcome = run(&runtime, group).await;
    let of = |place: usize| outcome.members[place].result.as_ref().expect("a result");
    assert_eq!(of(0).worker.stopped_reason, "error");
    assert_eq!(
        of(1).reason.as_ref().expect("a reason").code,
        ReasonCode::InactivityTimeout
    );
    assert_eq!(of(2).worker.text, "well is done");
    assert_eq!(outcome.state, TerminalState::Failed);
    assert!(
        outcome.text.contains("### fails — fail\n_Worker failed: "),
        "{}",
        outcome.text
    );
    assert!(
        outcome.text.ends_with("### well — say\nwell is done\n"),
        "{}",
        outcome.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_branches_a_poisoned_one_harms_no_other() {
    let place = Place::new();
    let runtime = place.start().await;
    let goal = |number| if number == 7 { "panic" } else { "say" };
    let ids = (0..20).map(|number| format!("branch-{number}"));
    let subtasks = (0..20)
        .zip(ids)
        .map(|(number, id)| Subtask::new(id, goal(number)));
    let outcome = run(&runtime, group(subtasks).concurrency(8)).await;
    assert_eq!(outcome.state, TerminalState::Failed);
    for (number, member) in (0..).zip(&outcome.members) {
        let worker = &member.result.as_ref().expect("a result").worker;
        let expected = if number == 7 {
            String::new()
        } else {
            format!("branch-{number} is done")
        };
        assert_eq!(worker.text, expected, "{worker:?}");
    }
    assert_eq!(outcome.members.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_an_actor_of_one_changes_nothing_of_what_is_said() {
    let tasks = || group(["a", "b", "c"].map(|id| Subtask::new(id, "say")));
    let unharmed = {
        let place = Place::new();
        run(&place.start().await, tasks()).await
    };
    let place = Place::new();
    let (told, killed) = std::sync::mpsc::channel();
    let plan = Plan::Seeded {
        seed: 11,
        per_mille: 60,
        // More in a row would park the run (P8).
        kills_max: 4,
    };
    let restarts = impresario_actors::supervision::SupervisorSettings {
        intensity: 10_000,
        ..Default::default()
    };
    let builder = place.builder().restarts(restarts).chaos(plan);
    let told = move |record: chaos::Record| told.send(record.kills.len()).expect("somebody listens");
    let runtime = builder.when_chaos_ended(told).start().await.expect("started");
    let outcome = run(&runtime, tasks()).await;
    runtime.shutdown().await.expect("stopped");
    assert!(killed.recv().expect("a record") > 0, "nobody was killed");
    assert_eq!(outcome.text, unharmed.text);
    let evidence = evidence_of(place.state()).expect("a journal");
    assert_eq!(audit(&evidence), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_total_time_ends_those_at_work_and_those_that_wait() {
    let place = Place::new();
    let runtime = place.start().await;
    let group = group([Subtask::new("silent", "silence"), Subtask::new("waiting", "say")]);
    let group = group.concurrency(1).timeout(Duration::from_millis(300));
    let outcome = run(&runtime, group).await;
    let states = outcome.members.iter().map(|member| member.state);
    assert_eq!(states.collect::<Vec<_>>(), [RunState::Failed, RunState::Failed]);
    for member in &outcome.members {
        let result = member.result.as_ref().expect("a result");
        assert_eq!(result.worker.stopped_reason, "timeout");
        let reason = result.reason.as_ref().expect("a reason");
        assert!(
            reason.message.contains("all sub-tasks together"),
            "{}",
            reason.message
        );
    }
    assert!(!place.desk.asked().iter().any(|prompt| prompt.contains("waiting")));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_the_whole_leaves_nothing() {
    let place = Place::new();
    let runtime = place.start().await;
    let ids = ["a", "b", "c", "d"];
    let group = group(ids.map(|id| Subtask::new(id, "silence"))).concurrency(2);
    let group = runtime.parallel(group).await.expect("accepted");
    until_at_work(&group, 2).await;
    assert_eq!(group.cancel("the test").await, Ok(4));
    let outcome = within(group.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
    let asked = place.desk.asked();
    let began = |id: &str| asked.iter().any(|prompt| prompt.contains(&format!("ID: {id}")));
    assert!(!began("c") && !began("d"), "one of those that waited began");
    let unfinished = runtime.runs(RunFilter::unfinished()).await.expect("a list");
    assert_eq!(unfinished, []);
    assert_eq!(group.cancel("the test").await, Ok(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_of_the_task_then_of_the_call_cuts_what_is_shown_and_nothing_that_is_kept() {
    let place = Place::new();
    let runtime = place.start().await;
    let of_its_own = Subtask {
        output_units_max: Some(0),
        ..Subtask::new("whole", "long")
    };
    let group = group([of_its_own, Subtask::new("cut", "long")]).output_chars_max(40);
    let group = runtime.parallel(group).await.expect("accepted");
    let outcome = within(group.outcome()).await.expect("an outcome");
    let text = |place: usize| {
        outcome.members[place]
            .result
            .as_ref()
            .expect("a result")
            .worker
            .clone()
    };
    assert_eq!(text(0).text, "x".repeat(500));
    assert_eq!(
        text(1).text,
        format!("{}\n\n[…worker output truncated]", "x".repeat(12))
    );
    assert_eq!(
        (text(1).truncated, text(1).stopped_reason.as_str()),
        (true, "completed")
    );
    assert!(outcome.text.contains("_Stopped reason: cap._"));
    let kept = group.runs()[1].outcome().await.expect("an outcome").answer;
    assert_eq!(kept, Some("x".repeat(500)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_cannot_be_meant_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let runtime = place.start().await;
    let refused = |group| async { runtime.parallel(group).await.expect_err("refused") };
    assert_eq!(
        refused(group([Subtask::new("a", "say"), Subtask::new("a", "say")])).await,
        RuntimeError::GroupRefused(ParallelRefusal::DuplicateId("a".into()))
    );
    assert_eq!(
        refused(group([Subtask::new("", "say")])).await,
        RuntimeError::GroupRefused(ParallelRefusal::EmptyId)
    );
    let nobody = SubAgentGroup::like(SubAgent::new("nobody", "")).subtask(Subtask::new("a", "say"));
    assert!(matches!(refused(nobody).await, RuntimeError::Refused(_)));
    let nowhere = SubAgent::explore("").runner("nowhere");
    let nowhere = SubAgentGroup::like(nowhere).subtask(Subtask::new("a", "say"));
    assert!(matches!(refused(nowhere).await, RuntimeError::Refused(_)));
    assert_eq!(runtime.runs(RunFilter::default()).await, Ok(Vec::new()));
    let empty = run(&runtime, group([])).await;
    assert_eq!((empty.state, empty.text.as_str()), (TerminalState::Succeeded, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_all_are_told_without_gaps() {
    let place = Place::new();
    let runtime = place.start().await;
    let group = group(["a", "b", "c"].map(|id| Subtask::new(id, "say")));
    let group = runtime.parallel(group).await.expect("accepted");
    let mut events = group.events();
    let mut seen = std::collections::BTreeMap::<_, Vec<u64>>::new();
    let mut ended = 0;
    while let Some((run, event)) = within(events.next()).await {
        ended += usize::from(matches!(event.step, Step::Ended { .. }));
        seen.entry(run).or_default().push(event.sequence);
    }
    assert_eq!((ended, seen.len()), (3, 3));
    for sequences in seen.into_values() {
        assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_found_by_its_name_and_its_parked_members_are_resumed() {
    let place = Place::new();
    let runtime = place.start().await;
    let subtasks = [Subtask::new("well", "say"), Subtask::new("later", "silence")];
    let parked = runtime.parallel(group(subtasks)).await.expect("accepted");
    until_at_work(&parked, 2).await;
    within(parked.runs()[0].outcome()).await.expect("an outcome");
    runtime.shutdown().await.expect("stopped");

    place.desk.speak();
    let runtime = place.start().await;
    let id = parked.id().clone();
    let found = runtime.group(id.clone()).await.expect("found");
    let as_it_stands = within(found.outcome()).await.expect("an outcome");
    assert_eq!(as_it_stands.state, TerminalState::Parked);
    let resumed = runtime.resume_group(id).await.expect("resumed");
    let outcome = within(resumed.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Succeeded);
    assert!(
        outcome.text.ends_with("### later — silence\nlater is done\n"),
        "{}",
        outcome.text
    );
    assert_eq!(resumed.runs()[0].id(), parked.runs()[0].id());
    let nobody = runtime.group(GroupId::new(1, 1)).await.expect("none");
    assert_eq!(nobody.runs().len(), 0);
}

fn group(subtasks: impl IntoIterator<Item = Subtask>) -> SubAgentGroup {
    group_with(PATIENCE, subtasks)
}

fn group_with(inactivity: Duration, subtasks: impl IntoIterator<Item = Subtask>) -> SubAgentGroup {
    let like = SubAgent::explore("")
        .chain(["desk/one"])
        .tries_per_model(1, Duration::from_millis(1))
        .inactivity_timeout(inactivity);
    SubAgentGroup::like(like).subtasks(subtasks)
}

async fn run(runtime: &Runtime, group: SubAgentGroup) -> GroupOutcome {
    let group = runtime.parallel(group).await.expect("accepted");
    within(group.outcome()).await.expect("an outcome")
}

async fn until_at_work(group: &Group, members: usize) {
    let mut events = group.events();
    let mut at_work = 0;
    while at_work < members {
        let (_, event) = within(events.next()).await.expect("a step");
        at_work += usize::from(matches!(event.step, Step::AttemptActive { .. }));
    }
}

struct Place {
    _audit: Audit,
    directory: TempDir,
    desk: Arc<Desk>,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("workspace")).expect("a workspace");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            desk: Arc::default(),
        }
    }

    fn state(&self) -> std::path::PathBuf {
        self.directory.path().join("state")
    }

    fn builder(&self) -> RuntimeBuilder {
        let desk = self.desk.clone();
        Runtime::builder()
            .state_directory(self.state())
            .workspace(self.directory.path().join("workspace"))
            .width(8)
            .model(Clerk(desk))
    }

    async fn start(&self) -> Runtime {
        self.builder().start().await.expect("started")
    }
}

/// What the models of a test have in common.
#[derive(Default)]
struct Desk {
    seen: Mutex<Seen>,
    news: Notify,
}

#[derive(Default)]
struct Seen {
    asked: Vec<String>,
    answered: Vec<String>,
    at_work: usize,
    most_at_a_time: usize,
    speaks: bool,
}

impl Desk {
    fn see<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().expect("nobody panicked"))
    }

    fn asked(&self) -> Vec<String> {
        self.see(|seen| seen.asked.clone())
    }

    fn answered(&self) -> Vec<String> {
        self.see(|seen| seen.answered.clone())
    }

    fn most_at_a_time(&self) -> usize {
        self.see(|seen| seen.most_at_a_time)
    }

    /// From now on nobody is silent.
    fn speak(&self) {
        self.see(|seen| seen.speaks = true);
    }

    async fn until_answered(&self, id: &str) {
        loop {
            let news = self.news.notified();
            if self.answered().iter().any(|answered| answered == id) {
                return;
            }
            news.await;
        }
    }
}

/// A model that does what the goal of a sub-task says.
struct Clerk(Arc<Desk>);

struct AtWork(Arc<Desk>);

impl AtWork {
    fn begin(desk: &Arc<Desk>) -> Self {
        desk.see(|seen| {
            seen.at_work += 1;
            seen.most_at_a_time = seen.most_at_a_time.max(seen.at_work);
        });
        Self(desk.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.see(|seen| seen.at_work -= 1);
    }
}

#[async_trait(?Send)]
impl ModelClient for Clerk {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let desk = &self.0;
        let _at_work = AtWork::begin(desk);
        let mut messages = request.messages.iter();
        let prompt = messages.find(|message| message.role == ModelRole::User);
        let prompt = prompt.expect("a prompt").text.clone();
        desk.see(|seen| seen.asked.push(prompt.clone()));
        let part = |name: &str| prompt.split("\n\n").find_map(|part| part.strip_prefix(name));
        let (id, goal) = (
            part("Subtask ID: ").expect("an id"),
            part("Goal: ").expect("a goal"),
        );
        tokio::task::yield_now().await;
        let text = match goal.split_once(' ') {
            Some(("after", other)) => {
                desk.until_answered(other).await;
                format!("{id} is done")
            }
            _ if goal == "silence" && !desk.see(|seen| seen.speaks) => pending().await,
            _ if goal == "fail" => return Err(ModelError::Unavailable("the house is full".to_string())),
            _ if goal == "panic" => panic!("poisoned"),
            _ if goal == "long" => "x".repeat(500),
            _ => format!("{id} is done"),
        };
        desk.see(|seen| seen.answered.push(id.to_string()));
        desk.news.notify_waiters();
        Ok(says(&text))
    }
}
