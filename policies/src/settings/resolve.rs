//! From the texts of files to one value for every key.

use super::agents::AgentSettings;
use super::check::{check_value, kind_of};
use super::keys::{AGENT_KEYS, KEPT_ANYWAY, KEYS, Key, Kind, PEER_KEYS, SECTIONS, Trust};
use super::nearest::{nearest_key, nearest_of_peer};
use super::{BLACKBYTES_SECTION, OUR_SECTION, PEER_SECTION};
use crate::agents::is_agent_name;
use crate::nearest::nearest_name;
use crate::network::services::ServiceKey;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A settings file larger than this is not read.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The user's.
    Home,
    /// The workspace's.
    Workspace,
}

/// A settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsFile<'a> {
    /// Whose.
    pub place: Place,
    /// The host trusts it; home settings always are.
    pub trusted: bool,
    /// Its text; none when there is no file.
    pub text: Option<&'a str>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A section of a file.
    File(Place, &'static str),
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedValue {
    /// Its key.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// Something a person should know about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which file.
    pub place: Place,
    /// Which section; none for the whole file.
    pub section: Option<&'static str>,
    /// What kind.
    pub kind: NoticeKind,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeKind {
    /// It is not JSON; nothing of it is used.
    ParseFailed {
        /// What and where.
        why: String,
        /// From 1; none when it is about the whole file.
        line: Option<usize>,
    },
    /// The section is no object; nothing of it is used.
    SectionNotObject {
        /// What it is.
        got: &'static str,
    },
    /// One value cannot be meant and is left out.
    Invalid {
        /// Its place below the section.
        key: String,
        /// Why.
        why: String,
    },
    /// No key of that name.
    Unknown {
        /// As written.
        key: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// An untrusted workspace may not say this.
    Untrusted {
        /// The key.
        key: String,
        /// Why not.
        why: &'static str,
    },
    /// It is understood, and what it asks for is so in any case.
    InAnyCase {
        /// The key.
        key: String,
    },
}

/// What is so, whatever a file says of it.
pub const IN_ANY_CASE: &str = "an answer that was cut is always kept whole";

impl Notice {
    /// One line for a person.
    pub fn line(&self) -> String {
        let file = match self.place {
            Place::Home => "home settings",
            Place::Workspace => ".pi/settings.json",
        };
        let section = self.section.unwrap_or(OUR_SECTION);
        match &self.kind {
            NoticeKind::ParseFailed { why, .. } => {
                format!("failed to parse {file} ({why}); defaults are used")
            }
            NoticeKind::SectionNotObject { got } => {
                format!("{file}: {section} must be an object, got {got}; defaults are used")
            }
            NoticeKind::Invalid { key, why } => {
                format!("{file}: invalid setting ignored — {section}.{key}: {why}")
            }
            NoticeKind::Unknown {
                key,
                nearest: Some(nearest),
            } => {
                format!("{file}: unknown setting {section}.{key}; did you mean {nearest}?")
            }
            NoticeKind::Unknown { key, nearest: None } => format!("{file}: unknown setting {section}.{key}"),
            NoticeKind::Untrusted { key, why } => {
                format!("{file}: setting ignored in an untrusted workspace — {section}.{key}: {why}")
            }
            NoticeKind::InAnyCase { key } => {
                format!("{file}: {section}.{key} changes nothing: {IN_ANY_CASE}")
            }
        }
    }
}

/// Every value, and what was wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// One for each key, in order. A secret is `set` here, or empty.
    pub values: Vec<ResolvedValue>,
    /// The secrets themselves, by the paths of their keys.
    pub secrets: BTreeMap<&'static str, ServiceKey>,
    /// What is set for single agents.
    pub agents: BTreeMap<String, AgentSettings>,
    /// In the order of files, sections and keys.
    pub notices: Vec<Notice>,
    /// What is understood and changes nothing.
    pub in_any_case: Vec<Notice>,
}

impl Resolved {
    /// The value of a key.
    pub fn get(&self, path: &str) -> &Value {
        let value = self.values.iter().find(|value| value.key.path == path);
        value.map_or(&Value::Null, |value| &value.value)
    }
}

/// The default of every key, read once.
static DEFAULTS: LazyLock<Vec<ResolvedValue>> = LazyLock::new(|| {
    let defaults = KEYS.iter().map(|key| ResolvedValue {
        key,
        value: serde_json::from_str(key.default).unwrap_or_default(),
        origin: Origin::Default,
    });
    defaults.collect()
});

/// Every key, as its section (empty where it has none) and its name.
static KNOWN: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
    let known = KEYS
        .iter()
        .map(|key| key.path.split_once('.').unwrap_or(("", key.path)));
    known.collect()
});

