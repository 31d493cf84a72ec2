//! Facts about the [`Store`].

use super::samples::*;
use crate::gateways::UnixMillis;
use crate::journal::{
    Alert, CallRefusal, JournalError, OVERFLOW_BYTES_MAX, OverflowContent, OverflowListing, Pruned,
    Retention, Row, RunFilter, RunProgress, SkillOf, SqliteStore, Store,
};
use impresario_policies::domain::{AttemptNumber, RunState, SessionId, Step, TerminalState};
use impresario_policies::projection::RunProjection;

fn check(fact: impl Fn(&mut dyn Store) -> Outcome) -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut in_file = SqliteStore::open(directory.path(), &runtime(1))?.store;
    fact(&mut in_file)
}

fn check_refused(store: &mut dyn Store, rows: &[Row], expected: JournalError) {
    assert_eq!(store.commit(rows), Err(expected));
}

fn recorded(rows: &[Row]) -> Vec<impresario_policies::projection::RecordedStep> {
    rows.iter().map(Row::recorded).collect()
}

#[test]
fn every_kind_of_step_is_read_as_it_was_written() -> Outcome {
    check(|store| {
        let written = rows(&run(1), whole_run());
        for row in &written {
            store.commit(std::slice::from_ref(row))?;
        }
        assert_eq!(store.steps(&run(1), 0)?, recorded(&written));
        assert_eq!(store.steps(&run(1), 16)?, recorded(&written[16..]));
        assert_eq!(store.steps(&run(1), u64::from(u32::MAX))?, []);
        assert_eq!(store.steps(&run(2), 0)?, []);
        Ok(())
    })
}

#[test]
fn a_batch_is_written_whole_or_not_at_all() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted()]))?;
        let bad = [
            row(&run(1), 2, Step::Admitted),
            row(&run(2), 1, accepted()),
            row(&run(1), 9, Step::Delivered),
        ];
        check_refused(store, &bad, gap(&run(1), 3, 9));
        assert_eq!(store.steps(&run(1), 0)?.len(), 1);
        assert_eq!(store.runs(&RunFilter::default())?.len(), 1);
        store.commit(&bad[..2])?;
        assert_eq!(store.steps(&run(1), 0)?.len(), 2);
        assert_eq!(store.steps(&run(2), 0)?.len(), 1);
        Ok(())
    })
}

#[test]
fn a_row_that_stands_already_counts_as_written() -> Outcome {
    check(|store| {
        let written = rows(&run(1), whole_run());
        store.commit(&written)?;
        store.commit(&written)?;
        let mut later = written[3].clone();
        later.at = UnixMillis(99_999);
        store.commit(&[later])?;
        assert_eq!(store.steps(&run(1), 0)?, recorded(&written));
        let overlapping = rows(&run(2), [accepted(), Step::Admitted]);
        store.commit(&overlapping[..1])?;
        store.commit(&overlapping)?;
        assert_eq!(store.steps(&run(2), 0)?.len(), 2);
        Ok(())
    })
}

#[test]
fn another_step_in_the_same_place_is_a_conflict() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted(), cancel_requested("esc")]))?;
        check_refused(
            store,
            &[row(&run(1), 2, cancel_requested("end of input"))],
            conflict(&run(1), 2),
        );
        check_refused(
            store,
            &[row(&run(1), 1, accepted_for("another session"))],
            conflict(&run(1), 1),
        );
        let twice_in_one_batch = [
            row(&run(1), 3, Step::Admitted),
            row(&run(1), 3, cancel_requested("esc")),
        ];
        check_refused(store, &twice_in_one_batch, conflict(&run(1), 3));
        assert_eq!(store.steps(&run(1), 0)?.len(), 2);
        Ok(())
    })
}

