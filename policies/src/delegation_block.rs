//! What does the main agent need to know to hand work to a skill or an agent, and with which tools does it?
//!
//! The same text every turn, so that a provider's cache holds.

use crate::agents::{AgentDefinition, Category, Routing, routing_matrix};

/// The tool the main agent delegates with.
pub const DELEGATE_TOOL: &str = "delegate";

/// What the model is told of the tool.
pub const DELEGATE_DESCRIPTION: &str = "Hand a piece of work to a skill. The skill runs as a sub-agent with a context \
of its own, sees none of this conversation but the task, and its finished answer is this tool's result. Calls \
of one turn run at the same time.";

/// What the model is told of the argument `skill`.
pub const DELEGATE_SKILL: &str = "The skill's name, as it is listed; without \"skill:\".";

/// What the model is told of the argument `task`.
pub const DELEGATE_TASK: &str = "What is wanted, for somebody who has not seen this conversation: the path or the part \
of the project, the outcome, and the constraints the user gave.";

/// What the model is told of the argument `context`.
pub const DELEGATE_CONTEXT: &str =
    "What you know already that helps: findings, decisions, names. Not the conversation.";

/// What the model is told of the argument `background`.
pub const DELEGATE_BACKGROUND: &str = "Return at once; the answer comes as a message when it is there.";

/// What the model is told of the argument `isolation`.
pub const DELEGATE_ISOLATION: &str = "worktree: it works in a git worktree of its own, and what it changes comes back \
    as a patch that changes no file until somebody applies it.";

/// The name of the section, where a host's system prompt has sections.
pub const DELEGATION_SECTION: &str = "delegation";

/// What the main agent is told of skills.
const SKILLS_RULES: &str = "\
A skill is a prepared way of doing one kind of work. It can run as a sub-agent: with a context of its own, looking up \
what it needs in the workspace by itself, handing back a finished answer.

- Delegate when what the user wants is what a skill is for. Go by the intent, not by a word that happens to match. \
If no skill fits, do the work yourself.
- To delegate, call the tool `delegate` with the skill's name and a task. Do not read the skill's own file first: \
the sub-agent is given it. The user does the same by typing `/skill:<name> <task>`; never write that yourself.
- Write the task so that somebody who has not seen this conversation can do it: the path or the part of the \
project, the outcome that is wanted, and the constraints the user gave. Add none of your own.
- Before you delegate, do not read the files the skill will work on. Afterwards, do not do its work again and do \
not look up again what it found.
- Do not open the list of skills and do not run `/skill:trace-report` or `/skill:trace-view` for the user. Those are \
theirs.
- Three limits. The user can go on typing while a skill runs. A skill may have to ask the user something, and gets \
no answer where nobody is there; where the request is unclear, ask once yourself before you delegate. The answer \
holds the result, not the way to it.
- When a skill fails, repeat its error line word for word. Then suggest one of: a more precise task, a check of \
the retrieval engine, `/skill:trace-report <name>`. Never try again silently, and never do the work yourself or \
with another skill without saying so.";

const AGENTS_OPENING: &str = "\
An agent works in a context of its own on one task and hands back a finished answer; it sees none of this conversation. \
Each has a tool of its own:

";

const AGENTS_RULES: &str = "\
- Ask an agent when the work would fill this conversation with what it does not need, or when several pieces of work \
do not depend on each other. Do small things yourself.
- Several calls in one turn run at the same time. Never give two agents that change files the same files.
- With `background` the tool returns at once, and the answer comes as a message when it is there: go on with something \
else, and do not do that work meanwhile.
- An agent does not see what you see: give it paths, names, the outcome that is wanted and what it must not do.
- Check what an agent claims before you build on it, in proportion to what depends on it.";

/// A part of what the main agent is told: what it is about, and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    pub heading: &'static str,
    pub text: String,
}

/// What the main agent is told of skills, and of agents with who is asked when.
pub fn delegation_lessons(teaches_skills: bool, agents: &[AgentDefinition]) -> Vec<Lesson> {
    let skills = teaches_skills.then(|| Lesson {
        heading: "Delegating to skills",
        text: SKILLS_RULES.to_string(),
    });
    let agents = (!agents.is_empty()).then(|| {
        let lines = routing_matrix(agents)
            .into_iter()
            .map(|line| format!("- {}", line.replacen('`', "`delegate_", 1)));
        Lesson {
            heading: "Delegating to agents",
            text: format!(
                "{AGENTS_OPENING}{}\n\n{AGENTS_RULES}",
                lines.collect::<Vec<_>>().join("\n")
            ),
        }
    });
    skills.into_iter().chain(agents).collect()
}

/// The section of the system prompt, as long as nothing is known of the session but its settings and its agents.
pub fn delegation_block(teaches_skills: bool, agents: &[AgentDefinition]) -> String {
    let lessons = delegation_lessons(teaches_skills, agents).into_iter();
    let blocks = lessons.map(|lesson| format!("## {}\n\n{}", lesson.heading, lesson.text));
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// An argument of a tool that delegates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateArgument {
    /// How it is called.
    pub name: &'static str,
    /// What the model is told of it.
    pub about: &'static str,
}

/// The name of the tool that asks this agent.
pub fn delegate_tool_name(agent: &str) -> String {
    format!("{DELEGATE_TOOL}_{agent}")
}

/// The name of the tool that runs a chain, where no agent has it.
pub const CHAIN_TOOL: &str = "delegate_chain";

