//! Which key was meant?

use super::keys::{KEYS, SECTIONS};

/// Longer words are not compared.
const LENGTH_MAX: usize = 64;

/// The key or section closest to what was written, if any is close.
pub fn nearest_key(written: &str) -> Option<&'static str> {
    if written.len() > LENGTH_MAX {
        return None;
    }
    let known = KEYS.iter().map(|key| key.path).chain(SECTIONS);
    let scored = known.map(|path| (distance(&written.to_lowercase(), &path.to_lowercase()), path));
    let (distance, path) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= written.chars().count().div_ceil(3)).then_some(path)
}

/// How many letters must be put in, taken out, replaced, or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, of_b) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(of_a != of_b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && *of_a == b[j - 1] && a[i - 1] == *of_b;
            if swapped {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(nearest_key("HistoryWindow"), Some("historyWindow"));
        assert_eq!(nearest_key("totalTimeotuMs"), Some("totalTimeoutMs"));
        assert_eq!(
            nearest_key("executionRouting.model"),
            Some("executionRouting.models")
        );
        assert_eq!(nearest_key("outputSanitiser"), Some("outputSanitizer"));
        assert_eq!(nearest_key("colour"), None);
        assert_eq!(nearest_key(&"x".repeat(1_000)), None);
    }
}
