//! Looking at the trace of a run that is over: how it seems to have ended, what the person is told, what is forgotten.

use super::{ASK, TracePorts, TraceTools, keep, place_of, projection, steps_of};
use crate::event_log::log_event;
use crate::gateways::{TracePlace, UnixMillis};
use crate::journal::{Alert, SkillOf};
use crate::messages::journal::{RaiseAlert, ReadAlert};
use crate::messages::run::{ObserveRun, Observed, WriteTrace};
use crate::messages::session::ShowNotice;
use impresario_policies::degradation::DegradationAlert;
use impresario_policies::domain::{ObservationSettings, RunId};
use impresario_policies::observation::{Observation, ObservationFacts, observe_run};
use impresario_policies::projection::RunProjection;
use impresario_policies::router_log;
use impresario_policies::trace_file::Trace;

/// The run of a skill that is over.
struct Subject {
    run: RunId,
    trace: Trace,
    place: TracePlace,
    settings: ObservationSettings,
}

const NOTHING_SEEN: Observed = Observed {
    verdict: None,
    alerted: false,
};

pub(super) async fn observe(
    ports: TracePorts,
    tools: TraceTools,
    run: RunId,
    ask: ObserveRun,
) -> Result<Observed, String> {
    let Some(subject) = subject_of(&ports, run).await? else {
        return Ok(NOTHING_SEEN);
    };
    let found = history_of(&tools, &subject).await?;
    let last_alert = last_alert(&ports, &subject).await?;
    // What was said after this very run is said again: its end was cut off.
    let of_others = last_alert.filter(|alert| alert.run != subject.run);
    let now = tools.clock.now();
    let facts = ObservationFacts {
        current: &subject.trace,
        found: &found,
        person_is_there: ask.person_is_there,
        last_alert_ms: of_others.as_ref().map(|alert| alert.at.0 as f64),
        now_ms: now.0 as f64,
    };
    let seen = observe_run(&facts, &subject.settings);
    let observed = match seen {
        Some(seen) => tell(&ports, &subject, seen, of_others.map(|alert| alert.at), now).await?,
        None => NOTHING_SEEN,
    };
    forget_old(&tools, &subject).await;
    Ok(observed)
}

async fn subject_of(ports: &TracePorts, run: RunId) -> Result<Option<Subject>, String> {
    let steps = steps_of(&ports.read, &run).await?;
    let so_far = RunProjection::of(&steps);
    let accepted = so_far.accepted.as_ref();
    let settings = accepted.and_then(|accepted| accepted.request.terms.trace.observation);
    let (Some(place), Some(settings), Some(ended)) = (place_of(&so_far), settings, &so_far.ended) else {
        return Ok(None);
    };
    let end = WriteTrace {
        state: ended.state,
        reason: ended.reason.clone(),
    };
    let trace = projection::trace_of(&run, &steps, &so_far, &end, UnixMillis(ended.at_ms));
    Ok(Some(Subject {
        run,
        trace,
        place,
        settings,
    }))
}

/// The traces of the skill; the run's own is made up for where it could not be written before.
async fn history_of(tools: &TraceTools, subject: &Subject) -> Result<Vec<Trace>, String> {
    let settings = &subject.settings;
    let newest = settings.traces_max.max(settings.regression_window) + 1;
    let skill = &subject.trace.skill_name;
    let found = tools.shelf.newest(&subject.place, skill, newest).await?;
    let is_own = |trace: &Trace| {
        let run = trace.ours.as_ref().map(|ours| ours.run_id.as_str());
        run == Some(subject.run.as_str())
    };
    if !found.iter().any(is_own) {
        keep(tools, &subject.place, subject.trace.clone()).await?;
    }
    Ok(found)
}

fn skill_of(subject: &Subject) -> SkillOf {
    SkillOf {
        workspace: subject.place.workspace.to_string_lossy().into_owned(),
        skill: subject.trace.skill_name.clone(),
    }
}

async fn last_alert(ports: &TracePorts, subject: &Subject) -> Result<Option<Alert>, String> {
    let ask = ReadAlert {
        of: skill_of(subject),
    };
    let alert = ports.last_alert.ask_again(ask, ASK).await;
    alert
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

/// The person is told when it is on disk that they were: nobody tells them twice within the cool-down.
async fn tell(
    ports: &TracePorts,
    subject: &Subject,
    seen: Observation,
    last_told: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<Observed, String> {
    log_event(&router_log::trace_classified(&subject.trace, &seen.verdict));
    let mut alerted = false;
    if let Some(alert) = &seen.alert {
        alerted = raise(ports, subject, last_told, now).await?;
        if alerted {
            warn(ports, &subject.trace.skill_name, alert);
        }
    }
    if let Some(report) = seen.report {
        notice(ports, report);
    }
    Ok(Observed {
        verdict: Some(seen.verdict),
        alerted,
    })
}

async fn raise(
    ports: &TracePorts,
    subject: &Subject,
    seen: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<bool, String> {
    let raise = RaiseAlert {
        of: skill_of(subject),
        alert: Alert {
            at: now,
            run: subject.run.clone(),
        },
        seen,
    };
    let stands = ports.raise_alert.ask_again(raise, ASK).await;
    stands
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

fn warn(ports: &TracePorts, skill: &str, alert: &DegradationAlert) {
    log_event(&router_log::degradation_alert(skill, alert.failures));
    notice(ports, alert.lines(skill).join("\n"));
}

fn notice(ports: &TracePorts, text: String) {
    if let Err(error) = ports.notice.tell(ShowNotice { text }) {
        tracing::warn!(?error, "the person was not told");
    }
}

async fn forget_old(tools: &TraceTools, subject: &Subject) {
    let (skill, kept) = (&subject.trace.skill_name, subject.settings.traces_max);
    match tools.shelf.forget(&subject.place, skill, kept).await {
        Ok(0) => {}
        Ok(deleted) => tracing::debug!(deleted, "cleaned up old trace files"),
        Err(error) => tracing::warn!(error, "old traces not forgotten"),
    }
}
