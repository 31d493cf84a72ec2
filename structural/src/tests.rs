use crate::{Ended, Hit, Language, Query, QueryError, Replaced, Wanted, Watch};
use impresario_policies::structural::edits::Edit;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

fn pattern(language: &str, pattern: &str) -> Query {
    Query::compile(Some(language), Wanted::Pattern(pattern), None).expect(pattern)
}

fn found(query: &Query, text: &str) -> Vec<String> {
    assert!(query.may_match(text.as_bytes()) || query.search(text, 1, &always()).unwrap().total == 0);
    let hits = query.search(text, 100, &always()).expect("looked through");
    assert_eq!(hits.total, hits.first.len());
    hits.first
        .iter()
        .map(|hit| text[hit.bytes.clone()].to_string())
        .collect()
}

fn always() -> Rc<Watch> {
    Watch::new(|| false)
}

fn replaced(query: &Query, text: &str) -> String {
    let edits = query.replace(text, 100, &always()).expect("looked through").edits;
    let mut new = text.to_string();
    for edit in edits.into_iter().rev() {
        new.replace_range(edit.bytes, &edit.text);
    }
    new
}

/// One place of each, and what is like it but is not it.
const SAMPLES: [(&str, &str, &str, &str); 14] = [
    (
        "rust",
        "$A.unwrap()",
        "fn f() { // x.unwrap()\n  a.b()\n   .unwrap(); \"x.unwrap()\"; }",
        "a.b()\n   .unwrap()",
    ),
    (
        "typescript",
        "console.log($$$ARGS)",
        "console.log(1,\n 2); console.warn(1) // console.log(3)",
        "console.log(1,\n 2)",
    ),
    (
        "tsx",
        "<Button $$$P />",
        "const a = <Button x={1} />; const b = <Link />",
        "<Button x={1} />",
    ),
    ("javascript", "var $A = $B", "var a = 1; let b = 2", "var a = 1;"),
    (
        "python",
        "print($X)",
        "def f():\n    print(1)\n    printf(2)",
        "print(1)",
    ),
    (
        "go",
        "if $E != nil { return $E }",
        "package p\nfunc f() error {\n if err != nil { return err }\n if err != nil { return nil }\n return nil\n}",
        "if err != nil { return err }",
    ),
    (
        "java",
        "System.out.println($X)",
        "class A { void f() { System.out.println(1); System.err.println(2); } }",
        "System.out.println(1)",
    ),
    (
        "c",
        "int $N = 0;",
        "int f(void) { int x = 0; int y = 1; return x; }",
        "int x = 0;",
    ),
    (
        "cpp",
        "throw $E;",
        "void f() { throw Bad(1); g(); } // throw x;",
        "throw Bad(1);",
    ),
    (
        "csharp",
        "Foo($A, $B)",
        "class A { void F() { Foo(1, 2); Foo(1); } }",
        "Foo(1, 2)",
    ),
    ("ruby", "puts $X", "puts 1\nprint 2\n", "puts 1"),
    ("bash", "rm -rf $X", "rm -rf a\nrm b\n", "rm -rf a"),
    (
        "kotlin",
        "println($X)",
        "fun main() { println(1); print(2) }",
        "println(1)",
    ),
    ("json", "\"a\"", "{\"a\": \"b\"}", "\"a\""),
];

#[test]
fn code_is_found_and_text_like_it_is_not() {
    for (language, code, text, expected) in SAMPLES {
        assert_eq!(found(&pattern(language, code), text), [expected], "{language}");
    }
}

#[test]
fn every_language_has_a_parser_and_goes_by_its_own_name() {
    let names: BTreeSet<String> = Language::all().map(|language| language.to_string()).collect();
    assert_eq!(names.len(), 29);
    for name in &names {
        let query = Query::compile(Some(name), Wanted::Pattern("$A"), None);
        assert!(
            query.is_ok_and(|query| query.search("a", 1, &always()).is_ok()),
            "{name}"
        );
    }
}

#[test]
fn a_file_is_of_the_language_of_its_ending() {
    for (file, name) in [
        ("a/b.rs", "rust"),
        ("x.tsx", "tsx"),
        ("x.mts", "typescript"),
        ("m.py", "python"),
        ("k.tf", "hcl"),
    ] {
        let language = Language::of_file(Path::new(file)).expect(file);
        assert_eq!(language.to_string(), name);
    }
    assert_eq!(Language::of_file(Path::new("Makefile")), None);
}

