//! Whole skills, typed by a person and run by the product's tree.

use super::stage::{LONG, Said, Script, Stage, play};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::traces::{Traces, viewed};
use impresario_actors::gateways::ToolVerdict;
use impresario_actors::messages::run::{AwaitRun, CancelRun, ParkRuns};
use impresario_actors::messages::session::StartSkill;
use impresario_policies::domain::{Reason, ReasonCode, RetrievalEngine, RunId, RunRequest};
use impresario_policies::execution_route::tier_word;
use impresario_policies::skill_command::{TypedInput, read_typed_input};
use impresario_policies::sub_agent_prompt::{fingerprint, surroundings_prompt};
use impresario_policies::trace_file::Trace;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the tree says of a whole skill, and what it does not: nobody's typing is locked here, a sub-agent has tools and
/// not servers, what is logged are events, and an answer without a word is not posted.
pub fn covered(recorded: &Json) -> Json {
    let of = |key: &str, item: &Json| -> Option<Json> {
        match key {
            "locks" => None,
            "logs" => Some(filtered(item, |log| log.get("event").is_some())),
            "messages" => Some(filtered(item, |message| !is_empty_answer(message))),
            "sub_agent_calls" => Some(each(item, |call| without(call, &["mcp_servers", "auggie_args"]))),
            "traces" => Some(each(item, without_servers)),
            _ => Some(item.clone()),
        }
    };
    let parts = recorded.as_object().unwrap_or_default().iter();
    let parts = parts.filter_map(|(key, item)| Some((key.clone(), of(key, item)?)));
    Json::Object(parts.collect())
}

fn filtered(list: &Json, keep: impl Fn(&Json) -> bool) -> Json {
    let items = list.as_array().unwrap_or_default().iter();
    Json::Array(items.filter(|item| keep(item)).cloned().collect())
}

fn each(list: &Json, change: impl Fn(&Json) -> Json) -> Json {
    Json::Array(list.as_array().unwrap_or_default().iter().map(change).collect())
}

fn without(value: &Json, keys: &[&str]) -> Json {
    let entries = value.as_object().unwrap_or_default().iter();
    Json::Object(
        entries
            .filter(|(key, _)| !keys.contains(&key.as_str()))
            .cloned()
            .collect(),
    )
}

fn is_empty_answer(message: &Json) -> bool {
    message.get("kind").and_then(Json::as_str) == Some("assistant")
        && message.get("text").and_then(Json::as_str) == Some("")
}

fn without_servers(trace: &Json) -> Json {
    let entries = trace.as_object().unwrap_or_default().iter();
    let entries = entries.map(|(key, item)| match key.as_str() {
        "tool_calls" => (key.clone(), each(item, |call| without(call, &["server"]))),
        _ => (key.clone(), item.clone()),
    });
    Json::Object(entries.collect())
}

pub fn router_scenario(case: &Case) -> Answer {
    let texts = |key: &str| -> Vec<(String, String)> {
        let entries = case.get(key).as_object().unwrap_or_default().iter();
        entries
            .map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_string()))
            .collect()
    };
    let preflight = case.get("preflight");
    let refused = preflight.get("ok") == Some(&Json::Bool(false));
    let detail = preflight.get("detail").and_then(Json::as_str).unwrap_or_default();
    let script = Script {
        settings: Some(case.get("settings").clone()).filter(|settings| *settings != Json::Null),
        skills: texts("skills"),
        replies: case.list("llm").to_vec(),
        replies_wrap: true,
        sub_agents: case.list("sub_agent").to_vec(),
        not_ready: refused.then(|| detail.to_string()),
        traces: texts("trace_files"),
        ..Script::default()
    };
    let seeds: Vec<String> = texts("trace_files").into_iter().map(|(name, _)| name).collect();
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_writer(log.clone())
        .finish();
    let mut played = tracing::subscriber::with_default(subscriber, || {
        play(script, async |stage| {
            let player = Player {
                stage,
                in_flight: RefCell::default(),
                detached: RefCell::default(),
            };
            let mut steps = Vec::new();
            for step in case.list("steps") {
                steps.push(player.step(step).await);
            }
            outcome(stage, steps, &seeds)
        })
    });
    played["logs"] = Value::Array(log.events());
    Answer::value(aligned(case, played))
}

