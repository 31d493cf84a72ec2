//! How the usual languages write comments, blocks and definitions: one row each, and nothing else about any of them.
//!
//! A pattern is a regular expression for the beginning of a line. `@` is the name it defines; `\w`, `\s` and `\b` are
//! ASCII and stay within the line.

use regex::Regex;
use std::sync::{LazyLock, OnceLock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    /// `//` and `/* */`.
    Slashes,
    /// `#`.
    Hashes,
    /// `#`, and texts in triple quotes.
    HashesAndQuotes,
    /// `--`.
    Dashes,
    /// `%`.
    Percents,
    /// `;`.
    Semicolons,
    /// Everything is prose, with headings.
    Headings,
    Prose,
}

/// Where what was begun ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    Braces,
    /// Before the next line that is no deeper.
    Indentation,
    /// At `end`.
    Ends,
    /// At the line that ends with a full stop.
    FullStops,
}

/// What a line that a pattern fits begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// A function, type, constant or macro; a section.
    Definition,
    /// What holds definitions and is none: an `impl`.
    Container,
    /// Names something that is defined elsewhere, or by its mere mention: a prototype, a field, a variant.
    Declaration,
}

/// A row of the table.
struct Row {
    /// Endings of file names, or whole names.
    endings: &'static [&'static str],
    comments: Comments,
    blocks: Blocks,
    definitions: &'static [&'static str],
    /// Definitions, where a body follows the parentheses; declarations, where none does.
    callables: &'static [&'static str],
    containers: &'static [&'static str],
    declarations: &'static [&'static str],
}

/// A language, with its patterns once they are needed.
pub struct Language {
    row: &'static Row,
    compiled: OnceLock<Compiled>,
}

/// The patterns of a language, each sort as one expression.
pub(super) struct Compiled {
    pub(super) definitions: Option<Regex>,
    pub(super) callables: Option<Regex>,
    pub(super) containers: Option<Regex>,
    pub(super) declarations: Option<Regex>,
}

impl Row {
    const fn new(endings: &'static [&'static str], comments: Comments, blocks: Blocks) -> Self {
        Self {
            endings,
            comments,
            blocks,
            definitions: &[],
            callables: &[],
            containers: &[],
            declarations: &[],
        }
    }
}

impl Language {
    pub(super) fn comments(&self) -> Comments {
        self.row.comments
    }

    pub(super) fn blocks(&self) -> Blocks {
        self.row.blocks
    }

    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled {
            definitions: compile(self.row.definitions),
            callables: compile(self.row.callables),
            containers: compile(self.row.containers),
            declarations: compile(self.row.declarations),
        })
    }
}

const NAME: &str = "([A-Za-z_$#][A-Za-z0-9_$]*[?!]?)";

fn compile(patterns: &[&str]) -> Option<Regex> {
    let written: Vec<String> = patterns
        .iter()
        .map(|pattern| {
            pattern
                .replace('@', NAME)
                .replace("\\w", "[A-Za-z0-9_$]")
                .replace("\\s", "[ \\t]")
                .replace("\\b", "(?-u:\\b)")
        })
        .collect();
    if written.is_empty() {
        return None;
    }
    Regex::new(&format!("(?m)^(?:{})", written.join("|"))).ok()
}

/// Words that stand before parentheses and a brace, and are no names.
pub(super) const KEYWORDS: [&str; 38] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "do",
    "case",
    "sizeof",
    "function",
    "with",
    "new",
    "throw",
    "await",
    "yield",
    "typeof",
    "delete",
    "in",
    "of",
    "and",
    "or",
    "not",
    "elif",
    "except",
    "assert",
    "foreach",
    "synchronized",
    "using",
    "lock",
    "defined",
    "when",
    "match",
    "loop",
    "until",
    "unless",
    "super",
    "go",
];

