use super::*;
use impresario_policies::anchored_edit::Anchor;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Stage {
    place: TempDir,
    grounds: Grounds,
}

impl Stage {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().join("in");
        fs::create_dir_all(root.join("d")).expect("directories");
        fs::write(place.path().join("secret"), "outside\n").expect("a file");
        for (name, text) in files {
            fs::write(root.join(name), text).expect("a file");
        }
        let grounds = Grounds::within(&root).expect("grounds");
        Self { place, grounds }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join("in").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).expect("it is there")
    }

    fn run(&self, call: &EditCall) -> Result<Edited, EditFault> {
        edit_file(
            call,
            &self.grounds,
            &SETTINGS,
            &FromDisk,
            &CancellationToken::new(),
        )
    }

    fn code(&self, call: &EditCall) -> &'static str {
        self.run(call).expect_err("refused").code()
    }

    fn names(&self) -> Vec<String> {
        names(&self.at(""))
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn append(path: &str, line: &str) -> EditCall {
    EditCall {
        path: path.into(),
        edits: vec![GivenEdit {
            op: "append".into(),
            lines: Some(vec![line.into()]),
            ..GivenEdit::default()
        }],
        ..EditCall::default()
    }
}

fn renamed(path: &str, to: &str) -> EditCall {
    EditCall {
        path: path.into(),
        rename: Some(to.into()),
        ..EditCall::default()
    }
}

fn deleted(path: &str) -> EditCall {
    EditCall {
        path: path.into(),
        delete: true,
        ..EditCall::default()
    }
}

#[test]
fn an_edit_is_in_the_file_with_its_mode_and_nothing_is_left_beside_it() {
    let stage = Stage::new(&[("f", "a\nb\n")]);
    fs::set_permissions(stage.at("f"), fs::Permissions::from_mode(0o754)).expect("a mode");
    let edit = GivenEdit {
        op: "replace".into(),
        pos: Some(Anchor::of(2, "b").to_string()),
        lines: Some(vec!["B".into()]),
        ..GivenEdit::default()
    };
    let call = EditCall {
        path: "./d/../f".into(),
        edits: vec![edit],
        ..EditCall::default()
    };
    let edited = stage.run(&call).expect("edited");
    assert_eq!(edited.outcome, Outcome::Updated { line_count: 2 });
    assert_eq!(edited.changed[0].path, "f");
    assert_eq!(stage.text("f"), "a\nB\n");
    assert_eq!(
        fs::metadata(stage.at("f")).expect("there").permissions().mode() & 0o7777,
        0o754
    );
    assert_eq!(stage.names(), ["d", "f"]);
    assert_eq!(stage.code(&call), "E_HASH_MISMATCH");
}

#[test]
fn links_are_followed_as_far_as_they_lead_inside() {
    let stage = Stage::new(&[("f", "a\n")]);
    symlink("../f", stage.at("d/link")).expect("a link");
    symlink(stage.place.path().join("secret"), stage.at("out")).expect("a link");
    symlink("nowhere", stage.at("gone")).expect("a link");
    symlink("round", stage.at("round")).expect("a link");
    stage.run(&append("d/link", "b")).expect("edited");
    assert_eq!(stage.text("f"), "a\nb\n");
    assert!(
        fs::symlink_metadata(stage.at("d/link"))
            .expect("there")
            .is_symlink()
    );
    for (path, code) in [
        ("out", "E_OUTSIDE"),
        ("../secret", "E_OUTSIDE"),
        ("../nothing", "E_OUTSIDE"),
        ("gone", "E_NOT_FOUND"),
        ("round", "E_WRITE_FAILED"),
        ("f/x", "E_NOT_A_FILE"),
        ("d", "E_NOT_A_FILE"),
        ("", "E_NOT_FOUND"),
        ("none", "E_NOT_FOUND"),
    ] {
        assert_eq!(stage.code(&append(path, "b")), code, "{path}");
    }
    assert_eq!(
        fs::read_to_string(stage.place.path().join("secret")).expect("there"),
        "outside\n"
    );
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let stage = Stage::new(&[]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        stage.at("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(stage.at("socket")).expect("a socket");
    for path in ["pipe", "socket"] {
        assert_eq!(stage.code(&append(path, "b")), "E_NOT_A_FILE");
        assert_eq!(stage.code(&deleted(path)), "E_NOT_A_FILE");
    }
    let anywhere = Grounds::anywhere(&stage.at("")).expect("grounds");
    let call = append("/dev/null", "b");
    let fault = edit_file(&call, &anywhere, &SETTINGS, &FromDisk, &CancellationToken::new());
    assert_eq!(fault.expect_err("refused").code(), "E_NOT_A_FILE");
}

#[test]
fn what_is_too_large_or_in_two_byte_letters_is_not_edited() {
    let stage = Stage::new(&[]);
    fs::write(stage.at("wide"), b"\xFF\xFEa\0\n\0").expect("a file");
    let large = fs::File::create(stage.at("large")).expect("a file");
    large.set_len(FILE_BYTES_MAX + 1).expect("a length");
    assert_eq!(stage.code(&append("wide", "b")), "E_NOT_UTF8");
    assert_eq!(stage.code(&append("large", "b")), "E_TOO_LARGE");
}

#[test]
fn a_file_with_several_names_is_left_alone_and_its_names_stay() {
    let stage = Stage::new(&[("f", "a\n")]);
    fs::hard_link(stage.at("f"), stage.at("twin")).expect("a link");
    assert_eq!(stage.code(&append("f", "b")), "E_HARD_LINKED");
    assert_eq!(stage.code(&renamed("f", "twin")), "E_NOT_RENAMED");
    assert_eq!(fs::metadata(stage.at("f")).expect("there").nlink(), 2);
    stage.run(&renamed("f", "g")).expect("renamed");
    assert_eq!(
        (stage.text("g"), stage.text("twin")),
        ("a\n".into(), "a\n".into())
    );
    stage.run(&deleted("g")).expect("deleted");
    assert_eq!(stage.text("twin"), "a\n");
}

#[test]
fn no_rename_can_lose_a_file() {
    let stage = Stage::new(&[("f", "a\n"), ("other", "o\n")]);
    symlink("f", stage.at("link")).expect("a link");
    symlink("nowhere", stage.at("dangling")).expect("a link");
    for (to, code) in [
        ("other", "E_NOT_RENAMED"),
        ("link", "E_NOT_RENAMED"),
        ("dangling", "E_NOT_RENAMED"),
        ("d", "E_NOT_RENAMED"),
        ("none/f", "E_NOT_RENAMED"),
        ("../f", "E_OUTSIDE"),
    ] {
        let call = EditCall {
            rename: Some(to.into()),
            ..append("f", "b")
        };
        assert_eq!(stage.code(&call), code, "{to}");
        assert_eq!(stage.text("f"), "a\n", "{to}");
    }
    assert_eq!(stage.code(&renamed("link", "g")), "E_NOT_RENAMED");
    for own in ["f", "./f", "d/../f"] {
        let edited = stage.run(&renamed("f", own)).expect("nothing to do");
        assert_eq!(edited.outcome, Outcome::Unchanged { line_count: 1 });
        assert_eq!(stage.text("f"), "a\n");
    }
    assert_eq!(stage.text("other"), "o\n");
    fs::set_permissions(stage.at("f"), fs::Permissions::from_mode(0o700)).expect("a mode");
    let call = EditCall {
        rename: Some("d/F".into()),
        ..append("f", "b")
    };
    let edited = stage.run(&call).expect("renamed");
    assert_eq!(edited.outcome, Outcome::Renamed { to: "d/F".into() });
    assert_eq!(stage.text("d/F"), "a\nb\n");
    assert_eq!(
        fs::metadata(stage.at("d/F")).expect("there").permissions().mode() & 0o7777,
        0o700
    );
    assert!(!stage.at("f").exists());
    stage.run(&renamed("other", "Other")).expect("renamed");
    assert_eq!(stage.names(), ["Other", "d", "dangling", "link"]);
}

#[test]
fn what_is_deleted_is_what_has_the_name() {
    let stage = Stage::new(&[("f", "a\n")]);
    symlink("f", stage.at("link")).expect("a link");
    stage.run(&deleted("link")).expect("deleted");
    assert_eq!(stage.text("f"), "a\n");
    assert_eq!(stage.code(&deleted("d")), "E_NOT_A_FILE");
    assert_eq!(stage.code(&deleted("none")), "E_NOT_FOUND");
    let both = EditCall {
        delete: true,
        ..append("f", "b")
    };
    assert_eq!(stage.code(&both), "E_INVALID_PATCH");
    let moved = EditCall {
        delete: true,
        ..renamed("f", "g")
    };
    assert_eq!(stage.code(&moved), "E_INVALID_PATCH");
    stage.run(&deleted("f")).expect("deleted");
    assert_eq!(stage.names(), ["d"]);
}

#[test]
fn nothing_is_written_where_nothing_changes_or_nobody_waits() {
    let stage = Stage::new(&[("f", "a\n")]);
    let inode = || fs::metadata(stage.at("f")).expect("there").ino();
    let before = inode();
    let call = EditCall {
        path: "f".into(),
        ..EditCall::default()
    };
    let edited = stage.run(&call).expect("nothing to do");
    assert_eq!(edited.outcome, Outcome::Unchanged { line_count: 1 });
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let fault = edit_file(
        &append("f", "b"),
        &stage.grounds,
        &SETTINGS,
        &FromDisk,
        &cancelled,
    );
    assert_eq!(fault.expect_err("cancelled").code(), "E_CANCELLED");
    assert_eq!(inode(), before);
}

/// What lies on the disk is another thing than what was written.
struct Misread;

impl ReadBack for Misread {
    fn read_back(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Ok(b"a\nx".to_vec())
    }
}

#[test]
fn what_cannot_be_read_back_is_taken_back_whole() {
    let stage = Stage::new(&[("f", "a\n")]);
    let inode = || fs::metadata(stage.at("f")).expect("there").ino();
    let before = inode();
    let fault = edit_file(
        &append("f", "b"),
        &stage.grounds,
        &SETTINGS,
        &Misread,
        &CancellationToken::new(),
    );
    let Err(EditFault::Unverified {
        difference,
        is_rolled_back: true,
        ..
    }) = fault
    else {
        panic!("{fault:?}");
    };
    assert_eq!((difference.line, difference.column), (2, 1));
    assert_eq!((stage.text("f"), inode()), ("a\n".into(), before));
    assert_eq!(stage.names(), ["d", "f"]);
}

/// Somebody else writes the file in the moment in which both have changed places.
struct Meddler(PathBuf);

impl ReadBack for Meddler {
    fn read_back(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::write(&self.0, "theirs\n")?;
        fs::rename(&self.0, path)?;
        fs::read(path)
    }
}

#[test]
fn what_somebody_else_put_there_meanwhile_stays() {
    let stage = Stage::new(&[("f", "a\n")]);
    let meddler = Meddler(stage.at("d/new"));
    let fault = edit_file(
        &append("f", "b"),
        &stage.grounds,
        &SETTINGS,
        &meddler,
        &CancellationToken::new(),
    );
    assert_eq!(fault.expect_err("refused").code(), "E_CHANGED");
    assert_eq!(stage.text("f"), "theirs\n");
    assert_eq!(stage.names(), ["d", "f"]);
}

#[test]
fn edits_of_one_file_wait_for_each_other() {
    let stage = Stage::new(&[("f", "")]);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let stage = &stage;
            scope.spawn(move || {
                for line in 0..20 {
                    stage
                        .run(&append("f", &format!("{number}.{line}")))
                        .expect("edited");
                }
            });
        }
    });
    let text = stage.text("f");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 160);
}
