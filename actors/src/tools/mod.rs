//! The tools that Impresario adds. One implementation, whoever offers them: the embedded runner, a nested Pi, the host's
//! own session, or a server for other hosts.

pub mod anchored_edit;
mod glob;
mod look_at;
pub mod network;
pub(crate) mod place;
#[cfg(feature = "structural")]
mod structural;
mod wire;

use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolDefinition, ToolPlace, Tools};
use async_trait::async_trait;
use impresario_policies::added_tools::{AddedTool, Reaches};
use impresario_policies::anchored_edit::EditSettings;
use impresario_policies::network::services::NetworkSettings;
use network::NetworkTools;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::time::timeout;

/// Whether this program was built with what the tool takes.
pub fn is_built(tool: AddedTool) -> bool {
    match tool {
        AddedTool::AstSearch | AddedTool::AstReplace => cfg!(feature = "structural"),
        _ => true,
    }
}

/// The tools, in this process.
#[derive(Debug, Clone, Default)]
pub struct LocalTools {
    /// Where long looks at files are made.
    heavy_work: HeavyWork,
    /// Where it is kept what files were before they were replaced.
    #[cfg_attr(
        not(feature = "structural"),
        expect(dead_code, reason = "nothing is replaced without grammars")
    )]
    replacements: Option<PathBuf>,
    /// An anchor before a new line of an edit is taken away instead of refused.
    takes_anchors_away: bool,
    /// Those that ask servers elsewhere; none where nobody says which servers.
    network: Option<Arc<NetworkTools>>,
}

impl LocalTools {
    /// Tools that make long looks there.
    pub fn new(heavy_work: HeavyWork) -> Self {
        Self {
            heavy_work,
            replacements: None,
            takes_anchors_away: false,
            network: None,
        }
    }

    /// Whether a new line of an edit that has an anchor before it is refused, as it is unless something else is said
    /// here, or loses the anchor.
    pub fn strict_patch(self, strict: bool) -> Self {
        Self {
            takes_anchors_away: !strict,
            ..self
        }
    }

    /// Code is replaced, and this directory keeps what it was. Without one it is only shown what would change.
    pub fn replacing(self, replacements: PathBuf) -> Self {
        Self {
            replacements: Some(replacements),
            ..self
        }
    }

    /// Takes back what a replacement did whose process died in between. Says what a person has to look at.
    pub fn recover(&self) -> Vec<String> {
        #[cfg(feature = "structural")]
        if let Some(replacements) = &self.replacements {
            return structural::recover(replacements);
        }
        Vec::new()
    }

    /// With those that ask these servers.
    pub fn with_network(mut self, settings: NetworkSettings) -> Self {
        self.network = Some(Arc::new(NetworkTools::new(settings, self.heavy_work)));
        self
    }

    async fn run(&self, tool: AddedTool, arguments: &Value, place: &ToolPlace) -> Result<ToolAnswer, String> {
        match tool {
            AddedTool::HashlineEdit => {
                let settings = EditSettings {
                    strict_patch: !self.takes_anchors_away,
                    ..anchored_edit::SETTINGS
                };
                anchored_edit::run(wire::arguments(arguments)?, place, settings, self.heavy_work).await
            }
            AddedTool::Glob => glob::run(wire::arguments(arguments)?, place, self.heavy_work).await,
            AddedTool::LookAt => look_at::run(wire::arguments(arguments)?, place, self.heavy_work).await,
            #[cfg(feature = "structural")]
            AddedTool::AstSearch => {
                structural::search(wire::arguments(arguments)?, place, self.heavy_work).await
            }
            #[cfg(feature = "structural")]
            AddedTool::AstReplace => {
                let replacements = self.replacements.clone();
                structural::replace(wire::arguments(arguments)?, place, replacements, self.heavy_work).await
            }
            #[cfg(not(feature = "structural"))]
            AddedTool::AstSearch | AddedTool::AstReplace => Err(format!(
                "{} is not there: this program was built without the feature `structural`, which brings the grammars.",
                tool.name()
            )),
            _ => match &self.network {
                Some(network) if tool.reaches() == Reaches::Network => {
                    network.call(tool, arguments, &place.cancelled).await
                }
                Some(_) | None => Err(format!("There is no tool {}.", tool.name())),
            },
        }
    }
}

#[async_trait]
impl Tools for LocalTools {
    fn definition(&self, tool: AddedTool) -> Option<ToolDefinition> {
        match tool {
            tool if !is_built(tool) => None,
            AddedTool::HashlineEdit => Some(wire::hashline_edit()),
            AddedTool::Glob => Some(wire::glob()),
            AddedTool::LookAt => Some(wire::look_at()),
            AddedTool::AstSearch => Some(wire::ast_search()),
            AddedTool::AstReplace => Some(wire::ast_replace()),
            _ => self.network.as_ref().and_then(|_| NetworkTools::definition(tool)),
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
