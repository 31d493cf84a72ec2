//! Policies decide, from what they are given and nothing else.

use crate::sources::{files, is_below, mentioned, rust};
use crate::{except, hold};

#[test]
fn policies_need_nothing_but_their_facts() {
    let outside = [
        "tokio",
        "actix",
        "rusqlite",
        "futures_util",
        "fastrand",
        "rustix",
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::thread",
        "std::os",
        "std::time::Instant",
        "std::time::SystemTime",
    ];
    let words = ["async", "Instant", "SystemTime"];
    let banned = |mention: &str| is_below(mention, &outside) || words.contains(&mention);
    let violations = mentioned(&rust(&["policies/src/"]), |_, mention| banned(mention));
    hold(
        "a policy has no I/O, no clock, no environment and waits for nothing",
        &violations,
    );
}

/// What a journal keeps cannot change with a policy's settings.
#[test]
fn the_domain_imports_no_policy() {
    let violations = mentioned(&rust(&["policies/src/domain/"]), |_, mention| {
        mention.starts_with("crate::") && !mention.starts_with("crate::domain")
    });
    hold("the domain knows nothing but itself", &violations);
}

#[test]
fn policies_and_actors_have_one_order() {
    let hashed = |mention: &str| {
        mention
            .split("::")
            .any(|word| ["HashMap", "HashSet", "RandomState"].contains(&word))
    };
    let violations = mentioned(&rust(&["policies/src/", "actors/src/"]), |_, mention| {
        hashed(mention)
    });
    let exceptions = [(
        "policies/src/retrieval/words.rs",
        "stems are looked up, never gone through in order",
    )];
    hold(
        "what is gone through has an order that is the same in every process",
        &except(violations, &exceptions),
    );
}

#[test]
fn policies_answer_instead_of_failing() {
    let deciding = ["decide_", "choose_", "review_", "plan_"];
    let mut violations = Vec::new();
    for source in files(&["policies/src/"])
        .iter()
        .filter(|source| source.path.ends_with(".rs"))
    {
        for (name, signature) in public_functions(&source.text) {
            let decides = deciding.iter().any(|verb| name.starts_with(verb));
            if decides && signature.contains("-> Result<") {
                violations.push(format!("{}: {name}", source.path));
            }
        }
    }
    let exceptions = [
        (
            "policies/src/execution_route.rs",
            "a peer's rule: recorded cases expect its error where no model fits",
        ),
        (
            "policies/src/parallel.rs",
            "a peer's rule: recorded cases expect its error where tasks are refused",
        ),
        (
            "policies/src/preflight.rs",
            "a peer's rule: recorded cases expect its error where the engine is not ready",
        ),
    ];
    hold(
        "a decision says \"I cannot tell\" in a variant, not as an error",
        &except(violations, &exceptions),
    );
}

#[test]
fn policies_have_a_test_each() {
    let conformance: String = files(&["tests/conformance/"])
        .iter()
        .map(|file| file.text.as_str())
        .collect();
    let mut violations = Vec::new();
    for source in files(&["policies/src/"]) {
        // What lies deeper belongs to a policy of that name, and is tested with it.
        let name = source
            .path
            .trim_start_matches("policies/src/")
            .trim_end_matches(".rs");
        let decides = !name.contains('/') && name != "lib" && source.text.contains("pub fn");
        if decides && !source.text.contains("mod tests") && !conformance.contains(name) {
            violations.push(source.path.clone());
        }
    }
    hold(
        "a policy is tested where it stands, or by the recorded cases of the peer whose rule it is",
        &violations,
    );
}

/// The public functions of a file, each with its text up to the body.
fn public_functions(text: &str) -> Vec<(&str, &str)> {
    let begins = text
        .match_indices("pub fn ")
        .map(|(index, found)| index + found.len());
    let function = |begin: usize| {
        let signature = &text[begin..];
        let signature = &signature[..signature.find(['{', ';']).unwrap_or(signature.len())];
        (signature.split(['(', '<']).next().unwrap_or_default(), signature)
    };
    begins.map(function).collect()
}
