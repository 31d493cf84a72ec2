//! The main scenarios. Each says how its runs have to end, whatever is killed meanwhile.

use super::world::*;
use crate::disk::{SimulatedDisk, StoreFaults};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, join_all};
use impresario::chaos::Expected;
use impresario_actors::capability_index::CapabilityRequest;
use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::{Retention, RunFilter};
use impresario_actors::messages::anchors::RecallAnchors;
use impresario_actors::messages::capabilities::{
    CapabilityUsed, FindCapability, IndexCapabilities, ReadUses, SearchCapabilities,
};
use impresario_actors::messages::journal::{Prune, ReadRuns};
use impresario_actors::messages::prompts::LogPrompt;
use impresario_actors::messages::run::{
    AdoptDue, AwaitRun, Awaited, CancelRun, ParkRuns, StartGroup, StartRun, TellReply, TellRun,
};
use impresario_actors::messages::session::{
    CountCuts, CountPlans, GuideResult, GuidedResult, PlanCuts, PlanMarkers, PlanNotApplied, ShowNotice,
    StartSkill,
};
use impresario_actors::session_index::SessionFiles;
use impresario_actors::supervision::AskError;
use impresario_policies::anchors::recall::{RecallRequest, words_wanted};
use impresario_policies::cache_markers::{Block, BlockKind, Lifetime, MarkerRequest};
use impresario_policies::capability::{Capability, CapabilityKind};
use impresario_policies::domain::Subtask;
use impresario_policies::domain::*;
use impresario_policies::guidance::{RuleMark, Touched};
use impresario_policies::prompt_log::PromptSource;
use impresario_policies::settings::Configured;
use impresario_policies::truncation::{SeenEntry, SeenKind};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::sleep;

const LONG: Duration = Duration::from_secs(24 * 3600);
/// The total clock, and an hour for restarts that back off under dense kills.
const WITHIN: Duration = Duration::from_secs(300 + 3600);

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "answered",
        prepare: nothing,
        play: answered,
    },
    Scenario {
        name: "long_answer",
        prepare: nothing,
        play: long_answer,
    },
    Scenario {
        name: "worktree",
        prepare: nothing,
        play: in_a_worktree,
    },
    Scenario {
        name: "tools",
        prepare: nothing,
        play: tools,
    },
    Scenario {
        name: "question",
        prepare: nothing,
        play: question,
    },
    Scenario {
        name: "overflow",
        prepare: nothing,
        play: overflow,
    },
    Scenario {
        name: "provider_fails",
        prepare: nothing,
        play: provider_fails,
    },
    Scenario {
        name: "models_cool_down",
        prepare: nothing,
        play: models_cool_down,
    },
    Scenario {
        name: "full_providers",
        prepare: nothing,
        play: full_providers,
    },
    Scenario {
        name: "hangs",
        prepare: nothing,
        play: hangs,
    },
    Scenario {
        name: "cancelled",
        prepare: nothing,
        play: cancelled,
    },
    Scenario {
        name: "told",
        prepare: nothing,
        play: told,
    },
    Scenario {
        name: "two_wait_for_room",
        prepare: nothing,
        play: two_wait_for_room,
    },
    Scenario {
        name: "skill",
        prepare: nothing,
        play: skill,
    },
    Scenario {
        name: "parked",
        prepare: nothing,
        play: parked,
    },
    Scenario {
        name: "housekeeping",
        prepare: nothing,
        play: housekeeping,
    },
    Scenario {
        name: "guided",
        prepare: nothing,
        play: guided,
    },
    Scenario {
        name: "adopted",
        prepare: |disk, world| leave_orphan(disk, run_id(15), world),
        play: adopted,
    },
    Scenario {
        name: "driver_vanishes",
        prepare: nothing,
        play: driver_vanishes,
    },
    Scenario {
        name: "side_by_side",
        prepare: nothing,
        play: side_by_side,
    },
    Scenario {
        name: "siblings",
        prepare: nothing,
        play: siblings,
    },
    Scenario {
        name: "side_by_side_too_long",
        prepare: nothing,
        play: side_by_side_too_long,
    },
    Scenario {
        name: "chain",
        prepare: nothing,
        play: chain,
    },
    Scenario {
        name: "chain_with_a_gate_that_runs_once",
        prepare: nothing,
        play: chain_with_a_gate_that_runs_once,
    },
    Scenario {
        name: "disk_full_for_a_while",
        prepare: nothing,
        play: disk_full_for_a_while,
    },
    Scenario {
        name: "disk_full_for_too_long",
        prepare: nothing,
        play: disk_full_for_too_long,
    },
];

