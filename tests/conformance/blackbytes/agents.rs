//! Agents: who there is, what holds for each, and which tools it gets. Lists are those that the program prints.

use super::settings::resolve_section;
use super::{object, only, text, texts};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::agents::{
    AgentDefinition, Category, RelativeCost, Routing, built_in_agents, looking_tools, routing_matrix,
    routing_summary,
};
use impresario_policies::delegation_block::{context_label, delegate_argument, delegate_tool_name};
use impresario_policies::domain::{ExecutionMode, GuidanceTerms, Origin, PromptMode, ReasoningEffort};
use impresario_policies::model_family::model_family;
use impresario_policies::run_request::{EMBEDDED_RUNNER, RunAsk, RunMeans, run_request};
use impresario_policies::settings::Configured;
use impresario_policies::tool_policy::{Mutability, UnknownTools, finalise_tools, is_known};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::time::Duration;

fn mutability(value: &Json) -> Mutability {
    match text(value, "mutability").as_str() {
        "read-only" => Mutability::ReadOnly,
        _ => Mutability::FullAccess,
    }
}

fn built_in(name: &str) -> AgentDefinition {
    let mut agents = built_in_agents().into_iter();
    agents
        .find(|agent| agent.name() == name)
        .expect("a built-in agent")
}

pub fn nested_tools(case: &Case) -> Answer {
    let tools = case.texts("tools");
    let disabled = case.texts("globalDisabled");
    let done = finalise_tools(tools, UnknownTools::Dropped, &disabled, mutability(&case.input));
    // Who is strict refuses what names a tool that nobody can have, as files of agents are refused.
    if case.text("mode") == "strict" && !done.unknown.is_empty() {
        return Answer::error(done.unknown.join(", "));
    }
    Answer::value(json!({
        "tools": done.tools, "droppedUnknown": done.unknown, "droppedGlobalDisabled": done.disabled,
        "droppedMutability": done.changing,
    }))
}

pub fn validate_tool_names(case: &Case) -> Answer {
    let (valid, unknown): (Vec<String>, Vec<String>) =
        case.texts("names").into_iter().partition(|name| is_known(name));
    Answer::value(json!({"valid": valid, "unknown": unknown}))
}

fn routing_of(meta: &Json) -> Option<Routing> {
    let routing = meta.get("routing")?;
    Some(Routing {
        category: match text(routing, "category").as_str() {
            "exploration" => Category::Exploration,
            "reasoning" => Category::Reasoning,
            "research" => Category::Research,
            "implementation" => Category::Implementation,
            _ => Category::Review,
        },
        cost: match text(routing, "cost").as_str() {
            "low" => RelativeCost::Low,
            "medium" => RelativeCost::Medium,
            _ => RelativeCost::High,
        },
        use_when: texts(routing, "useWhen"),
        avoid_when: texts(routing, "avoidWhen"),
        key_trigger: routing
            .get("keyTrigger")
            .and_then(Json::as_str)
            .map(str::to_string),
    })
}

pub fn routing(case: &Case) -> Answer {
    let enabled = case.texts("enabled");
    let metas = case.list("metas").iter();
    let agents: Vec<AgentDefinition> = metas
        .map(|meta| {
            let mut agent =
                AgentDefinition::new(text(meta, "name"), "").description(text(meta, "description"));
            agent.routing = routing_of(meta);
            agent
        })
        .filter(|agent| enabled.iter().any(|name| name == agent.name()))
        .collect();
    Answer::value(json!({"matrix": routing_matrix(&agents), "summary": routing_summary(&agents)}))
}

pub fn builtin_agents(case: &Case) -> Answer {
    let agent = built_in(case.text("agent"));
    let name = agent.name().to_string();
    let wanted = delegate_argument(agent.routing.as_ref()).name;
    // It has what the peer gives it, and what is ours.
    let tools = agent.tools.unwrap_or_default();
    let of_peer = case
        .expected
        .get("allowed_tools")
        .as_array()
        .unwrap_or_default()
        .iter()
        .filter_map(Json::as_str);
    let has: Vec<&str> = of_peer
        .filter(|tool| tools.iter().any(|ours| ours == tool))
        .collect();
    let mut params = vec![wanted];
    params.extend(context_label(agent.routing.as_ref()).map(|_| "context"));
    Answer::value(json!({
        "tool": delegate_tool_name(&name), "params": params, "required": [wanted], "allowed_tools": has,
        "mutability": agent.mutability, "timeoutMs": agent.total_timeout.map(|time| time.as_millis() as u64),
        "category": agent.routing.map(|routing| routing.category),
    }))
}

