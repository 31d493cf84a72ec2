//! One session in real Pi: as Pi is, with what the three peers would do to it, and with Impresario.
//!
//! The model is scripted and every request is recorded; what they cost is simulated by the rules of the service. The peers
//! themselves are not run: what they do (`peers.rs`) is done to the requests of Pi with a tool that sets anchors. `cargo test --test cache session --
//! --nocapture` prints the table that stands in docs/benchmarks.md.

use crate::audit::Audit;
use crate::peers::{Habits, with_peers};
use crate::recordings::{Recorded, Recording};
use crate::{Priced, as_it_was};
use impresario_model_server::{ModelServer, Rule, Script, Turn, prompt_blocks};
use impresario_policies::cache_markers::Charge;
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::pi::{MOCKA_MODEL, Sandbox, Scenario, Version};
use impresario_test_support::waiting::PATIENCE;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What Impresario has switched on, beside what is on by default. What is added to a session later joins here, and with its
/// turns in [`script`].
const ALL_ON: &str = r#"{"impresario": {"capabilities": {"enabled": true}}}"#;
/// The same, and no agents that work can be handed to.
const NO_AGENTS: &str = r#"{"impresario": {"capabilities": {"enabled": true},
    "agents": {"disabled": ["explore", "oracle", "general", "reviewer", "librarian"]}}}"#;
const PROMPTS: [&str; 3] = [
    "The harbour counts its ships wrongly. Find out why, and mend it.",
    "Is there a test for it? Write one.",
    "Look through the rest of the counting for the same mistake.",
];
/// What the session needs to know, and how somebody asks for it who does not know that it is there.
const NEEDED: &str = "systematic-debugging";
const ASKED: &str = "finding root causes of bugs";
/// What is always shown.
pub const SHOWN: [&str; 5] = [
    "code-review",
    "commit-messages",
    "test-driven-development",
    "typescript-types",
    "writing-plans",
];
/// What is known when the first prompt is done.
const SUMMARY: &str =
    "A count was carried over from one berth to the next; count.ts is mended. Board and panel only show it.";
/// The tool for anchors of pi-auto-context, as far as this session calls it.
const ANCHOR_TOOL: &str = r#"
const text = { type: "string" };
export default function (pi) {
  pi.registerTool({
    name: "context",
    label: "context",
    description: "Sets anchors.",
    parameters: { type: "object", properties: { action: text, name: text, summary: text } },
    execute: async (_call, { name, summary }, _signal, _update, ctx) => ({
      content: [{ type: "text", text: `[Anchor: ${name}]\n${summary}` }],
      details: { anchor: { name, summary, targetId: ctx.sessionManager.getLeafId() } },
    }),
  });
}
"#;
/// Directories with rules of their own, and a sentence of each.
pub const RULES: [(&str, &str); 4] = [
    ("src", "Numbers of ships are whole and never negative."),
    ("src/ui", "No colours are written here; they come from the theme."),
    ("tests", "A test says in its name what holds."),
    ("docs", "Sentences here have one subject and one verb."),
];

#[derive(Clone, Copy, PartialEq)]
enum Pi {
    Plain,
    /// With a tool that sets anchors, and nothing else.
    WithAnchors,
    WithImpresario,
    WithoutAgents,
}

impl Pi {
    fn settings(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::WithAnchors => None,
            Self::WithImpresario => Some(ALL_ON),
            Self::WithoutAgents => Some(NO_AGENTS),
        }
    }
}

/// A session that was played.
struct Played {
    requests: Vec<Value>,
    workspace: PathBuf,
}

fn read(path: &str) -> Turn {
    Turn::tool("read", json!({ "path": path }))
}

