//! How the processes of a run are recognised: by a value in the environment of each.

use impresario_policies::domain::{RunId, RunIdError};
use std::fmt;
use std::str::FromStr;

/// Which of a run's programs a process belongs to. Each is held and ended by itself; the end of one must not be the
/// end of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    #[default]
    SubAgent,
    /// What answers its questions about the workspace.
    ContextEngine,
    /// A sub-agent's process that serves one run after the other, of the runtime whose id stands where a run's does
    /// elsewhere. What its tools start for a run carries the mark of that run.
    Worker(u32),
}

impl Part {
    const SUFFIX_OF_CONTEXT_ENGINE: &str = "/context-engine";
    const SUFFIX_OF_WORKERS: &str = "/worker-";
}

/// The mark itself: the run's id, and what part of the run it is. A worker carries the id of its runtime instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub run: RunId,
    pub part: Part,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.run)?;
        match self.part {
            Part::SubAgent => Ok(()),
            Part::ContextEngine => f.write_str(Part::SUFFIX_OF_CONTEXT_ENGINE),
            Part::Worker(number) => write!(f, "{}{number}", Part::SUFFIX_OF_WORKERS),
        }
    }
}

impl FromStr for Mark {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let (run, part) = match text.strip_suffix(Part::SUFFIX_OF_CONTEXT_ENGINE) {
            Some(run) => (run, Part::ContextEngine),
            None => worker_in(text).unwrap_or((text, Part::SubAgent)),
        };
        Ok(Self {
            run: RunId::try_from(run.to_string())?,
            part,
        })
    }
}

fn worker_in(text: &str) -> Option<(&str, Part)> {
    let (runtime, number) = text.split_once(Part::SUFFIX_OF_WORKERS)?;
    Some((runtime, Part::Worker(number.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back() {
        for part in [Part::SubAgent, Part::ContextEngine, Part::Worker(7)] {
            let mark = Mark {
                run: RunId::new(1, 2),
                part,
            };
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
        assert!("../../etc".parse::<Mark>().is_err());
        assert!(format!("{}/worker-x", RunId::new(1, 2)).parse::<Mark>().is_err());
    }
}
