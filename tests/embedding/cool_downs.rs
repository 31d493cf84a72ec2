//! Models that cannot be had, and what runs of one runtime tell each other about them: on the real tree, with the
//! embedded runner.

use crate::audit::Audit;
use crate::playing::{run, says};
use impresario::runtime::{
    CoolDownSettings, ModelClient, ModelError, ModelReply, ModelRequest, OfflineOr, ReasonCode, Step,
    TerminalState, async_trait,
};
use impresario::{Outcome, Runtime, SubAgent};
use impresario_policies::fallback::models_left;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Longer than any test, and than a run waits for.
const LONG: Duration = Duration::from_secs(3_000);

/// Models that fail as often as is said, and answer then. Their names are counted.
#[derive(Clone, Default)]
struct Models {
    failing: Arc<Mutex<BTreeMap<&'static str, (usize, ModelError)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Models {
    fn fail(&self, model: &'static str, times: usize, error: ModelError) {
        self.failing
            .lock()
            .expect("unpoisoned")
            .insert(model, (times, error));
    }

    /// Who was asked since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("unpoisoned"))
    }
}

#[async_trait(?Send)]
impl ModelClient for Models {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        self.asked.lock().expect("unpoisoned").push(request.model.clone());
        let mut failing = self.failing.lock().expect("unpoisoned");
        match failing.get_mut(request.model.as_str()) {
            Some((times, error)) if *times > 0 => {
                *times -= 1;
                Err(error.clone())
            }
            Some(_) | None => {
                let mut reply = says("the answer");
                reply.usage.output = 10;
                Ok(reply)
            }
        }
    }
}

fn overloaded() -> ModelError {
    ModelError::Unavailable("529 Overloaded".into())
}

struct Place {
    _audit: Audit,
    directory: TempDir,
    models: Models,
    runtime: Runtime,
}

impl Place {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for workspace in ["one", "two"] {
            std::fs::create_dir(directory.path().join(workspace)).expect("a workspace");
        }
        let models = Models::default();
        let builder = Runtime::builder()
            .state_directory(directory.path().join("state"))
            .workspace(directory.path().join("one"))
            .model(OfflineOr::new(models.clone()));
        Self {
            _audit: Audit::of(directory.path().join("state")),
            runtime: builder.start().await.expect("started"),
            directory,
            models,
        }
    }

    fn workspace(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs to its end; says who was asked for it, too.
    async fn run(&self, sub_agent: SubAgent) -> (Outcome, Vec<String>) {
        let outcome = run(&self.runtime, sub_agent).await;
        (outcome, self.models.asked())
    }
}

fn on<const N: usize>(models: [&str; N], first: Duration) -> SubAgent {
    SubAgent::explore("Look.")
        .unjudged()
        .chain(models)
        .tries_per_model(3, Duration::ZERO)
        .cool_down(CoolDownSettings {
            after_failures: 3,
            first,
            max: LONG,
        })
}

