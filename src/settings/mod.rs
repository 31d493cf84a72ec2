//! The settings files: the user's in Pi's agent directory, the workspace's in `.pi/settings.json`.
//!
//! What they mean is decided in `impresario_policies::settings`; here they are read, and what is wrong with them is
//! said with file and line. Places are shown as a person knows them, never with the directories above.

mod agent_models;

pub use agent_models::{AgentModels, read_agent_models, write_agent_models};

use impresario_policies::settings::{
    Configured, FILE_BYTES_MAX, IN_ANY_CASE, Notice, NoticeKind, OUR_SECTION, Origin, Place, Resolved,
    ResolvedValue, SettingsFile, place_of_key, resolve_settings,
};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The workspace's file, from the workspace.
const WORKSPACE_FILE: &str = ".pi/settings.json";
/// The key with the model of each tier.
const TIER_MODELS: &str = "executionRouting.models";
/// A notice shows so many problems at most.
const SHOWN_MAX: usize = 8;

/// Where settings are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPlaces {
    /// The user's file; none where there is no home.
    pub home_file: Option<PathBuf>,
    /// Its name for a person.
    pub home_file_shown: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// The host trusts the workspace.
    pub workspace_trusted: bool,
}

impl SettingsPlaces {
    /// The workspace's file, and the one in `$PI_CODING_AGENT_DIR`, else in `~/.pi/agent`.
    pub fn of(workspace: &Path, workspace_trusted: bool) -> Self {
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        let named = std::env::var_os("PI_CODING_AGENT_DIR").filter(|named| !named.is_empty());
        let in_home = |below: &Path| home.as_ref().map(|home| home.join(below));
        let directory = match named.map(PathBuf::from) {
            Some(named) => match named.strip_prefix("~") {
                Ok(below) => in_home(below),
                Err(_) => Some(named),
            },
            None => in_home(Path::new(".pi/agent")),
        };
        let home_file = directory.map(|directory| directory.join("settings.json"));
        let below_home = home
            .as_ref()
            .and_then(|home| home_file.as_ref()?.strip_prefix(home).ok());
        let home_file_shown = match below_home {
            Some(below) => format!("~/{}", below.display()),
            None => "$PI_CODING_AGENT_DIR/settings.json".to_string(),
        };
        Self {
            home_file,
            home_file_shown,
            workspace: workspace.to_path_buf(),
            workspace_trusted,
        }
    }
}

/// Something in a settings file that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as a person knows it.
    pub file: String,
    /// From 1; none when it is about the whole file.
    pub line: Option<usize>,
    /// From 1, of the key; none where none is meant.
    pub column: Option<usize>,
    /// The key with its section; none when it is about the whole file.
    pub key: Option<String>,
    /// What was expected, and what was found.
    pub expected: String,
    /// What is used instead.
    pub used_instead: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(formatter, ":{column}")?;
        }
        if let Some(key) = &self.key {
            write!(formatter, ": {key}")?;
        }
        write!(
            formatter,
            ": {}; used instead: {}",
            self.expected, self.used_instead
        )
    }
}

/// Every value with where it came from, and what was wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The values.
    pub resolved: Resolved,
    /// In the order of files, sections and keys.
    pub problems: Vec<Problem>,
    /// What is understood and changes nothing: `file:line:column: key: why`.
    pub in_any_case: Vec<String>,
}

