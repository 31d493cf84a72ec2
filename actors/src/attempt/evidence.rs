//! What is seen of the calls of an attempt besides their text: the file before and after, the command and its exit code,
//! the names in a result.

use super::wire::named_in;
use crate::gateways::FileLooks;
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::domain::{
    CallEvidence, CallTarget, FileChanged, FileSeen, FileState, NotHashed, Step,
};
use impresario_policies::receipt::{
    Place, TargetNamed, exit_code, exit_code_said, names_in_result, target_named,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An attempt looks at so many files.
const LOOKS_MAX: u32 = 2_000;
/// Of the files that one call says it changed, so many are kept; the rest are counted.
const CHANGED_MAX: usize = 200;

/// What was seen of a call that has not ended.
#[derive(Debug, Default)]
struct Seen {
    tool: String,
    /// The file that it changes.
    changes: Option<PathBuf>,
    after: Option<FileState>,
    changed: Vec<FileChanged>,
    changed_besides: u32,
    exit_said: Option<i32>,
    named: Vec<String>,
    names_more: bool,
}

/// What is seen of the calls of one attempt.
pub(super) struct Witness {
    files: Rc<dyn FileLooks>,
    workspace: PathBuf,
    looks: Cell<u32>,
    /// The disk did not answer once; it is not asked again.
    too_slow: Cell<bool>,
    open: RefCell<BTreeMap<String, Seen>>,
}

impl Witness {
    pub(super) fn new(files: Rc<dyn FileLooks>, workspace: PathBuf) -> Self {
        Self {
            files,
            workspace,
            looks: Cell::default(),
            too_slow: Cell::default(),
            open: RefCell::default(),
        }
    }

    /// A call is about to begin: its file is looked at while it is as it was.
    pub(super) async fn begins(&self, call: &str, tool: &str, arguments: &str) -> Option<CallTarget> {
        let target = target_named(tool, named_in(arguments), &self.workspace);
        let mut seen = Seen {
            tool: tool.to_string(),
            ..Seen::default()
        };
        let target = match target {
            Some(TargetNamed::Reads(place)) => Some(CallTarget::Reads {
                file: self.file(place).await,
            }),
            Some(TargetNamed::Changes(place)) => {
                seen.changes.clone_from(&place.at);
                Some(CallTarget::Changes {
                    file: self.file(place).await,
                })
            }
            Some(TargetNamed::Runs(command)) => Some(CallTarget::Runs { command }),
            None => None,
        };
        self.open.borrow_mut().insert(call.to_string(), seen);
        target
    }

    /// What a tool of ours says it changed, before its result is there.
    pub(super) fn receipt(&self, call: &str, receipt: &ToolReceipt) {
        if let Some(seen) = self.open.borrow_mut().get_mut(call) {
            let kept = receipt.changed.len().min(CHANGED_MAX);
            seen.changed = receipt.changed[..kept].to_vec();
            seen.changed_besides = u32::try_from(receipt.changed.len() - kept).unwrap_or(u32::MAX);
        }
    }

    /// The whole result of a call, before anything is cut from it and before the sub-agent goes on.
    pub(super) async fn result(&self, call: &str, result: &str) {
        let Some(changes) = self.open.borrow().get(call).map(|seen| seen.changes.clone()) else {
            return;
        };
        let after = match changes {
            Some(file) => Some(self.look(file).await),
            None => None,
        };
        let names = names_in_result(result);
        if let Some(seen) = self.open.borrow_mut().get_mut(call) {
            seen.after = after;
            seen.exit_said = exit_code_said(result);
            seen.named = names.names;
            seen.names_more = names.more;
        }
    }

    /// Adds to the ends of calls what was seen of them.
    pub(super) async fn complete(&self, mut steps: Vec<Step>) -> Vec<Step> {
        for step in &mut steps {
            if let Step::ToolEnded {
                call,
                is_error,
                evidence,
                ..
            } = step
            {
                *evidence = self.ended(call, *is_error).await;
            }
        }
        steps
    }

    /// A call ended; none where there is nothing to say. A tool whose result is empty is not shown to anybody before.
    async fn ended(&self, call: &str, is_error: bool) -> Option<Box<CallEvidence>> {
        let seen = self.open.borrow_mut().remove(call)?;
        let after = match (seen.after, seen.changes) {
            (Some(after), _) => Some(after),
            (None, Some(file)) => Some(self.look(file).await),
            (None, None) => None,
        };
        let evidence = CallEvidence {
            exit_code: exit_code(&seen.tool, is_error, seen.exit_said),
            after,
            changed: seen.changed,
            changed_besides: seen.changed_besides,
            named: seen.named,
            names_more: seen.names_more,
        };
        (evidence != CallEvidence::default()).then(|| Box::new(evidence))
    }

    /// Of the files that an answer names, those that are there.
    pub(super) async fn cited(&self, answer: &str) -> Option<BTreeSet<String>> {
        match self.too_slow.get() {
            true => None,
            false => self.files.cited(answer, Path::new(&self.workspace)).await,
        }
    }

    async fn file(&self, place: Place) -> FileSeen {
        FileSeen {
            path: place.shown,
            state: match place.at {
                Some(file) => self.look(file).await,
                None => FileState::NotHashed {
                    why: NotHashed::Unreadable,
                },
            },
        }
    }

    async fn look(&self, file: PathBuf) -> FileState {
        let refuse = |why| FileState::NotHashed { why };
        if self.too_slow.get() {
            return refuse(NotHashed::TooSlow);
        }
        if self.looks.get() >= LOOKS_MAX {
            return refuse(NotHashed::TooMany);
        }
        self.looks.set(self.looks.get() + 1);
        let state = self.files.look(file).await;
        self.too_slow.set(state == refuse(NotHashed::TooSlow));
        state
    }
}
