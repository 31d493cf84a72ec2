//! How does a person read what a sub-agent and its model said to each other?
//!
//! From its nested session where that is kept, and from the journal where it is not. Text only, with a limit: of what is
//! too long the end is kept, for that is where a run stands. Made visible for a terminal by whoever prints it.

use crate::domain::{RunId, Step};
use crate::figures::duration_words;
use crate::projection::{AttemptProjection, RecordedStep, RunProjection, ToolCallProjection, ToolFate};
use crate::sight::{LiveFacts, RunSight, Standing, see_run};

/// A transcript has at most so many lines and bytes.
const LINES_MAX: usize = 20_000;
const BYTES_MAX: usize = 1_000_000;
/// So much of a tool's result is shown, and of what it is called with.
const RESULT_LINES_MAX: usize = 60;
const ARGUMENTS_CHARACTERS_MAX: usize = 2_000;
/// A line of any text.
const LINE_CHARACTERS_MAX: usize = 2_000;

/// Who said something in a nested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// Whoever gave the task, or told it to go on.
    User,
    /// The model.
    SubAgent,
    /// A tool, by its name where that is known.
    Tool {
        /// Its name; empty where the session does not say.
        name: String,
        /// It said that it failed.
        is_error: bool,
    },
}

/// Something that was said in a nested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Who.
    pub speaker: Speaker,
    /// What.
    pub text: String,
    /// What it thought before, where that was kept.
    pub thinking: String,
    /// The tools it calls: their names, and what with.
    pub calls: Vec<(String, String)>,
    /// What kept it from saying more.
    pub fault: Option<String>,
}

/// What there is of a run's conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptFacts<'a> {
    /// Which run.
    pub run: &'a RunId,
    /// Its steps.
    pub steps: &'a [RecordedStep],
    /// Its nested sessions, the oldest first; empty where none is kept.
    pub sessions: &'a [Vec<Spoken>],
    /// What the sub-agent says now.
    pub words: &'a str,
}

/// A transcript, line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// What it is about, in one line.
    pub title: String,
    /// The lines.
    pub lines: Vec<String>,
    /// Nothing more comes.
    pub is_over: bool,
}

/// Writes the transcript of a run.
pub fn write_transcript(facts: &TranscriptFacts<'_>) -> Transcript {
    let projection = RunProjection::of(facts.steps);
    let sight = see_run(&projection, &LiveFacts::default());
    let mut page = Page::default();
    page.head(&projection);
    match facts.sessions {
        [] => page.journal(&projection),
        sessions => {
            for session in sessions {
                page.session(session);
            }
        }
    }
    let is_over = projection.ended.is_some();
    if !is_over && !page.says_last(facts.words) {
        page.say("sub-agent, now", facts.words, usize::MAX);
    }
    page.end(&projection);
    Transcript {
        title: title_of(facts.run, &sight),
        lines: page.bounded(),
        is_over,
    }
}

fn title_of(run: &RunId, sight: &RunSight) -> String {
    let standing = match sight.standing {
        Standing::Waiting => "waits",
        Standing::Working => "works",
        Standing::Succeeded => "succeeded",
        Standing::Failed => "failed",
        Standing::Cancelled => "cancelled",
        Standing::Parked => "parked",
    };
    let more = sight.model.iter().chain(&sight.took).chain(&sight.used);
    let parts = [sight.name.clone(), format!("run {run}"), standing.into()];
    parts
        .into_iter()
        .chain(more.cloned())
        .collect::<Vec<_>>()
        .join(" · ")
}

#[derive(Debug, Default)]
struct Page {
    lines: Vec<String>,
}

impl Page {
    fn head(&mut self, run: &RunProjection) {
        if let Some(accepted) = &run.accepted {
            self.say("task", &accepted.request.task, RESULT_LINES_MAX);
        }
        for question in &run.questions {
            self.say("asked", &question.question, RESULT_LINES_MAX);
            if let Some(answer) = &question.answer {
                self.say("answered", answer, RESULT_LINES_MAX);
            }
        }
    }

    fn session(&mut self, session: &[Spoken]) {
        for spoken in session {
            match &spoken.speaker {
                Speaker::User => self.say("told", &spoken.text, usize::MAX),
                Speaker::SubAgent => self.sub_agent(spoken),
                Speaker::Tool { name, is_error } => {
                    let name = if name.is_empty() { "tool" } else { name };
                    let who = if *is_error {
                        format!("{name}, failed")
                    } else {
                        name.to_string()
                    };
                    self.say(&who, &spoken.text, RESULT_LINES_MAX);
                }
            }
        }
    }

