//! The tools that we add, as a runtime or a server of this state directory has them.

use super::state_directory::replacements;
use crate::settings::{Settings, SettingsPlaces};
use impresario_actors::gateways::Tools;
use impresario_actors::tools::LocalTools;
use impresario_policies::network::services::NetworkSettings;
use impresario_policies::settings::Configured;
use std::path::Path;
use std::sync::Arc;

/// How the tools work, whoever calls them.
#[derive(Debug, Clone)]
pub(crate) struct ToolSettings {
    /// The services that tools for the web ask; none for no such tools.
    pub(crate) network: Option<NetworkSettings>,
    /// A new line of an edit that has an anchor before it is refused; otherwise the anchor is taken away.
    pub(crate) strict_patch: bool,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            network: None,
            strict_patch: true,
        }
    }
}

impl ToolSettings {
    /// As the user's own settings have them: no workspace names a server or a key.
    pub(crate) fn of_user() -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let settings = Settings::read(&SettingsPlaces::of(&here, false));
        Self::of(&Configured::from(&settings.resolved))
    }

    /// As these say, with the keys of the environment.
    pub(crate) fn of(configured: &Configured) -> Self {
        let network = configured.network.clone();
        Self {
            network: Some(network.with_environment(|name| std::env::var(name).ok())),
            strict_patch: configured.strict_patch,
        }
    }
}

/// Makes them ready; a replacement that was cut off is taken back before anything else can be asked of them.
pub(crate) fn local_tools(state_directory: &Path, settings: ToolSettings) -> Arc<dyn Tools> {
    let tools = LocalTools::default()
        .replacing(replacements(state_directory))
        .strict_patch(settings.strict_patch);
    let tools = match settings.network {
        Some(network) => tools.with_network(network),
        None => tools,
    };
    for left in tools.recover() {
        tracing::warn!(%left, "a replacement that was cut off is taken back, but for this");
    }
    Arc::new(tools)
}
