//! The loop of an embedded sub-agent: ask the model, run the tools it calls, ask again, until it answers.

use super::inbox::{Found, Inbox};
use super::outline::outline;
use super::pictures;
use super::session_file::Care;
use super::tool_calls::{MadeCall, ToolCalls, unless_cancelled};
use super::{EmbeddedParts, session_file};
use crate::context::local::HeavyWork;
use crate::gateways::{
    AttemptRequest, CallAsked, EndFacts, ModelError, ModelMessage, ModelReply, ModelRequest, ModelRole,
    ModelUsage, Overrun, RunnerEvent, ToolCall, ToolDefinition,
};
use futures_util::stream::{self, StreamExt};
use impresario_policies::answer_schema::{AnswerSchema, CORRECTIONS_MAX, correction};
use impresario_policies::attempt_ending::{says_its_status, says_nobody_was_reached};
use impresario_policies::domain::{EarlierSpeaker, Replay};
use impresario_policies::prices::priced;
use impresario_policies::run_messages::told;
use impresario_policies::tool_call::{CALLS_IN_A_REPLY_MAX, call_name};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often it is looked whether the disk has room again.
const ROOM_AGAIN: Duration = Duration::from_millis(500);

/// Parts of a text that nobody has heard yet.
const DELTAS_AHEAD_MAX: usize = 64;

/// Stands in the last request only.
const LAST_TURN: &str = "This is the last turn: no tool is called any more. Answer now, with what you have.";

/// Why the loop ends before the model answered.
pub(super) enum Stop {
    Cancelled,
    /// The model could not be had.
    Model(ModelError),
    /// The next call does not fit into what may be spent.
    OverBudget(String),
    /// A reply calls more tools than it may; none of them runs.
    TooManyCalls(usize),
    /// The answer does not have the form that was asked for.
    Malformed(String),
    /// Something of ours: the session file, the gate.
    Broken(String),
}

pub(super) struct AgentLoop {
    request: AttemptRequest,
    inbox: Inbox,
    parts: EmbeddedParts,
    writes: Rc<session_file::Writes>,
    calls: Rc<ToolCalls>,
    form: Option<AnswerSchema>,
    messages: Vec<ModelMessage>,
    /// Whether the model takes pictures that tools show, as far as it has not refused any.
    takes_pictures: bool,
}

impl AgentLoop {
    pub(super) fn new(
        request: AttemptRequest,
        inbox: Inbox,
        parts: EmbeddedParts,
        writes: Rc<session_file::Writes>,
        calls: ToolCalls,
        form: Option<AnswerSchema>,
    ) -> Self {
        Self {
            request,
            inbox,
            parts,
            writes,
            calls: Rc::new(calls),
            form,
            messages: Vec::new(),
            takes_pictures: true,
        }
    }

    pub(super) async fn run(mut self) {
        self.tell(RunnerEvent::Active).await;
        let facts = match self.converse().await {
            Ok(answer) => EndFacts {
                terminal_event: true,
                stop_reason: Some("stop".to_string()),
                answer,
                ..EndFacts::default()
            },
            Err(stop) => self.facts_of(stop),
        };
        self.tell(RunnerEvent::Ended(facts)).await;
    }

    /// Speaks with the model until it answers; the answer is the text of its last message.
    async fn converse(&mut self) -> Result<String, Stop> {
        self.open_session().await?;
        self.sort_messages().await;
        match session_file::answer(&self.messages).map(|answer| self.formed(answer)) {
            Some(Ok(answer)) if self.inbox.is_empty() => return Ok(answer),
            Some(Err(fault)) => {
                self.remember(user_message(correction(&fault)), Care::Written)
                    .await?
            }
            Some(Ok(_)) | None => {}
        }
        for (place, call) in (1..).zip(session_file::open_calls(&self.messages)) {
            self.take_up_again(call_name(0, place, &call.id), call).await?;
        }
        if let Some(told) = self.told_first() {
            self.remember(user_message(told), Care::Written).await?;
        }
        let mut corrections = 0;
        for turn in 1..=self.parts.turns_max {
            let is_last = turn == self.parts.turns_max;
            self.hear_messages().await?;
            let reply = match is_last {
                true => self.ask_for_last_word().await?,
                false => self.ask_model(None, self.calls.toolbox.definitions()).await?,
            };
            self.tell_replies(&reply.text).await;
            if reply.tool_calls.len() > CALLS_IN_A_REPLY_MAX {
                return Err(Stop::TooManyCalls(reply.tool_calls.len()));
            }
            let calls = if is_last { Vec::new() } else { reply.tool_calls };
            let care = self.care_for(&calls);
            if calls.is_empty() {
                self.remember(assistant_message(reply.text.clone(), calls), care)
                    .await?;
                // What came while it spoke its last word is heard too.
                if !is_last && !self.inbox.is_empty() {
                    continue;
                }
                match self.formed(reply.text) {
                    Ok(answer) => return Ok(answer),
                    Err(fault) if is_last || corrections == CORRECTIONS_MAX => {
                        return Err(Stop::Malformed(fault));
                    }
                    Err(fault) => {
                        self.remember(user_message(correction(&fault)), Care::Written)
                            .await?
                    }
                }
                corrections += 1;
                continue;
            }
            self.remember(assistant_message(reply.text, calls.clone()), care)
                .await?;
            self.run_calls(turn, calls).await?;
        }
        Ok(String::new())
    }

