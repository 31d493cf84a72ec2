//! Which places count, and which files lie above them.

use super::object;
use super::tree::Tree;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use futures_util::FutureExt;
use impresario::rule_files::{DiskRules, contained_place};
use impresario_actors::context::local::HeavyWork;
use impresario_actors::gateways::{RuleFiles, RulesAsk};
use impresario_policies::guidance::Touched;
use std::path::PathBuf;

pub fn contain(case: &Case) -> Answer {
    let tree = Tree::of(&case.input);
    let root = PathBuf::from(tree.placed(case.text("root_dir")));
    let file = tree.placed(case.text("file_path"));
    let ours = match contained_place(&Touched::File(file), &root, None) {
        Some(place) => object(vec![
            ("canonical_path", text(place.real)),
            ("canonical_root", text(place.root)),
        ]),
        None => Json::Null,
    };
    Answer::Value(tree.as_recorded(&ours, &Json::Null))
}

pub fn find_up(case: &Case) -> Answer {
    let tree = Tree::of(&case.input);
    let names = match case.get("file_names") {
        Json::Null => vec!["AGENTS.md".to_string()],
        _ => case.texts("file_names"),
    };
    let ask = RulesAsk {
        touched: vec![Touched::Place(tree.placed(case.text("start_dir")))],
        workspace: tree.placed(case.text("root_dir")).into(),
        file_names: names,
    };
    let rules = DiskRules::new(HeavyWork::Inline);
    let found = rules.find(ask).now_or_never().expect("nothing is waited for");
    let files = found.files.into_iter().map(|file| file.mark.path);
    let mut paths: Vec<PathBuf> = files
        .chain(found.not_read.into_iter().map(|file| file.path))
        .collect();
    paths.sort_by_key(|path| path.components().count());
    let ours = Json::Array(paths.into_iter().map(text).collect());
    Answer::Value(tree.as_recorded(&ours, &Json::Null))
}

fn text(path: PathBuf) -> Json {
    Json::String(path.to_string_lossy().into_owned())
}
