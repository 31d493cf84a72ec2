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
}

impl Part {
    const SUFFIX_OF_CONTEXT_ENGINE: &str = "/context-engine";

    fn suffix(self) -> &'static str {
        match self {
            Self::SubAgent => "",
            Self::ContextEngine => Self::SUFFIX_OF_CONTEXT_ENGINE,
        }
    }
}

/// The mark itself: the run's id, and what part of the run it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub run: RunId,
    pub part: Part,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.run, self.part.suffix())
    }
}

impl FromStr for Mark {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let (run, part) = match text.strip_suffix(Part::SUFFIX_OF_CONTEXT_ENGINE) {
            Some(run) => (run, Part::ContextEngine),
            None => (text, Part::SubAgent),
        };
        Ok(Self {
            run: RunId::try_from(run.to_string())?,
            part,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back() {
        for part in [Part::SubAgent, Part::ContextEngine] {
            let mark = Mark {
                run: RunId::new(1, 2),
                part,
            };
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
        assert!("../../etc".parse::<Mark>().is_err());
    }
}
