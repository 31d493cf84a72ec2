//! The conversation of an embedded sub-agent on disk: one JSON object a line, written before anything builds on it.
//!
//! What is written survives the death of every process. What must survive the machine's too is synced: a call that must
//! not run twice, before it runs, and its result (adr/0021). A sync carries everything before it, so the
//! messages between two such calls share theirs.

use crate::gateways::{ModelMessage, ModelRole};
use crate::shared_work::SharedWork;
use impresario_policies::run_messages::Said;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A longer file is not read back.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
enum Entry<'a> {
    /// The first one.
    Session {
        /// The form of the lines below.
        version: u32,
    },
    Message(Cow<'a, ModelMessage>),
}

/// What a message has to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// The death of processes: a sub-agent that is asked again after a power cut does no harm.
    Written,
    /// A power cut too.
    Synced,
}

/// Begins a new session with these messages, in place of an earlier one.
pub(super) fn begin(path: &Path, messages: &[ModelMessage]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    write_entry(&mut file, &Entry::Session { version: 1 })?;
    for message in messages {
        write_entry(&mut file, &Entry::Message(Cow::Borrowed(message)))?;
    }
    // A session that has just begun tells nothing that the journal does not.
    if messages.len() > 1 {
        sync(&file)?;
    }
    std::fs::rename(&fresh, path)
}

/// Adds a message, in one write.
pub(super) fn append(path: &Path, message: &ModelMessage, care: Care) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    let length = file.metadata()?.len();
    let appended =
        write_entry(&mut file, &Entry::Message(Cow::Borrowed(message))).and_then(|()| match care {
            Care::Written => Ok(()),
            Care::Synced => sync(&file),
        });
    if appended.is_err() {
        // What comes later must not be glued to half a line.
        let _ = file.set_len(length);
    }
    appended
}

/// Whether this may pass by itself: no room on the disk, or in the user's quota.
pub(super) fn may_pass(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Messages that are only written, of all sub-agents: under load a thread that is at it writes what came meanwhile, and
/// nobody is woken for each.
pub(super) struct Writes(Arc<SharedWork<Append>>);

struct Append {
    path: PathBuf,
    message: Arc<ModelMessage>,
    done: oneshot::Sender<io::Result<()>>,
}

impl Writes {
    pub(super) fn new() -> Self {
        Self(SharedWork::new(append_all))
    }

    /// Returns when the message is written.
    pub(super) async fn append(&self, path: PathBuf, message: Arc<ModelMessage>) -> io::Result<()> {
        let (done, written) = oneshot::channel();
        self.0.ask(Append { path, message, done });
        let broke = || io::Error::other("what writes sessions broke");
        written.await.unwrap_or_else(|_| Err(broke()))
    }
}

fn append_all(round: Vec<Append>) {
    for Append { path, message, done } in round {
        let written = append(&path, &message, Care::Written);
        // Whoever hears of it may take the message back.
        drop(message);
        let _ = done.send(written);
    }
}

fn sync(file: &File) -> io::Result<()> {
    #[cfg(test)]
    SYNCS.set(SYNCS.get() + 1);
    file.sync_data()
}

#[cfg(test)]
thread_local! {
    pub(super) static SYNCS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn write_entry(file: &mut File, entry: &Entry<'_>) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// The messages of a session. A line that was being written when we died ends it; so does one nobody can read.
pub(super) fn read(path: &Path) -> io::Result<Vec<ModelMessage>> {
    let file = File::open(path)?;
    let mut lines = BufReader::new(file.take(FILE_BYTES_MAX));
    let mut messages = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line)?;
        let complete = read > 0 && line.ends_with(b"\n");
        let entry = if complete {
            serde_json::from_slice(&line).ok()
        } else {
            None
        };
        match entry {
            Some(Entry::Session { .. }) => {}
            Some(Entry::Message(message)) => messages.push(message.into_owned()),
            None => break,
        }
    }
    Ok(messages)
}

/// The calls of the last assistant message that no result answers.
pub(super) fn open_calls(messages: &[ModelMessage]) -> Vec<crate::gateways::ToolCall> {
    let Some(last) = messages
        .iter()
        .rposition(|message| message.role == ModelRole::Assistant)
    else {
        return Vec::new();
    };
    // Results stand in the order of the calls. Ids do not tell: a provider may give one twice in a reply.
    let answered = messages[last..]
        .iter()
        .filter(|message| message.answers_call.is_some())
        .count();
    messages[last].tool_calls.iter().skip(answered).cloned().collect()
}

/// The conversation as it is looked through for messages to the run.
pub(super) fn said(messages: &[ModelMessage]) -> impl Iterator<Item = Said<'_>> {
    messages.iter().filter_map(|message| match message.role {
        ModelRole::User => Some(Said::ToIt(&message.text)),
        ModelRole::Assistant => Some(Said::ByIt(&message.text)),
        ModelRole::Tool => None,
    })
}

