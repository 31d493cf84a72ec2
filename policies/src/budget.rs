//! Does the next call of a model fit into what may be spent?
//!
//! A call is reserved before it begins and settled when it is over, in every scope that limits it. What was reserved and
//! never settled counts as spent: a call that was cut off may have been paid for.

use crate::domain::{Cap, GroupId, ModelCall, ModelUsage, RunRequest, SessionId};
use crate::prices::cost_usd;

/// From so much of a cap on, whoever spends is told to come to an end.
const CONCLUDE_AT: f64 = 0.8;
/// A token of text has about so many bytes (Anthropic's and OpenAI's rule of thumb for English).
const BYTES_PER_TOKEN: u64 = 4;
/// A reply is reckoned with so many tokens before anybody knows. Most replies of an agent are calls of tools.
const REPLY_TOKENS: u64 = 1_000;

/// What a sub-agent is told when most of its budget is spent.
pub const CONCLUDE: &str = "Most of what this task may cost is spent. Conclude now: begin nothing new, and answer with what \
    you have. Say what is left to do.";

/// What several runs spend from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The members of a group together.
    Tree(GroupId),
    Session(SessionId),
    /// Since midnight UTC, everything of this user.
    Day,
}

/// What was spent or is to be spent, as caps count it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub usd: f64,
    pub tokens: u64,
}

