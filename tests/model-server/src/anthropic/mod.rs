//! Anthropic messages.

pub(crate) mod wire;
