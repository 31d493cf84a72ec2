//! What the peer's extension does in its host.

use crate::vectors::{Answer, Case};
use impresario_policies::compat::{Json, cut_units};
use impresario_policies::delegation_block::{
    DELEGATION_BLOCK, HookDecision, decide_hook, with_delegation_block,
};
use impresario_policies::preflight::{PreflightEnd, review_preflight};
use impresario_policies::skill_command::{TypedInput, read_colon_form, read_typed_input};
use impresario_policies::skill_completion::{
    HostCommand, SkillArgument, complete_skill, editor_text, inline_prefix, read_skill_argument,
};
use impresario_policies::skill_lookup::SkillLookupError;
use impresario_policies::trace_report::{ReportSettings, report_traces};
use impresario_policies::user_lines;
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub fn preflight(case: &Case) -> Answer {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("auggie-check");
    if let Some(script) = case.get("script").as_str() {
        let mode = case.get("mode").as_number().map_or(0o755, |mode| mode as u32);
        std::fs::write(&program, script).expect("a script");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).expect("its mode");
    }
    let mut command = Command::new(&program);
    command
        .args(["account", "status"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => "spawn-enoent",
                std::io::ErrorKind::PermissionDenied => "spawn-eacces",
                _ => "spawn-error",
            };
            let refused = review_preflight(&PreflightEnd::NotStarted(error.to_string()), "");
            return Answer::value(json!({"ok": refused.is_ok(), "detail_kind": kind}));
        }
    };
    let end = wait(
        &mut child,
        Duration::from_millis(case.number("timeout_ms") as u64),
    );
    let mut stderr = Vec::new();
    if let (PreflightEnd::Exited(_), Some(mut pipe)) = (&end, child.stderr.take()) {
        pipe.read_to_end(&mut stderr).expect("what it wrote");
    }
    let verdict = review_preflight(&end, &String::from_utf8_lossy(&stderr));
    Answer::value(json!({"ok": verdict.is_ok(), "detail": verdict.err().unwrap_or_default()}))
}

