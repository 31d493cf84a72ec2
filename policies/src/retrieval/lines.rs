//! What role each line of a file plays: definition, comment, heading, import, or plain code.
//!
//! No grammar of any language: how lines begin and how far they are indented is enough to find the definitions of
//! the usual languages, and a line misread costs a little rank, nothing else.

/// What a line is to a reader who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing on it.
    Blank,
    /// Prose: a comment, a doc string, a paragraph.
    Prose,
    /// An attribute or decorator, which belongs to the definition below it.
    Attribute,
    /// Names of other files.
    Import,
    /// Begins a function, a constant, a type without members worth splitting.
    Definition,
    /// Begins something whose members are definitions: a class, an impl, a module.
    Container,
    /// The heading of a section of prose.
    Heading,
    /// Anything else.
    Code,
}

/// One line, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line without its end and without spaces at both ends.
    pub text: &'a str,
    /// Columns of white space before it; a tab counts four.
    pub indent: usize,
    /// Its role.
    pub role: Role,
    /// What a definition, container or heading is called.
    pub name: &'a str,
    /// How deep a heading is, from 1.
    pub depth: usize,
}

/// How a language writes its comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `//` and `/* */`.
    Slashes,
    /// `#`, and doc strings in triple quotes.
    Hashes,
    /// `--`.
    Dashes,
    /// `;`.
    Semicolons,
    /// `#` begins a heading; fences hold code.
    Markdown,
    /// Prose without headings we know.
    Plain,
}

/// The syntax of a file, from its name.
pub fn syntax_of(path: &str) -> Syntax {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "org" => Syntax::Markdown,
        "txt" | "text" | "log" | "csv" | "tsv" | "svg" | "xml" | "html" | "htm" => Syntax::Plain,
        "py" | "pyi" | "rb" | "sh" | "bash" | "zsh" | "fish" | "toml" | "yaml" | "yml" | "pl" | "pm"
        | "r" | "ex" | "exs" | "nim" | "cmake" | "mk" | "ini" | "cfg" | "conf" | "tcl" | "nix" | "jl"
        | "gd" | "ps1" | "in" | "am" | "ac" | "pyx" | "bzl" | "rake" | "cr" => Syntax::Hashes,
        "sql" | "lua" | "hs" | "elm" | "adb" | "ads" | "vhd" => Syntax::Dashes,
        "lisp" | "clj" | "cljs" | "el" | "scm" | "rkt" | "asm" | "s" => Syntax::Semicolons,
        "" => Syntax::Hashes,
        _ => Syntax::Slashes,
    }
}

/// Reads the lines of a file.
pub fn read_lines<'a>(text: &'a str, syntax: Syntax) -> Vec<Line<'a>> {
    let mut reader = Reader {
        syntax,
        inside: Inside::Nothing,
    };
    let mut lines: Vec<Line<'a>> = text.lines().map(|line| reader.read(line)).collect();
    if syntax == Syntax::Markdown {
        mark_underlined_headings(&mut lines);
    }
    lines
}

