//! What is a person asked who chooses models for the agents, and what is written then?
//!
//! The conversation is one function of the answers so far: whoever shows it keeps nothing, and asks again with one more.
//! Wording and order are those of the wizard of pi-blackbytes 2.20.1.

use crate::domain::ReasoningEffort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// With more models than this the provider is chosen first.
const LISTED_AT_ONCE_MAX: usize = 10;
/// A conversation that goes on for longer is none.
const ANSWERS_MAX: usize = 2_000;

const EACH: &str = "Choose model for each sub-agent";
const ONE: &str = "Use one model for all sub-agents";
const CLEAR: &str = "Clear all model overrides (inherit host model)";
const INHERIT: &str = "Inherit host model (no override)";
const DEFAULT_THINKING: &str = "Use agent/default thinking (clear override)";
const SKIP_THINKING: &str = "⏭ Skip thinking for all remaining agents";
const SAME_THINKING: &str = "Same thinking level for all agents";
const THINKING_EACH: &str = "Configure thinking per agent";
const NO_THINKING: &str = "Skip (keep existing / use defaults)";

/// A model that the host can call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ListedModel {
    /// Whose it is.
    pub provider: String,
    /// Its id with that provider.
    pub id: String,
    /// What the host calls it.
    pub name: String,
    /// Whether it thinks; none where the host does not know.
    pub reasons: Option<bool>,
    /// Whether it sees pictures.
    pub sees: bool,
}

impl ListedModel {
    fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    fn label(&self, current: Option<&Self>) -> String {
        let mut label = self.reference();
        if !self.name.is_empty() && self.name != self.id {
            label += &format!(" — {}", self.name);
        }
        let marks = [(self.reasons == Some(true), "thinking"), (self.sees, "image")];
        let marks = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark);
        let marks = marks.collect::<Vec<_>>();
        if !marks.is_empty() {
            label += &format!(" ({})", marks.join(", "));
        }
        if current.is_some_and(|current| current.reference() == self.reference()) {
            label += " [current]";
        }
        label
    }
}

/// What is set for an agent now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSetting {
    /// Its name.
    pub agent: String,
    /// Its model, as written.
    pub model: Option<String>,
    /// How much it thinks, as written.
    pub effort: Option<String>,
}

/// What the conversation is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetupFacts {
    /// The agents, in the order in which they are asked about.
    pub agents: Vec<AgentSetting>,
    /// Something is set for agents already, these or others.
    pub has_settings: bool,
    /// The models that can be called.
    pub models: Vec<ListedModel>,
    /// The one of the session.
    pub current: Option<ListedModel>,
}

/// What the person did with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case", tag = "did")]
pub enum SetupAnswer {
    /// Chose the option with this place, from 0.
    Chose {
        /// The place.
        place: u32,
    },
    /// Said yes or no.
    Said {
        /// Yes.
        yes: bool,
    },
    /// Closed it.
    Closed,
}

/// What the person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum SetupQuestion {
    /// One of these.
    Select {
        /// What is chosen.
        title: String,
        /// What there is to choose from.
        options: Vec<String>,
    },
    /// Yes or no.
    Confirm {
        /// What is confirmed.
        title: String,
        /// What it is about, a line each.
        lines: Vec<String>,
    },
}

/// What becomes of a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change {
    /// As it is.
    #[default]
    Keep,
    /// Taken away.
    Clear,
    /// This from now on.
    Set(String),
}

