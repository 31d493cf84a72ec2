use super::read::{ReadSession, read_session};
use super::store::budget::refresh_up_to;
use super::*;
use impresario_policies::anchors::recall::{RecallRequest, words_wanted};
use std::io::{Cursor, Read};
use std::path::Path;

fn anchor(id: &str, name: &str, summary: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","timestamp":"2026-01-02T00:00:00Z","message":{{"role":"toolResult","toolName":"context","content":[],"details":{{"anchor":{{"name":"{name}","targetId":"t","summary":"{summary}"}}}}}}}}"#
    )
}

fn head(cwd: &str) -> String {
    format!(r#"{{"type":"session","id":"S","cwd":"{cwd}"}}"#)
}

fn write(root: &Path, file: &str, lines: &[String]) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
    std::fs::write(path, lines.join("\n")).expect("written");
}

fn request(keyword: &str) -> RecallRequest {
    RecallRequest {
        words: words_wanted(keyword),
        everywhere: false,
        limit: 10,
        offset: 0,
    }
}

fn names(store: &SessionStore, sessions: &SessionFiles, keyword: &str) -> Vec<String> {
    let recalled = store
        .recall(sessions, "/here", &request(keyword))
        .expect("looked");
    assert_eq!(recalled.unread, 0);
    recalled.found.into_iter().map(|anchor| anchor.name).collect()
}

/// Gives a few bytes at a time, so that lines are cut everywhere.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let some = into.len().min(7);
        self.0.read(&mut into[..some])
    }
}

fn read(text: &str) -> ReadSession {
    let whole = read_session(text.as_bytes(), u64::MAX).expect("read");
    let slow = read_session(Slow(Cursor::new(text.as_bytes().to_vec())), u64::MAX).expect("read");
    assert_eq!(whole, slow);
    whole
}

#[test]
fn a_file_is_read_whatever_stands_in_it() {
    let endless = format!(
        "{}{}",
        "x".repeat(2 << 20),
        anchor("e0", "endless", "in one line with it")
    );
    let deep = format!(r#"{{"anchor":{}}}"#, "[".repeat(10_000));
    let text = [
        head("/here"),
        "not JSON, with \"anchor\" in it".to_string(),
        anchor("e1", "first", "one"),
        String::new(),
        endless,
        deep,
        anchor("e2", "second", "two").replace("context", "another"),
        anchor("e3", "", "no name"),
        anchor("e4", "third", "three"),
        anchor("e5", "cut off", "before its end").replace("}}}}", ""),
    ];
    let session = read(&text.join("\n"));
    assert_eq!(
        (session.head.id.as_str(), session.head.cwd.as_deref()),
        ("S", Some("/here"))
    );
    let names: Vec<&str> = session
        .anchors
        .iter()
        .map(|anchor| anchor.name.as_str())
        .collect();
    assert_eq!(names, ["first", "third"]);
    assert_eq!(read(""), ReadSession::default());
    let headless = read(&anchor("e1", "headless", "no head"));
    assert_eq!((headless.head.id.as_str(), headless.anchors.len()), ("", 1));
}

#[test]
fn what_changed_is_read_again_and_what_is_gone_is_forgotten() {
    let directory = tempfile::tempdir().expect("a directory");
    let sessions = SessionFiles::Below(directory.path().join("sessions"));
    let root = directory.path().join("sessions");
    let store = SessionStore::new(Some(directory.path().join("cache")));
    assert_eq!(names(&store, &sessions, "otter"), [""; 0]);
    write(
        &root,
        "a/1.jsonl",
        &[head("/here"), anchor("e1", "Otter", "washed")],
    );
    write(
        &root,
        "b/2.jsonl",
        &[head("/there"), anchor("e1", "otter there", "washed")],
    );
    write(
        &root,
        "too/deep/3.jsonl",
        &[head("/here"), anchor("e1", "otter below", "washed")],
    );
    write(
        &root,
        "a/4.txt",
        &[head("/here"), anchor("e1", "otter as text", "washed")],
    );
    assert_eq!(names(&store, &sessions, "otter WASHED"), ["Otter"]);
    write(
        &root,
        "a/1.jsonl",
        &[
            head("/here"),
            anchor("e1", "Otter", "washed"),
            anchor("e2", "seal", "an otter's friend"),
        ],
    );
    let again = SessionStore::new(Some(directory.path().join("cache")));
    assert_eq!(names(&again, &sessions, "otter"), ["Otter", "seal"]);
    std::fs::remove_file(root.join("a/1.jsonl")).expect("removed");
    assert_eq!(names(&store, &sessions, "otter"), [""; 0]);
    let here = SessionFiles::In(root.join("b"));
    let everywhere = RecallRequest {
        everywhere: true,
        ..request("otter")
    };
    let found = store.recall(&here, "/here", &everywhere).expect("looked");
    assert_eq!((found.total, found.found[0].file.as_str()), (1, "2.jsonl"));
}

#[test]
fn a_look_reads_so_much_and_the_next_one_the_rest() {
    let directory = tempfile::tempdir().expect("a directory");
    let sessions = SessionFiles::In(directory.path().to_path_buf());
    for file in ["1.jsonl", "2.jsonl", "3.jsonl"] {
        write(
            directory.path(),
            file,
            &[head("/here"), anchor("e", "otter", file)],
        );
    }
    let store = SessionStore::new(None);
    assert_eq!(refresh_up_to(&store, &sessions, 1), 2);
    assert_eq!(refresh_up_to(&store, &sessions, 1), 1);
    assert_eq!(names(&store, &sessions, "otter").len(), 3);
}

#[test]
fn a_damaged_index_is_made_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let sessions = SessionFiles::In(directory.path().join("sessions"));
    let cache = directory.path().join("cache");
    write(
        directory.path(),
        "sessions/1.jsonl",
        &[head("/here"), anchor("e", "otter", "washed")],
    );
    assert_eq!(
        names(&SessionStore::new(Some(cache.clone())), &sessions, "otter"),
        ["otter"]
    );
    for entry in std::fs::read_dir(&cache).expect("the cache").flatten() {
        std::fs::write(
            entry.path(),
            "no database at all, and long enough to be looked at",
        )
        .expect("written");
    }
    assert_eq!(
        names(&SessionStore::new(Some(cache)), &sessions, "otter"),
        ["otter"]
    );
}
