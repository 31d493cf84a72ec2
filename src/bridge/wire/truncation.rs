//! What the model sees of a session, without its texts: which results an anchor has made stale, and how full the context
//! is, go out; what is left out, and a line for the model, come back.

use impresario_actors::messages::session::PlanCuts;
use impresario_policies::context_status::{ContextFill, StatusLine, Told};
use impresario_policies::domain::SessionId;
use impresario_policies::truncation::{CutResult, SeenEntry, SeenKind, TruncationTerms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The model's own words and calls.
    Said,
    /// A result as its tool gave it.
    Result,
    /// A result that is left out already, or shall stay.
    Kept,
    /// The result that sets an anchor.
    Anchor,
    /// Anything else.
    Other,
}

/// Something that the model sees of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextEntry {
    /// The host's.
    pub id: String,
    /// What it is.
    pub kind: EntryKind,
    /// Of its texts.
    pub characters: u32,
    /// What the call of a result was given: paths.
    #[serde(default)]
    pub names: Vec<String>,
    /// What an anchor is called.
    #[serde(default)]
    pub anchor: Option<String>,
}

/// An anchor was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CutsAsk {
    /// Where.
    pub session: SessionId,
    /// The model as `provider/id`.
    #[serde(default)]
    pub model: Option<String>,
    /// What the model sees, in its order.
    pub entries: Vec<ContextEntry>,
    /// The anchor's summary, and all that was said since.
    pub since: String,
}

/// A result to leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextCut {
    /// Which entry.
    pub entry: String,
    /// What stands in place of its texts.
    pub stub: String,
}

/// The answer to [`CutsAsk`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextCuts {
    /// None leave everything as it is.
    pub cuts: Vec<ContextCut>,
}

/// What a line of ours told the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextTold {
    /// The share of the context that was reached, in percent.
    pub step: u8,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
}

/// How the context stands before a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextStanding {
    /// Whose.
    pub session: SessionId,
    /// The model as `provider/id`; none where there is none.
    #[serde(default)]
    pub model: Option<String>,
    /// The model that gave the last answer.
    #[serde(default)]
    pub model_before: Option<String>,
    /// How much of the context is used, in percent; none where it is not known.
    #[serde(default)]
    pub percent: Option<f64>,
    /// Characters of results of tools in what the model sees.
    pub of_results: u32,
    /// Characters of all that it sees.
    pub of_all: u32,
    /// The newest anchor.
    #[serde(default)]
    pub anchor: Option<String>,
    /// How many entries came after it.
    pub since_anchor: u32,
    /// Entries on this branch.
    pub entries: u32,
    /// The model can set an anchor.
    pub can_anchor: bool,
    /// What the newest line that it sees told.
    #[serde(default)]
    pub told: Option<ContextTold>,
    /// A line on this branch has hinted at anchors.
    pub hinted: bool,
}

/// A line for the model, which stays where it is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextLine {
    /// As it stands in the conversation.
    pub text: String,
    /// What it tells.
    pub told: ContextTold,
    /// It hints at anchors.
    pub hints: bool,
}

/// The answer to [`ContextStanding`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextSaid {
    /// None while nothing has changed that matters.
    pub line: Option<ContextLine>,
}

impl CutsAsk {
    /// As it goes to whoever decides.
    pub fn plan(self, terms: TruncationTerms) -> PlanCuts {
        PlanCuts {
            seen: self.entries.into_iter().map(ContextEntry::read).collect(),
            since: self.since,
            model: self.model.unwrap_or_default(),
            terms,
        }
    }
}

impl ContextEntry {
    fn read(self) -> SeenEntry {
        let kind = match self.kind {
            EntryKind::Said => SeenKind::Said,
            EntryKind::Result => SeenKind::Result,
            EntryKind::Kept => SeenKind::Kept,
            EntryKind::Anchor => SeenKind::Anchor {
                name: self.anchor.unwrap_or_default(),
            },
            EntryKind::Other => SeenKind::Other,
        };
        SeenEntry {
            id: self.id,
            kind,
            characters: u64::from(self.characters),
            names: self.names,
        }
    }
}

impl ContextCuts {
    /// In the words of the host.
    pub fn of(cuts: Vec<CutResult>) -> Self {
        let cuts = cuts.into_iter().map(|cut| ContextCut {
            entry: cut.id,
            stub: cut.stub,
        });
        Self { cuts: cuts.collect() }
    }
}

impl ContextStanding {
    /// As the policy takes it.
    pub fn facts(self) -> ContextFill {
        ContextFill {
            model: self.model,
            model_before: self.model_before,
            percent: self.percent,
            of_results: u64::from(self.of_results),
            of_all: u64::from(self.of_all),
            anchor: self.anchor.map(|name| (name, u64::from(self.since_anchor))),
            entries: u64::from(self.entries),
            can_anchor: self.can_anchor,
            told: self.told.map(|told| Told {
                step: told.step,
                model: told.model,
            }),
            hinted: self.hinted,
        }
    }
}

impl ContextSaid {
    /// In the words of the host.
    pub fn of(line: Option<StatusLine>) -> Self {
        let line = line.map(|line| ContextLine {
            text: line.text,
            told: ContextTold {
                step: line.told.step,
                model: line.told.model,
            },
            hints: line.hints,
        });
        Self { line }
    }
}