#[test]
fn steps_leave_no_gap_and_begin_with_the_acceptance() -> Outcome {
    check(|store| {
        check_refused(store, &[row(&run(1), 2, Step::Admitted)], gap(&run(1), 1, 2));
        check_refused(store, &[row(&run(1), 0, accepted())], gap(&run(1), 1, 0));
        check_refused(
            store,
            &[row(&run(1), 1, Step::Admitted)],
            JournalError::NotAccepted { run: run(1) },
        );
        store.commit(&rows(&run(1), [accepted()]))?;
        check_refused(store, &[row(&run(1), 3, Step::Admitted)], gap(&run(1), 2, 3));
        check_refused(store, &[row(&run(1), 0, Step::Admitted)], gap(&run(1), 2, 0));
        Ok(())
    })
}

#[test]
fn another_generation_is_fenced() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted()]))?;
        for generation in [0, 2] {
            let foreign = in_generation(row(&run(1), 2, Step::Admitted), generation);
            check_refused(store, &[foreign], fenced(&run(1), 1, generation));
        }
        let foreign_again = in_generation(row(&run(1), 1, accepted()), 0);
        check_refused(store, &[foreign_again], fenced(&run(1), 1, 0));
        let foreign_beginning = in_generation(row(&run(2), 1, accepted()), 2);
        check_refused(store, &[foreign_beginning], fenced(&run(2), 1, 2));
        Ok(())
    })
}

#[test]
fn the_members_of_a_group_are_accepted_all_or_none() -> Outcome {
    check(|store| {
        let members = |numbers: &[u64], of: u64| {
            let rows = numbers
                .iter()
                .map(|number| row(&run(*number), 1, accepted_in(of)));
            rows.collect::<Vec<_>>()
        };
        store.commit(&members(&[1, 2, 3], 1))?;
        let mut with_a_gap = members(&[4, 5], 2);
        with_a_gap.push(row(&run(6), 2, Step::Admitted));
        check_refused(store, &with_a_gap, gap(&run(6), 1, 2));
        let mut of = |number| -> Result<Vec<_>, JournalError> {
            let found = store.runs(&RunFilter::of_group(group(number)))?;
            Ok(found.into_iter().map(|found| found.run).collect())
        };
        assert_eq!(of(1)?, [run(3), run(2), run(1)]);
        assert_eq!(of(2)?, []);
        Ok(())
    })
}

#[test]
fn only_delivery_follows_the_end() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted(), failed()]))?;
        let refused = JournalError::AlreadyEnded {
            run: run(1),
            sequence: 3,
        };
        check_refused(store, &[row(&run(1), 3, failed())], refused.clone());
        check_refused(store, &[row(&run(1), 3, cancel_requested("esc"))], refused);
        store.commit(&[
            row(&run(1), 3, Step::Delivered),
            row(&run(1), 4, Step::DeliveryAcknowledged),
        ])?;
        Ok(())
    })
}

#[test]
fn a_summary_says_what_the_projection_says_after_every_step() -> Outcome {
    check(|store| {
        let written = rows(&run(1), whole_run());
        for row in &written {
            store.commit(std::slice::from_ref(row))?;
            let projection = RunProjection::of(&store.steps(&run(1), 0)?);
            let summary = store.runs(&RunFilter::default())?.remove(0);
            assert_eq!(projection.contradictions, []);
            assert_eq!(summary.state, projection.state(), "after step {}", row.sequence);
            assert_eq!(summary.steps, projection.steps);
            assert_eq!(summary.acknowledged, projection.acknowledged);
            assert_eq!(
                summary.ended_at.map(|at| at.0),
                projection.ended.map(|end| end.at_ms)
            );
            assert_eq!(summary.last_step_at.0, projection.last_step_at_ms);
        }
        Ok(())
    })
}

#[test]
fn a_summary_tells_who_asked_for_what_and_why_it_failed() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted(), failed()]))?;
        let summary = store.runs(&RunFilter::default())?.remove(0);
        let Step::Accepted { request } = accepted() else {
            unreachable!()
        };
        assert_eq!(summary.what, request.what);
        assert_eq!(summary.task, request.task);
        assert_eq!(
            (summary.host, summary.session),
            (request.origin.host, request.origin.session)
        );
        assert_eq!(summary.resumes, Some(run(77)));
        assert_eq!(summary.owner, runtime(1).id);
        assert_eq!(
            summary.reason.map(|reason| reason.message),
            Some("no model could be had".to_string())
        );
        Ok(())
    })
}

