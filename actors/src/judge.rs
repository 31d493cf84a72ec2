//! Actor and judge: one writes the brief, the other says whether it can be worked on.
//!
//! Receives [`JudgeTask`]; asks the host for the session's newest messages and a model, twice, and tells it which of the
//! two it is at. Each call has a time limit, and ends at once when nobody waits for the pass any more. A reply that cannot
//! be used is a verdict that asks the user, so no sub-agent ever starts without a goal; a model that gives no reply is a
//! failure of the pass, and the run decides what follows.

use crate::gateways::{
    CallAsked, ChatMessage, ChatRole, ModelClient, ModelError, ModelMessage, ModelRequest, ModelRole,
    ModelUsage, Progress,
};
use crate::messages::ledger::{OverBudget, ReserveCall};
use crate::messages::session::{JudgeTask, Judgement, PassFailure, ReadHistory, ShowProgress};
use crate::purse::Purse;
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::{Brief, Caller, ModelCall, ModelFault, Verdict};
use impresario_policies::history::{self, assemble_history};
use impresario_policies::judge_loop::{missing_verdict, unjudged_verdict};
use impresario_policies::judge_reply::{read_brief, read_verdict};
use impresario_policies::prices::priced;
use impresario_policies::prompts::{BriefFacts, JudgeFacts, Prompt, brief_prompt, judge_prompt};
use impresario_policies::redact::redact;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const REPLY_TOKENS_MAX: u32 = 4_000;
/// So much of what a provider says is kept.
const DETAIL_CHARACTERS_MAX: usize = 500;
const ASK: Duration = Duration::from_secs(10);

/// Whom the judge reaches.
#[derive(Clone)]
pub struct JudgePorts {
    pub history: Port<ReadHistory>,
    /// The person, for what may be dropped.
    pub show: Port<ShowProgress>,
    /// What several runs spend from.
    pub ledger: Port<ReserveCall>,
}

pub struct Judge {
    model: Rc<dyn ModelClient>,
    ports: JudgePorts,
}

impl Actor for Judge {
    const KIND: &'static str = "judge";
    const HANDLES: &'static [&'static str] = &["JudgeTask"];
}

impl JudgePorts {
    /// What is going on, for whoever looks.
    fn tell(&self, task: &JudgeTask, doing: String) {
        let progress = Progress {
            doing,
            between_steps: true,
            ..task.progress.clone()
        };
        let session = task.session.clone();
        let _ = self.show.tell(ShowProgress { progress, session });
    }
}

impl Judge {
    /// A judge that calls `model`.
    pub fn new(model: Rc<dyn ModelClient>, ports: JudgePorts) -> Self {
        Self { model, ports }
    }
}

impl Handles<JudgeTask> for Judge {
    fn handle(
        &mut self,
        task: JudgeTask,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Judgement, PassFailure>> {
        let (model, ports) = (self.model.clone(), self.ports.clone());
        Answer::later(async move {
            let stop = task.stop.clone();
            let pass = Pass {
                purse: Purse::new(task.allowance.clone(), ports.ledger.clone()),
                task: &task,
                model: &*model,
                ports: &ports,
                calls: RefCell::default(),
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(given_up()),
                judged = pass.make() => judged,
            }
        })
    }
}

/// One pass of actor and judge: what it is about, whom it reaches, and what it pays.
struct Pass<'a> {
    task: &'a JudgeTask,
    model: &'a dyn ModelClient,
    ports: &'a JudgePorts,
    purse: Purse,
    calls: RefCell<Vec<ModelCall>>,
}

