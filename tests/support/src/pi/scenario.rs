//! Counts the scenarios in which real Pi was driven, over all test programs of one invocation of cargo.
//!
//! The test programs of an invocation have one parent, cargo: its process and when it began name the file that they
//! all append to.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::directories;
use crate::pi::{PiInstall, SWITCH_WITHOUT_PI, Version, is_switched_off, provision};

/// A test that drives real Pi; it counts when it ends without a panic.
#[derive(Debug)]
pub struct Scenario {
    install: PiInstall,
    name: String,
}

/// How many scenarios drove which version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// With 0.87.1.
    pub newest: usize,
    /// With 0.74.2.
    pub oldest: usize,
}

impl Scenario {
    /// Begins a scenario; none where the switch says to go without Pi, which is then told.
    ///
    /// # Panics
    /// Pi cannot be installed.
    #[must_use]
    pub fn begin(version: Version, name: &str) -> Option<Self> {
        if is_switched_off() {
            eprintln!("skipped: {name} with Pi {version}, because {SWITCH_WITHOUT_PI} is set");
            return None;
        }
        let install = provision(version).unwrap_or_else(|error| panic!("{error}"));
        Some(Self {
            install,
            name: name.to_owned(),
        })
    }

    /// The Pi that is driven.
    #[must_use]
    pub fn install(&self) -> &PiInstall {
        &self.install
    }

    /// The version that is driven.
    #[must_use]
    pub fn version(&self) -> Version {
        self.install.version
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            record_scenario(self.install.version, &self.name);
        }
    }
}

/// Remembers that real Pi was driven in this scenario; [`Scenario`] does it by itself.
///
/// # Panics
/// The file cannot be written.
pub fn record_scenario(version: Version, name: &str) {
    let line = format!("{}\n", json!({"version": version.as_str(), "name": name}));
    let file = counter_file();
    let written = append(&file, &line);
    written.unwrap_or_else(|error| panic!("cannot count a scenario in {}: {error}", file.display()));
}

/// Counts what the test programs of this invocation recorded, each scenario of a version once, and clears it away.
///
/// # Errors
/// The file cannot be read or is not ours.
pub fn take_tally() -> io::Result<Tally> {
    let file = counter_file();
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tally::default()),
        read => read?,
    };
    fs::remove_file(&file)?;
    tally_of(&text)
}

/// The suite's closing line, and whether what it says is enough; a suite of which only some tests were asked for is
/// not expected to drive Pi.
#[must_use]
pub fn closing_line(tally: Tally, switched_off: bool, filtered: bool) -> (String, bool) {
    if switched_off {
        return (
            format!("real Pi driven: not at all, because {SWITCH_WITHOUT_PI} is set"),
            true,
        );
    }
    let newest = format!("{} in {} scenarios", Version::V0_87_1, tally.newest);
    let oldest = format!("{} in {} scenarios", Version::V0_74_2, tally.oldest);
    let line = format!("real Pi driven: {newest}, {oldest}");
    if tally.newest > 0 && tally.oldest > 0 {
        (line, true)
    } else if filtered {
        (format!("{line} (only some tests were asked for)"), true)
    } else {
        (
            format!("{line}: a suite that does not drive both proves nothing about Pi"),
            false,
        )
    }
}

fn tally_of(text: &str) -> io::Result<Tally> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let mut tally = Tally::default();
    for line in lines {
        let record: Value = serde_json::from_str(line)?;
        if record["version"] == Version::V0_87_1.as_str() {
            tally.newest += 1;
        } else {
            tally.oldest += 1;
        }
    }
    Ok(tally)
}

fn append(file: &PathBuf, line: &str) -> io::Result<()> {
    fs::create_dir_all(file.parent().expect("a file lies in a directory"))?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(line.as_bytes())
}

fn counter_file() -> PathBuf {
    let parent = std::os::unix::process::parent_id();
    let began = began(parent).unwrap_or_default();
    directories::target()
        .join("pi/scenarios")
        .join(format!("{parent}-{began}.jsonl"))
}

/// When a process began, in ticks since the machine started; none where there is no `/proc`.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain anything; the rest is numbers.
    let (_, numbers) = stat.rsplit_once(')')?;
    numbers.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_counts_once_for_each_version() {
        let newest = r#"{"version":"0.87.1","name":"rpc mode"}"#;
        let oldest = r#"{"version":"0.74.2","name":"rpc mode"}"#;
        let tally = tally_of(&[newest, oldest, newest].join("\n")).unwrap();
        assert_eq!(tally, Tally { newest: 1, oldest: 1 });
    }

    #[test]
    fn a_whole_suite_must_drive_both_versions() {
        let enough = |newest, oldest, switched_off, filtered| {
            closing_line(Tally { newest, oldest }, switched_off, filtered).1
        };
        assert!(enough(1, 1, false, false));
        assert!(!enough(1, 0, false, false) && !enough(0, 1, false, false) && !enough(0, 0, false, false));
        assert!(enough(0, 0, true, false) && enough(0, 0, false, true));
    }

    #[test]
    fn the_line_says_what_was_driven() {
        let line = closing_line(
            Tally {
                newest: 12,
                oldest: 11,
            },
            false,
            false,
        )
        .0;
        assert_eq!(
            line,
            "real Pi driven: 0.87.1 in 12 scenarios, 0.74.2 in 11 scenarios"
        );
    }

    #[test]
    fn a_process_has_a_beginning_of_its_own() {
        let ours = began(std::process::id()).unwrap();
        assert!(ours.parse::<u64>().unwrap() > 0);
        assert_eq!(began(u32::MAX), None);
    }
}
