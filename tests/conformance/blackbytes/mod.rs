//! The functions of pi-blackbytes 2.20.1.

mod agents;
mod answers;
mod calls;
mod chain;
mod differences;
#[path = "../../editing/model.rs"]
mod edit_model;
mod fallback;
mod figures;
mod hashline;
mod hashline_differences;
mod hashline_stage;
mod looks;
mod network;
pub mod not_covered;
mod prompts;
mod receipts;
mod runner;
mod settings;
mod setup_models;
mod texts;
mod tools;

use crate::Function;
use crate::json::Json;
use crate::vectors::{Answer, Case};

/// Runs our counterpart.
type Replay = fn(&Case) -> Answer;
/// The part of a recorded answer that ours has, too.
type Covered = fn(&Json) -> Json;

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: Vec<(&'static str, Replay, Covered)> = vec![
        ("agent_snapshot", agents::agent_snapshot, agents::snapshot_covered),
        ("append_bounded", texts::append_bounded, Json::clone),
        (
            "artifact_capture",
            answers::artifact_capture,
            answers::capture_covered,
        ),
        ("ast_search_text", looks::ast_search_text, Json::clone),
        ("bound_return", texts::bound_return, Json::clone),
        ("builtin_agents", agents::builtin_agents, agents::builtin_covered),
        ("chain_budget", chain::chain_budget, Json::clone),
        ("chain_prompt", chain::chain_prompt, Json::clone),
        (
            "diagnostics_summary",
            figures::diagnostics_summary,
            figures::diagnostics_covered,
        ),
        ("error_hint", calls::error_hint_of, Json::clone),
        ("enabled_set", agents::enabled_set, agents::enabled_covered),
        (
            "failure_stderr_class",
            runner::failure_stderr_class,
            runner::class_covered,
        ),
        ("fallback_plan", fallback::fallback_plan, fallback::plan_covered),
        ("format_cost", figures::format_cost, Json::clone),
        ("format_duration", figures::format_duration, Json::clone),
        ("glob", tools::glob, tools::glob_covered),
        ("hashline_annotate", hashline::annotate, Json::clone),
        ("hashline_apply", hashline_stage::apply, hashline_stage::covered),
        ("hashline_cid", hashline::cid, Json::clone),
        ("hashline_context_window", hashline::context_window, Json::clone),
        ("hashline_diff_preview", hashline::diff_preview, Json::clone),
        (
            "hashline_error_result",
            hashline::error_result,
            hashline::error_covered,
        ),
        ("hashline_normalize_op", hashline::normalize_op, Json::clone),
        ("hashline_overlap", hashline::overlap, Json::clone),
        ("hashline_parse_anchor", hashline::parse_anchor, Json::clone),
        ("hashline_read_event", hashline::read_event, Json::clone),
        ("hashline_strict_lines", hashline::strict_lines, Json::clone),
        ("hashline_text_match", hashline::text_match, Json::clone),
        ("hashline_verify", hashline::verify, Json::clone),
        ("read_strip_anchors", hashline::strip_anchors, Json::clone),
        ("look_at", looks::look_at, looks::look_at_covered),
        ("docs_query", network::docs_query, network::covered),
        ("docs_resolve", network::docs_resolve, network::covered),
        ("fetch_timeout", network::timeout, Json::clone),
        ("gh_search", network::gh_search, network::gh_covered),
        ("html_convert", network::html_convert, Json::clone),
        ("mcp_client", network::mcp_client, network::mcp_covered),
        ("sse_events", network::sse_events, Json::clone),
        ("web_fetch", network::web_fetch, network::covered),
        ("web_search", network::web_search, network::covered),
        ("model_family", texts::model_family_of, Json::clone),
        ("nested_argv", runner::nested_argv, runner::argv_covered),
        ("nested_run", runner::nested_run, runner::run_covered),
        ("nested_tools", agents::nested_tools, Json::clone),
        (
            "persona_variant",
            agents::persona_variant,
            agents::variant_covered,
        ),
        (
            "general_overlay_props",
            prompts::general_overlay,
            prompts::general_covered,
        ),
        (
            "prompt_family_resolution",
            prompts::family_resolution,
            Json::clone,
        ),
        (
            "prompt_injection_props",
            prompts::injection,
            prompts::injection_covered,
        ),
        ("prompt_log_path", prompts::log_path, Json::clone),
        (
            "provider_prompt_extract",
            prompts::provider_prompt_extract,
            Json::clone,
        ),
        ("reasoning_effort", texts::reasoning_effort, Json::clone),
        ("roi_summary", figures::roi_summary, figures::summary_covered),
        ("routing", agents::routing, Json::clone),
        ("settings_load", settings::settings_load, settings::load_covered),
        (
            "settings_parse",
            settings::settings_parse,
            settings::parse_covered,
        ),
        ("setup_models", setup_models::setup_models, setup_models::covered),
        ("redact_text", texts::redact_text, Json::clone),
        ("tool_arg_summary", calls::tool_arg_summary, Json::clone),
        ("truncate_path", calls::truncate_path, Json::clone),
        ("truncate_text", calls::truncate_text, Json::clone),
        ("timeline_footer", receipts::timeline_footer, Json::clone),
        ("user_prompt", texts::user_prompt, Json::clone),
        ("validate_tool_names", agents::validate_tool_names, Json::clone),
        ("yaml_agents", agents::yaml_agents, agents::yaml_covered),
    ];
    table
        .into_iter()
        .map(|(name, replay, covered)| Function {
            name,
            replay,
            accepts: differences::accepts,
            differs: differences::ours,
            covered,
        })
        .collect()
}

/// An object with these entries.
fn object(entries: Vec<(&str, Json)>) -> Json {
    let entries = entries.into_iter().map(|(key, value)| (key.to_string(), value));
    Json::Object(entries.collect())
}

/// The named members of a value, null where it has none.
fn only(value: &Json, keys: &[&str]) -> Json {
    let member = |key: &&str| ((*key).to_string(), value.get(key).cloned().unwrap_or(Json::Null));
    Json::Object(keys.iter().map(member).collect())
}

fn text(value: &Json, key: &str) -> String {
    value
        .get(key)
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_string()
}

fn texts(value: &Json, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Json::as_array).unwrap_or_default();
    items
        .iter()
        .filter_map(Json::as_str)
        .map(str::to_string)
        .collect()
}

fn optional(value: &Json, key: &str) -> Option<String> {
    value.get(key).and_then(Json::as_str).map(str::to_string)
}
