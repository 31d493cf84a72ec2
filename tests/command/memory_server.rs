//! `impresario mcp`: results kept aside, for other hosts, over stdio and over HTTP.

use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::{OverflowEntry, Row, RuntimeId, RuntimeIdentity, SqliteStore, Store};
use impresario_policies::domain::{Proof, Reason, ReasonCode, RunId, RunRequest, Step, TerminalState};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_impresario");
const TOKEN: &str = "a word of the test, long enough";

/// A state directory with a runtime that drives a run, and what that run keeps.
struct Scene {
    directory: TempDir,
    store: SqliteStore,
    run: RunId,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let identity = RuntimeIdentity {
            id: RuntimeId::new(UnixMillis(1), 7),
            host: "test".to_string(),
            session: None,
            started_at: UnixMillis(1),
            process: std::process::id(),
        };
        let opened = SqliteStore::open(directory.path(), &identity).expect("a journal");
        let mut scene = Self {
            directory,
            store: opened.store,
            run: RunId::new(1_000, 7),
        };
        let accepted = Step::Accepted {
            request: Box::new(request()),
        };
        scene.commit(1, accepted);
        scene
    }

    fn commit(&mut self, sequence: u64, step: Step) {
        let row = Row {
            run: self.run.clone(),
            sequence,
            generation: 1,
            at: UnixMillis(2),
            step,
        };
        self.store.commit(&[row]).expect("a step");
    }

    fn keep(&mut self, handle: u32, text: &str) {
        let entry = OverflowEntry {
            handle,
            server: String::new(),
            tool: "grep".to_string(),
            at: UnixMillis(3),
            bytes: text.len() as u64,
        };
        let kept = self.store.put_overflow(&self.run, &entry, &Arc::from(text));
        kept.expect("it is kept");
    }

    fn end(&mut self) {
        let reason = Reason {
            code: ReasonCode::Cancelled,
            message: "enough".to_string(),
        };
        let ended = Step::Ended {
            state: TerminalState::Cancelled,
            reason: Some(reason),
            proof: Proof::NOTHING_STARTED,
        };
        self.commit(2, ended);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("mcp")
            .args(arguments)
            .env_clear()
            .env("IMPRESARIO_STATE_DIRECTORY", self.directory.path())
            .env("IMPRESARIO_MCP_TOKEN", TOKEN)
            .stdin(Stdio::null());
        command
    }

    async fn client(&self, arguments: &[&str], mode: ClientLifecycleMode) -> Client {
        let command = tokio::process::Command::from(self.command(arguments));
        let transport = TokioChildProcess::new(command).expect("it starts");
        let us = Implementation::new("test", "1");
        let config = ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        Client(
            config
                .serve_with_lifecycle(transport, mode)
                .await
                .expect("a handshake"),
        )
    }
}

fn request() -> RunRequest {
    let second = json!({ "secs": 1, "nanos": 0 });
    let request = json!({
        "what": { "kind": "agent", "name": "explore" },
        "task": "where is it\nexactly",
        "origin": { "host": "test", "session": null, "resumes": null },
        "instructions": "",
        "tools": [],
        "chain": ["offline"],
        "runner": "embedded",
        "workspace": "/nowhere",
        "briefing": { "mode": "direct" },
        "clocks": {
            "start_up": second, "inactivity": second, "total": second, "tool": second, "question": second,
            "routing": second, "grace": second,
        },
        "persistence": {
            "tries_per_model_max": 1, "unreached_tries_max": 1, "wait_first": second, "wait_max": second, "lost_in_a_row_max": 1, "cut_tool": "park",
        },
        "temperature": null,
        "overflow_ceiling_bytes": 1_000,
        "answer_chars_max": 0,
        "trace_directory": null,
    });
    serde_json::from_value(request).expect("a request")
}

struct Client(RunningService<RoleClient, ClientConfig>);

