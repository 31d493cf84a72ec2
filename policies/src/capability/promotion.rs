//! What stays within reach: what the loadout names, what was activated, and what was used last.

/// So many uses are looked at.
pub const USES_READ_MAX: usize = 200;

/// How often something was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub id: String,
    pub count: u64,
    /// In milliseconds since 1970.
    pub last_ms: u64,
}

/// The ids within reach, each once: the loadout's, the session's, then as many of those used last as the ceiling says.
pub fn within_reach(loadout: &[String], session: &[String], uses: &[Use], ceiling: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for id in loadout.iter().chain(session) {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    let mut used: Vec<&Use> = uses.iter().collect();
    used.sort_by_key(|used| std::cmp::Reverse((used.last_ms, used.count)));
    used.truncate(USES_READ_MAX);
    let promoted: Vec<String> = used
        .into_iter()
        .filter(|each| !ids.contains(&each.id))
        .take(ceiling)
        .map(|each| each.id.clone())
        .collect();
    ids.extend(promoted);
    ids
}

/// What a call of a tool uses: a skill whose file is read, or the tool itself where it is one of those that are kept apart.
pub fn used_by(tool: &str, path: Option<&str>, is_always_there: bool) -> Option<String> {
    if tool == "read" {
        let path = path?.replace('\\', "/");
        let (directory, file) = path.rsplit_once('/')?;
        let name = directory.rsplit('/').next().filter(|name| !name.is_empty())?;
        return file
            .eq_ignore_ascii_case("SKILL.md")
            .then(|| format!("skill:{name}"));
    }
    (!is_always_there).then(|| format!("tool:pi:{tool}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_string()).collect()
    }

    fn used(id: &str, count: u64, last_ms: u64) -> Use {
        Use {
            id: id.into(),
            count,
            last_ms,
        }
    }

    #[test]
    fn those_used_last_come_behind_up_to_the_ceiling() {
        let uses = [used("a", 1, 5), used("b", 9, 7), used("c", 1, 7), used("d", 1, 1)];
        assert_eq!(
            within_reach(&ids(&["d", "d"]), &ids(&["d", "e"]), &uses, 2),
            ids(&["d", "e", "b", "c"])
        );
        assert_eq!(within_reach(&[], &[], &uses, 0), ids(&[]));
    }

    #[test]
    fn reading_its_file_uses_a_skill() {
        for (path, skill) in [
            ("/s/alpha/SKILL.md", Some("skill:alpha")),
            ("alpha/skill.md", Some("skill:alpha")),
            ("C:\\s\\alpha\\SKILL.md", Some("skill:alpha")),
            ("/s/alpha/NOTSKILL.md", None),
            ("SKILL.md", None),
            ("/SKILL.md", None),
        ] {
            assert_eq!(used_by("read", Some(path), true).as_deref(), skill, "{path}");
        }
        assert_eq!(used_by("wash", None, false).as_deref(), Some("tool:pi:wash"));
        assert_eq!(used_by("bash", None, true), None);
    }
}