#[test]
fn a_place_is_told_by_line_and_characters() {
    let hits = pattern("rust", "f($A)").search("fn g() {\n  \"äö\"; f(1); }", 9, &always());
    let hit = Hit {
        bytes: 19..23,
        line: 2,
        column: 8,
    };
    assert_eq!(hits.map(|hits| hits.first), Ok(vec![hit]));
}

#[test]
fn what_is_not_shown_is_counted() {
    let hits = pattern("rust", "$A + 1")
        .search("fn f() { a + 1; b + 1; c + 1; }", 2, &always())
        .unwrap();
    assert_eq!((hits.first.len(), hits.total), (2, 3));
}

#[test]
fn a_match_becomes_what_the_replacement_says_and_nothing_else_moves() {
    let query = Query::compile(Some("js"), Wanted::Pattern("var $A = $B"), Some("const $A = $B")).unwrap();
    assert_eq!(
        replaced(&query, "var a = 1 /* x */;\r\n\tvar b = {c:  2};"),
        "const a = 1 /* x */;\r\n\tconst b = {c:  2};"
    );
    let query = Query::compile(Some("rust"), Wanted::Pattern("f($$$A)"), Some("g(0, $$$A)")).unwrap();
    let Replaced { edits, inside } = query.replace("fn m() { f(1, f(2)); }", 9, &always()).unwrap();
    assert_eq!(
        edits,
        [Edit {
            bytes: 9..19,
            text: "g(0, 1, f(2))".into()
        }]
    );
    assert_eq!(inside, 1);
}

#[test]
fn a_rule_finds_by_kind_and_relation_and_brings_its_own_language_and_fix() {
    let rule = "language: rust\nrule:\n  pattern: $A.unwrap()\n  not:\n    inside:\n      kind: mod_item\n      stopBy: end\nfix: $A?\n";
    let query = Query::compile(None, Wanted::Rule(rule), None).unwrap();
    let text = "fn f() { a.unwrap(); }\nmod tests { fn g() { b.unwrap(); } }";
    assert_eq!(found(&query, text), ["a.unwrap()"]);
    assert_eq!(
        replaced(&query, text),
        "fn f() { a?; }\nmod tests { fn g() { b.unwrap(); } }"
    );
}

#[test]
fn a_rule_may_transform_what_it_binds() {
    let rule = "rule: {pattern: old($A)}\ntransform:\n  NEW: {convert: {source: $A, toCase: upperCase}}\nfix: fresh($NEW)";
    let query = Query::compile(Some("py"), Wanted::Rule(rule), None).unwrap();
    assert_eq!(replaced(&query, "old(abc)"), "fresh(ABC)");
}

