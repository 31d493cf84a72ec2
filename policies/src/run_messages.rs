//! May a run under way take this message, and how is it told to the sub-agent?
//!
//! A message stands in the conversation behind a mark with its id. So whoever goes on with a conversation after a crash
//! sees which messages are in it already, whatever the journal had time to say.

use crate::domain::{MessageId, MessageKind, Reason, ReasonCode, RunId, RunMessage};
use crate::next_action::settled_end;
use crate::projection::{MessageFate, RunProjection};
use crate::redact::redact;

/// The longest message, in characters.
pub const MESSAGE_CHARACTERS_MAX: usize = 16_000;
/// So many messages a run takes in its life.
pub const MESSAGES_MAX: usize = 64;
/// So many of them may stand in line.
pub const MESSAGES_QUEUED_MAX: usize = 16;
/// So much of an answer is kept.
const ANSWER_CHARACTERS_MAX: usize = 16_000;
/// So much of a message stands in a list.
const SHOWN_CHARACTERS_MAX: usize = 100;

/// What becomes of a message that comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// It is put in line.
    Take,
    /// It was taken before.
    TakenBefore,
    /// It is not taken.
    Refuse(Reason),
}

/// Decides whether the run takes the message.
pub fn decide_message(run: &RunProjection, message: &RunMessage) -> MessageDecision {
    if let Some(known) = run.message(&message.id) {
        return match known.message == *message {
            true => MessageDecision::TakenBefore,
            false => {
                refuse("Another message has this id already. Send it again under a new one.".to_string())
            }
        };
    }
    if let Some(end) = &run.ended {
        return refuse(format!("The run has ended already: {}.", end.state.word()));
    }
    if run.park_requested.is_some() || settled_end(run).is_some() {
        return refuse("The run is about to end; nothing reaches its sub-agent any more.".to_string());
    }
    let characters = message.text.chars().count();
    if message.text.trim().is_empty() {
        return refuse("The message is empty.".to_string());
    }
    if characters > MESSAGE_CHARACTERS_MAX {
        return refuse(format!(
            "The message has {characters} characters, more than {MESSAGE_CHARACTERS_MAX}. Put what is long into a file and name it."
        ));
    }
    let queued = |known: &&_| run.fate_of(known) == MessageFate::Queued;
    let queued = run.messages.iter().filter(queued).count();
    if queued >= MESSAGES_QUEUED_MAX {
        return refuse(format!(
            "{queued} messages wait for the sub-agent already. Wait until it has them."
        ));
    }
    if run.messages.len() >= MESSAGES_MAX {
        return refuse(format!("A run takes {MESSAGES_MAX} messages, and it has them."));
    }
    MessageDecision::Take
}

fn refuse(message: String) -> MessageDecision {
    MessageDecision::Refuse(Reason {
        code: ReasonCode::MessageRefused,
        message,
    })
}

const MARK_BEGINS: &str = "[message ";
const MARK_ENDS: &str = " from the user]";

/// What stands before a message in the conversation.
fn mark_of(message: &MessageId) -> String {
    format!("{MARK_BEGINS}{message}{MARK_ENDS}")
}

/// The messages that stand in something the sub-agent was told.
pub fn marked(text: &str) -> Vec<MessageId> {
    let begun = text.split(MARK_BEGINS).skip(1);
    begun
        .filter_map(|rest| MessageId::try_from(rest.split_once(MARK_ENDS)?.0.to_string()).ok())
        .collect()
}

/// A line of a conversation: what the sub-agent was told, or what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// What it was told.
    ToIt(&'a str),
    /// What it said.
    ByIt(&'a str),
}

/// Where a message stands to a conversation that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageStanding {
    /// The conversation does not have it.
    Missing,
    /// It has it, and this was said next, if anything was.
    Told {
        /// The first words after it.
        said_next: Option<String>,
    },
}

