//! What `top` shows and what a key does to it; nothing is drawn or done here.

use super::outside::Report;
use impresario_policies::domain::{MessageKind, RunId};
use impresario_policies::overview::OverviewLine;
use impresario_policies::run_messages::MESSAGE_CHARACTERS_MAX;
use impresario_policies::transcript::Transcript;

/// So many messages stay on the screen, the newest.
const TOLD_MAX: usize = 4;

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
    /// Ctrl-U.
    EraseAll,
    /// Ctrl-C.
    Interrupt,
    Letter(char),
}

/// What comes from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Key(Key),
    Pasted(String),
    /// It has another size; it is drawn anew.
    Resized,
}

/// What shall be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Quit,
    Cancel(RunId),
    Read(RunId),
    Tell {
        number: u64,
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

/// A message that was sent from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    number: u64,
    pub(super) run: RunId,
    pub(super) kind: MessageKind,
    pub(super) text: String,
    /// What became of it so far.
    pub(super) fate: String,
}

#[derive(Debug, Default)]
pub(super) struct TopState {
    /// None before it is known what runs.
    pub(super) lines: Option<Vec<OverviewLine>>,
    pub(super) selected: Option<RunId>,
    pub(super) mode: Mode,
    pub(super) note: String,
    pub(super) told: Vec<Told>,
    sent: u64,
    /// The run whose transcript shall be opened when it is there.
    opens: Option<RunId>,
    /// A transcript was asked for, and has not come.
    reads: bool,
}

impl TopState {
    /// What was seen or done outside; what is wanted because of it.
    pub(super) fn learn(&mut self, report: Report) -> Wanted {
        match report {
            Report::Runs(lines) => {
                self.show(lines);
                return self.read_on();
            }
            Report::Page(run, page) => self.read(run, page),
            Report::Note(note) => {
                self.reads = false;
                self.note = note;
            }
            Report::Fate { number, words } => {
                let told = self.told.iter_mut().find(|told| told.number == number);
                if let Some(told) = told {
                    told.fate = words;
                }
            }
        }
        Wanted::Nothing
    }

