//! The tools that ask servers, over servers that answer what was recorded.

use super::{object, only};
use crate::compare::same;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use async_trait::async_trait;
use impresario_actors::context::local::HeavyWork;
use impresario_actors::gateways::{KeyHeader, PageRequest, ServiceRequest, Web, WebFailure, WebResponse};
use impresario_actors::tools::network::NetworkTools;
use impresario_actors::tools::network::mcp::McpServer;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::compat::collapse_spaces;
use impresario_policies::network::limits::{EXCHANGE_TIME, SERVICE_BYTES_MAX, fetch_timeout};
use impresario_policies::network::markdown::{PageForm, PageReader};
use impresario_policies::network::sse::read_events;
use impresario_policies::settings::{Configured, Place, SettingsFile, resolve_settings};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Answers what was recorded, one after the other, and writes down what it was asked.
#[derive(Default)]
struct Recorded {
    responses: Mutex<Vec<Json>>,
    asked: Mutex<Vec<Value>>,
}

impl Recorded {
    fn new(responses: &[Json]) -> Arc<Self> {
        let mut responses = responses.to_vec();
        responses.reverse();
        Arc::new(Self {
            responses: Mutex::new(responses),
            asked: Mutex::default(),
        })
    }

    fn next(&self) -> Result<WebResponse, WebFailure> {
        let response = self
            .responses
            .lock()
            .expect("nobody panicked")
            .pop()
            .unwrap_or(Json::Null);
        let text = |value: &Json, key: &str| value.get(key).and_then(Json::as_str).map(str::to_string);
        let status = response
            .get("status")
            .and_then(Json::as_number)
            .map(|status| status as u16);
        if response.get("ok") != Some(&Json::Bool(true)) {
            return Err(WebFailure {
                status,
                why: text(&response, "error").unwrap_or_default(),
                said: None,
            });
        }
        let headers = response.get("headers").cloned().unwrap_or(Json::Null);
        let body = match response.get("data") {
            Some(Json::String(text)) => text.clone(),
            Some(data) => data.to_text(),
            None => String::new(),
        };
        Ok(WebResponse {
            status: status.unwrap_or(200),
            content_type: text(&headers, "content-type"),
            session: text(&headers, "mcp-session-id"),
            body: body.into_bytes(),
            truncated: response.get("truncated") == Some(&Json::Bool(true)),
            led_to: text(&response, "finalUrl"),
        })
    }
}

fn milliseconds(time: Duration) -> Value {
    match time == EXCHANGE_TIME {
        true => Value::Null,
        false => json!(time.as_millis() as u64),
    }
}

#[async_trait]
impl Web for Recorded {
    async fn ask(&self, request: ServiceRequest) -> Result<WebResponse, WebFailure> {
        let mut headers = json!({});
        match &request.key {
            Some(KeyHeader::ApiKey(key)) => headers["x-api-key"] = json!(key.expose()),
            Some(KeyHeader::Bearer(key)) => {
                headers["Authorization"] = json!(format!("Bearer {}", key.expose()))
            }
            None => {}
        }
        if request.json.is_some() {
            headers["Content-Type"] = json!("application/json");
        }
        let body: Option<Value> = request
            .json
            .as_deref()
            .and_then(|body| serde_json::from_str(body).ok());
        self.asked.lock().expect("nobody panicked").push(json!({
            "url": request.url,
            "method": request.json.as_ref().map(|_| "POST"),
            "headers": headers,
            "body": body,
            "timeout_ms": milliseconds(request.time),
            "max_body": request.bytes_max,
            "session": request.session,
            "accept": request.accept,
        }));
        self.next()
    }

