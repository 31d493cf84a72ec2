//! What a run does next, once the policy has decided: one effect at a time.

use super::models::{AttemptPlan, ROOM_WITHIN};
use super::{ASK, AttemptSeed, KeepSession, Run};
use crate::gateways::{DeliveredReceipt, DeliveredRun, Delivery, DeliveryReceipt, HostError, session_file};
use crate::messages::run::{
    GroupClockDue, ObserveRun, Observed, RunClosed, StopAttempt, TotalClockDue, WriteTrace,
};
use crate::messages::session::{AskUser, DeliverResult, JudgeTask, Judgement};
use crate::supervision::Context;
use impresario_policies::budget::Allowance;
use impresario_policies::chain::total_time;
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Brief, Briefing, CallTarget, Containment, FileState, GroupId, Proof,
    Reason, Replay, RunMessage, RunRequest, SessionId, Step, TerminalState, WhatToRun,
};
use impresario_policies::fallback::{StartFrom, describe_next_attempt, models_left, why_it_was_left};
use impresario_policies::interruption::{Interruption, describe_interruption};
use impresario_policies::judge_models::describe_next_try;
use impresario_policies::next_action::{
    Action, DeliveryState, QuestionFailure, decide_next_action, leaves_trace,
};
use impresario_policies::projection::ToolCallProjection;
use impresario_policies::receipt::{Receipt, flag_words, receipt_line};
use impresario_policies::session_retention::keeps_session;
use impresario_policies::sight::{LiveFacts, see_run};
use impresario_policies::stopped::stopped_early;
use impresario_policies::user_lines;
use impresario_policies::whole_answer::describe_whole_answer;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A result does not wait longer for its trace to be written.
const TRACED_WITHIN: Duration = Duration::from_secs(2);
/// The end of a run's tree does not wait longer for its trace to be looked at.
const OBSERVED_WITHIN: Duration = Duration::from_secs(10);

impl Run {
    /// Something happened that may change what the run waits for: whatever effect is under way no longer counts.
    pub(super) fn interrupt(&mut self, ctx: &mut Context<Self>) {
        let delivering = self.projection.ended.is_some();
        if !delivering && !self.at_worktree {
            self.busy = None;
            self.judging = None;
        }
        self.move_on(ctx);
    }

    pub(super) fn move_on(&mut self, ctx: &mut Context<Self>) {
        if !self.loaded
            || self.given_up.is_some()
            || self.busy.is_some()
            || self.writing
            || !self.writes.is_empty()
        {
            return;
        }
        let next = decide_next_action(&self.projection, &self.facts);
        tracing::debug!(run.id = %self.id, next = next.word(), "move decided");
        match next {
            Action::Judge {
                pass,
                model,
                wait,
                written,
            } => self.judge(pass, model, wait, written, ctx),
            Action::Ask {
                question,
                asked_before: false,
            } => self.record(vec![Step::QuestionAsked { question }], ctx),
            Action::Ask {
                question,
                asked_before: true,
            } => self.ask_user(question, ctx),
            Action::KeepBrief {
                brief,
                verdict,
                choice,
            } => {
                let routed = choice.map(|choice| Step::Routed { choice });
                let briefed = Step::Briefed { brief, verdict };
                self.record([briefed].into_iter().chain(routed).collect(), ctx);
            }
            Action::AwaitEarlierSteps => self.await_earlier_steps(ctx),
            Action::AwaitRoom => self.await_room(ctx),
            Action::KeepAnswer { answer } => {
                let flags = self.flag(&answer, None);
                self.record(vec![Step::Answered { answer, flags }], ctx);
            }
            Action::TryGate { number } => self.try_gate(number, ctx),
            Action::LetGateRun { stop } => self.let_gate_run(stop),
            Action::SettleLostGate { number } => self.settle_lost_gate(number, ctx),
            Action::PrepareWorktree => self.prepare_worktree(ctx),
            Action::TakePatch { state, reason } => self.take_patch(state, reason, ctx),
            Action::ClearWorktree => self.clear_worktree(ctx),
            Action::StartAttempt {
                number,
                model,
                wait,
                from,
            } => self.prepare_attempt(number, model, wait, from, ctx),
            Action::LetAttemptRun { stop_as } => self.let_attempt_run(stop_as),
            Action::SettleLostAttempt { number } => self.settle_lost_attempt(number, ctx),
            Action::End { state, reason } => self.end(state, reason, ctx),
            Action::Deliver => self.deliver(ctx),
            Action::Observe => self.observe(ctx),
            Action::Acknowledge => self.record(vec![Step::DeliveryAcknowledged], ctx),
            Action::Rest => self.rest(ctx),
        }
    }

