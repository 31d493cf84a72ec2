//! What our child extension in the nested Pi asks, and what it is answered.
//!
//! It asks through the dialogs of Pi's RPC mode, for which Pi waits: so a tool begins only when its start is on disk,
//! in every version, without a socket or a second protocol.

use super::reader::Dialog;
use super::summary;
use super::wire::{
    Command, ModelCallAsked, OwnToolAnswer, OwnToolAsked, ToolResultAsked, ToolStartAsked, call_allowed,
};
use crate::gateways::{CallAsked, ToolAnswer, ToolGate, ToolVerdict, Tools};
use crate::runners::overflow_tools::OverflowTool;
use crate::runners::retrieval_tool;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::anchored_edit::anchored_reading;
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;

const TOOL_START: &str = "impresario:tool_start";
const TOOL_RESULT: &str = "impresario:tool_result ";
const OWN_TOOL: &str = "impresario:tool";
const WHY_NOT: &str = "impresario:why_not";
const STOPPING: &str = "the run is being stopped";
const MODEL_CALL: &str = "impresario:model_call";
/// What the child extension is told of a call of the model that may not be made.
const CALL_REFUSED: &str = "stop";
/// Pi has limits of its own for replies, and a reply is reckoned with less anyway.
const REPLY_TOKENS_MAX: u64 = 64_000;

/// What came of a dialog.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// The line for Pi; empty when it wants none.
    pub line: Vec<u8>,
    /// The call whose result was kept aside, and under which handle.
    pub kept: Option<(String, String)>,
    /// Why a call of the model was not let in.
    pub over_budget: Option<String>,
}

/// What a dialog is about.
#[derive(Debug)]
pub(super) enum Question {
    /// May this call begin?
    Start(Option<ToolStartAsked>),
    /// Does the model see this result as it is?
    Result(Option<ToolResultAsked>),
    /// Why may this call not begin?
    WhyNot(Option<ToolStartAsked>),
    /// May this call of the model be made?
    Call(Option<ModelCallAsked>),
    /// A call of one of the runtime's own tools.
    OwnTool(Option<OwnToolAsked>),
    /// A dialog of somebody else's, for which Pi waits.
    Foreign,
    /// Nothing that wants an answer.
    Notice,
}

/// Reads what a dialog asks. What cannot be read is refused.
pub(super) fn read(dialog: &Dialog) -> Question {
    match (dialog.method.as_str(), dialog.title.as_str()) {
        ("confirm", TOOL_START) => Question::Start(serde_json::from_str(&dialog.message).ok()),
        ("editor", title) if title.starts_with(TOOL_RESULT) => {
            let asked = title.strip_prefix(TOOL_RESULT).unwrap_or_default();
            Question::Result(serde_json::from_str(asked).ok())
        }
        ("input", MODEL_CALL) => Question::Call(serde_json::from_str(&dialog.prefill).ok()),
        ("input", OWN_TOOL) => Question::OwnTool(serde_json::from_str(&dialog.prefill).ok()),
        ("input", WHY_NOT) => Question::WhyNot(serde_json::from_str(&dialog.prefill).ok()),
        ("confirm" | "input" | "editor" | "select", _) => Question::Foreign,
        _ => Question::Notice,
    }
}

/// Answers one dialog. `stopping` refuses whatever would begin; `environment` is what a call of the model gives to
/// everything that is started from then on. Where the sub-agent edits by anchors, `anchored`, what it reads has them.
pub(super) async fn answer(
    dialog: Dialog,
    question: Question,
    stopping: bool,
    environment: Rc<BTreeMap<String, String>>,
    anchored: bool,
    gate: Rc<dyn ToolGate>,
) -> Answered {
    match question {
        Question::Start(asked) => {
            let allowed = match asked {
                Some(asked) if !stopping => may_start(asked, gate).await,
                Some(_) | None => false,
            };
            line(Command::ExtensionUiResponse {
                id: &dialog.id,
                confirmed: Some(allowed),
                value: None,
                cancelled: None,
            })
        }
        Question::WhyNot(asked) => {
            let why = asked.and_then(|asked| forbids(&asked, &*gate));
            value(&dialog, why.as_deref().unwrap_or(STOPPING))
        }
        Question::Call(Some(asked)) if !stopping => may_call(&dialog, asked, &environment, gate).await,
        Question::Call(_) => value(&dialog, CALL_REFUSED),
        Question::Result(Some(asked)) => review(&dialog, asked, anchored, gate).await,
        Question::OwnTool(asked) if !stopping => {
            let answer = own_tool(asked, gate).await;
            value(&dialog, &serde_json::to_string(&answer).unwrap_or_default())
        }
        Question::Result(None) | Question::OwnTool(_) | Question::Foreign => line(cancelled(&dialog.id)),
        Question::Notice => Answered::default(),
    }
}

