//! Reads what a project says of itself (`AGENTS.md`, `CLAUDE.md`), where the person trusts it, and what the user says
//! everywhere.

use crate::contained_file::{Bounds, NotRead, read_contained};
use crate::rule_files::repository_of;
use impresario_policies::project_instructions::{
    PROJECT_FILE_BYTES_READ, PROJECT_FILE_NAMES, ProjectFile, project_directories,
    render_project_instructions,
};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(crate) struct ProjectPlaces {
    pub(crate) workspace: PathBuf,
    /// The person trusts what lies there; else only what the user says everywhere is read.
    pub(crate) trusted: bool,
    /// Pi's directory of the user.
    pub(crate) agent_directory: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
}

/// The files as they stand in a system prompt; nothing when there are none.
pub(crate) fn project_instructions(places: &ProjectPlaces) -> String {
    let mut files = Vec::new();
    if let Some(directory) = &places.agent_directory {
        let own = places.home.iter().chain([directory]).cloned().collect();
        files.extend(file_of(directory, own));
    }
    if places.trusted {
        let workspace = std::path::absolute(&places.workspace).unwrap_or_else(|_| places.workspace.clone());
        let repository = repository_of(&workspace);
        for directory in project_directories(&workspace) {
            let within = match &repository {
                Some(repository) if directory.starts_with(repository) => repository,
                _ => &directory,
            };
            let found = file_of(&directory, vec![within.clone()]);
            let is_new =
                |found: &ProjectFile| files.iter().all(|known: &ProjectFile| known.path != found.path);
            files.extend(found.filter(is_new));
        }
    }
    render_project_instructions(&files)
}

/// The first of the names that is there, as Pi has it: a link may lead anywhere in the repository, not out of it.
fn file_of(directory: &Path, within: Vec<PathBuf>) -> Option<ProjectFile> {
    let bounds = Bounds {
        directories: within,
        called: "the workspace",
    };
    for name in PROJECT_FILE_NAMES {
        let path = directory.join(name);
        match read_contained(&path, &bounds, PROJECT_FILE_BYTES_READ) {
            Ok(file) => {
                return Some(ProjectFile {
                    path,
                    text: file.text,
                });
            }
            Err(NotRead::Missing) => {}
            Err(why) => tracing::warn!(%why, path = %path.display(), "a file of the project is not read"),
        }
    }
    None
}
