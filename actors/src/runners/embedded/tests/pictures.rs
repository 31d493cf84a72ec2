//! Pictures that a tool shows.

use super::*;

const DOT: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

fn looking(then: Vec<Result<ModelReply, ModelError>>) -> Stage {
    let mut replies = vec![calls(
        "l1",
        "look_at",
        json!({"path": "dot.gif", "objective": "what is it"}),
    )];
    replies.extend(then);
    let stage = Stage {
        tools: vec!["look_at"],
        ..stage(replies)
    };
    std::fs::write(stage.place.path().join("workspace/dot.gif"), DOT).expect("a picture");
    stage
}

fn pictures_in(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .map(|message| message.pictures.len())
        .sum()
}

#[tokio::test]
async fn the_model_sees_what_the_tool_shows_and_it_is_kept_with_the_result() {
    let stage = looking(vec![says("A dot.")]);
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "A dot.");
    let requests = stage.model.requests.borrow();
    let [_, result, shown] = &requests[1].messages[requests[1].messages.len() - 3..] else {
        unreachable!("three");
    };
    assert_eq!((result.role, shown.role), (ModelRole::Tool, ModelRole::User));
    assert!(result.text.contains("dot.gif"), "{}", result.text);
    assert_eq!(shown.pictures[0].media_type, "image/gif");
    let kept = session_file::read(&stage.place.path().join("session.jsonl")).expect("the session");
    let result = kept.iter().find(|message| message.role == ModelRole::Tool);
    assert_eq!(result.expect("the result").pictures, shown.pictures);
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_asked_again_without_them() {
    let refused = ModelError::Unavailable("400 image input is not supported by this model".into());
    let stage = looking(vec![Err(refused), says("I cannot see it.")]);
    let (_, facts) = stage.play().await;
    assert_eq!(facts.answer, "I cannot see it.");
    let requests = stage.model.requests.borrow();
    let seen = requests.iter().map(pictures_in).collect::<Vec<_>>();
    assert_eq!(seen, [0, 1, 0]);
    let last = requests[2].messages.last().expect("a message");
    assert!(last.text.ends_with("this model takes none.]"), "{}", last.text);
}

#[tokio::test]
async fn what_fails_for_another_reason_is_not_asked_again() {
    let stage = looking(vec![Err(ModelError::Unavailable("529 Overloaded".into()))]);
    let (_, facts) = stage.play().await;
    assert_eq!(read_ending(&facts), AttemptEnding::Unavailable);
    assert_eq!(stage.model.requests.borrow().len(), 2);
}
