//! What a sub-agent has said so far: the partial answer of an attempt that is cut off.

use crate::gateways::RunnerEvent;
use impresario_policies::whole_answer::{KEPT_BYTES_MAX, keep_what_was_said};

/// So much of a message is shown while it comes.
const LAST_WORDS_BYTES_MAX: usize = 4_000;

/// The texts of the messages so far, a blank line between two of them.
#[derive(Debug, Default)]
pub(super) struct Said {
    text: String,
    /// What there was to collect, which may be more than there was room for.
    bytes: usize,
    /// The message is over: what is said next belongs to another one.
    message_over: bool,
    /// Where the last message begins.
    message_at: usize,
}

impl Said {
    /// A message was paid for or calls tools: both end it.
    pub(super) fn heard(&mut self, event: &RunnerEvent) {
        if matches!(
            event,
            RunnerEvent::Called { .. } | RunnerEvent::ToolStarted { .. } | RunnerEvent::ToolEnded { .. }
        ) {
            self.message_over = true;
        }
    }

    pub(super) fn push(&mut self, delta: &str) {
        if std::mem::take(&mut self.message_over) && !self.text.is_empty() {
            self.push_bounded("\n\n");
            self.message_at = self.text.len();
        }
        self.push_bounded(delta);
    }

    /// The end of the last message, as far as it came.
    pub(super) fn last_words(&self) -> &str {
        let far_enough = self.text.len().saturating_sub(LAST_WORDS_BYTES_MAX);
        let begin = self.text.ceil_char_boundary(far_enough.max(self.message_at));
        self.text.get(begin..).unwrap_or_default()
    }

    pub(super) fn take(&mut self) -> String {
        self.message_at = 0;
        keep_what_was_said(std::mem::take(&mut self.text), std::mem::take(&mut self.bytes))
    }

    fn push_bounded(&mut self, text: &str) {
        self.bytes += text.len();
        let room = KEPT_BYTES_MAX.saturating_sub(self.text.len());
        self.text
            .push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES_MAX, Said};
    use crate::gateways::{ModelUsage, RunnerEvent};

    fn called() -> RunnerEvent {
        RunnerEvent::Called {
            served: None,
            used: Some(ModelUsage::default()),
        }
    }

    #[test]
    fn messages_stand_apart_and_the_deltas_of_one_do_not() {
        let mut said = Said::default();
        said.heard(&called());
        said.push("part 1 ");
        said.push("now.");
        said.heard(&called());
        said.heard(&RunnerEvent::ToolStarted {
            call: "1.1:a".into(),
            tool: "read".into(),
        });
        said.push("Looking at ");
        said.heard(&RunnerEvent::Alive);
        said.push("part 2");
        assert_eq!(said.last_words(), "Looking at part 2");
        assert_eq!(said.take(), "part 1 now.\n\nLooking at part 2");
    }

    #[test]
    fn there_is_room_for_so_much_and_what_is_beyond_is_counted() {
        let mut said = Said::default();
        said.push(&"x".repeat(KEPT_BYTES_MAX));
        said.push("beyond");
        let text = said.take();
        assert!(text.ends_with("x\n\n[cut here: of 8,388,614 bytes the first 8,388,608 are kept]"));
        assert_eq!(said.take(), "");
    }
}
