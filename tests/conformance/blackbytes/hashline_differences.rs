//! Where our edits differ on purpose. What a file has to come to says the plain model, which knows none of our code.

use super::edit_model::{self, Change};
use super::hashline::given_edit;
use super::hashline_stage::{file_before, target_of};
use super::{optional, text, texts};
use crate::compare::same;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whether our answer is the one we want where the record says that the peer's is a fault.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    let fails_with = |code: &str| fails(case, ours, code);
    match defect {
        "replace without pos is silently treated as EOF append"
        | "replace with empty pos is silently treated as EOF append" => fails_with("E_BAD_REF"),
        "insert inside a deleted range is not rejected; range shifts and an original line survives"
        | "insert inside a replaced range is not rejected" => fails_with("E_OVERLAP"),
        "overlapping matches are counted non-overlapping, so an ambiguous match is accepted" => {
            fails_with("E_MULTI_MATCH")
        }
        "delete silently wins over rename" => fails_with("E_INVALID_PATCH"),
        "renaming to a new path drops the source mode (always 0644)" => keeps_its_mode(case, ours),
        "a ranged read is numbered from 1, so every anchor is wrong" => {
            let offset = case
                .get("event")
                .get("input")
                .and_then(|input| input.get("offset"))
                .and_then(Json::as_number);
            offset.is_some_and(|offset| first_text(ours).starts_with(&format!("{offset}#")))
        }
        "Pi's trailing truncation notice is given line anchors" => ends_in_notice(&first_text(ours)),
        "the window is numbered from 1 instead of its real line numbers, so the offered anchors do not exist in the file" => {
            window_is_real(case, ours)
        }
        _ => comes_to_what_the_model_says(case, ours),
    }
}

/// What we do differently on purpose where the record names no fault.
pub fn known(function: &str) -> &'static [(&'static str, fn(&Case, &Answer) -> bool)] {
    match function {
        "hashline_cid" => &[("halves of pairs are in no text here", |case, _| {
            case.text("content").contains('\u{FFFD}')
        })],
        "hashline_annotate" => &[
            ("halves of pairs are in no text here", |case, _| {
                case.text("text").contains('\u{FFFD}')
            }),
            ("what Pi says behind a text is no line of it", |_, ours| {
                ends_in_notice(value(ours).as_str().unwrap_or_default())
            }),
            ("a byte order mark is no part of the first line", |case, _| {
                case.text("text").starts_with('\u{FEFF}')
            }),
        ],
        "hashline_parse_anchor" => &[("a number that no file has is as large as can be", |case, ours| {
            case.text("anchor").len() > 20
                && ours.get("cid") == value(&case.expected).get("cid").unwrap_or(&Json::Null)
        })],
        "hashline_text_match" => &[("a text that overlaps itself stands there twice", |case, ours| {
            value(&case.expected).get("count") == Some(&Json::Number(1.0))
                && ours.get("count") == &Json::Number(2.0)
                && overlaps_itself(case.text("haystack"), case.text("needle"))
        })],
        "hashline_normalize_op" => &[("replace needs an anchor", |case, ours| {
            text(case.get("edit"), "op") == "replace"
                && text(case.get("edit"), "pos").is_empty()
                && ours.get("error_code") == &Json::String("E_BAD_REF".into())
        })],
        "hashline_verify" => &[("a window splits no pair", |case, ours| {
            let same_place = ["line", "column", "utf16_offset", "intended_len", "actual_len"]
                .iter()
                .all(|key| value(&case.expected).get(key) == Some(ours.get(key)));
            same_place && !case.text("intended").is_ascii()
        })],
        "hashline_apply" => &[
            ("a text with line breaks is as many lines", |case, ours| {
                any_edit(case, |edit| {
                    texts_of_lines(edit).iter().any(|line| line.contains('\n'))
                }) && comes_to_what_the_model_says(case, ours)
            }),
            ("a line break in a text is that of the file", |case, ours| {
                any_edit(case, |edit| {
                    ["oldText", "newText"]
                        .iter()
                        .any(|key| text(edit, key).contains("\r\n"))
                }) && comes_to_what_the_model_says(case, ours)
            }),
            ("the end of the last line is found too", |case, ours| {
                any_edit(case, |edit| text(edit, "oldText").ends_with('\n'))
                    && comes_to_what_the_model_says(case, ours)
            }),
            ("every edit is about the file as it was read", |case, ours| {
                let is_text = |edit: &&Json| text(edit, "op") == "replace_text";
                case.list("edits").iter().filter(is_text).count() >= 1
                    && case.list("edits").len() > 1
                    && comes_to_what_the_model_says(case, ours)
            }),
            ("a file without a byte has no line", |case, ours| {
                let nothing = |bytes: &[u8]| bytes.is_empty() || bytes == b"\xEF\xBB\xBF";
                let after = model_says(case);
                (nothing(&file_before(case)) || after.is_ok_and(|after| nothing(&after)))
                    && comes_to_what_the_model_says(case, ours)
            }),
            (
                "an empty line at the end of a file without a newline there is that newline",
                |case, ours| {
                    let is_open = file_before(case).last().is_some_and(|last| *last != b'\n');
                    is_open
                        && any_edit(case, |edit| {
                            texts_of_lines(edit).last().is_some_and(String::is_empty)
                        })
                        && comes_to_what_the_model_says(case, ours)
                },
            ),
            ("changes that lie far apart are shown apart", |case, ours| {
                ours.get("ranges")
                    .as_array()
                    .is_some_and(|ranges| ranges.len() > 1)
                    && comes_to_what_the_model_says(case, ours)
            }),
            (
                "what is no file, not there or outside has a word of its own",
                |case, ours| {
                    failed(case)
                        && ["E_NOT_A_FILE", "E_NOT_FOUND", "E_OUTSIDE"]
                            .iter()
                            .any(|code| fails(case, ours, code))
                },
            ),
            ("a rename takes the place of nothing", |case, ours| {
                optional(&case.input, "rename").is_some() && fails(case, ours, "E_NOT_RENAMED")
            }),
            (
                "a file with several names is not edited under one of them",
                |case, ours| case.get("hard") != &Json::Null && fails(case, ours, "E_HARD_LINKED"),
            ),
            ("what was there goes back by a rename", |case, ours| {
                case.flag("rollback_throws") && fails(case, ours, "E_VERIFY_FAILED")
            }),
        ],
        _ => &[],
    }
}

