//! Receipts of small runs, and the flags of a labelled list of answers.

use super::flags::AnswerFacts;
use super::*;
use crate::domain::{
    AttemptNumber, Briefing, CallEvidence, CallTarget, Clocks, CommandRun, FileChanged, FileSeen, FileState,
    Inherited, NotHashed, Origin, Persistence, Replay, RunRequest, RunTerms, Step, ToolUse, WhatToRun,
};
use crate::projection::RecordedStep;
use std::collections::BTreeSet;

fn request(task: &str, must_look: bool) -> RunRequest {
    RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: task.into(),
        origin: Origin {
            host: "cli".into(),
            session: None,
            resumes: None,
        },
        instructions: "Look.".into(),
        tools: vec!["read".into()],
        chain: vec!["house/a".into()],
        runner: "pi".into(),
        workspace: "/w".into(),
        briefing: Briefing::Direct,
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        continues: None,
        temperature: None,
        overflow_ceiling_bytes: 1000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        terms: RunTerms {
            must_look,
            ..RunTerms::default()
        },
        retrieval: Default::default(),
    }
}

// ---- the labelled list

/// A case of the list.
#[derive(Default)]
struct Labelled {
    label: Vec<String>,
    request: Option<RunRequest>,
    work: Work,
    there: BTreeSet<String>,
    answer: String,
}

fn list_of(value: &str) -> Vec<String> {
    let items = value.split(", ").map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(str::to_string)
        .collect()
}

fn used(tool: &str) -> ToolUse {
    ToolUse {
        tool: tool.into(),
        calls: 1,
        failed: 0,
        cut_off: 0,
    }
}

fn labelled() -> Vec<Labelled> {
    let text = include_str!("labelled.txt");
    let blocks = text.split("\n\n").filter(|block| block.contains("answer:"));
    blocks.map(read_case).collect()
}

fn read_case(block: &str) -> Labelled {
    let mut case = Labelled::default();
    let mut must_look = false;
    let mut task = String::new();
    for line in block.lines().filter(|line| !line.starts_with('#')) {
        let (key, value) = line.split_once(": ").expect("`key: value`");
        let value = value.replace("\\n", "\n");
        match key {
            "label" => case.label = list_of(value.trim_start_matches('-')),
            "must-look" => must_look = value == "yes",
            "task" => task = value,
            "read" => {
                case.work.tools.push(used("read"));
                case.work.read = list_of(&value).into_iter().map(file).collect();
            }
            "named" => {
                case.work.tools.push(used("grep"));
                case.work.named = list_of(&value);
            }
            "listed" => {
                case.work.tools.push(used("find"));
                case.work.listed = list_of(&value);
            }
            "ran" => {
                case.work.tools.push(used("bash"));
                case.work.commands = value.split(" ## ").map(command).collect();
            }
            "tools" => case
                .work
                .tools
                .extend(list_of(&value).iter().map(|tool| used(tool))),
            "there" => case.there = list_of(&value).into_iter().collect(),
            "answer" => case.answer = value,
            other => panic!("{other} is no key"),
        }
    }
    case.request = Some(request(&task, must_look));
    case
}

fn file(path: String) -> FileSeen {
    FileSeen {
        path,
        state: FileState::Absent,
    }
}

fn command(line: &str) -> CommandRun {
    let (command, code) = line.rsplit_once(" => ").expect("`command => code`");
    CommandRun {
        command: command.into(),
        exit_code: code.parse().ok(),
        cut_off: false,
    }
}

fn in_short(flag: &Flag) -> String {
    match flag {
        Flag::NothingLookedAt => "nothing".into(),
        Flag::CitedUnread { path, .. } => format!("unread {path}"),
        Flag::TestsNotRun { .. } => "not-run".into(),
        Flag::TestsFailed { .. } => "failed".into(),
    }
}

