//! How a server is started: which program, with what, where. Never through a shell.

use crate::processes::{ContainmentSetting, Part, ProcessSpec};
use impresario_policies::child_environment::{ChildEnvironmentSettings, choose_engine_environment};
use impresario_policies::domain::{RetrievalEngine, RunId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What every server is started with.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    pub keeper: PathBuf,
    /// How strongly processes are held.
    pub containment: ContainmentSetting,
    /// Our environment, of which each server sees its part.
    pub environment: BTreeMap<String, String>,
    /// How long a server has to get ready: to be greeted, and to list its tools.
    pub ready_within: Duration,
}

/// How a server is spoken to first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// `initialize`, which auggie 0.36 knows.
    Initialize,
    /// `server/discover`, else `initialize`.
    Discover,
}

/// A server, ready to be started any number of times.
pub(super) struct Launch {
    pub(super) spec: ProcessSpec,
    pub(super) greeting: Greeting,
}

/// The environment variables that are auggie's own: its login above all.
const AUGGIE_PREFIX: &str = "AUGMENT_";

impl Launch {
    pub(super) fn of(
        settings: &EngineSettings,
        engine: &RetrievalEngine,
        run: &RunId,
        workspace: PathBuf,
    ) -> Result<Self, String> {
        let (program, arguments, greeting) = match engine {
            RetrievalEngine::Local => return Err("the local engine is no program".to_string()),
            RetrievalEngine::Auggie { program } => (
                program.clone(),
                auggie_arguments(&workspace),
                Greeting::Initialize,
            ),
            RetrievalEngine::Mcp { command, .. } => match command.split_first() {
                Some((program, arguments)) => (program.clone(), arguments.to_vec(), Greeting::Discover),
                None => {
                    let why = "retrieval.engine is mcp, and retrieval.command names no program";
                    return Err(why.to_string());
                }
            },
        };
        Ok(Self {
            spec: spec(settings, engine, run, workspace, program, arguments),
            greeting,
        })
    }
}

/// A question waits until auggie has read the workspace, rather than being answered from half of it; our limit bounds
/// the wait.
fn auggie_arguments(workspace: &std::path::Path) -> Vec<String> {
    let workspace = workspace.display().to_string();
    ["--mcp", "--workspace-root", &workspace, "--wait-for-indexing"]
        .map(str::to_string)
        .to_vec()
}

/// A program of the engine `engine`.
pub(super) fn spec(
    settings: &EngineSettings,
    engine: &RetrievalEngine,
    run: &RunId,
    workspace: PathBuf,
    program: String,
    arguments: Vec<String>,
) -> ProcessSpec {
    let (prefix, pass) = match engine {
        RetrievalEngine::Local => (None, Vec::new()),
        RetrievalEngine::Auggie { .. } => (Some(AUGGIE_PREFIX), Vec::new()),
        RetrievalEngine::Mcp { environment, .. } => (None, environment.clone()),
    };
    let mut environment =
        choose_engine_environment(&settings.environment, prefix, &ChildEnvironmentSettings { pass });
    environment.insert("NO_COLOR".to_string(), "1".to_string());
    ProcessSpec {
        program: PathBuf::from(program),
        arguments,
        environment,
        working_directory: workspace,
        run: run.clone(),
        part: Part::ContextEngine,
        containment: settings.containment,
        keeper: settings.keeper.clone(),
    }
}
