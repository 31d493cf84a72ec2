//! Who shall run, for what, with which settings: what becomes of it as a complete request?
//!
//! The one way to a request: built-in agents, skills and the agents of a program differ in their definition only.

use crate::added_tools::{AddedTool, Reaches};
use crate::agents::AgentDefinition;
use crate::domain::{
    Briefing, GuidanceTerms, Isolation, ModelNaming, Origin, Reason, ReasonCode, RoutingTerms, RunRequest,
    RunTerms, Surroundings,
};
use crate::judge_models::who_judges;
use crate::model_choice::refuse_models;
use crate::offline::OFFLINE_MODEL;
use crate::overflow_memory::{MEMORY_TOOLS, offered_tools};
use crate::settings::{RunSettings, TotalChosen};
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use crate::tool_policy::{UnknownTools, finalise_tools};
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
    pub origin: Origin,
    /// The directory to work in.
    pub workspace: PathBuf,
    /// The model of the session that asks.
    pub session_model: Option<String>,
    /// Where the host keeps that session.
    pub session_file: Option<PathBuf>,
    /// What the project says of itself, as it stands in the system prompt; empty for nothing.
    pub project_instructions: String,
    /// What it is given of the rules of directories.
    pub guidance: GuidanceTerms,
    /// The day (UTC), as `2026-11-21`.
    pub today: String,
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
    /// The tools of a definition that names none; none for what its runner has.
    pub tools: Option<Vec<String>>,
    /// The task becomes a brief that is judged; else it is the goal as it stands.
    pub judged: bool,
}

impl Default for RunMeans {
    /// What a bare machine has.
    fn default() -> Self {
        Self {
            runner: EMBEDDED_RUNNER.to_string(),
            chain: vec![OFFLINE_MODEL.to_string()],
            models_chosen: false,
            tools: None,
            judged: true,
        }
    }
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
    let own_time = match settings.total_chosen {
        TotalChosen::ByNobody => definition.total_timeout,
        TotalChosen::ForAll => definition.total_timeout.filter(|_| definition.total_set),
        TotalChosen::ForThisRun => None,
    };
    clocks.total = own_time.unwrap_or(clocks.total);
    clocks.inactivity = definition.inactivity_timeout.unwrap_or(clocks.inactivity);
    let tools = definition.tools.or(means.tools);
    let tools = tools.unwrap_or_else(|| runner_tools(&means.runner));
    let tools = finalise_tools(
        tools,
        UnknownTools::Kept,
        &settings.tools_disabled,
        definition.mutability,
    )
    .tools;
    // Who asks the web has to know what is new. Nobody else is told: a day in a prompt empties the provider's cache at its end.
    let asks_the_web = tools
        .iter()
        .filter_map(|tool| AddedTool::named(tool))
        .any(|tool| tool.reaches() == Reaches::Network);
    let request = RunRequest {
        what: definition.what,
        task: ask.task,
        origin: ask.origin,
        instructions: definition.instructions,
        tools: offered_tools(tools, &settings.terms.results.memory),
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
        temperature: definition.temperature.or(settings.temperature),
        overflow_ceiling_bytes: settings.overflow_ceiling_bytes,
        answer_chars_max: settings.answer_chars_max,
        trace_directory: settings.trace_directory,
        group: None,
        terms: RunTerms {
            routing: Some(routing),
            surroundings: Surroundings {
                skill_directory: definition.directory,
                project_instructions: ask.project_instructions,
                guidance: ask.guidance,
                day: asks_the_web.then_some(ask.today),
            },
            session_file: ask.session_file,
            styles: definition.styles,
            reasoning_effort: definition.reasoning_effort,
            prompt_mode: definition.prompt_mode,
            isolation: definition.isolation,
            must_look: definition
                .routing
                .as_ref()
                .is_some_and(|routing| routing.category.is_about_workspace()),
            ..settings.terms
        },
        retrieval: settings.retrieval,
    };
    match refuse_models(&request) {
        Some(reason) => Err(reason),
        None => Ok(request),
    }
}