impl Client {
    async fn call(&self, tool: &'static str, arguments: Value) -> Result<String, String> {
        let arguments = arguments.as_object().cloned().expect("an object");
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.0.call_tool(call).await.expect("a result, whatever it says");
        let text = result.content[0].as_text().expect("a text").text.clone();
        match result.is_error {
            Some(true) => Err(text),
            _ => Ok(text),
        }
    }

    async fn json(&self, tool: &'static str, arguments: Value) -> Value {
        let text = self.call(tool, arguments).await.expect("no error");
        serde_json::from_str(&text).expect("JSON")
    }

    async fn tools(&self) -> Vec<String> {
        let tools = self.0.list_all_tools().await.expect("a list");
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }
}

fn modes() -> [ClientLifecycleMode; 2] {
    let discover = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::LATEST],
    };
    [ClientLifecycleMode::Initialize, discover]
}

/// Pages until the end, as a model would.
async fn read_whole(client: &Client, mut arguments: Value) -> String {
    let mut whole = String::new();
    for _ in 0..1_000 {
        let page = client.json("read", arguments.clone()).await;
        whole.push_str(page["content"].as_str().expect("a text"));
        if page["eof"] == true {
            return whole;
        }
        arguments["offset"] = page["nextOffset"].clone();
    }
    panic!("it does not end");
}

#[tokio::test]
async fn what_a_run_keeps_is_listed_searched_and_read_to_its_end() {
    let mut scene = Scene::new();
    let text = "one line of many 🦀\n".repeat(3_000) + "the needle\n";
    scene.keep(1, &text);
    for mode in modes() {
        let client = scene.client(&["--run", scene.run.as_str()], mode).await;
        assert_eq!(client.tools().await, ["list", "read", "search"]);
        let listed = client.json("list", json!({})).await;
        assert_eq!(listed["entries"][0]["id"], "overflow_1");
        assert_eq!(listed["entries"][0]["byteLength"], text.len());

        assert!(read_whole(&client, json!({ "id": "overflow_1" })).await == text);
        let bounded = client
            .json("read", json!({ "id": "overflow_1", "limit": 9_000_000 }))
            .await;
        assert_eq!(
            bounded["content"]
                .as_str()
                .expect("a text")
                .encode_utf16()
                .count(),
            32_000
        );

        let found = client
            .json("search", json!({ "id": "overflow_1", "query": "needle" }))
            .await;
        assert_eq!(found["found"], 1);
        let at = found["places"][0]["offset"].clone();
        let page = client
            .json("read", json!({ "id": "overflow_1", "offset": at }))
            .await;
        assert!(page["content"].as_str().expect("a text").starts_with("needle"));
        client.0.cancel().await.expect("it ends");
    }
}

#[tokio::test]
async fn what_is_asked_wrongly_is_answered_with_a_sentence() {
    let mut scene = Scene::new();
    scene.keep(1, "kept");
    let client = scene
        .client(&["--run", scene.run.as_str()], ClientLifecycleMode::Initialize)
        .await;
    for (tool, arguments, word) in [
        (
            "read",
            json!({ "id": "overflow_9" }),
            "Unknown overflow handle: overflow_9",
        ),
        (
            "read",
            json!({ "id": "../overflow_1" }),
            "Handles look like overflow_1",
        ),
        (
            "read",
            json!({ "id": "overflow_1", "offset": -1 }),
            "cannot be read",
        ),
        ("read", json!({ "id": 1 }), "cannot be read"),
        ("read", json!({}), "Handles look like"),
        ("search", json!({ "id": "overflow_1", "query": "" }), "'query'"),
        ("keep", json!({ "text": "x" }), "no tool \"keep\""),
        ("drop", json!({}), "no tool \"drop\""),
    ] {
        let why = client.call(tool, arguments).await.expect_err(tool);
        assert!(why.contains(word), "{why}");
    }
    let beyond = client
        .json("read", json!({ "id": "overflow_1", "offset": 4_000_000_000_u64 }))
        .await;
    assert_eq!(
        (beyond["eof"].clone(), beyond["content"].clone()),
        (json!(true), json!(""))
    );
}

