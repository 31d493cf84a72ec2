//! What the models of a storm say.

use crate::edits::edit;
use crate::host::{MAIN_ANSWER, brief_rule, verdict};
use crate::shown::{LONG, NOTES};
use crate::storm::{Ill, Kind, Moment, Storm, Work};
use impresario_model_server::{Call, Fault, Place, Rule, Script, Turn, Usage};
use serde_json::{Value, json};

/// Behind this wait whoever is to be killed.
pub const HOLD: &str = "until somebody is killed";
/// Behind this waits a sub-agent that is to be told something.
pub const TELL: &str = "until it is told";
/// What a tool does that is cut off.
pub const SLEEP: &str = "sleep 600";
/// What a call of a sub-agent takes where they are capped, in tokens.
pub const CALL_TOKENS: u64 = 5_000;

/// What this sub-agent says in the end.
pub fn answer(child: usize) -> String {
    format!("Sub-agent {child} looked and found it.")
}

pub fn rule_of(child: usize) -> String {
    format!("sub-agent {child}")
}

/// What this sub-agent is asked for.
pub fn piece(child: usize) -> String {
    format!("piece {child}")
}

/// A line in it is an effect of what this call of the sub-agent ordered.
pub fn effects_file(child: usize, place: usize) -> String {
    format!("ran-{child}-{place}.txt")
}

pub fn is_turn(call: &Call, child: usize, turn: Option<usize>) -> bool {
    call.rule.as_deref() == Some(&rule_of(child)) && turn.is_some() && call.turn == turn
}

/// The turns of a sub-agent's model, and which of them is the fault and which is held.
#[derive(Default)]
pub struct Turns {
    pub all: Vec<Turn>,
    pub fault: Option<usize>,
    pub held: Option<usize>,
}

impl Turns {
    /// Whoever waits for this turn is killed; what it says is said again to who comes after.
    fn hold(&mut self, turn: Turn) {
        self.held = Some(self.all.len());
        self.all.push(turn);
    }
}

impl Storm {
    pub fn script(&self) -> Script {
        let mut script = Script::new().rule(brief_rule()).rule(self.judge());
        for child in 0..self.children.len() {
            let words = match self.kind {
                Kind::Skill | Kind::Steered => "User Goal: ".to_string(),
                // What a chain says comes to the main agent without what was asked for.
                Kind::Chain { .. } => piece(child),
                _ => format!("User Goal: {}", piece(child)),
            };
            let rule = Rule::new(&rule_of(child)).user_contains(&words);
            let turns = self.turns(child).all.into_iter();
            script = script.rule(turns.fold(rule, Rule::turn).repeat());
        }
        for (words, turn) in self.orders() {
            let rule = Rule::new("main agent").last_user_contains(&words);
            script = script.rule(rule.turn(turn).turn(Turn::text(MAIN_ANSWER)));
        }
        script.rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
    }

    fn judge(&self) -> Rule {
        let passes = || Turn::text(&verdict(None).to_string());
        let mut judge = Rule::new("judge").system_contains("# Impresario: judge");
        if self.moment() == Some(Moment::Judged) {
            judge = judge.turn(passes().behind_gate(HOLD));
        }
        judge.turn(passes()).repeat()
    }

    /// What the main agent does when a person says this.
    fn orders(&self) -> Vec<(String, Turn)> {
        let order = |child: usize| json!({ "task": piece(child) });
        let all = 0..self.children.len();
        match self.kind {
            Kind::Skill | Kind::Steered => vec![],
            Kind::Tree | Kind::Capped { .. } | Kind::Background => {
                let in_background = self.kind == Kind::Background;
                let turn = all.fold(Turn::default(), |turn, child| {
                    let mut order = order(child);
                    order["background"] = json!(in_background);
                    turn.and_tool("delegate_general", order)
                });
                vec![(ordering(0), turn)]
            }
            Kind::Chain { in_background } => {
                let step = |child: usize| json!({ "id": format!("step-{child}"), "agent": "general", "task": piece(child) });
                let steps = all.map(step).collect::<Vec<_>>();
                let chain = json!({ "steps": steps, "background": in_background });
                vec![(ordering(0), Turn::tool("delegate_chain", chain))]
            }
            Kind::Warm => all
                .map(|child| (ordering(child), Turn::tool("delegate_general", order(child))))
                .collect(),
        }
    }

