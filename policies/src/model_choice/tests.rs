use super::*;
use crate::domain::*;

fn settings() -> RouteSettings {
    RouteSettings {
        enabled: true,
        preference: RoutePreference::Balanced,
        skill_model_policy: SkillModelPolicy::Pin,
        models: ModelPool {
            cheap: Some("p/small".into()),
            balanced: Some("p/middle".into()),
            frontier: Some("q/large".into()),
        },
        default_provider: "p".into(),
        naming: ModelNaming::OfHost,
        allowed_providers: Vec::new(),
    }
}

fn terms() -> RoutingTerms {
    RoutingTerms {
        settings: settings(),
        skill_model: None,
        default_model: Some("s/own".into()),
        fallback: vec!["q/large".into(), "r/last".into()],
        surface_decision: false,
        kept: None,
    }
}

fn request(routing: RoutingTerms) -> RunRequest {
    RunRequest {
        what: WhatToRun::Skill("look".into()),
        task: "look".into(),
        origin: Origin {
            host: "pi".into(),
            session: None,
            resumes: None,
        },
        instructions: String::new(),
        tools: Vec::new(),
        chain: vec!["s/own".into()],
        runner: "pi".into(),
        workspace: "w".into(),
        briefing: Briefing::Judged {
            passes_max: 1,
            questions_max: 0,
            model: "m/judge".into(),
        },
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 25_000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        retrieval: Retrieval::default(),
        terms: RunTerms {
            routing: Some(routing),
            tier_ceilings: Some(TierCeilings {
                cheap: Some(15_000),
                balanced: None,
                frontier: Some(50_000),
            }),
            ..RunTerms::default()
        },
    }
}

fn judged(tier: Tier, passed: bool) -> Verdict {
    Verdict {
        has_user_goal: passed,
        has_required_inputs: passed,
        has_scope_boundary: passed,
        is_unambiguous: passed,
        missing_requirement_question: None,
        execution_route: Route {
            tier,
            complexity: Complexity::Low,
            risk: Risk::ReadOnly,
            confidence: 0.9,
            reason: "because".into(),
        },
    }
}

/// The chain, what decided, and the ceiling.
fn check(routing: RoutingTerms, verdict: Option<Verdict>, chain: &[&str], source: RouteSource, ceiling: u64) {
    match choose_models(&request(routing), verdict.as_ref()) {
        ChoiceDecision::Choose(choice) => {
            assert_eq!(choice.chain, chain);
            assert_eq!(choice.decision.source, source);
            assert_eq!(choice.overflow_ceiling_bytes, ceiling);
        }
        other => panic!("{other:?}"),
    }
}

fn check_refused(routing: RoutingTerms, code: ReasonCode, said: &str) {
    let reason = refuse_models(&request(routing)).unwrap();
    assert_eq!(reason.code, code);
    assert!(reason.message.contains(said), "{}", reason.message);
}

#[test]
fn the_tier_of_the_judge_chooses_model_and_ceiling_and_the_fallback_follows() {
    let chosen = RouteSource::ExecutionRouting;
    let of = |tier| Some(judged(tier, true));
    let cheap = ["p/small", "q/large", "r/last"];
    check(terms(), of(Tier::Cheap), &cheap, chosen, 15_000);
    let balanced = ["p/middle", "q/large", "r/last"];
    check(terms(), of(Tier::Balanced), &balanced, chosen, 25_000);
    check(
        terms(),
        of(Tier::Frontier),
        &["q/large", "r/last"],
        chosen,
        50_000,
    );
}

#[test]
fn a_brief_that_did_not_pass_is_not_worked_on_by_a_cheap_model() {
    let verdict = Some(judged(Tier::Cheap, false));
    let balanced = ["p/middle", "q/large", "r/last"];
    check(terms(), verdict, &balanced, RouteSource::ExecutionRouting, 25_000);
}

#[test]
fn a_pinned_model_has_the_ceiling_of_the_judges_tier() {
    let pinned = RoutingTerms {
        skill_model: Some("k/pinned".into()),
        ..terms()
    };
    let chain = ["k/pinned", "q/large", "r/last"];
    let verdict = Some(judged(Tier::Frontier, true));
    check(pinned, verdict, &chain, RouteSource::SkillModel, 50_000);
}

