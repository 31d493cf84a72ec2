//! A model reached through the host, with the user's own credentials. We never see a key.

use super::Peer;
use super::connection::AskFailure;
use async_trait::async_trait;
use impresario_actors::gateways::{ModelClient, ModelError, ModelReply, ModelRequest};

/// Calls models through the host. The model named [`HOST_MODEL`](super::wire::HOST_MODEL) is the session's own.
#[derive(Debug, Clone)]
pub struct BridgedModel {
    peer: Peer,
}

impl BridgedModel {
    /// Asks the host at the other end of `peer`.
    pub fn new(peer: Peer) -> Self {
        Self { peer }
    }
}

#[async_trait(?Send)]
impl ModelClient for BridgedModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        self.peer.ask(&request).await.map_err(read_failure)
    }
}

fn read_failure(failure: AskFailure) -> ModelError {
    let AskFailure::Error(error) = &failure else {
        return ModelError::Unavailable(failure.to_string());
    };
    let told = error.data.clone();
    let told = told.and_then(|data| serde_json::from_value(*data).ok());
    told.unwrap_or_else(|| ModelError::Unavailable(error.message.clone()))
}
