//! Values as the peer's language has them, for what was recorded there: every number is a double, and a list or an
//! object can be taken apart as a slice. What we read and write ourselves is `serde_json`'s.

use serde_json::{Value, json};

/// A value with its keys in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number, as a double.
    Number(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads exactly one value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(Json::from(&value))
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let (_, value) = self.as_object()?.iter().find(|(name, _)| name == key)?;
        Some(value)
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Json::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The entries in order, if this is an object.
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// In one line.
    pub fn to_text(&self) -> String {
        Value::from(self).to_string()
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Json::String(text.clone()),
            Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            Value::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Json::from(value)));
                Json::Object(entries.collect())
            }
        }
    }
}

impl From<&Json> for Value {
    fn from(value: &Json) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match value {
            Json::Null => Value::Null,
            Json::Bool(flag) => json!(flag),
            Json::Number(number) if number.fract() == 0.0 && number.abs() <= EXACT => json!(*number as i64),
            Json::Number(number) => json!(number),
            Json::String(text) => json!(text),
            Json::Array(items) => items.iter().map(Value::from).collect(),
            Json::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Value::from(value)));
                Value::Object(entries.collect())
            }
        }
    }
}
