//! The host of somebody who only looks: the screen is drawn from the journal, so nothing else may write on it.

use async_trait::async_trait;
use impresario_actors::gateways::{ChatMessage, Delivery, DeliveryReceipt, Host, HostError, Progress};
use impresario_policies::domain::RunId;

pub(in crate::cli) struct Onlooker;

#[async_trait(?Send)]
impl Host for Onlooker {
    fn show(&self, _: Progress) {}

    fn notice(&self, _: String) {}

    async fn ask(&self, _: &RunId, _: String) -> Result<String, HostError> {
        Err(HostError::NobodyThere)
    }

    async fn history(&self, _: usize) -> Result<Vec<ChatMessage>, HostError> {
        Ok(Vec::new())
    }

    /// A result that nobody would see is not taken: it waits for who asks for it.
    async fn deliver(&self, _: Delivery) -> Result<DeliveryReceipt, HostError> {
        Err(HostError::Gone)
    }

    async fn has(&self, _: &RunId) -> Result<bool, HostError> {
        Ok(false)
    }
}