fn value(answer: &Answer) -> &Json {
    match answer {
        Answer::Value(value) => value,
        Answer::Error { .. } => &Json::Null,
    }
}

fn failed(case: &Case) -> bool {
    value(&case.expected).get("ok") == Some(&Json::Bool(false))
}

fn any_edit(case: &Case, holds: impl Fn(&Json) -> bool) -> bool {
    case.list("edits").iter().any(holds)
}

fn texts_of_lines(edit: &Json) -> Vec<String> {
    match edit.get("lines") {
        Some(Json::String(line)) => vec![line.clone()],
        _ => texts(edit, "lines"),
    }
}

/// It is refused with this code, and every file is as it was.
fn fails(case: &Case, ours: &Answer, code: &str) -> bool {
    let after = ours.get("files_after");
    let files = case.get("files").as_object().unwrap_or_default();
    let as_they_were = files.iter().all(|(name, before)| {
        after.get(name).is_some_and(|file| match before.get("$b64") {
            Some(coded) => file.get("b64") == Some(coded),
            None => file.get("text") == Some(before),
        })
    });
    let links = case.get("links").as_object().unwrap_or_default();
    let hard = case.get("hard").as_object().unwrap_or_default();
    let count = files.len() + links.len() + hard.len();
    ours.get("code").as_str() == Some(code)
        && as_they_were
        && after.as_object().is_some_and(|after| after.len() == count)
}

fn model_says(case: &Case) -> Result<Vec<u8>, &'static str> {
    let changes = case.list("edits").iter().map(|edit| {
        let given = given_edit(edit);
        let line = |anchor: Option<String>| anchor?.trim().split('#').next()?.parse::<usize>().ok();
        Change {
            op: match given.op.as_str() {
                "replace" | "replace_range" => "replace",
                "append" | "insert_after" => "append",
                "prepend" | "insert_before" => "prepend",
                _ => "replace_text",
            },
            pos: line(given.pos),
            end: line(given.end),
            lines: given.lines.unwrap_or_default(),
            old: given.old_text.unwrap_or_default(),
            new: given.new_text.unwrap_or_default(),
        }
    });
    edit_model::edited(&file_before(case), &changes.collect::<Vec<_>>())
}

fn comes_to_what_the_model_says(case: &Case, ours: &Answer) -> bool {
    match model_says(case) {
        Err(code) => fails(case, ours, code),
        Ok(bytes) => {
            let file = ours.get("files_after").get(&target_of(case));
            let there = file.and_then(|file| match file.get("b64").and_then(Json::as_str) {
                Some(coded) => STANDARD.decode(coded).ok(),
                None => Some(file.get("text")?.as_str()?.as_bytes().to_vec()),
            });
            ours.get("ok") == &Json::Bool(true) && there == Some(bytes)
        }
    }
}

fn keeps_its_mode(case: &Case, ours: &Answer) -> bool {
    let modes = case.get("modes").as_object().unwrap_or_default();
    let to = optional(&case.input, "rename").unwrap_or_default();
    let mode = |mode: &Json| Some(format!("{:o}", mode.as_number()? as u32));
    let after = ours.get("files_after").get(&to).map(|file| text(file, "mode"));
    modes.first().is_some_and(|(_, given)| mode(given) == after)
        && ours.get("kind").as_str() == Some("renamed")
}

fn first_text(ours: &Answer) -> String {
    let blocks = ours.get("content").as_array().unwrap_or_default();
    blocks
        .first()
        .map(|block| text(block, "text"))
        .unwrap_or_default()
}

/// Two lines of the text before it are anchored, and the notice is not.
fn ends_in_notice(text: &str) -> bool {
    text.split_once("\n\n[Showing lines ")
        .is_some_and(|(lines, notice)| {
            lines.lines().all(|line| line.contains('#')) && notice.ends_with(" to continue.]")
        })
}

fn overlaps_itself(haystack: &str, needle: &str) -> bool {
    let places = (0..haystack.len()).filter(|at| haystack.as_bytes()[*at..].starts_with(needle.as_bytes()));
    places.count() > haystack.matches(needle).count()
}

fn window_is_real(case: &Case, ours: &Answer) -> bool {
    let lines = case.texts("lines");
    let shown = value(ours).as_str().unwrap_or_default();
    let first = case.count("center").saturating_sub(case.count("radius")).max(1);
    let last = (case.count("center") + case.count("radius")).min(lines.len());
    let expected: Vec<String> = (first..=last)
        .map(|number| {
            format!(
                "{number}#{}|{}",
                super::hashline::peer_letters(number as u64, &lines[number - 1]),
                lines[number - 1]
            )
        })
        .collect();
    same(&Json::String(expected.join("\n")), value(ours)) && !shown.is_empty()
}
