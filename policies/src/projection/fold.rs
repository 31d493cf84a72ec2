//! How one step changes a projection.

use super::{
    Acceptance, AttemptEnd, AttemptProjection, Contradiction, FailedPass, GateFate, GateProjection,
    Impossible, KeptChanges, ModelsConsidered, RecordedStep, RunEnd, RunProjection, ToolCallProjection,
    ToolCalls, ToolFate,
};
use crate::domain::{
    AttemptNumber, CallEvidence, Flag, JudgedPass, ModelChoice, Question, Step, TerminalState,
};

impl RunProjection {
    /// Adds one step to what is known.
    pub fn add(&mut self, recorded: &RecordedStep) {
        self.number(recorded);
        self.check_place(recorded);
        match &recorded.step {
            Step::Accepted { request } => {
                self.accept(Acceptance {
                    at_ms: recorded.at_ms,
                    request: request.clone(),
                });
            }
            Step::Judged { pass, brief, verdict } => {
                self.judge(JudgedPass {
                    pass: *pass,
                    brief: brief.clone(),
                    verdict: verdict.clone(),
                });
            }
            Step::PassFailed {
                pass,
                model,
                fault,
                detail,
                brief,
            } => {
                self.fail_pass(FailedPass {
                    pass: *pass,
                    model: model.clone(),
                    fault: *fault,
                    detail: detail.clone(),
                    brief: brief.clone(),
                });
            }
            Step::QuestionAsked { question } => self.ask(question),
            Step::QuestionAnswered { answer } => self.answer_question(answer),
            Step::Briefed { brief, verdict } => {
                if self.brief.is_some() {
                    return self.object(Impossible::BriefedTwice);
                }
                self.brief = Some(brief.clone());
                self.verdict = verdict.clone();
            }
            Step::Routed { choice } => self.route(choice),
            Step::Admitted => self.admit(recorded.at_ms),
            Step::WorktreePrepared { worktree } => self.prepare_worktree(worktree),
            Step::PatchTaken { patch, state, reason } => self.keep_changes(KeptChanges {
                patch: Ok((**patch).clone()),
                state: *state,
                reason: reason.clone(),
            }),
            Step::PatchNotTaken { why, state, reason } => self.keep_changes(KeptChanges {
                patch: Err(why.clone()),
                state: *state,
                reason: reason.clone(),
            }),
            Step::WorktreeCleared => self.clear_worktree(None),
            Step::WorktreeStays { why } => self.clear_worktree(Some(why)),
            Step::ModelsConsidered {
                attempt,
                passed_over,
                is_probe,
            } => self.considered.push(ModelsConsidered {
                attempt: *attempt,
                passed_over: passed_over.clone(),
                is_probe: *is_probe,
            }),
            Step::AttemptStarted {
                attempt,
                model,
                runner,
                session_file,
                resumes_session,
            } => {
                self.start_attempt(AttemptProjection {
                    number: *attempt,
                    generation: recorded.generation,
                    started_at_ms: recorded.at_ms,
                    model: model.clone(),
                    runner: runner.clone(),
                    session_file: session_file.clone(),
                    resumes_session: *resumes_session,
                    active: false,
                    tools: ToolCalls::default(),
                    ended: None,
                });
            }
            Step::AttemptActive { attempt } => self.activate(*attempt),
            Step::ModelCalled { call } => self.calls.push((**call).clone()),
            Step::ToolStarted {
                attempt,
                call,
                tool,
                summary,
                arguments: _,
                replay,
                target,
            } => {
                let begun = ToolCallProjection {
                    call: call.clone(),
                    tool: tool.clone(),
                    summary: summary.clone(),
                    replay: *replay,
                    target: target.clone(),
                    evidence: None,
                    fate: ToolFate::InFlight,
                    begun_at_ms: recorded.at_ms,
                    over_at_ms: None,
                };
                self.start_tool(*attempt, begun);
            }
            Step::ToolEnded {
                attempt,
                call,
                is_error,
                bytes,
                preview,
                overflow,
                evidence,
            } => {
                let fate = ToolFate::Finished {
                    is_error: *is_error,
                    bytes: *bytes,
                    preview: preview.clone(),
                    overflow: overflow.clone(),
                };
                if self.is_under_way(*attempt) {
                    self.settle_tool(*attempt, call, fate, recorded.at_ms);
                    self.keep_evidence(*attempt, call, evidence.as_deref());
                } else {
                    self.object(Impossible::AttemptNotUnderWay { attempt: *attempt });
                }
            }
            Step::ToolIndeterminate {
                attempt,
                call,
                tool: _,
                after,
            } => {
                self.settle_tool(*attempt, call, ToolFate::Indeterminate, recorded.at_ms);
                let seen = after.clone().map(|after| CallEvidence {
                    after: Some(after),
                    ..CallEvidence::default()
                });
                self.keep_evidence(*attempt, call, seen.as_ref());
            }
            Step::MessageAccepted { message } => self.take_message(message, recorded.at_ms),
            Step::MessageDelivered { message, attempt } => {
                self.deliver_message(message, *attempt, recorded.at_ms);
            }
            Step::MessageAnswered {
                message,
                attempt: _,
                answer,
            } => self.answer_message(message, answer, recorded.at_ms),
            Step::AttemptEnded {
                attempt,
                ending,
                detail,
                partial,
                whole,
                used,
                proof,
            } => {
                let end = AttemptEnd {
                    at_ms: recorded.at_ms,
                    ending: *ending,
                    detail: detail.clone(),
                    partial: partial.clone(),
                    whole: whole.as_deref().cloned(),
                    used: *used,
                    proof: proof.clone(),
                };
                self.end_attempt(*attempt, end);
            }
            Step::Answered { answer, flags } => self.answer(answer, flags),
            Step::GateStarted { gate, command } => self.start_gate(GateProjection {
                number: *gate,
                command: command.clone(),
                begun_at_ms: recorded.at_ms,
                fate: GateFate::InFlight,
            }),
            Step::GateEnded {
                gate,
                ending,
                output,
                proof,
            } => {
                let fate = GateFate::Ended {
                    ending: ending.clone(),
                    output: output.clone(),
                    proof: proof.clone(),
                };
                self.settle_gate(*gate, fate);
            }
            Step::GateIndeterminate { gate, proof } => {
                let fate = GateFate::Indeterminate { proof: proof.clone() };
                self.settle_gate(*gate, fate);
            }
            Step::ParkRequested { reason } => {
                self.park_requested.get_or_insert_with(|| reason.clone());
            }
            Step::CancelRequested { by } => {
                self.cancel_requested.get_or_insert_with(|| by.clone());
            }
            Step::Ended { state, reason, proof } => {
                self.end(RunEnd {
                    at_ms: recorded.at_ms,
                    state: *state,
                    reason: reason.clone(),
                    proof: proof.clone(),
                });
            }
            Step::Delivered => {
                self.deliveries = self.deliveries.saturating_add(1);
                self.check(self.ended.is_some(), Impossible::DeliveredBeforeEnd);
            }
            Step::Observed { .. } => {
                self.observed = true;
                self.check(self.ended.is_some(), Impossible::ObservedBeforeEnd);
            }
            Step::DeliveryAcknowledged => self.acknowledge(),
        }
    }

