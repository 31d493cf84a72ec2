//! A nested Pi as the sub-agent.
//!
//! `pi --mode rpc` runs in a keeper, with the tools of the agent and nothing else, on a session file of its run, with
//! the user's own login but not the user's retries (`child.js` says how). Its events are read as they come, and how
//! it ended is read from them. Pi 0.74 and later; what differs between versions is in `command` and in `driver`.
//! Where that is wished, a Pi serves several runs, one after the other ([`pool`]).

mod calls;
pub mod command;
mod driver;
mod environment;
mod gate;
pub mod installation;
mod launch;
pub mod lines;
pub mod models;
mod pool;
pub mod reader;
mod session;
mod summary;
mod told;
pub mod wire;

use crate::gateways::{
    AttemptHandle, AttemptRequest, Login, RunnerEvents, SpawnError, SubAgentRunner, ToolGate, Tools,
};
use crate::processes::{
    ContainedProcess, ContainmentSetting, Part, ProcessSpec, StartError, Streams, contain,
};
use async_trait::async_trait;
use command::{AttemptFiles, PiVersion};
use driver::{Assignment, Employment, Order};
pub use environment::INSIDE_MARK;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::child_environment::ChildEnvironmentSettings;
use impresario_policies::domain::{Containment, PromptMode, Proof, Reason, ReasonCode, RunId, RunMessage};
use impresario_policies::worker_pool::PoolSettings;
use installation::{Asking, Installation, PiCommand};
use launch::{Launch, files_read};
use pool::{History, Worker, WorkerPool};
use session::prepare_session;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use told::MessagesBefore;

const CHILD_EXTENSION: &str = include_str!("child.js");
/// What it outlines requests with; the extension of the host has a copy.
const OUTLINE: &str = include_str!("outline.ts");
const OWN_TOOLS_VARIABLE: &str = "IMPRESARIO_TOOLS";
const TEMPERATURE_VARIABLE: &str = "IMPRESARIO_TEMPERATURE";

/// What a nested Pi takes when it works, its keeper included.
const NESTED_PI_BYTES: u64 = 200 << 20;

/// What a runner of nested Pis is given.
#[derive(Debug, Clone)]
pub struct PiSettings {
    /// The program of Pi; none means `IMPRESARIO_PI`, then `PATH`.
    pub pi: Option<PathBuf>,
    pub keeper: PathBuf,
    /// How strongly processes are held.
    pub containment: ContainmentSetting,
    /// A directory of ours that stays between runs, for the child extension.
    pub support_directory: PathBuf,
    /// Our environment, of which each nested Pi sees its part.
    pub environment: BTreeMap<String, String>,
    /// Names of further variables that are passed.
    pub pass_environment: Vec<String>,
    /// The nested Pis that are kept warm.
    pub pool: PoolSettings,
    /// The runtime's id, with which those are marked.
    pub runtime: RunId,
}

/// Where system prompts lie that workers are started with, below the directory that stays between runs.
pub const PROMPTS_DIRECTORY: &str = "prompts";

/// Runs sub-agents as nested Pis.
pub struct PiRunner {
    settings: PiSettings,
    /// The tools that Impresario adds, as far as models are told of them; calls go through the gate.
    tools: Arc<dyn Tools>,
    /// The Pi that was looked at last. Looked at again when its file has changed.
    known: RefCell<Option<(LookedAt, Installation)>>,
    pool: WorkerPool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LookedAt {
    command: PiCommand,
    file: Option<(u64, i64, u64)>,
}

impl LookedAt {
    fn at(command: PiCommand) -> Self {
        Self {
            file: identity(&command),
            command,
        }
    }

    /// The file is the one that was looked at.
    fn is_current(&self) -> bool {
        identity(&self.command) == self.file
    }
}

/// A nested Pi that is about to serve a run.
struct Served {
    process: Rc<ContainedProcess>,
    streams: Streams,
    /// None for one that serves this run only.
    history: Option<History>,
}

impl PiRunner {
    /// A runner; nothing is looked for before the first attempt.
    pub fn new(settings: PiSettings, tools: Arc<dyn Tools>) -> Self {
        Self {
            tools,
            pool: WorkerPool::new(settings.pool, settings.runtime.clone()),
            settings,
            known: RefCell::new(None),
        }
    }

    /// The Pi that is run for this request.
    async fn installation(&self, request: &AttemptRequest) -> Result<Installation, SpawnError> {
        let command = installation::find_pi(self.settings.pi.as_deref(), &self.settings.environment)?;
        let looked_at = LookedAt::at(command);
        if let Some((known, installation)) = self.known.borrow().as_ref()
            && *known == looked_at
        {
            return Ok(installation.clone());
        }
        let asking = Asking {
            run: &request.run,
            keeper: &self.settings.keeper,
            environment: &self.settings.environment,
            directory: &request.workspace,
        };
        let found = installation::probe(looked_at.command.clone(), &asking).await?;
        *self.known.borrow_mut() = Some((looked_at, found.clone()));
        Ok(found)
    }

