//! Another process that writes the file between a read and a write must not lose what it wrote.

use impresario_actors::tools::anchored_edit::{EditCall, FromDisk, Grounds, SETTINGS, edit_file};
use impresario_policies::anchored_edit::GivenEdit;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 300;

#[test]
fn what_another_writer_put_there_is_never_lost() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("f");
    fs::write(&file, "begin\n").expect("a file");
    let grounds = Grounds::within(place.path()).expect("grounds");
    let (calls, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let seen = std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            let (mut made, mut refused) = (0, 0);
            while !is_over.load(Ordering::SeqCst) {
                match append(&grounds, made) {
                    Ok(()) => made += 1,
                    Err("E_CHANGED") => refused += 1,
                    Err(code) => panic!("{code}"),
                }
                calls.fetch_add(1, Ordering::SeqCst);
            }
            (made, refused)
        });
        for round in 0..ROUNDS {
            let words = format!("theirs {round}\n");
            let new = place.path().join("new");
            fs::write(&new, &words).expect("written");
            fs::rename(&new, &file).expect("renamed");
            // Of two calls that end from now on the second one began after it.
            let before = calls.load(Ordering::SeqCst);
            while calls.load(Ordering::SeqCst) < before + 2 {
                std::thread::yield_now();
            }
            // What lies there for a moment, while both change places, goes back before the call ends.
            let text = fs::read_to_string(&file).expect("it is there");
            if !text.starts_with(&words) {
                is_over.store(true, Ordering::SeqCst);
                panic!("round {round}: {text:?}");
            }
        }
        is_over.store(true, Ordering::SeqCst);
        editor.join().expect("the editor")
    });
    assert!(seen.0 > 0, "{seen:?}");
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 1);
}

fn append(grounds: &Grounds, number: usize) -> Result<(), &'static str> {
    let call = EditCall {
        path: "f".into(),
        edits: vec![GivenEdit {
            op: "append".into(),
            lines: Some(vec![format!("ours {number}")]),
            ..GivenEdit::default()
        }],
        ..EditCall::default()
    };
    let edited = edit_file(&call, grounds, &SETTINGS, &FromDisk, &CancellationToken::new());
    edited.map(|_| ()).map_err(|fault| fault.code())
}