impl Change {
    fn shown(&self, now: Option<&String>, none: &str) -> String {
        match self {
            Self::Keep => now.cloned(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
        .unwrap_or_else(|| none.to_string())
    }
}

/// What was chosen for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetupChoice {
    /// Which agent.
    pub agent: String,
    /// Its model.
    pub model: Change,
    /// How much it thinks.
    pub effort: Change,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupDecision {
    /// This is asked.
    Ask(SetupQuestion),
    /// This is written.
    Write {
        /// For each agent that was asked about.
        choices: Vec<SetupChoice>,
        /// The model of every other agent is taken away too.
        clears_all: bool,
    },
    /// The person closed it: nothing is written.
    Leave,
}

/// The decision, and what the person should know that was learned on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupStep {
    /// What comes next.
    pub decision: SetupDecision,
    /// A sentence each, the oldest first.
    pub warnings: Vec<String>,
}

/// Decides what comes after these answers.
pub fn decide_setup(facts: &SetupFacts, answers: &[SetupAnswer]) -> SetupStep {
    let mut dialog = Dialog {
        facts,
        answers: answers.get(..ANSWERS_MAX).unwrap_or(answers).iter(),
        chosen: Vec::new(),
        warnings: Vec::new(),
    };
    let decision = dialog.play().unwrap_or_else(|decision| decision);
    SetupStep {
        decision,
        warnings: dialog.warnings,
    }
}

/// Ends where an answer is missing or says that it ends.
type Said<T> = Result<T, SetupDecision>;

struct Dialog<'a> {
    facts: &'a SetupFacts,
    answers: std::slice::Iter<'a, SetupAnswer>,
    /// The models chosen so far, the newest first.
    chosen: Vec<String>,
    warnings: Vec<String>,
}

/// What a list of models ends in.
#[derive(Clone)]
enum Picked {
    ForAllThatFollow(String),
    Keep,
    Inherit,
    Model(ListedModel),
}

/// What a list of levels ends in.
enum Level {
    ForAllThatFollow(ReasoningEffort),
    Keep,
    Clear,
    One(ReasoningEffort),
    SkipTheRest,
}

