//! Pictures that tools showed: they are kept with the result they belong to, and a request has them where providers take
//! them, in a message of the person behind the results.

use crate::gateways::{ModelError, ModelMessage, ModelRole};
use impresario_policies::attempt_ending::may_refuse_pictures;
use impresario_policies::domain::Picture;

/// A conversation holds so much of pictures, in base64. Anthropic takes requests of up to 32 MB; what more is shown would
/// be sent again with each of them.
const PICTURES_BYTES_MAX: usize = 16 * 1024 * 1024;

const BEHIND_RESULTS: &str = "The pictures that the results above speak of, in their order.";
const NOT_TAKEN: &str = "\n[Its pictures are not shown: this model takes none.]";
const NO_ROOM: &str =
    "\n[Its pictures are not shown: there are as many in this conversation as it can hold.]";

/// The messages as a request has them; a model that takes no pictures is told of those that tools showed.
pub(super) fn asked(messages: &[ModelMessage], takes_pictures: bool) -> Vec<ModelMessage> {
    let mut asked = Vec::with_capacity(messages.len());
    let mut shown = Vec::new();
    for message in messages {
        let mut message = message.clone();
        if message.role == ModelRole::Tool {
            let pictures = std::mem::take(&mut message.pictures);
            match takes_pictures {
                true => shown.extend(pictures),
                false if pictures.is_empty() => {}
                false => message.text.push_str(NOT_TAKEN),
            }
        } else {
            asked.extend(behind_results(&mut shown));
        }
        asked.push(message);
    }
    asked.extend(behind_results(&mut shown));
    asked
}

fn behind_results(shown: &mut Vec<Picture>) -> Option<ModelMessage> {
    (!shown.is_empty()).then(|| ModelMessage {
        role: ModelRole::User,
        text: BEHIND_RESULTS.to_string(),
        tool_calls: Vec::new(),
        answers_call: None,
        pictures: std::mem::take(shown),
    })
}

/// Leaves the pictures of a result out where the conversation has no room for them, and says so in it.
pub(super) fn fit(result: &mut ModelMessage, before: &[ModelMessage]) {
    let of = |message: &ModelMessage| {
        message
            .pictures
            .iter()
            .map(|picture| picture.base64.len())
            .sum::<usize>()
    };
    let held = before.iter().map(of).sum::<usize>();
    if of(result) > 0 && held + of(result) > PICTURES_BYTES_MAX {
        result.pictures.clear();
        result.text.push_str(NO_ROOM);
    }
}

/// Whether the call may have failed because of pictures that tools showed.
pub(super) fn were_refused(error: &ModelError, messages: &[ModelMessage]) -> bool {
    let words = match error {
        ModelError::Unavailable(why) | ModelError::UnknownModel(why) => why,
        _ => return false,
    };
    let has_some = |message: &ModelMessage| message.role == ModelRole::Tool && !message.pictures.is_empty();
    may_refuse_pictures(words) && messages.iter().any(has_some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: ModelRole, text: &str, pictures: &[&str]) -> ModelMessage {
        let pictures = pictures.iter().map(|base64| Picture {
            media_type: "image/png".into(),
            base64: (*base64).into(),
        });
        ModelMessage {
            role,
            text: text.into(),
            tool_calls: Vec::new(),
            answers_call: None,
            pictures: pictures.collect(),
        }
    }

    #[test]
    fn pictures_of_one_reply_stand_behind_all_its_results() {
        let kept = [
            message(ModelRole::User, "task", &["own"]),
            message(ModelRole::Tool, "one", &["a", "b"]),
            message(ModelRole::Tool, "two", &["c"]),
            message(ModelRole::Assistant, "I see.", &[]),
            message(ModelRole::Tool, "three", &[]),
        ];
        let expected = [
            message(ModelRole::User, "task", &["own"]),
            message(ModelRole::Tool, "one", &[]),
            message(ModelRole::Tool, "two", &[]),
            message(ModelRole::User, BEHIND_RESULTS, &["a", "b", "c"]),
            message(ModelRole::Assistant, "I see.", &[]),
            message(ModelRole::Tool, "three", &[]),
        ];
        assert_eq!(asked(&kept, true), expected);
        let without = asked(&kept, false);
        assert_eq!(without.len(), kept.len());
        assert_eq!(without[1].text, format!("one{NOT_TAKEN}"));
        assert_eq!(without[4].text, "three");
        assert_eq!(without[0].pictures.len(), 1, "what a person gave stays");
    }

    #[test]
    fn a_conversation_holds_so_many_and_says_what_it_leaves_out() {
        let large = "x".repeat(PICTURES_BYTES_MAX - 1);
        let before = [message(ModelRole::Tool, "large", &[&large])];
        let mut fits = message(ModelRole::Tool, "small", &["y"]);
        fit(&mut fits, &before);
        assert_eq!((fits.pictures.len(), fits.text.as_str()), (1, "small"));
        let mut beyond = message(ModelRole::Tool, "more", &["yy"]);
        fit(&mut beyond, &before);
        assert!(beyond.pictures.is_empty());
        assert_eq!(beyond.text, format!("more{NO_ROOM}"));
    }

    #[test]
    fn only_a_refused_request_with_such_pictures_is_made_again() {
        let with = [message(ModelRole::Tool, "seen", &["a"])];
        let own = [message(ModelRole::User, "task", &["a"])];
        let bad = ModelError::Unavailable("400 image input is not supported".into());
        assert!(were_refused(&bad, &with));
        assert!(!were_refused(&bad, &own));
        assert!(!were_refused(
            &ModelError::Unavailable("529 overloaded".into()),
            &with
        ));
        assert!(!were_refused(
            &ModelError::ContextOverflow("400 too long".into()),
            &with
        ));
    }
}
