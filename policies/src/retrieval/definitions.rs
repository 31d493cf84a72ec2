//! Whether a line of code begins a definition, and of what.

use super::lines::Role;

/// Reads the name a line defines: `pub async fn open(` defines `open`, `class Pool:` is a container named `Pool`.
pub fn read_definition(text: &str, indent: usize) -> Option<(Role, &str)> {
    if let Some(name) = text.strip_prefix("#define ") {
        return some_name(leading_identifier(name)).map(|name| (Role::Definition, name));
    }
    read_keyword_definition(text, indent)
        .or_else(|| read_assigned_function(text, indent))
        .or_else(|| read_bare_function(text, indent))
}

/// Words that may stand before the keyword.
const MODIFIERS: [&str; 40] = [
    "pub",
    "async",
    "const",
    "unsafe",
    "extern",
    "default",
    "export",
    "declare",
    "abstract",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "sealed",
    "open",
    "override",
    "virtual",
    "inline",
    "partial",
    "data",
    "readonly",
    "suspend",
    "local",
    "noexport",
    "typedef",
    "synchronized",
    "native",
    "lazy",
    "implicit",
    "crate",
    "in",
    "constexpr",
    "friend",
    "template",
    "companion",
    "fileprivate",
    "mutating",
    "transient",
];

fn read_keyword_definition(text: &str, indent: usize) -> Option<(Role, &str)> {
    let mut rest = text;
    for _ in 0..6 {
        let (word, after) = first_word(rest)?;
        if let Some(role) = keyword_role(word, after, indent) {
            return name_after(word, after).map(|name| (role, name));
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = skip_qualifier(after).trim_start();
    }
    None
}

/// `pub(crate) fn`, `extern "C" fn`: what stands between a modifier and the next word.
fn skip_qualifier(after: &str) -> &str {
    let after = after.trim_start();
    for (open, close) in [('(', ')'), ('"', '"'), ('<', '>')] {
        if let Some(inner) = after.strip_prefix(open) {
            return inner.split_once(close).map_or("", |(_, rest)| rest);
        }
    }
    after
}

fn keyword_role(word: &str, after: &str, indent: usize) -> Option<Role> {
    let spaced = after.starts_with([' ', '\t']) || after.starts_with(['*', '!', '(', '<']);
    if !spaced {
        return None;
    }
    match word {
        "fn" | "def" | "func" | "function" | "fun" | "sub" | "defp" | "defmacro" | "macro_rules"
        | "macro" | "defn" | "proc" | "procedure" => Some(Role::Definition),
        "struct" | "enum" | "union" | "record" | "message" if opens_something(after) => {
            Some(Role::Definition)
        }
        "class" | "impl" | "trait" | "interface" | "mod" | "module" | "namespace" | "object"
        | "extension" | "protocol" | "defmodule" | "service" | "actor" | "mixin"
            if opens_something(after) =>
        {
            Some(Role::Container)
        }
        "type" if after.starts_with(' ') && (after.contains('=') || after.contains('{') || indent == 0) => {
            Some(Role::Definition)
        }
        "const" | "static" | "let" | "var" | "val" if names_a_constant(after, indent) => {
            Some(Role::Definition)
        }
        "CREATE" | "create" if indent == 0 => Some(Role::Definition),
        _ => None,
    }
}

/// Tells a definition from a use: `struct Point {` or `class A` against `struct point p = …;`.
fn opens_something(after: &str) -> bool {
    let first = after.trim_start();
    let named = first.starts_with(|character: char| character.is_alphanumeric() || "_<!".contains(character));
    named && !first.contains(" = ") && !first.starts_with("in ")
}

/// A constant worth a passage: at the outermost level or in capitals, or a function in disguise.
fn names_a_constant(after: &str, indent: usize) -> bool {
    let name = leading_identifier(after.trim_start());
    if name.is_empty() || name == "fn" || name == "unsafe" || name == "async" || name == "mut" {
        return false;
    }
    let is_function = after.split('=').next().is_some_and(|target| target.contains('('));
    if is_function {
        return false;
    }
    let is_upper = name.len() > 1
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    indent == 0
        || is_upper
        || after.contains("=> {")
        || after.contains("= function")
        || after.contains("= async")
}

fn name_after<'a>(keyword: &str, after: &'a str) -> Option<&'a str> {
    let after = after.trim_start_matches(['*', '!', ' ', '\t']);
    match keyword {
        "impl" => Some(implemented_name(after)),
        "func" if after.starts_with('(') => {
            let method = after.split_once(')').map_or("", |(_, rest)| rest.trim_start());
            some_name(leading_identifier(method))
        }
        "CREATE" | "create" => some_name(last_identifier(after.split('(').next().unwrap_or(after))),
        _ => some_name(leading_identifier(after)),
    }
}

