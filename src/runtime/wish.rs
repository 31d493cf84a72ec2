//! What another process wants of a run: that it be cancelled, or told something. A file named after the run, and the
//! message, which the run's owner looks for.

use super::inside::Inside;
use impresario_actors::event_feed::{Announcement, Heard, Listener};
use impresario_actors::messages::run::{CancelReply, CancelRun, TellReply, TellRun};
use impresario_policies::domain::{MessageId, MessageKind, RunId, RunMessage, Step};
use impresario_policies::run_messages::MESSAGE_CHARACTERS_MAX;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often an owner looks, while any run is under way.
const LOOKED_EVERY: Duration = Duration::from_millis(250);
const ASK: Duration = Duration::from_secs(60);
const CANCEL: &str = "cancel-";
const MESSAGE: &str = "message-";
const ANSWER: &str = "answer-";
/// A longer file is no message of ours: four bytes a character, and a little for who sent it.
const MESSAGE_BYTES_MAX: usize = 4 * MESSAGE_CHARACTERS_MAX + 1_000;

pub(crate) fn wishes(state_directory: &Path) -> PathBuf {
    state_directory.join("wishes")
}

fn file_of(wishes: &Path, run: &RunId) -> PathBuf {
    wishes.join(format!("{CANCEL}{run}"))
}

pub(super) fn leave(wishes: &Path, run: &RunId) -> io::Result<()> {
    std::fs::write(file_of(wishes, run), "")
}

/// Takes a wish back, if it is still there.
pub(super) fn take_back(wishes: &Path, run: &RunId) {
    let _ = std::fs::remove_file(file_of(wishes, run));
}

fn file_of_message(wishes: &Path, run: &RunId, message: &MessageId) -> PathBuf {
    wishes.join(format!("{MESSAGE}{run}-{message}"))
}

/// Leaves a message for the owner of the run, whole from the beginning on.
pub(super) fn leave_message(wishes: &Path, run: &RunId, message: &RunMessage) -> io::Result<()> {
    let file = file_of_message(wishes, run, &message.id);
    let fresh = file.with_extension("new");
    let by = message.by.replace('\n', " ");
    let from = message
        .from
        .as_ref()
        .map_or(String::new(), |run| format!(" {run}"));
    let kind = message.kind.word();
    std::fs::write(&fresh, format!("{kind}{from}\n{by}\n{}", message.text))?;
    std::fs::rename(fresh, file)
}

/// Whether the message still lies there.
pub(super) fn message_waits(wishes: &Path, run: &RunId, message: &MessageId) -> bool {
    file_of_message(wishes, run, message).exists()
}

/// Takes a message back, if it is still there.
pub(super) fn take_message_back(wishes: &Path, run: &RunId, message: &MessageId) {
    let _ = std::fs::remove_file(file_of_message(wishes, run, message));
}

fn file_of_answer(wishes: &Path, run: &RunId) -> PathBuf {
    wishes.join(format!("{ANSWER}{run}"))
}

/// Leaves an answer to this question for the process that drives the run, whole from the beginning on.
pub(super) fn leave_answer(wishes: &Path, run: &RunId, question: &str, answer: &str) -> io::Result<()> {
    let file = file_of_answer(wishes, run);
    let fresh = file.with_extension("new");
    std::fs::write(&fresh, format!("{}\n{question}{answer}", question.len()))?;
    std::fs::rename(fresh, file)
}

/// What somebody left as the answer to what is asked now. An answer to an earlier question is thrown away.
pub(crate) fn take_answer(wishes: &Path, run: &RunId, asked: &str) -> Option<String> {
    let file = file_of_answer(wishes, run);
    let mut text = String::new();
    let opened = std::fs::File::open(&file).ok()?;
    let read = opened.take(MESSAGE_BYTES_MAX as u64).read_to_string(&mut text);
    let _ = std::fs::remove_file(file);
    read.ok()?;
    let (bytes, rest) = text.split_once('\n')?;
    let (question, answer) = rest.split_at_checked(bytes.parse().ok()?)?;
    asked.contains(question).then(|| answer.trim().to_string())
}