impl Settings {
    /// Reads the files. A file that is not there is fine; what cannot be read or meant is a problem, never a failure.
    pub fn read(places: &SettingsPlaces) -> Self {
        let mut problems = Vec::new();
        let workspace_file = places.workspace.join(WORKSPACE_FILE);
        let home = places
            .home_file
            .as_ref()
            .and_then(|file| text_of(file, &places.home_file_shown, &mut problems));
        let workspace = text_of(&workspace_file, WORKSPACE_FILE, &mut problems);
        let resolved = resolve_settings(&[
            SettingsFile {
                place: Place::Home,
                trusted: true,
                text: home.as_deref(),
            },
            SettingsFile {
                place: Place::Workspace,
                trusted: places.workspace_trusted,
                text: workspace.as_deref(),
            },
        ]);
        let read_from = |notice: &Notice| match notice.place {
            Place::Home => (
                places.home_file_shown.as_str(),
                home.as_deref().unwrap_or_default(),
            ),
            Place::Workspace => (WORKSPACE_FILE, workspace.as_deref().unwrap_or_default()),
        };
        for notice in &resolved.notices {
            let (file, text) = read_from(notice);
            problems.push(problem_of(notice, file, text, &resolved));
        }
        let in_any_case = resolved.in_any_case.iter().filter_map(|notice| {
            let NoticeKind::InAnyCase { key } = &notice.kind else {
                return None;
            };
            let section = notice.section.unwrap_or(OUR_SECTION);
            let (file, text) = read_from(notice);
            let (line, column) = place_of_key(text, &path_of(section, key))?;
            Some(format!(
                "{file}:{line}:{column}: {section}.{key} changes nothing: {IN_ANY_CASE}"
            ))
        });
        let in_any_case = in_any_case.collect();
        Self {
            resolved,
            problems,
            in_any_case,
        }
    }

    /// The problems as one notice; none without any.
    pub fn notice(&self) -> Option<String> {
        let shown = self.problems.iter().take(SHOWN_MAX).map(Problem::to_string);
        let mut lines = shown.collect::<Vec<_>>();
        if lines.is_empty() {
            return None;
        }
        if self.problems.len() > SHOWN_MAX {
            let more = self.problems.len() - SHOWN_MAX;
            lines.push(format!("and {more} more; `impresario config check` lists them"));
        }
        Some(format!("Settings: {}", lines.join("\n")))
    }

    /// The models that a file names as the host calls them, each with its key.
    pub fn models_named(&self) -> Vec<(&'static str, String)> {
        let run = self.configured().run;
        let mut named: Vec<(&'static str, String)> = Vec::new();
        named.extend(run.routing_model.map(|model| ("routingModel", model)));
        named.extend(run.fallback.into_iter().map(|model| ("fallbackModels", model)));
        // With a default provider they mean something else, and without a file they are nobody's choice.
        if self.is_set(TIER_MODELS) && !self.is_set("defaultProvider") {
            let (models, by_default) = (run.route.models, Configured::default().run.route.models);
            let tiers = [
                (models.cheap, by_default.cheap),
                (models.balanced, by_default.balanced),
                (models.frontier, by_default.frontier),
            ];
            let chosen = tiers
                .into_iter()
                .filter(|(model, by_default)| model != by_default);
            named.extend(chosen.filter_map(|(model, _)| Some((TIER_MODELS, model?))));
        }
        named.retain(|(_, model)| model.contains('/'));
        named
    }

    /// The host says that it cannot call a model of the files, and why.
    pub fn object_to_model(&mut self, places: &SettingsPlaces, path: &str, why: String) {
        let value = self.resolved.values.iter().find(|value| value.key.path == path);
        let Some(Origin::File(place, section)) = value.map(|value| value.origin) else {
            return;
        };
        let (file, shown) = match place {
            Place::Workspace => (Some(places.workspace.join(WORKSPACE_FILE)), WORKSPACE_FILE),
            Place::Home => (places.home_file.clone(), places.home_file_shown.as_str()),
        };
        let text = file.and_then(|file| read_bounded(&file).ok()).unwrap_or_default();
        let (line, column) = place_of_key(&text, &path_of(section, path)).unzip();
        self.problems.push(Problem {
            file: shown.to_string(),
            line,
            column,
            key: Some(format!("{section}.{path}")),
            expected: why,
            used_instead: "the next model of the chain, where there is one".to_string(),
        });
    }

    /// The values as the runtime takes them.
    pub fn configured(&self) -> Configured {
        Configured::from(&self.resolved)
    }

    /// A file says it.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        let value = self.resolved.values.iter().find(|value| value.key.path == path);
        value.is_some_and(|value| value.origin != Origin::Default)
    }
}

