//! How are independent sub-tasks run side by side, and what do they say together?

#![warn(missing_docs)]

use crate::compat::{cut_units, trim, trim_end, units};
use crate::domain::Subtask;
use std::collections::BTreeSet;

const TRUNCATED_MARK: &str = "\n\n[…worker output truncated]";
/// Ends every worker's prompt.
const CLOSING: &str = "Stay within this subtask and its scope; other workers do the rest. Use the retrieval tool \
    for what you need from the workspace. Answer with your findings only.";

/// A group has at most so many tasks; each is a run of its own, and all are accepted at once.
pub const SUBTASKS_MAX: usize = 256;

/// What is configured, and what the caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelSettings {
    /// Off: nothing is run.
    pub enabled: bool,
    /// So many at the same time.
    pub workers_max: usize,
    /// The caller wants fewer; 0 for no wish.
    pub concurrency_wanted: usize,
    /// Answers are cut to so many units; 0 or less for no limit.
    pub output_units_max: i64,
    /// The caller's own limit.
    pub call_output_units_max: Option<i64>,
}

/// How the tasks are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParallelPlan {
    /// So many at the same time; 0 when there is nothing to do.
    pub concurrency: usize,
    /// The limit of each task's answer, in order; none for no limit.
    pub output_units_max: Vec<Option<usize>>,
}

/// Why nothing is run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParallelRefusal {
    /// Switched off.
    #[error("parallelSubagents.enabled=false — refusing to run")]
    Disabled,
    /// There are more than so many.
    #[error("expected at most {SUBTASKS_MAX} subtasks, got {0}")]
    TooMany(usize),
    /// A task has no id.
    #[error("subtask.id must be a non-empty string")]
    EmptyId,
    /// Two tasks have the same id.
    #[error("duplicate subtask.id \"{0}\"")]
    DuplicateId(String),
}

/// Plans how tasks are run.
pub fn plan_parallel(
    tasks: &[Subtask],
    settings: &ParallelSettings,
) -> Result<ParallelPlan, ParallelRefusal> {
    if !settings.enabled {
        return Err(ParallelRefusal::Disabled);
    }
    if tasks.len() > SUBTASKS_MAX {
        return Err(ParallelRefusal::TooMany(tasks.len()));
    }
    let mut seen = BTreeSet::new();
    for task in tasks {
        if task.id.is_empty() {
            return Err(ParallelRefusal::EmptyId);
        }
        if !seen.insert(&task.id) {
            return Err(ParallelRefusal::DuplicateId(task.id.clone()));
        }
    }
    let common = settings
        .call_output_units_max
        .unwrap_or(settings.output_units_max);
    let limit = |task: &Subtask| {
        usize::try_from(task.output_units_max.unwrap_or(common))
            .ok()
            .filter(|max| *max > 0)
    };
    let wanted = if settings.concurrency_wanted > 0 {
        settings.concurrency_wanted
    } else {
        usize::MAX
    };
    let concurrency = settings.workers_max.min(wanted).max(1).min(tasks.len());
    Ok(ParallelPlan {
        concurrency,
        output_units_max: tasks.iter().map(limit).collect(),
    })
}

/// Writes the prompt of one worker.
pub fn worker_prompt(task: &Subtask) -> String {
    format!("{}\n\n{CLOSING}", worker_task_text(task))
}

/// The prompt without its fixed last paragraph.
pub fn worker_task_text(task: &Subtask) -> String {
    let goal = if trim(&task.goal).is_empty() {
        "(unspecified)"
    } else {
        trim(&task.goal)
    };
    let mut parts = vec![format!("Subtask ID: {}", task.id), format!("Goal: {goal}")];
    let optional = |text: &Option<String>| {
        text.as_deref()
            .map(trim)
            .filter(|text| !text.is_empty())
            .map(str::to_string)
    };
    if let Some(scope) = optional(&task.scope) {
        parts.push(format!("Scope: {scope}"));
    }
    if !task.retrieval_hints.is_empty() {
        parts.push(format!(
            "Retrieval hints:\n- {}",
            task.retrieval_hints.join("\n- ")
        ));
    }
    if let Some(schema) = optional(&task.output_schema) {
        parts.push(format!("Output format: {schema}"));
    }
    parts.join("\n\n")
}