impl Pass<'_> {
    async fn make(self) -> Result<Judgement, PassFailure> {
        let read = ReadHistory {
            messages_max: self.task.history.window,
        };
        let said = self.ports.history.ask_again(read, ASK).await.unwrap_or_default();
        let said = said.iter().map(as_policy_has_it).collect::<Vec<_>>();
        let chat = assemble_history(&said, &self.task.history.assembly);
        let Some(brief) = self.brief(&chat).await? else {
            return Ok(Judgement {
                brief: Brief::default(),
                verdict: missing_verdict(),
                calls: self.calls.take(),
            });
        };
        let verdict = match self.task.skip_judge {
            true => unjudged_verdict(true),
            false => self.verdict_on(&brief, &chat).await?,
        };
        Ok(Judgement {
            brief,
            verdict,
            calls: self.calls.take(),
        })
    }

    /// None where the actor's reply could not be used.
    async fn brief(&self, chat: &[history::ChatMessage<'_>]) -> Result<Option<Brief>, PassFailure> {
        let task = self.task;
        if let Some(written) = &task.written {
            return Ok(Some(written.clone()));
        }
        let facts = BriefFacts {
            name: &task.name,
            instructions: &task.instructions,
            task: &task.task,
            chat: as_pairs(chat),
            clarifications: &task.clarifications,
            rejected: task.rejected.as_ref().map(|(brief, verdict)| (brief, verdict)),
        };
        self.ports
            .tell(task, format!("writing the brief on {}", task.model));
        let by = Caller::Actor { pass: task.pass };
        let reply = self.call(by, brief_prompt(&facts), None).await?;
        Ok(read_brief(&reply))
    }

    async fn verdict_on(
        &self,
        brief: &Brief,
        chat: &[history::ChatMessage<'_>],
    ) -> Result<Verdict, PassFailure> {
        let task = self.task;
        let facts = JudgeFacts {
            name: &task.name,
            instructions: &task.instructions,
            task: &task.task,
            chat: as_pairs(chat),
            clarifications: &task.clarifications,
            brief,
        };
        self.ports
            .tell(task, format!("judging the brief on {}", task.model));
        let by = Caller::Judge { pass: task.pass };
        let reply = self.call(by, judge_prompt(&facts), Some(brief)).await?;
        Ok(read_verdict(&reply).unwrap_or_else(missing_verdict))
    }

    async fn call(&self, by: Caller, prompt: Prompt, written: Option<&Brief>) -> Result<String, PassFailure> {
        let task = self.task;
        let request = request(task, prompt);
        let asked = CallAsked {
            model: request.model.clone(),
            bytes: request.bytes(),
            tokens_max: request.tokens_max.into(),
            outline: None,
        };
        let (fault, detail) = match self.purse.reserve(asked).await {
            Err(OverBudget(why)) => (ModelFault::OverBudget, why),
            Ok(_) => match self.within_time(by, request).await {
                Ok(text) => return Ok(text),
                Err(failed) => failed,
            },
        };
        tracing::warn!(run.id = %task.run, model = task.model, ?fault, detail, "routing model failed");
        Err(PassFailure {
            fault,
            detail: redact(&detail).chars().take(DETAIL_CHARACTERS_MAX).collect(),
            written: written.cloned(),
            calls: self.calls.take(),
        })
    }

    /// A call that took too long may be paid for all the same.
    async fn within_time(&self, by: Caller, request: ModelRequest) -> Result<String, (ModelFault, String)> {
        let model = request.model.clone();
        let done = tokio::time::timeout(self.task.within, self.model.complete(request)).await;
        let (served, used, said) = match done {
            Ok(Ok(reply)) => {
                let used = priced(&model, reply.usage);
                (reply.served, Some(used), Ok(reply.text))
            }
            Ok(Err(error)) => (None, Some(ModelUsage::default()), Err(fault_of(error))),
            Err(_) => (None, None, Err((ModelFault::TimedOut, String::new()))),
        };
        let call = self.purse.settle(by, served, used);
        self.calls.borrow_mut().extend(call);
        said
    }
}

fn request(task: &JudgeTask, prompt: Prompt) -> ModelRequest {
    let message = ModelMessage {
        role: ModelRole::User,
        text: prompt.user,
        tool_calls: Vec::new(),
        answers_call: None,
        pictures: Vec::new(),
    };
    ModelRequest {
        model: task.model.clone(),
        system: prompt.system,
        messages: vec![message],
        tools: Vec::new(),
        temperature: Some(0.0),
        reasoning_effort: None,
        json: true,
        tokens_max: REPLY_TOKENS_MAX,
    }
}

fn fault_of(error: ModelError) -> (ModelFault, String) {
    match error {
        ModelError::Unavailable(why) => (ModelFault::Unavailable, why),
        ModelError::RateLimited(why) => (ModelFault::RateLimited, why),
        ModelError::Authentication(why) => (ModelFault::Authentication, why),
        ModelError::ContextOverflow(why) => (ModelFault::ContextOverflow, why),
        ModelError::UnknownModel(why) => (ModelFault::UnknownModel, why),
        ModelError::Refused(why) => (ModelFault::Refused, why),
    }
}

fn given_up() -> PassFailure {
    PassFailure {
        fault: ModelFault::Unavailable,
        detail: "the pass was given up".into(),
        written: None,
        calls: Vec::new(),
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
