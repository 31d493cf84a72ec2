//! How is what tools and sub-agents did drawn on Pi's terminal?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How a call of `bash` is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashDisplay {
    /// So many lines of what it said, folded.
    pub preview_lines: u32,
    /// So many, opened.
    pub expanded_lines: u32,
    /// In a fainter colour.
    pub dim: bool,
}

/// How a call of `read` is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadDisplay {
    /// As the host draws it.
    #[default]
    Host,
    /// As one line.
    Compact,
    /// With the first lines of the file.
    Preview,
}

impl ReadDisplay {
    /// As settings say it, in order.
    pub const WORDS: [&'static str; 3] = ["host", "compact", "preview"];

    /// What a word means; the host's own for any other.
    pub fn of(word: &str) -> Self {
        match word {
            "compact" => Self::Compact,
            "preview" => Self::Preview,
            _ => Self::Host,
        }
    }
}

/// How a run of a sub-agent is drawn in the call that began it, folded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum AgentDisplay {
    /// How it stands, what it does now, and how its answer begins.
    #[default]
    Compact,
    /// With its last calls while it works.
    Full,
    /// How it stands, in one line.
    Minimal,
}

impl AgentDisplay {
    /// As settings say it, in order.
    pub const WORDS: [&'static str; 3] = ["compact", "full", "minimal"];

    /// What a word means; compact for any other.
    pub fn of(word: &str) -> Self {
        match word {
            "full" => Self::Full,
            "minimal" => Self::Minimal,
            _ => Self::Compact,
        }
    }
}

/// What settings wish of the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DisplaySettings {
    /// None: as the host draws it.
    pub bash: Option<BashDisplay>,
    pub read: ReadDisplay,
    pub agents: AgentDisplay,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_something() {
        let meant = ReadDisplay::WORDS.map(ReadDisplay::of);
        assert_eq!(
            meant,
            [ReadDisplay::Host, ReadDisplay::Compact, ReadDisplay::Preview]
        );
        assert_eq!(ReadDisplay::of("loud"), ReadDisplay::Host);
        let meant = AgentDisplay::WORDS.map(AgentDisplay::of);
        assert_eq!(
            meant,
            [AgentDisplay::Compact, AgentDisplay::Full, AgentDisplay::Minimal]
        );
        assert_eq!(AgentDisplay::of("loud"), AgentDisplay::Compact);
    }
}
