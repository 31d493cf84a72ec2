//! What answers a sub-agent's questions about the workspace.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Who answers, and how long that may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrieval {
    /// Who.
    pub engine: RetrievalEngine,
    /// For one answer, once the engine is ready.
    pub timeout: Duration,
}

/// The engines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "engine")]
pub enum RetrievalEngine {
    /// Search over the workspace, in this process.
    #[default]
    Local,
    /// Augment's program, as an MCP server.
    Auggie {
        /// Its name on `PATH`, or its place.
        program: String,
    },
    /// Any other MCP server over stdio.
    Mcp {
        /// The program and its arguments.
        command: Vec<String>,
        /// Names of variables that it gets besides the usual ones.
        environment: Vec<String>,
    },
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            engine: RetrievalEngine::default(),
            timeout: Duration::from_secs(30),
        }
    }
}

impl Retrieval {
    /// The engine is a program that has to be started, and ended.
    pub fn is_a_program(&self) -> bool {
        match self.engine {
            RetrievalEngine::Local => false,
            RetrievalEngine::Auggie { .. } | RetrievalEngine::Mcp { .. } => true,
        }
    }
}
