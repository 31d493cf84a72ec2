//! How long redaction takes: of plain logs, of texts full of secrets, and of texts that are made to take long.
//!
//! Each text at 1 MB and at 2 MB: the second takes twice as long as the first, whatever is in it.

use impresario_policies::redact::redact;
use std::hint::black_box;
use std::time::{Duration, Instant};

const BYTES: usize = 1 << 20;
const ROUNDS: usize = 5;

/// What is repeated, by name.
const UNITS: [(&str, &str); 18] = [
    ("a log", "2026-11-23 INFO request id=5 took 12ms status=200\n"),
    (
        "prose about tokens",
        "The token is used by the session key of the user. ",
    ),
    ("names", "token "),
    ("names with values", "token=x password: \"hunter2\"\n"),
    ("names without values", "token=token="),
    ("beginnings of keys", "sk-"),
    ("words with hyphens", "sk-a-"),
    ("beginnings of signed tokens", "eyJ-"),
    ("headers", "authorization:****"),
    ("cookies", "cookie: a=***"),
    ("addresses", "a://b:"),
    ("beginnings of blocks", "-----BEGIN RSA PRIVATE KEY-----"),
    ("ends of blocks", "-----END RSA PRIVATE KEY-----"),
    ("open quotes", "token=\"<'\\\"<"),
    ("calls", "curl -u "),
    (
        "short hexadecimal runs",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-",
    ),
    ("one hexadecimal run", "a"),
    ("fields", "{\"name\":\"token\",\"value\":"),
];

fn main() {
    println!(
        "{:<30} {:>10} {:>10} {:>7}",
        "redaction of", "1 MB", "2 MB", "ratio"
    );
    for (name, unit) in UNITS {
        let (one, two) = (taken(unit, BYTES), taken(unit, 2 * BYTES));
        let ratio = two.as_secs_f64() / one.as_secs_f64();
        println!("{name:<30} {:>8.1} ms {:>8.1} ms {ratio:>6.2}", ms(one), ms(two));
    }
}

/// The median of some rounds.
fn taken(unit: &str, bytes: usize) -> Duration {
    let text = unit.repeat(bytes / unit.len());
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(redact(black_box(&text)));
            start.elapsed()
        })
        .collect();
    rounds.sort();
    rounds[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
