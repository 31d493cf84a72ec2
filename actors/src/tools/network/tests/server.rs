//! A server that answers each request as a test says.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What is done with a request.
pub(super) enum Reply {
    /// These bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing until the client leaves.
    Hang(Vec<u8>),
    /// These bytes again and again until the client leaves.
    Endless(Vec<u8>),
}

/// An answer with this head and body.
pub(super) fn answer(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    Reply::Bytes([head.as_bytes(), body].concat())
}

pub(super) fn json(body: &str) -> Reply {
    answer("200 OK", &["Content-Type: application/json"], body)
}

pub(super) fn lead_to(location: &str) -> Reply {
    answer("302 Found", &[&format!("Location: {location}")], "")
}

type Script = dyn Fn(&str, usize) -> Reply + Send + Sync;

pub(super) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    /// Somebody asked.
    pub came: Arc<Notify>,
    /// Whoever waited for more has gone.
    pub left: Arc<Notify>,
}

impl Server {
    /// The script is given the request, head and body, and how many came before.
    pub async fn start(script: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            asked: Arc::default(),
            came: Arc::default(),
            left: Arc::default(),
        };
        let script: Arc<Script> = Arc::new(script);
        let (asked, came, left) = (server.asked.clone(), server.came.clone(), server.left.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, asked, came, left) = (script.clone(), asked.clone(), came.clone(), left.clone());
                tokio::spawn(async move {
                    let Some((stream, request)) = read(stream).await else {
                        return;
                    };
                    let before = {
                        let mut asked = asked.lock().unwrap();
                        asked.push(request.clone());
                        asked.len() - 1
                    };
                    came.notify_one();
                    reply(stream, script(&request, before), &left).await;
                });
            }
        });
        server
    }

    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority())
    }

    /// Every request so far, head and body.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The first line of every request so far.
    pub fn lines(&self) -> Vec<String> {
        let first = |request: &String| {
            request
                .lines()
                .next()
                .unwrap_or_default()
                .replace(" HTTP/1.1", "")
        };
        self.asked().iter().map(first).collect()
    }
}

async fn read(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length
                .split("content-length: ")
                .nth(1)
                .map_or("0", |rest| rest.lines().next().unwrap());
            if body.len() >= length.parse::<usize>().unwrap() {
                return Some((stream, text));
            }
        }
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

async fn reply(mut stream: TcpStream, reply: Reply, left: &Notify) {
    match reply {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
            left.notify_one();
        }
        Reply::Endless(bytes) => {
            while stream.write_all(&bytes).await.is_ok() {}
            left.notify_one();
        }
    }
}

/// So many letters `a`, as gzip with the fixed codes of RFC 1951, 3.2.6: 13 bits for 258 of them.
pub(super) fn gzip_of_a(letters: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut held, mut count) = (0u32, 0);
    let mut bit = |bit: u32| {
        held |= bit << count;
        count += 1;
        if count == 8 {
            bytes.push(held as u8);
            (held, count) = (0, 0);
        }
    };
    let mut code = |code: &str| code.bytes().for_each(|digit| bit(u32::from(digit - b'0')));
    // The last block, with fixed codes; then one letter, and then the same again from one before.
    code("110");
    code("10010001");
    for _ in 0..letters / 258 {
        code("1100010100000");
    }
    code("00000000000000");
    bytes
}