    fn sub_agent(&mut self, spoken: &Spoken) {
        if !spoken.thinking.trim().is_empty() {
            self.say("sub-agent thinks", &spoken.thinking, RESULT_LINES_MAX);
        }
        if !spoken.text.trim().is_empty() {
            self.say("sub-agent", &spoken.text, usize::MAX);
        }
        for (tool, arguments) in &spoken.calls {
            self.call(tool, arguments);
        }
        if let Some(fault) = &spoken.fault {
            self.say("its provider", fault, RESULT_LINES_MAX);
        }
    }

    /// What is left where the conversation is not kept.
    fn journal(&mut self, run: &RunProjection) {
        if run.attempts.is_empty() {
            return;
        }
        self.gap();
        self.line(match run.ended {
            Some(_) => "The conversation itself is not kept; this is what the journal says.",
            None => "The conversation is not on disk yet; this is what the journal says.",
        });
        for attempt in &run.attempts {
            self.attempt(attempt);
        }
    }

    fn attempt(&mut self, attempt: &AttemptProjection) {
        self.gap();
        self.line(&format!("── attempt {} on {} ──", attempt.number, attempt.model));
        for call in &attempt.tools {
            self.call(&call.tool, &call.summary);
            let (who, preview) = fate_words(call);
            self.say(&who, preview, RESULT_LINES_MAX);
        }
        if let Some(partial) = attempt.ended.as_ref().and_then(|ended| ended.partial.as_deref()) {
            self.say("sub-agent, cut off", partial, usize::MAX);
        }
    }

    fn call(&mut self, tool: &str, arguments: &str) {
        self.gap();
        let cut = arguments.char_indices().nth(ARGUMENTS_CHARACTERS_MAX);
        let arguments = match cut {
            Some((end, _)) => format!("{}…", &arguments[..end]),
            None => arguments.to_string(),
        };
        self.line(&format!("▸ {tool}  {}", arguments.replace('\n', "\n    ")));
    }

    fn end(&mut self, run: &RunProjection) {
        let Some(ended) = &run.ended else { return };
        if let Some(reason) = &ended.reason {
            self.say("ended", &reason.message, RESULT_LINES_MAX);
        }
        if let Some(answer) = run.answer.as_deref() {
            self.say("answer", answer, usize::MAX);
        }
    }

    /// These words stand there already: the message they belong to is finished, and nothing was said since.
    fn says_last(&self, words: &str) -> bool {
        let mut lines = self.lines.iter().rev();
        let words = words.trim_end().lines().rev();
        words.into_iter().all(|word| {
            lines
                .next()
                .is_some_and(|line| line.trim_start() == word.trim_start())
        })
    }

    fn say(&mut self, who: &str, text: &str, lines_max: usize) {
        self.gap();
        self.line(&format!("{who}:"));
        let text = text.trim_end();
        for line in text.lines().take(lines_max) {
            self.line(&format!("  {line}"));
        }
        let more = text.lines().skip(lines_max).count();
        if more > 0 {
            self.line(&format!("  … {more} more lines"));
        }
    }

    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
    }

    fn line(&mut self, text: &str) {
        for line in text.split('\n') {
            match line.char_indices().nth(LINE_CHARACTERS_MAX) {
                Some((end, _)) => self.lines.push(format!("{}…", &line[..end])),
                None => self.lines.push(line.to_string()),
            }
        }
    }

    /// The last lines that fit, and a word about those that do not.
    fn bounded(self) -> Vec<String> {
        let mut bytes = 0;
        let fitting = self.lines.iter().rev().take(LINES_MAX).take_while(|line| {
            bytes += line.len() + 1;
            bytes <= BYTES_MAX
        });
        let left_out = self.lines.len() - fitting.count();
        match left_out {
            0 => self.lines,
            _ => {
                let said = format!("[{left_out} earlier lines are left out]");
                [said]
                    .into_iter()
                    .chain(self.lines.into_iter().skip(left_out))
                    .collect()
            }
        }
    }
}

fn fate_words(call: &ToolCallProjection) -> (String, &str) {
    let took = call.over_at_ms.map(|over| {
        format!(
            " after {}",
            duration_words(over.saturating_sub(call.begun_at_ms) as f64)
        )
    });
    let took = took.unwrap_or_default();
    match &call.fate {
        ToolFate::InFlight => (format!("{} runs", call.tool), ""),
        ToolFate::Finished {
            is_error, preview, ..
        } => {
            let how = if *is_error { ", failed" } else { "" };
            (format!("{}{how}{took}", call.tool), preview)
        }
        ToolFate::Indeterminate => (format!("{}: nobody knows whether it ran", call.tool), ""),
    }
}