/// Git works by what a repository says: a worktree is made only where the person trusts it.
pub fn refuse_isolation(isolation: Isolation, workspace_trusted: bool) -> Option<Reason> {
    let message = "A worktree is made in trusted workspaces only. Trust this one: `impresario trust add`, or `--trust` \
                   this once; in Pi, trust the project.";
    match isolation {
        Isolation::Worktree if !workspace_trusted => Some(Reason {
            code: ReasonCode::WorktreeUnavailable,
            message: message.to_string(),
        }),
        Isolation::Worktree | Isolation::None => None,
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
    // An agent that says what to go on with goes on with nothing else.
    let for_all = match (means.models_chosen, &definition.fallback_models) {
        (true, Some(own)) => own,
        _ => &settings.fallback,
    };
    RoutingTerms {
        skill_model: pinned,
        settings: route,
        default_model: own,
        fallback: [behind, further, for_all].concat(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WhatToRun;
    use crate::skill_file::SkillFile;
    use crate::tool_policy::Mutability;
    use std::time::Duration;

    fn ask(session_model: Option<&str>) -> RunAsk {
        RunAsk {
            task: "look".into(),
            origin: Origin {
                host: "pi".into(),
                session: None,
                resumes: None,
            },
            workspace: "/w".into(),
            session_model: session_model.map(str::to_string),
            session_file: None,
            project_instructions: "Answer in French.".into(),
            guidance: GuidanceTerms::default(),
            today: "2026-11-21".into(),
        }
    }

    fn means(runner: &str, chain: &[&str], models_chosen: bool) -> RunMeans {
        RunMeans {
            runner: runner.into(),
            chain: chain.iter().map(ToString::to_string).collect(),
            models_chosen,
            tools: None,
            judged: true,
        }
    }

    fn agent() -> AgentDefinition {
        AgentDefinition::new("reviewer", "Look.").models(["a/one", "b/two"])
    }

    fn skill() -> AgentDefinition {
        let file = SkillFile {
            model: Some("a/one".into()),
            instructions: "Look.".into(),
            ..SkillFile::default()
        };
        AgentDefinition::of_skill("reviewer", file, "/w/.pi/skills/reviewer".into())
    }

    fn request_of(definition: AgentDefinition, settings: RunSettings) -> RunRequest {
        run_request(definition, ask(None), means(PI_RUNNER, &[], true), settings).expect("a request")
    }

    #[test]
    fn from_an_agent_that_only_reads_the_tools_that_change_something_are_taken() {
        let listed = || agent().tools(["read", "bash", "write", "grep"]);
        let changing =
            |request: &RunRequest| request.tools.iter().any(|tool| tool == "bash" || tool == "write");
        let reads = request_of(listed().mutability(Mutability::ReadOnly), RunSettings::default());
        assert!(
            !changing(&reads) && reads.tools.contains(&"grep".to_string()),
            "{:?}",
            reads.tools
        );
        assert!(changing(&request_of(listed(), RunSettings::default())));
    }

    #[test]
    fn an_agent_has_the_time_it_says_unless_somebody_set_one() {
        let patient = || agent().total_timeout(Duration::from_secs(1_800));
        let mut settings = RunSettings::default();
        settings.clocks.total = Duration::from_secs(90);
        let own = request_of(patient(), settings.clone()).clocks.total;
        settings.total_chosen = TotalChosen::ForAll;
        let set = request_of(patient(), settings.clone()).clocks.total;
        assert_eq!((own.as_secs(), set.as_secs()), (1_800, 90));
        let mut of_agent = patient();
        of_agent.total_set = true;
        let set_for_it = request_of(of_agent.clone(), settings.clone()).clocks.total;
        settings.total_chosen = TotalChosen::ForThisRun;
        let by_hand = request_of(of_agent, settings).clocks.total;
        assert_eq!((set_for_it.as_secs(), by_hand.as_secs()), (1_800, 90));
    }

    #[test]
    fn an_agent_and_a_skill_that_say_the_same_become_the_same() {
        let mut settings = RunSettings::default();
        settings.route.allowed_providers = vec!["a".into()];
        settings.terms.log_prompt_prefix = true;
        let of = |definition: AgentDefinition| {
            let definition = definition.tools(["read"]).models(["a/one"]);
            run_request(
                definition,
                ask(None),
                means(PI_RUNNER, &[], true),
                settings.clone(),
            )
            .expect("a request")
        };
        let (mut of_agent, of_skill) = (of(agent()), of(skill()));
        of_agent.what = WhatToRun::Skill("reviewer".into());
        of_agent.terms.surroundings.skill_directory = Some("/w/.pi/skills/reviewer".into());
        assert_eq!(of_agent, of_skill);
        let refused = run_request(
            agent().models(["z/other"]),
            ask(None),
            means(PI_RUNNER, &[], true),
            settings,
        );
        assert_eq!(
            refused.expect_err("not allowed").code,
            ReasonCode::DisallowedProvider
        );
    }

    #[test]
    fn the_definition_names_models_unless_somebody_did_by_hand() {
        let settings = RunSettings {
            fallback: vec!["c/three".into()],
            ..RunSettings::default()
        };
        let routing = |means: RunMeans, session: Option<&str>| {
            let request = run_request(agent(), ask(session), means, settings.clone()).expect("a request");
            request.terms.routing.expect("it is always there")
        };
        let chosen = routing(means(PI_RUNNER, &[], true), Some("s/own"));
        assert_eq!(chosen.skill_model.as_deref(), Some("a/one"));
        assert_eq!(chosen.fallback, ["b/two", "c/three"]);
        let by_hand = routing(means(PI_RUNNER, &["h/one", "h/two"], false), None);
        assert_eq!(
            (by_hand.skill_model, by_hand.default_model.as_deref()),
            (None, Some("h/one"))
        );
        assert_eq!(by_hand.fallback, ["h/two", "c/three"]);
    }

    #[test]
    fn a_worktree_is_made_where_the_person_trusts_the_workspace() {
        for trusted in [true, false] {
            assert_eq!(refuse_isolation(Isolation::None, trusted), None);
        }
        assert_eq!(refuse_isolation(Isolation::Worktree, true), None);
        assert!(refuse_isolation(Isolation::Worktree, false).is_some());
        let isolated = request_of(agent().isolation(Isolation::Worktree), RunSettings::default());
        assert_eq!(isolated.terms.isolation, Isolation::Worktree);
    }

    #[test]
    fn rules_judge_only_where_rules_run() {
        let judges = |runner: &str, chain: &[&str], session: Option<&str>| {
            let definition = AgentDefinition::new("reviewer", "Look.");
            let means = means(runner, chain, false);
            let request = run_request(definition, ask(session), means, RunSettings::default());
            match request.expect("a request").briefing {
                Briefing::Judged { model, .. } => Some(model),
                Briefing::Direct => None,
            }
        };
        assert_eq!(
            judges(EMBEDDED_RUNNER, &["offline"], None).as_deref(),
            Some("offline")
        );
        assert_eq!(judges(PI_RUNNER, &["a/one"], None), None);
        assert_eq!(judges(PI_RUNNER, &[], Some("s/own")).as_deref(), Some("s/own"));
    }

    #[test]
    fn a_definition_has_its_own_clock_and_its_own_tools() {
        let definition = agent().tools(["read"]).total_timeout(Duration::from_secs(7));
        let means = means(PI_RUNNER, &["a/one"], false);
        let request = run_request(definition, ask(None), means.clone(), RunSettings::default());
        let request = request.expect("a request");
        assert_eq!(
            (request.clocks.total, request.tools),
            (Duration::from_secs(7), vec!["read".to_string()])
        );
        let request = run_request(skill(), ask(None), means, RunSettings::default()).expect("a request");
        let mut tools = runner_tools(PI_RUNNER);
        tools.sort_unstable();
        assert_eq!(request.tools, tools);
    }
}
