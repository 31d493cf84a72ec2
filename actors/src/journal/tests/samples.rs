//! Rows and runtimes for tests.

use crate::gateways::UnixMillis;
use crate::journal::{JournalError, OverflowEntry, Row, RuntimeId, RuntimeIdentity};
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Brief, Briefing, Caller, Clocks, Containment, GroupId, GroupMember,
    MessageId, MessageKind, ModelCall, ModelFault, ModelUsage, Origin, PassedOver, Persistence, Proof,
    Reason, ReasonCode, Replay, RunId, RunMessage, RunRequest, RunTerms, SessionId, Step, TerminalState,
    Verdict, WhatToRun,
};
use std::time::Duration;

pub type Outcome = Result<(), Box<dyn std::error::Error>>;

pub fn runtime(number: u64) -> RuntimeIdentity {
    RuntimeIdentity {
        id: RuntimeId::new(UnixMillis(1_795_000_000_000 + number), number),
        host: "cli".into(),
        session: None,
        started_at: UnixMillis(1_795_000_000_000 + number),
        process: std::process::id(),
    }
}

pub fn run(number: u64) -> RunId {
    RunId::new(1_795_000_000_000 + number, number)
}

pub fn row(run: &RunId, sequence: u64, step: Step) -> Row {
    Row {
        run: run.clone(),
        sequence,
        generation: 1,
        at: UnixMillis(1000 + sequence),
        step,
    }
}

pub fn rows(run: &RunId, steps: impl IntoIterator<Item = Step>) -> Vec<Row> {
    (1..)
        .zip(steps)
        .map(|(sequence, step)| row(run, sequence, step))
        .collect()
}

pub fn in_generation(mut row: Row, generation: u64) -> Row {
    row.generation = generation;
    row
}

pub fn accepted() -> Step {
    accepted_for("session-a")
}

pub fn group(number: u64) -> GroupId {
    GroupId::new(number, number)
}

/// A member of that group.
pub fn accepted_in(number: u64) -> Step {
    let Step::Accepted { mut request } = accepted() else {
        unreachable!("it is an acceptance");
    };
    request.group = Some(GroupMember {
        group: group(number),
        place: 0,
        members: 1,
        concurrency: 1,
        total: std::time::Duration::from_secs(1),
        subtask: Default::default(),
        answer_units_max: None,
        chain: None,
    });
    Step::Accepted { request }
}

pub fn accepted_for(session: &str) -> Step {
    let request = RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "where does a crashed actor come back? \u{1f3ad}".into(),
        origin: Origin {
            host: "pi".into(),
            session: Some(SessionId(session.into())),
            resumes: Some(run(77)),
        },
        instructions: "look around".into(),
        tools: vec!["read".into(), "search".into()],
        chain: vec!["offline".into()],
        runner: "embedded".into(),
        workspace: "/w".into(),
        briefing: Briefing::Judged {
            passes_max: 2,
            questions_max: 1,
            model: "offline".into(),
        },
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: Some(0.1),
        overflow_ceiling_bytes: 1000,
        answer_chars_max: 0,
        trace_directory: Some(".pi/traces".into()),
        group: None,
        terms: RunTerms::default(),
        retrieval: Default::default(),
    };
    Step::Accepted {
        request: Box::new(request),
    }
}

pub fn proof() -> Proof {
    Proof {
        method: Containment::Keeper,
        no_children: true,
        processes_left: 0,
    }
}

pub fn failed() -> Step {
    let reason = Reason {
        code: ReasonCode::Unavailable,
        message: "no model could be had".into(),
    };
    Step::Ended {
        state: TerminalState::Failed,
        reason: Some(reason),
        proof: proof(),
    }
}

pub fn cancel_requested(by: &str) -> Step {
    Step::CancelRequested { by: by.into() }
}

pub fn tool_started(attempt: u32, call: &str) -> Step {
    Step::ToolStarted {
        attempt: AttemptNumber(attempt),
        call: call.into(),
        tool: "read".into(),
        summary: "src/lib.rs".into(),
        arguments: None,
        replay: Replay::Unsafe,
        target: None,
    }
}

pub fn tool_ended(attempt: u32, call: &str) -> Step {
    Step::ToolEnded {
        attempt: AttemptNumber(attempt),
        call: call.into(),
        is_error: false,
        bytes: 9,
        preview: "fn main()".into(),
        overflow: Some("overflow_1".into()),
        evidence: None,
    }
}

