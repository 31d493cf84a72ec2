//! Keys that begin with who gave them, and other shapes that nothing else has.
//!
//! The beginnings are those that the services publish, and those that gitleaks and the secret scanning of GitHub
//! list. What follows is taken as long as its letters go, so that no end of a key stays.

use super::text::{is_word, run, run_back};
use super::values::{is_masked, is_random, is_wordy};
use std::ops::Range;

/// Which letters stand behind the beginning of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    /// `A-Za-z0-9`
    Plain,
    /// and `_` and `-`
    Dashed,
    /// and `.`
    Dotted,
    /// and `+`, `/`, `=`, `~`, `%`
    Any,
    Hex,
    /// Nothing in lower case.
    Upper,
}

pub(super) struct Shape {
    pub start: &'static str,
    pub letters: Letters,
    /// How many letters there are at least.
    pub least: usize,
    pub ask: Ask,
}

/// What else has to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Words of a language are none.
    NoWords,
    /// It has the look of chance: beginnings that mean other things too.
    Random,
    /// Two more parts, each after a dot: a signed token.
    Signed,
    /// One more part after a dot.
    TwoParts,
    /// Digits before it.
    AfterDigits,
    /// What stands before it, and belongs to it.
    Inside,
}

const fn shape(start: &'static str, letters: Letters, least: usize) -> Shape {
    Shape {
        start,
        letters,
        least,
        ask: Ask::NoWords,
    }
}

const fn random(start: &'static str, letters: Letters, least: usize) -> Shape {
    Shape {
        start,
        letters,
        least,
        ask: Ask::Random,
    }
}

const fn asks(start: &'static str, letters: Letters, least: usize, ask: Ask) -> Shape {
    Shape {
        start,
        letters,
        least,
        ask,
    }
}

use Letters::{Any, Dashed, Dotted, Hex, Plain, Upper};