/// What the main agent does. Plain Pi has every skill in its prompt and reads the file of the right one; with Impresario it
/// looks for it.
fn script(pi: Pi) -> Script {
    let finds = match pi {
        Pi::Plain | Pi::WithAnchors => vec![read(&format!(".agents/skills/{NEEDED}/SKILL.md"))],
        Pi::WithImpresario | Pi::WithoutAgents => vec![
            Turn::tool("capability_search", json!({ "query": ASKED })),
            Turn::tool("capability_activate", json!({"id": format!("skill:{NEEDED}")})),
        ],
    };
    let together = read("src/count.ts")
        .and_tool("read", json!({"path": "src/berth.ts"}))
        .and_tool("read", json!({"path": "src/tide.ts"}));
    let mends = |path: &str, line: usize| {
        let edit = json!({"oldText": line_of(path, line), "newText": "export const counted = 0;"});
        Turn::tool("edit", json!({"path": path, "edits": [edit]}))
    };
    let first = [
        together,
        read("src/ui/board.ts"),
        read("src/ui/panel.ts"),
        mends("src/count.ts", 7),
    ];
    let anchor = (pi != Pi::Plain).then(|| {
        Turn::tool(
            "context",
            json!({"action": "anchor", "name": "mended", "summary": SUMMARY}),
        )
    });
    let first = first.into_iter().chain([read("src/count.ts")]).chain(anchor);
    let first = first.chain([Turn::text("A count was carried over. It is mended.")]);
    let second = [
        read("tests/count.test.ts"),
        read("docs/counting.md"),
        Turn::tool(
            "write",
            json!({"path": "tests/carry.test.ts", "content": text_of("tests/carry.test.ts", 40)}),
        ),
        Turn::text("There was none; there is one now."),
    ];
    let third = [
        "src/ledger.ts",
        "src/pilot.ts",
        "src/quay.ts",
        "src/ui/map.ts",
        "src/ui/clock.ts",
        "docs/quays.md",
    ];
    let third = third.map(read).into_iter().chain([
        mends("src/ledger.ts", 9),
        mends("src/quay.ts", 5),
        Turn::text("Two more carried it over. Both are mended."),
    ]);
    let turns = finds.into_iter().chain(first).chain(second).chain(third);
    Script::new().rule(turns.fold(Rule::new("main agent"), Rule::turn))
}

fn line_of(path: &str, line: usize) -> String {
    let name = path.replace(['/', '.'], "_");
    format!(
        "export const {name}_{line} = (ships: Ship[]) => ships.filter((ship) => ship.berth === {line}).length;"
    )
}

fn text_of(path: &str, lines: usize) -> String {
    let lines = (0..lines).map(|line| line_of(path, line) + "\n");
    lines.collect()
}

/// What the file of rules of a directory says.
pub fn rules_text(directory: &str, rule: &str) -> String {
    let more = "Whoever changes something here runs the tests first, and says in the end what was changed and why.\n";
    format!("# Rules of {directory}\n\n{rule}\n\n{}", more.repeat(6))
}

fn write_workspace(sandbox: &Sandbox) {
    sandbox.write_work_file("AGENTS.md", "Ships are counted at noon.\n");
    for (directory, rule) in RULES {
        sandbox.write_work_file(&format!("{directory}/AGENTS.md"), &rules_text(directory, rule));
    }
    let sources = [
        "count", "berth", "tide", "ledger", "pilot", "quay", "ui/board", "ui/panel", "ui/map", "ui/clock",
    ];
    let sources = sources.map(|name| format!("src/{name}.ts"));
    let others = ["tests/count.test.ts", "docs/counting.md", "docs/quays.md"].map(str::to_string);
    for path in sources.into_iter().chain(others) {
        sandbox.write_work_file(&path, &text_of(&path, 45));
    }
    for (name, description) in skills() {
        let steps = "Do it step by step, and look at what comes of each.\n".repeat(20);
        let text = format!(
            "---\nname: {name}\ndescription: {}\n---\n{steps}",
            json!(description)
        );
        sandbox.write_work_file(&format!(".agents/skills/{name}/SKILL.md"), &text);
    }
}

