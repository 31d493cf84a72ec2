//! What does a call of a model cost? Nested Pi says it by itself; this is for calls that are made without it.

use crate::domain::ModelUsage;
use crate::offline::OFFLINE_MODEL;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Dated, with its source: see its first lines.
const TABLE: &str = include_str!("prices.tsv");
/// The prices are for so many tokens.
const PER_TOKENS: f64 = 1_000_000.0;

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Price {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

static PRICES: LazyLock<BTreeMap<&str, Price>> =
    LazyLock::new(|| TABLE.lines().filter_map(read_line).collect());

fn read_line(line: &str) -> Option<(&str, Price)> {
    let mut fields = line.split('\t');
    let model = fields.next().filter(|model| !model.starts_with('#'))?;
    let mut dollars = || fields.next()?.parse::<f64>().ok();
    let price = Price {
        input: dollars()?,
        output: dollars()?,
        cache_read: dollars()?,
        cache_write: dollars()?,
    };
    Some((model, price))
}

/// What a call of `model`, named `provider/id`, cost in US dollars; none where nobody knows its price.
pub fn cost_usd(model: &str, usage: &ModelUsage) -> Option<f64> {
    if model == OFFLINE_MODEL {
        return Some(0.0);
    }
    let price = PRICES.get(model)?;
    let parts = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    ];
    Some(
        parts
            .iter()
            .map(|(tokens, dollars)| *tokens as f64 * dollars / PER_TOKENS)
            .sum(),
    )
}

/// What a call of `model` used, with its price. A provider that says what it cost knows better than a table.
pub fn priced(model: &str, usage: ModelUsage) -> ModelUsage {
    let known = || cost_usd(model, &usage).filter(|_| !usage.is_nothing());
    ModelUsage {
        cost_usd: usage.cost_usd.or_else(known),
        ..usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(PRICES.len(), lines);
        assert!(PRICES.keys().all(|model| model.contains('/')));
    }

    #[test]
    fn each_kind_of_token_has_its_price_and_an_unknown_model_has_none() {
        let usage = ModelUsage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 0,
            cost_usd: None,
        };
        let cost = cost_usd("anthropic/claude-sonnet-4-5", &usage).expect("a price");
        assert!((cost - (3.0 + 1.5 + 0.6)).abs() < 1e-9, "{cost}");
        assert_eq!(cost_usd("house/model", &usage), None);
        assert_eq!(cost_usd("offline", &usage), Some(0.0));
    }
}
