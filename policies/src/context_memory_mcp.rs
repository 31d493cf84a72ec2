//! What does the MCP server answer that gives access to results kept aside?
//!
//! A line of JSON-RPC in, a step out: silence, an answer, or a question to the run's memory whose answer is then
//! put into words. Two sets of tool names: ours, which every provider accepts, and the peer's.

use crate::compat::{Json, number_of, string_of};
use crate::overflow_memory::{OverflowEntry, is_overflow_handle};
use crate::overflow_read::{OverflowPage, OverflowPlace, PAGE_UNITS, PAGE_UNITS_MAX, PLACES_MAX};

const PROTOCOL_VERSION: &str = "2024-11-05";
const INVALID_PARAMS: f64 = -32602.0;
const UNKNOWN_METHOD: f64 = -32601.0;

/// Whose names the tools have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNames {
    /// `overflow_read`, `overflow_list`, `overflow_search`.
    Ours,
    /// `context-memory.read`, `context-memory.list`.
    Peer,
}

/// What a line leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum McpStep {
    /// Nothing is answered.
    Silent,
    /// This is answered.
    Answer(Json),
    /// The memory is asked; its answer goes to [`answer_question`].
    Ask {
        /// The id of the request; none when it had none.
        id: Option<Json>,
        /// What is asked.
        question: MemoryQuestion,
    },
}

/// What the memory is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryQuestion {
    /// Everything that is kept.
    List,
    /// A page of one entry.
    Read {
        /// Its handle.
        handle: String,
        /// From where.
        offset: usize,
        /// How much.
        limit: usize,
    },
    /// Places of a text in one entry.
    Search {
        /// Its handle.
        handle: String,
        /// The text.
        query: String,
        /// How many places.
        places_max: usize,
    },
}

/// What the memory answers.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryAnswer<'a> {
    /// To a list.
    Entries(&'a [OverflowEntry]),
    /// To a read.
    Page(OverflowPage<'a>),
    /// To a search: some places, and how many there are.
    Places(Vec<OverflowPlace>, usize),
    /// Nothing of that handle.
    Unknown,
}

/// Reads one line.
pub fn read_mcp_line(line: &str, names: ToolNames) -> McpStep {
    let Ok(message) = Json::parse(line) else {
        return McpStep::Silent;
    };
    let id = message.get("id").cloned();
    match message.get("method").and_then(Json::as_str).unwrap_or("") {
        "initialize" => McpStep::Answer(result(id, initialized(names))),
        "notifications/initialized" => McpStep::Silent,
        "ping" => McpStep::Answer(result(id, object(vec![]))),
        "tools/list" => McpStep::Answer(result(id, object(vec![("tools", Json::Array(tools(names)))]))),
        "tools/call" => call(id, message.get("params").unwrap_or(&Json::Null), names),
        _ if id.is_none() => McpStep::Silent,
        _ => McpStep::Answer(error(
            id,
            UNKNOWN_METHOD,
            &format!("Unknown method: {}", shown(message.get("method"))),
        )),
    }
}

/// Puts the memory's answer into words.
pub fn answer_question(
    id: Option<Json>,
    question: &MemoryQuestion,
    answer: &MemoryAnswer<'_>,
    names: ToolNames,
) -> Json {
    let content = match answer {
        MemoryAnswer::Entries(entries) => Json::Array(entries.iter().map(entry_json).collect()),
        MemoryAnswer::Page(page) => page_json(page, names),
        MemoryAnswer::Places(places, count) => places_json(places, *count),
        MemoryAnswer::Unknown => return unknown_handle(id, question),
    };
    result(id, text_content(&content))
}

fn unknown_handle(id: Option<Json>, question: &MemoryQuestion) -> Json {
    let handle = match question {
        MemoryQuestion::Read { handle, .. } | MemoryQuestion::Search { handle, .. } => handle,
        MemoryQuestion::List => "",
    };
    let message = object(vec![(
        "error",
        string(&format!("Unknown overflow handle: {handle}")),
    )]);
    let Json::Object(mut entries) = text_content(&message) else {
        return Json::Null;
    };
    entries.push(("isError".to_string(), Json::Bool(true)));
    result(id, Json::Object(entries))
}

fn call(id: Option<Json>, params: &Json, names: ToolNames) -> McpStep {
    let args = params.get("arguments").unwrap_or(&Json::Null);
    let name = params.get("name").and_then(Json::as_str).unwrap_or("");
    let question = match (name, names) {
        ("context-memory.list", ToolNames::Peer) | ("overflow_list", ToolNames::Ours) => {
            Ok(MemoryQuestion::List)
        }
        ("context-memory.read", ToolNames::Peer) | ("overflow_read", ToolNames::Ours) => {
            read_question(args, names)
        }
        ("overflow_search", ToolNames::Ours) => search_question(args),
        _ => {
            let what = format!("Unknown tool: {}", shown(params.get("name")));
            return McpStep::Answer(error(id, UNKNOWN_METHOD, &what));
        }
    };
    match question {
        Ok(question) => McpStep::Ask { id, question },
        Err(what) => McpStep::Answer(error(id, INVALID_PARAMS, what)),
    }
}

/// What stands where a name should.
fn shown(name: Option<&Json>) -> String {
    name.map_or_else(|| "undefined".to_string(), string_of)
}

fn read_question(args: &Json, names: ToolNames) -> Result<MemoryQuestion, &'static str> {
    let handle = handle_of(args)?;
    let offset = amount(args.get("offset"), 0).ok_or("Invalid 'offset' argument.")?;
    let limit = amount(args.get("limit"), PAGE_UNITS).ok_or("Invalid 'limit' argument.")?;
    // A page of nothing never ends; the peer gives one when asked.
    let least = if names == ToolNames::Ours { 1 } else { 0 };
    Ok(MemoryQuestion::Read {
        handle,
        offset,
        limit: limit.clamp(least, PAGE_UNITS_MAX),
    })
}