/// Cuts an answer; says whether it did.
pub fn clip_output(text: &str, units_max: Option<usize>) -> (String, bool) {
    match units_max {
        Some(limit) if units(text) > limit => {
            let kept = cut_units(text, limit.saturating_sub(units(TRUNCATED_MARK)));
            (format!("{kept}{TRUNCATED_MARK}"), true)
        }
        _ => (text.to_string(), false),
    }
}

/// What became of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerResult {
    /// The task.
    pub id: String,
    /// Its goal.
    pub goal: String,
    /// Its answer.
    pub text: String,
    /// The answer was cut.
    pub truncated: bool,
    /// How its run ended, whatever became of the text.
    pub stopped_reason: String,
    /// Why there is no answer.
    pub error: Option<String>,
}

impl WorkerResult {
    /// The reason as it is shown: a cut counts as one.
    pub fn shown_reason(&self) -> &str {
        if self.truncated {
            "cap"
        } else {
            &self.stopped_reason
        }
    }

    /// The reason with the cut beside it, so that neither hides the other.
    pub fn all_reasons(&self) -> String {
        match self.truncated && self.stopped_reason != COMPLETED {
            true => format!("{}, cap", self.stopped_reason),
            false => self.shown_reason().to_string(),
        }
    }
}

const COMPLETED: &str = "completed";

/// Puts the results of all workers into one text, in the order of the tasks. `completed` is not shown.
pub fn synthesize(workers: &[WorkerResult]) -> String {
    if workers.is_empty() {
        return String::new();
    }
    let mut text = String::from("## Parallel sub-agent synthesis\n\n");
    for worker in workers {
        text.push_str(&format!("### {} — {}\n", worker.id, worker.goal));
        let failed = worker.error.is_some() || worker.stopped_reason == "error";
        match worker.error.as_deref().unwrap_or("unknown error") {
            error if failed => text.push_str(&format!("_Worker failed: {error}._")),
            _ => {
                text.push_str(trim(&worker.text));
                let reason = worker.all_reasons();
                if reason != COMPLETED {
                    text.push_str(&format!("\n\n_Stopped reason: {reason}._"));
                }
            }
        }
        text.push_str("\n\n");
    }
    format!("{}\n", trim_end(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: ParallelSettings = ParallelSettings {
        enabled: true,
        workers_max: 3,
        concurrency_wanted: 0,
        output_units_max: 8_000,
        call_output_units_max: None,
    };

    fn task(id: &str) -> Subtask {
        Subtask {
            id: id.into(),
            ..Subtask::default()
        }
    }

    #[test]
    fn no_more_run_than_there_are() {
        assert_eq!(plan_parallel(&[task("a")], &SETTINGS).unwrap().concurrency, 1);
        assert_eq!(plan_parallel(&[], &SETTINGS).unwrap().concurrency, 0);
    }

    #[test]
    fn an_id_is_needed_once() {
        assert_eq!(
            plan_parallel(&[task("")], &SETTINGS),
            Err(ParallelRefusal::EmptyId)
        );
        assert_eq!(
            plan_parallel(&[task("a"), task("a")], &SETTINGS),
            Err(ParallelRefusal::DuplicateId("a".into()))
        );
    }

    #[test]
    fn a_group_has_its_limit() {
        let tasks = vec![task("a"); SUBTASKS_MAX + 1];
        assert_eq!(
            plan_parallel(&tasks, &SETTINGS),
            Err(ParallelRefusal::TooMany(SUBTASKS_MAX + 1))
        );
    }

    #[test]
    fn a_cut_does_not_hide_how_the_run_ended() {
        let worker = WorkerResult {
            id: "a".into(),
            goal: "g".into(),
            text: String::new(),
            truncated: true,
            stopped_reason: "timeout".into(),
            error: None,
        };
        assert_eq!(
            (worker.shown_reason(), worker.stopped_reason.as_str()),
            ("cap", "timeout")
        );
        assert_eq!(worker.all_reasons(), "timeout, cap");
    }
}
