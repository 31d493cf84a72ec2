//! The rows.

use crate::inputs::{BRIEF_REPLY, Inputs, SKILL, TASK, VERDICT_REPLY, blank_lines, fences, secret_text};
use crate::measure::Row;
use impresario_policies::domain::{
    Complexity, HistorySettings, HistoryStrategy, MiddleMode, ModelNaming, ModelPool, OverflowSettings, Risk,
    Route, RoutePreference, RouteSettings, ShortNewest, SkillModelPolicy, Tier, TraceVerdict,
};
use impresario_policies::execution_route::{RouteFacts, choose_route};
use impresario_policies::history::{ChatMessage, assemble_history};
use impresario_policies::judge_reply::{read_brief, read_verdict};
use impresario_policies::model_mapping::map_model;
use impresario_policies::output_sanitizer::{Keeps, Sanitized, SanitizerSettings, sanitize_output};
use impresario_policies::overflow_memory::{KeepDecision, OverflowFacts, decide_keep};
use impresario_policies::overflow_preview::{preview_within, replacement_text};
use impresario_policies::overflow_review::{OverflowReview, ToolResultFacts, review_tool_result};
use impresario_policies::prompts::{BriefFacts, JudgeFacts, Prompt, brief_prompt, judge_prompt};
use impresario_policies::redact::redact;
use impresario_policies::trace_classify::classify_trace;
use impresario_policies::trace_file::{
    Trace, TraceCall, files_of_skill, result_preview, trace_file_name, traced_args,
};
use impresario_policies::trace_report::{ReportSettings, report_files};
use impresario_policies::trace_view::{ViewSettings, view_trace};
use std::path::Path;

/// What Node does too.
pub fn compared(inputs: &Inputs) -> Vec<Row<'_>> {
    let Inputs {
        clean,
        traced,
        long,
        secrets,
        chat,
        ascii,
        cjk,
        traces,
        ..
    } = inputs;
    let blank = blank_lines(20_000);
    let unclosed = fences(8_000);
    let directory = inputs.trace_directory.path();
    let (facts, routing) = (route_facts(), route_settings());
    vec![
        Row::new("sanitize 120k clean", || sanitized(clean, 0), in_words),
        Row::new("sanitize 120k, 150 traces", || sanitized(traced, 0), in_words),
        Row::new("sanitize 130k cut at 120k", || sanitized(long, 120_000), in_words),
        Row::new(
            "sanitize 20000 blank lines",
            move || in_words(sanitized(&blank, 0)),
            |text| text,
        ),
        Row::new(
            "sanitize 8000 unclosed fences",
            move || in_words(sanitized(&unclosed, 0)),
            |text| text,
        ),
        Row::new(
            "history 200 recent, cap 60k",
            || history(chat, HistoryStrategy::Recent, 12),
            as_chat,
        ),
        Row::new(
            "history 200 headTail 2/12",
            || history(chat, HistoryStrategy::HeadTail, 12),
            as_chat,
        ),
        Row::new(
            "history 200 headTail 2/180, cap 60k",
            || history(chat, HistoryStrategy::HeadTail, 180),
            as_chat,
        ),
        Row::new("overflow keep 1 MB ASCII", || kept(ascii), |text| text),
        Row::new("overflow keep 1 MB CJK", || kept(cjk), |text| text),
        Row::new(
            "overflow review, 18 kB passes",
            || reviewed(inputs),
            |review| (review == OverflowReview::Pass).to_string(),
        ),
        Row::new(
            "trace record, 25 kB result",
            || recorded(inputs),
            |call| format!("{} {}", call.args, call.result_preview),
        ),
        Row::new("reports 20 traces", || reported(traces), |text| text),
        Row::new(
            "report 20 traces with loading",
            || reported(&loaded(directory)),
            |text| text,
        ),
        Row::new(
            "trace view, 20 calls",
            || {
                view_trace(
                    "trace.json",
                    &traces[1],
                    &inputs.verdict,
                    &ViewSettings::default(),
                )
            },
            |text| text,
        ),
        Row::new("classify trace", || classify_trace(&traces[1]), verdict_in_words),
        Row::new(
            "choose execution model",
            move || choose_route(&facts, &routing).expect("a model"),
            |decision| format!("{} {}", decision.model, decision.reason),
        ),
        Row::new(
            "map model",
            || map_model(Some("claude"), "openrouter/", &[]),
            |model| model.expect("a model"),
        ),
        Row::new("redact 64 kB", || redact(secrets), |text| text.into_owned()),
        Row::new(
            "judge loop, 1 pass",
            || judged(inputs),
            |(brief, judge, settled)| {
                format!(
                    "{}{}{}{}{settled}",
                    brief.system, brief.user, judge.system, judge.user
                )
            },
        ),
    ]
}