fn read_message(wishes: &Path, run: &RunId, id: &MessageId) -> Option<RunMessage> {
    let mut text = String::new();
    let file = std::fs::File::open(file_of_message(wishes, run, id)).ok()?;
    file.take(MESSAGE_BYTES_MAX as u64)
        .read_to_string(&mut text)
        .ok()?;
    let (head, rest) = text.split_once('\n')?;
    let (by, text) = rest.split_once('\n')?;
    let (kind, from) = head.split_once(' ').unwrap_or((head, ""));
    let kinds = [MessageKind::Steer, MessageKind::Ask];
    Some(RunMessage {
        id: id.clone(),
        kind: kinds.into_iter().find(|known| known.word() == kind)?,
        text: text.to_string(),
        by: by.to_string(),
        from: RunId::try_from(from.to_string()).ok(),
    })
}

/// Messages that are being told: a run may take its time, and others are not kept waiting.
type UnderWay = Rc<RefCell<BTreeSet<(RunId, MessageId)>>>;

/// Looks for wishes while any run is under way here, spawned or adopted, and does what they say.
pub(super) async fn heed(inside: Inside, wishes: PathBuf, mut steps: Listener) {
    let mut under_way = BTreeSet::new();
    let telling = UnderWay::default();
    let mut look = tokio::time::interval(LOOKED_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = look.tick(), if !under_way.is_empty() => {
                for run in wished(&wishes) {
                    cancel(&inside, &wishes, run).await;
                }
                for (run, message) in left(&wishes) {
                    tell(&inside, &wishes, run, message, &telling);
                }
            }
            heard = steps.next() => match heard {
                Some(Heard::Announced(announced)) => note(&mut under_way, announced),
                // Whoever's end was missed costs a look now and then, no more.
                Some(Heard::Missed(_)) => {}
                None => return,
            },
        }
    }
}

fn note(under_way: &mut BTreeSet<RunId>, announced: Announcement) {
    match announced {
        Announcement::Recorded { run, step } => match step.step {
            Step::Ended { .. } | Step::Delivered | Step::DeliveryAcknowledged => {
                under_way.remove(&run);
            }
            _ => {
                under_way.insert(run);
            }
        },
        Announcement::Unwritable { run, .. } => {
            under_way.remove(&run);
        }
    }
}

/// The runs that somebody wishes cancelled; another runtime's are among them.
fn wished(wishes: &Path) -> Vec<RunId> {
    let entries = std::fs::read_dir(wishes).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| RunId::try_from(name.strip_prefix(CANCEL)?.to_string()).ok())
        .collect()
}

/// The messages that lie there; another runtime's are among them.
fn left(wishes: &Path) -> Vec<(RunId, MessageId)> {
    let entries = std::fs::read_dir(wishes).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let left = names.filter_map(|name| {
        let (run, message) = name.strip_prefix(MESSAGE)?.split_once('-')?;
        let run = RunId::try_from(run.to_string()).ok()?;
        Some((run, MessageId::try_from(message.to_string()).ok()?))
    });
    left.collect()
}

/// The file goes when the journal has the message, or when the run does not take it; whoever left it looks there.
fn tell(inside: &Inside, wishes: &Path, run: RunId, id: MessageId, telling: &UnderWay) {
    let key = (run, id);
    if !telling.borrow_mut().insert(key.clone()) {
        return;
    }
    let (inside, wishes, telling) = (inside.clone(), wishes.to_path_buf(), telling.clone());
    tokio::task::spawn_local(async move {
        let (run, id) = &key;
        let told = match read_message(&wishes, run, id) {
            Some(message) => {
                let run = run.clone();
                let tell = TellRun { run, message };
                inside.ports.tell.ask_again(tell, ASK).await.ok()
            }
            // Taken back meanwhile, or nothing that anybody of ours wrote.
            None => Some(TellReply::NotYet),
        };
        match told {
            Some(TellReply::Taken | TellReply::Refused(_) | TellReply::NotYet) => {
                take_message_back(&wishes, run, id);
            }
            Some(TellReply::NotUnderWay) | None => {}
        }
        telling.borrow_mut().remove(&key);
    });
}

async fn cancel(inside: &Inside, wishes: &Path, run: RunId) {
    let by = "`impresario runs cancel`".to_string();
    let cancel = CancelRun { run: run.clone(), by };
    match inside.ports.cancel.ask_again(cancel, ASK).await {
        Ok(CancelReply::Cancelling) => take_back(wishes, &run),
        Ok(CancelReply::NotUnderWay) => {}
        Err(error) => tracing::warn!(run.id = %run, %error, "wish to cancel not heeded"),
    }
}
