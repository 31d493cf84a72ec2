//! `run` and `skill`: a sub-agent from beginning to end, watched by a person or a program.

use super::arguments::{HowArguments, RunArguments, SkillArguments};
use super::detach;
use super::exit::{Failure, code_of};
use super::output::{print_json, say};
use super::terminal::TerminalHost;
use super::trust::is_trusted;
use super::wire::{EventLine, json_line};
use crate::agents::AgentFiles;
use crate::runtime::{EMBEDDED_RUNNER, Outcome, PI_RUNNER, Run, RunId, Runtime, SubAgent};
use crate::settings::{Settings, SettingsPlaces};
use crate::skills::SpawnSettings;
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::domain::TerminalState;
use impresario_policies::providers::find_target;
use impresario_policies::receipt::{flag_words, receipt_line};
use impresario_policies::resumption::{Reader, advise};
use impresario_policies::run_request::RunMeans;
use impresario_policies::settings::TotalChosen;
use impresario_policies::worktree::describe_changes;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The model of the embedded runner when nobody names one.
const OFFLINE: &str = crate::runtime::OFFLINE_MODEL;

pub(super) async fn run_agent(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how;
    if how.detached_as.is_some() {
        detach::leave_terminal()?;
    }
    let workspace = how.workspace()?;
    let settings = how.settings(&workspace)?;
    if settings.means.chain.is_empty() && !names_a_model(&settings, &workspace, &arguments.agent) {
        return Err(needs_model(&settings.means.runner));
    }
    if how.is_to_detach() {
        return detach::start(&how, &workspace);
    }
    let runtime = how.start(&workspace.directory, &settings).await?;
    let mut sub_agent = SubAgent::new(arguments.agent, arguments.task).spawned_with(
        &settings,
        &workspace.directory,
        workspace.trusted,
    );
    if let Some(isolation) = how.isolation {
        sub_agent = sub_agent.isolation(isolation);
    }
    let spawned = runtime.spawn_as(how.run_id(&runtime), sub_agent).await;
    how.watch(&runtime, spawned).await
}

pub(super) async fn run_skill(arguments: SkillArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how;
    if how.detached_as.is_some() {
        detach::leave_terminal()?;
    }
    let workspace = how.workspace()?;
    let settings = how.settings(&workspace)?;
    if settings.means.chain.is_empty() && !settings.means.models_chosen {
        return Err(needs_model(&settings.means.runner));
    }
    if how.is_to_detach() {
        return detach::start(&how, &workspace);
    }
    let runtime = how.start(&workspace.directory, &settings).await?;
    let order = SkillOrder {
        name: arguments.name,
        task: arguments.task,
        session: None,
        workspace: workspace.directory,
        workspace_trusted: workspace.trusted,
        model: None,
        isolation: how.isolation,
        ..SkillOrder::default()
    };
    let spawned = runtime.spawn_skill_as(how.run_id(&runtime), order).await;
    how.watch(&runtime, spawned).await
}

/// Follows a run to its end. The first Ctrl-C cancels it, the second one ends us at once.
pub(super) async fn watch(
    runtime: &Runtime,
    spawned: Result<Run, crate::RuntimeError>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let run = match spawned {
        Ok(run) => run,
        Err(error) => {
            let _ = runtime.shutdown().await;
            return Err(error.into());
        }
    };
    let cancelled = run.clone();
    let ending = cancel_on_interrupt(async move {
        let _ = cancelled.cancel("the user (Ctrl-C)").await;
    });
    if json {
        print_events(&run).await;
    }
    let outcome = run.outcome().await;
    ending.abort();
    let outcome = outcome?;
    runtime.shutdown().await?;
    if !json {
        say_how_it_ended(&outcome);
    }
    Ok(code_of(outcome.state))
}

