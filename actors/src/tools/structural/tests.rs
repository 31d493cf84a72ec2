use super::files::Pace;
use super::{recover, replace, search};
use crate::gateways::{Reach, ToolAnswer, ToolPlace};
use crate::tools::place::Workspace;
use crate::tools::wire::arguments;
use impresario_policies::domain::FileState;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A workspace, and beside it the place for records.
struct World {
    place: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self {
            place: tempfile::tempdir().expect("a directory"),
        };
        fs::create_dir(world.root()).expect("a directory");
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("in")
    }

    fn records(&self) -> PathBuf {
        self.place.path().join("records")
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root().join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        fs::write(file, text).expect("a file");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect(path)
    }

    fn tool_place(&self, cancelled: &CancellationToken) -> ToolPlace {
        ToolPlace {
            workspace: self.root(),
            reach: Reach::Workspace,
            readable: Vec::new(),
            cancelled: cancelled.clone(),
        }
    }

    fn workspace(&self) -> Workspace {
        Workspace::of(&self.tool_place(&CancellationToken::new())).expect("the workspace")
    }

    fn search(&self, given: Value) -> Result<ToolAnswer, String> {
        let pace = Pace::begin(&CancellationToken::new());
        search::look(&arguments(&given)?, &self.workspace(), &pace)
    }

    fn replace(&self, given: Value) -> Result<ToolAnswer, String> {
        self.replace_until(given, &CancellationToken::new())
    }

    fn replace_until(&self, given: Value, cancelled: &CancellationToken) -> Result<ToolAnswer, String> {
        let pace = Pace::begin(cancelled);
        replace::replace(
            &arguments(&given)?,
            &self.workspace(),
            Some(&self.records()),
            &pace,
        )
    }

    /// Every file below the workspace with its bytes, whatever its name.
    fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn add(directory: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    add(&path, tree);
                } else {
                    tree.insert(path.clone(), fs::read(&path).expect("a file"));
                }
            }
        }
        let mut tree = BTreeMap::new();
        add(&self.root(), &mut tree);
        tree
    }
}

fn three_files() -> World {
    World::new(&[
        ("a.rs", "fn a() { x.unwrap(); }\n"),
        (
            "src/b.rs",
            "fn b() {\n    y.unwrap();\n    // z.unwrap()\n    z.unwrap()\n}\n",
        ),
        ("src/c.py", "x.unwrap()\n"),
    ])
}

fn unwraps() -> Value {
    json!({ "pattern": "$A.unwrap()", "lang": "rust" })
}

fn to_question_marks(dry_run: bool) -> Value {
    json!({ "pattern": "$A.unwrap()", "lang": "rust", "rewrite": "$A?", "dryRun": dry_run })
}

#[test]
fn places_are_told_by_path_line_and_column_in_the_order_of_paths() {
    let found = three_files().search(unwraps()).expect("found");
    let expected = "Found 3 match(es):\n\na.rs:1:9\nfn a() { x.unwrap(); }\n\nsrc/b.rs:2:4\n    y.unwrap();\n\nsrc/b.rs:4:4\n    z.unwrap()\n";
    assert_eq!(found.text, expected);
    assert_eq!(found.receipt.read, ["a.rs", "src/b.rs"]);
    assert!(found.receipt.changed.is_empty());
}

#[test]
fn what_ignore_files_name_what_is_no_text_and_what_lies_outside_is_not_searched() {
    let world = three_files();
    world.write(".gitignore", "gone/\n");
    world.write("gone/d.rs", "x.unwrap()");
    fs::write(world.root().join("binary.rs"), b"x.unwrap() \xff").expect("a file");
    fs::write(world.root().join("large.rs"), "x.unwrap();".repeat(200_000)).expect("a file");
    fs::write(world.place.path().join("outside.rs"), "x.unwrap()").expect("a file");
    symlink(
        world.place.path().join("outside.rs"),
        world.root().join("link.rs"),
    )
    .expect("a link");
    let found = world.search(unwraps()).expect("found");
    assert!(found.text.starts_with("Found 3 match(es)"), "{}", found.text);
    assert!(
        found.text.contains("(1 file(s) left out: larger than 2 MB)"),
        "{}",
        found.text
    );
    assert!(
        found.text.contains("(1 file(s) left out: no UTF-8)"),
        "{}",
        found.text
    );
    for path in ["..", "/", "link.rs", "../outside.rs"] {
        let refused = world.search(json!({ "pattern": "$A.unwrap()", "lang": "rust", "paths": [path] }));
        assert!(refused.is_err_and(|why| why.contains("outside")), "{path}");
    }
}