/// The answer, where the conversation ends with one.
pub(super) fn answer(messages: &[ModelMessage]) -> Option<String> {
    let last = messages.last()?;
    let answers =
        last.role == ModelRole::Assistant && last.tool_calls.is_empty() && !last.text.trim().is_empty();
    answers.then(|| last.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::ToolCall;

    fn message(role: ModelRole, text: &str) -> ModelMessage {
        ModelMessage {
            role,
            text: text.to_string(),
            tool_calls: Vec::new(),
            answers_call: None,
            pictures: Vec::new(),
        }
    }

    #[test]
    fn a_session_is_read_back_without_the_line_that_was_being_written() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("sessions/a.jsonl");
        let messages = [
            message(ModelRole::User, "one"),
            message(ModelRole::Assistant, "two\nlines"),
        ];
        begin(&path, &messages[..1]).expect("a session");
        append(&path, &messages[1], Care::Synced).expect("a message");
        let mut torn = OpenOptions::new().append(true).open(&path).expect("the file");
        torn.write_all(b"{\"line\":\"message\",\"role\":\"us")
            .expect("half a line");
        assert_eq!(read(&path).expect("the session"), messages);
    }

    #[tokio::test]
    async fn messages_of_many_sessions_stand_each_in_its_own() {
        const SESSIONS: u32 = 200;
        let place = tempfile::tempdir().expect("a directory");
        let path = |number: u32| place.path().join(format!("{number}.jsonl"));
        for number in 0..SESSIONS {
            begin(&path(number), &[]).expect("a session");
        }
        let writes = Writes::new();
        let written = (0..SESSIONS).map(|number| {
            let message = message(ModelRole::User, &number.to_string());
            writes.append(path(number), message.into())
        });
        for written in futures_util::future::join_all(written).await {
            written.expect("written");
        }
        for number in 0..SESSIONS {
            let kept = read(&path(number)).expect("the session");
            assert_eq!(kept, [message(ModelRole::User, &number.to_string())]);
        }
    }

    #[test]
    fn a_message_is_not_glued_to_a_torn_line() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("a.jsonl");
        begin(&path, &[message(ModelRole::User, "one")]).expect("a session");
        let mut torn = OpenOptions::new().append(true).open(&path).expect("the file");
        torn.write_all(b"{\"line\":").expect("half a line");
        let kept = read(&path).expect("the session");
        begin(&path, &kept).expect("the session again");
        append(&path, &message(ModelRole::User, "two"), Care::Written).expect("a message");
        assert_eq!(read(&path).expect("the session").len(), 2);
    }

    #[test]
    fn calls_without_a_result_are_open() {
        let call = |id: &str| ToolCall {
            id: id.to_string(),
            tool: "read".to_string(),
            arguments: serde_json::Value::Null,
        };
        let mut asks = message(ModelRole::Assistant, "");
        asks.tool_calls = vec![call("a"), call("b")];
        let mut result = message(ModelRole::Tool, "x");
        result.answers_call = Some("a".to_string());
        let messages = [message(ModelRole::User, "go"), asks, result];
        assert_eq!(open_calls(&messages), [call("b")]);
        let mut twice = messages.clone();
        twice[1].tool_calls = vec![call("a"), call("a")];
        assert_eq!(open_calls(&twice), [call("a")]);
        assert_eq!(answer(&messages), None);
    }
}
