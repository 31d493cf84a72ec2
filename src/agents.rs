//! The agents that can be asked for in a workspace: those of the program, those that are built in, and those that
//! files describe.
//!
//! The one list for Pi, the command line and programs that embed us. Files of the workspace count where it is trusted,
//! and come before those of the user. A name is taken once: by the program first, then by a built-in agent, then by
//! whoever comes first.

use crate::capabilities::equip::equip;
use crate::contained_file::{Bounds, NotRead, read_contained};
use crate::skills::SpawnSettings;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::agents::{
    AGENT_FILE_BYTES_MAX, AgentDefinition, AgentFile, FileNote, built_in_agents, read_agent_markdown,
    read_agent_yaml, unknown_agent,
};
use impresario_policies::domain::{ExecutionMode, PromptMode, Reason};
use impresario_policies::settings::AgentSettings;
use impresario_policies::tool_policy::{UnknownTools, finalise_tools};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// So many files of one directory are looked at.
const FILES_MAX: usize = 200;
/// So much of a line is shown.
const LINE_CHARS_MAX: usize = 160;

/// Whose files describe agents, besides those that are built in and those of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentFiles {
    /// Nobody's: a program that says nothing reads no file.
    #[default]
    None,
    /// The user's, in Pi's directory and in `~/.claude/agents`.
    OfUser,
    /// The user's, and before them those of the workspace, which is trusted.
    OfUserAndWorkspace,
}

impl AgentFiles {
    /// The user's always, the workspace's where it is trusted.
    pub(crate) fn where_trusted(trusted: bool) -> Self {
        match trusted {
            true => Self::OfUserAndWorkspace,
            false => Self::OfUser,
        }
    }
}

/// Where agents are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentPlaces {
    /// Of the program; they win.
    pub(crate) own: Vec<AgentDefinition>,
    /// The workspace.
    pub(crate) workspace: PathBuf,
    /// Whose files count.
    pub(crate) files: AgentFiles,
    /// Pi's directory of the user.
    pub(crate) agent_directory: Option<PathBuf>,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// The agents that nobody may ask.
    pub(crate) disabled: Vec<String>,
    /// What is set for single ones, whoever describes them.
    pub(crate) settings: BTreeMap<String, AgentSettings>,
    /// The tools that no sub-agent gets.
    pub(crate) tools_disabled: Vec<String>,
    /// The tools that this program does not have.
    pub(crate) tools_lacking: Vec<AddedTool>,
}

/// An agent and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownAgent {
    /// With what is set for it.
    pub(crate) definition: AgentDefinition,
    pub(crate) source: AgentSource,
    /// What is set for it, and where.
    pub(crate) settings: AgentSettings,
    /// What it does not get of its tools, because nobody does.
    pub(crate) without: Vec<String>,
    /// What it does not get of its tools, because this program does not have them.
    pub(crate) lacking: Vec<String>,
    /// What of its file is not used.
    pub(crate) notes: Vec<FoundWrong>,
}

/// Who describes an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentSource {
    /// The program that embeds us.
    Program,
    /// We.
    BuiltIn,
    /// A file.
    File(PathBuf),
}

impl AgentSource {
    fn in_words(&self) -> &'static str {
        match self {
            Self::Program => "the program",
            Self::BuiltIn => "built in",
            Self::File(_) => "its file",
        }
    }

    /// Its file, where it has one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Program | Self::BuiltIn => None,
            Self::File(file) => Some(file),
        }
    }
}

/// Something that is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundWrong {
    pub(crate) file: PathBuf,
    pub(crate) note: FileNote,
    /// The line that is meant, when there is one.
    pub(crate) source: Option<String>,
}

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoundAgents {
    /// In the order in which names are taken.
    pub(crate) agents: Vec<KnownAgent>,
    /// Files that describe nobody, and why.
    pub(crate) skipped: Vec<FoundWrong>,
    /// Names that something is set for and that no agent has.
    pub(crate) set_for_nobody: Vec<String>,
}

/// A directory that may hold files of agents.
struct Directory {
    path: PathBuf,
    endings: &'static [&'static str],
    /// A file may lie below this.
    within: PathBuf,
    called: &'static str,
}

const YAML: &[&str] = &["yaml", "yml"];
const MARKDOWN: &[&str] = &["md"];

impl AgentPlaces {
    fn directories(&self) -> Vec<Directory> {
        let workspace = [
            (".pi/sub-agents", YAML),
            (".pi/agents", MARKDOWN),
            (".claude/agents", MARKDOWN),
        ];
        let of_workspace = workspace
            .into_iter()
            .filter(|_| self.files == AgentFiles::OfUserAndWorkspace)
            .map(|(path, endings)| Directory {
                path: self.workspace.join(path),
                endings,
                within: self.workspace.clone(),
                called: "the workspace",
            });
        let users = self.files != AgentFiles::None;
        let of_pi = self
            .agent_directory
            .iter()
            .filter(|_| users)
            .flat_map(|directory| {
                [("sub-agents", YAML), ("agents", MARKDOWN)].map(|(path, endings)| Directory {
                    path: directory.join(path),
                    endings,
                    within: self.home.clone().unwrap_or_else(|| directory.clone()),
                    called: "the home directory",
                })
            });
        let of_claude = self.home.iter().filter(|_| users).map(|home| Directory {
            path: home.join(".claude/agents"),
            endings: MARKDOWN,
            within: home.clone(),
            called: "the home directory",
        });
        of_workspace.chain(of_pi).chain(of_claude).collect()
    }