impl Dialog<'_> {
    fn play(&mut self) -> Said<SetupDecision> {
        if self.facts.models.is_empty() && self.facts.current.is_none() {
            self.warnings
                .push("The host has no model that can be called: models can only be taken away.".into());
        }
        if self.facts.has_settings {
            self.confirm("Models of sub-agents are set already. Change them?", Vec::new())?;
        }
        let modes: &[&str] = match self.models().is_empty() {
            true => &[CLEAR],
            false => &[EACH, ONE, CLEAR],
        };
        let options = modes.iter().map(ToString::to_string).collect();
        let mode = modes[self.select("Models of sub-agents", options)?];
        let choices = match mode {
            EACH => self.choose_each()?,
            ONE => self.choose_one()?,
            _ => self.clear_all(),
        };
        let lines = choices.iter().zip(&self.facts.agents);
        let lines = lines.map(|(choice, now)| summary(choice, now)).collect();
        self.confirm("Write this to the settings?", lines)?;
        Ok(SetupDecision::Write {
            choices,
            clears_all: mode == CLEAR,
        })
    }

    fn clear_all(&self) -> Vec<SetupChoice> {
        let agents = self.facts.agents.iter();
        let cleared = agents.map(|now| SetupChoice {
            agent: now.agent.clone(),
            model: Change::Clear,
            effort: Change::Keep,
        });
        cleared.collect()
    }

    fn choose_each(&mut self) -> Said<Vec<SetupChoice>> {
        let agents = &self.facts.agents;
        let mut for_all: Option<Picked> = None;
        let mut thinking = Thinking::default();
        let mut choices = Vec::new();
        for (place, now) in agents.iter().enumerate() {
            let left = agents.len() - place;
            let picked = match &for_all {
                Some(picked) => picked.clone(),
                None => self.pick_model(now, self.last_picked().filter(|_| left > 1))?,
            };
            let picked = match picked {
                Picked::ForAllThatFollow(reference) => for_all.insert(self.found(&reference)).clone(),
                other => other,
            };
            let effort = match &picked {
                Picked::Model(model) if model.reasons == Some(false) => {
                    self.warn_of(model, &now.agent);
                    Change::Clear
                }
                _ => self.choose_level(now, left, &mut thinking)?,
            };
            choices.push(SetupChoice {
                agent: now.agent.clone(),
                model: picked.change(),
                effort,
            });
        }
        Ok(choices)
    }

    fn choose_one(&mut self) -> Said<Vec<SetupChoice>> {
        let nobody = AgentSetting::default();
        let picked = self.pick_model(&nobody, None)?;
        let model = picked.change();
        let choice = |now: &AgentSetting, effort| SetupChoice {
            agent: now.agent.clone(),
            model: model.clone(),
            effort,
        };
        let agents = &self.facts.agents;
        if let Picked::Model(model) = &picked
            && model.reasons == Some(false)
        {
            self.warn_of(model, "all agents");
            return Ok(agents.iter().map(|now| choice(now, Change::Clear)).collect());
        }
        let ways = [SAME_THINKING, THINKING_EACH, NO_THINKING];
        let way = self.select("How much they think", ways.map(String::from).to_vec())?;
        match ways[way] {
            SAME_THINKING => {
                let level = self.pick_level("all agents", &nobody, None, false)?.change();
                Ok(agents.iter().map(|now| choice(now, level.clone())).collect())
            }
            THINKING_EACH => {
                let mut thinking = Thinking::default();
                let mut choices = Vec::new();
                for (place, now) in agents.iter().enumerate() {
                    let effort = self.choose_level(now, agents.len() - place, &mut thinking)?;
                    choices.push(choice(now, effort));
                }
                Ok(choices)
            }
            _ => Ok(agents.iter().map(|now| choice(now, Change::Keep)).collect()),
        }
    }

    fn pick_model(&mut self, now: &AgentSetting, apply: Option<String>) -> Said<Picked> {
        let title = match now.agent.is_empty() {
            true => "Model of all agents".to_string(),
            false => format!("Model of {}", now.agent),
        };
        let before = [
            apply.map(|model| {
                (
                    format!("⬆ Apply {model} to all remaining agents"),
                    Picked::ForAllThatFollow(model),
                )
            }),
            now.model
                .as_ref()
                .map(|model| (format!("Keep existing ({model})"), Picked::Keep)),
            Some((INHERIT.to_string(), Picked::Inherit)),
        ];
        let (words, mut before): (Vec<_>, Vec<_>) = before.into_iter().flatten().unzip();
        let models = self.models();
        let picked = if models.len() <= LISTED_AT_ONCE_MAX {
            let labels = models
                .iter()
                .map(|model| model.label(self.facts.current.as_ref()));
            let options = words.iter().cloned().chain(labels).collect();
            let place = self.select(&title, options)?;
            match place.checked_sub(words.len()) {
                Some(place) => Picked::Model(models[place].clone()),
                None => before.swap_remove(place),
            }
        } else {
            self.pick_by_provider(&title, &words, before, &models)?
        };
        if let Picked::Model(model) = &picked {
            let reference = model.reference();
            self.chosen.retain(|earlier| *earlier != reference);
            self.chosen.insert(0, reference);
        }
        Ok(picked)
    }

    /// Closing the second list leads back to the first one.
    fn pick_by_provider(
        &mut self,
        title: &str,
        words: &[String],
        mut before: Vec<Picked>,
        models: &[ListedModel],
    ) -> Said<Picked> {
        fn of<'m>(models: &'m [ListedModel], provider: &'m str) -> impl Iterator<Item = &'m ListedModel> {
            models.iter().filter(move |model| model.provider == provider)
        }
        let mut providers: Vec<&str> = models.iter().map(|model| model.provider.as_str()).collect();
        providers.sort_unstable();
        providers.dedup();
        loop {
            let counts = providers
                .iter()
                .map(|provider| match of(models, provider).count() {
                    1 => format!("{provider} (1 model)"),
                    many => format!("{provider} ({many} models)"),
                });
            let options = words.iter().cloned().chain(counts).collect();
            let place = self.select(title, options)?;
            let Some(place) = place.checked_sub(words.len()) else {
                return Ok(before.swap_remove(place));
            };
            let current = self.facts.current.as_ref();
            let listed = of(models, providers[place]).cloned().collect::<Vec<_>>();
            let options = listed.iter().map(|model| model.label(current)).collect();
            if let Some(place) = self.select_or_back(title, options)? {
                return Ok(Picked::Model(listed[place].clone()));
            }
        }
    }

    fn choose_level(&mut self, now: &AgentSetting, left: usize, thinking: &mut Thinking) -> Said<Change> {
        if thinking.skips {
            return Ok(Change::Keep);
        }
        if let Some(level) = thinking.for_all {
            return Ok(Change::Set(level.word().to_string()));
        }
        let level = self.pick_level(&now.agent, now, thinking.last, left > 1)?;
        match level {
            Level::ForAllThatFollow(level) => thinking.for_all = Some(level),
            Level::One(level) => thinking.last = Some(level),
            Level::SkipTheRest => thinking.skips = true,
            Level::Keep | Level::Clear => {}
        }
        Ok(level.change())
    }

    fn pick_level(
        &mut self,
        of: &str,
        now: &AgentSetting,
        apply: Option<ReasoningEffort>,
        may_skip: bool,
    ) -> Said<Level> {
        let apply = apply.map(|level| {
            let words = format!("⬆ Apply {} to all remaining agents", level.word());
            (words, Level::ForAllThatFollow(level))
        });
        let keep = now.effort.as_ref();
        let keep = keep.map(|effort| (format!("Keep existing ({effort})"), Level::Keep));
        let clear = (DEFAULT_THINKING.to_string(), Level::Clear);
        let levels = ReasoningEffort::WORDS.iter();
        let levels =
            levels.filter_map(|word| Some(((*word).to_string(), Level::One(ReasoningEffort::read(word)?))));
        let skip = may_skip.then(|| (SKIP_THINKING.to_string(), Level::SkipTheRest));
        let all = apply
            .into_iter()
            .chain(keep)
            .chain([clear])
            .chain(levels)
            .chain(skip);
        let (words, mut meant): (Vec<_>, Vec<_>) = all.unzip();
        let place = self.select(&format!("How much {of} thinks"), words)?;
        Ok(meant.swap_remove(place))
    }

    /// Each once: the session's own first, then those chosen a moment ago, then by provider and id.
    fn models(&self) -> Vec<ListedModel> {
        let current = self.facts.current.iter();
        let mut models = current.chain(&self.facts.models).cloned().collect::<Vec<_>>();
        let is_current = |model: &ListedModel| {
            let current = self.facts.current.as_ref();
            current.is_some_and(|current| current.reference() == model.reference())
        };
        let chosen_at = |model: &ListedModel| {
            let at = self.chosen.iter().position(|chosen| *chosen == model.reference());
            at.unwrap_or(usize::MAX)
        };
        models.sort_by_cached_key(|model| {
            (
                chosen_at(model),
                !is_current(model),
                model.provider.clone(),
                model.id.clone(),
            )
        });
        models.dedup_by_key(|model| model.reference());
        models
    }

    fn last_picked(&self) -> Option<String> {
        self.chosen.first().cloned()
    }

    fn found(&self, reference: &str) -> Picked {
        let found = self
            .models()
            .into_iter()
            .find(|model| model.reference() == reference);
        found.map_or(Picked::Inherit, Picked::Model)
    }

    fn warn_of(&mut self, model: &ListedModel, agent: &str) {
        let reference = model.reference();
        self.warnings.push(format!(
            "{reference} does not think, so nothing is asked about that for {agent}."
        ));
    }

    fn confirm(&mut self, title: &str, lines: Vec<String>) -> Said<()> {
        let title = title.to_string();
        match self.answers.next() {
            None => Err(SetupDecision::Ask(SetupQuestion::Confirm { title, lines })),
            Some(SetupAnswer::Said { yes: true }) => Ok(()),
            Some(_) => Err(SetupDecision::Leave),
        }
    }

    fn select(&mut self, title: &str, options: Vec<String>) -> Said<usize> {
        self.select_or_back(title, options)?.ok_or(SetupDecision::Leave)
    }

    /// None where it was closed.
    fn select_or_back(&mut self, title: &str, options: Vec<String>) -> Said<Option<usize>> {
        let count = options.len();
        let title = title.to_string();
        match self.answers.next() {
            None => Err(SetupDecision::Ask(SetupQuestion::Select { title, options })),
            Some(SetupAnswer::Chose { place }) if (*place as usize) < count => Ok(Some(*place as usize)),
            Some(_) => Ok(None),
        }
    }
}

