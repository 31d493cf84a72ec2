//! Which part of a kept result is read, and where is a word in it?
//!
//! Positions count UTF-16 units. Pages neither overlap nor miss anything, and paging ends.

use crate::compat::{units, units_starting_in};

/// A page when nothing else is asked for.
pub const PAGE_UNITS: usize = 8_000;
pub const PAGE_UNITS_MAX: usize = 32_000;
/// The most places a search names.
pub const PLACES_MAX: usize = 50;
/// How much of its surroundings a place shows on either side.
const CONTEXT_BYTES: usize = 120;

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowPage<'a> {
    pub content: &'a str,
    pub eof: bool,
    /// Where to go on; at the end, the length of the whole.
    pub next_offset: usize,
    /// Length of the whole.
    pub total_units: usize,
}

/// Reads from `offset`, at most `limit` units; a page without limit 0 always moves on.
pub fn read_page(text: &str, offset: usize, limit: usize) -> OverflowPage<'_> {
    let total_units = units(text);
    let end = offset.saturating_add(limit);
    OverflowPage {
        content: units_starting_in(text, offset, end),
        eof: end >= total_units,
        next_offset: end.min(total_units),
        total_units,
    }
}

/// Where a query stands in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowPlace {
    /// Where it begins, for reading from there.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The line it stands in, as much as fits around it.
    pub excerpt: String,
}

/// Finds a query, letter by letter but without regard to ASCII case; says how many places there are.
pub fn search_text(text: &str, query: &str, places_max: usize) -> (Vec<OverflowPlace>, usize) {
    let mut places = Vec::new();
    let mut count = 0;
    let Ok(finder) = aho_corasick::AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build([query])
    else {
        return (places, count);
    };
    if query.is_empty() {
        return (places, count);
    }
    let (mut at, mut offset, mut line) = (0, 0, 1);
    for found in finder.find_iter(text) {
        count += 1;
        if places.len() >= places_max.min(PLACES_MAX) {
            continue;
        }
        let passed = &text[at..found.start()];
        offset += units(passed);
        line += memchr::memchr_iter(b'\n', passed.as_bytes()).count();
        at = found.start();
        places.push(OverflowPlace {
            offset,
            line,
            excerpt: excerpt(text, found.start(), found.end()),
        });
    }
    (places, count)
}

fn excerpt(text: &str, start: usize, end: usize) -> String {
    let from = text.floor_char_boundary(start.saturating_sub(CONTEXT_BYTES));
    let to = text.ceil_char_boundary(end.saturating_add(CONTEXT_BYTES).min(text.len()));
    let before = text[from..start].rsplit('\n').next().unwrap_or("");
    let after = text[end..to].split('\n').next().unwrap_or("");
    format!("{before}{}{after}", &text[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paging_gives_everything_once_and_ends() {
        let text = "a😀b\n漢".repeat(100);
        for limit in [1, 2, 3, 7, 1_000] {
            let (mut whole, mut offset) = (String::new(), 0);
            loop {
                let page = read_page(&text, offset, limit);
                whole.push_str(page.content);
                offset = page.next_offset;
                if page.eof {
                    break;
                }
            }
            assert_eq!(whole, text);
        }
    }

    #[test]
    fn a_search_says_where_to_read_on() {
        let text = "first\nsecond 😀 Needle here\nneedle";
        let (places, count) = search_text(text, "needle", 10);
        assert_eq!(count, 2);
        assert_eq!(
            places[0],
            OverflowPlace {
                offset: 16,
                line: 2,
                excerpt: "second 😀 Needle here".into()
            }
        );
        assert_eq!(read_page(text, places[1].offset, 3).content, "nee");
    }

    proptest::proptest! {
        #[test]
        fn any_page_and_search_ends(text in "(.|\n){0,80}", query in ".{0,3}", offset: usize, limit: usize) {
            let _ = (read_page(&text, offset, limit), search_text(&text, &query, 3));
        }
    }
}
