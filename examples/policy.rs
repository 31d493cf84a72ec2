//! One policy used alone: what follows an attempt that did not answer?
//!
//! A policy is a pure function from facts and settings to a decision that can say why. Nothing has to run for it.
//!
//! ```sh
//! cargo run --example policy
//! ```

use impresario_policies::domain::{AttemptEnding, CutTool};
use impresario_policies::fallback::{FallbackDecision, FallbackFacts, FallbackSettings, decide_fallback};
use std::time::Duration;

fn main() {
    let settings = FallbackSettings {
        chain: vec!["first/large".to_string(), "second/large".to_string()],
        tries_per_model_max: 2,
        unreached_tries_max: 4,
        wait_first: Duration::from_secs(2),
        wait_max: Duration::from_secs(60),
        lost_in_a_row_max: 5,
        can_resume: true,
        cut_tool: CutTool::Park,
    };
    let overloaded = FallbackFacts {
        ending: AttemptEnding::Unavailable,
        detail: "529 overloaded".to_string(),
        model: "first/large".to_string(),
        tries_on_model: 1,
        lost_in_a_row: 0,
        place_in_chain: 0,
        asked: vec!["first/large".to_string()],
        was_probe: false,
        unsafe_tool_finished: false,
        unsafe_calls_cut: Vec::new(),
        any_tool_finished: true,
    };
    let again = FallbackFacts {
        tries_on_model: 2,
        ..overloaded.clone()
    };
    let last_of_chain = FallbackFacts {
        model: "second/large".to_string(),
        place_in_chain: 1,
        asked: vec!["first/large".to_string(), "second/large".to_string()],
        ..again.clone()
    };
    let lost = FallbackFacts {
        ending: AttemptEnding::Lost,
        tries_on_model: 0,
        lost_in_a_row: 1,
        ..overloaded.clone()
    };
    let cut = FallbackFacts {
        unsafe_calls_cut: vec!["`write` (notes.txt)".to_string()],
        ..lost.clone()
    };
    let cases = [
        ("the provider is overloaded", overloaded),
        ("it is so again", again),
        ("so is the last of the chain", last_of_chain),
        ("our own actor died", lost),
        ("it died while a tool wrote a file", cut),
    ];
    for (what, facts) in cases {
        println!("{what}:\n    {}", in_words(decide_fallback(&facts, &settings)));
    }
}

fn in_words(decision: FallbackDecision) -> String {
    match decision {
        FallbackDecision::Try { model, wait, from } => format!("try {model} after {wait:?}, from {from:?}"),
        FallbackDecision::Fail(reason) => format!("fail ({:?}): {}", reason.code, reason.message),
        FallbackDecision::Park(reason) => format!("park ({:?}): {}", reason.code, reason.message),
    }
}
