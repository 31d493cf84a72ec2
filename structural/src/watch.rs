//! A syntax tree that is looked at step by step, so that looking can end at any step.
//!
//! The matchers of ast-grep know no end but their own. Every way they go through a tree is an iterator of its nodes, and
//! those here count their steps: once somebody wants an end, each is empty, and the matcher returns. A matcher that goes
//! deeper into itself holds one iterator a level, so that the number of living ones is how deep the stack is.

use ast_grep_core::source::{Edit, SgNode};
use ast_grep_core::{Doc, Position};
use ast_grep_language::{LanguageExt, SupportLang};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// A matcher that would go deeper into itself is ended. A level takes up to 6 KB of stack in a build without optimisation,
/// and a thread has 2 MB.
const LEVELS_MAX: u32 = 160;
/// So many steps pass between two looks at the clock: well below a millisecond.
const STEPS_BETWEEN_LOOKS: u32 = 512;

/// Why a text was not looked through to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Whoever wanted it does not any more, or the time is up.
    Unwanted,
    /// Its tree is too deep for this query.
    TooDeep,
    /// The parser gave up.
    Unparsed,
}

/// Whether looking is to go on.
pub struct Watch {
    is_over: Box<dyn Fn() -> bool>,
    ended: Cell<Option<Ended>>,
    steps: Cell<u32>,
    levels: Cell<u32>,
}

impl Watch {
    /// Looking ends when this says so. It is asked often.
    pub fn new(is_over: impl Fn() -> bool + 'static) -> Rc<Self> {
        Rc::new(Self {
            is_over: Box::new(is_over),
            ended: Cell::new(None),
            steps: Cell::new(0),
            levels: Cell::new(0),
        })
    }

    /// For one text: what ended another one is forgotten, unless nobody wants any more.
    pub(crate) fn begin(&self) {
        self.ended.set(None);
        self.look();
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.get()
    }

    fn look(&self) {
        if self.ended.get().is_none() && (self.is_over)() {
            self.ended.set(Some(Ended::Unwanted));
        }
    }

    fn step(&self) -> bool {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            self.look();
        }
        self.ended.get().is_none()
    }

    fn enter(&self) {
        self.levels.set(self.levels.get() + 1);
        if self.levels.get() > LEVELS_MAX && self.ended.get().is_none() {
            self.ended.set(Some(Ended::TooDeep));
        }
    }

    fn leave(&self) {
        self.levels.set(self.levels.get().saturating_sub(1));
    }
}

/// A parsed text.
#[derive(Clone)]
pub struct Document {
    source: String,
    language: SupportLang,
    tree: Tree,
    watch: Rc<Watch>,
}

impl Document {
    pub fn parse(source: String, language: SupportLang, watch: &Rc<Watch>) -> Result<Self, Ended> {
        watch.begin();
        if let Some(ended) = watch.ended() {
            return Err(ended);
        }
        let tree = parse(source.as_bytes(), language, watch)?;
        Ok(Self {
            source,
            language,
            tree,
            watch: Rc::clone(watch),
        })
    }
}

thread_local! {
    /// Making a parser ready for a language takes longer than parsing a small file.
    static PARSERS: RefCell<HashMap<SupportLang, Parser>> = RefCell::default();
}

pub fn parse(source: &[u8], language: SupportLang, watch: &Watch) -> Result<Tree, Ended> {
    PARSERS.with_borrow_mut(|parsers| {
        let parser = match parsers.entry(language) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let mut parser = Parser::new();
                let set = parser.set_language(&language.get_ts_language());
                set.map_err(|_| Ended::Unparsed)?;
                entry.insert(parser)
            }
        };
        // One that was ended would go on where it was.
        parser.reset();
        let mut go_on = |_: &tree_sitter::ParseState| {
            watch.look();
            match watch.ended() {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            }
        };
        let mut read = |at: usize, _| source.get(at..).unwrap_or_default();
        let options = ParseOptions::new().progress_callback(&mut go_on);
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        tree.ok_or_else(|| watch.ended().unwrap_or(Ended::Unparsed))
    })
}

impl Doc for Document {
    type Source = String;
    type Lang = SupportLang;
    type Node<'r> = WatchedNode<'r>;

    fn get_lang(&self) -> &SupportLang {
        &self.language
    }

