//! Gives the main agent the rules of the directories that it comes to, each as long as it stands in the conversation
//! once.
//!
//! Receives [`GuideResult`] for each result of a tool, several of one turn at the same time; asks nobody. What stands in
//! the session the host says with each; what is on its way there is remembered here, and given to nobody else meanwhile.

use crate::gateways::{RuleFiles, RulesAsk, RulesFound};
use crate::messages::session::{GuideResult, GuidedResult};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::domain::{GuidanceTerms, SessionId};
use impresario_policies::guidance::{Given, RuleMark, rules_to_give};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Mutex;

pub struct Guidance {
    files: Rc<dyn RuleFiles>,
    session: Option<SessionId>,
    /// What was given with results that are not in the session yet, by the host's number.
    on_their_way: BTreeMap<u64, Vec<RuleMark>>,
    /// Results are settled in their order: were a later one answered first and this actor killed then, the earlier one
    /// would be asked about again by somebody who does not know of it.
    turn: Arc<Mutex<()>>,
}

impl Actor for Guidance {
    const KIND: &'static str = "guidance";
    const HANDLES: &'static [&'static str] = &["GuideResult"];
}

impl Guidance {
    pub fn new(files: Rc<dyn RuleFiles>) -> Self {
        Self {
            files,
            session: None,
            on_their_way: BTreeMap::new(),
            turn: Arc::default(),
        }
    }
}

impl Handles<GuideResult> for Guidance {
    fn handle(&mut self, ask: GuideResult, _: &mut Context<Self>) -> Answer<Self, GuidedResult> {
        let is_known = self.take(&ask);
        if !is_known || ask.touched.is_empty() {
            return Answer::now(GuidedResult::default());
        }
        let (files, turn) = (self.files.clone(), self.turn.clone());
        let work = async move {
            let turn = turn.lock_owned().await;
            let terms = match ask.terms.clone() {
                Some(terms) => terms,
                None => files.terms(&ask.workspace, ask.is_trusted).await,
            };
            let found = match terms.is_off() {
                true => RulesFound::default(),
                false => files.find(rules_ask(&ask, &terms)).await,
            };
            (turn, ask, terms, found)
        };
        Answer::then(work, |guidance: &mut Self, (_turn, ask, terms, found), _| {
            guidance.give(&ask, &terms, found)
        })
    }
}

fn rules_ask(ask: &GuideResult, terms: &GuidanceTerms) -> RulesAsk {
    RulesAsk {
        touched: ask.touched.clone(),
        workspace: ask.workspace.clone(),
        file_names: terms.file_names.clone(),
    }
}

impl Guidance {
    /// Notes that a result is on its way. False where others are of which nobody here knows what they were given, for
    /// this actor was restarted meanwhile: then nothing is given, which the next result makes up for, and nothing twice.
    fn take(&mut self, ask: &GuideResult) -> bool {
        if self.session.as_ref() != Some(&ask.session) {
            self.session = Some(ask.session.clone());
            self.on_their_way.clear();
        }
        let is_known = ask.open.iter().all(|open| self.on_their_way.contains_key(open));
        self.on_their_way
            .retain(|number, _| *number > ask.number || ask.open.contains(number));
        self.on_their_way.insert(ask.number, Vec::new());
        is_known
    }

    /// Nothing comes between the look at what is given and the note of what is given now.
    fn give(&mut self, ask: &GuideResult, terms: &GuidanceTerms, found: RulesFound) -> GuidedResult {
        let waits_still =
            self.session.as_ref() == Some(&ask.session) && self.on_their_way.contains_key(&ask.number);
        if !waits_still {
            return GuidedResult::default();
        }
        let mut given = Given::default();
        let on_their_way = self.on_their_way.values().flatten();
        for mark in found.of_workspace.iter().chain(&ask.given).chain(on_their_way) {
            given.add(mark.clone());
        }
        let rules = rules_to_give(&found.files, &given, terms);
        let marks = rules.iter().map(|rules| rules.mark.clone()).collect();
        self.on_their_way.insert(ask.number, marks);
        GuidedResult {
            rules,
            not_read: found.not_read,
        }
    }
}
