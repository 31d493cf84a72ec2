//! Which tool of an MCP server answers questions about a workspace?

/// A tool as its server describes it, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    pub name: String,
    /// Its arguments, in the server's order.
    pub arguments: Vec<OfferedArgument>,
}

/// An argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedArgument {
    pub name: String,
    /// It takes a text.
    pub is_text: bool,
    /// The tool cannot be called without it.
    pub is_required: bool,
}

/// What is asked, or why nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalToolDecision {
    /// This tool, with the question in this argument.
    Ask { tool: String, argument: String },
    /// No tool can be told to be the one; in words.
    Unclear(String),
}

/// The names by which retrieval servers are known (auggie 0.36), with the argument that takes the question.
const KNOWN_TOOLS: [&str; 2] = ["codebase-retrieval", "codebase_retrieval"];
const KNOWN_ARGUMENT: &str = "information_request";
/// So many tools are named in a sentence.
const NAMED_MAX: usize = 12;

/// Chooses by name, then the only one, then the only one that takes nothing but a text.
pub fn choose_retrieval_tool(offered: &[OfferedTool]) -> RetrievalToolDecision {
    let known = offered
        .iter()
        .find(|tool| KNOWN_TOOLS.contains(&tool.name.as_str()));
    if let Some(tool) = known {
        return ask(tool);
    }
    match offered {
        [] => RetrievalToolDecision::Unclear("it offers no tool".to_string()),
        [only] => ask(only),
        several => {
            let mut fitting = several.iter().filter(|tool| takes_one_text(tool));
            match (fitting.next(), fitting.next()) {
                (Some(tool), None) => ask(tool),
                _ => RetrievalToolDecision::Unclear(format!(
                    "none of its tools is called codebase-retrieval, and not exactly one takes a question; it offers {}",
                    named(several)
                )),
            }
        }
    }
}

fn takes_one_text(tool: &OfferedTool) -> bool {
    let mut required = tool.arguments.iter().filter(|argument| argument.is_required);
    matches!((required.next(), required.next()), (Some(only), None) if only.is_text)
}

fn ask(tool: &OfferedTool) -> RetrievalToolDecision {
    let texts = || tool.arguments.iter().filter(|argument| argument.is_text);
    let required = tool
        .arguments
        .iter()
        .filter(|argument| argument.is_required)
        .count();
    let known = texts().find(|argument| argument.name == KNOWN_ARGUMENT);
    let only = match texts().count() {
        1 => texts().next(),
        _ => texts().find(|argument| argument.is_required),
    };
    match known.or(only) {
        Some(argument) if required <= usize::from(argument.is_required) => RetrievalToolDecision::Ask {
            tool: tool.name.clone(),
            argument: argument.name.clone(),
        },
        _ => RetrievalToolDecision::Unclear(format!(
            "its tool {:?} cannot be asked with a question alone",
            tool.name
        )),
    }
}

fn named(tools: &[OfferedTool]) -> String {
    let mut names: Vec<&str> = tools
        .iter()
        .take(NAMED_MAX)
        .map(|tool| tool.name.as_str())
        .collect();
    if tools.len() > NAMED_MAX {
        names.push("…");
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name` is a text, `name!` a required one, `name#` something else, `name#!` something else that is required.
    fn tool(name: &str, arguments: &[&str]) -> OfferedTool {
        let argument = |written: &&str| OfferedArgument {
            name: written.trim_end_matches(['!', '#']).to_string(),
            is_text: !written.contains('#'),
            is_required: written.ends_with('!'),
        };
        OfferedTool {
            name: name.to_string(),
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    #[track_caller]
    fn asks(offered: &[OfferedTool], tool: &str, argument: &str) {
        let (tool, argument) = (tool.to_string(), argument.to_string());
        assert_eq!(
            choose_retrieval_tool(offered),
            RetrievalToolDecision::Ask { tool, argument }
        );
    }

    #[track_caller]
    fn is_unclear(offered: &[OfferedTool], word: &str) {
        match choose_retrieval_tool(offered) {
            RetrievalToolDecision::Unclear(why) => assert!(why.contains(word), "{why}"),
            asked => panic!("{asked:?}"),
        }
    }

    #[test]
    fn a_name_that_is_known_comes_first() {
        let known = tool("codebase-retrieval", &["information_request!", "path"]);
        asks(
            &[tool("search", &["query!"]), known],
            "codebase-retrieval",
            "information_request",
        );
    }

    #[test]
    fn an_only_tool_is_the_one() {
        asks(&[tool("find", &["limit#", "question"])], "find", "question");
        asks(&[tool("find", &["language", "question!"])], "find", "question");
    }

    #[test]
    fn among_several_the_only_one_with_a_question_is_the_one() {
        let several = [
            tool("index", &["path!", "depth#!"]),
            tool("search", &["query!"]),
            tool("ping", &[]),
        ];
        asks(&several, "search", "query");
    }

    #[test]
    fn what_cannot_be_told_is_said_with_the_names() {
        is_unclear(&[], "no tool");
        is_unclear(&[tool("a", &["x!"]), tool("b", &["y!"])], "a, b");
        is_unclear(&[tool("a", &["x!", "y!"])], "\"a\"");
        is_unclear(&[tool("a", &["x#!"])], "\"a\"");
        is_unclear(
            &[tool("codebase-retrieval", &["information_request!", "depth#!"])],
            "alone",
        );
    }
}