    /// The answer in the form that was asked for, or what is wrong with it.
    fn formed(&self, answer: String) -> Result<String, String> {
        match &self.form {
            Some(form) => form.check(&answer),
            None => Ok(answer),
        }
    }

    /// Goes on with the session on disk when the request says so, else begins a new one.
    async fn open_session(&mut self) -> Result<(), Stop> {
        let path = self.request.session_file.clone();
        if self.request.resume.is_some() {
            self.messages = self
                .aside(move || session_file::read(&path))
                .await?
                .unwrap_or_default();
        }
        if self.messages.is_empty() {
            self.messages = first_messages(&self.request);
        }
        // Written anew in either case: a line torn by a crash must not swallow the next one.
        loop {
            let (path, messages) = (self.request.session_file.clone(), self.messages.clone());
            match self.aside(move || session_file::begin(&path, &messages)).await? {
                Ok(()) => return Ok(()),
                Err(error) => self.await_room("begin", error).await?,
            }
        }
    }

    /// What the run was told before this attempt stands in the conversation that goes on, or is told now.
    async fn sort_messages(&mut self) {
        for found in self.inbox.sort(&self.request.messages, &self.messages) {
            self.tell(match found {
                Found::Told(message) => RunnerEvent::Told { message },
                Found::Replied(message, text) => RunnerEvent::Replied { message, text },
            })
            .await;
        }
    }

    /// Puts what the run was told meanwhile into the conversation.
    async fn hear_messages(&mut self) -> Result<(), Stop> {
        while let Some(message) = self.inbox.next() {
            self.remember(user_message(told(&message)), Care::Written).await?;
            self.inbox.told(&message);
            self.tell(RunnerEvent::Told { message: message.id }).await;
        }
        Ok(())
    }

    /// The first thing said after a question is its answer.
    async fn tell_replies(&self, said: &str) {
        if said.trim().is_empty() {
            return;
        }
        for message in self.inbox.answered() {
            let text = said.to_string();
            self.tell(RunnerEvent::Replied { message, text }).await;
        }
    }

    /// What a sub-agent that goes on is told before anything else.
    fn told_first(&self) -> Option<String> {
        let goes_on = self.messages.len() > first_messages(&self.request).len();
        self.request
            .resume
            .clone()
            .filter(|told| goes_on && !told.trim().is_empty())
    }

    /// A call that was cut off: repeated when that does no harm, else reported as unknown.
    async fn take_up_again(&mut self, name: String, call: ToolCall) -> Result<(), Stop> {
        if self.calls.toolbox.replay(&call.tool) == Replay::Safe {
            return self.run_call(name, call).await;
        }
        let text = "Indeterminate: this call was cut off, and nobody knows whether it took effect. Look before you call it again.";
        let care = self.care_for(std::slice::from_ref(&call));
        self.remember(tool_message(&call, text.to_string()), care).await
    }

    /// The tools stay in the request, or nothing of it could be read from the provider's cache; no call is made. Only a
    /// model that calls one all the same, instead of answering, is asked again without them.
    async fn ask_for_last_word(&mut self) -> Result<ModelReply, Stop> {
        let told = (self.parts.turns_max > 1).then_some(LAST_TURN);
        let reply = self.ask_model(told, self.calls.toolbox.definitions()).await?;
        match reply.text.trim().is_empty() && !reply.tool_calls.is_empty() {
            true => self.ask_model(told, Vec::new()).await,
            false => Ok(reply),
        }
    }

    /// A request that may have been refused for its pictures is made again without them: whether a model takes any,
    /// nobody says before.
    async fn ask_model(
        &mut self,
        told: Option<&str>,
        tools: Vec<ToolDefinition>,
    ) -> Result<ModelReply, Stop> {
        match self.ask_once(told, tools.clone()).await {
            Err(Stop::Model(error))
                if self.takes_pictures && pictures::were_refused(&error, &self.messages) =>
            {
                self.takes_pictures = false;
                self.ask_once(told, tools).await
            }
            asked => asked,
        }
    }

