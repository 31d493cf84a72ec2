//! Reads of sessions one after the other and at the same time, through the runtime.

use super::object;
use super::tree::{Tree, text_of};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use futures_util::future::join_all;
use impresario::Runtime;
use impresario_actors::messages::session::{GuideResult, GuidedResult};
use impresario_policies::domain::{GuidanceTerms, SessionId};
use impresario_policies::guidance::{GivenRules, RuleMark, Touched};
use std::collections::BTreeMap;

pub fn inject(case: &Case) -> Answer {
    let tree = Tree::of(&case.input);
    let asynchronous = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let ours = asynchronous.block_on(async {
        let state = tempfile::tempdir().expect("a directory");
        let builder = Runtime::builder()
            .state_directory(state.path())
            .workspace(tree.path());
        let runtime = builder.start().await.expect("started");
        let mut host = Sessions {
            terms: terms_of(case.get("config")),
            root: tree.placed(case.text("root_dir")),
            tree: &tree,
            runtime: &runtime,
            number: 0,
            given: BTreeMap::new(),
        };
        let mut steps = Vec::new();
        for step in case.list("steps") {
            steps.push(host.step(step).await);
        }
        let injected = host.injected();
        let ours = object(vec![("steps", Json::Array(steps)), ("injected_dirs", injected)]);
        runtime.shutdown().await.expect("ended");
        ours
    });
    let recorded = match &case.expected {
        Answer::Value(recorded) => recorded.clone(),
        Answer::Error { .. } => Json::Null,
    };
    Answer::Value(tree.as_recorded(&ours, &recorded))
}

fn terms_of(config: &Json) -> GuidanceTerms {
    let number = |key: &str| {
        config
            .get(key)
            .and_then(Json::as_number)
            .map(|bytes| bytes as usize)
    };
    let names = config.get("file_names").and_then(Json::as_array);
    let names = names.map(|names| {
        names
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect()
    });
    GuidanceTerms {
        file_names: names.unwrap_or_else(|| vec!["AGENTS.md".into()]),
        file_bytes_max: number("max_bytes_per_file").unwrap_or(32_768),
        read_bytes_max: number("max_bytes_per_read").unwrap_or(131_072),
    }
}

/// A host with sessions.
struct Sessions<'a> {
    terms: GuidanceTerms,
    root: String,
    tree: &'a Tree,
    runtime: &'a Runtime,
    number: u64,
    given: BTreeMap<String, Vec<RuleMark>>,
}

impl Sessions<'_> {
    async fn step(&mut self, step: &Json) -> Json {
        let text = |key: &str| step.get(key).and_then(Json::as_str).unwrap_or_default();
        match text("op") {
            "read" => self.read_all(std::slice::from_ref(step)).await.remove(0),
            "parallel" => {
                let reads = step.get("reads").and_then(Json::as_array).unwrap_or_default();
                Json::Array(self.read_all(reads).await)
            }
            "clear" => {
                if let Some(given) = self.given.get_mut(text("session")) {
                    given.clear();
                }
                Json::Null
            }
            "clear_all" => {
                self.given.clear();
                Json::Null
            }
            "write" => {
                let content = text_of(step.get("content").unwrap_or(&Json::Null));
                self.tree.write(text("path"), content.as_bytes());
                Json::Null
            }
            "remove" => {
                std::fs::remove_file(self.tree.below(text("path"))).expect("it was there");
                Json::Null
            }
            other => panic!("nobody knows the step {other:?}"),
        }
    }

    /// All at the same time.
    async fn read_all(&mut self, reads: &[Json]) -> Vec<Json> {
        let mut open = Vec::new();
        let mut asks = Vec::new();
        for read in reads {
            self.number += 1;
            let session = read.get("session").and_then(Json::as_str).unwrap_or_default();
            let path = read.get("file_path").and_then(Json::as_str).unwrap_or_default();
            asks.push(GuideResult {
                session: SessionId(session.to_string()),
                number: self.number,
                open: open.clone(),
                touched: vec![Touched::File(self.tree.placed(path))],
                workspace: self.root.clone().into(),
                is_trusted: true,
                terms: Some(self.terms.clone()),
                given: self.given.entry(session.to_string()).or_default().clone(),
            });
            open.push(self.number);
        }
        let sessions: Vec<String> = asks.iter().map(|ask| ask.session.0.clone()).collect();
        let answers = join_all(asks.into_iter().map(|ask| self.runtime.guide(ask))).await;
        let answers = answers.into_iter().zip(sessions).map(|(answer, session)| {
            let guided = answer.expect("answered");
            let marks = guided.rules.iter().map(|rules| rules.mark.clone());
            self.given.entry(session).or_default().extend(marks);
            read_as_recorded(&guided)
        });
        answers.collect()
    }

    fn injected(&self) -> Json {
        let directories = |marks: &Vec<RuleMark>| {
            let directories = marks.iter().filter_map(|mark| mark.path.parent());
            Json::Array(
                directories
                    .map(|path| Json::String(path.display().to_string()))
                    .collect(),
            )
        };
        let sessions = self
            .given
            .iter()
            .map(|(session, marks)| (session.clone(), directories(marks)));
        Json::Object(sessions.collect())
    }
}

fn read_as_recorded(guided: &GuidedResult) -> Json {
    let text: String = guided.rules.iter().map(|rules| rules.block.as_str()).collect();
    let file = |rules: &GivenRules| {
        let path = &rules.mark.path;
        object(vec![
            ("path", Json::String(path.display().to_string())),
            (
                "dir",
                Json::String(path.parent().expect("a directory").display().to_string()),
            ),
            ("truncated", Json::Bool(rules.is_cut)),
            ("original_bytes", Json::Number(rules.bytes as f64)),
            ("injected_bytes", Json::Number(rules.shown_bytes as f64)),
        ])
    };
    let errors = guided.not_read.iter().map(|file| {
        object(vec![
            ("path", Json::String(file.path.display().to_string())),
            ("code", Json::String(file.why.clone())),
        ])
    });
    object(vec![
        ("injected_text", Json::String(text)),
        ("files", Json::Array(guided.rules.iter().map(file).collect())),
        ("errors", Json::Array(errors.collect())),
    ])
}
