//! What the server answers: a script of rules, a rule of turns.
//!
//! A script is plain data, so it can be written in JSON as well as built in Rust. Unknown keys are errors: a
//! misspelt fault that silently does nothing would make a test pass for the wrong reason.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything the server will say, by rules in order; the first rule that matches a request answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules, in order of precedence.
    pub rules: Vec<Rule>,
    /// Requests to Anthropic are charged as its prompt cache would have it, whatever the turns say.
    #[serde(default)]
    pub caching: bool,
}

/// A part of the script: which requests it answers, and with which turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// How the ledger calls this rule.
    pub name: String,
    /// Which requests this rule answers.
    pub when: When,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// Whether the last turn answers every further request.
    pub repeat: bool,
    /// Whether the turn is found by the conversation's own length (assistant messages since the last text of a
    /// user) rather than by counting calls. A resumed or concurrent conversation then finds its own place.
    pub by_conversation: bool,
}

/// Which requests a rule answers; every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The requested model is exactly this.
    pub model: Option<String>,
    /// The system prompt contains this.
    pub system: Option<String>,
    /// Some text of a user contains this.
    pub user: Option<String>,
    /// The last text of a user contains this.
    pub last_user: Option<String>,
    /// The last tool result contains this.
    pub last_tool_result: Option<String>,
    /// A tool of this name is offered.
    pub tool: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// Milliseconds of silence before the headers.
    pub wait_ms: u64,
    /// A gate that the test opens (`ModelServer::open_gate`) before the headers are sent.
    pub gate: Option<String>,
    /// Thinking before the text.
    pub thinking: Option<String>,
    /// The text, cut into deltas of `delta_chars`.
    pub text: String,
    /// Deltas sent as they are, after `text`.
    pub deltas: Vec<String>,
    /// Characters in a delta of `text`.
    pub delta_chars: Option<usize>,
    /// Milliseconds between two events of the stream.
    pub delta_wait_ms: u64,
    /// Tool calls; several are parallel.
    pub tools: Vec<ToolCall>,
    /// The model refuses, with these words.
    pub refusal: Option<String>,
    /// Why the answer stops, where it is not what the content says.
    pub stop: Option<Stop>,
    /// Token counts.
    pub usage: Usage,
    /// The model the answer says it is from, where that is not the requested one.
    pub model: Option<String>,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// What is answered to the first tries of this very turn, where the rule goes by conversation.
    pub first_tries: Vec<Turn>,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments; a string is sent as it is, also when it is no valid JSON.
    #[serde(default)]
    pub arguments: Value,
    /// Its id; made up where it is missing.
    #[serde(default)]
    pub id: Option<String>,
}

/// Why an answer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The answer is complete.
    End,
    /// The limit of output tokens was reached.
    Length,
    /// The provider's filter stepped in.
    ContentFilter,
    /// The model refuses.
    Refusal,
}

/// Token counts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Input tokens that were not in the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 100,
            output: 10,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

/// A place in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// After the opening event, before any content.
    Start,
    /// Between two deltas of text.
    MidText,
    /// Between two fragments of a tool call's arguments.
    MidToolCall,
    /// After the content, before the events that end the answer.
    BeforeEnd,
}

