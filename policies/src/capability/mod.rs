//! What an agent can use – skills, tools, tools of MCP servers, agents – and which of it a request asks for.
//!
//! [`words`] says which words stand in a text and how an index keeps them, [`spelling`] what a word may have been meant to be,
//! and [`ranking`] what fits a request best, and how sure that is; [`search`] is all of it, over words that are [`held`]. They
//! are those of an index that is kept elsewhere.
//! [`loadout`], [`promotion`], [`deferral`] and [`slim`] say what of it a model is shown, [`equip`] what a sub-agent is
//! given, [`add`] what may be written down.

pub mod add;
pub mod answer;
pub mod deferral;
pub mod equip;
pub mod flatten;
pub mod held;
pub mod loadout;
pub mod promotion;
pub mod ranking;
pub mod search;
pub mod servers;
pub mod slim;
pub mod spelling;
pub mod words;

/// What sort of thing can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapabilityKind {
    /// A prepared way of doing one kind of work.
    Skill,
    /// A tool of the host.
    Tool,
    /// A tool of an MCP server.
    Mcp,
    /// A sub-agent.
    Agent,
}

impl CapabilityKind {
    pub const ALL: [Self; 4] = [Self::Skill, Self::Tool, Self::Mcp, Self::Agent];

    /// As it begins an id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Tool => "tool",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
        }
    }

    /// The kind of this name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind that an id says: what stands before its first colon.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::read(id.split_once(':')?.0)
    }
}

/// Something that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// `skill:NAME`, `tool:pi:NAME`, `mcp:SERVER:NAME`, `agent:NAME`.
    pub id: String,
    pub kind: CapabilityKind,
    /// Who has it: a directory, a server, the host.
    pub source: String,
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// What it takes, as words.
    pub params: String,
    /// With what it is used: the file of a skill, the name of a tool.
    pub activation: String,
}

impl Capability {
    /// What stands between the kind and the name in its id: the server of an MCP tool.
    pub fn place(&self) -> &str {
        match self.kind {
            CapabilityKind::Mcp => {
                let behind_kind = self.id.split_once(':').map_or("", |(_, rest)| rest);
                behind_kind.split_once(':').map_or("", |(server, _)| server)
            }
            CapabilityKind::Skill | CapabilityKind::Tool | CapabilityKind::Agent => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_the_kind_and_the_server() {
        assert_eq!(
            CapabilityKind::of_id("mcp:jira:create"),
            Some(CapabilityKind::Mcp)
        );
        assert_eq!(CapabilityKind::of_id("nothing"), None);
        let tool = Capability {
            id: "mcp:jira:create".into(),
            kind: CapabilityKind::Mcp,
            source: String::new(),
            name: "create".into(),
            summary: String::new(),
            params: String::new(),
            activation: String::new(),
        };
        assert_eq!(tool.place(), "jira");
        assert_eq!(
            Capability {
                kind: CapabilityKind::Skill,
                ..tool
            }
            .place(),
            ""
        );
    }
}