/// `Title` over `=====` or `-----`, as Markdown and reStructuredText have it.
fn mark_underlined_headings(lines: &mut [Line<'_>]) {
    for index in 1..lines.len() {
        let under = lines[index].text;
        let mark = under.chars().next().unwrap_or(' ');
        let is_rule = under.len() >= 3 && "=-~^\"".contains(mark) && under.chars().all(|each| each == mark);
        let title = lines[index - 1];
        let fits = title.role == Role::Prose && title.indent == 0 && title.text.len() <= under.len() + 3;
        if is_rule && fits && lines[index].role == Role::Prose && !title.text.starts_with('|') {
            let depth = "=-~^\"".find(mark).unwrap_or(0) + 1;
            lines[index - 1] = Line {
                role: Role::Heading,
                name: title.text,
                depth,
                ..title
            };
        }
    }
}

/// What a line may be in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    BlockComment,
    DocString(&'static str),
    Fence,
}

struct Reader {
    syntax: Syntax,
    inside: Inside,
}

impl Reader {
    fn read<'a>(&mut self, raw: &'a str) -> Line<'a> {
        let text = raw.trim();
        let indent = indent_of(raw);
        let mut line = Line {
            text,
            indent,
            role: Role::Code,
            name: "",
            depth: 0,
        };
        if text.is_empty() {
            line.role = Role::Blank;
            return line;
        }
        if let Some(role) = self.role_inside(text) {
            line.role = role;
            return line;
        }
        match self.syntax {
            Syntax::Markdown => self.read_markdown(&mut line),
            Syntax::Plain => line.role = Role::Prose,
            Syntax::Slashes | Syntax::Hashes | Syntax::Dashes | Syntax::Semicolons => {
                self.read_code(&mut line)
            }
        }
        line
    }

    /// Goes on with what an earlier line began.
    fn role_inside(&mut self, text: &str) -> Option<Role> {
        match self.inside {
            Inside::Nothing => None,
            Inside::BlockComment => {
                if text.contains("*/") {
                    self.inside = Inside::Nothing;
                }
                Some(Role::Prose)
            }
            Inside::DocString(quotes) => {
                if text.contains(quotes) {
                    self.inside = Inside::Nothing;
                }
                Some(Role::Prose)
            }
            Inside::Fence => {
                if is_fence(text) {
                    self.inside = Inside::Nothing;
                }
                Some(Role::Code)
            }
        }
    }

    fn read_markdown(&mut self, line: &mut Line<'_>) {
        line.role = Role::Prose;
        if is_fence(line.text) {
            self.inside = Inside::Fence;
            line.role = Role::Code;
            return;
        }
        for mark in ['#', '='] {
            let depth = line
                .text
                .chars()
                .take_while(|character| *character == mark)
                .count();
            let title = line.text[depth..].trim_start();
            let is_heading =
                (1..=6).contains(&depth) && line.text[depth..].starts_with(' ') && !title.is_empty();
            if is_heading && line.indent < 4 {
                line.role = Role::Heading;
                line.name = title.trim_end_matches(['#', ' ']);
                line.depth = depth;
            }
        }
    }

    fn read_code(&mut self, line: &mut Line<'_>) {
        if let Some(role) = self.comment_role(line.text) {
            line.role = role;
            return;
        }
        if is_import(line.text, line.indent) {
            line.role = Role::Import;
            return;
        }
        if let Some((role, name)) = super::definitions::read_definition(line.text, line.indent) {
            line.role = role;
            line.name = name;
        }
    }

    fn comment_role(&mut self, text: &str) -> Option<Role> {
        match self.syntax {
            Syntax::Slashes => self.slash_comment_role(text),
            Syntax::Hashes => self.hash_comment_role(text),
            Syntax::Dashes => text.starts_with("--").then_some(Role::Prose),
            Syntax::Semicolons => text.starts_with(';').then_some(Role::Prose),
            Syntax::Markdown | Syntax::Plain => None,
        }
    }

    fn slash_comment_role(&mut self, text: &str) -> Option<Role> {
        if text.starts_with("//") || text.starts_with("* ") || text == "*" || text.starts_with("*/") {
            return Some(Role::Prose);
        }
        if text.starts_with("/*") {
            if !text.contains("*/") {
                self.inside = Inside::BlockComment;
            }
            return Some(Role::Prose);
        }
        let is_attribute = text.starts_with("#[") || text.starts_with("#![") || is_decorator(text);
        is_attribute.then_some(Role::Attribute)
    }

    fn hash_comment_role(&mut self, text: &str) -> Option<Role> {
        if text.starts_with('#') {
            return Some(Role::Prose);
        }
        for quotes in ["\"\"\"", "'''"] {
            let unprefixed = text.trim_start_matches(['r', 'R', 'b', 'u', 'f']);
            if let Some(rest) = unprefixed.strip_prefix(quotes) {
                if !rest.contains(quotes) {
                    self.inside = Inside::DocString(quotes);
                }
                return Some(Role::Prose);
            }
        }
        is_decorator(text).then_some(Role::Attribute)
    }
}

fn indent_of(raw: &str) -> usize {
    let mut columns = 0;
    for byte in raw.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            _ => break,
        }
    }
    columns
}

fn is_fence(text: &str) -> bool {
    text.starts_with("```") || text.starts_with("~~~")
}

fn is_decorator(text: &str) -> bool {
    text.strip_prefix('@')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
}

fn is_import(text: &str, indent: usize) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    begins(&["use ", "pub use ", "pub(crate) use ", "#include", "extern crate "])
        || (indent == 0
            && begins(&[
                "import ", "import(", "from ", "require(", "require ", "using ", "package ",
            ]))
        || (text.contains("require(") && begins(&["const ", "var ", "let ", "import "]))
}
