//! The frame of every page, and the parts that both share.

use super::html::Html;
use super::style::STYLE;
use crate::domain::TraceOutcome;

/// A page that may load nothing and run nothing.
pub(super) fn document(title: &str, write: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    html.markup(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    );
    html.element("title", "", title);
    html.markup("\n<style>\n")
        .markup(STYLE)
        .markup("</style>\n</head>\n<body>\n<main>\n");
    write(&mut html);
    html.markup(
        "<footer>Made by Impresario. This page is complete: it runs no script and loads nothing.</footer>\n\
         </main>\n</body>\n</html>\n",
    );
    html.finish()
}

/// A few facts, large.
pub(super) fn tiles(html: &mut Html, facts: &[(&str, String)]) {
    html.markup("<dl class=\"tiles\">\n");
    for (name, value) in facts {
        html.markup("<div>").element("dt", "", name);
        html.element("dd", "", value).markup("</div>\n");
    }
    html.markup("</dl>\n");
}

/// The class of an outcome's colour, for text.
pub(super) fn ink_of(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::Success => "good",
        TraceOutcome::LikelyFailure => "bad",
        TraceOutcome::LikelyRegression => "warn",
        TraceOutcome::Unknown => "none",
    }
}

/// The class of an outcome's colour, for areas.
pub(super) fn fill_of(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::Success => "f-good",
        TraceOutcome::LikelyFailure => "f-bad",
        TraceOutcome::LikelyRegression => "f-warn",
        TraceOutcome::Unknown => "f-none",
    }
}

/// An outcome without colour.
pub(super) fn sign_of(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::Success => "✓",
        TraceOutcome::LikelyFailure => "✗",
        TraceOutcome::LikelyRegression => "↘",
        TraceOutcome::Unknown => "?",
    }
}

pub(super) fn words_of(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::Success => "Success",
        TraceOutcome::LikelyFailure => "Likely failure",
        TraceOutcome::LikelyRegression => "Likely regression",
        TraceOutcome::Unknown => "Unknown",
    }
}