/// Resolves every key over the files, in the order given: home, then workspace.
pub fn resolve_settings(files: &[SettingsFile<'_>]) -> Resolved {
    let mut resolved = Resolved {
        values: DEFAULTS.clone(),
        secrets: BTreeMap::new(),
        agents: BTreeMap::new(),
        notices: Vec::new(),
        in_any_case: Vec::new(),
    };
    for file in files {
        apply_file(file, &mut resolved);
    }
    resolved
}

fn apply_file(file: &SettingsFile<'_>, resolved: &mut Resolved) {
    let Some(text) = file.text else { return };
    let mut failed = |why: String, line: Option<usize>| {
        resolved.notices.push(Notice {
            place: file.place,
            section: None,
            kind: NoticeKind::ParseFailed { why, line },
        });
    };
    if text.len() > FILE_BYTES_MAX {
        return failed(format!("more than {FILE_BYTES_MAX} bytes"), None);
    }
    // An editor may have put a mark of the byte order there.
    let root: Value = match serde_json::from_str(text.strip_prefix('\u{FEFF}').unwrap_or(text)) {
        Ok(Value::Null) => return failed("the file holds null".to_string(), None),
        Ok(root) => root,
        Err(error) => return failed(error.to_string(), Some(error.line())),
    };
    for section in [PEER_SECTION, BLACKBYTES_SECTION, OUR_SECTION] {
        match root.get(section) {
            None => {}
            Some(Value::Null) if section != BLACKBYTES_SECTION => {}
            Some(values @ Value::Object(_)) => {
                let mut section = Section {
                    file,
                    section,
                    resolved,
                };
                match section.section {
                    BLACKBYTES_SECTION => section.apply_blackbytes(values),
                    _ => section.apply(values),
                }
            }
            Some(other) => {
                let kind = NoticeKind::SectionNotObject { got: kind_of(other) };
                resolved.notices.push(Notice {
                    place: file.place,
                    section: Some(section),
                    kind,
                });
            }
        }
    }
}

/// One section of one file, being laid over what is there.
struct Section<'a, 'b> {
    file: &'a SettingsFile<'a>,
    section: &'static str,
    resolved: &'b mut Resolved,
}

impl Section<'_, '_> {
    fn apply(&mut self, values: &Value) {
        let mut complained: Vec<&str> = Vec::new();
        for (at, key) in KEYS.iter().enumerate() {
            let path = key.path;
            let (holder, name) = match path.split_once('.') {
                None => (values, path),
                Some((section, name)) => match values.get(section) {
                    None => continue,
                    Some(holder @ Value::Object(_)) => (holder, name),
                    Some(other) => {
                        if !complained.contains(&section) {
                            complained.push(section);
                            let why = format!("expected object, got {}", kind_of(other));
                            self.notice(NoticeKind::Invalid {
                                key: section.to_string(),
                                why,
                            });
                        }
                        continue;
                    }
                },
            };
            if let Some(value) = holder.get(name) {
                self.apply_value(at, value, path);
            }
        }
        for (name, values) in values
            .get("agents")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if values.is_object() && is_agent_name(name) && !KNOWN.contains(&("agents", name.as_str())) {
                self.apply_agent(name, values, &format!("agents.{name}"));
            }
        }
        self.unknown_keys(values);
    }

    /// The object of pi-blackbytes: its words for our keys, and what is so in any case.
    fn apply_blackbytes(&mut self, values: &Value) {
        for (written, path) in [
            ("disabled_tools", "agents.disabledTools"),
            ("disabled_sub_agents", "agents.disabled"),
        ] {
            let at = KEYS.iter().position(|key| key.path == path);
            if let Some((at, value)) = at.zip(values.get(written)) {
                self.apply_value(at, value, written);
            }
        }
        self.apply_peer_objects(values);
        match values.get("sub_agents") {
            None => {}
            Some(Value::Object(agents)) => {
                for (name, values) in agents {
                    self.apply_agent(name, values, &format!("sub_agents.{name}"));
                }
            }
            Some(other) => self.not_an_object("sub_agents", other),
        }
        let known = [
            "disabled_tools",
            "disabled_sub_agents",
            "sub_agents",
            "websearch",
            "context7",
            "system_prompt_log",
            "ui",
            "hashline_edit",
        ];
        for name in values.as_object().into_iter().flat_map(|values| values.keys()) {
            let known = known.contains(&name.as_str());
            // The peer keeps what it does not know; only a slip of the finger is told.
            if let Some(nearest) = nearest_of_peer(name).filter(|_| !known) {
                self.notice(NoticeKind::Unknown {
                    key: name.clone(),
                    nearest: Some(nearest),
                });
            }
        }
    }

    /// What the peer says in objects of its section, and acted on here.
    fn apply_peer_objects(&mut self, values: &Value) {
        let mut complained: Vec<&str> = Vec::new();
        for (section, name, path) in PEER_KEYS {
            let Some(holder) = values.get(section) else {
                continue;
            };
            let at = KEYS.iter().position(|key| key.path == path);
            // One of them may be a switch itself.
            if let (true, Some(at), "hashline_edit") = (holder.is_boolean(), at, section) {
                self.apply_value(at, holder, section);
                continue;
            }
            if !holder.is_object() {
                if !complained.contains(&section) {
                    complained.push(section);
                    self.not_an_object(section, holder);
                }
                continue;
            }
            if let Some((at, value)) = at.zip(holder.get(name)) {
                self.apply_value(at, value, &format!("{section}.{name}"));
            }
        }
    }

    /// What is said of one agent, at this place of the section.
    fn apply_agent(&mut self, name: &str, values: &Value, place: &str) {
        let Some(fields) = values.as_object() else {
            self.not_an_object(place, values);
            return;
        };
        for key in &AGENT_KEYS {
            if let Some(value) = fields.get(key.path) {
                self.apply_field(name, key, value, &format!("{place}.{}", key.path));
            }
        }
        for (field, value) in fields {
            if self.section == BLACKBYTES_SECTION && field == KEPT_ANYWAY.path {
                let prefix = format!("{place}.{field}");
                let checked = check_value(&KEPT_ANYWAY, value, &Value::Null);
                self.complain(&KEPT_ANYWAY, &prefix, checked.complaints);
                self.in_any_case(prefix);
            } else if AGENT_KEYS.iter().all(|key| key.path != field) {
                let nearest = nearest_name(field, AGENT_KEYS.iter().map(|key| key.path));
                if nearest.is_some() || self.section != BLACKBYTES_SECTION {
                    self.notice(NoticeKind::Unknown {
                        key: format!("{place}.{field}"),
                        nearest,
                    });
                }
            }
        }
    }

    fn apply_field(&mut self, name: &str, key: &'static Key, value: &Value, place: &str) {
        let checked = check_value(key, value, &Value::Null);
        self.complain(key, place, checked.complaints);
        let Some(value) = checked.value else { return };
        let said = self.resolved.agents.get(name).and_then(|said| said.get(key.path));
        // Where nobody said anything, an agent may be asked, and nothing is taken from it.
        let below = match (said, key.kind) {
            (Some(said), _) => said.value.clone(),
            (None, Kind::Flag) => Value::Bool(true),
            (None, Kind::Texts) => Value::Array(Vec::new()),
            (None, _) => Value::from(0),
        };
        if let Some(refusal) = self.refusal(key, place, &below, &value) {
            self.notice(refusal);
            return;
        }
        let origin = Origin::File(self.file.place, self.section);
        let agent = self.resolved.agents.entry(name.to_string()).or_default();
        agent.set(key, value, origin);
    }

    /// Why this file may not set this, which is written so here.
    fn refusal(&self, key: &Key, written: &str, below: &Value, value: &Value) -> Option<NoticeKind> {
        let written = written.to_string();
        if key.trust == Trust::User && self.file.place != Place::Home {
            let why = "only your own settings can say it".to_string();
            return (value != below).then_some(NoticeKind::Invalid { key: written, why });
        }
        let why = refused(key, below, value).filter(|_| !self.file.trusted)?;
        Some(NoticeKind::Untrusted { key: written, why })
    }

    /// Complaints about a key that is written otherwise here.
    fn complain(&mut self, key: &Key, written: &str, complaints: Vec<(String, String)>) {
        for (place, why) in complaints {
            let below = place.strip_prefix(key.path).unwrap_or_default();
            self.notice(NoticeKind::Invalid {
                key: format!("{written}{below}"),
                why,
            });
        }
    }

    fn not_an_object(&mut self, place: &str, value: &Value) {
        self.notice(NoticeKind::Invalid {
            key: place.to_string(),
            why: format!("expected object, got {}", written_kind(value)),
        });
    }

    fn in_any_case(&mut self, key: String) {
        self.resolved.in_any_case.push(Notice {
            place: self.file.place,
            section: Some(self.section),
            kind: NoticeKind::InAnyCase { key },
        });
    }

    /// Takes the value of a key that is written so in this section.
    fn apply_value(&mut self, at: usize, value: &Value, written: &str) {
        let key = &KEYS[at];
        let below = self.resolved.values[at].value.clone();
        let checked = check_value(key, value, &below);
        self.complain(key, written, checked.complaints);
        let Some(value) = checked.value else { return };
        if let Some(refusal) = self.refusal(key, written, &below, &value) {
            self.notice(refusal);
            return;
        }
        let origin = Origin::File(self.file.place, self.section);
        let value = match key.kind {
            Kind::Secret => self.keep_secret(key, &value),
            _ => value,
        };
        self.resolved.values[at] = ResolvedValue { key, value, origin };
    }

    /// Keeps a secret where nobody shows it, and gives what stands in its place.
    fn keep_secret(&mut self, key: &'static Key, value: &Value) -> Value {
        match value.as_str().and_then(ServiceKey::read) {
            Some(secret) => {
                self.resolved.secrets.insert(key.path, secret);
                Value::from("set")
            }
            None => {
                self.resolved.secrets.remove(key.path);
                Value::from("")
            }
        }
    }

    fn unknown_keys(&mut self, values: &Value) {
        for (name, value) in values.as_object().into_iter().flatten() {
            if SECTIONS.contains(&name.as_str()) {
                for (inner, value) in value.as_object().into_iter().flatten() {
                    let is_agent = name == "agents" && is_agent_name(inner) && value.is_object();
                    if !is_agent && !KNOWN.contains(&(name.as_str(), inner.as_str())) {
                        self.unknown(format!("{name}.{inner}"));
                    }
                }
            } else if !KNOWN.contains(&("", name.as_str())) {
                self.unknown(name.clone());
            }
        }
    }

    fn unknown(&mut self, written: String) {
        let nearest = nearest_key(&written);
        self.notice(NoticeKind::Unknown {
            key: written,
            nearest,
        });
    }

    fn notice(&mut self, kind: NoticeKind) {
        self.resolved.notices.push(Notice {
            place: self.file.place,
            section: Some(self.section),
            kind,
        });
    }
}

