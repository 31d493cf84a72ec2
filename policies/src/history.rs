//! Which part of the conversation do actor and judge get to see?
//!
//! A cut never splits a code point, and when little fits, the newest message is what is kept: the peer gives
//! the room to the oldest, or never returns.

use crate::compat::{cut_units, units};
use crate::domain::{HistorySettings, HistoryStrategy, MiddleMode, ShortNewest};
use crate::render_brief::TRUNCATED_MARK;
use std::borrow::Cow;

/// How the marker of a left out middle begins.
const OMITTED_MARK: &str = "[history-omitted-middle:";
const MARK_UNITS: usize = TRUNCATED_MARK.len();

/// One message of the conversation. How long it is, is counted once, when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage<'a> {
    role: Cow<'a, str>,
    content: Cow<'a, str>,
    units: usize,
}

impl<'a> ChatMessage<'a> {
    /// A message of a `user`, `assistant`, `system` or `tool`.
    pub fn new(role: impl Into<Cow<'a, str>>, content: impl Into<Cow<'a, str>>) -> Self {
        let content = content.into();
        Self {
            role: role.into(),
            units: units(&content),
            content,
        }
    }

    pub fn role(&self) -> &str {
        &self.role
    }

    pub fn content(&self) -> &str {
        &self.content
    }

    /// How much room it takes: the length of the text, where it was cut no less than was left of it.
    pub fn units(&self) -> usize {
        self.units
    }

    fn borrowed(&self) -> ChatMessage<'_> {
        ChatMessage {
            role: Cow::Borrowed(&self.role),
            content: Cow::Borrowed(&self.content),
            units: self.units,
        }
    }

    fn set(&mut self, content: String) {
        self.units = units(&content);
        self.content = Cow::Owned(content);
    }

    /// Cut to `limit`, the mark on top of it. It counts in full even where a code point did not fit, so that what
    /// is left out for it does not depend on where its characters begin.
    fn cut_on_top(&mut self, limit: usize) {
        if self.units > limit {
            let kept = cut_units(&self.content, limit);
            self.set(format!("{kept}{TRUNCATED_MARK}"));
            self.units = limit + MARK_UNITS;
        }
    }

    /// Cut to `limit`, the mark within it where it fits.
    fn cut_within(&mut self, limit: usize) {
        if self.units <= limit {
            return;
        }
        match limit.checked_sub(MARK_UNITS) {
            Some(room) if room > 0 => {
                let kept = cut_units(&self.content, room);
                self.set(format!("{kept}{TRUNCATED_MARK}"));
            }
            _ => self.set(cut_units(&self.content, limit).to_string()),
        }
    }
}

/// Chooses and cuts the messages.
pub fn assemble_history<'a>(
    messages: &'a [ChatMessage<'a>],
    settings: &HistorySettings,
) -> Vec<ChatMessage<'a>> {
    let mut chosen = choose(messages, settings);
    if settings.message_units_max > 0 {
        for message in &mut chosen {
            message.cut_on_top(settings.message_units_max);
        }
    }
    if settings.total_units_max > 0 {
        fit(&mut chosen, settings.total_units_max, settings.short_newest);
    }
    chosen
}