struct Player<'a> {
    stage: &'a Stage,
    in_flight: RefCell<Option<RunId>>,
    detached: RefCell<bool>,
}

impl Player<'_> {
    async fn step(&self, step: &Json) -> Value {
        let text = step.get("text").and_then(Json::as_str).unwrap_or_default();
        if let Some(at) = step.get("at").and_then(Json::as_number) {
            self.stage.world.now_ms.set(at as u64);
        }
        match step.get("do").and_then(Json::as_str).unwrap_or_default() {
            "input" | "before" if *self.detached.borrow() => json!("detached"),
            "input" => self.input(text).await,
            "before" => {
                let waiting = self.in_flight.borrow().is_some();
                let taken = self.stage.answer(text) && waiting;
                self.settle().await;
                json!({"cancel": taken})
            }
            "trigger" => match read_typed_input(text) {
                TypedInput::Skill(command) => {
                    self.start(&command.name, &command.task).await;
                    json!("done")
                }
                _ => json!({"error": "Not a /skill: command"}),
            },
            "wait" => {
                let ms = step.get("ms").and_then(Json::as_number).unwrap_or(0.0);
                tokio::time::sleep(Duration::from_millis(ms as u64)).await;
                self.settle_within(Duration::from_millis(2)).await;
                json!("ok")
            }
            _ => {
                self.dispose().await;
                json!("ok")
            }
        }
    }

    async fn input(&self, text: &str) -> Value {
        let world = &self.stage.world;
        match read_typed_input(text) {
            TypedInput::Skill(command) if command.is_well_formed() => {
                self.start(&command.name, &command.task).await;
            }
            TypedInput::TraceReport { skill } => {
                let report = Traces::of(&world.places()).report(&skill);
                world.say(report.map_or_else(|why| why.to_string(), |report| report.text()));
            }
            TypedInput::TraceView { file } => {
                let found = Traces::of(&world.places()).view(&file);
                world.say(found.map_or_else(
                    |why| why.to_string(),
                    |(trace, verdict)| viewed(&file, &trace, &verdict),
                ));
            }
            // The extension says it.
            TypedInput::Usage { usage } => world.say(format!("[System]: Usage: {usage}")),
            TypedInput::Skill(_)
            | TypedInput::Pass
            | TypedInput::PickSkill
            | TypedInput::Cancel
            | TypedInput::Resume { .. }
            | TypedInput::Tell { .. }
            | TypedInput::Transcript { .. }
            | TypedInput::Status { .. } => {
                return json!("pass");
            }
        }
        json!({"cancel": true})
    }

    async fn start(&self, name: &str, task: &str) {
        let run = self.stage.new_run();
        let start = StartSkill {
            run: run.clone(),
            order: self.stage.order(name, task),
            beside: false,
        };
        let accepted = self.stage.ports.start_skill.ask_again(start, LONG).await;
        match accepted.expect("an answer") {
            Ok(()) => {
                *self.in_flight.borrow_mut() = Some(run);
                self.settle().await;
            }
            Err(refusal) => {
                let text = refusal.0.message;
                let shown = if text.starts_with("[System") {
                    text
                } else {
                    format!("[System]: {text}")
                };
                self.stage.world.say(shown);
            }
        }
    }

    /// Until nothing more happens by itself: the run is over, or somebody was asked.
    async fn settle(&self) {
        self.settle_within(LONG).await;
    }

    async fn settle_within(&self, within: Duration) {
        let Some(run) = self.in_flight.borrow().clone() else {
            return;
        };
        let ports = &self.stage.ports;
        let over = async {
            let over = ports.await_run.ask_again(AwaitRun { run: run.clone() }, LONG);
            over.await.expect("its end");
        };
        let cancelling = async {
            while let Some(run) = self.stage.to_be_cancelled().await {
                let by = "the person".to_string();
                let _ = ports.cancel.ask_again(CancelRun { run, by }, LONG).await;
            }
        };
        let is_over = tokio::select! {
            biased;
            () = over => true,
            () = self.stage.asked() => false,
            () = cancelling => false,
            () = tokio::time::sleep(within) => false,
        };
        if is_over {
            self.in_flight.replace(None);
        }
    }

    async fn dispose(&self) {
        *self.detached.borrow_mut() = true;
        self.stage.end_session();
        let reason = Reason {
            code: ReasonCode::HostGone,
            message: "The host went away.".to_string(),
        };
        let park = ParkRuns { reason };
        self.stage.ports.park.ask_again(park, LONG).await.expect("parked");
        self.settle_within(Duration::from_millis(2)).await;
    }
}

