//! What a nested Pi starts with: the user's own login, and nothing that merely happens to be in our environment.

use super::command::provider_of;
use crate::gateways::{AttemptRequest, Login};
use impresario_policies::child_environment::{
    ChildEnvironmentFacts, ChildEnvironmentSettings, choose_child_environment, names_mentioned,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More of one of the user's Pi files is not looked at.
const USER_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Chooses the environment of one attempt and adds what we set ourselves.
pub fn environment(
    request: &AttemptRequest,
    ours: &BTreeMap<String, String>,
    settings: &ChildEnvironmentSettings,
) -> BTreeMap<String, String> {
    let provider = provider_of(&request.model);
    let mentioned = names_for_provider(ours, provider);
    let facts = ChildEnvironmentFacts {
        ours,
        provider,
        mentioned: &mentioned,
    };
    let mut chosen = choose_child_environment(&facts, settings);
    chosen.insert("NO_COLOR".to_string(), "1".to_string());
    chosen.insert("PI_SKIP_VERSION_CHECK".to_string(), "1".to_string());
    chosen.insert(INSIDE_MARK.to_string(), "1".to_string());
    chosen.extend(request.environment.clone());
    chosen
}

/// What a nested Pi calls a model of this provider with: the variables that it would see and that others would not, and
/// what the user's own files say of the provider.
pub fn login(model: &str, ours: &BTreeMap<String, String>, settings: &ChildEnvironmentSettings) -> Login {
    let provider = provider_of(model);
    let mentioned = names_for_provider(ours, provider);
    let chosen = |provider, mentioned| {
        let facts = ChildEnvironmentFacts {
            ours,
            provider,
            mentioned,
        };
        choose_child_environment(&facts, settings)
    };
    let for_anybody = chosen("", &[]);
    let own = chosen(provider, &mentioned).into_iter();
    let own = own.filter(|(name, _)| !for_anybody.contains_key(name));
    let said = user_files(ours, provider);
    Login::of(own.flat_map(|(name, value)| [name, value]).chain(said))
}

/// Set in every nested Pi, so that our extension for hosts keeps out of the way there.
pub const INSIDE_MARK: &str = "IMPRESARIO_INSIDE";

/// Names that the user's own files mention for a provider, such as `"apiKey": "$CORPORATE_KEY"`.
fn names_for_provider(ours: &BTreeMap<String, String>, provider: &str) -> Vec<String> {
    user_files(ours, provider)
        .flat_map(|text| names_mentioned(&text))
        .collect()
}

/// What the user's own files say of a provider.
fn user_files(ours: &BTreeMap<String, String>, provider: &str) -> impl Iterator<Item = String> {
    let places = [
        ("models.json", vec!["providers", provider]),
        ("auth.json", vec![provider]),
    ];
    let directory = agent_directory(ours);
    places.into_iter().filter_map(move |(file, place)| {
        let text = read_some(&directory.as_ref()?.join(file))?;
        Some(part_of(&text, &place))
    })
}

/// The part of a JSON text at a place; the whole when it is no plain JSON (Pi allows comments).
fn part_of(text: &str, place: &[&str]) -> String {
    let Ok(whole) = serde_json::from_str::<Value>(text) else {
        return text.to_string();
    };
    let mut part = &whole;
    for key in place {
        match part.get(key) {
            Some(inner) => part = inner,
            None => return String::new(),
        }
    }
    part.to_string()
}

pub(super) fn agent_directory(ours: &BTreeMap<String, String>) -> Option<PathBuf> {
    let home = ours.get("HOME").map(PathBuf::from);
    match ours.get("PI_CODING_AGENT_DIR").map(String::as_str) {
        Some("~") => home,
        Some(set) if set.starts_with("~/") => Some(home?.join(&set[2..])),
        Some(set) if !set.is_empty() => Some(PathBuf::from(set)),
        Some(_) | None => Some(home?.join(".pi").join("agent")),
    }
}

fn read_some(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(USER_FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_of_the_provider_is_looked_at() {
        let agent = tempfile::tempdir().expect("a temporary directory");
        let models = r#"{"providers":{"one":{"apiKey":"$ONE_KEY"},"two":{"apiKey":"$TWO_KEY"}}}"#;
        std::fs::write(agent.path().join("models.json"), models).expect("a file in it");
        let ours = BTreeMap::from([(
            "PI_CODING_AGENT_DIR".to_string(),
            agent.path().display().to_string(),
        )]);
        assert_eq!(names_for_provider(&ours, "two"), ["TWO_KEY"]);
        assert!(names_for_provider(&ours, "three").is_empty());
    }

    #[test]
    fn files_with_comments_are_looked_at_whole() {
        assert_eq!(part_of("// hi\n{}", &["x"]), "// hi\n{}");
    }
}
