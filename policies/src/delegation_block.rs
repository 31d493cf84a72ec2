//! What does the main agent need to know to hand work to a skill, and with which tool does it?
//!
//! The same text every turn, so that a provider's cache holds.

/// The tool the main agent delegates with.
pub const DELEGATE_TOOL: &str = "delegate";

/// What the model is told of the tool.
pub const DELEGATE_DESCRIPTION: &str = "Hand a piece of work to a skill. The skill runs as a sub-agent with a context \
of its own, sees none of this conversation but the task, and its finished answer is this tool's result. One skill \
runs at a time.";

/// What the model is told of the argument `skill`.
pub const DELEGATE_SKILL: &str = "The skill's name, as it is listed; without \"skill:\".";

/// What the model is told of the argument `task`.
pub const DELEGATE_TASK: &str = "What is wanted, for somebody who has not seen this conversation: the path or the part \
of the project, the outcome, and the constraints the user gave.";

/// The name of the section, where a host's system prompt has sections.
pub const DELEGATION_SECTION: &str = "delegation";

/// The block, to be added to the system prompt of the main agent.
pub const DELEGATION_BLOCK: &str = "\
## Delegating to skills

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_says_how_to_delegate_and_names_no_peer() {
        assert!(DELEGATION_BLOCK.contains(&format!("the tool `{DELEGATE_TOOL}`")));
        assert!(!DELEGATION_BLOCK.to_lowercase().contains("auggie"));
    }
}
