//! The tools that we add, as a runtime or a server of this state directory has them.

use super::state_directory::replacements;
use impresario_actors::gateways::Tools;
use impresario_actors::tools::LocalTools;
use impresario_policies::network::services::NetworkSettings;
use std::path::Path;
use std::sync::Arc;

/// Makes them ready; a replacement that was cut off is taken back before anything else can be asked of them.
/// Without servers to ask there are no tools that ask any.
pub(crate) fn local_tools(state_directory: &Path, network: Option<NetworkSettings>) -> Arc<dyn Tools> {
    let tools = LocalTools::default().replacing(replacements(state_directory));
    let tools = match network {
        Some(network) => tools.with_network(network),
        None => tools,
    };
    for left in tools.recover() {
        tracing::warn!(%left, "a replacement that was cut off is taken back, but for this");
    }
    Arc::new(tools)
}