    /// Reads them all. Waits for files.
    pub(crate) fn find(&self) -> FoundAgents {
        let mut found = FoundAgents::default();
        for definition in self.own.clone() {
            found.take(KnownAgent::of(definition, AgentSource::Program));
        }
        for definition in built_in_agents() {
            found.take(KnownAgent::of(definition, AgentSource::BuiltIn));
        }
        for directory in self.directories() {
            let files = match directory.files() {
                Ok(files) => files,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    found.skipped.push(FoundWrong {
                        file: directory.path.clone(),
                        note: FileNote::of_file(format!("the directory cannot be listed ({})", error.kind())),
                        source: None,
                    });
                    continue;
                }
            };
            for file in files {
                match directory.read(&file) {
                    Ok(agent) => found.take(agent),
                    Err(wrong) => found.skipped.push(wrong),
                }
            }
        }
        let nobody = |name: &&String| found.named(name).is_none();
        let mentioned = self.settings.keys().chain(&self.disabled);
        found.set_for_nobody = mentioned.filter(nobody).cloned().collect();
        for agent in &mut found.agents {
            if let Some(settings) = self.settings.get(agent.definition.name()) {
                settings.apply(&mut agent.definition);
                agent.settings = settings.clone();
            }
            if let Some(tools) = agent.definition.tools.take() {
                let mutability = agent.definition.mutability;
                // A program that names a tool which it lacks is told when it asks for the agent.
                let is_lacking = |tool: &String| {
                    agent.source != AgentSource::Program
                        && self.tools_lacking.iter().any(|lacking| lacking.name() == tool)
                };
                let (lacking, tools) = tools.into_iter().partition(is_lacking);
                let done = finalise_tools(tools, UnknownTools::Kept, &self.tools_disabled, mutability);
                agent.definition.tools = Some(done.tools);
                agent.without = done.disabled;
                agent.lacking = lacking;
            }
        }
        let is_off = |agent: &KnownAgent| {
            !agent.settings.enabled() || self.disabled.iter().any(|name| name == agent.definition.name())
        };
        found.agents.retain(|agent| !is_off(agent));
        found
    }

    /// The definitions of all that can be asked.
    pub(crate) fn definitions(&self) -> Vec<AgentDefinition> {
        self.find()
            .agents
            .into_iter()
            .map(|agent| agent.definition)
            .collect()
    }

    /// With what its loadout gives it.
    fn equipped(&self, agent: AgentDefinition) -> Result<AgentDefinition, Reason> {
        let skills = SpawnSettings {
            home: self.home.clone(),
            agent_directory: self.agent_directory.clone(),
            ..SpawnSettings::default()
        };
        equip(
            agent,
            &skills,
            &self.workspace,
            self.files == AgentFiles::OfUserAndWorkspace,
        )
    }

    /// The one of this name.
    pub(crate) fn find_one(&self, name: &str) -> Result<AgentDefinition, Reason> {
        let mut known = self.definitions();
        match known.iter().position(|agent| agent.name() == name) {
            Some(place) => self.equipped(known.swap_remove(place)),
            None => {
                known.sort_by(|one, other| one.name().cmp(other.name()));
                Err(unknown_agent(name, known.iter().map(AgentDefinition::name)))
            }
        }
    }
}

/// What holds for an agent, as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentTrait {
    /// In plain words.
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// Who says so.
    pub(crate) from: String,
}