#[test]
fn filters_find_what_they_name_newest_first() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), whole_run()))?;
        store.commit(&rows(&run(2), [accepted(), failed()]))?;
        store.commit(&rows(
            &run(3),
            [accepted_for("session-b"), failed(), Step::Delivered],
        ))?;
        store.commit(&rows(&run(4), [accepted_for("session-b")]))?;
        store.commit(&rows(&run(5), [accepted(), Step::Admitted]))?;
        let mut check_found = |filter: RunFilter, expected: &[u64]| -> Outcome {
            let found: Vec<_> = store.runs(&filter)?.into_iter().map(|found| found.run).collect();
            let expected: Vec<_> = expected.iter().map(|number| run(*number)).collect();
            assert_eq!(found, expected, "{filter:?}");
            Ok(())
        };
        check_found(RunFilter::default(), &[5, 4, 3, 2, 1])?;
        check_found(RunFilter::newest(2), &[5, 4])?;
        check_found(RunFilter::unfinished(), &[5, 4])?;
        let undelivered_to = |session: &str| RunFilter {
            progress: RunProgress::Undelivered,
            session: Some(SessionId(session.into())),
            ..RunFilter::default()
        };
        check_found(undelivered_to("session-a"), &[2])?;
        check_found(undelivered_to("session-b"), &[3])?;
        check_found(undelivered_to("session-c"), &[])?;
        check_found(
            RunFilter {
                owner: Some(runtime(1).id),
                newest: 1,
                ..RunFilter::unfinished()
            },
            &[5],
        )?;
        check_found(
            RunFilter {
                owner: Some(runtime(2).id),
                ..RunFilter::default()
            },
            &[],
        )?;
        check_found(RunFilter::of_group(group(1)), &[])?;
        check_found(RunFilter::id_prefix(run(3).as_str()), &[3])?;
        check_found(RunFilter::id_prefix(&run(3).as_str()[..4]), &[5, 4])?;
        check_found(RunFilter::id_prefix("zz%_"), &[])
    })
}

#[test]
fn each_of_the_four_ends_is_listed_as_what_it_is() -> Outcome {
    check(|store| {
        let states = [
            TerminalState::Succeeded,
            TerminalState::Failed,
            TerminalState::Cancelled,
            TerminalState::Parked,
        ];
        for (number, state) in (1..).zip(states) {
            let end = Step::Ended {
                state,
                reason: None,
                proof: proof(),
            };
            store.commit(&rows(&run(number), [accepted(), end]))?;
            assert_eq!(
                store.runs(&RunFilter::newest(1))?.remove(0).state,
                RunState::from(state)
            );
        }
        Ok(())
    })
}

#[test]
fn what_was_kept_aside_is_there_until_it_is_deleted_or_the_run_ends() -> Outcome {
    check(|store| {
        let text: OverflowContent = "many lines\nof output \u{0}".into();
        let missing = store.put_overflow(&run(1), &overflow(1, &text), &text);
        assert_eq!(missing, Err(JournalError::UnknownRun { run: run(1) }));
        store.commit(&rows(&run(1), [accepted()]))?;
        store.commit(&rows(&run(2), [accepted()]))?;
        assert_eq!(
            store.overflows(&run(1))?,
            OverflowListing {
                entries: vec![],
                next_handle: 1
            }
        );

        for handle in 1..=3 {
            store.put_overflow(&run(1), &overflow(handle, &text), &text)?;
        }
        store.put_overflow(&run(2), &overflow(1, &text), &text)?;
        assert_eq!(store.overflow(&run(1), 2)?, Some(text.clone()));
        assert_eq!(store.overflow(&run(1), 4)?, None);

        let entries = vec![overflow(1, &text), overflow(2, &text), overflow(3, &text)];
        assert_eq!(
            store.overflows(&run(1))?,
            OverflowListing {
                entries,
                next_handle: 4
            }
        );

        store.commit(&[row(&run(1), 2, failed())])?;
        assert_eq!(store.overflow(&run(1), 1)?, None);
        assert_eq!(
            store.overflows(&run(1))?,
            OverflowListing {
                entries: vec![],
                next_handle: 1
            }
        );
        assert_eq!(store.overflow(&run(2), 1)?, Some(text.clone()));
        let late = store.put_overflow(&run(1), &overflow(5, &text), &text);
        assert_eq!(
            late,
            Err(JournalError::AlreadyEnded {
                run: run(1),
                sequence: 2
            })
        );
        Ok(())
    })
}