#[track_caller]
fn answered_by(outcome: &Outcome, model: &str) {
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    let last = outcome.projection.latest_attempt().expect("an attempt");
    assert_eq!(last.model, model);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_failed_one_run_is_passed_over_by_the_next_and_the_result_says_why() {
    let place = Place::new().await;
    place.models.fail("a/dead", usize::MAX, overloaded());
    let (first, asked) = place.run(on(["a/dead", "b/alive"], LONG)).await;
    answered_by(&first, "b/alive");
    assert_eq!(asked, ["a/dead", "a/dead", "a/dead", "b/alive"]);
    let (second, asked) = place.run(on(["a/dead", "b/alive"], LONG)).await;
    answered_by(&second, "b/alive");
    assert_eq!(asked, ["b/alive"]);
    let left = models_left(&second.projection);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        left[0].starts_with("a/dead was passed over") && left[0].ends_with(": 529 Overloaded."),
        "{left:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_other_model_asks_it_all_the_same() {
    let place = Place::new().await;
    place.models.fail("a/dead", 3, overloaded());
    let (first, _) = place.run(on(["a/dead"], LONG)).await;
    assert_eq!(first.state, TerminalState::Failed);
    let (second, asked) = place.run(on(["a/dead"], LONG)).await;
    answered_by(&second, "a/dead");
    assert_eq!(asked, ["a/dead"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_was_passed_over_is_asked_when_no_other_answers() {
    let place = Place::new().await;
    place.models.fail("a/dead", 3, overloaded());
    place.run(on(["a/dead", "b/alive"], LONG)).await;
    place.models.fail("b/alive", 3, overloaded());
    let (second, asked) = place.run(on(["a/dead", "b/alive"], LONG)).await;
    answered_by(&second, "a/dead");
    assert_eq!(asked, ["b/alive", "b/alive", "b/alive", "a/dead"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_attempt_tries_whether_a_model_is_back_and_decides() {
    const SOON: Duration = Duration::from_millis(1);
    let place = Place::new().await;
    place.models.fail("a/dead", 4, overloaded());
    place.run(on(["a/dead", "b/alive"], SOON)).await;
    place.models.asked();
    for (asked_now, answers) in [(vec!["a/dead", "b/alive"], "b/alive"), (vec!["a/dead"], "a/dead")] {
        tokio::time::sleep(SOON * 5).await;
        let (outcome, asked) = place.run(on(["a/dead", "b/alive"], SOON)).await;
        answered_by(&outcome, answers);
        assert_eq!(asked, asked_now);
        assert!(outcome.projection.considered[0].is_probe);
    }
    let (after, _) = place.run(on(["a/dead", "b/alive"], SOON)).await;
    answered_by(&after, "a/dead");
    assert!(after.projection.considered.is_empty(), "it is as it was before");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_probe_goes_on_as_soon_as_it_is_decided() {
    let place = Place::new().await;
    place.models.fail("a/dead", 3, overloaded());
    place.run(on(["a/dead"], Duration::from_millis(300))).await;
    place.models.asked();
    let together = (0..4).map(|_| run(&place.runtime, on(["a/dead"], LONG)));
    let outcomes = futures_util::future::join_all(together).await;
    for outcome in &outcomes {
        answered_by(outcome, "a/dead");
    }
    assert_eq!(place.models.asked().len(), 4, "nobody was refused, nobody failed");
    let probes = outcomes.iter().flat_map(|outcome| &outcome.projection.considered);
    assert!(probes.filter(|one| one.is_probe).count() <= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_cools_its_models_in_its_project_only() {
    let place = Place::new().await;
    let refused = ModelError::Authentication("401 unknown key".into());
    place.models.fail("a/one", usize::MAX, refused.clone());
    place.models.fail("a/two", usize::MAX, refused);
    let (first, asked) = place.run(on(["a/one", "a/two", "b/alive"], LONG)).await;
    answered_by(&first, "b/alive");
    assert_eq!(asked, ["a/one", "b/alive"]);
    let (second, asked) = place.run(on(["a/two", "a/one", "b/alive"], LONG)).await;
    answered_by(&second, "b/alive");
    assert_eq!(asked, ["b/alive"]);
    assert_eq!(models_left(&second.projection).len(), 2);
    let elsewhere = on(["a/two", "b/alive"], LONG).workspace(place.workspace("two"));
    let (third, asked) = place.run(elsewhere).await;
    answered_by(&third, "b/alive");
    assert_eq!(asked, ["a/two", "b/alive"]);
    let (alone, asked) = place.run(on(["a/one"], LONG)).await;
    assert_eq!(asked, ["a/one"], "waiting would help nobody");
    assert_eq!(alone.reason.expect("a reason").code, ReasonCode::Authentication);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_passed_over_is_a_step_of_the_run() {
    let place = Place::new().await;
    place.models.fail("a/dead", 3, overloaded());
    place.run(on(["a/dead", "b/alive"], LONG)).await;
    let run = place.runtime.spawn(on(["a/dead", "b/alive"], LONG)).await;
    let run = run.expect("accepted");
    run.outcome().await.expect("an outcome");
    let mut events = run.events();
    let mut steps = Vec::new();
    while let Some(event) = events.next().await {
        steps.push(event.step);
    }
    let at = steps
        .iter()
        .position(|step| matches!(step, Step::ModelsConsidered { .. }));
    let at = at.expect("the step");
    assert!(matches!(steps[at + 1], Step::AttemptStarted { .. }));
}