/// What goes wrong in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Any HTTP status, in the provider's shape.
    Status {
        /// The status.
        status: u16,
        /// The message in the body.
        message: String,
        /// The provider's word for the type of error; chosen by status where it is missing.
        #[serde(default)]
        error_type: Option<String>,
        /// The `retry-after` header, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// The key is not valid (401).
    Unauthorized,
    /// The key may not use this model (403).
    Forbidden,
    /// The model does not exist (404).
    ModelNotFound,
    /// Too many requests (429).
    RateLimited {
        /// The `retry-after` header, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// The account has no money left (429 with OpenAI, 400 with Anthropic).
    QuotaExhausted,
    /// The provider failed (500).
    ServerError,
    /// The provider has no capacity (529 with Anthropic, 503 wording under 529 with OpenAI).
    Overloaded,
    /// The request is longer than the model's context (400, in each provider's own words).
    ContextOverflow,
    /// Nothing is ever answered.
    HangBeforeHeaders,
    /// The connection is closed before the headers.
    CutBeforeHeaders,
    /// The stream stops and stays open.
    Hang {
        /// Where.
        at: Place,
    },
    /// The connection is closed in the middle of the stream.
    Cut {
        /// Where.
        at: Place,
    },
    /// The stream waits until the test opens this gate, then goes on as if nothing had been.
    Gate {
        /// Where.
        at: Place,
        /// Which gate.
        name: String,
    },
    /// A frame that is not valid JSON stands in the stream, which then goes on.
    Malformed {
        /// Where.
        at: Place,
    },
    /// The provider's own error event ends the stream.
    ErrorEvent {
        /// Where.
        at: Place,
        /// Its message.
        message: String,
    },
}

/// A script that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A fault stands at a place that its turn does not have.
    #[error("rule {rule:?}, turn {turn}: the fault stands at {place:?}, but the turn has no such content")]
    NoSuchPlace {
        /// The rule.
        rule: String,
        /// The index of the turn.
        turn: usize,
        /// The place.
        place: Place,
    },
    /// A turn has tries of its own, but its rule counts calls.
    #[error("rule {rule:?}, turn {turn}: first_tries needs by_conversation")]
    TriesWithoutConversation {
        /// The rule.
        rule: String,
        /// The index of the turn.
        turn: usize,
    },
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A script of one rule for every request, with these turns.
    #[must_use]
    pub fn turns(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::new().rule(Rule {
            name: "any".to_owned(),
            turns: turns.into_iter().collect(),
            ..Rule::default()
        })
    }

    /// A script that gives this answer to everything.
    #[must_use]
    pub fn always(turn: Turn) -> Self {
        Self::new().rule(Rule::new("any").turn(turn).repeat())
    }

    /// Adds a rule behind those there are.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Charges requests to Anthropic as its prompt cache would have it.
    #[must_use]
    pub fn caching(mut self) -> Self {
        self.caching = true;
        self
    }

    /// Finds what cannot be played.
    ///
    /// # Errors
    /// The first turn that asks for something it does not contain.
    pub fn check(&self) -> Result<(), ScriptError> {
        for rule in &self.rules {
            for (index, turn) in rule.turns.iter().enumerate() {
                rule.check_turn(index, turn)?;
                for try_turn in &turn.first_tries {
                    rule.check_turn(index, try_turn)?;
                }
            }
        }
        Ok(())
    }
}

