//! Code that was found on GitHub, as a model reads it.

use super::untrusted::mark_untrusted;

/// So many places are given.
const SHOWN: usize = 5;
/// So much of one, in characters.
const HIT_CHARACTERS_MAX: usize = 4_000;

/// What the server answered: one text for each place.
pub fn answer_code_search(host: &str, query: &str, hits: &[String]) -> String {
    let is_none = |hit: &String| hit.trim().is_empty() || hit.starts_with("No results found");
    if hits.iter().all(is_none) {
        return format!("No results found for query: \"{query}\"");
    }
    let shown: Vec<String> = hits.iter().take(SHOWN).map(|hit| cut(hit)).collect();
    let head = format!(
        "Search results for \"{query}\" on grep.app ({} results, showing {}):",
        hits.len(),
        shown.len()
    );
    let marked = mark_untrusted(host, &format!("{head}\n\n{}\n", shown.join("\n\n")));
    match hits.len().saturating_sub(SHOWN) {
        0 => marked,
        hidden => format!(
            "{marked}\n[{hidden} more result(s) not shown. Name a repo, a path or a language to narrow the search.]"
        ),
    }
}

fn cut(hit: &str) -> String {
    match hit.char_indices().nth(HIT_CHARACTERS_MAX) {
        None => hit.to_string(),
        Some((end, _)) => format!("{}\n[… cut]", &hit[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(count: usize) -> String {
        let hits: Vec<String> = (0..count).map(|at| format!("hit{at}")).collect();
        answer_code_search("mcp.grep.app", "q", &hits)
    }

    #[test]
    fn five_are_shown_and_the_rest_is_counted() {
        assert!(answer(1).contains("(1 results, showing 1):\n\nhit0\n"));
        assert!(answer(5).contains("hit4") && !answer(5).contains("not shown"));
        assert!(answer(25).contains("[20 more result(s) not shown") && !answer(25).contains("hit5"));
        assert_eq!(answer(0), "No results found for query: \"q\"");
    }

    #[test]
    fn one_that_is_huge_is_cut() {
        let answer = answer_code_search("h", "q", &["語".repeat(10_000)]);
        assert_eq!(answer.matches('語').count(), HIT_CHARACTERS_MAX);
    }
}
