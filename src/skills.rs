//! From the order of a skill to a complete request: finds the file, reads it, fills in the settings.

use crate::runtime::{EMBEDDED_RUNNER, OFFLINE_MODEL};
use crate::settings::{Settings, SettingsPlaces};
use futures_util::FutureExt;
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::router::Resolve;
use impresario_policies::domain::{
    Briefing, Clocks, Origin, Persistence, Reason, ReasonCode, ResultTerms, Retrieval, RunRequest, RunTerms,
    WhatToRun,
};
use impresario_policies::overflow_memory::MEMORY_TOOLS;
use impresario_policies::skill_file::{SKILL_FILE_BYTES_MAX, SkillFile, read_skill_file};
use impresario_policies::skill_lookup::{SkillLookupError, SkillPlace, is_skill_name, skill_candidates};
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What skills run with.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillSettings {
    /// The home directory, for the user's own skills; none looks in the workspace only.
    pub home: Option<PathBuf>,
    /// The runner.
    pub runner: String,
    /// The models where the skill names none.
    pub chain: Vec<String>,
    /// A model named by the skill is used.
    pub skill_model: bool,
    /// The tools a skill may use.
    pub tools: Vec<String>,
    /// How the task becomes a brief.
    pub briefing: Briefing,
    /// The limits in time.
    pub clocks: Clocks,
    /// How failures are met.
    pub persistence: Persistence,
    /// A tool's result above so many bytes is kept aside.
    pub overflow_ceiling_bytes: u64,
    /// Ceilings of single tools, and what is kept aside.
    pub results: ResultTerms,
    /// The cap of an answer.
    pub answer_chars_max: usize,
    /// Where traces go, relative to the workspace; none for no trace files.
    pub trace_directory: Option<String>,
    /// What answers questions about the workspace.
    pub retrieval: Retrieval,
    /// The models to go on with after the skill's or the session's own.
    pub fallback: Vec<String>,
    /// The model that writes and judges briefs, whatever the session's own is.
    pub routing_model: Option<String>,
    /// Whose a skill's model without a provider is; else the provider of the session's own model.
    pub default_provider: Option<String>,
    /// Sampling temperature, where the runner supports it.
    pub temperature: Option<f64>,
    /// The settings files are read for every order and laid over these.
    pub read_files: bool,
    /// The runner that holds whatever the files say.
    pub runner_fixed: bool,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self {
            home: std::env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            runner: EMBEDDED_RUNNER.to_string(),
            chain: vec![OFFLINE_MODEL.to_string()],
            skill_model: false,
            tools: skill_tools_of(EMBEDDED_RUNNER),
            briefing: Briefing::Judged {
                passes_max: 2,
                questions_max: 2,
                model: OFFLINE_MODEL.to_string(),
            },
            clocks: Clocks::default(),
            persistence: Persistence::default(),
            overflow_ceiling_bytes: 25_000,
            results: ResultTerms::default(),
            answer_chars_max: 120_000,
            trace_directory: Some(".pi/traces".to_string()),
            retrieval: Retrieval::default(),
            fallback: Vec::new(),
            routing_model: None,
            default_provider: None,
            temperature: None,
            read_files: false,
            runner_fixed: false,
        }
    }
}

/// The tools of a skill. In nested Pi it has Pi's own; the embedded runner has only tools that read.
pub fn skill_tools_of(runner: &str) -> Vec<String> {
    let tools: &[&str] = match runner {
        EMBEDDED_RUNNER => &["read", "grep", "find", RETRIEVAL_TOOL],
        _ => &["read", "bash", "edit", "write"],
    };
    tools
        .iter()
        .chain(&MEMORY_TOOLS)
        .map(ToString::to_string)
        .collect()
}

/// What the router calls.
pub(crate) fn resolver(settings: SkillSettings, host: String) -> Resolve {
    Rc::new(move |order| {
        let (settings, host) = (settings.clone(), host.clone());
        async move {
            let read = tokio::task::spawn_blocking(move || resolve(&settings, &host, order)).await;
            read.unwrap_or_else(|error| {
                Err(Reason {
                    code: ReasonCode::Internal,
                    message: format!("Reading the skill failed: {error}"),
                })
            })
        }
        .boxed_local()
    })
}

/// Makes a complete request of an order.
pub fn resolve(settings: &SkillSettings, host: &str, order: SkillOrder) -> Result<RunRequest, Reason> {
    let mut settings = settings.clone();
    if settings.read_files {
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        Settings::read(&places).apply(&mut settings);
    }
    let skill = find_skill(&settings, &order)?;
    let chain = chain_of(&settings, &order, skill.model)?;
    let briefing = briefing_of(&settings, order.model);
    Ok(RunRequest {
        what: WhatToRun::Skill(order.name),
        task: order.task,
        origin: Origin {
            host: host.to_string(),
            session: order.session,
            resumes: None,
        },
        continues: None,
        instructions: skill.instructions,
        tools: settings.results.memory.offered(settings.tools),
        chain,
        runner: settings.runner,
        workspace: order.workspace,
        briefing,
        clocks: settings.clocks,
        persistence: settings.persistence,
        temperature: settings.temperature,
        overflow_ceiling_bytes: settings.overflow_ceiling_bytes,
        answer_chars_max: settings.answer_chars_max,
        trace_directory: settings.trace_directory,
        group: None,
        terms: RunTerms {
            results: settings.results,
            ..RunTerms::default()
        },
        retrieval: settings.retrieval,
    })
}