fn check_refused(language: Option<&str>, wanted: Wanted<'_>, rewrite: Option<&str>, says: &str) {
    let error = Query::compile(language, wanted, rewrite).err().expect(says);
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn what_cannot_be_used_says_why() {
    use Wanted::{Pattern, Rule};
    check_refused(
        Some("cobol"),
        Pattern("x"),
        None,
        "no language \"cobol\"; there are bash, c, cpp",
    );
    check_refused(None, Pattern("x"), None, "the language is missing");
    check_refused(Some("rust"), Pattern("  "), None, "1 to 16000 bytes");
    check_refused(Some("rust"), Pattern("a; b"), None, "Multiple AST nodes");
    check_refused(
        Some("rust"),
        Pattern("f($A)"),
        Some("g($B)"),
        "$B, which the query does not bind; it binds $A",
    );
    check_refused(Some("rust"), Rule("- a"), None, "no mapping");
    check_refused(
        Some("rust"),
        Rule("pattern: x"),
        None,
        "\"pattern\" is not used here",
    );
    check_refused(Some("rust"), Rule("id: x"), None, "`rule` is missing");
    check_refused(Some("rust"), Rule("rule: {kind: nonsense}"), None, "nonsense");
    check_refused(Some("rust"), Rule("rule: {regex: x}"), None, "add a `kind`");
    check_refused(Some("rust"), Rule("rule: {pattern: a"), None, "line 1");
    check_refused(
        Some("go"),
        Rule("language: rust\nrule: {pattern: a}"),
        None,
        "for rust, and the call for go",
    );
    check_refused(
        Some("rust"),
        Rule("rule: {pattern: a}\nfix: b"),
        Some("c"),
        "leave one of them out",
    );
}

#[test]
fn no_query_fills_the_stack() {
    let deep = format!("{}1{}", "(".repeat(7_000), ")".repeat(7_000));
    let compiled = Query::compile(Some("rust"), Wanted::Pattern(&deep), None);
    assert_eq!(compiled.err(), Some(QueryError::TooDeep));
    let rule = format!("rule:\n  any:\n    - pattern: '{deep}'");
    let compiled = Query::compile(Some("rust"), Wanted::Rule(&rule), None);
    assert_eq!(compiled.err(), Some(QueryError::TooDeep));
    let rule = format!("rule: {}kind: x{}", "{not: {".repeat(1_500), "}}".repeat(1_500));
    assert!(matches!(
        Query::compile(Some("rust"), Wanted::Rule(&rule), None),
        Err(QueryError::Rule(_))
    ));
}

/// Runs on the stack that a blocking thread of the runtime has.
fn deep_text(query: &Query) -> Result<usize, Ended> {
    let levels = 20_000;
    let deep = format!(
        "fn f() {{ a({0}1{1}, {0}1{1}) }}",
        "!(".repeat(levels),
        ")".repeat(levels)
    );
    query.search(&deep, 5, &always()).map(|hits| hits.total)
}

#[test]
fn no_text_fills_the_stack() {
    let flat = pattern("rust", "a($A, $B)");
    assert_eq!(deep_text(&flat), Ok(1));
    // Both trees are compared level by level, by a function that calls itself.
    assert_eq!(deep_text(&pattern("rust", "a($A, $A)")), Err(Ended::TooDeep));
    let rule = "rule: {kind: unary_expression, matches: deep}\nutils:\n  deep:\n    any:\n      - kind: integer_literal\n      - has: {matches: deep}\n";
    let rule = Query::compile(Some("rust"), Wanted::Rule(rule), None).unwrap();
    assert_eq!(deep_text(&rule), Err(Ended::TooDeep));
    // The next text begins anew.
    assert_eq!(found(&flat, "fn f() { a(1, 2); }"), ["a(1, 2)"]);
}

#[test]
fn parsing_and_matching_end_when_they_are_told_to() {
    let text = format!("fn f() {{ {} }}", "g(h(1), 2); ".repeat(20_000));
    let query = pattern("rust", "g($A, $B)");
    let looks = |after: usize| {
        let count = Rc::new(Cell::new(0));
        let seen = Rc::clone(&count);
        let watch = Watch::new(move || {
            seen.set(seen.get() + 1);
            seen.get() > after
        });
        (query.search(&text, 5, &watch), count.get())
    };
    let (whole, all) = looks(usize::MAX);
    assert_eq!(whole.map(|hits| hits.total), Ok(20_000));
    assert!(all > 100, "looked {all} times");
    for after in [0, 1, all / 2, all - 1] {
        let (ended, count) = looks(after);
        assert_eq!(ended, Err(Ended::Unwanted), "after {after}");
        assert_eq!(count, after + 1);
    }
}

#[test]
fn one_match_that_looks_at_everything_ends_too() {
    let text = format!("fn f() {{ {} }}", "g(1); ".repeat(30_000));
    let rule = "rule:\n  kind: source_file\n  has:\n    stopBy: end\n    kind: call_expression\n    has: {pattern: nowhere, stopBy: end}\n";
    let query = Query::compile(Some("rust"), Wanted::Rule(rule), None).unwrap();
    let looks = Rc::new(Cell::new(0));
    let seen = Rc::clone(&looks);
    let watch = Watch::new(move || {
        seen.set(seen.get() + 1);
        false
    });
    assert_eq!(query.search(&text, 5, &watch).map(|hits| hits.total), Ok(0));
    let all = looks.get();
    let seen = Rc::clone(&looks);
    looks.set(0);
    let watch = Watch::new(move || {
        seen.set(seen.get() + 1);
        seen.get() > all - 100
    });
    assert_eq!(query.search(&text, 5, &watch), Err(Ended::Unwanted));
}
