//! What in a sequence of steps cannot have happened.

use crate::domain::AttemptNumber;
use std::fmt;

/// One thing in a sequence of steps that cannot have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The sequence of the step that does not fit.
    pub sequence: u64,
    /// Why it does not.
    pub why: Impossible,
}

/// Why a step does not fit those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// Steps are missing, or stand in the wrong order.
    SequenceGap {
        /// The sequence that should have come.
        expected: u64,
    },
    /// The generation fell.
    GenerationFell {
        /// The generation of the step before.
        from: u64,
    },
    /// The first step is not the acceptance.
    NotAccepted,
    /// The run was accepted before.
    AcceptedTwice,
    /// A pass of the judge that does not follow the one before, or comes after the brief.
    PassOutOfOrder,
    /// A question while another one is open.
    QuestionStillOpen,
    /// An answer to no question.
    NothingAsked,
    /// The brief was there before.
    BriefedTwice,
    /// A model was chosen before there was a brief.
    RoutedWithoutBrief,
    /// A model was chosen a second time.
    RoutedTwice,
    /// A model was chosen after an attempt had begun.
    RoutedAfterAttempt,
    /// Admitted without a brief.
    AdmittedWithoutBrief,
    /// Admitted twice by one runtime.
    AdmittedTwice,
    /// A second worktree.
    WorktreeTwice,
    /// A worktree after an attempt that worked elsewhere.
    WorktreeAfterAttempt,
    /// A patch while an attempt is under way.
    PatchDuringAttempt,
    /// A patch of nothing.
    PatchWithoutWorktree,
    /// What was changed was kept before.
    PatchTwice,
    /// A worktree was removed whose changes are not kept.
    ClearedWithoutPatch,
    /// An attempt that has to work in a worktree, and there is none, or none any more.
    AttemptWithoutWorktree,
    /// An attempt without admission.
    AttemptNotAdmitted,
    /// An attempt while another one is under way.
    AttemptsOverlap,
    /// An attempt whose number does not follow.
    AttemptOutOfOrder {
        /// The number that should have come.
        expected: AttemptNumber,
    },
    /// An attempt after the answer.
    AttemptAfterAnswer,
    /// No such attempt is under way.
    AttemptNotUnderWay {
        /// Which.
        attempt: AttemptNumber,
    },
    /// The attempt had been active before.
    ActiveTwice {
        /// Which.
        attempt: AttemptNumber,
    },
    /// The call is in flight already.
    ToolStartedTwice {
        /// Which call.
        call: String,
    },
    /// No such call is in flight.
    ToolNotInFlight {
        /// Which call.
        call: String,
    },
    /// A message of this id was accepted before.
    MessageTwice,
    /// No such message was accepted.
    MessageUnknown,
    /// The conversation of this attempt has the message already.
    MessageDeliveredTwice,
    /// Nothing was asked with this message, or the answer was there before, or it was not delivered.
    MessageNotToBeAnswered,
    /// An answer without any attempt.
    AnsweredWithoutAttempt,
    /// The answer was there before.
    AnsweredTwice,
    /// The command of the gate was run before there was an answer.
    GateBeforeAnswer,
    /// It was run while it was under way.
    GatesOverlap,
    /// Its number does not follow.
    GateOutOfOrder {
        /// The number that should have come.
        expected: u32,
    },
    /// It is not under way.
    GateNotInFlight {
        /// Which time.
        gate: u32,
    },
    /// The end, while the command of the gate is under way.
    EndedDuringGate,
    /// Success, though the gate did not open.
    SucceededAtClosedGate,
    /// The end, while an attempt is under way.
    EndedDuringAttempt,
    /// Success without an answer.
    SucceededWithoutAnswer,
    /// An end that is no success and does not say why.
    EndedWithoutReason,
    /// The run had ended before.
    EndedTwice,
    /// Work after the end.
    WorkAfterEnd,
    /// Something was delivered before there was a result.
    DeliveredBeforeEnd,
    /// The trace was looked at before there was one.
    ObservedBeforeEnd,
    /// The delivery had been acknowledged before.
    AcknowledgedTwice,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.sequence, self.why)
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SequenceGap { expected } => write!(f, "step {expected} should have come here"),
            Self::GenerationFell { from } => write!(f, "the generation fell from {from}"),
            Self::NotAccepted => f.write_str("the run was not accepted first"),
            Self::AcceptedTwice => f.write_str("the run was accepted a second time"),
            Self::PassOutOfOrder => f.write_str("this pass of the judge does not belong here"),
            Self::QuestionStillOpen => f.write_str("the question before is still open"),
            Self::NothingAsked => f.write_str("an answer, but no question is open"),
            Self::BriefedTwice => f.write_str("the run was briefed a second time"),
            Self::RoutedWithoutBrief => f.write_str("a model was chosen before there was a brief"),
            Self::RoutedTwice => f.write_str("a model was chosen a second time"),
            Self::RoutedAfterAttempt => f.write_str("a model was chosen after an attempt had begun"),
            Self::AdmittedWithoutBrief => f.write_str("admitted without a brief"),
            Self::AdmittedTwice => f.write_str("admitted a second time by one runtime"),
            Self::WorktreeTwice => f.write_str("a worktree was prepared a second time"),
            Self::WorktreeAfterAttempt => f.write_str("a worktree was prepared after an attempt had begun"),
            Self::PatchDuringAttempt => f.write_str("the patch was taken while an attempt was under way"),
            Self::PatchWithoutWorktree => f.write_str("a patch, but there is no worktree"),
            Self::PatchTwice => f.write_str("the patch was taken a second time"),
            Self::ClearedWithoutPatch => f.write_str("the worktree was removed without a patch of it"),
            Self::AttemptWithoutWorktree => f.write_str("an attempt began outside of the run's worktree"),
            Self::AttemptNotAdmitted => f.write_str("an attempt without admission"),
            Self::AttemptsOverlap => f.write_str("an attempt began while another was under way"),
            Self::AttemptOutOfOrder { expected } => write!(f, "attempt {expected} should have come here"),
            Self::AttemptAfterAnswer => f.write_str("an attempt began after the answer"),
            Self::AttemptNotUnderWay { attempt } => write!(f, "attempt {attempt} is not under way"),
            Self::ActiveTwice { attempt } => write!(f, "attempt {attempt} became active a second time"),
            Self::ToolStartedTwice { call } => write!(f, "call {call:?} began while it was in flight"),
            Self::ToolNotInFlight { call } => write!(f, "call {call:?} is not in flight"),
            Self::MessageTwice => f.write_str("a message was accepted a second time"),
            Self::MessageUnknown => f.write_str("no such message was accepted"),
            Self::MessageDeliveredTwice => f.write_str("a message was delivered twice in one attempt"),
            Self::MessageNotToBeAnswered => f.write_str("no answer to this message is waited for"),
            Self::AnsweredWithoutAttempt => f.write_str("an answer without any attempt"),
            Self::AnsweredTwice => f.write_str("answered a second time"),
            Self::GateBeforeAnswer => f.write_str("the gate was tried before there was an answer"),
            Self::GatesOverlap => f.write_str("the gate was tried while it was being tried"),
            Self::GateOutOfOrder { expected } => write!(f, "gate {expected} should have come here"),
            Self::GateNotInFlight { gate } => write!(f, "gate {gate} is not under way"),
            Self::EndedDuringGate => f.write_str("the run ended while its gate was being tried"),
            Self::SucceededAtClosedGate => f.write_str("success, though the gate did not open"),
            Self::EndedDuringAttempt => f.write_str("the run ended while an attempt was under way"),
            Self::SucceededWithoutAnswer => f.write_str("success without an answer"),
            Self::EndedWithoutReason => f.write_str("the run did not succeed and gives no reason"),
            Self::EndedTwice => f.write_str("the run ended a second time"),
            Self::WorkAfterEnd => f.write_str("work after the end"),
            Self::DeliveredBeforeEnd => f.write_str("delivered before there was a result"),
            Self::ObservedBeforeEnd => f.write_str("looked at before the end"),
            Self::AcknowledgedTwice => f.write_str("acknowledged a second time"),
        }
    }
}
