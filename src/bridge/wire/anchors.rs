//! Anchors: the host lends its tool, says what a session looks like when it is called, and goes where it is told to.

use impresario_actors::gateways::ToolDefinition;
use impresario_actors::session_index::Recalled;
use impresario_policies::anchors::answer::{
    describe_anchored, describe_page, describe_recalled, describe_scheduled,
};
use impresario_policies::anchors::call::{AnchorPage, ContextAnswer, ContextCall, ContextRefusal};
use impresario_policies::anchors::pivot::Pivot;
use impresario_policies::anchors::recall::RecallRequest;
use impresario_policies::anchors::{Anchor, CONTEXT_TOOL, ContextFacts, Label};
use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ts_rs::TS;

/// A session is about to be used: is there a tool for its context?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextOffer {
    /// Which session.
    pub session: SessionId,
    /// Where the host keeps the session's file.
    #[serde(default)]
    pub sessions: Option<String>,
}

/// The answer to [`ContextOffer`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextTaken {
    /// The tool; none where it is switched off.
    pub tool: Option<ToolDefinition>,
}

/// A tool result of the session that is an anchor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionAnchor {
    /// The entry of the result; none while the host has not stored it.
    #[serde(default)]
    pub entry: Option<String>,
    /// The entry before it.
    #[serde(default)]
    pub parent: Option<String>,
    /// Its name.
    pub name: String,
    /// The entry where the session was.
    pub target: String,
    /// What was known there.
    pub summary: String,
    /// The target is on the branch that the session is on.
    pub on_branch: bool,
}

/// A name that a person gave an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionLabel {
    /// The name.
    pub name: String,
    /// The entry.
    pub entry: String,
}

/// The tool is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextAsk {
    /// In which session.
    pub session: SessionId,
    /// With what.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub arguments: Value,
    /// The session's anchors, the oldest first.
    #[serde(default)]
    pub anchors: Vec<SessionAnchor>,
    /// Its labels, in the order of their entries.
    #[serde(default)]
    pub labels: Vec<SessionLabel>,
    /// The newest entry of the branch.
    #[serde(default)]
    pub leaf: Option<String>,
    /// The target that the arguments name is the id of an entry.
    #[serde(default)]
    pub target_is_entry: bool,
    /// A pivot waits for the end of the turn.
    #[serde(default)]
    pub pivot_waits: bool,
    /// Where the host keeps the session's file.
    #[serde(default)]
    pub sessions: Option<String>,
}

/// A place of the session that the host goes to when the turn is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextPivot {
    /// The entry.
    pub target: String,
    /// As the agent named it.
    pub named: String,
    /// What stands there of what was left.
    pub carryover: String,
    /// What is said there first.
    pub message: Option<String>,
}

/// What the tool's result is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextDone {
    /// For the model.
    pub text: String,
    /// What the host stores with it. With `anchor`, the result is an anchor.
    #[ts(type = "Record<string, unknown>")]
    pub details: Value,
    /// Where the session goes when the turn is over.
    pub pivot: Option<ContextPivot>,
}

impl ContextDone {
    /// What is said of an answer, or what has to be looked for first.
    pub fn of(answer: ContextAnswer) -> Result<Self, RecallRequest> {
        match answer {
            ContextAnswer::Anchored {
                name,
                target,
                summary,
            } => Ok(Self::anchored(&name, &target, &summary)),
            ContextAnswer::View(page) => Ok(Self::view(&page)),
            ContextAnswer::Scheduled(pivot) => Ok(Self::scheduled(pivot)),
            ContextAnswer::Refused(why) => Ok(Self::refused(&why)),
            ContextAnswer::Recall(request) => Err(request),
        }
    }

    fn anchored(name: &str, target: &str, summary: &str) -> Self {
        let anchor = json!({"name": name, "targetId": target, "summary": summary});
        Self {
            text: describe_anchored(name, summary),
            details: json!({"anchor": anchor}),
            pivot: None,
        }
    }

