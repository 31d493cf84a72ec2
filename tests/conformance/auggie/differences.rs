//! Where we differ on purpose and a record names no fault. Each is recognised by what it is, never by the record's name.

use super::defects;
use super::judging::actor_judge;
use super::scenario_defects::{part, same_but, text};
use super::settings::config;
use super::skills::{input_dispatch, skill_command};
use crate::compare::{same, same_answer};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::{is_space, trim, trim_start};
use impresario_policies::domain::Brief;
use impresario_policies::judge_reply::{read_brief, read_verdict};
use impresario_policies::redact::REDACTED;
use impresario_policies::trace_file::Trace;
use regex::Regex;
use serde_json::{Value, json};

/// Names the difference; none where ours is none of them.
pub fn ours(function: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    let known: &[(&'static str, fn(&Case, &Answer) -> bool)] = match function {
        "actor_judge" => &[
            ("a reply fenced with tildes is read", tildes_are_a_fence),
            ("an unusable brief is not passed", unusable_brief_is_not_passed),
            ("an unusable brief is not judged", unusable_brief_is_not_judged),
            (
                "a routing model that fails passes nothing",
                a_failing_model_passes_nothing,
            ),
            (
                "a routing model that is silent is left, and nobody is asked",
                a_silent_model_is_left,
            ),
        ],
        "config" => &[
            ("what is no JSON to serde is not read", no_json_of_ours),
            ("a mark of the byte order is no part of a file", mark_is_no_part),
        ],
        "input_dispatch" => &[
            ("a command without its argument is explained", usage_is_explained),
            (
                "the form with a space is read too",
                a_space_dispatches_as_the_colon,
            ),
        ],
        "parallel_run" => &[
            ("who may work at once begins in any order", room_is_given_in_order),
            ("a worker that said nothing failed", silence_is_a_failure),
        ],
        "redact_secrets" => &[
            (
                "more is hidden, and what is as long as a digest is one",
                hides_as_much_but_digests,
            ),
            ("`Bearer token` is the name of a kind", |case, ours| {
                let named = case.text("text").contains("Bearer token");
                named && shown_words(text_of(ours)).contains(&"Bearer")
            }),
        ],
        "router_scenario" => &[
            ("an answer is judged again", an_answer_is_judged_again),
            (
                "retrieval is checked before a model is paid",
                retrieval_is_checked_first,
            ),
            (
                "words with a dot between them are no token, but a part of a program",
                a_path_of_words_is_no_token,
            ),
            ("models are checked before one is paid", models_are_checked_first),
            (
                "a routing model has to be on the list, too",
                the_routing_model_is_checked,
            ),
            (
                "a run that failed leaves its trace",
                a_failed_run_leaves_its_trace,
            ),
            ("nothing is appended to a system prompt", nothing_is_appended),
            ("an answer without a word is none", an_empty_answer_is_none),
            (
                "a routing model that fails is asked again",
                a_failing_model_is_asked_again,
            ),
            ("every tool has a ceiling", every_tool_has_a_ceiling),
            ("only traces of the skill that ran go", only_its_own_traces_go),
            ("nothing starts without a goal", nothing_starts_without_a_goal),
            ("a command without its argument is explained", usage_is_said),
        ],
        "skill_command" => &[
            ("a command of ours is no skill", a_command_is_no_skill),
            ("the form with a space is read too", a_space_stands_for_the_colon),
        ],
        "skill_parse" => &[("a date is a text, as YAML 1.2 has it", dates_are_texts)],
        "trace_view" => &[("an argument that is no text is shown as JSON", arguments_are_json)],
        "trace_skill_name" => &[("a file that is no trace has no skill", no_trace_no_skill)],
        _ => &[],
    };
    known
        .iter()
        .find(|(_, holds)| holds(case, ours))
        .map(|(what, _)| *what)
}

/// A number beyond every double, half a surrogate pair, or a value too deep: the file is refused with its line, and
/// nothing of it is used.
fn no_json_of_ours(case: &Case, ours: &Answer) -> bool {
    let Err(error) = serde_json::from_str::<Value>(case.text("file")) else {
        return false;
    };
    let reasons = [
        "number out of range",
        "surrogate",
        "end of hex escape",
        "recursion limit",
    ];
    let refused =
        json!({"changed": {}, "removed": [], "warnings": [{"level": "warn", "kind": "parse-failed"}]});
    reasons.iter().any(|reason| error.to_string().contains(reason))
        && same(&Json::from(&refused), value(ours))
}

/// What follows the mark is read as it is without one.
fn mark_is_no_part(case: &Case, ours: &Answer) -> bool {
    let Some(rest) = case.text("file").strip_prefix('\u{FEFF}') else {
        return false;
    };
    let mut input = case.input.clone();
    if let Json::Object(entries) = &mut input {
        entries.retain(|(key, _)| key != "file");
        entries.push(("file".to_string(), Json::String(rest.to_string())));
    }
    let bare = Case {
        name: case.name.clone(),
        input,
        expected: case.expected.clone(),
        defects: Vec::new(),
    };
    same_answer(&config(&bare), ours)
}

/// Dates, numbers of other ages and parts of sixty stand there as written, without quotes.
fn dates_are_texts(case: &Case, ours: &Answer) -> bool {
    let model = ours.get("raw_model").as_str().unwrap_or("");
    let old = Regex::new(r"^[-+]?[0-9][0-9_:.\- ]*([Tt][0-9:.]+)?Z?$").expect("a pattern");
    let plain = case
        .text("file")
        .lines()
        .any(|line| line.trim_end() == format!("model: {model}"));
    let recorded = value(&case.expected);
    old.is_match(model)
        && plain
        && recorded.get("raw_model") == Some(&Json::Null)
        && recorded
            .get("instructions")
            .is_some_and(|body| same(body, ours.get("instructions")))
}

/// Only the lines of calls with such an argument differ, and only behind its name.
fn arguments_are_json(case: &Case, ours: &Answer) -> bool {
    let calls = part(case.get("trace"), "toolCalls");
    let first = |call: &Json| {
        let (_, argument) = call.get("args")?.as_object()?.first()?;
        Some(argument.clone())
    };
    let is_container = |argument: Json| matches!(argument, Json::Array(_) | Json::Object(_));
    let (recorded, shown) = (text(value(&case.expected), "text"), text(value(ours), "text"));
    let same_line =
        |(recorded, shown): (&str, &str)| match (recorded.split_once("=\""), shown.split_once("=\"")) {
            (Some((before, _)), Some((begins, json))) if recorded != shown => {
                before == begins && json.starts_with(['[', '{'])
            }
            _ => recorded == shown,
        };
    calls.iter().filter_map(first).any(is_container)
        && recorded.lines().count() == shown.lines().count()
        && recorded.lines().zip(shown.lines()).all(same_line)
}

/// Ours is what it is for the same reply between backticks.
fn tildes_are_a_fence(case: &Case, ours: &Answer) -> bool {
    let with_backticks = |reply: &Json| match reply {
        Json::String(text) if text.trim_start().starts_with("~~~") => {
            Json::String(text.replace("~~~", "```"))
        }
        other => other.clone(),
    };
    let replies: Vec<Json> = case.list("responses").iter().map(with_backticks).collect();
    let differs = replies != case.list("responses");
    let input = case.input.as_object().unwrap_or_default().iter();
    let input = input.map(|(key, item)| match key.as_str() {
        "responses" => (key.clone(), Json::Array(replies.clone())),
        _ => (key.clone(), item.clone()),
    });
    let fenced = Case {
        name: case.name.clone(),
        input: Json::Object(input.collect()),
        expected: case.expected.clone(),
        defects: Vec::new(),
    };
    differs && same_answer(ours, &actor_judge(&fenced))
}

fn unusable_brief_is_not_passed(case: &Case, ours: &Answer) -> bool {
    defects::accepts("D51", case, ours)
}

/// A command that the record carries out is not one without its argument.
fn usage_is_explained(case: &Case, ours: &Answer) -> bool {
    let recorded = value(&case.expected).get("kind").and_then(Json::as_str);
    let is_carried_out = matches!(recorded, Some("trace-view" | "trace-report"));
    !is_carried_out && defects::accepts("D06", case, ours)
}

fn value(answer: &Answer) -> &Json {
    match answer {
        Answer::Value(value) => value,
        Answer::Error { .. } => &Json::Null,
    }
}

/// The judge is asked of every brief that can be read and of no other, and the last word is what counts.
fn unusable_brief_is_not_judged(case: &Case, ours: &Answer) -> bool {
    let replies = case.list("responses");
    let reply = |at: usize| replies.get(at).and_then(Json::as_str).unwrap_or("");
    let calls = part(value(ours), "calls");
    let is_actor = |at: usize| calls.get(at).is_some_and(|call| text(call, "who") == "actor");
    let is_judge = |at: usize| calls.get(at).is_some_and(|call| text(call, "who") == "judge");
    let actors: Vec<usize> = (0..calls.len()).filter(|at| is_actor(*at)).collect();
    let judged_as_read = actors
        .iter()
        .all(|at| read_brief(reply(*at)).is_some() == is_judge(at + 1));
    let unjudged = actors.iter().any(|at| !is_judge(at + 1));
    let Some(last) = calls.len().checked_sub(1) else {
        return false;
    };
    let passed = is_judge(last) && read_verdict(reply(last)).is_some_and(|verdict| verdict.passed());
    unjudged && judged_as_read && ours.get("passed") == &Json::Bool(passed)
}

/// Where the peer throws, the brief is not passed.
fn a_failing_model_passes_nothing(case: &Case, ours: &Answer) -> bool {
    matches!(case.expected, Answer::Error { .. }) && ours.get("passed") != &Json::Bool(true)
}

/// The run ends and says what kept the model, or another one is called in its place.
fn a_silent_model_is_left(case: &Case, ours: &Answer) -> bool {
    let is_silent = |reply: &Json| reply.get("timeout") == Some(&Json::Bool(true));
    let left = match ours {
        Answer::Error { message, .. } => message.contains("there was no answer within"),
        Answer::Value(value) => {
            let calls = part(value, "calls");
            let first = calls.first().map(|call| text(call, "model"));
            calls.iter().any(|call| Some(text(call, "model")) != first)
        }
    };
    left && case.list("responses").iter().any(is_silent)
}

/// Every worker, its words and how many work at once are as recorded; nobody overtakes more than those beside it.
fn room_is_given_in_order(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let Json::Object(entries) = wanted else {
        return false;
    };
    let others = entries.iter().filter(|(key, _)| key != "start_order");
    let same_others = others
        .into_iter()
        .all(|(key, item)| found.get(key).is_some_and(|ours| same(item, ours)));
    same_others && nobody_overtakes(wanted, ours)
}

fn nobody_overtakes(wanted: &Json, ours: &Answer) -> bool {
    let (wanted, found) = (part(wanted, "start_order"), part(value(ours), "start_order"));
    let beside = ours.get("max_concurrent").as_number().unwrap_or(0.0) as usize;
    let near = |(at, id): (usize, &Json)| {
        found
            .iter()
            .position(|other| other == id)
            .is_some_and(|place| place.abs_diff(at) < beside.max(1))
    };
    wanted.len() == found.len() && wanted.iter().enumerate().all(near)
}

/// A clock that fired before a word is told as a failure; every other worker is as recorded.
fn silence_is_a_failure(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let silent = |worker: &Json| {
        text(worker, "text").trim().is_empty() && text(worker, "stopped_reason") != "completed"
    };
    let same_worker = |(recorded, ours): (&Json, &Json)| match silent(recorded) {
        true => silent(ours) && !text(ours, "error").is_empty(),
        false => same(recorded, ours),
    };
    let (recorded, workers) = (part(wanted, "workers"), part(found, "workers"));
    let told = |worker: &Json| text(found, "synthesized_text").contains(text(worker, "error"));
    recorded.iter().any(silent)
        && recorded.len() == workers.len()
        && recorded.iter().zip(workers).all(same_worker)
        && workers.iter().all(told)
        && nobody_overtakes(wanted, ours)
}

fn a_command_is_no_skill(case: &Case, ours: &Answer) -> bool {
    let name = text(value(&case.expected), "name");
    let remainder = text(value(&case.expected), "remainder");
    let of_command = ours
        .get("usage")
        .as_str()
        .is_some_and(|usage| usage.starts_with(&format!("/skill {name}")))
        || ours.get("command").as_str() == Some(name);
    let argument = ours.get("argument").as_str().unwrap_or("");
    ["cancel", "trace-report", "trace-view"].contains(&name) && of_command && remainder.starts_with(argument)
}

fn a_space_stands_for_the_colon(case: &Case, ours: &Answer) -> bool {
    is_the_form_with_a_space(case, ours, skill_command)
}

fn a_space_dispatches_as_the_colon(case: &Case, ours: &Answer) -> bool {
    is_the_form_with_a_space(case, ours, input_dispatch)
}

/// In the peer's host `/skill` is a command of its own and reaches no reader of lines. Ours is what it is for the same line
/// with a colon, and without a name it is nobody's skill.
fn is_the_form_with_a_space(case: &Case, ours: &Answer, read: fn(&Case) -> Answer) -> bool {
    let Some(rest) = trim_start(case.text("text")).strip_prefix("/skill") else {
        return false;
    };
    let line = Json::String(format!("/skill:{}", trim(rest)));
    let with_colon = Case {
        name: case.name.clone(),
        input: Json::Object([("text".to_string(), line)].into_iter().collect()),
        expected: case.expected.clone(),
        defects: Vec::new(),
    };
    let names_nobody = ours.get("kind").as_str() == Some("pick")
        || ours.get("name").as_str() == Some("")
        || ours.get("refused").as_str().is_some();
    let is_blank = rest.is_empty() || rest.starts_with(is_space);
    is_blank && (names_nobody || same_answer(ours, &read(&with_colon)))
}

fn no_trace_no_skill(case: &Case, ours: &Answer) -> bool {
    let name = case.text("filename");
    let moment = name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('_'));
    let digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_trace = moment
        .is_some_and(|(skill, time)| !skill.is_empty() && !skill.contains(['.', ' ', '/']) && digits(time));
    !is_trace && ours.get("skill") == &Json::Null
}

