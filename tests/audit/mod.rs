//! The auditor at the end of every scenario: a stage that leaves a journal holds an [`Audit`], which looks when the
//! stage is over. It reads the journal, the process table, the ledger of the models' server and Pi's own sessions.

#![allow(dead_code, reason = "each test program uses its part")]

use impresario::chaos::{
    Breach, DeliverySeen, Evidence, JournalRow, ModelCallSeen, OrderedCall, Tokens, audit, evidence_of,
};
use impresario_model_server::{Call, Ledger, Outcome, Said};
use impresario_test_support::waiting::until;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// What calls models and is no sub-agent, by a word in the names that scripts give its rules.
const NO_SUB_AGENTS: [&str; 4] = ["actor", "brief", "judge", "main agent"];

/// Looks at what a scenario left, when it is dropped. It stands first among a stage's fields, so that what it reads is
/// still there.
pub struct Audit {
    state: PathBuf,
    ledger: Option<Ledger>,
    sessions: Option<PathBuf>,
    unfinished: Cell<bool>,
    expected: RefCell<Vec<&'static str>>,
    keeper_killed: Cell<bool>,
}

impl Audit {
    /// Of what lies in this state directory in the end.
    pub fn of(state: impl Into<PathBuf>) -> Self {
        Self {
            state: state.into(),
            ledger: None,
            sessions: None,
            unfinished: Cell::new(false),
            expected: RefCell::default(),
            keeper_killed: Cell::new(false),
        }
    }

    /// The models' server wrote down what it was asked.
    pub fn with_ledger(mut self, ledger: &Ledger) -> Self {
        self.ledger = Some(ledger.clone());
        self
    }

    /// The host keeps its sessions below this directory.
    pub fn with_sessions(mut self, directory: PathBuf) -> Self {
        self.sessions = Some(directory);
        self
    }

    /// The scenario ends while runs are under way: nobody is there who could end them.
    pub fn leaves_unfinished(&self) {
        self.unfinished.set(true);
    }

    /// The scenario breaks something on purpose: a breach that says this is what it wants, and has to be found.
    pub fn expects(&self, words: &'static str) {
        self.expected.borrow_mut().push(words);
    }

    /// The scenario kills a keeper, which may be when the answer is already there: what it saw is gone with it, and that
    /// a look finds nothing has to do.
    pub fn kills_a_keeper(&self) {
        self.keeper_killed.set(true);
    }

    /// Everything there is to see by now.
    pub fn evidence(&self) -> Option<Evidence> {
        if !self.state.join("journal.sqlite").exists() {
            return None;
        }
        let mut evidence = evidence_of(&self.state).expect("a journal that can be read");
        evidence.all_ended = !self.unfinished.get();
        evidence.model_calls = self
            .ledger
            .as_ref()
            .map(|ledger| ledger.calls().iter().filter(is_of_sub_agent).map(seen).collect());
        Some(evidence)
    }

    /// The steps by now, while the journal may be at its very beginning.
    pub fn rows_so_far(&self) -> Vec<JournalRow> {
        evidence_of(&self.state)
            .map(|evidence| evidence.rows)
            .unwrap_or_default()
    }

    /// What is broken by now.
    pub fn breaches(&self) -> Vec<Breach> {
        let Some(evidence) = self.evidence() else {
            return Vec::new();
        };
        let mut breaches = audit(&evidence);
        breaches.extend(audit(&self.kept_in_sessions(&evidence)));
        breaches.retain(|breach| !(self.keeper_killed.get() && is_unseen_emptiness(breach)));
        breaches
    }

    /// The runs whose results stand in a session: others may have been printed, or belong to a session that is gone.
    fn kept_in_sessions(&self, evidence: &Evidence) -> Evidence {
        let kept = self.sessions.as_deref().map(results_below).unwrap_or_default();
        let is_kept = |row: &&JournalRow| kept.iter().any(|result| result.run == row.run);
        Evidence {
            rows: evidence.rows.iter().filter(is_kept).cloned().collect(),
            deliveries: kept.iter().map(|result| result.against(evidence)).collect(),
            ..Evidence::default()
        }
    }

