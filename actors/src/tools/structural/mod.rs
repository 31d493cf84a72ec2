//! `ast_search` and `ast_replace`: code by its structure.

mod apply;
mod files;
mod records;
mod replace;
mod search;
mod wire;

#[cfg(test)]
mod tests;

pub(super) use replace::run as replace;
pub(super) use search::run as search;

use impresario_structural::{Query, Wanted};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What is looked for, and where.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    pattern: Option<String>,
    rule: Option<String>,
    lang: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    globs: Vec<String>,
}

impl Asked {
    fn query(&self, rewrite: Option<&str>) -> Result<Query, String> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (pattern, rule) = (given(&self.pattern), given(&self.rule));
        let wanted = match (&pattern, &rule) {
            (Some(pattern), None) => Wanted::Pattern(pattern),
            (None, Some(rule)) => Wanted::Rule(rule),
            (Some(_), Some(_)) => return Err("Give a `pattern` or a `rule`, not both.".to_string()),
            (None, None) => return Err("Give a `pattern`, or a `rule` in YAML.".to_string()),
        };
        let lang = self.lang.as_deref().filter(|lang| !lang.trim().is_empty());
        Query::compile(lang, wanted, rewrite).map_err(|error| format!("{}.", sentence(&error.to_string())))
    }
}

/// What a library says, with a large letter at the beginning and no dot at the end.
fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Recovers what a replacement left that was cut off, at the start of a runtime. Says what somebody has to look at.
pub(crate) fn recover(directory: &Path) -> Vec<String> {
    if !directory.is_dir() {
        return Vec::new();
    }
    let recovered = records::Records::open(directory).and_then(|records| records.recover());
    recovered.unwrap_or_else(|why| vec![why])
}

/// Where records of replacements lie, or why there are none.
fn records_at(directory: Option<&PathBuf>) -> Result<&PathBuf, String> {
    directory.ok_or_else(|| {
        "Nothing is replaced here: this runtime has no directory in which a way back could be kept."
            .to_string()
    })
}