#[test]
fn a_handle_never_means_two_things() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted()]))?;
        let first: OverflowContent = "first".into();
        let second: OverflowContent = "second".into();
        store.put_overflow(&run(1), &overflow(1, &first), &first)?;
        store.put_overflow(&run(1), &overflow(1, &first), &first)?;
        let refused = Err(JournalError::OverflowConflict {
            run: run(1),
            handle: 1,
        });
        assert_eq!(
            store.put_overflow(&run(1), &overflow(1, &second), &second),
            refused
        );
        Ok(())
    })
}

#[test]
fn what_is_too_large_is_refused() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted()]))?;
        let huge: OverflowContent = "x".repeat(OVERFLOW_BYTES_MAX + 1).into();
        let refused = JournalError::TooLarge {
            bytes: OVERFLOW_BYTES_MAX + 1,
            bytes_max: OVERFLOW_BYTES_MAX,
        };
        assert_eq!(
            store.put_overflow(&run(1), &overflow(1, &huge), &huge),
            Err(refused)
        );
        Ok(())
    })
}

#[test]
fn retention_forgets_only_what_ended_long_ago_and_is_not_among_the_newest() -> Outcome {
    check(|store| {
        let ended_at = |number: u64, at: u64, acknowledged: bool| {
            let mut written = rows(&run(number), [accepted(), failed()]);
            written[1].at = UnixMillis(at);
            if acknowledged {
                written.push(row(&run(number), 3, Step::DeliveryAcknowledged));
            }
            written
        };
        store.commit(&ended_at(1, 10, true))?;
        store.commit(&ended_at(2, 10, false))?;
        store.commit(&ended_at(3, 100, false))?;
        store.commit(&ended_at(4, 100, true))?;
        store.commit(&ended_at(5, 200, true))?;
        store.commit(&rows(&run(6), [accepted()]))?;
        store.commit(&ended_at(7, 10, true))?;
        let retention = Retention {
            acknowledged_before: UnixMillis(150),
            abandoned_before: UnixMillis(50),
            keep_newest: 2,
        };
        assert_eq!(
            store.prune(&retention)?,
            Pruned {
                runs: 3,
                steps: 8,
                abandoned: 1
            }
        );
        let left: Vec<_> = store
            .runs(&RunFilter::default())?
            .into_iter()
            .map(|left| left.run)
            .collect();
        assert_eq!(left, [run(7), run(6), run(5), run(3)]);
        assert_eq!(store.steps(&run(1), 0)?, []);
        assert_eq!(store.steps(&run(3), 0)?.len(), 2);
        assert_eq!(store.prune(&retention)?, Pruned::default());
        Ok(())
    })
}

#[test]
fn nothing_is_a_fine_thing_to_commit() -> Outcome {
    check(|store| Ok(store.commit(&[])?))
}

#[test]
fn an_alert_stands_unless_somebody_was_told_meanwhile() -> Outcome {
    check(|store| {
        let of = SkillOf {
            workspace: "w".into(),
            skill: "demo".into(),
        };
        let other = SkillOf {
            skill: "demo_extra".into(),
            ..of.clone()
        };
        let alert = |at: u64, number: u64| Alert {
            at: UnixMillis(at),
            run: run(number),
        };
        assert_eq!(store.last_alert(&of)?, None);
        assert!(store.raise_alert(&of, &alert(10, 1), None)?);
        assert_eq!(store.last_alert(&of)?, Some(alert(10, 1)));
        assert_eq!(store.last_alert(&other)?, None);
        assert!(!store.raise_alert(&of, &alert(11, 2), None)?);
        assert!(store.raise_alert(&of, &alert(12, 1), None)?);
        assert!(!store.raise_alert(&of, &alert(13, 2), Some(UnixMillis(10)))?);
        assert!(store.raise_alert(&of, &alert(14, 2), Some(UnixMillis(12)))?);
        assert_eq!(store.last_alert(&of)?, Some(alert(14, 2)));
        Ok(())
    })
}

