//! OpenAI chat completions.

pub(crate) mod wire;
