//! `trust`, and the question that a command asks before it takes what a workspace brings along.

use super::arguments::{StateArguments, TrustAction, TrustArguments, TrustFlags};
use super::exit::Failure;
use super::output::{ask, person_is_there, print, print_json, say};
use super::run::existing_workspace;
use crate::runtime::{make_private, state_directory};
use crate::trust::{TrustBook, TrustError, brought_along};
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_policies::workspace_trust::{TrustDecision, TrustFacts, decide_trust};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn execute(arguments: &TrustArguments) -> Result<ExitCode, Failure> {
    let book = book(&arguments.state)?;
    match &arguments.action {
        TrustAction::List { json } => list(&book, *json)?,
        TrustAction::Add { directory } => {
            let workspace = existing_workspace(directory.as_deref())?;
            remember(&book, &workspace, true)?;
            let _ = print(&format!("trusted: {}", workspace.display()));
        }
        TrustAction::Revoke { directory } => revoke(&book, directory.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(book: &TrustBook, json: bool) -> Result<(), Failure> {
    for entry in book.list()? {
        let word = if entry.trusted { "trusted" } else { "not trusted" };
        let printed = match json {
            true => print_json(&entry.to_json()),
            false => print(&format!("{word:<11}  {}", entry.directory.display())),
        };
        if printed.is_err() {
            break;
        }
    }
    Ok(())
}

/// A directory that is gone can be forgotten too.
fn revoke(book: &TrustBook, directory: Option<&Path>) -> Result<(), Failure> {
    let workspace = match (existing_workspace(directory), directory) {
        (Ok(workspace), _) => workspace,
        (Err(_), Some(gone)) if gone.is_absolute() => gone.to_path_buf(),
        (Err(failure), _) => return Err(failure),
    };
    match book.forget(&workspace)? {
        true => {
            let _ = print(&format!("forgotten: {}", workspace.display()));
            Ok(())
        }
        false => Err(Failure::usage(format!(
            "nothing is remembered of {}; `impresario trust list` shows what is",
            workspace.display()
        ))),
    }
}

/// Whether the workspace is trusted; what is left out where it is not is said once.
pub(super) fn is_trusted(
    workspace: &Path,
    flags: TrustFlags,
    state: &StateArguments,
) -> Result<bool, Failure> {
    let brought = brought_along(workspace);
    let book = book(state)?;
    let facts = TrustFacts {
        typed: flags.typed(),
        remembered: remembered(&book, workspace),
        brings_something: !brought.is_empty(),
        person_is_there: person_is_there(),
    };
    match decide_trust(&facts) {
        TrustDecision::Trust => Ok(true),
        TrustDecision::NothingThere => Ok(false),
        TrustDecision::LeaveOut => {
            say(&format!(
                "{} is not trusted, so {} of it is left out as far as it brings programs, models, skills or higher \
                 limits; `--trust` takes it this once, `impresario trust add` for good",
                workspace.display(),
                brought.join(", ")
            ));
            Ok(false)
        }
        TrustDecision::Ask => ask_person(&book, workspace, &brought),
    }
}

/// The same where nobody shall be asked and nothing said: it only looks.
pub(super) fn was_trusted(
    workspace: &Path,
    flags: TrustFlags,
    state: &StateArguments,
) -> Result<bool, Failure> {
    let book = TrustBook::of(&directory_of(state)?);
    let typed = flags.typed();
    Ok(typed.or_else(|| remembered(&book, workspace)).unwrap_or(false))
}

/// A yes or a no is remembered; anything else is a no for this once.
fn ask_person(book: &TrustBook, workspace: &Path, brought: &[&str]) -> Result<bool, Failure> {
    ask(&format!(
        "Do you trust {}? It brings {}, which can name programs that run as you, models that cost, and instructions \
         for sub-agents.\n[y]es or [n]o, remembered for this directory; anything else means not this time > ",
        workspace.display(),
        brought.join(", ")
    ));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    let said = match (read, line.trim().to_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Some(true),
        (Ok(_), "n" | "no") => Some(false),
        (Ok(_) | Err(_), _) => None,
    };
    if let Some(trusted) = said {
        remember(book, workspace, trusted)?;
    }
    if said != Some(true) {
        say("left out; `impresario trust add` takes it from now on");
    }
    Ok(said == Some(true))
}

fn remember(book: &TrustBook, workspace: &Path, trusted: bool) -> Result<(), Failure> {
    Ok(book.remember(workspace, trusted, SystemWallClock.now().0)?)
}

fn book(state: &StateArguments) -> Result<TrustBook, Failure> {
    let directory = directory_of(state)?;
    make_private(&directory).map_err(|error| Failure::failed(format!("failed to {error}")))?;
    Ok(TrustBook::of(&directory))
}

fn directory_of(state: &StateArguments) -> Result<PathBuf, Failure> {
    match &state.state_directory {
        Some(directory) => Ok(directory.clone()),
        None => state_directory().map_err(|error| Failure::failed(format!("failed to {error}"))),
    }
}

/// What cannot be read trusts nobody, and is said.
fn remembered(book: &TrustBook, workspace: &Path) -> Option<bool> {
    book.remembered(workspace).unwrap_or_else(|error| {
        say(&format!("failed to {error}"));
        None
    })
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        Self::failed(format!("failed to {error}"))
    }
}
