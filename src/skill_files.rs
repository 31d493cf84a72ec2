//! The files of skills: which one a name means, what stands in it, which there are.

use crate::contained_file::{Bounds, NotRead, read_contained};
use crate::skills::SpawnSettings;
use impresario_actors::messages::session::{ListedScope, ListedSkill, SkillOrder};
use impresario_policies::domain::{Reason, ReasonCode};
use impresario_policies::skill_file::{SKILL_FILE_BYTES_MAX, SkillFile, read_skill_file};
use impresario_policies::skill_lookup::{
    SkillFileChoice, SkillFileFacts, SkillLookupError, SkillPlace, choose_skill_file, is_skill_name,
    skill_candidates, unknown_skill,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The field of a skill's file that keeps it from models.
const PERSON_ONLY: &str = "disable-model-invocation";
/// So many skills are offered at most.
const SKILLS_MAX: usize = 500;

/// A skill that can be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundSkill {
    pub(crate) skill: SkillFile,
    /// Where its file lies; what it names relative to itself is found there.
    pub(crate) directory: PathBuf,
}

/// One skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// Why it cannot be run.
    pub problem: Option<String>,
    /// In the host's own form the host runs it.
    pub of_host: bool,
}

/// A file that may hold a skill.
struct Place {
    file: PathBuf,
    bounds: Bounds,
    /// As the person knows it, without the directories above.
    called: String,
}

/// Finds the skill that an order means.
pub(crate) fn find_skill(settings: &SpawnSettings, order: &SkillOrder) -> Result<FoundSkill, Reason> {
    let own = own_places(settings, order).map_err(|error| unknown(error.to_string()))?;
    let there = own.iter().position(|place| place.file.symlink_metadata().is_ok());
    let listed = listed_elsewhere(&own, order);
    let choice = choose_skill_file(SkillFileFacts {
        own: there.is_some(),
        listed_elsewhere: listed.is_some(),
        hosts_form: order.hosts_form,
    });
    let place = match (choice, there, listed) {
        (SkillFileChoice::Own, Some(at), _) => own.into_iter().nth(at),
        (SkillFileChoice::Listed, _, Some(listed)) => Some(listed_place(listed, settings, order)),
        _ => None,
    };
    let Some(place) = place else {
        return Err(unknown(unknown_skill(&order.name, &runnable(settings, order))));
    };
    match read_place(&place) {
        Ok(skill) => Ok(FoundSkill {
            skill,
            directory: directory_of(&place.file),
        }),
        Err(why) => Err(Reason {
            code: ReasonCode::BrokenSkill,
            message: format!("Skill \"{}\" cannot be used: {why}.", order.name),
        }),
    }
}

/// The skills a person can choose, by name: the workspace's shadow the user's, and the host's own come behind them. What
/// cannot be run says why.
pub fn list_skills(settings: &SpawnSettings, order: &SkillOrder) -> Vec<SkillEntry> {
    let mut skills = BTreeMap::new();
    for listed in order.listed.iter().take(SKILLS_MAX) {
        // The host may not have looked for a while.
        if is_skill_name(&listed.name) && listed.file.is_file() {
            let entry = SkillEntry {
                name: listed.name.clone(),
                description: listed.description.clone(),
                problem: None,
                of_host: true,
            };
            skills.insert(listed.name.clone(), entry);
        }
    }
    let directories = [
        settings.home.as_ref().map(|home| home.join(".pi/agent/skills")),
        order
            .workspace_trusted
            .then(|| order.workspace.join(".pi/skills")),
    ];
    for directory in directories.into_iter().flatten() {
        for name in names_in(&directory) {
            let order = SkillOrder {
                name,
                hosts_form: false,
                ..order.clone()
            };
            let Some(entry) = entry_of(settings, &order) else {
                continue;
            };
            skills.insert(order.name, entry);
        }
    }
    skills.into_values().take(SKILLS_MAX).collect()
}

/// A skill that a model may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsableSkill {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) file: PathBuf,
    pub(crate) directory: PathBuf,
}

/// Those of the list that can be run and that a model may begin by itself, with their files.
pub(crate) fn usable_skills(settings: &SpawnSettings, order: &SkillOrder) -> Vec<UsableSkill> {
    let skills = list_skills(settings, order).into_iter();
    let runnable = skills.filter(|skill| skill.problem.is_none());
    let usable = runnable.filter_map(|entry| {
        let order = SkillOrder {
            name: entry.name.clone(),
            hosts_form: false,
            ..order.clone()
        };
        let mut own = own_places(settings, &order).ok()?;
        let place = match listed_elsewhere(&own, &order) {
            Some(listed) => listed_place(listed, settings, &order),
            None => {
                let there = own
                    .iter()
                    .position(|place| place.file.symlink_metadata().is_ok())?;
                own.swap_remove(there)
            }
        };
        let skill = read_place(&place).ok()?;
        let is_the_persons = skill.fields.get(PERSON_ONLY).and_then(Value::as_bool) == Some(true);
        (!is_the_persons).then(|| UsableSkill {
            name: entry.name,
            description: skill.description.unwrap_or(entry.description),
            directory: directory_of(&place.file),
            file: place.file,
        })
    });
    usable.collect()
}

