//! Programs that take a secret behind a letter: `mysql -px`, `curl -u user:x`.

use super::text::{after_space, ahead, until};
use super::values::{is_filled_in, is_made, is_masked};
use crate::compat::is_space;
use std::ops::Range;

pub(super) struct Program {
    pub name: &'static str,
    /// What stands before the secret.
    flags: &'static [Flag],
}

struct Flag {
    letters: &'static str,
    takes: Takes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `-px`
    Joined,
    /// `-p x`, `-px`
    Either,
    /// `-u user:x`
    AfterColon,
    /// `-U user%x`
    AfterPercent,
    /// `login x`, where `x` can only be made by chance.
    Made,
}

const MYSQL: &[Flag] = &[Flag {
    letters: " -p",
    takes: Takes::Joined,
}];
const SSHPASS: &[Flag] = &[Flag {
    letters: " -p",
    takes: Takes::Either,
}];
const LOGIN: &[Flag] = &[Flag {
    letters: " -p",
    takes: Takes::Either,
}];
const REDIS: &[Flag] = &[Flag {
    letters: " -a",
    takes: Takes::Either,
}];
const LDAP: &[Flag] = &[Flag {
    letters: " -w",
    takes: Takes::Either,
}];
const ZIP: &[Flag] = &[Flag {
    letters: " -P",
    takes: Takes::Either,
}];
const SMB: &[Flag] = &[Flag {
    letters: " -U",
    takes: Takes::AfterPercent,
}];
const CURL: &[Flag] = &[
    Flag {
        letters: " -u",
        takes: Takes::AfterColon,
    },
    Flag {
        letters: " --user",
        takes: Takes::AfterColon,
    },
    Flag {
        letters: " --proxy-user",
        takes: Takes::AfterColon,
    },
    Flag {
        letters: " -U",
        takes: Takes::AfterColon,
    },
];
const HTTPIE: &[Flag] = &[
    Flag {
        letters: " -a",
        takes: Takes::AfterColon,
    },
    Flag {
        letters: " --auth",
        takes: Takes::AfterColon,
    },
];

/// What it is called with, wherever it stands.
const KEY: &[Flag] = &[Flag {
    letters: " ",
    takes: Takes::Made,
}];

/// The first thing that it is called with.
const WORD: &[Flag] = &[Flag {
    letters: " ",
    takes: Takes::Either,
}];

const fn program(name: &'static str, flags: &'static [Flag]) -> Program {
    Program { name, flags }
}

pub(super) static PROGRAMS: &[Program] = &[
    program("mysql ", MYSQL),
    program("mysqldump ", MYSQL),
    program("mysqladmin ", MYSQL),
    program("mysqlimport ", MYSQL),
    program("mariadb ", MYSQL),
    program("mariadb-dump ", MYSQL),
    program("sshpass ", SSHPASS),
    program("convertto-securestring", WORD),
    program("wandb login", KEY),
    program("cargo login", KEY),
    program("ngrok authtoken", KEY),
    program("ngrok config add-authtoken", KEY),
    program("docker login", LOGIN),
    program("podman login", LOGIN),
    program("buildah login", LOGIN),
    program("helm registry login", LOGIN),
    program("oc login", LOGIN),
    program("az login", LOGIN),
    program("mongosh ", LOGIN),
    program("mongo ", LOGIN),
    program("mongodump ", LOGIN),
    program("redis-cli ", REDIS),
    program("ldapsearch ", LDAP),
    program("ldapmodify ", LDAP),
    program("smbclient ", SMB),
    program("curl ", CURL),
    program("zip ", ZIP),
    program("unzip ", ZIP),
    program("7z ", MYSQL),
    program("http ", HTTPIE),
    program("https ", HTTPIE),
];

/// How much of what a program was called with is read.
const CALL_BYTES_MAX: usize = 512;

/// The secret in the call of a program. `seen` is the end of the last stretch that was read.
pub(super) fn found(
    text: &str,
    at: Range<usize>,
    program: &Program,
    seen: &mut usize,
) -> Option<Range<usize>> {
    let from = at
        .end
        .saturating_sub(usize::from(program.name.ends_with(' ')))
        .max(*seen);
    let own = !text[..at.start].ends_with(|before: char| before.is_alphanumeric());
    if !own || from > at.end {
        return None;
    }
    let call = ahead(text, from, CALL_BYTES_MAX);
    let end = until(call, 0, usize::MAX, |letter| matches!(letter, '\n' | ';'));
    let continued = call.get(..end)?.ends_with('\\');
    let end = if continued { call.len() } else { end };
    let call = call.get(..end)?;
    *seen = from + end;
    program
        .flags
        .iter()
        .find_map(|flag| taken(call, flag))
        .map(|secret| from + secret.start..from + secret.end)
}

fn taken(call: &str, flag: &Flag) -> Option<Range<usize>> {
    for (place, _) in call.match_indices(flag.letters) {
        let joined = place + flag.letters.len();
        let mut at = after_space(call, joined, 16)?;
        if at == joined && call[at..].starts_with('=') {
            at += 1;
        }
        if (flag.takes == Takes::Joined && at != joined) || (flag.letters.starts_with(" --") && at == joined)
        {
            continue;
        }
        let quote = call[at..]
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''));
        let from = at + usize::from(quote.is_some());
        let end = until(call, from, CALL_BYTES_MAX, |letter| match quote {
            Some(quote) => letter == quote,
            None => is_space(letter) || letter == '"' || letter == '\'',
        });
        let value = call.get(from..end)?;
        let start = match flag.takes {
            Takes::AfterColon => value.find(':').map(|colon| from + colon + 1),
            Takes::AfterPercent => value.find('%').map(|percent| from + percent + 1),
            Takes::Joined | Takes::Either | Takes::Made => Some(from),
        };
        let Some(start) = start else { continue };
        let secret = call.get(start..end)?;
        let other = secret.is_empty() || secret.starts_with('-') || is_masked(secret) || is_filled_in(secret);
        let port = secret.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') && secret.contains(':');
        let spoken = flag.takes == Takes::Made && !is_made(secret);
        if !other && !port && !spoken {
            return Some(start..end);
        }
    }
    None
}
