//! What does the file of an agent say?
//!
//! Two forms, both data: YAML with the instructions in a field (pi-blackbytes), and Markdown with front matter, whose
//! text is the instructions (Claude Code, pi-subagents and others).

use super::{AgentDefinition, Routing, looking_tools};
use crate::domain::{ExecutionMode, Isolation, PromptMode, ReasoningEffort};
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use crate::tool_policy::{
    DELEGATE_PREFIX, Mutability, PI_TOOLS, UnknownTools, changes_something, finalise_tools, is_known,
};
use crate::yaml::{Spanned, YamlError, read_yaml};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A file larger than this is refused unread.
pub const AGENT_FILE_BYTES_MAX: usize = 256 * 1024;
/// Models to go on with.
const FALLBACK_MODELS_MAX: usize = 5;
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 1..=3_600_000;
const NAME_CHARS_MAX: usize = 64;

/// Something a person should know about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNote {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// What is wrong, and what to do.
    pub message: String,
}

impl FileNote {
    /// About the whole file.
    pub fn of_file(message: impl Into<String>) -> Self {
        Self {
            line: 1,
            column: 1,
            message: message.into(),
        }
    }
}

/// An agent as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFile {
    /// What it describes.
    pub definition: AgentDefinition,
    /// What of it is not used, and why.
    pub notes: Vec<FileNote>,
}

/// The fields of the YAML form.
#[derive(Deserialize)]
struct YamlFields {
    name: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    system_prompt: Option<Spanned<String>>,
    allowed_tools: Option<Spanned<Vec<Spanned<String>>>>,
    denied_tools: Option<Spanned<Vec<Spanned<String>>>>,
    model: Option<Spanned<String>>,
    fallback_models: Option<Spanned<Vec<String>>>,
    reasoning_effort: Option<Spanned<String>>,
    prompt_mode: Option<PromptMode>,
    execution_mode: Option<ExecutionMode>,
    timeout_ms: Option<Spanned<u64>>,
    mutability: Option<Mutability>,
    isolation: Option<Spanned<String>>,
    loadout: Option<String>,
    routing: Option<Routing>,
    #[serde(flatten)]
    others: BTreeMap<String, serde::de::IgnoredAny>,
}

/// Reads the YAML form.
pub fn read_agent_yaml(text: &str) -> Result<AgentFile, FileNote> {
    refuse_large(text)?;
    let fields: YamlFields = read_yaml(text).map_err(note_of)?;
    let name = wanted("name", fields.name.as_ref())?;
    check_name(name)?;
    let description = wanted("description", fields.description.as_ref())?;
    let system_prompt = wanted("system_prompt", fields.system_prompt.as_ref())?;
    let tools = match (&fields.allowed_tools, &fields.denied_tools) {
        (Some(_), Some(denied)) => {
            return Err(at(denied, "give allowed_tools or denied_tools, not both"));
        }
        (Some(allowed), None) => known_tools(&allowed.value)?,
        (None, denied) => {
            let denied = denied
                .as_ref()
                .map_or(Ok(Vec::new()), |denied| known_tools(&denied.value))?;
            let base = looking_tools().map(str::to_string);
            base.filter(|tool| !denied.contains(tool)).collect()
        }
    };
    let changing: Vec<String> = tools
        .iter()
        .filter(|tool| changes_something(tool))
        .cloned()
        .collect();
    let by_tools = if !changing.is_empty() {
        Mutability::FullAccess
    } else {
        Mutability::ReadOnly
    };
    let mutability = fields.mutability.unwrap_or(by_tools);
    let done = finalise_tools(tools, UnknownTools::Dropped, &[], mutability);
    let mut definition = AgentDefinition::new(name.value.clone(), system_prompt.value.trim())
        .description(description.value.trim())
        .tools(done.tools)
        .models(model_of(fields.model.as_ref()))
        .mutability(mutability);
    definition.fallback_models = fallback_of(fields.fallback_models.as_ref())?;
    if let Some(message) = fields.routing.as_ref().and_then(Routing::too_long) {
        return Err(FileNote {
            line: line_of_key(text, "routing"),
            column: 1,
            message: format!("routing.{message}"),
        });
    }
    definition.routing = fields.routing;
    definition.prompt_mode = fields.prompt_mode.unwrap_or_default();
    definition.execution_mode = fields.execution_mode.unwrap_or_default();
    definition.isolation = isolation_of(fields.isolation.as_ref())?;
    definition.loadout = fields.loadout;
    if let Some(milliseconds) = &fields.timeout_ms {
        if !TIMEOUT_MS.contains(&milliseconds.value) {
            return Err(at(milliseconds, "timeout_ms: expected 1 to 3600000"));
        }
        definition.total_timeout = Some(Duration::from_millis(milliseconds.value));
    }
    let mut notes: Vec<FileNote> = fields
        .others
        .into_keys()
        .map(|key| FileNote {
            line: line_of_key(text, &key),
            column: 1,
            message: format!("{key} is not read here and changes nothing"),
        })
        .collect();
    definition.reasoning_effort = effort_of(fields.reasoning_effort.as_ref(), &mut notes);
    if !done.changing.is_empty() {
        let taken = done.changing.join(", ");
        notes.push(FileNote::of_file(format!(
            "it only reads, so it does not get: {taken}"
        )));
    }
    Ok(AgentFile { definition, notes })
}