    async fn ask_once(&mut self, told: Option<&str>, tools: Vec<ToolDefinition>) -> Result<ModelReply, Stop> {
        let mut messages = pictures::asked(&self.messages, self.takes_pictures);
        messages.extend(told.map(|told| user_message(told.to_string())));
        let request = ModelRequest {
            model: self.request.model.clone(),
            system: self.request.system_prompt.clone(),
            messages,
            tools,
            temperature: self.request.temperature,
            reasoning_effort: self.request.reasoning_effort,
            json: false,
            tokens_max: self.parts.tokens_max,
        };
        self.pay_for(&request).await?;
        let (reply, spoke) = self.unless_cancelled(self.listen(request)).await?;
        let used = match &reply {
            Ok(reply) => Some(priced(&self.request.model, reply.usage)),
            Err(_) => (!spoke).then(ModelUsage::default),
        };
        let served = reply.as_ref().ok().and_then(|reply| reply.served.clone());
        self.tell(RunnerEvent::Called { served, used }).await;
        reply.map_err(Stop::Model)
    }

    /// Asks whether the call may be made.
    async fn pay_for(&self, request: &ModelRequest) -> Result<(), Stop> {
        let is_marked = self.parts.model.marks_prompts(&request.model);
        let outline = match request.messages.iter().all(|message| message.pictures.is_empty()) {
            true => outline(request, is_marked),
            // Megabytes take longer than this thread has.
            false => {
                let request = request.clone();
                self.aside(move || outline(&request, is_marked)).await?
            }
        };
        let asked = CallAsked {
            model: request.model.clone(),
            bytes: request.bytes(),
            tokens_max: request.tokens_max.into(),
            outline: Some(outline),
        };
        let gate = Rc::clone(&self.calls.gate);
        self.unless_cancelled(gate.calling(asked))
            .await?
            .map_err(Stop::OverBudget)?;
        Ok(())
    }

    /// One call, whose text is told as it comes, and whether there was any.
    async fn listen(&self, request: ModelRequest) -> (Result<ModelReply, ModelError>, bool) {
        let (deltas, mut told) = mpsc::channel(DELTAS_AHEAD_MAX);
        let telling = async {
            let mut spoke = false;
            while let Some(delta) = told.recv().await {
                spoke = true;
                self.tell(RunnerEvent::Text { delta }).await;
            }
            spoke
        };
        // The end of the call lets go of the other end of the channel.
        tokio::join!(self.parts.model.stream(request, deltas), telling)
    }

    /// The calls of a reply, in the order it makes them; those that do no harm side by side.
    async fn run_calls(&mut self, turn: u32, calls: Vec<ToolCall>) -> Result<(), Stop> {
        let at_a_time = self.calls.at_a_time(&calls);
        let made = (1..).zip(calls).map(|(place, call)| {
            let work = Rc::clone(&self.calls);
            async move { work.make(call_name(turn, place, &call.id), call).await }
        });
        let mut made = stream::iter(made.collect::<Vec<_>>()).buffered(at_a_time);
        while let Some(done) = made.next().await {
            self.keep_result(done?).await?;
        }
        Ok(())
    }

    async fn run_call(&mut self, name: String, call: ToolCall) -> Result<(), Stop> {
        let done = self.calls.make(name, call).await?;
        self.keep_result(done).await
    }

    /// On disk before anybody hears that it ended.
    async fn keep_result(&mut self, done: MadeCall) -> Result<(), Stop> {
        let care = match done.ended {
            Some(_) => self.care_for(std::slice::from_ref(&done.call)),
            None => Care::Written,
        };
        let mut result = ModelMessage {
            pictures: done.pictures,
            ..tool_message(&done.call, done.text)
        };
        pictures::fit(&mut result, &self.messages);
        self.remember(result, care).await?;
        if let Some(ended) = done.ended {
            self.tell(ended).await;
        }
        Ok(())
    }

    /// Keeps a message, first on disk.
    async fn remember(&mut self, message: ModelMessage, care: Care) -> Result<(), Stop> {
        let message = Arc::new(message);
        while let Err(error) = self.write(message.clone(), care).await? {
            self.await_room("write", error).await?;
        }
        self.messages.push(Arc::unwrap_or_clone(message));
        Ok(())
    }

    async fn write(&self, message: Arc<ModelMessage>, care: Care) -> Result<std::io::Result<()>, Stop> {
        let path = self.request.session_file.clone();
        match (care, self.parts.heavy_work) {
            (Care::Written, HeavyWork::Aside) => Ok(self.writes.append(path, message).await),
            (Care::Synced, _) | (_, HeavyWork::Inline) => {
                self.aside(move || session_file::append(&path, &message, care))
                    .await
            }
        }
    }

