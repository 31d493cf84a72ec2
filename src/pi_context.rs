//! The tool for a session's context, as the host lends it: what a call comes to, and looks at other sessions.

use crate::bridge::wire::{ContextAsk, ContextDone, ContextOffer, ContextTaken, context_tool};
use crate::runtime::Runtime;
use crate::settings::{Settings, SettingsPlaces};
use impresario_actors::messages::anchors::RecallAnchors;
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::session_index::SessionFiles;
use impresario_policies::anchors::call::answer_call;
use impresario_policies::anchors::recall::RecallRequest;
use std::path::{Path, PathBuf};

/// Offers the tool where it is switched on, and reads meanwhile what is new in other sessions.
pub(crate) async fn offer_context(
    runtime: &Runtime,
    host_directory: Option<PathBuf>,
    order: SkillOrder,
    offer: ContextOffer,
) -> ContextTaken {
    let workspace = order.workspace.clone();
    let read = tokio::task::spawn_blocking(move || {
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        Settings::read(&places).configured().context_enabled
    });
    if !read.await.unwrap_or(false) {
        return ContextTaken::default();
    }
    if let Some(sessions) = files_of_sessions(host_directory, offer.sessions.as_deref()) {
        let nothing = RecallRequest {
            words: Vec::new(),
            everywhere: false,
            limit: 0,
            offset: 0,
        };
        let (runtime, recall) = (runtime.clone(), recall(sessions, &workspace, nothing));
        tokio::spawn(async move {
            if let Err(why) = runtime.recall_anchors(recall).await {
                tracing::warn!(why, "anchors of other sessions are not read yet");
            }
        });
    }
    ContextTaken {
        tool: Some(context_tool()),
    }
}

/// Does what a call asks for. What cannot be done says why, as any answer.
pub(crate) async fn call_context(
    runtime: &Runtime,
    host_directory: Option<PathBuf>,
    workspace: &Path,
    ask: ContextAsk,
) -> ContextDone {
    let request = match ContextDone::of(answer_call(&ask.call(), &ask.facts())) {
        Ok(done) => return done,
        Err(request) => request,
    };
    let Some(sessions) = files_of_sessions(host_directory, ask.sessions.as_deref()) else {
        return ContextDone::unavailable("nobody knows where sessions are kept");
    };
    let (offset, place) = (request.offset, sessions.place().display().to_string());
    let recalled = runtime.recall_anchors(recall(sessions, workspace, request)).await;
    match recalled {
        Ok(recalled) => ContextDone::recalled(&recalled, offset, &place),
        Err(why) => ContextDone::unavailable(&why),
    }
}

fn recall(sessions: SessionFiles, workspace: &Path, request: RecallRequest) -> RecallAnchors {
    RecallAnchors {
        sessions,
        directory: workspace.display().to_string(),
        request,
    }
}

/// The host keeps the sessions of each directory in one below its own, unless a person chose a place for all.
fn files_of_sessions(host_directory: Option<PathBuf>, kept_in: Option<&str>) -> Option<SessionFiles> {
    let kept_in = kept_in.map(Path::new).filter(|place| place.is_absolute());
    let all = host_directory.map(|directory| directory.join("sessions"));
    match (kept_in, all) {
        (None, None) => None,
        (None, Some(all)) => Some(SessionFiles::Below(all)),
        (Some(place), Some(all)) if place.parent() == Some(&all) => Some(SessionFiles::Below(all)),
        (Some(place), _) => Some(SessionFiles::In(place.to_path_buf())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_a_persons_choice_is_the_only_one() {
        let of = |kept_in| files_of_sessions(Some(PathBuf::from("/h/.pi/agent")), kept_in);
        let all = Some(SessionFiles::Below(PathBuf::from("/h/.pi/agent/sessions")));
        assert_eq!(of(None), all);
        assert_eq!(of(Some("")), all);
        assert_eq!(of(Some("/h/.pi/agent/sessions/--work--")), all);
        assert_eq!(of(Some("/mine")), Some(SessionFiles::In(PathBuf::from("/mine"))));
        assert_eq!(files_of_sessions(None, None), None);
    }
}