#[tokio::test]
async fn a_host_keeps_what_is_its_own_and_sees_which_runs_keep_something() {
    let mut scene = Scene::new();
    scene.keep(1, "of the run");
    let client = scene.client(&[], ClientLifecycleMode::Initialize).await;
    assert_eq!(client.tools().await, ["list", "read", "search", "keep"]);
    let text = "a build says much\n".repeat(10_000);
    let shown = client
        .call("keep", json!({ "text": text, "tool": "make" }))
        .await
        .expect("it is kept");
    assert!(shown.contains("overflow_1") && shown.len() < 4_000, "{shown}");

    let listed = client.json("list", json!({})).await;
    assert_eq!(listed["entries"][0]["toolName"], "make");
    assert_eq!(listed["runs"][0]["run"], scene.run.as_str());
    assert_eq!(listed["runs"][0]["task"], "where is it");

    assert_eq!(read_whole(&client, json!({ "id": "overflow_1" })).await, text);
    let of_run = json!({ "id": "overflow_1", "run": &scene.run.as_str()[..9] });
    assert_eq!(read_whole(&client, of_run).await, "of the run");
    let unknown = client.call("list", json!({ "run": "zzzz" })).await;
    assert_eq!(unknown, Err("No run begins with \"zzzz\".".to_string()));
}

#[tokio::test]
async fn what_a_run_kept_is_gone_with_its_end_and_that_is_said() {
    let mut scene = Scene::new();
    scene.keep(1, "kept");
    let client = scene
        .client(&["--run", scene.run.as_str()], ClientLifecycleMode::Initialize)
        .await;
    client.json("read", json!({ "id": "overflow_1" })).await;
    scene.end();
    let gone = format!("Run {} has ended; what was kept for it is gone.", scene.run);
    assert_eq!(client.call("list", json!({})).await, Err(gone.clone()));
    assert_eq!(
        client.call("read", json!({ "id": "overflow_1" })).await,
        Err(gone.clone())
    );

    let refused = scene
        .command(&["--run", scene.run.as_str()])
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&gone));
}

#[test]
fn a_host_of_2024_is_served_line_by_line_and_the_end_of_its_input_is_the_end() {
    let scene = Scene::new();
    let mut command = scene.command(&[]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("its stdin");
    let mut stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut ask = |line: &str| {
        writeln!(stdin, "{line}").expect("it reads");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("it answers");
        serde_json::from_str::<Value>(&answer).expect("JSON")
    };
    let hello = ask(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"peer","version":"1.4.1"}}}"#,
    );
    assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(hello["result"]["serverInfo"]["name"], "context-memory");
    // A notification has no answer: what comes next is the answer to the ping.
    let pong = ask(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}",
    );
    assert_eq!(
        (pong["id"].clone(), pong["result"].clone()),
        (json!("p"), json!({}))
    );
    let unknown = ask(r#"{"jsonrpc":"2.0","id":1,"method":"resources/nonsense"}"#);
    assert_eq!(unknown["error"]["code"], -32601);
    let called =
        ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}"#);
    assert_eq!(
        called["result"]["content"][0]["text"],
        r#"{"entries":[],"runs":[]}"#
    );
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// The server over HTTP; killed when dropped.
struct Http {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Http {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.expect(&line).to_string();
        Self {
            child,
            stdout,
            address,
        }
    }