/// An effort that is none is said and left out, as the model runs without it.
fn effort_of(written: Option<&Spanned<String>>, notes: &mut Vec<FileNote>) -> Option<ReasoningEffort> {
    let written = written?;
    let effort = ReasoningEffort::read(&written.value);
    if effort.is_none() {
        let words = ReasoningEffort::WORDS.join(", ");
        notes.push(at(
            written,
            format!("reasoning_effort: expected {words}; the model thinks as it does by itself"),
        ));
    }
    effort
}

/// The front matter of the Markdown form.
#[derive(Default, Deserialize)]
struct MarkdownFields {
    name: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    tools: Option<Spanned<Names>>,
    #[serde(alias = "disallowedTools")]
    disallowed_tools: Option<Spanned<Names>>,
    model: Option<Spanned<String>>,
    #[serde(alias = "fallbackModels")]
    fallback_models: Option<Spanned<Vec<String>>>,
    #[serde(alias = "reasoningEffort", alias = "thinking")]
    reasoning_effort: Option<Spanned<String>>,
    #[serde(alias = "promptMode")]
    prompt_mode: Option<PromptMode>,
    #[serde(alias = "executionMode")]
    execution_mode: Option<ExecutionMode>,
    isolation: Option<Spanned<String>>,
    loadout: Option<String>,
}

/// `Read, Grep` or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Line(String),
    List(Vec<String>),
}

impl Names {
    fn names(&self) -> Vec<String> {
        let trimmed = |name: &str| name.trim().to_string();
        let names: Vec<String> = match self {
            Self::Line(line) => line.split(',').map(trimmed).collect(),
            Self::List(list) => list.iter().map(|name| trimmed(name)).collect(),
        };
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }
}

