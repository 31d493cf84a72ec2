//! Steps over a text: how far does a run of letters go?

use crate::compat::is_space;

/// The end of the run of bytes that begins at `from`, at most `most` bytes of it. ASCII only, so it is a border
/// of letters.
pub(super) fn run(text: &str, from: usize, most: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take(most).take_while(|byte| is_in(**byte)).count()
}

/// The beginning of the run of bytes that ends at `to`.
pub(super) fn run_back(text: &str, to: usize, most: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let before = text.as_bytes().get(..to).unwrap_or_default();
    to - before
        .iter()
        .rev()
        .take(most)
        .take_while(|byte| is_in(**byte))
        .count()
}

/// The end of the white space at `from`; none if there is more than `most` of it.
pub(super) fn after_space(text: &str, from: usize, most: usize) -> Option<usize> {
    let mut at = from;
    for (count, letter) in text.get(from..)?.chars().enumerate() {
        if !is_space(letter) {
            return Some(at);
        }
        if count >= most {
            return None;
        }
        at += letter.len_utf8();
    }
    Some(at)
}

/// The end of what begins at `from` and has none of these letters in it, at most `most` bytes.
pub(super) fn until(text: &str, from: usize, most: usize, is_end: impl Fn(char) -> bool) -> usize {
    let mut at = from;
    for letter in text.get(from..).unwrap_or_default().chars() {
        if is_end(letter) || at - from >= most {
            break;
        }
        at += letter.len_utf8();
    }
    at
}

/// At most `most` bytes before `to`, from the beginning of their line on.
pub(super) fn line_before(text: &str, to: usize, most: usize) -> &str {
    let mut from = to.saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = text.get(from..to).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

/// At most `most` bytes from `from` on.
pub(super) fn ahead(text: &str, from: usize, most: usize) -> &str {
    let mut to = from.saturating_add(most).min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    text.get(from..to).unwrap_or_default()
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_the_letters_do() {
        assert_eq!(run("ab1-c", 0, 9, |byte| byte.is_ascii_alphanumeric()), 3);
        assert_eq!(run("abc", 9, 9, is_word), 9);
        assert_eq!(run_back("--ab", 4, 9, is_word), 2);
        assert_eq!(until("é b", 0, 9, |letter| letter == ' '), 2);
        assert_eq!(line_before("one\ntwo é", 10, 5), "wo é");
        assert_eq!(line_before("one\ntwo é", 10, 50), "two é");
        assert_eq!(ahead("aé", 0, 2), "a");
        assert_eq!(after_space("  a", 0, 9), Some(2));
        assert_eq!(after_space("   a", 0, 1), None);
    }
}