    /// Status and body of a POST with these header lines.
    fn post(&self, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let head = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.expect("a status"), body.to_string())
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[test]
fn over_http_only_who_knows_the_word_and_calls_this_machine_is_answered() {
    let mut scene = Scene::new();
    scene.keep(1, "of the run");
    let server = Http::start(scene.command(&["--http", "127.0.0.1:0"]));
    let host = format!("Host: {}\r\n", server.address);
    let word = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(server.post(&host, HELLO).0, 401);
    assert_eq!(
        server
            .post(&format!("{host}Authorization: Bearer guess\r\n"), HELLO)
            .0,
        401
    );
    assert_eq!(
        server.post(&format!("Host: evil.example\r\n{word}"), HELLO).0,
        403
    );
    assert_eq!(
        server
            .post(&format!("{host}{word}Origin: https://evil.example\r\n"), HELLO)
            .0,
        403
    );

    let known = format!("{host}{word}");
    let (status, hello) = server.post(&known, HELLO);
    assert!(
        status == 200 && hello.contains("context-memory"),
        "{status} {hello}"
    );
    let known = format!("{known}MCP-Protocol-Version: 2025-06-18\r\n");
    let call = |arguments: Value| {
        let params = json!({ "name": "read", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        server.post(&known, &call.to_string())
    };
    let (status, page) = call(json!({ "id": "overflow_1", "run": scene.run.as_str() }));
    assert!(status == 200 && page.contains("of the run"), "{status} {page}");
}

#[test]
fn a_word_is_made_where_none_is_given_and_other_machines_are_refused() {
    let scene = Scene::new();
    let mut command = scene.command(&["--http", "127.0.0.1:0"]);
    command.env_remove("IMPRESARIO_MCP_TOKEN");
    let mut server = Http::start(command);
    let mut line = String::new();
    server.stdout.read_line(&mut line).expect("a line");
    let made = line
        .trim()
        .strip_prefix("Authorization: Bearer ")
        .expect("a word");
    assert_eq!(made.len(), 48);
    let headers = format!("Host: {}\r\n{}\r\n", server.address, line.trim());
    assert_eq!(server.post(&headers, HELLO).0, 200);

    let open = scene.command(&["--http", "0.0.0.0:0"]).output().expect("it runs");
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("use 127.0.0.1"));
    let taken = scene
        .command(&["--http", &server.address])
        .output()
        .expect("it runs");
    assert_eq!(taken.status.code(), Some(1));
    let mut short = scene.command(&["--http", "127.0.0.1:0"]);
    let short = short
        .env("IMPRESARIO_MCP_TOKEN", "short")
        .output()
        .expect("it runs");
    assert_eq!(short.status.code(), Some(2));
}

#[test]
fn ctrl_c_ends_it_quietly() {
    let scene = Scene::new();
    let interrupted = |mut child: Child| {
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("its stderr");
        stderr.read_to_string(&mut said).expect("text");
        assert_eq!(
            (child.wait().expect("it ends").code(), said),
            (Some(0), String::new())
        );
    };
    let start = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let mut over_http = start(&["--http", "127.0.0.1:0"]);
    let mut line = String::new();
    BufReader::new(over_http.stdout.as_mut().expect("its stdout"))
        .read_line(&mut line)
        .expect("a line");
    interrupted(over_http);

    let mut over_stdio = start(&[]);
    writeln!(over_stdio.stdin.as_mut().expect("its stdin"), "{HELLO}").expect("it reads");
    let mut line = String::new();
    BufReader::new(over_stdio.stdout.as_mut().expect("its stdout"))
        .read_line(&mut line)
        .expect("a line");
    interrupted(over_stdio);
}

#[test]
fn connections_that_say_nothing_are_closed_and_shut_nobody_out() {
    let scene = Scene::new();
    let server = Http::start(scene.command(&["--http", "127.0.0.1:0"]));
    let half_open = (0..300).map(|_| {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        // One that was closed already to make room for others cannot be written to.
        let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ");
        stream
    });
    let half_open = half_open.collect::<Vec<_>>();
    let known = format!("Host: {}\r\nAuthorization: Bearer {TOKEN}\r\n", server.address);
    assert_eq!(server.post(&known, HELLO).0, 200);
    for mut stream in half_open {
        let mut rest = Vec::new();
        // The library beneath closes such a connection by itself, after half a minute.
        let within = std::time::Duration::from_secs(20);
        stream.set_read_timeout(Some(within)).expect("a limit");
        // Closed with or without a word.
        let read = stream.read_to_end(&mut rest);
        let timed_out = |error: &std::io::Error| {
            matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            )
        };
        assert!(!read.is_err_and(|error| timed_out(&error)), "it is still open");
    }
    assert_eq!(server.post(&known, HELLO).0, 200);
}
