//! Which model runs, under which budget, and where the router stands.

use super::texts::mapping_error;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::context_budget::{ContextBudgetSettings, choose_context_budget};
use impresario_policies::domain::{
    ModelNaming, ModelPool, Route, RouteDecision, RoutePreference, RouteSettings, RouteSource,
    SkillModelPolicy, Tier,
};
use impresario_policies::execution_route::{RouteFacts, choose_route, executing_line, tier_word};
use serde_json::{Value, json};

fn pool(models: &Json) -> ModelPool {
    let model = |tier: &str| models.get(tier).and_then(Json::as_str).map(str::to_string);
    ModelPool {
        cheap: model("cheap"),
        balanced: model("balanced"),
        frontier: model("frontier"),
    }
}

fn tier_named(name: &str) -> Tier {
    serde_json::from_value(json!(name)).unwrap_or(Tier::Balanced)
}

pub fn source_word(source: RouteSource) -> &'static str {
    match source {
        RouteSource::SkillModel => "skill-model",
        RouteSource::ExecutionRouting => "execution-routing",
        RouteSource::Fallback => "fallback",
    }
}

pub fn execution_router(case: &Case) -> Answer {
    let settings = RouteSettings {
        enabled: case.flag("enabled"),
        preference: match case.text("preference") {
            "preferCheap" => RoutePreference::PreferCheap,
            "preferBest" => RoutePreference::PreferBest,
            _ => RoutePreference::Balanced,
        },
        skill_model_policy: match case.text("policy") {
            "pin" => SkillModelPolicy::Pin,
            _ => SkillModelPolicy::Ignore,
        },
        models: pool(case.get("models")),
        naming: ModelNaming::Mapped,
        default_provider: case.text("default_provider").into(),
        allowed_providers: case.texts("allowed"),
    };
    let route = match case.get("route") {
        Json::Null => Route::default(),
        given => serde_json::from_value(Value::from(given)).expect("a route"),
    };
    let facts = RouteFacts {
        skill_model: case.get("skill_model").as_str(),
        default_model: None,
        route,
        passed: case.flag("passed"),
    };
    match choose_route(&facts, &settings) {
        Ok(decision) => Answer::value(json!({
            "model": decision.model, "tier": tier_word(decision.tier), "reason": decision.reason,
            "source": source_word(decision.source), "effective_route_tier": tier_word(decision.effective_tier),
        })),
        Err(error) => mapping_error(&error),
    }
}

pub fn execution_message(case: &Case) -> Answer {
    let selection = case.get("selection");
    let text = |key: &str| selection.get(key).and_then(Json::as_str).unwrap_or("");
    let tier = tier_named(text("tier"));
    let decision = RouteDecision {
        model: text("model").into(),
        tier,
        reason: text("reason").into(),
        source: match text("source") {
            "skill-model" => RouteSource::SkillModel,
            "execution-routing" => RouteSource::ExecutionRouting,
            _ => RouteSource::Fallback,
        },
        effective_tier: tier,
    };
    let line = executing_line(
        &format!("/skill:{}", case.text("skill")),
        &decision,
        case.flag("surface_decision"),
    );
    Answer::value(json!(line))
}

pub fn context_budget(case: &Case) -> Answer {
    let ceiling = |tier: &str| case.get("ceilings").get(tier).and_then(Json::as_number);
    let settings = ContextBudgetSettings {
        enabled: case.flag("enabled"),
        ceiling_bytes: case.number("overflow_ceiling_bytes"),
        cheap: ceiling("cheap"),
        balanced: ceiling("balanced"),
        frontier: ceiling("frontier"),
    };
    let tier = tier_named(case.text("tier"));
    let budget = choose_context_budget(tier, &settings);
    Answer::value(json!({
        "overflowCeilingBytes": budget.ceiling_bytes, "tier": tier_word(budget.tier),
        "active": budget.active, "source": budget.source.word(),
    }))
}
