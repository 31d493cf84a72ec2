//! Conversations made up of turns, for what was not recorded: pauses, pivots, other layouts, other extensions.

use crate::recordings::{Recorded, Recording, mark_as_pi};
use impresario_policies::cache_markers::{Block, BlockKind, Lifetime};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const FIVE: Lifetime = Lifetime::FiveMinutes;
const HOUR: Lifetime = Lifetime::OneHour;

/// Builds a conversation request by request.
#[derive(Clone)]
struct Talk {
    blocks: Vec<Block>,
    requests: Vec<Recorded>,
    gap: Duration,
    lives: Lifetime,
    change: fn(&mut Vec<Block>),
}

fn block(kind: BlockKind, tokens: u64, what: &str) -> Block {
    let mut hasher = DefaultHasher::new();
    (what, tokens).hash(&mut hasher);
    Block {
        kind,
        tokens,
        content: hasher.finish(),
        marker: None,
        anchor: false,
    }
}

impl Talk {
    /// Six tools and a system prompt, of a size as Pi has them.
    fn new() -> Self {
        let mut blocks = (0..6)
            .map(|tool| block(BlockKind::Tool, 250, &format!("tool {tool}")))
            .collect::<Vec<_>>();
        blocks.push(block(BlockKind::System, 1_400, "system"));
        Self {
            blocks,
            requests: Vec::new(),
            gap: Duration::from_secs(20),
            lives: FIVE,
            change: |_| {},
        }
    }

    fn says(mut self, kind: BlockKind, tokens: u64, what: &str) -> Self {
        self.blocks.push(block(kind, tokens, what));
        self
    }

    fn prompt(self, what: &str) -> Self {
        self.says(BlockKind::Text, 60, what).ask()
    }

    fn answer(self, what: &str) -> Self {
        self.says(BlockKind::Said, 200, what)
    }

    /// A call of a tool with its result, and the request behind it.
    fn tool(self, what: &str, tokens: u64) -> Self {
        self.says(BlockKind::ToolUse, 30, what)
            .says(BlockKind::ToolResult, tokens, what)
            .ask()
    }

    fn tools(mut self, from: usize, count: usize) -> Self {
        for number in from..from + count {
            self = self.tool(&format!("call {number}"), 800);
        }
        self
    }

    fn anchor(mut self, what: &str) -> Self {
        self = self
            .says(BlockKind::ToolUse, 40, what)
            .says(BlockKind::ToolResult, 80, what);
        if let Some(last) = self.blocks.last_mut() {
            last.anchor = true;
        }
        self.ask()
    }

    fn after(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }

    /// Goes back to where there were so many blocks.
    fn back_to(mut self, length: usize) -> Self {
        self.blocks.truncate(length);
        self
    }

    fn ask(mut self) -> Self {
        let mut blocks = self.blocks.clone();
        mark_as_pi(&mut blocks, self.lives);
        (self.change)(&mut blocks);
        self.requests.push(Recorded {
            after: self.gap,
            blocks,
            expected: None,
        });
        self.gap = Duration::from_secs(20);
        self
    }

