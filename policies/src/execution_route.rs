//! Which model does a skill run on?

use crate::compat::{collapse_spaces, cut_units, hundredths, trim};
use crate::domain::{
    Complexity, Risk, Route, RouteDecision, RoutePreference, RouteSettings, RouteSource, SkillModelPolicy,
    Tier,
};
use crate::model_mapping::{ModelMappingError, allow, resolve_model};

/// A reason shown to the user has at most so many units.
const SHOWN_REASON_UNITS_MAX: usize = 240;

/// What is known when a skill is about to run.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteFacts<'a> {
    /// The model its file asks for.
    pub skill_model: Option<&'a str>,
    /// The model where nobody names one; none for the default provider's own.
    pub default_model: Option<&'a str>,
    /// What the judge said of the work; the default where nobody said anything.
    pub route: Route,
    /// The brief passed the judge.
    pub passed: bool,
}

/// What a name means under these settings, if it may be used.
fn model_of(name: Option<&str>, settings: &RouteSettings) -> Result<String, ModelMappingError> {
    let RouteSettings {
        default_provider,
        naming,
        allowed_providers,
        ..
    } = settings;
    resolve_model(name, default_provider, *naming, allowed_providers)
}

pub fn choose_route(
    facts: &RouteFacts<'_>,
    settings: &RouteSettings,
) -> Result<RouteDecision, ModelMappingError> {
    let minimum = (!facts.passed).then_some(Tier::Balanced);
    let effective_tier = facts.route.tier.max(minimum.unwrap_or(Tier::Cheap));
    let map = |name: Option<&str>| match (name, facts.default_model) {
        (None, Some(default)) => allow(default.to_string(), &settings.allowed_providers),
        (name, _) => model_of(name, settings),
    };
    let skill_model = facts.skill_model.filter(|model| !trim(model).is_empty());
    let decided = |model: String, tier: Tier, reason: String, source: RouteSource| RouteDecision {
        model,
        tier,
        reason,
        source,
        effective_tier,
    };
    // A blank name still is the skill's; it means the default model.
    let asks = facts.skill_model.is_some_and(|model| !model.is_empty());
    let named = if asks {
        RouteSource::SkillModel
    } else {
        RouteSource::Fallback
    };
    if !settings.enabled {
        let reason = if asks {
            "Adaptive routing disabled; using SKILL.md model."
        } else {
            "Adaptive routing disabled; using default model."
        };
        return Ok(decided(
            map(skill_model)?,
            Tier::Balanced,
            reason.to_string(),
            named,
        ));
    }
    if settings.skill_model_policy == SkillModelPolicy::Pin && skill_model.is_some() {
        let reason = "skillModelPolicy=pin; SKILL.md model honoured.".to_string();
        return Ok(decided(map(skill_model)?, Tier::Balanced, reason, named));
    }
    let wanted = adjusted_tier(effective_tier, &facts.route, settings.preference);
    let wanted = wanted.max(minimum.unwrap_or(Tier::Cheap));
    if let Some((tier, model)) = pick_from_pool(wanted, minimum, settings)? {
        let reason = route_reason(&facts.route, effective_tier, wanted, tier);
        return Ok(decided(model, tier, reason, RouteSource::ExecutionRouting));
    }
    let legacy = skill_model.filter(|_| minimum.is_none());
    let reason = match legacy {
        Some(_) => "Execution-routing pool unavailable; used legacy SKILL.md model resolution.",
        None => "Execution-routing pool unavailable; used legacy default model resolution.",
    };
    Ok(decided(
        map(legacy)?,
        minimum.unwrap_or(Tier::Balanced),
        reason.to_string(),
        RouteSource::Fallback,
    ))
}

/// The tier after preference and safety floors.
fn adjusted_tier(tier: Tier, route: &Route, preference: RoutePreference) -> Tier {
    let preferred = preferred_tier(tier, route, preference);
    match route.risk {
        Risk::ArchitectureChange => Tier::Frontier,
        Risk::MultiFileEdit => preferred.max(Tier::Balanced),
        Risk::Unknown if route.confidence < 0.5 => preferred.max(Tier::Balanced),
        Risk::Unknown | Risk::ReadOnly | Risk::SmallEdit => preferred,
    }
}