    /// Begins an effect whose result is ignored if the run was interrupted meanwhile.
    pub(super) fn effect<T: 'static>(
        &mut self,
        work: impl std::future::Future<Output = T> + 'static,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) {
        self.effects_begun += 1;
        let mine = self.effects_begun;
        self.busy = Some(mine);
        ctx.spawn_then(work, move |run, result, ctx| {
            if run.busy == Some(mine) {
                run.busy = None;
                then(run, result, ctx);
                run.move_on(ctx);
            }
        });
    }

    /// The call of the model ends with the wish for it: dropping `judging` gives it up, at once and everywhere.
    pub(super) fn judge(
        &mut self,
        pass: u32,
        model: String,
        wait: Duration,
        written: Option<Brief>,
        ctx: &mut Context<Self>,
    ) {
        let stop = CancellationToken::new();
        let Some(task) = self.judge_task(pass, model.clone(), written, stop.clone()) else {
            return;
        };
        self.judging = Some(stop.drop_guard());
        if let Some(failed) = self
            .projection
            .failed_passes
            .last()
            .filter(|failed| failed.pass == pass)
        {
            self.show_now(describe_next_try(failed, &model, wait), wait);
        }
        let port = self.ports.judge.clone();
        let within = task.within * 2 + ASK;
        let judged = async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            port.ask_again(task, within).await
        };
        self.effect(judged, ctx, move |run, reply, ctx| match reply {
            Ok(Ok(Judgement {
                brief,
                verdict,
                calls,
            })) => {
                let mut steps: Vec<Step> = calls.into_iter().map(Step::from).collect();
                steps.push(Step::Judged { pass, brief, verdict });
                run.record(steps, ctx);
            }
            Ok(Err(failure)) => {
                let mut steps: Vec<Step> = failure.calls.into_iter().map(Step::from).collect();
                steps.push(Step::PassFailed {
                    pass,
                    model,
                    fault: failure.fault,
                    detail: failure.detail,
                    brief: failure.written,
                });
                run.record(steps, ctx);
            }
            Err(error) => ctx.fail(format!("reach the judge: {error:?}")),
        });
    }

    fn judge_task(
        &self,
        pass: u32,
        model: String,
        written: Option<Brief>,
        stop: CancellationToken,
    ) -> Option<JudgeTask> {
        let request = self.request()?;
        let Briefing::Judged { passes_max, .. } = &request.briefing else {
            return None;
        };
        let answered = self.projection.questions.iter().filter_map(|question| {
            let answer = question.answer.clone()?;
            Some((question.question.clone(), answer))
        });
        let last = self.projection.latest_pass();
        Some(JudgeTask {
            run: self.id.clone(),
            session: self.session(),
            progress: self.progress(String::new()),
            stop,
            pass,
            allowance: Allowance::of(request, &self.projection.calls),
            written,
            name: request.what.name().to_string(),
            instructions: request.instructions.clone(),
            task: request.task.clone(),
            clarifications: answered.collect(),
            rejected: last.map(|pass| (pass.brief.clone(), pass.verdict.clone())),
            model,
            skip_judge: *passes_max == 0,
            history: request.terms.history,
            within: request.clocks.routing,
        })
    }

    pub(super) fn ask_user(&mut self, question: String, ctx: &mut Context<Self>) {
        let within = self.request().map_or(ASK, |request| request.clocks.question);
        let (port, run) = (self.ports.ask_user.clone(), self.id.clone());
        let message = AskUser {
            run,
            session: self.session(),
            question: self.as_asked(question),
        };
        let asked = async move { port.ask_again(message, within).await };
        self.effect(asked, ctx, |run, reply, ctx| match reply {
            Ok(Ok(answer)) => run.record(vec![Step::QuestionAnswered { answer }], ctx),
            Ok(Err(HostError::Gone)) => run.facts.question_failed = Some(QuestionFailure::HostGone),
            Ok(Err(HostError::Dismissed)) => run.facts.question_failed = Some(QuestionFailure::Dismissed),
            Ok(Err(HostError::NobodyThere | HostError::Refused(_))) => {
                run.facts.question_failed = Some(QuestionFailure::NobodyThere);
            }
            Err(_) => run.facts.question_failed = Some(QuestionFailure::TimedOut),
        });
    }

    /// The journal has the question as it is; the person reads what it is about.
    fn as_asked(&self, question: String) -> String {
        match self.request().map(|request| &request.what) {
            Some(WhatToRun::Skill(_)) => user_lines::missing_context(&question),
            Some(WhatToRun::Agent(_)) | None => question,
        }
    }

    pub(super) fn await_room(&mut self, ctx: &mut Context<Self>) {
        let first = self.projection.chain().first().cloned().unwrap_or_default();
        let Some(ask) = self.ask_for_room(&first) else {
            return;
        };
        let port = self.ports.room.clone();
        self.effect(
            async move { port.ask_again(ask, ROOM_WITHIN).await },
            ctx,
            |run, reply, ctx| match reply {
                Ok(()) => run.admitted(ctx),
                Err(error) => ctx.fail(format!("get room: {error:?}")),
            },
        );
    }

    /// The clock of a group runs from acceptance, so waiting for room counts.
    pub(super) fn set_group_clock(&mut self, ctx: &mut Context<Self>) {
        let Some(left) = self.left_of_group() else {
            return;
        };
        self.facts.group_over = left.is_zero();
        ctx.notify_after(left, GroupClockDue);
    }

    pub(super) fn admitted(&mut self, ctx: &mut Context<Self>) {
        self.facts.has_room = true;
        let Some(request) = self.request() else { return };
        let spent = self.projection.attempts.first().map_or(0, |first| {
            self.tools.clock.now().0.saturating_sub(first.started_at_ms)
        });
        let total = total_time(&self.projection, request, self.tools.clock.now().0);
        let left = total.saturating_sub(Duration::from_millis(spent));
        ctx.notify_after(left, TotalClockDue);
        if self.projection.admitted_in != Some(self.generation) {
            self.record(vec![Step::Admitted], ctx);
        }
    }

    pub(super) fn prepare_attempt(
        &mut self,
        number: AttemptNumber,
        model: String,
        wait: Duration,
        from: StartFrom,
        ctx: &mut Context<Self>,
    ) {
        if let Some(last) = self.projection.latest_attempt() {
            if let Some(doing) = describe_next_attempt(last, &model) {
                self.show_now(doing, wait);
            }
            if let Some(why) = why_it_was_left(last, &model) {
                self.say_that_models_change(&model, &why);
            }
        }
        // A timer is a millisecond late at the least, and most attempts need not wait at all.
        let waited = async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
        };
        self.effect(waited, ctx, move |run, (), ctx| {
            run.ask_for_model(AttemptPlan { number, model, from }, false, ctx);
        });
    }

    pub(super) fn session_file(&self) -> String {
        session_file(&self.tools.sessions, &self.id)
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn attempt_seed(
        &self,
        number: AttemptNumber,
        model: String,
        from: StartFrom,
    ) -> Option<AttemptSeed> {
        let resume = match from {
            StartFrom::Scratch => None,
            StartFrom::Session | StartFrom::SessionToldOfCutTool => {
                Some(describe_interruption(&self.projection, Interruption::Lost))
            }
            StartFrom::EarlierRun => self.request()?.continues.clone(),
        };
        let request = self.request()?.clone();
        let own = self.projection.worktree.as_ref();
        let request = RunRequest {
            overflow_ceiling_bytes: self.projection.overflow_ceiling_bytes(),
            workspace: own.map_or(request.workspace, |own| own.worktree.workspace.clone()),
            ..request
        };
        Some(AttemptSeed {
            run: self.id.clone(),
            number,
            model,
            resume,
            allowance: Allowance::of(&request, &self.projection.calls),
            request,
            brief: self.projection.brief.clone()?,
            // Those there are when it starts.
            messages: Vec::new(),
        })
    }

    fn messages_so_far(&self) -> Vec<RunMessage> {
        let known = self.projection.messages.iter();
        known.map(|known| known.message.clone()).collect()
    }

    pub(super) fn start_attempt(&mut self, seed: AttemptSeed, ctx: &mut Context<Self>) {
        let seed = AttemptSeed {
            messages: self.messages_so_far(),
            ..seed
        };
        let grown = (self.tools.grow_attempt)(seed);
        self.stop_attempt = Some(grown.stop);
        self.tell_attempt = Some(grown.tell);
        let nursery = self.ports.attempts.clone();
        let on_exit = self.ports.attempt_exited.clone();
        ctx.spawn_then(
            async move { nursery.start(grown.spec, Some(on_exit)).await },
            |run, started, ctx| {
                if let Err(error) = started {
                    tracing::warn!(run.id = %run.id, ?error, "attempt not started");
                    run.facts.live_attempt = None;
                    run.move_on(ctx);
                }
            },
        );
    }

    pub(super) fn let_attempt_run(&mut self, stop_as: Option<AttemptEnding>) {
        let (Some(stop_as), Some(attempt)) = (stop_as, &self.stop_attempt) else {
            return;
        };
        if self.stop_sent.is_none() && attempt.tell(StopAttempt { stop_as }).is_ok() {
            self.stop_sent = Some(stop_as);
        }
    }

    pub(super) fn settle_lost_attempt(&mut self, number: AttemptNumber, ctx: &mut Context<Self>) {
        let contain = self.contain();
        self.effect(contain, ctx, move |run, proof, ctx| {
            let ended = Step::AttemptEnded {
                attempt: number,
                ending: AttemptEnding::Lost,
                detail: String::new(),
                partial: None,
                whole: None,
                used: None,
                proof,
            };
            run.record_end_of(number, vec![ended], None, ctx);
        });
    }

    /// Which files the calls were to change that were cut off. A worktree of its own has its patch.
    pub(super) fn files_cut_off(&self, number: AttemptNumber) -> Vec<(String, PathBuf)> {
        let Some(request) = self.request().filter(|request| request.terms.isolation.is_none()) else {
            return Vec::new();
        };
        let file = |tool: &ToolCallProjection| match &tool.target {
            Some(CallTarget::Changes { file }) if !file.path.starts_with('~') => {
                Some((tool.call.clone(), request.workspace.join(&file.path)))
            }
            Some(_) | None => None,
        };
        self.calls_cut_off(number).filter_map(file).collect()
    }

    fn calls_cut_off(&self, number: AttemptNumber) -> impl Iterator<Item = &ToolCallProjection> {
        let mut attempts = self.projection.attempts.iter();
        let attempt = attempts.find(|attempt| attempt.number == number);
        let in_flight = attempt.into_iter().flat_map(|attempt| attempt.tools_in_flight());
        in_flight.filter(|tool| tool.replay == Replay::Unsafe)
    }

    pub(super) fn cut_off_tools(
        &self,
        number: AttemptNumber,
        seen: &BTreeMap<String, FileState>,
    ) -> Vec<Step> {
        let cut = self.calls_cut_off(number).map(|tool| Step::ToolIndeterminate {
            attempt: number,
            call: tool.call.clone(),
            tool: tool.tool.clone(),
            after: seen.get(&tool.call).cloned(),
        });
        cut.collect()
    }

    /// Observes that nothing of this run is left.
    pub(super) fn contain(&self) -> impl std::future::Future<Output = Proof> + 'static {
        let runner = self
            .request()
            .and_then(|request| (self.tools.runner)(&request.runner));
        let grace = self
            .request()
            .map_or(Duration::from_secs(2), |request| request.clocks.grace);
        let programs = self.request().is_some_and(|request| {
            // Git and gates carry the mark of their run.
            request.retrieval.is_a_program()
                || !request.terms.isolation.is_none()
                || request.terms.gate.is_some()
        });
        let contain = programs.then(|| self.tools.contain.clone());
        let run = self.id.clone();
        async move {
            let proof = match runner {
                Some(runner) => runner.contain(&run, grace).await,
                None => Proof::NOTHING_STARTED,
            };
            match contain {
                Some(contain) if proof.method == Containment::InProcess => contain(run, grace).await,
                Some(_) | None => proof,
            }
        }
    }

    pub(super) fn end(&mut self, state: TerminalState, reason: Option<Reason>, ctx: &mut Context<Self>) {
        let contain = self.contain();
        // The recorder reads the whole run, which one that leaves no trace is spared.
        let trace = leaves_trace(&self.projection, reason.as_ref()).then(|| self.ports.trace.clone());
        let of_last = self.proof_of_last();
        let write_trace = WriteTrace {
            state,
            reason: reason.clone(),
        };
        let work = async move {
            let proof = seal(of_last, contain.await);
            if let Some(trace) = trace {
                match trace.ask_again(write_trace, TRACED_WITHIN).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(error, "trace not written"),
                    Err(error) => tracing::warn!(?error, "trace not written"),
                }
            }
            proof
        };
        self.effect(work, ctx, move |run, proof, ctx| {
            run.is_ending = true;
            run.record(vec![Step::Ended { state, reason, proof }], ctx);
        });
    }

    pub(super) fn deliver(&mut self, ctx: &mut Context<Self>) {
        let Some(delivery) = self.delivery().filter(|_| self.host_is_here()) else {
            self.facts.delivery = Some(DeliveryState::NotTaken);
            return self.move_on(ctx);
        };
        let port = self.ports.deliver.clone();
        let message = DeliverResult {
            delivery,
            look_first: self.projection.deliveries > 0,
            session: self.session(),
        };
        let deliver = async move { port.ask_again(message, ASK).await };
        self.effect(deliver, ctx, |run, reply, ctx| {
            let fate = match reply {
                Ok(Ok(DeliveryReceipt::Kept)) => DeliveryState::Kept,
                Ok(Ok(DeliveryReceipt::Shown)) => DeliveryState::Shown,
                Ok(Err(_)) | Err(_) => DeliveryState::NotTaken,
            };
            run.delivered(fate, ctx);
        });
    }

    fn delivered(&mut self, fate: DeliveryState, ctx: &mut Context<Self>) {
        self.facts.delivery = Some(fate);
        if fate == DeliveryState::NotTaken {
            return;
        }
        // What is certain to follow is written with it.
        let steps = match decide_next_action(&self.projection, &self.facts) {
            Action::Acknowledge => vec![Step::Delivered, Step::DeliveryAcknowledged],
            _ => vec![Step::Delivered],
        };
        self.record(steps, ctx);
    }

    /// The person has the result, so nothing waits for this but the end of the run's tree.
    fn observe(&mut self, ctx: &mut Context<Self>) {
        let port = self.ports.observe.clone();
        let message = ObserveRun {
            person_is_there: self.host_is_here(),
        };
        let observe = async move { port.ask_again(message, OBSERVED_WITHIN).await };
        self.effect(observe, ctx, |run, reply, ctx| match reply {
            Ok(Ok(observed)) => run.observed(observed, ctx),
            Ok(Err(error)) => run.not_observed(&error),
            Err(error) => run.not_observed(&error.to_string()),
        });
    }

    fn observed(&mut self, observed: Observed, ctx: &mut Context<Self>) {
        let Observed { verdict, alerted } = observed;
        let mut steps = vec![Step::Observed { verdict, alerted }];
        if self.facts.delivery == Some(DeliveryState::Kept) {
            steps.push(Step::DeliveryAcknowledged);
        }
        self.record(steps, ctx);
    }

    fn not_observed(&mut self, error: &str) {
        tracing::warn!(run.id = %self.id, error, "trace not looked at");
        self.facts.observation_failed = true;
    }

    fn host_is_here(&self) -> bool {
        self.request()
            .is_some_and(|request| (self.tools.host_is_here)(&self.id, request))
    }

    /// Where it was asked for.
    pub(super) fn session(&self) -> Option<SessionId> {
        self.request()?.origin.session.clone()
    }

    pub(super) fn delivery(&self) -> Option<Delivery> {
        let ended = self.projection.ended.as_ref()?;
        Some(Delivery {
            run: self.id.clone(),
            state: ended.state,
            answer: self.projection.answer_or_partial().map(str::to_string),
            reason: ended.reason.clone(),
            stopped_early: stopped_early(&self.projection)
                .map(|reason| user_lines::stopped_early(reason.word())),
            about: self.request().map(|request| self.about(request)),
            sight: Some(see_run(&self.projection, &LiveFacts::default())),
            changes: self.delivered_changes().map(Box::new),
            receipt: Some(self.delivered_receipt()),
            whole: self
                .projection
                .whole_answer()
                .map(|whole| describe_whole_answer(&self.id, whole)),
            chain: self.request().and_then(chain_of),
        })
    }

    fn delivered_receipt(&self) -> DeliveredReceipt {
        let receipt = Receipt::of(&self.projection);
        DeliveredReceipt {
            flags: receipt.flags.iter().map(flag_words).collect(),
            seen: receipt_line(&receipt),
        }
    }

    fn about(&self, request: &RunRequest) -> DeliveredRun {
        let answers = self.projection.questions.iter().filter_map(|question| {
            let answer = question.answer.clone()?;
            Some((question.question.clone(), answer))
        });
        let others = self.projection.other_models_served().into_iter();
        let others = others.map(|(requested, served)| user_lines::other_model_served(requested, served));
        DeliveredRun {
            what: request.what.clone(),
            task: request.task.clone(),
            answers: answers.collect(),
            model: self.projection.latest_attempt().map(|last| last.model.clone()),
            left: models_left(&self.projection).into_iter().chain(others).collect(),
            used: self.projection.used().in_words(),
        }
    }

    /// Nothing more can be done here: says so, and is gone.
    pub(super) fn rest(&mut self, ctx: &mut Context<Self>) {
        if let Some(end) = &self.projection.ended {
            let host = self.request().map_or("", |request| request.origin.host.as_str());
            let keep = match keeps_session(end.state, host) {
                true => KeepSession::Yes,
                false => KeepSession::No,
            };
            (self.tools.clear_away)(&self.id, keep);
        }
        let (closed, run) = (self.ports.closed.clone(), self.id.clone());
        let work = async move { closed.ask_again(RunClosed { run, told: None }, ASK).await };
        self.effects_begun += 1;
        self.busy = Some(self.effects_begun);
        ctx.spawn_then(work, |_, _, ctx| ctx.stop());
    }
}

fn chain_of(request: &RunRequest) -> Option<GroupId> {
    let member = request.group.as_ref()?;
    member.chain.is_some().then(|| member.group.clone())
}

/// The last attempt's proof says how its processes were held; what was seen now says that none is left.
fn seal(of_last_attempt: Option<Proof>, seen_now: Proof) -> Proof {
    match of_last_attempt {
        Some(proven) if proven.no_children => Proof {
            processes_left: seen_now.processes_left,
            ..proven
        },
        Some(_) | None => seen_now,
    }
}