fn nothing(_: &SimulatedDisk, _: &World) {}

impl Stage {
    async fn start(&self, run: RunId, request: RunRequest, states: &[&str], answer: Option<&str>) {
        let start = StartRun {
            run: run.clone(),
            request: Box::new(request),
        };
        match self.ports.start.ask_again(start, LONG).await {
            Ok(Ok(())) => self.accepted.borrow_mut().push(run.to_string()),
            other => self.unanswered.borrow_mut().push(format!("StartRun {other:?}")),
        }
        self.expect(&run, states, answer);
    }

    fn expect(&self, run: &RunId, states: &[&str], answer: Option<&str>) {
        let expected = Expected {
            states: states.iter().map(ToString::to_string).collect(),
            answer: answer.map(str::to_string),
            within_ms: Some(WITHIN.as_millis() as u64),
        };
        self.expected.borrow_mut().insert(run.to_string(), expected);
    }

    async fn wait_for(&self, run: RunId) {
        if let Err(error) = self.ports.await_run.ask_again(AwaitRun { run }, LONG).await {
            self.unanswered.borrow_mut().push(format!("AwaitRun {error}"));
        }
    }
}

fn answered(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Say("here"), Act::Answer("it is here")];
        stage
            .start(run_id(1), request(), &["succeeded"], Some("it is here"))
            .await;
        stage.wait_for(run_id(1)).await;
    }
    .boxed_local()
}

/// The host is given the beginning and the end; all of it is kept before the journal says where.
fn long_answer(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() =
            vec![Act::Answer("it begins, goes on and on, and on, and it ends.")];
        let request = RunRequest {
            answer_chars_max: 41,
            ..request()
        };
        let cut = "it begins,\n[... truncated ...]\nd it ends.";
        stage.start(run_id(63), request, &["succeeded"], Some(cut)).await;
        stage.wait_for(run_id(63)).await;
        let kept = stage.world.whole_answers.borrow().len();
        if kept == 0 {
            stage
                .unanswered
                .borrow_mut()
                .push("no answer was kept whole".into());
        }
    }
    .boxed_local()
}

/// One run that answers, and one that is cancelled: both leave a patch.
fn in_a_worktree(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![
            Act::Tool {
                call: "c1",
                tool: "edit",
                replay: Replay::Unsafe,
                result_bytes: 10,
            },
            Act::Answer("it is changed"),
        ];
        let mut isolated = request();
        isolated.terms.isolation = Isolation::Worktree;
        stage
            .start(run_id(61), isolated.clone(), &["succeeded", "parked"], None)
            .await;
        stage.wait_for(run_id(61)).await;
        stage
            .start(run_id(62), isolated, &["succeeded", "cancelled", "parked"], None)
            .await;
        let cancel = CancelRun {
            run: run_id(62),
            by: "the person".into(),
        };
        if let Err(error) = stage.ports.cancel.ask_again(cancel, LONG).await {
            stage.unanswered.borrow_mut().push(format!("CancelRun {error}"));
        }
        stage.wait_for(run_id(62)).await;
    }
    .boxed_local()
}

fn tools(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![
            Act::Tool {
                call: "c1",
                tool: "read",
                replay: Replay::Safe,
                result_bytes: 10,
            },
            Act::Think(Duration::from_secs(2)),
            Act::Tool {
                call: "c2",
                tool: "edit",
                replay: Replay::Unsafe,
                result_bytes: 10,
            },
            Act::Answer("edited"),
        ];
        // A kill while the edit runs parks the run; at any other moment it ends as if nothing had happened.
        stage
            .start(run_id(2), request(), &["succeeded", "parked"], Some("edited"))
            .await;
        stage.wait_for(run_id(2)).await;
    }
    .boxed_local()
}

