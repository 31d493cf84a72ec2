//! Forgetting old traces: those of one skill, and nothing that is not surely one of them.

use super::TraceFiles;
use impresario_policies::trace_file::files_of_skill;
use impresario_policies::trace_retention::{RetentionSettings, TraceEntry, choose_deletions};
use std::io;

impl TraceFiles {
    /// Deletes the oldest traces of exactly this skill until `kept` are left, and says how many went. Links, damaged
    /// files and files of others stay and do not count.
    pub fn forget(&self, skill: &str, kept: usize) -> io::Result<usize> {
        let names = self.names()?;
        let names = names.iter().map(String::as_str).collect::<Vec<_>>();
        if files_of_skill(skill, &names).len() <= kept {
            return Ok(0);
        }
        let mut traces = Vec::new();
        for name in files_of_skill(skill, &names) {
            if let Some(trace) = self.one(name).ok().filter(|trace| trace.skill_name == skill) {
                traces.push((name, trace.timestamp));
            }
        }
        let newest = traces.first().map_or(0.0, |(_, written)| *written);
        let entries = traces.iter().map(|(name, written)| TraceEntry {
            name,
            age_ms: newest - written,
            is_file: true,
        });
        let settings = RetentionSettings {
            traces_per_skill_max: kept,
            age_ms_max: None,
        };
        let mut deleted = 0;
        for name in choose_deletions(&entries.collect::<Vec<_>>(), &settings) {
            match std::fs::remove_file(self.directory.join(name)) {
                Ok(()) => deleted += 1,
                Err(error) => tracing::debug!(name, %error, "an old trace stays"),
            }
        }
        Ok(deleted)
    }
}
