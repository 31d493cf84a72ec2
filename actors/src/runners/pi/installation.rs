//! Where Pi is, and which one.

use super::command::PiVersion;
use crate::gateways::SpawnError;
use crate::processes::{ContainedProcess, ContainmentSetting, Part, ProcessSpec, Streams};
use futures_util::FutureExt;
use impresario_policies::domain::RunId;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// Names the program when there is no setting: a `pi`, or a `cli.js` that is then run with `node`.
pub const PI_VARIABLE: &str = "IMPRESARIO_PI";
/// Names the node that runs a `cli.js`.
pub const NODE_VARIABLE: &str = "IMPRESARIO_NODE";

const PACKAGE: &str = "@earendil-works/pi-coding-agent";
const PACKAGE_FILE_BYTES_MAX: u64 = 1024 * 1024;
const VERSION_WITHIN: Duration = Duration::from_secs(20);
const VERSION_BYTES_MAX: u64 = 64 * 1024;
const VERSION_GRACE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiCommand {
    /// `pi`, or the node that runs it.
    pub program: PathBuf,
    /// Nothing, or the path of Pi's `cli.js`.
    pub first_arguments: Vec<String>,
}

impl PiCommand {
    /// A program, or a script of Pi with the node to run it.
    pub fn at(path: &Path, node: &Path) -> Self {
        let is_script = path
            .extension()
            .is_some_and(|extension| ["js", "mjs", "cjs"].iter().any(|js| extension == *js));
        if !is_script {
            return Self {
                program: path.to_path_buf(),
                first_arguments: Vec::new(),
            };
        }
        Self {
            program: node.to_path_buf(),
            first_arguments: vec![path.display().to_string()],
        }
    }

    /// The file that is Pi itself.
    fn script(&self) -> PathBuf {
        self.first_arguments
            .first()
            .map_or(self.program.clone(), PathBuf::from)
    }
}

/// A Pi that can be driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub command: PiCommand,
    pub version: PiVersion,
}

