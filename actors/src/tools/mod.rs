//! The tools that Impresario adds. One implementation, whoever offers them: the embedded runner, a nested Pi, the host's
//! own session, or a server for other hosts.

pub mod anchored_edit;
mod glob;
pub(crate) mod place;
mod wire;

use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolDefinition, ToolPlace, Tools};
use async_trait::async_trait;
use impresario_policies::added_tools::AddedTool;
use serde_json::Value;
use tokio::time::timeout;

/// The tools, in this process.
#[derive(Debug, Clone, Default)]
pub struct LocalTools {
    /// Where long looks at files are made.
    heavy_work: HeavyWork,
}

impl LocalTools {
    /// Tools that make long looks there.
    pub fn new(heavy_work: HeavyWork) -> Self {
        Self { heavy_work }
    }

    async fn run(&self, tool: AddedTool, arguments: &Value, place: &ToolPlace) -> Result<ToolAnswer, String> {
        match tool {
            AddedTool::HashlineEdit => {
                anchored_edit::run(wire::arguments(arguments)?, place, self.heavy_work).await
            }
            AddedTool::Glob => glob::run(wire::arguments(arguments)?, place, self.heavy_work).await,
            _ => Err(format!("There is no tool {}.", tool.name())),
        }
    }
}

#[async_trait]
impl Tools for LocalTools {
    fn definition(&self, tool: AddedTool) -> Option<ToolDefinition> {
        match tool {
            AddedTool::HashlineEdit => Some(wire::hashline_edit()),
            AddedTool::Glob => Some(wire::glob()),
            _ => None,
        }
    }

    async fn call(
        &self,
        tool: AddedTool,
        arguments: &Value,
        place: &ToolPlace,
    ) -> Result<ToolAnswer, String> {
        // Work on a thread for files is told to stop when nobody waits for it any more.
        let cancelled = place.cancelled.child_token();
        let _waiting = cancelled.clone().drop_guard();
        let place = ToolPlace {
            cancelled: cancelled.clone(),
            ..place.clone()
        };
        let answered = timeout(tool.within(), self.run(tool, arguments, &place));
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(format!("{} was cancelled.", tool.name())),
            answered = answered => answered.unwrap_or_else(|_| {
                Err(format!("{} did not end within {} s and was told to stop.", tool.name(), tool.within().as_secs()))
            }),
        }
    }
}
