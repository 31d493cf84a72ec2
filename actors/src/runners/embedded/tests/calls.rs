//! Several calls in one reply, and calls that take too long.

use super::*;
use tokio::sync::Barrier;

/// Waits in each call until as many others are there as were made, where they are made side by side.
struct Meeting {
    replay: Replay,
    barrier: Option<Barrier>,
    inside: AtomicU32,
    most: AtomicU32,
    within: Duration,
}

#[async_trait]
impl EmbeddedTool for Meeting {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "count".to_string(),
            description: "Meets.".to_string(),
            parameters: json!({ "type": "object", "properties": {} }),
        }
    }

    fn replay(&self) -> Replay {
        self.replay
    }

    fn within(&self) -> Duration {
        self.within
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<String, String> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        match &self.barrier {
            Some(barrier) => {
                barrier.wait().await;
            }
            None => tokio::task::yield_now().await,
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(format!("met {}", arguments["number"]))
    }
}

fn three_calls() -> Result<ModelReply, ModelError> {
    let call = |number: u32| ToolCall {
        id: format!("c{number}"),
        tool: "count".to_string(),
        arguments: json!({ "number": number }),
    };
    let reply = says("")?;
    Ok(ModelReply {
        tool_calls: (1..=3).map(call).collect(),
        ..reply
    })
}

async fn play(meeting: Meeting) -> (Vec<String>, u32) {
    let stage = stage(vec![three_calls(), says("done")]);
    let meeting = Arc::new(meeting);
    LocalSet::new()
        .run_until(async {
            let mut parts = stage.parts();
            parts.tools = vec![RegisteredTool::new(meeting.clone())];
            let (_handle, receiver) = stage.start(parts).await;
            all_of(receiver).await
        })
        .await;
    let requests = stage.model.requests.borrow();
    let results = requests[1].messages[2..].iter();
    let results = results.map(|message| message.text.clone()).collect();
    (results, meeting.most.load(Ordering::SeqCst))
}

fn meeting(replay: Replay) -> Meeting {
    Meeting {
        replay,
        barrier: None,
        inside: AtomicU32::new(0),
        most: AtomicU32::new(0),
        within: Duration::from_secs(300),
    }
}

#[tokio::test]
async fn calls_that_do_no_harm_run_side_by_side_and_are_answered_in_their_order() {
    let (results, most) = play(Meeting {
        barrier: Some(Barrier::new(3)),
        ..meeting(Replay::Safe)
    })
    .await;
    assert_eq!(results, ["met 1", "met 2", "met 3"]);
    assert_eq!(most, 3);
}

#[tokio::test]
async fn calls_that_change_something_run_one_after_the_other() {
    let (results, most) = play(meeting(Replay::Unsafe)).await;
    assert_eq!(results, ["met 1", "met 2", "met 3"]);
    assert_eq!(most, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_told_to_stop_and_the_model_that_it_did() {
    let (results, _) = play(Meeting {
        // Nobody else ever comes.
        barrier: Some(Barrier::new(9)),
        within: Duration::from_secs(30),
        ..meeting(Replay::Unsafe)
    })
    .await;
    let late = "The tool count did not answer within 30 s and was told to stop.";
    assert_eq!(results, [late, late, late]);
}
