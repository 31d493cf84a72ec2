//! What a loadout gives a sub-agent: the skills as part of its instructions, and which of its tools it keeps.
//!
//! A sub-agent has no list of skills that it could read from, and the embedded one reads nothing outside of the workspace. So
//! what it is given stands in its instructions whole.

use super::CapabilityKind;

/// So much may all skills of a loadout say to a sub-agent.
pub const SKILLS_BYTES_MAX: usize = 131_072;

/// A skill that a sub-agent is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSkill {
    pub name: String,
    pub description: String,
    pub instructions: String,
    /// What it names relative to itself is found there.
    pub directory: String,
}

/// The instructions with the skills behind them, or how many bytes the skills have where that is too many.
pub fn instructions_with(own: &str, skills: &[GivenSkill]) -> Result<String, usize> {
    if skills.is_empty() {
        return Ok(own.to_string());
    }
    let mut all = String::from(
        "# Skills\n\nThese ways of doing something were prepared for you. Where one fits what you are asked, follow it.",
    );
    for GivenSkill {
        name,
        description,
        instructions,
        directory,
    } in skills
    {
        all.push_str(&format!(
            "\n\n## {name}\n\n{description}\n\nWhat it names relative to itself lies in {directory}.\n\n{}",
            instructions.trim()
        ));
    }
    match all.len() <= SKILLS_BYTES_MAX {
        true => Ok(format!("{}\n\n{all}", own.trim_end())),
        false => Err(all.len()),
    }
}

/// The tools that stay: those the loadout names, where it names any. It gives none that were not there.
pub fn tools_with(own: Vec<String>, ids: &[String]) -> Vec<String> {
    let named: Vec<&str> = ids
        .iter()
        .filter(|id| CapabilityKind::of_id(id) == Some(CapabilityKind::Tool))
        .filter_map(|id| id.rsplit(':').next())
        .collect();
    match named.is_empty() {
        true => own,
        false => own
            .into_iter()
            .filter(|tool| named.contains(&tool.as_str()))
            .collect(),
    }
}

/// The names of the skills of a loadout, in its order.
pub fn skills_of(ids: &[String]) -> impl Iterator<Item = &str> {
    ids.iter().filter_map(|id| id.strip_prefix("skill:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_string()).collect()
    }

    fn skill(instructions: &str) -> GivenSkill {
        GivenSkill {
            name: "wash".into(),
            description: "Wash an otter.".into(),
            instructions: instructions.into(),
            directory: "/s/wash".into(),
        }
    }

    #[test]
    fn skills_stand_behind_the_instructions() {
        let with = instructions_with("Look.\n", &[skill("Use soap.\n")]).expect("short");
        assert!(with.starts_with("Look.\n\n# Skills\n"), "{with}");
        assert!(with.ends_with("lies in /s/wash.\n\nUse soap."), "{with}");
        assert_eq!(instructions_with("Look.\n", &[]).as_deref(), Ok("Look.\n"));
    }

    #[test]
    fn what_is_too_long_is_none() {
        let long = "x".repeat(SKILLS_BYTES_MAX);
        assert!(instructions_with("Look.", &[skill(&long)]).is_err_and(|bytes| bytes > SKILLS_BYTES_MAX));
    }

    #[test]
    fn a_loadout_takes_tools_and_gives_none() {
        let own = || texts(&["read", "grep", "bash"]);
        let ids = texts(&["skill:wash", "tool:pi:read", "tool:pi:web_fetch"]);
        assert_eq!(tools_with(own(), &ids), ["read"]);
        assert_eq!(tools_with(own(), &ids[..1]), own());
        assert_eq!(skills_of(&ids).collect::<Vec<_>>(), ["wash"]);
    }
}
