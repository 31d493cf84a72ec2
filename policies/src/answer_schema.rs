//! Whether an answer has the form that was asked for, given as a JSON Schema.

use crate::json_reply::{REPLY_BYTES_MAX, read_as, read_json};
use jsonschema::Validator;
use serde_json::Value;

/// How often a sub-agent is told what is wrong with the form of its answer.
pub const CORRECTIONS_MAX: u32 = 2;
/// So much of what is wrong is told.
const FAULTS_TOLD_MAX: usize = 5;
const FAULT_CHARACTERS_MAX: usize = 300;

/// The form of an answer.
pub struct AnswerSchema(Validator);

impl AnswerSchema {
    /// Reads a schema (draft 2020-12 where it does not say). It cannot refer to files or addresses: nothing is fetched.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Value = read_as(text).map_err(|error| format!("it is no JSON: {error}"))?;
        jsonschema::validator_for(&schema)
            .map(Self)
            .map_err(|error| shortened(&error.to_string()))
    }

    /// The answer as JSON and nothing else, or what is wrong with it, for the sub-agent.
    pub fn check(&self, answer: &str) -> Result<String, String> {
        let Some(value) = read_json(answer, |value| self.0.is_valid(value)) else {
            return Err(match answer.len() > REPLY_BYTES_MAX {
                true => format!(
                    "it has {} bytes; at most {REPLY_BYTES_MAX} are read",
                    answer.len()
                ),
                false => "it is not JSON".to_string(),
            });
        };
        let faults = self.0.iter_errors(&value).take(FAULTS_TOLD_MAX);
        let faults: Vec<String> = faults
            .map(|fault| match fault.instance_path().as_str() {
                "" => shortened(&fault.to_string()),
                path => format!("at {path}: {}", shortened(&fault.to_string())),
            })
            .collect();
        match faults.is_empty() {
            true => Ok(value.to_string()),
            false => Err(faults.join("; ")),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(FAULT_CHARACTERS_MAX).collect()
}

/// What stands in the instructions of a sub-agent whose answer has a form.
pub fn form_prompt(schema: &str) -> String {
    format!(
        "Your last message is read by a program. It is one JSON value that conforms to this JSON Schema, and nothing else, \
         no fence and no prose:\n{schema}"
    )
}

/// What a sub-agent is told whose answer does not have the form.
pub fn correction(fault: &str) -> String {
    format!(
        "Your answer does not conform to the schema: {fault}. Answer again, with the JSON value and nothing else."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: &str = r#"{"type":"object","properties":{"places":{"type":"array","items":{"type":"object",
        "properties":{"path":{"type":"string"},"line":{"type":"integer","minimum":1}},"required":["path","line"]}}},
        "required":["places"]}"#;

    fn check(answer: &str) -> Result<String, String> {
        AnswerSchema::read(PLACES).expect("a schema").check(answer)
    }

    #[test]
    fn an_answer_of_the_form_is_taken_out_of_what_is_around_it() {
        let bare = r#"{"places":[{"path":"a.rs","line":3}]}"#;
        for answer in [
            bare.to_string(),
            format!("```json\n{bare}\n```"),
            format!("Here it is, {{as asked}}:\n{bare}\nDone."),
        ] {
            assert_eq!(check(&answer).as_deref(), Ok(bare), "{answer}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let fault = check(r#"{"places":[{"path":"a.rs","line":0}]}"#).expect_err("line 0");
        assert_eq!(fault, "at /places/0/line: 0 is less than the minimum of 1");
        assert_eq!(check("src/a.rs, line 3"), Err("it is not JSON".to_string()));
        assert!(check(&"x".repeat(REPLY_BYTES_MAX + 1)).is_err_and(|why| why.contains("bytes")));
    }

    #[test]
    fn a_schema_that_is_none_is_refused_and_nothing_is_fetched() {
        for schema in [
            "{",
            r#"{"type":"thing"}"#,
            r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#,
            r#"{"$ref":"file:///etc/passwd"}"#,
        ] {
            assert!(AnswerSchema::read(schema).is_err(), "{schema}");
        }
    }
}