/// The text of a file, bounded; one byte more than allowed is enough to know.
fn text_of(path: &Path, shown: &str, problems: &mut Vec<Problem>) -> Option<String> {
    match read_bounded(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            problems.push(Problem {
                file: shown.to_string(),
                line: None,
                column: None,
                key: None,
                expected: format!("expected a file that can be read ({})", error.kind()),
                used_instead: NOTHING_OF_IT.to_string(),
            });
            None
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    // Asked before it is opened: opening a pipe waits for its other end.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        let kind = match metadata.is_dir() {
            true => io::ErrorKind::IsADirectory,
            false => io::ErrorKind::InvalidInput,
        };
        return Err(io::Error::from(kind));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const NOTHING_OF_IT: &str = "nothing of it, so what the other file says, else the defaults";

fn problem_of(notice: &Notice, file: &str, text: &str, resolved: &Resolved) -> Problem {
    let section = notice.section.unwrap_or(OUR_SECTION);
    let about_key = |key: &str, expected: String, used_instead: String| {
        let (line, column) = place_of_key(text, &path_of(section, key)).unzip();
        Problem {
            file: file.to_string(),
            line,
            column,
            key: Some(format!("{section}.{key}")),
            expected,
            used_instead,
        }
    };
    match &notice.kind {
        NoticeKind::ParseFailed { why, line } => Problem {
            file: file.to_string(),
            line: *line,
            column: None,
            key: None,
            expected: format!("expected JSON ({why})"),
            used_instead: NOTHING_OF_IT.to_string(),
        },
        NoticeKind::SectionNotObject { got } => {
            let (line, column) = place_of_key(text, &[section]).unzip();
            Problem {
                file: file.to_string(),
                line,
                column,
                key: Some(section.to_string()),
                expected: format!("expected object, got {got}"),
                used_instead: NOTHING_OF_IT.to_string(),
            }
        }
        // What is so in any case is no problem; it is told apart.
        NoticeKind::InAnyCase { key } => about_key(key, IN_ANY_CASE.to_string(), "nothing".to_string()),
        NoticeKind::Invalid { key, why } => about_key(key, why.clone(), used_for(key, resolved)),
        NoticeKind::Unknown { key, nearest } => {
            let meant = nearest.map(|nearest| format!("; did you mean {nearest}?"));
            let expected = format!("expected a setting that is known{}", meant.unwrap_or_default());
            about_key(key, expected, "nothing".to_string())
        }
        NoticeKind::Untrusted { key, why } => {
            let expected = format!("expected a workspace that is trusted, because {why}");
            about_key(key, expected, used_for(key, resolved))
        }
    }
}

/// The keys that lead to a place: `executionRouting.models.cheap`, `fallbackModels[2]`.
fn path_of<'a>(section: &'a str, key: &'a str) -> Vec<&'a str> {
    let parts = key.split('.').map(|part| part.split('[').next().unwrap_or(part));
    [section].into_iter().chain(parts).collect()
}

/// The value of the key that a place belongs to, and where it comes from.
fn used_for(place: &str, resolved: &Resolved) -> String {
    let mut values = resolved.values.iter();
    let words = match place {
        // The words of pi-blackbytes for keys of ours.
        place if place.starts_with("disabled_tools") => "agents.disabledTools",
        place if place.starts_with("disabled_sub_agents") => "agents.disabled",
        other => other,
    };
    if let Some((agent, field)) = of_an_agent(words) {
        let said = resolved.agents.get(agent).and_then(|said| said.get(field));
        return match said {
            Some(value) => format!("{} ({})", value.value, value.origin.in_words()),
            None => "what the agent says of itself".to_string(),
        };
    }
    let belongs = |value: &&ResolvedValue| {
        let rest = words.strip_prefix(value.key.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    match values.find(belongs) {
        Some(value) => format!("{} ({})", value.value, value.origin.in_words()),
        None => "the defaults".to_string(),
    }
}

/// The agent and the field of `agents.<name>.<field>`, or of the peer's `sub_agents.<name>.<field>`.
fn of_an_agent(place: &str) -> Option<(&str, &str)> {
    let below = place
        .strip_prefix("agents.")
        .or_else(|| place.strip_prefix("sub_agents."))?;
    let (agent, field) = below.rsplit_once('.')?;
    Some((agent, field.split('[').next().unwrap_or(field)))
}
