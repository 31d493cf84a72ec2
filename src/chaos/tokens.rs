//! P6, token by token: what the journal says that an attempt used, against what the models' server charged.
//!
//! The server does not know of runs. An attempt's calls are those for its model while it was under way; attempts on one
//! model at one time are counted together.

use super::auditor::{kind, number, text};
use super::evidence::{JournalRow, ModelCallSeen, Tokens};
use serde_json::Value;
use std::collections::BTreeMap;

/// These endings are a sub-agent's own last word: it had heard all of what it was answered before. Any other one may
/// have come between an answer and whoever would have told of it.
const LAST_WORDS: [&str; 8] = [
    "answered",
    "unavailable",
    "rate_limited",
    "authentication",
    "context_overflow",
    "refused",
    "too_many_calls",
    "empty_answer",
];

/// An attempt as the journal tells it.
struct Attempt<'a> {
    run: &'a str,
    number: u64,
    /// As its provider knows it.
    model: &'a str,
    from_ms: u64,
    to_ms: u64,
    said_last: bool,
    /// None while it is under way, and where nobody is left who heard it.
    used: Option<Tokens>,
}

impl Attempt<'_> {
    fn made(&self, call: &ModelCallSeen) -> bool {
        self.model == call.model && (self.from_ms..=self.to_ms).contains(&call.at_ms)
    }
}

/// Runs, and what is wrong with the tokens of their attempts.
pub(super) fn miscounted(
    runs: &BTreeMap<&str, Vec<&JournalRow>>,
    models: &[ModelCallSeen],
) -> Vec<(String, String)> {
    let attempts = runs.iter().flat_map(|(run, rows)| attempts_of(run, rows));
    let wrong = together(attempts.collect()).into_iter().filter_map(|attempts| {
        let made = |call: &&ModelCallSeen| attempts.iter().any(|attempt| attempt.made(call));
        let calls = models.iter().filter(made).collect::<Vec<_>>();
        Some((
            attempts.first()?.run.to_string(),
            what_is_wrong(&attempts, &calls)?,
        ))
    });
    wrong.collect()
}

fn attempts_of<'a>(run: &'a str, rows: &[&'a JournalRow]) -> Vec<Attempt<'a>> {
    let of = |wanted: &'static str| rows.iter().filter(move |row| kind(row) == wanted);
    let started = of("attempt_started").filter(|row| text(&row.step, "model") != "offline");
    let attempt = started.map(|start| {
        let attempt = number(&start.step, "attempt");
        let end = of("attempt_ended").find(|row| number(&row.step, "attempt") == attempt);
        let model = text(&start.step, "model");
        Attempt {
            run,
            number: attempt,
            model: model.split_once('/').map_or(model, |(_, id)| id),
            from_ms: start.at_ms,
            to_ms: end.map_or(u64::MAX, |end| end.at_ms),
            said_last: end.is_some_and(|end| LAST_WORDS.contains(&text(&end.step, "ending"))),
            used: end.and_then(|end| end.step.get("used")).map(tokens_of),
        }
    });
    attempt.collect()
}

fn tokens_of(used: &Value) -> Tokens {
    Tokens {
        input: number(used, "input"),
        output: number(used, "output"),
        cache_read: number(used, "cache_read"),
        cache_write: number(used, "cache_write"),
    }
}

/// Those on one model whose times touch, together.
fn together(mut attempts: Vec<Attempt<'_>>) -> Vec<Vec<Attempt<'_>>> {
    attempts.sort_by(|one, other| (one.model, one.from_ms).cmp(&(other.model, other.from_ms)));
    let mut groups = Vec::<Vec<Attempt<'_>>>::new();
    for attempt in attempts {
        let touches = |other: &Attempt<'_>| other.model == attempt.model && other.to_ms >= attempt.from_ms;
        match groups.last_mut().filter(|group| group.iter().any(touches)) {
            Some(group) => group.push(attempt),
            None => groups.push(vec![attempt]),
        }
    }
    groups
}

fn what_is_wrong(attempts: &[Attempt<'_>], calls: &[&ModelCallSeen]) -> Option<String> {
    let used = sum(attempts.iter().filter_map(|attempt| attempt.used));
    let most = sum(calls.iter().map(|call| at_most(call)));
    let all_known = attempts.iter().all(|attempt| attempt.used.is_some());
    let least = match all_known {
        true => sum(surely_heard(attempts, calls).map(|call| call.used)),
        false => Tokens::default(),
    };
    let is_right = of_each_kind(least, used)
        .into_iter()
        .chain(of_each_kind(used, most))
        .all(|(smaller, larger)| smaller <= larger);
    let named = attempts
        .iter()
        .map(|attempt| format!("{}.{}", attempt.run, attempt.number));
    (!is_right).then(|| {
        format!(
            "the models' server charged at least {least:?} and at most {most:?}, and the journal has {used:?} of {}",
            named.collect::<Vec<_>>().join(", ")
        )
    })
}

/// An answer that was cut off is charged as far as it came; to begin one is charged as one token.
fn at_most(call: &ModelCallSeen) -> Tokens {
    let begun = u64::from(!call.whole && call.used != Tokens::default());
    Tokens {
        output: call.used.output.max(begun),
        ..call.used
    }
}

/// Answers that were sent whole, to an attempt that lived to tell: its last word came later, or its next call.
fn surely_heard<'a>(
    attempts: &[Attempt<'_>],
    calls: &'a [&'a ModelCallSeen],
) -> impl Iterator<Item = &'a ModelCallSeen> {
    let surely = match attempts {
        attempts if attempts.iter().all(|attempt| attempt.said_last) => calls.len(),
        [_] => calls.len().saturating_sub(1),
        // Nobody can say whose call was the last one of those that were cut off.
        _ => 0,
    };
    calls[..surely].iter().copied().filter(|call| call.whole)
}

fn of_each_kind(one: Tokens, other: Tokens) -> [(u64, u64); 4] {
    [
        (one.input, other.input),
        (one.output, other.output),
        (one.cache_read, other.cache_read),
        (one.cache_write, other.cache_write),
    ]
}

fn sum(tokens: impl Iterator<Item = Tokens>) -> Tokens {
    tokens.fold(Tokens::default(), |sum, one| Tokens {
        input: sum.input + one.input,
        output: sum.output + one.output,
        cache_read: sum.cache_read + one.cache_read,
        cache_write: sum.cache_write + one.cache_write,
    })
}
