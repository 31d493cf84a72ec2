//! What becomes of a file that a replacement was about, and which records of replacements are kept.

/// So many replacements can be taken back …
const RECORDS_MAX: usize = 50;
/// … as long as what they keep is no larger together.
const RECORDS_BYTES_MAX: u64 = 200_000_000;

/// What to do with a file so that it is as it was before the replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restoring {
    /// It is what the replacement made of it: write what it was.
    Write,
    /// It is what it was.
    Leave,
    /// Somebody made something else of it: it is theirs, and is told of.
    Tell,
}

/// By the hash of what is there now; none where nothing is.
pub fn decide_restoring(now: Option<&str>, old: &str, new: &str) -> Restoring {
    match now {
        Some(now) if now == old => Restoring::Leave,
        Some(now) if now == new => Restoring::Write,
        Some(_) | None => Restoring::Tell,
    }
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Counted up.
    pub number: u64,
    /// What it keeps.
    pub bytes: u64,
}

/// The records that go, so that there is room for one more.
pub fn choose_forgotten(mut records: Vec<Record>) -> Vec<u64> {
    records.sort_unstable_by_key(|record| std::cmp::Reverse(record.number));
    let mut bytes: u64 = 0;
    let mut is_full = false;
    let mut forgotten = Vec::new();
    for (place, record) in records.iter().enumerate() {
        bytes = bytes.saturating_add(record.bytes);
        is_full |= place + 1 >= RECORDS_MAX || bytes > RECORDS_BYTES_MAX;
        // The number of the newest says what the next one is called.
        if is_full && place > 0 {
            forgotten.push(record.number);
        }
    }
    forgotten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_replacement_made_is_written_over() {
        assert_eq!(decide_restoring(Some("new"), "old", "new"), Restoring::Write);
        assert_eq!(decide_restoring(Some("old"), "old", "new"), Restoring::Leave);
        assert_eq!(decide_restoring(Some("mine"), "old", "new"), Restoring::Tell);
        assert_eq!(decide_restoring(None, "old", "new"), Restoring::Tell);
    }

    #[test]
    fn the_oldest_records_go() {
        let record = |number, bytes| Record { number, bytes };
        let many: Vec<Record> = (1..=52).map(|number| record(number, 1)).collect();
        assert_eq!(choose_forgotten(many), [3, 2, 1]);
        let large = vec![record(1, 5), record(2, RECORDS_BYTES_MAX), record(3, 1)];
        assert_eq!(choose_forgotten(large), [2, 1]);
        assert!(choose_forgotten(vec![record(9, RECORDS_BYTES_MAX + 1)]).is_empty());
        assert!(choose_forgotten(Vec::new()).is_empty());
    }
}
