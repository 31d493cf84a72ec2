//! How did an attempt end? Read from what was seen, never from an exit code alone: Pi exits 0 on an exhausted 529.

mod wordings;

#[cfg(test)]
mod tests;

use crate::domain::{AttemptEnding, EndFacts, Overrun};
use crate::tool_call::CALLS_IN_A_REPLY_MAX;
use std::time::Duration;

pub use wordings::shorten;

const DETAIL_CHARACTERS_MAX: usize = 500;

/// So many processes a sub-agent may have at a time, its tools' included.
pub const PROCESSES_MAX: u32 = 1_000;

/// Reads the ending of an attempt from the terminal event and the last message of the model.
///
/// Clocks are not known here: who stopped an attempt because a clock fired says so instead.
pub fn read_ending(facts: &EndFacts) -> AttemptEnding {
    match facts.overrun {
        Some(Overrun::Calls(_)) => return AttemptEnding::TooManyCalls,
        Some(Overrun::Processes(_)) => return AttemptEnding::TooManyProcesses,
        None => {}
    }
    // What it said before its last call was refused, or in another form, is no answer.
    if facts.over_budget.is_some() {
        return AttemptEnding::OverBudget;
    }
    if facts.malformed.is_some() {
        return AttemptEnding::MalformedAnswer;
    }
    let answered = facts.terminal_event && ended_by_itself(facts) && !facts.answer.trim().is_empty();
    if answered {
        return AttemptEnding::Answered;
    }
    if facts.stop_ordered {
        return AttemptEnding::Cancelled;
    }
    if facts.keeper_died || somebody_killed_it(facts) {
        return AttemptEnding::Lost;
    }
    if !facts.terminal_event {
        return read_ending_without_terminal_event(facts);
    }
    match facts.stop_reason.as_deref() {
        Some("error") => wordings::classify(error_text(facts), facts.raw_stop_reason.as_deref()),
        Some("aborted" | "pending") => AttemptEnding::Crashed,
        None if facts.error_message.is_some() => {
            wordings::classify(error_text(facts), facts.raw_stop_reason.as_deref())
        }
        None | Some(_) => AttemptEnding::EmptyAnswer,
    }
}

fn ended_by_itself(facts: &EndFacts) -> bool {
    match facts.stop_reason.as_deref() {
        Some("error" | "aborted" | "pending") => false,
        Some(_) | None => facts.error_message.is_none(),
    }
}

/// No sub-agent ends by a signal of its own will: somebody killed it, the system for want of memory included. One that
/// hears a signal aborts what it is doing, or ends with the code that a shell gives a signal.
fn somebody_killed_it(facts: &EndFacts) -> bool {
    let by_code = matches!(facts.exit_code, Some(129 | 130 | 137 | 143));
    let cut_off = !facts.terminal_event && (facts.exit_signal.is_some() || by_code);
    let aborted = facts.terminal_event && facts.stop_reason.as_deref() == Some("aborted");
    !facts.killed_by_us && (cut_off || aborted)
}

fn read_ending_without_terminal_event(facts: &EndFacts) -> AttemptEnding {
    if facts.read_lines > 0 {
        return AttemptEnding::Crashed;
    }
    if facts.unread_lines > 0 {
        return AttemptEnding::ProtocolError;
    }
    let gave_up_at_once = facts.exit_code.is_some_and(|code| code != 0) && facts.exit_signal.is_none();
    let never_began = facts.error_message.is_some();
    if !gave_up_at_once && !never_began {
        return AttemptEnding::Crashed;
    }
    if wordings::lacks_credentials(&facts.stderr_tail) || wordings::lacks_credentials(error_text(facts)) {
        return AttemptEnding::Authentication;
    }
    AttemptEnding::SpawnFailed
}

fn error_text(facts: &EndFacts) -> &str {
    facts.error_message.as_deref().unwrap_or_default()
}

/// Which ending the words of a provider that did not answer stand for.
pub fn read_words(words: &str) -> AttemptEnding {
    wordings::classify(words, None)
}

/// When a provider says it may be asked again, if its words say so.
pub fn retry_after(words: &str) -> Option<Duration> {
    wordings::retry_after(words)
}

/// Whether a provider's words begin with the status of its answer.
pub fn says_its_status(words: &str) -> bool {
    wordings::status_first(words).is_some()
}

/// Whether it was never asked: no connection to it came about or held.
pub fn says_nobody_was_reached(detail: &str) -> bool {
    wordings::nobody_was_reached(detail)
}

