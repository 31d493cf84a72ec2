//! System prompts of the main agent, on their way to the log.

use crate::bridge::PiHost;
use crate::bridge::wire::{SystemPromptSeen, Wishes};
use crate::runtime::Runtime;
use crate::settings::{Settings, SettingsPlaces};
use impresario_actors::messages::prompts::LogPrompt;
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::prompt_log::{PromptLogSettings, PromptSource, provider_prompts};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the user wishes to have logged, as it was when the process began.
pub(crate) struct PiPrompts {
    settings: PromptLogSettings,
    /// The person knows that it does not work.
    told: AtomicBool,
}

impl PiPrompts {
    pub(crate) fn new(settings: PromptLogSettings) -> Self {
        Self {
            settings,
            told: AtomicBool::new(false),
        }
    }

    /// What is wished of a session: how things are drawn may differ from workspace to workspace.
    pub(crate) async fn wishes(&self, places: SettingsPlaces) -> Wishes {
        let read = tokio::task::spawn_blocking(move || Settings::read(&places).configured().display);
        Wishes::of(&self.settings, read.await.unwrap_or_default())
    }

    /// Logs what was seen. The first time that it cannot be, the person is told.
    pub(crate) async fn log(
        &self,
        runtime: &Runtime,
        host: &PiHost,
        order: SkillOrder,
        seen: SystemPromptSeen,
    ) {
        if seen.left_out > 0 {
            tracing::warn!(seen.left_out, "system prompts were too long to be logged");
        }
        for prompt in prompts_of(order, seen) {
            let Err(why) = runtime.log_prompt(prompt).await else {
                continue;
            };
            if !self.told.swap(true, Ordering::Relaxed) {
                host.warn(format!("System prompts are not logged: {why}."));
            }
        }
    }
}

fn prompts_of(order: SkillOrder, seen: SystemPromptSeen) -> Vec<LogPrompt> {
    let logged = |source, shape, prompt| LogPrompt {
        source,
        session: order.session.clone(),
        session_file: order.session_file.clone(),
        workspace: order.workspace.clone(),
        model: seen.model.clone().or_else(|| order.model.clone()),
        nested_depth: 0,
        shape,
        prompt,
    };
    let of_turn = seen.prompt.clone().filter(|prompt| !prompt.is_empty());
    let of_turn = of_turn.map(|prompt| logged(PromptSource::AgentStart, None, prompt));
    let of_request = provider_prompts(&seen.payload).into_iter();
    let of_request = of_request.map(|found| logged(PromptSource::Provider, Some(found.shape), found.prompt));
    of_turn.into_iter().chain(of_request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::domain::SessionId;
    use serde_json::json;

    #[test]
    fn what_was_seen_is_logged_as_what_it_is() {
        let session = SessionId("s1".to_string());
        let order = SkillOrder {
            session: Some(session.clone()),
            workspace: "/w".into(),
            model: Some("house/small".to_string()),
            ..SkillOrder::default()
        };
        let seen = SystemPromptSeen {
            session,
            model: None,
            prompt: Some("made for a turn".to_string()),
            payload: json!({"system": "in a request", "messages": []}),
            left_out: 0,
        };
        let told = prompts_of(order, seen).into_iter().map(|logged| {
            assert_eq!(logged.model.as_deref(), Some("house/small"));
            (logged.source.word(), logged.shape, logged.prompt)
        });
        let expected = [
            ("agent_start", None, "made for a turn".to_string()),
            (
                "before_provider_request",
                Some("payload.system"),
                "in a request".to_string(),
            ),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