fn question(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        stage.world.verdicts.borrow_mut().push_back(false);
        stage.world.answers.borrow_mut().push_back("the file lock");
        *stage.world.script.borrow_mut() = vec![Act::Answer("there")];
        stage
            .start(run_id(3), request(), &["succeeded"], Some("there"))
            .await;
        stage.wait_for(run_id(3)).await;
    }
    .boxed_local()
}

fn overflow(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![
            Act::Tool {
                call: "c1",
                tool: "read",
                replay: Replay::Safe,
                result_bytes: 5_000,
            },
            Act::ReadOverflow,
            Act::Answer("large"),
        ];
        stage
            .start(run_id(4), request(), &["succeeded"], Some("large"))
            .await;
        stage.wait_for(run_id(4)).await;
        let read = stage.world.overflow_read.borrow();
        if !read.iter().any(|page| page.contains("xxxxxxxxxx")) {
            stage
                .unanswered
                .borrow_mut()
                .push(format!("overflow page {read:?}"));
        }
    }
    .boxed_local()
}

fn provider_fails(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        let overloaded = EndFacts {
            terminal_event: true,
            stop_reason: Some("error".into()),
            error_message: Some("529 overloaded".into()),
            read_lines: 3,
            ..EndFacts::default()
        };
        *stage.world.script.borrow_mut() = vec![
            Act::Fail {
                times: 4,
                facts: overloaded,
            },
            Act::Answer("after a while"),
        ];
        stage
            .start(run_id(5), request(), &["succeeded"], Some("after a while"))
            .await;
        stage.wait_for(run_id(5)).await;
    }
    .boxed_local()
}

/// Each run fails three times. The first one's model is left alone when the second comes, which begins with the other,
/// fails there too, waits for the first and tries whether it is back.
fn models_cool_down(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        let overloaded = EndFacts {
            terminal_event: true,
            stop_reason: Some("error".into()),
            error_message: Some("529 overloaded".into()),
            read_lines: 3,
            ..EndFacts::default()
        };
        *stage.world.script.borrow_mut() = vec![
            Act::Fail {
                times: 3,
                facts: overloaded,
            },
            Act::Answer("on another one"),
        ];
        for number in [61, 62] {
            let run = run_id(number);
            stage
                .start(run.clone(), request(), &["succeeded"], Some("on another one"))
                .await;
            stage.wait_for(run).await;
        }
    }
    .boxed_local()
}

/// Three at a time, one at each of two providers: they leave the one that fails for the other, and none waits for ever.
fn full_providers(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        let overloaded = EndFacts {
            terminal_event: true,
            stop_reason: Some("error".into()),
            error_message: Some("529 overloaded".into()),
            read_lines: 3,
            ..EndFacts::default()
        };
        *stage.world.script.borrow_mut() = vec![
            Act::Fail {
                times: 3,
                facts: overloaded,
            },
            Act::Think(Duration::from_secs(2)),
            Act::Answer("there was room"),
        ];
        let narrow = || {
            let mut request = request();
            request.terms.admission.width = 3;
            request.terms.admission.provider_width = 1;
            request
        };
        for number in 63..66 {
            stage
                .start(run_id(number), narrow(), &["succeeded"], Some("there was room"))
                .await;
        }
        for number in 63..66 {
            stage.wait_for(run_id(number)).await;
        }
    }
    .boxed_local()
}

fn hangs(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Say("half an ans"), Act::Hang];
        let clocks = Clocks {
            total: Duration::from_secs(100),
            ..Clocks::default()
        };
        let request = RunRequest { clocks, ..request() };
        stage.start(run_id(6), request, &["failed"], None).await;
        stage.wait_for(run_id(6)).await;
    }
    .boxed_local()
}

/// Its clocks do not run out while somebody who wants it stopped waits for restarts.
fn patient() -> RunRequest {
    let days = Duration::from_secs(3 * 24 * 3600);
    let clocks = Clocks {
        inactivity: days,
        total: days,
        ..Clocks::default()
    };
    RunRequest { clocks, ..request() }
}