impl Spent {
    /// Of a call: at its price, else at what is assumed for its tokens.
    pub fn of(usage: &ModelUsage, assumed_usd_per_million: f64) -> Self {
        let assumed = || usage.tokens() as f64 * assumed_usd_per_million / 1_000_000.0;
        Self {
            usd: usage.cost_usd.unwrap_or_else(assumed),
            tokens: usage.tokens(),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            usd: self.usd + other.usd,
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    pub fn minus(self, other: Self) -> Self {
        Self {
            usd: (self.usd - other.usd).max(0.0),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    fn exceeds(self, cap: &Cap) -> bool {
        cap.usd.is_some_and(|usd| self.usd > usd) || cap.tokens.is_some_and(|tokens| self.tokens > tokens)
    }

    fn words(self, unit: Unit) -> String {
        match unit {
            Unit::Usd => format!("${:.4}", self.usd),
            Unit::Tokens => format!("{} tokens", self.tokens),
        }
    }
}

/// In what a cap is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Usd,
    Tokens,
}

impl Unit {
    /// Of a cap that `all` exceeds.
    fn exceeded(cap: &Cap, all: Spent) -> Self {
        match cap.usd {
            Some(usd) if all.usd > usd => Self::Usd,
            Some(_) | None => Self::Tokens,
        }
    }

    fn cap_words(self, cap: &Cap) -> String {
        match self {
            Self::Usd => format!("${}", cap.usd.unwrap_or_default()),
            Self::Tokens => format!("{} tokens", cap.tokens.unwrap_or_default()),
        }
    }

    /// The settings that say it.
    fn settings(self, whose: &[&str]) -> String {
        let unit = match self {
            Self::Usd => "Usd",
            Self::Tokens => "Tokens",
        };
        let named = whose.iter().map(|whose| format!("budget.{whose}{unit}"));
        named.collect::<Vec<_>>().join(" or ")
    }
}

/// A scope with what may be spent in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub scope: Scope,
    pub cap: Cap,
}

/// What a run may still spend: by itself, and out of what it shares with others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allowance {
    /// One call.
    pub call: Cap,
    /// The run. Alone, it is its own tree, and the smaller of both caps holds.
    pub run: Cap,
    pub shared: Vec<Limit>,
    /// What the run has spent.
    pub spent: Spent,
    /// What a million tokens without a price count as, in US dollars.
    pub assumed_usd_per_million: f64,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallDecision {
    Make {
        /// So much is spent with it that the run should come to an end.
        conclude: bool,
    },
    /// It may not, and this is why.
    Refuse(String),
}

impl Allowance {
    /// Of a run, after the calls it has made.
    pub fn of(request: &RunRequest, calls: &[ModelCall]) -> Self {
        let budget = &request.terms.budget;
        let assumed = budget.assumed_usd_per_million;
        let (run, tree) = match &request.group {
            None => (smaller(budget.run, budget.tree), None),
            Some(member) => (budget.run, Some(Scope::Tree(member.group.clone()))),
        };
        let session = request.origin.session.clone().map(Scope::Session);
        let scopes = [
            (tree, budget.tree),
            (session, budget.session),
            (Some(Scope::Day), budget.day),
        ];
        let limited = scopes.into_iter().filter(|(_, cap)| !cap.is_none());
        let spent = calls.iter().map(|call| Spent::of(&call.counted(), assumed));
        Self {
            call: budget.call,
            run,
            shared: limited
                .filter_map(|(scope, cap)| Some(Limit { scope: scope?, cap }))
                .collect(),
            spent: spent.fold(Spent::default(), Spent::plus),
            assumed_usd_per_million: assumed,
        }
    }

    /// Whether a call that takes `want` may begin, as far as the run alone is concerned. Calls before it that are not
    /// settled yet, `under_way`, count as spent.
    pub fn decide_call(&self, want: Spent, under_way: Spent) -> CallDecision {
        let spent = self.spent.plus(under_way);
        if want.exceeds(&self.call) {
            let unit = Unit::exceeded(&self.call, want);
            return CallDecision::Refuse(format!(
                "the next call would take about {}, and one call may take {} ({})",
                want.words(unit),
                unit.cap_words(&self.call),
                unit.settings(&["call"])
            ));
        }
        match room(&self.run, spent, Spent::default(), want) {
            Room::Fits | Room::AfterOthers => CallDecision::Make {
                conclude: is_to_conclude(&self.run, spent.plus(want)),
            },
            Room::Spent => CallDecision::Refuse(describe_spent(
                "this run",
                &["run", "tree"],
                &self.run,
                spent,
                want,
            )),
        }
    }
}

/// The smaller of both, in money and in tokens.
pub fn smaller(one: Cap, other: Cap) -> Cap {
    let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let tokens = match (one.tokens, other.tokens) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Cap {
        usd: least(one.usd, other.usd),
        tokens,
    }
}

/// The last call of a conversation, from which the next one is reckoned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallBefore {
    /// The size of its prompt.
    pub bytes: u64,
    pub used: ModelUsage,
}

impl CallBefore {
    fn prompt_tokens(&self) -> u64 {
        self.used.tokens() - self.used.output
    }
}

/// What a call will take, before it is made: `bytes` of prompt, at most `tokens_max` in the reply. The call before it says
/// how many bytes a token has, what is likely to be cached by now, and what it costs where no table knows the price.
pub fn estimate_call(model: &str, bytes: u64, tokens_max: u64, before: Option<&CallBefore>) -> ModelUsage {
    let before = before.filter(|before| before.bytes > 0 && before.prompt_tokens() > 0);
    let prompt = match before {
        Some(before) => (bytes as f64 * before.prompt_tokens() as f64 / before.bytes as f64) as u64,
        None => bytes / BYTES_PER_TOKEN,
    };
    let cached = before.map_or(0, |before| {
        before.used.cache_read.saturating_add(before.used.cache_write)
    });
    let cached = cached.min(prompt);
    let estimate = ModelUsage {
        input: prompt - cached,
        output: REPLY_TOKENS.min(tokens_max),
        cache_read: cached,
        ..ModelUsage::default()
    };
    let as_before = || {
        let before = before?;
        let grown = prompt as f64 / before.prompt_tokens() as f64;
        Some(before.used.cost_usd? * grown.max(1.0))
    };
    ModelUsage {
        cost_usd: cost_usd(model, &estimate).or_else(as_before),
        ..estimate
    }
}

/// Whether a call fits into a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Fits,
    /// It would, if the calls under way took nothing.
    AfterOthers,
    /// What is spent leaves too little.
    Spent,
}

/// Looks whether `want` fits under a cap, beside what is `spent` and what is `reserved` for calls under way.
pub fn room(cap: &Cap, spent: Spent, reserved: Spent, want: Spent) -> Room {
    if spent.plus(want).exceeds(cap) {
        Room::Spent
    } else if spent.plus(reserved).plus(want).exceeds(cap) {
        Room::AfterOthers
    } else {
        Room::Fits
    }
}

/// So much is spent that whoever spends should come to an end.
pub fn is_to_conclude(cap: &Cap, spent: Spent) -> bool {
    let most = |spent: f64, cap: f64| spent >= cap * CONCLUDE_AT;
    cap.usd.is_some_and(|usd| most(spent.usd, usd))
        || cap
            .tokens
            .is_some_and(|tokens| most(spent.tokens as f64, tokens as f64))
}

