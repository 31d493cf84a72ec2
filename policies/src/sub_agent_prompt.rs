//! What stands at the very start of every request of a skill's sub-agent?
//!
//! The same bytes for every run of an agent or skill on models of one family, so that a provider's cache holds: nothing that changes from run to
//! run (times, ids, models, costs, the task) may enter here.

use crate::answer_schema::form_prompt;
use crate::domain::{RunRequest, Surroundings};
use crate::model_family::model_family;
use sha2::{Digest, Sha256};

/// The tool that searches the workspace, by the name that skills written for a retrieval server use.
pub const RETRIEVAL_TOOL: &str = "codebase-retrieval";

/// Points the sub-agent at the retrieval tool.
pub const RETRIEVAL_DIRECTIVE: &str = "Use the `codebase-retrieval` MCP tool for workspace context.";

/// What a sub-agent in a git worktree of its own is told of it.
pub const IN_A_WORKTREE: &str = "Your working directory is a git worktree made for this task; it holds the person's \
    files with what they have not committed. Change files there only, by relative paths. When you are done, what you \
    changed becomes a patch that the person applies; files that git ignores are not in it. git stash, clean, worktree, \
    gc, push and the like are refused.";

/// The sub-agent can ask for retrieval.
pub fn retrieves(request: &RunRequest) -> bool {
    request.tools.iter().any(|tool| tool == RETRIEVAL_TOOL)
}

/// Writes the system prompt of a skill's sub-agent.
pub fn system_prompt(instructions: &str, appendix: Option<&str>) -> String {
    let mut prompt = format!("{instructions}\n\n{RETRIEVAL_DIRECTIVE}");
    if let Some(appendix) = appendix.filter(|appendix| !appendix.is_empty()) {
        prompt.push_str("\n\n");
        prompt.push_str(appendix);
    }
    prompt
}

/// What stands at the start of every request of a run's sub-agent on this model. Retrieval is spoken of only where there
/// is such a tool.
pub fn system_prompt_of(request: &RunRequest, model: &str) -> String {
    let style = request.terms.styles.get(&model_family(model));
    let instructions = match style {
        Some(style) => format!("{}\n\n{style}", request.instructions),
        None => request.instructions.clone(),
    };
    let surroundings = surroundings_prompt(&request.terms.surroundings);
    let isolated = (!request.terms.isolation.is_none()).then(|| IN_A_WORKTREE.to_string());
    let form = request.terms.answer_schema.as_deref().map(form_prompt);
    // At the very end: what stands before it is the same tomorrow.
    let day = request.terms.surroundings.day.as_ref();
    let day = day.map(|day| format!("Today is {day} (UTC)."));
    let parts = surroundings
        .into_iter()
        .chain(isolated)
        .chain(form)
        .chain(day)
        .collect::<Vec<_>>();
    let surroundings = (!parts.is_empty()).then(|| parts.join("\n\n"));
    match (retrieves(request), surroundings) {
        (true, surroundings) => system_prompt(&instructions, surroundings.as_deref()),
        (false, Some(surroundings)) => format!("{instructions}\n\n{surroundings}"),
        (false, None) => instructions,
    }
}

/// What is added to the system prompt of a skill's sub-agent: where the skill lies, and what the project says of itself.
pub fn surroundings_prompt(surroundings: &Surroundings) -> Option<String> {
    let lies = surroundings.skill_directory.as_ref().map(|directory| {
        format!(
            "This skill lies in {}. Paths in the instructions that are relative to the skill (scripts, references) start \
             there, not in the workspace.",
            directory.display()
        )
    });
    let project = Some(surroundings.project_instructions.clone()).filter(|text| !text.is_empty());
    let parts = lies.into_iter().chain(project).collect::<Vec<_>>();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// What can be logged of a prompt without showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFingerprint {
    pub sha256: String,
    /// Of its UTF-8 form.
    pub bytes: usize,
}

/// Takes the fingerprint of a prompt.
pub fn fingerprint(prompt: &str) -> PromptFingerprint {
    let digest = Sha256::digest(prompt.as_bytes());
    PromptFingerprint {
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes: prompt.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{AgentDefinition, built_in_agents};
    use crate::domain::GuidanceTerms;
    use crate::domain::Origin;
    use crate::run_request::{RunAsk, RunMeans, run_request};
    use crate::settings::RunSettings;

    #[test]
    fn models_of_one_family_are_told_the_same_and_others_their_own_style() {
        let agent = built_in_agents().swap_remove(0);
        let ask = RunAsk {
            task: "look".into(),
            origin: Origin {
                host: "cli".into(),
                session: None,
                resumes: None,
            },
            workspace: "/w".into(),
            session_model: None,
            session_file: None,
            project_instructions: String::new(),
            guidance: GuidanceTerms::default(),
            today: "2026-11-21".into(),
        };
        let request = run_request(agent, ask, RunMeans::default(), RunSettings::default()).unwrap();
        let told = |model: &str| system_prompt_of(&request, model);
        assert_eq!(told("openai/gpt-5"), told("openrouter/openai/gpt-5-mini"));
        assert_eq!(told("anthropic/claude"), told("house/model"));
        assert!(told("openai/gpt-5").len() > told("anthropic/claude").len());
        assert!(told("openai/gpt-5").starts_with(&request.instructions));
    }

    #[test]
    fn who_asks_the_web_knows_the_day_and_everybody_else_has_the_same_prompt_every_day() {
        let scout = AgentDefinition::new("scout", "Look around.").tools(["read", "web_search"]);
        for agent in built_in_agents().into_iter().chain([scout]) {
            let name = agent.name().to_string();
            let on = |today: &str| {
                let ask = RunAsk {
                    task: "look".into(),
                    origin: Origin {
                        host: "cli".into(),
                        session: None,
                        resumes: None,
                    },
                    workspace: "/w".into(),
                    session_model: None,
                    session_file: None,
                    project_instructions: "Use tabs.".into(),
                    guidance: GuidanceTerms::default(),
                    today: today.into(),
                };
                let request = run_request(agent.clone(), ask, RunMeans::default(), RunSettings::default());
                system_prompt_of(&request.unwrap(), "anthropic/claude")
            };
            let (one, other) = (on("2026-11-21"), on("2026-11-22"));
            if ["general", "librarian", "scout"].contains(&name.as_str()) {
                let same = one.strip_suffix("\n\nToday is 2026-11-21 (UTC).").unwrap();
                assert!(other.starts_with(same), "{name}");
            } else {
                assert_eq!(one, other, "{name}");
            }
        }
    }

    #[test]
    fn the_place_of_a_skill_comes_before_what_the_project_says() {
        let told = surroundings_prompt(&Surroundings {
            skill_directory: Some("/w/.pi/skills/demo".into()),
            project_instructions: "Use tabs.".into(),
            ..Surroundings::default()
        });
        let told = told.unwrap();
        assert!(
            told.starts_with("This skill lies in /w/.pi/skills/demo."),
            "{told}"
        );
        assert!(told.ends_with("\n\nUse tabs."), "{told}");
        assert_eq!(surroundings_prompt(&Surroundings::default()), None);
    }

    #[test]
    fn an_empty_appendix_changes_no_byte() {
        assert_eq!(system_prompt("Do it.", Some("")), system_prompt("Do it.", None));
        assert_eq!(fingerprint(&system_prompt("", None)).bytes, 62);
    }
}
