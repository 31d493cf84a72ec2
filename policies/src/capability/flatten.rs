//! What a tool takes, as words: its parameters by name, with what is said of them.

use crate::compat::{cut_units, trim};
use serde_json::{Map, Value};

const DESCRIPTION_UNITS_MAX: usize = 200;
const TEXT_UNITS_MAX: usize = 4_000;
/// Objects within each other.
const DEPTH_MAX: usize = 16;

/// The properties of a schema: `name: description (enum: a|b)` for each, those within others as `outer.inner`.
pub fn flatten_parameters(schema: &Value) -> String {
    let mut texts = Vec::new();
    if let Some(properties) = properties_of(schema) {
        add(properties, "", 0, &mut texts);
    }
    trim(cut_units(&texts.join(" "), TEXT_UNITS_MAX)).to_string()
}

fn properties_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn add(properties: &Map<String, Value>, before: &str, depth: usize, texts: &mut Vec<String>) {
    for (name, property) in properties {
        let name = format!("{before}{name}");
        let mut text = name.clone();
        let description = property.get("description").and_then(Value::as_str);
        if let Some(description) = description.filter(|description| !description.is_empty()) {
            text.push_str(": ");
            text.push_str(cut_units(description, DESCRIPTION_UNITS_MAX));
        }
        if let Some(choices) = property.get("enum").and_then(Value::as_array) {
            let choices = choices.iter().map(|choice| match choice.as_str() {
                Some(word) => word.to_string(),
                None => choice.to_string(),
            });
            text.push_str(&format!(" (enum: {})", choices.collect::<Vec<_>>().join("|")));
        }
        texts.push(text);
        if let Some(inner) = properties_of(property).filter(|_| depth < DEPTH_MAX) {
            add(inner, &format!("{name}."), depth + 1, texts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, text: &str) {
        assert_eq!(flatten_parameters(schema), text);
    }

    #[test]
    fn parameters_are_words() {
        check(
            &json!({"properties": {"path": {"description": "File"}, "n": {}}}),
            "path: File n",
        );
        check(
            &json!({"properties": {"how": {"enum": ["a", 1]}, "to": {"properties": {"x": {"description": "X"}}}}}),
            "how (enum: a|1) to to.x: X",
        );
        for nothing in [json!(5), json!({}), json!({"properties": []})] {
            check(&nothing, "");
        }
    }

    #[test]
    fn a_long_description_is_cut_and_so_is_all_of_it() {
        let long = "y".repeat(10_000);
        assert_eq!(
            flatten_parameters(&json!({"properties": {"a": {"description": long}}})).len(),
            203
        );
        let many: Map<String, Value> = (0..100)
            .map(|n| (format!("p{n}"), json!({"description": long})))
            .collect();
        assert_eq!(flatten_parameters(&json!({ "properties": many })).len(), 4_000);
    }
}
