//! Named sets of what an agent is shown, in a file that a person writes too.
//!
//! A change is made to the text, so that comments and what nobody here knows stay. Whether it came out right is read from the
//! new text: where that does not say what was meant, the change is refused and the file stays as it is.

use super::CapabilityKind;
use crate::yaml::read_yaml;
use serde_json::{Map, Value};

/// A longer file is not read.
pub const LOADOUTS_BYTES_MAX: usize = 1 << 20;
/// What the lists of a loadout are called.
const LISTS: [(CapabilityKind, &str); 4] = [
    (CapabilityKind::Skill, "skills"),
    (CapabilityKind::Tool, "tools"),
    (CapabilityKind::Mcp, "mcp"),
    (CapabilityKind::Agent, "agents"),
];
const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 500;
const STEP: usize = 2;

/// A named set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loadout {
    pub name: String,
    pub description: String,
    /// Ids of every kind, in the order of the file.
    pub ids: Vec<String>,
}

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loadouts {
    /// Shown whatever is active.
    pub core: Vec<String>,
    /// As written; it may name none.
    pub active: Option<String>,
    pub all: Vec<Loadout>,
}

impl Loadouts {
    pub fn find(&self, name: &str) -> Option<&Loadout> {
        self.all.iter().find(|loadout| loadout.name == name)
    }

    /// What is shown: the core and the active set. None where no set is active: then everything is.
    pub fn shown(&self) -> Option<Vec<String>> {
        self.ids_of(self.active.as_deref()?)
    }

    /// The core and the set of this name, each once. None where there is no such set.
    pub fn ids_of(&self, name: &str) -> Option<Vec<String>> {
        let named = self.find(name)?;
        let mut shown: Vec<String> = Vec::new();
        for id in self.core.iter().chain(&named.ids) {
            if !shown.contains(id) {
                shown.push(id.clone());
            }
        }
        Some(shown)
    }
}

/// A change to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadoutEdit {
    Create {
        name: String,
        description: String,
    },
    /// What is none stays.
    Update {
        name: String,
        rename: Option<String>,
        description: Option<String>,
    },
    Delete {
        name: String,
    },
    Activate {
        name: String,
    },
    /// None is active afterwards: everything is shown.
    Deactivate,
    Add {
        name: String,
        id: String,
    },
    Remove {
        name: String,
        id: String,
    },
}

/// What is wanted of the loadouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadoutAsk {
    List,
    Edit(LoadoutEdit),
    /// Add this id to the active one.
    Promote(String),
}

/// Reads what a person types behind the command: nothing lists, a name activates, and an action is one.
pub fn read_typed_loadout(typed: &str) -> Result<LoadoutAsk, String> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let name = |name: &str| name.to_string();
    Ok(LoadoutAsk::Edit(match words.as_slice() {
        [] | ["list"] => return Ok(LoadoutAsk::List),
        ["promote", id] => return Ok(LoadoutAsk::Promote(name(id))),
        ["create", new, rest @ ..] => LoadoutEdit::Create {
            name: name(new),
            description: rest.join(" "),
        },
        ["rename", old, new] => LoadoutEdit::Update {
            name: name(old),
            rename: Some(name(new)),
            description: None,
        },
        ["describe", of, rest @ ..] => LoadoutEdit::Update {
            name: name(of),
            rename: None,
            description: Some(rest.join(" ")),
        },
        ["delete", of] => LoadoutEdit::Delete { name: name(of) },
        ["off"] => LoadoutEdit::Deactivate,
        ["add", to, id] => LoadoutEdit::Add {
            name: name(to),
            id: name(id),
        },
        ["remove", from, id] => LoadoutEdit::Remove {
            name: name(from),
            id: name(id),
        },
        ["activate", of] | [of] => LoadoutEdit::Activate { name: name(of) },
        _ => {
            return Err("/loadout [NAME], or list, create NAME, rename NAME NEW, describe NAME WORDS, delete NAME, activate NAME, off, \
                        add NAME ID, remove NAME ID, promote ID"
                .to_string());
        }
    }))
}

