//! What does a `SKILL.md` say?
//!
//! Front matter is YAML, or JSON where the file says so. It is data: a file that declares another language is
//! refused, and nothing in it is ever evaluated. What is not front matter is the instructions.

use crate::compat::trim;
use crate::yaml::{YamlError, read_yaml};
use serde_json::{Map, Value};

/// A file larger than this is refused unread.
pub const SKILL_FILE_BYTES_MAX: usize = 256 * 1024;

/// A skill as its file describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillFile {
    /// The model it asks for.
    pub model: Option<String>,
    /// One line for pickers and completion.
    pub description: Option<String>,
    /// What the sub-agent is told.
    pub instructions: String,
    /// The whole front matter, what nobody here knows included.
    pub fields: Map<String, Value>,
}

/// Why a file cannot be used; says where, and never quotes a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillFileError {
    /// Over [`SKILL_FILE_BYTES_MAX`].
    #[error("SKILL.md has {bytes} bytes, more than the {SKILL_FILE_BYTES_MAX} allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Front matter in a language that is not read.
    #[error("SKILL.md line 1: front matter in {language:?} is not read, write it in YAML")]
    Language {
        /// As written after the dashes, at most 40 characters.
        language: String,
    },
    /// Front matter that does not parse.
    #[error("SKILL.md {0}")]
    FrontMatter(YamlError),
}

/// Reads the text of a `SKILL.md`.
pub fn read_skill_file(text: &str) -> Result<SkillFile, SkillFileError> {
    if text.len() > SKILL_FILE_BYTES_MAX {
        return Err(SkillFileError::TooLarge { bytes: text.len() });
    }
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let Some(after_dashes) = text.strip_prefix("---").filter(|rest| !rest.starts_with('-')) else {
        return Ok(SkillFile {
            instructions: trim(text).to_string(),
            ..SkillFile::default()
        });
    };
    // Without any line end the peer's reader takes all but the last character for the language.
    let last = after_dashes.chars().next_back().map_or(0, char::len_utf8);
    let first_line_end = after_dashes.find('\n').unwrap_or(after_dashes.len() - last);
    let (language, rest) = after_dashes.split_at(first_line_end);
    let (block, body) = match rest.find("\n---") {
        Some(end) => (&rest[..end], &rest[end + "\n---".len()..]),
        None => (rest, ""),
    };
    let fields = match is_blank_block(block) {
        true => Map::new(),
        false => read_block(language, block)?,
    };
    let text = |key: &str| {
        let text = trim(fields.get(key)?.as_str()?);
        (!text.is_empty()).then(|| text.to_string())
    };
    Ok(SkillFile {
        model: text("model"),
        description: text("description"),
        instructions: trim(body).to_string(),
        fields,
    })
}

/// Nothing but white space and comments.
fn is_blank_block(block: &str) -> bool {
    block.lines().all(|line| {
        let line = trim(line);
        line.is_empty() || (line.starts_with('#') && line.len() > 1)
    })
}

