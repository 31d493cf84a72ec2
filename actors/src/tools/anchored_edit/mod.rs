//! `hashline_edit`: changes a file at anchored lines. Either all edits of a call are in the file, or none is.
//!
//! What the file comes to is decided by [`impresario_policies::anchored_edit`]; here it is read, written, renamed and
//! removed.

#![warn(missing_docs)]

mod call;
mod fault;
mod grounds;
mod queue;
mod read;
mod rename;
#[cfg(test)]
mod tests;
mod write;

pub(super) use call::run;
pub use fault::EditFault;
pub use grounds::Grounds;
pub use read::FILE_BYTES_MAX;
pub use write::{FromDisk, ReadBack};

use crate::whole_file::sync_directory_of;
use impresario_policies::anchored_edit::{
    EditSettings, EditedText, GivenEdit, Outcome, Preview, Snapshot, edited_text,
};
use impresario_policies::domain::{FileChanged, FileState, NotHashed};
use read::{FileRead, read_file, refuse_what_is_no_file};
use rename::{Destination, destination, rename};
use tokio_util::sync::CancellationToken;

/// More edits are not made in one call.
const EDITS_MAX: usize = 10_000;

/// How edits are read unless a setting says otherwise.
pub const SETTINGS: EditSettings = EditSettings {
    strict_patch: true,
    bytes_max: FILE_BYTES_MAX as usize,
};

/// What is to be done with one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditCall {
    /// Which file.
    pub path: String,
    /// What is changed in it.
    pub edits: Vec<GivenEdit>,
    /// It is removed.
    pub delete: bool,
    /// The path that it has afterwards.
    pub rename: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// What became of the file.
    pub outcome: Outcome,
    /// What changed in it; none where nothing did.
    pub preview: Option<Preview>,
    /// Files that are others now.
    pub changed: Vec<FileChanged>,
}

/// Does it, on a thread that may block. Nothing is written once `cancelled` is.
pub fn edit_file(
    call: &EditCall,
    grounds: &Grounds,
    settings: &EditSettings,
    read_back: &dyn ReadBack,
    cancelled: &CancellationToken,
) -> Result<Edited, EditFault> {
    if call.edits.len() > EDITS_MAX {
        return Err(EditFault::Contradiction(
            "more than 10000 edits are not made in one call",
        ));
    }
    // Both would be a move to nowhere, and which of them is meant nobody knows.
    match (call.delete, call.edits.is_empty(), call.rename.is_none()) {
        (true, false, _) => {
            return Err(EditFault::Contradiction(
                "delete takes no edits: the file is gone afterwards",
            ));
        }
        (true, true, false) => return Err(EditFault::Contradiction("delete and rename exclude each other")),
        (true, true, true) => return delete(call, grounds, cancelled),
        (false, _, _) => {}
    }
    if let Some(to) = &call.rename {
        refuse_link(call, grounds, to)?;
    }
    let path = grounds.existing(&call.path)?;
    queue::alone_at(&path, || {
        let read = read_file(path.clone(), &call.path)?;
        edit(call, grounds, &read, settings, read_back, cancelled)
    })
}

fn edit(
    call: &EditCall,
    grounds: &Grounds,
    read: &FileRead,
    settings: &EditSettings,
    read_back: &dyn ReadBack,
    cancelled: &CancellationToken,
) -> Result<Edited, EditFault> {
    let before = Snapshot::of(&read.bytes);
    let edited = edited_text(&before, &call.edits, settings)?;
    let to = match &call.rename {
        None => Destination::WhereItIs,
        Some(to) => destination(grounds, read, to)?,
    };
    if cancelled.is_cancelled() {
        return Err(EditFault::Cancelled);
    }
    let is_written = edited.bytes != read.bytes;
    if is_written {
        write::replace(read, &edited.bytes, read_back)?;
    }
    if let Err(fault) = rename_edited(read, &to, call, is_written) {
        if is_written && let Err(error) = write::write_again(read) {
            tracing::error!(file = %read.path.display(), %error, "an edit was not taken back after its file was not renamed");
        }
        return Err(fault);
    }
    Ok(done(call, grounds, read, &before, &edited, &to))
}

fn rename_edited(
    read: &FileRead,
    to: &Destination,
    call: &EditCall,
    is_written: bool,
) -> Result<(), EditFault> {
    if *to != Destination::WhereItIs && !is_written && !read.is_as_it_was() {
        return Err(EditFault::Changed {
            path: call.path.clone(),
        });
    }
    rename(read, to, call.rename.as_deref().unwrap_or_default())
}

fn done(
    call: &EditCall,
    grounds: &Grounds,
    read: &FileRead,
    before: &Snapshot<'_>,
    edited: &EditedText,
    to: &Destination,
) -> Edited {
    let line_count = edited.line_count();
    let is_changed = edited.bytes != read.bytes;
    let (old, new) = (FileState::of(&read.bytes), FileState::of(&edited.bytes));
    let change = |path: &std::path::Path, before: &FileState, after: &FileState| FileChanged {
        path: grounds.show(path),
        before: before.clone(),
        after: Some(after.clone()),
    };
    let (outcome, changed) = match (to, &call.rename) {
        (Destination::Free(place) | Destination::OtherCapitals(place), Some(asked)) => (
            Outcome::Renamed { to: asked.clone() },
            vec![
                change(&read.path, &old, &FileState::Absent),
                change(place, &FileState::Absent, &new),
            ],
        ),
        _ if is_changed => (
            Outcome::Updated { line_count },
            vec![change(&read.path, &old, &new)],
        ),
        _ => (Outcome::Unchanged { line_count }, Vec::new()),
    };
    Edited {
        outcome,
        preview: is_changed.then(|| edited.preview(before)),
        changed,
    }
}

/// A link that were renamed might lead nowhere from there, and its file would stay: neither is what is meant.
fn refuse_link(call: &EditCall, grounds: &Grounds, to: &str) -> Result<(), EditFault> {
    let (directory, name) = grounds.entry(&call.path)?;
    let place = directory.join(name);
    match place.symlink_metadata() {
        Ok(there) if there.is_symlink() => Err(EditFault::NotRenamed {
            to: to.to_string(),
            why: format!("{} is a link; rename the file that it leads to", call.path),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Removes a file, or the link that has this name.
fn delete(call: &EditCall, grounds: &Grounds, cancelled: &CancellationToken) -> Result<Edited, EditFault> {
    let broken = |error| EditFault::of(error, &call.path, "deleted");
    let (directory, name) = grounds.entry(&call.path)?;
    let place = directory.join(name);
    queue::alone_at(&place, || {
        let kind = place.symlink_metadata().map_err(broken)?.file_type();
        let before = match kind.is_symlink() {
            true => FileState::NotHashed {
                why: NotHashed::NoFile,
            },
            false => {
                refuse_what_is_no_file(kind, &call.path)?;
                match read_file(place.clone(), &call.path) {
                    Ok(read) => FileState::of(&read.bytes),
                    // A file that cannot be read may be removed all the same.
                    Err(_) => FileState::NotHashed {
                        why: NotHashed::Unreadable,
                    },
                }
            }
        };
        if cancelled.is_cancelled() {
            return Err(EditFault::Cancelled);
        }
        std::fs::remove_file(&place).map_err(broken)?;
        sync_directory_of(&place).map_err(broken)?;
        Ok(Edited {
            outcome: Outcome::Deleted {
                path: call.path.clone(),
            },
            preview: None,
            changed: vec![FileChanged {
                path: grounds.show(&place),
                before,
                after: Some(FileState::Absent),
            }],
        })
    })
}