impl Rule {
    /// A rule for every request, without turns yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Only requests for this model.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.when.model = Some(model.to_owned());
        self
    }

    /// Only requests whose system prompt contains this.
    #[must_use]
    pub fn system_contains(mut self, text: &str) -> Self {
        self.when.system = Some(text.to_owned());
        self
    }

    /// Only requests in which a user says this somewhere.
    #[must_use]
    pub fn user_contains(mut self, text: &str) -> Self {
        self.when.user = Some(text.to_owned());
        self
    }

    /// Only requests in which a user said this last.
    #[must_use]
    pub fn last_user_contains(mut self, text: &str) -> Self {
        self.when.last_user = Some(text.to_owned());
        self
    }

    /// Only requests whose last tool result contains this.
    #[must_use]
    pub fn last_tool_result_contains(mut self, text: &str) -> Self {
        self.when.last_tool_result = Some(text.to_owned());
        self
    }

    /// Only requests that offer this tool.
    #[must_use]
    pub fn offers_tool(mut self, tool: &str) -> Self {
        self.when.tool = Some(tool.to_owned());
        self
    }

    /// Adds a turn behind those there are.
    #[must_use]
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// The last turn answers every further request.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// The turn is found by the conversation's own length, not by counting calls.
    #[must_use]
    pub fn by_conversation(mut self) -> Self {
        self.by_conversation = true;
        self
    }

    fn check_turn(&self, index: usize, turn: &Turn) -> Result<(), ScriptError> {
        if !turn.first_tries.is_empty() && !self.by_conversation {
            return Err(ScriptError::TriesWithoutConversation {
                rule: self.name.clone(),
                turn: index,
            });
        }
        match turn.fault.as_ref().and_then(Fault::place) {
            Some(place) if !turn.has(place) => Err(ScriptError::NoSuchPlace {
                rule: self.name.clone(),
                turn: index,
                place,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

impl Turn {
    /// An answer in text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// An answer in exactly these deltas.
    #[must_use]
    pub fn deltas<'a>(deltas: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            deltas: deltas.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// A call of one tool.
    #[must_use]
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::default().and_tool(name, arguments)
    }

    /// An answer that fails in this way.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }

    /// The provider has no capacity.
    #[must_use]
    pub fn overloaded() -> Self {
        Self::fault(Fault::Overloaded)
    }

    /// Too many requests.
    #[must_use]
    pub fn rate_limited(retry_after: Option<u64>) -> Self {
        Self::fault(Fault::RateLimited { retry_after })
    }

    /// The model refuses with these words.
    #[must_use]
    pub fn refusal(words: &str) -> Self {
        Self {
            refusal: Some(words.to_owned()),
            ..Self::default()
        }
    }

    /// One more tool call, parallel to those there are.
    #[must_use]
    pub fn and_tool(mut self, name: &str, arguments: Value) -> Self {
        self.tools.push(ToolCall {
            name: name.to_owned(),
            arguments,
            id: None,
        });
        self
    }

    /// Thinking before the text.
    #[must_use]
    pub fn and_thinking(mut self, thinking: &str) -> Self {
        self.thinking = Some(thinking.to_owned());
        self
    }

    /// What goes wrong in this answer.
    #[must_use]
    pub fn and_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Why the answer stops, where it is not what the content says.
    #[must_use]
    pub fn and_stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The token counts.
    #[must_use]
    pub fn and_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The model the answer says it is from.
    #[must_use]
    pub fn from_model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    /// Silence before the headers.
    #[must_use]
    pub fn after_ms(mut self, wait_ms: u64) -> Self {
        self.wait_ms = wait_ms;
        self
    }

    /// Silence between two events of the stream.
    #[must_use]
    pub fn slowly_ms(mut self, delta_wait_ms: u64) -> Self {
        self.delta_wait_ms = delta_wait_ms;
        self
    }

    /// Characters in a delta of the text.
    #[must_use]
    pub fn in_deltas_of(mut self, chars: usize) -> Self {
        self.delta_chars = Some(chars);
        self
    }

    /// The headers wait until the test opens this gate.
    #[must_use]
    pub fn behind_gate(mut self, name: &str) -> Self {
        self.gate = Some(name.to_owned());
        self
    }

    /// What the first tries of this very turn get instead; needs a rule that goes by conversation.
    #[must_use]
    pub fn after_tries(mut self, tries: impl IntoIterator<Item = Turn>) -> Self {
        self.first_tries = tries.into_iter().collect();
        self
    }

    fn has(&self, place: Place) -> bool {
        match place {
            Place::Start | Place::BeforeEnd => true,
            Place::MidText => !self.text.is_empty() || !self.deltas.is_empty() || self.refusal.is_some(),
            Place::MidToolCall => !self.tools.is_empty(),
        }
    }
}

impl Fault {
    /// Where in the stream this fault stands, where it stands in the stream at all.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Hang { at }
            | Self::Cut { at }
            | Self::Gate { at, .. }
            | Self::Malformed { at }
            | Self::ErrorEvent { at, .. } => Some(*at),
            Self::Status { .. }
            | Self::Unauthorized
            | Self::Forbidden
            | Self::ModelNotFound
            | Self::RateLimited { .. }
            | Self::QuotaExhausted
            | Self::ServerError
            | Self::Overloaded
            | Self::ContextOverflow
            | Self::HangBeforeHeaders
            | Self::CutBeforeHeaders => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_can_be_written_in_json() {
        let json = r#"{"rules":[{"name":"judge","when":{"system":"judge"},"repeat":true,
            "turns":[{"text":"yes","fault":{"kind":"cut","at":"mid_text"}},{"tools":[{"name":"read"}]}]}]}"#;
        let script: Script = serde_json::from_str(json).unwrap();
        let built = Script::new().rule(
            Rule::new("judge")
                .system_contains("judge")
                .turn(Turn::text("yes").and_fault(Fault::Cut { at: Place::MidText }))
                .turn(Turn::tool("read", Value::Null))
                .repeat(),
        );
        assert_eq!(script, built);
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        let misspelt = r#"{"rules":[{"turns":[{"txt":"yes"}]}]}"#;
        assert!(
            serde_json::from_str::<Script>(misspelt)
                .unwrap_err()
                .to_string()
                .contains("txt")
        );
    }

    #[test]
    fn a_fault_at_a_place_the_turn_does_not_have_is_an_error() {
        let script = Script::turns([Turn::text("yes").and_fault(Fault::Cut {
            at: Place::MidToolCall,
        })]);
        assert_eq!(
            script.check(),
            Err(ScriptError::NoSuchPlace {
                rule: "any".to_owned(),
                turn: 0,
                place: Place::MidToolCall
            })
        );
    }

    #[test]
    fn tries_need_a_rule_that_goes_by_conversation() {
        let turn = Turn::text("yes").after_tries([Turn::overloaded()]);
        let counted = Script::turns([turn.clone()]);
        assert_eq!(
            counted.check(),
            Err(ScriptError::TriesWithoutConversation {
                rule: "any".to_owned(),
                turn: 0
            })
        );
        assert_eq!(
            Script::new()
                .rule(Rule::new("any").by_conversation().turn(turn))
                .check(),
            Ok(())
        );
    }
}
