//! Which old traces are deleted?

use crate::trace_file::parse_trace_file_name;
use std::collections::BTreeMap;

/// An entry of the trace directory.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEntry<'a> {
    pub name: &'a str,
    /// How long ago it was written.
    pub age_ms: f64,
    pub is_file: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetentionSettings {
    pub traces_per_skill_max: usize,
    /// Older ones go whatever their number; none for no limit.
    pub age_ms_max: Option<f64>,
}

/// Chooses the files to delete. Only names that are surely traces are touched; an entry that cannot be deleted
/// still counts.
pub fn choose_deletions<'a>(entries: &[TraceEntry<'a>], settings: &RetentionSettings) -> Vec<&'a str> {
    let mut by_skill: BTreeMap<&str, Vec<&TraceEntry<'a>>> = BTreeMap::new();
    let mut deleted = Vec::new();
    for entry in entries {
        let Some((skill, _)) = parse_trace_file_name(entry.name) else {
            continue;
        };
        if settings.age_ms_max.is_some_and(|limit| entry.age_ms > limit) && entry.is_file {
            deleted.push(entry.name);
        } else {
            by_skill.entry(skill).or_default().push(entry);
        }
    }
    for traces in by_skill.values_mut() {
        traces.sort_by(|a, b| b.age_ms.total_cmp(&a.age_ms));
        let surplus = traces.len().saturating_sub(settings.traces_per_skill_max);
        deleted.extend(
            traces[..surplus]
                .iter()
                .filter(|entry| entry.is_file)
                .map(|entry| entry.name),
        );
    }
    deleted.sort_unstable();
    deleted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_never_touched() {
        let names = ["package_lock.json", ".hidden_1.json", "a_b.json", "a_1.json"];
        let entries: Vec<_> = names
            .iter()
            .map(|name| TraceEntry {
                name,
                age_ms: 9.0,
                is_file: true,
            })
            .collect();
        let settings = RetentionSettings {
            traces_per_skill_max: 0,
            age_ms_max: Some(1.0),
        };
        assert_eq!(choose_deletions(&entries, &settings), ["a_1.json"]);
    }
}
