//! What does a `SKILL.md` say?
//!
//! Front matter is YAML, or JSON where the file says so. It is data: a file that declares another language is
//! refused, and nothing in it is ever evaluated. What is not front matter is the instructions.

use crate::compat::{Json, trim};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A file larger than this is refused unread.
pub const SKILL_FILE_BYTES_MAX: usize = 256 * 1024;

/// A skill as its file describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFile {
    /// The model it asks for.
    pub model: Option<String>,
    /// One line for pickers and completion.
    pub description: Option<String>,
    /// What the sub-agent is told.
    pub instructions: String,
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
    #[error("SKILL.md line {line}: {what}")]
    FrontMatter {
        /// From 1, in the file.
        line: u64,
        /// What the parser said.
        what: String,
    },
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
    let entries = if is_blank_block(block) {
        Entries::default()
    } else {
        read_block(trim(language), block)?
    };
    Ok(SkillFile {
        model: entries.text("model", block),
        description: entries.text("description", block),
        instructions: trim(body).to_string(),
    })
}

/// Nothing but white space and comments.
fn is_blank_block(block: &str) -> bool {
    block.lines().all(|line| {
        let line = trim(line);
        line.is_empty() || (line.starts_with('#') && line.len() > 1)
    })
}

fn read_block(language: &str, block: &str) -> Result<Entries, SkillFileError> {
    match language {
        "" => read_yaml(block),
        "json" => read_json(block),
        other if other.eq_ignore_ascii_case("yaml") || other.eq_ignore_ascii_case("yml") => read_yaml(block),
        other => Err(SkillFileError::Language {
            language: other.chars().take(40).collect(),
        }),
    }
}

fn read_json(block: &str) -> Result<Entries, SkillFileError> {
    let value = Json::parse(block).map_err(|error| SkillFileError::FrontMatter {
        line: error.line as u64,
        what: format!("{} (column {})", error.what, error.column),
    })?;
    let mut entries = Entries::default();
    for (key, value) in value.as_object().unwrap_or_default() {
        if let Json::String(text) = value {
            entries.0.push((key.clone(), text.clone()));
        }
    }
    Ok(entries)
}

fn read_yaml(block: &str) -> Result<Entries, SkillFileError> {
    // A tab before the first key is harmless, and people leave them there.
    let first_key = block.len() - block.trim_start().len();
    let lead: String = block[..first_key].chars().filter(|c| *c != '\t').collect();
    let text = format!("{lead}{}", &block[first_key..]);
    let options = serde_saphyr::options! {
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
    };
    if let Some(line) = directive_line(&text) {
        let what = "a directive stands in the front matter".to_string();
        return Err(SkillFileError::FrontMatter { line, what });
    }
    serde_saphyr::from_str_with_options::<Entries>(&text, options).map_err(|error| {
        SkillFileError::FrontMatter {
            line: error.location().map_or(1, |location| location.line()),
            what: one_line(&error.to_string()),
        }
    })
}

/// A directive: front matter is a plain document.
fn directive_line(text: &str) -> Option<u64> {
    let stray = |line: &str| line.starts_with('%');
    text.lines()
        .position(|line| stray(line.trim_end()))
        .map(|at| at as u64 + 1)
}

fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    line.chars().take(200).collect()
}

/// The top-level entries whose values are strings.
#[derive(Default)]
struct Entries(Vec<(String, String)>);

impl Entries {
    fn text(&self, key: &str, block: &str) -> Option<String> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name == key)?;
        let value = trim(value);
        let quoted = block.contains(&format!("\"{value}\"")) || block.contains(&format!("'{value}'"));
        if value.is_empty() || ((looks_like_a_date(value) || looks_sexagesimal(value)) && !quoted) {
            None
        } else {
            Some(value.to_string())
        }
    }
}

/// YAML takes `2024-01-01` for a date unless it is quoted.
fn looks_like_a_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes
            .get(range)
            .is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    digits(0..4)
        && bytes.get(4) == Some(&b'-')
        && digits(5..7)
        && bytes.get(7) == Some(&b'-')
        && digits(8..10)
        && bytes
            .get(10)
            .is_none_or(|byte| matches!(byte, b'T' | b't' | b' '))
}

/// YAML 1.1 takes `1:30` for a number unless it is quoted.
fn looks_sexagesimal(value: &str) -> bool {
    let value = value.trim_start_matches(['-', '+']);
    let mut parts = value.split('.').next().unwrap_or("").split(':');
    let first = parts.next().unwrap_or("");
    let digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let sixty =
        |part: &str| digits(part) && part.len() <= 2 && part.parse::<u8>().is_ok_and(|part| part < 60);
    let mut rest = parts.peekable();
    digits(first) && rest.peek().is_some() && rest.all(sixty)
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        while let Some(key) = map.next_key::<Scalar>()? {
            let value = map.next_value::<Scalar>()?;
            if let (Scalar::Text(key), Scalar::Text(value)) = (key, value) {
                entries.0.push((key, value));
            }
        }
        Ok(entries)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entries, A::Error> {
        while seq.next_element::<Scalar>()?.is_some() {}
        Ok(Entries::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_unit<E>(self) -> Result<Entries, E> {
        Ok(Entries::default())
    }
}

/// A string, or something else of which only the well-formedness matters.
enum Scalar {
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
        while seq.next_element::<Scalar>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<Scalar, Scalar>()?.is_some() {}
        Ok(Scalar::Other)
    }
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
        assert!(error.to_string().starts_with("SKILL.md line 3: "), "{error}");
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