/// What it is called with and for how long; texts, costs and icons are our own.
pub fn builtin_covered(recorded: &Json) -> Json {
    let member = |key: &str, inner: &str| {
        let value = recorded.get(key).and_then(|value| value.get(inner));
        value.cloned().unwrap_or(Json::Null)
    };
    let Json::Object(mut entries) = only(
        recorded,
        &["tool", "params", "required", "allowed_tools", "mutability"],
    ) else {
        return Json::Null;
    };
    entries.push(("timeoutMs".to_string(), member("defaults", "timeoutMs")));
    entries.push(("category".to_string(), member("routing", "category")));
    Json::Object(entries)
}

pub fn persona_variant(case: &Case) -> Answer {
    let family = model_family(case.text("model"));
    let style = built_in(case.text("agent")).styles.get(&family).map(|_| family);
    let variant = style.map_or(json!("default"), |family| json!(family));
    Answer::value(json!({ "variant": variant }))
}

/// The texts are our own.
pub fn variant_covered(recorded: &Json) -> Json {
    only(recorded, &["variant"])
}

/// The agents that the program lists where these files lie in Pi's directory of the user.
struct Listed {
    agents: Vec<Value>,
    /// The names of the files that describe nobody.
    skipped: Vec<String>,
}

fn listed(settings: Option<&Json>, files: &Json, file_instead: bool) -> Listed {
    let place = tempfile::tempdir().expect("a directory");
    let pi = place.path().join("home/.pi/agent");
    let (agents, workspace) = (pi.join("sub-agents"), place.path().join("workspace"));
    fs::create_dir_all(&pi).expect("a home");
    fs::create_dir(&workspace).expect("a workspace");
    if let Some(settings) = settings {
        let settings = json!({"blackbytes": Value::from(settings)}).to_string();
        fs::write(pi.join("settings.json"), settings).expect("a file");
    }
    if file_instead {
        fs::write(&agents, "").expect("a file");
    }
    if let Some(files) = files.as_object() {
        fs::create_dir(&agents).expect("a directory");
        for (name, file) in files {
            match file.as_str() {
                Some(text) => fs::write(agents.join(name), text).expect("a file"),
                None => fs::create_dir(agents.join(name)).expect("a directory"),
            }
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_impresario"))
        .args(["agents", "--json", "--no-trust", "--workspace"])
        .arg(&workspace)
        .env_clear()
        .env("HOME", place.path().join("home"))
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).expect("text");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let (agents, skipped): (Vec<Value>, Vec<Value>) = lines.partition(|line| line.get("agent").is_some());
    let file_of = |line: &Value| {
        let path = line["file"].as_str().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default().to_string()
    };
    Listed {
        agents,
        skipped: skipped.iter().map(file_of).collect(),
    }
}

pub fn enabled_set(case: &Case) -> Answer {
    let config = case.get("config");
    let own = case.texts("known_agents");
    let is_own = |name: &&String| {
        built_in_agents()
            .iter()
            .all(|agent| agent.name() != name.as_str())
    };
    let files = own.iter().filter(is_own).map(|name| {
        let text = format!("name: {name}\ndescription: d\nsystem_prompt: p\n");
        (format!("{name}.yaml"), Json::String(text))
    });
    let listed = listed(Some(config), &Json::Object(files.collect()), false);
    let names = listed.agents.iter().filter_map(|agent| agent["agent"].as_str());
    // Records with names of their own know no others.
    let names = names.filter(|name| own.is_empty() || own.iter().any(|known| known == name));
    let disabled = Configured::from(&resolve_section(config)).run.tools_disabled;
    let mut once: Vec<String> = Vec::new();
    for tool in disabled {
        if !once.contains(&tool) {
            once.push(tool);
        }
    }
    Answer::value(json!({"sub_agents": names.collect::<Vec<_>>(), "disabled_tools": once}))
}

/// The tools of the parent session are another matter.
pub fn enabled_covered(recorded: &Json) -> Json {
    only(recorded, &["sub_agents", "disabled_tools"])
}

pub fn yaml_agents(case: &Case) -> Answer {
    let listed = listed(None, case.get("files"), case.flag("file_instead"));
    let of_files = listed.agents.iter().filter(|agent| agent["file"].is_string());
    let declarations = of_files.clone().map(|agent| {
        json!({
            "name": agent["agent"], "description": agent["description"], "system_prompt": agent["instructions"],
            "allowed_tools": tools_of(agent, case), "mutability": agent["mutability"],
            "prompt_mode": agent["prompt_mode"], "execution_mode": agent["execution_mode"],
            "routing": routing_as_recorded(&agent["routing"]),
            "model": agent["models"].get(0), "fallback_models": agent["fallback_models"],
            "reasoning_effort": agent["reasoning_effort"], "timeout_ms": agent["timeout_ms"],
        })
    });
    let loaded = of_files.clone().map(|agent| agent["agent"].clone());
    Answer::value(json!({
        "loaded": loaded.collect::<Vec<_>>(), "skipped": listed.skipped,
        "declarations": declarations.collect::<Vec<_>>(),
    }))
}

/// The tools; of an agent whose file names none that it has, whether it only reads with them.
fn tools_of(agent: &Value, case: &Case) -> Value {
    let file = agent["file"].as_str().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or_default();
    let text = case
        .get("files")
        .get(name)
        .and_then(Json::as_str)
        .unwrap_or_default();
    let tools = agent["tools"].as_array().cloned().unwrap_or_default();
    let reads = |tool: &Value| looking_tools().any(|known| tool == known);
    match !text.contains("allowed_tools:") && tools.iter().all(reads) {
        true => json!(BY_DEFAULT),
        false => Value::Array(tools),
    }
}

fn routing_as_recorded(routing: &Value) -> Value {
    if routing.is_null() {
        return Value::Null;
    }
    let mut recorded = json!({
        "category": routing["category"], "cost": routing["cost"], "useWhen": routing["use_when"],
        "avoidWhen": routing["avoid_when"],
    });
    if routing["key_trigger"].is_string() {
        recorded["keyTrigger"] = routing["key_trigger"].clone();
    }
    recorded
}

/// Who is loaded and who is not, and what holds for whom. Why a file is none is said in words of our own. Modes that
/// nobody gives are the first of their kind; tools are those that are given in the end.
pub fn yaml_covered(recorded: &Json) -> Json {
    let list = |key: &str| recorded.get(key).and_then(Json::as_array).unwrap_or_default();
    let names = list("loaded")
        .iter()
        .map(|agent| Json::String(text(agent, "name")));
    let skipped = list("skipped")
        .iter()
        .map(|file| match text(file, "file").as_str() {
            "<directory>" => Json::String("sub-agents".to_string()),
            name => Json::String(name.to_string()),
        });
    let declarations = list("declarations").iter().map(|declaration| {
        let word = |key: &str, otherwise: &str| match declaration.get(key) {
            Some(Json::String(word)) => Json::String(word.clone()),
            _ => Json::String(otherwise.to_string()),
        };
        let overrides = declaration.get("static_overrides").unwrap_or(&Json::Null);
        let set = |key: &str| overrides.get(key).cloned().unwrap_or(Json::Null);
        let member = |key: &str| declaration.get(key).cloned().unwrap_or(Json::Null);
        object(vec![
            ("name", member("name")),
            ("description", member("description")),
            ("system_prompt", member("system_prompt")),
            (
                "allowed_tools",
                match declaration.get("allowed_tools_dynamic") == Some(&Json::Bool(true)) {
                    true => Json::String(BY_DEFAULT.to_string()),
                    false => in_order(&texts(declaration, "allowed_tools")),
                },
            ),
            ("mutability", member("mutability")),
            ("prompt_mode", word("prompt_mode", PromptMode::default().word())),
            (
                "execution_mode",
                word("execution_mode", ExecutionMode::default().word()),
            ),
            ("routing", member("routing")),
            ("model", set("model")),
            ("fallback_models", set("fallbackModels")),
            ("reasoning_effort", set("reasoningEffort")),
            ("timeout_ms", set("timeoutMs")),
        ])
    });
    object(vec![
        ("loaded", Json::Array(names.collect())),
        ("skipped", Json::Array(skipped.collect())),
        ("declarations", Json::Array(declarations.collect())),
    ])
}

/// Tools have no order of their own.
fn in_order(tools: &[String]) -> Json {
    let tools: std::collections::BTreeSet<&String> = tools.iter().collect();
    Json::from(&json!(tools))
}

/// Stands for the tools of an agent whose file allows none by name.
pub const BY_DEFAULT: &str = "what an agent reads with";

/// What an agent of this declaration is, before anything is set for it.
fn declared(declaration: &Json) -> AgentDefinition {
    if let Some(name) = declaration.as_str() {
        return built_in(name);
    }
    let mut agent = AgentDefinition::new(text(declaration, "name"), "p").mutability(mutability(declaration));
    let done = finalise_tools(
        texts(declaration, "allowedTools"),
        UnknownTools::Dropped,
        &[],
        Mutability::FullAccess,
    );
    agent.tools = Some(done.tools);
    let overrides = declaration.get("staticOverrides").unwrap_or(&Json::Null);
    agent.models = overrides
        .get("model")
        .and_then(Json::as_str)
        .map(str::to_string)
        .into_iter()
        .collect();
    agent.fallback_models = overrides
        .get("fallbackModels")
        .map(|_| texts(overrides, "fallbackModels"));
    agent.reasoning_effort = ReasoningEffort::read(&text(overrides, "reasoningEffort"));
    agent.total_timeout = overrides
        .get("timeoutMs")
        .and_then(Json::as_number)
        .map(|time| Duration::from_millis(time as u64));
    agent.prompt_mode = PromptMode::read(&text(declaration, "promptMode")).unwrap_or_default();
    agent.execution_mode = ExecutionMode::read(&text(declaration, "executionMode")).unwrap_or_default();
    agent
}

/// An agent as it is set, and what a run of it is accepted with.
pub fn agent_snapshot(case: &Case) -> Answer {
    let declaration = case.get("declaration");
    let mut agent = declared(declaration);
    let section = object(vec![
        ("disabled_tools", case.get("disabled_tools").clone()),
        (
            "sub_agents",
            Json::Object(vec![(
                agent.name().to_string(),
                case.get("agent_settings").clone(),
            )]),
        ),
    ]);
    let configured = Configured::from(&resolve_section(&section));
    if let Some(settings) = configured.agents.get(agent.name()) {
        settings.apply(&mut agent);
    }
    let ask = RunAsk {
        task: "look".into(),
        origin: Origin {
            host: "test".into(),
            session: None,
            resumes: None,
        },
        workspace: "/w".into(),
        // A bare name is a model of the session's provider.
        session_model: Some("house/own".into()),
        session_file: None,
        project_instructions: String::new(),
        guidance: GuidanceTerms::default(),
        today: "2026-11-21".into(),
    };
    let means = RunMeans {
        runner: EMBEDDED_RUNNER.into(),
        models_chosen: true,
        ..RunMeans::default()
    };
    let (fallback, execution) = (agent.fallback_models.clone(), agent.execution_mode);
    let timeout = agent.total_timeout;
    let of_file = declaration.as_str().is_none();
    let request = run_request(agent, ask, means, configured.run).expect("a request");
    let routing = request.terms.routing.clone().expect("routing");
    Answer::value(json!({
        "model": routing.skill_model, "fallbackModels": fallback,
        "reasoningEffort": request.terms.reasoning_effort.map(ReasoningEffort::word),
        "timeoutMs": timeout.map(|_| request.clocks.total.as_millis() as u64),
        "promptMode": request.terms.prompt_mode.word(), "executionMode": execution.word(),
        // Built-in agents have tools of ours.
        "tools": of_file.then_some(request.tools),
    }))
}

/// What a run is made with. What the peer keeps and does not act on is left out.
pub fn snapshot_covered(recorded: &Json) -> Json {
    let member = |key: &str| recorded.get(key).cloned().unwrap_or(Json::Null);
    let word = |key: &str, otherwise: &str| match recorded.get(key) {
        Some(Json::String(word)) => Json::String(word.clone()),
        _ => Json::String(otherwise.to_string()),
    };
    let tools = recorded
        .get("allowedToolsSummary")
        .and_then(|summary| summary.get("tools"));
    let name = text(recorded, "name");
    let of_file = built_in_agents().iter().all(|agent| agent.name() != name);
    object(vec![
        ("model", member("model")),
        ("fallbackModels", member("fallbackModels")),
        ("reasoningEffort", member("reasoningEffort")),
        ("timeoutMs", member("timeoutMs")),
        ("promptMode", word("promptMode", PromptMode::default().word())),
        (
            "executionMode",
            word("executionMode", ExecutionMode::default().word()),
        ),
        ("tools", tools.filter(|_| of_file).cloned().unwrap_or(Json::Null)),
    ])
}
