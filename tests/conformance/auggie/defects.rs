//! What we do instead of the peer's faults. Ids as in its description; a predicate sees the case and our answer.

use super::judging::chosen_messages;
use super::scenario_defects;
use crate::compare::{same, same_without_halves};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::units;
use impresario_policies::redact::REDACTED;
use regex::Regex;

/// Whether our answer is the one we want where the peer shows this fault.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    if !case.list("sub_agent").is_empty() {
        return scenario_defects::accepts(defect, case, ours);
    }
    match defect {
        "D06" => usage_is_explained(case, ours),
        "D09" | "D10" => newest_message_is_kept(case, ours),
        "D11" => halves_are_left_out(case, ours),
        "D12" => nothing_after_an_empty_trace_is_lost(case, ours),
        "D13" | "D17" => code_is_untouched(case, ours),
        "D15" => cap_includes_its_mark(case, ours),
        "D16" => every_trace_label_is_removed(case, ours),
        "D20" => denied_error_is_no_sign(case, ours),
        "D22" => only_its_own_traces_newest_first(case, ours),
        "D26" => no_sixty_seconds(case, ours),
        "D29" => foreign_files_stay(case, ours),
        "D30" => partial_pool_is_possible(case, ours),
        "D31" => absolute_program_is_taken(case, ours),
        "D33" => more_is_redacted(case, ours),
        "D47" => whole_word_is_refused(case, ours),
        "D49" => reply_in_prose_is_read(case, ours),
        "D51" => unusable_brief_is_not_passed(case, ours),
        "D53" => endless_paging_is_refused(case, ours),
        _ => false,
    }
}

fn expected(case: &Case) -> &Json {
    match &case.expected {
        Answer::Value(value) => value,
        Answer::Error { .. } => &Json::Null,
    }
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or("")
}

fn number(value: &Json, key: &str) -> f64 {
    value.get(key).and_then(Json::as_number).unwrap_or(0.0)
}

/// A trace command that cannot be meant is explained, not looked up as a skill.
fn usage_is_explained(case: &Case, ours: &Answer) -> bool {
    if !case.list("commands").is_empty() {
        return trace_commands_work(ours);
    }
    let typed = case.text("text").contains("/skill:trace-");
    let usage = ours.get("usage").as_str().unwrap_or("");
    typed && ours.get("kind").as_str() == Some("usage") && usage.starts_with("/skill trace-")
}

/// The limit holds, every message is the start of one that was chosen, in order, and of the newest of them as much
/// is left as the limit allows.
fn newest_message_is_kept(case: &Case, ours: &Answer) -> bool {
    const MARK: &str = "\n[...truncated]";
    let limit = number(case.get("settings"), "max_total_chars") as usize;
    let messages = ours.get("messages").as_array().unwrap_or_default();
    let total: usize = messages
        .iter()
        .map(|message| units(text(message, "content")))
        .sum();
    let chosen = chosen_messages(case);
    let Some((newest, (role, given))) = messages.last().zip(chosen.last()) else {
        return false;
    };
    let uncut = |content: &str| content.strip_suffix(MARK).unwrap_or(content).to_string();
    let kept = text(newest, "content");
    let start = uncut(kept);
    // Whole, or as much as the limit allows.
    let whole = kept == given || (kept.is_empty() && given.is_empty());
    let filled = !start.is_empty() && (units(kept) + 1 >= limit || kept.ends_with(MARK));
    let mut rest = chosen.iter();
    let in_order = messages.iter().all(|message| {
        let start = uncut(text(message, "content"));
        rest.any(|(role, content)| text(message, "role") == role && content.starts_with(&start))
    });
    let is_newest = text(newest, "role") == role && given.starts_with(&start);
    total <= limit && in_order && is_newest && (whole || filled)
}

