//! Hosts that need nothing: a program that reads results through its handles.

use async_trait::async_trait;
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, Host, HostError, Progress};
use impresario_policies::domain::RunId;

/// A program without a host of its own. It reads results through its handles and says what it has taken, so nothing is
/// delivered here; nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Program;

#[async_trait(?Send)]
impl Host for Program {
    fn show(&self, progress: Progress) {
        tracing::debug!(run.id = %progress.run, doing = progress.doing, "progress");
    }

    fn notice(&self, text: String) {
        tracing::info!(text, "notice");
    }

    async fn ask(&self, _: &RunId, _: String) -> Result<String, HostError> {
        Err(HostError::NobodyThere)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    async fn deliver(&self, _: Delivery) -> Result<DeliveryReceipt, HostError> {
        Err(HostError::NobodyThere)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}
