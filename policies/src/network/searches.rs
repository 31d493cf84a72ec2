//! Hits of a search, as a model reads them.

use super::untrusted::mark_untrusted;
use crate::compat::{collapse_spaces, cut_units};

/// One page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchHit {
    pub title: Option<String>,
    pub url: Option<String>,
    /// What it says about what was looked for; the parts of it.
    pub snippets: Vec<String>,
}

/// So many are shown, however many came.
const HITS_MAX: usize = 20;
/// So much of each, in UTF-16 code units.
const SNIPPET_UNITS_MAX: usize = 2_000;

/// The list as it stands between the marks.
pub fn list_hits(hits: &[SearchHit]) -> String {
    let listed = hits.iter().take(HITS_MAX).enumerate().map(|(at, hit)| {
        let title = hit
            .title
            .as_deref()
            .map(collapse_spaces)
            .filter(|title| !title.is_empty());
        let snippets: Vec<String> = hit
            .snippets
            .iter()
            .map(|snippet| collapse_spaces(snippet))
            .collect();
        format!(
            "{}. **{}**\n   {}\n   {}",
            at + 1,
            title.as_deref().unwrap_or("(no title)"),
            collapse_spaces(hit.url.as_deref().unwrap_or_default()),
            cut_units(&snippets.join(" [...] "), SNIPPET_UNITS_MAX),
        )
    });
    listed.collect::<Vec<_>>().join("\n\n")
}

/// What a model is given of a search at this host.
pub fn answer_search(host: &str, hits: &[SearchHit]) -> String {
    match hits.is_empty() {
        true => "No results found.".to_string(),
        false => mark_untrusted(host, &list_hits(hits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(title: &str, snippets: &[&str]) -> SearchHit {
        SearchHit {
            title: (!title.is_empty()).then(|| title.to_string()),
            url: Some("https://x.com".to_string()),
            snippets: snippets.iter().map(|text| (*text).to_string()).collect(),
        }
    }

    #[test]
    fn a_hit_is_a_title_an_address_and_what_it_says() {
        let hits = [hit("T", &["a\n b"]), hit("", &["c", "d"])];
        let expected =
            "1. **T**\n   https://x.com\n   a b\n\n2. **(no title)**\n   https://x.com\n   c [...] d";
        assert_eq!(list_hits(&hits), expected);
        assert!(answer_search("api.exa.ai", &hits).contains(expected));
        assert_eq!(answer_search("api.exa.ai", &[]), "No results found.");
    }

    #[test]
    fn a_server_that_sends_too_much_is_cut() {
        let hits = vec![hit("T", &["日".repeat(5_000).as_str()]); 100];
        let listed = list_hits(&hits);
        assert!(listed.contains("20. ") && !listed.contains("21. "));
        assert!(listed.chars().count() < 20 * 2_100);
    }
}
