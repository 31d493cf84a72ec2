//! The smallest client that sees what is on the wire.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// An answer as it came over the wire.
#[derive(Debug)]
pub struct Answer {
    /// The status; zero where no headers came.
    pub status: u16,
    /// The headers as they are.
    pub head: String,
    /// The body, without the marks of chunks.
    pub body: String,
    /// Whether the body came to its end.
    pub complete: bool,
}

impl Answer {
    /// The JSON frames of a streamed body.
    pub fn frames(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|frame| serde_json::from_str(frame).ok())
            .collect()
    }

    /// The body of a whole answer.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A request of OpenAI's kind.
pub fn openai(user: &str, streaming: bool) -> (&'static str, Value) {
    let body = json!({"model": "mock-1", "stream": streaming, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": user}]});
    ("/v1/chat/completions", body)
}

/// A request of Anthropic's kind.
pub fn anthropic(user: &str, streaming: bool) -> (&'static str, Value) {
    let body = json!({"model": "mocka-1", "stream": streaming, "max_tokens": 100,
        "messages": [{"role": "user", "content": user}]});
    ("/v1/messages", body)
}

/// Sends a request and reads until the server closes, or says nothing for `patience`.
pub fn ask(port: u16, (path, body): (&str, Value), patience: Duration) -> Answer {
    let mut stream = send(port, (path, body));
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    read_answer(&bytes)
}

/// Sends a request and reads nothing.
pub fn send(port: u16, (path, body): (&str, Value)) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer hush\r\nx-note: kept\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

fn read_answer(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let Some((head, rest)) = text.split_once("\r\n\r\n") else {
        return Answer {
            status: 0,
            head: text,
            body: String::new(),
            complete: false,
        };
    };
    let head = head.to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, complete) = if head.contains("transfer-encoding: chunked") {
        join_chunks(rest)
    } else {
        (rest.to_owned(), true)
    };
    Answer {
        status,
        head,
        body,
        complete,
    }
}

fn join_chunks(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = behind.get(..size) else { break };
        body.push_str(chunk);
        rest = behind.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}
