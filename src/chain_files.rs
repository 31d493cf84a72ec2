//! Chains that files describe: where they are looked for, and how they are made ready to run.
//!
//! A file of the workspace counts where the workspace is trusted: its gates run commands.

use crate::contained_file::{Bounds, NotRead, read_contained};
use crate::runtime::{Chain, ChainStep};
use crate::skills::{SpawnSettings, resolve};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::chain::{TASK, with_chain_task};
use impresario_policies::chain_file::{CHAIN_FILE_BYTES_MAX, ChainFile, ChainFileStep, read_chain};
use impresario_policies::domain::{Reason, ReasonCode};
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
const NAME_CHARS_MAX: usize = 64;

/// Where chains are looked for by name.
#[derive(Debug, Clone)]
pub(crate) struct ChainPlaces {
    /// In the order in which they are looked at.
    directories: Vec<Directory>,
    trusted: bool,
}

#[derive(Debug, Clone)]
struct Directory {
    path: PathBuf,
    /// A file may lie below this.
    within: PathBuf,
    called: &'static str,
}

/// Why there is no chain to run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoChain {
    /// Nobody described it.
    #[error("{0}")]
    Unknown(String),
    /// It cannot be meant: where, and why.
    #[error("{0}")]
    Broken(String),
}

impl From<NoChain> for Reason {
    fn from(error: NoChain) -> Self {
        Self {
            code: ReasonCode::UnknownSkill,
            message: error.to_string(),
        }
    }
}

impl ChainPlaces {
    /// The workspace's where it is trusted, then the user's.
    pub(crate) fn of(
        workspace: &Path,
        trusted: bool,
        pis_directory: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let of_workspace = trusted.then(|| Directory {
            path: workspace.join(".pi/chains"),
            within: workspace.to_path_buf(),
            called: "the workspace",
        });
        let of_user = pis_directory.map(|directory| Directory {
            path: directory.join("chains"),
            within: home.unwrap_or(directory),
            called: "the home directory",
        });
        Self {
            directories: of_workspace.into_iter().chain(of_user).collect(),
            trusted,
        }
    }

    /// Reads the chain of this name. Waits for files.
    pub(crate) fn find(&self, name: &str) -> Result<ChainFile, NoChain> {
        let shown = name.chars().take(NAME_CHARS_MAX).collect::<String>();
        if !is_name(name) {
            return Err(NoChain::Unknown(format!(
                "{shown:?} is no name of a chain: letters, digits, - and _ only"
            )));
        }
        for directory in &self.directories {
            for ending in ENDINGS {
                let file = directory.path.join(format!("{name}.{ending}"));
                let bounds = Bounds {
                    directories: vec![directory.within.clone(), directory.path.clone()],
                    called: directory.called,
                };
                match read_contained(&file, &bounds, CHAIN_FILE_BYTES_MAX) {
                    Ok(read) => return read_text(&file.display().to_string(), &read.text),
                    Err(NotRead::Missing) => {}
                    Err(why) => return Err(NoChain::Broken(format!("{}: {why}", file.display()))),
                }
            }
        }
        let untrusted = match self.trusted {
            true => "",
            false => "; those of this workspace are left out, because it is not trusted",
        };
        let looked = self
            .directories
            .iter()
            .map(|directory| directory.path.display().to_string());
        Err(NoChain::Unknown(format!(
            "there is no chain called {shown:?} in {}{untrusted}",
            looked.collect::<Vec<_>>().join(" or ")
        )))
    }
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(plain)
}

/// Reads a chain; `from` names the text where something is wrong in it.
pub(crate) fn read_text(from: &str, text: &str) -> Result<ChainFile, NoChain> {
    read_chain(text)
        .map_err(|note| NoChain::Broken(format!("{from}:{}:{}: {}", note.line, note.column, note.message)))
}

/// A chain that the host of a session asks for.
pub(crate) struct ChainAsked<'a> {
    /// The one of this name.
    pub(crate) name: Option<&'a str>,
    /// Else these steps, as text.
    pub(crate) steps: Option<&'a str>,
    pub(crate) task: &'a str,
}

/// Makes the chain that a session of Pi asks for; `order` says where. Waits for files.
pub(crate) fn ordered_chain(
    settings: &SpawnSettings,
    order: &SkillOrder,
    asked: &ChainAsked<'_>,
) -> Result<Chain, Reason> {
    let places = settings.chain_places(&order.workspace, order.workspace_trusted);
    let given = |text: Option<&'_ str>| {
        text.map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_string)
    };
    let file = match (given(asked.name), given(asked.steps)) {
        (Some(name), None) => places.find(&name)?,
        (None, Some(steps)) => without_gates(read_text("the steps", &steps)?)?,
        (Some(_), Some(_)) | (None, None) => {
            return Err(NoChain::Broken("name a chain, or give its steps".to_string()).into());
        }
    };
    chain_of(file, Some(asked.task), |step, goal| {
        let order = SkillOrder {
            name: step.agent.clone(),
            agent: true,
            task: goal.clone(),
            isolation: step.isolation,
            ..order.clone()
        };
        let mut request = resolve(settings, "pi", order)?;
        if let Some(timeout) = step.timeout {
            request.clocks.total = timeout;
        }
        Ok(ChainStep::of_request(
            &step.subtask.id,
            request,
            step.timeout.is_some(),
            goal,
        ))
    })
}

/// A gate runs a command without asking, so it is a person's to write.
fn without_gates(file: ChainFile) -> Result<ChainFile, NoChain> {
    let has_gate = file.steps.iter().flatten().any(|step| step.gate.is_some());
    match has_gate {
        false => Ok(file),
        true => Err(NoChain::Broken(
            "a gate stands in a chain that a person wrote: name a chain of .pi/chains, or leave the gate out"
                .to_string(),
        )),
    }
}

/// Makes a chain of its description. `make` says what a step is, its task aside.
pub(crate) fn chain_of<E: From<NoChain>>(
    file: ChainFile,
    task: Option<&str>,
    make: impl Fn(&ChainFileStep, String) -> Result<ChainStep, E>,
) -> Result<Chain, E> {
    let task = task.map(str::trim).filter(|task| !task.is_empty());
    refuse_task(&file, task)?;
    let mut chain = Chain::new().on_failure(file.on_failure);
    if let Some(total) = file.timeout {
        chain = chain.timeout(total);
    }
    if let Some(concurrency) = file.concurrency {
        chain = chain.concurrency(concurrency);
    }
    for step in file.steps {
        let mut branches = Vec::new();
        for branch in step {
            let goal = with_chain_task(&branch.subtask.goal, task.unwrap_or_default());
            let mut made = make(&branch, goal)?;
            if let Some(context) = &branch.context {
                made = made.context(with_chain_task(context, task.unwrap_or_default()));
            }
            if let Some(gate) = branch.gate.clone() {
                made = made.gate(gate);
            }
            if let Some(max) = branch.subtask.output_units_max {
                made = made.output_chars_max(u32::try_from(max).unwrap_or(u32::MAX));
            }
            branches.push(made);
        }
        chain = chain.parallel(branches);
    }
    Ok(chain)
}

fn refuse_task(file: &ChainFile, task: Option<&str>) -> Result<(), NoChain> {
    match (file.wants_task(), task) {
        (true, None) => Err(NoChain::Broken(format!(
            "the chain says {TASK}: say what it is asked for"
        ))),
        (false, Some(_)) => Err(NoChain::Broken(format!(
            "no step of the chain says {TASK}, so nobody would read what it is asked for"
        ))),
        (true, Some(_)) | (false, None) => Ok(()),
    }
}
