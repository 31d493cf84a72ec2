//! The tools that Impresario adds, called as every runner calls them.

use super::{object, texts};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_actors::gateways::{Reach, ToolAnswer, ToolPlace, Tools};
use impresario_actors::tools::LocalTools;
use impresario_policies::added_tools::AddedTool;
use serde_json::{Value, json};
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// Calls a tool where it may reach everything below `directory`.
pub fn call(tool: AddedTool, arguments: Value, directory: &Path) -> Result<ToolAnswer, String> {
    let place = ToolPlace {
        workspace: directory.to_path_buf(),
        reach: Reach::Workspace,
        readable: Vec::new(),
        cancelled: CancellationToken::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(LocalTools::default().call(tool, &arguments, &place))
}

/// Names with the seconds by which each is newer than the epoch.
fn files_of(case: &Case) -> Vec<(String, u64)> {
    let files = case.get("files");
    if let Some([name, count]) = files.get("$many").and_then(Json::as_array) {
        let name = name.as_str().unwrap_or_default();
        let count = count.as_number().unwrap_or_default() as u64;
        return (1..=count)
            .map(|at| (name.replace("{i}", &at.to_string()), at))
            .collect();
    }
    let Json::Object(entries) = files else {
        return Vec::new();
    };
    let seconds = |value: &Json| value.as_number().unwrap_or_default() as u64;
    entries
        .iter()
        .map(|(name, value)| (name.clone(), seconds(value)))
        .collect()
}

pub fn glob(case: &Case) -> Answer {
    let directory = tempfile::tempdir().expect("a directory");
    let root: PathBuf = directory.path().canonicalize().expect("its real place");
    for (name, seconds) in files_of(case) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its directory");
        let file = File::create(&path).expect("a file");
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        file.set_times(FileTimes::new().set_modified(changed))
            .expect("its time");
    }
    if let Json::Object(links) = case.get("links") {
        for (name, target) in links {
            let target = target.as_str().expect("a target");
            std::os::unix::fs::symlink(root.join(target), root.join(name)).expect("a link");
        }
    }
    let mut arguments = json!({ "pattern": case.text("pattern") });
    if let Some(path) = case.get("path").as_str() {
        arguments["path"] = path.into();
    }
    let text = match call(AddedTool::Glob, arguments, &root) {
        Ok(answer) => answer.text,
        Err(why) => return Answer::error(why),
    };
    let text = text.replace(&root.to_string_lossy().into_owned(), "$DIR");
    let (header, files) = text.split_once("\n\n").unwrap_or((&text, ""));
    let lines = |text: &str| {
        let lines = text.lines().map(|line| Json::String(line.into()));
        Json::Array(lines.collect())
    };
    Answer::Value(object(vec![("header", lines(header)), ("files", lines(files))]))
}

/// The summary is the first line of the header again.
pub fn glob_covered(recorded: &Json) -> Json {
    super::only(recorded, &["header", "files"])
}

/// A pattern that is none is said to be none, where the peer finds nothing.
pub fn glob_refuses(case: &Case, ours: &Answer) -> bool {
    let refused = matches!(ours, Answer::Error { .. });
    refused
        && ["[", "!("]
            .iter()
            .any(|odd| case.text("pattern").starts_with(odd))
}

/// What was not looked into is said where nothing was found.
pub fn glob_tells_more(_: &Case, ours: &Answer) -> bool {
    let Answer::Value(ours) = ours else { return false };
    let header = texts(ours, "header");
    header.len() == 2 && header[0] == "(no matches)" && header[1].starts_with("Not looked into: ")
}

/// All files are looked at, so all of them are counted.
pub fn glob_counts_all(case: &Case, ours: &Answer) -> bool {
    let Answer::Value(ours) = ours else { return false };
    let header = texts(ours, "header");
    let all = files_of(case).len();
    all > 1_000 && header[0] == format!("Found {all} files.") && texts(ours, "files").len() == 25
}
