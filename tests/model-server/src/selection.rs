//! Which turn answers a request.

use std::collections::BTreeMap;

use crate::request::RequestSummary;
use crate::script::{Rule, Script, Turn, When};

/// Where a script stands: how often each rule, and each turn of each conversation, was asked.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    calls: BTreeMap<usize, usize>,
    tries: BTreeMap<(usize, usize, String), usize>,
}

/// What answers a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Selection {
    /// This turn of this rule.
    Turn {
        rule: String,
        index: usize,
        turn: Box<Turn>,
    },
    /// The script has no answer; the sentence says why.
    Unscripted(String),
}

/// Chooses the turn for a request and remembers that it was given.
pub(crate) fn select(script: &Script, progress: &mut Progress, request: &RequestSummary) -> Selection {
    let Some((rule_index, rule)) = script
        .rules
        .iter()
        .enumerate()
        .find(|(_, rule)| matches(&rule.when, request))
    else {
        return Selection::Unscripted(format!("no rule matches a request for model {:?}", request.model));
    };
    let asked = if rule.by_conversation {
        request.assistants_since_user
    } else {
        let calls = progress.calls.entry(rule_index).or_default();
        *calls += 1;
        *calls - 1
    };
    let Some(index) = turn_index(rule, asked) else {
        return Selection::Unscripted(format!("rule {:?} has no turn {}", rule.name, asked + 1));
    };
    let turn = pick_try(
        &rule.turns[index],
        progress,
        (rule_index, asked, request.first_user().to_owned()),
    );
    Selection::Turn {
        rule: rule.name.clone(),
        index,
        turn: Box::new(turn),
    }
}

fn turn_index(rule: &Rule, asked: usize) -> Option<usize> {
    match rule.turns.len() {
        0 => None,
        count if asked < count => Some(asked),
        count => rule.repeat.then_some(count - 1),
    }
}

fn pick_try(turn: &Turn, progress: &mut Progress, key: (usize, usize, String)) -> Turn {
    if turn.first_tries.is_empty() {
        return turn.clone();
    }
    let tries = progress.tries.entry(key).or_default();
    *tries += 1;
    turn.first_tries.get(*tries - 1).unwrap_or(turn).clone()
}

fn matches(when: &When, request: &RequestSummary) -> bool {
    let contains =
        |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| text.contains(wanted));
    when.model.as_ref().is_none_or(|model| *model == request.model)
        && contains(&when.system, &request.system)
        && contains(&when.last_user, request.last_user())
        && contains(&when.last_tool_result, &request.last_tool_result)
        && when
            .user
            .as_ref()
            .is_none_or(|wanted| request.users.iter().any(|text| text.contains(wanted)))
        && when.tool.as_ref().is_none_or(|tool| request.tools.contains(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(user: &str) -> RequestSummary {
        RequestSummary {
            model: "m".into(),
            users: vec![user.into()],
            ..RequestSummary::default()
        }
    }

    fn said(script: &Script, progress: &mut Progress, request: &RequestSummary) -> String {
        match select(script, progress, request) {
            Selection::Turn { turn, .. } if turn.fault.is_some() => "fault".to_owned(),
            Selection::Turn { turn, .. } => turn.text,
            Selection::Unscripted(why) => why,
        }
    }

    #[test]
    fn turns_are_given_in_order_and_then_none_is_left() {
        let script = Script::turns([Turn::text("one"), Turn::text("two")]);
        let mut progress = Progress::default();
        let heard: Vec<String> = (0..3)
            .map(|_| said(&script, &mut progress, &request("hi")))
            .collect();
        assert_eq!(heard, ["one", "two", "rule \"any\" has no turn 3"]);
    }

    #[test]
    fn the_last_turn_is_repeated_when_the_rule_says_so() {
        let script = Script::new().rule(
            Rule::new("r")
                .turn(Turn::text("one"))
                .turn(Turn::text("two"))
                .repeat(),
        );
        let mut progress = Progress::default();
        let heard: Vec<String> = (0..4)
            .map(|_| said(&script, &mut progress, &request("hi")))
            .collect();
        assert_eq!(heard, ["one", "two", "two", "two"]);
    }

    #[test]
    fn the_first_rule_that_matches_answers_and_counts_alone() {
        let script = Script::new()
            .rule(
                Rule::new("judge")
                    .user_contains("judge")
                    .turn(Turn::text("fair"))
                    .repeat(),
            )
            .rule(Rule::new("rest").turn(Turn::text("one")).turn(Turn::text("two")));
        let mut progress = Progress::default();
        let users = ["hi", "judge this", "hi"];
        let heard: Vec<String> = users
            .iter()
            .map(|user| said(&script, &mut progress, &request(user)))
            .collect();
        assert_eq!(heard, ["one", "fair", "two"]);
    }

    #[test]
    fn every_condition_must_hold() {
        let whole = RequestSummary {
            model: "m".into(),
            system: "sys".into(),
            users: vec!["first".into(), "last".into()],
            last_tool_result: "result".into(),
            tools: vec!["read".into()],
            ..RequestSummary::default()
        };
        let some = |text: &str| Some(text.to_owned());
        let right = When {
            model: some("m"),
            system: some("sys"),
            user: some("first"),
            last_user: some("last"),
            last_tool_result: some("result"),
            tool: some("read"),
        };
        assert!(matches(&right, &whole));
        let wrongs = [
            When {
                model: some("other"),
                ..right.clone()
            },
            When {
                system: some("other"),
                ..right.clone()
            },
            When {
                user: some("other"),
                ..right.clone()
            },
            When {
                last_user: some("first"),
                ..right.clone()
            },
            When {
                last_tool_result: some("other"),
                ..right.clone()
            },
            When {
                tool: some("write"),
                ..right
            },
        ];
        for wrong in wrongs {
            assert!(!matches(&wrong, &whole), "{wrong:?}");
        }
    }

    #[test]
    fn a_conversation_finds_its_own_place_and_its_own_tries() {
        let script = Script::new().rule(
            Rule::new("r")
                .by_conversation()
                .turn(Turn::text("one").after_tries([Turn::overloaded()]))
                .turn(Turn::text("two")),
        );
        let mut progress = Progress::default();
        let later = RequestSummary {
            assistants_since_user: 1,
            ..request("a")
        };
        let asked = [request("a"), request("b"), request("a"), later, request("b")];
        let heard: Vec<String> = asked
            .iter()
            .map(|request| said(&script, &mut progress, request))
            .collect();
        assert_eq!(heard, ["fault", "fault", "one", "two", "one"]);
    }

    #[test]
    fn a_request_without_a_rule_is_told_so() {
        let script = Script::new().rule(Rule::new("r").model("other").turn(Turn::text("one")));
        let heard = said(&script, &mut Progress::default(), &request("hi"));
        assert_eq!(heard, "no rule matches a request for model \"m\"");
    }
}
