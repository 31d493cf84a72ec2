//! Documentation of libraries, as a model reads it.

use super::untrusted::mark_untrusted;
use crate::compat::{collapse_spaces, grouped};

/// So much documentation is given, in characters.
pub const SHOWN_CHARACTERS: usize = 3_500;
/// So many others are named beside the best one.
const OTHERS: usize = 3;
/// So much of what is said of a library, in characters.
const LINE_CHARACTERS_MAX: usize = 500;
/// A longer id is none, in bytes.
const ID_BYTES_MAX: usize = 200;

/// A library that documentation is known of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// `/org/project`, sometimes with a version behind it.
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// What was answered to a question about a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Documentation {
    /// Text as it is.
    Text(String),
    /// Parts with a heading each.
    Sections(Vec<Section>),
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    pub text: String,
}

/// What there is for a name, the best first.
pub fn answer_resolve(host: &str, name: &str, query: &str, libraries: &[Library]) -> String {
    let Some((best, others)) = libraries.split_first() else {
        return format!("No libraries found for \"{name}\". Try a different search term.");
    };
    let named = |library: &Library| on_one_line(library.name.as_deref().unwrap_or("(unknown)"));
    let mut text = format!(
        "Best match for \"{name}\" (query: \"{query}\"):\n  Library ID: {}\n  Name: {}",
        on_one_line(&best.id),
        named(best)
    );
    if let Some(description) = best
        .description
        .as_deref()
        .map(on_one_line)
        .filter(|said| !said.is_empty())
    {
        text.push_str(&format!("\n  Description: {description}"));
    }
    if !others.is_empty() {
        text.push_str("\n\nOther matches:");
    }
    for other in others.iter().take(OTHERS) {
        text.push_str(&format!("\n  {}  — {}", on_one_line(&other.id), named(other)));
    }
    mark_untrusted(host, &text)
}

/// What is said of this library.
pub fn answer_documents(host: &str, id: &str, query: &str, documents: &Documentation) -> String {
    let text = match documents {
        Documentation::Text(text) => text.clone(),
        Documentation::Sections(sections) => {
            let sections = sections
                .iter()
                .map(|part| format!("\n\n## {}\n{}", part.title, part.text));
            format!(
                "Documentation for {id} — query: \"{query}\"{}",
                sections.collect::<String>()
            )
        }
    };
    if text.trim().is_empty() {
        return format!("No documentation found for query: \"{query}\"");
    }
    let all = text.chars().count();
    if all <= SHOWN_CHARACTERS {
        return mark_untrusted(host, &text);
    }
    let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    format!(
        "{}\n[The first {} of {} characters. Ask a narrower question for the rest.]",
        mark_untrusted(host, &shown),
        grouped(SHOWN_CHARACTERS as u64),
        grouped(all as u64)
    )
}

/// Whether this names a library, and nothing else at the service.
pub fn check_library_id(id: &str) -> Result<(), String> {
    let mut parts = id.strip_prefix('/').into_iter().flat_map(|rest| rest.split('/'));
    let is_part = |part: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@+~".contains(&byte);
        !part.is_empty() && part.bytes().all(letters) && part.bytes().any(|byte| byte != b'.')
    };
    if id.starts_with('/') && id.len() <= ID_BYTES_MAX && parts.all(is_part) {
        return Ok(());
    }
    let shown: String = id
        .chars()
        .filter(|letter| !letter.is_control())
        .take(ID_BYTES_MAX)
        .collect();
    Err(format!(
        "Invalid libraryId \"{shown}\". Must be in /org/project format (e.g. /vercel/next.js). \
         Use docs_resolve to get the correct ID."
    ))
}

fn on_one_line(text: &str) -> String {
    collapse_spaces(text).chars().take(LINE_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_a_library_and_nothing_else() {
        for good in ["/vercel/next.js", "/v/n", "/org/project/v1.2.3", "/a"] {
            assert_eq!(check_library_id(good), Ok(()), "{good}");
        }
        for bad in [
            "vercel/next",
            "/",
            "",
            "/../../evil",
            "/a/..",
            "/a/./b",
            "//evil.com",
            "/a//b",
            "/a?x=1",
            "/a#b",
            "/a%2e%2e",
            "/a b",
            "/a\\b",
            "/日本",
        ] {
            assert!(check_library_id(bad).is_err(), "{bad}");
        }
        assert!(check_library_id(&format!("/{}", "a".repeat(300))).is_err());
    }

    #[test]
    fn the_best_and_three_others_are_named() {
        let library = |id: &str| Library {
            id: id.to_string(),
            name: Some("N".to_string()),
            description: None,
        };
        let libraries: Vec<Library> = ["/a", "/b", "/c", "/d", "/e"].map(library).into();
        let answer = answer_resolve("context7.com", "x", "q", &libraries);
        assert!(
            answer.contains("/d") && !answer.contains("/e\n") && !answer.contains("/e  "),
            "{answer}"
        );
        assert!(answer_resolve("context7.com", "x", "q", &[]).starts_with("No libraries"));
    }

    #[test]
    fn long_documentation_is_cut_at_a_character() {
        let long = Documentation::Text("語".repeat(4_000));
        let answer = answer_documents("context7.com", "/a/b", "q", &long);
        assert_eq!(answer.matches('語').count(), SHOWN_CHARACTERS);
        assert!(answer.contains("3,500 of 4,000"));
    }
}
