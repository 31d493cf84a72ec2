//! The overflow memory as an MCP server for other hosts: what runs keep aside, and what a host keeps here itself.
//!
//! What runs keep is only read, from the journal, and goes with the end of its run. What a host keeps lives in this
//! process and goes with it.

mod own;
mod server;
mod wire;

pub use server::MemoryServer;

use crate::runtime::state_directory;
use impresario_actors::journal::{
    JournalError, JournalReader, KeptAside, OpenError, OverflowContent, OverflowEntry, RunFilter, RunSummary,
};
use impresario_actors::overflow::wire::{Wish, page, places, read_wish};
use impresario_policies::domain::RunId;
use impresario_policies::overflow_read::{PLACES_MAX, read_page, search_text};
use own::OwnMemory;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many runs are listed.
const RUNS_MAX: u32 = 50;

/// What the tools work on. Every call may block.
#[derive(Debug)]
pub struct Memory {
    directory: PathBuf,
    run: Option<RunId>,
    own: Mutex<OwnMemory>,
}

/// Why there is nothing to serve.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// Where the journal is, nobody knows.
    #[error(transparent)]
    StateDirectory(#[from] crate::runtime::StateDirectoryError),
    /// The run that was named keeps nothing any more, or is not there.
    #[error("{0}")]
    Run(String),
}

/// Whose entries are meant.
enum Whose {
    Own,
    Run(RunId),
}

impl Memory {
    /// The memory of one run, or that of all runs and one of its own.
    pub fn open(directory: Option<PathBuf>, run: Option<&str>) -> Result<Self, MemoryError> {
        let directory = match directory {
            Some(directory) => directory,
            None => state_directory()?,
        };
        let mut memory = Self {
            directory,
            run: None,
            own: Mutex::default(),
        };
        // Said at once rather than at the first call.
        let journal = memory.journal()?;
        if let Some(named) = run {
            let found = living_run(journal.as_ref(), named).map_err(MemoryError::Run)?;
            memory.run = Some(found);
        }
        Ok(memory)
    }

    /// The memory of one run, and nothing else.
    pub fn is_of_one_run(&self) -> bool {
        self.run.is_some()
    }

    /// Does what a tool is asked; both sides are for a model to read.
    pub fn ask(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let known = wire::tools(self.is_of_one_run());
        if !known.iter().any(|one| one.name == tool) {
            return Err(format!("There is no tool {tool:?}."));
        }
        if tool == "keep" {
            let wish = wire::keep_wish(arguments)?;
            return self.own().keep(wish);
        }
        let wish = read_wish(tool, arguments)?;
        let whose = self.whose(arguments)?;
        match wish {
            Wish::List => self.list(&whose),
            Wish::Read {
                handle,
                offset,
                limit,
            } => {
                let text = self.fetch(&whose, handle)?;
                Ok(page(&read_page(&text, offset, limit)))
            }
            Wish::Search { handle, query } => {
                let text = self.fetch(&whose, handle)?;
                let (found, count) = search_text(&text, &query, PLACES_MAX);
                Ok(places(&found, count))
            }
        }
    }

    fn whose(&self, arguments: &Value) -> Result<Whose, String> {
        if let Some(run) = &self.run {
            let journal = self.journal().map_err(|error| error.to_string())?;
            return living_run(journal.as_ref(), run.as_str()).map(Whose::Run);
        }
        match wire::run_named(arguments)? {
            None => Ok(Whose::Own),
            Some(named) => {
                let journal = self.journal().map_err(|error| error.to_string())?;
                living_run(journal.as_ref(), named).map(Whose::Run)
            }
        }
    }

    fn list(&self, whose: &Whose) -> Result<String, String> {
        let journal = self.journal().map_err(|error| error.to_string())?;
        match (whose, journal) {
            (Whose::Run(run), Some(journal)) => {
                let listing = journal.overflows(run).map_err(|error| error.to_string())?;
                Ok(wire::list_of_run(&listing.entries))
            }
            (Whose::Run(_), None) => Ok(wire::list_of_run(&[])),
            (Whose::Own, None) => Ok(wire::list(&self.own().entries(), &[])),
            (Whose::Own, Some(journal)) => {
                let runs = keeping(&journal).map_err(|error| error.to_string())?;
                Ok(wire::list(&self.own().entries(), &runs))
            }
        }
    }

    fn fetch(&self, whose: &Whose, handle: u32) -> Result<OverflowContent, String> {
        let found = match whose {
            Whose::Own => self.own().content(handle),
            Whose::Run(run) => {
                let journal = self.journal().map_err(|error| error.to_string())?;
                let found = journal.map(|journal| journal.overflow(run, handle)).transpose();
                found.map_err(|error| error.to_string())?.flatten()
            }
        };
        found.ok_or_else(|| {
            let name = OverflowEntry::name_of(handle);
            format!("Unknown overflow handle: {name}. list shows what is kept.")
        })
    }

    /// Opened for every call: a journal that was set aside or made anew is never missed, and none is held.
    fn journal(&self) -> Result<Option<JournalReader>, OpenError> {
        JournalReader::open(&self.directory)
    }

    /// Nothing is left half done by a panic in it.
    fn own(&self) -> MutexGuard<'_, OwnMemory> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runs that keep something: none that has ended does.
fn keeping(journal: &JournalReader) -> Result<Vec<(RunSummary, KeptAside)>, JournalError> {
    let mut living = journal.runs(&RunFilter::unfinished())?;
    let kept = journal.keeping(RUNS_MAX)?.into_iter();
    let with_summary = |kept: KeptAside| {
        let at = living.iter().position(|run| run.run == kept.run)?;
        Some((living.swap_remove(at), kept))
    };
    Ok(kept.filter_map(with_summary).collect())
}

/// The one run whose id begins so, while it still keeps what it kept.
fn living_run(journal: Option<&JournalReader>, named: &str) -> Result<RunId, String> {
    let found = match journal {
        Some(journal) => journal
            .runs(&RunFilter::id_prefix(named))
            .map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    match <[RunSummary; 1]>::try_from(found) {
        Ok([run]) if run.ended_at.is_some() => Err(format!(
            "Run {} has ended; what was kept for it is gone.",
            run.run
        )),
        Ok([run]) => Ok(run.run),
        Err(none) if none.is_empty() => Err(format!("No run begins with {named:?}.")),
        Err(_) => Err(format!(
            "More than one run begins with {named:?}; say more of its id."
        )),
    }
}