pub fn model_called(usd: f64) -> Step {
    let used = ModelUsage {
        input: 120,
        output: 30,
        cache_read: 1_000,
        cache_write: 4,
        cost_usd: Some(usd),
    };
    Step::ModelCalled {
        call: Box::new(ModelCall {
            by: Caller::SubAgent {
                attempt: AttemptNumber(1),
            },
            requested: "a/one".into(),
            served: Some("one-2026".into()),
            used: Some(used),
            reserved: ModelUsage {
                output: 1_000,
                ..used
            },
            prompt: None,
        }),
    }
}

pub fn tool_indeterminate(attempt: u32, call: &str) -> Step {
    Step::ToolIndeterminate {
        attempt: AttemptNumber(attempt),
        call: call.into(),
        tool: "read".into(),
        after: None,
    }
}

/// Every kind of step, in an order that can happen.
pub fn whole_run() -> Vec<Step> {
    let attempt = AttemptNumber(1);
    let brief = Brief {
        user_goal: "know".into(),
        ..Brief::default()
    };
    let verdict = Verdict {
        has_user_goal: true,
        ..Verdict::default()
    };
    vec![
        accepted(),
        Step::Judged {
            pass: 1,
            brief: brief.clone(),
            verdict: verdict.clone(),
        },
        Step::PassFailed {
            pass: 2,
            model: "a/judge".into(),
            fault: ModelFault::RateLimited,
            detail: "429".into(),
            brief: Some(brief.clone()),
        },
        Step::QuestionAsked {
            question: "which?".into(),
        },
        Step::QuestionAnswered {
            answer: "both".into(),
        },
        Step::Briefed {
            brief,
            verdict: Some(verdict),
        },
        Step::Admitted,
        Step::ModelsConsidered {
            attempt,
            passed_over: vec![PassedOver {
                model: "a/one".into(),
                why: "529 Overloaded".into(),
                left: Some(Duration::from_millis(12_500)),
            }],
            is_probe: true,
        },
        Step::AttemptStarted {
            attempt,
            model: "offline".into(),
            runner: "embedded".into(),
            session_file: Some("s.jsonl".into()),
            resumes_session: false,
        },
        Step::AttemptActive { attempt },
        model_called(0.0125),
        tool_started(1, "a"),
        tool_ended(1, "a"),
        Step::MessageAccepted {
            message: Box::new(RunMessage {
                id: MessageId::new(1),
                kind: MessageKind::Ask,
                text: "how far?".into(),
                by: "`impresario ask`".into(),
                from: None,
            }),
        },
        Step::MessageDelivered {
            message: MessageId::new(1),
            attempt,
        },
        Step::MessageAnswered {
            message: MessageId::new(1),
            attempt,
            answer: "half way".into(),
        },
        tool_started(1, "b"),
        tool_indeterminate(1, "b"),
        cancel_requested("esc"),
        Step::AttemptEnded {
            attempt,
            ending: AttemptEnding::Answered,
            detail: "stop".into(),
            partial: Some("so".into()),
            whole: None,
            used: Some(ModelUsage {
                input: 120,
                output: 30,
                cache_read: 1_000,
                cache_write: 4,
                cost_usd: Some(0.0125),
            }),
            proof: proof(),
        },
        Step::Answered {
            answer: "so it is".into(),
            flags: Vec::new(),
        },
        Step::Ended {
            state: TerminalState::Succeeded,
            reason: None,
            proof: proof(),
        },
        Step::Delivered,
        Step::DeliveryAcknowledged,
    ]
}

pub fn overflow(handle: u32, content: &str) -> OverflowEntry {
    OverflowEntry {
        handle,
        server: "auggie".into(),
        tool: "codebase-retrieval".into(),
        at: UnixMillis(5),
        bytes: content.len() as u64,
    }
}

pub fn conflict(run: &RunId, sequence: u64) -> JournalError {
    JournalError::Conflict {
        run: run.clone(),
        sequence,
    }
}

pub fn gap(run: &RunId, expected: u64, sequence: u64) -> JournalError {
    JournalError::Gap {
        run: run.clone(),
        expected,
        sequence,
    }
}

pub fn fenced(run: &RunId, current: u64, attempted: u64) -> JournalError {
    JournalError::Fenced {
        run: run.clone(),
        current,
        attempted,
    }
}
