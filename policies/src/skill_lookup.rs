//! Where may the file of a skill lie?

/// Whose skill it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillPlace {
    /// The workspace's own; only where the host trusts the workspace.
    Workspace,
    /// The user's.
    Home,
}

/// One path to try, relative to the workspace or to the home directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCandidate {
    /// What the path is relative to.
    pub place: SkillPlace,
    /// With `/` between its parts.
    pub path: String,
}

/// Why there is no file to read. The texts name no directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillLookupError {
    /// Not a name.
    #[error("Invalid skill name \"{0}\"; must match [a-zA-Z0-9_-]+ (no path separators).")]
    InvalidName(String),
    /// None of the candidates exists.
    #[error("Skill \"{0}\" not found.")]
    NotFound(String),
}

/// Whether a text can name a skill.
pub fn is_skill_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Lists the files that may hold a skill, the first existing one wins.
pub fn skill_candidates(
    name: &str,
    workspace_trusted: bool,
) -> Result<Vec<SkillCandidate>, SkillLookupError> {
    if !is_skill_name(name) {
        return Err(SkillLookupError::InvalidName(name.to_string()));
    }
    let mut candidates = Vec::new();
    if workspace_trusted {
        let path = format!(".pi/skills/{name}/SKILL.md");
        candidates.push(SkillCandidate {
            place: SkillPlace::Workspace,
            path,
        });
    }
    let path = format!(".pi/agent/skills/{name}/SKILL.md");
    candidates.push(SkillCandidate {
        place: SkillPlace::Home,
        path,
    });
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_of_an_untrusted_workspace_are_not_looked_for() {
        let candidates = skill_candidates("demo", false).unwrap();
        assert_eq!(
            candidates,
            [SkillCandidate {
                place: SkillPlace::Home,
                path: ".pi/agent/skills/demo/SKILL.md".into()
            }]
        );
    }

    #[test]
    fn a_path_is_no_name() {
        for name in ["", "..", "a/b", "a\\b", "a.b", "é"] {
            assert_eq!(
                skill_candidates(name, true),
                Err(SkillLookupError::InvalidName(name.into()))
            );
        }
    }
}