/// The language of a file.
pub fn language_of(path: &str) -> &'static Language {
    static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
        let languages = ROWS.iter().map(|row| Language {
            row,
            compiled: OnceLock::new(),
        });
        languages.collect()
    });
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let fits = |row: &Row| row.endings.iter().any(|each| *each == ending || *each == name);
    // A script without an ending, or some language with braces.
    let unknown = if ending.is_empty() { 0 } else { 1 };
    let number = ROWS.iter().position(fits).unwrap_or(unknown);
    &LANGUAGES[number]
}

static ROWS: [Row; 29] = [
    Row::new(&[], Comments::Hashes, Blocks::Indentation),
    Row::new(&[], Comments::Slashes, Blocks::Braces),
    Row {
        definitions: &[
            r"\s*(?:pub(?:\([^)\n]*\))?\s+)?(?:(?:default|const|async|unsafe|safe)\s+)*(?:extern\s+(?:\x22[^\x22\n]*\x22\s+)?)?fn\s+(?:r#)?@",
            r"\s*(?:pub(?:\([^)\n]*\))?\s+)?(?:unsafe\s+|auto\s+)*(?:struct|enum|union|trait|type|macro)\s+(?:r#)?@",
            r"\s*(?:pub(?:\([^)\n]*\))?\s+)?(?:const|static)\s+(?:mut\s+|ref\s+)*@\s*:",
            r"\s*(?:pub(?:\([^)\n]*\))?\s+)?mod\s+@\s*\{",
            r"\s*macro_rules!\s*@",
        ],
        containers: &[
            r"\s*(?:unsafe\s+)?impl\b[^\n]*\bfor\s+&?(?:\w+::)*@",
            r"\s*(?:unsafe\s+)?impl\b(?:<[^\n]*?>)?\s+(?:\w+::)*@",
        ],
        declarations: &[
            r"\s+(?:pub(?:\([^)\n]*\))?\s+)?(?:r#)?@\s*:[^:]",
            r"\s+([A-Z]\w*)\s*(?:[,({]|=\s*-?\d|$)",
            r"\s*(?:pub(?:\([^)\n]*\))?\s+)?mod\s+@\s*;",
        ],
        ..Row::new(&["rs"], Comments::Slashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"\s*(?:async\s+)?def\s+@",
            r"\s*(?:cdef\s+|cpdef\s+)?class\s+@",
            r"(?:cdef|cpdef)\s[^\n(=]*?@\s*\(",
            r"@\s*(?::[^=\n]+)?=(?:[^=]|$)",
            r"type\s+@\s*(?:\[[^\n]*\])?\s*=",
        ],
        declarations: &[
            r"\s+(?:self\.|cls\.)?@\s*(?::[^=\n]+)?=(?:[^=]|$)",
            r"\s*@\s*:\s*[A-Za-z\x22\x27][^\n]*$",
        ],
        ..Row::new(
            &["py", "pyi", "pyx", "pxd", "bzl", "sconstruct"],
            Comments::HashesAndQuotes,
            Blocks::Indentation,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*@",
            r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:const\s+)?(?:class|interface|enum|namespace|module)\s+@(?:\s|<|\{|$)",
            r"\s*(?:export\s+)?(?:declare\s+)?type\s+@\s*(?:<[^\n]*)?(?:=|$)",
            r"(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s+@",
            r"\s+(?:const|let|var)\s+@\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function\b|class\b|\([^\n]*=>|\(\s*$|@\s*=>|<\w[^\n]*\()",
            r"\s*(?:[\w.]+\.)@\s*=\s*(?:async\s*)?(?:function\b|class\b|\([^\n]*=>|\(\s*$|\w+\s*=>)",
            r"\s*(?:module\.)?exports\.@\s*=",
            r"\s+\x22?@\x22?\s*:\s*(?:async\s*)?(?:function\b|\([^\n]*\)\s*=>|\w+\s*=>)",
            r"\s+(?:(?:public|private|protected|static|readonly|override)\s+)*@\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function\b|\([^\n]*=>|\w+\s*=>)",
        ],
        callables: &[
            r"\s+(?:(?:public|private|protected|static|async|override|readonly|abstract|get|set|declare)\s+)*\*?\s*@\s*(?:<[^\n(]*>)?\(",
        ],
        declarations: &[
            r"\s+(?:(?:public|private|protected|static|readonly|override|declare|abstract)\s+)*@\??!?\s*(?::[^\n]*)?(?:=[^=>\n]|[;,]?\s*$)",
            r"\s+(?:const|let|var)\s+@",
            r"\s+(?:readonly\s+)?@\??\s*:",
            r"\s*(?:this|exports|self)\.@\s*=[^=]",
        ],
        ..Row::new(
            &[
                "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte",
            ],
            Comments::Slashes,
            Blocks::Braces,
        )
    },
    Row {
        definitions: &[
            r"\s*#\s*define\s+@",
            r"typedef\b[^;{}\n(]*\b@\s*(?:\[[^\]\n]*\]\s*)*;",
            r"typedef\b[^;{}\n]*\(\s*(?:\w+\s*)?\*+\s*(?:const\s+)?@\s*\)",
            r"typedef\b[^;{}\n(]*\b@\s*\([^;\n]*\)\s*;",
            r"\}\s*(?:__\w+\s*(?:\(\([^\n]*\)\))?\s*)?\**@\s*(?:\[[^\]\n]*\])?\s*;",
            r"\s*(?:typedef\s+|static\s+|const\s+|template\s*<[^\n]*>\s*)*(?:struct|union|enum|class|enum\s+class|enum\s+struct)\s+(?:\w+\s+)??@\s*(?:final\s*)?(?::[^:;\n(]*)?(?:\{[^\n]*|)$",
            r"\s*(?:inline\s+)?namespace\s+(?:\w+::)*@\s*\{",
            r"\s*using\s+@\s*=",
            r"(?:(?:static|const|volatile|unsigned|signed|struct|enum|union|long|short|_Thread_local|thread_local|constexpr|inline)\s+)*\w[\w:<>]*[\s*&]+@\s*(?:\[[^\]\n]*\]\s*)*=[^=]",
            r"(?:static|const|volatile)\s[\w\s*]*?[\s*]@\s*(?:\[[^\]\n]*\]\s*)*;",
        ],
        callables: &[
            r"(?:[A-Za-z_][\w:<>,*&~ \t]*[\s*&])?(?:\w+(?:<[^>\n]*>)?::)*~?@\s*\(",
            r"\s+(?:(?:static|inline|virtual|explicit|constexpr|friend|const|unsigned|template\s*<[^\n]*>)\s+)*[\w:<>,*&]+(?:\s+[\w:<>*&]+)*[\s*&]+@\s*\(",
        ],
        declarations: &[
            r"\s+([A-Z_][A-Z0-9_]+)\s*(?:=[^,\n]*)?(?:,|/|$)",
            r"extern\s[^;\n(]*[\s*]@\s*(?:\[[^\]\n]*\]\s*)*;",
            r"\s+(?:(?:const|unsigned|signed|struct|enum|volatile|static|mutable|long)\s+)*[A-Za-z_][\w:<>]*[\s*&]+@\s*(?:\[[^\]\n]*\]|:\s*\d+|\{[^\n]*\})?\s*(?:=[^=\n]*)?[;,]",
            r"\s+(?:[A-Za-z_][\w:<>]*\s+)+\(\s*\*\s*@\s*\)",
            r"(?:struct|union|enum|class)\s+@\s*;",
        ],
        ..Row::new(
            &[
                "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "inl", "ipp", "cu", "m", "mm", "ino",
                "glsl", "l", "y",
            ],
            Comments::Slashes,
            Blocks::Braces,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:\x40\w+(?:\([^\n)]*\))?\s+)*(?:(?:public|private|protected|internal|static|final|abstract|sealed|non-sealed|strictfp|partial|data|open|inner|value|annotation|inline|case|implicit|override|lazy|companion|enum|export|readonly|ref|unsafe|file)\s+)*(?:class|interface|enum|record|\x40interface|object|trait|struct|typealias|namespace|mixin|extension|delegate)\s+(?:class\s+)?(?:\w+\.)*@",
            r"\s*(?:\x40\w+(?:\([^\n)]*\))?\s+)*(?:(?:public|private|protected|internal|static|final|abstract|open|override|suspend|inline|operator|infix|tailrec|external|lazy|implicit)\s+)*(?:fun|def)\s+(?:<[^>\n]*>\s*)?(?:[\w<>?]+\.)*@",
            r"\s*(?:(?:public|private|protected|internal|static|final|const|readonly|volatile)\s+)*(?:static|const)\s+(?:(?:final|readonly)\s+)?(?:[\w.<>\[\],? ]+\s+)?@\s*=",
            r"\s*(?:(?:public|private|protected|internal|override|const|lateinit|implicit|lazy|final)\s+)*va[lr]\s+@\s*(?::[^=\n]+)?=",
        ],
        callables: &[
            r"\s*(?:\x40\w+(?:\([^\n)]*\))?\s+)*(?:(?:public|private|protected|internal|static|final|abstract|synchronized|native|default|virtual|override|async|sealed|extern|unsafe|partial|strictfp)\s+)*(?:<[^\n(]*>\s+)?[A-Za-z_][\w.]*(?:<[^\n()]*>)?(?:\[\])*\??\s+@\s*(?:<[^\n(]*>)?\(",
            r"\s*(?:\x40\w+\s+)*(?:(?:public|private|protected|internal)\s+)*([A-Z]\w*)\s*\(",
        ],
        declarations: &[
            r"\s*(?:(?:public|private|protected|internal|static|final|readonly|volatile|transient|abstract)\s+)+(?:[\w.<>\[\],?]+\s+)+@\s*(?:=|;|\{)",
            r"\s+([A-Z][A-Z0-9_]+)\s*(?:\([^\n]*\))?\s*(?:[,;{]|$)",
            r"\s+[A-Z][\w.<>\[\],?]*\s+@\s*;",
            r"\s+va[lr]\s+@",
        ],
        ..Row::new(
            &["java", "kt", "kts", "cs", "scala", "groovy", "gradle", "dart"],
            Comments::Slashes,
            Blocks::Braces,
        )
    },
    Row {
        definitions: &[
            r"func\s+(?:\([^)\n]*\)\s*)?@",
            r"type\s+@",
            r"\t@(?:\[[^\n]*\])?\s+(?:struct|interface|func)\b",
            r"(?:var|const)\s+@",
            r"\t([A-Z]\w*)\s*(?:[\w.\[\]*]+\s*)?=",
        ],
        declarations: &[
            r"\t+@(?:\s*,\s*\w+)*\s+[\w.\[\]*]+",
            r"\t([A-Z]\w*)\s*$",
            r"\t([a-z]\w*)\s*(?:[\w.\[\]*]+\s*)?=",
            r"\t([A-Z]\w*)\(",
        ],
        ..Row::new(&["go"], Comments::Slashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"\s*(?:(?:private|public|protected|private_class_method|module_function)\s+)?def\s+(?:self\.|\w+\.)?@",
            r"\s*(?:class|module)\s+(?:\w+::)*@",
            r"\s*([A-Z]\w*)\s*(?:\|\|)?=[^=~>]",
            r"\s*(?:define_method|define_singleton_method|scope|task|namespace|alias_method)\s*\(?\s*:@",
            r"\s*alias\s+:?@",
        ],
        declarations: &[
            r"\s*(?:mattr|cattr|attr)_(?:reader|writer|accessor)\s+:@",
            r"\s*\x40\x40?@\s*(?:\|\|)?=[^=~]",
        ],
        ..Row::new(
            &["rb", "rake", "gemspec", "ru", "rakefile", "gemfile", "cr"],
            Comments::Hashes,
            Blocks::Ends,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:def|defp|defmacro|defmacrop|defguard|defdelegate)\s+@",
            r"\s*(?:defmodule|defprotocol|defimpl)\s+(?:\w+\.)*@",
        ],
        ..Row::new(&["ex", "exs"], Comments::HashesAndQuotes, Blocks::Ends)
    },
    Row {
        definitions: &[
            r"@\(",
            r"-(?:define|record|type|opaque|callback|module)\s*\(?\s*@",
        ],
        ..Row::new(
            &["erl", "hrl", "escript", "yrl", "xrl"],
            Comments::Percents,
            Blocks::FullStops,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:function\s+)?([A-Za-z_][A-Za-z0-9_:.-]*)\s*\(\)",
            r"\s*function\s+([A-Za-z_][A-Za-z0-9_:.-]*)",
            r"(?:(?:export|readonly|local|declare|typeset)\s+(?:-\w+\s+)*)?@\+?=",
            r"alias\s+@=",
        ],
        ..Row::new(
            &[
                "sh",
                "bash",
                "zsh",
                "ksh",
                "fish",
                "bats",
                "configure",
                "bashrc",
                "zshrc",
                "profile",
            ],
            Comments::Hashes,
            Blocks::Braces,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:local\s+)?function\s+(?:\w+[.:])*@",
            r"\s*(?:local\s+)?(?:\w+\.)*@\s*=\s*function\b",
            r"(?:local\s+)?(?:\w+\.)*@\s*=[^=]",
        ],
        declarations: &[r"\s+@\s*=[^=]"],
        ..Row::new(&["lua", "luau"], Comments::Dashes, Blocks::Ends)
    },
    Row {
        definitions: &[
            r"\s*(?:(?:abstract|final|public|private|protected|static|readonly)\s+)*(?:function\s+&?|class\s+|interface\s+|trait\s+|enum\s+|const\s+|namespace\s+(?:\w+\\)*)@",
            r"\s*define\(\s*[\x22\x27]@",
        ],
        declarations: &[r"\s*(?:(?:public|private|protected|static|readonly|var)\s+)+(?:\??\w+\s+)?@"],
        ..Row::new(&["php", "phtml"], Comments::Slashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"\s*(?:\x40\w+\s+)*(?:(?:public|private|fileprivate|internal|open|static|final|override|mutating|class|indirect|actor|async|required|convenience)\s+)*(?:func|class|struct|enum|protocol|extension|typealias|actor|case|associatedtype)\s+@",
            r"\s*(?:(?:public|private|fileprivate|internal|static|lazy|weak|override)\s+)*(?:let|var)\s+@",
        ],
        ..Row::new(&["swift"], Comments::Slashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"\s*sub\s+@",
            r"\s*package\s+(?:\w+::)*@",
            r"(?:our|my)\s+[$%\x40]?@",
        ],
        ..Row::new(&["pl", "pm", "t"], Comments::Hashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"@(?:\x27)*\s*::",
            r"(?:data|newtype|class|type|instance|module)\s+(?:[^\n=]*=>\s*)?(?:\w+\.)*@",
        ],
        ..Row::new(&["hs", "elm", "purs"], Comments::Dashes, Blocks::Indentation)
    },
    Row {
        definitions: &[
            r"\s*(?:let|and|type|module|exception|val|external|class|method)\s+(?:rec\s+|nonrec\s+|mutable\s+|inline\s+|type\s+)*@",
        ],
        ..Row::new(
            &["ml", "mli", "fs", "fsi", "fsx"],
            Comments::Slashes,
            Blocks::Indentation,
        )
    },
    Row {
        definitions: &[
            r"\s*(?i:create)\s+(?i:or\s+replace\s+|temp\s+|temporary\s+|unique\s+|virtual\s+)*(?i:table|view|function|procedure|trigger|index|type)\s+(?i:if\s+not\s+exists\s+)?(?:\w+\.)?[\x22\x60]?@",
        ],
        ..Row::new(&["sql"], Comments::Dashes, Blocks::Indentation)
    },
    Row {
        definitions: &[
            r"\s*\((?:def[a-z*-]*|define[a-z*-]*)\s+\(?([A-Za-z*+!?<>=/_-][A-Za-z0-9*+!?<>=/_.-]*)",
        ],
        ..Row::new(
            &["el", "lisp", "cl", "clj", "cljs", "cljc", "scm", "rkt"],
            Comments::Semicolons,
            Blocks::Indentation,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:message|service|enum|rpc|type|input|interface|union|scalar|directive|extend\s+type)\s+@",
        ],
        ..Row::new(
            &["proto", "graphql", "gql", "thrift"],
            Comments::Slashes,
            Blocks::Braces,
        )
    },
    Row {
        definitions: &[
            r"\s*(?:pub\s+|export\s+|inline\s+|extern\s+|comptime\s+)*(?:fn|const|var)\s+@",
            r"\s*test\s+\x22@",
        ],
        ..Row::new(&["zig"], Comments::Slashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"\s*(?:proc|func|method|iterator|macro|template|converter|type|const|let|var)\s+@",
            r"\s+@\*?\s*=\s*(?:ref\s+)?(?:object|enum)\b",
        ],
        ..Row::new(&["nim", "nims"], Comments::Hashes, Blocks::Indentation)
    },
    Row {
        definitions: &[
            r"\s*(?:function|macro|struct|mutable\s+struct|module|abstract\s+type|const)\s+(?:\w+\.)*@",
            r"@\([^\n]*\)\s*=",
        ],
        ..Row::new(&["jl"], Comments::HashesAndQuotes, Blocks::Ends)
    },
    Row {
        definitions: &[
            r"\s*([A-Za-z.][A-Za-z0-9_.]*)\s*(?:<-|=)\s*function\b",
            r"([A-Za-z.][A-Za-z0-9_.]*)\s*<-",
        ],
        ..Row::new(&["r"], Comments::Hashes, Blocks::Braces)
    },
    Row {
        definitions: &[
            r"([A-Za-z0-9_./-]+)\s*:(?:[^=]|$)",
            r"(?:export\s+|override\s+)?@\s*[:+?]?=",
            r"define\s+@",
            r"\s*(?i:function|macro)\s*\(\s*@",
        ],
        ..Row::new(
            &[
                "makefile",
                "gnumakefile",
                "mk",
                "am",
                "cmake",
                "cmakelists.txt",
                "yaml",
                "yml",
                "justfile",
            ],
            Comments::Hashes,
            Blocks::Indentation,
        )
    },
    Row {
        definitions: &[r"\[+([^\]\n]+)\]+"],
        ..Row::new(
            &[
                "toml",
                "ini",
                "cfg",
                "conf",
                "properties",
                "env",
                "dockerfile",
                "tf",
                "hcl",
                "nix",
            ],
            Comments::Hashes,
            Blocks::Indentation,
        )
    },
    Row::new(
        &[
            "md", "markdown", "mdx", "rst", "adoc", "asciidoc", "org", "dbk", "po4a",
        ],
        Comments::Headings,
        Blocks::Indentation,
    ),
    Row::new(
        &[
            "txt", "text", "log", "csv", "tsv", "svg", "xml", "html", "htm", "tex", "json", "jsonl", "diff",
            "patch", "po", "pot", "pod", "css",
        ],
        Comments::Prose,
        Blocks::Indentation,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for row in &ROWS {
            let kinds = [row.definitions, row.callables, row.containers, row.declarations];
            for patterns in kinds {
                assert_eq!(
                    patterns.is_empty(),
                    compile(patterns).is_none(),
                    "{:?}",
                    row.endings
                );
            }
        }
    }

    #[test]
    fn a_file_has_the_language_of_its_ending_or_name() {
        assert_eq!(language_of("a/b.PY").comments(), Comments::HashesAndQuotes);
        assert_eq!(language_of("Makefile").comments(), Comments::Hashes);
        assert_eq!(language_of("x.unheard").comments(), Comments::Slashes);
    }
}
