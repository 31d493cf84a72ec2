//! Can a sub-agent be given this conversation, and these pictures?

use crate::domain::{Given, Picture, Reason, ReasonCode};
use crate::run_request::EMBEDDED_RUNNER;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const HISTORY_MESSAGES_MAX: usize = 1_000;
const HISTORY_BYTES_MAX: usize = 4 * 1024 * 1024;
const PICTURES_MAX: usize = 16;
/// What Anthropic takes at most, the strictest of the large providers (their page on vision, 2026-11).
const PICTURE_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Of all pictures of a task together: the journal keeps them.
const PICTURES_BYTES_MAX: usize = 12 * 1024 * 1024;

/// What the bytes of each kind of picture begin with, and where.
const BEGINNINGS: [(usize, &[u8], &str); 5] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
];

/// The picture that these bytes are: by their content, whatever they were called.
pub fn read_picture(bytes: &[u8]) -> Result<Picture, Reason> {
    if bytes.len() > PICTURE_BYTES_MAX {
        return Err(bad_input(format!(
            "A picture has {} bytes, and models take {PICTURE_BYTES_MAX} at most.",
            bytes.len()
        )));
    }
    let begins =
        |(at, with, _): &&(usize, &[u8], &str)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(with));
    let Some((_, _, media_type)) = BEGINNINGS.iter().find(begins) else {
        return Err(bad_input(
            "The bytes of a picture are neither PNG, JPEG, GIF nor WebP.".into(),
        ));
    };
    Ok(Picture {
        media_type: (*media_type).to_string(),
        base64: STANDARD.encode(bytes).into(),
    })
}

/// Refuses what no runner or no model takes; none where it can be given.
pub fn refuse_given(given: &Given, runner: &str) -> Option<Reason> {
    let texts = given.history.iter().map(|message| message.text.len());
    let pictures = given.pictures.iter().map(|picture| picture.base64.len() / 4 * 3);
    let faults = [
        (
            runner != EMBEDDED_RUNNER,
            format!(
                "An earlier conversation and pictures need the runner `{EMBEDDED_RUNNER}`, and this is `{runner}`."
            ),
        ),
        (
            given.history.len() > HISTORY_MESSAGES_MAX,
            format!("The earlier conversation has more than {HISTORY_MESSAGES_MAX} messages."),
        ),
        (
            texts.sum::<usize>() > HISTORY_BYTES_MAX,
            format!("The earlier conversation is longer than {HISTORY_BYTES_MAX} bytes."),
        ),
        (
            given.history.iter().any(|message| message.text.trim().is_empty()),
            "A message of the earlier conversation is empty, which providers refuse.".to_string(),
        ),
        (
            given.pictures.len() > PICTURES_MAX,
            format!("There are more than {PICTURES_MAX} pictures."),
        ),
        (
            pictures.sum::<usize>() > PICTURES_BYTES_MAX,
            format!("The pictures have more than {PICTURES_BYTES_MAX} bytes together."),
        ),
    ];
    let fault = faults.into_iter().find(|(is_so, _)| *is_so);
    fault.map(|(_, message)| bad_input(message))
}

fn bad_input(message: String) -> Reason {
    Reason {
        code: ReasonCode::BadInput,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EarlierMessage;
    use crate::run_request::PI_RUNNER;

    fn with(history: Vec<EarlierMessage>, pictures: Vec<Picture>) -> Given {
        Given { history, pictures }
    }

    #[test]
    fn a_picture_is_what_its_bytes_say() {
        let picture = |bytes: &[u8]| read_picture(bytes).map(|picture| picture.media_type);
        assert_eq!(picture(b"\x89PNG\r\n\x1a\nrest").as_deref(), Ok("image/png"));
        assert_eq!(picture(b"\xff\xd8\xff\xe0").as_deref(), Ok("image/jpeg"));
        assert_eq!(picture(b"GIF89a..").as_deref(), Ok("image/gif"));
        assert_eq!(picture(b"RIFF\0\0\0\0WEBPVP8 ").as_deref(), Ok("image/webp"));
        for other in [&b"<svg></svg>"[..], b"", b"%PDF-1.7", &[0; PICTURE_BYTES_MAX + 1]] {
            assert_eq!(
                picture(other).map_err(|reason| reason.code),
                Err(ReasonCode::BadInput)
            );
        }
    }

    #[test]
    fn what_cannot_be_given_is_refused_and_says_why() {
        let small = read_picture(b"GIF89a").expect("a picture");
        let large = Picture {
            base64: "A".repeat(6 * 1024 * 1024).into(),
            ..small.clone()
        };
        let said = |text: &str| EarlierMessage::user(text);
        let fine = with(
            vec![said("one"), EarlierMessage::assistant("two")],
            vec![small.clone()],
        );
        assert_eq!(refuse_given(&fine, EMBEDDED_RUNNER), None);
        let refused = [
            (fine, PI_RUNNER, "runner"),
            (
                with(vec![said("x"); HISTORY_MESSAGES_MAX + 1], vec![]),
                EMBEDDED_RUNNER,
                "messages",
            ),
            (
                with(vec![said(&"x".repeat(HISTORY_BYTES_MAX + 1))], vec![]),
                EMBEDDED_RUNNER,
                "longer",
            ),
            (with(vec![said(" ")], vec![]), EMBEDDED_RUNNER, "empty"),
            (
                with(vec![], vec![small; PICTURES_MAX + 1]),
                EMBEDDED_RUNNER,
                "more than 16",
            ),
            (with(vec![], vec![large; 3]), EMBEDDED_RUNNER, "together"),
        ];
        for (given, runner, wanted) in refused {
            let reason = refuse_given(&given, runner).expect(wanted);
            assert!(reason.message.contains(wanted), "{wanted}: {}", reason.message);
        }
    }
}