fn cancelled(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() =
            vec![Act::Say("half"), Act::Think(Duration::from_secs(50)), Act::Hang];
        stage.start(run_id(7), patient(), &["cancelled"], None).await;
        sleep(Duration::from_secs(1)).await;
        let cancel = CancelRun {
            run: run_id(7),
            by: "the user".into(),
        };
        if let Err(error) = stage.ports.cancel.ask_again(cancel, LONG).await {
            stage.unanswered.borrow_mut().push(format!("CancelRun {error}"));
        }
        stage.wait_for(run_id(7)).await;
    }
    .boxed_local()
}

/// What is taken stands in the journal as delivered, whoever is killed in between.
fn told(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![
            Act::Say("half"),
            Act::Think(Duration::from_secs(50)),
            Act::Answer("as told"),
        ];
        stage
            .start(run_id(10_001), patient(), &["succeeded"], Some("as told"))
            .await;
        sleep(Duration::from_secs(1)).await;
        let tell = TellRun {
            run: run_id(10_001),
            message: RunMessage {
                id: MessageId::new(1),
                kind: MessageKind::Steer,
                text: "look at the lock".into(),
                by: "the user".into(),
                from: None,
            },
        };
        loop {
            match stage.ports.tell.ask_again(tell.clone(), LONG).await {
                Ok(TellReply::NotYet) => sleep(Duration::from_millis(100)).await,
                Ok(TellReply::Taken | TellReply::Refused(_) | TellReply::NotUnderWay) => break,
                Err(error) => {
                    stage.unanswered.borrow_mut().push(format!("TellRun {error}"));
                    break;
                }
            }
        }
        stage.wait_for(run_id(10_001)).await;
    }
    .boxed_local()
}

fn two_wait_for_room(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Think(Duration::from_secs(5)), Act::Answer("in turn")];
        stage
            .start(run_id(8), request(), &["succeeded"], Some("in turn"))
            .await;
        stage
            .start(run_id(9), request(), &["succeeded"], Some("in turn"))
            .await;
        stage.wait_for(run_id(8)).await;
        stage.wait_for(run_id(9)).await;
    }
    .boxed_local()
}

fn skill(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Think(Duration::from_secs(1)), Act::Answer("done")];
        let start = StartSkill {
            run: run_id(10),
            order: order("review"),
            beside: false,
        };
        match stage.ports.start_skill.ask_again(start, LONG).await {
            Ok(Ok(())) => stage.accepted.borrow_mut().push(run_id(10).to_string()),
            other => stage
                .unanswered
                .borrow_mut()
                .push(format!("StartSkill {other:?}")),
        }
        stage.expect(&run_id(10), &["succeeded"], Some("done"));
        let second = StartSkill {
            run: run_id(11),
            order: order("review"),
            beside: false,
        };
        if let Ok(Ok(())) = stage.ports.start_skill.ask_again(second, LONG).await {
            stage
                .unanswered
                .borrow_mut()
                .push("a second skill was let in".into());
        }
        stage.wait_for(run_id(10)).await;
        sleep(Duration::from_secs(1)).await;
        let third = StartSkill {
            run: run_id(12),
            order: order("review"),
            beside: false,
        };
        match stage.ports.start_skill.ask_again(third, LONG).await {
            Ok(Ok(())) => stage.accepted.borrow_mut().push(run_id(12).to_string()),
            other => stage
                .unanswered
                .borrow_mut()
                .push(format!("StartSkill after the first {other:?}")),
        }
        stage.expect(&run_id(12), &["succeeded"], Some("done"));
        stage.wait_for(run_id(12)).await;
    }
    .boxed_local()
}

fn parked(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Think(Duration::from_secs(50)), Act::Hang];
        stage.start(run_id(13), patient(), &["parked"], None).await;
        sleep(Duration::from_secs(1)).await;
        let reason = Reason {
            code: ReasonCode::HostGone,
            message: "The host went away.".into(),
        };
        if let Err(error) = stage.ports.park.ask_again(ParkRuns { reason }, LONG).await {
            stage.unanswered.borrow_mut().push(format!("ParkRuns {error}"));
        }
        stage.wait_for(run_id(13)).await;
    }
    .boxed_local()
}

