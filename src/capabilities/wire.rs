//! Capabilities as a file lists them, and as they are printed.

use impresario_actors::capability_index::CapabilityHit;
use impresario_policies::capability::flatten::flatten_parameters;
use impresario_policies::capability::{Capability, CapabilityKind};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    summary: String,
    /// As words; else taken from the schema.
    #[serde(default)]
    params: Option<String>,
    /// What it takes, as a JSON Schema.
    #[serde(default)]
    schema: Option<Value>,
}

/// Reads a list of capabilities in JSON: each with `id` and `name`, and `summary`, `source`, `params` or `schema` where it has
/// them.
pub fn read_capabilities(text: &str) -> Result<Vec<Capability>, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let listed: Vec<Listed> = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("at {}: {}", error.path(), error.inner()))?;
    let capabilities = listed.into_iter().map(|listed| {
        let kind = CapabilityKind::of_id(&listed.id).ok_or_else(|| {
            format!(
                "{:?} is no id: it begins with skill:, tool:, mcp: or agent:",
                listed.id
            )
        })?;
        Ok(Capability {
            params: listed
                .params
                .unwrap_or_else(|| listed.schema.as_ref().map(flatten_parameters).unwrap_or_default()),
            activation: listed.name.clone(),
            id: listed.id,
            kind,
            source: listed.source,
            name: listed.name,
            summary: listed.summary,
        })
    });
    capabilities.collect()
}

/// A list as [`read_capabilities`] reads it.
pub(crate) fn capability_list(all: &[Capability]) -> String {
    let listed = all.iter().map(|capability| {
        let mut listed = line_of(capability);
        listed["params"] = json!(capability.params);
        listed
    });
    Value::Array(listed.collect()).to_string()
}

/// One that was found, in a line.
pub(crate) fn hit_line(hit: &CapabilityHit) -> String {
    let mut line = line_of(&hit.capability);
    line["score"] = json!((hit.score * 1000.0).round() / 1000.0);
    line.to_string()
}

/// One that is there, in a line.
pub(crate) fn capability_line(capability: &Capability) -> String {
    line_of(capability).to_string()
}

fn line_of(capability: &Capability) -> Value {
    json!({
        "id": capability.id,
        "kind": capability.kind.as_str(),
        "name": capability.name,
        "summary": capability.summary,
        "source": capability.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_says_what_is_wrong() {
        let text = r#"[{"id":"mcp:zoo:wash","name":"wash","schema":{"properties":{"cage":{"description":"Which"}}}}]"#;
        let read = read_capabilities(text).expect("read");
        assert_eq!(
            (read[0].kind, read[0].params.as_str()),
            (CapabilityKind::Mcp, "cage: Which")
        );
        let wrong = read_capabilities(r#"[{"id":"zoo","name":"wash"}]"#).expect_err("no id");
        assert!(wrong.contains("begins with"), "{wrong}");
        let wrong = read_capabilities(r#"[{"id":"tool:pi:a"}]"#).expect_err("no name");
        assert!(wrong.contains("[0]") && wrong.contains("name"), "{wrong}");
    }
}
