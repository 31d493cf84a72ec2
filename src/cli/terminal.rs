//! The command line as a host: progress on stderr, the answer on stdout, questions on the terminal.

use super::output::{ask, person_is_there, print, say, say_plainly, says_to_terminal};
use crate::runtime::take_answer;
use async_trait::async_trait;
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, Host, HostError, Progress};
use impresario_policies::domain::{RunId, TerminalState};
use impresario_policies::terminal_text::shown;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A line of progress has at most so many characters.
const LINE_CHARACTERS_MAX: usize = 160;
const TURNS_EVERY: Duration = Duration::from_millis(120);
/// How often it is looked whether somebody answered from elsewhere.
const LOOKED_EVERY: Duration = Duration::from_millis(250);

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
    /// Nobody sits here; who follows the run from elsewhere leaves answers there.
    answers: Option<PathBuf>,
}

impl TerminalHost {
    pub(super) fn new(json: bool) -> Self {
        let spinner = says_to_terminal().then(spinner);
        Self {
            started: Instant::now(),
            spinner,
            turns: AtomicBool::new(false),
            json,
            answers: None,
        }
    }

    /// Questions wait for answers that somebody leaves there.
    pub(super) fn answered_in(mut self, answers: Option<PathBuf>) -> Self {
        self.answers = answers;
        self
    }

    /// Puts a question to the person; nothing is drawn over what is typed.
    pub(super) fn put(&self, question: &str) {
        let put = || ask(&format!("{question}\n> "));
        match &self.spinner {
            Some(spinner) => {
                spinner.disable_steady_tick();
                self.turns.store(false, Ordering::Relaxed);
                spinner.suspend(put);
            }
            None => put(),
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

/// The line that the person types next; none when there is no more.
pub(super) async fn typed_line() -> Option<String> {
    // The thread may outlive the question when nobody answers; the process does not wait for it.
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map(|read| (read, line))
    });
    match line.await {
        Ok(Ok((read, line))) if read > 0 => Some(line.trim().to_string()),
        Ok(_) | Err(_) => None,
    }
}

/// Waits until somebody answers; who asks has a deadline.
async fn answer_left(answers: &Path, run: &RunId, question: &str) -> String {
    say(&format!(
        "asks: {question}\n`impresario runs attach {run}` on a terminal answers it"
    ));
    loop {
        if let Some(answer) = take_answer(answers, run, question) {
            return answer;
        }
        tokio::time::sleep(LOOKED_EVERY).await;
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

    async fn ask(&self, run: &RunId, question: String) -> Result<String, HostError> {
        if let Some(answers) = &self.answers {
            return Ok(answer_left(answers, run, &question).await);
        }
        if !person_is_there() {
            return Err(HostError::NobodyThere);
        }
        self.put(&question);
        typed_line().await.ok_or(HostError::NobodyThere)
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
