//! How the model of a run is chosen, as it is kept with the run.

use super::Tier;
use serde::{Deserialize, Serialize};

/// What is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteSettings {
    /// Adapt the model to the work.
    pub enabled: bool,
    /// Which way to lean.
    pub preference: RoutePreference,
    /// What a model named by the skill's file means.
    pub skill_model_policy: SkillModelPolicy,
    /// The models by tier.
    pub models: ModelPool,
    /// Whose models bare names are.
    pub default_provider: String,
    /// How a name that is not complete is completed.
    #[serde(default)]
    pub naming: ModelNaming,
    /// The providers that may be used; all when empty.
    pub allowed_providers: Vec<String>,
}

/// Which way to lean when the judge leaves room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RoutePreference {
    /// Cheaper where it is safe.
    PreferCheap,
    /// As the judge says.
    Balanced,
    /// Better where something is at stake.
    PreferBest,
}

/// What a model named by the skill's file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkillModelPolicy {
    /// It is used.
    Pin,
    /// The judge decides all the same.
    Ignore,
}

/// One model a tier; a tier may have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPool {
    /// Of the cheap tier.
    pub cheap: Option<String>,
    /// Of the balanced tier.
    pub balanced: Option<String>,
    /// Of the frontier tier.
    pub frontier: Option<String>,
}

impl ModelPool {
    /// The model of a tier.
    pub fn get(&self, tier: Tier) -> Option<&str> {
        let model = match tier {
            Tier::Cheap => &self.cheap,
            Tier::Balanced => &self.balanced,
            Tier::Frontier => &self.frontier,
        };
        model.as_deref()
    }
}

/// What was chosen, once; it enters no prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDecision {
    /// The model, in full.
    pub model: String,
    /// Its tier; a placeholder unless the source is [`RouteSource::ExecutionRouting`].
    pub tier: Tier,
    /// Why.
    pub reason: String,
    /// What decided.
    pub source: RouteSource,
    /// The judge's tier, raised where the brief did not pass.
    pub effective_tier: Tier,
}

/// What decided about the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteSource {
    /// The skill's file.
    SkillModel,
    /// The judge's route.
    ExecutionRouting,
    /// Nothing: the default model.
    Fallback,
}

/// How a name that is not complete is completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelNaming {
    /// As [`map_model`](crate::model_mapping::map_model) does: `vendor/model` belongs to the default provider too.
    #[default]
    Mapped,
    /// As the host does: `provider/id` is complete, and only a bare `id` belongs to the default provider.
    OfHost,
}