/// What is flagged is right, and little of what is wrong is missed.
#[test]
fn flags_of_the_labelled_answers() {
    let (mut right, mut wrong, mut missed) = (0, Vec::new(), Vec::new());
    let cases = labelled();
    for case in &cases {
        let facts = AnswerFacts {
            request: case.request.as_ref().expect("a request"),
            work: &case.work,
            told: "",
            present: Some(&case.there),
        };
        let flags: Vec<String> = flag_answer(&case.answer, &facts).iter().map(in_short).collect();
        for flag in &flags {
            match case.label.contains(flag) {
                true => right += 1,
                false => wrong.push(format!("{flag}: {}", case.answer)),
            }
        }
        let unflagged = case.label.iter().filter(|label| !flags.contains(label));
        missed.extend(unflagged.map(|label| format!("{label}: {}", case.answer)));
    }
    println!(
        "{} answers: {right} flags are right, {} wrong, {} missed",
        cases.len(),
        wrong.len(),
        missed.len()
    );
    assert_eq!((wrong, missed), (Vec::<String>::new(), Vec::<String>::new()));
    assert!(right >= 20, "the list says little: {right}");
}

// ---- receipts

fn hashed(letter: char) -> FileState {
    FileState::Hashed {
        sha256: letter.to_string().repeat(64),
        bytes: 3,
    }
}

fn seen(path: &str, state: FileState) -> FileSeen {
    FileSeen {
        path: path.into(),
        state,
    }
}

fn reads(path: &str) -> Option<CallTarget> {
    Some(CallTarget::Reads {
        file: seen(path, hashed('a')),
    })
}

fn changes(path: &str, before: FileState) -> Option<CallTarget> {
    Some(CallTarget::Changes {
        file: seen(path, before),
    })
}

fn runs(command: &str) -> Option<CallTarget> {
    Some(CallTarget::Runs {
        command: command.into(),
    })
}

/// What became of a call.
enum Became {
    Well(CallEvidence),
    Failed(CallEvidence),
    CutOff,
    /// And its file was this afterwards.
    CutOffLeaving(FileState),
}

fn after(state: FileState) -> CallEvidence {
    CallEvidence {
        after: Some(state),
        ..CallEvidence::default()
    }
}

fn exited(code: i32) -> CallEvidence {
    CallEvidence {
        exit_code: Some(code),
        ..CallEvidence::default()
    }
}

fn run_of(request: RunRequest, calls: Vec<(&str, Option<CallTarget>, Became)>) -> RunProjection {
    let attempt = AttemptNumber(1);
    let mut steps = vec![
        Step::Accepted {
            request: Box::new(request),
        },
        Step::Briefed {
            brief: Default::default(),
            verdict: None,
        },
        Step::Admitted,
        Step::AttemptStarted {
            attempt,
            model: "house/a".into(),
            runner: "pi".into(),
            session_file: None,
            resumes_session: false,
        },
    ];
    for (number, (tool, target, became)) in calls.into_iter().enumerate() {
        let call = format!("1.{number}:x");
        steps.push(Step::ToolStarted {
            attempt,
            call: call.clone(),
            tool: tool.into(),
            summary: String::new(),
            arguments: None,
            replay: match tool {
                "read" => Replay::Safe,
                _ => Replay::Unsafe,
            },
            target,
        });
        let (is_error, evidence) = match became {
            Became::Well(evidence) => (false, evidence),
            Became::Failed(evidence) => (true, evidence),
            Became::CutOff | Became::CutOffLeaving(_) => {
                let after = match became {
                    Became::CutOffLeaving(after) => Some(after),
                    _ => None,
                };
                steps.push(Step::ToolIndeterminate {
                    attempt,
                    call,
                    tool: tool.into(),
                    after,
                });
                continue;
            }
        };
        steps.push(Step::ToolEnded {
            attempt,
            call,
            is_error,
            bytes: 0,
            preview: String::new(),
            overflow: None,
            evidence: Some(Box::new(evidence)),
        });
    }
    let steps = steps.into_iter().zip(1..).map(|(step, sequence)| RecordedStep {
        sequence,
        generation: 1,
        at_ms: sequence,
        step,
    });
    RunProjection::of(&steps.collect::<Vec<_>>())
}

