//! The fuzz targets hold for their seeds, and for bytes of chance: so they cannot rot between two runs of a fuzzer.

#[path = "../../fuzz/src/targets.rs"]
mod targets;

use proptest::collection::vec;
use proptest::prelude::any;
use std::path::Path;

fn check_seeds(target: &str, holds: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let mut count = 0;
    for seed in std::fs::read_dir(&seeds).expect("seeds") {
        holds(&std::fs::read(seed.expect("a seed").path()).expect("bytes"));
        count += 1;
    }
    assert!(count > 0, "{target} has no seeds");
}

#[test]
fn the_targets_hold_for_their_seeds() {
    check_seeds("anchors", targets::anchors);
    check_seeds("patches", targets::patches);
    check_seeds("html", targets::html);
    check_seeds("redact", targets::redact);
}

proptest::proptest! {
    #[test]
    fn the_targets_hold_for_any_bytes(data in vec(any::<u8>(), 0..400)) {
        targets::anchors(&data);
        targets::patches(&data);
        targets::html(&data);
        targets::redact(&data);
    }

    #[test]
    fn the_targets_hold_for_texts_that_mean_something(
        text in r#"((token|Bearer |api_key|secret|password|"|'|\\|:|=|=>| |\n|\[REDACTED\]|sk-|eyJ|basic |ghp_|-----BEGIN RSA PRIVATE KEY-----|-----END RSA PRIVATE KEY-----|Cookie: |://|@|\$\{|[a-f0-9]{8}|[A-Za-z0-9]{20}|😀|<li>|<a href=x>|</ul>|1#|\|)){0,40}"#
    ) {
        targets::anchors(text.as_bytes());
        targets::patches(text.as_bytes());
        targets::html(text.as_bytes());
        targets::redact(text.as_bytes());
    }
}