    fn view(page: &AnchorPage) -> Self {
        let (text, shown) = describe_page(page);
        let has_more = page.has_more || shown < page.rows.len();
        let (total, offset, limit) = (page.total, page.offset, page.limit);
        Self {
            text,
            details: json!({"total": total, "shown": shown, "offset": offset, "limit": limit, "hasMore": has_more}),
            pivot: None,
        }
    }

    pub(crate) fn recalled(recalled: &Recalled, offset: usize, place: &str) -> Self {
        let Recalled { found, total, unread } = recalled;
        Self {
            text: describe_recalled(found, *total, offset, *unread, place),
            details: json!({"total": total, "shown": found.len(), "offset": offset, "unread": unread}),
            pivot: None,
        }
    }

    fn scheduled(pivot: Pivot) -> Self {
        Self {
            text: describe_scheduled(&pivot),
            details: json!({"scheduled": "pivot", "targetId": pivot.target}),
            pivot: Some(ContextPivot {
                target: pivot.target,
                named: pivot.named,
                carryover: pivot.carryover,
                message: pivot.message,
            }),
        }
    }

    fn refused(why: &ContextRefusal) -> Self {
        let details = match why {
            ContextRefusal::NoAnchors => json!({"anchors": 0}),
            _ => json!({}),
        };
        Self {
            text: why.text(),
            details,
            pivot: None,
        }
    }

    pub(crate) fn unavailable(why: &str) -> Self {
        Self {
            text: format!("Not available now: {why}. Go on without it."),
            details: json!({}),
            pivot: None,
        }
    }
}

impl ContextAsk {
    /// What the model gave; a field of another kind is none.
    pub fn call(&self) -> ContextCall {
        let text = |name: &str| Some(self.arguments.get(name)?.as_str()?.to_string());
        let number = |name: &str| self.arguments.get(name)?.as_f64();
        ContextCall {
            action: text("action").unwrap_or_default(),
            limit: number("limit"),
            offset: number("offset"),
            keyword: text("keyword"),
            scope: text("scope"),
            name: text("name"),
            summary: text("summary"),
            target: text("target"),
            carryover: text("carryover"),
            message: text("message"),
        }
    }

    /// What the host says of the session.
    pub fn facts(&self) -> ContextFacts {
        let anchors = self.anchors.iter().cloned().map(|anchor| Anchor {
            entry: anchor.entry,
            parent: anchor.parent,
            name: anchor.name,
            target: anchor.target,
            summary: anchor.summary,
            on_branch: anchor.on_branch,
        });
        let labels = self.labels.iter().cloned().map(|label| Label {
            name: label.name,
            entry: label.entry,
        });
        ContextFacts {
            anchors: anchors.collect(),
            labels: labels.collect(),
            leaf: self.leaf.clone(),
            target_is_entry: self.target_is_entry,
            pivot_waits: self.pivot_waits,
        }
    }
}

/// The tool.
pub(crate) fn context_tool() -> ToolDefinition {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let whole = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    ToolDefinition {
        name: CONTEXT_TOOL.to_string(),
        description: "Mark where you are in this session and come back. \
            `anchor` names this point, with a summary of what is known: set one when a piece of work is done or before you try something. \
            `pivot` goes back to an anchor and leaves behind everything since, but for what you carry over; it happens when the turn ends. \
            `view` lists the anchors. `recall` finds anchors of other sessions by words. \
            Long results before an anchor may be left out; name the files that matter in the summary. `original` gives one again."
            .to_string(),
        parameters: json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["view", "recall", "anchor", "pivot", "original"] },
                "name": text("anchor: a short name, used once in a session."),
                "summary": text("anchor: what is known and decided here, for whoever reads only this."),
                "target": text("pivot: an anchor, a label or the id of an entry. original: the id that stands where a result was left out."),
                "carryover": text("pivot: what you need to know there of what you leave behind."),
                "message": text("pivot: what you are told to go on with there; without it the session waits for the person."),
                "keyword": text("recall: words that stand in the name or the summary, all of them."),
                "scope": { "type": "string", "enum": ["cwd", "all"], "description": "recall: sessions of this directory, or of all." },
                "limit": whole("view, recall: at most so many."),
                "offset": whole("view, recall: after so many."),
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
    }
}
