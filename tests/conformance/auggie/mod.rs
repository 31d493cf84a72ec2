//! The functions of pi-auggie-router 1.4.1.

mod defects;
mod differences;
mod host;
mod judging;
pub mod not_covered;
mod overflow;
mod parallel;
mod routing;
mod scenario;
mod scenario_defects;
mod settings;
mod skills;
pub mod stage;
mod texts;
mod traces;

use crate::Function;
use crate::json::Json;
use crate::vectors::{Answer, Case};

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: Vec<(&'static str, fn(&Case) -> Answer)> = vec![
        ("actor_judge", judging::actor_judge),
        ("append_capped", texts::append_capped),
        ("bar_chart", traces::bar_chart),
        ("child_stderr", texts::child_stderr),
        ("coerce_route", judging::coerce_route_of),
        ("config", settings::config),
        ("context_budget", routing::context_budget),
        ("context_memory", overflow::context_memory),
        ("degradation_alert", traces::degradation_alert),
        ("execution_message", routing::execution_message),
        ("execution_router", routing::execution_router),
        ("history_assembler", judging::history_assembler),
        ("input_dispatch", skills::input_dispatch),
        ("model_mapper", texts::model_mapper),
        ("output_sanitizer", texts::output_sanitizer),
        ("overflow_middleware", overflow::overflow_middleware),
        ("parallel_clip", parallel::parallel_clip),
        ("parallel_prompt", parallel::parallel_prompt),
        ("parallel_run", parallel::parallel_run),
        ("parallel_synthesis", parallel::parallel_synthesis),
        ("preflight", host::preflight),
        ("prompt_prefix", judging::prompt_prefix),
        ("redact_secrets", texts::redact_secrets),
        ("render_brief", judging::render_brief),
        ("router_scenario", scenario::router_scenario),
        ("routing_message_truncate", judging::routing_message_truncate),
        ("signal_prefix", traces::signal_prefix),
        ("skill_command", skills::skill_command),
        ("skill_lookup", skills::skill_lookup),
        ("skill_parse", skills::skill_parse),
        ("trace_classify", traces::trace_classify),
        ("trace_cleanup", traces::trace_cleanup),
        ("trace_duration", traces::trace_duration),
        ("trace_file", traces::trace_file),
        ("trace_load", traces::trace_load),
        ("trace_load_single", traces::trace_load_single),
        ("trace_mini_report", traces::trace_mini_report),
        ("trace_record", traces::trace_record),
        ("trace_regression", traces::trace_regression),
        ("trace_report", traces::trace_report),
        ("trace_skill_name", traces::trace_skill_name),
        ("trace_view", traces::trace_view),
    ];
    table
        .into_iter()
        .map(|(name, replay)| Function {
            name,
            replay,
            accepts: defects::accepts,
            differs: differences::ours,
            covered: match name {
                "actor_judge" => judging::covered,
                "parallel_run" => parallel::covered,
                "router_scenario" => scenario::covered,
                _ => Json::clone,
            },
        })
        .collect()
}
