//! What did the providers' caches make of the prompts of a run, and why?

use crate::cache_markers::{Charge, prices_of};
use crate::domain::{Caller, ModelCall, PromptSeen};
use crate::figures::duration_words;

/// An entry lives so long after its last use.
const LIVES_MS: u64 = 300_000;
/// What is expected is guessed from characters: less than this part of it read is worth a word.
const MUCH_LESS: f64 = 0.5;

/// One call of a model, as it was charged for its prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedCall {
    pub by: &'static str,
    /// The model that answered, else the one that was asked for.
    pub model: String,
    /// As the provider counted; none where it did not.
    pub charge: Option<Charge>,
    /// The same in plain tokens.
    pub cost: f64,
    pub why: String,
}

/// All calls of a run, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub calls: Vec<ExplainedCall>,
    pub charge: Charge,
    pub cost: f64,
}

impl Explanation {
    /// What the cache saved of what prompts would have cost without one, in percent; negative where it cost more.
    pub fn saved_percent(&self) -> f64 {
        match self.charge.tokens() {
            0 => 0.0,
            tokens => 100.0 * (1.0 - self.cost / tokens as f64),
        }
    }
}

/// Explains them.
pub fn explain<'a>(calls: impl IntoIterator<Item = &'a ModelCall>) -> Explanation {
    let mut explanation = Explanation {
        calls: Vec::new(),
        charge: Charge::default(),
        cost: 0.0,
    };
    let mut earlier = None;
    for call in calls {
        let explained = explain_call(call, earlier);
        explanation.charge += explained.charge.unwrap_or_default();
        explanation.cost += explained.cost;
        explanation.calls.push(explained);
        if let Caller::SubAgent { .. } = call.by {
            earlier = Some(call);
        }
    }
    explanation
}

fn explain_call(call: &ModelCall, earlier: Option<&ModelCall>) -> ExplainedCall {
    let charge = call.used.map(|used| Charge {
        read: used.cache_read,
        written: used.cache_write,
        written_for_an_hour: 0,
        plain: used.input,
    });
    let prices = prices_of(&call.requested);
    ExplainedCall {
        by: match call.by {
            Caller::Actor { .. } => "brief",
            Caller::Judge { .. } => "judge",
            Caller::SubAgent { .. } => "sub-agent",
        },
        model: call.served.clone().unwrap_or_else(|| call.requested.clone()),
        charge,
        cost: charge.map_or(0.0, |charge| charge.cost(prices)),
        why: why(call, charge, earlier),
    }
}

fn why(call: &ModelCall, charge: Option<Charge>, earlier: Option<&ModelCall>) -> String {
    let Some(charge) = charge else {
        return "cut off: nobody counted".to_string();
    };
    if charge.tokens() == 0 {
        return "no answer: nothing was charged".to_string();
    }
    let Some(prompt) = &call.prompt else {
        return "a prompt that nobody looked at".to_string();
    };
    let mut words = Vec::new();
    if let (Some(before), Caller::SubAgent { attempt }) = (earlier, call.by)
        && before.by != call.by
    {
        words.push(format!("attempt {attempt} begins"));
    }
    if let Some((number, what)) = &prompt.broke_at {
        words.push(format!(
            "parts from an earlier request at block {number} of {}, {what}",
            prompt.blocks
        ));
    }
    if earlier.is_some_and(|earlier| earlier.requested != call.requested) {
        words.push("the first on this model".to_string());
    }
    words.extend(why_little_was_read(prompt, &charge, earlier.is_none()));
    if prompt.waited_ms > 0 {
        let waited = duration_words(prompt.waited_ms as f64);
        words.push(format!("waited {waited} for another sub-agent to begin"));
    }
    words.join("; ")
}