    /// A session with a history, or one that shares its process with nobody, has a Pi of its own.
    fn may_share(&self, request: &AttemptRequest) -> bool {
        self.settings.pool.idle_max > 0 && request.resume.is_none() && !request.fresh
    }

    async fn serve(&self, request: &AttemptRequest) -> Result<Served, SpawnError> {
        let installation = self.installation(request).await?;
        let files = self.write_files(request, installation.version)?;
        let spec = self.spec(request, &installation, &files);
        if !self.may_share(request) {
            let (process, streams) = ContainedProcess::start(spec).await?;
            return Ok(Served {
                process: Rc::new(process),
                streams,
                history: None,
            });
        }
        let launch = Launch {
            pi: LookedAt::at(installation.command.clone()),
            arguments: command::kept_arguments(installation.version, request, &files),
            environment: spec.environment.clone(),
            working_directory: spec.working_directory.clone(),
            files: files_read(request, &self.settings.environment),
        };
        let Worker {
            process,
            streams,
            history,
        } = match self.pool.take(&request.run, &launch, &request.session_file).await {
            Some(worker) => worker,
            None => self.pool.start(&request.run, launch, spec).await?,
        };
        Ok(Served {
            process,
            streams,
            history: Some(history),
        })
    }

    fn spec(
        &self,
        request: &AttemptRequest,
        installation: &Installation,
        files: &AttemptFiles,
    ) -> ProcessSpec {
        let mut arguments = installation.command.first_arguments.clone();
        arguments.extend(command::arguments(installation.version, request, files));
        let settings = ChildEnvironmentSettings {
            pass: self.settings.pass_environment.clone(),
        };
        let mut environment = environment::environment(request, &self.settings.environment, &settings);
        environment.insert(
            OWN_TOOLS_VARIABLE.to_string(),
            gate::own_tools_described(&request.tools, &*self.tools),
        );
        if let Some(temperature) = request.temperature {
            environment.insert(TEMPERATURE_VARIABLE.to_string(), temperature.to_string());
        }
        ProcessSpec {
            program: installation.command.program.clone(),
            arguments,
            environment,
            working_directory: request.workspace.clone(),
            run: request.run.clone(),
            part: Part::SubAgent,
            containment: self.settings.containment,
            keeper: self.settings.keeper.clone(),
        }
    }

    /// A worker needs it for every session it begins, longer than any run's own directory stays.
    fn prompt_file(&self, request: &AttemptRequest) -> PathBuf {
        match self.may_share(request) {
            true => {
                let prompts = self.settings.support_directory.join(PROMPTS_DIRECTORY);
                prompts.join(prompt_name(&request.system_prompt))
            }
            false => request.scratch.join("system-prompt.md"),
        }
    }

    fn write_files(&self, request: &AttemptRequest, version: PiVersion) -> Result<AttemptFiles, SpawnError> {
        let extension = self.settings.support_directory.join("pi-child.js");
        let outline = self.settings.support_directory.join("pi-outline.ts");
        write_if_changed(&outline, OUTLINE).map_err(|error| failed(&outline, &error))?;
        write_if_changed(&extension, CHILD_EXTENSION).map_err(|error| failed(&extension, &error))?;
        let system_prompt = match request.system_prompt.trim() {
            "" => None,
            _ => {
                let path = self.prompt_file(request);
                write_whole(&path, &request.system_prompt).map_err(|error| failed(&path, &error))?;
                Some(path)
            }
        };
        let session = &request.session_file;
        prepare_session(request).map_err(|error| failed(session, &error))?;
        Ok(AttemptFiles {
            system_prompt,
            prompt_mode: prompt_mode(request, version),
            extension,
        })
    }
}

/// Of the same text, the same name.
fn prompt_name(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
    format!("{}.md", digits.collect::<String>())
}

/// A Pi that knows nothing of trust takes its own system prompt from the workspace, if there is one. Then the agent's
/// instructions stand alone.
fn prompt_mode(request: &AttemptRequest, version: PiVersion) -> PromptMode {
    let of_workspace = || request.workspace.join(".pi/SYSTEM.md").exists();
    match version < PiVersion::PROJECT_TRUST && of_workspace() {
        true => PromptMode::Static,
        false => request.prompt_mode,
    }
}

fn failed(path: &Path, error: &io::Error) -> SpawnError {
    SpawnError::new(format!("{} cannot be written ({error})", path.display()))
}

fn identity(command: &PiCommand) -> Option<(u64, i64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let script = command
        .first_arguments
        .first()
        .map_or(command.program.clone(), PathBuf::from);
    let metadata = fs::metadata(script).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.len()))
}

fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    write_whole(path, text)
}

/// Several runtimes may write it at once, and a Pi may be reading it: each writes its own file and puts it in place.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let own = path.with_extension(format!("{}.tmp", std::process::id()));
    write_private(&own, text)?;
    fs::rename(&own, path)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    create_parent(path)?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

fn create_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => fs::DirBuilder::new().recursive(true).mode(0o700).create(parent),
        None => Ok(()),
    }
}

