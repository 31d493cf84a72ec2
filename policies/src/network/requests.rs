//! What services are sent. Names and values are those of their own pages: docs.exa.ai, docs.tavily.com.

use serde::Serialize;

/// So many hits are asked for.
const HITS: u32 = 10;
/// So much of each page that was found, in characters.
const HIGHLIGHT_CHARACTERS: u32 = 1_000;
/// So many parts of a page, where there is a question about it.
const CHUNKS: u32 = 5;
/// So much documentation, in tokens.
const DOCUMENT_TOKENS: u32 = 4_000;

/// `POST /search` of Exa.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExaSearch<'a> {
    query: &'a str,
    num_results: u32,
    contents: ExaContents,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ExaContents {
    highlights: ExaHighlights,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExaHighlights {
    max_characters: u32,
}

impl<'a> ExaSearch<'a> {
    /// Looks for this, among pages of this kind where one is named.
    pub fn new(query: &'a str, category: Option<&'a str>) -> Self {
        let highlights = ExaHighlights {
            max_characters: HIGHLIGHT_CHARACTERS,
        };
        Self {
            query,
            num_results: HITS,
            contents: ExaContents { highlights },
            category,
        }
    }
}

/// `POST /search` of Tavily, which knows no kinds of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TavilySearch<'a> {
    query: &'a str,
    max_results: u32,
}

impl<'a> TavilySearch<'a> {
    /// Looks for this.
    pub fn new(query: &'a str) -> Self {
        Self {
            query,
            max_results: HITS,
        }
    }
}

/// `POST /contents` of Exa.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExaPage<'a> {
    urls: [&'a str; 1],
    text: bool,
}

impl<'a> ExaPage<'a> {
    /// Reads this page.
    pub fn new(url: &'a str) -> Self {
        Self {
            urls: [url],
            text: true,
        }
    }
}

/// `POST /extract` of Tavily.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TavilyPage<'a> {
    urls: &'a str,
    extract_depth: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks_per_source: Option<u32>,
}

impl<'a> TavilyPage<'a> {
    /// Reads this page, or the parts of it that answer the question.
    pub fn new(url: &'a str, question: Option<&'a str>) -> Self {
        let question = question.map(str::trim).filter(|question| !question.is_empty());
        Self {
            urls: url,
            extract_depth: "basic",
            query: question,
            chunks_per_source: question.map(|_| CHUNKS),
        }
    }
}

/// Kinds of pages that Exa knows.
pub const EXA_CATEGORIES: [&str; 9] = [
    "company",
    "research paper",
    "news",
    "pdf",
    "github",
    "tweet",
    "personal site",
    "people",
    "financial report",
];

/// Where libraries of this name are looked for at Context7.
pub fn libraries_path(name: &str, topic: &str) -> String {
    let question = form_urlencoded(&[("query", name), ("topic", topic)]);
    format!("/api/v1/search?{question}")
}

/// Where documentation of the library with this id is at Context7.
pub fn docs_path(id: &str, query: &str) -> String {
    let tokens = DOCUMENT_TOKENS.to_string();
    let question = form_urlencoded(&[("query", query), ("tokens", &tokens)]);
    format!("/api/v1{id}?{question}")
}

fn form_urlencoded(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_cannot_leave_its_place_in_an_address() {
        let path = libraries_path("a&b=c#d", "é ?");
        assert_eq!(path, "/api/v1/search?query=a%26b%3Dc%23d&topic=%C3%A9+%3F");
        assert_eq!(docs_path("/v/n", "q"), "/api/v1/v/n?query=q&tokens=4000");
    }

    #[test]
    fn a_question_about_a_page_asks_for_parts_of_it() {
        assert_eq!(TavilyPage::new("u", Some(" ")).chunks_per_source, None);
        let asked = TavilyPage::new("u", Some(" q "));
        assert_eq!((asked.query, asked.chunks_per_source), (Some("q"), Some(CHUNKS)));
    }
}
