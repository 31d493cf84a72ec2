//! What did the user type: a skill to run, a look at traces, or nothing of ours?

use crate::compat::{is_space, trim, trim_start};
use crate::domain::MessageKind;

/// What typed text asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedInput {
    /// Not ours; the host goes on with it.
    Pass,
    Skill(SkillCommand),
    /// `/skill` without a name: let the user pick one.
    PickSkill,
    /// Show what the traces of a skill say.
    TraceReport {
        skill: String,
    },
    TraceView {
        /// The file, as listed by the report.
        file: String,
    },
    /// Stop the skill in flight.
    Cancel,
    /// Go on with a run that is parked or was cut off.
    Resume {
        /// How its id begins; empty to let the user pick one.
        run: String,
    },
    /// Show the conversation of a run.
    Transcript {
        /// How its id begins; empty for the newest of the session.
        run: String,
    },
    /// Tell a run that is under way something.
    Tell {
        kind: MessageKind,
        /// Which run, and what: both as typed.
        what: String,
    },
    /// Show how things stand.
    Status {
        /// One section by its name; empty for all.
        section: String,
    },
    /// One of our commands with an argument that is missing or cannot be meant.
    Usage {
        usage: &'static str,
    },
}

/// A skill's name and what it is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCommand {
    /// The name, as far as what was typed is one.
    pub name: String,
    /// The whole first word; differs from the name when it holds a character no name can have.
    pub typed: String,
    /// What is wanted, trimmed; may be empty.
    pub task: String,
}

impl SkillCommand {
    /// The typed word is a name from end to end. Otherwise nothing is run: `foo.bar` is not the skill `foo`.
    pub fn is_well_formed(&self) -> bool {
        self.name == self.typed
    }
}

/// Reads a line in both forms, `/skill:<name> <task>` and `/skill <name> <task>`.
pub fn read_typed_input(text: &str) -> TypedInput {
    let text = trim_start(text);
    if let Some(rest) = text.strip_prefix("/skill:") {
        return read_words(rest).unwrap_or(TypedInput::Pass);
    }
    if let Some(rest) = text.strip_prefix("/impresario") {
        return read_look(rest);
    }
    let Some(rest) = text.strip_prefix("/skill") else {
        return TypedInput::Pass;
    };
    if !rest.is_empty() && !rest.starts_with(is_space) {
        return TypedInput::Pass;
    }
    let rest = trim(rest);
    let rest = rest.strip_prefix("skill:").unwrap_or(rest);
    if rest.is_empty() {
        return TypedInput::PickSkill;
    }
    read_words(rest).unwrap_or_else(|| TypedInput::Skill(unnamed(rest)))
}

/// `/impresario`, and what is to be looked at.
fn read_look(rest: &str) -> TypedInput {
    if !rest.is_empty() && !rest.starts_with(is_space) {
        return TypedInput::Pass;
    }
    let rest = trim(rest);
    let (first, behind) = rest.split_once(is_space).unwrap_or((rest, ""));
    match first {
        "steer" => return read_message(MessageKind::Steer, behind),
        "ask" => return read_message(MessageKind::Ask, behind),
        _ => {}
    }
    let mut words = rest.split(is_space).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    match first {
        "transcript" => TypedInput::Transcript { run: second.into() },
        "status" => TypedInput::Status {
            section: second.into(),
        },
        section => TypedInput::Status {
            section: section.into(),
        },
    }
}

fn read_message(kind: MessageKind, what: &str) -> TypedInput {
    let what = trim(what);
    match (what.is_empty(), kind) {
        (true, MessageKind::Steer) => TypedInput::Usage {
            usage: "/impresario steer [run] <text>",
        },
        (true, MessageKind::Ask) => TypedInput::Usage {
            usage: "/impresario ask [run] <question>",
        },
        (false, kind) => TypedInput::Tell {
            kind,
            what: what.to_string(),
        },
    }
}

fn read_words(rest: &str) -> Option<TypedInput> {
    let command = command_in(rest)?;
    let argument = command.task.as_str();
    Some(match command.typed.as_str() {
        "cancel" if argument.is_empty() => TypedInput::Cancel,
        "cancel" => TypedInput::Usage {
            usage: "/skill cancel",
        },
        "resume" => TypedInput::Resume {
            run: argument.split(is_space).next().unwrap_or("").to_string(),
        },
        "trace-report" => match leading_name(argument) {
            "" => TypedInput::Usage {
                usage: "/skill trace-report <skill>",
            },
            skill => TypedInput::TraceReport {
                skill: skill.to_string(),
            },
        },
        "trace-view" if is_trace_file_name(argument) => TypedInput::TraceView {
            file: argument.to_string(),
        },
        "trace-view" => TypedInput::Usage {
            usage: "/skill trace-view <file>.json",
        },
        _ => TypedInput::Skill(command),
    })
}

