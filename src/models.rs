//! Which model client answers for which model.

use crate::runtime::OFFLINE_MODEL;
use async_trait::async_trait;
use impresario_actors::gateways::{ModelClient, ModelError, ModelReply, ModelRequest};
use impresario_actors::models::OfflineModel;

/// The offline model for `offline`, somebody else's for every other name.
pub struct OfflineOr<M> {
    offline: OfflineModel,
    other: M,
}

impl<M: ModelClient> OfflineOr<M> {
    /// `other` answers for every model but `offline`.
    pub fn new(other: M) -> Self {
        Self {
            offline: OfflineModel,
            other,
        }
    }
}

#[async_trait(?Send)]
impl<M: ModelClient> ModelClient for OfflineOr<M> {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        if request.model == OFFLINE_MODEL {
            return self.offline.complete(request).await;
        }
        self.other.complete(request).await
    }
}

/// No provider at all: says of every model that nobody has it.
pub(crate) struct NoProvider;

#[async_trait(?Send)]
impl ModelClient for NoProvider {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let model = request.model.chars().take(100).collect::<String>();
        Err(ModelError::UnknownModel(format!(
            "no provider here has the model {model:?}; without one there is only {OFFLINE_MODEL:?}"
        )))
    }
}
