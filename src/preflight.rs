//! Before any money is spent: is what a run's retrieval needs there?
//!
//! A run whose sub-agent cannot ask, or asks the search in this process, needs nothing. A handshake is no proof of a
//! login, so auggie is asked for its account and not only greeted.

use futures_util::FutureExt;
use impresario_actors::context::mcp::{EngineSettings, McpContextEngine, check_account};
use impresario_actors::gateways::{ContextEngine, Entropy, SystemEntropy, SystemWallClock, WallClock};
use impresario_actors::runs::Check;
use impresario_policies::domain::{Reason, ReasonCode, RetrievalEngine, RunId, RunRequest};
use impresario_policies::preflight::{preflight_failed_line, server_failed_line};
use impresario_policies::sub_agent_prompt::retrieves;
use std::rc::Rc;
use std::time::Duration;

/// Between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(500);

/// Refuses requests whose retrieval cannot work.
pub(crate) fn checker(settings: EngineSettings) -> Check {
    let settings = Rc::new(settings);
    Rc::new(move |request| {
        let settings = settings.clone();
        async move { check(&settings, &request).await }.boxed_local()
    })
}

async fn check(settings: &EngineSettings, request: &RunRequest) -> Result<(), Reason> {
    if !retrieves(request) {
        return Ok(());
    }
    // The processes of a check belong to no run yet; the mark lets them be found nevertheless.
    let mark = RunId::new(SystemWallClock.now().0, SystemEntropy.next());
    let ready = match &request.retrieval.engine {
        RetrievalEngine::Local => Ok(()),
        RetrievalEngine::Auggie { program } => {
            let checked = check_account(settings, program, &mark, request.workspace.clone()).await;
            checked.map_err(|detail| preflight_failed_line(&request.what, &detail))
        }
        RetrievalEngine::Mcp { .. } => {
            let checked = check_server(settings, request, &mark).await;
            checked.map_err(|detail| server_failed_line(&request.what, &detail))
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
