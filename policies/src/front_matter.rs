//! What does the YAML above a skill say?
//!
//! It is read as the peers' reader does, which is YAML 1.1 in parts: `yes` and `on` are texts, `1:30`, `0x1F` and
//! `1_000` are numbers, `2024-01-01` is a date, and a merge key merges. Only the texts of the top level are given
//! back; everything else is only checked. An alias is never written out, so nothing here can grow.

mod scalar;

use granit_parser::{Event, Options, Parser, ScalarStyle, Tag};
use scalar::{Value, value_of};
use std::collections::{BTreeMap, BTreeSet};

/// Why it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontMatterError {
    /// From 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// The entries of the top level that are texts, in order; none where it is no mapping.
pub(crate) fn read_front_matter(text: &str) -> Result<Vec<(String, String)>, FrontMatterError> {
    let mut options = Options::default();
    options.disallow_directives = true;
    let mut tree = Tree::default();
    let mut line = 1;
    for event in Parser::new_from_str_with_options(text, options) {
        let step = event
            .map_err(|error| (error.marker().line(), error.info()))
            .and_then(|(event, span)| {
                line = span.start.line();
                tree.take(event).map_err(|what| (line, what.to_string()))
            });
        step.map_err(|(line, what)| FrontMatterError {
            line: line.max(1) as u64,
            what,
        })?;
    }
    Ok(tree.top_texts())
}

/// So many entries may be merged in, all together; more is no front matter.
const MERGED_MAX: usize = 1_000;

/// A place in the tree.
type Place = usize;

#[derive(Debug, Clone)]
enum Node {
    /// A scalar.
    Scalar(Value),
    /// A list of nodes.
    List(Vec<Place>),
    /// Keys, written out as texts, and nodes.
    Map(Vec<(String, Place)>),
}

/// A container that was opened and not yet closed.
#[derive(Debug)]
struct Open {
    place: Place,
    /// In a mapping, the key whose value comes next.
    key: Option<Key>,
    /// In a mapping, where each key's entry is.
    entries: BTreeMap<String, usize>,
    /// Keys that were merged in, and may still be given.
    merged: BTreeSet<String>,
}

#[derive(Debug)]
enum Key {
    /// An entry of that name.
    Name(String),
    /// What comes is merged in.
    Merge,
}

#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<Node>,
    anchors: BTreeMap<usize, Place>,
    open: Vec<Open>,
    top: Option<Place>,
    documents: usize,
    merged: usize,
}

type Refusal = &'static str;

impl Tree {
    fn take(&mut self, event: Event<'_>) -> Result<(), Refusal> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document begins");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = value_of(&text, style, tag.as_deref())?;
                let place = self.add(Node::Scalar(value), anchor);
                self.put(place)?;
            }
            Event::Alias(anchor) => {
                let place = self.anchors.get(&anchor).copied();
                self.put(place.ok_or("an alias names no anchor")?)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), &["seq", "omap", "pairs"])?;
                self.begin(Node::List(Vec::new()), anchor);
            }
            Event::MappingStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), &["map", "set"])?;
                self.begin(Node::Map(Vec::new()), anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let closed = self.open.pop().ok_or("nothing is open")?;
                self.put(closed.place)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize) -> Place {
        self.nodes.push(node);
        let place = self.nodes.len() - 1;
        if anchor > 0 {
            self.anchors.insert(anchor, place);
        }
        place
    }

    fn begin(&mut self, node: Node, anchor: usize) {
        let place = self.add(node, anchor);
        self.open.push(Open {
            place,
            key: None,
            entries: BTreeMap::new(),
            merged: BTreeSet::new(),
        });
    }

    /// A node is complete: it is an item, a key, a value, or the whole.
    fn put(&mut self, place: Place) -> Result<(), Refusal> {
        let Some(open) = self.open.last_mut() else {
            self.top = Some(place);
            return Ok(());
        };
        if let Node::List(items) = &mut self.nodes[open.place] {
            items.push(place);
            return Ok(());
        }
        match open.key.take() {
            None => {
                let key = self.key_of(place)?;
                if let Some(open) = self.open.last_mut() {
                    open.key = Some(key);
                }
                Ok(())
            }
            Some(Key::Name(name)) => self.put_entry(name, place),
            Some(Key::Merge) => match &self.nodes[place] {
                Node::List(items) => self.merge_all(&items.clone()),
                Node::Map(_) | Node::Scalar(_) => self.merge(place),
            },
        }
    }

    fn put_entry(&mut self, name: String, place: Place) -> Result<(), Refusal> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let Node::Map(entries) = &mut self.nodes[open.place] else {
            return Ok(());
        };
        match open.entries.get(&name) {
            None => {
                open.entries.insert(name.clone(), entries.len());
                entries.push((name, place));
            }
            Some(at) if open.merged.remove(&name) => entries[*at].1 = place,
            Some(_) => return Err("a key stands here for the second time"),
        }
        Ok(())
    }

    fn merge_all(&mut self, items: &[Place]) -> Result<(), Refusal> {
        items.iter().try_for_each(|item| self.merge(*item))
    }

    /// Takes over what is not there yet.
    fn merge(&mut self, from: Place) -> Result<(), Refusal> {
        let others: Vec<(String, Place)> = match &self.nodes[from] {
            Node::Map(entries) => entries.clone(),
            Node::List(items) => items
                .iter()
                .copied()
                .enumerate()
                .map(|(at, place)| (at.to_string(), place))
                .collect(),
            Node::Scalar(_) => return Err("only a mapping can be merged"),
        };
        self.merged += others.len();
        if self.merged > MERGED_MAX {
            return Err("too much is merged in");
        }
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let Node::Map(entries) = &mut self.nodes[open.place] else {
            return Ok(());
        };
        for (name, place) in others {
            if !open.entries.contains_key(&name) {
                open.merged.insert(name.clone());
                open.entries.insert(name.clone(), entries.len());
                entries.push((name, place));
            }
        }
        Ok(())
    }

    fn key_of(&self, place: Place) -> Result<Key, Refusal> {
        Ok(match &self.nodes[place] {
            Node::Scalar(Value::Merge) => Key::Merge,
            Node::Scalar(value) => Key::Name(value.as_key()),
            Node::Map(_) => Key::Name("[object Object]".to_string()),
            Node::List(items) => {
                let mut parts = Vec::with_capacity(items.len());
                for item in items {
                    parts.push(match &self.nodes[*item] {
                        Node::Scalar(value) => value.as_key(),
                        Node::Map(_) => "[object Object]".to_string(),
                        Node::List(_) => return Err("a list in a list is no key"),
                    });
                }
                Key::Name(parts.join(","))
            }
        })
    }

    fn top_texts(&self) -> Vec<(String, String)> {
        let Some(Node::Map(entries)) = self.top.map(|place| &self.nodes[place]) else {
            return Vec::new();
        };
        let text = |(name, place): &(String, Place)| match &self.nodes[*place] {
            Node::Scalar(Value::Text(text)) => Some((name.clone(), text.clone())),
            Node::Scalar(Value::Merge) => Some((name.clone(), "<<".to_string())),
            Node::Scalar(_) | Node::List(_) | Node::Map(_) => None,
        };
        entries.iter().filter_map(text).collect()
    }
}

