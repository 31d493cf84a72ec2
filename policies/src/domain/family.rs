//! Families of models.

use serde::{Deserialize, Serialize};

/// A family of models that like to be spoken to alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelFamily {
    /// Anthropic's.
    Claude,
    /// OpenAI's.
    Gpt,
    /// Google's.
    Gemini,
    /// Moonshot's.
    Kimi,
    /// Every other.
    Other,
}
