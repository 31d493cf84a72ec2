//! The words of everything that can be used, held by their places, so that a request is answered without a look at a file.

use super::CapabilityKind;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The columns of what can be used: its name, summary, parameters and place.
pub const COLUMNS: usize = 4;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// In what, by its place among what is held.
    pub place: u32,
    /// How often, in each column.
    pub times: [u16; COLUMNS],
}

/// The words of what is held.
#[derive(Debug, Default)]
pub struct HeldWords {
    kinds: Vec<CapabilityKind>,
    /// How many words stand in each column, by place.
    lengths: Vec<[u32; COLUMNS]>,
    all_lengths: [u64; COLUMNS],
    /// By the word as an index keeps it.
    postings: BTreeMap<Box<str>, Vec<Posting>>,
    /// Words as they are written, with what an index keeps of each.
    forms: BTreeMap<Box<str>, Box<str>>,
}

impl HeldWords {
    /// For things of these kinds, of which nothing is said yet.
    pub fn of(kinds: Vec<CapabilityKind>) -> Self {
        Self {
            lengths: vec![[0; COLUMNS]; kinds.len()],
            kinds,
            ..Self::default()
        }
    }

    /// A word stands once more in a column. What stands in one thing is added before what stands in the next.
    pub fn add(&mut self, kept: &str, place: usize, column: usize) {
        let Some(lengths) = self.lengths.get_mut(place) else {
            return;
        };
        lengths[column] += 1;
        self.all_lengths[column] += 1;
        let postings = match self.postings.get_mut(kept) {
            Some(postings) => postings,
            None => self.postings.entry(kept.into()).or_default(),
        };
        let place = place as u32;
        match postings.last_mut().filter(|last| last.place == place) {
            Some(last) => last.times[column] = last.times[column].saturating_add(1),
            None => {
                let mut times = [0; COLUMNS];
                times[column] = 1;
                postings.push(Posting { place, times });
            }
        }
    }

    /// Says how a word is kept that is written so.
    pub fn add_form(&mut self, written: &str, kept: &str) {
        self.forms.insert(written.into(), kept.into());
    }

    /// How many things are held.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn kind(&self, place: usize) -> CapabilityKind {
        self.kinds[place]
    }

    /// At least one, so that it can be divided by.
    pub(super) fn length(&self, place: usize, column: usize) -> f64 {
        f64::from(self.lengths[place][column].max(1))
    }

    pub(super) fn mean_length(&self, column: usize) -> f64 {
        (self.all_lengths[column] as f64 / self.kinds.len().max(1) as f64).max(1.0)
    }

    /// Where a word stands, as an index keeps it.
    pub fn postings(&self, kept: &str) -> &[Posting] {
        self.postings.get(kept).map_or(&[], Vec::as_slice)
    }

    /// What an index keeps of a word that is written so somewhere.
    pub(super) fn kept_of(&self, written: &str) -> Option<&str> {
        self.forms.get(written).map(|kept| &**kept)
    }

    /// Every word as it is written, with what is kept of it, from those that begin so.
    pub(super) fn forms_from<'a>(
        &'a self,
        beginning: &str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let from = Bound::Included(beginning);
        let forms = self.forms.range::<str, _>((from, Bound::Unbounded));
        forms.map(|(written, kept)| (&**written, &**kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_held_with_where_it_stands() {
        let mut held = HeldWords::of(vec![CapabilityKind::Tool, CapabilityKind::Skill]);
        for (place, column) in [(0, 0), (0, 1), (0, 1), (1, 1), (7, 1)] {
            held.add("wash", place, column);
        }
        let times = |place, times| Posting { place, times };
        assert_eq!(
            held.postings("wash"),
            [times(0, [1, 2, 0, 0]), times(1, [0, 1, 0, 0])]
        );
        assert_eq!((held.length(0, 1), held.mean_length(1)), (2.0, 1.5));
        assert_eq!((held.postings("dry"), held.count()), (&[][..], 2));
    }

    #[test]
    fn forms_are_found_by_how_they_are_written() {
        let mut held = HeldWords::default();
        for (written, kept) in [("washing", "wash"), ("dried", "dri"), ("washed", "wash")] {
            held.add_form(written, kept);
        }
        assert_eq!(held.kept_of("washing"), Some("wash"));
        let from: Vec<&str> = held.forms_from("w").map(|(written, _)| written).collect();
        assert_eq!(from, ["washed", "washing"]);
    }
}
