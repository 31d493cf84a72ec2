//! The screen and its keys, on a screen that is no terminal.

use super::*;
use crate::cli::top::state::Key;
use impresario_policies::domain::RunId;
use impresario_policies::overview::OverviewLine;
use ratatui::backend::TestBackend;

fn run(number: u64) -> RunId {
    RunId::new(number, 0)
}

fn lines(runs: std::ops::Range<u64>) -> Vec<OverviewLine> {
    let of_runs = runs.map(|number| OverviewLine {
        run: Some(run(number)),
        depth: 1,
        text: format!("run number {number} 漢字かな"),
    });
    of_runs.collect()
}

/// Plays these keys, and gives what was wanted and the last screen.
async fn played(
    size: (u16, u16),
    reported: impl IntoIterator<Item = Report>,
    typed: impl IntoIterator<Item = Input>,
) -> (Vec<Wanted>, String) {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a screen");
    let (reports, heard) = mpsc::channel(64);
    for report in reported {
        reports.send(report).await.expect("heard");
    }
    let (keys, inputs) = mpsc::channel(64);
    let mut wanted = Vec::new();
    let typing = async {
        // What was reported is shown before the first key comes.
        while reports.capacity() < reports.max_capacity() {
            tokio::task::yield_now().await;
        }
        for input in typed {
            keys.send(Ok(input)).await.expect("typed");
        }
        drop(keys);
    };
    let begin = |one| wanted.push(one);
    let (shown, ()) = tokio::join!(show(&mut terminal, inputs, heard, begin), typing);
    shown.expect("drawn");
    let screen = terminal.backend().to_string();
    (wanted, screen)
}

fn keys(text: &str) -> impl Iterator<Item = Input> {
    text.chars().map(|letter| Input::Key(Key::Letter(letter)))
}

#[tokio::test]
async fn a_key_is_answered_while_nothing_that_was_begun_is_done() {
    let first = Report::Runs(lines(1..3));
    // The transcript that is opened never comes, and no look at the journal either.
    let typed = keys("t")
        .chain([Input::Key(Key::Down)])
        .chain(keys("shi"))
        .chain([Input::Key(Key::Enter)])
        .chain(keys("c"));
    let (wanted, screen) = played((60, 12), [first], typed).await;
    let [Wanted::Read(read), Wanted::Tell { run: told, text, .. }] = wanted.as_slice() else {
        panic!("{wanted:?}")
    };
    assert_eq!((read, told, text.as_str()), (&run(1), &run(2), "hi"));
    assert!(screen.contains(&format!("Cancel run {}", run(2))), "{screen}");
    assert!(screen.contains("hi → on its way …"), "{screen}");
}

#[tokio::test]
async fn a_screen_of_any_size_shows_what_fits_of_two_thousand_runs() {
    for (columns, rows) in [
        (1, 1),
        (2, 2),
        (3, 1),
        (1, 9),
        (7, 3),
        (40, 6),
        (80, 24),
        (200, 60),
    ] {
        let typed = [Input::Key(Key::End)].into_iter().chain(keys("a漢字"));
        let typed = typed.chain([Input::Resized, Input::Key(Key::Enter), Input::Key(Key::PageUp)]);
        let (wanted, screen) = played((columns, rows), [Report::Runs(lines(0..2_000))], typed).await;
        let [Wanted::Tell { run: asked, .. }] = wanted.as_slice() else {
            panic!("{wanted:?}")
        };
        assert_eq!(asked, &run(1_999));
        let has_room = columns >= 40;
        assert_eq!(screen.contains("2000 or more under way"), has_room, "{screen}");
        assert_eq!(screen.contains("run number 19"), has_room, "{screen}");
    }
}
