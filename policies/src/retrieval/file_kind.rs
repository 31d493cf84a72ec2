//! What kind of file a path names, and how likely such a file is the answer to a question about the code.

use std::collections::BTreeSet;

/// What a file is for, as far as its path tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    Code,
    Documentation,
    /// Settings of the program or of its tools.
    Configuration,
    /// Programs that show how it is used.
    Example,
    /// Programs that check it.
    Test,
    /// Programs that measure it.
    Benchmark,
    /// Data: tables, snapshots, translations.
    Data,
    /// Somebody else's code, kept here.
    Vendored,
    /// Written by a program.
    Generated,
    /// What changed from version to version.
    Changelog,
    Legal,
    /// Versions of dependencies, pinned by a tool.
    Lock,
}

/// Says what kind of file this is. The path is relative to the workspace, with `/` between its parts.
pub fn classify_path(path: &str) -> FileKind {
    let lower = path.to_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let parts: BTreeSet<&str> = directories.split('/').collect();
    let has_part = |names: &[&str]| names.iter().any(|name| parts.contains(name));

    if is_lock_file(name) {
        FileKind::Lock
    } else if has_part(&[
        "vendor",
        "vendored",
        "_vendor",
        "_vendored",
        "third_party",
        "third-party",
        "thirdparty",
        "node_modules",
    ]) {
        FileKind::Vendored
    } else if is_generated_name(name) || has_part(&["__snapshots__", "snapshots", "generated"]) {
        FileKind::Generated
    } else if is_legal_name(name) || has_part(&["licenses", "licences"]) {
        FileKind::Legal
    } else if is_changelog_name(name) || has_part(&["changelogs", "changelog.d", ".changes"]) {
        FileKind::Changelog
    } else if is_test_name(name) || has_part(&TEST_DIRECTORIES) {
        FileKind::Test
    } else if has_part(&["bench", "benches", "benchmark", "benchmarks"]) || name.starts_with("bench_") {
        FileKind::Benchmark
    } else if has_part(&["example", "examples", "sample", "samples", "demo", "demos"]) {
        FileKind::Example
    } else {
        classify_extension(name)
    }
}

const TEST_DIRECTORIES: [&str; 13] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "testdata",
    "test_data",
    "test-data",
    "fixtures",
    "__fixtures__",
    "e2e",
    "__mocks__",
];

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Whether a file pins versions for a tool: nothing in it is an answer.
pub fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let locks = [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "go.sum",
        "bun.lockb",
    ];
    extension(name) == "lock" || locks.contains(&name)
}

fn is_generated_name(name: &str) -> bool {
    let marks = [
        ".min.js",
        ".min.css",
        ".pb.go",
        "_pb2.py",
        ".pb.rs",
        ".generated.",
        ".g.dart",
        ".map",
        ".snap",
    ];
    marks.iter().any(|mark| name.contains(mark))
        || stem(name).contains("bindgen")
        || stem(name).starts_with("bindings")
}

fn is_legal_name(name: &str) -> bool {
    let names = [
        "license",
        "licence",
        "copying",
        "copyright",
        "notice",
        "authors",
        "contributors",
        "maintainers",
        "code_of_conduct",
        "code-of-conduct",
        "patents",
        "unlicense",
    ];
    let stem = stem(name);
    let prefixed =
        stem.starts_with("license-") || stem.starts_with("licence-") || stem.starts_with("copying-");
    let readable = ["", "md", "txt", "rst", "mit", "html"].contains(&extension(name)) || prefixed;
    readable && (prefixed || names.contains(&stem))
}

fn is_changelog_name(name: &str) -> bool {
    let stems = [
        "changelog",
        "changes",
        "history",
        "news",
        "releases",
        "release_notes",
        "release-notes",
        "whatsnew",
    ];
    stems.contains(&stem(name)) && ["", "md", "txt", "rst", "adoc"].contains(&extension(name))
}

fn is_test_name(name: &str) -> bool {
    let stem = stem(name);
    let by_stem = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || ["test", "tests", "conftest"].contains(&stem);
    let by_infix = name.contains(".test.") || name.contains(".spec.") || name.contains("-test.");
    let of_java = [
        "test.java",
        "tests.java",
        "test.kt",
        "tests.cs",
        "test.php",
        "tests.swift",
    ];
    by_stem || by_infix || of_java.iter().any(|ending| name.ends_with(ending))
}