/// What was quadratic in the peer, at n, 2n and 4n.
pub fn growing(inputs: &Inputs) -> Vec<(&'static str, Vec<Row<'_>>)> {
    let sanitizing = |name, text: String| {
        Row::new(
            name,
            move || sanitized(&text, 0).final_units,
            |units| units.to_string(),
        )
    };
    let redacting =
        |name, text: String| Row::new(name, move || redact(&text).len(), |length| length.to_string());
    let sizes = [1, 2, 4];
    let trace_starts = |count: usize| format!("{}x", "```mcp\n{\"jsonrpc\":{}\n\n\n".repeat(count));
    let tokens = |count: usize| "token ".repeat(count);
    vec![
        (
            "blank lines, n = 5000",
            sizes.map(|by| sanitizing("", blank_lines(5_000 * by))).into(),
        ),
        (
            "unclosed fences, n = 2000",
            sizes.map(|by| sanitizing("", fences(2_000 * by))).into(),
        ),
        (
            "unclosed traces, n = 2000",
            sizes.map(|by| sanitizing("", trace_starts(2_000 * by))).into(),
        ),
        (
            "redact a log, n = 16 kB",
            sizes.map(|by| redacting("", secret_text(16_384 * by))).into(),
        ),
        (
            "redact token token …, n = 16 kB",
            sizes.map(|by| redacting("", tokens(2_730 * by))).into(),
        ),
        (
            "search, n = 240 kB",
            sizes
                .map(|by| {
                    let text = &inputs.ascii[..240_000 * by];
                    Row::new(
                        "",
                        move || impresario_policies::overflow_read::search_text(text, "code", 50).1,
                        |count| count.to_string(),
                    )
                })
                .into(),
        ),
    ]
}

fn sanitized(text: &str, units_max: usize) -> Sanitized<'_> {
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: true,
        units_max,
        keeps: Keeps::Beginning,
    };
    sanitize_output(text, &settings)
}

fn in_words(sanitized: Sanitized<'_>) -> String {
    format!(
        "{} {} {} {} {}",
        sanitized.removed_sections,
        sanitized.truncated,
        sanitized.original_units,
        sanitized.final_units,
        sanitized.text
    )
}

fn history<'a>(
    chat: &'a [ChatMessage<'a>],
    strategy: HistoryStrategy,
    tail_messages: usize,
) -> Vec<ChatMessage<'a>> {
    let settings = HistorySettings {
        strategy,
        head_messages: 2,
        tail_messages,
        middle_mode: MiddleMode::Marker,
        message_units_max: 10_000,
        total_units_max: 60_000,
        short_newest: ShortNewest::Kept,
    };
    assemble_history(chat, &settings)
}

fn as_chat(messages: Vec<ChatMessage<'_>>) -> String {
    let lines = messages
        .iter()
        .map(|message| format!("[{}] {}\n", message.role(), message.content()));
    lines.collect()
}

