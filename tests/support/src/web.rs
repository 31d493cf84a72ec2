//! Stands in for the services that tools ask: Exa, Context7 and a search over public code.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A question with this in it is never answered.
pub const SLOW: &str = "something slow";

/// Answers on 127.0.0.1 until the test's program ends.
#[derive(Debug)]
pub struct Web {
    port: u16,
    counts: Arc<Mutex<Counts>>,
}

/// Of those who asked something slow.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    came: usize,
    left: usize,
}

impl Web {
    /// # Panics
    /// There is no port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on 127.0.0.1");
        let port = listener.local_addr().expect("its address").port();
        let counts = Arc::<Mutex<Counts>>::default();
        let of_server = counts.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = of_server.clone();
                thread::spawn(move || serve(stream, &counts));
            }
        });
        Self { port, counts }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many wait for an answer that does not come.
    ///
    /// # Panics
    /// A thread of the server broke.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let counts = self.counts.lock().expect("the counts");
        counts.came - counts.left
    }

    /// How many left without it.
    ///
    /// # Panics
    /// A thread of the server broke.
    #[must_use]
    pub fn left(&self) -> usize {
        self.counts.lock().expect("the counts").left
    }
}

fn serve(mut stream: TcpStream, counts: &Mutex<Counts>) {
    // Whoever says nothing for so long is gone.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let Some((path, body)) = read(&stream) else { return };
    if body.contains(SLOW) {
        counts.lock().expect("the counts").came += 1;
        while stream.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        counts.lock().expect("the counts").left += 1;
        return;
    }
    let answer = answer(&path, &body);
    let length = answer.len();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: S1\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}"
    );
}

fn answer(path: &str, body: &str) -> String {
    let id = body
        .split("\"id\":")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    match path {
        "/search" => {
            r#"{"results":[{"title":"Otters","url":"https://otters.org/","text":"They hold hands."}]}"#.into()
        }
        "/contents" => {
            r#"{"results":[{"title":"Otters","url":"https://otters.org/","text":"They hold hands asleep."}]}"#
                .into()
        }
        path if path.starts_with("/api/v1/search") => {
            r#"{"results":[{"id":"/otters/holt","name":"holt","description":"Where otters live."}]}"#.into()
        }
        path if path.starts_with("/api/v1/") => "A holt has two doors.".into(),
        _ if body.contains("tools/call") => format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"otters/holt.rs"}}]}}}}"#,
            id.unwrap_or("1")
        ),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id.unwrap_or("1")),
    }
}

/// The path and the body of a request.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_string();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8_lossy(&body).into_owned()))
}