#[test]
fn what_is_seen_of_a_run_follows_its_end() -> Outcome {
    check(|store| {
        let observed = Step::Observed {
            verdict: None,
            alerted: false,
        };
        store.commit(&rows(&run(1), [accepted(), failed(), Step::Delivered, observed]))?;
        assert_eq!(store.steps(&run(1), 0)?.len(), 4);
        Ok(())
    })
}

fn refused(call: &str, why: CallRefusal) -> JournalError {
    JournalError::Call {
        run: run(1),
        attempt: AttemptNumber(1),
        call: call.into(),
        why,
    }
}

#[test]
fn a_call_begins_once_and_ends_once_whoever_says_so() -> Outcome {
    check(|store| {
        let begun = [accepted(), tool_started(1, "a")];
        store.commit(&rows(&run(1), begun))?;
        let third = |step| [row(&run(1), 3, step)];
        check_refused(
            store,
            &third(tool_started(1, "a")),
            refused("a", CallRefusal::BeganBefore),
        );
        check_refused(
            store,
            &third(tool_ended(1, "b")),
            refused("b", CallRefusal::NeverBegan),
        );
        let end_of_another_attempt = JournalError::Call {
            run: run(1),
            attempt: AttemptNumber(2),
            call: "a".into(),
            why: CallRefusal::NeverBegan,
        };
        check_refused(store, &third(tool_ended(2, "a")), end_of_another_attempt);
        store.commit(&third(tool_ended(1, "a")))?;
        for (step, why) in [
            (tool_ended(1, "a"), CallRefusal::EndedBefore),
            (tool_indeterminate(1, "a"), CallRefusal::EndedBefore),
            (tool_started(1, "a"), CallRefusal::BeganBefore),
        ] {
            check_refused(store, &[row(&run(1), 4, step)], refused("a", why));
        }
        store.commit(&[row(&run(1), 4, tool_started(2, "a"))])?;
        Ok(store.commit(&[row(&run(1), 5, tool_indeterminate(2, "a"))])?)
    })
}

#[test]
fn what_was_refused_with_others_is_not_remembered() -> Outcome {
    check(|store| {
        store.commit(&rows(&run(1), [accepted()]))?;
        let both = [
            row(&run(1), 2, tool_started(1, "a")),
            row(&run(1), 3, tool_started(1, "a")),
        ];
        check_refused(store, &both, refused("a", CallRefusal::BeganBefore));
        store.commit(&both[..1])?;
        Ok(store.commit(&[row(&run(1), 3, tool_ended(1, "a"))])?)
    })
}

#[test]
fn the_calls_of_a_file_that_was_closed_are_known() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut first = SqliteStore::open(directory.path(), &runtime(1))?.store;
    first.commit(&rows(
        &run(1),
        [
            accepted(),
            tool_started(1, "a"),
            tool_ended(1, "a"),
            tool_started(1, "b"),
        ],
    ))?;
    first.close()?;
    let mut second = SqliteStore::open(directory.path(), &runtime(2))?.store;
    let generation = second.claim(&run(1), 1)?;
    let fifth = |step| {
        [Row {
            generation,
            ..row(&run(1), 5, step)
        }]
    };
    check_refused(
        &mut second,
        &fifth(tool_started(1, "a")),
        refused("a", CallRefusal::BeganBefore),
    );
    check_refused(
        &mut second,
        &fifth(tool_ended(1, "a")),
        refused("a", CallRefusal::EndedBefore),
    );
    Ok(second.commit(&fifth(tool_indeterminate(1, "b")))?)
}