/// The skills of the recorded list of what can be used.
fn skills() -> Vec<(String, String)> {
    let file = directories::project().join("tests/vectors/capability/corpus.json");
    let text = std::fs::read(file).expect("the recorded list");
    let list: Vec<Value> = serde_json::from_slice(&text).expect("a list");
    let skills = list.iter().filter(|entry| entry["kind"] == "skill");
    let words = |entry: &Value, name: &str| entry[name].as_str().expect("words").to_string();
    skills
        .map(|entry| (words(entry, "name"), words(entry, "summary")))
        .collect()
}

fn switch_on(sandbox: &Sandbox, settings: &str) {
    sandbox.write_work_file(".pi/settings.json", settings);
    let ids = SHOWN.map(|name| format!("\"skill:{name}\"")).join(", ");
    let loadouts = format!(
        "active: harbour\nloadouts:\n  harbour:\n    description: Counting ships\n    skills: [{ids}]\n"
    );
    let directory = sandbox.home().join(".pi/capabilities");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("loadouts.yaml"), loadouts).expect("written");
}

/// Plays it; none where the suite runs without Pi.
fn play(which: Pi) -> Option<Played> {
    let scenario = Scenario::begin(Version::ALL[0], "a session that is priced")?;
    let server = ModelServer::start_blocking(script(which)).expect("a port on 127.0.0.1");
    let sandbox = Sandbox::new(scenario.install(), &server);
    let state = sandbox.home().join(".local/state/impresario");
    let _audit = Audit::of(state).with_ledger(server.ledger());
    write_workspace(&sandbox);
    let mut arguments = vec!["--approve", "--model", MOCKA_MODEL, "--mode", "rpc"];
    let extension = directories::project()
        .join("extension/src/index.ts")
        .display()
        .to_string();
    let anchor_tool = sandbox.work().join("anchor-tool.js").display().to_string();
    if which == Pi::WithAnchors {
        sandbox.write_work_file("anchor-tool.js", ANCHOR_TOOL);
        arguments.extend(["-e", &anchor_tool]);
    }
    if let Some(settings) = which.settings() {
        switch_on(&sandbox, settings);
        arguments.extend(["-e", &extension]);
    }
    let mut command = sandbox.pi_command(&arguments);
    command.env("IMPRESARIO_BINARY", env!("CARGO_BIN_EXE_impresario"));
    let mut pi = JsonLines::start(&mut command);
    if which.settings().is_some() {
        // A runtime that has answered: what the main agent is taught was decided before.
        say(&mut pi, "/impresario runtime", |record| {
            record["method"] == "notify" && record["message"].to_string().contains("cache markers:")
        });
    }
    for prompt in PROMPTS {
        say(&mut pi, prompt, |record| record["type"] == "agent_end");
    }
    pi.hang_up();
    assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
    let calls = server.ledger().calls();
    assert!(
        calls
            .iter()
            .all(|call| call.rule.as_deref() == Some("main agent"))
    );
    Some(Played {
        requests: calls.into_iter().map(|call| call.body).collect(),
        workspace: sandbox.work(),
    })
}

fn say(pi: &mut JsonLines, words: &str, is_over: impl Fn(&Value) -> bool) {
    let seen = pi.said().records.len();
    pi.say(&json!({"id": words, "type": "prompt", "message": words}))
        .expect("Pi listens");
    pi.wait_for_behind(seen, PATIENCE, is_over);
}

fn price(name: &str, requests: &[Value]) -> Priced {
    let requests = requests.iter().map(|body| Recorded {
        after: Duration::from_secs(20),
        blocks: prompt_blocks(body),
        expected: None,
    });
    as_it_was(&Recording {
        name: name.to_string(),
        model: "claude".to_string(),
        tokens_min: 1_024,
        requests: requests.collect(),
        of_host: true,
        saves: false,
    })
}

/// How often each rule stands in the last request.
fn rules_in(requests: &[Value]) -> [usize; RULES.len()] {
    let last = requests.last().expect("requests").to_string();
    RULES.map(|(_, rule)| last.matches(rule).count())
}

