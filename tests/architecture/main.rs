//! The shape of the project as tests: each holds one invariant, and `docs/ARCHITECTURE.md` lists them by these names.
//!
//! They read the tracked sources, as tokens for Rust and as text for the rest. Where an exception is right, it stands
//! in the test with its reason; an exception that nothing needs any more fails the test too.

mod actors;
mod directions;
mod extension;
mod files;
mod mentions;
mod policies;
mod reach;
mod sources;

/// Fails with every violation of an invariant, one a line.
fn hold(invariant: &str, violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{invariant}:\n  {}",
        violations.join("\n  ")
    );
}

/// Takes out of the violations what an exception allows; an exception that allows nothing is one too many.
fn except(violations: Vec<String>, exceptions: &[(&str, &str)]) -> Vec<String> {
    let allowed = |violation: &String| exceptions.iter().any(|(place, _)| violation.starts_with(place));
    let needless = exceptions
        .iter()
        .filter(|(place, _)| !violations.iter().any(|violation| violation.starts_with(place)))
        .map(|(place, reason)| format!("{place}: nothing needs this exception any more ({reason})"));
    let needless: Vec<String> = needless.collect();
    violations
        .into_iter()
        .filter(|violation| !allowed(violation))
        .chain(needless)
        .collect()
}

#[test]
fn an_exception_allows_what_it_names_and_must_be_needed() {
    let violations = vec!["src/a.rs:1: x".to_owned(), "src/b.rs:1: x".to_owned()];
    let left = except(violations, &[("src/a.rs", "reason"), ("src/c.rs", "old reason")]);
    assert_eq!(
        left,
        [
            "src/b.rs:1: x",
            "src/c.rs: nothing needs this exception any more (old reason)"
        ]
    );
}
