//! How large may a tool's result be for the tier that runs?

use crate::domain::{RouteDecision, RouteSource, Tier};

/// What is configured, in bytes, as numbers are written in settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextBudgetSettings {
    /// Off: the same ceiling for every tier.
    pub enabled: bool,
    /// The ceiling where nothing else is said.
    pub ceiling_bytes: f64,
    /// Of the cheap tier.
    pub cheap: Option<f64>,
    /// Of the balanced tier.
    pub balanced: Option<f64>,
    /// Of the frontier tier.
    pub frontier: Option<f64>,
}

/// The ceiling of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextBudget {
    pub ceiling_bytes: f64,
    /// The tier it was asked for.
    pub tier: Tier,
    /// Budgets by tier are on.
    pub active: bool,
    /// Where the number came from.
    pub source: BudgetSource,
}

/// Where a ceiling came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetSource {
    /// Budgets by tier are off.
    Static,
    /// The tier has its own.
    Tier,
    /// The tier has none.
    TierFallback,
}

impl BudgetSource {
    /// As it is logged.
    pub fn word(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Tier => "tier",
            Self::TierFallback => "tier-fallback",
        }
    }
}

pub fn choose_context_budget(tier: Tier, settings: &ContextBudgetSettings) -> ContextBudget {
    let own = match tier {
        Tier::Cheap => settings.cheap,
        Tier::Balanced => settings.balanced,
        Tier::Frontier => settings.frontier,
    };
    let (ceiling_bytes, source) = match own.filter(|bytes| *bytes > 0.0) {
        _ if !settings.enabled => (settings.ceiling_bytes, BudgetSource::Static),
        Some(bytes) => (bytes, BudgetSource::Tier),
        None => (settings.ceiling_bytes, BudgetSource::TierFallback),
    };
    ContextBudget {
        ceiling_bytes,
        tier,
        active: settings.enabled,
        source,
    }
}

/// The tier a budget is asked for: the chosen one where the judge's route chose it, else the judge's.
pub fn budget_tier(decision: &RouteDecision) -> Tier {
    if decision.source == RouteSource::ExecutionRouting {
        decision.tier
    } else {
        decision.effective_tier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_without_a_ceiling_gets_the_common_one() {
        let settings = ContextBudgetSettings {
            enabled: true,
            ceiling_bytes: 7.0,
            cheap: Some(3.0),
            ..Default::default()
        };
        assert_eq!(choose_context_budget(Tier::Cheap, &settings).ceiling_bytes, 3.0);
        assert_eq!(
            choose_context_budget(Tier::Frontier, &settings).source,
            BudgetSource::TierFallback
        );
    }
}
