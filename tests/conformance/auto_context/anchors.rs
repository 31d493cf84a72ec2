//! The tool: what the extension sees of a session, what the policy makes of a call, the way back, and other sessions.

use super::host::Node;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::bridge::wire::{ContextAsk, ContextDone};
use impresario_actors::session_index::{SessionFiles, SessionStore};
use impresario_policies::anchors::call::{
    AnchorPage, ContextAnswer, ContextCall, ContextRefusal, answer_call,
};
use serde_json::{Value, json};
use std::fs::FileTimes;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

static NODE: LazyLock<Mutex<Node>> = LazyLock::new(|| Mutex::new(Node::start("anchors.mjs")));

fn ask(question: &Value) -> Value {
    let mut node = NODE.lock().unwrap_or_else(PoisonError::into_inner);
    serde_json::from_str(&node.ask(&question.to_string())).expect("an answer is JSON")
}

fn plain(value: &Json) -> Value {
    serde_json::from_str(&value.to_text()).expect("JSON")
}

pub fn tool(case: &Case) -> Answer {
    let mut waits = false;
    let calls = case.list("calls").iter().map(|call| {
        let mut asked = ask(&json!({"session": plain(case.get("session")), "target": plain(call)["target"]}));
        let fields = asked.as_object_mut().expect("what is seen");
        fields.insert("session".into(), json!("S"));
        fields.insert("arguments".into(), plain(call));
        fields.insert("pivot_waits".into(), json!(waits));
        let asked: ContextAsk = serde_json::from_value(asked).expect("what the bridge takes");
        let answer = answer_call(&asked.call(), &asked.facts());
        waits |= matches!(answer, ContextAnswer::Scheduled(_));
        told(&answer)
    });
    let calls: Vec<Value> = calls.collect();
    Answer::value(json!({"calls": calls, "pending_after": waits}))
}

fn told(answer: &ContextAnswer) -> Value {
    let mut told = json!({"code": code_of(answer)});
    if let Ok(done) = ContextDone::of(answer.clone()) {
        told["details"] = done.details;
        if let ContextAnswer::Anchored { .. } = answer {
            told["text"] = json!(done.text);
        }
    }
    if let ContextAnswer::View(AnchorPage {
        rows,
        hidden_on_branch,
        ..
    }) = answer
    {
        let rows = rows.iter().map(|row| {
            let short: String = row.anchor.target.chars().take(8).collect();
            json!({"name": row.anchor.name, "short_target": short, "on_branch": row.anchor.on_branch, "latest": row.is_newest})
        });
        told["rows"] = rows.collect();
        told["hidden_on_branch"] = json!(hidden_on_branch);
    }
    told
}

fn code_of(answer: &ContextAnswer) -> &'static str {
    match answer {
        ContextAnswer::Anchored { .. } => "anchored",
        ContextAnswer::View(_) => "view",
        // There are no sessions to look through.
        ContextAnswer::Recall(_) => "no_matches",
        ContextAnswer::Scheduled(_) => "scheduled",
        ContextAnswer::Refused(why) => match why {
            ContextRefusal::NoAnchors => "no_anchors",
            ContextRefusal::MissingKeyword => "missing_keyword",
            ContextRefusal::MissingNameOrSummary => "missing_name_or_summary",
            ContextRefusal::MissingTarget => "missing_target",
            ContextRefusal::MissingCarryover => "missing_carryover",
            ContextRefusal::DuplicateAnchor(_) => "duplicate_anchor",
            ContextRefusal::DuplicateLabel(_) => "duplicate_label",
            ContextRefusal::NoLeaf => "no_leaf",
            ContextRefusal::TargetNotFound(_) => "target_not_found",
            ContextRefusal::TargetIsLeaf(_) => "target_is_leaf",
            ContextRefusal::AlreadyWaits => "already_pending",
            ContextRefusal::UnknownAction(_) => "unknown_action",
            ContextRefusal::TooLong(..) => "too_long",
            ContextRefusal::NameOfLines => "name_of_lines",
        },
    }
}

pub fn pivot_run(case: &Case) -> Answer {
    Answer::value(ask(&json!({"run": plain(&case.input)})))
}

