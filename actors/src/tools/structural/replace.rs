//! `ast_replace`: what would change, what changed, and back again.

use super::apply::{self, Applied};
use super::files::{Candidate, Files, Pace};
use super::records::Records;
use super::{Asked, records_at};
use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolPlace};
use crate::tools::place::Workspace;
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::structural::edits::{Edit, apply_edits};
use impresario_policies::structural::patch::patch;
use impresario_policies::structural::replaced::{
    Changed, Replacement, describe_applied, describe_preview, describe_undone,
};
use impresario_structural::{Ended, Query};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A replacement is kept in memory until it is on disk.
const FILES_MAX: usize = 2_000;
const BYTES_MAX: usize = 64_000_000;
const EDITS_MAX: usize = 50_000;

#[derive(Debug, Deserialize)]
pub(in crate::tools) struct AstReplaceArguments {
    #[serde(flatten)]
    asked: Asked,
    rewrite: Option<String>,
    #[serde(rename = "dryRun", alias = "dry_run", default = "yes")]
    dry_run: bool,
    undo: Option<String>,
}

fn yes() -> bool {
    true
}

pub(in crate::tools) async fn run(
    arguments: AstReplaceArguments,
    place: &ToolPlace,
    records: Option<PathBuf>,
    heavy_work: HeavyWork,
) -> Result<ToolAnswer, String> {
    let workspace = Workspace::of(place)?;
    let pace = Pace::begin(&place.cancelled);
    heavy_work
        .run(move || replace(&arguments, &workspace, records.as_ref(), &pace))
        .await
        .unwrap_or_else(|why| Err(format!("The replacement failed: {why}.")))
}

pub(super) fn replace(
    arguments: &AstReplaceArguments,
    workspace: &Workspace,
    records: Option<&PathBuf>,
    pace: &Pace,
) -> Result<ToolAnswer, String> {
    if let Some(number) = &arguments.undo {
        let records = Records::open(records_at(records)?)?;
        hold_recovered(&records.recover()?)?;
        let applied = apply::undo(&records, number, workspace, pace)?;
        let paths: Vec<String> = applied.files.iter().map(|file| file.path.clone()).collect();
        return Ok(answer(describe_undone(applied.number, &paths), applied));
    }
    let query = arguments.asked.query(arguments.rewrite.as_deref())?;
    if !query.rewrites() {
        return Err("Give `rewrite`: the code that stands there instead, with the names of the pattern. \"\" removes it.".to_string());
    }
    // What was cut off is put right before anything is read.
    if let Some(records) = records.filter(|records| records.is_dir()) {
        hold_recovered(&Records::open(records)?.recover()?)?;
    }
    let (changes, replacement) = plan(arguments, &query, workspace, pace)?;
    if arguments.dry_run || changes.is_empty() {
        let patch: String = changes.iter().map(|change| change.patch.as_str()).collect();
        let read = changes.iter().map(|change| change.shown.clone()).collect();
        return Ok(ToolAnswer {
            text: describe_preview(&replacement, &patch),
            receipt: ToolReceipt {
                read,
                ..ToolReceipt::default()
            },
            ..ToolAnswer::default()
        });
    }
    if let Some(why) = &replacement.seen.cut_short {
        return Err(format!(
            "Nothing is changed, for not everything was looked at: {why}. Narrow the paths or the globs."
        ));
    }
    let records = Records::open(records_at(records)?)?;
    let applied = apply::apply(&records, &changes, pace)?;
    let text = describe_applied(&replacement, applied.number, &applied.patch.display().to_string());
    Ok(answer(text, applied))
}

fn answer(text: String, applied: Applied) -> ToolAnswer {
    ToolAnswer {
        text,
        receipt: ToolReceipt {
            changed: applied.files,
            ..ToolReceipt::default()
        },
        ..ToolAnswer::default()
    }
}

/// What had to be put right first is told before anything else happens, once.
fn hold_recovered(theirs: &[String]) -> Result<(), String> {
    match theirs.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "A replacement that was cut off is taken back, but for files that somebody changed since. Look at them, then \
             call again:\n{}",
            theirs.join("\n")
        )),
    }
}

/// What one file becomes.
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) shown: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) patch: String,
    count: usize,
}

#[derive(Default)]
struct Planned {
    changes: Vec<Change>,
    inside: usize,
    bytes: usize,
    edits: usize,
    too_much: bool,
}

fn plan(
    arguments: &AstReplaceArguments,
    query: &Query,
    workspace: &Workspace,
    pace: &Pace,
) -> Result<(Vec<Change>, Replacement), String> {
    let planned = Mutex::new(Planned::default());
    let files = Files {
        workspace,
        query,
        paths: &arguments.asked.paths,
        globs: &arguments.asked.globs,
        pace,
    };
    let seen = files.each(&|file| plan_file(query, file, &planned))?;
    let mut planned = planned.into_inner().unwrap_or_else(PoisonError::into_inner);
    if planned.too_much {
        return Err(format!(
            "More would change than is changed at once: {FILES_MAX} files, {EDITS_MAX} places, {BYTES_MAX} bytes. Narrow the pattern, the paths or the globs."
        ));
    }
    planned.changes.sort_by(|one, other| one.path.cmp(&other.path));
    planned.changes.dedup_by(|one, other| one.path == other.path);
    let files = planned.changes.iter().map(|change| Changed {
        path: change.shown.clone(),
        count: change.count,
    });
    let replacement = Replacement {
        files: files.collect(),
        inside: planned.inside,
        seen,
    };
    Ok((planned.changes, replacement))
}

fn plan_file(query: &Query, file: Candidate<'_>, planned: &Mutex<Planned>) -> Result<(), Ended> {
    let old = file.text;
    let replaced = query.replace(&old, EDITS_MAX, &file.watch)?;
    let changing = |edit: &Edit| old.get(edit.bytes.clone()) != Some(edit.text.as_str());
    let edits: Vec<Edit> = replaced.edits.into_iter().filter(changing).collect();
    let patch = patch(&file.shown, &old, &edits);
    let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
    planned.inside += replaced.inside;
    if patch.is_empty() {
        return Ok(());
    }
    let new = apply_edits(&old, &edits);
    planned.bytes += old.len() + new.len() + patch.len();
    planned.edits += edits.len();
    planned.too_much |=
        planned.changes.len() >= FILES_MAX || planned.bytes > BYTES_MAX || planned.edits > EDITS_MAX;
    if planned.too_much {
        return Err(Ended::Unwanted);
    }
    planned.changes.push(Change {
        path: file.path.to_path_buf(),
        shown: file.shown,
        old,
        new,
        patch,
        count: edits.len(),
    });
    Ok(())
}
