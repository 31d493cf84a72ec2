//! Everything that the command line prints goes through here, so that no text of a model, a tool, a file or a journal
//! reaches a terminal as something it obeys.

use impresario_policies::terminal_text::{shown, shown_json};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use rustix::stdio::dup2_stdout;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody asked for text as it is.
static RAW: AtomicBool = AtomicBool::new(false);

/// From now on text goes to a pipe or a file as it is; a terminal never gets it so.
pub(super) fn leave_raw() {
    RAW.store(true, Ordering::Relaxed);
}

/// Prints what was asked for, with a line feed; nothing for nothing. An error means that the reader is gone.
pub(super) fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    let raw = RAW.load(Ordering::Relaxed) && !stdout.is_terminal();
    let text = if raw { Cow::Borrowed(text) } else { shown(text) };
    writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush())
}

pub(super) fn print_json(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", shown_json(line)).and_then(|()| stdout.flush())
}

/// Says something to the person, who may have gone: then there is nobody left to be told.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "impresario: {}", shown(text));
}

/// The same without our name before it.
pub(super) fn say_plainly(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown(text));
}

/// Asks something on the terminal; the answer is typed behind it.
pub(super) fn ask(question: &str) {
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{}", shown(question)).and_then(|()| stderr.flush());
}

/// Somebody sits before a terminal, reads what is said there and can answer.
pub(super) fn person_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What is printed is read on a terminal.
pub(super) fn prints_to_terminal() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// What is said is read on a terminal.
pub(super) fn says_to_terminal() -> bool {
    io::stderr().is_terminal()
}

/// From now on a text that is pasted is no row of keys, or is one again. A terminal that does not tell them apart sends keys.
pub(super) fn tell_pastes_apart(apart: bool) {
    let _ = match apart {
        true => execute!(io::stdout(), EnableBracketedPaste),
        false => execute!(io::stdout(), DisableBracketedPaste),
    };
}

/// From now on what is printed goes where it is said; whoever read it has reached the end.
pub(super) fn speak_into_the_log() -> io::Result<()> {
    dup2_stdout(io::stderr()).map_err(io::Error::from)
}
