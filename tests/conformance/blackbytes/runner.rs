//! The nested runner: how Pi is called, and how what it wrote and how it ended are read.

use super::{object, text};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_actors::gateways::AttemptRequest;
use impresario_actors::runners::pi::command::{AttemptFiles, PiVersion, arguments};
use impresario_actors::runners::pi::reader::EventReader;
use impresario_policies::attempt_ending::{describe_ending, read_ending};
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, CutTool, EndFacts, Persistence, PromptMode, ReasoningEffort, RunId,
};
use impresario_policies::fallback::{FallbackDecision, FallbackFacts, FallbackSettings, decide_fallback};
use impresario_policies::output_sanitizer::{Keeps, SanitizerSettings, sanitize_output};
use serde_json::json;
use std::time::Duration;

/// The peer's limit.
const RETURN_UNITS_MAX: usize = 24_576;

/// Another model is tried after an attempt that ended like this.
fn goes_on(facts: &EndFacts) -> bool {
    let ending = read_ending(facts);
    let persistence = Persistence::default();
    let facts = FallbackFacts {
        ending,
        detail: describe_ending(facts, ending),
        model: "house/first".into(),
        tries_on_model: persistence.tries_per_model_max,
        lost_in_a_row: 0,
        place_in_chain: 0,
        asked: vec!["house/first".into()],
        was_probe: false,
        unsafe_tool_finished: false,
        unsafe_calls_cut: Vec::new(),
        any_tool_finished: false,
    };
    let settings = FallbackSettings {
        chain: vec!["house/first".into(), "other/second".into()],
        tries_per_model_max: persistence.tries_per_model_max,
        unreached_tries_max: persistence.unreached_tries_max,
        wait_first: persistence.wait_first,
        wait_max: persistence.wait_max,
        lost_in_a_row_max: persistence.lost_in_a_row_max,
        can_resume: true,
        cut_tool: CutTool::Park,
    };
    let decided = decide_fallback(&facts, &settings);
    matches!(decided, FallbackDecision::Try { model, .. } if model == "other/second")
}

/// A Pi that wrote this on stderr and nothing else, and gave up.
pub fn failure_stderr_class(case: &Case) -> Answer {
    let facts = EndFacts {
        exit_code: Some(1),
        stderr_tail: case.text("stderr").to_string(),
        ..EndFacts::default()
    };
    Answer::value(json!({"another_model": goes_on(&facts)}))
}

/// What follows from the class.
pub fn class_covered(recorded: &Json) -> Json {
    let follows = recorded.as_str() == Some("provider_or_model_unavailable");
    object(vec![("another_model", Json::Bool(follows))])
}

/// The bytes of a chunk.
fn bytes(step: &Json) -> Vec<u8> {
    match step.get("hex").and_then(Json::as_str) {
        Some(hex) => (0..hex.len() / 2)
            .filter_map(|at| u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok())
            .collect(),
        None => text(step, "text").into_bytes(),
    }
}

/// A child that did this, as the product reads it: its events, its last words, its exit.
pub fn nested_run(case: &Case) -> Answer {
    let (mut reader, mut seen) = (EventReader::default(), Vec::new());
    let (mut stderr, mut facts) = (Vec::new(), EndFacts::default());
    for step in case.list("steps") {
        match text(step, "do").as_str() {
            "stdout" => reader.feed(&bytes(step), &mut seen),
            "stderr" => stderr.extend(bytes(step)),
            "close" => {
                facts.exit_code = step.get("code").and_then(Json::as_number).map(|code| code as i32);
                facts.exit_signal = step.get("signal").and_then(Json::as_str).map(signal_number);
            }
            "error" => facts.error_message = Some(text(step, "message")),
            _ => facts.stop_ordered = true,
        }
    }
    if let Some(why) = case.get("spawn_throws").as_str() {
        facts.error_message = Some(why.to_string());
    }
    reader.finish(&mut seen);
    // The process is gone, so nothing follows.
    reader.settle();
    let read = reader.facts();
    let facts = EndFacts {
        exit_code: facts.exit_code,
        exit_signal: facts.exit_signal,
        stop_ordered: facts.stop_ordered || case.flag("pre_abort"),
        error_message: facts.error_message.or(read.error_message.clone()),
        stderr_tail: String::from_utf8_lossy(&stderr).into_owned(),
        ..read
    };
    let ending = read_ending(&facts);
    let answered = ending == AttemptEnding::Answered;
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: false,
        units_max: RETURN_UNITS_MAX,
        keeps: Keeps::BothEnds,
    };
    let answer = sanitize_output(&facts.answer, &settings).text;
    Answer::value(json!({"success": answered, "content": answered.then_some(answer)}))
}