impl KnownAgent {
    /// Everything that somebody says of it, with who does. What nobody says is as it is set for all.
    pub(crate) fn traits(&self) -> Vec<AgentTrait> {
        let agent = &self.definition;
        let seconds = |time: std::time::Duration| format!("{} s", time.as_secs_f64());
        let list = |names: &[String]| match names {
            [] => "none".to_string(),
            names => names.join(", "),
        };
        let tools = agent.tools.as_deref().unwrap_or_default();
        let append = agent.prompt_mode == PromptMode::Append;
        let in_turn = agent.execution_mode == ExecutionMode::Sequential;
        let said = [
            ("model", &["model"][..], agent.models.first().cloned()),
            (
                "fallback models",
                &["fallbackModels"],
                match (&agent.fallback_models, agent.models.get(1..)) {
                    (Some(models), _) => Some(list(models)),
                    (None, Some(models @ [_, ..])) => Some(list(models)),
                    _ => None,
                },
            ),
            (
                "reasoning effort",
                &["reasoningEffort"],
                agent.reasoning_effort.map(|effort| effort.word().to_string()),
            ),
            (
                "temperature",
                &["temperature"],
                agent.temperature.map(|temperature| temperature.to_string()),
            ),
            ("time", &["timeoutMs"], agent.total_timeout.map(seconds)),
            (
                "time without an event",
                &["inactivityTimeoutMs"],
                agent.inactivity_timeout.map(seconds),
            ),
            ("tools", &["allowedTools", "deniedTools"], Some(list(tools))),
            (
                "instructions",
                &["promptMode"],
                append.then(|| "behind Pi's system prompt".to_string()),
            ),
            ("loadout", &["loadout"], agent.loadout.clone()),
            (
                "calls of one turn",
                &["executionMode"],
                in_turn.then(|| "one after the other".to_string()),
            ),
        ];
        let told = said.into_iter().filter_map(|(name, fields, value)| {
            let set = fields.iter().filter_map(|field| self.settings.get(field));
            let mut from: Vec<String> = set.map(|value| value.origin.in_words()).collect();
            from.dedup();
            Some(AgentTrait {
                name,
                value: value?,
                from: match from.is_empty() {
                    true => self.source.in_words().to_string(),
                    false => from.join("; "),
                },
            })
        });
        told.collect()
    }

    fn of(definition: AgentDefinition, source: AgentSource) -> Self {
        Self {
            definition,
            source,
            settings: AgentSettings::default(),
            without: Vec::new(),
            lacking: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl FoundAgents {
    fn named(&self, name: &str) -> Option<&KnownAgent> {
        self.agents.iter().find(|known| known.definition.name() == name)
    }

    /// Takes the name, or says of a file who has it already.
    fn take(&mut self, agent: KnownAgent) {
        let name = agent.definition.name();
        let Some(taken) = self.named(name) else {
            self.agents.push(agent);
            return;
        };
        let AgentSource::File(file) = agent.source else {
            return;
        };
        let by = match &taken.source {
            AgentSource::Program => "an agent of the program has this name".to_string(),
            AgentSource::BuiltIn => "a built-in agent has this name".to_string(),
            AgentSource::File(other) => {
                format!("{} describes an agent of this name already", other.display())
            }
        };
        self.skipped.push(FoundWrong {
            note: FileNote::of_file(format!("{:?}: {by}", agent.definition.name())),
            file,
            source: None,
        });
    }
}

impl Directory {
    /// In the order of their names' bytes.
    fn files(&self) -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(&self.path)?.flatten();
        let ours = |path: &PathBuf| {
            let ending = path.extension().and_then(OsStr::to_str);
            ending.is_some_and(|ending| self.endings.contains(&ending))
        };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(ours).collect();
        files.sort_unstable();
        files.truncate(FILES_MAX);
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<KnownAgent, FoundWrong> {
        let bounds = Bounds {
            directories: vec![self.within.clone(), self.path.clone()],
            called: self.called,
        };
        let text = match read_contained(file, &bounds, AGENT_FILE_BYTES_MAX) {
            Ok(read) => read.text,
            Err(why) => return Err(unread(file, &why)),
        };
        let wrong = |note: FileNote| FoundWrong {
            file: file.to_path_buf(),
            source: line_of(&text, note.line),
            note,
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let read = match self.endings == MARKDOWN {
            true => read_agent_markdown(&stem, &text),
            false => read_agent_yaml(&text),
        };
        let AgentFile { definition, notes } = read.map_err(wrong)?;
        Ok(KnownAgent {
            definition,
            source: AgentSource::File(file.to_path_buf()),
            settings: AgentSettings::default(),
            without: Vec::new(),
            lacking: Vec::new(),
            notes: notes.into_iter().map(wrong).collect(),
        })
    }
}

fn unread(file: &Path, why: &NotRead) -> FoundWrong {
    FoundWrong {
        file: file.to_path_buf(),
        note: FileNote::of_file(why.to_string()),
        source: None,
    }
}

fn line_of(text: &str, line: u64) -> Option<String> {
    let place = usize::try_from(line.checked_sub(1)?).ok()?;
    Some(text.lines().nth(place)?.chars().take(LINE_CHARS_MAX).collect())
}

impl FoundWrong {
    /// `file:line:column: what`, the line, and a mark below the place.
    pub(crate) fn text(&self) -> String {
        let FileNote {
            line,
            column,
            message,
        } = &self.note;
        let mut text = format!("{}:{line}:{column}: {message}", self.file.display());
        let shown = self.source.as_ref().filter(|source| !source.trim().is_empty());
        if let Some(source) = shown {
            let indent = usize::try_from(column.saturating_sub(1))
                .unwrap_or(0)
                .min(LINE_CHARS_MAX);
            let tabs: String = source
                .chars()
                .take(indent)
                .map(|letter| if letter == '\t' { '\t' } else { ' ' })
                .collect();
            text.push_str(&format!("\n    {source}\n    {tabs}^"));
        }
        text
    }
}
