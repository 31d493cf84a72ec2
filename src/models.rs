//! Which model client answers for which model.

use crate::runtime::OFFLINE_MODEL;
use async_trait::async_trait;
use impresario_actors::gateways::{ModelClient, ModelError, ModelReply, ModelRequest, TextDeltas};
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

    fn marks_prompts(&self, model: &str) -> bool {
        model != OFFLINE_MODEL && self.other.marks_prompts(model)
    }

    async fn stream(&self, request: ModelRequest, text: TextDeltas) -> Result<ModelReply, ModelError> {
        if request.model == OFFLINE_MODEL {
            return self.offline.stream(request, text).await;
        }
        self.other.stream(request, text).await
    }
}
