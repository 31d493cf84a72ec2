//! What `top` shows and what a key does to it; nothing is drawn or done here.

use impresario_policies::domain::RunId;
use impresario_policies::overview::OverviewLine;
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
    Letter(char),
}

/// What shall be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Quit,
    Cancel(RunId),
    Read(RunId),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    List,
    /// Asks whether this run shall be cancelled.
    Confirm(RunId),
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
}

impl TopState {
    /// What runs now. The selected run stays selected; one that is over gives way to its neighbour.
    pub(super) fn show(&mut self, lines: Vec<OverviewLine>) {
        let place = self.place();
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
        if let Mode::Confirm(run) = &self.mode
            && !self.runs().contains(&run)
        {
            self.mode = Mode::List;
        }
    }

    /// More of the transcript that is read, or the first of it.
    pub(super) fn read(&mut self, run: RunId, page: Transcript) {
        match &mut self.mode {
            Mode::Transcript(reading) if reading.run == run => reading.page = page,
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
            Mode::Transcript(_) if matches!(key, Key::Escape | Key::Letter('q')) => {
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
            (Key::Letter('q') | Key::Escape, _) => return Wanted::Quit,
            (Key::Letter('c'), Some(run)) => self.mode = Mode::Confirm(run.clone()),
            (Key::Letter('t'), Some(run)) => return Wanted::Read(run.clone()),
            (Key::Up, _) => self.select(|place| place.saturating_sub(1)),
            (Key::Down, _) => self.select(|place| place + 1),
            (Key::PageUp, _) => self.select(|place| place.saturating_sub(rows)),
            (Key::PageDown, _) => self.select(|place| place + rows),
            (Key::Home, _) => self.select(|_| 0),
            (Key::End, _) => self.select(|_| usize::MAX),
            (Key::Letter(_), _) => {}
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
            Key::Escape | Key::Letter(_) => return,
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
    fn a_transcript_follows_until_somebody_scrolls_up() {
        let mut state = TopState::default();
        state.show(lines([1]));
        assert_eq!(state.press(Key::Letter('t'), 10), Wanted::Read(run(1)));
        let top = |state: &TopState| match &state.mode {
            Mode::Transcript(reading) => reading.top_of(10),
            other => panic!("{other:?}"),
        };
        state.read(run(1), page(30, false));
        assert_eq!(top(&state), 20);
        state.read(run(1), page(35, false));
        assert_eq!(top(&state), 25);
        state.press(Key::Up, 10);
        state.read(run(1), page(40, false));
        assert_eq!(top(&state), 24);
        state.press(Key::End, 10);
        state.read(run(1), page(50, true));
        assert_eq!(top(&state), 40);
        state.press(Key::Home, 10);
        assert_eq!(top(&state), 0);
        state.press(Key::Escape, 10);
        assert_eq!(state.mode, Mode::List);
    }
}
