//! What is offered while `/skill …` is typed, and what becomes of the command's argument?

use crate::compat::{collapse_spaces, compare_names, is_space, trim, trim_start};
use crate::skill_lookup::is_skill_name;
use std::collections::BTreeSet;

/// A command the host knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommand {
    /// `skill:refactor`, `help`.
    pub name: String,
    /// One line.
    pub description: Option<String>,
    /// It stands for a skill.
    pub is_skill: bool,
}

/// What becomes of `/skill <argument>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillArgument {
    /// Let the user pick one of these.
    Pick(Vec<String>),
    /// There is nothing to pick.
    NothingToPick,
    /// Put this into the editor.
    PutInEditor(String),
    /// Run a skill.
    Run {
        /// Its name.
        name: String,
        /// What is wanted.
        task: String,
    },
    /// The first word is no name.
    InvalidName(String),
}

/// A skill that could be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSkill {
    /// Its name.
    pub name: String,
    /// What its file says it is for.
    pub description: Option<String>,
}

/// One way to go on with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion<'a> {
    /// The whole line as it would then be.
    pub line: String,
    /// The skill.
    pub skill: &'a KnownSkill,
}

/// Suggests names while `/skill:` is being typed, until a blank ends the name. Of two skills of one name the first
/// counts; what stands before the command is kept.
pub fn suggest_skills<'a>(line: &str, skills: &'a [KnownSkill]) -> Vec<Suggestion<'a>> {
    const COMMAND: &str = "/skill:";
    let typed = trim_start(line);
    let Some(start) = typed
        .strip_prefix(COMMAND)
        .filter(|start| !start.contains(is_space))
    else {
        return Vec::new();
    };
    let before = &line[..line.len() - typed.len()];
    let mut seen = BTreeSet::new();
    let mut found: Vec<&KnownSkill> = skills
        .iter()
        .filter(|skill| is_skill_name(&skill.name) && seen.insert(&skill.name))
        .filter(|skill| skill.name.starts_with(start))
        .collect();
    found.sort_by(|a, b| compare_names(&a.name, &b.name));
    let suggestion = |skill: &'a KnownSkill| Suggestion {
        line: format!("{before}{COMMAND}{} ", skill.name),
        skill,
    };
    found.into_iter().map(suggestion).collect()
}

/// The skill commands that contain what was typed, whatever its case; none when nothing fits.
pub fn complete_skill<'a>(typed: &str, commands: &'a [HostCommand]) -> Option<Vec<&'a HostCommand>> {
    let typed = typed.to_lowercase();
    let fits = |command: &&HostCommand| command.is_skill && command.name.to_lowercase().contains(&typed);
    let found: Vec<&HostCommand> = commands.iter().filter(fits).collect();
    (!found.is_empty()).then_some(found)
}

/// The part of a name that stands before the cursor, if the line up to it is `/skill` and one beginning word.
pub fn inline_prefix(before_cursor: &str) -> Option<&str> {
    let rest = before_cursor.strip_prefix("/skill")?;
    let word = rest.trim_start_matches(is_space);
    let separated = word.len() < rest.len();
    (separated && !word.contains(is_space)).then_some(word)
}

/// Decides what becomes of the argument of the `skill` command.
pub fn read_skill_argument(argument: &str, commands: &[HostCommand]) -> SkillArgument {
    let argument = trim(argument);
    if argument.is_empty() {
        let skills = commands.iter().filter(|command| command.is_skill);
        let names: Vec<String> = skills.map(|command| command.name.clone()).collect();
        return if names.is_empty() {
            SkillArgument::NothingToPick
        } else {
            SkillArgument::Pick(names)
        };
    }
    let word = argument.split(is_space).next().unwrap_or("");
    let rest = &argument[word.len()..];
    if is_skill_name(word) {
        return SkillArgument::Run {
            name: word.to_string(),
            task: trim(rest).to_string(),
        };
    }
    if commands
        .iter()
        .any(|command| command.is_skill && command.name == word)
    {
        return SkillArgument::PutInEditor(editor_text(word, &collapse_spaces(rest)));
    }
    SkillArgument::InvalidName(word.to_string())
}

/// A command ready to be completed and sent.
pub fn editor_text(command: &str, rest: &str) -> String {
    if rest.is_empty() {
        format!("/{command} ")
    } else {
        format!("/{command} {rest} ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Vec<HostCommand> {
        let command = |name: &str, is_skill| HostCommand {
            name: name.into(),
            description: None,
            is_skill,
        };
        vec![
            command("skill:refactor", true),
            command("skill:Explain", true),
            command("help", false),
        ]
    }

    #[test]
    fn the_task_is_kept() {
        assert_eq!(
            read_skill_argument(" refactor split it ", &commands()),
            SkillArgument::Run {
                name: "refactor".into(),
                task: "split it".into()
            }
        );
    }

    #[test]
    fn a_command_of_the_host_goes_to_the_editor_in_one_line() {
        assert_eq!(
            read_skill_argument("skill:refactor split \n it", &commands()),
            SkillArgument::PutInEditor("/skill:refactor split it ".into())
        );
    }

    #[test]
    fn a_name_is_suggested_until_it_is_ended() {
        let skill = |name: &str, description: Option<&str>| KnownSkill {
            name: name.into(),
            description: description.map(str::to_string),
        };
        let skills = [
            skill("deploy", None),
            skill("demo", Some("of the workspace")),
            skill("demo", Some("of the user")),
            skill("no name", None),
        ];
        let lines = |line: &str| -> Vec<String> {
            suggest_skills(line, &skills)
                .into_iter()
                .map(|found| found.line)
                .collect()
        };
        assert_eq!(lines(" /skill:de"), [" /skill:demo ", " /skill:deploy "]);
        assert_eq!(lines("/skill:").len(), 2);
        assert!(lines("/skill:demo ").is_empty() && lines("/SKILL:de").is_empty());
        assert_eq!(suggest_skills("/skill:dem", &skills)[0].skill, &skills[1]);
    }

    #[test]
    fn only_the_first_word_is_completed() {
        assert_eq!(inline_prefix("/skill re"), Some("re"));
        assert_eq!(inline_prefix("/skill "), Some(""));
        assert_eq!(inline_prefix("/skill refactor x"), None);
        assert_eq!(inline_prefix("/skill"), None);
        assert_eq!(inline_prefix("/skills x"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_argument_is_read(text in ".*") {
            let _ = (read_skill_argument(&text, &commands()), inline_prefix(&text), complete_skill(&text, &commands()));
        }
    }
}
