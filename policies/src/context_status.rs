//! When is the model told how full its context is, and in which words?
//!
//! A line that is there in one request and gone or changed in the next makes the provider's cache useless from there
//! on. So a line is told when something has changed that matters, and then stays where it is.

#![warn(missing_docs)]

/// Shares of the context at which the model is told, in percent.
const STEPS: [u8; 4] = [50, 70, 85, 95];
/// More entries than this without an anchor are too many.
const ENTRIES_WITHOUT_ANCHOR: u64 = 10;

/// How the context stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextFill {
    /// The model as `provider/id`; none where there is none.
    pub model: Option<String>,
    /// The model that gave the last answer.
    pub model_before: Option<String>,
    /// How much of the context is used; none where it is not known.
    pub percent: Option<f64>,
    /// Characters of results of tools in what the model sees.
    pub of_results: u64,
    /// Characters of all that it sees.
    pub of_all: u64,
    /// The newest anchor, and how many entries came after it.
    pub anchor: Option<(String, u64)>,
    /// Entries of the session on this branch.
    pub entries: u64,
    /// The model can set an anchor.
    pub can_anchor: bool,
    /// What the newest line that stands in its sight told; none where no line does.
    pub told: Option<Told>,
    /// A line on this branch has hinted at anchors.
    pub hinted: bool,
}

/// What a line told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The step that was reached, in percent; 0 for none.
    pub step: u8,
    /// The model.
    pub model: Option<String>,
}

/// A line for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    /// As it stands in the conversation.
    pub text: String,
    /// What it tells.
    pub told: Told,
    /// It hints at anchors.
    pub hints: bool,
}

/// The line that is due; none while nothing has changed that matters.
pub fn status_line(facts: &ContextFill) -> Option<StatusLine> {
    let model = facts.model.clone()?;
    let percent = facts
        .percent
        .map(|percent| percent.round().clamp(0.0, 100.0) as u8);
    let step = STEPS
        .into_iter()
        .rfind(|step| percent.is_some_and(|percent| percent >= *step));
    let step = step.unwrap_or(0);
    let told = facts.told.clone().unwrap_or_default();
    let before = told.model.as_ref().or(facts.model_before.as_ref());
    let is_other_model = before.is_some_and(|before| *before != model);
    let hints =
        facts.can_anchor && !facts.hinted && facts.anchor.is_none() && facts.entries > ENTRIES_WITHOUT_ANCHOR;
    if step <= told.step && !is_other_model && !hints {
        return None;
    }
    Some(StatusLine {
        text: line(facts, &model, percent, hints),
        told: Told {
            step,
            model: Some(model),
        },
        hints,
    })
}

fn line(facts: &ContextFill, model: &str, percent: Option<u8>, hints: bool) -> String {
    let mut parts = vec![format!("model={model}")];
    parts.extend(percent.map(|percent| format!("context={percent}%")));
    if facts.of_all > 0 {
        let share = 100.0 * facts.of_results as f64 / facts.of_all as f64;
        parts.push(format!("tool={}%", share.round()));
    }
    parts.extend(
        facts
            .anchor
            .as_ref()
            .map(|(name, after)| format!("anchor={name} (-{after})")),
    );
    if hints {
        parts.push("hint=no-anchors-yet".to_string());
    }
    format!("[context] {}", parts.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> ContextFill {
        ContextFill {
            model: Some("anthropic/claude".to_string()),
            model_before: Some("anthropic/claude".to_string()),
            percent: Some(12.0),
            of_results: 50,
            of_all: 200,
            entries: 4,
            can_anchor: true,
            ..ContextFill::default()
        }
    }

    fn told(facts: &ContextFill) -> Option<String> {
        status_line(facts).map(|line| line.text)
    }

    #[test]
    fn nothing_is_said_while_nothing_matters() {
        assert_eq!(told(&facts()), None);
        let no_model = ContextFill {
            model: None,
            percent: Some(99.0),
            ..facts()
        };
        assert_eq!(told(&no_model), None);
    }

    #[test]
    fn each_step_is_told_once() {
        let mut standing = None;
        let mut lines = Vec::new();
        for percent in [49.4, 49.5, 60.0, 71.0, 69.0, 84.4, 99.9, 120.0] {
            let facts = ContextFill {
                percent: Some(percent),
                told: standing.clone(),
                ..facts()
            };
            if let Some(line) = status_line(&facts) {
                standing = Some(line.told);
                lines.push(line.text);
            }
        }
        let expected = ["context=50%", "context=71%", "context=100%"];
        let of = |percent| format!("[context] model=anthropic/claude | {percent} | tool=25%");
        assert_eq!(lines, expected.map(of));
    }

    #[test]
    fn another_model_is_told_once() {
        let other = ContextFill {
            model: Some("openai/gpt".to_string()),
            percent: None,
            anchor: Some(("plan".to_string(), 5)),
            ..facts()
        };
        let line = status_line(&other).unwrap();
        assert_eq!(
            line.text,
            "[context] model=openai/gpt | tool=25% | anchor=plan (-5)"
        );
        let again = ContextFill {
            told: Some(line.told),
            ..other
        };
        assert_eq!(told(&again), None);
    }

    #[test]
    fn a_long_session_without_an_anchor_is_hinted_at_once() {
        let long = ContextFill {
            entries: 11,
            ..facts()
        };
        let line = status_line(&long).unwrap();
        assert_eq!(
            line.text,
            "[context] model=anthropic/claude | context=12% | tool=25% | hint=no-anchors-yet"
        );
        assert!(line.hints);
        for quiet in [
            ContextFill {
                entries: 10,
                ..long.clone()
            },
            ContextFill {
                hinted: true,
                ..long.clone()
            },
            ContextFill {
                can_anchor: false,
                ..long.clone()
            },
            ContextFill {
                anchor: Some(("plan".to_string(), 0)),
                ..long
            },
        ] {
            assert_eq!(told(&quiet), None);
        }
    }
}
