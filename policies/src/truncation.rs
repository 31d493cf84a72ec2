//! Which results of tools leave the model's sight when an anchor is set, and what stands in their place?
//!
//! An anchor ends a stretch of work: what its results said is in its summary. A result is left out when the model has
//! seen it whole, nothing since names it, and what it would cost to send it again and again is more than what it costs
//! that the provider's cache has to be filled anew from there on. The text itself stays in the session.

#![warn(missing_docs)]

use crate::cache_markers::CachePrices;

/// So many characters are taken for a token.
const CHARACTERS_PER_TOKEN: f64 = 4.0;
/// Shorter names stand everywhere.
const NAME_CHARACTERS_MIN: usize = 4;

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncationTerms {
    /// Anything at all.
    pub enabled: bool,
    /// Shorter results stay, in characters.
    pub characters_min: u64,
    /// It must have paid for itself after so many requests.
    pub pays_within: u32,
}

/// Something that the model sees of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEntry {
    /// The host's.
    pub id: String,
    /// What it is.
    pub kind: SeenKind,
    /// Of its texts.
    pub characters: u64,
    /// What the call of a result was given: paths.
    pub names: Vec<String>,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenKind {
    /// The model's own words and calls.
    Said,
    /// A result as its tool gave it.
    Result,
    /// A result that is left out already, or shall stay.
    Kept,
    /// The result that sets an anchor.
    Anchor {
        /// What it is called.
        name: String,
    },
    /// Anything else.
    Other,
}

/// A result to leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutResult {
    /// Which.
    pub id: String,
    /// What stands in its place.
    pub stub: String,
}

/// The results that the newest anchor makes stale. `since` is what was said since: its summary, words and calls.
pub fn results_to_cut(
    seen: &[SeenEntry],
    since: &str,
    prices: CachePrices,
    terms: &TruncationTerms,
) -> Vec<CutResult> {
    let anchor = seen
        .iter()
        .rposition(|entry| matches!(entry.kind, SeenKind::Anchor { .. }));
    let Some(anchor) = anchor.filter(|_| terms.enabled) else {
        return Vec::new();
    };
    let SeenKind::Anchor { name } = &seen[anchor].kind else {
        return Vec::new();
    };
    // The answer that set the anchor is made of all that stands before it, and of nothing that was called beside.
    let answer = seen[..anchor]
        .iter()
        .rposition(|entry| entry.kind == SeenKind::Said);
    let stale = seen[..answer.unwrap_or(0)].iter().enumerate();
    let stale = stale.filter_map(|(place, entry)| {
        let stub = stub_of(entry, name);
        let is_long = entry.characters >= terms.characters_min.max(2 * characters(&stub));
        let is_newest = || !seen[place + 1..].iter().any(|later| is_same_place(entry, later));
        let is_wanted = says(since, &entry.id) || (is_newest() && is_named(entry, since));
        let is_stale = entry.kind == SeenKind::Result && is_long && !is_wanted;
        is_stale.then(|| {
            (
                place,
                CutResult {
                    id: entry.id.clone(),
                    stub,
                },
            )
        })
    });
    let stale: Vec<_> = stale.collect();
    let from = worth_it_from(seen, &stale, prices, terms);
    stale.into_iter().skip(from).map(|(_, cut)| cut).collect()
}

/// The first of the stale results from which on leaving out saves the most; behind the last where nothing does.
fn worth_it_from(
    seen: &[SeenEntry],
    stale: &[(usize, CutResult)],
    prices: CachePrices,
    terms: &TruncationTerms,
) -> usize {
    let tokens = |count: u64| count as f64 / CHARACTERS_PER_TOKEN;
    let (mut best, mut most) = (stale.len(), 0.0);
    // What stands behind the place is written to the cache anew, once.
    let (mut behind, mut left_out, mut end) = (0.0, 0.0, seen.len());
    for (from, (place, cut)) in stale.iter().enumerate().rev() {
        let between: u64 = seen[place + 1..end].iter().map(|entry| entry.characters).sum();
        let stub = tokens(characters(&cut.stub));
        behind += tokens(between) + stub;
        left_out += tokens(seen[*place].characters) - stub;
        end = *place;
        let saved = left_out * prices.read * f64::from(terms.pays_within);
        let worth = saved - behind * (prices.written - prices.read);
        if worth > most {
            (best, most) = (from, worth);
        }
    }
    best
}

fn stub_of(entry: &SeenEntry, anchor: &str) -> String {
    format!(
        "[{} characters are left out since anchor \"{anchor}\". All of it: context {{\"action\": \"original\", \"target\": \"{}\"}}]",
        entry.characters, entry.id
    )
}

fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}

/// A later result of the same place says it anew.
fn is_same_place(entry: &SeenEntry, later: &SeenEntry) -> bool {
    later.kind == SeenKind::Result && !entry.names.is_empty() && entry.names == later.names
}

/// Somebody goes on with it: its path or the name of its file was said since.
fn is_named(entry: &SeenEntry, since: &str) -> bool {
    let files = entry.names.iter().filter_map(|name| name.rsplit('/').next());
    let files = files.filter(|file| file.contains('.') && file.len() >= NAME_CHARACTERS_MIN);
    let names = entry
        .names
        .iter()
        .filter(|name| name.len() >= NAME_CHARACTERS_MIN);
    let mut all = names.map(String::as_str).chain(files);
    all.any(|name| says(since, name))
}

