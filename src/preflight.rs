//! Before any money is spent: is what the skill's retrieval needs there?
//!
//! A run whose sub-agent cannot ask, or asks the search in this process, needs nothing. A handshake is no proof of a
//! login, so auggie is asked for its account and not only greeted.

use impresario_actors::context::mcp::{EngineSettings, McpContextEngine, check_account};
use impresario_actors::gateways::{ContextEngine, Entropy, SystemEntropy, SystemWallClock, WallClock};
use impresario_policies::domain::{Reason, ReasonCode, RetrievalEngine, RunId, RunRequest};
use impresario_policies::preflight::{preflight_failed_line, server_failed_line};
use impresario_policies::sub_agent_prompt::retrieves;
use std::time::Duration;

/// Between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(500);

/// Refuses a request whose retrieval cannot work.
pub(crate) async fn check(settings: &EngineSettings, request: &RunRequest) -> Result<(), Reason> {
    if !retrieves(request) {
        return Ok(());
    }
    // The processes of a check belong to no run yet; the mark lets them be found nevertheless.
    let mark = RunId::new(SystemWallClock.now().0, SystemEntropy.next());
    let ready = match &request.retrieval.engine {
        RetrievalEngine::Local => Ok(()),
        RetrievalEngine::Auggie { program } => {
            let checked = check_account(settings, program, &mark, request.workspace.clone()).await;
            checked.map_err(|detail| preflight_failed_line(&detail))
        }
        RetrievalEngine::Mcp { .. } => {
            let checked = check_server(settings, request, &mark).await;
            checked.map_err(|detail| server_failed_line(&detail))
        }
    };
    ready.map_err(|message| Reason {
        code: ReasonCode::RetrievalUnavailable,
        message,
    })
}

async fn check_server(settings: &EngineSettings, request: &RunRequest, mark: &RunId) -> Result<(), String> {
    let engine = McpContextEngine::new(settings, &request.retrieval, mark, request.workspace.clone());
    let checked = engine.check().await;
    engine.close(GRACE).await;
    checked.map_err(|error| error.to_string())
}