fn command_in(rest: &str) -> Option<SkillCommand> {
    let name = leading_name(rest).trim_end_matches('-');
    if name.is_empty() {
        return None;
    }
    let typed = rest.split(is_space).next().unwrap_or("");
    let task = if typed == name {
        &rest[typed.len()..]
    } else {
        &rest[name.len()..]
    };
    Some(SkillCommand {
        name: name.to_string(),
        typed: typed.to_string(),
        task: trim(task).to_string(),
    })
}

fn unnamed(rest: &str) -> SkillCommand {
    let typed = rest.split(is_space).next().unwrap_or("");
    SkillCommand {
        name: String::new(),
        typed: typed.to_string(),
        task: trim(&rest[typed.len()..]).to_string(),
    }
}

fn leading_name(text: &str) -> &str {
    let end = text.bytes().take_while(|byte| is_name_byte(*byte)).count();
    &text[..end]
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_trace_file_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| is_name_byte(byte) || byte == b'.');
    plain && name.len() > ".json".len() && name.ends_with(".json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, task: &str) -> TypedInput {
        TypedInput::Skill(SkillCommand {
            name: name.into(),
            typed: name.into(),
            task: task.into(),
        })
    }

    fn check(text: &str, expected: TypedInput) {
        assert_eq!(read_typed_input(text), expected, "{text:?}");
    }

    #[test]
    fn both_forms_carry_the_task() {
        check(
            "/skill:refactor split the parser",
            skill("refactor", "split the parser"),
        );
        check(
            "/skill refactor split\nthe parser ",
            skill("refactor", "split\nthe parser"),
        );
        check("/skill skill:refactor x", skill("refactor", "x"));
    }

    #[test]
    fn other_text_passes() {
        check("hello /skill:x", TypedInput::Pass);
        check("/skills", TypedInput::Pass);
        check("/skill:", TypedInput::Pass);
    }

    #[test]
    fn no_name_means_pick_one() {
        check("/skill", TypedInput::PickSkill);
        check("  /skill  ", TypedInput::PickSkill);
    }

    #[test]
    fn reserved_names_are_commands_in_both_forms() {
        check("/skill cancel", TypedInput::Cancel);
        check("/skill:cancel", TypedInput::Cancel);
        check("/skill:resume", TypedInput::Resume { run: String::new() });
        check(
            "/skill resume 01kah now",
            TypedInput::Resume { run: "01kah".into() },
        );
        check(
            "/skill trace-report demo",
            TypedInput::TraceReport { skill: "demo".into() },
        );
        check(
            "/skill trace-view demo_1.json",
            TypedInput::TraceView {
                file: "demo_1.json".into(),
            },
        );
        check(
            "/skill trace-view",
            TypedInput::Usage {
                usage: "/skill trace-view <file>.json",
            },
        );
        check(
            "/skill trace-view ../x.json",
            TypedInput::Usage {
                usage: "/skill trace-view <file>.json",
            },
        );
    }

    #[test]
    fn what_can_be_looked_at_has_a_command_of_its_own() {
        let status = |section: &str| TypedInput::Status {
            section: section.into(),
        };
        let transcript = |run: &str| TypedInput::Transcript { run: run.into() };
        check("/impresario", status(""));
        check("/impresario status", status(""));
        check("/impresario status agents", status("agents"));
        check(" /impresario  runs ", status("runs"));
        check("/impresario transcript", transcript(""));
        check("/impresario transcript 01kah", transcript("01kah"));
        check("/impresarios", TypedInput::Pass);
    }

    #[test]
    fn a_run_is_told_what_stands_behind_the_word_as_it_was_typed() {
        let tell = |kind, what: &str| TypedInput::Tell {
            kind,
            what: what.into(),
        };
        check(
            "/impresario steer 01kah use  the\nother lock ",
            tell(MessageKind::Steer, "01kah use  the\nother lock"),
        );
        check("/impresario ask how far?", tell(MessageKind::Ask, "how far?"));
        check(
            "/impresario ask ",
            TypedInput::Usage {
                usage: "/impresario ask [run] <question>",
            },
        );
    }

    #[test]
    fn a_word_that_is_no_name_is_not_cut_to_one() {
        let TypedInput::Skill(command) = read_typed_input("/skill:foo.bar do it") else {
            panic!("no command")
        };
        assert!(!command.is_well_formed());
        assert_eq!(
            (command.name.as_str(), command.typed.as_str()),
            ("foo", "foo.bar")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read(text in "(/skill[: ])?.*") {
            let _ = read_typed_input(&text);
        }
    }
}