fn choose<'a>(messages: &'a [ChatMessage<'a>], settings: &HistorySettings) -> Vec<ChatMessage<'a>> {
    let (head, tail) = (settings.head_messages, settings.tail_messages);
    if settings.strategy == HistoryStrategy::Recent || messages.len() <= head.saturating_add(tail) {
        return messages.iter().map(ChatMessage::borrowed).collect();
    }
    let (first, rest) = messages.split_at(head);
    let (middle, last) = rest.split_at(rest.len() - tail);
    let mut chosen = Vec::with_capacity(head + 1 + tail);
    chosen.extend(first.iter().map(ChatMessage::borrowed));
    if settings.middle_mode == MiddleMode::Marker {
        let left_out = units_of(middle);
        let content = format!("{OMITTED_MARK} {} message(s), ~{left_out} chars]", middle.len());
        chosen.push(ChatMessage::new("system", content));
    }
    chosen.extend(last.iter().map(ChatMessage::borrowed));
    chosen
}

fn units_of(messages: &[ChatMessage<'_>]) -> usize {
    messages.iter().map(ChatMessage::units).sum()
}

fn fit(chosen: &mut Vec<ChatMessage<'_>>, limit: usize, short_newest: ShortNewest) {
    let mut sum = units_of(chosen);
    if sum <= limit {
        return;
    }
    let is_marker =
        |message: &ChatMessage<'_>| message.role == "system" && message.content.starts_with(OMITTED_MARK);
    if let Some(at) = chosen.iter().position(is_marker) {
        sum -= chosen.remove(at).units;
    }
    sum -= leave_out_middle(chosen, sum.saturating_sub(limit));
    if sum > limit {
        fit_newest_first(chosen, limit, short_newest);
    }
}

/// Leaves out, one after the other, the message in the middle of those that are left, until `surplus` units are gone
/// or two messages are left. Says how many units went.
fn leave_out_middle(chosen: &mut Vec<ChatMessage<'_>>, surplus: usize) -> usize {
    let (mut from, mut to) = (chosen.len() / 2, chosen.len() / 2);
    let mut gone = 0;
    while gone < surplus && from + chosen.len() - to > 2 {
        let middle = (from + chosen.len() - to) / 2;
        if middle < from {
            from -= 1;
            gone += chosen[from].units;
        } else {
            gone += chosen[to].units;
            to += 1;
        }
    }
    chosen.drain(from..to);
    gone
}

/// At most two messages are left, and they are too long.
fn fit_newest_first(chosen: &mut Vec<ChatMessage<'_>>, limit: usize, short_newest: ShortNewest) {
    let Some(mut newest) = chosen.pop() else { return };
    let others = units_of(chosen);
    if others + MARK_UNITS < limit {
        newest.cut_within(limit - others);
        chosen.push(newest);
        return;
    }
    let alone = chosen.is_empty();
    let short = newest.units <= MARK_UNITS && limit >= MARK_UNITS;
    if short_newest == ShortNewest::Marked && (alone || short) {
        newest.set(cut_units(TRUNCATED_MARK, limit).to_string());
        for older in chosen.iter_mut() {
            older.set(cut_units(&older.content, limit - MARK_UNITS).to_string());
        }
        chosen.push(newest);
        return;
    }
    newest.cut_within(limit);
    let room = limit - newest.units;
    chosen.truncate(1);
    for older in chosen.iter_mut() {
        older.cut_within(room);
    }
    chosen.retain(|older| older.units > 0 && older.units <= room);
    chosen.push(newest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(message_units_max: usize, total_units_max: usize) -> HistorySettings {
        HistorySettings {
            strategy: HistoryStrategy::Recent,
            head_messages: 1,
            tail_messages: 1,
            middle_mode: MiddleMode::Marker,
            message_units_max,
            total_units_max,
            short_newest: ShortNewest::Kept,
        }
    }

    fn message(content: &str) -> ChatMessage<'_> {
        ChatMessage::new("user", content)
    }

    fn check(contents: &[&str], settings: HistorySettings, expected: &[&str]) {
        let messages: Vec<_> = contents.iter().map(|content| message(content)).collect();
        let ours = assemble_history(&messages, &settings);
        assert_eq!(
            ours.iter().map(|message| &*message.content).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn the_newest_message_is_never_sacrificed() {
        let old = "a".repeat(100);
        check(
            &[&old, "the question"],
            settings(0, 40),
            &["aaaaaaaaaaaaa\n[...truncated]", "the question"],
        );
        check(&[&old, "the question"], settings(0, 12), &["the question"]);
    }

    #[test]
    fn a_tiny_limit_ends_too() {
        for limit in 1..20 {
            check_total(&["hello", "world, this is longer"], limit);
        }
    }

    fn check_total(contents: &[&str], limit: usize) {
        let messages: Vec<_> = contents.iter().map(|content| message(content)).collect();
        let ours = assemble_history(&messages, &settings(0, limit));
        let total = units_of(&ours);
        assert!(total <= limit, "{total} > {limit}");
        assert!(ours.last().is_some_and(|message| !message.content().is_empty()));
    }

    #[test]
    fn a_long_middle_leaves_a_line() {
        let settings = HistorySettings {
            strategy: HistoryStrategy::HeadTail,
            ..settings(0, 0)
        };
        check(
            &["a", "bb", "ccc", "d"],
            settings,
            &["a", "[history-omitted-middle: 2 message(s), ~5 chars]", "d"],
        );
    }

    proptest::proptest! {
        #[test]
        fn what_is_left_out_is_always_in_the_middle(lengths in proptest::collection::vec(0usize..9, 0..20),
                                                    surplus in 0usize..100) {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let mut ours: Vec<_> = texts.iter().map(|text| message(text)).collect();
            let mut one_by_one = ours.clone();
            let mut gone = 0;
            while gone < surplus && one_by_one.len() > 2 {
                gone += one_by_one.remove(one_by_one.len() / 2).units;
            }
            proptest::prop_assert_eq!((leave_out_middle(&mut ours, surplus), ours), (gone, one_by_one));
        }

        #[test]
        fn the_total_is_kept(contents in proptest::collection::vec(".{0,40}", 0..9), limit in 1usize..120,
                             head in 0usize..4, tail in 0usize..4, each in 0usize..30, head_tail: bool) {
            let strategy = if head_tail { HistoryStrategy::HeadTail } else { HistoryStrategy::Recent };
            let settings = HistorySettings {
                strategy, head_messages: head, tail_messages: tail, ..settings(each, limit)
            };
            let messages: Vec<_> = contents.iter().map(|content| message(content)).collect();
            let ours = assemble_history(&messages, &settings);
            let total = units_of(&ours);
            proptest::prop_assert!(total <= limit);
        }
    }
}
