//! Typed input, lookup and files of skills.

use crate::vectors::{Answer, Case};
use impresario_policies::skill_command::{TypedInput, read_typed_input};
use impresario_policies::skill_file::read_skill_file;
use impresario_policies::skill_lookup::{SkillLookupError, SkillPlace, skill_candidates};
use serde_json::{Value, json};

pub fn skill_command(case: &Case) -> Answer {
    Answer::value(match read_typed_input(case.text("text")) {
        TypedInput::Pass
        | TypedInput::PickSkill
        | TypedInput::Tell { .. }
        | TypedInput::Transcript { .. }
        | TypedInput::Status { .. } => Value::Null,
        TypedInput::Skill(command) if command.is_well_formed() => {
            json!({"name": command.name, "remainder": command.task})
        }
        TypedInput::Skill(command) => json!({"refused": command.typed}),
        // Commands of ours are no skills.
        TypedInput::Cancel => json!({"command": "cancel"}),
        TypedInput::Resume { run } => json!({"command": "resume", "run": run}),
        TypedInput::TraceReport { skill } => json!({"command": "trace-report", "argument": skill}),
        TypedInput::TraceView { file } => json!({"command": "trace-view", "argument": file}),
        TypedInput::Usage { usage } => json!({"usage": usage}),
    })
}

pub fn input_dispatch(case: &Case) -> Answer {
    Answer::value(match read_typed_input(case.text("text")) {
        TypedInput::Pass => json!({"kind": "pass"}),
        TypedInput::Skill(command) => json!({"kind": "skill", "name": command.name}),
        TypedInput::TraceReport { skill } => json!({"kind": "trace-report", "skill": skill}),
        TypedInput::TraceView { file } => json!({"kind": "trace-view", "filename": file}),
        TypedInput::PickSkill => json!({"kind": "pick"}),
        TypedInput::Cancel => json!({"kind": "cancel"}),
        TypedInput::Resume { run } => json!({"kind": "resume", "run": run}),
        TypedInput::Tell { kind, what } => json!({"kind": kind.word(), "what": what}),
        TypedInput::Transcript { run } => json!({"kind": "transcript", "run": run}),
        TypedInput::Status { section } => json!({"kind": "status", "section": section}),
        TypedInput::Usage { usage } => json!({"kind": "usage", "usage": usage}),
    })
}

pub fn skill_lookup(case: &Case) -> Answer {
    let workspace_files = case.texts("workspace_files");
    let home_files = case.texts("home_files");
    let candidates = match skill_candidates(case.text("name"), true) {
        Ok(candidates) => candidates,
        Err(error) => return refusal("invalid-name", &error, 0),
    };
    let searched = candidates.len();
    let found = candidates.into_iter().find(|candidate| {
        let files = match candidate.place {
            SkillPlace::Workspace => &workspace_files,
            SkillPlace::Home => &home_files,
        };
        files
            .iter()
            .any(|file| file.trim_end_matches('/') == candidate.path)
    });
    match found {
        Some(candidate) => {
            let place = if candidate.place == SkillPlace::Workspace {
                "workspace"
            } else {
                "home"
            };
            Answer::value(json!({"found": place, "path": candidate.path}))
        }
        None => refusal(
            "not-found",
            &SkillLookupError::NotFound(case.text("name").into()),
            searched,
        ),
    }
}

fn refusal(kind: &str, error: &SkillLookupError, searched: usize) -> Answer {
    Answer::value(json!({"error_kind": kind, "message": error.to_string(), "searched": searched}))
}

pub fn skill_parse(case: &Case) -> Answer {
    Answer::value(match read_skill_file(case.text("file")) {
        Ok(skill) => json!({"raw_model": skill.model, "instructions": skill.instructions}),
        Err(_) => json!({"parse_error": true}),
    })
}