/// `impl<T: Ord> fmt::Display for Heap<T> {` is about `fmt::Display for Heap`.
fn implemented_name(after: &str) -> &str {
    let mut rest = after;
    if rest.starts_with('<') {
        rest = skip_angles(rest);
    }
    let rest = rest.trim_start();
    let end = rest.find(['{', ';']).unwrap_or(rest.len());
    let head = rest[..end].split(" where ").next().unwrap_or("");
    head.trim()
}

fn skip_angles(text: &str) -> &str {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (position, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = character;
        if depth == 0 {
            return &text[position + character.len_utf8()..];
        }
    }
    ""
}

/// `exports.open = function (` and `open: async (path) => {` define `open`.
fn read_assigned_function(text: &str, indent: usize) -> Option<(Role, &str)> {
    if indent > 8 || !(text.ends_with('{') || text.ends_with('(')) {
        return None;
    }
    let is_function = text.contains("= function") || text.contains(": function") || text.contains("=> {");
    if !is_function {
        return None;
    }
    let (target, _) = text.split_once(['=', ':'])?;
    let target = target.trim();
    let plain = target
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_.$#".contains(&byte));
    if !plain {
        return None;
    }
    some_name(last_identifier(target)).map(|name| (Role::Definition, name))
}

/// Words before a parenthesis that make no function.
const CONTROL: [&str; 27] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "match",
    "else",
    "elif",
    "when",
    "with",
    "until",
    "unless",
    "foreach",
    "synchronized",
    "sizeof",
    "assert",
    "throw",
    "new",
    "await",
    "yield",
    "do",
    "try",
    "and",
    "or",
    "not",
    "defer",
];

/// `static int open(const char *path)`, `open(path) {`, `void Pool::open() const`: a function without a keyword.
fn read_bare_function(text: &str, indent: usize) -> Option<(Role, &str)> {
    let (head, tail) = text.split_once('(')?;
    let name = last_identifier(head.trim_end());
    let is_name = !name.is_empty() && !CONTROL.contains(&name) && head.trim_end().ends_with(name);
    let plain = head
        .chars()
        .all(|character| character.is_alphanumeric() || " _*&<>:,[]~$#?\t".contains(character));
    if !is_name || !plain || CONTROL.contains(&leading_identifier(head)) {
        return None;
    }
    let opens = text.ends_with('{') && tail.contains(')');
    let has_type = head.trim().contains([' ', '*', ':']) || head.trim() == name;
    let of_c =
        indent == 0 && head.trim().contains([' ', '*']) && !text.ends_with(';') && !text.ends_with('\\');
    let shell = text.ends_with("() {") || text.ends_with("()");
    (indent <= 8 && has_type && (opens || of_c || (shell && indent == 0))).then_some((Role::Definition, name))
}

fn first_word(text: &str) -> Option<(&str, &str)> {
    let word = leading_identifier(text);
    (!word.is_empty()).then(|| (word, &text[word.len()..]))
}

fn leading_identifier(text: &str) -> &str {
    let end = text
        .find(|character: char| !is_identifier(character))
        .unwrap_or(text.len());
    &text[..end]
}

fn last_identifier(text: &str) -> &str {
    let start = text.rfind(|character: char| !is_identifier(character));
    let start = start.map_or(0, |position| {
        position + text[position..].chars().next().map_or(1, char::len_utf8)
    });
    &text[start..]
}

fn is_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

fn some_name(name: &str) -> Option<&str> {
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let indent = line.len() - line.trim_start().len();
        let name = read_definition(line.trim(), indent).map_or("", |(_, name)| name);
        assert_eq!(name, expected, "{line}");
    }

    #[test]
    fn rust_definitions() {
        check("pub(crate) async unsafe fn open(path: &Path) -> Self {", "open");
        check(
            "impl<T: Into<String>> fmt::Display for Heap<T> {",
            "fmt::Display for Heap<T>",
        );
        check("pub const LIMIT: usize = 4;", "LIMIT");
        check("macro_rules! message {", "message");
        check("    let limit = 4;", "");
        check("    pub trait Actor: Sized {", "Actor");
    }

    #[test]
    fn python_definitions() {
        check("class Pool(Base):", "Pool");
        check("    async def open(self, path):", "open");
        check("    for path in paths:", "");
    }

    #[test]
    fn javascript_definitions() {
        check("export default async function open(path) {", "open");
        check("exports.open = function (path) {", "open");
        check("const open = async (path) => {", "open");
        check("  async open(path: string): Promise<void> {", "open");
        check("  if (path) {", "");
        check("export interface Options {", "Options");
    }

    #[test]
    fn go_definitions() {
        check("func (p *Pool) Open(path string) error {", "Open");
        check("type Pool struct {", "Pool");
    }

    #[test]
    fn c_definitions() {
        check("static int open_file(const char *path,", "open_file");
        check("void Pool::open() const {", "open");
        check("    open_file(path);", "");
        check("struct pool {", "pool");
        check("#define POOL_MAX 4", "POOL_MAX");
    }

    #[test]
    fn java_definitions() {
        check("    public static void main(String[] args) {", "main");
        check("public final class Pool {", "Pool");
        check("        } else if (ready()) {", "");
    }
}