/// A tag of a container must be one of these.
fn check_tag(tag: Option<&Tag>, known: &[&str]) -> Result<(), Refusal> {
    match tag.map(tag_name) {
        None | Some(TagName::Plain) => Ok(()),
        Some(TagName::Core(name)) if known.contains(&name.as_str()) => Ok(()),
        Some(TagName::Core(_) | TagName::Foreign) => Err("a tag that is not known here"),
    }
}

/// What a tag is.
enum TagName {
    /// `!`: whatever it looks like, it is a text.
    Plain,
    /// One of YAML's own.
    Core(String),
    /// Anything else.
    Foreign,
}

fn tag_name(tag: &Tag) -> TagName {
    match tag.suffix_in_namespace("tag:yaml.org,2002:") {
        Some(name) => TagName::Core(name.into_owned()),
        None if tag.parts() == ("", "!") || tag.parts() == ("!", "") => TagName::Plain,
        None => TagName::Foreign,
    }
}

/// Whether a scalar was written without quotes on one or several lines.
fn is_plain(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(yaml: &str) -> Option<String> {
        let entries = read_front_matter(yaml).expect(yaml);
        entries
            .into_iter()
            .find(|(key, _)| key == "model")
            .map(|(_, text)| text)
    }

    #[test]
    fn a_merge_gives_what_is_not_said() {
        assert_eq!(model("base: &b {model: a}\n<<: *b"), Some("a".into()));
        assert_eq!(
            model("base: &b {model: a}\nmodel: own\n<<: *b"),
            Some("own".into())
        );
        assert_eq!(
            model("<<: [{model: a}, {model: b}]\nmodel: own"),
            Some("own".into())
        );
        assert!(read_front_matter("<<: 5").is_err());
    }

    #[test]
    fn keys_are_told_apart_by_their_text() {
        assert!(read_front_matter("model: a\n\"model\": b").is_err());
        assert!(read_front_matter("1: a\n\"1\": b").is_err());
        assert!(read_front_matter("0x1F: a\n31: b").is_err());
        assert_eq!(model("{a: 1}: x\nmodel: m"), Some("m".into()));
    }

    #[test]
    fn many_aliases_are_never_written_out() {
        let mut bomb = "a0: &a0 [x]\n".to_string();
        for level in 1..60 {
            let before = level - 1;
            bomb.push_str(&format!(
                "a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n"
            ));
        }
        assert_eq!(model(&format!("{bomb}model: m")), Some("m".into()));
    }

    #[test]
    fn what_is_two_documents_or_names_what_is_not_there_is_refused() {
        for yaml in [
            "a: 1\n---\nb: 2",
            "%YAML 1.2\n---\na: 1",
            "a: *nobody",
            "a: !mine 1",
            "a: !!int x",
        ] {
            assert!(read_front_matter(yaml).is_err(), "{yaml}");
        }
        assert_eq!(read_front_matter("~"), Ok(vec![]));
        assert_eq!(read_front_matter("just words"), Ok(vec![]));
    }
}
