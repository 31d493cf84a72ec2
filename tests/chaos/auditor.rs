//! The auditor is tested too: for each promise a journal that breaks it, made by hand.

use impresario::chaos::{
    DeliverySeen, EffectSeen, Evidence, Expected, JournalRow, ModelCallSeen, OrderedCall, ProcessSeen,
    Tokens, WorktreeSeen, audit,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const RUN: &str = "01m7ynaym0000001";

/// A run that went well: accepted, briefed, admitted, one attempt with one edit, answered, ended, delivered.
fn sound() -> Vec<Value> {
    let proof = json!({"method": "keeper", "no_children": true, "processes_left": 0});
    vec![
        json!({"step": "accepted"}),
        json!({"step": "briefed"}),
        json!({"step": "admitted"}),
        json!({"step": "attempt_started", "attempt": 1}),
        json!({"step": "tool_started", "attempt": 1, "call": "c1", "tool": "edit", "replay": "unsafe"}),
        json!({"step": "tool_ended", "attempt": 1, "call": "c1"}),
        json!({"step": "attempt_ended", "attempt": 1, "ending": "answered", "proof": proof}),
        json!({"step": "answered", "answer": "done"}),
        json!({"step": "ended", "state": "succeeded", "reason": null, "proof": proof}),
        json!({"step": "delivered"}),
        json!({"step": "delivery_acknowledged"}),
    ]
}

fn evidence(steps: Vec<Value>) -> Evidence {
    let rows = (1..).zip(steps).map(|(sequence, step)| JournalRow {
        run: RUN.into(),
        sequence,
        generation: 1,
        at_ms: 1_000 * sequence,
        step,
    });
    let expected = Expected {
        states: vec!["succeeded".into()],
        answer: Some("done".into()),
        within_ms: Some(60_000),
    };
    Evidence {
        rows: rows.collect(),
        deliveries: vec![DeliverySeen {
            run: RUN.into(),
            state: "succeeded".into(),
            answer: Some("done".into()),
        }],
        effects: vec![effect(true)],
        expected: BTreeMap::from([(RUN.to_string(), expected)]),
        accepted: vec![RUN.into()],
        lost_in_a_row_max: Some(2),
        all_ended: true,
        ..Evidence::default()
    }
}

fn effect(announced: bool) -> EffectSeen {
    EffectSeen {
        run: RUN.into(),
        call: "c1".into(),
        replay_safe: false,
        announced,
    }
}

fn check(evidence: &Evidence, promise: &str) {
    let breaches = audit(evidence);
    assert!(!breaches.is_empty(), "the auditor saw nothing");
    assert!(
        breaches.iter().all(|breach| breach.promise == promise),
        "{breaches:?}"
    );
}

/// The same, and one of the breaches says this.
fn check_says(evidence: &Evidence, promise: &str, words: &str) {
    check(evidence, promise);
    let breaches = audit(evidence);
    let said = breaches.iter().any(|breach| breach.what.contains(words));
    assert!(said, "nothing says {words:?}: {breaches:?}");
}

/// The sound run with `change` made to its steps.
fn with(change: impl FnOnce(&mut Vec<Value>)) -> Evidence {
    let mut steps = sound();
    change(&mut steps);
    evidence(steps)
}

#[test]
fn a_sound_run_is_found_sound() {
    assert_eq!(audit(&evidence(sound())), []);
}

#[test]
fn p1_two_terminal_states_none_and_the_wrong_one() {
    check(&with(|steps| steps.push(sound()[8].clone())), "P1");
    let mut unfinished = with(|steps| steps.truncate(7));
    unfinished.deliveries.clear();
    check(&unfinished, "P1");
    let mut wrong = evidence(sound());
    wrong.expected.get_mut(RUN).unwrap().states = vec!["cancelled".into()];
    check(&wrong, "P1");
}

#[test]
fn p1_a_run_that_goes_on_after_its_end_and_one_with_a_hole() {
    check(
        &with(|steps| steps.insert(9, json!({"step": "attempt_started", "attempt": 2}))),
        "P1",
    );
    let mut hole = evidence(sound());
    hole.rows.remove(1);
    check(&hole, "P1");
    check(
        &with(|steps| steps[8]["reason"] = json!({"code": "internal", "message": "?"})),
        "P1",
    );
}

#[test]
fn p2_a_result_that_was_not_on_disk_not_delivered_or_another_one() {
    let mut unwritten = with(|steps| drop(steps.remove(7)));
    unwritten.deliveries[0].answer = None;
    check(&unwritten, "P2");
    let mut other = evidence(sound());
    other.deliveries[0].answer = Some("something else".into());
    check(&other, "P2");
    let mut never = evidence(sound());
    never.deliveries[0].run = "another run".into();
    check(&never, "P2");
    let mut lost = evidence(sound());
    lost.accepted.push("01m7ynaym0000002".into());
    check(&lost, "P2");
}

#[test]
fn p3_an_effect_twice_one_unannounced_and_one_nobody_speaks_of() {
    let mut twice = evidence(sound());
    twice.effects.push(effect(true));
    check(&twice, "P3");
    let mut early = evidence(sound());
    early.effects = vec![effect(false)];
    check(&early, "P3");
    check(&with(|steps| drop(steps.remove(5))), "P3");
}

fn tool(step: &str, call: &str) -> Value {
    json!({"step": step, "attempt": 1, "call": call, "tool": "edit", "replay": "unsafe"})
}

#[test]
fn p3_a_call_that_starts_twice_or_ends_twice_or_without_a_start() {
    check_says(
        &with(|steps| steps.insert(5, tool("tool_started", "c1"))),
        "P3",
        "started 2 times",
    );
    check_says(
        &with(|steps| steps.insert(6, tool("tool_ended", "c1"))),
        "P3",
        "ended 2 times",
    );
    check_says(
        &with(|steps| steps.insert(6, tool("tool_ended", "c2"))),
        "P3",
        "had not started",
    );
    check_says(
        &with(|steps| steps.insert(6, tool("tool_indeterminate", "c2"))),
        "P3",
        "had not started",
    );
    check_says(&with(|steps| steps.swap(4, 5)), "P3", "had not started");
}

#[test]
fn p3_a_call_that_ended_and_of_which_nobody_knows() {
    check_says(
        &with(|steps| steps.insert(6, tool("tool_indeterminate", "c1"))),
        "P3",
        "c1 of attempt 1 ended, and the journal",
    );
    check_says(
        &with(|steps| steps.insert(5, tool("tool_indeterminate", "c1"))),
        "P3",
        "c1 of attempt 1 ended, and the journal",
    );
}

#[test]
fn p3_a_call_outside_of_its_attempt() {
    let late = with(|steps| {
        let ended = steps.remove(6);
        steps.insert(4, ended);
    });
    check_says(&late, "P3", "outside of its attempt");
    let of_nobody = with(|steps| {
        for step in &mut steps[4..6] {
            step["attempt"] = json!(2);
        }
    });
    check_says(&of_nobody, "P3", "outside of its attempt");
}

#[test]
fn p3_an_effect_that_the_journal_does_not_have() {
    let mut unknown = evidence(sound());
    unknown.effects.push(EffectSeen {
        call: "c2".into(),
        ..effect(true)
    });
    check_says(&unknown, "P3", "c2 happened");
}

/// The sound run with what the models' server wrote down: c1 was ordered, and its result was told.
fn with_models(change: impl FnOnce(&mut Vec<Value>)) -> Evidence {
    let mut evidence = with(|steps| {
        steps[4]["arguments"] = json!(r#"{"path":"a","edits":[{"newText":"x [REDACTED] y"}],"line":1}"#);
        change(steps);
    });
    let arguments = json!({"path": "a", "edits": [{"newText": "x secret y"}], "line": 1.0});
    let order = OrderedCall {
        call: "c1".into(),
        tool: "edit".into(),
        arguments,
    };
    let asked = |at_ms, results: &[&str], ordered| ModelCallSeen {
        at_ms,
        offered: vec!["edit".into()],
        results: results.iter().map(|call| call.to_string()).collect(),
        ordered,
        ..ModelCallSeen::default()
    };
    evidence.model_calls = Some(vec![
        asked(4_500, &[], vec![order]),
        asked(6_500, &["c1"], Vec::new()),
    ]);
    evidence
}

fn ordered(evidence: &mut Evidence) -> &mut OrderedCall {
    &mut evidence.model_calls.as_mut().expect("models")[0].ordered[0]
}

#[test]
fn p3_a_call_that_no_model_ordered_or_not_so() {
    assert_eq!(audit(&with_models(|_| {})), []);
    let mut other_tool = with_models(|_| {});
    ordered(&mut other_tool).tool = "bash".into();
    check_says(&other_tool, "P3", "not as it was ordered");
    for arguments in [
        json!({"path": "b", "edits": [{"newText": "x secret y"}], "line": 1}),
        json!({"path": "a", "edits": [{"newText": "x secret y"}], "line": 2}),
        json!({"path": "a", "edits": [{"newText": "x secret z"}], "line": 1}),
        json!({"path": "a", "edits": [], "line": 1}),
        json!({"path": "a", "line": 1}),
        json!("no JSON"),
    ] {
        let mut otherwise = with_models(|_| {});
        ordered(&mut otherwise).arguments = arguments;
        check_says(&otherwise, "P3", "not as it was ordered");
    }
    let mut offline = with_models(|steps| steps[3]["model"] = json!("offline"));
    offline.model_calls = Some(Vec::new());
    assert_eq!(audit(&offline), [], "its model is within the runtime");
    let mut never = with_models(|_| {});
    never.model_calls = Some(Vec::new());
    check_says(&never, "P3", "no model ordered it");
}

#[test]
fn p3_a_result_that_a_model_was_told_and_the_journal_does_not_have() {
    let mut unknown = with_models(|steps| drop(steps.drain(4..6)));
    unknown.effects.clear();
    check_says(&unknown, "P3", "a model was told the result");
    // A tool that does not exist does not begin.
    for model in unknown.model_calls.as_mut().expect("models") {
        model.offered.clear();
    }
    assert_eq!(audit(&unknown), []);
}

#[test]
fn p3_a_call_whose_model_was_told_its_result_and_of_which_nobody_knows() {
    let forgot = |told_at| {
        let mut forgot = with_models(|steps| steps[5] = tool("tool_indeterminate", "c1"));
        forgot.model_calls.as_mut().expect("models")[1].at_ms = told_at;
        forgot
    };
    check_says(&forgot(6_500), "P3", "its model was told so");
    // Who goes on after a crash is told of the call that was cut off.
    assert_eq!(audit(&forgot(7_500)), []);
}

#[test]
fn p4_a_process_that_outlives_its_run_and_an_end_without_proof() {
    let mut outlived = evidence(sound());
    outlived.processes.push(ProcessSeen {
        run: RUN.into(),
        pid: 4711,
    });
    check(&outlived, "P4");
    check(
        &with(|steps| steps[8]["proof"]["processes_left"] = json!(1)),
        "P4",
    );
    check(
        &with(|steps| steps[8]["proof"]["no_children"] = json!(false)),
        "P4",
    );
}

#[test]
fn p5_a_run_that_took_too_long() {
    let mut late = evidence(sound());
    for row in late.rows.iter_mut().skip(8) {
        row.at_ms += 3_600_000;
    }
    check(&late, "P5");
}

#[test]
fn p6_models_chosen_twice_and_an_attempt_on_another_one() {
    let routed = || json!({"step": "routed", "choice": {"chain": ["a/one", "b/two"]}});
    let on = |model: &str| {
        with(|steps| {
            steps[3]["model"] = json!(model);
            steps.insert(2, routed());
        })
    };
    assert_eq!(audit(&on("b/two")), []);
    check(&on("c/three"), "P6");
    let twice = with(|steps| {
        steps[3]["model"] = json!("a/one");
        steps.splice(2..2, [routed(), routed()]);
    });
    check(&twice, "P6");
}

/// The sound run on a model that was called twice, with what its attempt says it used and how it ended.
fn with_tokens(ending: &str, used: Option<Tokens>) -> Evidence {
    let mut evidence = with_models(|steps| {
        steps[3]["model"] = json!("a/one");
        steps[6]["ending"] = json!(ending);
        if let Some(used) = used {
            steps[6]["used"] = json!({"input": used.input, "output": used.output, "cache_read": used.cache_read,
                "cache_write": used.cache_write});
            let call = called(steps[6]["used"].clone());
            steps.insert(6, call);
        }
    });
    let of_calls = [tokens(100, 10), tokens(150, 20)];
    let calls = evidence.model_calls.as_mut().expect("models");
    for (call, used) in calls.iter_mut().zip(of_calls) {
        (call.model, call.used, call.whole) = ("one".into(), used, true);
    }
    evidence
}

/// A call of the sub-agent's model, in its first attempt.
fn called(used: Value) -> Value {
    json!({"step": "model_called", "call": {"by": {"part": "sub_agent", "attempt": 1}, "requested": "a/one",
        "used": used, "reserved": {"input": 1_000_000, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": null}}})
}

/// The sound run under these caps in dollars, with calls that cost so much each; none for a call that was cut off.
fn with_costs(budget: Value, costs: &[Option<f64>]) -> Evidence {
    with(|steps| {
        steps[0] = json!({"step": "accepted", "request": {"terms": {"budget": budget},
            "origin": {"session": "s"}, "chain": ["a/one"]}});
        let used = |cost: &f64| json!({"input": 10, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": cost});
        let calls = costs
            .iter()
            .map(|cost| called(cost.as_ref().map_or(Value::Null, used)));
        steps[6]["used"] = json!({"input": 10 * costs.iter().flatten().count()});
        steps.splice(6..6, calls);
    })
}

#[test]
fn p6_money_is_spent_up_to_the_cap_and_one_call_above_it() {
    let run = || json!({"run": {"usd": 1.0}});
    assert_eq!(audit(&with_costs(run(), &[Some(0.6), Some(0.3), Some(0.6)])), []);
    check_says(&with_costs(run(), &[Some(0.6); 4]), "P6", "may cost $1");
    let tree = json!({"tree": {"usd": 1.0}});
    check_says(&with_costs(tree, &[Some(0.6); 4]), "P6", "may cost $1");
    let session = json!({"session": {"usd": 1.0}});
    check_says(&with_costs(session, &[Some(0.6); 4]), "P6", "session s may cost");
    let cut = |assumed: f64| json!({"run": {"usd": 1.0}, "assumed_usd_per_million": assumed});
    assert_eq!(audit(&with_costs(cut(0.6), &[None, None])), []);
    check_says(
        &with_costs(cut(0.6), &[None, None, None, None]),
        "P6",
        "may cost $1",
    );
}

#[test]
fn p6_an_attempt_used_what_its_calls_used() {
    let mut evidence = with_costs(json!({}), &[Some(0.1), Some(0.1)]);
    assert_eq!(audit(&evidence), []);
    evidence.rows[8].step["used"]["input"] = json!(30);
    check_says(&evidence, "P6", "used 30 tokens, and its calls 20");
}

fn tokens(input: u64, output: u64) -> Tokens {
    Tokens {
        input,
        output,
        cache_read: 5,
        cache_write: 0,
    }
}

fn both_calls() -> Tokens {
    Tokens {
        cache_read: 10,
        ..tokens(250, 30)
    }
}

const MISCOUNTED: &str = "the models' server charged";

#[test]
fn p6_tokens_are_as_the_server_counted() {
    assert_eq!(audit(&with_tokens("answered", Some(both_calls()))), []);
    for other in [
        Tokens {
            input: 350,
            ..both_calls()
        },
        Tokens {
            output: 29,
            ..both_calls()
        },
        Tokens {
            cache_read: 5,
            ..both_calls()
        },
        Tokens {
            cache_write: 1,
            ..both_calls()
        },
        tokens(150, 20),
        Tokens::default(),
    ] {
        check_says(&with_tokens("answered", Some(other)), "P6", MISCOUNTED);
    }
}

#[test]
fn p6_of_an_answer_that_was_cut_off_some_may_be_counted_and_no_more_than_all() {
    let cut = |input, output| {
        let used = Tokens {
            input,
            output,
            ..both_calls()
        };
        let mut cut = with_tokens("unavailable", Some(used));
        cut.model_calls.as_mut().expect("models")[1].whole = false;
        cut
    };
    assert_eq!(audit(&cut(250, 11)), []);
    check_says(&cut(250, 31), "P6", MISCOUNTED);
    check_says(&cut(99, 30), "P6", MISCOUNTED);
}

#[test]
fn p6_who_was_stopped_may_not_have_heard_its_last_answer() {
    for ending in ["lost", "cancelled", "deadline"] {
        assert_eq!(audit(&with_tokens(ending, Some(tokens(100, 10)))), []);
        assert_eq!(audit(&with_tokens(ending, Some(both_calls()))), []);
        check_says(&with_tokens(ending, Some(Tokens::default())), "P6", MISCOUNTED);
    }
    assert_eq!(
        audit(&with_tokens("lost", None)),
        [],
        "nobody is left who heard it"
    );
}

#[test]
fn p6_attempts_on_one_model_at_one_time_are_counted_together() {
    let side_by_side = |input| {
        let mut evidence = with_tokens("answered", Some(tokens(100, 10)));
        let of_another = |row: &JournalRow| JournalRow {
            run: "01m7ynaym0000002".into(),
            ..row.clone()
        };
        let mut another = evidence.rows.iter().map(of_another).collect::<Vec<_>>();
        for used in [6, 7] {
            let step = &mut another[used].step;
            let used = if used == 6 {
                &mut step["call"]["used"]
            } else {
                &mut step["used"]
            };
            used["input"] = json!(input);
            used["output"] = json!(20);
        }
        evidence.rows.extend(another);
        let of_first = evidence.deliveries[0].clone();
        evidence.deliveries.push(DeliverySeen {
            run: "01m7ynaym0000002".into(),
            ..of_first
        });
        evidence
    };
    assert_eq!(audit(&side_by_side(150)), []);
    check_says(&side_by_side(250), "P6", MISCOUNTED);
}

#[test]
fn p7_an_older_generation_that_writes_after_a_newer_one() {
    let mut two_drivers = evidence(sound());
    two_drivers.rows[3].generation = 2;
    check(&two_drivers, "P7");
}

#[test]
fn p8_losses_without_end() {
    let lost = |attempt: u32| {
        [
            json!({"step": "attempt_started", "attempt": attempt}),
            json!({"step": "attempt_ended", "attempt": attempt, "ending": "lost"}),
        ]
    };
    let storm = with(|steps| {
        steps.splice(3..3, (10..13).flat_map(lost));
    });
    check(&storm, "P8");
}

#[test]
fn p9_a_question_to_an_actor_that_nobody_ever_answered() {
    let mut silent = evidence(sound());
    silent.unanswered.push("StartRun".into());
    check(&silent, "P9");
}

/// The sound run in a worktree of its own, whose patch was taken.
fn in_a_worktree(change: impl FnOnce(&mut Vec<Value>)) -> Evidence {
    with(|steps| {
        steps[0]["request"] = json!({"terms": {"isolation": "worktree"}});
        let kept = json!({"step": "patch_taken", "state": "succeeded"});
        steps.splice(8..8, [kept, json!({"step": "worktree_cleared"})]);
        steps.insert(3, json!({"step": "worktree_prepared"}));
        change(steps);
    })
}

#[test]
fn p2_what_was_changed_in_a_worktree_is_kept_and_p3_nothing_is_changed_outside() {
    assert_eq!(audit(&in_a_worktree(|_| {})), []);
    check_says(
        &in_a_worktree(|steps| drop(steps.remove(9))),
        "P2",
        "without a patch",
    );
    check_says(
        &in_a_worktree(|steps| drop(steps.drain(9..11))),
        "P2",
        "is not kept",
    );
    check_says(&in_a_worktree(|steps| drop(steps.drain(3..4))), "P3", "own files");
    check_says(
        &in_a_worktree(|steps| steps.insert(10, steps[9].clone())),
        "P1",
        "patch_taken more than once",
    );
}

#[test]
fn p2_a_whole_answer_that_is_not_where_the_journal_says() {
    let file = "/s/answers/a.1.md";
    let with = |answers: &[(&str, u64)]| {
        let ended = |step: &&mut Value| step["step"] == "attempt_ended";
        let mut evidence = with(|steps| {
            let ended = steps.iter_mut().find(ended).expect("an attempt");
            ended["whole"] = json!({"whole": "kept", "file": file, "bytes": 9});
        });
        let answers = answers.iter().map(|(file, bytes)| (file.into(), *bytes));
        evidence.answers = answers.collect();
        evidence
    };
    assert_eq!(audit(&with(&[(file, 9)])), []);
    check_says(&with(&[]), "P2", "its whole answer is not in /s/answers/a.1.md");
    check_says(&with(&[(file, 4)]), "P2", "its whole answer is not in");
}

#[test]
fn p2_a_worktree_that_nobody_knows_of_and_a_patch_that_is_missing() {
    let seen = |change: fn(&mut WorktreeSeen)| {
        let mut evidence = in_a_worktree(|_| {});
        let mut seen = WorktreeSeen {
            run: RUN.into(),
            stands: false,
            has_entry: true,
            is_taken: true,
            has_patch: true,
        };
        change(&mut seen);
        evidence.worktrees = vec![seen];
        evidence
    };
    assert_eq!(audit(&seen(|_| {})), []);
    check_says(&seen(|seen| seen.has_patch = false), "P2", "is not there");
    check_says(&seen(|seen| seen.stands = true), "P2", "says that it is gone");
    let mut unknown = seen(|seen| {
        seen.stands = true;
        seen.has_entry = false;
    });
    unknown.rows.retain(|row| row.step["step"] != "worktree_cleared");
    for (sequence, row) in (1..).zip(&mut unknown.rows) {
        row.sequence = sequence;
    }
    check_says(&unknown, "P2", "no entry knows");
}

#[test]
fn p3_what_a_worktree_forbids_does_not_begin_and_elsewhere_it_has_to() {
    let refused = |isolation: &str| {
        let mut evidence = with_models(|steps| {
            steps[0]["request"] = json!({"terms": {"isolation": isolation}});
            let kept = json!({"step": "patch_not_taken", "state": "succeeded"});
            if isolation == "worktree" {
                steps.insert(8, kept);
                steps.insert(3, json!({"step": "worktree_prepared"}));
            }
        });
        let models = evidence.model_calls.as_mut().unwrap();
        models[0].offered.push("bash".into());
        models[0].ordered.push(OrderedCall {
            call: "c9".into(),
            tool: "bash".into(),
            arguments: json!({"command": "git stash"}),
        });
        models[1].results.push("c9".into());
        evidence
    };
    assert_eq!(audit(&refused("worktree")), []);
    check_says(&refused("none"), "P3", "c9");
}