fn answers_given(case: &Case) -> Vec<&str> {
    let steps = case.list("steps").iter();
    let answers = steps.filter(|step| text(step, "do") == "before");
    answers.map(|step| text(step, "text")).collect()
}

/// The same question, asked after the same calls; then further ones, and a brief with the answer in it.
fn an_answer_is_judged_again(case: &Case, ours: &Answer) -> bool {
    const QUESTION: &str = "[System]: Missing context for skill.";
    let (wanted, found) = (value(&case.expected), value(ours));
    let questions = |value: &Json| -> Vec<String> {
        let texts = part(value, "messages")
            .iter()
            .map(|message| text(message, "text"));
        texts
            .filter(|text| text.starts_with(QUESTION))
            .map(str::to_string)
            .collect()
    };
    let without_first_lines = |value: &Json| -> Vec<Json> {
        let messages = part(value, "messages").iter();
        let others = messages.filter(|message| !text(message, "text").contains("Executing /skill:"));
        others.cloned().collect()
    };
    let actors = |value: &Json| {
        part(value, "llm_calls")
            .iter()
            .filter(|call| text(call, "who") == "actor")
            .count()
    };
    let briefed = |call: &Json| {
        let prompt = text(call, "user_prompt");
        answers_given(case)
            .iter()
            .any(|answer| prompt.ends_with(&format!("User Clarifications:\n- {answer}")))
    };
    let prompts = part(found, "sub_agent_calls");
    !answers_given(case).is_empty()
        && !questions(found).is_empty()
        && questions(wanted) == questions(found)
        && actors(found) > actors(wanted)
        && same(
            &Json::Array(without_first_lines(wanted)),
            &Json::Array(without_first_lines(found)),
        )
        && prompts.len() == part(wanted, "sub_agent_calls").len()
        && prompts.iter().all(briefed)
        && part(found, "traces").len() == part(wanted, "traces").len()
}

