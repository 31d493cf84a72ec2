//! `run` and `skill`: a sub-agent from beginning to end, watched by a person or a program.

use super::arguments::{HowArguments, RunArguments, SkillArguments};
use super::exit::{Failure, code_of};
use super::terminal::TerminalHost;
use super::wire::EventLine;
use crate::runtime::{EMBEDDED_RUNNER, Outcome, PI_RUNNER, Run, Runtime, RuntimeBuilder, SubAgent};
use crate::skills::{SkillSettings, skill_tools_of};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::domain::{Briefing, TerminalState};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

/// The model of the embedded runner when nobody names one.
const OFFLINE: &str = crate::runtime::OFFLINE_MODEL;

pub(super) async fn run_agent(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how;
    let runtime = how.start().await?;
    let sub_agent = how.apply(SubAgent::new(arguments.agent, arguments.task))?;
    let spawned = runtime.spawn(sub_agent).await;
    watch(&runtime, spawned, how.json).await
}

pub(super) async fn run_skill(arguments: SkillArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how;
    let runtime = how.start().await?;
    let order = SkillOrder {
        name: arguments.name,
        task: arguments.task,
        session: None,
        workspace: how.workspace()?,
        // Whoever types the command in a workspace trusts it as much as any program started there.
        workspace_trusted: true,
        model: None,
    };
    let spawned = runtime.spawn_skill(order).await;
    watch(&runtime, spawned, how.json).await
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
    let ending = cancel_on_interrupt(run.clone());
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

fn cancel_on_interrupt(run: Run) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        let _ = writeln!(
            std::io::stderr(),
            "impresario: cancelling; once more to stop at once"
        );
        let cancelling = run.cancel("the user (Ctrl-C)");
        tokio::select! {
            biased;
            again = tokio::signal::ctrl_c() => if again.is_ok() { std::process::exit(130) },
            _ = cancelling => {}
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            // The keepers see us go and stop everything that is left.
            std::process::exit(130);
        }
    })
}

/// One JSON object a line; a reader that went away ends it quietly, not the run.
async fn print_events(run: &Run) {
    let mut events = run.events();
    while let Some(event) = events.next().await {
        let line = EventLine::of(run.id(), &event).to_json();
        if writeln!(std::io::stdout(), "{line}").is_err() {
            return;
        }
    }
}

/// The answer went to stdout when it was delivered; this is for the person.
fn say_how_it_ended(outcome: &Outcome) {
    let mut stderr = std::io::stderr();
    if let Some(reason) = &outcome.reason {
        let _ = writeln!(
            stderr,
            "impresario: {}: {}",
            state_in_words(outcome.state),
            reason.message
        );
    }
    if outcome.state != TerminalState::Succeeded {
        let _ = writeln!(stderr, "impresario: see `impresario trace {}`", outcome.run);
    }
}

pub(super) fn state_in_words(state: TerminalState) -> &'static str {
    match state {
        TerminalState::Succeeded => "succeeded",
        TerminalState::Failed => "failed",
        TerminalState::Cancelled => "cancelled",
        TerminalState::Parked => "parked",
    }
}

impl HowArguments {
    async fn start(&self) -> Result<Runtime, Failure> {
        self.check()?;
        Ok(self.builder()?.start().await?)
    }

    fn check(&self) -> Result<(), Failure> {
        let known = [EMBEDDED_RUNNER, PI_RUNNER];
        if !known.contains(&self.runner.as_str()) {
            let known = known.join(", ");
            return Err(Failure::usage(format!(
                "there is no runner called {:?}; there are: {known}",
                self.runner
            )));
        }
        if self.runner != EMBEDDED_RUNNER && self.models.is_empty() {
            return Err(Failure::usage(format!(
                "the runner {:?} needs a model: give --model provider/id",
                self.runner
            )));
        }
        let unusable = self
            .models
            .iter()
            .find(|model| model.as_str() != OFFLINE && !model.contains('/'));
        if let Some(model) = unusable {
            return Err(Failure::usage(format!(
                "expected a model as provider/id, got {model:?}"
            )));
        }
        let embedded = self.runner == EMBEDDED_RUNNER;
        match self.models.iter().find(|model| embedded && *model != OFFLINE) {
            Some(model) => Err(Failure::usage(format!(
                "no provider here has the model {model:?}: the embedded runner has only {OFFLINE:?}; \
                 --runner pi uses the models of Pi"
            ))),
            None => Ok(()),
        }
    }

    fn builder(&self) -> Result<RuntimeBuilder, Failure> {
        let json = self.json;
        let workspace = self.workspace()?;
        let builder = self
            .state
            .builder()
            .workspace(workspace)
            .skills(self.skill_settings());
        let builder = match &self.pi {
            Some(pi) => builder.pi(pi),
            None => builder,
        };
        Ok(builder.host("cli", move || Rc::new(TerminalHost::new(json))))
    }

    fn workspace(&self) -> Result<PathBuf, Failure> {
        let given = match &self.workspace {
            Some(workspace) => workspace.clone(),
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

    fn chain(&self) -> Vec<String> {
        match self.models.is_empty() {
            true => vec![OFFLINE.to_string()],
            false => self.models.clone(),
        }
    }

    fn apply(&self, sub_agent: SubAgent) -> Result<SubAgent, Failure> {
        let mut sub_agent = sub_agent
            .workspace(self.workspace()?)
            .runner(&self.runner)
            .chain(self.chain());
        if let Some(total) = self.timeout {
            sub_agent = sub_agent.timeout(total);
        }
        if let Some(start_up) = self.startup_timeout {
            sub_agent = sub_agent.startup_timeout(start_up);
        }
        if let Some(inactivity) = self.inactivity_timeout {
            sub_agent = sub_agent.inactivity_timeout(inactivity);
        }
        Ok(if self.unjudged {
            sub_agent.unjudged()
        } else {
            sub_agent
        })
    }

    fn skill_settings(&self) -> SkillSettings {
        let defaults = SkillSettings::default();
        let mut clocks = defaults.clocks;
        clocks.total = self.timeout.unwrap_or(clocks.total);
        clocks.start_up = self.startup_timeout.unwrap_or(clocks.start_up);
        clocks.inactivity = self.inactivity_timeout.unwrap_or(clocks.inactivity);
        let briefing = if self.unjudged {
            Briefing::Direct
        } else {
            defaults.briefing.clone()
        };
        SkillSettings {
            tools: skill_tools_of(&self.runner),
            runner: self.runner.clone(),
            chain: self.chain(),
            clocks,
            briefing,
            ..defaults
        }
    }
}