/// The name stands there for itself, and is no part of a longer one.
fn says(text: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let mut behind = text[at + name.len()..].chars();
            let next = behind.next();
            let is_extended = next == Some('.') && behind.next().is_some_and(char::is_alphanumeric);
            !before.is_some_and(goes_on) && !next.is_some_and(goes_on) && !is_extended
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: CachePrices = CachePrices {
        read: 0.1,
        written: 1.25,
        written_for_an_hour: 2.0,
    };
    const TERMS: TruncationTerms = TruncationTerms {
        enabled: true,
        characters_min: 400,
        pays_within: 10,
    };

    fn entry(id: &str, kind: SeenKind, characters: u64) -> SeenEntry {
        SeenEntry {
            id: id.to_string(),
            kind,
            characters,
            names: Vec::new(),
        }
    }

    fn read(id: &str, path: &str, characters: u64) -> SeenEntry {
        SeenEntry {
            names: vec![path.to_string()],
            ..entry(id, SeenKind::Result, characters)
        }
    }

    fn said() -> SeenEntry {
        entry("said", SeenKind::Said, 80)
    }

    fn anchor(name: &str) -> SeenEntry {
        let name = name.to_string();
        entry("anchor", SeenKind::Anchor { name }, 60)
    }

    fn cut(seen: &[SeenEntry], since: &str) -> Vec<String> {
        let cut = results_to_cut(seen, since, PRICES, &TERMS);
        cut.into_iter().map(|cut| cut.id).collect()
    }

    #[test]
    fn what_was_seen_whole_before_the_newest_anchor_is_left_out() {
        let seen = [
            said(),
            read("one", "src/one.rs", 3_000),
            said(),
            anchor("first"),
            said(),
            read("two", "src/two.rs", 3_000),
            said(),
            anchor("second"),
        ];
        assert_eq!(cut(&seen, "done with all of it"), ["one", "two"]);
        assert_eq!(cut(&seen[..4], ""), ["one"]);
        assert_eq!(cut(&seen[..3], ""), <[&str; 0]>::default(), "no anchor");
    }

    #[test]
    fn a_result_that_was_called_beside_the_anchor_was_not_seen_yet() {
        let seen = [
            said(),
            read("seen", "a.rs", 20_000),
            said(),
            read("beside", "b.rs", 9_000),
            anchor("now"),
        ];
        assert_eq!(cut(&seen, ""), ["seen"]);
    }

    #[test]
    fn what_is_named_since_stays() {
        let seen = |path| [said(), read("e5f6a7b8", path, 9_000), said(), anchor("now")];
        for since in [
            "src/lib.rs says how",
            "see lib.rs:40",
            "\"lib.rs\"",
            "./src/lib.rs.",
            "as in e5f6a7b8",
        ] {
            assert_eq!(cut(&seen("src/lib.rs"), since), <[&str; 0]>::default(), "{since}");
        }
        for since in [
            "glib.rs",
            "lib.rs.bak",
            "lib.rss",
            "my-lib.rs",
            "src",
            "the library",
        ] {
            assert_eq!(cut(&seen("src/lib.rs"), since), ["e5f6a7b8"], "{since}");
        }
        assert_eq!(
            cut(&seen("src"), "in src"),
            ["e5f6a7b8"],
            "a short name says nothing"
        );
    }

    #[test]
    fn of_several_results_of_a_place_the_newest_stays() {
        let seen = [
            said(),
            read("before", "src/lib.rs", 9_000),
            said(),
            read("after", "src/lib.rs", 500),
            said(),
            anchor("now"),
        ];
        assert_eq!(cut(&seen, "lib.rs says how"), ["before"]);
    }

    #[test]
    fn short_results_and_those_that_were_cut_or_brought_back_stay() {
        let seen = [
            said(),
            read("short", "a.rs", 399),
            entry("kept", SeenKind::Kept, 9_000),
            read("long", "b.rs", 9_000),
            said(),
            anchor("now"),
        ];
        assert_eq!(cut(&seen, ""), ["long"]);
    }

    #[test]
    fn it_must_pay_for_the_cache_that_is_filled_anew() {
        // 1 000 tokens less in ten requests save 1 000 reads at a tenth each, 10 000 tokens behind cost 11 500.
        let small = read("small", "a.rs", 4_000);
        let stays = entry("kept", SeenKind::Kept, 40_000);
        assert_eq!(
            cut(&[said(), small.clone(), stays.clone(), said(), anchor("now")], ""),
            <[&str; 0]>::default()
        );
        // Behind it, one that pays alone is cut alone.
        let large = read("large", "b.rs", 8_000);
        let seen = [said(), small.clone(), stays, large.clone(), said(), anchor("now")];
        assert_eq!(cut(&seen, ""), ["large"]);
        assert_eq!(
            cut(&[said(), small, large, said(), anchor("now")], ""),
            ["small", "large"]
        );
    }

    #[test]
    fn the_stub_says_how_much_since_when_and_how_to_get_it_again() {
        let seen = [said(), read("e5f6a7b8", "a.rs", 9_000), said(), anchor("plan")];
        let cut = results_to_cut(&seen, "", PRICES, &TERMS);
        assert_eq!(
            cut[0].stub,
            r#"[9000 characters are left out since anchor "plan". All of it: context {"action": "original", "target": "e5f6a7b8"}]"#
        );
        let off = TruncationTerms {
            enabled: false,
            ..TERMS
        };
        assert_eq!(results_to_cut(&seen, "", PRICES, &off), []);
    }
}
