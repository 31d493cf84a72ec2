//! The tools that Impresario adds, in the host's own session: which of them, and calling them.

use crate::bridge::wire::{ToolAsk, ToolDone, ToolsTaken};
use crate::settings::{Settings, SettingsPlaces};
use impresario_actors::gateways::{Reach, ToolPlace, Tools};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::added_tools::AddedTool;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The tools, as a person's session has them.
pub(crate) struct PiTools {
    tools: Arc<dyn Tools>,
}

impl PiTools {
    pub(crate) fn new(tools: Arc<dyn Tools>) -> Self {
        Self { tools }
    }

    /// Those that somebody wished for and nobody took away.
    pub(crate) async fn offer(&self, order: SkillOrder) -> ToolsTaken {
        let wished = wished_for(order).await;
        let offered = wished.into_iter().filter_map(|tool| self.tools.definition(tool));
        ToolsTaken {
            tools: offered.collect(),
        }
    }

    /// Makes a call. A person works with it, so it reaches what Pi's own tools reach. Who drops this cancels it.
    pub(crate) async fn call(&self, order: SkillOrder, ask: ToolAsk) -> ToolDone {
        let place = ToolPlace {
            workspace: order.workspace.clone(),
            reach: Reach::Anywhere,
            readable: Vec::new(),
            cancelled: CancellationToken::new(),
        };
        let called = match AddedTool::named(&ask.tool) {
            Some(tool) if wished_for(order).await.contains(&tool) => {
                self.tools.call(tool, &ask.arguments, &place).await
            }
            Some(_) => Err(format!("{} is switched off in this session.", ask.tool)),
            None => Err(format!("There is no tool {:?}.", ask.tool)),
        };
        called.into()
    }
}

/// What the settings of the session's workspace say, as they are now.
async fn wished_for(order: SkillOrder) -> Vec<AddedTool> {
    let read = tokio::task::spawn_blocking(move || {
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        Settings::read(&places).configured().session_tools
    });
    read.await.unwrap_or_default()
}