/// Why a file cannot be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadoutError {
    #[error("the file of loadouts cannot be read: {0}. It is left as it is; mend it first")]
    Unreadable(String),
    #[error("there is no loadout called {0:?}")]
    Missing(String),
    #[error("there is a loadout called {0:?} already")]
    Taken(String),
    #[error("{0:?} is no name of a loadout: letters, digits, - and _, at most {NAME_CHARS_MAX}")]
    BadName(String),
    #[error("{0:?} is no id: it begins with skill:, tool:, mcp: or agent:")]
    BadId(String),
    #[error("{0:?} is active: activate another loadout first, or none")]
    Active(String),
    #[error("{id:?} is not in the loadout {name:?}")]
    NotIn { name: String, id: String },
    #[error("a description has at most {DESCRIPTION_CHARS_MAX} characters")]
    LongDescription,
    #[error("the file of loadouts is written in a way that cannot be changed safely here; change it by hand")]
    NotEditable,
}

/// Reads the file.
pub fn read_loadouts(text: &str) -> Result<Loadouts, LoadoutError> {
    let root = root_of(text)?;
    let lists = |value: Option<&Value>, what: &str| -> Result<Vec<String>, LoadoutError> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| text_of(item, what)).collect(),
            Some(_) => Err(LoadoutError::Unreadable(format!("{what} is no list"))),
        }
    };
    let mut all = Vec::new();
    for (name, loadout) in loadouts_of(&root)? {
        let Some(fields) = loadout.as_object() else {
            return Err(LoadoutError::Unreadable(format!("loadouts.{name} is no mapping")));
        };
        let mut ids = Vec::new();
        for (_, list) in LISTS {
            ids.extend(lists(fields.get(list), &format!("loadouts.{name}.{list}"))?);
        }
        all.push(Loadout {
            name: name.clone(),
            description: fields
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_string(),
            ids,
        });
    }
    Ok(Loadouts {
        core: lists(root.get("core"), "core")?,
        active: root.get("active").and_then(Value::as_str).map(str::to_string),
        all,
    })
}

fn root_of(text: &str) -> Result<Map<String, Value>, LoadoutError> {
    let is_empty = text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if is_empty {
        return Ok(Map::new());
    }
    match read_yaml(text).map_err(|error| LoadoutError::Unreadable(error.to_string()))? {
        Value::Object(root) => Ok(root),
        Value::Null => Ok(Map::new()),
        _ => Err(LoadoutError::Unreadable("it is no mapping".to_string())),
    }
}

fn loadouts_of(root: &Map<String, Value>) -> Result<Map<String, Value>, LoadoutError> {
    match root.get("loadouts") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(all)) => Ok(all.clone()),
        Some(_) => Err(LoadoutError::Unreadable("loadouts is no mapping".to_string())),
    }
}

fn text_of(value: &Value, what: &str) -> Result<String, LoadoutError> {
    let text = value.as_str().map(str::to_string);
    text.ok_or_else(|| LoadoutError::Unreadable(format!("{what} holds something that is no text")))
}

/// The text with the change in it. What the change does not touch stays to the letter.
pub fn edit_loadouts(text: &str, edit: &LoadoutEdit) -> Result<String, LoadoutError> {
    let before = read_loadouts(text)?;
    let meant = apply(&before, edit)?;
    if meant == before {
        return Ok(text.to_string());
    }
    let mut page = Page::of(text);
    let written = write(&mut page, &before, edit);
    let changed = page.text();
    let says_it = written.is_some() && read_loadouts(&changed).as_ref() == Ok(&meant);
    let keeps_the_rest = says_it && unknown(text) == unknown(&changed);
    match keeps_the_rest {
        true => Ok(changed),
        false => Err(LoadoutError::NotEditable),
    }
}

/// What stands beside what is known here.
fn unknown(text: &str) -> Option<Map<String, Value>> {
    let mut root = root_of(text).ok()?;
    for known in ["core", "active", "loadouts"] {
        root.remove(known);
    }
    Some(root)
}