/// The session files of a run that were set aside before the last one, by the attempt that set them aside.
pub fn attempts_from_scratch(steps: &[RecordedStep]) -> Vec<u32> {
    let from_scratch = steps.iter().filter_map(|recorded| match &recorded.step {
        Step::AttemptStarted {
            attempt,
            resumes_session: false,
            ..
        } => Some(attempt.0),
        _ => None,
    });
    from_scratch.skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Replay};

    fn recorded(steps: impl IntoIterator<Item = Step>) -> Vec<RecordedStep> {
        let numbered = steps.into_iter().zip(1_u64..);
        numbered
            .map(|(step, sequence)| RecordedStep {
                sequence,
                generation: 1,
                at_ms: 100 * sequence,
                step,
            })
            .collect()
    }

    fn attempt(number: u32, resumes_session: bool) -> Step {
        Step::AttemptStarted {
            attempt: AttemptNumber(number),
            model: "a/one".into(),
            runner: "pi".into(),
            session_file: None,
            resumes_session,
        }
    }

    fn told(speaker: Speaker, text: &str) -> Spoken {
        Spoken {
            speaker,
            text: text.into(),
            thinking: String::new(),
            calls: Vec::new(),
            fault: None,
        }
    }

    fn written(steps: &[RecordedStep], sessions: &[Vec<Spoken>], words: &str) -> Transcript {
        write_transcript(&TranscriptFacts {
            run: &RunId::new(1, 1),
            steps,
            sessions,
            words,
        })
    }

    #[test]
    fn a_session_is_read_in_its_order_and_what_is_said_now_stands_last() {
        let session = vec![
            told(Speaker::User, "Goal: find it"),
            Spoken {
                thinking: "hm".into(),
                calls: vec![("read".into(), "src/lib.rs".into())],
                ..told(Speaker::SubAgent, "I look.")
            },
            told(
                Speaker::Tool {
                    name: "read".into(),
                    is_error: true,
                },
                "no such file\n",
            ),
            Spoken {
                fault: Some("529".into()),
                ..told(Speaker::SubAgent, "")
            },
        ];
        let transcript = written(&recorded([attempt(1, false)]), &[session], "Then I");
        let wanted = "told:\n  Goal: find it\n\nsub-agent thinks:\n  hm\n\nsub-agent:\n  I look.\n\n▸ read  src/lib.rs\n\n\
                      read, failed:\n  no such file\n\nits provider:\n  529\n\nsub-agent, now:\n  Then I";
        assert_eq!(transcript.lines.join("\n"), wanted);
        assert!(!transcript.is_over);
    }

    #[test]
    fn without_a_session_the_journal_says_what_it_knows() {
        let steps = recorded([
            attempt(1, false),
            Step::ToolStarted {
                attempt: AttemptNumber(1),
                call: "c".into(),
                tool: "bash".into(),
                summary: "ls".into(),
                arguments: None,
                replay: Replay::Unsafe,
                target: None,
            },
            Step::ToolEnded {
                attempt: AttemptNumber(1),
                call: "c".into(),
                is_error: false,
                bytes: 3,
                preview: "a\nb".into(),
                overflow: None,
                evidence: None,
            },
        ]);
        let text = written(&steps, &[], "").lines.join("\n");
        assert!(text.starts_with("The conversation is not on disk yet"), "{text}");
        assert!(
            text.ends_with("▸ bash  ls\n\nbash after 100ms:\n  a\n  b"),
            "{text}"
        );
    }

    #[test]
    fn the_end_of_what_is_too_long_is_kept_and_a_result_is_cut() {
        let long = (0..LINES_MAX + 50)
            .map(|number| format!("line {number}\n"))
            .collect::<String>();
        let tool = Speaker::Tool {
            name: String::new(),
            is_error: false,
        };
        let session = vec![told(tool, &long), told(Speaker::SubAgent, &long)];
        let lines = written(&[], &[session], "").lines;
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert!(lines[0].ends_with("earlier lines are left out]"), "{}", lines[0]);
        assert_eq!(
            lines.last().map(String::as_str),
            Some(format!("  line {}", LINES_MAX + 49).as_str())
        );
        let result = vec![
            told(Speaker::User, &"x".repeat(9_000)),
            told(
                Speaker::Tool {
                    name: "ls".into(),
                    is_error: false,
                },
                &long,
            ),
        ];
        let lines = written(&[], &[result], "").lines;
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= LINE_CHARACTERS_MAX + 3)
        );
        assert_eq!(lines.last().map(String::as_str), Some("  … 19990 more lines"));
    }

    #[test]
    fn sessions_that_were_set_aside_are_known_by_who_set_them_aside() {
        let steps = recorded([attempt(1, false), attempt(2, true), attempt(3, false)]);
        assert_eq!(attempts_from_scratch(&steps), [3]);
    }
}
