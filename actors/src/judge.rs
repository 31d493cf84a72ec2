//! Actor and judge: one writes the brief, the other says whether it can be worked on.
//!
//! Receives [`JudgeTask`]; asks the host for the session's newest messages and a model, twice. Each call has a time limit;
//! a reply that cannot be used is a verdict that asks the user, so no sub-agent ever starts without a goal.

use crate::gateways::{ChatMessage, ChatRole, ModelClient, ModelMessage, ModelRequest, ModelRole};
use crate::messages::session::{JudgeTask, Judgement, ReadHistory};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::{Brief, Verdict};
use impresario_policies::history::{self, assemble_history};
use impresario_policies::judge_loop::{missing_verdict, unjudged_verdict};
use impresario_policies::judge_reply::{read_brief, read_verdict};
use impresario_policies::prompts::{BriefFacts, JudgeFacts, Prompt, brief_prompt, judge_prompt};
use std::rc::Rc;
use std::time::Duration;

const REPLY_TOKENS_MAX: u32 = 4_000;
const ASK: Duration = Duration::from_secs(10);

/// Whom the judge reaches.
#[derive(Clone)]
pub struct JudgePorts {
    /// The session's messages.
    pub history: Port<ReadHistory>,
}

/// See the module.
pub struct Judge {
    model: Rc<dyn ModelClient>,
    ports: JudgePorts,
}

impl Actor for Judge {
    const KIND: &'static str = "judge";
    const HANDLES: &'static [&'static str] = &["JudgeTask"];
}

impl Judge {
    /// A judge that calls `model`.
    pub fn new(model: Rc<dyn ModelClient>, ports: JudgePorts) -> Self {
        Self { model, ports }
    }
}

impl Handles<JudgeTask> for Judge {
    fn handle(&mut self, task: JudgeTask, _: &mut Context<Self>) -> Answer<Self, Judgement> {
        let (model, history) = (self.model.clone(), self.ports.history.clone());
        Answer::later(async move {
            let read = ReadHistory {
                messages_max: task.history.window,
            };
            let said = history.ask_again(read, ASK).await.unwrap_or_default();
            let said = said.iter().map(as_policy_has_it).collect::<Vec<_>>();
            let chat = assemble_history(&said, &task.history.assembly);
            judge(&*model, &task, &chat).await
        })
    }
}

async fn judge(model: &dyn ModelClient, task: &JudgeTask, chat: &[history::ChatMessage<'_>]) -> Judgement {
    let brief = write_brief(model, task, chat).await;
    let verdict = match &brief {
        Ok(_) if task.skip_judge => unjudged_verdict(true),
        Ok(brief) => pass_verdict(model, task, chat, brief).await,
        Err(failure) => failure.verdict(),
    };
    Judgement {
        brief: brief.unwrap_or_default(),
        verdict,
    }
}

async fn write_brief(
    model: &dyn ModelClient,
    task: &JudgeTask,
    chat: &[history::ChatMessage<'_>],
) -> Result<Brief, Failure> {
    let facts = BriefFacts {
        name: &task.name,
        instructions: &task.instructions,
        task: &task.task,
        chat: as_pairs(chat),
        clarifications: &task.clarifications,
        rejected: task.rejected.as_ref().map(|(brief, verdict)| (brief, verdict)),
    };
    let reply = call(model, task, brief_prompt(&facts)).await?;
    read_brief(&reply).ok_or(Failure::Unusable)
}

async fn pass_verdict(
    model: &dyn ModelClient,
    task: &JudgeTask,
    chat: &[history::ChatMessage<'_>],
    brief: &Brief,
) -> Verdict {
    let facts = JudgeFacts {
        name: &task.name,
        instructions: &task.instructions,
        task: &task.task,
        chat: as_pairs(chat),
        clarifications: &task.clarifications,
        brief,
    };
    match call(model, task, judge_prompt(&facts)).await {
        Ok(reply) => read_verdict(&reply).unwrap_or_else(|| Failure::Unusable.verdict()),
        Err(failure) => failure.verdict(),
    }
}

/// Why a call gave nothing to work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    TimedOut,
    Unusable,
}

impl Failure {
    fn verdict(self) -> Verdict {
        missing_verdict(self == Self::TimedOut)
    }
}

async fn call(model: &dyn ModelClient, task: &JudgeTask, prompt: Prompt) -> Result<String, Failure> {
    let message = ModelMessage {
        role: ModelRole::User,
        text: prompt.user,
        tool_calls: Vec::new(),
        answers_call: None,
    };
    let request = ModelRequest {
        model: task.model.clone(),
        system: prompt.system,
        messages: vec![message],
        tools: Vec::new(),
        temperature: Some(0.0),
        json: true,
        tokens_max: REPLY_TOKENS_MAX,
    };
    match tokio::time::timeout(task.within, model.complete(request)).await {
        Ok(Ok(reply)) => Ok(reply.text),
        Ok(Err(error)) => {
            tracing::warn!(run.id = %task.run, %error, "routing model failed");
            Err(Failure::Unusable)
        }
        Err(_) => Err(Failure::TimedOut),
    }
}

fn as_policy_has_it(message: &ChatMessage) -> history::ChatMessage<'_> {
    let role = match message.role {
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::System => "system",
    };
    history::ChatMessage::new(role, message.content.as_str())
}

fn as_pairs<'a>(chat: &'a [history::ChatMessage<'_>]) -> Vec<(&'a str, &'a str)> {
    let pairs = chat.iter().map(|message| (message.role(), message.content()));
    pairs.collect()
}