/// Whether a provider's words say that it has no such model: asking it again is in vain.
pub fn says_no_such_model(detail: &str) -> bool {
    wordings::status(detail) == Some(404)
}

/// Whether a provider's words may mean that its model takes no pictures: the request as it was is refused. Providers
/// answer so with one of these, in words of their own (OpenAI 400, OpenRouter 404).
pub fn may_refuse_pictures(detail: &str) -> bool {
    matches!(wordings::status(detail), Some(400 | 404 | 415 | 422))
}

/// Says what was seen, for a person: at most 500 characters, empty when there is nothing to say.
pub fn describe_ending(facts: &EndFacts, ending: AttemptEnding) -> String {
    let text = match ending {
        AttemptEnding::Answered => describe_answer(facts),
        AttemptEnding::EmptyAnswer => describe_silence(facts),
        AttemptEnding::Crashed | AttemptEnding::Lost => join(&describe_exit(facts), last_words(facts)),
        AttemptEnding::TooManyCalls | AttemptEnding::TooManyProcesses => describe_overrun(facts),
        AttemptEnding::OverBudget => facts.over_budget.clone().unwrap_or_default(),
        AttemptEnding::MalformedAnswer => facts.malformed.clone().unwrap_or_default(),
        AttemptEnding::SpawnFailed => join(&describe_start(facts), last_words(facts)),
        AttemptEnding::ProtocolError => format!(
            "it printed {} lines that were not the protocol and none that was",
            facts.unread_lines
        ),
        AttemptEnding::Authentication if !facts.terminal_event => last_words(facts).to_string(),
        AttemptEnding::Refused => describe_refusal(facts),
        AttemptEnding::Unavailable
        | AttemptEnding::RateLimited
        | AttemptEnding::Authentication
        | AttemptEnding::ContextOverflow => wordings::shorten(error_text(facts)),
        AttemptEnding::Cancelled
        | AttemptEnding::StartUpSilence
        | AttemptEnding::Inactivity
        | AttemptEnding::Deadline => String::new(),
    };
    text.chars().take(DETAIL_CHARACTERS_MAX).collect()
}

fn describe_answer(facts: &EndFacts) -> String {
    match facts.stop_reason.as_deref() {
        Some("length") => "the answer was cut off at the model's output limit".to_string(),
        Some(_) | None => String::new(),
    }
}

fn describe_silence(facts: &EndFacts) -> String {
    match facts.stop_reason.as_deref() {
        Some("length") => "the model reached its output limit before it wrote an answer".to_string(),
        Some("toolUse") => "the sub-agent ended after a tool call, without an answer".to_string(),
        Some(_) | None => "the model ended without writing anything".to_string(),
    }
}

fn describe_refusal(facts: &EndFacts) -> String {
    let said = wordings::shorten(error_text(facts));
    match facts.raw_stop_reason.as_deref() {
        Some(reason) if !said.contains(reason) => join(&said, &format!("stop reason {reason}")),
        Some(_) | None => said,
    }
}

fn describe_overrun(facts: &EndFacts) -> String {
    match facts.overrun {
        Some(Overrun::Calls(count)) => {
            format!("{count} tool calls stand in one reply, {CALLS_IN_A_REPLY_MAX} may")
        }
        Some(Overrun::Processes(count)) => {
            format!("it had {count} processes at a time, {PROCESSES_MAX} are allowed")
        }
        None => String::new(),
    }
}

fn describe_exit(facts: &EndFacts) -> String {
    if facts.keeper_died {
        return "the keeper of its processes died".to_string();
    }
    match (facts.exit_signal, facts.exit_code) {
        (Some(signal), _) => format!("the process died of signal {signal} before it was done"),
        (None, Some(code)) => format!("the process exited with code {code} before it was done"),
        (None, None) => match facts.stop_reason.as_deref() {
            Some("aborted") => "the sub-agent was aborted, though nobody here asked for it".to_string(),
            Some(_) | None => "the process was gone before it was done".to_string(),
        },
    }
}

fn describe_start(facts: &EndFacts) -> String {
    match (&facts.error_message, facts.exit_code) {
        (Some(message), _) => message.clone(),
        (None, Some(code)) => format!("the process exited with code {code} before it said anything"),
        (None, None) => "the process did not start".to_string(),
    }
}

fn last_words(facts: &EndFacts) -> &str {
    facts.stderr_tail.trim()
}

fn join(first: &str, second: &str) -> String {
    if first.is_empty() || second.is_empty() {
        return format!("{first}{second}");
    }
    format!("{first}: {second}")
}