    async fn read(&self, request: PageRequest) -> Result<WebResponse, WebFailure> {
        self.asked.lock().expect("nobody panicked").push(json!({
            "url": request.url.shown(),
            "method": "GET",
            "headers": {"Accept": request.accept, "Accept-Language": "en-US,en;q=0.9"},
            "body": null,
            "timeout_ms": milliseconds(request.time),
            "max_body": request.bytes_max,
        }));
        self.next()
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

fn call(tool: AddedTool, case: &Case, web: &Arc<Recorded>) -> Result<String, String> {
    let config = case
        .input
        .get("config")
        .cloned()
        .unwrap_or(Json::Object(Vec::new()));
    let text = format!("{{\"blackbytes\":{}}}", config.to_text());
    let file = SettingsFile {
        place: Place::Home,
        trusted: true,
        text: Some(&text),
    };
    let settings = Configured::from(&resolve_settings(&[file])).network;
    let variable = |name: &str| {
        case.get("env")
            .get(name)
            .and_then(Json::as_str)
            .map(str::to_string)
    };
    let tools = NetworkTools::over(
        settings.with_environment(variable),
        web.clone(),
        HeavyWork::Inline,
    );
    let arguments = Value::from(case.get("params"));
    let answered = wait(tools.call(tool, &arguments, &CancellationToken::new()));
    answered.map(|answer| answer.text)
}

fn asked_and_said(tool: AddedTool, case: &Case) -> Answer {
    let web = Recorded::new(case.list("responses"));
    let text = call(tool, case, &web).unwrap_or_else(|why| why);
    let requests: Vec<Json> = web
        .asked
        .lock()
        .expect("nobody panicked")
        .iter()
        .map(Json::from)
        .collect();
    Answer::Value(covered(&object(vec![
        ("requests", Json::Array(requests)),
        ("text", Json::String(text)),
    ])))
}

/// What is asked and what is said; the limit that the peer does not name is the one of its client.
pub fn covered(recorded: &Json) -> Json {
    let requests = recorded
        .get("requests")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let request = |request: &Json| {
        let kept = only(request, &["url", "method", "headers", "body", "timeout_ms"]);
        let limit = match request.get("max_body") {
            None | Some(Json::Null) => Json::Number(SERVICE_BYTES_MAX as f64),
            Some(limit) => limit.clone(),
        };
        object(vec![("request", kept), ("max_body", limit)])
    };
    object(vec![
        ("requests", Json::Array(requests.iter().map(request).collect())),
        ("text", recorded.get("text").cloned().unwrap_or(Json::Null)),
    ])
}

pub fn web_search(case: &Case) -> Answer {
    asked_and_said(AddedTool::WebSearch, case)
}

pub fn web_fetch(case: &Case) -> Answer {
    asked_and_said(AddedTool::WebFetch, case)
}

pub fn docs_resolve(case: &Case) -> Answer {
    asked_and_said(AddedTool::DocsResolve, case)
}

pub fn docs_query(case: &Case) -> Answer {
    asked_and_said(AddedTool::DocsQuery, case)
}

pub fn gh_search(case: &Case) -> Answer {
    let greeted = Json::from(&json!({"ok": true, "data": {"id": 1, "result": {}}}));
    let noted = Json::from(&json!({"ok": true, "data": ""}));
    let answered = match case.get("result") {
        Json::Null => {
            let thrown = case.get("throws");
            let why = thrown
                .as_str()
                .or_else(|| thrown.get("message").and_then(Json::as_str));
            json!({"ok": false, "error": why})
        }
        result => json!({"ok": true, "data": {"id": 2, "result": Value::from(result)}}),
    };
    let web = Recorded::new(&[greeted, noted, Json::from(&answered)]);
    let text = call(AddedTool::GhSearch, case, &web).unwrap_or_else(|why| why);
    let sent = web.asked.lock().expect("nobody panicked").last().map(|request| {
        let params = &request["body"]["params"];
        json!({"name": params["name"], "args": params["arguments"]})
    });
    Answer::Value(Json::from(&json!({"sent": sent, "text": text})))
}

pub fn gh_covered(recorded: &Json) -> Json {
    only(recorded, &["sent", "text"])
}

pub fn mcp_client(case: &Case) -> Answer {
    let web = Recorded::new(case.list("responses"));
    let server = McpServer::new("https://mcp.example.org".to_string());
    let mut outcomes = Vec::new();
    for call in case.list("calls") {
        let name = call.get("name").and_then(Json::as_str).unwrap_or_default();
        let arguments = call.get("args").map(Value::from).unwrap_or_default();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        outcomes.push(match wait(server.call(web.as_ref(), name, &arguments)) {
            Ok(result) => json!({"ok": result}),
            Err(failure) => {
                let said = failure.said.map(|said| format!(": {said}")).unwrap_or_default();
                json!({
                    "error": format!("{}{said}", failure.why),
                    "http_status": failure.http_status,
                    "rpc_code": failure.rpc_code,
                })
            }
        });
    }
    let requests = web.asked.lock().expect("nobody panicked").clone();
    Answer::Value(mcp_covered(&Json::from(
        &json!({"requests": requests, "outcomes": outcomes}),
    )))
}

/// Whoever calls is called otherwise, and the time is that of every exchange.
pub fn mcp_covered(recorded: &Json) -> Json {
    let mut recorded = Value::from(recorded);
    for request in recorded["requests"].as_array_mut().into_iter().flatten() {
        if let Some(params) = request["body"].get_mut("params").and_then(Value::as_object_mut) {
            params.remove("clientInfo");
        }
        let kept =
            ["body", "session", "accept", "max_body"].map(|key| (key.to_string(), request[key].clone()));
        *request = Value::Object(kept.into_iter().collect());
    }
    Json::from(&recorded)
}

pub fn sse_events(case: &Case) -> Answer {
    let events = read_events(case.text("text")).into_iter();
    let events = events.map(|event| json!({"type": event.kind, "data": event.data}));
    Answer::value(Value::Array(events.collect()))
}

fn converted(html: &str, form: PageForm) -> String {
    let as_written = |target: &str| Some(target.to_string());
    let mut reader = PageReader::new(html, form, &as_written);
    while reader.read_some(1_000) {}
    reader.into_text()
}

pub fn html_convert(case: &Case) -> Answer {
    let html = case.text("html");
    Answer::value(json!({
        "text": converted(html, PageForm::Text),
        "markdown": converted(html, PageForm::Markdown),
    }))
}

pub fn timeout(case: &Case) -> Answer {
    Answer::value(json!(fetch_timeout(case.get("timeout_s").as_number())))
}

fn text_in(answer: &Answer) -> String {
    answer.get("text").as_str().unwrap_or_default().to_string()
}

/// What stands between the marks, and beside them.
fn unmarked(text: &str) -> String {
    let is_mark = |line: &&str| {
        line.starts_with("<text-from-the-web id=") || line.starts_with("</text-from-the-web id=")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_mark(line)).collect();
    collapse_spaces(&lines.join("\n"))
}

fn asks_the_same(case: &Case, ours: &Answer) -> bool {
    ["requests", "sent"]
        .iter()
        .all(|key| same(case.expected.get(key), ours.get(key)))
}

pub fn is_marked(case: &Case, ours: &Answer) -> bool {
    let text = text_in(ours);
    asks_the_same(case, ours)
        && text.contains("<text-from-the-web id=")
        && unmarked(&text) == collapse_spaces(&text_in(&case.expected))
}

pub fn is_in_parts(case: &Case, ours: &Answer) -> bool {
    let text = text_in(ours);
    let counted = text.contains("\n[Characters 0 to 6,000 of ") || text.contains("\n[The first 3,500 of ");
    asks_the_same(case, ours) && case.expected.get("text").get("$digest").is_some() && counted
}

pub fn names_our_setting(case: &Case, ours: &Answer) -> bool {
    let theirs =
        text_in(&case.expected).replace("blackbytes.websearch.tavily_api_key", "impresario.web.tavilyKey");
    asks_the_same(case, ours)
        && theirs.contains("impresario.web")
        && unmarked(&text_in(ours)) == collapse_spaces(&theirs)
}

pub fn checks_the_id(case: &Case, ours: &Answer) -> bool {
    let asked = |answer: &Answer| {
        answer
            .get("requests")
            .as_array()
            .is_some_and(|asked| !asked.is_empty())
    };
    asked(&case.expected) && !asked(ours) && text_in(ours).starts_with("Invalid libraryId")
}

pub fn counts_what_is_hidden(case: &Case, ours: &Answer) -> bool {
    let (theirs, text) = (text_in(&case.expected), text_in(ours));
    let before = |text: &str| text.rsplit_once("\n[").map(|(shown, _)| unmarked(shown));
    let count = theirs
        .rsplit_once("\n[")
        .and_then(|(_, rest)| rest.split(' ').next())
        .unwrap_or("?");
    asks_the_same(case, ours)
        && before(&theirs) == before(&text)
        && text.contains(&format!("\n[{count} more result(s) not shown."))
}

pub fn is_no_list(case: &Case, ours: &Answer) -> bool {
    asks_the_same(case, ours)
        && text_in(&case.expected).starts_with("No libraries found")
        && text_in(ours).contains("no list of libraries")
}

pub fn says_why(case: &Case, ours: &Answer) -> bool {
    let why = text_in(&case.expected);
    let why = why.strip_prefix("Error searching GitHub: ");
    case.get("result") == &Json::Null && why.is_some_and(|why| text_in(ours).contains(why))
}

/// The record answers a request with the number of another.
pub fn believes_its_own_answer(case: &Case, ours: &Answer) -> bool {
    let Answer::Value(ours) = ours else { return false };
    let ours = Value::from(ours);
    let last = ours["requests"].as_array().and_then(|requests| requests.last());
    let id = last
        .map(|request| request["body"]["id"].clone())
        .unwrap_or_default();
    let answers = |response: &Json| {
        response
            .to_text()
            .replace("\\\"", "\"")
            .contains(&format!("\"id\":{id}"))
    };
    ours["outcomes"].to_string().contains("no answer to it") && !case.list("responses").iter().any(answers)
}

pub fn ends_a_line_at_cr(case: &Case, _: &Answer) -> bool {
    case.text("text").replace("\r\n", "").contains('\r')
}

/// The words, without the signs of Markdown that stand before none.
fn words(text: &str) -> Vec<String> {
    let text = text.replace(['#', '|', '[', ']'], " ").replace("(u)", " ");
    let words = text.split_whitespace().filter(|word| *word != "-");
    // A sign may stand next to a word or not.
    vec![words.collect::<String>()]
}

pub fn says_the_same_words(case: &Case, ours: &Answer) -> bool {
    ["text", "markdown"].iter().all(|key| {
        let said = |answer: &Answer| words(answer.get(key).as_str().unwrap_or_default());
        said(&case.expected) == said(ours)
    })
}

/// `1 < 2` is no tag; a tag that never ends is nothing else.
pub fn knows_what_a_tag_is(case: &Case, ours: &Answer) -> bool {
    let html = case.text("html");
    let open = html.rsplit_once('<').map_or("", |(_, rest)| rest);
    let begins =
        |rest: &str| rest.starts_with(|first: char| first.is_ascii_alphabetic() || "/!?".contains(first));
    let text = text_in(ours);
    match begins(open) {
        true => !open.contains('>') && !text.contains('<'),
        false => text.contains('<') && !text_in(&case.expected).contains('<'),
    }
}

pub fn is_no_letter(case: &Case, ours: &Answer) -> bool {
    matches!(case.expected, Answer::Error { .. }) && text_in(ours).contains('\u{FFFD}')
}
