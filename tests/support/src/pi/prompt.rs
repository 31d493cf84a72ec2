//! Pi's prompt on a terminal.

use std::time::{Duration, Instant};

use crate::terminal::{Key, Terminal};

/// How long Pi may take to show what one key did, before the key is pressed again.
const KEY_SHOWS: Duration = Duration::from_secs(2);
/// How long the prompt must go on without the text. While Pi starts it takes the text out and puts it back, and a
/// screen that is drawn anew has no prompt for a moment.
const LETS_GO: Duration = Duration::from_millis(400);

/// Types a text into Pi's prompt and submits it.
///
/// While Pi starts it refuses to submit and leaves the text where it is ("Startup is still in progress"), so Enter is
/// pressed until the prompt has let go of the text for good. Enter on an empty prompt does nothing.
///
/// # Panics
/// The text did not leave the prompt in time; the screen is in the message.
pub fn submit(terminal: &mut Terminal, text: &str, within: Duration) {
    let deadline = Instant::now() + within;
    terminal.wait_for(within, |screen| prompt_of(screen).is_some());
    terminal.type_text(text);
    terminal.wait_for(within, holds_text);
    loop {
        terminal.press(Key::Enter);
        let left = deadline.saturating_duration_since(Instant::now());
        let gone = terminal.shows(KEY_SHOWS, |screen| !holds_text(screen));
        if gone && !terminal.shows(LETS_GO, holds_text) {
            return;
        }
        assert!(
            !left.is_zero(),
            "the text did not leave the prompt:\n{}",
            terminal.screen()
        );
    }
}

/// The prompt is there, with something in it.
fn holds_text(screen: &str) -> bool {
    prompt_of(screen).is_some_and(|prompt| !prompt.is_empty())
}

/// What stands in the prompt: between the last two rules drawn across the screen. None while there is no prompt.
#[must_use]
pub fn prompt_of(screen: &str) -> Option<String> {
    let lines: Vec<&str> = screen.lines().collect();
    let rules: Vec<usize> = (0..lines.len())
        .filter(|index| lines[*index].starts_with("────"))
        .collect();
    let [.., above, below] = rules.as_slice() else {
        return None;
    };
    let text: Vec<&str> = lines[above + 1..*below]
        .iter()
        .map(|line| line.trim_end())
        .collect();
    Some(text.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_stands_between_the_last_two_rules() {
        let rule = "─".repeat(20);
        assert_eq!(
            prompt_of(&format!("hello\n{rule}\n say \n{rule}\nfooter")),
            Some("say".to_owned())
        );
        assert_eq!(
            prompt_of(&format!("{rule}\nold\n{rule}\n\n{rule}\nfooter")),
            Some(String::new())
        );
        assert_eq!(prompt_of("starting"), None);
    }
}
