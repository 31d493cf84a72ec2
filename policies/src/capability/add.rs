//! A skill that an agent writes down for later: whether it may, and what its file says.

use super::loadout::quoted;
use crate::redact::holds_key;
use crate::skill_lookup::is_skill_name;

const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1_024;
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What is to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSkill {
    pub name: String,
    pub description: String,
    pub body: String,
}

/// Why it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewSkillError {
    #[error(
        "the name is none: lower-case letters, digits and hyphens, at most {NAME_CHARS_MAX}, with a letter or digit at both ends"
    )]
    Name,
    #[error(
        "it needs a description: one paragraph that says when to use it, at most {DESCRIPTION_CHARS_MAX} characters"
    )]
    Description,
    #[error("it needs a body, at most {BODY_BYTES_MAX} bytes")]
    Body,
    #[error("it holds what looks like a key or a password; take that out first")]
    Secret,
}

/// The text of its `SKILL.md`, or why it is not written.
pub fn skill_text(skill: &NewSkill) -> Result<String, NewSkillError> {
    let NewSkill {
        name,
        description,
        body,
    } = skill;
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let is_name = name.len() <= NAME_CHARS_MAX
        && name.starts_with(plain)
        && name.ends_with(plain)
        && name.chars().all(|character| plain(character) || character == '-')
        && is_skill_name(name);
    if !is_name {
        return Err(NewSkillError::Name);
    }
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() || description.chars().count() > DESCRIPTION_CHARS_MAX {
        return Err(NewSkillError::Description);
    }
    let body = body.trim();
    if body.is_empty() || body.len() > BODY_BYTES_MAX {
        return Err(NewSkillError::Body);
    }
    if [name, description.as_str(), body].into_iter().any(holds_key) {
        return Err(NewSkillError::Secret);
    }
    Ok(format!(
        "---\nname: {}\ndescription: {}\n---\n\n{body}\n",
        quoted(name),
        quoted(&description)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill_file::read_skill_file;

    fn skill(name: &str, description: &str, body: &str) -> NewSkill {
        NewSkill {
            name: name.into(),
            description: description.into(),
            body: body.into(),
        }
    }

    #[test]
    fn whatever_the_description_says_the_file_says_it() {
        for description in ["a: b # c", "'", "\"x\" \\n", "- list", "{a}", "yes", "---"] {
            let text = skill_text(&skill("wash-otter", description, "---\nname: evil\n---\nDo it."))
                .expect("written");
            let read = read_skill_file(&text).expect("read");
            assert_eq!(read.description.as_deref(), Some(description));
            assert_eq!(
                read.fields.get("name").and_then(|name| name.as_str()),
                Some("wash-otter")
            );
            assert!(read.instructions.ends_with("Do it."));
        }
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        for name in [
            "../up",
            "..",
            "a/b",
            "",
            "-a",
            "a-",
            "A",
            "a b",
            "a\0",
            &"a".repeat(65),
        ] {
            assert_eq!(
                skill_text(&skill(name, "d", "b")),
                Err(NewSkillError::Name),
                "{name}"
            );
        }
    }

    #[test]
    fn keys_and_nothing_are_refused() {
        let key = format!("sk-ant-api03-{}", "a1B2".repeat(10));
        assert_eq!(skill_text(&skill("a", "d", &key)), Err(NewSkillError::Secret));
        assert_eq!(
            skill_text(&skill("a", " \n", "b")),
            Err(NewSkillError::Description)
        );
        assert_eq!(skill_text(&skill("a", "d", " ")), Err(NewSkillError::Body));
    }
}