    /// What runs now. The selected run stays selected; one that is over gives way to its neighbour.
    fn show(&mut self, lines: Vec<OverviewLine>) {
        let place = self.place();
        self.lines = Some(lines);
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
            self.note = format!("{run} is over already");
            self.mode = Mode::List;
        }
    }

    /// The run whose transcript is read and not over. One that takes long is not asked for twice.
    fn read_on(&mut self) -> Wanted {
        match &self.mode {
            Mode::Transcript(reading) if !reading.page.is_over && !self.reads => {
                self.reads = true;
                Wanted::Read(reading.run.clone())
            }
            _ => Wanted::Nothing,
        }
    }

    /// More of the transcript that is read, or the first of it. What comes after it was closed opens nothing.
    fn read(&mut self, run: RunId, page: Transcript) {
        self.reads = false;
        match &mut self.mode {
            Mode::Transcript(reading) if reading.run == run => reading.page = page,
            Mode::List if self.opens.as_ref() == Some(&run) => {
                self.opens = None;
                self.note.clear();
                self.mode = Mode::Transcript(Reading {
                    run,
                    follows: !page.is_over,
                    page,
                    top: 0,
                });
            }
            _ => {}
        }
    }

    /// `rows` are the lines of a page on the screen.
    pub(super) fn take(&mut self, input: Input, rows: usize) -> Wanted {
        match input {
            Input::Key(key) => self.press(key, rows),
            Input::Pasted(text) => {
                if let Mode::Write { text: written, .. } = &mut self.mode {
                    let room = MESSAGE_CHARACTERS_MAX.saturating_sub(written.chars().count());
                    written.extend(text.chars().take(room));
                }
                Wanted::Nothing
            }
            Input::Resized => Wanted::Nothing,
        }
    }

    fn press(&mut self, key: Key, rows: usize) -> Wanted {
        self.note.clear();
        self.opens = None;
        match &mut self.mode {
            Mode::List => self.press_in_list(key, rows),
            Mode::Confirm(run) => {
                let run = run.clone();
                self.mode = Mode::List;
                if key != Key::Letter('y') {
                    return Wanted::Nothing;
                }
                self.note = format!("cancelling {run} …");
                Wanted::Cancel(run)
            }
            Mode::Write { .. } => self.press_in_message(key),
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
            (Key::Escape, _) if !self.told.is_empty() => self.told.clear(),
            (Key::Letter('q') | Key::Escape | Key::Interrupt, _) => return Wanted::Quit,
            (Key::Letter('s'), Some(run)) => self.mode = writing(run, MessageKind::Steer),
            (Key::Letter('a'), Some(run)) => self.mode = writing(run, MessageKind::Ask),
            (Key::Letter('c'), Some(run)) => self.mode = Mode::Confirm(run.clone()),
            (Key::Letter('t') | Key::Enter, Some(run)) => {
                let run = run.clone();
                self.note = format!("opening the conversation of {run} …");
                self.opens = Some(run.clone());
                return Wanted::Read(run);
            }
            (Key::Up | Key::Letter('k'), _) => self.select(|place| place.saturating_sub(1)),
            (Key::Down | Key::Letter('j'), _) => self.select(|place| place + 1),
            (Key::PageUp, _) => self.select(|place| place.saturating_sub(rows)),
            (Key::PageDown, _) => self.select(|place| place.saturating_add(rows)),
            (Key::Home, _) => self.select(|_| 0),
            (Key::End, _) => self.select(|_| usize::MAX),
            (Key::Letter(_) | Key::Enter | Key::Backspace | Key::EraseAll, _) => {}
        }
        Wanted::Nothing
    }

    fn press_in_message(&mut self, key: Key) -> Wanted {
        let Mode::Write { run, kind, text } = &mut self.mode else {
            return Wanted::Nothing;
        };
        match key {
            Key::Letter(letter) if text.chars().count() < MESSAGE_CHARACTERS_MAX => text.push(letter),
            Key::Backspace => drop(text.pop()),
            Key::EraseAll => text.clear(),
            Key::Escape | Key::Interrupt => self.mode = Mode::List,
            Key::Enter if !text.trim().is_empty() => {
                let (run, kind, text) = (run.clone(), *kind, std::mem::take(text));
                self.mode = Mode::List;
                return self.send(run, kind, text);
            }
            Key::Enter | Key::Letter(_) => {}
            Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End => {}
        }
        Wanted::Nothing
    }

    fn send(&mut self, run: RunId, kind: MessageKind, text: String) -> Wanted {
        self.sent += 1;
        let number = self.sent;
        let told = Told {
            number,
            run: run.clone(),
            kind,
            text: text.clone(),
            fate: "on its way …".to_string(),
        };
        self.told.push(told);
        let over = self.told.len().saturating_sub(TOLD_MAX);
        self.told.drain(..over);
        Wanted::Tell {
            number,
            run,
            kind,
            text,
        }
    }

    fn select(&mut self, go: impl Fn(usize) -> usize) {
        let runs = self.runs();
        let place = go(self.place().unwrap_or(0)).min(runs.len().saturating_sub(1));
        self.selected = runs.get(place).map(|run| (*run).clone());
    }

    fn runs(&self) -> Vec<&RunId> {
        let lines = self.lines.iter().flatten();
        lines.filter_map(|line| line.run.as_ref()).collect()
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
            Key::Escape | Key::Enter | Key::Backspace | Key::EraseAll | Key::Interrupt | Key::Letter(_) => {
                return;
            }
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

    fn shown(state: &mut TopState, runs: impl IntoIterator<Item = u64>) {
        state.learn(Report::Runs(lines(runs)));
    }

    fn came(state: &mut TopState, lines: usize, is_over: bool) {
        state.learn(Report::Page(run(1), page(lines, is_over)));
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
        shown(&mut state, [1, 2, 3]);
        assert_eq!(state.selected, Some(run(1)));
        state.press(Key::Down, 10);
        shown(&mut state, [0, 1, 2, 3]);
        assert_eq!(state.selected, Some(run(2)));
        shown(&mut state, [0, 1, 3]);
        assert_eq!(state.selected, Some(run(3)));
        state.press(Key::Home, 10);
        assert_eq!(state.selected, Some(run(0)));
        state.press(Key::PageDown, 10);
        assert_eq!(state.selected, Some(run(3)));
        shown(&mut state, []);
        assert_eq!(
            (state.selected.clone(), state.press(Key::Letter('c'), 10)),
            (None, Wanted::Nothing)
        );
        assert_eq!(state.press(Key::Letter('q'), 10), Wanted::Quit);
    }

    #[test]
    fn a_run_is_cancelled_when_that_is_confirmed_and_not_otherwise() {
        let mut state = TopState::default();
        shown(&mut state, [1]);
        state.press(Key::Letter('c'), 10);
        assert_eq!(state.mode, Mode::Confirm(run(1)));
        assert_eq!(state.press(Key::Letter('n'), 10), Wanted::Nothing);
        assert_eq!(state.mode, Mode::List);
        state.press(Key::Letter('c'), 10);
        assert_eq!(state.press(Key::Letter('y'), 10), Wanted::Cancel(run(1)));
        state.press(Key::Letter('c'), 10);
        shown(&mut state, [2]);
        assert_eq!(state.mode, Mode::List, "it is over already");
    }

    #[test]
    fn a_transcript_follows_until_somebody_scrolls_up() {
        let mut state = TopState::default();
        shown(&mut state, [1]);
        assert_eq!(state.press(Key::Letter('t'), 10), Wanted::Read(run(1)));
        let top = |state: &TopState| match &state.mode {
            Mode::Transcript(reading) => reading.top_of(10),
            other => panic!("{other:?}"),
        };
        came(&mut state, 30, false);
        assert_eq!(top(&state), 20);
        came(&mut state, 35, false);
        assert_eq!(top(&state), 25);
        state.press(Key::Up, 10);
        came(&mut state, 40, false);
        assert_eq!(top(&state), 24);
        state.press(Key::End, 10);
        came(&mut state, 50, true);
        assert_eq!(top(&state), 40);
        state.press(Key::Home, 10);
        assert_eq!(top(&state), 0);
        state.press(Key::Escape, 10);
        assert_eq!(state.mode, Mode::List);
    }

    #[test]
    fn a_message_is_written_and_sent_with_enter_and_not_with_escape() {
        let mut state = TopState::default();
        shown(&mut state, [1]);
        let type_keys = |state: &mut TopState, keys: &[Key]| {
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
        assert_eq!(type_keys(&mut state, &written), Wanted::Nothing);
        state.take(Input::Pasted(" and\nmore".into()), 10);
        let sent = Wanted::Tell {
            number: 1,
            run: run(1),
            kind: MessageKind::Steer,
            text: "q and\nmore".into(),
        };
        assert_eq!(type_keys(&mut state, &[Key::Enter]), sent);
        let words = "delivered (m1)".to_string();
        state.learn(Report::Fate { number: 1, words });
        assert_eq!(state.told[0].fate, "delivered (m1)");
        let left = [Key::Letter('a'), Key::Letter('?'), Key::Escape];
        assert_eq!(type_keys(&mut state, &left), Wanted::Nothing);
        assert_eq!(state.mode, Mode::List);
        assert_eq!(
            type_keys(&mut state, &[Key::Escape]),
            Wanted::Nothing,
            "it clears first"
        );
        assert_eq!(type_keys(&mut state, &[Key::Escape]), Wanted::Quit);
    }

    #[test]
    fn what_is_written_stays_when_its_run_ends_and_is_bounded() {
        let mut state = TopState::default();
        shown(&mut state, [1]);
        state.press(Key::Letter('a'), 10);
        state.take(Input::Pasted("x".repeat(MESSAGE_CHARACTERS_MAX + 1)), 10);
        state.press(Key::Letter('y'), 10);
        shown(&mut state, [2]);
        let Mode::Write { text, run: asked, .. } = &state.mode else {
            panic!("{:?}", state.mode)
        };
        assert_eq!((text.len(), asked), (MESSAGE_CHARACTERS_MAX, &run(1)));
        let mut sent = (0..6).map(|_| {
            state.press(Key::Letter('a'), 10);
            state.press(Key::Letter('?'), 10);
            state.press(Key::Enter, 10)
        });
        assert!(sent.all(|wanted| matches!(wanted, Wanted::Tell { .. })));
        assert_eq!(state.told.len(), TOLD_MAX);
    }

    #[test]
    fn a_transcript_that_comes_late_opens_nothing_and_one_that_takes_long_is_asked_for_once() {
        let mut state = TopState::default();
        shown(&mut state, [1, 2]);
        state.press(Key::Letter('t'), 10);
        state.press(Key::Down, 10);
        came(&mut state, 3, false);
        assert_eq!(state.mode, Mode::List);
        state.press(Key::Up, 10);
        state.press(Key::Letter('t'), 10);
        came(&mut state, 3, false);
        let runs = || Report::Runs(lines([1, 2]));
        assert_eq!(state.learn(runs()), Wanted::Read(run(1)));
        assert_eq!(state.learn(runs()), Wanted::Nothing);
        came(&mut state, 4, true);
        assert_eq!(state.learn(runs()), Wanted::Nothing, "it is over");
    }
}
