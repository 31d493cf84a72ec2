//! Reading traces, ours and the peer's. What cannot be read is skipped with a note, never a failure.

use super::TraceFiles;
use impresario_policies::trace_file::{
    TRACE_FILE_BYTES_MAX, Trace, files_of_skill, is_safe_trace_name, parse_trace_file_name,
};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

/// All traces read at once have at most so many bytes together.
const BYTES_AT_ONCE_MAX: usize = 4 * TRACE_FILE_BYTES_MAX;
/// So many files that are no traces are named.
const NOTES_MAX: usize = 20;

/// A trace, and what its file is called.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTrace {
    /// In the trace directory.
    pub file: String,
    pub trace: Trace,
}

/// The traces of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TracesFound {
    /// The newest first.
    pub traces: Vec<FoundTrace>,
    /// Files that are called like traces of the skill and are none, with the reason.
    pub skipped: Vec<(String, Unreadable)>,
}

/// Why a file is no trace for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not there.
    Missing,
    /// A link, a directory, a pipe.
    NoFile,
    /// Larger than a trace may be.
    TooLarge,
    /// Not JSON, or not of a trace's shape.
    NoTrace,
    /// It says that it is of another skill.
    OfAnotherSkill,
    Refused(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "it is gone",
            Self::NoFile => "no regular file",
            Self::TooLarge => "too large",
            Self::NoTrace => "damaged, or no trace",
            Self::OfAnotherSkill => "of another skill",
            Self::Refused(why) => why,
        })
    }
}

impl TraceFiles {
    /// The newest traces of exactly this skill.
    pub fn of_skill(&self, skill: &str, newest: usize) -> io::Result<TracesFound> {
        let names = self.names()?;
        let names = names.iter().map(String::as_str).collect::<Vec<_>>();
        let mut found = TracesFound::default();
        let mut bytes_left = BYTES_AT_ONCE_MAX;
        for name in files_of_skill(skill, &names) {
            if found.traces.len() == newest {
                break;
            }
            match self.read_for(skill, name, &mut bytes_left) {
                Ok(trace) => found.traces.push(FoundTrace {
                    file: name.to_string(),
                    trace,
                }),
                Err(why) if found.skipped.len() < NOTES_MAX => found.skipped.push((name.to_string(), why)),
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// The newest traces of all skills, by name: file, skill and time in ms since 1970. They are not opened.
    pub fn newest(&self, newest: usize) -> io::Result<Vec<(String, String, u64)>> {
        let names = self.names()?.into_iter();
        let mut traces = names
            .filter_map(|name| {
                let (skill, time) = parse_trace_file_name(&name)?;
                let skill = skill.to_string();
                Some((name, skill, time))
            })
            .collect::<Vec<_>>();
        traces.sort_by(|(a, _, earlier), (b, _, later)| (later, b).cmp(&(earlier, a)));
        traces.truncate(newest);
        Ok(traces)
    }

    /// One trace by the name of its file.
    pub fn one(&self, file: &str) -> Result<Trace, Unreadable> {
        if !is_safe_trace_name(file) {
            return Err(Unreadable::Missing);
        }
        let content = self.content(file, TRACE_FILE_BYTES_MAX)?;
        Trace::read(&content).ok_or(Unreadable::NoTrace)
    }

    fn read_for(&self, skill: &str, file: &str, bytes_left: &mut usize) -> Result<Trace, Unreadable> {
        let content = self.content(file, TRACE_FILE_BYTES_MAX.min(*bytes_left))?;
        *bytes_left -= content.len();
        let trace = Trace::read(&content).ok_or(Unreadable::NoTrace)?;
        match trace.skill_name == skill {
            true => Ok(trace),
            false => Err(Unreadable::OfAnotherSkill),
        }
    }

    /// One byte more than allowed is enough to know.
    fn content(&self, file: &str, bytes_max: usize) -> Result<String, Unreadable> {
        // Not to follow a link, and not to wait for the other end of a pipe.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.directory.join(file))
            .map_err(unreadable)?;
        if !opened.metadata().map_err(unreadable)?.is_file() {
            return Err(Unreadable::NoFile);
        }
        let mut bytes = Vec::new();
        let limit = bytes_max as u64 + 1;
        opened.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > bytes_max {
            return Err(Unreadable::TooLarge);
        }
        String::from_utf8(bytes).map_err(|_| Unreadable::NoTrace)
    }
}

fn unreadable(error: io::Error) -> Unreadable {
    // What a link is, when it is not to be followed.
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Unreadable::NoFile;
    }
    match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        kind => Unreadable::Refused(kind.to_string()),
    }
}
