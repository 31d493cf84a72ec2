//! Looks on the disk for the rules of directories, aside from the actors.
//!
//! A path is followed through its links first, and a file of rules is read only if it lies in the repository of the
//! workspace itself: a link in a cloned repository may lead anywhere.

use crate::contained_file::{Bounds, NotRead, read_contained_in};
use crate::known_files::{KnownFile, KnownFiles};
use crate::runtime::lock;
use crate::settings::{Settings, SettingsPlaces};
use async_trait::async_trait;
use impresario_actors::context::local::HeavyWork;
use impresario_actors::gateways::{RuleFiles, RulesAsk, RulesFound, RulesNotRead};
use impresario_policies::domain::GuidanceTerms;
use impresario_policies::guidance::{RuleMark, Touched, directories_with_rules, places_meant};
use impresario_policies::project_instructions::{PROJECT_FILE_NAMES, project_directories};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What lies behind this in a file of rules is not read.
const FILE_BYTES_MAX: usize = 1024 * 1024;
/// So much of the end of a nested session is looked through.
const CONVERSATION_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Looks at the disk of this machine.
#[derive(Debug, Clone)]
pub struct DiskRules {
    heavy_work: HeavyWork,
    home: Option<PathBuf>,
    known: Arc<Mutex<KnownFiles>>,
}

impl DiskRules {
    /// With the home of whoever runs us, for paths that name it.
    pub fn new(heavy_work: HeavyWork) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self {
            heavy_work,
            home: home.filter(|home| home.is_absolute()),
            known: Arc::default(),
        }
    }
}

#[async_trait(?Send)]
impl RuleFiles for DiskRules {
    async fn terms(&self, workspace: &Path, is_trusted: bool) -> GuidanceTerms {
        if !is_trusted {
            return GuidanceTerms::default();
        }
        let places = SettingsPlaces::of(workspace, is_trusted);
        let read = self
            .heavy_work
            .run(move || Settings::read(&places).configured().run.guidance);
        read.await.unwrap_or_default()
    }

    async fn find(&self, ask: RulesAsk) -> RulesFound {
        let (home, known) = (self.home.clone(), self.known.clone());
        let found = self
            .heavy_work
            .run(move || find(&ask, home.as_deref(), &mut lock(&known)));
        found.await.unwrap_or_default()
    }

    async fn conversation(&self, session_file: &Path) -> String {
        let file = session_file.to_path_buf();
        let read = self.heavy_work.run(move || end_of(&file).unwrap_or_default());
        read.await.unwrap_or_default()
    }
}

fn end_of(file: &Path) -> std::io::Result<String> {
    let mut file = File::open(file)?;
    let from = file.metadata()?.len().saturating_sub(CONVERSATION_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(CONVERSATION_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn find(ask: &RulesAsk, home: Option<&Path>, known: &mut KnownFiles) -> RulesFound {
    let mut found = RulesFound::default();
    let mut seen = Vec::new();
    for touched in &ask.touched {
        let Some(place) = contained_place(touched, &ask.workspace, home) else {
            continue;
        };
        let bounds = place.bounds();
        for directory in directories_with_rules(&place.directory, &place.root, &place.workspace) {
            if seen.contains(&directory) {
                continue;
            }
            match first_file(&directory, &ask.file_names, &bounds, known) {
                Some((_, Ok(file))) if file.real != place.real => found.files.push(file.rules),
                Some((path, Err(why))) => found.not_read.push(not_read(path, &why)),
                // Whoever reads or writes the rules themselves sees them.
                Some((_, Ok(_))) | None => {}
            }
            seen.push(directory);
        }
        if !found.files.is_empty() && found.of_workspace.is_empty() {
            found.of_workspace = read_by_the_host(&place, &bounds, known);
        }
    }
    found
}

/// A place in the repository of a workspace, with all links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainedPlace {
    /// Where it really is.
    pub real: PathBuf,
    /// The directory whose rules hold there.
    pub directory: PathBuf,
    /// The repository; where there is none, the workspace.
    pub root: PathBuf,
    /// Where the agent works.
    pub workspace: PathBuf,
}

impl ContainedPlace {
    fn bounds(&self) -> Bounds {
        Bounds {
            directories: vec![self.root.clone()],
            called: "the repository",
        }
    }
}

/// Where a call was, if that is below the root of the repository.
pub fn contained_place(touched: &Touched, workspace: &Path, home: Option<&Path>) -> Option<ContainedPlace> {
    let meant = places_meant(touched.path(), workspace, home);
    let real = meant.iter().find_map(|place| place.canonicalize().ok())?;
    let workspace = workspace.canonicalize().ok()?;
    let root = repository_of(&workspace).unwrap_or_else(|| workspace.clone());
    if real == root || !real.starts_with(&root) {
        return None;
    }
    let directory = match touched {
        Touched::Place(_) if real.is_dir() => real.clone(),
        Touched::Place(_) | Touched::File(_) => real.parent()?.to_path_buf(),
    };
    Some(ContainedPlace {
        real,
        directory,
        root,
        workspace,
    })
}

/// The first of the names that is there, whatever it is.
fn first_file(
    directory: &Path,
    names: &[String],
    bounds: &Bounds,
    known: &mut KnownFiles,
) -> Option<(PathBuf, Result<KnownFile, NotRead>)> {
    let mut names = names.iter().filter(|name| is_name(name));
    names.find_map(|name| {
        let path = directory.join(name);
        let read = || read_contained_in(directory, name, bounds, FILE_BYTES_MAX);
        match known.read(&path, read) {
            Err(NotRead::Missing) => None,
            read => Some((path, read)),
        }
    })
}

/// It names a file, and no way to one.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none()
}

/// What the host put before the conversation: a copy of it deeper down says nothing new.
fn read_by_the_host(place: &ContainedPlace, bounds: &Bounds, known: &mut KnownFiles) -> Vec<RuleMark> {
    let names = PROJECT_FILE_NAMES.map(str::to_string);
    let directories = project_directories(&place.workspace).into_iter();
    let within = directories.filter(|directory| directory.starts_with(&place.root));
    let files = within.filter_map(|directory| first_file(&directory, &names, bounds, known));
    let marks = files.filter_map(|(_, read)| Some(read.ok()?.rules.mark));
    marks.collect()
}

fn not_read(path: PathBuf, why: &NotRead) -> RulesNotRead {
    let why = match why {
        NotRead::Missing => "ENOENT",
        NotRead::LeadsOut { .. } => "outside",
        NotRead::NoFile { what: "a directory" } => "EISDIR",
        NotRead::NoFile { .. } => "ENOTSUP",
        NotRead::Broken(error) => match error.kind() {
            std::io::ErrorKind::PermissionDenied => "EACCES",
            std::io::ErrorKind::NotFound => "ENOENT",
            _ => "EIO",
        },
    };
    RulesNotRead {
        path,
        why: why.to_string(),
    }
}

pub(crate) fn repository_of(workspace: &Path) -> Option<PathBuf> {
    let mut directories = workspace.ancestors();
    directories
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_path_buf)
}