fn row(name: &str, requests: &[Value], plain: f64) -> Priced {
    let priced = price(name, requests);
    let Charge {
        read,
        written,
        plain: unread,
        ..
    } = priced.charge;
    let share = match priced.cost == plain {
        true => String::new(),
        false => format!("{:+.0} %", (priced.cost / plain - 1.0) * 100.0),
    };
    let rules = rules_in(requests).map(|times| times.to_string()).join(", ");
    println!(
        "| {name} | {} | {} | {read} | {written} | {unread} | {:.0} | {share} | {rules} |",
        requests.len(),
        priced.charge.tokens(),
        priced.cost
    );
    priced
}

#[test]
fn session_with_everything_on_costs_less_than_without_and_than_with_the_peers() {
    let played = [Pi::Plain, Pi::WithAnchors, Pi::WithImpresario, Pi::WithoutAgents].map(play);
    let [Some(plain), Some(anchored), Some(ours), Some(alone)] = played else {
        return;
    };
    let peers = |habits| with_peers(&anchored.requests, &anchored.workspace, habits);
    println!(
        "| the session in | requests | tokens | read | written | plain | paid as | | each of the four rules stands there |\n|---|---|---|---|---|---|---|---|---|"
    );
    let cost = price("Pi", &plain.requests).cost;
    row("Pi", &plain.requests, cost);
    let all = peers(Habits { status_line: true });
    let theirs = row("Pi with what the peers do", &all, cost);
    let without = peers(Habits { status_line: false });
    row("the same without the status line", &without, cost);
    let without_agents = row("Pi with Impresario, without its agents", &alone.requests, cost);
    let with_agents = row("Pi with Impresario", &ours.requests, cost);
    assert_eq!((without_agents.refused, with_agents.refused), (0, 0));
    assert_eq!(
        rules_in(&plain.requests),
        [0; RULES.len()],
        "Pi reads none of them"
    );
    let times = all.chunks(1).map(|request| rules_in(request)[0]);
    assert_eq!(
        times.max(),
        Some(3),
        "reads of one turn bring the same rules to each"
    );
    assert_eq!(rules_in(&all)[0], 0, "what they cut takes the rules along");
    for played in [&ours, &alone] {
        assert_eq!(rules_in(&played.requests), [1; RULES.len()]);
        check_what_was_found(played);
    }
    for ours in [&without_agents, &with_agents] {
        assert!(ours.cost < cost, "{} against {cost}", ours.cost);
        assert!(ours.cost < theirs.cost, "{} against {}", ours.cost, theirs.cost);
    }
}

/// Not shown, and found all the same, first of all.
fn check_what_was_found(ours: &Played) {
    let description = skills()
        .into_iter()
        .find(|(name, _)| name == NEEDED)
        .expect("it is there")
        .1;
    assert!(
        !ours.requests[0].to_string().contains(&description),
        "it is shown"
    );
    let found = results(&ours.requests[1]).pop().expect("a result");
    let first = found
        .lines()
        .find(|line| line.contains("skill:"))
        .unwrap_or_default();
    assert!(
        first.contains(&format!("skill:{NEEDED}")) && found.contains("confidence high"),
        "{found}"
    );
    let given = results(&ours.requests[2]).pop().expect("a result");
    assert!(given.contains("Do it step by step"), "{given}");
}

/// The texts of all results of tools.
fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("messages").iter();
    let blocks = messages
        .filter_map(|message| message["content"].as_array())
        .flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|result| text_in(&result["content"])).collect()
}

/// The text of a content, whether it is one or a list of blocks.
pub fn text_in(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// The rules that lie above a file, without those of the workspace itself, which Pi reads.
pub fn rules_above(workspace: &Path, file: &Path) -> Vec<PathBuf> {
    let below = file
        .ancestors()
        .skip(1)
        .take_while(|directory| *directory != workspace);
    let mut rules: Vec<_> = below.map(|directory| directory.join("AGENTS.md")).collect();
    rules.retain(|rules| {
        RULES
            .iter()
            .any(|(directory, _)| rules.ends_with(format!("{directory}/AGENTS.md")))
    });
    rules.reverse();
    rules
}
