//! How things stand, as text for a person: agents and when they are asked, what runs, how runs went, what is wrong with
//! settings and files, and the runtime itself.

use crate::agents::{AgentFiles, AgentSource, FoundAgents, KnownAgent};
use crate::runtime::{Runtime, RuntimeError};
use crate::settings::{Settings, SettingsPlaces};
use crate::skills::SpawnSettings;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_actors::messages::session::{CutsCounted, PlansCounted};
use impresario_policies::agents::routing_summary;
use impresario_policies::figures::{count_words, duration_words};
use impresario_policies::projection::RunProjection;
use impresario_policies::sight::{LiveFacts, RunSight, see_run};
use impresario_policies::statistics::{failure_words, statistics_words};
use std::path::Path;

/// So many of the newest runs count.
const RUNS_COUNTED_MAX: usize = 500;
/// So many runs that are under way are listed.
const RUNS_LISTED_MAX: usize = 50;

/// A part of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Agents,
    Routing,
    Runs,
    Statistics,
    Settings,
    Runtime,
}

impl Section {
    const ALL: [(Self, &str, &str); 6] = [
        (Self::Agents, "agents", "Agents"),
        (Self::Routing, "routing", "When each agent is asked"),
        (Self::Runs, "runs", "Runs under way"),
        (Self::Statistics, "statistics", "Statistics"),
        (Self::Settings, "settings", "Settings"),
        (Self::Runtime, "runtime", "Runtime"),
    ];
}

/// What is looked at, and from where.
pub(crate) struct StatusFacts {
    pub(crate) runtime: Runtime,
    pub(crate) skills: SpawnSettings,
    pub(crate) places: SettingsPlaces,
    /// The version of the host, where there is one that says it.
    pub(crate) host_version: Option<String>,
}

/// One section by its name, or all of them.
pub(crate) async fn status_text(facts: StatusFacts, wanted: &str) -> String {
    let known = Section::ALL.iter().find(|(_, name, _)| *name == wanted);
    let sections = match (known, wanted) {
        (Some(section), _) => vec![*section],
        (None, "") => Section::ALL.to_vec(),
        (None, _) => {
            let names = Section::ALL.map(|(_, name, _)| name).join(", ");
            return format!("There is no section {wanted:?}. There are: {names}.");
        }
    };
    let found = found_agents(&facts).await;
    let unfinished = facts
        .runtime
        .runs(RunFilter::unfinished())
        .await
        .unwrap_or_default();
    let mut text = format!(
        "Impresario {} — Agents: {} enabled | Runs under way: {}",
        env!("CARGO_PKG_VERSION"),
        found.agents.len(),
        unfinished.len()
    );
    for (section, _, title) in sections {
        let body = match section {
            Section::Agents => agents_text(&found),
            Section::Routing => {
                routing_summary(found.agents.iter().map(|agent| &agent.definition)).replace("**", "")
            }
            Section::Runs => runs_text(&facts, &unfinished).await,
            Section::Statistics => statistics_text(&facts.runtime).await,
            Section::Settings => settings_text(&facts.places).await,
            Section::Runtime => runtime_text(&facts).await,
        };
        text.push_str(&format!("\n\n{title}\n{}", body.trim_end()));
    }
    text
}

async fn found_agents(facts: &StatusFacts) -> FoundAgents {
    let (mut skills, places) = (facts.skills.clone(), facts.places.clone());
    let found = tokio::task::spawn_blocking(move || {
        skills.set(Settings::read(&places).configured());
        let files = AgentFiles::where_trusted(places.workspace_trusted);
        skills.agent_places(&places.workspace, files).find()
    });
    found.await.unwrap_or_default()
}

fn agents_text(found: &FoundAgents) -> String {
    let mut text = String::new();
    for agent in &found.agents {
        text.push_str(&format!("{}\n", agent_line(agent)));
        for note in &agent.notes {
            text.push_str(&format!("    note: {}\n", note.text().replace('\n', "\n    ")));
        }
    }
    if !found.skipped.is_empty() {
        text.push_str("Files that describe no agent:\n");
        for skipped in &found.skipped {
            text.push_str(&format!("  {}\n", skipped.text().replace('\n', "\n  ")));
        }
    }
    text
}

fn agent_line(agent: &KnownAgent) -> String {
    let definition = &agent.definition;
    let from = match &agent.source {
        AgentSource::BuiltIn => "built in".to_string(),
        AgentSource::Program => "of the program".to_string(),
        AgentSource::File(file) => file.display().to_string(),
    };
    let tools = definition.tools.as_deref().unwrap_or_default();
    let mut parts = vec![
        format!("{} ({from})", definition.name()),
        format!("tools: {}", tools.join(" ")),
    ];
    if !definition.models.is_empty() {
        parts.push(format!("models: {}", definition.models.join(" ")));
    }
    parts.extend(
        definition
            .total_timeout
            .map(|total| format!("at most {}", duration_words(total.as_millis() as f64))),
    );
    parts.join(" · ")
}