pub fn recall(case: &Case) -> Answer {
    let place = tempfile::tempdir().expect("a directory");
    for session in case.list("sessions") {
        write_session(place.path(), session);
    }
    let (store, sessions) = (
        SessionStore::new(None),
        SessionFiles::Below(place.path().to_path_buf()),
    );
    let answers = case.list("queries").iter().map(|query| {
        let text = |key: &str| query.get(key).and_then(Json::as_str).map(str::to_string);
        let number = |key: &str| query.get(key).and_then(Json::as_number);
        let call = ContextCall {
            action: "recall".into(),
            keyword: text("keyword"),
            scope: text("scope"),
            limit: number("limit"),
            offset: number("offset"),
            ..ContextCall::default()
        };
        let ContextAnswer::Recall(request) = answer_call(&call, &Default::default()) else {
            return json!("refused");
        };
        let cwd = text("cwd").unwrap_or_else(|| "/proj".into());
        let recalled = store.recall(&sessions, &cwd, &request).expect("looked");
        let hits = recalled.found.into_iter().map(|hit| {
            json!({"session": hit.file, "session_id": hit.session, "cwd": hit.directory, "name": hit.name, "entry_id": hit.entry, "timestamp": hit.at})
        });
        hits.collect()
    });
    Answer::value(answers.collect())
}

fn write_session(place: &Path, session: &Json) {
    let text = |key: &str| session.get(key).and_then(Json::as_str).expect("a text");
    let directory = place.join(text("dir"));
    std::fs::create_dir_all(&directory).expect("made");
    let lines = session.get("lines").and_then(Json::as_array).unwrap_or_default();
    let lines = lines.iter().map(|line| match line {
        Json::String(raw) => raw.clone(),
        value => value.to_text(),
    });
    let file = directory.join(text("file"));
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("written");
    let seconds = session.get("mtime").and_then(Json::as_number).unwrap_or(0.0);
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds);
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .expect("there");
    opened
        .set_times(FileTimes::new().set_modified(changed))
        .expect("dated");
}

/// Names the difference; none where ours is none of them.
pub fn differs(function: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    let all_but = |is_ours: &dyn Fn(usize, &Json, &Json) -> bool, wanted: &[Json], found: &[Json]| {
        let mut pairs = wanted.iter().zip(found).enumerate();
        wanted.len() == found.len()
            && pairs.all(|(at, (wanted, found))| wanted == found || is_ours(at, wanted, found))
    };
    let Answer::Value(recorded) = &case.expected else {
        return None;
    };
    let Answer::Value(ours) = ours else { return None };
    let list = |value: &Json, key: &str| {
        value
            .get(key)
            .and_then(Json::as_array)
            .unwrap_or_default()
            .to_vec()
    };
    let code = |told: &Json| {
        told.get("code")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_string()
    };
    match function {
        "recall" => {
            let several = |at: usize, _: &Json, _: &Json| {
                let keyword = case.list("queries")[at].get("keyword").and_then(Json::as_str);
                keyword.is_some_and(|keyword| keyword.chars().any(char::is_whitespace))
            };
            let (wanted, found) = (recorded.as_array()?, ours.as_array()?);
            all_but(&several, wanted, found).then_some("several words are looked for one by one")
        }
        "tool" => {
            let (wanted, found) = (list(recorded, "calls"), list(ours, "calls"));
            let is_scheduled = |told: &Json| code(told) == "scheduled";
            let behind = |_: usize, wanted: &Json, found: &Json| is_scheduled(wanted) && is_scheduled(found);
            if all_but(&behind, &wanted, &found) {
                return Some("the place of an anchor is its result, whatever its call said");
            }
            let looked = |_: usize, wanted: &Json, found: &Json| {
                [code(wanted), code(found)] == ["no_matches", "no_matches"]
            };
            if all_but(&looked, &wanted, &found) {
                return Some("what a look found is told in details of its own");
            }
            let asked = |_: usize, wanted: &Json, found: &Json| {
                code(wanted) == "not_armed" && matches!(&*code(found), "scheduled" | "already_pending")
            };
            all_but(&asked, &wanted, &found)
                .then_some("where the host lends no way, a person is asked for it")
        }
        "pivot_run" => ["armed", "runtime"]
            .iter()
            .any(|lent| case.get(lent) == &Json::Bool(false))
            .then_some("where the host lends no way, a person is asked for it"),
        _ => None,
    }
}
