//! Where we differ on purpose. Each difference is recognised by what it is, never by a record's name.

use super::fallback::TIMEOUT_MS;
use super::{answers, calls, hashline_differences, looks, network, tools};
use super::{text, texts};
use crate::compare::same;
use crate::json::Json;
use crate::vectors::{Answer, Case, text_of_hex};
use impresario_policies::compat::units;
use impresario_policies::domain::ReasoningEffort;
use impresario_policies::redact::REDACTED;
use regex::Regex;
use serde_json::Value;

/// Whether our answer is the one we want where the record says that the peer's is a fault.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    match defect {
        "one bad field throws away the whole blackbytes object, including disabled_tools"
        | "a BOM makes the file count as malformed" => what_is_said_holds(case, ours),
        "a complete answer received before the timeout is thrown away" => an_answer_is_one(case, ours),
        "UTF-8 sequence split across chunks decodes to U+FFFD" => {
            ours.get("success") == &Json::Bool(true)
                && ours
                    .get("content")
                    .as_str()
                    .is_some_and(|answer| !answer.contains('\u{FFFD}'))
        }
        _ if !case.defects.is_empty() && hashline_differences::accepts(defect, case, ours) => true,
        // Nothing but the words of a model is an answer, and an exit code of 0 is none.
        _ if !case.list("steps").is_empty() => {
            value(&case.expected).get("success") == Some(&Json::Bool(true))
                && ours.get("success") == &Json::Bool(false)
        }
        _ => false,
    }
}