    /// A disk that is full for a while is waited for: the clocks of the run say how long.
    async fn await_room(&self, what: &str, error: std::io::Error) -> Result<(), Stop> {
        if !session_file::may_pass(&error) {
            return Err(Stop::Broken(format!("{what} the session file: {error}")));
        }
        self.tell(RunnerEvent::Alive).await;
        self.unless_cancelled(tokio::time::sleep(ROOM_AGAIN)).await
    }

    /// What tells of a call that must not run twice outlives even a power cut.
    fn care_for(&self, calls: &[ToolCall]) -> Care {
        let must_not_run_twice = |call: &ToolCall| self.calls.toolbox.replay(&call.tool) == Replay::Unsafe;
        match calls.iter().any(must_not_run_twice) {
            true => Care::Synced,
            false => Care::Written,
        }
    }

    async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
        self.parts.heavy_work.run(work).await.map_err(Stop::Broken)
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        unless_cancelled(&self.calls.cancel, work).await
    }

    /// An event nobody listens to any more is no loss: the attempt is over.
    async fn tell(&self, event: RunnerEvent) {
        let _ = self.calls.events.send(event).await;
    }

    fn facts_of(&self, stop: Stop) -> EndFacts {
        let spoken = self
            .messages
            .iter()
            .rev()
            .find(|message| message.role == ModelRole::Assistant);
        let facts = EndFacts {
            answer: spoken.map_or(String::new(), |message| message.text.clone()),
            read_lines: self.messages.len() as u64,
            ..EndFacts::default()
        };
        match stop {
            Stop::Cancelled => EndFacts {
                terminal_event: true,
                stop_reason: Some("aborted".to_string()),
                stop_ordered: true,
                ..facts
            },
            Stop::Model(error) => EndFacts {
                terminal_event: true,
                stop_reason: Some("error".to_string()),
                raw_stop_reason: matches!(error, ModelError::Refused(_)).then(|| "refusal".to_string()),
                error_message: Some(provider_words(&error)),
                ..facts
            },
            Stop::OverBudget(why) => EndFacts {
                terminal_event: true,
                over_budget: Some(why),
                ..facts
            },
            Stop::Malformed(fault) => EndFacts {
                terminal_event: true,
                malformed: Some(fault),
                ..facts
            },
            Stop::TooManyCalls(count) => EndFacts {
                overrun: Some(Overrun::Calls(count as u64)),
                ..facts
            },
            Stop::Broken(why) => EndFacts {
                error_message: Some(why.clone()),
                stderr_tail: why,
                ..facts
            },
        }
    }
}

/// What a provider would have written, so that one reading of endings serves every runner.
fn provider_words(error: &ModelError) -> String {
    let (status, why) = match error {
        ModelError::Unavailable(why) => ("503", why),
        ModelError::RateLimited(why) => ("429", why),
        ModelError::Authentication(why) => ("401", why),
        ModelError::ContextOverflow(why) => ("413 context overflow:", why),
        ModelError::UnknownModel(why) => ("404", why),
        ModelError::Refused(why) => ("refusal:", why),
    };
    match says_its_status(why) || says_nobody_was_reached(why) {
        true => why.clone(),
        false => format!("{status} {why}"),
    }
}

/// What was said before, and the task with what belongs to it.
fn first_messages(request: &AttemptRequest) -> Vec<ModelMessage> {
    let given = request.given.as_deref();
    let history = given.map_or(&[][..], |given| &given.history);
    let said = history.iter().map(|earlier| match earlier.by {
        EarlierSpeaker::User => user_message(earlier.text.clone()),
        EarlierSpeaker::Assistant => assistant_message(earlier.text.clone(), Vec::new()),
    });
    let task = ModelMessage {
        pictures: given.map_or_else(Vec::new, |given| given.pictures.clone()),
        ..user_message(request.user_prompt.clone())
    };
    said.chain([task]).collect()
}

fn user_message(text: String) -> ModelMessage {
    ModelMessage {
        role: ModelRole::User,
        text,
        tool_calls: Vec::new(),
        answers_call: None,
        pictures: Vec::new(),
    }
}

fn assistant_message(text: String, tool_calls: Vec<ToolCall>) -> ModelMessage {
    ModelMessage {
        role: ModelRole::Assistant,
        text,
        tool_calls,
        answers_call: None,
        pictures: Vec::new(),
    }
}

fn tool_message(call: &ToolCall, text: String) -> ModelMessage {
    ModelMessage {
        role: ModelRole::Tool,
        text,
        tool_calls: Vec::new(),
        answers_call: Some(call.id.clone()),
        pictures: Vec::new(),
    }
}
