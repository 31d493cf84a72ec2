//! What was really asked of the models, and how each call ended.
//!
//! The ledger is a witness: it is written by the server alone, a line when a call arrives and a line when it ends,
//! so that an auditor can read it after every process of the runtime was killed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::Wire;
use crate::script::Usage;

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its number, from one, in order of arrival.
    pub number: u64,
    /// When it arrived, in microseconds since 1970.
    pub received_unix_us: u64,
    /// The protocol.
    pub wire: Wire,
    /// The method and the path.
    pub path: String,
    /// The requested model.
    pub model: String,
    /// Whether the answer should be streamed.
    pub streaming: bool,
    /// Messages in the conversation.
    pub message_count: usize,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// The rule that answered; none where the script had no answer.
    pub rule: Option<String>,
    /// The index of the turn in its rule.
    pub turn: Option<usize>,
    /// Why the script had no answer, where it had none.
    pub unscripted: Option<String>,
    /// SHA-256 of the request's body, in hexadecimal.
    pub request_hash: String,
    /// The headers; the values of those that carry secrets are replaced.
    pub headers: BTreeMap<String, String>,
    /// The request's body; null where it was no JSON.
    pub body: Value,
    /// What the answer says; none where it is an error, a silence or a cut before any content.
    #[serde(default)]
    pub said: Option<Said>,
    /// How the call ended; none while it is in flight.
    pub end: Option<CallEnd>,
}

/// What an answer says, as far as an auditor needs it. Whether all of it was sent, the end of the call tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The tool calls it orders, in order.
    pub orders: Vec<Ordered>,
    /// What is charged for it, as this protocol can say it.
    pub usage: Usage,
    /// Something that is not the protocol stands in it, or the provider's own error ends it.
    #[serde(default)]
    pub broken: bool,
}

/// A tool call that an answer orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ordered {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments as they were written.
    pub arguments: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnd {
    /// When, in microseconds since 1970.
    pub ended_unix_us: u64,
    /// The HTTP status; none where no headers were sent.
    pub status: Option<u16>,
    /// Bytes of the body that were handed to the connection.
    pub bytes_sent: u64,
    /// In which way.
    pub outcome: Outcome,
}

/// In which way a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything the script says was sent.
    Completed,
    /// The client went away before that.
    CutByClient,
    /// The script closed the connection.
    CutByScript,
    /// The server was stopped.
    ServerStopped,
}

/// A line of the ledger on disk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Received { call: Box<Call> },
    Said { number: u64, said: Said },
    Ended { number: u64, end: CallEnd },
}

/// The calls so far. Clones share one ledger.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    file: Option<File>,
    stopping: bool,
}

impl Call {
    /// The ids of the tool calls whose results the request carries.
    #[must_use]
    pub fn results(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let of_openai = |message: &Value| message["tool_call_id"].as_str().map(str::to_owned);
        let of_anthropic = |message: &Value| {
            let blocks = message["content"].as_array().into_iter().flatten();
            let ids = blocks.filter_map(|block| block["tool_use_id"].as_str());
            ids.map(str::to_owned).collect::<Vec<_>>()
        };
        messages
            .flat_map(|message| of_openai(message).into_iter().chain(of_anthropic(message)))
            .collect()
    }
}

impl Ledger {
    /// A ledger that is also written to this file, behind what is there.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn on_disk(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let ledger = Self::default();
        ledger.lock().file = Some(file);
        Ok(ledger)
    }

    /// Reads the calls that a server wrote to this file, also those it could not end.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is not of a ledger.
    pub fn read(path: &Path) -> io::Result<Vec<Call>> {
        let mut calls: Vec<Call> = Vec::new();
        for line in std::fs::read_to_string(path)?.lines() {
            match serde_json::from_str(line)? {
                Line::Received { call } => calls.push(*call),
                // Numbers begin anew when a second server writes behind the first.
                Line::Said { number, said } => {
                    if let Some(call) = calls.iter_mut().rev().find(|call| call.number == number) {
                        call.said = Some(said);
                    }
                }
                Line::Ended { number, end } => {
                    if let Some(call) = calls.iter_mut().rev().find(|call| call.number == number) {
                        call.end = Some(end);
                    }
                }
            }
        }
        Ok(calls)
    }

    /// All calls, in order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// The calls that this rule answered.
    #[must_use]
    pub fn calls_of(&self, rule: &str) -> Vec<Call> {
        self.calls()
            .into_iter()
            .filter(|call| call.rule.as_deref() == Some(rule))
            .collect()
    }

    /// Why requests had no answer in the script; a test that expects none looks here first.
    #[must_use]
    pub fn unscripted(&self) -> Vec<String> {
        self.calls()
            .into_iter()
            .filter_map(|call| call.unscripted)
            .collect()
    }

    /// Waits until the calls are as wanted; gives whether they came to be so in time.
    ///
    /// Blocks the thread; the server runs on another one.
    #[must_use]
    pub fn wait_until(&self, within: Duration, wanted: impl Fn(&[Call]) -> bool) -> bool {
        let deadline = Instant::now() + within;
        let mut state = self.lock();
        while !wanted(&state.calls) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn receive(&self, mut call: Call) -> u64 {
        let mut state = self.lock();
        call.number = state.calls.len() as u64 + 1;
        call.received_unix_us = now_unix_us();
        let number = call.number;
        state.write(&Line::Received {
            call: Box::new(call.clone()),
        });
        state.calls.push(call);
        self.shared.changed.notify_all();
        number
    }

    /// Written before the first byte of it is sent.
    pub(crate) fn say(&self, number: u64, said: Said) {
        let mut state = self.lock();
        state.write(&Line::Said {
            number,
            said: said.clone(),
        });
        if let Some(call) = state.calls.iter_mut().find(|call| call.number == number) {
            call.said = Some(said);
        }
    }

    pub(crate) fn end(&self, number: u64, status: Option<u16>, bytes_sent: u64, outcome: Outcome) {
        let mut state = self.lock();
        let stopped = state.stopping && outcome == Outcome::CutByClient;
        let outcome = if stopped { Outcome::ServerStopped } else { outcome };
        let end = CallEnd {
            ended_unix_us: now_unix_us(),
            status,
            bytes_sent,
            outcome,
        };
        if let Some(call) = state.calls.iter_mut().find(|call| call.number == number) {
            call.end = Some(end);
        }
        state.write(&Line::Ended { number, end });
        self.shared.changed.notify_all();
    }

    pub(crate) fn stopping(&self) {
        self.lock().stopping = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panicked while it held the lock has read only; what is behind it is whole.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, line: &Line) {
        let Some(file) = &mut self.file else { return };
        let mut bytes = serde_json::to_vec(line).expect("a line of the ledger is JSON");
        bytes.push(b'\n');
        // A ledger that cannot be written is a test that proves nothing.
        file.write_all(&bytes).expect("the ledger can be written");
    }
}

/// The time by the wall clock, which is the one that other processes' records can be held against.
#[allow(
    clippy::disallowed_methods,
    reason = "a witness outside the runtime; its times are compared with theirs"
)]
fn now_unix_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