fn why_little_was_read(prompt: &PromptSeen, charge: &Charge, is_first: bool) -> Option<String> {
    if charge.read > 0 {
        return match is_first {
            true => Some("begins as another request did".to_string()),
            false if (charge.read as f64) < prompt.expected_read as f64 * MUCH_LESS => Some(format!(
                "about {} tokens were expected to be read",
                prompt.expected_read
            )),
            false => None,
        };
    }
    if charge.written == 0 && prompt.tokens < prompt.tokens_min {
        return Some(format!(
            "shorter than what is cached, {} tokens",
            prompt.tokens_min
        ));
    }
    if let Some(idle) = prompt.idle_ms.filter(|idle| *idle >= LIVES_MS) {
        return Some(format!(
            "the request before was {} ago, and what it cached is gone",
            duration_words(idle as f64)
        ));
    }
    match is_first {
        true => Some("nothing of it was in the cache".to_string()),
        false => (prompt.expected_read > 0)
            .then(|| format!("about {} tokens were expected to be read", prompt.expected_read)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, ModelUsage};

    fn call(read: u64, written: u64, plain: u64, prompt: Option<PromptSeen>) -> ModelCall {
        ModelCall {
            by: Caller::SubAgent {
                attempt: AttemptNumber(1),
            },
            requested: "anthropic/claude-sonnet-5".into(),
            served: None,
            used: Some(ModelUsage {
                input: plain,
                cache_read: read,
                cache_write: written,
                ..ModelUsage::default()
            }),
            reserved: ModelUsage::default(),
            prompt: prompt.map(Box::new),
        }
    }

    fn seen() -> PromptSeen {
        PromptSeen {
            blocks: 9,
            tokens: 5_000,
            tokens_min: 1_024,
            ..PromptSeen::default()
        }
    }

    fn check(calls: &[ModelCall], expected: &str) {
        let explained = explain(calls).calls.pop();
        assert_eq!(explained.map(|call| call.why).as_deref(), Some(expected));
    }

    #[test]
    fn each_reason_has_its_words() {
        let first = call(0, 900, 100, Some(seen()));
        check(std::slice::from_ref(&first), "nothing of it was in the cache");
        let waited = PromptSeen {
            waited_ms: 1_200,
            ..seen()
        };
        check(
            &[call(900, 0, 100, Some(waited))],
            "begins as another request did; waited 1.2s for another sub-agent to begin",
        );
        check(&[first.clone(), call(1_000, 50, 0, Some(seen()))], "");
        let broke = PromptSeen {
            broke_at: Some((3, "the system prompt".into())),
            expected_read: 700,
            ..seen()
        };
        check(
            &[first.clone(), call(0, 50, 0, Some(broke))],
            "parts from an earlier request at block 3 of 9, the system prompt; about 700 tokens were expected to be read",
        );
        let idle = PromptSeen {
            idle_ms: Some(600_000),
            ..seen()
        };
        check(
            &[first.clone(), call(0, 50, 0, Some(idle))],
            "the request before was 10m 0s ago, and what it cached is gone",
        );
        let short = PromptSeen {
            tokens: 900,
            ..seen()
        };
        check(
            &[call(0, 0, 900, Some(short))],
            "shorter than what is cached, 1024 tokens",
        );
        check(&[call(0, 0, 900, None)], "a prompt that nobody looked at");
        check(&[call(0, 0, 0, Some(seen()))], "no answer: nothing was charged");
        let again = ModelCall {
            by: Caller::SubAgent {
                attempt: AttemptNumber(2),
            },
            ..call(1_000, 50, 0, Some(seen()))
        };
        check(&[first.clone(), again], "attempt 2 begins");
        let cut = ModelCall { used: None, ..first };
        check(&[cut], "cut off: nobody counted");
    }

    #[test]
    fn what_is_saved_counts_what_was_written_too() {
        let explained = explain(&[call(0, 1_000, 0, Some(seen())), call(1_000, 0, 0, Some(seen()))]);
        assert!((explained.cost - 1_350.0).abs() < 1e-9);
        assert!((explained.saved_percent() - 32.5).abs() < 1e-9);
    }
}
