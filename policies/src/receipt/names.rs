//! Which files does a text name?
//!
//! A file is recognised by its extension, or by a name that is known without one, so that versions, hosts and methods
//! are none. Linear in the text.

use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// So much of a result is searched for names: it is done between two messages.
const LOOKED_AT_BYTES_MAX: usize = 64 * 1024;
/// So many names of a result are kept, of so many bytes each.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 240;

/// A file that a text names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFile {
    /// As it is written.
    pub path: String,
    /// The line, where one stands with it.
    pub line: Option<u32>,
}

/// The files that a result names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamesSeen {
    /// Each once, in order.
    pub names: Vec<String>,
    /// There may be more.
    pub more: bool,
}

static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        /?
        (?:[\w@.+~\[\]-]+[/\\])*
        (?:
            [\w@.+~\[\]-]*[\w\])]\.(?:
                rs|toml|lock|tsx?|jsx?|mjs|cjs|mts|cts|py|pyi|ipynb|go|mod|sum|java|kts?|scala|groovy|gradle|
                c|h|cc|cpp|cxx|hh|hpp|cs|csproj|sln|fs|vb|m|mm|swift|rb|erb|gemspec|php|pl|pm|lua|r|jl|exs?|eex|erl|hrl|
                hs|ml|mli|cljs?|dart|zig|nim|v|sv|vhd|sh|bash|zsh|fish|ps1|bat|cmd|sql|graphql|proto|thrift|
                html?|xhtml|css|scss|sass|less|vue|svelte|astro|jsonl?|jsonc|json5|ya?ml|ini|cfg|conf|env|properties|
                xml|xsd|csv|tsv|mdx?|rst|adoc|txt|log|tex|tf|hcl|nix|mk|cmake|patch|diff|svg|snap
            )
          | Makefile | Dockerfile | Justfile | Gemfile | Rakefile | Procfile | Jenkinsfile | LICENSE | BUILD
        )
        (?-u:\b)
        ",
    )
    .ok()
});

/// What a result of a tool names, as far as is looked.
pub fn names_in_result(result: &str) -> NamesSeen {
    let looked_at = &result[..result.floor_char_boundary(LOOKED_AT_BYTES_MAX)];
    let mut seen = BTreeSet::new();
    let mut names = NamesSeen {
        names: Vec::new(),
        more: looked_at.len() < result.len(),
    };
    for file in files_in(looked_at) {
        if file.path.len() > NAME_BYTES_MAX || !seen.insert(file.path.clone()) {
            continue;
        }
        if names.names.len() == NAMES_MAX {
            names.more = true;
            return names;
        }
        names.names.push(file.path);
    }
    names
}

/// The files that an answer names outside of its code blocks, each once.
pub fn files_cited(answer: &str) -> Vec<NamedFile> {
    let mut seen = BTreeSet::new();
    let prose = without_code_blocks(answer);
    let cited = prose.iter().flat_map(|line| files_in(line));
    cited.filter(|file| seen.insert(file.clone())).collect()
}

/// The lines of a text that stand in no fenced block.
pub fn without_code_blocks(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut prose = Vec::new();
    for line in text.lines() {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => prose.push(line),
            (Some(_), _) => {}
        }
    }
    prose
}

fn files_in(text: &str) -> impl Iterator<Item = NamedFile> {
    let found = FILE.iter().flat_map(move |file| file.find_iter(text));
    found.filter_map(move |found| {
        // An address is no file of the workspace.
        if text[..found.start()].ends_with(":/") {
            return None;
        }
        let path = without_open_bracket(found.as_str()).replace('\\', "/");
        Some(NamedFile {
            path: path.strip_prefix("./").unwrap_or(&path).to_string(),
            line: line_behind(&text[found.end()..]),
        })
    })
}

/// `:12` or `#L12`, as it stands behind a name.
fn line_behind(rest: &str) -> Option<u32> {
    let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix("#L"))?;
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// `[a.rs` of a link; a directory that is called `[id]` has both.
fn without_open_bracket(path: &str) -> &str {
    match (path.strip_prefix('['), path.contains(']')) {
        (Some(inside), false) => inside,
        _ => path,
    }
}

/// Whether two names can mean one file: one of them may begin higher up.
pub fn may_be_same(one: &str, other: &str) -> bool {
    let ends_with = |long: &str, short: &str| {
        let before = long.strip_suffix(short);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['/', ' ']))
    };
    let plain = |path: &str| path.trim_start_matches("./").trim_start_matches('/').to_string();
    let (one, other) = (plain(one), plain(other));
    !one.is_empty() && !other.is_empty() && (ends_with(&one, &other) || ends_with(&other, &one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Option<u32>)]) {
        let found = files_cited(text);
        let found: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.line)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn files_are_found_as_people_and_models_write_them() {
        check("see `src/auth/login.rs:42`.", &[("src/auth/login.rs", Some(42))]);
        check(
            "src/a.rs#L10-L42 and ./b.py",
            &[("src/a.rs", Some(10)), ("b.py", None)],
        );
        check("(lib/x.test.ts:7:3)", &[("lib/x.test.ts", Some(7))]);
        check(
            "[a.rs:1](file:///w/src/a.rs#L1-L2)",
            &[("a.rs", Some(1)), ("/w/src/a.rs", Some(1))],
        );
        check(
            "**Makefile**:3 and Makefile:4",
            &[("Makefile", None), ("Makefile", Some(4))],
        );
        check("app/[id]/page.tsx:9", &[("app/[id]/page.tsx", Some(9))]);
        check("src\\win\\a.cs:5", &[("src/win/a.cs", Some(5))]);
        check("größe/übung.md:2", &[("größe/übung.md", Some(2))]);
        check(
            "`a.rs:1`, a.rs:1 and a.rs:2",
            &[("a.rs", Some(1)), ("a.rs", Some(2))],
        );
    }

    #[test]
    fn what_is_no_file_is_none() {
        check(
            "v1.2.3, e.g. 10.5, foo.bar(), localhost:8080, example.com:443",
            &[],
        );
        check("https://docs.rs/tokio/latest/src/tokio/lib.rs.html#12", &[]);
        check("self.state.apply(x) at 12:30", &[]);
        check("```sh\ncat src/a.rs:3\n```\nand ~~~\n", &[]);
    }

    #[test]
    fn code_is_left_out_and_prose_kept() {
        let text = "one\n```\ncode\n~~~\n```\ntwo";
        assert_eq!(without_code_blocks(text), ["one", "two"]);
    }

    #[test]
    fn what_a_result_names_is_bounded_and_says_so() {
        let few = names_in_result("src/a.rs:3: fn a\nsrc/a.rs:9: fn b\nREADME.md\n");
        assert_eq!(few.names, ["src/a.rs", "README.md"]);
        assert!(!few.more);
        let many: String = (0..100).map(|number| format!("src/f{number}.rs\n")).collect();
        let many = names_in_result(&many);
        assert_eq!((many.names.len(), many.more), (64, true));
        let long = format!("{}src/last.rs", "x ".repeat(100_000));
        assert!(names_in_result(&long).more);
    }

    #[test]
    fn a_name_may_begin_higher_up() {
        assert!(may_be_same("auth.rs", "src/auth.rs"));
        assert!(may_be_same("/w/src/auth.rs", "src/auth.rs"));
        assert!(may_be_same("file.rs", "src/my file.rs"));
        assert!(!may_be_same("auth.rs", "src/oauth.rs"));
        assert!(!may_be_same("src/a.rs", "lib/a.rs"));
        assert!(!may_be_same("", "a.rs"));
    }
}
