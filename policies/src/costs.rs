//! What do calls of models add up to, by day, by agent and by model?

use crate::domain::{ModelUsage, WhatToRun};

/// What some calls took together, and what they have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Whole days since 1970, UTC.
    pub day: Option<u64>,
    /// Agent or skill.
    pub what: Option<WhatToRun>,
    /// The model that was asked for.
    pub model: Option<String>,
    pub calls: u64,
    /// What they used; the price is of those that have one.
    pub used: ModelUsage,
    /// How many of them have no price that anybody knows.
    pub unpriced: u64,
    /// How many of them were cut off, and are reckoned with what was set aside for them.
    pub estimated: u64,
    /// Attempts that were lost with their runtime or their process: a call more of each may have been paid for.
    pub attempts_lost: u64,
}

/// What sums are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostBy {
    pub day: bool,
    pub what: bool,
    pub model: bool,
}

impl Cost {
    fn has_in_common(&self, other: &Self) -> bool {
        self.day == other.day && self.what == other.what && self.model == other.model
    }

    fn add(&mut self, other: &Self) {
        let dollars = [self.used.cost_usd, other.used.cost_usd];
        let known = dollars.iter().flatten().count() > 0;
        let sum: f64 = dollars.iter().flatten().sum();
        self.used = ModelUsage {
            cost_usd: known.then_some(sum),
            ..self.used.plus(other.used)
        };
        self.calls += other.calls;
        self.unpriced += other.unpriced;
        self.estimated += other.estimated;
        self.attempts_lost += other.attempts_lost;
    }
}

/// Adds up those that have in common what is wanted, in the order in which they come first.
pub fn add_up(costs: &[Cost], by: CostBy) -> Vec<Cost> {
    let mut sums: Vec<Cost> = Vec::new();
    for cost in costs {
        let cost = Cost {
            day: cost.day.filter(|_| by.day),
            what: cost.what.clone().filter(|_| by.what),
            model: cost.model.clone().filter(|_| by.model),
            ..cost.clone()
        };
        match sums.iter_mut().find(|sum| sum.has_in_common(&cost)) {
            Some(sum) => sum.add(&cost),
            None => sums.push(cost),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(day: u64, what: &str, model: &str, usd: Option<f64>) -> Cost {
        Cost {
            day: Some(day),
            what: Some(WhatToRun::Agent(what.into())),
            model: Some(model.into()),
            calls: 2,
            used: ModelUsage {
                input: 10,
                cost_usd: usd,
                ..ModelUsage::default()
            },
            unpriced: u64::from(usd.is_none()) * 2,
            estimated: 1,
            attempts_lost: 1,
        }
    }

    #[test]
    fn what_has_a_price_is_added_up_and_what_has_none_is_counted() {
        let costs = [
            cost(2, "explore", "a/one", Some(0.5)),
            cost(2, "oracle", "b/two", None),
            cost(1, "explore", "a/one", Some(0.25)),
        ];
        let by_agent = CostBy {
            day: false,
            what: true,
            model: false,
        };
        let sums = add_up(&costs, by_agent);
        assert_eq!(sums.len(), 2);
        assert_eq!(sums[0].used.cost_usd, Some(0.75));
        assert_eq!((sums[0].calls, sums[0].used.input), (4, 20));
        assert_eq!((sums[0].estimated, sums[0].attempts_lost), (2, 2));
        assert_eq!((sums[1].used.cost_usd, sums[1].unpriced), (None, 2));
        let everything = CostBy {
            day: false,
            what: false,
            model: false,
        };
        let all = add_up(&costs, everything);
        assert_eq!(
            (all.len(), all[0].used.cost_usd, all[0].unpriced),
            (1, Some(0.75), 2)
        );
    }
}
