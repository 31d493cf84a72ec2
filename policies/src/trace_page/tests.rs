//! Facts about both pages: nothing from a trace becomes markup, and whatever a file says, there is a page.

use super::*;
use crate::trace_classify::classify_trace;
use crate::trace_file::{CallDetail, CallFate, Trace, TraceCall, TraceExtras, TraceMoment, TraceTry};
use crate::trace_report::ReportSettings;

const HOSTILE: &str = "\"><script>alert('x')</script><img src=x onerror=alert(1)>{{</style>";
const SETTINGS: ReportSettings = ReportSettings {
    traces_max: 10,
    inline_max: 5,
    trend_window: 3,
    regression_window: 10,
};

fn hostile() -> Trace {
    let call = |index: f64, blocked| TraceCall {
        index,
        server_name: HOSTILE.into(),
        tool_name: HOSTILE.into(),
        args: serde_json::json!({HOSTILE: HOSTILE}),
        result_preview: HOSTILE.into(),
        blocked,
        timestamp: 2_000.0 + index,
    };
    Trace {
        skill_name: HOSTILE.into(),
        timestamp: 5_000.0,
        model: HOSTILE.into(),
        brief: crate::domain::Brief {
            user_goal: HOSTILE.into(),
            constraints: vec![HOSTILE.into()],
            known_context: HOSTILE.into(),
            user_clarifications: vec![HOSTILE.into()],
        },
        route: Default::default(),
        tool_calls: vec![call(0.0, false), call(1.0, true), call(2.0, false)],
        final_text: HOSTILE.into(),
        stopped_reason: HOSTILE.into(),
        ours: Some(TraceExtras {
            flags: vec![HOSTILE.into()],
            receipt: Some(serde_json::json!({HOSTILE: HOSTILE})),
            run_id: HOSTILE.into(),
            started_at: 1_000.0,
            state: HOSTILE.into(),
            reason: Some(HOSTILE.into()),
            attempts: 1,
            tries: vec![TraceTry {
                model: HOSTILE.into(),
                started_at: 1_500.0,
                ended_at: 4_000.0,
                ending: HOSTILE.into(),
                detail: HOSTILE.into(),
            }],
            calls: vec![CallDetail {
                index: 2.0,
                started_at: 1_800.0,
                bytes: 9.0,
                fate: CallFate::CutOff,
            }],
            moments: vec![TraceMoment {
                at: 1_100.0,
                what: HOSTILE.into(),
            }],
        }),
    }
}

fn report_of(traces: &[Trace]) -> String {
    let files = traces.iter().map(|trace| (HOSTILE.to_string(), trace.clone()));
    let left_out = LeftOut {
        file: HOSTILE.into(),
        why: HOSTILE.into(),
    };
    report_page(HOSTILE, &files.collect::<Vec<_>>(), &[left_out], &SETTINGS)
}

/// The tags of a page, without what stands in them.
fn tags(page: &str) -> Vec<&str> {
    let names = page.split('<').skip(1).map(|tag| {
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '/' && c != '!');
        &tag[..end.unwrap_or(tag.len())]
    });
    let mut names = names.collect::<Vec<_>>();
    names.sort_unstable();
    names.dedup();
    names
}

fn check_harmless(page: &str) {
    for tag in tags(page) {
        let dangerous = [
            "script", "img", "iframe", "object", "embed", "link", "base", "form", "a", "use", "image",
        ];
        assert!(!dangerous.contains(&tag), "<{tag}> in the page");
    }
    assert_eq!(page.matches("<style>").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains("onerror=alert(1)>"));
    for outside in ["http:", "https:", "url(", "@import", "src="] {
        let escaped = page.replace("src=x onerror", "");
        assert!(!escaped.contains(outside), "{outside} in the page");
    }
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn nothing_in_a_trace_becomes_markup() {
    let trace = hostile();
    check_harmless(&run_page(HOSTILE, &trace, &classify_trace(&trace)));
    check_harmless(&report_of(&[trace.clone(), trace]));
}

#[test]
fn pages_are_whole() {
    for page in [
        run_page("f", &hostile(), &classify_trace(&hostile())),
        report_of(&[hostile()]),
        report_of(&[]),
    ] {
        for name in [
            "html", "head", "body", "main", "table", "figure", "svg", "details", "ul", "tr", "td", "dl",
        ] {
            let opened =
                page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
            assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
        }
    }
}

#[test]
fn what_is_drawn_is_also_said() {
    let page = run_page("demo_1.json", &hostile(), &classify_trace(&hostile()));
    assert!(page.contains("role=\"img\" aria-label=\"3 tool calls over"));
    for word in ["kept aside", "cut off", "finished", "attempt 1"] {
        assert!(page.contains(word), "{word}");
    }
    let report = report_of(&[hostile(), hostile()]);
    assert!(report.contains("aria-label=\"Oldest to newest: Likely failure, Likely failure.\""));
}

#[test]
fn a_run_with_many_calls_draws_some_and_lists_them_all() {
    let mut trace = hostile();
    let call = trace.tool_calls[0].clone();
    trace.tool_calls = (0..100)
        .map(|index| TraceCall {
            index: f64::from(index),
            ..call.clone()
        })
        .collect();
    let page = run_page("f", &trace, &classify_trace(&trace));
    assert!(page.contains("40 calls are in the table only"));
    assert_eq!(page.matches("<summary>arguments</summary>").count(), 100);
}

proptest::proptest! {
    #[test]
    fn whatever_numbers_a_file_holds_there_is_a_page(
        times in proptest::collection::vec(proptest::num::f64::ANY, 0..6), end in proptest::num::f64::ANY, start in proptest::num::f64::ANY,
    ) {
        let mut trace = hostile();
        let call = trace.tool_calls[0].clone();
        trace.tool_calls = times.iter().map(|time| TraceCall { timestamp: *time, index: *time, ..call.clone() }).collect();
        trace.timestamp = end;
        if let Some(ours) = &mut trace.ours {
            ours.started_at = start;
            ours.tries[0].ended_at = end;
        }
        let page = run_page("f", &trace, &classify_trace(&trace));
        proptest::prop_assert!(!page.contains("=\"NaN") && !page.contains("=\"inf"));
        report_of(&[trace]);
    }
}
