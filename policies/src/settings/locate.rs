//! On which line of a file does a key stand?

use crate::compat::Json;

/// One container that is open while the text is read.
struct Level {
    /// It is an object, and a key comes next.
    key_next: bool,
    is_object: bool,
    /// So much of the path leads here; none when it leads elsewhere.
    matched: Option<usize>,
}

/// The line, from 1, of the deepest key of `path` that is there; the last one where a key is repeated.
///
/// The text is one that parses; of any other the answer is a guess.
pub fn line_of_key(text: &str, path: &[&str]) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut levels: Vec<Level> = Vec::new();
    let mut matched_next = Some(0);
    let mut found: Option<(usize, usize)> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => line += 1,
            b'{' | b'[' => {
                let is_object = *byte == b'{';
                levels.push(Level {
                    key_next: is_object,
                    is_object,
                    matched: matched_next.filter(|_| is_object),
                });
                matched_next = None;
            }
            b'}' | b']' => drop(levels.pop()),
            b',' => {
                matched_next = None;
                if let Some(level) = levels.last_mut() {
                    level.key_next = level.is_object;
                }
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                if let Some(level) = levels.last_mut().filter(|level| level.key_next) {
                    level.key_next = false;
                    let next = level.matched.filter(|matched| {
                        let key = text.get(at..end).and_then(|key| Json::parse(key).ok());
                        key.is_some_and(|key| key.as_str() == path.get(*matched).copied())
                    });
                    matched_next = next.map(|matched| matched + 1);
                    if let Some(depth) = matched_next
                        && found.is_none_or(|(deepest, _)| depth >= deepest)
                    {
                        found = Some((depth, line));
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found.map(|(_, line)| line)
}

/// Behind the closing quote.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "runner": "impresario",
  "other": {"impresario": {"runner": 1}},
  "impresario": {
    "list": ["runner", {"runner": 2}],
    "a\"b": "{\n",
    "section": {
      "key": 5
    },
    "runner": 3
  }
}"#;

    fn check(path: &[&str], line: Option<usize>) {
        assert_eq!(line_of_key(TEXT, path), line, "{path:?}");
    }

    #[test]
    fn a_key_is_found_where_it_stands() {
        check(&["impresario"], Some(4));
        check(&["impresario", "a\"b"], Some(6));
        check(&["impresario", "section", "key"], Some(8));
        check(&["impresario", "runner"], Some(10));
        check(&["runner"], Some(2));
    }

    #[test]
    fn what_is_not_there_is_as_near_as_it_gets() {
        check(&["impresario", "section", "other", "more"], Some(7));
        check(&["nowhere"], None);
        check(&[], None);
    }

    #[test]
    fn the_last_of_two_counts() {
        assert_eq!(line_of_key("{\"a\":1,\n\"a\":2}", &["a"]), Some(2));
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in r#"[\[\]{}":,\\a\n ]{0,40}"#) {
            let _ = line_of_key(&text, &["a", "a"]);
        }
    }
}
