//! What is asked and told of models that may be left to cool.

#![warn(missing_docs)]

use crate::gateways::LoginId;
use crate::message;
use impresario_policies::cool_down::Heard;
use impresario_policies::domain::{CoolDownSettings, PassedOver};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;

/// A model as one project calls it with one login. What is known of it holds for nobody else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelKey {
    /// The project.
    pub workspace: PathBuf,
    /// As whom.
    pub login: LoginId,
    /// Which model.
    pub model: String,
}

/// Asks which of these models an attempt may run on. None where there are no models.
#[derive(Debug, Clone, PartialEq)]
pub struct AskForModel {
    /// In order of preference.
    pub models: Vec<ModelKey>,
    /// A model that comes back within this is worth waiting for when all of them cool.
    pub patience: Duration,
    /// Answered when one is back, or when the patience is over; else at once.
    pub waits: bool,
}
message!(impl AskForModel -> Option<ModelAnswer>);

/// Which model an attempt may run on.
#[derive(Debug)]
pub enum ModelAnswer {
    /// This one.
    Ask(GivenModel),
    /// None now: this one is the first that may be asked.
    Wait {
        /// Which.
        model: String,
        /// For how long; none while another run tries it.
        left: Option<Duration>,
        /// What it said to those before.
        why: String,
    },
}

/// A model that may be asked.
#[derive(Debug)]
pub struct GivenModel {
    /// Which.
    pub key: ModelKey,
    /// Those that were preferred to it.
    pub passed_over: Vec<PassedOver>,
    /// What becomes of the attempt decides for others. Dropped, the next one may try.
    pub probe: Option<oneshot::Sender<()>>,
}

/// What became of an attempt on a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelHeard {
    /// Which.
    pub key: ModelKey,
    /// What it did.
    pub heard: Heard,
    /// What holds for it.
    pub settings: CoolDownSettings,
}
message!(impl ModelHeard -> ());
