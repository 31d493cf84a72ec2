//! What is looked for in the anchors of other sessions.

/// So many words are looked for.
const WORDS_MAX: usize = 32;

/// What is looked for, and how much of it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallRequest {
    /// Folded; all of them stand in the name or the summary.
    pub words: Vec<String>,
    /// In the sessions of all directories, not only of this one.
    pub everywhere: bool,
    pub limit: usize,
    pub offset: usize,
}

/// An anchor of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledAnchor {
    /// The file of the session, below where all of them are.
    pub file: String,
    /// The session; empty where the file does not say.
    pub session: String,
    pub directory: Option<String>,
    pub name: String,
    pub summary: String,
    pub entry: String,
    /// As it is written; empty where it is not.
    pub at: String,
}

/// A text as it is compared: without the difference of capitals.
fn fold(text: &str) -> String {
    text.to_lowercase()
}

/// What of an anchor is looked through.
pub fn looked_through(name: &str, summary: &str) -> String {
    fold(&format!("{name}\n{summary}"))
}

/// The words of a keyword.
pub fn words_wanted(keyword: &str) -> Vec<String> {
    let mut words: Vec<String> = fold(keyword).split_whitespace().map(str::to_string).collect();
    words.truncate(WORDS_MAX);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_capitals() {
        assert_eq!(words_wanted("  JWT\nÄrger "), ["jwt", "ärger"]);
        assert_eq!(words_wanted(&"a ".repeat(99)).len(), WORDS_MAX);
        assert_eq!(looked_through("Auth", "JWT"), "auth\njwt");
    }
}
