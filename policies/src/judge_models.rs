//! On which model do actor and judge work, and what follows when it gives no answer?
//!
//! A provider that fails is no fault of the task: it is met with pauses and with the next model, and in the end with a
//! reason that names each model and what kept it.

use crate::domain::{Briefing, ModelFault, Persistence, Reason, ReasonCode, RunRequest};
use crate::fallback::{full_stop_after, provider};
use crate::model_mapping::allow;
use crate::offline::OFFLINE_MODEL;
use crate::projection::FailedPass;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub enum JudgeModelDecision {
    /// A pass on this model.
    Call { model: String, wait: Duration },
    /// No model is left to ask.
    GiveUp(Reason),
}

/// Decides on which model `pass` is made, after what went wrong so far in the run.
pub fn choose_judge_model(pass: u32, failed: &[FailedPass], request: &RunRequest) -> JudgeModelDecision {
    let chain = judge_models(request);
    let Some(last) = failed.last() else {
        return match chain.first() {
            Some(model) => call(model, Duration::ZERO),
            None => JudgeModelDecision::GiveUp(no_model_left(&[], request)),
        };
    };
    let of_last = |one: &&FailedPass| one.pass == last.pass && one.model == last.model;
    let tries = failed.iter().rev().take_while(of_last).count() as u32;
    let in_this_pass = last.pass == pass;
    if is_worth_a_pause(last.fault) && tries < request.persistence.tries_per_model_max {
        let wait = match in_this_pass {
            true => pause(tries, &request.persistence),
            // It has answered since.
            false => Duration::ZERO,
        };
        return call(&last.model, wait);
    }
    match next_model(last, &chain) {
        Some(model) => call(model, Duration::ZERO),
        None => JudgeModelDecision::GiveUp(no_model_left(failed, request)),
    }
}

/// Who judges is who runs: a model that somebody named, the rules where the rules run too, and else nobody. Rules that
/// know words only do not stand in front of a model that is paid for.
pub fn who_judges(briefing: Briefing, named: Option<String>, rules_run: bool) -> Briefing {
    let Briefing::Judged {
        passes_max,
        questions_max,
        ..
    } = briefing
    else {
        return Briefing::Direct;
    };
    let rules = rules_run.then(|| OFFLINE_MODEL.to_string());
    match named.or(rules) {
        Some(model) => Briefing::Judged {
            passes_max,
            questions_max,
            model,
        },
        None => Briefing::Direct,
    }
}

/// The model of the briefing, then those of the run, each once; none whose provider may not be used. The offline model
/// never stands in for a real one.
pub fn judge_models(request: &RunRequest) -> Vec<String> {
    let Briefing::Judged { model, .. } = &request.briefing else {
        return Vec::new();
    };
    let allowed = request.terms.routing.as_ref();
    let allowed = allowed.map_or(&[][..], |routing| &routing.settings.allowed_providers);
    let mut chain = vec![model.clone()];
    for other in request.chain.iter().filter(|other| *other != OFFLINE_MODEL) {
        if !chain.contains(other) && allow(other.clone(), allowed).is_ok() {
            chain.push(other.clone());
        }
    }
    chain
}

fn next_model<'a>(last: &FailedPass, chain: &'a [String]) -> Option<&'a str> {
    if matches!(last.fault, ModelFault::Refused | ModelFault::OverBudget) {
        return None;
    }
    let place = chain.iter().position(|model| *model == last.model)?;
    let other_provider = last.fault == ModelFault::Authentication;
    let mut later = chain[place + 1..].iter();
    later
        .find(|model| !other_provider || provider(model) != provider(&last.model))
        .map(String::as_str)
}

fn is_worth_a_pause(fault: ModelFault) -> bool {
    match fault {
        ModelFault::Unavailable | ModelFault::RateLimited => true,
        ModelFault::Authentication
        | ModelFault::ContextOverflow
        | ModelFault::UnknownModel
        | ModelFault::Refused
        | ModelFault::OverBudget
        | ModelFault::TimedOut => false,
    }
}

fn pause(tries: u32, persistence: &Persistence) -> Duration {
    let doublings = tries.saturating_sub(1).min(16);
    let wait = persistence.wait_first.saturating_mul(1 << doublings);
    wait.min(persistence.wait_max)
}

fn call(model: &str, wait: Duration) -> JudgeModelDecision {
    JudgeModelDecision::Call {
        model: model.to_string(),
        wait,
    }
}

/// Each model once, with what it failed of last.
fn no_model_left(failed: &[FailedPass], request: &RunRequest) -> Reason {
    let mut last_of_each: Vec<&FailedPass> = Vec::new();
    for one in failed {
        last_of_each.retain(|other| other.model != one.model);
        last_of_each.push(one);
    }
    let said = last_of_each.iter().map(|one| sentence(one, request));
    let hint = match last_of_each.last().map(|one| one.fault) {
        Some(ModelFault::UnknownModel | ModelFault::Authentication) => Some(
            "Which model writes briefs is the setting `routingModel`; without it, the session's own."
                .to_string(),
        ),
        _ => None,
    };
    let opening = "No sub-agent was started, because no model wrote and judged its brief.".to_string();
    let sentences = std::iter::once(opening).chain(said).chain(hint);
    Reason {
        code: last_of_each
            .last()
            .map_or(ReasonCode::UnknownModel, |one| code_of(one.fault)),
        message: sentences.collect::<Vec<_>>().join(" "),
    }
}

fn sentence(failed: &FailedPass, request: &RunRequest) -> String {
    let said = match failed.fault {
        ModelFault::TimedOut => format!(
            "there was no answer within {} s",
            request.clocks.routing.as_secs_f64()
        ),
        fault => describe_fault(fault, &failed.detail),
    };
    format!("On {}, {said}{}", failed.model, full_stop_after(&said))
}

/// What kept a model from answering, in a clause without a full stop of ours.
pub fn describe_fault(fault: ModelFault, detail: &str) -> String {
    let what = match fault {
        ModelFault::Unavailable => "the provider could not be reached",
        ModelFault::RateLimited => "the provider asks to slow down",
        ModelFault::Authentication => "the provider refused the credentials, or nobody is logged in",
        ModelFault::ContextOverflow => "the conversation does not fit",
        ModelFault::UnknownModel => "there is no such model",
        ModelFault::Refused => "the model declined",
        ModelFault::OverBudget => "what may be spent is spent",
        ModelFault::TimedOut => "there was no answer in time",
    };
    match detail.trim() {
        "" => what.to_string(),
        detail => format!("{what}: {detail}"),
    }
}

/// What the person reads while the next try is waited for.
pub fn describe_next_try(failed: &FailedPass, model: &str, wait: Duration) -> String {
    let why = describe_fault(failed.fault, &failed.detail);
    let FailedPass { model: before, .. } = failed;
    match before == model {
        true => format!("{model} is asked again in {} s: {why}", wait.as_secs_f64()),
        false => format!("{model} is asked instead of {before}: {why}"),
    }
}

fn code_of(fault: ModelFault) -> ReasonCode {
    match fault {
        ModelFault::Unavailable | ModelFault::TimedOut => ReasonCode::Unavailable,
        ModelFault::RateLimited => ReasonCode::RateLimited,
        ModelFault::Authentication => ReasonCode::Authentication,
        ModelFault::ContextOverflow => ReasonCode::ContextOverflow,
        ModelFault::UnknownModel => ReasonCode::UnknownModel,
        ModelFault::Refused => ReasonCode::Refused,
        ModelFault::OverBudget => ReasonCode::OverBudget,
    }
}

#[cfg(test)]
mod tests;
