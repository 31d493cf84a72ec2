//! Who shall run, for what, with which settings: what becomes of it as a complete request?
//!
//! The one way to a request: built-in agents, skills and the agents of a program differ in their definition only.

use crate::agents::AgentDefinition;
use crate::domain::{
    Briefing, ModelNaming, Origin, Reason, RoutingTerms, RunRequest, RunTerms, Surroundings,
};
use crate::judge_models::who_judges;
use crate::model_choice::refuse_models;
use crate::offline::OFFLINE_MODEL;
use crate::overflow_memory::MEMORY_TOOLS;
use crate::settings::RunSettings;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use std::path::PathBuf;

/// The runner in this process, which needs nothing installed.
pub const EMBEDDED_RUNNER: &str = "embedded";
/// The runner that nests a real Pi.
pub const PI_RUNNER: &str = "pi";

/// The tools a runner has for a definition that names none. Nested Pi has Pi's own; the embedded runner only reads.
pub fn runner_tools(runner: &str) -> Vec<String> {
    let own: &[&str] = match runner {
        EMBEDDED_RUNNER => &["read", "grep", "find", RETRIEVAL_TOOL],
        _ => &["read", "bash", "edit", "write", RETRIEVAL_TOOL],
    };
    own.iter().chain(&MEMORY_TOOLS).map(ToString::to_string).collect()
}

/// What is wanted, and by whom.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAsk {
    /// In the user's words.
    pub task: String,
    /// Who asks.
    pub origin: Origin,
    /// The directory to work in.
    pub workspace: PathBuf,
    /// The model of the session that asks.
    pub session_model: Option<String>,
    /// Where the host keeps that session.
    pub session_file: Option<PathBuf>,
    /// What the project says of itself, as it stands in the system prompt; empty for nothing.
    pub project_instructions: String,
}

/// What a run can be made with where it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMeans {
    /// The runner, by name.
    pub runner: String,
    /// The models where neither the definition nor the session names one.
    pub chain: Vec<String>,
    /// The definition and the routing may choose another model: there are providers, and nobody named one by hand.
    pub models_chosen: bool,
    /// The tools of a definition that names none.
    pub tools: Vec<String>,
    /// The task becomes a brief that is judged; else it is the goal as it stands.
    pub judged: bool,
}

/// Makes the request, or says why no model may be used for it.
pub fn run_request(
    definition: AgentDefinition,
    ask: RunAsk,
    means: RunMeans,
    settings: RunSettings,
) -> Result<RunRequest, Reason> {
    let routing = routing_of(&definition, &ask, &means, &settings);
    let chain = chain_asked_for(&routing);
    let mut clocks = settings.clocks;
    clocks.total = definition.total_timeout.unwrap_or(clocks.total);
    let tools = definition.tools.unwrap_or(means.tools);
    let request = RunRequest {
        what: definition.what,
        task: ask.task,
        origin: ask.origin,
        instructions: definition.instructions,
        tools: settings.terms.results.memory.offered(tools),
        briefing: match means.judged {
            true => {
                let rules_run = means.runner == EMBEDDED_RUNNER
                    && routing.skill_model.is_none()
                    && chain.iter().all(|model| model == OFFLINE_MODEL);
                let limits = Briefing::Judged {
                    passes_max: settings.judge_passes_max,
                    questions_max: settings.questions_max,
                    model: OFFLINE_MODEL.to_string(),
                };
                who_judges(limits, settings.routing_model.or(ask.session_model), rules_run)
            }
            false => Briefing::Direct,
        },
        chain,
        runner: means.runner,
        workspace: ask.workspace,
        clocks,
        persistence: settings.persistence,
        continues: None,
        temperature: settings.temperature,
        overflow_ceiling_bytes: settings.overflow_ceiling_bytes,
        answer_chars_max: settings.answer_chars_max,
        trace_directory: settings.trace_directory,
        group: None,
        terms: RunTerms {
            routing: Some(routing),
            surroundings: Surroundings {
                skill_directory: definition.directory,
                project_instructions: ask.project_instructions,
            },
            session_file: ask.session_file,
            ..settings.terms
        },
        retrieval: settings.retrieval,
    };
    match refuse_models(&request) {
        Some(reason) => Err(reason),
        None => Ok(request),
    }
}

/// Without a choice the session's own model holds, else the first of the chain; then those to go on with.
fn routing_of(
    definition: &AgentDefinition,
    ask: &RunAsk,
    means: &RunMeans,
    settings: &RunSettings,
) -> RoutingTerms {
    let (own, further) = match (&ask.session_model, means.chain.split_first()) {
        (Some(model), _) => (Some(model.clone()), &[][..]),
        (None, Some((first, further))) => (Some(first.clone()), further),
        (None, None) => (None, &[][..]),
    };
    let mut route = settings.route.clone();
    route.enabled &= means.models_chosen;
    if route.naming == ModelNaming::OfHost {
        // A host knows models as provider/id; a bare id belongs to the provider of the session's own model.
        let of_session = ask.session_model.as_ref().and_then(|model| model.split_once('/'));
        route.default_provider = of_session.map_or_else(String::new, |(provider, _)| provider.to_string());
    }
    let (pinned, behind) = match (means.models_chosen, definition.models.split_first()) {
        (true, Some((first, behind))) => (Some(first.clone()), behind),
        _ => (None, &[][..]),
    };
    RoutingTerms {
        skill_model: pinned,
        settings: route,
        default_model: own,
        fallback: [behind, further, &settings.fallback].concat(),
        surface_decision: settings.surface_decision,
        kept: None,
    }
}

/// What was asked for, before anything is chosen; each model once.
fn chain_asked_for(routing: &RoutingTerms) -> Vec<String> {
    let mut chain = Vec::new();
    for model in routing.default_model.iter().chain(&routing.fallback) {
        if !chain.contains(model) {
            chain.push(model.clone());
        }
    }
    chain
}
