//! What is computed on, in the sizes and shapes of the peer's own measurements.

use impresario_policies::domain::{Brief, Complexity, Risk, Route, Tier, TraceVerdict};
use impresario_policies::history::ChatMessage;
use impresario_policies::overflow_review::ToolCeiling;
use impresario_policies::prompts::{BriefFacts, JudgeFacts, brief_prompt, judge_prompt};
use impresario_policies::trace_classify::classify_trace;
use impresario_policies::trace_file::{Trace, TraceCall, result_preview, trace_file_name};
use serde_json::{Value, json};

/// The actor's reply in the judge's loop.
pub const BRIEF_REPLY: &str = r#"{"userGoal": "Split src/lib.rs into modules", "constraints": ["keep the public names", "no new dependency"], "knownContext": "src/lib.rs has 900 lines"}"#;
/// The judge's.
pub const VERDICT_REPLY: &str = r#"{"hasUserGoal": true, "hasRequiredInputs": true, "hasScopeBoundary": true, "isUnambiguous": true, "missingRequirementQuestion": null, "executionRoute": {"tier": "balanced", "complexity": "medium", "risk": "multi_file_edit", "confidence": 0.85, "reason": "Several files change together."}}"#;
/// The task of the brief.
pub const TASK: &str = "split src/lib.rs into modules";
/// The traces' skill.
pub const SKILL: &str = "split-module";

/// All of it.
pub struct Inputs {
    pub clean: String,
    pub traced: String,
    pub long: String,
    pub secrets: String,
    pub chat: Vec<ChatMessage<'static>>,
    pub instructions: String,
    pub ascii: String,
    pub cjk: String,
    pub under_ceiling: String,
    pub ceilings: Vec<ToolCeiling>,
    pub result: String,
    pub args: Value,
    pub traces: Vec<Trace>,
    pub verdict: TraceVerdict,
    /// The same traces as files.
    pub trace_directory: tempfile::TempDir,
}

impl Inputs {
    pub fn new() -> Self {
        let traces: Vec<Trace> = (0..20).map(trace).collect();
        let trace_directory = tempfile::tempdir().expect("a directory");
        for trace in &traces {
            let name = trace_file_name(SKILL, trace.timestamp as u64);
            std::fs::write(trace_directory.path().join(name), trace.to_file_text())
                .expect("a trace is written");
        }
        let retrieval = ToolCeiling {
            server: Some("auggie".into()),
            tool: Some("codebase-retrieval".into()),
            bytes_max: Some(25_000),
        };
        Self {
            clean: clean_markdown(120_000),
            traced: traced_markdown(120_000, 150),
            long: clean_markdown(130_000),
            secrets: secret_text(64 * 1024),
            chat: chat_of(200, 600),
            instructions: "Work through the file from top to bottom.\n".repeat(100),
            ascii: "retrieved line of code\n".repeat(43_478),
            cjk: "取得したコードの行です。\n".repeat(27_027),
            under_ceiling: "retrieved line of code\n".repeat(782),
            ceilings: vec![retrieval],
            result: code_text(25_000),
            args: json!({"query": "where is the queue drained when a session ends", "path": "src/lib.rs", "limit": 20}),
            verdict: classify_trace(&traces[1]),
            traces,
            trace_directory,
        }
    }

    /// The newest messages of the chat, as the judge gets them.
    pub fn newest(&self) -> Vec<(&str, &str)> {
        let newest = &self.chat[self.chat.len() - 20..];
        newest
            .iter()
            .map(|message| (message.role(), message.content()))
            .collect()
    }