/// The skill's own model, else the session's, else the settings'; then those to go on with.
fn chain_of(
    settings: &SkillSettings,
    order: &SkillOrder,
    of_skill: Option<String>,
) -> Result<Vec<String>, Reason> {
    let of_skill = of_skill.filter(|_| settings.skill_model);
    let first = match of_skill {
        Some(model) => Some(with_provider(settings, order, model)?),
        None => order.model.clone(),
    };
    let mut chain = first.map_or_else(|| settings.chain.clone(), |model| vec![model]);
    for model in &settings.fallback {
        if !chain.contains(model) {
            chain.push(model.clone());
        }
    }
    if chain.is_empty() {
        return Err(Reason {
            code: ReasonCode::UnknownModel,
            message: format!(
                "The runner {:?} needs a model: give --model provider/id, or set fallbackModels.",
                settings.runner
            ),
        });
    }
    Ok(chain)
}

/// Pi knows models as `provider/id`.
fn with_provider(settings: &SkillSettings, order: &SkillOrder, model: String) -> Result<String, Reason> {
    if model.contains('/') {
        return Ok(model);
    }
    let of_session = || Some(order.model.as_ref()?.split_once('/')?.0);
    match settings.default_provider.as_deref().or_else(of_session) {
        Some(provider) => Ok(format!("{provider}/{model}")),
        None => {
            let why = format!(
                "its model {model:?} names no provider. Write it as provider/id, or set defaultProvider"
            );
            Err(broken(&order.name, &why))
        }
    }
}

fn briefing_of(settings: &SkillSettings, of_session: Option<String>) -> Briefing {
    match settings.briefing.clone() {
        Briefing::Judged {
            passes_max,
            questions_max,
            model,
        } => Briefing::Judged {
            passes_max,
            questions_max,
            model: settings.routing_model.clone().or(of_session).unwrap_or(model),
        },
        Briefing::Direct => Briefing::Direct,
    }
}

fn find_skill(settings: &SkillSettings, order: &SkillOrder) -> Result<SkillFile, Reason> {
    let unknown = |error: SkillLookupError| Reason {
        code: ReasonCode::UnknownSkill,
        message: error.to_string(),
    };
    let candidates = skill_candidates(&order.name, order.workspace_trusted).map_err(unknown)?;
    for candidate in candidates {
        let base = match candidate.place {
            SkillPlace::Workspace => Some(&order.workspace),
            SkillPlace::Home => settings.home.as_ref(),
        };
        let Some(base) = base else { continue };
        match read_bounded(&base.join(&candidate.path)) {
            Ok(text) => {
                return read_skill_file(&text).map_err(|error| broken(&order.name, &error.to_string()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                // The place as the person knows it, without the directories above.
                let why = format!("{} cannot be read ({})", candidate.path, error.kind());
                return Err(broken(&order.name, &why));
            }
        }
    }
    Err(unknown(SkillLookupError::NotFound(order.name.clone())))
}

fn broken(name: &str, why: &str) -> Reason {
    Reason {
        code: ReasonCode::BrokenSkill,
        message: format!("Skill \"{name}\" cannot be used: {why}."),
    }
}

/// One byte more than allowed is enough to know.
fn read_bounded(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let mut bytes = Vec::new();
    file.take(SKILL_FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// So many skills are offered at most.
const SKILLS_MAX: usize = 500;

/// The skills a person can choose, by name: the workspace's shadow the user's. Broken files are offered too, so that
/// choosing one says what is wrong with it.
pub fn list_skills(settings: &SkillSettings, order: &SkillOrder) -> Vec<(String, String)> {
    let home = settings.home.as_ref().map(|home| home.join(".pi/agent/skills"));
    let workspace = order
        .workspace_trusted
        .then(|| order.workspace.join(".pi/skills"));
    let mut skills = std::collections::BTreeMap::new();
    for directory in [home, workspace].into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(directory) else {
            continue;
        };
        for entry in entries.flatten().take(SKILLS_MAX) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_skill_name(&name) {
                continue;
            }
            let Ok(text) = read_bounded(&entry.path().join("SKILL.md")) else {
                continue;
            };
            let description = read_skill_file(&text)
                .ok()
                .and_then(|skill| skill.description)
                .unwrap_or_default();
            skills.insert(name, description);
        }
    }
    skills.into_iter().take(SKILLS_MAX).collect()
}
