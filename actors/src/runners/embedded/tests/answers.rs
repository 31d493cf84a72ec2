//! Answers in a form that was asked for.

use super::*;
use crate::runners::embedded::session_file::Care;

const SCHEMA: &str = r#"{"type":"object","properties":{"line":{"type":"integer"}},"required":["line"]}"#;

fn formed(replies: Vec<Result<ModelReply, ModelError>>) -> Stage {
    Stage {
        answer_schema: Some(SCHEMA.to_string()),
        ..stage(replies)
    }
}

fn told_last(stage: &Stage) -> String {
    let requests = stage.model.requests.borrow();
    let last = requests.last().and_then(|request| request.messages.last());
    last.map_or(String::new(), |message| message.text.clone())
}

#[tokio::test]
async fn an_answer_of_the_wrong_form_is_given_back_with_what_is_wrong() {
    let stage = formed(vec![says("On line 3."), says("Sorry: {\"line\": 3}")]);
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, r#"{"line":3}"#);
    assert_eq!(read_ending(&facts), AttemptEnding::Answered);
    assert!(
        told_last(&stage).contains("it is not JSON"),
        "{}",
        told_last(&stage)
    );
}

#[tokio::test]
async fn who_never_finds_the_form_ends_and_says_what_was_wrong() {
    let wrong = || says(r#"{"line":"three"}"#);
    let stage = formed(vec![wrong(), wrong(), wrong(), wrong()]);
    let (_, facts) = stage.play().await;
    assert_eq!(read_ending(&facts), AttemptEnding::MalformedAnswer);
    assert_eq!(stage.model.requests.borrow().len(), 3);
    let fault = facts.malformed.unwrap_or_default();
    assert!(fault.starts_with("at /line: "), "{fault}");
}

#[tokio::test]
async fn one_that_goes_on_behind_a_wrong_answer_is_told_of_it() {
    let mut stage = formed(vec![says(r#"{"line":4}"#)]);
    let message = |role, text: &str| crate::gateways::ModelMessage {
        role,
        text: text.to_string(),
        tool_calls: Vec::new(),
        answers_call: None,
        pictures: Vec::new(),
    };
    let path = stage.place.path().join("session.jsonl");
    session_file::begin(&path, &[message(ModelRole::User, "Where?")]).expect("a session");
    session_file::append(&path, &message(ModelRole::Assistant, "Line 4."), Care::Written).expect("a line");
    stage.resume = Some(String::new());
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, r#"{"line":4}"#);
    assert!(
        told_last(&stage).contains("does not conform"),
        "{}",
        told_last(&stage)
    );
}