fn worked() -> RunProjection {
    let quiet = CallEvidence::default;
    run_of(
        request("Fix it", true),
        vec![
            ("read", reads("src/a.rs"), Became::Well(quiet())),
            ("read", reads("src/gone.rs"), Became::Failed(quiet())),
            (
                "edit",
                changes("src/a.rs", hashed('a')),
                Became::Well(after(hashed('b'))),
            ),
            (
                "edit",
                changes("src/a.rs", hashed('b')),
                Became::Well(after(hashed('c'))),
            ),
            (
                "edit",
                changes("src/b.rs", hashed('d')),
                Became::Failed(after(hashed('d'))),
            ),
            ("write", changes("new.rs", FileState::Absent), Became::CutOff),
            ("bash", runs("cargo test"), Became::Failed(exited(101))),
            ("bash", runs("sleep 9"), Became::CutOff),
        ],
    )
}

/// A tool of ours says all that it changed: of several files each is in the receipt, and nothing else may have changed.
#[test]
fn what_a_tool_of_ours_changed_is_in_the_receipt_file_by_file() {
    let replaced = |path: &str, from: char, to: char| FileChanged {
        path: path.into(),
        before: hashed(from),
        after: Some(hashed(to)),
    };
    let said = CallEvidence {
        changed: vec![replaced("a.rs", 'b', 'c'), replaced("b.rs", 'd', 'e')],
        changed_besides: 3,
        ..CallEvidence::default()
    };
    let edited = CallEvidence {
        changed: vec![replaced("a.rs", 'a', 'b')],
        ..after(hashed('b'))
    };
    let run = run_of(
        request("Rename it", true),
        vec![
            (
                "hashline_edit",
                changes("a.rs", hashed('a')),
                Became::Well(edited),
            ),
            ("ast_replace", None, Became::Well(said.clone())),
            ("ast_replace", None, Became::Failed(CallEvidence::default())),
        ],
    );
    let work = Receipt::of(&run).work;
    assert_eq!(
        work.changed,
        [replaced("a.rs", 'a', 'c'), replaced("b.rs", 'd', 'e')]
    );
    assert_eq!((work.changed_besides, work.may_have_changed_more), (3, false));

    let cut_off = run_of(
        request("Rename it", true),
        vec![("ast_replace", None, Became::CutOff)],
    );
    assert!(Receipt::of(&cut_off).work.may_have_changed_more);
}

/// Of a change that was cut off, what the file was afterwards.
#[test]
fn a_change_that_was_cut_off_is_what_its_file_was_afterwards() {
    for (left, changed) in [(hashed('b'), Some(Some(hashed('b')))), (hashed('a'), None)] {
        let became = Became::CutOffLeaving(left);
        let run = run_of(
            request("Fix it", true),
            vec![("edit", changes("a.rs", hashed('a')), became)],
        );
        let work = Receipt::of(&run).work;
        assert_eq!(work.changed.first().map(|file| file.after.clone()), changed);
        assert_eq!(work.tools[0].cut_off, 1);
    }
}

#[test]
fn a_receipt_says_what_was_seen_and_no_more() {
    let run = worked();
    assert_eq!(run.contradictions, []);
    let work = Receipt::of(&run).work;
    assert_eq!(work.read, [seen("src/a.rs", hashed('a'))]);
    let changed: Vec<_> = work
        .changed
        .iter()
        .map(|file| (file.path.as_str(), &file.before, file.after.as_ref()))
        .collect();
    let (first, last) = (hashed('a'), hashed('c'));
    assert_eq!(
        changed,
        [
            ("src/a.rs", &first, Some(&last)),
            ("new.rs", &FileState::Absent, None)
        ]
    );
    let commands: Vec<_> = work
        .commands
        .iter()
        .map(|run| (run.exit_code, run.cut_off))
        .collect();
    assert_eq!(commands, [(Some(101), false), (None, true)]);
    let tools: Vec<_> = work
        .tools
        .iter()
        .map(|of| (of.tool.as_str(), of.calls, of.failed, of.cut_off))
        .collect();
    assert_eq!(
        tools,
        [
            ("read", 2, 1, 0),
            ("edit", 3, 1, 0),
            ("write", 1, 0, 1),
            ("bash", 2, 1, 1)
        ]
    );
    assert!(work.may_have_changed_more);
}