impl Limit {
    /// Why a call does not fit into it.
    pub fn describe_spent(&self, spent: Spent, want: Spent) -> String {
        let (whose, setting) = match &self.scope {
            Scope::Tree(_) => ("its group", "tree"),
            Scope::Session(_) => ("this session", "session"),
            Scope::Day => ("today (UTC)", "day"),
        };
        describe_spent(whose, &[setting], &self.cap, spent, want)
    }
}

fn describe_spent(whose: &str, settings: &[&str], cap: &Cap, spent: Spent, want: Spent) -> String {
    let unit = Unit::exceeded(cap, spent.plus(want));
    format!(
        "{} of {} is spent for {whose}, and the next call would take about {} ({})",
        spent.words(unit),
        unit.cap_words(cap),
        want.words(unit),
        unit.settings(settings)
    )
}

/// The model that answered is another one than the one that was asked for. A dated name of the same model is the same.
pub fn is_other_model(requested: &str, served: &str) -> bool {
    let bare = |model: &str| model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let (requested, served) = (bare(requested), bare(served));
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| {
            rest.chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | '@' | ':'))
        })
    };
    !(begins(&served, &requested) || begins(&requested, &served))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: Cap = Cap {
        usd: Some(1.0),
        tokens: Some(1_000),
    };

    fn usd(usd: f64) -> Spent {
        Spent { usd, tokens: 0 }
    }

    #[test]
    fn what_is_reserved_is_waited_for_and_what_is_spent_is_not() {
        let check = |spent, reserved, want, expected| {
            assert_eq!(
                room(&CAP, usd(spent), usd(reserved), usd(want)),
                expected,
                "{spent} {reserved} {want}"
            );
        };
        check(0.5, 0.2, 0.3, Room::Fits);
        check(0.5, 0.3, 0.3, Room::AfterOthers);
        check(0.8, 0.0, 0.3, Room::Spent);
        check(1.0, 0.0, 0.0, Room::Fits);
        let tokens = |tokens| Spent { usd: 0.0, tokens };
        assert_eq!(room(&CAP, tokens(900), tokens(0), tokens(101)), Room::Spent);
        assert_eq!(room(&Cap::NONE, usd(1e9), usd(1e9), usd(1e9)), Room::Fits);
    }

    #[test]
    fn at_four_fifths_one_is_told_to_conclude() {
        assert!(!is_to_conclude(&CAP, usd(0.79)));
        assert!(is_to_conclude(&CAP, usd(0.8)));
        assert!(is_to_conclude(
            &CAP,
            Spent {
                usd: 0.0,
                tokens: 800
            }
        ));
        assert!(!is_to_conclude(&Cap::NONE, usd(1e9)));
    }

    #[test]
    fn a_call_is_reckoned_by_table_else_like_the_last_one_else_not_at_all() {
        let first = estimate_call("anthropic/claude-sonnet-4-5", 40_000, 8_192, None);
        assert_eq!((first.input, first.cache_read, first.output), (10_000, 0, 1_000));
        assert!((first.cost_usd.expect("a price") - 0.045).abs() < 1e-9);
        let used = ModelUsage {
            input: 100,
            output: 100,
            cache_read: 0,
            cache_write: 9_900,
            cost_usd: Some(0.5),
        };
        let before = CallBefore { bytes: 20_000, used };
        let next = estimate_call("house/model", 40_000, 200, Some(&before));
        assert_eq!((next.input, next.cache_read, next.output), (10_100, 9_900, 200));
        assert!((next.cost_usd.expect("as before") - 1.0).abs() < 1e-9);
        assert_eq!(estimate_call("house/model", 40_000, 200, None).cost_usd, None);
    }

    #[test]
    fn a_call_without_a_price_counts_as_assumed() {
        let usage = ModelUsage {
            input: 400_000,
            output: 100_000,
            ..ModelUsage::default()
        };
        assert_eq!(Spent::of(&usage, 2.0).usd, 1.0);
        let priced = ModelUsage {
            cost_usd: Some(0.25),
            ..usage
        };
        assert_eq!(
            Spent::of(&priced, 2.0),
            Spent {
                usd: 0.25,
                tokens: 500_000
            }
        );
    }

    #[test]
    fn a_dated_name_is_the_same_model() {
        let check = |requested, served, other| {
            assert_eq!(is_other_model(requested, served), other, "{requested} {served}");
        };
        check("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", false);
        check("openai/gpt-5", "gpt-5-mini", true);
        check("openrouter/anthropic/claude-3.5", "anthropic/claude-3.5", false);
        check("openai/gpt-5", "gpt-5", false);
        check("mock/mock-1", "mock-2", true);
    }
}