    pub fn turns(&self, child: usize) -> Turns {
        let mut turns = Turns::default();
        let is_struck = child == self.struck;
        for place in 0..=self.children[child].len() {
            let turn = || self.turn(child, place);
            if let Some((at, ill)) = self.ill.filter(|_| is_struck)
                && at == place
            {
                turns.fault = Some(turns.all.len());
                turns.all.push(turn().made_ill(ill));
            }
            match self.moment().filter(|_| is_struck || self.is_capped()) {
                Some(Moment::Asked(at)) if at == place => turns.hold(turn().behind_gate(HOLD)),
                Some(Moment::Answering(at)) if at == place => {
                    let name = HOLD.to_string();
                    let at = turn().middle();
                    turns.hold(turn().and_fault(Fault::Gate { at, name }));
                }
                _ => {}
            }
            turns.all.push(turn());
        }
        if self.kind == Kind::Steered
            && let Some(first) = turns.all.first_mut()
            && first.gate.is_none()
        {
            first.gate = Some(TELL.to_string());
        }
        turns
    }

    fn turn(&self, child: usize, place: usize) -> Turn {
        let Some(work) = self.children[child].get(place) else {
            return self.charged(Turn::text(&answer(child)));
        };
        let reads = || json!({"path": NOTES});
        let file = effects_file(child, place);
        let writes = |then: &str| json!({"command": format!("echo ran >> {file}{then}")});
        let is_held = child == self.struck && self.moment() == Some(Moment::InTool(place));
        self.charged(match work {
            Work::Safe => Turn::tool("read", reads()),
            Work::Unsafe if is_held => Turn::tool("bash", writes(&format!("; {SLEEP}"))),
            Work::Unsafe => Turn::tool("bash", writes("")),
            Work::Slow => Turn::tool("bash", writes("; sleep 0.4")),
            Work::Large => Turn::tool("bash", writes("; seq 1 6000")),
            Work::Pair => Turn::tool("read", reads()).and_tool("bash", writes("")),
            Work::Edit => edit(child, place),
        })
    }

    fn charged(&self, turn: Turn) -> Turn {
        let usage = Usage {
            input: CALL_TOKENS - 1_000,
            output: 1_000,
            ..Usage::default()
        };
        match self.kind {
            Kind::Capped { .. } => turn.and_usage(usage),
            _ => turn,
        }
    }
}

/// When everything else is over: the main agent reads something long and sets an anchor.
pub fn marks() -> Script {
    let anchor = json!({"action": "anchor", "name": "storm", "summary": "All was read."});
    let marks = Rule::new("main agent").turn(Turn::tool("read", json!({ "path": LONG })));
    let marks = marks
        .turn(Turn::tool("context", anchor))
        .turn(Turn::text(MAIN_ANSWER));
    Script::new().rule(marks.turn(Turn::text(MAIN_ANSWER)))
}

/// What a person says to have the main agent ask, the first time and the second.
pub fn ordering(number: usize) -> String {
    format!("Order {number}, please.")
}

/// What can be done to a turn.
trait Ailing {
    fn made_ill(self, ill: Ill) -> Turn;
    fn middle(&self) -> Place;
}

impl Ailing for Turn {
    fn made_ill(self, ill: Ill) -> Turn {
        let at = self.middle();
        match ill {
            Ill::Overloaded => Turn::overloaded(),
            Ill::Unauthorized => Turn::fault(Fault::Unauthorized),
            Ill::Cut => self.and_fault(Fault::Cut { at }),
            Ill::Hang => self.and_fault(Fault::Hang { at }),
            Ill::Garbage => self.and_fault(Fault::Malformed { at }),
        }
    }

    fn middle(&self) -> Place {
        match self.tools.is_empty() {
            true => Place::MidText,
            false => Place::MidToolCall,
        }
    }
}

/// The runs that a message of Pi brings the results of.
pub fn runs_named(details: &Value) -> Vec<String> {
    let several = details["runs"].as_array().cloned().unwrap_or_default();
    let all = several.into_iter().chain([details["run"].clone()]);
    all.filter_map(|run| run.as_str().map(str::to_string)).collect()
}
