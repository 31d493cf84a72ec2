//! What is configured about a skill's model, its brief, its budget and its answer, and what becomes of it in a run.

mod stage;

use self::stage::{BRIEF, Reply, Stage, Story};
use impresario::runtime::{AttemptEnding, ReasonCode, Step, TerminalState};
use impresario_policies::domain::{ModelChoice, RouteSource, Tier};
use serde_json::json;

/// A model for each tier, and one to go on with.
const POOL: &str = r#""executionRouting": {"enabled": true, "surfaceDecision": true, "models":
    {"cheap": "p/small", "balanced": "p/middle", "frontier": "q/large"}}, "fallbackModels": ["r/next"]"#;

fn verdict(tier: &str, risk: &str) -> String {
    json!({
        "hasUserGoal": true, "hasRequiredInputs": true, "hasScopeBoundary": true, "isUnambiguous": true,
        "missingRequirementQuestion": null,
        "executionRoute": {"tier": tier, "complexity": "low", "risk": risk, "confidence": 0.9,
            "reason": "It looks intricate."},
    })
    .to_string()
}

fn choice(story: &Story) -> ModelChoice {
    story.outcome.projection.choice.clone().expect("a choice")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judges_tier_chooses_the_model_and_the_person_is_told_once() {
    let mut stage = Stage::new(&format!("{{{POOL}}}"));
    stage.judge = verdict("frontier", "architecture_change");
    let story = stage.run("Turn it inside out.").await;
    assert_eq!(story.outcome.state, TerminalState::Succeeded);
    assert_eq!(story.asked_models(), ["q/large"]);
    let choice = choice(&story);
    assert_eq!(choice.chain, ["q/large", "r/next"]);
    assert_eq!(choice.decision.source, RouteSource::ExecutionRouting);
    assert_eq!(
        story.notices(),
        [
            "[System]: ⚙️ Executing /skill:look using frontier model q/large. Reason: route frontier \
             (complexity=low, risk=architecture_change, confidence=0.90)"
        ]
    );
    for request in story.requests_of_the_sub_agent() {
        let prompt = format!("{}{:?}", request.system, request.messages);
        for told in ["q/large", "frontier", "confidence", "intricate"] {
            assert!(!prompt.contains(told), "{told} in {prompt}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_risk_lifts_a_cheap_tier_and_a_preference_leans() {
    for (risk, preference, tier) in [
        ("read_only", "balanced", Tier::Cheap),
        ("multi_file_edit", "balanced", Tier::Balanced),
        ("small_edit", "preferBest", Tier::Balanced),
        ("unknown", "preferBest", Tier::Frontier),
    ] {
        let lean = format!(r#""executionRouting": {{"preference": "{preference}", "#);
        let mut stage = Stage::new(&format!("{{{POOL}}}").replace(r#""executionRouting": {"#, &lean));
        stage.judge = verdict("cheap", risk);
        assert_eq!(choice(&stage.run("Look.").await).decision.tier, tier, "{risk}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_after_the_chosen_one_is_the_first_to_go_on_with() {
    let mut stage = Stage::new(&format!("{{{POOL}}}"));
    stage.judge = verdict("cheap", "read_only");
    stage.turns = vec![Reply::Refused, Reply::Says("So.")];
    let story = stage.run("Look.").await;
    assert_eq!(story.outcome.answer.as_deref(), Some("So."));
    assert_eq!(story.asked_models(), ["p/small", "r/next"]);
    let notices = story.notices();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[1].contains("goes on with r/next"), "{notices:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_routing_the_sessions_own_model_holds_and_a_pinned_one_before_it() {
    let stage = Stage::new("{}");
    let story = stage.run("Look.").await;
    assert_eq!(story.asked_models(), ["s/own"]);
    assert_eq!(choice(&story).decision.source, RouteSource::Fallback);
    assert_eq!(story.notices(), ["[System]: ⚙️ Executing /skill:look"]);
    let mut stage = Stage::new(&format!("{{{POOL}}}"));
    stage.skill_model = "k/pinned";
    let story = stage.run("Look.").await;
    assert_eq!(story.asked_models(), ["k/pinned"]);
    assert_eq!(choice(&story).decision.source, RouteSource::SkillModel);
    let reason = "using SKILL.md model k/pinned. Reason: skillModelPolicy=pin; SKILL.md model honoured.";
    assert!(story.notices()[0].ends_with(reason), "{:?}", story.notices());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_off_the_list_costs_nothing() {
    for (settings, named) in [
        (r#"{"allowedProviderPrefixes": ["p"]}"#, "s/own"),
        (
            r#"{"allowedProviderPrefixes": ["s"], "routingModel": "r/judge"}"#,
            "r/judge",
        ),
    ] {
        let stage = Stage::new(settings);
        let (reason, asked) = stage.refused("Look.").await;
        assert_eq!(reason.code, ReasonCode::DisallowedProvider);
        assert!(reason.message.starts_with(&format!("Model \"{named}\" uses")));
        assert_eq!(asked, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn actor_and_judge_see_the_part_of_the_conversation_that_is_set() {
    let settings = r#"{"historyWindow": 6, "historyAssembly": {"strategy": "headTail", "headMessages": 1,
        "tailMessages": 2, "maxCharsPerMessage": 8}}"#;
    let mut stage = Stage::new(settings);
    stage.said = (1..=9).map(|number| format!("message {number} ééé")).collect();
    let story = stage.run("Look.").await;
    let cut = "message \n[...truncated]";
    let marker = "[history\n[...truncated]";
    let expected = format!("[user] {cut}\n[system] {marker}\n[user] {cut}\n[user] {cut}");
    assert_eq!(story.chats(), [expected.clone(), expected]);

    let mut stage = Stage::new(r#"{"historyWindow": 3, "historyAssembly": {"maxTotalChars": 20}}"#);
    stage.said = vec!["old".repeat(20), "é".repeat(9), "the newest".to_string()];
    let story = stage.run("Look.").await;
    let expected = "[user] oldoldoldo\n[user] the newest";
    assert_eq!(story.chats(), [expected, expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_judge_the_actor_is_asked_once_and_an_unusable_brief_leaves_the_task() {
    for (brief, goal) in [
        (BRIEF, "Find the lock."),
        ("I would rather not.", "Where is the lock?"),
    ] {
        let mut stage = Stage::new(r#"{"maxJudgeIterations": 0}"#);
        stage.brief = brief.to_string();
        let story = stage.run("Where is the lock?").await;
        assert_eq!(story.outcome.state, TerminalState::Succeeded);
        assert_eq!(story.routing_requests().len(), 1);
        let first = story.requests_of_the_sub_agent()[0].messages[0].text.clone();
        assert_eq!(first, format!("User Goal: {goal}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_task_and_usable_brief_the_person_is_asked_and_judged_again_and_nothing_starts_before() {
    let mut stage = Stage::new(r#"{"maxJudgeIterations": 0, "maxQuestions": 2}"#);
    stage.brief = "no idea".to_string();
    stage.answers = vec!["the lock", "still the lock"];
    let story = stage.run("").await;
    assert_eq!(story.outcome.state, TerminalState::Failed);
    let reason = story.outcome.reason.clone().expect("a reason");
    assert_eq!(reason.code, ReasonCode::NeedsClarification);
    assert_eq!(story.routing_requests().len(), 3);
    let asked = "[System]: Missing context for skill. Could you restate what you want this skill to do, and on which files?";
    assert_eq!(story.questions(), [asked, asked]);
    assert_eq!(story.asked_models(), Vec::<String>::new());
    assert_eq!(story.notices(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ceiling_is_that_of_the_judges_tier_also_where_a_model_is_pinned() {
    let budgets = r#"{"contextBudgets": {"enabled": true,
        "overflowCeilingBytes": {"cheap": 1000, "frontier": 9000}}}"#;
    for (tier, kept_aside) in [("cheap", true), ("frontier", false)] {
        let mut stage = Stage::new(budgets);
        stage.skill_model = "k/pinned";
        stage.judge = verdict(tier, "read_only");
        stage.turns = vec![Reply::CallsTool, Reply::Says("So.")];
        let story = stage.run("Look.").await;
        assert_eq!(story.outcome.answer.as_deref(), Some("So."));
        let result = story.requests_of_the_sub_agent()[1].messages.last().cloned();
        let whole = result.expect("a result").text.contains(&"x".repeat(3_000));
        assert_eq!(whole, !kept_aside, "{tier}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_cleaned_as_set() {
    let said = "Before.\n\n```tool_result\nsecret\n```\n\nAfter.";
    for (settings, expected) in [
        ("{}", "Before.\n\nAfter."),
        (r#"{"outputSanitizer": {"stripToolTraces": false}}"#, said),
        (
            r#"{"outputSanitizer": {"enabled": false, "finalOutputMaxChars": 5}}"#,
            said,
        ),
    ] {
        let mut stage = Stage::new(settings);
        stage.turns = vec![Reply::Says(said)];
        assert_eq!(stage.run("Look.").await.outcome.answer.as_deref(), Some(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_that_was_stopped_early_is_delivered_with_that_line() {
    let mut stage = Stage::new("{}");
    stage.total_ms = 300;
    stage.turns = vec![Reply::Silence];
    let story = stage.run("Look.").await;
    let reason = story.outcome.reason.clone().expect("a reason");
    assert_eq!(reason.code, ReasonCode::TotalTimeout);
    let line = "[System]: Sub-agent stopped early (timeout).";
    assert_eq!(story.stopped_early(), [Some(line.to_string())]);
    let story = Stage::new("{}").run("Look.").await;
    assert_eq!(story.stopped_early(), [None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_that_is_resumed_keeps_the_models_that_were_chosen() {
    let mut stage = Stage::new(&format!("{{{POOL}}}"));
    stage.judge = verdict("cheap", "read_only");
    stage.turns = vec![Reply::Silence];
    let parked = stage.park("Look.").await;
    // Asked again, the judge would say something else.
    stage.judge = verdict("frontier", "architecture_change");
    stage.turns = vec![Reply::Says("So.")];
    let story = stage.resume(&parked.run).await;
    assert_eq!(story.outcome.answer.as_deref(), Some("So."));
    assert_eq!(story.asked_models(), ["p/small"]);
    let again = story.outcome.projection.choice.clone();
    assert_eq!(again, parked.projection.choice);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_chosen_and_done_is_logged_without_a_word_of_the_conversation() {
    stage::keep_the_log();
    let settings = format!(
        r#"{{{POOL}, "debugPromptPrefixHash": true, "contextBudgets": {{"enabled": true}},
            "outputSanitizer": {{"finalOutputMaxChars": 60}}}}"#
    );
    let mut stage = Stage::new(&settings);
    stage.name = "logged";
    stage.judge = verdict("cheap", "read_only");
    stage.said = vec!["chatty sesame".to_string()];
    stage.brief = BRIEF.replace("Find", "Sesame: find");
    let long = "sesame ".repeat(40);
    stage.turns = vec![Reply::Says(Box::leak(long.into_boxed_str()))];
    let story = stage.run("Sesame, where is the lock?").await;
    assert_eq!(story.outcome.state, TerminalState::Succeeded);
    let system = story.requests_of_the_sub_agent()[0].system.clone();
    let print = impresario_policies::sub_agent_prompt::fingerprint(&system);
    assert_eq!(
        stage::logged("logged"),
        [
            json!({"event": "impresario.execution-route", "skill": "logged", "tier": "cheap", "model": "p/small",
                "source": "execution-routing", "complexity": "low", "risk": "read_only", "confidence": 0.9,
                "routeTier": "cheap", "effectiveTier": "cheap"}),
            json!({"event": "impresario.context-budget", "skill": "logged", "tier": "cheap",
                "overflowCeilingBytes": 15000, "source": "tier"}),
            json!({"event": "impresario.prompt-prefix", "skill": "logged", "sha256": print.sha256,
                "bytes": print.bytes}),
            json!({"event": "impresario.output-sanitized", "skill": "logged", "removedSections": 0,
                "truncated": true, "originalChars": 280, "finalChars": 60}),
        ]
    );
    assert!(!stage::whole_log().to_lowercase().contains("sesame"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_chosen_twice_when_the_attempt_is_lost() {
    let mut stage = Stage::new(&format!("{{{POOL}}}"));
    stage.judge = verdict("cheap", "read_only");
    stage.kill_first_attempt = true;
    let story = stage.run("Look.").await;
    assert_eq!(story.outcome.state, TerminalState::Succeeded);
    let endings = story.outcome.projection.attempts.iter();
    let endings = endings.map(|attempt| {
        (
            attempt.model.as_str(),
            attempt.ended.as_ref().map(|end| end.ending),
        )
    });
    assert_eq!(
        endings.collect::<Vec<_>>(),
        [
            ("p/small", Some(AttemptEnding::Lost)),
            ("p/small", Some(AttemptEnding::Answered)),
        ]
    );
    let routed = story.steps.iter();
    let routed = routed.filter(|recorded| matches!(recorded.step, Step::Routed { .. }));
    assert_eq!(routed.count(), 1);
    assert_eq!(story.notices().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_skill_is_told_what_the_first_one_is_at() {
    let mut stage = Stage::new("{}");
    stage.brief = String::new();
    let reason = stage.refused_beside_another().await;
    assert_eq!(reason.code, ReasonCode::Busy);
    assert!(
        reason.message.starts_with("Router busy (evaluating). Wait for"),
        "{}",
        reason.message
    );
}
