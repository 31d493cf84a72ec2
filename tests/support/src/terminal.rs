//! A terminal with a screen that tests can read: what a person would see.

use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::limited::{End, kill_group, wait};

/// Rows of the screen.
pub const ROWS: u16 = 40;
/// Columns of the screen.
pub const COLUMNS: u16 = 120;

/// A program on a terminal of its own; dropping it kills its session.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    shown: Arc<Shown>,
    ended: Option<End>,
}

struct Shown {
    screen: Mutex<Screen>,
    changed: Condvar,
}

type Screen = vt100::Parser<Drawing>;

/// Synchronized output (private mode 2026), as terminals that people use have it: of what is drawn in one go nobody
/// sees a half.
#[derive(Debug, Default)]
struct Drawing {
    /// What is seen while the program draws.
    before: Option<String>,
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Shown")
    }
}

/// A key that is no letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Backspace.
    Backspace,
    /// Control and a letter.
    Control(char),
}

impl Terminal {
    /// Starts a program on a new terminal.
    ///
    /// # Panics
    /// There is no terminal, or the program cannot be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command
            .env("TERM", "xterm-256color")
            .env("COLUMNS", COLUMNS.to_string())
            .env("LINES", ROWS.to_string());
        let (terminal, program_end) = pty_process::blocking::open().expect("a pseudo terminal");
        terminal
            .resize(pty_process::Size::new(ROWS, COLUMNS))
            .expect("a terminal can be resized");
        let child = pty_process::blocking::Command::from(command).spawn(program_end);
        let child = child.expect("the program starts on the terminal");
        let keyboard = File::from(OwnedFd::from(terminal));
        let screen = keyboard.try_clone().expect("a second handle on the terminal");
        let shown = Arc::new(Shown {
            screen: Mutex::new(blank_screen()),
            changed: Condvar::new(),
        });
        let watcher = Arc::clone(&shown);
        std::thread::spawn(move || watcher.watch(screen));
        Self {
            child,
            keyboard,
            shown,
            ended: None,
        }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types this text.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn type_text(&mut self, text: &str) {
        self.keyboard
            .write_all(text.as_bytes())
            .expect("the terminal takes what is typed");
    }

    /// Presses a key.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn press(&mut self, key: Key) {
        let bytes = key.bytes();
        self.type_text(&bytes);
    }

    /// Gives it another size, as a person does who draws at the corner of a window.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // Before the program hears of it and draws.
        self.shown
            .lock()
            .screen_mut()
            .set_size(length(rows), length(columns));
        tcsetwinsize(&self.keyboard, size).expect("a terminal can be resized");
    }

    /// What stands on the screen.
    #[must_use]
    pub fn screen(&self) -> String {
        seen(&self.shown.lock())
    }

    /// Waits until the screen is as wanted, and gives it.
    ///
    /// # Panics
    /// It did not come to be so in time; the screen is in the message.
    pub fn wait_for(&self, within: Duration, wanted: impl Fn(&str) -> bool) -> String {
        let (came, screen) = self.look(within, wanted);
        assert!(
            came,
            "the screen did not come to show what was waited for:\n{screen}"
        );
        screen
    }

    /// Waits until the screen is as wanted; gives whether it came to be so in time.
    #[must_use]
    pub fn shows(&self, within: Duration, wanted: impl Fn(&str) -> bool) -> bool {
        self.look(within, wanted).0
    }

    /// Waits until this text stands on the screen, and gives the screen.
    ///
    /// # Panics
    /// It did not appear in time; the screen is in the message.
    pub fn wait_for_text(&self, within: Duration, text: &str) -> String {
        self.wait_for(within, |screen| screen.contains(text))
    }

    fn look(&self, within: Duration, wanted: impl Fn(&str) -> bool) -> (bool, String) {
        let deadline = Instant::now() + within;
        let mut parser = self.shown.lock();
        loop {
            let screen = seen(&parser);
            let left = deadline.saturating_duration_since(Instant::now());
            if wanted(&screen) || left.is_zero() {
                return (wanted(&screen), screen);
            }
            let waited = self.shown.changed.wait_timeout(parser, left);
            parser = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for its end, and kills it when it takes too long.
    pub fn wait_for_end(&mut self, within: Duration) -> End {
        let end = self.ended.unwrap_or_else(|| wait(&mut self.child, within));
        self.ended = Some(end);
        end
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.ended.is_none() {
            kill_group(self.child.id());
            // Reaped, so that nothing is left for an auditor to find.
            let _ = self.child.wait();
        }
    }
}

impl Key {
    fn bytes(self) -> String {
        match self {
            Self::Enter => "\r".to_owned(),
            Self::Escape => "\u{1b}".to_owned(),
            Self::Tab => "\t".to_owned(),
            Self::Up => "\u{1b}[A".to_owned(),
            Self::Down => "\u{1b}[B".to_owned(),
            Self::Backspace => "\u{7f}".to_owned(),
            Self::Control(letter) => char::from(letter.to_ascii_lowercase() as u8 & 0x1f).to_string(),
        }
    }
}

impl Shown {
    fn watch(&self, mut screen: File) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = screen.read(&mut buffer) {
            self.lock().process(&buffer[..count]);
            self.changed.notify_all();
        }
        // Whoever dies while it draws leaves what it drew.
        self.lock().callbacks_mut().before = None;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl vt100::Callbacks for Drawing {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        command: char,
    ) {
        if first != Some(b'?') || !parameters.contains(&&[2026][..]) {
            return;
        }
        match command {
            'h' if self.before.is_none() => self.before = Some(screen.contents()),
            'l' => self.before = None,
            _ => {}
        }
    }
}

fn seen(screen: &Screen) -> String {
    let before = screen.callbacks().before.clone();
    before.unwrap_or_else(|| screen.screen().contents())
}

fn blank_screen() -> Screen {
    Screen::new_with_callbacks(length(ROWS), length(COLUMNS), 0, Drawing::default())
}

fn length(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a screen has a size")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_is_seen_on_the_screen_and_takes_keys() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "printf '\\033[2J\\033[3;5Hname? '; read name; echo \"hello $name\"; cat; exit 7",
        ]);
        let mut terminal = Terminal::start(command);
        let screen = terminal.wait_for_text(PATIENCE, "name?");
        assert_eq!(screen.lines().nth(2), Some("    name? "));
        terminal.type_text("you");
        terminal.press(Key::Enter);
        terminal.wait_for_text(PATIENCE, "hello you");
        terminal.press(Key::Control('d'));
        assert_eq!(terminal.wait_for_end(PATIENCE), End::Exited(7));
    }

    #[test]
    fn what_is_drawn_in_one_go_is_seen_whole() {
        let mut screen = blank_screen();
        screen.process(b"old\x1b[?2026h\x1b[2J\x1b[Hfirst");
        assert_eq!(seen(&screen), "old");
        screen.process(b", second\x1b[?20");
        assert_eq!(seen(&screen), "old");
        screen.process(b"26l");
        assert_eq!(seen(&screen), "first, second");
    }
}
