//! Which of the names there are was meant?

/// Longer words are not compared.
const LENGTH_MAX: usize = 64;

/// The name closest to what was written, if any is close.
pub fn nearest_name<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LENGTH_MAX {
        return None;
    }
    let near_enough = written.chars().count().div_ceil(3);
    let written = written.to_lowercase();
    let comparable = known.into_iter().filter(|name| name.len() <= LENGTH_MAX);
    let scored = comparable.map(|name| (distance(&written, &name.to_lowercase()), name));
    let (distance, name) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= near_enough).then_some(name)
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
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["review", "demo", "refactor"];
        assert_eq!(nearest_name("revew", known), Some("review"));
        assert_eq!(nearest_name("Dmeo", known), Some("demo"));
        assert_eq!(nearest_name("colour", known), None);
        assert_eq!(nearest_name("demo", []), None);
        assert_eq!(nearest_name(&"x".repeat(1_000), known), None);
    }
}