/// Looks for a message in a conversation.
pub fn find_message<'a>(
    conversation: impl IntoIterator<Item = Said<'a>>,
    wanted: &MessageId,
) -> MessageStanding {
    let mark = mark_of(wanted);
    let mut lines = conversation.into_iter();
    if !lines.any(|line| matches!(line, Said::ToIt(text) if text.contains(&mark))) {
        return MessageStanding::Missing;
    }
    let said_next = lines.find_map(|line| match line {
        Said::ByIt(text) if !text.trim().is_empty() => Some(text.to_string()),
        Said::ByIt(_) | Said::ToIt(_) => None,
    });
    MessageStanding::Told { said_next }
}

/// The message as the sub-agent reads it.
pub fn told(message: &RunMessage) -> String {
    let wanted = match message.kind {
        MessageKind::Steer => "This came while you work. Take it into account and go on with your task.",
        MessageKind::Ask => {
            "This question came while you work. Answer it in your next message, in a few sentences of plain text and from \
             what you know by now; then go on with your task."
        }
    };
    let from = message.from.as_ref();
    let from = from.map_or(String::new(), |run| {
        format!("The sub-agent of run {run} sent it, not the user. ")
    });
    format!(
        "{}\n{}\n\n[{from}{wanted} Your last message still has to be the whole result of your task.]",
        mark_of(&message.id),
        message.text.trim_end()
    )
}

/// What the run was told and what became of it, for people.
pub fn describe_messages(run: &RunProjection) -> Vec<String> {
    let told = run.messages.iter();
    told.flat_map(|known| {
        let RunMessage {
            id, kind, text, by, ..
        } = &known.message;
        let fate = run.fate_of(known).word();
        let line = format!(
            "message {id} ({}, {by}): {fate}: {}",
            kind.word(),
            first_line(text)
        );
        let answer = known.answered.as_ref();
        [line]
            .into_iter()
            .chain(answer.map(|(answer, _)| format!("  it said: {}", first_line(answer))))
    })
    .collect()
}

fn first_line(text: &str) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let shown = line.chars().take(SHOWN_CHARACTERS_MAX).collect::<String>();
    match shown.len() < text.len() {
        true => format!("{shown} …"),
        false => shown,
    }
}

/// Which of the runs under way is meant by what was typed, and the text for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressed<'a> {
    /// This one.
    Run {
        /// Which.
        run: &'a RunId,
        /// What it is told.
        text: &'a str,
    },
    /// It cannot be told which.
    Nobody {
        /// Why, and what to do.
        why: String,
    },
}

/// So long is the shortest beginning of an id that is taken for one: shorter ones are words.
const ADDRESS_CHARACTERS_MIN: usize = 4;

/// The first word is the run where it begins the id of one; else the only run is meant. The runs may be in any order.
pub fn address<'a>(typed: &'a str, under_way: &'a [RunId]) -> Addressed<'a> {
    let (first, behind) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let named = under_way
        .iter()
        .filter(|run| first.len() >= ADDRESS_CHARACTERS_MIN && run.as_str().starts_with(first));
    match (named.collect::<Vec<_>>().as_slice(), under_way) {
        ([run], _) => Addressed::Run {
            run,
            text: behind.trim_start(),
        },
        ([], [run]) => Addressed::Run { run, text: typed },
        ([], []) => Addressed::Nobody {
            why: "No sub-agent of this session works now.".to_string(),
        },
        (_, several) => {
            let ids = several.iter().map(RunId::as_str).collect::<Vec<_>>();
            Addressed::Nobody {
                why: format!("Say which run, before the text. There are: {}.", ids.join(", ")),
            }
        }
    }
}

/// The same where the run is named apart from the text: whole, or as its beginning. Without a name the only run is meant.
pub fn named<'a>(name: Option<&str>, under_way: &'a [RunId]) -> Result<&'a RunId, String> {
    let name = name.unwrap_or_default().trim();
    let fits = |run: &&RunId| run.as_str().starts_with(name);
    let is_named = name.len() >= ADDRESS_CHARACTERS_MIN;
    let fitting = under_way.iter().filter(fits).collect::<Vec<_>>();
    let ids = under_way.iter().map(RunId::as_str).collect::<Vec<_>>();
    match (fitting.as_slice(), under_way) {
        (_, []) => Err("No sub-agent of this session works now.".to_string()),
        ([run], _) if is_named || name.is_empty() => Ok(run),
        _ if name.is_empty() => Err(format!("Say which run. There are: {}.", ids.join(", "))),
        _ => Err(format!(
            "No run of this session that works now is called so. There are: {}.",
            ids.join(", ")
        )),
    }
}

