//! How a nested Pi is called: what each version understands, and nothing a version does not.

use crate::gateways::AttemptRequest;
use impresario_policies::domain::PromptMode;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A version of Pi, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct PiVersion {
    /// 0 in 0.87.1.
    pub major: u32,
    /// 87 in 0.87.1.
    pub minor: u32,
    /// 1 in 0.87.1.
    pub patch: u32,
}

impl PiVersion {
    /// The oldest version that was driven in our tests.
    pub const OLDEST: Self = Self::of(0, 74, 0);
    /// Projects are trusted or not from here on, and `--no-approve` says not.
    pub(super) const PROJECT_TRUST: Self = Self::of(0, 79, 0);

    const fn of(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for PiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why a text is not a [`PiVersion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a version looks like 0.87.1")]
pub struct PiVersionError;

impl FromStr for PiVersion {
    type Err = PiVersionError;

    /// Reads the first thing in a text that looks like a version: warnings may stand before it.
    fn from_str(text: &str) -> Result<Self, PiVersionError> {
        text.split_whitespace().find_map(version_in).ok_or(PiVersionError)
    }
}

fn version_in(word: &str) -> Option<PiVersion> {
    let plain = word.trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(|part| part.parse::<u32>().ok());
    let version = PiVersion::of(parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}

/// Files that go with an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFiles {
    /// The system prompt, none when the agent has none.
    pub system_prompt: Option<PathBuf>,
    /// Whether it takes the place of Pi's or stands behind it.
    pub prompt_mode: PromptMode,
    pub extension: PathBuf,
}

/// What follows the name of the program. Prompts never stand here: text that begins with `-`, `@` or `/` would be
/// taken for something else, and everybody on the machine can read a command line.
pub fn arguments(version: PiVersion, request: &AttemptRequest, files: &AttemptFiles) -> Vec<String> {
    let mut arguments = Arguments::default();
    arguments.pair("--mode", "rpc");
    arguments.pair("--session", path(&request.session_file));
    arguments.0.extend(kept_arguments(version, request, files));
    arguments.0
}

/// Those of them that hold for as long as Pi runs, whichever session it is in.
pub fn kept_arguments(version: PiVersion, request: &AttemptRequest, files: &AttemptFiles) -> Vec<String> {
    let mut arguments = Arguments::default();
    arguments.pair("--model", request.model.clone());
    let tools = tool_names(&request.tools);
    if tools.is_empty() {
        arguments.flag("--no-tools");
    } else {
        arguments.pair("--tools", tools.join(","));
    }
    if let Some(effort) = request.reasoning_effort {
        arguments.pair("--thinking", effort.word());
    }
    let appended = match (&files.system_prompt, files.prompt_mode) {
        (Some(system_prompt), PromptMode::Append) => path(system_prompt),
        (Some(system_prompt), PromptMode::Static) => {
            arguments.pair("--system-prompt", path(system_prompt));
            String::new()
        }
        (None, _) => String::new(),
    };
    // Without it Pi looks for such a file in the workspace, trusted or not.
    arguments.pair("--append-system-prompt", appended);
    arguments.flag("--no-extensions");
    arguments.pair("--extension", path(&files.extension));
    arguments.flag("--no-skills");
    arguments.flag("--no-prompt-templates");
    arguments.flag("--no-themes");
    arguments.flag("--no-context-files");
    if version >= PiVersion::PROJECT_TRUST {
        arguments.flag("--no-approve");
    }
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn flag(&mut self, name: &str) {
        self.0.push(name.to_string());
    }

    fn pair(&mut self, name: &str, value: impl Into<String>) {
        self.flag(name);
        self.0.push(value.into());
    }
}

/// The list is one argument, so a name with a comma would be two tools.
fn tool_names(tools: &[String]) -> Vec<&str> {
    let plain = |name: &&str| {
        !name.is_empty()
            && name
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || one == '_' || one == '-')
    };
    tools.iter().map(String::as_str).filter(plain).collect()
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// The provider in `provider/id`.
pub fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or("", |(provider, _)| provider)
}

/// A prompt as Pi must be given it: text that begins with `/` would be looked up as a command.
pub fn prompt_text(text: &str) -> String {
    match text.starts_with('/') {
        true => format!(" {text}"),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::domain::{AttemptNumber, ReasoningEffort, RunId};
    use std::time::Duration;

    fn request(tools: &[&str]) -> AttemptRequest {
        AttemptRequest {
            run: RunId::new(1, 2),
            attempt: AttemptNumber(1),
            model: "mock/mock-1".to_string(),
            system_prompt: "be brief".to_string(),
            user_prompt: "--help".to_string(),
            tools: tools.iter().map(|tool| tool.to_string()).collect(),
            workspace: PathBuf::from("/w"),
            readable: Vec::new(),
            scratch: PathBuf::from("/s"),
            session_file: PathBuf::from("/s/session.jsonl"),
            resume: None,
            temperature: None,
            reasoning_effort: None,
            answer_schema: None,
            given: None,
            prompt_mode: PromptMode::default(),
            messages: Vec::new(),
            environment: Default::default(),
            grace: Duration::from_secs(1),
            fresh: false,
        }
    }

    fn called(version: PiVersion, tools: &[&str]) -> String {
        let files = AttemptFiles {
            system_prompt: Some(PathBuf::from("/s/system.md")),
            prompt_mode: PromptMode::Static,
            extension: PathBuf::from("/x/child.js"),
        };
        arguments(version, &request(tools), &files).join(" ")
    }

    #[test]
    fn each_version_is_called_with_flags_it_knows() {
        let common = "--mode rpc --session /s/session.jsonl --model mock/mock-1 --tools read,grep --system-prompt /s/system.md \
                      --append-system-prompt  --no-extensions --extension /x/child.js --no-skills --no-prompt-templates --no-themes --no-context-files";
        assert_eq!(called(PiVersion::of(0, 74, 2), &["read", "grep"]), common);
        assert_eq!(
            called(PiVersion::of(0, 87, 1), &["read", "grep"]),
            format!("{common} --no-approve")
        );
    }

    #[test]
    fn instructions_can_stand_behind_pis_own_and_a_model_can_be_told_to_think() {
        let mut thinking = request(&["read"]);
        thinking.reasoning_effort = Some(ReasoningEffort::Xhigh);
        let files = AttemptFiles {
            system_prompt: Some(PathBuf::from("/s/system.md")),
            prompt_mode: PromptMode::Append,
            extension: PathBuf::from("/x/child.js"),
        };
        let called = arguments(PiVersion::of(0, 74, 2), &thinking, &files).join(" ");
        let says = "--tools read --thinking xhigh --append-system-prompt /s/system.md --no-extensions";
        assert!(
            called.contains(says) && !called.contains("--system-prompt /"),
            "{called}"
        );
    }

    #[test]
    fn an_agent_without_tools_gets_none() {
        assert!(called(PiVersion::of(0, 87, 1), &[]).contains(" --no-tools "));
        assert!(called(PiVersion::of(0, 87, 1), &["a,bash", "--x y"]).contains(" --no-tools "));
    }

    #[test]
    fn prompts_are_not_on_the_command_line() {
        assert!(!called(PiVersion::of(0, 87, 1), &["read"]).contains("--help"));
    }

    #[test]
    fn a_prompt_is_never_a_command() {
        assert_eq!(prompt_text("/llama"), " /llama");
        assert_eq!(prompt_text("fix it"), "fix it");
    }

    #[test]
    fn a_version_is_found_behind_warnings() {
        assert_eq!("0.87.1\n".parse(), Ok(PiVersion::of(0, 87, 1)));
        assert_eq!(
            "(node:1) Warning: x\nv1.5.2-beta.1\n".parse(),
            Ok(PiVersion::of(1, 5, 2))
        );
        assert_eq!("pi".parse::<PiVersion>(), Err(PiVersionError));
        assert!(PiVersion::of(0, 73, 9) < PiVersion::OLDEST);
    }
}