/// Finds Pi: the setting, else `IMPRESARIO_PI`, else `pi` in the `PATH` of the environment.
pub fn find_pi(
    setting: Option<&Path>,
    environment: &BTreeMap<String, String>,
) -> Result<PiCommand, SpawnError> {
    let named = |name: &str| {
        environment
            .get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let node = named(NODE_VARIABLE).unwrap_or_else(|| PathBuf::from("node"));
    if let Some(path) = setting.map(Path::to_path_buf).or_else(|| named(PI_VARIABLE)) {
        return match in_path(&path, environment) {
            Some(found) => Ok(PiCommand::at(&found, &node)),
            None => Err(SpawnError::new(format!(
                "{} is set as the program of Pi and is not there",
                path.display()
            ))),
        };
    }
    match in_path(Path::new("pi"), environment) {
        Some(found) => Ok(PiCommand::at(&found, &node)),
        None => Err(SpawnError::new(format!(
            "no `pi` in PATH; install Pi (npm install -g {PACKAGE}) or set {PI_VARIABLE} to its path"
        ))),
    }
}

fn in_path(program: &Path, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return program.is_file().then(|| program.to_path_buf());
    }
    let path = environment.get("PATH")?;
    env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

/// Says which Pi a command is: from the package the script lies in, else by asking it.
pub async fn probe(command: PiCommand, asking: &Asking<'_>) -> Result<Installation, SpawnError> {
    let version = match version_of_package(&command.script()) {
        Some(version) => version,
        None => ask_version(&command, asking).await?,
    };
    if version < PiVersion::OLDEST {
        return Err(SpawnError::new(format!(
            "Pi {version} at {} is too old; {} or newer is needed",
            command.script().display(),
            PiVersion::OLDEST
        )));
    }
    Ok(Installation { command, version })
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// The package a file belongs to, links followed. Starting Pi only to ask for its version costs up to a second.
fn version_of_package(script: &Path) -> Option<PiVersion> {
    let real = fs::canonicalize(script).ok()?;
    let file = real
        .ancestors()
        .skip(1)
        .map(|directory| directory.join("package.json"))
        .find(|file| file.is_file())?;
    if fs::metadata(&file).ok()?.len() > PACKAGE_FILE_BYTES_MAX {
        return None;
    }
    let package: Package = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    if package.name != PACKAGE {
        return None;
    }
    package.version.parse().ok()
}

/// How a program is asked for its version: below a keeper, like everything that runs for this run.
#[derive(Debug)]
pub struct Asking<'a> {
    pub run: &'a RunId,
    pub keeper: &'a Path,
    pub environment: &'a BTreeMap<String, String>,
    pub directory: &'a Path,
}

/// Pi 0.74 answers on stderr when nobody sits at a terminal, later versions on stdout.
async fn ask_version(command: &PiCommand, asking: &Asking<'_>) -> Result<PiVersion, SpawnError> {
    let shown = command.script().display().to_string();
    let mut arguments = command.first_arguments.clone();
    arguments.push("--version".to_string());
    let spec = ProcessSpec {
        program: command.program.clone(),
        arguments,
        environment: asking.environment.clone(),
        working_directory: asking.directory.to_path_buf(),
        run: asking.run.clone(),
        part: Part::SubAgent,
        containment: ContainmentSetting::Keeper,
        keeper: asking.keeper.to_path_buf(),
    };
    let (process, streams) = ContainedProcess::start(spec).await?;
    let Streams {
        stdin,
        stdout,
        stderr,
    } = streams;
    drop(stdin);
    let answers = async { tokio::join!(read_some(stdout), read_some(stderr)) };
    let answered = timeout(VERSION_WITHIN, answers).await;
    let proof = process.stop(VERSION_GRACE).await;
    // What its keeper's death took is swept before anybody is told of it, so this is looked at when all is over.
    let exit = process.exited().now_or_never();
    if proof.processes_left > 0 {
        return Err(SpawnError::new(format!(
            "{shown} --version left {} processes behind",
            proof.processes_left
        )));
    }
    if exit.is_some_and(|exit| exit.keeper_died) {
        return Err(SpawnError {
            why: format!("the keeper of {shown} --version died"),
            is_our_loss: true,
        });
    }
    let Ok((answer, complaint)) = answered else {
        return Err(SpawnError::new(format!(
            "{shown} --version did not end within {} s",
            VERSION_WITHIN.as_secs()
        )));
    };
    let version = answer.parse().or_else(|_| complaint.parse());
    version.map_err(|_| SpawnError::new(format!("{shown} --version did not say a version; is it Pi?")))
}

async fn read_some(stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // What could be read before an error is looked at.
    let _ = stream.take(VERSION_BYTES_MAX).read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn environment(path: &Path) -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_string(), format!("{}:/usr/bin:/bin", path.display()))])
    }

    fn executable(path: &Path, text: &str) {
        fs::write(path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    #[test]
    fn the_setting_goes_before_the_variable_and_that_before_path() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| directory.path().join(name);
        for name in ["pi", "set", "cli.js"] {
            executable(&at(name), "");
        }
        let mut environment = environment(directory.path());
        let find =
            |setting: Option<&Path>, environment: &BTreeMap<String, String>| find_pi(setting, environment);
        assert_eq!(find(None, &environment).expect("in PATH").program, at("pi"));
        environment.insert(PI_VARIABLE.to_string(), at("cli.js").display().to_string());
        let by_variable = find(None, &environment).expect("by variable");
        assert_eq!(by_variable.program, PathBuf::from("node"));
        assert_eq!(by_variable.first_arguments, [at("cli.js").display().to_string()]);
        assert_eq!(
            find(Some(&at("set")), &environment).expect("set").program,
            at("set")
        );
        let missing = find(Some(Path::new("/nowhere/pi")), &environment).expect_err("nothing there");
        assert!(missing.why.contains("/nowhere/pi"), "{missing}");
    }

    #[tokio::test]
    async fn a_link_into_the_package_is_not_started_to_know_its_version() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let package = directory.path().join("package");
        fs::create_dir_all(package.join("dist")).expect("directories");
        fs::write(
            package.join("package.json"),
            format!(r#"{{"name":"{PACKAGE}","version":"0.87.1"}}"#),
        )
        .expect("a file");
        executable(&package.join("dist/cli.js"), "#!/bin/sh\nexit 7\n");
        let link = directory.path().join("pi");
        symlink(package.join("dist/cli.js"), &link).expect("a link");
        let nobody = Asking {
            run: &RunId::new(1, 1),
            keeper: Path::new("/nowhere"),
            environment: &environment(directory.path()),
            directory: directory.path(),
        };
        let found = probe(PiCommand::at(&link, Path::new("node")), &nobody).await;
        assert_eq!(found.expect("known").version.to_string(), "0.87.1");
    }
}
