//! Reads what a nested Pi prints, as it comes, and remembers what the end of an attempt is read from.
//!
//! Lines we need nothing of are known by their beginning and skipped unread: a streamed answer makes Pi 0.74
//! repeat everything it has said in each of them. Nothing here trusts an order, and nothing that Pi prints is fatal.

mod message;
mod update;

#[cfg(test)]
mod tests;

use super::lines::{LineSplitter, Piece};
use super::summary::{self, one_line, up_to};
use super::wire::{self, Envelope};
use crate::gateways::{EndFacts, RunnerEvent};
use impresario_policies::domain::MessageId;
use message::Conversation;
use std::time::Duration;
use update::Skim;

/// A line longer than this is dropped.
pub const LINE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// More unreadable lines than this are counted and no longer shown.
const UNREAD_SHOWN_MAX: u64 = 100;
const UNREAD_CHARACTERS_MAX: usize = 200;
const ERROR_CHARACTERS_MAX: usize = 2_000;
/// A text from outside that names something: an id, a tool.
const NAME_BYTES_MAX: usize = 500;
/// So much of what is said after a message to the run is heard.
const NEXT_WORDS_BYTES_MAX: usize = 64 * 1024;
const RETRY_DELAY_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What was seen in the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Something for the attempt. Calls have the id that the model gave them.
    Event(RunnerEvent),
    /// The model ended a message with so many tool calls; more than none.
    Calls(usize),
    /// The model was told these messages to the run.
    Told(Vec<MessageId>),
    /// The first words after that.
    SaidNext(String),
    /// Pi answered a command.
    Response(Response),
    /// An extension asks for a dialog.
    Dialog(Dialog),
    /// The run may be over; a version that has no word for it must be asked.
    MaybeSettled,
    /// The run is over.
    Settled,
}

/// An answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The id the command had.
    pub id: String,
    pub command: String,
    /// Why it was refused, if it was.
    pub refusal: Option<String>,
    /// For `get_state`: nothing is under way.
    pub idle: Option<bool>,
}

/// A dialog an extension wants; our own child extension speaks to us this way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// Its id, to be given with the answer.
    pub id: String,
    /// `confirm`, `input`, `editor`, `select`: Pi waits. Anything else wants no answer.
    pub method: String,
    pub title: String,
    /// The message of a confirmation.
    pub message: String,
    /// The text an editor begins with, or the hint of an input.
    pub prefill: String,
}

/// Where the run stands, as the stream tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Idle,
    /// A run is under way, or another part of it follows by itself.
    Running,
    /// The last part ended, and nothing says that another follows.
    MaybeSettled,
    /// Pi said that nothing follows.
    Settled,
}

/// Reads the stream of one process.
#[derive(Debug)]
pub struct EventReader {
    lines: LineSplitter,
    state: ReaderState,
}

#[derive(Debug)]
struct ReaderState {
    standing: Standing,
    conversation: Conversation,
    active: bool,
    read_lines: u64,
    unread_lines: u64,
    /// Text that came and was not handed on yet.
    text: String,
    /// Something was read since the last event was handed on.
    quiet: bool,
    /// What the model says next is to be heard: it was told something.
    listens: bool,
}

impl Default for EventReader {
    fn default() -> Self {
        Self::new(LINE_BYTES_MAX)
    }
}

impl EventReader {
    /// Lines longer than `line_bytes_max` are dropped and counted.
    pub fn new(line_bytes_max: usize) -> Self {
        Self {
            lines: LineSplitter::new(line_bytes_max),
            state: ReaderState {
                standing: Standing::Idle,
                conversation: Conversation::default(),
                active: false,
                read_lines: 0,
                unread_lines: 0,
                text: String::new(),
                quiet: false,
                listens: false,
            },
        }
    }

    /// Takes the next chunk of the stream, whatever its size, and adds what was seen in it.
    pub fn feed(&mut self, chunk: &[u8], seen: &mut Vec<Seen>) {
        let state = &mut self.state;
        self.lines.feed(chunk, |piece| state.take(piece, seen));
        state.end_of_chunk(seen);
    }

    pub fn finish(&mut self, seen: &mut Vec<Seen>) {
        let state = &mut self.state;
        self.lines.finish(|piece| state.take(piece, seen));
        state.end_of_chunk(seen);
    }

    /// The run is over, as far as the stream tells by now.
    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Nothing that follows counts, if the run is over.
    pub fn settle(&mut self) {
        if self.state.is_over() {
            self.state.standing = Standing::Settled;
        }
    }

    /// What the model says next is wanted as [`Seen::SaidNext`].
    pub fn listen(&mut self) {
        self.state.listens = true;
    }

    /// A run is under way.
    pub fn is_running(&self) -> bool {
        self.state.standing == Standing::Running
    }

