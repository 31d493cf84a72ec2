//! What a step looks like on disk is a promise: a file of every layout there ever was is kept here and read for ever, and
//! what is written today is what the newest of them says, whatever becomes of a policy's settings.

use super::samples::*;
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Briefing, Budget, CallEvidence, CallTarget, Caller, Cap, ChainPlace,
    CommandRun, CutTool, DegradationSettings, FileChanged, FileSeen, FileState, Flag, Gate, GateEnding,
    GroupMember, GuidanceTerms, HistorySettings, HistoryStrategy, HistoryTerms, Inherited, MiddleMode,
    ModelCall, ModelChoice, ModelNaming, ModelPool, ModelUsage, NotHashed, ObservationSettings, OnFailure,
    OverflowSettings, Proof, Reason, ReasonCode, Replay, ResultTerms, Retrieval, RetrievalEngine,
    RouteDecision, RoutePreference, RouteSettings, RouteSource, RoutingTerms, RunTerms, ShortNewest,
    SkillModelPolicy, Step, Subtask, Surroundings, Tier, TierCeilings, ToolUse, TraceOutcome, TraceTerms,
    TraceVerdict, Verdict, WhatToRun, WholeAnswer, Work,
};
use std::time::Duration;

/// One line a step, of every layout, the newest last. A layout is never changed: a new one gets a file of its own.
const LAYOUTS: &[(&str, &str)] = &[
    ("steps-1.jsonl", include_str!("../fixtures/steps-1.jsonl")),
    ("steps-2.jsonl", include_str!("../fixtures/steps-2.jsonl")),
];

/// Every kind of step, with everything said that can be said.
fn everything() -> Vec<Step> {
    let Step::Accepted { mut request } = accepted() else {
        unreachable!("it is an acceptance");
    };
    request.what = WhatToRun::Skill("review".into());
    request.continues = Some("the directory was renamed".into());
    request.persistence.cut_tool = CutTool::TellSubAgent;
    request.group = Some(GroupMember {
        group: group(7),
        place: 1,
        members: 2,
        concurrency: 2,
        total: Duration::from_millis(600_500),
        subtask: Subtask {
            id: "journal".into(),
            goal: "where are steps written?".into(),
            scope: Some("actors".into()),
            retrieval_hints: vec!["writer".into()],
            output_schema: Some("a list".into()),
            output_units_max: Some(8_000),
        },
        answer_units_max: Some(4_000),
        chain: Some(ChainPlace {
            step: 1,
            steps: 2,
            on_failure: OnFailure::Collect,
            own_time: true,
            context: Some("be quick".into()),
        }),
    });
    request.retrieval = Retrieval {
        engine: RetrievalEngine::Mcp {
            command: vec!["server".into(), "--stdio".into()],
            environment: vec!["TOKEN_FILE".into()],
        },
        timeout: Duration::from_secs(20),
    };
    request.terms = terms();
    let choice = choice();
    let of_auggie = Retrieval {
        engine: RetrievalEngine::Auggie {
            program: "auggie".into(),
        },
        ..Retrieval::default()
    };
    let mut plain = request.clone();
    plain.retrieval = of_auggie;
    plain.briefing = Briefing::Direct;
    plain.group = None;
    plain.terms = RunTerms::default();
    let reason = Reason {
        code: ReasonCode::HostGone,
        message: "the program stopped".into(),
    };
    let mut steps = vec![Step::Accepted { request }, Step::Accepted { request: plain }];
    steps.extend(whole_run());
    steps.extend([
        Step::Routed {
            choice: Box::new(choice),
        },
        Step::ToolStarted {
            attempt: AttemptNumber(2),
            call: "1.0:call_0".into(),
            tool: "bash".into(),
            summary: "cargo test".into(),
            arguments: Some("{\"command\":\"cargo test\"}".into()),
            replay: Replay::Safe,
            target: Some(CallTarget::Runs {
                command: "cargo test".into(),
            }),
        },
        Step::ToolEnded {
            attempt: AttemptNumber(2),
            call: "1.0:call_0".into(),
            is_error: true,
            bytes: 9,
            preview: "no".into(),
            overflow: None,
            evidence: Some(Box::new(CallEvidence {
                exit_code: Some(101),
                after: None,
                changed: vec![FileChanged {
                    path: "src/a.rs".into(),
                    before: FileState::Absent,
                    after: Some(FileState::Hashed {
                        sha256: "cd".into(),
                        bytes: 3,
                    }),
                }],
                changed_besides: 1,
                named: vec!["src/a.rs".into()],
                names_more: true,
            })),
        },
        changes("1.1:call_1", FileState::Absent),
        Step::ToolEnded {
            attempt: AttemptNumber(2),
            call: "1.1:call_1".into(),
            is_error: false,
            bytes: 9,
            preview: "written".into(),
            overflow: None,
            evidence: Some(Box::new(CallEvidence {
                after: Some(FileState::Hashed {
                    sha256: "ab".into(),
                    bytes: 2,
                }),
                ..CallEvidence::default()
            })),
        },
        changes(
            "1.2:call_2",
            FileState::NotHashed {
                why: NotHashed::TooLarge,
            },
        ),
        Step::AttemptEnded {
            attempt: AttemptNumber(2),
            ending: AttemptEnding::Answered,
            detail: String::new(),
            partial: None,
            whole: Some(Box::new(WholeAnswer::Lost {
                bytes: 200_000,
                why: "no space".into(),
            })),
            used: None,
            proof: Proof::NOTHING_STARTED,
        },
        Step::Answered {
            answer: "All tests pass.".into(),
            flags: flags(),
        },
        Step::ModelCalled {
            call: Box::new(ModelCall {
                by: Caller::Judge { pass: 2 },
                requested: "a/one".into(),
                served: None,
                used: None,
                reserved: ModelUsage::default(),
                prompt: None,
            }),
        },
        Step::GateStarted {
            gate: 1,
            command: "cargo test".into(),
        },
        Step::GateEnded {
            gate: 1,
            ending: GateEnding::Exited { code: 101 },
            output: "one failed".into(),
            proof: proof(),
        },
        Step::GateIndeterminate {
            gate: 2,
            proof: proof(),
        },
        Step::ParkRequested {
            reason: reason.clone(),
        },
        Step::Ended {
            state: impresario_policies::domain::TerminalState::Parked,
            reason: Some(reason),
            proof: proof(),
        },
        Step::Observed {
            verdict: Some(TraceVerdict {
                outcome: TraceOutcome::LikelyRegression,
                signals: vec!["3 in a row".into()],
                confidence: 0.75,
            }),
            alerted: true,
        },
    ]);
    steps
}

