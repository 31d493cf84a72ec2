//! Anchored editing against a plain model, beside others who write the same file, and killed at any moment.

mod beside_others;
mod cases;
mod killed;
mod model;
mod wild;

/// Twenty thousand files and as many calls; a million run in `cargo bench --bench editing`.
#[test]
fn files_come_to_what_the_model_says() {
    let failures: Vec<String> = (0..20_000).filter_map(|seed| cases::check(seed).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of 20000 differ:\n{}",
        failures.len(),
        failures[0]
    );
}

/// Anchors, operations and texts as nobody should write them: each call is answered, and each answer is bounded.
#[test]
fn whatever_a_model_writes_is_answered() {
    for seed in 0..20_000 {
        wild::check(seed);
    }
}