/// What it is good for.
pub const CHAIN_DESCRIPTION: &str = "Run agents one after the other, each told what the one before it said, and get what \
    the last one says. Use it when a later piece of work needs the result of an earlier one; for pieces that do not \
    depend on each other ask the agents in one turn. Name a chain of the project, or give steps.";

/// Its argument `chain`.
pub const CHAIN_NAME: &str = "The name of a chain that the project or the user describes in a file.";

/// Its argument `steps`.
pub const CHAIN_STEPS: &str = "Instead of a name: the steps in order, at most 64. A step that has parallel instead of \
    agent and task is several agents side by side.";

/// Its argument `task`.
pub const CHAIN_TASK: &str =
    "What the whole chain is asked for; stands in the place of {task} in the tasks of its steps.";

/// The argument `task` of a step.
pub const CHAIN_STEP_TASK: &str = "What this step is asked for. {previous} stands for what the step before said, \
    {steps.ID} for what an earlier one said; without either, what the step before said is put below.";

/// Its argument `on_failure`.
pub const CHAIN_ON_FAILURE: &str =
    "stop (unless said): no further step begins. collect: the next one is told of it.";

/// The name of the tool that tells or asks a sub-agent something while it works, where no agent has it.
pub const MESSAGE_TOOL: &str = "delegate_message";

/// What it is good for.
pub const MESSAGE_DESCRIPTION: &str = "Tell a sub-agent that works in the background something, or ask it something, \
    while it works. It has the message before its next step and goes on with its task. Use steer when what it was asked for \
    has changed or it should know something new; use ask when you need to know how far it is or what it found so far. Its \
    result still comes as a message; do not ask for it.";

/// Its argument `message`.
pub const MESSAGE_TEXT: &str =
    "What it is told or asked, complete in itself: it sees nothing of this conversation.";

/// Its argument `kind`.
pub const MESSAGE_KIND: &str = "steer: it takes it into account and goes on; you learn whether it has it. ask: you get what \
    it says next, which may take until its tool that runs now has ended.";

/// Its argument `run`.
pub const MESSAGE_RUN: &str =
    "The run, as the call that began it named it. Leave it out where only one sub-agent works.";

/// What the model is told of the tool that asks this agent.
pub fn delegate_tool_description(agent: &AgentDefinition) -> String {
    let mut description = agent.description.trim().to_string();
    if let Some(routing) = &agent.routing {
        for (heading, entries) in [
            ("Use when", &routing.use_when),
            ("Avoid when", &routing.avoid_when),
        ] {
            if !entries.is_empty() {
                description.push_str(&format!(" {heading}: {}.", entries.join("; ")));
            }
        }
    }
    description.push_str(" Calls of one turn run at the same time.");
    description
}

/// The argument that says what is wanted: a question, a task, a request; without routing, a prompt.
pub fn delegate_argument(routing: Option<&Routing>) -> DelegateArgument {
    let (name, about) = match routing.map(|routing| routing.category) {
        Some(Category::Exploration | Category::Reasoning | Category::Research) => (
            "question",
            "The question, for somebody who has not seen this conversation.",
        ),
        Some(Category::Implementation) => (
            "task",
            "What is to be done, for somebody who has not seen this conversation: where, what the outcome is, and what must not be touched.",
        ),
        Some(Category::Review) => ("request", "What is to be reviewed, and what it is meant to do."),
        None => (
            "prompt",
            "What is wanted, for somebody who has not seen this conversation.",
        ),
    };
    DelegateArgument { name, about }
}

/// What stands behind the task when the caller gives more; none for agents that take the task alone.
pub fn context_label(routing: Option<&Routing>) -> Option<&'static str> {
    match routing?.category {
        Category::Exploration | Category::Reasoning | Category::Implementation => Some("Additional context"),
        Category::Review => Some("Review context"),
        Category::Research => None,
    }
}

/// The task as the agent gets it.
pub fn task_with_context(task: &str, context: Option<(&str, &str)>) -> String {
    match context.filter(|(_, context)| !context.is_empty()) {
        Some((label, context)) => format!("{task}\n\n---\n\n{label}:\n{context}"),
        None => task.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::built_in_agents;

    #[test]
    fn each_agent_stands_in_the_block_with_its_tool() {
        let agents = built_in_agents();
        let block = delegation_block(false, &agents);
        for agent in &agents {
            let tool = delegate_tool_name(agent.name());
            assert!(block.contains(&format!("- `{tool}` — ")), "{tool}: {block}");
        }
        let skills = delegation_block(true, &[]);
        assert!(
            skills.starts_with("## Delegating to skills\n\nA skill is a prepared way"),
            "{skills}"
        );
        assert_eq!(delegation_block(false, &[]), "");
    }

    #[test]
    fn what_is_wanted_is_called_what_it_is() {
        let agents = built_in_agents();
        let names = agents
            .iter()
            .map(|agent| delegate_argument(agent.routing.as_ref()).name);
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["question", "question", "question", "task", "request"]
        );
        assert_eq!(
            task_with_context("q", Some(("Review context", "c"))),
            "q\n\n---\n\nReview context:\nc"
        );
        assert_eq!(task_with_context("q", Some(("Review context", ""))), "q");
    }

    #[test]
    fn the_block_says_how_to_delegate_and_names_no_peer() {
        assert!(SKILLS_RULES.contains(&format!("the tool `{DELEGATE_TOOL}`")));
        assert!(!SKILLS_RULES.to_lowercase().contains("auggie"));
    }
}