/// Whatever is killed, what was put into the index is found, and nothing else.
async fn look_for_capabilities(stage: &Stage) {
    let wrong = |what: String| stage.unanswered.borrow_mut().push(what);
    let scope = PathBuf::from("/zoo");
    let tool = |name: &str| Capability {
        id: format!("tool:pi:{name}"),
        kind: CapabilityKind::Tool,
        source: "pi".into(),
        name: name.into(),
        summary: String::new(),
        params: String::new(),
        activation: name.into(),
    };
    let (wash, feed) = (tool("wash_otter"), tool("feed_seal"));
    for all in [vec![feed.clone()], vec![wash.clone(), feed]] {
        let index = IndexCapabilities {
            scope: scope.clone(),
            all,
        };
        match stage.ports.index_capabilities.ask_again(index, LONG).await {
            Ok(Ok(_)) => {}
            other => wrong(format!("IndexCapabilities {other:?}")),
        }
    }
    let request = CapabilityRequest {
        query: "washing otters".into(),
        kind: None,
        hits_max: 8,
    };
    let search = SearchCapabilities {
        scope: scope.clone(),
        request,
    };
    match stage.ports.search_capabilities.ask_again(search, LONG).await {
        Ok(Ok(found)) if found.hits.len() == 1 && found.hits[0].capability == wash => {}
        other => wrong(format!("SearchCapabilities {other:?}")),
    }
    let find = FindCapability {
        scope: scope.clone(),
        id: wash.id.clone(),
    };
    match stage.ports.find_capability.ask_again(find, LONG).await {
        Ok(Ok(Some(found))) if found == wash => {}
        other => wrong(format!("FindCapability {other:?}")),
    }
    for id in [wash.id.clone(), "tool:pi:unknown".to_string()] {
        let used = CapabilityUsed {
            scope: scope.clone(),
            id,
            at: UnixMillis(1),
        };
        if let Err(error) = stage.ports.capability_used.ask_again(used, LONG).await {
            wrong(format!("CapabilityUsed {error}"));
        }
    }
    match stage.ports.read_uses.ask_again(ReadUses { scope }, LONG).await {
        // Who was killed between the count and the answer is told again.
        Ok(Ok(uses)) if uses.len() == 1 && uses[0].id == wash.id && uses[0].count >= 1 => {}
        other => wrong(format!("ReadUses {other:?}")),
    }
}

/// Whatever is killed, an anchor of a session is found, and once.
async fn recall_an_anchor(stage: &Stage) {
    let wrong = |what: String| stage.unanswered.borrow_mut().push(what);
    let place = tempfile::tempdir().expect("a directory");
    let head = r#"{"type":"session","id":"S","cwd":"/zoo"}"#;
    let anchor = r#"{"type":"message","id":"e1","timestamp":"2026-01-02T00:00:00Z","message":{"role":"toolResult","toolName":"context","details":{"anchor":{"name":"otters","targetId":"t","summary":"are washed"}}}}"#;
    std::fs::write(place.path().join("1.jsonl"), format!("{head}\n{anchor}\n")).expect("written");
    let recall = RecallAnchors {
        sessions: SessionFiles::In(place.path().to_path_buf()),
        directory: "/zoo".into(),
        request: RecallRequest {
            words: words_wanted("OTTERS washed"),
            everywhere: false,
            limit: 10,
            offset: 0,
        },
    };
    match stage.ports.recall_anchors.ask_again(recall, LONG).await {
        Ok(Ok(recalled)) if recalled.total == 1 && recalled.found[0].name == "otters" => {}
        other => wrong(format!("RecallAnchors {other:?}")),
    }
}

/// An anchor makes one long result stale, whoever was killed.
async fn leave_out(stage: &Stage) {
    let wrong = |what: String| stage.unanswered.borrow_mut().push(what);
    let entry = |id: &str, kind: SeenKind, characters: u64| SeenEntry {
        id: id.into(),
        kind,
        characters,
        names: Vec::new(),
    };
    let name = "plan".to_string();
    let plan = PlanCuts {
        seen: vec![
            entry("b1c2d3e4", SeenKind::Result, 9_000),
            entry("said", SeenKind::Said, 50),
            entry("anchor", SeenKind::Anchor { name }, 50),
        ],
        since: "all of it was read".into(),
        model: "anthropic/claude".into(),
        terms: Configured::default().truncation,
    };
    match stage.ports.plan_cuts.ask_again(plan, LONG).await {
        Ok(cuts) if cuts.len() == 1 && cuts[0].id == "b1c2d3e4" => {}
        other => wrong(format!("PlanCuts {other:?}")),
    }
    // Who was killed has counted nothing.
    match stage.ports.count_cuts.ask_again(CountCuts, LONG).await {
        Ok(counted) if counted.results <= counted.anchors => {}
        other => wrong(format!("CountCuts {other:?}")),
    }
}