/// The same line, and nothing was called before it.
fn retrieval_is_checked_first(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let refused = |message: &&Json| text(message, "text").starts_with("[System Error]: ");
    let lines =
        |value: &Json| -> Vec<Json> { part(value, "messages").iter().filter(refused).cloned().collect() };
    case.get("preflight").get("ok") == Some(&Json::Bool(false))
        && !lines(found).is_empty()
        && same(
            &Json::Array(lines(wanted)),
            &Json::Array(part(found, "messages").to_vec()),
        )
        && ["llm_calls", "sub_agent_calls", "traces", "logs"]
            .iter()
            .all(|key| part(found, key).is_empty())
}

fn a_path_of_words_is_no_token(case: &Case, ours: &Answer) -> bool {
    const WORDS: &str = "token: abc.def";
    let shown = value(ours).to_text();
    let hidden = Json::parse(&shown.replace(WORDS, REDACTED)).expect("JSON");
    shown.contains(WORDS) && retrieval_is_checked_first(case, &Answer::Value(hidden))
}

/// Its name is in the refusal, and nothing was called.
fn the_routing_model_is_checked(case: &Case, ours: &Answer) -> bool {
    let settings = case.get("settings");
    let routing = settings
        .get("routingModel")
        .and_then(Json::as_str)
        .unwrap_or("anthropic/claude-3-5-haiku");
    let allowed = part(settings, "allowedProviderPrefixes");
    let provider = routing.split('/').next().unwrap_or("");
    let listed = allowed.iter().any(|prefix| prefix.as_str() == Some(provider));
    let line = format!("[System]: Model \"{routing}\" uses a disallowed provider.");
    let messages = part(value(ours), "messages");
    !allowed.is_empty()
        && !listed
        && !messages.is_empty()
        && messages
            .iter()
            .all(|message| text(message, "text").starts_with(&line))
        && ["llm_calls", "sub_agent_calls", "traces"]
            .iter()
            .all(|key| part(value(ours), key).is_empty())
}

