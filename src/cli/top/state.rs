//! What `top` shows and what a key does to it; nothing is drawn or done here.

use impresario_policies::domain::{MessageKind, RunId};
use impresario_policies::overview::OverviewLine;
use impresario_policies::run_messages::MESSAGE_CHARACTERS_MAX;
use impresario_policies::transcript::Transcript;

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Escape,
    Enter,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    Letter(char),
}

/// What shall be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Quit,
    Cancel(RunId),
    Read(RunId),
    Tell {
        run: RunId,
        kind: MessageKind,
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    List,
    /// Asks whether this run shall be cancelled.
    Confirm(RunId),
    /// A message to this run is being written.
    Write {
        run: RunId,
        kind: MessageKind,
        text: String,
    },
    Transcript(Reading),
}

/// A transcript on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) run: RunId,
    pub(super) page: Transcript,
    pub(super) top: usize,
    /// The end stays in sight.
    pub(super) follows: bool,
}

#[derive(Debug, Default)]
pub(super) struct TopState {
    pub(super) lines: Vec<OverviewLine>,
    pub(super) selected: Option<RunId>,
    pub(super) mode: Mode,
    pub(super) note: String,
    /// It is known what runs.
    pub(super) looked: bool,
}

impl TopState {
    /// What runs now. The selected run stays selected; one that is over gives way to its neighbour.
    pub(super) fn show(&mut self, lines: Vec<OverviewLine>) {
        let place = self.place();
        self.looked = true;
        self.lines = lines;
        let runs = self.runs();
        let is_there = self
            .selected
            .as_ref()
            .is_some_and(|selected| runs.contains(&selected));
        if !is_there {
            let near = place.unwrap_or(0).min(runs.len().saturating_sub(1));
            self.selected = runs.get(near).map(|run| (*run).clone());
        }
        if let Mode::Confirm(run) | Mode::Write { run, .. } = &self.mode
            && !self.runs().contains(&run)
        {
            self.mode = Mode::List;
        }
    }

    /// The run whose transcript is read and not over.
    pub(super) fn reads_on(&self) -> Option<RunId> {
        match &self.mode {
            Mode::Transcript(reading) if !reading.page.is_over => Some(reading.run.clone()),
            _ => None,
        }
    }

    /// More of the transcript that is read, or the first of it where it `opens`. What comes after it was closed is dropped.
    pub(super) fn read(&mut self, run: RunId, page: Transcript, opens: bool) {
        match &mut self.mode {
            Mode::Transcript(reading) if reading.run == run => reading.page = page,
            _ if !opens => {}
            _ => {
                self.mode = Mode::Transcript(Reading {
                    run,
                    follows: !page.is_over,
                    page,
                    top: 0,
                });
            }
        }
    }

    /// `rows` are the lines of a page on the screen.
    pub(super) fn press(&mut self, key: Key, rows: usize) -> Wanted {
        self.note.clear();
        match &mut self.mode {
            Mode::List => self.press_in_list(key, rows),
            Mode::Confirm(run) => {
                let run = run.clone();
                self.mode = Mode::List;
                match key {
                    Key::Letter('y') => Wanted::Cancel(run),
                    _ => Wanted::Nothing,
                }
            }
            Mode::Write { run, kind, text } => {
                let (run, kind) = (run.clone(), *kind);
                match key {
                    Key::Letter(letter) if text.chars().count() < MESSAGE_CHARACTERS_MAX => text.push(letter),
                    Key::Backspace => drop(text.pop()),
                    Key::Escape | Key::Interrupt => self.mode = Mode::List,
                    Key::Enter if text.trim().is_empty() => {}
                    Key::Enter => {
                        let text = std::mem::take(text);
                        self.mode = Mode::List;
                        return Wanted::Tell { run, kind, text };
                    }
                    _ => {}
                }
                Wanted::Nothing
            }
            Mode::Transcript(_) if matches!(key, Key::Escape | Key::Interrupt | Key::Letter('q')) => {
                self.mode = Mode::List;
                Wanted::Nothing
            }
            Mode::Transcript(reading) => {
                reading.press(key, rows);
                Wanted::Nothing
            }
        }
    }

    fn press_in_list(&mut self, key: Key, rows: usize) -> Wanted {
        match (key, &self.selected) {
            (Key::Letter('q') | Key::Escape | Key::Interrupt, _) => return Wanted::Quit,
            (Key::Letter('s'), Some(run)) => self.mode = writing(run, MessageKind::Steer),
            (Key::Letter('a'), Some(run)) => self.mode = writing(run, MessageKind::Ask),
            (Key::Letter('c'), Some(run)) => self.mode = Mode::Confirm(run.clone()),
            (Key::Letter('t'), Some(run)) => return Wanted::Read(run.clone()),
            (Key::Up, _) => self.select(|place| place.saturating_sub(1)),
            (Key::Down, _) => self.select(|place| place + 1),
            (Key::PageUp, _) => self.select(|place| place.saturating_sub(rows)),
            (Key::PageDown, _) => self.select(|place| place + rows),
            (Key::Home, _) => self.select(|_| 0),
            (Key::End, _) => self.select(|_| usize::MAX),
            (Key::Letter(_) | Key::Enter | Key::Backspace, _) => {}
        }
        Wanted::Nothing
    }

    fn select(&mut self, go: impl Fn(usize) -> usize) {
        let runs = self.runs();
        let place = go(self.place().unwrap_or(0)).min(runs.len().saturating_sub(1));
        self.selected = runs.get(place).map(|run| (*run).clone());
    }

    fn runs(&self) -> Vec<&RunId> {
        self.lines.iter().filter_map(|line| line.run.as_ref()).collect()
    }