    /// For Node.
    pub fn to_json(&self) -> Value {
        let chat = self
            .chat
            .iter()
            .map(|message| json!({"role": message.role(), "content": message.content()}));
        let facts = BriefFacts::default();
        let brief = Brief::default();
        let judge_facts = JudgeFacts {
            name: "",
            instructions: "",
            task: "",
            chat: Vec::new(),
            clarifications: &[],
            brief: &brief,
        };
        json!({
            "clean": self.clean, "traced": self.traced, "long": self.long, "secrets": self.secrets,
            "blankLines": blank_lines(20_000), "fences": fences(8_000), "chat": chat.collect::<Vec<_>>(),
            "instructions": self.instructions, "ascii": self.ascii, "cjk": self.cjk,
            "underCeiling": self.under_ceiling, "result": self.result, "args": self.args.to_string(),
            "traces": self.traces.iter().map(Trace::to_file_text).collect::<Vec<_>>(),
            "traceDirectory": self.trace_directory.path(), "skill": SKILL, "task": TASK,
            "briefReply": BRIEF_REPLY, "verdictReply": VERDICT_REPLY,
            "briefSystem": brief_prompt(&facts).system, "judgeSystem": judge_prompt(&judge_facts).system,
        })
    }
}

pub fn blank_lines(count: usize) -> String {
    format!("{}x", "\n".repeat(count))
}

pub fn fences(count: usize) -> String {
    "```ts\nx\n".repeat(count)
}

fn clean_markdown(length: usize) -> String {
    let part = "## Heading\n\nSome text of an answer, with `code` in it.\n\n- item one\n- item two\n\n```rust\nfn main() {}\n```\n\n";
    part.repeat(length / part.len() + 1)[..length].to_string()
}

fn traced_markdown(length: usize, traces: usize) -> String {
    let trace = "```tool_result\n{\"k\": 1}\n```\n{\"jsonrpc\":\"2.0\",\"id\":1}\n";
    let prose = clean_markdown(length / traces - trace.len());
    let prose = prose.replace("```rust\nfn main() {}\n```\n", "");
    format!("{prose}\n{trace}").repeat(traces)
}

/// Lines of a log, every twenty-first with a secret.
pub fn secret_text(length: usize) -> String {
    let part =
        "INFO request 17 took 12 ms and read 4096 bytes from src/lib.rs\nAuthorization: Bearer abc.def-123\n";
    let plain = "DEBUG nothing of interest happened while the file was parsed again\n".repeat(20);
    let part = format!("{part}{plain}");
    part.repeat(length / part.len() + 1)[..length].to_string()
}

fn code_text(length: usize) -> String {
    let part = "pub fn drain(&mut self) -> Option<\"Entry\"> {\n    let next = self.queue.pop_front()?;\n    Some(next)\n}\n";
    part.repeat(length / part.len() + 1)[..length].to_string()
}

fn chat_of(count: usize, length: usize) -> Vec<ChatMessage<'static>> {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    (0..count)
        .map(|at| ChatMessage::new(role(at), format!("{at} {}", "word ".repeat(length / 5))))
        .collect()
}

/// The trace of a run with twenty calls, about 47 kB; every fourth did not go well. Newest first.
fn trace(age: usize) -> Trace {
    let ended = 1_746_960_622_000.0 - 60_000.0 * age as f64;
    let failed = age % 4 == 1;
    let call = |index: usize| TraceCall {
        index: index as f64,
        server_name: "auggie".into(),
        tool_name: "codebase-retrieval".into(),
        args: json!({"query": format!("where is the queue of part {index} drained when a session ends")}),
        result_preview: result_preview(&code_text(25_000), 2_000),
        blocked: false,
        timestamp: ended - 1_000.0 * (20 - index) as f64,
    };
    Trace {
        skill_name: SKILL.into(),
        timestamp: ended,
        model: "openrouter/anthropic/claude-3-5-sonnet".into(),
        brief: Brief {
            user_goal: "Split src/lib.rs into modules".into(),
            constraints: vec!["keep the public names".into()],
            known_context: "src/lib.rs has 900 lines".into(),
            user_clarifications: vec![],
        },
        route: Route {
            tier: Tier::Balanced,
            complexity: Complexity::Medium,
            risk: Risk::MultiFileEdit,
            confidence: if failed { 0.35 } else { 0.85 },
            reason: "Several files change together.".into(),
        },
        tool_calls: (0..20).map(call).collect(),
        final_text: if failed {
            "The build failed: error in src/lib.rs".into()
        } else {
            "Done. Five modules, all tests pass. ".repeat(30)
        },
        stopped_reason: if failed {
            "timeout".into()
        } else {
            "completed".into()
        },
        ours: None,
    }
}
