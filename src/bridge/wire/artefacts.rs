//! The TypeScript types and the JSON Schema, made from the Rust types. Both are checked in; a test fails when they
//! drift.

use super::methods::{describe_messages, visit_messages};
use super::*;
use impresario_policies::user_lines::NO_SKILLS;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use ts_rs::{Config, TS, TypeVisitor};

const TYPESCRIPT_HEADER: &str = "\
// Generated from the Rust types of the bridge. Do not edit: change src/bridge/wire and run
// UPDATE=1 cargo test --test bridge artefacts
";

/// `extension/src/generated/protocol.ts`.
pub fn typescript() -> String {
    let mut declarations = Declarations {
        // Milliseconds and counts, which JavaScript's numbers hold.
        config: Config::default().with_large_int("number"),
        by_name: BTreeMap::new(),
    };
    visit_messages(&mut declarations);
    let mut text = TYPESCRIPT_HEADER.to_owned();
    text.extend(declarations.by_name.into_values());
    push_constants(&mut text);
    push_methods(&mut text);
    text
}

/// The types of the messages and all they are made of, by name: in which order the parts of a type are found is chance.
struct Declarations {
    config: Config,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let name = T::name(&self.config);
        let is_declared = T::output_path().is_some() && name != "string";
        if is_declared && !self.by_name.contains_key(&name) {
            self.by_name.insert(name, declaration::<T>(&self.config));
            T::visit_dependencies(self);
        }
    }
}

fn declaration<T: TS + ?Sized>(config: &Config) -> String {
    let mut text = "\n".to_owned();
    if let Some(docs) = T::docs() {
        push_line(
            &mut text,
            &format!(
                "/**{} */",
                docs.trim()
                    .trim_matches('/')
                    .trim_matches('*')
                    .replace("\n *", "")
                    .trim_end()
            ),
        );
    }
    text.push_str("export ");
    tidy(&T::decl(config), &mut text);
    text
}

/// Puts a comment of one line on one line, and members of a type below it.
fn tidy(declaration: &str, text: &mut String) {
    let mut inside = false;
    for line in declaration.lines().map(str::trim) {
        match line {
            "/**" => text.push_str("  /**"),
            "*/" => text.push_str(" */\n"),
            comment if comment.starts_with('*') => text.push_str(comment.trim_start_matches('*')),
            code => {
                let indent = if inside { "  " } else { "" };
                match code.strip_suffix(", };") {
                    Some(member) => push_line(text, &format!("{indent}{member},\n}};")),
                    None => push_line(text, &format!("{indent}{code}")),
                }
            }
        }
        inside = true;
    }
}

fn push_constants(text: &mut String) {
    let constants = [
        ("PROTOCOL_VERSION", PROTOCOL_VERSION as usize),
        ("PROTOCOL_VERSION_OLDEST", PROTOCOL_VERSION_OLDEST as usize),
        ("LINE_BYTES_MAX", LINE_BYTES_MAX),
        ("DEPTH_MAX", DEPTH_MAX),
    ];
    text.push('\n');
    for (name, value) in constants {
        push_line(text, &format!("export const {name} = {value};"));
    }
    push_line(text, &format!("export const HOST_MODEL = {HOST_MODEL:?};"));
    push_line(
        text,
        &format!(
            "\n/** What a person reads who has no skill to pick from. */\nexport const NO_SKILLS = {NO_SKILLS:?};"
        ),
    );
    push_line(
        text,
        "\n/** The codes an error can carry. */\nexport const ERROR_CODES = {",
    );
    for code in ErrorCode::ALL {
        push_line(text, &format!("  {code:?}: {},", code.number()));
    }
    push_line(text, "} as const;");
}

fn push_methods(text: &mut String) {
    push_line(
        text,
        "\n/** How long the sender of a request waits, and what silence means. */",
    );
    push_line(text, "export const METHODS = {");
    for method in METHODS.iter().filter(|method| method.kind == MethodKind::Request) {
        let deadline_ms = method.deadline_ms.unwrap_or_default();
        let unanswered = format!("{:?}", method.unanswered).to_lowercase();
        push_line(
            text,
            &format!(
                "  {:?}: {{ deadlineMs: {deadline_ms}, unanswered: {unanswered:?} }},",
                method.name
            ),
        );
    }
    push_line(text, "} as const;");
    push_map(text, "HostRequests", "What the extension may ask.", |method| {
        method.sender != Side::Runtime
    });
    push_map(text, "RuntimeRequests", "What the runtime may ask.", |method| {
        method.sender != Side::Host
    });
    push_notes(
        text,
        "HostNotifications",
        "What the extension may say.",
        |method| method.sender != Side::Runtime,
    );
    push_notes(
        text,
        "RuntimeNotifications",
        "What the runtime may say.",
        |method| method.sender != Side::Host,
    );
}

fn push_map(text: &mut String, name: &str, docs: &str, wanted: impl Fn(&Method) -> bool) {
    push_line(text, &format!("\n/** {docs} */\nexport interface {name} {{"));
    for method in METHODS.iter().filter(|method| wanted(method)) {
        if let Some(result) = method.result {
            push_line(
                text,
                &format!(
                    "  {:?}: {{ params: {}; result: {result} }};",
                    method.name, method.params
                ),
            );
        }
    }
    push_line(text, "}");
}

fn push_notes(text: &mut String, name: &str, docs: &str, wanted: impl Fn(&Method) -> bool) {
    push_line(text, &format!("\n/** {docs} */\nexport interface {name} {{"));
    for method in METHODS
        .iter()
        .filter(|method| wanted(method) && method.kind == MethodKind::Notification)
    {
        push_line(text, &format!("  {:?}: {};", method.name, method.params));
    }
    push_line(text, "}");
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}

/// `docs/protocol.schema.json`: every type under `$defs`, every method under `methods`.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    describe_messages(&mut generator);
    let methods: serde_json::Map<String, Value> = METHODS
        .iter()
        .map(|method| (method.name.to_owned(), describe_method(method)))
        .collect();
    let errors: serde_json::Map<String, Value> = ErrorCode::ALL
        .iter()
        .map(|code| (format!("{code:?}"), json!(code.number())))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The Impresario bridge: JSON-RPC 2.0, one object a line",
        "protocol": PROTOCOL_VERSION,
        "line_bytes_max": LINE_BYTES_MAX,
        "depth_max": DEPTH_MAX,
        "errors": errors,
        "methods": methods,
        "$defs": generator.take_definitions(true),
    })
}

fn describe_method(method: &Method) -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    json!({
        "sender": method.sender,
        "kind": method.kind,
        "params": reference(method.params),
        "result": method.result.map(reference),
        "deadline_ms": method.deadline_ms,
        "unanswered": method.unanswered,
    })
}