#[test]
fn a_receipt_is_said_in_one_line_and_in_full() {
    let receipt = Receipt::of(&worked());
    assert_eq!(
        receipt_line(&receipt).as_deref(),
        Some(
            "Seen by the runtime: 8 tool calls; 1 file read; changed src/a.rs, new.rs; 2 commands (1 exited with an error, \
             1 with a code that nobody knows); commands or tools of it may have changed more."
        )
    );
    assert_eq!(
        receipt_lines(&receipt),
        [
            "tools    3× edit (1 failed) · 2× bash (1 failed, 1 cut off) · 2× read (1 failed) · 1× write (1 cut off)",
            "read     src/a.rs  sha256 aaaaaaaaaaaa…",
            "changed  src/a.rs  sha256 aaaaaaaaaaaa… → sha256 cccccccccccc…",
            "changed  new.rs  absent → nobody knows: it was cut off",
            "ran      cargo test  exit 101",
            "ran      sleep 9  cut off",
            "Commands or tools of it may have changed more than the runtime saw.",
            "models   house/a (0 calls)",
        ]
    );
}

#[test]
fn nothing_done_is_nothing_said() {
    let run = run_of(request("Fix it", true), Vec::new());
    assert_eq!(receipt_line(&Receipt::of(&run)), None);
}

#[test]
fn what_was_not_hashed_says_why() {
    let too_large = FileState::NotHashed {
        why: NotHashed::TooLarge,
    };
    let read = Some(CallTarget::Reads {
        file: seen("big.bin", too_large),
    });
    let run = run_of(
        request("Look", true),
        vec![("read", read, Became::Well(CallEvidence::default()))],
    );
    assert_eq!(
        receipt_lines(&Receipt::of(&run))[1],
        "read     big.bin  not hashed: too large"
    );
}

/// What the run before it read is known to the session that goes on.
#[test]
fn a_run_that_goes_on_with_another_one_has_its_work() {
    let earlier = Receipt::of(&worked()).work;
    let mut goes_on = request("Fix it", true);
    goes_on.terms.inherited = Some(Box::new(Inherited {
        work: Some(Box::new(earlier.clone())),
        ..Inherited::default()
    }));
    let from_scratch = run_of(goes_on.clone(), Vec::new());
    assert_eq!(work_of(&from_scratch), Work::default());
    goes_on.continues = Some("go on".into());
    let run = run_of(
        goes_on,
        vec![("bash", runs("cargo test"), Became::Well(exited(0)))],
    );
    let work = work_of(&run);
    assert_eq!(work.read, earlier.read);
    assert_eq!(work.commands.len(), 3);
}

#[test]
fn lists_are_bounded_and_say_what_is_missing() {
    let paths: Vec<String> = (0..300).map(|number| format!("f{number}.rs")).collect();
    let mut calls: Vec<_> = paths
        .iter()
        .map(|path| ("read", reads(path), Became::Well(CallEvidence::default())))
        .collect();
    calls.extend((0..250).map(|_| ("bash", runs("true"), Became::Well(exited(0)))));
    let work = work_of(&run_of(request("Look", true), calls));
    assert_eq!((work.read.len(), work.read_besides), (200, 100));
    assert_eq!((work.commands.len(), work.commands_before), (200, 50));
}

#[test]
fn every_flag_is_a_statement_of_fact() {
    let cited = |missing| Flag::CitedUnread {
        path: "src/a.rs".into(),
        line: Some(3),
        missing,
    };
    assert_eq!(
        flag_words(&cited(false)),
        "It cites src/a.rs:3, which it did not look at."
    );
    assert!(flag_words(&cited(true)).contains("there is no such file"));
    let failed = Flag::TestsFailed {
        claim: "All tests pass.".into(),
        command: "cargo test".into(),
        exit_code: 101,
    };
    assert_eq!(
        flag_words(&failed),
        "It says \"All tests pass.\", and its last test command (cargo test) exited with code 101."
    );
}

#[test]
fn an_answer_names_what_is_looked_for() {
    assert_eq!(
        files_to_look_for("src/a.rs:1, src/a.rs:2 and b.py"),
        ["b.py", "src/a.rs"]
    );
}
