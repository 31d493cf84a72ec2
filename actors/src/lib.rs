//! What happens in Impresario: the supervision layer, the actors, the journal and the gateways to the outside.
//!
//! An actor owns state and effects and never imports another actor: they meet in `messages` and hold ports.
//! The outside is reached through the traits in [`gateways`] only.

#[cfg(panic = "abort")]
compile_error!("impresario restarts actors that panic: build with panic = \"unwind\"");

pub mod gateways;
pub mod journal;
pub mod processes;
pub mod supervision;
