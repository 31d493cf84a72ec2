//! What the service asks for and charges.

use crate::domain::CacheTerms;
use std::sync::LazyLock;

/// Dated, with its source: see its first lines.
const TABLE: &str = include_str!("cache_rules.tsv");
const EVERY_OTHER: &str = "*";

/// What a token costs when a plain one costs 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePrices {
    pub read: f64,
    pub written: f64,
    pub written_for_an_hour: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    model: &'static str,
    tokens_min: u64,
    prices: CachePrices,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter_map(read_line).collect());

fn read_line(line: &'static str) -> Option<Row> {
    let mut fields = line.split('\t');
    let model = fields.next().filter(|model| !model.starts_with('#'))?;
    let tokens_min = fields.next()?.parse().ok()?;
    let mut price = || fields.next()?.parse::<f64>().ok();
    Some(Row {
        model,
        tokens_min,
        prices: CachePrices {
            read: price()?,
            written: price()?,
            written_for_an_hour: price()?,
        },
    })
}

fn row_of(model: &str) -> Option<&'static Row> {
    let id = model.rsplit('/').next().unwrap_or(model);
    let fitting = ROWS
        .iter()
        .filter(|row| row.model == EVERY_OTHER || id.starts_with(row.model));
    fitting.max_by_key(|row| (row.model != EVERY_OTHER, row.model.len()))
}

/// A shorter prefix of this model is not cached, in tokens.
pub fn tokens_min_of(model: &str, terms: &CacheTerms) -> u64 {
    match terms.tokens_min {
        0 => row_of(model).map_or(0, |row| row.tokens_min),
        chosen => chosen,
    }
}

/// What its tokens cost.
pub fn prices_of(model: &str) -> CachePrices {
    const PLAIN: CachePrices = CachePrices {
        read: 1.0,
        written: 1.0,
        written_for_an_hour: 1.0,
    };
    row_of(model).map_or(PLAIN, |row| row.prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_and_every_model_has_one() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ROWS.len(), lines);
        assert!(row_of("anything").is_some());
    }

    #[test]
    fn the_longest_beginning_holds() {
        let min = |model| row_of(model).map(|row| row.tokens_min);
        assert_eq!(min("anthropic/claude-opus-4-5-20251101"), Some(4096));
        assert_eq!(min("claude-opus-4-20250514"), Some(1024));
        assert_eq!(min("claude-opus-5-5"), Some(512));
        assert_eq!(min("mocka-1"), Some(1024));
        let cheapest = prices_of("anthropic/claude-fable-5-1");
        assert!((cheapest.read - 0.025).abs() < f64::EPSILON);
    }
}
