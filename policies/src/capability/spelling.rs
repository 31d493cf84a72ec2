//! What a word may have been meant to be that nothing has: a slip of the pen, an abbreviation, two words in one.

/// Words shorter than this are looked for as they are.
const SLIP_LETTERS_MIN: usize = 4;
/// From here on two slips are forgiven.
const TWO_SLIPS_LETTERS_MIN: usize = 8;
/// What a word with one slip counts, and with two.
const SLIP_SHARES: [f64; 3] = [1.0, 0.8, 0.65];
const SLIPS_MAX: u32 = 2;
/// What a word counts that only begins like the one that is meant.
const BEGINNING_SHARE: f64 = 0.55;
const BEGINNING_LETTERS_MIN: usize = 3;
/// Two words that share their beginning do so for this share of the longer one, at least.
const COMMON_BEGINNING: f64 = 0.6;
/// What each half of a word counts that is two words in one.
const HALF_SHARE: f64 = 0.6;
const HALF_LETTERS_MIN: usize = 3;

/// How likely `meant` is what `written` was meant to be: from 0, not at all.
pub fn likeness(written: &str, meant: &str) -> f64 {
    let (written, meant): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
    let (short, long) = (written.len().min(meant.len()), written.len().max(meant.len()));
    if short < BEGINNING_LETTERS_MIN {
        return 0.0;
    }
    let slips_max = match written.len() {
        0..SLIP_LETTERS_MIN => 0,
        SLIP_LETTERS_MIN..TWO_SLIPS_LETTERS_MIN => 1,
        _ => 2,
    };
    if long - short <= slips_max {
        let slips = slips(&written, &meant);
        if let Some(share) = SLIP_SHARES.get(slips).filter(|_| slips <= slips_max) {
            return *share;
        }
    }
    let common = written
        .iter()
        .zip(&meant)
        .take_while(|(one, other)| one == other)
        .count();
    let is_abbreviation = common == written.len() && common >= BEGINNING_LETTERS_MIN;
    let share_beginning = common > SLIP_LETTERS_MIN && common as f64 >= COMMON_BEGINNING * long as f64;
    match is_abbreviation || share_beginning {
        true => BEGINNING_SHARE * (0.5 + 0.5 * common as f64 / long as f64),
        false => 0.0,
    }
}

