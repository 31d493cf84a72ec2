//! Texts: families of models, what is bounded, what is redacted, what an agent is asked.

use crate::vectors::{Answer, Case};
use impresario_policies::delegation_block::task_with_context;
use impresario_policies::domain::ReasoningEffort;
use impresario_policies::model_family::model_family;
use impresario_policies::output_sanitizer::{Keeps, SanitizerSettings, sanitize_output};
use impresario_policies::redact::redact;
use serde_json::json;

/// The peer's limit where a record gives none.
const RETURN_UNITS_MAX: usize = 24_576;
/// What the peer calls a context that nobody named.
const CONTEXT: &str = "Additional context";

pub fn model_family_of(case: &Case) -> Answer {
    Answer::value(json!(model_family(case.text("model"))))
}

pub fn reasoning_effort(case: &Case) -> Answer {
    let effort = case.get("value").as_str().and_then(ReasoningEffort::read);
    Answer::value(json!(effort.map(ReasoningEffort::word)))
}

pub fn user_prompt(case: &Case) -> Answer {
    let label = case.get("label").as_str().unwrap_or(CONTEXT);
    let context = case.get("context").as_str().map(|context| (label, context));
    Answer::value(json!(task_with_context(case.text("main"), context)))
}

/// What becomes of an agent's answer, with nothing taken out of it.
pub fn bound_return(case: &Case) -> Answer {
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: false,
        units_max: case
            .get("max")
            .as_number()
            .map_or(RETURN_UNITS_MAX, |max| max as usize),
        keeps: Keeps::BothEnds,
    };
    Answer::value(json!(sanitize_output(case.text("text"), &settings).text))
}

pub fn redact_text(case: &Case) -> Answer {
    Answer::value(json!(redact(case.text("text"))))
}

/// What is collected while it is said is cut once, when all is said.
pub fn append_bounded(case: &Case) -> Answer {
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: false,
        units_max: case.count("max"),
        keeps: Keeps::BothEnds,
    };
    let chunks = case.texts("chunks").concat();
    Answer::value(json!(sanitize_output(&chunks, &settings).text))
}
