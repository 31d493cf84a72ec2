//! On which models does a run go on, and how large may a tool's result be there?
//!
//! The choice is made once, with the brief, and kept in the journal; nothing of it enters a prompt.

use crate::context_budget::{ContextBudget, ContextBudgetSettings, budget_tier, choose_context_budget};
use crate::domain::{
    Briefing, ModelChoice, Reason, ReasonCode, RetrievalEngine, Route, RouteDecision, RoutingTerms,
    RunRequest, TierCeilings, Verdict, WhatToRun,
};
use crate::execution_route::{RouteFacts, choose_route, executing_line};
use crate::model_mapping::{ModelMappingError, allow};
use crate::sub_agent_prompt::retrieves;
use crate::user_lines;

#[derive(Debug, Clone, PartialEq)]
pub enum ChoiceDecision {
    /// Nothing is chosen: the chain of the request holds.
    KeepChain,
    /// These models, from now on.
    Choose(Box<ModelChoice>),
    /// No model may be used, or none is known.
    Refuse(Reason),
}

/// Chooses the models of a run whose brief passed with `verdict`; none where no judge was asked.
pub fn choose_models(request: &RunRequest, verdict: Option<&Verdict>) -> ChoiceDecision {
    let Some(terms) = &request.terms.routing else {
        return ChoiceDecision::KeepChain;
    };
    if let Some(kept) = &terms.kept {
        return ChoiceDecision::Choose(Box::new(kept.clone()));
    }
    let facts = RouteFacts {
        skill_model: terms.skill_model.as_deref(),
        default_model: terms.default_model.as_deref(),
        route: judged_route(verdict),
        passed: verdict.is_none_or(Verdict::passed),
    };
    match choose_route(&facts, &terms.settings) {
        Ok(decision) => ChoiceDecision::Choose(Box::new(ModelChoice {
            chain: chain_of(&decision, terms),
            overflow_ceiling_bytes: budget_of(request, &decision).ceiling_bytes as u64,
            decision,
        })),
        Err(error) => ChoiceDecision::Refuse(refusal(request, terms, &error)),
    }
}

/// Looks at a request before it is accepted: is there a model that may not be used, whatever the judge will say?
pub fn refuse_models(request: &RunRequest) -> Option<Reason> {
    let terms = request.terms.routing.as_ref()?;
    let routing_model = match &request.briefing {
        Briefing::Judged { model, .. } => Some(model),
        Briefing::Direct => None,
    };
    let named = routing_model.into_iter().chain(&terms.fallback);
    for model in named {
        if let Err(error) = allow(model.clone(), &terms.settings.allowed_providers) {
            return Some(refusal(request, terms, &error));
        }
    }
    // Which tier is chosen changes which model, never whether there is one.
    match choose_models(request, None) {
        ChoiceDecision::Refuse(reason) => Some(reason),
        ChoiceDecision::KeepChain | ChoiceDecision::Choose(_) => None,
    }
}

/// What the judge said of the work; the default where nobody did.
pub fn judged_route(verdict: Option<&Verdict>) -> Route {
    verdict.map_or_else(Route::default, |verdict| verdict.execution_route.clone())
}

/// The ceiling of a run, and why it is that.
pub fn budget_of(request: &RunRequest, decision: &RouteDecision) -> ContextBudget {
    let ceilings = request.terms.tier_ceilings;
    let of = |pick: fn(&TierCeilings) -> Option<u64>| Some(pick(ceilings.as_ref()?)? as f64);
    let settings = ContextBudgetSettings {
        enabled: ceilings.is_some(),
        ceiling_bytes: request.overflow_ceiling_bytes as f64,
        cheap: of(|ceilings| ceilings.cheap),
        balanced: of(|ceilings| ceilings.balanced),
        frontier: of(|ceilings| ceilings.frontier),
    };
    choose_context_budget(budget_tier(decision), &settings)
}

/// The line that says what begins; none for an agent unless its model is to be surfaced. Auggie is spoken of only where
/// it answers.
pub fn describe_choice(request: &RunRequest, choice: &ModelChoice) -> Option<String> {
    let surface = request.terms.routing.as_ref()?.surface_decision;
    let auggie = matches!(request.retrieval.engine, RetrievalEngine::Auggie { .. }) && retrieves(request);
    let what = match &request.what {
        WhatToRun::Skill(name) => format!("/skill:{name}"),
        WhatToRun::Agent(name) if surface => name.clone(),
        WhatToRun::Agent(_) => return None,
    };
    match surface || auggie {
        true => Some(executing_line(&what, &choice.decision, surface)),
        false => Some(user_lines::executing(&what)),
    }
}

fn chain_of(decision: &RouteDecision, terms: &RoutingTerms) -> Vec<String> {
    let mut chain = vec![decision.model.clone()];
    for model in &terms.fallback {
        if !chain.contains(model) {
            chain.push(model.clone());
        }
    }
    chain
}

fn refusal(request: &RunRequest, terms: &RoutingTerms, error: &ModelMappingError) -> Reason {
    match (error, &terms.skill_model) {
        (ModelMappingError::DisallowedProvider { .. }, _) => Reason {
            code: ReasonCode::DisallowedProvider,
            message: error.to_string(),
        },
        (ModelMappingError::NoProvider, Some(model)) => {
            let name = request.what.name();
            Reason {
                code: ReasonCode::BrokenSkill,
                message: format!(
                    "Skill \"{name}\" cannot be used: its model {model:?} names no provider. \
                     Write it as provider/id, or set defaultProvider."
                ),
            }
        }
        (ModelMappingError::NoProvider, None) => Reason {
            code: ReasonCode::UnknownModel,
            message: format!(
                "The runner {:?} needs a model: give --model provider/id, or set fallbackModels.",
                request.runner
            ),
        },
    }
}

#[cfg(test)]
mod tests;
