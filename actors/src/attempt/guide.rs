//! The rules of the directories that a sub-agent comes to, behind the results of its tools, each once.

use super::wire::{as_written, named_in};
use crate::gateways::{RuleFiles, RulesAsk};
use impresario_policies::domain::GuidanceTerms;
use impresario_policies::guidance::{Given, GivenRules, RuleFile, Touched, rules_to_give, touched_by};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use tokio::sync::OnceCell;

/// What an attempt is given of rules, and what it was given so far.
pub(super) struct Guide {
    files: Rc<dyn RuleFiles>,
    terms: GuidanceTerms,
    workspace: PathBuf,
    /// The nested session that the attempt goes on with, where it does.
    session_file: Option<PathBuf>,
    /// What that session said before.
    conversation: OnceCell<String>,
    given: RefCell<Given>,
    /// What calls touch that did not end.
    touched: RefCell<BTreeMap<String, Vec<Touched>>>,
}

impl Guide {
    pub(super) fn new(
        files: Rc<dyn RuleFiles>,
        terms: GuidanceTerms,
        workspace: PathBuf,
        session_file: Option<PathBuf>,
    ) -> Self {
        Self {
            files,
            terms,
            workspace,
            session_file,
            conversation: OnceCell::new(),
            given: RefCell::default(),
            touched: RefCell::default(),
        }
    }

    pub(super) fn begins(&self, call: &str, tool: &str, arguments: &str) {
        let touched = touched_by(tool, &named_in(arguments));
        if !touched.is_empty() {
            self.touched.borrow_mut().insert(call.to_string(), touched);
        }
    }

    /// Nothing was touched.
    pub(super) fn failed(&self, call: &str) {
        self.touched.borrow_mut().remove(call);
    }

    /// The conversation began anew.
    pub(super) fn compacted(&self) {
        *self.given.borrow_mut() = Given::default();
    }

    /// What belongs behind the result of a call; empty for nothing.
    pub(super) async fn behind(&self, call: &str) -> String {
        let Some(touched) = self.touched.borrow_mut().remove(call) else {
            return String::new();
        };
        let ask = RulesAsk {
            touched,
            workspace: self.workspace.clone(),
            file_names: self.terms.file_names.clone(),
        };
        let found = self.files.find(ask).await;
        let before = self.conversation().await;
        // Calls of one turn end at the same time: nothing comes between the look at what is given and the note of it.
        let mut given = self.given.borrow_mut();
        for mark in found.of_workspace {
            given.add(mark);
        }
        let rules = give(&found.files, &mut given, &self.terms, before);
        rules.into_iter().map(|rules| rules.block).collect()
    }

    async fn conversation(&self) -> &str {
        let read = async {
            match &self.session_file {
                Some(file) => self.files.conversation(file).await,
                None => String::new(),
            }
        };
        self.conversation.get_or_init(|| read).await
    }
}

/// What stands in the conversation already is noted and not given again.
fn give(files: &[RuleFile], given: &mut Given, terms: &GuidanceTerms, before: &str) -> Vec<GivenRules> {
    let stands = |rules: &GivenRules| !before.is_empty() && before.contains(&as_written(&rules.block));
    for known in rules_to_give(files, given, terms).into_iter().filter(stands) {
        given.add(known.mark);
    }
    let rules = rules_to_give(files, given, terms);
    for rules in &rules {
        given.add(rules.mark.clone());
    }
    rules
}
