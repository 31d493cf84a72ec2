//! YAML that people write: a value of any type that serde knows, or an error that says where and what.
//!
//! A field of type [`Spanned`] also knows the line and the column it stands at, for what only its reader can find
//! wrong. A text is data: no tag makes it anything else, nothing is included or evaluated, and an alias is written out
//! within the limits below only. What is not quoted is taken as YAML 1.2 says: `yes`, `1_000` and a date are texts.

use serde::de::DeserializeOwned;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Location, MessageFormatter, Options, UserMessageFormatter};

pub use serde_saphyr::Spanned;

/// Lists and mappings in each other.
const DEPTH_MAX: usize = 32;
/// Scalars, lists and mappings, those that aliases repeat included.
const NODES_MAX: usize = 10_000;
/// Anchors, and uses of them.
const ALIASES_MAX: usize = 1_000;
/// An error is one line of at most so many characters.
const MESSAGE_CHARS_MAX: usize = 200;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct YamlError {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// What is wrong, in one line.
    pub message: String,
}

/// Reads one document.
pub fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let place = error.location().unwrap_or(Location::UNKNOWN);
        let message = UserMessageFormatter.format_message(error.without_snippet());
        let line = message.lines().next().unwrap_or_default();
        YamlError {
            line: place.line().max(1),
            column: place.column().max(1),
            message: line.chars().take(MESSAGE_CHARS_MAX).collect(),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_merge_keys: ALIASES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: NODES_MAX },
        reject_unsupported_tags: true,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    fn check(text: &str, value: &Value) {
        assert_eq!(read_yaml::<Value>(text).as_ref(), Ok(value), "{text}");
    }

    fn check_error(text: &str, line: u64, column: u64, says: &str) {
        let error = read_yaml::<Value>(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{error}");
        assert!(error.message.contains(says), "{error}");
    }

    #[test]
    fn lists_maps_and_blocks_are_what_they_say() {
        check("tools: [read, grep]", &json!({"tools": ["read", "grep"]}));
        check("tools:\n  - read\n  - grep", &json!({"tools": ["read", "grep"]}));
        check(
            "a: {b: {c: [1, 2.5, true, ~]}}",
            &json!({"a": {"b": {"c": [1, 2.5, true, null]}}}),
        );
        check("text: |\n  one\n  two\n", &json!({"text": "one\ntwo\n"}));
        check("text: >-\n  one\n  two\n", &json!({"text": "one two"}));
    }

    #[test]
    fn a_word_is_a_text_and_quotes_make_anything_one() {
        for word in [
            "yes",
            "on",
            "n",
            "1_000",
            "017",
            "1:30",
            "2024-01-01",
            "1.2.3",
            ".inf",
            "a/b",
        ] {
            check(&format!("model: {word}"), &json!({ "model": word }));
        }
        check("[\"12\", 'true', !!str 12]", &json!(["12", "true", "12"]));
    }

    #[test]
    fn a_merge_gives_what_is_not_said() {
        check("base: &b {m: a}\n<<: *b", &json!({"base": {"m": "a"}, "m": "a"}));
        check(
            "base: &b {m: a}\nm: own\n<<: *b",
            &json!({"base": {"m": "a"}, "m": "own"}),
        );
        check_error("<<: 5", 1, 5, "merge");
    }

    #[test]
    fn an_error_says_where_and_what() {
        check_error("a: 1\nmodel: [unclosed", 2, 8, "unclosed");
        check_error("model: a\nmodel: b", 2, 1, "duplicate");
        check_error("a: 1\n...\nb: 2", 3, 1, "document");
        check_error("a: 1\nb: *nobody", 2, 4, "unknown");
        check_error("a: b: c", 1, 5, "mapping");
    }

    #[test]
    fn a_tag_makes_nothing_of_a_text() {
        for text in [
            "a: !!js/function \"f()\"",
            "a: !mine b",
            "a: !include /etc/passwd",
        ] {
            let error = read_yaml::<Value>(text).expect_err(text);
            assert!(error.message.contains("tag"), "{error}");
        }
    }

    #[test]
    fn what_would_grow_or_lead_too_deep_is_refused() {
        let stairs = |steps: usize| {
            (0..steps)
                .map(|step| format!("{}a:\n", " ".repeat(step)))
                .collect::<String>()
        };
        assert!(read_yaml::<Value>(&stairs(DEPTH_MAX / 2)).is_ok());
        assert!(read_yaml::<Value>(&stairs(DEPTH_MAX + 2)).is_err());
        let mut bomb = "a0: &a0 [x]\n".to_string();
        for level in 1..60 {
            let before = level - 1;
            bomb.push_str(&format!(
                "a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n"
            ));
        }
        let flow = format!("a: {}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let block: String = (0..500)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect();
        let long = format!("a: [{}]", "1, ".repeat(NODES_MAX + 1));
        for text in [bomb, flow, block, long, "a: &a [*a]".to_string()] {
            assert!(read_yaml::<Value>(&text).is_err(), "{:.40}", text);
        }
    }

    #[test]
    fn a_field_knows_where_it_stands() {
        #[derive(Debug, Deserialize)]
        struct Agent {
            name: Spanned<String>,
            tools: Vec<Spanned<String>>,
        }
        let agent: Agent = read_yaml("name: a\ntools:\n  - read").unwrap();
        let place = |field: &Spanned<String>| (field.referenced.line(), field.referenced.column());
        assert_eq!(place(&agent.name), (1, 7));
        assert_eq!(
            (agent.tools[0].value.as_str(), place(&agent.tools[0])),
            ("read", (3, 5))
        );
        let error = read_yaml::<Agent>("name: a\ntools: 5").expect_err("no list");
        assert_eq!((error.line, error.column), (2, 8), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r##"[a-c:\-\[\]{}&*!|>'"#~?, \n\t0-9]{0,60}"##) {
            let _ = read_yaml::<Value>(&text);
        }
    }
}