    /// What is known of the end so far. What only the process knows is left empty.
    pub fn facts(&self) -> EndFacts {
        let state = &self.state;
        EndFacts {
            terminal_event: state.is_over(),
            read_lines: state.read_lines,
            unread_lines: state.unread_lines,
            ..state.conversation.facts()
        }
    }
}

impl ReaderState {
    fn is_over(&self) -> bool {
        matches!(self.standing, Standing::MaybeSettled | Standing::Settled)
    }

    fn take(&mut self, piece: Piece<'_>, seen: &mut Vec<Seen>) {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::TooLong(head) => return self.unread(head, "line above the limit", seen),
        };
        match update::skim(line) {
            Skim::Nothing => self.note_read(seen),
            // The answer is what was said before: Pi has nothing left to answer.
            Skim::AssistantBegins | Skim::Text(_) if self.standing == Standing::Settled => {
                self.note_read(seen);
            }
            Skim::AssistantBegins => {
                self.note_read(seen);
                self.conversation.begin_message();
            }
            Skim::Text(delta) => {
                self.note_read(seen);
                self.grow(&delta);
            }
            Skim::Unknown => self.read(line, seen),
        }
    }

    fn read(&mut self, line: &[u8], seen: &mut Vec<Seen>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let envelope: Envelope<'_> = match serde_json::from_slice(line) {
            Ok(envelope) => envelope,
            Err(error) => return self.unread(line, &unread_reason(&error), seen),
        };
        if !self.understand(&envelope, seen) {
            self.unread(
                line,
                &format!("unknown event {}", one_line(&envelope.kind, 60)),
                seen,
            );
        }
    }

    /// Does what a line asks for; false when nobody knows this kind of line.
    fn understand(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) -> bool {
        let speaks = matches!(
            envelope.kind.as_ref(),
            "message_update"
                | "message_start"
                | "message_end"
                | "agent_start"
                | "agent_end"
                | "compaction_start"
                | "compaction_end"
                | "auto_retry_start"
                | "auto_retry_end"
        );
        if speaks && self.standing == Standing::Settled {
            self.note_read(seen);
            return true;
        }
        match envelope.kind.as_ref() {
            "message_update" => self.read_update(envelope, seen),
            "message_start" => self.read_message_start(envelope, seen),
            "message_end" => self.read_message_end(envelope, seen),
            "tool_execution_start" => self.read_tool_start(envelope, seen),
            "tool_execution_end" => self.read_tool_end(envelope, seen),
            "agent_start" => self.stand(Standing::Running, seen),
            "agent_end" => self.read_agent_end(envelope, seen),
            "agent_settled" => self.stand(Standing::Settled, seen),
            "auto_retry_start" => self.read_retry(envelope, seen),
            "auto_retry_end" if wire::flag(envelope.success) == Some(false) => {
                self.stand(Standing::MaybeSettled, seen);
            }
            "compaction_start" => self.stand(Standing::Running, seen),
            "compaction_end" if wire::flag(envelope.will_retry) != Some(true) => {
                self.stand(Standing::MaybeSettled, seen);
            }
            "response" => self.read_response(envelope, seen),
            "extension_ui_request" => self.read_dialog(envelope, seen),
            kind if update::is_known(kind) => self.note_read(seen),
            _ => return false,
        }
        true
    }

    fn read_update(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        if let Some(delta) = update::text_delta(envelope) {
            self.grow(&delta);
        }
    }

    fn read_message_start(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        if message::is_of_assistant(envelope.message) {
            self.conversation.begin_message();
        }
    }

    fn read_message_end(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        let Some(ended) = self.conversation.end_message(envelope.message) else {
            let told = message::told_in(envelope.message);
            if !told.is_empty() {
                self.listens = true;
                seen.push(Seen::Told(told));
            }
            return;
        };
        self.text.push_str(&ended.text_not_streamed);
        let called = RunnerEvent::Called {
            served: ended.served,
            used: ended.used,
        };
        self.event(called, seen);
        if self.listens
            && let Some(said) = self.conversation.last_text()
        {
            self.listens = false;
            seen.push(Seen::SaidNext(up_to(said, NEXT_WORDS_BYTES_MAX).to_string()));
        }
        if ended.calls > 0 {
            self.hand_on_text(seen);
            seen.push(Seen::Calls(ended.calls));
        }
    }

    fn read_tool_start(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        let event = RunnerEvent::ToolStarted {
            call: name(envelope.tool_call_id),
            tool: name(envelope.tool_name),
        };
        self.note_read(seen);
        self.event(event, seen);
    }

    fn read_tool_end(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        let result = summary::summarize_result(envelope.result);
        self.note_read(seen);
        let event = RunnerEvent::ToolEnded {
            call: name(envelope.tool_call_id),
            is_error: wire::flag(envelope.is_error).unwrap_or(false),
            bytes: result.bytes,
            preview: result.preview,
            overflow: None,
        };
        self.event(event, seen);
    }

    fn read_agent_end(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.conversation.end_run(envelope.messages);
        let standing = match wire::flag(envelope.will_retry) {
            Some(true) => Standing::Running,
            Some(false) | None => Standing::MaybeSettled,
        };
        self.stand(standing, seen);
    }

    fn read_retry(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.stand(Standing::Running, seen);
        let why = wire::text(envelope.error_message).unwrap_or_default();
        let delay_ms = wire::number(envelope.delay_ms).unwrap_or(0.0);
        let event = RunnerEvent::RetryAnnounced {
            attempt: wire::number(envelope.attempt).unwrap_or(1.0) as u32,
            delay: Duration::from_millis(delay_ms as u64).min(RETRY_DELAY_MAX),
            why: one_line(&why, UNREAD_CHARACTERS_MAX),
        };
        self.event(event, seen);
    }

    fn read_response(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        let refused = wire::flag(envelope.success) == Some(false);
        let refusal = refused.then(|| {
            let why = wire::text(envelope.error).unwrap_or_default();
            one_line(&why, ERROR_CHARACTERS_MAX)
        });
        let response = Response {
            id: name(envelope.id),
            command: name(envelope.command),
            idle: message::is_idle(envelope.data),
            refusal,
        };
        if let ("prompt", Some(why), true) =
            (response.command.as_str(), &response.refusal, self.nothing_runs())
        {
            self.conversation.refuse(why);
            self.standing = Standing::Settled;
            seen.push(Seen::Response(response));
            seen.push(Seen::Settled);
            return;
        }
        seen.push(Seen::Response(response));
    }

    fn nothing_runs(&self) -> bool {
        self.standing != Standing::Running
    }

    fn read_dialog(&mut self, envelope: &Envelope<'_>, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        let long = |raw| wire::text(raw).map(|text| text.into_owned()).unwrap_or_default();
        self.hand_on_text(seen);
        seen.push(Seen::Dialog(Dialog {
            id: name(envelope.id),
            method: name(envelope.method),
            title: long(envelope.title),
            message: long(envelope.message),
            prefill: long(envelope.prefill.or(envelope.placeholder)),
        }));
    }

    fn stand(&mut self, standing: Standing, seen: &mut Vec<Seen>) {
        self.note_read(seen);
        self.standing = standing;
        let sign = match standing {
            Standing::Idle | Standing::Running => return,
            Standing::MaybeSettled => Seen::MaybeSettled,
            Standing::Settled => Seen::Settled,
        };
        self.hand_on_text(seen);
        seen.push(sign);
    }

    fn grow(&mut self, delta: &str) {
        if self.conversation.grow(delta) {
            self.text.push_str(delta);
        }
    }

    fn note_read(&mut self, seen: &mut Vec<Seen>) {
        self.read_lines += 1;
        self.quiet = true;
        if !self.active {
            self.active = true;
            seen.push(Seen::Event(RunnerEvent::Active));
        }
    }

    fn unread(&mut self, line: &[u8], why: &str, seen: &mut Vec<Seen>) {
        self.unread_lines += 1;
        if self.unread_lines > UNREAD_SHOWN_MAX {
            return;
        }
        let beginning = &line[..line.len().min(4 * UNREAD_CHARACTERS_MAX)];
        let event = RunnerEvent::Unread {
            line: one_line(&String::from_utf8_lossy(beginning), UNREAD_CHARACTERS_MAX),
            why: why.to_string(),
        };
        self.event(event, seen);
    }

    fn event(&mut self, event: RunnerEvent, seen: &mut Vec<Seen>) {
        self.hand_on_text(seen);
        self.quiet = false;
        seen.push(Seen::Event(event));
    }

    fn hand_on_text(&mut self, seen: &mut Vec<Seen>) {
        if self.text.is_empty() {
            return;
        }
        self.quiet = false;
        let delta = std::mem::take(&mut self.text);
        seen.push(Seen::Event(RunnerEvent::Text { delta }));
    }

    /// However much came in one chunk: the text of it is one event, and so is everything that means nothing else.
    fn end_of_chunk(&mut self, seen: &mut Vec<Seen>) {
        self.hand_on_text(seen);
        if std::mem::take(&mut self.quiet) {
            seen.push(Seen::Event(RunnerEvent::Alive));
        }
    }
}

fn name(raw: Option<&serde_json::value::RawValue>) -> String {
    let text = wire::text(raw).unwrap_or_default();
    summary::up_to(&text, NAME_BYTES_MAX).to_string()
}

fn unread_reason(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => format!("not an event: {}", one_line(&error.to_string(), 120)),
        serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof
        | serde_json::error::Category::Io => "not JSON".to_string(),
    }
}