/// What is kept of what the sub-agent said after a question.
pub fn kept_answer(said: &str) -> String {
    let said = redact(said.trim());
    match said.char_indices().nth(ANSWER_CHARACTERS_MAX) {
        None => said.into_owned(),
        Some((cut, _)) => format!("{}\n[cut here]", &said[..cut]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Proof, Step, TerminalState};
    use crate::projection::RecordedStep;

    fn message(number: u64, text: &str) -> RunMessage {
        RunMessage {
            id: MessageId::new(number),
            kind: MessageKind::Steer,
            text: text.to_string(),
            by: "`impresario steer`".to_string(),
            from: None,
        }
    }

    fn accepted(number: u64) -> Step {
        Step::MessageAccepted {
            message: Box::new(message(number, "left")),
        }
    }

    fn run_of(steps: impl IntoIterator<Item = Step>) -> RunProjection {
        let recorded = steps.into_iter().zip(1..);
        let recorded = recorded.map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        });
        RunProjection::of(&recorded.collect::<Vec<_>>())
    }

    #[track_caller]
    fn check_refused(run: &RunProjection, message: &RunMessage, says: &str) {
        match decide_message(run, message) {
            MessageDecision::Refuse(reason) => assert!(reason.message.contains(says), "{reason:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_is_taken_once_whoever_sends_it_again() {
        let run = run_of([accepted(1)]);
        assert_eq!(
            decide_message(&run, &message(1, "left")),
            MessageDecision::TakenBefore
        );
        assert_eq!(decide_message(&run, &message(2, "left")), MessageDecision::Take);
        check_refused(&run, &message(1, "right"), "Another message");
    }

    #[test]
    fn what_ends_takes_no_message() {
        let ended = Step::Ended {
            state: TerminalState::Succeeded,
            reason: None,
            proof: Proof::NOTHING_STARTED,
        };
        check_refused(&run_of([ended]), &message(1, "left"), "ended already: succeeded");
        let cancelled = Step::CancelRequested { by: "x".to_string() };
        check_refused(&run_of([cancelled]), &message(1, "left"), "about to end");
        let answered = Step::Answered {
            answer: "so".to_string(),
            flags: Vec::new(),
        };
        check_refused(&run_of([answered]), &message(1, "left"), "about to end");
    }

    #[test]
    fn messages_are_bounded_in_size_and_number() {
        let run = RunProjection::default();
        check_refused(&run, &message(1, " \n"), "empty");
        let long = "x".repeat(MESSAGE_CHARACTERS_MAX);
        assert_eq!(decide_message(&run, &message(1, &long)), MessageDecision::Take);
        check_refused(&run, &message(1, &format!("{long}x")), "more than 16000");
        let full = run_of((0..MESSAGES_QUEUED_MAX as u64).map(accepted));
        check_refused(&full, &message(99, "left"), "wait for the sub-agent already");
        let attempt = AttemptNumber(1);
        let all = (0..MESSAGES_MAX as u64).flat_map(|number| {
            let message = MessageId::new(number);
            [accepted(number), Step::MessageDelivered { message, attempt }]
        });
        check_refused(&run_of(all), &message(99, "left"), "takes 64 messages");
    }

    #[test]
    fn a_message_is_told_behind_its_mark_and_a_question_wants_an_answer() {
        let steer = message(7, "use the other lock\n");
        let text = told(&steer);
        assert!(
            text.starts_with(&mark_of(&steer.id)) && text.contains("\nuse the other lock\n\n["),
            "{text}"
        );
        let ask = RunMessage {
            kind: MessageKind::Ask,
            ..steer
        };
        assert!(
            told(&ask).contains("\n\n[This question")
                && told(&ask).contains("Answer it in your next message")
        );
        let from = Some(RunId::new(1, 1));
        assert!(told(&RunMessage { from, ..ask }).contains("sent it, not the user. This question"));
    }

    #[test]
    fn a_conversation_shows_which_messages_it_has_and_what_was_said_next() {
        let both = format!("{}\n\n{}", told(&message(1, "a")), told(&message(2, "b")));
        assert_eq!(marked(&both), [MessageId::new(1), MessageId::new(2)]);
        assert_eq!(marked("[message of the day from the user]"), []);
        let lines = [
            Said::ToIt("the task"),
            Said::ByIt("I look."),
            Said::ToIt(&both),
            Said::ByIt(" "),
            Said::ByIt("half way"),
            Said::ByIt("done"),
        ];
        let standing = |number| find_message(lines, &MessageId::new(number));
        let said_next = Some("half way".to_string());
        assert_eq!(standing(2), MessageStanding::Told { said_next });
        assert_eq!(standing(3), MessageStanding::Missing);
        assert_eq!(
            find_message([Said::ToIt(&both)], &MessageId::new(1)),
            MessageStanding::Told { said_next: None }
        );
    }

    #[test]
    fn what_became_of_each_message_is_told() {
        let attempt = AttemptNumber(1);
        let id = MessageId::new(1);
        let mut steps = vec![accepted(1), accepted(2)];
        steps.push(Step::MessageDelivered {
            message: id.clone(),
            attempt,
        });
        let said = "message m00000001 (steer, `impresario steer`): delivered: left";
        let waits = "message m00000002 (steer, `impresario steer`): queued: left";
        assert_eq!(describe_messages(&run_of(steps.clone())), [said, waits]);
        steps.push(Step::MessageAnswered {
            message: id,
            attempt,
            answer: "half way\nand more".to_string(),
        });
        steps.push(Step::Ended {
            state: TerminalState::Succeeded,
            reason: None,
            proof: Proof::NOTHING_STARTED,
        });
        let told = describe_messages(&run_of(steps));
        let [answered, words, expired] = told.as_slice() else {
            panic!("{told:?}")
        };
        assert!(answered.contains("): answered: left"), "{answered}");
        assert_eq!(words, "  it said: half way …");
        assert!(expired.contains("): expired: left"), "{expired}");
    }

    #[test]
    fn the_run_is_named_first_or_the_only_one() {
        let runs = [RunId::new(1, 1), RunId::new(1 << 40, 2)];
        let named = format!("{} go left", &runs[1].as_str()[..6]);
        let Addressed::Run { run, text } = address(&named, &runs) else {
            panic!("it is named")
        };
        assert_eq!((run, text), (&runs[1], "go left"));
        let only = address("go left", &runs[..1]);
        assert_eq!(
            only,
            Addressed::Run {
                run: &runs[0],
                text: "go left"
            }
        );
        assert!(
            matches!(address("go left", &runs), Addressed::Nobody { why } if why.contains("Say which run"))
        );
        assert!(matches!(address("go left", &[]), Addressed::Nobody { why } if why.contains("No sub-agent")));
    }

    #[test]
    fn a_run_that_is_named_apart_is_never_another_one() {
        let runs = [RunId::new(1, 1), RunId::new(1 << 40, 2)];
        assert_eq!(named(Some(&runs[1].as_str()[..6]), &runs), Ok(&runs[1]));
        assert_eq!(named(None, &runs[..1]), Ok(&runs[0]));
        let refused = |name, runs: &[RunId]| named(name, runs).expect_err("refused");
        assert!(refused(Some("zzzz"), &runs[..1]).contains("is called so"));
        assert!(
            refused(Some("0"), &runs[..1]).contains("is called so"),
            "too short"
        );
        assert!(refused(None, &runs).contains("Say which run"));
        assert!(refused(Some(runs[0].as_str()), &[]).contains("No sub-agent"));
    }

    #[test]
    fn an_answer_is_kept_without_secrets_and_not_without_end() {
        assert_eq!(kept_answer("  half way\n"), "half way");
        let long = kept_answer(&"x".repeat(ANSWER_CHARACTERS_MAX + 1));
        assert!(long.ends_with("x\n[cut here]") && long.chars().count() == ANSWER_CHARACTERS_MAX + 11);
    }
}