/// It says `error` and is classified; everything else is as recorded.
fn a_failed_run_leaves_its_trace(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let failed = |log: &Json| {
        log.get("event")
            .is_some_and(|event| text(event, "stoppedReason") == "error")
    };
    let logs: Vec<Json> = part(found, "logs")
        .iter()
        .filter(|log| !failed(log))
        .cloned()
        .collect();
    let traces = part(found, "traces").iter();
    let traces: Vec<Json> = traces
        .filter(|trace| text(trace, "stopped_reason") != "error")
        .cloned()
        .collect();
    traces.len() < part(found, "traces").len()
        && same_but(wanted, found, &["logs", "traces"])
        && same(&Json::Array(part(wanted, "logs").to_vec()), &Json::Array(logs))
        && same(
            &Json::Array(part(wanted, "traces").to_vec()),
            &Json::Array(traces),
        )
}

/// The same refusal; the passes before it were not paid.
fn models_are_checked_first(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let refused = part(found, "messages")
        .iter()
        .filter(|message| text(message, "text").contains("disallowed provider"));
    let calls = |value: &Json| part(value, "llm_calls").len();
    let refused = refused.count();
    refused > 0 && calls(found) + refused * 2 <= calls(wanted) && same_but(wanted, found, &["llm_calls"])
}

