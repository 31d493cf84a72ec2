//! A program in Pi's place that floods, lies, hangs, dies or stays: the attempt ends once, as it was, and nothing is left.

use crate::runner::{Attempt, GRACE, LONG, Outcome, on_one_thread, request, runner, runner_below};
use impresario_actors::gateways::{AttemptRequest, RunnerEvent};
use impresario_actors::processes::marked_processes;
use impresario_actors::runners::pi::PiRunner;
use impresario_policies::domain::AttemptEnding;
use impresario_test_support::programs::write_script;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BEGIN: &str = r#"echo '{"type":"agent_start"}'"#;
const ANSWER: &str = r#"echo '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"42"}],"stopReason":"stop"}}'"#;
const END: &str = r#"echo '{"type":"agent_end","messages":[]}'"#;
const SETTLED: &str = r#"echo '{"type":"agent_settled"}'"#;

/// A place with a program that is called `pi` and does what a test says.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = Self { directory };
        place.write_pi("echo 0.87.1 && exit 0", script);
        place
    }

    /// What it does when it is asked for its version, and else.
    fn write_pi(&self, version: &str, script: &str) {
        write_script(
            &self.pi(),
            &format!("[ \"$1\" = --version ] && {version}\n{script}"),
        );
    }

    fn pi(&self) -> PathBuf {
        self.directory.path().join("pi")
    }

    fn runner(&self) -> PiRunner {
        let environment = BTreeMap::from([("PATH".to_string(), "/usr/local/bin:/usr/bin:/bin".to_string())]);
        runner(&self.pi(), environment, self.directory.path())
    }

    fn request(&self) -> AttemptRequest {
        request("mock/mock-1", self.directory.path(), self.directory.path())
    }

    async fn start(&self) -> Attempt {
        Attempt::start(&self.runner(), self.request())
            .await
            .expect("the program starts")
    }
}

/// Plays a script to its end.
fn play(script: &str) -> Outcome {
    let place = Place::new(script);
    on_one_thread(async { place.start().await.outcome().await })
}

/// Plays a script that does not end, and stops it after a while.
fn play_and_stop(script: &str, after: Duration) -> Outcome {
    let place = Place::new(script);
    on_one_thread(async {
        let mut attempt = place.start().await;
        let listening = attempt.until(|event| matches!(event, RunnerEvent::Ended(_)));
        assert!(
            tokio::time::timeout(after, listening).await.is_err(),
            "it ended by itself"
        );
        let proof = attempt.handle.stop(Duration::from_millis(200)).await;
        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
        attempt.outcome().await
    })
}

#[test]
fn a_flood_of_garbage_is_counted_and_stopped() {
    let outcome = play("yes garbage | head -n 5000; exit 0");
    assert_eq!((outcome.facts.unread_lines, outcome.unread().len()), (5_000, 100));
    let outcome = play_and_stop("yes garbage", Duration::from_secs(1));
    outcome.check(AttemptEnding::Cancelled);
    assert!(outcome.unread().len() <= 100);
}

#[test]
fn a_flood_of_events_is_stopped_and_its_text_is_bounded() {
    let update = r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}"#;
    let outcome = play_and_stop(&format!("yes '{update}'"), Duration::from_secs(2));
    outcome.check(AttemptEnding::Cancelled);
    assert!(outcome.text().len() <= 8 * 1024 * 1024);
}

#[test]
fn a_line_without_end_is_dropped_and_stopped() {
    let outcome = play_and_stop("yes x | tr -d '\\n'", Duration::from_secs(1));
    outcome.check(AttemptEnding::Cancelled);
    assert!(!outcome.seen.contains(&RunnerEvent::Active));
}

#[test]
fn silence_is_left_to_the_clocks() {
    let outcome = play_and_stop("sleep 300", Duration::from_millis(300));
    outcome.check(AttemptEnding::Cancelled);
    assert_eq!(outcome.seen.len(), 1, "{:?}", outcome.seen);
}

#[test]
fn giving_up_at_once_says_why() {
    let outcome = play("echo 'Error: Unknown option: --no-approve' >&2; exit 1");
    outcome.check(AttemptEnding::SpawnFailed);
    assert!(outcome.detail.contains("Unknown option"), "{}", outcome.detail);
}