/// How others call Pi's tools and ours.
const ALIASES: [(&str, &str); 10] = [
    ("Read", "read"),
    ("Grep", "grep"),
    ("Glob", "glob"),
    ("LS", "ls"),
    ("Bash", "bash"),
    ("Edit", "edit"),
    ("MultiEdit", "edit"),
    ("Write", "write"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
];

/// Reads the Markdown form; `stem` is the file's name without its ending, which names an agent that does not say it.
pub fn read_agent_markdown(stem: &str, text: &str) -> Result<AgentFile, FileNote> {
    refuse_large(text)?;
    let (fields, body, first_line) = match front_matter(text) {
        Some((block, body)) => {
            let fields = read_yaml::<Option<MarkdownFields>>(block).map_err(|error| FileNote {
                line: error.line + 1,
                ..note_of(error)
            })?;
            (fields.unwrap_or_default(), body, 1)
        }
        None => (MarkdownFields::default(), text, 0),
    };
    let below = |note: FileNote| FileNote {
        line: note.line + first_line,
        ..note
    };
    let name = match &fields.name {
        Some(name) => {
            check_name(name).map_err(below)?;
            name.value.clone()
        }
        None if is_agent_name(stem) => stem.to_string(),
        None => {
            return Err(FileNote::of_file(format!(
                "{stem:?} is no name for an agent: give one in the front matter"
            )));
        }
    };
    if body.trim().is_empty() {
        return Err(FileNote::of_file(
            "there are no instructions below the front matter".to_string(),
        ));
    }
    let mut notes = Vec::new();
    let denied = fields
        .disallowed_tools
        .as_ref()
        .map_or(Vec::new(), |names| translated(names.value.names()).0);
    let tools = match &fields.tools {
        // Nothing said means everything, where this form comes from.
        None => [RETRIEVAL_TOOL]
            .into_iter()
            .chain(PI_TOOLS)
            .map(str::to_string)
            .collect(),
        Some(names) => {
            let (tools, unknown) = translated(names.value.names());
            if !unknown.is_empty() {
                notes.push(below(at(
                    names,
                    format!("no sub-agent has these tools: {}", unknown.join(", ")),
                )));
            }
            tools
        }
    };
    let tools: Vec<String> = tools.into_iter().filter(|tool| !denied.contains(tool)).collect();
    if tools.is_empty() {
        let place = fields.tools.as_ref().map(|names| below(at(names, "")));
        return Err(FileNote {
            message: "none of its tools is known here".to_string(),
            ..place.unwrap_or_else(|| FileNote::of_file(String::new()))
        });
    }
    let changes = tools.iter().any(|tool| changes_something(tool));
    let fallback_models = fallback_of(fields.fallback_models.as_ref()).map_err(below)?;
    let named = fields.model.as_ref().filter(|model| model.value.contains('/'));
    if let Some(model) = fields
        .model
        .as_ref()
        .filter(|model| !model.value.contains('/') && model.value != "inherit")
    {
        notes.push(below(at(
            model,
            format!(
                "{:?} is no provider/id; the model of the session is used",
                model.value
            ),
        )));
    }
    let description = fields.description.map(|text| text.value).unwrap_or_default();
    let isolation = isolation_of(fields.isolation.as_ref()).map_err(below)?;
    let mut definition = AgentDefinition::new(name, body.trim())
        .isolation(isolation)
        .description(description.trim())
        .tools(tools)
        .models(named.map(|model| model.value.clone()))
        .mutability(if changes {
            Mutability::FullAccess
        } else {
            Mutability::ReadOnly
        });
    definition.fallback_models = fallback_models;
    definition.loadout = fields.loadout;
    let mut further = Vec::new();
    definition.reasoning_effort = effort_of(fields.reasoning_effort.as_ref(), &mut further);
    notes.extend(further.into_iter().map(below));
    definition.prompt_mode = fields.prompt_mode.unwrap_or_default();
    definition.execution_mode = fields.execution_mode.unwrap_or_default();
    Ok(AgentFile { definition, notes })
}

/// The block between the first two lines of dashes, and what follows it.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))?;
    if let Some(body) = rest.strip_prefix("---") {
        return Some(("", body));
    }
    let end = rest.find("\n---")?;
    let behind = &rest[end + "\n---".len()..];
    Some((
        &rest[..=end],
        behind.split_once('\n').map_or("", |(_, body)| body),
    ))
}

/// Each once, under Pi's names; and those that nobody can have.
fn translated(names: Vec<String>) -> (Vec<String>, Vec<String>) {
    let own = |name: String| {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        alias.map_or(name, |(_, own)| (*own).to_string())
    };
    let names = names.into_iter().map(own).collect();
    let done = finalise_tools(names, UnknownTools::Dropped, &[], Mutability::FullAccess);
    (done.tools, done.unknown)
}

fn known_tools(names: &[Spanned<String>]) -> Result<Vec<String>, FileNote> {
    let unknown = names.iter().find(|name| !is_known(&name.value));
    match unknown {
        Some(name) if name.value.starts_with(DELEGATE_PREFIX) => Err(at(name, "a sub-agent cannot delegate")),
        Some(name) => Err(at(
            name,
            format!("no sub-agent has a tool called {:?}", name.value),
        )),
        None => Ok(names.iter().map(|name| name.value.clone()).collect()),
    }
}

/// An empty name is none, as no model is.
fn model_of(model: Option<&Spanned<String>>) -> Option<String> {
    let model = model.map(|model| model.value.trim().to_string());
    model.filter(|model| !model.is_empty())
}

fn fallback_of(fallback: Option<&Spanned<Vec<String>>>) -> Result<Option<Vec<String>>, FileNote> {
    if let Some(fallback) = fallback {
        let models = &fallback.value;
        let each_once = models.iter().collect::<BTreeSet<_>>().len() == models.len();
        if models.len() > FALLBACK_MODELS_MAX
            || !each_once
            || models.iter().any(|model| model.trim().is_empty())
        {
            return Err(at(
                fallback,
                "expected at most 5 models to go on with, each once and none empty",
            ));
        }
    }
    Ok(fallback.map(|fallback| fallback.value.clone()))
}

