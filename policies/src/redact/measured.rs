//! How many secrets are missed, and how much that is none is hidden: measured on lines with labels.
//!
//! A line is `secret`, a tab and the text with `«` and `»` around what must be gone; or `clean`, a tab and the
//! text. `‹a36›` stands for 36 letters of chance (so no line looks like a key to those who search for them):
//! `a` letters and digits, `l` small ones, `U` capital ones and digits, `h` and `H` hexadecimal digits, `d` digits,
//! `b` base64, `u` the same for addresses. `⏎` is the end of a line.

use super::redact;

/// What the rules were made with.
const LISTED: &str = include_str!("listed.tsv");
/// What was written before the rules and looked at after them.
const HELD: &str = include_str!("held.tsv");
const SHARE_MIN: f64 = 0.98;
/// A part of a secret that is as long as this and still shown is a miss.
const SHOWN_MIN: usize = 6;

struct Line {
    text: String,
    secrets: Vec<String>,
    /// What may stay.
    others: String,
}

#[derive(Default)]
struct Measured {
    secrets: usize,
    clean: usize,
    missed: Vec<String>,
    hit: Vec<String>,
}

impl Measured {
    fn recall(&self) -> f64 {
        (self.secrets - self.missed.len()) as f64 / self.secrets as f64
    }

    fn precision(&self) -> f64 {
        let found = self.secrets - self.missed.len();
        found as f64 / (found + self.hit.len()) as f64
    }
}

fn measure(list: &str) -> Measured {
    let mut measured = Measured::default();
    for (number, line) in list.lines().enumerate() {
        let (label, template) = line.split_once('\t').expect("a label and a text");
        let line = made(template, number as u64 + 1);
        let redacted = redact(&line.text);
        match label {
            "secret" => {
                assert!(!line.secrets.is_empty(), "what is the secret of {template}?");
                measured.secrets += 1;
                let shown = line
                    .secrets
                    .iter()
                    .find_map(|secret| part_in(secret, &redacted, &line.others));
                if let Some(part) = shown {
                    measured
                        .missed
                        .push(format!("{part} of {:?} in {redacted:?}", line.text));
                }
            }
            "clean" => {
                measured.clean += 1;
                if redacted != line.text {
                    measured.hit.push(format!("{:?} became {redacted:?}", line.text));
                }
            }
            other => panic!("{other} is no label"),
        }
    }
    measured
}

/// A part of a secret that is still there; all of it where it is shorter.
fn part_in(secret: &str, shown: &str, others: &str) -> Option<String> {
    let letters: Vec<char> = secret.chars().collect();
    let length = SHOWN_MIN.min(letters.len());
    let mut parts = letters
        .windows(length)
        .map(|part| part.iter().collect::<String>());
    parts.find(|part| shown.matches(part).count() > others.matches(part).count())
}

fn made(template: &str, seed: u64) -> Line {
    let mut chance = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = |most: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        (chance >> 11) as usize % most
    };
    let (mut text, mut secrets, mut from, mut after) = (String::new(), Vec::new(), 0, 0);
    let mut others = String::new();
    let mut letters = template.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '«' => {
                from = text.len();
                others.push_str(&text[after..]);
                others.push('\n');
            }
            '»' => {
                secrets.push(text[from..].to_string());
                after = text.len();
            }
            '⏎' => text.push('\n'),
            '‹' => {
                let kind = letters.next().expect("a kind of letters");
                let count: String = letters.by_ref().take_while(|letter| *letter != '›').collect();
                let all = alphabet(kind);
                text.extend((0..count.parse().expect("a number")).map(|_| all[next(all.len())] as char));
            }
            letter => text.push(letter),
        }
    }
    others.push_str(&text[after..]);
    Line {
        text,
        secrets,
        others,
    }
}

fn alphabet(kind: char) -> &'static [u8] {
    const ALL: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    match kind {
        'a' => ALL,
        'l' => &ALL[..36],
        'd' => &ALL[..10],
        'h' => &ALL[..16],
        'H' => b"0123456789ABCDEF",
        'U' => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        'b' => b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/",
        'u' => b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_",
        other => panic!("{other} is no kind of letters"),
    }
}

fn check(list: &str, lines_min: usize) {
    let measured = measure(list);
    assert!(measured.secrets + measured.clean >= lines_min);
    let figures = format!(
        "recall {:.4} of {}, precision {:.4}, {} of {} clean lines changed",
        measured.recall(),
        measured.secrets,
        measured.precision(),
        measured.hit.len(),
        measured.clean
    );
    let told = format!(
        "{figures}\nmissed:\n{}\nhit:\n{}",
        measured.missed.join("\n"),
        measured.hit.join("\n")
    );
    eprintln!("{told}");
    assert!(
        measured.recall() >= SHARE_MIN && measured.precision() >= SHARE_MIN,
        "{told}"
    );
}

#[test]
fn secrets_are_found_and_nothing_else_in_the_lines_of_the_list() {
    check(LISTED, 400);
}

#[test]
fn secrets_are_found_and_nothing_else_in_the_lines_that_were_held_back() {
    check(HELD, 120);
}