/// What was said of thinking for agents that are not asked about yet.
#[derive(Default)]
struct Thinking {
    last: Option<ReasoningEffort>,
    for_all: Option<ReasoningEffort>,
    skips: bool,
}

impl Picked {
    fn change(&self) -> Change {
        match self {
            Self::Keep => Change::Keep,
            Self::Inherit => Change::Clear,
            Self::Model(model) => Change::Set(model.reference()),
            Self::ForAllThatFollow(reference) => Change::Set(reference.clone()),
        }
    }
}

impl Level {
    fn change(&self) -> Change {
        match self {
            Self::Keep | Self::SkipTheRest => Change::Keep,
            Self::Clear => Change::Clear,
            Self::One(level) | Self::ForAllThatFollow(level) => Change::Set(level.word().to_string()),
        }
    }
}

fn summary(choice: &SetupChoice, now: &AgentSetting) -> String {
    let model = choice.model.shown(now.model.as_ref(), "(inherit host)");
    let effort = choice.effort.shown(now.effort.as_ref(), "(default)");
    format!("  {:<8} → {model:<35} │ thinking: {effort}", choice.agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(reference: &str, reasons: bool) -> ListedModel {
        let (provider, id) = reference.split_once('/').expect("provider/id");
        ListedModel {
            provider: provider.into(),
            id: id.into(),
            name: id.into(),
            reasons: Some(reasons),
            sees: false,
        }
    }

    fn facts(agents: &[&str]) -> SetupFacts {
        let agents = agents.iter().map(|agent| AgentSetting {
            agent: (*agent).to_string(),
            ..AgentSetting::default()
        });
        SetupFacts {
            agents: agents.collect(),
            models: vec![model("b/two", false), model("a/one", true)],
            ..SetupFacts::default()
        }
    }

    fn chose(place: u32) -> SetupAnswer {
        SetupAnswer::Chose { place }
    }

    fn asked(facts: &SetupFacts, answers: &[SetupAnswer]) -> Vec<String> {
        match decide_setup(facts, answers).decision {
            SetupDecision::Ask(SetupQuestion::Select { options, .. }) => options,
            SetupDecision::Ask(SetupQuestion::Confirm { lines, .. }) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_agent_is_asked_about_and_what_was_chosen_is_written_after_a_yes() {
        let facts = facts(&["explore", "oracle"]);
        assert_eq!(asked(&facts, &[]), [EACH, ONE, CLEAR]);
        assert_eq!(asked(&facts, &[chose(0)]), [INHERIT, "a/one (thinking)", "b/two"]);
        let chosen = [chose(0), chose(1), chose(5), chose(2)];
        let lines = asked(&facts, &chosen);
        assert!(
            lines[0].contains("explore") && lines[0].ends_with("thinking: high"),
            "{lines:?}"
        );
        let yes = [&chosen[..], &[SetupAnswer::Said { yes: true }]].concat();
        let step = decide_setup(&facts, &yes);
        assert_eq!(step.warnings.len(), 1, "{:?}", step.warnings);
        let SetupDecision::Write { choices, clears_all } = step.decision else {
            panic!("not written")
        };
        assert!(!clears_all);
        assert_eq!(choices[0].model, Change::Set("a/one".into()));
        assert_eq!(choices[1].effort, Change::Clear);
    }

    #[test]
    fn whoever_closes_a_list_or_says_no_writes_nothing() {
        let facts = SetupFacts {
            has_settings: true,
            ..facts(&["explore"])
        };
        let yes = SetupAnswer::Said { yes: true };
        let no = SetupAnswer::Said { yes: false };
        for answers in [
            vec![no],
            vec![SetupAnswer::Closed],
            vec![yes, SetupAnswer::Closed],
            vec![yes, chose(0), SetupAnswer::Closed],
            vec![yes, chose(2), no],
            vec![yes, chose(99)],
        ] {
            assert_eq!(
                decide_setup(&facts, &answers).decision,
                SetupDecision::Leave,
                "{answers:?}"
            );
        }
    }
}