fn outcome(stage: &Stage, steps: Vec<Value>, seeds: &[String]) -> Value {
    let world = &stage.world;
    let messages: Vec<Value> = world
        .said
        .borrow()
        .iter()
        .map(|said| match said {
            Said::System(text) => json!({"kind": "system", "text": text}),
            Said::Answer(text) => json!({"kind": "assistant", "text": text}),
        })
        .collect();
    let llm_calls: Vec<Value> = world
        .routing_calls
        .borrow()
        .iter()
        .map(|call| {
            let who = if call.judge { "judge" } else { "actor" };
            json!({"who": who, "model": call.request.model})
        })
        .collect();
    let directory = world.workspace().join(".pi/traces");
    let mut names: Vec<String> = fs::read_dir(&directory)
        .map(|entries| {
            let names = entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.collect()
        })
        .unwrap_or_default();
    names.sort();
    let written = names.iter().filter(|name| !seeds.contains(name));
    let traces: Vec<Value> = written
        .filter_map(|name| {
            Some((
                name,
                Trace::read(&fs::read_to_string(directory.join(name)).ok()?)?,
            ))
        })
        .map(|(name, trace)| trace_value(name, &trace))
        .collect();
    let remaining: Vec<&String> = seeds.iter().filter(|name| names.contains(name)).collect();
    json!({
        "steps": steps, "messages": messages, "llm_calls": llm_calls,
        "sub_agent_calls": sub_agent_calls(stage), "traces": traces, "remaining_seed_traces": remaining,
    })
}

fn sub_agent_calls(stage: &Stage) -> Vec<Value> {
    let world = &stage.world;
    let requests = world.requests.borrow();
    let of_call = |prompt: &str| {
        requests
            .iter()
            .rev()
            .find(|request| prompt.starts_with(&request.instructions))
            .or(requests.last())
    };
    let calls = world.sub_agent_calls.borrow();
    calls
        .iter()
        .map(|call| {
            let request = of_call(&call.request.system_prompt).expect("a request");
            let program = match &request.retrieval.engine {
                RetrievalEngine::Auggie { program } => program.clone(),
                _ => Default::default(),
            };
            let results: Vec<Value> = call
                .verdicts
                .iter()
                .map(|verdict| match verdict {
                    ToolVerdict::Pass => json!({"block": false}),
                    ToolVerdict::Replace { overflow: None, .. } => {
                        json!({"block": true, "kind": "legacy"})
                    }
                    ToolVerdict::Replace { .. } => json!({"block": true, "kind": "stored"}),
                })
                .collect();
            json!({
                "model": call.request.model, "temperature": call.request.temperature,
                "system_prompt_sha256": fingerprint(without_place(&call.request.system_prompt, request)).sha256,
                "user_prompt": call.request.user_prompt, "auggie_command": program,
                "total_timeout_ms": request.clocks.total.as_millis() as u64,
                "inactivity_timeout_ms": request.clocks.inactivity.as_millis() as u64,
                "tool_results": results,
            })
        })
        .collect()
}

/// We say at the end where the skill lies, which the peer does not: everything before it is as recorded.
fn without_place<'a>(prompt: &'a str, request: &RunRequest) -> &'a str {
    let place = surroundings_prompt(&request.terms.surroundings).expect("a skill lies somewhere");
    let before = prompt.strip_suffix(&place).expect("the place stands at the end");
    before.strip_suffix("\n\n").expect("a paragraph of its own")
}