fn preferred_tier(tier: Tier, route: &Route, preference: RoutePreference) -> Tier {
    match preference {
        RoutePreference::Balanced => tier,
        RoutePreference::PreferCheap => {
            let harmless = matches!(route.risk, Risk::ReadOnly | Risk::SmallEdit);
            let usual = tier == Tier::Balanced && route.complexity == Complexity::Medium;
            if usual && harmless && route.confidence >= 0.7 {
                Tier::Cheap
            } else {
                tier
            }
        }
        RoutePreference::PreferBest => match route.risk {
            Risk::Unknown => Tier::Frontier,
            Risk::SmallEdit | Risk::MultiFileEdit | Risk::ArchitectureChange => tier.max(Tier::Balanced),
            Risk::ReadOnly => tier,
        },
    }
}

/// The first usable model, the wanted tier first, then the better ones, then the cheaper ones.
fn pick_from_pool(
    wanted: Tier,
    minimum: Option<Tier>,
    settings: &RouteSettings,
) -> Result<Option<(Tier, String)>, ModelMappingError> {
    let order = match wanted {
        Tier::Cheap => [Tier::Cheap, Tier::Balanced, Tier::Frontier],
        Tier::Balanced => [Tier::Balanced, Tier::Frontier, Tier::Cheap],
        Tier::Frontier => [Tier::Frontier, Tier::Balanced, Tier::Cheap],
    };
    for tier in order {
        let name = settings.models.get(tier).filter(|name| !trim(name).is_empty());
        if name.is_none() || minimum.is_some_and(|minimum| tier < minimum) {
            continue;
        }
        match model_of(name, settings) {
            Ok(model) => return Ok(Some((tier, model))),
            Err(ModelMappingError::DisallowedProvider { .. }) => {}
            Err(error @ ModelMappingError::NoProvider) => return Err(error),
        }
    }
    Ok(None)
}

fn route_reason(route: &Route, judged: Tier, wanted: Tier, picked: Tier) -> String {
    let (complexity, risk) = (complexity_word(route.complexity), risk_word(route.risk));
    let mut reason = format!(
        "route {} (complexity={complexity}, risk={risk}, confidence={})",
        tier_word(judged),
        hundredths(route.confidence)
    );
    if wanted != judged {
        reason += &format!("; adjusted to {} via preference/safety floors", tier_word(wanted));
    }
    if picked != wanted {
        reason += &format!("; pool fallback resolved {}", tier_word(picked));
    }
    reason
}

/// The line that says what begins, a skill or an agent; with `surface` it says on which model and why.
pub fn executing_line(what: &str, decision: &RouteDecision, surface: bool) -> String {
    if !surface {
        return format!("[System]: ⚙️ Executing {what} (Auggie semantic retrieval running...)");
    }
    let chosen = match decision.source {
        RouteSource::ExecutionRouting => tier_word(decision.tier),
        RouteSource::SkillModel => "SKILL.md",
        RouteSource::Fallback => "fallback",
    };
    let reason = collapse_spaces(&decision.reason);
    let reason = cut_units(&reason, SHOWN_REASON_UNITS_MAX);
    format!(
        "[System]: ⚙️ Executing {what} using {chosen} model {}. Reason: {reason}",
        decision.model
    )
}

pub fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::Cheap => "cheap",
        Tier::Balanced => "balanced",
        Tier::Frontier => "frontier",
    }
}

pub fn complexity_word(complexity: Complexity) -> &'static str {
    match complexity {
        Complexity::Low => "low",
        Complexity::Medium => "medium",
        Complexity::High => "high",
    }
}

pub fn risk_word(risk: Risk) -> &'static str {
    match risk {
        Risk::ReadOnly => "read_only",
        Risk::SmallEdit => "small_edit",
        Risk::MultiFileEdit => "multi_file_edit",
        Risk::ArchitectureChange => "architecture_change",
        Risk::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ModelNaming, ModelPool};

    #[test]
    fn an_unpassed_brief_never_runs_on_a_cheap_model() {
        let models = ModelPool {
            cheap: Some("a/c".into()),
            ..ModelPool::default()
        };
        let settings = RouteSettings {
            enabled: true,
            preference: RoutePreference::PreferCheap,
            skill_model_policy: SkillModelPolicy::Ignore,
            models,
            default_provider: "p".into(),
            naming: ModelNaming::Mapped,
            allowed_providers: vec![],
        };
        for tier in [Tier::Cheap, Tier::Balanced, Tier::Frontier] {
            let facts = RouteFacts {
                skill_model: None,
                default_model: None,
                route: Route {
                    tier,
                    ..Route::default()
                },
                passed: false,
            };
            let decision = choose_route(&facts, &settings).unwrap();
            assert_eq!(
                (decision.source, decision.tier),
                (RouteSource::Fallback, Tier::Balanced)
            );
        }
    }
}