async fn runs_text(facts: &StatusFacts, unfinished: &[RunSummary]) -> String {
    if unfinished.is_empty() {
        return "none".into();
    }
    let now = SystemWallClock.now().0;
    let mut text = String::new();
    for run in unfinished.iter().take(RUNS_LISTED_MAX) {
        let seen = see(&facts.runtime, run).await;
        match seen {
            Ok(sight) => text.push_str(&format!("{}\n", run_line(run, &sight, now))),
            Err(error) => text.push_str(&format!("{} cannot be read: {error}\n", run.run)),
        }
    }
    let more = unfinished.len().saturating_sub(RUNS_LISTED_MAX);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    text
}

/// What is seen of a run, whoever drives it.
pub(crate) async fn see(runtime: &Runtime, run: &RunSummary) -> Result<RunSight, RuntimeError> {
    let projection = RunProjection::of(&runtime.steps(&run.run, 0).await?);
    let facts = LiveFacts {
        before_it: runtime.before_in_line(&run.run),
        ..LiveFacts::default()
    };
    Ok(see_run(&projection, &facts))
}

fn run_line(run: &RunSummary, sight: &RunSight, now_ms: u64) -> String {
    let since = duration_words(now_ms.saturating_sub(sight.begun_ms) as f64);
    let doing = match &sight.waits {
        Some(waits) => waits.words.clone(),
        None => {
            let calls = sight.calls.len() + sight.calls_before as usize;
            format!("works, {}", count_words(calls, "call"))
        }
    };
    let parts = [run.run.to_string(), sight.name.clone(), since, doing];
    let parts = parts
        .into_iter()
        .chain(sight.model.clone())
        .chain(sight.used.clone());
    parts.collect::<Vec<_>>().join(" · ")
}

async fn statistics_text(runtime: &Runtime) -> String {
    match runtime.statistics(RUNS_COUNTED_MAX, |_| true).await {
        Ok(statistics) => {
            let scope = format!("in the journal (the newest {RUNS_COUNTED_MAX} at most)");
            let mut text = statistics_words(&statistics, &scope);
            let failures = failure_words(&statistics);
            if !failures.is_empty() {
                let rate = statistics.success_rate * 100.0;
                text.push_str(&format!("\n{rate:.0} % succeeded. What failed:\n{failures}"));
            }
            text
        }
        Err(error) => format!("cannot be read: {error}"),
    }
}

async fn settings_text(places: &SettingsPlaces) -> String {
    let (read_at, trusted) = (places.clone(), places.workspace_trusted);
    let notice = tokio::task::spawn_blocking(move || Settings::read(&read_at).notice()).await;
    let notice = notice.ok().flatten();
    let files = match trusted {
        true => format!("{} and {}", places.home_file_shown, ".pi/settings.json"),
        false => format!("{} (this workspace is not trusted)", places.home_file_shown),
    };
    let wrong = notice.unwrap_or_else(|| "Nothing is wrong with them.".into());
    format!("read from {files}\n{wrong}")
}

async fn runtime_text(facts: &StatusFacts) -> String {
    let journal = facts.runtime.journal_file();
    let bytes = std::fs::metadata(&journal).map_or(0, |metadata| metadata.len());
    let runs = facts
        .runtime
        .runs(RunFilter::default())
        .await
        .map_or(0, |runs| runs.len());
    let host = facts
        .host_version
        .as_ref()
        .map_or_else(String::new, |version| format!(", in Pi {version}"));
    let markers = facts.runtime.count_plans().await;
    let cuts = facts.runtime.count_cuts().await;
    format!(
        "version {}{host}\njournal {} ({} KB, {runs} runs)\nnested sessions {}\ncache markers: {}\nstale results: {}",
        env!("CARGO_PKG_VERSION"),
        below_home(&journal),
        bytes / 1024,
        below_home(&facts.runtime.sessions_directory()),
        markers.map_or_else(
            |error| format!("not known: {error}"),
            |plans| markers_text(&plans)
        ),
        cuts.map_or_else(|error| format!("not known: {error}"), cuts_text),
    )
}

fn markers_text(plans: &PlansCounted) -> String {
    let left = match &plans.why {
        Some(why) => format!(", {} went out as they were: {why}", plans.not_applied),
        None => String::new(),
    };
    let waiting = match plans.waiting {
        0 => String::new(),
        waiting => format!(", {waiting} sub-agents wait for another to begin"),
    };
    let saved = plans.unplanned_cost.saturating_sub(plans.cost);
    let share = 100.0 * saved as f64 / plans.unplanned_cost.max(1) as f64;
    format!(
        "{} requests, {} changed; prompts are expected to cost {share:.0} % less for it{waiting}{left}",
        plans.looked_at, plans.changed
    )
}

fn cuts_text(cuts: CutsCounted) -> String {
    let CutsCounted {
        anchors,
        results,
        characters,
    } = cuts;
    format!("looked at {anchors} times, {results} left out, {characters} characters")
}

/// As a person knows the place.
pub(crate) fn below_home(place: &Path) -> String {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let below = home.as_ref().and_then(|home| place.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_string(),
        Some(below) => format!("~/{}", below.display()),
        None => place.display().to_string(),
    }
}
