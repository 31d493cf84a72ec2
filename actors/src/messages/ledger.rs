//! What the ledger is asked.

#![warn(missing_docs)]

use crate::message;
use impresario_policies::budget::{Limit, Spent};
use tokio::sync::oneshot;

/// Sets something aside for a call of a model, in every scope that the run shares with others. Waits while only the
/// calls under way leave no room.
#[derive(Debug, Clone, PartialEq)]
pub struct ReserveCall {
    /// The scopes with their caps.
    pub limits: Vec<Limit>,
    /// What the call will take, as far as anybody can tell.
    pub want: Spent,
    /// What a million tokens without a price count as, in US dollars.
    pub assumed_usd_per_million: f64,
}
message!(impl ReserveCall -> Result<Reservation, OverBudget>);

/// Something is set aside until the call is settled. Dropped unsettled, it is spent.
#[derive(Debug)]
pub struct Reservation {
    /// Takes what the call really took.
    pub settle: oneshot::Sender<Spent>,
    /// So much is spent that the caller should come to an end.
    pub conclude: bool,
}

/// Why a call may not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call the model: {0}")]
pub struct OverBudget(pub String);
