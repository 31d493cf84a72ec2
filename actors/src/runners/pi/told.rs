//! What a nested Pi is told while it works, and what it says to that.

use crate::gateways::RunnerEvent;
use crate::transcripts::conversation_of;
use impresario_policies::domain::{MessageId, MessageKind, RunMessage};
use impresario_policies::run_messages::{MessageStanding, Said, find_message, told};
use impresario_policies::transcript::{Speaker, Spoken};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// What the run was told before an attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct MessagesBefore {
    /// What the conversation does not have: it goes with the prompt.
    missing: Vec<RunMessage>,
    /// What it has, and what was said next.
    found: Vec<(RunMessage, Option<String>)>,
}

impl MessagesBefore {
    /// All of them are missing in a conversation that begins.
    pub(super) fn of_new_conversation(messages: Vec<RunMessage>) -> Self {
        Self {
            missing: messages,
            found: Vec::new(),
        }
    }

    /// Looks for them in the session that goes on. Reads files.
    pub(super) fn look(messages: Vec<RunMessage>, session: &Path) -> io::Result<Self> {
        let conversation = conversation_of(session)?;
        let mut before = Self::default();
        for message in messages {
            match find_message(conversation.iter().filter_map(said), &message.id) {
                MessageStanding::Missing => before.missing.push(message),
                MessageStanding::Told { said_next } => before.found.push((message, said_next)),
            }
        }
        Ok(before)
    }

    /// The prompt, and behind it what has to be told with it.
    pub(super) fn behind(&self, prompt: String) -> String {
        let missing = self.missing.iter();
        missing.fold(prompt, |prompt, message| format!("{prompt}\n\n{}", told(message)))
    }
}

fn said(spoken: &Spoken) -> Option<Said<'_>> {
    match spoken.speaker {
        Speaker::User => Some(Said::ToIt(&spoken.text)),
        Speaker::SubAgent => Some(Said::ByIt(&spoken.text)),
        Speaker::Tool { .. } => None,
    }
}

/// The messages of one attempt.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Not said yet: Pi does not run.
    held: VecDeque<RunMessage>,
    /// Said, and not seen in the conversation.
    said: Vec<RunMessage>,
    /// Questions in the conversation that nothing was said after.
    unanswered: Vec<MessageId>,
}

impl Messages {
    /// Begins with what was told before, and tells what is known of it.
    pub(super) fn begin(&mut self, before: MessagesBefore) -> Vec<RunnerEvent> {
        let mut events = Vec::new();
        for (message, said_next) in before.found {
            let asks = message.kind == MessageKind::Ask;
            let (message, again) = (message.id.clone(), message.id);
            events.push(RunnerEvent::Told { message });
            match said_next {
                Some(text) if asks => events.push(RunnerEvent::Replied { message: again, text }),
                None if asks => self.unanswered.push(again),
                Some(_) | None => {}
            }
        }
        self.said = before.missing;
        events
    }

    pub(super) fn hold(&mut self, message: RunMessage) {
        self.held.push_back(message);
    }

    /// What is said next, if anything waits for that.
    pub(super) fn next_to_say(&mut self) -> Option<RunMessage> {
        let message = self.held.pop_front()?;
        self.said.push(message.clone());
        Some(message)
    }

    pub(super) fn wants_an_answer(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Nothing is on its way to Pi, or waits for being said.
    pub(super) fn is_all_told(&self) -> bool {
        self.held.is_empty() && self.said.is_empty()
    }

    /// These stand in the conversation now.
    pub(super) fn told(&mut self, seen: &[MessageId]) -> Vec<RunnerEvent> {
        let (told, said) = std::mem::take(&mut self.said)
            .into_iter()
            .partition::<Vec<_>, _>(|message| seen.contains(&message.id));
        self.said = said;
        let questions = told.iter().filter(|message| message.kind == MessageKind::Ask);
        self.unanswered
            .extend(questions.map(|message| message.id.clone()));
        let told = told.into_iter();
        told.map(|message| RunnerEvent::Told { message: message.id })
            .collect()
    }

    /// The first words after that.
    pub(super) fn replied(&mut self, text: &str) -> Vec<RunnerEvent> {
        let answered = std::mem::take(&mut self.unanswered).into_iter();
        let replied = answered.map(|message| RunnerEvent::Replied {
            message,
            text: text.to_string(),
        });
        replied.collect()
    }
}