/// What the file has to say then.
fn apply(before: &Loadouts, edit: &LoadoutEdit) -> Result<Loadouts, LoadoutError> {
    let mut after = before.clone();
    let place = |name: &str| {
        let place = before.all.iter().position(|loadout| loadout.name == name);
        place.ok_or_else(|| LoadoutError::Missing(name.to_string()))
    };
    match edit {
        LoadoutEdit::Create { name, description } => {
            check_new(before, name)?;
            check_description(description)?;
            after.all.push(Loadout {
                name: name.clone(),
                description: description.clone(),
                ids: Vec::new(),
            });
        }
        LoadoutEdit::Update {
            name,
            rename,
            description,
        } => {
            let place = place(name)?;
            if let Some(description) = description {
                check_description(description)?;
                after.all[place].description.clone_from(description);
            }
            if let Some(new) = rename.as_ref().filter(|new| *new != name) {
                check_new(before, new)?;
                after.all[place].name.clone_from(new);
                if before.active.as_ref() == Some(name) {
                    after.active = Some(new.clone());
                }
            }
        }
        LoadoutEdit::Delete { name } => {
            let place = place(name)?;
            if before.active.as_ref() == Some(name) {
                return Err(LoadoutError::Active(name.clone()));
            }
            after.all.remove(place);
        }
        LoadoutEdit::Activate { name } => {
            place(name)?;
            after.active = Some(name.clone());
        }
        LoadoutEdit::Deactivate => after.active = None,
        LoadoutEdit::Add { name, id } => {
            let place = place(name)?;
            let kind = CapabilityKind::of_id(id).ok_or_else(|| LoadoutError::BadId(id.clone()))?;
            let ids = &mut after.all[place].ids;
            if !ids.contains(id) {
                let before_next = |other: &String| {
                    CapabilityKind::of_id(other).is_some_and(|other| order(other) > order(kind))
                };
                let at = ids.iter().position(before_next).unwrap_or(ids.len());
                ids.insert(at, id.clone());
            }
        }
        LoadoutEdit::Remove { name, id } => {
            let place = place(name)?;
            if !before.all[place].ids.contains(id) {
                return Err(LoadoutError::NotIn {
                    name: name.clone(),
                    id: id.clone(),
                });
            }
            after.all[place].ids.retain(|other| other != id);
        }
    }
    Ok(after)
}

fn order(kind: CapabilityKind) -> usize {
    LISTS.iter().position(|(of, _)| *of == kind).unwrap_or(0)
}

fn list_of(kind: CapabilityKind) -> &'static str {
    LISTS[order(kind)].1
}

fn check_new(before: &Loadouts, name: &str) -> Result<(), LoadoutError> {
    let is_name = !name.is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && name
            .chars()
            .all(|character| character.is_alphanumeric() || "-_".contains(character));
    if !is_name {
        return Err(LoadoutError::BadName(name.to_string()));
    }
    match before.find(name) {
        Some(_) => Err(LoadoutError::Taken(name.to_string())),
        None => Ok(()),
    }
}

fn check_description(description: &str) -> Result<(), LoadoutError> {
    match description.chars().count() <= DESCRIPTION_CHARS_MAX {
        true => Ok(()),
        false => Err(LoadoutError::LongDescription),
    }
}

fn write(page: &mut Page, before: &Loadouts, edit: &LoadoutEdit) -> Option<()> {
    match edit {
        LoadoutEdit::Create { name, description } => {
            let section = page.section("loadouts")?;
            let indent = page.inner_indent(&section);
            let end = page.end_of(&section);
            let pad = " ".repeat(indent);
            let inner = " ".repeat(indent + STEP);
            let lines = [
                format!("{pad}{}:", quoted(name)),
                format!("{inner}description: {}", quoted(description)),
            ];
            page.insert(end, lines.into_iter().collect());
        }
        LoadoutEdit::Update {
            name,
            rename,
            description,
        } => {
            if let Some(description) = description {
                let at = page.find(&["loadouts", name])?;
                match page.find(&["loadouts", name, "description"]) {
                    Some(field) => page.set_value(&field, &quoted(description))?,
                    None => page.insert_first(&at, &format!("description: {}", quoted(description))),
                }
            }
            if let Some(new) = rename.as_ref().filter(|new| *new != name) {
                if let Some(field) = page.find(&["loadouts", name, "name"]) {
                    page.set_value(&field, &quoted(new))?;
                }
                let at = page.find(&["loadouts", name])?;
                page.set_key(&at, &quoted(new));
                if before.active.as_ref() == Some(name) {
                    let active = page.find(&["active"])?;
                    page.set_value(&active, &quoted(new))?;
                }
            }
        }
        LoadoutEdit::Delete { name } => {
            let at = page.find(&["loadouts", name])?;
            let end = page.end_of(&at);
            page.lines.drain(at.line..end);
        }
        LoadoutEdit::Activate { name } => match page.find(&["active"]) {
            Some(active) => page.set_value(&active, &quoted(name))?,
            None => page.insert(page.first_line(), vec![format!("active: {}", quoted(name))]),
        },
        LoadoutEdit::Deactivate => {
            let active = page.find(&["active"])?;
            page.set_value(&active, "null")?;
        }
        LoadoutEdit::Add { name, id } => {
            let list = list_of(CapabilityKind::of_id(id)?);
            match page.find(&["loadouts", name, list]) {
                Some(field) => page.add_item(&field, id)?,
                None => {
                    let at = page.find(&["loadouts", name])?;
                    let indent = page.inner_indent(&at);
                    let end = page.end_of(&at);
                    page.insert(
                        end,
                        vec![format!("{}{list}: [{}]", " ".repeat(indent), quoted(id))],
                    );
                }
            }
        }
        LoadoutEdit::Remove { name, id } => {
            for (_, list) in LISTS {
                if let Some(field) = page.find(&["loadouts", name, list]) {
                    page.remove_item(&field, id)?;
                }
            }
        }
    }
    Some(())
}

