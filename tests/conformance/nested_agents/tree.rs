//! A recorded tree of files, made on the disk.

use crate::compare::sha256;
use crate::json::Json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A tree, and the place it has.
pub struct Tree {
    directory: TempDir,
    place: String,
}

impl Tree {
    pub fn of(input: &Json) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().canonicalize().expect("it is there");
        let tree = Self {
            place: place.to_str().expect("a plain name").to_string(),
            directory,
        };
        let recorded = input.get("tree").cloned().unwrap_or(Json::Null);
        for path in recorded.get("dirs").and_then(Json::as_array).unwrap_or_default() {
            fs::create_dir_all(tree.below(path.as_str().expect("a path"))).expect("made");
        }
        let binary = recorded
            .get("binary")
            .and_then(Json::as_array)
            .unwrap_or_default();
        for (path, content) in entries(recorded.get("files")) {
            let content = text_of(content);
            match binary.iter().any(|name| name.as_str() == Some(path)) {
                true => tree.write(path, &STANDARD.decode(content).expect("base64")),
                false => tree.write(path, content.as_bytes()),
            }
        }
        for (path, target) in entries(recorded.get("symlinks")) {
            let link = tree.below(path);
            fs::create_dir_all(link.parent().expect("a directory")).expect("made");
            let target = tree.placed(target.as_str().expect("a target"));
            std::os::unix::fs::symlink(target, link).expect("linked");
        }
        tree
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn below(&self, path: &str) -> PathBuf {
        PathBuf::from(&self.place).join(path)
    }

    pub fn write(&self, path: &str, bytes: &[u8]) {
        let file = self.below(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        fs::write(file, bytes).expect("written");
    }

    /// `{T}` is this tree.
    pub fn placed(&self, text: &str) -> String {
        text.replace("{T}", &self.place)
    }

    pub fn recorded(&self, text: &str) -> String {
        text.replace(&self.place, "{T}")
    }

    /// As it is recorded: long texts as what is left of them.
    pub fn as_recorded(&self, ours: &Json, recorded: &Json) -> Json {
        match (ours, recorded) {
            (Json::String(text), Json::Object(_)) if recorded.get("sha256").is_some() => {
                digest(&self.recorded(text))
            }
            (Json::String(text), _) => Json::String(self.recorded(text)),
            (Json::Array(items), _) => {
                let recorded = recorded.as_array().unwrap_or_default();
                let item = |(at, item)| self.as_recorded(item, recorded.get(at).unwrap_or(&Json::Null));
                Json::Array(items.iter().enumerate().map(item).collect())
            }
            (Json::Object(entries), _) => {
                let member = |(key, value): &(String, Json)| {
                    let recorded = recorded.get(key).unwrap_or(&Json::Null);
                    (self.recorded(key), self.as_recorded(value, recorded))
                };
                Json::Object(entries.iter().map(member).collect())
            }
            (other, _) => other.clone(),
        }
    }
}

pub fn entries(value: Option<&Json>) -> Vec<(&str, &Json)> {
    let entries = value.and_then(Json::as_object).unwrap_or_default();
    entries.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

/// A text, or what it is made of.
pub fn text_of(content: &Json) -> String {
    let Json::Object(_) = content else {
        return content.as_str().expect("a text").to_string();
    };
    let part = |key: &str| content.get(key).and_then(Json::as_str).unwrap_or_default();
    let times = content.get("times").and_then(Json::as_number).unwrap_or_default();
    format!(
        "{}{}{}",
        part("prefix"),
        part("repeat").repeat(times as usize),
        part("suffix")
    )
}

/// What a long text is recorded as.
pub fn digest(text: &str) -> Json {
    let units: Vec<u16> = text.encode_utf16().collect();
    let of = |units: &[u16]| Json::String(String::from_utf16_lossy(units));
    Json::Object(vec![
        ("sha256".into(), Json::String(sha256(text))),
        ("utf8_bytes".into(), Json::Number(text.len() as f64)),
        ("head".into(), of(&units[..units.len().min(120)])),
        ("tail".into(), of(&units[units.len().saturating_sub(200)..])),
    ])
}