    fn check(&self) {
        self.wait_for_runtimes();
        let expected = self.expected.borrow();
        let (wanted, breaches): (Vec<_>, Vec<_>) = self
            .breaches()
            .into_iter()
            .partition(|breach| expected.iter().any(|words| breach.what.contains(words)));
        assert!(
            breaches.is_empty(),
            "the auditor found {breaches:#?}\nin the journal\n{}",
            self.story(&breaches)
        );
        for words in expected.iter() {
            let found = wanted.iter().any(|breach| breach.what.contains(words));
            assert!(found, "the auditor was to find {words:?} and did not");
        }
    }

    /// Whoever drives runs here holds a lock until it is gone.
    fn wait_for_runtimes(&self) {
        let alive = || living_runtime(&self.state);
        until(
            || alive().is_none(),
            || format!("a runtime does not go: {:?}", alive()),
        );
    }

    /// The steps of the runs in question.
    fn story(&self, breaches: &[Breach]) -> String {
        let rows = self.evidence().map(|evidence| evidence.rows).unwrap_or_default();
        let of_them = rows.iter().filter(|row| {
            breaches
                .iter()
                .any(|breach| breach.run.is_empty() || breach.run == row.run)
        });
        let line = |row: &JournalRow| {
            let step: String = row.step.to_string().chars().take(600).collect();
            format!("{} {} {} {step}\n", row.run, row.sequence, row.at_ms)
        };
        of_them.map(line).collect()
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}

fn is_unseen_emptiness(breach: &Breach) -> bool {
    breach.promise == "P4"
        && breach.what.starts_with("its end proves no emptiness")
        && breach.what.contains("\"processes_left\":0")
}

fn living_runtime(state: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(state).ok()?.flatten().map(|entry| entry.path());
    let mut locks = entries.filter(|path| path.extension().is_some_and(|end| end == "lock"));
    locks.find(|path| {
        let file = File::options().write(true).open(path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    })
}

fn is_of_sub_agent(call: &&Call) -> bool {
    call.rule
        .as_deref()
        .is_none_or(|rule| !NO_SUB_AGENTS.iter().any(|word| rule.contains(word)))
}

fn seen(call: &Call) -> ModelCallSeen {
    let orders = call.said.iter().flat_map(|said| &said.orders);
    ModelCallSeen {
        at_ms: call.received_unix_us / 1_000,
        model: call.model.clone(),
        used: call.said.as_ref().map(charged).unwrap_or_default(),
        whole: is_whole(call),
        offered: call.tools.clone(),
        results: call.results(),
        ordered: orders
            .map(|order| OrderedCall {
                call: order.id.clone(),
                tool: order.tool.clone(),
                arguments: serde_json::from_str(&order.arguments)
                    .unwrap_or_else(|_| Value::String(order.arguments.clone())),
            })
            .collect(),
    }
}

fn charged(said: &Said) -> Tokens {
    let usage = said.usage;
    Tokens {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
    }
}

fn is_whole(call: &Call) -> bool {
    let was_sent = call.end.is_some_and(|end| end.outcome == Outcome::Completed);
    was_sent && call.said.as_ref().is_some_and(|said| !said.broken)
}

/// A result as it stands in a session of Pi.
struct KeptResult {
    run: String,
    state: String,
    content: String,
}

impl KeptResult {
    /// What the host was given. Pi keeps the answer among other words: it has to stand there byte for byte.
    fn against(&self, evidence: &Evidence) -> DeliverySeen {
        let mut rows = evidence.rows.iter().filter(|row| row.run == self.run);
        let journaled = rows
            .find(|row| row.step["step"] == "answered")
            .and_then(|row| row.step["answer"].as_str());
        let stands = journaled.filter(|answer| self.content.contains(answer));
        DeliverySeen {
            answer: Some(stands.map_or_else(|| self.content.clone(), str::to_string)),
            run: self.run.clone(),
            state: self.state.clone(),
        }
    }
}

fn results_below(directory: &Path) -> Vec<KeptResult> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(results_below(&path));
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let entries = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        found.extend(entries.filter_map(|entry| kept_result(&entry)));
    }
    found
}

fn kept_result(entry: &Value) -> Option<KeptResult> {
    if entry["type"] != "custom_message" || entry["customType"] != "impresario-result" {
        return None;
    }
    Some(KeptResult {
        run: entry["details"]["run"].as_str()?.to_string(),
        state: entry["details"]["state"].as_str()?.to_string(),
        content: entry["content"].as_str()?.to_string(),
    })
}