#[test]
fn without_routing_the_skills_model_holds_else_the_sessions_own() {
    let off = RoutingTerms {
        settings: RouteSettings {
            enabled: false,
            ..settings()
        },
        ..terms()
    };
    let verdict = || Some(judged(Tier::Cheap, true));
    let own = ["s/own", "q/large", "r/last"];
    check(off.clone(), verdict(), &own, RouteSource::Fallback, 15_000);
    let bare = RoutingTerms {
        skill_model: Some("bare".into()),
        ..off
    };
    let chain = ["p/bare", "q/large", "r/last"];
    check(bare, verdict(), &chain, RouteSource::SkillModel, 15_000);
}

#[test]
fn a_pool_without_a_usable_model_leaves_the_sessions_own() {
    let empty = RoutingTerms {
        settings: RouteSettings {
            models: ModelPool::default(),
            ..settings()
        },
        ..terms()
    };
    let own = ["s/own", "q/large", "r/last"];
    let verdict = Some(judged(Tier::Cheap, true));
    check(empty, verdict, &own, RouteSource::Fallback, 15_000);
}

#[test]
fn what_was_chosen_for_the_run_before_holds_again() {
    let ChoiceDecision::Choose(before) = choose_models(&request(terms()), Some(&judged(Tier::Cheap, true)))
    else {
        panic!("nothing chosen")
    };
    let resumed = RoutingTerms {
        kept: Some(*before.clone()),
        ..terms()
    };
    let again = choose_models(&request(resumed), Some(&judged(Tier::Frontier, true)));
    assert_eq!(again, ChoiceDecision::Choose(before));
}

#[test]
fn a_provider_off_the_list_is_refused_for_every_model_that_may_be_called() {
    let allowing = |allowed: &[&str]| RoutingTerms {
        settings: RouteSettings {
            allowed_providers: allowed.iter().map(ToString::to_string).collect(),
            ..settings()
        },
        ..terms()
    };
    let disallowed = ReasonCode::DisallowedProvider;
    let judge = "Model \"m/judge\" uses a disallowed provider. Allowed prefixes: p";
    check_refused(allowing(&["p"]), disallowed, judge);
    check_refused(allowing(&["m", "p", "q"]), disallowed, "\"r/last\"");
    let pinned = RoutingTerms {
        skill_model: Some("k/pinned".into()),
        ..allowing(&["m", "q", "r"])
    };
    check_refused(pinned, disallowed, "\"k/pinned\"");
    // Neither p nor s may be used, but a model of the pool may.
    assert_eq!(refuse_models(&request(allowing(&["m", "q", "r"]))), None);
    let own = RoutingTerms {
        settings: RouteSettings {
            enabled: false,
            ..allowing(&["m", "q", "r"]).settings
        },
        ..terms()
    };
    check_refused(own, disallowed, "\"s/own\"");
}

#[test]
fn without_any_model_it_is_said_what_to_do() {
    let nothing = RoutingTerms {
        settings: RouteSettings {
            enabled: false,
            default_provider: String::new(),
            ..settings()
        },
        default_model: None,
        fallback: Vec::new(),
        ..terms()
    };
    check_refused(nothing.clone(), ReasonCode::UnknownModel, "needs a model");
    let bare = RoutingTerms {
        skill_model: Some("two".into()),
        ..nothing
    };
    check_refused(bare, ReasonCode::BrokenSkill, "names no provider");
}

#[test]
fn the_offline_model_has_no_provider_to_disallow() {
    let routing = RoutingTerms {
        settings: RouteSettings {
            enabled: false,
            allowed_providers: vec!["p".into()],
            ..settings()
        },
        default_model: Some("offline".into()),
        fallback: Vec::new(),
        ..terms()
    };
    let mut request = request(routing);
    request.briefing = Briefing::Direct;
    assert_eq!(refuse_models(&request), None);
}

#[test]
fn an_agent_says_its_model_where_that_is_wished_as_a_skill_does() {
    for (surface_decision, of_agent, of_skill) in [
        (
            true,
            Some("Executing explore using fallback model s/own"),
            "Executing /skill:look using fallback",
        ),
        (false, None, "Executing /skill:look"),
    ] {
        let mut terms = RoutingTerms {
            surface_decision,
            ..terms()
        };
        terms.settings.enabled = false;
        let skill = request(terms);
        let agent = RunRequest {
            what: WhatToRun::Agent("explore".into()),
            ..skill.clone()
        };
        let line = |request: &RunRequest| match choose_models(request, None) {
            ChoiceDecision::Choose(choice) => describe_choice(request, &choice),
            other => panic!("{other:?}"),
        };
        assert!(line(&skill).is_some_and(|line| line.contains(of_skill)));
        assert_eq!(line(&agent).is_some(), of_agent.is_some());
        assert!(
            line(&agent)
                .unwrap_or_default()
                .contains(of_agent.unwrap_or_default())
        );
    }
}