    fn number(&mut self, recorded: &RecordedStep) {
        let expected = self.next_sequence();
        let generation_before = self.generation;
        self.steps = recorded.sequence;
        self.generation = self.generation.max(recorded.generation);
        self.last_step_at_ms = recorded.at_ms;
        self.check(
            recorded.sequence == expected,
            Impossible::SequenceGap { expected },
        );
        let fell = recorded.generation < generation_before;
        self.check(
            !fell,
            Impossible::GenerationFell {
                from: generation_before,
            },
        );
    }

    fn check_place(&mut self, recorded: &RecordedStep) {
        let is_acceptance = matches!(recorded.step, Step::Accepted { .. });
        self.check(self.accepted.is_some() || is_acceptance, Impossible::NotAccepted);
        let may_follow_the_end = matches!(
            recorded.step,
            Step::Ended { .. } | Step::Delivered | Step::Observed { .. } | Step::DeliveryAcknowledged
        );
        self.check(
            self.ended.is_none() || may_follow_the_end,
            Impossible::WorkAfterEnd,
        );
    }

    fn accept(&mut self, acceptance: Acceptance) {
        if self.accepted.is_some() {
            return self.object(Impossible::AcceptedTwice);
        }
        if let Some(inherited) = &acceptance.request.terms.inherited {
            self.passes.clone_from(&inherited.passes);
            self.questions.clone_from(&inherited.questions);
        }
        self.accepted = Some(acceptance);
    }

    fn judge(&mut self, pass: JudgedPass) {
        self.check(self.pass_follows(pass.pass), Impossible::PassOutOfOrder);
        self.passes.push(pass);
    }

    fn fail_pass(&mut self, failed: FailedPass) {
        self.check(self.pass_follows(failed.pass), Impossible::PassOutOfOrder);
        self.failed_passes.push(failed);
    }

    fn pass_follows(&self, pass: u32) -> bool {
        let last = self.passes.last().map_or(0, |pass| pass.pass);
        pass == last.saturating_add(1) && self.brief.is_none()
    }

    fn ask(&mut self, question: &str) {
        self.check(self.open_question().is_none(), Impossible::QuestionStillOpen);
        let after_pass = self.passes.last().map_or(0, |pass| pass.pass);
        self.questions.push(Question {
            question: question.to_string(),
            after_pass,
            answer: None,
        });
    }

    fn answer_question(&mut self, answer: &str) {
        match self.questions.last_mut() {
            Some(open) if open.answer.is_none() => open.answer = Some(answer.to_string()),
            Some(_) | None => self.object(Impossible::NothingAsked),
        }
    }

    fn route(&mut self, choice: &ModelChoice) {
        self.check(self.brief.is_some(), Impossible::RoutedWithoutBrief);
        self.check(self.attempts.is_empty(), Impossible::RoutedAfterAttempt);
        if self.choice.is_some() {
            return self.object(Impossible::RoutedTwice);
        }
        self.choice = Some(choice.clone());
    }

