//! Texts that come out: sanitised answers, redacted secrets, names of models.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::{cut_units, last_units, trim};
use impresario_policies::model_mapping::{ModelMappingError, map_model};
use impresario_policies::output_sanitizer::{Keeps, SanitizerSettings, sanitize_output};
use impresario_policies::redact::redact;
use serde_json::json;

/// The peer shows so much of what a child wrote to stderr.
const CHILD_STDERR_UNITS_MAX: usize = 1_000;

pub fn model_mapper(case: &Case) -> Answer {
    let allowed = case.texts("allowed_provider_prefixes");
    match map_model(
        case.get("raw_model").as_str(),
        case.text("default_provider"),
        &allowed,
    ) {
        Ok(model) => Answer::value(json!({"model": model})),
        Err(error) => mapping_error(&error),
    }
}

pub fn mapping_error(error: &ModelMappingError) -> Answer {
    let name = match error {
        ModelMappingError::NoProvider => "Error",
        ModelMappingError::DisallowedProvider { .. } => "DisallowedProviderError",
    };
    Answer::Error {
        name: name.into(),
        message: error.to_string(),
    }
}

pub fn output_sanitizer(case: &Case) -> Answer {
    let settings = case.get("settings");
    let flag = |key: &str| settings.get(key) == Some(&Json::Bool(true));
    let settings = SanitizerSettings {
        enabled: flag("enabled"),
        strip_tool_traces: flag("strip_tool_traces"),
        units_max: settings
            .get("final_output_max_chars")
            .and_then(Json::as_number)
            .unwrap_or(0.0) as usize,
        keeps: Keeps::Beginning,
    };
    let ours = sanitize_output(case.text("text"), &settings);
    Answer::value(json!({
        "text": ours.text, "removedSections": ours.removed_sections, "truncated": ours.truncated,
        "originalChars": ours.original_units, "finalChars": ours.final_units,
    }))
}

pub fn redact_secrets(case: &Case) -> Answer {
    Answer::value(json!({"text": redact(case.text("text"))}))
}

pub fn child_stderr(case: &Case) -> Answer {
    let redacted = redact(trim(case.text("text")));
    Answer::value(json!({"text": cut_units(&redacted, CHILD_STDERR_UNITS_MAX)}))
}

pub fn append_capped(case: &Case) -> Answer {
    let whole = format!("{}{}", case.text("current"), case.text("chunk"));
    Answer::value(json!({"text": last_units(&whole, case.count("max_chars"))}))
}
