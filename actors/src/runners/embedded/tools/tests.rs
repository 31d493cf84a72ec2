use super::read::Shown;
use super::{find, grep, read};
use crate::tools::place::Workspace;
use impresario_policies::anchored_edit::Anchor;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn workspace() -> (TempDir, Workspace) {
    let place = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(place.path().join("in/src")).expect("directories");
    fs::write(place.path().join("secret"), "outside\n").expect("a file");
    fs::write(
        place.path().join("in/src/a.rs"),
        "fn a() {}\nfn größe() {}\nfn c() {}\n",
    )
    .expect("a file");
    fs::write(place.path().join("in/src/b.md"), "# fn\n").expect("a file");
    fs::write(place.path().join("in/image"), b"a\0b").expect("a file");
    symlink(place.path().join("secret"), place.path().join("in/link")).expect("a link");
    symlink(place.path(), place.path().join("in/up")).expect("a link");
    let workspace = Workspace::open(&place.path().join("in")).expect("the workspace");
    (place, workspace)
}

fn run_read(workspace: &Workspace, arguments: Value) -> Result<String, String> {
    read::run(workspace, &super::arguments(&arguments)?, Shown::Numbered)
}

fn run_grep(workspace: &Workspace, arguments: Value) -> Result<String, String> {
    grep::run(workspace, &super::arguments(&arguments)?)
}

fn run_find(workspace: &Workspace, arguments: Value) -> Result<String, String> {
    find::run(workspace, &super::arguments(&arguments)?)
}

#[test]
fn where_the_skill_lies_is_readable_too_and_nothing_a_link_there_leads_to() {
    let (place, workspace) = workspace();
    let skill = place.path().join("skill");
    fs::create_dir(&skill).expect("a directory");
    fs::write(skill.join("reference.md"), "how it is done\n").expect("a file");
    symlink(place.path().join("secret"), skill.join("link")).expect("a link");
    let workspace = workspace.reading(std::slice::from_ref(&skill));
    let read = |name: &str| {
        run_read(
            &workspace,
            json!({ "path": skill.join(name).display().to_string() }),
        )
    };
    assert!(read("reference.md").is_ok_and(|text| text.contains("how it is done")));
    assert!(read("link").is_err());
    assert!(read("../secret").is_err());
}

#[test]
fn no_path_leads_outside() {
    let (place, workspace) = workspace();
    let absolute = place.path().join("secret").display().to_string();
    for path in [
        "../secret",
        "src/../../secret",
        "link",
        "up/secret",
        "up/in/../secret",
        &absolute,
        "/etc/passwd",
        "",
    ] {
        let read = run_read(&workspace, json!({ "path": path }));
        assert!(read.is_err(), "{path}: {read:?}");
        assert!(!read.unwrap_err().contains("outside\n"));
    }
    for path in ["..", "up", "/"] {
        assert!(
            run_grep(&workspace, json!({ "pattern": "outside", "path": path })).is_err(),
            "{path}"
        );
        assert!(run_find(&workspace, json!({ "path": path })).is_err(), "{path}");
    }
    assert_eq!(
        run_grep(&workspace, json!({ "pattern": "outside" })).as_deref(),
        Ok("No line matches.")
    );
}

#[test]
fn an_absolute_path_inside_is_inside() {
    let (_place, workspace) = workspace();
    let path = workspace.root().join("src/a.rs").display().to_string();
    assert!(run_read(&workspace, json!({ "path": path })).is_ok());
}

#[test]
fn lines_are_read_with_their_numbers() {
    let (_place, workspace) = workspace();
    let read = run_read(&workspace, json!({ "path": "src/a.rs", "offset": 2, "limit": 1 }));
    let expected = "src/a.rs#L2-L2\n    2| fn größe() {}\n(1 of 3 lines shown; go on with offset 3)\n";
    assert_eq!(read.as_deref(), Ok(expected));
}