/// A file that asks for more than there is describes no agent: what it changes would land in the person's own files.
fn isolation_of(said: Option<&Spanned<String>>) -> Result<Isolation, FileNote> {
    match said.map(|said| (said, said.value.as_str())) {
        None | Some((_, "none")) => Ok(Isolation::None),
        Some((_, "worktree")) => Ok(Isolation::Worktree),
        Some((said, _)) => Err(at(said, "isolation: expected worktree or none")),
    }
}

fn wanted<'a>(field: &str, value: Option<&'a Spanned<String>>) -> Result<&'a Spanned<String>, FileNote> {
    match value {
        None => Err(FileNote::of_file(format!("{field} is missing"))),
        Some(value) if value.value.trim().is_empty() => Err(at(value, format!("{field} is empty"))),
        Some(value) => Ok(value),
    }
}

fn check_name(name: &Spanned<String>) -> Result<(), FileNote> {
    match is_agent_name(&name.value) {
        true => Ok(()),
        false => Err(at(
            name,
            "name: expected small letters, digits, - and _, with a letter first, at most 64 of them",
        )),
    }
}

pub(crate) fn is_agent_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(plain)
}

fn refuse_large(text: &str) -> Result<(), FileNote> {
    match text.len() > AGENT_FILE_BYTES_MAX {
        true => Err(FileNote::of_file(format!(
            "more than the {AGENT_FILE_BYTES_MAX} bytes allowed"
        ))),
        false => Ok(()),
    }
}

fn at<T>(place: &Spanned<T>, message: impl Into<String>) -> FileNote {
    FileNote {
        line: place.referenced.line().max(1),
        column: place.referenced.column().max(1),
        message: message.into(),
    }
}

fn note_of(error: YamlError) -> FileNote {
    FileNote {
        line: error.line,
        column: error.column,
        message: error.message,
    }
}

