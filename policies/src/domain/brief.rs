//! What the actor pass writes and the judge says of it.

use super::{WholeAnswer, Work, Worktree};
use serde::{Deserialize, Serialize};

/// The structured task the sub-agent receives. Wire names as the peer writes them in its traces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Brief {
    /// What is to be reached, in one or two sentences; empty when nobody could say.
    pub user_goal: String,
    /// What must hold on the way.
    pub constraints: Vec<String>,
    /// What is already known.
    pub known_context: String,
    /// What the user answered when asked.
    pub user_clarifications: Vec<String>,
}

/// What the judge says of a brief. Passed means all four are true.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Verdict {
    /// There is a goal.
    pub has_user_goal: bool,
    /// Everything needed to begin is there.
    pub has_required_inputs: bool,
    /// It is clear where the work ends.
    pub has_scope_boundary: bool,
    /// There is one reading.
    pub is_unambiguous: bool,
    /// One short question to the user; none when nothing is missing.
    pub missing_requirement_question: Option<String>,
    /// How demanding the work looks.
    pub execution_route: Route,
}

impl Verdict {
    /// All four hold.
    pub fn passed(&self) -> bool {
        self.has_user_goal && self.has_required_inputs && self.has_scope_boundary && self.is_unambiguous
    }
}

/// One pass of actor and judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedPass {
    /// From 1.
    pub pass: u32,
    /// What the actor pass wrote.
    pub brief: Brief,
    /// What the judge said.
    pub verdict: Verdict,
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// As shown.
    pub question: String,
    /// How many passes had been judged when it was asked.
    pub after_pass: u32,
    /// As typed; none while the question is open.
    pub answer: Option<String>,
}

/// What a run takes over from the one it goes on with, so that nothing is paid for or asked a second time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inherited {
    /// The passes of actor and judge.
    pub passes: Vec<JudgedPass>,
    /// What the user was asked, and answered.
    pub questions: Vec<Question>,
    /// The brief, where there was one.
    pub brief: Option<Brief>,
    /// The verdict it passed with.
    pub verdict: Option<Verdict>,
    /// The git worktree it worked in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// What it did, where its nested session goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
    /// Its answer, where only the gate was left: the work is not done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// All of that answer, where it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<WholeAnswer>>,
}

/// How demanding the work looks, and how sure the judge is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The class of model that fits.
    pub tier: Tier,
    /// How intricate the work is.
    pub complexity: Complexity,
    /// What could go wrong.
    pub risk: Risk,
    /// From 0 to 1.
    pub confidence: f64,
    /// Why, in at most 500 UTF-16 units.
    pub reason: String,
}

/// The reason that stands in a [`Route`] nobody gave.
pub const ROUTE_UNAVAILABLE: &str = "Routing metadata unavailable; using balanced default.";

impl Default for Route {
    fn default() -> Self {
        Self {
            tier: Tier::Balanced,
            complexity: Complexity::Medium,
            risk: Risk::Unknown,
            confidence: 0.0,
            reason: ROUTE_UNAVAILABLE.to_string(),
        }
    }
}

/// A class of models, by price and ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Small and fast.
    Cheap,
    /// The usual choice.
    Balanced,
    /// The best there is.
    Frontier,
}

/// How intricate the work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Complexity {
    /// One step.
    Low,
    /// A few steps.
    Medium,
    /// Many steps that depend on each other.
    High,
}

/// What the work touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing is changed.
    ReadOnly,
    /// One place is changed.
    SmallEdit,
    /// Several files are changed.
    MultiFileEdit,
    /// The shape of the program is changed.
    ArchitectureChange,
    /// Nobody could say.
    Unknown,
}
