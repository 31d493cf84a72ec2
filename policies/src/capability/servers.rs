//! MCP servers whose tools are found: what is set of them, and what of their words is taken.

use super::{Capability, CapabilityKind};
use crate::compat::collapse_spaces;

/// So many servers are asked for their tools.
pub const SERVERS_MAX: usize = 16;
/// So many tools of one are taken.
pub const TOOLS_OF_SERVER_MAX: usize = 500;
const NAME_CHARS_MAX: usize = 128;
const SUMMARY_CHARS_MAX: usize = 1_000;

/// A server, as it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Names of variables that it gets besides the usual ones.
    pub environment: Vec<String>,
}

/// A tool, as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    pub name: String,
    pub summary: String,
    /// What it takes, as words.
    pub params: String,
}

/// Whether a server may be called so: its name stands in ids.
pub fn is_server_name(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

/// The tools as they are found, each name once. A name that could be no id is left out, and what a server says of a tool is one
/// line without control characters, however it wrote it.
pub fn capabilities_of(server: &str, tools: Vec<ServerTool>) -> Vec<Capability> {
    let mut all: Vec<Capability> = Vec::new();
    for tool in tools {
        let is_name = !tool.name.is_empty()
            && tool.name.chars().count() <= NAME_CHARS_MAX
            && tool
                .name
                .chars()
                .all(|character| !character.is_control() && !character.is_whitespace());
        let id = format!("mcp:{server}:{}", tool.name);
        if !is_name || all.len() == TOOLS_OF_SERVER_MAX || all.iter().any(|known| known.id == id) {
            continue;
        }
        all.push(Capability {
            id,
            kind: CapabilityKind::Mcp,
            source: server.to_string(),
            activation: tool.name.clone(),
            name: tool.name,
            summary: one_line(&tool.summary),
            params: one_line(&tool.params),
        });
    }
    all
}

fn one_line(text: &str) -> String {
    let line = collapse_spaces(text);
    let shown = line.chars().filter(|character| !character.is_control());
    shown.take(SUMMARY_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, summary: &str) -> ServerTool {
        ServerTool {
            name: name.into(),
            summary: summary.into(),
            params: String::new(),
        }
    }

    #[test]
    fn what_a_server_says_is_one_line_and_each_name_once() {
        let tools = vec![
            tool("wash", "Wash\n\u{1b}[31man otter."),
            tool("wash", "again"),
            tool("a b", "no name"),
            tool("", "no name"),
        ];
        let all = capabilities_of("zoo", tools);
        let [wash] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (wash.id.as_str(), wash.summary.as_str()),
            ("mcp:zoo:wash", "Wash [31man otter.")
        );
    }

    #[test]
    fn there_is_an_end_to_it() {
        let many = (0..TOOLS_OF_SERVER_MAX + 5).map(|number| tool(&format!("t{number}"), &"x".repeat(5_000)));
        let all = capabilities_of("zoo", many.collect());
        assert_eq!(
            (all.len(), all[0].summary.len()),
            (TOOLS_OF_SERVER_MAX, SUMMARY_CHARS_MAX)
        );
    }

    #[test]
    fn a_servers_name_stands_in_ids() {
        assert!(is_server_name("git-hub_2.x"));
        for name in ["", "a:b", "a b", "ä"] {
            assert!(!is_server_name(name), "{name}");
        }
    }
}
