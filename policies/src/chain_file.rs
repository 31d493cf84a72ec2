//! What does the file of a chain say?
//!
//! YAML that people write, and JSON, which is YAML. A step is one sub-agent or several side by side; a gate belongs to
//! the sub-agents above it.

use crate::agents::FileNote;
use crate::chain::{ChainRefusal, refuse_chain};
use crate::domain::{Gate, Isolation, OnFailure, Subtask};
use crate::figures::read_duration;
use crate::parallel::SUBTASKS_MAX;
use crate::yaml::{Spanned, YamlError, read_yaml};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A file larger than this is refused unread.
pub const CHAIN_FILE_BYTES_MAX: usize = 1 << 20;
/// An id stands in headings and on every line of progress.
const ID_CHARS_MAX: usize = 100;
/// Words of a gate's command.
const GATE_WORDS_MAX: usize = 256;

/// A chain as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFile {
    /// In one line; empty where the file says nothing.
    pub description: String,
    pub on_failure: OnFailure,
    /// For all of it.
    pub timeout: Option<Duration>,
    /// At most so many of one step work at a time.
    pub concurrency: Option<usize>,
    /// In order; those of one step work side by side.
    pub steps: Vec<Vec<ChainFileStep>>,
}

/// One sub-agent of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFileStep {
    pub agent: String,
    /// Its id and its task.
    pub subtask: Subtask,
    pub context: Option<String>,
    pub timeout: Option<Duration>,
    pub isolation: Option<Isolation>,
    pub gate: Option<Gate>,
}

