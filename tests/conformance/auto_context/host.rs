//! The part that runs in Pi, in a Node of its own, and the planner as the bridge asks it.

use crate::json::Json;
use impresario::bridge::wire::MarkerSkeleton;
use impresario_policies::cache_markers::Planner;
use impresario_policies::domain::CacheTerms;
use impresario_test_support::directories;
use impresario_test_support::pi::{Version, provision};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

pub struct Node {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

static NODE: LazyLock<Mutex<Node>> = LazyLock::new(|| Mutex::new(Node::start("outline.mjs")));

impl Node {
    pub fn start(script: &str) -> Self {
        let install = provision(Version::V0_87_1).expect("a Node that reads TypeScript comes with Pi");
        let script = directories::project()
            .join("tests/conformance/auto_context")
            .join(script);
        let mut child = Command::new(install.node)
            .args(["--disable-warning=ExperimentalWarning"])
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            _child: child,
            input,
            output,
        }
    }

    pub fn ask(&mut self, question: &str) -> String {
        self.input
            .write_all(format!("{question}\n").as_bytes())
            .expect("node listens");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("node answers");
        answer
    }
}

fn ask(question: &str) -> String {
    let mut node = NODE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    node.ask(question)
}

/// The outline of a request, as the extension sends it; none where it takes no markers.
pub fn outline(payload: &Json, anchors: Vec<String>) -> Option<MarkerSkeleton> {
    outlined(payload, anchors).map(|(skeleton, _)| skeleton)
}

/// The same, with where each block stands in the request, which the extension keeps to itself.
pub fn outlined(payload: &Json, anchors: Vec<String>) -> Option<(MarkerSkeleton, Vec<String>)> {
    let answer = ask(&format!("{{\"payload\":{}}}", payload.to_text()));
    let mut outline: Value = serde_json::from_str(&answer).expect("an outline is JSON");
    let fields = outline.as_object_mut()?;
    fields.insert("session".to_string(), json!("S"));
    fields.insert("anchors".to_string(), json!(anchors));
    let paths = fields.remove("paths").expect("paths");
    let paths = serde_json::from_value(paths).expect("paths are texts");
    Some((
        serde_json::from_value(outline).expect("the outline is the bridge's"),
        paths,
    ))
}

/// The markers of a request after our edits, as the recorder lists them. That nothing else changed is checked here.
pub fn planned(payload: &Json, anchors: Vec<String>, terms: CacheTerms) -> Json {
    let Some(skeleton) = outline(payload, anchors) else {
        return markers_of(payload);
    };
    let plan = skeleton.answer(&Planner::default().plan(&skeleton.request(), Duration::ZERO, &terms));
    if plan.edits.is_empty() {
        return markers_of(payload);
    }
    let edits = serde_json::to_string(&plan.edits).expect("edits have a JSON form");
    let answer = ask(&format!(
        "{{\"payload\":{},\"edits\":{edits}}}",
        payload.to_text()
    ));
    let answer = Json::parse(&answer).expect("an answer is JSON");
    let edited = answer.get("payload").expect("the edits fit").clone();
    assert_eq!(
        unmarked(&edited),
        unmarked(payload),
        "something else than markers was changed"
    );
    markers_of(&edited)
}

/// A request without anything called as a marker is.
fn unmarked(value: &Json) -> Json {
    match value {
        Json::Object(entries) => {
            let kept = entries.iter().filter(|(key, value)| !is_marker(key, value));
            Json::Object(kept.map(|(key, value)| (key.clone(), unmarked(value))).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(unmarked).collect()),
        other => other.clone(),
    }
}

fn is_marker(key: &str, value: &Json) -> bool {
    key == "cache_control" && matches!(value, Json::Object(_))
}

/// `[pointer, ttl]` of every object that holds one, in the order of the body.
pub fn markers_of(payload: &Json) -> Json {
    let mut found = Vec::new();
    walk(payload, &mut String::new(), &mut found);
    Json::Array(found)
}

fn walk(value: &Json, path: &mut String, found: &mut Vec<Json>) {
    let length = path.len();
    match value {
        Json::Object(entries) => {
            if let Some((_, marker)) = entries.iter().find(|(key, value)| is_marker(key, value)) {
                let lives = marker.get("ttl").cloned().unwrap_or(Json::Null);
                found.push(Json::Array(vec![Json::String(path.clone()), lives]));
            }
            for (key, value) in entries {
                path.push_str(&format!("/{key}"));
                walk(value, path, found);
                path.truncate(length);
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("/{at}"));
                walk(item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