/// No code point is split; nothing else differs.
fn halves_are_left_out(case: &Case, ours: &Answer) -> bool {
    match (&case.expected, ours) {
        (Answer::Value(expected), Answer::Value(ours)) => same_without_halves(expected, ours),
        _ => false,
    }
}

/// What stands between an empty trace block and the next fence is still there.
fn nothing_after_an_empty_trace_is_lost(case: &Case, ours: &Answer) -> bool {
    let input = case.text("text");
    let empty = Regex::new(r"(?i)```(tool[_-]use|tool[_-]result|mcp([_-]envelope)?|codebase[_-]retrieval|auggie|scratchpad|internal)\r?\n```[ \t]*(\r?\n|$)")
        .expect("a pattern");
    let Some(found) = empty.find(input) else {
        return false;
    };
    let after = input[found.end()..].split("```").next().unwrap_or("");
    let kept = text(&answer_value(ours), "text").to_string();
    let lines_kept = after
        .lines()
        .map(str::trim)
        .all(|line| line.starts_with("{\"") || kept.contains(line));
    lines_kept && !empty.is_match(&kept)
}

fn answer_value(ours: &Answer) -> Json {
    match ours {
        Answer::Value(value) => value.clone(),
        Answer::Error { .. } => Json::Null,
    }
}

/// The text without its traces. Blocks are taken from left to right; what is inside one is not looked at again.
fn without_traces(given: &str) -> String {
    let opening = Regex::new(r"```([A-Za-z0-9_-]+)\r?\n").expect("a pattern");
    let trace = Regex::new(r"(?i)^(tool[_-]use|tool[_-]result|mcp([_-]envelope)?|codebase[_-]retrieval|auggie|scratchpad|internal)$")
        .expect("a pattern");
    let empty = Regex::new(r"^```[ \t]*(\r?\n|$)").expect("a pattern");
    let (mut kept, mut rest) = (String::new(), given);
    while let Some(found) = opening.captures(rest) {
        let (start, body) = found.get(0).map_or((0, 0), |whole| (whole.start(), whole.end()));
        let is_trace = trace.is_match(&found[1]);
        let end = match rest[body..].find("\n```") {
            _ if is_trace && empty.is_match(&rest[body..]) => body + 3,
            Some(close) => body + close + 4,
            None => break,
        };
        kept.push_str(&rest[..if is_trace { start } else { end }]);
        rest = &rest[end..];
    }
    kept + rest
}

/// Every fenced block that is no trace is in our answer as it was, unless the answer was cut. Fences are lines in
/// pairs; a pair whose second line has a label is no block.
fn code_is_untouched(case: &Case, ours: &Answer) -> bool {
    let fence = Regex::new(r"^```([A-Za-z0-9_-]*)[ \t]*\r?$").expect("a pattern");
    let kept = answer_value(ours);
    if kept.get("truncated") == Some(&Json::Bool(true)) {
        return cap_includes_its_mark(case, ours);
    }
    let rest = without_traces(case.text("text"));
    let (mut open, mut at, mut untouched) = (None, 0, true);
    for line in rest.split_inclusive('\n') {
        let found = fence.captures(line.trim_end_matches('\n'));
        match (found, open.take()) {
            (None, before) => open = before,
            (Some(_), None) => open = Some(at),
            (Some(found), Some(start)) if found[1].is_empty() => {
                untouched &= text(&kept, "text").contains(&rest[start..at + 3]);
            }
            (Some(_), Some(_)) => {}
        }
        at += line.len();
    }
    untouched && nothing_else_is_lost(case, &kept)
}

/// Whatever is not blank, no trace and no line of JSON-RPC is in our answer, in its order.
fn nothing_else_is_lost(case: &Case, kept: &Json) -> bool {
    let envelope = Regex::new(r#"\{"(jsonrpc|tool_use_id|tool_call_id)""#).expect("a pattern");
    let rest = without_traces(case.text("text"));
    let mut kept = text(kept, "text");
    let lines = rest
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !envelope.is_match(line));
    lines.into_iter().all(|line| match kept.find(line) {
        Some(at) => {
            kept = &kept[at + line.len()..];
            true
        }
        None => false,
    })
}