/// The entries of the block; none where it is no mapping.
fn read_block(language: &str, block: &str) -> Result<Map<String, Value>, SkillFileError> {
    let value = match trim(language) {
        // White space after the dashes is part of the block: what is none to YAML is an error.
        "" => read_lenient_yaml(&format!("{language}{block}")),
        "json" => serde_json::from_str(block).map_err(|error| json_error(&error)),
        other if other.eq_ignore_ascii_case("yaml") || other.eq_ignore_ascii_case("yml") => {
            read_lenient_yaml(block)
        }
        other => {
            let language = other.chars().take(40).collect();
            return Err(SkillFileError::Language { language });
        }
    };
    match value.map_err(SkillFileError::FrontMatter)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn json_error(error: &serde_json::Error) -> YamlError {
    let (line, column) = (error.line() as u64, error.column() as u64);
    let message = error.to_string();
    let place = format!(" at line {line} column {column}");
    YamlError {
        line,
        column,
        message: message.strip_suffix(&place).unwrap_or(&message).to_string(),
    }
}

/// Tabs before a key are harmless, and people leave them there.
fn read_lenient_yaml(block: &str) -> Result<Value, YamlError> {
    read_yaml(block).or_else(|error| match without_leading_tabs(block) {
        Some(text) => read_yaml(&text).map_err(|_| error),
        None => Err(error),
    })
}

/// The text with no line that begins with a tab; none if there is none anyway.
fn without_leading_tabs(text: &str) -> Option<String> {
    let untabbed: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_start_matches('\t'))
        .collect();
    let untabbed = untabbed.join("\n");
    (untabbed.len() < text.len()).then_some(untabbed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_refused_not_evaluated() {
        for language in ["js", "javascript", "JavaScript", "coffee"] {
            let file = format!("---{language}\n{{ model: process.exit(1) }}\n---\nBody");
            let refused = SkillFileError::Language {
                language: language.to_string(),
            };
            assert_eq!(read_skill_file(&file), Err(refused));
        }
    }

    #[test]
    fn an_error_names_the_line_of_the_file() {
        let Err(error) = read_skill_file("---\nmodel: a\nmodel: b\n---\nBody") else {
            panic!("duplicate key")
        };
        assert!(
            error.to_string().starts_with("SKILL.md line 3, column 1: "),
            "{error}"
        );
    }

    #[test]
    fn tabs_before_keys_are_harmless() {
        for block in ["\tmodel: a", "x: 1\n\tmodel: a", "\tmodel: a\n\tx: 1"] {
            let skill = read_skill_file(&format!("---\n{block}\n---\nBody")).unwrap();
            assert_eq!(skill.model.as_deref(), Some("a"), "{block:?}");
        }
    }

    #[test]
    fn the_same_file_gives_the_same_answer_twice() {
        let file = "---\nmodel: [unclosed\n---\nBody";
        assert_eq!(read_skill_file(file), read_skill_file(file));
        assert!(read_skill_file(file).is_err());
    }

    #[test]
    fn a_file_above_the_limit_is_refused() {
        let file = "x".repeat(SKILL_FILE_BYTES_MAX + 1);
        assert_eq!(
            read_skill_file(&file),
            Err(SkillFileError::TooLarge { bytes: file.len() })
        );
    }

    #[test]
    fn what_nobody_knows_is_kept_and_does_no_harm() {
        let block = "model: a\ntools: [read, grep]\nhooks:\n  - on: start\n    run: |\n      one\n      two\nnested: {a: {b: 1}}";
        for (language, block) in [
            ("", block.to_string()),
            (
                "json",
                serde_json::to_string(&read_yaml::<Value>(block).unwrap()).unwrap(),
            ),
        ] {
            let skill = read_skill_file(&format!("---{language}\n{block}\n---\nBody")).unwrap();
            assert_eq!(skill.model.as_deref(), Some("a"));
            assert_eq!(skill.instructions, "Body");
            let kept = serde_json::json!({
                "model": "a", "tools": ["read", "grep"], "hooks": [{"on": "start", "run": "one\ntwo\n"}],
                "nested": {"a": {"b": 1}},
            });
            assert_eq!(Value::Object(skill.fields), kept);
        }
    }

    #[test]
    fn broken_json_says_where() {
        let Err(error) = read_skill_file("---json\n{\n  \"model\": nope }\n---\nBody") else {
            panic!("no JSON")
        };
        assert_eq!(error.to_string(), "SKILL.md line 3, column 13: expected ident");
    }

    #[test]
    fn description_is_read_for_pickers() {
        let skill = read_skill_file("---\ndescription: Splits files\n---\nDo it.").unwrap();
        assert_eq!(skill.description.as_deref(), Some("Splits files"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(---\n)?(.|\n){0,60}(\n---\n)?.*") {
            let _ = read_skill_file(&text);
        }
    }
}