fn search_question(args: &Json) -> Result<MemoryQuestion, &'static str> {
    let handle = handle_of(args)?;
    let query = args
        .get("query")
        .and_then(Json::as_str)
        .filter(|query| !query.is_empty());
    let query = query.ok_or("Missing or invalid 'query' argument.")?.to_string();
    let places_max = amount(args.get("limit"), PLACES_MAX).ok_or("Invalid 'limit' argument.")?;
    Ok(MemoryQuestion::Search {
        handle,
        query,
        places_max: places_max.clamp(1, PLACES_MAX),
    })
}

fn handle_of(args: &Json) -> Result<String, &'static str> {
    let handle = args
        .get("id")
        .and_then(Json::as_str)
        .ok_or("Missing or invalid 'id' argument.")?;
    if is_overflow_handle(handle) {
        Ok(handle.to_string())
    } else {
        Err("Invalid overflow handle.")
    }
}

/// A whole number not below 0, from a number or a text that is one; the default for nothing.
fn amount(value: Option<&Json>, default: usize) -> Option<usize> {
    let number = match value {
        None | Some(Json::Null) => return Some(default),
        Some(Json::Number(number)) => *number,
        Some(Json::String(text)) => number_of(text),
        Some(Json::Bool(flag)) => f64::from(u8::from(*flag)),
        Some(Json::Array(_) | Json::Object(_)) => return None,
    };
    (!number.is_nan()).then(|| number.floor().clamp(0.0, u32::MAX.into()) as usize)
}

fn initialized(names: ToolNames) -> Json {
    let server = match names {
        ToolNames::Ours => "impresario-overflow",
        ToolNames::Peer => "context-memory",
    };
    object(vec![
        ("protocolVersion", string(PROTOCOL_VERSION)),
        ("capabilities", object(vec![("tools", object(vec![]))])),
        (
            "serverInfo",
            object(vec![("name", string(server)), ("version", string("1.0.0"))]),
        ),
    ])
}

fn tools(names: ToolNames) -> Vec<Json> {
    let number = || object(vec![("type", string("number"))]);
    let text = || object(vec![("type", string("string"))]);
    let page = vec![("id", text()), ("offset", number()), ("limit", number())];
    match names {
        ToolNames::Peer => vec![
            tool(
                "context-memory.read",
                "Reads a part of a result that was too large to show.",
                page,
                &["id"],
            ),
            tool(
                "context-memory.list",
                "Lists the results that were too large to show.",
                vec![],
                &[],
            ),
        ],
        ToolNames::Ours => vec![
            tool(
                "overflow_read",
                "Reads a part of a result that was too large to show. Go on with nextOffset until eof is true.",
                page,
                &["id"],
            ),
            tool(
                "overflow_list",
                "Lists the results that were too large to show.",
                vec![],
                &[],
            ),
            tool(
                "overflow_search",
                "Finds a text in a result that was too large to show; each place has the offset to read from.",
                vec![("id", text()), ("query", text()), ("limit", number())],
                &["id", "query"],
            ),
        ],
    }
}