/// What is shown is what an edit takes: in a part of a file too, and of a line of which only the beginning is shown.
#[test]
fn anchors_are_those_of_the_lines_in_the_file() {
    let (place, workspace) = workspace();
    let long = "ü".repeat(4_000);
    fs::write(place.path().join("in/f"), format!("\u{FEFF}a\r\n\n{long}\nd")).expect("a file");
    let read = |arguments: Value| {
        let arguments = super::arguments(&arguments).expect("arguments");
        read::run(&workspace, &arguments, Shown::Anchored).expect("lines")
    };
    let anchor = |line: u64, text: &str| Anchor::of(line, text).to_string();
    let whole = read(json!({ "path": "f" }));
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines[0], "f#L1-L4");
    assert_eq!(lines[1], format!("{}|\u{FEFF}a", anchor(1, "a")));
    assert_eq!(lines[2], format!("{}|", anchor(2, "")));
    assert!(lines[3].starts_with(&format!("{}|üü", anchor(3, &long))) && lines[3].len() <= 1_000);
    let part = read(json!({ "path": "f", "offset": 4, "limit": 1 }));
    assert_eq!(part, format!("f#L4-L4\n{}|d\n", anchor(4, "d")));
    assert!(
        read(json!({ "path": "f", "limit": 1 })).ends_with("\n(1 of 4 lines shown; go on with offset 2)\n")
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    let (_place, workspace) = workspace();
    for (path, why) in [
        ("image", "not text"),
        ("src", "directory"),
        ("none.rs", "cannot be read"),
    ] {
        let read = run_read(&workspace, json!({ "path": path }));
        assert!(
            read.as_ref().is_err_and(|said| said.contains(why)),
            "{path}: {read:?}"
        );
    }
    assert!(run_read(&workspace, json!({ "path": "src/a.rs", "offset": 9 })).is_err());
    assert!(run_read(&workspace, json!({ "pth": "src/a.rs" })).is_err_and(|said| said.contains("path")));
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let (place, workspace) = workspace();
    fs::write(place.path().join("in/long"), "ü".repeat(4_000)).expect("a file");
    let read = run_read(&workspace, json!({ "path": "long" })).expect("the line");
    assert!(read.len() < 1_100);
    assert!(
        run_grep(&workspace, json!({ "pattern": "ü" }))
            .expect("a hit")
            .len()
            < 2_000
    );
}

#[test]
fn matching_lines_are_found_with_their_place() {
    let (_place, workspace) = workspace();
    let found = run_grep(
        &workspace,
        json!({ "pattern": "FN [ac]", "ignore_case": true, "glob": "*.rs" }),
    );
    assert_eq!(
        found.as_deref(),
        Ok("src/a.rs#L1-L1\n    1| fn a() {}\nsrc/a.rs#L3-L3\n    3| fn c() {}\n")
    );
}

#[test]
fn a_bad_pattern_is_explained() {
    let (_place, workspace) = workspace();
    assert!(run_grep(&workspace, json!({ "pattern": "(" })).is_err());
    assert!(run_grep(&workspace, json!({ "pattern": "" })).is_err());
    assert!(run_grep(&workspace, json!({ "pattern": "a{1000}{1000}{1000}" })).is_err());
}

#[test]
fn files_are_found_by_name_and_by_path() {
    let (_place, workspace) = workspace();
    assert_eq!(
        run_find(&workspace, json!({ "glob": "*.rs" })).as_deref(),
        Ok("src/a.rs\n")
    );
    assert_eq!(
        run_find(&workspace, json!({ "glob": "src/*.md" })).as_deref(),
        Ok("src/b.md\n")
    );
    assert_eq!(
        run_find(&workspace, json!({ "glob": "*.go" })).as_deref(),
        Ok("No file matches.")
    );
    assert_eq!(
        run_find(&workspace, Value::Null).as_deref(),
        Ok("image\nsrc/a.rs\nsrc/b.md\n")
    );
}