/// Everything but the writing: whether it is kept, and what stands in its place.
fn kept(result: &str) -> String {
    let settings = OverflowSettings {
        enabled: true,
        entries_max: 8,
        bytes_max: 2_000_000,
        preview_head_units: 4_000,
        preview_tail_units: 4_000,
    };
    let KeepDecision::Keep { id } = decide_keep(result.len(), &OverflowFacts::default(), &settings) else {
        return String::new();
    };
    let preview = preview_within(
        result,
        settings.preview_head_units,
        settings.preview_tail_units,
        25_000,
    );
    replacement_text(&id, result.len(), &preview, "overflow_read", "overflow_search")
}

fn reviewed(inputs: &Inputs) -> OverflowReview {
    let facts = ToolResultFacts {
        server: "auggie",
        tool: "codebase-retrieval",
        bytes: inputs.under_ceiling.len(),
    };
    review_tool_result(&facts, &inputs.ceilings)
}

fn recorded(inputs: &Inputs) -> TraceCall {
    TraceCall {
        index: 0.0,
        server_name: "auggie".to_string(),
        tool_name: "codebase-retrieval".to_string(),
        args: traced_args(&inputs.args),
        result_preview: redact(&result_preview(&inputs.result, 2_000)).into_owned(),
        blocked: false,
        timestamp: 1_746_960_622_000.0,
    }
}

fn reported(traces: &[Trace]) -> String {
    let settings = ReportSettings {
        traces_max: 20,
        inline_max: 5,
        trend_window: 10,
        regression_window: 10,
    };
    let files: Vec<String> = traces
        .iter()
        .map(|trace| trace_file_name(SKILL, trace.timestamp as u64))
        .collect();
    report_files(SKILL, traces, &files, &settings).text
}

fn loaded(directory: &Path) -> Vec<Trace> {
    let entries = std::fs::read_dir(directory).expect("the directory");
    let names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    files_of_skill(SKILL, &names)
        .into_iter()
        .filter_map(|name| Trace::read(&std::fs::read_to_string(directory.join(name)).ok()?))
        .collect()
}

fn verdict_in_words(verdict: TraceVerdict) -> String {
    format!(
        "{} {} {}",
        verdict.outcome.word(),
        verdict.confidence,
        verdict.signals.join("; ")
    )
}

fn route_facts() -> RouteFacts<'static> {
    RouteFacts {
        skill_model: None,
        default_model: None,
        route: Route {
            tier: Tier::Cheap,
            complexity: Complexity::Medium,
            risk: Risk::MultiFileEdit,
            confidence: 0.85,
            reason: "Several files change together.".into(),
        },
        passed: true,
    }
}

fn route_settings() -> RouteSettings {
    RouteSettings {
        enabled: true,
        preference: RoutePreference::Balanced,
        skill_model_policy: SkillModelPolicy::Ignore,
        models: ModelPool {
            cheap: Some("anthropic/claude-3-5-haiku".into()),
            balanced: Some("anthropic/claude-3-5-sonnet".into()),
            frontier: Some("anthropic/claude-3-7-sonnet".into()),
        },
        naming: ModelNaming::Mapped,
        default_provider: "openrouter".into(),
        allowed_providers: vec![],
    }
}

/// Both prompts, both replies, and what follows from them; the models answer at once.
fn judged(inputs: &Inputs) -> (Prompt, Prompt, bool) {
    let facts = BriefFacts {
        name: SKILL,
        instructions: &inputs.instructions,
        task: TASK,
        chat: inputs.newest(),
        ..BriefFacts::default()
    };
    let first = brief_prompt(&facts);
    let brief = read_brief(BRIEF_REPLY).expect("a brief");
    let second = judge_prompt(&JudgeFacts {
        name: SKILL,
        instructions: &inputs.instructions,
        task: TASK,
        chat: inputs.newest(),
        clarifications: &[],
        brief: &brief,
    });
    let passed = read_verdict(VERDICT_REPLY).is_some_and(|verdict| verdict.passed());
    (first, second, passed)
}