fn tool(name: &str, description: &str, properties: Vec<(&str, Json)>, required: &[&str]) -> Json {
    let mut schema = vec![("type", string("object")), ("properties", object(properties))];
    if !required.is_empty() {
        schema.push((
            "required",
            Json::Array(required.iter().map(|key| string(key)).collect()),
        ));
    }
    object(vec![
        ("name", string(name)),
        ("description", string(description)),
        ("inputSchema", object(schema)),
    ])
}

fn entry_json(entry: &OverflowEntry) -> Json {
    object(vec![
        ("id", string(&entry.id)),
        ("byteLength", Json::Number(entry.byte_length as f64)),
        ("timestamp", Json::Number(entry.timestamp as f64)),
        ("serverName", string(&entry.server_name)),
        ("toolName", string(&entry.tool_name)),
    ])
}

fn page_json(page: &OverflowPage<'_>, names: ToolNames) -> Json {
    let mut entries = vec![
        ("content", string(page.content)),
        ("eof", Json::Bool(page.eof)),
        ("totalChars", Json::Number(page.total_units as f64)),
    ];
    if names == ToolNames::Ours {
        entries.push(("nextOffset", Json::Number(page.next_offset as f64)));
    }
    object(entries)
}

fn places_json(places: &[OverflowPlace], count: usize) -> Json {
    let place = |place: &OverflowPlace| {
        object(vec![
            ("offset", Json::Number(place.offset as f64)),
            ("line", Json::Number(place.line as f64)),
            ("text", string(&place.excerpt)),
        ])
    };
    object(vec![
        ("places", Json::Array(places.iter().map(place).collect())),
        ("total", Json::Number(count as f64)),
    ])
}

fn text_content(value: &Json) -> Json {
    let item = object(vec![("type", string("text")), ("text", string(&value.to_text()))]);
    object(vec![("content", Json::Array(vec![item]))])
}

fn result(id: Option<Json>, result: Json) -> Json {
    reply(id, "result", result)
}

fn error(id: Option<Json>, code: f64, message: &str) -> Json {
    reply(
        id,
        "error",
        object(vec![("code", Json::Number(code)), ("message", string(message))]),
    )
}

fn reply(id: Option<Json>, key: &str, value: Json) -> Json {
    let mut entries = vec![("jsonrpc".to_string(), string("2.0"))];
    entries.extend(id.map(|id| ("id".to_string(), id)));
    entries.push((key.to_string(), value));
    Json::Object(entries)
}

fn object(entries: Vec<(&str, Json)>) -> Json {
    Json::Object(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect(),
    )
}

fn string(text: &str) -> Json {
    Json::String(text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_ours_is_never_empty_by_request() {
        let line = r#"{"id":1,"method":"tools/call","params":{"name":"overflow_read","arguments":{"id":"overflow_1","limit":0}}}"#;
        let McpStep::Ask { question, .. } = read_mcp_line(line, ToolNames::Ours) else {
            panic!("no question")
        };
        assert_eq!(
            question,
            MemoryQuestion::Read {
                handle: "overflow_1".into(),
                offset: 0,
                limit: 1
            }
        );
    }

    #[test]
    fn an_offset_that_is_no_number_is_refused() {
        let line = r#"{"id":1,"method":"tools/call","params":{"name":"overflow_read","arguments":{"id":"overflow_1","offset":"x"}}}"#;
        let McpStep::Answer(answer) = read_mcp_line(line, ToolNames::Ours) else {
            panic!("no answer")
        };
        assert_eq!(
            answer.get("error").and_then(|error| error.get("code")),
            Some(&Json::Number(INVALID_PARAMS))
        );
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_answered_or_not(line in r#"(\{|\}|"id":|"method":|"tools/call"|"params":|"name":|,|1|"x"){0,20}"#) {
            let _ = (read_mcp_line(&line, ToolNames::Ours), read_mcp_line(&line, ToolNames::Peer));
        }
    }
}
