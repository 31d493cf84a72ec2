//! Settings files.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::settings::{NoticeKind, Place, Resolved, SettingsFile, resolve_settings};
use std::collections::BTreeMap;

/// Where the peer's defaults are not ours (docs/adr/0012): as if the user had set them.
const PEERS_DEFAULTS: SettingsFile<'static> = SettingsFile {
    place: Place::Home,
    trusted: true,
    text: Some(
        r#"{"auggieRouter":{"contextMemory":{"enabled":false,"maxEntries":8,"maxBytesPerRun":1000000}}}"#,
    ),
};

/// What our settings are where the peer reads this file.
pub fn resolve_as_peer(text: Option<&str>) -> Resolved {
    let file = SettingsFile {
        place: Place::Workspace,
        trusted: true,
        text,
    };
    resolve_settings(&[PEERS_DEFAULTS, file])
}

/// The last key the peer has; those after it are ours.
const PEERS_LAST: &str = "promptInjection.enabled";

pub fn config(case: &Case) -> Answer {
    let ours = resolve_as_peer(case.get("file").as_str());
    let defaults = flat(&resolve_as_peer(None));
    let values = flat(&ours);
    let changed = values
        .iter()
        .filter(|(path, value)| defaults.get(*path) != Some(value));
    let removed = defaults.keys().filter(|path| !values.contains_key(*path));
    let warnings: Vec<Json> = ours
        .notices
        .iter()
        .filter_map(|notice| warning(&notice.kind))
        .collect();
    let order = ["cheap", "balanced", "frontier"];
    let mut removed: Vec<&String> = removed.collect();
    removed.sort_by_key(|path| order.iter().position(|tier| path.ends_with(tier)));
    Answer::Value(object(vec![
        (
            "changed",
            Json::Object(
                changed
                    .map(|(path, value)| (path.clone(), value.clone()))
                    .collect(),
            ),
        ),
        (
            "removed",
            Json::Array(
                removed
                    .into_iter()
                    .map(|path| Json::String(path.clone()))
                    .collect(),
            ),
        ),
        ("warnings", Json::Array(warnings)),
    ]))
}

/// Dotted paths of the peer's keys to values; pools are taken apart, lists are not.
pub fn flat(resolved: &Resolved) -> BTreeMap<String, Json> {
    let mut values = BTreeMap::new();
    for value in &resolved.values {
        match Json::from(&value.value) {
            Json::Object(entries) => {
                let parts = entries
                    .iter()
                    .map(|(part, item)| (format!("{}.{part}", value.key.path), item.clone()));
                values.extend(parts);
            }
            single => {
                values.insert(value.key.path.to_string(), single);
            }
        }
        if value.key.path == PEERS_LAST {
            break;
        }
    }
    values
}

/// As the peer warns; it says nothing of unknown keys.
pub fn warning(kind: &NoticeKind) -> Option<Json> {
    let text = |text: &str| Json::String(text.to_string());
    let mut entries = vec![("level", text("warn"))];
    match kind {
        NoticeKind::ParseFailed { .. } => entries.push(("kind", text("parse-failed"))),
        NoticeKind::SectionNotObject { got } => {
            entries.push(("kind", text("root-not-object")));
            entries.push(("got", text(got)));
        }
        NoticeKind::Invalid { key, why } => {
            entries.push(("kind", text("invalid")));
            entries.push(("key", text(key)));
            entries.push(("message", text(&format!("auggieRouter.{key}: {why}"))));
        }
        NoticeKind::Unknown { .. } | NoticeKind::Untrusted { .. } | NoticeKind::InAnyCase { .. } => {
            return None;
        }
    }
    Some(object(entries))
}

fn object(entries: Vec<(&str, Json)>) -> Json {
    Json::Object(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect(),
    )
}
