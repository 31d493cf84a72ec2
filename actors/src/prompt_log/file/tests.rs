use super::*;
use impresario_policies::domain::SessionId;
use impresario_policies::prompt_log::PromptSource;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

const NOON: UnixMillis = UnixMillis(1_794_312_000_000);

fn settings(path: &str) -> PromptLogSettings {
    PromptLogSettings {
        enabled: true,
        path: path.to_string(),
        agent_start: true,
        dedupe: true,
        file_bytes_max: 10_000,
        files_kept: 2,
        ..PromptLogSettings::default()
    }
}

fn seen(workspace: &Path, prompt: &str) -> LogPrompt {
    LogPrompt {
        source: PromptSource::AgentStart,
        session: Some(SessionId("s1".to_string())),
        session_file: None,
        workspace: workspace.to_path_buf(),
        model: Some("house/small".to_string()),
        nested_depth: 0,
        shape: None,
        prompt: prompt.to_string(),
    }
}

/// Today: the day of a file is what the disk says.
fn now() -> UnixMillis {
    crate::gateways::WallClock::now(&crate::gateways::SystemWallClock)
}

fn lines(file: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(file).expect("a log");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().canonicalize().expect("a path");
    (directory, path)
}

#[test]
fn a_line_says_whose_prompt_it_is_and_holds_no_secret() {
    let (_kept, place) = workspace();
    let log = PromptFile::new(settings("logs/p.jsonl"));
    log.log(&seen(&place, "Work well. API_KEY=hunter2hunter2"), NOON)
        .expect("logged");
    let file = place.join("logs/p.jsonl");
    let line = lines(&file).remove(0);
    let keys = line
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect::<Vec<_>>();
    let expected = [
        "ts",
        "source",
        "sessionId",
        "sessionFile",
        "cwd",
        "model",
        "nestedDepth",
        "chars",
        "sha256",
        "providerShape",
        "prompt",
    ];
    assert_eq!(keys, expected);
    assert_eq!(line["ts"], "2026-11-10T12:00:00.000Z");
    assert_eq!(
        (&line["source"], &line["sessionId"]),
        (&"agent_start".into(), &"s1".into())
    );
    assert_eq!(line["prompt"], "Work well. [REDACTED]");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&place.join("logs"))), (0o600, 0o700));
    let ignored = fs::read_to_string(place.join("logs/.gitignore")).expect("a file");
    assert!(ignored.ends_with("*\n"));
}

#[test]
fn the_same_prompt_of_a_session_stands_there_once() {
    let (_kept, place) = workspace();
    let log = PromptFile::new(settings("p.jsonl"));
    for prompt in ["one", "one", "two", "one"] {
        log.clone().log(&seen(&place, prompt), now()).expect("logged");
    }
    let other = LogPrompt {
        session: Some(SessionId("s2".to_string())),
        ..seen(&place, "one")
    };
    log.log(&other, now()).expect("logged");
    assert_eq!(lines(&place.join("p.jsonl")).len(), 3);
    let each = PromptFile::new(PromptLogSettings {
        dedupe: false,
        ..settings("each.jsonl")
    });
    for _ in 0..3 {
        each.log(&seen(&place, "one"), now()).expect("logged");
    }
    assert_eq!(lines(&place.join("each.jsonl")).len(), 3);
    assert!(
        !place.join(".gitignore").exists(),
        "the workspace is not ours to keep out"
    );
}

#[test]
fn a_file_that_somebody_else_may_read_is_closed_to_them() {
    let (_kept, place) = workspace();
    let file = place.join("p.jsonl");
    fs::write(&file, "").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    let log = PromptFile::new(settings("p.jsonl"));
    log.log(&seen(&place, "one"), now()).expect("logged");
    assert_eq!(
        fs::metadata(&file).expect("there").permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn no_link_below_the_workspace_is_followed() {
    let (_kept, place) = workspace();
    let (_elsewhere, outside) = workspace();
    let refused = |path: &str| {
        let logged = PromptFile::new(settings(path)).log(&seen(&place, "one"), now());
        assert!(logged.is_err(), "{path}");
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0, "{path}");
    };
    symlink(&outside, place.join("linked")).expect("a link");
    refused("linked/p.jsonl");
    refused("linked/below/p.jsonl");
    symlink(outside.join("target"), place.join("p.jsonl")).expect("a link");
    refused("p.jsonl");
    rustix::fs::mknodat(CWD, place.join("pipe"), rustix::fs::FileType::Fifo, PRIVATE, 0).expect("a pipe");
    refused("pipe");
}

#[test]
fn a_place_of_the_persons_own_is_taken_as_it_is() {
    let (_kept, place) = workspace();
    let (_elsewhere, outside) = workspace();
    let path = outside.join("mine/p.jsonl");
    let log = PromptFile::new(settings(path.to_str().expect("a path")));
    log.log(&seen(&place, "one"), now()).expect("logged");
    assert_eq!(lines(&path).len(), 1);
    assert!(!outside.join("mine/.gitignore").exists());
}

#[test]
fn full_files_give_way_and_only_so_many_are_kept() {
    let (_kept, place) = workspace();
    let log = PromptFile::new(settings("p.jsonl"));
    for number in 0..10 {
        let prompt = format!("{number} {}", "x ".repeat(3_000));
        log.log(&seen(&place, &prompt), now()).expect("logged");
    }
    let of = |name: &str| lines(&place.join(name)).len();
    assert_eq!((of("p.jsonl"), of("p.jsonl.1"), of("p.jsonl.2")), (1, 1, 1));
    assert!(!place.join("p.jsonl.3").exists());
    let tomorrow = UnixMillis(now().0 + DAY_MS);
    log.log(&seen(&place, "tomorrow"), tomorrow).expect("logged");
    assert_eq!(lines(&place.join("p.jsonl"))[0]["prompt"], "tomorrow");
    let none_kept = PromptFile::new(PromptLogSettings {
        files_kept: 0,
        ..settings("q.jsonl")
    });
    for prompt in ["one", "two"] {
        let tomorrow = UnixMillis(now().0 + DAY_MS);
        none_kept.log(&seen(&place, prompt), tomorrow).expect("logged");
    }
    assert_eq!(of("q.jsonl"), 1);
    assert!(!place.join("q.jsonl.1").exists());
}

#[test]
fn writers_side_by_side_lose_no_line() {
    let (_kept, place) = workspace();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let place = place.clone();
            scope.spawn(move || {
                let log = PromptFile::new(PromptLogSettings {
                    files_kept: 100,
                    ..settings("p.jsonl")
                });
                for number in 0..20 {
                    let prompt = format!("{writer} {number} {}", "x ".repeat(500));
                    log.log(&seen(&place, &prompt), now()).expect("logged");
                }
            });
        }
    });
    let files = fs::read_dir(&place).expect("a directory").flatten();
    let all: usize = files.map(|file| lines(&file.path()).len()).sum();
    assert_eq!(all, 80);
}
