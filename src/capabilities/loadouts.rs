//! The file of loadouts and the directory of skills that an agent writes: read, and changed whole or not at all.

use impresario_actors::whole_file::write_whole;
use impresario_policies::capability::add::{NewSkill, NewSkillError, skill_text};
use impresario_policies::capability::loadout::{
    LOADOUTS_BYTES_MAX, LoadoutEdit, LoadoutError, Loadouts, edit_loadouts, read_loadouts,
};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a file was not read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Loadout(#[from] LoadoutError),
    #[error(transparent)]
    Skill(#[from] NewSkillError),
    #[error("there is a skill in {0} already; it is left as it is")]
    SkillIsThere(PathBuf),
    #[error("{path}: {error}")]
    Disk { path: PathBuf, error: io::Error },
    #[error("nobody knows where your home directory is: set HOME")]
    NoHome,
}

fn disk(path: &Path) -> impl Fn(io::Error) -> FileError {
    move |error| FileError::Disk {
        path: path.to_path_buf(),
        error,
    }
}

/// `~/.pi/capabilities/loadouts.yaml`.
pub(crate) fn loadouts_file(home: Option<&Path>) -> Option<PathBuf> {
    Some(home?.join(".pi/capabilities/loadouts.yaml"))
}

/// What the file says; nothing where there is none.
pub(crate) fn loadouts_in(file: Option<&Path>) -> Result<Loadouts, FileError> {
    let Some(file) = file else {
        return Ok(Loadouts::default());
    };
    Ok(read_loadouts(&text_of(file)?)?)
}

fn text_of(file: &Path) -> Result<String, FileError> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        opened => opened.map_err(disk(file))?,
    };
    let mut text = String::new();
    opened
        .take(LOADOUTS_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .map_err(disk(file))?;
    if text.len() > LOADOUTS_BYTES_MAX {
        return Err(LoadoutError::Unreadable(format!("it has more than {LOADOUTS_BYTES_MAX} bytes")).into());
    }
    Ok(text)
}

/// Changes the file. One that changes it at the same time waits; who reads it sees it before or after.
pub(crate) fn change_loadouts(file: Option<&Path>, edit: &LoadoutEdit) -> Result<Loadouts, FileError> {
    let given = file.ok_or(FileError::NoHome)?;
    // Somebody may keep it elsewhere and link to it.
    let file = given.canonicalize().unwrap_or_else(|_| given.to_path_buf());
    let directory = file.parent().ok_or(FileError::NoHome)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(disk(directory))?;
    let lock = directory.join("loadouts.lock");
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock);
    let held = options.map_err(disk(&lock))?;
    held.lock().map_err(disk(&lock))?;
    let before = text_of(&file)?;
    let after = edit_loadouts(&before, edit)?;
    if after != before {
        write_whole(&file, after.as_bytes(), 0o600).map_err(disk(&file))?;
    }
    Ok(read_loadouts(&after)?)
}

/// Writes a new skill below `skills`, where none of its name is; its file.
pub(crate) fn write_skill(skills: &Path, skill: &NewSkill) -> Result<PathBuf, FileError> {
    let text = skill_text(skill)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(skills)
        .map_err(disk(skills))?;
    let directory = skills.join(&skill.name);
    match std::fs::create_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(FileError::SkillIsThere(directory));
        }
        made => made.map_err(disk(&directory))?,
    }
    let file = directory.join("SKILL.md");
    let mut written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .map_err(disk(&file))?;
    written
        .write_all(text.as_bytes())
        .and_then(|()| written.sync_all())
        .map_err(disk(&file))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(name: &str) -> LoadoutEdit {
        LoadoutEdit::Create {
            name: name.into(),
            description: String::new(),
        }
    }

    #[test]
    fn many_who_change_it_at_once_lose_nothing_of_each_other() {
        let home = tempfile::tempdir().expect("a directory");
        let file = loadouts_file(Some(home.path()));
        std::thread::scope(|scope| {
            for number in 0..16 {
                let file = file.as_deref();
                scope
                    .spawn(move || change_loadouts(file, &create(&format!("zoo{number}"))).expect("changed"));
            }
        });
        assert_eq!(loadouts_in(file.as_deref()).expect("read").all.len(), 16);
    }

    #[test]
    fn what_cannot_be_read_is_left_as_it_is() {
        let home = tempfile::tempdir().expect("a directory");
        let file = loadouts_file(Some(home.path())).expect("a place");
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        std::fs::write(&file, "{{{ not yaml").expect("written");
        let refused = change_loadouts(Some(&file), &create("zoo")).expect_err("refused");
        assert!(refused.to_string().contains("left as it is"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "{{{ not yaml");
    }

    #[test]
    fn a_skill_is_written_once_and_nowhere_else() {
        let home = tempfile::tempdir().expect("a directory");
        let skills = home.path().join("skills");
        let skill = |name: &str| NewSkill {
            name: name.into(),
            description: "When an otter is dirty: wash it".into(),
            body: "Use soap.".into(),
        };
        let file = write_skill(&skills, &skill("wash")).expect("written");
        assert_eq!(file, skills.join("wash/SKILL.md"));
        let before = std::fs::read_to_string(&file).expect("there");
        assert!(matches!(
            write_skill(&skills, &skill("wash")),
            Err(FileError::SkillIsThere(_))
        ));
        assert_eq!(std::fs::read_to_string(&file).expect("there"), before);
        assert!(matches!(
            write_skill(&skills, &skill("../wash")),
            Err(FileError::Skill(_))
        ));
        assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 1);
    }
}
