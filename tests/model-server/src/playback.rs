//! From a turn to what goes over the wire, step by step.

use serde_json::Value;

use crate::ledger::{Ordered, Said};
use crate::request::{RequestSummary, Wire};
use crate::script::{Fault, Turn};
use crate::speech::{Frame, Part, Speech, index_of};
use crate::{anthropic, openai};

/// What is done with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Playback {
    /// Nothing, for ever.
    Silence,
    /// The connection is closed.
    Cut,
    /// An error.
    Error(ErrorReply),
    /// An answer, in these steps.
    Answer {
        streaming: bool,
        steps: Vec<Step>,
        said: Said,
    },
}

/// An error answered before any content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorReply {
    /// The HTTP status.
    pub status: u16,
    /// The `retry-after` header, in seconds.
    pub retry_after: Option<u64>,
    /// The body.
    pub body: Value,
}

/// A step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// These bytes.
    Send(String),
    /// Silence for so many milliseconds.
    Wait(u64),
    /// Silence until the test opens this gate.
    Gate(String),
    /// Silence, for ever.
    Hang,
    /// The connection is closed, after what was sent has gone out.
    Cut,
}

impl ErrorReply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            retry_after: None,
            body,
        }
    }

    pub(crate) fn retry_after(mut self, seconds: Option<u64>) -> Self {
        self.retry_after = seconds;
        self
    }
}

/// Turns a turn into what is done with this request.
pub(crate) fn play(turn: &Turn, wire: Wire, request: &RequestSummary, body: &Value, number: u64) -> Playback {
    match &turn.fault {
        Some(Fault::HangBeforeHeaders) => return Playback::Silence,
        Some(Fault::CutBeforeHeaders) => return Playback::Cut,
        Some(Fault::ErrorEvent { message, .. }) if !request.streaming => {
            return Playback::Error(failure(wire, 500, message));
        }
        Some(fault) => {
            if let Some(error) = error(fault, wire, &request.model) {
                return Playback::Error(error);
            }
        }
        None => {}
    }
    let speech = Speech::of(turn, request, number);
    let frames = if request.streaming {
        streamed(wire, &speech, body)
    } else {
        whole(wire, &speech)
    };
    Playback::Answer {
        streaming: request.streaming,
        steps: steps(turn, wire, request.streaming, frames),
        said: said(turn, wire, &speech),
    }
}

fn said(turn: &Turn, wire: Wire, speech: &Speech) -> Said {
    let orders = speech.calls.iter().enumerate().map(|(index, call)| Ordered {
        id: match wire {
            Wire::Anthropic => anthropic::wire::call_id(speech, index),
            Wire::OpenAi | Wire::Unknown => openai::wire::call_id(speech, index),
        },
        tool: call.name.clone(),
        arguments: call.arguments.concat(),
    });
    Said {
        orders: orders.collect(),
        usage: match wire {
            Wire::Anthropic => speech.usage,
            Wire::OpenAi | Wire::Unknown => openai::wire::tellable(speech.usage),
        },
        broken: matches!(
            turn.fault,
            Some(Fault::Malformed { .. } | Fault::ErrorEvent { .. })
        ),
    }
}

/// The answer to what the script does not foresee: an error that no client tries again.
pub(crate) fn unscripted(wire: Wire, why: &str) -> ErrorReply {
    let status = if wire == Wire::Unknown { 404 } else { 400 };
    failure(wire, status, &format!("scripted model server: {why}"))
}

fn failure(wire: Wire, status: u16, message: &str) -> ErrorReply {
    let fault = Fault::Status {
        status,
        message: message.to_owned(),
        error_type: None,
        retry_after: None,
    };
    error(&fault, wire, "").expect("a status is an error")
}

fn error(fault: &Fault, wire: Wire, model: &str) -> Option<ErrorReply> {
    match wire {
        Wire::Anthropic => anthropic::wire::error(fault, model),
        Wire::OpenAi | Wire::Unknown => openai::wire::error(fault, model),
    }
}

fn streamed(wire: Wire, speech: &Speech, body: &Value) -> Vec<Frame> {
    match wire {
        Wire::Anthropic => anthropic::wire::stream(speech),
        Wire::OpenAi | Wire::Unknown => {
            let with_usage = body["stream_options"]["include_usage"].as_bool().unwrap_or(false);
            openai::wire::stream(speech, with_usage)
        }
    }
}

/// A whole answer in two halves, so that it too has a middle at which it can fail.
fn whole(wire: Wire, speech: &Speech) -> Vec<Frame> {
    let answer = match wire {
        Wire::Anthropic => anthropic::wire::whole(speech),
        Wire::OpenAi | Wire::Unknown => openai::wire::whole(speech),
    };
    let text = answer.to_string();
    let middle = (text.len() / 2..)
        .find(|index| text.is_char_boundary(*index))
        .unwrap_or(text.len());
    let half = |part, bytes: &str| Frame {
        bytes: bytes.to_owned(),
        part,
    };
    vec![
        half(Part::Opening, &text[..middle]),
        half(Part::Closing, &text[middle..]),
    ]
}

fn steps(turn: &Turn, wire: Wire, streaming: bool, frames: Vec<Frame>) -> Vec<Step> {
    let at = turn.fault.as_ref().and_then(Fault::place).map(|place| {
        // A whole answer has one middle only.
        if streaming { index_of(place, &frames) } else { 1 }
    });
    let mut steps = Vec::new();
    for (index, frame) in frames.into_iter().enumerate() {
        if at == Some(index) && !push_fault(turn.fault.as_ref(), wire, streaming, &mut steps) {
            return steps;
        }
        if index > 0 && turn.delta_wait_ms > 0 {
            steps.push(Step::Wait(turn.delta_wait_ms));
        }
        steps.push(Step::Send(frame.bytes));
    }
    steps
}

/// Adds the fault; gives whether the answer goes on behind it.
fn push_fault(fault: Option<&Fault>, wire: Wire, streaming: bool, steps: &mut Vec<Step>) -> bool {
    match fault {
        Some(Fault::Hang { .. }) => {
            steps.push(Step::Hang);
            false
        }
        Some(Fault::Cut { .. }) => {
            steps.push(Step::Cut);
            false
        }
        Some(Fault::ErrorEvent { message, .. }) => {
            steps.push(Step::Send(match wire {
                Wire::Anthropic => anthropic::wire::error_event(message),
                Wire::OpenAi | Wire::Unknown => openai::wire::error_event(message),
            }));
            false
        }
        Some(Fault::Gate { name, .. }) => {
            steps.push(Step::Gate(name.clone()));
            true
        }
        Some(Fault::Malformed { .. }) => {
            let garbage = "{\"choices\":[{\"delta\":{\"conte";
            steps.push(Step::Send(if streaming {
                format!("data: {garbage}\n\n")
            } else {
                garbage.to_owned()
            }));
            true
        }
        Some(_) | None => true,
    }
}