/// A text in double quotes, as YAML reads it; a plain word as it is.
pub fn quoted(text: &str) -> String {
    let is_word = text.starts_with(|character: char| character.is_ascii_alphabetic())
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    if is_word {
        return text.to_string();
    }
    let mut written = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            other if other.is_control() || "\u{2028}\u{2029}\u{feff}".contains(other) => {
                written.push_str(&format!("\\u{:04X}", other as u32));
            }
            other => written.push(other),
        }
    }
    written.push('"');
    written
}

/// A key with what stands below it.
#[derive(Debug, Clone)]
struct Entry {
    line: usize,
    indent: usize,
    /// Where its value begins in the line, behind the colon.
    value: usize,
}

/// A text by its lines.
struct Page {
    lines: Vec<String>,
    ends_in_line: bool,
}

impl Page {
    fn of(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_string).collect(),
            ends_in_line: text.is_empty() || text.ends_with('\n'),
        }
    }

    fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if self.ends_in_line && !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// The first line that is no comment and no mark of the document.
    fn first_line(&self) -> usize {
        let skipped = |line: &&String| {
            line.trim().is_empty() || line.starts_with(['#', '%']) || line.starts_with("---")
        };
        self.lines.iter().take_while(skipped).count()
    }

    fn insert(&mut self, at: usize, lines: Vec<String>) {
        self.lines.splice(at..at, lines);
    }

    /// The entry of this path, in block style.
    fn find(&self, path: &[&str]) -> Option<Entry> {
        let (mut from, mut until, mut above) = (0, self.lines.len(), None);
        let mut found = None;
        for key in path {
            let indent = (from..until).find_map(|line| {
                self.indent_of(line)
                    .filter(|indent| above.is_none_or(|above| *indent > above))
            })?;
            let entry = (from..until).find_map(|line| {
                let entry = self.entry_at(line, key)?;
                (entry.indent == indent).then_some(entry)
            })?;
            (from, until, above) = (entry.line + 1, self.end_of(&entry), Some(entry.indent));
            found = Some(entry);
        }
        found
    }

    /// How far a line is indented; none for one that is empty or a comment.
    fn indent_of(&self, line: usize) -> Option<usize> {
        let text = self.lines.get(line)?;
        let trimmed = text.trim_start_matches(' ');
        let is_nothing = trimmed.trim().is_empty() || trimmed.starts_with('#') || text.starts_with("---");
        (!is_nothing).then_some(text.len() - trimmed.len())
    }

    fn entry_at(&self, line: usize, key: &str) -> Option<Entry> {
        let indent = self.indent_of(line)?;
        let text = &self.lines[line][indent..];
        let spelled = [
            key.to_string(),
            format!("\"{key}\""),
            format!("'{key}'"),
            quoted(key),
        ];
        let rest = spelled.iter().find_map(|spelled| {
            let rest = text
                .strip_prefix(spelled.as_str())?
                .trim_start()
                .strip_prefix(':')?;
            (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
        })?;
        Some(Entry {
            line,
            indent,
            value: self.lines[line].len() - rest.len(),
        })
    }

    /// One past the last line that belongs to an entry; comments behind it belong to what follows.
    fn end_of(&self, entry: &Entry) -> usize {
        let mut end = entry.line + 1;
        for line in entry.line + 1..self.lines.len() {
            match self.indent_of(line) {
                Some(indent) if indent > entry.indent || self.is_item(line, entry.indent) => end = line + 1,
                Some(_) => break,
                None => {}
            }
        }
        end
    }

    /// An item may stand as far left as the key of its list.
    fn is_item(&self, line: usize, indent: usize) -> bool {
        self.indent_of(line) == Some(indent) && self.lines[line][indent..].starts_with("- ")
    }

    fn inner_indent(&self, entry: &Entry) -> usize {
        let inner = (entry.line + 1..self.end_of(entry)).find_map(|line| self.indent_of(line));
        inner.unwrap_or(entry.indent + STEP)
    }

    /// A section that may hold entries; made where there is none.
    fn section(&mut self, key: &str) -> Option<Entry> {
        match self.find(&[key]) {
            Some(entry) => {
                let (value, _) = self.value_of(&entry);
                match value {
                    "" => {}
                    "{}" | "null" | "~" => self.set_value(&entry, "")?,
                    _ => return None,
                }
            }
            None => {
                self.ends_in_line = true;
                self.lines.push(format!("{key}:"));
            }
        }
        self.find(&[key])
    }

    /// The value of an entry in its line, and the comment behind it.
    fn value_of(&self, entry: &Entry) -> (&str, &str) {
        let rest = &self.lines[entry.line][entry.value..];
        let comment = comment_in(rest);
        (rest[..comment].trim(), &rest[comment..])
    }

    /// Only a value that stands in its line is replaced.
    fn set_value(&mut self, entry: &Entry, value: &str) -> Option<()> {
        let (before, comment) = self.value_of(entry);
        if before.starts_with(['|', '>', '&', '*', '!']) {
            return None;
        }
        let gap = if value.is_empty() { "" } else { " " };
        let comment = if comment.is_empty() {
            String::new()
        } else {
            format!(" {}", comment.trim_start())
        };
        let key = &self.lines[entry.line][..entry.value];
        self.lines[entry.line] = format!("{key}{gap}{value}{comment}");
        Some(())
    }

    fn set_key(&mut self, entry: &Entry, key: &str) {
        let rest = self.lines[entry.line][entry.value..].to_string();
        self.lines[entry.line] = format!("{}{key}:{rest}", " ".repeat(entry.indent));
    }

    fn insert_first(&mut self, entry: &Entry, line: &str) {
        let indent = self.inner_indent(entry);
        self.insert(entry.line + 1, vec![format!("{}{line}", " ".repeat(indent))]);
    }

    fn items_in_line(&self, entry: &Entry) -> Option<Vec<String>> {
        let (value, _) = self.value_of(entry);
        match value {
            "" => None,
            "null" | "~" => Some(Vec::new()),
            _ => read_yaml::<Vec<String>>(value).ok(),
        }
    }

    fn set_items(&mut self, entry: &Entry, items: &[String]) -> Option<()> {
        let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
        self.set_value(entry, &format!("[{}]", items.join(", ")))
    }

    /// The lines of the items below an entry.
    fn item_lines(&self, entry: &Entry) -> Vec<usize> {
        let lines = entry.line + 1..self.end_of(entry);
        lines
            .filter(|line| {
                self.indent_of(*line)
                    .is_some_and(|indent| self.lines[*line][indent..].starts_with("- "))
            })
            .collect()
    }

    fn add_item(&mut self, entry: &Entry, id: &str) -> Option<()> {
        if let Some(mut items) = self.items_in_line(entry) {
            items.push(id.to_string());
            return self.set_items(entry, &items);
        }
        match self.item_lines(entry).last() {
            Some(last) => {
                let indent = self.indent_of(*last)?;
                self.insert(last + 1, vec![format!("{}- {}", " ".repeat(indent), quoted(id))]);
                Some(())
            }
            None => self.set_items(entry, &[id.to_string()]),
        }
    }

    fn remove_item(&mut self, entry: &Entry, id: &str) -> Option<()> {
        if let Some(mut items) = self.items_in_line(entry) {
            if !items.contains(&id.to_string()) {
                return Some(());
            }
            items.retain(|item| item != id);
            return self.set_items(entry, &items);
        }
        let is_it = |line: &usize| {
            let item = self.lines[*line].trim_start().trim_start_matches('-');
            read_yaml::<String>(item[..comment_in(item)].trim()).is_ok_and(|item| item == id)
        };
        let gone: Vec<usize> = self.item_lines(entry).into_iter().filter(is_it).collect();
        for line in gone.iter().rev() {
            self.lines.remove(*line);
        }
        if !gone.is_empty() && self.item_lines(entry).is_empty() {
            return self.set_value(entry, "[]");
        }
        Some(())
    }
}