fn line_of_key(text: &str, key: &str) -> u64 {
    let is_key = |line: &str| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    (1..)
        .zip(text.lines())
        .find(|(_, line)| is_key(line))
        .map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> AgentDefinition {
        read_agent_yaml(text).expect(text).definition
    }

    fn refused(text: &str) -> FileNote {
        read_agent_yaml(text).expect_err(text)
    }

    const SMALLEST: &str = "name: scout\ndescription: d\nsystem_prompt: p\n";

    #[test]
    fn three_fields_make_an_agent_that_only_reads() {
        let scout = yaml(SMALLEST);
        assert_eq!(
            (
                scout.name(),
                scout.description.as_str(),
                scout.instructions.as_str()
            ),
            ("scout", "d", "p")
        );
        assert_eq!(scout.mutability, Mutability::ReadOnly);
        let mut looking: Vec<&str> = looking_tools().collect();
        looking.sort_unstable();
        assert_eq!(scout.tools.unwrap(), looking);
    }

    #[test]
    fn both_forms_can_ask_for_a_worktree_and_for_nothing_else() {
        let asked = |how: &str| yaml(&format!("{SMALLEST}isolation: {how}\n")).isolation;
        assert_eq!(
            (asked("worktree"), asked("none")),
            (Isolation::Worktree, Isolation::None)
        );
        assert_eq!(yaml(SMALLEST).isolation, Isolation::None);
        assert_eq!(
            yaml(&format!("{SMALLEST}loadout: bath\n")).loadout.as_deref(),
            Some("bath")
        );
        let note = refused(&format!("{SMALLEST}isolation: container\n"));
        assert_eq!(
            (note.line, note.message.as_str()),
            (4, "isolation: expected worktree or none")
        );
        let markdown =
            |how: &str| read_agent_markdown("scout", &format!("---\nisolation: {how}\n---\nLook.\n"));
        assert_eq!(
            markdown("worktree").unwrap().definition.isolation,
            Isolation::Worktree
        );
        assert_eq!(markdown("remote").unwrap_err().line, 2);
    }

    #[test]
    fn everything_can_be_said() {
        let all = yaml(&format!(
            "{SMALLEST}allowed_tools: [read, bash]\nmodel: a/one\nfallback_models: [b/two]\ntimeout_ms: 5000\nreasoning_effort: high\nprompt_mode: append\nexecution_mode: sequential\nrouting:\n  category: review\n  cost: low\n  use_when: [now]\n  avoid_when: []\n"
        ));
        assert_eq!(all.tools.unwrap(), ["bash", "read"]);
        assert_eq!(all.mutability, Mutability::FullAccess);
        assert_eq!(all.models, ["a/one"]);
        assert_eq!(all.fallback_models.unwrap(), ["b/two"]);
        assert_eq!(all.reasoning_effort, Some(ReasoningEffort::High));
        assert_eq!(all.prompt_mode, PromptMode::Append);
        assert_eq!(all.execution_mode, ExecutionMode::Sequential);
        assert_eq!(all.total_timeout, Some(Duration::from_secs(5)));
        assert_eq!(all.routing.unwrap().use_when, ["now"]);
        let denied = yaml(&format!("{SMALLEST}denied_tools: [grep]\n")).tools.unwrap();
        assert!(!denied.contains(&"grep".to_string()) && denied.contains(&"read".to_string()));
    }

    #[test]
    fn what_an_agent_that_only_reads_does_not_get_is_noted() {
        let text = format!("{SMALLEST}allowed_tools: [read, bash]\nmutability: read-only\n");
        let file = read_agent_yaml(&text).unwrap();
        assert_eq!(file.definition.tools.unwrap(), ["read"]);
        assert!(
            file.notes[0].message.ends_with("does not get: bash"),
            "{:?}",
            file.notes
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_column() {
        for (more, line, column, says) in [
            ("allowed_tools: [read, nope]\n", 4, 23, "\"nope\""),
            ("allowed_tools: [delegate_x]\n", 4, 17, "cannot delegate"),
            ("allowed_tools: []\ndenied_tools: []\n", 5, 15, "not both"),
            ("timeout_ms: 0\n", 4, 13, "1 to 3600000"),
            ("fallback_models: [a, a]\n", 4, 18, "each once"),
            (
                "routing: {category: review, cost: low, use_when: [], avoid_when: [], mine: 1}\n",
                4,
                70,
                "mine",
            ),
            ("model: [\n", 4, 8, "string"),
            (
                "routing: {category: review, cost: low, use_when: [a, b, c, d, e, f, g], avoid_when: []}\n",
                4,
                1,
                "6 entries at most, got 7",
            ),
        ] {
            let note = refused(&format!("{SMALLEST}{more}"));
            assert_eq!((note.line, note.column), (line, column), "{more}: {note:?}");
            assert!(note.message.contains(says), "{more}: {note:?}");
        }
        assert_eq!(refused("name: Scout\ndescription: d\nsystem_prompt: p\n").line, 1);
        assert!(
            refused("name: a\ndescription: d\n")
                .message
                .contains("system_prompt is missing")
        );
        let noted = read_agent_yaml(&format!("{SMALLEST}colour: red\n")).unwrap();
        assert_eq!(noted.notes[0].line, 4);
    }

    #[test]
    fn files_of_others_are_understood() {
        let text = "---\nname: code-reviewer\ndescription: Reviews.\ntools: Read, Grep, Task\nmodel: sonnet\n---\nReview it.\n";
        let file = read_agent_markdown("x", text).unwrap();
        assert_eq!(file.definition.tools.unwrap(), ["grep", "read"]);
        assert_eq!(file.definition.mutability, Mutability::ReadOnly);
        assert_eq!(file.definition.instructions, "Review it.");
        assert!(file.definition.models.is_empty());
        let notes = file
            .notes
            .iter()
            .map(|note| (note.line, note.message.as_str()))
            .collect::<Vec<_>>();
        assert_eq!(notes[0], (4, "no sub-agent has these tools: Task"));
        assert_eq!(notes[1].0, 5);

        let bare = read_agent_markdown("helper", "Help.").unwrap().definition;
        assert_eq!((bare.name(), bare.mutability), ("helper", Mutability::FullAccess));
        let listed = read_agent_markdown("x", "---\ntools: [read]\nmodel: a/one\n---\nDo.")
            .unwrap()
            .definition;
        assert_eq!(
            (listed.tools.unwrap(), listed.models),
            (vec!["read".to_string()], vec!["a/one".to_string()])
        );
        for (stem, text, says) in [
            ("No Name", "Do.", "no name for an agent"),
            ("x", "---\ntools: Task\n---\nDo.", "none of its tools"),
            ("x", "---\nname: x\n---\n", "no instructions"),
        ] {
            let note = read_agent_markdown(stem, text).unwrap_err();
            assert!(note.message.contains(says), "{note:?}");
        }
    }
}
