//! Telling logins apart without knowing them.

/// What a model is called with: a key, a token, or the text that names one. It is shown, kept and sent nowhere; a
/// [`LoginId`] is made of it at once.
pub struct Login(Vec<u8>);

impl Login {
    /// Where nobody knows: all models of a provider are called as the same person.
    pub const UNKNOWN: Self = Self(Vec::new());

    /// Of whatever is another one when the login is.
    pub fn of(parts: impl IntoIterator<Item = String>) -> Self {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend(part.len().to_le_bytes());
            bytes.extend(part.into_bytes());
        }
        Self(bytes)
    }

    /// For the hash.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A keyed hash of a login: tells one from another in this process, and nothing anywhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoginId(pub u64);