impl ChainFile {
    /// Somebody has to say what the whole chain is asked for.
    pub fn wants_task(&self) -> bool {
        let mut tasks = self.steps.iter().flatten();
        tasks.any(|step| step.subtask.goal.contains(crate::chain::TASK))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    description: Option<String>,
    #[serde(alias = "onFailure")]
    on_failure: Option<OnFailure>,
    timeout: Option<Spanned<String>>,
    concurrency: Option<Spanned<u32>>,
    /// Of steps that name none.
    agent: Option<String>,
    steps: Spanned<Vec<Spanned<StepFields>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFields {
    id: Option<Spanned<String>>,
    agent: Option<Spanned<String>>,
    task: Option<Spanned<String>>,
    context: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    isolation: Option<Isolation>,
    #[serde(alias = "maxOutputChars")]
    max_output_chars: Option<u32>,
    gate: Option<Spanned<GateFields>>,
    parallel: Option<Vec<Spanned<StepFields>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GateFields {
    Command(Vec<String>),
    Described(GateDescription),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateDescription {
    command: Vec<String>,
    timeout: Option<String>,
    #[serde(default)]
    repeatable: bool,
}

/// Reads a chain.
pub fn read_chain(text: &str) -> Result<ChainFile, FileNote> {
    if text.len() > CHAIN_FILE_BYTES_MAX {
        return Err(FileNote::of_file(format!(
            "expected at most {CHAIN_FILE_BYTES_MAX} bytes, got {}",
            text.len()
        )));
    }
    let fields: Fields = read_yaml(text).map_err(note_of)?;
    let mut reader = Reader {
        agent: fields.agent,
        ids: BTreeMap::new(),
    };
    let mut steps = Vec::new();
    for step in &fields.steps.value {
        steps.push(reader.step(step)?);
    }
    if reader.ids.len() > SUBTASKS_MAX {
        let message = format!(
            "expected at most {SUBTASKS_MAX} sub-agents, got {}",
            reader.ids.len()
        );
        return Err(at(&fields.steps, message));
    }
    let tasks = steps
        .iter()
        .map(|step| step.iter().map(|step: &ChainFileStep| step.subtask.clone()));
    let tasks = tasks.map(Iterator::collect::<Vec<_>>).collect::<Vec<_>>();
    if let Some(refusal) = refuse_chain(&tasks) {
        return Err(reader
            .place(&refusal)
            .unwrap_or_else(|| at(&fields.steps, refusal.to_string())));
    }
    Ok(ChainFile {
        description: one_line(&fields.description.unwrap_or_default()),
        on_failure: fields.on_failure.unwrap_or_default(),
        timeout: time_of("timeout", fields.timeout.as_ref())?,
        concurrency: concurrency_of(fields.concurrency.as_ref())?,
        steps,
    })
}

struct Reader {
    agent: Option<String>,
    /// Where the task of each id stands.
    ids: BTreeMap<String, FileNote>,
}

impl Reader {
    fn step(&mut self, step: &Spanned<StepFields>) -> Result<Vec<ChainFileStep>, FileNote> {
        let fields = &step.value;
        let gate = gate_of(fields.gate.as_ref())?;
        let Some(branches) = &fields.parallel else {
            return Ok(vec![self.sub_agent(step, gate)?]);
        };
        let is_one_itself = fields.id.is_some()
            || fields.agent.is_some()
            || fields.task.is_some()
            || fields.context.is_some()
            || fields.timeout.is_some()
            || fields.isolation.is_some()
            || fields.max_output_chars.is_some();
        if is_one_itself {
            return Err(at(
                step,
                "beside parallel only a gate may stand: say the rest of each branch",
            ));
        }
        if branches.is_empty() {
            return Err(at(step, "parallel has no branch"));
        }
        let mut read = Vec::new();
        for branch in branches {
            if branch.value.parallel.is_some() {
                return Err(at(branch, "a branch of parallel is one sub-agent"));
            }
            let own = gate_of(branch.value.gate.as_ref())?;
            read.push(self.sub_agent(branch, own.or_else(|| gate.clone()))?);
        }
        Ok(read)
    }

    fn sub_agent(
        &mut self,
        step: &Spanned<StepFields>,
        gate: Option<Gate>,
    ) -> Result<ChainFileStep, FileNote> {
        let fields = &step.value;
        let agent = fields.agent.as_ref().map(|agent| agent.value.trim().to_string());
        let Some(agent) = agent
            .or_else(|| self.agent.clone())
            .filter(|agent| !agent.is_empty())
        else {
            return Err(at(step, "agent is missing: say whom this step asks"));
        };
        let Some(task) = &fields.task else {
            return Err(at(step, "task is missing: say what this step is asked for"));
        };
        if task.value.trim().is_empty() {
            return Err(at(task, "task is empty"));
        }
        let id = match &fields.id {
            Some(id) => self.id_given(id)?,
            None => self.id_of_agent(&agent),
        };
        self.ids.insert(id.clone(), at(task, ""));
        Ok(ChainFileStep {
            agent,
            subtask: Subtask {
                output_units_max: fields.max_output_chars.map(i64::from),
                ..Subtask::new(id, task.value.trim())
            },
            context: fields.context.as_ref().map(|context| context.value.clone()),
            timeout: time_of("timeout", fields.timeout.as_ref())?,
            isolation: fields.isolation,
            gate,
        })
    }

    fn id_given(&self, id: &Spanned<String>) -> Result<String, FileNote> {
        let text = id.value.trim();
        let is_odd = |letter: char| letter.is_control() || letter == '{' || letter == '}';
        if text.is_empty() {
            return Err(at(id, "id is empty"));
        }
        if text.chars().count() > ID_CHARS_MAX || text.contains(is_odd) {
            return Err(at(
                id,
                format!("id: expected one line of at most {ID_CHARS_MAX} characters without braces"),
            ));
        }
        if self.ids.contains_key(text) {
            return Err(at(id, format!("{text:?} is the id of a step above already")));
        }
        Ok(text.to_string())
    }

    /// `explore`, then `explore-2`.
    fn id_of_agent(&self, agent: &str) -> String {
        let mut id = agent.to_string();
        let mut number = 2;
        while self.ids.contains_key(&id) {
            id = format!("{agent}-{number}");
            number += 1;
        }
        id
    }

    fn place(&self, refusal: &ChainRefusal) -> Option<FileNote> {
        let id = match refusal {
            ChainRefusal::NothingBefore { id } | ChainRefusal::NotBefore { id, .. } => id,
            ChainRefusal::NoSteps | ChainRefusal::TooManySteps(_) | ChainRefusal::EmptyStep(_) => {
                return None;
            }
        };
        Some(FileNote {
            message: refusal.to_string(),
            ..self.ids.get(id)?.clone()
        })
    }
}

fn gate_of(said: Option<&Spanned<GateFields>>) -> Result<Option<Gate>, FileNote> {
    let Some(said) = said else { return Ok(None) };
    let gate = match &said.value {
        GateFields::Command(words) => Gate::command(words.iter().cloned()),
        GateFields::Described(described) => {
            let mut gate = Gate::command(described.command.iter().cloned());
            if let Some(timeout) = &described.timeout {
                gate.timeout =
                    read_duration(timeout).map_err(|why| at(said, format!("gate: timeout: {why}")))?;
            }
            gate.repeatable = described.repeatable;
            gate
        }
    };
    let is_command = gate
        .command
        .first()
        .is_some_and(|program| !program.trim().is_empty());
    let is_plain =
        gate.command.len() <= GATE_WORDS_MAX && !gate.command.iter().any(|word| word.contains('\0'));
    match is_command && is_plain {
        true => Ok(Some(gate)),
        false => Err(at(
            said,
            "gate: expected a program and its arguments, as [cargo, test]; no shell reads it",
        )),
    }
}

fn time_of(field: &str, said: Option<&Spanned<String>>) -> Result<Option<Duration>, FileNote> {
    let Some(said) = said else { return Ok(None) };
    let time = read_duration(&said.value).map_err(|why| at(said, format!("{field}: {why}")))?;
    Ok(Some(time))
}

fn concurrency_of(said: Option<&Spanned<u32>>) -> Result<Option<usize>, FileNote> {
    match said {
        None => Ok(None),
        Some(said) if (1..=16).contains(&said.value) => Ok(Some(said.value as usize)),
        Some(said) => Err(at(said, "concurrency: expected 1 to 16")),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn at<T>(said: &Spanned<T>, message: impl Into<String>) -> FileNote {
    FileNote {
        line: said.referenced.line(),
        column: said.referenced.column(),
        message: message.into(),
    }
}

fn note_of(error: YamlError) -> FileNote {
    FileNote {
        line: error.line,
        column: error.column,
        message: error.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
description: >
  Looks,
  then changes.
on_failure: collect
timeout: 20m
concurrency: 2
agent: explore
steps:
  - id: look
    task: Where is {task}?
    timeout: 5m
  - parallel:
      - {id: a, agent: oracle, task: "Judge {previous}", max_output_chars: 100}
      - {task: Look again., gate: [check, a]}
    gate: [check, all]
  - agent: general
    task: Do it. {steps.look}
    context: Be careful.
    isolation: worktree
    gate: {command: [cargo, test, --quiet], timeout: 90s, repeatable: true}
"#;

    fn check_refused(text: &str, line: u64, says: &str) {
        let note = read_chain(text).expect_err(text);
        assert_eq!(note.line, line, "{note:?}");
        assert!(note.message.contains(says), "{note:?}");
    }

    #[test]
    fn every_field_is_read() {
        let chain = read_chain(WHOLE).expect("a chain");
        assert_eq!(chain.description, "Looks, then changes.");
        assert_eq!(
            (chain.on_failure, chain.timeout, chain.concurrency),
            (OnFailure::Collect, Some(Duration::from_secs(1_200)), Some(2))
        );
        assert!(chain.wants_task());
        let ids = chain
            .steps
            .iter()
            .map(|step| step.iter().map(|one| one.subtask.id.as_str()));
        let ids = ids.map(Iterator::collect::<Vec<_>>).collect::<Vec<_>>();
        assert_eq!(ids, [vec!["look"], vec!["a", "explore"], vec!["general"]]);
        let gates = chain.steps.iter().flatten().map(|step| step.gate.clone());
        let gates = gates.collect::<Vec<_>>();
        let tested = Gate::command(["cargo", "test", "--quiet"]);
        assert_eq!(
            gates,
            [
                None,
                Some(Gate::command(["check", "all"])),
                Some(Gate::command(["check", "a"])),
                Some(tested.timeout(Duration::from_secs(90)).repeatable()),
            ]
        );
        let last = &chain.steps[2][0];
        assert_eq!(
            (last.isolation, last.context.as_deref()),
            (Some(Isolation::Worktree), Some("Be careful."))
        );
        assert_eq!(chain.steps[1][0].subtask.output_units_max, Some(100));
        assert_eq!(chain.steps[0][0].timeout, Some(Duration::from_secs(300)));
    }

    #[test]
    fn json_is_read_too() {
        let chain = read_chain(r#"{"steps": [{"agent": "explore", "task": "look", "gate": ["true"]}]}"#);
        assert_eq!(chain.expect("a chain").steps[0][0].agent, "explore");
    }

    #[test]
    fn what_cannot_be_meant_is_told_with_its_place() {
        check_refused("steps: []", 1, "at least one step");
        check_refused("steps:\n  - task: x", 2, "agent is missing");
        check_refused("agent: a\nsteps:\n  - id: x", 3, "task is missing");
        check_refused("agent: a\nsteps:\n  - task: \"{previous}\"", 3, "the first one");
        check_refused(
            "agent: a\nsteps:\n  - task: x\n  - task: \"{steps.b}\"",
            4,
            "no step before it",
        );
        check_refused(
            "agent: a\nsteps:\n  - {id: x, task: x}\n  - {id: x, task: x}",
            4,
            "already",
        );
        check_refused("agent: a\nsteps:\n  - {task: x, gate: []}", 3, "gate: expected");
        check_refused("agent: a\nsteps:\n  - {task: x, gate: cargo test}", 3, "");
        check_refused(
            "agent: a\nsteps:\n  - {task: x, timeout: soon}",
            3,
            "timeout: expected a duration",
        );
        check_refused(
            "agent: a\nsteps:\n  - {task: x, parallel: [{task: y}]}",
            3,
            "beside parallel",
        );
        check_refused("agent: a\nsteps:\n  - parallel: []", 3, "no branch");
        check_refused("agent: a\nsteps:\n  - {taks: x}", 3, "taks");
        check_refused("agent: a\nconcurrency: 17\nsteps:\n  - {task: x}", 2, "1 to 16");
    }
}
