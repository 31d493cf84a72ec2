//! The bridge to a host that speaks over this process's stdio: JSON-RPC 2.0, one object a line, LF only.
//!
//! `docs/protocol.md` describes every message; the TypeScript types and the JSON Schema are generated from [`wire`].
//! The bridge decides nothing: what the host says becomes a call on [`HostEvents`], and what the runtime asks of its
//! host goes through [`PiHost`] and [`BridgedModel`].

mod connection;
mod events;
mod framing;
mod host;
mod live;
mod log;
mod model;
mod serve;
pub mod wire;

pub use connection::{AskFailure, Peer, Traffic};
pub use events::{HostEvents, Refused};
pub use framing::{LineEvent, LineReader};
pub use host::PiHost;
pub use live::{Live, LiveRun, LiveRuns};
pub use log::log_to_file;
pub use model::BridgedModel;
pub use serve::{Bridge, BridgeError, BridgeSettings};