    fn get_source(&self) -> &String {
        &self.source
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("a document is read only".to_string())
    }

    fn root_node(&self) -> WatchedNode<'_> {
        WatchedNode {
            node: self.tree.root_node(),
            watch: &self.watch,
        }
    }

    fn get_node_text<'a>(&'a self, node: &WatchedNode<'a>) -> Cow<'a, str> {
        Cow::Borrowed(self.source.get(node.node.byte_range()).unwrap_or_default())
    }
}

/// A node; everything that goes through the tree from it is counted.
#[derive(Clone, Copy)]
pub struct WatchedNode<'r> {
    node: Node<'r>,
    watch: &'r Watch,
}

impl<'r> WatchedNode<'r> {
    fn with(&self, node: Node<'r>) -> Self {
        Self {
            node,
            watch: self.watch,
        }
    }

    fn count<I: Iterator<Item = Node<'r>>>(&self, nodes: I) -> Steps<'r, I> {
        self.watch.enter();
        Steps {
            nodes,
            watch: self.watch,
        }
    }
}

struct Steps<'r, I> {
    nodes: I,
    watch: &'r Watch,
}

impl<I> Drop for Steps<'_, I> {
    fn drop(&mut self) {
        self.watch.leave();
    }
}

impl<'r, I: Iterator<Item = Node<'r>>> Iterator for Steps<'r, I> {
    type Item = WatchedNode<'r>;

    fn next(&mut self) -> Option<WatchedNode<'r>> {
        if !self.watch.step() {
            return None;
        }
        let node = self.nodes.next()?;
        Some(WatchedNode {
            node,
            watch: self.watch,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<'r, I: ExactSizeIterator<Item = Node<'r>>> ExactSizeIterator for Steps<'r, I> {
    fn len(&self) -> usize {
        self.nodes.len()
    }
}

impl<'r> SgNode<'r> for WatchedNode<'r> {
    fn parent(&self) -> Option<Self> {
        self.node.parent().map(|node| self.with(node))
    }
    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        self.count(SgNode::children(&self.node))
    }
    fn kind(&self) -> Cow<'_, str> {
        SgNode::kind(&self.node)
    }
    fn kind_id(&self) -> u16 {
        self.node.kind_id()
    }
    fn node_id(&self) -> usize {
        self.node.id()
    }
    fn range(&self) -> Range<usize> {
        self.node.byte_range()
    }
    fn start_pos(&self) -> Position {
        SgNode::start_pos(&self.node)
    }
    fn end_pos(&self) -> Position {
        SgNode::end_pos(&self.node)
    }
    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        self.count(SgNode::ancestors(&self.node, root.node))
    }
    fn dfs(&self) -> impl Iterator<Item = Self> {
        self.count(SgNode::dfs(&self.node))
    }
    fn child(&self, nth: usize) -> Option<Self> {
        SgNode::child(&self.node, nth).map(|node| self.with(node))
    }
    fn next(&self) -> Option<Self> {
        self.node.next_sibling().map(|node| self.with(node))
    }
    fn prev(&self) -> Option<Self> {
        self.node.prev_sibling().map(|node| self.with(node))
    }
    fn next_all(&self) -> impl Iterator<Item = Self> {
        self.count(SgNode::next_all(&self.node))
    }
    fn prev_all(&self) -> impl Iterator<Item = Self> {
        self.count(SgNode::prev_all(&self.node))
    }
    fn is_named(&self) -> bool {
        self.node.is_named()
    }
    fn is_named_leaf(&self) -> bool {
        self.node.named_child_count() == 0
    }
    fn is_leaf(&self) -> bool {
        self.node.child_count() == 0
    }
    fn is_missing(&self) -> bool {
        self.node.is_missing()
    }
    fn is_error(&self) -> bool {
        self.node.is_error()
    }
    fn is_extra(&self) -> bool {
        self.node.is_extra()
    }
    fn field(&self, name: &str) -> Option<Self> {
        self.node.child_by_field_name(name).map(|node| self.with(node))
    }
    fn field_children(&self, field: Option<u16>) -> impl Iterator<Item = Self> {
        self.count(SgNode::field_children(&self.node, field))
    }
    fn child_by_field_id(&self, field: u16) -> Option<Self> {
        self.node.child_by_field_id(field).map(|node| self.with(node))
    }
}