    fn admit(&mut self, at_ms: u64) {
        self.check(self.brief.is_some(), Impossible::AdmittedWithoutBrief);
        let again = self.admitted_in == Some(self.generation);
        self.check(!again, Impossible::AdmittedTwice);
        self.admitted_in = Some(self.generation);
        self.admitted_at_ms.get_or_insert(at_ms);
    }

    fn start_attempt(&mut self, attempt: AttemptProjection) {
        let expected = self.next_attempt();
        self.check(self.admitted_in.is_some(), Impossible::AttemptNotAdmitted);
        self.check(self.attempt_under_way().is_none(), Impossible::AttemptsOverlap);
        self.check(
            attempt.number == expected,
            Impossible::AttemptOutOfOrder { expected },
        );
        self.check(self.answer.is_none(), Impossible::AttemptAfterAnswer);
        let place = self.worktree.as_ref().map(|worktree| worktree.kept.is_none());
        self.check(
            place.unwrap_or(!self.is_isolated()),
            Impossible::AttemptWithoutWorktree,
        );
        self.attempts.push(attempt);
    }

    fn activate(&mut self, number: AttemptNumber) {
        let Some(attempt) = self.under_way(number) else {
            return self.object(Impossible::AttemptNotUnderWay { attempt: number });
        };
        let was_active = std::mem::replace(&mut attempt.active, true);
        self.check(!was_active, Impossible::ActiveTwice { attempt: number });
    }

    fn start_tool(&mut self, number: AttemptNumber, begun: ToolCallProjection) {
        let call = begun.call.clone();
        let Some(attempt) = self.latest_of(number) else {
            return self.object(Impossible::AttemptNotUnderWay { attempt: number });
        };
        let is_over = attempt.ended.is_some();
        let began = attempt.tools.begin(begun);
        self.check(!is_over, Impossible::AttemptNotUnderWay { attempt: number });
        self.check(began, Impossible::ToolStartedTwice { call });
    }

    fn settle_tool(&mut self, number: AttemptNumber, call: &str, fate: ToolFate, at_ms: u64) {
        let attempt = self.latest_of(number);
        let settled = attempt.is_some_and(|attempt| attempt.tools.settle(call, fate, at_ms));
        self.check(
            settled,
            Impossible::ToolNotInFlight {
                call: call.to_string(),
            },
        );
    }

    fn end_attempt(&mut self, number: AttemptNumber, end: AttemptEnd) {
        match self.under_way(number) {
            Some(attempt) => attempt.ended = Some(end),
            None => self.object(Impossible::AttemptNotUnderWay { attempt: number }),
        }
    }

    fn keep_evidence(&mut self, number: AttemptNumber, call: &str, evidence: Option<&CallEvidence>) {
        if let (Some(evidence), Some(attempt)) = (evidence, self.latest_of(number)) {
            attempt.tools.keep_evidence(call, evidence);
        }
    }

    fn answer(&mut self, answer: &str, flags: &[Flag]) {
        let is_known = !self.attempts.is_empty() || self.inherited_answer().is_some();
        self.check(is_known, Impossible::AnsweredWithoutAttempt);
        if self.answer.is_some() {
            return self.object(Impossible::AnsweredTwice);
        }
        self.answer = Some(answer.to_string());
        self.flags = flags.to_vec();
    }

    fn end(&mut self, end: RunEnd) {
        if self.ended.is_some() {
            return self.object(Impossible::EndedTwice);
        }
        let succeeded = end.state == TerminalState::Succeeded;
        self.check(self.attempt_under_way().is_none(), Impossible::EndedDuringAttempt);
        self.check(
            !succeeded || self.answer.is_some(),
            Impossible::SucceededWithoutAnswer,
        );
        self.check(self.gate_under_way().is_none(), Impossible::EndedDuringGate);
        self.check(
            !succeeded || self.answer.is_none() || self.answer_counts(),
            Impossible::SucceededAtClosedGate,
        );
        self.check(succeeded || end.reason.is_some(), Impossible::EndedWithoutReason);
        self.ended = Some(end);
    }

    fn acknowledge(&mut self) {
        let again = std::mem::replace(&mut self.acknowledged, true);
        self.check(self.ended.is_some(), Impossible::DeliveredBeforeEnd);
        self.check(!again, Impossible::AcknowledgedTwice);
    }

    fn is_under_way(&mut self, number: AttemptNumber) -> bool {
        self.under_way(number).is_some()
    }

    fn under_way(&mut self, number: AttemptNumber) -> Option<&mut AttemptProjection> {
        self.latest_of(number).filter(|attempt| attempt.ended.is_none())
    }

    fn latest_of(&mut self, number: AttemptNumber) -> Option<&mut AttemptProjection> {
        self.attempts
            .iter_mut()
            .rev()
            .find(|attempt| attempt.number == number)
    }

    pub(super) fn check(&mut self, holds: bool, otherwise: Impossible) {
        if !holds {
            self.object(otherwise);
        }
    }

    pub(super) fn object(&mut self, why: Impossible) {
        self.contradictions.push(Contradiction {
            sequence: self.steps,
            why,
        });
    }
}