/// Why an untrusted workspace may not set this.
fn refused(key: &Key, below: &Value, value: &Value) -> Option<&'static str> {
    // What stands in place of a secret may be what somebody calls theirs.
    if value == below && key.kind != Kind::Secret {
        return None;
    }
    match key.trust {
        Trust::Free | Trust::User => None,
        Trust::Outside => Some("it names a program, a path, a provider or a model, or spends more"),
        Trust::Limit => raises(key.kind, below, value).then_some("it raises a limit"),
    }
}

fn raises(kind: Kind, below: &Value, value: &Value) -> bool {
    let zero_is_off = matches!(
        kind,
        Kind::Int {
            zero_is_off: true,
            ..
        } | Kind::Number {
            zero_is_off: true,
            ..
        }
    );
    let limit = |value: &Value| match value.as_f64() {
        Some(number) if number != 0.0 || !zero_is_off => number,
        Some(_) | None => f64::INFINITY,
    };
    match (below, value) {
        (Value::Bool(old), Value::Bool(new)) => *new && !*old,
        // Each takes something away.
        (Value::Array(old), Value::Array(new)) => !old.iter().all(|item| new.contains(item)),
        (Value::Object(old), Value::Object(new)) => {
            // A part that is not there falls back to the common ceiling, which is no lower than any default.
            let raised =
                |(name, item): (&String, &Value)| old.get(name).is_none_or(|old| limit(item) > limit(old));
            new.iter().any(raised) || old.len() > new.len()
        }
        _ => limit(value) > limit(below),
    }
}

/// The kind of a value as JSON has it: `null` is no object.
fn written_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        other => kind_of(other),
    }
}

impl Origin {
    /// As a person is told.
    pub fn in_words(self) -> String {
        match self {
            Origin::Default => "default".to_string(),
            Origin::File(Place::Home, section) => format!("home, {section}"),
            Origin::File(Place::Workspace, section) => format!("workspace, {section}"),
        }
    }
}
