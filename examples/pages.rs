//! What `docs/embedding.md` and the README show, as a program: a test holds every Rust block of theirs against this file.
//!
//! ```sh
//! cargo run --example pages
//! ```

use impresario::runtime::{
    Acknowledgement, AgentDefinition, EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest,
    ModelUsage, OfflineOr, Replay, ToolContext, ToolDefinition, async_trait,
};
use impresario::{EarlierMessage, Runtime, SubAgent, SubAgentGroup, Subtask};
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

type Done = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Done {
    let state = tempfile::tempdir()?;
    std::env::set_current_dir(state.path())?;
    std::fs::create_dir("src")?;
    std::fs::write("src/main.rs", "//! The entry point.\nfn main() {}\n")?;
    std::fs::write("screen.png", b"\x89PNG\r\n\x1a\n")?;
    first_run().await?;
    results_that_nobody_read().await?;
    an_agent_of_your_own().await?;
    what_it_may_cost().await?;
    an_answer_for_a_program().await?;
    a_conversation_before_it().await?;
    several_at_once().await?;
    chaos_of_your_own().await
}

async fn first_run() -> Done {
    use impresario::{Runtime, SubAgent};
    use std::time::Duration;

    let runtime = Runtime::builder().state_directory("state").start().await?;
    let question = SubAgent::explore("Where is the entry point?").timeout(Duration::from_secs(90));
    let run = runtime.spawn(question).await?;
    let mut events = run.events();
    while let Some(event) = events.next().await {
        println!("{:?}", event.step);
    }
    println!("{}", run.outcome().await?.answer.unwrap_or_default());
    runtime.shutdown().await?;
    Ok(())
}

async fn results_that_nobody_read() -> Done {
    let runtime = Runtime::builder()
        .state_directory("state")
        .acknowledgement(Acknowledgement::ByProgram)
        .start()
        .await?;
    // An id is chosen before anything is asked, and kept with what it is for.
    let order = Order {
        run_id: runtime.new_run_id(),
        question: "Where is the entry point?".to_string(),
    };
    let run = runtime
        .spawn_as(order.run_id.clone(), SubAgent::explore(&order.question))
        .await?;
    run.outcome().await?;

    for unread in runtime.unread().await? {
        keep(unread.summary().run.as_str(), unread.read().await?)?;
        unread.ack().await?;
    }
    runtime.shutdown().await?;
    Ok(())
}

async fn an_agent_of_your_own() -> Done {
    let reviewer = AgentDefinition::new(
        "reviewer",
        "Find mistakes in what the task names. Change nothing.",
    )
    .tools(["read", "grep", "codebase-retrieval"])
    .models(["house/large", "house/small"])
    .total_timeout(Duration::from_secs(120));
    let runtime = Runtime::builder()
        .state_directory("state")
        .model(OfflineOr::new(HouseModel))
        .agent(reviewer)
        .tool(Tickets)
        .start()
        .await?;
    let run = runtime
        .spawn(SubAgent::new("reviewer", "src/lib.rs").unjudged())
        .await?;
    println!("{}", run.outcome().await?.answer.unwrap_or_default());
    runtime.shutdown().await?;
    Ok(())
}

async fn what_it_may_cost() -> Done {
    let runtime = Runtime::builder().state_directory("state").start().await?;
    let question = SubAgent::explore("Where is the entry point?")
        .max_usd(2.0)
        .max_tokens(200_000);
    let outcome = runtime.spawn(question).await?.outcome().await?;
    println!("{:?}", outcome.projection.used());
    for call in &outcome.projection.calls {
        println!("{call:?}");
    }
    runtime.shutdown().await?;
    Ok(())
}

#[derive(Debug, Deserialize)]
struct Place {
    path: String,
    line: u32,
}

async fn an_answer_for_a_program() -> Done {
    let runtime = Runtime::builder()
        .state_directory("state")
        .model(OfflineOr::new(HouseModel))
        .start()
        .await?;
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "line": { "type": "integer" } },
        "required": ["path", "line"],
    });
    let question = SubAgent::explore("Where is the entry point?")
        .chain(["house/large"])
        .answer_schema(&schema);
    let outcome = runtime.spawn(question.unjudged()).await?.outcome().await?;
    let place: Place = outcome.answer_as()?;
    println!("{}:{}", place.path, place.line);
    runtime.shutdown().await?;
    Ok(())
}

async fn a_conversation_before_it() -> Done {
    let runtime = Runtime::builder()
        .state_directory("state")
        .model(OfflineOr::new(HouseModel))
        .start()
        .await?;
    let question = SubAgent::explore("What went wrong on this screen?")
        .chain(["house/large"])
        .history([
            EarlierMessage::user("I start the server and it stops at once."),
            EarlierMessage::assistant("Show me what stands on the screen."),
        ])
        .picture(std::fs::read("screen.png")?);
    runtime.spawn(question.unjudged()).await?.outcome().await?;
    runtime.shutdown().await?;
    Ok(())
}

async fn several_at_once() -> Done {
    let runtime = Runtime::builder().state_directory("state").start().await?;
    let group = SubAgentGroup::explore()
        .subtask(Subtask::new("restarts", "How does a crashed actor come back?"))
        .subtask(Subtask::new("journal", "Where are steps written?"))
        .concurrency(2)
        .timeout(Duration::from_secs(300));
    println!("{}", runtime.parallel(group).await?.outcome().await?.text);
    runtime.shutdown().await?;
    Ok(())
}

async fn chaos_of_your_own() -> Done {
    use impresario::chaos::{self, Plan};

    let plan = Plan::Seeded {
        seed: 7,
        per_mille: 20,
        kills_max: 50,
    };
    let told = |record: chaos::Record| assert!(!record.kills.is_empty(), "nobody was killed");
    let runtime = Runtime::builder()
        .state_directory("chaos")
        .chaos(plan)
        .when_chaos_ended(told)
        .start()
        .await?;
    let run = runtime
        .spawn(SubAgent::explore("Where is the entry point?"))
        .await?;
    run.outcome().await?;
    runtime.shutdown().await?;
    assert_eq!(chaos::audit(&chaos::evidence_of("chaos")?), []);
    Ok(())
}

/// What the program wants to know, under an id that it keeps itself.
struct Order {
    run_id: impresario::RunId,
    question: String,
}

fn keep(run: &str, outcome: impresario::Outcome) -> Done {
    println!("{run}: {:?}", outcome.state);
    Ok(())
}

/// A tool of the program. It reads, so a call that was cut off may be made again, and several run side by side.
struct Tickets;

#[async_trait]
impl EmbeddedTool for Tickets {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "ticket".to_string(),
            description: "Reads a ticket.".to_string(),
            parameters: json!({
                "type": "object",
                "properties": { "number": { "type": "integer" } },
                "required": ["number"],
            }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn within(&self) -> Duration {
        Duration::from_secs(20)
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<String, String> {
        let number = arguments["number"].as_u64().ok_or("number is a number")?;
        Ok(format!("Ticket {number}, asked for by run {}.", context.run))
    }
}

/// A model of the program, with the program's own credentials.
struct HouseModel;

#[async_trait(?Send)]
impl ModelClient for HouseModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        if request.model != "house/large" {
            return Err(ModelError::Unavailable("the house is full".to_string()));
        }
        Ok(ModelReply {
            text: r#"{"path": "src/main.rs", "line": 9}"#.to_string(),
            tool_calls: Vec::new(),
            usage: ModelUsage {
                input: 900,
                output: 20,
                ..ModelUsage::default()
            },
            served: None,
        })
    }
}