/// Only our own extension is loaded there; whoever asks all the same is not waited for.
#[test]
fn a_dialog_that_nobody_sees_is_refused_at_once_and_said() {
    let asks = r#"for method in select confirm input editor; do
            echo '{"type":"extension_ui_request","id":"'$method'-1","method":"'$method'","title":"May I?","message":"rm -rf","options":["yes","no"]}'
        done
        seen=0
        while [ $seen -lt 4 ]; do
            read -r line || exit 9
            case $line in *extension_ui_response*) echo "$line" >> answers; seen=$((seen + 1));; esac
        done"#;
    let place = Place::new(&format!("{BEGIN}; {asks}; {ANSWER}; {END}; {SETTLED}; exit 0"));
    let outcome = on_one_thread(async { place.start().await.outcome().await });
    outcome.check(AttemptEnding::Answered);
    let refused =
        |method: &str| format!(r#"{{"type":"extension_ui_response","id":"{method}-1","cancelled":true}}"#);
    let answers = fs::read_to_string(place.directory.path().join("answers")).expect("answers");
    let mut answers = answers.lines().collect::<Vec<_>>();
    answers.sort_unstable();
    assert_eq!(answers, ["confirm", "editor", "input", "select"].map(refused));
    let said = outcome.unread();
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(
        outcome.facts.unread_lines, 0,
        "it is no line that could not be read"
    );
}

#[test]
fn leaving_without_a_word_is_a_crash_whatever_the_exit_code() {
    play("exit 0").check(AttemptEnding::Crashed);
    play(&format!("{BEGIN}; exit 0")).check(AttemptEnding::Crashed);
    play(&format!("{BEGIN}; exit 1")).check(AttemptEnding::Crashed);
}

#[test]
fn being_killed_is_our_loss_and_tells_its_signal() {
    let outcome = play(&format!("{BEGIN}; kill -9 $$"));
    outcome.check(AttemptEnding::Lost);
    assert!(outcome.detail.contains("signal 9"), "{}", outcome.detail);
}

#[test]
fn something_else_than_pi_is_a_protocol_error() {
    let outcome = play("echo 'Welcome to the pie shop'; exit 0");
    outcome.check(AttemptEnding::ProtocolError);
}

#[test]
fn an_answer_counts_whatever_the_exit_code() {
    play(&format!("{BEGIN}; {ANSWER}; {END}; {SETTLED}; exit 7")).check(AttemptEnding::Answered);
}

#[test]
fn whoever_stays_when_all_is_done_is_stopped() {
    let deaf =
        format!("trap '' TERM INT HUP; {BEGIN}; {ANSWER}; {END}; {SETTLED}; while :; do sleep 1; done");
    play(&deaf).check(AttemptEnding::Answered);
}

#[test]
fn a_terminal_event_that_never_comes_is_asked_for_and_then_not_waited_for() {
    play(&format!("{BEGIN}; {ANSWER}; {END}; sleep 300")).check(AttemptEnding::Answered);
}

#[test]
fn the_word_that_nothing_follows_is_believed_when_nothing_else_says_so() {
    let script = format!(
        r#"read -r prompt; {BEGIN}; {ANSWER}; {END}; read -r probe
        echo '{{"id":"settled-1","type":"response","command":"get_state","success":true,"data":{{"isStreaming":false,"isCompacting":false}}}}'
        read -r nothing || exit 0; sleep 300"#
    );
    play(&script).check(AttemptEnding::Answered);
}

#[test]
fn closing_the_output_and_staying_is_a_crash() {
    play(&format!("{BEGIN}; exec >&- 2>&-; sleep 300")).check(AttemptEnding::Crashed);
}

#[test]
fn what_holds_the_pipes_open_does_not_hold_the_attempt() {
    let script = format!("{BEGIN}; {ANSWER}; (setsid sleep 300 &); {END}; {SETTLED}; exit 0");
    play(&script).check(AttemptEnding::Answered);
}

#[test]
fn a_flood_of_complaints_leaves_its_end() {
    let outcome = play("yes complaint | head -c 20000000 >&2; echo 'the last word' >&2; exit 3");
    outcome.check(AttemptEnding::SpawnFailed);
    assert!(outcome.facts.stderr_tail.ends_with("the last word"));
    assert!(outcome.facts.stderr_tail.chars().count() <= 2_000);
}

#[test]
fn a_program_that_does_not_listen_does_not_block_us() {
    let place = Place::new(&format!("{BEGIN}; {ANSWER}; {END}; {SETTLED}; exit 0"));
    on_one_thread(async {
        let request = AttemptRequest {
            user_prompt: "x".repeat(1_000_000),
            ..place.request()
        };
        let attempt = Attempt::start(&place.runner(), request)
            .await
            .expect("the program starts");
        attempt.outcome().await.check(AttemptEnding::Answered);
    });
}

