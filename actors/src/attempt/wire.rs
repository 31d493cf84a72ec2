//! What is read of a tool's arguments.

use impresario_policies::receipt::Named;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Is(String),
    IsNot(IgnoredAny),
}

/// The names that tools have for what they are about.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default, alias = "file_path", alias = "filePath", alias = "file")]
    path: Option<Text>,
    #[serde(default)]
    command: Option<Text>,
}

/// What the arguments name; nothing where they cannot be read.
pub(super) fn named_in(arguments: &str) -> Named {
    let text = |text: Option<Text>| match text {
        Some(Text::Is(text)) => Some(text),
        Some(Text::IsNot(_)) | None => None,
    };
    serde_json::from_str::<Arguments>(arguments).map_or_else(
        |_| Named::default(),
        |arguments| Named {
            path: text(arguments.path),
            command: text(arguments.command),
        },
    )
}

/// A text as it stands in a line of a nested session.
pub(super) fn as_written(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, path: Option<&str>, command: Option<&str>) {
        let expected = Named {
            path: path.map(str::to_string),
            command: command.map(str::to_string),
        };
        assert_eq!(named_in(arguments), expected);
    }

    #[test]
    fn what_arguments_name() {
        check(r#"{"path":"a.rs","content":"x"}"#, Some("a.rs"), None);
        check(
            r#"{"filePath":"a.rs","edits":[{"op":"replace"}]}"#,
            Some("a.rs"),
            None,
        );
        check(r#"{"command":"ls","timeout":5}"#, None, Some("ls"));
        check(r#"{"path":7,"command":["ls"]}"#, None, None);
        check("nonsense", None, None);
        check("", None, None);
    }
}
