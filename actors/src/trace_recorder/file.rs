//! Where a trace goes, and how it gets there whole.

use impresario_policies::domain::WhatToRun;
use impresario_policies::projection::RunProjection;
use impresario_policies::trace_file::trace_file_name;
use std::io::{self, Write};
use std::path::PathBuf;
use tempfile::NamedTempFile;

/// A trace file: its directory below the workspace, and its name.
pub(super) struct Place {
    workspace: PathBuf,
    directory: PathBuf,
    name: String,
}

/// None for a run that leaves no trace file.
pub(super) fn place_of(run: &RunProjection) -> Option<Place> {
    let accepted = run.accepted.as_ref()?;
    let request = &accepted.request;
    let below = request.trace_directory.as_ref()?;
    let (WhatToRun::Agent(what) | WhatToRun::Skill(what)) = &request.what;
    Some(Place {
        workspace: request.workspace.clone(),
        directory: request.workspace.join(below),
        name: trace_file_name(what, accepted.at_ms),
    })
}

/// Writes beside the place and renames, so that nobody ever reads half a trace.
pub(super) fn write(place: &Place, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(&place.directory)?;
    let directory = place.directory.canonicalize()?;
    if !directory.starts_with(place.workspace.canonicalize()?) {
        return Err(io::Error::other("the trace directory leads out of the workspace"));
    }
    let mut file = NamedTempFile::new_in(&directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_data()?;
    file.persist(directory.join(&place.name))?;
    Ok(())
}