/// The peer's hosts may append to it; ours is the skill and the directive, and everything else is as recorded.
fn nothing_is_appended(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let appended = case
        .get("system_prompt_appendix")
        .as_str()
        .is_some_and(|text| !text.is_empty());
    appended
        && same_but(wanted, found, &["logs", "sub_agent_calls"])
        && part(wanted, "sub_agent_calls").len() == part(found, "sub_agent_calls").len()
}

/// The person is told that nothing was said, and the trace says `error`.
fn an_empty_answer_is_none(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let empty = |script: &Json| {
        text(script, "final_text").trim().is_empty() && text(script, "stopped_reason").is_empty()
    };
    let told = |message: &Json| text(message, "text").contains("without writing anything");
    case.list("sub_agent").iter().any(empty)
        && same_but(wanted, found, &["messages", "logs", "traces"])
        && part(found, "messages").iter().any(told)
        && part(found, "traces")
            .iter()
            .any(|trace| text(trace, "stopped_reason") == "error")
}

/// The peer gives the error and ends; with us it costs a pass, and nothing begins on it.
fn a_failing_model_is_asked_again(case: &Case, ours: &Answer) -> bool {
    let found = value(ours);
    let fails = |reply: &Json| reply.get("error").is_some();
    case.list("llm").iter().any(fails)
        && part(found, "sub_agent_calls").len() <= case.list("steps").len()
        && !part(found, "messages").is_empty()
}