/// Where the comment of a line begins, outside of quotes; its length where it has none.
fn comment_in(text: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '#') if before.is_whitespace() => return at,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), close) if open == close && !(open == '"' && before == '\\') => quote = None,
            _ => {}
        }
        before = character;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# mine
active: zoo # the one I use
core:
  - skill:always
other: [1, 2]   # not yours

loadouts:
  zoo:
    name: zoo
    description: 'All animals'
    skills: ['skill:feed'] # flow
    tools:
      # washing
      - tool:pi:wash
      - \"tool:pi:dry\" # gently
  # the night shift
  night:
    description: Quiet
";

    fn name(name: &str) -> String {
        name.to_string()
    }

    fn check(edit: &LoadoutEdit, from: &str, to: &str) {
        let changed = edit_loadouts(FILE, edit).expect("changed");
        assert_eq!(changed, FILE.replacen(from, to, 1));
    }

    #[test]
    fn a_file_says_what_is_shown() {
        let read = read_loadouts(FILE).expect("read");
        let shown = read.shown().expect("active");
        assert_eq!(
            shown,
            ["skill:always", "skill:feed", "tool:pi:wash", "tool:pi:dry"]
        );
        for nothing in [
            "",
            "# only a comment\n",
            "active: none\n",
            "loadouts: {}\n",
            "null",
        ] {
            assert_eq!(read_loadouts(nothing).expect("read").shown(), None, "{nothing}");
        }
        for broken in [
            "{{{ not yaml",
            "loadouts: [a]",
            "- a",
            "core: 5",
            "loadouts: {a: 5}",
        ] {
            assert!(
                matches!(read_loadouts(broken), Err(LoadoutError::Unreadable(_))),
                "{broken}"
            );
        }
    }

    #[test]
    fn none_is_active_again() {
        check(&LoadoutEdit::Deactivate, "active: zoo #", "active: null #");
        let off = edit_loadouts(FILE, &LoadoutEdit::Deactivate).expect("off");
        assert_eq!(read_loadouts(&off).expect("read").shown(), None);
        assert_eq!(
            edit_loadouts(&off, &LoadoutEdit::Deactivate).as_deref(),
            Ok(off.as_str())
        );
        assert_eq!(edit_loadouts("", &LoadoutEdit::Deactivate).as_deref(), Ok(""));
        let again = LoadoutEdit::Activate { name: name("zoo") };
        assert_eq!(edit_loadouts(&off, &again).as_deref(), Ok(FILE));
    }

    #[test]
    fn an_edit_touches_its_line_only() {
        let add = |id: &str| LoadoutEdit::Add {
            name: name("zoo"),
            id: name(id),
        };
        check(
            &add("skill:brush"),
            "['skill:feed'] #",
            "[\"skill:feed\", \"skill:brush\"] #",
        );
        check(
            &add("tool:pi:comb"),
            "gently\n",
            "gently\n      - \"tool:pi:comb\"\n",
        );
        check(
            &add("agent:vet"),
            "gently\n",
            "gently\n    agents: [\"agent:vet\"]\n",
        );
        check(&add("tool:pi:wash"), "", "");
        let remove = |id: &str| LoadoutEdit::Remove {
            name: name("zoo"),
            id: name(id),
        };
        check(&remove("tool:pi:dry"), "      - \"tool:pi:dry\" # gently\n", "");
        check(&remove("skill:feed"), "['skill:feed']", "[]");
        check(
            &LoadoutEdit::Activate { name: name("night") },
            "active: zoo",
            "active: night",
        );
        check(
            &LoadoutEdit::Delete { name: name("night") },
            "  night:\n    description: Quiet\n",
            "",
        );
        let update = LoadoutEdit::Update {
            name: name("night"),
            rename: Some(name("dusk")),
            description: None,
        };
        check(&update, "night:", "dusk:");
        let update = LoadoutEdit::Update {
            name: name("zoo"),
            rename: None,
            description: Some(name("a: b")),
        };
        check(&update, "'All animals'", "\"a: b\"");
        let create = LoadoutEdit::Create {
            name: name("day"),
            description: name("All \"day\""),
        };
        check(
            &create,
            "Quiet\n",
            "Quiet\n  day:\n    description: \"All \\\"day\\\"\"\n",
        );
    }

    #[test]
    fn a_renamed_loadout_stays_active() {
        let rename = LoadoutEdit::Update {
            name: name("zoo"),
            rename: Some(name("park")),
            description: None,
        };
        let changed = edit_loadouts(FILE, &rename).expect("changed");
        let read = read_loadouts(&changed).expect("read");
        assert_eq!(read.active.as_deref(), Some("park"));
        assert!(
            changed.contains("  park:\n    name: park\n") && changed.contains("active: park # the one I use")
        );
    }

    #[test]
    fn an_empty_file_is_begun() {
        let create = LoadoutEdit::Create {
            name: name("zoo"),
            description: String::new(),
        };
        for empty in ["", "# mine\n", "loadouts: {}\n", "loadouts:\n"] {
            let made = edit_loadouts(empty, &create).expect("made");
            let made = edit_loadouts(&made, &LoadoutEdit::Activate { name: name("zoo") }).expect("active");
            let made = edit_loadouts(
                &made,
                &LoadoutEdit::Add {
                    name: name("zoo"),
                    id: name("skill:x"),
                },
            )
            .expect("added");
            assert_eq!(
                read_loadouts(&made).expect("read").shown(),
                Some(vec![name("skill:x")]),
                "{made}"
            );
            assert!(!empty.starts_with('#') || made.starts_with("# mine\n"));
        }
    }

    #[test]
    fn what_would_lose_something_is_refused() {
        let refused = |text: &str, edit: LoadoutEdit| edit_loadouts(text, &edit).expect_err("refused");
        let create = |new: &str| LoadoutEdit::Create {
            name: name(new),
            description: String::new(),
        };
        assert_eq!(refused(FILE, create("zoo")), LoadoutError::Taken(name("zoo")));
        assert_eq!(refused(FILE, create("")), LoadoutError::BadName(String::new()));
        assert_eq!(refused(FILE, create("a b")), LoadoutError::BadName(name("a b")));
        assert_eq!(
            refused(FILE, LoadoutEdit::Delete { name: name("zoo") }),
            LoadoutError::Active(name("zoo"))
        );
        assert_eq!(
            refused(FILE, LoadoutEdit::Activate { name: name("x") }),
            LoadoutError::Missing(name("x"))
        );
        let remove = LoadoutEdit::Remove {
            name: name("zoo"),
            id: name("skill:none"),
        };
        assert!(matches!(refused(FILE, remove), LoadoutError::NotIn { .. }));
        let rename = LoadoutEdit::Update {
            name: name("zoo"),
            rename: Some(name("night")),
            description: None,
        };
        assert_eq!(refused(FILE, rename), LoadoutError::Taken(name("night")));
        let add = |id: &str| LoadoutEdit::Add {
            name: name("zoo"),
            id: name(id),
        };
        assert_eq!(refused(FILE, add("whale")), LoadoutError::BadId(name("whale")));
        assert_eq!(
            refused("loadouts: {zoo: {skills: []}}", add("skill:x")),
            LoadoutError::NotEditable
        );
        let anchored = refused("loadouts:\n  zoo: &a\n    skills: *b\n", add("skill:x"));
        assert!(matches!(
            anchored,
            LoadoutError::Unreadable(_) | LoadoutError::NotEditable
        ));
        assert!(matches!(refused("{{{", create("a")), LoadoutError::Unreadable(_)));
    }

    #[test]
    fn an_action_is_no_name() {
        let activate = |of: &str| Ok(LoadoutAsk::Edit(LoadoutEdit::Activate { name: name(of) }));
        assert_eq!(
            read_typed_loadout("promote skill:x"),
            Ok(LoadoutAsk::Promote(name("skill:x")))
        );
        assert_eq!(read_typed_loadout(" zoo "), activate("zoo"));
        assert_eq!(read_typed_loadout("activate zoo"), activate("zoo"));
        assert_eq!(read_typed_loadout(""), Ok(LoadoutAsk::List));
        assert_eq!(
            read_typed_loadout("off"),
            Ok(LoadoutAsk::Edit(LoadoutEdit::Deactivate))
        );
        assert!(read_typed_loadout("promote a b").is_err() && read_typed_loadout("zoo park").is_err());
    }

    #[test]
    fn quotes_are_yaml() {
        for text in [
            "a: b",
            "- x",
            "\"",
            "\\",
            "yes",
            "1",
            "",
            "a\nb",
            "\u{7f}\u{feff}",
            "#",
            "ü",
        ] {
            assert_eq!(read_yaml::<String>(&quoted(text)).as_deref(), Ok(text));
        }
    }
}
