//! What an auditor may look at: the outside of a runtime, never its memory.

use super::wire;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A row of the journal, as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalRow {
    /// Whose step.
    pub run: String,
    /// Its place in the run, from 1.
    pub sequence: u64,
    /// The generation of the runtime that wrote it.
    pub generation: u64,
    /// When, in milliseconds.
    pub at_ms: u64,
    /// The step; `step` names its kind.
    pub step: Value,
}

/// A process that carries a run's marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSeen {
    /// Its run.
    pub run: String,
    /// Its id.
    pub pid: u32,
}

/// What a host was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverySeen {
    /// Of which run.
    pub run: String,
    /// The state it was told.
    pub state: String,
    /// The answer it was given.
    pub answer: Option<String>,
}

/// A tool call that really happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectSeen {
    /// In which run.
    pub run: String,
    /// The id of the call.
    pub call: String,
    /// It may happen twice.
    pub replay_safe: bool,
    /// The journal had its start when it happened.
    pub announced: bool,
}

/// A call of a model by a sub-agent, as the model's server wrote it down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCallSeen {
    /// When it arrived, in milliseconds since 1970.
    pub at_ms: u64,
    /// The model that was asked for.
    pub model: String,
    /// What was charged for the answer; nothing where there was none.
    pub used: Tokens,
    /// All of the answer was sent, and all of it was as it should be.
    pub whole: bool,
    /// The tools on offer.
    pub offered: Vec<String>,
    /// The tool calls whose results it carried.
    pub results: Vec<String>,
    /// The tool calls that its answer ordered.
    pub ordered: Vec<OrderedCall>,
}

/// Tokens, as a provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Fresh input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
}

/// A tool call that a model ordered.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderedCall {
    /// The id the model gave it.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The arguments; text where they are no JSON.
    pub arguments: Value,
}

/// What lies where the worktrees of runs are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeSeen {
    /// Of which run.
    pub run: String,
    /// Its directory is there.
    pub stands: bool,
    /// The registry has an entry of it.
    pub has_entry: bool,
    /// The entry says that its patch is taken.
    pub is_taken: bool,
    /// Its patch is there.
    pub has_patch: bool,
}

/// How a run should have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// One of these states.
    pub states: Vec<String>,
    /// With this answer.
    pub answer: Option<String>,
    /// After at most so long, from its first step to its last, in milliseconds.
    pub within_ms: Option<u64>,
}

/// Everything an audit looks at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The journal.
    pub rows: Vec<JournalRow>,
    /// Marked processes found after the end.
    pub processes: Vec<ProcessSeen>,
    /// What the host was given.
    pub deliveries: Vec<DeliverySeen>,
    /// What tools did.
    pub effects: Vec<EffectSeen>,
    /// The worktrees of runs, as they lie on disk.
    pub worktrees: Vec<WorktreeSeen>,
    /// The answers that are kept whole, with their sizes.
    pub answers: BTreeMap<PathBuf, u64>,
    /// What the models' server wrote down, where there was one.
    pub model_calls: Option<Vec<ModelCallSeen>>,
    /// What should have come of the runs, where that is known.
    pub expected: BTreeMap<String, Expected>,
    /// Requests that were told to be accepted.
    pub accepted: Vec<String>,
    /// Questions to actors (asks) that neither succeeded nor failed within their time.
    pub unanswered: Vec<String>,
    /// So many attempts in a row may be lost without progress.
    pub lost_in_a_row_max: Option<u32>,
    /// Every run under way has to have ended.
    pub all_ended: bool,
}

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The journal's file.
    #[error("read the journal: {0}")]
    Journal(#[from] rusqlite::Error),
    /// A step.
    #[error("read step {sequence} of run {run}: {why}")]
    Step {
        /// Of which run.
        run: String,
        /// Which.
        sequence: u64,
        /// The parser's words.
        why: String,
    },
}

/// Reads the journal of a state directory as SQLite keeps it, and looks for processes that carry a run's marker.
pub fn evidence_of(state_directory: impl AsRef<Path>) -> Result<Evidence, EvidenceError> {
    let file = state_directory.as_ref().join("journal.sqlite");
    let journal = rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut query =
        journal.prepare("SELECT run, sequence, generation, at, step FROM steps ORDER BY run, sequence")?;
    let rows = query.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, String>(4)?,
        ))
    })?;
    let mut evidence = Evidence {
        all_ended: true,
        processes: marked_processes(),
        worktrees: worktrees_in(&state_directory.as_ref().join("worktrees")),
        answers: answers_in(&state_directory.as_ref().join("answers")),
        ..Evidence::default()
    };
    for row in rows {
        let (run, sequence, generation, at_ms, step) = row?;
        let sequence = sequence.unsigned_abs();
        let step = wire::read_step(&step).map_err(|why| EvidenceError::Step {
            run: run.clone(),
            sequence,
            why,
        })?;
        let (generation, at_ms) = (generation.unsigned_abs(), at_ms.unsigned_abs());
        evidence.rows.push(JournalRow {
            run,
            sequence,
            generation,
            at_ms,
            step,
        });
    }
    Ok(evidence)
}

fn answers_in(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.len())));
    sizes.collect()
}

/// By the names of what lies there: a run, and behind a dot what it is.
fn worktrees_in(directory: &Path) -> Vec<WorktreeSeen> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let runs: BTreeSet<String> = names
        .filter_map(|name| name.split('.').next().map(str::to_string))
        .collect();
    let seen = runs.into_iter().map(|run| {
        let named = |ending: &str| directory.join(format!("{run}.{ending}"));
        let entry = std::fs::read_to_string(named("json")).ok();
        WorktreeSeen {
            stands: directory.join(&run).is_dir(),
            has_entry: entry.is_some(),
            is_taken: entry.is_some_and(|entry| !wire::read_arguments(&entry)["patch"].is_null()),
            has_patch: named("patch").is_file(),
            run,
        }
    });
    seen.collect()
}

/// Looks for itself: what the runtime says of its processes is what is to be checked.
fn marked_processes() -> Vec<ProcessSeen> {
    const MARK: &[u8] = b"IMPRESARIO_RUN=";
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let marked = pids.filter_map(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let entry = environment
            .split(|byte| *byte == 0)
            .find(|entry| entry.starts_with(MARK))?;
        let mark = String::from_utf8_lossy(&entry[MARK.len()..]).into_owned();
        Some(ProcessSeen {
            run: mark.split('/').next().unwrap_or_default().to_string(),
            pid,
        })
    });
    marked.collect()
}
