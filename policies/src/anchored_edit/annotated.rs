//! A text with the anchor of each line before it, and without.

use super::ids::{ID_LETTERS, line_id};

/// What Pi's `read` gave with an anchor before each line; none where it is not the text of a file. `offset` is the
/// argument of that name: the first line, from 1.
pub fn anchored_reading(tool: &str, failed: bool, offset: Option<f64>, text: &str) -> Option<String> {
    // As Pi reckons: what lies between two lines is the one before it, and 0 is the first.
    let first = offset.map_or(1, |offset| offset as u64);
    (tool == "read" && !failed).then(|| anchored_text(text, first))
}

/// Puts `N#ABCDE|` before each line of what a tool read, the first of which has the number `first`, from 1.
///
/// A newline at the end begins no line. What Pi's `read` says behind the text is no line of the file and is left as
/// it is: a notice is known by its words, and by its numbers, which have to be those of this very text. A byte order
/// mark before the first line of a file is shown, and is no part of that line.
pub fn anchored_text(text: &str, first: u64) -> String {
    let first = first.max(1);
    if text.is_empty() || is_all_notice(text, first) {
        return text.to_string();
    }
    let (body, behind) = match before_notice(text, first) {
        Some(body) => text.split_at(body.len()),
        None => match text.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (text, ""),
        },
    };
    let mut shown = String::with_capacity(text.len() + text.len() / 4 + 64);
    for (number, line) in (first..).zip(body.split('\n')) {
        if number > first {
            shown.push('\n');
        }
        let counted = match number {
            1 => line.strip_prefix('\u{FEFF}').unwrap_or(line),
            _ => line,
        };
        push_number(&mut shown, number);
        shown.push('#');
        shown.push_str(line_id(number, counted).as_str());
        shown.push('|');
        shown.push_str(line);
    }
    shown.push_str(behind);
    shown
}

/// As `write!` does, without what that takes for each of many lines.
fn push_number(text: &mut String, number: u64) {
    if number > 9 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// What stands before Pi's notice, if the text ends in one that speaks of this text.
fn before_notice(text: &str, first: u64) -> Option<&str> {
    let (body, notice) = text.rsplit_once("\n\n[")?;
    if notice.contains('\n') {
        return None;
    }
    let notice = notice.strip_suffix(" to continue.]")?;
    let (what, next) = notice.rsplit_once(". Use offset=")?;
    let lines = memchr::memchr_iter(b'\n', body.as_bytes()).count() as u64 + 1;
    let last = first.saturating_add(lines).saturating_sub(1);
    let shows_these = what.starts_with(&format!("Showing lines {first}-{last} of "));
    let leaves_some = what.strip_suffix(" more lines in file").is_some_and(is_number);
    let is_ours = next.parse() == Ok(last.saturating_add(1)) && (shows_these || leaves_some);
    is_ours.then_some(body)
}

/// Where Pi reads nothing, a single line says why; of a picture it says that it is one.
fn is_all_notice(text: &str, first: u64) -> bool {
    let too_long = text.starts_with(&format!("[Line {first} is ")) && text.contains(" limit. Use bash: ");
    let is_picture = text.starts_with("Read image file [");
    !text.contains('\n') && (too_long && text.ends_with(']') || is_picture)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// A line without the anchor before it.
pub(super) fn without_anchor(line: &str) -> &str {
    &line[anchor_before(line).unwrap_or(0)..]
}

/// How many bytes the anchor before a line has, with its bar. Any two or five capital letters count: whoever copies a
/// line together with its anchor may err in the anchor.
pub(super) fn anchor_before(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let letters = line.as_bytes()[digits..]
        .strip_prefix(b"#")
        .filter(|_| digits > 0)?;
    let count = letters
        .iter()
        .take_while(|letter| letter.is_ascii_uppercase())
        .count();
    let is_anchor = [2, ID_LETTERS].contains(&count) && letters.get(count) == Some(&b'|');
    is_anchor.then_some(digits + 1 + count + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchored_lines(first: u64, lines: &[&str]) -> String {
        let lines = (first..)
            .zip(lines)
            .map(|(number, line)| format!("{number}#{}|{line}", line_id(number, line)));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_have_their_real_numbers() {
        assert_eq!(
            anchored_text("a\nb\n", 100),
            anchored_lines(100, &["a", "b"]) + "\n"
        );
        assert_eq!(anchored_text("", 1), "");
        assert_eq!(anchored_text("\n\n", 1), anchored_lines(1, &["", ""]) + "\n");
        assert_eq!(anchored_text("a", 0), anchored_lines(1, &["a"]));
    }

    #[test]
    fn what_pi_says_behind_the_text_is_no_line() {
        for notice in [
            "[Showing lines 7-8 of 20. Use offset=9 to continue.]",
            "[Showing lines 7-8 of 20 (50.0KB limit). Use offset=9 to continue.]",
            "[12 more lines in file. Use offset=9 to continue.]",
        ] {
            let text = format!("a\n\n\n{notice}");
            let expected = format!("{}\n\n{notice}", anchored_lines(7, &["a", ""]));
            assert_eq!(anchored_text(&text, 7), expected);
            // The same words in a file, which speak of something else.
            assert!(
                anchored_text(&text, 8).ends_with(&format!("|{notice}")),
                "{notice}"
            );
        }
        let long = "[Line 3 is 60.0KB, exceeds 50.0KB limit. Use bash: sed -n '3p' a | head -c 51200]";
        assert_eq!(anchored_text(long, 3), long);
        assert_ne!(anchored_text(long, 4), long);
        let picture = "Read image file [image/png]";
        assert_eq!(anchored_text(picture, 1), picture);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let id = line_id(1, "a");
        assert_eq!(anchored_text("\u{FEFF}a", 1), format!("1#{id}|\u{FEFF}a"));
    }

    #[test]
    fn anchors_go_as_they_came() {
        let text = "fn main() {\n\n    1#AB|x\n}\n";
        let anchored = anchored_text(text, 998);
        assert_ne!(anchored, text);
        let without: Vec<&str> = anchored.split('\n').map(without_anchor).collect();
        assert_eq!(without.join("\n"), text);
        for line in ["1#ABC|x", "#AB|x", "1#ab|x", " 1#AB|x"] {
            assert_eq!(without_anchor(line), line);
        }
    }
}
