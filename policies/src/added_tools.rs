//! The tools that Impresario adds: one table, whoever offers them.

use crate::domain::{FileChanged, Replay};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A tool of ours. Names and behaviour are those of pi-blackbytes, so that models and agent files that know it feel at
/// home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddedTool {
    /// Changes a file at anchored lines.
    HashlineEdit,
    /// Finds code by its structure.
    AstSearch,
    /// Replaces code by its structure.
    AstReplace,
    /// Lists files by their paths, the newest first.
    Glob,
    /// Shows pictures.
    LookAt,
    /// Searches the web.
    WebSearch,
    /// Reads a page of the web.
    WebFetch,
    /// Finds the documentation of a library.
    DocsResolve,
    /// Reads in it.
    DocsQuery,
    /// Searches public code.
    GhSearch,
}

/// What a tool reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaches {
    /// Files.
    Files,
    /// Servers elsewhere.
    Network,
}

impl AddedTool {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 10] = [
        Self::HashlineEdit,
        Self::AstSearch,
        Self::AstReplace,
        Self::Glob,
        Self::LookAt,
        Self::WebSearch,
        Self::WebFetch,
        Self::DocsResolve,
        Self::DocsQuery,
        Self::GhSearch,
    ];

    /// What models call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HashlineEdit => "hashline_edit",
            Self::AstSearch => "ast_search",
            Self::AstReplace => "ast_replace",
            Self::Glob => "glob",
            Self::LookAt => "look_at",
            Self::WebSearch => "web_search",
            Self::WebFetch => "web_fetch",
            Self::DocsResolve => "docs_resolve",
            Self::DocsQuery => "docs_query",
            Self::GhSearch => "gh_search",
        }
    }

    /// The tool that models know under this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// It can change files.
    pub const fn changes_something(self) -> bool {
        matches!(self, Self::HashlineEdit | Self::AstReplace)
    }

    /// Whether it may run again after it was cut off.
    pub const fn replay(self) -> Replay {
        match self.changes_something() {
            true => Replay::Unsafe,
            false => Replay::Safe,
        }
    }

    /// What it reaches.
    pub const fn reaches(self) -> Reaches {
        match self {
            Self::HashlineEdit | Self::AstSearch | Self::AstReplace | Self::Glob | Self::LookAt => {
                Reaches::Files
            }
            Self::WebSearch | Self::WebFetch | Self::DocsResolve | Self::DocsQuery | Self::GhSearch => {
                Reaches::Network
            }
        }
    }

    /// How long a call may take. Those that ask a server may be told to wait up to two minutes for it.
    pub const fn within(self) -> Duration {
        match self.reaches() {
            Reaches::Files => Duration::from_secs(60),
            Reaches::Network => Duration::from_secs(130),
        }
    }
}

/// Which tools are added to those of a person's own session?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTools;

impl SessionTools {
    /// Every one of them.
    const ALL: &'static str = "all";
    /// What a setting may say, in a list.
    pub const WORDS: [&'static str; 11] = [
        Self::ALL,
        AddedTool::HashlineEdit.name(),
        AddedTool::AstSearch.name(),
        AddedTool::AstReplace.name(),
        AddedTool::Glob.name(),
        AddedTool::LookAt.name(),
        AddedTool::WebSearch.name(),
        AddedTool::WebFetch.name(),
        AddedTool::DocsResolve.name(),
        AddedTool::DocsQuery.name(),
        AddedTool::GhSearch.name(),
    ];

    /// Those that are wished for and that nobody took away, in their order.
    pub fn of(wished: &[String], disabled: &[String]) -> Vec<AddedTool> {
        let is_wished = |tool: &AddedTool| wished.iter().any(|word| word == Self::ALL || word == tool.name());
        let is_there = |tool: &AddedTool| !disabled.iter().any(|name| name == tool.name());
        let all = AddedTool::ALL.into_iter();
        all.filter(is_wished).filter(is_there).collect()
    }
}

/// What a call read, changed and called, as far as the tool itself knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReceipt {
    /// Files that it read and showed, as they are shown. A search names those in which it found something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<FileChanged>,
    /// Servers that it asked, without what was secret in the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_the_tools_that_were_wished_for_and_not_taken_away() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(SessionTools::of(&[], &[]).is_empty());
        let some = SessionTools::of(&words(&["look_at", "glob"]), &words(&["look_at"]));
        assert_eq!(some, [AddedTool::Glob]);
        let all = SessionTools::of(&words(&["all"]), &words(&["glob"]));
        assert_eq!(all.len(), AddedTool::ALL.len() - 1);
        assert_eq!(SessionTools::WORDS[1..], AddedTool::ALL.map(AddedTool::name));
    }

    #[test]
    fn each_tool_is_found_by_its_name_and_what_changes_something_does_not_run_twice() {
        for tool in AddedTool::ALL {
            assert_eq!(AddedTool::named(tool.name()), Some(tool));
            let twice = tool.replay() == Replay::Safe;
            assert_eq!(twice, !tool.changes_something(), "{tool:?}");
        }
        assert_eq!(AddedTool::named("edit"), None);
        let changing: Vec<_> = AddedTool::ALL
            .into_iter()
            .filter(|tool| tool.changes_something())
            .collect();
        assert_eq!(changing, [AddedTool::HashlineEdit, AddedTool::AstReplace]);
    }
}
