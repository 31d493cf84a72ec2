//! A process that edits is killed, again and again: its file is old or new, and has one name.

use crate::cases::Chance;
use impresario_actors::tools::anchored_edit::{EditCall, FromDisk, Grounds, SETTINGS, edit_file};
use impresario_policies::anchored_edit::{Anchor, GivenEdit};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tokio_util::sync::CancellationToken;

/// Where the killed program works.
const PLACE: &str = "EDITING_IS_KILLED_IN";
const WRITES: usize = 2_000;
/// So many lines have a version's number in them: more than one page, so that half a write can be seen.
const LINES: usize = 600;
const NAMES: [&str; 2] = ["one", "other"];

fn version(number: usize) -> String {
    (0..LINES)
        .map(|line| format!("version {number} line {line}\n"))
        .collect()
}

/// The number of the version that is there, if it is there whole and under one name.
fn version_in(place: &Path) -> Result<(usize, &'static str), String> {
    let there: Vec<&'static str> = NAMES
        .into_iter()
        .filter(|name| place.join(name).exists())
        .collect();
    let [name] = there[..] else {
        return Err(format!("names: {there:?}"));
    };
    let text = fs::read_to_string(place.join(name)).map_err(|error| error.to_string())?;
    let number = text
        .split(' ')
        .nth(1)
        .and_then(|number| number.parse().ok())
        .ok_or("no version")?;
    match text == version(number) {
        true => Ok((number, name)),
        false => Err(format!("half of version {number}, {} bytes", text.len())),
    }
}

/// Not a test by itself: the one below runs it and kills it.
#[test]
fn the_program_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let place = Path::new(&place);
    let grounds = Grounds::within(place).expect("grounds");
    let (begin, mut name) = version_in(place).expect("a whole version");
    for number in begin..begin + WRITES {
        let to = if number % 7 == 0 {
            NAMES[usize::from(name == NAMES[0])]
        } else {
            name
        };
        let anchor =
            |line: usize| Anchor::of(line as u64 + 1, &format!("version {number} line {line}")).to_string();
        let call = EditCall {
            path: name.into(),
            edits: vec![GivenEdit {
                op: "replace_range".into(),
                pos: Some(anchor(0)),
                end: Some(anchor(LINES - 1)),
                lines: Some(version(number + 1).lines().map(str::to_string).collect()),
                ..GivenEdit::default()
            }],
            rename: (to != name).then(|| to.to_string()),
            ..EditCall::default()
        };
        edit_file(&call, &grounds, &SETTINGS, &FromDisk, &CancellationToken::new()).expect("edited");
        name = to;
        writeln!(std::io::stderr(), "made {}", number + 1).expect("told");
    }
}

#[test]
fn a_killed_process_leaves_the_old_file_or_the_new_one() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join(NAMES[0]), version(0)).expect("a file");
    let mut chance = Chance::of(7);
    let (mut kills, mut cut_off) = (0, 0);
    while version_in(place.path()).expect("whole").0 < WRITES {
        let made = run_and_kill(place.path(), 1 + chance.below(70), chance.below(200_000));
        kills += 1;
        let (number, _) =
            version_in(place.path()).unwrap_or_else(|what| panic!("after kill {kills}: {what}"));
        // What was told is there, and at most what came next.
        assert!((made..=made + 1).contains(&number), "told {made}, found {number}");
        cut_off += usize::from(fs::read_dir(place.path()).expect("a directory").count() > 1);
    }
    assert!(kills > 20, "{kills}");
    println!("{kills} kills in {WRITES} writes, {cut_off} of them left something that the next edit removed");
    run_and_kill(place.path(), 1, 0);
    let (_, name) = version_in(place.path()).expect("whole");
    let call = EditCall {
        path: name.into(),
        edits: vec![GivenEdit {
            op: "append".into(),
            lines: Some(vec!["end".into()]),
            ..GivenEdit::default()
        }],
        ..EditCall::default()
    };
    let grounds = Grounds::within(place.path()).expect("grounds");
    edit_file(&call, &grounds, &SETTINGS, &FromDisk, &CancellationToken::new()).expect("edited");
    let names: Vec<String> = fs::read_dir(place.path())
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, [name]);
}

/// Kills the program some moment after it made so many edits; the last one it told of.
fn run_and_kill(place: &Path, after: usize, moment: usize) -> usize {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", "killed::the_program_that_is_killed", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut told = BufReader::new(child.stderr.take().expect("its words"))
        .lines()
        .map_while(Result::ok);
    let number = |line: String| line.strip_prefix("made ").and_then(|number| number.parse().ok());
    let mut last = told
        .by_ref()
        .filter_map(number)
        .nth(after - 1)
        .expect("it made edits");
    for _ in 0..moment {
        std::hint::spin_loop();
    }
    child.kill().expect("killed");
    // What it told before it died counts, too.
    if let Some(later) = told.filter_map(number).last() {
        last = later;
    }
    child.wait().expect("over");
    last
}