fn line(command: Command<'_>) -> Answered {
    Answered {
        line: command.to_line(),
        ..Answered::default()
    }
}

fn value(dialog: &Dialog, text: &str) -> Answered {
    line(Command::ExtensionUiResponse {
        id: &dialog.id,
        confirmed: None,
        value: Some(text),
        cancelled: None,
    })
}

async fn may_call(
    dialog: &Dialog,
    asked: ModelCallAsked,
    environment: &BTreeMap<String, String>,
    gate: Rc<dyn ToolGate>,
) -> Answered {
    let outline = asked.outline();
    let asked = CallAsked {
        model: asked.model,
        bytes: asked.bytes,
        tokens_max: REPLY_TOKENS_MAX,
        outline,
    };
    match gate.calling(asked).await {
        Ok(edits) => value(dialog, &call_allowed(environment, &edits)),
        Err(why) => Answered {
            over_budget: Some(why),
            ..value(dialog, CALL_REFUSED)
        },
    }
}

fn cancelled(id: &str) -> Command<'_> {
    Command::ExtensionUiResponse {
        id,
        confirmed: None,
        value: None,
        cancelled: Some(true),
    }
}

fn forbids(asked: &ToolStartAsked, gate: &dyn ToolGate) -> Option<String> {
    gate.forbids(&asked.tool, asked.input.as_deref().map_or("", RawValue::get))
}

async fn may_start(asked: ToolStartAsked, gate: Rc<dyn ToolGate>) -> bool {
    if forbids(&asked, &*gate).is_some() {
        return false;
    }
    let said = summary::summarize_arguments(asked.input.as_deref());
    let replay = summary::replay_of(&asked.tool);
    let arguments = asked.input.as_deref().map_or("", RawValue::get);
    gate.starting(&asked.call, &asked.tool, &said, arguments, replay)
        .await
        .is_ok()
}

async fn review(dialog: &Dialog, asked: ToolResultAsked, anchored: bool, gate: Rc<dyn ToolGate>) -> Answered {
    // What is read from aside is not kept aside again.
    if OverflowTool::named(&asked.tool).is_some() {
        return line(cancelled(&dialog.id));
    }
    if asked.compacted {
        gate.compacted();
    }
    if asked.failed {
        gate.failed(&asked.call);
    }
    let text = &dialog.prefill;
    let with_anchors = match anchored {
        true => anchored_reading(&asked.tool, asked.failed, asked.offset, text),
        false => None,
    };
    let shown = with_anchors.as_ref().unwrap_or(text);
    match (gate.review(&asked.call, &asked.tool, shown).await, &with_anchors) {
        (ToolVerdict::Pass, None) => line(cancelled(&dialog.id)),
        (ToolVerdict::Pass, Some(text)) => value(dialog, text),
        (ToolVerdict::Replace { text, overflow }, _) => Answered {
            kept: overflow.map(|handle| (asked.call, handle)),
            ..value(dialog, &text)
        },
    }
}

async fn own_tool(asked: Option<OwnToolAsked>, gate: Rc<dyn ToolGate>) -> OwnToolAnswer {
    let Some(asked) = asked else {
        return Err("the call could not be read".to_string()).into();
    };
    if let Some(tool) = AddedTool::named(&asked.tool) {
        return gate
            .use_tool(Some(&asked.call), tool, &asked.arguments)
            .await
            .into();
    }
    let answer = match OverflowTool::named(&asked.tool) {
        Some(tool) => gate.overflow(tool.asked_as(), &asked.arguments).await,
        None if asked.tool == RETRIEVAL_TOOL => {
            retrieval_tool::retrieve(gate.as_ref(), &asked.arguments).await
        }
        None => Err(format!("there is no tool {}", asked.tool)),
    };
    answer.map(ToolAnswer::text).into()
}

/// Which of an agent's tools are the runtime's own, as the child extension is told of them.
pub(super) fn own_tools_described(tools: &[String], added: &dyn Tools) -> String {
    let ours = tools.iter().filter_map(|tool| AddedTool::named(tool));
    let retrieval = tools.iter().any(|tool| tool == RETRIEVAL_TOOL);
    let own = retrieval
        .then(retrieval_tool::definition)
        .into_iter()
        .chain(OverflowTool::among(tools).map(OverflowTool::definition))
        .chain(ours.filter_map(|tool| added.definition(tool)));
    let described = own.map(|tool| {
        serde_json::json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        })
    });
    serde_json::Value::Array(described.collect()).to_string()
}