fn classify_extension(name: &str) -> FileKind {
    match extension(name) {
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "org" | "txt" | "pod" | "tex" | "texi" => {
            FileKind::Documentation
        }
        "1" | "2" | "3" | "5" | "7" | "8" | "man" => FileKind::Documentation,
        "" if ["readme", "todo", "install", "contributing"].contains(&name) => FileKind::Documentation,
        "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "env" | "properties" | "gradle" | "nix"
        | "cmake" | "mk" | "am" | "ac" | "in" | "bazel" | "bzl" | "plist" => FileKind::Configuration,
        "json" | "jsonc" | "json5"
            if stem(name).ends_with("config")
                || ["package", "tsconfig", "composer"].contains(&stem(name)) =>
        {
            FileKind::Configuration
        }
        "json" | "jsonl" | "ndjson" | "csv" | "tsv" | "xml" | "svg" | "po" | "pot" | "ipynb" | "log"
        | "diff" | "patch" | "orig" | "dat" | "html" | "htm" | "css" | "scss" | "less" => FileKind::Data,
        "" => FileKind::Configuration,
        _ => FileKind::Code,
    }
}

/// How much a file of this kind counts, from 0 to 1, where `asked_for` are the kinds the question names itself.
pub fn weigh_kind(kind: FileKind, asked_for: &BTreeSet<FileKind>) -> f64 {
    if asked_for.contains(&kind) {
        return 1.0;
    }
    match kind {
        FileKind::Code => 1.0,
        FileKind::Documentation => 0.5,
        FileKind::Configuration => 0.4,
        FileKind::Example => 0.55,
        FileKind::Test => 0.45,
        FileKind::Benchmark => 0.4,
        FileKind::Data => 0.35,
        FileKind::Vendored => 0.3,
        FileKind::Generated => 0.3,
        FileKind::Changelog => 0.25,
        FileKind::Legal => 0.1,
        FileKind::Lock => 0.02,
    }
}

/// The kinds a question asks for by name, from the stems of its words.
pub fn kinds_asked_for<'a>(stems: impl IntoIterator<Item = &'a str>) -> BTreeSet<FileKind> {
    stems.into_iter().flat_map(kinds_named).copied().collect()
}

fn kinds_named(stem: &str) -> &'static [FileKind] {
    match stem {
        "test" | "fixtur" | "unittest" => &[FileKind::Test],
        "benchmark" | "bench" => &[FileKind::Benchmark],
        "exampl" | "sampl" | "demo" | "tutori" => &[FileKind::Example, FileKind::Documentation],
        "changelog" => &[FileKind::Changelog],
        "licens" | "licenc" | "copyright" => &[FileKind::Legal],
        "depend" | "configur" | "workflow" | "lint" | "docker" | "makefil" => &[FileKind::Configuration],
        "readm" | "document" | "doc" | "guid" | "manual" => &[FileKind::Documentation],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, kind: FileKind) {
        assert_eq!(classify_path(path), kind, "{path}");
    }

    #[test]
    fn the_program_is_code() {
        check("src/lib.rs", FileKind::Code);
        check("cmd/latest/main.go", FileKind::Code);
        check("lib/contest.py", FileKind::Code);
    }

    #[test]
    fn tests_are_known_in_every_language() {
        for path in [
            "tests/a.rs",
            "src/foo_test.go",
            "src/a.test.ts",
            "test_x.py",
            "src/FooTest.java",
            "spec/a_spec.rb",
        ] {
            check(path, FileKind::Test);
        }
    }

    #[test]
    fn what_a_program_wrote_is_no_source() {
        check("Cargo.lock", FileKind::Lock);
        check("dist/app.min.js", FileKind::Generated);
        check("api/service.pb.go", FileKind::Generated);
    }

    #[test]
    fn text_for_people_is_told_apart() {
        check("Cargo.toml.orig", FileKind::Data);
        check("README.md", FileKind::Documentation);
        check("CHANGELOG.md", FileKind::Changelog);
        check("LICENSE-MIT", FileKind::Legal);
        check("src/license.rs", FileKind::Code);
        check("src/history.rs", FileKind::Code);
    }

    #[test]
    fn a_question_about_tests_lifts_the_tests() {
        let asked = kinds_asked_for(["test"]);
        assert_eq!(weigh_kind(FileKind::Test, &asked), 1.0);
        assert!(weigh_kind(FileKind::Test, &BTreeSet::new()) < 0.5);
    }
}