#[test]
fn dropping_the_handle_stops_everything() {
    let place = Place::new("setsid sleep 300 & sleep 300");
    on_one_thread(async {
        let request = place.request();
        let run = request.run.clone();
        let attempt = Attempt::start(&place.runner(), request)
            .await
            .expect("the program starts");
        let left = || {
            marked_processes()
                .iter()
                .filter(|marked| marked.run == run)
                .count()
        };
        assert!(left() > 0);
        drop(attempt);
        let began = Instant::now();
        while left() > 0 {
            assert!(began.elapsed() < LONG, "still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn a_stop_does_not_wait_for_whoever_should_listen() {
    let place = Place::new("yes garbage");
    on_one_thread(async {
        let mut attempt = place.start().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let proof = attempt.handle.stop(GRACE).await;
        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
    });
}

#[test]
fn a_model_without_provider_and_a_missing_program_are_refused_with_a_sentence() {
    let place = Place::new("exit 0");
    on_one_thread(async {
        let request = AttemptRequest {
            model: "offline".to_string(),
            ..place.request()
        };
        let refused = Attempt::start(&place.runner(), request)
            .await
            .err()
            .expect("refused");
        assert!(refused.to_string().contains("provider/id"), "{refused}");
        fs::remove_file(place.pi()).expect("the program goes");
        let missing = Attempt::start(&place.runner(), place.request())
            .await
            .err()
            .expect("missing");
        assert!(missing.to_string().contains("is not there"), "{missing}");
    });
}

/// Starts a program that says this when it is asked for its version.
fn start_as(version: &str) -> Result<Outcome, String> {
    let script = format!("{BEGIN}; {ANSWER}; {END}; {SETTLED}");
    let place = Place::new(&script);
    place.write_pi(version, &script);
    on_one_thread(async {
        match Attempt::start(&place.runner(), place.request()).await {
            Ok(attempt) => Ok(attempt.outcome().await),
            Err(error) => Err(error.why),
        }
    })
}

#[test]
fn a_program_of_its_own_is_asked_for_its_version_below_a_keeper() {
    start_as("echo 0.74.2 >&2 && exit 0")
        .expect("an old one that answers on stderr")
        .check(AttemptEnding::Answered);
    let held = "test \"$(cat /proc/$PPID/comm)\" = impresario-keep && echo 0.87.1 && exit 0";
    start_as(held)
        .expect("its parent is the keeper")
        .check(AttemptEnding::Answered);
    let too_old = start_as("echo 0.60.0 && exit 0").expect_err("too old");
    assert!(too_old.contains("too old"), "{too_old}");
    let something_else = start_as("echo 3.14 && exit 0").expect_err("no version");
    assert!(something_else.contains("is it Pi?"), "{something_else}");
}

/// Whether a start that fails is said to be a loss of ours.
fn is_our_loss(runner: &PiRunner, request: AttemptRequest) -> bool {
    on_one_thread(async {
        let refused = Attempt::start(runner, request).await.err();
        refused.expect("it does not start").is_our_loss
    })
}

#[test]
fn a_keeper_that_dies_before_its_program_runs_is_our_loss_and_a_missing_program_is_none() {
    let place = Place::new("exit 0");
    let asks_with = |version: &str| {
        place.write_pi(version, "exit 0");
        is_our_loss(&place.runner(), place.request())
    };
    assert!(
        asks_with("kill -9 $PPID; exit 0"),
        "killed while it is asked for its version"
    );
    assert!(!asks_with("exit 0"), "it says nothing and nobody died");
    place.write_pi("echo 0.87.1 && exit 0", "exit 0");
    let dead_keeper = runner_below(&place.pi(), Path::new("/bin/false"), place.directory.path());
    assert!(
        is_our_loss(&dead_keeper, place.request()),
        "dead before it says anything"
    );
    fs::remove_file(place.pi()).expect("the program goes");
    assert!(
        !is_our_loss(&place.runner(), place.request()),
        "nothing is there to start"
    );
}

#[test]
fn a_reply_with_too_many_calls_ends_as_what_it_is_and_none_of_them_runs() {
    let call = r#"{"type":"toolCall","id":"a","name":"bash","arguments":{}}"#;
    let reply = format!(
        r#"echo '{{"type":"message_end","message":{{"role":"assistant","content":[{}],"stopReason":"toolUse"}}}}'"#,
        vec![call; 300].join(",")
    );
    let asks = r#"echo '{"type":"extension_ui_request","id":"d","method":"confirm","title":"impresario:tool_start","message":"{\"call\":\"a\",\"tool\":\"bash\"}"}'"#;
    let outcome = play(&format!("{BEGIN}; {reply}; {asks}; sleep 300"));
    outcome.check(AttemptEnding::TooManyCalls);
    assert!(outcome.detail.contains("300 tool calls"), "{}", outcome.detail);
}

#[test]
fn a_storm_of_processes_ends_soon_and_as_what_it_is() {
    let outcome = play(&format!("{BEGIN}; while :; do sleep 301 & done"));
    outcome.check(AttemptEnding::TooManyProcesses);
    assert!(outcome.detail.contains("processes"), "{}", outcome.detail);
}
