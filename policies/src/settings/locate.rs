//! On which line of a file does a key stand?

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The line, from 1, of the deepest key of `path` that is there; the last one where a key is repeated.
pub fn line_of_key(text: &str, path: &[&str]) -> Option<usize> {
    let (mut within, mut line) = (text, None);
    for key in path {
        // Each value is a part of the text, so where it begins says where it stands.
        let Ok(entries) = serde_json::from_str::<BTreeMap<String, &RawValue>>(within) else {
            break;
        };
        let Some(value) = entries.get(*key) else { break };
        let value = value.get();
        let before = &text[..value.as_ptr() as usize - text.as_ptr() as usize];
        let through_key = before.trim_end().trim_end_matches(':').trim_end();
        line = Some(through_key.matches('\n').count() + 1);
        within = value;
    }
    line
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