/// Nobody wishes for the log here, and nobody who tells it of a prompt is kept waiting.
async fn log_a_prompt(stage: &Stage) {
    let seen = LogPrompt {
        source: PromptSource::AgentStart,
        session: None,
        session_file: None,
        workspace: PathBuf::from("/w"),
        model: None,
        nested_depth: 0,
        shape: None,
        prompt: "You help.".into(),
    };
    let logged = stage.ports.log_prompt.ask_again(seen, LONG).await;
    if !matches!(logged, Ok(Ok(()))) {
        stage
            .unanswered
            .borrow_mut()
            .push(format!("LogPrompt {logged:?}"));
    }
}

fn housekeeping(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Answer("kept")];
        stage
            .start(run_id(14), request(), &["succeeded"], Some("kept"))
            .await;
        stage.wait_for(run_id(14)).await;
        let block = Block {
            kind: BlockKind::Text,
            tokens: 2_000,
            content: 1,
            marker: Some(Lifetime::FiveMinutes),
            anchor: false,
        };
        let request = MarkerRequest {
            conversation: "S1".into(),
            model: "claude".into(),
            blocks: vec![block; 6],
        };
        let plan = PlanMarkers {
            request,
            terms: CacheTerms::default(),
        };
        match stage.ports.plan_markers.ask_again(plan, LONG).await {
            Ok(planned) if planned.edits.len() == 2 => {}
            other => stage
                .unanswered
                .borrow_mut()
                .push(format!("PlanMarkers {other:?}")),
        }
        leave_out(stage).await;
        log_a_prompt(stage).await;
        look_for_capabilities(stage).await;
        recall_an_anchor(stage).await;
        let why = "there is no such block".to_string();
        let _ = stage
            .ports
            .plan_not_applied
            .ask_again(PlanNotApplied { why }, LONG)
            .await;
        // A planner that was killed has counted nothing.
        match stage.ports.count_plans.ask_again(CountPlans, LONG).await {
            Ok(counted) if counted.changed <= counted.looked_at => {}
            other => stage
                .unanswered
                .borrow_mut()
                .push(format!("CountPlans {other:?}")),
        }
        let _ = stage
            .ports
            .notice
            .ask_again(
                ShowNotice {
                    text: "all well".into(),
                },
                LONG,
            )
            .await;
        if !stage
            .world
            .notices
            .borrow()
            .iter()
            .any(|notice| notice == "all well")
        {
            stage.unanswered.borrow_mut().push("ShowNotice".into());
        }
        let before = UnixMillis(0);
        let retention = Retention {
            acknowledged_before: before,
            abandoned_before: before,
            keep_newest: 10,
        };
        if let Err(error) = stage.ports.prune.ask_again(Prune { retention }, LONG).await {
            stage.unanswered.borrow_mut().push(format!("Prune {error}"));
        }
        if let Err(error) = stage.ports.adopt.ask_again(AdoptDue, LONG).await {
            stage.unanswered.borrow_mut().push(format!("AdoptDue {error}"));
        }
        match stage
            .ports
            .read_runs
            .ask_again(
                ReadRuns {
                    filter: RunFilter::newest(5),
                },
                LONG,
            )
            .await
        {
            Ok(Ok(runs)) if runs.len() == 1 => {}
            other => stage.unanswered.borrow_mut().push(format!("ReadRuns {other:?}")),
        }
    }
    .boxed_local()
}