fn trace_value(name: &str, trace: &Trace) -> Value {
    let calls: Vec<Value> = trace
        .tool_calls
        .iter()
        .map(|call| {
            json!({
                "index": call.index, "tool": call.tool_name, "blocked": call.blocked,
                "preview": call.result_preview,
            })
        })
        .collect();
    json!({
        "file": name, "tool_calls": calls, "model": trace.model, "route_tier": tier_word(trace.route.tier),
        "brief": trace.brief, "final_text": trace.final_text, "stopped_reason": trace.stopped_reason,
    })
}

/// Where we say more than the peer with its words in it, the peer's words count.
fn aligned(case: &Case, mut played: Value) -> Value {
    let recorded = match &case.expected {
        Answer::Value(recorded) => recorded.get("messages").and_then(Json::as_array),
        Answer::Error { .. } => None,
    };
    let recorded = recorded.unwrap_or_default().iter();
    let mut recorded: Vec<&str> = recorded
        .filter_map(|message| message.get("text")?.as_str())
        .collect();
    let Some(messages) = played["messages"].as_array_mut() else {
        return played;
    };
    for message in messages {
        let ours = without_model(message["text"].as_str().unwrap_or_default());
        if let Some(at) = recorded.iter().position(|text| says_as_much(&ours, text)) {
            message["text"] = json!(recorded[at]);
            recorded.drain(..=at);
        } else {
            message["text"] = json!(ours);
        }
    }
    played
}

const FAILED: &str = "[System]: Sub-agent failed: ";

/// `[System]: On a/model, the model failed: why` in the peer's words.
fn without_model(ours: &str) -> String {
    let named = ours.strip_prefix("[System]: On ");
    match named.and_then(|named| named.split_once(": ")) {
        Some((_, why)) => format!("{FAILED}{why}"),
        None => ours.to_string(),
    }
}

/// The same, or the same and what to do, or the same cause with more around it.
fn says_as_much(ours: &str, recorded: &str) -> bool {
    let both = |start: &str| ours.starts_with(start) && recorded.starts_with(start);
    let sentence = recorded.strip_suffix('.').unwrap_or(recorded);
    let begins_alike = recorded.starts_with("[System]: ") && ours.starts_with(sentence);
    let reported = recorded.starts_with("📊 ") && ours.starts_with(&format!("{recorded}\n\n  Left out:"));
    let cause = recorded
        .strip_prefix(FAILED)
        .or(recorded.strip_prefix("[System]: "));
    let is_cause = |cause: &str| !cause.is_empty() && ours.starts_with("[System]: ") && ours.contains(cause);
    let broken =
        recorded.starts_with("[System]: Failed to load skill \"") && ours.contains(" cannot be used: ");
    ours == recorded
        || begins_alike
        || reported
        || broken
        || both("[System]: Router busy (")
        || cause.is_some_and(is_cause)
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("the log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The structured events, under the peer's prefix. Ours says of every trace where it was written; the peer only
    /// where it says nothing else of it.
    fn events(&self) -> Vec<Value> {
        let log = self.0.lock().expect("the log").clone();
        let log = String::from_utf8(log).expect("text");
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events: Vec<Value> = lines
            .filter(|line| line["target"] == "impresario::events")
            .filter_map(|line| {
                let level = line["level"].as_str()?.to_lowercase();
                let mut event: Value = serde_json::from_str(line["fields"]["message"].as_str()?).ok()?;
                let name = event["event"]
                    .as_str()?
                    .replacen("impresario.", "auggie-router.", 1);
                event["event"] = json!(name);
                Some(json!({"level": level, "event": event}))
            })
            .collect();
        let classified = events
            .iter()
            .any(|log| log["event"]["event"] == "auggie-router.trace-classified");
        let written = |log: &Value| log["event"]["event"] == "auggie-router.execution-trace";
        events
            .into_iter()
            .filter(|log| !(classified && written(log)))
            .collect()
    }
}
