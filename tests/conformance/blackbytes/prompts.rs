//! System prompts: what is logged of them, and what the main agent's has.

use super::{object, only, optional};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::domain::ModelFamily;
use impresario_policies::overlay::{OverlayFacts, overlay, overlay_family};
use impresario_policies::project_instructions::{ProjectFile, render_project_instructions};
use impresario_policies::prompt_log::{prompt_log_path, provider_prompts};
use serde_json::Value;
use std::path::Path;

pub fn log_path(case: &Case) -> Answer {
    let path = prompt_log_path(case.text("path"), Path::new(case.text("cwd")));
    Answer::Value(Json::String(path.display().to_string()))
}

pub fn provider_prompt_extract(case: &Case) -> Answer {
    let found = provider_prompts(&Value::from(case.get("payload"))).into_iter();
    let found = found.map(|found| {
        object(vec![
            ("providerShape", Json::String(found.shape.to_string())),
            ("prompt", Json::String(found.prompt)),
        ])
    });
    Answer::Value(Json::Array(found.collect()))
}

pub fn family_resolution(case: &Case) -> Answer {
    let said = |key: &str| optional(&case.input, key);
    let family = overlay_family(said("model").as_deref(), said("cached_model").as_deref());
    Answer::Value(Json::String(word(family).to_string()))
}

fn word(family: ModelFamily) -> &'static str {
    match family {
        ModelFamily::Claude => "claude",
        ModelFamily::Gpt => "gpt",
        ModelFamily::Gemini => "gemini",
        ModelFamily::Kimi => "kimi",
        ModelFamily::Other => "other",
    }
}

/// Where it is put into a prompt is the extension's: extension/test/delegation.test.ts.
pub fn injection(case: &Case) -> Answer {
    let text = overlay(&OverlayFacts {
        family: overlay_family(Some(case.text("model")), None),
        skills: true,
        agents: &[],
        tools: &[],
        context: false,
        capabilities: false,
    });
    let spoken = text.to_lowercase().replace('_', " ");
    Answer::Value(object(vec![
        (
            "xml_resources",
            Json::Bool(text.contains("<available_resources>")),
        ),
        (
            "plain_resources",
            Json::Bool(spoken.contains("available resources")),
        ),
    ]))
}

pub fn injection_covered(recorded: &Json) -> Json {
    only(recorded, &["xml_resources", "plain_resources"])
}

/// What the project says of itself, as a sub-agent is told it.
pub fn general_overlay(case: &Case) -> Answer {
    let said = optional(&case.input, "agents_md").unwrap_or_default();
    let file = ProjectFile {
        path: "/w/AGENTS.md".into(),
        text: said.clone(),
    };
    let told = render_project_instructions(&[file]);
    let includes = !said.trim().is_empty() && told.contains(&said);
    Answer::Value(object(vec![
        ("includes_agents_md", Json::Bool(includes)),
        ("leaks", Json::Bool(told.contains("SECRETVAL"))),
    ]))
}

pub fn general_covered(recorded: &Json) -> Json {
    only(recorded, &["includes_agents_md", "leaks"])
}
