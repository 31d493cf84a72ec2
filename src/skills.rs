//! From the order of a skill to a complete request: finds the file, reads it, fills in the settings.

use crate::preflight;
use crate::project_files::{ProjectPlaces, project_instructions};
use crate::runtime::{EMBEDDED_RUNNER, OFFLINE_MODEL, rules_run};
use crate::settings::{Settings, SettingsPlaces};
use crate::skill_files::find_skill;
pub use crate::skill_files::{SkillEntry, list_skills};
use futures_util::FutureExt;
use impresario_actors::context::mcp::EngineSettings;
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::router::Resolve;
use impresario_policies::domain::{
    AnswerTerms, Briefing, Clocks, HistoryTerms, Origin, Persistence, Reason, ReasonCode, ResultTerms,
    Retrieval, RoutingTerms, RunRequest, RunTerms, Surroundings, TierCeilings, TraceTerms, WhatToRun,
};
use impresario_policies::execution_route::{ModelPool, RoutePreference, RouteSettings, SkillModelPolicy};
use impresario_policies::judge_models::who_judges;
use impresario_policies::model_choice::refuse_models;
use impresario_policies::model_mapping::ModelNaming;
use impresario_policies::overflow_memory::MEMORY_TOOLS;
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use std::path::PathBuf;
use std::rc::Rc;

/// What skills run with.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillSettings {
    /// The home directory, for the user's own skills; none looks in the workspace only.
    pub home: Option<PathBuf>,
    /// Pi's directory of the user, where it is not `.pi/agent` in the home directory.
    pub agent_directory: Option<PathBuf>,
    /// The runner.
    pub runner: String,
    /// The models where the skill names none.
    pub chain: Vec<String>,
    /// The skill's file and the routing may choose another model: there are providers, and nobody named one by hand.
    pub models_chosen: bool,
    /// The embedded runner reaches providers here, as the runner pi does everywhere.
    pub embedded_has_providers: bool,
    /// How a model is chosen.
    pub route: RouteSettings,
    /// The person is told which model was chosen and why.
    pub surface_decision: bool,
    /// The tools a skill may use.
    pub tools: Vec<String>,
    /// How the task becomes a brief.
    pub briefing: Briefing,
    /// The limits in time.
    pub clocks: Clocks,
    /// How failures are met.
    pub persistence: Persistence,
    /// A tool's result above so many bytes is kept aside.
    pub overflow_ceiling_bytes: u64,
    /// Ceilings of single tools, and what is kept aside.
    pub results: ResultTerms,
    /// The cap of an answer.
    pub answer_chars_max: usize,
    /// Where traces go, relative to the workspace; none for no trace files.
    pub trace_directory: Option<String>,
    /// What answers questions about the workspace.
    pub retrieval: Retrieval,
    /// The models to go on with after the skill's or the session's own.
    pub fallback: Vec<String>,
    /// The model that writes and judges briefs, whatever the session's own is.
    pub routing_model: Option<String>,
    /// Ceilings by tier; none for one ceiling.
    pub tier_ceilings: Option<TierCeilings>,
    /// What actor and judge see of the conversation.
    pub history: HistoryTerms,
    /// What is done to an answer.
    pub answer: AnswerTerms,
    /// How much of a run stands in its trace, and what is made of it.
    pub trace: TraceTerms,
    /// A hash of the system prompt is logged.
    pub log_prompt_prefix: bool,
    /// Sampling temperature, where the runner supports it.
    pub temperature: Option<f64>,
    /// The settings files are read for every order and laid over these.
    pub read_files: bool,
    /// The runner that holds whatever the files say.
    pub runner_fixed: bool,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self {
            home: std::env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            agent_directory: std::env::var_os("PI_CODING_AGENT_DIR")
                .map(PathBuf::from)
                .filter(|directory| directory.is_absolute()),
            runner: EMBEDDED_RUNNER.to_string(),
            chain: vec![OFFLINE_MODEL.to_string()],
            models_chosen: false,
            embedded_has_providers: false,
            route: nothing_routed(),
            surface_decision: false,
            tools: skill_tools_of(EMBEDDED_RUNNER),
            briefing: Briefing::Judged {
                passes_max: 2,
                questions_max: 2,
                model: OFFLINE_MODEL.to_string(),
            },
            clocks: Clocks::default(),
            persistence: Persistence::default(),
            overflow_ceiling_bytes: 25_000,
            results: ResultTerms::default(),
            answer_chars_max: 120_000,
            trace_directory: Some(".pi/traces".to_string()),
            retrieval: Retrieval::default(),
            fallback: Vec::new(),
            routing_model: None,
            tier_ceilings: None,
            history: HistoryTerms::default(),
            answer: AnswerTerms::default(),
            trace: TraceTerms::default(),
            log_prompt_prefix: false,
            temperature: None,
            read_files: false,
            runner_fixed: false,
        }
    }
}

/// Every model that a host knows may be used, as the host calls it, and nothing is adapted.
fn nothing_routed() -> RouteSettings {
    RouteSettings {
        enabled: false,
        preference: RoutePreference::Balanced,
        skill_model_policy: SkillModelPolicy::Pin,
        models: ModelPool::default(),
        default_provider: String::new(),
        naming: ModelNaming::OfHost,
        allowed_providers: Vec::new(),
    }
}

