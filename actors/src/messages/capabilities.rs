//! What the index of what can be used is asked and told.

#![warn(missing_docs)]

use crate::capability_index::{CapabilitiesFound, CapabilityRequest, Indexed};
use crate::gateways::UnixMillis;
use crate::message;
use impresario_policies::capability::Capability;
use impresario_policies::capability::promotion::Use;
use std::path::PathBuf;

/// Makes the index of a workspace say what is given, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexCapabilities {
    /// The workspace.
    pub scope: PathBuf,
    /// Everything that can be used there.
    pub all: Vec<Capability>,
}
message!(impl IndexCapabilities -> Result<Indexed, String>);

/// Asks what fits a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCapabilities {
    /// The workspace.
    pub scope: PathBuf,
    /// What is looked for.
    pub request: CapabilityRequest,
}
message!(impl SearchCapabilities -> Result<CapabilitiesFound, String>);

/// Asks for the one with this id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindCapability {
    /// The workspace.
    pub scope: PathBuf,
    /// Which.
    pub id: String,
}
message!(impl FindCapability -> Result<Option<Capability>, String>);

/// Tells that something was used. What is not in the index is not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityUsed {
    /// The workspace.
    pub scope: PathBuf,
    /// Which.
    pub id: String,
    /// When.
    pub at: UnixMillis,
}
message!(impl CapabilityUsed -> ());

/// Asks what was used last, that first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadUses {
    /// The workspace.
    pub scope: PathBuf,
}
message!(impl ReadUses -> Result<Vec<Use>, String>);
