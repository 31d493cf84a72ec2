//! What may know what.

use std::collections::BTreeSet;

use crate::sources::{files, is_below, mentioned, rust};
use crate::{except, hold};

#[test]
fn crates_depend_one_way() {
    let allowed: [(&str, &[&str]); 6] = [
        ("policies/Cargo.toml", &[]),
        ("structural/Cargo.toml", &["impresario-policies"]),
        (
            "actors/Cargo.toml",
            &["impresario-policies", "impresario-structural"],
        ),
        ("tests/model-server/Cargo.toml", &["impresario-policies"]),
        ("tests/support/Cargo.toml", &["impresario-model-server"]),
        ("Cargo.toml", &["impresario-policies", "impresario-actors"]),
    ];
    let mut violations = Vec::new();
    for (path, ours) in allowed {
        let manifest = files(&[path])
            .into_iter()
            .find(|file| file.path == path)
            .expect("a manifest");
        for dependency in dependencies(&manifest.text) {
            if dependency.starts_with("impresario") && !ours.contains(&dependency.as_str()) {
                violations.push(format!("{path}: {dependency}"));
            }
        }
    }
    hold(
        "policies ← actors ← impresario, and nothing points back",
        &violations,
    );
}

#[test]
fn only_wiring_knows_everyone() {
    let actors: BTreeSet<String> = actor_types().into_iter().map(|(_, name)| name).collect();
    let mut violations = Vec::new();
    for source in rust(&["src/"]) {
        let known: BTreeSet<&str> = source
            .mentions
            .iter()
            .filter(|mention| is_below(&mention.path, &["impresario_actors"]))
            .filter_map(|mention| mention.path.split("::").find(|word| actors.contains(*word)))
            .collect();
        if known.len() > 1 && source.path != "src/wiring.rs" {
            violations.push(format!("{}: {known:?}", source.path));
        }
    }
    hold("only wiring.rs knows more than one actor", &violations);
}

#[test]
fn actors_meet_in_messages() {
    let types = actor_types();
    let names_another = |own: &str, mention: &str| {
        let words: Vec<&str> = mention.split("::").collect();
        types.iter().any(|(home, name)| {
            own != home
                && words.first() == Some(&"crate")
                && words.get(1) == Some(&home.as_str())
                && words.contains(&name.as_str())
        })
    };
    let violations = mentioned(&rust(&["actors/src/"]), |source, mention| {
        names_another(home_of(&source.path), mention)
    });
    hold("an actor never imports another actor", &violations);
}

#[test]
fn actix_is_named_below_supervision_only() {
    let everywhere = rust(&["policies/", "actors/", "src/", "tests/", "examples/", "benches/"]);
    let outside: Vec<_> = everywhere
        .into_iter()
        .filter(|source| !source.path.starts_with("actors/src/supervision/"))
        .collect();
    let violations = mentioned(&outside, |_, mention| is_below(mention, &["actix", "actix_rt"]));
    hold(
        "the library underneath supervision is named there only",
        &except(violations, &[]),
    );
    for manifest in files(&["policies/Cargo.toml", "tests/"])
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"))
    {
        assert!(
            !dependencies(&manifest.text).contains("actix"),
            "{}",
            manifest.path
        );
    }
}

/// The actor types of the actors crate, each with the module at the top of the crate that it lives in.
fn actor_types() -> Vec<(String, String)> {
    let mut types = Vec::new();
    for source in rust(&["actors/src/"])
        .iter()
        .filter(|source| !source.path.starts_with("actors/src/supervision/"))
    {
        let words: Vec<&str> = source
            .mentions
            .iter()
            .map(|mention| mention.path.as_str())
            .collect();
        for window in words.windows(4) {
            if let ["impl", "Actor", "for", name] = window {
                types.push((home_of(&source.path).to_owned(), (*name).to_owned()));
            }
        }
    }
    assert!(types.len() >= 5, "the actors were not found: {types:?}");
    types
}

/// The module at the top of the crate that a file belongs to.
fn home_of(path: &str) -> &str {
    let inside = path.trim_start_matches("actors/src/");
    inside
        .split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// The names in `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1);
    let names = lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'));
    names
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}
