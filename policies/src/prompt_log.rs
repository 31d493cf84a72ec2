//! Which system prompts are logged, as what, and when does their file give way to a new one?
//!
//! A prompt holds whatever instruction files hold, so it is redacted whole before anything is cut from it.

use crate::redact::redact;
use crate::sub_agent_prompt::fingerprint;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// So much of one prompt is kept, in bytes; what is cut is said.
pub const PROMPT_BYTES_MAX: usize = 512 * 1024;
/// Parts of parts of a prompt are looked into so deep.
const DEPTH_MAX: usize = 16;

/// What a person wishes of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptLogSettings {
    pub enabled: bool,
    /// The file; relative to the workspace.
    pub path: String,
    /// What the host made for a turn.
    pub agent_start: bool,
    /// What stands in requests to the provider.
    pub provider_system: bool,
    /// Those of sub-agents.
    pub nested: bool,
    /// The same one of a session once.
    pub dedupe: bool,
    /// A larger file gives way to a new one.
    pub file_bytes_max: u64,
    /// So many of those before it are kept.
    pub files_kept: u32,
}

/// Where a prompt was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptSource {
    /// The host begins to work on a prompt of the person.
    AgentStart,
    /// A request to the provider is about to go out.
    Provider,
    /// An attempt of a sub-agent begins.
    SubAgent,
}

impl PromptSource {
    /// As it stands in the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::AgentStart => "agent_start",
            Self::Provider => "before_provider_request",
            Self::SubAgent => "sub_agent_start",
        }
    }
}

impl PromptLogSettings {
    /// Whether prompts that are seen there are logged.
    pub fn wants(&self, source: PromptSource) -> bool {
        let wanted = match source {
            PromptSource::AgentStart => self.agent_start,
            PromptSource::Provider => self.provider_system,
            PromptSource::SubAgent => self.nested,
        };
        self.enabled && wanted
    }
}

/// The file of the log, with every `.` and `..` taken for what it says.
pub fn prompt_log_path(path: &str, workspace: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in workspace.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// What is kept of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptEntry {
    /// Characters of all of it, without its secrets.
    pub chars: usize,
    /// Of the same.
    pub sha256: String,
    /// The same, or its beginning.
    pub prompt: String,
}

/// Takes the secrets out of a prompt, and then what is too much of it.
pub fn prompt_entry(prompt: &str) -> PromptEntry {
    let mut prompt = redact(prompt).into_owned();
    let (chars, sha256) = (prompt.chars().count(), fingerprint(&prompt).sha256);
    if prompt.len() > PROMPT_BYTES_MAX {
        prompt.truncate(prompt.floor_char_boundary(PROMPT_BYTES_MAX));
        prompt.push_str("\n[cut here: the prompt is longer]");
    }
    PromptEntry {
        chars,
        sha256,
        prompt,
    }
}

/// A system prompt in a request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPrompt {
    /// Where it stands there.
    pub shape: &'static str,
    pub prompt: String,
}

/// What stands in a request as a system prompt, wherever its provider has it.
pub fn provider_prompts(payload: &Value) -> Vec<ProviderPrompt> {
    let written = [
        ("payload.system", &payload["system"]),
        (
            "payload.config.systemInstruction",
            &payload["config"]["systemInstruction"],
        ),
        ("payload.systemInstruction", &payload["systemInstruction"]),
    ]
    .map(|(shape, part)| (shape, texts_of(part, DEPTH_MAX)));
    let spoken = [
        ("payload.messages[role=system|developer]", &payload["messages"]),
        ("payload.input[role=system|developer]", &payload["input"]),
    ]
    .map(|(shape, messages)| (shape, spoken_by_system(messages)));
    let ([system, config, instruction], [messages, input]) = (written, spoken);
    let places = [system, messages, input, config, instruction];
    let there = places.into_iter().filter(|(_, parts)| !parts.is_empty());
    there
        .map(|(shape, parts)| ProviderPrompt {
            shape,
            prompt: parts.join("\n\n"),
        })
        .collect()
}

