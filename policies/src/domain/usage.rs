//! What calls of models used, as their providers counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a call used, or several of them, as the provider counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelUsage {
    /// Fresh input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a prompt cache.
    pub cache_read: u64,
    /// Input tokens written to a prompt cache.
    pub cache_write: u64,
    /// In US dollars, where the price of all of it is known.
    pub cost_usd: Option<f64>,
}

impl ModelUsage {
    /// Nothing was counted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Tokens of every kind.
    pub fn tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write]
            .iter()
            .fold(self.input, |sum, more| sum.saturating_add(*more))
    }

    /// Both together. A sum has a price where everything in it has one.
    pub fn plus(self, other: Self) -> Self {
        let cost_usd = match (self.is_nothing(), other.is_nothing()) {
            (true, _) => other.cost_usd,
            (_, true) => self.cost_usd,
            (false, false) => self
                .cost_usd
                .zip(other.cost_usd)
                .map(|(one, another)| one + another),
        };
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cost_usd,
        }
    }

    /// For people.
    pub fn words(&self) -> String {
        let mut words = vec![format!("{} tokens in", self.input)];
        if self.cache_read > 0 {
            words.push(format!("{} read from a cache", self.cache_read));
        }
        if self.cache_write > 0 {
            words.push(format!("{} written to a cache", self.cache_write));
        }
        words.push(format!("{} out", self.output));
        words.extend(self.cost_usd.map(|dollars| format!("${dollars:.4}")));
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cost_usd: Option<f64>) -> ModelUsage {
        ModelUsage {
            input,
            output: 1,
            cache_read: 2,
            cache_write: 3,
            cost_usd,
        }
    }

    #[test]
    fn a_sum_has_a_price_where_everything_in_it_has_one() {
        let both = usage(100, Some(0.5)).plus(usage(10, Some(0.25)));
        let wanted = ModelUsage {
            input: 110,
            output: 2,
            cache_read: 4,
            cache_write: 6,
            cost_usd: Some(0.75),
        };
        assert_eq!(both, wanted);
        assert_eq!(usage(100, Some(0.5)).plus(usage(10, None)).cost_usd, None);
        assert_eq!(usage(100, None).plus(usage(10, Some(0.5))).cost_usd, None);
        let nothing = ModelUsage::default();
        assert_eq!(nothing.plus(usage(10, Some(0.5))), usage(10, Some(0.5)));
        assert_eq!(usage(10, Some(0.5)).plus(nothing), usage(10, Some(0.5)));
        assert_eq!(usage(u64::MAX, None).plus(usage(1, None)).input, u64::MAX);
    }

    #[test]
    fn people_read_what_there_is() {
        let plain = ModelUsage {
            input: 100,
            output: 10,
            ..ModelUsage::default()
        };
        assert_eq!(plain.words(), "100 tokens in, 10 out");
        assert_eq!(
            usage(7, Some(0.01234)).words(),
            "7 tokens in, 2 read from a cache, 3 written to a cache, 1 out, $0.0123"
        );
    }
}
