//! What a person types. Waiting for it is a thread's work.

use super::state::{Input, Key};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a key is waited for before it is looked whether anybody wants one.
const KEY_WITHIN: Duration = Duration::from_millis(100);
/// So many keys may be pressed ahead of the screen.
const KEYS_AHEAD_MAX: usize = 256;

pub(super) fn typed() -> mpsc::Receiver<io::Result<Input>> {
    let (typed, heard) = mpsc::channel(KEYS_AHEAD_MAX);
    tokio::task::spawn_blocking(move || {
        while !typed.is_closed() {
            let input = match event::poll(KEY_WITHIN) {
                Ok(true) => event::read().map(input_of),
                Ok(false) => continue,
                Err(error) => Err(error),
            };
            let broke = input.is_err();
            let unheard = input
                .transpose()
                .is_some_and(|input| typed.blocking_send(input).is_err());
            if broke || unheard {
                return;
            }
        }
    });
    heard
}

/// None where it means nothing.
fn input_of(event: Event) -> Option<Input> {
    match event {
        Event::Resize(..) => Some(Input::Resized),
        Event::Paste(text) => Some(Input::Pasted(text)),
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            key_of(key.code, key.modifiers).map(Input::Key)
        }
        Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

fn key_of(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let with_control = modifiers.contains(KeyModifiers::CONTROL);
    Some(match code {
        KeyCode::Char('c') if with_control => Key::Interrupt,
        KeyCode::Char('u') if with_control => Key::EraseAll,
        KeyCode::Char(_) if with_control || modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
