//! What comes before a sub-agent in real Pi: its brief is written and judged by a model that may be refused, busy, silent
//! or unknown. None of that is the user's fault, so the user is asked nothing.

use crate::host::{
    ANSWER, PATIENCE, Stage, brief_rule, count, is_notice, is_result, prompt, script, submit_and_see, verdict,
};
use impresario_model_server::{Fault, Outcome, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::terminal::Key;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a call of actor or judge may take unless something else is set.
const ROUTING_TIMEOUT: Duration = Duration::from_secs(60);
const ORDER: &str = "/skill demo look around";

/// The rules of an ordinary run behind those that disturb it.
fn disturbed(rules: impl IntoIterator<Item = Rule>) -> Script {
    let disturbing = rules.into_iter().fold(Script::new(), Script::rule);
    let ordinary = script([Turn::text(ANSWER)]).rules;
    ordinary.into_iter().fold(disturbing, Script::rule)
}

fn actor_of(model: &str, turn: Turn) -> Rule {
    Rule::new("disturbed actor")
        .system_contains("# Impresario: brief")
        .model(model)
        .turn(turn)
        .repeat()
}

fn judge_of(model: &str, turn: Turn) -> Rule {
    Rule::new("disturbed judge")
        .system_contains("# Impresario: judge")
        .model(model)
        .turn(turn)
}

fn asked_the_user(pi: &JsonLines) -> usize {
    count(pi, |record| record["method"] == "input")
}

/// Orders the skill and gives the text of its result.
fn result_of(pi: &mut JsonLines) -> String {
    prompt(pi, ORDER);
    let result = pi.wait_for(PATIENCE, is_result);
    result["message"]["content"].to_string()
}

#[test]
fn refused_credentials_are_named_and_the_user_is_asked_nothing() {
    let script = || disturbed([actor_of("mock-1", Turn::fault(Fault::Unauthorized))]);
    for stage in Stage::both_with("judge refused", script) {
        let mut pi = stage.rpc();
        let text = result_of(&mut pi);
        let named = "On mock/mock-1, the provider refused the credentials, or nobody is logged in: 401";
        assert!(
            text.contains("Skill demo failed") && text.contains(named),
            "{text}"
        );
        assert!(!text.contains("does not say enough"), "{text}");
        assert_eq!(asked_the_user(&pi), 0);
        assert_eq!(stage.runs()[0]["reason"]["code"], "authentication");
        stage.end(pi);
    }
}

#[test]
fn a_busy_provider_is_asked_again_and_the_brief_is_paid_once() {
    let script = || {
        let busy = judge_of("mock-1", Turn::overloaded()).turn(Turn::overloaded());
        let clear = Turn::text(&verdict(None).to_string());
        disturbed([busy.turn(clear).repeat()])
    };
    for stage in Stage::both_with("judge busy", script) {
        let mut pi = stage.rpc();
        let text = result_of(&mut pi);
        assert!(text.contains(ANSWER), "{text}");
        assert_eq!(asked_the_user(&pi), 0);
        assert_eq!(
            stage.server.ledger().calls_of("brief").len(),
            1,
            "{:?}",
            stage.callers()
        );
        let told = |record: &Value| {
            let lines = record["widgetLines"].to_string();
            lines.contains("mock/mock-1 is asked again in 2 s: the provider could not be reached")
        };
        assert!(count(&pi, told) > 0, "the pause was not shown");
        stage.end(pi);
    }
}

#[test]
fn a_model_that_says_nothing_is_left_for_the_next_of_the_chain() {
    let script = || disturbed([actor_of("mock-1", Turn::text("never").behind_gate("never"))]);
    for stage in Stage::both_with("judge hangs", script) {
        stage.configure(json!({"routingTimeoutMs": 5_000, "fallbackModels": ["mock/mock-other"]}));
        let mut pi = stage.rpc();
        let text = result_of(&mut pi);
        assert!(text.contains(ANSWER), "{text}");
        assert_eq!(asked_the_user(&pi), 0);
        let brief = &stage.server.ledger().calls_of("brief")[0];
        assert_eq!(brief.model, "mock-other");
        stage.end(pi);
    }
}

#[test]
fn a_routing_model_that_is_not_there_is_said_at_the_start_and_in_the_result() {
    for stage in Stage::both("unknown routing model", || []) {
        let named = json!({"routingModel": "mock/mock-9", "fallbackModels": ["mock/mock-other"]});
        stage.configure(named);
        let checked = stage.impresario(&["config", "check"]);
        let line = ".pi/settings.json:1:16: impresario.routingModel: Pi lists no model \"mock/mock-9\": it is not known, or nobody \
                    is logged in for it; used instead: the next model of the chain, where there is one";
        assert_eq!(
            (checked.end, checked.stdout.trim()),
            (End::Exited(1), line),
            "{}",
            checked.stderr
        );
        let pi = stage.rpc();
        let at_start =
            "Settings: .pi/settings.json:1:16: impresario.routingModel: Pi has no model \"mock/mock-9\"";
        pi.wait_for(PATIENCE, |record| is_notice(record, at_start));
        let script = stage.server.ledger().calls();
        assert!(script.is_empty(), "asking costs nothing: {script:?}");
        stage.end(pi);
    }
}

#[test]
fn escape_while_the_brief_is_written_closes_the_request_at_once() {
    let script = || disturbed([actor_of("mock-1", Turn::text("never").behind_gate("never"))]);
    for stage in Stage::both_with("escape in the judge", script) {
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, ORDER, "writing the brief on mock/mock-1");
        stage.wait_for_calls_of("disturbed actor", 1);
        terminal.press(Key::Escape);
        let within = ROUTING_TIMEOUT / 2;
        let closed = stage
            .server
            .ledger()
            .wait_until(within, |calls| calls.iter().all(|call| call.end.is_some()));
        let calls = stage.server.ledger().calls();
        assert!(closed, "still open: {calls:?}");
        let outcome = calls.last().and_then(|call| call.end).map(|end| end.outcome);
        assert_eq!(outcome, Some(Outcome::CutByClient));
        terminal.wait_for_text(PATIENCE, "Skill demo cancelled");
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn escape_on_a_question_cancels_and_tells_the_model_nothing() {
    let script = || {
        // The dialog takes the place of the prompt, so it comes once the prompt has let go of the order.
        let unclear = Turn::text(&verdict(Some("Which of the two?")).to_string()).behind_gate("ordered");
        let judge = Rule::new("judge").system_contains("# Impresario: judge");
        Script::new()
            .rule(brief_rule())
            .rule(judge.turn(unclear).repeat())
    };
    for stage in Stage::both_with("escape on a question", script) {
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, ORDER, "esc cancels");
        stage.server.open_gate("ordered");
        terminal.wait_for_text(PATIENCE, "Missing context for skill. Which of the two?");
        // Enter on nothing is no answer, and no wish to stop either.
        terminal.press(Key::Enter);
        assert!(!terminal.shows(Duration::from_secs(1), |screen| screen.contains("Skill demo")));
        terminal.press(Key::Escape);
        let screen = terminal.wait_for_text(PATIENCE, "Skill demo cancelled");
        assert!(!screen.contains("does not say enough"), "{screen}");
        assert_eq!(stage.runs()[0]["state"], "cancelled");
        drop(terminal);
        stage.nothing_is_left();
    }
}
