//! The page of one run.

use super::document::{document, ink_of, sign_of, tiles, words_of};
use super::html::Html;
use super::timeline::{ARGUMENT_UNITS, DRAWN_MAX, Drawn, Span, calls_of, draw, look_of};
use crate::compat::trim;
use crate::domain::TraceVerdict;
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::trace_file::Trace;
use crate::trace_text::{offset_text, trace_duration};
use crate::trace_view::args_text;
use crate::utc_date::utc_text;

/// So many calls stand in the table.
const LISTED_MAX: usize = 1_000;

/// Writes the page of one run.
pub fn run_page(file: &str, trace: &Trace, verdict: &TraceVerdict) -> String {
    let title = format!("{} · {}", trace.skill_name, words_of(verdict.outcome));
    document(&title, |html| {
        let calls = calls_of(trace);
        write_head(html, file, trace, verdict);
        write_timeline(html, trace, &calls);
        write_calls(html, trace, &calls);
        write_brief(html, trace);
        write_answer(html, trace);
    })
}

fn write_head(html: &mut Html, file: &str, trace: &Trace, verdict: &TraceVerdict) {
    html.element("p", "over", &format!("Trace of a run · {file}"));
    html.element("h1", "", &trace.skill_name);
    html.markup("<p><span class=\"badge ")
        .markup(ink_of(verdict.outcome))
        .markup("\">");
    html.text(sign_of(verdict.outcome))
        .text(" ")
        .text(words_of(verdict.outcome))
        .markup("</span> ");
    html.text(&format!("{} · {}", utc_text(trace.timestamp), trace.model))
        .markup("</p>\n");
    let ours = trace.ours.as_ref();
    if let Some(reason) = ours.and_then(|ours| ours.reason.as_deref()) {
        html.element("p", "", reason).markup("\n");
    }
    let aside = trace.tool_calls.iter().filter(|call| call.blocked).count();
    let mut facts = vec![
        ("Ended", ended_in_words(trace)),
        ("Duration", trace_duration(trace)),
        ("Tool calls", trace.tool_calls.len().to_string()),
        ("Results kept aside", aside.to_string()),
    ];
    if let Some(ours) = ours {
        facts.push(("Attempts", ours.attempts.to_string()));
    }
    let route = &trace.route;
    let (tier, complexity) = (tier_word(route.tier), complexity_word(route.complexity));
    facts.push(("Route", format!("{tier}, {complexity}")));
    facts.push(("Risk", risk_word(route.risk).replace('_', " ")));
    facts.push((
        "Judge's confidence",
        format!("{}%", (route.confidence * 100.0).round()),
    ));
    tiles(html, &facts);
    if !verdict.signals.is_empty() {
        html.element("h2", "", "What speaks against it")
            .markup("\n<ul>\n");
        for signal in &verdict.signals {
            html.element("li", "", signal).markup("\n");
        }
        html.markup("</ul>\n");
    }
    if let Some(ours) = ours.filter(|ours| !ours.flags.is_empty()) {
        html.element("h2", "", "What the runtime did not see")
            .markup("\n<ul>\n");
        for flag in &ours.flags {
            html.element("li", "", flag).markup("\n");
        }
        html.markup("</ul>\n");
    }
}

fn ended_in_words(trace: &Trace) -> String {
    match &trace.ours {
        Some(ours) if !ours.state.is_empty() => ours.state.clone(),
        Some(_) | None => trace.stopped_reason.clone(),
    }
}

fn write_timeline(html: &mut Html, trace: &Trace, calls: &[Drawn<'_>]) {
    html.element("h2", "", "Timeline").markup("\n<figure>\n");
    let words = format!(
        "{} tool calls over {}. The table below says the same in words.",
        calls.len(),
        trace_duration(trace)
    );
    draw(html, trace, calls, &words);
    html.markup("<figcaption>Time from left to right; a bar is a tool at work, its result's size stands at the right.");
    if calls.len() > DRAWN_MAX {
        html.text(&format!(
            " Drawn are the first and the last of {} calls.",
            calls.len()
        ));
    }
    html.markup("</figcaption>\n</figure>\n");
}

fn write_calls(html: &mut Html, trace: &Trace, calls: &[Drawn<'_>]) {
    html.element("h2", "", "Tool calls").markup("\n");
    if calls.is_empty() {
        html.element("p", "", "None.").markup("\n");
        return;
    }
    html.markup("<div class=\"scroll\"><table>\n<caption>Tool calls in order</caption>\n<thead><tr>");
    html.markup(
        "<th scope=\"col\" class=\"num\">At</th><th scope=\"col\">Tool</th><th scope=\"col\">Result</th>",
    );
    html.markup("<th scope=\"col\" class=\"num\">Size</th></tr></thead>\n<tbody>\n");
    let from = Span::of(trace).start();
    for drawn in calls.iter().take(LISTED_MAX) {
        write_call(html, drawn, from);
    }
    html.markup("</tbody>\n</table></div>\n");
    if calls.len() > LISTED_MAX {
        let more = calls.len() - LISTED_MAX;
        html.element("p", "over", &format!("{more} more are in the file."))
            .markup("\n");
    }
}

fn write_call(html: &mut Html, drawn: &Drawn<'_>, from: f64) {
    let call = drawn.call;
    html.markup("<tr>")
        .element("td", "num", &offset_text(drawn.started_at - from));
    html.markup("<td>")
        .element("code", "", &call.tool_name)
        .markup(" ");
    html.element("code", "", &args_text(&call.args, ARGUMENT_UNITS));
    html.markup("<details><summary>arguments</summary>")
        .element("pre", "", &format!("{:#}", call.args));
    html.markup("</details></td><td>").text(look_of(drawn).2);
    if !call.result_preview.is_empty() {
        html.markup("<details><summary>what came back</summary>");
        html.element("pre", "", &call.result_preview).markup("</details>");
    }
    html.markup("</td>")
        .element("td", "num", &drawn.size)
        .markup("</tr>\n");
}

fn write_brief(html: &mut Html, trace: &Trace) {
    let brief = &trace.brief;
    html.element("h2", "", "Brief")
        .markup("\n")
        .element("p", "", &brief.user_goal)
        .markup("\n");
    write_list(html, "Constraints", &brief.constraints);
    write_list(html, "Clarifications", &brief.user_clarifications);
    if !trim(&brief.known_context).is_empty() {
        html.markup("<details><summary>Known context</summary>")
            .element("pre", "", &brief.known_context);
        html.markup("</details>\n");
    }
}

fn write_list(html: &mut Html, name: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    html.element("p", "over", name).markup("\n<ul>\n");
    for item in items {
        html.element("li", "", item).markup("\n");
    }
    html.markup("</ul>\n");
}

fn write_answer(html: &mut Html, trace: &Trace) {
    html.element("h2", "", "Answer").markup("\n");
    match trim(&trace.final_text).is_empty() {
        true => html.element("p", "", "None."),
        false => html.element("pre", "", &trace.final_text),
    };
    html.markup("\n");
    if let Some(receipt) = trace.ours.as_ref().and_then(|ours| ours.receipt.as_ref()) {
        html.markup("<details><summary>Receipt: what the runtime saw</summary>")
            .element("pre", "", &format!("{receipt:#}"))
            .markup("</details>\n");
    }
}
