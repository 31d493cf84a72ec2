//! Looking through one text.

use crate::query::{Matching, Query};
use crate::watch::{Document, Ended, Watch};
use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::replacer::Replacer;
use ast_grep_core::{AstGrep, Matcher, Node};
use impresario_policies::structural::edits::Edit;
use std::ops::Range;
use std::rc::Rc;

/// One place that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its bytes.
    pub bytes: Range<usize>,
    /// Its first line, from 1.
    pub line: usize,
    /// Where it begins in that line, in characters from 0.
    pub column: usize,
}

/// What matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// The first ones, in the order of the text.
    pub first: Vec<Hit>,
    /// How many there are.
    pub total: usize,
}

/// What becomes of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    /// What each place becomes, in the order of the text. One more than was asked for says that there are more.
    pub edits: Vec<Edit>,
    /// Places inside of others: they match again once those are replaced, or are gone with them.
    pub inside: usize,
}

impl Query {
    /// The places that match, the first `hits_max` of them one by one.
    pub fn search(&self, text: &str, hits_max: usize, watch: &Rc<Watch>) -> Result<Hits, Ended> {
        let mut hits = Hits::default();
        self.each(text, watch, &mut |query, node| {
            let Some(found) = query.find_in(node) else {
                return;
            };
            hits.total += 1;
            if hits.first.len() < hits_max {
                let start = found.start_pos();
                hits.first.push(Hit {
                    bytes: found.range(),
                    line: start.line() + 1,
                    column: start.column(&found),
                });
            }
        })?;
        Ok(hits)
    }

    /// What each place becomes.
    pub fn replace(&self, text: &str, edits_max: usize, watch: &Rc<Watch>) -> Result<Replaced, Ended> {
        let mut replaced = Replaced::default();
        self.each(text, watch, &mut |query, node| {
            if replaced.edits.len() > edits_max {
                return;
            }
            let end = replaced.edits.last().map_or(0, |edit| edit.bytes.end);
            if node.range().start < end {
                replaced.inside += usize::from(query.find_in(node).is_some());
            } else if let Some(edit) = query.edit(node) {
                replaced.edits.push(edit);
            }
        })?;
        Ok(replaced)
    }

    fn each(
        &self,
        text: &str,
        watch: &Rc<Watch>,
        see: &mut dyn FnMut(&Query, Node<'_, Document>),
    ) -> Result<(), Ended> {
        let root = AstGrep::doc(Document::parse(text.to_string(), self.language.0, watch)?);
        let kinds = match &self.matching {
            Matching::Pattern(pattern) => pattern.potential_kinds(),
            Matching::Rule(rule) => rule.potential_kinds(),
        };
        for node in root.root().dfs() {
            let possible = kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(usize::from(node.kind_id())));
            if possible {
                see(self, node);
            }
        }
        match watch.ended() {
            None => Ok(()),
            Some(ended) => Err(ended),
        }
    }

    fn find_in<'tree>(&self, node: Node<'tree, Document>) -> Option<Node<'tree, Document>> {
        match &self.matching {
            Matching::Pattern(pattern) => pattern.match_node(node).map(Node::from),
            Matching::Rule(rule) => rule.match_node(node).map(Node::from),
        }
    }

    fn edit(&self, node: Node<'_, Document>) -> Option<Edit> {
        match &self.matching {
            Matching::Pattern(pattern) => self.edit_by(pattern, node),
            Matching::Rule(rule) => self.edit_by(rule.as_ref(), node),
        }
    }

    fn edit_by(&self, matcher: &impl Matcher, node: Node<'_, Document>) -> Option<Edit> {
        let rewrite = self.rewrite.as_ref()?;
        let found = matcher.match_node(node)?;
        let bytes = rewrite.get_replaced_range(&found, matcher);
        let text = String::from_utf8(rewrite.generate_replacement(&found)).ok()?;
        Some(Edit { bytes, text })
    }
}
