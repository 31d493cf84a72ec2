//! The command line as a host: progress on stderr, the answer on stdout, questions on the terminal.

use super::output::{ask, person_is_there, print, say, say_plainly, says_to_terminal};
use async_trait::async_trait;
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, Host, HostError, Progress};
use impresario_policies::domain::{RunId, TerminalState};
use impresario_policies::terminal_text::shown;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A line of progress has at most so many characters.
const LINE_CHARACTERS_MAX: usize = 160;
const TURNS_EVERY: Duration = Duration::from_millis(120);

impl Drop for TerminalHost {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

pub(super) struct TerminalHost {
    started: Instant,
    /// Draws on a terminal; elsewhere every line of progress is printed.
    spinner: Option<ProgressBar>,
    turns: AtomicBool,
    /// Events go to stdout, so the answer does not.
    json: bool,
}

impl TerminalHost {
    pub(super) fn new(json: bool) -> Self {
        let spinner = says_to_terminal().then(spinner);
        Self {
            started: Instant::now(),
            spinner,
            turns: AtomicBool::new(false),
            json,
        }
    }

    /// What a run does, and how many tools it called so far.
    pub(super) fn show_doing(&self, doing: &str, tool_calls: u32) {
        match tool_calls {
            0 => self.say(doing),
            1 => self.say(&format!("{doing} (1 tool call)")),
            many => self.say(&format!("{doing} ({many} tool calls)")),
        }
    }

    fn say(&self, line: &str) {
        let line = one_line(line);
        match &self.spinner {
            Some(spinner) => {
                spinner.set_message(line);
                // Turns from the first line on: a command that has nothing to report leaves the terminal alone.
                if !self.turns.swap(true, Ordering::Relaxed) {
                    spinner.enable_steady_tick(TURNS_EVERY);
                }
            }
            None => {
                let elapsed = self.started.elapsed().as_secs_f64();
                say_plainly(&format!("[{elapsed:6.1}s] {line}"));
            }
        }
    }
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

fn one_line(text: &str) -> String {
    let in_line = text.replace(['\n', '\r', '\t'], " ");
    shown(&in_line).chars().take(LINE_CHARACTERS_MAX).collect()
}

#[async_trait(?Send)]
impl Host for TerminalHost {
    fn show(&self, progress: Progress) {
        self.show_doing(&progress.line(), progress.tool_calls);
    }

    fn notice(&self, text: String) {
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| say(&text)),
            None => say(&text),
        }
    }

    async fn ask(&self, _: &RunId, question: String) -> Result<String, HostError> {
        if !person_is_there() {
            return Err(HostError::NobodyThere);
        }
        if let Some(spinner) = &self.spinner {
            spinner.suspend(|| ask(&format!("{question}\n> ")));
        }
        // The thread may outlive the question when nobody answers; the process does not wait for it.
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin()
                .lock()
                .read_line(&mut line)
                .map(|read| (read, line))
        });
        match line.await {
            Ok(Ok((read, line))) if read > 0 => Ok(line.trim().to_string()),
            Ok(_) | Err(_) => Err(HostError::NobodyThere),
        }
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    /// Printed means kept: there is no later for a command.
    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
        if self.json {
            return Ok(DeliveryReceipt::Kept);
        }
        if let Some(line) = &delivery.stopped_early {
            say(line);
        }
        if let Some(answer) = &delivery.answer {
            let partial = delivery.state != TerminalState::Succeeded;
            if partial {
                say("what there was of an answer:");
            }
            print(answer.trim_end()).map_err(|_| HostError::Gone)?;
        }
        if let Some(line) = &delivery.whole {
            say(line);
        }
        Ok(DeliveryReceipt::Kept)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}
