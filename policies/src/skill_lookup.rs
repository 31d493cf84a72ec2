//! Which file is meant by the name of a skill, and where may it lie?

use crate::nearest::nearest_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillPlace {
    /// The workspace's own; only where the host trusts the workspace.
    Workspace,
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
    #[error("Invalid skill name \"{0}\"; must match [a-zA-Z0-9_-]+ (no path separators).")]
    InvalidName(String),
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

/// What is known of a skill's name before any file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillFileFacts {
    /// A file lies where skills of sub-agents lie.
    pub own: bool,
    /// The host lists a skill of this name whose file lies elsewhere.
    pub listed_elsewhere: bool,
    /// It was typed in the host's own form, which the host understands too.
    pub hosts_form: bool,
}

/// Whose file it is, and who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillFileChoice {
    /// The file where skills of sub-agents lie.
    Own,
    /// The file that the host lists.
    Listed,
    /// The host runs it, as if we were not there.
    LeaveToHost,
    /// Nobody knows the name.
    Unknown,
}

/// Decides which file a name means.
///
/// What the host lists under a name is what a person sees there, so a name means one file, whoever runs it. A skill
/// that lies where skills of sub-agents lie runs as one. Another one is the host's: in the host's own form it runs as
/// without us, and as a sub-agent where that was said (`/skill <name>`, a delegation).
pub fn choose_skill_file(facts: SkillFileFacts) -> SkillFileChoice {
    match (facts.listed_elsewhere, facts.hosts_form, facts.own) {
        (true, true, _) => SkillFileChoice::LeaveToHost,
        (true, false, _) => SkillFileChoice::Listed,
        (false, _, true) => SkillFileChoice::Own,
        (false, _, false) => SkillFileChoice::Unknown,
    }
}

/// So many names are told of at most.
const NAMES_TOLD_MAX: usize = 20;

/// A skill was not found: says so, which was meant, and which there are.
pub fn unknown_skill(name: &str, names: &[String]) -> String {
    let not_found = SkillLookupError::NotFound(name.to_string());
    if names.is_empty() {
        return format!("{not_found} There are none yet: put one into .pi/skills/<name>/SKILL.md.");
    }
    let meant = nearest_name(name, names.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!(" Did you mean \"{meant}\"?"));
    let told = &names[..names.len().min(NAMES_TOLD_MAX)];
    let more = match names.len() - told.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{not_found}{meant} There are: {}{more}.", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: bool, listed_elsewhere: bool, hosts_form: bool, expected: SkillFileChoice) {
        let facts = SkillFileFacts {
            own,
            listed_elsewhere,
            hosts_form,
        };
        assert_eq!(choose_skill_file(facts), expected, "{facts:?}");
    }

    #[test]
    fn a_name_means_one_file_whoever_runs_it() {
        for hosts_form in [false, true] {
            check(true, false, hosts_form, SkillFileChoice::Own);
            check(false, false, hosts_form, SkillFileChoice::Unknown);
        }
        for own in [false, true] {
            check(own, true, true, SkillFileChoice::LeaveToHost);
            check(own, true, false, SkillFileChoice::Listed);
        }
    }

    #[test]
    fn a_name_nobody_knows_is_answered_with_the_ones_there_are() {
        let told = unknown_skill("revew", &["demo".to_string(), "review".to_string()]);
        assert_eq!(
            told,
            "Skill \"revew\" not found. Did you mean \"review\"? There are: demo, review."
        );
        assert!(unknown_skill("x", &[]).contains("There are none yet"));
        let many = vec!["skill".to_string(); 23];
        assert!(unknown_skill("other", &many).ends_with("and 3 more."));
    }

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
