//! The one actor that speaks to the host.
//!
//! Receives questions, results, progress and notices for the person; asks nobody but the host. It keeps nothing: what
//! was asked is in the journal, and a question that is asked again is shown again.

use crate::gateways::{ChatMessage, DeliveryReceipt, Host, HostError};
use crate::messages::session::{AskUser, DeliverResult, ReadHistory, ShowGlimpse, ShowNotice, ShowProgress};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::domain::{RunId, SessionId};
use std::rc::Rc;

pub struct HostPort {
    host: Rc<dyn Host>,
}

impl Actor for HostPort {
    const KIND: &'static str = "host";
    const HANDLES: &'static [&'static str] = &[
        "AskUser",
        "DeliverResult",
        "ReadHistory",
        "ShowProgress",
        "ShowGlimpse",
        "ShowNotice",
    ];
}

impl HostPort {
    /// Speaks to `host`.
    pub fn new(host: Rc<dyn Host>) -> Self {
        Self { host }
    }

    /// The host, told whose run it is.
    fn host_of(&self, run: &RunId, session: Option<&SessionId>) -> Rc<dyn Host> {
        if let Some(session) = session {
            self.host.belongs(run, session);
        }
        self.host.clone()
    }
}

impl Handles<AskUser> for HostPort {
    fn handle(&mut self, ask: AskUser, _: &mut Context<Self>) -> Answer<Self, Result<String, HostError>> {
        let host = self.host_of(&ask.run, ask.session.as_ref());
        Answer::later(async move { host.ask(&ask.run, ask.question).await })
    }
}

impl Handles<DeliverResult> for HostPort {
    fn handle(
        &mut self,
        message: DeliverResult,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<DeliveryReceipt, HostError>> {
        let host = self.host_of(&message.delivery.run, message.session.as_ref());
        Answer::later(async move {
            if message.look_first && host.has(&message.delivery.run).await? {
                return Ok(DeliveryReceipt::Kept);
            }
            host.deliver(message.delivery).await
        })
    }
}

impl Handles<ReadHistory> for HostPort {
    fn handle(&mut self, read: ReadHistory, _: &mut Context<Self>) -> Answer<Self, Vec<ChatMessage>> {
        let host = self.host.clone();
        Answer::later(async move {
            host.history(read.messages_max).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "history not read");
                Vec::new()
            })
        })
    }
}

impl Handles<ShowProgress> for HostPort {
    fn handle(&mut self, show: ShowProgress, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.host_of(&show.progress.run, show.session.as_ref())
            .show(show.progress);
        Answer::now(())
    }
}

impl Handles<ShowGlimpse> for HostPort {
    fn handle(&mut self, show: ShowGlimpse, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.host.glimpse(show.glimpse);
        Answer::now(())
    }
}

impl Handles<ShowNotice> for HostPort {
    fn handle(&mut self, notice: ShowNotice, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.host.notice(notice.text);
        Answer::now(())
    }
}
