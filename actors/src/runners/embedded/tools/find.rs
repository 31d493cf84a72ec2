//! `find`: files by glob.

use crate::context::local::{SearchLimits, walk_workspace};
use crate::tools::place::Workspace;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) const DESCRIPTION: &str =
    "Lists files of the workspace by glob (ignored and hidden files are left out), one path a line.";

const PATHS_MAX: usize = 500;

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "glob": { "type": "string", "description": "`*.rs` for a name anywhere, `src/**/*.rs` for a path; all files unless told." },
            "path": { "type": "string", "description": "Only below this directory." }
        },
        "additionalProperties": false
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct FindArguments {
    glob: Option<String>,
    path: Option<String>,
}

pub(super) fn run(workspace: &Workspace, arguments: &FindArguments) -> Result<String, String> {
    let globs = glob_set(arguments.glob.as_deref())?;
    let below = match &arguments.path {
        Some(path) => workspace.show(&workspace.resolve(path)?),
        None => String::new(),
    };
    let walk =
        walk_workspace(workspace.root(), &SearchLimits::default()).map_err(|error| error.to_string())?;
    let found: Vec<&String> = walk
        .files
        .iter()
        .map(|found| &found.path)
        .filter(|path| is_below(path, &below) && globs.is_match(path))
        .collect();
    let not_all = if walk.is_complete {
        ""
    } else {
        "(not everything was seen; narrow the path)\n"
    };
    if found.is_empty() {
        return Ok(format!("No file matches.\n{not_all}").trim_end().to_string());
    }
    let mut shown: String = found
        .iter()
        .take(PATHS_MAX)
        .map(|path| format!("{path}\n"))
        .collect();
    if found.len() > PATHS_MAX {
        shown.push_str(&format!(
            "({} more; narrow the glob or the path)\n",
            found.len() - PATHS_MAX
        ));
    }
    shown.push_str(not_all);
    Ok(shown)
}

/// What a file's path must look like.
pub(super) enum Globs {
    All,
    /// Like this, as a path or, where the glob has no `/`, as a name.
    Like(GlobMatcher, bool),
}

impl Globs {
    pub(super) fn is_match(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Like(glob, true) => glob.is_match(path.rsplit('/').next().unwrap_or(path)),
            Self::Like(glob, false) => glob.is_match(path),
        }
    }
}

pub(super) fn glob_set(glob: Option<&str>) -> Result<Globs, String> {
    let Some(glob) = glob
        .map(|glob| glob.trim_start_matches("./"))
        .filter(|glob| !glob.is_empty())
    else {
        return Ok(Globs::All);
    };
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    let built = built.map_err(|error| format!("The glob cannot be used: {error}."))?;
    Ok(Globs::Like(built.compile_matcher(), !glob.contains('/')))
}

/// Whether a path is this one or below it; everything is below the root.
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