fn spoken_by_system(messages: &Value) -> Vec<&str> {
    let messages = messages.as_array().into_iter().flatten();
    let of_system =
        messages.filter(|message| matches!(message["role"].as_str(), Some("system" | "developer")));
    of_system
        .flat_map(|message| texts_of(&message["content"], DEPTH_MAX))
        .collect()
}

/// The texts of a part, and of the parts that it is made of.
fn texts_of(part: &Value, depth_left: usize) -> Vec<&str> {
    let Some(below) = depth_left.checked_sub(1) else {
        return Vec::new();
    };
    match part {
        Value::String(text) if !text.is_empty() => vec![text],
        Value::Array(parts) => parts.iter().flat_map(|part| texts_of(part, below)).collect(),
        Value::Object(_) => ["text", "content", "parts"]
            .into_iter()
            .flat_map(|name| texts_of(&part[name], below))
            .collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// How the file of the log stands before a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptFileFacts {
    pub bytes: u64,
    /// Of the line.
    pub line_bytes: u64,
    /// When it was written last, in days since 1970.
    pub written_day: u64,
    pub today: u64,
}

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptFileDecision {
    /// The line goes behind what is there.
    Append,
    /// It gives way to a new one.
    GiveWay,
}

/// Whether the line still goes into the file.
pub fn decide_prompt_file(facts: PromptFileFacts, settings: &PromptLogSettings) -> PromptFileDecision {
    let is_too_large = facts.bytes.saturating_add(facts.line_bytes) > settings.file_bytes_max;
    match facts.bytes > 0 && (is_too_large || facts.written_day != facts.today) {
        true => PromptFileDecision::GiveWay,
        false => PromptFileDecision::Append,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> PromptLogSettings {
        PromptLogSettings {
            enabled: true,
            provider_system: true,
            file_bytes_max: 100,
            ..PromptLogSettings::default()
        }
    }

    #[test]
    fn what_nobody_wished_for_is_not_logged() {
        assert!(settings().wants(PromptSource::Provider));
        assert!(!settings().wants(PromptSource::AgentStart));
        assert!(!settings().wants(PromptSource::SubAgent));
        let off = PromptLogSettings {
            enabled: false,
            ..settings()
        };
        assert!(!off.wants(PromptSource::Provider));
    }

    #[test]
    fn a_secret_that_a_cut_would_halve_is_taken_out_before() {
        let secret = "hunter2hunter2hunter2";
        let before = "x".repeat(PROMPT_BYTES_MAX - 12);
        let entry = prompt_entry(&format!("{before} API_KEY={secret} behind"));
        assert!(!entry.prompt.contains("hunter"), "half of it is left");
        assert!(entry.prompt.ends_with("[cut here: the prompt is longer]"));
        assert!(entry.chars > PROMPT_BYTES_MAX - 12);
        assert_eq!(prompt_entry("short").prompt, "short");
    }

    #[test]
    fn the_digest_tells_nothing_of_a_secret() {
        let of = |secret: &str| prompt_entry(&format!("PASSWORD={secret}")).sha256;
        assert_eq!(of("hunter2hunter2"), of("swordfish99"));
        assert_ne!(prompt_entry("a").sha256, prompt_entry("b").sha256);
    }

    #[test]
    fn parts_within_parts_have_an_end() {
        let mut payload = Value::from("deep");
        for _ in 0..50 {
            payload = Value::Array(vec![payload]);
        }
        let mut request = serde_json::Map::new();
        request.insert("system".to_string(), payload);
        assert_eq!(provider_prompts(&Value::Object(request)), []);
    }

    #[test]
    fn a_file_gives_way_when_it_is_full_and_each_day() {
        let decide = |bytes, written_day| {
            let facts = PromptFileFacts {
                bytes,
                line_bytes: 20,
                written_day,
                today: 7,
            };
            decide_prompt_file(facts, &settings())
        };
        assert_eq!(decide(80, 7), PromptFileDecision::Append);
        assert_eq!(decide(81, 7), PromptFileDecision::GiveWay);
        assert_eq!(decide(1, 6), PromptFileDecision::GiveWay);
        assert_eq!(decide(0, 6), PromptFileDecision::Append);
    }
}