    fn named(self, name: &str, saves: bool) -> Recording {
        Recording {
            name: name.to_string(),
            model: "claude".to_string(),
            tokens_min: 1_024,
            requests: self.requests,
            of_host: true,
            saves,
        }
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

fn straight(talk: Talk) -> Talk {
    let talk = talk
        .prompt("one")
        .tools(0, 6)
        .answer("a")
        .prompt("two")
        .tools(6, 6);
    talk.answer("b").prompt("three").tools(12, 6)
}

fn with_anchors(talk: Talk) -> Talk {
    let talk = talk
        .prompt("one")
        .tools(0, 5)
        .anchor("first")
        .tools(5, 5)
        .answer("a");
    talk.prompt("two").tools(10, 5).anchor("second").tools(15, 5)
}

/// Back to the anchor, with what was carried over, after a long way.
fn pivot(pause: Duration) -> Talk {
    let talk = Talk::new().prompt("one").tools(0, 8).anchor("here");
    let here = talk.blocks.len();
    let talk = slow(talk, 10, 8).back_to(here);
    talk.after(pause).prompt("carried over").tools(40, 4)
}

/// As tools of a quarter of a minute to a minute go.
fn slow(mut talk: Talk, from: usize, count: usize) -> Talk {
    for number in from..from + count {
        talk = talk
            .after(Duration::from_secs(50))
            .tool(&format!("slow {number}"), 900);
    }
    talk
}

/// A person goes back to a prompt and words it otherwise, when its turn took longer than an entry lives.
fn worded_again() -> Talk {
    let talk = Talk::new().prompt("one").tools(0, 10).answer("a");
    let before = talk.blocks.len();
    let talk = slow(talk.prompt("two"), 20, 9).back_to(before);
    talk.prompt("two, in other words").tools(40, 5)
}

/// Another model is asked in between; this one's entries are further back than a marker looks.
fn another_model() -> Talk {
    let talk = Talk::new().prompt("one").tools(0, 12);
    let mut elsewhere = talk.clone().tools(12, 12);
    elsewhere.requests = talk.requests;
    elsewhere.after(minutes(4)).tools(24, 4)
}

fn oauth(blocks: &mut Vec<Block>) {
    let system = blocks
        .iter()
        .position(|block| block.kind == BlockKind::System)
        .unwrap_or_default();
    let mut identity = block(BlockKind::System, 15, "identity");
    identity.marker = blocks[system].marker;
    blocks.insert(system, identity);
}

/// Marks every result, as some extensions do.
fn marks_every_result(blocks: &mut [Block]) {
    for block in blocks
        .iter_mut()
        .filter(|block| block.kind == BlockKind::ToolResult)
    {
        block.marker = Some(FIVE);
    }
}

/// Marks the first prompt, in the right way.
fn marks_the_first_prompt(blocks: &mut [Block]) {
    if let Some(first) = blocks.iter_mut().find(|block| block.kind == BlockKind::Text) {
        first.marker = first.marker.or(Some(FIVE));
    }
}

/// Another extension puts a short marker before the long ones.
fn short_before_long(blocks: &mut Vec<Block>) {
    oauth(blocks);
    if let Some(identity) = blocks.iter_mut().find(|block| block.kind == BlockKind::System) {
        identity.marker = Some(FIVE);
    }
}

fn changed(change: fn(&mut Vec<Block>)) -> Talk {
    Talk {
        change,
        ..Talk::new()
    }
}

fn long(change: fn(&mut Vec<Block>)) -> Talk {
    Talk {
        lives: HOUR,
        change,
        ..Talk::new()
    }
}

/// One message with so many pictures.
fn many_pictures() -> Talk {
    let mut talk = Talk::new().prompt("look").tools(0, 4);
    for picture in 0..25 {
        talk = talk.says(BlockKind::Image, 300, &format!("picture {picture}"));
    }
    talk.prompt("what is on them?").tools(10, 3)
}

pub fn all() -> Vec<Recording> {
    vec![
        straight(Talk::new()).named("straight session", false),
        straight(changed(oauth)).named("straight session, OAuth", false),
        Talk::new()
            .prompt("one")
            .tools(0, 40)
            .named("40 tools in a row", false),
        with_anchors(Talk::new()).named("anchors", false),
        with_anchors(changed(oauth)).named("anchors, OAuth", false),
        pivot(Duration::from_secs(20)).named("pivot after seven minutes", true),
        pivot(minutes(20)).named("pivot after a pause of 20 minutes", false),
        worded_again().named("a prompt of seven minutes worded again", true),
        another_model().named("back to a model after 12 requests of another", true),
        many_pictures().named("25 pictures in a message", true),
        straight(Talk::new().prompt("zero").answer("z").after(minutes(12)))
            .named("a pause of 12 minutes", false),
        straight(long(|_| {})).named("long retention", false),
        straight(long(|_| {}).prompt("zero").answer("z").after(minutes(12)))
            .named("long retention, a pause of 12 minutes", false),
        straight(changed(|blocks| marks_the_first_prompt(blocks)))
            .named("an extension marks the first prompt", false),
        straight(changed(|blocks| marks_every_result(blocks)))
            .named("an extension marks every result", false),
        straight(long(short_before_long)).named("an extension puts a short marker before long ones", false),
    ]
}
