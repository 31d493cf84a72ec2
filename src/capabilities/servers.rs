//! The tools of MCP servers: listed once by each server's program, kept by what is set of the server, and found from then on
//! without a program being started.

use super::read_capabilities;
use super::wire::capability_list;
use impresario_actors::context::mcp::{EngineSettings, list_tools};
use impresario_actors::gateways::{Entropy, SystemEntropy, SystemWallClock, WallClock};
use impresario_actors::whole_file::write_whole;
use impresario_policies::capability::Capability;
use impresario_policies::capability::servers::{McpServer, capabilities_of};
use impresario_policies::domain::RunId;
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tokio::sync::oneshot;

/// A longer list is not read.
const LIST_BYTES_MAX: u64 = 8 << 20;
/// So many characters of why a server could not be asked are shown.
const WHY_CHARS_MAX: usize = 300;

/// How servers are asked, and where what they said is kept.
#[derive(Debug, Clone)]
pub(crate) struct ServerLists {
    pub(crate) engines: EngineSettings,
    /// Nothing is kept without one.
    pub(crate) directory: Option<PathBuf>,
}

impl ServerLists {
    /// What was kept of a server that is set exactly so. Waits for a file.
    pub(crate) fn kept(&self, server: &McpServer) -> Option<Vec<Capability>> {
        let mut text = String::new();
        let file = File::open(self.file_of(server)?).ok()?;
        file.take(LIST_BYTES_MAX).read_to_string(&mut text).ok()?;
        read_capabilities(&text).ok()
    }

    /// It is asked again the next time. Waits for a file.
    pub(crate) fn forget(&self, server: &McpServer) {
        if let Some(file) = self.file_of(server) {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Asks a server for its tools, and keeps them. Its program runs for as long as that takes.
    pub(crate) async fn ask(&self, server: McpServer, place: PathBuf) -> Result<Vec<Capability>, String> {
        let (lists, (answer, asked)) = (self.clone(), oneshot::channel());
        // Its conversation stays on one thread. Nobody waits for that one when this process ends: the keeper ends the server.
        let thread = std::thread::Builder::new().name("mcp server".to_string());
        let begun = thread.spawn(move || drop(answer.send(lists.asked(&server, place))));
        begun.map_err(|error| error.to_string())?;
        let asked = asked
            .await
            .unwrap_or_else(|_| Err("asking it went wrong".to_string()));
        asked.map_err(|why| why.chars().take(WHY_CHARS_MAX).collect())
    }

    fn asked(&self, server: &McpServer, place: PathBuf) -> Result<Vec<Capability>, String> {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let tokio = tokio.map_err(|error| error.to_string())?;
        // It belongs to no run; the mark lets its processes be found nevertheless.
        let mark = RunId::new(SystemWallClock.now().0, SystemEntropy.next());
        let asking = list_tools(&self.engines, server, &mark, place);
        let tools = tokio::task::LocalSet::new().block_on(&tokio, asking)?;
        let all = capabilities_of(&server.name, tools);
        if let Err(error) = self.keep(server, &all) {
            tracing::warn!(server = server.name, %error, "the tools of a server are not kept");
        }
        Ok(all)
    }

    fn keep(&self, server: &McpServer, all: &[Capability]) -> io::Result<()> {
        let Some(file) = self.file_of(server) else {
            return Ok(());
        };
        let directory = file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        write_whole(&file, capability_list(all).as_bytes(), 0o600)
    }

    fn file_of(&self, server: &McpServer) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        let words = [&server.command, &server.environment];
        for text in std::iter::once(&server.name).chain(words.into_iter().flatten()) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hash.update((server.command.len() as u64).to_le_bytes());
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.directory.as_ref()?.join(format!("{name}.json")))
    }
}