/// Names the difference; none where ours is none of them.
pub fn ours(function: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    let known: &[(&'static str, fn(&Case, &Answer) -> bool)] = match function {
        "agent_snapshot" => &[
            (
                "a model thinks as it does unless somebody sets it",
                nobody_sets_it,
            ),
            ("a chain that names a model twice is left out", named_twice),
        ],
        "append_bounded" => &[("a cut splits no pair", halves_are_left_out)],
        "artifact_capture" => &[(
            "what is kept is all of it, as it was said, however short or long",
            answers::is_all_there,
        )],
        "error_hint" => &[("a hint that is cut splits no pair", halves_are_left_out)],
        "glob" => &[
            ("what is no glob is said to be none", tools::glob_refuses),
            ("what was not looked into is said", tools::glob_tells_more),
            ("nothing is left uncounted", tools::glob_counts_all),
        ],
        "look_at" => &[
            (
                "what is no picture is an error, whatever its name",
                looks::no_picture_is_shown,
            ),
            (
                "references that are not shown are counted",
                looks::dropped_are_counted,
            ),
        ],
        "redact_text" => &[
            (
                "the name goes with its value, and more shapes are known",
                hides_as_much,
            ),
            (
                "a key that begins with sk- has twenty characters behind it",
                |case, ours| ours_is(ours, case.text("text")) && case.text("text").starts_with("sk-"),
            ),
            ("a number in JSON is no secret", |case, ours| {
                let shown = shown_by_us(case, ours);
                shown.iter().all(|word| word.parse::<f64>().is_ok())
            }),
            ("a value whose name is no secret's stays", names_no_secret),
        ],
        "tool_arg_summary" => &[
            ("what is looked for, and where", |case, _| {
                calls::names_pattern_and_place(case)
            }),
            ("what does not look like a path is cut at its end", |case, _| {
                calls::looks_like_no_path(case)
            }),
            (
                "a path is cut at its beginning, whatever it is called",
                |_, ours| value(ours).as_str().is_some_and(|words| words.starts_with("…/")),
            ),
        ],
        "truncate_path" | "truncate_text" => &[("a cut splits no pair", halves_are_left_out)],
        "bound_return" => &[
            ("a cut splits no pair", halves_are_left_out),
            ("0 and below is no limit", |case, ours| {
                case.get("max").as_number().is_some_and(|max| max <= 0.0) && ours_is(ours, case.text("text"))
            }),
        ],
        "format_cost" => &[("a price is written in digits", |case, _| {
            value(&case.expected)
                .as_str()
                .is_some_and(|price| price.contains("e+"))
        })],
        "setup_models" => &[
            ("whoever changes nothing has no file written", |case, ours| {
                let peers = value(&case.expected).get("settings_after");
                let empty = peers.is_some_and(|peers| peers.to_text() == r#"{"blackbytes":{}}"#);
                empty && ours.get("settings_after") == &Json::Null
            }),
            ("keys of the peer's own are left to the peer", |case, ours| {
                case.get("settings").get("blackbytes").is_some() && ours.get("settings_after") == &Json::Null
            }),
        ],
        "web_search" | "web_fetch" | "docs_resolve" | "docs_query" | "gh_search" => &[
            ("text of others stands between marks", network::is_marked),
            ("what was cut says how much there is", network::is_in_parts),
            (
                "a key is named as our settings name it",
                network::names_our_setting,
            ),
            (
                "an id is looked at before it is asked for",
                network::checks_the_id,
            ),
            (
                "what is not shown can be asked for",
                network::counts_what_is_hidden,
            ),
            ("an answer that lists nothing is an error", network::is_no_list),
            ("a failure says of what", network::says_why),
        ],
        "mcp_client" => &[(
            "an answer to another request is none",
            network::believes_its_own_answer,
        )],
        "sse_events" => &[("a line ends at CR too", network::ends_a_line_at_cr)],
        "html_convert" => &[
            (
                "the same words, other space between them",
                network::says_the_same_words,
            ),
            (
                "a tag is what a browser takes for one",
                network::knows_what_a_tag_is,
            ),
            (
                "a number that is no letter is shown as one",
                network::is_no_letter,
            ),
        ],
        "timeline_footer" => &[("letters with accents stand behind the others", |case, _| {
            !value(&case.expected)
                .as_str()
                .unwrap_or_default()
                .replace(['×', '·'], "")
                .is_ascii()
        })],
        "roi_summary" => &[("the journal keeps more than a hundred", |case, _| {
            case.get("entries").get("$fill").is_some()
        })],
        "failure_stderr_class" => &[(
            "a start that failed is tried on the next model, whatever stderr says",
            |case, ours| {
                value(&case.expected).get("another_model") == Some(&Json::Bool(false))
                    && ours.get("another_model") == &Json::Bool(true)
            },
        )],
        "fallback_plan" => &[
            ("an agent that changes something goes on too", |case, ours| {
                case.get("snapshot").get("fallbackEligible") == Some(&Json::Bool(false))
                    && tries_more(case, ours)
            }),
            (
                "a sub-agent that somebody killed is begun again on its model",
                |case, ours| last_kind(case).as_deref() == Some("killed") && tries_more(case, ours),
            ),
            ("what failed on one model is tried on the next", |case, ours| {
                last_kind(case).is_some_and(|kind| kind != "provider_or_model_unavailable")
                    && tries_more(case, ours)
            }),
            ("while there is time, the next model is tried", |case, ours| {
                spent_ms(case) < time_ms(case) && tries_more(case, ours)
            }),
            ("a model that stands twice is tried once", tried_once),
            ("the time of a run holds", |case, ours| {
                spent_ms(case) > time_ms(case) && ours.get("success") == &Json::Bool(false)
            }),
            ("a runner that breaks is an attempt that failed", |case, ours| {
                matches!(case.expected, Answer::Error { .. }) && matches!(ours, Answer::Value(_))
            }),
        ],
        "nested_run" => &[
            (
                "an answer that is whole is one, however its process ended",
                an_answer_is_one,
            ),
            ("an end without a beginning is no end", no_end_without_a_beginning),
        ],
        "nested_tools" => &[("what is unknown is named, in words of our own", |case, ours| {
            matches!((&case.expected, ours), (Answer::Error { message: theirs, .. }, Answer::Error { message, .. })
                if theirs.ends_with(message.as_str()))
        })],
        "persona_variant" => &[("more families have a style", |case, ours| {
            let style = text(value(ours), "variant");
            text(value(&case.expected), "variant") == "default"
                && ["gemini", "kimi"].contains(&style.as_str())
        })],
        "routing" => &[("an empty sign is none", an_empty_sign_is_none)],
        "settings_load" => &[(
            "anchored editing that is switched off is no tool any more",
            |case, ours| the_edit_tool_is_gone(value(&case.expected), value(ours)),
        )],
        "settings_parse" => &[
            (
                "anchored editing that is switched off is no tool any more",
                |case, ours| the_edit_tool_is_gone(case.expected.get("value"), ours.get("value")),
            ),
            (
                "an empty model, and an effort that is none, are named",
                what_means_nothing_is_named,
            ),
            ("a bad field is named by its own place", a_place_within),
        ],
        "yaml_agents" => &[
            ("a built-in name is always taken", |case, ours| {
                case.list("reserved").is_empty() && ours.get("loaded").as_array() == Some(&[])
            }),
            (
                "from one that only reads, what changes something is taken at once",
                taken_at_once,
            ),
            (
                "an effort that is none is left out and said",
                an_effort_that_is_none,
            ),
            (
                "a number where a text is wanted is that text, and the other way round",
                a_number_is_a_text,
            ),
            ("a key without a value is not there", |case, ours| {
                any_file(case, r"(?m)^[a-z_]+:( null| ~)?$") && loads(case, ours)
            }),
            ("1e3 is no whole number", |case, ours| {
                any_file(case, r"(?m)^timeout_ms: [0-9.]*(e[0-9]+|\.0+)$")
                    && ours.get("loaded").as_array() == Some(&[])
            }),
            ("an empty model is none", |case, ours| {
                same_but(case, ours, "model", &Json::String(String::new()), &Json::Null)
            }),
        ],
        _ => hashline_differences::known(function),
    };
    known
        .iter()
        .find(|(_, holds)| holds(case, ours))
        .map(|(what, _)| *what)
}

fn value(answer: &Answer) -> &Json {
    match answer {
        Answer::Value(value) => value,
        Answer::Error { .. } => &Json::Null,
    }
}

/// The peer leaves it there, and shows nothing that it needs.
fn the_edit_tool_is_gone(theirs: &Json, ours: &Json) -> bool {
    let mut named = texts(ours, "disabled_tools");
    let before = named.len();
    named.retain(|tool| tool != "hashline_edit");
    named.len() < before
        && named == texts(theirs, "disabled_tools")
        && texts(ours, "disabled_sub_agents") == texts(theirs, "disabled_sub_agents")
}

fn ours_is(ours: &Answer, text: &str) -> bool {
    value(ours).as_str() == Some(text)
}

/// What the file says of tools holds, whatever stands beside it.
fn what_is_said_holds(case: &Case, ours: &Answer) -> bool {
    let file = case.text("settings_file").trim_start_matches('\u{FEFF}');
    let root = serde_json::from_str::<Value>(file).unwrap_or_default();
    let said = Json::from(&root["blackbytes"]["disabled_tools"]);
    said != Json::Null && same(&said, ours.get("disabled_tools"))
}

/// The model said everything and ended well; then the process ended badly.
fn an_answer_is_one(case: &Case, ours: &Answer) -> bool {
    let written: String = case
        .list("steps")
        .iter()
        .filter(|step| text(step, "do") == "stdout")
        .map(|step| text(step, "text"))
        .collect();
    let answer = ours.get("content").as_str().unwrap_or_default();
    value(&case.expected).get("success") == Some(&Json::Bool(false))
        && !answer.is_empty()
        && written.contains("\"agent_end\"")
        && written.contains(answer)
}

/// What Pi writes behind the end of a run belongs to another, and that begins first.
fn no_end_without_a_beginning(case: &Case, ours: &Answer) -> bool {
    let written: String = case.list("steps").iter().map(|step| text(step, "text")).collect();
    let ends: Vec<&str> = written
        .lines()
        .filter(|line| line.contains("\"agent_end\""))
        .collect();
    let answer = format!("\"{}\"", ours.get("content").as_str().unwrap_or_default());
    ends.len() == 2 && !written.contains("\"agent_start\"") && ends[0].contains(&answer)
}

fn any_file(case: &Case, pattern: &str) -> bool {
    let pattern = Regex::new(pattern).expect("a pattern");
    let files = case.get("files").as_object().unwrap_or_default();
    files
        .iter()
        .any(|(_, file)| file.as_str().is_some_and(|file| pattern.is_match(file)))
}

/// A file that describes nobody to the peer describes an agent to us.
fn loads(case: &Case, ours: &Answer) -> bool {
    value(&case.expected).get("loaded").and_then(Json::as_array) == Some(&[])
        && ours.get("skipped").as_array() == Some(&[])
}

/// How many attempts the peer made.
fn made(case: &Case) -> usize {
    texts(value(&case.expected), "models").len()
}

fn last_kind(case: &Case) -> Option<String> {
    let last = case.list("attempts").get(made(case).checked_sub(1)?)?;
    Some(text(last.get("result")?, "failureKind")).filter(|kind| !kind.is_empty())
}

/// What the attempts that the peer made took together.
fn spent_ms(case: &Case) -> f64 {
    let attempts = case.list("attempts").iter().take(made(case));
    attempts
        .filter_map(|attempt| attempt.get("ms")?.as_number())
        .sum()
}

fn time_ms(case: &Case) -> f64 {
    case.get("timeout_ms").as_number().unwrap_or(TIMEOUT_MS)
}

/// Ours begins as the record does and goes on where that stops without an answer.
fn tries_more(case: &Case, ours: &Answer) -> bool {
    let (theirs, own) = (
        texts(value(&case.expected), "models"),
        texts(value(ours), "models"),
    );
    value(&case.expected).get("success") == Some(&Json::Bool(false))
        && own.len() > theirs.len()
        && own.starts_with(&theirs)
}

fn tried_once(case: &Case, ours: &Answer) -> bool {
    let (mut theirs, own) = (
        texts(value(&case.expected), "models"),
        texts(value(ours), "models"),
    );
    let tried = theirs.len();
    theirs.dedup();
    theirs.len() < tried && theirs == own
}

/// Everything is equal but this member, which is that in the record and this in ours.
fn same_but(case: &Case, ours: &Answer, key: &str, theirs: &Json, own: &Json) -> bool {
    let list = |value: &Json| -> Vec<Json> {
        match value.get("declarations").and_then(Json::as_array) {
            Some(list) => list.to_vec(),
            None => vec![value.clone()],
        }
    };
    let (recorded, found) = (list(value(&case.expected)), list(value(ours)));
    recorded.len() == found.len()
        && recorded.iter().zip(&found).all(|(recorded, found)| {
            let entries = recorded.as_object().unwrap_or_default();
            entries.iter().all(|(name, value)| {
                let found = found.get(name).unwrap_or(&Json::Null);
                match name == key && value == theirs {
                    true => found == own,
                    false => same(value, found),
                }
            })
        })
}

fn nobody_sets_it(case: &Case, ours: &Answer) -> bool {
    let high = Json::String("high".to_string());
    case.get("declaration").as_str() == Some("oracle")
        && same_but(case, ours, "reasoningEffort", &high, &Json::Null)
}

fn named_twice(case: &Case, ours: &Answer) -> bool {
    let recorded = value(&case.expected)
        .get("fallbackModels")
        .cloned()
        .unwrap_or(Json::Null);
    let models = texts(value(&case.expected), "fallbackModels");
    let twice = (1..models.len()).any(|at| models[..at].contains(&models[at]));
    twice && same_but(case, ours, "fallbackModels", &recorded, &Json::Null)
}

/// A text is the recorded one without its halves; of a long one, as much is there, with its beginning and its end.
fn halves_are_left_out(case: &Case, ours: &Answer) -> bool {
    let (recorded, ours) = (value(&case.expected), value(ours).as_str().unwrap_or_default());
    if let Some(hex) = recorded.get("$utf16").and_then(Json::as_str) {
        let lossy = text_of_hex(hex).unwrap_or_default();
        return lossy.contains('\u{FFFD}') && lossy.replace('\u{FFFD}', "") == ours;
    }
    let Some(digest) = recorded.get("$digest") else {
        return false;
    };
    let length = digest
        .get("utf16_len")
        .and_then(Json::as_number)
        .unwrap_or_default();
    let missing = length - units(ours) as f64;
    digest.get("sha256") == Some(&Json::Null)
        && (1.0..=2.0).contains(&missing)
        && ours.starts_with(&text(digest, "head"))
        && ours.ends_with(&text(digest, "tail"))
}

fn an_empty_sign_is_none(case: &Case, ours: &Answer) -> bool {
    let empty = |meta: &Json| {
        let routing = meta.get("routing").unwrap_or(&Json::Null);
        routing.get("keyTrigger") == Some(&Json::String(String::new()))
    };
    let dark = texts(value(ours), "matrix")
        .iter()
        .all(|line| !line.ends_with("— "));
    case.list("metas").iter().any(empty)
        && dark
        && same(
            value(&case.expected).get("summary").unwrap_or(&Json::Null),
            ours.get("summary"),
        )
}

fn what_means_nothing_is_named(case: &Case, ours: &Answer) -> bool {
    let agents = case.get("blackbytes").get("sub_agents").and_then(Json::as_object);
    let bad = agents.unwrap_or_default().iter().flat_map(|(name, fields)| {
        let place = move |field: &str| Json::String(format!("sub_agents.{name}.{field}"));
        let empty =
            (text(fields, "model").is_empty() && fields.get("model").is_some()).then(|| place("model"));
        let effort = fields.get("reasoningEffort").and_then(Json::as_str);
        let effort = effort.filter(|effort| ReasoningEffort::read(effort).is_none());
        let effort = effort.map(|_| place("reasoningEffort"));
        empty.into_iter().chain(effort)
    });
    let bad = Json::Array(bad.collect());
    value(&case.expected).get("ok") == Some(&Json::Bool(true)) && same(&bad, ours.get("issues"))
}

/// Each of our places is one of the record's or lies in one, and each of the record's has one of ours.
fn a_place_within(case: &Case, ours: &Answer) -> bool {
    let (theirs, own) = (
        texts(value(&case.expected), "issues"),
        texts(value(ours), "issues"),
    );
    let within = |inner: &String, outer: &String| inner.starts_with(outer.as_str());
    let list_of = |place: &String| {
        place
            .trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
            .to_string()
    };
    !own.is_empty()
        && own
            .iter()
            .all(|place| theirs.iter().any(|outer| within(place, outer)))
        && theirs
            .iter()
            .all(|place| own.iter().any(|inner| within(inner, &list_of(place))))
}

fn taken_at_once(case: &Case, ours: &Answer) -> bool {
    let first = |value: &Json| {
        value
            .get("declarations")
            .and_then(|list| list.as_array()?.first().cloned())
    };
    let (Some(recorded), Some(found)) = (first(value(&case.expected)), first(value(ours))) else {
        return false;
    };
    let changing = ["bash", "edit", "write", "hashline_edit", "ast_replace"];
    let mut kept = texts(&recorded, "allowed_tools");
    kept.retain(|tool| !changing.contains(&tool.as_str()));
    let tools = recorded.get("allowed_tools").cloned().unwrap_or(Json::Null);
    let own = found.get("allowed_tools").cloned().unwrap_or(Json::Null);
    text(&recorded, "mutability") == "read-only"
        && kept == texts(&found, "allowed_tools")
        && same_but(case, ours, "allowed_tools", &tools, &own)
}

fn an_effort_that_is_none(case: &Case, ours: &Answer) -> bool {
    let declarations = value(&case.expected).get("declarations").and_then(Json::as_array);
    let recorded = declarations.and_then(|list| list.first()?.get("reasoning_effort").cloned());
    let Some(Json::String(effort)) = recorded else {
        return false;
    };
    ReasoningEffort::read(&effort).is_none()
        && same_but(case, ours, "reasoning_effort", &Json::String(effort), &Json::Null)
}

/// YAML has no types for who asks for a text.
fn a_number_is_a_text(case: &Case, ours: &Answer) -> bool {
    let number = r"(?m)^ *([a-z_]+: [0-9.]+|[a-z_]+: \[.*\b[0-9]+\b.*\]|timeout_ms: ['\x22][0-9]+['\x22])$";
    any_file(case, number) && loads(case, ours)
}

/// The words of a text, without what stands for a secret.
fn words_of(text: &str) -> Vec<String> {
    let text = text.replace(REDACTED, " ");
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_string)
        .collect()
}

/// The words that the peer hides and we do not.
fn shown_by_us(case: &Case, ours: &Answer) -> Vec<String> {
    let theirs = words_of(value(&case.expected).as_str().unwrap_or_default());
    let ours = words_of(value(ours).as_str().unwrap_or_default());
    ours.into_iter().filter(|word| !theirs.contains(word)).collect()
}

fn hides_as_much(case: &Case, ours: &Answer) -> bool {
    match &case.expected {
        // A long text is recorded as its digest: ours has to hide something in it.
        Answer::Value(Json::Object(_)) => value(ours).as_str().is_some_and(|ours| ours.contains(REDACTED)),
        _ => shown_by_us(case, ours).is_empty(),
    }
}

/// `monkey`, `primary_key`, `keynote`, `max_tokens`: the name that stands before what we show is no secret's. Or what
/// is shown is none whatever its name: `true`, `{x}`, `[1]`.
fn names_no_secret(case: &Case, ours: &Answer) -> bool {
    let secret =
        Regex::new(r"(?i)(api[-_ ]?key|secret|token|password|passwd|credential)s?$").expect("a pattern");
    let text = case.text("text");
    let is_code = |word: &str| {
        word.parse::<f64>().is_ok()
            || ["true", "false", "null"].contains(&word)
            || text.contains(&format!("{{{word}}}"))
            || text.contains(&format!("[{word}]"))
    };
    shown_by_us(case, ours)
        .iter()
        .filter(|word| !is_code(word))
        .all(|word| {
            let places = text.match_indices(word.as_str()).map(|(at, _)| &text[..at]);
            let mut names =
                places.map(|before| before.trim_end_matches(|letter: char| !letter.is_alphanumeric()));
            names.any(|before| !secret.is_match(before) || before.to_lowercase().ends_with("tokens"))
        })
}