/// Never longer than the limit.
fn cap_includes_its_mark(case: &Case, ours: &Answer) -> bool {
    let limit = number(case.get("settings"), "final_output_max_chars");
    let kept = answer_value(ours);
    kept.get("truncated") == Some(&Json::Bool(true))
        && units(text(&kept, "text")) as f64 <= limit
        && number(&kept, "finalChars") <= limit
}

/// Both spellings of a label are removed.
fn every_trace_label_is_removed(case: &Case, ours: &Answer) -> bool {
    let kept = answer_value(ours);
    let label = Regex::new(r"(?i)```(mcp-envelope|codebase_retrieval)\r?\n").expect("a pattern");
    label.is_match(case.text("text"))
        && !label.is_match(text(&kept, "text"))
        && number(&kept, "removedSections") > number(expected(case), "removedSections")
}

/// Our text is the recorded one with more of it replaced, and nothing else changed.
fn more_is_redacted(case: &Case, ours: &Answer) -> bool {
    let recorded = text(expected(case), "text");
    let kept = answer_value(ours);
    let kept = text(&kept, "text");
    let mut rest = recorded;
    for part in kept.split(REDACTED) {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    kept.matches(REDACTED).count() > recorded.matches(REDACTED).count()
}

/// The first word is refused as a whole; the peer runs the skill its start happens to name.
fn whole_word_is_refused(case: &Case, ours: &Answer) -> bool {
    let name = text(expected(case), "name");
    let refused = ours.get("refused").as_str().unwrap_or("");
    refused.starts_with(name) && refused.len() > name.len()
}

/// The peer took the reply for unusable; we found the object in it.
fn reply_in_prose_is_read(case: &Case, ours: &Answer) -> bool {
    let unusable = "Could you restate what you want this skill to do, and on which files?";
    let goal = text(ours.get("brief"), "userGoal");
    let goal_found =
        !goal.is_empty() && text(expected(case).get("brief").unwrap_or(&Json::Null), "userGoal").is_empty();
    let peer_question = text(
        expected(case).get("rubric").unwrap_or(&Json::Null),
        "missingRequirementQuestion",
    );
    let question = text(ours.get("rubric"), "missingRequirementQuestion");
    let verdict_found = peer_question == unusable && question != unusable;
    let goal_given = case.texts("responses").iter().any(|reply| reply.contains(goal));
    goal_given && (goal_found || verdict_found)
}

/// Without a judge, a brief that could not be read asks the user; it starts nothing.
fn unusable_brief_is_not_passed(case: &Case, ours: &Answer) -> bool {
    case.number("max_judge_iterations") == 0.0
        && ours.get("passed") == &Json::Bool(false)
        && !text(ours.get("rubric"), "missingRequirementQuestion").is_empty()
        && number(&answer_value(ours), "iterations") == 0.0
}

/// A word that merely contains a marker, or a denial, is no sign of failure; every other sign is still there.
fn denied_error_is_no_sign(case: &Case, ours: &Answer) -> bool {
    let signs = |value: &Json| -> Vec<String> {
        let signals = value.get("signals").and_then(Json::as_array).unwrap_or_default();
        let others = signals
            .iter()
            .filter_map(Json::as_str)
            .filter(|signal| !signal.starts_with("error markers"));
        others.map(str::to_string).collect()
    };
    let kept = answer_value(ours);
    let all = |value: &Json| {
        value
            .get("signals")
            .and_then(Json::as_array)
            .unwrap_or_default()
            .len()
    };
    signs(&kept) == signs(expected(case)) && all(&kept) < all(expected(case))
}

/// Exactly the files `<skill>_<digits>.json` that could be read, by their number.
fn only_its_own_traces_newest_first(case: &Case, ours: &Answer) -> bool {
    let skill = case.text("skill");
    let number = |name: &str| -> Option<u64> {
        name.strip_prefix(skill)?
            .strip_prefix('_')?
            .strip_suffix(".json")?
            .parse()
            .ok()
    };
    let mut wanted: Vec<(u64, String)> = case
        .list("files")
        .iter()
        .filter_map(|file| file.as_array()?.first()?.as_str())
        .filter_map(|name| number(name).map(|number| (number, name.to_string())))
        .collect();
    wanted.sort_by(|a, b| b.cmp(a));
    let order: Vec<&str> = ours
        .get("order")
        .as_array()
        .unwrap_or_default()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    let named: Vec<&str> = order
        .iter()
        .copied()
        .filter(|name| number(name).is_some())
        .collect();
    let wanted: Vec<&str> = wanted
        .iter()
        .map(|(_, name)| name.as_str())
        .filter(|name| named.contains(name))
        .collect();
    let of_skill = case
        .list("files")
        .iter()
        .filter_map(|file| file.as_array()?.first()?.as_str());
    named == wanted && order.len() <= of_skill.filter(|name| number(name).is_some()).count()
}

/// Seconds never reach 60; apart from that the text is the recorded one.
fn no_sixty_seconds(case: &Case, ours: &Answer) -> bool {
    let kept = answer_value(ours);
    let kept = text(&kept, "text");
    let recorded = expected(case).get("text").unwrap_or(&Json::Null);
    // A full minute of ours may be one that the peer writes as sixty seconds.
    let full = Regex::new(r"\b(\d+)m00?s").expect("a pattern");
    let minutes: Vec<regex::Captures<'_>> = full.captures_iter(kept).collect();
    const MINUTES_MAX: usize = 12;
    let sixty = |choice: usize| {
        let (mut said, mut from) = (String::new(), 0);
        for (at, found) in minutes.iter().enumerate() {
            let Some(whole) = found.get(0).filter(|_| choice & (1 << at) != 0) else {
                continue;
            };
            said.push_str(&kept[from..whole.start()]);
            match found[1].parse() {
                Ok(1) => said.push_str("60s"),
                Ok(0) | Err(_) => return String::new(),
                Ok(minutes) => said.push_str(&format!("{}m60s", minutes - 1u64)),
            }
            from = whole.end();
        }
        said + &kept[from..]
    };
    minutes.len() <= MINUTES_MAX
        && (1..1 << minutes.len()).any(|choice| same(recorded, &Json::String(sixty(choice))))
        && !Regex::new(r"\d+m60s").expect("a pattern").is_match(kept)
}

/// Nothing is deleted that is not surely a trace, and no fewer of those than the peer deletes.
fn foreign_files_stay(case: &Case, ours: &Answer) -> bool {
    let trace = Regex::new(r"^[A-Za-z0-9_-]+_\d+\.json$").expect("a pattern");
    let names = |value: &Json| -> Vec<String> {
        let deleted = value.get("deleted").and_then(Json::as_array).unwrap_or_default();
        deleted
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect()
    };
    let deleted = names(&answer_value(ours));
    let expected = names(expected(case));
    deleted.iter().all(|name| trace.is_match(name))
        && expected
            .iter()
            .filter(|name| trace.is_match(name))
            .all(|name| deleted.contains(name))
}

/// Run as commands of the host, they report, or say how they are written; none is taken for a skill.
fn trace_commands_work(ours: &Answer) -> bool {
    let steps = ours.get("steps").as_array().unwrap_or_default();
    let sent = steps
        .iter()
        .flat_map(|step| step.get("sent").and_then(Json::as_array).unwrap_or_default());
    let texts: Vec<&str> = sent.map(|sent| text(sent, "text")).collect();
    let good = |text: &&str| {
        text.starts_with("📊 ")
            || text.contains("Trace file \"")
            || text.starts_with("[System]: Usage: /skill trace-")
    };
    texts.len() == steps.len() && texts.iter().all(good)
}

/// A tier given as null is taken out without a word; everything else is as recorded.
fn partial_pool_is_possible(case: &Case, ours: &Answer) -> bool {
    let given = Json::parse(case.text("file")).unwrap_or(Json::Null);
    let models = given
        .get("auggieRouter")
        .and_then(|router| router.get("executionRouting")?.get("models"));
    let out: Vec<String> = models
        .and_then(Json::as_object)
        .unwrap_or_default()
        .iter()
        .filter(|(_, value)| *value == Json::Null)
        .map(|(tier, _)| format!("executionRouting.models.{tier}"))
        .collect();
    let kept = answer_value(ours);
    let removed = kept.get("removed").and_then(Json::as_array).unwrap_or_default();
    let warned = |value: &Json| -> Vec<String> {
        let warnings = value.get("warnings").and_then(Json::as_array).unwrap_or_default();
        let keys = warnings.iter().map(|warning| text(warning, "key").to_string());
        keys.filter(|key| !out.contains(key)).collect()
    };
    !out.is_empty()
        && kept.get("changed") == expected(case).get("changed")
        && removed
            .iter()
            .filter_map(Json::as_str)
            .eq(out.iter().map(String::as_str))
        && warned(&kept) == warned(expected(case))
}

/// A position that is no number is refused; the peer gives empty pages for ever. Everything else is as recorded.
fn endless_paging_is_refused(case: &Case, ours: &Answer) -> bool {
    let (recorded, kept) = (expected(case), answer_value(ours));
    let answers = |value: &Json| -> Vec<Json> {
        let responses = value.get("responses").and_then(Json::as_array);
        responses.unwrap_or_default().to_vec()
    };
    let is_endless = |answer: &Json| {
        let page = || {
            let content = answer.get("result")?.get("content")?.as_array()?;
            content.first()?.get("text_json").cloned()
        };
        page().is_some_and(|page| {
            page.get("eof") == Some(&Json::Bool(false))
                && page.get("content").and_then(Json::as_str) == Some("")
        })
    };
    let refused = |answer: &Json| answer.get("error").map_or(0.0, |error| number(error, "code")) == -32602.0;
    let (recorded, kept) = (answers(recorded), answers(&kept));
    recorded.len() == kept.len()
        && recorded.iter().zip(&kept).all(|(wanted, found)| {
            same(wanted, found)
                || (is_endless(wanted) && refused(found) && wanted.get("id") == found.get("id"))
        })
}

/// The absolute path of a program is used as it is; everything else is as recorded.
fn absolute_program_is_taken(case: &Case, ours: &Answer) -> bool {
    const KEY: &str = "auggieBinPath";
    let given = Json::parse(case.text("file")).unwrap_or(Json::Null);
    let path = given.get("auggieRouter").map_or("", |router| text(router, KEY));
    let kept = answer_value(ours);
    let changed = kept.get("changed").unwrap_or(&Json::Null);
    let others = |value: &Json| -> Vec<(String, Json)> {
        let entries = value.get("changed").and_then(Json::as_object).unwrap_or_default();
        let mut others: Vec<_> = entries.iter().filter(|(key, _)| key != KEY).cloned().collect();
        others.sort_by(|a, b| a.0.cmp(&b.0));
        others
    };
    let warnings = |value: &Json| -> Vec<Json> {
        let warnings = value.get("warnings").and_then(Json::as_array).unwrap_or_default();
        let others = warnings.iter().filter(|warning| text(warning, "key") != KEY);
        others.cloned().collect()
    };
    path.starts_with('/')
        && text(changed, KEY) == path
        && others(&kept) == others(expected(case))
        && kept.get("removed") == expected(case).get("removed")
        && kept.get("warnings") == Some(&Json::Array(warnings(expected(case))))
}