fn signal_number(name: &str) -> i32 {
    match name {
        "SIGHUP" => 1,
        "SIGINT" => 2,
        "SIGKILL" => 9,
        "SIGSEGV" => 11,
        _ => 15,
    }
}

/// Whether there is an answer, and which. How a failure is called is each one's own.
pub fn run_covered(recorded: &Json) -> Json {
    let success = recorded.get("success") == Some(&Json::Bool(true));
    let content = recorded.get("content").filter(|_| success).cloned();
    object(vec![
        ("success", Json::Bool(success)),
        ("content", content.unwrap_or(Json::Null)),
    ])
}

/// What is said to Pi, whatever the words of its command line.
pub fn nested_argv(case: &Case) -> Answer {
    let opts = case.get("opts");
    let given = |key: &str, otherwise: &str| {
        let text = opts.get(key).and_then(Json::as_str);
        text.unwrap_or(otherwise).to_string()
    };
    let system_prompt = given("systemPrompt", "SYS");
    let request = AttemptRequest {
        run: RunId::new(1, 2),
        attempt: AttemptNumber(1),
        model: given("model", ""),
        system_prompt: system_prompt.clone(),
        user_prompt: given("userPrompt", "USR"),
        tools: super::texts(opts, "allowedTools"),
        workspace: "/w".into(),
        readable: Vec::new(),
        scratch: "/s".into(),
        session_file: "/s/session.jsonl".into(),
        resume: None,
        temperature: None,
        reasoning_effort: ReasoningEffort::read(&given("reasoningEffort", "")),
        answer_schema: None,
        given: None,
        prompt_mode: PromptMode::Static,
        messages: Vec::new(),
        environment: Default::default(),
        grace: Duration::from_secs(1),
        fresh: false,
    };
    let files = AttemptFiles {
        system_prompt: (!system_prompt.is_empty()).then(|| "/s/system-prompt.md".into()),
        prompt_mode: PromptMode::Static,
        extension: "/x/child.js".into(),
    };
    let argv = arguments(PiVersion::OLDEST, &request, &files);
    let argv: Vec<Json> = argv.into_iter().map(Json::String).collect();
    Answer::Value(argv_covered(&object(vec![("argv", Json::Array(argv))])))
}

/// Model, tools and thinking, and that files of the workspace are not taken as context. Prompts go another way: ours
/// stand in files and on the wire, where nothing is taken for an option.
pub fn argv_covered(recorded: &Json) -> Json {
    let argv = super::texts(recorded, "argv");
    let behind = |flag: &str| {
        let at = argv.iter().position(|word| word == flag);
        at.and_then(|at| argv.get(at + 1))
            .filter(|value| !value.is_empty())
    };
    let value = |flag: &str| behind(flag).map_or(Json::Null, |value| Json::String(value.clone()));
    object(vec![
        ("model", value("--model")),
        ("tools", value("--tools")),
        ("thinking", value("--thinking")),
        ("system_prompt", Json::Bool(behind("--system-prompt").is_some())),
        (
            "no_context_files",
            Json::Bool(argv.iter().any(|word| word == "--no-context-files")),
        ),
    ])
}
