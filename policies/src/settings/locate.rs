//! Where in a file does a key stand?

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The line and the column, from 1, of the deepest key of `path` that is there; the last one where a key is repeated.
pub fn place_of_key(text: &str, path: &[&str]) -> Option<(usize, usize)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let (mut within, mut place) = (text, None);
    for key in path {
        // Each value is a part of the text, so where it begins says where it stands.
        let Ok(entries) = serde_json::from_str::<BTreeMap<String, &RawValue>>(within) else {
            break;
        };
        let Some(value) = entries.get(*key) else { break };
        let value = value.get();
        let before = &text[..value.as_ptr() as usize - text.as_ptr() as usize];
        let through_key = before.trim_end().trim_end_matches(':').trim_end();
        place = Some(start_of_key(through_key));
        within = value;
    }
    place
}

/// Where the quoted key begins that this text ends with.
fn start_of_key(through_key: &str) -> (usize, usize) {
    let opening = |quote: &usize| {
        let before = &through_key[..*quote];
        let escapes = before.len() - before.trim_end_matches('\\').len();
        escapes.is_multiple_of(2)
    };
    let inside = &through_key[..through_key.len().saturating_sub(1)];
    let quote = inside
        .rmatch_indices('"')
        .map(|(at, _)| at)
        .find(opening)
        .unwrap_or(0);
    let before = &through_key[..quote];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
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

    fn check(path: &[&str], place: Option<(usize, usize)>) {
        assert_eq!(place_of_key(TEXT, path), place, "{path:?}");
    }

    #[test]
    fn a_key_is_found_where_it_stands() {
        check(&["impresario"], Some((4, 3)));
        check(&["impresario", "a\"b"], Some((6, 5)));
        check(&["impresario", "section", "key"], Some((8, 7)));
        check(&["impresario", "runner"], Some((10, 5)));
        check(&["runner"], Some((2, 3)));
    }

    #[test]
    fn what_is_not_there_is_as_near_as_it_gets() {
        check(&["impresario", "section", "other", "more"], Some((7, 5)));
        check(&["nowhere"], None);
        check(&[], None);
    }

    #[test]
    fn the_last_of_two_counts() {
        assert_eq!(place_of_key("{\"a\":1,\n \"a\":2}", &["a"]), Some((2, 2)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in r#"[\[\]{}":,\\a\n ]{0,40}"#) {
            let _ = place_of_key(&text, &["a", "a"]);
        }
    }
}