fn changes(call: &str, before: FileState) -> Step {
    Step::ToolStarted {
        attempt: AttemptNumber(2),
        call: call.into(),
        tool: "write".into(),
        summary: "new.txt".into(),
        arguments: None,
        replay: Replay::Unsafe,
        target: Some(CallTarget::Changes {
            file: FileSeen {
                path: "new.txt".into(),
                state: before,
            },
        }),
    }
}

fn flags() -> Vec<Flag> {
    let claim = "All tests pass.".to_string();
    vec![
        Flag::NothingLookedAt,
        Flag::CitedUnread {
            path: "src/a.rs".into(),
            line: Some(3),
            missing: true,
        },
        Flag::TestsNotRun { claim: claim.clone() },
        Flag::TestsFailed {
            claim,
            command: "cargo test".into(),
            exit_code: 101,
        },
    ]
}

fn work() -> Work {
    Work {
        read: vec![FileSeen {
            path: "a".into(),
            state: FileState::Absent,
        }],
        changed: vec![FileChanged {
            path: "b".into(),
            before: FileState::Absent,
            after: None,
        }],
        commands: vec![CommandRun {
            command: "ls".into(),
            exit_code: None,
            cut_off: true,
        }],
        tools: vec![ToolUse {
            tool: "bash".into(),
            calls: 2,
            failed: 1,
            cut_off: 1,
        }],
        may_have_changed_more: true,
        named: vec!["c".into()],
        listed: vec!["d".into()],
        named_more: true,
        ..Work::default()
    }
}

fn choice() -> ModelChoice {
    ModelChoice {
        chain: vec!["house/large".into(), "house/small".into()],
        decision: RouteDecision {
            model: "house/large".into(),
            tier: Tier::Frontier,
            reason: "it changes many files".into(),
            source: RouteSource::ExecutionRouting,
            effective_tier: Tier::Frontier,
        },
        overflow_ceiling_bytes: 50_000,
    }
}