/// How many letters were left out, added, changed, or swapped with their neighbour.
fn slips(one: &[char], other: &[char]) -> usize {
    let width = other.len() + 1;
    let mut rows: Vec<Vec<usize>> = vec![(0..width).collect()];
    for (at, letter) in one.iter().enumerate() {
        let above = &rows[at];
        let mut row = vec![at + 1; width];
        for column in 1..width {
            let is_same = *letter == other[column - 1];
            let mut least = (above[column] + 1)
                .min(row[column - 1] + 1)
                .min(above[column - 1] + usize::from(!is_same));
            let is_swapped =
                at > 0 && column > 1 && *letter == other[column - 2] && one[at - 1] == other[column - 1];
            if is_swapped {
                least = least.min(rows[at - 1][column - 2] + 1);
            }
            row[column] = least;
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

/// A long word written as its first letter, the number of letters between, and its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numeronym {
    pub first: char,
    pub letters: usize,
    pub last: char,
}

impl Numeronym {
    /// What `written` stands for, where it is one.
    pub fn read(written: &str) -> Option<Self> {
        let first = written.chars().next().filter(char::is_ascii_lowercase)?;
        let last = written.chars().next_back().filter(char::is_ascii_lowercase)?;
        let between: usize = written.get(1..written.len() - 1)?.parse().ok()?;
        (1..30).contains(&between).then_some(Self {
            first,
            letters: between + 2,
            last,
        })
    }

    /// Whether it is this word.
    pub fn is(self, word: &str) -> bool {
        word.chars().count() == self.letters && word.starts_with(self.first) && word.ends_with(self.last)
    }
}

/// How a word may be two, each half with what it counts.
pub fn halves(written: &str) -> Vec<[(&str, f64); 2]> {
    let letters: Vec<usize> = written.char_indices().map(|(at, _)| at).collect();
    let last = letters.len().saturating_sub(HALF_LETTERS_MIN);
    let cuts = letters
        .get(HALF_LETTERS_MIN..=last.max(HALF_LETTERS_MIN))
        .unwrap_or(&[]);
    let cuts = cuts.iter().filter(|_| last >= HALF_LETTERS_MIN);
    cuts.map(|at| written.split_at(*at))
        .map(|(one, other)| [(one, HALF_SHARE), (other, HALF_SHARE)])
        .collect()
}

/// What can be said at a glance of a word, so that few others are compared with it letter by letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letters {
    beginning: String,
    /// A bit for each letter that is in it.
    set: u32,
}

impl Letters {
    pub fn of(written: &str) -> Self {
        let letters = written.chars().take(BEGINNING_LETTERS_MIN);
        Self {
            beginning: letters.collect(),
            set: set_of(written),
        }
    }

    /// Whether [`likeness`] may be more than nothing: they begin alike, or as many letters differ as slips are forgiven. A
    /// letter that was changed for another is missing in one and too many in the other.
    pub fn may_be_like(&self, other: &str) -> bool {
        let differ = (self.set ^ set_of(other)).count_ones();
        differ <= 2 * SLIPS_MAX || other.starts_with(&self.beginning)
    }
}

/// Others share bits, so that more is compared and nothing is missed.
fn set_of(written: &str) -> u32 {
    written
        .chars()
        .fold(0, |set, letter| set | 1 << (letter as u32 % u32::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_forgiven_in_long_words() {
        assert_eq!(likeness("elefant", "elephant"), 0.0);
        assert_eq!(likeness("elepahnt", "elephant"), 0.8);
        assert_eq!(likeness("elpehnt", "elephant"), 0.0);
        assert_eq!(likeness("rhinocerros", "rhinoceros"), 0.8);
        assert_eq!(likeness("rinoceros", "rhinoceroos"), 0.65);
        assert_eq!(likeness("cat", "cut"), 0.0);
        assert_eq!(likeness("goat", "boat"), 0.8);
    }

    #[test]
    fn an_abbreviation_begins_the_word() {
        assert!(likeness("rhino", "rhinoceros") > 0.3);
        assert!(likeness("rh", "rhinoceros") == 0.0);
        assert!(likeness("zoologist", "zoology") > 0.3);
        assert_eq!(likeness("zoologist", "zoom"), 0.0);
    }

    #[test]
    fn a_numeronym_counts_its_letters() {
        let word = Numeronym::read("r8s").expect("one");
        assert!(word.is("rhinoceros") && !word.is("rhinos"));
        for other in ["h264", "s3", "rs", "8", "", "a99z", "é1é"] {
            assert_eq!(Numeronym::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_word_may_be_two() {
        let of = |word| {
            halves(word)
                .into_iter()
                .map(|[one, other]| (one.0, other.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("seahorse"),
            [("sea", "horse"), ("seah", "orse"), ("seaho", "rse")]
        );
        assert_eq!(of("horse"), []);
        assert_eq!(of("öäüöäü"), [("öäü", "öäü")]);
    }

    #[test]
    fn a_glance_misses_nothing_that_is_like() {
        let words = [
            "elephant",
            "elepahnt",
            "elephants",
            "rhinocerros",
            "rhinoceros",
            "rhino",
            "goat",
            "boat",
            "zoologist",
            "zoology",
            "öäüöäü",
            "yak",
        ];
        for written in words {
            let letters = Letters::of(written);
            for other in words {
                let is_like = likeness(written, other) > 0.0;
                assert!(!is_like || letters.may_be_like(other), "{written} {other}");
            }
        }
        assert!(!Letters::of("elephant").may_be_like("rhinoceros"));
    }
}