/// What the conversation has of what the run was told. A file that grew long is read on a thread for files.
async fn messages_before(request: &AttemptRequest) -> Result<MessagesBefore, SpawnError> {
    let (messages, session) = (request.messages.clone(), request.session_file.clone());
    if messages.is_empty() || request.resume.is_none() {
        return Ok(MessagesBefore::of_new_conversation(messages));
    }
    let looked = tokio::task::spawn_blocking({
        let session = session.clone();
        move || MessagesBefore::look(messages, &session)
    });
    let looked = looked.await.map_err(io::Error::other).flatten();
    looked.map_err(|error| SpawnError::new(format!("{} cannot be read ({error})", session.display())))
}

/// What Pi is told: what happened, when its session goes on; else the task.
fn prompt(request: &AttemptRequest) -> String {
    match &request.resume {
        Some(what_happened) if request.session_file.exists() => command::prompt_text(what_happened),
        Some(_) | None => command::prompt_text(&request.user_prompt),
    }
}

#[async_trait(?Send)]
impl SubAgentRunner for PiRunner {
    fn name(&self) -> &str {
        "pi"
    }

    fn memory(&self) -> u64 {
        NESTED_PI_BYTES
    }

    fn login(&self, model: &str) -> Login {
        let settings = ChildEnvironmentSettings {
            pass: self.settings.pass_environment.clone(),
        };
        environment::login(model, &self.settings.environment, &settings)
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn ready(&self) -> Result<(), Reason> {
        let keeper = &self.settings.keeper;
        let held = !cfg!(target_os = "linux") || keeper.is_file();
        let pi = installation::find_pi(self.settings.pi.as_deref(), &self.settings.environment);
        let missing = match (held, pi) {
            (true, Ok(_)) => return Ok(()),
            (false, _) => StartError::KeeperMissing {
                looked_in: match keeper.as_os_str().is_empty() {
                    true => "beside this program or in PATH".to_string(),
                    false => format!("at {}", keeper.display()),
                },
            }
            .to_string(),
            (true, Err(error)) => error.to_string(),
        };
        Err(Reason {
            code: ReasonCode::SpawnFailed,
            message: format!("No sub-agent could be started: {missing}."),
        })
    }

    async fn start(
        &self,
        request: AttemptRequest,
        events: RunnerEvents,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Box<dyn AttemptHandle>, SpawnError> {
        if command::provider_of(&request.model).is_empty() {
            return Err(SpawnError::new(format!(
                "Pi needs a model named provider/id, such as anthropic/claude-sonnet-4-5, and got {:?}",
                request.model
            )));
        }
        let messages = messages_before(&request).await?;
        let Served {
            process,
            streams,
            history,
        } = self.serve(&request).await?;
        tracing::debug!(run.id = %request.run, attempt = %request.attempt, "nested pi at work");
        let containment = process.containment();
        let employment = history.map(|history| Employment {
            pool: self.pool.clone(),
            history,
            run: request.run.clone(),
        });
        let anchored = (request.tools.iter()).any(|tool| tool == AddedTool::HashlineEdit.name());
        let (orders, ordered) = mpsc::unbounded_channel();
        let driving = tokio::task::spawn_local(driver::drive(Assignment {
            process,
            employment,
            streams,
            prompt: messages.behind(prompt(&request)),
            messages,
            grace: request.grace,
            events,
            orders: ordered,
            gate,
            anchored,
        }));
        Ok(Box::new(PiAttempt {
            orders,
            driving: driving.abort_handle(),
            containment,
        }))
    }

    async fn contain(&self, run: &RunId, grace: Duration) -> Proof {
        // A worker carries no mark of the run: it is known here, or its runtime is dead.
        let last = self.pool.end_of_worker(run, grace).await;
        contain(run.clone(), grace, last).await
    }

    async fn close(&self) {
        self.pool.let_all_go().await;
    }
}

/// A nested Pi at work.
struct PiAttempt {
    orders: mpsc::UnboundedSender<Order>,
    driving: AbortHandle,
    containment: Containment,
}

#[async_trait(?Send)]
impl AttemptHandle for PiAttempt {
    fn cancel(&self) {
        // A driver that is gone has nothing left to cancel.
        let _ = self.orders.send(Order::Cancel);
    }

    fn tell(&self, message: RunMessage) {
        // A driver that is gone tells nobody anything; the message stays undelivered.
        let _ = self.orders.send(Order::Tell(message));
    }

    async fn stop(&mut self, grace: Duration) -> Proof {
        let (reply, proof) = oneshot::channel();
        // A driver that is gone drops the reply, and that is the answer.
        let _ = self.orders.send(Order::Stop(grace, reply));
        proof.await.unwrap_or(Proof {
            method: self.containment,
            no_children: false,
            processes_left: 1,
        })
    }
}

impl Drop for PiAttempt {
    fn drop(&mut self) {
        // Dropping the driver drops the process, which stops everything below its keeper without waiting.
        self.driving.abort();
    }
}