fn terms() -> RunTerms {
    RunTerms {
        routing: Some(RoutingTerms {
            settings: RouteSettings {
                enabled: true,
                preference: RoutePreference::PreferBest,
                skill_model_policy: SkillModelPolicy::Ignore,
                models: ModelPool {
                    cheap: Some("house/small".into()),
                    balanced: None,
                    frontier: Some("house/large".into()),
                },
                default_provider: "house".into(),
                naming: ModelNaming::OfHost,
                allowed_providers: vec!["house/".into()],
            },
            skill_model: Some("house/medium".into()),
            default_model: Some("house/medium".into()),
            fallback: vec!["house/small".into()],
            surface_decision: true,
            kept: Some(choice()),
        }),
        tier_ceilings: Some(TierCeilings {
            cheap: Some(15_000),
            balanced: None,
            frontier: Some(50_000),
        }),
        history: HistoryTerms {
            window: 12,
            assembly: HistorySettings {
                strategy: HistoryStrategy::HeadTail,
                head_messages: 2,
                tail_messages: 6,
                middle_mode: MiddleMode::Omit,
                message_units_max: 500,
                total_units_max: 5_000,
                short_newest: ShortNewest::Kept,
            },
        },
        results: ResultTerms {
            ceilings: [("read".to_string(), 9_000)].into(),
            memory: OverflowSettings {
                enabled: true,
                entries_max: 3,
                bytes_max: 1_000_000,
                preview_head_units: 100,
                preview_tail_units: 200,
            },
        },
        trace: TraceTerms {
            preview_units_max: 321,
            observation: Some(ObservationSettings {
                enabled: true,
                report_after_run: true,
                degradation: DegradationSettings {
                    enabled: true,
                    consecutive_failures: 3,
                    cooldown_hours: 24.0,
                },
                regression_window: 5,
                traces_max: 40,
            }),
        },
        budget: Budget {
            call: Cap {
                usd: None,
                tokens: Some(200_000),
            },
            run: Cap {
                usd: Some(2.5),
                tokens: None,
            },
            day: Cap {
                usd: Some(100.0),
                tokens: None,
            },
            assumed_usd_per_million: 1.0,
            ..Budget::default()
        },
        log_prompt_prefix: true,
        inherited: Some(Box::new(Inherited {
            verdict: Some(Verdict::default()),
            work: Some(Box::new(work())),
            answer: Some("as before".into()),
            whole: Some(Box::new(WholeAnswer::Kept {
                file: "/s/answers/a.1.md".into(),
                bytes: 2_000_000,
            })),
            ..Inherited::default()
        })),
        surroundings: Surroundings {
            skill_directory: Some("/w/.pi/skills/review".into()),
            project_instructions: "Answer in French.".into(),
            guidance: GuidanceTerms {
                file_names: vec!["AGENTS.md".into()],
                file_bytes_max: 32_768,
                read_bytes_max: 131_072,
            },
            day: Some("2026-11-21".into()),
        },
        session_file: Some("/s/session.jsonl".into()),
        must_look: true,
        gate: Some(Gate::command(["cargo", "test"]).repeatable()),
        ..RunTerms::default()
    }
}

#[test]
fn a_step_stands_on_disk_as_the_newest_layout_says() -> Outcome {
    let mut written = String::new();
    for step in everything() {
        written.push_str(&serde_json::to_string(&step)?);
        written.push('\n');
    }
    let (name, newest) = LAYOUTS.last().expect("a layout");
    if std::env::var_os("UPDATE").is_some() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/src/journal/fixtures");
        return Ok(std::fs::write(format!("{fixtures}/{name}"), written)?);
    }
    for (line, (is, was)) in written.lines().zip(newest.lines()).enumerate() {
        assert_eq!(is, was, "line {} of {name}: this would be a new layout", line + 1);
    }
    assert_eq!(written.lines().count(), newest.lines().count());
    Ok(())
}

#[test]
fn steps_of_every_layout_are_read() -> Outcome {
    for (name, layout) in LAYOUTS {
        for (number, line) in (1..).zip(layout.lines()) {
            serde_json::from_str::<Step>(line).map_err(|error| format!("{name}, line {number}: {error}"))?;
        }
    }
    let newest: Vec<Step> = LAYOUTS
        .last()
        .into_iter()
        .flat_map(|(_, layout)| layout.lines())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert_eq!(newest, everything());
    Ok(())
}
