//! Which words stand in a text: identifiers taken apart, endings taken off.

use rust_stemmers::{Algorithm, Stemmer};

/// Calls `found` with every word of `text`: `readHTTPHeader_v2` gives `read`, `HTTP`, `Header`, `v2`.
///
/// Words are slices of the text, not yet lower-cased; every script is taken, ideographs one by one.
pub fn for_each_word<'a>(text: &'a str, mut found: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut position = 0;
    while position < bytes.len() {
        let byte = bytes[position];
        if byte.is_ascii_alphanumeric() {
            position = take_word(text, position, &mut found);
        } else if byte.is_ascii() {
            position += 1;
        } else {
            position = take_foreign_word(text, position, position, &mut found);
        }
    }
}

/// Takes the parts of the word that begins at `start`; returns where it ends.
fn take_word<'a>(text: &'a str, start: usize, found: &mut impl FnMut(&'a str)) -> usize {
    let bytes = text.as_bytes();
    let mut part_start = start;
    let mut position = start + 1;
    while position < bytes.len() && bytes[position].is_ascii_alphanumeric() {
        if begins_a_part(bytes, position) {
            found(&text[part_start..position]);
            part_start = position;
        }
        position += 1;
    }
    if bytes.get(position).is_some_and(|byte| !byte.is_ascii()) {
        return take_foreign_word(text, part_start, position, found);
    }
    found(&text[part_start..position]);
    position
}

/// `aB` begins a part at B, and so does `ABc`. A digit belongs to what stands before it.
fn begins_a_part(bytes: &[u8], position: usize) -> bool {
    if !bytes[position].is_ascii_uppercase() {
        return false;
    }
    let next_is_lower = bytes.get(position + 1).is_some_and(u8::is_ascii_lowercase);
    !bytes[position - 1].is_ascii_uppercase() || next_is_lower
}

/// Takes the word that began at `start` and has letters beyond ASCII from `position`; returns where it ends.
fn take_foreign_word<'a>(
    text: &'a str,
    start: usize,
    position: usize,
    found: &mut impl FnMut(&'a str),
) -> usize {
    let mut end = position;
    for character in text[position..].chars() {
        if !character.is_alphanumeric() || (is_ideograph(character) && end > start) {
            break;
        }
        end += character.len_utf8();
        if is_ideograph(character) {
            break;
        }
    }
    if end > start {
        found(&text[start..end]);
        return end;
    }
    text[position..]
        .chars()
        .next()
        .map_or(text.len(), |skipped| position + skipped.len_utf8())
}

/// Scripts written without spaces between the words.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// The lower-case stem of a word: `panics` and `panicked` are `panic`, `parser` and `parsing` are `pars`.
pub fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    if lower.len() < 3 || !lower.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return lower;
    }
    if let Some(base) = base_form(&lower) {
        return stem(base);
    }
    let stemmer = Stemmer::create(Algorithm::English);
    let mut stem = stemmer.stem(&lower).into_owned();
    if names_a_doer(&lower, &stem) {
        stem.truncate(stem.len() - 2);
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

/// `walker`, `supervisor`: whoever walks or supervises.
fn names_a_doer(word: &str, stem: &str) -> bool {
    let ends_like_one = stem.ends_with("er") || stem.ends_with("or");
    ends_like_one && stem.len() > 4 && !NO_DOERS.contains(&word.trim_end_matches('s'))
}

/// Words that end like a doer and are none.
const NO_DOERS: [&str; 67] = [
    "actor",
    "after",
    "alter",
    "anchor",
    "answer",
    "author",
    "border",
    "buffer",
    "center",
    "chapter",
    "character",
    "clear",
    "cluster",
    "color",
    "consider",
    "corner",
    "cover",
    "cursor",
    "deliver",
    "discover",
    "enter",
    "error",
    "ever",
    "factor",
    "filter",
    "finger",
    "folder",
    "header",
    "helper",
    "inner",
    "integer",
    "later",
    "layer",
    "letter",
    "lower",
    "major",
    "master",
    "matter",
    "member",
    "meter",
    "minor",
    "mirror",
    "monitor",
    "never",
    "number",
    "offer",
    "order",
    "other",
    "outer",
    "over",
    "parameter",
    "pointer",
    "power",
    "prefer",
    "proper",
    "quarter",
    "recover",
    "refer",
    "register",
    "render",
    "sector",
    "super",
    "timer",
    "trigger",
    "upper",
    "vector",
    "worker",
];

/// What the stemmer cannot know: irregular verbs and plurals.
fn base_form(word: &str) -> Option<&'static str> {
    let base = match word {
        "broke" | "broken" => "break",
        "brought" => "bring",
        "built" => "build",
        "came" => "come",
        "caught" => "catch",
        "children" => "child",
        "chose" | "chosen" => "choose",
        "dead" | "death" => "die",
        "done" | "did" | "does" => "do",
        "drew" | "drawn" => "draw",
        "fell" | "fallen" => "fall",
        "forgot" | "forgotten" => "forget",
        "found" => "find",
        "froze" | "frozen" => "freeze",
        "gave" | "given" => "give",
        "gone" | "went" => "go",
        "grew" | "grown" => "grow",
        "held" => "hold",
        "hid" | "hidden" => "hide",
        "indices" | "indexes" => "index",
        "kept" => "keep",
        "knew" | "known" => "know",
        "laid" => "lay",
        "left" => "leave",
        "lost" => "lose",
        "made" => "make",
        "meant" => "mean",
        "panicked" | "panicking" => "panic",
        "ran" => "run",
        "reread" => "read",
        "said" => "say",
        "sent" => "send",
        "shown" => "show",
        "slept" => "sleep",
        "stolen" | "stole" => "steal",
        "stood" => "stand",
        "stuck" => "stick",
        "told" => "tell",
        "took" | "taken" => "take",
        "threw" | "thrown" => "throw",
        "understood" => "understand",
        "woke" | "woken" => "wake",
        "wrote" | "written" => "write",
        _ => return None,
    };
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word));
        words
    }

    #[test]
    fn identifiers_are_taken_apart() {
        assert_eq!(
            words("readHTTPHeader_v2(x)"),
            ["read", "HTTP", "Header", "v2", "x"]
        );
    }

    #[test]
    fn words_of_other_scripts_are_words() {
        assert_eq!(words("größe = zurück; 重启"), ["größe", "zurück", "重", "启"]);
    }

    #[test]
    fn signs_are_no_words() {
        assert_eq!(words("a→b ©"), ["a", "b"]);
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        let families: [&[&str]; 7] = [
            &["panic", "panics", "panicked", "panicking"],
            &["parse", "parser", "parsers", "parsing", "parsed"],
            &["write", "writer", "writes", "written", "wrote"],
            &["supervise", "supervisor", "supervision"],
            &["cancel", "cancelled", "cancelling"],
            &["retry", "retries", "retried"],
            &["cache", "cached", "caches", "caching"],
        ];
        for family in families {
            for word in family {
                assert_eq!(stem(word), stem(family[0]), "{word}");
            }
        }
    }

    #[test]
    fn words_that_only_look_alike_stay_apart() {
        for (one, other) in [
            ("header", "head"),
            ("folder", "fold"),
            ("pointer", "point"),
            ("number", "numb"),
        ] {
            assert_ne!(stem(one), stem(other));
        }
    }
}
