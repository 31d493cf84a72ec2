//! What does a terminal show of a text that somebody else wrote, without doing what it says?
//!
//! Models, tools, files and journals can hold sequences that a terminal obeys: they move the cursor, change the title,
//! write to the clipboard, or turn what is read from right to left. Each of these characters becomes one that is seen.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with line feeds and tabs kept and every other control character made visible.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // The end of a line as other systems write it.
            '\r' if letters.peek() == Some(&'\n') => {}
            letter if is_obeyed(letter) => push_picture(&mut shown, letter),
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// One line of JSON that means the same and holds none of these characters: JSON itself escapes the oldest ones only.
pub fn shown_json(line: &str) -> Cow<'_, str> {
    if !line.chars().any(is_obeyed) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len() + 16);
    for letter in line.chars() {
        match is_obeyed(letter) {
            // All of them are below U+10000, so one escape is enough; outside of strings JSON has none of them.
            true => {
                let _ = write!(shown, "\\u{:04x}", u32::from(letter));
            }
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// C0 and C1, delete, and what changes the direction of reading.
fn is_obeyed(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        letter => letter.is_control(),
    }
}

/// The pictures that Unicode has for the oldest ones, else the number.
fn push_picture(shown: &mut String, letter: char) {
    let code = u32::from(letter);
    let picture = match code {
        0..=0x1f => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    match picture {
        Some(picture) => shown.push(picture),
        None => {
            let _ = write!(shown, "<U+{code:04X}>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn lines_and_tabs_stay() {
        check("a\tb\nc", "a\tb\nc");
        check("a\r\nb", "a\nb");
        check("é 漢 👩‍💻", "é 漢 👩‍💻");
    }

    #[test]
    fn what_a_terminal_obeys_is_seen() {
        check("\x1b]0;title\x07", "␛]0;title␇");
        check("\x1b[2J\x1b[31mred", "␛[2J␛[31mred");
        check("over\rwritten\x08\x7f", "over␍written␈␡");
        check("\u{9b}31m \u{9d}0;t\u{9c}", "<U+009B>31m <U+009D>0;t<U+009C>");
        check(
            "a\u{202e}cod.exe\u{2066}\u{200f}",
            "a<U+202E>cod.exe<U+2066><U+200F>",
        );
    }

    #[test]
    fn json_means_the_same_and_holds_none_of_it() {
        let line = "{\"text\":\"\u{9b}31m \u{202e}x \u{7f} \\u001b\"}";
        let escaped = shown_json(line);
        assert!(!escaped.chars().any(is_obeyed));
        let before = serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        let after = serde_json::from_str::<serde_json::Value>(&escaped).expect("JSON");
        assert_eq!(before, after);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_obeyed_whatever_is_written(text in "[\\x00-\\u{ff}\u{2000}-\u{2070}]*") {
            proptest::prop_assert!(!shown(&text).chars().any(is_obeyed));
        }
    }
}