fn wait(child: &mut Child, within: Duration) -> PreflightEnd {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait().expect("its status") {
            return PreflightEnd::Exited(status.code());
        }
        if Instant::now() >= deadline {
            child.kill().expect("stopped");
            child.wait().expect("gone");
            return PreflightEnd::TimedOut;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn prompt_injection(case: &Case) -> Answer {
    if let Some(prompt) = case.get("system_prompt").as_str() {
        let with_block = with_delegation_block(Some(prompt)).unwrap_or_default();
        let added = with_block.strip_prefix(prompt).unwrap_or("");
        return Answer::value(json!({
            "starts_with_original_plus_blank_line": added.starts_with("\n\n"),
            "added_is_constant": added.trim_start_matches('\n') == DELEGATION_BLOCK,
        }));
    }
    let has_hooks = case.flag("pi_has_on");
    let (mut listeners, mut levels) = (0, Vec::new());
    for _ in 0..case.count("calls") {
        match decide_hook(has_hooks, listeners > 0) {
            HookDecision::Install => {
                listeners += 1;
                levels.push("info");
            }
            HookDecision::AlreadyThere => levels.push("debug"),
            HookDecision::NotPossible => levels.push("warn"),
        }
    }
    if listeners == 0 {
        return Answer::value(json!({"listeners": 0, "log_levels": levels}));
    }
    let once = with_delegation_block(Some(case.text("event_prompt"))).unwrap_or_default();
    let twice = with_delegation_block(Some(&once)).unwrap_or_default();
    Answer::value(json!({
        "listeners": listeners, "event": "before_agent_start", "log_levels": levels,
        // The event is changed to what is returned; one without a text is left alone.
        "mutated_equals_returned": true,
        "bad_event": with_delegation_block(None).is_none(), "bad_event2": with_delegation_block(None).is_none(),
        "twice_grows": twice.len() > once.len(),
    }))
}

/// The commands and hooks our extension registers, by the names the peer uses.
const COMMANDS: [&str; 3] = ["skill", "skill:trace-report", "skill:trace-view"];
const EVENTS: [&str; 3] = ["before_agent_start", "input", "session_start"];

pub fn extension_commands(case: &Case) -> Answer {
    let commands: Vec<HostCommand> = case
        .list("commands")
        .iter()
        .map(|command| HostCommand {
            name: command
                .get("name")
                .and_then(Json::as_str)
                .unwrap_or("")
                .to_string(),
            description: command
                .get("description")
                .and_then(Json::as_str)
                .map(str::to_string),
            is_skill: command.get("source").and_then(Json::as_str) == Some("skill"),
        })
        .collect();
    let picked = case.get("picked").as_str();
    let steps: Vec<Value> = case
        .list("steps")
        .iter()
        .map(|step| play(step, &commands, picked))
        .collect();
    Answer::value(json!({"registered_commands": COMMANDS, "events": EVENTS, "steps": steps}))
}

fn play(step: &Json, commands: &[HostCommand], picked: Option<&str>) -> Value {
    let text = |key: &str| step.get(key).and_then(Json::as_str);
    if let Some(line) = text("line") {
        let column = step
            .get("col")
            .and_then(Json::as_number)
            .map_or(usize::MAX, |column| column as usize);
        return json!({"result": inline(cut_units(line, column), commands), "sent": []});
    }
    if let Some(typed) = text("type") {
        return typed_input(&read_colon_form(typed));
    }
    let command = text("command").unwrap_or("");
    match (text("complete"), text("run")) {
        (Some(_), _) if command == "skill:trace-view" => json!({"result": "none", "sent": []}),
        (Some(prefix), _) => json!({"result": names(complete_skill(prefix, commands)), "sent": []}),
        (None, run) => {
            let run = run.unwrap_or("");
            let sent = match command {
                "skill" => skill_command(run, commands, picked),
                _ => trace_command(command, run),
            };
            json!({"result": "ran", "sent": sent})
        }
    }
}

fn names(found: Option<Vec<&HostCommand>>) -> Value {
    found.map_or(Value::Null, |found| {
        found.iter().map(|command| json!(command.name)).collect()
    })
}

fn inline(before_cursor: &str, commands: &[HostCommand]) -> Value {
    let found =
        inline_prefix(before_cursor).and_then(|prefix| Some((prefix, complete_skill(prefix, commands)?)));
    match found {
        Some((prefix, items)) => json!({"items": names(Some(items)), "prefix": prefix}),
        None => json!("delegated"),
    }
}

fn system(text: &str) -> Value {
    json!({"role": "system", "text": text})
}

fn skill_command(argument: &str, commands: &[HostCommand], picked: Option<&str>) -> Vec<Value> {
    match read_skill_argument(argument, commands) {
        SkillArgument::Pick(_) => picked
            .map(|name| json!({"editor": editor_text(name, "")}))
            .into_iter()
            .collect(),
        SkillArgument::NothingToPick => vec![json!({"notify": user_lines::NO_SKILLS, "level": "warning"})],
        SkillArgument::PutInEditor(text) => vec![json!({"editor": text})],
        SkillArgument::Run { name, .. } => vec![not_found(&name)],
        SkillArgument::InvalidName(word) => {
            vec![json!({"notify": user_lines::invalid_skill_name(&word), "level": "error"})]
        }
    }
}

/// Nothing exists on disk in these cases.
fn not_found(name: &str) -> Value {
    let error = SkillLookupError::NotFound(name.to_string());
    system(&user_lines::skill_refused(&error.to_string()))
}

fn trace_command(command: &str, argument: &str) -> Vec<Value> {
    let line = format!("/{} {argument}", command.replace("skill:", "skill "));
    answer_of(&read_typed_input(&line)).into_iter().collect()
}

fn typed_input(input: &TypedInput) -> Value {
    if *input == TypedInput::Pass {
        return json!({"result": {"action": "continue"}, "sent": []});
    }
    let sent: Vec<Value> = answer_of(input).into_iter().collect();
    json!({"result": {"action": "handled"}, "sent": sent})
}

fn answer_of(input: &TypedInput) -> Option<Value> {
    match input {
        TypedInput::Pass | TypedInput::Cancel | TypedInput::PickSkill => None,
        TypedInput::Skill(command) => Some(not_found(&command.name)),
        TypedInput::TraceReport { skill } => {
            let settings = ReportSettings {
                traces_max: 10,
                inline_max: 5,
                trend_window: 5,
                regression_window: 10,
            };
            Some(system(&report_traces(skill, &[], &settings).text))
        }
        TypedInput::TraceView { file } => Some(system(&user_lines::trace_not_found(file))),
        TypedInput::Usage { usage } => Some(system(&user_lines::usage(usage))),
    }
}
