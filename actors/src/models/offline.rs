//! The `offline` model: rules instead of a network. It tells by the first line of the system part what it is asked for.

use crate::gateways::{
    ModelClient, ModelError, ModelMessage, ModelReply, ModelRequest, ModelRole, ModelUsage, ToolCall,
};
use async_trait::async_trait;
use impresario_policies::offline::brief::write_brief;
use impresario_policies::offline::judge::judge_brief;
use impresario_policies::offline::turn::{Turn, TurnFacts, take_turn};
use impresario_policies::prompts::{BRIEF_MARK, JUDGE_MARK};

/// Answers by rules: the same request, the same reply.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineModel;

#[async_trait(?Send)]
impl ModelClient for OfflineModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        Ok(reply_to(&request))
    }
}

fn reply_to(request: &ModelRequest) -> ModelReply {
    let prompt = first_words_of_the_user(&request.messages);
    match request.system.lines().next().unwrap_or_default().trim() {
        BRIEF_MARK => says(as_json(&write_brief(prompt))),
        JUDGE_MARK => says(as_json(&judge_brief(prompt))),
        _ => next_turn(request, prompt),
    }
}

fn next_turn(request: &ModelRequest, prompt: &str) -> ModelReply {
    let results = results_by_tool(&request.messages);
    let tools = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let number = results.len() + 1;
    match take_turn(&TurnFacts {
        prompt,
        tools,
        results,
    }) {
        Turn::Answer(text) => says(text),
        Turn::Call { tool, arguments } => ModelReply {
            text: String::new(),
            tool_calls: vec![ToolCall {
                id: format!("offline-{number}"),
                tool,
                arguments,
            }],
            usage: ModelUsage::default(),
            served: None,
        },
    }
}

fn first_words_of_the_user(messages: &[ModelMessage]) -> &str {
    let first = messages.iter().find(|message| message.role == ModelRole::User);
    first.map_or("", |message| message.text.as_str())
}

/// Every result with the tool that gave it, in the order of the conversation.
fn results_by_tool(messages: &[ModelMessage]) -> Vec<(&str, &str)> {
    let calls: Vec<&ToolCall> = messages.iter().flat_map(|message| &message.tool_calls).collect();
    let results = messages.iter().filter(|message| message.role == ModelRole::Tool);
    results
        .map(|message| {
            let call = calls
                .iter()
                .rev()
                .find(|call| Some(&call.id) == message.answers_call.as_ref());
            (call.map_or("", |call| call.tool.as_str()), message.text.as_str())
        })
        .collect()
}

fn says(text: String) -> ModelReply {
    ModelReply {
        text,
        tool_calls: Vec::new(),
        usage: ModelUsage::default(),
        served: None,
    }
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::domain::{Brief, Verdict};
    use impresario_policies::prompts::{BriefFacts, JudgeFacts, Prompt, brief_prompt, judge_prompt};

    fn reply(prompt: Prompt) -> String {
        reply_to(&request(prompt.system, prompt.user)).text
    }

    fn request(system: String, user: String) -> ModelRequest {
        ModelRequest {
            model: "offline".to_string(),
            system,
            messages: vec![ModelMessage {
                role: ModelRole::User,
                text: user,
                tool_calls: Vec::new(),
                answers_call: None,
                pictures: Vec::new(),
            }],
            tools: Vec::new(),
            temperature: None,
            reasoning_effort: None,
            json: true,
            tokens_max: 1_000,
        }
    }

    #[test]
    fn a_task_becomes_a_brief_that_the_judge_passes() {
        let task = "How does a crashed actor come back?";
        let brief = reply(brief_prompt(&BriefFacts {
            name: "explore",
            task,
            ..BriefFacts::default()
        }));
        let brief: Brief = serde_json::from_str(&brief).expect("a brief");
        let verdict = reply(judge_prompt(&JudgeFacts {
            name: "explore",
            instructions: "",
            task,
            chat: Vec::new(),
            clarifications: &[],
            brief: &brief,
        }));
        let verdict: Verdict = serde_json::from_str(&verdict).expect("a verdict");
        assert_eq!(brief.user_goal, task);
        assert!(verdict.passed());
    }

    #[test]
    fn anything_else_is_a_turn_of_a_sub_agent() {
        let reply = reply_to(&request(
            "Explore.".to_string(),
            "where are retries limited?".to_string(),
        ));
        assert!(reply.text.contains("offline model"));
    }
}