/// The tools of a skill. In nested Pi it has Pi's own; the embedded runner has only tools that read.
pub fn skill_tools_of(runner: &str) -> Vec<String> {
    let tools: &[&str] = match runner {
        EMBEDDED_RUNNER => &["read", "grep", "find", RETRIEVAL_TOOL],
        _ => &["read", "bash", "edit", "write", RETRIEVAL_TOOL],
    };
    tools
        .iter()
        .chain(&MEMORY_TOOLS)
        .map(ToString::to_string)
        .collect()
}

/// What the router calls.
pub(crate) fn resolver(settings: SkillSettings, engines: EngineSettings, host: String) -> Resolve {
    let engines = Rc::new(engines);
    Rc::new(move |order| {
        let (settings, engines, host) = (settings.clone(), engines.clone(), host.clone());
        async move {
            let read = tokio::task::spawn_blocking(move || resolve(&settings, &host, order)).await;
            let request = read.unwrap_or_else(|error| {
                Err(Reason {
                    code: ReasonCode::Internal,
                    message: format!("Reading the skill failed: {error}"),
                })
            })?;
            preflight::check(&engines, &request).await?;
            Ok(request)
        }
        .boxed_local()
    })
}

/// Makes a complete request of an order.
pub fn resolve(settings: &SkillSettings, host: &str, order: SkillOrder) -> Result<RunRequest, Reason> {
    let mut settings = settings.clone();
    if settings.read_files {
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        Settings::read(&places).apply(&mut settings);
    }
    let found = find_skill(&settings, &order)?;
    let skill = found.skill;
    let surroundings = Surroundings {
        skill_directory: Some(found.directory),
        project_instructions: project_instructions(&ProjectPlaces {
            workspace: order.workspace.clone(),
            trusted: order.workspace_trusted,
            agent_directory: agent_directory(&settings),
            home: settings.home.clone(),
        }),
    };
    let routing = routing_of(&settings, &order, skill.model);
    let briefing = briefing_of(&settings, order.model, &routing);
    let request = RunRequest {
        what: WhatToRun::Skill(order.name),
        task: order.task,
        origin: Origin {
            host: host.to_string(),
            session: order.session,
            resumes: None,
        },
        continues: None,
        instructions: skill.instructions,
        tools: settings.results.memory.offered(settings.tools),
        chain: chain_asked_for(&routing),
        runner: settings.runner,
        workspace: order.workspace,
        briefing,
        clocks: settings.clocks,
        persistence: settings.persistence,
        temperature: settings.temperature,
        overflow_ceiling_bytes: settings.overflow_ceiling_bytes,
        answer_chars_max: settings.answer_chars_max,
        trace_directory: settings.trace_directory,
        group: None,
        terms: RunTerms {
            routing: Some(routing),
            tier_ceilings: settings.tier_ceilings,
            history: settings.history,
            answer: settings.answer,
            trace: settings.trace,
            log_prompt_prefix: settings.log_prompt_prefix,
            results: settings.results,
            surroundings,
            session_file: order.session_file,
            inherited: None,
        },
        retrieval: settings.retrieval,
    };
    match refuse_models(&request) {
        Some(reason) => Err(reason),
        None => Ok(request),
    }
}

/// Where Pi keeps what the user says in every workspace.
fn agent_directory(settings: &SkillSettings) -> Option<PathBuf> {
    let own = settings.agent_directory.clone();
    own.or_else(|| settings.home.as_ref().map(|home| home.join(".pi/agent")))
}

/// Without a choice the session's own model holds, else the first of the settings'; then those to go on with.
fn routing_of(settings: &SkillSettings, order: &SkillOrder, of_skill: Option<String>) -> RoutingTerms {
    let (own, further) = match (&order.model, settings.chain.split_first()) {
        (Some(model), _) => (Some(model.clone()), &[][..]),
        (None, Some((first, further))) => (Some(first.clone()), further),
        (None, None) => (None, &[][..]),
    };
    let mut route = settings.route.clone();
    route.enabled &= settings.models_chosen;
    if route.naming == ModelNaming::OfHost {
        // Pi knows models as provider/id; a bare id belongs to the provider of the session's own model.
        let of_session = order.model.as_ref().and_then(|model| model.split_once('/'));
        route.default_provider = of_session.map_or_else(String::new, |(provider, _)| provider.to_string());
    }
    RoutingTerms {
        skill_model: of_skill.filter(|_| settings.models_chosen),
        settings: route,
        default_model: own,
        fallback: further.iter().chain(&settings.fallback).cloned().collect(),
        surface_decision: settings.surface_decision,
        kept: None,
    }
}

/// What was asked for, before anything is chosen.
fn chain_asked_for(routing: &RoutingTerms) -> Vec<String> {
    let asked = routing.default_model.iter().chain(&routing.fallback);
    let mut chain = Vec::new();
    for model in asked {
        if !chain.contains(model) {
            chain.push(model.clone());
        }
    }
    chain
}

/// The session's own model judges where no other is named.
fn briefing_of(settings: &SkillSettings, of_session: Option<String>, routing: &RoutingTerms) -> Briefing {
    let named = settings.routing_model.clone().or(of_session);
    let rules_run = routing.skill_model.is_none() && rules_run(&settings.runner, &chain_asked_for(routing));
    who_judges(settings.briefing.clone(), named, rules_run)
}
