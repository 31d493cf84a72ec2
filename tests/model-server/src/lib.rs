//! A scripted model server for tests.
//!
//! It listens on 127.0.0.1, speaks OpenAI chat completions and Anthropic messages (streaming or whole), answers
//! what a [`Script`] says, misbehaves where the script says so, and keeps a [`Ledger`] of every call, in memory and
//! as JSON lines, which an auditor can hold against what a runtime claims to have done.
//!
//! ```
//! use impresario_model_server::{ModelServer, Rule, Script, Turn};
//!
//! let script = Script::new()
//!     .rule(Rule::new("judge").system_contains("You judge briefs").turn(Turn::text("{\"clear\":true}")).repeat())
//!     .rule(Rule::new("explore").turn(Turn::overloaded()).turn(Turn::text("src/lib.rs#L1-L4")));
//! let server = ModelServer::start_blocking(script).expect("port on 127.0.0.1");
//! assert_ne!(server.port(), 0);
//! assert!(server.ledger().calls().is_empty());
//! ```

mod anthropic;
mod caching;
mod connection;
mod ledger;
mod openai;
mod playback;
mod request;
mod script;
mod selection;
mod server;
mod speech;

pub use caching::blocks_of as prompt_blocks;
pub use ledger::{Call, CallEnd, Ledger, Ordered, Outcome, Said};
pub use request::{RequestSummary, Wire};
pub use script::{Fault, Place, Rule, Script, ScriptError, Stop, ToolCall, Turn, Usage, When};
pub use server::{ModelServer, ServerSettings};
