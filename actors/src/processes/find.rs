//! Where the keeper's executable is.

use super::StartError;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const NAME: &str = "impresario-keeper";

/// Finds the keeper: the setting if there is one, else beside `current_exe`, else in `PATH`.
///
/// A set path that is not there is an error, never a reason to look elsewhere. Programs that cargo builds into
/// `deps` or `examples` have their neighbours one directory up.
pub fn find_keeper(setting: Option<&Path>, current_exe: Option<&Path>) -> Result<PathBuf, StartError> {
    find_in(setting, current_exe, env::var_os("PATH").as_deref())
}

fn find_in(
    setting: Option<&Path>,
    current_exe: Option<&Path>,
    path: Option<&OsStr>,
) -> Result<PathBuf, StartError> {
    if let Some(set) = setting {
        return if set.is_file() {
            Ok(set.to_path_buf())
        } else {
            missing(format!("at {}", set.display()))
        };
    }
    let beside = current_exe.map(directories_beside).unwrap_or_default();
    let on_path = path
        .map(|path| env::split_paths(path).collect::<Vec<_>>())
        .unwrap_or_default();
    for directory in beside.iter().chain(&on_path) {
        let candidate = directory.join(NAME);
        if directory.is_absolute() && candidate.is_file() {
            return Ok(candidate);
        }
    }
    let place = beside.first().map_or("anywhere".to_string(), |directory| {
        directory.display().to_string()
    });
    missing(format!("in {place} or in PATH"))
}

fn directories_beside(executable: &Path) -> Vec<PathBuf> {
    let Some(directory) = executable.parent() else {
        return Vec::new();
    };
    let mut directories = vec![directory.to_path_buf()];
    if directory.ends_with("deps") || directory.ends_with("examples") {
        directories.extend(directory.parent().map(Path::to_path_buf));
    }
    directories
}

fn missing(looked_in: String) -> Result<PathBuf, StartError> {
    Err(StartError::KeeperMissing { looked_in })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn directory_with_keeper() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join(NAME), "").expect("a file in it");
        directory
    }

    #[test]
    fn a_set_path_that_is_missing_is_not_looked_for_elsewhere() {
        let directory = directory_with_keeper();
        let found = find_in(
            Some(Path::new("/nowhere/keeper")),
            Some(&directory.path().join("impresario")),
            Some(directory.path().as_os_str()),
        );
        let sentence = found.expect_err("nothing there").to_string();
        assert!(sentence.contains("/nowhere/keeper"), "{sentence}");
    }

    #[test]
    fn the_neighbour_comes_before_the_path() {
        let (neighbour, elsewhere) = (directory_with_keeper(), directory_with_keeper());
        let executable = neighbour.path().join("impresario");
        let found = find_in(None, Some(&executable), Some(elsewhere.path().as_os_str()));
        assert_eq!(found.expect("a keeper"), neighbour.path().join(NAME));
    }

    #[test]
    fn an_example_finds_the_keeper_one_directory_up() {
        let directory = directory_with_keeper();
        let executable = directory.path().join("examples/embed");
        assert_eq!(
            find_in(None, Some(&executable), None).expect("a keeper"),
            directory.path().join(NAME)
        );
    }

    #[test]
    fn the_path_is_the_last_resort_and_relative_entries_do_not_count() {
        let directory = directory_with_keeper();
        let path = env::join_paths([Path::new("."), directory.path()]).expect("a path");
        assert_eq!(
            find_in(None, None, Some(&path)).expect("a keeper"),
            directory.path().join(NAME)
        );
        assert!(find_in(None, None, Some(OsStr::new("."))).is_err());
    }
}