/// Three results of one turn, then one of the next: each rule stands in the session once, whoever was killed.
fn guided(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        let guide = |number: u64, open: Vec<u64>, path: &str, given: Vec<RuleMark>| {
            let result = GuideResult {
                session: SessionId("s".into()),
                number,
                open,
                touched: vec![Touched::File(path.into())],
                workspace: "/w".into(),
                is_trusted: true,
                terms: None,
                given,
            };
            stage.ports.guide.ask_again(result, LONG)
        };
        let turn = [
            guide(1, vec![], "src/a.ts", vec![]),
            guide(2, vec![1], "src/b.ts", vec![]),
            guide(3, vec![1, 2], "src/ui/c.ts", vec![]),
        ];
        let mut given = Vec::new();
        for answer in join_all(turn).await {
            given.extend(rules_of(stage, answer));
        }
        let next = guide(4, vec![], "src/ui/c.ts", given.clone()).await;
        given.extend(rules_of(stage, next));
        let mut paths: Vec<_> = given.iter().map(|mark| mark.path.display().to_string()).collect();
        paths.sort();
        if paths != ["/w/src/AGENTS.md", "/w/src/ui/AGENTS.md"] {
            stage.unanswered.borrow_mut().push(format!("rules {paths:?}"));
        }
    }
    .boxed_local()
}

fn rules_of(stage: &Stage, answer: Result<GuidedResult, AskError<GuideResult>>) -> Vec<RuleMark> {
    match answer {
        Ok(guided) => guided.rules.into_iter().map(|rules| rules.mark).collect(),
        Err(error) => {
            stage.unanswered.borrow_mut().push(format!("GuideResult {error}"));
            Vec::new()
        }
    }
}

fn adopted(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Answer("taken over")];
        stage.expect(&run_id(15), &["succeeded"], Some("taken over"));
        stage.wait_for(run_id(15)).await;
    }
    .boxed_local()
}

/// Ours to lose: with one model only, it would fail if the sub-agent were to blame.
fn driver_vanishes(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Say("half"), Act::Vanish, Act::Answer("after all")];
        let request = RunRequest {
            chain: vec!["a/one".into()],
            ..request()
        };
        stage
            .start(run_id(21), request, &["succeeded"], Some("after all"))
            .await;
        stage.wait_for(run_id(21)).await;
    }
    .boxed_local()
}

/// Members of one group, two of which work at a time where there is room.
fn members(ids: &[u64], total: Duration, request: &RunRequest) -> Vec<StartRun> {
    let members = (0..).zip(ids).map(|(place, id)| GroupMember {
        group: GroupId::new(1, ids[0]),
        place,
        members: ids.len() as u32,
        concurrency: 2,
        total,
        subtask: Subtask::new(format!("t{id}"), "look"),
        answer_units_max: None,
        chain: None,
    });
    let starts = ids.iter().zip(members).map(|(id, member)| StartRun {
        run: run_id(*id),
        request: Box::new(RunRequest {
            briefing: Briefing::Direct,
            group: Some(member),
            ..request.clone()
        }),
    });
    starts.collect()
}

impl Stage {
    async fn start_group(&self, runs: Vec<StartRun>, states: &[&str], answer: Option<&str>) {
        let ids = runs.iter().map(|start| start.run.clone()).collect::<Vec<_>>();
        match self.ports.start_group.ask_again(StartGroup { runs }, LONG).await {
            Ok(Ok(())) => self
                .accepted
                .borrow_mut()
                .extend(ids.iter().map(RunId::to_string)),
            other => self.unanswered.borrow_mut().push(format!("StartGroup {other:?}")),
        }
        for run in &ids {
            self.expect(run, states, answer);
        }
        for run in ids {
            self.wait_for(run).await;
        }
    }
}

fn side_by_side(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Think(Duration::from_secs(5)), Act::Answer("in turn")];
        let runs = members(&[16, 17, 18], LONG, &request());
        stage.start_group(runs, &["succeeded"], Some("in turn")).await;
    }
    .boxed_local()
}

/// Who is not first waits for longer than anybody has time: whoever is killed, somebody has to let the others go.
fn siblings(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Answer("in turn")];
        stage.world.begins_after.set(Duration::from_secs(3));
        let mut patient = request();
        patient.terms.cache.sibling_wait_ms = LONG.as_millis() as u64;
        let runs = members(&[39, 40, 41], LONG, &patient);
        stage.start_group(runs, &["succeeded"], Some("in turn")).await;
    }
    .boxed_local()
}