    /// Of the selected run among the runs.
    fn place(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.runs().iter().position(|run| *run == selected)
    }
}

fn writing(run: &RunId, kind: MessageKind) -> Mode {
    Mode::Write {
        run: run.clone(),
        kind,
        text: String::new(),
    }
}

impl Reading {
    /// Where it begins on a screen of so many rows.
    pub(super) fn top_of(&self, rows: usize) -> usize {
        let last = self.page.lines.len().saturating_sub(rows);
        if self.follows { last } else { self.top.min(last) }
    }

    fn press(&mut self, key: Key, rows: usize) {
        let (top, last) = (self.top_of(rows), self.page.lines.len().saturating_sub(rows));
        self.top = match key {
            Key::Up | Key::Letter('k') => top.saturating_sub(1),
            Key::Down | Key::Letter('j') => top + 1,
            Key::PageUp => top.saturating_sub(rows),
            Key::PageDown | Key::Letter(' ') => top + rows,
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => last,
            Key::Escape | Key::Enter | Key::Backspace | Key::Interrupt | Key::Letter(_) => return,
        }
        .min(last);
        self.follows = self.top == last && !self.page.is_over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64) -> RunId {
        RunId::new(number, 0)
    }

    fn lines(runs: impl IntoIterator<Item = u64>) -> Vec<OverviewLine> {
        let title = OverviewLine {
            run: None,
            depth: 0,
            text: "pi".into(),
        };
        let of_runs = runs.into_iter().map(|number| OverviewLine {
            run: Some(run(number)),
            depth: 1,
            text: String::new(),
        });
        [title].into_iter().chain(of_runs).collect()
    }

    fn page(lines: usize, is_over: bool) -> Transcript {
        Transcript {
            title: String::new(),
            lines: vec![String::new(); lines],
            is_over,
        }
    }

    #[test]
    fn the_selection_stays_with_its_run_and_goes_to_the_neighbour_of_one_that_is_over() {
        let mut state = TopState::default();
        state.show(lines([1, 2, 3]));
        assert_eq!(state.selected, Some(run(1)));
        state.press(Key::Down, 10);
        state.show(lines([0, 1, 2, 3]));
        assert_eq!(state.selected, Some(run(2)));
        state.show(lines([0, 1, 3]));
        assert_eq!(state.selected, Some(run(3)));
        state.press(Key::Home, 10);
        assert_eq!(state.selected, Some(run(0)));
        state.press(Key::PageDown, 10);
        assert_eq!(state.selected, Some(run(3)));
        state.show(lines([]));
        assert_eq!(
            (state.selected.clone(), state.press(Key::Letter('c'), 10)),
            (None, Wanted::Nothing)
        );
        assert_eq!(state.press(Key::Letter('q'), 10), Wanted::Quit);
    }

    #[test]
    fn a_run_is_cancelled_when_that_is_confirmed_and_not_otherwise() {
        let mut state = TopState::default();
        state.show(lines([1]));
        state.press(Key::Letter('c'), 10);
        assert_eq!(state.mode, Mode::Confirm(run(1)));
        assert_eq!(state.press(Key::Letter('n'), 10), Wanted::Nothing);
        assert_eq!(state.mode, Mode::List);
        state.press(Key::Letter('c'), 10);
        assert_eq!(state.press(Key::Letter('y'), 10), Wanted::Cancel(run(1)));
        state.press(Key::Letter('c'), 10);
        state.show(lines([2]));
        assert_eq!(state.mode, Mode::List, "it is over already");
    }

    #[test]
    fn a_message_is_written_and_sent_with_enter_and_not_with_escape() {
        let mut state = TopState::default();
        state.show(lines([1]));
        let mut type_keys = |keys: &[Key]| {
            let wanted = keys.iter().map(|key| state.press(*key, 10));
            wanted.last().expect("a key")
        };
        let written = [
            Key::Letter('s'),
            Key::Enter,
            Key::Letter('q'),
            Key::Letter('x'),
            Key::Backspace,
        ];
        assert_eq!(type_keys(&written), Wanted::Nothing);
        let sent = Wanted::Tell {
            run: run(1),
            kind: MessageKind::Steer,
            text: "q".into(),
        };
        assert_eq!(type_keys(&[Key::Enter]), sent);
        assert_eq!(
            type_keys(&[Key::Letter('a'), Key::Letter('?'), Key::Escape]),
            Wanted::Nothing
        );
        assert_eq!(state.mode, Mode::List);
        state.press(Key::Letter('a'), 10);
        state.show(lines([2]));
        assert_eq!(state.mode, Mode::List, "it is over already");
    }

    #[test]
    fn a_transcript_follows_until_somebody_scrolls_up() {
        let mut state = TopState::default();
        state.show(lines([1]));
        assert_eq!(state.press(Key::Letter('t'), 10), Wanted::Read(run(1)));
        let top = |state: &TopState| match &state.mode {
            Mode::Transcript(reading) => reading.top_of(10),
            other => panic!("{other:?}"),
        };
        state.read(run(1), page(30, false), true);
        assert_eq!(top(&state), 20);
        state.read(run(1), page(35, false), true);
        assert_eq!(top(&state), 25);
        state.press(Key::Up, 10);
        state.read(run(1), page(40, false), true);
        assert_eq!(top(&state), 24);
        state.press(Key::End, 10);
        state.read(run(1), page(50, true), true);
        assert_eq!(top(&state), 40);
        state.press(Key::Home, 10);
        assert_eq!(top(&state), 0);
        state.press(Key::Escape, 10);
        assert_eq!(state.mode, Mode::List);
        state.read(run(1), page(50, true), false);
        assert_eq!(state.mode, Mode::List, "what comes late opens nothing");
    }
}