/// What is larger than the ceiling is replaced whatever tool it came from; nothing else differs.
fn every_tool_has_a_ceiling(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let results = |value: &Json| -> Vec<bool> {
        let calls = part(value, "sub_agent_calls").iter();
        let results = calls.flat_map(|call| part(call, "tool_results").to_vec());
        results
            .map(|result| result.get("block") == Some(&Json::Bool(true)))
            .collect()
    };
    let (recorded, replaced) = (results(wanted), results(found));
    recorded.len() == replaced.len()
        && recorded
            .iter()
            .zip(&replaced)
            .all(|(recorded, replaced)| *replaced || !recorded)
        && same_but(wanted, found, &["sub_agent_calls", "traces", "logs"])
}

fn usage_is_said(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let other = |message: &&Json| {
        let text = text(message, "text");
        !text.starts_with("[System]: Usage: /skill trace-") && !text.starts_with("[System]: Skill \"trace-")
    };
    let others = |value: &Json| Json::Array(part(value, "messages").iter().filter(other).cloned().collect());
    same_but(wanted, found, &["messages"])
        && part(wanted, "messages").len() == part(found, "messages").len()
        && same(&others(wanted), &others(found))
}

/// What stays longer is damaged, or says that it is of another skill; nothing goes that the peer keeps.
fn only_its_own_traces_go(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let names = |value: &Json| -> Vec<String> {
        let names = part(value, "remaining_seed_traces").iter();
        names.filter_map(Json::as_str).map(str::to_string).collect()
    };
    let (recorded, kept) = (names(wanted), names(found));
    let seeds = case.get("trace_files");
    let ran = |skill: &str| case.get("skills").get(skill).is_some();
    let is_of_skill = |name: &String| {
        let content = seeds.get(name).and_then(Json::as_str).unwrap_or("");
        let trace = Trace::read(content);
        trace.is_some_and(|trace| {
            ran(&trace.skill_name) && name.starts_with(&format!("{}_", trace.skill_name))
        })
    };
    let mut more = kept.iter().filter(|name| !recorded.contains(name));
    kept.len() > recorded.len()
        && recorded.iter().all(|name| kept.contains(name))
        && more.all(|name| !is_of_skill(name))
        && same_but(wanted, found, &["remaining_seed_traces"])
}

/// Where the actor gave no goal, the typed task is it; without one the person is asked.
fn nothing_starts_without_a_goal(case: &Case, ours: &Answer) -> bool {
    let (wanted, found) = (value(&case.expected), value(ours));
    let has_goal = |brief: Brief| !brief.user_goal.trim().is_empty();
    let no_brief = |reply: &Json| match reply.as_str() {
        Some(reply) => {
            read_verdict(reply).is_none_or(|_| !reply.contains("hasUserGoal"))
                && !read_brief(reply).is_some_and(has_goal)
        }
        None => false,
    };
    let calls = part(found, "sub_agent_calls");
    let with_goal = |call: &Json| {
        let prompt = text(call, "user_prompt");
        let goal = prompt
            .strip_prefix("User Goal: ")
            .and_then(|rest| rest.lines().next());
        goal.is_some_and(|goal| !goal.trim().is_empty())
    };
    let asked = |message: &Json| text(message, "text").starts_with("[System]: Missing context");
    let fewer = calls.len() < part(wanted, "sub_agent_calls").len();
    case.list("llm").iter().any(no_brief)
        && calls.iter().all(with_goal)
        && if fewer {
            part(found, "messages").iter().any(asked)
        } else {
            same_but(wanted, found, &["sub_agent_calls", "traces", "llm_calls", "logs"])
        }
}

/// All that ours shows, the record's answer shows; but runs of digits as long as a digest.
fn hides_as_much_but_digests(case: &Case, ours: &Answer) -> bool {
    let recorded = shown_words(text_of(&case.expected));
    let ours = shown_words(text_of(ours));
    ours.iter()
        .all(|word| recorded.contains(word) || holds_digest(word))
}

fn text_of(answer: &Answer) -> &str {
    match answer {
        Answer::Value(value) => text(value, "text"),
        Answer::Error { .. } => "",
    }
}

/// The words of a text, without what stands for a secret.
fn shown_words(text: &str) -> Vec<&str> {
    let parts = text.split(REDACTED);
    let words = parts.flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect()
}

fn holds_digest(word: &str) -> bool {
    let mut runs = word.split(|letter: char| !letter.is_ascii_hexdigit());
    runs.any(|run| [40, 56, 64, 96, 128].contains(&run.len()))
}