/// What Pi would list for this workspace, where no Pi runs that says it: the skills of the person, and those of a trusted
/// workspace.
pub(crate) fn skills_of_pi(settings: &SpawnSettings, workspace: &Path, trusted: bool) -> Vec<ListedSkill> {
    let of_person = [
        settings.pis_directory().map(|directory| directory.join("skills")),
        settings.home.as_ref().map(|home| home.join(".agents/skills")),
    ];
    let of_workspace = trusted.then(|| workspace.join(".agents/skills"));
    let of_person = of_person
        .into_iter()
        .flatten()
        .map(|place| (place, ListedScope::User));
    let places = of_person.chain(of_workspace.map(|place| (place, ListedScope::Project)));
    let mut listed: Vec<ListedSkill> = Vec::new();
    for (directory, scope) in places {
        for name in names_in(&directory) {
            let file = directory.join(&name).join("SKILL.md");
            if file.is_file() && !listed.iter().any(|other| other.name == name) {
                listed.push(ListedSkill {
                    name,
                    description: String::new(),
                    file,
                    scope,
                    base: Some(directory.clone()),
                });
            }
        }
    }
    listed
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .take(SKILLS_MAX)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| is_skill_name(name))
        .collect()
}

/// What a list says of a name; nothing where no file lies.
fn entry_of(settings: &SpawnSettings, order: &SkillOrder) -> Option<SkillEntry> {
    let own = own_places(settings, order).ok()?;
    let place = own.iter().find(|place| place.file.symlink_metadata().is_ok())?;
    let listed = listed_elsewhere(&own, order).map(|listed| listed_place(listed, settings, order));
    let (description, problem) = match read_place(listed.as_ref().unwrap_or(place)) {
        Ok(skill) => (skill.description.unwrap_or_default(), None),
        Err(why) => (String::new(), Some(why)),
    };
    Some(SkillEntry {
        name: order.name.clone(),
        description,
        problem,
        of_host: listed.is_some(),
    })
}

fn runnable(settings: &SpawnSettings, order: &SkillOrder) -> Vec<String> {
    let skills = list_skills(settings, order).into_iter();
    skills
        .filter(|skill| skill.problem.is_none())
        .map(|skill| skill.name)
        .collect()
}

/// Where a skill of sub-agents may lie, the first that is there wins.
fn own_places(settings: &SpawnSettings, order: &SkillOrder) -> Result<Vec<Place>, SkillLookupError> {
    let candidates = skill_candidates(&order.name, order.workspace_trusted)?;
    let places = candidates.into_iter().filter_map(|candidate| {
        let (base, called) = match candidate.place {
            SkillPlace::Workspace => (&order.workspace, "the workspace"),
            SkillPlace::Home => (settings.home.as_ref()?, "the home directory"),
        };
        Some(Place {
            file: base.join(&candidate.path),
            bounds: Bounds {
                directories: vec![base.clone()],
                called,
            },
            called: candidate.path,
        })
    });
    Ok(places.collect())
}

/// What the host lists under this name, unless it is one of our own places.
fn listed_elsewhere<'a>(own: &[Place], order: &'a SkillOrder) -> Option<&'a ListedSkill> {
    let listed = order.listed.iter().find(|listed| listed.name == order.name)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let file = real(&listed.file);
    let is_ours = own.iter().any(|place| real(&place.file) == file);
    (!is_ours).then_some(listed)
}

/// A package may link only within itself, a workspace too; a person may keep things where they like.
fn listed_place(listed: &ListedSkill, settings: &SpawnSettings, order: &SkillOrder) -> Place {
    let above = |path: &Path| path.parent().map(Path::to_path_buf);
    let named = above(&listed.file).and_then(|directory| above(&directory));
    let (directories, called) = match listed.scope {
        ListedScope::Project => {
            let found_through = listed.base.as_deref().and_then(above);
            let workspace = Some(order.workspace.clone());
            (vec![workspace, found_through], "the workspace")
        }
        ListedScope::Package => (vec![listed.base.clone()], "its package"),
        ListedScope::User | ListedScope::Session => {
            (vec![settings.home.clone(), named], "the home directory")
        }
    };
    let file_name = listed.file.file_name().unwrap_or_default();
    Place {
        file: listed.file.clone(),
        bounds: Bounds {
            directories: directories.into_iter().flatten().collect(),
            called,
        },
        called: file_name.to_string_lossy().into_owned(),
    }
}

/// What the file says, or why it cannot be used.
fn read_place(place: &Place) -> Result<SkillFile, String> {
    let read = read_contained(&place.file, &place.bounds, SKILL_FILE_BYTES_MAX);
    let file = read.map_err(|why| match why {
        NotRead::Broken(error) => format!("{} cannot be read ({})", place.called, error.kind()),
        other => format!("{} is not read: {other}", place.called),
    })?;
    let skill = read_skill_file(&file.text).map_err(|error| error.to_string())?;
    match skill.instructions.is_empty() {
        true => Err(format!("{} says nothing that a sub-agent could do", place.called)),
        false => Ok(skill),
    }
}

fn directory_of(file: &Path) -> PathBuf {
    let directory = file.parent().unwrap_or(file);
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf())
}

fn unknown(message: String) -> Reason {
    Reason {
        code: ReasonCode::UnknownSkill,
        message,
    }
}