/// Cancels at the first Ctrl-C; ends us at the second, however soon it comes.
pub(super) fn cancel_on_interrupt(
    cancelling: impl Future<Output = ()> + Send + 'static,
) -> tokio::task::JoinHandle<()> {
    // One listener for both: a new one would miss what came before it.
    let interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    tokio::spawn(async move {
        let Ok(mut interrupts) = interrupts else { return };
        if interrupts.recv().await.is_none() {
            return;
        }
        say("cancelling; once more to stop at once");
        let cancelled = async {
            cancelling.await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            // The keepers see us go and stop everything that is left.
            Some(()) = interrupts.recv() => std::process::exit(130),
            () = cancelled => {}
        }
    })
}

/// One JSON object a line; a reader that went away ends it quietly, not the run.
async fn print_events(run: &Run) {
    let mut events = run.events();
    while let Some(event) = events.next().await {
        let line = json_line(&EventLine::of(run.id(), &event));
        if print_json(&line).is_err() {
            return;
        }
    }
}

/// The answer went to stdout when it was delivered; this is for the person.
pub(super) fn say_how_it_ended(outcome: &Outcome) {
    if let Some(reason) = &outcome.reason {
        say(&format!("{}: {}", outcome.state.word(), reason.message));
    }
    let receipt = outcome.receipt();
    for flag in &receipt.flags {
        say(&format!("check: {}", flag_words(flag)));
    }
    if let Some(seen) = receipt_line(&receipt) {
        say(&seen);
    }
    let own = outcome.projection.worktree.as_ref();
    if let Some(changes) = own.and_then(|own| describe_changes(&outcome.run, own)) {
        say(&changes);
    }
    let why = outcome.reason.as_ref().map(|reason| reason.code);
    if let Some(advice) = advise(&outcome.run, outcome.state, why, Reader::CommandLine) {
        say(&advice);
    }
    if let Some(used) = outcome.projection.used().in_words() {
        say(&format!("used: {used}"));
    }
    if outcome.state != TerminalState::Succeeded {
        say(&format!("see `impresario trace {}`", outcome.run));
    }
}

/// The agent has a model of its own, from its author or the settings. Waits for files.
pub(super) fn names_a_model(settings: &SpawnSettings, workspace: &Workspace, agent: &str) -> bool {
    let files = AgentFiles::where_trusted(workspace.trusted);
    let found = settings.agent_places(&workspace.directory, files).find_one(agent);
    settings.means.models_chosen && found.is_ok_and(|agent| !agent.models.is_empty())
}

pub(super) fn needs_model(runner: &str) -> Failure {
    Failure::usage(format!(
        "the runner {runner:?} needs a model: give --model provider/id"
    ))
}