#[test]
fn paths_and_globs_narrow_and_no_path_is_an_option() {
    let world = three_files();
    world.write("-x/d.rs", "fn d() { x.unwrap() }");
    let count = |given: Value| {
        let found = world.search(merged(unwraps(), given)).expect("found");
        found.text.lines().next().unwrap_or_default().to_string()
    };
    assert_eq!(count(json!({})), "Found 4 match(es):");
    assert_eq!(count(json!({ "paths": ["-x"] })), "Found 1 match(es):");
    assert_eq!(count(json!({ "paths": ["src"] })), "Found 2 match(es):");
    assert_eq!(
        count(json!({ "paths": ["src", "src/b.rs", "a.rs"] })),
        "Found 3 match(es):"
    );
    assert_eq!(count(json!({ "globs": ["src/**"] })), "Found 2 match(es):");
    assert_eq!(count(json!({ "globs": ["!src/"] })), "Found 2 match(es):");
    assert_eq!(count(json!({ "globs": ["*.py"] })), "No matches found.");
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

#[test]
fn a_hundred_places_are_shown_and_all_are_counted() {
    let files: Vec<(String, String)> = (0..30)
        .map(|number| (format!("f{number:02}.rs"), "fn f() { x.unwrap(); }\n".repeat(10)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let found = World::new(&files).search(unwraps()).expect("found");
    assert!(found.text.starts_with("Found 300 match(es):"));
    assert!(found.text.contains("(100 of 300 shown;"));
    assert!(found.text.contains("\nf09.rs:10:9\n") && !found.text.contains("\nf10.rs"));
}

#[test]
fn bad_input_says_what_to_do() {
    let world = three_files();
    for (given, says) in [
        (json!({}), "Give a `pattern`, or a `rule`"),
        (json!({ "pattern": "a", "rule": "b", "lang": "rust" }), "not both"),
        (
            json!({ "pattern": "a" }),
            "The language is missing; there are bash, c,",
        ),
        (
            json!({ "pattern": "a", "lang": "rust", "globs": ["[z"] }),
            "A glob cannot be used",
        ),
        (
            json!({ "pattern": "a", "lang": "rust", "paths": "src" }),
            "The arguments cannot be used",
        ),
        (
            json!({ "pattern": "a", "lang": "rust", "paths": ["nowhere"] }),
            "nowhere",
        ),
    ] {
        let refused = world.search(given).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    }
    let refused = world.replace(unwraps()).expect_err("no replacement");
    assert!(refused.contains("Give `rewrite`"), "{refused}");
}

#[test]
fn nothing_changes_unless_it_is_said_so() {
    let world = three_files();
    let before = world.tree();
    for given in [
        to_question_marks(true),
        merged(to_question_marks(true), json!({ "dryRun": null })),
    ] {
        if let Ok(shown) = world.replace(given) {
            assert!(
                shown.text.starts_with("Would replace 3 match(es) in 2 file(s)."),
                "{}",
                shown.text
            );
            assert!(shown.text.contains(
                "--- a/src/b.rs\n+++ b/src/b.rs\n@@ -1,5 +1,5 @@\n fn b() {\n-    y.unwrap();\n+    y?;\n"
            ));
            assert!(shown.receipt.changed.is_empty());
        }
        assert_eq!(world.tree(), before);
    }
    assert!(!world.records().exists());
}

#[test]
fn what_is_replaced_is_in_the_receipt_and_can_be_taken_back() {
    let world = three_files();
    let before = world.tree();
    let file = world.root().join("a.rs");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    let applied = world.replace(to_question_marks(false)).expect("applied");
    assert_eq!(world.text("a.rs"), "fn a() { x?; }\n");
    assert_eq!(
        world.text("src/b.rs"),
        "fn b() {\n    y?;\n    // z.unwrap()\n    z?\n}\n"
    );
    assert_eq!(world.text("src/c.py"), "x.unwrap()\n");
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o7777, 0o755);
    assert!(
        applied.text.contains("a.rs: 1\nsrc/b.rs: 2\n"),
        "{}",
        applied.text
    );
    let changed: Vec<(&str, bool)> = applied
        .receipt
        .changed
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                file.after == Some(FileState::of(&fs::read(world.root().join(&file.path)).unwrap())),
            )
        })
        .collect();
    assert_eq!(changed, [("a.rs", true), ("src/b.rs", true)]);
    // The patch that lies in the record is one that git takes back.
    let patch = world.records().join("1/changes.patch");
    let git = Command::new("git")
        .args(["apply", "-R", "--check"])
        .arg(&patch)
        .current_dir(world.root())
        .status();
    assert!(git.is_ok_and(|status| status.success()));
    let undone = world.replace(json!({ "undo": "1" })).expect("undone");
    assert!(
        undone.text.starts_with("Took back replacement 1; 2 file(s)"),
        "{}",
        undone.text
    );
    assert_eq!(world.tree(), before);
    for (number, says) in [
        ("1", "taken back already"),
        ("2", "There is no replacement"),
        ("../1", "There is no replacement"),
    ] {
        let refused = world.replace(json!({ "undo": number })).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn a_file_that_somebody_changed_is_theirs() {
    let world = three_files();
    world.replace(to_question_marks(false)).expect("applied");
    world.write("src/b.rs", "mine\n");
    let before = world.tree();
    let refused = world.replace(json!({ "undo": "1" })).expect_err("theirs");
    assert!(
        refused.starts_with("Nothing is taken back") && refused.ends_with("\nsrc/b.rs"),
        "{refused}"
    );
    assert_eq!(world.tree(), before);
}

#[test]
fn another_workspace_takes_nothing_back() {
    let world = three_files();
    world.replace(to_question_marks(false)).expect("applied");
    let other = World::new(&[]);
    let pace = Pace::begin(&CancellationToken::new());
    let given = arguments(&json!({ "undo": "1" })).expect("arguments");
    let refused = replace::replace(&given, &other.workspace(), Some(&world.records()), &pace);
    assert!(refused.is_err_and(|why| why.contains("not of this workspace")));
    assert_eq!(world.text("a.rs"), "fn a() { x?; }\n");
}

#[test]
fn one_file_that_cannot_be_replaced_leaves_all_as_they_were() {
    let world = three_files();
    fs::hard_link(world.root().join("src/b.rs"), world.place.path().join("other")).expect("a link");
    let before = world.tree();
    let refused = world
        .replace(to_question_marks(false))
        .expect_err("it has another name");
    assert!(
        refused.starts_with("Nothing is changed:") && refused.contains("hard links"),
        "{refused}"
    );
    assert_eq!(world.tree(), before);
    fs::remove_file(world.place.path().join("other")).expect("removed");
    world.replace(to_question_marks(false)).expect("applied");
}

#[test]
fn nobody_waits_and_nothing_is_changed() {
    let world = three_files();
    let before = world.tree();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert!(world.replace_until(to_question_marks(false), &cancelled).is_err());
    assert_eq!(world.tree(), before);
}

#[test]
fn a_search_ends_when_nobody_waits_for_it() {
    // One match that looks at every pair of nodes: without an end it would take hours.
    let rule = "rule:\n  kind: source_file\n  has:\n    stopBy: end\n    all:\n      - kind: block\n      - has: {stopBy: end, kind: integer_literal, inside: {stopBy: end, has: {stopBy: end, pattern: nowhere}}}\n";
    let world = World::new(&[("a.rs", &format!("fn f() {{ {} }}", "g(1); ".repeat(30_000)))]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let cancelled = CancellationToken::new();
    let place = world.tool_place(&cancelled);
    let given = arguments(&json!({ "rule": rule, "lang": "rust" })).expect("arguments");
    let answered = runtime.block_on(async {
        let looking = search::run(given, &place, crate::context::local::HeavyWork::Aside);
        let cancelling = async {
            tokio::task::yield_now().await;
            cancelled.cancel();
        };
        let (answered, ()) = futures_util::future::join(looking, cancelling).await;
        answered
    });
    // Dropping the runtime waits for the thread: the look is over, not only left alone.
    drop(runtime);
    assert_eq!(
        answered.map(|answer| answer.text),
        Err("It was cancelled.".to_string())
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn applied_and_taken_back_is_the_same_bytes(
        files in prop::collection::vec("((x\\.unwrap\\(\\);|\"a\\.unwrap\\(\\)\"|//[a-zä]{0,5}|[a-c]\\(\\);)\r?\n?){0,12}", 1..6),
        rewrite in "(\\$A\\?|\\$A|\\$A\\.unwrap\\(\\)|f\\(\\$A,\n    \\$A\\)|)",
    ) {
        let named: Vec<(String, String)> = files
            .into_iter()
            .enumerate()
            .map(|(number, text)| (format!("d{}/f{number}.rs", number % 2), text))
            .collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let world = World::new(&named);
        let before = world.tree();
        let given = json!({ "pattern": "$A.unwrap()", "lang": "rust", "rewrite": rewrite, "dryRun": false });
        let applied = world.replace(given).expect("applied");
        let after = world.tree();
        let changed = before.iter().filter(|(path, text)| after.get(*path) != Some(text)).count();
        prop_assert_eq!(applied.receipt.changed.len(), changed);
        prop_assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        if changed > 0 {
            world.replace(json!({ "undo": "1" })).expect("undone");
        }
        prop_assert_eq!(world.tree(), before);
    }
}

/// Set for the process that is going to be killed: the place of the workspace.
const PLACE: &str = "IMPRESARIO_TEST_REPLACE_PLACE";
const FILES: usize = 40;

fn counted(number: usize) -> String {
    format!("fn f() {{ old({number}); }}\n")
}

/// No test of its own: the process that is killed by the test below. Does nothing when run as a test.
#[test]
fn replaces_until_it_is_killed() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let place = PathBuf::from(place);
    let workspace = Workspace::open(&place.join("in")).expect("the workspace");
    let (mut from, mut to) = ("old", "fresh");
    loop {
        let pace = Pace::begin(&CancellationToken::new());
        let given = json!({ "pattern": format!("{from}($A)"), "rewrite": format!("{to}($A)"), "lang": "rust", "dryRun": false });
        let given = arguments(&given).expect("arguments");
        replace::replace(&given, &workspace, Some(&place.join("records")), &pace).expect("applied");
        (from, to) = (to, from);
    }
}

/// How often the process may replace before it is killed differs from life to life.
const LIVES: u64 = 12;

#[test]
fn killed_at_any_moment_the_tree_is_all_old_or_all_new() {
    let files: Vec<(String, String)> = (0..FILES)
        .map(|number| (format!("f{number}.rs"), counted(number)))
        .collect();
    let named: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let world = World::new(&named);
    let old = world.tree();
    let new: BTreeMap<PathBuf, Vec<u8>> = old
        .iter()
        .map(|(path, text)| {
            (
                path.clone(),
                String::from_utf8_lossy(text).replace("old", "fresh").into_bytes(),
            )
        })
        .collect();
    let mut halves = 0;
    for life in 0..LIVES {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args([
                "--exact",
                "tools::structural::tests::replaces_until_it_is_killed",
                "--nocapture",
            ])
            .env(PLACE, world.place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        // It has made so many records and is somewhere in the files of the last one.
        let (begun, wanted) = (newest_record(&world), life % 3 + 1);
        let target = world.root().join(format!("f{}.rs", life as usize * 7 % FILES));
        let before = fs::read(&target).expect("a file");
        while newest_record(&world) < begun + wanted || fs::read(&target).is_ok_and(|now| now == before) {
            if let Some(ended) = child.try_wait().expect("a child") {
                panic!("it ended by itself: {ended}");
            }
        }
        child.kill().expect("killed");
        assert_eq!(child.wait().expect("a child").signal(), Some(9));
        let left = world.tree();
        halves += usize::from(left != old && left != new);
        assert_eq!(recover(&world.records()), Vec::<String>::new());
        let tree = world.tree();
        assert!(tree == old || tree == new, "half a replacement after life {life}");
        if tree == new {
            let back =
                json!({ "pattern": "fresh($A)", "rewrite": "old($A)", "lang": "rust", "dryRun": false });
            world.replace(back).expect("applied");
        }
    }
    assert!(
        halves > 0,
        "no life was ended in the middle, so that nothing was shown"
    );
}

fn newest_record(world: &World) -> u64 {
    let Ok(entries) = fs::read_dir(world.records()) else {
        return 0;
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.max().unwrap_or(0)
}

#[test]
fn what_was_cut_off_is_taken_back_but_for_what_somebody_changed() {
    let world = three_files();
    let before = world.tree();
    world.replace(to_question_marks(false)).expect("applied");
    let record = world.records().join("1");
    fs::remove_file(record.join("applied")).expect("as if it had been killed before its end");
    fs::write(world.root().join(".impresario-unfinished-0"), "half").expect("what it was writing");
    world.write("src/b.rs", "mine\n");
    let told = world
        .replace(to_question_marks(true))
        .expect_err("somebody has to look");
    assert!(
        told.contains("src/b.rs (what it was is ") && told.contains("/1/old-1)"),
        "{told}"
    );
    let after = world.tree();
    assert_eq!(after.len(), before.len(), "what was written beside is gone");
    assert_eq!(world.text("a.rs"), "fn a() { x.unwrap(); }\n");
    assert_eq!(world.text("src/b.rs"), "mine\n");
    assert!(world.replace(to_question_marks(true)).is_ok(), "it is told once");
}

#[test]
fn one_replacement_is_made_at_a_time() {
    let world = three_files();
    let held = super::records::Records::open(&world.records()).expect("held");
    let refused = world.replace(to_question_marks(false)).expect_err("held");
    assert!(refused.contains("Another replacement is being made"), "{refused}");
    drop(held);
    world.replace(to_question_marks(false)).expect("applied");
}
