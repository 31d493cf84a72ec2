//! What the person and the log are told of a step that is on disk. An incarnation that reads a step later does not
//! tell it again.

use super::Run;
use crate::event_log::log_event;
use crate::gateways::{Progress, UnixMillis};
use crate::messages::session::{ShowNotice, ShowProgress};
use impresario_policies::domain::{AttemptNumber, Flag, ModelChoice, RunRequest, Step};
use impresario_policies::model_choice::{budget_of, describe_choice, judged_route};
use impresario_policies::progress::describe_step;
use impresario_policies::projection::RecordedStep;
use impresario_policies::receipt::{AnswerFacts, flag_answer, work_of};
use impresario_policies::render_brief::render_brief;
use impresario_policies::router_log;
use impresario_policies::sub_agent_prompt::{fingerprint, system_prompt_of};
use std::collections::BTreeSet;
use std::time::Duration;

impl Run {
    pub(super) fn tell(&self, recorded: &RecordedStep) {
        self.show(recorded);
        match &recorded.step {
            Step::Routed { choice } => self.log_choice(choice),
            Step::AttemptStarted {
                attempt: AttemptNumber(1),
                ..
            } => self.tell_what_begins(),
            _ => {}
        }
    }

    fn show(&self, recorded: &RecordedStep) {
        if let Some(doing) = describe_step(&recorded.step) {
            let at = UnixMillis(recorded.at_ms);
            self.show_doing(Progress {
                at,
                ..self.progress(doing)
            });
        }
    }

    /// What is done now, and before that a pause.
    pub(super) fn show_now(&self, doing: String, wait: Duration) {
        let now = self.tools.clock.now();
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let until = (wait_ms > 0).then(|| UnixMillis(now.0.saturating_add(wait_ms)));
        self.show_doing(Progress {
            between_steps: true,
            until,
            ..self.progress(doing)
        });
    }

    fn show_doing(&self, progress: Progress) {
        let session = self.session();
        let _ = self.ports.show.tell(ShowProgress { progress, session });
    }

    pub(super) fn progress(&self, doing: String) -> Progress {
        let tool_calls = self
            .projection
            .attempts
            .iter()
            .map(|attempt| attempt.tools.len())
            .sum::<usize>();
        let group = self.request().and_then(|request| request.group.as_ref());
        Progress {
            run: self.id.clone(),
            subtask: group.map(|member| member.subtask.id.clone()),
            at: self.tools.clock.now(),
            doing,
            tool_calls: tool_calls as u32,
            between_steps: false,
            until: None,
        }
    }

    fn log_choice(&self, choice: &ModelChoice) {
        let Some(request) = self.request() else { return };
        let judged = judged_route(self.projection.verdict.as_ref());
        let name = request.what.name();
        log_event(&router_log::route_chosen(name, &choice.decision, &judged));
        let budget = budget_of(request, &choice.decision);
        router_log::budget_chosen(name, &budget)
            .iter()
            .for_each(log_event);
    }

    fn tell_what_begins(&self) {
        let Some(request) = self.request() else { return };
        if request.terms.log_prompt_prefix {
            let chosen = self
                .projection
                .choice
                .as_ref()
                .map_or(&request.chain, |choice| &choice.chain);
            let model = chosen.first().map_or("", String::as_str);
            let print = fingerprint(&system_prompt_of(request, model));
            log_event(&router_log::prompt_prefix(request.what.name(), &print));
        }
        let line = self.projection.choice.as_ref();
        let line = line.and_then(|choice| describe_choice(request, choice));
        if let Some(line) = line {
            self.notice(|_| line);
        }
    }

    /// The screen shows what is done now; that the model is another one is worth a line that stays.
    pub(super) fn say_that_models_change(&self, next: &str, why: &str) {
        self.notice(|request| format!("{} goes on with {next}. {why}", request.what.name()));
    }

    /// A line that stays, where whoever asked for the run is there to read it.
    pub(super) fn notice(&self, text: impl FnOnce(&RunRequest) -> String) {
        let here = |request: &&RunRequest| (self.tools.host_is_here)(&self.id, request);
        if let Some(request) = self.request().filter(here) {
            let text = text(request);
            let _ = self.ports.notice.tell(ShowNotice { text });
        }
    }

    /// What an answer says and what was seen does not bear out.
    pub(super) fn flag(&self, answer: &str, present: Option<&BTreeSet<String>>) -> Vec<Flag> {
        let Some(request) = self.request() else {
            return Vec::new();
        };
        let told = self.projection.brief.as_ref().map(render_brief);
        let facts = AnswerFacts {
            request,
            work: &work_of(&self.projection),
            told: told.as_deref().unwrap_or_default(),
            present,
        };
        flag_answer(answer, &facts)
    }
}