/// One step, then two side by side, then one; the first has this gate.
fn chained(ids: [u64; 4], gate: Gate) -> Vec<StartRun> {
    let mut runs = members(&ids, LONG, &request());
    for (start, step) in runs.iter_mut().zip([0, 1, 1, 2]) {
        if let Some(member) = &mut start.request.group {
            member.chain = Some(ChainPlace {
                step,
                steps: 3,
                on_failure: OnFailure::Stop,
                own_time: true,
                context: None,
            });
        }
    }
    if let Some(first) = runs.first_mut() {
        first.request.terms.gate = Some(gate);
    }
    runs
}

fn chain(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Think(Duration::from_secs(5)), Act::Answer("in turn")];
        let runs = chained([31, 32, 33, 34], Gate::command(["check"]).repeatable());
        stage.start_group(runs, &["succeeded"], Some("in turn")).await;
    }
    .boxed_local()
}

/// Cut off, it waits for a person, and with it everything behind it.
fn chain_with_a_gate_that_runs_once(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Answer("in turn")];
        let runs = chained([35, 36, 37, 38], Gate::command(["deploy"]));
        stage.start_group(runs, &["succeeded", "parked"], None).await;
    }
    .boxed_local()
}

fn side_by_side_too_long(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = vec![Act::Say("half an ans"), Act::Hang];
        let runs = members(&[19, 20], Duration::from_secs(100), &patient());
        stage.start_group(runs, &["failed"], None).await;
    }
    .boxed_local()
}

impl Stage {
    /// From the commit after `after` on there is no room, for so many commits.
    fn fill_disk(&self, after: u64, commits: u64) {
        let first = self.disk.commits() + after;
        self.disk.set_faults(StoreFaults {
            disk_full: first..first.saturating_add(commits),
            ..StoreFaults::default()
        });
    }

    async fn expect_refused(&self, run: RunId) {
        let start = StartRun {
            run,
            request: Box::new(request()),
        };
        match self.ports.start.ask_again(start, LONG).await {
            Ok(Err(refused)) if refused.0.code == ReasonCode::JournalUnwritable => {}
            other => self
                .unanswered
                .borrow_mut()
                .push(format!("StartRun without room on the disk: {other:?}")),
        }
    }
}

fn read_and_answer() -> Vec<Act> {
    vec![
        Act::Tool {
            call: "c1",
            tool: "read",
            replay: Replay::Safe,
            result_bytes: 10,
        },
        Act::Answer("it is here"),
    ]
}

/// More than twenty tries a second apart: whoever waits goes on when there is room again.
fn disk_full_for_a_while(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = read_and_answer();
        stage
            .start(run_id(50), request(), &["succeeded"], Some("it is here"))
            .await;
        stage.fill_disk(6, 25);
        stage.wait_for(run_id(50)).await;
    }
    .boxed_local()
}

/// A run cannot wait longer than its clocks: its end is told, and written when there is room again.
fn disk_full_for_too_long(stage: &Stage) -> LocalBoxFuture<'_, ()> {
    async move {
        *stage.world.script.borrow_mut() = read_and_answer();
        stage.start(run_id(51), request(), &[], None).await;
        stage.fill_disk(6, u64::MAX);
        let run = run_id(51);
        let told = stage
            .ports
            .await_run
            .ask_again(AwaitRun { run: run.clone() }, LONG)
            .await;
        let told_state = match told {
            Ok(Awaited::Told(ending)) => ending.state,
            other => {
                return stage
                    .unanswered
                    .borrow_mut()
                    .push(format!("AwaitRun without room: {other:?}"));
            }
        };
        stage.expect_refused(run_id(52)).await;
        stage.disk.set_faults(StoreFaults::default());
        sleep(Duration::from_secs(60)).await;
        stage.wait_for(run.clone()).await;
        let state = serde_json::to_value(told_state).expect("a word");
        // What was told is what is written, whoever was killed in between.
        stage.expect(&run, &[state.as_str().unwrap_or_default()], None);
    }
    .boxed_local()
}