pub(super) static SHAPES: &[Shape] = &[
    // Models.
    shape("sk-", Dotted, 20),
    shape("sk-ant-", Dotted, 16),
    shape("sess-", Plain, 32),
    shape("AIza", Dashed, 33),
    shape("AQ.Ab", Dashed, 30),
    shape("ya29.", Dotted, 16),
    shape("1//0", Dashed, 30),
    shape("GOCSPX-", Dashed, 16),
    shape("gsk_", Plain, 16),
    shape("xai-", Plain, 16),
    shape("pplx-", Plain, 16),
    shape("hf_", Plain, 30),
    shape("api_org_", Plain, 30),
    shape("r8_", Plain, 16),
    shape("tvly-", Dashed, 16),
    shape("ctx7sk-", Dashed, 16),
    shape("ctx7sk_", Dashed, 16),
    shape("fc-", Hex, 30),
    shape("fw_", Plain, 20),
    shape("nvapi-", Dashed, 30),
    shape("jina_", Plain, 30),
    shape("pcsk_", Dashed, 30),
    shape("lsv2_", Dashed, 30),
    shape("csk-", Plain, 30),
    shape("tgp_v1_", Dashed, 30),
    random("ABSK", Any, 60),
    shape("bedrock-api-key-", Any, 30),
    shape("e2b_", Hex, 30),
    shape("rpa_", Upper, 30),
    shape("pa-", Dashed, 40),
    shape("sk_car_", Plain, 16),
    // Clouds.
    shape("AKIA", Upper, 16),
    shape("ASIA", Upper, 16),
    shape("amzn1.oa2-cs.v1.", Hex, 32),
    shape("vercel_blob_rw_", Plain, 30),
    shape("napi_", Plain, 40),
    shape("NRII-", Dashed, 20),
    shape("hcaik_", Plain, 30),
    shape("hcalk_", Plain, 30),
    shape("hcamk_", Plain, 30),
    shape("hcbik_", Plain, 30),
    shape("hcxik_", Plain, 30),
    shape("hcxlk_", Plain, 30),
    shape("EZAK", Plain, 40),
    shape("EZTK", Plain, 40),
    shape("shippo_live_", Hex, 30),
    shape("shippo_test_", Hex, 30),
    shape("duffel_live_", Dashed, 30),
    shape("duffel_test_", Dashed, 30),
    shape("FLWSECK", Dashed, 16),
    shape("CCIPAT_", Plain, 30),
    shape("bkua_", Hex, 30),
    shape("apify_api_", Plain, 20),
    shape("fio-u-", Dashed, 40),
    shape("SWMTKN-1-", Dashed, 30),
    // Base64 of `{"auths":` and what follows.
    shape("eyJhdXRocyI6", Any, 16),
    shape("s-s4t2", Any, 30),
    shape("ABIA", Upper, 16),
    shape("ACCA", Upper, 16),
    asks("Q~", Any, 30, Ask::Inside),
    asks("JQQJ99", Plain, 20, Ask::Inside),
    shape("dapi", Hex, 32),
    shape("dop_v1_", Hex, 32),
    shape("doo_v1_", Hex, 32),
    shape("dor_v1_", Hex, 32),
    shape("dp.pt.", Plain, 20),
    shape("dp.st.", Dotted, 20),
    shape("dp.sa.", Plain, 20),
    shape("dp.ct.", Plain, 20),
    shape("dp.scim.", Plain, 20),
    shape("dp.audit.", Plain, 20),
    shape("sbp_", Plain, 16),
    shape("sb_secret_", Dashed, 16),
    shape("vcp_", Plain, 20),
    shape("vci_", Plain, 20),
    shape("vca_", Plain, 20),
    shape("vck_", Plain, 20),
    shape("nfp_", Plain, 20),
    shape("nfc_", Plain, 20),
    shape("nfo_", Plain, 20),
    shape("nfu_", Plain, 20),
    shape("cfut_", Dashed, 30),
    shape("cfat_", Dashed, 30),
    shape("cfk_", Dashed, 30),
    shape("v1.0-", Dashed, 60),
    shape("pscale_", Dotted, 24),
    shape("HRKU-", Dashed, 30),
    shape("rnd_", Plain, 24),
    shape("fm1_", Any, 40),
    shape("fm2_", Any, 40),
    shape("fo1_", Dashed, 30),
    random("LTAI", Plain, 16),
    random("AKID", Plain, 30),
    shape("tskey-", Dashed, 16),
    shape("hvs.", Dashed, 16),
    shape("hvb.", Dashed, 16),
    shape("hvr.", Dashed, 16),
    asks(".atlasv1.", Dashed, 30, Ask::Inside),
    shape("pul-", Hex, 32),
    shape("ops_eyJ", Any, 60),
    shape("AGE-SECRET-KEY-", Dashed, 40),
    shape("ATATT3", Any, 30),
    shape("ATCTT3", Any, 30),
    random("ATBB", Plain, 28),
    shape("sha256~", Dashed, 30),
    // Code and packages.
    shape("ghp_", Plain, 16),
    shape("gho_", Plain, 16),
    shape("ghu_", Plain, 16),
    shape("ghs_", Any, 16),
    shape("ghr_", Plain, 16),
    shape("github_pat_", Dashed, 20),
    shape("glpat-", Dotted, 16),
    shape("gldt-", Dotted, 16),
    shape("glrt-", Dotted, 16),
    shape("glrtr-", Dotted, 16),
    shape("glcbt-", Dotted, 16),
    shape("glptt-", Dotted, 16),
    shape("glft-", Dotted, 16),
    shape("glsoat-", Dotted, 16),
    shape("glimt-", Dotted, 16),
    shape("glagent-", Dotted, 16),
    shape("gloas-", Dotted, 16),
    shape("glffct-", Dotted, 16),
    shape("GR1348941", Dashed, 16),
    shape("npm_", Plain, 30),
    shape("pypi-", Dashed, 16),
    random("cio", Plain, 32),
    shape("rubygems_", Hex, 40),
    shape("oy2", Plain, 43),
    shape("CLOJARS_", Plain, 40),
    shape("dckr_pat_", Dashed, 16),
    shape("dckr_oat_", Dashed, 16),
    shape("PMAK-", Dashed, 40),
    shape("sgp_", Dashed, 40),
    shape("sqp_", Plain, 36),
    shape("squ_", Plain, 36),
    shape("sqa_", Plain, 36),
    random("AKCp", Plain, 60),
    shape("figd_", Dashed, 30),
    shape("CFPAT-", Dashed, 30),
    // Talk, mail, money.
    shape("xoxa-", Dashed, 10),
    shape("xoxb-", Dashed, 10),
    shape("xoxe-", Dashed, 16),
    shape("xoxe.", Dotted, 16),
    shape("xoxo-", Dashed, 10),
    shape("xoxp-", Dashed, 10),
    shape("xoxr-", Dashed, 10),
    shape("xoxs-", Dashed, 10),
    shape("xoxc-", Dashed, 10),
    shape("xoxd-", Any, 10),
    shape("xapp-", Dashed, 16),
    asks(":AA", Dashed, 32, Ask::AfterDigits),
    asks("SG.", Dashed, 16, Ask::TwoParts),
    asks("pat", Plain, 14, Ask::TwoParts),
    shape("key-", Hex, 32),
    shape("xkeysib-", Dashed, 40),
    random("re_", Dashed, 20),
    shape("SK", Hex, 32),
    shape("sk_", Dashed, 16),
    shape("rk_", Dashed, 16),
    shape("pk_", Dashed, 16),
    shape("rk-", Dashed, 16),
    shape("pk-", Dashed, 16),
    shape("whsec_", Any, 16),
    shape("shpat_", Plain, 16),
    shape("shpss_", Plain, 16),
    shape("shpca_", Plain, 16),
    shape("shppa_", Plain, 16),
    shape("shptka_", Plain, 16),
    shape("sq0atp-", Dashed, 20),
    shape("sq0csp-", Dashed, 20),
    random("EAAA", Dashed, 56),
    random("EAAC", Plain, 60),
    shape("amzn.mws.", Dashed, 30),
    // Work and watching.
    shape("lin_api_", Plain, 16),
    shape("lin_oauth_", Plain, 16),
    shape("ntn_", Plain, 16),
    random("secret_", Plain, 32),
    shape("sntrys_", Any, 16),
    shape("sntryu_", Plain, 16),
    shape("glsa_", Dashed, 16),
    shape("glc_", Any, 24),
    shape("eyJrIjoi", Any, 40),
    shape("NRAK-", Plain, 16),
    shape("phx_", Dashed, 30),
    shape("pat-na1-", Dashed, 30),
    shape("dt0c01.", Dotted, 40),
    shape("$argon2", Any, 30),
    asks("eyJ", Dashed, 1, Ask::Signed),
];

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Letters::Plain => byte.is_ascii_alphanumeric(),
            Letters::Dashed => is_word(byte) || byte == b'-',
            Letters::Dotted => is_word(byte) || matches!(byte, b'-' | b'.'),
            Letters::Any => {
                is_word(byte) || matches!(byte, b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%' | b'$' | b',')
            }
            Letters::Hex => byte.is_ascii_hexdigit(),
            Letters::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

/// Where the key is that begins at a place, or that has this in it.
pub(super) fn found(text: &str, at: usize, shape: &Shape) -> Option<Range<usize>> {
    let from = at + shape.start.len();
    if text.get(at..from)? != shape.start {
        return None;
    }
    let looked_at = run(text, from, LOOKED_AT_BYTES_MAX, |byte| shape.letters.has(byte));
    let letters = text.get(from..looked_at)?;
    if decided(text, at, letters, shape) {
        return whole(text, at, from, looked_at, shape);
    }
    None
}

/// The secret half of a pair whose other half is a name, which was found: `AKIA…`, and behind it the 40 letters.
pub(super) fn other_half(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    const LETTERS: usize = 40;
    const BETWEEN_BYTES_MAX: usize = 24;
    let is_name = ["AKIA", "ASIA"]
        .iter()
        .any(|start| text[name.start..].starts_with(start));
    if !is_name || name.len() > 2 * LETTERS {
        return None;
    }
    let end = name.end;
    let of_half = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+');
    let from = run(text, end, BETWEEN_BYTES_MAX, |byte| {
        byte.is_ascii() && !of_half(byte)
    });
    let to = run(text, from, LETTERS + 1, of_half);
    (from > end && to - from == LETTERS && is_random(text.get(from..to)?)).then_some(from..to)
}

/// How much of a key it is decided on.
const LOOKED_AT_BYTES_MAX: usize = 128;

fn decided(text: &str, at: usize, letters: &str, shape: &Shape) -> bool {
    let fits = letters.len() >= shape.least && !is_masked(letters) && !is_wordy(letters);
    match shape.ask {
        Ask::Inside | Ask::AfterDigits | Ask::TwoParts => letters.len() >= shape.least,
        Ask::Signed => true,
        Ask::Random => {
            // `/` and `+` are letters of base64, in which every short beginning stands somewhere.
            let inside = text.get(..at).is_some_and(|before| before.ends_with(['/', '+']));
            fits && !inside && begins(text, at) && is_random(letters)
        }
        // A key that was glued to what stands before it is one if nothing else could be.
        Ask::NoWords => {
            let known =
                shape.start.len() >= 4 && !shape.start.bytes().all(|byte| byte.is_ascii_alphanumeric());
            fits && (begins(text, at) || (known && is_random(letters)) || shape.start == "sk-")
        }
    }
}

/// All of a key of which this much was looked at.
fn whole(text: &str, at: usize, from: usize, looked_at: usize, shape: &Shape) -> Option<Range<usize>> {
    if shape.ask == Ask::Signed {
        return signed(text, at);
    }
    let end = run(text, looked_at, usize::MAX, |byte| shape.letters.has(byte));
    match shape.ask {
        Ask::Inside => inside(text, at, end, shape.start),
        Ask::TwoParts => two_parts(text, at, end, shape.least),
        Ask::AfterDigits => {
            let digits = run_back(text, at, 12, |byte| byte.is_ascii_digit());
            (at - digits >= 8).then_some(digits..end)
        }
        _ => {
            // A dot, or another sign of prose, ends a sentence and no key.
            let end = run_back(text, end, end - from, |byte| matches!(byte, b'.' | b','));
            Some(at..end)
        }
    }
}

/// The longest part that Azure, or Terraform, puts before its sign.
const BEFORE_SIGN_MAX: usize = 80;

fn inside(text: &str, at: usize, end: usize, sign: &str) -> Option<Range<usize>> {
    let (least, most) = match sign {
        "Q~" => (4, 4),
        "JQQJ99" => (20, BEFORE_SIGN_MAX),
        _ => (10, BEFORE_SIGN_MAX),
    };
    let from = run_back(text, at, most, |byte| Letters::Dashed.has(byte));
    (at - from >= least).then_some(from..end)
}

fn signed(text: &str, at: usize) -> Option<Range<usize>> {
    let dashed = |from: usize| run(text, from, usize::MAX, |byte| Letters::Dashed.has(byte));
    // So every run of letters is read from its beginning only.
    if !begins(text, at) || text.get(..at)?.ends_with(['-', '_']) {
        return None;
    }
    let end = dashed(at);
    let dot = |at: usize| text.as_bytes().get(at) == Some(&b'.');
    if !dot(end) {
        return None;
    }
    let second = dashed(end + 1);
    if second - end < 3 {
        return None;
    }
    if !dot(second) {
        // Cut off before its last part.
        return (text[end + 1..].starts_with("eyJ") && second - end > 8).then_some(at..second);
    }
    let third = run(text, second + 1, usize::MAX, |byte| Letters::Dotted.has(byte));
    Some(at..run_back(text, third, third - second - 1, |byte| byte == b'.'))
}

fn two_parts(text: &str, at: usize, end: usize, least: usize) -> Option<Range<usize>> {
    if text.as_bytes().get(end) != Some(&b'.') || end - at < least {
        return None;
    }
    let second = run(text, end + 1, usize::MAX, |byte| Letters::Dashed.has(byte));
    let made = text
        .get(end + 1..second)?
        .contains(|digit: char| digit.is_ascii_digit());
    (begins(text, at) && made && second - end > 2 * least.min(20)).then_some(at..second)
}

/// Whether a key can begin here: no letter or digit stands before, unless it is part of an escape (`\n`, `%20`,
/// `\u001b[0m`).
fn begins(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let Some(last) = before.last() else { return true };
    if !last.is_ascii_alphanumeric() {
        return true;
    }
    let back = |count: usize| {
        before
            .len()
            .checked_sub(count)
            .and_then(|at| before.get(at))
            .copied()
    };
    let escaped = back(2) == Some(b'\\') && matches!(last, b'n' | b't' | b'r' | b'b' | b'f');
    let percent = back(3) == Some(b'%') && last.is_ascii_hexdigit();
    let code = back(6) == Some(b'\\') && back(5) == Some(b'u');
    let colour = *last == b'm' && {
        let digits = run_back(text, at - 1, 12, |byte| byte.is_ascii_digit() || byte == b';');
        text.as_bytes()
            .get(..digits)
            .is_some_and(|before| before.ends_with(b"["))
    };
    escaped || percent || code || colour
}

/// What git, and lists of packages, call their contents by.
const DIGEST_DIGITS: [usize; 5] = [40, 56, 64, 96, 128];
const HEX_DIGITS_MIN: usize = 40;

/// Long runs of hexadecimal digits, which no word announces. Those that are as long as a digest are digests.
pub(super) fn long_hex(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = HEX_DIGITS_MIN - 1;
    while at < bytes.len() {
        // A longer run that begins after this byte can end no sooner than that.
        let from = run_back(text, at + 1, HEX_DIGITS_MIN, |byte| byte.is_ascii_hexdigit());
        if at + 1 - from < HEX_DIGITS_MIN {
            at = from + HEX_DIGITS_MIN - 1;
            continue;
        }
        let end = run(text, at, usize::MAX, |byte| byte.is_ascii_hexdigit());
        if !DIGEST_DIGITS.contains(&(end - from)) {
            found.push(from..end);
        }
        at = end + HEX_DIGITS_MIN;
    }
    found
}
