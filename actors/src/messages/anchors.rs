//! What the index of anchors in other sessions is asked.

#![warn(missing_docs)]

use crate::message;
use crate::session_index::{Recalled, SessionFiles};
use impresario_policies::anchors::recall::RecallRequest;

/// Asks for the anchors that fit, among those of all sessions. What is new in their files is read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallAnchors {
    /// Where sessions are.
    pub sessions: SessionFiles,
    /// The directory whose sessions are meant, unless all are.
    pub directory: String,
    /// What fits. Without words only what is new is read.
    pub request: RecallRequest,
}
message!(impl RecallAnchors -> Result<Recalled, String>);