/// The directory to work in, with no link in its name.
pub(super) fn existing_workspace(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let given = match given {
        Some(workspace) => workspace.to_path_buf(),
        None => std::env::current_dir()
            .map_err(|error| Failure::failed(format!("failed to find the current directory: {error}")))?,
    };
    let workspace = given.canonicalize().map_err(|error| {
        Failure::usage(format!(
            "the workspace {} cannot be used: {error}",
            given.display()
        ))
    })?;
    match workspace.is_dir() {
        true => Ok(workspace),
        false => Err(Failure::usage(format!(
            "the workspace {} is not a directory",
            given.display()
        ))),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Workspace {
    /// With no link in its name.
    pub(super) directory: PathBuf,
    /// What it brings along is taken.
    pub(super) trusted: bool,
}

impl Workspace {
    pub(super) fn settings_places(&self) -> SettingsPlaces {
        SettingsPlaces::of(&self.directory, self.trusted)
    }
}

impl HowArguments {
    /// The process that has the run is still to be started.
    fn is_to_detach(&self) -> bool {
        self.detach && self.detached_as.is_none()
    }

    fn run_id(&self, runtime: &Runtime) -> RunId {
        self.detached_as.clone().unwrap_or_else(|| runtime.new_run_id())
    }

    async fn watch(
        &self,
        runtime: &Runtime,
        spawned: Result<Run, crate::RuntimeError>,
    ) -> Result<ExitCode, Failure> {
        if self.detached_as.is_some() && spawned.is_ok() {
            detach::tell_starter();
        }
        // Who detached it reads the log; events are in the journal.
        watch(runtime, spawned, self.json && self.detached_as.is_none()).await
    }

    /// The directory to work in; whether it is trusted may be asked here.
    pub(super) fn workspace(&self) -> Result<Workspace, Failure> {
        let directory = existing_workspace(self.place.workspace.as_deref())?;
        let trusted = is_trusted(&directory, self.place.trust, &self.place.state)?;
        Ok(Workspace { directory, trusted })
    }

    /// What stands in the files, and over it what was typed. Problems are said on stderr.
    pub(super) fn settings(&self, workspace: &Workspace) -> Result<SpawnSettings, Failure> {
        let files = Settings::read(&workspace.settings_places());
        for line in files.notice().iter().flat_map(|notice| notice.lines()) {
            say(line);
        }
        let typed = self.place.runner.clone();
        let mut settings = SpawnSettings {
            runner_fixed: typed.is_some(),
            means: RunMeans {
                runner: typed.unwrap_or_else(|| EMBEDDED_RUNNER.to_string()),
                judged: !self.unjudged,
                ..RunMeans::default()
            },
            ..SpawnSettings::default()
        };
        settings.set(files.configured());
        self.check(&settings.means.runner)?;
        // The models of Pi are reached by the nested Pi only, so none of them can be called to write a brief.
        let judges = settings.run.routing_model.take();
        settings.run.routing_model =
            judges.filter(|model| find_target(model, |name| std::env::var(name).ok()).is_ok());
        let fallback = std::mem::take(&mut settings.run.fallback);
        settings.means.chain = match (
            self.place.models.is_empty(),
            settings.means.runner == EMBEDDED_RUNNER,
        ) {
            (false, _) => self.place.models.clone(),
            (true, true) => vec![OFFLINE.to_string()],
            (true, false) => fallback,
        };
        settings.means.models_chosen &= self.place.models.is_empty();
        let budget = &mut settings.run.terms.budget;
        budget.tree = self.budget.over(budget.tree);
        let clocks = &mut settings.run.clocks;
        clocks.total = self.timeout.unwrap_or(clocks.total);
        if self.timeout.is_some() {
            settings.run.total_chosen = TotalChosen::ForThisRun;
        }
        let clocks = &mut settings.run.clocks;
        clocks.start_up = self.startup_timeout.unwrap_or(clocks.start_up);
        clocks.inactivity = self.inactivity_timeout.unwrap_or(clocks.inactivity);
        Ok(settings)
    }

    fn check(&self, runner: &str) -> Result<(), Failure> {
        let known = [EMBEDDED_RUNNER, PI_RUNNER];
        if !known.contains(&runner) {
            let known = known.join(", ");
            return Err(Failure::usage(format!(
                "there is no runner called {runner:?}; there are: {known}"
            )));
        }
        let unusable = self
            .place
            .models
            .iter()
            .find(|model| model.as_str() != OFFLINE && !model.contains('/'));
        if let Some(model) = unusable {
            return Err(Failure::usage(format!(
                "expected a model as provider/id, got {model:?}"
            )));
        }
        let called_here = self
            .place
            .models
            .iter()
            .filter(|model| runner == EMBEDDED_RUNNER && *model != OFFLINE);
        for model in called_here {
            find_target(model, |name| std::env::var(name).ok()).map_err(|why| {
                Failure::usage(format!(
                    "the model {model:?} cannot be called from here: {why}\n--runner pi uses the models of Pi instead"
                ))
            })?;
        }
        Ok(())
    }

    pub(super) async fn start(&self, workspace: &Path, settings: &SpawnSettings) -> Result<Runtime, Failure> {
        let json = self.json && self.detached_as.is_none();
        let builder = self
            .place
            .state
            .builder()
            .workspace(workspace)
            .skills(settings.clone())
            .host(
                "cli",
                TerminalHost::new(json).answered_in(detach::answers_of(self)?),
            );
        let builder = match &self.place.pi {
            Some(pi) => builder.pi(pi),
            None => builder,
        };
        Ok(builder.start().await?)
    }
}
