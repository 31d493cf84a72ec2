//! From the order of a skill to a complete request: finds the file, reads it, fills in the settings.

use crate::agents::{AgentFiles, AgentPlaces};
use crate::chain_files::ChainPlaces;
use crate::project_files::{ProjectPlaces, project_instructions};
use crate::settings::{Settings, SettingsPlaces};
use crate::skill_files::find_skill;
pub use crate::skill_files::{SkillEntry, list_skills};
use futures_util::FutureExt;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::messages::session::SkillOrder;
use impresario_actors::router::Resolve;
use impresario_actors::tools::is_built;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::delegation_block::{context_label, task_with_context};
use impresario_policies::domain::{GuidanceTerms, Origin, Reason, ReasonCode, RunRequest};
use impresario_policies::run_request::{PI_RUNNER, RunAsk, RunMeans, refuse_isolation, run_request};
use impresario_policies::settings::{AgentSettings, Configured, RunSettings};
use impresario_policies::utc_date::{DAY_MS, utc_day};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What sub-agents are spawned with: the settings, and what holds where they say nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct SpawnSettings {
    /// What is set.
    pub run: RunSettings,
    /// The settings files are read for every order and laid over these.
    pub read_files: bool,
    /// The home directory, for the user's own skills; none looks in the workspace only.
    pub home: Option<PathBuf>,
    /// Pi's directory of the user, where it is not `.pi/agent` in the home directory.
    pub agent_directory: Option<PathBuf>,
    /// What runs are made with, where the settings say nothing else.
    pub means: RunMeans,
    /// The runner that holds whatever the files say.
    pub runner_fixed: bool,
    /// The embedded runner reaches providers here, as the runner pi does everywhere.
    pub embedded_has_providers: bool,
    /// The agents that nobody may ask, by name.
    pub agents_disabled: Vec<String>,
    /// What is set for single agents, by name.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The agents of the program, which win over all others.
    pub own_agents: Vec<AgentDefinition>,
}

impl Default for SpawnSettings {
    fn default() -> Self {
        let absolute = |variable| {
            let directory = std::env::var_os(variable).map(PathBuf::from);
            directory.filter(|directory| directory.is_absolute())
        };
        Self {
            run: RunSettings::default(),
            read_files: false,
            home: absolute("HOME"),
            agent_directory: absolute("PI_CODING_AGENT_DIR"),
            means: RunMeans::default(),
            runner_fixed: false,
            embedded_has_providers: false,
            agents_disabled: Vec::new(),
            agents: BTreeMap::new(),
            own_agents: Vec::new(),
        }
    }
}

impl SpawnSettings {
    /// Lays what is set over these.
    pub fn set(&mut self, configured: Configured) {
        let run = configured.run;
        self.agents_disabled = configured.agents_disabled;
        self.agents = configured.agents;
        if let Some(runner) = run.runner.as_ref().filter(|_| !self.runner_fixed) {
            self.means.runner.clone_from(runner);
        }
        self.means.models_chosen = self.embedded_has_providers || self.means.runner == PI_RUNNER;
        self.run = run;
    }

    /// Pi's directory of the user.
    pub(crate) fn pis_directory(&self) -> Option<PathBuf> {
        let below_home = || self.home.as_ref().map(|home| home.join(".pi/agent"));
        self.agent_directory.clone().or_else(below_home)
    }

    /// Where the agents for this workspace are looked for.
    pub(crate) fn agent_places(&self, workspace: &Path, files: AgentFiles) -> AgentPlaces {
        AgentPlaces {
            own: self.own_agents.clone(),
            workspace: workspace.to_path_buf(),
            files,
            agent_directory: self.pis_directory(),
            home: self.home.clone(),
            disabled: self.agents_disabled.clone(),
            settings: self.agents.clone(),
            tools_disabled: self.run.tools_disabled.clone(),
            tools_lacking: AddedTool::ALL
                .into_iter()
                .filter(|tool| !is_built(*tool))
                .collect(),
        }
    }

    /// Where chains for this workspace are looked for.
    pub(crate) fn chain_places(&self, workspace: &Path, trusted: bool) -> ChainPlaces {
        ChainPlaces::of(workspace, trusted, self.pis_directory(), self.home.clone())
    }

    /// What a sub-agent in this workspace is told of the project. Waits for files.
    pub(crate) fn project_instructions(&self, workspace: &Path, trusted: bool) -> String {
        project_instructions(&ProjectPlaces {
            workspace: workspace.to_path_buf(),
            trusted,
            agent_directory: self.pis_directory(),
            home: self.home.clone(),
        })
    }

    /// What a sub-agent is given of the rules of directories.
    pub(crate) fn guidance(&self, trusted: bool) -> GuidanceTerms {
        match trusted {
            true => self.run.guidance.clone(),
            false => GuidanceTerms::default(),
        }
    }
}

/// The day as it stands in prompts.
pub(crate) fn today() -> String {
    utc_day(SystemWallClock.now().0 / DAY_MS)
}

pub(crate) fn resolver(settings: SpawnSettings, host: String) -> Resolve {
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
pub fn resolve(settings: &SpawnSettings, host: &str, order: SkillOrder) -> Result<RunRequest, Reason> {
    let mut settings = settings.clone();
    if settings.read_files {
        let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
        settings.set(Settings::read(&places).configured());
    }
    let mut definition = match order.agent {
        true => {
            // Who delegates has written the task for somebody who does not see the conversation: there is no more to brief.
            settings.means.judged = false;
            let files = AgentFiles::where_trusted(order.workspace_trusted);
            let places = settings.agent_places(&order.workspace, files);
            places.find_one(&order.name)?
        }
        false => {
            let found = find_skill(&settings, &order)?;
            AgentDefinition::of_skill(order.name, found.skill, found.directory)
        }
    };
    definition.isolation = order.isolation.unwrap_or(definition.isolation);
    if let Some(reason) = refuse_isolation(definition.isolation, order.workspace_trusted) {
        return Err(reason);
    }
    let context = context_label(definition.routing.as_ref()).zip(order.context.as_deref());
    let ask = RunAsk {
        task: task_with_context(&order.task, context),
        origin: Origin {
            host: host.to_string(),
            session: order.session,
            resumes: None,
        },
        project_instructions: settings.project_instructions(&order.workspace, order.workspace_trusted),
        guidance: settings.guidance(order.workspace_trusted),
        today: today(),
        workspace: order.workspace,
        session_model: order.model,
        session_file: order.session_file,
    };
    run_request(definition, ask, settings.means, settings.run)
}
